"""`checked(env)`: the same game for people who debug. It raises where `env` follows the rules silently."""

from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

from jaxgames.env import Env


def checked(env: Env) -> "CheckedEnv":
    """`env` whose `step`, `observe` and `determinize` raise on illegal actions, finished games and bad seats.

    Outside jit the error is a ValueError. Inside jit the check becomes a `checkify.check`, which asks for
    `checkify.checkify` around the function, as always.
    """
    return CheckedEnv(env)


class CheckedEnv:
    """A thin shell around an env; everything it does not check is the env's own."""

    def __init__(self, env: Env):
        self.env = env

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def step(self, state: Any, action: chex.Numeric) -> Any:
        env = self.env
        _require(~state.done, f"{env.id}: step after the end of the game")
        legal = env.legal_action_mask(state)
        is_legal = env.is_legal(state, jnp.asarray(action, jnp.int32))
        if _is_concrete(is_legal):
            if not bool(is_legal):
                ids = np.flatnonzero(np.asarray(legal))
                raise ValueError(
                    f"{env.id}: action {int(action)} is not legal for seat {int(state.current_player)}; "
                    f"legal are {np.array2string(ids, separator=', ', threshold=30)} of 0..{env.num_actions - 1}"
                )
        else:
            checkify.check(is_legal, env.id + ": action {action} is not legal", action=jnp.asarray(action))
        return env.step(state, action)

    def observe(self, state: Any, player: chex.Numeric, version: str | None = None) -> Any:
        self._check_seat(player)
        return self.env.observe(state, player, version)

    def determinize(self, key: chex.PRNGKey, state: Any, player: chex.Numeric) -> Any:
        self._check_seat(player)
        return self.env.determinize(key, state, player)

    def _check_seat(self, player: chex.Numeric) -> None:
        seat = jnp.asarray(player)
        last = self.env.num_players - 1
        got = f", got {int(seat)}" if _is_concrete(seat) else ""
        _require((seat >= 0) & (seat <= last), f"{self.env.id}: player must be 0..{last}{got}")


def _require(condition: chex.Array, message: str) -> None:
    if not _is_concrete(condition):
        checkify.check(condition, message)
    elif not bool(condition):
        raise ValueError(message)


def _is_concrete(value: Any) -> bool:
    return not isinstance(value, jax.core.Tracer)
