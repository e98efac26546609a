"""Have the worker processes of this machine start the CUDA driver one after the other.

Processes that start it at once hinder one another, so that even the first GPU is ready late. If a file system
shares its locks with other hosts, these wait too; no process waits longer than LONGEST_WAIT_S.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

LONGEST_WAIT_S = 1.0
"""How long to wait for other processes, in seconds: a driver that hangs must not stop them all."""


@contextlib.contextmanager
def driver_turn() -> Iterator[None]:
    """Wait until no other process is in this block.

    A process that has waited for LONGEST_WAIT_S enters too, and the others do not notice it.
    """
    with contextlib.ExitStack() as turn:
        with contextlib.suppress(OSError):  # there are no locks
            # Every user of this installation can open the file. The lock ends with the process, too.
            file = os.open(__file__, os.O_RDONLY)
            turn.callback(os.close, file)
            deadline = time.monotonic() + LONGEST_WAIT_S
            while _is_locked_elsewhere(file) and time.monotonic() < deadline:
                time.sleep(0.005)
        yield


def _is_locked_elsewhere(file: int) -> bool:
    """Lock a file; return whether that failed because another process has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
