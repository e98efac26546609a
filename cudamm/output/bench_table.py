"""The table of `bench`: a block a method, a row a parameter value."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.output.console import print_fitting
from cudamm.output.failed_rows import print_marks, print_troubles
from cudamm.output.number_format import folded, percent, ratio, significant
from cudamm.output.results_view import ProblemRows, ResultRow, ResultsView

MOST_RUNS = 10
"""Samples that are shown one by one; of more, their number and noise are."""
_METHOD, _PARAMETERS, _RESULT = "method", "parameters", "result"
_RUNS, _MEAN, _MEDIAN, _MIN = "runs (ms)", "mean (ms)", "median (ms)", "min (ms)"
_SAMPLES, _NOISE = "samples", "noise"
_SPEED_UP, _OF_CUBLAS, _OF_FMA_CEILING = "speed-up", "of cuBLAS", "of FMA ceiling"
_ONE_LINE = "all in one line"
_LEFT_OUT_IN_NARROW_TERMINALS = (
    (),
    (_RUNS,),
    (_RUNS, _MEAN, _MIN, _SAMPLES),
    (_RUNS, _MEAN, _MIN, _SAMPLES, _ONE_LINE),
    (_RUNS, _MEAN, _MIN, _SAMPLES, _NOISE, _ONE_LINE, _SPEED_UP),
    (_RUNS, _MEAN, _MIN, _SAMPLES, _NOISE, _ONE_LINE, _SPEED_UP, _OF_FMA_CEILING),
)


def render(console: Console, view: ResultsView, verbose: bool = False) -> None:
    """Print a table a problem, then what failed and why, then what the marks mean.

    Args:
        verbose: add each row's share of the device's FMA ceiling, if that is known; beside cuBLAS it is added
            in any case.
    """
    for problem in view.problems:
        tables = (_table(view, problem, left, verbose) for left in _LEFT_OUT_IN_NARROW_TERMINALS)
        print_fitting(console, tables)
    print_troubles(console, view.troubles)
    print_marks(console, view.marks)


def problem_table(view: ResultsView, problem: ProblemRows) -> Table:
    """Return an empty table, titled by the problem, the device and the state of the cache."""
    cache = f", L2 {problem.caches}" if problem.caches else ""
    label = problem.label
    title = f"{label.spaced} (M x N x K), {label.kind}, on {view.device}{cache}"
    return Table(title=escape(title), title_justify="left", title_style="bold", expand=False)


def _table(view: ResultsView, problem: ProblemRows, left_out: Sequence[str], verbose: bool) -> Table:
    table = problem_table(view, problem)
    space = "\n" if _ONE_LINE in left_out else " "
    columns = [name for name in _columns(problem, verbose) if name not in left_out]
    for name in columns:
        table.add_column(
            name.replace(" ", space, 1),
            justify="left" if name in (_METHOD, _PARAMETERS, _RESULT) else "right",
            no_wrap=name != _RUNS,
            max_width=60 if name == _RUNS else None,
        )
    several = len({row.label for row in problem.rows}) < len(problem.rows)
    for _, group in itertools.groupby(problem.rows, key=lambda row: row.label):
        for i, row in enumerate(group):
            cells = _cells(row, space) | ({} if i == 0 else {_METHOD: ""})
            style = "red" if row.result.status == "failed" else "bold green" if row.is_best_of_sweep else ""
            table.add_row(*(cells[name] for name in columns), style=style)
        if several:
            table.add_section()
    return table


def _columns(problem: ProblemRows, verbose: bool) -> list[str]:
    timings = [row.result.timing for row in problem.rows]
    as_runs = all(t.ended_by in ("runs", "") and len(t.samples_ms) <= MOST_RUNS for t in timings)
    times = (_RUNS, _MEAN, _MEDIAN, _MIN) if as_runs else (_SAMPLES, _MEDIAN, _MIN, _NOISE)
    of_cublas = [_OF_CUBLAS] * problem.has_cublas
    of_ceiling = [_OF_FMA_CEILING] * (problem.has_ceiling and (verbose or problem.has_cublas))
    return [_METHOD, _PARAMETERS, *times, problem.unit, _SPEED_UP, *of_cublas, *of_ceiling, _RESULT]


def _cells(row: ResultRow, space: str) -> dict[str, str]:
    """A row's cells, by column."""
    result, of = row.result, row.result.statistics
    times = {} if of is None else {
        _SAMPLES: f"{of.count}{row.signs('samples')}",
        _RUNS: " ".join(map(significant, result.timing.samples_ms)),
        _MEAN: significant(of.mean_ms),
        _MEDIAN: significant(of.median_ms) + row.signs("median"),
        _MIN: significant(of.min_ms),
    }  # fmt: skip
    padded = ", padded" if result.padded else ""
    return dict.fromkeys((_SAMPLES, _RUNS, _MEAN, _MEDIAN, _MIN), "") | times | {
        _METHOD: escape(row.label) + row.signs("method"),
        _PARAMETERS: escape(folded(result.params) if space == "\n" else row.parameters),
        _NOISE: percent(row.noise),
        row.unit: significant(row.rate),
        _SPEED_UP: ratio(row.speed_up, "x"),
        _OF_CUBLAS: percent(row.share_of_cublas),
        _OF_FMA_CEILING: percent(result.share_of_fma_ceiling),
        _RESULT: f"{row.outcome}{padded}{row.signs('result')}".replace(" ", space),
    }  # fmt: skip
