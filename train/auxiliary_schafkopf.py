"""An auxiliary head of Schafkopf: who plays with whom, before the called ace shows it."""

from typing import NamedTuple

import chex
import jax.numpy as jnp
import optax

from jaxgames.schafkopf.cards import CALLED_ACE, NUM_SEATS, WENZ, of_contract
from jaxgames.schafkopf.state import State, gone, seats
from jaxgames.tricks import seats_from


class Labels(NamedTuple):
    """What a decision could not yet know, [row, ...]."""

    side: chex.Array  # bool[seat]  on the declarer's side; seats are counted from the player
    hidden: chex.Array  # bool[]  a Sauspiel whose ace has not been shown: without it there is nothing to predict


class Auxiliary:
    """What `train.ppo` needs of it."""

    heads = (("teams", NUM_SEATS),)

    def note(self, state: State, action: chex.Array) -> Labels:
        """Taken down before each step, from what the table knows."""
        del action
        ace = of_contract(CALLED_ACE, state.contract)
        side = (seats() == state.declarer) | ((state.dealt & ace) != 0)
        hidden = (state.contract > 0) & (state.contract < WENZ) & ((gone(state) & ace) == 0)
        return Labels(side[seats_from(state.current_player, NUM_SEATS)], hidden)

    def labels(self, notes: Labels, seat: chex.Array) -> Labels:
        """Of a rollout, [step, env, ...]: known at once."""
        del seat
        return notes

    def losses(self, predicted: dict[str, chex.Array], true: Labels) -> dict[str, chex.Array]:
        """The loss of the head, [row]; rows without a label cost nothing."""
        each = optax.sigmoid_binary_cross_entropy(predicted["teams"], true.side.astype(jnp.float32)).mean(-1)
        return {"teams": each * true.hidden}
