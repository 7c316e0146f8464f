"""The facts of a game of Magic Trick."""

import chex
import jax.numpy as jnp

import jaxgames.env
from jaxgames.magictrick.cards import NO_BID, NO_CARD, NUM_SEATS, NUM_SLOTS, deal_hands

# Phases (MT-7).
PLAYING = 0
BIDDING = 1


@chex.dataclass(frozen=True)
class State(jaxgames.env.State):
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


def first_state(decks: chex.Array, first_leader: chex.Array) -> State:
    """A game before its first card, from int[hand, 56] and the leader of the first hand (MT-8 to MT-11)."""
    leader = jnp.asarray(first_leader, jnp.int8)
    return State(
        current_player=leader,
        rewards=jnp.zeros(NUM_SEATS, jnp.float32),
        terminated=jnp.bool_(False),
        truncated=jnp.bool_(False),
        step_count=jnp.int32(0),
        dealt=deal_hands(jnp.asarray(decks, jnp.int8)),
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


def hands(state: State) -> chex.Array:
    """The cards of the hand being played, int8[seat, slot]."""
    if state.dealt.shape[0] == 1:
        return state.dealt[0]
    return state.dealt[state.hand_index]


def num_in_trick(state: State) -> chex.Array:
    """Cards in the open trick, int32[], 0..4."""
    return (state.trick >= 0).sum()


def trick_leader(state: State) -> chex.Array:
    """The seat that led the open trick, int8[]; with no card in it, the seat to lead."""
    turns = num_in_trick(state) - (state.phase == BIDDING)
    return ((state.current_player - turns) % NUM_SEATS).astype(jnp.int8)
