"""Imitation: a network learns from recorded games to choose what was chosen in them.

    python train/make_games.py schafkopf ppo:schafkopf,greedy --games 75000 --out games/schafkopf.jsonl
    python train/supervised.py games/schafkopf.jsonl --run runs/imitation
    python train/supervised.py games/schafkopf.jsonl --network lstm --observation seq70 \\
        --field width=32 layers=1 "head_widths=(32,)"                     # the small published one
    python train/ppo_schafkopf.py --network lstm --start-from runs/imitation
    python train/supervised.py --resume runs/imitation

The file is read as a stream, every game is played again, and a bad line is named and passed over. Decisions without a
choice teach nothing and are left out. The last of every ten games is held out: the share of its decisions that the
network would take, top-1, is the result. The value head is not trained.
"""

import dataclasses
import functools
import itertools
import math
import pathlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import tyro

from agents import networks
from agents.networks import Model, Params
from jaxgames import Env, State, records
from jaxgames.options import UserError, read_option
from jaxgames.records import Record, RecordError
from train import pins, studies
from train.folders import Folder, write_whole
from train.matches import MANY_ACTIONS
from train.settings import resumed_config
from train.studies import Student, StudyConfig

FOLD = 10  # one game of so many is held out


@dataclasses.dataclass(frozen=True)
class Config(StudyConfig):
    """Everything that can be set on the command line."""

    games: tyro.conf.Positional[str] = ""
    """file of recorded games, all of one game with the same options"""
    network: str = "lstm"
    """kind of network; with start_from its own"""
    observation: str = ""
    """version that it reads; without it the first that fits"""
    field: tuple[str, ...] = ()
    """fields of the network, each as name=value"""
    epochs: int = 3
    """passes over the file"""
    chunk: int = 500
    """games of one update: played again, their decisions shuffled"""
    minibatch: int = 1024
    """decisions in a gradient step"""
    learning_rate: float = 1e-3
    """of Adam, at the start; published 2e-4"""
    final_learning_rate: float = 1e-4
    """and at the end: the schedule is linear"""
    held_out: int = 1000
    """games at most that the result is measured on"""

    def __post_init__(self):
        self.at_least_one("epochs", "chunk", "minibatch", "learning_rate", "final_learning_rate", "held_out")
        if not self.resume and not self.games:
            raise UserError("supervised: name a file of games, or --resume a folder")


class Decisions(NamedTuple):
    """Some decisions, [row, ...]."""

    states: State
    actions: chex.Array  # int32[row]  what was chosen
    weight: chex.Array  # float32[row]  0 for what does not count


def study(cfg: Config) -> int:
    """The whole of it; returns the exit code."""
    count, env = survey(cfg.games)
    if count < FOLD:
        raise UserError(f"supervised: {cfg.games} holds {count} good games; at least {FOLD} are needed")
    model = make_model(cfg, env)
    folder = Folder(cfg, env, networks.describe(model), model.version)
    held = studies.hold_networks(cfg, folder, (), env)
    start = networks.load(pins.held_to(cfg.start_from, held), env)[1] if cfg.start_from else None
    num_learned = sum(1 for i in range(count) if not is_held_out(i))
    chunks = -(-num_learned // cfg.chunk)
    lessons = Lessons(cfg, chunks)
    gradient_step = jax.jit(functools.partial(learn, cfg, model, cfg.epochs * chunks))
    examine = jax.jit(functools.partial(judge, model))
    exam = list(itertools.islice(held_out_games(cfg.games), cfg.held_out))

    def begin() -> Student:
        init_key, key = jax.random.split(jax.random.key(cfg.seed))
        params = model.init(init_key) if start is None else start
        return Student(params, optax.scale_by_adam().init(params), key, jnp.int32(0))

    def advance(student: Student) -> tuple[Student, dict[str, float]]:
        number = int(student.updates)
        states, actions, rows = decisions_of(lessons[number])
        order = np.random.default_rng((cfg.seed, number)).permutation(rows)
        losses = []
        for part in minibatches(order, cfg.minibatch):
            student, loss = gradient_step(student, gather(states, actions, part))
            losses.append(loss)
        student = student._replace(updates=student.updates + 1)
        row = {"loss": float(np.mean(losses))}
        if (number + 1) % chunks == 0:
            row |= measure(cfg, examine, student.params, exam)
        return student, row

    student, exit_code = studies.learn(cfg, folder, held, begin, advance, cfg.epochs * chunks)
    if exit_code == 0:
        print(report(folder, cfg, measure(cfg, examine, student.params, exam), num_learned, len(exam)))
    return exit_code


def resumed(folder: str) -> Config:
    """The settings of a study to go on with."""
    return resumed_config(Config(resume=folder))


def make_model(cfg: Config, env: Env) -> Model:
    """The network to be taught; a UserError if it cannot tell which of its choices an action is."""
    if cfg.start_from:
        model, _ = networks.load(cfg.start_from, env)
    else:
        model = new_model(cfg, env)
    if type(model).act is not Model.act and type(model).choice is Model.choice:
        raise UserError(f"supervised: a {cfg.network} chooses otherwise than by action; it cannot be taught actions")
    return model


def new_model(cfg: Config, env: Env) -> Model:
    """The network that the settings describe; a UserError if there is none such."""
    fields = dict(read_option(text) for text in cfg.field)
    try:
        model = networks.make(cfg.network, env, cfg.observation or None, **fields)
        params = jax.eval_shape(model.init, jax.random.key(0))
        if not all(leaf.size for leaf in jax.tree.leaves(params)):
            raise ValueError("a layer would have no units")
    except UserError:
        raise
    except (TypeError, ValueError, ZeroDivisionError) as error:  # older JAX divides by the units of a layer
        raise UserError(
            f"supervised: network = {cfg.network} with observation = {cfg.observation or 'the first'} and field = "
            f"{' '.join(cfg.field) or 'none'} cannot be made: {error}"
        ) from error
    return model


# -- games ------------------------------------------------------------------------------------------------------------


def is_held_out(number: int) -> bool:
    """Is the game at this place of the file for measuring only?"""
    return number % FOLD == FOLD - 1


def survey(path: str) -> tuple[int, Env]:
    """(good games, their env) of a file; bad lines are named on the way."""
    if not pathlib.Path(path).is_file():
        raise UserError(f"supervised: there is no file {path}")
    count, envs = 0, dict[Env, None]()
    for record in records.stream(path, check=True, skip=lambda error: print(f"{path}: {error}", file=sys.stderr)):
        envs[record.env] = None
        count += 1
    if len(envs) != 1:
        raise UserError(f"supervised: {path} must hold games of one kind, found {len(envs)}")
    return count, next(iter(envs))


def good_games(path: str) -> Iterator[Record]:
    """What `survey` counted."""

    def pass_over(error: RecordError) -> None:
        """It was named before."""

    return records.stream(path, check=True, skip=pass_over)


def held_out_games(path: str) -> Iterator[Record]:
    return (record for i, record in enumerate(good_games(path)) if is_held_out(i))


class Lessons:
    """The games of every update, in the order of the file, epoch after epoch."""

    def __init__(self, cfg: Config, chunks: int):
        self.cfg, self.chunks, self.next = cfg, chunks, -1
        self.stream: Iterator[list[Record]] = iter(())

    def __getitem__(self, number: int) -> list[Record]:
        """The games of update `number`; the next one is read on from there."""
        if number != self.next or number % self.chunks == 0:
            learned = (record for i, record in enumerate(good_games(self.cfg.games)) if not is_held_out(i))
            self.stream = itertools.islice(in_parts(learned, self.cfg.chunk), number % self.chunks, None)
        self.next = number + 1
        return next(self.stream)


def in_parts(games: Iterable[Record], size: int) -> Iterator[list[Record]]:
    """Lists of `size`, the last one of what is left."""
    source = iter(games)
    while part := list(itertools.islice(source, size)):
        yield part


def decisions_of(games: list[Record]) -> tuple[State, np.ndarray, np.ndarray]:
    """(states [place, ...], actions int32[place], places in which there was a choice) of these games.

    Where actions are many a mask takes more room than the state, and there is always a choice: nobody looks.
    """
    is_wide = games[0].env.num_actions > MANY_ACTIONS
    played = records.replay(games, masks=not is_wide)
    num_games, num_steps = played.legal.shape
    actions = np.zeros((num_games, num_steps), np.int32)
    for row, record in zip(actions, games, strict=True):
        row[: len(record.actions)] = record.actions
    states = jax.tree.map(lambda leaf: leaf[:, :-1].reshape(-1, *leaf.shape[2:]), played.states)
    has_choice = np.asarray(played.legal) & (True if is_wide else np.asarray(played.masks).sum(-1) > 1)
    return states, actions.ravel(), np.flatnonzero(has_choice)


def minibatches(rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Parts of one size; -1 fills the last."""
    padded = np.concatenate([rows, np.full(-len(rows) % size, -1, rows.dtype)])
    yield from padded.reshape(-1, size)


def gather(states: State, actions: np.ndarray, rows: np.ndarray) -> Decisions:
    places = np.maximum(rows, 0)
    return Decisions(
        jax.tree.map(lambda leaf: leaf[places], states), jnp.asarray(actions[places]), jnp.float32(rows >= 0)
    )


# -- study ------------------------------------------------------------------------------------------------------------


def judge(model: Model, params: Params, decisions: Decisions) -> tuple[chex.Array, chex.Array]:
    """(nats, share of agreement): what the decisions cost the network, and how many of them it would take."""

    def of_one(state, action):
        policy, _ = networks.consider(model, params, state, state.current_player)
        choice = model.choice(state, model.legal(state), action)
        return -policy.log_prob(choice), policy.mode() == choice

    nats, agrees = jax.vmap(of_one)(decisions.states, decisions.actions)
    total = jnp.maximum(decisions.weight.sum(), 1)
    return (nats * decisions.weight).sum() / total, (agrees * decisions.weight).sum() / total


def learn(
    cfg: Config, model: Model, updates: int, student: Student, decisions: Decisions
) -> tuple[Student, chex.Array]:
    """One gradient step of Adam, at the rate of this update."""
    loss, gradient = jax.value_and_grad(lambda params: judge(model, params, decisions)[0])(student.params)
    change, state = optax.scale_by_adam().update(gradient, student.optimiser, student.params)
    rate = cfg.learning_rate + (cfg.final_learning_rate - cfg.learning_rate) * student.updates / updates
    params = jax.tree.map(lambda leaf, step: leaf - rate * step, student.params, change)
    return student._replace(params=params, optimiser=state), loss


# -- measure ----------------------------------------------------------------------------------------------------------


def measure(cfg: Config, examine: Callable, params: Params, games: list[Record]) -> dict[str, float]:
    """Top-1 accuracy and loss on decisions with a choice, and top-1 on all: without a choice everybody is right."""
    total = np.zeros(2)
    num_choices = num_decisions = 0
    for part in in_parts(games, cfg.chunk):
        states, actions, rows = decisions_of(part)
        for places in minibatches(rows, cfg.minibatch):
            found = examine(params, gather(states, actions, places))
            total += np.array([float(each) for each in found]) * (places >= 0).sum()
        num_choices += len(rows)
        num_decisions += sum(len(record.actions) for record in part)
    nats, agreed = total / max(num_choices, 1)
    forced = num_decisions - num_choices
    return {
        "held_out_loss": nats,
        "top1_percent": 100 * agreed,
        "top1_of_all_percent": 100 * (agreed * num_choices + forced) / max(num_decisions, 1),
    }


def report(folder: Folder, cfg: Config, found: dict[str, float], num_learned: int, num_held_out: int) -> str:
    """Write evaluation.md and curve.png; also returns the text."""
    draw_curve(folder)
    lines = [
        f"`{cfg.games}`: {num_learned} games learned in {cfg.epochs} epochs, {num_held_out} others to measure on.",
        "",
        "| top-1, where there is a choice | top-1, all decisions | nats of a choice |",
        "|---|---|---|",
        f"| {found['top1_percent']:.2f} % | {found['top1_of_all_percent']:.2f} % | {found['held_out_loss']:.4f} |",
    ]
    text = "\n".join(lines)
    write_whole(folder.folder / "evaluation.md", text + "\n")
    return text


def draw_curve(folder: Folder) -> None:
    """Loss in training and accuracy on held-out games over updates, as a PNG."""
    from matplotlib.figure import Figure  # not pyplot, which would change what a notebook shows

    figure = Figure(figsize=(10, 4), layout="tight")
    left, right = figure.subplots(1, 2)
    left.plot([row["update"] for row in folder.rows], [row.get("loss", math.nan) for row in folder.rows])
    left.set(xlabel="updates", ylabel="nats of a choice, in training")
    measured = [row for row in folder.rows if "top1_percent" in row]
    right.plot([row["update"] for row in measured], [row["top1_percent"] for row in measured], marker="o")
    right.set(xlabel="updates", ylabel="top-1 on held-out games, %")
    figure.savefig(folder.folder / "curve.png", dpi=120)


if __name__ == "__main__":
    sys.exit(studies.main(Config, study, __doc__))
