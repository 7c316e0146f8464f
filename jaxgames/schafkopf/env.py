"""The Schafkopf environment: options, sizes, and the calls into the other rooms."""

import dataclasses
from typing import Any, ClassVar

import chex
import jax
import jax.numpy as jnp

from jaxgames.cards import shuffle
from jaxgames.env import Env
from jaxgames.options import (
    check_bool,
    check_choice,
    check_deal_int,
    check_deal_keys,
    check_int,
    check_permutation,
)
from jaxgames.schafkopf import determinize, observe, render, rewards, rules
from jaxgames.schafkopf.cards import NUM_ACTIONS, NUM_CARDS, NUM_SEATS
from jaxgames.schafkopf.state import State, first_state

# The behaviour of the public repository that the rules page was checked against: `make("schafkopf", **PEER)`.
PEER = {"all_pass": "play_out", "schwarz": "points", "called_ace_discard": "loose"}


@dataclasses.dataclass(frozen=True)
class SchafkopfEnv(Env):
    """Schafkopf with long cards: four players, 32 cards, one deal. Payouts are in cents."""

    id: ClassVar[str] = "schafkopf"
    version: ClassVar[int] = 1
    observation_versions: ClassVar[tuple[str, ...]] = observe.VERSIONS

    num_players: int = 4
    all_pass: str = "end"  # "end" or "play_out": what happens when nobody bids (SC-11)
    schwarz: str = "tricks"  # "tricks" or "points": what Schwarz is counted by (SC-29)
    called_ace_discard: str = "strict"  # "strict" or "loose": may the called ace be thrown on a trump (SC-25)
    contra: bool = True  # play the contra and retour stages
    tariff_sauspiel: int = 20
    tariff_solo: int = 50  # Solo and Wenz
    tariff_extra: int = 10  # Schneider, and again Schwarz
    tariff_laufende: int = 10  # each
    min_laufende: int = 3  # fewer do not count: Sauspiel, Solo
    min_laufende_wenz: int = 2

    def __post_init__(self):
        check_int(self.id, "num_players", self.num_players, 4, 4)
        check_choice(self.id, "all_pass", self.all_pass, ("end", "play_out"))
        check_choice(self.id, "schwarz", self.schwarz, ("tricks", "points"))
        check_choice(self.id, "called_ace_discard", self.called_ace_discard, ("strict", "loose"))
        check_bool(self.id, "contra", self.contra)
        for name in ("tariff_sauspiel", "tariff_solo", "tariff_extra", "tariff_laufende"):
            check_int(self.id, name, getattr(self, name), 0, 1000)
        for name in ("min_laufende", "min_laufende_wenz"):
            check_int(self.id, name, getattr(self, name), 1, 15)

    @property
    def num_actions(self) -> int:
        return NUM_ACTIONS

    @property
    def max_steps(self) -> int:
        return NUM_SEATS * (3 if self.contra else 1) + NUM_CARDS  # SC-34

    @property
    def illegal_penalty(self) -> float:
        return float(rewards.largest_loss(self))

    def init(self, key: chex.PRNGKey, deal: Any = None) -> State:
        """A fresh deal; `deal` is {"dealer": seat, "deck": 32 card ids}, eight for each seat in turn (SC-6)."""
        if deal is None:
            deck_key, dealer_key = jax.random.split(key)
            return first_state(shuffle(deck_key, NUM_CARDS), jax.random.randint(dealer_key, (), 0, NUM_SEATS))
        check_deal_keys(self.id, deal, ("dealer", "deck"))
        check_deal_int(self.id, "dealer", deal["dealer"], 0, NUM_SEATS - 1)
        check_permutation(self.id, "deck", deal["deck"], range(NUM_CARDS))
        return first_state(jnp.asarray(deal["deck"], jnp.int8), jnp.asarray(deal["dealer"], jnp.int8))

    def determinize(self, key: chex.PRNGKey, state: State, player: chex.Numeric, consistency: str = "legal") -> State:
        """Another deal that `player` cannot tell from this one, uniform over the legal ones (SC-52, SC-53).

        `consistency="none"` deals the unseen cards by their number alone, whatever was bid and played.
        """
        check_choice(self.id, "consistency", consistency, ("legal", "none"))
        deal = determinize.legal_world if consistency == "legal" else determinize.any_world
        return deal(key, state, jnp.asarray(player, jnp.int8))

    def observe_parts(self, state: State, player: chex.Numeric, version: str = "lstm70") -> Any:
        """The observation as named parts with their lengths, for networks that read sequences."""
        check_choice(self.id, "observation version", version, observe.VERSIONS)
        return observe.observe_parts(state, player, version)

    def scores(self, state: State) -> chex.Array:
        """int8[seat], card points taken."""
        return state.points

    def render(self, state: State, player: int | None = None) -> str:
        return render.render(state, player)

    def action_name(self, state: State, action: int) -> str:
        return render.action_name(state, action)

    def _legal(self, state: State) -> chex.Array:
        return rules.legal_actions(state, loose=self.called_ace_discard == "loose")

    def _play(self, state: State, action: chex.Array) -> State:
        state = rules.play(state, action, contra=self.contra, end_when_all_pass=self.all_pass == "end")
        # SC-33: the 32nd card pays; a game that all passed pays nothing.
        return state.replace(rewards=jnp.where(state.terminated, rewards.payout(state, self), 0.0))

    def _observe(self, state: State, player: chex.Array, version: str) -> chex.Array:
        return observe.observe(state, player, version)
