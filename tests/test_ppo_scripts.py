"""The five pages of train/: each one's update lowers for every platform, and what it saves comes back bit for bit."""

import dataclasses
import json
import pathlib
import sys
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from agents import checkpoints, networks
from jaxgames.magictrick.cards import PASS
from jaxgames.skyjo.cards import Slot
from train import folders, ppo, ppo_magictrick, ppo_saboteur, ppo_schafkopf, ppo_skullking, ppo_skyjo, runs
from train.settings import PPO, as_json

TINY = {"total_steps": 2 * 8 * 8, "envs": 8, "steps": 8, "minibatches": 2, "epochs": 1, "past_selves": 2}
PAGES = {  # every network of every page
    "skullking": (ppo_skullking, {"widths": (8,), "auxiliary_weight": 0.1, "replay": 64, "critic": 8}),
    "schafkopf": (ppo_schafkopf, {"widths": (8,), "auxiliary_weight": 0.1}),
    "schafkopf_linear": (ppo_schafkopf, {"network": "linear", "widths": (8,), "shaping": True}),
    "schafkopf_lstm": (ppo_schafkopf, {"network": "lstm", "lstm_width": 8}),
    "skyjo": (ppo_skyjo, {"widths": (8,)}),
    "skyjo_tokens": (ppo_skyjo, {"network": "transformer", "width": 8, "action_mode": "macro"}),
    "saboteur": (ppo_saboteur, {"width": 8}),
    "saboteur_full": (ppo_saboteur, {"width": 8, "variant": "full", "num_players": 3, "reward": "team"}),
    "saboteur_hybrid": (ppo_saboteur, {"network": "hybrid", "widths": (8,)}),
    "magictrick": (ppo_magictrick, {"widths": (8,), "magnet_weight": 0.1}),
}


class Page(NamedTuple):
    cfg: PPO
    task: ppo.Task
    start: Callable  # of a key
    update: Callable  # of a training
    shapes: ppo.Training


@pytest.fixture(scope="module", params=PAGES)
def page(request):
    """Start and update are jitted here: both tests below ask for the same update, which is traced once."""
    script, settings = PAGES[request.param]
    cfg = script.Config(**TINY | settings)
    task = script.make_task(cfg)
    start = jax.jit(lambda key: ppo.start(cfg, task, key))
    return Page(
        cfg=cfg,
        task=task,
        start=start,
        update=jax.jit(lambda training: ppo.update(cfg, task, training)[0]),
        shapes=jax.eval_shape(start, jax.random.key(0)),
    )


def test_every_update_is_exported_for_cpu_cuda_and_tpu(page):
    exported = export.export(page.update, platforms=("cpu", "cuda", "tpu"))
    assert exported(page.shapes).platforms == ("cpu", "cuda", "tpu")


def test_a_resumed_training_goes_on_bit_for_bit(page, tmp_path):
    """One update, a checkpoint on disk, another update: as if there had been no checkpoint."""
    cfg, task, start, update, shapes = page
    training = update(start(jax.random.key(0)))
    run = folders.Run(dataclasses.replace(cfg, run=str(tmp_path / "run")), task)
    run.create({})
    run.checkpoint(training)
    assert checkpoints.read_manifest(checkpoints.latest(run.folder))["reward_scale"] == task.reward_scale
    packed = folders.Run(dataclasses.replace(cfg, resume=str(run.folder)), task).restore(pytest.fail)
    resumed = update(checkpoints.unpack(packed, shapes))
    for a, b in zip(*(jax.tree.leaves(checkpoints.pack(each)) for each in (update(training), resumed)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_presets_are_those_of_the_rules_pages():
    """SC-60 and the three versions of Magic Trick's document."""
    linear, lstm = (ppo_schafkopf.PRESETS[name] for name in ("linear", "lstm"))
    assert (linear.epochs, linear.gamma, linear.lam, linear.clip, linear.value_weight) == (16, 0.99, 1.0, 0.2, 0.5)
    assert (linear.learning_rate, lstm.learning_rate) == (0.002, 1e-4)
    assert linear.entropy_weight == linear.final_entropy_weight == 0.005
    assert (linear.envs, lstm.envs, lstm.lstm_width) == (100_000, 50_000, 512)
    versions = {name: (cfg.observation, cfg.reward) for name, cfg in ppo_magictrick.PRESETS.items()}
    assert versions == {"v1": ("v1", "v1"), "v2": ("v2", "v2"), "v3": ("v3", "v2")}


def test_a_curriculum_over_near_goals_is_a_row_of_runs_that_goes_on_where_it_stopped(tmp_path, monkeypatch):
    cfg = ppo_saboteur.Config(run=str(tmp_path / "far"), nearer_goals=(2, 4), nearer_steps=500, start_from="first")
    nearest, nearer, last = ppo_saboteur.stages(cfg)
    assert [(one.goal_x, one.total_steps) for one in (nearest, nearer, last)] == [
        (2, 500),
        (4, 500),
        (8, cfg.total_steps),
    ]
    assert [one.start_from for one in (nearest, nearer, last)] == ["first", nearest.run, nearer.run]
    assert last.run == cfg.run
    assert ppo_saboteur.stages(ppo_saboteur.Config()) == [ppo_saboteur.Config()]

    for one, files in ((nearest, ("evaluation.md",)), (nearer, ())):
        folder = pathlib.Path(one.run)
        folder.mkdir()
        for name in files:
            (folder / name).touch()
        (folder / "config.json").write_text(json.dumps(as_json(one)))
    driven, words = [], ["--run", cfg.run, "--nearer-goals", "2", "4", "--nearer-steps", "500", "--start-from", "first"]
    monkeypatch.setattr(runs, "drive", lambda cfg, make_task: driven.append(cfg) or 0)
    monkeypatch.setattr(sys, "argv", ["ppo_saboteur.py", *words])
    assert runs.main(ppo_saboteur.Config, None, "", None, ppo_saboteur.stages) == 0
    resumed, new = driven
    assert (resumed.resume, resumed.goal_x, new) == (nearer.run, 4, last)


def test_shaping_is_for_training_alone():
    """SC-57: the learner's mask is narrower, its agent's is not."""
    task = ppo_schafkopf.make_task(ppo_schafkopf.Config(shaping=True, critic=0))
    assert task.model.shape is not None
    assert ppo_schafkopf.make_task(ppo_schafkopf.Config(critic=0)).model.shape is None


def test_a_new_player_of_magic_trick_waits_with_its_bid():
    """Untrained logits are small beside the patience: among thirteen bids and a pass, the pass has e^4 / (13 + e^4).
    A training that goes on from another player adds to what that one does."""
    cfg = ppo_magictrick.Config(widths=(8,), patience=4.0)
    task = ppo_magictrick.make_task(cfg)

    @jax.jit
    def chance_of_a_pass(learner):
        first = task.env.init(jax.random.key(0), deal={"decks": [list(range(56))], "first_leader": 0})
        state = task.env.step(first, 0)  # card played, bid or pass
        return jnp.exp(networks.consider(task.model, learner.params, state, 0)[0].log_prob(28))

    learner = jax.jit(lambda key: ppo.new_learner(cfg, task, key))(jax.random.key(0))
    np.testing.assert_allclose(chance_of_a_pass(learner), np.e**4 / (13 + np.e**4), atol=0.05)
    later = ppo.starting(cfg, task, learner, task.model.player_params(learner.params))
    np.testing.assert_allclose(chance_of_a_pass(later), np.e**8 / (13 + np.e**8), atol=0.001)


def test_skyjos_hints_are_the_points_that_boards_are_expected_to_count():
    """Two cards shown and one removed; what is hidden counts as the mean of all cards, whatever it is."""
    env = ppo_skyjo.make_task(ppo_skyjo.Config(widths=(8,))).env
    state = jax.jit(env.init)(jax.random.key(0))
    cards = jnp.zeros_like(state.cards).at[0, :3].set(jnp.array([12, -2, 9], jnp.int8))
    status = jnp.zeros_like(state.status).at[0, :3].set(jnp.array([Slot.FACE_UP, Slot.FACE_UP, Slot.REMOVED], jnp.int8))
    mean = 760 / 150  # SJ-1
    for hidden in (cards, jnp.where(status == Slot.HIDDEN, 7, cards)):
        potential = ppo_skyjo.few_points(0.5)(state.replace(cards=hidden, status=status))
        np.testing.assert_allclose(potential, [-0.5 * (10 + 9 * mean), -0.5 * 12 * mean], rtol=1e-6)


def test_late_bids_leave_the_pass_alone_while_there_is_one_and_only_in_training():
    model = ppo_magictrick.make_task(ppo_magictrick.Config(widths=(8,), late_bids=True)).model
    state = model.env.step(model.env.init(jax.random.key(0)), 0)  # a card was played: bid or pass
    legal = model.env.legal_action_mask(state)
    assert legal[PASS]
    assert legal.sum() > 1
    assert np.flatnonzero(model.legal(state)).tolist() == [PASS]
    np.testing.assert_array_equal(model.player.legal(state), legal)
    last = state.replace(revealed=state.revealed.at[state.current_player, 1:].set(True))
    np.testing.assert_array_equal(model.legal(last), model.env.legal_action_mask(last))
