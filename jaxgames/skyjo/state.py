"""The state of a game, the chance that makes one, and how it begins."""

import functools
from typing import TYPE_CHECKING, Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import Deal, at_the_start
from jaxgames.env import State as SharedState
from jaxgames.options import check_permutation
from jaxgames.skyjo import chance, history
from jaxgames.skyjo.cards import MAX_DECKS, MAX_REFILLS, NUM_CARDS, NUM_SLOTS, UNKNOWN_VALUE, Hand, num_dealt
from jaxgames.skyjo.rounds import lay_out, open_round
from jaxgames.skyjo.script import Script, no_script, unpack, write_script

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv

SEED, PAGE = ("seed",), ("decks", "reveals", "refills")  # the two forms of a deal


@chex.dataclass(frozen=True)
class State(SharedState):
    """One game. `step_count` is the page's `global_step`. Phases are not stored: they follow from the facts."""

    cards: chex.Array  # int8[seat, slot]  value of the card; stays readable after the slot was removed
    status: chex.Array  # int8[seat, slot]  HIDDEN, FACE_UP or REMOVED
    deck: chex.Array  # int8[150]         draw pile: the places deck_pos..deck_end-1; shuffled as it is drawn
    deck_pos: chex.Array  # uint8[]
    deck_end: chex.Array  # uint8[]
    discard: chex.Array  # int8[150]         discard pile, bottom first, in the places below discard_size
    discard_size: chex.Array  # uint8[]
    hand: chex.Array  # int8[]            card taken or drawn in an unfinished turn (decision mode)
    hand_use: chex.Array  # int8[]            EMPTY, FROM_DISCARD, FROM_DECK, KEPT or THROWN (already on the pile)
    scores: chex.Array  # int16[seat]
    round_scores: chex.Array  # int16[seat]       of the round before
    opener: chex.Array  # int8[]            who begins the set-up of this round (SJ-10)
    ender: chex.Array  # int8[]            -1 while nobody has ended the round
    final_turns: chex.Array  # bool[seat]        still to come after the ender (SJ-19)
    reveals_left: chex.Array  # int8[seat]        set-up flips to be made
    clears: chex.Array  # int8[seat]        columns cleared in this round
    turns_in_round: chex.Array  # int32[]
    round_index: chex.Array  # int32[]           from 1
    refills: chex.Array  # int32[]           refills of the game so far
    refilled: chex.Array  # bool[]            in this round
    history: chex.Array  # int16[K + 1, 6]   the last K records (SJ-47), record i in row i % K; row K is never read
    history_size: chex.Array  # int32[]           records in all
    history_in_round: chex.Array  # uint8[]           records of this round, at most K
    seed: chex.Array  # uint32[2]         all chance still to come is a function of it, or of the script
    next_deck: chex.Array  # int8[150]         deck of the next round, shuffled in its first next_ready places
    next_ready: chex.Array  # uint8[]
    next_reveals: chex.Array  # int8[seat, 2]     slots that its automatic set-up turns up
    script: Script  # a deal given from outside; empty in a game from a key


def draw_deal(env: "SkyjoEnv", key: chex.PRNGKey) -> dict[str, chex.Array]:
    """{"seed": uint32[2]}: a game may take any number of rounds, so its chance is the number that all of it is made of.

    What follows from a seed is our own arithmetic (chance.py), the same on every machine and in every release of JAX.
    """
    return {"seed": jax.random.bits(key, (2,), jnp.uint32)}


def read_deal(env: "SkyjoEnv", deal: Deal) -> Deal:
    """A deal in either form, {"seed"} or the page's {"decks", "reveals", "refills"} (SJ-6), as arrays.

    Host data is checked; of traced arrays only the shapes are.
    """
    keys = set(deal) if isinstance(deal, dict) else None
    if keys not in (set(SEED), set(PAGE)):
        given = type(deal).__name__ if keys is None else sorted(map(str, keys))
        raise ValueError(f"{env.id}: deal must be a dict with the keys {', '.join(PAGE)}, or seed alone; got {given}")
    if keys == set(SEED):
        return {"seed": _read_seed(env, deal["seed"])}
    orders = {
        name: _read_orders(env, name, deal[name], limit)
        for name, limit in (("decks", MAX_DECKS), ("refills", MAX_REFILLS))
    }
    return orders | {"reveals": _read_reveals(env, deal["reveals"])}


@functools.partial(jax.jit, static_argnums=0)
def first_state(env: "SkyjoEnv", deal: Deal) -> State:
    """The first round dealt; in automatic set-up also turned up.

    Compiled even where the caller does not: hundreds of small operations one by one would take seconds.
    """
    deals = jnp.bool_(True)
    state, flips = lay_out(env, _before_the_first_round(env, deal), when=deals)
    state = history.write(state, [flips], deals=deals)
    return open_round(env, state, when=deals)


def _before_the_first_round(env: "SkyjoEnv", deal: Deal) -> State:
    """Nothing on the table, and the first deck ready to be dealt as the next one."""
    n = env.num_players
    if "seed" in deal:
        seed, script = deal["seed"], no_script(env)
        deck, reveals = chance.shuffled_start(env, seed, round_index=1), chance.reveals_of(env, seed, jnp.int32(1))
    else:
        seed, script = jnp.zeros(2, jnp.uint32), write_script(env, deal)
        deck, reveals = unpack(script.decks[0]), script.reveals[0]
    return State(
        **at_the_start(n),
        cards=jnp.zeros((n, NUM_SLOTS), jnp.int8),
        status=jnp.zeros((n, NUM_SLOTS), jnp.int8),
        deck=jnp.zeros(NUM_CARDS, jnp.int8),
        deck_pos=jnp.uint8(0),
        deck_end=jnp.uint8(0),
        discard=jnp.zeros(NUM_CARDS, jnp.int8),
        discard_size=jnp.uint8(0),
        hand=jnp.int8(UNKNOWN_VALUE),
        hand_use=jnp.int8(Hand.EMPTY),
        scores=jnp.zeros(n, jnp.int16),
        round_scores=jnp.zeros(n, jnp.int16),
        opener=jnp.int8(0),
        ender=jnp.int8(0),  # player 0 opens the first round (SJ-10)
        final_turns=jnp.zeros(n, bool),
        reveals_left=jnp.zeros(n, jnp.int8),
        clears=jnp.zeros(n, jnp.int8),
        turns_in_round=jnp.int32(0),
        round_index=jnp.int32(0),
        refills=jnp.int32(0),
        refilled=jnp.bool_(False),
        history=history.empty(env.history_window_k),
        history_size=jnp.int32(0),
        history_in_round=jnp.uint8(0),
        seed=seed,
        next_deck=deck,
        next_ready=jnp.uint8(num_dealt(n)),
        next_reveals=reveals,
        script=script,
    )


def _read_seed(env: "SkyjoEnv", seed: Any) -> Any:
    """uint32[2]"""
    if _is_traced(seed):
        return seed
    given = _as_array(seed)
    if given is None or given.shape != (2,) or not ((given >= 0) & (given < 2**32)).all():
        raise ValueError(f"{env.id}: deal seed must be two integers in 0..{2**32 - 1}, got {seed!r}")
    return given.astype(np.uint32)


def _read_orders(env: "SkyjoEnv", name: str, orders: Any, limit: int) -> Any:
    """[deck or refill, 150], permutations of the card ids."""
    count = _length(env, name, orders)
    if not 1 <= count <= limit:
        raise ValueError(
            f"{env.id}: deal {name} must hold 1..{limit} permutations of 0..{NUM_CARDS - 1} (a state has room for "
            f"{limit}, and past the last it begins again with the first), got {count}"
        )
    if _is_traced(orders):
        return orders
    for i, order in enumerate(orders):
        check_permutation(env.id, f"deal {name}[{i}]", order, range(NUM_CARDS))
    return np.asarray(orders, np.int32)


def _read_reveals(env: "SkyjoEnv", reveals: Any) -> Any:
    """[round, seat, 2], slots; no round at all in manual set-up."""
    count = _length(env, "reveals", reveals)
    lowest = 0 if env.manual_setup else 1
    if not lowest <= count <= MAX_DECKS:
        raise ValueError(
            f"{env.id}: deal reveals must hold {lowest}..{MAX_DECKS} rounds (a state has room for {MAX_DECKS}, and "
            f"past the last it begins again with the first), got {count}"
        )
    if count == 0:
        return np.zeros((0, env.num_players, 2), np.int8)
    if _is_traced(reveals):
        return reveals
    for i, pairs in enumerate(reveals):
        given = _as_array(pairs)
        if given is None or given.shape != (env.num_players, 2) or not _are_different_slots(given):
            raise ValueError(
                f"{env.id}: deal reveals[{i}] must hold two different slots in 0..{NUM_SLOTS - 1} for each of "
                f"{env.num_players} players, got {pairs!r}"
            )
    return np.asarray(reveals, np.int8)


def _are_different_slots(pairs: np.ndarray) -> bool:
    """Of pairs [seat, 2]."""
    return bool(((pairs >= 0) & (pairs < NUM_SLOTS)).all() and (pairs[:, 0] != pairs[:, 1]).all())


def _length(env: "SkyjoEnv", name: str, values: Any) -> int:
    try:
        return len(values)
    except TypeError:
        raise ValueError(f"{env.id}: deal {name} must be a list, got {values!r}") from None


def _as_array(values: Any) -> np.ndarray | None:
    """Integers, or None."""
    try:
        given = np.asarray(values)
    except (ValueError, OverflowError):  # rows of different lengths, numbers without end
        return None
    return given if given.dtype.kind in "iu" else None


def _is_traced(values: Any) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(values))
