"""Put the network of a run where everybody can load it by name: parameters, what made them, and how strong they are.

    python train/publish.py runs/league skullking --against rule:hard random --deals 1000

writes agents/weights/skullking; from then on `ppo:skullking` is an agent, and its card tells about it. An existing name
is overwritten with `--replace` alone.
"""

import contextlib
import dataclasses
import pathlib
import shlex
import shutil
import sys
from collections.abc import Iterator

import tyro

from agents import checkpoints
from agents.cards import plays
from jaxgames.options import UserError
from train import cards


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
    """how it plays"""
    replace: bool = False
    """in place of a network that has this name already"""


def main() -> int:
    cfg = tyro.cli(Publication, description=__doc__)
    try:
        print(f"wrote {publish(cfg)}")
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def publish(cfg: Publication) -> pathlib.Path:
    """The folder with the weights of a run and their card."""
    source = checkpoints.latest(cfg.run)
    manifest = checkpoints.read_manifest(source)
    items, _ = checkpoints.load(source, ("params",), manifest["game"], manifest["version"])
    about = {name: value for name, value in manifest.items() if name not in ("format", "sha256")}
    start = about.get("config", {}).get("start_from", "")
    if "/" in start:  # a run: its place is a matter of the machine that it was made on
        about["config"] = about["config"] | {"start_from": f"runs/{pathlib.Path(start).name}"}
    run = next((path for path in (source, *source.parents[:2]) if (path / "config.json").exists()), None)
    # Before the old network of this name goes: the new one may have started from it.
    past = cards.history(run) if run and plays(manifest) else []
    folder = checkpoints.WEIGHTS / cfg.name
    with set_aside(folder) if cfg.replace else contextlib.nullcontext():
        checkpoints.save(folder, items, about)
    if run and not cards.is_of_ppo(run):
        for report, name in (("evaluation.md", "study.md"), ("calibration.png", "calibration.png")):
            if (run / report).exists():
                shutil.copyfile(run / report, folder / name)
        run = None
    if not plays(manifest):
        return folder
    if run:
        cards.draw(run, manifest, folder / "curve.png")
    figures, how = [], "It was not measured."
    if cfg.deals:
        env = cards.env_of(manifest)
        figures = cards.measure(cfg.name, env, cfg.against, cfg.deals, cfg.seed, cfg.measure, cfg.styles)
        how = f"Measured by `{command(cfg)}`."
    cards.write(folder, cards.describe(cfg.name, folder, past, figures, how))
    return folder


@contextlib.contextmanager
def set_aside(folder: pathlib.Path) -> Iterator[None]:
    """Out of the way of its successor, and back again if there is none: a disk may be full."""
    aside = folder.with_name(f".{folder.name}.replaced")
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
    try:
        yield
    except BaseException:
        if aside.exists():
            aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def command(cfg: Publication) -> str:
    """The command line of a publication, without the place of the run."""
    words = [f"python train/publish.py runs/{pathlib.Path(cfg.run).name} {cfg.name}", "--against", *cfg.against]
    words += ["--deals", str(cfg.deals), "--seed", str(cfg.seed)]
    words += ["--measure", cfg.measure] if cfg.measure else []
    return " ".join([words[0], *map(shlex.quote, words[1:])])


if __name__ == "__main__":
    sys.exit(main())
