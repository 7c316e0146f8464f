"""See tests/strict_modes.py."""

from tests.strict_modes import run_the_contract


def test_the_contract_holds_with_a_stop_at_nan():
    run_the_contract("JAX_DEBUG_NANS")
