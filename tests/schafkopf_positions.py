"""Schafkopf positions as text: hands, and the actions that lead to the position."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.schafkopf.cards import FIRST_CARD, NAMES, NUM_CARDS, NUM_SEATS, parse

# The deals of the worked examples (section 11 of the rules page).
DEAL_A = "GA GK G9 G8 EO HA S7 E7 | G7 GO HO SO EU GU HX EK | GX SU HU H9 EA EX SA S9 | H7 H8 HK SX SK S8 E9 E8"
DEAL_B = "GA GK S7 E7 S8 S9 E8 E9 | G7 GO HO SO EU GU HX EK | GX SU HU H9 EA EX SA G9 | H7 H8 HK SX SK G8 EO HA"

NO_CONTRA = "10 10 10 10 "


def given(hands, actions="", dealer=3, **config):
    """(env, state) after these actions; every one of them must be legal. Actions are ids or the names of cards."""
    env = jaxgames.make("schafkopf", **config)
    state = env.init(jax.random.key(0), deal={"dealer": dealer, "deck": deck(hands)})
    return env, after(env, state, actions)


def after(env, state, actions):
    for token in actions.split():
        action = action_id(token)
        assert action in legal(env, state), f"{token} of seat {int(state.current_player)} in\n{env.render(state)}"
        state = step(env)(state, jnp.int32(action))
    return state


def deck(hands):
    """32 card ids of the text `hand | hand | hand | hand`, or of a list of ids."""
    return [card for part in hands.split("|") for card in parse(part)] if isinstance(hands, str) else list(hands)


def action_id(token):
    return FIRST_CARD + NAMES.index(token) if token in NAMES else int(token)


def legal(env, state):
    """The legal actions of the player to move, sorted ids."""
    return np.flatnonzero(np.asarray(mask(env)(state))).tolist()


def legal_cards(env, state):
    """The legal cards of the player to move, a set of names."""
    return {NAMES[action - FIRST_CARD] for action in legal(env, state)}


def hand(state, seat):
    """The cards that a seat still holds, a set of names."""
    gone = set(np.asarray(state.played).ravel().tolist())
    return {NAMES[card] for card in range(NUM_CARDS) if int(state.dealt[seat]) >> card & 1 and card not in gone}


def finish(env, state, choose):
    """Play to the end with `choose(legal actions) -> action`."""
    while not bool(state.done):
        state = step(env)(state, jnp.int32(choose(legal(env, state))))
    return state


def smallest(actions):
    """The smallest action, without doubling."""
    return min(action for action in actions if action != 9)


def doubling(actions):
    """Double whenever it is legal, else the largest action."""
    return 9 if 9 in actions else max(actions)


@functools.cache
def step(env):
    return jax.jit(env.step)


@functools.cache
def mask(env):
    return jax.jit(env.legal_action_mask)


def seats_of(values):
    return [int(values[seat]) for seat in range(NUM_SEATS)]
