"""The learner on several devices: every shard plays its own games, all share one network.

A run is cut into `shards`, each with its part of the games and its own random stream; gradients are averaged over them.
Shards fall evenly on the devices of a mesh, so the same run gives the same results on one device or on many, up to the
order of additions.
"""

import dataclasses
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import chex
import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxgames import vector
from jaxgames.options import UserError
from train import ppo
from train.ppo import Games, Task, Training
from train.settings import PPO, RunConfig

SILENCE = 30  # seconds without a sign of life after which a process counts as lost


def join(cfg: RunConfig) -> None:
    """Make this process what the settings say, before JAX starts: one with several devices, one of several."""
    if (number := usable_cores(cfg)) > 1:
        vector.use_cores(number)
    if jax.distributed.is_initialized() or not (cfg.distributed or cfg.coordinator):
        return
    if cfg.coordinator:
        jax.distributed.initialize(cfg.coordinator, cfg.processes, cfg.process, heartbeat_timeout_seconds=SILENCE)
        return
    try:
        jax.distributed.initialize(heartbeat_timeout_seconds=SILENCE)
    except (ValueError, RuntimeError) as error:
        raise UserError(f"config: distributed, but JAX finds no cluster here ({error})") from error


def usable_cores(cfg: RunConfig) -> int:
    """The cores that the settings name, or as many as can share the games out evenly."""
    if cfg.cores or cfg.seeds > 1:
        return cfg.cores or 1
    for number in range(vector.num_cores(), 1, -1):
        shards = cfg.shards or number
        try:
            one_shard(cfg, shards)
        except UserError:
            continue
        if shards % number == 0:
            return number
    return 1


def lost(error: Exception, folder: str) -> NoReturn:
    """Another process is gone: say so and end at once. JAX's own farewell would wait for it."""
    reason = str(error).strip().splitlines()[0][:200]
    resume = f"--resume {folder}" if folder else "--resume and its folder"
    print(
        f"run: another process of this run was lost ({reason}). What was saved is whole: continue with {resume}, also "
        "with another number of processes.",
        file=sys.stderr,
        flush=True,
    )
    os._exit(1)


def make_mesh(shards: int, devices: Sequence[jax.Device] | None = None) -> Mesh:
    """A mesh of the devices of all processes, with an equal number of shards on each."""
    devices = jax.devices() if devices is None else devices
    if shards % len(devices):
        raise UserError(f"config: shards = {shards} must divide by the number of devices, {len(devices)}")
    return Mesh(np.asarray(devices), ("device",))


def one_shard(cfg: PPO, shards: int) -> PPO:
    """The settings of one shard; refused in a sentence if the games cannot be shared out."""
    if cfg.envs % shards:
        raise UserError(f"config: envs = {cfg.envs} must divide by the number of shards, {shards}")
    if cfg.replay % shards:
        raise UserError(f"config: replay = {cfg.replay} must divide by the number of shards, {shards}")
    envs = cfg.envs // shards
    return dataclasses.replace(cfg, envs=envs, replay=cfg.replay // shards, total_steps=cfg.updates * envs * cfg.steps)


def placement(mesh: Mesh) -> Training:
    """Where things live: the learner everywhere, shards of games on their devices. A prefix of `Training`."""
    everywhere = NamedSharding(mesh, P())
    return Training(learner=everywhere, games=NamedSharding(mesh, P("device")))  # type: ignore[arg-type]


def gather(training: Training, mesh: Mesh) -> Training:
    """The training with every part on every device, so that one process can write it. All must call this."""
    if jax.process_count() == 1:
        return training
    return jax.jit(lambda t: t, out_shardings=NamedSharding(mesh, P()))(training)


def agree(number: int) -> int:
    """The largest number that any process gives: what one of them knows, all know. All must call this."""
    if jax.process_count() == 1:
        return number
    return int(multihost_utils.process_allgather(np.int32(number)).max())


def start(cfg: PPO, task: Task, shards: int, key: chex.PRNGKey) -> Training:
    """A new learner and the games of every shard, [shard, ...]."""
    local = one_shard(cfg, shards)
    learner_key, games_key = jax.random.split(key)
    learner = ppo.new_learner(local, task, learner_key)
    games = jax.vmap(lambda k: ppo.new_games(local, task, learner, k))(jax.random.split(games_key, shards))
    return Training(learner, games)


def advance(
    cfg: PPO, task: Task, shards: int, mesh: Mesh, training: Training, num_updates: int
) -> tuple[Training, dict[str, chex.Array]]:
    """`ppo.advance` for all shards at once."""
    local = one_shard(cfg, shards)
    num_devices = mesh.devices.size
    per_device = shards // num_devices
    axis = (("device",) if num_devices > 1 else ()) + (("shard",) if per_device > 1 else ())

    def one(learner, games):
        after, measured = ppo.advance(local, task, Training(learner, games), num_updates, axis)
        return after.learner, after.games, measured

    def block(learner: ppo.Learner, games: Games):
        if per_device > 1:
            return jax.vmap(one, (None, 0), (None, 0, None), axis_name="shard")(learner, games)
        learner, games, measured = one(learner, jax.tree.map(lambda leaf: leaf[0], games))
        return learner, jax.tree.map(lambda leaf: leaf[None], games), measured

    if num_devices > 1:
        specs = (P(), P("device"), P())
        block = jax.shard_map(block, mesh=mesh, in_specs=specs[:2], out_specs=specs, check_vma=False)
    learner, games, measured = block(*training)
    return Training(learner, games), measured
