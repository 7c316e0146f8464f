"""Options as text, and checks of options and deals that name the game, the option, its range and the value."""

import ast
import contextlib
import operator
import reprlib
from collections.abc import Sequence

import jax
import numpy as np


class UserError(ValueError):
    """What whoever gave the input can mend; its text is a sentence for them. Every other error is a bug."""


def read_option(text: str) -> tuple[str, object]:
    """(name, value) of `NAME=VALUE`, the value as Python reads it, else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError(f"--option must look like NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return name, value


def check_int(game: str, name: str, value: object, low: int, high: int) -> int:
    """`value` as an int in low..high, or a UserError. A bool is not an int here."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UserError(f"{game}: {name} must be an integer in {low}..{high}, got {shown(value)}") from None
    if not low <= number <= high:
        raise UserError(f"{game}: {name} must be in {low}..{high}, got {shown(value)}")
    return number


def read_int(game: str, name: str, value: object, low: int, high: int) -> int:
    """`value`, a number or the text of one, as an int in low..high, or a ValueError."""
    if isinstance(value, str) and value.strip().lstrip("+-").isdigit():
        value = int(value)
    return check_int(game, name, value, low, high)


def check_float(game: str, name: str, value: object, low: float = -np.inf, high: float = np.inf) -> float:
    """`value` as a finite float in low..high, or a UserError. A bool is not a number here."""
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    try:
        number = float(value) if is_number else np.nan  # type: ignore[arg-type]
    except OverflowError:
        number = np.inf
    if not np.isfinite(number) or not low <= number <= high:
        raise UserError(f"{game}: {name} must be a finite number in {low}..{high}, got {shown(value)}")
    return number


def read_float(game: str, name: str, value: object, low: float = -np.inf, high: float = np.inf) -> float:
    """`value`, a number or the text of one, as a finite float in low..high, or a UserError."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):  # no number: refused below, as it was written
            value = float(value)
    return check_float(game, name, value, low, high)


def check_bool(game: str, name: str, value: object) -> bool:
    """`value` as a bool, or a UserError. 0 and 1 are not bools here."""
    if not isinstance(value, (bool, np.bool_)):
        raise UserError(f"{game}: {name} must be True or False, got {shown(value)}")
    return bool(value)


def check_choice(game: str, name: str, value: object, choices: Sequence[str]) -> str:
    """`value` if it is one of the strings `choices`, or a UserError."""
    if not isinstance(value, str) or value not in choices:
        raise UserError(f"{game}: {name} must be one of {', '.join(map(repr, choices))}, got {shown(value)}")
    return value


def check_permutation(game: str, name: str, value: object, cards: Sequence[int] | np.ndarray) -> None:
    """A UserError if `value` is host data and not an order of exactly `cards`. Traced arrays pass unchecked."""
    if isinstance(value, jax.core.Tracer):
        return
    try:
        given = np.asarray(value)
    except ValueError:  # rows of different lengths
        given = np.empty(0, object)
    if (
        given.shape != (len(cards),)
        or given.dtype.kind not in "iu"
        or not np.array_equal(np.sort(given), np.sort(cards))
    ):
        ids = f"{len(cards)} ids {min(cards)}..{max(cards)} in play"
        raise UserError(f"{game}: {name} must be a permutation of the {ids}, got {shown(value)}")


def check_deal_keys(game: str, deal: object, keys: Sequence[str]) -> None:
    """A UserError if `deal` is not a mapping with exactly these keys."""
    if not isinstance(deal, dict) or set(deal) != set(keys):
        given = shown(sorted(map(str, deal))) if isinstance(deal, dict) else type(deal).__name__
        raise UserError(f"{game}: deal must be a dict with the keys {', '.join(keys)}, got {given}")


def check_deal_int(game: str, name: str, value: object, low: int, high: int) -> None:
    """A UserError if `value` is host data and no integer in low..high. Traced values pass unchecked."""
    if not isinstance(value, jax.core.Tracer):
        if isinstance(value, (np.ndarray, jax.Array)) and value.ndim == 0:
            value = value.item()
        check_int(game, name, value, low, high)


def shown(value: object) -> str:
    """`value` as a message shows it: what is long is cut."""
    if isinstance(value, (np.ndarray, jax.Array)):
        return np.array2string(np.asarray(value), threshold=12)
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 12
