"""The rule bot of Magic Trick (rules page, section 11): it knows the belief that all players share, nothing more."""

import chex
import jax.numpy as jnp

from jaxgames.magictrick.belief import belief
from jaxgames.magictrick.cards import (
    BID,
    HEARTS,
    NO_BID,
    NUM_SEATS,
    NUM_VALUES,
    PASS,
    suit_of,
    value_of,
)
from jaxgames.magictrick.env import MagicTrickEnv
from jaxgames.magictrick.rules import hidden_slots, legal_slots, trick_winner
from jaxgames.magictrick.state import BIDDING, State, hands, num_in_trick, trick_leader

TRICKS_PER_CARD = 0.15  # expected of every card that is still to be played
SURE = 0.9
UNLIKELY = 0.2
DECIMALS = 4  # beliefs equal up to rounding are equal: ties go to the lowest slot


def rule_based(env: MagicTrickEnv):
    """Bid late, on the slot nearest to the tricks to be expected; then win as long as tricks are missing."""
    del env  # it plays the same under every option

    def act(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        del key
        values = belief(state)[player]  # float32[slot, value]
        return jnp.where(state.phase == BIDDING, choose_bid(state, player, values), choose_slot(state, player, values))

    return act


def choose_bid(state: State, player: chex.Array, values: chex.Array) -> chex.Array:
    """int32[]: bid the slot closest to the goal if it is close or time is short, else pass."""
    hidden = hidden_slots(state, player)
    num_hidden = hidden.sum()
    goal = tricks_so_far(state, player) + TRICKS_PER_CARD * (num_hidden - 1)
    miss = (values * jnp.abs(jnp.arange(NUM_VALUES) - goal)).sum(axis=-1)
    slot, smallest = lowest(miss, among=hidden)
    bids = (num_hidden <= 2) | ((num_hidden <= 7) & (smallest < 0.5))
    return jnp.where(bids, BID + slot, PASS)


def tricks_so_far(state: State, player: chex.Array) -> chex.Array:
    """int32[], the player's tricks, with the one on the table if it is complete and the player's."""
    winner = trick_winner(state.trick, trick_leader(state))
    wins_this = (num_in_trick(state) == NUM_SEATS) & (winner == player)
    return state.tricks[player] + wins_this


def choose_slot(state: State, player: chex.Array, values: chex.Array) -> chex.Array:
    """int32[], the slot to play."""
    legal = legal_slots(state)
    suit = suit_of(hands(state)[player])
    strength = values @ jnp.arange(NUM_VALUES, dtype=jnp.float32) + 8 * (suit == HEARTS)
    beats = chance_to_beat(state, suit, values)
    bid = state.bid[player]
    wants = state.tricks[player] < jnp.where(bid == NO_BID, 2, bid)
    played = num_in_trick(state)

    strongest, weakest = highest(strength, among=legal)[0], lowest(strength, among=legal)[0]
    lead = jnp.where(wants, strongest, weakest)

    best_chance = highest(beats, among=legal)[1]
    likeliest = highest(strength, among=legal & (beats == best_chance))[0]
    sure = legal & (beats >= SURE)
    take = jnp.where(best_chance < UNLIKELY, weakest, likeliest)
    take = jnp.where((played == NUM_SEATS - 1) & sure.any(), lowest(strength, among=sure)[0], take)

    least_chance = lowest(beats, among=legal)[1]
    safe = legal & (beats <= UNLIKELY)
    least = lowest(strength, among=legal & (beats == least_chance))[0]
    duck = jnp.where(safe.any(), highest(strength, among=safe)[0], least)
    return jnp.where(played == 0, lead, jnp.where(wants, take, duck))


def chance_to_beat(state: State, suit: chex.Array, values: chex.Array) -> chex.Array:
    """float32[slot], the probability that a slot beats the best card of the trick so far."""
    # Empty places repeat the first card: they never win against it.
    trick = jnp.where(state.trick >= 0, state.trick, state.trick[0])
    place = trick_winner(trick, jnp.int8(0))  # in the order of play
    best = jnp.where(jnp.arange(NUM_SEATS) == place, trick, 0).sum(dtype=jnp.int8)
    higher = (values * (jnp.arange(NUM_VALUES) > value_of(best))).sum(axis=-1)
    trumps = (suit == HEARTS) & (suit_of(best) != HEARTS)
    chance = jnp.where(suit == suit_of(best), higher, jnp.where(trumps, 1.0, 0.0))
    return jnp.round(chance, DECIMALS)


def highest(score: chex.Array, *, among: chex.Array) -> tuple[chex.Array, chex.Array]:
    """The lowest slot with the highest score, int32[], and that score."""
    score = jnp.where(among, jnp.round(score, DECIMALS), -jnp.inf)
    return jnp.argmax(score), score.max()


def lowest(score: chex.Array, *, among: chex.Array) -> tuple[chex.Array, chex.Array]:
    """The lowest slot with the lowest score, int32[], and that score."""
    slot, negative = highest(-score, among=among)
    return slot, -negative


AGENTS = {"rule": rule_based}
