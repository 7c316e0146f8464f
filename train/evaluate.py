"""How strong is an agent? One of it against others, whole games, every seat of the same deals.

    python train/evaluate.py ppo:runs/first --against rule:hard random --deals 500
    python train/evaluate.py ppo:runs/first --ability-baselines

Every figure has a standard error over deals. `--ability-baselines` keeps the agent's bids and card play and swaps only
its ability decisions: random ones, the `seed` heuristics, its own.
"""

import dataclasses
import functools
import pathlib
import sys
from collections.abc import Callable

import chex
import jax
import jax.numpy as jnp
import numpy as np
import tyro

import agents
import jaxgames
from agents.networks import Params
from agents.skullking import use_ability
from jaxgames import Env
from jaxgames.options import UserError, read_option
from jaxgames.skullking import SkullKingEnv
from jaxgames.skullking.cards import BIDDING, PLAYING
from jaxgames.skullking.state import State
from train.matches import Played, mean_and_error, play, play_batch
from train.protocols import Figures, Protocol, protocol_of

ABILITY_POLICIES = ("random", "seed", "learned")


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What to measure."""

    agent: tyro.conf.Positional[str]
    """the agent to measure: random, rule, rule:<level>,<abilities>, ppo:<run or checkpoint folder>"""
    against: tuple[str, ...] = ("rule:hard", "random")
    """the agents that take the other seats, one table line each"""
    game: str = "skullking"
    """the game"""
    num_players: int = 4
    """seats at the table"""
    option: tuple[str, ...] = ()
    """options of the game's rules page, each as name=value"""
    measure: str = ""
    """the protocol, by name (saboteur: rotations, sides, roles, together); without one, the game's first"""
    deals: int = 500
    """each is played with the agent in every seat"""
    seed: int = 0
    """of the deals"""
    ability_baselines: bool = False
    """Skull King: also swap the ability decisions"""
    out: str = ""
    """write the table to this Markdown file as well"""


def main() -> None:
    cfg = tyro.cli(Evaluation, description=__doc__)
    try:
        text = evaluate(cfg)
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    print(text)
    if cfg.out:
        pathlib.Path(cfg.out).write_text(text + "\n")


def evaluate(cfg: Evaluation) -> str:
    """The tables as Markdown."""
    if cfg.deals < 2:
        raise UserError(f"evaluate: deals must be at least 2 for a standard error, got {cfg.deals}")
    options = dict(read_option(text) for text in cfg.option)
    env = jaxgames.make(cfg.game, **{"num_players": cfg.num_players} | options)
    one = agents.make(cfg.agent, env)
    way = protocol_of(env, cfg.measure)
    lines = {rival: versus(env, one, agents.make(rival, env), cfg.seed, cfg.deals, way) for rival in cfg.against}
    text = table(f"one `{cfg.agent}` against", lines)
    if cfg.ability_baselines and isinstance(env, SkullKingEnv):
        rival = agents.make(cfg.against[0], env)
        swapped = {
            policy: versus(env, with_abilities(env, one, policy), rival, cfg.seed, cfg.deals)
            for policy in ABILITY_POLICIES
        }
        text += f"\n\nAgainst `{cfg.against[0]}`, same bids and card play:\n\n" + table("ability decisions", swapped)
    return text


def versus(
    env: Env, one: agents.Agent, rest: agents.Agent, seed: int, deals: int, protocol: Protocol | None = None
) -> Figures:
    """One agent against another, by a protocol of the game, without one by its first."""
    protocol = protocol or protocol_of(env)
    played = play(env, protocol.cast(one, rest), protocol.lineup, jax.random.key(seed), deals, watch=protocol.watch)
    return protocol.figures(env, played)


def make_match(
    env: Env,
    agent: Callable[[Params], agents.Agent],
    rivals: list[agents.Agent],
    batch: int,
    protocol: Protocol | None = None,
) -> Callable:
    """`match(params, rival, key, deals) -> Figures` of `agent(params)` against `rivals[rival]`.

    One compilation for each rival serves every stage of a training; `batch` deals are played at a time.
    """
    protocol = protocol or protocol_of(env)

    @functools.partial(jax.jit, static_argnums=1)
    def run(params, rival, deal_keys, act_key):
        cast = tuple(protocol.cast(agent(params), rivals[rival]))
        return play_batch(env, cast, protocol.watch, deal_keys, jnp.asarray(protocol.lineup), act_key)

    def match(params: Params, rival: int, key: chex.PRNGKey, deals: int) -> Figures:
        parts = []
        for part_key in jax.random.split(key, -(-deals // batch)):
            deal_key, act_key = jax.random.split(part_key)
            parts.append(jax.device_get(run(params, rival, jax.random.split(deal_key, batch), act_key)))
        states, returns, log = jax.tree.map(lambda *leaves: np.concatenate(leaves)[:deals], *parts)
        return protocol.figures(env, Played(states=states, returns=returns, lineup=protocol.lineup, log=log))

    return match


def with_abilities(env: SkullKingEnv, agent: agents.Agent, policy: str) -> agents.Agent:
    """The agent with its ability decisions made by another policy (SK-73), or by itself (`learned`)."""
    if policy == "learned":
        return agent

    def act(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        play_key, ability_key = jax.random.split(key)
        is_ordinary = (state.phase == BIDDING) | (state.phase == PLAYING)
        swapped = use_ability(env, ability_key, state, player, policy)
        return jnp.where(is_ordinary, agent(play_key, state, player), swapped)

    return act


def over_seeds(each: list[Figures]) -> Figures:
    """The mean of every figure over several trainings, and its standard error; of one, what it measured itself."""
    if len(each) == 1:
        return each[0]
    return {name: mean_and_error(np.array([found[name][0] for found in each])) for name in each[0]}


def table(title: str, lines: dict[str, Figures]) -> str:
    """Markdown: one line for each opponent, mean ± standard error."""
    names = list(next(iter(lines.values())))
    rows = [f"| {title} | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for label, found in lines.items():
        rows.append(f"| {label} | " + " | ".join(cell(name, *found[name]) for name in names) + " |")
    return "\n".join(rows)


def cell(name: str, mean: float, error: float) -> str:
    digits = 1 if name.endswith(("percent", "score")) else 3
    return "-" if np.isnan(mean) else f"{mean:.{digits}f} ± {error:.{digits}f}"


if __name__ == "__main__":
    main()
