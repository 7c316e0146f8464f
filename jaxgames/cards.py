"""What card games share: shuffles, and choosing one of the legal actions."""

import chex
import jax
import jax.numpy as jnp


def shuffle(key: chex.PRNGKey, n: int) -> chex.Array:
    """A uniform order of the ids 0..n-1, n <= 256: int16[n]  (int8 up to 127 cards)."""
    return shuffles(key, 1, n)[0]


def shuffles(key: chex.PRNGKey, count: int, n: int) -> chex.Array:
    """`count` independent uniform orders of 0..n-1: [count, n].

    One random word a card with the card in its low bits, then one sort: six times cheaper than `permutation`.
    """
    low_bits = max(1, (n - 1).bit_length())
    low = jnp.uint32((1 << low_bits) - 1)
    noise = jax.random.bits(key, (count, n), jnp.uint32) & ~low
    order = jnp.sort(noise | jnp.arange(n, dtype=jnp.uint32), axis=-1) & low
    return order.astype(jnp.int8 if n <= 127 else jnp.int16)


def choose(mask: chex.Array, word: chex.Array) -> chex.Array:
    """A uniformly chosen True position of `mask`, int32[], from one random uint32 word.

    The mask becomes bits, and population counts lead to the k-th: a tenth of the cost of a cumulative sum on a CPU,
    where a categorical draw costs three of those. An all-False mask gives 0.
    """
    words = _as_bits(mask)
    counts = jax.lax.population_count(words).astype(jnp.int32)
    through = jnp.cumsum(counts)  # legal actions up to the end of each word
    uniform = (word >> 8).astype(jnp.float32) * jnp.float32(2**-24)
    k = jnp.floor(uniform * through[-1].astype(jnp.float32)).astype(jnp.int32)
    # The product may round up to the count itself: the last legal action is then meant.
    k = jnp.minimum(k, through[-1] - 1)
    which = jnp.minimum((through <= k).sum(), words.size - 1)
    bits, k, position = words[which], k - (through[which] - counts[which]), 32 * which
    for half in (16, 8, 4, 2, 1):
        low = bits & jnp.uint32((1 << half) - 1)
        in_low = jax.lax.population_count(low).astype(jnp.int32)
        is_above = k >= in_low
        bits = jnp.where(is_above, bits >> half, low)
        k = jnp.where(is_above, k - in_low, k)
        position = position + half * is_above
    return position.astype(jnp.int32)


def _as_bits(mask: chex.Array) -> chex.Array:
    """uint32[ceil(n / 32)], entry i of the mask as bit i % 32 of word i // 32."""
    padded = jnp.pad(mask, (0, -mask.size % 32)).reshape(-1, 32)
    return (padded.astype(jnp.uint32) << jnp.arange(32, dtype=jnp.uint32)).sum(-1, dtype=jnp.uint32)


def random_action(key: chex.PRNGKey, mask: chex.Array) -> chex.Array:
    """A uniform legal action, int32[]."""
    return choose(mask, jax.random.bits(key, (), jnp.uint32))
