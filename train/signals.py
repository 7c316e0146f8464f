"""Ctrl-C and SIGTERM as requests that a loop can answer when it is ready."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType


class Asked:
    """What Ctrl-C and SIGTERM leave behind. A second Ctrl-C does not wait."""

    signal = 0
    at_once = False  # nothing is lost by stopping anywhere

    def __call__(self, number: int, frame: FrameType | None) -> None:
        is_second = bool(self.signal) and number == signal.SIGINT
        self.signal = number
        if self.at_once or is_second:
            raise KeyboardInterrupt
        print("\nstopping after this step", file=sys.stderr)

    @property
    def exit_code(self) -> int:
        """128 and the signal's number, as a shell has it."""
        return 128 + self.signal if self.signal else 0


@contextlib.contextmanager
def requests() -> Iterator[Asked]:
    """Signals as requests, for as long as this lasts."""
    asked, before = Asked(), {}
    if threading.current_thread() is threading.main_thread():  # elsewhere (a notebook's worker) no signal arrives
        before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
