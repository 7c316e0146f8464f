"""Legal actions and the turn (SB-16 to SB-33, SB-39 to SB-41)."""

from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.cards import members, pack
from jaxgames.env import pick
from jaxgames.saboteur import gold
from jaxgames.saboteur.cards import (
    BREAKS,
    GOAL_OPEN,
    GOLD,
    MAP,
    MAX_HAND,
    MENDS,
    NO_CARD,
    NUM_CONNECTED,
    NUM_PATHS,
    NUM_TOOLS,
    OPEN,
    OPPOSITE,
    ROCKFALL,
    STEP_X,
    STEP_Y,
)
from jaxgames.saboteur.cells import in_column, is_empty, only, unpack_together
from jaxgames.saboteur.mine import (
    Ground,
    fitting_cells,
    join,
    lay,
    leads_on,
    remove,
    survey,
    survey_column,
    turned_goals,
)
from jaxgames.saboteur.state import FACE_DOWN, State, round_start

if TYPE_CHECKING:
    from jaxgames.saboteur.env import SaboteurEnv


class Move(NamedTuple):
    """An action id taken apart (SB-19). Every field is in range, also where the action does not use it."""

    slot: jax.Array  # int32[]
    cell: jax.Array  # int32[]  cell id
    orientation: jax.Array  # int32[]  0 or 1
    tool: jax.Array  # int32[]
    target: jax.Array  # int32[]  relative to the actor
    on_board: jax.Array  # bool[]
    on_tool: jax.Array  # bool[]
    discards: jax.Array  # bool[]
    skips: jax.Array  # bool[]


def decode(env: "SaboteurEnv", action: chex.Array) -> Move:
    """The move that an id in 0..num_actions-1 stands for."""
    size, n = env.cells.size, env.num_players
    is_full = env.variant == "full"
    on_board = action < env.first_tool_action
    on_tool = ~on_board & (action < env.first_discard) & is_full
    discards = ~on_board & ~on_tool & is_full
    board = jnp.where(on_board, action, 0)
    tool = jnp.where(on_tool, action - env.first_tool_action, 0)
    discard = jnp.where(discards, action - env.first_discard, 0)
    return Move(
        slot=board // (2 * size) + tool // (NUM_TOOLS * n) + discard,
        cell=board // 2 % size,
        orientation=board % 2,
        tool=tool // n % NUM_TOOLS,
        target=tool % n,
        on_board=on_board,
        on_tool=on_tool,
        discards=discards,
        skips=~on_board & (not is_full),
    )


class Legal(NamedTuple):
    """The legal actions of the player to move in factors. Equal cards in different slots are separate actions."""

    cells: jax.Array  # uint32[slot, orientation, word]  where the card of a slot may be played
    tools: jax.Array  # bool[slot, tool, seat]  whose tool it may break or mend, counted from the actor
    discards: jax.Array  # bool[slot]
    skip: jax.Array  # bool[]


def legal_factors(env: "SaboteurEnv", state: State) -> Legal:
    """SB-20, SB-41. Never empty: a card can always be discarded (full), and a stuck player may skip (paths)."""
    kinds = held(state, state.current_player)
    turned = jnp.array([False, True])
    ground = survey(env.cells, state)
    cells = jax.lax.map(lambda kind: playable_cells(env, state, ground, kind, turned), kinds)
    return Legal(
        cells=cells,
        tools=tool_targets(env, state, kinds),
        discards=(kinds != NO_CARD) & (env.variant == "full"),
        skip=may_skip(env, is_empty(cells).all()),
    )


def legal_actions(env: "SaboteurEnv", state: State) -> chex.Array:
    """bool[action], the factors laid out by SB-19."""
    legal = legal_factors(env, state)
    board = unpack_together(env.cells, jnp.moveaxis(legal.cells, 1, -1)).ravel()
    if env.variant == "paths":
        return jnp.append(board, legal.skip)
    return jnp.concatenate([board, legal.tools.ravel(), legal.discards])


def is_legal(env: "SaboteurEnv", state: State, action: chex.Array) -> chex.Array:
    """bool[], the same for one action: only the column of its cell is looked at, for its own card."""
    in_range = (action >= 0) & (action < env.num_actions)
    move = decode(env, jnp.clip(action, 0, env.num_actions - 1))
    kinds = held(state, state.current_player)
    kind = kinds[move.slot]
    grid = env.cells
    column, row = move.cell // grid.rows, move.cell % grid.rows
    cells = playable_cells(env, state, survey_column(grid, state, column), kind, move.orientation == 1)
    legal = move.on_board & in_column(cells, row)
    if env.variant == "paths":
        is_stuck = True
        if env.skip_rule == "stuck":
            ground, both = survey(grid, state), jnp.array([False, True])
            is_stuck = is_empty(playable_cells(env, state, ground, kinds[:, None], both)).all()
        legal |= move.skips & may_skip(env, is_stuck)
    else:
        tool = (move.tool * env.num_players + move.target).astype(jnp.uint32)
        legal |= move.on_tool & (playable_tools(env, state, kind) >> tool & 1 == 1)
        legal |= move.discards & (kind != NO_CARD)
    return in_range & legal


def playable_cells(
    env: "SaboteurEnv", state: State, ground: Ground, kind: chex.Array, is_turned: chex.Array
) -> chex.Array:
    """The cells where a card may be played, uint32[..., word] for kinds and orientations of shape [...]."""
    is_path = (kind >= 0) & (kind < NUM_PATHS)
    sides = open_sides(kind, is_turned)
    can_dig = ~state.broken[state.current_player].any()  # SB-30
    cells = only(is_path & can_dig, fitting_cells(ground, sides))
    if env.variant == "full":
        cells |= only((kind == MAP) & ~is_turned, ground.face_down)
        cells |= only((kind == ROCKFALL) & ~is_turned, ground.loose)
    return cells


def open_sides(kind: chex.Array, is_turned: chex.Array) -> chex.Array:
    """bool[..., side], the open sides of a path card; none for other cards."""
    is_kind = (kind[..., None] == jnp.arange(NUM_PATHS))[..., None]
    upright, turned = ((is_kind & jnp.asarray(OPEN[:, i])).any(-2) for i in range(2))
    return jnp.where(is_turned[..., None], turned, upright)


def tool_targets(env: "SaboteurEnv", state: State, kinds: chex.Array) -> chex.Array:
    """bool[slot, tool, seat], the same as `playable_tools`."""
    bits = members(playable_tools(env, state, kinds)[:, None], NUM_TOOLS * env.num_players)
    return bits.reshape(-1, NUM_TOOLS, env.num_players)


def playable_tools(env: "SaboteurEnv", state: State, kinds: chex.Array) -> chex.Array:
    """uint32[...], whose tools the cards may break or mend (SB-28, SB-29): bit tool * num_players + seat, seats
    counted from the actor."""
    n = env.num_players
    broken = state.broken[(state.current_player + jnp.arange(n)) % n].T  # [tool, seat]
    breakable = ~broken & (env.self_break | (jnp.arange(n) > 0))
    broken, breakable = pack(broken.ravel())[0], pack(breakable.ravel())[0]
    one_tool = np.uint32((1 << n) - 1) << np.arange(NUM_TOOLS, dtype=np.uint32) * n  # every seat's
    breaks, mends = ((table * one_tool).sum(-1, dtype=np.uint32) for table in (BREAKS, MENDS))
    action_card = jnp.maximum(kinds, 0)  # no tool card has type 0
    return (jnp.asarray(breaks)[action_card] & breakable) | (jnp.asarray(mends)[action_card] & broken)


def may_skip(env: "SaboteurEnv", is_stuck: chex.Array | bool) -> chex.Array:
    """SB-41, bool[]."""
    return jnp.asarray(is_stuck if env.skip_rule == "stuck" else True) & (env.variant == "paths")


def held(state: State, seat: chex.Array) -> chex.Array:
    """int8[slot], the card types in a hand, NO_CARD in empty slots."""
    places = state.hand[seat].astype(jnp.int32)
    types = state.deck[state.round, jnp.maximum(places, 0)]
    return jnp.where(places >= 0, types, jnp.int8(NO_CARD))


def play(env: "SaboteurEnv", state: State, action: chex.Array) -> State:
    """One turn of `state.current_player` (SB-16 to SB-18). Rewards are paid elsewhere."""
    grid = env.cells
    move = decode(env, action)
    kind = held(state, state.current_player)[move.slot]
    is_path = move.on_board & (kind >= 0) & (kind < NUM_PATHS)
    sides = open_sides(kind, move.orientation == 1)
    is_through = kind < NUM_CONNECTED
    faces = faced_goals(env, state, move.cell, sides) & is_path & is_through
    found_gold = (faces.any(-1) & (state.goals[state.round] == GOLD)).any()
    joins_more = is_path & is_through & leads_on(grid, state, move.cell, sides)
    shakes_mine = move.on_board & (kind == ROCKFALL)

    state = lay(grid, state, move.cell, sides, is_through, when=is_path)
    state = turn_goals(env, state, faces)
    if env.variant == "full":  # without rockfalls every passage is joined for good
        state = remove(grid, state, move.cell, when=shakes_mine)
        state = join(grid, state, when=joins_more | faces.any() | shakes_mine)
        state = swing_at_tool(env, state, move, kind, when=move.on_tool)
    state = use_card(env, state, move, kind, when=~move.skips)
    return end_turn(env, state, move, found_gold)


def faced_goals(env: "SaboteurEnv", state: State, cell: chex.Array, sides: chex.Array) -> chex.Array:
    """bool[goal, side], the face-down goals that lie across the open sides of a card on this cell."""
    column, row = divmod(cell, env.cells.rows)
    goal_column, goal_row = np.array(env.cells.goal_cells).T[:, :, None]
    is_across = (column + STEP_X == goal_column) & (row + STEP_Y == goal_row)
    return is_across & sides & ~turned_goals(env.cells, state)[:, None]


def turn_goals(env: "SaboteurEnv", state: State, faces: chex.Array) -> State:
    """SB-24, SB-25: goals that a laid card faces, bool[goal, side of the card], are turned towards it."""
    shown = jnp.asarray(GOAL_OPEN[:, OPPOSITE])[state.goals[state.round]]  # [goal, side of the card, side]
    shown = (shown & faces[:, :, None]).any(1)
    for i, cell in enumerate(env.cells.goal_ids):
        state = lay(env.cells, state, cell, shown[i], True, when=faces[i].any())
    return state


def swing_at_tool(env: "SaboteurEnv", state: State, move: Move, kind: chex.Array, *, when: chex.Array) -> State:
    """SB-28, SB-29: one tool of one player breaks or is whole again."""
    seat = (state.current_player + move.target) % env.num_players
    is_it = (jnp.arange(env.num_players)[:, None] == seat) & (jnp.arange(NUM_TOOLS) == move.tool)
    breaks = jnp.asarray(BREAKS)[jnp.maximum(kind, 0), move.tool]
    return state.replace(broken=jnp.where(when & is_it, breaks, state.broken))


def use_card(env: "SaboteurEnv", state: State, move: Move, kind: chex.Array, *, when: chex.Array) -> State:
    """SB-17: the card leaves its slot, later slots move down, the next card of the pile comes last."""
    actor = state.current_player
    hand, slots = state.hand[actor], jnp.arange(MAX_HAND)
    place = hand[move.slot]
    closed_up = jnp.where(slots < move.slot, hand, jnp.append(hand[1:], jnp.int8(NO_CARD)))
    drawn = jnp.where(state.drawn < env.num_cards, state.drawn, jnp.int8(NO_CARD))
    last = (hand != NO_CARD).sum() - 1
    refilled = jnp.where(slots == last, drawn, closed_up)
    is_it = when & (jnp.arange(env.num_cards) == place)
    return state.replace(
        hand=jnp.where(when & (jnp.arange(env.num_players)[:, None] == actor), refilled, state.hand),
        drawn=jnp.where(when, jnp.minimum(state.drawn + 1, env.num_cards), state.drawn).astype(jnp.int8),
        played_by=jnp.where(is_it, actor, state.played_by),
        played_on=jnp.where(is_it, target_of(env, actor, move, kind), state.played_on),
    )


def target_of(env: "SaboteurEnv", actor: chex.Array, move: Move, kind: chex.Array) -> chex.Array:
    """int8[], what `played_on` remembers of a move."""
    goal = jnp.argmax(env.cells.goal_ids == move.cell)
    on = jnp.where(move.on_tool, (actor + move.target) % env.num_players, 0)
    on = jnp.where(move.on_board & (kind == MAP), goal, on)
    return jnp.where(move.discards, FACE_DOWN, on).astype(jnp.int8)


def end_turn(env: "SaboteurEnv", state: State, move: Move, found_gold: chex.Array) -> State:
    """SB-18, SB-33, SB-40: the turn passes, unless the round or the game is over; then the last actor stays."""
    hands_empty = (state.hand == NO_CARD).all()
    if env.variant == "paths":
        skips = jnp.where(move.skips, state.skips + 1, 0).astype(jnp.int8)
        state = state.replace(skips=skips)
        is_over = found_gold | (hands_empty & ~move.skips) | (skips >= env.num_players)
        return pass_turn(env, state.replace(terminated=is_over), when=~is_over)
    round_over = found_gold | hands_empty
    state = gold.settle(env, state, found_gold, when=round_over)
    is_over = round_over & (state.round == env.rules.rounds - 1)
    state = next_round(env, state, when=round_over & ~is_over)
    return pass_turn(env, state.replace(terminated=is_over), when=~is_over)


def next_round(env: "SaboteurEnv", state: State, *, when: chex.Array) -> State:
    """SB-36: the next round of the deal is set up at once."""
    if env.rules.rounds == 1:
        return state
    return pick(when, state.replace(**round_start(env), round=state.round + jnp.int8(1)), state)


def pass_turn(env: "SaboteurEnv", state: State, *, when: chex.Array) -> State:
    """The left neighbour is next, also at the start of a round (SB-15, SB-36)."""
    following = (state.current_player + jnp.int8(1)) % jnp.int8(env.num_players)
    return state.replace(current_player=jnp.where(when, following, state.current_player))
