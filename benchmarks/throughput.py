"""Speed of random legal play: steps a second, compile seconds and bytes a state, for any game and beside a peer.

    python benchmarks/throughput.py --game skullking --peer oh_hell

One step is: the legal mask, a uniform legal action, `env.step`, and a restart of the games that ended (vector.py); with
`--observe` also the observation of the player to move. Compilation is measured apart. The best of several runs counts.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import platform
import time


def main() -> None:
    args = parse_arguments()
    import jax

    import jaxgames

    env = jaxgames.make(args.game, **dict(args.option))
    device = jax.devices()[0]
    report = {
        "game": args.game,
        "options": dict(args.option),
        "device": f"{device.platform} {device.device_kind}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "jax": jax.__version__,
        "peer": measure_peer(args.peer, args.seconds) if args.peer else None,
        "compile": {"batch": 4096, **compile_times(env, 4096)},
        "rows": [],
    }
    versions: list[str | None] = [None]
    if args.observe:
        versions.append(env.observation_versions[0] if args.observe == "default" else args.observe)
    for version in versions:
        for batch in args.batches:
            row = measure(env, batch, version, args.seconds)
            report["rows"].append(row)
            print(describe(row, report["peer"]), flush=True)
    write(report, pathlib.Path(args.out))


def parse_arguments() -> argparse.Namespace:
    from jaxgames.options import read_option

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="skullking")
    parser.add_argument("--option", type=read_option, action="append", default=[], help="name=value, as of make()")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16, 256, 4096, 65536])
    parser.add_argument("--observe", nargs="?", const="default", help="also build an observation each step")
    parser.add_argument("--peer", choices=["oh_hell", "skat"], help="OpenSpiel game to run first, on all cores")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long to measure each row")
    parser.add_argument("--out", default="runs/throughput.json", help="JSON file; the plot goes beside it")
    return parser.parse_args()


def measure(env, batch: int, version: str | None, seconds: float) -> dict:
    """Best steps/s of repeated compiled loops at one batch size."""
    import jax
    import jax.numpy as jnp

    from jaxgames import vector

    step = vector.make_step(env, batch)
    length = max(8, min(256, 262144 // batch))

    def loop(states, key):
        def turn(carry, _):
            states, key, checksum = carry
            key, act_key, deal_key = jax.random.split(key, 3)
            if version is not None:
                seen = jax.vmap(lambda s: env.observe(s, s.current_player, version))(states)
                checksum += sum(leaf.sum().astype(jnp.float32) for leaf in jax.tree.leaves(seen))
            states, played = step(states, vector.random_actions(env, states, act_key), deal_key)
            return (states, key, checksum + played.rewards.sum()), None

        return jax.lax.scan(turn, (states, key, jnp.float32(0)), None, length=length)[0]

    states = jax.jit(lambda key: vector.reset(env, key, batch))(jax.random.key(0))
    begin = time.perf_counter()
    run = jax.jit(loop, donate_argnums=0).lower(states, jax.random.key(1)).compile()
    compile_seconds = time.perf_counter() - begin
    # Games start together; a few hundred steps spread them over their length.
    key = jax.random.key(1)
    for _ in range(-(-min(env.max_steps, 512) // length)):
        states, key, _ = jax.block_until_ready(run(states, key))
    times: list[float] = []
    while sum(times) < seconds or len(times) < 3:
        begin = time.perf_counter()
        states, key, _ = jax.block_until_ready(run(states, key))
        times.append(time.perf_counter() - begin)
    return {
        "batch": batch,
        "observe": version,
        "steps_per_second": batch * length / min(times),
        "median_steps_per_second": batch * length / sorted(times)[len(times) // 2],
        "loop_compile_seconds": compile_seconds,
        "bytes_per_state": sum(leaf.nbytes for leaf in jax.tree.leaves(states)) // batch,
        "runs": len(times),
    }


def compile_times(env, batch: int) -> dict:
    """Seconds to lower and compile the batched step, and the batched init, alone."""
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(jax.random.key(0), batch)
    seconds = {}
    begin = time.perf_counter()
    init = jax.jit(jax.vmap(env.init)).lower(keys).compile()
    seconds["init_seconds"] = time.perf_counter() - begin
    states = init(keys)
    begin = time.perf_counter()
    jax.jit(jax.vmap(env.step)).lower(states, jnp.zeros(batch, jnp.int32)).compile()
    seconds["step_seconds"] = time.perf_counter() - begin
    return seconds


def measure_peer(name: str, seconds: float) -> dict:
    """OpenSpiel's uniformly random play, one process a core: decisions a second in all, chance moves not counted.

    Twice: driven from Python, as its users step a game, and inside its own C++ loop, where no caller sees a state.
    """
    cores = os.cpu_count() or 1
    jobs = [(name, seconds, seed) for seed in range(cores)]
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        from_python = sum(pool.starmap(peer_from_python, jobs))
        in_cpp = sum(pool.starmap(peer_in_cpp, jobs))
    result = {
        "name": f"OpenSpiel {name}",
        "processes": cores,
        "decisions_per_second": from_python,
        "decisions_per_second_in_cpp": in_cpp,
    }
    print(
        f"{result['name']} on {cores} processes: {from_python:,.0f} decisions/s driven from Python, "
        f"{in_cpp:,.0f} in its C++ loop",
        flush=True,
    )
    return result


def peer_from_python(name: str, seconds: float, seed: int) -> float:
    """Best decisions a second over chunks of games stepped from Python."""
    import random

    import pyspiel

    game, rng, best, begin = pyspiel.load_game(name), random.Random(seed), 0.0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        decisions, start = 0, time.perf_counter()
        for _ in range(100):
            state = game.new_initial_state()
            while not state.is_terminal():
                decisions += not state.is_chance_node()
                state.apply_action(rng.choice(state.legal_actions()))  # chance is uniform in both games
        best = max(best, decisions / (time.perf_counter() - start))
    return best


def peer_in_cpp(name: str, seconds: float, seed: int) -> float:
    """Best decisions a second of OpenSpiel's own random bots and game loop."""
    import pyspiel

    game = pyspiel.load_game(name)
    bots = [pyspiel.make_uniform_random_bot(player, seed) for player in range(game.num_players())]
    best, begin, number = 0.0, time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        states, start = [game.new_initial_state() for _ in range(200)], time.perf_counter()
        for state in states:
            number += 1
            pyspiel.evaluate_bots(state, bots, seed * 1_000_003 + number)
        elapsed = time.perf_counter() - start
        decisions = sum(move.player >= 0 for state in states for move in state.full_history())
        best = max(best, decisions / elapsed)
    return best


def describe(row: dict, peer: dict | None) -> str:
    beside = ""
    if peer:
        python, cpp = (row["steps_per_second"] / peer[f"decisions_per_second{where}"] for where in ("", "_in_cpp"))
        beside = f", {python:.1f} x {peer['name']} from Python, {cpp:.2f} x its C++ loop"
    return (
        f"batch {row['batch']:>6}, observation {row['observe'] or 'none'}: {row['steps_per_second']:>12,.0f} steps/s, "
        f"{1e9 / row['steps_per_second']:,.0f} ns a step, loop compiled in {row['loop_compile_seconds']:.1f} s, "
        f"{row['bytes_per_state']} bytes a state{beside}"
    )


def write(report: dict, path: pathlib.Path) -> None:
    """The figures as JSON and a log-log plot beside them."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for version in dict.fromkeys(row["observe"] for row in report["rows"]):
        rows = [row for row in report["rows"] if row["observe"] == version]
        label = f"with observation {version!r}" if version else "step only"
        axes.plot([r["batch"] for r in rows], [r["steps_per_second"] for r in rows], "o-", label=label)
    if report["peer"]:
        peer = report["peer"]
        axes.axhline(peer["decisions_per_second"], ls="--", color="grey", label=f"{peer['name']} from Python")
        axes.axhline(peer["decisions_per_second_in_cpp"], ls=":", color="grey", label=f"{peer['name']} in C++")
    axes.set(xscale="log", yscale="log", xlabel="games in the batch", ylabel="steps per second")
    axes.set_title(f"{report['game']}: random legal play, {report['device']}, {report['machine']}")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path.with_suffix(".png"), dpi=120)
    compiled = report["compile"]
    print(f"batched step compiled in {compiled['step_seconds']:.1f} s, init in {compiled['init_seconds']:.1f} s")
    print(f"wrote {path} and {path.with_suffix('.png')}")


if __name__ == "__main__":
    main()
