"""Rule-based Skull King (SK-70 .. SK-73): a table for the bid, strengths for the play, habits for abilities."""

from collections.abc import Callable

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.cards import choose
from jaxgames.options import UserError
from jaxgames.skullking import SkullKingEnv
from jaxgames.skullking.cards import (
    ABILITY_BENDT_1,
    ABILITY_BENDT_2,
    ABILITY_HARRY,
    ABILITY_JADE,
    ABILITY_ROATAN,
    ABILITY_ROSIE,
    ACKNOWLEDGE,
    BET,
    BID,
    BID_TABLE,
    BIDDING,
    CHANGE,
    DISCARD,
    ESCAPES,
    KRAKEN,
    LEAD,
    LOOTS,
    MERMAIDS,
    NO_CARD,
    NUM_CARDS,
    PIRATES,
    PLAY,
    PLAY_TIGRESS_AS_ESCAPE,
    PLAY_TIGRESS_AS_PIRATE,
    PLAYING,
    SKULL_KING,
    TIGRESS,
    WHALE,
    number_of,
)
from jaxgames.skullking.rules import cards_dealt, playable_cards
from jaxgames.skullking.state import State

LEVELS = {"easy": 1.0, "medium": 0.5, "hard": 0.2, "exact": 0.0}  # noise in the bid, in tricks
ABILITY_POLICIES = ("random", "seed", "strength")
WEAK_WHALE, STRONG_WHALE = 49, 84


def _strengths() -> np.ndarray:
    """SK-71: strength of each card times 140, int16[card + 1]; the Whale is decided by the hand."""
    strength = np.zeros(NUM_CARDS + 1, np.int16)
    strength[list(ESCAPES)], strength[list(LOOTS)], strength[KRAKEN], strength[WHALE] = 0, 7, 35, WEAK_WHALE
    strength[TIGRESS], strength[list(MERMAIDS)], strength[list(PIRATES)], strength[SKULL_KING] = 77, 105, 119, 140
    for card in range(10, 66):
        number = (card - 10) % 14 + 1
        strength[card] = 56 + 4 * number if card < 24 else 14 + 3 * number
    return strength


STRENGTH = _strengths()
LOSE, MEDIUM, WIN = range(3)


def rule_based(env: SkullKingEnv, level: str = "hard", abilities: str = "seed") -> Callable[..., chex.Array]:
    """Bids its table, then plays strong cards while tricks are needed and weak ones when not."""
    if level not in LEVELS:
        raise UserError(f"agents: level must be one of {', '.join(LEVELS)}, got {level!r}")
    if abilities not in ABILITY_POLICIES:
        raise UserError(f"agents: abilities must be one of {', '.join(ABILITY_POLICIES)}, got {abilities!r}")

    def act(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        bid_key, play_key, ability_key = jax.random.split(key, 3)
        decision = bid(env, bid_key, state, player, LEVELS[level])
        decision = jnp.where(state.phase == PLAYING, card(env, play_key, state, player, level), decision)
        use = use_ability(env, ability_key, state, player, abilities)
        return jnp.where((state.phase == BIDDING) | (state.phase == PLAYING), decision, use).astype(jnp.int32)

    return act


def bid(env: SkullKingEnv, key: chex.PRNGKey, state: State, player: chex.Array, noise: float) -> chex.Array:
    """SK-70: the tricks the hand is worth, give or take some noise."""
    worth = jnp.asarray(BID_TABLE)[state.hand[player]].sum()
    if noise == 0:
        tricks = (worth + 50) // 100
    else:
        blur = jax.random.uniform(key, (), jnp.float32, -noise, noise)
        tricks = jnp.floor(worth / jnp.float32(100) + blur + 0.5).astype(jnp.int32)
    return BID + jnp.clip(tricks, 0, cards_dealt(env, state))


def card(env: SkullKingEnv, key: chex.PRNGKey, state: State, player: chex.Array, level: str) -> chex.Array:
    """SK-72: the strongest card to win, the weakest to lose, the middle one when there is time."""
    hand = state.hand[player]
    legal = playable_cards(env, state, hand)
    need = tricks_needed(state, player)
    left = (cards_dealt(env, state) - state.tricks).astype(jnp.int32)
    plan = jnp.where((need == left) | (need > left // 2), WIN, MEDIUM)
    plan = jnp.where((need <= 0) | (need > left), LOSE, plan)
    if level == "easy":
        lapse_key, plan_key = jax.random.split(key)
        lapses = jax.random.uniform(lapse_key) < 0.3
        plan = jnp.where(lapses, jax.random.randint(plan_key, (), LOSE, WIN + 1), plan)
    count = legal.sum()
    place = jnp.where(plan == WIN, count - 1, jnp.where(plan == LOSE, 0, count // 2))
    slot = slot_at(hand, legal, place, strongest=plan == WIN)
    tigress = jnp.where(need > 0, PLAY_TIGRESS_AS_PIRATE, PLAY_TIGRESS_AS_ESCAPE)
    return jnp.where(hand[slot] == TIGRESS, tigress, PLAY + slot)


def use_ability(env: SkullKingEnv, key: chex.PRNGKey, state: State, player: chex.Array, policy: str) -> chex.Array:
    """SK-73: what to do with a pirate's ability."""
    words = jax.random.bits(key, (2,), jnp.uint32)
    legal = env.legal_action_mask(state)
    anything = choose(legal, words[0])
    if policy == "random":
        return anything
    hand, phase = state.hand[player], state.phase
    thrown = anything
    if policy == "strength":
        is_first = phase == ABILITY_BENDT_1
        may_go = (hand != NO_CARD) & (is_first | (hand != state.discards[0]))
        keeps_strong = tricks_needed(state, player) > 0
        place = jnp.where(keeps_strong, 0, may_go.sum() - 1)
        thrown = DISCARD + slot_at(hand, may_go, place, strongest=~keeps_strong)
    off = state.won[player].astype(jnp.int32) - state.bids[player]
    change = jnp.where(jnp.abs(off) == 1, off, 0)
    use = jnp.where((phase == ABILITY_BENDT_1) | (phase == ABILITY_BENDT_2), thrown, ACKNOWLEDGE)
    use = jnp.where(phase == ABILITY_ROSIE, LEAD, use)
    use = jnp.where(phase == ABILITY_ROATAN, BET + 1, use)
    use = jnp.where(phase == ABILITY_HARRY, CHANGE + 1 + change, use)
    return jnp.where(phase == ABILITY_JADE, ACKNOWLEDGE, use)


def tricks_needed(state: State, player: chex.Array) -> chex.Array:
    """int32[]: bid minus tricks won."""
    return state.bids[player].astype(jnp.int32) - state.won[player]


def slot_at(hand: chex.Array, among: chex.Array, place: chex.Array, *, strongest: chex.Array) -> chex.Array:
    """int32[]: the slot at `place` of the slots in `among` sorted by strength.

    Equal strengths stand in slot order; for the strongest of all the lowest slot must win, so there it is turned.
    """
    slots = jnp.arange(hand.shape[0])
    numbers = number_of(hand)
    is_high = (among & (numbers >= 12)).sum() >= 2
    strength = jnp.asarray(STRENGTH)[hand].astype(jnp.int32)
    strength = jnp.where(hand == WHALE, jnp.where(is_high, STRONG_WHALE, WEAK_WHALE), strength)
    key = strength * 16 + jnp.where(strongest, 15 - slots, slots)
    key = jnp.where(among, key, jnp.iinfo(jnp.int32).max)
    rank = (key[None, :] < key[:, None]).sum(-1)
    return jnp.where(among & (rank == place), slots, 0).max()


AGENTS = {"rule": rule_based}
