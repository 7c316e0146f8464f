"""The rules of play and scoring (MT-10 to MT-27): what is legal, and what an action does."""

from typing import TYPE_CHECKING

import chex
import jax
import jax.numpy as jnp

from jaxgames.env import pick
from jaxgames.magictrick.cards import (
    BID,
    HEARTS,
    NO_BID,
    NO_CARD,
    NUM_SEATS,
    NUM_SLOTS,
    NUM_TRICKS,
    PASS,
    suit_of,
    value_of,
)
from jaxgames.magictrick.state import BIDDING, PLAYING, State, hands, num_in_trick, trick_leader
from jaxgames.tricks import seat_after, strongest

if TYPE_CHECKING:
    from jaxgames.magictrick.env import MagicTrickEnv


def legal_actions(env: "MagicTrickEnv", state: State) -> chex.Array:
    """bool[29] for the current player. Never empty before the end: whoever is to act has a hidden slot (MT-17)."""
    del env  # the same under every option
    hidden = hidden_slots(state, state.current_player)
    playing = state.phase == PLAYING
    may_pass = ~playing & (hidden.sum() > 1)
    return jnp.concatenate([legal_slots(state) & playing, hidden & ~playing, may_pass[None]])


def legal_slots(state: State) -> chex.Array:
    """bool[slot] that the current player may play: follow the led suit if a hidden back shows it (MT-12, MT-13)."""
    hidden = hidden_slots(state, state.current_player)
    follows = hidden & (suit_of(hands(state)[state.current_player]) == suit_of(state.trick[0]))
    # Before the first card of a trick the led suit is that of NO_CARD, which no slot has.
    return jnp.where(follows.any(), follows, hidden)


def hidden_slots(state: State, seat: chex.Array) -> chex.Array:
    """bool[slot], the seat's slots that were neither played nor bid (MT-10)."""
    return ~state.revealed[seat]


def play(env: "MagicTrickEnv", state: State, action: chex.Array) -> State:
    """The turn: a card is played, or a bid placed or passed; then perhaps a trick and a hand end."""
    playing = state.phase == PLAYING  # read once: no transition may trigger the next
    slot = jnp.where(action >= BID, action - BID, action) % NUM_SLOTS
    card = hands(state)[state.current_player, slot]

    state = reveal(state, slot, when=action != PASS)
    state = add_to_trick(state, card, when=playing)
    state = place_bid(state, card, when=~playing & (action != PASS))
    state = pass_turn(state, playing=playing)
    state = award_trick(state, when=(state.phase == PLAYING) & (num_in_trick(state) == NUM_SEATS))
    return end_hand(env, state, when=state.tricks.sum() == NUM_TRICKS)


def reveal(state: State, slot: chex.Array, *, when: chex.Array) -> State:
    """The card of the slot is turned over for the rest of the hand (MT-10)."""
    mine = jnp.arange(NUM_SEATS)[:, None] == state.current_player
    turned = mine & (jnp.arange(NUM_SLOTS) == slot) & when
    return state.replace(revealed=state.revealed | turned)


def add_to_trick(state: State, card: chex.Array, *, when: chex.Array) -> State:
    """The card joins the trick (MT-14)."""
    place = (jnp.arange(NUM_SEATS) == num_in_trick(state)) & when
    return state.replace(trick=jnp.where(place, card, state.trick))


def place_bid(state: State, card: chex.Array, *, when: chex.Array) -> State:
    """The value of the card is the player's bid; the card itself is out of play (MT-16)."""
    mine = (jnp.arange(NUM_SEATS) == state.current_player) & when
    return state.replace(bid=jnp.where(mine, value_of(card), state.bid))


def pass_turn(state: State, *, playing: chex.Array) -> State:
    """Whoever has just played and has no bid is asked for one; otherwise the next seat plays (MT-15)."""
    asked = playing & (state.bid[state.current_player] == NO_BID)
    following = seat_after(state.current_player, 1, NUM_SEATS)
    return state.replace(
        phase=jnp.where(asked, BIDDING, PLAYING).astype(jnp.int8),
        current_player=jnp.where(asked, state.current_player, following),
    )


def award_trick(state: State, *, when: chex.Array) -> State:
    """The winner takes the trick and the suits in it, and leads the next (MT-18, MT-19)."""
    winner = trick_winner(state.trick, trick_leader(state))
    wins = (jnp.arange(NUM_SEATS) == winner) & when
    suits = suit_bits(state.trick)
    return state.replace(
        tricks=state.tricks + wins,
        captured=state.captured | jnp.where(wins, suits, 0),
        trick=jnp.where(when, NO_CARD, state.trick),
        current_player=jnp.where(when, winner, state.current_player),
    )


def trick_winner(trick: chex.Array, leader: chex.Array) -> chex.Array:
    """The seat that wins a complete trick, int8[order], led by `leader`: int8[]  (MT-18)."""
    suit = suit_of(trick)
    power = value_of(trick) + 8 * (suit == suit[0]) + 16 * (suit == HEARTS)
    return seat_after(leader, strongest(power, jnp.arange(NUM_SEATS)), NUM_SEATS)


def suit_bits(cards: chex.Array) -> chex.Array:
    """uint8[], the set of suits of some cards as bits."""
    bits = jnp.uint8(1) << suit_of(cards).astype(jnp.uint8)
    return bits[0] | bits[1] | bits[2] | bits[3]


def end_hand(env: "MagicTrickEnv", state: State, *, when: chex.Array) -> State:
    """Score the hand (MT-25); begin the next one in the same step, or end the game (MT-27, MT-31)."""
    points, prestige = score_hand(env, state.bid, state.tricks, state.captured)
    state = state.replace(
        scores=state.scores + jnp.where(when, points, 0),
        prestige=state.prestige + (prestige & when),
    )
    is_last = state.hand_index == state.dealt.shape[0] - 1
    state = start_next_hand(state, when=when & ~is_last)
    return state.replace(terminated=state.terminated | (when & is_last))


def start_next_hand(state: State, *, when: chex.Array) -> State:
    """Fresh slots, nothing revealed, bid or won; the lead moves on by one seat a hand (MT-11, MT-27)."""
    hand_index = state.hand_index + 1
    fresh = state.replace(
        hand_index=hand_index,
        revealed=jnp.zeros_like(state.revealed),
        bid=jnp.full_like(state.bid, NO_BID),
        tricks=jnp.zeros_like(state.tricks),
        captured=jnp.zeros_like(state.captured),
        current_player=seat_after(state.first_leader, hand_index, NUM_SEATS),
    )
    return pick(when, fresh, state)


def score_hand(
    env: "MagicTrickEnv", bid: chex.Array, tricks: chex.Array, captured: chex.Array
) -> tuple[chex.Array, chex.Array]:
    """Points int16[seat] and prestige bool[seat] of a finished hand (MT-22 to MT-24)."""
    made = bid == tricks
    prestige = made & (jax.lax.population_count(captured).astype(jnp.int8) == bid)
    if not env.zero_bid_prestige:
        prestige &= bid > 0
    points = jnp.where(made, 3 + 2 * prestige, -jnp.abs(bid - tricks))
    return points.astype(jnp.int16), prestige
