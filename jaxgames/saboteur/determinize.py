"""Other worlds that a player cannot tell from this one (SB-50)."""

from typing import TYPE_CHECKING

import chex
import jax
import jax.numpy as jnp

from jaxgames.env import pick
from jaxgames.saboteur.observe import known_goals, known_places
from jaxgames.saboteur.state import UNDECIDED, State, cards_of, draw_deal

if TYPE_CHECKING:
    from jaxgames.saboteur.env import SaboteurEnv


def determinize(env: "SaboteurEnv", key: chex.PRNGKey, state: State, player: chex.Array) -> State:
    """Redraw everything `player` has not seen: cards, goals, roles, the gold pile, and all later rounds.

    Hidden cards are put in order before they are shuffled, so equal keys give equal worlds whatever was hidden. From
    which slot somebody plays or discards is seen by all: the places in `hand` and `played_by` are public.
    """
    deck_key, goal_key, role_key, gold_key, future_key = jax.random.split(key, 5)
    fresh = cards_of(env, draw_deal(env, future_key))
    now = state.round
    is_now = (jnp.arange(env.rules.rounds) == now)[:, None]
    is_revealed = (state.winners != UNDECIDED)[:, None]  # SB-36: all roles, once the round is over

    deck = redraw(deck_key, state.deck[now], keep=known_places(env, state, player))
    goals = redraw(goal_key, state.goals[now], keep=known_goals(env, state, player))
    own_role = jnp.arange(env.num_roles) == player
    roles = redraw(role_key, state.roles[now].astype(jnp.int8), keep=own_role).astype(bool)
    return state.replace(
        # Nobody reads the cards of finished rounds again.
        deck=pick(is_now, deck, fresh["deck"]),
        goals=pick(is_now, goals, fresh["goals"]),
        roles=pick(is_revealed, state.roles, pick(is_now, roles, fresh["roles"])),
        gold=redraw_gold(gold_key, state),
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


def redraw_gold(key: chex.PRNGKey, state: State) -> chex.Array:
    """int8[gold card], the unused gold cards in a uniform order.

    Which cards are used up is known, but not in which order they lay in the pile: they are put in order too.
    """
    is_used = jnp.arange(state.gold.shape[0]) < state.gold_drawn
    used_first = jnp.sort(jnp.where(is_used, state.gold, jnp.iinfo(jnp.int8).max))
    return redraw(key, jnp.where(is_used, used_first, state.gold), keep=is_used)
