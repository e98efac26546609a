"""Rows as points of charts: their places along an axis, and the row that represents several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from cudamm.kernels.method import Value
from cudamm.output.best_row import speed_order
from cudamm.output.plots.chart import Axis, Point, Scale
from cudamm.output.results_view import ResultRow

T = TypeVar("T")
K = TypeVar("K")

DECADE = 10.0
"""Ratio of the largest to the smallest value above which their axis is logarithmic."""


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return rows grouped by their keys, groups in the order of their first rows."""
    groups: dict[K, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def swept_parameters(rows: Sequence[ResultRow]) -> list[str]:
    """Return the parameters that have several values among the rows."""
    names = dict.fromkeys(name for row in rows for name in row.result.params)
    return [name for name in names if len({row.result.params.get(name) for row in rows}) > 1]


def in_order(values: Iterable[Value]) -> list[Value]:
    """Return each value once: numbers by size, then words."""
    return sorted(
        dict.fromkeys(values), key=lambda v: (isinstance(v, str), v if isinstance(v, int) else 0, str(v))
    )


def side_by_side(label: str, names: Iterable[object]) -> Axis:
    """Return an axis along which names stand evenly, at 0, 1, 2, …"""
    return Axis(label, ticks=tuple((float(place), str(name)) for place, name in enumerate(names)))


def scale_of(values: Iterable[float]) -> Scale:
    """Return the scale of times or rates: logarithmic if they span more than a decade."""
    known = list(values)
    return "log10" if max(known) > DECADE * min(known) else "linear"


def representative(rows: Iterable[ResultRow]) -> ResultRow | None:
    """Return the fastest row; a dropped row, which has only one or two samples, if there is no other."""
    return min(rows, key=lambda row: (row.result.status != "ok", speed_order(row)), default=None)


def time_point(x: float, row: ResultRow, best: bool = False) -> Point:
    """Return a median time with its quartiles, if there are several samples."""
    of = row.result.statistics
    low, high = (of.q1_ms, of.q3_ms) if of is not None and of.count > 1 else (None, None)
    return Point(x, row.median_ms, low, high, row.result.status == "dropped", best, row=row)


def rate_point(x: float, row: ResultRow, best: bool = False) -> Point:
    """Return a rate with its interval: the quartiles of the times, the slower one the lower rate."""
    rate, time = row.rate or 0.0, time_point(x, row, best)
    low = rate * time.y / time.high if time.high else None
    high = rate * time.y / time.low if time.low else None
    return Point(x, rate, low, high, time.hollow, best, row=row)
