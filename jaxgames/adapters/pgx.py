"""A game as an environment of pgx: its states carry the mask and the observation of the player to move."""

import os
import pathlib
from typing import cast

import chex
import jax
import jax.numpy as jnp
import pgx
from pgx._src.struct import dataclass, field  # what pgx's own games are made with

from jaxgames.env import Env
from jaxgames.env import State as GameState


def adapt(env: Env, version: str | None = None) -> "PgxEnv":
    """The game as pgx has games: `init(key)`, `step(state, action)`; seats are player ids.

    All chance is drawn by `init`, so `step` needs no key. `state.game` is the state of this library.
    """
    return PgxEnv(env, version)


@dataclass
class State(pgx.State):
    """A state of pgx around one of ours."""

    current_player: chex.Array
    observation: chex.Array
    rewards: chex.Array
    terminated: chex.Array
    truncated: chex.Array
    legal_action_mask: chex.Array
    _step_count: chex.Array
    _game: GameState
    _env: Env = field(pytree_node=False)

    @property
    def game(self) -> GameState:
        """The state of this library."""
        return self._game

    @property
    def env_id(self) -> str:  # type: ignore[override]  # pgx has a closed list of names for it
        return self._env.id

    def to_svg(self, **_: object) -> str:
        """The position as a picture; the first one of a batch."""
        game = self.game
        while game.terminated.ndim:
            game = jax.tree.map(lambda leaf: leaf[0], game)
        return self._env.picture(jax.device_get(game))

    def save_svg(self, filename: str | os.PathLike[str], **_: object) -> None:
        pathlib.Path(filename).write_text(self.to_svg(), encoding="utf-8")


class PgxEnv(pgx.Env):
    """See `adapt`."""

    def __init__(self, env: Env, version: str | None = None):
        super().__init__()
        self.env, self.observation_version = env, version
        env.layout(version)  # an unknown version is refused here

    @property
    def id(self) -> str:  # type: ignore[override]
        return self.env.id

    @property
    def version(self) -> str:
        return f"v{self.env.version}"

    @property
    def num_players(self) -> int:
        return self.env.num_players

    @property
    def num_actions(self) -> int:
        return self.env.num_actions

    def _init(self, key: chex.PRNGKey) -> State:
        return self._around(self.env.init(key), jnp.int32(0))

    def _step(self, state: pgx.State, action: chex.Array, key: chex.PRNGKey) -> State:
        ours = cast(State, state)
        return self._around(self.env.step(ours.game, action), ours._step_count)

    def _step_with_illegal_action(self, state: pgx.State, loser: chex.Array) -> pgx.State:
        """The game itself has already ended with the penalty of its rules page."""
        return state

    def _observe(self, state: pgx.State, player_id: chex.Array) -> chex.Array:
        return self.env.observe(cast(State, state).game, player_id, self.observation_version)

    def _around(self, game: GameState, step_count: chex.Array) -> State:
        player = game.current_player.astype(jnp.int32)
        return State(  # type: ignore[call-arg]
            current_player=player,
            observation=self.env.observe(game, player, self.observation_version),
            rewards=game.rewards,
            terminated=game.terminated,
            truncated=game.truncated,
            legal_action_mask=self.env.legal_action_mask(game),
            _step_count=step_count,
            _game=game,
            _env=self.env,
        )
