"""Perfect-information Monte Carlo: search in sampled worlds, then a vote (SC-58)."""

from collections.abc import Callable

import chex
import jax
import jax.numpy as jnp

from agents.basic import as_thinker
from agents.search import draws, playout, tree
from agents.search.draws import Draw
from agents.search.tree import Search
from jaxgames import Env, State
from jaxgames.options import check_choice, read_float, read_int
from jaxgames.schafkopf import SchafkopfEnv

# After a move of these games chance speaks: a simulation that knew what it will say would play with tomorrow's cards.
CHANCE_AFTER_A_MOVE = ("skyjo", "saboteur")


def pimc(
    env: Env,
    worlds: str | int = 10,
    simulations: str | int = 40,
    exploration: str | float = 1.0,
    scale: str | float = 1.0,
    consistency: str = "legal",
    playouts: str = "random",
    endgame: str | int = 0,
):
    """PIMC(worlds, simulations): the action with the most visits at the roots of all trees, the lowest id of equals.

    `playouts` is `random` or the spec of any agent. Schafkopf: `consistency="none"` is the published agent, which deals
    unseen cards by their number alone; the last `endgame` tricks are not searched but solved.
    """
    check_choice(env.id, "consistency", consistency, ("legal", "none") if env.id == "schafkopf" else ("legal",))
    draw = draws.legal(env, **({} if consistency == "legal" else {"consistency": consistency}))
    search = read_search(env, simulations, exploration, scale, playouts)
    act = search_worlds(env, search, read_int(env.id, "worlds", worlds, 1, 100_000), draw)
    tricks = read_int(env.id, "endgame", endgame, 0, 3 if env.id == "schafkopf" else 0)
    return solving(env, act, tricks) if tricks and isinstance(env, SchafkopfEnv) else act


def solving(env: SchafkopfEnv, act: Callable, tricks: int):
    """`act`, but for the last tricks of Schafkopf, which are solved."""
    from agents.search.endgame import best_reply, is_endgame

    def decide(key, state, player):
        ends = is_endgame(state, tricks)
        # Loops of one turn or none: under `vmap` a condition would let all games do both. The key is copied as a loop
        # of more turns would use it again.
        search = lambda *_: act(jax.random.clone(key), state, player)  # noqa: E731
        action = jax.lax.fori_loop(0, (~ends).astype(jnp.int32), search, jnp.int32(0))
        return jax.lax.fori_loop(0, ends.astype(jnp.int32), lambda *_: best_reply(env, state, player, tricks), action)

    return as_thinker(decide)


def read_search(
    env: Env, simulations: str | int, exploration: str | float, scale: str | float, playouts: str
) -> Search:
    """How trees grow, from the arguments of a spec."""
    return Search(
        simulations=read_int(env.id, "simulations", simulations, 1, 30_000),
        exploration=read_float(env.id, "exploration", exploration, 0.0),
        scale=read_float(env.id, "scale", scale, 1e-6),
        playout=decider(env, playouts),
        payoff=playout.points(env),
        redraws=env.id in CHANCE_AFTER_A_MOVE,
    )


def search_worlds(env: Env, search: Search, num_worlds: int, draw: Draw, candidates: int = 1):
    """The agent that grows a tree in each of `num_worlds` worlds of `draw` and plays what most simulations began with.

    A world's simulations count by its weight; see `draws.several` for `candidates`.
    """

    def visits(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        """float32[action], over all worlds."""
        world_key, grow_key = jax.random.split(key)
        worlds, weights = draws.several(draw, world_key, state, player, num_worlds, candidates)

        def one(world, key):
            def begin(key):
                if not search.redraws:
                    return world
                drawn, _ = draws.several(draw, key, state, player, 1, candidates)
                return jax.tree.map(lambda leaf: leaf[0], drawn)

            return tree.root_visits(env, tree.grow(env, search, begin, key))

        return weights @ jax.vmap(one)(worlds, jax.random.split(grow_key, num_worlds)).astype(jnp.float32)

    def act(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        legal = env.legal_action_mask(state)
        return jnp.argmax(jnp.where(legal, visits(key, state, player), -1)).astype(jnp.int32)

    return as_thinker(act)


def decider(env: Env, spec: str) -> playout.Choose:
    """Who plays worlds to their end."""
    if spec == "random":
        return playout.random_choice(env)
    import agents

    return playout.agent_choice(agents.make(spec, env))
