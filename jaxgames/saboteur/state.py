"""The facts of a game, and the first of them: the deal (SB-9 to SB-15)."""

from typing import TYPE_CHECKING, Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import env as contract
from jaxgames.cards import shuffle, shuffles
from jaxgames.options import check_deal_keys, check_permutation
from jaxgames.saboteur.cards import (
    GOAL_OF_ID,
    MAX_HAND,
    NO_CARD,
    NUGGETS_OF_ID,
    NUM_GOALS,
    NUM_GOLD_CARDS,
    NUM_SIDES,
    NUM_TOOLS,
    TYPE_OF_ID,
)

if TYPE_CHECKING:
    from jaxgames.saboteur.env import SaboteurEnv

Deal = dict[str, Any]  # SB-10: ids, "gold" (full) and "rounds", a dict of "roles" (full), "goals" and "deck" for each

FACE_DOWN = -1  # in `played_on`: the card was discarded, not played
UNDECIDED, MINERS, SABOTEURS = range(3)  # who won a round


@chex.dataclass(frozen=True)
class State(contract.State):
    """One game. A card is named by its place in the round's shuffled deck, so who knows a card is a question of place.

    `joined` follows from the board, but only by a search (SB-21): it is kept, so that a card that joins nothing new
    costs no search. Sets of cells have a border (`cells`). Without roles and gold (`paths`) those fields are zeros.
    """

    open: chex.Array  # uint32[side, word]  cells whose face-up card is open (path or dead end) on that side
    through: chex.Array  # uint32[word]  cells whose face-up card joins its open sides
    joined: chex.Array  # uint32[word]  cells whose card is joined to the start
    deck: chex.Array  # int8[round, card]  card types in the order of the shuffle, all rounds
    goals: chex.Array  # int8[round, goal]  GOLD, STONE_A or STONE_B
    roles: chex.Array  # bool[round, seat + 1]  is a saboteur; the last card lies aside
    gold: chex.Array  # int8[gold card]  nuggets, in the order they are drawn
    round: chex.Array  # int8[]  0..rounds-1
    hand: chex.Array  # int8[seat, slot]  deck place of the card, NO_CARD behind the last one
    drawn: chex.Array  # int8[]  cards dealt or drawn so far: the place of the next one
    played_by: chex.Array  # int8[card]  seat that played or discarded the card, NO_CARD before
    played_on: chex.Array  # int8[card]  FACE_DOWN if discarded; target seat of a tool card, goal of a map; else 0
    broken: chex.Array  # bool[seat, tool]
    gold_drawn: chex.Array  # int8[]  gold cards used up
    nuggets: chex.Array  # int8[seat]
    winners: chex.Array  # int8[round]  UNDECIDED, MINERS or SABOTEURS
    skips: chex.Array  # int8[]  skips in a row (paths)


def draw_deal(env: "SaboteurEnv", key: chex.PRNGKey) -> Deal:
    """SB-10, SB-14: all shuffles of a game, uniform and independent, as ids."""
    deck_key, goal_key, role_key, gold_key = jax.random.split(key, 4)
    num_rounds = env.rules.rounds
    goals, decks = shuffles(goal_key, num_rounds, NUM_GOALS), shuffles(deck_key, num_rounds, env.num_cards)
    if env.variant == "paths":
        return {"rounds": [{"goals": goals[0], "deck": decks[0]}]}
    roles = shuffles(role_key, num_rounds, env.num_roles)
    rounds = [{"roles": roles[i], "goals": goals[i], "deck": decks[i]} for i in range(num_rounds)]
    return {"gold": shuffle(gold_key, NUM_GOLD_CARDS), "rounds": rounds}


def read_deal(env: "SaboteurEnv", deal: Deal) -> Deal:
    """A given deal in the form of SB-10 as int8 arrays, or a ValueError that says what is wrong with it."""
    is_full = env.variant == "full"
    check_deal_keys(env.id, deal, ("gold", "rounds") if is_full else ("rounds",))
    rounds, num_rounds = deal["rounds"], env.rules.rounds
    if not isinstance(rounds, (list, tuple)) or len(rounds) != num_rounds:
        given = f"{len(rounds)} entries" if isinstance(rounds, (list, tuple)) else repr(rounds)
        raise ValueError(f"{env.id}: deal rounds must be a list of {num_rounds} (one per round), got {given}")
    sizes = ({"roles": env.num_roles} if is_full else {}) | {"goals": NUM_GOALS, "deck": env.num_cards}
    for i, entry in enumerate(rounds):
        check_deal_keys(f"{env.id} round {i}", entry, tuple(sizes))
        for name, size in sizes.items():
            check_permutation(env.id, f"deal rounds[{i}].{name}", entry[name], range(size))
    read: Deal = {"rounds": [{name: jnp.asarray(entry[name], jnp.int8) for name in sizes} for entry in rounds]}
    if not is_full:
        return read
    check_permutation(env.id, "deal gold", deal["gold"], range(NUM_GOLD_CARDS))
    return {"gold": jnp.asarray(deal["gold"], jnp.int8), **read}


def first_state(env: "SaboteurEnv", deal: Deal) -> State:
    """The start of a game on a deal of `draw_deal` or `read_deal`."""
    n = env.num_players
    return State(
        **contract.at_the_start(n),
        **cards_of(env, deal),
        **round_start(env),
        round=jnp.int8(0),
        gold_drawn=jnp.int8(0),
        nuggets=jnp.zeros(n, jnp.int8),
        winners=jnp.zeros(env.rules.rounds, jnp.int8),
        skips=jnp.int8(0),
    )


def cards_of(env: "SaboteurEnv", deal: Deal) -> dict[str, chex.Array]:
    """What the ids of a deal stand for, by field of the state: copies of a card are the same card (SB-5)."""
    deck = env.rules.deck
    ids = {name: jnp.stack([entry[name] for entry in deal["rounds"]]) for name in deal["rounds"][0]}
    is_full = env.variant == "full"
    return {
        "deck": jnp.asarray(TYPE_OF_ID[deck])[ids["deck"]],
        "goals": jnp.asarray(GOAL_OF_ID[deck])[ids["goals"]],
        "roles": ids["roles"] < env.num_saboteurs if is_full else jnp.zeros((env.rules.rounds, env.num_roles), bool),
        "gold": jnp.asarray(NUGGETS_OF_ID)[deal["gold"]] if is_full else jnp.zeros(NUM_GOLD_CARDS, jnp.int8),
    }


def round_start(env: "SaboteurEnv") -> dict[str, chex.Array]:
    """What every round begins with: the start card alone in the mine (SB-9), full hands (SB-12), whole tools."""
    grid, n, size = env.cells, env.num_players, env.rules.hand_size
    hand = np.full((n, MAX_HAND), NO_CARD, np.int8)
    hand[:, :size] = np.arange(n * size).reshape(n, size)
    return {
        "open": jnp.asarray(np.stack([grid.start] * NUM_SIDES)),
        "through": jnp.asarray(grid.start),
        "joined": jnp.asarray(grid.start),
        "hand": jnp.asarray(hand),
        "drawn": jnp.int8(n * size),
        "played_by": jnp.full(env.num_cards, NO_CARD, jnp.int8),
        "played_on": jnp.zeros(env.num_cards, jnp.int8),
        "broken": jnp.zeros((n, NUM_TOOLS), bool),
    }
