"""What a player may know: the token schema and the flat vector (section 10 of the rules page)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import chex
import jax.numpy as jnp
import numpy as np

from jaxgames.skyjo.cards import (
    COPIES,
    HISTORY_UNKNOWN,
    MIN_VALUE,
    NUM_CARDS,
    NUM_COLUMNS,
    NUM_ROWS,
    NUM_SLOTS,
    NUM_VALUES,
    UNKNOWN_VALUE,
    DecisionPhase,
    Hand,
    Phase,
    Slot,
)
from jaxgames.skyjo.facts import (
    decision_phase,
    discard_top,
    draw_pile_size,
    drawn_value,
    has_unseen_hand,
    in_draw_pile,
    in_setup,
    known_sums,
    num_hidden,
    phase,
)
from jaxgames.skyjo.history import in_order, since_last_turn

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv
    from jaxgames.skyjo.state import State

VERSIONS = HONEST = ("tokens", "flat")


class Tokens(NamedTuple):
    """SJ-60, int32 each; `decision_token` is empty in macro mode."""

    board_tokens: chex.Array  # [12n, 4]  owner, pos, visible_flag, value
    discard_token: chex.Array  # [2]       top, size
    global_token: chex.Array  # [6]       draw pile size, step, current player, phase, bucket, round
    decision_token: chex.Array  # [2]       decision phase, drawn value
    action_tokens: chex.Array  # [K, 6]    the last K records, newest last
    action_tokens_since_last_turn: chex.Array  # [K, 6]


class Flat(NamedTuple):
    """The blocks A to J of the flat vector, float32 (SJ-62). Seats are counted from the observer, clockwise."""

    boards: chex.Array  # A [seat, slot, 17]  face-up value, hidden, removed
    discard: chex.Array  # B [15]              value of the top
    drawn: chex.Array  # C [15]              value of the card in hand, if the observer may see it
    decision: chex.Array  # D [4]               decision phase
    hand: chex.Array  # E [3]               from discard; from deck, kept; from deck, thrown
    phase: chex.Array  # F [4]
    seats: chex.Array  # G [seat, 8]
    unseen: chex.Array  # H [15]              share of each value's copies still unseen
    pile: chex.Array  # I [15]              the same for the draw pile, once its cards are known
    progress: chex.Array  # J [5]


def view(env: "SkyjoEnv", state: "State", player: chex.Array, version: str) -> "Tokens | Flat":
    """What `player` may know: int32 tokens (SJ-60, SJ-61), or blocks of float32 (SJ-62)."""
    return tokens(env, state, player) if version == "tokens" else flat(env, state, player)


def tokens(env: "SkyjoEnv", state: "State", player: chex.Array) -> Tokens:
    """The structured observation of `player` (SJ-60)."""
    size = draw_pile_size(state)
    bucket = progress_bucket(env, state.turns_in_round)
    facts = [size, state.step_count, state.current_player, phase(state), bucket, state.round_index]
    decision = [decision_phase(state), drawn_value(state, player)] if env.action_mode == "decision" else []
    return Tokens(
        board_tokens=_board_tokens(env, state, player),
        discard_token=_integers([discard_top(state), state.discard_size]),
        global_token=_integers(facts),
        decision_token=_integers(decision),
        action_tokens=in_order(state).astype(jnp.int32),
        action_tokens_since_last_turn=_window(state, player),
    )


def flat(env: "SkyjoEnv", state: "State", player: chex.Array) -> Flat:
    """The blocks of the flat observation of `player`."""
    blocks = Flat(
        boards=_boards(env, state, player),
        discard=_one_hot(discard_top(state)),
        drawn=_one_hot(drawn_value(state, player)),
        decision=_decision(env, state),
        hand=jnp.stack([state.hand_use == use for use in (Hand.FROM_DISCARD, Hand.KEPT, Hand.THROWN)]),
        phase=phase(state) == jnp.arange(len(Phase)),
        seats=_seats(env, state, player),
        unseen=unseen_counts(state, player) / COPIES,
        pile=jnp.where(state.refilled, pile_counts(state, player), 0) / COPIES,
        progress=jnp.stack(
            [
                draw_pile_size(state) / NUM_CARDS,
                state.discard_size / NUM_CARDS,
                jnp.minimum(1.0, state.turns_in_round / (30 * env.num_players)),
                jnp.minimum(1.0, state.round_index / 10),
                state.refilled,
            ]
        ),
    )
    return Flat(*(block.astype(jnp.float32) for block in blocks))


def progress_bucket(env: "SkyjoEnv", turns: chex.Array) -> chex.Array:
    """int32[], 0 early, 1 mid, 2 late; in integers, as float32 division would miss the borders (SJ-60)."""
    return (10 * turns >= 102 * env.num_players).astype(jnp.int32) + (10 * turns >= 201 * env.num_players)


def unseen_counts(state: "State", player: chex.Array) -> chex.Array:
    """int32[15], copies of each value in the unseen pool of `player` (SJ-51)."""
    hidden = _count(state.cards.ravel(), (state.status == Slot.HIDDEN).ravel())
    return hidden + pile_counts(state, player)


def pile_counts(state: "State", player: chex.Array) -> chex.Array:
    """int32[15], copies of each value in the draw pile and in another player's unseen hand."""
    hand = _count(state.hand[None], has_unseen_hand(state, player)[None])
    return _count(state.deck, in_draw_pile(state)) + hand


def _count(values: chex.Array, where: chex.Array) -> chex.Array:
    index = jnp.arange(NUM_VALUES, dtype=jnp.int8)[:, None]
    return ((values - MIN_VALUE == index) & where).sum(-1, dtype=jnp.int32)


def _integers(numbers: Sequence[chex.Array]) -> chex.Array:
    """int32[..., number]"""
    if not numbers:
        return jnp.zeros(0, jnp.int32)
    return jnp.stack([number.astype(jnp.int32) for number in numbers], axis=-1)


def _board_tokens(env: "SkyjoEnv", state: "State", player: chex.Array) -> chex.Array:
    """The observer's board first, then the others by ascending index."""
    place = jnp.arange(env.num_players, dtype=jnp.int32)
    owners = jnp.where(place == 0, player, place - (place <= player))
    status, cards = state.status[owners], state.cards[owners].astype(jnp.int32)
    value = jnp.where(status == Slot.HIDDEN, UNKNOWN_VALUE, jnp.where(status == Slot.REMOVED, 0, cards))
    fields = jnp.broadcast_arrays(owners[:, None], np.arange(NUM_SLOTS), status != Slot.HIDDEN, value)
    return _integers(fields).reshape(-1, 4)


def _window(state: "State", player: chex.Array) -> chex.Array:
    return jnp.where(since_last_turn(state, player)[:, None], in_order(state), HISTORY_UNKNOWN).astype(jnp.int32)


def _seats_from(env: "SkyjoEnv", player: chex.Array) -> chex.Array:
    return (player + jnp.arange(env.num_players)) % env.num_players


def _one_hot(value: chex.Array) -> chex.Array:
    """bool[15] by value index; all False for UNKNOWN_VALUE."""
    return value - MIN_VALUE == jnp.arange(NUM_VALUES)


def _boards(env: "SkyjoEnv", state: "State", player: chex.Array) -> chex.Array:
    seats = _seats_from(env, player)
    status, cards = state.status[seats], state.cards[seats]
    kind = jnp.where(status == Slot.FACE_UP, cards - MIN_VALUE, NUM_VALUES + (status == Slot.REMOVED))
    return kind[:, :, None] == jnp.arange(NUM_VALUES + 2)


def _decision(env: "SkyjoEnv", state: "State") -> chex.Array:
    turn = DecisionPhase.CHOOSE_SOURCE
    now = (
        decision_phase(state)
        if env.action_mode == "decision"
        else jnp.where(in_setup(state), DecisionPhase.SETUP_REVEAL, turn)
    )
    return (now == jnp.arange(len(DecisionPhase))) & ~state.terminated


def _seats(env: "SkyjoEnv", state: "State", player: chex.Array) -> chex.Array:
    seats = _seats_from(env, player)
    removed = (state.status == Slot.REMOVED).sum(-1) / (NUM_ROWS * NUM_COLUMNS)
    columns = [
        state.scores / env.score_limit,
        known_sums(state) / 50,
        num_hidden(state) / NUM_SLOTS,
        removed,
        jnp.arange(env.num_players) == state.current_player,
        jnp.arange(env.num_players) == state.ender,
        state.final_turns,
        state.reveals_left / 2,
    ]
    return jnp.stack([column.astype(jnp.float32)[seats] for column in columns], axis=-1)
