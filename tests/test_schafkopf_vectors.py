"""The recorded games of Schafkopf, step by step (SC-1..36, section 16 of the rules page)."""

import numpy as np
import pytest

from jaxgames.schafkopf.cards import NO_SEAT
from jaxgames.schafkopf.state import LAST_TRICK
from tests.support import assert_observations_match, assert_steps_match, replay, vectors

RECORDS = vectors("schafkopf")


@pytest.mark.parametrize("index", range(len(RECORDS)))
def test_recorded_game(index):
    record = RECORDS[index]
    played = replay(record)
    assert_steps_match(record, played)
    assert_observations_match(record, played)
    last = played.state(-1)
    assert bool(last.terminated)
    assert final_scores(last) == record["final"]["scores"]
    np.testing.assert_array_equal(last.rewards, record["final"]["payout"])


def final_scores(state):
    """The `scores` object of a record."""
    has_passed = int(state.contract) == 0 and (np.asarray(state.bids) == 0).all() and int(state.declarer) == NO_SEAT
    is_played = int(state.stage) == LAST_TRICK and (np.asarray(state.played) >= 0).all()
    owner = int(np.argmax((np.asarray(state.dealt) & called_ace(state)) != 0))
    return {
        "points": np.asarray(state.points).tolist(),
        "tricks": np.asarray(state.tricks).tolist(),
        "contract": int(state.contract),
        "declarer": int(state.declarer),
        "contra": int(state.contra != NO_SEAT),
        "retour": int(state.retour != NO_SEAT),
        "ran_away": owner if bool(state.ran_away) else -1,
        "illegal": int(not (has_passed or is_played)),
    }


def called_ace(state):
    return np.uint32({1: 1 << 28, 2: 1 << 30, 3: 1 << 31}.get(int(state.contract), 0))
