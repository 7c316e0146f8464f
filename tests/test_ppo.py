"""The learner by numbers and identities: losses against numpy, advantages against a loop, a value that is learned."""

import dataclasses
import functools
import itertools
import sys
import types

import chex
import distrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from agents import networks
from agents.basic import as_thinker
from agents.networks import categorical, network_agent, reconsider
from jaxgames.cards import members, pack
from tests import sixth_game
from tests.sixth_game import BET, PASS, KuhnEnv
from tests.support import random_states
from train import opponents, ppo, ppo_saboteur, replay
from train.advantage import NOBODY, advantage_by_seat
from train.auxiliary_skullking import Auxiliary
from train.evaluate import make_match, over_seeds, versus, with_abilities
from train.matches import fill_in, mean_and_error, play, rotations, shared_wins
from train.ppo_skullking import Config, ability_priority, make_task
from train.protocols import Counts, Protocol
from train.rollout import own_return, settled
from train.settings import PPO

ENV = jaxgames.make("skullking", num_players=3, hand_sizes=(1, 2))  # short games: every rollout crosses endings
MIXED = opponents.parse(("self=0.4", "past=0.2", "rule:hard=0.2", "random=0.2"))
KUHN = KuhnEnv()


def always(action):
    return lambda env: lambda key, state, player: jnp.int32(action)


def alternates(env):
    """Passes as the first to speak, bets as the second, passes as the third."""
    return lambda key, state, player: state.step_count % 2


KUHN_AGENTS = {
    "passes": always(PASS),
    "bets": always(BET),
    "alternates": alternates,
    "ponders": lambda env: as_thinker(alternates(env)),
    "hesitates": lambda env: as_thinker(always(PASS)(env)),
}
sys.modules["agents.kuhn"] = types.SimpleNamespace(AGENTS=KUHN_AGENTS)  # as if the game were one of ours
PASSES, BETS, ALTERNATES = (KUHN_AGENTS[name](KUHN) for name in ("passes", "bets", "alternates"))


def loop_advantages(seat, value, reward, terminated, truncated, mover, mover_value, gamma, lam):
    """Every decision looks ahead, in plain Python, to the same seat's next one; None where that is not to be seen."""
    steps = len(seat)
    advantages = [None] * steps
    for t in reversed(range(steps)):
        if seat[t] == NOBODY:
            continue
        paid, end = 0.0, t
        while True:
            paid += reward[end, seat[t]]
            is_last = end + 1 == steps
            if terminated[end] or truncated[end] or is_last or seat[end + 1] == seat[t]:
                break
            end += 1
        if terminated[end]:
            following = 0.0
        elif truncated[end] or (is_last and mover != seat[t]):
            continue
        elif is_last:
            following = mover_value
        else:
            following = value[end + 1] + lam * (advantages[end + 1] or 0.0)
        advantages[t] = paid + gamma * following - value[t]
    return advantages


def random_rollout(seed, steps=40, seats=3, ends=0.15):
    rng = np.random.default_rng(seed)
    ended = rng.random(steps) < ends
    cut = ended & (rng.random(steps) < 0.5)
    forced = rng.random(steps) < 0.2
    return (
        np.where(forced, NOBODY, rng.integers(0, seats, steps)),  # seats decide in any order, often twice running
        rng.normal(size=steps),
        rng.normal(size=(steps, seats)),  # everybody is paid, mover or not
        ended & ~cut,
        cut,
        rng.integers(0, seats),
        rng.normal(),
    )


@pytest.mark.parametrize(("gamma", "lam"), [(0.97, 0.9), (1.0, 1.0), (0.9, 0.0)])
def test_advantages_equal_a_plain_loop(gamma, lam):
    for seed in range(5):
        played = random_rollout(seed)
        ours, is_judged = advantage_by_seat(*map(jnp.asarray, played), gamma=gamma, lam=lam)
        theirs = loop_advantages(*played, gamma, lam)
        assert is_judged.tolist() == [each is not None for each in theirs]
        np.testing.assert_allclose(ours, [each or 0.0 for each in theirs], atol=1e-4)


def test_with_lambda_one_an_advantage_is_return_minus_value():
    """What stands for the return beyond the cut is the value of the seat's own last decision, or of its turn."""
    seat, value, reward, *_ = random_rollout(7, ends=0.0)
    no = np.zeros(len(seat), bool)
    mover, mover_value = 1, 0.7
    ours, is_judged = advantage_by_seat(
        *map(jnp.asarray, (seat, value, reward, no, no, mover, mover_value)), gamma=1.0, lam=1.0
    )
    assert not is_judged[seat == NOBODY].any()
    for t in np.flatnonzero(is_judged):
        last = len(seat) if seat[t] == mover else np.flatnonzero(seat == seat[t])[-1]
        beyond = mover_value if seat[t] == mover else value[last]
        assert ours[t] == pytest.approx(reward[t:last, seat[t]].sum() + beyond - value[t], abs=1e-4)
    assert (~is_judged & (seat != NOBODY)).sum() == 2  # the last decisions of the two seats that are not to move


def test_a_reward_while_others_move_is_paid_to_the_last_decision_and_not_across_an_ending():
    seat, value = jnp.array([0, 1, 1, 0, 1]), jnp.zeros(5)
    reward = jnp.zeros((5, 2)).at[2, 0].set(1.0).at[3, 1].set(2.0)
    terminated = jnp.array([False, False, False, True, False])
    no = jnp.zeros(5, bool)
    ours, _ = advantage_by_seat(seat, value, reward, terminated, no, 1, 7.0, gamma=1.0, lam=0.0)
    assert ours.tolist() == [1.0, 0.0, 2.0, 0.0, 7.0]


def test_a_truncated_game_is_worth_its_value_and_not_nothing():
    """The last decision before the cut stands for what would have followed; it is not judged itself."""
    seat, value = jnp.array([0, 1, 0, 1, 0, 1]), jnp.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    no, cut = jnp.zeros(6, bool), jnp.array([False, False, False, True, False, False])
    ours, is_judged = advantage_by_seat(seat, value, jnp.zeros((6, 2)), no, cut, 0, 9.0, gamma=1.0, lam=1.0)
    assert ours.tolist() == [2.0, 2.0, 0.0, 0.0, 4.0, 0.0]
    assert is_judged.tolist() == [True, True, False, False, True, False]


SMALL = PPO(
    total_steps=4 * 64 * 8,
    envs=64,
    steps=8,
    minibatches=4,
    past_selves=2,
    gamma=0.9,
    lam=0.6,
    clip=0.1,
    value_weight=0.7,
)
SCALE = 2.5


class Update(types.SimpleNamespace):
    """task, learner, tables before and after a rollout, its transitions [step, env], values to move, rows."""


@pytest.fixture(scope="module")
def kuhn():
    task = ppo.Task(
        networks.make("mlp", KUHN, widths=(8,)), opponents.parse(("self=0.5", "alternates=0.5")), reward_scale=SCALE
    )

    @jax.jit
    def first(key):
        training = ppo.start(SMALL, task, key)
        learner, before = training.learner, training.games.tables
        after, transitions = ppo.rollout(task, learner, before, key, SMALL.steps)
        values, _ = ppo.values_to_move(task, learner.params, after.states)
        batch = ppo.judge(SMALL, task, transitions, after.states.current_player, values)
        return {
            "learner": learner,
            "before": before,
            "after": after,
            "transitions": transitions,
            "values": values,
            "batch": batch,
        }

    return Update(task=task, **first(jax.random.key(0)))


def test_games_begin_at_every_stage(kuhn):
    """Of Kuhn poker a third before the first word, a third after it, a third after two, where those are not all."""
    said = np.asarray(kuhn.before.states.step_count)
    assert (said[:21] == 0).all()
    assert (said[22:42] == 1).all()
    assert set(said[43:]) == {0, 2}


def test_rollouts_are_judged_seat_by_seat_in_scaled_rewards(kuhn):
    """Every game against the loop: discount, lambda, whose turn it is at the cut, what a chip is worth."""
    played, batch = kuhn.transitions, jax.tree.map(np.asarray, kuhn.batch)
    advantage, target, weight = (
        each.reshape(SMALL.steps, SMALL.envs) for each in (batch.advantage, batch.target, batch.weight)
    )
    for env in range(SMALL.envs):
        value = np.asarray(played.decision.value[:, env], np.float64)
        theirs = loop_advantages(
            np.asarray(played.seat[:, env]),
            value,
            SCALE * np.asarray(played.reward[:, env]),
            np.asarray(played.terminated[:, env]),
            np.asarray(played.truncated[:, env]),
            kuhn.after.states.current_player[env],
            float(kuhn.values[env]),
            SMALL.gamma,
            SMALL.lam,
        )
        np.testing.assert_allclose(advantage[:, env], [each or 0.0 for each in theirs], atol=1e-4)
        np.testing.assert_allclose(target[:, env], advantage[:, env] + value, atol=1e-5)
        teaches = np.array([each is not None for each in theirs]) & np.asarray(played.is_own[:, env])
        np.testing.assert_array_equal(weight[:, env], teaches)


def test_a_round_that_pays_for_itself_is_judged_by_itself(kuhn):
    """The end of such a round is to advantages what the end of a game is; the value of the next is not asked for."""
    played, values = kuhn.transitions, kuhn.values
    over = np.asarray(played.terminated) | (np.arange(SMALL.steps)[:, None] % 3 == 2)
    seats = kuhn.after.states.current_player
    batch = ppo.judge(SMALL, kuhn.task, played._replace(settled=jnp.asarray(over)), seats, values)
    advantage = np.asarray(batch.advantage).reshape(SMALL.steps, SMALL.envs)
    for env in range(SMALL.envs):
        theirs = loop_advantages(
            np.asarray(played.seat[:, env]),
            np.asarray(played.decision.value[:, env], np.float64),
            SCALE * np.asarray(played.reward[:, env]),
            over[:, env],
            np.asarray(played.truncated[:, env]),
            seats[env],
            float(values[env]),
            SMALL.gamma,
            SMALL.lam,
        )
        np.testing.assert_allclose(advantage[:, env], [each or 0.0 for each in theirs], atol=1e-4)


def test_a_forced_move_is_no_decision(kuhn):
    """What it brings is owed to the last choice before it, and it teaches nothing; here every third one is forced."""
    forced = np.arange(SMALL.steps)[:, None] % 3 == np.arange(SMALL.envs) % 3
    played, seats = kuhn.transitions, kuhn.after.states.current_player
    decision = played.decision._replace(log_prob=jnp.where(forced, 0.0, played.decision.log_prob))
    batch = ppo.judge(SMALL, kuhn.task, played._replace(decision=decision), seats, kuhn.values)
    advantage, weight = (np.asarray(each).reshape(forced.shape) for each in (batch.advantage, batch.weight))
    assert not weight[forced].any()
    assert weight.any()
    for env in range(SMALL.envs):
        theirs = loop_advantages(
            np.where(forced[:, env], NOBODY, played.seat[:, env]),
            np.asarray(played.decision.value[:, env], np.float64),
            SCALE * np.asarray(played.reward[:, env]),
            np.asarray(played.terminated[:, env]),
            np.asarray(played.truncated[:, env]),
            seats[env],
            float(kuhn.values[env]),
            SMALL.gamma,
            SMALL.lam,
        )
        np.testing.assert_allclose(advantage[:, env], [each or 0.0 for each in theirs], atol=1e-4)


def cut_short(env, state, action):
    """Where seat 0 was dealt the jack, no game comes to its end."""
    after = sixth_game.play(env, state, action)
    return after.replace(
        terminated=after.terminated & (state.deck[0] > 0), truncated=after.terminated & (state.deck[0] == 0)
    )


class InterruptedKuhnEnv(KuhnEnv):
    id = "kuhn"
    rooms = KuhnEnv.rooms._replace(
        rules=types.SimpleNamespace(legal_actions=sixth_game.legal_actions, play=cut_short),
    )


def test_a_task_pays_as_it_says_and_hints_are_what_a_step_adds_to_its_potential_taken_back_at_every_end():
    """Of a potential that counts moves; whatever happened, a game adds up to what it began with. Paid unscaled."""
    seats = np.array([1.0, -2.0])
    task = ppo.Task(
        networks.make("mlp", InterruptedKuhnEnv(), widths=(8,)),
        reward_scale=SCALE,
        pays=lambda before, after: (after.step_count - 3.0 * before.step_count) * seats,
        potential=lambda state: (1.0 + state.step_count) * seats,
    )

    @jax.jit
    def played(key):
        training = ppo.start(SMALL, task, key)
        _, transitions = ppo.rollout(task, training.learner, training.games.tables, key, SMALL.steps)
        mover = jnp.full(SMALL.envs, NOBODY)
        return (
            training.games.tables.states.step_count,
            transitions,
            ppo.judge(SMALL, task, transitions, mover, 0 * mover),
        )

    moves, transitions, batch = jax.device_get(played(jax.random.key(0)))
    assert (transitions.terminated & ~transitions.truncated).any()
    assert (transitions.truncated & ~transitions.terminated).any()
    advantage = batch.advantage.reshape(SMALL.steps, SMALL.envs)
    for env in range(SMALL.envs):
        paid, hints, count = [], [], moves[env]
        for over in transitions.terminated[:, env] | transitions.truncated[:, env]:
            paid.append((1 - 2 * count) * seats)
            after = 0 if over else count + 2
            hints.append((after - (count + 1)) * seats)
            count = 0 if over else count + 1
        np.testing.assert_allclose(transitions.reward[:, env], paid)
        np.testing.assert_allclose(transitions.hint[:, env], hints)
        theirs = loop_advantages(
            transitions.seat[:, env],
            np.float64(transitions.decision.value[:, env]),
            SCALE * np.array(paid) + hints,
            transitions.terminated[:, env],
            transitions.truncated[:, env],
            NOBODY,
            0.0,
            SMALL.gamma,
            SMALL.lam,
        )
        np.testing.assert_allclose(advantage[:, env], [each or 0.0 for each in theirs], atol=1e-4)


def test_at_the_cut_only_who_is_to_move_and_has_a_choice_is_known(kuhn, monkeypatch):
    """What a rollout ends with: as the fixture judged it where there is a choice, here in every other game."""
    has_choice = np.arange(SMALL.envs) % 2 == 0
    monkeypatch.setattr(ppo, "rollout", lambda *_: (kuhn.after, kuhn.transitions))
    monkeypatch.setattr(ppo, "values_to_move", lambda *_: (kuhn.values, jnp.asarray(has_choice)))
    _, found = ppo.collect(SMALL, kuhn.task, kuhn.learner, kuhn.before, jax.random.key(0))
    nobody = jnp.full(SMALL.envs, NOBODY)
    without = ppo.judge(SMALL, kuhn.task, kuhn.transitions, nobody, kuhn.values)
    for name in ("advantage", "weight"):
        ours, known, unknown = (
            np.asarray(getattr(batch, name)).reshape(SMALL.steps, -1) for batch in (found, kuhn.batch, without)
        )
        np.testing.assert_allclose(ours, np.where(has_choice, known, unknown), atol=1e-6)
        assert (known != unknown)[:, has_choice].any()
        assert (known != unknown)[:, ~has_choice].any()


def test_what_a_seat_to_move_expects_is_read_from_its_own_view(task, judged):
    learner, _, tables = judged
    states, params, seats = tables.states, learner.params, np.arange(ENV.num_players)

    @jax.jit
    @jax.vmap
    def plainly(state):
        values = [task.model.read(params, task.model.look(state, seat)).value for seat in seats]
        return jnp.stack(values), ENV.legal_action_mask(state).sum()

    by_seat, num_legal = plainly(states)
    movers = np.asarray(states.current_player)
    values, has_choice = jax.jit(lambda states: ppo.values_to_move(task, params, states))(states)
    np.testing.assert_allclose(values, np.asarray(by_seat)[np.arange(len(movers)), movers], atol=1e-5)
    np.testing.assert_array_equal(has_choice, num_legal > 1)
    assert (np.ptp(by_seat, axis=1) > 1e-4).all()
    assert len(set(movers)) > 1
    assert 0 < has_choice.sum() < len(movers)


def test_forced_moves_have_exactly_no_log_probability_and_choices_have_some(task, judged):
    _, batch, _ = judged
    decision = batch.transition.decision
    _, mask = jax.vmap(task.model.recall)(decision.kept)
    np.testing.assert_array_equal(decision.log_prob == 0, mask.sum(-1) == 1)
    assert 0.05 < (mask.sum(-1) == 1).mean() < 0.95


def test_an_update_makes_room_for_choices_alone(task):
    assert ppo.room(dataclasses.replace(FULL, choices=0.5), task) == pytest.approx(ppo.room(FULL, task) / 2, abs=4)


def test_the_chance_to_win_is_paid_beside_the_points():
    """Over a whole game the rounds pay the points, and the win less what it was worth to expect it at the start."""
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(1, 2))
    pays = make_task(Config(num_players=2, hand_sizes=(1, 2), win_worth=3.0)).pays

    @jax.jit
    @jax.vmap
    def game(key):
        def turn(state, key):
            after = env.step(state, env.random_action(state, jax.random.bits(key)))
            return after, (pays(state, after), after.rewards)

        keys = jax.random.split(key, env.max_steps + 1)
        last, (paid, rewards) = jax.lax.scan(turn, env.init(keys[0]), keys[1:])
        return paid.sum(0), rewards.sum(0), shared_wins(env.winners(last))

    paid, rewards, wins = game(jax.random.split(jax.random.key(0), 16))
    np.testing.assert_allclose(paid, rewards + 3 * (wins - 0.5), atol=1e-5)
    assert 0 < wins[:, 0].sum() < 16
    assert make_task(Config()).pays is None


def test_a_round_is_settled_where_another_begins_and_where_the_game_ends():
    states = jax.vmap(ENV.init)(jax.random.split(jax.random.key(0), 4)).replace(round=jnp.int8([0, 0, 1, 1]))
    played = states.replace(round=jnp.int8([0, 1, 2, 1]), terminated=jnp.array([False, False, False, True]))
    by_round, whole = make_task(Config()), make_task(Config(by_round=False))
    assert settled(by_round, states, played).tolist() == [False, True, True, True]
    assert settled(whole, states, played).tolist() == [False, False, False, True]
    # What is paid for the place at the end is brought about by all rounds.
    assert make_task(Config(reward="placement")).rounds is None


def numpy_losses(params, view, row, cfg, entropy_weight):
    """The clipped objective in float64 for a network of two layers whose actions are all legal, written plainly."""
    layers = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params["params"])
    hidden = np.maximum(view @ layers["layers_0"]["kernel"] + layers["layers_0"]["bias"], 0)
    out = hidden @ layers["outputs"]["kernel"] + layers["outputs"]["bias"]
    logits, value = out[:, :-1], out[:, -1]
    log_probs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    entropy = -(np.exp(log_probs) * log_probs).sum(1)
    ratio = np.exp(log_probs[np.arange(len(logits)), row["choice"]] - row["log_prob"])
    weight = row["weight"] / row["weight"].sum()
    advantage = row["advantage"] - (weight * row["advantage"]).sum()
    advantage /= np.sqrt((weight * advantage**2).sum())
    surrogate = np.minimum(ratio * advantage, np.clip(ratio, 1 - cfg.clip, 1 + cfg.clip) * advantage)
    found = {
        "policy_loss": -(weight * surrogate).sum(),
        "value_loss": (weight * (value - row["target"]) ** 2).sum() / 2,
        "entropy": (weight * entropy).sum(),
        "approx_kl": (weight * (ratio - 1 - np.log(ratio))).sum(),
        "clip_fraction": (weight * (np.abs(ratio - 1) > cfg.clip)).sum(),
    }
    total = found["policy_loss"] + cfg.value_weight * found["value_loss"] - entropy_weight * found["entropy"]
    return found | {"loss": total}


def test_the_loss_is_that_of_a_plain_numpy_reference(kuhn):
    rng, rows, transition = np.random.default_rng(0), SMALL.envs * SMALL.steps, kuhn.batch.transition
    # As later in an epoch: the policy has moved, and many ratios lie outside the clip, on either side.
    moved = transition.decision._replace(log_prob=transition.decision.log_prob + rng.normal(0, 0.3, rows))
    batch = kuhn.batch._replace(
        advantage=rng.normal(1, 2, rows), target=rng.normal(size=rows), transition=transition._replace(decision=moved)
    )
    batch = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32) if leaf.dtype == np.float64 else leaf, batch)
    params = jax.tree.map(lambda leaf: leaf + 0.3 * rng.normal(size=leaf.shape).astype("f"), kuhn.learner.params)
    row = {
        "choice": np.asarray(moved.choice),
        "log_prob": np.asarray(moved.log_prob, np.float64),
        **{name: np.asarray(getattr(batch, name), np.float64) for name in ("weight", "advantage", "target")},
    }
    theirs = numpy_losses(params, np.asarray(moved.kept.view, np.float64), row, SMALL, 0.2)
    ours, measured = jax.jit(lambda params: ppo.loss(SMALL, kuhn.task, params, batch, 0.2))(params)
    assert 0.3 < theirs["clip_fraction"] < 0.95
    assert 0 < row["weight"].mean() < 0.9
    assert ours == pytest.approx(theirs["loss"], abs=1e-4)
    for name, value in theirs.items():
        assert measured[name] == pytest.approx(value, abs=1e-4), name


def test_a_magnet_pulls_by_its_divergence_and_follows_slowly(kuhn):
    """The loss against numpy; an average that moves by its rate; without weight, the program without it."""
    cfg = dataclasses.replace(SMALL, magnet_weight=0.3, magnet_rate=0.25)
    params, batch, task = kuhn.learner.params, kuhn.batch, kuhn.task
    rng = np.random.default_rng(0)
    magnet = jax.tree.map(lambda leaf: leaf + rng.normal(size=leaf.shape).astype(np.float32), params)

    @jax.jit
    def both(magnet):
        pulled, measured = ppo.loss(cfg, task, params, batch, 0.01, (), magnet)
        plain, _ = ppo.loss(SMALL, task, params, batch, 0.01)
        return pulled - plain, measured["magnet_kl"]

    def log_probs(params):
        def of_one(kept):
            policy, _ = reconsider(task.model, params, kept)
            return policy.below - jnp.log(policy.total)

        return np.asarray(jax.vmap(of_one)(batch.transition.decision.kept), np.float64)

    mine, theirs = log_probs(params), log_probs(magnet)
    weight = np.asarray(batch.weight, np.float64)
    expected = ((np.exp(mine) * (mine - theirs)).sum(-1) * weight).sum() / weight.sum()
    assert expected > 0.01
    difference, divergence = both(magnet)
    assert divergence == pytest.approx(expected, rel=1e-3)
    assert difference == pytest.approx(0.3 * expected, rel=1e-2)
    assert both(params)[1] == pytest.approx(0, abs=1e-6)

    learner = kuhn.learner._replace(magnet=magnet)
    after, _ = jax.jit(lambda learner: ppo.learn(cfg, task, learner, batch, jax.random.key(1)))(learner)
    moved = jax.tree.map(lambda old, new: 0.75 * old + 0.25 * new, magnet, after.params)
    chex.assert_trees_all_close(after.magnet, moved, atol=1e-5)

    def program(cfg):
        return str(jax.make_jaxpr(lambda key: ppo.learn(cfg, task, kuhn.learner, batch, key))(jax.random.key(1)))

    assert program(dataclasses.replace(SMALL, magnet_rate=0.9)) == program(SMALL)


def test_what_an_update_reports_are_plain_statistics(kuhn):
    batch = kuhn.batch._replace(target=kuhn.batch.target + 3)  # a mean that is not zero
    played, found, own = kuhn.transitions, ppo.summarise(batch), np.asarray(batch.weight) > 0
    target, value = np.asarray(batch.target)[own], np.asarray(batch.transition.decision.value)[own]
    assert found["explained_variance"] == pytest.approx(1 - ((target - value) ** 2).mean() / target.var(), rel=1e-3)
    assert found["games"] == played.terminated.sum()
    assert found["own_decisions"] == pytest.approx(float(np.mean(played.is_own)), abs=1e-5)
    # A return is in chips: nothing for the two seats together against itself, else what the learner's seat was paid.
    against_itself, against_others = np.split(np.asarray(played.final_return), 2, axis=1)
    assert (against_itself == 0).all()
    assert {-2.0, -1.0, 1.0, 2.0} >= set(np.unique(against_others)) - {0.0} > set()
    assert found["return"] == pytest.approx(float(against_others.sum() / played.terminated.sum()), abs=1e-4)


def test_the_learner_plays_its_seats_and_its_rivals_play_theirs(kuhn):
    """Who alternates has passed after an even number of words and bet after an odd one."""
    played = kuhn.transitions
    words = np.asarray(played.decision.kept.view)[..., 3:].sum(-1)
    own = np.asarray(played.is_own)
    np.testing.assert_array_equal(played.action[own], played.decision.action[own])
    np.testing.assert_array_equal(played.action[~own], words[~own] % 2)
    assert (played.decision.action[~own] != played.action[~own]).any()  # the learner would have done otherwise
    assert own[:, : SMALL.envs // 2].all()
    assert 0.3 < own[:, SMALL.envs // 2 :].mean() < 0.7


def test_a_rival_that_thinks_is_asked_only_where_it_is_to_move_and_plays_the_same(kuhn):
    task = ppo.Task(kuhn.task.model, opponents.parse(("self=0.5", "ponders=0.5")), reward_scale=SCALE)
    play = jax.jit(lambda key: ppo.rollout(task, kuhn.learner, kuhn.before, key, SMALL.steps)[1])
    pondered = play(jax.random.key(3))
    own, words = np.asarray(pondered.is_own), np.asarray(pondered.decision.kept.view)[..., 3:].sum(-1)
    np.testing.assert_array_equal(pondered.action[own], pondered.decision.action[own])
    np.testing.assert_array_equal(pondered.action[~own], words[~own] % 2)
    assert (~own).sum() > SMALL.envs


@pytest.mark.parametrize("seated", [0, 1])
def test_kinds_that_share_a_lane_leave_each_other_alone(kuhn, seated):
    """In the two stages of a training other rivals sit in the same games: one of them passes and thinks, one bets."""
    early, late = (opponents.parse((f"{kind}=1",)) for kind in ("hesitates", "bets"))
    mixture = opponents.in_stages(early, late, 5)
    states, own = kuhn.before.states, jnp.full(SMALL.envs, 7)
    lineup = opponents.Lineup(jnp.full(SMALL.envs, seated, jnp.int8), jnp.zeros(SMALL.envs, jnp.int8))
    is_own = jnp.arange(SMALL.envs) % 2 == 0
    model = kuhn.task.model
    play = jax.jit(lambda key: opponents.rival_actions(model, mixture, None, lineup, states, own, is_own, key))
    expected = np.where(is_own, 7, (PASS, BET)[seated])
    np.testing.assert_array_equal(play(jax.random.key(0)), expected)


def test_a_lineup_lasts_for_a_game_and_the_learning_seat_changes_from_game_to_game(kuhn):
    played = kuhn.transitions
    lanes = slice(SMALL.envs // 2, None)  # against others
    ended = np.asarray(played.terminated[:, lanes])
    for own, seat, ends in zip(
        np.asarray(played.is_own[:, lanes]).T, np.asarray(played.seat[:, lanes]).T, ended.T, strict=True
    ):
        mine = np.where(own, seat, 1 - seat)  # the learner's seat at every step
        assert (mine[1:] == mine[:-1])[~ends[:-1]].all()
    before, after = (np.asarray(tables.lineup.seat)[lanes] for tables in (kuhn.before, kuhn.after))
    assert (before != after).any()
    assert (before == after)[~ended.any(0)].all()


def test_past_selves_play_as_they_once_did_each_in_its_own_games(kuhn):
    """Of two past selves one always bets and one never, while the learner always passes."""
    task = ppo.Task(kuhn.task.model, opponents.parse(("self=1", "past=1")))

    def leaning(*tilts):
        def tilt(path, leaf):
            is_bias = [key.key for key in path[-2:]] == ["outputs", "bias"]
            return np.stack([np.array([0, each, 0], "f") if is_bias else np.asarray(leaf) for each in tilts])

        return jax.tree_util.tree_map_with_path(tilt, kuhn.learner.params)

    params = jax.tree.map(lambda leaf: leaf[0], leaning(-50))
    learner = kuhn.learner._replace(params=params, past=opponents.PastSelves(leaning(50, -50), jnp.array([0, 1])))
    _, played = jax.jit(lambda key: ppo.rollout(task, learner, kuhn.before, key, 8))(jax.random.key(1))
    bets, own = np.asarray(played.action == BET), np.asarray(played.is_own)
    assert not bets[own].any()
    against = [np.flatnonzero(~own.all(0) & (np.arange(SMALL.envs) % 2 == i)) for i in range(2)]
    shares = sorted(bets[:, lanes][~own[:, lanes]].mean() for lanes in against)
    assert shares == [0.0, 1.0]


def test_schedules_run_in_straight_lines_from_their_first_to_their_last_value():
    cfg = PPO(learning_rate=0.5, final_learning_rate=0.1, max_gradient=1e9, entropy_weight=0.4, total_steps=200_000)
    assert cfg.updates == 4
    assert [float(ppo.entropy_weight_at(cfg, updates)) for updates in (0, 2)] == pytest.approx([0.4, 0.2005])
    optimiser, params = ppo.make_optimiser(cfg, 3), {"x": jnp.zeros(1)}
    state, changes = optimiser.init(params), []
    for _ in range(4 * 3 + 1):
        change, state = optimiser.update({"x": jnp.ones(1)}, state, params)
        changes.append(-change["x"].item())
    assert changes == pytest.approx(np.linspace(0.5, 0.1, 13), rel=1e-3)


def kuhn_nodes():
    """Every deal with every unfinished sequence of words."""
    sequences = [(), (PASS,), (BET,), (PASS, BET)]
    return [(deck, said) for deck in itertools.permutations(range(3)) for said in sequences]


def kuhn_value(seat, plays):
    """What `seat` wins from a uniformly random opponent by betting where `plays[card, said]`, exactly."""

    def expect(deck, said):
        bets = said.count(BET)
        if len(said) >= 2 and said != (PASS, BET):  # settled
            winner = (said.index(BET) % 2) if bets == 1 else int(deck[1] > deck[0])
            return (2 if bets == 2 else 1) * (1 if winner == seat else -1)
        if len(said) % 2 == seat:
            return expect(deck, (*said, int(plays[deck[seat], said])))
        return (expect(deck, (*said, PASS)) + expect(deck, (*said, BET))) / 2

    return np.mean([expect(deck, ()) for deck in itertools.permutations(range(3))])


def best_against_random(seat):
    """The most that any plan wins: two sequences of words at which the seat speaks, three cards."""
    places = [(card, said) for card in range(3) for said in {0: [(), (PASS, BET)], 1: [(PASS,), (BET,)]}[seat]]
    plans = (dict(zip(places, plan, strict=True)) for plan in itertools.product((PASS, BET), repeat=len(places)))
    return max(kuhn_value(seat, plan) for plan in plans)


def test_a_tiny_game_is_learned_to_its_known_value():
    """Kuhn poker against a random player: the best reply is known, and PPO must find it from either seat."""
    task = ppo.Task(networks.make("mlp", KUHN, widths=(32,)), opponents.parse(("random=1",)))
    cfg = PPO(total_steps=40 * 128 * 16, envs=128, steps=16, minibatches=8, epochs=4, learning_rate=5e-3)
    training, measured = jax.jit(lambda key: ppo.advance(cfg, task, ppo.start(cfg, task, key), 40))(jax.random.key(0))
    assert measured["return"][-10:].mean() > measured["return"][:3].mean() + 0.3

    step, act = jax.jit(KUHN.step), jax.jit(network_agent(task.model, training.learner.params, greedy=True))
    plan = {}
    for deck, said in kuhn_nodes():
        state = KUHN.init(jax.random.key(0), deal={"deck": deck})
        for action in said:
            state = step(state, action)
        plan[deck[len(said) % 2], said] = int(act(jax.random.key(0), state, state.current_player))
    for seat in (0, 1):
        assert kuhn_value(seat, plan) == pytest.approx(best_against_random(seat), abs=1e-9)


def test_rotations_put_every_agent_in_every_seat():
    assert rotations([0, 1, 2]).tolist() == [[0, 1, 2], [2, 0, 1], [1, 2, 0]]


@pytest.mark.parametrize(
    ("winners", "shares"),
    [
        ([True, False, False, False], [1, 0, 0, 0]),
        ([True, True, False, True], [1 / 3, 1 / 3, 0, 1 / 3]),
        ([True] * 4, [0.25] * 4),
        ([False] * 4, [0] * 4),
    ],
)
def test_a_win_is_shared_by_the_winners_alone(winners, shares):
    np.testing.assert_allclose(shared_wins(np.array(winners)), shares, rtol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 4, 7])
def test_only_the_games_that_ask_are_filled_in(size):
    """In parts of any size; the last part is not filled up with games that others decide."""
    where = np.isin(np.arange(7), [1, 4, 6])
    given = jnp.arange(7), 10 * jnp.arange(7)
    found = fill_in(lambda a, b: (a + b, a > 4), jnp.asarray(where), given, (jnp.full(7, -1), jnp.zeros(7, bool)), size)
    assert found[0].tolist() == [-1, 11, -1, -1, 44, -1, 66]
    assert found[1].tolist() == [False] * 6 + [True]


def test_a_standard_error_is_that_of_a_mean():
    assert mean_and_error(np.array([1.0, 2.0, 3.0, 6.0])) == pytest.approx((3.0, np.sqrt(14 / 3 / 4)))
    found = over_seeds([{"wins": (1.0, 9.0)}, {"wins": (3.0, 9.0)}])
    assert found["wins"] == pytest.approx((2.0, 1.0))


def test_matches_of_a_known_result():
    """Who always bets takes one chip from who always passes, from either seat and whatever the cards."""
    against_passing = {"wins_percent": (100.0, 0.0), "score": (1.0, 0.0), "others_score": (-1.0, 0.0)}
    assert versus(KUHN, BETS, PASSES, seed=0, deals=20) == against_passing
    # One match compiles for each rival and takes parameters: here the action itself.
    match = make_match(KUHN, lambda action: lambda key, state, player: action, [BETS, PASSES], 16)
    assert match(jnp.int32(BET), 1, jax.random.key(0), 40) == against_passing
    folded = match(jnp.int32(PASS), 0, jax.random.key(0), 40)
    assert folded == {"wins_percent": (0.0, 0.0), "score": (-1.0, 0.0), "others_score": (1.0, 0.0)}
    # Two who always bet show their cards for two chips; over both seats of the same deal they come out even.
    even = match(jnp.int32(BET), 0, jax.random.key(0), 40)
    assert even == {"wins_percent": (50.0, 0.0), "score": (0.0, 0.0), "others_score": (0.0, 0.0)}


def test_played_games_are_the_same_deals_in_every_seat_and_watched_to_their_end():
    counted = (np.int32(0), lambda log, before, action, after: log + 1)
    played = play(KUHN, (BETS, ALTERNATES), rotations([0, 1]), jax.random.key(3), 21, batch=8, watch=counted)
    assert played.returns.shape == (21, 2, 2)
    np.testing.assert_array_equal(played.states.deck[:, 0], played.states.deck[:, 1])
    assert len(np.unique(played.states.deck, axis=0)) > 3
    np.testing.assert_array_equal(played.returns, jax.vmap(jax.vmap(KUHN.scores))(played.states))
    # Bet and fold; pass, bet and fold: who alternates calls as the second and folds as the third to speak.
    assert played.log.tolist() == [[2, 3]] * 21
    np.testing.assert_array_equal(np.abs(played.returns).max(-1), [[2, 1]] * 21)
    whole = play(KUHN, (BETS, ALTERNATES), rotations([0, 1]), jax.random.key(3), 21)
    np.testing.assert_array_equal(played.states.deck, whole.states.deck)  # however many are played at a time


def test_a_match_counts_the_deals_asked_for_and_deals_anew_for_each_part():
    def measure(env, played):
        deals, deck = len(played.returns), played.states.deck[:, 0]
        is_repeated = float((deck[:16] == deck[16:32]).all())
        return {"deals": Counts([deals] * deals, [1] * deals), "repeated": Counts([is_repeated] * deals, [1] * deals)}

    protocol = Protocol("deals", 0.0, rotations([0, 1]), measure)
    match = make_match(KUHN, lambda action: lambda key, state, player: action, [PASSES], 16, protocol)
    assert match(jnp.int32(BET), 0, jax.random.key(0), 40) == {"deals": (40.0, 0.0), "repeated": (0.0, 0.0)}


def test_lanes_widen_to_a_whole_number_of_parts_within_the_batch():
    wide = [opponents.widened(slice(*lanes), 4, 16) for lanes in ((0, 3), (5, 9), (6, 7), (13, 16), (11, 16))]
    assert [(lanes.start, lanes.stop) for lanes in wide] == [(0, 4), (5, 9), (6, 10), (12, 16), (8, 16)]


@pytest.mark.parametrize("num_envs", [7, 64, 512])
@pytest.mark.parametrize(
    "mixture",
    [
        MIXED,
        opponents.parse(("self=1", "random=1")),
        opponents.parse(("random=0.01", "self=0.99")),
        opponents.in_stages(opponents.parse(("rule=1", "self=2")), opponents.parse(("past=3", "rule=1")), 5),
    ],
)
def test_kinds_of_opponents_lie_side_by_side_in_their_shares(mixture, num_envs):
    """At every stage each kind sits in its own games alone, as often as its share says, and few games lie idle."""
    for updates in (0, 9):
        shares = np.asarray(mixture.shares_at(jnp.int32(updates)))
        keys = jax.random.split(jax.random.key(0), 200)
        draw = functools.partial(opponents.sample_lineup, mixture, 3, jnp.int32(updates), num_envs=num_envs)
        rival = np.asarray(jax.jit(jax.vmap(draw))(keys).rival)
        for i, share in enumerate(shares):
            lanes = mixture.lanes(i, num_envs)
            where = np.flatnonzero((rival == i).any(0))
            assert set(where) <= set(range(lanes.start, lanes.stop))
            assert (rival == i).mean() == pytest.approx(share, abs=0.5 / num_envs + 1e-3)
            if not mixture.early_updates:
                assert lanes.stop - lanes.start <= share * num_envs + 4


def test_shares_are_scaled_and_own_decisions_counted():
    mixture = opponents.parse(("self=1", "rule:hard=3"))
    assert mixture.shares == (0.25, 0.75)
    assert mixture.own_decisions(1 / 4) == pytest.approx(0.25 + 0.75 / 4)
    lineup = opponents.sample_lineup(mixture, 4, jnp.int32(0), jax.random.key(0), 4000)
    assert np.bincount(lineup.seat, minlength=4).min() > 850


def test_against_others_the_learner_takes_one_seat_or_all_seats_of_its_side():
    """Saboteur's roles, with the learner at seat 1 of two games: a miner among three, a saboteur alone."""
    env = jaxgames.make("saboteur", num_players=4, rounds=1)
    roles = ([0, 1, 1, 1, 1], [1, 0, 1, 1, 1])  # role cards: 0 for the saboteur, the last one lies aside
    first = jax.jit(env.init)(jax.random.key(0))
    states = [first.replace(roles=np.array([row], np.int8) == 0) for row in roles for _ in range(2)]
    states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    lineup = opponents.Lineup(rival=jnp.array([0, 1, 0, 1]), seat=jnp.array([1, 1, 1, 1]))
    mixture, sides = opponents.parse(("self=1", "rule=1")), ppo_saboteur.roles_of(env)
    own = np.asarray(opponents.own_seats(mixture, sides, lineup, states)).astype(int).tolist()
    assert own == [[1, 1, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1], [0, 1, 0, 0]]
    own = np.asarray(opponents.own_seats(mixture, None, lineup, states)).astype(int).tolist()
    assert own == [[1, 1, 1, 1], [0, 1, 0, 0]] * 2
    for role, against in (("saboteurs", ([1, 0, 0, 0], [0, 1, 0, 0])), ("miners", ([0, 1, 1, 1], [1, 0, 1, 1]))):
        sides = ppo_saboteur.roles_of(env, role)
        own = np.asarray(opponents.own_seats(mixture, sides, lineup, states)).astype(int).tolist()
        assert own == [[1, 1, 1, 1], against[0], [1, 1, 1, 1], against[1]]


def test_a_return_is_the_mean_of_the_learners_seats_if_it_has_any():
    returns = jnp.array([[1.0, 5.0, 3.0], [1.0, 5.0, 3.0]])
    own = jnp.array([[True, True, False], [False, False, False]])
    assert own_return(returns, own).tolist() == [3.0, 0.0]


@pytest.mark.parametrize("num_players", [3, 4, 5, 10])
def test_the_share_of_a_side_is_that_of_all_deals_of_the_roles(num_players):
    """By trying every order of the role cards, of which each seat takes one."""
    env = jaxgames.make("saboteur", num_players=num_players)
    cards = [i < env.num_saboteurs for i in range(env.num_roles)]
    # Which card lies aside decides how many of each role sit at the table.
    sizes = [(sum(cards) - aside, num_players - sum(cards) + aside) for aside in cards]
    share = np.mean([(a**2 + b**2) / num_players**2 for a, b in sizes])
    assert ppo_saboteur.roles_of(env).share == pytest.approx(share)
    for role, counts in zip(("saboteurs", "miners"), zip(*sizes, strict=True), strict=True):
        assert ppo_saboteur.roles_of(env, role).share == pytest.approx(np.mean(counts) / num_players)


def test_past_selves_are_kept_over_the_whole_run():
    """Of 160 updates eight are left: the first, and the others not much further apart than a seventh of the run."""
    past = opponents.first_selves({"x": jnp.zeros(2)}, 8)
    keep = jax.jit(lambda past, updates: opponents.keep_self(past, {"x": jnp.full(2, updates)}, updates, 2))
    for updates in range(1, 161):
        past = keep(past, jnp.int32(updates))
    times = np.sort(past.updates)
    assert times[0] == 0
    assert times[-1] == 160
    assert (times % 2 == 0).all()
    assert np.diff(times).max() <= 2 * 160 / 7
    np.testing.assert_array_equal(past.params["x"], np.stack([past.updates] * 2, 1))
    alone = opponents.keep_self(opponents.first_selves({"x": jnp.zeros(2)}, 1), {"x": jnp.ones(2)}, jnp.int32(1), 1)
    assert alone.updates.tolist() == [1]


@pytest.fixture(scope="module")
def task():
    auxiliary = Auxiliary(ENV)
    model = networks.make("mlp", ENV, widths=(32,), auxiliary=auxiliary.heads)
    return ppo.Task(model, MIXED, auxiliary=auxiliary, priority=ability_priority)


FULL = PPO(
    total_steps=1024,
    envs=16,
    steps=32,
    minibatches=4,
    past_selves=2,
    past_every=1,
    auxiliary_weight=0.1,
    prioritised=True,
    replay=160,
    importance=True,
)


@pytest.fixture(scope="module")
def two_seeds(task):
    """Two seeds at once, all [seed, ...]: the first batch, the training around two updates, and what they measured."""
    before = jax.jit(jax.vmap(lambda key: ppo.start(FULL, task, key)))(jax.random.split(jax.random.key(0), 2))
    summarise = ppo.summarise
    with pytest.MonkeyPatch.context() as patch:  # an update tells its batch too: no rollout is compiled for it alone
        patch.setattr(ppo, "summarise", lambda batch, axis: summarise(batch, axis) | {"batch": batch})
        after, measured = jax.jit(jax.vmap(lambda start: ppo.advance(FULL, task, start, 2)))(before)
    batch = jax.tree.map(lambda leaf: leaf[:, 0], measured.pop("batch"))
    return batch, before, after, measured


@pytest.fixture(scope="module")
def judged(two_seeds):
    """A learner before its first update, the batch it learns from, and the tables it plays at."""
    batch, before, after, _ = two_seeds
    of_first = jax.device_get((before.learner, batch, after.games.tables))
    return jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), of_first)


@pytest.fixture(scope="module")
def gradient(task):
    return jax.jit(jax.grad(lambda params, batch: ppo.loss(FULL, task, params, batch, 0.01), has_aux=True))


def test_the_ratio_is_one_before_the_first_step_also_across_endings(judged, gradient):
    learner, batch, _ = judged
    assert batch.transition.terminated.sum() > 8
    losses = gradient(learner.params, batch)[1]
    assert losses["ratio_error"] < 1e-5
    assert losses["approx_kl"] < 1e-6
    assert losses["clip_fraction"] == 0


def test_only_the_learners_own_decisions_teach(judged, gradient):
    learner, batch, _ = judged
    teaches, decision = batch.weight > 0, batch.transition.decision
    assert 0.2 < teaches.mean() < 0.9
    spoilt = batch._replace(
        advantage=jnp.where(teaches, batch.advantage, 1e3),
        target=jnp.where(teaches, batch.target, -1e3),
        transition=batch.transition._replace(
            decision=decision._replace(log_prob=jnp.where(teaches, decision.log_prob, -5.0))
        ),
    )
    plain, other = (gradient(learner.params, each)[0] for each in (batch, spoilt))
    chex.assert_trees_all_close(plain, other, atol=1e-5)


def test_rows_that_teach_come_first_and_once(task, judged):
    batch = judged[1]
    rows = np.asarray(ppo.shuffle(FULL, task, batch, jax.random.key(1))[0])
    assert len(set(rows.tolist())) == len(rows)
    assert len(rows) % FULL.minibatches == 0
    teaches = np.asarray(batch.weight) > 0
    assert teaches[rows].sum() == min(teaches.sum(), len(rows))
    parts = teaches[rows].reshape(FULL.minibatches, -1).sum(1)
    assert parts.max() - parts.min() <= 1  # every minibatch has its part of them
    assert (rows != np.asarray(ppo.shuffle(FULL, task, batch, jax.random.key(2))[0])).mean() > 0.9


def test_rollouts_record_legal_play_and_rotate_the_learning_seat(task, judged):
    _, batch, tables = judged
    played = batch.transition
    _, mask = jax.vmap(task.model.recall)(played.decision.kept)
    assert jnp.take_along_axis(mask, played.action[:, None], axis=-1).all()
    assert jnp.take_along_axis(mask, played.decision.choice[:, None], axis=-1).all()
    assert set(np.unique(tables.lineup.rival)) == set(range(4))
    assert set(np.unique(played.seat[played.is_own])) == {0, 1, 2}


@pytest.mark.parametrize("size", [1, 31, 32, 33, 100])
def test_a_mask_survives_its_bits(size):
    mask = np.random.default_rng(size).random(size) < 0.5
    words = pack(jnp.asarray(mask))
    assert words.shape == (-(-size // 32),)
    np.testing.assert_array_equal(members(words, size), mask)


def test_everything_trains_together_for_many_seeds_and_past_selves_are_kept(two_seeds):
    _, _, after, measured = two_seeds
    assert all(np.isfinite(values).all() and values.shape == (2, 2) for values in measured.values())
    assert {"abilities_loss", "bid_loss", "cards_loss", "replay_loss"} <= set(measured)
    assert (measured["cards_loss"][:, 1] < measured["cards_loss"][:, 0]).all()
    buffer = after.games.buffer
    assert (buffer.current_index == 2 * FULL.rows - FULL.replay).all()  # a ring: the oldest are overwritten
    assert buffer.is_full.all()
    now, past = (tree["params"]["outputs"]["kernel"] for tree in (after.learner.params, after.learner.past.params))
    assert not np.allclose(now[0], now[1])
    assert np.sort(after.learner.past.updates).tolist() == [[0, 2]] * 2
    newest = np.argmax(after.learner.past.updates, 1)
    assert not np.allclose(past[0, newest[0]], past[0, 1 - newest[0]])
    assert (after.learner.updates == 2).all()


def test_replay_has_an_optimiser_of_its_own(two_seeds):
    """Adam counts its steps: those of the policy and those of replay do not mix."""

    def steps(state):
        return {int(leaf[0]) for path, leaf in jax.tree_util.tree_leaves_with_path(state) if "count" in str(path[-1])}

    learner = two_seeds[2].learner
    assert steps(learner.optimiser) == {2 * FULL.epochs * FULL.minibatches}
    assert steps(learner.replay_optimiser) == {2 * FULL.replay_steps}


def test_replay_leaves_the_policy_where_it_was_and_moves_the_value(task, judged):
    """The loss is zero for a value that is right, grows with its error, and with every move of the policy."""
    learner, batch, _ = judged
    right = ppo.experience(batch)._replace(target=batch.transition.decision.value)
    cfg = PPO(**{**vars(FULL), "auxiliary_weight": 0.0})
    loss = jax.jit(lambda params, rows: replay.replay_loss(cfg, task, params, learner.params, rows, batch.weight))
    assert loss(learner.params, right) == pytest.approx(0, abs=1e-6)
    assert loss(learner.params, right._replace(target=right.target + 2)) == pytest.approx(0.5 * 0.5 * 4, rel=1e-4)
    moved = jax.tree.map(lambda leaf: leaf + 0, learner.params)
    kernel = moved["params"]["outputs"]["kernel"]
    moved["params"]["outputs"]["kernel"] = kernel.at[:, :-1].multiply(400)  # policy columns alone
    assert loss(moved, right) > 1e-3


def test_auxiliary_labels_of_a_rollout_are_those_of_the_rules_page(judged):
    """SK-62: known where the round was scored within the rollout; cards only where they are hidden."""
    labels = judged[1].labels
    assert 0.7 < labels.known.mean() < 1
    assert labels.bid.min() >= 0
    assert labels.bid.max() <= 4
    assert labels.cards.max() == ENV.num_players - 1
    assert (labels.cards.min(-1) == -1).all()


def test_rows_without_a_label_cost_nothing(task, judged):
    labels = judged[1].labels
    blank = labels._replace(known=jnp.zeros_like(labels.known), cards=jnp.full_like(labels.cards, -1))
    rows = labels.bid.shape[0]
    predicted = {name: jnp.ones((rows, size)) for name, size in task.auxiliary.heads}
    losses = jax.jit(task.auxiliary.losses)
    assert all((loss == 0).all() for loss in losses(predicted, blank).values())
    assert all((loss >= 0).all() for loss in losses(predicted, labels).values())


def test_auxiliary_losses_weigh_what_the_settings_say(task, judged):
    learner, batch, _ = judged
    light, heavy = (PPO(**{**vars(FULL), "auxiliary_weight": weight}) for weight in (0.1, 0.7))
    loss = jax.jit(lambda params: [ppo.loss(cfg, task, params, batch, 0.01) for cfg in (light, heavy)])
    (a, found), (b, _) = loss(learner.params)
    labels = sum(float(found[f"{name}_loss"]) for name, _ in task.auxiliary.heads)
    assert float(b - a) == pytest.approx(0.6 * labels, rel=1e-4)


def test_ability_decisions_are_sampled_five_times_as_often(task, judged):
    """SK-61: with replacement, in proportion to priority; importance weights undo it."""
    batch = judged[1]
    rare, teaches = np.asarray(batch.transition.priority) == 5, np.asarray(batch.weight) > 0
    assert 0 < rare.mean() < 0.2
    sample = jax.jit(jax.vmap(lambda key: ppo.sample_by_priority(FULL, task, batch, key)))
    rows, weights = map(np.asarray, sample(jax.random.split(jax.random.key(1), 50)))
    assert teaches[rows].all()
    share = 5 * rare[teaches].mean() / (5 * rare[teaches].mean() + 1 - rare[teaches].mean())
    assert rare[rows].mean() == pytest.approx(share, abs=0.02)
    assert weights.mean() == pytest.approx(1, abs=0.02)
    assert weights[rare[rows]].max() < 1


def test_replay_samples_by_priority_and_never_rows_without_weight():
    buffer = replay.make_buffer(4000, 4000)
    row = replay.Experience(jnp.zeros(2), jnp.float32(0), jnp.float32(0), ())
    rows = jax.tree.map(lambda leaf: jnp.zeros((4, *leaf.shape), leaf.dtype), row)
    rows = rows._replace(target=jnp.arange(4.0), weight=jnp.array([1.0, 1.0, 0.0, 1.0]))

    @jax.jit
    def sample(priority, key):
        return buffer.sample(replay.add(buffer, buffer.init(row), rows, priority), key)

    sampled = sample(jnp.array([1.0, 5.0, 9.0, 1.0]), jax.random.key(0))
    shares = np.bincount(sampled.experience.target.astype(int), minlength=4) / 4000
    np.testing.assert_allclose(shares, [1 / 7, 5 / 7, 0, 1 / 7], atol=0.03)
    np.testing.assert_allclose(replay.importance(sampled.probabilities, 3).mean(), 1, atol=0.05)


def test_the_network_has_the_heads_of_the_rules_page_in_one_product():
    """SK-63: 230 -> 256 -> 256, heads 11 + 13 + 6 + 13 + 3 + 3 and one value; Jade is forced and has none."""
    model = networks.make("mlp", jaxgames.make("skullking"))
    assert model.view_shapes().shape == (230,)
    shapes = jax.eval_shape(model.init, jax.random.key(0))["params"]
    kernels = {name: layer["kernel"].shape for name, layer in shapes.items()}
    assert kernels == {"layers_0": (230, 256), "layers_1": (256, 256), "outputs": (256, 50)}
    assert [size for _, size in model.network.heads] == [11, 13, 6, 13, 3, 3]


def test_bfloat16_is_for_the_products_alone():
    """On hardware that has it; what is kept and what the loss sees stays float32."""
    coarse, fine = (networks.make("mlp", ENV, widths=(64, 64), dtype=dtype) for dtype in ("bfloat16", "float32"))
    seen = jax.random.uniform(jax.random.key(0), (32, *coarse.view_shapes().shape))
    params = coarse.init(jax.random.key(1))
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype("float32")}
    jaxpr = str(jax.make_jaxpr(coarse.network.apply)(params, seen))
    products = [line for line in jaxpr.splitlines() if "dot_general" in line]
    assert len(products) == 3
    assert all("bf16" in line for line in products)
    answers = (jax.jit(model.network.apply)(params, seen)[:2] for model in (coarse, fine))
    for a, b in zip(*answers, strict=True):
        assert a.dtype == b.dtype == jnp.float32
        np.testing.assert_allclose(a, b, atol=0.05)


def test_masked_actions_are_never_sampled_and_an_empty_row_stays_finite():
    logits = jnp.array([[0.0, 9.0, 1.0], [1.0, 2.0, 3.0]])
    mask = jnp.array([[True, False, True], [False, False, False]])
    draw = jax.jit(jax.vmap(lambda key: categorical(logits[0], mask[0]).sample(key)))
    assert set(np.unique(draw(jax.random.split(jax.random.key(0), 200)))) == {0, 2}
    mode = jax.jit(lambda mask: categorical(logits[0], mask).mode())
    assert mode(mask[0]) == 2
    assert mode(jnp.array([True, True, True])) == 1

    def both(logits, mask):
        policy = categorical(logits, mask)
        return jnp.stack([policy.log_prob(0), policy.entropy(), policy.kl(categorical(2 * logits, mask))])

    assert np.isfinite(jax.jit(jax.vmap(both))(logits, mask)).all()
    slopes = np.asarray(jax.jit(jax.vmap(jax.jacobian(both)))(logits, mask))
    assert np.isfinite(slopes).all()
    assert (slopes[0, :, 1] == 0).all()


def test_a_policy_and_its_slopes_are_those_of_distrax():
    rows = 64
    logits = jax.random.normal(jax.random.key(0), (rows, 50)) * jnp.exp(jnp.linspace(-3, 4, rows))[:, None]
    mask = jax.random.bernoulli(jax.random.key(1), 0.4, (rows, 50)).at[:, 7].set(True)
    other = jax.random.normal(jax.random.key(2), (rows, 50))
    sample = jax.jit(jax.vmap(lambda logits, mask, key: categorical(logits, mask).sample(key)))
    choice = sample(logits, mask, jax.random.split(jax.random.key(3), rows))

    def ours(logits):
        policy = jax.vmap(categorical)(logits, mask)
        kl = jax.vmap(lambda a, b: a.kl(b))(policy, jax.vmap(categorical)(other, mask))
        return jax.vmap(lambda p, c: p.log_prob(c))(policy, choice), jax.vmap(lambda p: p.entropy())(policy), kl

    def theirs(logits):
        cut = [distrax.Categorical(logits=jnp.where(mask, each, -1e9)) for each in (logits, other)]
        return cut[0].log_prob(choice), cut[0].entropy(), cut[0].kl_divergence(cut[1])

    @jax.jit
    def both(logits):
        slopes = [[jax.grad(lambda x, of=of, i=i: of(x)[i].sum())(logits) for i in range(3)] for of in (ours, theirs)]
        return (ours(logits), theirs(logits)), slopes

    values, slopes = both(logits)
    for i in range(3):
        np.testing.assert_allclose(*(of[i] for of in values), atol=1e-4, rtol=1e-4)
        np.testing.assert_allclose(*(of[i] for of in slopes), atol=1e-4, rtol=1e-3)


def test_actions_are_sampled_as_often_as_the_policy_says():
    """Steep and flat policies over 50 actions: z of every count, and no illegal one among the unlikely."""
    logits = jax.random.normal(jax.random.key(0), (4, 50)) * jnp.array([[0.1], [1.0], [3.0], [30.0]])
    mask = jax.random.bernoulli(jax.random.key(1), 0.6, (4, 50)).at[:, 7].set(True)
    samples = 20_000

    @jax.jit
    @jax.vmap
    def draw(logits, mask, key):
        policy = categorical(logits, mask)
        return jax.vmap(policy.sample)(jax.random.split(key, samples)), policy.widths

    sampled, weights = map(np.asarray, draw(logits, mask, jax.random.split(jax.random.key(2), 4)))
    for row, widths, legal in zip(sampled, weights.astype(np.float64), np.asarray(mask), strict=True):
        counts, probability = np.bincount(row, minlength=50), widths / widths.sum()
        assert counts[~legal].sum() == 0
        deviation = np.sqrt(samples * probability * (1 - probability)) + 1
        assert (np.abs(counts - samples * probability) < 5 * deviation).all()


def test_a_kind_of_network_that_is_not_known_is_a_sentence():
    with pytest.raises(ValueError, match="kind must be one of mlp"):
        networks.make("perceptron", ENV)


def test_an_unknown_agent_or_folder_is_a_sentence():
    with pytest.raises(ValueError, match="there is no checkpoint at nowhere"):
        agents.make("ppo:nowhere", ENV)
    with pytest.raises(ValueError, match="sampled or greedy"):
        agents.make("ppo:nowhere,wild", ENV)


def test_ability_baselines_swap_only_ability_decisions():
    states = random_states(jaxgames.make("skullking"), jax.random.key(5), 64, 200)
    env = jaxgames.make("skullking")
    fixed = lambda key, state, player: jnp.int32(-7)  # noqa: E731
    act = jax.jit(jax.vmap(with_abilities(env, fixed, "seed")))
    action = act(jax.random.split(jax.random.key(0), 64), states, states.current_player)
    np.testing.assert_array_equal(action == -7, states.phase <= 1)
    assert with_abilities(env, fixed, "learned") is fixed


def test_the_curriculum_turns_abilities_on_by_steps():
    """SK-60: Harry, Roatan, Rosie, Bendt, Jade, in this order; the array is data, nothing recompiles."""
    task = make_task(Config(curriculum=(10, 20, 30, 40, 50), envs=1, steps=10, minibatches=1, past_selves=1))
    on = [task.deal_data(jnp.int32(updates))["abilities"].tolist() for updates in range(6)]
    assert [sum(each) for each in on] == [0, 1, 2, 3, 4, 5]
    assert on[1] == [False, False, False, False, True]  # Rosie, Bendt, Roatan, Jade, Harry
    assert on[3] == [True, False, True, False, True]
    assert all(make_task(Config()).deal_data(jnp.int32(0))["abilities"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"win_worth": -1.0}, "win_worth must not be below 0"),
        ({"choices": 0.0}, "choices must be above 0"),
        ({"minibatches": 7}, "must divide by minibatches = 7"),
        ({"past_selves": 3}, "must divide by past_selves = 3"),
        ({"envs": 0}, "envs must be at least 1"),
        ({"gamma": 1.5}, "gamma must be in 0..1"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"reward": "points"}, "reward must be one of score, placement"),
        ({"opponents": ("self",)}, "kind=share"),
        ({"opponents": ("self=1", "self=2")}, "only once"),
        ({"opponents": ("self=-1",)}, "share above 0"),
        ({"curriculum": (1, 2)}, "five numbers"),
        ({"curriculum_opponents": ("self=1",)}, "need a curriculum"),
        ({"precision": "float8"}, "float32 or bfloat16"),
        ({"checkpoint_every": 3, "report_every": 2}, "must divide by report_every"),
        ({"widths": ()}, "widths"),
        ({"seeds": 0}, "seeds must be at least 1"),
        ({"seeds": 2, "shards": 2}, "seeds = 2 trainings share one device"),
        ({"replay": 5}, "at least one minibatch"),
        ({"importance": True}, "set prioritised or replay"),
        ({"auxiliary_weight": -1.0}, "auxiliary_weight must not be below 0"),
    ],
)
def test_settings_that_cannot_work_are_refused_in_a_sentence(settings, message):
    with pytest.raises(ValueError, match=message):
        Config(**settings)


def test_opponents_change_when_the_curriculum_is_over():
    """SK-60, stage 3: self-play and mixed opponents follow on the opponents of the first stages."""
    cfg = Config(
        curriculum=(0, 0, 0, 0, 3 * 65536), curriculum_opponents=("rule:hard=1",), opponents=("self=3", "past=1")
    )
    mixture = make_task(cfg).mixture
    assert mixture.kinds == ("rule:hard", "self", "past")
    assert mixture.shares_at(jnp.int32(2)).tolist() == [1, 0, 0]
    assert mixture.shares_at(jnp.int32(3)).tolist() == [0, 0.75, 0.25]
    assert mixture.own_decisions(1 / 4) == pytest.approx(0.75 + 0.25 / 4)
