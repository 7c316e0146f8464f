"""What the pages of the games show without anybody writing it: tables made from the code, the weights and the results.

    ```{game-options} skyjo
    ```

`game-facts`, `game-options`, `game-observations`, `game-bots`, `game-players` and `game-speed` take the name of a game,
`network-fields` the kind of a network; `all-players`, `search-agents`, `state-memory`, `play-memory` and `step-costs`
take nothing.
"""

import dataclasses
import importlib
import inspect
import json
import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

import jax
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import agents
import jaxgames
from agents import cards, checkpoints, networks
from jaxgames import Env

ROOT = pathlib.Path(__file__).parent.parent
SPEEDS = ROOT / "docs" / "results" / "throughput"
BATCHES = (1024, 65_536)
FIELD_NOTES = {  # of fields that mean the same in every network
    "widths": "of the layers",
    "head_widths": "of the layers before each head",
    "auxiliary": "names and sizes of auxiliary heads",
    "dtype": "of the products; parameters, logits and values stay float32",
}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *([str(cell).replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# -- the game ---------------------------------------------------------------------------------------------------------


def facts(env: Env) -> str:
    """Sizes of the game as `make` gives it."""
    least, most = allowed_seats(env)
    return table(
        ["", ""],
        [
            ["name", f"`{env.id}`"],
            ["version", env.version],
            ["players", f"{least} to {most}, by default {env.num_players}" if least != most else most],
            ["actions", f"{env.num_actions:,}"],
            ["longest game", f"{env.max_steps:,} decisions"],
            ["an illegal action costs", f"{env.illegal_penalty:g}"],
            ["observations", ", ".join(f"`{name}`" for name in env.observation_versions)],
        ],
    )


def allowed_seats(env: Env) -> tuple[str, str]:
    """The fewest and the most players, as the env says when it refuses."""
    least, most = re.findall(r"(\d+)\.\.(\d+)", refusal(env, "num_players", -1))[0]
    return least, most


def options(env: Env) -> str:
    """Every option: its default, what it takes, and what the code or the rules page says about it."""
    notes = meanings(env.id) | comments(sys.modules[type(env).__module__])
    rows = []
    for field in dataclasses.fields(env):
        default = env.options[field.name]
        rows.append([f"`{field.name}`", f"`{default!r}`", allowed(env, field.name), notes.get(field.name, "")])
    return table(["option", "default", "values", "meaning"], rows)


def meanings(game: str) -> dict[str, str]:
    """{option: meaning} of the rules page's own table of options, where it has such a column."""
    page = (ROOT / "docs" / "rules" / f"{game}.md").read_text()
    _, _, rest = page.partition("| option |")
    head, *lines = rest.split("\n\n")[0].splitlines()
    if not head.rstrip(" |").endswith(("meaning", "note")):
        return {}
    cells = [line.strip("| ").split(" | ") for line in lines]
    return {name: row[-1] for row in cells if len(row) > 2 for name in re.findall(r"`(\w+)`", row[0])}


def allowed(env: Env, name: str) -> str:
    """What an option takes, in the words with which it refuses something else."""
    text = refusal(env, name, object())
    found = re.search(r"must be (?:one of |in |an integer in |a finite number in |a |an )?(.*), got", text)
    words = found.group(1) if found else ""
    return re.sub(r"'([^']*)'", r"`\1`", words).replace("-inf..inf", "any number").replace("..inf", " or more")


def refusal(env: Env, name: str, value: object) -> str:
    try:
        jaxgames.make(env.id, **{name: value})
    except ValueError as error:
        return str(error)
    return ""


def comments(module: ModuleType) -> dict[str, str]:
    """{field: comment} of the classes of a module, as its source has it; of several, the first."""
    found: dict[str, str] = {}
    lines = re.findall(r"^    (\w+): .*?  #(?! type:) *(.*)$", inspect.getsource(module), flags=re.MULTILINE)
    for name, text in lines:
        found.setdefault(name, " ".join(text.split()))
    return found


def observations(env: Env) -> str:
    """Every version: where each part sits, its shape, and what it holds."""
    parts = []
    notes = comments(env.rooms.observe)
    for version in env.observation_versions:
        rows = [
            [
                f"`{name}`",
                f"{part.slice.start:,}",
                "×".join(map(str, part.shape)) or "1",
                code_words(notes.get(name, "")),
            ]
            for name, part in env.layout(version).items()
        ]
        (size,) = env.observation_shape(version)
        honest = "" if version in env.honest_versions else ", **shows hidden cards**"
        default = ", the default" if version == env.observation_versions[0] else ""
        parts.append(
            f"**`{version}`**: {size:,} numbers{default}{honest}\n\n" + table(["part", "from", "shape", "holds"], rows)
        )
    return "\n\n".join(parts)


def code_words(text: str) -> str:
    """A comment such as `bool[seat, card]  mine`, with its type as code."""
    return re.sub(r"^((?:[A-J] )?(?:bool|float32|int8|int32)?\[[^\]]*\])", r"`\1`", text)


# -- who plays --------------------------------------------------------------------------------------------------------


def bots(env: Env) -> str:
    """The agents that were written, by their docstrings."""
    known = importlib.import_module(f"agents.{env.id}").AGENTS
    rows = {"random": ["`random`", "any legal action", ""]} | {
        name: agent_row(name, each) for name, each in known.items()
    }
    return table(["name", "plays", "arguments"], rows.values())


def agent_row(name: str, constructor: Callable) -> list[str]:
    """Its name, the first paragraph of its docstring, and what may follow the colon of its spec."""
    _, *arguments = inspect.signature(constructor).parameters.values()
    texts = [
        f"`<{each.name}>`" if each.default is each.empty else f"`{each.name}={each.default}`" for each in arguments
    ]
    return [f"`{name}`", (inspect.getdoc(constructor) or "").split("\n\n")[0].replace("\n", " "), ", ".join(texts)]


def players(env: Env) -> str:
    """The networks that come along: what they are, and how strong their cards say that they are."""
    names = cards.published(env.id)
    if not names:
        return "No trained player of this game comes along yet."
    return what_they_are(names) + "\n\n" + how_strong(names)


def what_they_are(names: Sequence[str]) -> str:
    return table(["spec", "network", "reads", "learned from"], [player_row(name) for name in names])


def how_strong(names: Sequence[str]) -> str:
    measured = [strength_row(cards.Strength(**each)) for name in names for each in cards.card(name).get("figures", [])]
    return table(["who", "how strong", "against", "games", "protocol"], measured)


def player_row(name: str) -> list[str]:
    card, manifest = cards.card(name), checkpoints.read_manifest(checkpoints.WEIGHTS / name)
    runs = card.get("runs", [])
    config = manifest.get("config", {})
    before = sum(run["decisions"] for run in runs[:-1])  # of the runs that this one started from
    decisions = before + manifest.get("update", 0) * config.get("envs", 0) * config.get("steps", 0)
    imitated = sum(int(games) for run in runs for games in re.findall(r"--games (\d+)", run["command"]))
    learned = [f"{imitated:,} games of others"] * bool(imitated) + [f"{decisions:,} decisions"] * bool(decisions)
    kind = manifest["network"].get("kind", "mlp")  # format 1 knew one kind
    return [f"`ppo:{name}`", kind, f"`{manifest['observation']}`", ", ".join(learned) or "not said"]


def strength_row(found: cards.Strength) -> list[str]:
    name, unit = found.figure.removesuffix("_percent"), " %" if found.figure.endswith("_percent") else ""
    digits = 1 if found.error >= 0.1 or not found.error else 2
    figure = f"{name.replace('_', ' ')} {found.mean:.{digits}f} ± {found.error:.{digits}f}{unit}"
    unbroken = figure.replace(" ", "\u00a0")
    return [f"`{found.agent}`", unbroken, f"`{found.against}`", f"{found.games:,}", found.protocol]


# -- how fast ---------------------------------------------------------------------------------------------------------


def speed(env: Env) -> str:
    """Random play as benchmarks/throughput.py measured it."""
    rows = []
    for path in sorted(SPEEDS.glob(f"{env.id}*.json")):
        found = json.loads(path.read_text())
        if found.get("game") != env.id:
            continue
        chosen = ", ".join(f"`{name}={value}`" for name, value in found["options"].items()) or "defaults"
        for row in found["rows"]:
            seen = f"`{row['observe']}`" if row["observe"] else "none"
            rows.append([chosen, f"{row['batch']:,}", seen, f"{row['steps_per_second']:,.0f}"])
    if not rows:
        return "Not measured."
    where = (
        "CPU, two cores; `python benchmarks/throughput.py --game "
        + env.id
        + "`; one step is the legal mask, a random legal action, `env.step` and the restart of ended games."
    )
    return table(["options", "games at once", "observation", "steps a second"], rows) + "\n\n" + where


# -- all of them ------------------------------------------------------------------------------------------------------


def all_players() -> str:
    """The networks that come along, of every game; their strengths game by game, so that each table fits its page."""
    of_games = [names for game in jaxgames.games() if (names := cards.published(game))]
    return "\n\n".join([what_they_are(sum(of_games, ())), *map(how_strong, of_games)])


def search_agents() -> str:
    """The agents that look ahead, in any game."""
    env = jaxgames.make("schafkopf")  # which has all of them
    known = agents._constructors(env)
    others = {"random", "ppo", "worlds", *importlib.import_module(f"agents.{env.id}").AGENTS}
    return table(["name", "plays", "arguments"], [agent_row(*each) for each in known.items() if each[0] not in others])


def state_memory() -> str:
    """Bytes of a state, and of a batch of them, from shapes alone."""
    rows = []
    for game in jaxgames.games():
        env = jaxgames.make(game)
        shapes = jax.eval_shape(env.init, jax.eval_shape(lambda: jax.random.key(0)))
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))
        rows.append(
            [f"`{game}`, {env.num_players} players", f"{size:,}", *(f"{size * n / 2**20:,.1f}" for n in BATCHES)]
        )
    return table(["", "bytes", *(f"MiB for {n:,} games" for n in BATCHES)], rows)


def measured_programs() -> Iterable[dict[str, Any]]:
    """What benchmarks/throughput.py wrote of each game with the options it is shown with."""
    for game in jaxgames.games():
        found = json.loads((SPEEDS / f"{game}.json").read_text())
        yield found | {"title": f"`{game}`, {jaxgames.make(game, **found['options']).num_players} players"}


def play_memory() -> str:
    """What a loop of random play takes, as XLA plans it, by the size of the batch and what is observed."""
    sizes: dict[tuple[str, str], dict[int, float]] = {}
    for found in measured_programs():
        for row in found["rows"]:
            if row["shards"] > 1:  # as a batch is played on all cores
                seen = f"`{row['observe']}`" if row["observe"] else "none"
                sizes.setdefault((found["title"], seen), {})[row["batch"]] = row["peak_megabytes"]
    batches = sorted({batch for each in sizes.values() for batch in each})
    rows = [
        [*who, *(f"{found[batch]:,.1f}" if batch in found else "–" for batch in batches)]
        for who, found in sizes.items()
    ]
    return table(["", "observation", *(f"MB for {batch:,} games" for batch in batches)], rows)


def step_costs() -> str:
    """What one step of one game does, by XLA's cost analysis of the batched step without observations."""
    rows = []
    for found in measured_programs():
        operations, moved = (found["program"][name] for name in ("operations_per_step", "bytes_per_step"))
        rows.append([found["title"], f"{operations:,.0f}", f"{moved:,.0f}", f"{operations / moved:.1f}"])
    return table(["", "operations", "bytes", "operations a byte"], rows)


def network_fields(kind: str) -> str:
    """The fields of a network with their defaults; those without one are filled in by the game."""
    network = networks.KINDS[kind].network
    rows, notes = [], {}
    for parent in reversed(network.__mro__):
        if parent.__module__.startswith("agents."):
            notes |= comments(sys.modules[parent.__module__])
    for field in dataclasses.fields(network):
        if field.name in ("parent", "name"):  # flax's own
            continue
        default = "by the game" if field.default is dataclasses.MISSING else f"`{field.default!r}`"
        rows.append([f"`{field.name}`", default, notes.get(field.name, FIELD_NOTES.get(field.name, ""))])
    return table(["field", "default", "meaning"], rows)


# -- Sphinx -----------------------------------------------------------------------------------------------------------


class Written(SphinxDirective):
    """A place that a function fills with Markdown."""

    write: Callable[..., str]

    def run(self) -> list[nodes.Node]:
        text = type(self).write(*self.arguments)
        box = nodes.container()
        self.state.nested_parse(StringList(text.splitlines(), source=self.name), 0, box)
        return box.children


GAME_PARTS = (facts, options, observations, bots, players, speed)
OTHERS = {
    "all-players": all_players,
    "search-agents": search_agents,
    "state-memory": state_memory,
    "play-memory": play_memory,
    "step-costs": step_costs,
}


def directive(write: Callable[..., str], arguments: int) -> type[Written]:
    return type("Filled", (Written,), {"write": staticmethod(write), "required_arguments": arguments})


def link_notebooks(app: Sphinx, page: str, source: list[str]) -> None:
    """Pages link to the notebooks where they lie, beside docs/; Sphinx has a copy of them below it (conf.py)."""
    up = "../" * page.count("/")
    source[0] = source[0].replace(f"]({up}../notebooks/", f"]({up}notebooks/")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", link_notebooks)
    for write in GAME_PARTS:
        app.add_directive(f"game-{write.__name__}", directive(lambda game, write=write: write(jaxgames.make(game)), 1))
    for name, write in OTHERS.items():
        app.add_directive(name, directive(write, 0))
    app.add_directive("network-fields", directive(network_fields, 1))
    return {"parallel_read_safe": True}
