"""One program on one device and on eight. Exported for other platforms: tests/test_ppo_scripts.py."""

import dataclasses
import importlib
import os
import pathlib
import socket
import subprocess
import sys

import jax
import numpy as np
import pytest

import jaxgames
from agents import networks
from jaxgames.options import UserError
from train import devices, ppo
from train.settings import PPO, RunConfig, wide

ROOT = pathlib.Path(__file__).parent.parent
ENV = jaxgames.make("skullking", num_players=2, hand_sizes=(1, 1))
CHANGED = ("envs", "steps", "epochs", "minibatches", "learning_rate")  # by `wide`
CFG = PPO(total_steps=2 * 32 * 8, envs=32, steps=8, minibatches=2, epochs=1, past_selves=2)


def make_task():
    return ppo.Task(networks.make("mlp", ENV, widths=(16,)))


def train_on(num_devices):
    """Final parameters and measurements of a run of eight shards on so many devices."""
    task = make_task()
    mesh = devices.make_mesh(8, jax.devices()[:num_devices])
    place = devices.placement(mesh)
    training = jax.jit(lambda key: devices.start(CFG, task, 8, key), out_shardings=place)(jax.random.key(0))
    step = jax.jit(lambda t: devices.advance(CFG, task, 8, mesh, t, 2), donate_argnums=0).lower(training).compile()
    with jax.transfer_guard("disallow"):  # nothing moves between host and device inside the loop
        training, measured = step(training)
    whole = devices.gather(training, mesh)
    assert whole.games.tables.returns.shape == (8, 4, 2)
    return jax.tree.leaves(jax.device_get((whole.learner.params, measured)))


def save_results(path, num_devices, *distributed):
    """Run in a process of its own."""
    if distributed:
        jax.distributed.initialize(*distributed)
    assert len(jax.devices()) == num_devices
    np.savez(path, *train_on(num_devices))


def start_process(path, local_devices, num_devices, *distributed):
    flags = os.environ["XLA_FLAGS"] + f" --xla_force_host_platform_device_count={local_devices}"
    arguments = ", ".join(map(repr, (str(path), num_devices, *distributed)))
    code = f"from tests.test_ppo_devices import save_results; save_results({arguments})"
    environment = os.environ | {"XLA_FLAGS": flags}
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)


def free_port():
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        return taken.getsockname()[1]


def test_one_device_agrees_with_eight_in_two_processes(tmp_path):
    address = f"localhost:{free_port()}"
    started = [start_process(tmp_path / f"process{i}.npz", 4, 8, address, 2, i) for i in range(2)]
    one = train_on(1)
    for process in started:
        _, errors = process.communicate()
        assert process.returncode == 0, errors[-3000:]
    for name in ("process0", "process1"):
        with np.load(tmp_path / f"{name}.npz") as many:
            for a, b in zip(one, (many[key] for key in many.files), strict=True):
                np.testing.assert_allclose(a, b, atol=2e-4, rtol=2e-3)


def test_games_that_cannot_be_shared_out_are_refused():
    with pytest.raises(ValueError, match="must divide by the number of shards, 3"):
        devices.one_shard(CFG, 3)
    with pytest.raises(ValueError, match="must divide by the number of devices, 2"):
        devices.make_mesh(3, [None, None])


@pytest.mark.parametrize(
    ("settings", "cores"),
    [
        ({"cores": 3}, 3),
        ({"cores": 0}, 4),
        ({"cores": 0, "envs": 24}, 3),  # a quarter of 24 games cannot be shared by eight past selves
        ({"cores": 0, "envs": 8}, 1),
        ({"cores": 0, "shards": 2}, 2),
        ({"cores": 0, "seeds": 2}, 1),
    ],
)
def test_cores_share_the_games_out_evenly(settings, cores, monkeypatch):
    monkeypatch.setattr(devices.vector, "num_cores", lambda: 4)
    assert devices.usable_cores(RunConfig(**settings)) == cores


@pytest.mark.parametrize("game", ["skullking", "schafkopf", "skyjo", "saboteur", "magictrick"])
def test_wide_settings_are_settings_of_every_page(game):
    narrow = importlib.import_module(f"train.ppo_{game}").Config()
    wider = wide(narrow)
    assert wider.envs == 8 * narrow.envs
    assert wider.rows >= 4 * narrow.rows
    assert dataclasses.replace(wider, **{name: getattr(narrow, name) for name in CHANGED}) == narrow


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"cores": -1}, "cores must not be below 0"), ({"distributed": True, "coordinator": "host:1"}, "not both")],
)
def test_places_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(UserError, match=words):
        RunConfig(**settings)
