"""Speed and memory of a whole PPO update of each game beside its bound: the same network's passes alone.

    python benchmarks/training.py --out docs/results/throughput       # the default run of every page: JSON and the page
    python benchmarks/training.py --before ../jaxgames-0.2            # first that checkout's own figures of Skull King
    python benchmarks/training.py skullking --set epochs=4
    python benchmarks/training.py skullking --set cores=2
    python benchmarks/training.py saboteur --preset full --set network=hybrid

The bound makes exactly the passes that an update cannot do without, at the same sizes: one forward pass of the games
for every decision, then forward and backward over every minibatch of every epoch. It has no game, no observation, no
choice of actions, no loss but a sum, no optimiser, and no device waits for another. Both run in turns in one process,
one for each game; the best of several runs counts. Seconds are those of the clock, or with `--cpu` those that the
process computed, on a machine that others use too.
"""

import argparse
import dataclasses
import importlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from agents.networks import Params
from jaxgames.env import TreeT
from jaxgames.options import read_option
from train import devices, ppo
from train.settings import PPO, RunConfig

PAGES = ("skullking", "schafkopf", "skyjo", "saboteur", "magictrick")


def main() -> None:
    args = parse_arguments()
    if args.child:
        print(json.dumps(one_page(args.child, args)))
        return
    found: dict[str, dict[str, Any]] = {}
    if args.before:
        found["ppo_before"] = of_checkout(args.before)
    for page in args.pages or PAGES:
        command = [sys.executable, __file__, *sys.argv[1:], "--child", page]
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1]
        print(said, flush=True)
        name = "_".join(filter(None, ["ppo", page, args.preset, *args.set])).replace("=", "_")
        found[name] = json.loads(said)
    if args.out:
        from benchmarks import report

        for name, each in found.items():
            (pathlib.Path(args.out) / f"{name}.json").write_text(json.dumps(each, indent=1) + "\n")
        report.write(pathlib.Path(args.out))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", help=f"of {', '.join(PAGES)}; without any, all of them")
    parser.add_argument("--preset", default="", help="a preset of the page")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the page")
    parser.add_argument("--runs", type=int, default=5, help="timed repetitions")
    parser.add_argument("--seconds", type=float, default=40.0, help="after which no further repetition begins")
    parser.add_argument("--cpu", action="store_true", help="count the seconds of the process")
    parser.add_argument("--before", default="", help="checkout with a benchmarks/ppo.py, which is run first")
    parser.add_argument("--out", default="", help="folder for a JSON file of each page; the page of all goes beside it")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


def of_checkout(checkout: str) -> dict[str, Any]:
    """What an earlier release says of its own update of Skull King, by its own script."""
    root = pathlib.Path(checkout).resolve()
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "ppo.json"
        command = [sys.executable, str(root / "benchmarks" / "ppo.py"), "--epochs", "2", "--out", str(out)]
        subprocess.run(command, env=os.environ | {"PYTHONPATH": str(root)}, stdout=subprocess.DEVNULL, check=True)
        found = {"game": "skullking", "before": True, **json.loads(out.read_text())}
    print(json.dumps(found), flush=True)
    return found


def one_page(page: str, args: argparse.Namespace) -> dict[str, Any]:
    """What is measured of one game's training."""
    script = importlib.import_module(f"train.ppo_{page}")
    cfg = with_settings(script.PRESETS[args.preset] if args.preset else script.Config(), args.set)
    devices.join(cfg)
    clock = time.process_time if args.cpu else time.perf_counter
    return {
        "game": page,
        "preset": args.preset,
        "settings": args.set,
        "device": jax.devices()[0].device_kind,
        "devices": len(jax.devices()),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "jax": jax.__version__,
        "clock": "seconds of the process" if args.cpu else "seconds of the clock",
        **measured(cfg, script.make_task(cfg), args.runs, args.seconds, clock),
    }


def with_settings(cfg: RunConfig, texts: list[str]) -> RunConfig:
    """The configuration with these settings instead of its own."""
    settings: dict[str, Any] = dict(read_option(text) for text in texts)
    return dataclasses.replace(cfg, **settings)


def measured(cfg: RunConfig, task: ppo.Task, runs: int, seconds: float, clock: Callable[[], float]) -> dict[str, Any]:
    """Decisions a second of an update and of its bound, and the memory that XLA gives it; one shard on each device."""
    mesh = devices.make_mesh(0)
    shards = mesh.devices.size
    local = devices.one_shard(cfg, shards)
    training = jax.jit(lambda key: devices.start(cfg, task, shards, key), out_shardings=devices.placement(mesh))(
        jax.random.key(0)
    )
    begin = clock()
    update = (
        jax.jit(lambda training: devices.advance(cfg, task, shards, mesh, training, 1), donate_argnums=0)
        .lower(training)
        .compile()
    )
    compile_seconds = clock() - begin
    collect = spread(mesh, lambda learner, games: ppo.collect(local, task, learner, games.tables, games.key))
    passes = spread(mesh, lambda learner, games: bound(local, task, learner.params))
    times: dict[str, list[float]] = {"update": [], "collect": [], "bound": []}
    began = time.perf_counter()
    for turn in range(runs + 1):
        (training, _), update_time = timed(clock, update, training)
        turns = update_time, timed(clock, collect, *training)[1], timed(clock, passes, *training)[1]
        for name, each in zip(times, turns, strict=True):
            times[name] += [each] if turn else []  # the first turn warms up
        if turn and time.perf_counter() - began > seconds:
            break
    best = {name: min(each) for name, each in times.items()}
    size = cfg.envs * cfg.steps
    memory: Any = update.memory_analysis()
    return {
        "network": type(task.model.network).__name__,
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(training.learner.params)),
        "config": {name: getattr(cfg, name) for name in ("envs", "steps", "epochs", "minibatches")},
        "compile_seconds": round(compile_seconds, 1),
        "decisions_per_second": round(size / best["update"]),
        "bound_decisions_per_second": round(size / best["bound"]),
        "ratio": round(best["bound"] / best["update"], 3),
        "rollout_share": round(best["collect"] / best["update"], 3),
        "update_seconds": round(best["update"], 3),
        "megabytes": round((memory.temp_size_in_bytes + memory.argument_size_in_bytes) / 1e6),
        "runs": len(times["update"]),
    }


def spread(mesh: Mesh, work: Callable[[ppo.Learner, ppo.Games], TreeT]) -> Callable[..., TreeT]:
    """`work` on the games of every device at the same time."""

    def on_one(learner: ppo.Learner, games: ppo.Games) -> TreeT:
        result = work(learner, jax.tree.map(lambda leaf: leaf[0], games))
        return jax.tree.map(lambda leaf: leaf[None], result)

    in_specs = (P(), P("device"))
    return jax.jit(jax.shard_map(on_one, mesh=mesh, in_specs=in_specs, out_specs=P("device"), check_vma=False))


def bound(cfg: PPO, task: ppo.Task, params: Params) -> tuple[chex.Array, Params]:
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


def timed(clock: Callable[[], float], function: Callable[..., TreeT], *args: object) -> tuple[TreeT, float]:
    begin = clock()
    result = jax.block_until_ready(function(*args))
    return result, clock() - begin


if __name__ == "__main__":
    main()
