"""The page of all throughput figures, from the JSON files that `throughput.py` and `ppo.py` wrote.

python benchmarks/report.py docs/results/throughput > docs/results/throughput.md
"""

import json
import pathlib
import sys

HEAD = """# Speed

On two CPU cores (x86-64, a virtual machine whose neighbours are sometimes noisy), jax {jax}; the JSON files and plots
are in [throughput/](throughput).

Random legal play: `python benchmarks/throughput.py --game <game> [--option name=value] [--peer oh_hell|skat]
[--observe]`. One step is the legal mask, a uniform legal action, `env.step` and the restart of ended games; with an
observation also that of the player to move. Best of several runs; compilation apart.
"""


def main(folder: str) -> None:
    reports = {path.stem: json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("*.json"))}
    print(HEAD.format(jax=next(iter(reports.values()))["jax"]))
    for name, report in reports.items():
        print("\n".join(training(report) if name.startswith("ppo") else play(report)), end="\n\n")


def play(report: dict) -> list[str]:
    """The section of one game with its options."""
    options = ", ".join(f"{name} {value}" for name, value in report["options"].items())
    compiled, peer = report["compile"], report["peer"]
    lines = [
        f"## {report['game']}{' with ' + options if options else ''}\n",
        f"Batched step compiled in {compiled['step_seconds']:.1f} s, init in {compiled['init_seconds']:.1f} s; "
        f"{report['rows'][0]['bytes_per_state']} bytes a state.\n",
    ]
    if peer:
        lines.append(
            f"{peer['name']}, {peer['processes']} processes, same run: {peer['decisions_per_second']:,.0f} decisions/s "
            f"driven from Python, {peer['decisions_per_second_in_cpp']:,.0f} in its own C++ loop.\n"
        )
    lines += ["| batch | observation | steps/s | ns a step | loop compiled in s |", "|---|---|---|---|---|"]
    for row in report["rows"]:
        speed = row["steps_per_second"]
        lines.append(
            f"| {row['batch']:,} | {row['observe'] or '-'} | {speed:,.0f} | {1e9 / speed:,.0f} | "
            f"{row['loop_compile_seconds']:.1f} |"
        )
    return lines


def training(report: dict) -> list[str]:
    """The section of one PPO update."""
    cfg = report["config"]
    return [
        f"## PPO of Skull King, {cfg['epochs']} epochs of {'-'.join(map(str, cfg['widths']))}\n",
        f"`python benchmarks/ppo.py --epochs {cfg['epochs']}`: {cfg['envs']} games x {cfg['steps']} decisions, "
        f"{cfg['minibatches']} minibatches. {report['decisions_per_second']:,.0f} decisions/s; the network's passes "
        f"alone make {report['bound_decisions_per_second']:,.0f}: {report['ratio']:.2f} of the bound. "
        f"The update compiles in {report['compile_seconds']:.0f} s.",
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])
