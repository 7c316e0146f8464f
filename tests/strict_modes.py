"""The contract under JAX's own strict modes, which researchers switch on: all of tests/test_contract.py, in a process.

One test file for each mode, so that they can run beside each other.
"""

import os
import subprocess
import sys

from tests.support import ROOT


def run_the_contract(mode):
    """It must hold with this switch of JAX on."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_contract.py"],
        cwd=ROOT,
        env={**os.environ, mode: "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
