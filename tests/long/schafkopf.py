"""Do Schafkopf determinizations replay legally from their deal, and do they reach every legal deal (SC-52, SC-53)?

First draws one world for a random observer in states from all over games of random and rule-based players, and replays
each world from its deal with the env's own `step`: every recorded action must be legal, and the end must be the world.
Then, in endgames small enough to try every deal of the unseen cards, compares the worlds drawn with the legal ones.
"""

import jax
import numpy as np

import jaxgames
from jaxgames.schafkopf.cards import NUM_SEATS
from tests.schafkopf_worlds import compare_with_all_deals, draw_and_replay, mid_game_states
from tests.schafkopf_worlds import endgames as endgames_of


def schafkopf(states: int = 20_000, endgames: int = 100, draws: int = 20_000, seed: int = 0):
    """Worlds replayed from their deal, and compared with all legal deals of endgames.

    Args:
        states: in which a world is drawn and replayed.
        endgames: in which every deal is tried.
        draws: worlds drawn in each endgame.
        seed: of everything.
    """
    env = jaxgames.make("schafkopf")
    replay_worlds(env, states, seed)
    reach_every_deal(env, endgames, draws, seed)


def replay_worlds(env, num_states, seed):
    populations = (("random",), ("random_coward",), ("rule",), ("random", "random_coward", "rule"))
    count = -(-num_states // len(populations))
    for index, specs in enumerate(populations):
        key = jax.random.fold_in(jax.random.key(seed), index)
        state_key, player_key, world_key = jax.random.split(key, 3)
        states = mid_game_states(env, specs, state_key, count)
        players = jax.random.randint(player_key, (count,), 0, NUM_SEATS)
        legal, differs = map(np.asarray, draw_and_replay(env, world_key, states, players))
        print(
            f"{' and '.join(specs)}: {count} worlds, {int(legal.sum())} replay legally, {int(differs.sum())} differ "
            f"from the true deal, {int(np.isin(states.contract, (1, 2, 3)).sum())} in a Sauspiel",
            flush=True,
        )
        assert legal.all()


def reach_every_deal(env, num_endgames, draws, seed):
    state_key, player_key, draw_key = jax.random.split(jax.random.fold_in(jax.random.key(seed), 99), 3)
    proposed = legal = missed = outside = 0
    likely_missed = 0.0
    chi_square, freedom, ratios = 0.0, 0, []
    states = mid_game_states(env, ("random_coward",), state_key, 64 * num_endgames)
    found = endgames_of(states, player_key, num_endgames)
    for key, (state, player) in zip(jax.random.split(draw_key, len(found)), found, strict=True):
        count, drawn, illegal = compare_with_all_deals(env, key, state, player, draws)
        expected = draws / len(drawn)
        proposed, legal, outside = proposed + count, legal + len(drawn), outside + illegal
        missed += int((drawn == 0).sum())
        likely_missed += len(drawn) * (1 - 1 / len(drawn)) ** draws
        chi_square += float(((drawn - expected) ** 2 / expected).sum())
        freedom += len(drawn) - 1
        ratios += [drawn.min() / expected, drawn.max() / expected]
    print(
        f"{len(found)} endgames, {draws} draws each: {proposed} deals of the unseen cards, {legal} legal, {missed} of "
        f"them never drawn, {outside} draws outside them; frequency over the uniform one {min(ratios):.2f}.."
        f"{max(ratios):.2f}, chi-square {chi_square:.0f} at {freedom} degrees of freedom"
    )
    assert outside == 0
    assert missed <= likely_missed + 5 * np.sqrt(likely_missed) + 1
    assert abs(chi_square - freedom) < 5 * np.sqrt(2 * freedom)
