"""Folders of temporary files. If the owner is killed, the process that killed it or a later one removes them.

The owner of a folder holds a lock on it, which the operating system releases when the owner ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cudamm.errors import uninterrupted

PREFIX = "cudamm-temporary-"
"""Beginning of the names of these folders; no other folder may have such a name."""

STALE_S = 24 * 60 * 60
"""Age in seconds at which a folder is removed if its file system has no locks: none is needed that long."""


@contextlib.contextmanager
def owned_folder(parent: Path | None = None) -> Iterator[Path]:
    """Yield a new folder, and remove it after the block.

    Args:
        parent: the folder that contains it; None: the system's folder for temporary files.

    Raises:
        OSError: no folder can be made.
    """
    within = Path(tempfile.gettempdir()) if parent is None else parent
    _clean_up_after_earlier_runs(within)
    folder, handle = _made_and_locked(within)
    try:
        yield folder
    finally:
        _remove(folder, handle)


@uninterrupted
def _made_and_locked(within: Path) -> tuple[Path, int]:
    """Return a new folder, and the handle that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=within))
        # Until it is locked, another run may take the folder for one of a killed run, and remove it.
        with contextlib.suppress(FileNotFoundError):
            handle = _open(folder)
            _lock(handle, fcntl.LOCK_SH)
            if folder.is_dir():
                return folder, handle
            os.close(handle)


@uninterrupted
def _remove(folder: Path, handle: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(handle)


@functools.cache
def _clean_up_after_earlier_runs(within: Path) -> None:
    """Remove the temporary folders that killed runs have left in a folder; only the first call does so."""
    remove_abandoned(within)


def remove_abandoned(within: Path) -> None:
    """Remove the temporary folders that killed processes have left in a folder."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(within):
            if re.fullmatch(rf"{PREFIX}\w{{8}}", entry.name):
                # Another run may remove the folder at the same time, and another user may own it.
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(folder: Path) -> None:
    state = folder.lstat()
    if state.st_uid != os.geteuid():
        return
    handle = _open(folder)
    try:
        has_lock = _lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if has_lock or (has_lock is None and time.time() - state.st_mtime > STALE_S):
            shutil.rmtree(folder)
    finally:
        os.close(handle)


def _open(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _lock(handle: int, operation: int) -> bool | None:
    """Return whether an open folder is locked now; None if its file system has no locks for folders."""
    try:
        fcntl.flock(handle, operation)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
