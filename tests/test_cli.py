"""The `jaxgames` command. Skyjo's own surface is tested in test_skyjo_surface.py."""

import contextlib
import io
import json
import os
import pty
import signal
import subprocess
import sys
import tomllib
import types

import jax.numpy as jnp
import pytest

import jaxgames
from jaxgames import cli, host, players, records, terminal
from jaxgames.options import UserError
from tests.support import ROOT

DATA = ROOT / "tests" / "data"


@pytest.fixture(autouse=True, scope="module")
def kuhn():
    """The sixth game has no name of its own; here it has one: it compiles in a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(jaxgames._GAMES, "kuhn", "tests.sixth_game:KuhnEnv")
        yield


def refused(arguments, capsys):
    """What the command says on stderr; it must be exit code 2 and one line."""
    with pytest.raises(SystemExit) as stop:
        cli.main(list(map(str, arguments)))
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def answers(monkeypatch, *given):
    """A user who types these and then leaves with Ctrl-C, or with the given error."""
    left = iter(given)

    def ask(prompt):
        answer = next(left, KeyboardInterrupt)
        if isinstance(answer, type):
            raise answer
        return answer

    monkeypatch.setattr("builtins.input", ask)


# -- play ------------------------------------------------------------------------------------------------------------


def test_play_asks_until_the_answer_is_legal_and_saves_the_game(monkeypatch, capsys, tmp_path):
    answers(monkeypatch, "what", "-1", "9" * 5000, " 1 ", "0")
    assert cli.main(["play", "kuhn", "--record", str(tmp_path / "games.jsonl")]) == 0
    said = capsys.readouterr().out
    assert said.count("is not a legal id; please enter one of those listed.") == 3
    assert "Legal ids: 0 pass; 1 bet" in said
    assert "Player 1 to act." in said
    assert "Final scores: [1, -1]\nWinners: player 0" in said
    (record,) = records.stream(tmp_path / "games.jsonl", check=True)
    assert (record.actions, record.scores) == ((1, 0), (1, -1))


def test_ctrl_c_leaves_cleanly_and_keeps_the_game(monkeypatch, capsys, tmp_path):
    answers(monkeypatch, "0")
    assert cli.main(["play", "kuhn", "--record", str(tmp_path / "games.jsonl")]) == 130
    assert capsys.readouterr().err.strip() == ""
    (record,) = records.stream(tmp_path / "games.jsonl", check=True)
    assert record.actions == (0,)


def test_the_end_of_the_input_is_a_sentence(monkeypatch, capsys):
    answers(monkeypatch, "0", EOFError)
    assert refused(["play", "kuhn"], capsys) == "jaxgames: the input ended before the game did.\n"


def test_ctrl_c_at_a_real_prompt_is_exit_code_130():
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "jaxgames.cli", "play", "schafkopf"]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=ROOT, start_new_session=True)
    os.close(slave)
    screen = b""
    while b"Choose an action id: " not in screen:
        screen += os.read(master, 65536)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)  # again if it came between the prompt and the reading
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
    assert process.returncode == 130
    os.set_blocking(master, False)
    with contextlib.suppress(OSError):  # nothing more was said
        screen += os.read(master, 65536)
    os.close(master)
    assert b"Traceback" not in screen


# -- play against agents -----------------------------------------------------------------------------------------------


class Maker:
    """An entry point: a package with agents, or one whose agents are missing."""

    def __init__(self, make):
        self.make = make

    def load(self):
        if self.make is None:
            raise ImportError("not here")
        return self.make


def always_bets(spec, env):
    if spec != "bets":
        raise UserError(f"unknown agent {spec!r}")
    return lambda key, state, player: jnp.int32(1)


@pytest.fixture
def installed(monkeypatch):
    """Packages that offer agents, by their entry points."""

    def install(*makers):
        points = list(map(Maker, makers))
        monkeypatch.setattr(players.importlib.metadata, "entry_points", lambda group: points)

    install(None, always_bets)
    return install


def test_one_seat_plays_against_agents_with_hints_and_undo(installed, monkeypatch, capsys, tmp_path):
    path = tmp_path / "games.jsonl"
    answers(monkeypatch, "undo", "hint", "bet", "0")
    assert cli.main(["play", "kuhn", "--seat", "1", "--against", "bets", "--record", str(path)]) == 0
    said = capsys.readouterr().out
    assert "There is nothing to take back." in said
    assert "   0  seat 0 (bets): bet" in said
    assert "  100%  1 bet" in said
    (record,) = records.stream(path, check=True)
    assert (record.actions, record.players) == ((1, 1), ("bets", "person"))


def test_taking_back_leads_to_the_last_decision_made_by_hand(installed, monkeypatch, capsys, tmp_path):
    """Pass, the agent bets; undone to before the pass; then a bet, which the agent answers."""
    path = tmp_path / "games.jsonl"
    answers(monkeypatch, "0", "u", "1")
    assert cli.main(["play", "kuhn", "--against", "bets", "--record", str(path)]) == 0
    (record,) = records.stream(path, check=True)
    assert record.actions == (1, 1)


def test_machines_are_told_in_json_and_answer_with_ids(installed, monkeypatch, capsys):
    answers(monkeypatch, "what", "hint", "0", "0")
    assert cli.main(["play", "kuhn", "--against", "bets", "--json"]) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    turn = ["position", "turn"]
    kinds = [*turn, "error", "hint", *turn, "move", *turn, "position", "over"]
    assert [line["type"] for line in said] == kinds
    assert next(line for line in said if line["type"] == "hint")["shares"] == {"1": 1.0}
    assert next(line for line in said if line["type"] == "turn")["moves"] == {"0": "pass", "1": "bet"}
    assert next(line for line in said if line["type"] == "move") == {
        "type": "move",
        "step": 1,
        "seat": 1,
        "player": "bets",
        "words": "bet",
        "action": 1,
    }
    assert said[-1]["type"] == "over"
    assert len(said[-1]["scores"]) == 2


@pytest.mark.parametrize(
    ("makers", "arguments", "words"),
    [
        ((), ["--against", "rule"], "no agents are installed, so 'rule' cannot play: they come with a checkout"),
        ((None,), ["--against", "rule"], "no agents are installed"),
        ((always_bets,), ["--against", "rule"], "unknown agent 'rule'"),
        ((always_bets,), ["--against", "bets", "--seat", "2"], "--seat must be 0..1, got 2"),
    ],
)
def test_agents_that_are_not_there_are_a_sentence(makers, arguments, words, installed, capsys):
    installed(*makers)
    assert words in refused(["play", "kuhn", *arguments], capsys)


def test_the_repository_names_its_agents_by_an_entry_point():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    import agents

    (target,) = project["entry-points"][players.GROUP].values()
    assert target == "agents:make"
    assert callable(agents.make)


# -- drawn -------------------------------------------------------------------------------------------------------------

POSITIONS = {
    "skullking": "Skull King, round 9 of 10 (9 cards), trick 1, playing, seat 0 to act\n"
    "  > seat 0: total  -70 | bid 3 | won 0 | hand P2 P11 C14 R1 SkullKing Tigress Escape M13 Roatán | void in Roger\n"
    "    seat 1: total   10 | bid 3 | won 1 | hand 9 cards | plays Tigress as pirate | void in Parrot, Map, Chest",
    "schafkopf": "Schafkopf, trick 3, seat 2 begins, Solo Schellen of seat 2\n"
    "> seat 2   45 points  bid Solo Schellen         EU SA S8 E9 GA",
    "skyjo": "Round 1, MAIN, player 0 to move\n\nP0: 0              P1: 0\n  .  -2   .   .      3   0  12   .",
    "saboteur": "round 1 of 3, 17 cards left, seat 0 to move\n   0 ·┗┻╋S·······?·\nseat 0: saboteur, 0 nuggets: map",
}


@pytest.mark.parametrize("game", POSITIONS)
def test_a_drawing_fits_80_columns_and_loses_no_word(game):
    pytest.importorskip("rich")
    from rich.console import Console

    text = POSITIONS[game]
    drawn = terminal.Drawn()
    drawn.console, drawn.width = Console(width=80, record=True, file=io.StringIO(), force_terminal=True), 80
    table = types.SimpleNamespace(
        render=lambda viewer: text, env=types.SimpleNamespace(id=game), player=0, players=("person", "rule")
    )
    drawn.position(table, 0)
    shown = drawn.console.export_text()
    assert max(map(len, shown.splitlines())) <= 80
    words = set(shown.replace("│", " ").split())
    assert set(text.replace("│", " ").split()) <= words
    assert {"you,", "rule"} <= words


def test_moves_that_differ_in_their_last_word_alone_are_listed_together():
    moves = {i: f"put it on slot {i}" for i in range(5)} | {7: "map at (8, -2)", 9: "pass"}
    assert terminal.alike(moves) == {
        "put it on slot ": [(i, str(i)) for i in range(5)],
        "map at (8, -2)": [(7, "")],
        "pass": [(9, "")],
    }


def test_without_rich_the_table_is_plain_text(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert type(terminal.screen()) is terminal.Plain


def test_compilations_are_kept_in_the_users_cache_folder_unless_told_otherwise(tmp_path):
    code = """
import jax
from jaxgames.cache import keep_compilations
keep_compilations()
print(jax.config.values["jax_compilation_cache_dir"])
jax.config.update("jax_compilation_cache_dir", "elsewhere")
keep_compilations()
print(jax.config.values["jax_compilation_cache_dir"])
"""
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    environment |= {"XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == [str(tmp_path / "jaxgames" / "compiled"), "elsewhere"], done.stderr


def test_a_bug_stays_a_traceback(monkeypatch):
    """Only what a user can mend becomes a sentence."""

    def broken(self, action):
        raise ValueError("deep inside")

    monkeypatch.setattr(host.Game, "step", broken)
    with pytest.raises(ValueError, match="deep inside"):
        cli.main(["simulate", "kuhn", "--games", "1"])


# -- simulate, inspect, bench ------------------------------------------------------------------------------------------


def test_simulated_games_are_the_same_always_and_can_be_checked(capsys, tmp_path):
    path = tmp_path / "games.jsonl.gz"
    said = []
    for _ in range(2):
        assert cli.main(["simulate", "kuhn", "--games", "3", "--seed", "4", "--record", str(path)]) == 0
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[1]
    assert [game["seed"] for game in said[0]["games"]] == [4, 5, 6]
    for game in said[0]["games"]:
        assert game["winners"] == [game["scores"].index(max(game["scores"]))]
        assert game["terminated"]
    assert cli.main(["check", str(path)]) == 0
    assert capsys.readouterr().out == "6 good, 0 bad\n"
    assert cli.main(["replay", str(path), "--number", "1"]) == 0
    assert "   0  seat 0 (random): " in capsys.readouterr().out


def test_the_games_of_a_surface_are_saved_too(capsys, tmp_path):
    path = tmp_path / "games.jsonl"
    assert cli.main(["simulate", "skyjo", "--games", "1", "--option", "score_limit=1", "--record", str(path)]) == 0
    (result,) = json.loads(capsys.readouterr().out)["games"]
    (record,) = records.stream(path, check=True)
    assert (list(record.scores), len(record.actions)) == (result["scores"], result["steps"])
    assert record.options["score_limit"] == 1


@pytest.mark.parametrize(
    ("arguments", "version", "parts"),
    [
        (["magictrick", "--option", "observation=v5"], "v5", jaxgames.make("magictrick").layout("v5")),
        (["magictrick"], "v4", jaxgames.make("magictrick").layout("v4")),
        (["schafkopf", "--observation", "seq70"], "seq70", jaxgames.make("schafkopf").layout("seq70")),
    ],
)
def test_inspect_prints_one_document_and_names_what_it_shows(arguments, version, parts, capsys):
    assert cli.main(["inspect", *arguments, "--steps", "2", "--seed", "1"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said) == ["full_state", "observation_player_0", "after_steps_state", "observation_current"]
    assert said["full_state"]["step_count"] == 0
    assert said["after_steps_state"]["step_count"] == 2
    env = jaxgames.make(arguments[0])
    game = host.Game(env, seed=1)
    for seen, player in ((said["observation_player_0"], 0), (said["observation_current"], None)):
        if player is None:
            for _ in range(2):
                game.step(game.legal[0])
            player = game.player
        assert (seen["observer"], seen["version"]) == (player, version)
        assert list(seen["parts"]) == list(parts)
        flat = game.observe(player, version)
        for name, part in parts.items():
            assert seen["parts"][name] == flat[part.slice].reshape(part.shape).tolist()


def test_bench_gives_one_line_of_json(capsys):
    assert cli.main(["bench", "magictrick", "--batch", "8", "--steps", "4"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["game"], said["batch"]) == ("magictrick", 8)
    assert said["steps_per_second"] > 0


# -- replay, check -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1])
def test_replay_tells_a_recorded_game_move_by_move(number, capsys):
    """Record 0 ends with an illegal action, record 1 by the rules."""
    path = DATA / "schafkopf.jsonl.gz"
    assert cli.main(["replay", str(path), "--number", str(number), "--positions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    record = list(records.stream(path))[number]
    moves = [line for line in lines if line[:4].strip().isdecimal() and ": " in line]
    seats = [seat for seat, _, _ in record.more["steps"]]
    assert [line.split(":")[0].split() for line in moves] == [
        [str(step), "seat", str(seat)] for step, seat in enumerate(seats)
    ]
    assert moves[-1].endswith("illegal action 12") == record.forfeit
    assert lines[-1].startswith("Scores: ")
    assert sum("Schafkopf" in line for line in lines) == len(seats) + 1


def test_a_record_that_breaks_the_rules_is_refused(tmp_path, capsys):
    first = list(records.stream(DATA / "schafkopf.jsonl.gz"))[1]
    bad = {"game": "schafkopf", "config": first.options, "deal": first.deal, "steps": [[0, [0], 42]] * 2}
    trick = next(records.stream(DATA / "magictrick.jsonl.gz"))
    decks = {"game": "magictrick", "config": trick.options, "deal": dict(trick.deal, decks=5), "steps": []}
    path = tmp_path / "bad.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (bad, {"game": "skyjo"}, decks)))
    for number, words in (
        (0, "bad.jsonl: step 0, action 42, is not legal there"),
        (1, "bad.jsonl: line 2: format must be 1"),
        (2, "bad.jsonl: magictrick: deal decks must be"),
        (3, "--number must be 0..2, the records of"),
        (-1, "--number must be 0..2, the records of"),
    ):
        assert words in refused(["replay", path, "--number", number], capsys)
    with pytest.raises(SystemExit):
        cli.main(["check", str(path)])
    said = capsys.readouterr()
    assert [line.split(":")[0] for line in said.out.splitlines()] == ["line 1", "line 2", "line 3", "0 good, 3 bad"]
    assert "cannot be played again" in said.err


def test_a_truncated_file_is_named_as_such(tmp_path, capsys):
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes((DATA / "schafkopf.jsonl.gz").read_bytes()[:3000])
    assert "cut.jsonl.gz: line " in (said := refused(["replay", path, "--number", 30], capsys))
    assert "the compressed file was cut off here" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["replay", "nowhere.jsonl"], "nowhere.jsonl cannot be read: No such file"),
        (["replay", ROOT], "cannot be read: Is a directory"),
        (["replay", ROOT / "README.md"], "README.md: line 1: not JSON"),
        (["replay", DATA / "skyjo.jsonl.gz", "--number", "99"], "--number must be 0..39"),
        (["bench", "skyjo", "--batch", "0"], "must be at least 1, got 0"),
        (["bench", "skullking", "--players", "9"], "num_players"),
        (["simulate", "skullking", "--option", "players"], "--option must look like NAME=VALUE, got 'players'"),
        (["simulate", "skullking", "--option", "colour=red"], "unknown option 'colour'"),
        (["simulate", "kuhn", "--games", "-1"], "--games must be 0 or more, got -1"),
        (["simulate", "kuhn", "--seed", "-1"], "kuhn: seed must be in 0..4294967295, got -1"),
        (["simulate", "kuhn", "--record", "/nowhere/games.jsonl"], "/nowhere/games.jsonl cannot be written: No such"),
        (["inspect", "kuhn", "--observation", "v9"], "kuhn: --observation must be one of cards, got 'v9'"),
        (["play", "poker"], "invalid choice: 'poker'"),
        ([], "the following arguments are required"),
    ],
    ids=str,
)
def test_bad_arguments_are_a_sentence_and_exit_code_2(arguments, words, capsys):
    assert words in refused(arguments, capsys)
