"""The agents at the tables: compiled once for all of them, asked from worker threads."""

import functools
import threading
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import agents
from jaxgames import Env, State
from jaxgames.options import UserError

SAMPLES = 64  # choices of an agent that a hint counts
MAX_SPEC = 80  # letters

# Who can be chosen from the list, the strongest last. Any other agent can be named by its spec.
KNOWN = {
    "skullking": ("random", "rule:easy", "rule:medium", "rule:hard", "ppo:skullking"),
    "skyjo": ("random", "rule"),
    "saboteur": ("random", "rule"),
    "schafkopf": ("random", "random_coward", "rule", "pimc:10,40"),
    "magictrick": ("random", "rule"),
}


class Player:
    """One agent of one env. The first question compiles it; other agents do not wait for that."""

    def __init__(self, env: Env, spec: str):
        act = agents.make(spec, env)
        self.env, self.spec = env, spec
        self._act = jax.jit(act)
        keys = functools.partial(jax.random.split, num=SAMPLES)
        self._sample = jax.jit(lambda key, state, seat: jax.vmap(lambda k: act(k, state, seat))(keys(key)))

    def act(self, seed: int, state: State) -> int:
        """The agent's choice for the player to move."""
        seat = np.int32(state.current_player)
        return int(self._act(jax.random.key(seed), state, seat))

    def hint(self, seed: int, state: State) -> dict[int, float]:
        """How often the agent chooses each action, of `SAMPLES` times."""
        seat = np.int32(state.current_player)
        chosen = np.asarray(self._sample(jax.random.key(seed), state, seat))
        actions, counts = np.unique(chosen, return_counts=True)
        return {int(action): int(count) / SAMPLES for action, count in zip(actions, counts, strict=True)}


def player(env: Env, spec: str) -> Player:
    """The agent that a spec names; a UserError if there is none. Equal envs share it."""
    if len(spec) > MAX_SPEC or "/" in spec or "\\" in spec or ".." in spec:
        raise UserError("agents at the table are named, not loaded from a path: for example rule, ppo:skullking")
    with _lock:  # it only makes the object: nothing is compiled here
        return _player(env, spec)


_lock = threading.Lock()
_player = functools.lru_cache(maxsize=128)(Player)


class Belief(NamedTuple):
    """A table of probabilities: what a seat believes about things it cannot see."""

    title: str
    columns: list[str]
    rows: list[tuple[str, list[float]]]

    def as_json(self) -> dict[str, object]:
        return {"title": self.title, "columns": self.columns, "rows": [[name, row] for name, row in self.rows]}


def belief(env: Env, seed: int, state: State, seat: int) -> Belief:
    """What `seat` can know about the hidden part of the state, from worlds that it cannot tell from the true one."""
    ask = _BELIEFS.get(env.id)
    if ask is None:
        raise UserError(f"{env.id}: there is no picture of what a player believes")
    return ask(env, seed, state, seat)


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
    for card in range(NUM_CARDS):
        holds = (worlds.dealt >> card) & 1  # [world, seat]
        if card not in gone and not int(state.dealt[seat]) >> card & 1:
            rows.append((NAMES[card], [float(holds[:, other].mean()) for other in _others(env, seat)]))
    return Belief("Where each unseen card may be", [f"seat {other}" for other in _others(env, seat)], rows)


def _skullking(env, seed, state, seat):
    from jaxgames.skullking.cards import NUM_CARDS, card_name

    worlds = _sampled(env, seed, state, seat)
    rows = []
    for card in range(NUM_CARDS):
        held = (worlds.hand == card).any(-1)  # [world, seat]
        shares = [float(held[:, other].mean()) for other in _others(env, seat)]
        if any(shares):
            rows.append((card_name(card), shares))
    return Belief("Who may hold each unseen card", [f"seat {other}" for other in _others(env, seat)], rows)


def _magictrick(env, seed, state, seat):
    values = np.asarray(_posterior(env)(state))  # [seat, slot, value]
    order = [seat, *_others(env, seat)]
    rows = [
        (f"seat {other}, card {slot + 1}", [float(share) for share in values[other, slot]])
        for other in order
        for slot in range(values.shape[1])
        if not state.revealed[other, slot]
    ]
    return Belief("The value of each hidden card, exactly", [str(value) for value in range(values.shape[-1])], rows)


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
