"""What the tests of all games share: recorded games, replaying them, and batches of random play."""

import contextlib
import dataclasses
import functools
import pathlib
import re
import subprocess
import sys
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

import jaxgames
from jaxgames import records
from jaxgames.cards import choose

ROOT = pathlib.Path(__file__).parent.parent


def vectors(game):
    """The recorded games of tests/data, a list of dicts as the rules page has them."""
    stream = records.stream(ROOT / "tests" / "data" / f"{game}.jsonl.gz")
    return [{"game": one.game, "config": one.options, "deal": one.deal, **one.more} for one in stream]


def drawn_words(picture):
    """Everything that is written in a picture, in the order in which it is drawn."""
    texts = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    return [element.text for element in texts if element.text]


HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "a+b")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held_by_another(path):
    """A process that holds this file, and is killed at the end."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], **pipes) as holder:
        try:
            assert holder.stdout.readline() == b"held\n"
            yield
        finally:
            holder.kill()


def rule_numbers(game):
    """Every numbered rule of the rules page, as text: {'SK-1', ...}."""
    page = (ROOT / "docs" / "rules" / f"{game}.md").read_text()
    return set(re.findall(r"\b(?:SK|SJ|SB|SC|MT)-\d+\b", page))


def cited_rules(path):
    """Every rule number that a test file cites."""
    return set(re.findall(r"\b(?:SK|SJ|SB|SC|MT)-\d+\b", pathlib.Path(path).read_text()))


@dataclasses.dataclass
class Replay:
    """A recorded game played again: everything before each step, and the state after the last."""

    env: jaxgames.Env
    states: object  # the state before each step, then the last one: [step + 1, ...]
    masks: np.ndarray  # bool[step, action]
    rewards: np.ndarray  # float32[step, seat], paid by the step

    def state(self, i):
        return jax.tree.map(lambda leaf: leaf[i], self.states)


def replay(record):
    """Play a recorded game from its deal through `init` and `step`. One compilation for each set of options."""
    batch = jax.device_get(records.replay([records.from_json(record)], masks=True))
    count = len(record["steps"])
    states = jax.tree.map(lambda leaf: leaf[0, : count + 1], batch.states)
    return Replay(env=batch.env, states=states, masks=batch.masks[0, :count], rewards=batch.rewards[0, :count])


def assert_steps_match(record, played):
    """Seats, legal actions and rewards of every step are the recorded ones; the game ends when the record ends."""
    paid = np.zeros((len(record["steps"]), played.env.num_players), np.float32)
    for index, amounts in record["rewards"]:
        paid[index] = amounts
    for i, (seat, legal, _) in enumerate(record["steps"]):
        where = f"{record['game']} {record['config']} step {i}"
        assert int(played.states.current_player[i]) == seat, where
        assert not played.states.terminated[i], where
        assert np.flatnonzero(played.masks[i]).tolist() == legal, where
    np.testing.assert_allclose(played.rewards, paid, atol=1e-5, err_msg=str(record["config"]))


def assert_observations_match(record, played, atol=1e-5, widest=None):
    """Every recorded observation, of any seat and version, equals ours.

    Where the versions of a game are prefixes of its `widest` one (tested apart), one compilation serves them all.
    """
    for version in [widest] if widest else sorted({row[2] for row in record["obs"]}):
        rows = [row for row in record["obs"] if widest or row[2] == version]
        if not rows:
            continue
        index = np.array([row[0] for row in rows])
        seats = np.array([row[1] for row in rows])
        chosen = jax.tree.map(lambda leaf, index=index: leaf[index], played.states)
        ours = np.asarray(_observe_many(played.env, version, chosen, seats))
        for seen, (i, seat, name, entries) in zip(ours, rows, strict=True):
            size = len(seen) if name == version else _size(played.env, name)
            expected = np.zeros(size, seen.dtype)
            for position, value in entries:
                expected[position] = value
            where = f"{record['config']} step {i} seat {seat} {name}"
            np.testing.assert_allclose(seen[:size], expected, atol=atol, err_msg=where)


@functools.cache
def _size(env, version):
    first = jax.eval_shape(env.init, jax.random.key(0))
    return jax.eval_shape(lambda state: _flat(env.observe(state, 0, version)), first).size


def _observe_many(env, version, states, seats):
    """Observations of many (state, seat) pairs, in chunks of one size so that one compilation serves them all."""
    chunk, count = 64, len(seats)
    out = []
    for start in range(0, count, chunk):
        take = np.minimum(np.arange(start, start + chunk), count - 1)
        part = jax.tree.map(lambda leaf, take=take: leaf[take], states)
        out.append(np.asarray(_observe_chunk(env, version, part, seats[take]))[: count - start])
    return np.concatenate(out)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _observe_chunk(env, version, states, seats):
    return jax.vmap(lambda state, seat: _flat(env.observe(state, seat, version)))(states, seats)


def _flat(observation):
    return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(observation)])


def checked_random_play(env, key, num_envs, num_steps, weigh=None, invariant=None):
    """Random legal play of a batch under index checks, restarting ended games.

    `weigh(state, mask) -> mask` may narrow the choice, to make rare events common. `invariant(state) -> bool` is
    checked on every state. Returns (error, states at the end, number of games finished, every invariant held).
    """

    def game(key):
        init_key, play_key = jax.random.split(key)

        def turn(carry, key):
            state, finished, sound = carry
            act_key, deal_key = jax.random.split(key)
            word = jax.random.bits(act_key, (), jnp.uint32)
            if weigh is None:
                action = env.random_action(state, word)
            else:
                action = choose(weigh(state, env.legal_action_mask(state)), word)
            state = env.step(state, action)
            sound &= env.legal_action_mask(state).any()
            sound &= True if invariant is None else invariant(state)
            finished += state.done
            state = jaxgames.pick(state.done, env.init(deal_key), state)
            return (state, finished, sound), None

        start = (env.init(init_key), jnp.int32(0), jnp.bool_(True))
        return jax.lax.scan(turn, start, jax.random.split(play_key, num_steps))[0]

    play = jax.jit(jax.vmap(checkify.checkify(game, errors=checkify.index_checks)))
    error, (states, finished, sound) = play(jax.random.split(key, num_envs))
    return error, states, int(finished.sum()), bool(sound.all())


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def random_states(env, key, num_envs, num_steps):
    """States of random play after 0..num_steps-1 steps, a different number in each game: [env, ...]."""

    def game(key, stop):
        init_key, play_key = jax.random.split(key)

        def turn(state, x):
            i, word = x
            following = env.step(state, env.random_action(state, word))
            # A finished game is of no use here: stay just before the end.
            return jaxgames.pick((i < stop) & ~following.done, following, state), None

        words = jax.random.bits(play_key, (num_steps,), jnp.uint32)
        return jax.lax.scan(turn, env.init(init_key), (jnp.arange(num_steps), words))[0]

    stops = jnp.arange(num_envs) * num_steps // num_envs
    return jax.vmap(game)(jax.random.split(key, num_envs), stops)


def assert_same_dtypes_under_x64(ask, *arguments):
    """Shapes and dtypes of all that `ask` gives are the same with JAX's 64 bits off and on; nothing is computed."""
    was, found = jax.config.jax_enable_x64, []
    try:
        for wide in (False, True):
            jax.config.update("jax_enable_x64", wide)
            found.append(jax.eval_shape(ask, *arguments))
    finally:
        jax.config.update("jax_enable_x64", was)
    assert found[0] == found[1]
