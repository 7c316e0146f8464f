"""Speed and memory of a whole PPO update of each game beside its bound: the same network's passes alone.

    python benchmarks/training.py                                     # the default run of every page
    python benchmarks/training.py skullking --set epochs=4
    python benchmarks/training.py saboteur --set network=hybrid --set envs=512 --out docs/results/throughput

The bound makes exactly the passes that an update cannot do without, at the same sizes: one forward pass of the games
for every decision, then forward and backward over every minibatch of every epoch. It has no game, no observation, no
choice of actions, no loss but a sum, no optimiser. Both run in turns in one process; the best of several runs counts.
Seconds are those of the clock, or with `--cpu` those that the process computed, on a machine that others use too.
"""

import argparse
import dataclasses
import functools
import importlib
import json
import os
import pathlib
import platform
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxgames.options import read_option
from train import ppo
from train.settings import RunConfig

PAGES = ("skullking", "schafkopf", "skyjo", "saboteur", "magictrick")


def main() -> None:
    args = parse_arguments()
    clock = time.process_time if args.cpu else time.perf_counter
    machine: dict[str, Any] = {
        "device": jax.devices()[0].device_kind,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "jax": jax.__version__,
        "clock": "seconds of the process" if args.cpu else "seconds of the clock",
    }
    for page in args.pages or PAGES:
        script = importlib.import_module(f"train.ppo_{page}")
        default = script.PRESETS[args.preset] if args.preset else script.Config()
        cfg = with_settings(default, args.set)
        report = {"game": page, **machine, **measured(cfg, script.make_task(cfg), args.runs, clock)}
        print(json.dumps(report, indent=1), flush=True)
        if args.out:
            path = pathlib.Path(args.out) / f"ppo_{page}{'_' + args.preset if args.preset else ''}.json"
            path.write_text(json.dumps(report, indent=1) + "\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", help=f"of {', '.join(PAGES)}; without any, all of them")
    parser.add_argument("--preset", default="", help="a preset of the page")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the page")
    parser.add_argument("--runs", type=int, default=5, help="timed repetitions")
    parser.add_argument("--cpu", action="store_true", help="count the seconds of the process")
    parser.add_argument("--out", default="", help="folder for a JSON file of each page")
    return parser.parse_args()


def with_settings(cfg: RunConfig, texts: list[str]) -> RunConfig:
    """The configuration with these settings instead of its own."""
    settings: dict[str, Any] = dict(read_option(text) for text in texts)
    return dataclasses.replace(cfg, **settings)


def measured(cfg: RunConfig, task: ppo.Task, runs: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Decisions a second of an update and of its bound, and the memory that XLA gives it."""
    training = jax.jit(lambda key: ppo.start(cfg, task, key))(jax.random.key(0))
    begin = clock()
    update = jax.jit(lambda training: ppo.update(cfg, task, training), donate_argnums=0).lower(training).compile()
    compile_seconds = clock() - begin
    collect = jax.jit(
        lambda training: ppo.collect(cfg, task, training.learner, training.games.tables, training.games.key)
    )
    params = jax.tree.map(jnp.copy, training.learner.params)
    passes = jax.jit(functools.partial(bound, cfg, task))
    seconds: dict[str, list[float]] = {"update": [], "collect": [], "bound": []}
    for turn in range(runs + 1):
        (training, _), update_time = timed(clock, update, training)
        times = {
            "update": update_time,
            "collect": timed(clock, collect, training)[1],
            "bound": timed(clock, passes, params)[1],
        }
        for name, each in times.items():
            seconds[name] += [each] if turn else []  # the first turn warms up
    best = {name: min(each) for name, each in seconds.items()}
    size = cfg.envs * cfg.steps
    memory: Any = update.memory_analysis()
    return {
        "network": type(task.model.network).__name__,
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(params)),
        "config": {name: getattr(cfg, name) for name in ("envs", "steps", "epochs", "minibatches")},
        "compile_seconds": round(compile_seconds, 1),
        "decisions_per_second": round(size / best["update"]),
        "bound_decisions_per_second": round(size / best["bound"]),
        "ratio": round(best["bound"] / best["update"], 3),
        "rollout_share": round(best["collect"] / best["update"], 3),
        "update_seconds": round(best["update"], 3),
        "megabytes": round((memory.temp_size_in_bytes + memory.argument_size_in_bytes) / 1e6),
    }


def bound(cfg: RunConfig, task: ppo.Task, params: Any) -> Any:
    """The network's passes of one update and nothing else; the result depends on all of them."""
    model, shapes = task.model, task.model.view_shapes()

    def total(params, count, seed):
        """What the network says to a batch of views that depend on `seed`: no pass can be moved out of its loop."""
        views = jax.tree.map(
            lambda leaf: jnp.broadcast_to((seed * 1e-9).astype(leaf.dtype), (count, *leaf.shape)), shapes
        )
        out = jax.vmap(lambda view: model.read(params, view))(views)
        return out.value.sum() + sum(leaf.sum() for leaf in jax.tree.leaves(out.heads))

    def forward(sum_so_far, _):
        return sum_so_far + total(params, cfg.envs, sum_so_far), None

    def backward(params, _):
        seed = jax.lax.stop_gradient(jax.tree.leaves(params)[0].ravel()[0])
        gradient = jax.grad(total)(params, cfg.rows, seed)
        return jax.tree.map(lambda p, g: p - 1e-12 * g, params, gradient), None

    said, _ = jax.lax.scan(forward, jnp.float32(0), length=cfg.steps)
    params, _ = jax.lax.scan(backward, params, length=cfg.epochs * cfg.minibatches)
    return said, params


def timed(clock: Callable[[], float], function: Callable, *args: Any) -> tuple[Any, float]:
    begin = clock()
    result = jax.block_until_ready(function(*args))
    return result, clock() - begin


if __name__ == "__main__":
    main()
