"""The facts of a game of Skull King."""

from typing import TYPE_CHECKING, Any

import chex
import jax
import jax.numpy as jnp

from jaxgames.cards import shuffles
from jaxgames.env import Deal, at_the_start
from jaxgames.env import State as SharedState
from jaxgames.options import check_deal_int, check_deal_keys, check_permutation
from jaxgames.skullking.cards import ABILITIES, BIDDING, NO_CARD

if TYPE_CHECKING:
    from jaxgames.skullking.env import SkullKingEnv


@chex.dataclass(frozen=True)
class State(SharedState):
    """One game. Cards that are in no hand, not played and not discarded this round are the stock."""

    # Chance: all rounds are dealt at the start, because a shuffle inside `step` would be paid on every step.
    dealt: chex.Array  # int8[round, seat, slot]  hands as dealt, ascending, NO_CARD behind them
    top: chex.Array  # int8[round, 2]          the two cards on top of the stock: Bendt's (SK-23)
    starter: chex.Array  # int8[]      leads round 0
    abilities: chex.Array  # bool[5]     which of Rosie, Bendt, Roatán, Jade, Harry have their ability

    total: chex.Array  # int16[seat]  points of the finished rounds
    round: chex.Array  # int8[]
    phase: chex.Array  # int8[]       SK-4

    # The running round.
    hand: chex.Array  # int8[seat, slot]   ascending, NO_CARD behind (SK-6)
    played: chex.Array  # int8[seat, trick]  what the seat played in each trick, NO_CARD if nothing yet
    tricks: chex.Array  # int8[]      completed tricks
    leader: chex.Array  # int8[]      leads or led the open trick; in an ability phase the seat that would lead next
    tigress_is_pirate: chex.Array  # bool[]      how the Tigress was declared, once she is played
    bids: chex.Array  # int8[seat]  -1 before the bid
    won: chex.Array  # int8[seat]  tricks won
    bonus: chex.Array  # int16[seat] bonus points of SK-18
    bets: chex.Array  # int8[seat]  Roatán: 0, 10 or 20
    loot_player: chex.Array  # int8[loot]  who played each Loot of an alliance, -1 without one (SK-19)
    loot_winner: chex.Array  # int8[loot]  and who won it
    voids: chex.Array  # bool[seat, suit]  shown voids (SK-40)
    rosie_user: chex.Array  # int8[]      who chose the leader of the open trick, -1 if nobody did
    harry: chex.Array  # int8[]      seat with Harry armed, -1 if none
    bendt: chex.Array  # int8[]      seat that drew with Bendt, -1 if none
    discards: chex.Array  # int8[2]     its discards in order; the first stays in the hand until the second is chosen
    jade: chex.Array  # int8[]      seat that has looked through the stock, -1 if none


def draw_deal(env: "SkullKingEnv", key: chex.PRNGKey) -> dict[str, chex.Array]:
    """SK-3: who leads round 0, and one uniform order of the enabled cards for each round."""
    starter_key, deck_key = jax.random.split(key)
    starter = jax.random.randint(starter_key, (), 0, env.num_players, jnp.int32)
    return {"starter": starter.astype(jnp.int8), "decks": random_decks(env, deck_key)}


def read_deal(env: "SkullKingEnv", deal: Deal) -> dict[str, chex.Array]:
    """SK-3: the deal as arrays; a ValueError for one that could not have been dealt. Traced arrays pass unchecked."""
    check_deal_keys(env.id, deal, ("starter", "decks"))
    starter: Any = deal["starter"]
    decks: Any = deal["decks"]
    check_deal_int(env.id, "deal starter", starter, 0, env.num_players - 1)
    rounds = len(env.hand_sizes)
    if not hasattr(decks, "__len__") or len(decks) != rounds:
        given = len(decks) if hasattr(decks, "__len__") else repr(decks)
        raise ValueError(f"{env.id}: deal decks must be {rounds} decks, one a round, got {given}")
    for number, deck in enumerate(decks):
        check_permutation(env.id, f"deal deck {number}", deck, env.deck)
    return {"starter": jnp.asarray(starter, jnp.int8), "decks": jnp.asarray(decks, jnp.int8)}


def first_state(env: "SkullKingEnv", deal: dict[str, chex.Array]) -> State:
    """The state before the first bid of a game with this deal, with the abilities that the options name."""
    seats = env.num_players
    dealt, top = lay_out(env, deal["decks"])
    starter = deal["starter"]
    none = jnp.full((), -1, jnp.int8)
    no_seat_bits = jnp.zeros((seats,), jnp.int8)
    return State(
        **at_the_start(seats, starter),
        dealt=dealt,
        top=top,
        starter=starter,
        abilities=jnp.asarray([getattr(env, name) for name in ABILITIES]),
        total=jnp.zeros((seats,), jnp.int16),
        round=jnp.zeros((), jnp.int8),
        phase=jnp.full((), BIDDING, jnp.int8),
        hand=with_room_for_draw(dealt[0]),
        played=jnp.full((seats, env.max_hand), NO_CARD, jnp.int8),
        tricks=jnp.zeros((), jnp.int8),
        leader=starter,
        tigress_is_pirate=jnp.zeros((), bool),
        bids=no_seat_bits - 1,
        won=no_seat_bits,
        bonus=jnp.zeros((seats,), jnp.int16),
        bets=no_seat_bits,
        loot_player=jnp.full((2,), -1, jnp.int8),
        loot_winner=jnp.full((2,), -1, jnp.int8),
        voids=jnp.zeros((seats, 4), bool),
        rosie_user=none,
        harry=none,
        bendt=none,
        discards=jnp.full((2,), NO_CARD, jnp.int8),
        jade=none,
    )


def lay_out(env: "SkullKingEnv", decks: chex.Array) -> tuple[chex.Array, chex.Array]:
    """SK-3: (hands int8[round, seat, slot], ascending; top of the stock int8[round, 2]) of decks [round, position]."""
    seats = env.num_players
    hands, tops = [], []
    for deck, size in zip(decks, env.hand_sizes, strict=True):
        hand = deck[: seats * size].reshape(seats, size)
        hands.append(jnp.pad(hand, ((0, 0), (0, env.max_hand - size)), constant_values=NO_CARD))
        tops.append(deck[seats * size : seats * size + 2])
    return ascending(jnp.stack(hands)), jnp.stack(tops)


def ascending(cards: chex.Array) -> chex.Array:
    """Sorted along the last axis. Counting smaller cards beats a sort for ten of them; NO_CARD may repeat."""
    size = cards.shape[-1]
    place = jnp.arange(size)
    left, right = cards[..., :, None], cards[..., None, :]
    smaller = (right < left) | ((right == left) & (place[None, :] < place[:, None]))
    rank = smaller.sum(-1, dtype=jnp.int8)
    return jnp.where(rank[..., :, None] == place, left, 0).sum(-2, dtype=cards.dtype)


def with_room_for_draw(hand: chex.Array) -> chex.Array:
    """A dealt hand with one more slot: Bendt's user holds one card more than dealt for two decisions."""
    return jnp.pad(hand, ((0, 0), (0, 1)), constant_values=NO_CARD)


def random_decks(env: "SkullKingEnv", key: chex.PRNGKey) -> chex.Array:
    """One uniform order of the enabled cards for each round, int8[round, position]."""
    order = shuffles(key, len(env.hand_sizes), len(env.deck))
    return order if len(env.deck) == 74 else jnp.asarray(env.deck)[order]
