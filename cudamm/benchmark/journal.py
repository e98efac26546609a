"""The journal of a run: each result is appended as soon as it is there, so that a kill loses none.

JSON Lines. The first line is the head of the document. Each further line is a result: its position among the
results, and its row, as in `[3, {"method": "tiled"}]`. A later line replaces an earlier one of its position.

The journal stands beside the file of results until that file is written. It contains all that the file would
contain: a resumed run copies the results of the earlier run into its journal first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from cudamm.benchmark.json_records import DamagedError, parse_json, read_as

Row = dict[str, Any]


_encode = json.JSONEncoder(allow_nan=False, check_circular=False).encode


def journal_of(path: str | Path) -> Path:
    """Return the name of the journal of a file of results."""
    target = os.path.realpath(path)
    return Path(f"{target}.journal")


class Journal:
    """A journal that is written. One of an earlier run is replaced when there is a first result."""

    def __init__(self, path: Path, head: Mapping[str, Any]) -> None:
        self._path = path
        self._waiting = [_encode(head)]
        self._stream: FileIO | None = None

    def add(self, rows: Mapping[int, Row]) -> None:
        """Note rows by their positions; they are written with the next `append`."""
        self._waiting += [_encode([position, row]) for position, row in rows.items()]

    def append(self, rows: Mapping[int, Row]) -> None:
        """Write rows by their positions, and all that waits. What the disk refuses waits for the next."""
        self.add(rows)
        content = "".join(f"{line}\n" for line in self._waiting).encode()
        try:
            if self._stream is None:
                self._begin(content)
            else:
                _write(self._stream, content)
        except OSError:
            return
        self._waiting.clear()

    def _begin(self, content: bytes) -> None:
        """Put a new journal in the place of an older one, which is whole until then."""
        partial = self._path.with_name(f".{self._path.name}.partial")
        stream = FileIO(partial, "w")
        try:
            _write(stream, content)
            partial.replace(self._path)
        except BaseException:
            stream.close()
            partial.unlink(missing_ok=True)
            raise
        self._stream = stream

    def remove(self) -> None:
        """Remove it, and what an earlier run left: the document has everything."""
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Leave it as it is."""
        if self._stream is not None:
            self._stream.close()


def _write(stream: FileIO, content: bytes) -> None:
    """Write all of it, or leave the file as it was."""
    start, rest = stream.tell(), memoryview(content)
    try:
        while rest:
            rest = rest[stream.write(rest) :]
    except BaseException:
        stream.truncate(start)
        stream.seek(start)
        raise


def read_journal(path: Path) -> dict[str, Any]:
    """Return the document that a journal stands for; a last line that a kill has cut off does not count.

    Raises:
        OSError: there is none, or it cannot be read.
        DamagedError: another line is damaged.
    """
    lines = path.read_bytes().split(b"\n")[:-1]
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
