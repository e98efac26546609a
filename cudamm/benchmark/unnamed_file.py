"""New files that have no name until they are complete: if the process is killed, nothing of them is left."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Iterable
from io import FileIO
from pathlib import Path

_numbers = itertools.count()


class UnnamedFile:
    """A new file in the folder of `target`, which has no name before it takes the place of `target`.

    File systems without such files give it a temporary name, which a killed process leaves behind.

    Attributes:
        stream: the file, to write to.
    """

    def __init__(self, target: Path) -> None:
        """Make the file. Raises OSError if no file can be made in the folder."""
        self._target = target
        # A name for the moment between naming and replacing.
        self._temporary = target.with_name(f".cudamm-{os.getpid()}-{next(_numbers)}")
        self._is_named = False
        handle = self._open_unnamed()
        if handle is None:
            handle = os.open(self._temporary, os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_CLOEXEC, 0o666)
            self._is_named = True
        self.stream = FileIO(handle, "r+")

    def _open_unnamed(self) -> int | None:
        """Return a file without a name; None if none can be made, for whatever reason."""
        flag = getattr(os, "O_TMPFILE", None)
        if flag is None or not Path("/proc/self/fd").is_dir():
            return None
        try:
            return os.open(self._target.parent, flag | os.O_RDWR | os.O_CLOEXEC, 0o666)
        except OSError:
            return None

    def write(self, parts: Iterable[bytes]) -> None:
        """Write all parts, in place of what was written before. Raises OSError if the disk is full.

        Do nothing if the file has taken its place already.
        """
        if self._has_its_place():
            return
        self.stream.seek(0)
        self.stream.truncate()
        with open(self.stream.fileno(), "wb", closefd=False) as buffered:
            buffered.writelines(parts)

    def place(self) -> None:
        """Put the file in the place of `target`, with its permissions. Raises OSError if that fails.

        Do nothing if the file has taken its place already.
        """
        if self._has_its_place():
            return
        with contextlib.suppress(FileNotFoundError):
            os.fchmod(self.stream.fileno(), stat.S_IMODE(self._target.stat().st_mode) & 0o777)
        if not self._is_named:
            self._temporary.unlink(missing_ok=True)
            # Python follows the link in /proc only if a folder is named, although the path is absolute.
            folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.link(f"/proc/self/fd/{self.stream.fileno()}", self._temporary, src_dir_fd=folder)
            finally:
                os.close(folder)
            self._is_named = True
        self._temporary.replace(self._target)
        self._is_named = False

    def _has_its_place(self) -> bool:
        """Return whether `target` is this file. An interrupt may have come right after it took its place."""
        try:
            return os.path.samestat(os.fstat(self.stream.fileno()), self._target.stat())
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Close the file, and remove it unless it took its place."""
        self.stream.close()
        if self._is_named:
            self._temporary.unlink(missing_ok=True)
            self._is_named = False
