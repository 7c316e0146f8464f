"""Magic Trick by self-play: honest, or with perfect information for play on drawn worlds.

    python train/ppo_magictrick.py  # 8 million decisions, a few minutes on two cores
    python train/ppo_magictrick.py --observation v5             # with the exact belief, which costs time
    python train/ppo_magictrick.py v1 --run runs/seeing         # reads hidden values: versions 1 to 3 of the document
    python train/evaluate.py worlds:runs/seeing,16 --game magictrick --against random

A network that reads v1 to v3 sees what no player may see. What its own run measures is play with perfect information;
as an agent it plays through `worlds`, on positions drawn from what its player knows.
"""

import dataclasses
import sys
from typing import Any, Literal

import chex
import jax.numpy as jnp

import jaxgames
from agents import networks
from agents.networks.mlp import FlatModel
from agents.networks.model import Params
from agents.networks.suits_magictrick import SuitModel
from jaxgames.magictrick.cards import PASS
from jaxgames.magictrick.state import State
from train import opponents, runs, seeing
from train.ppo import Task
from train.settings import RunConfig


@dataclasses.dataclass(frozen=True)
class Config(RunConfig):
    """Everything that can be set on the command line."""

    observation: Literal["v4", "v5", "v1", "v2", "v3"] = "v4"
    """v4 and v5 show public facts only; the legal mask follows on all of them (MT-44)"""
    network: Literal["mlp", "suits"] = "mlp"
    """suits reads v4 with suits by the part they play, and which slots are revealed"""
    reward: Literal["points", "v1", "v2"] = "points"
    """section 5 of the rules page"""
    num_hands: int = 1
    """of a game"""
    unit: float = 5.0
    """points that count as one"""
    patience: float = 8.0
    """what is added to the logit of a pass at the start, also of a player to start from. Who plays badly gains nothing
    by waiting, bids at once, and never learns what waiting is worth; with 8 hardly anybody bids before the last card"""
    late_bids: bool = False
    """while it trains, only the last card is bid: who waits keeps every choice, and passes are half of all decisions"""
    widths: tuple[int, ...] = (256, 256)
    """layers of the encoder"""
    total_steps: int = 8_000_000
    envs: int = 1024
    steps: int = 64
    gamma: float = 1.0
    lam: float = 0.85
    entropy_weight: float = 0.003
    final_entropy_weight: float = 0.0005
    critic: int = 256
    """units of a critic that sees all values while it trains, which decide most of what a hand brings; 0 for none"""
    opponents: tuple[str, ...] = ("self=0.7", "random=0.3")
    """who sits at the other seats in training, as kind=share: self, past, random, rule, ppo:<folder> ..."""


# The document's versions 1 to 3 are pairs of an observation and a reward.
SEEING: dict[str, Any] = {"patience": 0.0, "critic": 0, "entropy_weight": 0.01, "final_entropy_weight": 0.01}
PRESETS = {
    "v1": Config(observation="v1", reward="v1", **SEEING),
    "v2": Config(observation="v2", reward="v2", **SEEING),
    "v3": Config(observation="v3", reward="v2", **SEEING),
}


def make_task(cfg: Config) -> Task:
    """Magic Trick as the learner sees it."""
    env = jaxgames.make("magictrick", reward=cfg.reward, num_hands=cfg.num_hands)
    made = networks.make(cfg.network, env, cfg.observation, widths=cfg.widths, reads_mask=True, dtype=cfg.precision)
    patient = PatientSuitModel if cfg.network == "suits" else PatientModel
    shape = pass_while_possible if cfg.late_bids else None
    model = patient(env, made.network, made.version, shape=shape, patience=cfg.patience)
    scale = 1 / cfg.unit if cfg.reward == "points" else 1.0
    return Task(seeing.with_critic(model, cfg.critic), opponents.parse(cfg.opponents), reward_scale=scale)


def pass_while_possible(state: State, legal: chex.Array) -> chex.Array:
    """The legal actions without bids where there is a pass."""
    del state
    return jnp.where(legal[PASS], jnp.arange(legal.size) == PASS, legal)


@dataclasses.dataclass(frozen=True)
class PatientModel(FlatModel[State]):
    """A network that passes more readily than its parameters say when a training begins with them."""

    patience: float = 0.0

    def init(self, key: chex.PRNGKey) -> Params:
        params = super().init(key)
        return self.put_player(params, params)

    def put_player(self, params: Params, given: Params) -> Params:
        player = super().put_player(params, given)["params"]
        outputs = player["outputs"]
        bias = jnp.asarray(outputs["bias"]).at[PASS].add(self.patience)
        return {"params": player | {"outputs": outputs | {"bias": bias}}}


class PatientSuitModel(PatientModel, SuitModel):
    """The same for a network that reads suits by their part."""


if __name__ == "__main__":
    sys.exit(runs.main(Config, make_task, __doc__, PRESETS))
