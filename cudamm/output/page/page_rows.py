"""What tables and charts ask of a file's results."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cudamm.benchmark.result import Result
from cudamm.benchmark.sample_statistics import ratio_of_medians
from cudamm.output.bench_table import FEWEST_FOR_INTERVAL
from cudamm.output.console import parameters
from cudamm.output.ratio_format import ratio

BASELINE = "naive"
"""The method that speed-ups are over; the first row where a problem has no such row."""


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
