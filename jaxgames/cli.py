"""The `jaxgames` command: play a game at the terminal, simulate random play, inspect states and observations.

jaxgames play skyjo --players 2 --seed 7
jaxgames simulate skullking --players 4 --games 5
jaxgames inspect schafkopf --steps 3
"""

import argparse
import ast
import json
import os
import random
import sys
from collections.abc import Sequence
from typing import Any

import jaxgames


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
    commands = parser.add_subparsers(dest="command", required=True, metavar="{play,simulate,inspect}")
    for command, text in (
        ("play", "play all seats yourself"),
        ("simulate", "uniform random play, results as JSON"),
        ("inspect", "a state and its observations before and after some steps, as JSON"),
    ):
        games = commands.add_parser(command, help=text).add_subparsers(dest="game", required=True, metavar="game")
        for game in jaxgames.games():
            one = games.add_parser(game, help=f"{command} {game}")
            _add_flags(one, command, game)
    return parser


def _add_flags(parser: argparse.ArgumentParser, command: str, game: str) -> None:
    parser.add_argument("--seed", type=int, default=0, help="fixes all chance (default 0)")
    if command == "simulate":
        parser.add_argument("--games", type=int, default=5, help="with seeds seed, seed + 1, ... (default 5)")
    if command == "inspect":
        parser.add_argument("--steps", type=int, default=3, help="steps between the two dumps (default 3)")
    if game != "skyjo":
        parser.add_argument("--players", type=int, help="number of players")
        parser.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="an option of the rules page; repeatable",
        )
        parser.set_defaults(run={"play": play, "simulate": simulate, "inspect": inspect}[command])
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
    game = _Game(args)
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
    game, games = _Game(args), []
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
    game = _Game(args)
    state = game.first(args.seed)
    _print_json({"full_state": game.dump(state), "observation_player_0": game.observation(state, 0)})
    for _ in range(args.steps):
        if legal := game.legal(state):
            state = game.step(state, legal[0])
    current = game.observation(state, int(state.current_player))
    _print_json({"after_steps_state": game.dump(state), "observation_current": current})


class _Game:
    """An env made from the command line, its functions compiled."""

    def __init__(self, args: argparse.Namespace):
        import jax

        options = dict(_read_option(text) for text in args.option)
        if args.players is not None:
            options["num_players"] = args.players
        self.env = jaxgames.make(args.game, **options)
        self._key, self._get = jax.random.key, jax.device_get
        self._init, self._step = jax.jit(self.env.init), jax.jit(self.env.step)
        self._mask = jax.jit(self.env.legal_action_mask)

    def first(self, seed: int) -> Any:
        return self._get(self._init(self._key(seed)))

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


def _read_option(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value as Python reads it, else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"--option must look like NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


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
