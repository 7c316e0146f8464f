"""The contract under JAX's own strict modes, which researchers switch on: a process each."""

import os
import subprocess
import sys

import pytest

from tests.support import ROOT


@pytest.mark.parametrize("mode", ["JAX_ENABLE_X64", "JAX_DEBUG_NANS", "JAX_DEBUG_KEY_REUSE"])
def test_the_contract_holds(mode, tmp_path_factory):
    """All of tests/test_contract.py. Two of the modes change no program: they find it compiled by the first."""
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.getbasetemp() / "compiled")}
    kept = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.3"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_contract.py"],
        cwd=ROOT,
        env={**cache, **os.environ, **kept, mode: "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
