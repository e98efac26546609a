"""The table of `sweep`: the variants of a problem, fastest first."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.output.bench_table import problem_table
from cudamm.output.failed_rows import print_marks, print_troubles
from cudamm.output.number_format import percent, ratio, significant
from cudamm.output.result_marks import BEST_OF_SWEEP
from cudamm.output.results_view import ProblemRows, ResultsView


def render(console: Console, view: ResultsView, top: int | None) -> None:
    """Print a table a problem, the best marked, then what failed and why, then notes.

    Args:
        top: the number of rows to show of each problem; None: all.
    """
    for problem in view.problems:
        console.print(_table(view, problem, top))
    print_troubles(console, view.troubles)
    print_marks(console, (mark for mark in view.marks if mark is not BEST_OF_SWEEP))


def _table(view: ResultsView, problem: ProblemRows, top: int | None) -> Table:
    table = problem_table(view, problem)
    for name in ("method", "parameters"):
        table.add_column(name, no_wrap=True)
    for name in ("samples", "median (ms)", "noise", problem.unit, "slower than the best"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    timed = problem.fastest_first
    shown = timed[:top] if top else timed
    for row in shown:
        status = row.result.status
        table.add_row(
            escape(row.label),
            escape(row.parameters),
            str(len(row.result.timing.samples_ms)),
            significant(row.median_ms),
            percent(row.noise),
            significant(row.rate or 0.0),
            ratio(row.slowdown),
            "best" if row.is_best else status if status != "ok" else "",
            style="bold green" if row.is_best else "dim" if status == "dropped" else "",
        )
    ended = Counter(row.result.status for row in problem.rows)
    counts = {
        "slower, not shown": len(timed) - len(shown),
        "failed": ended["failed"],
        "skipped": ended["skipped"],
    }
    table.caption = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    table.caption_justify = "left"
    return table
