"""One seat of a game as Gymnasium has environments: the other seats are played for you."""

import functools
from collections.abc import Callable
from typing import Any, Generic

import chex
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import Env, StateT
from jaxgames.options import check_choice, check_int

Opponent = Callable[[chex.PRNGKey, StateT, chex.Array], chex.Array]  # act(key, state, player) -> action


class SeatEnv(gymnasium.Env, Generic[StateT]):
    """You decide for one seat, an agent (by default a random one) for all others.

    `step` returns at your next decision or at the end, with everything your seat was paid in between. What it was paid
    before its first decision comes with the first `step`, so that the rewards of an episode add up to the return of
    the seat; `reset` tells it as `info["reward_before"]` too. Every `info` holds `action_mask`; an illegal action ends
    the game with the penalty of the rules page. If a game ends before you decide, the first `step` says so, whatever
    its action.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012 - gymnasium's name for it

    def __init__(
        self,
        env: Env[StateT],
        opponent: Opponent[StateT] | None = None,
        seat: int = 0,
        render_mode: str | None = None,
        version: str | None = None,
    ):
        self.env, self.seat = env, check_int("gymnasium", "seat", seat, 0, env.num_players - 1)
        self.render_mode = (
            None if render_mode is None else check_choice("gymnasium", "render_mode", render_mode, ["ansi"])
        )
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, env.observation_shape(version), np.float32)
        self.action_space = gymnasium.spaces.Discrete(env.num_actions)
        self._begin, self._go_on = _compiled(env, opponent, version)

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[np.ndarray, dict[str, object]]:
        super().reset(seed=seed)
        game_seed = np.uint32(self.np_random.integers(2**31))
        self.state, self._key, paid, seen, mask = self._begin(game_seed, np.int32(self.seat))
        self._owed = float(paid)
        return np.asarray(seen), {"action_mask": np.asarray(mask), "reward_before": self._owed}

    def step(self, action: int | np.integer) -> tuple[np.ndarray, float, bool, bool, dict[str, object]]:
        after = self._go_on(self.state, self._key, np.int32(action), np.int32(self.seat))
        self.state, self._key, paid, seen, mask = after
        reward, self._owed = self._owed + float(paid), 0.0
        info: dict[str, object] = {"action_mask": np.asarray(mask)}
        return np.asarray(seen), reward, bool(self.state.terminated), bool(self.state.truncated), info

    def render(self) -> str:  # type: ignore[override]
        """What the seat may see, as text."""
        return self.env.render(self.state, self.seat)


@functools.lru_cache(maxsize=64)
def _compiled(env: Env, opponent: Opponent | None, version: str | None) -> tuple[Any, Any]:
    """(begin, go_on), shared by all seats and all tables of equal envs and the same opponent."""

    def random_act(key: chex.PRNGKey, state: Any, player: chex.Array) -> chex.Array:
        return env.random_action(state, jax.random.bits(key, (), jnp.uint32))

    act = opponent or random_act

    def others_move(state: Any, key: chex.PRNGKey, paid: chex.Array, seat: chex.Array) -> Any:
        """Until the seat is to move or the game is over."""

        def waits(carry: Any) -> chex.Array:
            return (carry[0].current_player != seat) & ~carry[0].done

        def turn(carry: Any) -> Any:
            state, key, paid = carry
            key, act_key = jax.random.split(key)
            state = env.step(state, act(act_key, state, state.current_player))
            return state, key, paid + state.rewards[seat]

        state, key, paid = jax.lax.while_loop(waits, turn, (state, key, paid))
        seen = env.observe(state, seat, version).astype(jnp.float32)
        return state, key, paid, seen, env.legal_action_mask(state)

    @jax.jit
    def begin(seed: chex.Array, seat: chex.Array) -> Any:
        deal_key, key = jax.random.split(jax.random.key(seed))
        return others_move(env.init(deal_key), key, jnp.float32(0), seat)

    @jax.jit
    def go_on(state: Any, key: chex.PRNGKey, action: chex.Array, seat: chex.Array) -> Any:
        state = env.step(state, action)
        return others_move(state, key, state.rewards[seat], seat)

    return begin, go_on
