"""Files that one process at a time may write, guarded by a lock file beside them.

The system releases the lock of a process that ends, however it ends. On a file system without locks,
filelock uses a marker file that names the process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, SoftFileLock, Timeout

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP)
"""What a file system answers that knows locks and cannot give one; filelock itself handles ENOSYS."""


class HeldError(Exception):
    """Another process holds the lock.

    Attributes:
        process: its number; None where that is not known.
    """

    def __init__(self, process: int | None) -> None:
        super().__init__(process)
        self.process = process


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True, remove: bool = False) -> Iterator[None]:
    """Hold the lock of that file name until the end of the block.

    Args:
        wait: for a process that has it; otherwise HeldError is raised.
        remove: the lock file when it is given back.

    Raises:
        HeldError: another process holds it.
        OSError: the lock file cannot be made.
    """
    path.parent.stat()  # filelock would make a folder that is missing
    lock = FileLock(path, timeout=-1 if wait else 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the marker that filelock falls back to
            lock.acquire()
    except Timeout:
        raise HeldError(_process(path)) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        yield  # the file is written all the same
        return
    try:
        if not isinstance(lock, SoftFileLock):  # its marker begins with the number too
            path.write_text(f"{os.getpid()}\n")
        yield
    finally:
        if remove:  # while it is held: whoever waits for it sees that it is no lock any more
            path.unlink(missing_ok=True)
        lock.release()


def _process(path: Path) -> int | None:
    try:
        return int(path.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
