"""Skyjo's own command line (section 11 of the rules page).

`jaxgames/cli.py` gives every game the commands play, simulate and inspect. A game package with a module `surface`
answers them itself: `flags(parser, command)` adds what is not common to all games (--seed, --games, --steps,
--record and --option are there already), `make_env(args)` reads them, and `play(args)`, `simulate(args)`,
`inspect(args)` run the command.
"""

import argparse
import random

from jaxgames import Env, cli
from jaxgames.skyjo.classic import SkyjoEnv


def flags(parser: argparse.ArgumentParser, command: str) -> None:
    """The flags of the rules page. What has none is an --option, which also overrides a flag."""
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


def play(args: argparse.Namespace) -> None:
    """All seats by hand, until the game is over; against agents and for machines as in every game."""
    if args.against is not None or args.json:
        cli.play(args)
        return
    game = _game(args)
    print(f"Skyjo, {game.env.num_players} players, seed {args.seed}")
    try:
        while legal := game.legal_actions():
            player = game.current_player
            seen = game.observe(player)
            board = seen["board_views"][player]
            print(f"\nRound {game.state.round_index} | Phase {seen['phase']} | Player {player}")
            print(f"Scores: {seen['scores']}")
            print(f"Discard top: {seen['discard_top']} | Draw pile: {seen['deck_size']} cards")
            if "decision_phase" in seen:
                print(f"Decision: {seen['decision_phase']} | Drawn card: {seen['current_drawn_value']}")
            print(f"Your mask:   {board['visible_mask']}")
            print(f"Your values: {board['values']}")
            action = cli.ask({action: game.env.action_name(game.state, action, player) for action in legal})
            info = game.step(action)[3]
            print(f"Played {info['macro_action']}" + (f" at {info['position']}" if info["position"] >= 0 else ""))
    finally:
        if args.record and game.game.actions:
            cli.save(args.record, game.game)
    print("\nGame over")
    print(f"Final scores: {game.scores}")
    winners = game.winners()
    print("Winner: " + (", ".join(f"player {seat}" for seat in winners) if winners else "none, the game was cut off"))


def simulate(args: argparse.Namespace) -> None:
    """Random play with seeds seed, seed + 1, ...; results as JSON."""
    cli.check_count("games", args.games)
    game = _game(args)
    games, wins = [], [0] * game.env.num_players
    for seed in range(args.seed, args.seed + args.games):
        game.reset(seed)
        chooser, terminated = random.Random(seed), False
        while legal := game.legal_actions():
            terminated = game.step(chooser.choice(legal))[2]
        if args.record:
            game.game.players = ("random",) * game.env.num_players
            cli.save(args.record, game.game)
        winner = next(iter(game.winners()), None)
        if winner is not None:
            wins[winner] += 1
        games.append(
            {
                "seed": seed,
                "num_players": game.env.num_players,
                "steps": int(game.state.step_count),
                "winner": winner,
                "scores": game.scores,
                "round_index": int(game.state.round_index),
                "terminated": terminated,
            }
        )
    cli.print_json({"games": games, "wins": wins})


def inspect(args: argparse.Namespace) -> None:
    """Everything and what is seen, before and after some steps with the lowest legal id, as one JSON document."""
    cli.check_count("steps", args.steps)
    game = _game(args)
    before = {"full_state": game.get_full_state(), "observation_player_0": game.observe(0)}
    for _ in range(args.steps):
        if legal := game.legal_actions():
            game.step(legal[0])
    current = game.observe(game.current_player)
    cli.print_json(before | {"after_steps_state": game.get_full_state(), "observation_current": current})


def make_env(args: argparse.Namespace) -> Env:
    """The env of these flags."""
    cut = {"max_steps": args.max_steps} if args.command == "simulate" else {}
    return cli.make_env(
        args,
        history_window_k=args.history_k,
        score_limit=args.score_limit,
        setup_mode=args.setup_mode,
        action_mode=args.action_mode,
        ruleset=args.ruleset,
        **cut,
    )


def _game(args: argparse.Namespace) -> SkyjoEnv:
    env = make_env(args)
    others = {name: value for name, value in env.options.items() if name != "num_players"}
    return SkyjoEnv(env.num_players, args.seed, **others)
