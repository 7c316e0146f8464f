"""Skyjo's bots against each other: the figures of section 15 of the rules page, measured again.

    python -m train.bots_skyjo --deals 750 > docs/results/skyjo_bots.md

Two players, base rules; both sit in both seats of the same deals, ties count half.
"""

import argparse

import jax
import numpy as np

import agents
import jaxgames
from agents.skyjo import HEURISTICS
from train.matches import mean_and_error, play, rotations, win_shares

PAGE = {  # win share of the first, and the number of games behind it
    ("macro_greedy", "random"): (1.00, 300),
    ("ev_greedy", "random"): (1.00, 200),
    ("ev_greedy", "greedy_value_replacement"): (0.76, 250),
    ("ev_greedy", "information_first_flip"): (0.96, 250),
    ("ev_greedy", "column_hunter"): (0.76, 250),
    ("ev_greedy", "risk_aware_unknown_replacement"): (0.67, 250),
    ("ev_greedy", "end_round_aggro"): (0.79, 250),
    ("ev_greedy", "anti_discard"): (0.88, 250),
}
SELF_PLAY = {"macro_greedy": 25.5, "ev_greedy": 22.6, "random": 78.0}  # points a round


def make_env(*names):
    return jaxgames.make("skyjo", action_mode="macro" if "macro_greedy" in names else "decision")


def match(first, second, key, deals):
    """Win share of `first` and its standard error over deals."""
    env = make_env(first, second)
    players = [agents.make(name, env) for name in (first, second)]
    played = play(env, players, rotations([0, 1]), key, deals)
    shares = win_shares(played.states.scores, lowest=True)  # [deal, rotation, seat]
    own = np.where(played.lineup == 0, shares, 0).sum(-1)
    return mean_and_error(own.mean(-1))


def points_per_round(name, key, deals):
    """Points a player makes in a round of self-play, and the standard error over deals."""
    env = make_env(name)
    played = play(env, [agents.make(name, env)], [[0, 0]], key, deals)
    states = played.states
    rounds = states.round_index.sum()
    by_deal = states.scores.mean(-1).sum(-1) * len(states.scores) / rounds
    return mean_and_error(by_deal)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deals", type=int, default=750, help="deals a match, each played from both seats")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    keys = iter(jax.random.split(jax.random.key(args.seed), 32))

    print("# Skyjo: the bots of the rules page\n")
    print(
        f"`python -m train.bots_skyjo --deals {args.deals} --seed {args.seed}`: two players, base rules, "
        "both seats of the same deals, ties half. ± is one standard error.\n"
    )
    print("| match | win share | rules page | difference / standard error |")
    print("|---|---|---|---|")
    six = []
    pairs = list(PAGE) + [(name, "random") for name in HEURISTICS]
    for first, second in pairs:
        share, error = match(first, second, next(keys), args.deals)
        if (first, second) not in PAGE:
            print(f"| {first} v {second} | {share:.3f} ± {error:.3f} | 0.93 to 1.00 | |", flush=True)
            continue
        expected, games = PAGE[first, second]
        both = np.hypot(error, np.sqrt(expected * (1 - expected) / games))
        distance = f"{(share - expected) / both:+.1f}" if both > 0 else "0"
        print(
            f"| {first} v {second} | {share:.3f} ± {error:.3f} | {expected:.2f} ({games} games) | {distance} |",
            flush=True,
        )
        if second in HEURISTICS:
            six.append((share, error))
    shares, errors = np.array(six).T
    error = np.sqrt((errors**2).sum()) / len(errors)
    both = np.hypot(error, np.sqrt(0.8 * 0.2 / 1500))
    print(
        f"| ev_greedy v the six, mean | {shares.mean():.3f} ± {error:.3f} | 0.80 (1500 games) | "
        f"{(shares.mean() - 0.8) / both:+.1f} |\n"
    )
    print("| self-play | points a round | rules page |")
    print("|---|---|---|")
    for name, expected in SELF_PLAY.items():
        points, error = points_per_round(name, next(keys), args.deals)
        print(f"| {name} | {points:.1f} ± {error:.1f} | {expected} |", flush=True)


if __name__ == "__main__":
    main()
