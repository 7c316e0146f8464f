"""The numbered rules and worked examples of docs/rules/saboteur.md. Deals are data: `ids*` of section 14."""

import dataclasses
import functools
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from jaxgames.saboteur import cards, cells, gold, mine, rules
from jaxgames.saboteur.cards import BOTTOM, LEFT, RIGHT, TOP
from jaxgames.saboteur.rewards import digging_distance, payment
from jaxgames.saboteur.state import MINERS, SABOTEURS
from tests.support import cited_rules, rule_numbers

# Few option sets, few compilations: each is compiled once for the whole module.
PATHS_1 = {"variant": "paths", "num_players": 1}
PATHS_2 = {"variant": "paths", "num_players": 2, "dist_reward_scale": 1.0}
PATHS_4 = {"variant": "paths", "num_players": 4}
FULL_3 = {"num_players": 3, "rounds": 1}
FULL_3_TWO = {"num_players": 3, "rounds": 2}


@functools.cache
def make(**options):
    return jaxgames.make("saboteur", **options)


@functools.cache
def jitted(env):
    return jax.jit(env.step), jax.jit(env.legal_action_mask)


def ids(first, size):
    """`first*`: these ids first, then all others ascending."""
    return [*first, *(i for i in range(size) if i not in first)]


def deal(env, deck=(), goals=(0, 1, 2), roles=(), nuggets=()):
    """A deal that is the same in every round."""
    entry = {"goals": list(goals), "deck": ids(deck, env.num_cards)}
    if env.variant == "paths":
        return {"rounds": [entry]}
    entry["roles"] = ids(roles, env.num_roles)
    return {"gold": ids(nuggets, 28), "rounds": [entry] * env.rules.rounds}


def start(env, **chance):
    return env.init(jax.random.key(0), deal=deal(env, **chance))


def play(env, state, actions):
    step, mask = jitted(env)
    for action in actions:
        assert mask(state)[action], f"{action} is not legal"
        state = step(state, jnp.int32(action))
    return state


def legal(env, state):
    return np.flatnonzero(np.asarray(jitted(env)[1](state))).tolist()


def cell(x, y):
    return (x + 22) * 45 + y + 22


def action(slot, x, y, orientation=0):
    return (slot * 2070 + cell(x, y)) * 2 + orientation


def places(env, cell_set):
    """The (x, y) of a set of cells, sorted."""
    found = np.flatnonzero(np.asarray(cells.unpack(env.cells, cell_set)))
    return {(int(i) // env.cells.rows + env.cells.xmin, int(i) % env.cells.rows + env.cells.ymin) for i in found}


def frontier(env, state):
    return places(env, mine.frontier(env.cells, state))


def joined(env, state):
    return places(env, state.joined)


def sides_at(env, state, x, y):
    return "".join(name for name, plane in zip("TRBL", state.open, strict=True) if (x, y) in places(env, plane))


def hand_types(state, seat):
    return [int(kind) for kind in rules.held(state, jnp.int32(seat)) if kind >= 0]


def test_sb_1_sides_and_their_neighbours():
    """SB-1: y grows downwards, the opposite of d is d + 2."""
    env = make(**PATHS_1)
    middle = jnp.asarray(env.cells.start)
    # The cells whose top, right, bottom, left neighbour is the start.
    expected = {TOP: (0, 1), RIGHT: (-1, 0), BOTTOM: (0, -1), LEFT: (1, 0)}
    for side, place in expected.items():
        assert places(env, cells.beside(env.cells, side, middle)) == {place}
        assert (-cards.STEP_X[side], -cards.STEP_Y[side]) == place
        assert cards.OPPOSITE[side] == (side + 2) % 4


def test_sb_1_sets_move_across_words_and_stop_at_the_edges():
    """SB-1, SB-8: row 31 and row 32 of the exact grid lie in different words; columns do not wrap."""
    grid = make(**PATHS_1).cells
    for row, below in ((31, 32), (0, 1), (43, 44)):
        upper, lower = (jnp.asarray(grid.cells_at([(5, r)])) for r in (row, below))
        np.testing.assert_array_equal(cells.beside(grid, TOP, upper), cells.inner(grid, lower))
        np.testing.assert_array_equal(cells.beside(grid, BOTTOM, lower), cells.inner(grid, upper))
    last = jnp.asarray(grid.cells_at([(45, 3)]))
    assert bool(cells.is_empty(cells.beside(grid, LEFT, last)))
    assert bool(cells.is_empty(cells.beside(grid, RIGHT, jnp.asarray(grid.cells_at([(0, 3)])))))
    assert bool(cells.is_empty(cells.beside(grid, BOTTOM, jnp.asarray(grid.cells_at([(7, 0)])))))
    lowest = jnp.asarray(grid.cells_at([(7, 44)]))
    assert bool(cells.is_empty(cells.beside(grid, TOP, lowest) & cells.inner(grid, grid.inside)))


def test_sb_8_sets_of_cells_agree_with_plain_sets():
    """SB-8: counting, the k-th cell and distances to the goals, over both words of a column, against plain Python."""
    grid = make(**PATHS_1).cells
    rng = np.random.default_rng(0)
    kth, distances = jax.jit(lambda c, k: cells.kth(grid, c, k)), jax.jit(lambda c: cells.goal_distances(grid, c))
    some = [[(3, 40), (3, 44), (30, 0)], [(45, 44)], [], [(c, r) for c in range(46) for r in range(45)]]
    some += [[divmod(int(i), 45) for i in rng.integers(0, 2070, 6)] for _ in range(12)]
    for chosen in some:
        ids = sorted({column * 45 + row for column, row in chosen})
        cell_set = jnp.asarray(grid.cells_at(chosen))
        assert int(cells.count(cell_set)) == len(ids)
        wanted = ids if len(ids) < 50 else ids[::97]
        assert [int(kth(cell_set, ids.index(i))) for i in wanted] == wanted
        away = [[abs(x - gx) + abs(y - gy) for x, y in chosen] for gx, gy in grid.goal_cells]
        assert distances(cell_set).tolist() == [min([*row, cells.FAR]) for row in away]


def test_sb_2_path_cards():
    """SB-2: 31 connected cards and 9 dead ends; orientation 1 turns by 180 degrees."""
    for deck, straights in (("official", [4, 3]), ("seed", [3, 4])):
        copies = cards.COPIES[deck]
        assert copies[:7].sum() == 31
        assert copies[7:16].tolist() == [1] * 9
        assert copies[3:5].tolist() == straights
    assert cards.OPEN[1, 0].tolist() == [True, True, True, False]
    assert cards.OPEN[1, 1].tolist() == [True, False, True, True]
    assert cards.OPEN[15, 1].tolist() == [False, False, False, True]


def test_sb_3_action_cards():
    """SB-3: 27 action cards; three broken, two single and one of each double repair."""
    assert cards.COPIES["official"][16:].tolist() == [3, 3, 3, 2, 2, 2, 1, 1, 1, 6, 3]
    assert cards.MENDS[22:25].tolist() == [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    assert cards.BREAKS[16:19].tolist() == np.eye(3).tolist()


def test_sb_4_fixed_cards():
    """SB-4, SB-25: a stone shows an open side to whoever reaches it; the seed deck has one stone twice."""
    for goal in range(3):
        for side in range(4):
            assert cards.GOAL_OPEN[goal, side, side]
    assert cards.GOAL_OPEN[cards.STONE_A, BOTTOM].tolist() == [False, False, True, True]
    assert cards.GOAL_OPEN[cards.STONE_B, RIGHT].tolist() == [False, True, True, False]
    assert cards.GOAL_OF_ID["seed"].tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("deck", "kind", "first", "last"),
    [("official", 3, 15, 18), ("official", 4, 19, 21), ("seed", 3, 15, 17), ("seed", 4, 18, 21), ("seed", 26, 64, 66)],
)
def test_sb_5_card_ids(deck, kind, first, last):
    """SB-5: ids in ascending type order."""
    assert np.flatnonzero(cards.TYPE_OF_ID[deck] == kind).tolist() == list(range(first, last + 1))


def test_sb_6_gold_cards():
    """SB-6."""
    assert cards.NUGGETS_OF_ID.tolist() == [1] * 16 + [2] * 8 + [3] * 4


def test_sb_7_sb_13_roles_and_hands_by_players():
    """SB-7, SB-13: one role card more than players; smaller hands at larger tables."""
    assert [make(num_players=n).num_saboteurs for n in range(3, 11)] == [1, 1, 2, 2, 3, 3, 3, 4]
    assert [make(num_players=n).num_roles for n in range(3, 11)] == list(range(4, 12))
    assert [make(num_players=n).rules.hand_size for n in range(3, 11)] == [6, 6, 6, 5, 5, 4, 4, 4]


def test_sb_8_sb_9_grid_and_layout():
    """SB-8, SB-9: cells are numbered x-major; goals lie in column goal_x."""
    env = make(**PATHS_1)
    assert env.cells.size == 2070
    assert make(grid="seed").cells.size == 441
    assert np.flatnonzero(cells.unpack(env.cells, jnp.asarray(env.cells.start))).tolist() == [1012]
    assert np.flatnonzero(cells.unpack(env.cells, jnp.asarray(env.cells.goals))).tolist() == [1370, 1372, 1374]
    assert env.cells.goal_ids.tolist() == [1370, 1372, 1374]
    short = make(goal_x=3)
    assert places(short, jnp.asarray(short.cells.goals)) == {(3, -2), (3, 0), (3, 2)}


def test_sb_10_a_deal_decides_everything():
    """SB-10, SB-11, SB-12, SB-14: roles by seat, hands in blocks, gold from the front."""
    env = make(**FULL_3_TWO)
    state = start(env, deck=[66, 65], goals=(2, 0, 1), roles=(3, 0), nuggets=(27, 16))
    assert hand_types(state, 0)[:2] == [26, 26]
    assert hand_types(state, 1) == cards.TYPE_OF_ID["official"][[4, 5, 6, 7, 8, 9]].tolist()
    assert int(state.drawn) == 18
    assert state.roles[0].tolist() == [False, True, False, False]
    assert state.goals[1].tolist() == [2, 0, 1]
    assert state.gold[:3].tolist() == [3, 2, 1]
    assert int(state.current_player) == 0


def test_sb_15_sb_18_turns_go_clockwise():
    """SB-15, SB-16, SB-17, SB-18: seat 0 begins; each action uses one card, the drawn one comes last."""
    env = make(**FULL_3)
    state = start(env)
    state = play(env, state, [env.first_discard + 2])
    assert int(state.current_player) == 1
    assert np.asarray(state.hand[0]).tolist() == [0, 1, 3, 4, 5, 18]
    assert int(state.drawn) == 19


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({}, 24936),
        ({"grid": "seed"}, 5388),
        ({"variant": "paths"}, 24841),
        ({"variant": "paths", "grid": "seed"}, 5293),
    ],
)
def test_sb_19_sizes(options, size):
    """SB-19."""
    assert make(**options).num_actions == size


def test_example_1_first_legal_actions():
    """SB-19, SB-20, SB-22, SB-39: worked example 1."""
    env = make(**PATHS_2)
    state = start(env)
    assert [hand_types(state, seat) for seat in (0, 1)] == [[0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 2, 2]]
    ours = legal(env, state)
    assert len(ours) == 47
    assert ours[:4] == [1934, 1935, 2022, 2023]
    assert ours[-7:] == [22634, 22722, 22723, 22726, 22727, 22815, 24840]


@pytest.mark.parametrize(("first", "distance", "paid"), [(31, 8, -0.125), (18, 6, 1 / 6)])
def test_example_2_dead_end_and_straight(first, distance, paid):
    """SB-23, SB-43: worked example 2: a dead end joins nothing onwards."""
    env = make(**PATHS_2)
    state = start(env, deck=[first, 0, 1, 2, 3, 4])
    assert int(digging_distance(env, state)) == 7
    state = play(env, state, [2114])
    assert int(digging_distance(env, state)) == distance
    np.testing.assert_allclose(state.rewards, [paid, 0])
    if first == 31:
        assert frontier(env, state) == {(-1, 0), (0, -1), (0, 1)}
        assert hand_types(state, 0) == [0, 0, 0, 0, 0, 2]
        assert len(legal(env, state)) == 30


@pytest.mark.parametrize(("rank_from", "paid"), [("finisher", [8, 7, 10, 9]), ("seat", [10, 9, 8, 7])])
def test_example_3_the_gold_is_reached(rank_from, paid):
    """SB-26, SB-40, SB-43, SB-47, SB-49: worked example 3."""
    env = make(**PATHS_4)
    deck = [18, 31, 32, 33, 34, 35, 0, 36, 37, 38, 39, 30, 1, 22, 23, 24, 25, 26, 19, 27, 28, 29, 5, 6, 2, 3, 4]
    state = play(env, start(env, deck=deck, goals=(1, 0, 2)), [2114, 2204, 2294, 2384, 23174, 23264, 23354])
    assert bool(state.terminated)
    assert int(state.current_player) == 2
    assert make(**PATHS_4, rank_from=rank_from).scores(state).tolist() == paid
    assert state.rewards.tolist() == [8, 7, 10, 9]
    again = jitted(env)[0](state, jnp.int32(0))
    assert again.rewards.tolist() == [0, 0, 0, 0]


CORRIDOR = {(-1, 0), (-1, 1), (0, -1), (0, 2), (1, 0), (5, 0), (6, 0)}


@pytest.mark.parametrize(
    ("kind", "deck", "lower", "edge"),
    [
        ("seed", [0, 18, 19, 20, 21, 10, 11, 12, 1], "TR", {(7, 0), (9, 1), (9, 2)}),
        ("official", [0, 19, 20, 21, 13, 10, 11, 12, 1], "TL", {(7, 0), (9, 1), (4, 0), (7, 2)}),
    ],
)
def test_example_4_two_goals_at_once(kind, deck, lower, edge):
    """SB-24, SB-25: worked example 4, both decks."""
    env = make(**PATHS_1, deck=kind)
    state = start(env, deck=deck)
    state = play(env, state, [2026, 2116, 2206, 2296, 2386, 2476, 2566, 2656, 2746])
    assert mine.turned_goals(env.cells, state).tolist() == [False, True, True]
    assert sides_at(env, state, 8, 0) == "BL"
    assert sides_at(env, state, 8, 2) == lower
    assert frontier(env, state) == CORRIDOR | edge


def test_example_5_a_stone_that_does_not_fit():
    """SB-25, SB-27: worked example 5: only goal cards may lie against a wall."""
    env = make(**PATHS_1)
    state = start(env, deck=[0, 18, 19, 20, 21, 10, 11, 12, 15, 1])
    state = play(env, state, [2026, 2116, 2206, 2296, 2386, 2476, 2566, 2656, 2654])
    assert not mine.turned_goals(env.cells, state).any()
    state = play(env, state, [2746])
    assert sides_at(env, state, 8, 0) == "BL"
    assert frontier(env, state) == CORRIDOR | {(7, -1), (9, 1), (9, 2)}


def test_example_6_a_dead_end_turns_nothing():
    """SB-24: worked example 6."""
    env = make(**PATHS_1)
    state = start(env, deck=[18, 19, 20, 21, 0, 1, 35], goals=(1, 0, 2))
    state = play(env, state, [2114, 2204, 2294, 2384, 2474, 2564, 2654])
    assert not mine.turned_goals(env.cells, state).any()
    assert not bool(state.terminated)
    assert frontier(env, state) == {(-1, 0), (0, -1), (0, 1), (5, -1), (5, 1), (6, -1), (6, 1)}


def test_example_7_rockfall_and_rejoining():
    """SB-20, SB-21, SB-22, SB-32: worked example 7."""
    env = make(**FULL_3)
    deck = [0, 1, 2, 19, 20, 31, 64, 65, 3, 4, 5, 6, 10, 11, 12, 40, 58, 49]
    state = start(env, deck=deck, goals=(1, 0, 2), roles=(1, 2, 3, 0))
    assert (env.num_actions, env.first_tool_action, env.first_discard) == (24900, 24840, 24894)
    assert len(legal(env, state)) == 46
    state = play(env, state, [2114, 10484, 2294, 10664, 2204])
    assert joined(env, state) == {(0, 0), (1, 0)}
    near = {(-1, 0), (0, -1), (0, 1), (1, -1), (1, 1)}
    assert frontier(env, state) == near | {(2, 0)}
    assert {(3, 0), (4, 0)} <= places(env, mine.face_up_cells(state))
    board = [a for a in legal(env, state) if a < 2 * 2070]
    upright = {action(0, x, y) for x, y in ((-1, 0), (0, 1), (1, 1), (2, 0))}
    turned = {action(0, x, y, 1) for x, y in ((-1, 0), (0, -1), (1, -1), (2, 0))}
    assert set(board) == upright | turned
    state = play(env, state, [2204])
    assert frontier(env, state) == near | {(2, -1), (3, -1), (5, 0)}


def test_sb_8_the_frontier_ends_with_the_grid():
    """SB-8: cells outside do not exist; the last row of the small grid is in the middle of a word."""
    env = make(**PATHS_1, grid="seed")
    corner = jnp.asarray(env.cells.cells_at([(20, 20)]))  # (10, 10)
    state = start(env)
    state = state.replace(open=jnp.stack([corner] * 4), through=corner, joined=corner)
    edge = mine.frontier(env.cells, state)
    assert places(env, edge) == {(10, 9), (9, 10)}
    assert int(cells.count(edge)) == 2


def test_sb_21_a_path_needs_both_edges():
    """SB-21: a stone that shows a path to a wall passes nothing there."""
    env = make(**PATHS_1)
    left, right = (env.cells.cells_at([(column, 5)]) for column in (3, 4))
    for other_side, reached in ((TOP, False), (LEFT, True)):
        path = np.zeros((4, *left.shape), np.uint32)
        path[RIGHT] |= left
        path[other_side] |= right
        found = mine.grow(env.cells, jnp.asarray(left), jnp.asarray(path))
        assert bool(cells.is_empty(found & right)) != reached


def test_sb_20_maps_and_rockfalls():
    """SB-20, SB-31, SB-32: maps on face-down goals, rockfalls on laid cards, dead ends too; upright alone."""
    env = make(num_players=3, rounds=1, goal_x=2)
    # A crossing on (1,0) turns the middle goal; a dead end on (0,1); seat 2 holds a map and a rockfall.
    deck = [0, 1, 2, 3, 4, 5, 31, 32, 33, 34, 35, 36, 58, 64, 37, 38, 39, 30]
    state = start(env, deck=deck, goals=(0, 1, 2), roles=(1, 2, 3, 0))
    state = play(env, state, [action(0, 1, 0), action(0, 0, 1)])
    ours = legal(env, state)
    assert [a for a in ours if a < 2 * 2070] == [action(0, 2, -2), action(0, 2, 2)]
    assert [a for a in ours if 2 * 2070 <= a < 4 * 2070] == [action(1, 0, 1), action(1, 1, 0)]


DIGGERS = [0, 1, 2, 3, 4, 31, 10, 11, 12, 13, 14, 32, 19, 20, 21, 33, 34, 35]
STRAIGHT_ON = [2114, 2204, 2294, 2384, 2474, 2564, 2654]


def test_example_8_the_saboteur_finds_the_gold():
    """SB-26, SB-33, SB-34, SB-36, SB-44: worked example 8: counter-clockwise from the first miner."""
    env = make(**FULL_3_TWO)
    state = start(env, deck=DIGGERS, goals=(1, 0, 2), roles=(0, 1, 2, 3), nuggets=(24, 0, 16, 27, 25, 26))
    state = play(env, state, STRAIGHT_ON)
    assert state.rewards.tolist() == [0, 2, 4]
    assert (int(state.round), int(state.current_player), int(state.gold_drawn)) == (1, 1, 3)
    assert state.winners.tolist() == [MINERS, 0]
    assert joined(env, state) == {(0, 0)}
    assert not bool(state.terminated)


@pytest.mark.parametrize(("reward", "paid"), [("team", [-1, 1, 1]), ("win", [-1, -1, 1])])
def test_example_8_other_rewards(reward, paid):
    """SB-37, SB-45, SB-46: worked example 8 with one round."""
    env = make(**FULL_3, reward=reward)
    state = start(env, deck=DIGGERS, goals=(1, 0, 2), roles=(0, 1, 2, 3), nuggets=(24, 0, 16, 27, 25, 26))
    state = play(env, state, STRAIGHT_ON)
    assert bool(state.terminated)
    assert state.rewards.tolist() == paid


@pytest.mark.parametrize(("roles", "paid"), [((1, 0, 2, 3), [0, 4, 0]), ((1, 2, 3, 0), [0, 0, 0])])
def test_example_9_nobody_digs(roles, paid):
    """SB-18, SB-33, SB-35, SB-36: worked example 9: the 67th discard ends the round."""
    env = make(**FULL_3_TWO)
    state = start(env, roles=roles)
    state = play(env, state, [env.first_discard] * 66)
    assert int(state.round) == 0
    state = play(env, state, [env.first_discard])
    assert state.rewards.tolist() == paid
    assert (int(state.round), int(state.current_player)) == (1, 1)
    assert state.winners.tolist() == [SABOTEURS, 0]


def test_example_10_tools():
    """SB-28, SB-29, SB-30: worked example 10."""
    env = make(**FULL_3)
    deck = [40, 43, 0, 1, 2, 3, 55, 4, 5, 6, 7, 8, 51, 9, 10, 11, 12, 13]
    state = start(env, deck=deck, roles=(1, 2, 3, 0))
    ours = legal(env, state)
    assert len(ours) == 44
    assert [a for a in ours if 24840 <= a < 24894] == [24840, 24841, 24842, 24852, 24853, 24854]
    state = play(env, state, [24841])
    assert legal(env, state) == [24840, *range(24894, 24900)]
    state = play(env, state, [24895])
    assert not [a for a in legal(env, state) if 24840 <= a < 24894]
    state = play(env, state, [24895, 24844])
    assert legal(env, state) == [24840, 24843, *range(24894, 24900)]
    state = play(env, state, [24843])
    assert state.broken.tolist() == [[False] * 3, [True, False, False], [False] * 3]


def test_sb_20_self_break_can_be_forbidden():
    """SB-20, SB-28: without `self_break` nobody breaks his own tool."""
    deck = [40, 43, 0, 1, 2, 3]
    state = start(make(**FULL_3), deck=deck)
    tools = make(**FULL_3, self_break=False).legal_factors(state).tools
    assert np.asarray(tools[0, 0]).tolist() == [False, True, True]
    hurt = state.replace(broken=state.broken.at[1, 0].set(True))
    tools = make(**FULL_3).legal_factors(hurt).tools
    assert np.asarray(tools[0, 0]).tolist() == [True, False, True]  # at most one of each kind


def test_example_11_map():
    """SB-31: worked example 11: the looker alone sees the card; that he looked is public."""
    env = make(**FULL_3)
    state = start(env, deck=[58, 0, 1, 2, 3, 4], goals=(2, 0, 1), roles=(1, 2, 3, 0))
    assert [a for a in legal(env, state) if a < 2 * 2070] == [2740, 2744, 2748]
    state = play(env, state, [2744])
    assert env.observe(state, 0)[2400:2409].tolist() == [1, 0, 0, 0, 1, 0, 1, 0, 0]
    other = np.asarray(env.observe(state, 1))
    assert other[2400:2409].tolist() == [1, 0, 0] * 3
    np.testing.assert_allclose(other[2442:2456], [0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0.1, 0])


def test_example_12_observation_rows():
    """Section 12 and worked example 12: start, straight, face-down goal, turned stone, dead end in the hand."""
    env = make(**PATHS_1)
    state = start(env, deck=[18, 36, 0])
    rows = np.asarray(env.observe(play(env, state, [2114]), 0)).reshape(106, 22)
    assert rows[0].tolist() == [0, 0, *[0, 1, 0] * 4, 1, 1, 1, 1, 1, 1, 0, 1]
    assert rows[1].tolist() == [1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert rows[2].tolist() == [8, -2, *[0] * 18, 1, 0]
    assert rows[100].tolist() == [0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, *[0] * 8]
    corridor = start(env, deck=[0, 18, 19, 20, 21, 10, 11, 12, 1])
    corridor = play(env, corridor, [2026, 2116, 2206, 2296, 2386, 2476, 2566, 2656, 2746])
    rows = np.asarray(env.observe(corridor, 0)).reshape(106, 22)
    stone = [8, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert stone in rows.tolist()


def test_a_full_board_has_44_rows():
    """Section 12: start, goals and all 40 path cards."""
    env = make(**PATHS_1)
    laid = env.cells.cells_at([(column, 3) for column in range(40)]) | env.cells.start
    state = start(env).replace(open=jnp.stack([jnp.asarray(laid)] * 4))
    rows = np.asarray(env.view(state, 0).board)
    assert rows[:44, 2:].any(-1).all()
    assert not rows[44:].any()
    assert sorted(rows[:44, :2].tolist()) == rows[:44, :2].tolist()


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ((0, 0.0, 0.0, 0), 1934),
        ((5, 10.0, 0.0, 0), 22722),
        ((5, 10.0, 0.0, 1), 22815),
        ((0, 0.49, 0.5, 0), 2026),
        ((0, 0.5, 0.5, 0), 2026),
        ((6, 3.3, -2.0, 1), 24840),
        ((0, float("nan"), 0.0, 0), 1934),
        ((-3, 99.0, 0.0, 0), 2114),  # no such slot: the first one; beyond +-10 is clipped
        ((0, 0.008, 0.0, 0), 2114),  # 64 x is rounded, not cut off: nearest to (1,0)
        ((0, 0.5 / 64, 0.0, 0), 1934),  # a half goes to the even number, here 0: the four cells tie
        ((7, 0.0, 0.0, 0), 1934),  # only 6 is the skip
        ((5, 10.0, 0.0, 2), 22815),  # any orientation but 0 is 1
    ],
)
def test_example_13_snap(wish, expected):
    """SB-51: worked example 13."""
    env = make(**PATHS_2)
    assert int(snap_first(env, start(env), wish)) == expected


@functools.partial(jax.jit, static_argnums=0)
def snap_first(env, state, wish):
    return env.snap(state, wish)


@pytest.mark.parametrize(
    ("options", "penalty"),
    [
        (PATHS_2, 20),
        ({"num_players": 3, "rounds": 3}, 18),
        ({"num_players": 3, "reward": "team"}, 3),
        ({"num_players": 3, "reward": "win"}, 1),
    ],
)
def test_example_14_sb_48_penalties(options, penalty):
    """SB-48: worked example 14."""
    assert make(**options).illegal_penalty == penalty


def test_example_14_sb_48_an_illegal_action_ends_the_game():
    """SB-48, SB-49: the state otherwise stays as it is."""
    env = make(**PATHS_2)
    state = start(env)
    after = jitted(env)[0](state, jnp.int32(0))
    assert after.rewards.tolist() == [-20, 0]
    assert bool(after.terminated)
    assert int(after.current_player) == 0
    np.testing.assert_array_equal(after.hand, state.hand)
    for beyond in (-1, env.num_actions):  # the neighbours of these ids are legal
        assert not env.is_legal(state, beyond)


# Card id, x, y, orientation: left-right cards, the straight between two stones, then columns of two cards each.
FARTHEST = [
    *((card, x, 0, 0) for x, card in enumerate([18, 19, 20, 21, 0, 1, 2], start=1)),
    (15, 8, 1, 0),
    *((card, x, 2, 0) for x, card in enumerate([3, 4, 10, 11, 12, 13, 14], start=9)),
    *((26, 16, 2, 0), (27, 16, 3, 1), (28, 17, 3, 0), (29, 17, 4, 1), (30, 18, 4, 0), (5, 18, 5, 0)),
    *((22, 19, 5, 1), (23, 19, 4, 0), (24, 20, 4, 1), (25, 20, 3, 0), (6, 21, 3, 1), (7, 21, 2, 0)),
    *((8, 22, 2, 1), (9, 22, 1, 0)),
]


def test_example_15_farthest_cells():
    """SB-8: worked example 15: the path reaches x = 22, and a dead end then fits on x = 23."""
    env = make(**PATHS_1)
    dead_end = (39, 23, 1, 1)
    state = start(env, deck=[card for card, *_ in [*FARTHEST, dead_end]])
    state = play(env, state, [action(0, x, y, orientation) for _, x, y, orientation in FARTHEST])
    assert max(joined(env, state)) == (22, 2)
    assert (23, 1) in frontier(env, state)
    state = play(env, state, [action(0, *dead_end[1:])])
    assert (23, 1) in places(env, mine.face_up_cells(state))


@pytest.mark.parametrize(
    ("roles", "finder", "drawn", "broken", "expected"),
    [
        # Values of the pile: 3 1 2 | 3 3 3 | ones. The finder first, then falling seats.
        ([1, 0, 0], 0, 0, [], [0, 2, 4]),
        ([0, 0, 0], 1, 0, [], [2, 3, 1]),
        ([0, 0, 0], 0, 3, [], [3, 3, 3]),
        ([0, 0, 0], 0, 6, [], [1, 1, 1]),
        ([0, 0, 1], 1, 0, [], [2, 4, 0]),
        ([0, 0, 0], 1, 0, [0], [0, 4, 2]),  # SB-38: a sabotaged miner gets nothing
        ([1, 0, 0], 0, 0, [1, 2], [0, 0, 0]),  # SB-38: nobody eligible
    ],
)
def test_sb_34_sb_38_sharing_the_gold(roles, finder, drawn, broken, expected):
    """SB-34, SB-38: sorted values go counter-clockwise among the eligible miners."""
    env = make(**FULL_3, sabotaged_get_gold=False)
    state = start(env, nuggets=(24, 0, 16, 27, 25, 26))
    state = state.replace(
        current_player=jnp.int8(finder),
        gold_drawn=jnp.int8(drawn),
        broken=state.broken.at[np.array(broken, int), 1].set(True),
    )
    shares, num_drawn = gold.miner_shares(env, state, jnp.array(roles, bool))
    assert shares.tolist() == expected
    assert int(num_drawn) == (3 if any(expected) else 0)


def test_sb_34_ten_players_draw_nine_cards():
    """SB-34: nine cards for ten players, so the last miner may go without."""
    env = make(num_players=10, rounds=1)
    state = start(env)
    shares, num_drawn = gold.miner_shares(env, state, jnp.zeros(10, bool))
    assert int(num_drawn) == 9
    assert shares.tolist() == [1, 0, 1, 1, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(("saboteurs", "each"), [(0, 0), (1, 4), (2, 3), (3, 3), (4, 2)])
def test_sb_35_saboteur_pay(saboteurs, each):
    """SB-35: the pile is not touched."""
    env = make(num_players=10, rounds=1)
    state = start(env)
    roles = jnp.arange(11) < saboteurs
    state = gold.settle(env, state.replace(roles=roles[None]), jnp.bool_(False), when=jnp.bool_(True))
    assert state.nuggets.tolist() == [each] * saboteurs + [0] * (10 - saboteurs)
    assert int(state.gold_drawn) == 0


@pytest.mark.parametrize(
    ("nuggets", "paid"), [([3, 5, 5], [-1, 1, 1]), ([2, 2, 2], [0, 0, 0]), ([1, 0, 0], [1, -1, -1])]
)
def test_sb_46_win(nuggets, paid):
    """SB-37, SB-46: ties share the win; all tied pays nothing."""
    env = make(**FULL_3, reward="win")
    state = start(env)
    over = state.replace(nuggets=jnp.array(nuggets, jnp.int8), terminated=jnp.bool_(True))
    assert payment(env, state, jnp.int32(0), over).tolist() == paid
    running = over.replace(terminated=jnp.bool_(False))
    assert payment(env, state, jnp.int32(0), running).tolist() == [0, 0, 0]


def test_sb_45_team_pays_by_the_role_of_the_round_that_ended():
    """SB-36, SB-45: the next round, with other roles, has begun in the same step."""
    env = make(**FULL_3_TWO)
    chance = deal(env, deck=DIGGERS, goals=(1, 0, 2), roles=(0, 1, 2, 3))
    chance["rounds"][1] = {**chance["rounds"][1], "roles": [1, 2, 0, 3]}
    before = play(env, env.init(jax.random.key(0), deal=chance), STRAIGHT_ON[:-1])
    after = play(env, before, STRAIGHT_ON[-1:])
    team = make(**FULL_3_TWO, reward="team")
    assert payment(team, before, jnp.int32(0), after).tolist() == [-1, 1, 1]
    assert payment(team, after, jnp.int32(0), after).tolist() == [0, 0, 0]


def test_sb_43_distance_to_face_down_goals():
    """SB-43: turned goals do not count; a sealed mine has distance 0, and sealing it pays."""
    env = make(**PATHS_1)
    state = start(env, deck=[0, 18, 19, 20, 21, 10, 11, 12, 1])
    state = play(env, state, [2026, 2116, 2206, 2296, 2386, 2476, 2566, 2656, 2746])
    assert int(digging_distance(env, state)) == 3  # from (7,0) to (8,-2)
    dead_ends = start(env, deck=[31, 39, 38, 34])
    before = play(env, dead_ends, [action(0, 1, 0), action(0, -1, 0), action(0, 0, 1)])
    sealed = play(env, before, [action(0, 0, -1)])
    assert frontier(env, sealed) == set()
    assert [int(digging_distance(env, state)) for state in (before, sealed)] == [8, 0]
    shaped = make(**PATHS_1, dist_reward_scale=1.0)
    assert payment(shaped, before, jnp.int32(0), sealed).tolist() == [8]
    last_card = sealed.replace(terminated=jnp.bool_(True))  # SB-40: all hands are empty, and nobody has found the gold
    assert payment(shaped, before, jnp.int32(0), last_card).tolist() == [0]


@pytest.mark.parametrize("winner", [10.0, 2.0])
def test_sb_43_the_step_that_turns_the_gold_pays_the_ranking_alone(winner):
    """SB-43: no distance reward on top, and nobody gets less than 1."""
    env = make(**PATHS_4)
    deck = [18, 31, 32, 33, 34, 35, 0, 36, 37, 38, 39, 30, 1, 22, 23, 24, 25, 26, 19, 27, 28, 29, 5, 6, 2, 3, 4]
    before = play(env, start(env, deck=deck, goals=(1, 0, 2)), [2114, 2204, 2294, 2384, 23174, 23264])
    after = play(env, before, [23354])
    shaped = make(**PATHS_4, dist_reward_scale=1.0, final_reward_winner=winner)
    expected = [max(1, winner - rank) for rank in (2, 3, 0, 1)]
    assert payment(shaped, before, jnp.int32(0), after).tolist() == expected


def test_sb_40_skips_end_a_paths_game():
    """SB-40, SB-41, SB-42: N skips in a row; a placement resets the count; 40 N steps at most."""
    env = make(**PATHS_2)
    assert env.max_steps == 80
    state = play(env, start(env), [24840, 1934, 24840])
    assert not bool(state.terminated)
    state = play(env, state, [24840])
    assert bool(state.terminated)
    assert state.rewards.tolist() == [0, 0]
    assert env.scores(state).tolist() == [0, 0]


def test_sb_41_only_the_stuck_may_skip():
    """SB-41: with skip_rule="stuck" a player with a placement may not skip."""
    env = make(variant="paths", num_players=2, skip_rule="stuck")
    state = start(env)
    assert not bool(env.legal_factors(state).skip)
    assert not bool(env.is_legal(state, jnp.int32(24840)))
    empty_handed = state.replace(hand=jnp.full_like(state.hand, -1))
    assert bool(env.legal_factors(empty_handed).skip)
    assert bool(env.is_legal(empty_handed, jnp.int32(24840)))


BAD_OPTIONS = [
    ({"variant": "short"}, r"variant must be one of 'full', 'paths', got 'short'"),
    ({"num_players": 2}, r"num_players must be in 3\.\.10, got 2"),
    ({"num_players": 11}, r"num_players must be in 3\.\.10, got 11"),
    ({"variant": "paths", "num_players": 7}, r"num_players must be in 1\.\.6, got 7"),
    ({"variant": "paths", "num_players": 0}, r"num_players must be in 1\.\.6, got 0"),
    ({"hand_size": 5}, r"hand_size must be in 6\.\.6, got 5"),
    ({"variant": "paths", "hand_size": 7}, r"hand_size must be in 1\.\.6, got 7"),
    ({"deck": "printed"}, r"deck must be one of 'official', 'seed', got 'printed'"),
    ({"rounds": 4}, r"rounds must be in 1\.\.3, got 4"),
    ({"variant": "paths", "rounds": 2}, r"rounds must be in 1\.\.1, got 2"),
    ({"grid": "huge"}, r"grid must be one of 'exact', 'seed', got 'huge'"),
    ({"goal_x": 1}, r"goal_x must be in 2\.\.8, got 1"),
    ({"reward": "seed"}, r"reward must be one of 'gold', 'team', 'win', got 'seed'"),
    ({"variant": "paths", "reward": "gold"}, r"reward must be one of 'seed', got 'gold'"),
    ({"final_reward_winner": 0}, r"final_reward_winner must be a finite number in 1\.\.inf, got 0"),
    ({"dist_reward_scale": float("nan")}, r"dist_reward_scale must be a finite number .*, got nan"),
    ({"rank_from": "start"}, r"rank_from must be one of 'finisher', 'seat', got 'start'"),
    ({"skip_rule": "never"}, r"skip_rule must be one of 'always', 'stuck', got 'never'"),
    ({"self_break": 1}, r"self_break must be True or False, got 1"),
    ({"sabotaged_get_gold": None}, r"sabotaged_get_gold must be True or False, got None"),
    ({"dead_end_obs": "none"}, r"dead_end_obs must be one of 'own', 'path', got 'none'"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_bad_options_are_refused(options, message):
    """Section 1: the message names the game, the option, its range and the value."""
    with pytest.raises(ValueError, match=f"saboteur: {message}"):
        jaxgames.make("saboteur", **options)


def test_defaults_depend_on_the_variant():
    """Section 1: None is the default of the variant and the number of players; `rules` has the value in force."""
    env = make()
    assert (env.num_players, env.rules) == (5, (6, "official", 3, "gold"))
    same = jaxgames.make("saboteur", num_players=5, hand_size=6, deck="official", rounds=3, reward="gold")
    assert (env, hash(env)) == (same, hash(same))
    assert jaxgames.make("saboteur", **env.options) == env
    paths = make(variant="paths")
    assert (paths.num_players, paths.rules) == (4, (6, "seed", 1, "seed"))
    assert paths.observation_versions == paths.honest_versions == ("seed",)


def test_options_can_be_replaced():
    """Section 1, SB-13: what depends on the variant and the number of players follows them, unless it was given."""
    env = make()
    assert dataclasses.replace(env, num_players=7) == make(num_players=7)
    assert dataclasses.replace(env, num_players=7).options["hand_size"] == 5
    assert dataclasses.replace(env, variant="paths") == make(variant="paths", num_players=5)
    assert dataclasses.replace(make(variant="paths"), variant="full") == make(num_players=4)
    assert dataclasses.replace(make(deck="seed"), num_players=3).rules.deck == "seed"
    with pytest.raises(ValueError, match=r"saboteur: hand_size must be in 5\.\.5, got 6"):
        dataclasses.replace(make(hand_size=6), num_players=7)


def broken_deals():
    env = make(**FULL_3_TWO)
    good = deal(env)
    entry = good["rounds"][0]
    return [
        ({"rounds": good["rounds"]}, "deal must be a dict with the keys gold, rounds"),
        ({**good, "rounds": [entry]}, "deal rounds must be a list of 2 .*got 1 entries"),
        ({**good, "gold": [0] * 28}, "deal gold must be a permutation of the 28 ids 0..27"),
        (
            {**good, "rounds": [entry, {**entry, "deck": list(range(66))}]},
            r"deal rounds\[1\].deck must be a permutation",
        ),
        ({**good, "rounds": [entry, {**entry, "roles": [0, 1, 2]}]}, r"deal rounds\[1\].roles must be a permutation"),
        ({**good, "rounds": [{**entry, "goals": [0, 1, 3]}, entry]}, r"deal rounds\[0\].goals must be a permutation"),
        ({**good, "rounds": [entry, {"deck": entry["deck"]}]}, "round 1: deal must be a dict with the keys"),
    ]


@pytest.mark.parametrize(("bad", "message"), broken_deals())
def test_sb_10_bad_deals_are_refused(bad, message):
    """SB-10: a deal that is not made of the permutations is a ValueError."""
    env = make(**FULL_3_TWO)
    with pytest.raises(ValueError, match=f"saboteur.*{message}"):
        env.init(jax.random.key(0), deal=bad)


def names(env, state, actions, viewer=None):
    return [env.action_name(state, a, viewer) for a in actions]


def test_actions_in_words():
    """SB-19, SB-31: what the player says of his action, and what others may know of it."""
    env = make(**FULL_3)
    # Hand: two vertical straights, a map, a broken pickaxe, repairs of the lantern and of pickaxe or lantern.
    state = start(env, deck=[15, 16, 58, 40, 51, 55], roles=(1, 2, 3, 0))
    straight = [action(0, 0, 1), action(0, 0, 1, 1), action(1, 0, 1)]
    assert names(env, state, straight) == [
        "┃ (slot 0) at (0, 1)",
        "┃ turned (slot 0) at (0, 1)",
        "┃ (slot 1) at (0, 1)",
    ]
    assert names(env, state, straight, viewer=0) == names(env, state, straight)
    assert names(env, state, straight, viewer=1) == ["┃ at (0, 1)"] * 3  # that he holds two is his secret
    tools = [24840 + (slot * 3 + tool) * 3 + target for slot, tool, target in ((3, 0, 2), (4, 1, 0), (5, 1, 1))]
    expected = ["break:pickaxe on seat 2", "mend:lantern on seat 0", "mend:pickaxe/lantern on the lantern of seat 1"]
    for viewer in (None, 0, 1):
        assert names(env, state, tools, viewer) == expected
        assert names(env, state, [action(2, 8, 2)], viewer) == ["map at (8, 2)"]
    discards = [env.first_discard, env.first_discard + 2]
    assert names(env, state, discards) == ["discard ┃ (slot 0)", "discard map"]
    assert names(env, state, discards, viewer=2) == ["discard a card"] * 2
    assert make(**PATHS_2).action_name(start(make(**PATHS_2)), 24840) == "skip"


def test_roles_are_shown_when_the_round_is_over():
    """SB-36: all roles are revealed, also after the last round; a determinization keeps them."""
    env = make(**FULL_3)
    roles = (0, 1, 2, 3)
    state = start(env, deck=DIGGERS, goals=(1, 0, 2), roles=roles, nuggets=(24, 0, 16, 27, 25, 26))
    before, over = play(env, state, STRAIGHT_ON[:-1]), play(env, state, STRAIGHT_ON)
    assert env.render(before, player=1).count("?") == 5  # three goals, two roles
    assert "seat 0: saboteur" in env.render(over, player=1)
    world = env.determinize(jax.random.key(0), over, 1)
    assert world.roles.tolist() == over.roles.tolist()
    assert env.winners(over).tolist() == [False, False, True]
    assert not env.winners(before).any()


def test_sb_43_winners_of_paths():
    """SB-43: who reached the gold, or seat 0; equal ranks share the win; nobody without the gold."""
    env = make(**PATHS_4)
    deck = [18, 31, 32, 33, 34, 35, 0, 36, 37, 38, 39, 30, 1, 22, 23, 24, 25, 26, 19, 27, 28, 29, 5, 6, 2, 3, 4]
    state = start(env, deck=deck, goals=(1, 0, 2))
    over = play(env, state, [2114, 2204, 2294, 2384, 23174, 23264, 23354])
    assert env.winners(over).tolist() == [False, False, True, False]
    assert make(**PATHS_4, rank_from="seat").winners(over).tolist() == [True, False, False, False]
    assert make(**PATHS_4, final_reward_winner=1).winners(over).all()
    skipped = play(env, state, [24840] * 4)
    assert bool(skipped.terminated)
    assert not env.winners(skipped).any()


# -- section 17: what the bots do -------------------------------------------------------------------------------------

CROSS, STRAIGHT, UPRIGHT = 0, 4, 3  # path cards: open on all sides, left to right, top to bottom
DEAD_STRAIGHT, DEAD_CROSS = 11, 7
PICKAXE, LANTERN = 0, 1


@functools.cache
def bot(env, name):
    return jax.jit(lambda state: agents.make(name, env)(jax.random.key(0), state, state.current_player))


def with_hand(env, hand, corridor=(), gold_at=0, is_saboteur=False):
    """Seat 0 is to move and holds these card types; cards were laid from the start card to the right."""
    types = [*hand, *corridor]
    copies = [
        np.flatnonzero(cards.TYPE_OF_ID[env.rules.deck] == kind)[types[:i].count(kind)] for i, kind in enumerate(types)
    ]
    held, laid = copies[: len(hand)], copies[len(hand) :]
    rest = [i for i in range(env.num_cards) if i not in copies]
    size = env.rules.hand_size
    order = held + rest[: size - len(held)] + rest[size - len(held) :] + laid
    goals = [1, 2]
    goals.insert(gold_at, 0)
    chance = {"roles": [0] if is_saboteur else [1]} if env.variant == "full" else {}
    state = start(env, deck=order, goals=goals, **chance)
    for x, kind in enumerate(corridor, 1):
        place = jnp.int32((x + 22) * 45 + 22)
        state = mine.lay(
            env.cells, state, place, jnp.asarray(cards.OPEN[kind, 0]), jnp.bool_(kind < 7), when=jnp.bool_(True)
        )
    state = mine.join(env.cells, state, when=jnp.bool_(True))
    slots = jnp.arange(cards.MAX_HAND) < len(hand)
    return state.replace(hand=state.hand.at[0].set(jnp.where(slots, state.hand[0], cards.NO_CARD)))


def has_played(state, seat, kind, on=0):
    """A card of the pile was played by somebody."""
    spare = np.flatnonzero((np.asarray(state.deck[0]) == kind) & (np.asarray(state.played_by) < 0))[-1]
    return state.replace(played_by=state.played_by.at[spare].set(seat), played_on=state.played_on.at[spare].set(on))


def tool(env, slot, which, target):
    return env.first_tool_action + (slot * 3 + which) * env.num_players + target


def discards(env, slot):
    return env.first_discard + slot


# (hand, broken tools as (seat, tool), what others have played, cards laid to the right): the action
MINER = {
    "mends himself first": ([cards.MAP, cards.REPAIR], [(0, PICKAXE)], {}, (), lambda e: tool(e, 1, PICKAXE, 0)),
    "then looks for the gold": ([STRAIGHT, cards.MAP], [], {}, (), lambda e: action(1, 8, -2)),
    "digs where it is nearer": ([UPRIGHT, STRAIGHT], [], {}, (), lambda e: action(1, 1, 0)),
    "reaches a goal": ([UPRIGHT, CROSS], [], {}, (STRAIGHT,) * 3 + (CROSS,) * 3, lambda e: action(1, 7, 0)),
    "clears what blocks the way": ([DEAD_CROSS, cards.ROCKFALL], [], {}, (DEAD_STRAIGHT,), lambda e: action(1, 1, 0)),
    "mends whom nobody suspects": (
        [UPRIGHT, cards.REPAIR],
        [(1, PICKAXE), (2, PICKAXE)],
        {1: (cards.ROCKFALL,)},
        (),
        lambda e: tool(e, 1, PICKAXE, 2),
    ),
    "strikes at the most suspicious": (
        [UPRIGHT, cards.BROKEN],
        [],
        {1: (cards.BROKEN + LANTERN,), 2: (DEAD_CROSS, cards.ROCKFALL)},
        (),
        lambda e: tool(e, 1, PICKAXE, 2),
    ),
    "strikes at nobody else, and digs where it is no farther": (
        [cards.BROKEN, UPRIGHT],
        [],
        {1: (UPRIGHT, cards.MAP, cards.REPAIR)},
        (),
        lambda e: action(1, 0, -1),
    ),
    "throws a dead end away first": ([cards.BROKEN, DEAD_CROSS], [], {}, (), lambda e: discards(e, 1)),
}
SABOTEUR = {
    "buries as much of a long way as he can": (
        [CROSS, cards.ROCKFALL],
        [],
        {},
        (STRAIGHT,) * 3 + (CROSS,),
        lambda e: action(1, 1, 0),
    ),
    "but no short one: he strikes": (
        [cards.ROCKFALL, cards.BROKEN],
        [],
        {1: (cards.ROCKFALL,)},
        (STRAIGHT,) * 2,
        lambda e: tool(e, 1, PICKAXE, 2),
    ),
    "at whoever is whole": (
        [CROSS, cards.BROKEN],
        [(2, LANTERN)],
        {1: (DEAD_CROSS,)},
        (),
        lambda e: tool(e, 1, PICKAXE, 1),
    ),
    "leads a long way astray": (
        [STRAIGHT, DEAD_STRAIGHT],
        [],
        {},
        (STRAIGHT, CROSS, STRAIGHT),
        lambda e: action(1, 4, 0),
    ),
    "but no short one: he looks for the gold": (
        [DEAD_STRAIGHT, cards.REPAIR, cards.MAP],
        [(0, PICKAXE)],
        {},
        (),
        lambda e: action(2, 8, -2),
    ),
    "mends himself": ([DEAD_STRAIGHT, cards.REPAIR], [(0, PICKAXE)], {}, (), lambda e: tool(e, 1, PICKAXE, 0)),
    "throws connected cards away first": ([DEAD_STRAIGHT, STRAIGHT], [], {}, (), lambda e: discards(e, 1)),
}
WISHES = {("miner", name): case for name, case in MINER.items()}
WISHES |= {("saboteur", name): case for name, case in SABOTEUR.items()}


@pytest.mark.parametrize(("role", "name"), WISHES)
def test_section_17_role_greedy_does_the_first_thing_on_its_list(role, name):
    env = make(**FULL_3)
    hand, broken, played, corridor, wish = WISHES[role, name]
    state = with_hand(env, hand, corridor, is_saboteur=role == "saboteur")
    for seat, which in broken:
        state = state.replace(broken=state.broken.at[seat, which].set(True))
    for seat, kinds in played.items():
        for kind in kinds:
            state = has_played(state, seat, kind)
    assert int(bot(env, "role_greedy")(state)) == wish(env)


def test_section_17_who_has_found_the_gold_digs_there_and_looks_no_more():
    env = make(**FULL_3)
    state = with_hand(env, [cards.MAP, UPRIGHT, STRAIGHT], gold_at=2)
    assert int(bot(env, "role_greedy")(state)) == action(0, 8, -2)
    assert int(bot(env, "role_greedy")(has_played(state, 1, cards.MAP, on=0))) == action(0, 8, -2)
    assert int(bot(env, "role_greedy")(has_played(state, 0, cards.MAP, on=0))) == action(0, 8, 0)  # a stone
    knows = has_played(state, 0, cards.MAP, on=2)
    assert int(bot(env, "role_greedy")(knows)) == action(1, 0, 1)  # towards (8, 2), as near as over (1, 0)


@pytest.mark.parametrize(
    ("name", "hand", "corridor", "expected"),
    [
        ("rule_based", [UPRIGHT, STRAIGHT], (), action(1, 1, 0)),
        ("rule_based", [DEAD_STRAIGHT, STRAIGHT], (), action(0, 1, 0)),  # equal: the first slot
        ("rule_based", [DEAD_CROSS, CROSS], (STRAIGHT,) * 3 + (CROSS,) * 3, action(1, 7, 0)),
        ("rule_based", [1], (), action(0, 0, -1)),  # closed on the left
        ("rule_based_rot", [1], (), action(0, 1, 0, 1)),
    ],
)
def test_section_17_rule_based_lays_the_card_that_comes_nearest(name, hand, corridor, expected):
    env = make(**PATHS_2)
    assert int(bot(env, name)(with_hand(env, hand, corridor))) == expected


def test_every_rule_of_the_page_is_tested():
    tests = pathlib.Path(__file__).parent.glob("test_saboteur_*.py")
    assert rule_numbers("saboteur") <= set().union(*(cited_rules(path) for path in tests))
