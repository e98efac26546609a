"""Output files that are either complete or absent."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from cudamm.benchmark.unnamed_file import UnnamedFile
from cudamm.errors import UsageError
from cudamm.output.readable_text import readable
from cudamm.source.input_file import replaced_input

SOURCE_NAMES = (".cu", ".cuh", ".h", ".hpp", ".hh", ".cpp", ".cc", ".c", ".cxx", ".py", ".inc")
"""Endings of the names of source files, which no output ever replaces."""

OWN_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")
"""Names of streams that the process already has open, even if such a stream is a file."""


RECOGNISED = {
    "--out": (
        re.compile(
            rb'\s*\{\s*"(?:score|execution_time|leaderboard|tests|\w*output\w*|\w*visibility|extra_data)"'
        ),
        "a grade",
    ),
    "--junit": (re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<testsuites?\b"), "JUnit XML"),
}
"""Options that replace an existing file only if it begins like an earlier one, and what such a file is."""

_BEGINNING_BYTES = 1 << 12


class OutputFile:
    """A file to be written once, at the end.

    It is opened at the start, so that a path that cannot be written is known before anything is measured.
    It has no name until it is whole; then it takes the place of an older file.
    """

    def __init__(self, option: str, path: str) -> None:
        """Open the file. Raises UsageError, which names the option, if `path` cannot be written."""
        self._option, self._path = option, path
        self._file: UnnamedFile | None = None
        self._stream: IO[bytes] | None = None
        with as_usage_errors(option, path):
            self._target = target_of(option, path)
            if is_stream(path):
                # A stream is never replaced, and the reader of a pipe ends when the pipe is closed.
                self._stream = self._target.open("ab")
                return
            self._file = UnnamedFile(self._target)

    def write(self, parts: Iterable[bytes]) -> None:
        """Write the whole file. Raises UsageError if the disk does not accept it."""
        with as_usage_errors(self._option, self._path):
            if self._stream is not None:
                if self._stream.closed:  # the first writing was interrupted, and no stream can be taken back
                    return
                with self._stream as stream:
                    stream.writelines(parts)
            elif self._file is not None:
                self._file.write(parts)
                check_replaceable(self._option, self._path, self._target)  # it may be new since the start
                self._file.place()

    def write_text(self, text: str) -> None:
        """Write a whole file of text, in UTF-8, without characters that no reader accepts."""
        self.write([readable(text).encode()])

    def discard(self) -> None:
        """Remove the opened file if it was not written."""
        if self._file is not None:
            self._file.close()
        if self._stream is not None:
            self._stream.close()


class JsonFile:
    """A command's JSON document, in a file or on standard output."""

    def __init__(self, path: str, option: str = "--json") -> None:
        """Open the file; `-` is standard output. Raises UsageError if `path` cannot be written."""
        self.is_standard_output = path == "-"
        self._file = None if self.is_standard_output else OutputFile(option, path)

    def write(self, document: dict[str, Any], records: Iterable[dict[str, Any]]) -> None:
        """Write the document with its results, one on a line. Raises UsageError if the disk is full."""
        if self._file is None:
            sys.stdout.writelines(_lines(document, map(_encode, records)))
        else:
            self._file.write(line.encode() for line in _lines(document, map(_encode, records)))

    def discard(self) -> None:
        """Remove the opened file if it was not written."""
        if self._file is not None:
            self._file.discard()


def target_of(option: str, path: str) -> Path:
    """Return the file that an option names. Raises UsageError if it cannot be written."""
    check_named(option, path)
    target = Path(path)
    with as_usage_errors(option, path):
        if target.is_dir() or path.endswith("/"):
            raise UsageError(f"{option} {path}: that is a folder; name a file in it")
        check_replaceable(option, path, target)
        if is_stream(path):
            return target
        target = target.resolve()
        with contextlib.suppress(FileNotFoundError):
            os.close(os.open(target, os.O_WRONLY))  # replaced only if it may be written
    return target


def check_named(option: str, path: str) -> None:
    """Raise UsageError if the value of an option that names a file is empty, or is another option."""
    if not path:
        raise UsageError(f"{option} needs the name of a file, and its value is empty")
    if path.startswith("-") and path != "-":
        raise UsageError(f"{option} needs the name of a file before {path} (a file of that name is ./{path})")


def check_replaceable(option: str, path: str, target: Path) -> None:
    """Raise UsageError if `target`, which an option names by `path`, is an input or a source file.

    The files of RECOGNISED options are read by others, so they replace nothing but an earlier one.

    Args:
        target: the file itself, or a file beside it that the command writes too.
    """
    name = replaced_input(target)
    if name is not None:
        raise UsageError(
            f"{option} {path} would replace {name}, which this command reads: choose another name"
        )
    ends_like_source = {target.suffix.lower(), target.resolve().suffix.lower()}.intersection(SOURCE_NAMES)
    if ends_like_source and target.is_file():
        raise UsageError(
            f"{option} {path} would replace a source file: choose another name, or remove that file first"
        )
    if option in RECOGNISED and target.is_file() and not is_stream(path):
        pattern, content = RECOGNISED[option]
        with target.open("rb") as file:
            beginning = file.read(_BEGINNING_BYTES)
        if beginning and not pattern.match(beginning):
            raise UsageError(
                f"{option} {path} would replace a file that is not {content}: choose another name, or remove "
                "that file first"
            )


def print_document(text: str) -> None:
    """Write a document to standard output as a file would contain it: in UTF-8, in every locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(readable(text).encode())
    sys.stdout.buffer.flush()


def write_then_print(writings: Sequence[Callable[[], None]], prints: Callable[[], None]) -> None:
    """Write every file, then print; a file that cannot be written costs neither the others nor the tables.

    Standard output comes last, because its reader may go away. An interrupted writing is done again.

    Raises:
        UsageError, KeyboardInterrupt: the first error of a file, once everything else is done.
    """
    errors: list[UsageError | KeyboardInterrupt] = []
    for write in writings:
        try:
            try:
                write()
            except KeyboardInterrupt as interrupt:
                errors.append(interrupt)
                write()
        except UsageError as error:
            errors.append(error)
    try:
        prints()
    except OSError:
        if not errors:
            raise
    if errors:
        raise errors[0]


def is_stream(path: str) -> bool:
    """Return whether the path is a pipe, a terminal or /dev/null, which cannot be replaced."""
    try:
        is_file = stat.S_ISREG(Path(path).stat().st_mode)
    except OSError:  # missing, or a name that is too long
        is_file = True
    return not is_file or path.startswith(OWN_STREAMS)


@contextlib.contextmanager
def as_usage_errors(option: str, path: str) -> Iterator[None]:
    """Turn errors of the file system into UsageError, with a message for users."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{option} {path}: it cannot be written ({error.strerror})") from None
    except RuntimeError:  # raised by Python before 3.13 for links in a circle
        raise UsageError(f"{option} {path}: it cannot be written (symbolic links in a loop)") from None


_encode = json.JSONEncoder(allow_nan=False, check_circular=False).encode


def _lines(document: dict[str, Any], records: Iterable[str]) -> Iterator[str]:
    """Yield the document's text in parts: there may be a hundred thousand records, each already encoded."""
    yield json.dumps(document | {"results": []}, indent=2, allow_nan=False).removesuffix("]\n}")
    separator = "\n    "
    for record in records:
        yield separator + record
        separator = ",\n    "
    yield "]\n}\n" if separator == "\n    " else "\n  ]\n}\n"
