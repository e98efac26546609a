"""A file's rows as results, and what tables and charts ask of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from cudamm.benchmark.result import Result, result_of
from cudamm.benchmark.result_file import MOST_MS, Saved
from cudamm.benchmark.sample_statistics import ratio_of_medians
from cudamm.errors import UsageError
from cudamm.output.bench_table import FEWEST_FOR_INTERVAL
from cudamm.output.console import parameters
from cudamm.output.ratio_format import ratio

SCHEMA = "cudamm.bench/2"
LARGEST_SIZE = 10**9
"""Of a matrix's edge: far above what any memory holds, and small enough to compute with."""
BASELINE = "naive"
"""The method that speed-ups are over; the first row where a problem has no such row."""

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


class Problem(NamedTuple):
    """What a table is about: sizes, element type, and whether multiply-adds were fused."""

    m: int
    n: int
    k: int
    dtype: str
    fmad: bool

    @property
    def size(self) -> str:
        """`1024`, or `640 × 480 × 320` where it is not square."""
        return str(self.m) if self.is_square else f"{self.m} × {self.n} × {self.k}"

    @property
    def is_square(self) -> bool:
        """Whether all three sizes are the same."""
        return self.m == self.n == self.k

    @property
    def kind(self) -> str:
        """All but the sizes."""
        return self.dtype + ("" if self.fmad else ", no fused multiply-add")

    @property
    def short(self) -> str:
        """For cells of tables, which have little room."""
        return f"{self.size}, {self.kind}"

    def __str__(self) -> str:
        return f"{self.m} × {self.n} × {self.k} (M × N × K), {self.kind}"


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


def by_problem(results: Iterable[Result]) -> dict[Problem, list[Result]]:
    """The results of each problem, in the file's order."""
    groups: dict[Problem, list[Result]] = {}
    for result in results:
        problem = Problem(result.m, result.n, result.k, result.dtype, result.fmad)
        groups.setdefault(problem, []).append(result)
    return groups


def by_method(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The results of each method, in the file's order."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.method, []).append(result)
    return groups


def name_of(result: Result) -> str:
    """Such as `tiled BLOCK_SIZE=16`."""
    return f"{result.label} {parameters(result.params)}".strip()


def is_timed(result: Result) -> bool:
    """Whether there is a time that stands for the row."""
    return result.status in ("ok", "dropped") and bool(result.median_ms)


def rate(result: Result) -> float | None:
    """10⁹ operations a second of a row that was timed; None where that is no number."""
    gflops = result.gflops if is_timed(result) else None
    return gflops if gflops is not None and math.isfinite(gflops) else None


def best(rows: Sequence[Result]) -> Result | None:
    """The fastest that is known to be right. Where a GPU has measured, what ran on it; the host else.

    cuBLAS only where there is nothing else.
    """
    right = [r for r in rows if r.status == "ok" and r.verdict.correct and is_timed(r)]
    on_gpu = [r for r in right if r.execution == "gpu"]
    beside_cublas = [r for r in on_gpu if not r.is_yardstick]
    return min(beside_cublas or on_gpu or right, key=lambda r: r.median_ms or math.inf, default=None)


def baseline(rows: Sequence[Result]) -> Result | None:
    """The row that speed-ups of a problem are over."""
    timed = [r for r in rows if r.status == "ok" and is_timed(r)]
    return next((r for r in timed if r.method == BASELINE), timed[0] if timed else None)


def speed_up(over: Result | None, result: Result | None) -> str:
    """`1.16× (1.15–1.17)`, without the interval where the samples are too few; empty where it is unknown."""
    if over is None or result is None or not is_timed(result):
        return ""
    if result is over:
        return "1.00×"
    old, new = over.timing.samples_ms, result.timing.samples_ms
    found = ratio_of_medians(old, new)
    if not all(map(math.isfinite, dataclasses.astuple(found))):
        return ""
    if min(len(old), len(new)) < FEWEST_FOR_INTERVAL or result.status == "dropped":
        return f"{found.value:.2f}×"
    return ratio(found)
