"""The learner by identities: advantages against a plain loop, ratios of one, and rows that must not teach."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from agents.networks import log_prob_and_entropy, make_network, masked, network_agent, observation_size, sample
from tests.support import random_states
from train import opponents, ppo, replay
from train.advantage import advantage_by_seat
from train.auxiliary_skullking import Auxiliary
from train.evaluate import with_abilities
from train.ppo_skullking import Config, ability_priority, make_task
from train.rollout import Decision
from train.settings import PPO

ENV = jaxgames.make("skullking", num_players=3, hand_sizes=(1, 2))  # short games: every rollout crosses endings
MIXED = opponents.parse(("self=0.4", "past=0.2", "rule:hard=0.2", "random=0.2"))


@pytest.fixture(scope="module")
def task():
    """Everything switched on: auxiliary heads, prioritised minibatches, replay."""
    auxiliary = Auxiliary(ENV)
    network = make_network(ENV, widths=(32,), auxiliary=auxiliary.heads)
    return ppo.Task(ENV, network, MIXED, auxiliary=auxiliary, priority=ability_priority)


FULL = PPO(
    total_steps=1024,
    envs=16,
    steps=32,
    minibatches=4,
    pool=2,
    remember_every=1,
    auxiliary_weight=0.1,
    prioritised=True,
    replay=160,
    importance=True,
)


@pytest.fixture(scope="module")
def two_seeds(task):
    """Two seeds at once, all [seed, ...]: the first batch, the tables after it, and the training around two updates."""

    @jax.jit
    @jax.vmap
    def train(key):
        before = ppo.start(FULL, task, key)
        tables, batch = ppo.play(FULL, task, before.learner, before.games.tables, key)
        return batch, tables, before, *ppo.advance(FULL, task, before, 2)

    return train(jax.random.split(jax.random.key(0), 2))


@pytest.fixture(scope="module")
def judged(two_seeds):
    """A learner before its first update, the batch it would learn from, and its tables after playing it."""
    batch, tables, before = jax.tree.map(lambda leaf: leaf[0], two_seeds[:3])
    return before.learner, batch, tables


@pytest.fixture(scope="module")
def gradient(task):
    return jax.jit(jax.grad(lambda params, batch: ppo.loss(FULL, task, params, batch, 0.01), has_aux=True))


def loop_advantages(seat, value, reward, done, bootstrap, gamma, lam):
    """Every decision looks ahead, in plain Python, to the same seat's next one."""
    advantages = np.zeros(len(seat))
    for t in reversed(range(len(seat))):
        paid, end = 0.0, t
        while True:
            paid += reward[end, seat[t]]
            if done[end] or end + 1 == len(seat) or seat[end + 1] == seat[t]:
                break
            end += 1
        following = 0.0 if done[end] else bootstrap[seat[t]]
        if not done[end] and end + 1 < len(seat):
            following = value[end + 1] + lam * advantages[end + 1]
        advantages[t] = paid + gamma * following - value[t]
    return advantages


def random_rollout(seed, steps=40, seats=3, ends=0.15):
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, seats, steps),  # seats decide in any order, often twice running
        rng.normal(size=steps),
        rng.normal(size=(steps, seats)),  # everybody is paid, mover or not
        rng.random(steps) < ends,
        rng.normal(size=seats),
    )


@pytest.mark.parametrize(("gamma", "lam"), [(0.97, 0.9), (1.0, 1.0), (0.9, 0.0)])
def test_advantages_equal_a_plain_loop(gamma, lam):
    for seed in range(5):
        played = random_rollout(seed)
        ours = advantage_by_seat(*map(jnp.asarray, played), gamma=gamma, lam=lam)
        np.testing.assert_allclose(ours, loop_advantages(*played, gamma, lam), atol=1e-4)


def test_with_lambda_one_an_advantage_is_return_minus_value():
    seat, value, reward, done, bootstrap = random_rollout(7, ends=0.0)
    ours = advantage_by_seat(*map(jnp.asarray, (seat, value, reward, done, bootstrap)), gamma=1.0, lam=1.0)
    to_come = reward[::-1].cumsum(0)[::-1] + bootstrap
    np.testing.assert_allclose(ours, to_come[np.arange(len(seat)), seat] - value, atol=1e-4)


def test_a_reward_while_others_move_is_paid_to_the_last_decision_and_not_across_an_ending():
    seat, value = jnp.array([0, 1, 1, 0, 1]), jnp.zeros(5)
    reward = jnp.zeros((5, 2)).at[2, 0].set(1.0).at[3, 1].set(2.0)
    done = jnp.array([False, False, False, True, False])
    ours = advantage_by_seat(seat, value, reward, done, jnp.array([5.0, 7.0]), gamma=1.0, lam=0.0)
    assert ours.tolist() == [1.0, 0.0, 2.0, 0.0, 7.0]


def test_the_ratio_is_one_before_the_first_step_also_across_endings(judged, gradient):
    learner, batch, _ = judged
    assert batch.decision.done.sum() > 8
    losses = gradient(learner.params, batch)[1]
    assert losses["ratio_error"] < 1e-5
    assert losses["divergence"] < 1e-6


def test_only_the_learners_own_decisions_teach(judged, gradient):
    learner, batch, _ = judged
    own = batch.decision.is_own
    assert 0.2 < own.mean() < 0.9
    spoilt = batch._replace(
        advantage=jnp.where(own, batch.advantage, 1e3),
        target=jnp.where(own, batch.target, -1e3),
        decision=batch.decision._replace(log_prob=jnp.where(own, batch.decision.log_prob, -5.0)),
    )
    plain, other = (gradient(learner.params, each)[0] for each in (batch, spoilt))
    chex.assert_trees_all_close(plain, other, atol=1e-5)


def test_rows_of_the_learner_come_first_and_once(task, judged):
    batch = judged[1]
    rows = np.asarray(ppo.shuffle(FULL, task, batch, jax.random.key(1))[0])
    assert len(set(rows.tolist())) == len(rows)
    assert len(rows) % FULL.minibatches == 0
    own = np.asarray(batch.decision.is_own)
    assert own[rows].sum() == min(own.sum(), len(rows))


def test_rollouts_record_legal_play_and_rotate_the_learning_seat(judged):
    _, batch, tables = judged
    played = batch.decision
    chosen = jnp.take_along_axis(played.mask, played.action[..., None], axis=-1)
    assert chosen.all()
    assert isinstance(played, Decision)
    assert set(np.unique(tables.lineup.rival)) <= set(range(4))
    assert len(np.unique(tables.lineup.seat)) == 3
    assert set(np.unique(played.seat[played.is_own])) == {0, 1, 2}


def test_everything_trains_together_for_many_seeds_and_past_selves_are_remembered(two_seeds):
    _, _, before, after, measured = two_seeds
    assert all(np.isfinite(values).all() and values.shape == (2, 2) for values in measured.values())
    assert {"abilities_loss", "bid_loss", "cards_loss", "replay_loss"} <= set(measured)
    assert (measured["cards_loss"][:, 1] < measured["cards_loss"][:, 0]).all()
    memory = after.games.memory
    assert (memory.current_index == 2 * FULL.rows - FULL.replay).all()  # a ring: the oldest are overwritten
    assert memory.is_full.all()
    first, now, past = (tree["params"]["outputs"]["kernel"] for tree in (before.learner.params, *after.learner[::2]))
    assert not np.allclose(now[0], now[1])
    assert not np.allclose(past[:, 1], first)  # remembered after each update, in turn: slot 1, then slot 0
    assert not np.allclose(past[:, 0], past[:, 1])


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
    assert all((loss == 0).all() for loss in task.auxiliary.losses(predicted, blank).values())
    assert all((loss >= 0).all() for loss in task.auxiliary.losses(predicted, labels).values())


def test_ability_decisions_are_drawn_five_times_as_often(task, judged):
    """SK-61: with replacement, in proportion to priority; importance weights undo it."""
    batch = judged[1]
    rare, own = np.asarray(batch.decision.priority) == 5, np.asarray(batch.decision.is_own)
    assert 0 < rare.mean() < 0.2
    draw = jax.jit(jax.vmap(lambda key: ppo.draw_by_priority(FULL, task, batch, key)))
    rows, weights = draw(jax.random.split(jax.random.key(1), 50))
    assert own[np.asarray(rows)].all()
    share = 5 * rare[own].mean() / (5 * rare[own].mean() + 1 - rare[own].mean())
    assert rare[np.asarray(rows)].mean() == pytest.approx(share, abs=0.02)
    assert np.asarray(weights).mean() == pytest.approx(1, abs=0.02)
    assert np.asarray(weights)[rare[np.asarray(rows)]].max() < 1


def test_replay_draws_by_priority_and_never_other_players_decisions():
    buffer = replay.make_buffer(4000, 4000)
    row = replay.Memory(jnp.zeros(2), jnp.zeros(3, bool), jnp.float32(0), jnp.bool_(False), ())
    rows = jax.tree.map(lambda leaf: jnp.zeros((4, *leaf.shape), leaf.dtype), row)
    rows = rows._replace(target=jnp.arange(4.0), is_own=jnp.array([True, True, False, True]))
    state = replay.remember(buffer, buffer.init(row), rows, jnp.array([1.0, 5.0, 9.0, 1.0]))
    drawn = buffer.sample(state, jax.random.key(0))
    shares = np.bincount(drawn.experience.target.astype(int), minlength=4) / 4000
    np.testing.assert_allclose(shares, [1 / 7, 5 / 7, 0, 1 / 7], atol=0.03)
    np.testing.assert_allclose(replay.importance(drawn.probabilities, 3).mean(), 1, atol=0.05)


def test_the_network_has_the_heads_of_the_rules_page_in_one_product():
    """SK-63: 230 -> 256 -> 256, heads 11 + 13 + 6 + 13 + 3 + 3 and one value; Jade is forced and has none."""
    env = jaxgames.make("skullking")
    network = make_network(env)
    assert observation_size(env) == 230
    shapes = jax.eval_shape(network.init, jax.random.key(0), jnp.zeros((1, 230)))["params"]
    kernels = {name: layer["kernel"].shape for name, layer in shapes.items()}
    assert kernels == {"layers_0": (230, 256), "layers_1": (256, 256), "outputs": (256, 50)}
    assert [size for _, size in network.heads] == [11, 13, 6, 13, 3, 3]


def test_bfloat16_is_for_the_products_alone():
    """On hardware that has it; what is kept and what the loss sees stays float32."""
    coarse, fine = (make_network(ENV, widths=(64, 64), dtype=dtype) for dtype in ("bfloat16", "float32"))
    seen = jax.random.uniform(jax.random.key(0), (32, observation_size(ENV)))
    params = coarse.init(jax.random.key(1), seen)
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype("float32")}
    products = [line for line in str(jax.make_jaxpr(coarse.apply)(params, seen)).splitlines() if "dot_general" in line]
    assert len(products) == 3
    assert all("bf16" in line for line in products)
    for a, b in zip(coarse.apply(params, seen), fine.apply(params, seen), strict=True):
        assert a.dtype == b.dtype == jnp.float32
        np.testing.assert_allclose(a, b, atol=0.05)


def test_masked_actions_are_never_drawn_and_an_empty_row_stays_finite():
    logits = jnp.array([[0.0, 9.0, 1.0], [1.0, 2.0, 3.0]])
    mask = jnp.array([[True, False, True], [False, False, False]])
    policy = masked(logits, mask)
    drawn = jax.vmap(lambda key: sample(policy, key))(jax.random.split(jax.random.key(0), 200))
    assert not (drawn[:, 0] == 1).any()
    actions = jnp.array([0, 0])
    assert all(np.isfinite(each).all() for each in log_prob_and_entropy(logits, mask, actions))
    for i in range(2):
        slope = jax.grad(lambda x, i=i: log_prob_and_entropy(x, mask, actions)[i].sum())(logits)
        assert np.isfinite(slope).all()
        assert slope[0, 1] == 0


def test_log_probabilities_entropies_and_their_slopes_are_those_of_distrax():
    rows = 64
    logits = jax.random.normal(jax.random.key(0), (rows, 50)) * jnp.exp(jnp.linspace(-3, 4, rows))[:, None]
    mask = jax.random.bernoulli(jax.random.key(1), 0.4, (rows, 50)).at[:, 7].set(True)
    actions = sample(masked(logits, mask), jax.random.key(2))

    def theirs(logits):
        policy = masked(logits, mask)
        return policy.log_prob(actions), policy.entropy()

    def ours(logits):
        return log_prob_and_entropy(logits, mask, actions)

    def slope(of, i):
        return jax.grad(lambda x: of(x)[i].sum())(logits)

    for i in range(2):
        np.testing.assert_allclose(ours(logits)[i], theirs(logits)[i], atol=1e-5, rtol=1e-5)
        np.testing.assert_allclose(slope(ours, i), slope(theirs, i), atol=1e-5, rtol=1e-4)


def test_actions_are_drawn_as_often_as_the_policy_says():
    """Steep and flat policies over 50 actions: z of every count, and no illegal one among the unlikely."""
    logits = jax.random.normal(jax.random.key(0), (4, 50)) * jnp.array([[0.1], [1.0], [3.0], [30.0]])
    mask = jax.random.bernoulli(jax.random.key(1), 0.6, (4, 50)).at[:, 7].set(True)
    policy = masked(logits, mask)
    draws = 20_000
    many = masked(jnp.repeat(logits, draws, 0), jnp.repeat(mask, draws, 0))
    drawn = np.asarray(sample(many, jax.random.key(2))).reshape(4, draws)
    for row, probability, legal in zip(drawn, np.asarray(policy.probs, np.float64), np.asarray(mask), strict=True):
        counts = np.bincount(row, minlength=50)
        assert counts[~legal].sum() == 0
        spread = np.sqrt(draws * probability * (1 - probability)) + 1
        assert (np.abs(counts - draws * probability) < 5 * spread).all()


def test_the_network_agent_plays_legally_and_does_not_peek(task, judged):
    act = network_agent(ENV, task.network, judged[0].params)
    states = random_states(ENV, jax.random.key(3), 32, 14)

    @jax.jit
    @jax.vmap
    def twice(state, key):
        player = state.current_player
        world = ENV.determinize(jax.random.fold_in(key, 1), state, player)
        action = act(key, state, player)
        return ENV.is_legal(state, action), action == act(key, world, player)

    legal, same = twice(states, jax.random.split(jax.random.key(4), 32))
    assert legal.all()
    assert same.all()


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
    task = make_task(Config(curriculum=(10, 20, 30, 40, 50), envs=1, steps=10, minibatches=1, pool=1))
    on = [task.deal_data(jnp.int32(updates))["abilities"].tolist() for updates in range(6)]
    assert [sum(each) for each in on] == [0, 1, 2, 3, 4, 5]
    assert on[1] == [False, False, False, False, True]  # Rosie, Bendt, Roatan, Jade, Harry
    assert on[3] == [True, False, True, False, True]
    assert all(make_task(Config()).deal_data(jnp.int32(0))["abilities"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"minibatches": 7}, "must divide by minibatches = 7"),
        ({"pool": 3}, "must divide by pool = 3"),
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


def test_shares_are_scaled_and_own_decisions_counted():
    mixture = opponents.parse(("self=1", "rule:hard=3"))
    assert mixture.shares == (0.25, 0.75)
    assert mixture.own_decisions(4) == pytest.approx(0.25 + 0.75 / 4)
    lineup = opponents.draw(mixture, 4, jnp.int32(0), jax.random.key(0), 4000)
    assert np.mean(lineup.rival == 1) == pytest.approx(0.75, abs=0.03)
    counts = np.bincount(lineup.seat, minlength=4)
    assert counts.min() > 850


def test_opponents_change_when_the_curriculum_is_over():
    """SK-60, stage 3: self-play and mixed opponents follow on the opponents of the first stages."""
    cfg = Config(
        curriculum=(0, 0, 0, 0, 3 * 65536), curriculum_opponents=("rule:hard=1",), opponents=("self=3", "past=1")
    )
    mixture = make_task(cfg).mixture
    assert mixture.kinds == ("rule:hard", "self", "past")
    assert mixture.shares_at(jnp.int32(2)).tolist() == [1, 0, 0]
    assert mixture.shares_at(jnp.int32(3)).tolist() == [0, 0.75, 0.25]
    assert mixture.own_decisions(4) == pytest.approx(0.75 + 0.25 / 4)


def test_an_unknown_agent_or_folder_is_a_sentence():
    with pytest.raises(ValueError, match="there is no checkpoint at nowhere"):
        agents.make("ppo:nowhere", ENV)
    with pytest.raises(ValueError, match="sampled or greedy"):
        agents.make("ppo:nowhere,wild", ENV)
