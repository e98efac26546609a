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
"""Errors of a file system that cannot lock a file; filelock handles ENOSYS itself."""


class HeldError(Exception):
    """Another process holds the lock.

    Attributes:
        process: the number of that process; None if it is not known.
    """

    def __init__(self, process: int | None) -> None:
        super().__init__(process)
        self.process = process


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True, remove: bool = False) -> Iterator[None]:
    """Hold a lock until the end of the block.

    Args:
        path: the lock file, which is made if it is missing.
        wait: if another process holds the lock, wait for that process; otherwise raise HeldError.
        remove: remove the lock file at the end.

    Raises:
        HeldError: another process holds the lock.
        OSError: the lock file cannot be made.
    """
    path.parent.stat()  # filelock would make a folder that is missing
    lock = FileLock(path, timeout=-1 if wait else 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # filelock warns when it uses a marker file in place of a lock
            lock.acquire()
    except Timeout:
        raise HeldError(_process(path)) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        yield  # without a lock the file is written unguarded
        return
    try:
        if not isinstance(lock, SoftFileLock):  # a marker file contains the process number already
            path.write_text(f"{os.getpid()}\n")
        yield
    finally:
        if remove:  # before the release: a process that waits then sees that the file is gone
            path.unlink(missing_ok=True)
        lock.release()


def _process(path: Path) -> int | None:
    try:
        return int(path.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
