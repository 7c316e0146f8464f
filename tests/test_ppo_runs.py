"""Runs: interrupted and resumed bit for bit, checkpoints that are refused, trainings that stop by themselves."""

import csv
import dataclasses
import errno
import json
import logging
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
from types import SimpleNamespace

import chex
import jax
import matplotlib
import numpy as np
import pytest
import tyro
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c

import agents
import jaxgames
from agents import checkpoints, networks
from agents.checkpoints import CheckpointError
from jaxgames.options import UserError
from jaxgames.skullking import SkullKingEnv
from tests.skullking_positions import deal
from tests.support import held_by_another
from train import cards, compare, devices, evaluate, folders, locks, make_games, ppo_skullking, publish, runs, scripts
from train.make_games import Games
from train.protocols import protocol_of
from train.scripts import remedy
from train.settings import PPO, as_json, resumed_config

ROOT = pathlib.Path(__file__).parent.parent
SETTINGS = {
    "total_steps": 4 * 8 * 16,
    "envs": 8,
    "steps": 16,
    "minibatches": 2,
    "epochs": 1,
    "past_selves": 2,
    "num_players": 2,
    "hand_sizes": (1, 2),
    "widths": (16,),
    "checkpoint_every": 2,
    "evaluate_every": 2,
    "rivals": ("random",),
}
FOUND = {"wins_percent": (25.0, 1.0), "score": (3.0, 0.5), "harry_save_rate": (float("nan"), float("nan"))}


@pytest.fixture(scope="module", autouse=True)
def compile_once():
    """Runs here compile the same few programs: keep them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "compile_call", remembering(runs.compile_call))
        yield


def remembering(compile_call):
    """`compile_call`, once for all runs with the same settings."""
    compiled = {}

    def compile_once(cfg, *args):
        what = json.dumps(as_json(cfg) | {"seeds": cfg.seeds, "checkpoint_every": 0})
        if what not in compiled:
            compiled[what] = compile_call(cfg, *args)
        return compiled[what]

    return compile_once


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
    items, _ = checkpoints.load(checkpoints.latest(run), ("training", "params"), "skullking", SkullKingEnv.version)
    return items


def same(run, other):
    """Both runs ended with the same arrays and the same log, bit for bit."""
    jax.tree.map(np.testing.assert_array_equal, arrays(run), arrays(other))
    assert log(run) == log(other)


def events(run):
    """What TensorBoard reads."""
    (path,) = (run / "tensorboard").iterdir()
    data, found = path.read_bytes(), []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        for part, end in ((data[:8], 12), (data[12 : 12 + size], 16 + size)):
            assert data[end - 4 : end] == struct.pack("<I", masked_crc32c(part))
        found.append(Event.FromString(data[12 : 12 + size]))
        data = data[16 + size :]
    return found


def said(captured):
    """What was printed, without line breaks."""
    return " ".join((captured.out + captured.err).split())


def log(run):
    with open(run / "metrics.csv", newline="") as file:
        return [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def test_a_run_leaves_config_log_curve_report_and_checkpoint(finished):
    assert json.loads((finished / "config.json").read_text())["envs"] == 8
    assert [row["update"] for row in log(finished)] == ["1", "2", "3", "4"]
    assert (finished / "curve.png").read_bytes()[:4] == b"\x89PNG"
    assert "wins_percent" in (finished / "evaluation.md").read_text()
    assert [event.step for event in events(finished)] == [0, 128, 256, 384, 512]
    last = {value.tag: value.simple_value for value in events(finished)[-1].summary.value}
    assert last["entropy"] == pytest.approx(float(log(finished)[-1]["entropy"]))
    assert sorted(path.name for path in (finished / "checkpoints").iterdir()) == ["2", "4"]
    manifest = checkpoints.read_manifest(checkpoints.latest(finished))
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(1, 2))
    assert (manifest["game"], manifest["version"], manifest["update"]) == (env.id, env.version, 4)
    assert manifest["options"] == json.loads(json.dumps(env.options))
    assert manifest["observation"] == env.observation_versions[0]
    assert manifest["reward_scale"] == 1.0  # search reads values in it
    assert manifest["network"]["kind"] == "mlp"
    assert manifest["network"]["fields"]["widths"] == [16]
    assert all(len(digest) == 64 for digest in manifest["sha256"].values())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, runs.INTERRUPTED), (signal.SIGTERM, runs.TERMINATED)])
def test_a_run_that_is_asked_to_stop_saves_and_resumes_bit_for_bit(
    finished, tmp_path, quick_match, capsys, number, code
):
    before = signal.getsignal(number)
    quick_match.append(lambda: signal.raise_signal(number))
    folder = tmp_path / "cut"
    assert drive(run=str(folder), **SETTINGS | {"checkpoint_every": 4}) == code
    assert f"Stopped by {number.name} after 2 updates. Continue with --resume {folder}" in said(capsys.readouterr())
    assert signal.getsignal(number) is before
    assert [path.name for path in (folder / "checkpoints").iterdir()] == ["2"]
    if number == signal.SIGINT:
        assert drive(resume=str(folder)) == 0
        same(folder, finished)


def test_a_second_ctrl_c_does_not_wait():
    with runs.requests() as asked:
        signal.raise_signal(signal.SIGINT)
        assert asked.signal == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_run_stopped_before_its_first_checkpoint_is_resumed_from_the_beginning(finished, copy, quick_match, capsys):
    shutil.rmtree(copy / "checkpoints")
    (copy / "metrics.csv").unlink()
    assert drive(resume=str(copy)) == 0
    assert "has no checkpoint yet: the run starts from its beginning" in said(capsys.readouterr())
    same(copy, finished)


def test_a_damaged_checkpoint_is_passed_over_and_set_aside(finished, copy, quick_match, capsys):
    beside = copy / "checkpoints" / "20-good"  # somebody's copy
    shutil.copytree(copy / "checkpoints" / "2", beside)
    truncate(copy / "checkpoints" / "4")
    assert drive(resume=str(copy)) == 0
    assert "checkpoints/4 is damaged: its files do not match its manifest. Looking for" in said(capsys.readouterr())
    same(copy, finished)
    assert sorted(path.name for path in (copy / "checkpoints").iterdir()) == ["2", "20-good", "4", "4-damaged"]


def test_a_run_without_a_whole_checkpoint_is_refused_and_left_alone(copy, quick_match):
    for name in ("2", "4"):
        truncate(copy / "checkpoints" / name)
    before = listing(copy)
    with pytest.raises(CheckpointError, match="is whole; start a new run"):
        drive(resume=str(copy))
    assert listing(copy) == before


def truncate(checkpoint):
    victim = max((path for path in checkpoint.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    victim.write_bytes(victim.read_bytes()[:-1])


def listing(folder):
    return sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*"))


class Full:
    """Orbax where the disk is full: it says so in words, in a ValueError."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def save(self, folder, item):
        folder.mkdir(parents=True)
        logging.getLogger("absl").error("a traceback of many lines")
        raise ValueError("RESOURCE_EXHAUSTED: Error writing: No space left on device [os_error_code='28']")


def test_a_run_goes_on_in_one_process_at_a_time(copy, quick_match):
    before = listing(copy)
    with held_by_another(copy / "config.json"), pytest.raises(UserError, match="another process is at work"):
        drive(resume=str(copy))
    assert listing(copy) == before
    assert drive(resume=str(copy)) == 0  # the other one was killed
    assert drive(resume=str(copy)) == 0  # and this one has ended


def test_a_run_that_has_just_begun_is_not_resumed_elsewhere(tmp_path, quick_match):
    folder, refused = tmp_path / "new", []

    def resume():
        with pytest.raises(UserError, match="another process is at work") as refusal:
            drive(resume=str(folder))
        refused.append(refusal)

    quick_match.append(resume)
    assert drive(run=str(folder), **SETTINGS) == 0
    assert refused


def test_where_there_are_no_locks_nobody_is_held_up(tmp_path, monkeypatch):
    def no_locks(*args):
        raise OSError(errno.ENOLCK, "No locks available")

    path = tmp_path / "file"
    with locks.alone(path, "missing"):
        assert not path.exists()
    path.touch()
    for patched in ({"flock": no_locks, "LOCK_EX": 2, "LOCK_NB": 4}, None):
        monkeypatch.setattr(locks, "fcntl", patched and SimpleNamespace(**patched))
        with locks.alone(path, "first"), locks.alone(path, "second"):
            pass


def test_a_folder_that_went_away_is_no_full_disk():
    assert remedy(FileNotFoundError(errno.ENOENT, "No such file or directory")).startswith("See that this place")
    assert remedy(OSError(errno.EDQUOT, "Disk quota exceeded")) == "Make room on the disk"


@pytest.mark.parametrize("what", ["checkpoint", "log"])
def test_a_full_disk_ends_a_run_with_a_sentence_and_what_was_saved_is_whole(
    finished, copy, quick_match, monkeypatch, capsys, caplog, what
):
    def no_room(run):
        raise OSError(errno.ENOSPC, "No space left on device")

    shutil.rmtree(copy / "checkpoints" / "4")
    with monkeypatch.context() as patch:
        if what == "checkpoint":
            orbax, todo = checkpoints._orbax, []
            patch.setattr(checkpoints, "_orbax", lambda: Full() if todo else orbax())
            quick_match.append(lambda: todo.append("full"))
        else:
            quick_match.append(lambda: patch.setattr(folders.Run, "write_log", no_room))
        assert drive(resume=str(copy)) == runs.STOPPED
    text = said(capsys.readouterr())
    assert "No space left on device" in text
    assert not caplog.records
    assert f"Make room on the disk. Continue with --resume {copy}" in text
    assert [path.name for path in (copy / "checkpoints").iterdir()] == ["2"]
    if what == "log":
        assert drive(resume=str(copy)) == 0
        same(copy, finished)


def test_a_report_is_there_completely_or_not_at_all(tmp_path, monkeypatch):
    """It says that a run has ended."""

    def cut_short(path, text):
        path.write_bytes(text[:3].encode())
        no_room()

    path = tmp_path / "evaluation.md"
    for before in ([], [path]):
        with monkeypatch.context() as patch:
            patch.setattr(pathlib.Path, "write_text", cut_short)
            with pytest.raises(OSError, match="No space"):
                folders.write_whole(path, "everything")
        assert list(tmp_path.iterdir()) == before
        folders.write_whole(path, "everything")
        assert path.read_text() == "everything"


@pytest.mark.parametrize(
    ("trouble", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "Stopped"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "Make room on the disk"),
        (FileNotFoundError(errno.ENOENT, "No such file", "there"), 1, "See that this place is there"),
        (UserError("that is wrong"), 2, "that is wrong"),
    ],
    ids=str,
)
def test_every_script_ends_with_a_sentence(monkeypatch, capsys, trouble, code, message):
    def work(cfg):
        raise trouble

    for main in (
        lambda: scripts.run(compare.Comparison, work, ""),
        lambda: runs.main(ppo_skullking.Config, work, ""),
    ):
        assert call(monkeypatch, main) == code
    assert message in said(capsys.readouterr())


def test_a_bug_stays_a_traceback(monkeypatch, tmp_path):
    def broken(cfg):
        raise ValueError("deep inside")

    monkeypatch.setattr(ppo_skullking, "make_task", broken)
    with pytest.raises(ValueError, match="deep inside"):
        call(monkeypatch, ppo_skullking.main, "--run", tmp_path / "new")


def begun(monkeypatch, folder, **changes):
    """A run that was prepared and made its folder, and the job of its resumption on another day."""
    cfg = ppo_skullking.Config(run=str(folder), **SETTINGS | changes)
    job = runs.prepare(cfg, ppo_skullking.make_task, print)
    runs.open_folders(job)

    def resume():
        cfg = resumed_config(ppo_skullking.Config(resume=str(folder)))
        return runs.prepare(cfg, ppo_skullking.make_task, print)

    return job, resume


def test_a_resumed_run_meets_the_same_networks(copy, tmp_path, monkeypatch):
    four = copy / "checkpoints" / "4"
    changes = {"opponents": ("self=1", f"ppo:{copy},greedy=1"), "rivals": (f"ppo:network={copy}",)}
    job, resume = begun(monkeypatch, tmp_path / "new", start_from=str(copy), **changes)
    assert job.task.mixture.kinds == ("self", f"ppo:{four},greedy")
    shutil.copytree(four, copy / "checkpoints" / "5")  # the other run has gone on since
    again = resume()
    assert again.task.mixture.kinds == job.task.mixture.kinds
    assert [pin.network for pin in again.pins.values()] == [str(four)]
    jax.tree.map(np.testing.assert_array_equal, again.start, job.start)
    shutil.rmtree(four)
    with pytest.raises(UserError, match="which is gone"):
        resume()
    shutil.copytree(copy / "checkpoints" / "2", four)
    with pytest.raises(UserError, match="is another one than the run was begun with"):
        resume()


def test_the_memory_of_a_run_is_shared_out_among_its_shards():
    cfg = PPO(envs=8, steps=4, minibatches=2, past_selves=2, replay=64)
    assert devices.one_shard(cfg, 2).replay == 32
    with pytest.raises(UserError, match="replay = 66 must divide by the number of shards, 4"):
        devices.one_shard(dataclasses.replace(cfg, replay=66), 4)


def test_pictures_leave_the_drawing_of_a_notebook_alone(finished, tmp_path):
    before = matplotlib.get_backend()
    try:
        matplotlib.use("svg")  # stands for a notebook's own
        rows = folders.read_log(finished / "metrics.csv")
        folders.draw_curve(rows, protocol_of(jaxgames.make("skullking")), "rule:hard", tmp_path / "curve.png")
        compare.draw({"a": [(1.0, 50.0, 1.0)], "none": []}, "wins_percent", tmp_path / "one.png")
        assert matplotlib.get_backend() == "svg"
    finally:
        matplotlib.use(before)


def test_a_killed_run_loses_one_interval_at_most(finished, copy, quick_match):
    shutil.rmtree(copy / "checkpoints" / "4")
    (copy / "checkpoints" / ".4.partial").mkdir()  # what a kill while writing leaves
    assert drive(resume=str(copy)) == 0
    same(copy, finished)


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
    child = subprocess.run([sys.executable, "-c", KILLED, str(folder)], cwd=ROOT)
    assert child.returncode == -signal.SIGKILL
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == [".4.partial", "2"]
    assert drive(resume=str(folder)) == 0
    jax.tree.map(np.testing.assert_array_equal, arrays(folder), arrays(finished))
    assert log(folder) == log(finished)


def train_as_one_of_two(address, process, folder):
    """In a process of its own: a whole run; one in which somebody presses Ctrl-C in the second process; its resumption;
    and one that only the first process finds wrong."""
    runs.make_match = lambda *args: lambda *args: FOUND
    runs.compile_call = remembering(runs.compile_call)
    small = SETTINGS | {"total_steps": 2 * 8 * 16}
    place = {"processes": 2, "process": process}
    codes = [drive(run=f"{folder}/whole", coordinator=address, **place, **small)]
    as_rows = runs.as_rows

    def press(measured, done, cfg):
        if process == 1 and done == 0:
            signal.raise_signal(signal.SIGINT)
        return as_rows(measured, done, cfg)

    runs.as_rows = press
    codes.append(drive(run=f"{folder}/cut", **place, **small))
    runs.as_rows = as_rows
    codes.append(drive(resume=f"{folder}/cut", **place))
    try:
        drive(run=f"{folder}/{'whole' if process == 0 else 'other'}", **place, **small)
    except UserError as error:
        codes.append(str(error))
    print("codes", json.dumps(codes))


def test_two_processes_share_a_run_halt_together_and_resume_bit_for_bit(tmp_path):
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        address = f"localhost:{taken.getsockname()[1]}"
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"from tests import test_ppo_runs as t; t.train_as_one_of_two{address, i, str(tmp_path)}",
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for i in range(2)
    ]
    try:
        output = [process.communicate(timeout=500)[0] for process in started]
    finally:
        for process in started:
            process.kill()  # one that waits for the other for ever
    assert [process.returncode for process in started] == [0, 0], output
    codes = [json.loads(text.rpartition("codes ")[2]) for text in output]
    assert [each[:3] for each in codes] == [[0, runs.INTERRUPTED, 0]] * 2
    assert "exists already and is not overwritten" in codes[0][3]
    assert "another process of this run refused" in codes[1][3]
    assert ["Stopped by SIGINT after 1 updates" in " ".join(text.split()) for text in output] == [True, False]
    same(tmp_path / "cut", tmp_path / "whole")


def test_a_checkpoint_is_an_agent(finished):
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(1, 2))
    state = jax.jit(env.init)(jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 64)
    model, params = networks.load(str(finished), env)
    consider = jax.jit(lambda state: networks.consider(model, params, state, state.current_player)[0].mode())
    likeliest = int(consider(state))
    for style, choices in (("", {0, 1}), (",greedy", {likeliest})):  # it has learned hardly anything: both bids come
        act = jax.jit(jax.vmap(agents.make(f"ppo:{finished}{style}", env), (0, None, None)))
        assert set(act(keys, state, state.current_player).tolist()) == choices
    older = agents.make(f"ppo:{finished}/checkpoints/2,greedy", env)
    assert env.is_legal(state, jax.jit(older)(jax.random.key(1), state, state.current_player))


def test_a_run_starts_from_the_parameters_of_another(finished, tmp_path):
    def begin(**changes):
        cfg = ppo_skullking.Config(run=str(tmp_path / "new"), start_from=str(finished), shards=1, **SETTINGS | changes)
        return runs.restored_or_new(runs.prepare(cfg, ppo_skullking.make_task, print))

    learner, params = begin().learner, arrays(finished)["params"]
    jax.tree.map(np.testing.assert_array_equal, jax.device_get(learner.params), params)
    assert jax.tree.leaves(learner.past.params)[0].shape[0] == SETTINGS["past_selves"]
    assert int(learner.updates) == 0
    with pytest.raises(ValueError, match="other inputs, widths or heads"):
        begin(widths=(8,))


def test_a_published_network_is_an_agent_by_name_with_a_card(finished, tmp_path, monkeypatch, capsys):
    """The card knows the command that makes the run, its length and its figures; it is no part of what is hashed."""
    monkeypatch.setattr(checkpoints, "WEIGHTS", tmp_path)
    monkeypatch.setattr(cards, "versus", lambda *args: FOUND)
    assert agents.published() == ()
    assert call(monkeypatch, publish.main, finished, "small", "--against", "random", "--deals", "10") == 0
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(1, 2))
    by_name, by_run = networks.load("small", env), networks.load(str(finished), env)
    jax.tree.map(np.testing.assert_array_equal, by_name[1], by_run[1])
    assert by_name[0] == by_run[0]

    assert agents.published() == agents.published("skullking") == ("small",)
    assert agents.published("skyjo") == ()
    greedy, sampled = (agents.strength(f"ppo:small{style}") for style in (",greedy", ""))
    assert greedy == ("ppo:small,greedy", "wins_percent", 25.0, 1.0, "random", "rotations", 20)
    assert sampled.agent == "ppo:small"
    assert str(sampled) == "wins 25.0 ± 1.0 % against random"
    assert agents.strength("worlds:small,4") == greedy  # nothing nearer is known
    assert agents.strength("ppo:large") is agents.strength("random") is None
    card = agents.cards.card("small")
    (run,) = card["runs"]
    assert run["decisions"] == SETTINGS["total_steps"]
    assert (card["sha256"], card["options"]["num_players"]) == (checkpoints.identity(tmp_path / "small"), 2)
    _, script, *arguments = run["command"].split()
    assert script == "train/ppo_skullking.py"
    again = tyro.cli(ppo_skullking.Config, args=arguments)
    assert as_json(again) == json.loads((finished / "config.json").read_text())
    text = (tmp_path / "small" / "card.md").read_text()
    assert "| `ppo:small` | `random` | rotations | 20 | wins_percent | 25.00 ± 1.00 |" in text
    assert run["command"] in text
    assert (tmp_path / "small" / "curve.png").stat().st_size < 60_000

    assert call(monkeypatch, publish.main, finished, "small") == 2
    assert "is not overwritten" in capsys.readouterr().err
    assert call(monkeypatch, publish.main, finished, "small", "--replace", "--deals", "0") == 0
    assert agents.cards.card("small")["figures"] == []


def no_room(*args):
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupted(*args):
    signal.raise_signal(signal.SIGTERM)


@pytest.fixture
def weights(finished, tmp_path, monkeypatch):
    """A folder of published networks with one in it, `small`."""
    folder = tmp_path / "weights"
    monkeypatch.setattr(checkpoints, "WEIGHTS", folder)
    monkeypatch.setattr(cards, "versus", lambda *args: FOUND)
    publish.publish(publish.Publication(f"{finished}/checkpoints/2", "small", deals=0))
    return folder


@pytest.mark.parametrize("name", ["small", "other"])
@pytest.mark.parametrize(
    ("module", "function", "fails", "code", "message"),
    [
        (checkpoints, "_write", no_room, 1, "No space left on device: "),
        (cards, "versus", no_room, 1, "No space left on device. "),
        (cards, "write", no_room, 1, "Make room on the disk"),
        (cards, "draw", interrupted, runs.TERMINATED, "Stopped; "),
    ],
)
def test_a_publication_that_fails_leaves_everything_as_it_was(
    finished, weights, monkeypatch, capsys, name, module, function, fails, code, message
):
    before = listing(weights)
    monkeypatch.setattr(module, function, fails)
    assert call(monkeypatch, publish.main, finished, name, "--replace", "--against", "random") == code
    assert f"{name} is what it was" in (text := said(capsys.readouterr()))
    assert message.strip(": ") in text
    assert [each for each in listing(weights) if each[0] != weights] == [each for each in before if each[0] != weights]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--against", "wizard"), "unknown agent 'wizard'"),
        (("--against", "ppo:nowhere"), "there is no checkpoint at nowhere"),
        (("--measure", "sides"), "skullking has rotations, got 'sides'"),
        (("--styles", "bold"), "styles must be greedy or sampled, got bold"),
        (("--deals", 1), "deals must be 0 for none, or at least 2"),
    ],
)
def test_a_wrong_measurement_is_refused_before_anything_is_written(
    finished, weights, monkeypatch, capsys, arguments, message
):
    before = listing(weights)
    assert call(monkeypatch, publish.main, finished, "small", "--replace", *arguments) == 2
    assert message in said(capsys.readouterr())
    assert listing(weights) == before


@pytest.mark.parametrize("name", ["../small", ".small", "a/b", "a,b", "a=b", ""])
def test_a_name_that_no_agent_can_be_asked_for_is_refused(finished, weights, monkeypatch, capsys, name):
    assert call(monkeypatch, publish.main, finished, name) == 2
    assert "name must be letters, digits, - and _ alone" in said(capsys.readouterr())


def test_a_network_whose_successor_was_killed_is_still_there(finished, weights, monkeypatch):
    """Between the two renames, and while the new one was written; the next publication clears both away."""
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(1, 2))
    old, card = networks.load("small", env)[1], agents.cards.card("small")
    (weights / "small").rename(checkpoints.aside_of(weights / "small"))
    (weights / ".small.new").mkdir()
    assert agents.published() == ("small",)
    assert agents.cards.card("small") == card
    jax.tree.map(np.testing.assert_array_equal, networks.load("small", env)[1], old)
    with pytest.raises(UserError, match="is not overwritten"):
        publish.publish(publish.Publication(str(finished), "small"))
    publish.publish(publish.Publication(str(finished), "small", against=("random", "ppo:small"), replace=True))
    assert [path.name for path in weights.iterdir()] == ["small"]
    figures = agents.cards.card("small")["figures"]
    assert {(each["agent"], each["against"]) for each in figures} == {
        (agent, rival) for agent in ("ppo:small", "ppo:small,greedy") for rival in ("random", "ppo:small")
    }


def test_a_card_tells_of_the_games_and_networks_that_a_run_began_with(finished, tmp_path, monkeypatch):
    """First the games that were made and imitated, then the run that started from what had learned them; and a run
    that started from a published network goes on with the story on its card."""
    games, study, later = tmp_path / "made.jsonl", tmp_path / "study", tmp_path / "later"
    options = ("num_players=2", "hand_sizes=(1,)")
    assert make_games.make(Games("skullking", ("random",), str(games), games=12, option=options, batch=6, seed=3)) == 0
    settings = {"games": str(games), "network": "mlp", "field": ["widths=(8,)"], "epochs": 2}
    shutil.copytree(finished, later)
    study.mkdir()
    (study / "config.json").write_text(json.dumps(settings))
    (study / "metrics.csv").write_text("update,steps,loss\n1,1,0.5\n")
    config = json.loads((later / "config.json").read_text())
    (later / "config.json").write_text(json.dumps(config | {"start_from": str(study)}))
    imitation, training = cards.history(later)
    made, studied = imitation["command"].splitlines()
    assert made == (
        "python train/make_games.py skullking random --games 12 --out games/made.jsonl --batch 6 --seed 3 "
        "--option num_players=2 hand_sizes=[1]"
    )
    assert studied == (
        "python train/supervised.py games/made.jsonl --run runs/study --network mlp --field widths=(8,) --epochs 2"
    )
    assert (imitation["decisions"], training["decisions"]) == (0, SETTINGS["total_steps"])

    monkeypatch.setattr(checkpoints, "WEIGHTS", tmp_path)
    (tmp_path / "older").mkdir()
    (tmp_path / "older" / "card.json").write_text(json.dumps({"runs": [imitation, training]}))
    (later / "config.json").write_text(json.dumps(config | {"start_from": "older"}))
    assert cards.history(later)[:2] == [imitation, training]
    assert len(cards.history(later)) == 3


def test_the_trained_player_that_comes_along_loads_by_name_and_bids_by_its_cards():
    env = jaxgames.make("skullking", hand_sizes=(5,))
    others = ["P5 P6 P7 P8 P9", "M5 M6 M7 M8 M9", "C5 C6 C7 C8 C9"]
    act, bids = jax.jit(agents.make("ppo:skullking,greedy", env)), []
    for hand in ("SkullKing Rosie R14 R13 R12", "Escape Escape2 P2 M2 C2"):
        state = env.init(jax.random.key(0), deal=deal([hand, *others]))
        bids.append(int(act(jax.random.key(0), state, 0)))
    assert bids[0] >= 3
    assert bids[1] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"game": "skyjo"}, "is of skyjo version"),
        ({"version": 0}, "is of skullking version 0"),
        ({"format": 99}, "not in a format that this version reads"),
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
        (
            ("--opponents", "ppo=1"),
            "'ppo' has other arguments (missing a required argument: 'network'); write ppo:<net",
        ),
        (("--opponents", "rule:hard,seed,3=1"), "write rule:level=hard,abilities=seed"),
        (("--opponents", "rule:level=wild=1"), "level must be one of"),
        (("--hand-sizes", "11"), "hand_sizes must be"),
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


LOG = "update,steps,loss,games\n1,128,0.5,3\n2,256,0.25,\n3,384,0.125,4\n"


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (LOG.replace("0.25", "0.2\0"), "line 3 of"),
        (LOG.replace("256", "abc"), "line 3 of"),
        (LOG.replace("256", "inf"), "line 3 of"),
        (LOG.replace("0.25", "nan"), "line 3 of"),
        (LOG.replace("\n2,", "\n2.5,"), "line 3 of"),
        (LOG.replace("0.25,", "0.25,1,2,3"), "line 3 of"),
        (LOG.replace("256,0.25,", ""), "line 3 of"),
        (LOG.replace("0.25", "0" * 200_000), "line 2 of"),
        (LOG.replace("update", "number"), "there are no columns update and steps"),
        ("\0" * 50, "there are no columns update and steps"),
        (b"\xff\xfe", "line 1 of"),
        (None, "line 1 of"),
    ],
    ids=str,
)
def test_a_log_that_is_spoilt_is_refused_by_its_line(tmp_path, spoilt, message):
    path = tmp_path / "metrics.csv"
    if spoilt is None:
        path.mkdir()
    else:
        path.write_bytes(spoilt if isinstance(spoilt, bytes) else spoilt.encode())
    with pytest.raises(UserError, match=r"is no row of a log .*put the file back, or take it away") as refused:
        folders.read_log(path, 2)
    assert message in str(refused.value)


def test_a_log_that_is_spoilt_behind_the_newest_checkpoint_is_read_up_to_there(tmp_path):
    path = tmp_path / "metrics.csv"
    assert folders.read_log(path) == []
    path.touch()
    assert folders.read_log(path) == []
    path.write_text(LOG + "4,512,\0\0")
    assert [row["update"] for row in folders.read_log(path, 3)] == [1, 2, 3]
    assert folders.read_log(path, 1) == [{"update": 1, "steps": 128, "loss": 0.5, "games": 3}]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        '{"format": ' + "9" * 5000 + "}",
        {"options": None},
        {"observation": 3},
        {"network": []},
        {"sha256": "0"},
        {"sha256": {}},
        {"update": "4"},
        {"update": -1},
        {"config": None},
    ],
    ids=lambda text: str(text)[:20],
)
def test_a_spoilt_manifest_is_a_damaged_checkpoint(copy, text):
    path = copy / "checkpoints" / "4" / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(text if isinstance(text, str) else json.dumps(manifest | text))
    cfg = resumed_config(ppo_skullking.Config(resume=str(copy)))
    run, told = folders.Run(cfg, ppo_skullking.make_task(cfg)), []
    assert run.restore(told.append)
    assert (run.restored, len(told)) == (2, 1)
    assert "damaged" in told[0]


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"a": 3}', '{"a": {"network": 3, "sha256": "0"}}'])
@pytest.mark.parametrize(("name", "message"), [("config", "is not the configuration"), ("networks", "does not name")])
def test_a_spoilt_file_of_a_run_is_refused(copy, name, message, text):
    (copy / f"{name}.json").write_text(text)
    with pytest.raises(UserError, match=rf"{name}\.json {message}"):
        drive(resume=str(copy))


def test_a_checkpoint_without_what_is_asked_for_is_refused(finished, weights):
    with pytest.raises(CheckpointError, match="small holds no training"):
        checkpoints.load(weights / "small", ("training",), "skullking", SkullKingEnv.version)


@pytest.mark.parametrize("text", ["{", "[]", '{"figures": [3]}', '{"figures": [{"agent": "ppo:small"}]}'])
def test_a_spoilt_card_is_named(weights, text):
    (weights / "small" / "card.json").write_text(text)
    with pytest.raises(UserError, match=r"small/card\.json is no card"):
        agents.strength("ppo:small")


def test_a_file_without_games_has_no_maker(tmp_path):
    (tmp_path / "games.jsonl").touch()
    assert cards.made_games(tmp_path / "games.jsonl") == []


def test_what_is_no_run_is_not_published_or_compared(copy, weights, monkeypatch, capsys):
    (copy / "config.json").write_text("{")
    for main, *arguments in ((publish.main, copy, "other"), (compare.main, copy)):
        assert call(monkeypatch, main, *arguments) == 2
        assert "config.json is not the configuration of a run" in said(capsys.readouterr())
    (copy / "evaluation.md").write_text("")
    with pytest.raises(UserError, match="is no report of a run"):
        compare.first_line(copy / "evaluation.md")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"envs": "8"}, "envs must be an integer of 64 bits, got '8'"),
        ({"envs": 8.0}, "envs must be an integer of 64 bits, got 8.0"),
        ({"envs": None}, "envs must be an integer of 64 bits, got None"),
        ({"envs": 2**70}, "envs must be an integer of 64 bits, got 1180"),
        ({"keep": True}, "keep must be an integer of 64 bits, got True"),
        ({"gamma": (0.9,)}, "gamma must be a finite number, got (0.9,)"),
        ({"value_weight": float("nan")}, "value_weight must be a finite number, got nan"),
        ({"learning_rate": "fast"}, "learning_rate must be a finite number, got 'fast'"),
        ({"by_round": 1}, "by_round must be True or False, got 1"),
        ({"start_from": 3}, "start_from must be text, got 3"),
        ({"rivals": "random"}, "rivals must be a list, each text, got 'random'"),
        ({"opponents": (3,)}, "opponents must be a list, each text, got (3,)"),
        ({"widths": (16.5,)}, "widths must be a list, each an integer of 64 bits, got (16.5,)"),
        ({"observation": None}, "observation must be one of 'ability', 'base', 'full', got None"),
    ],
)
def test_a_setting_of_another_kind_is_named(settings, message):
    with pytest.raises(UserError, match=re.escape(message)):
        ppo_skullking.Config(**SETTINGS | settings)


def test_a_config_with_a_setting_of_another_kind_is_refused_at_resume(copy, monkeypatch, capsys):
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"steps": "16"}))
    assert call(monkeypatch, ppo_skullking.main, "--resume", copy) == 2
    assert f"{copy}/config.json is not the configuration of a run" in said(text := capsys.readouterr())
    assert "steps must be an integer of 64 bits, got '16'" in said(text)


def test_a_training_that_goes_wrong_keeps_the_last_good_checkpoint(tmp_path, quick_match, monkeypatch, capsys):
    as_rows = runs.as_rows

    def spoilt(measured, done, cfg):
        rows = as_rows(measured, done, cfg)
        rows[-1]["loss"] = float("nan") if done == 2 else rows[-1]["loss"]
        return rows

    monkeypatch.setattr(runs, "as_rows", spoilt)
    assert drive(run=str(tmp_path / "bad"), **SETTINGS) == runs.STOPPED
    text = said(capsys.readouterr())
    assert "update 3 gave a loss that is not a number" in text
    assert "--resume" not in text  # it would only happen again
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
    assert head.startswith("| run, against `random` | wins_percent | score |")
    assert [row.split("|")[1:3] for row in rows] == [
        [" plain, 3 seeds ", " 26.0 ± 0.6 "],  # 25, 26, 27: standard error 1 / sqrt(3)
        [" fast ", " 50.0 ± 1.0 "],
    ]
    assert (tmp_path / "both.png").read_bytes()[:4] == b"\x89PNG"
    assert compare.headline(finished) == "wins_percent"
    assert compare.curve([finished], "wins_percent") == [(256 / 1e6, 25.0, 1.0), (512 / 1e6, 25.0, 1.0)]
    assert compare.curve(seeds, "wins_percent") == [(256 / 1e6, 25.0, 0.0), (512 / 1e6, 25.0, 0.0)]
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
    text = capsys.readouterr().out
    assert text == (tmp_path / "table.md").read_text()
    assert text.splitlines()[0] == "| one `rule` against | cents | deals_won_percent |"
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
