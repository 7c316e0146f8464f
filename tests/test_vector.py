"""Batches that restart by themselves, shuffles, and the choice of a legal action."""

import collections
import pathlib
import subprocess
import sys

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import vector
from jaxgames.cards import choose, shuffle, shuffles
from jaxgames.env import of_few, pick, seldom
from tests.sixth_game import KuhnEnv

ENV = jaxgames.make("skullking", num_players=2, hand_sizes=(1, 2))


@pytest.fixture(scope="module")
def rollout():
    """(restarted, played), each [step, env], of 24 games that restart from pools of two deals."""
    step = vector.make_step(ENV, 24, pool=2)

    def turn(states, key):
        act_key, deal_key = jax.random.split(key)
        restarted, played = step(states, vector.random_actions(ENV, states, act_key), deal_key)
        return restarted, (restarted, played)

    keys = jax.random.split(jax.random.key(1), 60)
    return jax.jit(lambda: jax.lax.scan(turn, vector.reset(ENV, jax.random.key(0), 24), keys)[1])()


def test_ended_games_restart_and_their_end_is_still_shown(rollout):
    restarted, played = rollout
    done = np.asarray(played.done)
    assert done.any()
    assert not np.asarray(restarted.done).any()
    assert (np.asarray(restarted.step_count)[done] == 0).all()
    assert np.asarray(played.rewards)[done].any(-1).all()


def test_games_that_go_on_are_untouched(rollout):
    restarted, played = rollout
    on = ~np.asarray(played.done)
    for new, old in zip(jax.tree.leaves(restarted), jax.tree.leaves(played), strict=True):
        assert (np.asarray(new)[on] == np.asarray(old)[on]).all()


def test_no_two_games_share_a_deal(rollout):
    """Also when more games end at once than the pool holds: all games of this length end nearly together."""
    restarted, played = rollout
    done = np.asarray(played.done)
    assert done.sum(1).max() > 2
    fresh = np.asarray(restarted.dealt)[done].reshape(done.sum(), -1)
    tops = np.asarray(restarted.top)[done].reshape(done.sum(), -1)
    deals = {(row.tobytes(), top.tobytes()) for row, top in zip(fresh, tops, strict=True)}
    assert len(deals) == done.sum()


@pytest.mark.parametrize("factory", [{"num_envs": 4, "pool": 2}, {"num_envs": 4}, {"pool": 2}, {"pool": 99}, {}])
def test_any_batch_can_be_stepped_whatever_the_factory_was_told(factory):
    """Eight games of which two end: exactly those restart, also when the factory expected four games."""
    kuhn = KuhnEnv()
    step = jax.jit(vector.make_step(kuhn, **factory))
    states = vector.reset(kuhn, jax.random.key(0), 8)
    illegal = -1  # ends a game
    following, played = step(states, jnp.array([0, illegal, 0, 0, 0, 0, illegal, 0]), jax.random.key(1))
    assert np.flatnonzero(played.done).tolist() == [1, 6]
    assert np.asarray(following.step_count).tolist() == [1, 0, 1, 1, 1, 1, 0, 1]
    assert not np.asarray(following.done).any()


@pytest.mark.parametrize("pool", [0, 25, -1])
def test_pool_size_is_checked(pool):
    with pytest.raises(ValueError, match=rf"vector: pool must be in 1\.\.24 .*, got {pool}"):
        vector.make_step(ENV, 24, pool=pool)
    for bad in ({"num_envs": 0}, {"pool": 0}):
        with pytest.raises(ValueError, match=r"vector: .* must be .*1.*, got 0"):
            vector.make_step(ENV, **bad)


def play_kuhn(states, key):
    """Forty random moves of a batch; results: what the seats won."""
    kuhn = KuhnEnv()
    step = vector.make_step(kuhn)

    def turn(states, key):
        act_key, deal_key = jax.random.split(key)
        states, played = step(states, vector.random_actions(kuhn, states, act_key), deal_key)
        return states, played.rewards.sum(0)

    return jax.lax.scan(turn, states, jax.random.split(key, 40))


def save_sharded(path, num_devices):
    """Games in four parts on so many devices; run in a process of its own."""
    assert vector.use_cores(num_devices) == num_devices == len(jax.devices())
    states = vector.reset(KuhnEnv(), jax.random.key(0), 64)
    np.savez(path, *jax.tree.leaves(jax.jit(vector.shard(play_kuhn, shards=4))(states, jax.random.key(1))))


def test_parts_play_alike_on_one_device_and_on_two(tmp_path):
    for number in (1, 2):
        code = f"from tests.test_vector import save_sharded; save_sharded({str(tmp_path / str(number))!r}, {number})"
        subprocess.run([sys.executable, "-c", code], check=True, cwd=pathlib.Path(__file__).parent.parent)
    with np.load(tmp_path / "1.npz") as one, np.load(tmp_path / "2.npz") as two:
        for name in one.files:
            np.testing.assert_array_equal(one[name], two[name])


def test_parts_have_games_and_chance_of_their_own():
    states = vector.reset(KuhnEnv(), jax.random.key(0), 64)
    key = jax.random.key(1)
    after, won = jax.jit(vector.shard(play_kuhn, shards=4))(states, key)
    assert won.shape == (4, 40, 2)
    assert len({np.asarray(part).tobytes() for part in won}) == 4
    third, won_third = jax.jit(play_kuhn)(jax.tree.map(lambda leaf: leaf[32:48], states), jax.random.split(key, 4)[2])
    np.testing.assert_array_equal(won[2], won_third)
    for whole, part in zip(jax.tree.leaves(after), jax.tree.leaves(third), strict=True):
        np.testing.assert_array_equal(whole[32:48], part)
    with pytest.raises(ValueError, match="vector: 64 games must divide by the number of shards, 5"):
        vector.shard(play_kuhn, shards=5)(states, key)


def test_a_large_batch_has_more_parts_than_devices_on_a_cpu_alone():
    device = collections.namedtuple("Device", "platform")
    cores, gpus = [device("cpu")] * 2, [device("gpu")] * 2
    most = 2 * vector.PART
    sizes = (256, most, 2 * most, 16 * most, most + 2, 3 * most)  # the fifth cannot be cut in four
    assert [vector.usual_parts(size, cores) for size in sizes] == [2, 2, 4, 32, 2, 8]
    assert [vector.usual_parts(size, gpus) for size in sizes] == [2] * 6


def test_parts_are_the_usual_ones_unless_given(monkeypatch):
    monkeypatch.setattr(vector, "PART", 16)
    states = vector.reset(KuhnEnv(), jax.random.key(0), 64)
    key, devices = jax.random.key(1), jax.devices()[:1]
    for usual, four in zip(
        jax.tree.leaves(jax.jit(vector.shard(play_kuhn, devices=devices))(states, key)),
        jax.tree.leaves(jax.jit(vector.shard(play_kuhn, 4, devices))(states, key)),
        strict=True,
    ):
        np.testing.assert_array_equal(usual, four)


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 50, 64, 100])
def test_choose_takes_the_kth_legal_action(size):
    """Every word lands on a legal action, and equal parts of the words on each of them."""
    rng = np.random.default_rng(size)
    mask = rng.random(size) < 0.5
    mask[rng.integers(size)] = True
    legal = np.flatnonzero(mask)
    words = (np.arange(64 * len(legal), dtype=np.uint64) * (2**32 // (64 * len(legal)))).astype(np.uint32)
    chosen = np.asarray(jax.vmap(lambda word: choose(jnp.asarray(mask), word))(jnp.asarray(words)))
    assert set(chosen) == set(legal)
    assert np.diff(chosen).min() >= 0
    assert np.abs(np.bincount(chosen, minlength=size)[legal] - 64).max() <= 1
    assert int(choose(jnp.asarray(mask), jnp.uint32(2**32 - 1))) == legal[-1]


def test_choose_from_nothing_gives_a_valid_index():
    assert 0 <= int(choose(jnp.zeros(50, bool), jnp.uint32(12345))) < 50


@pytest.mark.parametrize(("n", "dtype"), [(1, np.int8), (52, np.int8), (127, np.int8), (150, np.int16)])
def test_shuffles_are_permutations(n, dtype):
    orders = np.asarray(shuffles(jax.random.key(0), 5, n))
    assert orders.dtype == dtype
    assert (np.sort(orders, axis=-1) == np.arange(n)).all()
    assert n == 1 or len({row.tobytes() for row in orders}) == 5


def test_shuffle_is_uniform():
    """Each of five cards lies in each place equally often: a chi-square far below what a bias would give."""
    orders = np.asarray(jax.vmap(lambda key: shuffle(key, 5))(jax.random.split(jax.random.key(3), 6000)))
    counts = np.stack([np.bincount(orders[:, place], minlength=5) for place in range(5)])
    assert ((counts - 1200) ** 2 / 1200).sum() < 45  # 16 degrees of freedom


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_what_befalls_few_games_is_the_same_for_one_for_a_batch_and_for_batches(share):
    """`of_few` and `seldom` are `pick` in other words, however many games are concerned."""

    def change(state):
        return {"count": state["count"] + 1, "cards": state["cards"][::-1], "kept": state["kept"]}

    def by_pick(state, when):
        return pick(when, change(state), state)

    def for_few(state, when):
        return of_few(change, state, when=when, one_in=16)

    def by_loop(state, when):
        return seldom(change, state, when=when)

    cards = jax.random.randint(jax.random.key(0), (3, 100, 5), 0, 9)
    states = {"count": cards[..., 0], "cards": cards, "kept": cards[..., 1:3]}
    when = jax.random.uniform(jax.random.key(1), (3, 100)) < share
    expected = jax.vmap(jax.vmap(by_pick))(states, when)
    for form in (for_few, by_loop):
        chex.assert_trees_all_equal(jax.vmap(jax.vmap(form))(states, when), expected)
        one, first = jax.tree.map(lambda leaf: leaf[0, 0], (states, expected))
        chex.assert_trees_all_equal(form(one, when[0, 0]), first)
        batch, second = jax.tree.map(lambda leaf: leaf[1], (states, expected))
        chex.assert_trees_all_equal(jax.jit(jax.vmap(form))(batch, when[1]), second)
