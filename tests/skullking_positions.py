"""Positions of Skull King written as text, for its tests."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.skullking.cards import NO_CARD

_NAMES = {"SkullKing": 0, "Whale": 1, "Kraken": 2, "Mermaid": 3, "Mermaid2": 4}
_NAMES |= {"Rosie": 5, "Bendt": 6, "Roatan": 7, "Jade": 8, "Harry": 9}
_NAMES |= {"Escape": 66, "Escape2": 67, "Escape3": 68, "Escape4": 69, "Escape5": 70}
_NAMES |= {"Tigress": 71, "[T+]": 71, "[T-]": 71, "Loot": 72, "Loot2": 73, "-": NO_CARD}
_SUITS = {"R": 10, "P": 24, "M": 38, "C": 52}


def card(name):
    """The id of one card: R5, P14, Rosie, Escape2, ..."""
    return _NAMES[name] if name in _NAMES else _SUITS[name[0]] + int(name[1:]) - 1


def cards(text):
    """The ids of a list of cards in a line of text. A name used twice means the next copy."""
    ids = []
    for name in text.split():
        one = card(name)
        while one in ids and one != NO_CARD:
            one += 1
        ids.append(one)
    return ids


def deal(hands, top="", starter=0, deck=range(74)):
    """A one-round deal: the hands by seat, then the top of the stock, then the other cards ascending."""
    first = [c for hand in hands for c in cards(hand)] + cards(top)
    return {"starter": starter, "decks": [first + [c for c in deck if c not in first]]}


@functools.cache
def functions(env):
    """(step, mask) of an env, compiled once for all tests."""
    return jax.jit(env.step), jax.jit(env.legal_action_mask)


def legal(env, state):
    """The legal action ids, ascending."""
    return np.flatnonzero(np.asarray(functions(env)[1](state))).tolist()


def play(env, start, actions):
    """The states after each of the actions, the start first."""
    step = functions(env)[0]
    states = [start]
    for action in actions:
        assert action in legal(env, states[-1]), (len(states) - 1, action, legal(env, states[-1]))
        states.append(step(states[-1], action))
    return states


def start(env, hands, top="", starter=0, **data):
    return env.init(jax.random.key(0), deal=deal(hands, top, starter, env.deck.tolist()), **data)


@functools.cache
def table_env(num_players=4, **options):
    """One round of ten cards: enough for any single trick."""
    return jaxgames.make("skullking", num_players=num_players, hand_sizes=(10,), **options)


def given(hand="", table="", num_players=4, phase=1, **fields):
    """A state in mid-trick: `table` in play order from seat 0, the next seat holds `hand` and is to act."""
    env = table_env(num_players)
    state = jax.tree.map(jnp.asarray, _blank(env))
    on_table, names = cards(table), table.split()
    mover = len(on_table) % num_players
    held = sorted(cards(hand))
    hands = np.full((num_players, 11), NO_CARD, np.int8)
    hands[mover, : len(held)] = held
    played = np.full((num_players, 10), NO_CARD, np.int8)
    played[: len(on_table), 0] = on_table
    changes = {
        "phase": jnp.int8(phase),
        "hand": jnp.asarray(hands),
        "played": jnp.asarray(played),
        "leader": jnp.int8(0),
        "current_player": jnp.int8(mover),
        "bids": jnp.zeros(num_players, jnp.int8),
        "tigress_is_pirate": jnp.asarray("[T+]" in names),
    }
    changes |= {name: jnp.asarray(value, getattr(state, name).dtype) for name, value in fields.items()}
    return state.replace(**changes)


@functools.cache
def _blank(env):
    order = list(range(74))
    return jax.tree.map(np.asarray, env.init(jax.random.key(0), deal={"starter": 0, "decks": [order]}))
