"""One game driven from plain Python: legal moves in words, undo, a record. States are numpy.

>>> game = Game(jaxgames.make("skyjo"), seed=7)
>>> while not game.is_over:
...     game.step(game.legal[0])
>>> game.scores, game.winners, game.record()

The functions of an env are compiled once, for all games of equal envs.
"""

import copy
import functools
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, Self

import jax
import numpy as np

from jaxgames import records
from jaxgames.env import Env, StateT
from jaxgames.options import UserError, check_int, shown
from jaxgames.records import Json, Record


class Facts(NamedTuple):
    """What is asked of every position."""

    mask: np.ndarray  # bool[action]
    scores: np.ndarray  # [seat]
    winners: np.ndarray  # bool[seat]


class Compiled(Generic[StateT]):
    """The functions of an env, compiled, from numpy to numpy. Make it with `compiled`.

    It may be used by many threads at once: a program is compiled by the first thread that needs it, the others that
    need it wait, everybody else goes on.
    """

    def __init__(self, env: Env[StateT]):
        self.env = env
        self._deal = jax.jit(lambda seed: env.deal(jax.random.key(seed)))
        self._init = jax.jit(lambda seed: env.init(jax.random.key(seed)))
        self._step = jax.jit(env.step)
        self._facts = jax.jit(lambda s: Facts(env.legal_action_mask(s), env.scores(s), env.winners(s)))
        self._observe = jax.jit(env.observe, static_argnums=2)
        self._view = jax.jit(env.view, static_argnums=2)
        self._determinize = jax.jit(lambda seed, state, seat: env.determinize(jax.random.key(seed), state, seat))

    def __reduce__(self) -> tuple[object, tuple[Env[StateT]]]:
        """Copies are the same object: states of other libraries are copied with everything they refer to."""
        return compiled, (self.env,)

    def deal(self, seed: int) -> dict[str, Json]:
        """All chance of the game of this seed, in plain lists; `env.init(jax.random.key(seed))` is the same game."""
        return records.plain(jax.device_get(self._deal(self._seed(seed))))

    def first(self, deal: Mapping[str, Json]) -> StateT:
        """The first state of a deal, which is checked."""
        return jax.device_get(records.first_state(self.env, deal))

    def init(self, seed: int) -> StateT:
        """The first state of the game of this seed."""
        return jax.device_get(self._init(self._seed(seed)))

    def step(self, state: StateT, action: int) -> StateT:
        return jax.device_get(self._step(state, np.int32(action)))

    def facts(self, state: StateT) -> Facts:
        return jax.device_get(self._facts(state))

    def observe(self, state: StateT, player: int, version: str | None = None) -> np.ndarray:
        seat = np.int32(self.env._check_seat(player))  # a traced seat is not checked
        return jax.device_get(self._observe(state, seat, version))

    def view(self, state: StateT, player: int, version: str | None = None) -> dict[str, np.ndarray]:
        """The parts of the observation by name, in their order and natural shapes."""
        seat = np.int32(self.env._check_seat(player))
        return jax.device_get(self._view(state, seat, version))._asdict()

    def determinize(self, seed: int, state: StateT, player: int) -> StateT:
        seat = np.int32(self.env._check_seat(player))
        return jax.device_get(self._determinize(self._seed(seed), state, seat))

    def _seed(self, seed: int) -> np.uint32:
        return np.uint32(check_int(self.env.id, "seed", seed, 0, 2**32 - 1))


def compiled(env: Env[StateT]) -> Compiled[StateT]:
    """The functions of `env`; equal envs share them."""
    with _lock:  # it only makes the object: nothing is compiled here
        return _compiled(env)


_lock = threading.Lock()
_compiled: Any = functools.lru_cache(maxsize=64)(Compiled)


class _Position(NamedTuple):
    state: Any
    facts: Facts
    returns: np.ndarray  # float64[seat] paid so far


class Game(Generic[StateT]):
    """One game, from a seed or a deal. Not for several threads at once; different games are."""

    def __init__(
        self,
        env: Env[StateT],
        *,
        seed: int = 0,
        deal: Mapping[str, object] | None = None,
        players: Sequence[str] = (),
    ):
        if players and len(players) != env.num_players:
            raise UserError(f"{env.id}: players must be {env.num_players} names, one a seat, got {shown(players)}")
        self.env, self.players = env, tuple(players)
        self._run = compiled(env)
        self.deal = self._run.deal(seed) if deal is None else records.plain(deal)
        self.actions: list[int] = []
        self._past = [self._position(self._run.first(self.deal), np.zeros(env.num_players))]

    @classmethod
    def from_record(cls, record: Record) -> Self:
        """The game after the last action of a record; `undo` leads back. A RecordError if it breaks the rules."""
        game = cls(record.env, deal=record.deal, players=record.players)  # type: ignore[arg-type]
        for number, action in enumerate(record.actions):
            is_forfeit = record.forfeit and number == len(record.actions) - 1
            if action not in game.legal and not (is_forfeit and not game.is_over):
                what = "comes after the end of the game" if game.is_over else "is not legal there"
                raise records.RecordError(f"step {number}, action {action}, {what}")
            game._take(action)
        return game

    # -- where the game stands -----------------------------------------------------------------------------------

    @property
    def state(self) -> StateT:
        """The state of the env, numpy."""
        return self._past[-1].state

    @property
    def states(self) -> list[StateT]:
        """Every state from the first to this one."""
        return [position.state for position in self._past]

    @property
    def player(self) -> int:
        """The seat to move."""
        return int(self.state.current_player)

    @property
    def is_over(self) -> bool:
        return bool(self.state.done)

    @property
    def legal(self) -> list[int]:
        """Ids of the legal actions, ascending; [] after the end."""
        return [] if self.is_over else np.flatnonzero(self._past[-1].facts.mask).tolist()

    @property
    def moves(self) -> dict[int, str]:
        """The legal actions, id and words, as the player to move reads them."""
        return {action: self.env.action_name(self.state, action, self.player) for action in self.legal}

    @property
    def scores(self) -> list[float]:
        return self._past[-1].facts.scores.tolist()

    @property
    def winners(self) -> list[int]:
        """The seats that have won; [] before the end."""
        return np.flatnonzero(self._past[-1].facts.winners).tolist()

    @property
    def returns(self) -> list[float]:
        """All that each seat was paid so far."""
        return self._past[-1].returns.tolist()

    # -- moves ---------------------------------------------------------------------------------------------------

    def step(self, action: int) -> None:
        """Take an action of the player to move; a UserError if it is not legal."""
        is_id = isinstance(action, (int, np.integer)) and not isinstance(action, bool)
        if self.is_over:
            raise UserError(f"{self.env.id}: the game is over")
        if not is_id or action not in self.legal:
            raise UserError(
                f"{self.env.id}: action {shown(action)} is not legal for seat {self.player}; legal are "
                f"{shown(np.array(self.legal))} of 0..{self.env.num_actions - 1}"
            )
        self._take(int(action))

    def at(self, step: int) -> Self:
        """The same game as it stood after its first `step` actions; a game of its own."""
        earlier = copy.copy(self)
        earlier._past, earlier.actions = self._past[: step + 1], self.actions[:step]
        return earlier

    def undo(self, steps: int = 1) -> None:
        """Take back the last actions; a UserError if there are fewer."""
        steps = check_int(self.env.id, "steps to take back", steps, 0, len(self.actions))
        del self._past[len(self._past) - steps :], self.actions[len(self.actions) - steps :]

    def _take(self, action: int) -> None:
        after = self._run.step(self.state, action)
        self._past.append(self._position(after, self._past[-1].returns + after.rewards))
        self.actions.append(action)

    def _position(self, state: StateT, returns: np.ndarray) -> _Position:
        return _Position(state, self._run.facts(state), returns)

    # -- for a viewer, who sees what that seat may; None sees everything -------------------------------------------

    def name(self, action: int, viewer: int | None = None) -> str:
        """An action of the player to move in words."""
        return self.env.action_name(self.state, action, viewer)

    def render(self, viewer: int | None = None) -> str:
        return self.env.render(self.state, viewer)

    def picture(self, viewer: int | None = None) -> str:
        """SVG."""
        return self.env.picture(self.state, viewer)

    def _repr_svg_(self) -> str:
        """In a notebook a game shows itself."""
        return self.picture()

    def observe(self, player: int, version: str | None = None) -> np.ndarray:
        """The flat observation of a seat."""
        return self._run.observe(self.state, player, version)

    def view(self, player: int, version: str | None = None) -> dict[str, np.ndarray]:
        """The same by name: its parts in their order and natural shapes."""
        return self._run.view(self.state, player, version)

    # -- as data -------------------------------------------------------------------------------------------------

    def record(self, **more: Json) -> Record:
        """The game so far; `more` is kept with it."""
        return Record(
            game=self.env.id,
            version=self.env.version,
            options=records.plain(self.env.options),
            deal=self.deal,
            actions=tuple(self.actions),
            players=self.players,
            scores=tuple(self.scores),
            returns=tuple(self.returns),
            forfeit=len(self.actions) > int(self.state.step_count),  # an illegal action is not counted
            more=more,
        )
