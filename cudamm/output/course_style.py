"""`bench --style report`: a block a configuration, run by run, as a course report prints it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from cudamm.benchmark.result import Result
from cudamm.output.failed_rows import print_marks
from cudamm.output.result_marks import BEST_OF_SWEEP
from cudamm.output.results_view import ResultRow, ResultsView


def render(console: Console, view: ResultsView) -> None:
    """Print each configuration's runs and mean, whether it was right, and what each sweep shows."""
    for problem in view.problems:
        label = problem.label
        title = f"{label.spaced} (M x N x K), {label.dtype}, on {escape(view.device)}"
        console.print(title, style="bold")
        console.print()
        for _, rows in itertools.groupby(problem.rows, key=lambda row: row.label):
            _print_method(console, list(rows))
    print_marks(console, (mark for mark in view.marks if mark is not BEST_OF_SWEEP))


def _print_method(console: Console, rows: Sequence[ResultRow]) -> None:
    for row in rows:
        title = " ".join((row.label, row.parameters.replace("=", " = "))).strip()
        console.print(escape(title) + (" (padded)" if row.result.padded else ""))
        if row.result.timing.samples_ms:
            console.print(runs_line(row.result), soft_wrap=True)
        console.print(escape(": ".join(filter(None, (row.outcome, row.result.reason)))), soft_wrap=True)
        console.print()
    best = next((row for row in rows if row.is_best_of_sweep), None)
    timed = [row for row in rows if row.median_ms and row.result.status == "ok"]
    if best is not None and len(timed) > 1:
        worst = max(timed, key=lambda row: row.median_ms)
        console.print(
            f"Best of {len(timed)}: {escape(best.parameters)}, {best.median_ms:.6f} ms, "
            f"{worst.median_ms / best.median_ms:.1f} times as fast as {escape(worst.parameters)}.",
            soft_wrap=True,
        )
        console.print()


def runs_line(result: Result) -> str:
    """Return each run and their mean: `(ms) (1.000000 + 2.000000) / 2 = 1.500000`; empty without runs."""
    of = result.statistics
    runs = " + ".join(f"{run:.6f}" for run in result.timing.samples_ms)
    return f"(ms) ({runs}) / {of.count} = {of.mean_ms:.6f}" if of else ""
