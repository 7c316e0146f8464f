"""Options as text, and checks of options and deals that name the game, the option, its range and the value."""

import ast
import operator
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np


def read_option(text: str) -> tuple[str, Any]:
    """(name, value) of `NAME=VALUE`, the value as Python reads it, else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"--option must look like NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def check_int(game: str, name: str, value: Any, low: int, high: int) -> int:
    """`value` as an int in low..high, or a ValueError. A bool is not an int here."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{game}: {name} must be an integer in {low}..{high}, got {value!r}") from None
    if not low <= number <= high:
        raise ValueError(f"{game}: {name} must be in {low}..{high}, got {value!r}")
    return number


def check_float(game: str, name: str, value: Any, low: float = -np.inf, high: float = np.inf) -> float:
    """`value` as a finite float in low..high, or a ValueError. A bool is not a number here."""
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or not low <= value <= high:
        raise ValueError(f"{game}: {name} must be a finite number in {low}..{high}, got {value!r}")
    return float(value)


def check_bool(game: str, name: str, value: Any) -> bool:
    """`value` as a bool, or a ValueError. 0 and 1 are not bools here."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{game}: {name} must be True or False, got {value!r}")
    return bool(value)


def check_choice(game: str, name: str, value: Any, choices: Sequence[str]) -> str:
    """`value` if it is one of the strings `choices`, or a ValueError."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{game}: {name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def check_permutation(game: str, name: str, value: Any, cards: Sequence[int] | np.ndarray) -> None:
    """A ValueError if `value` is host data and not an order of exactly `cards`. Traced arrays pass unchecked."""
    if isinstance(value, jax.core.Tracer):
        return
    given = np.asarray(value)
    if (
        given.shape != (len(cards),)
        or given.dtype.kind not in "iu"
        or not np.array_equal(np.sort(given), np.sort(cards))
    ):
        ids = f"{len(cards)} ids {min(cards)}..{max(cards)} in play"
        text = np.array2string(given, threshold=12)
        raise ValueError(f"{game}: {name} must be a permutation of the {ids}, got {text}")


def check_deal_keys(game: str, deal: Any, keys: Sequence[str]) -> None:
    """A ValueError if `deal` is not a mapping with exactly these keys."""
    if not isinstance(deal, dict) or set(deal) != set(keys):
        given = sorted(deal) if isinstance(deal, dict) else type(deal).__name__
        raise ValueError(f"{game}: deal must be a dict with the keys {', '.join(keys)}, got {given}")


def check_deal_int(game: str, name: str, value: Any, low: int, high: int) -> None:
    """A ValueError if `value` is host data and no integer in low..high. Traced values pass unchecked."""
    if not isinstance(value, jax.core.Tracer):
        check_int(game, name, value.item() if hasattr(value, "item") else value, low, high)
