"""The rules as a whole: how a game begins, what a step does, told in order, and what is legal."""

import chex
import jax.numpy as jnp

from jaxgames.skyjo import chance, history
from jaxgames.skyjo.cards import NUM_CARDS, NUM_SLOTS, UNKNOWN_VALUE, Decision, DecisionPhase, Hand, Macro, Slot
from jaxgames.skyjo.options import Rules
from jaxgames.skyjo.rounds import deal_round, score_round, turn_all_up
from jaxgames.skyjo.state import Script, State, decision_phase, in_setup, num_dealt, round_is_over
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


def first_state(rules: Rules, seed: chex.Array, script: Script | None) -> State:
    """The first round dealt; in automatic set-up also turned up."""
    deals = jnp.bool_(True)
    state, flips = deal_round(rules, _before_the_first_round(rules, seed, script), when=deals)
    return history.write(state, [flips], deals=deals)


def play(rules: Rules, state: State, action: chex.Array) -> State:
    """One step of the player to move: in macro mode a whole turn, in decision mode a part of one."""
    move = read_move(rules, state, action)
    state = chance.prepare_next_deck(rules, state)

    state = draw_card(state, when=move.draws)
    state = take_discard(state, when=move.takes)
    state = keep_card(state, when=move.keeps)
    state = discard_card(state, when=move.discards)

    state, turn = use_card(state, move)
    state, clear = clear_column(rules, state, move.position, when=move.completes)
    state = pass_turn(rules, state, sets_up=move.sets_up, completes=move.completes)

    is_over = round_is_over(state)
    state, final_clears = turn_all_up(rules, state, when=is_over)
    state, score = score_round(rules, state, when=is_over)
    deals = is_over & ~state.terminated
    state, flips = deal_round(rules, state, when=deals)

    state = history.write(state, [turn, clear, final_clears, score, flips], deals=deals)
    return state.replace(truncated=~state.terminated & (state.step_count + 1 >= rules.max_steps))


def legal(rules: Rules, state: State) -> chex.Array:
    """bool[action] (SJ-40, SJ-41). Never empty: whoever is to move has a hidden slot (SJ-21)."""
    board = state.status[state.current_player]
    hidden, there = board == Slot.HIDDEN, board != Slot.REMOVED
    setup = in_setup(state)
    if not rules.look_first:
        return jnp.concatenate([there & ~setup, there & ~setup, hidden & ~setup, hidden & setup])
    phase = decision_phase(state)
    sources = jnp.broadcast_to(phase == DecisionPhase.CHOOSE_SOURCE, (2,))
    choices = jnp.broadcast_to(phase == DecisionPhase.KEEP_OR_DISCARD, (2,))
    flips = setup | (state.hand_use == Hand.THROWN)
    places = (phase == DecisionPhase.CHOOSE_POSITION) & ~flips
    return jnp.concatenate([sources, choices, (places & there) | (flips & hidden)])


def read_move(rules: Rules, state: State, action: chex.Array) -> Move:
    """What an action means now, read once: no transition may trigger the next."""
    if not rules.look_first:
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


def _before_the_first_round(rules: Rules, seed: chex.Array, script: Script | None) -> State:
    """Nothing on the table, and the first deck ready to be dealt as the next one."""
    n = rules.num_players
    return State(
        current_player=jnp.int8(0),
        rewards=jnp.zeros(n, jnp.float32),
        terminated=jnp.bool_(False),
        truncated=jnp.bool_(False),
        step_count=jnp.int32(0),
        cards=jnp.zeros((n, NUM_SLOTS), jnp.int8),
        status=jnp.zeros((n, NUM_SLOTS), jnp.int8),
        deck=jnp.zeros(NUM_CARDS, jnp.int8),
        deck_pos=jnp.uint8(0),
        deck_end=jnp.uint8(0),
        discard=jnp.zeros(NUM_CARDS, jnp.int8),
        discard_size=jnp.uint8(0),
        hand=jnp.int8(UNKNOWN_VALUE),
        hand_use=jnp.int8(Hand.EMPTY),
        scores=jnp.zeros(n, jnp.int16),
        round_scores=jnp.zeros(n, jnp.int16),
        opener=jnp.int8(0),
        ender=jnp.int8(0),  # player 0 opens the first round (SJ-10)
        final_turns=jnp.zeros(n, bool),
        reveals_left=jnp.zeros(n, jnp.int8),
        clears=jnp.zeros(n, jnp.int8),
        turns_in_round=jnp.int32(0),
        round_index=jnp.int32(0),
        refills=jnp.int32(0),
        refilled=jnp.bool_(False),
        history=history.empty(rules.history),
        history_size=jnp.int32(0),
        history_in_round=jnp.uint8(0),
        seed=seed,
        next_deck=chance.shuffled_start(rules, seed, round_index=1),
        next_ready=jnp.uint8(num_dealt(n)),
        script=script,
    )
