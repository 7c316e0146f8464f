"""Other deals that a player cannot tell from the true one (SC-50..53).

What the history says about a hidden hand speaks of groups of cards that are alike: the low cards of a suit, its ace,
its Ober, the Unters. So the legal deals can be counted group by group: `ways[a, b]` is the number of ways to deal the
groups so far that give `a` cards to the next seat and `b` to the one after it (the third takes the rest). Drawing the
shares of the groups backwards through these counts, and the cards of a share at random, gives every legal deal the
same chance, in a fixed amount of work and without a retry. With a weight for every card and seat the same tables hold
weights instead of counts, and a deal is drawn with a chance in proportion to the product of its weights.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.cards import shuffle
from jaxgames.schafkopf.cards import (
    ACES,
    CALLED_ACE,
    CALLED_CARDS,
    CALLED_SUIT,
    HAND_SIZE,
    LOW,
    NO_CARD,
    NO_SEAT,
    NUM_CARDS,
    NUM_SEATS,
    NUM_TRICKS,
    OBER,
    RANKS,
    SAUSPIEL,
    SUITS,
    UNTER,
    WENZ,
    bit,
    of_contract,
    size,
    union,
    unpack,
)
from jaxgames.schafkopf.rules import class_of
from jaxgames.schafkopf.state import State, gone, hand, player_of_turn, seats
from jaxgames.tricks import seat_after, seats_from

if TYPE_CHECKING:
    from jaxgames.schafkopf.env import SchafkopfEnv

NUM_HIDDEN = NUM_SEATS - 1

# The groups: low cards by suit, aces by suit, Obers by suit (plain cards of their suit in Wenz), the Unters.
GROUPS = np.concatenate([LOW, ACES, SUITS & RANKS[OBER], RANKS[UNTER : UNTER + 1]])  # uint32[group]
NUM_GROUPS = len(GROUPS)
FIRST_LOW, FIRST_ACE = 0, 4
GROUP_OF = np.array([[g for g in range(NUM_GROUPS) if int(GROUPS[g]) >> card & 1] for card in range(NUM_CARDS)]).ravel()
MOST = 5  # cards in a group

# The cards of each group, NO_CARD behind the last one, and where each card stands among them.
GROUP_CARDS = np.array([[*np.flatnonzero(g == GROUP_OF), *[NO_CARD] * MOST][:MOST] for g in range(NUM_GROUPS)])
PLACE_OF = np.array([np.flatnonzero(GROUP_CARDS.ravel() == card)[0] for card in range(NUM_CARDS)])

# SHARES[size, i, j]: ways to choose i and j of `size` cards, the rest going to the third seat.
SHARES = np.array(
    [
        [[math.comb(n, i) * math.comb(n - i, j) if i + j <= n else 0 for j in range(MOST + 1)] for i in range(MOST + 1)]
        for n in range(MOST + 1)
    ],
    np.float32,
)

LEAST_WEIGHT = 0.03  # of a card and seat, if the largest of the card is 1; 0.03 ** 24 is still a normal float32


class Evidence(NamedTuple):
    """What the history says about the hidden hands; hidden seats in turn order after the player."""

    unseen: chex.Array  # uint32[]                 cards that the player cannot place
    needs: chex.Array  # int32[hidden]            how many of them each seat holds
    barred: chex.Array  # uint32[hidden]           cards that the seat cannot hold
    least: chex.Array  # int32[hidden, suit]      low cards of the suit that the seat must hold
    least_as_owner: chex.Array  # int32[hidden]            ... of the called suit, if it was dealt the called ace
    is_owner: chex.Array  # bool[hidden]             the seat has shown the called ace
    ran_if_owner: chex.Array  # bool[hidden]             it has led a called card


def determinize(
    env: "SchafkopfEnv",
    key: chex.PRNGKey,
    state: State,
    player: chex.Array,
    consistency: str = "legal",
    weights: chex.Array | None = None,
) -> State:
    """Another deal that `player` cannot tell from the true one, uniform over the legal ones (SC-52, SC-53).

    `consistency="none"` deals the unseen cards by their number alone, whatever was bid and played. With `weights` a
    legal deal has a chance in proportion to the product of `weights[card, receiver]` over the unseen cards.
    """
    del env  # the options change nothing in what a history tells
    if weights is not None:
        return weighted_world(key, state, player, weights)
    deal = legal_world if consistency == "legal" else any_world
    return deal(key, state, player)


def legal_world(key: chex.PRNGKey, state: State, player: chex.Array) -> State:
    """A uniformly drawn legal deal (SC-52)."""
    share_key, card_key = jax.random.split(key)
    evidence = gather_evidence(state, player)
    sizes = size(evidence.unseen & jnp.asarray(GROUPS))
    shares = draw_shares(share_key, state.contract, evidence, count_shares(sizes))
    receiver = receive_at_random(card_key, evidence, jnp.asarray(GROUP_OF), shares)
    return deal_unseen(state, player, evidence, receiver)


def weighted_world(key: chex.PRNGKey, state: State, player: chex.Array, weights: chex.Array) -> State:
    """A legal deal drawn by weights float32[card, hidden], hidden seats in turn order after the player (SC-59).

    Of a card only the ratios between seats count. They are held to 1:LEAST_WEIGHT, so that no product of them falls
    below the smallest float32: a legal deal always has a chance.
    """
    share_key, card_key = jax.random.split(key)
    evidence = gather_evidence(state, player)
    weights = jnp.where(unpack(evidence.barred).T, 0, weights)
    weights = jnp.maximum(weights / jnp.maximum(weights.max(axis=-1, keepdims=True), 1e-30), LEAST_WEIGHT)
    tables = weigh_shares(evidence.unseen, weights)  # [place, group, i, j]
    shares = draw_shares(share_key, state.contract, evidence, tables[-1])
    receiver = receive_by_weight(card_key, evidence, weights, tables, shares)
    return deal_unseen(state, player, evidence, receiver)


def any_world(key: chex.PRNGKey, state: State, player: chex.Array) -> State:
    """A uniformly drawn deal with the right number of cards in each hand and no other care."""
    evidence = gather_evidence(state, player)
    one_group = jnp.zeros(NUM_CARDS, jnp.int32)
    return deal_unseen(state, player, evidence, receive_at_random(key, evidence, one_group, evidence.needs[None, :2]))


def gather_evidence(state: State, player: chex.Array) -> Evidence:
    """SC-51 and the list D1..D6 of SC-52, from public facts and the player's own hand."""
    hidden = seats_from(player, NUM_SEATS)[1:]
    shown = (state.dealt & gone(state))[hidden]  # uint32[hidden]  what each seat has played
    unseen = ~(gone(state) | hand(state, player))
    ace = of_contract(CALLED_ACE, state.contract)
    called_cards = of_contract(CALLED_CARDS, state.contract)

    cards = bit(state.played)  # uint32[trick, order]
    led_class = class_of(state.played[:, 0], state.contract)[:, None]
    lies = state.played >= 0
    by_seat = lies & (player_of_turn(state) == hidden[:, None, None])  # bool[hidden, trick, order]

    # D2: who failed to follow a class has none of it.
    fails = by_seat & ((cards & led_class) == 0)
    void = jax.lax.reduce_or(jnp.where(fails, led_class, jnp.uint32(0)), axes=(1, 2))

    # D3: who called an ace did not hold it, but a plain card of its suit.
    bids = state.bids[hidden]
    calls = jnp.where((bids >= SAUSPIEL) & (bids < WENZ), bids, 0)
    called_aces = of_contract(CALLED_ACE, calls)
    has_called_suit = of_contract(CALLED_SUIT, calls)[:, None] == jnp.arange(4)  # bool[hidden, suit]
    has_shown_low = (shown[:, None] & jnp.asarray(LOW)) != 0
    least = (has_called_suit & ~has_shown_low).astype(jnp.int32)

    # D4: contra comes from the opponents of the ace, retour from the declarer or its owner.
    retour_by_partner = (state.retour != NO_SEAT) & (state.retour != state.declarer)
    is_opponent = (hidden == state.contra) | (retour_by_partner & (hidden != state.retour))

    # D5: who followed a search with another card does not hold the ace, unless he had run away by then.
    is_called = (cards & called_cards) != 0
    tricks = jnp.arange(NUM_TRICKS)
    runs = by_seat[:, :, 0] & is_called[:, 0]  # bool[hidden, trick]
    first_run = jnp.where(runs, tricks, NUM_TRICKS).min(axis=1)[:, None]  # NUM_TRICKS: never
    follows_search = by_seat[:, :, 1:] & is_called[:, 1:] & is_called[:, :1]
    lacks_ace = (follows_search.any(axis=2) & (tricks < first_run)).any(axis=1)

    # D6: who ran away had three called cards: the one led, those played later, those still held.
    ace_trick = jnp.where((cards & ace).any(axis=1), tricks, NUM_TRICKS).min()
    has_run = (first_run < ace_trick)[:, 0]
    since = (by_seat & is_called).sum(axis=2) * (tricks >= first_run)
    least_as_owner = jnp.where(has_run, jnp.maximum(3 - since.sum(axis=1), 0), 0)

    return Evidence(
        unseen=unseen,
        needs=HAND_SIZE - size(shown),
        barred=void | called_aces | jnp.where(is_opponent | lacks_ace, ace, jnp.uint32(0)),
        least=least,
        least_as_owner=least_as_owner,
        is_owner=(shown & ace) != 0,
        ran_if_owner=has_run,
    )


def draw_shares(key: chex.PRNGKey, contract: chex.Array, evidence: Evidence, tables: chex.Array) -> chex.Array:
    """int32[group, 2]: how many unseen cards of each group go to the first and to the second hidden seat.

    `tables` float32[group, i, j] says in how many ways, or with what weight, each group can be shared.
    """
    called_key, rest_key = jax.random.split(key)
    sizes = size(evidence.unseen & jnp.asarray(GROUPS))  # int32[group]
    is_allowed = (evidence.barred[:, None] & jnp.asarray(GROUPS)) == 0  # bool[hidden, group]
    least = jnp.pad(evidence.least, ((0, 0), (FIRST_LOW, NUM_GROUPS - FIRST_LOW - 4)))  # int32[hidden, group]
    suit = of_contract(CALLED_SUIT, contract)
    is_low, is_ace = ((suit >= 0) & (jnp.arange(NUM_GROUPS) == first + suit) for first in (FIRST_LOW, FIRST_ACE))

    # The called suit waits: how many of its low cards a seat must hold depends on who owns the ace.
    waits = is_low | is_ace
    others, least_of_others = jnp.where(waits, 0, sizes), jnp.where(waits, 0, least)
    tables_of_others = jnp.where(waits[:, None, None], jnp.asarray(SHARES[0]), tables)
    options = jax.vmap(share_options, in_axes=(0, 0, 1, 1))(tables_of_others, others, is_allowed, least_of_others)
    ways, before = jax.lax.scan(lambda ways, option: (_add_group(ways, option), ways), _no_cards_yet(), options)
    ace_share, low_share = draw_called_suit(
        called_key,
        ways,
        evidence,
        ace_is_unseen=(is_ace & (sizes > 0)).any(),
        may_own=(is_ace & is_allowed).any(axis=1),
        num_low=jnp.where(is_low, sizes, 0).sum(),
        may_hold_low=(is_low & is_allowed).any(axis=1),
        least_low=jnp.where(is_low, least, 0).sum(axis=1),
        low_table=jnp.where(is_low[:, None, None], tables, 0).sum(axis=0),
        ace_table=jnp.where(is_ace[:, None, None], tables, 0).sum(axis=0),
    )

    def draw_group(left, group):
        noise, option, ways = group
        weights = option * _ways_before(ways, left)
        # The largest of log weight and Gumbel noise: a draw by weight.
        share = _share(jnp.argmax(jnp.log(weights).ravel() + noise))
        return left - share, share

    left = evidence.needs[:2] - ace_share - low_share
    noise = jax.random.gumbel(rest_key, (NUM_GROUPS, (MOST + 1) ** 2), jnp.float32)
    shares = jax.lax.scan(draw_group, left, (noise, options, before), reverse=True)[1]
    return jnp.where(is_low[:, None], low_share, jnp.where(is_ace[:, None], ace_share, shares))


def draw_called_suit(
    key, ways, evidence: Evidence, *, ace_is_unseen, may_own, num_low, may_hold_low, least_low, low_table, ace_table
) -> tuple[chex.Array, chex.Array]:
    """int32[2] of the called ace and int32[2] of its low cards, drawn together; zeros if nothing is called.

    Three cases, one for each owner, if the ace is unseen; else one, in which the owner is known.
    """
    cases = jnp.eye(NUM_HIDDEN, dtype=bool)  # bool[case, hidden]
    is_case = jnp.where(ace_is_unseen, may_own, cases[0])
    takes_ace = (cases & ace_is_unseen).astype(jnp.int32)
    is_owner = jnp.where(ace_is_unseen, cases, evidence.is_owner)
    least = jnp.maximum(least_low, jnp.where(is_owner, evidence.least_as_owner, 0))
    table = jnp.where(num_low > 0, low_table, jnp.asarray(SHARES[0]))  # nothing is called: nothing to share
    options = jax.vmap(share_options, in_axes=(None, None, None, 0))(table, num_low, may_hold_low, least)
    left = evidence.needs[:2] - takes_ace[:, :2]
    weights = options * jax.vmap(_ways_before, in_axes=(None, 0))(ways, left)
    of_owner = jnp.where(ace_is_unseen, jnp.stack([ace_table[1, 0], ace_table[0, 1], ace_table[0, 0]]), 1)
    weights = jnp.where(is_case[:, None, None], weights * of_owner[:, None, None], 0)
    drawn = jax.random.categorical(key, jnp.log(weights).ravel())
    case, low_share = drawn // (MOST + 1) ** 2, _share(drawn % (MOST + 1) ** 2)
    return takes_ace[case, :2], low_share


def share_options(table: chex.Array, count: chex.Array, is_allowed: chex.Array, least: chex.Array) -> chex.Array:
    """float32[i, j]: what `table` has for i, j and the rest of `count` cards to the three hidden seats, if legal."""
    first, second = jnp.mgrid[: MOST + 1, : MOST + 1]
    given = jnp.stack([first, second, count - first - second])  # int32[hidden, i, j]
    is_legal = (given >= least[:, None, None]) & ((given == 0) | is_allowed[:, None, None])
    return jnp.where(is_legal.all(axis=0), table, 0)


def count_shares(sizes: chex.Array) -> chex.Array:
    """float32[group, i, j]: in how many ways groups of these sizes go i, j and the rest to the three hidden seats."""
    is_size = jnp.arange(MOST + 1)[None, :, None, None] == sizes[:, None, None, None]
    return jnp.where(is_size, jnp.asarray(SHARES), 0).sum(axis=1)


def weigh_shares(unseen: chex.Array, weights: chex.Array) -> chex.Array:
    """float32[place, group, i, j]: the same by weight, for the unseen cards in the places below; at last for all."""
    tables = [jnp.broadcast_to(jnp.asarray(SHARES[0]), (NUM_GROUPS, MOST + 1, MOST + 1))]
    for cards in GROUP_CARDS.T:
        first, second, third = weights[np.maximum(cards, 0)].T[:, :, None, None]
        last = jnp.pad(tables[-1], ((0, 0), (1, 0), (1, 0)))
        more = first * last[:, :-1, 1:] + second * last[:, 1:, :-1] + third * last[:, 1:, 1:]
        is_there = (unseen & bit(jnp.asarray(cards))) != 0
        tables.append(jnp.where(is_there[:, None, None], more, tables[-1]))
    return jnp.stack(tables)


def receive_at_random(key: chex.PRNGKey, evidence: Evidence, group_of: chex.Array, shares: chex.Array) -> chex.Array:
    """int8[card]: the hidden seat that takes the card, `shares` cards of each group at random to the first ones."""
    place = shuffle(key, NUM_CARDS)
    is_unseen = unpack(evidence.unseen)
    is_before = (place[None] < place[:, None]) & (group_of[None] == group_of[:, None]) & is_unseen[None]
    rank = is_before.sum(axis=1)  # int32[card]  among the unseen cards of its group, in a random order
    first, second = shares[group_of].T
    return (rank >= first).astype(jnp.int8) + (rank >= first + second)


def receive_by_weight(
    key: chex.PRNGKey, evidence: Evidence, weights: chex.Array, tables: chex.Array, shares: chex.Array
) -> chex.Array:
    """int8[card]: the hidden seat that takes the card, `shares` of each group drawn by weight, from the last place."""
    noise = jax.random.gumbel(key, (MOST, NUM_GROUPS, NUM_HIDDEN), jnp.float32)
    takes = jnp.asarray([[1, 0], [0, 1], [0, 0]])  # int32[hidden, 2]
    left, receivers = shares, []
    for place in reversed(range(MOST)):
        cards = np.maximum(GROUP_CARDS[:, place], 0)
        rest = left[:, None] - takes  # int32[group, hidden, 2]  what is left for the places below
        first, second = (rest[..., i, None] == jnp.arange(MOST + 1) for i in range(2))
        ways = jnp.where(first[..., :, None] & second[..., None, :], tables[place][:, None], 0).sum(axis=(2, 3))
        receiver = jnp.argmax(jnp.log(weights[cards] * ways) + noise[place], axis=-1)
        is_there = (evidence.unseen & bit(jnp.asarray(GROUP_CARDS[:, place]))) != 0
        left = jnp.where(is_there[:, None], left - takes[receiver], left)
        receivers.append(receiver)
    return jnp.stack(receivers[::-1], axis=1).ravel()[PLACE_OF].astype(jnp.int8)


def deal_unseen(state: State, player: chex.Array, evidence: Evidence, receiver: chex.Array) -> State:
    """`state` with every unseen card in the hand of the hidden seat that receives it."""
    is_unseen = unpack(evidence.unseen)
    hidden_seat = seat_after(player, 1 + receiver, NUM_SEATS)
    received = is_unseen & (hidden_seat == seats()[:, None])  # bool[seat, card]
    kept = jnp.where(seats() == player, state.dealt, state.dealt & gone(state))
    new_cards = union(jnp.where(received, bit(jnp.arange(NUM_CARDS)), jnp.uint32(0)))
    # Whether the owner has run away depends on who he is, unless the ace is the player's own or was shown.
    ace = of_contract(CALLED_ACE, state.contract)
    takes_ace = (new_cards & ace) != 0
    hidden = seats_from(player, NUM_SEATS)[1:]
    ran = (takes_ace[hidden] & evidence.ran_if_owner).any()
    return state.replace(dealt=kept | new_cards, ran_away=jnp.where(takes_ace.any(), ran, state.ran_away))


def _no_cards_yet() -> chex.Array:
    """float32[a, b]: one way to have dealt nothing."""
    return jnp.zeros((HAND_SIZE + 1, HAND_SIZE + 1), jnp.float32).at[0, 0].set(1)


def _add_group(ways: chex.Array, option: chex.Array) -> chex.Array:
    """float32[a, b]: the ways with one more group."""
    padded = jnp.pad(ways, ((MOST, 0), (MOST, 0)))
    side = HAND_SIZE + 1
    return sum(
        option[i, j] * padded[MOST - i : MOST - i + side, MOST - j : MOST - j + side]
        for i in range(MOST + 1)
        for j in range(MOST + 1 - i)
    )


def _ways_before(ways: chex.Array, left: chex.Array) -> chex.Array:
    """float32[i, j]: ways[left - (i, j)], zero where a share is larger than what is left."""
    padded = jnp.pad(ways, ((MOST, 0), (MOST, 0)))
    # A seat that needs no card cannot take the ace either: the case is empty then, and 0 keeps the index in range.
    start = jnp.maximum(left, 0)
    window = jax.lax.dynamic_slice(padded, (start[0], start[1]), (MOST + 1, MOST + 1))
    return jnp.where((left >= 0).all(), window[::-1, ::-1], 0)


def _share(index: chex.Array) -> chex.Array:
    """int32[2]: (i, j) of a flat index into [i, j]."""
    return jnp.stack([index // (MOST + 1), index % (MOST + 1)]).astype(jnp.int32)
