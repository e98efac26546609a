"""The journal of a run: each result is appended as soon as it is complete, so that a killed run loses none.

The format is JSON Lines. The first line is the document without its results. Each following line contains
one result: the result's position and its row, as in `[3, {"method": "tiled"}]`. A later line with the same
position replaces an earlier one.

The journal lies beside the result file until that file is written. The journal contains every result so far:
a resumed run first copies the results of the earlier run into its own journal.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from cudamm.benchmark.json_records import DamagedError, parse_json, read_as
from cudamm.benchmark.unnamed_file import UnnamedFile
from cudamm.source.input_file import read_input

LARGEST_FILE_BYTES = 1 << 28
"""Largest file of results or journal that is read: about 200,000 rows."""

Row = dict[str, Any]

_encode = json.JSONEncoder(allow_nan=False, check_circular=False).encode


def journal_path(path: str | Path) -> Path:
    """Return the path of the journal of a result file."""
    target = os.path.realpath(path)
    return Path(f"{target}.journal")


class Journal:
    """A journal that is being written; with its first result it replaces the journal of an earlier run."""

    def __init__(self, path: Path, head: Mapping[str, Any]) -> None:
        self._path = path
        self._unwritten_lines = [_encode(head)]
        self._stream: FileIO | None = None

    def add(self, rows: Mapping[int, Row]) -> None:
        """Add rows, by position; the next `append` writes them."""
        self._unwritten_lines += [_encode([position, row]) for position, row in rows.items()]

    def append(self, rows: Mapping[int, Row]) -> None:
        """Write rows, by position, and all rows that `add` stored.

        Rows that cannot be written are kept for the next call.
        """
        self.add(rows)
        content = "".join(f"{line}\n" for line in self._unwritten_lines).encode()
        try:
            if self._stream is None:
                self._begin(content)
            else:
                _write(self._stream, content)
        except OSError:
            return
        self._unwritten_lines.clear()

    def _begin(self, content: bytes) -> None:
        """Replace an older journal with a new one; until the new one is complete, the older one stays."""
        file = UnnamedFile(self._path)
        try:
            _write(file.stream, content)
            file.place()
        except BaseException:
            file.close()
            raise
        self._stream = file.stream

    def remove(self) -> None:
        """Remove the journal, of this run or an earlier one, because the result file is complete."""
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the journal and leave it on the disk."""
        if self._stream is not None:
            self._stream.close()


def _write(stream: FileIO, content: bytes) -> None:
    """Write all the content, or leave the file as it was."""
    start, remaining = stream.tell(), memoryview(content)
    try:
        while remaining:
            remaining = remaining[stream.write(remaining) :]
    except BaseException:
        stream.truncate(start)
        stream.seek(start)
        raise


def read_journal(path: Path) -> dict[str, Any]:
    """Return the document that a journal contains, without a last line that was cut off by a kill.

    Raises:
        OSError: the journal does not exist or cannot be read.
        UsageError: it is not a regular file, or is too large.
        DamagedError: a complete line is damaged.
    """
    lines = read_input(path, "a journal", LARGEST_FILE_BYTES, rewritten=True).split(b"\n")[:-1]
    head: Row = {}
    rows: dict[int, Row] = {}
    for number, line in enumerate(lines, 1):
        try:
            value = parse_json(line.decode(errors="replace"))
            if number == 1:
                head = read_as(dict[str, Any], value)
            else:
                position, row = read_as(tuple[int, dict[str, Any]], value)
                rows[position] = row
        except DamagedError as error:
            raise DamagedError(f"line {number}: {error}") from None
    return head | {"results": [rows[position] for position in sorted(rows)]}
