"""The Magic Trick bots against three random seats, by the protocol of the rules page (section 11).

    python -m train.bots_magictrick --hands 10000 --out docs/results/magictrick_bots.md

Every deal is played four times, so that the agent sits in every seat; the leader is drawn with the deal.
"""

import argparse
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

import agents
import jaxgames
from jaxgames.magictrick.cards import BID, NUM_SEATS, PASS
from jaxgames.magictrick.rules import hidden_slots
from train.matches import mean_and_error, play, rotations

SPECS = ("random", "rule")
PUBLISHED = {"random": "-1.99", "rule": "+0.12 ± 0.07"}
COLUMNS = ("points a hand", "rules page", "bid made", "prestige", "highest score", "sole highest", "hidden at the bid")


def bid_timing(hidden, before, action, after):
    """`watch` of a match: how many slots each seat had hidden when it bid, int32[seat]."""
    del after
    bids = (action >= BID) & (action < PASS)
    mine = jnp.arange(NUM_SEATS) == before.current_player
    return jnp.where(mine & bids, hidden_slots(before, before.current_player).sum(), hidden)


def against_random(env, spec: str, num_hands: int, seed: int) -> dict[str, str]:
    """One row of the table: `spec` in one seat, random players in the three others."""
    table = [agents.make(spec, env), agents.make("random", env)]
    lineup = rotations([0, 1, 1, 1])
    start = jnp.zeros(NUM_SEATS, jnp.int32)
    played = play(env, table, lineup, jax.random.key(seed), num_hands // 4, batch=128, watch=(start, bid_timing))
    # Where all four are random every seat counts, not only the one that is rotated.
    counted = np.broadcast_to(lineup == 0, played.returns.shape) | (spec == "random")

    def share(by_seat):
        mean, error = mean_and_error((by_seat * counted).sum(axis=(1, 2)) / counted.sum(axis=(1, 2)))
        return f"{100 * mean:.1f} ± {100 * error:.1f} %"

    points = played.states.scores
    mean, error = mean_and_error((points * counted).sum(axis=(1, 2)) / counted.sum(axis=(1, 2)))
    best = points == points.max(axis=-1, keepdims=True)
    cells = (
        f"{mean:+.3f} ± {error:.3f}",
        PUBLISHED[spec],
        share(played.states.bid == played.states.tricks),
        share(played.states.prestige),
        share(best),
        share(best & (best.sum(axis=-1, keepdims=True) == 1)),
        f"{played.log[counted].mean():.2f}",
    )
    return dict(zip(COLUMNS, cells, strict=True))


def report(rows: dict[str, dict[str, str]], num_hands: int, seed: int, out: pathlib.Path | None) -> str:
    """The table as Markdown."""
    lines = [
        "# Magic Trick bots",
        "",
        f"Each agent against three random seats, {num_hands} hands: {num_hands // 4} deals, each with the agent in",
        "every seat, leader drawn with the deal; standard errors over deals. No agent sees hidden values.",
        "",
        f"Command: `python -m train.bots_magictrick --hands {num_hands} --seed {seed} --out {out}`",
        "",
        f"| agent | {' | '.join(COLUMNS)} |",
        "|---" * (len(COLUMNS) + 1) + "|",
        *(f"| {spec} | {' | '.join(row.values())} |" for spec, row in rows.items()),
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hands", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, help="also write the table to this file")
    options = parser.parse_args()
    env = jaxgames.make("magictrick", first_leader=-1, reward="points")
    rows = {spec: against_random(env, spec, options.hands, options.seed) for spec in SPECS}
    text = report(rows, options.hands, options.seed, options.out)
    print(text)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text)


if __name__ == "__main__":
    main()
