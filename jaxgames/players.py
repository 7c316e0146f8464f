"""Agents at a table of plain Python: asked for a move, or for how often they would make each.

An agent is `act(key, state, player) -> action`, a function for jit. The library has none: `find` asks the packages
that have, which say so by an entry point of the group `jaxgames.agents`, a function `make(spec, env) -> act`.
"""

import importlib.metadata
import time
from collections import Counter
from collections.abc import Callable

import chex
import jax
import numpy as np

from jaxgames.env import Env, State
from jaxgames.options import UserError

GROUP = "jaxgames.agents"
SAMPLES = 200  # choices that `shares` counts,
PATIENCE = 2.0  # or as many as can be made in so many seconds

Act = Callable[[chex.PRNGKey, State, chex.Array], chex.Array]


class Player:
    """One agent of one env. The first question compiles it, for both kinds of question."""

    def __init__(self, env: Env, spec: str, act: Act):
        self.env, self.spec = env, spec
        self._act = jax.jit(act)

    def act(self, seed: int, state: State) -> int:
        """The agent's choice for the player to move."""
        return int(self._act(jax.random.key(np.uint32(seed)), state, np.int32(state.current_player)))

    def shares(self, seed: int, state: State) -> dict[int, float]:
        """How often the agent chooses each action here, the most frequent first."""
        self.act(seed, state)  # compiled now: the clock is for thinking
        chosen: Counter[int] = Counter()
        begin = time.monotonic()
        while chosen.total() < SAMPLES and time.monotonic() - begin < PATIENCE:
            chosen[self.act((seed + chosen.total()) % 2**32, state)] += 1
        return {action: count / chosen.total() for action, count in chosen.most_common()}


def find(spec: str, env: Env) -> Player:
    """The agent of this name; a UserError if no installed package has one."""
    makers = importlib.metadata.entry_points(group=GROUP)
    for maker in makers:
        try:
            make = maker.load()
        except ImportError:  # the wheel names the agents of a checkout, and does not hold them
            continue
        return Player(env, spec, make(spec, env))
    raise UserError(
        f"no agents are installed, so {spec!r} cannot play: they come with a checkout of the repository "
        f"(pip install -e '.[train]'), or with a package that has an entry point {GROUP}"
    )
