"""One seat of a game as Gymnasium has environments: the other seats are played for you."""

from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.adapters.host import host
from jaxgames.env import Env, flat

Opponent = Callable[[Any, Any, Any], Any]  # act(key, state, player) -> action


class SeatEnv(gymnasium.Env):
    """You decide for one seat, an agent (by default a random one) for all others.

    `step` returns at your next decision or at the end, with everything your seat was paid in between. Every `info`
    holds `action_mask`; an illegal action ends the game with the penalty of the rules page.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012 - gymnasium's name for it

    def __init__(self, env: Env, opponent: Opponent | None = None, seat: int = 0, render_mode: str | None = None):
        if not 0 <= seat < env.num_players:
            raise ValueError(f"gymnasium: seat must be 0..{env.num_players - 1}, got {seat!r}")
        if render_mode not in (None, "ansi"):
            raise ValueError(f"gymnasium: render_mode must be None or ansi, got {render_mode!r}")
        self.env, self.seat, self.render_mode, self._host = env, seat, render_mode, host(env)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (self._host.observation_size,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(env.num_actions)
        act = opponent or (lambda key, state, player: env.random_action(state, jax.random.bits(key, (), jnp.uint32)))

        def others_move(state, key, paid):
            """Until the seat is to move or the game is over."""

            def turn(carry):
                state, key, paid = carry
                key, act_key = jax.random.split(key)
                state = env.step(state, act(act_key, state, state.current_player))
                return state, key, paid + state.rewards[seat]

            waits = lambda carry: (carry[0].current_player != seat) & ~carry[0].done  # noqa: E731
            state, key, paid = jax.lax.while_loop(waits, turn, (state, key, paid))
            return state, key, paid, flat(env.observe(state, seat)), env.legal_action_mask(state)

        @jax.jit
        def begin(seed):
            deal_key, key = jax.random.split(jax.random.key(seed))
            return others_move(env.init(deal_key), key, jnp.float32(0))

        @jax.jit
        def go_on(state, key, action):
            state = env.step(state, action)
            return others_move(state, key, state.rewards[seat])

        self._begin, self._go_on = begin, go_on

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.state, self._key, paid, seen, mask = self._begin(int(self.np_random.integers(2**31)))
        return np.asarray(seen), {"action_mask": np.asarray(mask), "reward_before": float(paid)}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.state, self._key, paid, seen, mask = self._go_on(self.state, self._key, int(action))
        info = {"action_mask": np.asarray(mask)}
        return np.asarray(seen), float(paid), bool(self.state.terminated), bool(self.state.truncated), info

    def render(self) -> str:  # type: ignore[override]
        """What the seat may see, as text."""
        return self.env.render(self.state, self.seat)
