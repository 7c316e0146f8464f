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

    Counting to the k-th legal action costs a third of a categorical draw. An all-False mask gives 0.
    """
    ranks = jnp.cumsum(mask, dtype=jnp.int32)
    uniform = (word >> 8).astype(jnp.float32) * jnp.float32(2**-24)
    k = jnp.floor(uniform * ranks[-1].astype(jnp.float32)).astype(jnp.int32)
    # The product may round up to the count itself: the last legal action is then meant.
    k = jnp.minimum(k, ranks[-1] - 1)
    return jnp.argmax(ranks > k).astype(jnp.int32)


def random_action(key: chex.PRNGKey, mask: chex.Array) -> chex.Array:
    """A uniform legal action, int32[]."""
    return choose(mask, jax.random.bits(key, (), jnp.uint32))
