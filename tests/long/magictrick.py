"""How exact and how fast the draws of hidden values are in Magic Trick (rules page, MT-52 to MT-56).

    python -m tests.long magictrick --out docs/results/magictrick_belief.md

Positions come from random play. Draws are compared with the exact belief, value by value; so is what a sampler would
show that takes every arrangement equally often, which must fail.
"""

import pathlib
import time

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.magictrick import belief as beliefs
from jaxgames.magictrick.state import hands

ENV = jaxgames.make("magictrick")


def random_positions(key, count: int):
    """States of random play, the i-th after i * 50 / count steps: [position, ...]."""

    def game(key, stop):
        deal_key, play_key = jax.random.split(key)

        def turn(state, x):
            i, key = x
            logits = jnp.where(ENV.legal_action_mask(state), 0.0, -jnp.inf)
            following = ENV.step(state, jax.random.categorical(key, logits))
            return jaxgames.pick((i < stop) & ~following.done, following, state), None

        return jax.lax.scan(turn, ENV.init(deal_key), (jnp.arange(50), jax.random.split(play_key, 50)))[0]

    return jax.jit(jax.vmap(game))(jax.random.split(key, count), jnp.arange(count) * 50 // count)


def draw(key, state, count: int):
    """int8[draw, seat, slot], determinizations of one state."""
    return jax.vmap(lambda key: hands(ENV.determinize(key, state, 0)))(jax.random.split(key, count))


def z_scores(shares, expected, num_draws: int) -> np.ndarray:
    """Distance of each share from its probability in standard errors, where at least five draws are expected."""
    expected = np.asarray(expected, np.float64)
    enough = (num_draws * expected >= 5) & (num_draws * (1 - expected) >= 5)
    shares, expected = shares[enough], expected[enough]
    return (shares - expected) / np.sqrt(expected * (1 - expected) / num_draws)


def shares_of(drawn, weight=None) -> np.ndarray:
    """float64[seat, slot, value], how often each value lies in each slot."""
    return np.average(np.asarray(drawn)[..., None] % 8 == np.arange(8), axis=0, weights=weight)


def shares_of_equal_weights(drawn) -> np.ndarray:
    """What a sampler that takes every arrangement equally often would show: draws weighed by the inverse of MT-54."""
    factorial = np.cumprod([1.0, *range(1, 15)])
    equal_cards = (np.asarray(drawn)[..., None] % 8 == np.arange(8)).sum(axis=2)  # [draw, seat, value]
    return shares_of(drawn, weight=factorial[equal_cards].prod(axis=(1, 2)))


def seconds(function, *arguments, repeats: int = 5) -> float:
    """The best time of some runs, compilation apart."""
    compiled = jax.jit(function).lower(*arguments).compile()
    jax.block_until_ready(compiled(*arguments))
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        times.append(time.perf_counter() - begin)
    return min(times)


def report(num_positions: int, num_draws: int, seed: int) -> str:
    """Exactness and cost as Markdown."""
    state_key, draw_key = jax.random.split(jax.random.key(seed))
    states = random_positions(state_key, num_positions)
    draws = jax.jit(draw, static_argnums=2)
    belief = jax.jit(beliefs.belief)
    largest, equal_largest, squares, count = [], [], 0.0, 0
    for i, key in enumerate(jax.random.split(draw_key, num_positions)):
        state = jax.tree.map(lambda leaf, i=i: leaf[i], states)
        drawn = draws(key, state, num_draws)
        expected = belief(state)
        z = z_scores(shares_of(drawn), expected, num_draws)
        equal = z_scores(shares_of_equal_weights(drawn), expected, num_draws)
        largest.append(np.abs(z).max(initial=0))
        equal_largest.append(np.abs(equal).max(initial=0))
        squares, count = squares + (z**2).sum(), count + z.size
    assert max(largest) < 5, "draws and belief disagree"
    assert max(equal_largest) > 5, "a wrong sampler would not be noticed"
    many = jax.tree.map(lambda leaf: jnp.concatenate([leaf] * 8), states)
    first = jax.tree.map(lambda leaf: leaf[0], states)
    alone = seconds(beliefs.belief, first)
    together = seconds(jax.vmap(beliefs.belief), many) / (8 * num_positions)
    one, thousand = (seconds(lambda key, n=n: draw(key, first, n), draw_key) for n in (1, 1000))
    return "\n".join(
        [
            "# Magic Trick: belief and draws",
            "",
            f"{num_draws} draws in each of {num_positions} positions of random play, compared with the exact belief",
            "wherever five draws or more are expected on either side.",
            "",
            f"Command: `python -m tests.long magictrick --positions {num_positions} --draws {num_draws} --seed {seed}`",
            "",
            "| | |",
            "|---|---|",
            f"| probabilities compared | {count} |",
            f"| largest distance, standard errors | {max(largest):.2f} |",
            f"| mean square distance (1 expected) | {squares / count:.3f} |",
            f"| largest distance if all arrangements had equal weights | {max(equal_largest):.1f} |",
            f"| positions where equal weights miss by 5 standard errors | {sum(z > 5 for z in equal_largest)} |",
            f"| belief of one position at the start of a hand | {1e3 * alone:.2f} ms |",
            f"| belief, each of a batch of {8 * num_positions} positions | {1e3 * together:.3f} ms |",
            f"| one draw at the start of a hand, its position included | {1e3 * one:.2f} ms |",
            f"| 1,000 draws of one position, the position included | {1e3 * thousand:.2f} ms |",
            "",
            f"Times on {jax.devices()[0].platform}, best of five, compilation apart.",
        ]
    )


def magictrick(positions: int = 50, draws: int = 20_000, seed: int = 0, out: pathlib.Path | None = None):
    """Draws of hidden values against the exact belief, value by value, and their cost.

    Args:
        positions: of random play.
        draws: in each of them.
        seed: of both.
        out: also write the report to this Markdown file.
    """
    text = report(positions, draws, seed) + "\n"
    print(text)
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text)
