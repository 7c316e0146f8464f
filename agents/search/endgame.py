"""The last tricks of Schafkopf, solved: every legal deal of the unseen cards, every line of play in each.

The best reply is the action with the largest mean payout over all legal deals, each as likely as any other, when from
then on everybody knows the deal and plays perfectly for themselves. It is what PIMC tends to with ever more worlds and
simulations if it averages payouts; and with one legal deal it is perfect play.
"""

import math

import chex
import jax
import jax.numpy as jnp
import numpy as np

from agents.inference import NO_ACTION, schafkopf_past
from agents.search import playout
from agents.search.moves import moves_of
from jaxgames import pick
from jaxgames.cards import kth_member
from jaxgames.schafkopf import SchafkopfEnv, State
from jaxgames.schafkopf.cards import NUM_CARDS, NUM_SEATS, bit, union
from jaxgames.schafkopf.determinize import gather_evidence
from jaxgames.schafkopf.state import gone, num_played, seats
from jaxgames.tricks import seats_from

NUM_HIDDEN = NUM_SEATS - 1
MOST_TRICKS = 3
PART = 6  # deals solved at a time: those of three tricks then stay in the cache


def is_endgame(state: State, tricks: int) -> chex.Array:
    """bool[]: at most this many tricks are not complete."""
    return num_played(state) >= NUM_CARDS - NUM_SEATS * tricks


def best_reply(env: SchafkopfEnv, state: State, player: chex.Array, tricks: int) -> chex.Array:
    """int32[], the best action of `player`, who is to move in the last `tricks` tricks; the lowest id of equals."""
    payouts = mean_payouts(env, state, player, tricks)
    return kth_member(moves_of(env, state).legal, jnp.argmax(payouts))


def mean_payouts(env: SchafkopfEnv, state: State, player: chex.Array, tricks: int) -> chex.Array:
    """float32[move]: of the k-th legal action, the mean over all legal deals; -inf beyond the last."""

    numbers = jnp.arange(num_deals([tricks] * NUM_HIDDEN))
    is_legal = jax.vmap(lambda number: deal(env, state, player, number)[1])(numbers)
    numbers, count = (
        jnp.argsort(~is_legal, stable=True),
        is_legal.sum(),
    )  # the legal ones come first, and only they count

    def some(carry):
        start, total = carry
        places = start + jnp.arange(PART)

        def one(place):
            world, _ = deal(env, state, player, numbers[jnp.minimum(place, len(numbers) - 1)])
            return jnp.where(place < count, solve(env, world, tricks)[:, player], 0)

        return start + PART, total + jax.vmap(one)(places).sum(0)

    start = (jnp.int32(0), jnp.zeros(tricks, jnp.float32))
    return jax.lax.while_loop(lambda carry: carry[0] < count, some, start)[1] / count


def num_deals(needs: list[int]) -> int:
    """In how many ways so many cards go to each of the hidden seats."""
    return math.factorial(sum(needs)) // math.prod(map(math.factorial, needs))


def _ways() -> np.ndarray:
    """int32[a, b, c]: `num_deals`; the last entries are zero, and so is what a seat of need -1 finds there."""
    ways = np.zeros([MOST_TRICKS + 2] * NUM_HIDDEN, np.int32)
    for needs in np.ndindex(*[MOST_TRICKS + 1] * NUM_HIDDEN):
        ways[needs] = num_deals(list(needs))
    return ways


WAYS = _ways()


def deal(env: SchafkopfEnv, state: State, player: chex.Array, number: chex.Array) -> tuple[State, chex.Array]:
    """(world, bool[]): deal number `number` of the unseen cards, and whether the history was legal with it (SC-52).

    The deals are in order: those that give the first unseen card to the next seat, then to the one after it, ...
    """
    evidence = gather_evidence(state, player)
    one = jnp.eye(NUM_HIDDEN, dtype=jnp.int32)

    def give(carry, i):
        needs, number = carry
        after = needs - one  # int32[receiver, hidden]
        ends = jnp.cumsum(jnp.asarray(WAYS)[after[:, 0], after[:, 1], after[:, 2]])
        receiver = jnp.minimum((ends <= number).sum(), NUM_HIDDEN - 1)
        takes = (one[receiver] > 0) & (needs.sum() > 0)  # bool[hidden]
        number -= jnp.where(receiver > 0, ends[receiver - 1], 0)
        card = bit(kth_member(evidence.unseen[None], i))
        return (needs - takes, number), jnp.where(takes, card, jnp.uint32(0))

    start = (evidence.needs, number)
    given = jax.lax.scan(give, start, jnp.arange(NUM_HIDDEN * MOST_TRICKS))[1]  # uint32[card, hidden]
    hidden = seats_from(player, NUM_SEATS)[1:]
    received = jnp.where(seats()[:, None] == hidden, union(given.T), jnp.uint32(0)).sum(1, dtype=jnp.uint32)
    kept = jnp.where(seats() == player, state.dealt, state.dealt & gone(state))
    world, is_legal = replay(env, state.replace(dealt=kept | received))
    exists = number < jnp.asarray(WAYS)[evidence.needs[0], evidence.needs[1], evidence.needs[2]]
    return world, is_legal & exists


def replay(env: SchafkopfEnv, world: State) -> tuple[State, chex.Array]:
    """The state to which the world's own history leads, and bool[]: every action of it was legal."""
    past = schafkopf_past(env, world)

    def turn(carry, action):
        state, is_legal = carry
        is_skipped = action == NO_ACTION
        following = playout.step(env, state, jnp.maximum(action, 0))
        return (pick(is_skipped, state, following), is_legal & (is_skipped | env.is_legal(state, action))), None

    return jax.lax.scan(turn, (past.first, jnp.bool_(True)), past.actions)[0]


def solve(env: SchafkopfEnv, world: State, tricks: int) -> chex.Array:
    """float32[move, seat]: payouts after the k-th legal action, everybody playing on perfectly for themselves.

    Every line of play is played: number k of a player's legal cards at every turn. Lines that ask for a card that is
    not there are worth -inf to everybody, so that nobody chooses them. Then the lines are folded from the last turn
    on: whoever was to move takes what is best for itself.
    """
    widths = [left for left in range(tricks, 0, -1) for _ in range(NUM_SEATS)]  # legal cards at each turn, at most
    lines = np.indices(widths).reshape(len(widths), -1).T.astype(np.int32)  # int32[line, turn]

    def play(line):
        def turn(carry, k):
            state, exists = carry
            legal = moves_of(env, state).legal
            count = jax.lax.population_count(legal).sum().astype(jnp.int32)
            exists &= k < jnp.where(state.done, 1, count)
            following = pick(state.done, state, playout.step(env, state, kth_member(legal, k)))
            return (following, exists), state.current_player

        (end, exists), movers = jax.lax.scan(turn, (world, jnp.bool_(True)), line)
        return jnp.where(exists, playout.points(env)(world, end), -jnp.inf), movers

    payouts, movers = jax.vmap(play)(jnp.asarray(lines))
    payouts = payouts.reshape(*widths, NUM_SEATS)
    movers = movers.reshape(*widths, len(widths))
    for turn in range(len(widths) - 1, 0, -1):
        movers = movers[(..., 0, slice(None))]  # the same on all lines that share the turns before this one
        mover = movers[..., turn].astype(jnp.int32)[..., None, None]
        own = jnp.take_along_axis(payouts, mover, axis=-1)  # [earlier turns, k, 1]
        best = jnp.argmax(own, axis=-2, keepdims=True)
        payouts = jnp.take_along_axis(payouts, best, axis=-2)[..., 0, :]
    return payouts
