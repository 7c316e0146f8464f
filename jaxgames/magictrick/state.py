"""A game of Magic Trick as facts: how it is dealt, and how to read them."""

from typing import TYPE_CHECKING, Any

import chex
import jax
import jax.numpy as jnp

from jaxgames.cards import shuffles
from jaxgames.env import Deal, at_the_start
from jaxgames.env import State as SharedState
from jaxgames.magictrick.cards import NO_BID, NO_CARD, NUM_CARDS, NUM_SEATS, NUM_SLOTS, value_of
from jaxgames.options import check_deal_int, check_deal_keys, check_permutation
from jaxgames.tricks import seat_after

if TYPE_CHECKING:
    from jaxgames.magictrick.env import MagicTrickEnv

# Phases (MT-7).
PLAYING = 0
BIDDING = 1


@chex.dataclass(frozen=True)
class State(SharedState):
    """One game of `num_hands` hands. All of them are dealt at the start: shuffling inside a step would cost most."""

    dealt: chex.Array  # int8[hand, seat, slot]  the card in each slot, past and future hands included
    hand_index: chex.Array  # int8[]        the hand being played, counted from 0
    first_leader: chex.Array  # int8[]        seat that led the first trick of the first hand
    phase: chex.Array  # int8[]        PLAYING, or BIDDING: the seat that has just played may bid
    revealed: chex.Array  # bool[seat, slot]  played or bid in this hand
    trick: chex.Array  # int8[4]       the open trick in order of play, NO_CARD where none
    bid: chex.Array  # int8[seat]    value of the card that was bid, NO_BID before
    tricks: chex.Array  # int8[seat]    tricks won in this hand
    captured: chex.Array  # uint8[seat]   bit s: a card of suit s was won in this hand
    scores: chex.Array  # int16[seat]   points of the finished hands
    prestige: chex.Array  # int8[seat]    hands that earned prestige


def draw_deal(env: "MagicTrickEnv", key: chex.PRNGKey) -> dict[str, chex.Array]:
    """{"decks": int8[hand, 56], "first_leader": int8[]}: a deck a hand, and the leader if it is drawn (MT-8, MT-11)."""
    deal_key, leader_key = jax.random.split(key)
    drawn = jax.random.randint(leader_key, (), 0, NUM_SEATS, jnp.int8)
    leader = drawn if env.first_leader < 0 else jnp.int8(env.first_leader)
    return {"decks": shuffles(deal_key, env.num_hands, NUM_CARDS), "first_leader": leader}


def read_deal(env: "MagicTrickEnv", deal: Deal) -> dict[str, chex.Array]:
    """A given deal as arrays, checked where it is host data (MT-8).

    It is followed to the letter, its leader too, whatever the option `first_leader` says.
    """
    check_deal_keys(env.id, deal, ("decks", "first_leader"))
    check_deal_int(env.id, "deal first_leader", deal["first_leader"], 0, NUM_SEATS - 1)
    decks: Any = deal["decks"]
    if not hasattr(decks, "__len__") or len(decks) != env.num_hands:
        got = len(decks) if hasattr(decks, "__len__") else repr(decks)
        raise ValueError(f"{env.id}: deal decks must be {env.num_hands} decks (num_hands), got {got}")
    for hand, deck in enumerate(decks):
        check_permutation(env.id, f"deal decks[{hand}]", deck, range(NUM_CARDS))
    return {
        "decks": jnp.stack([jnp.asarray(deck, jnp.int8) for deck in decks]),
        "first_leader": jnp.asarray(deal["first_leader"], jnp.int8),
    }


def first_state(env: "MagicTrickEnv", deal: dict[str, chex.Array]) -> State:
    """A game before its first card (MT-8 to MT-11)."""
    del env  # the deal has its number of hands
    leader = deal["first_leader"]
    return State(
        **at_the_start(NUM_SEATS, leader),
        dealt=deal_hands(deal["decks"]),
        hand_index=jnp.int8(0),
        first_leader=leader,
        phase=jnp.int8(PLAYING),
        revealed=jnp.zeros((NUM_SEATS, NUM_SLOTS), bool),
        trick=jnp.full(NUM_SEATS, NO_CARD, jnp.int8),
        bid=jnp.full(NUM_SEATS, NO_BID, jnp.int8),
        tricks=jnp.zeros(NUM_SEATS, jnp.int8),
        captured=jnp.zeros(NUM_SEATS, jnp.uint8),
        scores=jnp.zeros(NUM_SEATS, jnp.int16),
        prestige=jnp.zeros(NUM_SEATS, jnp.int8),
    )


def deal_hands(deck: chex.Array) -> chex.Array:
    """The four hands that a deck gives, int8[..., seat, slot] from int8[..., 56]  (MT-8, MT-9).

    Every hand rises by value, and cards of equal value stay in the order in which they were dealt.
    """
    order_dealt = jnp.arange(NUM_SLOTS, dtype=jnp.int16)
    by_seat = jnp.swapaxes(deck.reshape(*deck.shape[:-1], NUM_SLOTS, NUM_SEATS), -1, -2).astype(jnp.int16)
    sortable = value_of(by_seat) * 1024 + order_dealt * 64 + by_seat
    return (jnp.sort(sortable, axis=-1) & 63).astype(jnp.int8)


def hands(state: State) -> chex.Array:
    """The cards of the hand being played, int8[seat, slot]."""
    if state.dealt.shape[0] == 1:
        return state.dealt[0]
    return state.dealt[state.hand_index]


def num_in_trick(state: State) -> chex.Array:
    """Cards in the open trick, int32[], 0..4."""
    return (state.trick >= 0).sum(dtype=jnp.int32)


def trick_leader(state: State) -> chex.Array:
    """The seat that led the open trick, int8[]; with no card in it, the seat to lead."""
    turns = num_in_trick(state) - (state.phase == BIDDING)
    return seat_after(state.current_player, -turns, NUM_SEATS)
