"""The rules as a whole: what is legal, and what a step does, told in order."""

import functools
from typing import TYPE_CHECKING

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.cards import members
from jaxgames.env import of_few
from jaxgames.skyjo import chance, history
from jaxgames.skyjo.cards import NO_ACTION, NUM_SLOTS, Decision, DecisionPhase, Hand, Macro, Slot
from jaxgames.skyjo.facts import decision_phase, in_setup, round_is_over
from jaxgames.skyjo.rounds import lay_out, open_round, score_round, turn_all_up
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

SOURCES = np.uint32(1 << Decision.CHOOSE_DECK | 1 << Decision.CHOOSE_DISCARD)
CHOICES = np.uint32(1 << Decision.KEEP_DRAWN | 1 << Decision.DISCARD_DRAWN)


def legal_actions(env: "SkyjoEnv", state: "State") -> chex.Array:
    """bool[action] (SJ-40, SJ-41). Never empty: whoever is to move has a hidden slot (SJ-21)."""
    return members(legal_set(env, state), env.num_actions)


def legal_set(env: "SkyjoEnv", state: "State") -> chex.Array:
    """uint32[word], the legal actions as bits: sets of slots of the player's board, each moved to where it is meant."""
    board, setup = state.status[state.current_player], chooses_reveals(env, state)
    hidden, there = slots(board == Slot.HIDDEN), slots(board != Slot.REMOVED)
    if env.action_mode == "macro":
        # Four sets of twelve slots, the third of which lies across the border of the two words.
        low = jnp.where(setup, 0, there | there << NUM_SLOTS | hidden << 2 * NUM_SLOTS)
        high = jnp.where(setup, hidden << 3 * NUM_SLOTS - 32, hidden >> 32 - 2 * NUM_SLOTS)
        return jnp.stack([low, high])
    phase = decision_phase(state)
    flips = setup | (state.hand_use == Hand.THROWN)
    places = jnp.where(phase == DecisionPhase.CHOOSE_POSITION, there, jnp.uint32(0))
    sources = jnp.where(phase == DecisionPhase.CHOOSE_SOURCE, SOURCES, jnp.uint32(0))
    choices = jnp.where(phase == DecisionPhase.KEEP_OR_DISCARD, CHOICES, jnp.uint32(0))
    return (sources | choices | jnp.where(flips, hidden, places) << Decision.FIRST_POSITION)[None]


def chooses_reveals(env: "SkyjoEnv", state: "State") -> chex.Array:
    """bool[], `in_setup`; a constant in automatic set-up, where the compiler then leaves out all that hangs on it."""
    return in_setup(state) if env.manual_setup else jnp.bool_(False)


def slots(where: chex.Array) -> chex.Array:
    """uint32[], a mask of the twelve slots as bits."""
    return (where.astype(jnp.uint32) << np.arange(NUM_SLOTS, dtype=np.uint32)).sum(dtype=jnp.uint32)


@functools.partial(jax.jit, static_argnums=0)
def play(env: "SkyjoEnv", state: "State", action: chex.Array) -> "State":
    """One step of the player to move: in macro mode a whole turn, in decision mode a part of one.

    With NO_ACTION boards, piles and history stay as they are.
    Compiled even where the caller does not, as `first_state` is.
    """
    moves = action != NO_ACTION
    move = read_move(env, state, action)
    state = follow_script(env, state, draws=move.draws, when=moves)
    state = chance.prepare_next_deck(env, state, when=moves)

    state = draw_card(state, when=move.draws)
    state = take_discard(state, when=move.takes)
    state = keep_card(state, when=move.keeps)
    state = discard_card(state, when=move.discards)

    state, turn = use_card(state, move)
    state, clear = clear_column(env, state, move.position, when=move.completes)
    state = pass_turn(env, state, sets_up=move.sets_up, completes=move.completes)

    state = history.write(state, [turn, clear], deals=jnp.bool_(False))

    ends_round = moves & round_is_over(state)
    # A round has 10 turns of each player at least (SJ-21): in a batch few rounds end at once.
    state = of_few(functools.partial(end_round, env), state, when=ends_round, one_in=8 * env.num_players)
    state = open_round(env, state, when=ends_round & ~state.terminated)
    return state.replace(truncated=~state.terminated & (state.step_count + 1 >= env.max_steps))


def end_round(env: "SkyjoEnv", state: "State") -> "State":
    """The last turn was had: the round is scored and, unless the game is over, the next one laid out."""
    state, clears = turn_all_up(env, state)
    state, score = score_round(env, state)
    deals = ~state.terminated
    state, flips = lay_out(env, state, when=deals)
    return history.write(state, [clears, score, flips], deals=deals)


def read_move(env: "SkyjoEnv", state: "State", action: chex.Array) -> Move:
    """What an action means now, read once: no transition may trigger the next. NO_ACTION means nothing."""
    if env.action_mode == "macro":
        macro = action // NUM_SLOTS
        return Move(
            sets_up=chooses_reveals(env, state) & (macro == Macro.SETUP_FLIP),
            draws=(macro == Macro.DRAW_DECK_KEEP_AND_REPLACE) | (macro == Macro.DRAW_DECK_DISCARD_AND_FLIP),
            takes=macro == Macro.TAKE_DISCARD_AND_REPLACE,
            keeps=macro == Macro.DRAW_DECK_KEEP_AND_REPLACE,
            discards=macro == Macro.DRAW_DECK_DISCARD_AND_FLIP,
            completes=(action != NO_ACTION) & (macro != Macro.SETUP_FLIP),
            position=action % NUM_SLOTS,
        )
    names_a_slot = action >= Decision.FIRST_POSITION
    return Move(
        sets_up=names_a_slot & chooses_reveals(env, state),
        draws=action == Decision.CHOOSE_DECK,
        takes=action == Decision.CHOOSE_DISCARD,
        keeps=action == Decision.KEEP_DRAWN,
        discards=action == Decision.DISCARD_DRAWN,
        completes=names_a_slot & ~chooses_reveals(env, state),
        position=jnp.maximum(action - Decision.FIRST_POSITION, 0),
    )
