"""The last tricks of Schafkopf with what every action is worth: as text, and by trying everything.

A line of `data/schafkopf_endgames.txt` is a position: the dealer, the four hands, the actions that lead to it, the
number of legal deals of what its mover cannot see, and for each of the mover's actions the sum of its payouts over
these deals, in cents, when everybody knows the deal from then on and plays perfectly for themselves.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.schafkopf.cards import FIRST_CARD, NAMES, NUM_CARDS, NUM_SEATS, parse, unpack
from tests.schafkopf_worlds import NO_ACTION, history, proposals, replay
from tests.support import ROOT

PATH = ROOT / "tests" / "data" / "schafkopf_endgames.txt"
NUM_STEPS = 44
CHUNK = 2048  # states at a time: one compilation


class Endgame(NamedTuple):
    dealer: int
    deck: list[int]
    actions: list[int]
    num_deals: int
    payouts: dict[int, int]  # {action: sum over the deals}

    @property
    def best(self):
        return {action for action, payout in self.payouts.items() if payout == max(self.payouts.values())}

    @property
    def tricks(self):
        """How many are not complete."""
        num_played = sum(action >= FIRST_CARD for action in self.actions)
        return -(-(NUM_CARDS - num_played) // NUM_SEATS)


def read(path=PATH):
    return [from_text(line) for line in path.read_text().splitlines()]


def from_text(line):
    dealer, hands, actions, num_deals, payouts = line.split(";")
    pairs = (each.split(":") for each in payouts.split())
    return Endgame(
        dealer=int(dealer),
        deck=[card for hand in hands.split("|") for card in parse(hand)],
        actions=[action_id(token) for token in actions.split()],
        num_deals=int(num_deals),
        payouts={action_id(token): int(payout) for token, payout in pairs},
    )


def to_text(end):
    hands = " | ".join(" ".join(NAMES[c] for c in end.deck[8 * i : 8 * i + 8]) for i in range(NUM_SEATS))
    actions = " ".join(map(action_text, end.actions))
    payouts = " ".join(f"{action_text(action)}:{payout}" for action, payout in end.payouts.items())
    return f"{end.dealer}; {hands}; {actions}; {end.num_deals}; {payouts}"


def action_id(token):
    return FIRST_CARD + NAMES.index(token) if token in NAMES else int(token)


def action_text(action):
    return NAMES[action - FIRST_CARD] if action >= FIRST_CARD else str(action)


@functools.cache
def programs():
    """(env, step of CHUNK states, masks of CHUNK states, states after actions)."""
    env = jaxgames.make("schafkopf")

    def played(dealer, deck, actions):
        def turn(state, action):
            return jaxgames.pick(action == NO_ACTION, state, env.step(state, jnp.maximum(action, 0))), None

        return jax.lax.scan(turn, env.init(jax.random.key(0), deal={"dealer": dealer, "deck": deck}), actions)[0]

    step, mask = jax.jit(jax.vmap(env.step)), jax.jit(jax.vmap(env.legal_action_mask))
    return env, step, mask, jax.jit(jax.vmap(played))


def states(endgames):
    """The positions themselves: [endgame, ...]."""
    played = programs()[3]
    actions = np.full((len(endgames), NUM_STEPS), NO_ACTION, np.int32)
    for i, end in enumerate(endgames):
        actions[i, : len(end.actions)] = end.actions
    return jax.device_get(
        played(np.array([e.dealer for e in endgames], np.int8), np.array([e.deck for e in endgames], np.int8), actions)
    )


def solved(state):
    """The endgame of a state, by trying everything in every legal deal."""
    env = programs()[0]
    player = int(state.current_player)
    worlds = legal_worlds(state, player)
    payouts = try_everything(worlds, player)
    steps = np.asarray(history(env, state))
    return Endgame(
        dealer=(int(state.leaders[0]) + NUM_SEATS - 1) % NUM_SEATS,
        deck=np.nonzero(np.asarray(unpack(state.dealt)))[1].tolist(),
        actions=steps[steps != NO_ACTION].tolist(),
        num_deals=len(worlds.done),
        payouts=payouts,
    )


def legal_worlds(state, player, most=1680):
    """[world, ...]: the state with every deal that its history allows."""
    deals = proposals(state, player)
    padded = np.resize(deals, (most, NUM_SEATS))  # one compilation
    worlds, is_legal = jax.device_get(replay_deals(state, padded))
    kept = np.flatnonzero(is_legal[: len(deals)])
    return jax.tree.map(lambda leaf: leaf[kept], worlds)


@jax.jit
def replay_deals(state, deals):
    """(worlds, bool[deal] legal): the history of the state from each of the deals."""
    return jax.vmap(lambda dealt: replay(programs()[0], state.replace(dealt=dealt)))(deals)


def try_everything(worlds, player):
    """{action: sum over the worlds of the payout to `player`}, level by level down to the last card and back."""
    _, step, mask, _ = programs()
    levels, states = [], worlds
    while not states.done.all():
        legal = in_chunks(mask, states)
        parent, action = np.nonzero(legal)
        levels.append((states.current_player, parent, action))
        states = in_chunks(step, jax.tree.map(lambda leaf, parent=parent: leaf[parent], states), action)
    payouts = states.rewards  # [state, seat]
    for mover, parent, _ in reversed(levels[1:]):
        own = payouts[np.arange(len(parent)), mover[parent]]
        best_last = np.lexsort((own, parent))  # by parent, the best child of each at the end
        last = np.flatnonzero(np.append(np.diff(parent[best_last]) > 0, True))
        payouts = payouts[best_last[last]]
    _, _, action = levels[0]
    return {int(each): int(payouts[action == each, player].sum()) for each in np.unique(action)}


def in_chunks(function, *batches):
    """A function of CHUNK rows on any number of rows."""
    count = len(jax.tree.leaves(batches)[0])
    parts = []
    for start in range(0, count, CHUNK):
        rows = np.minimum(np.arange(start, start + CHUNK), count - 1)
        parts.append(jax.device_get(function(*jax.tree.map(lambda leaf, rows=rows: leaf[rows], batches))))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *parts)
