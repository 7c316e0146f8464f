"""Saboteur as an environment: its options, its sizes, and calls into the other rooms."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import chex
import jax.numpy as jnp

from jaxgames.env import Env, Options, Rooms
from jaxgames.options import check_bool, check_choice, check_float, check_int
from jaxgames.saboteur import choose, determinize, observe, picture, render, rewards, rules, state
from jaxgames.saboteur.cards import HAND_SIZE, MAX_HAND, NUM_CARDS, NUM_PATH_CARDS, NUM_TOOLS, SABOTEURS
from jaxgames.saboteur.cells import Grid, make_grid
from jaxgames.saboteur.rules import Legal
from jaxgames.saboteur.state import State


class Rules(NamedTuple):
    """The options whose default depends on the variant and the number of players, with the values in force."""

    hand_size: int
    deck: str
    rounds: int
    reward: str


# Section 1 of the rules page, by variant; SB-13 fixes the hands of the full game.
DEFAULT_PLAYERS = {"full": 5, "paths": 4}
PLAYERS = {"full": (3, 10), "paths": (1, 6)}
DEFAULTS: dict[str, dict[str, Any]] = {
    "full": {"deck": "official", "rounds": 3, "reward": "gold"},
    "paths": {"deck": "seed", "rounds": 1, "reward": "seed"},
}
REWARDS = {"full": ("gold", "team", "win"), "paths": ("seed",)}


@dataclasses.dataclass(frozen=True, eq=False)
class SaboteurEnv(Env[State]):
    """`full`: the published card game. `paths`: its path-laying part alone.

    An option that is None takes the default of the variant; `rules` has the value in force.
    """

    id: ClassVar[str] = "saboteur"
    version: ClassVar[int] = 2
    rooms: ClassVar[Rooms] = Rooms(state, rules, observe, rewards, determinize, render, picture)

    num_players: int = None  # type: ignore[assignment]
    variant: str = "full"
    hand_size: int | None = None
    deck: str | None = None
    rounds: int | None = None
    grid: str = "exact"
    goal_x: int = 8
    reward: str | None = None
    final_reward_winner: float = 10.0
    rank_from: str = "finisher"
    dist_reward_scale: float = 0.0
    skip_rule: str = "always"
    self_break: bool = True
    sabotaged_get_gold: bool = True
    dead_end_obs: str = "own"

    def __post_init__(self):
        check_choice(self.id, "variant", self.variant, ("full", "paths"))
        num_players = DEFAULT_PLAYERS[self.variant] if self.num_players is None else self.num_players
        checked = {
            "num_players": check_int(self.id, "num_players", num_players, *PLAYERS[self.variant]),
            "goal_x": check_int(self.id, "goal_x", self.goal_x, 2, 8),
            "final_reward_winner": check_float(self.id, "final_reward_winner", self.final_reward_winner, low=1),
            "dist_reward_scale": check_float(self.id, "dist_reward_scale", self.dist_reward_scale),
            "self_break": check_bool(self.id, "self_break", self.self_break),
            "sabotaged_get_gold": check_bool(self.id, "sabotaged_get_gold", self.sabotaged_get_gold),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        check_choice(self.id, "grid", self.grid, ("exact", "seed"))
        check_choice(self.id, "rank_from", self.rank_from, ("finisher", "seat"))
        check_choice(self.id, "skip_rule", self.skip_rule, ("always", "stuck"))
        check_choice(self.id, "dead_end_obs", self.dead_end_obs, ("own", "path"))
        _ = self.rules  # checks the others

    @functools.cached_property
    def rules(self) -> Rules:
        """The options that depend on others, checked, with their defaults filled in."""
        is_full, defaults = self.variant == "full", DEFAULTS[self.variant]
        given = {name: getattr(self, name) for name in Rules._fields}
        chosen = defaults | {name: value for name, value in given.items() if value is not None}
        most = min(MAX_HAND, NUM_PATH_CARDS // self.num_players)
        low, high = (HAND_SIZE[self.num_players],) * 2 if is_full else (1, most)
        return Rules(
            hand_size=check_int(self.id, "hand_size", chosen.get("hand_size", high), low, high),
            deck=check_choice(self.id, "deck", chosen["deck"], ("official", "seed")),
            rounds=check_int(self.id, "rounds", chosen["rounds"], 1, defaults["rounds"]),
            reward=check_choice(self.id, "reward", chosen["reward"], REWARDS[self.variant]),
        )

    @property
    def options(self) -> Options:
        return super().options | self.rules._asdict()

    @property
    def cells(self) -> Grid:
        """The grid of cells."""
        return make_grid(self.grid, self.goal_x)

    @property
    def num_cards(self) -> int:
        """Cards in the deck of a round."""
        return NUM_CARDS if self.variant == "full" else NUM_PATH_CARDS

    @property
    def num_saboteurs(self) -> int:
        """Saboteur cards among the role cards (SB-7), not the number of saboteurs at the table."""
        return SABOTEURS.get(self.num_players, 0) if self.variant == "full" else 0

    @property
    def num_roles(self) -> int:
        """SB-7: one role card more than players."""
        return self.num_players + 1

    @property
    def gold_per_round(self) -> int:
        """SB-34."""
        return min(self.num_players, 9)

    @property
    def first_tool_action(self) -> int:
        """Board actions end here; in `paths` this is the skip (SB-19)."""
        return 2 * MAX_HAND * self.cells.size

    @property
    def first_discard(self) -> int:
        return self.first_tool_action + MAX_HAND * NUM_TOOLS * self.num_players

    @property
    def num_actions(self) -> int:
        return self.first_discard + MAX_HAND if self.variant == "full" else self.first_tool_action + 1

    @property
    def max_steps(self) -> int:
        return NUM_CARDS * self.rules.rounds if self.variant == "full" else NUM_PATH_CARDS * self.num_players

    @property
    def observation_versions(self) -> tuple[str, ...]:
        return observe.VERSIONS if self.variant == "full" else ("seed",)

    def is_legal(self, state: State, action: chex.Numeric) -> chex.Array:
        return rules.is_legal(self, state, jnp.asarray(action, jnp.int32))

    def legal_factors(self, state: State) -> Legal:
        """The legal actions of the player to move in factors, far smaller than the flat mask: the cells of every
        slot and orientation as bits (`cells.unpack` spreads them), tool targets, discards, and the skip."""
        return rules.legal_factors(self, state)

    def random_action(self, state: State, word: chex.Array) -> chex.Array:
        """A uniform legal action, int32[], from one random uint32 word, without the flat mask."""
        return choose.random_action(self, state, word)

    def snap(self, state: State, wish: Sequence[chex.Numeric], fallback: str = "another") -> chex.Array:
        """SB-51: the legal action meant by `wish` = (card, x, y, orientation[, target]), int32[]."""
        check_choice(self.id, "fallback", fallback, ("another", "skip"))
        if len(wish) not in (4, 5):
            raise ValueError(f"{self.id}: wish must be (card, x, y, orientation[, target]), got {len(wish)} entries")
        return choose.snap(self, state, (*wish, 0)[:5], fallback)

    def found_gold(self, state: State) -> chex.Array:
        """bool[], does the gold of the current (or last) round lie face up?"""
        return rewards.found_gold(self, state)
