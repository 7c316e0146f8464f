"""Does the search find the best reply in the last tricks of Schafkopf?

Solves every stored endgame again by trying everything in every legal deal, and compares what is stored, what the solver
of the agents says, and what the agent plays. Then the same in fresh endgames from games of rule-based and random
players, of which `--write` makes the stored ones. `--agent` asks instead how often any agent finds a best reply.
"""

import functools

import jax
import numpy as np

import agents
from agents.search import endgame
from jaxgames.schafkopf.cards import NUM_CARDS, NUM_SEATS
from jaxgames.schafkopf.state import num_played
from tests.schafkopf_endgames import PATH, Endgame, programs, read, solved, states, to_text
from tests.schafkopf_worlds import mid_game_states, proposals

MOST_TRICKS = 3
MOST_DEALS = 90  # of an endgame worth its time


def endgames(fresh: int = 0, seed: int = 0, write: bool = False, agent: str = ""):
    """The search against trying everything in the last tricks of Schafkopf.

    Args:
        fresh: how many new positions.
        seed: of the new positions.
        write: store the new positions instead of checking the stored ones.
        agent: count the best replies of this agent in the stored positions, and check nothing.
    """
    if agent:
        count_best_replies(agent, read())
        return
    found = [] if write else read()
    if found:
        positions = [jax.tree.map(lambda leaf, i=i: leaf[i], states(found)) for i in range(len(found))]
        again = [solved(position) for position in positions]
        assert [each.payouts for each in again] == [each.payouts for each in found]
        report("stored", found, positions)
    if fresh:
        new, positions = fresh_endgames(fresh, seed)
        if write:
            PATH.write_text("".join(to_text(each) + "\n" for each in new))
            print(f"wrote {PATH}", flush=True)
        report("fresh", new, positions)


def fresh_endgames(count: int, seed: int) -> tuple[list[Endgame], list]:
    """Positions in which the mover's choice matters."""
    env = programs()[0]
    games = jax.device_get(mid_game_states(env, ("rule", "random_coward"), jax.random.key(seed), 32 * count))
    left = NUM_CARDS - np.asarray(jax.vmap(num_played)(games))
    new, positions = [], []
    for i in np.flatnonzero((left <= NUM_SEATS * MOST_TRICKS) & (left > NUM_SEATS)):
        state = jax.tree.map(lambda leaf, i=i: leaf[i], games)
        if len(proposals(state, int(state.current_player))) > MOST_DEALS:
            continue
        if len(set((each := solved(state)).payouts.values())) > 1:
            new.append(each)
            positions.append(state)
        if len(new) == count:
            break
    return new, positions


def report(name: str, found: list[Endgame], positions: list) -> None:
    """What the solver says of every action, and what the agent plays."""
    for each, state in zip(found, positions, strict=True):
        payouts, action = solve_and_act(each.tricks)(state)
        expected = np.array(list(each.payouts.values())) / each.num_deals
        np.testing.assert_allclose(np.asarray(payouts)[: len(expected)], expected, atol=1e-3)
        assert int(action) in each.best, to_text(each)
    alone = sum(each.num_deals == 1 for each in found)
    by_tricks = {tricks: sum(each.tricks == tricks for each in found) for tricks in (2, 3)}
    print(f"{name}: the best reply in all of {len(found)} endgames, tricks {by_tricks}, {alone} with one legal deal")


def count_best_replies(spec: str, found: list[Endgame]) -> None:
    """In how many of these positions an agent plays a best reply, and what its other replies cost on average."""
    env = programs()[0]
    act, positions = agents.make(spec, env), states(found)
    keys = jax.random.split(jax.random.key(0), len(found))
    replies = np.asarray(jax.jit(jax.vmap(act))(keys, positions, positions.current_player))
    lost = [
        (max(each.payouts.values()) - each.payouts[int(reply)]) / each.num_deals
        for each, reply in zip(found, replies, strict=True)
    ]
    groups = {f"{tricks} tricks": [each.tricks == tricks for each in found] for tricks in (2, 3)}
    for name, which in {**groups, "one legal deal": [each.num_deals == 1 for each in found]}.items():
        some = np.array(lost)[which]
        best = (some == 0).sum()
        print(f"{spec}, {name}: a best reply in {best} of {len(some)}, {some.mean():.2f} cents lost on average")


@functools.cache
def solve_and_act(tricks: int):
    env = programs()[0]
    act = agents.make(f"pimc:1,1,endgame={tricks}", env)

    def both(state):
        player = state.current_player
        return endgame.mean_payouts(env, state, player, tricks), act(jax.random.key(0), state, player)

    return jax.jit(both)
