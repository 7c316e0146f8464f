"""The page and the plots of all speeds, from the JSON files that `throughput.py`, `training.py` and `search.py` wrote.

python benchmarks/report.py docs/results/throughput
"""

import json
import pathlib
import sys
from typing import Any

HEAD = """# Speed

`{command}`, {machine}, jax {jax}: games, peers and trainings in one run, begun at a load average of
{load}. The JSON files and plots are in [throughput/](throughput); what was learned on the way is in
[performance](../performance.md).

One step is the legal mask, a uniform legal action, `env.step` and the restart of ended games; with an observation also
that of the player to move. Parts are what `vector.shard` makes of a batch, one for each core or more. Best of several
runs; compilation apart.
"""

# Steps a second over those of the peer's own C++ loop: what each game should reach at its best batch.
GOALS = {"skullking": 1.2, "schafkopf": 5.0, "skyjo": 2.0, "magictrick": 2.5, "saboteur": 0.15}
GOALS_OBSERVED = {"skullking": 0.8}
GOAL_COMPILE, GOAL_RISE = 2.0, 1.1  # seconds of a batched step; how much dearer a step may be in a larger batch
GOALS_TRAINING = {"skullking": 0.88}  # of the bound
GOAL_TRAINING, GOAL_COMPILE_UPDATE = 0.75, 6.0


def write(folder: pathlib.Path) -> None:
    """The plots into the folder, the page beside it."""
    reports = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    peers = {peer["name"]: peer for peer in reports["peers"]["peers"]}
    games = {name: reports[name] for name in GOALS if "program" in reports.get(name, {})}
    first = next(iter(games.values()))
    command = reports["peers"].get("command", "python benchmarks/throughput.py --all")
    head = HEAD.format(command=command, machine=first["machine"], jax=first["jax"], load=reports["peers"]["load"])
    trained = [report for report in reports.values() if "bound_decisions_per_second" in report]
    parts = [head, *goals(games, peers), "", *steps_goals(games), "", *training_goals(trained), "", *beside(peers)]
    for name, report in games.items():
        parts += ["", *section(report), "", f"![{name}](throughput/{name}.png)"]
        plot(report, peers[report["peer"]], folder / f"{name}.png")
    if "search" in reports:
        parts += ["", *searching(reports["search"])]
    page = folder.with_suffix(".md")
    page.write_text("\n".join(parts) + "\n")
    print(f"wrote {page}")


def goals(games: dict[str, Any], peers: dict[str, Any]) -> list[str]:
    """Every goal beside what was measured over the peer in the same run: before and now at one batch, and the best."""
    lines = [
        "| steps/s over the peer's C++ loop | before, 4,096 | now, 4,096 | now, best batch | goal |",
        "|---|---|---|---|---|",
    ]
    for name, report in games.items():
        peer = peers[report["peer"]]["decisions_per_second_in_cpp"]
        for wanted, is_observed in ((GOALS, False), (GOALS_OBSERVED, True)):
            if name in wanted:
                now = [row for row in report["rows"] if bool(row["observe"]) == is_observed]
                old = [row for row in report.get("before", []) if bool(row["observe"]) == is_observed]
                best = fastest(now)
                before, after = (fastest([row for row in rows if row["batch"] == 4096]) for rows in (old, now))
                cells = [f"{row['steps_per_second'] / peer:.2f}" if row else "-" for row in (before, after, best)]
                what = f"{name}{' with observation' if is_observed else ''} / {report['peer']}"
                cells[2] += f" ({best['batch']:,})"
                lines.append(f"| {what} | {' | '.join(cells)} | {wanted[name]:g} |")
    if any("before" in report for report in games.values()):
        lines += ["", "Before: the same loop, in one part, with the library of the checkout given by `--before`."]
    return lines


def fastest(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The row with the most steps a second, or nothing."""
    return max(rows, key=lambda row: row["steps_per_second"], default={})


def steps_goals(games: dict[str, Any]) -> list[str]:
    """How long a batched step compiles, and how much dearer it becomes from a smaller batch to a larger one."""
    lines = [
        "| a batched step | compiles in s, before | now | goal | at most dearer in a larger batch, before | now "
        "| with observation | goal |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, report in games.items():
        now = on_all_devices(report)
        old = report.get("before", [])
        compiled = [
            f"{made['step_seconds']:.1f}" if made else "-" for made in (report.get("before_program"), report["program"])
        ]
        rises = [
            rise([row for row in rows if bool(row["observe"]) == is_observed])
            for rows, is_observed in ((old, False), (now, False), (now, True))
        ]
        lines.append(
            f"| {name} | {' | '.join(compiled)} | {GOAL_COMPILE:g} | {' | '.join(rises)} | {GOAL_RISE - 1:.0%} |"
        )
    return lines


def on_all_devices(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that every device took part in."""
    return [row for row in report["rows"] if row["shards"] % report["devices"] == 0]


def rise(rows: list[dict[str, Any]]) -> str:
    """By how much the time of a step rises at most from one batch to a larger one."""
    times = [1 / row["steps_per_second"] for row in sorted(rows, key=lambda row: row["batch"])]
    dearer = [later / time for i, time in enumerate(times) for later in times[i + 1 :]]
    return f"{max(0.0, max(dearer) - 1):.0%}" if dearer else "-"


def training_goals(reports: list[dict[str, Any]]) -> list[str]:
    """Every PPO update that was measured beside the passes of its network alone."""
    lines = [
        "| PPO of | games x decisions, epochs, minibatches | decisions/s | the network's passes alone | of the bound "
        "| goal | compiles in s | goal |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for report in reports:
        cfg, game = report["config"], report.get("game", "skullking")
        settings = " ".join(filter(None, [report.get("preset", ""), *report.get("settings", [])]))
        what = " ".join(filter(None, [game, settings, "before" if report.get("before") else ""]))
        lines.append(
            f"| {what} | {cfg['envs']:,} x {cfg['steps']}, {cfg['epochs']}, {cfg['minibatches']} "
            f"| {report['decisions_per_second']:,.0f} | {report['bound_decisions_per_second']:,.0f} "
            f"| {report['ratio']:.2f} | {GOALS_TRAINING.get(game, GOAL_TRAINING):g} "
            f"| {report['compile_seconds']:.1f} | {GOAL_COMPILE_UPDATE:g} |"
        )
    return lines


def searching(report: dict[str, Any]) -> list[str]:
    """What searching agents cost, in every seat."""
    lines = [
        f"## Search in {report['game']}\n",
        f"`{report['command']}`: the agent in every seat.\n",
        "| agent | CPU-s a game | decisions a game | decisions a CPU-s |",
        "|---|---|---|---|",
    ]
    for agent, (a_game, decisions, a_second) in report["agents"].items():
        lines.append(f"| `{agent}` | {a_game:.4f} | {decisions:.1f} | {a_second:,.0f} |")
    return lines


def beside(peers: dict[str, Any]) -> list[str]:
    """The peers' own figures."""
    lines = ["| peer | decisions/s | in its own C++ loop |", "|---|---|---|"]
    for peer in peers.values():
        in_cpp = peer.get("decisions_per_second_in_cpp")
        how = f", {peer['processes']} Python processes" if in_cpp else ", batch 4,096"
        cpp = f"{in_cpp:,.0f}" if in_cpp else "-"
        lines.append(f"| {peer['library']} {peer['name']}{how} | {peer['decisions_per_second']:,.0f} | {cpp} |")
    return lines


def section(report: dict[str, Any]) -> list[str]:
    """One game with its options."""
    options = ", ".join(f"{name} {value}" for name, value in report["options"].items())
    made = report["program"]
    lines = [
        f"## {report['game']}{' with ' + options if options else ''}\n",
        f"The batched step is {made['jaxpr_lines']:,} lines of jaxpr and {made['fusions']} fused loops, compiled in "
        f"{made['step_seconds']:.1f} s (init in {made['init_seconds']:.1f} s). By XLA's cost analysis it moves "
        f"{made['bytes_per_step']:,.0f} bytes and makes {made['operations_per_step']:,.0f} operations a game; a state "
        f"has {report['rows'][0]['bytes_per_state']:,} bytes.\n",
        "| batch | parts | observation | steps/s | ns a step | ns of CPU | cores busy | peak MB | compiled in s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in report["rows"]:
        speed = row["steps_per_second"]
        lines.append(
            f"| {row['batch']:,} | {row['shards']} | {row['observe'] or '-'} | {speed:,.0f} | {1e9 / speed:,.0f} | "
            f"{row['cpu_nanoseconds']:,.0f} | {row['cores_busy']:.2f} | {row['peak_megabytes']:,.0f} | "
            f"{row['loop_compile_seconds']:.1f} |"
        )
    return lines


def plot(report: dict[str, Any], peer: dict[str, Any], path: pathlib.Path) -> None:
    """Steps a second by batch, with and without observation, and the peer."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="tight")
    axes = figure.subplots()
    for version in dict.fromkeys(row["observe"] for row in report["rows"]):
        rows = [row for row in on_all_devices(report) if row["observe"] == version]
        label = f"with observation {version!r}" if version else "step only"
        axes.plot([r["batch"] for r in rows], [r["steps_per_second"] for r in rows], "o-", label=label)
    axes.axhline(peer["decisions_per_second"], ls="--", color="grey", label=f"{peer['name']} from Python")
    axes.axhline(peer["decisions_per_second_in_cpp"], ls=":", color="grey", label=f"{peer['name']} in C++")
    axes.set(xscale="log", yscale="log", xlabel="games in the batch", ylabel="steps per second")
    axes.set_title(f"{report['game']}: random legal play, {report['machine']}")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
