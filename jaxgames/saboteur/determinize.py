"""Other worlds that a player cannot tell from this one (SB-50)."""

from typing import TYPE_CHECKING

import chex
import jax
import jax.numpy as jnp

from jaxgames.env import pick
from jaxgames.saboteur.observe import known_goals, known_places
from jaxgames.saboteur.state import State, deal_cards

if TYPE_CHECKING:
    from jaxgames.saboteur.env import SaboteurEnv


def determinize(env: "SaboteurEnv", key: chex.PRNGKey, state: State, player: chex.Array) -> State:
    """Redraw everything `player` has not seen: cards, goals, roles, the gold pile, and all later rounds.

    Hidden cards are put in order before they are shuffled, so equal keys give equal worlds whatever was hidden.
    """
    deck_key, goal_key, role_key, gold_key, future_key = jax.random.split(key, 5)
    now = state.round
    fresh = deal_cards(env, future_key)
    is_now = (jnp.arange(env.rounds) == now)[:, None]
    is_past = (jnp.arange(env.rounds) < now)[:, None]

    deck = redraw(deck_key, state.deck[now], keep=known_places(env, state, player))
    goals = redraw(goal_key, state.goals[now], keep=known_goals(env, state, player))
    own_role = jnp.arange(env.num_roles) == player
    roles = redraw(role_key, state.roles[now].astype(jnp.int8), keep=own_role).astype(bool)
    is_used = jnp.arange(state.gold.shape[0]) < state.gold_drawn
    return state.replace(
        # Nobody reads the cards of finished rounds again, but their roles are public.
        deck=pick(is_now, deck, fresh["deck"]),
        goals=pick(is_now, goals, fresh["goals"]),
        roles=pick(is_now, roles, pick(is_past, state.roles, fresh["roles"])),
        gold=redraw(gold_key, state.gold, keep=is_used),
    )


def redraw(key: chex.PRNGKey, cards: chex.Array, *, keep: chex.Array) -> chex.Array:
    """The same cards, int8[n], those outside `keep` in a uniform order."""
    n = cards.shape[0]
    last = jnp.uint32(0xFFFFFFFF)
    noise = jax.random.bits(key, (n,), jnp.uint32) & ~jnp.uint32(127)
    places = jnp.sort(jnp.where(keep, last, noise | jnp.arange(n, dtype=jnp.uint32)))
    hidden = jnp.sort(jnp.where(keep, jnp.iinfo(jnp.int8).max, cards))
    # Kept places have sorted to the end: they point past the last card and are dropped.
    target = jnp.where(jnp.arange(n) < (~keep).sum(), places & 127, n)
    return cards.at[target].set(hidden, mode="drop")
