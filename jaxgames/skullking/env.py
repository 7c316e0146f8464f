"""The environment: options, sizes, and calls into the other rooms."""

import dataclasses
import functools
from typing import Any, ClassVar

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import Env
from jaxgames.options import check_bool, check_choice, check_int
from jaxgames.skullking import determinize, observe, render, rewards, rules
from jaxgames.skullking.cards import KRAKEN, LOOTS, NUM_ACTIONS, NUM_CARDS, WHALE
from jaxgames.skullking.state import State, check_deal, first_state, random_decks

ABILITIES = ("rosie", "bendt", "roatan", "jade", "harry")


@dataclasses.dataclass(frozen=True)
class SkullKingEnv(Env):
    """Skull King for 2 to 6 (docs/rules/skullking.md). The options are those of SK-2."""

    id: ClassVar[str] = "skullking"
    version: ClassVar[int] = 1
    observation_versions: ClassVar[tuple[str, ...]] = observe.VERSIONS

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

    def __post_init__(self):
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
    def illegal_penalty(self) -> float:
        return rewards.worst_total(self.reward, self.hand_sizes)

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

    def init(self, key: chex.PRNGKey, deal: Any = None, abilities: Any = None) -> State:
        """The first state. `abilities` (bool[5], Rosie .. Harry) replaces the options' switches without a recompile."""
        if deal is None:
            deal = self.deal(key)
        else:
            check_deal(self, deal)
        if abilities is None:
            abilities = np.array([getattr(self, name) for name in ABILITIES])
        if np.shape(abilities) != (5,):
            raise ValueError(f"{self.id}: abilities must be 5 booleans ({', '.join(ABILITIES)}), got {abilities!r}")
        return first_state(self, deal, abilities)

    def deal(self, key: chex.PRNGKey) -> dict[str, chex.Array]:
        """All the chance of a game, as `init` takes it (SK-3)."""
        starter_key, deck_key = jax.random.split(key)
        starter = jax.random.randint(starter_key, (), 0, self.num_players, jnp.int32)
        return {"starter": starter, "decks": random_decks(self, deck_key)}

    def step_with_events(self, state: State, action: chex.Array) -> tuple[State, rules.Events]:
        """The state after a legal action, and what the step brought about: for metrics and labels."""
        return rules.step(self, state, jnp.asarray(action, jnp.int32))

    def determinize(self, key: chex.PRNGKey, state: State, player: chex.Numeric) -> State:
        return determinize.determinize(self, key, state, player)

    def scores(self, state: State) -> chex.Array:
        """Total points, int16[seat]."""
        return state.total

    def render(self, state: State, player: int | None = None) -> str:
        return render.render(self, state, player)

    def action_name(self, state: State, action: int) -> str:
        """An action in words."""
        return render.action_name(self, state, action)

    def _legal(self, state: State) -> chex.Array:
        return rules.legal_actions(self, state)

    def _play(self, state: State, action: chex.Array) -> State:
        after, events = rules.step(self, state, action)
        return after.replace(rewards=rewards.payment(self, state, action, after, events))

    def _observe(self, state: State, player: chex.Array, version: str) -> chex.Array:
        return observe.observe(self, state, player, version)
