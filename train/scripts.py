"""What the scripts have in common: settings from the command line, and a sentence where a user can mend something."""

import dataclasses
import errno
import math
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import tyro

from jaxgames.options import UserError, shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NO_ROOM, BAD_INPUT = 1, 2  # exit codes

LARGEST = 2**63  # integers from here on are more than JAX and numpy can take
FULL = (errno.ENOSPC, errno.EDQUOT)  # the disk, or one's share of it

Settings = TypeVar("Settings")  # a dataclass, which becomes the options of the command


def run(config: type[Settings], work: Callable[[Settings], int], description: str | None) -> int:
    """`work` with the settings of the command line; returns the exit code."""
    return guarded(lambda: work(tyro.cli(config, description=description)))


def guarded(act: Callable[[], int]) -> int:
    """The exit code of `act`; where it ends early for no fault of its own, a sentence says why."""
    try:
        return act()
    except UserError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("\nStopped; what was saved is whole.", file=sys.stderr)
        return 128 + signal.SIGINT
    except OSError as error:
        print(f"Stopped: {error}. What was saved is whole. {remedy(error)}.", file=sys.stderr)
        return NO_ROOM


def check_types(who: str, settings: "DataclassInstance") -> None:
    """A UserError unless every setting is of the kind that is written beside it: files and notebooks may hold any."""
    kinds = get_type_hints(type(settings))
    for field in dataclasses.fields(settings):
        kind, value = kinds[field.name], getattr(settings, field.name)
        if not _is_of(kind, value):
            raise UserError(f"{who}: {field.name} must be {_named(kind)}, got {shown(value)}")


def _is_of(kind: Any, value: object) -> bool:
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_is_of(get_args(kind)[0], each) for each in value)
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is float:
        return isinstance(value, (int, float)) and math.isfinite(value)
    if kind is int:
        return isinstance(value, int) and abs(value) < LARGEST
    return isinstance(value, kind)


def _named(kind: Any) -> str:
    """A kind of setting, in words."""
    if get_origin(kind) is tuple:
        return f"a list, each {_named(get_args(kind)[0])}"
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(repr, get_args(kind)))}"
    return {bool: "True or False", int: "an integer of 64 bits", float: "a finite number", str: "text"}[kind]


def remedy(error: OSError) -> str:
    """What lets a script go on that could not write."""
    return "Make room on the disk" if error.errno in FULL else "See that this place is there and can be written"
