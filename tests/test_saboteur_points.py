"""Points and choices: the legal actions in a compact form, and what a pointing policy sees."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from agents import networks
from agents.networks import pointer
from agents.networks.model import likeliest_choice
from agents.networks.policies import categorical
from jaxgames.saboteur import observe, points
from jaxgames.saboteur.cards import BOTTOM, LEFT, NUM_PATHS, OPEN, RIGHT, TOP
from jaxgames.saboteur.rules import decode, held
from tests.test_saboteur_rules import action, deal, frontier, play

SIZES = [{"num_players": 3}, {"num_players": 10, "rounds": 1}, {"variant": "paths", "num_players": 2, "goal_x": 3}]
COUNT = 48


@functools.cache
def make(**options):
    return jaxgames.make("saboteur", **options)


@functools.partial(jax.jit, static_argnums=0)
def find(env, state, player):
    return points.find_points(env, state, player)


@functools.cache
def digging_states(env):
    """Running games after different numbers of moves, in which most cards are laid rather than discarded."""

    def game(key, stop):
        deal_key, play_key = jax.random.split(key)

        def turn(state, x):
            i, (word, other) = x
            seen = points.find_points(env, state, state.current_player)
            legal = points.legal_choices(env, state, seen)
            on_board = legal & (jnp.arange(len(legal)) < 12 * points.num_points(env))
            wanted = jnp.where(on_board.any() & (other % 4 > 0), on_board, legal)
            choice = jaxgames.cards.choose(wanted, word)
            following = env.step(state, points.action_of(env, seen, choice))
            return jaxgames.pick((i < stop) & ~following.done, following, state), None

        words = jax.random.bits(play_key, (env.max_steps, 2), jnp.uint32)
        return jax.lax.scan(turn, env.init(deal_key), (jnp.arange(env.max_steps), words))[0]

    stops = np.arange(COUNT) * env.max_steps // COUNT
    return jax.jit(jax.vmap(game))(jax.random.split(jax.random.key(0), COUNT), stops)


@functools.cache
def jitted(env):
    @jax.jit
    @jax.vmap
    def answers(state):
        seen = points.find_points(env, state, state.current_player)
        legal = points.legal_choices(env, state, seen)
        actions = jax.vmap(lambda choice: points.action_of(env, seen, choice))(jnp.arange(points.num_choices(env)))
        back = jax.vmap(lambda action: points.choice_of(env, seen, action))(actions)
        return legal, actions, back, env.legal_action_mask(state)

    return answers


@pytest.mark.parametrize("options", SIZES, ids=str)
def test_choices_stand_for_exactly_the_legal_actions(options):
    """SB-20: the set of actions, one choice for each, and back again; after the end every choice is open."""
    env = make(**options)
    states = digging_states(env)
    legal, actions, back, masks = jax.device_get(jitted(env)(states))
    for i in range(COUNT):
        assert sorted(actions[i, legal[i]]) == np.flatnonzero(masks[i]).tolist()
        assert back[i, legal[i]].tolist() == np.flatnonzero(legal[i]).tolist()
    over = jitted(env)(states.replace(terminated=jnp.ones(COUNT, bool)))
    assert over[0].all()
    for always in (actions, np.asarray(over[1])):
        assert ((always >= 0) & (always < env.num_actions)).all()
    assert ((back >= 0) & (back < points.num_choices(env))).all()


@pytest.mark.parametrize("options", SIZES, ids=str)
def test_points_show_nothing_hidden(options):
    """SB-50: the same points, cards and choices in every world that a player cannot tell from this one."""
    env = make(**options)

    def look(state, player):
        seen = points.find_points(env, state, player)
        legal = points.legal_choices(env, state, seen) & (player == state.current_player)
        return seen, points.hand_cards(env, state, player), legal

    @jax.jit
    @jax.vmap
    def differences(key, state):
        def seat(key, player):
            here, there = look(state, player), look(env.determinize(key, state, player), player)
            pairs = zip(jax.tree.leaves(here), jax.tree.leaves(there), strict=True)
            return jnp.stack([(a != b).any() for a, b in pairs])

        return jax.vmap(seat)(jax.random.split(key, env.num_players), jnp.arange(env.num_players))

    assert not np.asarray(differences(jax.random.split(jax.random.key(2), COUNT), digging_states(env))).any()


def test_sizes():
    assert points.MAX_FRONTIER == 24
    assert points.num_choices(make()) == 900
    assert points.num_choices(make(variant="paths")) == 24 * 12 + 1


# Card ids of the seed deck: forks and crossings to the left, forks upwards.
BUSHY = [
    *((card, -x, 0, 0) for x, card in enumerate([0, 1, 2, 3, 4, 10, 11, 12, 13, 14], start=1)),
    *((card, 0, -y, 0) for y, card in enumerate([5, 6, 7, 8, 9], start=1)),
]


def test_the_largest_frontier_has_24_cells():
    """The bound is reached: every crossing and fork with all its ends free."""
    env = make(variant="paths", num_players=1)
    state = env.init(jax.random.key(0), deal=deal(env, deck=[card for card, *_ in BUSHY]))
    state = play(env, state, [action(0, x, y, orientation) for _, x, y, orientation in BUSHY])
    seen = find(env, state, 0)
    assert len(frontier(env, state)) == points.MAX_FRONTIER
    assert seen.exists.all()
    assert len(set(seen.cell.tolist())) == points.MAX_FRONTIER


def point_at(env, seen, x, y):
    """The number of the point on a cell."""
    cell = (x - env.cells.xmin) * env.cells.rows + y - env.cells.ymin
    return int(np.flatnonzero(np.asarray(seen.exists & (seen.cell == cell)))[0])


PATH, OTHER_OPEN, WALL, GOAL, KNOWN_GOLD, KNOWN_STONE = range(6)


def across(seen, point):
    """What lies across the sides of a point: {(side, what)}."""
    sides, what = np.nonzero(np.asarray(seen.features)[point, 9:33].reshape(4, 6))
    return set(zip(sides.tolist(), what.tolist(), strict=True))


def test_features_of_a_position():
    """Paths and dead ends around a cell, and goals as the player knows them who looked at one, or did not."""
    env = make(num_players=3, rounds=1, goal_x=3)
    # A crossing on (1,0), a dead end on (0,1), seat 2 looks at the middle goal, another crossing on (1,-1).
    deck = [0, 19, 1, 2, 3, 4, 31, 64, 5, 6, 7, 8, 58, 9, 10, 11, 12, 13]
    state = env.init(jax.random.key(0), deal=deal(env, deck=deck, goals=(1, 0, 2), roles=(1, 2, 3, 0)))
    state = play(env, state, [action(0, 1, 0), action(0, 0, 1), action(0, 3, 0), action(1, 1, -1)])
    looker, other = (find(env, state, seat) for seat in (2, 1))

    ahead = point_at(env, looker, 2, 0)
    assert across(looker, ahead) == {(LEFT, PATH), (RIGHT, KNOWN_GOLD)}
    assert across(other, ahead) == {(LEFT, PATH), (RIGHT, GOAL)}
    corner = point_at(env, looker, 0, -1)
    assert across(looker, corner) == {(RIGHT, PATH), (BOTTOM, PATH)}
    below = point_at(env, looker, 1, 1)
    assert across(looker, below) == {(TOP, PATH), (LEFT, OTHER_OPEN)}  # a dead end is open, but leads nowhere

    dead_end = np.asarray(looker.features)[point_at(env, looker, 0, 1)]
    assert dead_end[:9].tolist() == [0, 0, 1, 1, 1, 1, 1, 0, 0]
    crossing = np.asarray(looker.features)[point_at(env, looker, 1, -1)]
    assert crossing[:9].tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 1]

    np.testing.assert_allclose(looker.features[ahead, 33:35], [0.2, 0.0], rtol=1e-6)
    goals = np.asarray(looker.features)[ahead, 35:].reshape(3, 5)
    np.testing.assert_allclose(goals[:, :3], [[0.1, -0.2, 0.3], [0.1, 0, 0.1], [0.1, 0.2, 0.3]], rtol=1e-6)
    assert goals[:, 3:].tolist() == [[0, 1], [1, 1], [0, 1]]
    np.testing.assert_allclose(other.features[ahead, 35:].reshape(3, 5)[:, 3], [1 / 3] * 3, rtol=1e-6)
    assert looker.features.shape == (points.num_points(env), points.NUM_POINT_FEATURES)


def test_walls_and_turned_stones_in_the_features():
    """A wall across a side, and a goal that lies face up is no longer a goal but a card."""
    env = make(num_players=3, rounds=1, goal_x=2)
    # A crossing on (1,0) turns the middle goal, a stone with open bottom and left sides.
    deck = [0, 1, 2, 3, 4, 31]
    state = env.init(jax.random.key(0), deal=deal(env, deck=deck, goals=(0, 1, 2), roles=(1, 2, 3, 0)))
    state = play(env, state, [action(0, 1, 0)])
    seen = find(env, state, 1)
    beneath = point_at(env, seen, 2, 1)
    assert across(seen, beneath) == {(TOP, PATH), (BOTTOM, GOAL)}
    assert not seen.exists[points.MAX_FRONTIER + 1]
    goals = np.asarray(seen.features)[beneath, 35:].reshape(3, 5)
    assert goals[:, 3:].tolist() == [[0.5, 1], [0, 0], [0.5, 1]]
    # A vertical straight below the crossing shows its side, a wall, to the cell at its right.
    state = env.init(
        jax.random.key(0), deal=deal(env, deck=[0, 1, 2, 3, 4, 31, 15], goals=(0, 1, 2), roles=(1, 2, 3, 0))
    )
    state = play(env, state, [action(0, 1, 0), action(0, 1, 1)])
    seen = find(env, state, 1)
    assert across(seen, point_at(env, seen, 2, 1)) == {(TOP, PATH), (LEFT, WALL), (BOTTOM, GOAL)}


def test_cards_of_the_hand():
    """Open sides as the card would lie; action cards upright alone; empty slots are zeros."""
    env = make(num_players=10, rounds=1)
    state = env.init(jax.random.key(0), deal=deal(env, deck=[5, 32, 58, 66]))  # T R B, dead end R B L, map, rockfall
    cards = np.asarray(points.hand_cards(env, state, jnp.int32(0)))
    assert cards.shape == (6, 2, points.NUM_CARD_FEATURES)
    assert cards[0, :, :6].tolist() == [[1, 1, 1, 0, 1, 1], [1, 0, 1, 1, 1, 1]]
    assert cards[1, :, :6].tolist() == [[0, 1, 1, 1, 0, 1], [1, 1, 0, 1, 0, 1]]
    assert np.flatnonzero(cards[2, 0]).tolist() == [6 + 9]
    assert np.flatnonzero(cards[3, 0]).tolist() == [6 + 10]
    assert not cards[2:4, 1].any()
    assert not cards[4:].any()


@functools.partial(jax.jit, static_argnums=0)
def told_to_a_network(env, state, seat):
    return pointer.player_facts(env, state, seat), pointer.facts(env, state, seat)


def test_what_players_did_to_each_others_tools():
    """Seat 0 breaks two tools of seat 1, which mends one of them; in thirds, by whom and on whom, from either seat."""
    env = make(num_players=3, rounds=1)
    deck = [40, 43, 0, 1, 2, 3, 55, 4, 5, 6, 7, 8, 51, 9, 10, 11, 12, 13]
    state = env.init(jax.random.key(0), deal=deal(env, deck=deck, roles=(1, 2, 3, 0)))
    state = play(env, state, [24841, 24895, 24895, 24844, 24843])
    # Of each player, the observer first: done to it by the observer, by it to the observer, to it, by it.
    broken = {0: [[0, 0, 0, 2], [2, 0, 2, 0], [0, 0, 0, 0]], 1: [[0, 0, 2, 0], [0, 0, 0, 0], [0, 2, 0, 2]]}
    mended = {0: [[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]], 1: [[1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]}
    for seat in (0, 1):
        players, facts = map(np.asarray, told_to_a_network(env, state, seat))
        np.testing.assert_allclose(players[:, 14:18], np.array(broken[seat]) / 3, rtol=1e-6)
        np.testing.assert_allclose(players[:, 18:22], np.array(mended[seat]) / 3, rtol=1e-6)
        assert facts[0] == pytest.approx((env.num_cards - 18 - 5) / env.num_cards)  # three hands, five cards drawn
        assert facts[1] == 0


def test_a_network_is_told_of_the_gold_that_its_player_has_seen():
    """Seat 2 has looked at the middle goal, which is the gold; it is the saboteur."""
    env = make(num_players=3, rounds=1, goal_x=3)
    deck = [0, 19, 1, 2, 3, 4, 31, 64, 5, 6, 7, 8, 58, 9, 10, 11, 12, 13]
    state = env.init(jax.random.key(0), deal=deal(env, deck=deck, goals=(1, 0, 2), roles=(1, 2, 0, 3)))
    state = play(env, state, [action(0, 1, 0), action(0, 0, 1), action(0, 3, 0)])
    known = slice(3 + observe.MAX_ROUNDS, 9 + observe.MAX_ROUNDS)
    for seat, is_saboteur, seen in ((1, 0, [0, 0, 0, 0, 0, 0]), (2, 1, [0, 1, 0, 0, 1, 0])):
        facts = np.asarray(told_to_a_network(env, state, seat)[1])
        assert (facts[2], facts[known].tolist()) == (is_saboteur, seen)


def test_choices_that_do_the_same_are_one():
    """SB-20: equal cards in different slots, and a card that looks alike both ways; the first stands for all."""
    for options in (SIZES[0], SIZES[2]):
        env = make(**options)
        states = digging_states(env)
        legal, actions, _, _ = jax.device_get(jitted(env)(states))
        merged = jax.jit(jax.vmap(lambda state, legal, env=env: points.merged(env, state, legal.astype(jnp.float32))))
        found = np.asarray(merged(states, legal))
        kinds = np.asarray(jax.vmap(lambda state: held(state, state.current_player))(states))
        for i in range(COUNT):
            expected = {}
            for choice in np.flatnonzero(legal[i]):
                expected.setdefault(effect(env, kinds[i], int(actions[i, choice])), [int(choice), 0])[1] += 1
            assert dict(expected.values()) == {int(c): found[i, c] for c in np.flatnonzero(found[i])}


def test_the_likeliest_choice_counts_what_does_the_same_together():
    """Two copies of a card at 1 each are likelier than another card at 1.5, which is the likeliest single choice."""
    env = make(**SIZES[0])
    model = networks.make("pointer", env, width=8)

    @jax.jit
    @jax.vmap
    def both(state, legal):
        alone = jnp.argmax(points.merged(env, state, legal.astype(jnp.float32)) == 1)
        policy = categorical(jnp.log(jnp.where(jnp.arange(len(legal)) == alone, 1.5, 1.0)), legal)
        return alone, policy.mode(), likeliest_choice(model, state, policy), points.merged(env, state, policy.widths)

    states = digging_states(env)
    alone, mode, chosen, weights = jax.device_get(both(states, jitted(env)(states)[0]))
    has_copies = weights.max(-1) > 1.1
    assert has_copies.sum() > COUNT / 2
    for i in np.flatnonzero(has_copies & (weights[np.arange(COUNT), alone] == 1)):
        assert mode[i] == alone[i]
        assert chosen[i] == np.argmax(weights[i]) != alone[i]


def effect(env, kinds, action):
    """What an action does, whichever copy of a card does it."""
    move = jax.tree.map(int, decode(env, action))
    if move.skips:
        return "skip"
    kind = int(kinds[move.slot])
    if move.on_board:
        shown = tuple(OPEN[kind][move.orientation]) if kind < NUM_PATHS else ()
        return kind, move.cell, shown
    return (kind, "discard") if move.discards else (kind, move.tool, move.target)
