"""See tests/strict_modes.py."""

from tests.strict_modes import run_the_contract


def test_the_contract_holds_with_numbers_of_64_bits():
    run_the_contract("JAX_ENABLE_X64")
