"""How strong agents are over the CPU time of their decisions: the table of a tournament beside what its agents cost.

    python benchmarks/search.py schafkopf pimc:10,40 rule random --out docs/results/schafkopf_costs.csv
    python train/over_time.py docs/results/schafkopf_players.csv docs/results/schafkopf_costs.csv --against rule

writes docs/results/schafkopf_players_time.png. The figure is the first of the table, unless another is named.
"""

import csv
import dataclasses
import pathlib
import sys

import tyro

from jaxgames.options import UserError
from train import scripts, standings


@dataclasses.dataclass(frozen=True)
class OverTime:
    """What to draw."""

    table: tyro.conf.Positional[str]
    """the CSV of a tournament"""
    costs: tyro.conf.Positional[str]
    """the CSV of `benchmarks/search.py`"""
    against: str = "rule"
    """whom all agents played"""
    figure: str = ""
    """a figure of the table"""


def draw(cfg: OverTime) -> int:
    """The plot, beside the table; returns the exit code."""
    figure, strength = read_strength(pathlib.Path(cfg.table), cfg.against, cfg.figure)
    costs = standings.read_costs(pathlib.Path(cfg.costs))
    path = pathlib.Path(cfg.table.removesuffix(".csv") + "_time.png")
    path.write_bytes(standings.over_time(f"{figure} against {cfg.against}", strength, costs))
    print(path)
    return 0


def read_strength(path: pathlib.Path, against: str, figure: str = "") -> tuple[str, dict[str, tuple[float, float]]]:
    """(figure, {agent: (mean, error)}) of all who played one agent, by the CSV of a tournament."""
    try:
        with open(path, newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["against"] == against]
        figure = figure or (rows[0]["figure"] if rows else "")
        found = {row["one"]: (float(row["mean"]), float(row["error"])) for row in rows if row["figure"] == figure}
    except (OSError, KeyError, ValueError) as error:
        raise UserError(f"over_time: {path} is no table of a tournament ({error})") from error
    if not found:
        raise UserError(f"over_time: {path} has no {figure or 'game'} against {against}")
    return figure, found


if __name__ == "__main__":
    sys.exit(scripts.run(OverTime, draw, __doc__))
