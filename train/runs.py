"""A training from the command line: from settings to a report, and how it stops in between."""

import contextlib
import dataclasses
import functools
import math
import operator
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import agents
from agents import checkpoints
from agents.networks import load_network, network_agent
from train import devices, opponents
from train.evaluate import Figures, cell, make_match, over_seeds
from train.folders import Run, new_name
from train.ppo import Task, Training
from train.settings import RunConfig

BAD_INPUT, INTERRUPTED, DIVERGED = 2, 130, 1
LARGEST_LOSS = 1e4
EVALUATION, FINAL = 1, 2  # added to the seed: deals on the way and at the end


def drive(cfg: RunConfig, make_task: Callable[[RunConfig], Task]) -> int:
    """Train to the end, or to an interruption; returns the exit code. Bad input is a ValueError, nothing written."""
    from rich.console import Console

    if cfg.coordinator:
        jax.distributed.initialize(cfg.coordinator, cfg.processes, cfg.process)
    mesh = devices.make_mesh(cfg.shards, jax.devices()[: 1 if cfg.seeds > 1 else None])
    cfg = dataclasses.replace(cfg, shards=cfg.shards or mesh.devices.size)
    devices.one_shard(cfg, cfg.shards)
    task = make_task(cfg)
    is_first = jax.process_index() == 0  # it alone writes, evaluates and speaks
    console = Console(quiet=not is_first)
    runs = make_runs(cfg, task)
    rivals = [agents.make(spec, task.env) for spec in cfg.rivals]
    opponents.check(task.mixture, task.env)
    training = restored_or_new(cfg, task, runs, mesh)
    if is_first and not cfg.resume:
        for run in runs:
            run.create()
    where = " ".join(str(run.folder) for run in runs)
    console.print(f"{task.env.id}: {cfg.updates} updates of {cfg.envs} games x {cfg.steps} decisions, in {where}")
    with console.status("compiling the training step"):
        began = time.perf_counter()
        call = compile_call(cfg, task, mesh, training)
    console.print(f"compiled in {time.perf_counter() - began:.0f} s")
    match = make_match(task.env, functools.partial(network_agent, task.env, task.network), rivals, cfg.evaluation_deals)
    with interruption() as stop, progress_bar(console, disable=not is_first) as bar:
        done = int(training.learner.updates.max())
        size = cfg.seeds * cfg.envs * cfg.steps
        line = bar.add_task("", total=cfg.updates * size, completed=done * size, last="")
        while done < cfg.updates and not stop:
            began = time.perf_counter()
            with jax.transfer_guard("disallow"):
                training, measured = call(training)
            logs = [as_rows(one, done, cfg) for one in apart(jax.device_get(measured), runs)]
            done += cfg.report_every
            trouble = find_trouble([row for rows in logs for row in rows])
            if trouble:
                bar.stop()
                console.print(
                    f"Stopped: {trouble} The last good checkpoint, if there is one, is below {where}. "
                    "A smaller learning_rate or max_gradient usually helps."
                )
                return DIVERGED
            for rows in logs:
                rows[-1]["seconds"] = time.perf_counter() - began
            if is_first and (done % cfg.evaluate_every == 0 or done == cfg.updates):
                found = evaluate(runs, training, match, 0, EVALUATION, cfg.evaluation_deals)
                for rows, one in zip(logs, found, strict=True):
                    rows[-1] |= flatten(one)
                bar.update(line, last=f"wins {over_seeds(found)['wins_percent'][0]:.0f}% vs {cfg.rivals[0]}")
            if is_first:
                for run, rows in zip(runs, logs, strict=True):
                    run.log(rows)
            bar.update(line, completed=done * size)
            if done % cfg.checkpoint_every == 0:
                save(runs, training, mesh)
    save(runs, training, mesh)
    if is_first:
        for run in runs:
            run.tensorboard.close()
    if stop:
        commands = ", ".join(f"--resume {run.folder}" for run in runs)
        console.print(f"Interrupted after {done} updates. Continue with {commands}")
        return INTERRUPTED
    if is_first:
        conclude(cfg, runs, training, match, console)
    return 0


def make_runs(cfg: RunConfig, task: Task) -> list[Run]:
    """The run, or one for each of several seeds: an ordinary run in a folder of its own."""
    if cfg.seeds == 1:
        return [Run(cfg, task)]
    folder, seeds = cfg.run or new_name(task.env.id), range(cfg.seed, cfg.seed + cfg.seeds)
    return [Run(dataclasses.replace(cfg, seeds=1, seed=seed, run=f"{folder}/seed{seed}"), task) for seed in seeds]


def restored_or_new(cfg: RunConfig, task: Task, runs: list[Run], mesh: Any) -> Training:
    """The training where the run stopped, or at its beginning, spread over the mesh; of several runs, [seed, ...]."""
    place = devices.placement(mesh)
    start = functools.partial(devices.start, cfg, task, cfg.shards)
    like = jax.eval_shape(start, jax.random.key(0))
    if cfg.resume:
        return jax.jit(lambda packed: checkpoints.unpack(packed, like), out_shardings=place)(runs[0].restore())
    params = load_network(cfg.start_from, task.env)[1] if cfg.start_from else None
    if params and jax.tree.map(np.shape, params) != jax.tree.map(np.shape, like.learner.params):
        raise ValueError(f"config: start_from = {cfg.start_from} is a network with other widths or heads than this run")
    start = jax.jit(start, out_shardings=place)
    each = [start(jax.random.key(run.cfg.seed)) for run in runs]
    if params:
        pool = opponents.make_pool(params, cfg.pool)
        given = jax.device_put((params, pool), place.learner)
        each = [one._replace(learner=one.learner._replace(params=given[0], pool=given[1])) for one in each]
    return each[0] if len(runs) == 1 else jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)


def compile_call(cfg: RunConfig, task: Task, mesh: Any, training: Training) -> Callable:
    """`training -> (training, measured)` for `report_every` updates, of one seed or of all at once."""

    def advance(training: Training):
        return devices.advance(cfg, task, cfg.shards, mesh, training, cfg.report_every)

    return jax.jit(advance if cfg.seeds == 1 else jax.vmap(advance), donate_argnums=0).lower(training).compile()


def apart(tree: Any, runs: list[Run]) -> list[Any]:
    """What belongs to each run, of a tree [seed, ...], or the tree of the only one."""
    return [tree] if len(runs) == 1 else [jax.tree.map(operator.itemgetter(i), tree) for i in range(len(runs))]


def evaluate(runs: list[Run], training: Training, match: Callable, rival: int, purpose: int, deals: int) -> list:
    """What the player of every run achieves. A run meets the same deals every time: its curve shows the player."""
    players = apart(jax.device_get(training.learner.params), runs)
    keys = [jax.random.key(run.cfg.seed + purpose) for run in runs]
    return [match(player, rival, key, deals) for player, key in zip(players, keys, strict=True)]


def conclude(cfg: RunConfig, runs: list[Run], training: Training, match: Callable, console: Any) -> None:
    """The final evaluation against every rival: on the terminal, and with the curve in every run's folder."""
    with console.status("playing the final evaluation"):
        found = [evaluate(runs, training, match, i, FINAL, cfg.final_deals) for i in range(len(cfg.rivals))]
    whose = f"; mean of {len(runs)} seeds" if len(runs) > 1 else ""
    show(console, {spec: over_seeds(each) for spec, each in zip(cfg.rivals, found, strict=True)}, whose)
    for run, *lines in zip(runs, *found, strict=True):
        report = run.report(dict(zip(cfg.rivals, lines, strict=True)))
        console.print(f"Curve {run.folder}/curve.png, checkpoint {run.newest()}, report {report}")


def save(runs: list[Run], training: Training, mesh: Any) -> None:
    """A checkpoint of every run."""
    for run, one in zip(runs, apart(training, runs), strict=True):
        run.checkpoint(one, mesh)


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


def show(console: Any, lines: dict[str, Figures], whose: str = "") -> None:
    """The evaluation as a table on the terminal: a line for each figure."""
    from rich.table import Table

    shown = Table(title=f"one against the rest, whole games, every seat of the same deals{whose}")
    shown.add_column("")
    for spec in lines:
        shown.add_column(spec, justify="right")
    for name in next(iter(lines.values())):
        shown.add_row(name, *(cell(name, *found[name]) for found in lines.values()))
    console.print(shown)
