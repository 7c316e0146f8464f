"""One run on disk.

runs/<name>/config.json  metrics.csv  tensorboard/  checkpoints/<update>/  evaluation.md  curve.png
"""

import csv
import dataclasses
import functools
import json
import pathlib
import shutil
import time
from typing import Any

import jax
import numpy as np

from agents import checkpoints
from agents.checkpoints import CheckpointError
from train import devices
from train.evaluate import Figures, table
from train.ppo import Task, Training
from train.settings import RunConfig, as_json


def new_name(game: str) -> str:
    """A folder named after game and time."""
    return f"runs/{game}-{time.strftime('%Y%m%d-%H%M%S')}"


class Run:
    """One run folder."""

    def __init__(self, cfg: RunConfig, task: Task):
        self.cfg, self.task = cfg, task
        self.rows: list[dict[str, float]] = []
        if cfg.resume:
            self.folder = pathlib.Path(cfg.resume)
        else:
            self.folder = pathlib.Path(cfg.run or new_name(task.env.id))
            if self.folder.exists() and jax.process_index() == 0:
                raise ValueError(f"run: {self.folder} exists already and is not overwritten; name another folder")

    def create(self) -> None:
        """Make the folder of a new run."""
        self.folder.mkdir(parents=True)
        (self.folder / "config.json").write_text(json.dumps(as_json(self.cfg), indent=1) + "\n")

    def restore(self) -> dict[str, np.ndarray]:
        """The newest checkpoint as it was packed, with the log cut back to it."""
        env = self.task.env
        items, manifest = checkpoints.load(self.newest(), ("training",), env.id, env.version)
        if manifest.get("config") != as_json(self.cfg):
            raise CheckpointError(f"checkpoint: the newest one of {self.folder} is of a run with other settings")
        with open(self.folder / "metrics.csv", newline="") as file:
            rows = [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]
        whole = [row | {name: int(row[name]) for name in ("update", "steps")} for row in rows]
        self.rows = [row for row in whole if row["update"] <= manifest["update"]]
        if jax.process_index() == 0:
            self.write_log()
        return items["training"]

    def newest(self) -> pathlib.Path:
        """The newest checkpoint."""
        return checkpoints.latest(self.folder)

    def checkpoint(self, training: Training, mesh: Any) -> None:
        """Write where the training stands, and drop the oldest checkpoints."""
        env, network, update = self.task.env, self.task.network, int(training.learner.updates)
        folder = self.folder / "checkpoints" / str(update)
        training = devices.gather(training, mesh) if jax.process_count() > 1 else training
        if jax.process_index() > 0:
            return
        if not folder.exists():
            about = {
                "game": env.id,
                "version": env.version,
                "options": dataclasses.asdict(env),
                "network": {"widths": network.widths, "dtype": network.dtype, "auxiliary": network.auxiliary},
                "update": update,
                "config": as_json(self.cfg),
            }
            items = {"params": training.learner.params, "training": checkpoints.pack(training)}
            checkpoints.save(folder, items, about)
        for old in sorted(int(path.name) for path in folder.parent.glob("[0-9]*"))[: -self.cfg.keep]:
            shutil.rmtree(folder.parent / str(old))

    def log(self, rows: list[dict[str, float]]) -> None:
        """Append to metrics.csv and TensorBoard."""
        self.rows += rows
        self.write_log()
        for row in rows:
            for name, value in row.items():
                self.tensorboard.add_scalar(name, value, int(row["steps"]))

    @functools.cached_property
    def tensorboard(self) -> Any:
        from tensorboardX import SummaryWriter

        return SummaryWriter(str(self.folder / "tensorboard"))

    def write_log(self) -> None:
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        partial = self.folder / ".metrics.csv.partial"
        with open(partial, "w", newline="") as file:
            writer = csv.DictWriter(file, names, restval="")
            writer.writeheader()
            writer.writerows(self.rows)
        partial.replace(self.folder / "metrics.csv")

    def report(self, lines: dict[str, Figures]) -> pathlib.Path:
        """Write the final evaluation and draw the curve."""
        self.draw_curve()
        path = self.folder / "evaluation.md"
        path.write_text(table("one against", lines) + "\n")
        return path

    def draw_curve(self) -> None:
        """Strength and return over steps, as a PNG."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
        measured = [row for row in self.rows if "wins_percent" in row]
        millions = [row["steps"] / 1e6 for row in measured]
        wins, errors = ([row[name] for row in measured] for name in ("wins_percent", "wins_percent_error"))
        left.errorbar(millions, wins, errors, marker="o", markersize=3)
        left.axhline(100 / self.task.env.num_players, color="grey", linestyle=":", label="equal strength")
        left.set(xlabel="million decisions", ylabel=f"wins against {self.cfg.rivals[0]}, %", ylim=(0, None))
        left.legend(loc="lower right")
        finished = [row for row in self.rows if row["games"]]
        right.plot([row["steps"] / 1e6 for row in finished], [row["return"] for row in finished])
        right.set(xlabel="million decisions", ylabel="return of a game in training")
        figure.tight_layout()
        figure.savefig(self.folder / "curve.png", dpi=120)
        pyplot.close(figure)
