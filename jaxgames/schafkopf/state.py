"""One game of Schafkopf as facts: how it is dealt, and how to read them."""

from typing import TYPE_CHECKING

import chex
import jax
import jax.numpy as jnp

from jaxgames.cards import shuffle
from jaxgames.env import Deal, at_the_start
from jaxgames.env import State as SharedState
from jaxgames.options import check_deal_int, check_deal_keys, check_permutation
from jaxgames.schafkopf.cards import NO_BID, NO_CARD, NO_SEAT, NUM_CARDS, NUM_SEATS, NUM_TRICKS, bit, union
from jaxgames.tricks import seat_after

if TYPE_CHECKING:
    from jaxgames.schafkopf.env import SchafkopfEnv

# Stages in order; each trick is one. A stage is also the place of its bit in the observations.
BIDDING, CONTRA, RETOUR, FIRST_TRICK = range(4)
LAST_TRICK = FIRST_TRICK + NUM_TRICKS - 1
NUM_STAGES = LAST_TRICK + 1


@chex.dataclass(frozen=True)
class State(SharedState):
    """One deal. Hands, masks and observations are computed from it, never stored in it."""

    dealt: chex.Array  # uint32[seat]       the eight cards each seat was dealt, as a set; played cards stay in it
    played: chex.Array  # int8[trick, order] card ids as they were played, NO_CARD if not yet
    leaders: chex.Array  # int8[trick]        seat that led the trick, NO_SEAT if not yet; trick 0: the first player
    bids: chex.Array  # int8[seat]         action id of the bid, NO_BID before it
    contract: chex.Array  # int8[]             the winning bid, 0 before the end of bidding and in a passed game
    declarer: chex.Array  # int8[]             NO_SEAT if none
    contra: chex.Array  # int8[]             seat that gave contra, NO_SEAT if nobody did
    retour: chex.Array  # int8[]             seat that gave retour, NO_SEAT if nobody did
    stage: chex.Array  # int8[]             BIDDING, CONTRA, RETOUR, then FIRST_TRICK + trick
    points: chex.Array  # int8[seat]         card points taken, 0..120
    tricks: chex.Array  # int8[seat]         tricks taken
    ran_away: chex.Array  # bool[]             the owner of the called ace led another card of its suit (SC-23)


def draw_deal(env: "SchafkopfEnv", key: chex.PRNGKey) -> dict[str, chex.Array]:
    """SC-6: {"dealer": int8[], "deck": int8[32]}, all chance of a game."""
    del env  # the same under every option
    deck_key, dealer_key = jax.random.split(key)
    dealer = jax.random.randint(dealer_key, (), 0, NUM_SEATS, jnp.int32)
    return {"dealer": dealer.astype(jnp.int8), "deck": shuffle(deck_key, NUM_CARDS)}


def read_deal(env: "SchafkopfEnv", deal: Deal) -> dict[str, chex.Array]:
    """A given deal as arrays, checked where it is host data (SC-6)."""
    check_deal_keys(env.id, deal, ("dealer", "deck"))
    check_deal_int(env.id, "dealer", deal["dealer"], 0, NUM_SEATS - 1)
    check_permutation(env.id, "deck", deal["deck"], range(NUM_CARDS))
    return {name: jnp.asarray(deal[name], jnp.int8) for name in ("dealer", "deck")}


def first_state(env: "SchafkopfEnv", deal: dict[str, chex.Array]) -> State:
    """SC-6, SC-7: seat p holds deck[8p .. 8p+7], the seat after the dealer begins."""
    del env  # the same under every option
    first_player = seat_after(deal["dealer"], 1, NUM_SEATS)
    nobody = jnp.int8(NO_SEAT)
    return State(
        **at_the_start(NUM_SEATS, first_player),
        dealt=union(bit(deal["deck"].reshape(NUM_SEATS, -1))),
        played=jnp.full((NUM_TRICKS, NUM_SEATS), NO_CARD, jnp.int8),
        leaders=jnp.where(jnp.arange(NUM_TRICKS) == 0, first_player, nobody),
        bids=jnp.full(NUM_SEATS, NO_BID, jnp.int8),
        contract=jnp.int8(0),
        declarer=nobody,
        contra=nobody,
        retour=nobody,
        stage=jnp.int8(BIDDING),
        points=jnp.zeros(NUM_SEATS, jnp.int8),
        tricks=jnp.zeros(NUM_SEATS, jnp.int8),
        ran_away=jnp.bool_(False),
    )


def seats() -> chex.Array:
    """int8[seat], 0..3."""
    return jnp.arange(NUM_SEATS, dtype=jnp.int8)


def of_seat(values: chex.Array, seat: chex.Array) -> chex.Array:
    """values[seat] by comparison; zero for NO_SEAT."""
    return jnp.where(seats() == seat, values, 0).sum(dtype=values.dtype)


def first_player(state: State) -> chex.Array:
    """int8[], the seat that begins every stage."""
    return state.leaders[0]


def dealer(state: State) -> chex.Array:
    """int8[], the seat that ends every stage before the tricks."""
    return seat_after(first_player(state), NUM_SEATS - 1, NUM_SEATS)


def gone(state: State) -> chex.Array:
    """uint32[], all cards played so far."""
    return union(bit(state.played.ravel()))


def hand(state: State, seat: chex.Array) -> chex.Array:
    """uint32[], the cards `seat` still holds."""
    return of_seat(state.dealt, seat) & ~gone(state)


def trick_number(state: State) -> chex.Array:
    """int8[], 0..7; before the first card it is 0."""
    return jnp.maximum(state.stage - FIRST_TRICK, 0)


def open_trick(state: State) -> chex.Array:
    """int8[order], the cards of the open trick, NO_CARD where none lies yet."""
    is_open = jnp.arange(NUM_TRICKS) == trick_number(state)
    return jnp.where(is_open[:, None], state.played, 0).sum(axis=0, dtype=jnp.int8)


def leader(state: State) -> chex.Array:
    """int8[], the seat that leads the open trick."""
    return jnp.where(jnp.arange(NUM_TRICKS) == trick_number(state), state.leaders, 0).sum(dtype=jnp.int8)


def num_played(state: State) -> chex.Array:
    """int32[], how many cards have been played."""
    return (state.played >= 0).sum(dtype=jnp.int32)


def player_of_turn(state: State) -> chex.Array:
    """int8[trick, order], the seat whose turn it was; only where a card lies."""
    return seat_after(state.leaders[:, None], seats(), NUM_SEATS)
