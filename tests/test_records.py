"""Games as data: what is written comes back, what is wrong is named, and what was played can be played again."""

import copy
import dataclasses
import gzip
import io
import json
import pickle
import random
import threading

import chex
import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import records
from jaxgames.host import Game
from jaxgames.records import Record, RecordError
from tests.sixth_game import BET, PASS, KuhnEnv
from tests.support import ROOT

DATA = ROOT / "tests" / "data"
DEAL = {"deck": [2, 0, 1]}  # seat 0 has the king, seat 1 the jack


@pytest.fixture(autouse=True, scope="module")
def kuhn():
    """The sixth game under a name: it compiles in a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(jaxgames._GAMES, "kuhn", "tests.sixth_game:KuhnEnv")
        yield


def game_of(*actions, deal=None):
    game = Game(KuhnEnv(), deal=deal or DEAL, players=("ann", "bob"))
    for action in actions:
        game.step(action)
    return game


def good(**changes):
    """A line of JSON as data: pass, bet, call; seat 0 wins two chips."""
    return json.loads(game_of(PASS, BET, BET).record().to_json()) | changes


# -- lines -----------------------------------------------------------------------------------------------------------


def test_a_line_holds_the_whole_game():
    assert good() == {
        "format": 1,
        "game": "kuhn",
        "version": 1,
        "options": {"num_players": 2},
        "deal": {"deck": [2, 0, 1]},
        "actions": [0, 1, 1],
        "players": ["ann", "bob"],
        "scores": [2, -2],
        "returns": [2.0, -2.0],
        "forfeit": False,
    }


def test_a_record_comes_back_with_whatever_else_it_holds():
    record = game_of(PASS, BET, BET).record(remarks=["well played"])
    again = records.parse(record.to_json())
    assert again == record
    assert again.more == {"remarks": ["well played"]}
    assert again.env == KuhnEnv()
    least = records.from_json({name: good()[name] for name in ("format", "game", "options", "deal", "actions")})
    assert (least.players, least.scores, least.returns, least.version) == ((), None, None, None)
    records.check(least)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\x00\xff\xfe\x80", "not UTF-8 text"),
        (b"[" * 100_000, "nested too deep"),
        (b"5", "not a record but 5"),
        (b"[1, 2]", "not a record but"),
        (b'{"format": 1, "actions": [' + b"9" * 5000 + b"]}", "not JSON"),
        (b"NaN", "NaN is not a number of JSON"),
        (b"{}", "format must be 1"),
        (b'{"format": 2}', "format must be 1 (or a test vector), got 2"),
        (b'{"format": true}', "got True"),
        (b'{"format": 1, "game": "kuhn"}', "has no options, deal, actions"),
        (b'{"game": "skyjo", "config": {}, "steps": []}', "has no deal"),
        (b'{"game": "skyjo", "config": {}, "deal": {}, "steps": [[1, 2]]}', "steps must be a list of [seat, legal"),
        (b'{"game": "skyjo", "config": {}, "deal": {}, "steps": 7}', "steps must be a list of [seat, legal"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_record_is_refused(line, words):
    with pytest.raises(RecordError) as refused:
        records.parse(line)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"game": 5}, "game must be a name, got 5"),
        ({"options": []}, "options must be an object, got []"),
        ({"deal": 5}, "deal must be an object, got 5"),
        ({"version": "1"}, "version must be an integer, got '1'"),
        ({"version": True}, "version must be an integer, got True"),
        ({"actions": "011"}, "actions must be a list of integers"),
        ({"actions": [0, True]}, "actions must be a list of integers"),
        ({"actions": [0, 1.0]}, "actions must be a list of integers"),
        ({"actions": [10**30]}, "actions must be a list of integers"),
        ({"actions": {"0": 1}}, "actions must be a list of integers"),
        ({"players": "ab"}, "players must be a list of printable names"),
        ({"players": ["\x1b[2J", "b"]}, "players must be a list of printable names"),
        ({"players": ["a" * 300, "b"]}, "players must be a list of printable names"),
        ({"scores": [None, 1]}, "scores must be a list of numbers"),
        ({"scores": [1e308, 1]}, "scores must be a list of numbers"),
        ({"returns": "2"}, "returns must be a list of numbers"),
        ({"forfeit": 1}, "forfeit must be true or false, got 1"),
    ],
    ids=str,
)
def test_wrong_types_are_named(changes, words):
    with pytest.raises(RecordError) as refused:
        records.from_json(good(**changes))
    assert words in str(refused.value)


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["games.jsonl", "games.jsonl.gz"])
def test_a_file_grows_line_by_line(name, tmp_path):
    path = tmp_path / name
    games = [game_of(PASS, PASS).record(), game_of(BET, PASS).record(), game_of(PASS, BET, PASS).record()]
    assert records.write(path, games[:1]) == 1
    assert records.write(path, iter(games[1:])) == 2
    assert list(records.stream(path)) == games
    with (gzip.open if name.endswith(".gz") else open)(path, "rb") as file:
        assert len(file.read().splitlines()) == 3


@pytest.mark.parametrize("name", ["games.jsonl", "games.jsonl.gz"])
def test_writers_do_not_mix_their_lines(name, tmp_path):
    path, one = tmp_path / name, game_of(PASS, PASS).record()
    long = dataclasses.replace(one, more={"remark": "x" * 100_000})
    threads = [threading.Thread(target=records.write, args=(path, [long] * 10)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(records.stream(path)) == [long] * 40


def test_half_a_line_is_taken_back(tmp_path):
    """A full disk takes some bytes and then no more: the file stays as it was."""

    class FullDisk(io.FileIO):
        def write(self, data):
            return super().write(data[:5])

    path = tmp_path / "games.jsonl"
    records.write(path, [game_of(PASS, PASS).record()])
    before = path.read_bytes()
    with FullDisk(path, "a+b") as file, pytest.raises(OSError, match="could not be written whole"):
        records._append(file, b"0123456789\n", is_text=True)
    assert path.read_bytes() == before


def test_half_a_line_left_by_a_crash_spoils_no_other(tmp_path):
    path, one = tmp_path / "games.jsonl", game_of(PASS, PASS).record()
    records.write(path, [one])
    path.write_bytes(path.read_bytes() + b'{"format": 1, "ga')
    records.write(path, [one])
    errors = []
    assert list(records.stream(path, skip=errors.append)) == [one, one]
    assert [error.line for error in errors] == [2]


def test_a_bad_line_is_refused_by_its_number_or_skipped(tmp_path):
    path, one = tmp_path / "games.jsonl", game_of(PASS, PASS).record().to_json()
    path.write_text(f"{one}\n\n{one}\n{{}}\n{one}\n5\n")  # the empty line counts
    stream = records.stream(path)
    assert [next(stream).actions, next(stream).actions] == [(0, 0), (0, 0)]
    with pytest.raises(RecordError, match=r"^line 4: format must be 1"):
        next(stream)
    errors = []
    assert len(list(records.stream(path, skip=errors.append))) == 3
    assert [str(error) for error in errors] == [
        "line 4: format must be 1 (or a test vector), got None",
        "line 6: not a record but 5",
    ]


def test_a_file_is_never_read_as_a_whole(tmp_path, monkeypatch):
    path, one = tmp_path / "games.jsonl", game_of(PASS, PASS).record()
    records.write(path, [one] * 50)
    parsed = []
    monkeypatch.setattr(records, "parse", lambda line, parse=records.parse: parsed.append(line) or parse(line))
    next(records.stream(path))
    assert len(parsed) == 1
    next(records.stream(path, check=True, chunk=8))
    assert len(parsed) == 1 + 8


def test_a_line_without_end_is_not_swallowed(tmp_path, monkeypatch):
    path, one = tmp_path / "games.jsonl", game_of(PASS, PASS).record()
    monkeypatch.setattr(records, "MAX_LINE", 1000)
    path.write_bytes(b"x" * 3500 + b"\n")
    records.write(path, [one])
    errors = []
    assert list(records.stream(path, skip=errors.append)) == [one]
    assert [str(error) for error in errors] == ["line 1: longer than 1000 bytes"]


def test_damaged_gzip_is_named_where_it_breaks(tmp_path):
    path, one = tmp_path / "games.jsonl.gz", game_of(PASS, PASS).record()
    records.write(path, [one] * 3)
    whole = path.read_bytes()
    for damaged, line, words in (
        (whole[:-20], 3, "the compressed file was cut off here"),
        (whole + b"\x1f\x8bnonsense" * 9, 4, "the file cannot be read from here on"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(RecordError, match=f"^line {line}: {words}"):
            list(records.stream(path))
        errors = []
        assert list(records.stream(path, skip=errors.append)) == [one] * (line - 1)
        assert len(errors) == 1
    path.write_bytes(random.Random(0).randbytes(5000))
    with pytest.raises(RecordError, match=r"^line 1: not "):
        list(records.stream(path))
    path.write_bytes(b"")
    assert list(records.stream(path)) == []
    with pytest.raises(FileNotFoundError):
        list(records.stream(tmp_path / "nowhere"))


def test_errors_can_be_sent_to_another_process():
    error = pickle.loads(pickle.dumps(RecordError("no such game", 7)))
    assert (str(error), error.reason, error.line) == ("line 7: no such game", "no such game", 7)


# -- checks ----------------------------------------------------------------------------------------------------------

WRONG = [
    ({"game": "poker"}, "unknown game 'poker'"),
    ({"options": {"colour": "red"}}, "unknown option 'colour'"),
    ({"options": {"num_players": 3}}, "kuhn: num_players must be in 2..2, got 3"),
    ({"options": {"num_players": []}}, "kuhn: num_players must be an integer"),
    ({"version": 7}, "played with version 7 of kuhn, but this is version 1"),
    ({"deal": {}}, "kuhn: deal must be a dict with the keys deck"),
    ({"deal": {"deck": 5}}, "kuhn: deal deck must be a permutation of the 3 ids 0..2 in play, got 5"),
    ({"deal": {"deck": [0, 1, 1]}}, "kuhn: deal deck must be a permutation"),
    ({"deal": {"deck": [0, 1, [2]]}}, "kuhn: deal deck must be a permutation"),
    ({"deal": {"deck": [0, 1, 10**40]}}, "kuhn: deal deck must be a permutation"),
    ({"deal": {"deck": [0, 1, True]}}, "kuhn: deal deck must be a permutation"),
    ({"actions": [0, 1, 2]}, "step 2, action 2, is not legal there"),
    ({"actions": [0, -1, 1]}, "step 1, action -1, is not legal there"),
    ({"actions": [0, 0, 1]}, "step 2, action 1, comes after the end of the game"),
    ({"actions": [0] * 4}, "4 actions, but such a game of kuhn has no more than 3"),
    ({"players": ["ann"]}, "players must be 2, one a seat, got 1"),
    ({"scores": [2]}, "scores must be 2, one a seat, got 1"),
    ({"scores": []}, "scores must be 2, one a seat, got 0"),
    ({"scores": [-2, 2]}, "scores are [-2, 2], but playing it again gives [2, -2]"),
    ({"returns": [2, 0]}, "returns are [2, 0], but playing it again gives [2.0, -2.0]"),
    ({"forfeit": True}, "forfeit is true, but the last action is legal"),
    ({"actions": [0, 2, 1], "forfeit": True}, "step 1, action 2, is not legal there"),
    ({"actions": [0, 0, 2], "forfeit": True}, "step 2, action 2, comes after the end of the game"),
]


def test_a_record_that_breaks_the_rules_is_named(tmp_path):
    """One file: a good line before each bad one. The good ones come through, the bad ones are named by line."""
    path = tmp_path / "games.jsonl"
    path.write_text("".join(f"{json.dumps(good())}\n{json.dumps(good(**changes))}\n" for changes, _ in WRONG))
    errors = []
    assert len(list(records.stream(path, check=True, skip=errors.append, chunk=16))) == len(WRONG)
    assert [error.line for error in errors] == list(range(2, 2 * len(WRONG) + 1, 2))
    for error, (changes, words) in zip(errors, WRONG, strict=True):
        assert words in str(error), changes
    with pytest.raises(RecordError, match=r"^line 2: .*unknown game 'poker'"):
        list(records.stream(path, check=True))
    with pytest.raises(RecordError, match="comes after the end"):
        records.check(records.from_json(good(actions=[0, 0, 1])))


@pytest.mark.parametrize("actions", [(), (PASS,), (PASS, BET), (BET, PASS)])
def test_unfinished_games_are_records_too(actions):
    record = game_of(*actions).record()
    records.check(record)
    assert record.actions == actions


def test_a_forfeit_says_so():
    """The last action is illegal, ends the game and costs the penalty: a record holds that, and no other."""
    forfeit = records.from_json(good(actions=[0, 2], forfeit=True, scores=[0, 0], returns=[0, -2]))
    records.check(forfeit)
    game = Game.from_record(forfeit)
    assert game.is_over
    assert game.winners == []
    assert game.record() == forfeit


@pytest.mark.parametrize("name", jaxgames.games())
def test_the_recorded_games_of_the_tests_are_good(name):
    """Format 0, of every game: legal actions, the score where it is a list, all that was paid."""
    stream = records.stream(DATA / f"{name}.jsonl.gz")
    record = next(record for record in stream if len(record.actions) < 100)
    records.check(record)
    assert record.version is None
    assert {"steps", "rewards", "final", "obs"} <= record.more.keys()
    assert record.returns is None or len(record.returns) == record.env.num_players
    wrong = dataclasses.replace(record, returns=[999.0] * record.env.num_players)
    (reason,) = records.problems([wrong])
    assert reason.startswith("returns are [999.0")


def test_a_vector_that_ends_with_an_illegal_action_is_a_forfeit():
    first = next(records.stream(DATA / "schafkopf.jsonl.gz"))
    assert first.forfeit
    assert first.more["final"]["scores"]["illegal"] == 1
    assert first.returns == (0.0, 0.0, 0.0, -2520.0)


# -- playing again ---------------------------------------------------------------------------------------------------


def test_a_batch_on_the_device_is_the_games_on_the_host():
    lines = [(BET, BET), (PASS, BET, PASS), (), (PASS,), (PASS, PASS)]
    games = [game_of(*actions, deal={"deck": deck}) for actions, deck in zip(lines, [[0, 1, 2]] * 5, strict=True)]
    played = jax.device_get(records.replay([game.record() for game in games], masks=True))
    assert played.lengths.tolist() == [2, 3, 0, 1, 2]
    assert played.env == KuhnEnv()
    for lane, game in enumerate(games):
        count = len(game.actions)
        for step, state in enumerate(game.states):
            ours = jax.tree.map(lambda leaf, step=step, lane=lane: leaf[lane, step], played.states)
            chex.assert_trees_all_equal(ours, state)
        assert played.legal[lane].tolist() == [True] * count + [False] * (64 - count)
        assert played.over[lane, -1] == game.is_over
        assert played.rewards[lane].sum(0).tolist() == game.returns
        assert played.masks[lane, :count].all()
        behind = jax.tree.map(lambda leaf, lane=lane: leaf[lane, -1], played.states)
        chex.assert_trees_all_equal(behind, game.state.replace(rewards=np.zeros(2, np.float32)))
    ends = jax.device_get(records.replay([game.record() for game in games], states=False))
    assert ends.states.terminated[:, -1].tolist() == [game.is_over for game in games]
    assert ends.masks is None


def test_a_batch_is_of_one_env():
    kuhn, other = game_of(PASS).record(), next(records.stream(DATA / "skyjo.jsonl.gz"))
    with pytest.raises(ValueError, match="games of equal envs"):
        records.replay([kuhn, other])
    with pytest.raises(ValueError, match="at least one"):
        records.replay([])
    with pytest.raises(RecordError, match="deal deck must be a permutation"):
        records.replay([kuhn, records.from_json(good(deal={"deck": [1, 1, 1]}))])
    batches = list(records.batches([kuhn, other, kuhn, kuhn, other], size=2))
    assert batches == [[kuhn, kuhn], [other, other], [kuhn]]


# -- noise -----------------------------------------------------------------------------------------------------------

JUNK = [None, True, -1, 0, 1.5, 2**31, 2**70, "", "x", "\ud800", [], [[]], [0], {}, {"a": 1}, [1, [2]], ["x"], [None]]


def test_noise_is_refused_and_nothing_else_happens():
    """Bytes of a good line changed at random: a record, or a RecordError."""
    rng, line = random.Random(1), bytearray(json.dumps(good()).encode())
    for _ in range(3000):
        noisy = bytearray(line)
        for _ in range(rng.randint(1, 4)):
            noisy[rng.randrange(len(noisy))] = rng.randrange(256)
        try:
            records.parse(bytes(noisy[: rng.randint(1, len(noisy))] if rng.random() < 0.2 else noisy))
        except RecordError:
            continue


@pytest.mark.parametrize("name", jaxgames.games())
def test_junk_in_deals_and_options_is_refused(name):
    """Any part of a deal or of the options replaced by something else: read, or a RecordError. Never another error."""
    rng, refused = random.Random(2), 0
    env = jaxgames.make(name)
    page = next(records.stream(DATA / f"{name}.jsonl.gz"))
    drawn = records.plain(jax.device_get(env.deal(jax.random.key(0))))
    parts = [(page.env, "deal", page.deal), (env, "deal", drawn), (env, "options", records.plain(env.options))]
    for turn in range(300):
        its_env, part, data = parts[turn % 3]
        data = copy.deepcopy(data)
        spoil(data, rng)
        try:
            if part == "deal":
                records.first_state(its_env, data)
            else:
                hash(Record(game=name, options=data, deal={}, actions=()).env)
        except RecordError:
            refused += 1
    assert refused > 150


def spoil(node, rng):
    """Replace one part of nested data, deep or shallow, by junk."""
    while True:
        key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
        if isinstance(node[key], (dict, list)) and node[key] and rng.random() < 0.7:
            node = node[key]
            continue
        node[key] = rng.choice(JUNK)
        return
