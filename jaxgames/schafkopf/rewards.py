"""What a finished game pays, and who has won it (SC-27..33)."""

from typing import TYPE_CHECKING

import chex
import jax.numpy as jnp

from jaxgames.schafkopf.cards import (
    CALLED_ACE,
    NO_CARD,
    NO_SEAT,
    NUM_TRICKS,
    NUM_TRUMPS,
    PASS,
    SAUSPIEL,
    TOP_TRUMPS,
    WENZ,
    of_contract,
    size,
    union,
)
from jaxgames.schafkopf.state import State, seats

if TYPE_CHECKING:
    from jaxgames.schafkopf.env import SchafkopfEnv

MOST_LAUFENDE = 14


def payment(env: "SchafkopfEnv", before: State, action: chex.Array, after: State) -> chex.Array:
    """SC-33, float32[seat] in cents: the step that plays the 32nd card pays, zero-sum; every other pays nothing."""
    del before, action
    side = declarers_side(after)
    value = game_value(
        env,
        contract=after.contract,
        points=points_of_side(after),
        tricks=jnp.where(side, after.tricks, 0).sum(),
        laufende=laufende(union(jnp.where(side, after.dealt, 0)), after.contract),
        doublings=(after.contra != NO_SEAT).astype(jnp.int32) + (after.retour != NO_SEAT),
    )
    # A game that all passed has ended too, but its contract is worth nothing.
    return jnp.where(after.terminated, shares(value, side, after.contract), jnp.float32(0))


def illegal_penalty(env: "SchafkopfEnv") -> float:
    """SC-35: what an illegal action costs, no less than any game."""
    extras = 2 * env.tariff_extra + MOST_LAUFENDE * env.tariff_laufende
    lost = max(3 * (env.tariff_solo + extras), env.tariff_sauspiel + extras)
    return float(lost * (4 if env.contra else 1))


def scores(env: "SchafkopfEnv", state: State) -> chex.Array:
    """int8[seat], card points taken."""
    del env
    return state.points


def winners(env: "SchafkopfEnv", state: State) -> chex.Array:
    """SC-27, SC-28, bool[seat]: the side that won the game; nobody where all passed, or before the last card."""
    del env
    is_played = (state.played[-1, -1] != NO_CARD) & (state.contract != PASS)
    return is_played & (declarers_side(state) == has_won(points_of_side(state)))


def declarers_side(state: State) -> chex.Array:
    """SC-27, bool[seat]: the declarer, and in Sauspiel whoever was dealt the called ace."""
    return (seats() == state.declarer) | ((state.dealt & of_contract(CALLED_ACE, state.contract)) != 0)


def points_of_side(state: State) -> chex.Array:
    """SC-27, int32[]: the card points that the declarer's side has taken."""
    return jnp.where(declarers_side(state), state.points, 0).sum(dtype=jnp.int32)


def has_won(points: chex.Array) -> chex.Array:
    """SC-28, bool[]: has the declarer's side won with these points? 60:60 is lost."""
    return points >= 61


def laufende(side_cards: chex.Array, contract: chex.Array) -> chex.Array:
    """SC-30, int32[]: how many of the highest trumps in a row the side was dealt all of, or none of."""
    top = of_contract(TOP_TRUMPS, contract).astype(jnp.uint32)
    held = union(((side_cards >> top) & 1) << jnp.arange(MOST_LAUFENDE, dtype=jnp.uint32))  # bit 0: highest trump
    differs = jnp.where((held & 1) != 0, ~held, held)
    first = differs | (jnp.uint32(1) << of_contract(NUM_TRUMPS, contract).astype(jnp.uint32))
    # The place of the lowest set bit is the number of zeros below it.
    return size((first & (~first + 1)) - 1)


def game_value(
    env: "SchafkopfEnv",
    *,
    contract: chex.Array,
    points: chex.Array,
    tricks: chex.Array,
    laufende: chex.Array,
    doublings: chex.Array,
) -> chex.Array:
    """SC-28..31, int32[]: what one opponent pays, negative if the side lost."""
    is_sauspiel = (contract >= SAUSPIEL) & (contract < WENZ)
    is_schneider = (points >= 91) | (points <= 30)
    all_or_nothing, taken = (120, points) if env.schwarz == "points" else (NUM_TRICKS, tricks)
    is_schwarz = (taken == 0) | (taken == all_or_nothing)
    least = jnp.where(contract == WENZ, env.min_laufende_wenz, env.min_laufende)
    value = jnp.where(is_sauspiel, env.tariff_sauspiel, env.tariff_solo)
    value += env.tariff_extra * (is_schneider.astype(jnp.int32) + is_schwarz)
    value += jnp.where(laufende >= least, env.tariff_laufende * laufende, 0)
    value <<= doublings
    return jnp.where(has_won(points), value, -value)


def shares(value: chex.Array, side: chex.Array, contract: chex.Array) -> chex.Array:
    """SC-32, float32[seat]: partners split nothing, a lone declarer is paid by three; a passed game pays nothing."""
    is_sauspiel = (contract >= SAUSPIEL) & (contract < WENZ)
    gain = jnp.where(is_sauspiel, value, 3 * value)
    paid = jnp.where(side, gain, -value)
    return jnp.where(contract == PASS, 0, paid).astype(jnp.float32)
