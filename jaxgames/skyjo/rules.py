"""The rules as a whole: what is legal, and what a step does, told in order."""

import functools
from typing import TYPE_CHECKING

import chex
import jax
import jax.numpy as jnp

from jaxgames.skyjo import chance, history
from jaxgames.skyjo.cards import NUM_SLOTS, Decision, DecisionPhase, Hand, Macro, Slot
from jaxgames.skyjo.facts import decision_phase, in_setup, round_is_over
from jaxgames.skyjo.rounds import deal_round, score_round, turn_all_up
from jaxgames.skyjo.script import follow_script
from jaxgames.skyjo.turns import (
    Move,
    clear_column,
    discard_card,
    draw_card,
    keep_card,
    pass_turn,
    take_discard,
    use_card,
)

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv
    from jaxgames.skyjo.state import State


def legal_actions(env: "SkyjoEnv", state: "State") -> chex.Array:
    """bool[action] (SJ-40, SJ-41). Never empty: whoever is to move has a hidden slot (SJ-21)."""
    board = state.status[state.current_player]
    hidden, there = board == Slot.HIDDEN, board != Slot.REMOVED
    setup = in_setup(state)
    if env.action_mode == "macro":
        return jnp.concatenate([there & ~setup, there & ~setup, hidden & ~setup, hidden & setup])
    phase = decision_phase(state)
    sources = jnp.broadcast_to(phase == DecisionPhase.CHOOSE_SOURCE, (2,))
    choices = jnp.broadcast_to(phase == DecisionPhase.KEEP_OR_DISCARD, (2,))
    flips = setup | (state.hand_use == Hand.THROWN)
    places = (phase == DecisionPhase.CHOOSE_POSITION) & ~flips
    return jnp.concatenate([sources, choices, (places & there) | (flips & hidden)])


@functools.partial(jax.jit, static_argnums=0)
def play(env: "SkyjoEnv", state: "State", action: chex.Array) -> "State":
    """One step of the player to move: in macro mode a whole turn, in decision mode a part of one.

    Compiled even where the caller does not, as `first_state` is.
    """
    move = read_move(env, state, action)
    state = follow_script(env, state, draws=move.draws)
    state = chance.prepare_next_deck(env, state)

    state = draw_card(state, when=move.draws)
    state = take_discard(state, when=move.takes)
    state = keep_card(state, when=move.keeps)
    state = discard_card(state, when=move.discards)

    state, turn = use_card(state, move)
    state, clear = clear_column(env, state, move.position, when=move.completes)
    state = pass_turn(env, state, sets_up=move.sets_up, completes=move.completes)

    is_over = round_is_over(state)
    state, final_clears = turn_all_up(env, state, when=is_over)
    state, score = score_round(env, state, when=is_over)
    deals = is_over & ~state.terminated
    state, flips = deal_round(env, state, when=deals)

    state = history.write(state, [turn, clear, final_clears, score, flips], deals=deals)
    return state.replace(truncated=~state.terminated & (state.step_count + 1 >= env.max_steps))


def read_move(env: "SkyjoEnv", state: "State", action: chex.Array) -> Move:
    """What an action means now, read once: no transition may trigger the next."""
    if env.action_mode == "macro":
        macro = action // NUM_SLOTS
        return Move(
            sets_up=macro == Macro.SETUP_FLIP,
            draws=(macro == Macro.DRAW_DECK_KEEP_AND_REPLACE) | (macro == Macro.DRAW_DECK_DISCARD_AND_FLIP),
            takes=macro == Macro.TAKE_DISCARD_AND_REPLACE,
            keeps=macro == Macro.DRAW_DECK_KEEP_AND_REPLACE,
            discards=macro == Macro.DRAW_DECK_DISCARD_AND_FLIP,
            completes=macro != Macro.SETUP_FLIP,
            position=action % NUM_SLOTS,
        )
    names_a_slot = action >= Decision.FIRST_POSITION
    return Move(
        sets_up=names_a_slot & in_setup(state),
        draws=action == Decision.CHOOSE_DECK,
        takes=action == Decision.CHOOSE_DISCARD,
        keeps=action == Decision.KEEP_DRAWN,
        discards=action == Decision.DISCARD_DRAWN,
        completes=names_a_slot & ~in_setup(state),
        position=jnp.maximum(action - Decision.FIRST_POSITION, 0),
    )
