"""UCT for any number of players, in arrays: one tree a world, all worlds of all games at once (SC-58).

A node is a sequence of actions from the root; the state it stands for is found again by playing them. So nothing but
numbers is stored, and where chance comes after a move each simulation may play its own future. mctx has no value for
every player: its backup knows one number and a discount, which fits two sides, not four.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from agents.search.playout import Payoff, is_over, play_on, step
from jaxgames import Env
from jaxgames.cards import choose

NO_NODE = -1


class Tree(NamedTuple):
    """Nodes in the order they were made; the root is node 0."""

    child: chex.Array  # int16[node, action]  NO_NODE where nothing was tried
    visits: chex.Array  # int32[node]
    total: chex.Array  # float32[node, seat]  payoffs of all simulations through the node


class Search(NamedTuple):
    """How a tree grows."""

    simulations: int
    exploration: float  # c of UCB
    scale: float  # payoffs are divided by it before UCB sees them
    playout: Callable[[Any, chex.PRNGKey], chex.Array]  # who decides below the tree
    payoff: Payoff


def new_tree(env: Env, search: Search) -> Tree:
    """A root that nobody has visited."""
    nodes = search.simulations + 1
    return Tree(
        child=jnp.full((nodes, env.num_actions), NO_NODE, jnp.int16),
        visits=jnp.zeros(nodes, jnp.int32),
        total=jnp.zeros((nodes, env.num_players), jnp.float32),
    )


def grow(env: Env, search: Search, world: Callable[[chex.Array, chex.PRNGKey], Any], key: chex.PRNGKey) -> Tree:
    """A tree after all simulations. `world(i, key)` is the state in which simulation i begins."""

    def simulate(tree, x):
        number, key = x
        world_key, expand_key, playout_key = jax.random.split(key, 3)
        root = world(number, world_key)
        on_path, state, tree = descend(env, search, tree, root, number + 1, expand_key)
        payoff = search.payoff(root, play_on(env, search.playout, root, state, playout_key)) / search.scale
        # Added to every node by a mask: a scatter of a few numbers costs more on a CPU.
        total = tree.total + jnp.where(on_path[:, None], payoff, 0)
        return tree._replace(visits=tree.visits + on_path, total=total), None

    numbers = jnp.arange(search.simulations, dtype=jnp.int32)
    return jax.lax.scan(simulate, new_tree(env, search), (numbers, jax.random.split(key, search.simulations)))[0]


class Walk(NamedTuple):
    """On the way down."""

    state: Any
    node: chex.Array  # int32[]
    on_path: chex.Array  # bool[node]  the root and all nodes passed
    depth: chex.Array  # int32[]
    action: chex.Array  # int32[]  that leaves the tree here
    leaves: chex.Array  # bool[]


def descend(
    env: Env, search: Search, tree: Tree, root: Any, fresh: chex.Array, key: chex.PRNGKey
) -> tuple[chex.Array, Any, Tree]:
    """(nodes passed, state below, tree with node `fresh`): by UCB until something is untried."""
    nodes = tree.visits.shape[0]

    def turn(walk: Walk) -> Walk:
        legal = env.legal_action_mask(walk.state)
        children = tree.child[walk.node]
        untried = legal & (children == NO_NODE)
        leaves = untried.any()
        word = jax.random.bits(jax.random.fold_in(key, walk.depth), (), jnp.uint32)
        best = jnp.argmax(jnp.where(legal, upper_bounds(search, tree, walk), -jnp.inf))
        action = jnp.where(leaves, choose(untried, word), best).astype(jnp.int32)
        node = jnp.where(leaves, fresh, children[action]).astype(jnp.int32)
        return Walk(
            state=step(env, walk.state, action),
            node=jnp.where(leaves, walk.node, node),
            on_path=walk.on_path | (jnp.arange(nodes) == node),
            depth=walk.depth + 1,
            action=action,
            leaves=leaves,
        )

    start = Walk(
        state=root,
        node=jnp.int32(0),
        on_path=jnp.arange(nodes) == 0,
        depth=jnp.int32(0),
        action=jnp.int32(0),
        leaves=jnp.bool_(False),
    )
    walk = jax.lax.while_loop(lambda walk: ~walk.leaves & ~is_over(env, root, walk.state), turn, start)
    row = jnp.where(walk.leaves, walk.node, nodes)
    child = tree.child.at[row, walk.action].set(fresh.astype(jnp.int16), mode="drop")
    return walk.on_path, walk.state, tree._replace(child=child)


def upper_bounds(search: Search, tree: Tree, walk: Walk) -> chex.Array:
    """float32[action]: mean payoff to the player to move, plus c sqrt(2 ln N / n)."""
    children = jnp.maximum(tree.child[walk.node], 0)
    visits = jnp.maximum(tree.visits[children], 1).astype(jnp.float32)
    mine = jnp.arange(tree.total.shape[-1]) == walk.state.current_player
    mean = jnp.where(mine, tree.total[children], 0).sum(-1) / visits
    parent = jnp.maximum(tree.visits[walk.node], 1).astype(jnp.float32)
    return mean + search.exploration * jnp.sqrt(2 * jnp.log(parent) / visits)


def root_visits(tree: Tree) -> chex.Array:
    """int32[action]: simulations that began with each action."""
    children = tree.child[0]
    return jnp.where(children == NO_NODE, 0, tree.visits[jnp.maximum(children, 0)])


def root_values(tree: Tree, seat: chex.Array) -> chex.Array:
    """float32[action]: sum of the payoffs to `seat` of the simulations that began with each action."""
    children = tree.child[0]
    mine = jnp.arange(tree.total.shape[-1]) == seat
    return jnp.where(children == NO_NODE, 0.0, jnp.where(mine, tree.total[jnp.maximum(children, 0)], 0).sum(-1))
