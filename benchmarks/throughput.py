"""Speed of random legal play, of any game or of all of them beside their peers.

    python benchmarks/throughput.py --all --before ../jaxgames-0.2    # a quarter of an hour: JSON, plots and the page
    python benchmarks/throughput.py --game skullking --batches 4096 --observe --peer oh_hell
    python benchmarks/throughput.py --device                          # a minute on a GPU: one line for the page

One step is: the legal mask, a uniform legal action, `env.step`, and a restart of the games that ended (vector.py); with
an observation also that of the player to move. The games play in parts on all devices (`vector.shard`), and every core
of a CPU is a device; `--one-part` leaves them together on one. Compilation is measured apart. The best of several runs
counts. Every game is measured in a process of its own. `--all` goes on with the training of every game (training.py)
and with what a search costs (search.py).
"""

import argparse
import itertools
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jaxgames import Env

PAGE = pathlib.Path("docs/results/throughput")


class Rows(NamedTuple):
    """What is measured of a game."""

    game: str
    options: dict[str, object] = {}  # noqa: RUF012
    batches: tuple[int, ...] = (256, 4096, 65536)
    observe: tuple[int, ...] = (4096, 65536)  # batches that are measured with an observation as well
    peer: str = "oh_hell"  # of OpenSpiel


ALL = (
    Rows("skullking"),
    Rows("schafkopf", peer="skat"),
    Rows("skyjo", {"num_players": 2}),
    Rows("magictrick"),
    Rows("saboteur", batches=(256, 4096), observe=()),
)
SEARCH = ("schafkopf", "pimc:10,40", "rule", "random")


def main() -> None:
    args = parse_arguments()
    if args.child:
        print(json.dumps(child(json.loads(args.child))))
    elif args.device:
        print(device_line(args.seconds))
    else:
        everything(args) if args.all else one_game(args)


def parse_arguments() -> argparse.Namespace:
    from jaxgames.options import read_option

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every game, every peer, the page")
    parser.add_argument("--device", action="store_true", help="two rows on the default device, as a line to paste")
    parser.add_argument("--before", default="", help="checkout whose figures stand beside ours in the page")
    parser.add_argument("--game", default="skullking")
    parser.add_argument("--option", type=read_option, action="append", default=[], help="name=value, as of make()")
    parser.add_argument("--batches", type=int, nargs="+", default=[256, 4096, 65536])
    parser.add_argument("--observe", action="store_true", help="also with the default observation")
    parser.add_argument("--one-part", action="store_true", help="all games on one device")
    parser.add_argument("--peer", default="", help="OpenSpiel game to run first, on all cores")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to measure each row")
    parser.add_argument("--out", default="", help="folder for the JSON files; the page goes beside it")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


def one_game(args: argparse.Namespace) -> None:
    if args.peer:
        from benchmarks import peers

        print(json.dumps(peers.open_spiel(args.peer, args.seconds)), flush=True)
    report = in_process(
        game=args.game,
        options=dict(args.option),
        rows=[
            (batch, seen, 1 if args.one_part else None)
            for seen in (False, True)[: 1 + args.observe]
            for batch in args.batches
        ],
        seconds=args.seconds,
    )
    if args.out:
        write(pathlib.Path(args.out), args.game, report)


def everything(args: argparse.Namespace) -> None:
    """Peers, every game, every training, a search; with `--before` also the rows of another checkout, in one part."""
    from benchmarks import peers, report

    folder = pathlib.Path(args.out or PAGE)
    began, load = time.perf_counter(), round(os.getloadavg()[0], 2)
    beside = []
    for name in peers.OPEN_SPIEL:
        beside.append(peers.open_spiel(name, args.seconds))
        print(json.dumps(beside[-1]), flush=True)
    for name in peers.PGX:
        row = in_process(pgx=name, rows=[(4096, False, None)], seconds=args.seconds)["rows"][0]
        beside.append({"name": name, "library": "pgx", "decisions_per_second": row["steps_per_second"]})
    command = f"python benchmarks/throughput.py --all{' --before <checkout>' if args.before else ''}"
    write(folder, "peers", {"load": load, "command": command, "peers": beside})
    for wanted in ALL:
        rows = [(batch, False, None) for batch in wanted.batches] + [(4096, False, 1)]
        rows += [(batch, True, None) for batch in wanted.observe]
        found = in_process(game=wanted.game, options=wanted.options, rows=rows, seconds=args.seconds)
        found["peer"] = wanted.peer
        if args.before:
            earlier = [(batch, False, 1) for batch in wanted.batches] + [(4096, True, 1) for _ in wanted.observe[:1]]
            before = in_process(
                args.before, game=wanted.game, options=wanted.options, rows=earlier, seconds=args.seconds
            )
            found["before"], found["before_program"] = before["rows"], before["program"]
        write(folder, wanted.game, found)
    beside_them("search.py", *SEARCH, "--json", str(folder / "search.json"))
    beside_them("training.py", "--out", str(folder), *(["--before", args.before] if args.before else []))
    print(f"measured in {time.perf_counter() - began:.0f} s")
    report.write(folder)


def beside_them(script: str, *arguments: str) -> None:
    """Another benchmark, in a process of its own."""
    subprocess.run([sys.executable, str(pathlib.Path(__file__).parent / script), *arguments], check=True)


def in_process(checkout: str = "", **wanted: object) -> dict[str, Any]:
    """`child(wanted)` in a fresh process, with the library of this checkout or of another."""
    root = pathlib.Path(checkout or pathlib.Path(__file__).parent.parent).resolve()
    command = [sys.executable, __file__, "--child", json.dumps(wanted)]
    found = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(root)}, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(found.stdout.splitlines()[-1])


def child(wanted: dict[str, Any]) -> dict[str, Any]:
    """The rows [(batch, with observation, shards)] of one game."""
    import jax

    from jaxgames import vector

    jax.config.update("jax_enable_compilation_cache", False)
    if hasattr(vector, "use_cores"):
        vector.use_cores()
    env, is_ours = make(wanted)
    found: dict[str, Any] = {
        "game": wanted.get("game", wanted.get("pgx")),
        "options": wanted.get("options", {}),
        "device": f"{jax.devices()[0].platform} {jax.devices()[0].device_kind}",
        "devices": len(jax.devices()),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "jax": jax.__version__,
        "program": program(env, 4096) if is_ours else {},
        "rows": [],
    }
    for batch, observe, shards in wanted["rows"]:
        version = env.observation_versions[0] if observe else None
        row = measure(env, batch, version, shards, wanted["seconds"])
        found["rows"].append(row)
        print(f"{found['game']}: {describe(row)}", file=sys.stderr, flush=True)
    return found


def make(wanted: dict[str, Any]) -> tuple["Env", bool]:
    if "pgx" in wanted:
        from benchmarks import peers

        return peers.make_pgx(wanted["pgx"]), False  # type: ignore[return-value]  # as much of one as is asked here
    import jaxgames

    return jaxgames.make(wanted["game"], **wanted["options"]), True


def measure(env: "Env", batch: int, version: str | None, shards: int | None, seconds: float) -> dict[str, Any]:
    """Best steps/s of repeated compiled loops at one batch size."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    from jaxgames import vector

    parts = 1 if not hasattr(vector, "shard") else shards or vector.usual_parts(batch)
    # What a call allocates is paid by the page: short loops of large batches would measure that.
    length = max(32, min(128, 262144 // batch))
    step = vector.make_step(env, batch // parts)

    def loop(states, key):
        def turn(carry, keys):
            states, checksum = carry
            act_key, deal_key = keys
            if version is not None:
                seen = jax.vmap(lambda s: env.observe(s, s.current_player, version))(states)
                checksum += sum(leaf.sum().astype(jnp.float32) for leaf in jax.tree.leaves(seen))
            states, played = step(states, vector.random_actions(env, states, act_key), deal_key)
            return (states, checksum + played.rewards.sum()), None

        return jax.lax.scan(turn, (states, jnp.float32(0)), jax.random.split(key, (length, 2)))[0]

    spread = vector.shard(loop, parts) if parts > 1 else loop
    states = jax.jit(lambda key: vector.reset(env, key, batch))(jax.random.key(0))
    if parts > 1:
        states = jax.device_put(states, NamedSharding(Mesh(np.asarray(jax.devices()), ("device",)), P("device")))
    seeds = itertools.count(1)
    begin = time.perf_counter()
    seeded = jax.jit(lambda states, seed: spread(states, jax.random.key(seed)), donate_argnums=0)
    run = seeded.lower(states, next(seeds)).compile()
    compile_seconds = time.perf_counter() - begin
    # Games start together; their length in steps spreads them.
    for _ in range(-(-min(env.max_steps, 384) // length)):
        states, _ = run(states, next(seeds))
    jax.block_until_ready(states)
    times: list[float] = []
    busy = cpu_seconds()
    while sum(times) < seconds or len(times) < 3:
        begin = time.perf_counter()
        states, _ = jax.block_until_ready(run(states, next(seeds)))
        times.append(time.perf_counter() - begin)
    used = cpu_seconds() - busy
    memory: Any = run.memory_analysis()
    return {
        "batch": batch,
        "observe": version,
        "shards": parts,
        "steps_per_second": batch * length / min(times),
        "median_steps_per_second": batch * length / sorted(times)[len(times) // 2],
        "loop_compile_seconds": compile_seconds,
        "cores_busy": used / sum(times),
        "cpu_nanoseconds": used / (len(times) * batch * length) * 1e9,
        "bytes_per_state": sum(leaf.nbytes for leaf in jax.tree.leaves(states) if leaf.ndim) // batch,
        "peak_megabytes": min(parts, len(jax.devices()))
        * (memory.argument_size_in_bytes + memory.temp_size_in_bytes)
        / 1e6,
        "runs": len(times),
    }


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def program(env: "Env", batch: int) -> dict[str, Any]:
    """What the batched step is as a program: how long it takes to make, how large it is, what it moves and computes."""
    import jax
    import jax.numpy as jnp

    begin = time.perf_counter()
    states = jax.jit(jax.vmap(env.init)).lower(jax.random.split(jax.random.key(0), batch)).compile()
    init_seconds = time.perf_counter() - begin
    states = jax.eval_shape(jax.vmap(env.init), jax.random.split(jax.random.key(0), batch))
    begin = time.perf_counter()
    compiled = jax.jit(jax.vmap(env.step)).lower(states, jnp.zeros(batch, jnp.int32)).compile()
    step_seconds = time.perf_counter() - begin
    one = jax.eval_shape(env.init, jax.random.key(0))
    cost = compiled.cost_analysis() or {}
    return {
        "batch": batch,
        "init_seconds": init_seconds,
        "step_seconds": step_seconds,
        "jaxpr_lines": len(str(jax.make_jaxpr(env.step)(one, jnp.int32(0))).splitlines()),
        "fusions": (compiled.as_text() or "").count(" fusion("),
        "bytes_per_step": cost.get("bytes accessed", 0) / batch,
        "operations_per_step": cost.get("flops", 0) / batch,
    }


def device_line(seconds: float) -> str:
    """Skull King on whatever device there is: one row of the page's table of devices."""
    import jax

    import jaxgames

    device = jax.devices()[0]
    env = jaxgames.make("skullking")
    batch = 4096 if device.platform == "cpu" else 65536
    plain, seen = (measure(env, batch, version, None, seconds) for version in (None, env.observation_versions[0]))
    return (
        f"| {device.device_kind} x {len(jax.devices())} | jax {jax.__version__} | {batch:,} | "
        f"{plain['steps_per_second']:,.0f} | {seen['steps_per_second']:,.0f} | {plain['loop_compile_seconds']:.0f} s |"
    )


def describe(row: dict[str, Any]) -> str:
    return (
        f"batch {row['batch']:>6}, {row['shards']} part(s), observation {row['observe'] or 'none'}: "
        f"{row['steps_per_second']:>12,.0f} steps/s, {row['cpu_nanoseconds']:,.0f} ns of CPU a step, "
        f"{row['cores_busy']:.1f} cores busy, compiled in {row['loop_compile_seconds']:.1f} s"
    )


def write(folder: pathlib.Path, name: str, found: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
