"""A table with a row per variant, which adapts to the width of the terminal."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from cudamm.benchmark.result import Result
from cudamm.kernels.method import Value
from cudamm.output.number_format import folded, parameters
from cudamm.output.results_view import ProblemLabel, ResultRow


@dataclass(frozen=True)
class Column:
    """A column of numbers or words beside the variants.

    Attributes:
        heading: the heading if there is room.
        short: the heading if there is less room; it may contain line breaks.
        cell: returns a row's cell.
        is_left: whether its cells are aligned to the left.
    """

    heading: str
    short: str
    cell: Callable[[ResultRow], RenderableType]
    is_left: bool = False


Parameters = Literal["all", "those that vary", "one a line"]
"""Parameters to show: all, or those that vary among a method's variants, in one line or several."""


def variant_table(
    title: str, rows: Sequence[ResultRow], columns: Sequence[Column], shown: Parameters, *, short: bool
) -> Table:
    """Return the table: method, parameters, and the columns.

    Args:
        shown: which parameters to show.
        short: whether headings and marks are short.
    """
    table = Table(title=escape(title), title_justify="left", title_style="bold", expand=False)
    params = shown_parameters([row.result for row in rows], shown)
    has_parameters = any(params)
    for name in ["method"] + ["parameters"] * has_parameters:
        table.add_column(name, no_wrap=True)
    for column in columns:
        table.add_column(
            column.short if short else column.heading,
            justify="left" if column.is_left else "right",
            no_wrap=True,
        )
    several = len({row.label for row in rows}) < len(rows)
    for _, group in itertools.groupby(zip(rows, params, strict=True), key=lambda pair: pair[0].label):
        for i, (row, text) in enumerate(group):
            names = [escape(row.label) + row.signs("method") if i == 0 else "", escape(text)]
            cells = [column.cell(row) for column in columns]
            table.add_row(*names[: 1 + has_parameters], *cells, style=_style(row))
        if several:
            table.add_section()
    return table


def problem_title(label: ProblemLabel, *more: str) -> str:
    """Return the title of a problem's table."""
    return ", ".join((f"{label.spaced} (M x N x K), {label.kind}", *filter(None, more)))


def shown_parameters(results: Sequence[Result], shown: Parameters) -> list[str]:
    """Return the parameters of each result in the form that is shown; empty if none are."""
    values: dict[tuple[str, str], set[Value]] = {}
    for result in results:
        for name, value in result.params.items():
            values.setdefault((result.label, name), set()).add(value)
    found = []
    for result in results:
        varied = {name: v for name, v in result.params.items() if len(values[result.label, name]) > 1}
        params = result.params if shown == "all" else varied
        found.append(folded(params) if shown == "one a line" else parameters(params))
    return found


def _style(row: ResultRow) -> str:
    if row.result.status == "failed":
        return "red"
    if row.result.status == "dropped":
        return "dim"
    return "bold green" if row.is_marked_best else "green" if row.is_best_of_sweep else ""
