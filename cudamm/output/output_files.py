"""Results in files that are whole or are not there."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from cudamm.errors import UsageError

OWN_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")
"""Names of what the process has open already, even where that is a file."""


class OutputFile:
    """A file to be written once, at the end.

    It is opened at the start, so that a path that cannot be written is known before anything is
    measured, and beside its final name, so that an older file there is kept until this one is whole.
    """

    def __init__(self, option: str, path: str) -> None:
        """Raises UsageError, naming the option, where `path` cannot be written."""
        self._option = option
        self._partial: Path | None = None
        self._stream: IO[bytes] | None = None
        with _told(option, path):
            self._target = _target(option, path)
            if _is_stream(path):
                # Never replaced, and a pipe's reader leaves when it is closed.
                self._stream = self._target.open("ab")
                return
            handle, partial = tempfile.mkstemp(
                dir=self._target.parent, prefix=".cudamm-", suffix=self._target.suffix
            )
        os.close(handle)
        self._partial = Path(partial)

    def write(self, parts: Iterable[bytes]) -> None:
        """Write all of it. Raises UsageError where the disk will not take it."""
        with _told(self._option, str(self._target)):
            if self._stream is not None:
                with self._stream as stream:
                    stream.writelines(parts)
            elif self._partial is not None:
                with self._partial.open("wb") as stream:
                    stream.writelines(parts)
                self._partial.chmod(_usual_mode(self._target))
                self._partial.replace(self._target)

    def discard(self) -> None:
        """Remove what was opened, if it was not written."""
        if self._partial is not None:
            self._partial.unlink(missing_ok=True)
        if self._stream is not None:
            self._stream.close()


class JsonFile:
    """A command's JSON document, in a file or on standard output."""

    def __init__(self, path: str) -> None:
        """Raises UsageError where `path` cannot be written; `-` is standard output."""
        self.is_standard_output = path == "-"
        self._file = None if self.is_standard_output else OutputFile("--json", path)

    def write(self, document: dict[str, Any], records: Iterable[dict[str, Any]]) -> None:
        """Write the document with its results, one on a line. Raises UsageError where the disk is full."""
        if self._file is None:
            sys.stdout.writelines(_lines(document, map(_encode, records)))
        else:
            self._file.write(line.encode() for line in _lines(document, map(_encode, records)))

    def discard(self) -> None:
        """Remove what was opened, if it was not written."""
        if self._file is not None:
            self._file.discard()


class LiveJson:
    """A command's JSON document, its results written as they come.

    A file is whole at every moment and holds every record that was put: each time it is written beside its
    name and takes the place of the one before. An older one is kept until there is a first record. No other
    run writes to it meanwhile. A stream, which cannot be written twice, gets everything at the end.
    """

    def __init__(self, path: str, document: dict[str, Any]) -> None:
        """Raises UsageError where `path` cannot be written, or another run is writing it; `-` is standard
        output."""
        self.is_standard_output = path == "-"
        self._document = document
        self._records: dict[int, str] = {}  # encoded, by position
        self._is_behind = True  # the file does not hold all there is
        self._file: _ReplacedFile | OutputFile | None = None
        if not self.is_standard_output:
            _target("--json", path)  # refused for the same reasons, whatever it is
            self._file = (
                OutputFile("--json", path)
                if _is_stream(path)
                else _ReplacedFile("--json", path, "".join(_lines(document, [])).encode())
            )

    def update(self, document: dict[str, Any]) -> None:
        """Replace what stands before the results; it is written with the next record, or at the end."""
        self._document = document
        self._is_behind = True

    def restore(self, records: Mapping[int, dict[str, Any]]) -> None:
        """Take over records of an earlier file by their positions; they are written with the next one put."""
        self._records |= {position: _encode(record) for position, record in records.items()}
        self._is_behind = True

    def put(self, position: int, record: dict[str, Any]) -> None:
        """Add a record, or replace the one at its position; it is in the file when this returns.

        Where the disk does not take it the measuring goes on: the next record tries again, and `finish`
        tells.
        """
        self._records[position] = _encode(record)
        self._is_behind = True
        if isinstance(self._file, _ReplacedFile):
            with contextlib.suppress(UsageError):
                self._write(self._file)

    def finish(self) -> None:
        """Write what is not written yet, and let go of the file. Raises UsageError where that fails."""
        try:
            if self._file is None:
                sys.stdout.writelines(self._text())
            elif self._is_behind:
                self._write(self._file)
        finally:
            self.discard()

    def discard(self) -> None:
        """Let go of the file as it is; one that was made here and has no record is removed."""
        if self._file is not None:
            self._file.discard()

    def _write(self, file: _ReplacedFile | OutputFile) -> None:
        file.write(line.encode() for line in self._text())
        self._is_behind = False

    def _text(self) -> Iterator[str]:
        return _lines(self._document, (self._records[position] for position in sorted(self._records)))


class _ReplacedFile:
    """A file that is replaced again and again, and is locked all the while.

    The lock is on the file itself, so its name has to name a locked file at every moment: the one that takes
    its place is locked before it does. Whoever waits to be let in looks whether the name still stands for
    what was locked. The system frees the lock of a process that ends, however it ends.

    Where there is no file yet, one without results is made, beside its name too: an empty one would be
    no JSON.
    """

    def __init__(self, option: str, path: str, first: bytes) -> None:
        """Raises UsageError where `path` cannot be written or another run has it."""
        self._option, self._path, self._first = option, path, first
        self._is_empty = False  # it was made here, and nothing but `first` is in it
        self._handles: list[int] = []  # of locked files, one of them the target
        with _told(option, path):
            self._target = _target(option, path)
            self._partial = self._target.with_name(f".{self._target.name}.partial")
            try:
                self._acquire()
                self._fresh()  # whether the folder takes it is known before anything is measured
                self._partial.unlink(missing_ok=True)
            except BaseException:
                self.discard()
                raise

    def write(self, parts: Iterable[bytes]) -> None:
        """Replace the file. Raises UsageError, the file being as it was, where the disk will not take it."""
        content = b"".join(parts)
        with _told(self._option, self._path):
            try:
                self._replace(content)
            except FileNotFoundError:
                # One that starts just now took what was beside it for a killed run's; then it is refused.
                self._replace(content)

    def _replace(self, content: bytes) -> None:
        if self._holding() is None:  # somebody has removed it, or put another in its place
            self._acquire()
        was_empty = self._is_empty
        try:
            fresh = self._fresh()
            _fill(fresh, content, _usual_mode(self._target))
            self._is_empty = False  # before it is true: Ctrl-C may come in between
            self._partial.replace(self._target)
        except OSError:
            self._is_empty = was_empty
            self._partial.unlink(missing_ok=True)  # on a full disk room is wanted
            self._release(but=self._holding())
            raise
        self._release(but=fresh)

    def discard(self) -> None:
        """Unlock it, and leave nothing beside it."""
        if self._holding() is not None:
            with contextlib.suppress(OSError):  # a folder that has become read-only keeps what it has
                self._partial.unlink(missing_ok=True)
                if self._is_empty:
                    self._target.unlink()
        self._release()

    def _acquire(self) -> None:
        """Lock the target, made first where it is missing."""
        for _ in range(_TRIES):
            with contextlib.suppress(FileNotFoundError):
                self._lock(self._target)
                self._is_empty = False
                return
            if self._make():
                return
        raise OSError(errno.ESTALE, "it is replaced all the time")

    def _make(self) -> bool:
        """Make the target, locked, where nothing has its name. False where another was quicker."""
        with contextlib.suppress(FileNotFoundError):
            self._lock(self._partial)  # what a killed run has left, unless another is starting now
            self._partial.unlink()
        try:
            fresh = self._lock(self._partial, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        try:
            _fill(fresh, self._first, _usual_mode(self._target))
            _place(self._partial, self._target)
        except (FileExistsError, FileNotFoundError):
            return False  # what is beside the target now is for its holder to remove
        except OSError:
            self._partial.unlink(missing_ok=True)
            raise
        self._is_empty = _is_named(self._target, fresh)
        if self._is_empty:
            self._partial.unlink(missing_ok=True)
        return self._is_empty

    def _fresh(self) -> int:
        """A new file beside the target, locked. Only who has locked the target may call this."""
        while True:
            self._partial.unlink(missing_ok=True)  # left by a killed run
            with contextlib.suppress(FileExistsError, _HeldError):
                # Another that starts just now may get hold of it; it is refused in its next step.
                return self._lock(self._partial, os.O_CREAT | os.O_EXCL)

    def _lock(self, path: Path, flags: int = 0) -> int:
        """Open and lock the file of that name. Raises _HeldError where another has it."""
        for _ in range(_TRIES):
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _holder(handle)
                os.close(handle)
                raise _HeldError(f"{self._option} {self._path}: {holder}") from None
            except OSError as error:
                if error.errno not in _NO_LOCKS:  # without locks it is written all the same
                    os.close(handle)
                    raise
            if _is_named(path, handle):
                self._handles.append(handle)
                return handle
            os.close(handle)  # it was replaced meanwhile
        raise OSError(errno.ESTALE, "it is replaced all the time")

    def _holding(self) -> int | None:
        """Which of the locked files is the target."""
        return next((handle for handle in self._handles if _is_named(self._target, handle)), None)

    def _release(self, but: int | None = None) -> None:
        handles, self._handles = self._handles, [handle for handle in self._handles if handle == but]
        for handle in handles:
            if handle != but:
                os.close(handle)


class _HeldError(UsageError):
    """Another run of cudamm is writing the file."""


_TRIES = 1000
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK)


def _place(partial: Path, target: Path) -> None:
    """Give a file a name that nothing may have yet. Raises FileExistsError."""
    try:
        os.link(partial, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        partial.rename(target)  # a file system without links


def _fill(handle: int, content: bytes, mode: int) -> None:
    with open(handle, "wb", closefd=False) as stream:
        stream.write(content)
    os.fchmod(handle, mode)


def _is_named(path: Path, handle: int) -> bool:
    """Whether a path stands for the file that is open."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except OSError:
        return False


def _holder(handle: int) -> str:
    """Who has locked a file, its process number too where the system tells."""
    found = os.fstat(handle)
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    try:
        process = re.search(rf"FLOCK\s+\w+\s+WRITE (\d+) {place} ", Path("/proc/locks").read_text())
    except OSError:
        process = None
    number = f" (process {process[1]})" if process else ""
    return f"it is being written by another run of cudamm{number}"


def _target(option: str, path: str) -> Path:
    """The file that an option names. Raises UsageError where it cannot be written."""
    if not path:
        raise UsageError(f"{option} needs the name of a file")
    target = Path(path)
    with _told(option, path):
        if target.is_dir() or path.endswith("/"):
            raise UsageError(f"{option} {path}: that is a folder; name a file in it")
        if _is_stream(path):
            return target
        target = target.resolve()
        with contextlib.suppress(FileNotFoundError):
            os.close(os.open(target, os.O_WRONLY))  # replaced only if it may be written
    return target


def _is_stream(path: str) -> bool:
    """Whether it is a pipe, a terminal, /dev/null: what cannot be replaced."""
    target = Path(path)
    return (target.exists() and not target.is_file()) or path.startswith(OWN_STREAMS)


@contextlib.contextmanager
def _told(option: str, path: str) -> Iterator[None]:
    """What the file system refuses, as what a user is told."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{option} {path}: it cannot be written ({error.strerror})") from None
    except RuntimeError:  # what Python before 3.13 says of links in a circle
        raise UsageError(f"{option} {path}: it cannot be written (symbolic links in a loop)") from None


_encode = json.JSONEncoder(allow_nan=False, check_circular=False).encode


def _lines(document: dict[str, Any], records: Iterable[str]) -> Iterator[str]:
    """The document's text, bit by bit: there may be a hundred thousand records, each encoded already."""
    yield json.dumps(document | {"results": []}, indent=2, allow_nan=False).removesuffix("]\n}")
    separator = "\n    "
    for record in records:
        yield separator + record
        separator = ",\n    "
    yield "]\n}\n" if separator == "\n    " else "\n  ]\n}\n"


def _usual_mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those that any new file gets."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
