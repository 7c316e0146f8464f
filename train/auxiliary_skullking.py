"""Auxiliary heads of Skull King (SK-62): which pirates will win, how the bid will end, where the cards are."""

from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import optax

from jaxgames.skullking import SkullKingEnv, labels
from jaxgames.skullking.cards import NUM_CARDS
from jaxgames.skullking.rules import Events
from jaxgames.skullking.state import State

NUM_BITS, NUM_CLASSES = 10, 5


class Labels(NamedTuple):
    """What a decision could have known only later, [row, ...]."""

    abilities: chex.Array  # bool[10]
    bid: chex.Array  # int32[]     0..4
    known: chex.Array  # bool[]      the round's scoring was seen: without it the two above are unknown
    cards: chex.Array  # int8[card]  relative seat, 0 stock, -1 no label


class Auxiliary(NamedTuple):
    """What `train.ppo` needs of them. Hashable: it is part of a static task."""

    env: SkullKingEnv

    @property
    def heads(self) -> tuple[tuple[str, int], ...]:
        return ("abilities", NUM_BITS), ("bid", NUM_CLASSES), ("cards", NUM_CARDS * self.env.num_players)

    def note(self, state: State, action: chex.Array) -> tuple[Events, chex.Array]:
        """Taken down before each step, from what the table knows."""
        _, events = self.env.step_with_events(state, action)
        return events, labels.card_locations(self.env, state, state.current_player)

    def labels(self, notes: tuple[Events, chex.Array], seat: chex.Array) -> Labels:
        """Labels of a rollout, [step, env, ...], by looking back over it."""
        events, cards = notes
        seen = jax.vmap(lambda one: labels.hindsight(one, self.env.num_players), 1, 1)(events)
        each = jax.vmap(
            jax.vmap(lambda wins, off, seat: (labels.ability_bits(wins, seat), labels.bid_class(off, seat)))
        )
        abilities, bid = each(seen.pirate_wins, seen.off, seat)
        return Labels(abilities=abilities, bid=bid, known=seen.known, cards=cards)

    def losses(self, predicted: dict[str, chex.Array], true: Labels) -> dict[str, chex.Array]:
        """The loss of every head, [row]; rows without a label cost nothing."""
        bits = optax.sigmoid_binary_cross_entropy(predicted["abilities"], true.abilities.astype(jnp.float32)).mean(-1)
        bid = optax.softmax_cross_entropy_with_integer_labels(predicted["bid"], true.bid)
        by_card = predicted["cards"].reshape(*true.cards.shape, self.env.num_players)
        hidden = true.cards >= 0
        place = optax.softmax_cross_entropy_with_integer_labels(by_card, jnp.maximum(true.cards, 0).astype(jnp.int32))
        cards = jnp.where(hidden, place, 0.0).sum(-1) / jnp.maximum(hidden.sum(-1), 1)
        known = true.known.astype(jnp.float32)
        return {"abilities": bits * known, "bid": bid * known, "cards": cards}
