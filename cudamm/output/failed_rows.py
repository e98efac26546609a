"""The lines below a table in the terminal: what failed and why, and what the marks mean."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from cudamm.output.result_marks import Mark
    from cudamm.output.results_view import ProblemLabel, ResultsView, Trouble

MOST_TROUBLES = 5
"""Maximum number of lines about one variant, and of problem names in a line."""


CHECK_HINT = "To see the line and the threads of a mistake, run cudamm check with the same kernel and sizes."

_PLACE = re.compile(r":\d+\)|\bline \d")
"""A line in a reason."""


def print_troubles(console: Console, troubles: Sequence[Trouble]) -> None:
    """Print what failed or was skipped, on which problems and why; at most MOST_TROUBLES lines a variant."""
    for (variants, status), group in itertools.groupby(troubles, key=lambda t: (t.variants, t.status)):
        several = list(group)
        for trouble in several[:MOST_TROUBLES]:
            at = "" if trouble.is_of_host_code else f" at {_names(trouble.problems)}"
            print_failed(console, status, f"{variants}{at}", trouble.reason)
        if len(several) > MOST_TROUBLES:
            left = len(several) - MOST_TROUBLES
            console.print(f"… and {left} more of {escape(variants)}; --json FILE writes all of them")
    checked = [trouble.reason for trouble in troubles if trouble.can_be_checked]
    if checked and not any(map(_PLACE.search, checked)):
        console.print(CHECK_HINT, style="dim", soft_wrap=True)


def print_shortened(console: Console, shown: ResultsView, view: ResultsView) -> None:
    """Print which rows of a view the tables show, if they show a shortened view."""
    problems = f"{len(shown.problems)} of {len(view.problems)} problems"
    each = "each problem" if len(shown.problems) == len(view.problems) else f"each of {problems}"
    which = f"of {each} the fastest rows, the baseline and cuBLAS"
    print_left_out(console, len(shown.rows), len(view.rows), which)


def print_left_out(console: Console, shown: int, count: int, which: str) -> None:
    """Print which rows the tables show and which file has all rows, unless the tables show all."""
    if shown < count:
        line = f"The tables show {shown} of {count} rows: {which}. --csv FILE writes all rows."
        console.print(line, soft_wrap=True)


def print_failed(console: Console, status: str, what: str, reason: str) -> None:
    """Print `failed tiled BLOCK_SIZE=64: 4096 threads per block`."""
    text = f"{what}: {reason}" if reason else what
    console.print(f"[bold red]{status}[/] {escape(text)}", soft_wrap=True)


def print_marks(console: Console, marks: Iterable[Mark]) -> None:
    """Print what the marks mean, a line each."""
    for mark in marks:
        console.print(escape(mark.text), style="dim")


def _names(problems: Sequence[ProblemLabel]) -> str:
    """Return the names of the first problems, and the number of others."""
    names = ", ".join(f"{problem.shape} {problem.dtype}" for problem in problems[:MOST_TROUBLES])
    left = len(problems) - MOST_TROUBLES
    return names + (f" and {left} more" if left > 0 else "")
