"""Random legal play of other libraries' games: what ours stand beside, measured in the same run."""

import functools
import multiprocessing
import random
import time
from typing import TYPE_CHECKING, Any

import chex
import jax
import jax.numpy as jnp

from jaxgames.cards import choose
from jaxgames.vector import num_cores

if TYPE_CHECKING:
    import pgx

OPEN_SPIEL = ("oh_hell", "skat", "hearts", "spades")
PGX = {"sparrow_mahjong": 40, "leduc_holdem": 4, "backgammon": 200}  # name: steps of a usual game


def open_spiel(name: str, seconds: float) -> dict[str, Any]:
    """OpenSpiel's uniformly random play, one process a core: decisions a second in all, chance moves not counted.

    Twice: driven from Python, as its users step a game, and inside its own C++ loop, where no caller sees a state.
    """
    cores = num_cores()
    jobs = [(name, seconds, seed) for seed in range(cores)]
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        from_python = sum(pool.starmap(_from_python, jobs))
        in_cpp = sum(pool.starmap(_in_cpp, jobs))
    return {
        "name": name,
        "library": "OpenSpiel",
        "processes": cores,
        "decisions_per_second": from_python,
        "decisions_per_second_in_cpp": in_cpp,
    }


def _from_python(name: str, seconds: float, seed: int) -> float:
    """Best decisions a second over chunks of games stepped from Python."""
    import pyspiel

    game, rng = pyspiel.load_game(name), random.Random(seed)
    best, begin = 0.0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        decisions, start = 0, time.perf_counter()
        for _ in range(50):
            state = game.new_initial_state()
            while not state.is_terminal():
                decisions += not state.is_chance_node()
                state.apply_action(rng.choice(state.legal_actions()))  # chance is uniform in these games
        best = max(best, decisions / (time.perf_counter() - start))
    return best


def _in_cpp(name: str, seconds: float, seed: int) -> float:
    """Best decisions a second of OpenSpiel's own random bots and game loop."""
    import pyspiel

    game = pyspiel.load_game(name)
    bots = [pyspiel.make_uniform_random_bot(player, seed) for player in range(game.num_players())]
    best, begin, number = 0.0, time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        states, start = [game.new_initial_state() for _ in range(200)], time.perf_counter()
        for state in states:
            number += 1
            pyspiel.evaluate_bots(state, bots, seed * 1_000_003 + number)
        elapsed = time.perf_counter() - start
        decisions = sum(move.player >= 0 for state in states for move in state.full_history())
        best = max(best, decisions / elapsed)
    return best


@chex.dataclass(frozen=True)
class PgxState:
    """A state of pgx with its own chance, as `vector` wants states."""

    game: "pgx.State"
    key: chex.PRNGKey

    @property
    def done(self) -> chex.Array:
        return self.game.terminated | self.game.truncated

    @property
    def rewards(self) -> chex.Array:
        return self.game.rewards


class PgxGame:
    """A game of pgx under the harness of ours: the same choice of actions, the same restarts."""

    def __init__(self, name: str):
        import pgx

        self.game, self.usual_steps, self.max_steps = pgx.make(name), PGX[name], PGX[name]  # type: ignore[arg-type]

    def init(self, key: chex.PRNGKey) -> PgxState:
        key, deal_key = jax.random.split(key)
        return PgxState(game=self.game.init(deal_key), key=key)  # type: ignore[call-arg]

    def step(self, state: PgxState, action: chex.Array) -> PgxState:
        key, step_key = jax.random.split(state.key)
        return PgxState(game=self.game.step(state.game, action, step_key), key=key)  # type: ignore[call-arg]

    def random_action(self, state: PgxState, word: chex.Array) -> chex.Array:
        return choose(jnp.asarray(state.game.legal_action_mask), word)


make_pgx = functools.cache(PgxGame)  # one object a game: it is a static argument
