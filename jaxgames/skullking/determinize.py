"""SK-42: another world that a player cannot tell from this one.

The unlocated cards are handed out one by one, in an order that deals the most restricted suits first, each to a place
that still leaves every later card somewhere to go. So no attempt is ever thrown away, the true hands are never looked
at, and where the restrictions are nested (nearly always) every world is equally likely.
"""

import itertools
from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.cards import choose
from jaxgames.skullking.cards import (
    ABILITY_BENDT_2,
    BENDT,
    BIDDING,
    NO_CARD,
    NUM_CARDS,
    PLAYING,
    suit_of,
)
from jaxgames.skullking.observe import Known, drew_before_jade, has_discarded, known_cards
from jaxgames.skullking.rewards import ABILITY_SCHEMES, discards_worth
from jaxgames.skullking.rules import cards_dealt
from jaxgames.skullking.state import State, lay_out, random_decks
from jaxgames.skullking.trick import table

if TYPE_CHECKING:
    from jaxgames.skullking.env import SkullKingEnv

# Every set of suit classes (0 = no number, 1..4 the suits), bool[set, class]: for Hall's condition.
CLASS_SETS = np.array(list(itertools.product([False, True], repeat=5)))


class Places(NamedTuple):
    """Where unlocated cards can lie: the seats' hands, then the hidden discards, then the stock: [place]."""

    room: chex.Array  # int32[place]        cards still to be put there
    takes: chex.Array  # bool[place, class]  which suits may go there


def determinize(env: "SkullKingEnv", key: chex.PRNGKey, state: State, player: chex.Array) -> State:
    """A state with the same observations and public facts for `player`; all it cannot know is drawn anew."""
    jade_key, place_key, top_key, bid_key, chosen_key, deck_key = jax.random.split(key, 6)
    known = known_cards(env, state, player)

    owner = place_cards(env, jade_key, place_key, state, player, known)
    hand = hands_of(env, owner, known, player)
    discards = hidden_discards(env, chosen_key, state, player, owner, hand)
    top, dealt = rewrite_deal(env, top_key, state, player, known, owner, hand, discards)

    # (d) later rounds are fresh; so are those gone by, which nothing reads and nobody remembers.
    fresh_dealt, fresh_top = lay_out(env, random_decks(env, deck_key))
    now = jnp.arange(len(env.hand_sizes)) == state.round
    return state.replace(
        hand=hand,
        discards=discards,
        bids=unrevealed_bids(env, bid_key, state, player),
        rewards=state.rewards if env.reward not in ABILITY_SCHEMES else pay_discards(state, player, discards),
        dealt=jnp.where(now[:, None, None], dealt, fresh_dealt),
        top=jnp.where(now[:, None], top, fresh_top),
    )


def place_cards(
    env: "SkullKingEnv",
    jade_key: chex.PRNGKey,
    place_key: chex.PRNGKey,
    state: State,
    player: chex.Array,
    known: Known,
) -> chex.Array:
    """int8[card]: the new place of every unlocated card (seat, N = hidden discards, N+1 = stock); -1 elsewhere."""
    seats, discard_place, stock = jnp.arange(env.num_players), env.num_players, env.num_players + 1
    cards = jnp.arange(NUM_CARDS, dtype=jnp.int8)
    suit = suit_of(cards).astype(jnp.int32)
    located = known.hand | known.played.any(0) | known.discards
    unlocated = jnp.asarray(env.in_deck) & ~located

    others_discarded = has_discarded(state) & (state.bendt != player)
    held = jnp.where(seats == player, 0, (state.hand != NO_CARD).sum(-1))
    room = jnp.concatenate([held, jnp.where(others_discarded, 2, 0)[None], jnp.zeros((1,), jnp.int32)])
    room = room.at[stock].set(unlocated.sum() - room.sum())
    may_hold = jnp.concatenate([jnp.ones((env.num_players, 1), bool), ~state.voids], axis=-1)  # (a)
    places = Places(room=room, takes=jnp.concatenate([may_hold, jnp.ones((2, 5), bool)]))

    # (b) Jade's player knows that J is the stock, but for two cards if another seat drew from it afterwards.
    knows_jade = state.jade == player
    in_jade = known.jade & unlocated
    drew_later = knows_jade & (state.bendt >= 0) & (state.bendt != player) & ~drew_before_jade(state)
    bendt = jnp.clip(state.bendt, 0)
    missing = jnp.where(drew_later, 2 - (known.jade & known.played[bendt]).sum(), 0)
    with_bendt = jade_cards_drawn(jade_key, places, state, in_jade, unlocated & ~in_jade, missing, discard_place, stock)
    owner = jnp.where(with_bendt >= 0, with_bendt, jnp.where(in_jade, stock, -1))
    taken = (owner[:, None] == jnp.arange(env.num_players + 2)).sum(0)
    room = jnp.where(knows_jade & (jnp.arange(env.num_players + 2) == stock), 0, room - jnp.where(knows_jade, taken, 0))

    rest = unlocated & ~(in_jade & knows_jade)
    placed = fill_places(place_key, rest, suit, Places(room=room, takes=places.takes))
    return jnp.where(rest, placed, jnp.where(in_jade & knows_jade, owner, -1)).astype(jnp.int8)


def fill_places(key: chex.PRNGKey, cards: chex.Array, suit: chex.Array, places: Places) -> chex.Array:
    """int32[card]: a place for every card of the set, -1 for the others. Never gets stuck if a filling exists."""
    order_key, choice_key = jax.random.split(key)
    supply = (cards[:, None] & (suit[:, None] == jnp.arange(5))).sum(0)
    freedom = jnp.where(places.takes, places.room[:, None], 0).sum(0)  # [class], room open to it
    # Restricted suits first, at random within a suit, cards outside the set last.
    noise = jax.random.bits(order_key, (NUM_CARDS,), jnp.uint32) >> 16
    urgency = jnp.where(cards, freedom[suit], 255).astype(jnp.uint32)
    order = jnp.argsort((urgency << 16) | noise)
    words = jax.random.bits(choice_key, (NUM_CARDS,), jnp.uint32)

    def put(carry, x):
        room, supply = carry
        card, word = x
        present, its_class = cards[card], suit[card]
        supply = supply - (present & (jnp.arange(5) == its_class))
        after = room - jnp.eye(len(room), dtype=room.dtype)  # [place, place]: the room left if it goes there
        open_to_it = (room > 0) & places.takes[:, its_class] & can_fill(after, places.takes, supply)
        place = draw_weighted(jnp.where(open_to_it, room, 0), word)
        room = room - (present & (jnp.arange(len(room)) == place))
        return (room, supply), jnp.where(present, place, -1)

    _, chosen = jax.lax.scan(put, (places.room, supply), (order, words))
    return jnp.zeros((NUM_CARDS,), jnp.int32).at[order].set(chosen)


def can_fill(room: chex.Array, takes: chex.Array, supply: chex.Array) -> chex.Array:
    """bool[...]: can cards of these classes fill these places? Hall's condition over all sets of classes.

    room int[..., place], takes bool[place, class], supply int[class]; total room equals total supply.
    """
    sets = jnp.asarray(CLASS_SETS)
    demand = jnp.where(sets, supply, 0).sum(-1)  # [set]
    reaches = (sets[:, None, :] & takes).any(-1)  # [set, place]
    offer = jnp.where(reaches, room[..., None, :], 0).sum(-1)
    return (demand <= offer).all(-1)


def draw_weighted(weight: chex.Array, word: chex.Array) -> chex.Array:
    """A place drawn in proportion to its weight, int32[]."""
    ends = jnp.cumsum(weight)
    uniform = (word >> 8).astype(jnp.float32) * jnp.float32(2**-24)
    k = jnp.minimum(jnp.floor(uniform * ends[-1]).astype(jnp.int32), ends[-1] - 1)
    return jnp.argmax(ends > k).astype(jnp.int32)


def jade_cards_drawn(
    key: chex.PRNGKey,
    places: Places,
    state: State,
    in_jade: chex.Array,
    outside: chex.Array,
    missing: chex.Array,
    discard_place: int,
    stock: int,
) -> chex.Array:
    """int32[card]: which cards of J the later drawer still has, by place (its seat or the discards); -1 for the rest.

    `missing` of the two drawn cards have not been played. How many lie in its hand and how many under its discards is
    drawn in proportion to the ways, among the splits that leave the cards outside J a place.
    """
    split_key, hand_key, discard_key = jax.random.split(key, 3)
    suit = suit_of(jnp.arange(NUM_CARDS, dtype=jnp.int8)).astype(jnp.int32)
    bendt = jnp.clip(state.bendt, 0).astype(jnp.int32)
    fits_hand = in_jade & places.takes[bendt][suit]

    in_hand = jnp.arange(3)  # how many of the missing cards are in its hand
    in_discards = missing - in_hand
    place = jnp.arange(places.room.shape[0])
    room = jnp.where(place == stock, 0, places.room)
    left = room - jnp.where(place == bendt, in_hand[:, None], 0)
    left = left - jnp.where(place == discard_place, in_discards[:, None], 0)  # [split, place]
    supply = (outside[:, None] & (suit[:, None] == jnp.arange(5))).sum(0)
    possible = (in_discards >= 0) & (left >= 0).all(-1) & (in_hand <= fits_hand.sum())
    possible &= can_fill(left, places.takes, supply)
    # Which cards, in order, and which places they take; the rest fills what is left in equally many ways.
    ways = arrangements(fits_hand.sum(), in_hand) * arrangements(in_jade.sum() - in_hand, in_discards)
    ways *= subsets(places.room[bendt], in_hand) * subsets(places.room[discard_place], in_discards)
    split = draw_weighted(jnp.where(possible, ways, 0), jax.random.bits(split_key, (), jnp.uint32))

    to_hand = random_subset(hand_key, fits_hand, jnp.minimum(split, missing))
    to_discards = random_subset(discard_key, in_jade & ~to_hand, jnp.maximum(missing - split, 0))
    return jnp.where(to_hand, bendt, jnp.where(to_discards, discard_place, -1))


def arrangements(n: chex.Array, k: chex.Array) -> chex.Array:
    """In how many ways k = 0, 1, 2 of n things can be laid in a row; 0 for a negative k."""
    n = jnp.maximum(n, 0)
    return jnp.where(k == 0, 1, jnp.where(k == 1, n, jnp.where(k == 2, n * (n - 1), 0)))


def subsets(n: chex.Array, k: chex.Array) -> chex.Array:
    """n over k for k = 0, 1, 2; 0 for a negative k."""
    return arrangements(n, k) // jnp.where(k == 2, 2, 1)


def random_subset(key: chex.PRNGKey, members: chex.Array, size: chex.Array) -> chex.Array:
    """bool[card]: `size` random cards of the set (all of them if it has fewer)."""
    noise = jax.random.bits(key, members.shape, jnp.uint32) >> 8
    noise = jnp.where(members, (noise << 7) | jnp.arange(members.shape[0], dtype=jnp.uint32), jnp.uint32(2**32 - 1))
    rank = (noise[None, :] < noise[:, None]).sum(-1)
    return members & (rank < size)


def hands_of(env: "SkullKingEnv", owner: chex.Array, known: Known, player: chex.Array) -> chex.Array:
    """int8[seat, slot]: everybody's hand in ascending order; the player's own is the one it holds."""
    seats = jnp.arange(env.num_players)[:, None]
    holds = (owner == seats) | ((seats == player) & known.hand)
    return listed(holds, env.max_hand + 1)


def listed(members: chex.Array, size: int) -> chex.Array:
    """int8[..., size]: the cards of a set bool[..., card] in ascending order, NO_CARD behind them."""
    return jnp.sort(jnp.where(members, jnp.arange(NUM_CARDS), NO_CARD), axis=-1)[..., :size].astype(jnp.int8)


def hidden_discards(
    env: "SkullKingEnv", key: chex.PRNGKey, state: State, player: chex.Array, owner: chex.Array, hand: chex.Array
) -> chex.Array:
    """int8[2]: another seat's discards, or its secret first choice while it is still choosing."""
    both = listed(owner == env.num_players, 2)
    bendt = jnp.clip(state.bendt, 0)
    slot = choose(hand[bendt] != NO_CARD, jax.random.bits(key, (), jnp.uint32))
    first = jnp.stack([hand[bendt][slot], jnp.int8(NO_CARD)])
    is_choosing = state.phase == ABILITY_BENDT_2
    others = jnp.where(has_discarded(state), both, jnp.where(is_choosing, first, state.discards))
    return jnp.where((state.bendt == player) | (state.bendt < 0), state.discards, others)


def rewrite_deal(
    env: "SkullKingEnv",
    key: chex.PRNGKey,
    state: State,
    player: chex.Array,
    known: Known,
    owner: chex.Array,
    hand: chex.Array,
    discards: chex.Array,
) -> tuple[chex.Array, chex.Array]:
    """(top int8[2], dealt int8[seat, slot]) of the running round, as they must have been in this world."""
    draw_key, top_key, order_key = jax.random.split(key, 3)
    cards = jnp.arange(NUM_CARDS, dtype=jnp.int8)
    seats = jnp.arange(env.num_players)[:, None]
    held = (hand[:, :, None] == cards).any(1)
    thrown = (discards[:, None] == cards).any(0) & has_discarded(state)
    had = held | known.played | ((seats == state.bendt) & thrown)  # bool[seat, card]: everything it ever held

    # Which two of its cards did Bendt's user draw? Its own it knows; for another seat any two that could be.
    tricks = jnp.arange(state.played.shape[1])
    bendt = jnp.clip(state.bendt, 0)
    played_by_bendt = state.played[bendt]
    trick_of_bendt = jnp.where(played_by_bendt == BENDT, tricks, -1).max()
    played_later = jnp.where(tricks > trick_of_bendt, played_by_bendt, NO_CARD)
    could_be = held[bendt] | thrown | (played_later[:, None] == cards).any(0)
    from_jade = (state.jade == player) & ~drew_before_jade(state)
    drawn_by_other = random_subset(draw_key, jnp.where(from_jade, had[bendt] & known.jade, could_be), 2)
    true_top = jnp.where((jnp.arange(state.top.shape[0]) == state.round)[:, None], state.top, NO_CARD).min(0)
    own_draw = (true_top[:, None] == cards).any(0)
    drawn = jnp.where(state.bendt == player, own_draw, drawn_by_other) & (state.bendt >= 0)

    # Nobody has drawn yet: the top is any two cards of the stock.
    next_top = random_subset(top_key, owner == env.num_players + 1, 2)
    top = listed(jnp.where(state.bendt >= 0, drawn, next_top), 2)
    top = jnp.where((jax.random.bits(order_key, (), jnp.uint32) & 1) == 1, top, top[::-1])
    dealt = had & ~((seats == state.bendt) & drawn)
    return top, listed(dealt, env.max_hand)


def pay_discards(state: State, player: chex.Array, discards: chex.Array) -> chex.Array:
    """float32[seat]: what the last step paid; for another seat's hidden discards, what these are worth."""
    seats, tricks = jnp.arange(state.won.shape[0]), jnp.arange(state.played.shape[1])
    won_with_bendt = (state.played == BENDT).any(0) & (tricks + 1 == state.tricks)
    is_just_paid = won_with_bendt.any() & (table(state) == NO_CARD).all() & (state.phase == PLAYING) & ~state.terminated
    hidden = is_just_paid & (state.bendt != player) & (seats == state.bendt)
    return jnp.where(hidden, discards_worth(discards, (hidden & (state.bids > 0)).any()), state.rewards)


def unrevealed_bids(env: "SkullKingEnv", key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
    """(c) int8[seat]: while bidding, the bids that others have made are any of 0..C."""
    words = jax.random.bits(key, (env.num_players,), jnp.uint32) >> 8
    anything = (words % (cards_dealt(env, state).astype(jnp.uint32) + 1)).astype(jnp.int8)
    hidden = (state.phase == BIDDING) & (state.bids >= 0) & (jnp.arange(env.num_players) != player)
    return jnp.where(hidden, anything, state.bids)
