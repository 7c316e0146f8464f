"""The contract that every game keeps: one shared part of the state, and what surrounds the rules of a game.

A game is a package of rooms, modules with the same functions in every game. `Env` is all that a user calls: it checks
and casts arguments once, and hands the question to its room.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata

from jaxgames.cards import choose, numbered

Deal = Mapping[str, object]  # all chance of a game: arrays or nested lists, as the rules page has them


@chex.dataclass(frozen=True)
class State:
    """What every game's state begins with. Masks and observations are computed from a state, never stored in it."""

    current_player: chex.Array  # int8[]          seat to act; after the end it stays where the rules page says
    rewards: chex.Array  # float32[seat]   paid by the last step
    terminated: chex.Array  # bool[]          the game is over
    truncated: chex.Array  # bool[]          the game was cut off (only where the rules page names a limit)
    step_count: chex.Array  # int32[]         legal actions taken so far

    if TYPE_CHECKING:  # what chex.dataclass adds, unseen by type checkers

        def __init__(self, **fields: object) -> None: ...

        def replace(self, **changes: object) -> Self: ...

    @property
    def done(self) -> chex.Array:
        """bool[], terminated or truncated."""
        return self.terminated | self.truncated


def at_the_start(num_players: int, first_player: chex.Numeric = 0) -> dict[str, chex.Array]:
    """The shared fields of a first state."""
    return {
        "current_player": jnp.asarray(first_player, jnp.int8),
        "rewards": jnp.zeros(num_players, jnp.float32),
        "terminated": jnp.bool_(False),
        "truncated": jnp.bool_(False),
        "step_count": jnp.int32(0),
    }


StateT = TypeVar("StateT", bound=State)
TreeT = TypeVar("TreeT")  # any pytree
Options: TypeAlias = dict[str, object]  # by name, of whatever type each option has


class View(Protocol):
    """A NamedTuple of arrays; each game has a class of its own for each version, so its fields have no fixed names."""

    @property
    def _fields(self) -> tuple[str, ...]: ...

    def _asdict(self) -> dict[str, chex.Array]: ...

    def __iter__(self) -> Iterator[chex.Array]: ...

    def __getattr__(self, name: str) -> chex.Array: ...


class Part(NamedTuple):
    """Where one named part of a view sits in the flat observation, and its natural shape."""

    slice: slice
    shape: tuple[int, ...]


class Rooms(NamedTuple):
    """The modules of a game. Every function takes the env first, whose fields are the options of the game."""

    state: ModuleType  # draw_deal(env, key), read_deal(env, deal), first_state(env, deal)
    rules: ModuleType  # legal_actions(env, state), play(env, state, action)
    observe: ModuleType  # VERSIONS, HONEST, view(env, state, player, version)
    rewards: ModuleType  # payment(env, before, action, after), illegal_penalty(env), scores(env, state), winners(...)
    determinize: ModuleType  # determinize(env, key, state, player)
    render: ModuleType  # render(env, state, player), action_name(env, state, action, viewer)
    picture: ModuleType  # picture(env, state, player, moves)


@dataclasses.dataclass(frozen=True, eq=False)
class Env(abc.ABC, Generic[StateT]):
    """A game with its static options. Frozen and hashable: envs of the same rules are equal and share a compilation.

    What surrounds the rules (arguments, illegal actions, the end, the mask after it) is the same everywhere and lives
    here; what is a game's own lives in its rooms.
    """

    id: ClassVar[str]
    version: ClassVar[int]  # rises whenever rules, actions or observations change; checkpoints carry it
    rooms: ClassVar[Rooms]
    # Fields that `_play` itself leaves as they are where nobody moves. For large arrays that is much cheaper: what was
    # written in place needs no copy of what was there before.
    guarded: ClassVar[tuple[str, ...]] = ()

    num_players: int

    @property
    def options(self) -> Options:
        """Every option with the value in force, defaults included: `make(env.id, **env.options) == env`."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.options == other.options  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), *self.options.values()))

    # -- sizes ---------------------------------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def num_actions(self) -> int:
        """Size of the flat action space."""

    @property
    @abc.abstractmethod
    def max_steps(self) -> int:
        """No game has more steps than this."""

    @property
    def usual_steps(self) -> int:
        """About how many steps a game has: it says how many games of a batch end at once, and decides nothing else."""
        return self.max_steps

    @property
    def illegal_penalty(self) -> float:
        """What an illegal action costs its player."""
        return float(self.rooms.rewards.illegal_penalty(self))

    # -- chance --------------------------------------------------------------------------------------------------

    def deal(self, key: chex.PRNGKey) -> dict[str, chex.ArrayTree]:
        """All chance of a game, as `init` takes it and a record stores it."""
        return self.rooms.state.draw_deal(self, key)

    def init(self, key: chex.PRNGKey, deal: Deal | None = None) -> StateT:
        """The first state of the game with this deal; without one, of `self.deal(key)`.

        A deal that is host data is checked, and refused with a ValueError that says what is wrong with it.
        """
        return self._first_state(self.deal(key) if deal is None else self.rooms.state.read_deal(self, deal))

    def _first_state(self, deal: Deal) -> StateT:
        return self.rooms.state.first_state(self, deal)

    # -- play ----------------------------------------------------------------------------------------------------

    def step(self, state: StateT, action: chex.Numeric) -> StateT:
        """The state after `state.current_player` takes `action`.

        An action that is not legal ends the game with the penalty of the rules page; after the end nothing changes.
        """
        action = jnp.asarray(action, jnp.int32)
        moves = computed_once(self.is_legal(state, action) & ~state.done)
        in_range = jnp.clip(action, 0, self.num_actions - 1)
        played = self._play(state, in_range, moves).replace(step_count=state.step_count + 1)
        forfeits = ~state.done & (jnp.arange(self.num_players) == state.current_player)
        stopped = state.replace(
            terminated=state.terminated | ~state.done,
            rewards=jnp.where(forfeits, -jnp.float32(self.illegal_penalty), jnp.float32(0)),
        )
        guarded = {name: getattr(played, name) for name in self.guarded}
        return pick(moves, played, stopped).replace(**guarded)

    def _play(self, state: StateT, action: chex.Array, moves: chex.Array) -> StateT:
        """Apply a legal action and pay for it. It also runs for illegal ones in 0..num_actions-1 and after the end:
        `moves` is false then and the result thrown away, but for `guarded` fields; only indices must stay in range."""
        after = self.rooms.rules.play(self, state, action)
        return after.replace(rewards=self.rooms.rewards.payment(self, state, action, after))

    def legal_action_mask(self, state: StateT) -> chex.Array:
        """bool[action] for `state.current_player`; all True after the end: no sampler meets an empty row."""
        return self.rooms.rules.legal_actions(self, state) | state.done

    def is_legal(self, state: StateT, action: chex.Numeric) -> chex.Array:
        """bool[], is this action legal in a running game? Never true outside 0..num_actions-1."""
        legal = self.rooms.rules.legal_actions(self, state)
        return (legal & (jnp.arange(self.num_actions) == action)).any()

    def random_action(self, state: StateT, word: chex.Array) -> chex.Array:
        """A uniformly drawn legal action, int32[], from one random uint32 word."""
        return choose(self.legal_action_mask(state), word)

    # -- what a player may know ----------------------------------------------------------------------------------

    @property
    def observation_versions(self) -> tuple[str, ...]:
        """The names that `view` and `observe` take; the first is the default."""
        return tuple(self.rooms.observe.VERSIONS)

    @property
    def honest_versions(self) -> tuple[str, ...]:
        """The versions that show nothing hidden."""
        return tuple(version for version in self.observation_versions if version in self.rooms.observe.HONEST)

    def view(self, state: StateT, player: chex.Numeric, version: str | None = None) -> View:
        """What `player` may know, seen from its own seat: a NamedTuple of arrays in their natural shapes."""
        return self.rooms.observe.view(self, state, self._seat(player), self._version(version))

    def observe(self, state: StateT, player: chex.Numeric, version: str | None = None) -> chex.Array:
        """The view, flattened in order: float32[size], or int32[size] where every part is int32."""
        return flatten(self.view(state, player, version))

    def layout(self, version: str | None = None) -> dict[str, Part]:
        """Where each part of the view sits in the flat observation: {name: (slice, shape)}."""
        return _layout(self, self._version(version))

    def observation_shape(self, version: str | None = None) -> tuple[int, ...]:
        """The shape of `observe`."""
        return (sum(part.slice.stop - part.slice.start for part in self.layout(version).values()),)

    def determinize(self, key: chex.PRNGKey, state: StateT, player: chex.Numeric) -> StateT:
        """Another state that `player` cannot tell from this one; everything hidden, the future included, is redrawn.

        It depends on the key and on what the player knows, never on the hidden part of `state`.
        """
        return self.rooms.determinize.determinize(self, key, state, self._seat(player))

    # -- results -------------------------------------------------------------------------------------------------

    def scores(self, state: StateT) -> chex.Array:
        """The players' scores so far, [seat], as the game counts them."""
        return self.rooms.rewards.scores(self, state)

    def winners(self, state: StateT) -> chex.Array:
        """bool[seat], who has won by the rules of the game, all of them after a tie; nobody before the regular end."""
        return self.rooms.rewards.winners(self, state)

    # -- for people, on the host -----------------------------------------------------------------------------------

    def render(self, state: StateT, player: int | None = None) -> str:
        """The position as text: everything, or only what `player` may know."""
        return self.rooms.render.render(self, state, self._viewer(player))

    def picture(self, state: StateT, player: int | None = None, moves: bool = True) -> str:
        """The position as SVG: everything, or only what `player` may know.

        With `moves` the legal moves of the player to move can be pressed: they carry `data-action` (jaxgames.pictures).
        """
        return self.rooms.picture.picture(self, state, self._viewer(player), moves)

    def action_name(self, state: StateT, action: int, viewer: int | None = None) -> str:
        """An action of the player to move in words, as `viewer` may know it; unique among the legal actions."""
        return self.rooms.render.action_name(self, state, int(action), self._viewer(viewer))

    # -- arguments, checked and cast once --------------------------------------------------------------------------

    def _seat(self, player: chex.Numeric) -> chex.Array:
        """`player` as int32[]; outside jit a ValueError unless it is an integer in 0..num_players-1."""
        if not isinstance(player, jax.core.Tracer):
            self._check_seat(player)
        return jnp.asarray(player, jnp.int32)

    def _viewer(self, player: int | None) -> int | None:
        """A seat as a plain int, or None for whoever may see everything."""
        return None if player is None else self._check_seat(player)

    def _check_seat(self, player: chex.Numeric) -> int:
        given = np.asarray(player)
        is_seat = given.shape == () and given.dtype.kind in "iu" and 0 <= int(given) < self.num_players
        if not is_seat:
            raise ValueError(f"{self.id}: player must be an integer in 0..{self.num_players - 1}, got {player!r}")
        return int(given)

    def _version(self, version: str | None) -> str:
        known = self.observation_versions
        if version is not None and version not in known:
            raise ValueError(f"{self.id}: observation version must be one of {', '.join(known)}, got {version!r}")
        return known[0] if version is None else version


@functools.lru_cache(maxsize=256)
def _layout(env: Env, version: str) -> dict[str, Part]:
    """Shapes only: nothing is computed."""
    key = jax.eval_shape(lambda: jax.random.key(0))
    parts = jax.eval_shape(lambda key: env.view(env.init(key), 0, version), key)
    ends = np.cumsum([part.size for part in parts])
    return {
        name: Part(slice(int(end - part.size), int(end)), part.shape)
        for name, part, end in zip(parts._fields, parts, ends, strict=True)
    }


def flatten(view: Iterable[chex.Array]) -> chex.Array:
    """A view as one vector in the order of its parts: int32 if every part is int32, else float32."""
    parts = [jnp.asarray(part) for part in view]
    dtype = jnp.int32 if all(part.dtype == jnp.int32 for part in parts) else jnp.float32
    return jnp.concatenate([part.ravel().astype(dtype) for part in parts])


def pick(when: chex.Array, new: TreeT, old: TreeT) -> TreeT:
    """`new` where `when` holds, else `old`, leaf by leaf. Leaves that are the same object cost nothing."""
    return jax.tree.map(lambda n, o: o if n is o else jnp.where(when, n, o), new, old)


def seldom(change: Callable[..., TreeT], values: TreeT, *facts: object, when: chex.Array) -> TreeT:
    """`change(values, *facts)` where `when` holds, else `values`, for what happens in few steps of few games.

    Under `vmap` a `cond` or a `pick` would make the change for every game in every step. A loop of at most one turn
    does not run at all unless some game of the batch asks for it, and leaves `values` in place.
    """

    def turn(carry: tuple[chex.Array, TreeT]) -> tuple[chex.Array, TreeT]:
        asked, values = carry
        # Tied to the loop: XLA would compute what depends on the facts alone before it, and always.
        _, held = computed_once((asked, facts))
        return jnp.zeros_like(asked), change(values, *held)

    return jax.lax.while_loop(lambda carry: carry[0], turn, (when, values))[1]


def of_few(
    change: Callable[[TreeT], TreeT], state: TreeT, *, when: chex.Array, one_in: int, at_least: int = 8
) -> TreeT:
    """`change(state)` where `when` holds, for what most steps of a batch bring, but only to about one game in `one_in`.

    Those games are taken out of the batch, changed by themselves, so many at a time (`at_least` of them, or the whole
    batch), and put back; the others are not even read. Leaves that `change` hands through cost nothing.
    """
    tree = jax.tree.structure(state)
    places_changed: list[int] = []

    def changes(leaves: list[chex.Array]) -> list[chex.Array]:
        after = jax.tree.leaves(change(jax.tree.unflatten(tree, leaves)))
        places_changed[:] = [i for i, (new, old) in enumerate(zip(after, leaves, strict=True)) if new is not old]
        return [after[i] for i in places_changed]

    @jax.custom_batching.custom_vmap
    def changed(when: chex.Array, leaves: list[chex.Array]) -> list[chex.Array]:
        return [jnp.where(when, new, leaves[i]) for new, i in zip(changes(leaves), places_changed, strict=True)]

    @changed.def_vmap
    def changed_batch(axis_size, in_batched, when, leaves):
        def some(carry):
            leaves, begin = carry
            places = numbered(number, begin, at_once)
            few = [leaf.at[places].get(mode="clip") for leaf in leaves]
            for i, new in zip(places_changed, jax.vmap(changes)(few), strict=True):
                # Places beyond the last of them point past the batch: they are dropped.
                leaves[i] = leaves[i].at[places].set(new, mode="drop")
            return leaves, begin + at_once

        at_once = min(axis_size, max(at_least, axis_size // one_in))
        leaves = [
            leaf if is_batched else jnp.broadcast_to(leaf, (axis_size, *leaf.shape))
            for leaf, is_batched in zip(leaves, in_batched[1], strict=True)
        ]
        number = jnp.cumsum(jnp.broadcast_to(when, axis_size), dtype=jnp.int32) * when
        done, _ = jax.lax.while_loop(lambda carry: carry[1] < number.max(), some, (leaves, jnp.int32(0)))
        return [done[i] for i in places_changed], [True] * len(places_changed)

    leaves = jax.tree.leaves(state)
    for i, leaf in zip(places_changed, changed(when, leaves), strict=True):
        leaves[i] = leaf
    return jax.tree.unflatten(tree, leaves)


def computed_once(values: TreeT) -> TreeT:
    """The same values, held apart from what follows.

    XLA fuses cheap operations into every loop that uses their result, and recomputes them there for every element;
    where a profile shows it, this is how a step says that a fact is settled. XLA's CPU compiler drops an optimisation
    barrier before it fuses, but not the call of a function that must not be inlined: there the values pass through one.
    """
    return jax.lax.platform_dependent(values, cpu=_called, default=jax.lax.optimization_barrier)


def _called(values: TreeT) -> TreeT:
    with set_xla_metadata(inlineable="false"):
        return _unchanged(values)


@jax.jit
def _unchanged(values: TreeT) -> TreeT:
    return values
