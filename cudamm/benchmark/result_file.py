"""Read the results in a JSON file of `bench` or `sweep`, or in the journal of a run that was killed."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cudamm.benchmark.journal import LARGEST_FILE_BYTES, journal_path, read_journal
from cudamm.benchmark.json_records import DamagedError, parse_json, read_as
from cudamm.benchmark.result import SCHEMA, Result, Timing, result_of
from cudamm.errors import UsageError
from cudamm.execution.case import Verdict
from cudamm.source.input_file import read_input

_DEFAULTS = {
    field.name: field.default
    for record in (Verdict, Timing, Result)
    for field in dataclasses.fields(record)
    if field.default is not dataclasses.MISSING
}
"""Defaults of the fields that a row may lack."""


@dataclass(frozen=True)
class Saved:
    """A result file.

    Attributes:
        path: the path as the user wrote it, for messages.
        document: the file's contents without the results: device, environment and options.
        rows: the results, as in the file.
    """

    path: str
    document: dict[str, Any]
    rows: list[dict[str, Any]]

    @property
    def complete_rows(self) -> list[dict[str, Any]]:
        """Return the rows with the defaults of the fields that they lack."""
        return [_DEFAULTS | row for row in self.rows]

    @functools.cached_property
    def results(self) -> list[Result]:
        """Return the rows as results. Raise UsageError if one of them is damaged."""
        results = []
        for position, row in enumerate(self.rows):
            try:
                results.append(result_of(row, position))
            except DamagedError as error:
                raise _damaged(self.path, f"result {position + 1}, {error}") from None
        return results


@dataclass(frozen=True)
class _Device:
    kind: str
    name: str


@dataclass(frozen=True)
class _Document:
    """The fields that every result file contains."""

    device: _Device
    environment: dict[str, Any]
    options: dict[str, Any]
    results: list[dict[str, Any]]


def load(path: str, *, rewritten: bool = False) -> Saved:
    """Read a result file.

    Args:
        rewritten: the command continues the file's run, and writes the file again.

    Raises:
        UsageError: the file cannot be read, is damaged, is of another kind or of another version of cudamm.
    """
    text = _text(path, rewritten)
    try:
        document = parse_json(text)
    except DamagedError as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
    return _saved(path, document)


def load_to_resume(path: str) -> Saved | None:
    """Read the results of an earlier run; return None if there are neither a result file nor a journal.

    A run that was killed leaves a journal, which contains everything in the result file and more.

    Raises:
        UsageError: as for `load`.
    """
    name = f"{path}.journal"
    try:
        if not journal_path(path).exists():
            return load(path, rewritten=True) if Path(path).exists() else None
        return _saved(name, read_journal(journal_path(path)))
    except OSError as error:
        raise UsageError(f"{name}: it cannot be read ({error.strerror})") from None
    except DamagedError as error:
        raise UsageError(f"{name} is damaged: {error}; remove it, and measure again") from None


def results_of(saved: Saved) -> list[Result]:
    """Return the rows of a file as results.

    Raises:
        UsageError: the file contains no results, or one of them is damaged.
    """
    if not saved.rows:
        raise UsageError(f"{saved.path} contains no results yet; measure first")
    return saved.results


def _saved(path: str, document: Any) -> Saved:
    """Return the file with this document. Raise UsageError if its schema or a value in it is wrong."""
    if not isinstance(document, dict) or not str(document.get("schema")).startswith("cudamm."):
        raise UsageError(f"{path} is not a file of cudamm: name a file that --json wrote")
    _check_schema(path, str(document["schema"]))
    try:
        read_as(_Document, document)
    except DamagedError as error:
        raise _damaged(path, str(error)) from None
    saved = Saved(path, document, document.pop("results"))
    _ = saved.results
    return saved


def _damaged(path: str, reason: str) -> UsageError:
    return UsageError(f"{path} is damaged: {reason}; measure again")


def _text(path: str, rewritten: bool) -> str:
    if not path:
        raise UsageError("the name of the result file is empty: name a file that --json wrote")
    try:
        if Path(path).is_dir():
            raise UsageError(f"{path} is a folder: name a file in it that --json wrote")
        # A file that the command writes again cannot be a pipe.
        content = read_input(
            path, "a file of results", LARGEST_FILE_BYTES, streams=not rewritten, rewritten=rewritten
        )
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        if journal_path(path).exists():
            raise UsageError(
                f"{path} is not written yet, and its results so far are in {path}.journal: "
                f"complete the file with `cudamm bench … --resume {path}`"
            ) from None
        raise UsageError(f"{path}: there is no such file") from None
    except OSError as error:
        raise UsageError(f"{path}: it cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not JSON: its text is not valid UTF-8") from None


def _check_schema(path: str, found: str) -> None:
    if found == SCHEMA:
        return
    command, _, _ = SCHEMA.removeprefix("cudamm.").partition("/")
    other, _, _ = found.removeprefix("cudamm.").partition("/")
    if other == command:
        raise UsageError(
            f"{path} was written by another version of cudamm: its schema is {found}, and this version reads "
            f"{SCHEMA}; measure again"
        )
    raise UsageError(
        f"{path} is a file of cudamm {other} ({found}): name a file of cudamm {command} ({SCHEMA})"
    )
