"""A JSON document whose results survive a kill."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cudamm.benchmark.file_lock import HeldError, locked
from cudamm.benchmark.journal import Journal, journal_path
from cudamm.errors import UsageError
from cudamm.output.output_files import JsonFile, as_usage_errors, check_replaceable, is_stream, target_of


def files_beside(target: Path) -> list[Path]:
    """Return the lock file and the journals that are written beside a result file."""
    return [_lock_path(target), journal_path(target)]


def _lock_path(target: Path) -> Path:
    return target.with_name(f".{target.name}.lock")


class LiveJson:
    """A command's JSON document whose results survive a kill: each is written to a journal at once.

    `write` writes the document once, at the end, and removes the journal. A lock prevents other runs from
    writing the file until `discard` is called. A stream has no journal.
    """

    def __init__(self, path: str, document: dict[str, Any], option: str = "--json") -> None:
        """Open the document; `-` is standard output.

        Args:
            option: the option that names the file.

        Raises UsageError if `path` cannot be written, or another run is writing it.
        """
        self.is_standard_output = path == "-"
        self._path, self._document, self._option = path, document, option
        self._stream: JsonFile | None = None
        self._journal: Journal | None = None
        self._closing = contextlib.ExitStack()
        self.is_behind = False
        """True if the journal has records that the document does not have yet."""
        target = None if self.is_standard_output else target_of(option, path)
        if target is None or is_stream(path):
            self._stream = JsonFile(path, option)
            return
        with as_usage_errors(option, path):
            for beside in files_beside(target):
                with contextlib.suppress(FileNotFoundError):
                    os.lstat(beside)  # raises if the name is too long
                check_replaceable(option, path, beside)
            try:
                lock = locked(_lock_path(target), wait=False, remove=True)
                self._closing.enter_context(lock)
            except HeldError as error:
                process = f" (process {error.process})" if error.process else ""
                raise UsageError(
                    f"{option} {path}: another run of cudamm{process} is writing this file: wait until it "
                    "ends, or choose another file"
                ) from None
        self._journal = Journal(journal_path(target), document)

    def restore(self, records: Mapping[int, dict[str, Any]]) -> None:
        """Add records of an earlier file, by position; the next `append` writes them."""
        if self._journal is not None:
            self._journal.add(records)

    def append(self, records: Mapping[int, dict[str, Any]]) -> None:
        """Add or replace records, by position. The records survive a kill once this method returns.

        If the disk accepts no records, the next call writes them again, and no error is raised.
        """
        if self._journal is not None:
            self.is_behind = True
            self._journal.append(records)

    def write(self, records: Iterable[dict[str, Any]]) -> None:
        """Write the document. Raises UsageError if the disk is full; the journal is then kept."""
        if self._stream is not None:
            self._stream.write(self._document, records)
        else:
            file = JsonFile(self._path, self._option)
            try:
                file.write(self._document, records)
            finally:
                file.discard()
        if self._journal is not None:
            self.is_behind = False
            self._journal.remove()

    def discard(self) -> None:
        """Close the journal, leave it on the disk, and release the lock; discard an unwritten stream."""
        if self._stream is not None:
            self._stream.discard()
        if self._journal is not None:
            self._journal.close()
        self._closing.close()
