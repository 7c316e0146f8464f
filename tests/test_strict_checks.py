"""See tests/strict_modes.py."""

from tests.strict_modes import run_the_contract


def test_the_contract_holds_with_a_stop_at_nan_and_keys_that_are_used_once():
    run_the_contract("JAX_DEBUG_NANS", "JAX_DEBUG_KEY_REUSE")
