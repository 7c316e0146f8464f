"""Model cards: what made a published network and how strong it is, generated from its run.

`card.json` is for programs (agents/cards.py reads it), `card.md` and `curve.png` say the same to people.
"""

import dataclasses
import importlib
import json
import pathlib
from typing import Any

import jax

import agents
import jaxgames
from agents import checkpoints
from agents.cards import CARD, Strength
from agents.cards import card as card_of
from jaxgames import Env, records
from train.evaluate import versus
from train.folders import draw_curve, read_log, settings_of, write_json
from train.protocols import PROTOCOLS, protocol_of
from train.settings import resumed_config


def env_of(manifest: checkpoints.Json) -> Env:
    """The game that a network was trained in."""
    return jaxgames.make(manifest["game"], **manifest["options"])


def is_honest(name: str) -> bool:
    """Does a published network read only what its player may know?"""
    manifest = checkpoints.read_manifest(checkpoints.published(name))
    return manifest["observation"] in env_of(manifest).honest_versions


def is_of_ppo(run: pathlib.Path) -> bool:
    """Was this run a training by PPO? Others learn from given answers, and report what they learned themselves."""
    return "opponents" in settings_of(run)


def history(run: pathlib.Path) -> list[checkpoints.Json]:
    """The runs that made a network, the first one first: a run may have started from another."""
    config = settings_of(run)
    rows = read_log(run / "metrics.csv")
    if is_of_ppo(run):
        decisions = int(rows[-1]["update"]) * config["envs"] * config["steps"] if rows else 0
        commands = [command_of(run, _training_page(run))]
    else:
        decisions, commands = 0, [*made_games(pathlib.Path(config["games"])), command_of(run, "train.supervised")]
    hours = round(sum(row.get("seconds", 0.0) for row in rows) / 3600, 2)
    return [
        *beginning(config.get("start_from", "")),
        {"command": "\n".join(commands), "decisions": decisions, "hours": hours},
    ]


def beginning(start: str) -> list[checkpoints.Json]:
    """What made the network that a run started from: the folder of another one, a published name, or nothing."""
    if not start:
        return []
    if (pathlib.Path(start) / "config.json").exists():
        return history(pathlib.Path(start))
    return card_of(start).get("runs", [])


def made_games(path: pathlib.Path) -> list[str]:
    """The command that made a file of games, as its first game tells; nothing if it was not made by one."""
    if not path.exists():
        return []
    first = next(records.stream(path), None)
    maker = first.more.get("maker") if first else None
    if not first or not isinstance(maker, dict):
        return []
    usual = jaxgames.make(first.game).options
    options = [f"{name}={value}" for name, value in first.options.items() if value != records.plain(usual).get(name)]
    players = first.players if len(set(first.players)) > 1 else first.players[:1]
    with open(path, "rb") as file:
        words = ["python train/make_games.py", first.game, *players, f"--games {sum(1 for _ in file)}"]
    words += [f"--out games/{path.name}", f"--batch {maker['batch']}", f"--seed {maker['seed']}"]
    return [" ".join([*words, *(["--option", *options] if options else [])])]


def _training_page(run: pathlib.Path) -> str:
    return f"train.ppo_{checkpoints.read_manifest(checkpoints.latest(run))['game']}"


def command_of(run: pathlib.Path, script: str) -> str:
    """The command line that makes the same run: the script and every setting that is not its default."""
    config = settings_of(run)
    games = config.pop("games", "")  # the one setting without a name, and without a default
    fields = dataclasses.fields(importlib.import_module(script).Config)
    default = json.loads(json.dumps({field.name: field.default for field in fields}))
    words = [f"python {script.replace('.', '/')}.py", *([f"games/{pathlib.Path(games).name}"] if games else [])]
    words.append(f"--run runs/{run.name}")
    words += [_flag(name, value) for name, value in config.items() if value != default.get(name)]
    return " ".join(words)


def _flag(name: str, value: Any) -> str:
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{option}" if value else f"--no-{option}"
    if name == "start_from":
        value = f"runs/{pathlib.Path(value).name}" if "/" in value else value
    return f"--{option} " + (" ".join(map(str, value)) if isinstance(value, list) else str(value))


def measure(
    name: str,
    stored: str,
    env: Env,
    against: tuple[str, ...],
    deals: int,
    seed: int,
    protocol: str,
    styles: tuple[str, ...],
) -> list[Strength]:
    """What `ppo:<name>` achieves in each style against each rival: the protocol's headline, then what it also shows.

    Its network goes by the name `stored` until it is published; a rival of its own name is itself.
    """
    protocol = protocol or next(iter(PROTOCOLS.get(env.id, {"rotations": None})))
    way = protocol_of(env, protocol)
    is_open = is_honest(stored)

    def agent(spec: str) -> agents.Agent:
        return agents.make(agents.with_networks(spec, env, lambda each: stored if each == name else each), env)

    measured = []
    for style in styles:
        spec = (f"ppo:{name}" if is_open else f"worlds:{name},16") + (",greedy" if style == "greedy" else "")
        for rival in against:
            found = versus(env, agent(spec), agent(rival), seed, deals, way)
            for figure in (way.headline, *way.also):
                mean, error = (round(each, 4) for each in found[figure])
                measured.append(Strength(spec, figure, mean, error, rival, protocol, deals * len(way.lineup)))
    return measured


def describe(name: str, folder: pathlib.Path, runs: list[checkpoints.Json], figures: list[Strength], how: str) -> dict:
    """The card as data."""
    manifest = checkpoints.read_manifest(folder)
    return {
        "name": name,
        **{part: manifest[part] for part in ("game", "version", "options", "observation", "network")},
        "parameters": count_parameters(manifest, folder),
        "runs": runs,
        "figures": [each._asdict() for each in figures],
        "measured_by": how,
        "sha256": checkpoints.identity(folder),
    }


def count_parameters(manifest: checkpoints.Json, folder: pathlib.Path) -> int:
    items, _ = checkpoints.load(folder, ("params",), manifest["game"], manifest["version"])
    return sum(leaf.size for leaf in jax.tree.leaves(items["params"]))


def write(folder: pathlib.Path, card: checkpoints.Json) -> None:
    """`card.json` and `card.md` beside the weights."""
    write_json(folder / CARD, card)
    (folder / "card.md").write_text(text_of(card, (folder / "curve.png").exists()))


def text_of(card: checkpoints.Json, has_curve: bool) -> str:
    """The card for people, in Markdown."""
    network = card["network"]
    kind = network.get("kind", "mlp")
    decisions, hours = (sum(run[name] for run in card["runs"]) for name in ("decisions", "hours"))
    fields = ", ".join(f"{name} {value}" for name, value in network.get("fields", network).items() if value != [])
    lines = [
        f"# `ppo:{card['name']}`",
        "",
        f"A network that plays {card['game']} (version {card['version']} of its rules). It reads the observation "
        f"`{card['observation']}`.",
        "",
        "| | |",
        "|---|---|",
        f"| network | `{kind}`: {fields}; {card['parameters']:,} parameters |",
        f"| options | {', '.join(f'{name} {value}' for name, value in card['options'].items())} |",
        f"| trained | {f'{decisions:,} decisions in {hours:.1f} hours' if decisions else 'by imitation alone'} |",
        f"| SHA-256 of the weights | `{card['sha256']}` |",
        "",
        "## Strength",
        "",
        f"On deals that no choice was based on; ± is one standard error over deals. {card['measured_by']}",
        "",
        "| agent | against | protocol | games | figure | |",
        "|---|---|---|---|---|---|",
    ]
    for each in (Strength(**each) for each in card["figures"]):
        lines.append(
            f"| `{each.agent}` | `{each.against}` | {each.protocol} | {each.games:,} | {each.figure} | "
            f"{each.mean:.2f} ± {each.error:.2f} |"
        )
    lines += ["", "## Training", ""]
    for run in card["runs"]:
        what = f"{run['decisions']:,} decisions, {run['hours']} hours" if run["decisions"] else "Imitation of games"
        lines += [f"{what}:", "", "```", run["command"], "```", ""]
    if has_curve:
        lines += ["![strength and return over decisions](curve.png)", ""]
    return "\n".join(lines)


def draw(run: pathlib.Path, manifest: checkpoints.Json, path: pathlib.Path) -> None:
    """The curve of a run, small."""
    script = importlib.import_module(f"train.ppo_{manifest['game']}")
    cfg = resumed_config(script.Config(resume=str(run)))
    draw_curve(read_log(run / "metrics.csv"), script.make_task(cfg).protocol, cfg.rivals[0], path, dpi=60)
