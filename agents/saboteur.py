"""Bots of Saboteur (section 17 of the rules page)."""

import dataclasses
import functools
from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import computed_once
from jaxgames.options import UserError
from jaxgames.saboteur import SaboteurEnv
from jaxgames.saboteur.cards import (
    BROKEN,
    GOLD,
    MAP,
    MAX_HAND,
    MENDS,
    NUM_CONNECTED,
    NUM_GOALS,
    NUM_PATHS,
    NUM_SIDES,
    NUM_TYPES,
    OPEN,
    OPPOSITE,
    REPAIR,
    ROCKFALL,
    STEP_X,
    STEP_Y,
)
from jaxgames.saboteur.cells import FAR, Grid, beside, count, goal_distances, inner, kth, lies_in, listed, only, unpack
from jaxgames.saboteur.mine import face_up_cells, frontier, join, lay, remove, survey, turned_goals
from jaxgames.saboteur.observe import card_counts, looked_at
from jaxgames.saboteur.points import MAX_FRONTIER
from jaxgames.saboteur.rules import held
from jaxgames.saboteur.state import State

if TYPE_CHECKING:
    from agents import Agent


def random(env: SaboteurEnv) -> "Agent":
    """Uniform over the legal actions; in `paths` over the placements, skipping only when stuck."""
    willing = dataclasses.replace(env, skip_rule="stuck")

    def act(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        del player  # the legal actions are those of the player to move, who is the one asked
        return willing.random_action(state, jax.random.bits(key, (), jnp.uint32))

    return act


def rule(env: SaboteurEnv) -> "Agent":
    """The rule-based player of the variant."""
    return role_greedy(env) if env.variant == "full" else rule_based(env)


def rule_based(env: SaboteurEnv, orientations: int = 1) -> "Agent":
    """Paths: the placement nearest to a face-down goal, cards upright; never a dead end against a goal if avoidable."""
    _require(env, "rule_based", "paths")
    grid = env.cells
    columns, rows = np.divmod(np.arange(grid.size), grid.rows)
    chebyshev = np.stack([np.maximum(abs(columns - x), abs(rows - y)) for x, y in grid.goal_cells])
    # bool[goal, side, cell]: the cells that touch a goal with that side
    touches = np.stack(
        [[(columns + STEP_X[side] == x) & (rows + STEP_Y[side] == y) for side in range(4)] for x, y in grid.goal_cells]
    )

    def act(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        del key
        face_down = ~turned_goals(grid, state)
        distance = jnp.where(face_down[:, None], jnp.asarray(chebyshev), FAR).min(0)
        distance = jnp.where(face_down.any(), distance, 0)
        near = (jnp.asarray(touches) & face_down[:, None, None]).sum(0)  # [side, cell]
        kinds = held(state, player)
        is_dead_end = (kinds >= NUM_CONNECTED) & (kinds < NUM_PATHS)
        sides = jnp.asarray(OPEN)[jnp.clip(kinds, 0, NUM_PATHS - 1)] & is_dead_end[:, None, None]
        wasted = jnp.einsum("sod,dc->soc", sides.astype(jnp.int32), near)
        legal = unpack(grid, env.legal_factors(state).cells)
        value = jnp.where(legal, distance + 100 * wasted, jnp.iinfo(jnp.int32).max)[:, :orientations]
        best = jnp.argmin(value)
        slot, rest = best // (orientations * grid.size), best % (orientations * grid.size)
        placed = (slot * grid.size + rest % grid.size) * 2 + rest // grid.size
        return jnp.where(legal[:, :orientations].any(), placed, env.first_tool_action).astype(jnp.int32)

    return act


def rule_based_rot(env: SaboteurEnv) -> "Agent":
    """Paths: `rule_based` over both orientations."""
    return rule_based(env, orientations=2)


class Outlook(NamedTuple):
    """What a player thinks of the mine."""

    targets: jax.Array  # bool[goal]  the gold if he knows it, else the face-down goals he has not looked at
    knows_gold: jax.Array  # bool[]


def role_greedy(env: SaboteurEnv) -> "Agent":
    """Full: miners dig towards the gold and strike back at suspects; saboteurs break tools and lead paths away."""
    _require(env, "role_greedy", "full")
    n = env.num_players

    def act(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        del key
        player = jnp.asarray(player, jnp.int32)
        kinds = held(state, player)
        legal = env.legal_factors(state)
        outlook = look(env, state, player)
        now = distance(env, state, outlook)
        seats = (player + jnp.arange(n)) % n
        suspicion = suspicions(env, state)[seats]
        is_whole = ~state.broken[seats].any(-1)

        can_mend = legal.tools & jnp.asarray(MENDS)[jnp.maximum(kinds, 0)][:, :, None]
        can_break = legal.tools & ~can_mend
        others = jnp.arange(n) > 0
        mend_own = first_tool(env, can_mend & ~others)
        mend_friend = first_tool(env, can_mend & others & (suspicion == 0))
        strike_suspect = best_tool(env, can_break & others & (suspicion > 0), suspicion)
        strike_quiet = best_tool(env, can_break & others & is_whole, -suspicion)
        look_up = unseen_map(env, state, player, kinds, outlook)
        nearest, farthest = placements(env, state, kinds, legal.cells, outlook)
        # Each cell that may fall is a search of the mine, so only those that this player would think of are tried.
        is_saboteur = state.roles[state.round, player]
        loose = survey(env.cells, state).loose
        dead_ends = loose & ~inner(env.cells, state.through)
        among = only(~is_saboteur, dead_ends) | only(is_saboteur & (now <= 4), loose)
        clear, bury = rockfalls(env, state, kinds, outlook, among)

        as_miner = [
            mend_own,
            look_up,
            (nearest.after < now, nearest.action),
            (clear.after < now, clear.action),
            mend_friend,
            strike_suspect,
            (nearest.after == now, nearest.action),
            discard(env, kinds, DEAD_ENDS, ROCKFALLS, BROKEN_TOOLS, MAPS, REPAIRS, CONNECTED),
        ]
        as_saboteur = [
            ((now <= 4) & (bury.after > now), bury.action),
            strike_quiet,
            ((now <= 5) & (farthest.after > now), farthest.action),
            look_up,
            mend_own,
            discard(env, kinds, CONNECTED, REPAIRS, MAPS, DEAD_ENDS, BROKEN_TOOLS, ROCKFALLS),
        ]
        return jnp.where(is_saboteur, first_wish(as_saboteur), first_wish(as_miner)).astype(jnp.int32)

    return act


def first_wish(wishes: list[tuple[chex.Array, chex.Array]]) -> chex.Array:
    """The action of the first wish that can be had."""
    conditions, actions = zip(*wishes, strict=True)
    return jnp.select(list(conditions), list(actions), 0)


def look(env: SaboteurEnv, state: State, player: chex.Array) -> Outlook:
    """What the player knows of the goals, from his own maps and what lies face up."""
    face_down = ~turned_goals(env.cells, state)
    looked = looked_at(env, state, player[None], jnp.arange(NUM_GOALS))
    is_known_gold = face_down & looked & (state.goals[state.round] == GOLD)
    knows_gold = is_known_gold.any()
    targets = jnp.where(knows_gold, is_known_gold, face_down & ~looked)
    return Outlook(targets=targets, knows_gold=knows_gold)


def distance(env: SaboteurEnv, state: State, outlook: Outlook) -> chex.Array:
    """int32[], smallest distance from the frontier to a target; FAR if there is none."""
    return jnp.where(outlook.targets, goal_distances(env.cells, frontier(env.cells, state)), FAR).min()


def suspicions(env: SaboteurEnv, state: State) -> chex.Array:
    """int32[seat], broken-tool cards, dead ends and rockfalls played this round."""
    ranges = ((BROKEN, REPAIR), (NUM_CONNECTED, NUM_PATHS), (ROCKFALL, NUM_TYPES))
    return sum((card_counts(env, state, first, last) for first, last in ranges), jnp.zeros(env.num_players, jnp.int32))


def first_tool(env: SaboteurEnv, tools: chex.Array) -> tuple[chex.Array, chex.Array]:
    """Is one of these tool actions possible, and the lowest of them."""
    return tools.any(), env.first_tool_action + jnp.argmax(tools)


def best_tool(env: SaboteurEnv, tools: chex.Array, worth: chex.Array) -> tuple[chex.Array, chex.Array]:
    """Is one possible, and the one against the seat of greatest worth."""
    return tools.any(), env.first_tool_action + jnp.argmax(jnp.where(tools, worth, -FAR))


def unseen_map(
    env: SaboteurEnv, state: State, player: chex.Array, kinds: chex.Array, outlook: Outlook
) -> tuple[chex.Array, chex.Array]:
    """A map on a goal not looked at, while the gold is unknown and more than one goal may hide it."""
    is_map = kinds == MAP
    goal_cells = jnp.array([column * env.cells.rows + row for column, row in env.cells.goal_cells])
    goal = jnp.argmax(outlook.targets)
    wanted = ~outlook.knows_gold & (outlook.targets.sum() > 1) & is_map.any()
    return wanted, (jnp.argmax(is_map) * env.cells.size + goal_cells[goal]) * 2


class Best(NamedTuple):
    """The best action of a kind and the distance after it; an impossible one leaves a distance that is never good."""

    after: jax.Array  # int32[]
    action: jax.Array  # int32[]


ID_BITS = 1 << 15  # more than any board action


def placements(
    env: SaboteurEnv, state: State, kinds: chex.Array, legal_cells: chex.Array, outlook: Outlook
) -> tuple[Best, Best]:
    """The connected placement with the smallest distance after it, and the placement with the largest.

    Every frontier cell is tried with every card both ways. A card takes its cell off the frontier and, if it is
    connected, brings the empty cells that it opens to. Goals that it would turn stay face down: a player cannot know
    what they show. Ties go to the lowest action.
    """
    grid = env.cells
    is_path = (kinds >= 0) & (kinds < NUM_PATHS)
    is_through = ((kinds >= 0) & (kinds < NUM_CONNECTED))[:, None]  # [slot, 1]
    sides = jnp.asarray(OPEN)[jnp.where(is_path, kinds, 0)]  # [slot, orientation, side]
    edge = frontier(grid, state)
    # Held several times below, because XLA would work all of it out again for each placement, and compile for long.
    cells, exists = computed_once((listed(grid, edge, MAX_FRONTIER), jnp.arange(MAX_FRONTIER) < count(edge)))
    ways = computed_once(jnp.where(outlook.targets, jnp.asarray(ways_to_goals(grid)), FAR).min(-1))  # [cell]

    others = exists & ~np.eye(MAX_FRONTIER, dtype=bool)
    rest = jnp.where(others, computed_once(ways[cells]), FAR).min(-1)[:, None, None]  # [frontier, 1, 1]
    beyond = cells[:, None] + jnp.asarray(STEP_X * grid.rows + STEP_Y)  # [frontier, side]
    is_inside = (cells[:, None] // grid.rows + STEP_X >= 0) & (cells[:, None] // grid.rows + STEP_X < grid.columns)
    is_inside &= (cells[:, None] % grid.rows + STEP_Y >= 0) & (cells[:, None] % grid.rows + STEP_Y < grid.rows)
    beyond = jnp.where(is_inside, beyond, 0)
    is_free = is_inside & ~lies_in(grid, face_up_cells(state) | jnp.asarray(grid.goals), beyond)
    opened = computed_once(jnp.where(is_free, ways[beyond], FAR))[:, None, None]  # [frontier, 1, 1, side]
    brought = jnp.where(sides & is_through[..., None], opened, FAR).min(-1)  # [frontier, slot, orientation]
    after = computed_once(jnp.minimum(jnp.minimum(rest, brought), FAR))

    can = lies_in(grid, legal_cells, cells) & is_path[:, None, None]  # [slot, orientation, frontier]
    can = computed_once(jnp.moveaxis(can, -1, 0) & exists[:, None, None])
    cut_off = state.through & ~state.joined
    passages = [beside(grid, side, cut_off & state.open[OPPOSITE[side]]) for side in range(NUM_SIDES)]
    is_cut_off = computed_once(lies_in(grid, jnp.stack(passages), cells).T)[:, None, None]  # [frontier, 1, 1, side]
    meets = (sides & is_cut_off).any(-1)
    after = joined_again(env, state, outlook, cells, sides, after, can & meets & is_through)
    is_target = ((beyond[..., None] == jnp.asarray(grid.goal_ids)) & outlook.targets).any(-1)[:, None, None]
    after = computed_once(jnp.where(is_through & (sides & is_target).any(-1), -1, after))

    slots, orientations = jnp.arange(MAX_HAND)[:, None], jnp.arange(2)
    action = (slots * grid.size + cells[:, None, None]) * 2 + orientations
    low = jnp.where(can & is_through, low_key(after, action), low_key(FAR + 1, 0)).min()
    high = jnp.where(can, high_key(after, action), high_key(-1, 0)).max()
    return from_low(low), from_high(high)


def joined_again(
    env: SaboteurEnv,
    state: State,
    outlook: Outlook,
    cells: chex.Array,
    sides: chex.Array,
    after: chex.Array,
    where: chex.Array,
) -> chex.Array:
    """`after`, int32[frontier, slot, orientation], as it is where a card meets what a rockfall has cut off.

    These placements are few, and need the whole mine to be searched: they are tried one by one.
    """
    grid, shape = env.cells, after.shape

    def one(carry):
        waiting, after = carry
        place = jnp.argmax(waiting)
        i, slot, orientation = jnp.unravel_index(place, shape)
        laid = lay(grid, state, cells[i], sides[slot, orientation], jnp.bool_(True), when=jnp.bool_(True))
        far = distance(env, join(grid, laid, when=waiting.any()), outlook)
        return waiting.at[place].set(False), jnp.where(jnp.arange(after.size) == place, far, after)

    start = (where.ravel(), after.ravel())
    return jax.lax.while_loop(lambda carry: carry[0].any(), one, start)[1].reshape(shape)


@functools.cache
def ways_to_goals(grid: Grid) -> np.ndarray:
    """int32[cell, goal], Manhattan distances."""
    column, row = np.divmod(np.arange(grid.size), grid.rows)
    goal_column, goal_row = np.array(grid.goal_cells).T
    return (abs(column[:, None] - goal_column) + abs(row[:, None] - goal_row)).astype(np.int32)


def rockfalls(
    env: SaboteurEnv, state: State, kinds: chex.Array, outlook: Outlook, among: chex.Array
) -> tuple[Best, Best]:
    """The rockfall among these cells with the smallest distance after it, and the one with the largest."""
    grid = env.cells
    is_rockfall = kinds == ROCKFALL
    slot = jnp.argmax(is_rockfall)
    num_cells = jnp.where(is_rockfall.any(), count(among), 0)

    def one(carry):
        i, low, high = carry
        cell = kth(grid, among, i)
        falls = i < num_cells
        shaken = falls & lies_in(grid, state.joined, cell)
        after = distance(env, join(grid, remove(grid, state, cell, when=falls), when=shaken), outlook)
        action = (slot * grid.size + cell) * 2
        return i + 1, jnp.minimum(low, low_key(after, action)), jnp.maximum(high, high_key(after, action))

    start = (jnp.int32(0), low_key(FAR + 1, 0), high_key(-1, 0))
    _, low, high = jax.lax.while_loop(lambda carry: carry[0] < num_cells, one, start)
    return from_low(low), from_high(high)


def low_key(after: chex.Numeric, action: chex.Numeric) -> chex.Array:
    """Orders by distance, then by action: the smallest is best."""
    return jnp.int32((after + 1) * ID_BITS + action)


def from_low(key: chex.Array) -> Best:
    return Best(after=key // ID_BITS - 1, action=key % ID_BITS)


def high_key(after: chex.Numeric, action: chex.Numeric) -> chex.Array:
    """Orders by distance, then by falling action: the largest is best."""
    return jnp.int32((after + 1) * ID_BITS + ID_BITS - 1 - action)


def from_high(key: chex.Array) -> Best:
    return Best(after=key // ID_BITS - 1, action=ID_BITS - 1 - key % ID_BITS)


CONNECTED = (0, NUM_CONNECTED)
DEAD_ENDS = (NUM_CONNECTED, NUM_PATHS)
BROKEN_TOOLS = (BROKEN, REPAIR)
REPAIRS = (REPAIR, MAP)
MAPS = (MAP, ROCKFALL)
ROCKFALLS = (ROCKFALL, NUM_TYPES)


def discard(env: SaboteurEnv, kinds: chex.Array, *order: tuple[int, int]) -> tuple[chex.Array, chex.Array]:
    """The first slot with a card of the first range that the hand has; always possible."""
    slots = [(kinds >= first) & (kinds < last) for first, last in order]
    slot = jnp.select([cards.any() for cards in slots], [jnp.argmax(cards) for cards in slots], 0)
    return jnp.bool_(True), env.first_discard + slot


def _require(env: SaboteurEnv, name: str, variant: str) -> None:
    if env.variant != variant:
        raise UserError(f"saboteur: agent {name} plays the variant {variant!r}, got {env.variant!r}")


AGENTS = {
    "random": random,
    "rule": rule,
    "rule_based": rule_based,
    "rule_based_rot": rule_based_rot,
    "role_greedy": role_greedy,
}
