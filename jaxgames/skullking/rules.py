"""What may be played and what follows from it: the turn of Skull King (SK-4 .. SK-34)."""

from typing import TYPE_CHECKING, NamedTuple

import chex
import jax.numpy as jnp
from jax import lax

from jaxgames.cards import members
from jaxgames.env import computed_once, pick
from jaxgames.skullking.cards import (
    ABILITY_BENDT_1,
    ABILITY_BENDT_2,
    ABILITY_HARRY,
    ABILITY_JADE,
    ABILITY_ROATAN,
    ABILITY_ROSIE,
    ACKNOWLEDGE,
    BET,
    BID,
    BIDDING,
    CHANGE,
    DISCARD,
    HARRY,
    LEAD,
    LOOTS,
    NO_CARD,
    NUM_ACTIONS,
    NUM_BETS,
    NUM_CHANGES,
    PIRATE_PHASES,
    PLAY,
    PLAY_TIGRESS_AS_ESCAPE,
    PLAY_TIGRESS_AS_PIRATE,
    PLAYING,
    ROATAN,
    ROGER,
    ROSIE,
    TIGRESS,
    suit_of,
)
from jaxgames.skullking.scoring import bids_after_harry, round_points
from jaxgames.skullking.state import State, with_room_for_draw
from jaxgames.skullking.trick import lead_of, next_leader, nobody_wins, table, trick_bonus
from jaxgames.tricks import seat_after

if TYPE_CHECKING:
    from jaxgames.skullking.env import SkullKingEnv


class Events(NamedTuple):
    """What one step brought about: rewards, metrics and labels are read off it."""

    trick_done: chex.Array  # bool[]
    winner: chex.Array  # int8[]      of that trick, -1 if nobody won it
    winning_card: chex.Array  # int8[]      NO_CARD if nobody won it
    round_done: chex.Array  # bool[]      the round was scored
    final_bids: chex.Array  # int8[seat]  after Harry
    won: chex.Array  # int8[seat]  tricks, this one included
    bonus: chex.Array  # int16[seat]
    bets: chex.Array  # int8[seat]
    points: chex.Array  # int16[seat] of the round, if it was scored


def play(env: "SkullKingEnv", state: State, action: chex.Array) -> State:
    """The state after a legal decision of the current player."""
    return play_with_events(env, state, action)[0]


def play_with_events(env: "SkullKingEnv", state: State, action: chex.Array) -> tuple[State, Events]:
    """Apply one legal decision of the current player: the turn, told in order."""
    phase = state.phase  # read once: no transition may trigger the next
    size = cards_dealt(env, state)

    state = place_bid(state, action - BID, when=phase == BIDDING)
    card = computed_once(card_of(state, action))
    state = play_card(env, state, card, action == PLAY_TIGRESS_AS_PIRATE, when=phase == PLAYING)
    state = choose_leader(state, action - LEAD, when=phase == ABILITY_ROSIE)
    state = discard(state, card, phase)
    state = leave_hand(state, card, phase)
    state = place_bet(state, action - BET, when=phase == ABILITY_ROATAN)

    was_last = seat_after(state.current_player, 1, env.num_players) == state.leader
    trick_done = computed_once((phase == PLAYING) & was_last)
    state, winner, winning_card, asked = take_trick(env, state, size, when=trick_done)
    state = pass_turn(state, phase, trick_done, asked)

    round_over = (state.tricks == size) & (state.phase == PLAYING)
    harry_waits = (state.harry >= 0) & (phase != ABILITY_HARRY)
    state = ask_harry(state, when=round_over & harry_waits)
    round_done = computed_once(round_over & ~harry_waits)
    change = jnp.where(phase == ABILITY_HARRY, action - (CHANGE + 1), 0).astype(jnp.int8)
    final_bids = bids_after_harry(state, change)
    points = round_points(env, state, final_bids, size)
    events = Events(
        trick_done=trick_done,
        winner=winner,
        winning_card=winning_card,
        round_done=round_done,
        final_bids=final_bids,
        won=state.won,
        bonus=state.bonus,
        bets=state.bets,
        points=points,
    )
    return close_round(env, state, points, when=round_done), events


def legal_actions(env: "SkullKingEnv", state: State) -> chex.Array:
    """bool[action] for the current player (SK-5). Never empty: every phase has an action in every position."""
    return members(legal_set(env, state), NUM_ACTIONS)


def legal_set(env: "SkullKingEnv", state: State) -> chex.Array:
    """uint32[2], the legal actions as bits: the phase picks one of six sets."""
    phase, hand = state.phase, hand_of_player(state)
    slot = jnp.arange(hand.shape[0], dtype=jnp.uint32)
    # SK-13: the Tigress has her own two actions.
    play = jnp.where(hand == TIGRESS, jnp.uint32(0b11 << PLAY_TIGRESS_AS_PIRATE), jnp.uint32(1 << PLAY) << slot)
    plays = jnp.where(playable_cards(env, state, hand), play, 0).sum(dtype=jnp.uint32)
    is_free = (hand != NO_CARD) & ((phase == ABILITY_BENDT_1) | (hand != state.discards[0]))
    discards = jnp.where(is_free, jnp.uint32(1) << slot, 0).sum(dtype=jnp.uint32)
    bids = (jnp.uint32(2) << cards_dealt(env, state).astype(jnp.uint32)) - 1
    discards_now = (phase == ABILITY_BENDT_1) | (phase == ABILITY_BENDT_2)
    low = jnp.where(discards_now, discards << DISCARD, jnp.uint32(0))
    low = jnp.where(phase == BIDDING, bids, jnp.where(phase == PLAYING, plays, low))
    low = jnp.where(phase == ABILITY_ROSIE, jnp.uint32(((1 << env.num_players) - 1) << LEAD), low)
    high = jnp.where(discards_now, discards >> (32 - DISCARD), jnp.uint32(0))
    for asks, first, count in (
        (ABILITY_ROATAN, BET, NUM_BETS),
        (ABILITY_HARRY, CHANGE, NUM_CHANGES),
        (ABILITY_JADE, ACKNOWLEDGE, 1),
    ):
        high = jnp.where(phase == asks, jnp.uint32(((1 << count) - 1) << (first - 32)), high)
    return jnp.stack([low, high])


def playable_cards(env: "SkullKingEnv", state: State, hand: chex.Array) -> chex.Array:
    """bool[slot]: what SK-10..12 let this hand play now."""
    lead = lead_of(state)
    suit = suit_of(hand)
    follows = (suit == lead) & (suit > 0)
    allowed = follows | (suit == 0)
    if env.trump_anytime:
        allowed |= suit == ROGER
    return (hand != NO_CARD) & (allowed | ~follows.any())


def place_bid(state: State, bid: chex.Array, *, when: chex.Array) -> State:
    """SK-7: the bid of the current player."""
    return state.replace(bids=jnp.where(is_mover(state) & when, bid.astype(jnp.int8), state.bids))


def play_card(env: "SkullKingEnv", state: State, card: chex.Array, as_pirate: chex.Array, *, when: chex.Array) -> State:
    """The card goes to the table; a card off the led suit shows a void (SK-40)."""
    mover = is_mover(state) & when
    lead, suit = computed_once((lead_of(state), suit_of(card)))
    shows_void = (lead != suit) & (suit > 0)
    if env.trump_anytime:
        shows_void &= suit != ROGER  # black was allowed anyway
    suits = jnp.arange(1, 5)
    here = jnp.arange(state.played.shape[1]) == state.tricks
    return state.replace(
        voids=state.voids | (mover[:, None] & shows_void & (suits == lead)),
        played=jnp.where(mover[:, None] & here, card, state.played),
        tigress_is_pirate=jnp.where((card == TIGRESS) & when, as_pirate, state.tigress_is_pirate),
    )


def choose_leader(state: State, relative_seat: chex.Array, *, when: chex.Array) -> State:
    """SK-21: Rosie's user names who leads the next trick."""
    seat = seat_after(state.current_player, relative_seat, state.won.shape[0])
    return state.replace(
        leader=jnp.where(when, seat, state.leader),
        rosie_user=jnp.where(when, state.current_player, state.rosie_user),
    )


def discard(state: State, card: chex.Array, phase: chex.Array) -> State:
    """SK-23: two cards face down, one action each."""
    now = jnp.stack([phase == ABILITY_BENDT_1, phase == ABILITY_BENDT_2])
    return state.replace(discards=jnp.where(now, card, state.discards))


def leave_hand(state: State, card: chex.Array, phase: chex.Array) -> State:
    """A card that is played leaves the hand, discards leave it together (SK-23)."""
    both = phase == ABILITY_BENDT_2
    first = jnp.where(phase == PLAYING, card, jnp.where(both, state.discards[0], NO_CARD)).astype(jnp.int8)
    second = jnp.where(both, state.discards[1], NO_CARD).astype(jnp.int8)
    left = computed_once(without(without(hand_of_player(state), first), second))
    return state.replace(hand=jnp.where(is_mover(state)[:, None], left, state.hand))


def place_bet(state: State, tens: chex.Array, *, when: chex.Array) -> State:
    """SK-22: Roatán's user bets 0, 10 or 20 points on the own bid."""
    return state.replace(bets=jnp.where(is_mover(state) & when, (10 * tens).astype(jnp.int8), state.bets))


def trick_winner(trick: chex.Array, leader: chex.Array, tigress_is_pirate: chex.Array) -> chex.Array:
    """SK-14..16, int8[]: the seat that wins a complete trick, int8[seat], led by `leader`; -1 if nobody does."""
    return jnp.where(nobody_wins(trick, leader), jnp.int8(-1), next_leader(trick, leader, tigress_is_pirate))


def take_trick(
    env: "SkullKingEnv", state: State, size: chex.Array, *, when: chex.Array
) -> tuple[State, chex.Array, chex.Array, chex.Array]:
    """SK-14..20: winner, bonus, alliances and the winning pirate's ability.

    Returns the state, the winner (-1 if nobody), the winning card, and the phase that asks next.
    """
    seats = env.num_players
    cards, tigress = table(state), state.tigress_is_pirate
    winner = trick_winner(cards, state.leader, tigress)
    winner, leader = computed_once((winner, next_leader(cards, state.leader, tigress)))
    is_won = when & (winner >= 0)
    winner = jnp.where(is_won, winner, -1).astype(jnp.int8)
    takes = jnp.arange(seats) == winner
    card = jnp.where(takes, cards, NO_CARD).min()
    is_last = state.tricks + 1 == size

    loots = cards == jnp.asarray(LOOTS, jnp.int8)[:, None]  # bool[loot, seat]
    allied = (loots & ~takes).any(-1) & is_won
    loot_player = jnp.where(loots, jnp.arange(seats, dtype=jnp.int8), -1).max(-1)

    pirate = jnp.arange(ROSIE, HARRY + 1) == card
    has_ability = (pirate & state.abilities).any()
    may_ask = ~is_last | (env.roatan_last_trick & (card == ROATAN))
    asked = jnp.where(pirate & has_ability & may_ask, jnp.asarray(PIRATE_PHASES), PLAYING).max()

    draws = asked == ABILITY_BENDT_1
    takes, draws, card, winner, asked = computed_once((takes, draws, card, winner, asked))
    top = state.top[state.round]
    drawn = computed_once(with_card(with_card(state.hand[jnp.maximum(winner, 0)], top[0]), top[1]))
    takes_and_draws = (takes & draws)[:, None]
    taken = state.replace(
        tricks=state.tricks + jnp.int8(1),
        leader=leader,
        won=state.won + takes.astype(jnp.int8),
        bonus=state.bonus + jnp.where(takes, trick_bonus(cards, card, tigress), 0).astype(jnp.int16),
        loot_player=jnp.where(allied, loot_player, state.loot_player),
        loot_winner=jnp.where(allied, winner, state.loot_winner),
        rosie_user=jnp.full_like(state.rosie_user, -1),
        harry=jnp.where((card == HARRY) & has_ability, winner, state.harry),
        bendt=jnp.where(draws, winner, state.bendt),
        jade=jnp.where(asked == ABILITY_JADE, winner, state.jade),
        hand=jnp.where(takes_and_draws, drawn, state.hand),
        voids=state.voids & ~takes_and_draws,  # SK-23: what it showed before no longer binds
    )
    return pick(when, taken, state), winner, card, asked


def pass_turn(state: State, phase: chex.Array, trick_done: chex.Array, asked: chex.Array) -> State:
    """SK-7, SK-26: who acts next, and in which phase."""
    seats = state.won.shape[0]
    goes_round = (phase == BIDDING) | ((phase == PLAYING) & ~trick_done)
    player = jnp.where(goes_round, seat_after(state.current_player, 1, seats), state.leader)
    after = jnp.where((phase == BIDDING) & (state.bids < 0).any(), BIDDING, PLAYING)
    after = jnp.where(phase == ABILITY_BENDT_1, ABILITY_BENDT_2, after)
    after = jnp.where(trick_done, asked, after)
    return state.replace(phase=after.astype(jnp.int8), current_player=player)


def ask_harry(state: State, *, when: chex.Array) -> State:
    """SK-25: after the last trick the seat with Harry armed may change its bid."""
    return state.replace(
        phase=jnp.where(when, jnp.int8(ABILITY_HARRY), state.phase),
        current_player=jnp.where(when, state.harry, state.current_player),
    )


def close_round(env: "SkullKingEnv", state: State, points: chex.Array, *, when: chex.Array) -> State:
    """SK-34: add the points, then deal the next round or end the game."""
    rounds = len(env.hand_sizes)
    state = state.replace(total=state.total + jnp.where(when, points, 0).astype(jnp.int16))
    over = state.round + 1 == rounds
    fresh = open_round(env, state, (state.round + 1).astype(jnp.int8))
    return pick(computed_once(when & ~over), fresh, state).replace(terminated=when & over)


def open_round(env: "SkullKingEnv", state: State, number: chex.Array) -> State:
    """SK-3: the round of this number before its first bid; behind the last one nonsense."""
    dealt = computed_once(with_room_for_draw(state.dealt[jnp.minimum(number, len(env.hand_sizes) - 1)]))
    leader = seat_after(state.starter, number, env.num_players)
    none = jnp.full_like(state.harry, -1)
    return state.replace(
        round=number,
        phase=jnp.full_like(state.phase, BIDDING),
        current_player=leader,
        leader=leader,
        hand=dealt,
        played=jnp.full_like(state.played, NO_CARD),
        tricks=jnp.zeros_like(state.tricks),
        tigress_is_pirate=jnp.zeros_like(state.tigress_is_pirate),
        bids=jnp.full_like(state.bids, -1),
        won=jnp.zeros_like(state.won),
        bonus=jnp.zeros_like(state.bonus),
        bets=jnp.zeros_like(state.bets),
        loot_player=jnp.full_like(state.loot_player, -1),
        loot_winner=jnp.full_like(state.loot_winner, -1),
        voids=jnp.zeros_like(state.voids),
        rosie_user=none,
        harry=none,
        bendt=none,
        discards=jnp.full_like(state.discards, NO_CARD),
        jade=none,
    )


def cards_dealt(env: "SkullKingEnv", state: State) -> chex.Array:
    """C, the size of the running round: int8[]."""
    return jnp.asarray(env.hand_sizes, jnp.int8)[state.round]


def hand_of_player(state: State) -> chex.Array:
    """int8[slot]: the hand of the current player."""
    return state.hand[state.current_player]


def card_of(state: State, action: chex.Array) -> chex.Array:
    """int8[]: the card that a play or discard action means (NO_CARD or any card for other actions)."""
    slot = jnp.where(action < DISCARD, action - PLAY, action - DISCARD)
    hand = hand_of_player(state)
    card = jnp.where(jnp.arange(hand.shape[0]) == slot, hand, NO_CARD).min()
    is_tigress = (action == PLAY_TIGRESS_AS_PIRATE) | (action == PLAY_TIGRESS_AS_ESCAPE)
    return jnp.where(is_tigress, jnp.int8(TIGRESS), card)


def is_mover(state: State) -> chex.Array:
    """bool[seat]: the current player."""
    return jnp.arange(state.won.shape[0]) == state.current_player


def without(hand: chex.Array, card: chex.Array) -> chex.Array:
    """int8[slot]: the ascending hand without `card`, which it must hold (NO_CARD: nothing changes)."""
    return jnp.where(hand < card, hand, shifted(hand, -1, NO_CARD))


def with_card(hand: chex.Array, card: chex.Array) -> chex.Array:
    """int8[slot]: the ascending hand with `card` sorted in; the last slot must be free."""
    return jnp.minimum(hand, jnp.maximum(shifted(hand, 1, -1), card))


def shifted(hand: chex.Array, places: int, fill: int) -> chex.Array:
    """int8[slot]: every slot moved by `places`; what becomes free is `fill`."""
    return lax.pad(hand, jnp.int8(fill), [(places, -places, 0)])
