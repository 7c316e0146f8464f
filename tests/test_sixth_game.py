"""The template's own rules: Kuhn poker, whose every game is known."""

import jax
import numpy as np
import pytest

from tests.sixth_game import BET, PASS, KuhnEnv

ENV = KuhnEnv()
KING_FIRST, KING_SECOND = [2, 0, 1], [1, 2, 0]


@pytest.mark.parametrize(
    ("deck", "said", "chips"),
    [
        (KING_FIRST, [PASS, PASS], 1),
        (KING_SECOND, [PASS, PASS], -1),
        (KING_FIRST, [BET, BET], 2),
        (KING_SECOND, [BET, BET], -2),
        (KING_SECOND, [BET, PASS], 1),  # the better card folds
        (KING_FIRST, [PASS, BET, PASS], -1),
        (KING_FIRST, [PASS, BET, BET], 2),
        (KING_SECOND, [PASS, BET, BET], -2),
    ],
)
def test_who_wins_how_many_chips(deck, said, chips):
    state = ENV.init(jax.random.key(0), deal={"deck": deck})
    for action in said:
        assert not state.done
        state = ENV.step(state, action)
    assert state.done
    np.testing.assert_array_equal(state.rewards, [chips, -chips])
    np.testing.assert_array_equal(ENV.winners(state), [chips > 0, chips < 0])


def test_worlds_are_the_two_that_a_card_leaves():
    state = ENV.init(jax.random.key(0), deal={"deck": KING_FIRST})
    worlds = jax.vmap(lambda key: ENV.determinize(key, state, 0).deck)(jax.random.split(jax.random.key(0), 64))
    assert {tuple(deck) for deck in np.asarray(worlds).tolist()} == {(2, 0, 1), (2, 1, 0)}
