"""Checkpoints: arrays in orbax's format beside a manifest that says what they are and how to tell they are whole.

A checkpoint is a folder: `manifest.json` (game, version, options, network, SHA-256 of every file) and one orbax folder
for each item. It appears at once, by a rename; nothing in it is ever unpickled.
"""

import hashlib
import json
import os
import pathlib
import shutil
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

FORMAT = 1
MANIFEST = "manifest.json"


class CheckpointError(ValueError):
    """A checkpoint that is missing, damaged, or of something else. The message says which."""


def save(folder: str | os.PathLike, items: dict[str, Any], about: dict[str, Any]) -> pathlib.Path:
    """Write the items ({name: nested dict of arrays}) as a new checkpoint; it is there completely or not at all."""
    folder = pathlib.Path(folder).absolute()
    if folder.exists():
        raise CheckpointError(f"checkpoint: {folder} exists already and is not overwritten")
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    with _orbax() as store:
        for name, item in items.items():
            store.save(partial / name, jax.tree.map(np.asarray, item))
            # Our own rename commits; orbax's mark would carry the path of this machine.
            (partial / name / "commit_success.txt").unlink(missing_ok=True)
    manifest = {"format": FORMAT, **about, "sha256": _digests(partial)}
    with open(partial / MANIFEST, "w") as file:
        json.dump(manifest, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.rename(partial, folder)
    return folder


def load(folder: str | os.PathLike, names: tuple[str, ...], game: str, version: int) -> tuple[dict[str, Any], dict]:
    """(items, manifest) of a checkpoint of this game, after checking every file. Arrays are numpy."""
    folder = pathlib.Path(folder).absolute()
    manifest = read_manifest(folder)
    if (manifest.get("game"), manifest.get("version")) != (game, version):
        raise CheckpointError(
            f"checkpoint: {folder} is of {manifest.get('game')} version {manifest.get('version')}, "
            f"not of {game} version {version}"
        )
    if _digests(folder) != manifest.get("sha256"):
        raise CheckpointError(f"checkpoint: {folder} is damaged: its files do not match its manifest; use an older one")
    with _orbax() as store:
        return {name: store.restore(folder / name) for name in names}, manifest


def read_manifest(folder: pathlib.Path) -> dict[str, Any]:
    """The manifest of a checkpoint folder."""
    if not folder.is_dir():
        raise CheckpointError(f"checkpoint: there is no checkpoint folder at {folder}")
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"checkpoint: {folder} has no readable {MANIFEST}; it is not a checkpoint") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise CheckpointError(f"checkpoint: {folder} is not in the format that this version writes ({FORMAT})")
    return manifest


def latest(run: str | os.PathLike) -> pathlib.Path:
    """The newest checkpoint of a run folder; a checkpoint folder itself is taken as it is."""
    run = pathlib.Path(run)
    if (run / MANIFEST).exists():
        return run
    found = [path for path in (run / "checkpoints").glob("*") if path.name.isdigit() and path.is_dir()]
    if not found:
        raise CheckpointError(f"checkpoint: there is no checkpoint at {run}")
    return max(found, key=lambda path: int(path.name))


def pack(tree: Any) -> dict[str, np.ndarray]:
    """Any pytree of arrays and keys as a flat dict of arrays, by position."""
    leaves = [jax.random.key_data(leaf) if _is_key(leaf) else leaf for leaf in jax.tree.leaves(tree)]
    return {f"{i:04d}": np.asarray(leaf) for i, leaf in enumerate(leaves)}


def unpack(packed: dict[str, np.ndarray], like: Any) -> Any:
    """`pack` undone; `like` has the shapes and dtypes to expect (arrays or `jax.eval_shape`'s stand-ins)."""
    expected, structure = jax.tree.flatten(like)
    if sorted(packed) != [f"{i:04d}" for i in range(len(expected))]:
        raise CheckpointError("checkpoint: it holds other parts than this configuration needs")
    leaves = []
    for name, leaf in zip(sorted(packed), expected, strict=True):
        stored = packed[name]
        if _is_key(leaf):
            leaves.append(jax.random.wrap_key_data(jnp.asarray(stored)))
        elif (stored.shape, stored.dtype) != (leaf.shape, leaf.dtype):
            raise CheckpointError(f"checkpoint: a part of it is {stored.shape} where {leaf.shape} is needed")
        else:
            leaves.append(jnp.asarray(stored))
    return jax.tree.unflatten(structure, leaves)


def _is_key(leaf: chex.Array) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _digests(folder: pathlib.Path) -> dict[str, str]:
    """SHA-256 of every file below the folder but the manifest."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _orbax():
    import orbax.checkpoint as ocp

    # Every process reads, and the first one writes, for itself: what it is given is whole.
    here = jax.process_index()
    alone = ocp.options.MultiprocessingOptions(
        primary_host=here, active_processes={here}, barrier_sync_key_prefix=f"process{here}"
    )
    handler = ocp.PyTreeCheckpointHandler(multiprocessing_options=alone)
    return ocp.Checkpointer(handler, multiprocessing_options=alone)
