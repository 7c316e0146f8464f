"""Networks that play, by kind: `make` builds one, `load` reads one back from a checkpoint.

model = make("mlp", env, widths=(256, 256))
params = model.init(key)
decision = decide(model, params, state, seat, key)
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from agents import checkpoints
from agents.networks import hands, hybrid, lstm, mlp, pointer, suits, transformer
from agents.networks.model import (
    Decision,
    Kept,
    Model,
    Output,
    Params,
    consider,
    decide,
    likeliest,
    network_agent,
    reconsider,
)
from agents.networks.policies import Categorical, Policy, categorical
from jaxgames import Env
from jaxgames.options import UserError

__all__ = [
    "KINDS",
    "Categorical",
    "Decision",
    "Kept",
    "Model",
    "Output",
    "Params",
    "Policy",
    "categorical",
    "consider",
    "decide",
    "describe",
    "likeliest",
    "load",
    "load_honest",
    "make",
    "network_agent",
    "reconsider",
]


class Kind(NamedTuple):
    """One kind of network."""

    network: type  # the flax module; its fields say everything about it
    model: Callable[..., Model]  # how it sits at the table: model(env, network, version)
    make: Callable[..., Model]  # make(env, version=None, **fields), with what the game decides filled in


KINDS = {
    "mlp": Kind(mlp.MLP, mlp.FlatModel, mlp.make),
    "suits": Kind(suits.SuitMLP, suits.sit, suits.make),
    "lstm": Kind(lstm.LSTM, lstm.SequenceModel, lstm.make),
    "transformer": Kind(transformer.Transformer, transformer.TableModel, transformer.make),
    "pointer": Kind(pointer.Pointer, pointer.PointerModel, pointer.make),
    "hybrid": Kind(hybrid.Hybrid, hybrid.HybridModel, hybrid.make),
    "hands": Kind(hands.Hands, hands.HandsModel, hands.make),
}


def make(kind: str, env: Env, version: str | None = None, **fields: Any) -> Model:
    """A network of this kind for a game; `version` of the observation, `fields` of the network."""
    if kind not in KINDS:
        raise UserError(f"networks: kind must be one of {', '.join(KINDS)}, got {kind!r}")
    return KINDS[kind].make(env, version, **{name: _frozen(value) for name, value in fields.items()})


def describe(model: Model) -> checkpoints.Json:
    """Kind and fields of the network, for JSON: with the observation's version enough for `load` to build it again."""
    kind = next(name for name, each in KINDS.items() if type(model.network) is each.network)
    hidden = ("parent", "name")  # flax's own
    fields = {f.name: getattr(model.network, f.name) for f in dataclasses.fields(model.network) if f.name not in hidden}
    return {"kind": kind, "fields": fields}


def load(path: str, env: Env) -> tuple[Model, Params]:
    """(model, params) of a run or checkpoint folder, or of an agent that comes with this repository under that name;
    refused unless it is of this game and fits it."""
    items, manifest = checkpoints.load(checkpoints.find(path), ("params",), env.id, env.version)
    try:
        model = _read(env, manifest)
        expected = jax.eval_shape(lambda: _first_thoughts(model))[0]
    except (KeyError, TypeError, ValueError) as error:
        raise checkpoints.CheckpointError(
            f"checkpoint: {path} is of a network that does not fit: {error}{_learned_with(env, manifest)}"
        ) from error
    shapes, needed = (jax.tree.map(lambda leaf: tuple(leaf.shape), tree) for tree in (items["params"], expected))
    if shapes != needed:
        raise checkpoints.CheckpointError(
            f"checkpoint: {path} holds other parameters than its network needs in this game: "
            f"{_first_difference(shapes, needed)}{_learned_with(env, manifest)}"
        )
    return model, items["params"]


def load_honest(path: str, env: Env) -> tuple[Model, Params]:
    """`load`, refused if the network reads what its player may not know."""
    model, params = load(path, env)
    if model.version not in env.honest_versions:
        raise UserError(
            f"agents: {path} reads {model.version!r}, which shows hidden cards; play it as worlds:{path},16"
        )
    return model, params


def _first_thoughts(model: Model) -> tuple[Params, Policy | None]:
    """New parameters and what they say about a first move: it fails where heads and choices do not fit together."""
    key = jax.random.key(0)
    params, state = model.init(key), model.env.init(key)
    return params, consider(model, params, state, state.current_player)[0] if model.plays else None


def _read(env: Env, manifest: dict[str, Any]) -> Model:
    about = manifest["network"]
    if "kind" not in about:  # format 1 knew one kind
        return make("mlp", env, **about)
    if about["kind"] not in KINDS:
        raise ValueError(f"its kind is {about['kind']!r}; known are {', '.join(KINDS)}")
    kind = KINDS[about["kind"]]
    network = kind.network(**{name: _frozen(value) for name, value in about["fields"].items()})
    version = manifest["observation"]
    if version not in env.observation_versions:
        raise ValueError(f"it reads observation {version!r}, which is none of {', '.join(env.observation_versions)}")
    return kind.model(env, network, version)


def _frozen(value: Any) -> Any:
    """Lists as tuples, all the way down: fields of a module are hashable."""
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def _learned_with(env: Env, manifest: dict[str, Any]) -> str:
    """The options that a network learned with where those of this game are others: most often they are why it fails."""
    others = [
        f"{name}={value}"
        for name, value in manifest.get("options", {}).items()
        if env.options.get(name) != _frozen(value)
    ]
    return f". It learned with {', '.join(others)}" if others else ""


def _first_difference(shapes: Any, needed: Any) -> str:
    found, expected = (
        {
            jax.tree_util.keystr(path): leaf
            for path, leaf in jax.tree_util.tree_leaves_with_path(tree, is_leaf=_is_shape)
        }
        for tree in (shapes, needed)
    )
    for name in sorted(found | expected):
        if found.get(name) != expected.get(name):
            return f"{name} is {found.get(name, 'missing')}, not {expected.get(name, 'needed')}"
    return "their order"


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple)
