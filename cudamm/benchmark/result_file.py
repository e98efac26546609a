"""Results read back from a JSON file that a command wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from cudamm.errors import UsageError

MOST_MS = 1e15
"""30,000 years: no time, and small enough that sums of times stay finite."""

_Check = Callable[[Any], bool]


@dataclass(frozen=True)
class Saved:
    """A file of results.

    Attributes:
        path: as the user wrote it, for messages.
        document: what the file says of where, when and how; without the results.
        rows: the results.
    """

    path: str
    document: dict[str, Any]
    rows: list[dict[str, Any]]


def load(path: str, schema: str) -> Saved:
    """Read a file of results.

    Args:
        schema: what it has to hold, such as `cudamm.bench/2`.

    Raises:
        UsageError: it cannot be read, is something else, or was written by another version of cudamm.
    """
    document = _parsed(path, _text(path))
    _check_schema(path, document, schema)
    for name, (meaning, is_right) in _DOCUMENTS.get(schema, {}).items():
        if name not in document or not is_right(document[name]):
            raise UsageError(f"{path} is damaged: “{name}” has to be {meaning}; measure again")
    rows = document.pop("results", None)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{path} is damaged: “results” has to be a list of objects; measure again")
    for number, row in enumerate(rows, 1):
        _check_row(path, number, row, schema)
    return Saved(path, document, rows)


def _text(path: str) -> str:
    if not path:
        raise UsageError("a file of results is to be named, and the name is empty")
    try:
        if Path(path).is_dir():
            raise UsageError(f"{path} is a folder: name a file in it that --json wrote")
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    except OSError as error:
        raise UsageError(f"{path}: it cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not JSON: it is no text in UTF-8") from None


def _parsed(path: str, text: str) -> dict[str, Any]:
    try:
        document = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        what = f"{error.msg}, line {error.lineno} column {error.colno}" if text.strip() else "it is empty"
        raise UsageError(f"{path} is not JSON: {what}") from None
    except ValueError as error:  # a number, which no float or no int that Python reads can hold
        raise UsageError(f"{path} is not JSON: {error}") from None
    except RecursionError:
        raise UsageError(f"{path} is not a file of cudamm: it is nested too deeply") from None
    if not isinstance(document, dict) or not str(document.get("schema")).startswith("cudamm."):
        raise UsageError(f"{path} is not a file of cudamm: it has to be one that --json wrote")
    return document


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large a number")
    return value


def _check_schema(path: str, document: dict[str, Any], expected: str) -> None:
    found = str(document["schema"])
    if found == expected:
        return
    command, _, _ = expected.removeprefix("cudamm.").partition("/")
    other, _, _ = found.removeprefix("cudamm.").partition("/")
    if other == command:
        raise UsageError(
            f"{path} was written by another version of cudamm: it is {found}, and this version reads "
            f"{expected}; measure again"
        )
    raise UsageError(
        f"{path} holds what cudamm {other} writes ({found}): name a file of cudamm {command} ({expected})"
    )


def _check_row(path: str, number: int, row: dict[str, Any], schema: str) -> None:
    required, optional = _ROWS.get(schema, ({}, {}))
    for name, (meaning, is_right) in (required | optional).items():
        if name not in row:
            if name in required:
                raise UsageError(f"{path} is damaged: result {number} has no “{name}”; measure again")
        elif not is_right(row[name]):
            raise UsageError(
                f"{path} is damaged: “{name}” of result {number} has to be {meaning}; measure again"
            )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < MOST_MS


def _or_null(is_right: _Check) -> _Check:
    return lambda value: value is None or is_right(value)


def _one_of(*words: str) -> tuple[str, _Check]:
    return f"one of {', '.join(words)}", lambda value: isinstance(value, str) and value in words


_TEXT = ("text", _is_text)
_COUNT = ("a whole number", _is_count)
_FLAG = ("true or false", lambda value: isinstance(value, bool))
_OBJECT = ("an object", lambda value: isinstance(value, dict))
_DEVICE = (
    "an object with a kind and a name",
    lambda value: isinstance(value, dict) and _is_text(value.get("kind")) and _is_text(value.get("name")),
)
_PARAMS = (
    "an object of whole numbers and words",
    lambda value: isinstance(value, dict) and all(isinstance(v, (int, str)) for v in value.values()),
)
_SAMPLES = (
    "a list of times",
    lambda value: isinstance(value, list) and all(_is_number(sample) for sample in value),
)

_Fields = dict[str, tuple[str, _Check]]

_DOCUMENTS: dict[str, _Fields] = {
    "cudamm.bench/2": {"device": _DEVICE, "environment": _OBJECT, "options": _OBJECT},
}
"""Of each schema, what beside the results has to be there."""

_ROWS: dict[str, tuple[_Fields, _Fields]] = {
    "cudamm.bench/2": (
        {
            "method": _TEXT,
            "params": _PARAMS,
            "m": _COUNT,
            "n": _COUNT,
            "k": _COUNT,
            "dtype": _TEXT,
            "fmad": _FLAG,
            "execution": _one_of("gpu", "native", "emulated"),
            "status": _one_of("ok", "failed", "skipped", "dropped"),
            "reason": _TEXT,
            "cache": _one_of("cold", "hot"),
            "samples_ms": _SAMPLES,
        },
        {
            "source": ("text or null", _or_null(_is_text)),
            "chosen_by": _one_of("tuned", "table", "preference", "model"),
            "clock_mhz": ("a number or null", _or_null(_is_number)),
            "fma_ceiling_gflops": ("a number or null", _or_null(_is_number)),
            "throttled": ("a whole number or null", _or_null(_is_count)),
            "median_ms": ("a time or null", _or_null(_is_number)),
            "gflops": ("a number or null", _or_null(_is_number)),
        },
    ),
}
"""Of each schema, what every result has to have, and what it may have; other fields are nobody's concern."""
