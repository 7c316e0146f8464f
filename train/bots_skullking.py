"""Skull King's rule-based players against each other: the table of section 14 of the rules page.

    python train/bots_skullking.py

One player A sits against three of B, in every seat of the same deals; ties split the win.
"""

import argparse
import pathlib

import jax
import numpy as np

import agents
import jaxgames
from jaxgames.skullking import metrics
from train.matches import mean_and_error, play, rotations, win_shares

# (A, B): A's wins in %, A's and B's mean total, A's exact bids in %: "Values to reproduce", 1000 games each.
PAIRINGS = {
    ("rule:hard", "random"): (94.8, 106, -180, 53),
    ("rule:easy", "random"): (87.3, 60, -179, 45),
    ("random", "rule:hard"): (0.2, -176, 113, 20),
    ("rule:hard", "rule:easy"): (37.6, 114, 68, 53),
    ("rule:hard", "rule:medium"): (27.0, 115, 104, 54),
    ("rule:hard,strength", "rule:hard,seed"): (24.3, 116, 117, 53),
    ("rule:hard,random", "rule:hard,seed"): (21.1, 93, 115, 50),
    ("rule:hard", "rule:hard"): (26.0, 116, 115, 54),
    ("random", "random"): (25.1, -179, -180, 20),
}
# Four of a kind: the six ability metrics, 600 games each.
TABLES = {
    "random": (0.43, 0.23, -0.53, 0.13, 0.14, 0.36),
    "rule:hard,random": (0.61, 0.20, -0.60, 0.54, 0.24, 0.33),
    "rule:hard,seed": (0.56, 0.20, -0.57, 0.61, 1.00, 1.00),
    "rule:hard,strength": (0.58, 0.19, -0.55, 0.56, 1.00, 1.00),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deals", type=int, default=500, help="each is played once with A in every seat")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="docs/results/skullking_bots.md")
    args = parser.parse_args()
    env = jaxgames.make("skullking")
    lines = [
        "# Skull King: the rule-based players",
        "",
        f"Made by `python train/bots_skullking.py --deals {args.deals} --seed {args.seed}`: every line is "
        f"{args.deals} deals, each played with A in all four seats. ± is one standard error over deals; the reference "
        "has one of 1.5 points (1000 games). z is the difference in combined standard errors.",
        "",
        "| A / three of B | A wins % | reference | z | A total | ref. | B total | ref. | A exact % | ref. |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (one, three), expected in PAIRINGS.items():
        lines.append(pairing(env, one, three, expected, args))
        print(lines[-1], flush=True)
    lines += ["", "| four of | " + " | ".join(metrics.RATIOS) + " |"]
    lines.append("|---" * 7 + "|")
    for spec, expected in TABLES.items():
        lines.append(table(env, spec, expected, args))
        print(lines[-1], flush=True)
    out = pathlib.Path(args.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines) + "\n")
    print(f"wrote {out}")


def pairing(env, one: str, three: str, expected, args) -> str:
    """One line of the first table."""
    players = [agents.make(one, env), agents.make(three, env)]
    start, update = exact_bids(env)
    played = play(
        env, players, rotations([0, 1, 1, 1]), jax.random.key(args.seed), args.deals, 128, watch=(start, update)
    )
    is_a = played.lineup == 0  # [rotation, seat]
    totals = np.asarray(played.states.total, np.float64)
    wins, error = mean_and_error(100 * (win_shares(totals) * is_a).sum(-1).mean(-1))
    a_total, a_error = mean_and_error((totals * is_a).sum(-1).mean(-1))
    b_total, b_error = mean_and_error((totals * ~is_a).sum(-1).mean(-1) / 3)
    exact, exact_error = mean_and_error(100 * (played.log * is_a).sum(-1).mean(-1) / len(env.hand_sizes))
    reference_error = 100 * np.sqrt(expected[0] / 100 * (1 - expected[0] / 100) / 1000)
    z = (wins - expected[0]) / np.hypot(error, reference_error)
    return (
        f"| `{one}` / `{three}` | {wins:.1f} ± {error:.1f} | {expected[0]} | {z:+.1f} "
        f"| {a_total:.0f} ± {a_error:.0f} | {expected[1]} | {b_total:.0f} ± {b_error:.0f} | {expected[2]} "
        f"| {exact:.0f} ± {exact_error:.0f} | {expected[3]} |"
    )


def table(env, spec: str, expected, args) -> str:
    """One line of the second table."""
    played = play(
        env, [agents.make(spec, env)], [[0] * 4], jax.random.key(args.seed), args.deals, 128, watch=metrics.watch(env)
    )
    cells = []
    for (rate, error), reference in zip(metrics.rates_with_errors(played.log).values(), expected, strict=True):
        reference_error = error * np.sqrt(args.deals / 600)
        z = (rate - reference) / np.hypot(error, reference_error) if error else 0.0
        cells.append(f"{rate:.2f} ± {error:.2f} ({reference:.2f}, z {z:+.1f})")
    return f"| `{spec}` | " + " | ".join(cells) + " |"


def exact_bids(env):
    """(start, update) that counts each seat's exact bids."""

    def update(count, before, action, after):
        _, events = env.step_with_events(before, action)
        return count + ((events.won == events.final_bids) & events.round_done)

    return np.zeros(env.num_players, np.int32), update


if __name__ == "__main__":
    main()
