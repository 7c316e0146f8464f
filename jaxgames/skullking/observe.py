"""What a seat may know, as numbers (section 12): built from that player's knowledge, seats relative to it."""

import collections
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.cards import members, set_of
from jaxgames.env import computed_once
from jaxgames.skullking.cards import (
    ABILITY_BENDT_1,
    ABILITY_BENDT_2,
    ABILITY_HARRY,
    ABILITY_ROATAN,
    ABILITY_ROSIE,
    BENDT,
    BID_TABLE,
    BIDDING,
    ESCAPES,
    FREE,
    JADE,
    KRAKEN,
    LOOTS,
    MAX_HAND,
    MAX_PLAYERS,
    MAX_SLOTS,
    MERMAIDS,
    NO_CARD,
    NUM_BIDS,
    NUM_CARDS,
    NUM_PHASES,
    PIRATES,
    SKULL_KING,
    TIGRESS,
    WHALE,
)
from jaxgames.skullking.rules import cards_dealt
from jaxgames.skullking.state import State
from jaxgames.skullking.trick import lead_of, table

if TYPE_CHECKING:
    from jaxgames.skullking.env import SkullKingEnv

TIGRESS_AS_PIRATE, TIGRESS_AS_ESCAPE = NO_CARD + 1, NO_CARD + 2  # rows of CARD_CODE for a declared Tigress


def _card_code() -> np.ndarray:
    """SK-50: float32[card, 7], then rows for NO_CARD and the declared Tigress."""
    code = np.zeros((NUM_CARDS + 3, 7), np.float32)
    for card in range(10, 66):
        code[card, (card - 10) // 14] = 1
        code[card, 4] = ((card - 10) % 14 + 1) / 14
    code[list(ESCAPES), 5] = -1
    code[list(LOOTS), 4:6] = 1, -1
    code[TIGRESS, 5] = 0.5
    code[TIGRESS_AS_PIRATE, 5] = 1
    code[TIGRESS_AS_ESCAPE, 4:6] = 0.5, -1
    for j, pirate in enumerate(PIRATES, start=1):
        code[pirate, 4:6] = j / 5, 1
    code[SKULL_KING, 6], code[KRAKEN, 6], code[WHALE, 6] = 1, 0.5, -0.5
    code[list(MERMAIDS), 6] = -1
    return code


CARD_CODE = _card_code()


WORDS = -(-NUM_CARDS // 32)  # of a set of cards as bits


def _sets(groups: Sequence[Sequence[int] | np.ndarray]) -> np.ndarray:
    """uint32[group, word]: groups of cards as sets of bits."""
    bits = [sum(1 << int(card) for card in group) for group in groups]
    return np.array([[group >> 32 * word & 0xFFFFFFFF for word in range(WORDS)] for group in bits], np.uint32)


SUITS = _sets([range(first, first + 14) for first in range(10, 66, 14)])
# The cards without a number, in the order of the observation.
_KINDS = (ESCAPES, PIRATES, (TIGRESS,), (SKULL_KING,), MERMAIDS, (KRAKEN,), (WHALE,), LOOTS)
KINDS, KIND_SIZES = _sets(_KINDS), np.array([len(kind) for kind in _KINDS], np.float32)


class Base(NamedTuple):
    """The version `base` (SK-51), 190 values."""

    hand: chex.Array  # float32[11 slots, 7]  each card as its CARD_CODE
    table: chex.Array  # float32[relative seats 1..5, 7]
    seats: chex.Array  # float32[6 relative seats, (bid, won, total, leads, alliances)]
    led_suit: chex.Array  # bool[4]
    free: chex.Array  # bool[]
    unseen_suits: chex.Array  # float32[4 suits, (count, highest)]
    unseen_kinds: chex.Array  # float32[8]
    voids: chex.Array  # bool[relative seats 1..5, 4 suits]
    progress: chex.Array  # float32[(C, round, tricks left, tricks wanted, seats, cards on the table)]
    hand_worth: chex.Array  # float32[]


class Ability(NamedTuple):
    """SK-52: what follows `Base` in the version `ability`, 40 values."""

    phase: chex.Array  # bool[8]
    context: chex.Array  # float32[28]  what the pending ability needs, only for the player to move
    armed_and_bets: chex.Array  # float32[4]


class Full(NamedTuple):
    """SK-53: what follows in the version `full`, 902 values."""

    hand_cards: chex.Array  # bool[card]
    played: chex.Array  # bool[6 relative seats, card]
    table_cards: chex.Array  # bool[card]
    unseen: chex.Array  # bool[card]
    jade: chex.Array  # bool[card]
    discards: chex.Array  # bool[card]
    bids: chex.Array  # bool[6 relative seats, 11]
    cards: chex.Array  # bool[10]
    bets: chex.Array  # float32[6 relative seats]
    harry: chex.Array  # bool[6 relative seats]


def _named(name: str, *fields: str) -> type[tuple]:
    """A NamedTuple of arrays."""
    return collections.namedtuple(name, fields)


AbilityView = _named("AbilityView", *Base._fields, *Ability._fields)
FullView = _named("FullView", *Base._fields, *Ability._fields, *Full._fields)
VERSIONS = {"ability": AbilityView, "base": Base, "full": FullView}  # the default first
HONEST = tuple(VERSIONS)


class Known(NamedTuple):
    """The sets of cards that one seat knows, as bits: uint32[word]; `known_cards` has them as bool[card]."""

    hand: chex.Array
    played: chex.Array  # uint32[seat, word]
    discards: chex.Array  # its own, once both are chosen
    jade: chex.Array  # the stock when it used Jade; empty for everybody else
    unseen: chex.Array  # could be anywhere


def view(env: "SkullKingEnv", state: State, player: chex.Array, version: str) -> tuple[chex.Array, ...]:
    """What the player may know, as the NamedTuple of the version; all zeros after the end."""
    known = knowledge(env, state, player)
    around = Around(player, env.num_players)
    parts: tuple[chex.Array, ...] = base_view(env, state, player, known, around)
    if version != "base":
        parts += ability_view(env, state, player, around)
    if version == "full":
        parts += full_view(env, state, known, around)
    return VERSIONS[version](*[jnp.where(state.terminated, jnp.zeros_like(part), part) for part in parts])


class Around:
    """Seats as a player sees them: itself first, then clockwise; places beyond the table are zero."""

    def __init__(self, player: chex.Array, num_players: int):
        relative = jnp.arange(MAX_PLAYERS)
        self.seats = (player + relative) % num_players
        self.is_seat = relative < num_players

    def __call__(self, by_seat: chex.Array) -> chex.Array:
        """[seat, ...] -> [6 relative seats, ...]"""
        turned = by_seat[self.seats]
        return jnp.where(self.is_seat.reshape(-1, *[1] * (turned.ndim - 1)), turned, jnp.zeros_like(turned))


def knowledge(env: "SkullKingEnv", state: State, player: chex.Array) -> Known:
    """What `player` can tell about each card, from its own hand, the open cards, its discards and Jade's look."""
    hand = set_of(state.hand[player], WORDS)
    played = set_of(state.played, WORDS)
    discards = jnp.where(has_discarded(state) & (state.bendt == player), set_of(state.discards, WORDS), 0)
    jade = jnp.where(state.jade == player, stock_seen_by_jade(env, state), 0)
    gone = hand | discards | jade | union(played)
    return Known(hand=hand, played=played, discards=discards, jade=jade, unseen=deck_set(env) & ~gone)


def union(sets: chex.Array) -> chex.Array:
    """uint32[word]: the cards that are in any of the sets, uint32[set, word]."""
    return jax.lax.reduce(sets, jnp.uint32(0), jax.lax.bitwise_or, (0,))


def known_cards(env: "SkullKingEnv", state: State, player: chex.Array) -> Known:
    """The same as bool[card], `played` as bool[seat, card]."""
    return jax.tree.map(lambda sets: members(sets, NUM_CARDS), knowledge(env, state, player))


def deck_set(env: "SkullKingEnv") -> chex.Array:
    """The enabled cards, uint32[word]."""
    return jnp.asarray(_sets([np.flatnonzero(env.in_deck)])[0])


def has_discarded(state: State) -> chex.Array:
    """bool[]: has Bendt's user finished? Until then the first choice is still in the hand."""
    return state.discards[1] != NO_CARD


def drew_before_jade(state: State) -> chex.Array:
    """bool[]: did Bendt take his two cards before Jade looked? (Each pirate wins one trick at most.)"""
    tricks = jnp.arange(state.played.shape[1], dtype=jnp.int8)
    tricks_between = jnp.where(state.played == JADE, tricks, 0) - jnp.where(state.played == BENDT, tricks, 0)
    return (state.bendt >= 0) & (tricks_between.sum(dtype=jnp.int8) > 0)


def stock_seen_by_jade(env: "SkullKingEnv", state: State) -> chex.Array:
    """SK-24: J, the stock when Jade was used, uint32[word] (of no meaning before)."""
    dealt = state.dealt[state.round]
    drawn = jnp.where(drew_before_jade(state), state.top[state.round], NO_CARD)
    return deck_set(env) & ~union(set_of(dealt, WORDS)) & ~set_of(drawn, WORDS)


def base_view(env: "SkullKingEnv", state: State, player: chex.Array, known: Known, around: Around) -> Base:
    code = jnp.asarray(CARD_CODE)
    size, hand = cards_dealt(env, state), state.hand[player]
    lead = lead_of(state)
    bid, won = state.bids[player], state.won[player]
    shown = bids_shown(state, around)
    cards = table(state)
    unseen_suits = known.unseen & jnp.asarray(SUITS)  # [suit, word]
    highest = highest_number(unseen_suits)
    allied = (state.loot_player == player) | (state.loot_winner == player)
    partner = jnp.where(state.loot_player == player, state.loot_winner, state.loot_player)
    alliances = (allied[:, None] & (partner[:, None] == around.seats) & around.is_seat).sum(0)
    seats = [
        jnp.where(shown >= 0, shown + 1, 0) / 11,
        around(state.won) / 10,
        jnp.clip(around(state.total) / 500, -1, 1),
        around.is_seat & (around.seats == state.leader),
        alliances / 2,
    ]
    progress = [
        size / 10,
        (state.round + 1) / len(env.hand_sizes),
        (size - state.tricks) / 10,
        jnp.where(bid >= 0, bid - won, 0) / 10,
        jnp.float32(env.num_players / 6),
        (cards != NO_CARD).sum() / 5,
    ]
    return Base(
        hand=code[jnp.pad(hand, (0, MAX_SLOTS - hand.shape[0]), constant_values=NO_CARD)],
        table=code[computed_once(around_cards(declared(cards, state), around)[1:])],
        # Held: a column would be computed again for every field of the stack.
        seats=jnp.stack(computed_once([column.astype(jnp.float32) for column in seats]), axis=-1),
        led_suit=lead == jnp.arange(1, 5),
        free=lead == FREE,
        unseen_suits=jnp.stack(computed_once([size_of(unseen_suits), highest]), axis=-1) / jnp.float32(14),
        unseen_kinds=size_of(known.unseen & jnp.asarray(KINDS)) / jnp.asarray(KIND_SIZES),
        voids=around(state.voids)[1:],
        progress=jnp.stack([value.astype(jnp.float32) for value in progress]),
        hand_worth=jnp.asarray(BID_TABLE)[hand].sum() / jnp.float32(1000),
    )


def size_of(sets: chex.Array) -> chex.Array:
    """int32[...]: cards in sets of bits, uint32[..., word]."""
    return jax.lax.population_count(sets).sum(-1, dtype=jnp.int32)


def highest_number(suits: chex.Array) -> chex.Array:
    """int32[suit]: the highest number in each suit's set, uint32[suit, word]; 0 in an empty one."""
    top_bit = 32 * jnp.arange(1, WORDS + 1) - jax.lax.clz(suits).astype(jnp.int32)  # [suit, word], one past the bit
    return jnp.where(suits != 0, top_bit - jnp.asarray([10, 24, 38, 52])[:, None], 0).max(-1)


def ability_view(env: "SkullKingEnv", state: State, player: chex.Array, around: Around) -> Ability:
    phase, size = state.phase, cards_dealt(env, state)
    left = (size - state.tricks).astype(jnp.float32)
    bid, won = state.bids[player].astype(jnp.float32), state.won[player].astype(jnp.float32)

    need = (around(state.bids) - around(state.won)) / jnp.maximum(left, 1)
    lead_strength = computed_once(jnp.where(around.is_seat, 0.5 + 0.5 * jnp.clip(need, -1, 1), 0))
    rosie = jnp.pad(lead_strength, (0, 22))

    top = state.top[state.round]
    drawn = jnp.asarray(CARD_CODE)[jnp.stack([top.min(), top.max()])].ravel()
    is_second = phase == ABILITY_BENDT_2
    chosen = is_second & (state.hand[player] == state.discards[0]) & (state.hand[player] != NO_CARD)
    bendt = jnp.concatenate([drawn, is_second[None], jnp.pad(chosen, (0, 13 - chosen.shape[0]))])

    roatan = jnp.pad(jnp.stack([(won - bid) / size, left / size]), (0, 26))
    harry = jnp.pad(jnp.stack([bid / 10, won / 10, (won - bid) / 10]), (0, 25))

    context = jnp.where(phase == ABILITY_ROSIE, rosie, 0.0)
    context += jnp.where((phase == ABILITY_BENDT_1) | is_second, bendt, 0.0)
    context += jnp.where(phase == ABILITY_ROATAN, roatan, 0.0)
    context += jnp.where(phase == ABILITY_HARRY, harry, 0.0)
    own_bet = state.bets[player]
    armed_and_bets = [
        state.harry == player,
        own_bet / 20,
        (state.harry >= 0) & (state.harry != player),
        (state.bets.sum() - own_bet) / 20,
    ]
    return Ability(
        phase=phase == jnp.arange(NUM_PHASES),
        context=jnp.where(state.current_player == player, context, 0.0),
        armed_and_bets=jnp.stack([value.astype(jnp.float32) for value in armed_and_bets]),
    )


def full_view(env: "SkullKingEnv", state: State, known: Known, around: Around) -> Full:
    known = jax.tree.map(lambda sets: members(sets, NUM_CARDS), known)
    on_table = members(set_of(table(state), WORDS), NUM_CARDS)
    located = known.hand | known.played.any(0) | known.discards
    return Full(
        hand_cards=known.hand,
        played=around(known.played),
        table_cards=on_table,
        unseen=known.unseen,
        jade=known.jade & ~located,
        discards=known.discards,
        bids=bids_shown(state, around)[:, None] == jnp.arange(NUM_BIDS),
        cards=cards_dealt(env, state) - 1 == jnp.arange(MAX_HAND),
        bets=around(state.bets) / jnp.float32(20),
        harry=around(jnp.arange(env.num_players) == state.harry),
    )


def bids_shown(state: State, around: Around) -> chex.Array:
    """int[6 relative seats]: bids as the player knows them, -1 if not: others' from the reveal on (SK-7)."""
    own = jnp.arange(MAX_PLAYERS) == 0
    return jnp.where(around.is_seat & (own | (state.phase != BIDDING)), state.bids[around.seats], -1)


def declared(cards: chex.Array, state: State) -> chex.Array:
    """Cards on the table as rows of CARD_CODE: the Tigress as what she was declared."""
    row = jnp.where(state.tigress_is_pirate, TIGRESS_AS_PIRATE, TIGRESS_AS_ESCAPE)
    return jnp.where(cards == TIGRESS, row, cards.astype(jnp.int32))


def around_cards(cards: chex.Array, around: Around) -> chex.Array:
    """[seat] -> [6 relative seats] with NO_CARD beyond the table."""
    return jnp.where(around.is_seat, cards[around.seats], NO_CARD)
