"""Before jax starts: compile fast rather than well. The suite compiles far more than it computes."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + (
    " --xla_backend_optimization_level=0"
    " --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_use_fusion_emitters=false"  # the newer emitters take three times as long to compile
)

import jax
import pytest

# The longest files; the last to start would have one core to itself while the other has nothing left to do.
LONGEST = ("test_strict_x64", "test_strict_checks", "test_ppo_runs", "test_ppo", "test_search")


def pytest_collection_modifyitems(items):
    """The longest files first: a worker takes a file at a time."""
    places = {name: i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(LONGEST)))


@pytest.fixture(autouse=True, scope="module")
def forget_compilations():
    """Compiled programs of one test module are of no use to the next, and there are thousands of them."""
    yield
    jax.clear_caches()
