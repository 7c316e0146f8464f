"""Several runs side by side: their learning curves in one picture, their final evaluations in one table.

    python train/compare.py runs/scheme_* --out docs/results/ppo_schemes

writes ppo_schemes.png and prints the table as Markdown. Runs that differ in nothing but the seed are one line: the mean
over seeds, and its standard error. A run alone keeps the standard error over its deals.
"""

import dataclasses
import json
import pathlib
import sys

import numpy as np
import tyro

from jaxgames.options import UserError
from train import scripts
from train.evaluate import Figures, over_seeds
from train.evaluate import table as markdown
from train.folders import read_log, settings_of


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What to compare."""

    runs: tyro.conf.Positional[tuple[str, ...]]
    """run folders, all measured against the same first rival"""
    out: str = "runs/comparison"
    """the picture, without its ending"""


def main() -> int:
    return scripts.run(Comparison, compare, __doc__)


def compare(cfg: Comparison) -> int:
    """The picture and the table; returns the exit code."""
    folders = [pathlib.Path(run) for run in cfg.runs]
    missing = [str(folder) for folder in folders if not (folder / "metrics.csv").exists()]
    if missing or not folders:
        raise UserError(f"compare: these are not run folders: {', '.join(missing) or 'none given'}")
    groups = by_settings(folders)
    figure = headline(folders[0])
    curves = {name: curve(group, figure) for name, group in groups.items()}
    draw(curves, figure, pathlib.Path(cfg.out).with_suffix(".png"))
    print(table(groups))
    return 0


def by_settings(folders: list[pathlib.Path]) -> dict[str, list[pathlib.Path]]:
    """Runs under one name for each set of settings apart from the seed: a folder's own, or what the names share."""
    groups: dict[str, list[pathlib.Path]] = {}
    for folder in folders:
        settings = settings_of(folder) | {"seed": 0}
        groups.setdefault(json.dumps(settings, sort_keys=True), []).append(folder)
    named: dict[str, list[pathlib.Path]] = {}
    for group in groups.values():
        name = _name(group)
        named[str(group[0]) if name in named else name] = group
    return named


def _name(group: list[pathlib.Path]) -> str:
    """runs/plain_0 and runs/plain_1 are plain; runs/many/seed0 and runs/many/seed1 are many."""
    first = group[0]
    if len(group) == 1:
        return first.name
    return first.parent.name if first.name.startswith("seed") else first.name.rstrip("0123456789").rstrip("_-")


def headline(folder: pathlib.Path) -> str:
    """The figure that a run's log leads with: the first column that has one of errors."""
    names = dict.fromkeys(name for row in read_log(folder / "metrics.csv") for name in row)
    return next((name for name in names if f"{name}_error" in names), "")


def curve(group: list[pathlib.Path], figure: str) -> list[tuple[float, float, float]]:
    """(million decisions, mean, standard error) of a figure at every evaluation that all runs of a group have."""
    points: dict[int, list[Figures]] = {}
    for folder in group:
        for row in read_log(folder / "metrics.csv"):
            if figure in row:
                found = row[figure], row.get(f"{figure}_error", np.nan)
                points.setdefault(int(row["steps"]), []).append({figure: found})
    whole = {steps: each for steps, each in points.items() if len(each) == len(group)}
    return [(steps / 1e6, *over_seeds(each)[figure]) for steps, each in whole.items()]


def table(groups: dict[str, list[pathlib.Path]]) -> str:
    """The evaluations against the first rival as Markdown, one line for each group whose runs have all ended."""
    lines: dict[str, Figures] = {}
    rival = ""
    for name, group in groups.items():
        reports = [folder / "evaluation.md" for folder in group]
        if all(report.exists() for report in reports):
            rival = first_line(reports[0])[0]
            label = name if len(group) == 1 else f"{name}, {len(group)} seeds"
            lines[label] = over_seeds([first_line(report)[1] for report in reports])
    return markdown(f"run, against `{rival}`", lines) if lines else "No run has ended yet."


def _read(cell: str) -> tuple[float, float]:
    mean, error = cell.split(" ± ")
    return float(mean), float(error)


def first_line(report: pathlib.Path) -> tuple[str, Figures]:
    """The first rival in an evaluation.md, and the figures against it."""
    unknown = (np.nan, np.nan)
    try:
        head, _, first, *_ = (line.strip("| ").split(" | ") for line in report.read_text().splitlines())
        pairs = [unknown if text == "-" else _read(text) for text in first[1:]]
        return first[0], dict(zip(head[1:], pairs, strict=True))
    except (OSError, ValueError) as error:
        raise UserError(f"compare: {report} is no report of a run ({error}); resume the run to write it") from error


def draw(curves: dict[str, list[tuple[float, float, float]]], headline: str, path: pathlib.Path) -> None:
    """Learning curves in one PNG."""
    from matplotlib.figure import Figure  # not pyplot, which would change what a notebook shows

    figure = Figure(figsize=(7, 4.5), layout="tight")
    axes = figure.subplots()
    for name, points in curves.items():
        steps, means, errors = np.reshape(points, (-1, 3)).T  # no point at all in a run that was never evaluated
        axes.errorbar(steps, means, errors, marker="o", markersize=3, capsize=2, label=name)
    axes.set(xlabel="million decisions", ylabel=headline)
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
