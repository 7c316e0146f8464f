"""A game as PettingZoo has games: agents take turns, each sees its own observation and action mask."""

from typing import Generic

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from jaxgames.env import Env, StateT
from jaxgames.host import compiled
from jaxgames.options import check_choice


class TableEnv(AECEnv, Generic[StateT]):
    """All seats of one table, `player_0` to `player_<n-1>`.

    An observation is {"observation": float32 vector, "action_mask": int8[action]}; the mask is empty for a player
    who is not to move. An illegal action ends the game with the penalty of the rules page.
    """

    def __init__(self, env: Env[StateT], render_mode: str | None = None, version: str | None = None):
        super().__init__()
        if render_mode is not None:
            check_choice("pettingzoo", "render_mode", render_mode, ("ansi", "human"))
        self.env, self.render_mode, self.version = env, render_mode, version
        self._run = compiled(env)
        self.metadata = {
            "name": f"{env.id}_v{env.version}",
            "is_parallelizable": False,
            "render_modes": ["ansi", "human"],
        }
        self.possible_agents = [f"player_{seat}" for seat in range(env.num_players)]
        seen = spaces.Box(-np.inf, np.inf, env.observation_shape(version), np.float32)
        mask = spaces.Box(0, 1, (env.num_actions,), np.int8)
        self.observation_spaces = {
            agent: spaces.Dict({"observation": seen, "action_mask": mask}) for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(env.num_actions) for agent in self.possible_agents}
        self._seeds = np.random.default_rng()

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, object] | None = None) -> None:
        """A new game. After a seed, the games that follow are fixed too."""
        if seed is not None:
            self._seeds = np.random.default_rng(seed)
        self.state_of_game = self._run.init(int(self._seeds.integers(2**31)))
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, object]] = {agent: {} for agent in self.agents}
        self.agent_selection = self._to_move()

    def step(self, action: int | np.integer | None) -> None:
        """The action of the player to move; None from one whose game is over, as PettingZoo has it."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self.state_of_game = state = self._run.step(self.state_of_game, int(action))  # type: ignore[arg-type]
        for seat, name in enumerate(self.possible_agents):
            self.rewards[name] = float(state.rewards[seat])
            self.terminations[name], self.truncations[name] = bool(state.terminated), bool(state.truncated)
        self._accumulate_rewards()
        self.agent_selection = self._to_move()
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        seat = self.possible_agents.index(agent)
        state = self.state_of_game
        is_to_move = agent == self.agent_selection and not bool(state.done)
        mask = self._run.facts(state).mask if is_to_move else np.zeros(self.env.num_actions, bool)
        seen = self._run.observe(state, seat, self.version)
        return {"observation": seen.astype(np.float32), "action_mask": mask.astype(np.int8)}

    def render(self) -> str | None:
        """The whole table as text."""
        text = self.env.render(self.state_of_game)
        if self.render_mode == "human":
            print(text)
            return None
        return text

    def close(self) -> None:
        """Nothing is open."""

    def _to_move(self) -> str:
        return self.possible_agents[int(self.state_of_game.current_player)]
