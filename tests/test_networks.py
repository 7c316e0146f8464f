"""Every kind of network by identities: ratios of one, decisions recalled, padding, symmetry, checkpoints, honesty."""

import dataclasses
import functools
from typing import Any, NamedTuple

import chex
import distrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from agents import checkpoints, networks
from agents.checkpoints import CheckpointError
from agents.networks import decide, network_agent, pointer, reconsider, transformer
from agents.networks.policies import Gaussian, Joint, categorical
from jaxgames.options import UserError
from jaxgames.schafkopf import cards as schafkopf
from jaxgames.schafkopf.state import hand as schafkopf_hand
from jaxgames.skullking import cards as skullking
from jaxgames.skyjo.cards import Decision
from tests.sixth_game import BET, PASS, KuhnEnv
from tests.support import random_states
from train import cards, ppo, seeing
from train.rollout import Transition
from train.settings import PPO

PATHS = {"variant": "paths", "num_players": 2, "goal_x": 4}
CASES = {  # name: game, its options, kind, version, fields
    "mlp": ("skullking", {"num_players": 3, "hand_sizes": (2,)}, "mlp", None, {"widths": (16,)}),
    "linear": ("schafkopf", {}, "mlp", "linear342", {"widths": (16,), "head_widths": (16,)}),
    "suits": ("schafkopf", {}, "suits", None, {"widths": (16,)}),
    "backs": ("magictrick", {}, "suits", None, {"widths": (16,)}),
    "lstm": ("schafkopf", {}, "lstm", "lstm55", {"width": 16}),
    "transformer": (
        "skyjo",
        {"num_players": 3, "action_mode": "decision", "history_window_k": 4},
        "transformer",
        None,
        {"width": 16},
    ),
    "pointer": ("saboteur", {"rounds": 1, "num_players": 3}, "pointer", None, {"width": 16}),
    "paths": ("saboteur", PATHS, "pointer", None, {"width": 16}),
    "hybrid": ("saboteur", PATHS, "hybrid", None, {"widths": (16,)}),
    "masked": ("magictrick", {}, "mlp", "v1", {"widths": (16,), "reads_mask": True}),
}
ROWS = 32


class Case(NamedTuple):
    """A network at the table, some states, and what it decides in them."""

    model: networks.Model
    params: Any
    states: Any
    keys: Any
    decisions: networks.Decision


@functools.lru_cache
def game(name, options):
    """States of random play: compiled once for each game."""
    env = jaxgames.make(name, **dict(options))
    return env, jax.jit(lambda key: random_states(env, key, ROWS, 24))(jax.random.key(1))


@functools.lru_cache
def make_case(name):
    game_name, options, kind, version, fields = CASES[name]
    env, states = game(game_name, tuple(options.items()))
    model = networks.make(kind, env, version, **fields)
    # Other weights than at the start, where the policy hardly depends on anything.
    rng = np.random.default_rng(0)
    fresh = jax.device_get(jax.jit(model.init)(jax.random.key(0)))
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf + 0.1 * rng.normal(size=leaf.shape).astype(np.float32)), fresh)
    keys = jax.random.split(jax.random.key(2), ROWS)
    act = jax.jit(jax.vmap(lambda state, key: decide(model, params, state, state.current_player, key)))
    return Case(model, params, states, keys, act(states, keys))


@pytest.fixture(params=CASES)
def case(request):
    return make_case(request.param)


def batch_of(case):
    """The decisions as rows to learn from, with any advantages."""
    rng = np.random.default_rng(0)
    ones, no = jnp.ones(ROWS), jnp.zeros(ROWS, bool)
    transition = Transition(
        decision=case.decisions,
        seat=case.states.current_player,
        is_own=~no,
        action=case.decisions.action,
        reward=case.states.rewards,
        hint=(),
        terminated=no,
        truncated=no,
        settled=no,
        final_return=ones,
        priority=ones,
        notes=(),
    )
    advantage, target = (jnp.asarray(rng.normal(size=ROWS), jnp.float32) for _ in range(2))
    return ppo.Batch(transition, advantage, target, labels=(), weight=ones)


def test_the_first_ratio_is_one_and_the_gradient_reaches_every_part(case):
    task, batch = ppo.Task(case.model), batch_of(case)
    gradient, measured = jax.jit(jax.grad(lambda params: ppo.loss(PPO(), task, params, batch, 0.01), has_aux=True))(
        case.params
    )
    assert measured["ratio_error"] < 1e-5
    assert measured["entropy"] > 0
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient):
        assert np.isfinite(leaf).all()
        # A key's bias shifts all logits of a query alike: attention and softmax do not see it.
        if "key" not in jax.tree_util.keystr(path):
            assert np.abs(leaf).max() > 0, jax.tree_util.keystr(path)


def test_what_a_rollout_keeps_of_a_decision_tells_all_of_it(case):
    """The view and the choices come back leaf by leaf, the probability of the choice and the value with them."""

    @jax.jit
    @jax.vmap
    def again(state, decision):
        policy, out = reconsider(case.model, case.params, decision.kept)
        seen = case.model.look(state, state.current_player), case.model.legal(state)
        return policy.log_prob(decision.choice), out.value, case.model.recall(decision.kept), seen

    log_prob, value, recalled, seen = again(case.states, case.decisions)
    chex.assert_trees_all_equal(recalled, seen)
    np.testing.assert_allclose(log_prob, case.decisions.log_prob, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(value, case.decisions.value, atol=1e-5, rtol=1e-5)


def test_decisions_are_legal_and_only_a_network_with_perfect_information_peeks(case):
    """The same action and value in any world that the player cannot tell from the true one."""
    env, made = case.model.env, case.decisions

    @jax.jit
    @jax.vmap
    def elsewhere(state, key, action):
        player = state.current_player
        world = env.determinize(jax.random.fold_in(key, 1), state, player)
        there = decide(case.model, case.params, world, player, key)
        return env.is_legal(state, action), there.action, there.value

    legal, action, value = elsewhere(case.states, case.keys, made.action)
    assert legal.all()
    apart = np.abs(made.value - value)
    if case.model.version in env.honest_versions:
        np.testing.assert_array_equal(action, made.action)
        assert apart.max() < 1e-4
    else:
        assert apart.max() > 1e-3


@pytest.mark.parametrize("name", agents.published())
def test_no_published_player_peeks(name):
    """Every network that comes along chooses the same in a world that it cannot tell from the true one."""
    env = cards.env_of(checkpoints.read_manifest(checkpoints.WEIGHTS / name))
    act = agents.make(f"ppo:{name}" if cards.is_honest(name) else f"worlds:{name},2", env)

    @jax.jit
    @jax.vmap
    def twice(state, key):
        player = state.current_player
        world = env.determinize(jax.random.fold_in(key, 1), state, player)
        here, there = jax.vmap(act, (None, 0, None))(key, together(state, world), player)
        return here, there, env.is_legal(state, here)

    states = jax.jit(lambda key: random_states(env, key, ROWS, 40))(jax.random.key(1))
    here, there, legal = twice(states, jax.random.split(jax.random.key(2), ROWS))
    np.testing.assert_array_equal(here, there)
    assert legal.all()


def test_a_checkpoint_brings_back_the_network_and_refuses_what_does_not_fit(case, tmp_path):
    env, model = case.model.env, case.model
    about = checkpoints.describe(env, networks.describe(model), model.version)
    checkpoints.save(tmp_path / "one", {"params": case.params}, about)
    loaded, params = networks.load(str(tmp_path / "one"), env)
    assert loaded == model
    chex.assert_trees_all_equal(params, jax.tree.map(np.asarray, case.params))
    fields = dict(networks.describe(model)["fields"])
    width = "width" if "width" in fields else "widths"
    for i, (change, message) in enumerate(
        [
            ({"network": {"kind": "oracle", "fields": {}}}, "kind is 'oracle'"),
            ({"observation": "braille"}, "'braille'"),
            ({"network": about["network"] | {"fields": fields | {"colour": 3}}}, "does not fit"),
            (
                {"network": about["network"] | {"fields": fields | {width: 24 if width == "width" else (24,)}}},
                "other parameters",
            ),
        ]
    ):
        checkpoints.save(tmp_path / str(i), {"params": case.params}, about | change)
        with pytest.raises(CheckpointError, match=message):
            networks.load(str(tmp_path / str(i)), env)


def together(*states):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def first_view(case):
    """Of numpy arrays: what a test changes in it is no program."""
    views = jax.jit(jax.vmap(case.model.look))(case.states, case.states.current_player)
    return jax.tree.map(lambda leaf: leaf[-1], jax.device_get(views))


def says(case, view):
    out = apply(case.model.network, case.params, view)
    return jax.tree.map(np.asarray, (out.heads, out.value))


@functools.partial(jax.jit, static_argnums=0)
def apply(network, params, view):
    return network.apply(params, view)


def changed(array, where, values):
    """A copy with other values there."""
    array = array.copy()
    array[where] = values
    return array


def test_rows_behind_the_end_of_a_sequence_change_nothing():
    case = make_case("lstm")
    view = first_view(case)
    assert view.info.shape == (55,)  # SC-60
    assert [rows.shape for rows in view.rows] == [(28, 16), (3, 16)]
    assert 0 < view.lengths[0] < 28
    spoilt = tuple(
        np.where(np.arange(len(rows))[:, None] < max(length, 1), rows, True)
        for rows, length in zip(view.rows, view.lengths, strict=True)
    )
    chex.assert_trees_all_equal(says(case, view), says(case, view._replace(rows=spoilt)))
    other = (~view.rows[0], view.rows[1])
    assert not np.allclose(says(case, view)[0], says(case, view._replace(rows=other))[0])
    # A sequence of no length reads one row of zeros, not the last row.
    blank = view._replace(rows=tuple(np.zeros_like(rows) for rows in view.rows))
    none, one = (
        says(case, blank._replace(lengths=tuple(np.full_like(length, n) for length in view.lengths))) for n in (0, 1)
    )
    chex.assert_trees_all_equal(none, one)


def test_a_sequence_comes_with_its_own_length_and_all_else_in_order():
    """Schafkopf: the cards of past tricks with their number, then those of the open trick with theirs."""
    case = make_case("lstm")
    model = case.model

    @jax.jit
    @jax.vmap
    def both(state):
        seat = state.current_player
        return model.look(state, seat), model.env.view(state, seat, model.version)

    seen, view = jax.device_get(both(case.states))
    chex.assert_trees_all_equal(seen.rows, (view.history, view.open_cards))
    chex.assert_trees_all_equal(seen.lengths, (view.history_length, view.open_length))
    parts = view._asdict()
    rest = [parts.pop(name) for name in ("history", "open_cards", "history_length", "open_length")]
    assert (rest[2] != rest[3]).any()
    info = np.concatenate([part.reshape(ROWS, -1) for part in parts.values()], axis=1)
    np.testing.assert_array_equal(seen.info, info.astype(np.float32))


def test_missing_records_and_points_change_nothing():
    case = make_case("transformer")
    view = first_view(case)
    unused = changed(view.records, np.s_[:2, 1], -127)
    spoilt = changed(unused, np.s_[:2, [0, 2, 4, 5, 6]], 1)
    chex.assert_trees_all_close(
        says(case, view._replace(records=unused)), says(case, view._replace(records=spoilt)), atol=1e-6
    )
    # A longer window with the same records says the same.
    longer = np.concatenate([np.full((5, 7), -127, np.int8), unused])
    chex.assert_trees_all_close(
        says(case, view._replace(records=unused)), says(case, view._replace(records=longer)), atol=1e-5
    )
    assert not np.allclose(says(case, view)[0], says(case, view._replace(records=unused))[0])

    case = make_case("paths")
    view = first_view(case)
    assert not view.exists.all()
    (plain, value), (other, other_value) = (
        says(case, view._replace(points=np.where(view.exists[:, None], view.points, noise).astype(view.points.dtype)))
        for noise in (0.0, 5.0)
    )
    on_board = np.broadcast_to(view.exists[None, :, None], (6, len(view.exists), 2)).ravel()
    np.testing.assert_array_equal(plain[:-1][on_board], other[:-1][on_board])
    assert (plain[-1], value) == (other[-1], other_value)  # the skip

    # Nor does what lies in a slot without a card, and points that are there twice count as once.
    empty = changed(view.has_card, 5, False)
    (plain, value), (other, other_value) = (
        says(case, view._replace(has_card=empty, cards=changed(view.cards, 5, noise))) for noise in (0.0, 5.0)
    )
    np.testing.assert_array_equal(plain[:-1].reshape(6, -1)[:5], other[:-1].reshape(6, -1)[:5])
    assert (plain[-1], value) == (other[-1], other_value)
    few = view.points[view.exists][:3]
    (once, value), (twice, other_value) = (
        says(
            case,
            view._replace(
                points=changed(view.points, np.s_[: len(rows)], rows), exists=np.arange(len(view.exists)) < len(rows)
            ),
        )
        for rows in (few, np.concatenate([few, few]))
    )
    np.testing.assert_allclose((once[-1], value), (twice[-1], other_value), atol=1e-5)


def test_without_attention_a_choice_is_about_its_slot_and_the_decision():
    """Skyjo: words by the decision alone, then every kind of action for the twelve slots, which read their column."""
    network = transformer.Transformer(words=3, slot_actions=2, width=8, layers=0)
    rng = np.random.default_rng(0)
    sizes = {"boards": (2, 12, 17), "seats": (2, 8), "discard": (17,), "decision": (26,), "deck": (33,)}
    view = transformer.Table(
        **{name: (rng.random(size) < 0.5).astype(np.float32) for name, size in sizes.items()},
        records=np.zeros((0, 7), np.int8),
    )
    fresh = jax.jit(network.init)(jax.random.key(0), view)
    params = jax.tree.map(lambda leaf: leaf + 0.3 * rng.normal(size=leaf.shape).astype(np.float32), fresh)

    def touched(name, where):
        """Which logits change with this part of the view."""
        other = view._replace(**{name: changed(getattr(view, name), where, 1 - getattr(view, name)[where])})
        one, two = (np.asarray(apply(network, params, each).heads) for each in (view, other))
        return np.flatnonzero(one != two).tolist()

    assert touched("discard", np.s_[:]) == touched("deck", np.s_[:]) == touched("boards", (1, 5)) == []
    assert touched("decision", np.s_[:]) == [*range(27)]
    assert touched("boards", (0, 5)) == [3 + 12 * kind + slot for kind in range(2) for slot in (1, 5, 9)]


def test_columns_that_change_places_take_their_logits_with_them():
    """Skyjo: neither columns nor the slots of a column have an order; equal columns get equal logits."""
    case = make_case("transformer")
    view = first_view(case)
    slots = np.arange(12).reshape(3, 4)
    moved = slots[:, [2, 0, 3, 1]]
    moved = np.stack([np.roll(column, i) for i, column in enumerate(moved.T)], axis=1).ravel()
    (plain, value), (other, other_value) = (
        says(case, each) for each in (view, view._replace(boards=changed(view.boards, 0, view.boards[0, moved])))
    )
    np.testing.assert_allclose(other[4:], plain[4:][moved], atol=1e-5)
    np.testing.assert_allclose((*other[:4], other_value), (*plain[:4], value), atol=1e-5)
    twins = changed(view.boards, (0, slots[:, 3]), view.boards[0, slots[:, 0]])
    by_slot = says(case, view._replace(boards=twins))[0][4:].reshape(3, 4)
    np.testing.assert_allclose(by_slot[:, 3], by_slot[:, 0], atol=1e-6)
    assert not np.allclose(by_slot[:, 1], by_slot[:, 0])


def test_the_legal_actions_are_read_by_who_is_to_move_alone():
    """Magic Trick: what another seat may do would tell of its hand."""
    case = make_case("masked")
    env = case.model.env

    @jax.jit
    @jax.vmap
    def masks(state):
        seen = jax.vmap(lambda seat: case.model.look(state, seat))(jnp.arange(env.num_players))
        return seen[:, -env.num_actions :], env.legal_action_mask(state)

    seen, legal = map(np.asarray, masks(case.states))
    is_mover = np.arange(env.num_players) == np.asarray(case.states.current_player)[:, None]
    np.testing.assert_array_equal(seen, is_mover[..., None] & legal[:, None])


def test_records_name_their_actors_as_seen_from_a_seat():
    """Skyjo: one seat further on, everybody is one seat nearer; places without a record are empty and not recent."""
    case = make_case("transformer")
    n = case.model.env.num_players
    look = jax.jit(jax.vmap(jax.vmap(case.model.look, (0, None)), (None, 0)))
    actor, kind, *_, is_recent = np.moveaxis(np.asarray(look(case.states, jnp.arange(n)).records), -1, 0)
    is_record = kind >= 0  # [seat, state, record]
    np.testing.assert_array_equal(np.where(is_record, (actor[:1] - np.arange(n)[:, None, None]) % n, -1), actor)
    assert {0, 1} <= set(actor[is_record].tolist())
    assert not is_recent[~is_record].any()
    newest_is_anothers = is_record[..., -1] & (actor[..., -1] != 0)  # SJ-48: it has not moved since
    assert newest_is_anothers.any()
    assert is_recent[..., -1][newest_is_anothers].all()


def test_players_who_sit_far_away_are_alike_and_neighbours_are_not():
    """Skyjo for five: the third and the fourth may change places, the fourth and the fifth may not."""
    model = networks.make("transformer", jaxgames.make("skyjo", num_players=5, history_window_k=4), width=8)
    params, shapes = jax.jit(model.init)(jax.random.key(0)), model.view_shapes()
    view = jax.tree.map(lambda leaf: (np.sin(1 + np.arange(leaf.size)) > 0.3).reshape(leaf.shape), shapes)
    view = jax.tree.map(lambda part, leaf: part.astype(leaf.dtype), view, shapes)

    def values(i, j):
        order = np.arange(5)
        order[[i, j]] = j, i
        turned = view._replace(boards=view.boards[order], seats=view.seats[order])
        out = apply(model.network, params, turned)
        return np.append(out.heads, out.value)

    np.testing.assert_allclose(values(2, 3), values(2, 2), atol=1e-5)
    assert not np.allclose(values(3, 4), values(2, 2), atol=1e-5)
    assert not np.allclose(values(1, 2), values(2, 2), atol=1e-5)


@pytest.mark.parametrize("name", ["mlp", "suits", "pointer", "paths"])
def test_an_action_is_told_back_as_the_choice_that_it_came_from(name):
    """What imitation needs: whatever was decided is found again from the action alone."""
    case = make_case(name)
    find = jax.vmap(lambda state, action: case.model.choice(state, case.model.legal(state), action))
    running = ~np.asarray(case.states.done)
    found = jax.jit(find)(case.states, case.decisions.action)
    np.testing.assert_array_equal(found[running], case.decisions.choice[running])


def test_equal_cards_in_different_slots_get_equal_logits():
    """Saboteur: what a choice is worth depends on the card, not on the slot it is in."""
    case = make_case("pointer")
    view = first_view(case)
    view = view._replace(cards=changed(view.cards, 4, view.cards[1]))
    logits = says(case, view)[0]
    points, players = len(view.exists), len(view.players)
    board, tools, discards = np.split(logits, [12 * points, 12 * points + 18 * players])
    for part in (board.reshape(6, -1), tools.reshape(6, -1), discards.reshape(6, -1)):
        np.testing.assert_allclose(part[4], part[1], atol=1e-6)
    assert not np.allclose(board.reshape(6, -1)[0], board.reshape(6, -1)[1])


def test_others_have_no_order_and_are_counted_from_oneself():
    """Saboteur: one seat further on everybody is one seat nearer; others who change places take their tools along."""
    case = make_case("pointer")
    n = case.model.env.num_players
    players = np.asarray(
        jax.jit(jax.vmap(jax.vmap(case.model.look, (0, None)), (None, 0)))(case.states, jnp.arange(n)).players
    )
    known_to_all = players[..., :14]  # [seat, state, player, fact]; behind it, what was done to each other
    assert (known_to_all[0] != known_to_all[1]).any()
    for seat in range(n):
        np.testing.assert_array_equal(known_to_all[seat], np.roll(known_to_all[0], -seat, axis=1))

    view = first_view(case)
    view = view._replace(players=view.players + np.arange(n, dtype=np.float32)[:, None])

    def heard(order):
        logits, value = says(case, view._replace(players=view.players[order]))
        return logits[12 * len(view.exists) :][: 18 * n].reshape(18, n), value

    (tools, value), (moved, same), (_, other) = (heard(order) for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2]))
    np.testing.assert_allclose(moved, tools[:, [0, 2, 1]], atol=1e-5)
    np.testing.assert_allclose(same, value, atol=1e-5)
    assert not np.allclose(tools[:, 1], tools[:, 2], atol=1e-3)
    assert not np.allclose(other, value, atol=1e-3)


@functools.lru_cache
def second_round():
    """Saboteur for three, round two, by hand: seat 1 looks at it, and knows where the gold is.

    Seat 1 broke a tool of seat 2, seat 0 one of each of both, seat 2 mended one of seat 0.
    """
    env = jaxgames.make("saboteur", rounds=2, num_players=3)
    state = jax.device_get(jax.jit(env.init)(jax.random.key(0)))
    broken, mends, maps = (
        np.flatnonzero((state.deck[1] >= first) & (state.deck[1] < last))
        for first, last in ((16, 19), (19, 25), (25, 26))
    )
    played = [(broken[0], 1, 2), (broken[1], 0, 1), (broken[2], 0, 2), (mends[0], 2, 0), (maps[0], 1, 2)]
    cards, by, on = zip(*played, strict=True)
    return env, state.replace(
        round=np.int8(1),
        goals=np.array([[0, 1, 2], [2, 1, 0]], np.int8),  # the gold is the third
        roles=np.array([[True, False, False, True], [False, True, True, False]]),
        played_by=changed(state.played_by, list(cards), by),
        played_on=changed(state.played_on, list(cards), on),
    )


def test_what_was_done_with_tools_is_told_by_whom_to_whom_and_in_all():
    env, state = second_round()

    @jax.jit
    def read(state):
        view, seat = env.view(state, 1, "full"), jnp.int32(1)
        return pointer.player_facts(env, state, seat), pointer.facts(env, state, seat), view.attacks, view.repairs

    players, facts, attacks, repairs = read(state)
    # The observation has the same by whom and on whom, seats 1, 2 and 0.
    np.testing.assert_allclose(3 * attacks, [[0, 1, 0], [0, 0, 0], [1, 1, 0]], atol=1e-5)
    np.testing.assert_allclose(3 * repairs, [[0, 0, 0], [0, 0, 1], [0, 0, 0]], atol=1e-5)
    np.testing.assert_allclose(
        3 * players[:, 14:],
        [  # broken by the observer, of the observer, in all of it, in all by it; then the same of what was mended
            [0, 0, 1, 1, 0, 0, 0, 0],  # seat 1, the observer
            [1, 0, 2, 0, 0, 0, 0, 1],  # seat 2
            [0, 1, 0, 2, 0, 0, 1, 0],  # seat 0
        ],
        atol=1e-5,
    )
    # A saboteur, in the second of three rounds, who knows the third goal to be the gold.
    np.testing.assert_array_equal(facts[2:12], [1, 0, 1, 0, 0, 0, 1, 0, 0, 1])


def test_secrets_are_what_the_others_hold_counted_from_the_player():
    """By hand in the second round of Saboteur, by the states themselves in games of cards."""
    env, state = second_round()
    roles_and_gold, counts = np.split(jax.jit(lambda state: seeing.secrets_of(env, state, 1))(state), [5])
    np.testing.assert_array_equal(roles_and_gold, [1, 0, 0, 0, 1])  # seats 2 and 0, then the goals
    hands = [state.deck[1][state.hand[other][state.hand[other] >= 0]] for other in (2, 0)]
    np.testing.assert_array_equal(counts.reshape(2, -1), [np.bincount(hand, minlength=27) for hand in hands])

    for name, hands_of in (
        ("mlp", lambda state, seat: (state.hand[seat][:, None] == np.arange(skullking.NUM_CARDS)).any(0)),
        ("lstm", lambda state, seat: np.asarray(schafkopf.unpack(schafkopf_hand(state, seat)))),
    ):
        case = make_case(name)
        env, state = case.model.env, jax.tree.map(lambda leaf: np.asarray(leaf[0]), case.states)
        others = [hands_of(state, (2 + i) % env.num_players) for i in range(1, env.num_players)]
        assert np.stack(others).any(-1).all()
        found = jax.jit(lambda state, env=env: seeing.secrets_of(env, state, 2))(state)
        np.testing.assert_array_equal(found.reshape(len(others), -1), others)


def test_the_top_of_the_deck_is_the_card_that_comes_next():
    """Skyjo shuffles its deck as it is drawn: what lies in the next place may still change."""
    case = make_case("transformer")
    env, n = case.model.env, case.model.env.num_players

    @jax.jit
    @jax.vmap
    def drawn(state):
        can_draw = env.is_legal(state, Decision.CHOOSE_DECK)
        return seeing.secrets_of(env, state, 1), can_draw, env.step(state, Decision.CHOOSE_DECK).hand

    secrets, can_draw, card = jax.device_get(drawn(case.states))
    assert can_draw.sum() > 5
    np.testing.assert_array_equal(np.round(12 * secrets[can_draw, -1]), card[can_draw])
    boards = np.roll(np.asarray(case.states.cards), -1, axis=1).reshape(ROWS, n * 12)
    np.testing.assert_array_equal(np.round(12 * secrets[:, :-1]), boards)


def test_a_wish_names_a_card_a_point_of_the_plane_and_an_orientation():
    """Saboteur SB-51: a legal placement is granted as it was wished, and only cards that are held can be wished for."""
    case = make_case("hybrid")
    env, grid, model = case.model.env, case.model.env.cells, case.model
    legal = np.asarray(jax.jit(jax.vmap(env.legal_action_mask))(case.states))[:, : env.first_tool_action]
    placements, orientation = np.divmod(np.arange(env.first_tool_action), 2)
    slot, cell = np.divmod(placements, grid.size)
    x, y = cell // grid.rows + grid.xmin, cell % grid.rows + grid.ymin
    wished = np.where(legal, abs(x - y), -1).argmax(-1)  # with coordinates as different as there are
    wishes = slot[wished], (x[wished].astype(np.float32), y[wished].astype(np.float32)), orientation[wished]
    granted = jax.jit(jax.vmap(lambda state, wish: model.act(state, None, wish)))(case.states, wishes)
    can_dig = legal.any(-1)
    assert (x[wished] != y[wished])[can_dig].any()
    np.testing.assert_array_equal(granted[can_dig], wished[can_dig])

    hands = case.states.hand.at[:, 0, 4:].set(-1).at[:, 1, 2:].set(-1)  # four cards and two
    allowed = jax.jit(jax.vmap(model.legal))(case.states.replace(hand=hands))
    held = np.where(np.asarray(case.states.current_player) == 0, 4, 2)
    np.testing.assert_array_equal(allowed[:, :6], np.arange(6) < held[:, None])
    assert allowed[:, 6].all()  # the skip

    far = jax.tree.map(lambda leaf: 1000 * leaf, case.params)
    point = says(case._replace(params=far), first_view(case))[0].point
    np.testing.assert_allclose(abs(point), 10)


@pytest.mark.parametrize(
    ("kind", "game", "few", "many"),
    [
        ("transformer", "skyjo", {"num_players": 2}, {"num_players": 8, "history_window_k": 0}),
        ("pointer", "saboteur", {"num_players": 3, "goal_x": 4}, {"num_players": 10}),
        ("pointer", "saboteur", {"variant": "paths", "num_players": 1, "goal_x": 2}, {"variant": "paths"}),
        ("hybrid", "saboteur", {"variant": "paths", "goal_x": 2}, {"variant": "paths", "num_players": 6}),
    ],
)
def test_the_same_weights_play_at_any_table(kind, game, few, many):
    shapes = [
        jax.eval_shape(networks.make(kind, jaxgames.make(game, **options)).init, jax.random.key(0))
        for options in (few, many)
    ]
    chex.assert_trees_all_equal(*(jax.tree.map(lambda leaf: leaf.shape, each) for each in shapes))


@pytest.mark.parametrize("mode", ["decision", "macro"])
def test_a_transformer_of_two_players_sits_down_with_four(mode, tmp_path):
    """Skyjo: one set of weights, with and without public records; in the other mode it is refused in a sentence."""
    two = jaxgames.make("skyjo", num_players=2, action_mode=mode, history_window_k=4)
    model = networks.make("transformer", two, width=8)
    about = checkpoints.describe(two, networks.describe(model), model.version)
    checkpoints.save(tmp_path / "two", {"params": jax.jit(model.init)(jax.random.key(0))}, about)
    four = jaxgames.make("skyjo", num_players=4, action_mode=mode)
    act = agents.make(f"ppo:{tmp_path / 'two'}", four)
    states = jax.jit(lambda key: random_states(four, key, 8, 12))(jax.random.key(1))

    @jax.jit
    @jax.vmap
    def legal(state, key):
        return four.is_legal(state, act(key, state, state.current_player))

    assert legal(states, jax.random.split(jax.random.key(2), 8)).all()
    other = dataclasses.replace(two, action_mode="macro" if mode == "decision" else "decision")
    with pytest.raises(CheckpointError, match=rf"does not fit.* It learned with action_mode={mode}$"):
        agents.make(f"ppo:{tmp_path / 'two'}", other)


def test_networks_have_the_sizes_of_the_rules_pages():
    """SC-60: 342-64-64 with heads 64-64; 55-512 with two stacks of two LSTMs. MT-44: 464 and 472 inputs."""

    def kernels(kind, env, version, **fields):
        model = networks.make(kind, env, version, **fields)
        leaves = jax.tree_util.tree_leaves_with_path(jax.eval_shape(model.init, jax.random.key(0)))
        return {jax.tree_util.keystr(path): leaf.shape for path, leaf in leaves}

    env = jaxgames.make("schafkopf")
    linear = kernels("mlp", env, "linear342", widths=(64, 64), head_widths=(64,))
    assert {shape for shape in linear.values() if len(shape) == 2} == {(342, 64), (64, 64), (64, 43), (64, 1)}
    lstm = kernels("lstm", env, "lstm55", width=512, head_widths=(512,))
    matrices = [shape for shape in lstm.values() if len(shape) == 2]
    assert (55, 512) in matrices
    assert (3 * 512, 512) in matrices
    assert matrices.count((16, 512)) == 4 * 2  # four gates, two sequences
    magic = jaxgames.make("magictrick")
    for version, inputs in (("v1", 464), ("v3", 472)):
        assert (inputs, 256) in kernels("mlp", magic, version, reads_mask=True).values()


def test_a_point_and_its_companions_are_those_of_distrax():
    mean, other = jnp.array([1.0, -2.0]), jnp.array([0.5, 3.0])
    ours, theirs = Gaussian(mean, jnp.float32(0.7)), distrax.MultivariateNormalDiag(mean, jnp.full(2, 0.7))
    point = jnp.array([0.3, -1.0])
    assert ours.log_prob(point) == pytest.approx(float(theirs.log_prob(point)), abs=1e-5)
    assert ours.entropy() == pytest.approx(float(theirs.entropy()), abs=1e-5)
    far = distrax.MultivariateNormalDiag(other, jnp.full(2, 1.3))
    assert ours.kl(Gaussian(other, jnp.float32(1.3))) == pytest.approx(float(theirs.kl_divergence(far)), abs=1e-4)
    samples = np.asarray(jax.jit(jax.vmap(ours.sample))(jax.random.split(jax.random.key(0), 4000)))
    np.testing.assert_allclose(samples.mean(0), mean, atol=0.05)
    np.testing.assert_allclose(samples.std(0), 0.7, atol=0.05)

    card = categorical(jnp.array([0.0, 1.0, 2.0]), jnp.array([True, True, False]))
    both = Joint((card, ours))
    choice = both.sample(jax.random.key(1))
    assert both.log_prob(choice) == pytest.approx(float(card.log_prob(choice[0]) + ours.log_prob(choice[1])), abs=1e-5)
    assert both.entropy() == pytest.approx(float(card.entropy() + ours.entropy()), abs=1e-5)
    assert both.kl(both) == pytest.approx(0, abs=1e-6)
    assert both.mode()[0] == 1
    coin = categorical(jnp.zeros(2), jnp.ones(2, bool))  # two of them know nothing of each other
    one, two = jax.jit(jax.vmap(Joint((coin, coin)).sample))(jax.random.split(jax.random.key(2), 400))
    assert float((one == two).mean()) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(("number", "entry"), [(0.0, 1), (0.4, 1), (0.6, 3), (1 - 2**-24, 3)])
def test_a_draw_is_of_a_legal_entry_at_both_ends(monkeypatch, number, entry):
    """Entries 1 and 3 of five, each as likely: no random number leads to the others, the lowest and the highest too."""
    even = categorical(jnp.zeros(5), jnp.array([False, True, False, True, False]))
    monkeypatch.setattr(jax.random, "uniform", lambda key, shape: jnp.full(shape, number))
    assert int(even.sample(jax.random.key(0))) == entry


def test_a_new_network_plays_nearly_at_random_and_its_values_are_of_ordinary_size():
    case = make_case("mlp")
    fresh = jax.jit(case.model.init)(jax.random.key(0))
    views = jax.jit(jax.vmap(case.model.look))(case.states, case.states.current_player)
    out = jax.jit(jax.vmap(lambda view: case.model.read(fresh, view)))(views)
    assert np.abs(out.heads).max() < 0.1
    assert np.abs(out.value).max() > 0.2


def test_a_greedy_network_takes_the_likeliest_choice_and_another_draws():
    env = KuhnEnv()
    model = networks.make("mlp", env, widths=(8,))
    params, state, keys = (
        jax.jit(model.init)(jax.random.key(0)),
        env.init(jax.random.key(1)),
        jax.random.split(jax.random.key(2), 64),
    )

    @functools.partial(jax.jit, static_argnums=0)
    def actions(greedy):
        return jax.vmap(lambda key: network_agent(model, params, greedy)(key, state, jnp.int32(0)))(keys)

    likeliest = jax.jit(lambda state: networks.consider(model, params, state, 0)[0].mode())(state)
    assert set(actions(False).tolist()) == {0, 1}
    assert set(actions(True).tolist()) == {int(likeliest)}


def test_what_a_training_forbids_an_agent_may_play():
    """`shape` is the learner's alone: here it leaves the pass to a network that would rather bet."""
    env = KuhnEnv()
    plain = networks.make("mlp", env, widths=(8,))
    shaped = dataclasses.replace(plain, shape=lambda state, legal: legal & (jnp.arange(2) == PASS))
    params = jax.jit(plain.init)(jax.random.key(0))["params"]
    params = {"params": params | {"outputs": params["outputs"] | {"bias": jnp.array([0.0, 5.0, 0.0])}}}

    @jax.jit
    def both(state, key):
        learned = decide(shaped, params, state, jnp.int32(0), key, greedy=True).action
        return learned, network_agent(shaped, params, greedy=True)(key, state, jnp.int32(0))

    assert [int(action) for action in both(env.init(jax.random.key(1)), jax.random.key(2))] == [PASS, BET]


def test_a_network_with_perfect_information_plays_honestly_on_drawn_worlds(tmp_path):
    """It is refused as it is, and as `worlds` its policy is the mean over worlds of what it would do in each."""
    case = make_case("masked")
    env, model, path = case.model.env, case.model, str(tmp_path / "sees")
    checkpoints.save(path, {"params": case.params}, checkpoints.describe(env, networks.describe(model), model.version))
    with pytest.raises(UserError, match="shows hidden cards; play it as worlds"):
        agents.make(f"ppo:{path}", env)
    with pytest.raises(UserError, match="whole number"):
        agents.make(f"worlds:{path},many", env)
    act = agents.make(f"worlds:{path},4,greedy", env)
    state = jax.tree.map(lambda leaf: leaf[-1], case.states)
    player = state.current_player

    @jax.jit
    def play(key):
        world = env.determinize(jax.random.fold_in(key, 9), state, player)

        def probabilities(key):
            policy, _ = networks.consider(model, case.params, env.determinize(key, state, player), player)
            return policy.widths / policy.total

        mean = jax.vmap(probabilities)(jax.random.split(key, 5)[1:]).mean(0)
        return act(key, state, player), act(key, world, player), mean

    action, elsewhere, mean = play(jax.random.key(0))
    assert action == elsewhere == np.argmax(mean)
    assert env.is_legal(state, action)


@pytest.mark.parametrize("name", ["mlp", "suits", "backs", "lstm", "transformer", "pointer", "masked"])
def test_a_critic_sees_what_is_hidden_and_the_player_goes_without_it(name):
    """It begins as if it were not there; the secrets of another world change the value alone."""
    case = make_case(name)
    inner, env, player = case.model, case.model.env, case.states.current_player
    model = seeing.with_critic(inner, 8)
    fresh, plain = jax.jit(lambda key: (model.init(key), inner.init(key)))(jax.random.key(3))
    chex.assert_trees_all_equal(model.player_params(fresh), plain)
    params = model.put_player(fresh, case.params)
    chex.assert_trees_all_equal(model.player_params(params), case.params)
    assert (model.player, seeing.with_critic(inner, 0)) == (inner, inner)

    @jax.jit
    @jax.vmap
    def looks(state, key, player):
        world = env.determinize(key, state, player)
        kept = [model.keep(each, player, model.look(each, player), model.legal(each)) for each in (state, world)]
        (here, recalled), (there, _) = map(model.recall, kept)
        return inner.look(state, player), model.legal(state), here, there, recalled

    plain, legal, here, there, recalled = looks(case.states, case.keys, player)
    chex.assert_trees_all_equal((here.view, recalled), (plain, legal))
    if inner.version in env.honest_versions:
        chex.assert_trees_all_equal(there.view, plain)
    differ = np.asarray((here.secrets != there.secrets).any(-1))  # after the end nothing is hidden
    assert differ.sum() > 5

    def read(params, views):
        return jax.vmap(lambda view: model.read(params, view))(views)

    @jax.jit
    def values(params, secrets):
        return read(params, here._replace(secrets=secrets))

    first = values(params, here.secrets)
    expected = jax.jit(jax.vmap(lambda view: inner.read(case.params, view)))(plain)
    chex.assert_trees_all_close((first.heads, first.value), (expected.heads, expected.value), atol=1e-5)
    gradient = jax.jit(jax.grad(lambda params: (values(params, here.secrets).value ** 2).sum()))(params)["params"]
    assert np.abs(gradient["more"]["kernel"]).max() > 0
    params["params"]["more"]["kernel"] += 1.0
    one, other = values(params, here.secrets), values(params, there.secrets)
    chex.assert_trees_all_equal(one.heads, other.heads)
    apart = np.abs(one.value - other.value)
    assert np.median(apart[differ]) > 1e-4
    assert apart[~differ].max(initial=0) < 1e-5


@pytest.mark.parametrize(
    ("kind", "game", "options", "version"),
    [
        ("lstm", "skyjo", {}, None),
        ("lstm", "schafkopf", {}, "full"),
        ("transformer", "saboteur", {}, None),
        ("pointer", "skyjo", {}, None),
        ("hybrid", "saboteur", {}, None),
    ],
)
def test_a_kind_that_a_game_cannot_feed_is_refused_in_a_sentence(kind, game, options, version):
    with pytest.raises(UserError, match=f"networks: {kind} "):
        networks.make(kind, jaxgames.make(game, **options), version)


def test_a_network_reads_the_parts_it_names_in_their_order():
    env, states = game("skullking", (("num_players", 3), ("hand_sizes", (2,))))
    state = jax.tree.map(lambda leaf: leaf[0], states)
    model = networks.make("mlp", env, "full", widths=(16,), parts=("unseen", "hand"))
    view = env.view(state, 1, "full")
    np.testing.assert_array_equal(model.look(state, jnp.int32(1)), [*np.ravel(view.unseen), *np.ravel(view.hand)])
    with pytest.raises(UserError, match=r"skullking: parts of base must be one of .*'hand_worth', got 'unseen'"):
        networks.make("mlp", env, "base", parts=("unseen",))


@pytest.mark.parametrize("widths", [(16, 12), (24, 12), (20, 30)])
@pytest.mark.parametrize("head_widths", [(), (8,)])
def test_a_network_that_reads_more_or_is_wider_begins_as_the_one_it_starts_from(widths, head_widths):
    """Where the first parts are the same; with others, or fewer units, the parameters are left as they are."""
    env, states = game("skullking", (("num_players", 3), ("hand_sizes", (2,))))
    less = networks.make("mlp", env, "base", widths=(16, 12), head_widths=head_widths)
    wide_heads = tuple(2 * width for width in head_widths)
    parts = (*env.layout("base"), "unseen", "bids")
    more = networks.make("mlp", env, "full", widths=widths, head_widths=wide_heads, parts=parts)
    params = jax.jit(less.init)(jax.random.key(0))
    grown = more.adopt(less, params)
    chex.assert_trees_all_equal_shapes(grown, jax.eval_shape(more.init, jax.random.key(0)))
    for state in (jax.tree.map(lambda leaf, i=i: leaf[i], states) for i in (0, ROWS - 1)):
        views = (model.look(state, state.current_player) for model in (less, more))
        before, after = (
            model.read(each, view) for model, each, view in zip((less, more), (params, grown), views, strict=True)
        )
        np.testing.assert_allclose(after.heads, before.heads, atol=1e-6)
        np.testing.assert_allclose(after.value, before.value, atol=1e-6)
    other = networks.make("mlp", env, "full", widths=widths, head_widths=head_widths, parts=parts[::-1])
    assert other.adopt(less, params) is params
    assert less.adopt(more, grown) is grown
    narrower = networks.make("mlp", env, "base", widths=(20, 8), head_widths=wide_heads)
    assert narrower.adopt(less, params) is params


def test_behind_more_parts_a_mask_is_not_where_it_was():
    """It follows on everything that is read: only more units can be added before it."""
    env, _ = game("skullking", (("num_players", 3), ("hand_sizes", (2,))))
    less, wider = (networks.make("mlp", env, "base", widths=(width,), reads_mask=True) for width in (8, 12))
    more = networks.make("mlp", env, "full", widths=(8,), reads_mask=True, parts=(*env.layout("base"), "unseen"))
    blind = networks.make("mlp", env, "base", widths=(8,))
    params, blind_params, grown = (
        jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), jax.eval_shape(model.init, jax.random.key(0)))
        for model in (less, blind, wider)
    )
    assert more.adopt(less, params) is params
    assert less.adopt(blind, blind_params) is blind_params
    chex.assert_trees_all_equal_shapes(wider.adopt(less, params), grown)


def test_units_that_are_new_can_learn():
    """They listen to something, and the layer behind them is moved by what they hear."""
    env, states = game("skullking", (("num_players", 3), ("hand_sizes", (2,))))
    narrow, wide = (networks.make("mlp", env, "base", widths=(width, width)) for width in (8, 12))
    params = wide.adopt(narrow, jax.jit(narrow.init)(jax.random.key(0)))
    views = jax.vmap(wide.look)(states, states.current_player)
    gradient = jax.grad(lambda params: (jax.vmap(lambda v: wide.read(params, v).value)(views) ** 2).sum())(params)
    assert np.abs(gradient["params"]["outputs"]["kernel"][8:]).max() > 0
    assert np.abs(params["params"]["layers_0"]["kernel"][:, 8:]).min(0).max() > 0
