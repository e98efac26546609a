"""The one reader of the files that a user names: kernels, the files that they include, and results.

It reads a limited number of bytes and waits a limited time. Within a command it remembers the files that were
read, so that no output of the command replaces one of them. The Python functions of cudamm run outside of a
command: a program may read a file and write it later.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cudamm.errors import UsageError

SILENCE_S = 10.0
"""Time without a byte, in seconds, after which a stream counts as silent."""

_PART_BYTES = 1 << 20


@dataclass
class _Inputs:
    """The files that a command has read, by device and inode, and by path."""

    names_by_inode: dict[tuple[int, int], str] = field(default_factory=dict)
    names_by_path: dict[str, str] = field(default_factory=dict)


_inputs: _Inputs | None = None
"""The files that the present command has read; None outside of a command."""


@contextlib.contextmanager
def remembered_inputs() -> Iterator[None]:
    """Remember, inside the `with` block, which files are read."""
    global _inputs
    outer, _inputs = _inputs, _Inputs()
    try:
        yield
    finally:
        _inputs = outer


def remember_input(path: str | Path) -> None:
    """Protect a file from the outputs of this command, even if the file does not exist yet."""
    if _inputs is None:
        return
    _inputs.names_by_path[os.path.realpath(path)] = str(path)
    with contextlib.suppress(OSError):
        _remember(Path(path).stat(), path)


def _remember(status: os.stat_result, path: str | Path) -> None:
    if _inputs is not None:
        _inputs.names_by_inode[status.st_dev, status.st_ino] = str(path)


def replaced_input(path: str | Path) -> str | None:
    """Return the name under which the command has read the file at `path`; None if it has not."""
    if _inputs is None:
        return None
    with contextlib.suppress(OSError):
        status = Path(path).stat()
        if name := _inputs.names_by_inode.get((status.st_dev, status.st_ino)):
            return name
    return _inputs.names_by_path.get(os.path.realpath(path))


def read_input(
    path: str | Path, kind: str, most_bytes: int, *, streams: bool = False, rewritten: bool = False
) -> bytes:
    """Return the contents of a file that the user named.

    Args:
        kind: what the file has to be, for messages, such as `a kernel file`.
        most_bytes: largest accepted size.
        streams: accept pipes and other streams, from which bytes must come within SILENCE_S.
        rewritten: the command rewrites this file by design; an output may replace it.

    Raises:
        OSError: the file cannot be opened or read.
        UsageError: the file is a folder, a stream that is not accepted, too large, or silent.
    """
    # A pipe without a writer would block a usual open, and a terminal would become the controlling one.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise UsageError(f"{path} is a folder, not {kind}")
        if not (stat.S_ISREG(status.st_mode) or streams):
            raise UsageError(f"{path} is not a regular file, and {kind} has to be one")
        too_large = UsageError(f"{path} is larger than {most_bytes:,} bytes; is it {kind}?")
        if status.st_size > most_bytes:
            raise too_large
        if not rewritten:
            _remember(status, path)
        content = bytearray()
        for part in _parts(descriptor, path):
            content += part
            if len(content) > most_bytes:
                raise too_large
        return bytes(content)
    finally:
        os.close(descriptor)


def _parts(descriptor: int, path: str | Path) -> Iterator[bytes]:
    """Yield the bytes of an open file in parts. Raise UsageError if none comes for SILENCE_S."""
    # A named pipe seems to be at its end until a program opens it for writing.
    may_begin_later = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    deadline = time.monotonic() + SILENCE_S
    while True:
        try:
            part = os.read(descriptor, _PART_BYTES)
        except BlockingIOError:
            may_begin_later = False
        else:
            if not part and not may_begin_later:
                return
            if part:
                yield part
                may_begin_later = False
                deadline = time.monotonic() + SILENCE_S
                continue
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            raise UsageError(f"{path} is a stream from which nothing came for {SILENCE_S:g} s")
        if any(event & select.POLLHUP for _, event in poll.poll(remaining_s * 1000)):
            may_begin_later = False  # its writer has come and gone
