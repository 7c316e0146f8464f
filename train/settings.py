"""Sizes and coefficients of the learner, and the relations between them."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class PPO:
    """Sizes and coefficients of the learner. Relations between them are checked when it is made."""

    total_steps: int = 10_000_000
    """decisions to play in all; rounded up to whole updates"""
    envs: int = 512
    """games at a time"""
    steps: int = 128
    """decisions in every game between updates"""
    epochs: int = 2
    """passes over the decisions of an update"""
    minibatches: int = 64
    """gradient steps in a pass"""
    learning_rate: float = 1e-3
    """of Adam, at the start"""
    final_learning_rate: float = 1e-4
    """and at the end: the schedule is linear"""
    max_gradient: float = 0.5
    """longest gradient; longer ones are scaled down"""
    gamma: float = 0.99
    """discount from one decision of a seat to its next"""
    lam: float = 0.95
    """lambda of the generalised advantage"""
    clip: float = 0.2
    """how far the policy may move from the one that played"""
    value_weight: float = 0.5
    """weight of the value loss"""
    entropy_weight: float = 0.01
    """weight of the entropy bonus at the start"""
    final_entropy_weight: float = 0.001
    """and at the end: the schedule is linear"""
    pool: int = 8
    """past selves that are remembered"""
    remember_every: int = 10
    """updates between them"""
    auxiliary_weight: float = 0.0
    """weight of the auxiliary losses; 0 leaves the heads out"""
    prioritised: bool = False
    """draw minibatches by priority, with replacement, instead of shuffling"""
    importance: bool = False
    """weigh prioritised rows by 1 / (n P), so that they count as if drawn evenly"""
    replay: int = 0
    """decisions kept for the value and auxiliary heads to learn from again; 0 for none"""
    replay_steps: int = 4
    """gradient steps on them after each update"""

    def __post_init__(self):
        for name in ("total_steps", "envs", "steps", "epochs", "minibatches", "pool", "remember_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"config: {name} must be at least 1, got {getattr(self, name)!r}")
        for name in ("learning_rate", "final_learning_rate", "max_gradient", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"config: {name} must be above 0, got {getattr(self, name)!r}")
        for name in ("gamma", "lam"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"config: {name} must be in 0..1, got {getattr(self, name)!r}")
        if self.envs * self.steps % self.minibatches:
            raise ValueError(
                f"config: envs * steps = {self.envs * self.steps} decisions must divide by minibatches = "
                f"{self.minibatches}"
            )
        if self.envs % self.pool:
            raise ValueError(f"config: envs = {self.envs} must divide by pool = {self.pool}, which share the games")
        for name in ("auxiliary_weight", "replay", "replay_steps", "value_weight", "entropy_weight"):
            if getattr(self, name) < 0:
                raise ValueError(f"config: {name} must not be below 0, got {getattr(self, name)!r}")
        if 0 < self.replay < self.rows:
            raise ValueError(f"config: replay must be 0 or at least one minibatch ({self.rows}), got {self.replay}")
        if self.importance and not (self.prioritised or self.replay):
            raise ValueError("config: importance weighs rows drawn by priority; set prioritised or replay as well")

    @property
    def rows(self) -> int:
        """Decisions in a minibatch where the learner plays every seat, and remembered from an update."""
        return self.envs * self.steps // self.minibatches

    @property
    def updates(self) -> int:
        return -(-self.total_steps // (self.envs * self.steps))
