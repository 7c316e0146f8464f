"""The identities of the learner as figures; the tests assert the same.

python -m tests.ppo_figures
"""

import os
import pathlib
import tempfile

os.environ.setdefault("XLA_FLAGS", "")

import jax
import jax.numpy as jnp
import numpy as np

from tests import test_ppo, test_ppo_devices
from train import ppo
from train.advantage import advantage_by_seat
from train.ppo_skullking import Config, make_task


def main():
    print(f"ratio at the first minibatch, largest deviation from 1: {ratio_deviation():.1e}")
    print(f"advantages against a plain loop, largest difference: {advantage_difference():.1e}")
    print(f"one device against eight in two processes, largest difference: {device_difference():.1e}")


def ratio_deviation():
    """Of the default run: 65,536 decisions with game ends among them, judged again before any step."""
    cfg = Config()
    task = make_task(cfg)

    @jax.jit
    def first(key):
        training = ppo.start(cfg, task, key)
        _, batch = ppo.collect(cfg, task, training.learner, training.games.tables, training.games.key)
        return ppo.loss(cfg, task, training.learner.params, batch, 0.01)[1]["ratio_error"]

    return float(first(jax.random.key(0)))


def advantage_difference():
    largest = 0.0
    for seed in range(100):
        played = test_ppo.random_rollout(seed)
        ours, _ = advantage_by_seat(*map(jnp.asarray, played), gamma=0.97, lam=0.9)
        theirs = [each or 0.0 for each in test_ppo.loop_advantages(*played, 0.97, 0.9)]
        largest = max(largest, np.abs(ours - np.array(theirs)).max())
    return largest


def device_difference():
    one = test_ppo_devices.train_on(1)
    address = f"localhost:{test_ppo_devices.free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / f"process{i}.npz" for i in range(2)]
        started = [test_ppo_devices.start_process(path, 4, 8, address, 2, i) for i, path in enumerate(paths)]
        for process in started:
            assert process.wait() == 0, process.stderr.read()[-3000:]
        differences = []
        for path in paths:
            with np.load(path) as many:
                differences += [np.abs(a - many[name]).max() for a, name in zip(one, many.files, strict=True)]
    return max(differences)


if __name__ == "__main__":
    main()
