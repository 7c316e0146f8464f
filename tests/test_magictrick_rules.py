"""The rules page of Magic Trick, number by number, and its worked examples E1 to E15."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.magictrick.cards import HEARTS, SUIT_NAMES, card_name, suit_of, value_of
from jaxgames.magictrick.observe import tricks_won, value_ranges
from jaxgames.magictrick.rewards import hand_rewards
from jaxgames.magictrick.rules import score_hand, trick_winner
from jaxgames.magictrick.state import BIDDING, PLAYING, deal_hands, hands, trick_leader
from tests.magictrick_games import IN_ORDER, deck_of, legal, multiples, play_out, start, take
from tests.support import ROOT, cited_rules, rule_numbers

ENV = jaxgames.make("magictrick")
FOUR_HANDS = jaxgames.make("magictrick", num_hands=4, reward="v1")
POINTS = jaxgames.make("magictrick", reward="points")
SIZES = {"v1": 435, "v2": 435, "v3": 443, "v4": 569, "v5": 961}


def ones(vector, first=0, last=10**6):
    return [i for i in np.flatnonzero(vector).tolist() if first <= i <= last]


def test_mt_1_to_3_cards():
    """MT-1, MT-2, MT-3: 7 suits of 8 values; the 7 of hearts is 31; hearts are trump."""
    assert (suit_of(31), value_of(31)) == (HEARTS, 7)
    assert SUIT_NAMES[HEARTS] == "hearts"
    assert (card_name(31), card_name(0)) == ("7♥", "0★")
    assert len({(suit_of(card), value_of(card)) for card in range(56)}) == 56


def test_mt_4_to_7_sizes():
    """MT-4, MT-5, MT-6, MT-7: four seats, one hand by default, 29 actions, two phases."""
    assert (ENV.num_players, ENV.num_hands, ENV.num_actions, ENV.max_steps) == (4, 1, 29, 104)
    assert FOUR_HANDS.max_steps == 416
    assert (PLAYING, BIDDING) == (0, 1)
    names = [ENV.action_name(start(IN_ORDER), action) for action in range(29)]
    assert [names[3], names[17], names[28]] == ["play slot 3", "bid slot 3", "pass"]
    assert len(set(names)) == 29


def test_e1_mt_8_mt_9_deal_and_stable_sort():
    """E1, MT-8, MT-9: cards go round from seat 0; equal values stay in the order dealt."""
    dealt = np.asarray(hands(start(IN_ORDER)))
    assert dealt[0].tolist() == [0, 8, 16, 24, 32, 40, 48, 4, 12, 20, 28, 36, 44, 52]
    assert dealt[3].tolist() == [3, 11, 19, 27, 35, 43, 51, 7, 15, 23, 31, 39, 47, 55]
    dealt = np.asarray(hands(start(multiples(37, 11), leader=2)))
    assert dealt[0].tolist() == [11, 27, 43, 3, 19, 35, 51, 47, 7, 23, 39, 55, 15, 31]
    assert deal_hands(jnp.asarray(deck_of(dealt), jnp.int8)).tolist() == dealt.tolist()


def test_e2_mt_10_to_19_the_first_tricks():
    """E2, MT-10, MT-12, MT-13, MT-14, MT-15, MT-16, MT-19: who acts, what is legal, when tricks are resolved."""
    state = start(IN_ORDER)
    assert legal(state) == list(range(14))
    state = take(state, 0)
    assert (int(state.current_player), int(state.phase), legal(state)) == (0, BIDDING, list(range(15, 29)))
    state = take(state, 28)
    assert (int(state.current_player), int(state.phase), legal(state)) == (1, PLAYING, [0, 7])
    state = take(state, 7)
    assert legal(state) == [*range(14, 21), *range(22, 29)]
    state = take(state, 14)
    assert (int(state.bid[1]), int(state.current_player), int(state.phase)) == (1, 2, PLAYING)
    assert np.asarray(state.revealed)[1].nonzero()[0].tolist() == [0, 7]
    state = take(state, 7, 28, 0)
    assert (state.trick.tolist(), int(state.current_player), int(state.phase)) == ([0, 5, 6, 3], 3, BIDDING)
    assert state.tricks.tolist() == [0, 0, 0, 0]
    assert int(trick_leader(state)) == 0
    state = take(state, 28)
    assert (state.tricks.tolist(), state.captured.tolist()) == ([0, 0, 1, 0], [0, 0, 1, 0])
    assert (int(state.current_player), int(state.phase), state.trick.tolist()) == (2, PLAYING, [-1] * 4)
    state = take(state, 1, 28, 1, 28, 1, 28)
    assert legal(state) == [1, 8]
    state = take(state, 8)
    assert (state.tricks.tolist(), int(state.current_player)) == ([0, 1, 1, 0], 1)
    assert int(state.phase) == PLAYING


def test_mt_13_hearts_led_must_be_followed_and_a_void_may_play_anything():
    """MT-13: hearts led; seat 1 holds none and may play every slot, seat 2 holds one and must play it."""
    spades_and_more = [0, 8, 16, 32, 40, 48, 9, 17, 33, 41, 49, 10, 18, 34]
    with_a_heart = [1, 25, 2, 42, 50, 3, 11, 19, 35, 43, 51, 4, 12, 20]
    leads_hearts = [24, 26, 27, 28, 36, 44, 52, 5, 13, 21, 29, 37, 45, 53]
    rest = sorted(set(range(56)) - set(spades_and_more) - set(with_a_heart) - set(leads_hearts), key=lambda c: c % 8)
    state = take(start(deck_of([leads_hearts, spades_and_more, with_a_heart, rest])), 0, 28)
    assert legal(state) == list(range(14))
    state = take(state, 3, 28)
    assert legal(state) == [1]


@pytest.mark.parametrize(
    ("trick", "winner"),
    [([41, 34, 24, 23], 2), ([40, 34, 7, 23], 0), ([41, 47, 24, 31], 3), ([30, 31, 7, 24], 1), ([9, 15, 55, 12], 1)],
)
def test_e3_mt_18_trick_winner(trick, winner):
    """E3, MT-18."""
    for leader in range(4):
        assert int(trick_winner(jnp.array(trick, jnp.int8), jnp.int8(leader))) == (leader + winner) % 4


@pytest.mark.parametrize(
    ("bid", "tricks", "suits", "points", "without_zero"),
    [
        (3, 3, 3, 5, 5),
        (3, 3, 5, 3, 3),
        (0, 0, 0, 5, 3),
        (0, 2, 4, -2, -2),
        (7, 0, 0, -7, -7),
        (1, 1, 1, 5, 5),
        (1, 1, 3, 3, 3),
        (7, 7, 7, 5, 5),
        (7, 7, 6, 3, 3),
        (0, 13, 7, -13, -13),
        (5, 4, 5, -1, -1),
    ],
)
def test_e4_mt_22_to_24_points(bid, tricks, suits, points, without_zero):
    """E4, MT-22, MT-23, MT-24: points and prestige of a hand."""
    given = (jnp.full(4, bid, jnp.int8), jnp.full(4, tricks, jnp.int8), jnp.full(4, (1 << suits) - 1, jnp.uint8))
    for option, expected in ((True, points), (False, without_zero)):
        scored, prestige = score_hand(jaxgames.make("magictrick", zero_bid_prestige=option), *given)
        assert scored.tolist() == [expected] * 4
        assert prestige.tolist() == [expected == 5] * 4


@pytest.mark.parametrize(
    ("points", "scheme", "rewards"),
    [
        ([5, 3, -2, -1], "v1", [5 / 3, 1, -1 / 7, -1 / 14]),
        ([5, 3, -2, -1], "v2", [0.5, 0.3, -1 / 7, -1 / 14]),
        ([3, 3, 3, -4], "v2", [1 / 3, 1 / 3, 1 / 3, -2 / 7]),
        ([5, 5, 3, 3], "v2", [0.25, 0.25, 0.15, 0.15]),
        ([-1, -2, -3, -7], "v2", [-1 / 14, -1 / 7, -3 / 14, -1 / 2]),
        ([5, 3, -2, -1], "points", [5, 3, -2, -1]),
        ([0, 0, 0, 0], "v2", [0, 0, 0, 0]),
    ],
)
def test_e5_mt_28_to_30_rewards(points, scheme, rewards):
    """E5, MT-28, MT-29, MT-30."""
    np.testing.assert_allclose(hand_rewards(jnp.array(points, jnp.int16), scheme), rewards, rtol=1e-6)


def test_e6_whole_hands():
    """E6, MT-20, MT-21, MT-25, MT-31: shortest and longest hands, and how they end."""
    low = play_out(start(IN_ORDER), min)
    last = low[-1]
    assert len(low) - 1 == 56 == int(last.step_count)
    assert (last.bid.tolist(), last.tricks.tolist()) == ([0, 1, 2, 3], [0, 0, 0, 13])
    assert last.scores.tolist() == [5, -1, -2, -10]
    assert np.flatnonzero(ENV.winners(last)).tolist() == [0]
    np.testing.assert_allclose(last.rewards, [1, -1 / 14, -1 / 7, -5 / 7], rtol=1e-6)
    assert not any(np.asarray(state.rewards).any() for state in low[:-1])
    assert (int(last.current_player), last.trick.tolist(), bool(last.revealed.all())) == (3, [-1] * 4, True)
    assert not bool(last.truncated)

    high = play_out(start(IN_ORDER), max)[-1]
    assert int(high.step_count) == 104
    assert (high.bid.tolist(), high.tricks.tolist()) == ([0, 1, 2, 3], [0, 0, 0, 13])
    assert high.scores.tolist() == [5, -1, -2, -10]

    low = play_out(start(multiples(37, 11)), min)[-1]
    assert (low.bid.tolist(), low.tricks.tolist()) == ([3, 0, 1, 2], [11, 2, 0, 0])
    assert low.captured.tolist() == [0b0111111, 0b1001000, 0, 0]
    assert low.scores.tolist() == [-8, -2, -1, -2]
    assert np.flatnonzero(ENV.winners(low)).tolist() == [2]

    high = play_out(start(multiples(37, 11)), max)[-1]
    assert (int(high.step_count), high.tricks.tolist(), high.scores.tolist()) == (104, [13, 0, 0, 0], [-10, 5, -1, -2])


def test_e7_mt_11_mt_26_mt_27_four_hands():
    """E7, MT-5, MT-11, MT-26, MT-27: the lead moves on, totals stay, everything else starts anew."""
    first = start(*(multiples(37, 11 * h + 5) for h in range(4)), env=FOUR_HANDS, leader=2)
    states = play_out(first, min, env=FOUR_HANDS)
    assert len(states) - 1 == 224
    paid = [i - 1 for i, state in enumerate(states) if np.asarray(state.rewards).any()]
    assert paid == [55, 111, 167, 223]
    np.testing.assert_allclose(states[56].rewards, [-1 / 14, -1 / 14, -9 / 14, 5 / 3], rtol=1e-6)
    totals = np.array([states[i + 1].scores for i in paid])
    assert np.diff(totals, axis=0, prepend=0).tolist() == [
        [-1, -1, -9, 5],
        [-1, -1, -1, -8],
        [-9, -1, -1, -2],
        [-2, -9, -1, -1],
    ]
    assert totals[-1].tolist() == [-13, -12, -12, -6]
    assert np.flatnonzero(ENV.winners(states[-1])).tolist() == [3]
    second = states[56]
    assert (int(second.current_player), int(second.hand_index), int(second.phase)) == (3, 1, PLAYING)
    assert not second.revealed.any()
    assert (second.bid.tolist(), second.tricks.tolist(), second.captured.tolist()) == ([-1] * 4, [0] * 4, [0] * 4)

    last = play_out(first, max, env=FOUR_HANDS)[-1]
    assert int(last.step_count) == 416
    assert (last.scores.tolist(), last.prestige.tolist()) == ([-8] * 4, [1] * 4)
    assert ENV.winners(last).all()


@pytest.mark.parametrize(
    ("scores", "prestige", "won"),
    [([5, 3, 5, -1], [1, 0, 1, 0], [0, 2]), ([5, 3, 5, -1], [0, 3, 1, 0], [2]), ([-2, -1, -2, -2], [1, 0, 0, 0], [1])],
)
def test_mt_26_winners(scores, prestige, won):
    """MT-26: points, then prestige, then shared; prestige alone wins nothing."""
    ended = start(IN_ORDER).replace(
        scores=jnp.array(scores, jnp.int16),
        prestige=jnp.array(prestige, jnp.int8),
        revealed=jnp.ones((4, 14), bool),
        terminated=jnp.bool_(True),
    )
    assert np.flatnonzero(ENV.winners(ended)).tolist() == won


def test_e8_mt_17_the_last_card_must_be_bid():
    """E8, MT-17, MT-32: with one hidden slot passing is illegal."""
    state = play_out(start(IN_ORDER), max, num_steps=97)[97]
    assert (int(state.current_player), int(state.phase), int(state.tricks.sum())) == (3, BIDDING, 12)
    assert legal(state) == [14]
    ended = take(state, 28)
    assert bool(ended.terminated)
    assert (ended.rewards.tolist(), ended.scores.tolist()) == ([0, 0, 0, -1], [0, 0, 0, 0])
    assert not ENV.winners(ended).any()


def test_e9_mt_32_mt_33_illegal_actions():
    """E9, MT-32, MT-33: not following suit ends the game; after the end nothing happens."""
    ended = take(start(IN_ORDER), 0, 28, 3)
    assert bool(ended.terminated)
    assert ended.rewards.tolist() == [0, -1, 0, 0]
    assert not np.asarray(take(ended, 0).rewards).any()
    assert take(start(IN_ORDER, env=POINTS), 0, 28, 3, env=POINTS).rewards.tolist() == [0, -14, 0, 0]


def test_e10_mt_40_mt_41_first_observation():
    """E10, MT-40, MT-41: v1 of the first state, bit by bit, and after a bid."""
    state = start(IN_ORDER)
    held = [56 * o + card for o in range(4) for card in range(o, 56, 4)]
    backs = [292 + 14 * s + slot for s in range(7) for slot in (s, s + 7)]
    assert ones(ENV.observe(state, 0, "v1")) == [*held, 256, 265, 274, 283, *backs]
    assert len(held) + 4 + len(backs) == 74
    seen = ENV.observe(take(state, 0, 28, 7, 14), 2, "v1")
    assert ones(seen, 224, 255) == [249]
    assert ones(seen, 390) == [390, 397, 405, 417]


def test_e11_mt_43_third_version():
    """E11, MT-42, MT-43: v2 is v1, v3 adds the share of hidden slots and the captured suits."""
    state = play_out(start(multiples(37, 11)), min, num_steps=20)[20]
    assert (state.bid.tolist(), state.tricks.tolist(), int(state.current_player)) == ([3, 0, 1, 2], [4, 0, 0, 0], 0)
    seen = ENV.observe(state, 0, "v3")
    assert ones(seen, 224, 291) == [227, 232, 241, 250, 260, 265, 274, 283]
    np.testing.assert_allclose(seen[435], 9 / 14)
    assert ones(seen, 436) == [436, 437, 438, 441]
    np.testing.assert_array_equal(seen[:435], ENV.observe(state, 0, "v1"))
    np.testing.assert_array_equal(ENV.observe(state, 0, "v2"), ENV.observe(state, 0, "v1"))


def test_e12_mt_46_ranges():
    """E12, MT-46."""
    cards = jnp.tile(jnp.array([8 * (j % 7) + (4 if j == 7 else 0) for j in range(14)], jnp.int8), (4, 1))
    hidden = jnp.zeros((4, 14), bool)
    assert value_ranges(cards, hidden)[0].tolist() == [[0, 6]] * 7 + [[1, 7]] * 7
    assert (
        value_ranges(cards, hidden.at[:, 7].set(True))[2].tolist() == [[0, 3]] + [[0, 4]] * 6 + [[4, 4]] + [[4, 7]] * 6
    )


def test_mt_44_to_47_sizes_and_places_of_the_blocks():
    """MT-41, MT-43, MT-44, MT-45, MT-47: where the page says each block begins."""
    starts = {name: [part.slice.start for part in ENV.layout(name).values()] for name in ENV.observation_versions}
    assert {name: ENV.observation_shape(name)[0] for name in starts} == SIZES
    assert starts["v1"] == starts["v2"] == [0, 224, 256, 292, 390]
    assert starts["v3"] == [0, 224, 256, 292, 390, 435, 436]
    assert starts["v4"] == [0, 12, 404, 516, 561, 562]
    assert starts["v5"] == [0, 12, 404, 852, 908, 953, 954]


def test_the_default_observation_hides_what_nobody_knows():
    """MT-50: v1 to v3 show hidden values, and are had by name alone."""
    assert ENV.observation_versions[0] == "v4"
    assert ENV.honest_versions == ("v4", "v5")
    hidden = ENV.determinize(jax.random.key(0), start(IN_ORDER), 0)
    np.testing.assert_array_equal(ENV.observe(hidden, 2), ENV.observe(start(IN_ORDER), 2))
    assert (ENV.observe(hidden, 2, "v3") != ENV.observe(start(IN_ORDER), 2, "v3")).any()


@pytest.mark.parametrize("version", SIZES)
def test_the_option_observation_chooses_the_default(version):
    env = jaxgames.make("magictrick", observation=version)
    assert env.observation_shape() == (SIZES[version],)
    assert env.observation_versions[0] == version
    assert set(env.observation_versions) == set(SIZES)
    assert set(env.honest_versions) == {"v4", "v5"}


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("num_players", 3, "4..4"),
        ("num_players", "4", "4..4"),
        ("num_hands", 0, "1..8"),
        ("num_hands", 9, "1..8"),
        ("num_hands", True, "1..8"),
        ("first_leader", 4, "-1..3"),
        ("first_leader", -2, "-1..3"),
        ("reward", "v9", "'v1', 'v2', 'points'"),
        ("zero_bid_prestige", 1, "True or False"),
        ("observation", "v6", "'v1', 'v2', 'v3', 'v4', 'v5'"),
        ("colour", "red", "num_hands"),
    ],
)
def test_e15_bad_options(option, value, allowed):
    """E15, MT-4: the message names the game, the option, its range and the value."""
    with pytest.raises(ValueError, match=rf"magictrick: .*{option}") as error:
        jaxgames.make("magictrick", **{option: value})
    assert allowed in str(error.value)
    assert repr(value) in str(error.value)


@pytest.mark.parametrize(
    ("deal", "message"),
    [
        ({"decks": [[0] * 56], "first_leader": 0}, r"decks\[0\] must be a permutation of the 56 ids 0..55"),
        ({"decks": [IN_ORDER[:-1]], "first_leader": 0}, r"decks\[0\] must be a permutation"),
        ({"decks": [IN_ORDER, IN_ORDER], "first_leader": 0}, "decks must be 1 decks .*got 2"),
        ({"decks": 7, "first_leader": 0}, "decks must be 1 decks .*got 7"),
        ({"decks": [IN_ORDER], "first_leader": 4}, "first_leader must be in 0..3, got 4"),
        ({"decks": [IN_ORDER], "first_leader": -1}, "first_leader must be in 0..3, got -1"),
        ({"decks": [IN_ORDER]}, "keys decks, first_leader"),
        ([IN_ORDER], "deal must be a dict"),
    ],
)
def test_e15_bad_deals(deal, message):
    """E15, MT-8: a deal given as host data is checked."""
    with pytest.raises(ValueError, match=f"magictrick: .*{message}"):
        ENV.init(jax.random.key(0), deal=deal)


def test_mt_8_deals_differ_between_hands_games_and_keys():
    """MT-8, MT-11: chance is one deck a hand and, if asked for, the first leader."""
    env = jaxgames.make("magictrick", num_hands=3, first_leader=-1)
    states = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), 64))
    assert len({hand.tobytes() for hand in np.asarray(states.dealt).reshape(-1, 56)}) == 3 * 64
    assert set(states.first_leader.tolist()) == {0, 1, 2, 3}
    assert (states.current_player == states.first_leader).all()
    assert (np.sort(np.asarray(states.dealt).reshape(-1, 56)) == np.arange(56)).all()
    values = np.asarray(states.dealt) % 8
    assert (np.diff(values, axis=-1) >= 0).all()


@pytest.mark.parametrize("leader", range(4))
def test_mt_11_the_option_names_the_first_leader(leader):
    """MT-11: whatever the key; and it is drawn only if asked for."""
    env = jaxgames.make("magictrick", first_leader=leader)
    leaders = jax.vmap(lambda key: env.deal(key)["first_leader"])(jax.random.split(jax.random.key(0), 8))
    assert (leaders == leader).all()
    first = start(IN_ORDER, env=env, leader=(leader + 1) % 4)
    assert int(first.first_leader) == int(first.current_player) == (leader + 1) % 4  # a deal is followed to the letter


def test_every_rule_is_cited():
    cited = set().union(*(cited_rules(path) for path in (ROOT / "tests").glob("test_magictrick_*.py")))
    assert rule_numbers("magictrick") <= cited


def test_the_last_bit_of_tricks_is_eight_or_more():
    found = tricks_won(SimpleNamespace(tricks=jnp.array([7, 8, 9, 0], jnp.int8)), jnp.int32(1))
    assert [np.flatnonzero(seat).tolist() for seat in np.asarray(found)] == [[8], [8], [0], [7]]
