"""Face-offs between the Schafkopf bots by the tournament protocol of the rules page (section 15).

    python -m train.bots_schafkopf --deals 10000 --out docs/results/schafkopf_bots.md

Each deal is played twice: seats 0, 1 against seats 2, 3, then swapped. All face-offs share their deals.
"""

import argparse
import itertools
import pathlib

import jax
import numpy as np

import agents
import jaxgames
from train.matches import mean_and_error, play

SPECS = ("rule", "random_coward", "random")
PUBLISHED = {("rule", "random_coward"): (5.3, 0.1), ("rule", "random"): (122, 1), ("random_coward", "random"): (114, 1)}
LINEUP = np.array([[0, 0, 1, 1], [1, 1, 0, 0]])


def face_off(env, one: str, other: str, num_deals: int, seed: int) -> tuple[float, float]:
    """Mean payout per game and seat of `one` against `other`, in cents, and its standard error over deals."""
    table = [agents.make(one, env), agents.make(other, env)]
    played = play(env, table, LINEUP, jax.random.key(seed), num_deals, batch=2048)
    of_one = np.where(LINEUP == 0, played.returns, 0.0).sum(axis=(1, 2)) / (LINEUP == 0).sum()
    return mean_and_error(of_one)


def report(rows, num_deals: int, seed: int) -> str:
    """The table as Markdown."""
    command = f"python -m train.bots_schafkopf --deals {num_deals} --seed {seed} --out docs/results/schafkopf_bots.md"
    lines = [
        "# Schafkopf bots",
        "",
        f"Cents per game and seat, {num_deals} deals played twice with the sides swapped, standard error over deals.",
        "",
        f"Command: `{command}`",
        "",
        "| agent | against | measured | rules page | difference in standard errors |",
        "|---|---|---|---|---|",
    ]
    for one, other, mean, error in rows:
        known, known_error = PUBLISHED[one, other]
        distance = (mean - known) / np.hypot(error, known_error)
        lines.append(f"| {one} | {other} | {mean:+.2f} ± {error:.2f} | {known:+} ± {known_error} | {distance:+.1f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deals", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, help="also write the table to this file")
    options = parser.parse_args()
    env = jaxgames.make("schafkopf")
    pairs = itertools.combinations(SPECS, 2)
    rows = [(*pair, *face_off(env, *pair, options.deals, options.seed)) for pair in pairs]
    text = report(rows, options.deals, options.seed)
    print(text)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text)


if __name__ == "__main__":
    main()
