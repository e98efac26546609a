"""The table of `sweep`: the variants of a problem, fastest first."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table

from cudamm.output.bench_table import timed_title
from cudamm.output.console import print_fitting
from cudamm.output.exact_table import print_kernels, print_legend
from cudamm.output.failed_rows import print_marks, print_shortened, print_troubles
from cudamm.output.number_format import percent, ratio, significant
from cudamm.output.result_marks import BEST, BEST_OF_SWEEP
from cudamm.output.results_view import ProblemRows, ResultRow, ResultsView
from cudamm.output.variant_table import Column, Parameters, variant_table


def render(console: Console, view: ResultsView, top: int | None) -> None:
    """Print a table a problem, the best marked, then what failed and why, then notes.

    Args:
        top: the number of rows to show of each problem; None: all.
    """
    shown = view.shortened()
    for problem, whole in zip(shown.problems, view.problems, strict=False):
        if problem.kernels_without_gpu:
            print_kernels(console, problem.label, problem.kernels_without_gpu)
            if top is not None:
                console.print("All rows are shown: --top needs times, and these kernels ran without a GPU.")
        if problem.timed_where_they_run:
            print_fitting(console, (_table(shown, problem, whole, top, detail) for detail in (3, 2, 1, 0)))
    print_troubles(console, shown.troubles)
    print_shortened(console, shown, view)
    print_marks(console, (mark for mark in view.marks if mark not in (BEST, BEST_OF_SWEEP)))
    print_legend(console, view.rows)


def _table(
    view: ResultsView, problem: ProblemRows, whole: ProblemRows, top: int | None, detail: int
) -> Table:
    """Return the table.

    Args:
        problem: the rows to show.
        whole: all rows of the problem, which the caption counts.
        detail: 3 for everything; 2 without parameters that do not vary; 1 with short headings, and without
            samples and intervals; 0 with a parameter a line, and without noise.
    """
    columns = {
        Column("samples", "", lambda row: str(len(row.result.timing.samples_ms))): detail > 1,
        Column("median (ms)", "median\n(ms)", lambda row: significant(row.median_ms)): True,
        Column("noise", "noise", lambda row: percent(row.noise)): detail > 0,
        Column(problem.unit, problem.unit, lambda row: significant(row.rate)): True,
        Column(
            "slower than the best", "slower than\nthe best",
            lambda row: ratio(row.slowdown, with_interval=detail > 1),
        ): True,
        Column("GPU", "GPU", lambda row: row.result.device): problem.has_several_gpus,
        Column("", "", _outcome, is_left=True): True,
    }  # fmt: skip
    parameters: Parameters = ("one a line", "those that vary", "those that vary", "all")[detail]
    timed, timed_in_all = (
        [row for row in of.fastest_first if not row.is_emulated] for of in (problem, whole)
    )
    shown = timed[:top] if top else timed
    table = variant_table(
        timed_title(view, problem), shown, [c for c, is_shown in columns.items() if is_shown], parameters,
        short=detail < 2,
    )  # fmt: skip
    ended = Counter(row.result.status for row in whole.timed_where_they_run)
    counts = {
        "slower (not shown)": len(timed_in_all) - len(shown),
        "failed": ended["failed"],
        "skipped": ended["skipped"],
    }
    table.caption = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    table.caption_justify = "left"
    return table


def _outcome(row: ResultRow) -> str:
    """Return `best` or `finalist`, or what ended the row other than a complete measurement."""
    if row.is_best:
        return "best"
    if row.result.status != "ok":
        return row.result.status
    return "finalist" if row.result.is_final else ""
