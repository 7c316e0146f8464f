"""The table of a tournament: figures of every pair, ratings, and both as Markdown, CSV and PNG."""

import csv
import io
import itertools
import math
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxgames import Env
from jaxgames.options import UserError
from train.protocols import Figures, Protocol, ratio_and_error
from train.references import reference

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from train.tournament import Pair, Results, Tournament

ANCHOR_RATING = 1000.0
COSTS = ("cpu_seconds_a_game", "decisions_a_game", "decisions_a_cpu_second")  # columns of `benchmarks/search.py`
POINTS = 400 / math.log(10)  # rating points for odds of e


class Standing(NamedTuple):
    """A finished tournament."""

    agents: tuple[str, ...]
    headline: str
    fair: float
    mean: np.ndarray  # float64[one, rest], the headline; nan where nobody played
    error: np.ndarray
    markdown: str
    csv: str
    strength: tuple[str, np.ndarray, np.ndarray]  # what a plot over time shows: its name, float64[agent], errors
    costs: dict[str, dict[str, float]]  # by agent, as far as they were measured


def make(cfg: "Tournament", env: Env, protocol: Protocol, results: "Results") -> Standing:
    """All figures over all chunks, and what follows from them."""
    figures = {pair: over_chunks(chunks) for pair, chunks in sorted(results.items())}
    mean, error = matrix(cfg.agents, figures, protocol.headline)
    sections = [
        f"# Tournament of {len(cfg.agents)} agents: {' '.join(filter(None, (env.id, *cfg.option, cfg.protocol)))}",
        f"{describe(cfg, protocol)}\n\n    {command(cfg)}",
        grid(cfg.agents, protocol.headline, mean, error),
    ]
    costs = read_costs(pathlib.Path(cfg.costs)) if cfg.costs else {}
    strength = (protocol.headline, np.nanmean(mean, axis=1), np.zeros(len(cfg.agents)))
    if protocol.rating and len(cfg.agents) > 1:
        name, fair = protocol.rating
        seen = {pair: found for pair, found in figures.items() if pair.one < pair.rest or not protocol.is_symmetric}
        rated = ratings(*matrix(cfg.agents, seen, name), fair, place_of_anchor(cfg))
        strength = ("rating", *rated)
        sections.append(rating_table(cfg.agents, *rated, name, cfg.agents[place_of_anchor(cfg)], costs))
    sections.append(figure_table(cfg.agents, env, cfg.protocol, figures))
    text = "\n\n".join(sections) + "\n"
    table = as_csv(cfg, figures)
    return Standing(cfg.agents, protocol.headline, protocol.fair, mean, error, text, table, strength, costs)


def read_costs(path: pathlib.Path) -> dict[str, dict[str, float]]:
    """{agent: costs} of a file of `benchmarks/search.py`."""
    try:
        with open(path, newline="") as file:
            return {row["agent"]: {name: float(row[name]) for name in COSTS} for row in csv.DictReader(file)}
    except (OSError, KeyError, ValueError) as error:
        raise UserError(
            f"tournament: {path} is no file of costs ({error}); make one with benchmarks/search.py"
        ) from error


def write(standing: Standing, stem: pathlib.Path) -> None:
    """<stem>.md, .csv and .png, each there completely or as it was; with costs also <stem>_time.png."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = {".md": standing.markdown.encode(), ".csv": standing.csv.encode(), ".png": heat_map(standing)}
    if standing.costs:
        files["_time.png"] = strength_over_time(standing)
    for ending, content in files.items():
        partial = stem.with_name(f".{stem.name}{ending}.partial")
        partial.write_bytes(content)
        os.replace(partial, stem.with_name(stem.name + ending))


def over_chunks(chunks: Mapping[int, Mapping[str, Sequence[float]]]) -> Figures:
    """Every figure over all chunks, added in their order."""
    names = next(iter(chunks.values()))
    return {
        name: ratio_and_error(tuple(np.sum([chunks[i][name] for i in sorted(chunks)], axis=0).tolist()))
        for name in names
    }


def matrix(agents: tuple[str, ...], figures: dict["Pair", Figures], name: str) -> tuple[np.ndarray, np.ndarray]:
    """(mean, error) of one figure, float64[one, rest]."""
    found = np.full((2, len(agents), len(agents)), np.nan)
    for (one, rest), each in figures.items():
        found[:, one, rest] = each[name]
    return found[0], found[1]


# -- ratings ----------------------------------------------------------------------------------------------------------


def place_of_anchor(cfg: "Tournament") -> int:
    """The agent whose rating is fixed: as asked, else random, else the last."""
    wanted = cfg.anchor or "random"
    return cfg.agents.index(wanted) if wanted in cfg.agents else len(cfg.agents) - 1


def ratings(percent: np.ndarray, error: np.ndarray, fair: float, anchor: int) -> tuple[np.ndarray, np.ndarray]:
    """Elo-like ratings and their standard errors, float64[agent], from shares of wins in percent [one, rest].

    The model: odds of `one` are fair ones times 10^(difference / 400). Every cell counts as many games as its standard
    error is worth, and one fair game more, so that an agent that always wins stays finite. The likeliest ratings are
    found by Newton's method; the error is that of the anchored fit.
    """
    num = len(percent)
    one, rest = np.nonzero(np.isfinite(percent) & ~np.eye(num, dtype=bool))
    share, width = percent[one, rest] / 100, np.maximum(error[one, rest] / 100, 1e-3)
    games = np.maximum(share * (1 - share), 1e-3) / width**2
    wins, games = share * games + fair / 100, games + 1
    free = np.arange(num) != anchor
    difference = np.eye(num)[one] - np.eye(num)[rest]  # [cell, agent]
    start, strength = math.log(fair / (100 - fair)), np.zeros(num)

    def curvature(strength: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        expected = 1 / (1 + np.exp(-start - difference @ strength))
        slope = difference.T @ (wins - games * expected)
        information = difference.T @ (difference * (games * expected * (1 - expected))[:, None])
        return slope[free], information[np.ix_(free, free)]

    for _ in range(100):
        slope, information = curvature(strength)
        step = np.linalg.solve(information, slope)
        strength[free] += np.clip(step, -1, 1)  # far from the end a full step may overshoot
        if np.abs(step).max(initial=0) < 1e-10:
            break
    spread = np.zeros(num)
    spread[free] = np.sqrt(np.diag(np.linalg.inv(curvature(strength)[1])))
    return ANCHOR_RATING + POINTS * strength, POINTS * spread


# -- words, numbers, picture ------------------------------------------------------------------------------------------


def describe(cfg: "Tournament", protocol: Protocol) -> str:
    """What was played, in a sentence or two."""
    if len(protocol.lineup) == 1:
        seats = "played once: row agent as miners, column agent as saboteurs"
    elif protocol.is_symmetric:
        seats = f"played {len(protocol.lineup)} times, so that both agents sit in every seat"
    else:
        seats = f"played {len(protocol.lineup)} times: one row agent in every seat, column agents in all others"
    return (
        f"`{protocol.headline}` of the row against the column: {cfg.deals} deals, the same for every pair, each "
        f"{seats}. ± is one standard error over deals."
    )


def command(cfg: "Tournament") -> str:
    """How to make this table again."""
    parts = ["python train/tournament.py", cfg.game, *cfg.agents]
    parts += [f"--option {' '.join(cfg.option)}"] if cfg.option else []
    parts += [f"--protocol {cfg.protocol}"] if cfg.protocol else []
    parts += [f"--deals {cfg.deals} --chunk {cfg.chunk} --seed {cfg.seed}"]
    parts += [f"--shards {cfg.shards}"] if cfg.shards > 1 else []
    parts += ["--self-play"] if cfg.self_play else []
    parts += [f"--anchor {cfg.anchor}"] if cfg.anchor else []
    parts += [f"--costs {cfg.costs}"] if cfg.costs else []
    return " ".join(parts)


def grid(agents: tuple[str, ...], headline: str, mean: np.ndarray, error: np.ndarray) -> str:
    """The headline of every pair."""
    rows = [f"| {headline} | " + " | ".join(f"`{agent}`" for agent in agents) + " |", "|---" * (len(agents) + 1) + "|"]
    for agent, means, errors in zip(agents, mean, error, strict=True):
        cells = (cell(headline, *each) for each in zip(means, errors, strict=True))
        rows.append(f"| `{agent}` | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def rating_table(
    agents: tuple[str, ...],
    rating: np.ndarray,
    error: np.ndarray,
    name: str,
    anchor: str,
    costs: dict[str, dict[str, float]],
) -> str:
    """The strongest first, with what it costs where that was measured."""
    rows = ["| agent | rating |", "|---|---|"]
    if costs:
        rows = ["| agent | rating | CPU-s a game | decisions a CPU-s |", "|---|---|---|---|"]
    for i in np.argsort(-rating, kind="stable"):
        fixed = "fixed" if agents[i] == anchor else f"± {error[i]:.0f}"
        cost = costs.get(agents[i])
        cells = [f"`{agents[i]}`", f"{rating[i]:.0f} {fixed}"]
        if costs:
            cells += ["–", "–"] if cost is None else [f"{cost[COSTS[0]]:.2g}", f"{cost[COSTS[2]]:,.0f}"]
        rows.append("| " + " | ".join(cells) + " |")
    return f"Elo-like ratings from `{name}`, 400 points for odds of ten to one:\n\n" + "\n".join(rows)


def figure_table(agents: tuple[str, ...], env: Env, protocol: str, figures: dict["Pair", Figures]) -> str:
    """Every figure of every pair, beside the rules page's where it has one."""
    names = list(next(iter(figures.values())))
    rows = ["| one | against | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    compared = 0
    for (one, rest), found in figures.items():
        cells = []
        for name in names:
            page = reference(env, protocol, agents[one], agents[rest], name)
            compared += page is not None
            cells.append(cell(name, *found[name]) + (beside(*found[name], *page) if page else ""))
        rows.append(f"| `{agents[one]}` | `{agents[rest]}` | " + " | ".join(cells) + " |")
    note = "In brackets what the rules page has, and the distance in standard errors of the difference.\n\n"
    return (note if compared else "") + "\n".join(rows)


def cell(name: str, mean: float, error: float) -> str:
    digits = 3 if name.endswith(("_rate", "_quality", "_accuracy")) else 2 if name in ("cents", "points") else 1
    return "–" if math.isnan(mean) else f"{mean:.{digits}f} ± {error:.{digits}f}"


def beside(mean: float, error: float, page: float, page_error: float) -> str:
    both = math.hypot(error, page_error)
    distance = f", {(mean - page) / both:+.1f}" if both > 0 else ""
    return f" ({page:g}{distance})"


def as_csv(cfg: "Tournament", figures: dict["Pair", Figures]) -> str:
    """One line for each figure of each pair."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["game", "options", "protocol", "one", "against", "deals", "figure", "mean", "error"])
    for (one, rest), found in figures.items():
        for name, (mean, error) in found.items():
            who = (cfg.game, " ".join(cfg.option), cfg.protocol, cfg.agents[one], cfg.agents[rest], cfg.deals)
            writer.writerow([*who, name, repr(mean), repr(error)])
    return text.getvalue()


def heat_map(standing: Standing) -> bytes:
    """The headline of every pair as a PNG."""
    from matplotlib.colors import FuncNorm
    from matplotlib.figure import Figure  # not pyplot, which would change what a notebook shows

    num = len(standing.agents)
    figure = Figure(figsize=(2.5 + 1.1 * num, 1.5 + 0.8 * num), layout="tight")
    axes = figure.subplots()
    middle = np.nanmean(standing.mean) if math.isnan(standing.fair) else standing.fair
    lowest, highest = min(np.nanmin(standing.mean), middle - 1e-9), max(np.nanmax(standing.mean), middle + 1e-9)

    def root(mean):
        """-1 at the lowest, 0 in the middle, 1 at the highest: by roots, or one hopeless agent would pale the rest."""
        far = (mean - middle) / np.where(mean < middle, middle - lowest, highest - middle)
        return np.sign(far) * np.sqrt(np.abs(far))

    def square(shade):
        return middle + shade * np.abs(shade) * np.where(shade < 0, middle - lowest, highest - middle)

    shade = FuncNorm((root, square), lowest, highest)
    image = axes.imshow(standing.mean, cmap="RdYlGn", norm=shade)
    for (one, rest), mean in np.ndenumerate(standing.mean):
        if not math.isnan(mean):
            text = cell(standing.headline, float(mean), float(standing.error[one, rest])).replace(" ± ", "\n± ")
            is_dark = abs(shade(mean) - 0.5) > 0.35
            axes.text(rest, one, text, ha="center", va="center", fontsize=8, color="white" if is_dark else "black")
    axes.set_xticks(range(num), standing.agents, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(num), standing.agents)
    axes.set(title=f"{standing.headline.replace('_', ' ')}, the row against the column")
    figure.colorbar(image, shrink=0.8, ticks=[lowest, middle, highest], format="%.3g")
    return as_png(figure)


def strength_over_time(standing: Standing) -> bytes:
    """How strong each agent is over the CPU time of its decisions, as a PNG."""
    name, strength, error = standing.strength
    found = {agent: each for agent, *each in zip(standing.agents, strength, error, strict=True)}
    return over_time(name, found, standing.costs)


def over_time(name: str, strength: Mapping[str, Sequence[float]], costs: dict[str, dict[str, float]]) -> bytes:
    """(mean, error) of each agent whose costs are known, over the CPU time of its decisions, as a PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 4.5), layout="constrained")
    axes = figure.subplots()
    known = [agent for agent in strength if agent in costs]
    strongest_first = sorted(known, key=lambda agent: -strength[agent][0])
    for marker, agent in zip(itertools.cycle("os^Dv<>P*X"), strongest_first):  # ten of ten colours
        mean, error = strength[agent]
        axes.errorbar(1000 / costs[agent][COSTS[2]], mean, error, fmt=marker, capsize=3, label=agent)
    axes.set(xscale="log", xlabel="CPU milliseconds a decision", ylabel=name, title="Strength over time")
    axes.grid(alpha=0.3)
    axes.margins(x=0.15, y=0.1)
    if known:  # beside the plot: agents of equal cost and strength would write over each other
        figure.legend(loc="outside right upper", fontsize=8)
    return as_png(figure)


def as_png(figure: "Figure") -> bytes:
    """The bytes of a picture, the same for the same picture."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120, metadata={"Software": None})
    return buffer.getvalue()
