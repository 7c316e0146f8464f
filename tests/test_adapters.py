"""The adapters under the checkers of the libraries they serve."""

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from gymnasium.utils.env_checker import check_env
from open_spiel.python.observation import make_observation
from pettingzoo.test import api_test as pettingzoo_test
from pettingzoo.test import seed_test
from pgx._src import api_test as pgx_test

import jaxgames
from jaxgames.adapters import gymnasium, open_spiel, pettingzoo, pgx
from jaxgames.adapters.host import host

SMALL = jaxgames.make("magictrick")


def act_randomly(key, mask):
    return jnp.argmax(jnp.where(mask, jax.random.uniform(key, mask.shape), -1), axis=-1)


def test_pgx_accepts_a_game(monkeypatch):
    """pgx's own test; its list of known names and its sampler, which fails on this jax, are replaced."""
    monkeypatch.setattr(pgx_test, "get_args", lambda _: ("magictrick",))
    monkeypatch.setattr(pgx_test, "act_randomly", jax.jit(act_randomly))
    pgx_test.api_test(pgx.adapt(SMALL), num=2, use_key=False)


def test_pgx_states_are_ours_with_mask_and_observation():
    env = pgx.adapt(SMALL)
    state = jax.jit(env.init)(jax.random.key(0))
    assert (env.id, env.version, env.num_players, env.num_actions) == ("magictrick", "v1", 4, SMALL.num_actions)
    illegal = jnp.argmin(state.legal_action_mask)
    after, ours = jax.jit(env.step)(state, illegal), jax.jit(SMALL.step)(state.game, illegal)
    assert after.terminated
    assert after.legal_action_mask.all()
    np.testing.assert_array_equal(after.rewards, ours.rewards)
    assert "<svg" in state.to_svg()


@pytest.mark.filterwarnings("ignore")
def test_pettingzoo_accepts_a_game():
    pettingzoo_test(pettingzoo.TableEnv(SMALL, render_mode="ansi"), num_cycles=60)
    seed_test(lambda: pettingzoo.TableEnv(SMALL), num_cycles=10)


def test_pettingzoo_pays_everybody_what_the_game_pays():
    table = pettingzoo.TableEnv(SMALL)
    table.reset(seed=3)
    paid, expected = dict.fromkeys(table.possible_agents, 0.0), np.zeros(4)
    for agent in table.agent_iter():
        seen, reward, terminated, _, _ = table.last()
        paid[agent] += reward
        table.step(None if terminated else int(np.argmax(seen["action_mask"])))
        if not terminated:
            expected += np.asarray(table.state_of_game.rewards)
    np.testing.assert_allclose(list(paid.values()), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="render_mode must be"):
        pettingzoo.TableEnv(SMALL, render_mode="video")


@pytest.mark.filterwarnings("ignore")
def test_gymnasium_accepts_a_seat():
    check_env(gymnasium.SeatEnv(SMALL, render_mode="ansi"), skip_render_check=False)
    with pytest.raises(ValueError, match="seat must be"):
        gymnasium.SeatEnv(SMALL, seat=4)


def test_gymnasium_returns_at_the_next_decision_of_the_seat():
    table = gymnasium.SeatEnv(SMALL, seat=2)
    first, info = table.reset(seed=5)
    done = False
    while not done:
        assert int(table.state.current_player) == 2
        assert info["action_mask"].any()
        _, _, done, _, info = table.step(int(np.argmax(info["action_mask"])))
    assert bool(table.state.terminated)
    np.testing.assert_array_equal(table.reset(seed=5)[0], first)
    assert (table.reset(seed=6)[0] != first).any()


def test_open_spiel_plays_and_observes_a_game():
    """OpenSpiel's random simulation checks legality, cloning, replay from history and returns."""
    game = open_spiel.load(SMALL, deals=5)
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)
    state = game.new_initial_state()
    assert state.is_chance_node()
    state.apply_action(3)
    observer = make_observation(game)
    observer.set_from(state, player=1)
    np.testing.assert_array_equal(observer.tensor, host(SMALL).observe(state.game_state, 1))
    assert observer.string_from(state, player=1) == SMALL.render(state.game_state, 1)
    with pytest.raises(ValueError, match="deals must be at least 1"):
        open_spiel.load(SMALL, deals=0)


@pytest.mark.parametrize("name", jaxgames.games())
def test_every_game_fits_every_adapter(name):
    env = jaxgames.make(name)
    key = jax.eval_shape(lambda: jax.random.key(0))
    adapted = pgx.adapt(env)
    first = jax.eval_shape(adapted.init, key)
    after = jax.eval_shape(adapted.step, first, jnp.int32(0))
    assert jax.tree.map(lambda leaf: leaf.shape, first) == jax.tree.map(lambda leaf: leaf.shape, after)
    size = pettingzoo.TableEnv(env).observation_space("player_0")["observation"].shape
    assert gymnasium.SeatEnv(env).observation_space.shape == size
    assert open_spiel.load(env).num_distinct_actions() == env.num_actions
