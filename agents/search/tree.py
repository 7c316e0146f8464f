"""UCT for any number of players, in arrays: one tree a world, all worlds of all games at once (SC-58).

A node is a sequence of actions from the root; the state it stands for is found again by playing them. So nothing but
numbers is stored, and where chance comes after a move each simulation may play its own future. mctx has no value for
every player: its backup knows one number and a discount, which fits two sides, not four.
"""

from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from agents.search.moves import NO_MOVE, draw_action, find_moves, moves_of
from agents.search.playout import Choose, Payoff, is_over, play_on, random_word, step
from jaxgames import Env, State
from jaxgames.cards import set_of

NO_NODE = -1
FIRST_DESCENT = 1 << 16  # words of a simulation's key: those before it are the playout's


class Tree(NamedTuple):
    """Nodes in the order they were made; the root is node 0.

    A node knows its parent, not its children: there are fewer nodes than actions, and to compare all of them with the
    node at hand costs less on a CPU than to look a few up.
    """

    parent: chex.Array  # int16[node]  NO_NODE for the root and for what was not made
    action: chex.Array  # int32[node]  that leads here
    visits: chex.Array  # int32[node]
    total: chex.Array  # float32[seat, node]  payoffs of all simulations through the node


class Search(NamedTuple):
    """How a tree grows."""

    simulations: int
    exploration: float  # c of UCB
    scale: float  # payoffs are divided by it before UCB sees them
    playout: Choose  # who decides below the tree
    payoff: Payoff
    redraws: bool = False  # every simulation begins in a world of its own: the same action may be legal in one alone


def new_tree(env: Env, search: Search) -> Tree:
    """A root that nobody has visited."""
    nodes = search.simulations + 1
    return Tree(
        parent=jnp.full(nodes, NO_NODE, jnp.int16),
        action=jnp.full(nodes, NO_MOVE, jnp.int32),
        visits=jnp.zeros(nodes, jnp.int32),
        total=jnp.zeros((env.num_players, nodes), jnp.float32),
    )


def grow(env: Env, search: Search, world: Callable[[chex.PRNGKey], State], key: chex.PRNGKey) -> Tree:
    """A tree after all simulations. `world(key)` is the state in which one begins."""

    def simulate(tree, x):
        fresh, key = x
        root = world(jax.random.clone(key))  # a stream of its own: all other words are hashes of the key
        walk = descend(env, search, tree, root, key)
        payoff = search.payoff(root, play_on(env, search.playout, root, walk.state, key)) / search.scale
        is_fresh = (jnp.arange(len(tree.parent)) == fresh) & walk.leaves
        on_path = walk.on_path | is_fresh
        # All nodes by masks: on a CPU it costs less than to write to a few places.
        return Tree(
            parent=jnp.where(is_fresh, walk.node.astype(jnp.int16), tree.parent),
            action=jnp.where(is_fresh, walk.action, tree.action),
            visits=tree.visits + on_path,
            total=tree.total + jnp.where(on_path, payoff[:, None], 0),
        ), None

    numbers = 1 + jnp.arange(search.simulations, dtype=jnp.int32)
    return jax.lax.scan(simulate, new_tree(env, search), (numbers, jax.random.split(key, search.simulations)))[0]


class Walk(NamedTuple):
    """On the way down."""

    state: State
    node: chex.Array  # int32[]  the last one passed
    on_path: chex.Array  # bool[node]  the root and all nodes passed
    depth: chex.Array  # uint32[]
    action: chex.Array  # int32[]  the last one taken
    leaves: chex.Array  # bool[]  it was an untried one


def descend(env: Env, search: Search, tree: Tree, root: State, key: chex.PRNGKey) -> Walk:
    """Down by UCB until something is untried, which is then tried, or the game is over."""
    nodes = jnp.arange(len(tree.parent))
    visits = jnp.maximum(tree.visits, 1).astype(jnp.float32)
    mean, width = tree.total / visits, jax.lax.rsqrt(visits)

    def turn(walk: Walk) -> Walk:
        moves = moves_of(env, walk.state)
        is_child = tree.parent == walk.node
        tried = jnp.where(is_child, tree.action, NO_MOVE)
        if search.redraws:
            tried = find_moves(env, moves, tried)
            is_child &= tried != NO_MOVE
        untried = moves.legal & ~set_of(tried, len(moves.legal))
        leaves = (untried != 0).any()
        word = random_word(key, FIRST_DESCENT + walk.depth)

        mine = jnp.arange(env.num_players)[:, None] == walk.state.current_player
        parent_visits = jnp.where(nodes == walk.node, visits, 0).sum()
        bound = jnp.where(mine, mean, 0).sum(0) + search.exploration * jnp.sqrt(2 * jnp.log(parent_visits)) * width
        bound = jnp.where(is_child, bound, -jnp.inf)
        best = jnp.where(bound == bound.max(), nodes, len(nodes) - 1).min()  # the first of equals
        known = jnp.where(nodes == best, tree.action, 0).sum()
        action = jnp.where(leaves, draw_action(env, moves, untried, word), known)
        return Walk(
            state=step(env, walk.state, action),
            node=jnp.where(leaves, walk.node, best),
            on_path=walk.on_path | ((nodes == best) & ~leaves),
            depth=walk.depth + 1,
            action=action,
            leaves=leaves,
        )

    start = Walk(
        state=root,
        node=jnp.int32(0),
        on_path=nodes == 0,
        depth=jnp.uint32(0),
        action=jnp.int32(NO_MOVE),
        leaves=jnp.bool_(False),
    )
    return jax.lax.while_loop(lambda walk: ~walk.leaves & ~is_over(env, root, walk.state), turn, start)


def root_visits(env: Env, tree: Tree) -> chex.Array:
    """int32[action]: simulations that began with each action."""
    place = jnp.where(tree.parent == 0, tree.action, env.num_actions)
    return jnp.zeros(env.num_actions, jnp.int32).at[place].add(tree.visits, mode="drop")
