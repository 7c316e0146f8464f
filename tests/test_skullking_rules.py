"""Every numbered rule of docs/rules/skullking.md, each in a position of its own."""

import functools
import itertools
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from agents.skullking import STRENGTH, slot_at
from jaxgames.skullking import cards as c
from jaxgames.skullking import labels, observe, rewards, rules, trick
from jaxgames.skullking.rewards import placement
from jaxgames.skullking.scoring import bids_after_harry, round_points
from tests.skullking_positions import card, cards, deal, functions, given, legal, play, start, table_env
from tests.support import ROOT, cited_rules, rule_numbers

FOUR = table_env(4)
TWO = table_env(2)


@functools.cache
def jitted(function, *static):
    return jax.jit(functools.partial(function, *static))


def slots(hand, names):
    """The action ids that play these cards of a hand by slot."""
    ordered = sorted(cards(hand))
    return sorted(c.PLAY + ordered.index(card(name)) for name in names.split())


# Cards, options, deals -----------------------------------------------------------------------------------------------


def test_sk_1_cards():
    """SK-1: 74 ids, four suits of 14, five named pirates."""
    ids = np.arange(74)
    suits = np.asarray(c.suit_of(jnp.asarray(ids)))
    numbers = np.asarray(c.number_of(jnp.asarray(ids)))
    assert [(suits == s).sum() for s in range(5)] == [18, 14, 14, 14, 14]
    assert numbers[10:66].tolist() == list(range(1, 15)) * 4
    assert not numbers[:10].any()
    assert not numbers[66:].any()
    assert [c.card_name(i) for i in (0, 1, 2, 3, 5, 9, 14, 28, 42, 56, 66, 71, 73)] == (
        [
            "SkullKing",
            "Whale",
            "Kraken",
            "Mermaid",
            "Rosie",
            "Harry",
            "R5",
            "P5",
            "M5",
            "C5",
            "Escape",
            "Tigress",
            "Loot",
        ]
    )
    as_pirate, as_escape = (np.flatnonzero(np.asarray(c.is_pirate(ids, flag))).tolist() for flag in (True, False))
    assert as_pirate == [5, 6, 7, 8, 9, 71]
    assert as_escape == [5, 6, 7, 8, 9]
    assert np.flatnonzero(np.asarray(c.is_escape(ids, False))).tolist() == list(range(66, 74))
    assert np.flatnonzero(np.asarray(c.is_escape(ids, True))).tolist() == [66, 67, 68, 69, 70, 72, 73]


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("num_players", 1, "2..6"),
        ("num_players", 7, "2..6"),
        ("num_players", True, "2..6"),
        ("num_players", 4.0, "2..6"),
        ("hand_sizes", (), "1..10"),
        ("hand_sizes", (1,) * 11, "1..10"),
        ("hand_sizes", (0,), "1..10"),
        ("hand_sizes", (3, 11), "1..10"),
        ("hand_sizes", 5, "1..10"),
        ("rosie", 1, "True or False"),
        ("loot", None, "True or False"),
        ("trump_anytime", "yes", "True or False"),
        ("scoring", "cannonball", "'skull_king', 'rascal'"),
        ("reward", "Score", "'score', 'placement', 'seed_base', 'seed_ability', 'seed'"),
    ],
)
def test_sk_2_bad_options_are_refused(option, value, allowed):
    """SK-2: a ValueError that names the option, its range and the value."""
    with pytest.raises(ValueError) as error:
        jaxgames.make("skullking", **{option: value})
    message = str(error.value)
    assert message.startswith("skullking: ")
    assert option in message
    assert allowed in message


def test_sk_2_options_are_normalised():
    """SK-2: lists and numpy integers are taken, and give an equal, hashable env."""
    env = jaxgames.make("skullking", num_players=np.int64(3), hand_sizes=[1, np.int32(2)])
    assert env == jaxgames.make("skullking", num_players=3, hand_sizes=(1, 2))
    assert hash(env) == hash(jaxgames.make("skullking", num_players=3, hand_sizes=(1, 2)))


def test_sk_2_switched_off_cards_leave_the_deck():
    """SK-2: D is 70 to 74."""
    assert len(FOUR.deck) == 74
    env = jaxgames.make("skullking", kraken=False, whale=False, loot=False)
    assert set(range(74)) - set(env.deck.tolist()) == {1, 2, 72, 73}
    state = jitted(env.init)(jax.random.key(0))
    assert not np.isin(np.asarray(state.dealt), [1, 2, 72, 73]).any()


def test_sk_3_deal_by_position():
    """SK-3: seat p gets positions p*C.., Bendt the two after the hands; round k is led by (s+k) mod N."""
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(2, 1))
    first = [40, 3, 60, 7, 9, 8] + [i for i in range(74) if i not in (40, 3, 60, 7, 9, 8)]
    second = list(range(73, -1, -1))
    state = env.init(jax.random.key(0), deal={"starter": 1, "decks": [first, second]})
    assert np.asarray(state.dealt).tolist() == [[[3, 40], [7, 60]], [[73, 74], [72, 74]]]
    assert np.asarray(state.top).tolist() == [[9, 8], [71, 70]]
    assert int(state.current_player) == int(state.leader) == 1
    for _ in range(2):
        state = functions(env)[0](state, 0)
    while int(state.round) == 0:
        state = functions(env)[0](state, legal(env, state)[0])
    assert int(state.leader) == int(state.current_player) == 0


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"starter": 4}, "deal starter must be in 0..3, got 4"),
        ({"decks": [list(range(74))] * 2}, "deal decks must be 1 decks, one a round, got 2"),
        ({"decks": [[0, *range(73)]]}, r"deal deck 0 must be a permutation of the 74 ids 0..73 in play, got \["),
        ({"decks": [list(range(73))]}, "deal deck 0 must be a permutation"),
        ({"decks": [[0.5, *range(1, 74)]]}, "deal deck 0 must be a permutation"),
        ({"extra": 1}, "deal must be a dict with the keys starter, decks"),
    ],
)
def test_sk_3_bad_deals_are_refused(bad, message):
    """SK-3: a deal that could not be dealt is a ValueError."""
    with pytest.raises(ValueError, match=f"skullking: {message}"):
        FOUR.init(jax.random.key(0), deal={"starter": 0, "decks": [list(range(74))], **bad})


def test_sk_3_decks_differ_between_rounds_games_and_keys():
    """SK-3: one independent permutation a round; equal for equal keys."""
    env = jaxgames.make("skullking", hand_sizes=(10,) * 10)
    init = jitted(jax.vmap(env.init))
    dealt = np.asarray(init(jax.random.split(jax.random.key(0), 8)).dealt).reshape(80, -1)
    assert len({row.tobytes() for row in dealt}) == 80
    again = np.asarray(init(jax.random.split(jax.random.key(0), 8)).dealt).reshape(80, -1)
    assert (dealt == again).all()
    starters = np.asarray(init(jax.random.split(jax.random.key(1), 64)).starter)
    assert set(starters.tolist()) == {0, 1, 2, 3}


# Flow ----------------------------------------------------------------------------------------------------------------


def test_sk_4_phases_and_sk_7_flow_of_a_round():
    """SK-4, SK-7: leader bids first, hidden until the last; then tricks, the winner leads; then scoring."""
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(2,))
    state = start(env, ["P5 M9", "P7 C2"], starter=1)
    states = play(env, state, [1, 1])
    assert [int(s.current_player) for s in states] == [1, 0, 1]
    assert [int(s.phase) for s in states] == [c.BIDDING, c.BIDDING, c.PLAYING]
    hidden = np.asarray(observe.bids_shown(states[1], observe.Around(jnp.int32(0), 2)))
    shown = np.asarray(observe.bids_shown(states[2], observe.Around(jnp.int32(0), 2)))
    assert hidden.tolist()[:2] == [-1, -1]
    assert shown.tolist()[:2] == [1, 1]
    states = play(env, states[-1], [c.PLAY, c.PLAY, c.PLAY, c.PLAY])  # P7, P5: seat 1; C2, M9: seat 1
    assert states[2].won.tolist() == [0, 1]
    assert int(states[2].current_player) == 1
    assert bool(states[-1].terminated)
    assert states[-1].total.tolist() == [-10, -10]


def test_sk_5_heads_side_by_side():
    """SK-5: 50 actions, the heads' sizes are those of the design."""
    sizes = [c.NUM_BIDS, c.NUM_PLAYS, c.NUM_LEADS, c.NUM_DISCARDS, c.NUM_BETS, c.NUM_CHANGES, 1]
    starts = [c.BID, c.PLAY, c.LEAD, c.DISCARD, c.BET, c.CHANGE, c.ACKNOWLEDGE]
    assert sizes == [11, 13, 6, 13, 3, 3, 1]
    assert starts == [0, *itertools.accumulate(sizes[:-1])]
    assert FOUR.num_actions == 50


@pytest.mark.parametrize(
    ("phase", "actions"),
    [
        (c.BIDDING, range(11)),
        (c.ABILITY_ROSIE, range(24, 28)),
        (c.ABILITY_BENDT_1, range(30, 33)),
        (c.ABILITY_ROATAN, range(43, 46)),
        (c.ABILITY_HARRY, range(46, 49)),
        (c.ABILITY_JADE, [49]),
    ],
)
def test_sk_5_each_phase_has_its_head(phase, actions):
    """SK-5: C is 10, four seats, three cards in hand."""
    assert legal(FOUR, given(hand="R1 P1 Tigress", phase=phase)) == list(actions)


def test_sk_6_slots_are_ascending_ids():
    """SK-6: slot i is the i-th smallest id, anew after every change; in BENDT_2 slots have not moved yet."""
    hand = jnp.asarray(cards("Rosie R9 P2 -"), jnp.int8)
    assert rules.without(hand, jnp.int8(card("R9"))).tolist() == cards("Rosie P2 - -")
    assert rules.with_card(hand, jnp.int8(card("R1"))).tolist() == cards("Rosie R1 R9 P2")
    state = given(hand="R1 P1 Tigress", phase=c.ABILITY_BENDT_2, discards=[card("P1"), c.NO_CARD])
    assert legal(FOUR, state) == [30, 32]


# What may be played --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "hand", "playable"),
    [
        ("", "R9 P2 M7", "R9 P2 M7"),  # SK-10: the leader plays anything
        ("P5", "R9 P2 M7", "P2"),  # SK-12: follow; black only when void
        ("P5", "R9 M7 C1", "R9 M7 C1"),  # void: everything
        ("P5", "P2 M7 Rosie Escape Mermaid SkullKing", "P2 Rosie Escape Mermaid SkullKing"),  # or no number
        ("P5", "P2 M7 Kraken Whale Loot", "P2 Kraken Whale Loot"),
        ("R5", "R9 P2", "R9"),  # black led must be followed
        ("Rosie", "P2 M7", "P2 M7"),  # SK-11: a pirate frees the trick
        ("Rosie P5", "P2 M7", "P2 M7"),  # for good
        ("Escape", "P2 M7", "P2 M7"),  # nothing decided yet
        ("Escape Loot", "P2 M7", "P2 M7"),
        ("Escape P5", "P2 M7", "P2"),  # the Escape decides nothing, P5 does
        ("[T-] P5", "P2 M7", "P2"),
        ("[T+] P5", "P2 M7", "P2 M7"),
        ("Mermaid P5", "P2 M7", "P2 M7"),
        ("SkullKing P5", "P2 M7", "P2 M7"),
        ("Kraken P5", "P2 M7", "P2 M7"),
        ("Whale P5", "P2 M7", "P2 M7"),
        ("P5 Whale", "P2 M7", "P2"),  # later specials do not cancel the suit
        ("P5 Kraken", "P2 M7", "P2"),
    ],
)  # fmt: skip
def test_sk_10_sk_11_sk_12_following(table, hand, playable):
    """SK-10, SK-11, SK-12."""
    assert legal(FOUR, given(hand=hand, table=table)) == slots(hand, playable)


def test_sk_12_trump_anytime():
    """SK-12: with the option a Jolly Roger may be played by one who could follow."""
    hand = "R9 P2 M7"
    state = given(hand=hand, table="P5")
    assert legal(table_env(4, trump_anytime=True), state) == slots(hand, "R9 P2")


def test_sk_13_tigress_has_two_actions_and_never_her_slot():
    """SK-13 and example 13."""
    hand = "Rosie R9 P2 M7 Tigress"
    assert legal(FOUR, given(hand=hand, table="Escape P5")) == [11, 13, 22, 23]
    assert legal(table_env(4, trump_anytime=True), given(hand=hand, table="Escape P5")) == [11, 12, 13, 22, 23]
    assert legal(FOUR, given(hand=hand, table="Escape Mermaid P5")) == [11, 12, 13, 14, 22, 23]
    assert legal(FOUR, given(hand=hand, table="Escape Loot")) == [11, 12, 13, 14, 22, 23]


# Who wins ------------------------------------------------------------------------------------------------------------

TRICKS = [
    # SK-14, one line a rule, and the worked examples 1-12: table from seat 0, winner, next leader, bonus
    ("P10 M14 C14", 0, 0, 20),
    ("SkullKing Rosie Mermaid", 2, 2, 40),
    ("[T+] Mermaid Rosie", 0, 0, 20),
    ("Harry [T+] SkullKing R14", 2, 2, 80),
    ("P12 R3 Kraken P14", -1, 1, 0),
    ("C12 R3 Whale Kraken", -1, 1, 0),
    ("Kraken R5 Whale P10", 3, 3, 0),
    ("Escape Bendt Whale Loot", -1, 2, 0),
    ("M14 Whale R14 SkullKing", 0, 0, 30),
    ("Whale Kraken", -1, 0, 0),
    ("Kraken Whale", -1, 1, 0),
    ("Loot [T-] Escape Loot2", 0, 0, 0),
    ("Whale Escape Kraken Escape2", -1, 1, 0),
    ("Mermaid Mermaid2 SkullKing Rosie", 0, 0, 40),
    ("Mermaid Rosie Bendt P1", 1, 1, 20),
    ("P3 Mermaid R14 C14", 1, 1, 30),
    ("P3 R2 R9 P14", 2, 2, 10),
    ("Escape M3 P14 M9", 3, 3, 10),
    ("[T-] P3 M14 C2", 1, 1, 10),
    ("Rosie Mermaid Mermaid2 Escape", 0, 0, 40),
    ("Kraken M3 P14 M9", -1, 3, 0),
    ("Whale Escape Loot Rosie", -1, 0, 0),
]


@functools.cache
def resolver(num_players):
    def resolve(table, leader, tigress):
        winner, following = (f(table, leader, tigress) for f in (rules.trick_winner, trick.next_leader))
        return winner, following, trick.trick_bonus(table, table[winner], tigress)

    return jax.jit(resolve)


@pytest.mark.parametrize(("table", "winner", "leader", "bonus"), TRICKS)
def test_sk_14_sk_15_sk_16_sk_18_trick(table, winner, leader, bonus):
    """SK-14, SK-15, SK-16: winner and next leader; SK-18: bonus of a won trick."""
    ids = jnp.asarray(cards(table), jnp.int8)
    got_winner, got_leader, got_bonus = resolver(len(ids))(ids, jnp.int8(0), "[T+]" in table.split())
    assert (int(got_winner), int(got_leader)) == (winner, leader)
    if winner >= 0:
        assert int(got_bonus) == bonus


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_sk_14_first_played_counts_from_the_leader(turn):
    """SK-14: seats are rotated, the play order is not."""
    for table, winner, leader, _ in TRICKS:
        ids = cards(table)
        n = len(ids)
        by_seat = jnp.asarray(np.roll(ids, turn % n), jnp.int8)
        got = resolver(n)(by_seat, jnp.int8(turn % n), "[T+]" in table.split())
        assert int(got[0]) == (winner if winner < 0 else (winner + turn) % n)
        assert int(got[1]) == (leader + turn) % n


def last_card(table, hand, **fields):
    """The state after the last seat played its lowest card onto the table."""
    return functions(FOUR)[0](given(hand=hand, table=table, **fields), c.PLAY)


def test_sk_17_the_winner_counts_the_trick_and_leads():
    """SK-17."""
    after = last_card("P3 P9 C14", "M1 M2")
    assert after.won.tolist() == [0, 1, 0, 0]
    assert int(after.leader) == int(after.current_player) == 1
    assert after.bonus.tolist() == [0, 10, 0, 0]
    nobody = last_card("P3 Kraken P9", "M1 M2")
    assert nobody.won.tolist() == [0, 0, 0, 0]
    assert int(nobody.leader) == 2


@pytest.mark.parametrize(
    ("table", "hand", "alliances"),
    [
        ("Loot P3 P9", "Loot2 M2", [(0, 2), (3, 2)]),
        ("Loot [T-] Escape", "Loot2 M2", [(3, 0)]),  # the first Loot won its own trick
        ("Loot Kraken P9", "P1 M2", []),  # nobody won
        ("Loot Whale P9", "P1 M2", [(0, 2)]),  # won through the Whale
    ],
)
def test_sk_19_alliances(table, hand, alliances):
    """SK-19: Loot player and winner, unless they are the same or nobody won."""
    played = slots(hand, hand.split()[0])[0]
    after = functions(FOUR)[0](given(hand=hand, table=table), played)
    pairs = zip(after.loot_player.tolist(), after.loot_winner.tolist(), strict=True)
    assert [pair for pair in pairs if pair[0] >= 0] == alliances


# Abilities -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pirate", "phase"),
    [
        ("Rosie", c.ABILITY_ROSIE),
        ("Bendt", c.ABILITY_BENDT_1),
        ("Roatan", c.ABILITY_ROATAN),
        ("Jade", c.ABILITY_JADE),
        ("Harry", c.PLAYING),
    ],
)
def test_sk_20_abilities_are_triggered_by_the_winning_pirate(pirate, phase):
    """SK-20: its own card must win; off, or in the last trick, it does nothing (Harry always arms)."""
    after = last_card(f"P3 {pirate} P9", "M1 M2")
    assert int(after.phase) == phase
    assert int(after.current_player) == 1
    assert int(after.harry) == (1 if pirate == "Harry" else -1)
    off = last_card(f"P3 {pirate} P9", "M1 M2", abilities=[False] * 5)
    assert int(off.phase) == c.PLAYING
    assert int(off.harry) == -1
    captured = last_card(f"P3 {pirate} SkullKing", "M1 M2")
    assert int(captured.phase) == c.PLAYING
    tigress = last_card(f"[T+] {pirate} P9", "M1 M2")
    assert int(tigress.phase) == c.PLAYING


def test_sk_20_no_ability_after_the_last_trick_but_harry():
    """SK-20, SK-22, SK-25: one card each; Harry asks, Roatán only with the option."""
    for pirate, phase in [
        ("Rosie", None),
        ("Bendt", None),
        ("Jade", None),
        ("Roatan", None),
        ("Harry", c.ABILITY_HARRY),
    ]:
        env = jaxgames.make("skullking", num_players=2, hand_sizes=(1,))
        states = play(env, start(env, [pirate, "C5"]), [0, 0, c.PLAY, c.PLAY])
        assert bool(states[-1].terminated) == (phase is None)
        assert phase is None or int(states[-1].phase) == phase
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(1,), roatan_last_trick=True)
    states = play(env, start(env, ["Roatan", "C5"]), [1, 0, c.PLAY, c.PLAY, c.BET + 2])
    assert int(states[-2].phase) == c.ABILITY_ROATAN
    assert states[-1].total.tolist() == [40, 10]


def test_sk_21_rosie_names_the_next_leader():
    """SK-21: relative to her user; also oneself."""
    asked = last_card("P3 Rosie P9", "M1 M2")
    for relative, seat in [(0, 1), (1, 2), (3, 0)]:
        after = functions(FOUR)[0](asked, c.LEAD + relative)
        assert int(after.leader) == int(after.current_player) == seat
        assert int(after.phase) == c.PLAYING
        assert int(after.rosie_user) == 1


def test_sk_22_roatan_bets_are_public():
    """SK-22: 0, 10 or 20."""
    asked = last_card("P3 Roatan P9", "M1 M2")
    for tens in range(3):
        after = functions(FOUR)[0](asked, c.BET + tens)
        assert after.bets.tolist() == [0, 10 * tens, 0, 0]
        assert int(after.phase) == c.PLAYING
        other = np.asarray(FOUR.observe(after, 0, "ability"))
        assert other[198 + 31] == pytest.approx(tens / 2)


def test_sk_23_bendt_and_worked_example_14():
    """SK-23, SK-26 and example 14, step by step, with all its rewards and observations."""
    totals = {}
    for scheme in ("score", "placement", "seed_base", "seed_ability"):
        env = jaxgames.make("skullking", num_players=2, hand_sizes=(2,), reward=scheme)
        first = [6, 26, 46, 66, 0, 53]
        deck = first + [i for i in range(74) if i not in first]
        state = env.init(jax.random.key(0), deal={"starter": 0, "decks": [deck]})
        states = play(env, state, [2, 0, 11, 11, 31, 32, 11, 11])
        totals[scheme] = np.stack([np.asarray(s.rewards) for s in states])
    assert int(states[4].phase) == c.ABILITY_BENDT_1
    assert states[4].hand[0].tolist() == [0, 26, 53]
    assert legal(env, states[4]) == [30, 31, 32]
    assert int(states[5].phase) == c.ABILITY_BENDT_2
    assert legal(env, states[5]) == [30, 32]
    assert states[6].hand[0].tolist() == [0, 74, 74]
    assert states[6].discards.tolist() == [26, 53]
    assert int(states[6].phase) == c.PLAYING
    assert states[-1].total.tolist() == [40, 20]
    np.testing.assert_allclose(totals["score"][-1], [0.4, 0.2])
    np.testing.assert_allclose(totals["placement"][-1], [1, -1])
    np.testing.assert_allclose(totals["seed_base"][-1], [11.1, 1.0])
    np.testing.assert_allclose(totals["seed_base"][4], [0.1, 0], rtol=1e-6)
    assert not totals["seed_ability"].any()
    np.testing.assert_allclose(np.asarray(env.observe(states[0], 0)), EXAMPLE_14_FIRST, atol=1e-6)
    np.testing.assert_allclose(np.asarray(env.observe(states[5], 0)), EXAMPLE_14_BENDT_2, atol=1e-6)


def _vector(text):
    """'4:0.4 150..155:1' as 230 numbers."""
    out = np.zeros(230)
    for entry in text.split():
        places, value = entry.split(":")
        value = float(value.split("/")[0]) / float(value.split("/")[1]) if "/" in value else float(value)
        for place in places.split(","):
            low, _, high = place.partition("..")
            out[int(low) : int(high or low) + 1] = value
    return out


EXAMPLE_14_FIRST = _vector(
    "4:0.4 5:1 8:1 11:3/14 115:1 147:1 148:1 149:13/14 150..155:1 156:0.8 157..162:1 183:0.2 184:1 185:0.2 187:1/3 "
    "189:0.06 190:1"
)
EXAMPLE_14_BENDT_2 = _vector(
    "6:1 8:1 11:3/14 17:1 18:1/7 112:3/11 113:0.1 115:1 117:1/11 147,148:1 149:13/14 150:1 151:13/14 152:1 153:13/14 "
    "154,155:1 156:0.8 157:1 159..162:1 183:0.2 184:1 185:0.1 186:0.1 187:1/3 189:0.09 194:1 204:1 208:1 209:1/7 212:1 "
    "214:1"
)


def test_sk_23_drawing_forgets_shown_voids():
    """SK-23: what the drawer had shown before no longer binds; others' voids stay."""
    voids = np.zeros((4, 4), bool)
    voids[1] = voids[2] = True
    after = last_card("P3 Bendt P9", "M1 M2", voids=voids)
    assert after.voids[1].tolist() == [False] * 4
    assert after.voids[2].tolist() == [True] * 4


def test_sk_24_jade_shows_the_stock():
    """SK-24: her user knows J from the start of ABILITY_JADE to the end of the round; one forced action."""
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(2,))
    states = play(env, start(env, ["Jade P3", "P5 M1"]), [1, 0, c.PLAY, c.PLAY])
    state = states[-1]
    assert int(state.phase) == c.ABILITY_JADE
    assert legal(env, state) == [c.ACKNOWLEDGE]
    mine, theirs = (np.asarray(env.observe(state, seat, "full"))[896:970] for seat in (0, 1))
    assert set(range(74)) - set(np.flatnonzero(mine)) == set(cards("Jade P3 P5 M1"))
    assert not theirs.any()
    after = functions(env)[0](state, c.ACKNOWLEDGE)
    assert np.asarray(env.observe(after, 0, "full"))[896:970].sum() == 70


@pytest.mark.parametrize(("action", "total", "paid"), [(46, [-10, 10], -0.2), (47, [-10, 10], 0), (48, [20, 10], 0.3)])
def test_sk_25_harry_and_worked_example_15(action, total, paid):
    """SK-25 and example 15: after the last trick, -1, 0 or +1, never below zero."""
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(1,), reward="seed_ability")
    states = play(env, start(env, ["Harry", "C5"]), [0, 0, c.PLAY, c.PLAY, action])
    assert int(states[-2].phase) == c.ABILITY_HARRY
    assert legal(env, states[-2]) == [46, 47, 48]
    assert states[-1].total.tolist() == total
    np.testing.assert_allclose(np.asarray(states[-1].rewards), [paid, 0], atol=1e-6)


def test_sk_26_after_an_ability_the_next_trick_is_led():
    """SK-26."""
    asked = last_card("P3 Jade P9", "M1 M2")
    after = functions(FOUR)[0](asked, c.ACKNOWLEDGE)
    assert int(after.phase) == c.PLAYING
    assert int(after.current_player) == int(after.leader) == 1


# Scoring -------------------------------------------------------------------------------------------------------------


def points(scoring, bids, won, bonus=(0, 0, 0, 0), bets=(0, 0, 0, 0), allies=(), size=5):
    env = table_env(4, scoring=scoring)
    pairs = [*allies, (-1, -1), (-1, -1)][:2]
    state = given(
        won=won,
        bonus=bonus,
        bets=bets,
        loot_player=[player for player, _ in pairs],
        loot_winner=[winner for _, winner in pairs],
    )
    return round_points(env, state, jnp.asarray(bids, jnp.int8), jnp.int8(size)).tolist()


def test_sk_30_skull_king_scoring():
    """SK-30: a zero bid is worth the size of the round; the bonus is lost with the bid."""
    assert points("skull_king", [0, 0, 2, 2], [0, 1, 2, 4], bonus=[10, 10, 30, 30]) == [50, -50, 70, -20]
    assert points("skull_king", [0, 0, 1, 6], [0, 5, 0, 5], size=9) == [90, -90, -10, -10]


def test_sk_31_rascal_scoring():
    """SK-31: half for one off, nothing beyond."""
    assert points("rascal", [2, 2, 2, 0], [2, 3, 4, 1], bonus=[30, 30, 30, 10]) == [80, 40, 0, 30]


@pytest.mark.parametrize("scoring", ["skull_king", "rascal"])
def test_sk_32_roatan_bet_is_won_or_lost(scoring):
    """SK-32: +bet if exact, else -bet, under both scorings."""
    plain = points(scoring, [1, 1, 0, 0], [1, 3, 0, 1])
    bet = points(scoring, [1, 1, 0, 0], [1, 3, 0, 1], bets=[20, 20, 10, 10])
    assert [b - p for b, p in zip(bet, plain, strict=True)] == [20, -20, 10, -10]


def test_sk_33_alliances_pay_both_or_nobody():
    """SK-33: also for a zero bid; they add up."""
    base = points("skull_king", [1, 0, 1, 2], [1, 0, 0, 4])
    got = points("skull_king", [1, 0, 1, 2], [1, 0, 0, 4], allies=[(0, 1), (2, 1)])
    assert [g - b for g, b in zip(got, base, strict=True)] == [20, 20, 0, 0]
    got = points("skull_king", [1, 0, 1, 2], [1, 0, 0, 4], allies=[(0, 1), (0, 1)])
    assert [g - b for g, b in zip(got, base, strict=True)] == [40, 40, 0, 0]


def test_worked_example_16():
    """SK-25, SK-30..33 together: bids 2,0,1,3, seat 2 adds one with Harry."""
    state = given(harry=2, bids=[2, 0, 1, 3])
    final = bids_after_harry(state, jnp.int8(1)).tolist()
    assert final == [2, 0, 2, 3]
    given_facts = {"bonus": [30, 0, 20, 10], "bets": [20, 0, 0, 0], "allies": [(1, 0), (3, 0)]}
    assert points("skull_king", final, [2, 0, 2, 1], **given_facts) == [110, 70, 60, -20]
    assert points("rascal", final, [2, 0, 2, 1], **given_facts) == [120, 70, 70, 0]


def test_sk_34_totals_and_next_round():
    """SK-34: points are added, the next round is dealt in the same step; equal totals share the place."""
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(1, 1))
    decks = [[26, 28, *[i for i in range(74) if i not in (26, 28)]]] * 2
    state = env.init(jax.random.key(0), deal={"starter": 0, "decks": decks})
    states = play(env, state, [0, 0, 11, 11, 0, 0, 11, 11])
    assert states[4].total.tolist() == [10, -10]
    assert (int(states[4].round), int(states[4].phase), int(states[4].current_player)) == (1, c.BIDDING, 1)
    assert states[4].hand[:, 0].tolist() == [26, 28]
    assert states[-1].total.tolist() == [20, -20]
    assert bool(states[-1].terminated)
    assert placement(jnp.asarray([5, 9, 5, 1])).tolist() == pytest.approx([0, 1, 0, -1])


def test_sk_34_the_next_round_forgets_the_last():
    """SK-34: whatever happened, a round begins as the first did, but for totals, the round and who leads."""
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(1, 1))
    decks = [[26, 28, *[i for i in range(74) if i not in (26, 28)]]] * 2
    first = env.init(jax.random.key(0), deal={"starter": 0, "decks": decks})
    last_card = play(env, first, [1, 0, 11])[-1]
    happened = {
        "bonus": [30, 20], "bets": [10, 20], "loot_player": [0, 1], "loot_winner": [1, 0], "rosie_user": 1, "bendt": 1,
        "discards": [3, 4], "jade": 0, "tigress_is_pirate": True, "voids": [[True] * 4] * 2,
    }  # fmt: skip
    after = functions(env)[0](
        last_card.replace(**{name: jnp.asarray(value, last_card[name].dtype) for name, value in happened.items()}), 11
    )
    goes_on = {"total", "round", "leader", "current_player", "step_count", "rewards"}
    assert {name for name in after if (np.asarray(after[name]) != np.asarray(first[name])).any()} == goes_on


@pytest.mark.parametrize(
    ("totals", "fields", "winners"),
    [
        ([10, 30, 20, -10], {}, [1]),
        ([30, 30, 20, 30], {}, [0, 1, 3]),  # equal totals share the place
        ([-20, -30, -20, -40], {}, [0, 2]),
        ([10, 30, 20, -10], {"terminated": False, "tricks": 9}, []),  # a trick is still to come
        ([10, 30, 20, -10], {"tricks": 9}, []),  # an illegal card ended the game
        ([10, 30, 20, -10], {"phase": c.ABILITY_HARRY}, []),  # an illegal answer to Harry ended it
    ],
)
def test_sk_34_sk_36_winners(totals, fields, winners):
    """SK-34, SK-36: the highest total after the last scoring; nobody before it, and nobody if it never came."""
    state = given(**{"total": totals, "tricks": 10, "terminated": True, **fields})
    assert np.flatnonzero(np.asarray(FOUR.winners(state))).tolist() == winners


def test_sk_35_longest_game():
    """SK-35: 320 steps by default, 450 with six seats."""
    assert jaxgames.make("skullking").max_steps == 320
    assert jaxgames.make("skullking", num_players=6).max_steps == 450


@pytest.mark.parametrize(
    ("reward", "worst"), [("score", 7.5), ("placement", 1), ("seed_base", 10), ("seed_ability", 9), ("seed", 19)]
)
def test_sk_36_price_of_an_illegal_action(reward, worst):
    """SK-36: W of each scheme."""
    assert jaxgames.make("skullking", reward=reward).illegal_penalty == pytest.approx(worst)


@pytest.mark.parametrize("action", [2, -1, 50, 11, 49])
def test_sk_36_sk_37_worked_example_17(action):
    """SK-36, SK-37 and example 17: game over, the actor pays, totals stay; later steps pay nothing."""
    env = jaxgames.make("skullking", hand_sizes=(1, 2))
    state = jitted(env.init)(jax.random.key(0))
    after = functions(env)[0](state, action)
    seat = int(state.current_player)
    assert bool(after.terminated)
    assert after.rewards[seat] == pytest.approx(-0.7)
    assert float(jnp.abs(after.rewards).sum()) == pytest.approx(0.7)
    assert not np.asarray(after.total).any()
    again = functions(env)[0](after, 0)
    assert not np.asarray(again.rewards).any()


def test_payment_of_a_step_is_what_the_step_pays():
    """Section 9: the room of rewards needs only what was before, the action and what came after."""
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(3,), reward="seed")
    actions = [2, 0, c.PLAY, c.PLAY, c.LEAD, c.PLAY, c.PLAY, c.DISCARD, c.DISCARD + 1, c.PLAY, c.PLAY]
    states = play(env, start(env, ["Rosie Bendt P3", "P5 P6 P7"], top="Escape M1"), actions)
    pay = jitted(rewards.payment, env)
    paid = [pay(before, action, after) for before, action, after in zip(states, actions, states[1:], strict=False)]
    np.testing.assert_array_equal(paid, [state.rewards for state in states[1:]])
    assert np.count_nonzero(np.any(paid, axis=1)) > 2


def facts(**fields):
    """What a payment reads of a state or of the events of a step."""
    return types.SimpleNamespace(**{name: np.asarray(value) for name, value in fields.items()})


NOTHING = {"trick_done": False, "winner": -1, "round_done": False, "bets": [0, 0, 0, 0]}


@pytest.mark.parametrize(
    ("events", "totals", "paid"),
    [
        ({"trick_done": True, "winner": 1}, None, [0, 0.1, 0, 0]),  # it had none and wanted one
        ({"trick_done": True, "winner": 0}, None, [0, 0, 0, 0]),  # it had what it wanted
        ({"trick_done": True, "winner": -1}, None, [0, 0, 0, 0]),
        ({"winner": 1}, None, [0, 0, 0, 0]),  # the trick is not complete
        ({"round_done": True, "won": [1, 3, 2, 7]}, None, [1, -0.5, -0.25, -1]),  # at most -1
        ({}, [30, 30, 20, 30], [10 / 3, 10 / 3, 0, 10 / 3]),
        ({"trick_done": True, "winner": 1, "round_done": True, "won": [1, 1, 1, 1]}, [5, 6, 7, 8], [1, 1.1, 1, 11]),
    ],
)
def test_section_9_seed_base_pays_tricks_bids_and_wins(events, totals, paid):
    before = facts(won=[1, 0, 1, 1], bids=[1, 1, 1, 1])
    after = facts(total=totals or [0, 0, 0, 0], terminated=totals is not None)
    found = facts(**{"won": before.won, "final_bids": [1, 1, 1, 1], **NOTHING, **events})
    np.testing.assert_allclose(rewards.trick_and_bid_payment(before, after, found), paid, atol=1e-6)


@pytest.mark.parametrize(
    ("before", "action", "events", "paid"),
    [
        # Rosie's user is seat 2; whom it chose leads the trick that ends.
        ({"leader": 2}, 0, {"trick_done": True, "winner": 2}, [0, 0, 0.2, 0]),
        ({"leader": 2}, 0, {"trick_done": True, "winner": 0}, [0, 0, 0, 0]),
        ({"leader": 2}, 0, {"winner": 2}, [0, 0, 0, 0]),  # the trick is not complete
        ({"leader": 1}, 0, {"trick_done": True, "winner": 1}, [0, 0, -0.1, 0]),  # it still needed one
        ({"leader": 0}, 0, {"trick_done": True, "winner": 0}, [0, 0, 0, 0]),  # it needed none
        ({"leader": 1}, 0, {"trick_done": True, "winner": 0}, [0, 0, 0, 0]),
        # Roatan: seat 0 is exact, seat 1 is not.
        ({}, 0, {"round_done": True, "bets": [20, 10, 0, 0]}, [0.2, -0.1, 0, 0]),
        ({}, 0, {"bets": [20, 10, 0, 0]}, [0, 0, 0, 0]),
        # Harry, seat 1, which bid 1 and has no trick.
        ({"phase": c.ABILITY_HARRY}, c.CHANGE, {"final_bids": [1, 0, 1, 1]}, [0, 0.3, 0, 0]),
        ({"phase": c.ABILITY_HARRY}, c.CHANGE + 1, {}, [0, 0, 0, 0]),
        ({"phase": c.ABILITY_HARRY}, c.CHANGE + 2, {"final_bids": [1, 2, 1, 1]}, [0, -0.2, 0, 0]),
        ({"phase": c.ABILITY_HARRY, "current_player": 0}, c.CHANGE + 1, {}, [0.1, 0, 0, 0]),  # it was exact already
        ({"phase": c.ABILITY_HARRY, "current_player": 0}, c.CHANGE, {"final_bids": [0, 1, 1, 1]}, [-0.2, 0, 0, 0]),
        # Bendt, seat 1, which bid 1: an Escape was chosen first, now the first card of the hand.
        ({"phase": c.ABILITY_BENDT_2}, c.DISCARD, {}, [0, 0.1 - 0.2, 0, 0]),
        ({"phase": c.ABILITY_BENDT_2}, c.DISCARD + 1, {}, [0, 0.1, 0, 0]),
        ({"phase": c.ABILITY_BENDT_2, "bids": [1, 0, 1, 1]}, c.DISCARD, {}, [0, 0.1, 0, 0]),
    ],
)
def test_section_9_seed_ability_pays_the_use_of_abilities(before, action, events, paid):
    usual = {"won": [1, 0, 1, 1], "bids": [1, 1, 1, 1], "current_player": 1, "phase": c.PLAYING, "leader": 3}
    hands = np.full((4, 3), c.NO_CARD, np.int8)
    hands[1, :2] = cards("Jade P9")
    held = {"hand": hands, "discards": [*cards("Escape"), c.NO_CARD], "rosie_user": 2}
    state = facts(**{**usual, **held, **before})
    found = facts(**{"won": state.won, "final_bids": [1, 1, 1, 1], **NOTHING, **events})
    np.testing.assert_allclose(rewards.ability_payment(state, np.int32(action), found), paid, atol=1e-6)


@pytest.mark.parametrize(
    ("thrown", "wanting", "worth"),
    [
        ("Escape Escape5", True, 0.2),  # the first and the last of them
        ("Escape Escape5", False, 0),
        ("R10 C14", True, -0.4),
        ("R10 C14", False, 0.2),
        ("P9 M1", True, 0),
        ("P9 M9", False, 0),
        ("SkullKing Mermaid2", False, 0.2),
        ("Rosie Harry", True, -0.4),
        ("Tigress Kraken", False, 0),
        ("Whale Loot", True, 0),
    ],
)
def test_section_9_what_bendt_throws_away(thrown, wanting, worth):
    """Escapes where tricks are wanted, high cards where none is."""
    found = rewards.discards_worth(np.array(cards(thrown), np.int8), np.bool_(wanting))
    assert float(found) == pytest.approx(worth, abs=1e-6)


# Who knows what ------------------------------------------------------------------------------------------------------


def test_sk_40_shown_voids():
    """SK-40: a numbered card off the led suit shows a void; specials and free tricks do not."""
    step = functions(FOUR)[0]
    hand = "M7 C2"
    assert step(given(hand=hand, table="P5"), c.PLAY).voids[1].tolist() == [False, True, False, False]
    assert not step(given(hand="Escape M7", table="P5"), c.PLAY + 1).voids.any()
    assert not step(given(hand=hand, table="Rosie P5"), c.PLAY).voids.any()
    assert not step(given(hand=hand, table="M5"), c.PLAY).voids.any()
    any_time = table_env(4, trump_anytime=True)
    assert not functions(any_time)[0](given(hand="R7 C2", table="P5"), c.PLAY).voids.any()
    assert step(given(hand="R7 C2", table="P5"), c.PLAY).voids[1].tolist() == [False, True, False, False]


def test_sk_41_private_facts_stay_private():
    """SK-41: nothing that another seat sees depends on a hand, a hidden bid, Bendt's cards or Jade's look."""
    state = given(hand="R1 P1 Tigress M3", phase=c.ABILITY_BENDT_2, bendt=0, discards=[card("P1"), c.NO_CARD])
    other = state.replace(discards=jnp.asarray([card("M3"), c.NO_CARD], jnp.int8), top=state.top[:, ::-1] + jnp.int8(3))
    for version in FOUR.observation_versions:
        assert (FOUR.observe(state, 2, version) == FOUR.observe(other, 2, version)).all()
    bidding = given(hand="R1", phase=c.BIDDING, bids=[3, -1, -1, -1])
    changed = bidding.replace(bids=jnp.asarray([5, -1, -1, -1], jnp.int8))
    assert (FOUR.observe(bidding, 1, "full") == FOUR.observe(changed, 1, "full")).all()
    assert (FOUR.observe(bidding, 0, "full") != FOUR.observe(changed, 0, "full")).any()


def names(state, viewer=None):
    """The legal actions in words."""
    return [FOUR.action_name(state, action, viewer) for action in legal(FOUR, state)]


def test_sk_41_actions_in_words():
    """SK-41: cards that look alike are told apart by who holds them; bids and discards of others stay face down."""
    playing = given(hand="R5 Escape Escape Mermaid Mermaid Tigress")
    seen = ["play Mermaid", "play R5", "play Escape", "play Tigress as pirate", "play Tigress as escape"]
    own = [seen[0], "play Mermaid 2", *seen[1:3], "play Escape 2", *seen[3:]]
    assert names(playing) == names(playing, 0) == own
    assert names(playing, 1) == [seen[0], *seen[:3], *seen[2:]]
    bidding = given(hand="R5", phase=c.BIDDING)
    assert names(bidding) == names(bidding, 0) == [f"bid {tricks}" for tricks in range(11)]
    assert set(names(bidding, 3)) == {"bid"}
    discarding = given(hand="R5 Loot Loot", phase=c.ABILITY_BENDT_2, discards=[card("R5"), c.NO_CARD])
    assert names(discarding) == ["discard Loot", "discard Loot 2"]
    assert set(names(discarding, 2)) == {"discard a card"}
    public = {
        c.ABILITY_ROSIE: ["seat 2 leads", "seat 3 leads", "seat 0 leads", "seat 1 leads"],
        c.ABILITY_ROATAN: ["bet 0", "bet 10", "bet 20"],
        c.ABILITY_HARRY: ["bid one less", "keep the bid", "bid one more"],
        c.ABILITY_JADE: ["look at the stock"],
    }
    for phase, words in public.items():
        state = given(hand="R1", table="P1 P2", phase=phase)
        assert names(state) == names(state, 0) == words


# Observations --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("R7", [1, 0, 0, 0, 0.5, 0, 0]),
        ("C14", [0, 0, 0, 1, 1, 0, 0]),
        ("Escape", [0, 0, 0, 0, 0, -1, 0]),
        ("Loot", [0, 0, 0, 0, 1, -1, 0]),
        ("Tigress", [0, 0, 0, 0, 0, 0.5, 0]),
        ("Roatan", [0, 0, 0, 0, 0.6, 1, 0]),
        ("SkullKing", [0, 0, 0, 0, 0, 0, 1]),
        ("Mermaid", [0, 0, 0, 0, 0, 0, -1]),
        ("Kraken", [0, 0, 0, 0, 0, 0, 0.5]),
        ("Whale", [0, 0, 0, 0, 0, 0, -0.5]),
        ("-", [0] * 7),
    ],
)
def test_sk_50_card_code(name, code):
    """SK-50."""
    np.testing.assert_allclose(observe.CARD_CODE[card(name)], code)


def test_sk_50_declared_tigress():
    """SK-50: on the table she shows what she was declared."""
    for text, code in [("[T+]", [0, 0, 0, 0, 0, 1, 0]), ("[T-]", [0, 0, 0, 0, 0.5, -1, 0])]:
        seen = np.asarray(FOUR.observe(given(hand="R1", table=text), 3, "base"))[77:84]
        np.testing.assert_allclose(seen, code)


def test_sk_51_sk_52_sk_53_sizes_and_prefixes():
    """SK-51, SK-52, SK-53: 190, 230 and 1132 values, each version the beginning of the next."""
    state = given(hand="R1 P1 Tigress", table="P5 M14", voids=np.eye(4, dtype=bool))
    seen = {version: np.asarray(FOUR.observe(state, 2, version)) for version in ("base", "ability", "full")}
    assert [len(seen[v]) for v in ("base", "ability", "full")] == [190, 230, 1132]
    assert (seen["full"][:230] == seen["ability"]).all()
    assert (seen["ability"][:190] == seen["base"]).all()
    assert FOUR.observation_versions[0] == "ability"
    for version, size in [("base", 190), ("ability", 230), ("full", 1132)]:
        assert FOUR.observation_shape(version) == (size,)
    layout = FOUR.layout("full")
    places = {name: part.slice for name, part in layout.items()}
    assert layout["played"].shape == (6, 74)
    assert [places[name].start for name in ("led_suit", "phase", "unseen", "jade", "bids", "harry")] == [
        142, 190, 822, 896, 1044, 1126,
    ]  # fmt: skip
    assert seen["full"][places["hand_cards"]].nonzero()[0].tolist() == sorted(cards("R1 P1 Tigress"))
    assert seen["full"][places["table_cards"]].nonzero()[0].tolist() == sorted(cards("P5 M14"))
    over = state.replace(terminated=jnp.bool_(True))
    assert not np.asarray(FOUR.observe(over, 0, "full")).any()


# Training schedule, labels, bots -------------------------------------------------------------------------------------


def test_sk_52_what_a_pending_ability_needs_is_shown_to_who_uses_it_alone():
    """SK-52: the cards that Bendt drew, bids and tricks for the others' abilities: zeros for every other seat."""
    context = jax.jit(lambda state, seat: FOUR.view(state, seat, "ability").context)
    for phase in (c.ABILITY_ROSIE, c.ABILITY_BENDT_1, c.ABILITY_BENDT_2, c.ABILITY_ROATAN, c.ABILITY_HARRY):
        state = given("P5 P6 R7", "P1", phase=phase, bids=[1, 2, 1, 1], won=[1, 0, 1, 0])
        shown = [np.asarray(context(state, seat)).any() for seat in range(4)]
        assert shown == [False, True, False, False], phase


def test_sk_60_abilities_are_data():
    """SK-60: the curriculum switches abilities at `init`, without a recompile; the options are its default."""
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(2,))
    traced = []

    @jax.jit
    def init(key, abilities):
        traced.append(1)
        return env.init(key, abilities=abilities)

    for j in range(5):
        on = np.arange(5) == j
        assert init(jax.random.key(0), on).abilities.tolist() == on.tolist()
    assert len(traced) == 1
    only_harry = jaxgames.make("skullking", rosie=False, bendt=False, roatan=False, jade=False)
    assert jitted(only_harry.init)(jax.random.key(0)).abilities.tolist() == [False] * 4 + [True]
    with pytest.raises(ValueError, match="skullking: abilities must be 5 booleans"):
        env.init(jax.random.key(0), abilities=[True] * 4)


def test_sk_62_labels():
    """SK-62: pirates still to win, tricks off the bid, where the cards are."""
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(2,))
    actions = [1, 0, c.PLAY, c.PLAY, c.LEAD, c.PLAY, c.PLAY]
    states = play(env, start(env, ["Rosie P3", "P5 Harry"]), actions)
    # Seat 0 leads Rosie, seat 1 answers with Harry: the first pirate wins. Then P3 against P5.
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states[:-1])
    events = jax.vmap(lambda state, action: env.step_with_events(state, action)[1])(stacked, jnp.asarray(actions))
    seen = labels.hindsight(events, 2)
    assert np.asarray(labels.ability_bits(seen.pirate_wins[0], 0)).nonzero()[0].tolist() == [0]
    assert np.asarray(labels.ability_bits(seen.pirate_wins[0], 1)).nonzero()[0].tolist() == [5]
    assert not np.asarray(seen.pirate_wins[4]).any()  # that trick is over
    assert [int(labels.bid_class(seen.off[0], seat)) for seat in (0, 1)] == [2, 3]
    assert np.asarray(seen.known).all()
    where = np.asarray(labels.card_locations(env, states[0], jnp.int32(0)))
    assert where[cards("Rosie P3")].tolist() == [-1, -1]
    assert where[cards("P5 Harry")].tolist() == [1, 1]
    assert (where == 0).sum() == 70


def test_sk_70_bid_table():
    """SK-70: worth in hundredths of a trick."""
    names = "SkullKing Rosie Mermaid Tigress Whale Kraken Loot Escape R14 R10 R9 R6 R5 P14 P12 P11 P8 P7"
    worth = [90, 60, 40, 35, 20, 15, 5, 0, 70, 70, 40, 40, 20, 30, 30, 15, 15, 0]
    assert [int(c.BID_TABLE[card(name)]) for name in names.split()] == worth
    hand = "SkullKing Rosie R14 R10 P14"  # 320: three tricks
    state = given(hand=hand, phase=c.BIDDING, bids=[-1] * 4)
    act = jitted(agents.rule_based(FOUR, "exact"))
    assert int(act(jax.random.key(0), state, 0)) == 3
    with pytest.raises(ValueError, match="level must be one of easy, medium, hard, exact, got 'brutal'"):
        agents.make("rule:brutal", FOUR)


def test_sk_71_strengths():
    """SK-71: times 140; the Whale depends on two playable numbers from 12 up."""
    names = "Escape Loot Kraken Tigress Mermaid Rosie SkullKing R1 R14 P1 C14"
    assert [int(STRENGTH[card(name)]) for name in names.split()] == [0, 7, 35, 77, 105, 119, 140, 60, 112, 17, 56]

    def weakest(hand):
        ids = jnp.asarray(sorted(cards(hand)), jnp.int8)
        return c.card_name(int(ids[slot_at(ids, ids < c.NO_CARD, 0, strongest=jnp.bool_(False))]))

    assert weakest("Whale P12 C2") == "C2"
    assert weakest("Whale P12 P14") == "P12"  # 50 beats the strong Whale's 84, not the weak one's 49
    assert weakest("Whale P12") == "Whale"


@pytest.mark.parametrize(
    ("bid", "won", "plays"),
    [
        (0, 0, "C1"),  # nothing needed: lose
        (5, 0, "SkullKing"),  # all that is left is needed: win
        (3, 0, "SkullKing"),  # more than half
        (2, 0, "P9"),  # time to spare: the middle card
        (1, 2, "C1"),  # too many already
        (9, 0, "C1"),  # out of reach
    ],
)
def test_sk_72_card_play(bid, won, plays):
    """SK-72: with five tricks left."""
    hand = "SkullKing R9 P9 C1 M5"
    state = given(hand=hand, bids=[bid] * 4, won=[won] * 4, tricks=5)
    action = int(jitted(agents.rule_based(FOUR, "exact"))(jax.random.key(0), state, 0))
    assert action == slots(hand, plays)[0]


def test_sk_72_tigress_is_declared_by_need():
    """SK-72: pirate if a trick is needed, else escape."""
    act = jitted(agents.rule_based(FOUR, "exact"))
    assert int(act(jax.random.key(0), given(hand="Tigress", bids=[1] * 4, tricks=9), 0)) == c.PLAY_TIGRESS_AS_PIRATE
    assert int(act(jax.random.key(0), given(hand="Tigress", bids=[0] * 4, tricks=9), 0)) == c.PLAY_TIGRESS_AS_ESCAPE


def test_sk_73_ability_policies():
    """SK-73: Rosie oneself, Roatán 10, Harry to the exact bid; `strength` throws what is not wanted."""
    seed, strength = (jitted(agents.rule_based(FOUR, "hard", name)) for name in ("seed", "strength"))
    key = jax.random.key(0)
    assert int(seed(key, given(phase=c.ABILITY_ROSIE), 0)) == c.LEAD
    assert int(seed(key, given(phase=c.ABILITY_ROATAN), 0)) == c.BET + 1
    assert int(seed(key, given(phase=c.ABILITY_JADE), 0)) == c.ACKNOWLEDGE
    for bid, won, change in [(2, 3, 1), (2, 1, -1), (2, 2, 0), (2, 4, 0)]:
        state = given(phase=c.ABILITY_HARRY, bids=[bid] * 4, won=[won] * 4)
        assert int(seed(key, state, 0)) == c.CHANGE + 1 + change
    hand = "SkullKing P9 C1"
    for bids, thrown in [([1] * 4, "C1"), ([0] * 4, "SkullKing")]:
        state = given(hand=hand, phase=c.ABILITY_BENDT_1, bids=bids)
        assert int(strength(key, state, 0)) - c.DISCARD == sorted(cards(hand)).index(card(thrown))
    state = given(hand=hand, phase=c.ABILITY_BENDT_2, bids=[1] * 4, discards=[card("C1"), c.NO_CARD])
    assert int(strength(key, state, 0)) == c.DISCARD + sorted(cards(hand)).index(card("P9"))


def test_every_rule_is_cited():
    """Every numbered rule has a test; those of the trainer (SK-60 to SK-63) in test_ppo.py."""
    paths = [*(ROOT / "tests").glob("test_skullking_*.py"), ROOT / "tests" / "test_ppo.py"]
    cited = set().union(*map(cited_rules, paths))
    # This file names the trainer's rules too, so those are asked of their own tests.
    assert {f"SK-{number}" for number in range(60, 64)} <= cited_rules(paths[-1])
    assert rule_numbers("skullking") <= cited


def test_deal_helper_deals_what_it_says():
    """The builder of these tests: hands in seat order, then the stock."""
    assert deal(["P5 M9", "R1 R2"], top="C1")["decks"][0][:5] == [28, 46, 10, 11, 52]
