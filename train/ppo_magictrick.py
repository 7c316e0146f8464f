"""Magic Trick by self-play: honest, or with perfect information for play on drawn worlds.

    python train/ppo_magictrick.py  # its length is not measured yet
    python train/ppo_magictrick.py --observation v5             # with the exact belief, which costs time
    python train/ppo_magictrick.py v1 --run runs/seeing         # reads hidden values: versions 1 to 3 of the document
    python train/evaluate.py worlds:runs/seeing,16 --game magictrick --against random

A network that reads v1 to v3 sees what no player may see. What its own run measures is play with perfect information;
as an agent it plays through `worlds`, on positions drawn from what its player knows.
"""

import dataclasses
import sys
from typing import Literal

import jaxgames
from agents import networks
from train import opponents, runs
from train.ppo import Task
from train.settings import RunConfig


@dataclasses.dataclass(frozen=True)
class Config(RunConfig):
    """Everything that can be set on the command line."""

    observation: Literal["v4", "v5", "v1", "v2", "v3"] = "v4"
    """v4 and v5 show public facts only; the legal mask follows on all of them (MT-44)"""
    reward: Literal["points", "v1", "v2"] = "points"
    """section 5 of the rules page"""
    num_hands: int = 1
    """of a game"""
    unit: float = 5.0
    """points that count as one"""
    widths: tuple[int, ...] = (256, 256)
    """layers of the encoder"""
    envs: int = 1024
    steps: int = 64
    gamma: float = 1.0


# The document's versions 1 to 3 are pairs of an observation and a reward.
PRESETS = {
    "v1": Config(observation="v1", reward="v1", final_entropy_weight=0.01),
    "v2": Config(observation="v2", reward="v2", final_entropy_weight=0.01),
    "v3": Config(observation="v3", reward="v2", final_entropy_weight=0.01),
}


def make_task(cfg: Config) -> Task:
    """Magic Trick as the learner sees it."""
    env = jaxgames.make("magictrick", reward=cfg.reward, num_hands=cfg.num_hands)
    model = networks.make("mlp", env, cfg.observation, widths=cfg.widths, reads_mask=True, dtype=cfg.precision)
    scale = 1 / cfg.unit if cfg.reward == "points" else 1.0
    return Task(model, opponents.parse(cfg.opponents), reward_scale=scale)


if __name__ == "__main__":
    sys.exit(runs.main(Config, make_task, __doc__, PRESETS))
