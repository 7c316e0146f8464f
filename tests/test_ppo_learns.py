"""Games are learned where their best play is known: the last choice of a game."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from agents import networks
from agents.networks import decide
from jaxgames import vector
from train import ppo
from train.settings import PPO

COUNT, GAMES = 8, 256  # positions of each game, and the random games that they come from
LONGEST = 64  # moves of random play before them, and forced moves behind them
LAST_CHOICES = {
    "skullking": ({"num_players": 2, "hand_sizes": (2,)}, None, {}),
    "schafkopf": ({}, "full", {}),
    "skyjo": ({"num_players": 2, "score_limit": 1, "action_mode": "macro"}, "flat", {}),
    "magictrick": ({}, "v4", {"reads_mask": True}),
}

# Hands of the seed deck for a mine whose gold lies two cells to the right of the start: few cards lead there.
HANDS = (
    [18, 39, 38, 22, 26, 31],
    [15, 19, 22, 26, 33, 36],
    [10, 16, 23, 27, 34, 37],
    [11, 15, 22, 28, 31, 38],
    [0, 32, 33, 34, 35, 36],
    [15, 16, 20, 26, 27, 39],
    [12, 22, 23, 24, 25, 31],
    [21, 26, 27, 28, 29, 32],
)


class Endgames:
    """A game that begins in one of a few positions."""

    max_steps = 2

    def __init__(self, env, states):
        self.env, self.states = env, states

    def __getattr__(self, name):
        return getattr(self.env, name)

    def init(self, key):
        chosen = jax.random.randint(key, (), 0, COUNT)
        return jax.tree.map(lambda leaf: leaf[chosen], self.states)


class OneMove(Endgames):
    """The same, over after one move whatever it was."""

    max_steps = 1

    def step(self, state, action):
        return self.env.step(state, action).replace(terminated=jnp.bool_(True))


def outcomes(env, state):
    """float32[action]: what the player to move gets in all if it chooses so and everything else is forced; -inf for
    what is not legal, nan where something was left to choose."""
    player = state.current_player

    def of_one(action):
        def forced(carry, _):
            state, paid, is_forced = carry
            legal = env.legal_action_mask(state)
            after = env.step(state, jnp.argmax(legal).astype(jnp.int32))
            return (after, paid + after.rewards[player], is_forced & (state.done | (legal.sum() == 1))), None

        after = env.step(state, action)
        (_, paid, is_forced), _ = jax.lax.scan(forced, (after, after.rewards[player], True), length=8)
        return jnp.where(is_forced, paid, jnp.nan)

    values = jax.vmap(of_one)(jnp.arange(env.num_actions))
    return jnp.where(env.legal_action_mask(state), values, -jnp.inf)


@functools.partial(jax.jit, static_argnums=0)
def last_choices(env, key):
    """(states, outcomes float32[game, action]) of the last position of random games in which there was a choice."""
    states = vector.reset(env, key, GAMES)

    def turn(carry, key):
        states, last = carry
        has_choice = (jax.vmap(env.legal_action_mask)(states).sum(-1) > 1) & ~states.done
        last = jax.vmap(jaxgames.pick)(has_choice, states, last)
        return (jax.vmap(env.step)(states, vector.random_actions(env, states, key)), last), None

    (_, last), _ = jax.lax.scan(turn, (states, states), jax.random.split(key, LONGEST))
    return last, jax.vmap(functools.partial(outcomes, env))(last)


@pytest.mark.parametrize("game", LAST_CHOICES)
def test_the_last_choice_of_a_game_is_learned_to_its_known_value(game):
    options, version, fields = LAST_CHOICES[game]
    env = jaxgames.make(game, **options)
    states, values = last_choices(env, jax.random.key(0))
    values = np.asarray(values)
    legal = values != -np.inf
    spread = np.where(legal, values, -np.inf).max(-1) - np.where(legal, values, np.inf).min(-1)
    good = np.flatnonzero(~np.isnan(np.where(legal, values, 0)).any(-1) & (spread > 0))[:COUNT]
    assert len(good) == COUNT
    values, scale = values[good], 1 / spread[good].mean()
    endgames = Endgames(env, jax.tree.map(lambda leaf: leaf[good], states))

    task = ppo.Task(networks.make("mlp", endgames, version, widths=(64,), **fields), reward_scale=float(scale))
    actions = learned(task, endgames.states, updates=60)
    best = values.max(-1)
    by_chance = np.where(legal[good], values, 0).sum(-1) / legal[good].sum(-1)
    achieved = values[np.arange(COUNT), actions]
    assert (best - achieved).mean() < 0.1 * (best - by_chance).mean()


def test_a_network_that_points_learns_which_moves_reach_the_gold():
    env = jaxgames.make("saboteur", variant="paths", num_players=1, goal_x=2, grid="seed")
    decks = [[*hand, *(i for i in range(env.num_cards) if i not in hand)] for hand in HANDS]
    deals = [{"rounds": [{"goals": [1, 0, 2], "deck": deck}]} for deck in decks]  # the gold lies in the middle
    first = [env.init(jax.random.key(0), deal=deal) for deal in deals]
    states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *first)
    task = ppo.Task(networks.make("pointer", OneMove(env, states), width=16), reward_scale=1 / env.final_reward_winner)
    actions = learned(task, states, updates=15)
    paid = jax.vmap(env.step)(states, jnp.asarray(actions)).rewards[:, 0]
    assert (paid == env.final_reward_winner).all()


def learned(task, states, updates):
    """int32[state]: what the learner chooses in these positions after so many updates."""
    cfg = PPO(
        total_steps=64 * 8 * updates,
        envs=64,
        steps=8,
        epochs=4,
        minibatches=4,
        learning_rate=1e-3,  # at thrice the rate a policy may be certain too early, and learns no more
        final_learning_rate=1e-3,
        gamma=1.0,
        past_selves=2,
    )

    @jax.jit
    def choices(key):
        training, _ = ppo.advance(cfg, task, ppo.start(cfg, task, key), cfg.updates)
        params = training.learner.params
        return jax.vmap(lambda state: decide(task.model, params, state, state.current_player, key, True).action)(states)

    return np.asarray(choices(jax.random.key(1)))
