"""The classic Python class of section 11 and the `jaxgames` command."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest

from jaxgames import cli
from jaxgames.skyjo.classic import SkyjoEnv
from tests.support import ROOT
from tests.test_skyjo_rules import D7, IDENTITY, X

E2 = {"decks": [D7], "reveals": [[[0, 1], [2, 3]]], "refills": [IDENTITY]}


def test_a_game_of_e2_in_dictionaries():
    game = SkyjoEnv(num_players=2, seed=3)
    first = game.reset(deal=E2)
    assert first["observer"] == game.current_player == 1
    assert (first["phase"], first["deck_size"], first["discard_top"], first["discard_pile"]) == ("MAIN", 125, 0, [0])
    assert first["board_views"][1]["values"] == [-99, -99, 7, 8, *[-99] * 8]
    assert first["board_views"][1]["visible_mask"] == [0, 0, 1, 1, *[0] * 8]
    assert first["board_views"][0]["removed_mask"] == [0] * 12
    assert [record["step_index"] for record in first["history"]] == [0, 0, 0, 0]
    assert first["tokens"]["action_tokens"][0] == [0, 0, X, 0, -2, X]
    assert "decision_token" not in first["tokens"]

    observation, rewards, terminated, info = game.step(0)
    assert (rewards, terminated) == ({"player_0": 0.0, "player_1": 0.0}, False)
    assert observation["observer"] == 0
    assert info == {
        "actor": 1,
        "action_id": 0,
        "macro_action": "TAKE_DISCARD_AND_REPLACE",
        "position": 0,
        "phase": "MAIN",
        "legal_actions_next": [*range(24), *range(26, 36)],
        "round_index": 1,
        "scores": [0, 0],
        "round_scores": [0, 0],
        "truncated": False,
    }
    assert observation["history"][-1] == {
        "step_index": 1,
        "round_index": 1,
        "actor": 1,
        "action_type": "TAKE_DISCARD_AND_REPLACE",
        "source": 1,
        "target_pos": 0,
        "a_value": 0,
        "b_value": 6,
    }
    assert len(game.observe(0, history_k=2)["history"]) == 2
    assert game.observe(0, history_k=0)["history"] == []
    assert game.observe(1)["history_since_last_turn"][-1]["step_index"] == 1
    full = game.get_full_state()
    assert full["seed"] == 3
    assert full["deck_order_remaining"][-3:] == [1, 1, 0]
    assert full["boards"][1]["cards"][:4] == [0, 7, 7, 8]


def test_bad_calls_are_refused():
    game = SkyjoEnv()
    with pytest.raises(ValueError, match=r"history_k must be in 0..16, got 17"):
        game.observe(0, history_k=17)
    with pytest.raises(ValueError, match=r"observer_player must be in 0..1, got 2"):
        game.observe(2)
    for bad in (48, -1, True, "0"):
        with pytest.raises(ValueError, match="skyjo: action must be one of the legal ids"):
            game.step(bad)
    with pytest.raises(ValueError, match="seed must be an integer"):
        SkyjoEnv(seed="x")
    with pytest.raises(ValueError, match=r"num_players must be in 2..8, got 11"):
        SkyjoEnv(num_players=11)
    assert game.action_to_macro(game.macro_to_action("SETUP_FLIP", 11)) == ("SETUP_FLIP", 11)


def test_a_whole_seeded_game_and_its_repetition():
    """Records of a new round carry its number; what comes last in the pile is drawn next; after the end it raises."""
    game, again = SkyjoEnv(seed=8, score_limit=100), SkyjoEnv(seed=1)
    again.reset(seed=8)
    while legal := game.legal_actions():
        action = legal[-1]
        pile = game.get_full_state()["deck_order_remaining"]
        observation = game.step(action)[0]
        again.step(action)
        written = [record for record in observation["history"] if record["step_index"] == game.state.step_count]
        turn = written[0]
        assert turn["a_value"] == pile[-1]  # the highest legal id is a flip
        if len(written) > 2:
            assert [record["action_type"] for record in written][-5:] == ["ROUND_END"] + ["SETUP_FLIP"] * 4
            assert [record["round_index"] for record in written][-5:] == [game.state.round_index - 1] + [
                game.state.round_index
            ] * 4
    assert game.get_full_state() == again.get_full_state()
    assert game.get_full_state()["phase"] == "GAME_OVER"
    assert len(game.winners()) == 1
    assert game.state.round_index > 1
    with pytest.raises(RuntimeError, match="the game is over"):
        game.step(0)
    game.reset()
    assert (game.scores, game.state.round_scores.tolist()) == ([0, 0], [0, 0])


def test_decision_mode_shows_its_own_fields():
    game = SkyjoEnv(action_mode="decision")
    game.reset(deal=E2)
    assert game.legal_actions() == [0, 1]
    names = []
    for action in (1, 4, 0, 2, 9, 0, 3, 8):
        observation, _, _, info = game.step(action)
        names.append((info["macro_action"], info["position"], info["decision_phase"]))
        if action == 0:
            assert observation["current_drawn_value"] != -99
            assert game.observe(1 - game.current_player)["current_drawn_value"] == -99
            assert observation["tokens"]["decision_token"] == [2, observation["current_drawn_value"]]
            full = game.get_full_state()
            assert (full["pending_source"], full["pending_keep"]) == ("deck", None)
    assert names == [
        ("CHOOSE_SOURCE_DISCARD", -1, "CHOOSE_POSITION"),
        ("TAKE_DISCARD_AND_REPLACE", 0, "CHOOSE_SOURCE"),
        ("CHOOSE_SOURCE_DECK", -1, "KEEP_OR_DISCARD"),
        ("KEEP_DRAWN", -1, "CHOOSE_POSITION"),
        ("DRAW_DECK_KEEP_AND_REPLACE", 5, "CHOOSE_SOURCE"),
        ("CHOOSE_SOURCE_DECK", -1, "KEEP_OR_DISCARD"),
        ("DISCARD_DRAWN", -1, "CHOOSE_POSITION"),
        ("DRAW_DECK_DISCARD_AND_FLIP", 4, "CHOOSE_SOURCE"),
    ]


def test_simulate_prints_the_same_json_always(capsys):
    outputs = []
    for _ in range(2):
        assert cli.main(["simulate", "skyjo", "--games", "3", "--seed", "4"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    result = json.loads(outputs[0])
    assert set(result) == {"games", "wins"}
    assert [game["seed"] for game in result["games"]] == [4, 5, 6]
    for game in result["games"]:
        assert list(game) == ["seed", "num_players", "steps", "winner", "scores", "round_index", "terminated"]
        assert game["terminated"]
        assert game["winner"] == game["scores"].index(min(game["scores"]))
    assert sum(result["wins"]) == 3


def test_inspect_prints_one_document(capsys):
    assert cli.main(["inspect", "skyjo", "--steps", "2", "--seed", "1"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said) == ["full_state", "observation_player_0", "after_steps_state", "observation_current"]
    assert said["observation_player_0"]["observer"] == 0
    assert said["full_state"]["global_step"] == 0
    assert said["after_steps_state"]["global_step"] == 2
    assert said["observation_current"]["observer"] == said["after_steps_state"]["current_player"]
    game = SkyjoEnv(seed=1)
    game.step(game.legal_actions()[0])
    game.step(game.legal_actions()[0])
    assert said["after_steps_state"] == game.get_full_state()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", "skyjo", "--players", "9"], "num_players must be in 2..8, got 9"),
        (["simulate", "skyjo", "--games", "-1"], "--games must be 0 or more, got -1"),
        (["simulate", "skyjo", "--max-steps", "0"], "max_steps must be in 1..1000000, got 0"),
        (["inspect", "skyjo", "--history-k", "200"], "history_window_k must be in 0..128, got 200"),
        (["simulate", "skyjo", "--seed", "-3"], "seed must be in 0..4294967295, got -3"),
        (["play", "poker"], "invalid choice: 'poker'"),
        (["simulate", "skullking", "--option", "players"], "--option must look like NAME=VALUE, got 'players'"),
        (["simulate", "skullking", "--option", "colour=red"], "unknown option 'colour'"),
        ([], "the following arguments are required"),
    ],
)
def test_bad_arguments_are_a_sentence_and_exit_code_2(arguments, words, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert words in capsys.readouterr().err


def test_every_game_can_be_simulated_and_inspected_by_name():
    parser = cli.build_parser()
    for command in ("play", "simulate", "inspect"):
        for game in cli.jaxgames.games():
            assert parser.parse_args([command, game]).game == game


def test_play_at_a_terminal():
    """A person at a pseudo-terminal: bad input is asked for again, and the game is played to its end."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "jaxgames.cli", "play", "skyjo", "--score-limit", "1", "--seed", "2"]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=ROOT, env=os.environ)
    os.close(slave)
    screen, answered, bad = "", 0, ["what", "-1", "0", "99", ""]
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        if not select.select([master], [], [], 1)[0]:
            if process.poll() is not None:
                break
            continue
        try:
            chunk = os.read(master, 65536)
        except OSError:  # the other side has closed
            break
        screen += chunk.decode()
        if screen.count("Choose an action id: ") > answered:
            answered += 1
            ids = re.findall(r"(\d+) [a-z][^;]*", screen[screen.rindex("Legal ids: ") + 11 :])
            os.write(master, ((bad.pop(0) if bad else ids[-1]) + "\n").encode())
    os.close(master)
    assert process.wait(timeout=30) == 0
    assert screen.count("is not a legal id; please enter one of those listed.") == 5
    for words in ("Round 1 | Phase SETUP | Player 0", "Scores: [0, 0]", "Discard top:", "Draw pile: 125 cards"):
        assert words in screen
    assert "Your mask:   [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]" in screen
    assert "Played SETUP_FLIP at 11" in screen
    assert re.search(r"Game over\s+Final scores: \[-?\d+, -?\d+\]\s+Winner: player [01]", screen)


def test_play_says_when_the_input_ends():
    command = [sys.executable, "-m", "jaxgames.cli", "play", "skyjo", "--setup-mode", "auto"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=ROOT, timeout=240)
    assert done.returncode == 2
    assert "the input ended before the game did" in done.stderr
