"""A file's rows as results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cudamm.benchmark.result import Result, result_of
from cudamm.benchmark.result_file import MOST_MS, Saved
from cudamm.errors import UsageError

SCHEMA = "cudamm.bench/2"
LARGEST_SIZE = 10**9
"""Of a matrix's edge: far above what any memory holds, and small enough to compute with."""

_Check = Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < MOST_MS


def _is_size(value: Any) -> bool:
    """An error may be of any size; only whole numbers that no float holds are none."""
    return isinstance(value, float) or _is_number(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_MS


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


# Fields that `saved` leaves alone, since `compare` needs none of them; those that are missing are unknown.
_FIELDS: dict[str, tuple[str, _Check]] = {
    "padded": ("true or false", lambda value: isinstance(value, bool)),
    "launches_per_sample": ("a whole number above 0", lambda value: _is_count(value) and value > 0),
    "ended_by": ("text", lambda value: isinstance(value, str)),
    "throttled": ("a whole number", _is_count),
    "throttle_reasons": ("a list of texts", _is_texts),
    "retaken": ("a whole number", _is_count),
    "event_floor_ms": ("a time or null", lambda value: value is None or _is_number(value)),
    "correct": ("true, false or null", lambda value: value is None or isinstance(value, bool)),
    "bit_equal": ("true, false or null", lambda value: value is None or isinstance(value, bool)),
    "max_error": ("a number or null", lambda value: value is None or _is_size(value)),
    "error_bound": ("a number or null", lambda value: value is None or _is_size(value)),
}


def results_of(saved: Saved) -> list[Result]:
    """The rows of a file that `saved.load` has read.

    Raises:
        UsageError: there are none, or one of them is damaged.
    """
    if not saved.rows:
        raise UsageError(f"{saved.path} holds no results yet; measure first")
    for number, record in enumerate(saved.rows, 1):
        for name, (meaning, is_right) in _FIELDS.items():
            if name in record and not is_right(record[name]):
                _damaged(saved.path, number, name, meaning)
        for name in ("m", "n", "k"):
            if not 1 <= record[name] <= LARGEST_SIZE:
                _damaged(saved.path, number, name, f"between 1 and {LARGEST_SIZE:,}")
    return [result_of(_completed(record), position) for position, record in enumerate(saved.rows)]


def _completed(record: dict[str, Any]) -> dict[str, Any]:
    """The record with what a result needs, and without nulls, for which a result has defaults."""
    return {"padded": False, "correct": None} | {k: v for k, v in record.items() if v is not None}


def _damaged(path: str, number: int, name: str, meaning: str) -> None:
    raise UsageError(f"{path} is damaged: “{name}” of result {number} has to be {meaning}; measure again")
