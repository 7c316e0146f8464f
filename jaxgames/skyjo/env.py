"""Skyjo as an environment: its options, checked, and the rules that follow from them (section 2 of the rules page)."""

import dataclasses
import functools
from typing import ClassVar, NamedTuple

import chex
import jax.numpy as jnp

from jaxgames.cards import choose_member, is_member
from jaxgames.env import Env, Options, Rooms
from jaxgames.options import check_bool, check_choice, check_int
from jaxgames.skyjo import determinize, observe, picture, render, rewards, rules, state
from jaxgames.skyjo.cards import NO_ACTION, NUM_COLUMNS, NUM_DECISION_ACTIONS, NUM_MACRO_ACTIONS
from jaxgames.skyjo.state import State


class Rules(NamedTuple):
    """The six choices that a ruleset bundles."""

    ender_tie_doubles: bool  # an ender who shares the lowest total fails
    ender_double: str  # which totals of a failed ender are doubled: "positive" or "any"
    max_clears_per_round: int  # of each player
    cleared_cards: str  # "out" of the round, or on the "discard" pile
    final_reveal_clears: bool  # hidden cards are turned up at the end of a round, and may clear
    later_start: str  # who starts from round 2: "highest_sum" or "ender"


RULESETS = {
    "base": Rules(True, "positive", 4, "out", False, "highest_sum"),  # the rules page's choice
    "official": Rules(True, "positive", 4, "discard", True, "ender"),  # the printed rules
    "skynet": Rules(False, "any", 1, "out", False, "highest_sum"),  # SkyNet's
}


@dataclasses.dataclass(frozen=True, eq=False)
class SkyjoEnv(Env[State]):
    """Skyjo for 2 to 8 players; the options are those of section 2 of the rules page.

    >>> env = SkyjoEnv(num_players=4, ruleset="official")
    """

    id: ClassVar[str] = "skyjo"
    version: ClassVar[int] = 2
    rooms: ClassVar[Rooms] = Rooms(state, rules, observe, rewards, determinize, render, picture)
    guarded: ClassVar[tuple[str, ...]] = ("cards", "status", "deck", "discard", "next_deck", "history")

    num_players: int = 2
    setup_mode: str = "auto"
    manual_initial_reveals: bool = False
    action_mode: str = "macro"
    history_window_k: int = 16
    score_limit: int = 100
    max_steps: int = 10_000  # type: ignore[assignment]
    reward_mode: str = "mixed"
    tie_rule: str = "lowest_index"
    ruleset: str = "base"
    # None takes the ruleset's choice; `rules` has the choice in force.
    ender_tie_doubles: bool | None = None
    ender_double: str | None = None
    max_clears_per_round: int | None = None
    cleared_cards: str | None = None
    final_reveal_clears: bool | None = None
    later_start: str | None = None

    def __post_init__(self):
        set_option = functools.partial(object.__setattr__, self)
        for name, low, high in (
            ("num_players", 2, 8),
            ("history_window_k", 0, 128),
            ("score_limit", 1, 1000),
            ("max_steps", 1, 1_000_000),
        ):
            set_option(name, check_int(self.id, name, getattr(self, name), low, high))
        if isinstance(self.setup_mode, str):
            set_option("setup_mode", self.setup_mode.strip().lower())
        check_choice(self.id, "setup_mode", self.setup_mode, ("auto", "manual"))
        check_choice(self.id, "action_mode", self.action_mode, ("macro", "decision"))
        check_choice(self.id, "reward_mode", self.reward_mode, ("mixed", "win_loss", "round_score", "score_margin"))
        check_choice(self.id, "tie_rule", self.tie_rule, ("lowest_index", "shared"))
        check_choice(self.id, "ruleset", self.ruleset, tuple(RULESETS))
        set_option("manual_initial_reveals", check_bool(self.id, "manual_initial_reveals", self.manual_initial_reveals))
        _ = self.rules  # checks the others

    @functools.cached_property
    def rules(self) -> Rules:
        """The choices in force, checked: the ruleset's, but for those made singly."""
        single = {name: getattr(self, name) for name in Rules._fields}
        made = {name: value for name, value in single.items() if value is not None}
        chosen = RULESETS[self.ruleset]._replace(**made)
        return Rules(
            ender_tie_doubles=check_bool(self.id, "ender_tie_doubles", chosen.ender_tie_doubles),
            ender_double=check_choice(self.id, "ender_double", chosen.ender_double, ("positive", "any")),
            max_clears_per_round=check_int(
                self.id, "max_clears_per_round", chosen.max_clears_per_round, 0, NUM_COLUMNS
            ),
            cleared_cards=check_choice(self.id, "cleared_cards", chosen.cleared_cards, ("out", "discard")),
            final_reveal_clears=check_bool(self.id, "final_reveal_clears", chosen.final_reveal_clears),
            later_start=check_choice(self.id, "later_start", chosen.later_start, ("highest_sum", "ender")),
        )

    @property
    def manual_setup(self) -> bool:
        """The players choose their opening reveals (SJ-12)."""
        return self.manual_initial_reveals or self.setup_mode == "manual"

    @property
    def options(self) -> Options:
        """Every option with the value in force, so that two spellings of one game are equal.

        `ruleset` is then the one that bundles the six choices, or "base" if none does: it has nothing left to choose.
        """
        setup_mode = "manual" if self.manual_setup else "auto"
        ruleset = next((name for name, bundle in RULESETS.items() if bundle == self.rules), "base")
        setup = {"setup_mode": setup_mode, "manual_initial_reveals": self.manual_setup}
        return super().options | setup | {"ruleset": ruleset} | self.rules._asdict()

    @property
    def usual_steps(self) -> int:
        """Of random play; `max_steps` is a limit that no usual game comes near."""
        return 32 * self.num_players * (2 if self.action_mode == "decision" else 1)

    @property
    def num_actions(self) -> int:
        return NUM_DECISION_ACTIONS if self.action_mode == "decision" else NUM_MACRO_ACTIONS

    def _play(self, state: State, action: chex.Array, moves: chex.Array) -> State:
        return super()._play(state, jnp.where(moves, action, NO_ACTION), moves)

    def is_legal(self, state: State, action: chex.Numeric) -> chex.Array:
        return is_member(rules.legal_set(self, state), jnp.asarray(action, jnp.int32))

    def random_action(self, state: State, word: chex.Array) -> chex.Array:
        return choose_member(rules.legal_set(self, state), word)
