"""`bench --style report`: a block a configuration, run by run, as a course report prints it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from cudamm.benchmark.result import Result
from cudamm.output.failed_rows import print_marks
from cudamm.output.result_marks import BEST, BEST_OF_SWEEP, execution_sign
from cudamm.output.results_view import VERIFIED, ResultRow, ResultsView


def render(console: Console, view: ResultsView) -> None:
    """Print each configuration's runs and mean, whether it was right, and what each sweep shows."""
    for problem in view.problems:
        label = problem.label
        title = f"{label.spaced} (M x N x K), {label.elements}, on {escape(view.device)}"
        console.print(title, style="bold")
        console.print()
        for _, rows in itertools.groupby(problem.rows, key=lambda row: row.label):
            _print_method(console, list(rows))
    print_marks(console, (mark for mark in view.marks if mark not in (BEST, BEST_OF_SWEEP)))


def _print_method(console: Console, rows: Sequence[ResultRow]) -> None:
    for row in rows:
        title = " ".join((row.label, row.parameters.replace("=", " = "))).strip()
        padded = " (padded)" if row.result.padded else ""
        console.print(escape(title) + padded + execution_sign(row.result.execution))
        if row.result.timing.samples_ms:
            console.print(runs_line(row.result), soft_wrap=True)
        words = ": ".join(filter(None, (outcome_in_words(row), row.result.reason)))
        console.print(escape(words), soft_wrap=True)
        console.print()
    right = [row for row in rows if row.is_right]
    if len(right) > 1:
        best, worst = min(right, key=_mean_ms), max(right, key=_mean_ms)
        console.print(
            f"The fastest of {len(right)} is {escape(best.parameters)} with {_mean_ms(best):.6f} ms, "
            f"{_mean_ms(worst) / _mean_ms(best):.1f} times as fast as {escape(worst.parameters)}.",
            soft_wrap=True,
        )
        console.print()


def _mean_ms(row: ResultRow) -> float:
    """Return the mean of a row's samples, with which its line of runs ends."""
    return row.result.statistics.mean_ms if row.result.statistics else 0.0


def outcome_in_words(row: ResultRow) -> str:
    """Return `Success!`, as the course prints it, or the row's outcome if it was not verified."""
    return "Success!" if row.outcome == VERIFIED else row.outcome


def runs_line(result: Result) -> str:
    """Return each run and their mean: `(ms) (1.000000 + 2.000000) / 2 = 1.500000`; empty without runs."""
    of = result.statistics
    runs = " + ".join(f"{run:.6f}" for run in result.timing.samples_ms)
    return f"(ms) ({runs}) / {of.count} = {of.mean_ms:.6f}" if of else ""
