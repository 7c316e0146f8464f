"""The commands that all games share: replay and bench. Skyjo's own surface is tested in test_skyjo_surface.py."""

import json

import pytest

import jaxgames
from jaxgames import cli
from tests.support import ROOT

DATA = ROOT / "tests" / "data"


def test_replay_tells_a_recorded_game_move_by_move(capsys):
    assert cli.main(["replay", str(DATA / "schafkopf.jsonl.gz"), "--number", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    record = cli._read_record(str(DATA / "schafkopf.jsonl.gz"), 1)
    moves = [line for line in lines if line[:4].strip().isdecimal() and ": " in line]
    assert len(moves) == len(record["steps"])
    assert [int(line.split()[2].rstrip(":")) for line in moves] == [seat for seat, _, _ in record["steps"]]
    assert lines[-1].startswith("Scores: ")


def test_bench_gives_one_line_of_json(capsys):
    assert cli.main(["bench", "magictrick", "--batch", "8", "--steps", "4"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["game"], said["batch"]) == ("magictrick", 8)
    assert said["steps_per_second"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["replay", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["replay", str(ROOT / "README.md")], "record 0 is not JSON"),
        (["replay", str(DATA / "skyjo.jsonl.gz"), "--number", "99"], "--number must be 0..39"),
        (["bench", "skyjo", "--batch", "0"], "must be at least 1, got 0"),
        (["bench", "skullking", "--players", "9"], "num_players"),
    ],
)
def test_bad_arguments_are_a_sentence_and_exit_code_2(arguments, words, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert words in capsys.readouterr().err


def test_a_record_that_breaks_the_rules_is_refused(tmp_path, capsys):
    record = cli._read_record(str(DATA / "schafkopf.jsonl.gz"), 0)
    record["steps"][0][2] = jaxgames.make("schafkopf").num_actions - 1
    (tmp_path / "bad.jsonl").write_text(json.dumps(record) + "\n" + json.dumps({"game": "skyjo"}) + "\n")
    for number, words in ((0, "step 0 of record 0, action 42, is not legal there"), (1, "has no game, config, deal")):
        with pytest.raises(SystemExit):
            cli.main(["replay", str(tmp_path / "bad.jsonl"), "--number", str(number)])
        assert words in capsys.readouterr().err
