"""Magic Trick as an environment: options, sizes, and its rooms."""

import dataclasses
import functools
from typing import ClassVar

import chex

from jaxgames.env import Env, Rooms
from jaxgames.magictrick import belief as beliefs
from jaxgames.magictrick import determinize, observe, picture, render, rewards, rules, state
from jaxgames.magictrick.cards import NUM_ACTIONS, NUM_SEATS, NUM_TRICKS
from jaxgames.magictrick.state import State
from jaxgames.options import check_bool, check_choice, check_int

# A hand has 52 plays, and each may be followed by a bid decision (MT-21).
MAX_STEPS_OF_A_HAND = 2 * NUM_SEATS * NUM_TRICKS


@dataclasses.dataclass(frozen=True, eq=False)
class MagicTrickEnv(Env[State]):
    """Magic Trick for four, `num_hands` hands a game (docs/rules/magictrick.md)."""

    id: ClassVar[str] = "magictrick"
    version: ClassVar[int] = 2
    rooms: ClassVar[Rooms] = Rooms(state, rules, observe, rewards, determinize, render, picture)

    num_players: int = 4
    num_hands: int = 1  # the printed game has 4
    first_leader: int = 0  # seat that leads the first hand; -1: drawn at init, the choice for training
    reward: str = "v2"
    zero_bid_prestige: bool = True  # does a made bid of zero earn prestige? (MT-23)
    observation: str = "v4"  # the version that `observe` shows unless told otherwise; v1-v3 show hidden values

    def __post_init__(self):
        set_option = functools.partial(object.__setattr__, self)
        for name, low, high in (
            ("num_players", NUM_SEATS, NUM_SEATS),
            ("num_hands", 1, 8),
            ("first_leader", -1, NUM_SEATS - 1),
        ):
            set_option(name, check_int(self.id, name, getattr(self, name), low, high))
        set_option("zero_bid_prestige", check_bool(self.id, "zero_bid_prestige", self.zero_bid_prestige))
        check_choice(self.id, "reward", self.reward, rewards.SCHEMES)
        check_choice(self.id, "observation", self.observation, sorted(observe.VERSIONS))

    @property
    def num_actions(self) -> int:
        """Play one of 14 slots, bid with one of them, or pass (MT-6)."""
        return NUM_ACTIONS

    @property
    def max_steps(self) -> int:
        """No game has more steps than this (MT-21)."""
        return MAX_STEPS_OF_A_HAND * self.num_hands

    @property
    def usual_steps(self) -> int:
        return 60 * self.num_hands

    @property
    def observation_versions(self) -> tuple[str, ...]:
        """The names that `view` and `observe` take, that of the option `observation` first."""
        return (self.observation, *(name for name in observe.VERSIONS if name != self.observation))

    def belief(self, state: State) -> chex.Array:
        """float32[seat, slot, value], the probability of each value in each slot (MT-56)."""
        return beliefs.belief(state)
