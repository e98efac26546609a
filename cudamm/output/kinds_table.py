"""The table of `bench` on several kinds of GPUs: the rate of each variant on each kind."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.output.number_format import significant
from cudamm.output.results_view import ResultRow, ResultsView
from cudamm.output.variant_table import problem_title


def render(console: Console, views: Sequence[ResultsView]) -> None:
    """Print a table a problem. The best of each kind is marked; kinds are not ranked.

    Args:
        views: the results of each kind.
    """
    for label in dict.fromkeys(problem.label for view in views for problem in view.problems):
        rows: dict[str, dict[str, ResultRow]] = {}
        unit = ""
        for view in views:
            for problem in view.problems:
                if problem.label == label:
                    unit = problem.unit
                    for row in problem.timed_where_they_run:
                        rows.setdefault(row.variant, {})[view.device] = row
        if not rows:
            continue
        title = problem_title(label, f"{unit} by GPU")
        table = Table(title=escape(title), title_justify="left", title_style="bold", expand=False)
        table.add_column("method")
        for view in views:
            table.add_column(escape(view.device), justify="right")
        for variant, of_kinds in rows.items():
            table.add_row(escape(variant), *(_cell(of_kinds.get(view.device)) for view in views))
        console.print(table)


def _cell(row: ResultRow | None) -> str:
    """Return a rate, with a word if it is the best of its kind, or why there is none."""
    if row is None:
        return ""
    if row.result.status == "failed" or row.rate is None:
        return row.result.status
    return f"{significant(row.rate)}{' best' if row.is_best else ''}"
