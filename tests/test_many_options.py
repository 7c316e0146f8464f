"""Every game compiled as users compile it, batched, over many options: each in a process of its own.

A compiler that aborts takes its process along, and it has: Skyjo for five or more on CPUs with AVX-512.
The rest of the suite compiles with optimisation off, where nothing of the kind shows.
"""

import os
import subprocess
import sys

import pytest

from tests.support import ROOT

PROGRAM = """
import sys, jax, jaxgames
from jaxgames import vector

def loop(env, states, key):
    step = vector.make_step(env, 64)
    def turn(states, key):
        act_key, deal_key = jax.random.split(key)
        return step(states, vector.random_actions(env, states, act_key), deal_key)[0], None
    return jax.lax.scan(turn, states, jax.random.split(key, 8))[0]

for options in {options!r}:
    env = jaxgames.make({game!r}, **options)
    states = vector.reset(env, jax.random.key(0), 64)
    states = jax.block_until_ready(jax.jit(loop, static_argnums=0)(env, states, jax.random.key(1)))
    assert int(states.step_count.max()) == 8, options
print("played")
"""

MANY = {
    "skullking": [{"num_players": 2}, {"num_players": 6, "scoring": "rascal", "reward": "seed"}],
    "skyjo": [{"num_players": 5}, {"num_players": 8, "ruleset": "official", "action_mode": "decision"}],
    "saboteur": [{"num_players": 10, "reward": "team"}, {"variant": "paths", "num_players": 3, "grid": "seed"}],
    "schafkopf": [{"all_pass": "play_out", "contra": False, "called_ace_discard": "loose"}],
    "magictrick": [{"num_hands": 4, "first_leader": -1, "reward": "points"}],
}


@pytest.mark.parametrize("game", MANY)
def test_compiles_and_runs(game):
    plain = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    code = PROGRAM.format(game=game, options=MANY[game])
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=plain, capture_output=True, text=True)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    assert done.stdout == "played\n"
