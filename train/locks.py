"""One process at a time: a file that is held, and given back by the system when its holder ends, however it ends."""

import contextlib
import pathlib
from collections.abc import Iterator

from jaxgames.options import UserError

try:
    import fcntl
except ImportError:  # not on Windows, where nobody is told of the other
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def alone(path: pathlib.Path, refusal: str) -> Iterator[None]:
    """Hold this file, which is only opened; if another process does, a UserError says `refusal`.

    Nothing is held where the file is missing or cannot be written, or where the file system knows no locks.
    """
    with contextlib.ExitStack() as held:
        try:
            if fcntl is not None:
                fcntl.flock(held.enter_context(open(path, "r+b")), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(refusal) from error
        except OSError:
            pass
        yield


@contextlib.contextmanager
def alone_beside(path: pathlib.Path, refusal: str) -> Iterator[None]:
    """The same for a file that may not be there yet, by a hidden one beside it, which is gone at the end."""
    beside = path.with_name(f".{path.name}.lock")
    with contextlib.suppress(OSError):
        beside.touch()
    with alone(beside, refusal):
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                beside.unlink()
