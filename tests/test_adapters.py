"""The adapters under the checkers of the libraries they serve, with every game."""

import copy
import random

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from gymnasium.utils.env_checker import check_env
from open_spiel.python.algorithms import ismcts, mcts
from open_spiel.python.observation import make_observation
from pettingzoo.test import api_test as pettingzoo_test
from pettingzoo.test import seed_test
from pgx._src import api_test as pgx_test

import jaxgames
from jaxgames.adapters import gymnasium, open_spiel, pettingzoo, pgx
from jaxgames.host import compiled

# Short games: each is played several times from beginning to end.
SHORT = {
    "magictrick": {},
    "saboteur": {"num_players": 3, "rounds": 1},
    "schafkopf": {},
    "skullking": {"num_players": 2, "hand_sizes": (1, 2)},
    "skyjo": {"score_limit": 1},
}
SMALL = jaxgames.make("magictrick")


@pytest.fixture(scope="module", params=jaxgames.games())
def env(request):
    """Modules of the suite forget what was compiled; here one game after the other shares it."""
    return jaxgames.make(request.param, **SHORT[request.param])


# -- pgx -------------------------------------------------------------------------------------------------------------


def act_randomly(key, mask):
    return jnp.argmax(jnp.where(mask, jax.random.uniform(key, mask.shape), -1), axis=-1)


def test_pgx_accepts_every_game(env, monkeypatch):
    """pgx's own test; its list of known names and its sampler, which fails on this jax, are replaced."""
    monkeypatch.setattr(pgx_test, "get_args", lambda _: jaxgames.games())
    monkeypatch.setattr(pgx_test, "act_randomly", jax.jit(act_randomly))
    pgx_test.api_test(pgx.adapt(env), num=1, use_key=False)


def test_pgx_states_are_ours_with_mask_and_observation():
    env = pgx.adapt(SMALL, version="v5")
    state = jax.jit(env.init)(jax.random.key(0))
    assert (env.id, env.version, env.num_players) == ("magictrick", f"v{SMALL.version}", 4)
    seat = int(state.current_player)
    np.testing.assert_array_equal(state.observation, compiled(SMALL).observe(state.game, seat, "v5"))
    illegal = jnp.argmin(state.legal_action_mask)
    after, ours = jax.jit(env.step)(state, illegal), jax.jit(SMALL.step)(state.game, illegal)
    assert after.terminated
    assert after.legal_action_mask.all()
    np.testing.assert_array_equal(after.rewards, ours.rewards)
    assert state.to_svg() == SMALL.picture(jax.device_get(state.game))


# -- PettingZoo --------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_pettingzoo_accepts_every_game(env):
    pettingzoo_test(pettingzoo.TableEnv(env, render_mode="ansi"), num_cycles=40)
    seed_test(lambda: pettingzoo.TableEnv(env), num_cycles=10)


def test_pettingzoo_pays_everybody_what_the_game_pays():
    table = pettingzoo.TableEnv(SMALL, version="v5")
    table.reset(seed=3)
    paid, expected = dict.fromkeys(table.possible_agents, 0.0), np.zeros(4)
    for agent in table.agent_iter():
        seen, reward, terminated, _, _ = table.last()
        assert seen["observation"].shape == SMALL.observation_shape("v5")
        paid[agent] += reward
        table.step(None if terminated else int(np.argmax(seen["action_mask"])))
        if not terminated:
            expected += np.asarray(table.state_of_game.rewards)
    np.testing.assert_allclose(list(paid.values()), expected, rtol=1e-6)


# -- Gymnasium -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_gymnasium_accepts_a_seat_of_every_game(env):
    check_env(gymnasium.SeatEnv(env, seat=1, render_mode="ansi"), skip_render_check=False)


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


def test_gymnasium_rewards_add_up_to_the_return_of_the_seat():
    """Also what was paid before the first decision: a game that pays every seat a point at every step."""
    table = gymnasium.SeatEnv(PaysAlways(), seat=2)
    _, info = table.reset(seed=1)
    before = int(table.state.step_count)
    assert before > 0
    assert info["reward_before"] == before
    _, first, _, _, info = table.step(int(np.argmax(info["action_mask"])))
    assert first == int(table.state.step_count)
    total, done = first, False
    while not done:
        _, reward, done, _, info = table.step(int(np.argmax(info["action_mask"])))
        total += reward
    assert total == int(table.state.step_count)


class PaysAlways(type(SMALL)):
    def step(self, state, action):
        after = super().step(state, action)
        return after.replace(rewards=jnp.ones_like(after.rewards) * ~state.done)


# -- OpenSpiel -------------------------------------------------------------------------------------------------------


def test_open_spiel_plays_every_game(env):
    """OpenSpiel's random simulation checks legality, cloning, replay from history, unique action names and returns."""
    pyspiel.random_sim_test(open_spiel.load(env, deals=5), num_sims=1, serialize=True, verbose=False)


def test_open_spiel_observes_a_game():
    game = open_spiel.load(SMALL, deals=5, version="v5")
    state = game.new_initial_state()
    assert state.is_chance_node()
    state.apply_action(3)
    observer = make_observation(game)
    observer.set_from(state, player=1)
    np.testing.assert_array_equal(observer.tensor, compiled(SMALL).observe(state.game_state, 1, "v5"))
    assert observer.string_from(state, player=1) == SMALL.render(state.game_state, 1)
    again = pyspiel.load_game(str(game))
    assert again.new_initial_state().chance_outcomes() == state.get_game().new_initial_state().chance_outcomes()


def test_open_spiel_resamples_what_a_player_cannot_see(env):
    """Another world, the same to the player; the state itself and its history stay."""
    game, rng = open_spiel.load(env, deals=5), random.Random(0)
    state = game.new_initial_state()
    state.apply_action(2)
    for _ in range(4):
        state.apply_action(rng.choice(state.legal_actions()))
    player, before = state.current_player(), copy.deepcopy(state.game_state)
    worlds = [state.resample_from_infostate(player, rng.random) for _ in range(3)]
    chex.assert_trees_all_equal(state.game_state, before)
    for world in worlds:
        assert world.legal_actions() == state.legal_actions()
        assert world.history() == state.history()
        seen = compiled(env).observe(world.game_state, player)
        np.testing.assert_array_equal(seen, compiled(env).observe(before, player))
    different = [str(world) != str(state) for world in worlds]
    assert any(different)


def test_open_spiel_searches_a_game():
    """Its IS-MCTS resamples from information states."""
    game = open_spiel.load(SMALL, deals=5)
    state = game.new_initial_state()
    state.apply_action(1)
    bot = ismcts.ISMCTSBot(
        game,
        mcts.RandomRolloutEvaluator(n_rollouts=1, random_state=np.random.RandomState(1)),
        uct_c=2.0,
        max_simulations=3,
        random_state=np.random.RandomState(2),
        use_observation_string=True,
        allow_inconsistent_action_sets=True,
    )
    assert bot.step(state) in state.legal_actions()


# -- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pettingzoo.TableEnv(SMALL, render_mode="video"), "render_mode must be"),
        (lambda: gymnasium.SeatEnv(SMALL, render_mode="video"), "render_mode must be"),
        (lambda: gymnasium.SeatEnv(SMALL, seat=4), r"seat must be in 0..3, got 4"),
        (lambda: open_spiel.load(SMALL, deals=0), r"deals must be in 1..*, got 0"),
        (lambda: pgx.adapt(SMALL, version="v9"), "observation version must be one of"),
        (lambda: pettingzoo.TableEnv(SMALL, version="v9"), "observation version must be one of"),
        (lambda: gymnasium.SeatEnv(SMALL, version="v9"), "observation version must be one of"),
        (lambda: open_spiel.load(SMALL, version="v9"), "observation version must be one of"),
    ],
)
def test_bad_arguments_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("name", jaxgames.games())
def test_every_version_of_every_game_fits_every_adapter(name):
    env = jaxgames.make(name)
    key = jax.eval_shape(lambda: jax.random.key(0))
    for version in env.observation_versions:
        shape = env.observation_shape(version)
        first = jax.eval_shape(pgx.adapt(env, version).init, key)
        after = jax.eval_shape(pgx.adapt(env, version).step, first, jnp.int32(0))
        chex.assert_trees_all_equal_shapes_and_dtypes(first, after)
        assert first.observation.shape == shape
        assert pettingzoo.TableEnv(env, version=version).observation_space("player_0")["observation"].shape == shape
        assert gymnasium.SeatEnv(env, version=version).observation_space.shape == shape
        spiel = open_spiel.load(env, version=version)
        assert spiel.num_distinct_actions() == env.num_actions
        assert make_observation(spiel).tensor.shape == shape
