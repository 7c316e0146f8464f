"""That an agent chooses the same in every world that its player cannot tell from the true one."""

import jax
import jax.numpy as jnp
import numpy as np

import agents
from agents import checkpoints, networks
from tests.support import random_states

OPTIONS = {"skullking": {"num_players": 3, "hand_sizes": (2, 3)}, "saboteur": {"variant": "paths", "num_players": 2}}
SPECS = (
    "pimc:2,4",
    "rollouts:{network},worlds=2,actions=3",
    "search:{network},worlds=2,simulations=3",
)
# Compiling is what takes the time here, and nothing is played twice.
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def untrained(env, path):
    """The checkpoint of a small network that has learned nothing, written to `path`."""
    fields = {"width": 8} if env.id == "saboteur" else {"widths": (8,)}
    model = networks.make("pointer" if env.id == "saboteur" else "mlp", env, **fields)
    about = checkpoints.describe(env, networks.describe(model), model.version)
    return str(checkpoints.save(path, {"params": jax.jit(model.init)(jax.random.key(0))}, about))


def assert_no_peeking(env, spec, count=6):
    """The same choice in `count` states of random play and in a determinization of each, for equal keys."""
    act = agents.make(spec, env)
    states = random_states(env, jax.random.key(5), count, min(env.max_steps, 42))

    def choose(keys, others):
        worlds = jax.vmap(lambda key, state: env.determinize(key, state, state.current_player))(others, states)
        together = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), states, worlds)
        chosen = jax.vmap(lambda key, state: act(key, state, state.current_player))(jnp.tile(keys, 2), together)
        return chosen, jax.vmap(env.is_legal)(together, chosen)

    keys = jax.random.split(jax.random.key(0), 2 * count)
    chosen, is_legal = jax.jit(choose, compiler_options=QUICKLY)(keys[:count], keys[count:])
    np.testing.assert_array_equal(chosen[:count], chosen[count:])
    assert is_legal.all()
