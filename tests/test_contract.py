"""What every game promises (design: the environment contract), one test for all games."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from tests.support import random_states

NUM_STATES = 96


@pytest.fixture(scope="module", params=jaxgames.games())
def env(request):
    return jaxgames.make(request.param)


@pytest.fixture(scope="module")
def states(env):
    return random_states(env, jax.random.key(3), NUM_STATES, min(env.max_steps, 320))


@functools.cache
def jitted(env):
    return jax.jit(env.init), jax.jit(env.step), jax.jit(env.legal_action_mask)


def test_step_keeps_shapes_and_dtypes(env):
    first = jax.eval_shape(env.init, jax.random.key(0))
    chex.assert_trees_all_equal_shapes_and_dtypes(jax.eval_shape(env.step, first, jnp.int32(0)), first)
    chex.assert_trees_all_equal_shapes_and_dtypes(
        jax.eval_shape(env.determinize, jax.random.key(0), first, jnp.int32(0)), first
    )


def test_shared_fields_have_their_types(env):
    state = jax.eval_shape(env.init, jax.random.key(0))
    assert (state.current_player.shape, state.current_player.dtype) == ((), jnp.int8)
    assert (state.rewards.shape, state.rewards.dtype) == ((env.num_players,), jnp.float32)
    assert (state.terminated.shape, state.terminated.dtype) == ((), jnp.bool_)
    assert (state.truncated.shape, state.truncated.dtype) == ((), jnp.bool_)
    assert (state.step_count.shape, state.step_count.dtype) == ((), jnp.int32)
    mask = jax.eval_shape(env.legal_action_mask, state)
    assert (mask.shape, mask.dtype) == ((env.num_actions,), jnp.bool_)


def test_an_env_is_a_static_argument(env):
    again = jaxgames.make(env.id)
    assert again == env
    assert hash(again) == hash(env)
    with pytest.raises(AttributeError):
        env.num_players = 3


def test_nothing_recompiles_over_a_whole_game(env):
    chex.clear_trace_counter()
    init = jax.jit(chex.assert_max_traces(env.init, n=1))
    step = jax.jit(chex.assert_max_traces(env.step, n=1))
    mask = jax.jit(chex.assert_max_traces(env.legal_action_mask, n=1))
    state, rng, steps = init(jax.random.key(5)), np.random.default_rng(0), 0
    while not bool(state.done) and steps < 400:
        legal = np.flatnonzero(np.asarray(mask(state)))
        state, steps = step(state, np.int32(rng.choice(legal))), steps + 1
    assert steps <= env.max_steps
    assert int(state.step_count) == steps


@pytest.mark.parametrize("bad", [-1, -(2**31), "num_actions", 2**31 - 1, "illegal"])
def test_an_illegal_action_ends_the_game_with_the_penalty(env, bad):
    init, step, mask = jitted(env)
    state = init(jax.random.key(1))
    illegal = int(np.argmin(np.asarray(mask(state))))
    action = {"num_actions": env.num_actions, "illegal": illegal}.get(bad, bad)
    after = step(state, jnp.int32(action))
    seat = int(state.current_player)
    expected = np.zeros(env.num_players, np.float32)
    expected[seat] = -env.illegal_penalty
    assert bool(after.terminated)
    np.testing.assert_allclose(after.rewards, expected)
    assert int(after.step_count) == int(state.step_count)
    np.testing.assert_array_equal(env.scores(after), env.scores(state))


def test_after_the_end_nothing_changes_and_the_mask_is_all_true(env):
    init, step, mask = jitted(env)
    over = step(init(jax.random.key(1)), jnp.int32(-1))
    again = step(over, jnp.int32(0))
    chex.assert_trees_all_equal(again.replace(rewards=over.rewards), over)
    assert not np.asarray(again.rewards).any()
    assert np.asarray(mask(again)).all()


def test_same_key_same_game_and_other_key_other_game(env):
    init = jitted(env)[0]
    chex.assert_trees_all_equal(init(jax.random.key(7)), init(jax.random.key(7)))
    one, other = jax.tree.leaves(init(jax.random.key(7))), jax.tree.leaves(init(jax.random.key(8)))
    assert any((np.asarray(a) != np.asarray(b)).any() for a, b in zip(one, other, strict=True) if a.dtype == jnp.int8)


def test_a_batch_is_a_loop(env):
    init, step, _ = jitted(env)
    keys = jax.random.split(jax.random.key(2), 3)
    batch = jax.jit(jax.vmap(env.init))(keys)
    actions = jnp.argmax(jax.vmap(env.legal_action_mask)(batch), axis=-1)
    batch = jax.jit(jax.vmap(env.step))(batch, actions)
    for i, key in enumerate(keys):
        chex.assert_trees_all_equal(jax.tree.map(lambda leaf, i=i: leaf[i], batch), step(init(key), actions[i]))


def test_jit_changes_nothing(env):
    init, step, _ = jitted(env)
    with jax.disable_jit():
        plain = env.init(jax.random.key(4))
        action = int(np.argmax(np.asarray(env.legal_action_mask(plain))))
        plain_next = env.step(plain, action)
    chex.assert_trees_all_equal(plain, init(jax.random.key(4)))
    chex.assert_trees_all_close(plain_next, step(plain, action), rtol=1e-6)


def test_a_determinization_is_the_same_to_its_player(env, states):
    """The leak test: every observation version, every seat, states from all over the game."""

    @jax.jit
    def differences(key, states):
        def one(key, state):
            def seat(key, player):
                world = env.determinize(key, state, player)
                seen = [
                    jnp.stack(
                        [(a != b).any() for a, b in zip(jax.tree.leaves(x), jax.tree.leaves(y), strict=True)]
                    ).any()
                    for version in honest_versions(env)
                    for x, y in [(env.observe(world, player, version), env.observe(state, player, version))]
                ]
                mine = player == state.current_player
                masks = (env.legal_action_mask(world) != env.legal_action_mask(state)).any() & mine
                public = (env.scores(world) != env.scores(state)).any() | (world.current_player != state.current_player)
                return jnp.stack([*seen, masks, public])

            return jax.vmap(seat)(jax.random.split(key, env.num_players), jnp.arange(env.num_players))

        return jax.vmap(one)(jax.random.split(key, NUM_STATES), states)

    assert not np.asarray(differences(jax.random.key(9), states)).any()


def honest_versions(env):
    """Magic Trick's v1-v3 show hidden values on purpose (MT-41): they are for training with perfect information."""
    return [v for v in env.observation_versions if env.id != "magictrick" or v not in ("v1", "v2", "v3")]


def test_random_states_are_mid_game(env, states):
    assert not np.asarray(states.done).any()
    assert len(np.unique(np.asarray(states.step_count))) > NUM_STATES // 4


def test_unknown_names_are_refused(env):
    with pytest.raises(ValueError, match=rf"{env.id}: unknown option 'colour'.*num_players"):
        jaxgames.make(env.id, colour="red")
    with pytest.raises(ValueError, match=r"unknown game 'poker'.*skullking"):
        jaxgames.make("poker")
    state = jax.eval_shape(env.init, jax.random.key(0))
    with pytest.raises(ValueError, match=f"{env.id}: observation version must be one of .*'nonsense'"):
        jax.eval_shape(lambda s: env.observe(s, 0, "nonsense"), state)
    with pytest.raises(ValueError, match=f"{env.id}: player must be 0..{env.num_players - 1}, got 99"):
        jax.eval_shape(lambda s: env.observe(s, 99), state)


def test_checked_raises_where_the_env_stays_silent(env):
    init, step, _ = jitted(env)
    state = init(jax.random.key(1))
    debug = jaxgames.checked(env)
    with pytest.raises(ValueError, match=f"{env.id}: action {env.num_actions} is not legal for seat"):
        debug.step(state, env.num_actions)
    with pytest.raises(ValueError, match=f"{env.id}: step after the end"):
        debug.step(step(state, -1), 0)
    with pytest.raises(ValueError, match=f"{env.id}: player must be 0..{env.num_players - 1}, got 99"):
        debug.observe(state, jnp.int32(99))


def test_render_shows_text_for_everyone_and_for_one_seat(env):
    state = jitted(env)[0](jax.random.key(1))
    assert len(env.render(state)) > 20
    assert len(env.render(state, player=0)) > 20


def test_every_legal_action_has_a_name(env):
    init, _, mask = jitted(env)
    state = init(jax.random.key(2))
    names = [env.action_name(state, int(action)) for action in np.flatnonzero(np.asarray(mask(state)))[:20]]
    assert all(isinstance(name, str) and name for name in names)
