"""A training from the command line: its folder, its log, its checkpoints, and how it stops.

runs/<name>/config.json  metrics.csv  tensorboard/  checkpoints/<update>/  evaluation.md  curve.png
"""

import contextlib
import csv
import dataclasses
import functools
import json
import math
import pathlib
import shutil
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import agents
from agents import checkpoints
from agents.checkpoints import CheckpointError
from agents.networks import load_network, network_agent
from train import devices, opponents
from train.evaluate import Figures, cell, make_match, table
from train.ppo import Task, Training
from train.settings import PPO

PLACE = ("run", "resume", "coordinator", "processes", "process")  # where a run is, not what it computes
BAD_INPUT, INTERRUPTED, DIVERGED = 2, 130, 1
LARGEST_LOSS = 1e4


@dataclasses.dataclass(frozen=True)
class RunConfig(PPO):
    """A run: the learner's settings and what surrounds them."""

    seed: int = 0
    """of everything random"""
    run: str = ""
    """folder to write, which must not exist; without it one is named after game and time"""
    resume: str = ""
    """continue this run folder from its newest checkpoint, with its own settings"""
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
    rivals: tuple[str, ...] = ("rule:hard", "random")
    """agents that the result is measured against"""
    shards: int = 0
    """parts that play at the same time, spread over the devices; 0 for one on each device"""
    coordinator: str = ""
    """host:port of the first process, for a run on several hosts"""
    processes: int = 1
    """how many processes take part in it"""
    process: int = 0
    """which of them this one is"""

    def __post_init__(self):
        super().__post_init__()
        for name in ("report_every", "checkpoint_every", "keep", "evaluate_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"config: {name} must be at least 1, got {getattr(self, name)!r}")
        for name in ("evaluation_deals", "final_deals"):
            if getattr(self, name) < 2:
                raise ValueError(f"config: {name} must be at least 2 for a standard error, got {getattr(self, name)!r}")
        for name in ("checkpoint_every", "evaluate_every"):
            if getattr(self, name) % self.report_every:
                raise ValueError(f"config: {name} must divide by report_every = {self.report_every}")
        if self.shards < 0 or not 0 <= self.process < self.processes:
            raise ValueError("config: shards must not be below 0, and process must be one of 0..processes-1")
        if not self.rivals:
            raise ValueError("config: rivals must name at least one agent to be measured against")

    @property
    def updates(self) -> int:
        """A whole number of compiled calls."""
        needed = -(-self.total_steps // (self.envs * self.steps))
        return -(-needed // self.report_every) * self.report_every


def as_json(cfg: RunConfig) -> dict[str, Any]:
    """The settings that decide what a run computes, as JSON gives them back."""
    return json.loads(json.dumps({k: v for k, v in dataclasses.asdict(cfg).items() if k not in PLACE}))


def resumed_config(cfg: RunConfig) -> RunConfig:
    """The settings of the run to be continued. Others on the command line are refused: a run has one set."""
    here = {name: getattr(cfg, name) for name in PLACE if name != "run"}
    if cfg != type(cfg)(**here):
        raise ValueError("resume: a run is continued with its own settings; give --resume alone")
    path = pathlib.Path(cfg.resume) / "config.json"
    try:
        stored = json.loads(path.read_text())
        known = {field.name for field in dataclasses.fields(cfg)}
        if not isinstance(stored, dict) or set(stored) - known:
            raise ValueError("it has other settings than this script")
        settings = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
        return type(cfg)(**settings, **here)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"resume: {path} is not the configuration of a run of this script ({error})") from error


class Run:
    """One run folder."""

    def __init__(self, cfg: RunConfig, task: Task):
        self.cfg, self.task = cfg, task
        self.rows: list[dict[str, float]] = []
        if cfg.resume:
            self.folder = pathlib.Path(cfg.resume)
        else:
            self.folder = pathlib.Path(cfg.run or f"runs/{task.env.id}-{time.strftime('%Y%m%d-%H%M%S')}")
            if self.folder.exists() and jax.process_index() == 0:
                raise ValueError(f"run: {self.folder} exists already and is not overwritten; name another folder")

    def create(self) -> None:
        """Make the folder of a new run."""
        self.folder.mkdir(parents=True)
        (self.folder / "config.json").write_text(json.dumps(as_json(self.cfg), indent=1) + "\n")

    def restore(self) -> dict[str, np.ndarray]:
        """The newest checkpoint as it was packed, with the log cut back to it."""
        env = self.task.env
        items, manifest = checkpoints.load(checkpoints.latest(self.folder), ("training",), env.id, env.version)
        if manifest.get("config") != as_json(self.cfg):
            raise CheckpointError(f"checkpoint: the newest one of {self.folder} is of a run with other settings")
        with open(self.folder / "metrics.csv", newline="") as file:
            rows = [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]
        whole = [row | {name: int(row[name]) for name in ("update", "steps")} for row in rows]
        self.rows = [row for row in whole if row["update"] <= manifest["update"]]
        if jax.process_index() == 0:
            self.write_log()
        return items["training"]

    def checkpoint(self, training: Training, mesh: Any) -> pathlib.Path:
        """Write where the training stands, and drop the oldest checkpoints."""
        env, network, update = self.task.env, self.task.network, int(training.learner.updates)
        folder = self.folder / "checkpoints" / str(update)
        training = devices.gather(training, mesh) if jax.process_count() > 1 else training
        if jax.process_index() > 0:
            return folder
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
        return folder

    def log(self, rows: list[dict[str, float]], writer: Any) -> None:
        """Append to metrics.csv and TensorBoard."""
        self.rows += rows
        self.write_log()
        for row in rows:
            for name, value in row.items():
                writer.add_scalar(name, value, int(row["steps"]))

    def write_log(self) -> None:
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        partial = self.folder / ".metrics.csv.partial"
        with open(partial, "w", newline="") as file:
            writer = csv.DictWriter(file, names, restval="")
            writer.writeheader()
            writer.writerows(self.rows)
        partial.replace(self.folder / "metrics.csv")

    def draw_curve(self) -> pathlib.Path:
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
        left.legend()
        finished = [row for row in self.rows if row["games"]]
        right.plot([row["steps"] / 1e6 for row in finished], [row["return"] for row in finished])
        right.set(xlabel="million decisions", ylabel="return of a game in training")
        figure.tight_layout()
        figure.savefig(self.folder / "curve.png", dpi=120)
        pyplot.close(figure)
        return self.folder / "curve.png"


def drive(cfg: RunConfig, make_task: Callable[[RunConfig], Task]) -> int:
    """Train to the end, or to an interruption; returns the exit code. Bad input is a ValueError, nothing written."""
    from rich.console import Console
    from tensorboardX import SummaryWriter

    if cfg.coordinator:
        jax.distributed.initialize(cfg.coordinator, cfg.processes, cfg.process)
    cfg = dataclasses.replace(cfg, shards=cfg.shards or jax.device_count())
    mesh = devices.make_mesh(cfg.shards)
    devices.one_shard(cfg, cfg.shards)
    task = make_task(cfg)
    is_first = jax.process_index() == 0  # it alone writes, evaluates and speaks
    console = Console(quiet=not is_first)
    run = Run(cfg, task)
    rivals = [agents.make(spec, task.env) for spec in cfg.rivals]
    opponents.check(task.mixture, task.env)
    training = restored_or_new(cfg, task, run, mesh)
    if is_first and not cfg.resume:
        run.create()
    console.print(f"{task.env.id}: {cfg.updates} updates of {cfg.envs} games x {cfg.steps} decisions, in {run.folder}")
    with console.status("compiling the training step"):
        began = time.perf_counter()
        advance = functools.partial(devices.advance, cfg, task, cfg.shards, mesh, num_updates=cfg.report_every)
        call = jax.jit(lambda training: advance(training=training), donate_argnums=0).lower(training).compile()
    console.print(f"compiled in {time.perf_counter() - began:.0f} s")
    match = make_match(task.env, functools.partial(network_agent, task.env, task.network), rivals, cfg.evaluation_deals)
    deals_key = jax.random.key(cfg.seed + 1)  # the same deals at every evaluation: the curve shows the player
    writer = SummaryWriter(str(run.folder / "tensorboard")) if is_first else None
    with interruption() as stop, progress_bar(console, disable=not is_first) as bar:
        done = int(training.learner.updates)
        size = cfg.envs * cfg.steps
        line = bar.add_task("", total=cfg.updates * size, completed=done * size, last="")
        while done < cfg.updates and not stop:
            began = time.perf_counter()
            with jax.transfer_guard("disallow"):
                training, measured = call(training)
            rows = as_rows(jax.device_get(measured), done, cfg)
            done += cfg.report_every
            trouble = find_trouble(rows)
            if trouble:
                bar.stop()
                console.print(
                    f"Stopped: {trouble} The last good checkpoint, if there is one, is in {run.folder}/checkpoints. "
                    "A smaller learning_rate or max_gradient usually helps."
                )
                return DIVERGED
            if is_first:
                rows[-1]["seconds"] = time.perf_counter() - began
                if done % cfg.evaluate_every == 0 or done == cfg.updates:
                    found = match(jax.device_get(training.learner.params), 0, deals_key, cfg.evaluation_deals)
                    rows[-1] |= flatten(found)
                    bar.update(line, last=f"wins {found['wins_percent'][0]:.0f}% vs {cfg.rivals[0]}")
                run.log(rows, writer)
            bar.update(line, completed=done * size)
            if done % cfg.checkpoint_every == 0:
                run.checkpoint(training, mesh)
    folder = run.checkpoint(training, mesh)
    if writer is not None:
        writer.close()
    if stop:
        console.print(f"Interrupted after {done} updates. Continue with --resume {run.folder}")
        return INTERRUPTED
    if is_first:
        params, final_key = jax.device_get(training.learner.params), jax.random.key(cfg.seed + 2)
        with console.status("playing the final evaluation"):
            lines = {spec: match(params, i, final_key, cfg.final_deals) for i, spec in enumerate(cfg.rivals)}
        (run.folder / "evaluation.md").write_text(table("one against", lines) + "\n")
        show(console, lines)
        console.print(f"Curve {run.draw_curve()}, checkpoint {folder}, report {run.folder / 'evaluation.md'}")
    return 0


def restored_or_new(cfg: RunConfig, task: Task, run: Run, mesh: Any) -> Training:
    """The training where the run stopped, or at its beginning, spread over the mesh."""
    key, place = jax.random.key(cfg.seed), devices.placement(mesh)
    first = functools.partial(devices.start, cfg, task, cfg.shards)
    like = jax.eval_shape(first, key)
    if cfg.resume:
        return jax.jit(lambda packed: checkpoints.unpack(packed, like), out_shardings=place)(run.restore())
    if not cfg.start_from:
        return jax.jit(first, out_shardings=place)(key)
    params = load_network(cfg.start_from, task.env)[1]
    if jax.tree.map(np.shape, params) != jax.tree.map(np.shape, like.learner.params):
        raise ValueError(f"config: start_from = {cfg.start_from} is a network with other widths or heads than this run")
    training = jax.jit(first, out_shardings=place)(key)
    learner = training.learner._replace(params=params, pool=opponents.make_pool(params, cfg.pool))
    return training._replace(learner=jax.device_put(learner, place.learner))


def as_rows(measured: dict[str, np.ndarray], done: int, cfg: RunConfig) -> list[dict[str, float]]:
    """One row for each update of a compiled call."""
    return [
        {"update": done + i + 1, "steps": (done + i + 1) * cfg.envs * cfg.steps}
        | {name: float(values[i]) for name, values in measured.items()}
        for i in range(cfg.report_every)
    ]


def find_trouble(rows: list[dict[str, float]]) -> str:
    """A sentence if the training has gone wrong, else nothing."""
    for row in rows:
        bad = [name for name, value in row.items() if not math.isfinite(value)]
        if bad:
            return f"update {row['update']} gave a {', '.join(bad)} that is not a number."
        if abs(row["loss"]) > LARGEST_LOSS:
            return f"update {row['update']} gave a loss of {row['loss']:.3g}: the training diverges."
    return ""


def flatten(found: Figures) -> dict[str, float]:
    """Figures as columns; what was seen too rarely is left out."""
    columns = {}
    for name, (mean, error) in found.items():
        columns |= {name: mean, f"{name}_error": error}
    return {name: value for name, value in columns.items() if math.isfinite(value)}


@contextlib.contextmanager
def interruption():
    """A list that Ctrl-C fills: the loop ends after the running update. A second Ctrl-C stops at once."""
    asked: list[int] = []

    def ask(number, frame):
        asked.append(number)
        signal.signal(signal.SIGINT, before)
        print("\nstopping after this update", file=sys.stderr)

    try:
        before = signal.signal(signal.SIGINT, ask)
    except ValueError:  # not in the main thread (a notebook's or a test's worker): nobody can press Ctrl-C there
        yield asked
        return
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def progress_bar(console: Any, disable: bool):
    from rich import progress

    return progress.Progress(
        progress.BarColumn(),
        progress.TextColumn("{task.completed:,.0f}/{task.total:,.0f} decisions"),
        _speed_column(),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[last]}"),
        console=console,
        disable=disable,
    )


def _speed_column():
    from rich import progress

    class Speed(progress.ProgressColumn):
        """Decisions a second."""

        def render(self, task):
            return f"{task.speed:,.0f}/s" if task.speed else "-/s"

    return Speed()


def show(console: Any, lines: dict[str, Figures]) -> None:
    """The evaluation as a table on the terminal: a line for each figure."""
    from rich.table import Table

    shown = Table(title="one against three, whole games, every seat of the same deals")
    shown.add_column("")
    for spec in lines:
        shown.add_column(spec, justify="right")
    for name in next(iter(lines.values())):
        shown.add_row(name, *(cell(name, *found[name]) for found in lines.values()))
    console.print(shown)
