"""Expert iteration: a network learns what search makes of it, and search thinks with what it has learned.

    python train/expert.py schafkopf schafkopf --teacher "rollouts:{network},worlds=32" --run runs/expert
    python train/expert.py skullking skullking --teacher "rollouts:{network},worlds=64" --rounds 2 --games 500

A round plays games in which the teacher, a search with the newest network, takes every seat; then the network learns to
choose at once what the search chose. At the end network and search are measured against the network that it began with:
how much of the search's gain does the network alone keep? The same command again goes on where it was stopped.
"""

import dataclasses
import math
import pathlib
import sys
import time

import jax
import tyro

import agents
import jaxgames
from agents import checkpoints
from jaxgames import Env
from jaxgames.options import UserError, read_option
from train import make_games, scripts, supervised
from train.evaluate import Figures, versus
from train.folders import write_whole
from train.protocols import protocol_of

NETWORK = "{network}"  # stands for the newest one


@dataclasses.dataclass(frozen=True)
class Expert:
    """Who learns from whom, and for how long."""

    game: tyro.conf.Positional[str]
    """the game"""
    network: tyro.conf.Positional[str]
    """run, checkpoint or name of the network to begin with"""
    teacher: str = "rollouts:{network},worlds=32"
    """the search, with {network} for the newest network"""
    rounds: int = 2
    """of play and study"""
    games: int = 1000
    """in a round"""
    epochs: int = 2
    """passes over the games of a round"""
    learning_rate: float = 1e-4
    """of the study, the same all the time"""
    option: tuple[str, ...] = ()
    """options of the game's rules page, each as name=value"""
    batch: int = 64
    """games at a time"""
    deals: int = 500
    """of every measurement"""
    seed: int = 0
    """of everything random"""
    run: str = ""
    """folder to write or to go on with; without it one is named after game and time"""

    def __post_init__(self):
        scripts.check_types("expert", self)
        if NETWORK not in self.teacher:
            raise UserError(f"expert: teacher must hold {NETWORK}, got {self.teacher!r}")
        if self.rounds < 1 or self.games < supervised.FOLD or self.deals < 2:
            raise UserError(f"expert: at least 1 round, {supervised.FOLD} games and 2 deals are needed")
        for name in ("epochs", "batch", "learning_rate"):
            if not getattr(self, name) > 0:
                raise UserError(f"expert: {name} must be above 0, got {getattr(self, name)}")
        if self.seed < 0:
            raise UserError(f"expert: seed must not be below 0, got {self.seed}")


def iterate(cfg: Expert) -> int:
    """All rounds, then the result; returns the exit code."""
    env = jaxgames.make(cfg.game, **dict(read_option(text) for text in cfg.option))
    root = pathlib.Path(cfg.run or f"runs/expert-{cfg.game}-{time.strftime('%Y%m%d-%H%M%S')}")
    students = [cfg.network]
    for number in range(1, cfg.rounds + 1):
        games, folder = root / f"games{number}.jsonl", root / f"round{number}"
        if exit_code := teach(cfg, students[-1], number, games, folder):
            return exit_code
        students.append(str(checkpoints.latest(folder)))
    text = report(cfg, env, students)
    write_whole(root / "expert.md", text + "\n")
    print(text)
    return 0


def teach(cfg: Expert, network: str, number: int, games: pathlib.Path, folder: pathlib.Path) -> int:
    """One round, as far as it is missing; returns the exit code."""
    if (folder / "evaluation.md").exists():
        return 0
    played = make_games.Games(
        game=cfg.game,
        agents=(cfg.teacher.replace(NETWORK, network),),
        out=str(games),
        games=cfg.games,
        option=cfg.option,
        batch=min(cfg.batch, cfg.games),
        seed=cfg.seed + number,
    )
    if exit_code := make_games.make(played):
        return exit_code
    if folder.exists():
        return supervised.study(supervised.resumed(str(folder)))
    return supervised.study(
        supervised.Config(
            games=str(games),
            start_from=network,
            epochs=cfg.epochs,
            chunk=max(1, cfg.games // 10),
            learning_rate=cfg.learning_rate,
            final_learning_rate=cfg.learning_rate,
            seed=cfg.seed,
            run=str(folder),
        )
    )


def report(cfg: Expert, env: Env, students: list[str]) -> str:
    """Every student and the first teacher against the network that all began with, on the same deals."""
    headline, fair = protocol_of(env).headline, protocol_of(env).fair
    first = agents.make(f"ppo:{students[0]},greedy", env)
    specs = {"the teacher with the first network": cfg.teacher.replace(NETWORK, students[0])}
    specs |= {f"the network after round {i}": f"ppo:{each},greedy" for i, each in enumerate(students) if i}
    if math.isnan(fair):  # nobody's share is known beforehand: what the first network gets from its like
        fair = versus(env, first, first, cfg.seed, cfg.deals)[headline][0]
    found: dict[str, Figures] = {}
    for name, spec in specs.items():
        found[name] = versus(env, agents.make(spec, env), first, cfg.seed, cfg.deals)
        jax.clear_caches()
    gains = {name: figures[headline][0] - fair for name, figures in found.items()}
    teacher = gains["the teacher with the first network"]
    lines = [
        f"{headline} against `ppo:{students[0]},greedy` in {cfg.game}, {cfg.deals} deals; teacher `{cfg.teacher}`.",
        "",
        f"| | {headline} | gain | share of the teacher's |",
        "|---|---|---|---|",
    ]
    for name, figures in found.items():
        mean, error = figures[headline]
        share = f"{100 * gains[name] / teacher:.0f} %" if teacher > 0 else "-"
        lines.append(f"| {name} | {mean:.2f} ± {error:.2f} | {gains[name]:+.2f} | {share} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(scripts.run(Expert, iterate, __doc__))
