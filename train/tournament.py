"""Who beats whom: every pair of agents on the same deals, by the protocol of the game's rules page.

    python train/tournament.py skullking ppo:skullking,greedy rule:hard rule:easy random --deals 1000
    python train/tournament.py schafkopf rule random_coward random --deals 10000 --out docs/results/schafkopf_bots
    python train/tournament.py --resume runs/tournament-skullking-20260102-030405

In Schafkopf two sit against two, then with the sides exchanged; elsewhere one sits against the rest in every seat. The
folder of a tournament keeps every chunk of deals as soon as it is played: killed and resumed, it ends with the same
table, bit for bit. The table comes as Markdown, CSV and PNG, with standard errors over deals and ratings.
"""

import dataclasses
import itertools
import json
import math
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import tyro

import agents
import jaxgames
from agents import checkpoints
from agents.basic import Thinker, as_thinker
from jaxgames import Env, vector
from jaxgames.options import UserError, read_option, shown
from train import locks, pins, scripts, standings
from train.matches import Played, play_in_shards
from train.protocols import NUM_MOMENTS, Counts, Moments, Protocol, moments, one_and_the_rest, protocol_of
from train.signals import requests

if TYPE_CHECKING:
    from rich.console import Console


@dataclasses.dataclass(frozen=True)
class Tournament:
    """Who plays what, and for how long."""

    game: tyro.conf.Positional[str] = ""
    """the game"""
    agents: tyro.conf.Positional[tuple[str, ...]] = ()
    """spec strings: random, rule, ppo:<run or name>,greedy ..."""
    option: tuple[str, ...] = ()
    """options of the game's rules page, each as name=value"""
    protocol: str = ""
    """another protocol than the game's first (saboteur: rotations, sides)"""
    deals: int = 1000
    """of every pair, the same for all; each is played in every rotation"""
    chunk: int = 250
    """deals at a time"""
    seed: int = 0
    """of the deals, and of the agents' own chance"""
    shards: int = 1
    """parts of a chunk that play at the same time, each on a core of its own if there are so many; the agents' chance
    depends on it, the deals do not"""
    self_play: bool = False
    """also every agent against itself"""
    anchor: str = ""
    """the agent whose rating is fixed; without it random, else the last"""
    costs: str = ""
    """file of `benchmarks/search.py`: what agents cost beside what they achieve, and a plot of strength over time"""
    run: str = ""
    """folder to write, which must not exist; without it one is named after game and time"""
    resume: str = ""
    """go on with this folder, given alone"""
    out: str = ""
    """write the table here as well, as <out>.md, .csv and .png"""

    def __post_init__(self):
        scripts.check_types("tournament", self)
        if not self.resume and len(self.agents) < (1 if self.self_play else 2):
            raise UserError("tournament: name a game and at least two agents, or --resume a folder")
        if len(set(self.agents)) < len(self.agents):
            raise UserError(f"tournament: name each agent once, got {' '.join(self.agents)}")
        if self.anchor and self.anchor not in self.agents:
            raise UserError(f"tournament: anchor must be one of the agents, got {self.anchor!r}")
        for name, least in (("deals", 2), ("chunk", 1), ("shards", 1)):
            if getattr(self, name) < least:
                raise UserError(f"tournament: {name} must be at least {least}, got {getattr(self, name)}")
        if self.chunk % self.shards:
            raise UserError(f"tournament: chunk = {self.chunk} deals must divide by shards = {self.shards}")


class Pair(NamedTuple):
    """Two agents by their places in the list, the first of them measured."""

    one: int
    rest: int


Results = dict[Pair, dict[int, dict[str, Moments]]]  # by pair, then by chunk: figures


def hold(cfg: Tournament) -> int:
    """Play what is missing, then write the table; returns the exit code."""
    from rich.console import Console

    console, out = Console(), cfg.out
    folder = pathlib.Path(cfg.resume or cfg.run or f"runs/tournament-{cfg.game}-{time.strftime('%Y%m%d-%H%M%S')}")
    held = None
    if cfg.resume:
        cfg, held = read_settings(cfg, folder)
    elif folder.exists():
        raise UserError(f"tournament: {folder} exists already and is not overwritten; go on with --resume {folder}")
    if cfg.shards > 1:
        vector.use_cores(min(cfg.shards, vector.num_cores()))
    env = jaxgames.make(cfg.game, **dict(read_option(text) for text in cfg.option))
    protocol = protocol_of(env, cfg.protocol)
    if cfg.costs:
        standings.read_costs(pathlib.Path(cfg.costs))  # refused now, not when all is played
    if held is None:
        held = pins.pin(pins.networks_of(cfg.agents, env))
    pins.check(held)
    players = [agents.make(pins.pinned(spec, env, held), env) for spec in cfg.agents]
    if not cfg.resume:
        create(folder, cfg, held)
    refusal = f"tournament: another process is at work in {folder}; wait for its end"
    with requests() as asked, locks.alone(folder / "tournament.json", refusal):
        asked.at_once = True  # every chunk is on disk when it counts
        try:
            results = play_missing(cfg, env, protocol, players, folder, console)
            standing = standings.make(cfg, env, protocol, results)
            for stem in (folder / "table", *([pathlib.Path(out)] if out else [])):
                standings.write(standing, stem)
        except KeyboardInterrupt:
            console.print(f"Stopped; what was played is kept. Continue with --resume {folder}")
            return asked.exit_code
        except OSError as error:
            console.print(f"Stopped: {error}. {scripts.remedy(error)}, then continue with --resume {folder}")
            return scripts.NO_ROOM
    console.print(standing.markdown, markup=False, highlight=False, soft_wrap=True)
    console.print(f"Table {folder}/table.md, .csv and .png")
    return 0


def play_missing(
    cfg: Tournament, env: Env, protocol: Protocol, players: list, folder: pathlib.Path, console: "Console"
) -> Results:
    """Every chunk of every pair that is not on disk yet; all pairs move on together."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    path = folder / "results.jsonl"
    results = read_results(path, cfg, protocol)
    todo = [
        (chunk, pair)
        for chunk in range(num_chunks(cfg))
        for pair in pairs(cfg, protocol)
        if chunk not in results.get(pair, {})
    ]
    play = make_play(cfg, env, protocol, players)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("chunks"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[who]}"),
    )
    with Progress(*columns, console=console) as bar:
        line = bar.add_task("", total=len(todo), who="compiling")
        for chunk, pair in todo:
            bar.update(line, who=f"{cfg.agents[pair.one]} against {cfg.agents[pair.rest]}")
            views = play(pair, chunk)
            append(path, pair, chunk, views)
            enter(results, pair, chunk, views)
            bar.advance(line)
    return results


def num_chunks(cfg: Tournament) -> int:
    """Of a pair."""
    return -(-cfg.deals // cfg.chunk)


def pairs(cfg: Tournament, protocol: Protocol) -> Iterator[Pair]:
    """What is played: where exchanging the two makes no difference, each pair once."""
    for one, rest in itertools.product(range(len(cfg.agents)), repeat=2):
        if one < rest or (one > rest and not protocol.is_symmetric) or (one == rest and cfg.self_play):
            yield Pair(one, rest)


def make_play(cfg: Tournament, env: Env, protocol: Protocol, players: list) -> Callable:
    """`play(pair, chunk) -> [figures]`, from both sides where they are alike. One program serves all pairs."""
    deal_key, act_key = jax.random.split(jax.random.key(cfg.seed))
    lineup = jnp.asarray(protocol.lineup)
    names: list[str] = []  # a jitted dict would come back sorted

    def seat(index: chex.Array) -> agents.Agent:
        """The agent at this place; a scalar choice, so the others cost nothing."""
        thinkers = [as_thinker(agent) for agent in players]
        glances = [each.glance for each in thinkers]
        thoughts = [lambda *asked, each=each: jnp.asarray(each.think(*asked), jnp.int32) for each in thinkers]
        return Thinker(
            glance=lambda state, player: jax.lax.switch(index, glances, state, player),
            think=lambda key, state, player: jax.lax.switch(index, thoughts, key, state, player),
        )

    def seated(pair: Pair) -> tuple[Sequence[agents.Agent], chex.Array]:
        """(agents, lineup of them). Where the two only take seats, each agent is compiled once."""
        if protocol.cast is one_and_the_rest:
            return players, jnp.where(lineup == 0, pair.one, pair.rest)
        return protocol.cast(seat(pair.one), seat(pair.rest)), lineup

    @jax.jit
    def run(pair: Pair, chunk: chex.Array) -> list[list[Counts]]:
        deal_keys = jax.random.split(jax.random.fold_in(deal_key, chunk), cfg.chunk)
        key = jax.random.fold_in(jax.random.fold_in(act_key, chunk), pair.one * len(players) + pair.rest)
        cast, table = seated(pair)
        states, returns, log = play_in_shards(env, tuple(cast), protocol.watch, cfg.shards, deal_keys, table, key)
        views = [lineup, 1 - lineup] if protocol.is_symmetric else [lineup]
        found = [protocol.measure(env, Played(states, returns, view, log)) for view in views]
        names[:] = found[0]
        return [list(figures.values()) for figures in found]

    def play(pair: Pair, chunk: int) -> list[dict[str, Moments]]:
        last = min(cfg.chunk, cfg.deals - chunk * cfg.chunk)  # the last chunk plays more deals than it counts
        views = jax.device_get(run(jax.tree.map(jnp.int32, pair), jnp.int32(chunk)))
        return [
            {name: moments(Counts(*(each[:last] for each in counts))) for name, counts in zip(names, view, strict=True)}
            for view in views
        ]

    return play


# -- the folder -------------------------------------------------------------------------------------------------------


def create(folder: pathlib.Path, cfg: Tournament, held: pins.Pins) -> None:
    """Make the folder; it appears with its settings or not at all."""
    settings = {name: value for name, value in dataclasses.asdict(cfg).items() if name not in ("run", "resume", "out")}
    partial = folder.with_name(f".{folder.name}.partial")
    networks = {name: each._asdict() for name, each in held.items()}
    text = json.dumps({"settings": settings, "networks": networks}, indent=1)
    try:
        partial.mkdir(parents=True, exist_ok=True)
        (partial / "tournament.json").write_text(text + "\n")
        os.rename(partial, folder)
    except OSError as error:
        raise UserError(f"tournament: {folder} cannot be written ({error}); name another folder") from error


def read_settings(cfg: Tournament, folder: pathlib.Path) -> tuple[Tournament, pins.Pins]:
    """The settings of a tournament to go on with, and its networks."""
    if cfg != Tournament(resume=cfg.resume, out=cfg.out):
        raise UserError("resume: a tournament goes on with its own settings; give --resume alone, or with --out")
    path = folder / "tournament.json"
    try:
        stored = checkpoints.read_json(path)
        settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in stored["settings"].items()}
        return Tournament(**settings, resume=cfg.resume, out=cfg.out), pins.read(stored["networks"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"resume: {path} is not a tournament's ({error})") from error


def append(path: pathlib.Path, pair: Pair, chunk: int, views: list[dict[str, Moments]]) -> None:
    """One line for one chunk, on disk when this returns. A line that a kill cut short is dropped by the reader."""
    line = json.dumps({"one": pair.one, "rest": pair.rest, "chunk": chunk, "views": views}) + "\n"
    with open(path, "ab") as file:
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def read_results(path: pathlib.Path, cfg: Tournament, protocol: Protocol) -> Results:
    """What was played so far; the file is cut back to its last whole line."""
    if not path.exists():
        return {}
    whole, newline, rest = path.read_bytes().rpartition(b"\n")
    results: Results = {}
    names: list[str] = []
    for number, text in enumerate(whole.splitlines(), 1):
        try:
            pair, chunk, views = read_result(text, cfg, protocol)
            names = names or list(views[0])
            if any(list(view) != names for view in views):
                raise ValueError("it has other figures than the first line")
            enter(results, pair, chunk, views)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UserError(
                f"resume: line {number} of {path} is no result ({error}); delete it to play it again"
            ) from error
    if rest:
        os.truncate(path, len(whole + newline))
    return results


def read_result(text: bytes, cfg: Tournament, protocol: Protocol) -> tuple[Pair, int, list[dict[str, Moments]]]:
    """(pair, chunk, figures from each side) of a line; an error if this tournament cannot have written it."""
    line = json.loads(text)
    pair, chunk = Pair(line["one"], line["rest"]), line["chunk"]
    are_places = all(type(number) is int and number >= 0 for number in (*pair, chunk))
    if not are_places or pair not in pairs(cfg, protocol) or chunk >= num_chunks(cfg):
        raise ValueError(f"it has no chunk {shown(chunk)} of {shown(pair.one)} against {shown(pair.rest)}")
    views = [{name: tuple(each) for name, each in view.items()} for view in line["views"]]
    if len(views) != 1 + protocol.is_symmetric or not all(protocol.headline in view for view in views):
        raise ValueError(f"it does not have {protocol.headline} from every side")
    for name, each in itertools.chain(*(view.items() for view in views)):
        if len(each) != NUM_MOMENTS or not all(type(x) is float and math.isfinite(x) for x in each):
            raise ValueError(f"{name} must be {NUM_MOMENTS} finite numbers")
    return pair, chunk, views


def enter(results: Results, pair: Pair, chunk: int, views: list[dict[str, Moments]]) -> None:
    """Keep a chunk under its pair, and as the other side sees it under the exchanged one."""
    for each, figures in zip({pair: None, Pair(pair.rest, pair.one): None}, views, strict=False):
        results.setdefault(each, {})[chunk] = figures


if __name__ == "__main__":
    sys.exit(scripts.run(Tournament, hold, __doc__))
