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


@pytest.fixture(autouse=True, scope="module")
def forget_compilations():
    """Compiled programs of one test module are of no use to the next, and there are thousands of them."""
    yield
    jax.clear_caches()
