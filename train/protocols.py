"""How the strength of an agent is measured in each game: who sits where, what is counted, which figure speaks first."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

import agents
from jaxgames import Env
from jaxgames.skullking import metrics
from train.matches import Played, Watch, mean_and_error, rotations, shared_wins

Figures = dict[str, tuple[float, float]]  # name: mean and standard error


class Protocol(NamedTuple):
    """A way to measure one agent against the rest."""

    headline: str  # the figure that progress bars and curves show
    fair: float  # its value among equals
    lineup: np.ndarray  # int[rotation, seat], indices into what `cast` returns
    figures: Callable[[Env, Played], Figures]
    watch: Watch | None = None  # what is counted along a game
    cast: Callable[[agents.Agent, agents.Agent], Sequence[agents.Agent]] = lambda one, rest: (one, rest)


def protocol_of(env: Env) -> Protocol:
    """The protocol of the game's rules page; where it has none, one against the rest in every seat."""
    return PROTOCOLS.get(env.id, one_against_the_rest)(env)


def one_against_the_rest(env: Env) -> Protocol:
    """Wins with ties split, and scores."""
    return Protocol(
        "wins_percent", 100 / env.num_players, rotations([0] + [1] * (env.num_players - 1)), wins_and_scores
    )


def wins_and_scores(env: Env, played: Played) -> Figures:
    scores = np.asarray(jax.vmap(jax.vmap(env.scores))(played.states), np.float64)
    winners = np.asarray(jax.vmap(jax.vmap(env.winners))(played.states))
    return {
        "wins_percent": mean_and_error(100 * of_agent(played, 0, shared_wins(winners))),
        "score": mean_and_error(of_agent(played, 0, scores)),
        "others_score": mean_and_error(of_agent(played, 1, scores)),
    }


def of_agent(played: Played, agent: int, by_seat: np.ndarray) -> np.ndarray:
    """float[deal]: the mean over all seats of all rotations in which this agent sat."""
    sits = played.lineup == agent  # [rotation, seat]
    return np.where(sits, by_seat, 0).sum((1, 2)) / sits.sum()


def skull_king(env: Any) -> Protocol:
    """Section 14, with exact bids and the use of abilities (section 13)."""

    def count(log, before, action, after):
        exact, counts = log
        _, events = env.step_with_events(before, action)
        exact += (events.won == events.final_bids) & events.round_done
        return exact, metrics.update(env, counts, before, action)

    def figures(env, played):
        exact, counts = played.log
        own = jax.tree.map(lambda count: np.where(played.lineup == 0, count, 0), counts)
        return {
            **wins_and_scores(env, played),
            "exact_bids_percent": mean_and_error(100 * of_agent(played, 0, exact) / len(env.hand_sizes)),
            **metrics.rates_with_errors(own),
        }

    watch = (np.zeros(env.num_players, np.int32), metrics.start(env)), count
    return one_against_the_rest(env)._replace(figures=figures, watch=watch)


PROTOCOLS = {"skullking": skull_king}
