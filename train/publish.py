"""Put the network of a run where everybody can load it by name: parameters, what made them, and how strong they are.

    python train/publish.py runs/league skullking --against rule:hard random --deals 1000

writes agents/weights/skullking; from then on `ppo:skullking` is an agent, and its card tells about it. An existing name
is overwritten with `--replace` alone.
"""

import dataclasses
import pathlib
import re
import shlex
import shutil
import sys

import tyro

import agents
from agents import checkpoints
from agents.cards import plays
from jaxgames.options import UserError
from train import cards, locks, pins, scripts
from train.protocols import protocol_of
from train.signals import Asked, requests


@dataclasses.dataclass(frozen=True)
class Publication:
    """What to publish."""

    run: tyro.conf.Positional[str]
    """run or checkpoint folder"""
    name: tyro.conf.Positional[str]
    """folder below agents/weights"""
    against: tuple[str, ...] = ("rule", "random")
    """agents that its card measures it against"""
    deals: int = 1000
    """of each of these measurements; 0 for none"""
    seed: int = 1000
    """of the deals: those of a training have its own seed and the two after it"""
    measure: str = ""
    """the protocol, by name; without one, the game's first"""
    styles: tuple[str, ...] = ("greedy", "sampled")
    """how it plays: greedy, sampled or both"""
    replace: bool = False
    """in place of a network that has this name already"""

    def __post_init__(self):
        scripts.check_types("publish", self)
        if not re.fullmatch("[A-Za-z0-9_-]+", self.name):
            raise UserError(f"publish: name must be letters, digits, - and _ alone, got {self.name!r}")
        if self.deals < 0 or self.deals == 1:
            raise UserError(f"publish: deals must be 0 for none, or at least 2 for a standard error, got {self.deals}")
        if unknown := set(self.styles) - {"greedy", "sampled"}:
            raise UserError(f"publish: styles must be greedy or sampled, got {' '.join(sorted(unknown))}")


def main() -> int:
    return scripts.run(Publication, work, __doc__)


def work(cfg: Publication) -> int:
    """Publish; returns the exit code."""
    with requests() as asked:
        asked.at_once = True  # nothing is published before the last step
        try:
            print(f"wrote {publish(cfg, asked)}")
        except KeyboardInterrupt:
            print(f"Stopped; {cfg.name} is what it was.", file=sys.stderr)
            return asked.exit_code
        except OSError as error:
            print(f"Stopped: {error}. {cfg.name} is what it was. {scripts.remedy(error)}.", file=sys.stderr)
            return scripts.NO_ROOM
    return 0


def publish(cfg: Publication, asked: Asked | None = None) -> pathlib.Path:
    """The folder with the weights of a run and their card. It appears with all that is in it, or all is as it was."""
    folder = checkpoints.WEIGHTS / cfg.name
    if (folder.exists() or checkpoints.is_published(cfg.name)) and not cfg.replace:
        raise UserError(f"publish: {folder} exists already and is not overwritten without --replace")
    source = checkpoints.latest(cfg.run)
    manifest = checkpoints.read_manifest(source)
    check_measurement(cfg, manifest)
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = folder.with_name(f".{cfg.name}.new")
    with locks.alone_beside(folder, f"publish: another process is publishing {cfg.name}; wait for its end"):
        try:
            shutil.rmtree(building, ignore_errors=True)  # of a publication that was killed
            build(cfg, source, manifest, building)
            if asked:
                asked.at_once = False  # from here on a signal waits
            put_in_place(building, folder)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    return folder


def check_measurement(cfg: Publication, manifest: checkpoints.Json) -> None:
    """A UserError unless the network can be measured as asked."""
    if not plays(manifest) or not cfg.deals:
        return
    env = cards.env_of(manifest)
    protocol_of(env, cfg.measure)
    for rival in cfg.against:
        if cfg.name not in pins.networks_of([rival], env):  # itself is not there yet
            agents.make(rival, env)


def build(cfg: Publication, source: pathlib.Path, manifest: checkpoints.Json, folder: pathlib.Path) -> None:
    """Weights, card and curve in a folder; its name is a network's, by which it is measured."""
    items, _ = checkpoints.load(source, ("params",), manifest["game"], manifest["version"])
    about = {name: value for name, value in manifest.items() if name not in ("format", "sha256")}
    start = about.get("config", {}).get("start_from", "")
    if "/" in start:  # a run: its place is a matter of the machine that it was made on
        about["config"] = about["config"] | {"start_from": f"runs/{pathlib.Path(start).name}"}
    run = next((path for path in (source, *source.parents[:2]) if (path / "config.json").exists()), None)
    past = cards.history(run) if run and plays(manifest) else []
    checkpoints.save(folder, items, about)
    if run and not cards.is_of_ppo(run):
        for report, name in (("evaluation.md", "study.md"), ("calibration.png", "calibration.png")):
            if (run / report).exists():
                shutil.copyfile(run / report, folder / name)
        run = None
    if not plays(manifest):
        return
    if run:
        cards.draw(run, manifest, folder / "curve.png")
    figures, how = [], "It was not measured."
    if cfg.deals:
        how = f"Measured by `{command(cfg)}`."
        figures = cards.measure(
            cfg.name, folder.name, cards.env_of(manifest), cfg.against, cfg.deals, cfg.seed, cfg.measure, cfg.styles
        )
    cards.write(folder, cards.describe(cfg.name, folder, past, figures, how))


def put_in_place(building: pathlib.Path, folder: pathlib.Path) -> None:
    """By renames alone. Killed in between, the old network goes on under its name (`checkpoints.published`)."""
    aside = checkpoints.aside_of(folder)
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
    try:
        building.rename(folder)
    except OSError:
        if aside.exists():
            aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def command(cfg: Publication) -> str:
    """The command line of a publication, without the place of the run."""
    words = [f"python train/publish.py runs/{pathlib.Path(cfg.run).name} {cfg.name}", "--against", *cfg.against]
    words += ["--deals", str(cfg.deals), "--seed", str(cfg.seed)]
    words += ["--measure", cfg.measure] if cfg.measure else []
    words += ["--styles", *cfg.styles] if cfg.styles != Publication.styles else []
    return " ".join([words[0], *map(shlex.quote, words[1:])])


if __name__ == "__main__":
    sys.exit(main())
