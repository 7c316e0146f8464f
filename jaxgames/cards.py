"""What card games share: shuffles, sets of cards, and choosing one of the legal actions."""

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


def set_of(cards: chex.Array, words: int) -> chex.Array:
    """The set of the card ids on the last axis as bits: uint32[..., word], 32 cards a word.

    Comparing every card with every id takes ten times as long on a CPU. Ids beyond the words are in no set.
    """
    ids = cards[..., None].astype(jnp.uint32)
    bits = jnp.where(ids >> 5 == jnp.arange(words, dtype=jnp.uint32), jnp.uint32(1) << (ids & 31), jnp.uint32(0))
    return jax.lax.reduce(bits, jnp.uint32(0), jax.lax.bitwise_or, (bits.ndim - 2,))


def members(sets: chex.Array, n: int) -> chex.Array:
    """bool[..., n]: which of the cards 0..n-1 are in the sets of bits, uint32[..., word]."""
    bits = sets[..., None] >> jnp.arange(32, dtype=jnp.uint32) & 1 == 1
    return bits.reshape(*sets.shape[:-1], -1)[..., :n]


def choose(mask: chex.Array, word: chex.Array) -> chex.Array:
    """A uniformly chosen True position of `mask`, int32[], from one random uint32 word. An all-False mask gives 0."""
    return choose_member(pack(mask), word)


def choose_member(sets: chex.Array, word: chex.Array) -> chex.Array:
    """A uniformly chosen member of the set of bits uint32[word], int32[], from one random uint32 word.

    The empty set gives 0.
    """
    uniform = (word >> 8).astype(jnp.float32) * jnp.float32(2**-24)
    # The product may round up to the count itself: the last member is then meant.
    return kth_member(sets, jnp.floor(uniform * _count(sets).sum().astype(jnp.float32)).astype(jnp.int32))


def kth_member(sets: chex.Array, k: chex.Array) -> chex.Array:
    """The member number k of the set of bits uint32[word], int32[]; beyond the last the last, 0 of the empty set.

    It is found by halving: a cumulative sum and an argmax over a mask take twenty times as long on a CPU.
    """
    counts = _count(sets)
    total = counts.sum()
    k = jnp.clip(k, 0, jnp.maximum(total - 1, 0))
    ends = jnp.cumsum(counts)
    lies_beyond = ends <= k
    bits = jnp.where(jnp.arange(len(sets)) == lies_beyond.sum(), sets, 0).sum(dtype=jnp.uint32)
    left = k - jnp.where(lies_beyond, counts, 0).sum()
    place = 32 * jnp.minimum(lies_beyond.sum(), len(sets) - 1)
    for half in (16, 8, 4, 2, 1):
        low = _count(bits & jnp.uint32((1 << half) - 1))
        lies_above = left >= low
        bits = jnp.where(lies_above, bits >> half, bits)
        place = jnp.where(lies_above, place + half, place)
        left = jnp.where(lies_above, left - low, left)
    return jnp.where(total > 0, place, 0).astype(jnp.int32)


def first_places(mask: chex.Array, count: int) -> chex.Array:
    """int32[count], the first `count` True places of a mask in order; past the last of them the mask's own length.

    `jnp.nonzero` with a size has two cumulative sums, each several loops on a CPU; this has one.
    """
    return numbered(jnp.cumsum(mask, dtype=jnp.int32) * mask, 0, count)


def numbered(number: chex.Array, begin: chex.Numeric, count: int) -> chex.Array:
    """int32[count], the places of the numbers begin + 1..begin + count in `number`; its length for those not there."""
    size = number.shape[0]
    rank = jnp.where(number > begin, number - begin - 1, count)
    return jnp.full(count, size, jnp.int32).at[rank].set(jnp.arange(size, dtype=jnp.int32), mode="drop")


def is_member(sets: chex.Array, i: chex.Array) -> chex.Array:
    """bool[], is `i` in the set of bits uint32[word]? Never, where it is beyond them or below 0."""
    words = jnp.arange(sets.shape[-1], dtype=jnp.int32)
    return ((sets >> (i & 31).astype(jnp.uint32) & 1 == 1) & (words == i >> 5)).any()


def pack(mask: chex.Array) -> chex.Array:
    """uint32[word], the True positions of a mask as a set of bits; `members` undoes it."""
    bits = jnp.pad(mask, (0, -mask.shape[-1] % 32)).reshape(-1, 32).astype(jnp.uint32)
    return (bits << jnp.arange(32, dtype=jnp.uint32)).sum(-1, dtype=jnp.uint32)


def _count(bits: chex.Array) -> chex.Array:
    """int32[...], how many bits are set."""
    return jax.lax.population_count(bits).astype(jnp.int32)


def random_action(key: chex.PRNGKey, mask: chex.Array) -> chex.Array:
    """A uniform legal action, int32[]."""
    return choose(mask, jax.random.bits(key, (), jnp.uint32))
