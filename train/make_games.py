"""Games of agents as records, many at a time: to learn from, to look at, to measure with.

    python train/make_games.py schafkopf ppo:schafkopf,greedy --games 75000 --out games/schafkopf.jsonl
    python train/make_games.py skullking rule:hard rule:easy rule:easy random --games 1000 --out games/mixed.jsonl

One agent takes every seat, or each seat is named. What is in the file already is kept: the same command again goes on
where it was stopped, to the same bytes.
"""

import dataclasses
import os
import pathlib
import sys
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import agents
import jaxgames
from jaxgames import Env, records
from jaxgames.options import UserError, read_option
from jaxgames.records import Record
from train import locks, pins, scripts
from train.matches import play_batch
from train.signals import requests


@dataclasses.dataclass(frozen=True)
class Games:
    """Who plays what, how often, and where it is written."""

    game: tyro.conf.Positional[str]
    """the game"""
    agents: tyro.conf.Positional[tuple[str, ...]]
    """a spec string for all seats, or one for each"""
    out: str
    """the file, one line a game"""
    games: int = 1000
    """in the file at the end"""
    option: tuple[str, ...] = ()
    """options of the game's rules page, each as name=value"""
    batch: int = 256
    """games at a time"""
    seed: int = 0
    """of the deals, and of the agents' own chance"""

    def __post_init__(self):
        scripts.check_types("games", self)
        for name in ("games", "batch"):
            if getattr(self, name) < 1:
                raise UserError(f"games: {name} must be at least 1, got {getattr(self, name)}")
        if not pathlib.Path(self.out).name:
            raise UserError(f"games: out must name a file, got {self.out!r}")
        if self.out.endswith(".gz"):
            raise UserError("games: a packed file cannot be gone on with after a stop; write plain lines and pack them")


def make(cfg: Games) -> int:
    """Play what is missing in the file; returns the exit code."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    env = jaxgames.make(cfg.game, **dict(read_option(text) for text in cfg.option))
    specs = cfg.agents * env.num_players if len(cfg.agents) == 1 else cfg.agents
    if len(specs) != env.num_players:
        raise UserError(f"games: name one agent or {env.num_players}, one a seat; got {len(specs)}")
    play = make_play(cfg, env, specs)
    path = pathlib.Path(cfg.out)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("games"), TimeRemainingColumn())
    refusal = f"games: another process is at work on {path}; wait for its end"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with requests() as asked, locks.alone_beside(path, refusal):
            done = cut_to_whole_lines(path, lambda: next(play(0)))
            with Progress(*columns) as bar:
                line = bar.add_task("", total=cfg.games, completed=done)
                while done < cfg.games and not asked.signal:
                    number, first = divmod(done, cfg.batch)
                    chunk = list(play(number))[first : first + cfg.games - done]
                    records.write(path, chunk)
                    done += len(chunk)
                    bar.update(line, completed=done)
    except OSError as error:
        print(f"Stopped: {error}. {scripts.remedy(error)}; the same command goes on.", file=sys.stderr)
        return scripts.NO_ROOM
    if asked.signal:
        print(f"Stopped after {done} games; the same command goes on.", file=sys.stderr)
    return asked.exit_code


def make_play(cfg: Games, env: Env, specs: tuple[str, ...]) -> Callable[[int], Iterator[Record]]:
    """`play(number)`: the records of one batch of games."""
    held = pins.pin(pins.networks_of(specs, env))
    kinds = list(dict.fromkeys(specs))
    cast = tuple(agents.make(pins.pinned(spec, env, held), env) for spec in kinds)
    lineup = np.array([[kinds.index(spec) for spec in specs]], np.int32)
    networks = {name: pin.sha256 for name, pin in held.items()}
    maker = records.plain({"seed": cfg.seed, "batch": cfg.batch, "networks": networks})

    def note(actions, before, action, after):
        return actions.at[before.step_count].set(action)

    watch = (np.zeros(env.max_steps, np.int32), note)

    @jax.jit
    def run(number):
        deal_key, act_key = jax.random.split(jax.random.fold_in(jax.random.key(cfg.seed), number))
        deal_keys = jax.random.split(deal_key, cfg.batch)
        last, returns, actions = play_batch(env, cast, watch, deal_keys, jnp.asarray(lineup), act_key)
        scores = jax.vmap(jax.vmap(env.scores))(last)
        found = (last.step_count, returns, actions, scores)
        return jax.vmap(env.deal)(deal_keys), jax.tree.map(lambda leaf: leaf[:, 0], found)

    def play(number: int) -> Iterator[Record]:
        deals, (lengths, returns, actions, scores) = jax.device_get(run(jnp.int32(number)))
        for i in range(cfg.batch):
            yield Record(
                game=env.id,
                options=records.plain(env.options),
                deal=records.plain(jax.tree.map(lambda leaf, i=i: leaf[i], deals)),
                actions=actions[i, : lengths[i]].tolist(),
                version=env.version,
                players=specs,
                scores=scores[i].tolist(),
                returns=returns[i].tolist(),
                more={"maker": maker},
            )

    return play


def cut_to_whole_lines(path: pathlib.Path, begin: Callable[[], Record]) -> int:
    """How many games the file holds, after a line that a kill cut short is cut off.

    A UserError unless it begins with the game that this command begins with: then it is another's, and left alone.
    """
    if not path.exists() or not path.stat().st_size:
        return 0
    expected = (begin().to_json() + "\n").encode()
    count, end = 0, 0
    with open(path, "rb") as file:
        if not expected.startswith(file.readline(len(expected))):
            raise UserError(f"games: {path} holds games of other agents, options, networks or seeds; name another file")
        file.seek(0)
        for line in file:
            if line.endswith(b"\n"):
                count, end = count + 1, end + len(line)
    os.truncate(path, end)
    return count


if __name__ == "__main__":
    sys.exit(scripts.run(Games, make, __doc__))
