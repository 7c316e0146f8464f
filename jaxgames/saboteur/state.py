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

FACE_DOWN = -1  # in `played_on`: the card was discarded, not played
UNDECIDED, MINERS, SABOTEURS = range(3)  # who won a round


@chex.dataclass(frozen=True)
class State(contract.State):
    """One game. A card is named by its place in the round's shuffled deck, so who knows a card is a question of place.

    `joined` follows from the board, but only by a search (SB-21): it is kept, so that a card that joins nothing new
    costs no search. Without roles and gold (`paths`) those fields are zeros.
    """

    open: chex.Array  # uint32[side, word, column]  cells whose face-up card is open (path or dead end) on that side
    through: chex.Array  # uint32[word, column]  cells whose face-up card joins its open sides
    joined: chex.Array  # uint32[word, column]  cells whose card is joined to the start
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


def first_state(env: "SaboteurEnv", deal: dict[str, chex.Array]) -> State:
    """The start of a game on a deal made by `deal_cards` or `read_deal`."""
    n = env.num_players
    return State(
        current_player=jnp.int8(0),
        rewards=jnp.zeros(n, jnp.float32),
        terminated=jnp.bool_(False),
        truncated=jnp.bool_(False),
        step_count=jnp.int32(0),
        **deal,
        **round_start(env),
        round=jnp.int8(0),
        gold_drawn=jnp.int8(0),
        nuggets=jnp.zeros(n, jnp.int8),
        winners=jnp.zeros(env.rounds, jnp.int8),
        skips=jnp.int8(0),
    )


def round_start(env: "SaboteurEnv") -> dict[str, chex.Array]:
    """What every round begins with: the start card alone in the mine (SB-9), full hands (SB-12), whole tools."""
    grid, n, size = env.cells, env.num_players, env.hand_size
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


def deal_cards(env: "SaboteurEnv", key: chex.PRNGKey) -> dict[str, chex.Array]:
    """SB-10, SB-14: all shuffles of a game, uniform and independent."""
    deck_key, goal_key, role_key, gold_key = jax.random.split(key, 4)
    ids = {
        "deck": shuffles(deck_key, env.rounds, env.num_cards),
        "goals": shuffles(goal_key, env.rounds, NUM_GOALS),
        "roles": shuffles(role_key, env.rounds, env.num_roles),
        "gold": shuffle(gold_key, NUM_GOLD_CARDS),
    }
    return _cards_of_ids(env, ids)


def read_deal(env: "SaboteurEnv", deal: Any) -> dict[str, chex.Array]:
    """A given deal in the form of SB-10, or a ValueError that says what is wrong with it."""
    is_full = env.variant == "full"
    check_deal_keys(env.id, deal, ("gold", "rounds") if is_full else ("rounds",))
    rounds = deal["rounds"]
    if not isinstance(rounds, (list, tuple)) or len(rounds) != env.rounds:
        given = f"{len(rounds)} entries" if isinstance(rounds, (list, tuple)) else repr(rounds)
        raise ValueError(f"{env.id}: deal rounds must be a list of {env.rounds} (one per round), got {given}")
    sizes = {"goals": NUM_GOALS, "deck": env.num_cards} | ({"roles": env.num_roles} if is_full else {})
    for i, entry in enumerate(rounds):
        check_deal_keys(f"{env.id} round {i}", entry, tuple(sizes))
        for name, size in sizes.items():
            check_permutation(env.id, f"deal rounds[{i}].{name}", entry[name], range(size))
    if is_full:
        check_permutation(env.id, "deal gold", deal["gold"], range(NUM_GOLD_CARDS))
    ids = {name: jnp.stack([jnp.asarray(entry[name], jnp.int32) for entry in rounds]) for name in sizes}
    ids.setdefault("roles", jnp.zeros((env.rounds, env.num_roles), jnp.int32))
    ids["gold"] = jnp.asarray(deal.get("gold", np.zeros(NUM_GOLD_CARDS)), jnp.int32)
    return _cards_of_ids(env, ids)


def _cards_of_ids(env: "SaboteurEnv", ids: dict[str, chex.Array]) -> dict[str, chex.Array]:
    """The cards that the ids of a deal stand for: copies of a card are the same card (SB-5)."""
    is_full = env.variant == "full"
    return {
        "deck": jnp.asarray(TYPE_OF_ID[env.deck])[ids["deck"]],
        "goals": jnp.asarray(GOAL_OF_ID[env.deck])[ids["goals"]],
        "roles": (ids["roles"] < env.num_saboteurs) & is_full,
        "gold": jnp.asarray(NUGGETS_OF_ID)[ids["gold"]] * jnp.int8(is_full),
    }
