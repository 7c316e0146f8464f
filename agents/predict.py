"""HP-PIMC: search in worlds that a hand predictor holds likely, and that the rules allow (SC-59)."""

from typing import TYPE_CHECKING

import chex

from agents.search.draws import Draw, legal
from agents.search.pimc import read_search, search_worlds
from jaxgames import Env, State
from jaxgames.options import UserError, check_choice, read_int
from jaxgames.schafkopf.cards import NUM_SEATS

if TYPE_CHECKING:
    from agents.networks import Params
    from agents.networks.hands import HandsModel


def hp(
    env: Env,
    worlds: str | int = 10,
    simulations: str | int = 40,
    network: str = "schafkopf_hands",
    exploration: str | float = 1.0,
    scale: str | float = 1.0,
    playouts: str = "random",
):
    """HP-PIMC(worlds, simulations): as `pimc`, with worlds drawn by what a predictor of hands says."""
    check_choice(env.id, "hp", env.id, ("schafkopf",))
    return hp_with(env, *load_hands(network, env), worlds, simulations, exploration, scale, playouts)


def hp_with(
    env: Env,
    model: "HandsModel",
    params: "Params",
    worlds: str | int = 10,
    simulations: str | int = 40,
    exploration: str | float = 1.0,
    scale: str | float = 1.0,
    playouts: str = "random",
):
    """HP-PIMC with this predictor; `params` may be traced."""
    search = read_search(env, simulations, exploration, scale, playouts)
    num_worlds = read_int(env.id, "worlds", worlds, 1, 100_000)
    return search_worlds(env, search, num_worlds, by_hands(env, model, params))


def load_hands(network: str, env: Env) -> tuple["HandsModel", "Params"]:
    """(model, params) of a predictor of hands; a UserError if the network is of another kind."""
    from agents import networks
    from agents.networks.hands import HandsModel

    model, params = networks.load(network, env)
    if not isinstance(model, HandsModel):
        raise UserError(f"agents: {network} is no predictor of hands but a network that plays")
    return model, params


def by_hands(env: Env, model: "HandsModel", params: "Params") -> Draw:
    """Legal worlds, each in proportion to the product of what the predictor gives to the places of its unseen cards."""

    def draw(key: chex.PRNGKey, state: State, player: chex.Array):
        places = model.places(params, state, player)
        return legal(env, weights=places[:, : NUM_SEATS - 1])(key, state, player)

    return draw
