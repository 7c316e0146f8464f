"""What every game promises (docs/contract.md), one test for all games and for the sixth, which is a template.

The whole file runs under the strict modes of JAX that researchers switch on: here under the two that only look and
change no program, and once more with wide numbers, which change every program: tests/test_strict_x64.py.
"""

import collections
import dataclasses
import functools
import inspect
import json
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.env import Rooms
from tests.sixth_game import KuhnEnv
from tests.support import assert_same_dtypes_under_x64, random_states

# What is asked of both widths at once, or asks of a game what other tests here ask with wide numbers as well.
once = pytest.mark.skipif(jax.config.jax_enable_x64, reason="asked with narrow numbers")
NUM_STATES = 96
GAMES = (*jaxgames.games(), "kuhn")


@pytest.fixture(scope="module", autouse=True)
def stop_at_nan_and_use_keys_once():
    with jax.debug_nans(True), jax.debug_key_reuse(True):
        yield


@pytest.fixture(scope="module", params=GAMES)
def env(request):
    return make(request.param)


def make(game, **options):
    return KuhnEnv(**options) if game == "kuhn" else jaxgames.make(game, **options)


@pytest.fixture(scope="module")
def states(env):
    """Running games, after different numbers of random moves."""
    return jax.device_get(random_states(env, jax.random.key(3), NUM_STATES, min(env.max_steps, 320)))


TRACES = collections.Counter()  # {(env, function): how often it was traced}


@functools.cache
def jitted(env):
    """`init`, `step` and `legal_action_mask`, compiled once for all tests of a game."""
    return tuple(jax.jit(counted(env, function)) for function in (env.init, env.step, env.legal_action_mask))


def counted(env, function):
    @functools.wraps(function)
    def traced(*args):
        TRACES[env, function.__name__] += 1
        return function(*args)

    return traced


# -- shapes and types ------------------------------------------------------------------------------------------------


def test_states_have_one_tree_however_they_were_made(env):
    """From a key, from a deal, from a deal that was written down, by a step, by a determinization."""
    key = jax.random.key(0)
    first, deal = jax.eval_shape(env.init, key), env.deal(jax.random.key(1))
    same = functools.partial(chex.assert_trees_all_equal_shapes_and_dtypes, first)
    same(jax.eval_shape(env.step, first, jnp.int32(0)))
    same(jax.eval_shape(env.determinize, key, first, jnp.int32(0)))
    for given in (deal, written_down(deal)):
        made = jax.eval_shape(lambda given=given: env.init(key, deal=given))
        same(made)
        assert jax.tree.structure(first) == jax.tree.structure(made)


def written_down(deal):
    """A deal as a file of text gives it back."""
    return json.loads(json.dumps(deal, default=lambda leaf: np.asarray(leaf).tolist()))


def test_shared_fields_have_their_types(env):
    state = jax.eval_shape(env.init, jax.random.key(0))
    assert (state.current_player.shape, state.current_player.dtype) == ((), jnp.int8)
    assert (state.rewards.shape, state.rewards.dtype) == ((env.num_players,), jnp.float32)
    assert (state.terminated.shape, state.terminated.dtype) == ((), jnp.bool_)
    assert (state.truncated.shape, state.truncated.dtype) == ((), jnp.bool_)
    assert (state.step_count.shape, state.step_count.dtype) == ((), jnp.int32)
    mask = jax.eval_shape(env.legal_action_mask, state)
    assert (mask.shape, mask.dtype) == ((env.num_actions,), jnp.bool_)
    winners = jax.eval_shape(env.winners, state)
    assert (winners.shape, winners.dtype) == ((env.num_players,), jnp.bool_)
    assert jax.eval_shape(env.scores, state).shape == (env.num_players,)
    assert jax.eval_shape(env.random_action, state, jnp.uint32(0)).dtype == jnp.int32


@once
def test_no_dtype_depends_on_x64(env):
    """A scan whose carry became int64 there once raised in `determinize`."""

    def ask(key):
        deal_key, world_key = jax.random.split(key)
        state = env.init(deal_key)
        views = [env.view(state, 1, version) for version in env.observation_versions]
        world, after = env.determinize(world_key, state, 1), env.step(state, 0)
        return state, after, world, views, env.legal_action_mask(state), env.scores(state), env.winners(state)

    assert_same_dtypes_under_x64(ask, jax.random.key(0))


# -- options ---------------------------------------------------------------------------------------------------------


def test_an_env_is_a_static_argument(env):
    again = make(env.id)
    assert again == env
    assert hash(again) == hash(env)
    with pytest.raises(AttributeError):
        env.num_players = 3


def test_options_in_force_make_the_same_env(env):
    spelled_out = make(env.id, **env.options)
    assert spelled_out == env
    assert hash(spelled_out) == hash(env)
    assert dataclasses.replace(env) == env
    assert env != "an env"


def test_options_may_be_of_numpy_and_are_kept_as_plain_values(env):
    """A count of eight bits would overflow in the sizes that follow from it, and no manifest could be written."""
    narrow = {name: np.min_scalar_type(value).type(value) for name, value in env.options.items() if np.isscalar(value)}
    same = make(env.id, **env.options | narrow)
    assert same == env
    assert json.dumps(same.options) == json.dumps(env.options)


def test_unknown_names_are_refused(env):
    with pytest.raises(ValueError, match=r"unknown game 'poker'.*skullking"):
        jaxgames.make("poker")
    if env.id in jaxgames.games():
        with pytest.raises(ValueError, match=rf"{env.id}: unknown option 'colour'.*num_players"):
            jaxgames.make(env.id, colour="red")
    state = jax.eval_shape(env.init, jax.random.key(0))
    with pytest.raises(ValueError, match=f"{env.id}: observation version must be one of .*'nonsense'"):
        jax.eval_shape(lambda s: env.observe(s, 0, "nonsense"), state)
    with pytest.raises(ValueError, match=f"{env.id}: observation version must be one of .*'nonsense'"):
        env.layout("nonsense")


# -- seats -----------------------------------------------------------------------------------------------------------

BAD_SEATS = [99, -1, np.int64(99), np.int8(-1), jnp.int32(99), np.uint8(200), 1.0, True, "0", np.array([0])]


@pytest.mark.parametrize("seat", BAD_SEATS, ids=repr)
def test_a_bad_seat_is_refused_wherever_it_is_named(env, seat):
    state, key = jitted(env)[0](jax.random.key(1)), jax.random.key(0)
    for call in (
        lambda: env.observe(state, seat),
        lambda: env.view(state, seat),
        lambda: env.determinize(key, state, seat),
        lambda: env.render(state, seat),
        lambda: env.picture(state, seat),
        lambda: env.action_name(state, 0, seat),
    ):
        with pytest.raises(ValueError, match=f"{env.id}: player must be an integer in 0..{env.num_players - 1}, got"):
            call()


def test_any_integer_names_a_seat(env):
    """Cast once for all functions (the test above knows that they all ask), to one type: nothing is compiled again."""
    state = jax.device_get(jitted(env)[0](jax.random.key(1)))
    for kind in (int, np.int8, np.uint8, np.int64, jnp.int8, jnp.uint32):
        seat = env._seat(kind(1))
        assert (int(seat), seat.dtype, seat.shape) == (1, jnp.int32, ())
        assert jax.eval_shape(env._seat, kind(1)).dtype == jnp.int32
        assert env.render(state, kind(1)) == env.render(state, 1)


# -- chance ----------------------------------------------------------------------------------------------------------


def test_a_deal_is_all_the_chance_of_a_game(env):
    """`init(key)` plays `deal(key)`, also after the deal was written down; what follows is the same game."""
    init, step, mask = jitted(env)
    deal, unused = env.deal(jax.random.key(11)), jax.random.key(12)
    games = [init(jax.random.key(11)), env.init(unused, deal=deal), env.init(unused, deal=written_down(deal))]
    for _ in range(12):
        chex.assert_trees_all_equal(games[0], games[1])
        chex.assert_trees_all_equal(games[0], games[2])
        action = np.flatnonzero(np.asarray(mask(games[0])))[-1]
        games = [step(game, action) for game in games]


@pytest.mark.parametrize("deal", [None, 7, [], {}, {"cards": [1, 2, 3]}, "deck"], ids=repr)
def test_a_deal_that_is_none_is_refused_in_a_sentence(env, deal):
    if deal is None:
        deal = dict.fromkeys(env.deal(jax.random.key(0)), 5)
    with pytest.raises(ValueError, match=f"^{env.id}.*deal"):
        env.init(jax.random.key(0), deal=deal)


def test_same_key_same_game_and_other_key_other_game(env):
    init = jitted(env)[0]
    chex.assert_trees_all_equal(init(jax.random.key(7)), init(jax.random.key(7)))
    one, other = jax.tree.leaves(init(jax.random.key(7))), jax.tree.leaves(init(jax.random.key(8)))
    assert any((np.asarray(a) != np.asarray(b)).any() for a, b in zip(one, other, strict=True))


# -- play ------------------------------------------------------------------------------------------------------------


def test_nothing_recompiles_over_a_whole_game(env):
    """Each function is traced once at most, and so never again: other tests may have asked for the same already."""
    before, (init, step, mask) = TRACES.copy(), jitted(env)
    state, rng, steps = init(jax.random.key(5)), np.random.default_rng(0), 0
    while not bool(state.done) and steps < 400:
        legal = np.flatnonzero(np.asarray(mask(state)))
        state, steps = step(state, np.int32(rng.choice(legal))), steps + 1
    assert steps <= env.max_steps
    assert int(state.step_count) == steps
    assert max((TRACES - before).values(), default=0) <= 1
    assert all(TRACES[env, name] > 0 for name in ("init", "step", "legal_action_mask"))


@pytest.mark.parametrize("bad", [-1, -(2**31), "num_actions", 2**31 - 1, "illegal"])
def test_an_illegal_action_ends_the_game_with_the_penalty(env, bad):
    init, step, mask = jitted(env)
    state = init(jax.random.key(1))
    legal = np.asarray(mask(state))
    if bad == "illegal" and legal.all():
        pytest.skip("every action is legal there")
    action = {"num_actions": env.num_actions, "illegal": int(np.argmin(legal))}.get(bad, bad)
    after = step(state, jnp.int32(action))
    seat = int(state.current_player)
    expected = np.zeros(env.num_players, np.float32)
    expected[seat] = -env.illegal_penalty
    assert env.illegal_penalty > 0
    assert bool(after.terminated)
    np.testing.assert_allclose(after.rewards, expected)
    assert int(after.step_count) == int(state.step_count)
    np.testing.assert_array_equal(env.scores(after), env.scores(state))
    assert not np.asarray(env.winners(after)).any()


def test_after_the_end_nothing_changes_and_the_mask_is_all_true(env):
    init, step, mask = jitted(env)
    over = step(init(jax.random.key(1)), jnp.int32(-1))
    again = step(over, jnp.int32(0))
    chex.assert_trees_all_equal(again.replace(rewards=over.rewards), over)
    assert not np.asarray(again.rewards).any()
    assert np.asarray(mask(again)).all()


def test_a_batch_is_a_loop(env):
    init, step, mask = jitted(env)

    @jax.jit
    @jax.vmap
    def first_turn(key):
        state = env.init(key)
        return env.step(state, jnp.argmax(env.legal_action_mask(state)))

    keys = jax.random.split(jax.random.key(2), 3)
    batch = jax.device_get(first_turn(keys))
    for i, key in enumerate(keys):
        state = init(key)
        after = step(state, jnp.int32(np.argmax(mask(state))))
        chex.assert_trees_all_equal(jax.tree.map(lambda leaf, i=i: leaf[i], batch), after)


@once
def test_jit_changes_nothing(env):
    """The first state as well: see what a deal is, above."""
    init, step, mask = jitted(env)
    state = init(jax.random.key(4))
    with jax.disable_jit():
        legal = np.asarray(env.legal_action_mask(state))
        after = env.step(state, int(np.argmax(legal)))
    np.testing.assert_array_equal(legal, mask(state))
    chex.assert_trees_all_close(after, step(state, np.argmax(legal)), rtol=1e-6)


def test_nobody_has_won_before_the_end_and_somebody_after_it(env, states):
    assert not np.asarray(jax.jit(jax.vmap(env.winners))(states)).any()
    init, step, mask = jitted(env)
    state, rng = init(jax.random.key(6)), np.random.default_rng(1)
    while not bool(state.done):
        state = step(state, np.int32(rng.choice(np.flatnonzero(np.asarray(mask(state))))))
    if bool(state.terminated):
        assert np.asarray(env.winners(state)).any()


# -- what a player may know ------------------------------------------------------------------------------------------


def test_the_default_observation_is_honest(env):
    assert env.observation_versions[0] in env.honest_versions
    assert set(env.honest_versions) <= set(env.observation_versions)
    state = jax.eval_shape(env.init, jax.random.key(0))
    default, named = (jax.eval_shape(lambda s, v=v: env.view(s, 0, v), state) for v in (None, env.honest_versions[0]))
    assert type(default) is type(named)


def test_an_observation_is_its_view_flattened_in_order(env, states):
    """Every version: the parts of the view sit in the flat vector where `layout` says, in their natural shapes."""
    state, versions = jax.tree.map(lambda leaf: leaf[NUM_STATES // 2], states), env.observation_versions
    seen = jax.jit(
        lambda state: [(env.observe(state, 1, version), env.view(state, 1, version)) for version in versions]
    )
    for version, (flat, view) in zip(versions, jax.device_get(seen(state)), strict=True):
        assert flat.shape == env.observation_shape(version)
        assert flat.dtype in (jnp.float32, jnp.int32)
        layout = env.layout(version)
        assert tuple(layout) == view._fields
        end = 0
        for name, part in view._asdict().items():
            where, shape = layout[name]
            assert (where.start, shape) == (end, part.shape), name
            np.testing.assert_array_equal(flat[where].reshape(shape), part.astype(flat.dtype))
            end = where.stop
        assert (end,) == flat.shape


class Worlds(NamedTuple):
    """What determinizations of many states, each for every seat, have in common with them and with each other."""

    seen: chex.Array  # bool[state, seat, check]  what the player may know differs: versions, mask, public facts
    drawn_again: chex.Array  # bool[state, seat, leaf]  from another world of the player, with the same key
    from_truth: chex.Array  # bool[state, seat, leaf]  differs from the state
    from_other: chex.Array  # bool[state, seat, leaf]  differs from a world of another key
    drawn: jaxgames.State  # [state, seat, ...]  the determinizations


@pytest.fixture(scope="module")
def worlds(env, states):
    players = np.arange(env.num_players)

    @jax.jit
    def draw(key, states):
        keys = jax.random.split(key, (NUM_STATES, env.num_players))
        return jax.vmap(jax.vmap(env.determinize), (0, 0, None))(keys, states, players)

    @jax.jit
    def known(states):
        """What every seat sees in its state, its mask where it is to move, and what everybody knows."""

        def of(state, player):
            seen = [env.observe(state, player, version) for version in env.honest_versions]
            mask = env.legal_action_mask(state) & (player == state.current_player)
            return [*seen, mask, env.scores(state), state.current_player]

        return jax.vmap(jax.vmap(of), (0, None))(states, players)

    truth = jax.tree.map(lambda leaf: np.repeat(leaf[:, None], env.num_players, 1), states)
    world = jax.device_get(draw(jax.random.key(9), truth))
    other = jax.device_get(draw(jax.random.key(10), truth))
    again = jax.device_get(draw(jax.random.key(9), other))
    return Worlds(
        differing_leaves(jax.device_get(known(world)), jax.device_get(known(truth))),
        *(differing_leaves(world, reference) for reference in (again, truth, other)),
        drawn=world,
    )


def differing_leaves(one, other):
    """bool[state, seat, leaf]"""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return np.stack([(a != b).reshape(*a.shape[:2], -1).any(-1) for a, b in pairs], -1)


def test_a_determinization_is_the_same_to_its_player(worlds):
    """The leak test: every honest version, every seat, states from all over the game."""
    assert not worlds.seen.any()


def test_a_determinization_depends_on_nothing_hidden(worlds, states):
    """Drawn from the state and from another of its player's worlds with the same key, it is the same state."""
    fields = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(states)]
    assert [name for name, differs in zip(fields, worlds.drawn_again.any((0, 1)), strict=True) if differs] == []


def test_a_determinization_hides_the_truth(worlds):
    """Some worlds differ from the state they were drawn from, and two keys give two worlds: for every seat."""
    assert worlds.from_truth.any((0, 2)).all()
    assert worlds.from_other.any((0, 2)).all()


def test_random_states_are_mid_game(env, states):
    assert not states.done.any()
    assert len(np.unique(states.step_count)) > min(NUM_STATES // 4, env.max_steps - 2)


# -- for people ------------------------------------------------------------------------------------------------------


@once
def test_checked_raises_where_the_env_stays_silent(env):
    init, step, _ = jitted(env)
    state = init(jax.random.key(1))
    debug = jaxgames.checked(env)
    with pytest.raises(ValueError, match=f"{env.id}: action {env.num_actions} is not legal for seat"):
        debug.step(state, env.num_actions)
    with pytest.raises(ValueError, match=f"{env.id}: step after the end"):
        debug.step(step(state, -1), 0)
    with pytest.raises(ValueError, match=f"{env.id}: player must be .*0..{env.num_players - 1}, got .*99"):
        debug.observe(state, jnp.int32(99))


def test_text_and_picture_show_no_more_than_a_seat_knows(env, states, worlds):
    """Equal for the state and for its player's determinization, character by character."""
    for i in range(0, NUM_STATES, NUM_STATES // 6):
        state = jax.tree.map(lambda leaf, i=i: leaf[i], states)
        for player in (0, env.num_players - 1):
            world = jax.tree.map(lambda leaf, i=i, player=player: leaf[i, player], worlds.drawn)
            assert env.render(world, player) == env.render(state, player)
            assert env.picture(world, player) == env.picture(state, player)
        assert len(env.render(state)) > 20
        assert env.picture(state).startswith("<svg")


def test_legal_actions_have_names_of_their_own(env, states):
    mask = jitted(env)[2]
    for i in range(0, NUM_STATES, NUM_STATES // 12):
        state = jax.tree.map(lambda leaf, i=i: leaf[i], states)
        legal = np.flatnonzero(np.asarray(mask(state)))[:60]
        for viewer in (None, int(state.current_player)):
            names = [env.action_name(state, int(action), viewer) for action in legal]
            assert all(isinstance(name, str) and name for name in names)
            assert len(set(names)) == len(names), names


# -- the rooms -------------------------------------------------------------------------------------------------------

# Room, function, and the parameters it begins with. What a game adds comes behind them.
FUNCTIONS = [
    ("state", "draw_deal", ("env", "key")),
    ("state", "read_deal", ("env", "deal")),
    ("state", "first_state", ("env", "deal")),
    ("rules", "legal_actions", ("env", "state")),
    ("rules", "play", ("env", "state", "action")),
    ("observe", "view", ("env", "state", "player", "version")),
    ("rewards", "payment", ("env", "before", "action", "after")),
    ("rewards", "illegal_penalty", ("env",)),
    ("rewards", "scores", ("env", "state")),
    ("rewards", "winners", ("env", "state")),
    ("determinize", "determinize", ("env", "key", "state", "player")),
    ("render", "render", ("env", "state", "player")),
    ("render", "action_name", ("env", "state", "action", "viewer")),
    ("picture", "picture", ("env", "state", "player", "moves")),
]


@pytest.mark.parametrize(("room", "name", "parameters"), FUNCTIONS, ids=lambda value: str(value))
def test_the_same_room_has_the_same_function_in_every_game(env, room, name, parameters):
    module = getattr(env.rooms, room)
    given = tuple(inspect.signature(getattr(module, name)).parameters)
    assert given[: len(parameters)] == parameters
    if env.id in jaxgames.games():
        assert module.__name__ == f"jaxgames.{env.id}.{room}"
        assert getattr(module, name).__module__ == module.__name__


def test_the_list_of_functions_is_complete(env):
    """No room is left out of the comparison, and the answers of the contract are not overridden without need."""
    assert {room for room, _, _ in FUNCTIONS} == set(Rooms._fields)
    own = {"observe", "layout", "observation_shape", "honest_versions", "deal", "scores", "winners", "view", "render"}
    assert not own & set(vars(type(env))), "answered by the base class, from the rooms"
