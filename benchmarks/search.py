"""What agents cost: CPU seconds a game with the agent in every seat, and decisions a CPU second.

    python benchmarks/search.py schafkopf pimc:10,40 rule random --games 64
    python benchmarks/search.py schafkopf pimc:10,40 --games 64 --cores 2
    python benchmarks/search.py schafkopf pimc:10,40 rule random --out costs.csv
    python train/tournament.py schafkopf pimc:10,40 rule random --costs costs.csv

CPU seconds of all threads, not seconds of a clock, so that a busy machine changes little. Games are played in one batch
after another of the same size; compilation is apart, and the best batch counts. With `--cores` a batch has so many
parts, each on a core of its own: the games a second of the clock show on a quiet machine whether that pays. With the
file a tournament puts what its agents cost beside what they achieve. Agents that are in the file already are measured
again and replaced.
"""

import argparse
import csv
import functools
import json
import pathlib
import resource
import time

import jax
import jax.numpy as jnp

import agents
import jaxgames
from jaxgames import vector
from jaxgames.options import read_option
from train.matches import play_in_shards
from train.standings import COSTS, read_costs


def main() -> None:
    args = parse_arguments()
    if args.cores > 1:
        vector.use_cores(args.cores)
    env = jaxgames.make(args.game, **dict(read_option(text) for text in args.option))
    found = {}
    print(
        f"{env.id}, {jax.devices()[0].device_kind}, {args.games} games at a time on {args.cores} cores, "
        f"jax {jax.__version__}"
    )
    for spec in args.agents:
        found[spec], compile_seconds, clock = measure(env, spec, args.games, args.runs, args.cores)
        cost = found[spec]
        print(
            f"{spec}: {cost['cpu_seconds_a_game']:.4f} CPU-s a game, {cost['decisions_a_game']:.1f} decisions, "
            f"{cost['decisions_a_cpu_second']:,.0f} decisions a CPU-s; compiled in {compile_seconds:.1f} CPU-s; "
            f"{args.games / clock:,.1f} games a second of the clock",
            flush=True,
        )
    if args.out:
        path = pathlib.Path(args.out)
        write(path, (read_costs(path) if path.exists() else {}) | found)
    if args.json:
        command = f"python benchmarks/search.py {env.id} {' '.join(args.agents)} --games {args.games}"
        agents_costs = {spec: [cost[name] for name in COSTS] for spec, cost in found.items()}
        report = {"game": env.id, "command": command, "agents": agents_costs}
        pathlib.Path(args.json).write_text(json.dumps(report, indent=1) + "\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game")
    parser.add_argument("agents", nargs="+", help="spec strings")
    parser.add_argument("--option", nargs="*", default=[], help="options of the game, each as name=value")
    parser.add_argument("--games", type=int, default=64, help="at a time")
    parser.add_argument("--runs", type=int, default=2, help="batches")
    parser.add_argument("--cores", type=int, default=1, help="parts of a batch, each on a core of its own")
    parser.add_argument("--out", default="", help="CSV file to write or to complete")
    parser.add_argument("--json", default="", help="JSON file to write, for the page of all speeds")
    return parser.parse_args()


def measure(env: jaxgames.Env, spec: str, games: int, runs: int, cores: int) -> tuple[dict[str, float], float, float]:
    """What the agent costs, the CPU seconds of compiling, and the seconds of the clock that a batch takes."""
    act = agents.make(spec, env)
    play = jax.jit(functools.partial(play_in_shards, env, (act,), None, cores))
    lineup = jnp.zeros((1, env.num_players), jnp.int32)

    def arguments(run: int):
        return jax.random.split(jax.random.key(run), games), lineup, jax.random.key(1000 + run)

    begin = cpu_seconds()
    compiled = play.lower(*arguments(0)).compile()
    compile_seconds = cpu_seconds() - begin
    seconds, clocks, steps = [], [], []
    for run in range(runs):
        begin, began = cpu_seconds(), time.perf_counter()
        states, *_ = jax.block_until_ready(compiled(*arguments(run)))
        seconds.append((cpu_seconds() - begin) / games)
        clocks.append(time.perf_counter() - began)
        steps.append(float(states.step_count.mean()))
    a_game, decisions = min(seconds), sum(steps) / runs
    return dict(zip(COSTS, (a_game, decisions, decisions / a_game), strict=True)), compile_seconds, min(clocks)


def cpu_seconds() -> float:
    """Of all threads of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def write(path: pathlib.Path, costs: dict[str, dict[str, float]]) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["agent", *COSTS])
        writer.writerows([agent, *(f"{cost[name]:.6g}" for name in COSTS)] for agent, cost in costs.items())


if __name__ == "__main__":
    main()
