"""Tournaments: known results, the same deals for all, killed and resumed to the same bytes, ratings, figures."""

import csv
import json
import math
import re
import signal
import sys
from types import SimpleNamespace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest

import agents
import jaxgames
from agents.basic import Either, Thinker
from jaxgames.magictrick.cards import BID as BID_0
from jaxgames.magictrick.cards import PASS as PASS_BID
from jaxgames.options import UserError
from jaxgames.saboteur.state import MINERS, SABOTEURS, UNDECIDED
from jaxgames.skullking import metrics
from tests.sixth_game import BET, PASS, KuhnEnv
from tests.support import held_by_another
from train import matches, over_time, protocols, references, scripts, standings, tournament
from train.matches import Played
from train.protocols import Counts, Protocol, moments, protocol_of, ratio_and_error
from train.tournament import Pair, Tournament

SETTINGS = {"game": "kuhn", "agents": ("bold", "timid", "random"), "deals": 400, "chunk": 150, "self_play": True}


@pytest.fixture(autouse=True, scope="module")
def kuhn():
    """Kuhn poker as a game like any other, with one player who always bets and one who never does."""
    always = {"bold": BET, "timid": PASS}
    players = {name: lambda env, a=action: lambda key, state, player: jnp.int8(a) for name, action in always.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(jaxgames._GAMES, "kuhn", "tests.sixth_game:KuhnEnv")
        patch.setitem(sys.modules, "agents.kuhn", SimpleNamespace(AGENTS=players))
        patch.setitem(references.PAGES, "kuhn", [references.Line("bold", "timid", {"score": (0.5, 0.25)}, {})])
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a tournament that nothing interrupted."""
    folder = tmp_path_factory.mktemp("tournaments") / "whole"
    assert tournament.hold(Tournament(**SETTINGS, run=str(folder))) == 0
    return folder


def figures(folder):
    """{(one, against, figure): (mean, error)} of a finished tournament."""
    with open(folder / "table.csv", newline="") as file:
        return {
            (row["one"], row["against"], row["figure"]): (float(row["mean"]), float(row["error"]))
            for row in csv.DictReader(file)
        }


def lines(folder):
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def call(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["tournament.py", *map(str, arguments)])
    try:
        return scripts.run(Tournament, tournament.hold, None)
    except SystemExit as stop:
        return stop.code


def test_a_tournament_finds_what_is_known(finished):
    found = figures(finished)
    assert found["bold", "timid", "wins_percent"] == (100.0, 0.0)  # who never bets folds to every bet
    assert found["timid", "bold", "wins_percent"] == (0.0, 0.0)
    assert found["bold", "timid", "score"] == (1.0, 0.0)
    assert found["timid", "bold", "others_score"] == (1.0, 0.0)
    assert found["bold", "bold", "wins_percent"] == (50.0, 0.0)  # both seats of the same deals
    # As first player a bet is called half the time (75 %); as second it meets a bet, a fold or a call (62.5 %).
    mean, error = found["bold", "random", "wins_percent"]
    assert 0.5 < error < 3
    assert abs(mean - 68.75) < 5 * error
    assert found["random", "bold", "wins_percent"][0] == pytest.approx(100 - mean)


def test_the_table_is_markdown_csv_and_a_picture_beside_the_rules_page(finished):
    text = (finished / "table.md").read_text()
    assert "| wins_percent | `bold` | `timid` | `random` |" in text
    assert "| `bold` | 50.0 ± 0.0 | 100.0 ± 0.0 |" in text
    assert "400 deals, the same for every pair, each played 2 times, so that both agents sit in every seat" in text
    assert "python train/tournament.py kuhn bold timid random --deals 400 --chunk 150 --seed 0 --self-play" in text
    assert "| `random` | 1000 fixed |" in text
    assert "1.0 ± 0.0 (0.5, +2.0)" in text  # (1 - 0.5) / 0.25 standard errors from the page's
    assert (finished / "table.png").read_bytes()[:4] == b"\x89PNG"


def test_pictures_leave_the_drawing_of_a_notebook_alone():
    mean = np.array([[np.nan, 60.0], [40.0, np.nan]])
    before = matplotlib.get_backend()
    try:
        matplotlib.use("svg")  # stands for a notebook's own
        strength = ("rating", np.array([1000.0, 1100.0]), np.array([0.0, 20.0]))
        costs = {"a": dict.fromkeys(standings.COSTS, 1.0)}
        both = ("a", "b"), "wins_percent", 50.0, mean, np.ones((2, 2)), "", "", strength, costs
        standings.heat_map(standings.Standing(*both))
        standings.strength_over_time(standings.Standing(*both))
        assert matplotlib.get_backend() == "svg"
    finally:
        matplotlib.use(before)


def test_costs_stand_beside_ratings(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("agent," + ",".join(standings.COSTS) + "\nbold,0.25,3,12\n")
    table = standings.rating_table(
        ("bold", "timid"), np.array([1000.0, 900.0]), np.zeros(2), "wins_percent", "bold", standings.read_costs(path)
    )
    assert "| `bold` | 1000 fixed | 0.25 | 12 |" in table
    assert table.index("`bold`") < table.index("`timid`")  # the strongest first
    assert "| `timid` | 900 ± 0 | – | – |" in table
    path.write_text("agent,price\nbold,3\n")
    with pytest.raises(UserError, match="no file of costs"):
        standings.read_costs(path)


def test_the_last_chunk_counts_no_more_deals_than_were_asked_for(finished):
    counted = [line["views"][0]["score"][0] for line in lines(finished) if (line["one"], line["rest"]) == (0, 1)]
    assert counted == [150, 150, 100]


def test_killed_and_resumed_it_gives_the_same_bytes(finished, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "cut"
    append, left = tournament.append, [4]

    def kill(path, *result):
        left[0] -= 1
        if left[0] < 0:
            signal.raise_signal(signal.SIGTERM)
        append(path, *result)

    with monkeypatch.context() as patch:
        patch.setattr(tournament, "append", kill)
        assert tournament.hold(Tournament(**SETTINGS, run=str(folder))) == 128 + signal.SIGTERM
    assert f"Continue with --resume {folder}" in " ".join(capsys.readouterr().out.split())
    assert len(lines(folder)) == 4
    assert not (folder / "table.md").exists()
    with open(folder / "results.jsonl", "a") as file:
        file.write('{"one": 0, "rest": 2, "chu')  # what a kill -9 while writing leaves
    assert tournament.hold(Tournament(resume=str(folder))) == 0
    for name in ("table.md", "table.csv", "table.png", "results.jsonl"):
        assert (folder / name).read_bytes() == (finished / name).read_bytes(), name


def test_every_pair_plays_the_same_deals_with_a_chance_of_its_own():
    def measure(env, played):
        cards = played.states.deck[:, 0] @ jnp.array([1, 3, 9])
        said = (played.states.said + 1).sum((1, 2))
        return {"cards": Counts(cards, jnp.ones(len(cards))), "said": Counts(said, jnp.ones(len(said)))}

    cfg = Tournament(**SETTINGS | {"agents": ("random", "bold"), "chunk": 64, "deals": 128})
    env = KuhnEnv()
    play = tournament.make_play(
        cfg,
        env,
        Protocol("cards", 0.0, np.array([[0, 1]]), measure),
        [agents.make(spec, env) for spec in cfg.agents],
    )
    one, other = play(Pair(0, 0), 0)[0], play(Pair(0, 1), 0)[0]
    assert one["cards"] == other["cards"]
    assert one["cards"] != play(Pair(0, 0), 1)[0]["cards"]  # other deals
    assert one["said"] != other["said"]
    assert one == play(Pair(0, 0), 0)[0]


def test_a_row_of_other_sides_is_played_by_itself(tmp_path, monkeypatch):
    """Where one sits against several, A against B and B against A are two tables."""
    env = jaxgames.make("skullking")
    assert not protocol_of(env).is_symmetric
    cfg = Tournament(game="skullking", agents=("random", "rule"))
    assert list(tournament.pairs(cfg, protocol_of(env))) == [(0, 1), (1, 0)]
    assert protocol_of(jaxgames.make("schafkopf")).is_symmetric
    assert list(tournament.pairs(cfg, protocol_of(jaxgames.make("schafkopf")))) == [(0, 1)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a game and at least two agents"),
        (("kuhn", "bold"), "at least two agents"),
        (("kuhn", "bold", "bold"), "name each agent once"),
        (("kuhn", "bold", "wizard"), "unknown agent 'wizard'"),
        (("wizardry", "bold", "timid"), "unknown game 'wizardry'"),
        (("kuhn", "bold", "timid", "--option", "num_players=3"), "num_players must be"),
        (("kuhn", "bold", "timid", "--option", "cards=3"), "unknown option 'cards'"),
        (("kuhn", "bold", "timid", "--protocol", "sides"), "kuhn has rotations, got 'sides'"),
        (("kuhn", "bold", "timid", "--deals", "1"), "deals must be at least 2"),
        (("kuhn", "bold", "timid", "--shards", "3"), "chunk = 250 deals must divide by shards = 3"),
        (("kuhn", "bold", "timid", "--anchor", "random"), "anchor must be one of the agents"),
        (("kuhn", "bold", "timid", "--run", "whole"), "exists already and is not overwritten"),
        (("--resume", "nothing"), "is not a tournament's"),
        (("--resume", "whole", "--deals", "5"), "give --resume alone"),
        (("--resume", "broken"), "line 2 of broken/results.jsonl is no result"),
    ],
)
def test_what_is_wrong_is_said_with_exit_code_2(finished, arguments, message, monkeypatch, capsys):
    monkeypatch.chdir(finished.parent)
    broken = finished.parent / "broken"
    broken.mkdir(exist_ok=True)
    (broken / "tournament.json").write_bytes((finished / "tournament.json").read_bytes())
    (broken / "results.jsonl").write_bytes((finished / "results.jsonl").read_bytes().split(b"\n")[0] + b"\nnonsense\n")
    before = sorted(finished.parent.rglob("*"))
    assert call(monkeypatch, *arguments) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert sorted(finished.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"one": "0"}, "it has no chunk 0 of '0' against 1"),
        ({"one": True, "rest": False}, "it has no chunk 0 of True against False"),
        ({"rest": 9}, "it has no chunk 0 of 0 against 9"),
        ({"chunk": 3}, "it has no chunk 3 of 0 against 1"),
        ({"chunk": 0.5}, "it has no chunk 0.5 of 0 against 1"),
        ({"views": []}, "it does not have wins_percent from every side"),
        ({"views": [{}, {}]}, "it does not have wins_percent from every side"),
        ({"views": [{"wins_percent": [1.0] * 6}] * 2}, "it has other figures than the first line"),
        ({"views": [{"wins_percent": [1.0, 2.0]}] * 2}, "wins_percent must be 6 finite numbers"),
        ({"views": [{"wins_percent": [math.nan] * 6}] * 2}, "wins_percent must be 6 finite numbers"),
        ({"views": [{"wins_percent": ["1"] * 6}] * 2}, "wins_percent must be 6 finite numbers"),
        ({"views": "none"}, "'str' object has no attribute 'items'"),
        ({"views": 3}, "'int' object is not iterable"),
        ({"deep": 0}, "maximum recursion depth"),
    ],
)
def test_a_result_that_the_tournament_cannot_have_written_is_refused_by_its_line(finished, tmp_path, changes, message):
    first, second, *_ = lines(finished)
    spoilt = json.dumps(second | {"one": 0, "rest": 1} | changes).replace('"deep": 0', '"deep": ' + "[" * 100_000)
    path = tmp_path / "results.jsonl"
    path.write_text(f"{json.dumps(first)}\n{spoilt}\nhalf a li")
    cfg = Tournament(**SETTINGS)
    with pytest.raises(UserError, match=f"line 2 of {path} is no result .{re.escape(message)}"):
        tournament.read_results(path, cfg, protocol_of(KuhnEnv()))
    assert path.read_text().endswith("half a li")


@pytest.mark.parametrize("networks", [[], {"a": []}, {"a": {"network": 3, "sha256": "0"}}, {"a": {"network": "b"}}])
def test_networks_that_are_none_are_refused_at_resume(finished, tmp_path, monkeypatch, capsys, networks):
    stored = json.loads((finished / "tournament.json").read_text())
    (tmp_path / "tournament.json").write_text(json.dumps(stored | {"networks": networks}))
    assert call(monkeypatch, "--resume", tmp_path) == 2
    assert "is not a tournament's" in " ".join(capsys.readouterr().err.split())


def test_a_tournament_goes_on_in_one_process_at_a_time(finished, monkeypatch, capsys):
    before = sorted((path, path.stat().st_mtime_ns) for path in finished.rglob("*"))
    with held_by_another(finished / "tournament.json"):
        assert call(monkeypatch, "--resume", finished) == 2
    assert f"another process is at work in {finished}" in " ".join(capsys.readouterr().err.split())
    assert sorted((path, path.stat().st_mtime_ns) for path in finished.rglob("*")) == before


def test_a_tournament_that_finds_no_place_is_refused(finished, monkeypatch, capsys):
    place = finished / "table.md" / "below"
    assert call(monkeypatch, "kuhn", "bold", "timid", "--run", place) == 2
    assert f"{place} cannot be written" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"deals": 9.5}, "deals must be an integer of 64 bits, got 9.5"),
        ({"seed": "x"}, "seed must be an integer of 64 bits, got 'x'"),
        ({"agents": [1, 2]}, "agents must be a list, each text, got (1, 2)"),
        ({"self_play": "yes"}, "self_play must be True or False, got 'yes'"),
        ({"costs": 3}, "costs must be text, got 3"),
    ],
)
def test_settings_of_another_kind_are_refused_at_resume(finished, tmp_path, monkeypatch, capsys, changes, message):
    stored = json.loads((finished / "tournament.json").read_text())
    (tmp_path / "tournament.json").write_text(json.dumps(stored | {"settings": stored["settings"] | changes}))
    assert call(monkeypatch, "--resume", tmp_path) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_full_disk_ends_a_tournament_with_a_sentence(tmp_path, monkeypatch, capsys):
    def no_room(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tournament, "append", no_room)
    assert tournament.hold(Tournament(**SETTINGS, run=str(tmp_path / "full"))) == 1
    assert "Make room on the disk, then continue with --resume" in " ".join(capsys.readouterr().out.split())


# -- ratings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fair", [50.0, 25.0])
def test_ratings_recover_the_strengths_that_made_the_shares(fair):
    true = np.array([1300.0, 1150.0, 1000.0, 900.0])
    odds = fair / (100 - fair) * 10 ** ((true[:, None] - true) / 400)
    percent = 100 * odds / (1 + odds)
    np.fill_diagonal(percent, np.nan)
    rating, error = standings.ratings(percent, np.full((4, 4), 0.001), fair, anchor=2)
    np.testing.assert_allclose(rating, true, atol=0.1)
    assert error[2] == 0
    assert (error[[0, 1, 3]] > 0).all()


def test_the_error_of_a_rating_is_that_of_its_share():
    percent, error = np.array([[np.nan, 60.0], [np.nan, np.nan]]), np.array([[np.nan, 1.0], [np.nan, np.nan]])
    rating, spread = standings.ratings(percent, error, 50.0, anchor=1)
    assert rating[0] == pytest.approx(1000 + 400 * math.log10(0.6 / 0.4), abs=0.2)
    # d rating / d share = 400 / ln 10 / (p (1 - p)), and the share is known to 0.01
    assert spread[0] == pytest.approx(400 / math.log(10) / 0.24 * 0.01, rel=0.01)


def test_who_always_wins_has_a_finite_rating_and_the_anchor_keeps_its_own():
    percent, error = np.array([[np.nan, 100.0], [0.0, np.nan]]), np.zeros((2, 2))
    rating, _ = standings.ratings(percent, error, 50.0, anchor=0)
    assert rating[0] == 1000
    assert -4000 < rating[1] < 0


# -- figures ----------------------------------------------------------------------------------------------------------


def test_a_figure_is_a_ratio_of_sums_with_the_error_of_its_residuals():
    part, whole = np.array([3.0, 1.0, 4.0, 1.0, 5.0]), np.array([2.0, 7.0, 1.0, 8.0, 2.0])
    assert ratio_and_error(moments(Counts(part, np.ones(5)))) == pytest.approx(
        (part.mean(), part.std(ddof=1) / math.sqrt(5))
    )
    ratio, error = ratio_and_error(moments(Counts(part, whole)))
    residual = part - ratio * whole
    assert ratio == pytest.approx(part.sum() / whole.sum())
    assert error == pytest.approx(math.sqrt((residual**2).sum() / 4 * 5) / whole.sum())
    assert all(map(math.isnan, ratio_and_error(moments(Counts(part, np.zeros(5))))))


def test_moments_of_parts_add_up():
    counts = Counts(np.arange(6.0), np.array([1.0, 2, 3, 1, 2, 3]))
    parts = [moments(Counts(*(each[:2] for each in counts))), moments(Counts(*(each[2:] for each in counts)))]
    assert standings.over_chunks({1: {"x": parts[1]}, 0: {"x": parts[0]}}) == {"x": ratio_and_error(moments(counts))}


def played(lineup, deals, states=None, returns=None, log=()):
    lineup = np.array(lineup)
    returns = np.zeros((deals, *lineup.shape)) if returns is None else jnp.asarray(returns, jnp.float32)
    return Played(states=SimpleNamespace(**states or {}), returns=returns, lineup=lineup, log=log)


def ratios(found):
    return {name: ratio_and_error(moments(counts))[0] for name, counts in found.items()}


class Waiting(NamedTuple):
    """All that `decide` reads of a state."""

    done: jax.Array
    current_player: jax.Array
    mask: jax.Array


@pytest.mark.parametrize("count", [5, 16, 17])
def test_agents_are_asked_where_they_are_to_move_and_have_a_choice(count):
    """Forced moves and ended games are nobody's; each agent says its own number, whatever part a game falls in."""
    rng = np.random.default_rng(0)
    mask = rng.random((count, 3)) < 0.6
    mask[np.arange(count), rng.integers(3, size=count)] = True
    states = Waiting(*map(jnp.asarray, (rng.random(count) < 0.2, rng.integers(2, size=count), mask)))
    table = jnp.tile(jnp.array([[0, 1]]), (count, 1))
    players = [lambda key, state, player, a=a: (10 * a + player).astype(jnp.int8) for a in (1, 2)]
    env = SimpleNamespace(num_actions=3, legal_action_mask=lambda state: state.mask)
    found = np.asarray(jax.jit(lambda: matches.decide(env, players, table, states, jax.random.key(0)))())
    is_forced = mask.sum(-1) == 1
    expected = np.where(is_forced, mask.argmax(-1), np.where(states.current_player == 0, 10, 21))
    np.testing.assert_array_equal(found[~states.done], expected[~states.done])


def test_who_is_sure_does_not_think():
    """The first agent is sure about small numbers and says them; only the other games reach its thoughts."""
    numbers = jnp.arange(16)
    states = Waiting(jnp.zeros(16, bool), numbers % 2, jnp.ones((16, 3), bool))
    table = jnp.tile(jnp.array([[0, 1]]), (16, 1))
    thought = []

    def think(key, state, player):
        jax.debug.callback(lambda number: thought.append(int(number)), state.number)
        return state.number + 100

    class Numbered(NamedTuple):
        done: jax.Array
        current_player: jax.Array
        mask: jax.Array
        number: jax.Array

    first = Thinker(lambda state, player: (state.number.astype(jnp.int8), state.number < 6), think)
    second = lambda key, state, player: jnp.int32(7)  # noqa: E731
    env = SimpleNamespace(num_actions=3, legal_action_mask=lambda state: state.mask)
    found = jax.jit(
        lambda: matches.decide(env, [first, second], table, Numbered(*states, numbers), jax.random.key(0))
    )()
    even = [number if number < 6 else number + 100 for number in range(0, 16, 2)]
    np.testing.assert_array_equal(found, np.stack([even, [7] * 8], axis=-1).ravel())
    jax.effects_barrier()
    assert set(range(6, 16, 2)) <= set(thought)
    assert len(thought) <= 3 * 2  # three parts of two games, where all eight would have been four


def test_who_plays_by_role_is_asked_where_its_role_is():
    """Either of two agents by the parity of a number, in both ways round: each agent speaks for its own games alone."""
    numbers = jnp.arange(16)
    states = Waiting(numbers % 2 == 1, numbers // 4 % 2, jnp.ones((16, 3), bool))
    is_odd = lambda state, player: state.done  # noqa: E731
    first, second = (lambda key, state, player, a=a: jnp.int32(a) for a in (5, 6))
    both = [Either(is_odd, first, second), Either(is_odd, second, first)]
    parts = matches.deciders(both, states.current_player, states, states.current_player)
    assert [agent for agent, _ in parts] == [first, second]  # each is asked once
    expected = np.where(numbers % 2 == numbers // 4 % 2, 5, 6)
    np.testing.assert_array_equal(np.where(parts[0][1], 5, 6), expected)
    np.testing.assert_array_equal(parts[0][1], ~parts[1][1])
    chosen = jax.vmap(lambda state, player: both[0](None, state, player))(states, states.current_player)
    np.testing.assert_array_equal(chosen, np.where(numbers % 2 == 1, 6, 5))


def test_schafkopf_counts_cents_a_game_and_seat_and_deals_won():
    env = jaxgames.make("schafkopf")
    protocol = protocol_of(env)
    assert protocol.lineup.tolist() == [[0, 0, 1, 1], [1, 1, 0, 0]]
    first = [[30, 10, -20, -20], [-60, 20, 20, 20]]  # agent 0 wins 40, then 40
    second = [[-20, -20, 20, 20], [20, 20, -20, -20]]  # loses 40, then 40
    third = [[-20, 20, 20, -20], [0, 0, 0, 0]]  # comes out even
    found = ratios(protocol.measure(env, played(protocol.lineup, 3, returns=[first, second, third])))
    assert found == {"cents": 0.0, "deals_won_percent": 50.0}
    found = ratios(protocol.measure(env, played(protocol.lineup, 1, returns=[first])))
    assert found == {"cents": 20.0, "deals_won_percent": 100.0}
    found = ratios(protocol.measure(env, played(1 - protocol.lineup, 1, returns=[first])))
    assert found == {"cents": -20.0, "deals_won_percent": 0.0}


def test_skyjo_counts_points_a_round():
    env = jaxgames.make("skyjo", num_players=2)
    protocol = protocol_of(env)
    scores = jnp.array([[[60, 110], [120, 40]]])  # [deal, rotation, seat]: agent 0 has 60 of 5 rounds, then 40 of 5
    view = played(protocol.lineup, 1, {"round_index": jnp.array([[5, 5]])})
    with pytest.MonkeyPatch.context() as patch:
        score = protocols.of_agent(view, 0, scores)
        patch.setattr(protocols, "wins_and_scores", lambda env, played: {"score": score})
        assert ratios(protocol.measure(env, view))["points_a_round"] == 10.0


def test_saboteur_counts_rounds_with_gold_and_casts_by_role():
    env = jaxgames.make("saboteur", num_players=3)
    won = jnp.array([[[MINERS, SABOTEURS, MINERS], [SABOTEURS, UNDECIDED, UNDECIDED]]])  # [deal, rotation, round]
    view = played([[0, 1, 1], [1, 0, 1]], 1, {"winners": won, "step_count": jnp.array([[30, 50]])})
    assert ratios(protocols.gold_and_steps(env, view)) == {"gold_found_percent": 50.0, "moves": 40.0}
    (act,) = protocol_of(env, "sides").cast(lambda *args: 1, lambda *args: 2)
    state = SimpleNamespace(roles=jnp.array([[False, True, False], [True, False, False]]), round=1)
    assert [int(act(None, state, seat)) for seat in range(3)] == [2, 1, 1]
    with pytest.raises(UserError, match="has none"):
        protocol_of(jaxgames.make("saboteur", variant="paths"), "sides")


def test_saboteur_roles_count_what_one_wins_as_miners_and_as_saboteurs():
    env = jaxgames.make("saboteur", num_players=3)
    protocol = protocol_of(env, "roles")
    assert protocol.lineup.tolist() == [[0, 0, 0], [1, 1, 1]]
    lost = [MINERS, SABOTEURS, SABOTEURS, SABOTEURS]  # by the other's miners, but for one round of four
    won = jnp.array([[[MINERS] * 4, lost]])  # [deal, rotation, round]
    found = ratios(protocol.measure(env, played(protocol.lineup, 1, {"winners": won})))
    assert found == {"wins_percent": 87.5, "as_miners_percent": 100.0, "as_saboteurs_percent": 75.0}
    assert protocol.is_symmetric  # so a tournament plays once, and asks what the other one achieved
    found = ratios(protocol.measure(env, played(1 - protocol.lineup, 1, {"winners": won})))
    assert found == {"wins_percent": 12.5, "as_miners_percent": 25.0, "as_saboteurs_percent": 0.0}
    state = SimpleNamespace(roles=jnp.array([[False, True, False]]), round=0)
    table = [
        [int(act(None, state, seat)) for seat in range(3)] for act in protocol.cast(lambda *args: 1, lambda *args: 2)
    ]
    assert table == [[1, 2, 1], [2, 1, 2]]
    with pytest.raises(UserError, match="roles of saboteur are in the full game"):
        protocol_of(jaxgames.make("saboteur", variant="paths"), "roles")
    together = protocol_of(env, "together")
    assert together.lineup.tolist() == [[0, 0, 0]]
    assert [act(None, state, 0) for act in together.cast(lambda *args: 1, lambda *args: 2)] == [1]


def test_magic_trick_counts_bids_prestige_and_the_highest_of_one_agent():
    env = jaxgames.make("magictrick")
    protocol = protocol_of(env)
    assert protocol.lineup.argmin(1).tolist() == [0, 1, 2, 3]  # agent 0 in seat r of rotation r

    def of_one(values, others):
        return jnp.where(jnp.eye(4, dtype=bool), jnp.array(values), others)[None]  # [deal, rotation, seat]

    states = {
        "scores": jnp.array([[[3, 1, 1, 0], [2, 2, 0, 0], [5, 0, 1, 0], [0, 0, 0, 4]]]),
        "bid": of_one([2, 3, 1, 4], 0),
        "tricks": of_one([2, 2, 1, 5], 0),
        "prestige": of_one([True, False, False, False], True),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            protocols, "wins_and_scores", lambda *args: dict.fromkeys(("score", "others_score", "wins_percent"))
        )
        found = protocol.measure(env, played(protocol.lineup, 1, states, log=of_one([8, 6, 4, 2], 100)))
    assert ratios({name: counts for name, counts in found.items() if counts}) == {
        "bid_made_percent": 50.0,
        "prestige_percent": 25.0,
        "highest_percent": 75.0,  # the second is shared
        "sole_highest_percent": 50.0,
        "hidden_at_bid": 5.0,
    }


@pytest.mark.parametrize(
    ("action", "done", "hidden"),
    [(BID_0, False, 9), (PASS_BID - 1, False, 9), (PASS_BID, False, 0), (BID_0 - 1, False, 0), (BID_0, True, 0)],
)
def test_magic_trick_counts_the_hidden_cards_of_who_bids(action, done, hidden):
    """A bid, not a card and not a pass, of a game that runs; seat 1 has shown five of fourteen."""
    watch = protocol_of(jaxgames.make("magictrick")).watch[1]
    shown = jnp.zeros((4, 14), bool).at[1, :5].set(True)
    before = SimpleNamespace(revealed=shown, current_player=1, done=jnp.bool_(done))
    assert watch(jnp.zeros(4, jnp.int32), before, jnp.int32(action), None).tolist() == [0, hidden, 0, 0]


def test_skull_king_counts_exact_bids_and_abilities_of_one_agent():
    env = jaxgames.make("skullking", num_players=2, hand_sizes=(1, 2))
    protocol = protocol_of(env)
    assert protocol.lineup.tolist() == [[0, 1], [1, 0]]
    own, fields = np.array([[[True, False], [False, True]]]), metrics.Counts._fields
    counts = metrics.Counts(*(jnp.where(own, 2.0 + i, 1000.0) for i in range(len(fields))))
    exact = jnp.array([[[2, 9], [9, 1]]])  # of two rounds each
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocols, "wins_and_scores", lambda *args: {})
        found = ratios(protocol.measure(env, played(protocol.lineup, 1, log=(exact, counts))))
    worth = {name: 2.0 + i for i, name in enumerate(fields)}
    expected = {name: unit * worth[part] / worth[whole] for name, (part, whole, unit) in metrics.RATIOS.items()}
    assert found == pytest.approx(expected | {"exact_bids_percent": 75.0})


def test_the_words_over_a_table_say_who_sits_where():
    cfg = Tournament(game="saboteur", agents=("rule", "random"), deals=40)
    env = jaxgames.make("saboteur", num_players=3)
    for protocol, words in (
        ("sides", "each played once: row agent as miners, column agent as saboteurs"),
        ("roles", "each played 2 times, so that both agents sit in every seat"),
        ("rotations", "each played 3 times: one row agent in every seat, column agents in all others"),
    ):
        assert words in standings.describe(cfg, protocol_of(env, protocol))


@pytest.mark.parametrize(
    ("game", "options", "names"),
    [
        (
            "skullking",
            {"num_players": 2, "hand_sizes": (1,)},
            {"wins_percent", "exact_bids_percent", "harry_save_rate"},
        ),
        ("skyjo", {"num_players": 2}, {"wins_percent", "points_a_round"}),
        ("saboteur", {"variant": "paths", "num_players": 2}, {"gold_found_percent", "moves"}),
        ("saboteur", {"num_players": 3, "rounds": 1}, {"gold_found_percent", "score"}),
        ("schafkopf", {}, {"cents", "deals_won_percent"}),
        ("magictrick", {}, {"points", "bid_made_percent", "hidden_at_bid"}),
    ],
)
def test_the_protocol_of_every_game_fits_it(game, options, names):
    env = jaxgames.make(game, **options)
    protocol = protocol_of(env)
    first = jax.eval_shape(jax.vmap(jax.vmap(env.init)), jax.random.split(jax.random.key(0), (2, len(protocol.lineup))))
    log = () if protocol.watch is None else protocol.watch[0]
    log = jax.tree.map(lambda leaf: jnp.zeros((2, len(protocol.lineup), *jnp.shape(leaf)), leaf.dtype), log)
    if protocol.watch is not None:
        one = jax.eval_shape(env.init, jax.random.key(0))
        after = jax.eval_shape(protocol.watch[1], protocol.watch[0], one, jnp.int32(0), one)
        assert jax.tree.map(jnp.shape, after) == jax.tree.map(jnp.shape, protocol.watch[0])
    returns = jnp.zeros((2, *protocol.lineup.shape), jnp.float32)
    found = jax.eval_shape(lambda states: protocol.measure(env, Played(states, returns, protocol.lineup, log)), first)
    assert names | {protocol.headline} <= set(found)
    assert not {"update", "steps", "seconds", "games", "return"} & set(found)  # columns of a run's log
    assert protocol.rating[0] in found
    assert {leaf.shape for leaf in jax.tree.leaves(found)} == {(2,)}


def test_the_players_of_the_rules_pages_exist():
    for game, page in references.PAGES.items():
        for line in page if game != "kuhn" else ():
            env = jaxgames.make(game, **line.options)
            agents.make(line.one, env), agents.make(line.rest, env)
            protocol_of(env, line.protocol)
            assert references.reference(env, line.protocol, line.one, line.rest, next(iter(line.figures)))
    other = SimpleNamespace(id="a game from outside")
    assert references.reference(other, "", "rule", "random", "wins_percent") is None
    assert (
        references.reference(jaxgames.make("skyjo", num_players=3), "", "ev_greedy", "random", "wins_percent") is None
    )


def test_strength_is_read_from_the_table_and_drawn_over_costs(finished, tmp_path, monkeypatch, capsys):
    table, costs = tmp_path / "table.csv", tmp_path / "costs.csv"
    table.write_bytes((finished / "table.csv").read_bytes())
    costs.write_text("agent," + ",".join(standings.COSTS) + "\nbold,0.25,3,12\n")
    monkeypatch.setattr("sys.argv", ["over_time.py", str(table), str(costs), "--against", "timid"])
    assert scripts.run(over_time.OverTime, over_time.draw, over_time.__doc__) == 0
    assert (tmp_path / "table_time.png").read_bytes().startswith(b"\x89PNG")
    figure, strength = over_time.read_strength(table, "timid")
    assert set(strength) == {"bold", "timid", "random"}  # it also played itself
    assert strength["bold"] == figures(finished)["bold", "timid", figure]
    with pytest.raises(UserError, match="no game against nobody"):
        over_time.read_strength(table, "nobody")
    with pytest.raises(UserError, match="no table of a tournament"):
        over_time.read_strength(costs, "timid")
