"""Everything that can be set about a training: the learner's sizes and coefficients, and the run around them."""

import dataclasses
import json
import math
import pathlib
from typing import TYPE_CHECKING, Any, TypeVar

from agents import checkpoints
from agents.checkpoints import Json
from jaxgames.options import UserError
from train import opponents, scripts

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Where a run is and how many there are, not what it computes: left out of its configuration.
PLACE = ("run", "resume", "seeds", "cores", "distributed", "coordinator", "processes", "process")

Settings = TypeVar("Settings", bound=Any)  # a frozen dataclass with `run` and `resume`


@dataclasses.dataclass(frozen=True)
class PPO:
    """Sizes and coefficients of the learner. Relations between them are checked when it is made."""

    total_steps: int = 16_000_000
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
    magnet_weight: float = 0.0
    """weight of a pull towards a moving average of the policy: KL(policy, average); 0 for none"""
    magnet_rate: float = 0.05
    """how far that average moves towards the policy after every update"""
    past_selves: int = 8
    """past selves that are kept, spread over the whole run"""
    past_every: int = 10
    """updates after which another one is kept"""
    auxiliary_weight: float = 0.0
    """weight of the auxiliary losses; 0 leaves the heads out"""
    choices: float = 1.0
    """share of the moves that leave a choice; forced ones are not learned from, and an update makes room for no more"""
    prioritised: bool = False
    """sample minibatches by priority, with replacement, instead of shuffling"""
    importance: bool = False
    """weigh prioritised rows by 1 / (n P), so that they count as if sampled evenly"""
    replay: int = 0
    """decisions kept for the value and auxiliary heads to learn from again; 0 for none"""
    replay_steps: int = 4
    """gradient steps on them after each update"""

    def __post_init__(self):
        scripts.check_types("config", self)
        for name in ("total_steps", "envs", "steps", "epochs", "minibatches", "past_selves", "past_every"):
            if getattr(self, name) < 1:
                raise UserError(f"config: {name} must be at least 1, got {getattr(self, name)!r}")
        for name in ("learning_rate", "final_learning_rate", "max_gradient", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise UserError(f"config: {name} must be above 0, got {getattr(self, name)!r}")
        if not 0 < self.choices <= 1:
            raise UserError(f"config: choices must be above 0 and at most 1, got {self.choices!r}")
        for name in ("gamma", "lam", "magnet_rate"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"config: {name} must be in 0..1, got {getattr(self, name)!r}")
        if self.envs * self.steps % self.minibatches:
            raise UserError(
                f"config: envs * steps = {self.envs * self.steps} decisions must divide by minibatches = "
                f"{self.minibatches}"
            )
        if self.envs % self.past_selves:
            raise UserError(
                f"config: envs = {self.envs} must divide by past_selves = {self.past_selves}, which share the games"
            )
        for name in ("auxiliary_weight", "magnet_weight", "replay", "replay_steps", "value_weight", "entropy_weight"):
            if getattr(self, name) < 0:
                raise UserError(f"config: {name} must not be below 0, got {getattr(self, name)!r}")
        if 0 < self.replay < self.rows:
            raise UserError(f"config: replay must be 0 or at least one minibatch ({self.rows}), got {self.replay}")
        if self.importance and not (self.prioritised or self.replay):
            raise UserError("config: importance weighs rows sampled by priority; set prioritised or replay as well")

    @property
    def rows(self) -> int:
        """Decisions in a minibatch where the learner plays every seat, and remembered from an update."""
        return self.envs * self.steps // self.minibatches

    @property
    def updates(self) -> int:
        return -(-self.total_steps // (self.envs * self.steps))


@dataclasses.dataclass(frozen=True)
class RunConfig(PPO):
    """A run: the learner's settings and what surrounds them."""

    seed: int = 0
    """of everything random"""
    seeds: int = 1
    """trainings with this seed and the ones after it, all in one program; each gets its own folder below `run`"""
    run: str = ""
    """folder to write, which must not exist; without it one is named after game and time"""
    resume: str = ""
    """continue this run folder from its newest whole checkpoint, with its own settings"""
    start_from: str = ""
    """begin with the parameters of this run, checkpoint or named agent instead of new ones"""
    report_every: int = 1
    """updates in one compiled call, between two lines of the log"""
    checkpoint_every: int = 20
    """updates between checkpoints"""
    keep: int = 3
    """checkpoints kept; older ones are deleted"""
    evaluate_every: int = 10
    """updates between evaluations against the first of `rivals`"""
    evaluation_deals: int = 64
    """deals of an evaluation during training, each played from every seat"""
    final_deals: int = 250
    """deals of the evaluation at the end"""
    opponents: tuple[str, ...] = ("self=1",)
    """who sits at the other seats in training, as kind=share: self, past, random, rule, ppo:<folder> ..."""
    rivals: tuple[str, ...] = ("rule", "random")
    """agents that the result is measured against"""
    critic: int = 0
    """units of a critic that sees hidden cards while it trains; the player never does; 0 for none"""
    precision: str = "float32"
    """of the matrix products: float32, or bfloat16 on hardware that has it"""
    shards: int = 0
    """parts that play at the same time, spread over the devices; 0 for one on each device"""
    cores: int = 1
    """CPU cores that are devices of their own, each with a shard of the games; 0 for all that can share them out"""
    distributed: bool = False
    """one of several processes that a cluster started (SLURM, Open MPI, a TPU pod, Kubernetes): JAX finds the others"""
    coordinator: str = ""
    """host:port of the first process, for a run on several hosts that were started by hand"""
    processes: int = 1
    """how many processes take part in it"""
    process: int = 0
    """which of them this one is"""

    def __post_init__(self):
        super().__post_init__()
        for name in ("seeds", "report_every", "checkpoint_every", "keep", "evaluate_every"):
            if getattr(self, name) < 1:
                raise UserError(f"config: {name} must be at least 1, got {getattr(self, name)!r}")
        for name in ("evaluation_deals", "final_deals"):
            if getattr(self, name) < 2:
                raise UserError(f"config: {name} must be at least 2 for a standard error, got {getattr(self, name)!r}")
        for name in ("checkpoint_every", "evaluate_every"):
            if getattr(self, name) % self.report_every:
                raise UserError(f"config: {name} must divide by report_every = {self.report_every}")
        if self.cores < 0:
            raise UserError(f"config: cores must not be below 0, got {self.cores!r}")
        if self.distributed and self.coordinator:
            raise UserError("config: give distributed, or coordinator with processes and process, not both")
        if self.shards < 0 or not 0 <= self.process < self.processes:
            raise UserError("config: shards must not be below 0, and process must be one of 0..processes-1")
        if self.seeds > 1 and (self.resume or self.shards > 1 or self.processes > 1):
            raise UserError(
                f"config: seeds = {self.seeds} trainings share one device (shards and processes must be 1), and each "
                "is resumed by itself"
            )
        opponents.parse(self.opponents)
        if self.precision not in ("float32", "bfloat16"):
            raise UserError(f"config: precision must be float32 or bfloat16, got {self.precision!r}")
        if self.critic < 0:
            raise UserError(f"config: critic must not be below 0, got {self.critic}")
        if not self.rivals:
            raise UserError("config: rivals must name at least one agent to be measured against")

    @property
    def updates(self) -> int:
        """A whole number of compiled calls."""
        needed = -(-self.total_steps // (self.envs * self.steps))
        return -(-needed // self.report_every) * self.report_every


Run = TypeVar("Run", bound=RunConfig)


def wide(cfg: Run) -> Run:
    """The settings for a device that is starved by small operations: many games, short rollouts, large minibatches.

    Four times the decisions an update in half the steps, and an eighth of the gradient steps a decision and epoch;
    docs/performance.md has the reasons.
    """
    return dataclasses.replace(
        cfg,
        envs=8 * cfg.envs,
        steps=max(1, cfg.steps // 2),
        minibatches=max(1, cfg.minibatches // 2),
        epochs=2 * cfg.epochs,
        learning_rate=2 * cfg.learning_rate,
    )


def as_json(cfg: "DataclassInstance") -> Json:
    """The settings that decide what a run computes, as JSON gives them back."""
    return json.loads(json.dumps({k: v for k, v in dataclasses.asdict(cfg).items() if k not in PLACE}))


def resumed_config(cfg: Settings) -> Settings:
    """The settings of the run to be continued. Others on the command line are refused: a run has one set."""
    here = {name: getattr(cfg, name) for name in PLACE if name != "run" and hasattr(cfg, name)}
    if cfg != type(cfg)(**here):
        raise UserError("resume: a run is continued with its own settings; give --resume alone")
    path = pathlib.Path(cfg.resume) / "config.json"
    refused = f"resume: {path} is not the configuration of a run of this script"
    try:
        stored = checkpoints.read_json(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{refused} ({error})") from error
    known = {field.name for field in dataclasses.fields(cfg)}
    if not isinstance(stored, dict) or set(stored) - known:
        raise UserError(f"{refused}: it has other settings")
    settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()}
    try:
        return type(cfg)(**settings, **here)
    except UserError as error:
        raise UserError(f"{refused} ({error})") from error
