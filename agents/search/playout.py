"""Playing a world on: how far, by whom, and what it is worth to every seat."""

from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp

from jaxgames import Env, pick

Payoff = Callable[[Any, Any, chex.Array], chex.Array]  # (root, end, sum of rewards) -> float32[seat]

# What counts as one stretch of play. Beyond it lie deals that nobody can know, and that decide nothing now.
STRETCH: dict[str, Callable[[Any], chex.Array]] = {
    "skullking": lambda state: state.round,
    "skyjo": lambda state: state.round_index,
    "saboteur": lambda state: state.round,
    "magictrick": lambda state: state.hand,
}


def is_over(env: Env, root: Any, state: Any) -> chex.Array:
    """bool[]: the game has ended, or the round in which `root` lies."""
    stretch = STRETCH.get(env.id)
    return state.done if stretch is None else state.done | (stretch(state) != stretch(root))


def points(env: Env) -> Payoff:
    """What a stretch of play is worth: the game's own points gained in it, less the others' mean; Schafkopf pays."""
    if env.id == "schafkopf":
        return lambda root, end, rewards: rewards
    sign = -1.0 if env.id == "skyjo" else 1.0

    def gained(root, end, rewards):
        own = sign * (env.scores(end).astype(jnp.float32) - env.scores(root).astype(jnp.float32))
        return own - (own.sum() - own) / max(1, env.num_players - 1)

    return gained


def trusted_step(env: Env, state: Any, action: chex.Array) -> Any:
    """`env.step` for an action that is known to be legal: without asking again."""
    return env._play(state, action).replace(step_count=state.step_count + 1)


def play_on(
    env: Env,
    choose: Callable[[Any, chex.PRNGKey], chex.Array],
    root: Any,
    state: Any,
    rewards: chex.Array,
    key: chex.PRNGKey,
) -> tuple[Any, chex.Array]:
    """(end, rewards): `choose(state, key)` decides for every seat until the stretch of `root` is over."""

    def turn(carry):
        state, rewards, key = carry
        key, act_key = jax.random.split(key)
        following = trusted_step(env, state, choose(state, act_key))
        return following, rewards + following.rewards, key

    def goes_on(carry):
        return ~is_over(env, root, carry[0])

    state, rewards, _ = jax.lax.while_loop(goes_on, turn, (state, rewards, key))
    return state, rewards


def random_choice(env: Env) -> Callable[[Any, chex.PRNGKey], chex.Array]:
    """Uniform over the legal actions."""
    return lambda state, key: env.random_action(state, jax.random.bits(key, (), jnp.uint32))


def keep_unless(when: chex.Array, new: Any, old: Any) -> Any:
    """`old` where `when` holds."""
    return pick(when, old, new)
