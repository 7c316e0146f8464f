"""The contract that every game keeps: one shared part of the state, and what `step` does at its edges."""

import abc
import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Self

import chex
import jax
import jax.numpy as jnp

from jaxgames.cards import choose


@chex.dataclass(frozen=True)
class State:
    """What every game's state begins with. Masks and observations are computed from a state, never stored in it."""

    current_player: chex.Array  # int8[]          seat to act; after the end it stays where the rules page says
    rewards: chex.Array  # float32[seat]   paid by the last step
    terminated: chex.Array  # bool[]          the game is over
    truncated: chex.Array  # bool[]          the game was cut off (only where the rules page names a limit)
    step_count: chex.Array  # int32[]         legal actions taken so far

    if TYPE_CHECKING:  # what chex.dataclass adds, unseen by type checkers

        def __init__(self, **fields: Any) -> None: ...

        def replace(self, **changes: Any) -> Self: ...

    @property
    def done(self) -> chex.Array:
        """bool[], terminated or truncated."""
        return self.terminated | self.truncated


@dataclasses.dataclass(frozen=True)
class Env(abc.ABC):
    """A game with its static options. Frozen and hashable: equal envs share one compilation.

    A game provides the methods below that raise; what surrounds them (illegal actions, the end, the mask after it)
    is the same everywhere and lives here.
    """

    id: ClassVar[str]
    version: ClassVar[int]  # rises whenever rules, actions or observations change; checkpoints carry it
    observation_versions: ClassVar[tuple[str, ...]]  # the first is the default

    num_players: int

    # -- sizes ---------------------------------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def num_actions(self) -> int:
        """Size of the flat action space."""

    @property
    @abc.abstractmethod
    def max_steps(self) -> int:
        """No game has more steps than this."""

    # -- what users call -----------------------------------------------------------------------------------------

    @abc.abstractmethod
    def init(self, key: chex.PRNGKey, deal: Any = None) -> Any:
        """The first state. `deal` is the complete chance of the game; without it chance is drawn from `key`."""

    def step(self, state: Any, action: chex.Numeric) -> Any:
        """The state after `state.current_player` takes `action`.

        An action that is not legal ends the game with the penalty of the rules page; after the end nothing changes.
        """
        action = jnp.asarray(action, jnp.int32)
        is_legal = self.is_legal(state, action)
        in_range = jnp.clip(action, 0, self.num_actions - 1)
        played = self._play(state, in_range).replace(step_count=state.step_count + 1)
        actor = jnp.arange(self.num_players) == state.current_player
        forfeit = state.replace(
            terminated=jnp.ones_like(state.terminated),
            rewards=jnp.where(actor, -jnp.float32(self.illegal_penalty), 0.0),
        )
        over = state.replace(rewards=jnp.zeros_like(state.rewards))
        return pick(state.done, over, pick(is_legal, played, forfeit))

    def legal_action_mask(self, state: Any) -> chex.Array:
        """bool[action] for `state.current_player`; all True after the end: no sampler meets an empty row."""
        return self._legal(state) | state.done

    def is_legal(self, state: Any, action: chex.Array) -> chex.Array:
        """bool[], is this action legal in a running game? Never true outside 0..num_actions-1."""
        return (self._legal(state) & (jnp.arange(self.num_actions) == action)).any()

    def random_action(self, state: Any, word: chex.Array) -> chex.Array:
        """A uniformly drawn legal action, int32[], from one random uint32 word."""
        return choose(self.legal_action_mask(state), word)

    def observe(self, state: Any, player: chex.Numeric, version: str | None = None) -> Any:
        """What `player` may know, seen from its own seat."""
        version = self.observation_versions[0] if version is None else version
        if version not in self.observation_versions:
            known = ", ".join(self.observation_versions)
            raise ValueError(f"{self.id}: observation version must be one of {known}, got {version!r}")
        if isinstance(player, int) and not 0 <= player < self.num_players:
            raise ValueError(f"{self.id}: player must be 0..{self.num_players - 1}, got {player!r}")
        return self._observe(state, jnp.asarray(player, jnp.int32), version)

    @abc.abstractmethod
    def determinize(self, key: chex.PRNGKey, state: Any, player: chex.Numeric) -> Any:
        """Another state that `player` cannot tell from this one; everything hidden, the future included, is redrawn."""

    @abc.abstractmethod
    def scores(self, state: Any) -> chex.Array:
        """The players' scores so far, [seat], as the game counts them."""

    @abc.abstractmethod
    def render(self, state: Any, player: int | None = None) -> str:
        """The position as text: everything, or only what `player` may know. Host side."""

    @abc.abstractmethod
    def action_name(self, state: Any, action: int) -> str:
        """An action of the player to move in words. Host side."""

    # -- what a game provides ------------------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def illegal_penalty(self) -> float:
        """What an illegal action costs its player."""

    @abc.abstractmethod
    def _legal(self, state: Any) -> chex.Array:
        """bool[action] of a running game; never empty. Anything after the end."""

    @abc.abstractmethod
    def _play(self, state: Any, action: chex.Array) -> Any:
        """Apply a legal action. It also runs for illegal ones in 0..num_actions-1, whose result is thrown away:
        only its indices must stay in range then."""

    @abc.abstractmethod
    def _observe(self, state: Any, player: chex.Array, version: str) -> Any:
        """The observation of one of `observation_versions`."""


def pick(when: chex.Array, new: Any, old: Any) -> Any:
    """`new` where `when` holds, else `old`, leaf by leaf. Leaves that are the same object cost nothing."""
    return jax.tree.map(lambda n, o: o if n is o else jnp.where(when, n, o), new, old)


def computed_once(values: Any) -> Any:
    """The same values, held apart from what follows.

    XLA fuses small scalars into the loops that use them and recomputes them there for every element; where a profile
    shows it, this is how a step says that a fact is settled.
    """
    return jax.lax.optimization_barrier(values)


def flat(observation: Any) -> chex.Array:
    """An observation, array or tree, as one float32 vector."""
    return jnp.concatenate([jnp.ravel(leaf).astype(jnp.float32) for leaf in jax.tree.leaves(observation)])
