"""The five reward schemes (section 9) and the price of an illegal action (SK-36)."""

from typing import TYPE_CHECKING

import chex
import jax.numpy as jnp
import numpy as np

from jaxgames.skullking.cards import (
    ABILITY_BENDT_2,
    ABILITY_HARRY,
    CHANGE,
    ESCAPES,
    FIRST_NUMBERED,
    LAST_NUMBERED,
    MERMAIDS,
    NO_CARD,
    PIRATES,
    PLAYING,
    SKULL_KING,
)
from jaxgames.skullking.rules import Events, card_of, cards_dealt, play_with_events
from jaxgames.skullking.state import State

if TYPE_CHECKING:
    from jaxgames.skullking.env import SkullKingEnv

SCHEMES = ("score", "placement", "seed_base", "seed_ability", "seed")
ABILITY_SCHEMES = ("seed_ability", "seed")  # those that pay for the use of abilities


def _high_cards() -> np.ndarray:
    """bool[card + 1]: Skull King, Pirates, Mermaids and every numbered card from 10 up."""
    high = np.zeros(NO_CARD + 1, bool)
    high[[SKULL_KING, *MERMAIDS, *PIRATES]] = True
    numbered = np.arange(FIRST_NUMBERED, LAST_NUMBERED + 1)
    high[numbered] = (numbered - 10) % 14 + 1 >= 10
    return high


HIGH_CARD = _high_cards()


def payment(
    env: "SkullKingEnv", before: State, action: chex.Array, after: State, events: Events | None = None
) -> chex.Array:
    """What the step pays to every seat, float32[seat], under the env's scheme.

    Who has the events of the step at hand passes them on, so that the turn is not played a second time.
    """
    if env.reward == "score":
        return (after.total - before.total) / jnp.float32(100)
    if env.reward == "placement":
        return jnp.where(after.terminated, placement(after.total), jnp.float32(0))
    events = play_with_events(env, before, action)[1] if events is None else events
    paid = jnp.zeros((env.num_players,), jnp.float32)
    if env.reward in ("seed_base", "seed"):
        paid += trick_and_bid_payment(before, after, events)
    if env.reward in ABILITY_SCHEMES:
        paid += ability_payment(before, action, events)
    return paid


def illegal_penalty(env: "SkullKingEnv") -> float:
    """SK-36: W, what an illegal action costs: the worst total of the scheme."""
    rounds = len(env.hand_sizes)
    if env.reward == "score":
        return sum(10 * size + 20 for size in env.hand_sizes) / 100
    return {"placement": 1.0, "seed_base": 1.0 * rounds, "seed_ability": 0.9 * rounds, "seed": 1.9 * rounds}[env.reward]


def scores(env: "SkullKingEnv", state: State) -> chex.Array:
    """Total points, int16[seat]."""
    return state.total


def winners(env: "SkullKingEnv", state: State) -> chex.Array:
    """SK-34: bool[seat], the highest total after the last round, shared by equal ones."""
    # Only a scored last round leaves the game over in PLAYING with all tricks taken: before it somebody was to act.
    is_scored = (state.tricks == cards_dealt(env, state)) & (state.phase == PLAYING)
    return state.terminated & is_scored & (state.total == state.total.max())


def placement(total: chex.Array) -> chex.Array:
    """1 for the sole first place, -1 for the sole last; equal totals share. float32[seat]"""
    higher = (total > total[:, None]).sum(-1)
    equal = (total == total[:, None]).sum(-1) - 1
    return 1 - 2 * (higher + equal / jnp.float32(2)) / (total.shape[0] - 1)


def trick_and_bid_payment(before: State, after: State, events: Events) -> chex.Array:
    """`seed_base`: tricks that were still wanted, the bid at the end of the round, the win at the end of the game."""
    seats = jnp.arange(before.won.shape[0])
    wanted = (seats == events.winner) & (before.won < before.bids)
    off = jnp.abs(events.won - events.final_bids).astype(jnp.float32)
    bid = jnp.where(off == 0, 1.0, -jnp.minimum(1.0, 0.25 * off))
    top = after.total == after.total.max()
    win = jnp.where(top, 10.0 / top.sum(), 0.0)
    paid = jnp.where(events.trick_done & wanted, 0.1, 0.0)
    return paid + jnp.where(events.round_done, bid, 0.0) + jnp.where(after.terminated, win, 0.0)


def ability_payment(before: State, action: chex.Array, events: Events) -> chex.Array:
    """`seed_ability`: how well each pirate's ability was used. float32[seat]"""
    seats = jnp.arange(before.won.shape[0])
    mover = seats == before.current_player

    user, chosen = before.rosie_user, before.leader  # Rosie's choice led the trick that just ended
    chosen_needed = ((seats == chosen) & (before.won < before.bids)).any()
    led_and_won = events.winner == chosen
    rosie = jnp.where(
        chosen == user, jnp.where(led_and_won, 0.2, 0.0), jnp.where(led_and_won & chosen_needed, -0.1, 0.0)
    )
    paid = jnp.where(events.trick_done & (seats == user), rosie, 0.0)

    paid += jnp.where((before.phase == ABILITY_BENDT_2) & mover, discard_terms(before, action), 0.0)

    exact = events.won == events.final_bids
    bet = events.bets / jnp.float32(100)
    paid += jnp.where(events.round_done, jnp.where(exact, bet, -bet), 0.0)

    was_exact = events.won == before.bids
    changed = action != CHANGE + 1
    harry = jnp.where(exact, jnp.where(was_exact, 0.1, 0.3), jnp.where(changed, -0.2, 0.0))
    return paid + jnp.where((before.phase == ABILITY_HARRY) & mover, harry, 0.0)


def discard_terms(before: State, action: chex.Array) -> chex.Array:
    """What the second discard of Bendt's user pays for both, float32[]."""
    mover = jnp.arange(before.won.shape[0]) == before.current_player
    cards = jnp.stack([before.discards[0], card_of(before, action)])
    return discards_worth(cards, (mover & (before.bids > 0)).any())


def discards_worth(cards: chex.Array, wants_tricks: chex.Array) -> chex.Array:
    """float32[] of int8[2]: it is right to throw Escapes when tricks are wanted, high cards when not."""
    is_escape = (cards >= ESCAPES[0]) & (cards <= ESCAPES[-1])
    is_high = jnp.asarray(HIGH_CARD)[cards]
    worth = jnp.where(is_escape & wants_tricks, 0.1, 0.0)
    worth += jnp.where(is_high, jnp.where(wants_tricks, -0.2, 0.1), 0.0)
    return worth.sum(dtype=jnp.float32)
