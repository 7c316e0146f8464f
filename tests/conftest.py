"""Before jax starts: compile fast rather than well, and nothing twice. The suite compiles far more than it computes."""

import gc
import os
import pathlib
import shutil
import signal
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + (
    " --xla_backend_optimization_level=0"
    " --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_parallel_codegen_split_count=1"  # the workers fill the cores: fewer parts are less work
    " --xla_cpu_use_fusion_emitters=false"  # the newer emitters take three times as long to compile
)
# What one worker has compiled, or a process that a test has started, serves the others while the suite runs.
os.environ["JAX_COMPILATION_CACHE_DIR"] = os.environ.get("JAX_COMPILATION_CACHE_DIR") or tempfile.mkdtemp(
    prefix=f"jaxgames-tests-{os.getpid()}-"
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import jax
import pytest

# A job in the background ignores Ctrl-C, and so would every process that a test starts and stops by it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The longest files; the last to start would have one core to itself while the other has nothing left to do.
LONGEST = (
    "test_notebooks",
    "test_networks",
    "test_strict_x64",
    "test_contract",
    "test_ppo_scripts",
    "test_ppo_runs",
    "test_search",
    "test_saboteur_properties",
    "test_ppo",
    "test_skullking_vectors",
    "test_many_options",
    "test_browser",
    "test_tournament",
    "test_web",
)

# Tracing makes objects by the million and few cycles; looking for those as often as usual is a quarter of its time.
gc.freeze()
gc.set_threshold(50_000, 20, 100)


def pytest_unconfigure(config):
    """Whoever made the cache, the process that the workers belong to, takes it away."""
    folder = pathlib.Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
    if folder.name.startswith(f"jaxgames-tests-{os.getpid()}-"):
        shutil.rmtree(folder, ignore_errors=True)


def pytest_collection_modifyitems(items):
    """The longest files first: a worker takes a file at a time."""
    places = {name: i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(LONGEST)))


@pytest.fixture(autouse=True, scope="module")
def forget_compilations():
    """Compiled programs of one test module are of no use to the next, and there are thousands of them."""
    yield
    jax.clear_caches()
