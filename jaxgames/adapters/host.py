"""A game driven from Python, one state at a time: compiled once for each env, numpy comes back."""

import functools
from typing import Any

import jax
import numpy as np

from jaxgames.env import Env, flat


class Host:
    """The functions of an env, compiled."""

    def __init__(self, env: Env):
        self.env = env
        self.init = jax.jit(lambda seed: env.init(jax.random.key(seed)))
        self.step = jax.jit(env.step)
        self._mask = jax.jit(env.legal_action_mask)
        self._observe = jax.jit(lambda state, player: flat(env.observe(state, player)))

    def __reduce__(self) -> Any:
        """Copies are the same object: states of other libraries are copied with everything they refer to."""
        return host, (self.env,)

    def mask(self, state: Any) -> np.ndarray:
        """bool[action] of the player to move."""
        return np.asarray(self._mask(state))

    def observe(self, state: Any, player: int) -> np.ndarray:
        """The default observation as one float32 vector."""
        return np.asarray(self._observe(state, player))

    @functools.cached_property
    def observation_size(self) -> int:
        """Length of that vector; nothing is computed."""
        return jax.eval_shape(lambda: flat(self.env.observe(self.env.init(jax.random.key(0)), 0))).size


@functools.cache
def host(env: Env) -> Host:
    """Equal envs share their compilations."""
    return Host(env)
