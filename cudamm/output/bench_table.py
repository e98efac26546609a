"""The tables of `bench`: a block a method, a row a parameter value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.bar import Bar
from rich.console import Console, RenderableType
from rich.table import Table

from cudamm.output.console import print_fitting
from cudamm.output.exact_table import print_kernels, print_legend
from cudamm.output.failed_rows import print_marks, print_shortened, print_troubles
from cudamm.output.number_format import percent, ratio, significant
from cudamm.output.results_view import ProblemRows, ResultRow, ResultsView
from cudamm.output.variant_table import Column, Parameters, problem_title, variant_table

MOST_RUNS = 10
"""Maximum number of samples shown one by one. For more samples, their number and noise are shown."""


@dataclass(frozen=True)
class _Layout:
    """The contents of a table at some width. Each layout shows less than the one before.

    Attributes:
        bar: width of the bars beside the rates, in columns; 0 for none.
    """

    parameters: Parameters = "all"
    runs: bool = False
    all_times: bool = True
    bar: int = 0
    intervals: bool = True
    noise: bool = True
    speed_up: bool = True
    ceiling: bool = True
    short: bool = False


_LAYOUTS = (
    _Layout(runs=True, bar=24),
    _Layout(runs=True),
    _Layout(bar=24),
    _Layout(bar=12),
    _Layout(bar=12, all_times=False),
    _Layout(parameters="those that vary", bar=12),
    _Layout(parameters="those that vary", bar=12, all_times=False),
    _Layout(parameters="those that vary", bar=8, all_times=False, intervals=False, short=True),
    _Layout(parameters="those that vary", all_times=False, intervals=False, short=True),
    _Layout("those that vary", all_times=False, intervals=False, ceiling=False, short=True),
    _Layout("those that vary", all_times=False, intervals=False, noise=False, ceiling=False, short=True),
    _Layout("one a line", all_times=False, intervals=False, noise=False, ceiling=False, short=True),
    _Layout(
        "one a line", all_times=False, intervals=False, noise=False, speed_up=False, ceiling=False, short=True
    ),
)


def render(console: Console, view: ResultsView, verbose: bool = False) -> None:
    """Print the tables of each problem, then what failed and why, then what the marks mean.

    Kernels that ran without a GPU have a table of their own, without rates.

    Args:
        verbose: add each row's share of the device's FMA ceiling, if that is known; beside cuBLAS it is added
            in any case.
    """
    shown = view.shortened()
    for problem in shown.problems:
        if problem.kernels_without_gpu:
            print_kernels(console, problem.label, problem.kernels_without_gpu)
        if problem.timed_where_they_run:
            print_fitting(console, _tables(console, shown, problem, verbose))
    print_troubles(console, shown.troubles)
    print_shortened(console, shown, view)
    print_marks(console, view.marks)
    print_legend(console, view.rows)


def timed_title(view: ResultsView, problem: ProblemRows) -> str:
    """Return the title of a table of times: the problem, the device, and the state of the cache."""
    cache = f"L2 {problem.caches}" if problem.caches else ""
    return problem_title(problem.label, f"on {view.device}", cache)


def _tables(console: Console, view: ResultsView, problem: ProblemRows, verbose: bool) -> Iterator[Table]:
    rows = problem.timed_where_they_run
    for layout in _LAYOUTS:
        if layout.bar == 0 or console.is_terminal:
            columns = _columns(problem, layout, verbose)
            title = timed_title(view, problem)
            yield variant_table(title, rows, columns, layout.parameters, short=layout.short)


def _columns(problem: ProblemRows, layout: _Layout, verbose: bool) -> list[Column]:
    rows = problem.timed_where_they_run
    timings = [row.result.timing for row in rows]
    as_runs = all(t.ended_by in ("runs", "") and len(t.samples_ms) <= MOST_RUNS for t in timings)
    baseline = problem.baseline
    over = f"over {baseline.result.method}" if baseline else "speed-up"
    has_ceiling = problem.has_ceiling and (verbose or problem.has_cublas)
    columns = {
        _RUNS: as_runs and layout.runs,
        _SAMPLES: not as_runs and layout.all_times,
        _MEAN: as_runs and layout.all_times,
        _MEDIAN: True,
        _MIN: layout.all_times,
        _NOISE: not as_runs and layout.noise,
        Column(problem.unit, problem.unit, lambda row: significant(row.rate)): True,
        _bars(problem.highest_rate, layout.bar): layout.bar > 0,
        _over(over, layout.intervals): layout.speed_up,
        _OF_CUBLAS: problem.has_cublas,
        _OF_CEILING: has_ceiling and layout.ceiling,
        _RESULT: True,
    }
    return [column for column, is_shown in columns.items() if is_shown]


def _bars(highest: float, width: int) -> Column:
    """Return the column of bars as wide as the rates."""

    def bar(row: ResultRow) -> RenderableType:
        return Bar(highest, 0, row.rate, width=width) if row.is_timed and row.rate else ""

    return Column("", "", bar, is_left=True)


def _over(heading: str, intervals: bool) -> Column:
    """Return the column of speed-ups."""
    short = heading.replace(" ", "\n")
    return Column(heading, short, lambda row: ratio(row.speed_up, with_interval=intervals))


def _of_times(row: ResultRow, name: str) -> str:
    return significant(getattr(row.result.statistics, name, None))


_RUNS = Column("runs (ms)", "", lambda row: " ".join(map(significant, row.result.timing.samples_ms)))
_SAMPLES = Column(
    "samples", "samples",
    lambda row: f"{row.result.statistics.count}{row.signs('samples')}" if row.result.statistics else "",
)  # fmt: skip
_MEAN = Column("mean (ms)", "mean\n(ms)", lambda row: _of_times(row, "mean_ms"))
_MEDIAN = Column(
    "median (ms)", "median\n(ms)",
    lambda row: _of_times(row, "median_ms") + (row.signs("median") if row.result.statistics else ""),
)  # fmt: skip
_MIN = Column("min (ms)", "min\n(ms)", lambda row: _of_times(row, "min_ms"))
_NOISE = Column("noise", "noise", lambda row: percent(row.noise))
_OF_CUBLAS = Column("of cuBLAS", "of\ncuBLAS", lambda row: percent(row.share_of_cublas))
_OF_CEILING = Column(
    "of FMA ceiling", "of FMA\nceiling", lambda row: percent(row.result.share_of_fma_ceiling)
)
_RESULT = Column("result", "result", lambda row: row.outcome + row.signs("result"), is_left=True)
