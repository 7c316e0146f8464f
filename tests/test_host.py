"""One game driven from plain Python."""

import copy
import dataclasses
import pickle
import random
import threading

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import records
from jaxgames.host import Game, compiled
from jaxgames.options import UserError
from tests.sixth_game import BET, PASS, KuhnEnv

DEAL = {"deck": [2, 0, 1]}  # seat 0 has the king, seat 1 the jack


@pytest.mark.parametrize("name", jaxgames.games())
def test_a_seed_is_a_game_and_a_record_is_the_same_game(name):
    """The first state is that of the env, and from the record, written down and read, every state comes again."""
    env = jaxgames.make(name)
    game, rng = (
        Game(env, seed=4_000_000_001, players=[f"nobody {seat}" for seat in range(env.num_players)]),
        random.Random(3),
    )
    chex.assert_trees_all_equal(game.state, jax.device_get(jax.jit(env.init)(jax.random.key(4_000_000_001))))
    while not game.is_over and len(game.actions) < 12:
        assert sorted(game.moves) == game.legal
        assert len(set(game.moves.values())) == len(game.legal)
        game.step(rng.choice(game.legal))
    record = records.parse(game.record().to_json())
    again = Game.from_record(record)
    assert again.record() == game.record() == record
    chex.assert_trees_all_equal(again.states, game.states)
    assert record.env == env
    assert Game(env, seed=5).deal != game.deal


def test_a_game_tells_where_it_stands():
    game = Game(KuhnEnv(), deal=DEAL, players=("ann", "bob"))
    assert (game.player, game.is_over, game.legal) == (0, False, [PASS, BET])
    assert game.moves == {0: "pass", 1: "bet"}
    game.step(np.int64(PASS))
    game.step(BET)
    assert (game.player, game.scores, game.returns, game.winners) == (0, [0, 0], [0, 0], [])
    game.step(BET)
    assert (game.is_over, game.legal, game.moves) == (True, [], {})
    assert (game.scores, game.returns, game.winners) == ([2, -2], [2, -2], [0])
    assert [int(state.step_count) for state in game.states] == [0, 1, 2, 3]
    assert game.actions == [PASS, BET, BET]
    assert isinstance(game.state.deck, np.ndarray)


class PaysAlways(KuhnEnv):
    """Every step pays seat 0 a chip and costs seat 1 half of one."""

    def step(self, state, action):
        return super().step(state, action).replace(rewards=jnp.array([1.0, -0.5], jnp.float32))


def test_returns_are_all_that_was_paid():
    game = Game(PaysAlways(), deal=DEAL)
    for action in (PASS, BET, PASS):
        game.step(action)
    assert game.returns == [3.0, -1.5]
    game.undo()
    assert game.returns == [2.0, -1.0]


def test_a_viewer_sees_what_its_seat_may():
    game = Game(KuhnEnv(), deal=DEAL)
    assert game.render() == "Kuhn poker: king and jack; nothing said yet"
    assert game.render(1) == "Kuhn poker: ? and jack; nothing said yet"
    assert "king" not in game.picture(1)
    assert "king" in game._repr_svg_()
    assert game.observe(0)[:3].tolist() == [0, 0, 1]
    parts = game.view(0, "cards")
    assert list(parts) == ["card", "said"]
    assert (parts["card"].tolist(), parts["said"].shape) == ([False, False, True], (3, 2))
    assert game.name(BET, viewer=1) == "bet"
    for bad in (2, -1, True, "0"):
        with pytest.raises(ValueError, match=r"kuhn: player must be an integer in 0..1"):
            game.observe(bad)
        with pytest.raises(ValueError, match=r"kuhn: player must be an integer in 0..1"):
            game.view(bad)


def test_a_game_as_it_stood_is_a_game_of_its_own():
    game, records = Game(KuhnEnv(), deal=DEAL), []
    for action in (PASS, BET, BET):
        records.append(game.record())
        game.step(action)
    whole = game.record()
    assert [game.at(step).record() for step in range(4)] == [*records, whole]
    earlier = game.at(1)
    earlier.step(PASS)
    assert earlier.actions == [PASS, PASS]
    assert game.record() == whole


def test_what_is_taken_back_was_never_played():
    game = Game(KuhnEnv(), deal=DEAL)
    first = game.record()
    game.step(PASS)
    after_one = game.record()
    for _ in range(2):
        game.step(BET)
    game.undo(2)
    assert game.record() == after_one
    assert game.returns == [0, 0]
    game.undo()
    assert game.record() == first
    game.undo(0)
    with pytest.raises(UserError, match=r"kuhn: steps to take back must be in 0..0, got 1"):
        game.undo()
    game.step(BET)
    game.step(PASS)
    assert game.winners == [0]


@pytest.mark.parametrize("action", [2, -1, 10**30, True, "1", 1.0, None])
def test_an_illegal_move_is_refused_and_the_game_goes_on(action):
    game = Game(KuhnEnv(), deal=DEAL)
    with pytest.raises(UserError, match=r"kuhn: action .* is not legal for seat 0; legal are \[0 1\] of 0..1"):
        game.step(action)
    assert game.actions == []
    game.step(PASS)
    game.step(PASS)
    with pytest.raises(UserError, match="kuhn: the game is over"):
        game.step(PASS)


def test_bad_beginnings_are_refused():
    with pytest.raises(UserError, match=r"kuhn: seed must be in 0..4294967295, got -1"):
        Game(KuhnEnv(), seed=-1)
    with pytest.raises(UserError, match="kuhn: deal deck must be a permutation"):
        Game(KuhnEnv(), deal={"deck": [0, 0, 1]})
    with pytest.raises(UserError, match="kuhn: players must be 2 names"):
        Game(KuhnEnv(), players=("ann",))


def test_a_record_that_breaks_the_rules_is_no_game(monkeypatch):
    monkeypatch.setitem(jaxgames._GAMES, "kuhn", "tests.sixth_game:KuhnEnv")
    record = Game(KuhnEnv(), deal=DEAL).record()
    for actions, words in (((PASS, 2), "step 1, action 2, is not legal"), ((BET, BET, BET), "step 2.*after the end")):
        with pytest.raises(records.RecordError, match=words):
            Game.from_record(dataclasses.replace(record, actions=actions))


def test_equal_envs_share_what_is_compiled():
    one = compiled(jaxgames.make("skyjo"))
    assert compiled(jaxgames.make("skyjo", num_players=2)) is one
    assert compiled(jaxgames.make("skyjo", num_players=3)) is not one
    assert copy.deepcopy(one) is one
    assert pickle.loads(pickle.dumps(one)) is one


class SlowEnv(KuhnEnv):
    """Its step cannot be compiled before `go` is set."""

    version = 99
    compiling, go = threading.Event(), threading.Event()
    traces = 0

    def step(self, state, action):
        type(self).traces += 1
        self.compiling.set()
        assert self.go.wait(60)
        return super().step(state, action)


def test_a_compilation_holds_up_nobody_else():
    """Two tables wait for the same program, which is compiled once; a third table plays on meanwhile."""
    other = Game(KuhnEnv(), deal=DEAL)
    slow = [Game(SlowEnv(), deal=DEAL) for _ in range(2)]
    tables = [threading.Thread(target=game.step, args=(BET,)) for game in slow]
    for table in tables:
        table.start()
    assert SlowEnv.compiling.wait(60)
    for action in (PASS, BET, BET):
        other.step(action)
    third = Game(jaxgames.make("schafkopf"))  # another env begins and compiles too
    third.step(third.legal[0])
    assert [game.actions for game in slow] == [[], []]
    SlowEnv.go.set()
    for table in tables:
        table.join(60)
    assert [game.actions for game in slow] == [[BET], [BET]]
    assert SlowEnv.traces == 1
