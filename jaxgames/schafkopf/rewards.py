"""What a finished game pays (SC-27..33)."""

import chex
import jax.numpy as jnp

from jaxgames.schafkopf.cards import (
    CALLED_ACE,
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

MOST_LAUFENDE = 14


def payout(state: State, tariff) -> chex.Array:
    """float32[seat] in cents of a game whose last trick is taken; `tariff` is the env with its options. Zero-sum."""
    side = declarers_side(state)
    value = game_value(
        contract=state.contract,
        points=jnp.where(side, state.points, 0).sum(),
        tricks=jnp.where(side, state.tricks, 0).sum(),
        laufende=laufende(union(jnp.where(side, state.dealt, 0)), state.contract),
        doublings=(state.contra != NO_SEAT).astype(jnp.int32) + (state.retour != NO_SEAT),
        tariff=tariff,
    )
    return shares(value, side, state.contract)


def declarers_side(state: State) -> chex.Array:
    """SC-27, bool[seat]: the declarer, and in Sauspiel whoever was dealt the called ace."""
    return (seats() == state.declarer) | ((state.dealt & of_contract(CALLED_ACE, state.contract)) != 0)


def laufende(side_cards: chex.Array, contract: chex.Array) -> chex.Array:
    """SC-30, int32[]: how many of the highest trumps in a row the side was dealt all of, or none of."""
    top = of_contract(TOP_TRUMPS, contract).astype(jnp.uint32)
    held = union(((side_cards >> top) & 1) << jnp.arange(MOST_LAUFENDE, dtype=jnp.uint32))  # bit 0: highest trump
    differs = jnp.where((held & 1) != 0, ~held, held)
    first = differs | (jnp.uint32(1) << of_contract(NUM_TRUMPS, contract).astype(jnp.uint32))
    # The place of the lowest set bit is the number of zeros below it.
    return size((first & (~first + 1)) - 1)


def game_value(*, contract, points, tricks, laufende, doublings, tariff) -> chex.Array:
    """SC-28..31, int32[]: what one opponent pays, negative if the side lost."""
    is_sauspiel = (contract >= SAUSPIEL) & (contract < WENZ)
    is_schneider = (points >= 91) | (points <= 30)
    all_or_nothing, taken = (120, points) if tariff.schwarz == "points" else (NUM_TRICKS, tricks)
    is_schwarz = (taken == 0) | (taken == all_or_nothing)
    least = jnp.where(contract == WENZ, tariff.min_laufende_wenz, tariff.min_laufende)
    value = jnp.where(is_sauspiel, tariff.tariff_sauspiel, tariff.tariff_solo)
    value += tariff.tariff_extra * (is_schneider.astype(jnp.int32) + is_schwarz)
    value += jnp.where(laufende >= least, tariff.tariff_laufende * laufende, 0)
    value <<= doublings
    return jnp.where(points >= 61, value, -value)


def shares(value: chex.Array, side: chex.Array, contract: chex.Array) -> chex.Array:
    """SC-32, float32[seat]: partners split nothing, a lone declarer is paid by three; a passed game pays nothing."""
    is_sauspiel = (contract >= SAUSPIEL) & (contract < WENZ)
    gain = jnp.where(is_sauspiel, value, 3 * value)
    paid = jnp.where(side, gain, -value)
    return jnp.where(contract == PASS, 0, paid).astype(jnp.float32)


def largest_loss(tariff) -> int:
    """SC-35: what an illegal action costs, no less than any game."""
    extras = 2 * tariff.tariff_extra + MOST_LAUFENDE * tariff.tariff_laufende
    lost = max(3 * (tariff.tariff_solo + extras), tariff.tariff_sauspiel + extras)
    return lost * (4 if tariff.contra else 1)
