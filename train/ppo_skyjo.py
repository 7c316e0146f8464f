"""Skyjo by self-play, look-first or in macro actions, for two to eight players.

    python train/ppo_skyjo.py  # 10 million decisions: about five minutes on two cores, by its speed on one
    python train/ppo_skyjo.py --network transformer --run runs/tokens --total-steps 100000000
    python train/ppo_skyjo.py macro --num-players 4 --rivals macro_greedy random
    python train/ppo_skyjo.py --resume runs/tokens

Rewards are the points of each round, which everybody wants to be few; what is measured is who wins. `hints` pays at
once for what a turn did to the own board, and takes it back when the round is counted.
"""

import dataclasses
import sys
from collections.abc import Callable
from typing import Literal

import chex
import jax.numpy as jnp

import jaxgames
from agents import networks
from jaxgames.skyjo.cards import VALUES, Slot
from jaxgames.skyjo.state import State
from train import opponents, runs, seeing
from train.ppo import Task
from train.settings import RunConfig


@dataclasses.dataclass(frozen=True)
class Config(RunConfig):
    """Everything that can be set on the command line."""

    num_players: int = 2
    """seats at the table"""
    action_mode: Literal["decision", "macro"] = "decision"
    """look at a drawn card first, or name a whole turn"""
    reward_mode: Literal["round_score", "win_loss", "score_margin"] = "round_score"
    """section 8 of the rules page"""
    unit: float = 30.0
    """points that count as one; wins and margins are counted as they are"""
    hints: float = 1.0
    """share of the points on a board, hidden cards at their mean, that is paid as they change; wants gamma = 1"""
    by_round: bool = True
    """judge a decision by the points of its own round alone (reward_mode round_score)"""
    network: Literal["mlp", "transformer"] = "mlp"
    """mlp on `flat`, or a transformer on `tokens`, whose weights fit any number of players"""
    widths: tuple[int, ...] = (256, 256)
    """layers of the mlp"""
    width: int = 64
    """of the transformer's tokens"""
    history: int = 8
    """public records that the transformer reads"""
    total_steps: int = 10_000_000
    gamma: float = 1.0
    lam: float = 0.9
    rivals: tuple[str, ...] = ("ev_greedy", "greedy_value_replacement", "random")
    """agents that the result is measured against"""


PRESETS = {"macro": Config(action_mode="macro", rivals=("macro_greedy", "random"))}


def make_task(cfg: Config) -> Task:
    """Skyjo as the learner sees it."""
    env = jaxgames.make(
        "skyjo",
        num_players=cfg.num_players,
        action_mode=cfg.action_mode,
        reward_mode=cfg.reward_mode,
        history_window_k=cfg.history if cfg.network == "transformer" else 0,
    )
    if cfg.network == "transformer":
        model = networks.make("transformer", env, width=cfg.width, dtype=cfg.precision)
    else:
        model = networks.make("mlp", env, "flat", widths=cfg.widths, dtype=cfg.precision)
    scale = 1 / cfg.unit if cfg.reward_mode == "round_score" else 1.0
    return Task(
        seeing.with_critic(model, cfg.critic),
        opponents.parse(cfg.opponents),
        potential=few_points(cfg.hints / cfg.unit) if cfg.hints else None,
        rounds=(lambda state: state.round_index) if cfg.by_round and cfg.reward_mode == "round_score" else None,
        reward_scale=scale,
    )


def few_points(weight: float) -> Callable[[State], chex.Array]:
    """float32[seat] of a state: minus the points that each board is expected to count."""

    def potential(state: State) -> chex.Array:
        shown = jnp.where(state.status == Slot.FACE_UP, state.cards, 0).sum(-1)
        hidden = (state.status == Slot.HIDDEN).sum(-1)
        return -weight * (shown + float(VALUES.mean()) * hidden)

    return potential


if __name__ == "__main__":
    sys.exit(runs.main(Config, make_task, __doc__, PRESETS))
