"""Every game compiled as users compile it, batched, with some rare options: each in a process of its own.

A compiler that aborts takes its process along, and it has: Skyjo for five or more on CPUs with AVX-512. The rest of the
suite compiles with optimisation off, where nothing of the kind shows. All options: `python -m tests.long options`.
"""

import pytest

from tests.long.options import run_apart

MANY = {
    "skullking": [{"num_players": 2}, {"num_players": 6, "scoring": "rascal", "reward": "seed"}],
    "skyjo": [{"num_players": 5}, {"num_players": 8, "ruleset": "official", "action_mode": "decision"}],
    "saboteur": [{"num_players": 10, "reward": "team"}, {"variant": "paths", "num_players": 3, "grid": "seed"}],
    "schafkopf": [{"all_pass": "play_out", "contra": False, "called_ace_discard": "loose"}],
    "magictrick": [{"num_hands": 4, "first_leader": -1, "reward": "points"}],
}


@pytest.mark.parametrize("game", MANY)
def test_compiles_and_runs(game):
    run_apart(game, MANY[game], batch=64)
