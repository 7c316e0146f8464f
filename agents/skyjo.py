"""The bots of section 15 of Skyjo's rules page. All of them see public information only.

Six heuristics and `ev_greedy` play decision mode, `macro_greedy` plays macro mode; `rule` is the better one of each.
"""

from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxgames.cards import choose, random_action
from jaxgames.options import UserError, read_float
from jaxgames.skyjo.cards import (
    MIN_VALUE,
    NUM_COLUMNS,
    NUM_ROWS,
    NUM_SLOTS,
    NUM_VALUES,
    VALUES,
    Decision,
    DecisionPhase,
    Hand,
    Macro,
    Slot,
)
from jaxgames.skyjo.env import SkyjoEnv
from jaxgames.skyjo.facts import decision_phase, discard_top, drawn_value, in_setup, known_sums, num_hidden
from jaxgames.skyjo.observe import unseen_counts
from jaxgames.skyjo.state import State

MEAN_CARD = float(VALUES.mean())  # 5.0667
NOTHING = -1000  # below every value and every gain


class View(NamedTuple):
    """What a player has before it: its own board and the two piles."""

    values: chex.Array  # float32[slot]  of known cards; 0 elsewhere
    known: chex.Array  # bool[slot]     face up and not removed
    hidden: chex.Array  # bool[slot]
    top: chex.Array  # int32[]        of the discard pile
    drawn: chex.Array  # int32[]        the card in hand
    flips: chex.Array  # bool[]         the drawn card was discarded: a hidden card must be turned up
    unseen: chex.Array  # int32[15]      copies of each value in the unseen pool
    lead: chex.Array  # float32[]      lowest estimate of an opponent minus the own one


def look(state: State, player: chex.Array) -> View:
    """The view of `player`."""
    board = state.status[player]
    known = board == Slot.FACE_UP
    estimates = known_sums(state) + MEAN_CARD * num_hidden(state)
    others = jnp.where(jnp.arange(estimates.shape[0]) == player, jnp.inf, estimates)
    return View(
        values=jnp.where(known, state.cards[player], 0).astype(jnp.float32),
        known=known,
        hidden=board == Slot.HIDDEN,
        top=discard_top(state).astype(jnp.int32),
        drawn=drawn_value(state, player).astype(jnp.int32),
        flips=state.hand_use == Hand.THROWN,
        unseen=unseen_counts(state, player),
        lead=others.min() - estimates[player],
    )


class Style(NamedTuple):
    """A heuristic: three answers to a view."""

    takes: Callable[[View], chex.Array]  # bool[], the discard pile's top?
    keeps: Callable[[View], chex.Array]  # bool[], the drawn card?
    position: Callable[[View, chex.Array], chex.Array]  # int[], the slot, given a random word


def greedy_value_replacement() -> Style:
    """Low cards go on the highest known one."""

    def takes(view):
        return view.top <= jnp.where(num_shown(view) < 6, 2, 4)

    def keeps(view):
        lowest = jnp.where(view.known, view.values, -NOTHING).min()
        return (view.drawn <= 2) | (view.known.any() & (view.drawn <= lowest - 1))

    return Style(takes, keeps, highest_known)


def information_first_flip() -> Style:
    """Turns cards up until seven are known, then plays as the greedy one."""
    greedy = greedy_value_replacement()
    return unless(greedy, lambda view: num_shown(view) < 7)


def column_hunter() -> Style:
    """Collects what its columns already hold."""

    def takes(view):
        return is_wanted(view, view.top) | (view.top <= 1)

    def keeps(view):
        return is_wanted(view, view.drawn) | (view.drawn <= 2)

    def position(view, word):
        del word
        equal = equal_in_column(view, view.drawn)
        bonus = jnp.where(equal == 2, 50, jnp.where(equal == 1, 20, 0))
        worth = bonus + jnp.where(view.known, view.values - view.drawn, 2)
        allowed = view.hidden | (view.known & ~view.flips)
        return jnp.argmax(jnp.where(allowed, worth, NOTHING))

    return Style(takes, keeps, position)


def risk_aware_unknown_replacement() -> Style:
    """Replaces high known cards; puts very low ones where it does not know."""

    def position(view, word):
        into_the_dark = (view.drawn <= 2) & (highest(view) < 7)
        return jnp.where(into_the_dark, random_hidden(view, word), highest_known(view, word))

    return Style(lambda view: view.top <= 4, lambda view: view.drawn <= 4, position)


def end_round_aggro() -> Style:
    """Hurries to the end when ahead, plays as the greedy one otherwise."""
    return unless(greedy_value_replacement(), lambda view: view.lead > 10)


def anti_discard() -> Style:
    """Leaves the discard pile to the others."""
    return Style(lambda view: view.top <= -1, lambda view: view.drawn <= 1, highest_known)


def unless(style: Style, hurries: Callable[[View], chex.Array]) -> Style:
    """Turn up cards at random while `hurries` holds, else play `style`."""
    return Style(
        takes=lambda view: ~hurries(view) & style.takes(view),
        keeps=lambda view: ~hurries(view) & style.keeps(view),
        position=lambda view, word: jnp.where(hurries(view), random_hidden(view, word), style.position(view, word)),
    )


def num_shown(view: View) -> chex.Array:
    """int32[], slots that are not hidden."""
    return NUM_SLOTS - view.hidden.sum()


def highest(view: View) -> chex.Array:
    return jnp.where(view.known, view.values, NOTHING).max()


def highest_known(view: View, word: chex.Array) -> chex.Array:
    """The highest known card; a random hidden one if there is none, or if one must be turned up."""
    slot = jnp.argmax(jnp.where(view.known, view.values, NOTHING))
    return jnp.where(view.flips | ~view.known.any(), random_hidden(view, word), slot)


def random_hidden(view: View, word: chex.Array) -> chex.Array:
    return choose(view.hidden, word)


def equal_in_column(view: View, value: chex.Array) -> chex.Array:
    """int32[slot], other known cards of the slot's column that equal `value`."""
    equal = view.known & (view.values == value)
    in_column = equal.reshape(NUM_ROWS, NUM_COLUMNS).sum(0)
    return jnp.tile(in_column, NUM_ROWS) - equal


def is_wanted(view: View, value: chex.Array) -> chex.Array:
    """bool[], is it the most frequent known value of a column (the first in slot order on ties)?"""
    values = view.values.reshape(NUM_ROWS, NUM_COLUMNS)
    known = view.known.reshape(NUM_ROWS, NUM_COLUMNS)
    copies = ((values[:, None] == values) & known).sum(1)  # [row, column]
    first = jnp.argmax(jnp.where(known, copies, 0), axis=0)
    common = jnp.take_along_axis(values, first[None], axis=0)[0]
    return (known.any(0) & (common == value)).any()


def heuristic(style: Callable[[], Style]):
    """A constructor for one of the six: uniform in set-up and, with probability `epsilon`, anywhere else."""

    def make(env: SkyjoEnv, epsilon: float | str = 0.02):
        _require_mode(env, style.__name__, "decision")
        chance_of_random = read_float("skyjo", "epsilon", epsilon, 0, 1)
        play = style()

        def act(key: chex.PRNGKey, state: State, player: chex.Array):
            slot_key, random_key, epsilon_key = jax.random.split(key, 3)
            view = look(state, player)
            slot = play.position(view, jax.random.bits(slot_key, (), jnp.uint32))
            action = _decide(state, play.takes(view), play.keeps(view), slot)
            is_random = in_setup(state) | (jax.random.uniform(epsilon_key) < chance_of_random)
            return jnp.where(is_random, random_action(random_key, env.legal_action_mask(state)), action)

        return act

    return make


def ev_greedy(env: SkyjoEnv):
    """Takes the discard if no worse than what a draw is worth on average; keeps a card that gains at least 2."""
    _require_mode(env, "ev_greedy", "decision")

    def act(key: chex.PRNGKey, state: State, player: chex.Array):
        view = look(state, player)
        every_value = jnp.arange(NUM_VALUES) + MIN_VALUE
        gains = jax.vmap(lambda value: gain(view, value).max())(every_value)
        draw_worth = (view.unseen * jnp.maximum(gains, 2)).sum() / view.unseen.sum()
        takes = gain(view, view.top).max() >= draw_worth
        keeps = gain(view, view.drawn).max() >= 2
        slot = jnp.where(view.flips, jnp.argmax(view.hidden), jnp.argmax(gain(view, view.drawn)))
        action = _decide(state, takes, keeps, slot)
        return jnp.where(in_setup(state), random_action(key, env.legal_action_mask(state)), action)

    return act


def macro_greedy(env: SkyjoEnv):
    """The best replacement if it gains at least 1, else turns up the first hidden card."""
    _require_mode(env, "macro_greedy", "macro")

    def act(key: chex.PRNGKey, state: State, player: chex.Array):
        del key
        view = look(state, player)
        blind = jnp.where(view.known | view.hidden, old_values(view) - mean_unseen(view), NOTHING)
        gains = jnp.concatenate([gain(view, view.top), blind])
        flip = NUM_SLOTS * Macro.DRAW_DECK_DISCARD_AND_FLIP + jnp.argmax(view.hidden)
        action = jnp.where(gains.max() >= 1, jnp.argmax(gains), flip)
        setup = NUM_SLOTS * Macro.SETUP_FLIP + jnp.argmax(view.hidden)
        return jnp.where(in_setup(state), setup, action).astype(jnp.int32)

    return act


def rule(env: SkyjoEnv):
    """`ev_greedy` or `macro_greedy`, as the action mode asks."""
    return ev_greedy(env) if env.action_mode == "decision" else macro_greedy(env)


def mean_unseen(view: View) -> chex.Array:
    """float32[], what a hidden card is worth on average."""
    return (view.unseen * (jnp.arange(NUM_VALUES) + MIN_VALUE)).sum() / view.unseen.sum()


def old_values(view: View) -> chex.Array:
    """float32[slot], what lies there, hidden cards at their mean."""
    return jnp.where(view.known, view.values, mean_unseen(view))


def gain(view: View, value: chex.Array) -> chex.Array:
    """float32[slot], points saved by placing `value`; a completed column also saves the two cards it had."""
    old = old_values(view)
    saved = jnp.where(equal_in_column(view, value) == 2, old + 2 * value, old - value)
    return jnp.where(view.known | view.hidden, saved, NOTHING)


def _decide(state: State, takes: chex.Array, keeps: chex.Array, slot: chex.Array) -> chex.Array:
    """int32[], the decision-mode action that the three answers give now."""
    phase = decision_phase(state)
    source = jnp.where(takes, Decision.CHOOSE_DISCARD, Decision.CHOOSE_DECK)
    choice = jnp.where(keeps, Decision.KEEP_DRAWN, Decision.DISCARD_DRAWN)
    action = jnp.where(phase == DecisionPhase.KEEP_OR_DISCARD, choice, Decision.FIRST_POSITION + slot)
    return jnp.where(phase == DecisionPhase.CHOOSE_SOURCE, source, action).astype(jnp.int32)


def _require_mode(env: SkyjoEnv, name: str, mode: str) -> None:
    if env.action_mode != mode:
        raise UserError(f"skyjo: the agent {name} plays action_mode {mode!r}, got {env.action_mode!r}")


HEURISTICS = {
    style.__name__: heuristic(style)
    for style in (
        greedy_value_replacement,
        information_first_flip,
        column_hunter,
        risk_aware_unknown_replacement,
        end_round_aggro,
        anti_discard,
    )
}
AGENTS = {"rule": rule, "macro_greedy": macro_greedy, "ev_greedy": ev_greedy, **HEURISTICS}
