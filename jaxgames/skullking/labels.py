"""SK-62: what a decision could have known only later, as labels for auxiliary heads."""

from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxgames.skullking.cards import HARRY, NUM_CARDS, ROSIE
from jaxgames.skullking.observe import known_cards
from jaxgames.skullking.rules import Events
from jaxgames.skullking.state import State

if TYPE_CHECKING:
    from jaxgames.skullking.env import SkullKingEnv


class Hindsight(NamedTuple):
    """What the rest of the round held, before each of the steps of a trajectory."""

    pirate_wins: chex.Array  # bool[step, pirate, seat]  Rosie .. Harry will win a trick for the seat
    off: chex.Array  # int8[step, seat]  tricks won minus final bid, at the scoring to come
    known: chex.Array  # bool[step]  the scoring lies within the trajectory


def hindsight(events: Events, num_players: int) -> Hindsight:
    """Look back over the events [step, ...] of one game: each decision sees its own step and all later ones."""
    seats = jnp.arange(num_players)

    def back(carry, event):
        wins, off, known = carry
        pirates = jnp.arange(ROSIE, HARRY + 1) == event.winning_card
        now = pirates[:, None] & (seats == event.winner) & event.trick_done
        wins = jnp.where(event.round_done, False, wins) | now
        off = jnp.where(event.round_done, event.won - event.final_bids, off)
        known = known | event.round_done
        return (wins, off, known), Hindsight(pirate_wins=wins, off=off, known=known)

    start = (jnp.zeros((5, num_players), bool), jnp.zeros((num_players,), jnp.int8), jnp.zeros((), bool))
    return jax.lax.scan(back, start, events, reverse=True)[1]


def ability_bits(pirate_wins: chex.Array, player: chex.Array) -> chex.Array:
    """bool[10] of one step: each pirate will win for the player (0..4), or for somebody else (5..9)."""
    mine = jnp.arange(pirate_wins.shape[-1]) == player
    return jnp.concatenate([(pirate_wins & mine).any(-1), (pirate_wins & ~mine).any(-1)])


def bid_class(off: chex.Array, player: chex.Array) -> chex.Array:
    """int32[]: 0..4 for two too few .. two too many tricks. `off` is of one step, [seat]."""
    return jnp.clip(off[player], -2, 2).astype(jnp.int32) + 2


def card_locations(env: "SkullKingEnv", state: State, player: chex.Array) -> chex.Array:
    """int8[card]: relative seat that holds it, 0 for stock or another's discards, -1 if located by the player."""
    known = known_cards(env, state, player)
    located = known.hand | known.played.any(0) | known.discards | ~jnp.asarray(env.in_deck)
    holds = (state.hand[:, :, None] == jnp.arange(NUM_CARDS)).any(1)  # bool[seat, card]
    relative = (jnp.arange(env.num_players) - player) % env.num_players
    holder = jnp.where(holds, relative[:, None], 0).max(0)
    return jnp.where(located, -1, holder).astype(jnp.int8)
