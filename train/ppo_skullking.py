"""Skull King by self-play, from the first bid to an evaluation against the rule-based player.

    python train/ppo_skullking.py                                  # a few minutes on two cores
    python train/ppo_skullking.py --run runs/league --total-steps 200000000 --envs 4096 \\
        --opponents self=0.6 past=0.3 rule:hard=0.1 --curriculum 1000000 2000000 3000000 4000000 5000000
    python train/ppo_skullking.py cards --start-from skullking --total-steps 50000000 --opponents self=0.5 rule:hard=0.5
    python train/ppo_skullking.py --resume runs/league

Rollout, advantages and updates are one compiled program (train/ppo.py); this page says what is learned.
"""

import dataclasses
import math
import sys
from collections.abc import Callable
from typing import Literal

import chex
import jax.numpy as jnp
import numpy as np

import jaxgames
from agents import networks
from agents.search import playout
from jaxgames.options import UserError
from jaxgames.skullking.cards import ABILITY_ROSIE
from jaxgames.skullking.env import ABILITIES, SkullKingEnv
from jaxgames.skullking.observe import Ability, Base
from jaxgames.skullking.rewards import SCHEMES
from jaxgames.skullking.state import State
from train import opponents, runs, seeing
from train.auxiliary_skullking import Auxiliary
from train.ppo import Task
from train.settings import RunConfig

# SK-60: the order in which abilities join, and the usual thresholds in environment steps.
STAGES = ("harry", "roatan", "rosie", "bendt", "jade")


@dataclasses.dataclass(frozen=True)
class Config(RunConfig):
    """Everything that can be set on the command line."""

    num_players: int = 4
    """seats at the table"""
    hand_sizes: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    """cards dealt in each round"""
    reward: str = "score"
    """reward scheme: score, placement, seed_base, seed_ability or seed"""
    by_round: bool = True
    """judge a decision by the points of its own round, which later rounds do not change (reward score alone)"""
    win_worth: float = 0.0
    """what winning counts beside the points, in rewards: each round pays what it does to the chance of it"""
    curriculum: tuple[int, ...] = ()
    """steps from which Harry, Roatan, Rosie, Bendt, Jade use their abilities: five numbers, or none for always"""
    curriculum_opponents: tuple[str, ...] = ()
    """who sits at the other seats until the curriculum is over, if not `opponents`"""
    observation: Literal["ability", "base", "full"] = "ability"
    """section 12 of the rules page"""
    parts: tuple[str, ...] = ()
    """parts of it that are read, by name; none for all"""
    widths: tuple[int, ...] = (256, 256)
    """layers of the encoder"""
    rivals: tuple[str, ...] = ("rule:hard", "random")
    """agents that the result is measured against"""

    def __post_init__(self):
        super().__post_init__()
        if self.reward not in SCHEMES:
            raise UserError(f"config: reward must be one of {', '.join(SCHEMES)}, got {self.reward!r}")
        if not 0 <= self.win_worth < math.inf:
            raise UserError(f"config: win_worth must not be below 0, got {self.win_worth!r}")
        if len(self.curriculum) not in (0, 5) or any(steps < 0 for steps in self.curriculum):
            raise UserError(f"config: curriculum must be five numbers of steps or nothing, got {self.curriculum!r}")
        if not self.widths or min(self.widths) < 1:
            raise UserError(f"config: widths must be at least one number above 0, got {self.widths!r}")
        if self.curriculum_opponents and not self.curriculum:
            raise UserError("config: curriculum_opponents need a curriculum that says until when they play")
        opponents.parse(self.curriculum_opponents or self.opponents)


# What `ppo:skullking` reads: cards one by one, beside what `ability` says of them.
CARDS = (*Base._fields, *Ability._fields, "hand_cards", "table_cards", "unseen")
PRESETS = {"cards": Config(observation="full", parts=CARDS)}


def make_task(cfg: Config) -> Task:
    """Skull King as the learner sees it."""
    env = jaxgames.make("skullking", num_players=cfg.num_players, hand_sizes=cfg.hand_sizes, reward=cfg.reward)
    starts = dict(zip(STAGES, cfg.curriculum or (0,) * 5, strict=True))
    steps = np.array([starts[name] for name in ABILITIES])
    first_update = -(-steps // (cfg.envs * cfg.steps))

    def deal_data(updates):
        return {"abilities": updates >= jnp.asarray(first_update, jnp.int32)}

    auxiliary = Auxiliary(env) if cfg.auxiliary_weight else None
    heads = auxiliary.heads if auxiliary else ()
    fields = {"widths": cfg.widths, "parts": cfg.parts, "dtype": cfg.precision, "auxiliary": heads}
    model = networks.make("mlp", env, cfg.observation, **fields)
    mixture = opponents.parse(cfg.opponents)
    if cfg.curriculum_opponents:
        mixture = opponents.in_stages(opponents.parse(cfg.curriculum_opponents), mixture, int(first_update.max()))
    rounds = (lambda state: state.round) if cfg.by_round and cfg.reward == "score" else None
    return Task(
        seeing.with_critic(model, cfg.critic),
        mixture,
        deal_data,
        auxiliary,
        ability_priority,
        rounds=rounds,
        pays=for_points_and_wins(env, cfg.win_worth) if cfg.win_worth else None,
    )


def for_points_and_wins(env: SkullKingEnv, win_worth: float) -> Callable[[State, State], chex.Array]:
    """(before, after) -> float32[seat]: the game's rewards, and what a step does to the chance of winning.

    Points alone teach a leader and a loser the same. The chance after a round is known well enough from the scores and
    the cards to come (`playout.wins`), so that even so each round can be judged by itself.
    """
    chance = playout.wins(env)
    return lambda before, after: after.rewards + win_worth * (chance(before, after) - chance(before, before))


def ability_priority(state):
    """SK-61: the rare decisions about abilities are drawn five times as often."""
    return jnp.where(state.phase >= ABILITY_ROSIE, 5.0, 1.0)


def main() -> int:
    return runs.main(Config, make_task, __doc__, PRESETS)


if __name__ == "__main__":
    sys.exit(main())
