"""The recorded games of Schafkopf, step by step (SC-1..36, section 16 of the rules page)."""

import numpy as np
import pytest

from jaxgames.schafkopf.cards import NO_SEAT
from jaxgames.schafkopf.state import CONTRA, LAST_TRICK, RETOUR
from tests.support import assert_observations_match, assert_steps_match, drawn_words, replay, vectors

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


TEXT = """\
Schafkopf, trick 7, seat 0 begins, Sauspiel on Eichel of seat 2, contra by seat 1, retour by seat 0
  seat 0   31 points  passed                    {}
  seat 1    0 points  passed                    {}
  seat 2    9 points  bid Sauspiel on Eichel    {}
> seat 3   55 points  passed                    {}
  trick 0, led by seat 0: EX S7 E7 SO
  trick 1, led by seat 3: GU SU HU HA
  trick 2, led by seat 3: H9 EU GK HO
  trick 3, led by seat 2: E8 H7 E9 GX
  trick 4, led by seat 3: GO EO S8 G9
  trick 5, led by seat 0: EK G7 GA H8
  trick 6, led by seat 3: SA HK S9 SX
  trick 7, led by seat 0: EA SK G8"""


def test_a_position_in_words_and_as_a_picture():
    """The last card of a Sauspiel: the called ace has just shown who is whose partner."""
    played = replay(RECORDS[10])
    env, state = played.env, played.state(43)
    assert env.render(state) == TEXT.format("", "", "", "HX")
    assert env.render(state, 1) == TEXT.format("0 cards", "", "0 cards", "1 cards")
    assert drawn_words(env.picture(state, 1)) == [
        *("Seat 3: play a card", "Sauspiel on Eichel of seat 2, contra, retour, trick 8 of 8"),
        *("You", "0", "0 tricks", "passed, contra", "K", "Seat 2", "9", "1 trick", "declarer", "8"),
        *("Seat 3", "55", "4 tricks", "passed", "Seat 0", "31", "2 tricks", "partner, retour", "A", "1", "Sauspiel"),
        *("Last trick", "3", "A", "0", "K", "1", "9", "2", "10"),
    ]
    before = played.state(40)  # the ace is still in hand: seat 0 is not known as the partner
    assert "partner" not in "".join(drawn_words(env.picture(before, 1)))


def test_doublings_in_words():
    """The owner of the called ace gives retour after a contra."""
    played = replay(RECORDS[10])
    names = []
    for i in range(44):
        state, legal = played.state(i), np.flatnonzero(played.masks[i])
        if int(state.stage) in (CONTRA, RETOUR):
            names.append([played.env.action_name(state, action) for action in legal])
    assert ["contra", "no contra"] in names
    assert ["retour", "no retour"] in names
    assert ["no contra"] in names


def test_bids_tricks_and_dealer_in_the_words_of_a_picture():
    """Bidding, seat 0 begins and seat 2 has called Eichel; then a trick that seat 3 leads; and who showed an ace."""
    played = replay(RECORDS[10])
    env = played.env
    words = drawn_words(env.picture(played.state(3), 0))
    assert words[2:16] == [
        *("You", "0", "0 tricks", "passed", "1", "Seat 1", "0", "0 tricks", "passed"),
        *("Seat 2", "0", "0 tricks", "calls Eichel", "Seat 3"),
    ]
    assert words[18] == "dealer"
    words = drawn_words(env.picture(played.state(30), 2))
    assert words[6:17] == [
        *("Seat 3", "40", "3 tricks", "passed", "O", "1"),  # the Ober that leads
        *("Seat 0", "0", "0 tricks", "passed, retour", "O"),
    ]
    last = played.state(43)
    led_by_seat_1 = last.replace(leaders=np.where(np.arange(8) == 7, 1, last.leaders))
    words = drawn_words(env.picture(led_by_seat_1, 1))
    assert words[2:8] == ["You", "0", "0 tricks", "partner, contra", "A", "1"]
