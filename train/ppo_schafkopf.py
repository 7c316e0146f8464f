"""Schafkopf by self-play, from the first bid to cents a game against the rule-based player.

    python train/ppo_schafkopf.py  # 16 million decisions: about five minutes on two cores, by its speed on one
    python train/ppo_schafkopf.py --network lstm --run runs/lstm --total-steps 200000000
    python train/ppo_schafkopf.py linear                        # the published settings (SC-60), which need a GPU
    python train/ppo_schafkopf.py --resume runs/lstm

Four seats share one policy. The published learner divides returns by their deviation in each batch; here cents are
divided by `unit`, which is about that deviation.
"""

import dataclasses
import sys
from typing import Any, Literal

import jax.numpy as jnp

import jaxgames
from agents import networks
from agents.schafkopf import shaped_mask
from train import opponents, runs, seeing
from train.auxiliary_schafkopf import Auxiliary
from train.opponents import Sides
from train.ppo import Task
from train.settings import RunConfig


@dataclasses.dataclass(frozen=True)
class Config(RunConfig):
    """Everything that can be set on the command line."""

    network: Literal["suits", "mlp", "linear", "lstm"] = "suits"
    """suits and mlp on `full`, with suits by the part they play or by name; linear on `linear342` and lstm on `lstm55`,
    both with layers of their own before each head"""
    widths: tuple[int, ...] = (256, 256)
    """layers of suits, mlp and linear"""
    lstm_width: int = 64
    """of every layer of lstm"""
    contra: bool = True
    """with contra and retour"""
    shaping: bool = False
    """SC-57: while it trains, a hand made for Solo or Wenz must bid it"""
    unit: float = 50.0
    """cents that count as one"""
    envs: int = 1024
    steps: int = 64
    gamma: float = 1.0
    lam: float = 0.8
    critic: int = 128
    """units of a critic that sees all hands while it trains, so that little is left to chance; 0 for none"""


# SC-60. A game has about 43 decisions: an update of 100,000 games is 4.4 million of them, a batch 0.55 million.
PUBLISHED: dict[str, Any] = {
    "epochs": 16,
    "steps": 44,
    "gamma": 0.99,
    "lam": 1.0,
    "entropy_weight": 0.005,
    "final_entropy_weight": 0.005,
    "shaping": True,
    "critic": 0,
}
PRESETS = {
    "linear": Config(
        network="linear",
        widths=(64, 64),
        envs=100_000,
        minibatches=8,
        learning_rate=0.002,
        final_learning_rate=0.002,
        total_steps=15_000_000 * 43,
        **PUBLISHED,
    ),
    "lstm": Config(
        network="lstm",
        lstm_width=512,
        envs=50_000,
        minibatches=44,
        learning_rate=1e-4,
        final_learning_rate=1e-4,
        total_steps=5_000_000 * 43,
        **PUBLISHED,
    ),
}


# Against others than itself the learner sits as in a match (section 15), not as one against three.
TWO_AGAINST_TWO = Sides(lambda state: jnp.arange(4) // 2, 0.5)


def make_task(cfg: Config) -> Task:
    """Schafkopf as the learner sees it."""
    env = jaxgames.make("schafkopf", contra=cfg.contra)
    auxiliary = Auxiliary() if cfg.auxiliary_weight else None
    shared = {"auxiliary": auxiliary.heads if auxiliary else (), "dtype": cfg.precision}
    if cfg.network == "lstm":
        width = cfg.lstm_width
        model = networks.make("lstm", env, "lstm55", width=width, head_widths=(width,), **shared)
    elif cfg.network == "linear":
        model = networks.make("mlp", env, "linear342", widths=cfg.widths, head_widths=cfg.widths[-1:], **shared)
    else:
        model = networks.make(cfg.network, env, "full", widths=cfg.widths, **shared)
    if cfg.shaping:
        model = dataclasses.replace(model, shape=lambda state, legal: shaped_mask(env, state))
    return Task(
        seeing.with_critic(model, cfg.critic),
        opponents.parse(cfg.opponents),
        auxiliary=auxiliary,
        sides=TWO_AGAINST_TWO,
        reward_scale=1 / cfg.unit,
    )


if __name__ == "__main__":
    sys.exit(runs.main(Config, make_task, __doc__, PRESETS))
