"""Games of Magic Trick for the tests: decks, players of the first or last action, and a plain posterior."""

import functools
import itertools
import math

import jax
import numpy as np

import jaxgames

IN_ORDER = list(range(56))
SHARES = [share for share in itertools.product(range(8), repeat=4) if sum(share) == 7]
FORWARD, BACKWARD = list(range(7)), list(range(6, -1, -1))


def multiples(m, c):
    """The deck A(m, c) of the worked examples."""
    return [(m * i + c) % 56 for i in range(56)]


def deck_of(hands):
    """A deck that deals these four hands of 14 cards, each given in rising order."""
    return [hands[i % 4][i // 4] for i in range(56)]


def blocks(orders):
    """Four hands, each of two values with all seven suits, the suits in the given order: int[seat][slot]."""
    return [
        [8 * suit + low for suit in order] + [8 * suit + 7 - low for suit in order] for low, order in enumerate(orders)
    ]


@functools.cache
def jitted(env):
    return jax.jit(env.init), jax.jit(env.step), jax.jit(env.legal_action_mask)


def start(*decks, env=None, leader=0):
    env = env or jaxgames.make("magictrick", num_hands=len(decks))
    return env.init(jax.random.key(0), deal={"decks": [list(deck) for deck in decks], "first_leader": leader})


def take(state, *actions, env=None):
    """The state after some actions."""
    step = jitted(env or jaxgames.make("magictrick"))[1]
    for action in actions:
        state = step(state, np.int32(action))
    return state


def legal(state):
    return np.flatnonzero(jitted(jaxgames.make("magictrick"))[2](state)).tolist()


def play_out(state, chooser, num_steps=10**6, env=None):
    """All states from here on, where every player takes the `chooser` (min or max) of the legal actions."""
    _, step, mask = jitted(env or jaxgames.make("magictrick"))
    states = [state]
    while not bool(states[-1].terminated) and len(states) <= num_steps:
        action = chooser(np.flatnonzero(mask(states[-1])).tolist())
        states.append(step(states[-1], np.int32(action)))
    return states


def arrangements(state):
    """Every arrangement that suits the public facts, as {values int[seat * 14]: ways to deal it}, in plain Python."""
    return dict(_arrangements(*_public(state), (0, 0, 0, 0)))


def reference_belief(state):
    """The posterior by exact counting over whole chains, with memory: float64[seat, slot, value]."""
    suits, known = _public(state)

    @functools.cache
    def ways_on(boundary):
        if sum(boundary) == 56:
            return 1
        return sum(ways * ways_on(following) for following, ways in _next(suits, known, boundary))

    table, reached = np.zeros((4, 14, 8)), {(0, 0, 0, 0): 1}
    for value in range(8):
        arriving = {}
        for boundary, ways_to in reached.items():
            for following, ways in _next(suits, known, boundary):
                through = ways_to * ways * ways_on(following)
                arriving[following] = arriving.get(following, 0) + ways_to * ways
                for seat in range(4):
                    table[seat, boundary[seat] : following[seat], value] += float(through)
        reached = arriving
    return table / float(ways_on((0, 0, 0, 0)))


def _public(state):
    cards, revealed = np.asarray(state.dealt)[int(state.hand_index)], np.asarray(state.revealed)
    suits = tuple(tuple(int(card) // 8 for card in hand) for hand in cards)
    known = tuple(
        tuple(int(card) % 8 if turned else None for card, turned in zip(hand, row, strict=True))
        for hand, row in zip(cards, revealed, strict=True)
    )
    return suits, known


def _next(suits, known, boundary):
    """The boundaries that may follow one, each with the number of ways to deal the seven cards between them."""
    value = sum(boundary) // 7
    for share in SHARES:
        end = tuple(b + d for b, d in zip(boundary, share, strict=True))
        if max(end) > 14:
            continue
        taken = [suits[i][j] for i in range(4) for j in range(boundary[i], end[i])]
        values = [known[i][j] for i in range(4) for j in range(boundary[i], end[i])]
        later = [known[i][j] for i in range(4) for j in range(end[i], 14)]
        if len(set(taken)) == 7 and set(values) <= {None, value} and value not in later:
            yield end, 5040 // math.prod(math.factorial(d) for d in share)


def _arrangements(suits, known, boundary):
    if sum(boundary) == 56:
        yield (), 1
        return
    value = sum(boundary) // 7
    for end, ways in _next(suits, known, boundary):
        for rest, more in _arrangements(suits, known, end):
            slots = [(i * 14 + j, value) for i in range(4) for j in range(boundary[i], end[i])]
            yield tuple(sorted([*slots, *rest])), ways * more
