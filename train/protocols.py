"""How the strength of an agent is measured in each game: who sits where, what is counted, which figure speaks first.

A figure is a ratio of two sums over deals, so that shares, means and rates of rare events have one form and one error.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

import agents
from agents.basic import Either
from jaxgames import Env
from jaxgames.magictrick.cards import BID, PASS
from jaxgames.magictrick.env import MagicTrickEnv
from jaxgames.magictrick.rules import hidden_slots
from jaxgames.saboteur import SaboteurEnv
from jaxgames.saboteur.state import MINERS, UNDECIDED
from jaxgames.schafkopf import SchafkopfEnv
from jaxgames.skullking import SkullKingEnv, metrics
from jaxgames.skyjo import SkyjoEnv
from train.matches import Played, Watch, rotations, shared_wins

Figures = dict[str, tuple[float, float]]  # name: mean and standard error


class Counts(NamedTuple):
    """One figure of some deals: the sum of the parts over the sum of the wholes."""

    part: chex.Array  # float32[deal]
    whole: chex.Array  # float32[deal]


def one_and_the_rest(one: agents.Agent, rest: agents.Agent) -> Sequence[agents.Agent]:
    """A lineup as it reads: 0 is one agent, 1 the other."""
    return one, rest


class Protocol(NamedTuple):
    """A way to measure one agent against another, which takes the rest of the table or the other side."""

    headline: str  # the figure that tables, progress bars and curves show
    fair: float  # its value among equals; nan where the sides are not equal
    lineup: np.ndarray  # int[rotation, seat], indices into what `cast` returns
    measure: Callable[[Env, Played], dict[str, Counts]]  # what agent 0 of the lineup achieved; can be jitted
    watch: Watch | None = None  # what is counted along a game
    cast: Callable[[agents.Agent, agents.Agent], Sequence[agents.Agent]] = one_and_the_rest
    rating: tuple[str, float] | None = None  # the figure, in percent, that ratings explain, and its value among equals
    also: tuple[str, ...] = ()  # figures that a card shows beside the headline

    def figures(self, env: Env, played: Played) -> Figures:
        """What agent 0 of the lineup achieved, with standard errors over deals."""
        return {name: ratio_and_error(moments(counts)) for name, counts in self.measure(env, played).items()}

    @property
    def is_symmetric(self) -> bool:
        """Would the table be the same with the two agents exchanged?"""
        exchanged = {tuple(row) for row in (1 - self.lineup).tolist()}
        return exchanged == {tuple(row) for row in self.lineup.tolist()}


def protocol_of(env: Env, name: str = "") -> Protocol:
    """The protocol of the game's rules page: one against the rest in every seat, where it says nothing else."""
    known = PROTOCOLS.get(env.id, {"rotations": one_against_the_rest})
    if name and name not in known:
        raise agents.UserError(f"protocols: {env.id} has {', '.join(known)}, got {name!r}")
    return known[name or next(iter(known))](env)


# -- figures ----------------------------------------------------------------------------------------------------------

NUM_MOMENTS = 6
Moments = tuple[float, ...]  # deals, then the sums of p, w, p^2, p w, w^2 over them; moments of parts add up


def moments(counts: Counts) -> Moments:
    """All that a ratio and its error need to know about some deals."""
    part, whole = (np.asarray(each, np.float64) for each in counts)
    return (float(len(part)), *(float(x.sum()) for x in (part, whole, part**2, part * whole, whole**2)))


def ratio_and_error(found: Moments) -> tuple[float, float]:
    """Sum of parts over sum of wholes, and its standard error over deals: that of the mean residual part - r whole."""
    deals, part, whole, part2, both, whole2 = found
    if whole == 0:
        return float("nan"), float("nan")
    ratio = part / whole
    residual = max(part2 - 2 * ratio * both + ratio**2 * whole2, 0.0)
    return ratio, float(np.sqrt(residual * deals / max(deals - 1, 1)) / whole)


def of_agent(played: Played, agent: int, by_seat: chex.Array) -> Counts:
    """Over all seats of all rotations in which this agent sat, of a value by seat [deal, rotation, seat]."""
    sits = played.lineup == agent  # [rotation, seat]
    return Counts(
        jnp.where(sits, by_seat, 0).sum((1, 2), dtype=jnp.float32),
        jnp.full(len(by_seat), sits.sum(), jnp.float32),
    )


def of_table(by_game: chex.Array) -> Counts:
    """Over all rotations, of a value by game [deal, rotation]."""
    return Counts(by_game.sum(1, dtype=jnp.float32), jnp.full(len(by_game), by_game.shape[1], jnp.float32))


def wins_and_scores(env: Env, played: Played) -> dict[str, Counts]:
    """What every game has."""
    scores = jax.vmap(jax.vmap(env.scores))(played.states).astype(jnp.float32)
    winners = jax.vmap(jax.vmap(env.winners))(played.states)
    return {
        "wins_percent": of_agent(played, 0, 100 * shared_wins(winners)),
        "score": of_agent(played, 0, scores),
        "others_score": of_agent(played, 1, scores),
    }


# -- games ------------------------------------------------------------------------------------------------------------


def one_against_the_rest(env: Env) -> Protocol:
    """One agent in every seat of the same deals, another in all others; ties split the win."""
    fair = 100 / env.num_players
    lineup = rotations([0] + [1] * (env.num_players - 1))
    return Protocol("wins_percent", fair, lineup, wins_and_scores, rating=("wins_percent", fair))


def skull_king(env: SkullKingEnv) -> Protocol:
    """Section 14, with exact bids and the use of abilities (section 13)."""

    def count(log, before, action, after):
        exact, counts = log
        _, events = env.step_with_events(before, action)
        exact += (events.won == events.final_bids) & events.round_done
        return exact, metrics.update(env, counts, before, action)

    def measure(env, played):
        exact, counts = played.log
        figures = wins_and_scores(env, played)
        figures["exact_bids_percent"] = of_agent(played, 0, 100 * exact / len(env.hand_sizes))
        own = played.lineup == 0
        for name, (part, whole, unit) in metrics.RATIOS.items():
            parts, wholes = (
                jnp.where(own, getattr(counts, field), 0).sum((1, 2), dtype=jnp.float32) for field in (part, whole)
            )
            figures[name] = Counts(unit * parts, wholes)
        return figures

    watch = (np.zeros(env.num_players, np.int32), metrics.start(env)), count
    return one_against_the_rest(env)._replace(measure=measure, watch=watch)


def skyjo(env: SkyjoEnv) -> Protocol:
    """Section 15, with the points of a round."""

    def measure(env, played):
        figures = wins_and_scores(env, played)
        rounds = jnp.broadcast_to(played.states.round_index[..., None], played.returns.shape)
        points_a_round = Counts(figures["score"].part, of_agent(played, 0, rounds).part)
        return figures | {"points_a_round": points_a_round}

    return one_against_the_rest(env)._replace(measure=measure)


def saboteur(env: SaboteurEnv) -> Protocol:
    """Section 17: seats rotate, roles fall as they are dealt."""

    def measure(env, played):
        return wins_and_scores(env, played) | gold_and_steps(env, played)

    return one_against_the_rest(env)._replace(measure=measure)


def saboteur_sides(env: SaboteurEnv) -> Protocol:
    """Section 17: one agent plays the miners, the other the saboteurs, whoever they are."""
    if env.variant != "full":
        raise agents.UserError(f"protocols: sides of saboteur need roles; the variant {env.variant!r} has none")

    def is_saboteur(state, player):
        return state.roles[state.round, player]

    def cast(miner, digger_of_traps):
        return (Either(is_saboteur, miner, digger_of_traps),)

    return Protocol("gold_found_percent", float("nan"), np.zeros((1, env.num_players), int), gold_and_steps, cast=cast)


def saboteur_roles(env: SaboteurEnv) -> Protocol:
    """Section 17: one agent plays all miners against another's saboteurs, then all saboteurs against its miners."""
    if env.variant != "full":
        raise agents.UserError(f"protocols: roles of saboteur are in the full game, not in {env.variant!r}")

    def cast(one, rest):
        return tuple(saboteur_sides(env).cast(*sides)[0] for sides in ((one, rest), (rest, one)))

    def measure(env, played):
        found = (played.states.winners == MINERS).mean(-1)  # [deal, rotation]: by the miners of one of the two
        is_own = played.lineup[:, 0] == 0
        dug, failed = jnp.where(is_own, found, 0).sum(-1), jnp.where(is_own, 0, 1 - found).sum(-1)
        return {
            "wins_percent": Counts(50 * (dug + failed), jnp.ones(len(found))),
            "as_miners_percent": Counts(100 * dug, jnp.ones(len(found))),
            "as_saboteurs_percent": Counts(100 * failed, jnp.ones(len(found))),
        }

    lineup = np.repeat([[0], [1]], env.num_players, axis=1)
    sides = ("as_miners_percent", "as_saboteurs_percent")
    return Protocol("wins_percent", 50.0, lineup, measure, cast=cast, also=sides)


def saboteur_together(env: SaboteurEnv) -> Protocol:
    """Section 17: the agent in every seat. What is measured is whether it reaches the gold; nobody plays against it."""
    lineup = np.zeros((1, env.num_players), int)
    return Protocol("gold_found_percent", float("nan"), lineup, gold_and_steps, cast=lambda one, rest: (one,))


def gold_and_steps(env: Env, played: Played) -> dict[str, Counts]:
    """How many rounds end with the gold, and how long a game takes."""
    assert isinstance(env, SaboteurEnv)
    if env.variant == "full":
        won = played.states.winners  # [deal, rotation, round]
        found = Counts(
            100 * (won == MINERS).sum((1, 2), dtype=jnp.float32), (won != UNDECIDED).sum((1, 2), dtype=jnp.float32)
        )
    else:
        found = of_table(100 * jax.vmap(jax.vmap(env.found_gold))(played.states))
    return {"gold_found_percent": found, "moves": of_table(played.states.step_count)}


def schafkopf(env: SchafkopfEnv) -> Protocol:
    """Section 15: two against two, then with the sides exchanged; cents a game and seat."""

    def measure(env, played):
        cents = of_agent(played, 0, played.returns)
        won = 100 * (cents.part > 0) + 50 * (cents.part == 0)  # what one side wins the other pays
        return {"cents": cents, "deals_won_percent": Counts(won.astype(jnp.float32), jnp.ones_like(cents.part))}

    lineup = np.array([[0, 0, 1, 1], [1, 1, 0, 0]])
    return Protocol("cents", 0.0, lineup, measure, rating=("deals_won_percent", 50.0))


def schafkopf_rotations(env: SchafkopfEnv) -> Protocol:
    """One against three of the other, in every seat: what somebody wins who sits down at their table."""

    def measure(env, played):
        return {"cents": of_agent(played, 0, played.returns)}

    return Protocol("cents", 0.0, rotations([0, 1, 1, 1]), measure)


def magic_trick(env: MagicTrickEnv) -> Protocol:
    """Section 11: points a game, and what they are made of."""

    def hidden_at_bid(hidden, before, action, after):
        is_bid = (action >= BID) & (action < PASS) & ~before.done
        mine = jnp.arange(env.num_players) == before.current_player
        return jnp.where(mine & is_bid, hidden_slots(before, before.current_player).sum(), hidden)

    def measure(env, played):
        states, figures = played.states, wins_and_scores(env, played)
        best = states.scores == states.scores.max(-1, keepdims=True)
        is_sole = best & (best.sum(-1, keepdims=True) == 1)
        return {
            "points": figures["score"],
            "others_points": figures["others_score"],
            "wins_percent": figures["wins_percent"],
            "bid_made_percent": of_agent(played, 0, 100 * (states.bid == states.tricks)),
            "prestige_percent": of_agent(played, 0, 100 * states.prestige),
            "highest_percent": of_agent(played, 0, 100 * best),
            "sole_highest_percent": of_agent(played, 0, 100 * is_sole),
            "hidden_at_bid": of_agent(played, 0, played.log),
        }

    watch = np.zeros(env.num_players, np.int32), hidden_at_bid
    return one_against_the_rest(env)._replace(headline="points", fair=float("nan"), measure=measure, watch=watch)


# The first is the default.
PROTOCOLS: dict[str, dict[str, Callable[..., Protocol]]] = {
    "skullking": {"rotations": skull_king},
    "skyjo": {"rotations": skyjo},
    "saboteur": {
        "rotations": saboteur,
        "sides": saboteur_sides,
        "roles": saboteur_roles,
        "together": saboteur_together,
    },
    "schafkopf": {"sides": schafkopf, "rotations": schafkopf_rotations},
    "magictrick": {"rotations": magic_trick},
}
