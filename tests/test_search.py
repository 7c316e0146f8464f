"""Agents that look ahead: they do not peek, and where everything is known they play perfectly."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from agents.search import playout, tree
from tests.sixth_game import BET, PASS, KuhnEnv
from tests.support import random_states

OPTIONS = {"skullking": {"num_players": 3, "hand_sizes": (2, 3)}, "saboteur": {"variant": "paths", "num_players": 2}}
SPECS = [(game, "pimc:2,6") for game in jaxgames.games() if game != "saboteur"] + [
    ("saboteur", "pimc:1,3"),
    ("schafkopf", "pimc:2,6,consistency=none"),
    ("schafkopf", "pimc:2,4,playouts=rule"),
]


@pytest.mark.parametrize(("game", "spec"), SPECS)
def test_a_search_chooses_the_same_in_a_world_that_its_player_cannot_tell_from_this_one(game, spec):
    env = jaxgames.make(game, **OPTIONS.get(game, {}))
    states = random_states(env, jax.random.key(5), 6, min(env.max_steps, 40))
    act = agents.make(spec, env)

    worlds = jax.jit(jax.vmap(lambda key, state: env.determinize(key, state, state.current_player)))
    keys = jax.random.split(jax.random.key(0), 12)
    both = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), states, worlds(keys[6:], states))
    choose = jax.jit(jax.vmap(lambda key, state: act(key, state, state.current_player)))
    chosen = np.asarray(choose(jnp.concatenate([keys[:6], keys[:6]]), both))
    np.testing.assert_array_equal(chosen[:6], chosen[6:])
    assert jax.vmap(env.is_legal)(states, chosen[:6]).all()


def test_with_the_winning_card_in_hand_the_search_calls():
    """Kuhn poker, a king facing a bet: every world says the same."""
    env = KuhnEnv()
    act = jax.jit(agents.search.pimc(env, 4, 16))
    for deck, said, best in (([2, 0, 1], [PASS, BET], BET), ([0, 2, 1], [BET], BET), ([1, 0, 2], [BET], PASS)):
        state = env.init(jax.random.key(0), deal={"deck": deck})
        for action in said:
            state = env.step(state, action)
        assert int(act(jax.random.key(1), state, state.current_player)) == best


@functools.cache
def schafkopf():
    env = jaxgames.make("schafkopf")
    return env, jax.jit(env.step), jax.jit(env.legal_action_mask)


def solve(state, seat):
    """{action: payout of `seat` when everybody plays on perfectly for themselves}: by trying everything."""
    _, step, mask = schafkopf()

    def value(state):
        if bool(state.done):
            return np.asarray(state.rewards)
        mover = int(state.current_player)
        legal = np.flatnonzero(np.asarray(mask(state)))
        return max((value(jax.device_get(step(state, int(action)))) for action in legal), key=lambda pay: pay[mover])

    legal = np.flatnonzero(np.asarray(mask(state)))
    return {int(action): float(value(jax.device_get(step(state, int(action))))[seat]) for action in legal}


def test_in_one_world_the_tree_finds_the_perfect_play():
    """The last two tricks of Schafkopf, every card known: against trying everything."""
    env, *_ = schafkopf()
    search = tree.Search(160, 30.0, 1.0, playout.random_choice(env), playout.points(env))
    visits = jax.jit(lambda state, key: tree.root_visits(tree.grow(env, search, lambda number, key: state, key)))
    for state in endgames(24):
        values = solve(state, int(state.current_player))
        chosen = int(np.argmax(visits(state, jax.random.key(1))))
        assert values[chosen] == max(values.values()), values


def endgames(count):
    """Positions before the last two tricks with a choice for the mover, from random play."""
    env, step, mask = schafkopf()
    rng = np.random.default_rng(0)
    while count:
        state = jax.device_get(env.init(jax.random.key(int(rng.integers(2**31)))))
        while not bool(state.done) and int((np.asarray(state.played) >= 0).sum()) < 28 - int(rng.integers(4)):
            state = jax.device_get(step(state, int(rng.choice(np.flatnonzero(np.asarray(mask(state)))))))
        if not bool(state.done) and np.asarray(mask(state)).sum() > 1:
            count -= 1
            yield state


def test_bad_budgets_are_refused_in_a_sentence():
    env = jaxgames.make("schafkopf")
    for spec in ("pimc:0,40", "pimc:10,x", "pimc:10,40,consistency=some", "rollouts:skullking", "pimc:10,40,depth=3"):
        with pytest.raises(ValueError, match=r"schafkopf|agents|checkpoint"):
            agents.make(spec, env)


def test_playing_on_ends_with_the_round():
    env = jaxgames.make("skullking", num_players=3, hand_sizes=(2, 3))
    state = env.init(jax.random.key(0))
    end = jax.jit(lambda s, k: playout.play_on(env, playout.random_choice(env), s, s, k))(state, jax.random.key(1))
    assert int(end.round) == 1
    payoff = playout.points(env)(state, end)
    assert float(jnp.abs(payoff.sum())) < 1e-3
