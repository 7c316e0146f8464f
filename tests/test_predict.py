"""Schafkopf's hidden hands: drawn by weight, predicted by a network, inferred from a policy."""

import functools
import shutil
from types import SimpleNamespace

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from agents import checkpoints, inference, networks, predict
from agents.inference import NO_ACTION, Past, by_bids, by_policy, log_likelihood, schafkopf_past, skullking_past
from agents.networks import Model, Output, consider
from agents.networks.hands import NOBODY
from agents.search import playout
from jaxgames.options import UserError
from jaxgames.schafkopf.cards import FIRST_CARD, NAMES, NO_DOUBLE, NUM_CARDS
from jaxgames.skullking.cards import BID_TABLE, PLAY
from tests import skullking_positions
from tests.schafkopf_positions import DEAL_A, NO_CONTRA, action_id, after, given, legal, smallest, step
from tests.schafkopf_worlds import is_legal_deal, mid_game_states, proposals, replays
from tests.sixth_game import BET, KuhnEnv
from train import predictor, publish
from train.predictor import Config, ask, places_of_cards, play_games, update
from train.studies import Student

ENV = jaxgames.make("schafkopf")
DOUBLED = "0 2 0 0 10 10 9 10 10 10 10 10 GK G7 GX H7 SX S7"  # deal A: Sauspiel of seat 1, contra, no retour
RATIOS = 1.0 + np.array(
    [[(7 * card + 3 * seat * card + 2 * seat) % 5 for seat in range(3)] for card in range(NUM_CARDS)]
)


@pytest.fixture(scope="module")
def model():
    return networks.make("hands", ENV, width=8)


@pytest.fixture(scope="module")
def params(model):
    return jax.jit(model.init)(jax.random.key(0))


@pytest.fixture(scope="module")
def states():
    return mid_game_states(ENV, ("rule", "random"), jax.random.key(0), 48)


# -- worlds by weight -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def endgame():
    """Deal A, a Sauspiel on the Gras ace by seat 1, five tricks of the smallest cards."""
    _, state = given(DEAL_A, "0 2 0 0 " + NO_CONTRA)
    while int((np.asarray(state.played) >= 0).sum()) < 21:
        state = step(ENV)(state, smallest(legal(ENV, state)))
    return state


@pytest.mark.parametrize("weights", [np.ones((NUM_CARDS, 3)), RATIOS], ids=["even", "uneven"])
def test_legal_deals_are_drawn_in_proportion_to_the_product_of_their_weights(endgame, weights):
    """SC-59 under SC-52, against a list of all legal deals; even weights draw as `determinize` does without them."""
    player, draws = 0, 6000
    deals = proposals(endgame, player)
    legal_deals = deals[np.asarray(is_legal_deal(ENV, endgame, deals))]
    assert 10 < len(legal_deals) < len(deals)
    played = [1 << int(card) for card in np.asarray(endgame.played).ravel() if card >= 0]
    unseen = ~np.uint32(sum(played)) & ~deals[0, player]
    share = np.ones(len(legal_deals))
    for i, deal in enumerate(legal_deals):
        for card in range(NUM_CARDS):
            for hidden in range(3):
                if int(unseen & deal[(player + 1 + hidden) % 4]) >> card & 1:
                    share[i] *= weights[card, hidden]
    expected = draws * share / share.sum()

    draw = jax.jit(jax.vmap(lambda key: ENV.determinize(key, endgame, player, weights=jnp.float32(weights)).dealt))
    drawn = np.asarray(draw(jax.random.split(jax.random.key(1), draws)))
    index = {tuple(deal): i for i, deal in enumerate(legal_deals.tolist())}
    counts = np.bincount([index[tuple(deal)] for deal in drawn.tolist()], minlength=len(index))
    freedom = len(index) - 1
    assert ((counts - expected) ** 2 / expected).sum() < freedom + 5 * np.sqrt(2 * freedom)


def test_worlds_stay_legal_when_the_weights_deny_the_truth(states):
    """The weights give nothing to where the cards are, or everything to one seat: SC-52 holds all the same."""

    @jax.jit
    @jax.vmap
    def draw(key, state):
        player = state.current_player
        truth = places_of_cards(state, player)[:, None] == jnp.arange(3)
        denied = jnp.where(truth, 0.0, 1.0)
        greedy = jnp.broadcast_to(jnp.arange(3) == 1, (NUM_CARDS, 3)).astype(jnp.float32)
        worlds = [ENV.determinize(key, state, player, weights=weights) for weights in (denied, greedy)]
        kept = truth & (places_of_cards(worlds[0], player)[:, None] == jnp.arange(3))
        return [replays(ENV, world) for world in worlds], truth.sum(), kept.sum()

    is_legal, unseen, kept = draw(jax.random.split(jax.random.key(2), 48), states)
    assert np.all(is_legal)
    assert kept.sum() < 0.2 * unseen.sum()  # by chance a third of the cards would stay where they are, and more


def test_a_draw_depends_on_what_its_player_knows_alone(states, model, params):
    """From two states that look alike to the player the same key draws the same world with the same weight."""
    player_model = networks.make("mlp", ENV, "full", widths=(8,))
    player_params = jax.tree.map(lambda leaf: 3 * leaf, jax.jit(player_model.init)(jax.random.key(1)))
    draws = (predict.by_hands(ENV, model, params), by_policy(ENV, player_model, player_params))

    @jax.jit
    @jax.vmap
    def twice(key, state):
        player = state.current_player
        world = ENV.determinize(jax.random.fold_in(key, 1), state, player)
        return [(draw(key, state, player), draw(key, world, player)) for draw in draws]

    for here, there in twice(jax.random.split(jax.random.key(3), 48), states):
        chex.assert_trees_all_close(here, there, rtol=1e-6)


# -- the predictor ----------------------------------------------------------------------------------------------------


def test_a_predictor_that_knows_the_deal_draws_little_else(endgame):
    player = endgame.current_player
    true = places_of_cards(endgame, player)
    model = SimpleNamespace(places=lambda params, state, player: jnp.where(true[:, None] == jnp.arange(4), 1.0, 1e-6))
    draw = predict.by_hands(ENV, model, None)

    @jax.jit
    @jax.vmap
    def places(key):
        return places_of_cards(draw(key, endgame, player)[0], player)

    drawn = np.asarray(places(jax.random.split(jax.random.key(0), 32)))
    assert (drawn == np.asarray(true))[:, np.asarray(true) != NOBODY].mean() > 0.8  # anything stays possible


def test_places_are_counted_from_the_player():
    """Deal A as seat 1 sees it: seat 2 is the first, seat 0 the last; its own hand is nobody's."""
    _, state = given(DEAL_A)
    places = dict(zip(NAMES, np.asarray(places_of_cards(state, jnp.int32(1))).tolist(), strict=True))
    assert [places[card] for card in ("SU", "SX", "EO", "GO")] == [0, 1, 2, NOBODY]
    _, state = given(DEAL_A, "0 2 0 0 " + NO_CONTRA + "EO")
    assert int(places_of_cards(state, jnp.int32(1))[NAMES.index("EO")]) == NOBODY


@pytest.fixture(scope="module")
def games():
    return jax.jit(lambda key: play_games(ENV, agents.make("rule", ENV), key, 4))(jax.random.key(4))


def test_the_loss_is_that_of_a_plain_loop_over_decisions(games, model, params):
    """One pass over a game says the same as a pass for each decision; binary cross-entropy over 32 x 4 outputs."""
    found = jax.jit(lambda lesson: predictor.loss_of_all(model, params, lesson))(ask(model, games))

    def one(state):
        return model.places(params, state, state.current_player), places_of_cards(state, state.current_player)

    probability, places = jax.device_get(jax.jit(jax.vmap(jax.vmap(one)))(games))
    total = []
    for game, number in np.argwhere(~np.asarray(games.done)):
        loss = 0.0
        for card in range(NUM_CARDS):
            for place in range(4):
                p = float(probability[game, number, card, place])
                loss -= np.log(p if places[game, number, card] == place else 1 - p)
        total.append(loss / 128)
    np.testing.assert_allclose(found, np.mean(total), rtol=1e-4)


@pytest.fixture(scope="module")
def measure(model):
    return jax.jit(functools.partial(predictor.losses, model))


def test_the_loss_of_unseen_cards_is_what_is_measured(games, model, params, measure):
    """Nothing but the three hidden seats counts: the loss is the log loss of the report."""
    lesson = ask(model, games)
    found = jax.jit(lambda lesson: predictor.loss_of_unseen(model, params, lesson))(lesson)
    np.testing.assert_allclose(found, measure(params, lesson)["log_loss"], rtol=1e-5)


def test_who_counts_cards_by_number_pays_the_entropy_of_the_hands(games, model, params, measure):
    """Before the first card all hands hold eight: a place costs log 3."""
    lesson = ask(model, games)
    is_first = jnp.arange(lesson.seat.shape[1]) == 0
    found = measure(params, lesson._replace(is_asked=lesson.is_asked & is_first))
    np.testing.assert_allclose(found["log_loss_by_number"], np.log(3), rtol=1e-5)


def test_deals_that_are_shown_often_enough_are_known(games, model, params, measure):
    cfg = Config(games=4, minibatch=4, epochs=100, learning_rate=2e-2)
    lesson = ask(model, games)
    student = Student(params, predictor.make_optimiser(cfg).init(params), jax.random.key(0), jnp.int32(0))
    student, _ = jax.jit(lambda student: update(cfg, model, student, lesson, jax.random.key(6)))(student)
    before, now = (float(measure(each, lesson)["log_loss"]) for each in (params, student.params))
    assert now < 0.5 * before


def test_calibration_counts_unseen_cards_of_the_questions_that_are_asked(games, model, params):
    """Before the first card, 24 in four games: each is in one of three hands, and as likely somewhere as it is."""
    lesson = ask(model, games)
    is_first = jnp.arange(lesson.seat.shape[1]) == 0
    mean, found, count = predictor.calibration(model, params, lesson._replace(is_asked=lesson.is_asked & is_first)).T
    assert count.sum() == 4 * 24 * 3
    assert (mean * count).sum() == pytest.approx(4 * 24)
    assert (found * count).sum() == pytest.approx(4 * 24)


def test_the_decay_is_a_part_of_the_gradient_that_adam_sees():
    """Without any other gradient the first step is a whole one towards zero, however small the decay."""
    optimiser = predictor.make_optimiser(Config(learning_rate=0.1, weight_decay=1e-3))
    params = jnp.array([2.0, -30.0])
    change, _ = optimiser.update(jnp.zeros(2), optimiser.init(params), params)
    np.testing.assert_allclose(change, [-0.1, 0.1], rtol=1e-3)


def test_who_knows_nothing_gains_nothing_on_the_rules_and_who_knows_all_pays_nothing(endgame):
    true = places_of_cards(endgame, endgame.current_player)
    knows = jnp.where(true[:, None] == jnp.arange(4), 1.0, 0.0)

    @jax.jit
    def compare(places):
        model = SimpleNamespace(env=ENV, places=lambda params, state, player: places)
        return predictor.compare(model, None, endgame, jax.random.key(0), 32)

    nothing, everything = compare(jnp.full_like(knows, 0.25)), compare(knows)
    assert float(nothing.gain) == pytest.approx(0, abs=1e-4)
    assert float(nothing.predicted) == pytest.approx(np.log(3), abs=1e-4)
    assert float(nothing.both) == pytest.approx(float(nothing.legal), abs=1e-4)
    assert float(everything.predicted) == pytest.approx(0, abs=1e-4)
    assert float(everything.gain) > 0.5
    assert float(everything.both) < float(everything.legal) < np.log(3)


TINY = {"agent": "random", "rounds": 2, "games": 4, "minibatch": 2, "epochs": 1, "width": 8, "layers": 1, "held_out": 2}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hands") / "whole"
    assert predictor.study(Config(**TINY, positions=4, worlds=4, run=str(folder))) == 0
    return folder


def test_a_study_goes_on_bit_for_bit(finished, tmp_path):
    copy = tmp_path / "stopped"
    shutil.copytree(finished, copy)
    shutil.rmtree(copy / "checkpoints" / "2")
    (copy / "evaluation.md").unlink()
    assert predictor.study(predictor.studies.resumed_config(Config(resume=str(copy)))) == 0
    whole, stopped = (networks.load(str(folder), ENV)[1] for folder in (finished, copy))
    chex.assert_trees_all_equal(whole, stopped)
    for name in ("metrics.csv", "evaluation.md"):
        assert (copy / name).read_text() == (finished / name).read_text()


def test_a_predictor_is_drawn_with_and_does_not_play(finished, tmp_path, monkeypatch):
    assert (finished / "calibration.png").exists()
    monkeypatch.setattr(checkpoints, "WEIGHTS", tmp_path)
    publish.publish(publish.Publication(str(finished), "hands"))
    assert (tmp_path / "hands" / "study.md").read_text() == (finished / "evaluation.md").read_text()
    assert agents.published("schafkopf") == ()  # not among those who play
    agents.make("hp:2,4,hands", ENV)
    agents.make(f"hp:2,4,{finished}", ENV)
    state, act = ENV.init(jax.random.key(0)), agents.make(f"ppo:{finished}", ENV)
    with pytest.raises(UserError, match="does not play"):
        act(jax.random.key(0), state, state.current_player)
    with pytest.raises(UserError, match="schafkopf"):
        agents.make(f"hp:2,4,{finished}", jaxgames.make("skullking"))


# -- policy inference -------------------------------------------------------------------------------------------------


class Bluffer(Model):
    """Kuhn poker: bets with a king nine times of ten, with a jack once."""

    def read(self, params, view):
        bets = jnp.array([0.1, 0.5, 0.9])[jnp.argmax(view[:3])]
        return Output(jnp.log(jnp.stack([1 - bets, bets])), jnp.float32(0), {}, jnp.zeros(0))


def test_a_bet_shifts_the_belief_as_bayes_has_it(monkeypatch):
    """A queen facing a bet holds the king nine times as likely as the jack."""
    monkeypatch.setitem(
        inference.PASTS,
        "kuhn",
        lambda env, state: Past(env.init(jax.random.key(0), deal={"deck": state.deck}), state.said.astype(jnp.int32)),
    )
    env = KuhnEnv()
    state = env.step(env.init(jax.random.key(0), deal={"deck": [0, 1, 2]}), BET)
    draw = jax.jit(jax.vmap(lambda key: by_policy(env, Bluffer(env, None, "cards"), None, doubt=0.0)(key, state, 1)))
    worlds, log_weights = draw(jax.random.split(jax.random.key(0), 16))
    for deck, log_weight in zip(np.asarray(worlds.deck), np.asarray(log_weights), strict=True):
        np.testing.assert_allclose(log_weight, np.log({0: 0.1, 2: 0.9}[int(deck[0])]), rtol=1e-5)
    assert set(np.asarray(worlds.deck)[:, 0].tolist()) == {0, 2}


class HighestFirst(Model):
    """Schafkopf: passes, never doubles, and nearly always plays the card with the highest id."""

    def look(self, state, seat):
        return self.env.legal_action_mask(state)

    def read(self, params, view):
        number = jnp.arange(view.size)
        highest = jnp.max(jnp.where(view & (number >= FIRST_CARD), number, 0))
        best = jnp.where(view[NO_DOUBLE], NO_DOUBLE, highest)
        return Output(jnp.where(number == best, 8.0, 0.0), jnp.float32(0), {}, jnp.zeros(0))


def test_a_card_that_the_policy_would_not_play_makes_better_ones_unlikely():
    """Deal A, a Herz-Solo of seat 3. Seat 0 leads the Gras ace: a policy that plays the highest card first would have
    led the Eichel ace if it had it. Seat 1 cannot see it, and by the rules alone seat 0 has it one time in three."""
    _, state = given(DEAL_A, "0 0 0 6 " + NO_CONTRA + "GA")
    draw = jax.jit(jax.vmap(lambda key: by_policy(ENV, HighestFirst(ENV, None, "full"), None)(key, state, 1)))
    worlds, log_weights = jax.device_get(draw(jax.random.split(jax.random.key(0), 400)))
    has_better = (worlds.dealt[:, 0] >> NAMES.index("EA") & 1) == 1
    weights = np.exp(log_weights - log_weights.max())
    assert 0.2 < has_better.mean() < 0.42
    assert 0.001 < weights[has_better].sum() / weights.sum() < 0.03  # `doubt` keeps it possible


@pytest.mark.parametrize("kind", ["mlp", "suits"])
def test_the_likelihood_of_a_past_is_that_of_its_decisions(kind):
    """The product over what the others decided, each judged in the state that it was made in; one decision of ten is
    taken for random among what was legal there. A network that sees suits in other places names its choices so too."""
    player_model = networks.make(kind, ENV, "full", widths=(8,))
    params = jax.tree.map(lambda leaf: 3 * leaf, jax.jit(player_model.init)(jax.random.key(1)))

    @jax.jit
    def judge(state, action):
        policy, _ = consider(player_model, params, state, state.current_player)
        played = lambda choice: player_model.act(state, player_model.legal(state), choice)  # noqa: E731
        choices = jnp.arange(ENV.num_actions)
        chances = jnp.exp(jax.vmap(policy.log_prob)(choices))
        return jnp.log(jnp.where(jax.vmap(played)(choices) == action, chances, 0).sum())

    env, state = given(DEAL_A)
    total = 0.0
    for token in DOUBLED.split():
        if int(state.current_player) != 2:
            chosen, choices = np.exp(float(judge(state, action_id(token)))), len(legal(env, state))
            total += np.log(0.9 * chosen + 0.1 / choices)
        state = after(env, state, token)
    found = jax.jit(lambda state: log_likelihood(player_model, params, schafkopf_past(ENV, state), 2, 0.1))(state)
    np.testing.assert_allclose(found, total, rtol=1e-4)


@functools.partial(jax.jit, static_argnums=0)
def told(env, state):
    return schafkopf_past(env, state)


@pytest.mark.parametrize(
    ("history", "config"),
    [
        (DOUBLED, {}),
        ("0 2 0 0 10 10 9 10 10 9 10 10 GK", {}),  # contra and retour
        ("0 0 0 6 " + NO_CONTRA + "GA", {}),
        ("0 0 0 6 GA", {"contra": False}),
    ],
)
def test_a_past_is_every_decision_in_order(history, config):
    """At every turn: what was said and played until then, and the state that it began with."""
    env, first = given(DEAL_A, **config)
    state, played = first, []
    for token in history.split():
        past = jax.device_get(told(env, state))
        assert past.actions[past.actions != NO_ACTION].tolist() == played
        chex.assert_trees_all_equal(past.first, first)
        state, played = after(env, state, token), [*played, action_id(token)]


def test_the_past_of_a_round_of_skull_king_is_its_bids():
    """From the first bid on, and still when cards have left the hands."""
    env = jaxgames.make("skullking", num_players=3, hand_sizes=[2])
    deal = skullking_positions.deal(["R5 P3", "R7 C2", "R9 M4"], starter=1)
    states = skullking_positions.play(env, env.init(jax.random.key(0), deal=deal), [1, 2, 0, PLAY, PLAY, PLAY])
    for number, state in enumerate(states):
        past = jax.device_get(skullking_past(env, state))
        assert past.actions[past.actions != NO_ACTION].tolist() == [1, 2, 0][:number]
        chex.assert_trees_all_equal(past.first.replace(step_count=0), states[0].replace(step_count=0))


def test_bids_of_rivals_weigh_the_hands_of_a_world():
    """Seat 0 bid one trick on its two cards, seat 1 none: a world counts by how far `rule:exact` would be from that."""
    env = jaxgames.make("skullking", num_players=3, hand_sizes=[2])
    deal = skullking_positions.deal(["SkullKing P3", "R7 C2", "R9 M4"], starter=0)
    state = skullking_positions.play(env, env.init(jax.random.key(0), deal=deal), [1, 0, 2, PLAY + 1])[-1]
    draw = by_bids(env, playout.agent_choice(agents.make("rule:exact", env)))
    keys = jax.random.split(jax.random.key(0), 64)
    worlds, log_weights = jax.device_get(jax.jit(jax.vmap(lambda key: draw(key, state, 2)))(keys))
    off = np.zeros(64)
    for seat, bid in ((0, 1), (1, 0)):
        hands = worlds.dealt[:, 0, seat, :2]
        off += abs((BID_TABLE[hands].sum(-1) + 50) // 100 - bid)
    np.testing.assert_allclose(log_weights, -2.0 * off, atol=1e-5)
    assert len(set(off)) > 2
    first = jax.jit(draw)(keys[0], env.init(jax.random.key(0), deal=deal), 2)[1]
    assert float(first) == 0.0  # nothing was bid yet


def test_a_game_that_does_not_tell_its_past_is_refused():
    with pytest.raises(UserError, match="tells its past"):
        by_policy(jaxgames.make("skyjo"), None, None)
    with pytest.raises(UserError, match="in skullking, not in magictrick"):
        agents.make("rollouts:magictrick,belief=bids", jaxgames.make("magictrick"))
    for spec in ("rollouts:magictrick,belief=policy", "infer:magictrick"):
        with pytest.raises(UserError, match="tells its past"):
            agents.make(spec, jaxgames.make("magictrick"))
