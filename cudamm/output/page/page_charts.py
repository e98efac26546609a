"""What the charts show: rates and times against a parameter of a sweep, and against the size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cudamm.benchmark.result import Result
from cudamm.kernels.method import Value
from cudamm.output.bench_table import rate_unit
from cudamm.output.console import milliseconds, significant
from cudamm.output.page.page_rows import Problem, by_method, by_problem, is_timed, name_of, rate

MOST_SERIES = 8
"""Lines of a sweep's chart; where there would be more, one shows the best at each value."""


@dataclass(frozen=True)
class Series:
    """One line of a chart: a row for each of the chart's values, or None where there is no time."""

    name: str
    rows: Sequence[Result | None]


@dataclass(frozen=True)
class Chart:
    """Lines over the same values.

    Attributes:
        label: what the values are of.
        values: as they are shown.
        sizes: the values as numbers, where they lie on a scale; None where they stand side by side.
        picks: whether a point is the best of several rows.
    """

    title: str
    label: str
    values: Sequence[str]
    sizes: Sequence[int] | None
    series: Sequence[Series]
    unit: str
    picks: bool = False

    def record(self) -> dict[str, Any]:
        """As the page's script reads it."""
        return {
            "label": self.label,
            "values": list(self.values),
            "sizes": None if self.sizes is None else list(self.sizes),
            "unit": self.unit,
            "series": [
                {
                    "name": series.name,
                    "rate": [None if row is None else rate(row) for row in series.rows],
                    "ms": [None if row is None else row.median_ms for row in series.rows],
                    "texts": [None if row is None else self.texts(row) for row in series.rows],
                }
                for series in self.series
            ],
        }

    def texts(self, row: Result) -> list[str]:
        """What is said of a point: whose it is, rate and time, and remarks."""
        found = rate(row)
        problem = Problem(row.m, row.n, row.k, row.dtype, row.fmad)
        said = [f"{name_of(row)} at {problem.size}"]
        if found is not None:
            said.append(f"{significant(found)} {self.unit}")
        return [*said, f"{milliseconds(row.median_ms)} ms", *remarks(row)]


def remarks(row: Result) -> list[str]:
    """What has to be known of a row's time, in a word each."""
    found = {"emulated": ["emulated"], "native": ["host"]}.get(row.execution, [])
    if row.status == "dropped":
        return [*found, "dropped early"]
    return found if row.verdict.correct else [*found, "not verified"]


def against_parameters(results: Sequence[Result]) -> list[Chart]:
    """A chart for each method, problem and parameter that has several values there.

    Of two such parameters the other one's values are the lines; of more, or of too many lines, the best row
    at each value is the only one.
    """
    return [
        chart
        for problem, of_problem in by_problem(results).items()
        for method, rows in by_method(of_problem).items()
        for chart in _of_sweep(method, problem, [row for row in rows if _has_point(row)])
    ]


def _of_sweep(method: str, problem: Problem, rows: Sequence[Result]) -> Iterable[Chart]:
    names = dict.fromkeys(name for row in rows for name in row.params)
    values = {name: _sorted(row.params[name] for row in rows if name in row.params) for name in names}
    swept = [name for name in names if len(values[name]) > 1]
    for name in swept:
        others = [other for other in swept if other != name]
        lines = values[others[0]] if len(others) == 1 else []
        if 0 < len(lines) <= MOST_SERIES:
            other = others[0]
            series = [
                Series(
                    f"{other} = {line}",
                    _best_each(
                        values[name], [r for r in rows if r.params.get(other) == line], _parameter(name)
                    ),
                )
                for line in lines
            ]
        else:
            called = f"best of every {', '.join(others)}" if others else method
            series = [Series(called, _best_each(values[name], rows, _parameter(name)))]
        yield Chart(
            title=f"{method} against {name}, {problem}",
            label=name,
            values=[str(value) for value in values[name]],
            sizes=None,
            series=series,
            unit=rate_unit(rows[0]),
            picks=bool(others) and not 0 < len(lines) <= MOST_SERIES,
        )


def against_size(results: Sequence[Result]) -> list[Chart]:
    """A chart for each element type that has several sizes: a line a method, its best row at each size."""
    kinds: dict[str, list[Result]] = {}
    for problem, of_problem in by_problem(results).items():
        kinds.setdefault(problem.kind, []).extend(row for row in of_problem if _has_point(row))
    charts = []
    for kind, rows in kinds.items():
        problems = sorted(by_problem(rows), key=lambda p: (p.m * p.n * p.k, p))
        if len(problems) < 2:
            continue
        are_square = all(problem.is_square for problem in problems)
        methods = by_method(rows)
        several = any(len(by_problem(group)) < len(group) for group in methods.values())
        charts.append(
            Chart(
                title=f"Against the size, {kind}",
                label="M = N = K" if are_square else "M × N × K",
                values=[problem.size for problem in problems],
                sizes=[problem.m for problem in problems] if are_square else None,
                series=[
                    Series(method, _best_each([p[:3] for p in problems], group, lambda r: (r.m, r.n, r.k)))
                    for method, group in methods.items()
                ],
                unit=rate_unit(rows[0]),
                picks=several,
            )
        )
    return charts


def _has_point(row: Result) -> bool:
    return is_timed(row) and rate(row) is not None


def _parameter(name: str) -> Callable[[Result], Any]:
    return lambda row: row.params.get(name)


def _best_each(
    values: Sequence[Any], rows: Sequence[Result], value_of: Callable[[Result], Any]
) -> list[Result | None]:
    """The fastest row at each value; one that was not dropped, or found wrong, comes first."""

    def order(row: Result) -> tuple[bool, float]:
        return row.status != "ok", row.median_ms or math.inf

    return [min((r for r in rows if value_of(r) == value), key=order, default=None) for value in values]


def _sorted(values: Iterable[Value]) -> list[Value]:
    """Numbers by size, then words."""
    return sorted(
        dict.fromkeys(values), key=lambda v: (isinstance(v, str), v if isinstance(v, int) else 0, str(v))
    )


def points(chart: Chart) -> Iterable[tuple[str, str, Result]]:
    """What a table of the chart shows: the line's name, the value, and the row."""
    for series in chart.series:
        for value, row in zip(chart.values, series.rows, strict=True):
            if row is not None:
                yield series.name, value, row


def described(chart: Chart) -> str:
    """The chart in a sentence, for those who do not see it."""
    rows = [row for _, _, row in points(chart)]
    fastest = min(rows, key=lambda row: row.median_ms or math.inf)
    best = rate(fastest)
    lines = f"{len(chart.series)} lines" if len(chart.series) > 1 else "one line"
    return (
        f"{chart.title}: {lines} over {len(chart.values)} values of {chart.label}; the shortest time is "
        f"{milliseconds(fastest.median_ms)} ms"
        + (f", {significant(best)} {chart.unit}," if best is not None else "")
        + f" of {name_of(fastest)}"
    )
