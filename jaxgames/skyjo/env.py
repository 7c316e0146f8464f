"""Skyjo as an environment: its options and sizes, and calls into the other rooms."""

import dataclasses
from typing import Any, ClassVar

import chex
import jax
import jax.numpy as jnp

from jaxgames.env import Env
from jaxgames.skyjo import observe, rewards, rules
from jaxgames.skyjo.cards import NUM_DECISION_ACTIONS, NUM_MACRO_ACTIONS
from jaxgames.skyjo.chance import read_deal, seed_of
from jaxgames.skyjo.determinize import determinize
from jaxgames.skyjo.options import Rules, resolve
from jaxgames.skyjo.render import action_name, render
from jaxgames.skyjo.state import State

# Compiled even where the caller does not: hundreds of small operations one by one would take seconds.
_first_state = jax.jit(rules.first_state, static_argnums=0)
_play = jax.jit(rules.play, static_argnums=0)


@dataclasses.dataclass(frozen=True)
class SkyjoEnv(Env):
    """Skyjo for 2 to 8 players; the options are those of section 2 of the rules page.

    >>> env = SkyjoEnv(num_players=4, ruleset="official")
    """

    id: ClassVar[str] = "skyjo"
    version: ClassVar[int] = 1
    observation_versions: ClassVar[tuple[str, ...]] = ("tokens", "flat")

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
    # None takes the ruleset's choice.
    ender_tie_doubles: bool | None = None
    ender_double: str | None = None
    max_clears_per_round: int | None = None
    cleared_cards: str | None = None
    final_reveal_clears: bool | None = None
    later_start: str | None = None

    def __post_init__(self):
        # Spellings of one game become the same, so that they share one compilation.
        chosen = resolve(self)
        for name in ("num_players", "score_limit", "max_steps"):
            object.__setattr__(self, name, getattr(chosen, name))
        object.__setattr__(self, "history_window_k", chosen.history)
        object.__setattr__(self, "setup_mode", "manual" if chosen.manual_setup else "auto")

    @property
    def rules(self) -> Rules:
        """The options with the ruleset's choices filled in."""
        return resolve(self)

    @property
    def num_actions(self) -> int:
        return NUM_DECISION_ACTIONS if self.rules.look_first else NUM_MACRO_ACTIONS

    @property
    def illegal_penalty(self) -> float:
        return rewards.illegal_penalty(self.rules)

    def init(self, key: chex.PRNGKey, deal: Any = None) -> State:
        """A new game. `deal` = {"decks", "reveals", "refills"} is all of its chance (SJ-6); without it, `key` is."""
        script = None if deal is None else read_deal(self.rules, deal)
        return _first_state(self.rules, seed_of(key), script)

    def determinize(self, key: chex.PRNGKey, state: State, player: chex.Numeric) -> State:
        return determinize(self.rules, key, state, jnp.asarray(player, jnp.int32))

    def scores(self, state: State) -> chex.Array:
        """int16[seat], low is good."""
        return state.scores

    def winners(self, state: State) -> chex.Array:
        """bool[seat], who won; nobody before the end, nor after an illegal action or a cut (SJ-35 to SJ-37)."""
        return rewards.game_winners(self.rules, state)

    def tokens(self, state: State, player: chex.Numeric) -> observe.Tokens:
        """The observation `tokens` as its named parts (SJ-60)."""
        return observe.tokens(self.rules, state, jnp.asarray(player, jnp.int32))

    def flat(self, state: State, player: chex.Numeric) -> observe.Flat:
        """The observation `flat` as its named blocks (SJ-62)."""
        return observe.flat(self.rules, state, jnp.asarray(player, jnp.int32))

    def action_name(self, state: State, action: int) -> str:
        """An action in words, as `state.current_player` may take it."""
        return action_name(self.rules, state, action)

    def render(self, state: State, player: int | None = None) -> str:
        return render(self.rules, state, player)

    def _legal(self, state: State) -> chex.Array:
        return rules.legal(self.rules, state)

    def _play(self, state: State, action: chex.Array) -> State:
        return _play(self.rules, state, action)

    def _observe(self, state: State, player: chex.Array, version: str) -> chex.Array:
        vectors = {"tokens": observe.token_vector, "flat": observe.flat_vector}
        return vectors[version](self.rules, state, player)
