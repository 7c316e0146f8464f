"""The bots of Saboteur against the figures of the rules page (section 17).

python -m train.bots_saboteur --games 1000 --out docs/results/saboteur_bots.md
"""

import dataclasses
import math
import pathlib
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import agents
import jaxgames
from jaxgames.saboteur.state import MINERS
from train import matches


@dataclasses.dataclass(frozen=True)
class Config:
    """What to play and where to write."""

    games: int = 1000  # games of every row
    seed: int = 0  # of the deals
    out: pathlib.Path | None = None  # Markdown file; printed otherwise


class Row(NamedTuple):
    """One line of section 17: who plays, and the share of games with the gold found."""

    variant: str
    num_players: int
    miners: str
    saboteurs: str
    page_games: int
    page_share: float


PATHS = [("random", 0.01, 0.03), ("rule_based", 0.37, 0.38), ("rule_based_rot", 0.13, 0.13)]
GREEDY = {3: 0.45, 4: 0.61, 5: 0.31, 6: 0.46, 7: 0.31, 8: 0.30, 9: 0.48, 10: 0.30}
AGAINST_RANDOM = {3: 0.71, 4: 0.83, 5: 0.72, 6: 0.80, 7: 0.68, 8: 0.70, 9: 0.81, 10: 0.75}
ROWS = [
    *(Row("paths", n, bot, bot, 300, share) for bot, *shares in PATHS for n, share in zip((2, 4), shares, strict=True)),
    *(Row("full", n, "random", "random", 150, 0.0) for n in (3, 5, 10)),
    *(Row("full", n, "role_greedy", "role_greedy", 200, share) for n, share in GREEDY.items()),
    *(Row("full", n, "role_greedy", "random", 200, share) for n, share in AGAINST_RANDOM.items()),
]


def main(config: Config) -> None:
    """Play every row and write the table."""
    lines = [
        "# Saboteur: the bots against the rules page",
        "",
        "Share of games in which the gold is found (full: one round). The last column is the difference in standard",
        "errors of the difference; both samples are finite.",
        "",
        f"    python -m train.bots_saboteur --games {config.games} --seed {config.seed} --out <file>",
        "",
        "| setting | page | games | found | steps | finisher's reward (`seat`) | difference |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        lines.append(play_row(config, row))
        print(lines[-1], flush=True)
    if config.out is not None:
        config.out.parent.mkdir(parents=True, exist_ok=True)
        config.out.write_text("\n".join(lines) + "\n")


def play_row(config: Config, row: Row) -> str:
    """One line of the table."""
    is_full = row.variant == "full"
    options = {"rounds": 1} if is_full else {"rank_from": "seat"}
    env = jaxgames.make("saboteur", variant=row.variant, num_players=row.num_players, **options)
    agent = agents.make(row.miners, env)
    if row.miners != row.saboteurs:
        agent = by_role(agent, agents.make(row.saboteurs, env))
    lineup = np.zeros((1, row.num_players), int)
    played = matches.play(env, [agent], lineup, jax.random.key(config.seed), config.games)
    states = jax.tree.map(lambda leaf: leaf[:, 0], played.states)
    if is_full:
        found, reward = states.winners[:, 0] == MINERS, ""
    else:
        found = np.asarray(jax.vmap(env.found_gold)(states))
        reward = f"{played.returns[np.arange(config.games), 0, states.current_player].mean():.1f}"
    share, error = matches.mean_and_error(found)
    bots = row.miners if row.miners == row.saboteurs else f"miners {row.miners}, saboteurs {row.saboteurs}"
    apart = share - row.page_share
    page_error = math.sqrt(max(share * (1 - share), row.page_share * (1 - row.page_share)) / row.page_games)
    spread = math.hypot(error, page_error)
    in_errors = f"{apart / spread:+.1f}" if spread else "0.0"
    return (
        f"| {row.variant} N={row.num_players}, {bots} | {row.page_share:.0%} of {row.page_games} | {config.games} "
        f"| {share:.1%} ± {error:.1%} | {states.step_count.mean():.1f} | {reward} | {in_errors} |"
    )


def by_role(miner, saboteur):
    """An agent that plays as `miner` or as `saboteur`, by its own role."""

    def act(key, state, player):
        is_saboteur = state.roles[state.round, player]
        return jnp.where(is_saboteur, saboteur(key, state, player), miner(key, state, player))

    return act


if __name__ == "__main__":
    main(tyro.cli(Config))
