"""Games as data: one JSON line a game, written, read as a stream, checked, and played again on the device.

>>> records.write("games.jsonl.gz", [game.record() for game in games])
>>> for record in records.stream("games.jsonl.gz", check=True):
...     print(record.game, record.players, record.scores)

A line of format 1 is an object with these fields; `more` is whatever else it holds.

    format 1   game   version (of the game)   options   deal   actions
    players (a name a seat)   scores   returns   forfeit (the last action was illegal and ended the game)

The recorded games that the tests compare with are format 0: game, config, deal, steps [[seat, legal, action], ...].
"""

import contextlib
import dataclasses
import errno
import functools
import gzip
import itertools
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Generic, TypeAlias, cast

import chex
import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.env import Env, State, StateT, pick
from jaxgames.options import UserError, shown

try:
    import fcntl
except ImportError:  # not on Windows, where two writers must not share a file
    fcntl = None  # type: ignore[assignment]

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
FilePath: TypeAlias = "str | os.PathLike[str]"

FORMAT = 1
MAX_LINE = 1 << 22  # bytes; a longer line is refused before it fills the memory
MAX_NAME = 200
FIELDS = ("format", "game", "version", "options", "deal", "actions", "players", "scores", "returns", "forfeit")


class RecordError(UserError):
    """A record that cannot be read or that breaks the rules. `line` counts from 1, None outside a file."""

    def __init__(self, reason: str, line: int | None = None):
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.reason, self.line = reason, line

    def __reduce__(self) -> tuple[type["RecordError"], tuple[str, int | None]]:
        return RecordError, (self.reason, self.line)


@dataclasses.dataclass(frozen=True)
class Record:
    """One game: what it takes to play it again, and how it ended. Wrong types are a RecordError."""

    game: str
    options: Mapping[str, Json]  # every option, or those that differ from the defaults
    deal: Mapping[str, Json]  # all chance, as `env.deal` draws it and the rules page describes it
    actions: Sequence[int]
    version: int | None = None  # of the game; None where the record does not say, as in format 0
    players: Sequence[str] = ()  # who sat where; () if nobody noted it
    scores: Sequence[float] | None = None  # [seat] after the last action
    returns: Sequence[float] | None = None  # [seat] all that was paid
    forfeit: bool = False  # the last action was illegal and ended the game
    more: Mapping[str, Json] = dataclasses.field(default_factory=dict)  # what else the line holds

    def __post_init__(self) -> None:
        _expect("game", self.game, _is_name, "a name")
        _expect("options", self.options, _is_object, "an object")
        _expect("deal", self.deal, _is_object, "an object")
        _expect("version", self.version, lambda value: value is None or _is_int(value), "an integer")
        _expect("forfeit", self.forfeit, lambda value: isinstance(value, bool), "true or false")
        _expect("actions", self.actions, lambda value: _is_list(value, _is_int), "a list of integers of 32 bits")
        _expect("players", self.players, lambda value: _is_list(value, _is_name), "a list of printable names")
        for name in ("scores", "returns"):
            _expect(name, getattr(self, name), lambda v: v is None or _is_list(v, _is_number), "a list of numbers")
        for name in ("actions", "players", "scores", "returns"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(getattr(self, name)))

    @functools.cached_property
    def env(self) -> Env[State]:
        """The game with its options; a RecordError if there is none such."""
        try:
            return jaxgames.make(self.game, **self.options)
        except (ValueError, TypeError) as error:
            raise RecordError(str(error)) from error

    def to_json(self) -> str:
        """One line, without its end."""
        named = {name: getattr(self, name) for name in FIELDS if name != "format"}
        line = {"format": FORMAT} | named | {name: value for name, value in self.more.items() if name not in FIELDS}
        return json.dumps(line, separators=(",", ":"), allow_nan=False)


# -- one line ------------------------------------------------------------------------------------------------------


def parse(line: str | bytes | RecordError) -> Record:
    """The record on one line, in any format; a RecordError that says what is wrong with it."""
    if isinstance(line, RecordError):  # as `lines` gives it
        raise line
    try:
        data = json.loads(line if isinstance(line, str) else line.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise RecordError("not UTF-8 text") from error
    except RecursionError as error:
        raise RecordError("not a record: nested too deep") from error
    except ValueError as error:
        raise RecordError(f"not JSON ({error})") from error
    return from_json(data)


def from_json(data: object) -> Record:
    """The record in parsed JSON."""
    if not isinstance(data, dict):
        raise RecordError(f"not a record but {shown(data)}")
    if "format" not in data and {"config", "steps"} <= data.keys():
        return _from_format_0(data)
    if data.get("format") != FORMAT or isinstance(data["format"], bool):
        raise RecordError(f"format must be {FORMAT} (or a test vector), got {shown(data.get('format'))}")
    _require(data, ("game", "options", "deal", "actions"))
    known = {name: data[name] for name in FIELDS if name in data and name != "format"}
    return Record(**known, more={name: value for name, value in data.items() if name not in FIELDS})


def _from_format_0(data: dict[str, Any]) -> Record:
    """A test vector. It holds the legal actions of every step, so it knows whether the last one was illegal."""
    _require(data, ("game", "config", "deal", "steps"))
    steps = data["steps"]
    if not isinstance(steps, list) or not all(isinstance(row, list) and len(row) == 3 for row in steps):
        raise RecordError(f"steps must be a list of [seat, legal, action], got {shown(steps)}")
    final, paid = data.get("final"), data.get("rewards")
    scores = final.get("scores") if isinstance(final, dict) else None
    returns = None
    with contextlib.suppress(TypeError, ValueError, IndexError):
        returns = np.sum([amounts for _, amounts in paid or ()], axis=0).tolist() if paid else None
    return Record(
        game=data["game"],
        options=data["config"],
        deal=data["deal"],
        actions=[action for _, _, action in steps],
        scores=scores if _is_list(scores, _is_number) else None,
        returns=returns if _is_list(returns, _is_number) else None,
        forfeit=bool(steps) and isinstance(steps[-1][1], list) and steps[-1][2] not in steps[-1][1],
        more={name: value for name, value in data.items() if name not in ("game", "config", "deal")},
    )


def plain(values: Mapping[str, object]) -> dict[str, Json]:
    """Options or a deal as JSON can hold them: arrays as nested lists, exactly."""
    return {str(name): _plain(value) for name, value in values.items()}


def _plain(value: object) -> Json:
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (np.ndarray, np.generic, jax.Array)):
        return np.asarray(value).tolist()
    return cast(Json, value)


def _require(data: dict[str, Any], names: Sequence[str]) -> None:
    missing = [name for name in names if name not in data]
    if missing:
        raise RecordError(f"a record must have {', '.join(names)}; this one has no {', '.join(missing)}")


def _expect(name: str, value: object, is_right: Callable[[Any], bool], what: str) -> None:
    if not is_right(value):
        raise RecordError(f"{name} must be {what}, got {shown(value)}")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _is_name(value: object) -> bool:
    """Printable: names are shown at terminals."""
    return isinstance(value, str) and value.isprintable() and len(value) <= MAX_NAME


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def _is_list(value: object, is_right: Callable[[object], bool]) -> bool:
    return isinstance(value, (list, tuple)) and all(map(is_right, value))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


# -- files ---------------------------------------------------------------------------------------------------------


def write(path: FilePath, records: Iterable[Record]) -> int:
    """Append the records to a file, gzipped if its name ends in .gz; how many there were.

    A line is written whole or not at all, also with several writers and on a full disk.
    """
    is_packed = os.fspath(path).endswith(".gz")
    count = 0
    with open(path, "a+b", buffering=0) as file:
        for record in records:
            line = (record.to_json() + "\n").encode()
            # A gzip file is a row of such members, so each line can be its own.
            _append(file, gzip.compress(line, mtime=0) if is_packed else line, is_text=not is_packed)
            count += 1
    return count


def _append(file: Any, data: bytes, is_text: bool) -> None:
    with _alone(file):
        size = file.seek(0, os.SEEK_END)
        if is_text and size:
            file.seek(size - 1)
            data = data if file.read(1) == b"\n" else b"\n" + data  # a crash left half a line; it stays alone
        try:
            is_whole = file.write(data) == len(data)
        except OSError:
            file.truncate(size)
            raise
        if not is_whole:
            file.truncate(size)
            raise OSError(errno.ENOSPC, "the line could not be written whole", file.name)


@contextlib.contextmanager
def _alone(file: IO[bytes]) -> Iterator[None]:
    """No other writer of the file in the meantime."""
    if fcntl is None:
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def stream(
    path: FilePath, *, check: bool = False, skip: Callable[[RecordError], object] | None = None, chunk: int = 256
) -> Iterator[Record]:
    """The records of a file one by one, gzipped or not; never the whole of it is in memory.

    A bad line is a RecordError with its number. With `skip` that error is handed there instead (`print`,
    `errors.append`) and the stream goes on behind the line. With `check` every game is played again too, `chunk`
    games at a time: see `check`.
    """
    read = _read(path)
    while part := list(itertools.islice(read, chunk if check else 1)):
        good = [found for _, found in part if isinstance(found, Record)]
        broken = iter(problems(good) if check else [None] * len(good))
        for number, found in part:
            reason = next(broken) if isinstance(found, Record) else found.reason
            if reason is None:
                yield cast(Record, found)
            elif skip is None:
                raise RecordError(reason, number)
            else:
                skip(RecordError(reason, number))


def _read(path: FilePath) -> Iterator[tuple[int, Record | RecordError]]:
    """(number, record or what is wrong with it) of every line that is not empty."""
    for number, line in lines(path):
        try:
            yield number, parse(line)
        except RecordError as error:
            yield number, error


def lines(path: FilePath) -> Iterator[tuple[int, bytes | RecordError]]:
    """(number from 1, line) of every line that is not empty. Where nothing more can be read, an error comes last."""
    with open(path, "rb") as raw:
        is_packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        file: IO[bytes] = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if is_packed else raw
        for number in itertools.count(1):
            try:
                line = file.readline(MAX_LINE)
                is_too_long = len(line) == MAX_LINE and not line.endswith(b"\n")
                while is_too_long and (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
            except EOFError:
                yield number, RecordError("the compressed file was cut off here")
                return
            except (OSError, zlib.error) as error:
                yield number, RecordError(f"the file cannot be read from here on ({error})")
                return
            if not line:
                return
            if is_too_long:
                yield number, RecordError(f"longer than {MAX_LINE} bytes")
            elif line.strip():
                yield number, line


def batches(records: Iterable[Record], size: int) -> Iterator[list[Record]]:
    """Records of equal envs together, as `replay` takes them, `size` at a time; what is left over comes last."""
    waiting: dict[Env[State], list[Record]] = {}
    for record in records:
        batch = waiting.setdefault(record.env, [])
        batch.append(record)
        if len(batch) == size:
            yield waiting.pop(record.env)
    yield from waiting.values()


# -- playing again -------------------------------------------------------------------------------------------------


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["lengths", "states", "rewards", "legal", "over", "masks"],
    meta_fields=["env"],
)
@dataclasses.dataclass(frozen=True)
class Replay(Generic[StateT]):
    """A batch of games played again. Behind the end of a game its last state is repeated and nothing is paid."""

    env: Env[StateT]
    lengths: np.ndarray  # int32[game]  actions of the record
    states: (
        StateT  # [game, step + 1, ...]  before each action, then after the last; only [game, 1]: the last, if not kept
    )
    rewards: chex.Array  # float32[game, step, seat]  paid by the action
    legal: chex.Array  # bool[game, step]  the action was legal in a running game; False behind the record
    over: chex.Array  # bool[game, step]  the game was over before the action
    masks: chex.Array | None  # bool[game, step, action]  what was legal, if asked for


def replay(records: Sequence[Record], *, states: bool = True, masks: bool = False) -> Replay[State]:
    """Games of equal envs played again by one compiled scan, all padded to one length, a power of two.

    Deals are checked, actions are not: `legal` tells.
    """
    if not records:
        raise ValueError("records: replay needs at least one record")
    env = records[0].env
    for record in records:
        if record.env != env:
            raise ValueError(f"records: replay takes games of equal envs, got {env} and {record.env}")
    return _replay(env, records, [first_state(env, record.deal) for record in records], states, masks)


def _replay(
    env: Env[State], records: Sequence[Record], first: Sequence[State], keep_states: bool, keep_masks: bool
) -> Replay[State]:
    lengths = np.array([len(record.actions) for record in records], np.int32)
    actions = np.zeros((len(records), max(64, _round_up(int(lengths.max())))), np.int32)
    for row, record in zip(actions, records, strict=True):
        row[: len(record.actions)] = record.actions
    batch = jax.tree.map(lambda *leaves: np.stack(leaves), *jax.device_get(first))
    states, rewards, legal, over, *masks = _play(env, keep_states, keep_masks, batch, actions, lengths)
    return Replay(env, lengths, states, rewards, legal, over, masks[0] if masks else None)


def _round_up(number: int) -> int:
    """The next power of two: few sizes, few compilations."""
    return 1 << max(number - 1, 0).bit_length()


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _play(env: Env, keep_states: bool, keep_masks: bool, first: Any, actions: chex.Array, lengths: chex.Array) -> Any:
    """(states, rewards, legal, over, masks if kept), each [game, step, ...]."""

    def game(first: Any, actions: chex.Array, length: chex.Array) -> Any:
        def turn(state: Any, now: tuple[chex.Array, chex.Array]) -> Any:
            i, action = now
            is_played = i < length
            quiet = state.replace(rewards=jnp.zeros_like(state.rewards))
            after = pick(is_played, env.step(state, action), quiet)
            is_legal = after.step_count > state.step_count  # others are not counted
            told = (after.rewards, is_legal, state.done)
            told += (env.legal_action_mask(state),) if keep_masks else ()
            return after, (after if keep_states else None, told)

        last, (after, told) = jax.lax.scan(turn, first, (jnp.arange(actions.shape[0]), actions))
        if not keep_states:
            return jax.tree.map(lambda leaf: leaf[None], last), *told
        return jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), first, after), *told

    return jax.vmap(game)(first, actions, lengths)


def first_state(env: Env[StateT], deal: Mapping[str, Json]) -> StateT:
    """The first state of a recorded deal; a RecordError that says what is wrong with the deal."""
    try:
        read = env.rooms.state.read_deal(env, deal)
    except (ValueError, TypeError, OverflowError) as error:
        raise RecordError(str(error)) from error
    return _first_state(env, read)


@functools.partial(jax.jit, static_argnums=0)
def _first_state(env: Env, deal: Any) -> Any:
    return env._first_state(deal)


# -- checks --------------------------------------------------------------------------------------------------------


def check(record: Record) -> None:
    """A RecordError unless the game can be played again to the letter: deal, every action, scores and returns."""
    (reason,) = problems([record])
    if reason is not None:
        raise RecordError(reason)


def problems(records: Sequence[Record]) -> list[str | None]:
    """What is wrong with each of the records, None for a good one. Games of equal envs are played in one batch."""
    found: list[str | None] = [None] * len(records)
    playable: dict[Env[State], dict[int, State]] = {}  # the first state of each record that has one, by its place
    for i, record in enumerate(records):
        try:
            _check_sizes(record)
            playable.setdefault(record.env, {})[i] = first_state(record.env, record.deal)
        except RecordError as error:
            found[i] = error.reason
    for env, first in playable.items():
        places = [*first, *[next(iter(first))] * (_round_up(len(first)) - len(first))]
        games, starts = [records[i] for i in places], [first[i] for i in places]
        played = jax.device_get(_replay(env, games, starts, keep_states=False, keep_masks=False))
        for row, i in enumerate(first):
            found[i] = _problem_in_play(records[i], played, row)
    return found


def _check_sizes(record: Record) -> None:
    env, length = record.env, len(record.actions)
    if record.version not in (None, env.version):
        raise RecordError(f"played with version {record.version} of {env.id}, but this is version {env.version}")
    if length > env.max_steps + record.forfeit:
        raise RecordError(f"{length} actions, but such a game of {env.id} has no more than {env.max_steps}")
    for name in ("players", "scores", "returns"):
        given = getattr(record, name)
        is_left_out = given is None or (name == "players" and not given)
        if not is_left_out and len(given) != env.num_players:
            raise RecordError(f"{name} must be {env.num_players}, one a seat, got {len(given)}")


def _problem_in_play(record: Record, played: Replay[State], row: int) -> str | None:
    env, length = played.env, len(record.actions)
    legal, over = played.legal[row, :length], played.over[row, :length]
    bad = np.flatnonzero(~legal)
    last_is_forfeit = record.forfeit and length > 0 and bad.tolist() == [length - 1] and not over[-1]
    if record.forfeit and not bad.size:
        return "forfeit is true, but the last action is legal"
    if bad.size and not last_is_forfeit:
        step = int(bad[0])
        what = "comes after the end of the game" if over[step] else "is not legal there"
        return f"step {step}, action {record.actions[step]}, {what}"
    last = jax.tree.map(lambda leaf: leaf[row, -1], played.states)
    totals = {"scores": env.scores(last), "returns": played.rewards[row].sum(0, dtype=np.float64)}
    for name, ours in totals.items():
        theirs = getattr(record, name)
        if theirs is not None and not np.allclose(theirs, ours, rtol=1e-4, atol=1e-4):
            return f"{name} are {list(theirs)}, but playing it again gives {np.asarray(ours).tolist()}"
    return None
