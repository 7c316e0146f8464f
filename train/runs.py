"""A training from the command line: from settings to a report, and how it stops in between.

A run that ends early says how to go on: Ctrl-C and SIGTERM save a checkpoint, a disk that takes no more leaves what was
saved, losses that are no numbers leave the last good checkpoint. Several processes halt together.
"""

import contextlib
import dataclasses
import enum
import functools
import math
import operator
import pathlib
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jax.sharding import Mesh

import agents
from agents import checkpoints
from agents.networks import Params, load, network_agent
from jaxgames.env import TreeT
from jaxgames.options import UserError
from train import devices, opponents, pins, ppo, scripts
from train.evaluate import Figures, cell, make_match, over_seeds
from train.folders import Run, alone, new_name
from train.ppo import Task, Training
from train.scripts import remedy
from train.settings import RunConfig, resumed_config, wide
from train.signals import Asked, requests

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

STOPPED, INTERRUPTED, TERMINATED = 1, 128 + signal.SIGINT, 128 + signal.SIGTERM  # exit codes
LARGEST_LOSS = 1e4
T = TypeVar("T")
ConfigT = TypeVar("ConfigT", bound=RunConfig)  # of one game's page
EVALUATION, FINAL = 1, 2  # added to the seed: deals on the way and at the end


class Halt(enum.IntEnum):
    """Why a training does not go on; of several processes the largest number counts."""

    NO = 0
    INTERRUPTED = signal.SIGINT
    TERMINATED = signal.SIGTERM
    DIVERGED = 100
    DISK = 101

    @property
    def exit_code(self) -> int:
        """For a signal 128 and its number, as a shell has it."""
        if self is Halt.NO:
            return 0
        return STOPPED if self in (Halt.DIVERGED, Halt.DISK) else 128 + self


class Job(NamedTuple):
    """A training with everything it needs, checked; nothing is written yet."""

    cfg: RunConfig
    task: Task
    mesh: Mesh
    runs: list[Run]
    pins: pins.Pins
    rivals: list[agents.Agent]
    packed: dict[str, np.ndarray] | None  # of the checkpoint to go on from
    start: Params | None  # parameters of another network to start from, or None


def main(
    config: type[ConfigT],
    make_task: Callable[[ConfigT], Task],
    description: str | None,
    presets: Mapping[str, ConfigT] | None = None,
    stages: Callable[[ConfigT], list[ConfigT]] = lambda cfg: [cfg],
) -> int:
    """A training script: settings from the command line, then the run; returns the exit code.

    The name of a preset may come first: its settings are then the defaults. Without one they suit the device. Settings
    may stand for several runs, one after another, each in a folder of its own: the same command again passes over those
    that are complete, and goes on where it was stopped.
    """
    known = dict(presets or {}) | {"narrow": config(), "wide": wide(config())}
    arguments = sys.argv[1:]
    default = known[arguments.pop(0)] if arguments and arguments[0] in known else None

    def read(default: ConfigT | None) -> ConfigT:
        return tyro.cli(config, args=arguments, default=default, description=description)  # type: ignore

    def begin() -> int:
        cfg = read(default)
        try:
            devices.join(resumed_config(cfg) if cfg.resume else cfg)
            if not cfg.resume and default is None and jax.default_backend() != "cpu":
                cfg = read(known["wide"])
                print(f"{jax.default_backend()}: wide settings; those of a CPU with {sys.argv[0]} narrow")
            planned = [resumed_config(cfg)] if cfg.resume else stages(cfg)
            for stage in planned:
                if len(planned) > 1 and (folder := pathlib.Path(stage.run)).exists():
                    if (folder / "evaluation.md").exists():
                        continue
                    stage = resumed_config(config(resume=stage.run))
                if code := drive(stage, make_task):
                    return code
        except jax.errors.JaxRuntimeError as error:
            if jax.process_count() == 1:
                raise
            devices.lost(error, cfg.resume or cfg.run)
        return 0

    return scripts.guarded(begin)


def drive(settings: ConfigT, make_task: Callable[[ConfigT], Task]) -> int:
    """Train to the end, or until it halts; returns the exit code. Bad input is a UserError, and nothing is written."""
    from rich.console import Console

    devices.join(settings)
    is_first = jax.process_index() == 0  # it alone writes, evaluates and speaks
    console = Console(quiet=not is_first)
    with requests() as asked, contextlib.ExitStack() as held:

        def hold(*folders: pathlib.Path) -> None:
            for folder in folders if is_first else ():
                held.enter_context(alone(folder))

        if settings.resume:
            together(lambda: hold(pathlib.Path(settings.resume)))
        job = together(lambda: prepare(settings, make_task, functools.partial(console.print, soft_wrap=True)))
        check_shared(job)
        cfg, task, runs = job.cfg, job.task, job.runs
        training = restored_or_new(job)
        together(lambda: open_folders(job) if is_first else None)
        if not cfg.resume:
            together(lambda: hold(*(run.folder for run in runs)))
        where = " ".join(str(run.folder) for run in runs)
        console.print(
            f"{task.env.id}: {cfg.updates} updates of {cfg.envs} games x {cfg.steps} decisions, in {where}",
            soft_wrap=True,
        )
        with console.status("compiling the training step"):
            began = time.perf_counter()
            call = compile_call(cfg, task, job.mesh, training)
        console.print(f"compiled in {time.perf_counter() - began:.0f} s")
        player = functools.partial(network_agent, task.model)
        match = make_match(task.env, player, job.rivals, cfg.evaluation_deals, task.protocol)
        with progress_bar(console, disable=not is_first) as bar:
            training, halt, sentence = train(job, training, call, match, asked, bar)
        if is_first and not halt:
            asked.at_once = True  # everything is saved
            halt, sentence = conclude(job, training, match, asked, console)
        if halt:
            resume = " or ".join(f"--resume {run.folder}" for run in runs)
            console.print(sentence if halt is Halt.DIVERGED else f"{sentence} Continue with {resume}", soft_wrap=True)
        return halt.exit_code


def together(act: Callable[[], T]) -> T:
    """`act()` in every process; if one of them refuses, all do."""
    refusal = None
    try:
        result = act()
    except UserError as error:
        refusal = error
    if devices.agree(refusal is not None):
        raise refusal or UserError("run: another process of this run refused to start; it says why")
    return result


def check_shared(job: Job) -> None:
    """A UserError unless all processes go on from the same checkpoint."""
    update = job.runs[0].restored
    if devices.agree(update != devices.agree(update)):
        folder = job.runs[0].folder
        raise UserError(f"resume: the processes see different checkpoints in {folder}: all must share that folder")


def prepare(cfg: ConfigT, make_task: Callable[[ConfigT], Task], say: Callable[[str], None]) -> Job:
    """Everything that can be wrong is found here."""
    mesh = devices.make_mesh(cfg.shards, jax.devices()[: 1 if cfg.seeds > 1 else None])
    cfg = dataclasses.replace(cfg, shards=cfg.shards or mesh.devices.size)
    devices.one_shard(cfg, cfg.shards)
    task = make_task(cfg)
    env = task.env
    opponents.check(task.mixture, env)
    runs = make_runs(cfg, task)
    packed = runs[0].restore(say) if cfg.resume else None
    own = (opponents.SELF, opponents.PAST)
    others = [kind for kind in task.mixture.kinds if kind not in own]
    networks = pins.networks_of([*cfg.rivals, *others], env)
    if cfg.start_from and packed is None:
        networks.append(cfg.start_from)
    held = runs[0].pins() if cfg.resume else pins.pin(networks)
    pins.check({network: held[network] for network in networks if network in held})
    kinds = tuple(kind if kind in own else pins.pinned(kind, env, held) for kind in task.mixture.kinds)
    task = dataclasses.replace(task, mixture=task.mixture._replace(kinds=kinds))
    return Job(
        cfg=cfg,
        task=task,
        mesh=mesh,
        runs=runs,
        pins=held,
        rivals=[agents.make(pins.pinned(spec, env, held), env) for spec in cfg.rivals],
        packed=packed,
        start=load_start(cfg, task, pins.held_to(cfg.start_from, held)) if cfg.start_from in networks else None,
    )


def load_start(cfg: RunConfig, task: Task, network: str) -> Params:
    """The parameters of another network, if this run can go on from them."""
    params = task.model.player.adopt(*load(network, task.env))
    like = jax.eval_shape(task.model.player.init, jax.random.key(0))
    if jax.tree.map(np.shape, params) != jax.tree.map(np.shape, like):
        raise UserError(
            f"config: start_from = {cfg.start_from} is a network with other inputs, widths or heads than this run"
        )
    return params


def make_runs(cfg: RunConfig, task: Task) -> list[Run]:
    """The run, or one for each of several seeds: an ordinary run in a folder of its own."""
    if cfg.seeds == 1:
        return [Run(cfg, task)]
    folder, seeds = cfg.run or new_name(task.env.id), range(cfg.seed, cfg.seed + cfg.seeds)
    return [Run(dataclasses.replace(cfg, seeds=1, seed=seed, run=f"{folder}/seed{seed}"), task) for seed in seeds]


def restored_or_new(job: Job) -> Training:
    """The training where the run stopped, or at its beginning, spread over the mesh; of several runs, [seed, ...]."""
    cfg, place = job.cfg, devices.placement(job.mesh)
    start = functools.partial(devices.start, cfg, job.task, cfg.shards)
    if job.packed is not None:
        like = jax.eval_shape(start, jax.random.key(0))
        return jax.jit(lambda packed: checkpoints.unpack(packed, like), out_shardings=place)(job.packed)
    begin = jax.jit(start, out_shardings=place)
    each = [begin(jax.random.key(run.cfg.seed)) for run in job.runs]
    if job.start is not None:
        each = [
            one._replace(learner=jax.device_put(ppo.starting(cfg, job.task, one.learner, job.start), place.learner))
            for one in each
        ]
    return each[0] if len(each) == 1 else jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)


def open_folders(job: Job) -> None:
    """A folder for a new run, the log of one that goes on."""
    for run in job.runs:
        if job.cfg.resume:
            run.continue_log()
        else:
            run.create(job.pins)


def compile_call(cfg: RunConfig, task: Task, mesh: Mesh, training: Training) -> Callable:
    """`training -> (training, measured)` for `report_every` updates, of one seed or of all at once."""

    def advance(training: Training):
        return devices.advance(cfg, task, cfg.shards, mesh, training, cfg.report_every)

    return jax.jit(advance if cfg.seeds == 1 else jax.vmap(advance), donate_argnums=0).lower(training).compile()


def train(
    job: Job, training: Training, call: Callable, match: Callable, asked: Asked, bar: "Progress"
) -> tuple[Training, Halt, str]:
    """All updates, or as many as it takes until something halts it; then a sentence says what."""
    cfg, runs = job.cfg, job.runs
    is_first = jax.process_index() == 0
    done, size = int(training.learner.updates.max()), cfg.seeds * cfg.envs * cfg.steps
    line = bar.add_task("", total=cfg.updates * size, completed=done * size, last="")
    halt, sentence = Halt.NO, ""
    while not (halt := Halt(devices.agree(halt or asked.signal))) and done < cfg.updates:
        began = time.perf_counter()
        with jax.transfer_guard("disallow"):
            training, measured = call(training)
        logs = [as_rows(one, done, cfg) for one in apart(jax.device_get(measured), runs)]
        done += cfg.report_every
        if trouble := find_trouble([row for rows in logs for row in rows]):
            advice = "A smaller learning_rate or max_gradient usually helps."
            return training, Halt.DIVERGED, f"Stopped: {trouble} The checkpoints before that are good. {advice}"
        for rows in logs:
            rows[-1]["seconds"] = time.perf_counter() - began
        if is_first and (done % cfg.evaluate_every == 0 or done == cfg.updates):
            found = evaluate(runs, training, match, 0, EVALUATION, cfg.evaluation_deals)
            for rows, one in zip(logs, found, strict=True):
                rows[-1] |= flatten(one)
            headline = job.task.protocol.headline
            last = f"{headline} {over_seeds(found)[headline][0]:.1f} vs {cfg.rivals[0]}"
            bar.update(line, last=last)
            if not bar.console.is_terminal:  # where the bar is not seen
                bar.console.print(f"{done * size:,} decisions: {last}", soft_wrap=True)
        bar.update(line, completed=done * size)
        is_due = done % cfg.checkpoint_every == 0 or done == cfg.updates
        halt, sentence = write(job, logs, training if is_due else None)
    if halt in (Halt.INTERRUPTED, Halt.TERMINATED):
        sentence = f"Stopped by {signal.Signals(halt).name} after {done} updates."
        failed, trouble = write(job, [[] for _ in runs], training)
        halt, sentence = Halt(devices.agree(failed or halt)), trouble or sentence
    return training, halt, sentence


def write(job: Job, logs: list[list[dict[str, float]]], training: Training | None) -> tuple[Halt, str]:
    """Log, and with a training also checkpoints, of every run; a disk that does not take them is a reason to halt."""
    whole = devices.gather(training, job.mesh) if training is not None else None  # by all processes
    if jax.process_index() > 0:
        return Halt.NO, ""
    try:
        for run, rows in zip(job.runs, logs, strict=True):
            run.log(rows)
        if whole is not None:
            for run, one in zip(job.runs, apart(whole, job.runs), strict=True):
                run.checkpoint(one)
    except OSError as error:
        return Halt.DISK, f"Stopped: {error}. What was saved before is whole. {remedy(error)}."
    return Halt.NO, ""


def apart(tree: TreeT, runs: list[Run]) -> list[TreeT]:
    """What belongs to each run, of a tree [seed, ...], or the tree of the only one."""
    return [tree] if len(runs) == 1 else [jax.tree.map(operator.itemgetter(i), tree) for i in range(len(runs))]


def evaluate(runs: list[Run], training: Training, match: Callable, rival: int, purpose: int, deals: int) -> list:
    """What the player of every run achieves. A run meets the same deals every time: its curve shows the player."""
    players = apart(jax.device_get(training.learner.params), runs)
    keys = [jax.random.key(run.cfg.seed + purpose) for run in runs]
    return [match(player, rival, key, deals) for player, key in zip(players, keys, strict=True)]


def conclude(job: Job, training: Training, match: Callable, asked: Asked, console: "Console") -> tuple[Halt, str]:
    """The final evaluation against every rival: on the terminal, and with the curve in every run's folder."""
    cfg, runs = job.cfg, job.runs
    try:
        with console.status("playing the final evaluation"):
            found = [evaluate(runs, training, match, i, FINAL, cfg.final_deals) for i in range(len(cfg.rivals))]
        whose = f"; mean of {len(runs)} seeds" if len(runs) > 1 else ""
        show(console, {spec: over_seeds(each) for spec, each in zip(cfg.rivals, found, strict=True)}, whose)
        for run, *lines in zip(runs, *found, strict=True):
            report = run.report(dict(zip(cfg.rivals, lines, strict=True)))
            newest = checkpoints.latest(run.folder)
            console.print(f"Curve {run.folder}/curve.png, checkpoint {newest}, report {report}", soft_wrap=True)
    except KeyboardInterrupt:
        return Halt(asked.signal), "The training is complete and saved; its final evaluation was stopped."
    except OSError as error:
        return Halt.DISK, f"The training is complete and saved, but not its report: {error}. {remedy(error)}."
    return Halt.NO, ""


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
    columns: dict[str, float] = {}
    for name, (mean, error) in found.items():
        columns |= {name: mean, f"{name}_error": error}
    return {name: value for name, value in columns.items() if math.isfinite(value)}


def progress_bar(console: "Console", disable: bool):
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


def show(console: "Console", lines: dict[str, Figures], whose: str = "") -> None:
    """The evaluation as a table on the terminal: a line for each figure."""
    from rich.table import Table

    shown = Table(title=f"one against the rest, whole games, every seat of the same deals{whose}")
    shown.add_column("")
    for spec in lines:
        shown.add_column(spec, justify="right")
    for name in next(iter(lines.values())):
        shown.add_row(name, *(cell(name, *found[name]) for found in lines.values()))
    console.print(shown)
