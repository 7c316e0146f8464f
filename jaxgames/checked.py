"""`checked(env)`: the same game for people who debug. It raises where `env` follows the rules silently."""

import dataclasses
from typing import Any, Generic

import chex
import jax
import jax.numpy as jnp
from jax.experimental import checkify

from jaxgames.env import Env, StateT, View
from jaxgames.options import shown


def checked(env: Env[StateT]) -> "CheckedEnv[StateT]":
    """`env` whose functions raise on illegal actions, finished games and bad seats, inside jit too.

    Outside jit the error is a ValueError. Inside jit the check becomes a `checkify.check`, which asks for
    `checkify.checkify` around the function, as always.
    """
    return CheckedEnv(env)


@dataclasses.dataclass(frozen=True)
class CheckedEnv(Generic[StateT]):
    """A thin shell around an env; everything it does not check is the env's own."""

    env: Env[StateT]

    def __getattr__(self, name: str) -> Any:
        if name == "env" or name.startswith("__"):  # asked for by copy and pickle before `env` is set
            raise AttributeError(name)
        return getattr(self.env, name)

    def step(self, state: StateT, action: chex.Numeric) -> StateT:
        env = self.env
        _require(~state.done, f"{env.id}: step after the end of the game")
        is_legal = env.is_legal(state, jnp.asarray(action, jnp.int32))
        if isinstance(is_legal, jax.core.Tracer):
            checkify.check(is_legal, env.id + ": action {action} is not legal", action=jnp.asarray(action))
        elif not bool(is_legal):
            legal = jnp.flatnonzero(env.legal_action_mask(state))
            raise ValueError(
                f"{env.id}: action {int(action)} is not legal for seat {int(state.current_player)}; "
                f"legal are {shown(legal)} of 0..{env.num_actions - 1}"
            )
        return env.step(state, action)

    def view(self, state: StateT, player: chex.Numeric, version: str | None = None) -> View:
        return self.env.view(state, self._checked_seat(player), version)

    def observe(self, state: StateT, player: chex.Numeric, version: str | None = None) -> chex.Array:
        return self.env.observe(state, self._checked_seat(player), version)

    def determinize(self, key: chex.PRNGKey, state: StateT, player: chex.Numeric, **how: object) -> StateT:
        return self.env.determinize(key, state, self._checked_seat(player), **how)

    def _checked_seat(self, player: chex.Numeric) -> chex.Numeric:
        """The same seat; where it is traced, checked too. Seats that are known the env itself checks."""
        if isinstance(player, jax.core.Tracer):
            last = self.env.num_players - 1
            message = f"{self.env.id}: player must be in 0..{last}, got "
            checkify.check((player >= 0) & (player <= last), message + "{player}", player=player)
        return player


def _require(condition: chex.Array, message: str) -> None:
    if isinstance(condition, jax.core.Tracer):
        checkify.check(condition, message)
    elif not bool(condition):
        raise ValueError(message)
