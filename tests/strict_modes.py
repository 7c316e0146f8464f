"""The contract under JAX's own strict modes, which researchers switch on: all of tests/test_contract.py, in a process.

Wide numbers change every program; the two modes that only look change none and share a process. A test file for each,
so that they can run beside each other.
"""

import os
import subprocess
import sys

from tests.support import ROOT


def run_the_contract(*modes):
    """It must hold with these switches of JAX on."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_contract.py"],
        cwd=ROOT,
        env={**os.environ, **dict.fromkeys(modes, "1")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
