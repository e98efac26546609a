"""The page's charts: rates and times against a parameter of a sweep, and against the size."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cudamm.kernels.method import Value
from cudamm.output.best_row import speed_order
from cudamm.output.number_format import significant
from cudamm.output.plots.chart import Axis, LineChart, Series
from cudamm.output.plots.points import grouped, in_order, rate_point, representative, side_by_side
from cudamm.output.plots.ticks import ticks
from cudamm.output.result_marks import EXECUTION_MARKS
from cudamm.output.results_view import ProblemLabel, ResultRow, ResultsView

MOST_SERIES = 8
"""Lines of a sweep's chart; if there would be more, one line shows the best at each value."""
MOST_POINTS = 2000
"""Maximum number of points in all charts of a page. Charts that would exceed it are left out."""
MOST_TICKS = 14
MARGIN = 1.4
"""Factor by which a logarithmic axis extends beyond its outermost points."""


@dataclass(frozen=True)
class PagePoint:
    """A point of a chart in words.

    Attributes:
        line: the name of its line.
        value: its place along the horizontal axis.
        remarks: what has to be known of its time, in a word each.
    """

    line: str
    value: str
    row: ResultRow
    remarks: list[str]


@dataclass(frozen=True)
class PageChart:
    """A chart of rates, and its content in words."""

    chart: LineChart

    @property
    def points(self) -> list[PagePoint]:
        """Return every point, one line after the other."""
        values = dict(self.chart.x.ticks)
        return [
            PagePoint(series.label, values[point.x], point.row, _remarks(point.row))
            for series in self.chart.series
            for point in series.points
            if point.row is not None
        ]

    @property
    def description(self) -> str:
        """Return the chart in a sentence, for readers who cannot see it."""
        best = min((point.row for point in self.points), key=speed_order)
        count, unit = len(self.chart.series), self.chart.y.label
        return (
            f"{self.chart.title}: {f'{count} lines' if count > 1 else 'one line'} over "
            f"{len(self.chart.x.ticks)} values of {self.chart.x.label}; the shortest time is "
            f"{significant(best.median_ms)} ms, {significant(best.rate)} {unit}, of {best.variant}"
        )

    @property
    def record(self) -> dict[str, Any]:
        """Return the data of the page's script: per line a rate, time and texts for each value, or null."""
        x, places = self.chart.x, [place for place, _ in self.chart.x.ticks]
        rows = [{point.x: point.row for point in series.points} for series in self.chart.series]
        every = [point.row for point in self.points]
        return {
            "label": x.label,
            "values": [text for _, text in x.ticks],
            "sizes": places if x.scale != "linear" else None,
            "unit": self.chart.y.label,
            "ticks": {
                "rate": _logarithmic([row.rate or 0.0 for row in every]),
                "ms": _logarithmic([row.median_ms for row in every]),
            },
            "series": [
                {
                    "name": series.label,
                    "rate": [row and row.rate for row in map(line.get, places)],
                    "ms": [row and row.median_ms for row in map(line.get, places)],
                    "texts": [row and _texts(row) for row in map(line.get, places)],
                }
                for series, line in zip(self.chart.series, rows, strict=True)
            ],
        }


def page_charts(view: ResultsView) -> list[PageChart]:
    """Return the charts against the size, then those against each parameter, up to `MOST_POINTS` points."""
    charts: list[PageChart] = []
    points = 0
    for chart in itertools.chain(against_size(view), against_parameters(view)):
        points += sum(len(series.points) for series in chart.series)
        if points > MOST_POINTS:
            break
        charts.append(PageChart(chart))
    return charts


def against_parameters(view: ResultsView) -> Iterator[LineChart]:
    """Yield a chart for each method, problem and parameter that has several values there.

    Of two such parameters the other one's values are the lines; of more, or of too many lines, the best row
    at each value is the only one.
    """
    for problem in view.problems:
        for method, rows in grouped(filter(_has_point, problem.rows), lambda row: row.result.method).items():
            yield from _of_sweep(method, problem.label, rows)


def against_size(view: ResultsView) -> list[LineChart]:
    """Return a chart for each element type that has several sizes: a line a method, its best at each size."""
    rows = filter(_has_point, view.rows)
    charts = [_over_sizes(kind, group) for kind, group in grouped(rows, lambda row: row.problem.kind).items()]
    return [chart for chart in charts if len(chart.x.ticks) > 1]


def _of_sweep(method: str, problem: ProblemLabel, rows: Sequence[ResultRow]) -> Iterator[LineChart]:
    names = dict.fromkeys(name for row in rows for name in row.result.params)
    values = {
        name: in_order(row.result.params[name] for row in rows if name in row.result.params) for name in names
    }
    swept = [name for name in names if len(values[name]) > 1]
    for name in swept:
        others = [other for other in swept if other != name]
        lines = values[others[0]] if len(others) == 1 else []
        if 0 < len(lines) <= MOST_SERIES:
            other = others[0]
            groups = {
                f"{other} = {line}": [r for r in rows if r.result.params.get(other) == line] for line in lines
            }
        else:
            groups = {f"best over all values of {', '.join(others)}" if others else method: list(rows)}
        yield _chart(
            f"{method} against {name}, {problem}",
            side_by_side(name, values[name]),
            groups,
            _place_along(name, values[name]),
            picks=bool(others) and not 0 < len(lines) <= MOST_SERIES,
        )


def _place_along(name: str, values: Sequence[Value]) -> Callable[[ResultRow], float | None]:
    """Return a function that maps a row to its place along the axis of a parameter."""
    places = {value: float(place) for place, value in enumerate(values)}
    return lambda row: places[row.result.params[name]] if name in row.result.params else None


def _over_sizes(kind: str, rows: Sequence[ResultRow]) -> LineChart:
    problems = sorted({row.problem for row in rows}, key=lambda p: (p.m * p.n * p.k, p))
    if all(problem.is_square for problem in problems):
        axis = Axis("M = N = K", "log2", tuple((float(p.m), p.size) for p in problems))
    else:
        axis = side_by_side("M × N × K", [problem.size for problem in problems])
    place_of = {problem: place for problem, (place, _) in zip(problems, axis.ticks, strict=True)}
    groups = grouped(rows, lambda row: row.result.method)
    return _chart(
        f"Against the size, {kind}",
        axis,
        groups,
        lambda row: place_of[row.problem],
        picks=any(len({row.problem for row in group}) < len(group) for group in groups.values()),
    )


def _chart(
    title: str,
    axis: Axis,
    groups: Mapping[str, Sequence[ResultRow]],
    place_of: Callable[[ResultRow], float | None],
    picks: bool,
) -> LineChart:
    """Return a chart of rates: a line per group, with the best of the group's rows at each value.

    Args:
        place_of: returns the place of a row along the axis; None for a row that is left out.
        picks: whether a point is the best of several rows.
    """
    series = []
    for name, rows in groups.items():
        at = grouped(rows, place_of)
        best = {place: representative(at.get(place, [])) for place, _ in axis.ticks}
        points = [rate_point(place, row) for place, row in best.items() if row is not None]
        series.append(Series(name, tuple(points)))
    unit = next(row.unit for rows in groups.values() for row in rows)
    note = "Each point is the fastest row of its line at that value." if picks else ""
    return LineChart(title, axis, Axis(unit), tuple(series), note)


def _has_point(row: ResultRow) -> bool:
    return row.is_timed and row.rate is not None


def _remarks(row: ResultRow) -> list[str]:
    mark = EXECUTION_MARKS.get(row.result.execution)
    found = [mark.word] if mark else []
    if row.result.status == "dropped":
        return [*found, "dropped early"]
    return found if row.result.verdict.correct else [*found, "not verified"]


def _texts(row: ResultRow) -> list[str]:
    """Return the texts that are shown and spoken for a point: variant and size, rate, time and remarks."""
    return [
        f"{row.variant} at {row.problem.size}",
        f"{significant(row.rate)} {row.unit}",
        f"{significant(row.median_ms)} ms",
        *_remarks(row),
    ]


def _logarithmic(values: Sequence[float]) -> list[tuple[float, str]]:
    """Return the ticks of a logarithmic axis around the values."""
    low, high = min(values) / MARGIN, min(max(values) * MARGIN, sys.float_info.max)
    return ticks(Axis("", "log10"), low, high, MOST_TICKS)
