"""The processor of the host, which the threads of several devices share."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from cudamm.compile.process_group import STEP_S, stop_if_asked


class SharedHost:
    """The processor of the host: used by several threads at once, or by one alone, whose times then count."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._users = 0
        self._is_used_alone = False
        self._waiting = 0
        """Number of threads that wait to use it alone; no other thread begins meanwhile."""

    @contextlib.contextmanager
    def used(self, *, alone: bool) -> Iterator[None]:
        """Wait until the host can be used, and use it in the block."""
        with self._changed:
            self._waiting += alone
            try:
                while self._is_used_alone or (self._users if alone else self._waiting):
                    self._changed.wait(STEP_S)
                    stop_if_asked()
            finally:
                self._waiting -= alone
            self._users += 1
            self._is_used_alone = alone
        try:
            yield
        finally:
            with self._changed:
                self._users -= 1
                self._is_used_alone = False
                self._changed.notify_all()
