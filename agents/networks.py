"""The network that plays: one encoder, all heads side by side in one matrix product, cut by the legal mask."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import chex
import distrax
import flax.linen as nn
import jax
import jax.numpy as jnp

from agents import checkpoints
from jaxgames import Env

# Named heads of a game, in the order of its flat actions; actions behind them are forced and need no output.
HEADS = {"skullking": (("bid", 11), ("card", 13), ("rosie", 6), ("bendt", 13), ("roatan", 3), ("harry", 3))}


class Output(NamedTuple):
    """What the network says about a batch of observations."""

    logits: chex.Array  # float32[..., action], before the mask
    value: chex.Array  # float32[...]


class PolicyValue(nn.Module):
    """A shared encoder with one policy head for each kind of decision and one for the value (SK-63).

    A phase needs no branch: its legal mask leaves exactly the entries of its head. `auxiliary` heads predict labels
    during training and cost nothing in play.
    """

    num_actions: int
    heads: tuple[tuple[str, int], ...]
    widths: tuple[int, ...] = (256, 256)
    auxiliary: tuple[tuple[str, int], ...] = ()
    dtype: str = "float32"  # of the products; parameters, logits and values stay float32

    def setup(self):
        scaled = nn.initializers.orthogonal(math.sqrt(2))
        self.layers = [nn.Dense(width, kernel_init=scaled, dtype=self.dtype) for width in self.widths]
        self.outputs = nn.Dense(sum(size for _, size in self.heads) + 1, kernel_init=_first_outputs, dtype=self.dtype)
        self.labels = [nn.Dense(size, dtype=self.dtype, name=name) for name, size in self.auxiliary]

    def __call__(self, observation: chex.Array) -> Output:
        return self.play(self.encode(observation))

    def encode(self, observation: chex.Array) -> chex.Array:
        """What the heads read, [..., width]."""
        hidden = observation
        for layer in self.layers:
            hidden = nn.relu(layer(hidden))
        return hidden

    def play(self, hidden: chex.Array) -> Output:
        out = self.outputs(hidden).astype(jnp.float32)
        logits, value = out[..., :-1], out[..., -1]
        forced = self.num_actions - logits.shape[-1]
        return Output(jnp.pad(logits, [(0, 0)] * (logits.ndim - 1) + [(0, forced)]), value)

    def everything(self, observation: chex.Array) -> tuple[Output, dict[str, chex.Array]]:
        """The output and the auxiliary predictions, {name: float32[..., size]}."""
        hidden = self.encode(observation)
        labels = {
            name: layer(hidden).astype(jnp.float32)
            for (name, _), layer in zip(self.auxiliary, self.labels, strict=True)
        }
        return self.play(hidden), labels


def _first_outputs(key: chex.PRNGKey, shape: Sequence[int], dtype: Any = jnp.float32) -> chex.Array:
    """Small policy columns, so that play starts near uniform; a value column of ordinary size."""
    policy_key, value_key = jax.random.split(key)
    policy = nn.initializers.orthogonal(0.01)(policy_key, (shape[0], shape[1] - 1), dtype)
    return jnp.concatenate([policy, nn.initializers.orthogonal(1.0)(value_key, (shape[0], 1), dtype)], axis=-1)


def make_network(env: Env, widths: Sequence[int] = (256, 256), dtype: str = "float32", auxiliary=()) -> PolicyValue:
    """The network for a game: its named heads, or one head for all its actions."""
    heads = HEADS.get(env.id, (("action", env.num_actions),))
    return PolicyValue(env.num_actions, heads, tuple(widths), tuple(map(tuple, auxiliary)), dtype)


def masked(logits: chex.Array, mask: chex.Array) -> distrax.Categorical:
    """The distribution over legal actions. The lowest finite number, not -inf: an empty row stays finite."""
    return distrax.Categorical(logits=jnp.where(mask, logits, jnp.finfo(logits.dtype).min))


def sample(policy: distrax.Categorical, key: chex.PRNGKey) -> chex.Array:
    """One action a row, int32[...]: from one random number each, where `policy.sample` needs one for every action.

    Probabilities become whole numbers first: sums of floats depend on their order, and a place of width zero could
    open up between two of them.
    """
    widths = (jnp.exp(policy.logits) * 2**24).astype(jnp.int32)
    ends = jax.lax.associative_scan(jnp.add, widths, axis=-1)
    point = (jax.random.uniform(key, (*ends.shape[:-1], 1)) * ends[..., -1:]).astype(jnp.int32)
    return (ends <= point).sum(-1, dtype=jnp.int32)


def log_prob_and_entropy(logits: chex.Array, mask: chex.Array, action: chex.Array) -> tuple[chex.Array, chex.Array]:
    """Of `masked(logits, mask)`: the action's log-probability and the entropy, both float32[...].

    What distrax computes as well, but from one exponential a logit, forward and back.
    """
    legal = jnp.where(mask, logits, jnp.finfo(logits.dtype).min)
    below = legal - jax.lax.stop_gradient(legal.max(-1, keepdims=True))
    widths = jnp.exp(below)
    total = widths.sum(-1)
    log_prob = jnp.take_along_axis(below, action[..., None], axis=-1)[..., 0] - jnp.log(total)
    return log_prob, jnp.log(total) - (widths * below).sum(-1) / total


def observation_size(env: Env) -> int:
    """Length of the default observation; nothing is computed."""
    return env.observation_shape()[0]


def network_agent(env: Env, network: PolicyValue, params: Any, greedy: bool = False):
    """The network as an agent; `params` may be traced, so one compilation serves every stage of a training."""

    def act(key: chex.PRNGKey, state: Any, player: chex.Array) -> chex.Array:
        logits = network.apply(params, env.observe(state, player).astype(jnp.float32)).logits
        policy = masked(logits, env.legal_action_mask(state))
        return policy.mode() if greedy else sample(policy, key)

    return act


def describe(network: PolicyValue) -> dict[str, Any]:
    """Kind and fields of a network, as a checkpoint's manifest has them."""
    fields = {"widths": network.widths, "dtype": network.dtype, "auxiliary": network.auxiliary}
    return {"kind": "mlp", "fields": fields}


def load_network(path: str, env: Env) -> tuple[PolicyValue, Any]:
    """(network, params) of a run or checkpoint folder, or of an agent that comes with this repository under that name;
    refused unless it is of this game and fits it."""
    items, manifest = checkpoints.load(checkpoints.find(path), ("params",), env.id, env.version)
    about = manifest["network"]
    network = make_network(env, **about.get("fields", about))  # format 1 had the fields alone
    params = items["params"]
    reads = params["params"]["layers_0"]["kernel"].shape[0]
    if reads != observation_size(env):
        raise checkpoints.CheckpointError(f"checkpoint: {path} reads {reads} numbers, not {observation_size(env)}")
    return network, params
