"""Policy inference: a world is as likely as a policy makes what was played in it (Rebstock et al. 2019).

Whoever passed with a hand on which the policy would have bid probably does not hold it. So every legal world is weighed
by the probability that the policy, seeing each player's own cards in that world, would have chosen what they chose.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import chex
import jax
import jax.numpy as jnp

from agents.search import draws, playout
from agents.search.draws import Draw
from agents.search.pimc import read_search, search_worlds
from agents.search.playout import Choose
from jaxgames import Env, State, pick
from jaxgames.env import StateT
from jaxgames.options import UserError, read_float, read_int
from jaxgames.schafkopf import SchafkopfEnv
from jaxgames.schafkopf import State as SchafkopfState
from jaxgames.schafkopf.cards import DOUBLE, FIRST_CARD, NO_DOUBLE, NO_SEAT, NUM_CARDS, NUM_SEATS, unpack
from jaxgames.schafkopf.state import CONTRA, RETOUR, dealer, first_player
from jaxgames.skullking import SkullKingEnv
from jaxgames.skullking.cards import BID
from jaxgames.skullking.rules import open_round
from jaxgames.skullking.state import State as SkullKingState
from jaxgames.tricks import seats_from

if TYPE_CHECKING:
    from agents.networks import Model, Params

NO_ACTION = -1  # where nothing was played
BIDS_TRIED = 4  # of each seat in a world: an agent may bid by chance


class Past(NamedTuple, Generic[StateT]):
    """How a state came about."""

    first: StateT  # the state that the game, or the round, began with
    actions: chex.Array  # int32[step], NO_ACTION in any place that was skipped


def infer(
    env: Env,
    network: str,
    worlds: str | int = 10,
    simulations: str | int = 40,
    candidates: str | int = 8,
    doubt: str | float = 0.1,
    exploration: str | float = 1.0,
    scale: str | float = 1.0,
    playouts: str = "random",
):
    """As `pimc`, with worlds chosen among `candidates` times as many by how likely a network would have played so.

    `doubt` is the share of decisions that are taken for random: nobody plays exactly like the network.
    """
    from agents import networks

    search = read_search(env, simulations, exploration, scale, playouts)
    draw = by_policy(env, *networks.load_honest(network, env), read_float(env.id, "doubt", doubt, 0.0, 1.0))
    num_worlds = read_int(env.id, "worlds", worlds, 1, 100_000)
    return search_worlds(env, search, num_worlds, draw, read_int(env.id, "candidates", candidates, 1, 1000))


def by_policy(env: Env, model: "Model", params: "Params", doubt: float = 0.1) -> Draw:
    """Legal worlds, each with the log likelihood of its past as its weight."""
    if env.id not in PASTS:
        raise UserError(f"agents: infer needs a game whose state tells its past ({', '.join(PASTS)}), not {env.id}")

    def draw(key: chex.PRNGKey, state: State, player: chex.Array):
        world, log_weight = draws.legal(env)(key, state, player)
        return world, log_weight + log_likelihood(model, params, PASTS[env.id](env, world), player, doubt)

    return draw


def by_bids(env: Env, choose: Choose) -> Draw:
    """Legal worlds of Skull King, each weighed by how near `choose` comes to the revealed bids with the hands in it.

    An agent tells no probabilities, so it is asked a few times. A bid that is off by n counts exp(-2n): nobody bids
    exactly like the agent, but a hand worth six tricks hardly bids two.
    """
    if not isinstance(env, SkullKingEnv):
        raise UserError(f"agents: worlds are weighed by the bids of rivals in skullking, not in {env.id}")
    seats = jnp.arange(env.num_players)

    def draw(key: chex.PRNGKey, state: State, player: chex.Array):
        world_key, bid_key = jax.random.split(key)
        world: Any
        world, log_weight = draws.legal(env)(world_key, state, player)
        first = open_round(env, world, world.round)

        def fit(seat):
            asked = first.replace(current_player=seat.astype(first.current_player.dtype))
            tried = jax.vmap(lambda number: choose(asked, bid_key, number) - BID)(jnp.arange(BIDS_TRIED))
            off = jnp.abs(tried - world.bids[seat])
            return jnp.log(jnp.exp(-2.0 * off).mean())

        is_evidence = (seats != player) & (world.bids >= 0)
        return world, log_weight + jnp.where(is_evidence, jax.vmap(fit)(seats), 0.0).sum()

    return draw


def log_likelihood(model: "Model", params: "Params", past: Past, player: chex.Array, doubt: float = 0.0) -> chex.Array:
    """float32[]: the log of the probability that everybody but `player` chooses what they chose, each by its own view.

    What the player itself chose says nothing: its view is the same in all its worlds.
    """
    from agents.networks import consider

    env = model.env

    def turn(state, action):
        is_skipped = action == NO_ACTION
        return pick(is_skipped, state, playout.step(env, state, jnp.maximum(action, 0))), state

    _, states = jax.lax.scan(turn, past.first, past.actions)

    def judged(state, action):
        policy, _ = consider(model, params, state, state.current_player)
        legal = model.legal(state)
        at_random = 1 / legal.sum()
        chosen = jnp.exp(policy.log_prob(model.choice(state, legal, jnp.maximum(action, 0))))
        is_evidence = (action != NO_ACTION) & (state.current_player != player)
        return jnp.where(is_evidence, jnp.log((1 - doubt) * chosen + doubt * at_random), 0.0)

    return jax.vmap(judged)(states, past.actions).sum()  # one pass of the network over all decisions


def schafkopf_past(env: SchafkopfEnv, state: SchafkopfState) -> Past[SchafkopfState]:
    """Bids, doublings and cards in order, from the deal."""
    order = seats_from(first_player(state), NUM_SEATS)
    num_spoken = (state.current_player - first_player(state)) % NUM_SEATS

    def doublings(giver, stage, is_played):
        has_spoken = (state.stage > stage) | ((state.stage == stage) & (jnp.arange(NUM_SEATS) < num_spoken))
        return jnp.where(has_spoken & is_played, jnp.where(order == giver, DOUBLE, NO_DOUBLE), NO_ACTION)

    contra = doublings(state.contra, CONTRA, env.contra)
    retour = doublings(state.retour, RETOUR, state.contra != NO_SEAT)
    cards = jnp.where(state.played >= 0, state.played + FIRST_CARD, NO_ACTION).ravel()
    deck = jnp.nonzero(unpack(state.dealt), size=NUM_CARDS)[1]
    return Past(
        first=env.init(jax.random.key(0), deal={"dealer": dealer(state), "deck": deck}),
        actions=jnp.concatenate([part.astype(jnp.int32) for part in (state.bids[order], contra, retour, cards)]),
    )


def skullking_past(env: SkullKingEnv, state: SkullKingState) -> Past[SkullKingState]:
    """The bids of the round in order. Of what follows the state tells less: Rosie's choice of a leader is forgotten.

    Bids that are not revealed yet were drawn with the world, and are as much evidence of the hands drawn with them.
    """
    first = open_round(env, state, state.round)
    bids = state.bids[seats_from(first.leader, env.num_players)]
    return Past(first, jnp.where(bids >= 0, BID + bids, NO_ACTION).astype(jnp.int32))


# Games whose state tells how it came about. Of others a record does: see `log_likelihood`.
PASTS: dict[str, Callable[..., Past]] = {"schafkopf": schafkopf_past, "skullking": skullking_past}
