"""Search that a network guides: its policy says where to look, its value what a position is worth to every seat.

PUCT in sampled worlds. The value of a seat comes from that seat's own view of the world, so nobody is thought to know
more than it will; the tree itself lets players answer each other's hidden cards, as PIMC does.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp

from agents.basic import Thinker
from agents.search import draws
from agents.search.draws import Draw
from agents.search.pimc import CHANCE_AFTER_A_MOVE
from agents.search.rollouts import SURE, favourite
from jaxgames import Env, State, make
from jaxgames.options import read_float, read_int

if TYPE_CHECKING:
    from agents.networks import Model, Params

NO_NODE = -1


class Guide(NamedTuple):
    """A network as a search asks it."""

    model: "Model"
    params: "Params"
    rewards: Env  # the game with the rewards that the network learned from
    scale: float  # of these rewards in its values


class Tree(NamedTuple):
    """Nodes in the order they were made; the root is node 0."""

    parent: chex.Array  # int16[node]  NO_NODE for the root and for what was not made
    choice: chex.Array  # int32[node]  of the network, that leads here
    visits: chex.Array  # int32[node]
    total: chex.Array  # float32[seat, node]  returns of all simulations through the node
    prior: chex.Array  # float32[node, choice]  the network's policy there


class Walk(NamedTuple):
    """On the way down."""

    state: State
    earned: chex.Array  # float32[seat]  since the root
    node: chex.Array  # int32[]  the last one passed
    on_path: chex.Array  # bool[node]
    choice: chex.Array  # int32[]  the last one made
    leaves: chex.Array  # bool[]  it was made here for the first time


def network_search(
    env: Env,
    network: str,
    worlds: str | int = 8,
    simulations: str | int = 32,
    exploration: str | float = 1.25,
    sure: str | float = SURE,
):
    """The choice of a network with the most visits in trees of `simulations` nodes, one in each of `worlds` worlds.

    What it gives a probability of `sure` or more it plays at once.
    """
    num_worlds = read_int(env.id, "worlds", worlds, 1, 100_000)
    num_simulations = read_int(env.id, "simulations", simulations, 1, 30_000)
    weight = read_float(env.id, "exploration", exploration, 0.0)
    guide = load_guide(network, env)
    think = guided(env, guide, num_worlds, num_simulations, weight, draws.legal(env))
    return Thinker(favourite(guide.model, guide.params, read_float(env.id, "sure", sure, 0.0, 1.0)), think)


def load_guide(network: str, env: Env) -> Guide:
    """The network with the rewards it was trained on, as its checkpoint has them."""
    from agents import checkpoints, networks

    model, params = networks.load_honest(network, env)
    manifest = checkpoints.read_manifest(checkpoints.find(network))
    learned = {name: value for name, value in manifest["options"].items() if "reward" in name}
    return Guide(model, params, make(env.id, **{**env.options, **learned}), manifest.get("reward_scale", 1.0))


def guided(env: Env, guide: Guide, num_worlds: int, simulations: int, exploration: float, draw: Draw):
    """The agent, for worlds drawn in any way."""

    def visits(key, world, state, player):
        """int32[choice], of one tree."""

        def begin(key):
            return draw(key, state, player)[0] if env.id in CHANCE_AFTER_A_MOVE else world

        tree = grow(env, guide, begin, key, simulations, exploration)
        place = jnp.where(tree.parent == 0, tree.choice, tree.prior.shape[-1])
        return jnp.zeros(tree.prior.shape[-1], jnp.int32).at[place].add(tree.visits, mode="drop")

    def act(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        world_key, grow_key = jax.random.split(key)
        worlds, weights = draws.several(draw, world_key, state, player, num_worlds)
        keys = jax.random.split(grow_key, num_worlds)
        votes = weights @ jax.vmap(visits, (0, 0, None, None))(keys, worlds, state, player).astype(jnp.float32)
        prior, _ = judge(guide, state)
        # Votes are whole numbers but for the weights: the prior breaks ties.
        choice = jnp.argmax(jnp.where(prior > 0, votes + 0.5 * prior, -1))
        return guide.model.act(state, guide.model.legal(state), choice).astype(jnp.int32)

    return act


def judge(guide: Guide, state: State) -> tuple[chex.Array, chex.Array]:
    """(policy of the player to move float32[choice], value of every seat from its own view float32[seat])."""
    model, seats = guide.model, jnp.arange(guide.model.env.num_players, dtype=jnp.int32)
    said = jax.vmap(lambda seat: model.read(guide.params, model.look(state, seat)))(seats)
    policy = model.policy(said.heads[state.current_player], model.legal(state))
    return policy.widths / policy.total, said.value  # type: ignore[attr-defined]


def legal_choices(guide: Guide, state: State, count: int) -> chex.Array:
    """bool[choice], of the player to move."""
    even = guide.model.policy(jnp.zeros(count), guide.model.legal(state))
    return even.widths > 0  # type: ignore[attr-defined]


def grow(
    env: Env,
    guide: Guide,
    world: Callable[[chex.PRNGKey], State],
    key: chex.PRNGKey,
    simulations: int,
    exploration: float,
) -> Tree:
    """A tree after all simulations. `world(key)` is the state in which one begins."""
    first_key, key = jax.random.split(key)
    prior, _ = judge(guide, world(first_key))
    nodes = simulations + 1
    tree = Tree(
        parent=jnp.full(nodes, NO_NODE, jnp.int16),
        choice=jnp.zeros(nodes, jnp.int32),
        visits=jnp.zeros(nodes, jnp.int32),
        total=jnp.zeros((env.num_players, nodes), jnp.float32),
        prior=jnp.zeros((nodes, prior.size), jnp.float32).at[0].set(prior),
    )

    def simulate(tree, x):
        fresh, key = x
        walk = descend(env, guide, tree, world(key), exploration)
        prior, value = judge(guide, walk.state)
        payoff = walk.earned + jnp.where(walk.state.done, 0, value)
        is_fresh = (jnp.arange(nodes) == fresh) & walk.leaves
        on_path = walk.on_path | is_fresh
        return Tree(
            parent=jnp.where(is_fresh, walk.node.astype(jnp.int16), tree.parent),
            choice=jnp.where(is_fresh, walk.choice, tree.choice),
            visits=tree.visits + on_path,
            total=tree.total + jnp.where(on_path, payoff[:, None], 0),
            prior=tree.prior.at[fresh].set(prior),
        ), None

    numbers = 1 + jnp.arange(simulations, dtype=jnp.int32)
    return jax.lax.scan(simulate, tree, (numbers, jax.random.split(key, simulations)))[0]


def descend(env: Env, guide: Guide, tree: Tree, root: State, exploration: float) -> Walk:
    """Down by PUCT until a choice is made for the first time, or the game is over."""
    nodes, count = jnp.arange(len(tree.parent)), tree.prior.shape[-1]
    visits = tree.visits.astype(jnp.float32)
    mean = tree.total / jnp.maximum(visits, 1)
    # Returns come in any unit: PUCT sees them on a scale from the worst to the best seen in this tree.
    low = jnp.where(visits > 0, mean, jnp.inf).min()
    high = jnp.where(visits > 0, mean, -jnp.inf).max()
    scaled = jnp.where(visits > 0, (mean - low) / jnp.maximum(high - low, 1e-6), 0.5)  # [seat, node]

    def turn(walk: Walk) -> Walk:
        legal = legal_choices(guide, walk.state, count)
        mine = scaled[walk.state.current_player]  # float32[node]
        # Where chance came between, a choice may be legal that was not when the network looked: it gets a little.
        prior = jnp.where(legal, tree.prior[walk.node] + 1e-3, 0)
        prior /= prior.sum()
        reach = exploration * jnp.sqrt(jnp.maximum(visits[walk.node], 1))

        is_child = (tree.parent == walk.node) & legal[tree.choice]
        bound = jnp.where(is_child, mine + reach * prior[tree.choice] / (1 + visits), -jnp.inf)
        best = jnp.argmax(bound).astype(jnp.int32)
        tried = jnp.zeros(count, bool).at[jnp.where(is_child, tree.choice, count)].set(True, mode="drop")
        hope = jnp.where(legal & ~tried, mine[walk.node] + reach * prior, -jnp.inf)  # worth what the parent is
        leaves = hope.max() > bound[best]
        choice = jnp.where(leaves, jnp.argmax(hope), tree.choice[best]).astype(jnp.int32)
        action = guide.model.act(walk.state, guide.model.legal(walk.state), choice)
        after = env.rooms.rules.play(env, walk.state, action).replace(step_count=walk.state.step_count + 1)
        paid = env.rooms.rewards.payment(guide.rewards, walk.state, action, after)
        return Walk(
            state=after,
            earned=walk.earned + guide.scale * paid,
            node=jnp.where(leaves, walk.node, best),
            on_path=walk.on_path | ((nodes == best) & ~leaves),
            choice=choice,
            leaves=leaves,
        )

    start = Walk(
        state=root,
        earned=jnp.zeros(env.num_players, jnp.float32),
        node=jnp.int32(0),
        on_path=nodes == 0,
        choice=jnp.int32(0),
        leaves=jnp.bool_(False),
    )
    return jax.lax.while_loop(lambda walk: ~walk.leaves & ~walk.state.done, turn, start)
