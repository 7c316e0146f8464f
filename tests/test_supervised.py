"""Learning from games: made by one command, imitated, taught by search; and a table that is studied until it loses.

All on Kuhn poker, where every result is known.
"""

import dataclasses
import errno
import json
import shutil
import signal
import sys
from types import SimpleNamespace

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from agents import networks
from jaxgames import records
from jaxgames.options import UserError
from tests.sixth_game import BET, PASS, KuhnEnv
from tests.support import held_by_another
from train import expert, exploit, folders, make_games, studies, supervised
from train.expert import Expert
from train.exploit import Exploit
from train.make_games import Games
from train.opponents import Sides
from train.ppo import Task
from train.settings import RunConfig
from train.studies import Student
from train.supervised import Config, Decisions

KUHN = KuhnEnv()


@dataclasses.dataclass(frozen=True)
class KuhnConfig(RunConfig):
    """A training page for Kuhn poker."""

    envs: int = 64
    steps: int = 16
    minibatches: int = 4
    epochs: int = 4
    learning_rate: float = 1e-2


def kuhn_task(cfg):
    from train import opponents

    return Task(networks.make("mlp", KUHN, widths=(16,)), opponents.parse(cfg.opponents))


@pytest.fixture(autouse=True, scope="module")
def kuhn():
    """Kuhn poker as a game like any other, with one player who always bets and one who never does."""
    always = {"bold": BET, "timid": PASS}
    players = {name: lambda env, a=action: lambda key, state, player: jnp.int32(a) for name, action in always.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(jaxgames._GAMES, "kuhn", "tests.sixth_game:KuhnEnv")
        patch.setitem(sys.modules, "agents.kuhn", SimpleNamespace(AGENTS=players))
        patch.setitem(sys.modules, "train.ppo_kuhn", SimpleNamespace(Config=KuhnConfig, make_task=kuhn_task))
        yield


# -- making games -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    """Forty games: seat 0 always bets, seat 1 never does."""
    path = tmp_path_factory.mktemp("games") / "kuhn.jsonl"
    assert make_games.make(Games("kuhn", ("bold", "timid"), str(path), games=40, batch=16)) == 0
    return path


def test_games_are_records_that_can_be_played_again(games):
    found = list(records.stream(games, check=True))
    assert len(found) == 40
    assert all(record.players == ("bold", "timid") and record.actions == (BET, PASS) for record in found)
    assert all(record.returns == (1, -1) for record in found)
    assert len({str(record.deal) for record in found}) == 6  # all orders of three cards


def test_making_games_goes_on_to_the_same_bytes(games, tmp_path):
    lines = games.read_text().splitlines(keepends=True)
    copy = tmp_path / "kuhn.jsonl"
    copy.write_text("".join(lines[:19]) + lines[19][:30])  # stopped in the middle of a line and of a batch
    assert make_games.make(Games("kuhn", ("bold", "timid"), str(copy), games=40, batch=16)) == 0
    assert copy.read_bytes() == games.read_bytes()
    with pytest.raises(UserError, match="other agents"):
        make_games.make(Games("kuhn", ("timid", "bold"), str(copy), games=50, batch=16))
    assert copy.read_bytes() == games.read_bytes()


def test_a_file_of_games_is_written_by_one_process_at_a_time(games, tmp_path):
    copy = tmp_path / "kuhn.jsonl"
    shutil.copy(games, copy)
    cfg = Games("kuhn", ("bold", "timid"), str(copy), games=50, batch=16)
    with (
        held_by_another(tmp_path / ".kuhn.jsonl.lock"),
        pytest.raises(UserError, match=r"another process is at work on .*kuhn\.jsonl"),
    ):
        make_games.make(cfg)
    assert copy.read_bytes() == games.read_bytes()
    assert make_games.make(cfg) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["kuhn.jsonl"]


def test_making_games_stops_after_a_batch_when_it_is_asked_to(games, tmp_path, monkeypatch, capsys):
    copy, write = tmp_path / "kuhn.jsonl", records.write

    def interrupted(*args):
        signal.raise_signal(signal.SIGTERM)
        write(*args)

    order = Games("kuhn", ("bold", "timid"), str(copy), games=40, batch=16)
    with monkeypatch.context() as patch:
        patch.setattr(records, "write", interrupted)
        assert make_games.make(order) == 128 + signal.SIGTERM
    assert "Stopped after 16 games; the same command goes on." in capsys.readouterr().err
    assert make_games.make(order) == 0
    assert copy.read_bytes() == games.read_bytes()


@pytest.mark.parametrize("text", ["a letter without an end", "a letter\nwithout an end", "{}", "\n"])
def test_a_file_of_something_else_is_left_as_it_is(tmp_path, text):
    path = tmp_path / "letter.txt"
    path.write_text(text)
    with pytest.raises(UserError, match=r"letter\.txt holds games of other agents"):
        make_games.make(Games("kuhn", ("bold", "timid"), str(path), games=40, batch=16))
    assert path.read_text() == text


def test_games_that_cannot_be_written_end_with_a_sentence(games, tmp_path, monkeypatch, capsys):
    """In a folder's place, below a file, and where the disk is full: whole games are kept."""
    copy = tmp_path / "kuhn.jsonl"
    shutil.copy(games, copy)
    order = Games("kuhn", ("bold", "timid"), str(copy), games=50, batch=16)
    for out in (tmp_path, copy / "below.jsonl"):
        assert make_games.make(dataclasses.replace(order, out=str(out))) == 1
        assert "Stopped: " in capsys.readouterr().err

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(records, "write", full)
    assert make_games.make(order) == 1
    assert "No space left on device. Make room on the disk; the same command goes on." in capsys.readouterr().err
    assert copy.read_bytes() == games.read_bytes()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"field": ("widths=abc",)}, "field = widths=abc cannot be made"),
        ({"field": ("widths=[0]",)}, r"field = widths=\[0\] cannot be made: (a layer would have no units|.* by zero)"),
        ({"field": ("layers=2",)}, "unexpected keyword argument 'layers'"),
        ({"observation": "all"}, "observation = all and field = none cannot be made"),
        ({"network": "oracle"}, "kind must be one of"),
    ],
)
def test_a_network_that_cannot_be_made_is_refused(games, tmp_path, settings, message):
    cfg = Config(games=str(games), **{"network": "mlp", "run": str(tmp_path / "none")} | settings)
    with pytest.raises(UserError, match=message):
        supervised.study(cfg)
    assert not (tmp_path / "none").exists()


def test_bad_orders_of_games_are_refused():
    with pytest.raises(UserError, match="out must name a file, got ''"):
        Games("kuhn", ("bold",), "")
    for agents, message in ((("bold",) * 3, "one a seat"), (("brave",), "unknown agent")):
        with pytest.raises(UserError, match=message):
            make_games.make(Games("kuhn", agents, "nowhere.jsonl"))
    with pytest.raises(UserError, match="packed"):
        Games("kuhn", ("bold",), "games.jsonl.gz")


# -- imitation --------------------------------------------------------------------------------------------------------

SETTINGS = {
    "network": "mlp",
    "field": ("widths=(16,)",),
    "epochs": 4,
    "chunk": 12,
    "minibatch": 16,
    "learning_rate": 0.02,
}


@pytest.fixture(scope="module")
def finished(games, tmp_path_factory):
    folder = tmp_path_factory.mktemp("imitation") / "whole"
    assert supervised.study(Config(games=str(games), **SETTINGS, run=str(folder))) == 0
    return folder


def test_players_who_always_do_the_same_are_imitated_perfectly(finished):
    rows = (finished / "metrics.csv").read_text().splitlines()
    assert "top1_percent" in rows[0]
    assert "| 100.00 % | 100.00 % |" in (finished / "evaluation.md").read_text()
    assert "36 games learned" in (finished / "evaluation.md").read_text()
    assert (finished / "curve.png").exists()


def test_imitation_goes_on_bit_for_bit(finished, tmp_path):
    """Stopped in the middle of an epoch."""
    copy = tmp_path / "stopped"
    shutil.copytree(finished, copy)
    manifest = json.loads((copy / "checkpoints" / "11" / "manifest.json").read_text())
    assert manifest["update"] == 11  # of 12, three an epoch
    shutil.rmtree(copy / "checkpoints" / "12")
    assert supervised.study(supervised.resumed(str(copy))) == 0
    whole, stopped = (networks.load(str(folder), KUHN)[1] for folder in (finished, copy))
    chex.assert_trees_all_equal(whole, stopped)
    assert (copy / "metrics.csv").read_text() == (finished / "metrics.csv").read_text()


def test_a_study_goes_on_in_one_process_at_a_time(finished):
    before = sorted((path, path.stat().st_mtime_ns) for path in finished.rglob("*"))
    with held_by_another(finished / "config.json"), pytest.raises(UserError, match="another process is at work in"):
        supervised.study(supervised.resumed(str(finished)))
    assert sorted((path, path.stat().st_mtime_ns) for path in finished.rglob("*")) == before


def test_a_study_that_cannot_be_saved_ends_with_a_sentence(finished, tmp_path, monkeypatch, capsys):
    """Also when Ctrl-C asks for one checkpoint more."""
    copy = shutil.copytree(finished, tmp_path / "copy")
    shutil.rmtree(copy / "checkpoints" / "12")

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    def interrupted(text, *args):
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(folders.checkpoints, "save", full)
        assert supervised.study(supervised.resumed(str(copy))) == 1
        patch.setattr(studies, "math", SimpleNamespace(isfinite=lambda loss: interrupted(loss) or True))
        config = json.loads((copy / "config.json").read_text())
        (copy / "config.json").write_text(json.dumps(config | {"checkpoint_every": 5, "keep": 9}))
        manifest = copy / "checkpoints" / "11" / "manifest.json"
        about = json.loads(manifest.read_text())
        about["config"] |= {"checkpoint_every": 5, "keep": 9}
        manifest.write_text(json.dumps(about))
        assert supervised.study(supervised.resumed(str(copy))) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("No space left on device. Make room on the disk, then continue with --resume") == 2
    assert [path.name for path in (copy / "checkpoints").iterdir()] == ["11"]
    with monkeypatch.context() as patch:
        patch.setattr(folders.Folder, "write_log", full)
        with pytest.raises(UserError, match=r"copy cannot be written \(.*No space left"):
            supervised.study(supervised.resumed(str(copy)))


def test_bad_lines_are_named_and_passed_over(games, tmp_path, capsys):
    lines = games.read_text().splitlines()
    lines[3] = lines[3][:-20]
    lines[6] = lines[6].replace('"actions":[1,0]', '"actions":[1,0,1]')
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(lines) + "\n")
    count, env = supervised.survey(str(path))
    named = capsys.readouterr().err.splitlines()
    assert (count, env) == (38, KUHN)
    assert [line.split(":")[1].strip() for line in named] == ["line 4", "line 7"]
    assert "step 2" in named[1]


def test_the_loss_is_the_mean_of_minus_log_probability():
    """Of those rows that count, against the probabilities themselves; and what would be played."""
    model = networks.make("mlp", KUHN, widths=(16,))
    params = jax.tree.map(lambda leaf: 5 * leaf, jax.jit(model.init)(jax.random.key(0)))
    decks = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    states = jax.tree.map(
        lambda *leaves: jnp.stack(leaves), *(KUHN.init(jax.random.key(0), deal={"deck": deck}) for deck in decks)
    )
    actions, weight = np.array([BET, PASS, BET, PASS]), np.array([1.0, 1.0, 1.0, 0.0])
    nats, agreed = supervised.judge(model, params, Decisions(states, jnp.asarray(actions), jnp.asarray(weight)))
    logits = [
        np.asarray(model.read(params, model.look(KUHN.init(jax.random.key(0), deal={"deck": d}), 0)).heads)
        for d in decks
    ]
    probability = [np.exp(row) / np.exp(row).sum() for row in logits]
    np.testing.assert_allclose(nats, -np.mean([np.log(probability[i][actions[i]]) for i in range(3)]), rtol=1e-5)
    np.testing.assert_allclose(agreed, np.mean([probability[i].argmax() == actions[i] for i in range(3)]))


def test_lessons_are_all_games_but_the_last_of_every_ten(games):
    """Epoch after epoch, in the order of the file, whichever lesson comes first."""
    every = list(records.stream(games))
    learned = [record for i, record in enumerate(every) if i % 10 != 9]
    lessons = supervised.Lessons(Config(games=str(games), chunk=12), chunks=3)
    assert [record for number in range(6) for record in lessons[number]] == learned + learned
    assert supervised.Lessons(Config(games=str(games), chunk=12), chunks=3)[4] == learned[12:24]
    assert list(supervised.held_out_games(str(games))) == every[9::10]


def test_only_decisions_with_a_choice_teach_each_in_the_state_before_it(monkeypatch):
    """Two games of two steps and of one; the second step of the first was forced."""
    played = SimpleNamespace(
        states={"number": np.array([[10, 11, 12], [20, 21, 22]])},
        legal=np.array([[True, True], [True, False]]),
        masks=np.array([[[1, 1, 0], [0, 1, 0]], [[1, 0, 1], [1, 1, 1]]], bool),
    )
    monkeypatch.setattr(supervised.records, "replay", lambda games, masks: played)
    two = [SimpleNamespace(env=KUHN, actions=actions) for actions in ((1, 1), (2,))]
    states, actions, rows = supervised.decisions_of(two)
    assert rows.tolist() == [0, 2]
    assert states["number"][rows].tolist() == [10, 20]
    assert actions[rows].tolist() == [1, 2]


def test_accuracy_is_over_decisions_and_without_a_choice_everybody_is_right(monkeypatch):
    """Three choices in minibatches of two, two of them as played, and two forced moves: 2 of 3, 4 of 5."""
    monkeypatch.setattr(supervised, "decisions_of", lambda games: ({}, np.arange(5), np.array([0, 2, 3])))
    says = iter([(1.0, 1.0), (4.0, 0.0)])
    cfg, five = Config(games="any", minibatch=2), [SimpleNamespace(actions=range(5))]
    found = supervised.measure(cfg, lambda params, decisions: next(says), None, five)
    assert found == pytest.approx({"held_out_loss": 2.0, "top1_percent": 200 / 3, "top1_of_all_percent": 80.0})


def test_the_learning_rate_falls_in_a_straight_line():
    """The first step of Adam is as long as the rate."""
    model = networks.make("mlp", KUHN, widths=(4,))
    params, cfg = model.init(jax.random.key(0)), Config(games="any", learning_rate=0.01, final_learning_rate=0.002)
    one = jax.tree.map(lambda leaf: leaf[None], KUHN.init(jax.random.key(0)))
    lesson = Decisions(one, jnp.array([BET]), jnp.ones(1))

    @jax.jit
    def length(update):
        student = Student(params, supervised.optax.scale_by_adam().init(params), jax.random.key(0), update)
        after = supervised.learn(cfg, model, 8, student, lesson)[0].params
        return jnp.stack([abs(b - a).max() for a, b in zip(*map(jax.tree.leaves, (params, after)), strict=True)]).max()

    np.testing.assert_allclose([length(jnp.int32(i)) for i in (0, 4, 8)], [0.01, 0.006, 0.002], rtol=1e-3)


def test_ten_decisions_are_learned_by_heart():
    """Ten positions of Schafkopf with ten answers that no rule explains."""
    env = jaxgames.make("schafkopf")
    model = networks.make("mlp", env, "full", widths=(32,))
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 10))
    choices = jnp.asarray([0, 4, 5, 6, 7, 8, 0, 4, 5, 6])  # legal with every hand (SC-9)
    ten = Decisions(states, choices, jnp.ones(10))
    start = jax.jit(model.init)(jax.random.key(1))
    student = Student(start, supervised.optax.scale_by_adam().init(start), jax.random.key(0), jnp.int32(0))
    cfg = Config(games="any", learning_rate=0.01)
    step = jax.jit(lambda student: supervised.learn(cfg, model, 100, student, ten))
    for _ in range(60):
        student, _ = step(student)
    nats, agreed = supervised.judge(model, student.params, ten)
    assert float(agreed) == 1
    assert float(nats) < 0.1


def test_networks_that_point_are_taught_and_those_that_wish_are_refused(tmp_path):
    """Saboteur: a placement is taught as the point it lies on; a Gaussian wish has no action to be taught."""
    path = tmp_path / "mine.jsonl"
    options = ("variant=paths", "num_players=1", "goal_x=2")
    assert make_games.make(Games("saboteur", ("rule",), str(path), games=10, option=options, batch=10)) == 0
    taught = {"epochs": 1, "chunk": 9, "minibatch": 64, "run": str(tmp_path / "taught")}
    assert supervised.study(Config(games=str(path), network="pointer", field=("width=8",), **taught)) == 0
    rows = (tmp_path / "taught" / "metrics.csv").read_text().splitlines()
    loss = float(dict(zip(rows[0].split(","), rows[1].split(","), strict=True))["loss"])
    assert 0 < loss < np.log(12 * 24 + 1)  # nats of a guess among all choices: legal ones are told apart
    with pytest.raises(UserError, match="cannot be taught"):
        supervised.study(Config(games=str(path), network="hybrid", run=str(tmp_path / "wish")))


# -- expert iteration and exploitation --------------------------------------------------------------------------------


def test_a_network_is_taught_by_its_own_search_and_measured_against_itself(finished, tmp_path, capsys):
    cfg = Expert(
        "kuhn",
        str(finished),
        teacher="rollouts:{network},worlds=8,actions=2",
        rounds=1,
        games=20,
        batch=20,
        deals=4,
        run=str(tmp_path / "expert"),
    )
    assert expert.iterate(cfg) == 0
    text = (tmp_path / "expert" / "expert.md").read_text()
    assert [line.split(" | ")[0] for line in text.splitlines()[4:]] == [
        "| the teacher with the first network",
        "| the network after round 1",
    ]
    games = (tmp_path / "expert" / "games1.jsonl").read_bytes()
    assert expert.iterate(cfg) == 0  # nothing is left to do but the table
    assert (tmp_path / "expert" / "games1.jsonl").read_bytes() == games
    assert (tmp_path / "expert" / "expert.md").read_text() == text


def test_who_never_bets_loses_every_game_to_a_learner(tmp_path):
    """Against `timid` every bet wins: 100 % of the games, 50 points above an equal share."""
    cfg = Exploit("kuhn", ("timid",), total_steps=40 * 64 * 16, deals=32, run=str(tmp_path / "study"))
    assert exploit.exploit(cfg) == 0
    text = (tmp_path / "study" / "exploit.md").read_text()
    assert "| `timid` | 50.0 ± 0.0 |" in text
    assert (tmp_path / "study" / "exploit.png").exists()
    assert exploit.exploit(cfg) == 0  # it is not studied again
    with pytest.raises(UserError, match=r"is a study of \['timid'\], not of bold"):
        exploit.exploit(dataclasses.replace(cfg, agents=("bold",)))
    with pytest.raises(UserError, match="no setting"):
        exploit.exploit(dataclasses.replace(cfg, agents=("bold",), setting=("depth=3",), run=str(tmp_path / "other")))


def test_an_exploiter_is_measured_in_its_one_seat_against_an_equal_share():
    """Of four equals one wins a quarter of the games; what is paid in cents sums to nothing."""
    for headline, expected in (("wins_percent", ("wins_percent", 25.0)), ("cents", ("cents", 0.0))):
        task = SimpleNamespace(protocol=SimpleNamespace(headline=headline), env=SimpleNamespace(num_players=4))
        assert exploit.measured_by(task) == expected
    two_and_two = Sides(lambda state: None, 0.5)
    page = SimpleNamespace(make_task=lambda settings: Task(settings, measure="sides", sides=two_and_two))
    assert exploit.at_one_seat(page, "model") == Task("model", measure="rotations")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("envs=many", "envs must be an integer of 64 bits, got 'many'"),
        ("envs=64.0", "envs must be an integer of 64 bits, got 64.0"),
        ("gamma=None", "gamma must be a finite number, got None"),
        ("total_steps=5", "total_steps is not for --setting to say"),
        ("resume=elsewhere", "resume is not for --setting to say"),
    ],
)
def test_settings_of_a_study_are_refused_by_name(tmp_path, setting, message):
    with pytest.raises(UserError, match=message):
        exploit.exploit(Exploit("kuhn", ("timid",), setting=(setting,), run=str(tmp_path / "study")))
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (Config, {"games": 3}, "games must be text, got 3"),
        (Config, {"games": "any", "epochs": 1.5}, "epochs must be an integer of 64 bits, got 1.5"),
        (Config, {"games": "any", "learning_rate": float("inf")}, "learning_rate must be a finite number, got inf"),
        (Config, {"games": "any", "field": (1,)}, r"field must be a list, each text, got \(1,\)"),
        (Config, {"games": "any", "seed": -1}, "seed must not be below 0, got -1"),
        (Games, {"game": "kuhn", "agents": "bold", "out": "any"}, "agents must be a list, each text, got 'bold'"),
        (Games, {"game": "kuhn", "agents": ("bold",), "out": None}, "out must be text, got None"),
        (Expert, {"game": "kuhn", "network": "any", "learning_rate": -1.0}, "learning_rate must be above 0, got -1.0"),
        (Expert, {"game": "kuhn", "network": "any", "seed": -1}, "seed must not be below 0, got -1"),
        (Expert, {"game": "kuhn", "network": "any", "batch": 2.0}, "batch must be an integer of 64 bits, got 2.0"),
        (Exploit, {"game": "kuhn", "agents": (1,)}, r"agents must be a list, each text, got \(1,\)"),
    ],
)
def test_settings_of_another_kind_are_refused_before_anything_is_played(config, settings, message):
    with pytest.raises(UserError, match=message):
        config(**settings)


def test_a_teacher_may_hold_other_braces(monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(make_games, "make", lambda games: made.append(games) or 1)
    cfg = Expert("kuhn", "first", teacher="rollouts:{network},{worlds}", games=40)
    assert expert.teach(cfg, "second", 1, tmp_path / "games.jsonl", tmp_path / "round") == 1
    assert made[0].agents == ("rollouts:second,{worlds}",)


def test_every_round_of_a_teacher_plays_other_deals(monkeypatch, tmp_path):
    made, studied = [], []
    monkeypatch.setattr(make_games, "make", lambda games: made.append(games) or 0)
    monkeypatch.setattr(supervised, "study", lambda cfg: studied.append(cfg) or 0)
    cfg = Expert("kuhn", "first", teacher="rollouts:{network},worlds=4", games=40, seed=7)
    for number, network in enumerate(("first", "second")):
        assert expert.teach(cfg, network, number, tmp_path / f"{number}.jsonl", tmp_path / str(number)) == 0
    assert [(each.agents, each.seed) for each in made] == [
        (("rollouts:first,worlds=4",), 7),
        (("rollouts:second,worlds=4",), 8),
    ]
    assert [(each.start_from, each.chunk) for each in studied] == [("first", 4), ("second", 4)]


def test_a_student_keeps_a_share_of_what_its_teacher_gains(monkeypatch):
    """Of Kuhn poker's 50 %: a teacher of 60 gains 10, a student of 54 keeps two fifths of it. Both play the first."""
    wins = {"rollouts:first": 60.0, "ppo:second,greedy": 54.0}
    monkeypatch.setattr(expert.agents, "make", lambda spec, env: spec)

    def versus(env, one, rest, seed, deals):
        assert rest == "ppo:first,greedy"
        return {"wins_percent": (wins[one], 1.0)}

    monkeypatch.setattr(expert, "versus", versus)
    text = expert.report(Expert("kuhn", "first", teacher="rollouts:{network}"), KUHN, ["first", "second"])
    assert text.splitlines()[-2:] == [
        "| the teacher with the first network | 60.00 ± 1.00 | +10.00 | 100 % |",
        "| the network after round 1 | 54.00 ± 1.00 | +4.00 | 40 % |",
    ]


def test_where_no_share_is_fair_a_gain_is_over_what_the_first_network_gets_from_its_like(monkeypatch):
    """As in Magic Trick, whose points are not dealt out among the seats."""
    points = {"rollouts:first": 2.5, "ppo:second,greedy": 1.25, "ppo:first,greedy": 1.0}
    monkeypatch.setattr(expert.agents, "make", lambda spec, env: spec)
    monkeypatch.setattr(expert, "versus", lambda env, one, rest, seed, deals: {"points": (points[one], 0.1)})
    cfg = Expert("magictrick", "first", teacher="rollouts:{network}")
    text = expert.report(cfg, jaxgames.make("magictrick"), ["first", "second"])
    assert text.splitlines()[-2:] == [
        "| the teacher with the first network | 2.50 ± 0.10 | +1.50 | 100 % |",
        "| the network after round 1 | 1.25 ± 0.10 | +0.25 | 17 % |",
    ]


def test_curves_of_studies_show_what_is_won_above_the_share(monkeypatch):
    drawn = []
    monkeypatch.setattr(exploit.compare, "curve", lambda folders, figure: [(1000, 62.5, 2.0)])
    monkeypatch.setattr(exploit.compare, "draw", lambda curves, title, path: drawn.append(curves))
    exploit.draw({"timid": "folder"}, "wins_percent", 50.0, "picture.png")
    assert drawn == [{"timid": [(1000, 12.5, 2.0)]}]
