"""Speed of a whole PPO update of Skull King beside its bound: the same network's forward and backward passes alone.

    python benchmarks/ppo.py --epochs 2 --out docs/results/throughput/ppo.json
    python benchmarks/ppo.py --epochs 4

The bound makes exactly the passes that an update cannot do without, at the same sizes: one forward pass of the games
for every decision, then forward and backward over every minibatch of every epoch. It has no game, no observation, no
choice of actions, no loss but a sum, no optimiser. Both run in turns in one process; the best of several runs counts.
"""

import argparse
import json
import os
import pathlib
import platform
import time

import jax
import jax.numpy as jnp

from train import ppo
from train.ppo_skullking import Config, make_task


def main() -> None:
    args = parse_arguments()
    cfg = Config(epochs=args.epochs, envs=args.envs, steps=args.steps, minibatches=args.minibatches, widths=args.widths)
    task = make_task(cfg)
    training = jax.jit(lambda key: ppo.start(cfg, task, key))(jax.random.key(0))
    begin = time.perf_counter()
    update = jax.jit(lambda training: ppo.update(cfg, task, training), donate_argnums=0).lower(training).compile()
    compile_seconds = time.perf_counter() - begin
    collect = jax.jit(
        lambda training: ppo.collect(cfg, task, training.learner, training.games.tables, training.games.key)
    )
    params = jax.tree.map(jnp.copy, training.learner.params)
    passes = jax.jit(lambda params: bound(cfg, task, params))
    seconds: dict[str, list[float]] = {"update": [], "collect": [], "bound": []}
    for turn in range(args.runs + 1):
        (training, _), update_time = timed(update, training)
        times = {"update": update_time, "collect": timed(collect, training)[1], "bound": timed(passes, params)[1]}
        for name, each in times.items():
            seconds[name] += [each] if turn else []  # the first turn warms up
    best = {name: min(each) for name, each in seconds.items()}
    size = cfg.envs * cfg.steps
    report = {
        "device": jax.devices()[0].device_kind,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "jax": jax.__version__,
        "config": {name: getattr(cfg, name) for name in ("envs", "steps", "epochs", "minibatches", "widths")},
        "compile_seconds": compile_seconds,
        "decisions_per_second": size / best["update"],
        "bound_decisions_per_second": size / best["bound"],
        "ratio": best["bound"] / best["update"],
        "rollout_and_advantages_seconds": best["collect"],
        "update_seconds": best["update"],
        "bound_seconds": best["bound"],
    }
    print(json.dumps(report, indent=1))
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(report, indent=1) + "\n")


def parse_arguments() -> argparse.Namespace:
    default = Config()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("epochs", "envs", "steps", "minibatches"):
        parser.add_argument(f"--{name}", type=int, default=getattr(default, name))
    parser.add_argument("--widths", type=int, nargs="+", default=default.widths)
    parser.add_argument("--runs", type=int, default=5, help="timed repetitions")
    parser.add_argument("--out", default="", help="JSON file to write")
    args = parser.parse_args()
    args.widths = tuple(args.widths)
    return args


def bound(cfg: Config, task: ppo.Task, params):
    """The network's passes of one update and nothing else; the result depends on all of them."""
    (size,) = task.model.view_shapes().shape
    apply = task.model.read

    def forward(total, _):
        # The observation depends on what came before, so that no pass can be moved out of the loop.
        out = apply(params, jnp.full((cfg.envs, size), total * 1e-9))
        return total + out.value.sum() + out.heads.sum(), None

    def objective(params, seen):
        out = apply(params, seen)
        return out.value.sum() + out.heads.sum()

    def backward(params, _):
        seen = jnp.full((cfg.rows, size), jax.tree.leaves(params)[0].ravel()[0] * 1e-9)
        gradient = jax.grad(objective)(params, seen)
        return jax.tree.map(lambda p, g: p - 1e-12 * g, params, gradient), None

    total, _ = jax.lax.scan(forward, jnp.float32(0), length=cfg.steps)
    params, _ = jax.lax.scan(backward, params, length=cfg.epochs * cfg.minibatches)
    return total, params


def timed(function, *args):
    begin = time.perf_counter()
    result = jax.block_until_ready(function(*args))
    return result, time.perf_counter() - begin


if __name__ == "__main__":
    main()
