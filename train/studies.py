"""Learning from given answers: the loop around it, what it leaves on disk, and how it stops in between.

Ctrl-C and SIGTERM save a checkpoint; `--resume` goes on bit for bit.
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import chex
import jax
import optax

from agents import checkpoints
from agents.networks import Params
from jaxgames import Env
from jaxgames.options import UserError
from train import pins, scripts
from train.folders import Folder, alone
from train.settings import resumed_config
from train.signals import requests

if TYPE_CHECKING:
    from rich.console import Console

STOPPED = 1  # exit code


@dataclasses.dataclass(frozen=True)
class StudyConfig:
    """Where a study is kept, and what it begins with."""

    seed: int = 0
    """of everything random"""
    run: str = ""
    """folder to write, which must not exist; without it one is named after game and time"""
    resume: str = ""
    """continue this folder from its newest whole checkpoint, with its own settings"""
    start_from: str = ""
    """begin with the parameters of this run, checkpoint or published network instead of new ones"""
    checkpoint_every: int = 1
    """updates between checkpoints"""
    keep: int = 2
    """checkpoints kept; older ones are deleted"""

    def at_least_one(self, *names: str) -> None:
        """A UserError unless all these settings are above 0, and each is of its kind."""
        scripts.check_types("config", self)
        if self.seed < 0:
            raise UserError(f"config: seed must not be below 0, got {self.seed}")
        for name in ("checkpoint_every", "keep", *names):
            if not getattr(self, name) > 0:
                raise UserError(f"config: {name} must be above 0, got {getattr(self, name)!r}")


StudyT = TypeVar("StudyT", bound=StudyConfig)


class Student(NamedTuple):
    """Everything that moves on; what a checkpoint holds."""

    params: Params
    optimiser: optax.OptState
    key: chex.PRNGKey
    updates: chex.Array  # int32[]


def main(config: type[StudyT], study: Callable[[StudyT], int], description: str | None) -> int:
    """A script: settings from the command line, then the study; returns the exit code."""
    return scripts.run(config, lambda cfg: study(resumed_config(cfg) if cfg.resume else cfg), description)


def hold_networks(cfg: StudyConfig, folder: Folder, specs: tuple[str, ...], env: Env) -> pins.Pins:
    """The networks that a study meets: found once, the same ever after."""
    networks = [*pins.networks_of(specs, env), *([cfg.start_from] if cfg.start_from else [])]
    held = folder.pins() if cfg.resume else pins.pin(networks)
    pins.check({network: held[network] for network in networks if network in held})
    return held


def learn(
    cfg: StudyConfig,
    folder: Folder,
    held: pins.Pins,
    begin: Callable[[], Student],
    advance: Callable[[Student], tuple[Student, dict[str, float]]],
    updates: int,
) -> tuple[Student, int]:
    """All updates, or as many as it takes until something stops it; then the exit code is not 0.

    `advance` makes one update and says what it measured.
    """
    from rich.console import Console

    console = Console()
    with requests() as asked, contextlib.ExitStack() as in_use:
        if cfg.resume:
            in_use.enter_context(alone(folder.folder))
        packed = folder.restore(lambda text: console.print(text, soft_wrap=True)) if cfg.resume else None
        student = begin() if packed is None else checkpoints.unpack(packed, jax.eval_shape(begin))
        if cfg.resume:
            folder.continue_log()
        else:
            folder.create(held)
            in_use.enter_context(alone(folder.folder))
        console.print(f"{folder.env.id}: {updates} updates, in {folder.folder}", soft_wrap=True)
        bar = in_use.enter_context(_progress_bar(console))
        line = bar.add_task("", total=updates, completed=int(student.updates), last="")
        try:
            while int(student.updates) < updates and not asked.signal:
                student, row = advance(student)
                done = int(student.updates)
                if not math.isfinite(row["loss"]):
                    console.print(
                        f"Stopped: update {done} gave a loss that is not a number. A smaller learning_rate helps."
                    )
                    return student, STOPPED
                folder.log([{"update": done, "steps": done} | row])
                if done % cfg.checkpoint_every == 0 or done == updates:
                    folder.save(done, student.params, student)
                bar.update(line, completed=done, last=" ".join(f"{name} {value:.4g}" for name, value in row.items()))
            if asked.signal:
                folder.save(int(student.updates), student.params, student)
                console.print(f"Stopped. Continue with --resume {folder.folder}", soft_wrap=True)
        except OSError as error:
            console.print(f"Stopped: {error}. {scripts.remedy(error)}, then continue with --resume {folder.folder}")
            return student, STOPPED
    return student, asked.exit_code


def _progress_bar(console: "Console"):
    from rich import progress

    return progress.Progress(
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("updates"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[last]}"),
        console=console,
    )
