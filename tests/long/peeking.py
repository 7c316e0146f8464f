"""Does any agent that searches look at what its player cannot know, in any game?"""

import pathlib
import tempfile

import jaxgames
from tests.peeking import OPTIONS, SPECS, assert_no_peeking, untrained


def peeking(states: int = 12):
    """Every search in every game: the same choice in a determinized world.

    Args:
        states: of each game.
    """
    for game in jaxgames.games():
        env = jaxgames.make(game, **OPTIONS.get(game, {}))
        with tempfile.TemporaryDirectory() as folder:
            network = untrained(env, pathlib.Path(folder) / "network")
            for spec in SPECS:
                assert_no_peeking(env, spec.format(network=network), states)
                print(f"{game}: {spec.format(network='<network>')} does not peek", flush=True)
