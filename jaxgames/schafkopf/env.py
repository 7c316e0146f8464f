"""The Schafkopf environment: options, sizes, and its rooms."""

import dataclasses
import functools
from typing import ClassVar

import chex
import jax.numpy as jnp

from jaxgames.cards import choose_member, is_member
from jaxgames.env import Env, Rooms
from jaxgames.options import check_bool, check_choice, check_int
from jaxgames.schafkopf import determinize, observe, picture, render, rewards, rules, state
from jaxgames.schafkopf.cards import NUM_ACTIONS, NUM_CARDS, NUM_SEATS
from jaxgames.schafkopf.state import State

# The behaviour of the public repository that the rules page was checked against: `make("schafkopf", **PEER)`.
PEER = {"all_pass": "play_out", "schwarz": "points", "called_ace_discard": "loose"}


@dataclasses.dataclass(frozen=True, eq=False)
class SchafkopfEnv(Env[State]):
    """Schafkopf with long cards: four players, 32 cards, one deal. Payouts are in cents."""

    id: ClassVar[str] = "schafkopf"
    version: ClassVar[int] = 1
    rooms: ClassVar[Rooms] = Rooms(state, rules, observe, rewards, determinize, render, picture)

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
        set_option = functools.partial(object.__setattr__, self)
        set_option("num_players", check_int(self.id, "num_players", self.num_players, NUM_SEATS, NUM_SEATS))
        check_choice(self.id, "all_pass", self.all_pass, ("end", "play_out"))
        check_choice(self.id, "schwarz", self.schwarz, ("tricks", "points"))
        check_choice(self.id, "called_ace_discard", self.called_ace_discard, ("strict", "loose"))
        set_option("contra", check_bool(self.id, "contra", self.contra))
        for name in ("tariff_sauspiel", "tariff_solo", "tariff_extra", "tariff_laufende"):
            set_option(name, check_int(self.id, name, getattr(self, name), 0, 1000))
        for name in ("min_laufende", "min_laufende_wenz"):
            set_option(name, check_int(self.id, name, getattr(self, name), 1, 15))

    @property
    def num_actions(self) -> int:
        return NUM_ACTIONS

    @property
    def max_steps(self) -> int:
        return NUM_SEATS * (3 if self.contra else 1) + NUM_CARDS  # SC-34

    def is_legal(self, state: State, action: chex.Numeric) -> chex.Array:
        return is_member(rules.legal_set(self, state), jnp.asarray(action, jnp.int32))

    def random_action(self, state: State, word: chex.Array) -> chex.Array:
        return choose_member(rules.legal_set(self, state), word)

    def determinize(
        self,
        key: chex.PRNGKey,
        state: State,
        player: chex.Numeric,
        consistency: str = "legal",
        weights: chex.Array | None = None,
    ) -> State:
        """Another deal that `player` cannot tell from this one, uniform over the legal ones (SC-52, SC-53).

        `consistency="none"` deals the unseen cards by their number alone, whatever was bid and played. With `weights`,
        float32[card, 3] for the next three seats, legal deals are drawn in proportion to the product of the weights of
        their unseen cards.
        """
        check_choice(self.id, "consistency", consistency, ("legal", "none"))
        return determinize.determinize(self, key, state, self._seat(player), consistency, weights)
