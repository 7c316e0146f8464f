"""Agents that look ahead: they do not peek, they are what the rules page says, and what can be known they find."""

import functools
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from agents import networks
from agents.basic import Thinker
from agents.search import draws, endgame, guided, pimc, playout, tree
from agents.search.pimc import search_worlds, solving
from agents.search.rollouts import favourite, gains, halvings
from jaxgames import vector
from jaxgames.options import UserError
from tests import plain_search, schafkopf_endgames
from tests.peeking import OPTIONS, assert_no_peeking, untrained
from tests.sixth_game import BET, PASS, KuhnEnv
from train.matches import play_in_shards, rotations

# A program for each; the rest of the fifteen pairs takes minutes and is in `tests.long peeking`.
PAIRS = [
    ("schafkopf", "pimc:2,4,consistency=none,playouts=rule,endgame=2"),
    ("schafkopf", "search:{network},worlds=2,simulations=3"),
    (
        "skullking",
        "rollouts:{network},worlds=2,actions=2,rivals=rule,style=greedy,aim=wins,belief=bids,candidates=2",
    ),
    ("skyjo", "search:{network},worlds=2,simulations=3"),
    ("saboteur", "pimc:2,4"),
    ("magictrick", "pimc:2,4"),
]


@pytest.mark.parametrize(("game", "spec"), PAIRS)
def test_a_search_chooses_the_same_in_a_world_that_its_player_cannot_tell_from_this_one(game, spec, tmp_path):
    env = jaxgames.make(game, **OPTIONS.get(game, {}))
    assert_no_peeking(env, spec.format(network=untrained(env, tmp_path / "network")))


# -- trees ------------------------------------------------------------------------------------------------------------

ASKED = 99  # an answer that no search gives


@pytest.fixture(scope="module")
def endgames():
    return schafkopf_endgames.read()


def test_sc_58_a_tree_grows_as_the_rules_page_says(endgames):
    """Visits of every action at the root, against a plain UCT that draws the same random words."""
    env = jaxgames.make("schafkopf")
    some = [each for each in endgames if each.tricks == 3][:4]
    states = schafkopf_endgames.states(some)
    search = tree.Search(30, 20.0, 1.0, playout.random_choice(env), playout.points(env))
    grow = jax.jit(jax.vmap(lambda state, key: tree.root_visits(env, tree.grow(env, search, lambda key: state, key))))
    keys = jax.random.split(jax.random.key(2), len(some))
    found = np.asarray(grow(states, keys))
    for i, visits in enumerate(found):
        root = jax.tree.map(lambda leaf, i=i: leaf[i], states)
        expected = plain_search.uct(env, lambda key, root=root: root, keys[i], 30, 20.0)
        assert {int(a): int(visits[a]) for a in np.flatnonzero(visits)} == expected


def test_random_words_are_spread_evenly():
    """Each bit is set half of the time, and neighbours share no more bits than strangers."""
    words = jax.vmap(jax.vmap(playout.random_word, (None, 0)), (0, None))(
        jax.random.split(jax.random.key(0), 64), jnp.arange(64, dtype=jnp.uint32)
    )
    for sample in (words, words[:, 1:] ^ words[:, :-1], words[1:] ^ words[:-1]):
        shares = np.unpackbits(np.asarray(sample).view(np.uint8).reshape(-1, 4), axis=1).mean(0)
        assert np.abs(shares - 0.5).max() < 0.05  # six standard errors


def test_with_the_winning_card_in_hand_the_search_calls():
    """Kuhn poker, a king facing a bet: every world says the same."""
    env = KuhnEnv()
    model = networks.make("mlp", env, widths=(4,))
    guide = guided.Guide(model, jax.jit(model.init)(jax.random.key(0)), env, 1.0)
    for act in (pimc(env, 4, 16), guided.guided(env, guide, 4, 16, 1.25, draws.legal(env))):
        decide = jax.jit(act)
        for deck, said, best in (([2, 0, 1], [PASS, BET], BET), ([0, 2, 1], [BET], BET), ([1, 0, 2], [BET], PASS)):
            state = env.init(jax.random.key(0), deal={"deck": deck})
            for action in said:
                state = env.step(state, action)
            assert int(decide(jax.random.key(1), state, state.current_player)) == best


# -- the last tricks --------------------------------------------------------------------------------------------------


def test_the_last_two_tricks_are_solved_over_all_legal_deals(endgames):
    """What each action is worth, and the best reply: stored from trying everything. Three tricks: `tests.long`.

    Who solves the last two tricks asks somebody else before them.
    """
    env = jaxgames.make("schafkopf")
    some = [each for each in endgames if each.tricks == 2]
    assert len(endgames) >= 100
    assert len(some) >= 50
    states = schafkopf_endgames.states(some)
    solve = jax.jit(jax.vmap(lambda state: endgame.mean_payouts(env, state, state.current_player, 2)))
    earlier = [each for each in endgames if each.tricks == 3][:4]
    act = solving(env, lambda key, state, player: ASKED + jax.random.randint(key, (), 0, 1), 2)
    reply = jax.jit(jax.vmap(lambda state: act(jax.random.key(0), state, state.current_player)))
    with jax.debug_key_reuse(True):
        replies, others = np.split(np.asarray(reply(schafkopf_endgames.states(some[:12] + earlier))), [12])
    assert (others == ASKED).all()
    assert all(int(action) in each.best for each, action in zip(some, replies, strict=False))
    for each, payouts in zip(some, np.asarray(solve(states)), strict=True):
        expected = np.full(len(payouts), -np.inf)
        expected[: len(each.payouts)] = np.array(list(each.payouts.values())) / each.num_deals
        np.testing.assert_allclose(payouts, expected, atol=1e-3, err_msg=schafkopf_endgames.to_text(each))


def test_with_one_legal_deal_the_tree_plays_perfectly(endgames):
    """Whatever else is legal is ruled out here: the only world is the true one."""
    env = jaxgames.make("schafkopf")
    states = schafkopf_endgames.states([each for each in endgames if each.tricks == 2][:16])
    search = tree.Search(120, 30.0, 1.0, playout.random_choice(env), playout.points(env))
    act = search_worlds(env, search, 1, lambda key, state, player: (state, jnp.float32(0)))
    chosen = jax.jit(jax.vmap(act))(jax.random.split(jax.random.key(0), 16), states, states.current_player)
    for i, action in enumerate(np.asarray(chosen)):
        alone = jax.tree.map(lambda leaf, i=i: leaf[i : i + 1], states)
        payouts = schafkopf_endgames.try_everything(alone, int(alone.current_player[0]))
        assert payouts[int(action)] == max(payouts.values()), payouts


# -- worlds and rollouts ----------------------------------------------------------------------------------------------


def test_worlds_count_by_their_weight_or_are_chosen_by_it():
    """A world is a number here, and twice as likely as the one below it."""
    draw = lambda key, state, player: ((w := jax.random.randint(key, (), 0, 4)), w * jnp.log(2.0))  # noqa: E731
    worlds, weights = draws.several(draw, jax.random.key(0), None, 0, 64)
    assert float(weights.mean()) == pytest.approx(1)
    np.testing.assert_allclose(np.log2(weights / weights[np.argmin(worlds)]), worlds - worlds.min(), atol=1e-5)
    with jax.debug_key_reuse(True):
        worlds, weights = draws.several(draw, jax.random.key(0), None, 0, 512, 8)
    assert (weights == 1).all()
    np.testing.assert_allclose(np.bincount(worlds) / 512, np.array([1, 2, 4, 8]) / 15, atol=0.02)
    impossible = lambda *arguments: ((w := draw(*arguments)[0]), jnp.where(w == 3, 0.0, -jnp.inf))  # noqa: E731
    assert (draws.several(impossible, jax.random.key(0), None, 0, 4, 32)[0] == 3).all()
    alike = draws.several(lambda *_: (jnp.int32(0), jnp.float32(-3)), jax.random.key(0), None, 0, 7)[1]
    assert (alike == 1).all()  # exactly: sums of votes stay whole numbers


def test_worlds_are_spent_on_the_better_half():
    assert halvings(4, 64) == [(4, 32), (2, 64)]
    assert halvings(5, 64) == [(5, 16), (3, 32), (2, 64)]
    assert halvings(1, 64) == [(1, 64)]
    assert halvings(3, 2) == [(3, 1), (2, 2)]


def test_few_worlds_do_not_overrule_a_network_that_is_sure():
    """The same gain of 3 +- 4 a world: two worlds say nothing against 0.9 to 0.1, four hundred do."""
    likely, pair = jnp.array([0.9, 0.1, 0.0]), np.array([[0.0, -1.0, 99.0], [0.0, 7.0, 99.0]], np.float32)
    few, many = (gains(jnp.tile(pair, (n, 1)), jnp.ones(2 * n), likely, 1.0) for n in (1, 200))
    assert few[1] < few[0] == 0 < many[1] < 3
    assert np.isneginf([few[2], many[2]]).all()  # not legal
    # Of gains -1 and 7 the squares add up to 32; another world is taken to spread as the three actions do on average.
    assert float(few[1]) == pytest.approx(3 - np.sqrt(2 * np.log(9) * (32 + 32 / 3 / 2) / 3 / 2), abs=1e-3)
    assert float(gains(jnp.asarray(pair), jnp.ones(2), likely, 0.0)[1]) == 3  # without a margin, the mean
    # z = sqrt(2 ln 9) standard errors of 4 sqrt(1 + 1/400 / 2) / sqrt(400) are doubted.
    assert float(many[1]) == pytest.approx(3 - np.sqrt(2 * np.log(9)) * 4 / 20, abs=0.01)


def test_a_network_is_taken_at_its_word_where_it_is_sure():
    """Sure from a half on: what is likelier is played at once, and everything else is thought about."""
    env = KuhnEnv()
    model = networks.make("mlp", env, widths=(4,))
    state = env.init(jax.random.key(0))
    params = model.init(jax.random.key(0))["params"]
    for bias, expected in ((2.0, BET), (-2.0, PASS)):
        outputs = params["outputs"] | {"bias": params["outputs"]["bias"].at[BET].add(bias)}
        leaning = {"params": params | {"outputs": outputs}}
        likely, actions = networks.likeliest(model, leaning, state, state.current_player, 1)
        assert int(actions[0]) == expected
        for sure, is_sure in ((float(likely[0]), True), (float(likely[0]) + 1e-3, False)):
            action, found = favourite(model, leaning, sure)(state, state.current_player)
            assert (int(action), bool(found)) == (expected, is_sure)
            act = Thinker(favourite(model, leaning, sure), lambda *_, other=1 - expected: jnp.int32(other))
            chosen = int(act(jax.random.key(0), state, state.current_player))
            assert chosen == (expected if is_sure else 1 - expected)


def test_whoever_searches_is_known_as_an_agent_that_thinks(monkeypatch):
    """So it is asked only where it is to move and has a choice, also as a rival in a training."""
    env = jaxgames.make("schafkopf")
    for loads in ("load", "load_honest"):
        monkeypatch.setattr(networks, loads, lambda network, env: (None, None))
    for spec in ("pimc:1,1", "pimc:1,1,endgame=1", "infer:some,1,1", "worlds:some,1"):
        assert isinstance(agents.make(spec, env), Thinker), spec


def test_bad_budgets_are_refused_in_a_sentence():
    env = jaxgames.make("schafkopf")
    bad = (
        "pimc:0,40",
        "pimc:10,x",
        "pimc:10,40,consistency=some",
        "pimc:10,40,exploration=x",
        "rollouts:schafkopf,margin=x",
        "infer:schafkopf,doubt=",
        "rollouts:skullking",
        "search:skullking",
        "rollouts:schafkopf,sure=2",
        "rollouts:schafkopf,style=bold",
        "rollouts:schafkopf,aim=wins",
        "rollouts:schafkopf,aim=fame",
        "rollouts:schafkopf,belief=bids",
        "rollouts:schafkopf,candidates=0",
        "rollouts:schafkopf,rivals=nobody",
        "search:schafkopf,sure=much",
        "pimc:1,1,a=3",
    )
    for spec in (*bad, "pimc:10,40,endgame=4"):
        with pytest.raises(UserError, match=r"schafkopf|agents|checkpoint"):
            agents.make(spec, env)
    with pytest.raises(ValueError, match="endgame"):
        agents.make("pimc:10,40,endgame=2", jaxgames.make("skyjo"))


def test_playing_on_ends_with_the_round():
    env = jaxgames.make("skullking", num_players=3, hand_sizes=(2, 3))
    state = env.init(jax.random.key(0))
    end = jax.jit(lambda s, k: playout.play_on(env, playout.random_choice(env), s, s, k))(state, jax.random.key(1))
    assert int(end.round) == 1
    payoff = playout.points(env)(state, end)
    assert float(jnp.abs(payoff.sum())) < 1e-3


# -- several devices --------------------------------------------------------------------------------------------------


def test_a_search_in_parts_plays_alike_on_one_device_and_on_two():
    """Run in a process of its own, which has two."""
    code = "from tests.test_search import compare_devices; compare_devices()"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=pathlib.Path(__file__).parent.parent)


def compare_devices():
    """The same games in two parts, and other ones than in a single part."""
    assert vector.use_cores(2) == 2 == len(jax.devices())
    env = KuhnEnv()
    players, lineup = (pimc(env, 2, 4), pimc(env, 1, 1)), jnp.asarray(rotations([0, 1]))
    deal_keys, key = jax.random.split(jax.random.key(0), 64), jax.random.key(1)

    def played(shards, num_devices):
        run = functools.partial(play_in_shards, env, players, None, shards, devices=jax.devices()[:num_devices])
        return [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(run)(deal_keys, lineup, key))]

    one, two, whole = played(2, 1), played(2, 2), played(1, 1)
    for alone, shared in zip(one, two, strict=True):
        np.testing.assert_array_equal(alone, shared)
    assert [leaf.shape for leaf in one] == [leaf.shape for leaf in whole]
    assert any((part != leaf).any() for part, leaf in zip(one, whole, strict=True))
