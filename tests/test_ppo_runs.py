"""Runs: interrupted and resumed bit for bit, checkpoints that are refused, trainings that stop by themselves."""

import csv
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys

import chex
import jax
import numpy as np
import pytest

import agents
import jaxgames
from agents import checkpoints, networks
from agents.checkpoints import CheckpointError
from tests.skullking_positions import deal
from train import compare, devices, evaluate, ppo_skullking, publish, runs
from train.settings import resumed_config

ROOT = pathlib.Path(__file__).parent.parent
SETTINGS = {
    "total_steps": 4 * 8 * 16,
    "envs": 8,
    "steps": 16,
    "minibatches": 2,
    "epochs": 1,
    "pool": 2,
    "num_players": 2,
    "hand_sizes": (1, 2),
    "widths": (16,),
    "checkpoint_every": 2,
    "evaluate_every": 2,
    "rivals": ("random",),
}
FOUND = {"wins_percent": (25.0, 1.0), "score": (3.0, 0.5), "harry_save_rate": (float("nan"), float("nan"))}


@pytest.fixture(scope="module", autouse=True)
def compile_once(tmp_path_factory):
    """Every run here compiles the same program: keep it."""
    before = {name: getattr(jax.config, name) for name in ("jax_compilation_cache_dir",)}
    jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("compiled")))
    yield
    for name, value in before.items():
        jax.config.update(name, value)


@pytest.fixture
def quick_match(monkeypatch):
    """Evaluations that cost nothing; returns a list of things to do at each of them."""
    todo = []

    def make_match(*args):
        def match(*args):
            if todo:
                todo.pop()()
            return FOUND

        return match

    monkeypatch.setattr(runs, "make_match", make_match)
    return todo


def drive(**settings):
    cfg = ppo_skullking.Config(**settings)
    cfg = resumed_config(cfg) if cfg.resume else cfg
    return runs.drive(cfg, ppo_skullking.make_task)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "make_match", lambda *args: lambda *args: FOUND)
        assert drive(run=str(folder), **SETTINGS) == 0
    return folder


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "copy")


def call(monkeypatch, main, *arguments):
    """Exit code of a script's `main` with these arguments."""
    monkeypatch.setattr("sys.argv", ["script", *map(str, arguments)])
    try:
        return main() or 0
    except SystemExit as stop:
        return stop.code


def arrays(run):
    items, _ = checkpoints.load(checkpoints.latest(run), ("training", "params"), "skullking", 1)
    return items


def log(run):
    with open(run / "metrics.csv", newline="") as file:
        return [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def test_a_run_leaves_config_log_curve_report_and_checkpoint(finished):
    assert json.loads((finished / "config.json").read_text())["envs"] == 8
    assert [row["update"] for row in log(finished)] == ["1", "2", "3", "4"]
    assert (finished / "curve.png").read_bytes()[:4] == b"\x89PNG"
    assert "wins_percent" in (finished / "evaluation.md").read_text()
    assert list((finished / "tensorboard").iterdir())
    assert sorted(path.name for path in (finished / "checkpoints").iterdir()) == ["2", "4"]
    manifest = checkpoints.read_manifest(checkpoints.latest(finished))
    assert (manifest["game"], manifest["version"], manifest["update"]) == ("skullking", 1, 4)
    assert all(len(digest) == 64 for digest in manifest["sha256"].values())


def test_an_interrupted_run_resumes_bit_for_bit(finished, tmp_path, quick_match):
    quick_match.append(lambda: signal.raise_signal(signal.SIGINT))
    assert drive(run=str(tmp_path / "cut"), **SETTINGS) == runs.INTERRUPTED
    assert checkpoints.latest(tmp_path / "cut").name == "2"
    assert drive(resume=str(tmp_path / "cut")) == 0
    jax.tree.map(np.testing.assert_array_equal, arrays(tmp_path / "cut"), arrays(finished))
    assert log(tmp_path / "cut") == log(finished)


def test_a_killed_run_loses_one_interval_at_most(finished, copy, quick_match):
    shutil.rmtree(copy / "checkpoints" / "4")
    (copy / "checkpoints" / ".4.partial").mkdir()  # what a kill while writing leaves
    assert drive(resume=str(copy)) == 0
    jax.tree.map(np.testing.assert_array_equal, arrays(copy), arrays(finished))
    assert log(copy) == log(finished)


KILLED = """
import os, signal, sys
from agents import checkpoints, networks
from tests import test_ppo_runs

def rename(partial, folder):  # everything is written, nothing is in place yet
    if folder.name == "4":
        os.kill(os.getpid(), signal.SIGKILL)
    os.replace(partial, folder)

checkpoints.os = type("os", (), {**vars(os), "rename": staticmethod(rename)})
test_ppo_runs.runs.make_match = lambda *args: lambda *args: test_ppo_runs.FOUND
test_ppo_runs.drive(run=sys.argv[1], **test_ppo_runs.SETTINGS)
"""


def test_kill_9_while_a_checkpoint_is_written_loses_only_what_came_after_the_last(finished, tmp_path, quick_match):
    folder = tmp_path / "killed"
    cache = jax.config.jax_compilation_cache_dir
    environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": cache}
    child = subprocess.run([sys.executable, "-c", KILLED, str(folder)], cwd=ROOT, env=environment)
    assert child.returncode == -signal.SIGKILL
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == [".4.partial", "2"]
    assert drive(resume=str(folder)) == 0
    jax.tree.map(np.testing.assert_array_equal, arrays(folder), arrays(finished))
    assert log(folder) == log(finished)


def train_in_two_processes(*arguments):
    """What each said; both must end well."""
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        address = f"localhost:{taken.getsockname()[1]}"
    shared = [sys.executable, "train/ppo_skullking.py", *arguments, "--coordinator", address, "--processes", "2"]
    started = [
        subprocess.Popen(
            [*shared, "--process", str(i)],
            cwd=ROOT,
            env=os.environ
            | {"PYTHONPATH": str(ROOT), "JAX_COMPILATION_CACHE_DIR": jax.config.jax_compilation_cache_dir},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for i in range(2)
    ]
    said = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    return said


def test_two_processes_share_a_run_that_resumes_bit_for_bit(tmp_path):
    folder, small = tmp_path / "shared", {"total_steps": 2 * 8 * 16, "checkpoint_every": 1}
    numbers = SETTINGS | small | {"evaluation_deals": 2, "final_deals": 2}
    flags = [f"--{name}={value}" for name, value in numbers.items() if not isinstance(value, tuple)]
    flags += ["--hand-sizes", "1", "2", "--widths", "16", "--rivals", "random"]
    said = train_in_two_processes("--run", str(folder), *flags)
    assert ["Curve" in each for each in said] == [True, False]
    whole = arrays(folder), log(folder)
    assert [row["update"] for row in whole[1]] == ["1", "2"]
    shutil.rmtree(folder / "checkpoints" / "2")
    train_in_two_processes("--resume", str(folder))
    jax.tree.map(np.testing.assert_array_equal, arrays(folder), whole[0])
    assert log(folder) == whole[1]


def test_a_checkpoint_is_an_agent(finished):
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(1, 2))
    for spec in (f"ppo:{finished}", f"ppo:{finished}/checkpoints/2,greedy"):
        state = jax.jit(env.init)(jax.random.key(0))
        action = jax.jit(agents.make(spec, env))(jax.random.key(1), state, state.current_player)
        assert env.is_legal(state, action)


def test_a_run_starts_from_the_parameters_of_another(finished, tmp_path):
    def begin(**changes):
        cfg = ppo_skullking.Config(run=str(tmp_path / "new"), start_from=str(finished), shards=1, **SETTINGS | changes)
        task = ppo_skullking.make_task(cfg)
        return runs.restored_or_new(cfg, task, runs.make_runs(cfg, task), devices.make_mesh(1))

    learner, params = begin().learner, arrays(finished)["params"]
    jax.tree.map(np.testing.assert_array_equal, jax.device_get(learner.params), params)
    assert jax.tree.leaves(learner.pool)[0].shape[0] == SETTINGS["pool"]
    assert int(learner.updates) == 0
    with pytest.raises(ValueError, match="other widths or heads"):
        begin(widths=(8,))


def test_a_published_network_is_an_agent_by_name(finished, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(networks, "WEIGHTS", tmp_path)
    monkeypatch.setattr(publish, "WEIGHTS", tmp_path)
    assert call(monkeypatch, publish.main, finished, "small") == 0
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(1, 2))
    by_name, by_run = networks.load_network("small", env), networks.load_network(str(finished), env)
    jax.tree.map(np.testing.assert_array_equal, by_name[1], by_run[1])
    assert by_name[0] == by_run[0]
    assert call(monkeypatch, publish.main, finished, "small") == 2
    assert "is not overwritten" in capsys.readouterr().err


def test_the_trained_player_that_comes_along_loads_by_name_and_bids_by_its_cards():
    env = jaxgames.make("skullking", hand_sizes=(5,))
    others = ["P5 P6 P7 P8 P9", "M5 M6 M7 M8 M9", "C5 C6 C7 C8 C9"]
    act, bids = jax.jit(agents.make("ppo:skullking,greedy", env)), []
    for hand in ("SkullKing Rosie R14 R13 R12", "Escape Escape2 P2 M2 C2"):
        state = env.init(jax.random.key(0), deal=deal([hand, *others]))
        bids.append(int(act(jax.random.key(0), state, 0)))
    assert bids[0] >= 3
    assert bids[1] == 0


def test_a_truncated_checkpoint_is_refused_and_left_alone(copy, capsys, monkeypatch):
    victim = max((p for p in (copy / "checkpoints" / "4").rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    victim.write_bytes(victim.read_bytes()[:-1])
    before = sorted((p, p.stat().st_mtime_ns) for p in copy.rglob("*"))
    assert call(monkeypatch, ppo_skullking.main, "--resume", copy) == runs.BAD_INPUT
    assert "is damaged" in capsys.readouterr().err
    assert sorted((p, p.stat().st_mtime_ns) for p in copy.rglob("*")) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"game": "skyjo"}, "is of skyjo version 1, not of skullking version 1"),
        ({"version": 0}, "is of skullking version 0"),
        ({"format": 99}, "not in the format"),
        ({"config": {}}, "with other settings"),
    ],
)
def test_a_foreign_checkpoint_is_refused(copy, change, message):
    path = copy / "checkpoints" / "4" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(CheckpointError, match=message):
        drive(resume=str(copy))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--run", "whole"), "exists already and is not overwritten"),
        (("--resume", "nothing"), "is not the configuration of a run"),
        (("--resume", "whole", "--envs", 64), "give --resume alone"),
        (("--minibatches", 7), "must divide by minibatches"),
        (("--reward", "points"), "reward must be one of"),
        (("--opponents", "wizard=1"), "unknown agent 'wizard'"),
        (("--rivals", "wizard"), "unknown agent 'wizard'"),
        (("--start-from", "nothing"), "nothing"),
    ],
)
def test_what_is_wrong_is_said_with_exit_code_2_and_nothing_is_written(
    finished, arguments, message, capsys, monkeypatch
):
    monkeypatch.chdir(finished.parent)
    before = sorted((path, path.stat().st_mtime_ns) for path in finished.parent.rglob("*"))
    assert call(monkeypatch, ppo_skullking.main, *arguments) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert sorted((path, path.stat().st_mtime_ns) for path in finished.parent.rglob("*")) == before


def test_a_training_that_goes_wrong_keeps_the_last_good_checkpoint(tmp_path, quick_match, monkeypatch, capsys):
    as_rows = runs.as_rows

    def spoilt(measured, done, cfg):
        rows = as_rows(measured, done, cfg)
        rows[-1]["loss"] = float("nan") if done == 2 else rows[-1]["loss"]
        return rows

    monkeypatch.setattr(runs, "as_rows", spoilt)
    assert drive(run=str(tmp_path / "bad"), **SETTINGS) == runs.DIVERGED
    said = " ".join(capsys.readouterr().out.split())
    assert "update 3 gave a loss that is not a number" in said
    assert [path.name for path in (tmp_path / "bad" / "checkpoints").iterdir()] == ["2"]


def test_a_diverging_loss_is_trouble():
    assert not runs.find_trouble([{"update": 1, "loss": 0.5}])
    assert "diverges" in runs.find_trouble([{"update": 1, "loss": -1e9}])
    assert "entropy" in runs.find_trouble([{"update": 1, "loss": 0.1, "entropy": float("inf")}])


def test_pack_refuses_other_shapes():
    packed = checkpoints.pack({"a": np.zeros(3, np.int8), "key": jax.random.key(1)})
    same = checkpoints.unpack(packed, {"a": np.zeros(3, np.int8), "key": jax.random.key(0)})
    assert jax.random.key_data(same["key"]).tolist() == jax.random.key_data(jax.random.key(1)).tolist()
    with pytest.raises(CheckpointError, match="where"):
        checkpoints.unpack(packed, {"a": np.zeros(4, np.int8), "key": jax.random.key(0)})
    with pytest.raises(CheckpointError, match="other parts"):
        checkpoints.unpack(packed, {"a": np.zeros(3, np.int8)})


def changed(run, folder, wins, **settings):
    """A copy of a run with other settings and another result."""
    shutil.copytree(run, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | settings))
    report = folder / "evaluation.md"
    report.write_text(report.read_text().replace("25.0", str(wins)))
    return folder


def test_runs_are_compared_in_one_picture_and_one_table_seeds_together(finished, tmp_path, monkeypatch, capsys):
    seeds = [changed(finished, tmp_path / f"plain_{i}", 25.0 + i, seed=i) for i in range(3)]
    other = changed(finished, tmp_path / "fast", 50.0, learning_rate=1.0)
    assert call(monkeypatch, compare.main, *seeds, other, "--out", tmp_path / "both") == 0
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("| run, one against three `random` | wins_percent | score |")
    assert [row.split("|")[1:3] for row in rows] == [
        [" plain, 3 seeds ", " 26.0 ± 0.6 "],  # 25, 26, 27: standard error 1 / sqrt(3)
        [" fast ", " 50.0 ± 1.0 "],
    ]
    assert (tmp_path / "both.png").read_bytes()[:4] == b"\x89PNG"
    assert call(monkeypatch, compare.main, tmp_path) == 2
    assert "not run folders" in capsys.readouterr().err


def test_several_seeds_are_trained_at_once_each_as_a_run_of_its_own(finished, tmp_path, quick_match):
    assert drive(run=str(tmp_path / "many"), seeds=2, **SETTINGS) == 0
    first, second = (tmp_path / "many" / name for name in ("seed0", "seed1"))
    chex.assert_trees_all_close(arrays(first)["params"], arrays(finished)["params"], atol=1e-3)
    assert [row["update"] for row in log(second)] == ["1", "2", "3", "4"]
    assert log(first) != log(second)
    whole = arrays(second)["params"]
    shutil.rmtree(second / "checkpoints" / "4")
    assert drive(resume=str(second)) == 0
    chex.assert_trees_all_close(arrays(second)["params"], whole, atol=1e-3)
    assert checkpoints.latest(second).name == "4"


def test_agents_of_any_game_are_evaluated_from_the_command_line(tmp_path, monkeypatch, capsys):
    table = ("rule", "--against", "random", "--game", "schafkopf", "--option", "contra=False", "--deals", 3)
    table += ("--out", tmp_path / "table.md")
    assert call(monkeypatch, evaluate.main, *table) == 0
    said = capsys.readouterr().out
    assert said == (tmp_path / "table.md").read_text()
    assert said.splitlines()[0] == "| one `rule` against | wins_percent | score | others_score |"
    for wrong, message in [
        (("wizard",), "unknown agent 'wizard'"),
        (("rule", "--deals", 1), "deals must be at least 2"),
        (("rule", "--num-players", 9), "num_players"),
        (("rule", "--option", "rosie=7"), "rosie must be True or False"),
        (("rule", "--option", "rosie"), "--option must look like NAME=VALUE"),
        (("ppo:nowhere",), "nowhere"),
    ]:
        assert call(monkeypatch, evaluate.main, *wrong) == 2, wrong
        assert message in " ".join(capsys.readouterr().err.split())
