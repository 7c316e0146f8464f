"""A game as a Python game of OpenSpiel: one chance move picks the deal, then players move."""

import json
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pyspiel

import jaxgames
from jaxgames.env import Env, State
from jaxgames.host import compiled
from jaxgames.options import check_int
from jaxgames.records import plain

# The games bound their payments by their rules, not by a number; OpenSpiel wants one.
BOUND = 1e6
PARAMETERS: dict[str, str | int] = {"options": "{}", "deals": 1000, "version": ""}


def load(env: Env, deals: int = 1000, version: str | None = None) -> pyspiel.Game:
    """The game in OpenSpiel: the chance move at the root picks one of `deals` deals, with equal probability.

    Everything random in a game is fixed by its deal, so nothing else is chance. Its name and parameters are a game
    string that `pyspiel.load_game` understands once this module is imported. `version` is that of the observation.
    """
    options = json.dumps(plain(env.options), separators=(";", ":"))  # a comma would end the parameter
    given = {"options": options, "deals": check_int("open_spiel", "deals", deals, 1, 2**31 - 1)}
    env.layout(version)  # an unknown version is refused here
    return pyspiel.load_game(f"jaxgames_{env.id}", given | ({"version": version} if version else {}))


def game_type(name: str) -> pyspiel.GameType:
    """What OpenSpiel asks of every game."""
    return pyspiel.GameType(
        short_name=f"jaxgames_{name}",
        long_name=f"{name} of jaxgames",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.GENERAL_SUM,
        reward_model=pyspiel.GameType.RewardModel.REWARDS,
        max_num_players=10,
        min_num_players=1,
        provides_information_state_string=False,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=False,
        parameter_specification=PARAMETERS,
    )


class CardGame(pyspiel.Game):
    """See `load`. `options` is JSON with semicolons for commas."""

    name: ClassVar[str]

    def __init__(self, params: dict[str, str | int] | None = None):
        given = PARAMETERS | (params or {})
        env = jaxgames.make(self.name, **json.loads(str(given["options"]).replace(";", ",")))
        given["version"] = given["version"] or env.observation_versions[0]  # OpenSpiel 1.6 cannot read "" again
        self.run, self.deals, self.version = compiled(env), int(given["deals"]), str(given["version"])
        about = pyspiel.GameInfo(
            num_distinct_actions=env.num_actions,
            max_chance_outcomes=self.deals,
            num_players=env.num_players,
            min_utility=-BOUND,
            max_utility=BOUND,
            utility_sum=None,
            max_game_length=env.max_steps,
        )
        super().__init__(game_type(self.name), about, given)

    def new_initial_state(self) -> "CardState":
        return CardState(self)

    def make_py_observer(self, iig_obs_type: object = None, params: object = None) -> "Observer":
        return Observer(self)


for _name in jaxgames.games():
    pyspiel.register_game(game_type(_name), type(f"CardGame_{_name}", (CardGame,), {"name": _name}))


class CardState(pyspiel.State):
    """A position; `game_state` is the state of this library, None before the deal."""

    def __init__(self, game: CardGame):
        super().__init__(game)
        self.run, self.deals = game.run, game.deals
        self.game_state: State | None = None
        self._returns = np.zeros(game.num_players())

    def current_player(self) -> int:
        if self.game_state is None:
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if self.is_terminal() else int(self.game_state.current_player)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(deal, 1 / self.deals) for deal in range(self.deals)]

    def _legal_actions(self, player: int) -> list[int]:
        assert self.game_state is not None, "chance moves first"
        return np.flatnonzero(self.run.facts(self.game_state).mask).tolist()

    def _apply_action(self, action: int) -> None:
        if self.game_state is None:
            self.game_state = self.run.init(action)
            return
        self.game_state = self.run.step(self.game_state, action)
        self._returns = self._returns + self.game_state.rewards

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return f"deal {action}"
        assert self.game_state is not None, "chance moves first"
        return self.run.env.action_name(self.game_state, action)

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> "CardState":
        """The same position in another world that `player` cannot tell from this one, for search.

        `sampler` draws from 0 to 1. The world is no deal of the chance move: the history keeps the one that was drawn.
        """
        world = self.clone()
        if self.game_state is not None:
            world.game_state = self.run.determinize(int(sampler() * 2**32) % 2**32, self.game_state, player)
        return world

    def is_terminal(self) -> bool:
        return self.game_state is not None and bool(self.game_state.done)

    def rewards(self) -> list[float]:
        return [0.0] * self.run.env.num_players if self.game_state is None else self.game_state.rewards.tolist()

    def returns(self) -> list[float]:
        return self._returns.tolist()

    def __str__(self) -> str:
        return "before the deal" if self.game_state is None else self.run.env.render(self.game_state)


class Observer:
    """What a player may know, as OpenSpiel asks for it."""

    def __init__(self, game: CardGame):
        self.run, self.version = game.run, game.version
        self.tensor = np.zeros(game.run.env.observation_shape(game.version), np.float32)
        self.dict = {"observation": self.tensor}

    def set_from(self, state: CardState, player: int) -> None:
        self.tensor[:] = 0.0
        if state.game_state is not None:
            self.tensor[:] = self.run.observe(state.game_state, player, self.version)

    def string_from(self, state: CardState, player: int) -> str:
        return "before the deal" if state.game_state is None else self.run.env.render(state.game_state, player)
