"""Checkpoints: arrays in orbax's format beside a manifest that says what they are and how to tell they are whole.

A checkpoint is a folder: `manifest.json` (what `describe` gives, and the SHA-256 of every file) and one orbax folder
for each item. It appears at once, by a rename; nothing in it is ever unpickled.

A run folder keeps its checkpoints as `checkpoints/<update>`; whatever else lies there is nobody's business.
"""

import contextlib
import errno
import hashlib
import json
import logging
import os
import pathlib
import shutil
import threading
from collections.abc import Iterator
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames.env import TreeT
from jaxgames.options import UserError

Json = dict[str, Any]  # a document as JSON gives it: a manifest, a card, settings

FORMAT = 2
LOUD = ("absl", "asyncio", "concurrent.futures")  # loggers of orbax's threads
MANIFEST = "manifest.json"
PARTS = {"game": str, "version": int, "options": dict, "observation": str, "network": dict, "sha256": dict}  # of it
ASIDE = ".replaced"  # ends the name of what is being replaced
WEIGHTS = pathlib.Path(__file__).parent / "weights"  # networks that come along: one checkpoint for each name


class CheckpointError(UserError):
    """A checkpoint that is missing, or of something else. The message says which."""


class DamagedCheckpoint(CheckpointError):
    """A checkpoint whose files are not those that were written."""


def describe(env: Env, network: Json, observation: str, **more: object) -> Json:
    """What a manifest says: the game with its options, what the network reads, its kind and fields, and `more`."""
    return {
        "game": env.id,
        "version": env.version,
        "options": env.options,
        "observation": observation,
        "network": network,  # {"kind": name in the registry of networks, "fields": its constructor's arguments}
        **more,
    }


def save(folder: str | os.PathLike, items: dict[str, chex.ArrayTree], about: Json) -> pathlib.Path:
    """Write the items ({name: nested dict of arrays}) as a new checkpoint; it is there completely or not at all.

    OSError if the disk has no room for it.
    """
    folder = pathlib.Path(folder).absolute()
    if folder.exists():
        raise CheckpointError(f"checkpoint: {folder} exists already and is not overwritten")
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        _write(partial, items, about)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, Exception) and _is_full(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)) from error
        raise
    os.rename(partial, folder)
    return folder


def load(
    folder: str | os.PathLike, names: tuple[str, ...], game: str, version: int
) -> tuple[dict[str, chex.ArrayTree], Json]:
    """(items, manifest) of a checkpoint of this game, after checking every file. Arrays are numpy."""
    folder = pathlib.Path(folder).absolute()
    manifest = read_manifest(folder)
    if (manifest.get("game"), manifest.get("version")) != (game, version):
        raise CheckpointError(
            f"checkpoint: {folder} is of {manifest.get('game')} version {manifest.get('version')}, "
            f"not of {game} version {version}"
        )
    if _digests(folder) != manifest.get("sha256"):
        raise DamagedCheckpoint(f"checkpoint: {folder} is damaged: its files do not match its manifest")
    if missing := [name for name in names if not (folder / name).is_dir()]:
        raise CheckpointError(f"checkpoint: {folder} holds no {', '.join(missing)}")
    with _orbax() as store:
        return {name: store.restore(folder / name) for name in names}, manifest


def read_manifest(folder: pathlib.Path) -> Json:
    """The manifest of a checkpoint folder, in the present format."""
    if not folder.is_dir():
        raise CheckpointError(f"checkpoint: there is no checkpoint folder at {folder}")
    try:
        manifest = read_json(folder / MANIFEST)
    except (OSError, ValueError) as error:
        raise DamagedCheckpoint(
            f"checkpoint: {folder} has no readable {MANIFEST}: not a checkpoint, or damaged"
        ) from error
    if not isinstance(manifest, dict) or manifest.get("format") not in (1, FORMAT):
        raise CheckpointError(f"checkpoint: {folder} is not in a format that this version reads (1, {FORMAT})")
    manifest = _from_format_1(manifest) if manifest["format"] == 1 else manifest
    if spoilt := [name for name, kind in PARTS.items() if not isinstance(manifest.get(name), kind)]:
        raise DamagedCheckpoint(f"checkpoint: {folder} is damaged: its {MANIFEST} has no good {', '.join(spoilt)}")
    return manifest


def read_json(path: pathlib.Path) -> Any:
    """What a file holds; a ValueError if it is not JSON, whatever it is, and an OSError if it cannot be read."""
    try:
        return json.loads(path.read_text())
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _from_format_1(manifest: Json) -> Json:
    """Format 1 knew one kind of network, which it did not name, and one observation, Skull King's default."""
    return manifest | {"format": FORMAT, "observation": "ability"}


def find(network: str) -> pathlib.Path:
    """The checkpoint that a text names: of a network that comes along, of a run (its newest), or the folder itself."""
    return published(network) if is_published(network) else latest(network)


def is_published(network: str) -> bool:
    """Is this the name of a network that comes along?"""
    return (published(network) / MANIFEST).exists()


def published(name: str) -> pathlib.Path:
    """The folder of a network that comes along. A publication killed between its two renames left the old one aside."""
    folder = WEIGHTS / name
    return aside if (aside := aside_of(folder)).exists() and not folder.exists() else folder


def published_names() -> list[str]:
    """The names of all networks that come along."""
    folders = [path.name for path in WEIGHTS.glob("[!.]*")]
    asides = [path.name[1 : -len(ASIDE)] for path in WEIGHTS.glob(f".*{ASIDE}")]
    return sorted(name for name in {*folders, *asides} if is_published(name))


def aside_of(folder: pathlib.Path) -> pathlib.Path:
    """Where a folder waits while another takes its place."""
    return folder.parent / f".{folder.name}{ASIDE}"


def latest(run: str | os.PathLike) -> pathlib.Path:
    """The newest checkpoint of a run folder; a checkpoint folder itself is taken as it is."""
    run = pathlib.Path(run)
    if (run / MANIFEST).exists():
        return run
    if not (found := of_run(run)):
        raise CheckpointError(f"checkpoint: there is no checkpoint at {run}")
    return found[-1]


def of_run(run: str | os.PathLike) -> list[pathlib.Path]:
    """The checkpoints of a run folder, oldest first."""
    folders = (pathlib.Path(run) / "checkpoints").glob("*")
    return sorted(
        (path for path in folders if _is_number(path.name) and path.is_dir()), key=lambda path: int(path.name)
    )


def identity(folder: pathlib.Path) -> str:
    """One SHA-256 for all files of a checkpoint but its manifest."""
    return hashlib.sha256(json.dumps(read_manifest(folder).get("sha256"), sort_keys=True).encode()).hexdigest()


def pack(tree: chex.ArrayTree) -> dict[str, np.ndarray]:
    """Any pytree of arrays and keys as a flat dict of arrays, by position."""
    leaves = [jax.random.key_data(leaf) if _is_key(leaf) else leaf for leaf in jax.tree.leaves(tree)]
    return {f"{i:04d}": np.asarray(leaf) for i, leaf in enumerate(leaves)}


def unpack(packed: dict[str, np.ndarray], like: TreeT) -> TreeT:
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


def _write(folder: pathlib.Path, items: dict[str, chex.ArrayTree], about: Json) -> None:
    with _orbax() as store, _silent_threads():
        for name, item in items.items():
            store.save(folder / name, jax.tree.map(np.asarray, item))
            # The rename commits; orbax's mark would carry the path of this machine.
            (folder / name / "commit_success.txt").unlink(missing_ok=True)
    manifest = {"format": FORMAT, **about, "sha256": _digests(folder)}
    with open(folder / MANIFEST, "w") as file:
        json.dump(manifest, file, indent=1)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _silent_threads() -> Iterator[None]:
    """Orbax's threads hand their exceptions to whoever waits for them; printing them as well helps nobody."""
    before, threading.excepthook = threading.excepthook, lambda args: None
    loggers = [logging.getLogger(name) for name in LOUD if not logging.getLogger(name).disabled]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        threading.excepthook = before
        for logger in loggers:
            logger.disabled = False


def _is_full(error: BaseException) -> bool:
    """Does this come from a full disk? Orbax's storage says so only in words, and not as an OSError."""
    causes = [error, error.__cause__, error.__context__]
    return any(
        getattr(cause, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(cause)
        for cause in causes
        if cause is not None
    )


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _is_key(leaf: chex.Array) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _digests(folder: pathlib.Path) -> dict[str, str]:
    """SHA-256 of every file of the items; what lies beside them (the manifest, a model card) is no part of these."""
    files = sorted(path for path in folder.glob("*/**/*") if path.is_file())
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
