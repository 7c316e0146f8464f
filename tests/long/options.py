"""Every game compiled as users compile it, batched, over all numbers of players and the options that change programs.

python -m tests.long options --games skyjo
"""

import ast
import itertools
import os
import subprocess
import sys
import time

import jax

import jaxgames
from jaxgames import vector
from tests.support import ROOT

STEPS = 8


def variations(**choices):
    """Every combination of the choices, as options."""
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


EVERY = {
    "skullking": variations(num_players=range(2, 7), reward=("score", "seed")),
    "skyjo": variations(
        num_players=range(2, 9), action_mode=("macro", "decision"), ruleset=("base", "official", "skynet")
    ),
    "saboteur": variations(num_players=range(3, 11)) + variations(variant=("paths",), num_players=range(1, 7)),
    "schafkopf": variations(contra=(True, False), called_ace_discard=("strict", "loose")),
    "magictrick": variations(num_hands=(1, 4), reward=("v1", "v2", "points")),
}


def options(games: tuple[str, ...] = tuple(EVERY), batch: int = 16):
    """Compile and step batches of every game over many options, the options of a number of players in one process.

    Args:
        games: their names.
        batch: games at once; 16 and more use the widest registers of a CPU.
    """
    for game in games:
        begin = time.time()
        for _, same_table in itertools.groupby(EVERY[game], lambda one: one.get("num_players")):
            run_apart(game, list(same_table), batch)
        print(f"{game}: {len(EVERY[game])} sets of options, batches of {batch}: all run, {time.time() - begin:.0f} s")


def run_apart(game, choices, batch):
    """In a process of its own, as a compiler that aborts takes its process along: and it has."""
    plain = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}  # as users compile
    code = f"from tests.long.options import play; play({game!r}, {choices!r}, {batch})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=plain, capture_output=True, text=True)
    told = [ast.literal_eval(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"{game} {told[-1:]}, exit {done.returncode}: {done.stderr[-2000:]}"
    assert told == choices


def play(game, choices, batch):
    """Some random steps of a batch with each set of options, which is told before it is tried."""
    for options in choices:
        print(options, flush=True)
        env = jaxgames.make(game, **options)
        states = walk(env, batch, jax.random.key(0))
        assert int(states.step_count.max()) == STEPS, options
        jax.clear_caches()


def walk(env, batch, key):
    """STEPS random steps of new games, in one program."""

    @jax.jit
    def loop(key):
        step, (start_key, walk_key) = vector.make_step(env, batch), jax.random.split(key)

        def turn(states, key):
            act_key, deal_key = jax.random.split(key)
            return step(states, vector.random_actions(env, states, act_key), deal_key)[0], None

        return jax.lax.scan(turn, vector.reset(env, start_key, batch), jax.random.split(walk_key, STEPS))[0]

    return jax.block_until_ready(loop(key))
