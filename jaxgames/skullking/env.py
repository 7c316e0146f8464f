"""The environment: options, sizes, and what Skull King adds to the contract."""

import dataclasses
import functools
from typing import ClassVar

import chex
import jax.numpy as jnp
import numpy as np

from jaxgames.cards import choose_member, is_member
from jaxgames.env import Deal, Env, Rooms
from jaxgames.options import check_bool, check_choice, check_int
from jaxgames.skullking import determinize, observe, picture, render, rewards, rules, state
from jaxgames.skullking.cards import ABILITIES, KRAKEN, LOOTS, NUM_ACTIONS, NUM_CARDS, WHALE
from jaxgames.skullking.state import State


@dataclasses.dataclass(frozen=True, eq=False)
class SkullKingEnv(Env[State]):
    """Skull King for 2 to 6 (docs/rules/skullking.md). The options are those of SK-2."""

    id: ClassVar[str] = "skullking"
    version: ClassVar[int] = 1
    rooms: ClassVar[Rooms] = Rooms(state, rules, observe, rewards, determinize, render, picture)

    num_players: int = 4
    hand_sizes: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    rosie: bool = True
    bendt: bool = True
    roatan: bool = True
    jade: bool = True
    harry: bool = True
    kraken: bool = True
    whale: bool = True
    loot: bool = True
    trump_anytime: bool = False
    roatan_last_trick: bool = False
    scoring: str = "skull_king"
    reward: str = "score"

    def __post_init__(self) -> None:
        set_option = functools.partial(object.__setattr__, self)
        set_option("num_players", check_int(self.id, "num_players", self.num_players, 2, 6))
        sizes = self.hand_sizes
        if not isinstance(sizes, (tuple, list, np.ndarray)) or not 1 <= len(sizes) <= 10:
            raise ValueError(f"{self.id}: hand_sizes must be a sequence of 1..10 integers, each 1..10, got {sizes!r}")
        set_option("hand_sizes", tuple(check_int(self.id, "each of hand_sizes", size, 1, 10) for size in sizes))
        for name in (*ABILITIES, "kraken", "whale", "loot", "trump_anytime", "roatan_last_trick"):
            set_option(name, check_bool(self.id, name, getattr(self, name)))
        check_choice(self.id, "scoring", self.scoring, ("skull_king", "rascal"))
        check_choice(self.id, "reward", self.reward, rewards.SCHEMES)

    @property
    def num_actions(self) -> int:
        return NUM_ACTIONS

    @property
    def max_steps(self) -> int:
        """SK-35."""
        rounds = len(self.hand_sizes)
        return self.num_players * (rounds + sum(self.hand_sizes)) + 6 * rounds

    @property
    def usual_steps(self) -> int:
        """Bids and cards; few pirates ask for more."""
        return self.num_players * (len(self.hand_sizes) + sum(self.hand_sizes))

    @property
    def max_hand(self) -> int:
        """The largest hand that is dealt."""
        return max(self.hand_sizes)

    @property
    def in_deck(self) -> np.ndarray:
        """bool[card]: which of the 74 cards are in play."""
        enabled = np.ones(NUM_CARDS, bool)
        enabled[KRAKEN], enabled[WHALE], enabled[list(LOOTS)] = self.kraken, self.whale, self.loot
        return enabled

    @property
    def deck(self) -> np.ndarray:
        """int8[position]: the ids in play, ascending."""
        return np.flatnonzero(self.in_deck).astype(np.int8)

    def is_legal(self, state: State, action: chex.Numeric) -> chex.Array:
        return is_member(rules.legal_set(self, state), jnp.asarray(action, jnp.int32))

    def random_action(self, state: State, word: chex.Array) -> chex.Array:
        return choose_member(rules.legal_set(self, state), word)

    def init(self, key: chex.PRNGKey, deal: Deal | None = None, abilities: chex.Array | None = None) -> State:
        """The first state. `abilities` (bool[5], Rosie .. Harry) replaces the options' switches without a recompile."""
        first = super().init(key, deal)
        if abilities is None:
            return first
        if np.shape(abilities) != (5,):
            raise ValueError(f"{self.id}: abilities must be 5 booleans ({', '.join(ABILITIES)}), got {abilities!r}")
        return first.replace(abilities=jnp.asarray(abilities, bool))

    def step_with_events(self, state: State, action: chex.Numeric) -> tuple[State, rules.Events]:
        """The state after a legal action, unpaid, and what the step brought about: for metrics and labels."""
        return rules.play_with_events(self, state, jnp.asarray(action, jnp.int32))

    def _play(self, state: State, action: chex.Array, moves: chex.Array) -> State:
        after, events = rules.play_with_events(self, state, action)
        return after.replace(rewards=rewards.payment(self, state, action, after, events))
