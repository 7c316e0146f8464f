"""Magic Trick as an environment: options, sizes, and the way into the other rooms."""

import dataclasses
from typing import Any, ClassVar

import chex
import jax
import jax.numpy as jnp

from jaxgames.cards import shuffles
from jaxgames.env import Env
from jaxgames.magictrick import belief as beliefs
from jaxgames.magictrick import determinize, observe, render, rewards, rules
from jaxgames.magictrick.cards import NUM_ACTIONS, NUM_CARDS, NUM_SEATS, NUM_TRICKS, action_name
from jaxgames.magictrick.state import State, first_state
from jaxgames.options import (
    check_bool,
    check_choice,
    check_deal_int,
    check_deal_keys,
    check_int,
    check_permutation,
)

# A hand has 52 plays, and each may be followed by a bid decision (MT-21).
MAX_STEPS_OF_A_HAND = 2 * NUM_SEATS * NUM_TRICKS


@dataclasses.dataclass(frozen=True)
class MagicTrickEnv(Env):
    """Magic Trick for four, `num_hands` hands a game (docs/rules/magictrick.md)."""

    id: ClassVar[str] = "magictrick"
    version: ClassVar[int] = 1
    observation_versions: ClassVar[tuple[str, ...]] = ("v3", "v1", "v2", "v4", "v5")

    num_players: int = 4
    num_hands: int = 1  # the printed game has 4
    first_leader: int = 0  # seat that leads the first hand; -1: drawn at init, the choice for training
    reward: str = "v2"
    zero_bid_prestige: bool = True  # does a made bid of zero earn prestige? (MT-23)
    observation: str = "v3"  # the version that `observe` shows unless told otherwise

    def __post_init__(self):
        check_int(self.id, "num_players", self.num_players, NUM_SEATS, NUM_SEATS)
        check_int(self.id, "num_hands", self.num_hands, 1, 8)
        check_int(self.id, "first_leader", self.first_leader, -1, NUM_SEATS - 1)
        check_choice(self.id, "reward", self.reward, rewards.SCHEMES)
        check_bool(self.id, "zero_bid_prestige", self.zero_bid_prestige)
        check_choice(self.id, "observation", self.observation, tuple(observe.VERSIONS))

    @property
    def num_actions(self) -> int:
        """Play one of 14 slots, bid with one of them, or pass (MT-6)."""
        return NUM_ACTIONS

    @property
    def max_steps(self) -> int:
        """No game has more steps than this (MT-21)."""
        return MAX_STEPS_OF_A_HAND * self.num_hands

    @property
    def illegal_penalty(self) -> float:
        """1, or 14 where rewards are points (MT-32)."""
        return rewards.illegal_penalty(self.reward)

    def init(self, key: chex.PRNGKey, deal: Any = None) -> State:
        """The first state. `deal` is {"decks": [a permutation of 0..55 for each hand], "first_leader": seat}.

        A given deal is followed to the letter, its leader too, whatever the option `first_leader` says.
        """
        if deal is not None:
            return self._dealt(deal)
        deal_key, leader_key = jax.random.split(key)
        drawn = jax.random.randint(leader_key, (), 0, NUM_SEATS, jnp.int8)
        leader = drawn if self.first_leader < 0 else jnp.int8(self.first_leader)
        return first_state(shuffles(deal_key, self.num_hands, NUM_CARDS), leader)

    def _dealt(self, deal: Any) -> State:
        check_deal_keys(self.id, deal, ("decks", "first_leader"))
        check_deal_int(self.id, "deal first_leader", deal["first_leader"], 0, NUM_SEATS - 1)
        decks = deal["decks"]
        if not hasattr(decks, "__len__") or len(decks) != self.num_hands:
            got = len(decks) if hasattr(decks, "__len__") else repr(decks)
            raise ValueError(f"{self.id}: deal decks must be {self.num_hands} decks (num_hands), got {got}")
        for h, deck in enumerate(decks):
            check_permutation(self.id, f"deal decks[{h}]", deck, range(NUM_CARDS))
        return first_state(jnp.stack([jnp.asarray(deck, jnp.int8) for deck in decks]), deal["first_leader"])

    def determinize(self, key: chex.PRNGKey, state: State, player: chex.Numeric) -> State:
        """An exact draw from what everybody believes; the same for every player (MT-50 to MT-55)."""
        del player
        return determinize.determinize(key, state)

    def belief(self, state: State) -> chex.Array:
        """float32[seat, slot, value], the probability of each value in each slot (MT-56)."""
        return beliefs.belief(state)

    def winners(self, state: State) -> chex.Array:
        """bool[seat], who has won; nobody before the regular end (MT-26)."""
        return rules.winners(state)

    def scores(self, state: State) -> chex.Array:
        """int16[seat], points of the finished hands (MT-25)."""
        return state.scores

    def render(self, state: State, player: int | None = None) -> str:
        """The position as text; for a player with hidden values covered, the own ones too."""
        return render.render(state, open_values=player is None)

    def action_name(self, state: State, action: int) -> str:
        return action_name(action)

    def observe(self, state: State, player: chex.Numeric, version: str | None = None) -> chex.Array:
        """What `player` is shown, by default in the version of the option `observation` (section 7)."""
        return super().observe(state, player, self.observation if version is None else version)

    def _legal(self, state: State) -> chex.Array:
        return rules.legal_actions(state)

    def _play(self, state: State, action: chex.Array) -> State:
        played = rules.play(state, action, zero_bid_prestige=self.zero_bid_prestige)
        return played.replace(rewards=rewards.hand_rewards(played.scores - state.scores, self.reward))

    def _observe(self, state: State, player: chex.Array, version: str) -> chex.Array:
        return observe.observe(state, player, version)
