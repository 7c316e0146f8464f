"""The `jaxgames` command: play a game at the terminal, simulate random play, inspect states and observations, replay
a record, measure speed.

jaxgames play skyjo --players 2 --seed 7
jaxgames simulate skullking --players 4 --games 5
jaxgames inspect schafkopf --steps 3
jaxgames replay tests/data/skullking.jsonl.gz --number 2
jaxgames bench saboteur --batch 1024
"""

import argparse
import gzip
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from typing import Any

import jaxgames
from jaxgames.options import read_option


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Whatever the user got wrong is one sentence on stderr and exit code 2."""
    parser = build_parser()
    args = parser.parse_args(argv)
    try:
        args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has read enough; Python must not try to flush the rest at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ValueError as error:
        parser.exit(2, f"jaxgames: {error}\n")
    except EOFError:
        parser.exit(2, "jaxgames: the input ended before the game did.\n")
    return 0


def build_parser() -> argparse.ArgumentParser:
    """One parser a command and game, so that --help shows what applies."""
    parser = argparse.ArgumentParser(prog="jaxgames", description="Card games at the terminal.")
    parser.add_argument("--version", action="version", version=f"jaxgames {jaxgames.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{play,simulate,inspect,replay,bench}")
    for command, text in (
        ("play", "play all seats yourself"),
        ("simulate", "uniform random play, results as JSON"),
        ("inspect", "a state and its observations before and after some steps, as JSON"),
        ("bench", "speed of batched random play, as JSON"),
    ):
        games = commands.add_parser(command, help=text).add_subparsers(dest="game", required=True, metavar="game")
        for game in jaxgames.games():
            one = games.add_parser(game, help=f"{command} {game}")
            _add_flags(one, command, game)
    record = commands.add_parser("replay", help="a recorded game, move by move")
    record.add_argument("file", help="JSON lines, also gzipped: game, config, deal, steps [[seat, legal, action], ...]")
    record.add_argument("--number", type=int, default=0, help="which record of the file (default 0)")
    record.add_argument("--positions", action="store_true", help="show the position before every move")
    record.set_defaults(run=replay)
    return parser


def _add_flags(parser: argparse.ArgumentParser, command: str, game: str) -> None:
    parser.add_argument("--seed", type=int, default=0, help="fixes all chance (default 0)")
    if command == "simulate":
        parser.add_argument("--games", type=int, default=5, help="with seeds seed, seed + 1, ... (default 5)")
    if command == "inspect":
        parser.add_argument("--steps", type=int, default=3, help="steps between the two dumps (default 3)")
    if command == "bench":
        parser.add_argument("--batch", type=int, default=4096, help="games at a time (default 4096)")
        parser.add_argument("--steps", type=int, default=256, help="steps of every game that are timed (default 256)")
    if game != "skyjo" or command == "bench":
        parser.add_argument("--players", type=int, help="number of players")
        parser.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="an option of the rules page; repeatable",
        )
        parser.set_defaults(run={"play": play, "simulate": simulate, "inspect": inspect, "bench": bench}[command])
        return
    parser.add_argument("--players", type=int, default=2, help="2 to 8 (default 2)")
    parser.add_argument("--history-k", type=int, default=16, help="records of public history kept (default 16)")
    parser.add_argument("--score-limit", type=int, default=100, help="the game ends there (default 100)")
    parser.add_argument(
        "--setup-mode",
        choices=("auto", "manual"),
        default="manual" if command == "play" else "auto",
        help="who turns up the first two cards (default %(default)s)",
    )
    parser.add_argument("--action-mode", choices=("macro", "decision"), default="macro", help="(default macro)")
    parser.add_argument("--ruleset", choices=("base", "official", "skynet"), default="base", help="(default base)")
    if command == "simulate":
        parser.add_argument("--max-steps", type=int, default=10_000, help="cut a game off there (default 10000)")
    parser.set_defaults(run={"play": play_skyjo, "simulate": simulate_skyjo, "inspect": inspect_skyjo}[command])


# Skyjo has a surface of its own (section 11 of its rules page).


def _skyjo(args: argparse.Namespace, seed: int) -> Any:
    from jaxgames.skyjo.classic import SkyjoEnv

    cut = {"max_steps": args.max_steps} if args.command == "simulate" else {}
    return SkyjoEnv(
        num_players=args.players,
        seed=seed,
        history_window_k=args.history_k,
        score_limit=args.score_limit,
        setup_mode=args.setup_mode,
        action_mode=args.action_mode,
        ruleset=args.ruleset,
        **cut,
    )


def play_skyjo(args: argparse.Namespace) -> None:
    game = _skyjo(args, args.seed)
    print(f"Skyjo, {args.players} players, seed {args.seed}")
    while legal := game.legal_actions():
        player = game.current_player
        seen = game.observe(player)
        board = seen["board_views"][player]
        print(f"\nRound {game.state.round_index} | Phase {seen['phase']} | Player {player}")
        print(f"Scores: {seen['scores']}")
        print(f"Discard top: {seen['discard_top']} | Draw pile: {seen['deck_size']} cards")
        if args.action_mode == "decision":
            print(f"Decision: {seen['decision_phase']} | Drawn card: {seen['current_drawn_value']}")
        print(f"Your mask:   {board['visible_mask']}")
        print(f"Your values: {board['values']}")
        action = _ask(legal, [game.env.action_name(game.state, action) for action in legal])
        info = game.step(action)[3]
        print(f"Played {info['macro_action']}" + (f" at {info['position']}" if info["position"] >= 0 else ""))
    print("\nGame over")
    print(f"Final scores: {game.scores}")
    winners = game.winners()
    print("Winner: " + (", ".join(f"player {seat}" for seat in winners) if winners else "none, the game was cut off"))


def simulate_skyjo(args: argparse.Namespace) -> None:
    _check_count("games", args.games)
    games, wins = [], [0] * args.players
    game = _skyjo(args, args.seed)
    for seed in range(args.seed, args.seed + args.games):
        game.reset(seed)
        chooser, terminated = random.Random(seed), False
        while legal := game.legal_actions():
            terminated = game.step(chooser.choice(legal))[2]
        winner = next(iter(game.winners()), None)
        if winner is not None:
            wins[winner] += 1
        games.append(
            {
                "seed": seed,
                "num_players": args.players,
                "steps": int(game.state.step_count),
                "winner": winner,
                "scores": game.scores,
                "round_index": int(game.state.round_index),
                "terminated": terminated,
            }
        )
    _print_json({"games": games, "wins": wins})


def inspect_skyjo(args: argparse.Namespace) -> None:
    _check_count("steps", args.steps)
    game = _skyjo(args, args.seed)
    _print_json({"full_state": game.get_full_state(), "observation_player_0": game.observe(0)})
    for _ in range(args.steps):
        if legal := game.legal_actions():
            game.step(legal[0])
    _print_json({"after_steps_state": game.get_full_state(), "observation_current": game.observe(game.current_player)})


# The other games speak through the contract that all environments share.


def play(args: argparse.Namespace) -> None:
    game = _Game(_make_env(args))
    state = game.first(args.seed)
    while legal := game.legal(state):
        player = int(state.current_player)
        print(f"\n{game.env.render(state, player)}")
        print(f"Player {player} to act.")
        state = game.step(state, _ask(legal, game.names(state, legal)))
    print(f"\n{game.env.render(state)}")
    print("\nGame over")
    print(f"Final scores: {game.scores(state)}")


def simulate(args: argparse.Namespace) -> None:
    _check_count("games", args.games)
    game, games = _Game(_make_env(args)), []
    for seed in range(args.seed, args.seed + args.games):
        state, chooser = game.first(seed), random.Random(seed)
        returns = state.rewards
        while legal := game.legal(state):
            state = game.step(state, chooser.choice(legal))
            returns = returns + state.rewards
        games.append(
            {
                "seed": seed,
                "num_players": game.env.num_players,
                "steps": int(state.step_count),
                "scores": game.scores(state),
                "returns": [round(float(total), 6) for total in returns],
                "terminated": bool(state.terminated),
            }
        )
    _print_json({"games": games})


def inspect(args: argparse.Namespace) -> None:
    _check_count("steps", args.steps)
    game = _Game(_make_env(args))
    state = game.first(args.seed)
    _print_json({"full_state": game.dump(state), "observation_player_0": game.observation(state, 0)})
    for _ in range(args.steps):
        if legal := game.legal(state):
            state = game.step(state, legal[0])
    current = game.observation(state, int(state.current_player))
    _print_json({"after_steps_state": game.dump(state), "observation_current": current})


def bench(args: argparse.Namespace) -> None:
    """The second of two equal loops is timed: the first compiles."""
    import jax

    from jaxgames import vector

    if args.batch < 1 or args.steps < 1:
        raise ValueError(f"--batch and --steps must be at least 1, got {args.batch} and {args.steps}")
    env = _make_env(args)
    step = vector.make_step(env, args.batch)

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
    record = _read_record(args.file, args.number)
    try:
        name, config, deal, steps = (record[part] for part in ("game", "config", "deal", "steps"))
        actions = [int(action) for _, _, action in steps]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{args.file}: record {args.number} has no game, config, deal and steps") from error
    game = _Game(jaxgames.make(name, **config))
    state = game.first(0, deal)
    for number, action in enumerate(actions):
        if args.positions:
            print(f"\n{game.env.render(state)}")
        if action not in game.legal(state):
            raise ValueError(f"{args.file}: step {number} of record {args.number}, action {action}, is not legal there")
        print(f"{number:4d}  seat {int(state.current_player)}: {game.env.action_name(state, action)}")
        state = game.step(state, action)
    print(f"\n{game.env.render(state)}")
    print(f"Scores: {game.scores(state)}")


def _read_record(path: str, number: int) -> Any:
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            lines = [line for line in file if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    if not 0 <= number < len(lines):
        raise ValueError(f"--number must be 0..{len(lines) - 1}, the records of {path}, got {number}")
    try:
        return json.loads(lines[number])
    except ValueError as error:
        raise ValueError(f"{path}: record {number} is not JSON ({error})") from error


def _make_env(args: argparse.Namespace) -> jaxgames.Env:
    options = dict(read_option(text) for text in args.option)
    if args.players is not None:
        options["num_players"] = args.players
    return jaxgames.make(args.game, **options)


class _Game:
    """An env, its functions compiled."""

    def __init__(self, env: jaxgames.Env):
        import jax

        self.env = env
        self._key, self._get = jax.random.key, jax.device_get
        self._init, self._step = jax.jit(self.env.init), jax.jit(self.env.step)
        self._mask = jax.jit(self.env.legal_action_mask)

    def first(self, seed: int, deal: Any = None) -> Any:
        """From a seed, or from a recorded deal."""
        key = self._key(seed)
        return self._get(self._init(key) if deal is None else self.env.init(key, deal=deal))

    def step(self, state: Any, action: int) -> Any:
        return self._get(self._step(state, action))

    def legal(self, state: Any) -> list[int]:
        """Sorted ids, [] after the end."""
        return [] if state.done else self._mask(state).nonzero()[0].tolist()

    def names(self, state: Any, legal: list[int]) -> list[str]:
        """The legal actions in words."""
        return [self.env.action_name(state, action) for action in legal]

    def scores(self, state: Any) -> list[float]:
        return self._get(self.env.scores(state)).tolist()

    def dump(self, state: Any) -> dict[str, Any]:
        return {
            "text": self.env.render(state).splitlines(),
            "current_player": int(state.current_player),
            "legal_actions": self.legal(state),
            "scores": self.scores(state),
            "step_count": int(state.step_count),
            "terminated": bool(state.terminated),
        }

    def observation(self, state: Any, player: int) -> dict[str, Any]:
        """The default observation: an array, or the parts of a tuple by name."""
        seen = self._get(self.env.observe(state, player))
        parts = seen._asdict() if hasattr(seen, "_asdict") else {self.env.observation_versions[0]: seen}
        return {"observer": player} | {name: part.tolist() for name, part in parts.items()}


def _check_count(name: str, count: int) -> None:
    if count < 0:
        raise ValueError(f"--{name} must be 0 or more, got {count}")


def _ask(legal: list[int], names: list[str]) -> int:
    """One of the legal ids, asked for until it is one."""
    words = [f"{action} {name}".rstrip() for action, name in zip(legal, names, strict=True)]
    print(f"Legal ids: {', '.join(words)}")
    while True:
        answer = input("Choose an action id: ").strip()
        if answer.isdecimal() and int(answer) in legal:
            return int(answer)
        print(f"{answer!r} is not a legal id; please enter one of those listed.")


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


if __name__ == "__main__":
    sys.exit(main())
