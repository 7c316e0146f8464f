"""The rules page line by line: every numbered rule and every worked example, from deals and positions as data."""

import dataclasses
import functools
import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.skyjo import rewards, rounds, script
from jaxgames.skyjo.cards import (
    COPIES,
    HISTORY_UNKNOWN,
    UNKNOWN_VALUE,
    VALUES,
    Hand,
    Slot,
    action_to_macro,
    macro_to_action,
)
from jaxgames.skyjo.history import in_order, since_last_turn
from jaxgames.skyjo.observe import progress_bucket
from tests.support import cited_rules, rule_numbers

X = HISTORY_UNKNOWN
IDENTITY = list(range(150))
D7 = [7 * i % 150 for i in range(150)]


def deck(*values):
    """For each value the lowest unused card id, then all unused ids ascending."""
    unused = list(range(150))
    chosen = []
    for value in values:
        card = next(card for card in unused if VALUES[card] == value)
        unused.remove(card)
        chosen.append(card)
    return chosen + unused


@functools.cache
def compiled(env):
    tokens = jax.jit(functools.partial(env.view, version="tokens"))
    return jax.jit(env.init), jax.jit(env.step), jax.jit(env.legal_action_mask), tokens


class Table:
    """A game from an explicit deal."""

    def __init__(self, order=D7, reveals=((0, 1), (2, 3)), refill=IDENTITY, **options):
        self.env = jaxgames.make("skyjo", **options)
        self.init, self.step, self.mask, self.observe = compiled(self.env)
        deal = {
            "decks": np.array([order]),
            "reveals": np.array([reveals]) if not self.env.manual_setup else np.zeros((0, 2, 2), int),
            "refills": np.array([refill]),
        }
        self.state = jax.device_get(self.init(jax.random.key(0), deal))

    def play(self, *actions):
        for action in actions:
            self.state = jax.device_get(self.step(self.state, np.int32(action)))
        return self

    def flip_lowest(self, steps):
        for _ in range(steps):
            self.play(min(action for action in self.legal() if action >= 24))
        return self

    def legal(self):
        return [] if self.state.done else np.flatnonzero(self.mask(self.state)).tolist()

    def tokens(self, player):
        return jax.device_get(self.observe(self.state, np.int32(player)))

    def since(self, player):
        """Unpadded tokens since the last turn of `player`."""
        rows = self.tokens(player).action_tokens_since_last_turn
        return [row.tolist() for row in rows if row[0] != X]

    def history(self, count):
        rows = self.tokens(0).action_tokens
        return rows[len(rows) - count :].tolist()

    def board(self, player):
        return self.state.cards[player].tolist()

    def discard(self):
        return self.state.discard[: self.state.discard_size].tolist()

    def draw_pile(self):
        return self.state.deck[self.state.deck_pos : self.state.deck_end].tolist()


def test_sj_1_and_sj_2_cards_e1():
    assert COPIES.tolist() == [5, 10, 15] + [10] * 12
    assert (VALUES.size, int(VALUES.sum())) == (150, 760)
    assert VALUES[[0, 4, 5, 14, 15, 29, 30, 39, 40, 149]].tolist() == [-2, -2, -1, -1, 0, 0, 1, 1, 2, 12]


def test_sj_4_constants():
    assert (UNKNOWN_VALUE, HISTORY_UNKNOWN) == (-99, -127)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_players": 1}, "num_players must be in 2..8, got 1"),
        ({"num_players": 9}, "num_players must be in 2..8, got 9"),
        ({"num_players": True}, "num_players must be an integer in 2..8, got True"),
        ({"num_players": 2.0}, "num_players must be an integer in 2..8, got 2.0"),
        ({"setup_mode": "hand"}, "setup_mode must be one of 'auto', 'manual', got 'hand'"),
        ({"setup_mode": 1}, "setup_mode must be one of 'auto', 'manual', got 1"),
        ({"manual_initial_reveals": 1}, "manual_initial_reveals must be True or False, got 1"),
        ({"action_mode": "micro"}, "action_mode must be one of 'macro', 'decision', got 'micro'"),
        ({"history_window_k": -1}, "history_window_k must be in 0..128, got -1"),
        ({"history_window_k": 129}, "history_window_k must be in 0..128, got 129"),
        ({"score_limit": 0}, "score_limit must be in 1..1000, got 0"),
        ({"score_limit": 1001}, "score_limit must be in 1..1000, got 1001"),
        ({"max_steps": 0}, "max_steps must be in 1..1000000, got 0"),
        ({"max_steps": False}, "max_steps must be an integer in 1..1000000, got False"),
        ({"reward_mode": "score"}, "reward_mode must be one of 'mixed', 'win_loss', 'round_score', 'score_margin'"),
        ({"tie_rule": "none"}, "tie_rule must be one of 'lowest_index', 'shared', got 'none'"),
        ({"ruleset": "house"}, "ruleset must be one of 'base', 'official', 'skynet', got 'house'"),
        ({"ender_tie_doubles": "yes"}, "ender_tie_doubles must be True or False, got 'yes'"),
        ({"ender_double": "none"}, "ender_double must be one of 'positive', 'any', got 'none'"),
        ({"max_clears_per_round": 5}, "max_clears_per_round must be in 0..4, got 5"),
        ({"max_clears_per_round": True}, "max_clears_per_round must be an integer in 0..4, got True"),
        ({"cleared_cards": "away"}, "cleared_cards must be one of 'out', 'discard', got 'away'"),
        ({"final_reveal_clears": 0}, "final_reveal_clears must be True or False, got 0"),
        ({"later_start": "dealer"}, "later_start must be one of 'highest_sum', 'ender', got 'dealer'"),
        ({"tempo": 3}, "unknown option 'tempo'"),
    ],
)
def test_sj_5_bad_options_are_named(options, words):
    with pytest.raises(ValueError, match="skyjo: " + words):
        jaxgames.make("skyjo", **options)


def test_sj_5_rulesets_and_single_options():
    def single(**options):
        return jaxgames.make("skyjo", **options).rules

    assert single() == (True, "positive", 4, "out", False, "highest_sum")
    assert single(ruleset="official") == (True, "positive", 4, "discard", True, "ender")
    assert single(ruleset="skynet") == (False, "any", 1, "out", False, "highest_sum")
    mixed = single(ruleset="official", later_start="highest_sum", max_clears_per_round=0)
    assert mixed == (True, "positive", 0, "discard", True, "highest_sum")
    assert jaxgames.make("skyjo", setup_mode="  MANUAL ").setup_mode == "manual"
    assert jaxgames.make("skyjo", manual_initial_reveals=True).options["setup_mode"] == "manual"


@pytest.mark.parametrize("ruleset", ["base", "official", "skynet"])
def test_equal_rules_make_equal_envs(ruleset):
    """However they are spelled; and `dataclasses.replace` changes what it names."""
    env = jaxgames.make("skyjo", ruleset=ruleset)
    spelled_out = jaxgames.make("skyjo", ruleset="base", **env.rules._asdict())
    assert (env, hash(env)) == (spelled_out, hash(spelled_out))
    assert jaxgames.make("skyjo", **env.options) == env
    assert env.options["ruleset"] == ruleset
    for other in ("base", "official", "skynet"):
        assert (dataclasses.replace(env, ruleset=other) == env) is (other == ruleset)
    mixed = dataclasses.replace(env, max_clears_per_round=2)
    assert mixed != env
    assert jaxgames.make("skyjo", **mixed.options) == mixed
    assert dataclasses.replace(mixed, max_clears_per_round=None) == env


def test_two_ways_to_ask_for_manual_set_up_are_one_game():
    forced, named = jaxgames.make("skyjo", manual_initial_reveals=True), jaxgames.make("skyjo", setup_mode="manual")
    assert (forced, hash(forced)) == (named, hash(named))
    assert forced != jaxgames.make("skyjo")
    assert dataclasses.replace(forced, manual_initial_reveals=False) == jaxgames.make("skyjo")
    assert dataclasses.replace(named, setup_mode="auto") == jaxgames.make("skyjo")


GOOD_DEAL = {"decks": [IDENTITY], "reveals": [[[0, 1], [2, 3]]], "refills": [IDENTITY]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"decks": []}, r"deal decks must hold 1..8 permutations of 0..149 .*, got 0"),
        (
            {"decks": [IDENTITY] * 9},
            r"deal decks must hold 1..8 permutations of 0..149 \(a state has room for 8.*got 9",
        ),
        ({"decks": 5}, "deal decks must be a list, got 5"),
        ({"decks": [IDENTITY, IDENTITY[:-1]]}, r"deal decks\[1\] must be a permutation of the 150 ids 0..149"),
        ({"decks": [[0, *IDENTITY[:-1]]]}, r"deal decks\[0\] must be a permutation"),
        ({"refills": []}, r"deal refills must hold 1..8 permutations of 0..149 .*, got 0"),
        ({"refills": [[-1, *IDENTITY[1:]]]}, r"deal refills\[0\] must be a permutation"),
        ({"reveals": []}, r"deal reveals must hold 1..8 rounds .*, got 0"),
        ({"reveals": [[[0, 1], [2, 3]]] * 9}, r"deal reveals must hold 1..8 rounds .*, got 9"),
        ({"reveals": [[[0, 1]]]}, r"deal reveals\[0\] must hold two different slots in 0..11 for each of 2 players"),
        ({"reveals": [[[0, 1], [5, 5]]]}, r"deal reveals\[0\] must hold two different slots"),
        ({"reveals": [[[0, 1], [5, 12]]]}, r"deal reveals\[0\] must hold two different slots"),
        ({"reveals": [[[0, 1], [5]]]}, r"deal reveals\[0\] must hold two different slots"),
        ({"extra": 1}, "deal must be a dict with the keys decks, reveals, refills, or seed alone; got"),
        ({"seed": [1, 2]}, "deal must be a dict with the keys decks, reveals, refills, or seed alone; got"),
    ],
)
def test_sj_6_bad_deals_are_named(change, words):
    with pytest.raises(ValueError, match="skyjo: " + words):
        jaxgames.make("skyjo").init(jax.random.key(0), GOOD_DEAL | change)


@pytest.mark.parametrize("seed", [5, [1], [1, 2, 3], [1, -1], [1, 2**32], [0.5, 1], ["a", "b"], [1, 10**30]], ids=repr)
def test_sj_6_bad_seeds_are_named(seed):
    with pytest.raises(ValueError, match=r"skyjo: deal seed must be two integers in 0..4294967295, got"):
        jaxgames.make("skyjo").init(jax.random.key(0), {"seed": seed})


def test_sj_8_sj_11_sj_13_the_deal_of_e2():
    """SJ-3: rows of four. SJ-8: twelve cards each, one to the discard pile, the rest in order."""
    table = Table()
    assert table.board(0) == [-2, -1, -1, 0, 0, 1, 2, 2, 3, 4, 5, 5]
    assert table.board(1) == [6, 7, 7, 8, 9, 9, 10, 11, 12, 12, -2, -1]
    assert table.discard() == [0]
    assert table.draw_pile()[:6] == [0, 1, 1, 2, 3, 4]
    assert len(table.draw_pile()) == 125
    assert np.flatnonzero(table.state.status[0] == Slot.FACE_UP).tolist() == [0, 1]
    assert np.flatnonzero(table.state.status[1] == Slot.FACE_UP).tolist() == [2, 3]
    assert table.state.current_player == 1
    assert table.legal() == [*range(24), 24, 25, *range(28, 36)]
    tokens = table.tokens(0)
    assert tokens.global_token.tolist() == [125, 0, 1, 1, 0, 1]
    assert tokens.discard_token.tolist() == [0, 1]
    flips = [[0, 0, X, 0, -2, X], [0, 0, X, 1, -1, X], [1, 0, X, 2, 7, X], [1, 0, X, 3, 8, X]]
    assert tokens.action_tokens.tolist() == [[X] * 6] * 12 + flips
    assert table.state.round_scores.tolist() == [0, 0]  # SJ-9


def test_sj_14_sj_45_sj_48_four_turns_of_e2():
    """SJ-46, SJ-47: one record a turn, as a token of six."""
    table = Table().play(0)
    assert table.discard() == [6]
    assert table.history(1) == [[1, 1, 1, 0, 0, 6]]
    table.play(17)
    assert (table.discard(), len(table.draw_pile())) == ([6, 1], 124)
    assert table.history(1) == [[0, 2, 0, 5, 0, 1]]
    table.play(28)
    assert table.discard() == [6, 1, 1]
    assert table.history(1) == [[1, 3, 0, 4, 1, 9]]
    table.play(30)
    assert table.history(1) == [[0, 3, 0, 6, 1, 2]]
    tokens = table.tokens(1)
    assert tokens.global_token.tolist() == [122, 4, 1, 1, 0, 1]
    assert tokens.discard_token.tolist() == [1, 4]
    assert table.since(0) == [[1, 3, 0, 4, 1, 9], [0, 3, 0, 6, 1, 2]]
    assert table.since(1) == [[0, 2, 0, 5, 0, 1], [1, 3, 0, 4, 1, 9], [0, 3, 0, 6, 1, 2]]


E3 = deck(5, 1, 2, 3, 5, 1, 2, 3, 9, 4, 4, 4, 0, 0, 1, 1, 2, 2, 3, 3, 4, 6, 6, 6, 5, 7, 8, -1)


@pytest.mark.parametrize(("ruleset", "pile"), [("base", [9]), ("official", [9, 5, 5, 5])])
def test_sj_17_sj_18_a_column_clears_e3(ruleset, pile):
    """SJ-61, SJ-62: the flat vector of the same position."""
    table = Table(E3, reveals=((0, 4), (0, 1)), history_window_k=4, ruleset=ruleset)
    assert table.state.current_player == 0
    table.play(8)
    assert table.discard() == pile
    assert table.history(2) == [[0, 1, 1, 8, 5, 9], [0, 4, X, 0, 5, 0]]
    board = table.tokens(0).board_tokens.tolist()
    assert [board[slot] for slot in (0, 4, 8)] == [[0, slot, 1, 0] for slot in (0, 4, 8)]
    table.play(26)
    left = [1, 2, 3, 5, 6, 7, 9, 10, 11]
    assert table.legal() == [kind + slot for kind in (0, 12, 24) for slot in left]
    assert table.since(0) == [[0, 4, X, 0, 5, 0], [1, 3, 0, 2, 7, 1]]
    assert table.tokens(0).action_tokens_since_last_turn[:2].tolist() == [[X] * 6] * 2
    assert table.since(1) == [[0, 1, 1, 8, 5, 9], [0, 4, X, 0, 5, 0], [1, 3, 0, 2, 7, 1]]
    assert table.env.observe(table.state, 0, "tokens").shape == (48 * 2 + 8 + 12 * 4,)
    if ruleset == "base":
        flat = np.asarray(table.env.observe(table.state, 0, "flat"))
        assert flat.shape == (500,)
        expected = np.zeros(500 - 408)
        expected[[417 - 408, 439 - 408, 446 - 408, 453 - 408]] = 1
        expected[[451 - 408, 452 - 408, 458 - 408, 459 - 408]] = 0.75, 0.25, 0.02, 0.75
        expected[465 - 408 : 480 - 408] = 1, 1, 13 / 15, 0.9, 1, 1, 1, 0.7, 1, 0.9, 1, 0.9, 1, 1, 1
        expected[495 - 408 : 499 - 408] = 124 / 150, 2 / 150, 2 / 60, 0.1
        np.testing.assert_allclose(flat[408:], expected, atol=1e-5)


E4 = deck(1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1)


@pytest.mark.parametrize(("ruleset", "scores"), [("base", [92, 46]), ("official", [92, 46]), ("skynet", [46, 46])])
def test_sj_19_sj_20_sj_33_a_tied_ender_e4(ruleset, scores):
    """SJ-9, SJ-10, SJ-31, SJ-34, SJ-46: the round is scored and the next one dealt within the same step."""
    table = Table(E4, ruleset=ruleset).flip_lowest(19)
    assert (table.state.ender, table.state.final_turns.tolist()) == (0, [False, True])
    assert table.tokens(0).global_token[3] == 2
    assert table.state.current_player == 1
    table.flip_lowest(1)
    assert table.state.round_scores.tolist() == scores
    assert table.state.scores.tolist() == scores
    assert table.state.rewards.tolist() == [-score for score in scores]
    assert (table.state.round_index, table.state.turns_in_round, table.state.ender) == (2, 0, -1)
    assert (table.state.opener, table.state.current_player) == (0, 0)
    assert table.board(0) == VALUES[E4[:12]].tolist()  # the list of decks wraps
    assert table.history(5)[0] == [0, 5, X, X, min(scores), max(scores)]
    assert [row[1] for row in table.history(5)[1:]] == [0] * 4
    assert int(table.state.history_size) == 4 + 20 + 1 + 4
    assert [len(table.since(player)) for player in (0, 1)] == [3, 1]  # SJ-48: of the new round's four reveals


def test_sj_34_the_limit_ends_the_game_e4():
    """SJ-35, section 8, a limit that is just reached. SJ-63: everyone may still observe."""
    table = Table(E4, score_limit=92).flip_lowest(20)
    assert table.state.terminated
    assert table.tokens(1).global_token[3] == 3
    assert table.state.round_index == 1
    assert table.state.current_player == 1
    assert table.state.rewards.tolist() == [-1, 1]
    assert table.since(0)[-1] == [0, 5, X, X, 46, 92]  # SJ-48: the finished round is still the current one
    before = table.state
    table.play(0)
    assert not table.state.rewards.any()
    assert (table.state.step_count, table.state.scores.tolist()) == (before.step_count, [92, 46])


@pytest.mark.parametrize(
    ("mode", "going_on", "at_the_end", "penalty"),
    [
        ("mixed", [-92, -46], [-1, 1], 284),
        ("win_loss", [0, 0], [-1, 1], 1),
        ("round_score", [-92, -46], [-92, -46], 284),
        ("score_margin", [0, 0], [-0.5111, 0.5111], (90 + 284) / 90),
    ],
)
def test_section_8_reward_modes_of_e4(mode, going_on, at_the_end, penalty):
    env = jaxgames.make("skyjo", reward_mode=mode, score_limit=90)
    scores = jnp.array([92, 46], jnp.int16)
    for ends, expected in ((False, going_on), (True, at_the_end)):
        paid = rewards.round_rewards(env, scores, scores, jnp.bool_(ends))
        np.testing.assert_allclose(paid, expected, atol=1e-4)
    assert env.illegal_penalty == pytest.approx(penalty)


@pytest.mark.parametrize(("tie_rule", "expected"), [("lowest_index", [1]), ("shared", [1, 2])])
def test_sj_35_ties_for_the_lowest_score(tie_rule, expected):
    table = Table(reveals=((0, 1), (2, 3), (4, 5)), num_players=3, tie_rule=tie_rule)
    scores = np.array([120, 30, 30], np.int16)
    over = table.state.replace(scores=scores, terminated=np.bool_(True), ender=np.int8(0))
    assert np.flatnonzero(table.env.winners(over)).tolist() == expected
    assert not np.asarray(table.env.winners(over.replace(terminated=np.bool_(False)))).any()


E5 = deck(-2, 0, -1, 0, 0, -1, 0, 1, -1, 0, 1, 0, -2, -1, 0, 0, -1, 0, -1, 0, 0, 1, 0, -1)


@pytest.mark.parametrize(("ruleset", "scores"), [("base", [-3, -5]), ("official", [-3, -5]), ("skynet", [-6, -5])])
def test_sj_32_a_negative_total_e5(ruleset, scores):
    table = Table(E5, reveals=((7, 10), (2, 3)), ruleset=ruleset).flip_lowest(20)
    assert table.state.round_scores.tolist() == scores
    assert table.state.rewards.tolist() == [-score for score in scores]


@pytest.mark.parametrize(
    ("ruleset", "sums", "score"),
    [
        ("base", (10, 24, 10), 20),
        ("official", (10, 24, 10), 20),
        ("skynet", (10, 24, 10), 10),
        *[(ruleset, (4, 9, 9), 4) for ruleset in ("base", "official", "skynet")],
        *[(ruleset, (0, -1, 5), 0) for ruleset in ("base", "official", "skynet")],
        *[(ruleset, (7, 3, 8), 14) for ruleset in ("base", "official", "skynet")],
    ],
)
def test_sj_32_the_enders_table_e6(ruleset, sums, score):
    env = jaxgames.make("skyjo", num_players=3, ruleset=ruleset)
    for ender in range(3):
        seats = np.roll(np.array(sums, np.int16), ender)
        after = rounds.after_doubling(env, jnp.asarray(seats), jnp.int8(ender))
        assert np.roll(after, -ender).tolist() == [score, *sums[1:]]


E7 = deck(1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 0, 1, 2, 12, 3, 4, 5, 12, 6, 7, 8, 12)


@pytest.mark.parametrize(("ruleset", "scores"), [("base", [46, 72]), ("official", [92, 36])])
def test_sj_30_a_hidden_triple_e7(ruleset, scores):
    table = Table(E7, reveals=((6, 7), (0, 1)), ruleset=ruleset)
    for _ in range(20):
        if table.state.current_player == 1:
            table.play(12)
        else:
            table.flip_lowest(1)
    assert table.state.round_scores.tolist() == scores
    records = table.history(6)[:2] if ruleset == "official" else table.history(5)[:1]
    assert records[-1] == [0, 5, X, X, min(scores), max(scores)]
    if ruleset == "official":
        assert records[0] == [1, 4, X, 3, 12, 0]


@pytest.mark.parametrize(
    ("most", "before", "cleared", "pile"),
    [
        (4, 0, [0, 2], [5, 5, 5, 7, 7, 7]),  # in the order of the columns
        (2, 0, [0, 2], [5, 5, 5, 7, 7, 7]),
        (1, 0, [0], [5, 5, 5]),
        (2, 1, [0], [5, 5, 5]),  # one was cleared before
        (1, 1, [], []),
    ],
)
def test_sj_30_hidden_columns_clear_up_to_the_limit(most, before, cleared, pile):
    env = jaxgames.make("skyjo", ruleset="official", max_clears_per_round=most)
    state = Table(ruleset="official").state
    board = np.array([5, 1, 7, 2, 5, 3, 7, 2, 5, 1, 7, 4], np.int8)  # columns 0 and 2 match
    state = state.replace(
        cards=np.stack([board, np.arange(12, dtype=np.int8)]),
        status=np.full((2, 12), Slot.HIDDEN, np.int8),
        clears=np.array([before, 0], np.int8),
    )
    turned, records = jax.jit(functools.partial(rounds.turn_all_up, env))(state)
    gone = np.flatnonzero(np.asarray(turned.status[0]).reshape(3, 4)[0] == Slot.REMOVED).tolist()
    assert gone == cleared
    assert turned.clears.tolist() == [before + len(cleared), 0]
    assert np.asarray(turned.discard)[state.discard_size : turned.discard_size].tolist() == pile
    assert np.asarray(records.rows)[np.asarray(records.written), 3].tolist() == cleared
    assert (np.asarray(turned.status[1]) == Slot.FACE_UP).all()


def e8_position(table):
    """Draw pile empty, discard pile bottom to top 3, 7, 1, 12, 5."""
    discard = np.zeros(150, np.int8)
    discard[:5] = 3, 7, 1, 12, 5
    table.state = table.state.replace(
        deck_pos=np.uint8(150), deck_end=np.uint8(150), discard=discard, discard_size=np.uint8(5)
    )
    return table


def test_sj_16_a_refill_e8():
    order = [4, 2, 9, 0, 3, 1, *[x for x in IDENTITY if x not in (4, 2, 9, 0, 3, 1)]]
    table = e8_position(Table(refill=order)).play(24)
    assert table.draw_pile() == [3, 12, 7]
    assert table.discard() == [5, 1]
    assert (table.state.refills, bool(table.state.refilled)) == (1, True)


def test_sj_16_taking_the_discard_does_not_refill():
    table = e8_position(Table()).play(0)
    assert (table.state.refills, table.draw_pile(), table.discard()) == (0, [], [3, 7, 1, 12, 6])


def test_sj_12_manual_set_up_e9():
    table = Table(D7, num_players=3, setup_mode="manual")
    players = []
    for action in (36, 47, 37, 38, 40, 41):
        players.append(int(table.state.current_player))
        assert all(36 <= legal < 48 for legal in table.legal())
        table.play(action)
    assert players == [0, 0, 1, 1, 2, 2]
    assert table.state.current_player == 1
    assert table.tokens(0).global_token.tolist() == [113, 6, 1, 1, 0, 1]
    assert len(table.legal()) == 34
    assert table.discard() == [8]


def test_sj_41_sj_50_decision_mode_e10():
    table, macro = Table(action_mode="decision"), Table()

    def same():
        for name in ("cards", "status", "scores", "turns_in_round", "history"):
            np.testing.assert_array_equal(getattr(table.state, name), getattr(macro.state, name))
        assert (table.discard(), table.draw_pile()) == (macro.discard(), macro.draw_pile())

    def decision_tokens():
        return [table.tokens(player).decision_token.tolist() for player in (0, 1)]

    assert table.legal() == [0, 1]
    table.play(1)
    assert table.discard() == []
    assert table.tokens(0).discard_token.tolist() == [-99, 0]
    assert decision_tokens() == [[3, 0], [3, 0]]
    assert table.legal() == list(range(4, 16))  # SJ-15: it must be placed
    table.play(4)
    macro.play(0)
    same()
    table.play(0)
    assert decision_tokens() == [[2, 0], [2, -99]]
    assert len(table.draw_pile()) == 124
    assert table.legal() == [2, 3]
    table.play(2)
    assert decision_tokens() == [[3, 0], [3, -99]]
    table.play(9)
    macro.play(17)
    same()
    table.play(0, 3)
    assert table.discard() == [6, 1, 1]
    assert decision_tokens() == [[3, 1], [3, 1]]
    assert table.legal() == [5, *range(8, 16)]
    table.play(8)
    macro.play(28)
    same()
    assert (table.state.step_count, table.state.history_size) == (8, 7)
    assert decision_tokens() == [[1, -99], [1, -99]]


@pytest.mark.parametrize("action", [26, -1, 48])
def test_sj_36_an_illegal_action_e11(action):
    table = Table().play(action)
    assert table.state.rewards.tolist() == [0, -284]
    assert (bool(table.state.terminated), table.tokens(0).global_token[3]) == (True, 3)
    assert (table.state.scores.tolist(), table.state.step_count) == ([0, 0], 0)
    assert not np.asarray(table.env.winners(table.state)).any()


def test_sj_37_truncation_e12():
    table = Table(max_steps=2).play(0, 0)
    assert (bool(table.state.truncated), bool(table.state.terminated)) == (True, False)
    assert table.tokens(0).global_token[3] == 1
    assert not table.state.rewards.any()
    assert table.legal() == []
    assert not np.asarray(table.env.winners(table.state)).any()


@pytest.mark.parametrize(
    ("players", "turns", "bucket"),
    [(5, 50, 0), (5, 51, 1), (5, 100, 1), (5, 101, 2), (2, 20, 0), (2, 21, 1), (2, 40, 1), (2, 41, 2)],
)
def test_sj_60_the_bucket_e13(players, turns, bucket):
    assert int(progress_bucket(jaxgames.make("skyjo", num_players=players), jnp.int32(turns))) == bucket


def test_sj_19_the_last_column_e14():
    """SJ-17, SJ-18: a player without any card left ends the round with 0."""
    table = Table()
    status = table.state.status.copy()
    status[1] = [Slot.REMOVED] * 3 + [Slot.FACE_UP] + [Slot.REMOVED] * 3 + [Slot.FACE_UP] + [Slot.REMOVED] * 3 + [0]
    cards, discard = table.state.cards.copy(), table.state.discard.copy()
    cards[1, [3, 7, 11]], discard[0] = [4, 4, 9], 4
    clears = np.array([0, 3], np.int8)
    table.state = table.state.replace(status=status, cards=cards, discard=discard, clears=clears)
    assert table.legal() == [3, 7, 11, 15, 19, 23, 35]
    table.play(11)
    assert (table.state.status[1] == Slot.REMOVED).all()
    assert (table.state.ender, table.state.clears.tolist()) == (1, [0, 4])
    table.flip_lowest(1)
    assert table.state.round_scores[1] == 0


def test_sj_17_a_limit_leaves_further_columns_skynet():
    table = Table(ruleset="skynet")
    status, cards = table.state.status.copy(), table.state.cards.copy()
    status[1, [0, 4]] = Slot.FACE_UP
    cards[1, [0, 4]] = 0
    table.state = table.state.replace(status=status, cards=cards, clears=np.array([0, 1], np.int8))
    table.play(8)
    assert table.state.status[1, [0, 4, 8]].tolist() == [Slot.FACE_UP] * 3
    assert table.state.cards[1, [0, 4, 8]].tolist() == [0, 0, 0]


@pytest.mark.parametrize("ruleset", ["base", "official"])
def test_sj_13_who_starts_a_later_round(ruleset):
    """P0 ends round 1; the deck gives P1 the higher sum: P1 starts in base, the ender in official."""
    order = deck(1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 12, 11)
    table = Table(order, reveals=((6, 7), (0, 1)), ruleset=ruleset, score_limit=1000)
    assert table.state.current_player == 0
    table.flip_lowest(20)
    assert (table.state.round_index, table.state.opener) == (2, 0)
    # The same deck wraps: P0 shows 7 + 8 again.
    assert table.state.current_player == 0
    reveals = np.zeros_like(table.state.script.reveals)
    reveals[0] = [[0, 1], [10, 11]]
    second = table.state.script._replace(reveals=reveals)
    table = Table(order, reveals=((6, 7), (0, 1)), ruleset=ruleset, score_limit=1000)
    table.state = table.state.replace(script=second)
    table.flip_lowest(20)
    assert table.state.current_player == (1 if ruleset == "base" else 0)


@pytest.mark.parametrize(("reveals", "ender"), [(((0, 1), (2, 3)), 0), (((0, 1), (0, 1)), 1)])
def test_sj_20_the_ender_gets_no_final_turn(reveals, ender):
    table, players = Table(E4, reveals=reveals), []
    for _ in range(20):
        players.append(int(table.state.current_player))
        table.flip_lowest(1)
    assert players == [ender, 1 - ender] * 10
    assert table.history(5)[0][:2] == [ender, 5]
    assert table.state.opener == ender  # SJ-10


def test_sj_8_a_new_round_forgets_the_last():
    table = Table(num_players=2)
    seats = np.ones(2, np.int8)
    old = table.state.replace(refilled=np.bool_(True), turns_in_round=np.int32(9), ender=np.int8(1), clears=seats)
    new = jax.jit(functools.partial(rounds.open_round, table.env))(old, when=np.bool_(True))
    assert (bool(new.refilled), int(new.turns_in_round), int(new.ender), new.clears.tolist()) == (False, 0, -1, [0, 0])
    assert (int(new.opener), int(new.round_index), int(new.refills)) == (1, 2, int(old.refills))


def test_sj_21_a_round_takes_at_least_ten_turns_each():
    table = Table(E4)
    for _ in range(19):
        assert table.state.round_index == 1
        legal = table.legal()
        assert all(any(low <= action < low + 12 for action in legal) for low in (0, 12, 24))
        table.flip_lowest(1)
    assert table.flip_lowest(1).state.round_index == 2


def test_sj_40_macro_ids():
    assert [macro_to_action(*action_to_macro(action)) for action in range(48)] == list(range(48))
    assert action_to_macro(26) == ("DRAW_DECK_DISCARD_AND_FLIP", 2)
    for bad in (-1, 48, True, "3", 1.0):
        with pytest.raises(ValueError, match=r"action id must be an integer in 0..47"):
            action_to_macro(bad)
    with pytest.raises(ValueError, match="macro action must be one of TAKE_DISCARD"):
        macro_to_action("PASS", 0)
    with pytest.raises(ValueError, match=r"position must be an integer in 0..11, got 12"):
        macro_to_action("SETUP_FLIP", 12)
    assert jaxgames.make("skyjo").num_actions == 48
    assert jaxgames.make("skyjo", action_mode="decision").num_actions == 16


def test_sj_47_a_step_that_writes_more_records_than_are_kept():
    """Four opening reveals, of which the last three stay."""
    assert Table(history_window_k=3).history(3) == Table().history(4)[1:]


def test_sj_48_nothing_of_the_round_before_is_recent():
    """In a manual set-up a new round begins without a record."""
    state = Table().state
    assert np.asarray(since_last_turn(state, 0)).any()
    assert not np.asarray(since_last_turn(state.replace(history_in_round=np.uint8(0)), 0)).any()


def test_sj_48_a_window_of_records():
    """Two own records stop the walk back; so does the round's first record; K = 0 gives nothing."""
    state = Table().state
    actors = np.array([9] * 6 + [0, 1, 1, 0, 1, 1, 0, 1, 1, 1])
    rows = np.repeat(np.append(actors, X)[:, None], 6, axis=1).astype(np.int16)
    state = state.replace(history=rows, history_size=np.int32(16), history_in_round=np.uint8(8))
    assert in_order(state)[:, 0].tolist() == actors.tolist()
    assert np.flatnonzero(since_last_turn(state, 0)).tolist() == [10, 11, 12, 13, 14, 15]
    assert np.flatnonzero(since_last_turn(state, 1)).tolist() == [15]
    assert np.flatnonzero(since_last_turn(state, 5)).tolist() == list(range(8, 16))
    empty = state.replace(history=np.zeros((1, 6), np.int16))
    assert since_last_turn(empty, 0).shape == (0,)


def test_sj_51_sj_62_the_pool_is_counted_after_a_refill():
    table = e8_position(Table()).play(24)
    blocks = table.env.view(table.state, 0, "flat")
    pile = np.zeros(15)
    pile[[7 + 2, 1 + 2, 12 + 2]] = 0.1  # identity: the 3 was drawn
    np.testing.assert_allclose(blocks.pile, pile, atol=1e-5)
    assert float(blocks.progress[4]) == 1
    hidden = VALUES[D7[:24]][(table.state.status == Slot.HIDDEN).ravel()]
    expected = (np.bincount(hidden + 2, minlength=15) + pile * 10) / COPIES
    np.testing.assert_allclose(blocks.unseen, expected, atol=1e-5)


def test_sj_51_the_hand_of_another_is_unseen():
    """SJ-50: a kept card counts as unseen for the others until it is placed."""
    table = Table(action_mode="decision").play(0)
    mine, theirs = (np.asarray(table.env.view(table.state, seat, "flat").unseen * COPIES) for seat in (1, 0))
    np.testing.assert_allclose(theirs - mine, np.arange(15) == 0 + 2, atol=1e-4)
    assert table.state.hand_use == Hand.FROM_DECK


def test_sj_3_a_row_is_not_a_column():
    table = Table()
    status, cards = table.state.status.copy(), table.state.cards.copy()
    status[1, [0, 1]], cards[1, [0, 1]] = Slot.FACE_UP, 0
    table.state = table.state.replace(status=status, cards=cards)
    table.play(2)
    assert table.board(1)[:3] == [0, 0, 0]
    assert not (table.state.status == Slot.REMOVED).any()


def test_every_rule_of_the_page_is_cited():
    here = pathlib.Path(__file__).parent
    cited = set().union(*(cited_rules(path) for path in here.glob("test_skyjo_*.py")))
    lower = {f"SJ-{n}" for path in here.glob("test_skyjo_*.py") for n in _numbers(path)}
    assert rule_numbers("skyjo") <= cited | lower


def _numbers(path):
    """Rule numbers in the names of tests: test_sj_17_sj_18_..."""
    return re.findall(r"sj_(\d+)(?=_)", path.read_text())


def test_wrapping_scripts_sj_6():
    """Decks, reveals and refills past the end of their lists begin again, each with its own length."""
    orders = np.stack([np.roll(IDENTITY, 5 * i) for i in range(3)])
    deal = {
        "decks": orders[:2],
        "reveals": np.array([[[i, 11], [i, 10]] for i in range(3)]),
        "refills": orders[:1],
    }
    table = Table()
    first = table.init(jax.random.key(0), deal)
    for dealt in range(7):
        values, slots = script.next_round(first.script, jnp.int32(dealt))
        assert values.tolist() == VALUES[deal["decks"][dealt % 2]].tolist()
        assert slots.tolist() == deal["reveals"][dealt % 3].tolist()


def test_a_deal_as_long_as_its_room_is_played_to_its_last_deck_sj_6():
    """Eight rounds of flips: every deck of the deal is dealt, in order, with its own reveals."""
    rng = np.random.default_rng(0)
    decks = np.stack([rng.permutation(150) for _ in range(8)])
    reveals = np.stack([[rng.permutation(12)[:2] for _ in range(2)] for _ in range(8)])
    table = Table(score_limit=1000, reward_mode="win_loss")
    table.state = jax.device_get(
        table.init(jax.random.key(0), {"decks": decks, "reveals": reveals, "refills": np.array([IDENTITY] * 8)})
    )
    for deck_values, pairs in zip(VALUES[decks], reveals, strict=True):
        assert table.state.cards.ravel().tolist() == deck_values[:24].tolist()
        assert table.draw_pile() == deck_values[25:].tolist()
        shown = [np.flatnonzero(row == Slot.FACE_UP).tolist() for row in table.state.status]
        assert shown == [sorted(pair) for pair in pairs.tolist()]
        table.flip_lowest(20)
    assert table.state.cards.ravel().tolist() == VALUES[decks[0, :24]].tolist()
