"""The recorded games of Skull King, replayed exactly: 40 games of 2 to 6 seats under all options."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
from jaxgames.skullking import labels, metrics
from jaxgames.skullking.cards import (
    ABILITY_BENDT_1,
    ABILITY_BENDT_2,
    ABILITY_HARRY,
    ABILITY_ROATAN,
    ABILITY_ROSIE,
    BIDDING,
    FREE,
    PLAYING,
)
from jaxgames.skullking.trick import lead_of
from tests.support import assert_observations_match, assert_steps_match, drawn_words, replay, vectors

RECORDS = vectors("skullking")


@pytest.fixture(scope="module")
def replays():
    return functools.cache(lambda index: replay(RECORDS[index]))


@pytest.mark.parametrize("index", range(len(RECORDS)))
def test_recorded_game(index, replays):
    """Seats, legal actions, rewards, observations, round results, metrics, labels and bot choices of one game."""
    record, played = RECORDS[index], replays(index)
    assert_steps_match(record, played)
    last = played.state(len(record["steps"]))
    assert last.terminated
    assert last.total.tolist() == record["final"]["scores"]
    seen_alike = dataclasses.replace(played, env=plain(played.env, "kraken", "whale", "loot"))
    assert_observations_match(record, seen_alike, atol=1e-6, widest="full")
    check_rounds_metrics_and_labels(record, played)
    check_bot(record, played)


def plain(env, *keep):
    """The env without the options that a function under test does not read: fewer compilations."""
    kept = {name: getattr(env, name) for name in ("num_players", "hand_sizes", *keep)}
    return type(env)(**kept)


def check_rounds_metrics_and_labels(record, played):
    env, final, count = played.env, record["final"], len(record["steps"])
    without_reward = plain(env, "trump_anytime", "roatan_last_trick", "scoring")
    counts, events, seen = _follow(without_reward, *_padded(record, played))
    for name, value in final["metrics"].items():
        assert float(np.sum(getattr(counts, name))) == pytest.approx(value, abs=1e-4), name
    scored = np.flatnonzero(np.asarray(events.round_done)[:count])
    results = [{name: np.asarray(getattr(events, name))[i].tolist() for name in ROUND_FIELDS} for i in scored]
    for result, i in zip(results, scored, strict=True):
        result["bids"] = played.states.bids[i].tolist()
    assert results == final["rounds"]
    for index, seat, bits, bid_class, locations in record["aux"]:
        wins = np.asarray(seen.pirate_wins)[index]
        others = np.delete(wins, seat, axis=1).any(1)
        assert [*wins[:, seat].astype(int), *others.astype(int)] == list(bits)
        assert np.clip(np.asarray(seen.off)[index, seat], -2, 2) + 2 == bid_class
        where = _locations(plain(env, "kraken", "whale", "loot"), played.state(index), seat)
        assert np.asarray(where).tolist() == locations


ROUND_FIELDS = ("final_bids", "won", "bonus", "bets", "points")


def _padded(record, played):
    """States before each step and actions, in one of few lengths; what is beyond the record is a finished game."""
    actions = [action for _, _, action in record["steps"]]
    length = max(64, 1 << (len(actions) - 1).bit_length())
    rows = np.minimum(np.arange(length), len(actions))
    states = jax.tree.map(lambda leaf: leaf[rows], played.states)
    return states, np.array([*actions, *[0] * (length - len(actions))], np.int32)


@functools.partial(jax.jit, static_argnums=0)
def _follow(env, states, actions):
    """One pass over the steps: ability counts, events and what hindsight makes of them."""

    def turn(counts, x):
        state, action = x
        _, events = env.step_with_events(state, action)
        counted = env.is_legal(state, action) & ~state.terminated
        events = events._replace(round_done=events.round_done & counted, trick_done=events.trick_done & counted)
        return metrics.update(env, counts, state, action), events

    counts, events = jax.lax.scan(turn, jax.tree.map(jnp.asarray, metrics.start(env)), (states, actions))
    return counts, events, labels.hindsight(events, env.num_players)


@functools.partial(jax.jit, static_argnums=0)
def _locations(env, state, seat):
    return labels.card_locations(env, state, seat)


def check_bot(record, played):
    """What `rule_based(exact, strength)` would do (it needs no luck)."""
    if not record["bot"]:
        return
    rows = np.array([index for index, _ in record["bot"]])
    padded = np.resize(rows, 64 * -(-len(rows) // 64))
    states = jax.tree.map(lambda leaf: leaf[padded], played.states)
    choices = np.asarray(_bot(plain(played.env, "trump_anytime"), states))[: len(rows)]
    assert choices.tolist() == [action for _, action in record["bot"]]


@functools.partial(jax.jit, static_argnums=0)
def _bot(env, states):
    act = agents.rule_based(env, "exact", "strength")
    return jax.vmap(lambda state: act(jax.random.key(0), state, state.current_player))(states)


TEXT = """\
Skull King, round 10 of 10 (10 cards), trick 10, playing, seat 3 to act
  > seat 0: total -290 | bid 9 | won 3 | hand {} | plays R6 | void in Map
    seat 1: total -120 | bid 7 | won 2 | hand {} | plays R9
    seat 2: total   40 | bid 2 | won 2 | hand {} | plays Harry | bet 10 | void in Chest
    seat 3: total -100 | bid 6 | won 1 | hand {}
  alliance: seats 0 and 2
  alliance: seats 3 and 1"""


def test_a_position_in_words_and_as_a_picture(replays):
    """The last trick: what everybody knows, one card in a hand, and what seat 0 threw away with Bendt's help."""
    played = replays(2)
    env, state = played.env, played.state(271)
    assert env.render(state) == TEXT.format("", "", "", "M2") + "\n  discarded with Bendt: C5 P8"
    assert env.render(state, 1) == TEXT.format("0 cards", "", "0 cards", "1 cards")
    others = [*("Seat 2", "40", "won 2 of 2, 0 left", "bet 10, ally 0", "Harry")]
    others += [*("Seat 3", "−100", "won 1 of 6, 1 left", "ally 1")]
    assert drawn_words(env.picture(state, 1)) == [
        *("Seat 3: play a card", "Round 10 of 10, trick 10 of 10"),
        *("You", "−120", "won 2 of 7, 0 left", "ally 3", "9", *others),
        *("Seat 0", "−290", "won 3 of 9, 0 left", "ally 2", "6", "1", "follow"),
        *("Last trick", "0", "1", "6", "2", "6", "3", "2"),
    ]


def test_secrets_in_words(replays):
    """Bids until all have bid, and discards, are hidden from the others; what the abilities ask is said to all."""
    played, asked = replays(2), set()
    env = played.env
    for i in range(273):
        state, phase = played.state(i), int(played.states.phase[i])
        if phase == PLAYING or (phase in asked and phase != BIDDING):
            continue
        asked.add(phase)
        mover = int(state.current_player)
        other = (mover + 1) % 4
        legal = np.flatnonzero(played.masks[i])
        own, seen = ([env.action_name(state, action, viewer) for action in legal] for viewer in (mover, other))
        if phase == BIDDING:
            assert own == [f"bid {bid}" for bid in range(len(legal))]
            assert set(seen) == {"bid"}
            lines, plates = env.render(state, other).splitlines(), drawn_words(env.picture(state, other))
            for seat, bid in enumerate(state.bids):
                shown = "-" if bid < 0 else bid if seat == other else "?"
                assert f"| bid {shown} |" in lines[1 + seat]
                name = "You" if seat == other else f"Seat {seat}"
                assert plates[plates.index(name) + 2].startswith(f"bid {shown}, ".replace("-", "–"))
        elif phase in (ABILITY_BENDT_1, ABILITY_BENDT_2):
            assert set(seen) == {"discard a card"}
            assert all(name.startswith("discard ") and name != "discard a card" for name in own)
        else:
            assert own == seen == SAID[phase](mover)
    assert asked == {BIDDING, ABILITY_BENDT_1, ABILITY_BENDT_2, *SAID}


SAID = {
    ABILITY_ROSIE: lambda mover: [f"seat {(mover + k) % 4} leads" for k in range(4)],
    ABILITY_ROATAN: lambda mover: ["bet 0", "bet 10", "bet 20"],
    ABILITY_HARRY: lambda mover: ["bid one less", "keep the bid", "bid one more"],
}


def test_a_picture_says_what_the_trick_asks_for(replays):
    """SK-11, in every eleventh position of a game: a suit to follow, anything, or nothing yet."""
    played = replays(2)
    for i in range(5, 272, 11):
        state = played.state(i)
        if int(state.phase) != PLAYING:
            continue
        words, lead = drawn_words(played.env.picture(state, (int(state.current_player) + 1) % 4)), int(lead_of(state))
        assert ("follow" in words, "free trick" in words) == (1 <= lead <= 4, lead == FREE), i
