"""Several runs side by side: their learning curves in one picture, their final evaluations in one table.

    python train/compare.py runs/scheme_* --out docs/results/ppo_schemes

writes ppo_schemes.png and prints the table as Markdown. The runs are named by their folders.
"""

import csv
import dataclasses
import pathlib
import sys

import tyro


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What to compare."""

    runs: tyro.conf.Positional[tuple[str, ...]]
    """run folders, all measured against the same first rival"""
    out: str = "runs/comparison"
    """the picture, without its ending"""


def main() -> int:
    cfg = tyro.cli(Comparison, description=__doc__)
    folders = [pathlib.Path(run) for run in cfg.runs]
    missing = [str(folder) for folder in folders if not (folder / "metrics.csv").exists()]
    if missing or not folders:
        print(f"compare: these are not run folders: {', '.join(missing) or 'none given'}", file=sys.stderr)
        return 2
    draw({folder.name: curve(folder) for folder in folders}, pathlib.Path(cfg.out).with_suffix(".png"))
    print("\n".join(table(folders)))
    return 0


def curve(folder: pathlib.Path) -> list[tuple[float, float, float]]:
    """(million decisions, wins in percent, standard error) at every evaluation of a run."""
    with open(folder / "metrics.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get("wins_percent")]
    return [(int(row["steps"]) / 1e6, float(row["wins_percent"]), float(row["wins_percent_error"])) for row in rows]


def table(folders: list[pathlib.Path]) -> list[str]:
    """The first line of every run's evaluation, under the name of the run."""
    lines: list[str] = []
    for folder in folders:
        report = folder / "evaluation.md"
        if not report.exists():
            continue
        head, rule, first, *_ = report.read_text().splitlines()
        rival, figures = (text.strip() for text in first.strip("| ").split("|", 1))
        columns = head.strip("| ").split("|", 1)[1].strip()
        lines = lines or [f"| run, one against three `{rival}` | {columns} |", rule]
        lines.append(f"| {folder.name} | {figures} |")
    return lines


def draw(curves: dict[str, list[tuple[float, float, float]]], path: pathlib.Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for name, points in curves.items():
        steps, wins, errors = zip(*points, strict=True)
        axes.errorbar(steps, wins, errors, marker="o", markersize=3, capsize=2, label=name)
    axes.set(xlabel="million decisions", ylabel="wins, % (one against three)", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
