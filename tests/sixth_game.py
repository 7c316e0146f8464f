"""A sixth game, whole and in one file: Kuhn poker, three cards and two players.

The template of CONTRIBUTING.md. A larger game has one module for each of these sections; here one module is all rooms.
"""

import dataclasses
import sys
from typing import ClassVar, NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxgames import State as SharedState
from jaxgames.cards import shuffle
from jaxgames.env import Env, Rooms, at_the_start
from jaxgames.options import check_deal_keys, check_int, check_permutation
from jaxgames.pictures import text_picture

NUM_CARDS, NAMES = 3, ("jack", "queen", "king")  # one for each player and one aside; the higher wins
PASS, BET, NOT_YET = 0, 1, -1  # actions: pass, or bet a second chip


@chex.dataclass(frozen=True)
class State(SharedState):
    deck: chex.Array  # int8[card]  the card of seat 0, of seat 1, and the one aside
    said: chex.Array  # int8[3]     what was said, NOT_YET behind it


def draw_deal(env, key):
    return {"deck": shuffle(key, NUM_CARDS)}


def read_deal(env, deal):
    check_deal_keys(env.id, deal, ("deck",))
    check_permutation(env.id, "deal deck", deal["deck"], range(NUM_CARDS))
    return {"deck": jnp.asarray(deal["deck"], jnp.int8)}


def first_state(env, deal):
    return State(**at_the_start(env.num_players), deck=deal["deck"], said=jnp.full(3, NOT_YET, jnp.int8))


def legal_actions(env, state):
    return jnp.ones(2, bool)  # both, always


def play(env, state, action):
    said = jnp.where(jnp.arange(3) == state.step_count, action.astype(jnp.int8), state.said)
    return state.replace(said=said, current_player=1 - state.current_player, terminated=is_settled(said))


def is_settled(said):
    """bool[]: passing round, folding to a bet or calling it; only a pass followed by a bet goes on for a third word."""
    return (said[1] != NOT_YET) & ~((said[0] == PASS) & (said[1] == BET) & (said[2] == NOT_YET))


class View(NamedTuple):
    card: chex.Array  # bool[card]       mine
    said: chex.Array  # bool[3, action]  by everybody, in order


VERSIONS = HONEST = ("cards",)


def view(env, state, player, version):
    return View(card=jnp.arange(NUM_CARDS) == state.deck[player], said=state.said[:, None] == jnp.arange(2))


def payment(env, before, action, after):
    return scores(env, after).astype(jnp.float32)  # nothing before the end


def illegal_penalty(env):
    return 2.0


def scores(env, state):
    """int8[seat], chips won. A bet that nobody called takes the ante, else the higher card does."""
    bets = (state.said == BET).sum()
    higher = jnp.where(state.deck[0] > state.deck[1], 0, 1)
    winner = jnp.where(bets == 1, state.current_player, higher)  # after a fold it would be the bettor's turn again
    chips = jnp.where(is_settled(state.said), jnp.where(bets == 2, 2, 1), 0)
    return jnp.where(jnp.arange(2) == winner, chips, -chips).astype(jnp.int8)


def winners(env, state):
    return scores(env, state) > 0


def determinize(env, key, state, player):
    """The two unseen cards, either way round, counted from the player's own: the true ones leave no trace."""
    mine, turn = state.deck[player], jax.random.bits(key, (), jnp.uint8) % 2
    other, aside = ((mine + step) % NUM_CARDS for step in (1 + turn, 2 - turn))
    cards = jnp.where(jnp.arange(2) == player, mine, other)
    return state.replace(deck=jnp.append(cards, aside).astype(jnp.int8))


def render(env, state, player=None):
    cards = [NAMES[int(state.deck[seat])] if player in (None, seat) else "?" for seat in range(2)]
    said = [action_name(env, state, int(action)) for action in state.said if action != NOT_YET]
    return f"Kuhn poker: {cards[0]} and {cards[1]}; {', '.join(said) or 'nothing said yet'}"


def action_name(env, state, action, viewer=None):
    return ("pass", "bet")[action]


def picture(env, state, player=None, moves=True):
    return text_picture(render(env, state, player))


@dataclasses.dataclass(frozen=True, eq=False)
class KuhnEnv(Env[State]):
    id: ClassVar[str] = "kuhn"
    version: ClassVar[int] = 1
    rooms: ClassVar[Rooms] = Rooms(*[sys.modules[__name__]] * len(Rooms._fields))
    num_actions: ClassVar[int] = 2  # type: ignore[misc]
    max_steps: ClassVar[int] = 3  # type: ignore[misc]

    num_players: int = 2

    def __post_init__(self):
        object.__setattr__(self, "num_players", check_int(self.id, "num_players", self.num_players, 2, 2))
