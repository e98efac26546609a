"""Lock files: a lock file beside another file lets one process at a time write that file.

The operating system releases the lock of a process that ends, even if it crashed. On a file system without
locks, filelock uses a marker file that contains the process number.
"""

from __future__ import annotations

import contextlib
import errno
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, SoftFileLock, Timeout

from cudamm.errors import UsageError
from cudamm.source.input_file import read_input

_LARGEST_BYTES = 1000
"""Largest lock file that is read: it contains the number of a process, and perhaps a host name."""

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP)
"""Errors of a file system that cannot lock a file; filelock handles ENOSYS itself."""


class HeldError(Exception):
    """The error that another process holds the lock.

    Attributes:
        process: number of that process; None if unknown.
    """

    def __init__(self, process: int | None) -> None:
        super().__init__(process)
        self.process = process


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True, remove: bool = False) -> Iterator[None]:
    """Hold a lock until the end of the block.

    Args:
        path: the lock file; a missing one is created.
        wait: wait if another process holds the lock; if false, raise HeldError.
        remove: remove the lock file at the end.

    Raises:
        HeldError: another process holds the lock.
        OSError: the lock file cannot be created.
    """
    path.parent.stat()  # raises if the folder is missing; filelock would create it
    lock = FileLock(path, timeout=-1 if wait else 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # filelock warns if it uses a marker file instead of a lock
            lock.acquire()
    except Timeout:
        raise HeldError(_process(path)) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        yield  # the file system has no locks: continue without one
        return
    try:
        if not isinstance(lock, SoftFileLock):  # a marker file contains the process number already
            path.write_text(f"{os.getpid()}\n")
        yield
    finally:
        if remove:  # before the release, so that a waiting process notices the removal
            path.unlink(missing_ok=True)
        lock.release()


def _process(path: Path) -> int | None:
    try:
        return int(read_input(path, "a lock file", _LARGEST_BYTES, rewritten=True).split()[0])
    except (OSError, UsageError, ValueError, IndexError):
        return None
