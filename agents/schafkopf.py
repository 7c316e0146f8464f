"""Schafkopf bots: the coward and the rule-based player of the rules page (SC-55..57)."""

from collections.abc import Callable

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames.cards import choose
from jaxgames.options import check_choice
from jaxgames.schafkopf.cards import (
    ACE,
    ACES,
    CALLED_ACE,
    CALLED_CARDS,
    COURT,
    DOUBLE,
    FIRST_CARD,
    HERZ,
    NO_CARD,
    NO_DOUBLE,
    NUM_ACTIONS,
    NUM_BIDS,
    NUM_CARDS,
    NUM_TRICKS,
    OBER,
    PASS,
    PLAIN,
    RANKS,
    SAUSPIEL,
    SAUSPIEL_SUITS,
    SOLO,
    SUITS,
    TEN,
    TRUMP_SUIT,
    TRUMPS,
    UNTER,
    WENZ,
    bit,
    of_contract,
    size,
    unpack,
)
from jaxgames.schafkopf.rules import legal_bids, printed_suit
from jaxgames.schafkopf.state import BIDDING, FIRST_TRICK, State, hand, of_seat, open_trick, trick_number

SAUSPIEL_PICKS = ("last", "fewest", "random")

_CARD = np.arange(NUM_CARDS)
# SC-16 for any contract: its trump suit by rank, the Unters by suit, the Obers by suit.
TRUMP_ORDER = np.where(_CARD // 4 == UNTER, 8 + _CARD % 4, np.where(_CARD // 4 == OBER, 12 + _CARD % 4, _CARD // 4))
TRUMP_ACE = np.where(TRUMP_SUIT >= 0, ACES[TRUMP_SUIT], np.uint32(0))  # uint32[contract]
TRUMP_TEN = np.where(TRUMP_SUIT >= 0, (SUITS & RANKS[TEN])[TRUMP_SUIT], np.uint32(0))  # uint32[contract]
SAUSPIEL_TRUMPS = TRUMPS[SAUSPIEL]
BOLD = np.isin(np.arange(NUM_ACTIONS), [*range(WENZ, NUM_BIDS), DOUBLE])  # bool[action]


def random_coward(env: Env):
    """SC-55: bids at most a Sauspiel, never doubles, plays any card."""

    def act(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        del player  # the mask is that of the player to move, who is the one asked
        legal = env.legal_action_mask(state)
        return choose(legal & ~BOLD, jax.random.bits(key, (), jnp.uint32))

    return act


def rule_based(env: Env, sauspiel_pick: str = "last"):
    """SC-56. `sauspiel_pick` says which ace is called: the "last", that of the "fewest" cards, or a "random" one."""
    check_choice(env.id, "sauspiel_pick", sauspiel_pick, SAUSPIEL_PICKS)

    def act(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        card_key, bid_key = jax.random.split(key)
        mine = hand(state, player)
        legal = env.legal_action_mask(state)
        bid = choose_bid(mine, sauspiel_pick, bid_key)
        # Whatever the contract is, it is the Sauspiel trumps that count.
        doubles = legal[DOUBLE] & (size(mine & SAUSPIEL_TRUMPS) >= 6)
        double = jnp.where(doubles, DOUBLE, NO_DOUBLE)
        card = FIRST_CARD + choose_card(card_key, state, player, legal[FIRST_CARD:])
        return jnp.where(state.stage == BIDDING, bid, jnp.where(state.stage < FIRST_TRICK, double, card))

    return act


def shaped_mask(env: Env, state: State) -> chex.Array:
    """SC-57, bool[action]: the legal actions for training; a hand made for Solo or Wenz must bid it."""
    mine = hand(state, state.current_player)
    solo = first_solo(mine)
    forced = jnp.where(wants_wenz(mine), WENZ, solo)
    only = jnp.arange(env.num_actions) == forced
    is_forced = (state.stage == BIDDING) & (forced != PASS) & ~state.done
    return jnp.where(is_forced, only, env.legal_action_mask(state))


AGENTS: dict[str, Callable] = {"rule": rule_based, "rule_based": rule_based, "random_coward": random_coward}


def choose_bid(mine: chex.Array, sauspiel_pick: str, key: chex.PRNGKey) -> chex.Array:
    """int32[]: a Solo on seven trumps, else a safe Wenz, else a Sauspiel on four trumps, else pass."""
    solo = first_solo(mine)
    can_call = legal_bids(mine)[SAUSPIEL:WENZ]
    calls = can_call.any() & (size(mine & SAUSPIEL_TRUMPS) >= 4)
    if sauspiel_pick == "last":
        called = WENZ - 1 - jnp.argmax(can_call[::-1])
    elif sauspiel_pick == "fewest":
        num_cards = size(mine & jnp.asarray(PLAIN)[np.array(SAUSPIEL_SUITS)])
        called = SAUSPIEL + jnp.argmin(jnp.where(can_call, num_cards, NUM_CARDS))
    else:
        called = SAUSPIEL + choose(can_call, jax.random.bits(key, (), jnp.uint32))
    sauspiel = jnp.where(calls, called, PASS)
    return jnp.where(solo != PASS, solo, jnp.where(wants_wenz(mine), WENZ, sauspiel)).astype(jnp.int32)


def first_solo(mine: chex.Array) -> chex.Array:
    """int32[]: the first Solo (S, H, G, E) with at least seven trumps, PASS if none."""
    is_strong = size(mine & jnp.asarray(TRUMPS[SOLO:])) >= 7
    return jnp.where(is_strong.any(), SOLO + jnp.argmax(is_strong), PASS)


def wants_wenz(mine: chex.Array) -> chex.Array:
    """bool[]: two Unters, and at most one loose card (no Unter, no ace, in a suit whose ace is missing)."""
    suits = jnp.asarray(SUITS)
    has_ace = (mine & jnp.asarray(ACES)) != 0
    loose = size(mine & suits & ~(RANKS[UNTER] | RANKS[ACE]))
    return (size(mine & RANKS[UNTER]) >= 2) & (jnp.where(has_ace, 0, loose).sum() < 2)


def choose_card(key: chex.PRNGKey, state: State, player: chex.Array, legal_bits: chex.Array) -> chex.Array:
    """int32[], a card id: a random one of the best set that holds any; in the sets the order of SC-56."""
    coin_key, pick_key = jax.random.split(key)
    legal = jnp.where(legal_bits, bit(jnp.arange(NUM_CARDS)), jnp.uint32(0)).sum(dtype=jnp.uint32)
    contract = state.contract
    ace = of_contract(CALLED_ACE, contract)
    is_declarer = player == state.declarer
    is_sauspiel = (contract >= SAUSPIEL) & (contract < WENZ)
    is_solo = contract >= SOLO
    on_side = is_declarer | ((of_seat(state.dealt, player) & ace) != 0)

    trumps = legal & of_contract(TRUMPS, contract)
    leads = open_trick(state)[0] == NO_CARD
    sauspiel = jnp.where(
        leads,
        jnp.where(
            on_side,
            lead_for_the_side(state, legal, trumps, jax.random.bernoulli(coin_key)),
            lead_against_the_side(state, legal, trumps),
        ),
        follow(state, legal, trumps),
    )
    solo = jnp.where(leads, lead_solo(legal, trumps), follow(state, legal, trumps))
    wenz = jnp.where(leads, lead_wenz(legal), follow_wenz(legal))
    alone = jnp.where(is_declarer, jnp.where(is_solo, solo, wenz), legal)
    chosen = jnp.where(is_sauspiel, sauspiel, alone)
    return choose(unpack(chosen), jax.random.bits(pick_key, (), jnp.uint32))


def lead_for_the_side(state: State, legal, trumps, coin) -> chex.Array:
    """Pull trumps from the bottom or from the top, else a side ace."""
    trump = jnp.where(coin, lowest(trumps, TRUMP_ORDER), highest(trumps, TRUMP_ORDER))
    return first_held(trump, side_aces(state, legal), legal)


def lead_against_the_side(state: State, legal, trumps) -> chex.Array:
    """Search the called ace in a suit not led before, else a side ace, else any plain card."""
    plain = legal & ~trumps
    called_cards = plain & of_contract(CALLED_CARDS, state.contract)
    was_led = (led_suits(state) & of_contract(CALLED_ACE, state.contract)) != 0
    ten = jnp.where(size(called_cards) > 3, called_cards & RANKS[TEN], jnp.uint32(0))
    search = jnp.where(was_led, jnp.uint32(0), first_held(ten, called_cards))
    return first_held(search, side_aces(state, legal), plain, legal)


def follow(state: State, legal, trumps) -> chex.Array:
    """Ruff a fresh suit with the fat trumps and an old one high; feed a side ace to a trump lead."""
    led = open_trick(state)[0]
    is_trump_led = (bit(led) & of_contract(TRUMPS, state.contract)) != 0
    is_fresh = (led_suits(state) & printed_suit(led)) == 0
    fat = first_held(
        legal & of_contract(TRUMP_ACE, state.contract),
        legal & of_contract(TRUMP_TEN, state.contract),
        lowest(trumps, TRUMP_ORDER),
    )
    ruff = jnp.where(is_fresh, fat, highest(trumps, TRUMP_ORDER))
    # In a Solo the declarer plays the ace whether or not the suit was led before.
    feeds = is_fresh | (state.contract >= SOLO)
    feed = jnp.where(feeds, legal & printed_suit(led) & RANKS[ACE], jnp.uint32(0))
    # A plain lead leaves trumps legal only to a player who is void.
    ruff = jnp.where(trumps != 0, ruff, jnp.uint32(0))
    return first_held(jnp.where(is_trump_led, feed, ruff), legal)


def lead_solo(legal, trumps) -> chex.Array:
    """The highest trump, else a plain ace."""
    return first_held(highest(trumps, TRUMP_ORDER), legal & RANKS[ACE] & ~trumps, legal)


def lead_wenz(legal) -> chex.Array:
    """The highest Unter, else the highest card of the lowest suit."""
    suit = one_suit(legal, lowest_first=True)
    return first_held(highest(legal & RANKS[UNTER], _CARD), highest(suit, _CARD))


def follow_wenz(legal) -> chex.Array:
    """The lowest Unter, else the lowest card of the highest suit."""
    suit = one_suit(legal, lowest_first=False)
    return first_held(lowest(legal & RANKS[UNTER], _CARD), lowest(suit, _CARD))


def side_aces(state: State, legal) -> chex.Array:
    """uint32[]: aces other than that of Herz and the called one."""
    return legal & RANKS[ACE] & ~ACES[HERZ] & ~of_contract(CALLED_ACE, state.contract)


def led_suits(state: State) -> chex.Array:
    """uint32[]: the cards of all printed suits that began a complete trick, unless with an Unter or an Ober."""
    led = state.played[:, 0]
    counts = (jnp.arange(NUM_TRICKS) < trick_number(state)) & ((bit(led) & COURT) == 0)
    return jax.lax.reduce_or(jnp.where(counts, printed_suit(led), jnp.uint32(0)), axes=(0,))


def first_held(*sets: chex.Array) -> chex.Array:
    """uint32[]: the first set that is not empty."""
    chosen = sets[-1]
    for cards in sets[-2::-1]:
        chosen = jnp.where(cards != 0, cards, chosen)
    return chosen


def highest(cards: chex.Array, order: np.ndarray) -> chex.Array:
    """uint32[]: the card of the set with the highest place in `order`, alone; empty if the set is."""
    place = jnp.where(unpack(cards), jnp.asarray(order), -1)
    return bit(jnp.argmax(place)) & cards


def lowest(cards: chex.Array, order: np.ndarray) -> chex.Array:
    """uint32[]: the card of the set with the lowest place in `order`, alone; empty if the set is."""
    place = jnp.where(unpack(cards), jnp.asarray(order), NUM_CARDS)
    return bit(jnp.argmin(place)) & cards


def one_suit(cards: chex.Array, *, lowest_first: bool) -> chex.Array:
    """uint32[]: the cards of the lowest (or highest) suit that the set holds."""
    by_suit = [cards & suit for suit in SUITS]
    return first_held(*(by_suit if lowest_first else by_suit[::-1]))
