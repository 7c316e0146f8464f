"""The contract with JAX's wide numbers, which change every program: all of tests/test_contract.py, in a process."""

import os
import subprocess
import sys

from tests.support import ROOT


def test_the_contract_holds_with_numbers_of_64_bits():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_contract.py"],
        cwd=ROOT,
        env={**os.environ, "JAX_ENABLE_X64": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
