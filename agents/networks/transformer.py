"""`transformer`: attention over the parts of Skyjo's table, with weights that fit two to eight players.

Tokens are the columns of all boards, one for each player, the discard pile, the decision, what is left in the deck, and
the public records. A column is the sum of what its three slots say, and no token is told its place: so whatever is
said about a slot goes with it when columns, or the slots of a column, change places.
"""

from typing import Any, NamedTuple

import chex
import flax.linen as nn
import jax.numpy as jnp

from agents.networks.model import Labels, Model, Output, dense_layer, hidden_layer
from jaxgames import Env, State
from jaxgames.options import UserError
from jaxgames.skyjo.cards import HISTORY_UNKNOWN, MIN_VALUE, NUM_COLUMNS, NUM_ROWS, NUM_SLOTS, NUM_VALUES, Record

MAX_SEATS = 8


class Table(NamedTuple):
    """A view in tokens; seats are counted from the observer."""

    boards: chex.Array  # bool[seat, slot, 17]  face-up value, hidden, removed
    seats: chex.Array  # float32[seat, 8]
    discard: chex.Array  # float32[17]  top, sizes of the piles
    decision: chex.Array  # float32[26]  card in hand, phases
    deck: chex.Array  # float32[33]  what is unseen, how far the round is
    records: chex.Array  # int8[record, 7]  relative seat, type, source, slot, two values, within one's last round


class Transformer(nn.Module):
    """One encoder for all tokens; policy from the columns of one's own board and the decision."""

    words: int  # actions that name no slot
    slot_actions: int  # actions for each slot
    width: int = 64
    layers: int = 2
    heads: int = 4
    auxiliary: tuple[tuple[str, int], ...] = ()
    dtype: str = "float32"

    @nn.compact
    def __call__(self, view: Table) -> Output:
        def dense(size, name, scale=1.0):
            return dense_layer(size, self.dtype, name, scale)

        n = view.boards.shape[0]
        away = jnp.arange(n)[:, None] == jnp.array([0, 1, n - 1])  # oneself, the next, the one before
        player = dense(self.width, "player")(jnp.concatenate([view.seats, away], axis=-1))  # [seat, width]
        slots = nn.relu(hidden_layer(self.width, self.dtype, "slot")(view.boards.astype(jnp.float32)))
        columns = slots.reshape(n, NUM_ROWS, NUM_COLUMNS, -1).sum(1)  # [seat, column, width]
        columns = dense(self.width, "column")(columns) + player[:, None]
        single = [
            dense(self.width, name)(getattr(view, name).astype(jnp.float32)) for name in ("discard", "decision", "deck")
        ]
        records, is_record = self.record_tokens(view.records, n, dense)
        tokens = jnp.concatenate([columns.reshape(-1, self.width), player, jnp.stack(single), records])
        is_there = jnp.concatenate([jnp.ones(tokens.shape[0] - records.shape[0], bool), is_record])
        for i in range(self.layers):
            tokens = self.block(tokens, is_there, i)
        tokens = nn.LayerNorm(dtype=self.dtype, name="norm")(tokens)

        decision = tokens[NUM_COLUMNS * n + n + 1]
        own = jnp.tile(tokens[:NUM_COLUMNS], (NUM_ROWS, 1))  # [slot, width]: slot = 4 * row + column
        seen = jnp.concatenate([own, slots[0], jnp.broadcast_to(decision, own.shape)], axis=-1)
        by_slot = dense(self.slot_actions, "slot_logits", 0.01)(
            nn.relu(hidden_layer(self.width, self.dtype, "aim")(seen))
        )
        by_word = dense(self.words, "word_logits", 0.01)(decision) if self.words else jnp.zeros(0)
        logits = jnp.concatenate([by_word, by_slot.T.ravel()]).astype(jnp.float32)
        mean = jnp.where(is_there[:, None], tokens, 0).sum(0) / is_there.sum()
        hidden = nn.relu(
            hidden_layer(self.width, self.dtype, "judge")(jnp.concatenate([decision, tokens[NUM_COLUMNS * n], mean]))
        )
        value = dense(1, "value")(hidden).astype(jnp.float32)[0]
        return Output(logits, value, Labels(self.auxiliary, self.dtype, name="labels")(hidden), hidden)

    def record_tokens(self, records: chex.Array, n: int, dense) -> tuple[chex.Array, chex.Array]:
        """([record, width], bool[record]): what was done, by whom, with which cards; the board shows where."""
        actor, kind, source, _, a, b, is_recent = jnp.moveaxis(records, -1, 0).astype(jnp.int32)
        features = [
            actor[:, None] == jnp.array([0, 1, n - 1]),
            kind[:, None] == jnp.arange(len(Record)),
            source[:, None] == jnp.arange(2),
            *(each[:, None] - MIN_VALUE == jnp.arange(NUM_VALUES) for each in (a, b)),
            is_recent[:, None] == 1,
        ]
        return dense(self.width, "record")(jnp.concatenate(features, axis=-1).astype(jnp.float32)), kind >= 0

    def block(self, tokens: chex.Array, is_there: chex.Array, i: int) -> chex.Array:
        """Attention and a layer for each token, both added to what was there."""
        attend = nn.MultiHeadDotProductAttention(self.heads, dtype=self.dtype, name=f"attention_{i}")
        before = nn.LayerNorm(dtype=self.dtype, name=f"before_attention_{i}")(tokens)
        # The weights can be read by `apply(..., mutable="intermediates")`; otherwise nothing is kept of them.
        tokens += attend(before, mask=is_there[None, None], sow_weights=True)
        hidden = nn.LayerNorm(dtype=self.dtype, name=f"before_layer_{i}")(tokens)
        hidden = nn.relu(hidden_layer(2 * self.width, self.dtype, f"layer_{i}")(hidden))
        return tokens + nn.Dense(self.width, dtype=self.dtype, name=f"back_{i}")(hidden)


class TableModel(Model):
    """Reads both versions of Skyjo's observation: the records are in `tokens`, what became of a slot in `flat`."""

    def look(self, state: State, seat: chex.Array) -> Table:
        flat, tokens = (self.env.view(state, seat, version) for version in ("flat", "tokens"))
        actor = tokens.action_tokens[:, 0]
        is_recent = tokens.action_tokens_since_last_turn[:, 1] != HISTORY_UNKNOWN
        relative = jnp.where(actor >= 0, (actor - seat) % self.env.num_players, -1)
        return Table(
            boards=flat.boards.astype(bool),
            seats=flat.seats,
            discard=jnp.concatenate([flat.discard, flat.progress[:2]]),
            decision=jnp.concatenate([flat.drawn, flat.decision, flat.hand, flat.phase]),
            deck=jnp.concatenate([flat.unseen, flat.pile, flat.progress[2:]]),
            records=jnp.concatenate(
                [relative[:, None], tokens.action_tokens[:, 1:], is_recent[:, None]], axis=-1
            ).astype(jnp.int8),
        )


def make(env: Env, version: str | None = None, **fields: Any) -> Model:
    """A transformer for Skyjo, in either mode."""
    if env.id != "skyjo" or version not in (None, "tokens"):
        raise UserError(f"networks: transformer reads the tokens of skyjo, got {env.id} {version or ''}")
    slot_actions = max(1, env.num_actions // NUM_SLOTS)
    words = env.num_actions - slot_actions * NUM_SLOTS
    return TableModel(env, Transformer(words, slot_actions, **fields), "tokens")
