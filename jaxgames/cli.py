"""The `jaxgames` command: play a game at the terminal, simulate random play, inspect states and observations, replay
and check recorded games, measure speed.

jaxgames play skyjo --players 2 --seed 7
jaxgames play skullking --seat 0 --against rule:hard --record games.jsonl
jaxgames simulate skullking --players 4 --games 5 --record games.jsonl.gz
jaxgames inspect schafkopf --steps 3
jaxgames replay tests/data/skullking.jsonl.gz --number 2
jaxgames check games.jsonl.gz
jaxgames bench saboteur --batch 1024
"""

import argparse
import contextlib
import importlib
import json
import os
import pathlib
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import jaxgames
from jaxgames.cache import keep_compilations
from jaxgames.options import UserError, read_option

if TYPE_CHECKING:
    from jaxgames.host import Game
    from jaxgames.players import Player
    from jaxgames.records import Json, Record
    from jaxgames.terminal import Screen


def command() -> int:
    """What the installed command runs."""
    keep_compilations()
    return main()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. Whatever the user got wrong is one sentence on stderr and exit code 2."""
    parser = build_parser()
    args = parser.parse_args(argv)
    try:
        args.run(args)
        sys.stdout.flush()
    except UserError as error:
        parser.exit(2, f"jaxgames: {error}\n")
    except BrokenPipeError:  # `| head` has read enough; Python must not try to flush the rest at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    return 0


def build_parser() -> argparse.ArgumentParser:
    """One parser a command and game, so that --help shows what applies."""
    parser = argparse.ArgumentParser(prog="jaxgames", description="Card games at the terminal.")
    parser.add_argument("--version", action="version", version=f"jaxgames {jaxgames.__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="{play,simulate,inspect,bench,replay,check}"
    )
    for command, text in (
        ("play", "play all seats yourself, or one against agents"),
        ("simulate", "uniform random play, results as JSON"),
        ("inspect", "a state and its observations before and after some steps, as JSON"),
        ("bench", "speed of batched random play, as JSON"),
    ):
        games = commands.add_parser(command, help=text).add_subparsers(dest="game", required=True, metavar="game")
        for game in jaxgames.games():
            _add_flags(games.add_parser(game, help=f"{command} {game}"), command, game)
    replayed = commands.add_parser("replay", help="a recorded game, move by move")
    replayed.add_argument("file", help="one game a line (jaxgames/records.py), also gzipped")
    replayed.add_argument("--number", type=int, default=0, help="which record of the file (default 0)")
    replayed.add_argument("--positions", action="store_true", help="show the position before every move")
    replayed.add_argument("--seat", type=int, help="show only what this seat may know (default: everything)")
    replayed.add_argument("--json", action="store_true", help="one object a line, for machines")
    replayed.add_argument("--html", metavar="OUT", help="write the game as one page to step through, and nothing else")
    replayed.set_defaults(run=replay)
    checked = commands.add_parser("check", help="play every game of a file again and name the lines that are wrong")
    checked.add_argument("file", help="one game a line (jaxgames/records.py), also gzipped")
    checked.set_defaults(run=check)
    return parser


def _add_flags(parser: argparse.ArgumentParser, command: str, game: str) -> None:
    parser.add_argument("--seed", type=int, default=0, help="fixes all chance (default 0)")
    if command == "simulate":
        parser.add_argument("--games", type=int, default=5, help="with seeds seed, seed + 1, ... (default 5)")
    if command == "inspect":
        parser.add_argument("--steps", type=int, default=3, help="steps between the two positions (default 3)")
    if command == "bench":
        parser.add_argument("--batch", type=int, default=4096, help="games at a time (default 4096)")
        parser.add_argument("--steps", type=int, default=256, help="steps of every game that are timed (default 256)")
    if command == "play":
        parser.add_argument("--against", metavar="SPEC", help="agents play the other seats: rule, ppo:skullking, ...")
        parser.add_argument("--seat", type=int, default=0, help="where you sit, with --against (default 0)")
        parser.add_argument("--adviser", metavar="SPEC", help="who gives hints (default: the agent of --against)")
        parser.add_argument("--json", action="store_true", help="one object a line and ids as answers, for machines")
    if command in ("play", "simulate"):
        parser.add_argument("--record", metavar="FILE", help="append the games to this file, gzipped if it ends in .gz")
    option = "an option of the rules page; repeatable"
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help=option)
    surface = None if command == "bench" else _surface(game)
    if surface is not None:
        surface.flags(parser, command)
        parser.set_defaults(run=getattr(surface, command), make_env=surface.make_env)
        return
    parser.add_argument("--players", type=int, help="number of players")
    if command == "inspect":
        parser.add_argument("--observation", metavar="VERSION", help="which observation (default: that of the game)")
    run = {"play": play, "simulate": simulate, "inspect": inspect, "bench": bench}[command]
    parser.set_defaults(run=run, make_env=make_env)


def _surface(game: str) -> ModuleType | None:
    """A game may have a command line of its own: flags(parser, command), play(args), simulate(args), inspect(args)."""
    is_there = (pathlib.Path(__file__).parent / game / "surface.py").exists()
    return importlib.import_module(f"jaxgames.{game}.surface") if is_there else None


# -- the commands --------------------------------------------------------------------------------------------------


def play(args: argparse.Namespace) -> None:
    """At the terminal: all seats by hand, or one of them against agents."""
    from jaxgames import players, terminal

    env = args.make_env(args)
    seats = range(env.num_players) if args.against is None else [check_seat(env, args.seat)]
    others = {seat: players.find(args.against, env) for seat in range(env.num_players) if seat not in seats}
    adviser = players.find(args.adviser, env) if args.adviser else next(iter(others.values()), None)
    game = start(args, args.seed)
    game.players = tuple(others[seat].spec if seat in others else "person" for seat in range(env.num_players))
    show, chance = terminal.screen(args.json), random.Random(args.seed)
    try:
        while not game.is_over:
            seat, step = game.player, len(game.actions)
            if seat in others:
                action = others[seat].act(chance.getrandbits(32), game.state)
                words = game.name(action, seats[0])
                game.step(action)
                show.moved(step, seat, others[seat].spec, words, action)
                continue
            show.position(game, seat)
            show.turn(game)
            answer = terminal.ask(show, game.moves, ("undo", "hint"))
            if answer == "undo":
                take_back(game, seats, show)
            elif answer == "hint":
                give_hint(game, adviser, chance, show)
            else:
                game.step(int(answer))
    finally:
        if args.record and game.actions:
            save(args.record, game)
    show.position(game, None)
    show.over(game)


def take_back(game: "Game", seats: Sequence[int], show: "Screen") -> None:
    """Back to the last decision that was made by hand."""
    made_by = [int(state.current_player) for state in game.states[:-1]]
    last = next((step for step in reversed(range(len(made_by))) if made_by[step] in seats), None)
    if last is None:
        show.say("There is nothing to take back.")
    else:
        game.undo(len(game.actions) - last)


def give_hint(game: "Game", adviser: "Player | None", chance: random.Random, show: "Screen") -> None:
    if adviser is None:
        show.say("Nobody here gives hints: name somebody with --adviser.")
    else:
        show.hint(adviser.spec, game.moves, adviser.shares(chance.getrandbits(32), game.state))


def simulate(args: argparse.Namespace) -> None:
    check_count("games", args.games)
    results: list[Json] = []
    for seed in range(args.seed, args.seed + args.games):
        game, chooser = start(args, seed), random.Random(seed)
        game.players = ("random",) * game.env.num_players
        while not game.is_over:
            game.step(chooser.choice(game.legal))
        results.append(
            {
                "seed": seed,
                "num_players": game.env.num_players,
                "steps": len(game.actions),
                "scores": game.scores,
                "winners": game.winners,
                "returns": [round(total, 6) for total in game.returns],
                "terminated": bool(game.state.terminated),
            }
        )
        if args.record:
            save(args.record, game)
    print_json({"games": results})


def inspect(args: argparse.Namespace) -> None:
    check_count("steps", args.steps)
    game = start(args, args.seed)
    versions = game.env.observation_versions
    version = args.observation or versions[0]
    if version not in versions:
        raise UserError(f"{game.env.id}: --observation must be one of {', '.join(versions)}, got {version!r}")
    before = {"full_state": _describe(game), "observation_player_0": _see(game, 0, version)}
    for _ in range(args.steps):
        if not game.is_over:
            game.step(game.legal[0])
    after = {"after_steps_state": _describe(game), "observation_current": _see(game, game.player, version)}
    print_json(before | after)


def _describe(game: "Game") -> dict[str, "Json"]:
    return {
        "text": game.render().splitlines(),
        "current_player": game.player,
        "legal_actions": game.legal,
        "scores": game.scores,
        "step_count": int(game.state.step_count),
        "terminated": bool(game.state.terminated),
    }


def _see(game: "Game", player: int, version: str) -> dict[str, "Json"]:
    """What a seat sees: the parts of the observation by name, in order."""
    parts = {name: part.tolist() for name, part in game.view(player, version).items()}
    return {"observer": player, "version": version, "parts": parts}


def bench(args: argparse.Namespace) -> None:
    """The second of two equal loops is timed: the first compiles."""
    import jax

    from jaxgames import vector

    if args.batch < 1 or args.steps < 1:
        raise UserError(f"--batch and --steps must be at least 1, got {args.batch} and {args.steps}")
    env = make_env(args)
    step = vector.make_step(env)

    @jax.jit
    def loop(states: Any, key: Any) -> Any:
        def turn(states: Any, key: Any) -> tuple[Any, None]:
            act_key, deal_key = jax.random.split(key)
            return step(states, vector.random_actions(env, states, act_key), deal_key)[0], None

        return jax.lax.scan(turn, states, jax.random.split(key, args.steps))[0]

    states = vector.reset(env, jax.random.key(args.seed), args.batch)
    seconds = []
    for turn in range(2):
        begin = time.perf_counter()
        states = jax.block_until_ready(loop(states, jax.random.key(turn)))
        seconds.append(time.perf_counter() - begin)
    speed = round(args.batch * args.steps / seconds[1])
    device = jax.devices()[0]
    print(json.dumps({"game": env.id, "batch": args.batch, "steps_per_second": speed, "device": device.device_kind}))


def replay(args: argparse.Namespace) -> None:
    """Every move of a record in words, played through the rules; a record that does not fit them is refused."""
    from jaxgames import terminal
    from jaxgames.host import Game

    with reading(args.file):
        record = _find_record(args.file, args.number)
        game: Game = Game.from_record(record)
    viewer = None if args.seat is None else check_seat(game.env, args.seat)
    if args.html:
        _write_page(args.html, record, viewer)
        return
    show, actions = terminal.screen(args.json), list(game.actions)
    names = record.players or ("",) * game.env.num_players
    states = game.states
    for step, action in enumerate(actions):
        if args.positions:
            show.position(game.at(step), viewer)
        is_illegal = record.forfeit and step == len(actions) - 1
        words = f"illegal action {action}" if is_illegal else game.env.action_name(states[step], action, viewer)
        seat = int(states[step].current_player)
        show.moved(step, seat, names[seat], words, action)
    show.position(game, viewer)
    if args.json:
        show.over(game)
    else:
        show.say(f"Scores: {game.scores}")


def _write_page(path: str, record: "Record", viewer: int | None) -> None:
    from jaxgames.pictures import replay_html

    try:
        pathlib.Path(path).write_text(replay_html(record, viewer), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}") from error


def _find_record(path: str, number: int) -> "Record":
    """The record of that number, from 0; the others are not looked at."""
    from jaxgames import records

    last = -1
    for last, (line, text) in enumerate(records.lines(path)):
        if last == number or isinstance(text, records.RecordError):
            try:
                return records.parse(text)
            except records.RecordError as error:
                raise records.RecordError(error.reason, line) from error
    raise UserError(f"--number must be 0..{last}, the records of {path}, got {number}")


def check(args: argparse.Namespace) -> None:
    """Names every bad line; if there is one, the exit code is 2."""
    from jaxgames import records

    bad: list[records.RecordError] = []
    with reading(args.file):
        count = sum(1 for _ in records.stream(args.file, check=True, skip=bad.append))
    for error in bad:
        print(error)
    print(f"{count} good, {len(bad)} bad")
    if bad:
        raise UserError(f"{args.file} holds records that cannot be played again")


# -- what the commands share, those of a game's own surface too ------------------------------------------------------


def make_env(args: argparse.Namespace, **options: object) -> jaxgames.Env:
    """The env of --players, --option and `options`, which an --option overrides."""
    options |= {} if args.players is None else {"num_players": args.players}
    options |= dict(read_option(text) for text in args.option)
    try:
        return jaxgames.make(args.game, **options)
    except (ValueError, TypeError) as error:
        raise UserError(str(error)) from error


def start(args: argparse.Namespace, seed: int) -> "Game":
    """A new game of these options and this seed."""
    from jaxgames.host import Game

    return Game(args.make_env(args), seed=seed)


def save(path: str, game: "Game") -> None:
    """Append the game to a file of records."""
    from jaxgames import records

    try:
        records.write(path, [game.record()])
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def reading(path: str) -> Iterator[None]:
    """Whatever is wrong with a file of records is the user's to mend, and named with the file."""
    from jaxgames.records import RecordError

    try:
        yield
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
    except RecordError as error:
        raise UserError(f"{path}: {error}") from error


def ask(moves: Mapping[int, str]) -> int:
    """One of the legal ids, asked for until it is one."""
    from jaxgames import terminal

    print(f"Legal ids: {'; '.join(f'{action} {words}'.rstrip() for action, words in moves.items())}")
    return int(terminal.ask(terminal.Plain(), moves))


def check_seat(env: jaxgames.Env, seat: int) -> int:
    if not 0 <= seat < env.num_players:
        raise UserError(f"--seat must be 0..{env.num_players - 1}, got {seat}")
    return seat


def check_count(name: str, count: int) -> None:
    if count < 0:
        raise UserError(f"--{name} must be 0 or more, got {count}")


def print_json(value: "Json") -> None:
    print(json.dumps(value, indent=2))


if __name__ == "__main__":
    sys.exit(command())
