"""The rules of Schafkopf: what is legal, and what an action does. Payouts are in `rewards`."""

from typing import TYPE_CHECKING

import chex
import jax.numpy as jnp

from jaxgames.cards import members
from jaxgames.env import pick
from jaxgames.schafkopf.cards import (
    ACES,
    CALLED_ACE,
    CALLED_CARDS,
    DOUBLE,
    FIRST_CARD,
    NO_CARD,
    NO_DOUBLE,
    NO_SEAT,
    NUM_ACTIONS,
    NUM_BIDS,
    NUM_SEATS,
    NUM_TRICKS,
    OBER,
    PASS,
    PLAIN,
    RANK_POINTS,
    RANKS,
    SAUSPIEL,
    SAUSPIEL_SUITS,
    SOLO,
    SUITS,
    TRUMPS,
    UNTER,
    WENZ,
    bit,
    of_contract,
    size,
    union,
)
from jaxgames.schafkopf.state import (
    BIDDING,
    CONTRA,
    FIRST_TRICK,
    LAST_TRICK,
    RETOUR,
    State,
    dealer,
    first_player,
    hand,
    leader,
    open_trick,
    seats,
    trick_number,
)
from jaxgames.tricks import play_order, seat_after, seats_from, strongest

if TYPE_CHECKING:
    from jaxgames.schafkopf.env import SchafkopfEnv


def legal_actions(env: "SchafkopfEnv", state: State) -> chex.Array:
    """bool[action] for the player to move."""
    return members(legal_set(env, state), NUM_ACTIONS)


def legal_set(env: "SchafkopfEnv", state: State) -> chex.Array:
    """uint32[2], the legal actions as bits. The stage picks one of three sets, and none of them is ever empty.

    Cards are bits already: to spread them into a mask, draw from it and ask it takes most of the time of a step.
    """
    mine = hand(state, state.current_player)
    doubles = jnp.where(may_double(state, mine), jnp.uint32(1 << DOUBLE), 0) | jnp.uint32(1 << NO_DOUBLE)
    said = jnp.where(state.stage == BIDDING, bid_set(mine), doubles)
    cards = legal_cards(env, state, mine)
    plays = state.stage >= FIRST_TRICK
    low, high = cards << FIRST_CARD, cards >> (32 - FIRST_CARD)
    return jnp.where(plays, jnp.stack([low, high]), jnp.stack([said, jnp.uint32(0)]))


def legal_bids(mine: chex.Array) -> chex.Array:
    """SC-9, bool[bid]: a suit can be called with a plain card of it and without its ace; the rest is free."""
    return members(bid_set(mine)[None], NUM_BIDS)


def bid_set(mine: chex.Array) -> chex.Array:
    """SC-9, uint32[], the legal bids as bits."""
    bids = jnp.uint32((1 << NUM_BIDS) - (1 << WENZ) + (1 << PASS))
    for bid, suit in enumerate(SAUSPIEL_SUITS, SAUSPIEL):
        can_call = ((mine & PLAIN[suit]) != 0) & ((mine & ACES[suit]) == 0)
        bids |= jnp.where(can_call, jnp.uint32(1 << bid), 0)
    return bids


def may_double(state: State, mine: chex.Array) -> chex.Array:
    """SC-12, SC-13, bool[]: contra comes from the opponents, retour from the declarer's side, each once."""
    holds_called_ace = (mine & of_contract(CALLED_ACE, state.contract)) != 0
    on_side = (state.current_player == state.declarer) | holds_called_ace
    contra = (state.stage == CONTRA) & (state.contra == NO_SEAT) & ~on_side
    retour = (state.stage == RETOUR) & (state.retour == NO_SEAT) & on_side
    return contra | retour


def legal_cards(env: "SchafkopfEnv", state: State, mine: chex.Array) -> chex.Array:
    """SC-18, SC-22..26, uint32[]: follow the led class; the owner of the called ace is bound until he runs away."""
    led = open_trick(state)[0]
    ace = of_contract(CALLED_ACE, state.contract)
    called_cards = of_contract(CALLED_CARDS, state.contract)
    is_bound = ((mine & ace) != 0) & ~state.ran_away

    # SC-22: to lead another card of the called suit takes three of them; the ace may always be led.
    may_run = size(mine & called_cards) >= 3
    leads = jnp.where(is_bound & ~may_run, mine & ~called_cards, mine)

    led_class = class_of(led, state.contract)
    follows = mine & led_class
    is_searched = is_bound & ((led_class & ace) != 0)
    # SC-25: before the last trick he holds another card to throw away.
    is_barred = is_bound & (state.stage < LAST_TRICK)
    if env.called_ace_discard == "loose":
        is_barred &= (printed_suit(led) & ace) == 0
    discards = jnp.where(is_barred, mine & ~ace, mine)
    following = jnp.where(is_searched, ace, jnp.where(follows != 0, follows, discards))
    return jnp.where(led == NO_CARD, leads, following)


def printed_suit(card: chex.Array) -> chex.Array:
    """uint32, all cards with the same suit printed on them; that of NO_CARD means nothing."""
    return jnp.uint32(SUITS[0]) << (card.astype(jnp.uint32) & 3)


def class_of(card: chex.Array, contract: chex.Array) -> chex.Array:
    """SC-17, uint32: all cards of the class of `card`, trumps being one class; that of NO_CARD means nothing."""
    trumps = of_contract(TRUMPS, contract)
    return jnp.where((bit(card) & trumps) != 0, trumps, printed_suit(card) & ~trumps)


def play(env: "SchafkopfEnv", state: State, action: chex.Array) -> State:
    """One decision of the player to move, up to the end of its stage or trick."""
    stage = state.stage  # read once: no transition may trigger the next
    is_last = state.current_player == dealer(state)
    follower = seat_after(state.current_player, 1, NUM_SEATS)
    ends_trick = follower == leader(state)

    state = place_bid(state, action, when=stage == BIDDING)
    state = give_contra(state, when=(stage == CONTRA) & (action == DOUBLE))
    state = give_retour(state, when=(stage == RETOUR) & (action == DOUBLE))
    state = play_card(state, action, when=stage >= FIRST_TRICK)
    state = state.replace(current_player=follower)
    state = close_bidding(env, state, when=(stage == BIDDING) & is_last)
    state = close_contra(state, when=(stage == CONTRA) & is_last)
    state = close_retour(state, when=(stage == RETOUR) & is_last)
    return award_trick(state, when=(stage >= FIRST_TRICK) & ends_trick)


def place_bid(state: State, action: chex.Array, *, when: chex.Array) -> State:
    """SC-8: each player once, public at once."""
    mine = seats() == state.current_player
    return state.replace(bids=jnp.where(when & mine, action.astype(jnp.int8), state.bids))


def give_contra(state: State, *, when: chex.Array) -> State:
    """SC-12."""
    return state.replace(contra=jnp.where(when, state.current_player, state.contra))


def give_retour(state: State, *, when: chex.Array) -> State:
    """SC-13."""
    return state.replace(retour=jnp.where(when, state.current_player, state.retour))


def play_card(state: State, action: chex.Array, *, when: chex.Array) -> State:
    """SC-18: the card goes on the table. SC-23: the owner of the called ace may run away with it."""
    card = (action - FIRST_CARD).astype(jnp.int8)
    mine = hand(state, state.current_player)
    is_leader = state.current_player == leader(state)
    leads_called_card = is_leader & ((bit(card) & of_contract(CALLED_CARDS, state.contract)) != 0)
    holds_ace = (mine & of_contract(CALLED_ACE, state.contract)) != 0
    is_my_turn = seats_from(leader(state), NUM_SEATS) == state.current_player  # bool[order]
    is_here = (jnp.arange(NUM_TRICKS) == trick_number(state))[:, None] & is_my_turn
    return state.replace(
        played=jnp.where(when & is_here, card, state.played),
        ran_away=state.ran_away | (when & leads_called_card & holds_ace),
    )


def close_bidding(env: "SchafkopfEnv", state: State, *, when: chex.Array) -> State:
    """SC-10, SC-11: the highest type of game wins, among equals the earliest bid."""
    types = (state.bids > PASS).astype(jnp.int8) + (state.bids >= WENZ) + (state.bids >= SOLO)
    strength = 4 * types - play_order(first_player(state), NUM_SEATS)
    is_best = strength == strength.max()
    contract = jnp.where(is_best, state.bids, 0).sum(dtype=jnp.int8)
    winner = jnp.where(is_best, seats(), 0).sum(dtype=jnp.int8)
    all_passed = contract == PASS
    ends = env.all_pass == "end"
    nobody = jnp.int8(NO_SEAT) if ends else dealer(state)
    closed = state.replace(
        contract=contract,
        declarer=jnp.where(all_passed, nobody, winner),
        stage=jnp.full_like(state.stage, CONTRA if env.contra else FIRST_TRICK),
        terminated=all_passed & ends,
    )
    return pick(when, closed, state)


def close_contra(state: State, *, when: chex.Array) -> State:
    """SC-13: the retour stage is played only after a contra."""
    following = jnp.where(state.contra == NO_SEAT, FIRST_TRICK, RETOUR).astype(jnp.int8)
    return state.replace(stage=jnp.where(when, following, state.stage))


def close_retour(state: State, *, when: chex.Array) -> State:
    """SC-14: then the first player leads."""
    return state.replace(stage=jnp.where(when, jnp.int8(FIRST_TRICK), state.stage))


def award_trick(state: State, *, when: chex.Array) -> State:
    """SC-19, SC-20: the winner takes the points and leads the next trick; the game ends with the eighth."""
    trick = open_trick(state)
    winner = trick_winner(trick, leader(state), state.contract)
    is_winner = seats() == winner
    is_next = jnp.arange(NUM_TRICKS) == trick_number(state) + 1
    is_over = state.stage == LAST_TRICK
    awarded = state.replace(
        points=state.points + jnp.where(is_winner, points_of(union(bit(trick))), 0).astype(jnp.int8),
        tricks=state.tricks + is_winner.astype(jnp.int8),
        leaders=jnp.where(is_next, winner, state.leaders),
        current_player=winner,
        stage=jnp.where(is_over, state.stage, state.stage + 1),
        terminated=is_over,
    )
    return pick(when, awarded, state)


def trick_winner(trick: chex.Array, leader: chex.Array, contract: chex.Array) -> chex.Array:
    """SC-19, int8[]: the seat that wins a complete trick, int8[order], led by `leader`."""
    trumps = of_contract(TRUMPS, contract)
    rank, suit = trick >> 2, trick & 3
    # SC-16: the trump suit by rank, above it the Unters by suit, above them the Obers by suit.
    trump_power = jnp.where(rank == UNTER, 8 + suit, jnp.where(rank == OBER, 12 + suit, rank))
    is_trump = (bit(trick) & trumps) != 0
    power = jnp.where(is_trump, 16 + trump_power, jnp.where(suit == suit[0], rank, -1))
    return seat_after(leader, strongest(power, seats()), NUM_SEATS)


def points_of(cards: chex.Array) -> chex.Array:
    """SC-3, int32[]: the card points of a set."""
    counted = [(rank, points) for rank, points in enumerate(RANK_POINTS) if points]
    return sum((points * size(cards & RANKS[rank]) for rank, points in counted), start=jnp.int32(0))
