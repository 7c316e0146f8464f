"""What the scripts have in common: settings from the command line, and a sentence where a user can mend something."""

import errno
import sys
from collections.abc import Callable
from typing import TypeVar

import tyro

from jaxgames.options import UserError

BAD_INPUT = 2  # exit code

FULL = (errno.ENOSPC, errno.EDQUOT)  # the disk, or one's share of it

Settings = TypeVar("Settings")  # a dataclass, which becomes the options of the command


def run(config: type[Settings], work: Callable[[Settings], int], description: str | None) -> int:
    """`work` with the settings of the command line; returns the exit code."""
    try:
        return work(tyro.cli(config, description=description))
    except UserError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT


def remedy(error: OSError) -> str:
    """What lets a script go on that could not write."""
    return "Make room on the disk" if error.errno in FULL else "See that this place is there and can be written"
