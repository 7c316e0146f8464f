"""One run on disk.

runs/<name>/config.json  networks.json  metrics.csv  tensorboard/  checkpoints/<update>/  evaluation.md  curve.png
"""

import contextlib
import csv
import dataclasses
import functools
import json
import math
import os
import pathlib
import shutil
import struct
import time
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Protocol

import chex
import numpy as np

from agents import checkpoints
from agents.checkpoints import CheckpointError, DamagedCheckpoint
from agents.networks import Params, describe
from jaxgames import Env
from jaxgames.options import UserError
from train import locks, pins
from train.evaluate import Figures, table
from train.pins import Pins
from train.ppo import Task, Training
from train.protocols import Protocol as MatchProtocol
from train.settings import RunConfig, as_json

Rows = list[dict[str, float]]  # of a log


def new_name(game: str) -> str:
    """A folder named after game and time."""
    return f"runs/{game}-{time.strftime('%Y%m%d-%H%M%S')}"


def alone(folder: pathlib.Path) -> contextlib.AbstractContextManager[None]:
    """Hold the folder of a run; a UserError if another process goes on with it."""
    return locks.alone(folder / "config.json", f"run: another process is at work in {folder}; wait for its end")


class Place(Protocol):
    """What settings say about the folder of their run; they are a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field]]

    @property
    def run(self) -> str: ...

    @property
    def resume(self) -> str: ...

    @property
    def keep(self) -> int: ...


class Folder:
    """The folder of something that learns. Nothing is written before `create` or, when it goes on, `continue_log`."""

    def __init__(self, cfg: Place, env: Env, network: checkpoints.Json, observation: str, **about: object):
        self.settings, self.env, self.network, self.observation = cfg, env, network, observation
        self.about = about  # what checkpoints say beside it
        self.rows: list[dict[str, float]] = []
        self.restored = 0  # the update to go on from
        self.damaged: list[pathlib.Path] = []
        self.folder = pathlib.Path(cfg.resume or cfg.run or new_name(env.id))
        if not cfg.resume and self.folder.exists():
            raise UserError(f"run: {self.folder} exists already and is not overwritten; name another folder")

    def create(self, held: Pins) -> None:
        """Make the folder of a new run; it appears with its settings or not at all."""
        partial = self.folder.with_name(f".{self.folder.name}.partial")
        try:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            write_json(partial / "config.json", as_json(self.settings))
            write_json(partial / "networks.json", {name: each._asdict() for name, each in held.items()})
            os.rename(partial, self.folder)
        except OSError as error:
            raise UserError(f"run: {self.folder} cannot be written ({error}); name another folder") from error

    def pins(self) -> Pins:
        """The networks that a run was begun with."""
        path = self.folder / "networks.json"
        try:
            return pins.read(checkpoints.read_json(path))
        except FileNotFoundError:
            return {}  # begun by an earlier version, which kept none
        except (OSError, ValueError) as error:
            raise UserError(f"resume: {path} does not name the networks of a run ({error})") from error

    def restore(self, say: Callable[[str], None]) -> dict[str, np.ndarray] | None:
        """The newest whole checkpoint as it was packed; None if the run was stopped before its first one."""
        for folder in reversed(checkpoints.of_run(self.folder)):
            try:
                return self._restore(folder)
            except DamagedCheckpoint as error:
                self.damaged.append(folder)
                say(f"{error}. Looking for an older one.")
        if self.damaged:
            raise CheckpointError(f"checkpoint: no checkpoint of {self.folder} is whole; start a new run")
        say(f"{self.folder} has no checkpoint yet: the run starts from its beginning.")
        return None

    def _restore(self, folder: pathlib.Path) -> dict[str, np.ndarray]:
        items, manifest = checkpoints.load(folder, ("training",), self.env.id, self.env.version)
        begun_with = checkpoints.read_json(self.folder / "config.json")  # there may be more settings by now
        config, update = manifest.get("config"), manifest.get("update")
        if not isinstance(config, dict) or not isinstance(update, int) or update < 0:
            raise DamagedCheckpoint(f"checkpoint: {folder} is damaged: its manifest has no good config or update")
        if {name: config.get(name) for name in begun_with} != begun_with:
            raise CheckpointError(f"checkpoint: {folder} is of a run with other settings")
        self.restored = update
        self.rows = read_log(self.folder / "metrics.csv", update)
        return items["training"]

    def continue_log(self) -> None:
        """Cut the log back to where the training goes on."""
        try:
            if self.rows or (self.folder / "metrics.csv").exists():
                self.write_log()
        except OSError as error:
            raise UserError(f"resume: {self.folder} cannot be written ({error})") from error

    def save(self, update: int, params: Params, training: chex.ArrayTree) -> None:
        """Write where the training stands, and drop the oldest checkpoints. OSError if the disk does not take it."""
        for folder in self.damaged:  # out of the way, but not lost: it may tell what went wrong
            aside = folder.with_name(f"{folder.name}-damaged")
            shutil.rmtree(aside, ignore_errors=True)
            folder.rename(aside)
        self.damaged = []
        folder = self.folder / "checkpoints" / str(update)
        if not folder.exists():
            more = {"update": update, "config": as_json(self.settings), **self.about}
            about = checkpoints.describe(self.env, self.network, self.observation, **more)
            checkpoints.save(folder, {"params": params, "training": checkpoints.pack(training)}, about)
        for old in checkpoints.of_run(self.folder)[: -self.settings.keep]:
            shutil.rmtree(old)

    def log(self, rows: list[dict[str, float]]) -> None:
        """Append to metrics.csv and TensorBoard."""
        if not rows:
            return
        self.rows += rows
        self.write_log()
        self.tensorboard.add(rows)

    @functools.cached_property
    def tensorboard(self) -> "TensorBoard":
        return TensorBoard(self.folder / "tensorboard")

    def write_log(self) -> None:
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        partial = self.folder / ".metrics.csv.partial"
        with open(partial, "w", newline="") as file:
            writer = csv.DictWriter(file, names, restval="")
            writer.writeheader()
            writer.writerows(self.rows)
        partial.replace(self.folder / "metrics.csv")


class Run(Folder):
    """The folder of a training by PPO."""

    def __init__(self, cfg: RunConfig, task: Task):
        player = task.model.player
        super().__init__(cfg, task.env, describe(player), player.version, reward_scale=task.reward_scale)
        self.cfg, self.task = cfg, task

    def checkpoint(self, training: Training) -> None:
        """Write where the training stands."""
        params = self.task.model.player_params(training.learner.params)
        self.save(int(training.learner.updates), params, training)

    def report(self, lines: dict[str, Figures]) -> pathlib.Path:
        """Write the final evaluation and draw the curve."""
        draw_curve(self.rows, self.task.protocol, self.cfg.rivals[0], self.folder / "curve.png")
        path = self.folder / "evaluation.md"
        write_whole(path, table("one against", lines) + "\n")
        return path


def draw_curve(rows: Rows, way: MatchProtocol, rival: str, path: pathlib.Path, dpi: int = 120) -> None:
    """Strength and return over decisions, as a PNG."""
    from matplotlib.figure import Figure  # not pyplot, which would change what a notebook shows

    figure = Figure(figsize=(10, 4), layout="tight")
    left, right = figure.subplots(1, 2)
    measured = [row for row in rows if way.headline in row]
    millions = [row["steps"] / 1e6 for row in measured]
    strength, errors = ([row.get(name, 0.0) for row in measured] for name in (way.headline, f"{way.headline}_error"))
    left.errorbar(millions, strength, errors, marker="o", markersize=3)
    left.axhline(way.fair, color="grey", linestyle=":", label="equal strength")
    left.set(xlabel="million decisions", ylabel=f"{way.headline} against {rival}")
    left.legend(loc="lower right")
    finished = [row for row in rows if row.get("games")]
    right.plot([row["steps"] / 1e6 for row in finished], [row.get("return", math.nan) for row in finished])
    right.set(xlabel="million decisions", ylabel="return of a game in training")
    figure.savefig(path, dpi=dpi)


class TensorBoard:
    """Rows as TensorBoard reads them, on disk when `add` returns.

    tensorboardX's own writer works in a thread: on a full disk that dies, and whoever fills its queue waits for ever.
    """

    def __init__(self, folder: pathlib.Path):
        folder.mkdir(exist_ok=True)
        self.path = folder / f"events.out.tfevents.{time.time_ns()}"
        self._append([{"file_version": "brain.Event:2"}])

    def add(self, rows: list[dict[str, float]]) -> None:
        """One event for each row."""
        self._append(
            {"step": int(row["steps"]), "summary": {"value": [{"tag": k, "simple_value": v} for k, v in row.items()]}}
            for row in rows
        )

    def _append(self, events: Iterable[dict[str, Any]]) -> None:
        """Each event as a record: its length and itself, each with a checksum."""
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.record_writer import masked_crc32c

        with open(self.path, "ab") as file:
            for event in events:
                data = Event(wall_time=time.time(), **event).SerializeToString()
                size = struct.pack("<Q", len(data))
                for part in (size, data):
                    file.write(part + struct.pack("<I", masked_crc32c(part)))


def read_log(path: pathlib.Path, last: float = math.inf) -> Rows:
    """The rows of a metrics.csv up to this update; none if it is not there yet. A UserError names a line that is none.

    What comes behind that update is not looked at: a crash may have spoilt it, and it is written again.
    """
    rows: Rows = []
    number = 1
    try:
        with open(path, newline="") as file:
            log = csv.DictReader(file)
            if log.fieldnames and not {"update", "steps"} <= set(log.fieldnames):
                raise ValueError("there are no columns update and steps")
            while (rows[-1]["update"] if rows else 0) < last and (row := next(log, None)):
                number = log.line_num
                found = {name: float(value) for name, value in row.items() if value}
                if not all(map(math.isfinite, found.values())):
                    raise ValueError("not all of it is finite")
                rows.append(found | {name: int(row[name]) for name in ("update", "steps")})
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise UserError(
            f"run: line {number} of {path} is no row of a log ({error}); put the file back, or take it away: "
            "the run goes on without what it says"
        ) from error
    return [row for row in rows if row["update"] <= last]


def settings_of(run: pathlib.Path) -> checkpoints.Json:
    """What the config.json of a run folder says."""
    try:
        found = checkpoints.read_json(run / "config.json")
        if not isinstance(found, dict):
            raise ValueError("no settings")
    except (OSError, ValueError) as error:
        raise UserError(f"run: {run / 'config.json'} is not the configuration of a run ({error})") from error
    return found


def write_json(path: pathlib.Path, content: object) -> None:
    write_whole(path, json.dumps(content, indent=1) + "\n")


def write_whole(path: pathlib.Path, text: str) -> None:
    """The file is there completely or as it was: a report says that a run has ended."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
