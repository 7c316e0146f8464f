"""Programs that were compiled once are found again at the next start."""

import os
import pathlib


def keep_compilations() -> None:
    """Keep JAX's compilations in the user's cache folder, unless JAX was told of another place.

    For commands, before they compile; a library leaves this to its user.
    """
    import jax

    if jax.config.values["jax_compilation_cache_dir"] is not None:  # as JAX_COMPILATION_CACHE_DIR has it
        return
    jax.config.update("jax_compilation_cache_dir", str(cache_folder() / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def cache_folder() -> pathlib.Path:
    """Where this user's programs keep what can be made again (XDG_CACHE_HOME)."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (pathlib.Path(home) if os.path.isabs(home) else pathlib.Path.home() / ".cache") / "jaxgames"
