"""The agents at the tables: compiled once for all of them, asked from worker threads."""

import functools
import math
import re
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import agents
from agents import checkpoints, strengths
from jaxgames import Env, State
from jaxgames.options import UserError
from jaxgames.players import Player

MAX_SPEC = 80  # letters
MAX_THINKING = 20_000  # the product of a spec's whole numbers: pimc:10,40 has 400

_networks: dict[str, str] = {}  # name at the tables: folder, for those that the server's command line admits


def admit(name: str, folder: str) -> None:
    """Let tables name a network of a run or checkpoint folder. Only whoever starts the server can."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,30}", name):
        raise UserError(f"a network's name has letters, digits, - and _, at most 30, got {name!r}")
    checkpoints.read_manifest(checkpoints.find(folder))
    _networks[name] = folder


def offers(game: str) -> list[strengths.Offer]:
    """Who can be chosen from a list, the weakest first."""
    found = strengths.offers(game)
    for name, folder in _networks.items():
        manifest = checkpoints.read_manifest(checkpoints.find(folder))
        if manifest["game"] == game:
            found.append(strengths.network(f"ppo:{name}", "your network", manifest))
    return found


def player(env: Env, spec: str) -> Player:
    """The agent that a spec names; a UserError if there is none. Equal envs share it."""
    if len(spec) > MAX_SPEC or re.search(r"[/\\\0]|\.\.", spec):
        raise UserError("agents at the table are named, not loaded from a path: for example rule, ppo:skullking")
    if _thinking(spec) > MAX_THINKING:
        raise UserError(f"{spec} would think for too long: at a table its numbers multiply to at most {MAX_THINKING}")
    with _lock:  # it only makes the object: nothing is compiled here
        return _player(env, spec)


_lock = threading.Lock()


@functools.lru_cache(maxsize=128)
def _player(env: Env, spec: str) -> Player:
    _, positional, named = agents.parse(spec)
    for inner in (*positional, *named.values()):  # an agent that another one uses: playouts=ppo:skullking
        if ":" in inner:
            agents.with_networks(inner, env, _folder)
    return Player(env, spec, agents.make(agents.with_networks(spec, env, _folder), env))


def _folder(network: str) -> str:
    """Where a named network lies. No text of a message is ever used as a path."""
    known: Mapping[str, str] = {name: name for name in agents.published()} | _networks
    if network not in known:
        raise UserError(f"there is no network {network!r} here; known are {', '.join(known)}")
    return known[network]


def _thinking(spec: str) -> int:
    """The product of the whole numbers of a spec: its cost, roughly."""
    return math.prod(max(int(text), 1) for text in re.findall(r"(?<![\w.])\d+(?![\w.])", spec))


class Belief(NamedTuple):
    """A table of probabilities: what a seat believes about things it cannot see."""

    title: str
    columns: list[str]
    rows: list[tuple[str, list[float]]]

    def as_json(self) -> dict[str, object]:
        return {"title": self.title, "columns": self.columns, "rows": [[name, row] for name, row in self.rows]}


class Beliefs:
    """What a seat of an env can know about the hidden part of a state. The first question compiles."""

    def __init__(self, env: Env):
        if env.id not in _BELIEFS:
            raise UserError(f"{env.id}: there is no picture of what a player believes")
        self.env, self._ask = env, _BELIEFS[env.id]

    def __call__(self, seed: int, state: State, seat: int) -> Belief:
        """From worlds that the seat cannot tell from the true one."""
        return self._ask(self.env, seed, state, seat)


@functools.lru_cache(maxsize=64)
def beliefs(env: Env) -> Beliefs:
    """Equal envs share it."""
    return Beliefs(env)


NUM_WORLDS = 256


@functools.lru_cache(maxsize=32)
def _worlds(env: Env):
    def draw(key, state, seat):
        return jax.vmap(lambda k: env.determinize(k, state, seat))(jax.random.split(key, NUM_WORLDS))

    return jax.jit(draw)


def _sampled(env: Env, seed: int, state: State, seat: int) -> Any:
    return jax.device_get(_worlds(env)(jax.random.key(seed), state, jnp.int32(seat)))


def _others(env: Env, seat: int) -> list[int]:
    return [(seat + i) % env.num_players for i in range(1, env.num_players)]


def _schafkopf(env, seed, state, seat):
    from jaxgames.schafkopf.cards import NAMES, NUM_CARDS

    worlds = _sampled(env, seed, state, seat)
    gone = {int(card) for card in np.asarray(state.played).ravel() if card >= 0}
    rows = []
    for card in sorted(range(NUM_CARDS), key=lambda card: NAMES[card][0]):  # suit by suit
        holds = (worlds.dealt >> card) & 1  # [world, seat]
        if card not in gone and not int(state.dealt[seat]) >> card & 1:
            rows.append((NAMES[card], [float(holds[:, other].mean()) for other in _others(env, seat)]))
    return Belief("Where each unseen card may be", [f"seat {other}" for other in _others(env, seat)], rows)


def _skullking(env, seed, state, seat):
    from jaxgames.skullking.cards import NUM_CARDS, SUIT_NAMES, card_name

    worlds = _sampled(env, seed, state, seat)
    voids = np.asarray(state.voids, float)[_others(env, seat)]  # [other seat, suit], what everybody has seen
    rows = [(f"void in {SUIT_NAMES[suit]}", [*voids[:, suit], 0.0]) for suit in np.flatnonzero(voids.any(0))]
    for card in range(NUM_CARDS):
        held = (worlds.hand == card).any(-1)  # [world, seat]
        shares = [float(held[:, other].mean()) for other in _others(env, seat)]
        if any(shares):
            rows.append((card_name(card), [*shares, max(0.0, 1 - sum(shares))]))
    columns = [*(f"seat {other}" for other in _others(env, seat)), "nobody"]
    return Belief("Who may hold each unseen card", columns, rows)


def _magictrick(env, seed, state, seat):
    values = np.asarray(_posterior(env)(state))  # [seat, slot, value]
    order = [seat, *_others(env, seat)]
    rows = [
        (f"seat {other}: {slot}", [float(share) for share in values[other, slot]])
        for other in order
        for slot in range(values.shape[1])
        if not state.revealed[other, slot]
    ]
    return Belief("The value of each hidden slot", [str(value) for value in range(values.shape[-1])], rows)


@functools.lru_cache(maxsize=8)
def _posterior(env: Env):
    return jax.jit(env.belief)  # type: ignore[attr-defined]


def _saboteur(env, seed, state, seat):
    if env.variant == "paths":
        raise UserError("saboteur: nothing but the pile is hidden in the variant paths")
    worlds = _sampled(env, seed, state, seat)
    roles = worlds.roles[:, int(state.round)]  # [world, seat + 1]
    rows = [(f"seat {other} is a saboteur", [float(roles[:, other].mean())]) for other in _others(env, seat)]
    goals = worlds.goals[:, int(state.round)]
    rows += [
        (f"{place} goal is the gold", [float((goals[:, i] == 0).mean())])
        for i, place in enumerate(("upper", "middle", "lower"))
    ]
    return Belief("Who and where", ["probability"], rows)


def _skyjo(env, seed, state, seat):
    from jaxgames.skyjo.cards import MIN_VALUE, NUM_VALUES, Slot

    worlds = _sampled(env, seed, state, seat)
    values = list(range(MIN_VALUE, MIN_VALUE + NUM_VALUES))
    hidden = np.asarray(state.status) == Slot.HIDDEN
    cards = worlds.cards[:, hidden]
    rows = [("a hidden card", [float((cards == value).mean()) if cards.size else 0.0 for value in values])]
    return Belief("What a hidden card may be", [str(value) for value in values], rows)


_BELIEFS = {
    "schafkopf": _schafkopf,
    "skullking": _skullking,
    "magictrick": _magictrick,
    "saboteur": _saboteur,
    "skyjo": _skyjo,
}
