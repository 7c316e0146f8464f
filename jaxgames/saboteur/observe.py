"""What a player may know, as numbers for a network (section 12 of the rules page)."""

from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.saboteur.cards import (
    BOTTOM,
    BROKEN,
    COPIES,
    GOLD,
    LEFT,
    MAP,
    NUM_CONNECTED,
    NUM_GOALS,
    NUM_PATHS,
    NUM_TYPES,
    OPEN,
    REPAIR,
    RIGHT,
    ROCKFALL,
    TOP,
)
from jaxgames.saboteur.cells import count, lies_in, listed
from jaxgames.saboteur.mine import face_up_cells, turned_goals
from jaxgames.saboteur.rules import held
from jaxgames.saboteur.state import FACE_DOWN, State

if TYPE_CHECKING:
    from jaxgames.saboteur.env import SaboteurEnv

NUM_ROWS = 100  # board rows of the `seed` observation
MAX_BOARD = 44  # cards that can lie on the board: start, goals and 40 path cards
NUM_FEATURES = 22
MAX_ROUNDS = 3
# Pairs of sides with a connection bit, in order.
PAIRS = ((LEFT, RIGHT), (LEFT, TOP), (LEFT, BOTTOM), (RIGHT, TOP), (RIGHT, BOTTOM), (TOP, BOTTOM))


VERSIONS = ("full", "seed")  # `paths` has `seed` alone
HONEST = VERSIONS


class SeedView(NamedTuple):
    """The cards on the table and in one's own hand, float32[2332]."""

    board: jax.Array  # float32[row, feature]  cards in ascending (x, y), zero rows after them
    hand: jax.Array  # float32[slot, feature]


class FullView(NamedTuple):
    """Everything one player may know, itself first and the others clockwise, float32[2441 + 14N + 2N^2]."""

    board: jax.Array  # float32[row, feature]  cards in ascending (x, y), zero rows after them
    hand: jax.Array  # float32[slot, feature]
    action_cards: jax.Array  # bool[slot, action type]
    role: jax.Array  # bool[2]  miner, saboteur
    goals: jax.Array  # bool[goal, 3]  unknown, gold, stone
    round: jax.Array  # bool[3]
    pile: jax.Array  # float32[]  cards left / 67
    to_move: jax.Array  # bool[]
    players: jax.Array  # float32[seat, 14]
    attacks: jax.Array  # float32[seat, seat]  broken-tool cards by i on j / 3
    repairs: jax.Array  # float32[seat, seat]  repairs by i on j / 3
    accounted: jax.Array  # float32[type]  share of the copies whose place the player knows


def view(env: "SaboteurEnv", state: State, player: chex.Array, version: str) -> SeedView | FullView:
    """The named parts of an observation, in its order."""
    if version == "seed":
        return SeedView(board=board_rows(env, state), hand=hand_rows(env, held(state, player)))
    return full_view(env, state, player)


def full_view(env: "SaboteurEnv", state: State, player: chex.Array) -> FullView:
    """SB-31, section 11: hand, role and looks of the player, and what everybody knows."""
    n = env.num_players
    seats = (player + jnp.arange(n)) % n
    kinds = held(state, player)
    attacks, repairs = (
        card_counts(env, state, first, last, on_seats=True)[seats][:, seats].astype(jnp.float32) / 3
        for first, last in ((BROKEN, REPAIR), (REPAIR, MAP))
    )
    is_known = known_goals(env, state, player)
    is_gold = is_known & (state.goals[state.round] == GOLD)
    copies = COPIES[env.rules.deck]
    accounted = type_counts(state, known_places(env, state, player)).astype(jnp.float32) / copies
    return FullView(
        board=board_rows(env, state),
        hand=hand_rows(env, kinds),
        action_cards=kinds[:, None] == jnp.arange(NUM_PATHS, NUM_TYPES),
        role=state.roles[state.round, player] == jnp.array([False, True]),
        goals=jnp.stack([~is_known, is_gold, is_known & ~is_gold], axis=-1),
        round=jnp.arange(MAX_ROUNDS) == state.round,
        pile=(env.num_cards - state.drawn) / env.num_cards,
        to_move=(state.current_player == player) & ~state.terminated,
        players=player_rows(env, state)[seats],
        attacks=attacks,
        repairs=repairs,
        accounted=accounted,
    )


def board_rows(env: "SaboteurEnv", state: State) -> chex.Array:
    """float32[100, 22], the cards on the table; a face-down goal shows only where it lies."""
    grid = env.cells
    goals = jnp.asarray(grid.goals)
    on_table = face_up_cells(state) | goals
    cells = listed(grid, on_table, MAX_BOARD)
    is_card = jnp.arange(MAX_BOARD) < count(on_table)
    column, row = cells // grid.rows, cells % grid.rows

    sides = lies_in(grid, state.open, cells).T
    is_face_down = lies_in(grid, goals & ~face_up_cells(state), cells)
    is_start = lies_in(grid, jnp.asarray(grid.start), cells)
    features = jnp.concatenate(
        [
            jnp.stack([column + grid.xmin, row + grid.ymin], axis=-1),
            edge_features(env, sides, lies_in(grid, state.through, cells)) & ~is_face_down[:, None],
            jnp.stack([is_face_down, is_start], axis=-1),
        ],
        axis=-1,
    ).astype(jnp.float32)
    return jnp.pad(features * is_card[:, None], ((0, NUM_ROWS - MAX_BOARD), (0, 0)))


def hand_rows(env: "SaboteurEnv", kinds: chex.Array) -> chex.Array:
    """float32[slot, 22], path cards upright; action cards and empty slots are zeros."""
    is_path = (kinds >= 0) & (kinds < NUM_PATHS)
    edges = edge_features(env, jnp.asarray(OPEN)[jnp.where(is_path, kinds, 0), 0], kinds < NUM_CONNECTED)
    return jnp.pad((edges & is_path[:, None]).astype(jnp.float32), ((0, 0), (2, 2)))


def edge_features(env: "SaboteurEnv", sides: chex.Array, is_through: chex.Array) -> chex.Array:
    """bool[..., 18]: wall, path or dead end of each side, then which pairs of sides are joined."""
    path = sides & is_through[..., None]
    dead_end = sides & ~path
    shows_dead_ends = env.dead_end_obs == "own"
    one_hot = jnp.stack([~sides, path if shows_dead_ends else sides, dead_end & shows_dead_ends], axis=-1)
    pairs = np.array(PAIRS)
    joined = path[..., pairs[:, 0]] & path[..., pairs[:, 1]]
    return jnp.concatenate([one_hot.reshape(*sides.shape[:-1], -1), joined], axis=-1)


def player_rows(env: "SaboteurEnv", state: State) -> chex.Array:
    """float32[seat, 14], what everybody knows of each seat, by absolute seat number."""
    n = env.num_players
    goals = jnp.arange(NUM_GOALS)
    counts = [
        card_counts(env, state, 0, NUM_CONNECTED),
        card_counts(env, state, NUM_CONNECTED, NUM_PATHS),
        card_counts(env, state, ROCKFALL, NUM_TYPES),
        card_counts(env, state, MAP, ROCKFALL),
        num_discards(env, state),
    ]
    rows = [
        state.broken,
        looked_at(env, state, jnp.arange(n)[:, None], goals),
        (state.hand >= 0).sum(-1, keepdims=True) / 6,
        state.nuggets[:, None] / 10,
        ((jnp.arange(n) == state.current_player) & ~state.terminated)[:, None],
        jnp.stack(counts, axis=-1) / 10,
    ]
    return jnp.concatenate([part.astype(jnp.float32) for part in rows], axis=-1)


def card_counts(env: "SaboteurEnv", state: State, first: int, last: int, on_seats: bool = False) -> chex.Array:
    """int32[seat], cards of types first..last-1 played this round; with `on_seats` int32[seat, seat] by target."""
    kinds, seats = state.deck[state.round], jnp.arange(env.num_players)
    counted = (kinds >= first) & (kinds < last) & (state.played_on != FACE_DOWN)
    by_seat = counted & (state.played_by == seats[:, None])  # [seat, card]
    if not on_seats:
        return by_seat.sum(-1)
    return (by_seat[:, None] & (state.played_on == seats[:, None])).sum(-1)


def num_discards(env: "SaboteurEnv", state: State) -> chex.Array:
    """int32[seat], cards discarded this round."""
    is_discard = state.played_on == FACE_DOWN
    return (is_discard & (state.played_by == jnp.arange(env.num_players)[:, None])).sum(-1)


def looked_at(env: "SaboteurEnv", state: State, seat: chex.Array, goal: chex.Array) -> chex.Array:
    """bool of the broadcast shape: has the seat looked at the goal with a map this round? (SB-31)"""
    kinds = state.deck[state.round]
    is_map = (kinds == MAP) & (state.played_on == goal[..., None])
    return (is_map & (state.played_by == seat[..., None])).any(-1)


def known_goals(env: "SaboteurEnv", state: State, player: chex.Array) -> chex.Array:
    """bool[goal], goals that are turned or that the player has looked at."""
    return turned_goals(env.cells, state) | looked_at(env, state, player[None], jnp.arange(NUM_GOALS))


def known_places(env: "SaboteurEnv", state: State, player: chex.Array) -> chex.Array:
    """bool[card], the cards of this round that the player knows: in his hand, played openly, or discarded by him."""
    mine = (state.hand[player] == jnp.arange(env.num_cards)[:, None]).any(-1)
    is_used = state.played_by >= 0
    is_seen = (state.played_on != FACE_DOWN) | (state.played_by == player)
    return mine | (is_used & is_seen)


def type_counts(state: State, places: chex.Array) -> chex.Array:
    """int32[type], how many cards of each type lie in these places of the deck."""
    kinds = jnp.where(places, state.deck[state.round], -1)
    return (kinds == jnp.arange(NUM_TYPES)[:, None]).sum(-1)
