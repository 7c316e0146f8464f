"""Saboteur by self-play: the path-laying variant, or the full game with miners and saboteurs.

    python train/ppo_saboteur.py  # 2 million decisions: about five minutes on two cores, by its speed on one
    python train/ppo_saboteur.py --network hybrid               # the three-headed policy of the design document
    python train/ppo_saboteur.py full --run runs/roles --total-steps 50000000 --nearer-goals 3 5
    python train/ppo_saboteur.py --resume runs/roles

The way to the gold is long for who lays cards at random. `hints` pays for every step nearer to it (saboteurs: further
away) and takes that back at the end; `nearer_goals` shortens the way at first: no weight depends on the board.
"""

import dataclasses
import sys
from collections.abc import Callable
from typing import Literal

import chex
import jax.numpy as jnp

import jaxgames
from agents import networks
from jaxgames.saboteur import SaboteurEnv
from jaxgames.saboteur.cards import GOLD
from jaxgames.saboteur.cells import FAR, goal_distances
from jaxgames.saboteur.mine import frontier
from jaxgames.saboteur.state import State
from train import opponents, runs, seeing
from train.folders import new_name
from train.opponents import Sides
from train.ppo import Task
from train.settings import RunConfig


@dataclasses.dataclass(frozen=True)
class Config(RunConfig):
    """Everything that can be set on the command line."""

    variant: Literal["paths", "full"] = "paths"
    """paths, or the published card game"""
    num_players: int = 2
    """seats at the table"""
    goal_x: int = 8
    """column of the goals: 8 in the game"""
    nearer_goals: tuple[int, ...] = ()
    """a curriculum: other columns in runs before this one, each of which starts from the one before"""
    nearer_steps: int = 1_000_000
    """decisions of each of these runs"""
    rounds: int = 1
    """of a full game"""
    role: Literal["any", "miners", "saboteurs"] = "any"
    """of a full game: the side that the learner takes against others than itself; any for the one that is dealt"""
    reward: Literal["seed", "team", "gold", "win"] = "seed"
    """section 10 of the rules page: seed in paths, the others in the full game"""
    dist_reward_scale: float = 0.0
    """paths: reward for coming nearer to a goal (SB-43)"""
    hints: float = 1.0
    """what the way from the start to the gold is worth, in wins"""
    network: Literal["pointer", "hybrid"] = "pointer"
    """points at legal cells, or wishes for a card, a point and an orientation (paths)"""
    width: int = 64
    """of the pointer's layers"""
    widths: tuple[int, ...] = (256, 128)
    """layers of the hybrid policy"""
    deviation: float = 1.0
    """of the hybrid policy's point, in cells"""
    total_steps: int = 2_000_000
    envs: int = 256
    steps: int = 64
    gamma: float = 1.0
    rivals: tuple[str, ...] = ("rule", "random")
    """agents that the result is measured against"""


PRESETS = {"full": Config(variant="full", num_players=5, reward="team")}


def make_task(cfg: Config) -> Task:
    """Saboteur as the learner sees it."""
    is_full = cfg.variant == "full"
    options = {"rounds": cfg.rounds} if is_full else {"dist_reward_scale": cfg.dist_reward_scale}
    env = jaxgames.make(
        "saboteur", variant=cfg.variant, num_players=cfg.num_players, goal_x=cfg.goal_x, reward=cfg.reward, **options
    )
    if cfg.network == "hybrid":
        model = networks.make("hybrid", env, widths=cfg.widths, deviation=cfg.deviation, dtype=cfg.precision)
    else:
        model = networks.make("pointer", env, width=cfg.width, dtype=cfg.precision)
    scale = 1.0 if is_full else 0.1
    return Task(
        seeing.with_critic(model, cfg.critic),
        opponents.parse(cfg.opponents),
        potential=nearness_to_gold(env, cfg.hints) if cfg.hints else None,
        sides=roles_of(env, cfg.role) if is_full else None,
        reward_scale=scale,
        measure="roles" if is_full else "together",
    )


def roles_of(env: SaboteurEnv, role: str = "any") -> Sides:
    """Miners and saboteurs, as section 17 measures them: all of one role against all of the other."""
    cards, traitors, seats = env.num_roles, env.num_saboteurs, env.num_players

    def sides(state: State) -> chex.Array:
        return state.roles[state.round, :seats].astype(jnp.int32)

    if role != "any":
        share = traitors / cards
        return Sides(sides, share if role == "saboteurs" else 1 - share, int(role == "saboteurs"))
    pairs = traitors * (traitors - 1) + (cards - traitors) * (cards - traitors - 1)  # of role cards that are alike
    return Sides(sides, (1 + (seats - 1) * pairs / (cards * (cards - 1))) / seats)


def nearness_to_gold(env: SaboteurEnv, weight: float) -> Callable[[State], chex.Array]:
    """float32[seat] of a state: miners want the mine near the gold, saboteurs want it far away."""

    def potential(state: State) -> chex.Array:
        is_gold = state.goals[state.round] == GOLD
        distance = jnp.where(is_gold, goal_distances(env.cells, frontier(env.cells, state)), FAR).min()
        away = weight * jnp.minimum(distance / env.goal_x, 2.0)  # a mine that cannot grow is as bad as a long way
        return jnp.where(state.roles[state.round, : env.num_players], away, -away).astype(jnp.float32)

    return potential


def stages(cfg: Config) -> list[Config]:
    """The runs of a curriculum, the one with the nearest goals first."""
    if not cfg.nearer_goals:
        return [cfg]
    name, start, planned = cfg.run or new_name("saboteur"), cfg.start_from, []
    for goal_x in cfg.nearer_goals:
        run = f"{name}-goal_x{goal_x}"
        planned.append(
            dataclasses.replace(
                cfg, nearer_goals=(), goal_x=goal_x, total_steps=cfg.nearer_steps, run=run, start_from=start
            )
        )
        start = run
    return [*planned, dataclasses.replace(cfg, nearer_goals=(), run=name, start_from=start)]


if __name__ == "__main__":
    sys.exit(runs.main(Config, make_task, __doc__, PRESETS, stages))
