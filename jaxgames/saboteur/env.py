"""Saboteur as an environment: its options, its sizes, and calls into the other rooms."""

import dataclasses
from typing import Any, ClassVar

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import Env
from jaxgames.options import check_bool, check_choice, check_float, check_int
from jaxgames.saboteur import choose, rules
from jaxgames.saboteur import determinize as worlds
from jaxgames.saboteur import observe as views
from jaxgames.saboteur import render as text
from jaxgames.saboteur import rewards as pay
from jaxgames.saboteur.cards import HAND_SIZE, MAX_HAND, NUM_CARDS, NUM_PATH_CARDS, NUM_TOOLS, SABOTEURS
from jaxgames.saboteur.cells import Grid, make_grid
from jaxgames.saboteur.state import State, deal_cards, first_state, read_deal

# Options whose default depends on the variant (section 1 of the rules page).
DEFAULTS: dict[str, dict[str, Any]] = {
    "full": {"num_players": 5, "deck": "official", "rounds": 3, "reward": "gold"},
    "paths": {"num_players": 4, "deck": "seed", "rounds": 1, "reward": "seed", "hand_size": 6},
}
REWARDS = {"full": ("gold", "team", "win"), "paths": ("seed",)}


@dataclasses.dataclass(frozen=True)
class SaboteurEnv(Env):
    """`full`: the published card game. `paths`: its path-laying part alone. None takes the variant's default."""

    id: ClassVar[str] = "saboteur"
    version: ClassVar[int] = 1
    observation_versions: ClassVar[tuple[str, ...]] = ("full", "seed")  # `paths` has `seed` alone

    num_players: int = None  # type: ignore[assignment]
    variant: str = "full"
    hand_size: int = None  # type: ignore[assignment]
    deck: str = None  # type: ignore[assignment]
    rounds: int = None  # type: ignore[assignment]
    grid: str = "exact"
    goal_x: int = 8
    reward: str = None  # type: ignore[assignment]
    final_reward_winner: float = 10.0
    rank_from: str = "finisher"
    dist_reward_scale: float = 0.0
    skip_rule: str = "always"
    self_break: bool = True
    sabotaged_get_gold: bool = True
    dead_end_obs: str = "own"

    def __post_init__(self):
        check_choice(self.id, "variant", self.variant, ("full", "paths"))
        is_full = self.variant == "full"
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        given |= {name: value for name, value in DEFAULTS[self.variant].items() if given[name] is None}
        given["num_players"] = check_int(
            self.id, "num_players", given["num_players"], *((3, 10) if is_full else (1, 6))
        )
        given["hand_size"] = self._check_hand_size(given["num_players"], given["hand_size"])
        given["rounds"] = check_int(self.id, "rounds", given["rounds"], 1, 3 if is_full else 1)
        given["goal_x"] = check_int(self.id, "goal_x", given["goal_x"], 2, 8)
        given["final_reward_winner"] = check_float(self.id, "final_reward_winner", given["final_reward_winner"], low=1)
        given["dist_reward_scale"] = check_float(self.id, "dist_reward_scale", given["dist_reward_scale"])
        given["self_break"] = check_bool(self.id, "self_break", given["self_break"])
        given["sabotaged_get_gold"] = check_bool(self.id, "sabotaged_get_gold", given["sabotaged_get_gold"])
        check_choice(self.id, "deck", given["deck"], ("official", "seed"))
        check_choice(self.id, "grid", given["grid"], ("exact", "seed"))
        check_choice(self.id, "reward", given["reward"], REWARDS[self.variant])
        check_choice(self.id, "rank_from", given["rank_from"], ("finisher", "seat"))
        check_choice(self.id, "skip_rule", given["skip_rule"], ("always", "stuck"))
        check_choice(self.id, "dead_end_obs", given["dead_end_obs"], ("own", "path"))
        for name, value in given.items():
            object.__setattr__(self, name, value)
        if not is_full:
            object.__setattr__(self, "observation_versions", ("seed",))

    def _check_hand_size(self, num_players: int, hand_size: Any) -> int:
        """SB-13: the full game fixes it; in `paths` the deck limits it."""
        if self.variant == "full":
            fixed = HAND_SIZE[num_players]
            return check_int(self.id, "hand_size", fixed if hand_size is None else hand_size, fixed, fixed)
        return check_int(self.id, "hand_size", hand_size, 1, min(MAX_HAND, NUM_PATH_CARDS // num_players))

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
        return NUM_CARDS * self.rounds if self.variant == "full" else NUM_PATH_CARDS * self.num_players

    @property
    def illegal_penalty(self) -> float:
        return pay.illegal_penalty(self)

    def init(self, key: chex.PRNGKey, deal: Any = None) -> State:
        return first_state(self, deal_cards(self, key) if deal is None else read_deal(self, deal))

    def is_legal(self, state: State, action: chex.Array) -> chex.Array:
        return rules.is_legal(self, state, action)

    def legal_factors(self, state: State) -> rules.Legal:
        """The legal actions of the player to move in factors, far smaller than the flat mask: the cells of every
        slot and orientation as bits (`cells.unpack` spreads them), tool targets, discards, and the skip."""
        return rules.legal_factors(self, state)

    def random_action(self, state: State, word: chex.Array) -> chex.Array:
        """A uniform legal action, int32[], from one random uint32 word, without the flat mask."""
        return choose.random_action(self, state, word)

    def snap(self, state: State, wish: Any, fallback: str = "another") -> chex.Array:
        """SB-51: the legal action meant by `wish` = (card, x, y, orientation[, target]), int32[]."""
        check_choice(self.id, "fallback", fallback, ("another", "skip"))
        if len(wish) not in (4, 5):
            raise ValueError(f"{self.id}: wish must be (card, x, y, orientation[, target]), got {len(wish)} entries")
        return choose.snap(self, state, (*wish, 0)[:5], fallback)

    def determinize(self, key: chex.PRNGKey, state: State, player: chex.Numeric) -> State:
        return worlds.determinize(self, key, state, jnp.asarray(player, jnp.int32))

    def scores(self, state: State) -> chex.Array:
        return pay.scores(self, state)

    def found_gold(self, state: State) -> chex.Array:
        """bool[], does the gold of the current (or last) round lie face up?"""
        return pay.found_gold(self, state)

    def render(self, state: State, player: int | None = None) -> str:
        return text.render(self, state, player)

    def action_name(self, state: State, action: int) -> str:
        return text.action_name(self, state, action)

    def observation_layout(self, version: str | None = None) -> dict[str, slice]:
        """Where each part of an observation sits in the flat vector."""
        shapes = jax.eval_shape(lambda: views.view(self, self.init(jax.random.key(0)), jnp.int32(0)))
        named = dict(zip(views.View._fields, shapes, strict=True))
        if (version or self.observation_versions[0]) == "seed":
            named = {name: named[name] for name in ("board", "hand")}
        ends = np.cumsum([shape.size for shape in named.values()])
        return {
            name: slice(int(end - shape.size), int(end)) for (name, shape), end in zip(named.items(), ends, strict=True)
        }

    def _legal(self, state: State) -> chex.Array:
        return rules.legal_mask(self, state)

    def _play(self, state: State, action: chex.Array) -> State:
        played = rules.play(self, state, action)
        return played.replace(rewards=pay.rewards(self, state, played))

    def _observe(self, state: State, player: chex.Array, version: str) -> chex.Array:
        return views.observe(self, state, player, version)
