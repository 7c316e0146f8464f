"""A game as an environment of pgx: its states carry the mask and the observation of the player to move."""

import html
import pathlib
from typing import Any

import chex
import jax
import jax.numpy as jnp
import pgx
from pgx._src.struct import dataclass, field  # what pgx's own games are made with

from jaxgames.env import Env


@dataclass
class State(pgx.State):
    """A state of pgx around one of ours."""

    current_player: chex.Array
    observation: Any
    rewards: chex.Array
    terminated: chex.Array
    truncated: chex.Array
    legal_action_mask: chex.Array
    _step_count: chex.Array
    _game: Any
    _env: Env = field(pytree_node=False)

    @property
    def game(self) -> Any:
        """The state of this library."""
        return self._game

    @property
    def env_id(self) -> Any:
        return self._env.id

    def to_svg(self, **_: Any) -> str:
        """The position as text in a picture; the first one of a batch."""
        game = self.game
        while game.terminated.ndim:
            game = jax.tree.map(lambda leaf: leaf[0], game)
        lines = self._env.render(game).splitlines()
        spans = "".join(f'<tspan x="8" dy="16">{html.escape(line) or " "}</tspan>' for line in lines)
        size = f'width="{8 * max(map(len, lines)) + 16}" height="{16 * len(lines) + 16}"'
        text = f'<text font-family="monospace" font-size="13" xml:space="preserve">{spans}</text>'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{text}</svg>'

    def save_svg(self, filename: Any, **_: Any) -> None:
        pathlib.Path(filename).write_text(self.to_svg())


class PgxEnv(pgx.Env):
    """See `adapt`."""

    def __init__(self, env: Env):
        super().__init__()
        self.env = env

    @property
    def id(self) -> Any:
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

    def _init(self, key: Any) -> State:
        return self._around(self.env.init(key), jnp.int32(0))

    def _step(self, state: Any, action: Any, key: Any) -> State:
        return self._around(self.env.step(state.game, action), state._step_count)

    def _step_with_illegal_action(self, state: Any, loser: Any) -> State:
        """The game itself has already ended with the penalty of its rules page."""
        return state

    def _observe(self, state: Any, player_id: Any) -> Any:
        return self.env.observe(state.game, player_id)

    def _around(self, game: Any, step_count: chex.Array) -> State:
        player = game.current_player.astype(jnp.int32)
        return State(  # type: ignore[call-arg]
            current_player=player,
            observation=self.env.observe(game, player),
            rewards=game.rewards,
            terminated=game.terminated,
            truncated=game.truncated,
            legal_action_mask=self.env.legal_action_mask(game),
            _step_count=step_count,
            _game=game,
            _env=self.env,
        )


def adapt(env: Env) -> PgxEnv:
    """The game as pgx has games: `init(key)`, `step(state, action)`; seats are player ids.

    All chance is drawn by `init`, so `step` needs no key. `state.game` is the state of this library.
    """
    return PgxEnv(env)
