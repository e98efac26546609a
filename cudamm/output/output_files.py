"""Results in files that are whole or are not there."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from cudamm.benchmark.journal import Journal, encode, journal_of
from cudamm.errors import UsageError
from cudamm.locks import HeldError, locked

OWN_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")
"""Names of what the process has open already, even where that is a file."""


class OutputFile:
    """A file to be written once, at the end.

    It is opened at the start, so that a path that cannot be written is known before anything is
    measured, and beside its final name, so that an older file there is kept until this one is whole.
    """

    def __init__(self, option: str, path: str) -> None:
        """Raises UsageError, naming the option, where `path` cannot be written."""
        self._option, self._path = option, path
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
        with _told(self._option, self._path):
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
            sys.stdout.writelines(_lines(document, map(encode, records)))
        else:
            self._file.write(line.encode() for line in _lines(document, map(encode, records)))

    def discard(self) -> None:
        """Remove what was opened, if it was not written."""
        if self._file is not None:
            self._file.discard()


class LiveJson:
    """A command's JSON document whose results survive a kill: each goes to a journal as soon as it is there.

    The document itself is written once, at the end; then the journal is removed. Until then no other run can
    write to the file. A stream has no journal.
    """

    def __init__(self, path: str, document: dict[str, Any]) -> None:
        """Raises UsageError where `path` cannot be written, or another run is writing it; `-` is standard
        output."""
        self.is_standard_output = path == "-"
        self._path, self._document = path, document
        self._stream: JsonFile | None = None
        self._journal: Journal | None = None
        self._closing = contextlib.ExitStack()
        self.is_behind = False
        """Whether the journal has records that the document does not have yet."""
        target = None if self.is_standard_output else _target("--json", path)
        if target is None or _is_stream(path):
            self._stream = JsonFile(path)
            return
        with _told("--json", path):
            try:
                lock = locked(target.with_name(f".{target.name}.lock"), wait=False, remove=True)
                self._closing.enter_context(lock)
            except HeldError as error:
                process = f" (process {error.process})" if error.process else ""
                raise UsageError(
                    f"--json {path}: it is being written by another run of cudamm{process}"
                ) from None
        self._journal = Journal(journal_of(target), document)

    def restore(self, records: Mapping[int, dict[str, Any]]) -> None:
        """Take over records of an earlier file by their positions."""
        if self._journal is not None:
            self._journal.add(records)

    def append(self, records: Mapping[int, dict[str, Any]]) -> None:
        """Add records by their positions, or replace those there; they survive a kill when this returns.

        Where the disk does not take them the measuring goes on.
        """
        if self._journal is not None:
            self.is_behind = True
            self._journal.append(records)

    def write(self, records: Iterable[dict[str, Any]]) -> None:
        """Write the document. Raises UsageError where the disk is full; the journal stays there then."""
        if self._stream is not None:
            self._stream.write(self._document, records)
        else:
            file = JsonFile(self._path)
            try:
                file.write(self._document, records)
            finally:
                file.discard()
        if self._journal is not None:
            self.is_behind = False
            self._journal.remove()

    def discard(self) -> None:
        """Let go of the file as it is."""
        if self._stream is not None:
            self._stream.discard()
        if self._journal is not None:
            self._journal.close()
        self._closing.close()


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
