"""Honest rollouts: each promising action is played to the end of the round, by players who see their own cards only.

Search in a sampled world usually lets everybody see everything there, and so believes in plans that depend on knowing
the world. Here every seat of every world decides from its own view, so that no such plan exists.
"""

import operator
from typing import TYPE_CHECKING

import chex
import jax
import jax.numpy as jnp

from agents.basic import Thinker
from agents.search import draws, playout
from agents.search.draws import Draw
from agents.search.pimc import decider
from agents.search.playout import Choose, Payoff
from jaxgames import Env, State
from jaxgames.options import check_choice, read_float, read_int

if TYPE_CHECKING:
    from agents.networks import Model, Params

SURE = 0.98  # the probability from which a network is taken at its word


def rollouts(
    env: Env,
    network: str,
    worlds: str | int = 64,
    actions: str | int = 4,
    margin: str | float = 0.5,
    belief: str = "rules",
    sure: str | float = SURE,
    rivals: str = "",
    style: str = "sampled",
    aim: str = "points",
    candidates: str | int = 1,
):
    """A network that thinks: the best of its likeliest `actions`, by what they are worth in up to `worlds` worlds.

    `margin` is how much the network's own opinion counts against what was seen (`gains`); 0 for nothing. All worlds
    that the rules allow count alike; or with `belief=policy` by how likely the network would have played as was played,
    in Skull King with `belief=bids` by how near the others, as `rivals`, would have come to the bids that were made.
    With `candidates` each world is chosen among so many. What the network gives a probability of `sure` or more is
    played at once.

    Worlds are played on by the network, sampled or greedy (`style`), in all seats, or by the agent `rivals` in those of
    the others (in Saboteur, of the other role): who knows whom it plays, plans better. `aim` is points above the
    others' mean; in Skull King also the win of the game, in Saboteur that of the round for one's role.
    """
    from agents import networks
    from agents.inference import by_bids, by_policy

    num_worlds = read_int(env.id, "worlds", worlds, 2, 100_000)
    num_actions = read_int(env.id, "actions", actions, 1, min(env.num_actions, 64))
    weight = read_float(env.id, "margin", margin, 0.0)
    model, params = networks.load_honest(network, env)
    greedy = check_choice(env.id, "style", style, ("sampled", "greedy")) == "greedy"
    own = playout.agent_choice(networks.network_agent(model, params, greedy))
    others = decider(env, rivals) if rivals else own
    beliefs = {
        "rules": lambda: draws.legal(env),
        "policy": lambda: by_policy(env, model, params),
        "bids": lambda: by_bids(env, others),
    }
    draw = beliefs[check_choice(env.id, "belief", belief, tuple(beliefs))]()
    num_candidates = read_int(env.id, "candidates", candidates, 1, 1000)
    aims = {"points": playout.points, "wins": playout.wins}
    payoff = aims[check_choice(env.id, "aim", aim, tuple(aims))](env)
    draw = draws.sensible(env, draw, others)
    think = roll_out(env, model, params, num_worlds, num_actions, weight, draw, own, others, payoff, num_candidates)
    return Thinker(favourite(model, params, read_float(env.id, "sure", sure, 0.0, 1.0)), think)


def favourite(model: "Model", params: "Params", sure: float):
    """`glance` of a search with a network: its likeliest action, and whether that has a probability of `sure`."""
    from agents import networks

    def glance(state: State, player: chex.Array) -> tuple[chex.Array, chex.Array]:
        likely, actions = networks.likeliest(model, params, state, player, 1)
        return actions[0].astype(jnp.int32), likely[0] >= sure

    return glance


def roll_out(
    env: Env,
    model: "Model",
    params: "Params",
    num_worlds: int,
    num_actions: int,
    margin: float,
    draw: Draw,
    own: Choose,
    others: Choose,
    payoff: Payoff,
    candidates: int = 1,
):
    """The agent, for worlds drawn in any way, played on by `own` in its seat and by `others` elsewhere.

    Worlds go where actions are close: first all actions are tried, then the likeliest and the better half of the
    others in as many worlds again, until two have seen them all. Actions are compared in the same worlds with the same
    keys, so that only the action differs.
    """
    from agents import networks

    def worth(key, world, action, player):
        """float32[], to the player, of an action in one world."""
        state = playout.step(env, world, action)
        if own is others:
            end = playout.play_on(env, own, world, state, key)
        else:
            end = playout.play_on_at(env, player, own, others, world, state, key)
        return payoff(world, end)[player]

    everywhere = jax.vmap(jax.vmap(worth, (None, None, 0, None)), (0, 0, None, None))

    def act(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        world_key, play_key = jax.random.split(key)
        likely, actions = networks.likeliest(model, params, state, player, num_actions)
        worlds, weights = draws.several(draw, world_key, state, player, num_worlds, candidates)
        keys = jax.random.split(play_key, num_worlds)
        seen = jnp.zeros((0, num_actions), jnp.float32)  # [world, action]
        for count, stop in halvings(num_actions, num_worlds):
            likely, actions, seen = likely[:count], actions[:count], seen[:, :count]
            new = slice(len(seen), stop)
            some = jax.tree.map(operator.itemgetter(new), worlds)
            seen = jnp.concatenate([seen, everywhere(keys[new], some, actions, player)])
            gain = gains(seen, weights[:stop], likely, margin)
            order = jnp.argsort(-gain.at[0].set(jnp.inf))  # the likeliest stays, as the measure of the others
            likely, actions, seen, gain = likely[order], actions[order], seen[:, order], gain[order]
        return actions[jnp.argmax(gain)].astype(jnp.int32)

    return act


def halvings(num_actions: int, num_worlds: int) -> list[tuple[int, int]]:
    """[(actions still tried, worlds seen by the end of the round)]; the number of worlds doubles."""
    counts = [num_actions]
    while counts[-1] > 2:
        counts.append((counts[-1] + 1) // 2)
    return [(count, max(1, num_worlds >> (len(counts) - 1 - i))) for i, count in enumerate(counts)]


def gains(worth: chex.Array, weights: chex.Array, likely: chex.Array, margin: float) -> chex.Array:
    """float32[action]: what each is worth above the first, the network's favourite, less what must be doubted of it.

    Evidence of z standard errors makes an action exp(z^2 / 2) times likelier to be the better one; if the network
    thinks it r times less likely, it takes z = sqrt(2 ln r) to outweigh that. So with few worlds the network speaks.
    """
    gain = worth - worth[:, :1]
    mean = (weights[:, None] * gain).mean(0)
    spread = ((gain - mean) ** 2).sum(0)
    # One world more with the spread of all actions: two or three worlds may agree by chance.
    deviation = jnp.sqrt((spread + spread.mean() / len(gain)) / (len(gain) + 1))
    doubt = jnp.sqrt(2 * jnp.log(likely[0] / jnp.maximum(likely, 1e-30)))
    return jnp.where(likely > 0, mean - margin * doubt * deviation / jnp.sqrt(len(gain)), -jnp.inf)
