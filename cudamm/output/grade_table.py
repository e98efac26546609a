"""A grade on the terminal: a row for each test, what each test found, and the points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cudamm.grading.assignment import shown
from cudamm.grading.grade import Grade, Graded
from cudamm.grading.student_view import shortened
from cudamm.output.check_text import capitalised
from cudamm.output.document import device_record

_STYLES = {"passed": "green", "partly": "yellow", "failed": "bold red", "not run": "dim"}


def render(console: Console, grades: Sequence[Grade]) -> None:
    """Print a table for each grade, then what the tests that are not passed found."""
    for grade in grades:
        if grade.refused:
            first, *others = shortened(grade.refused).splitlines()
            console.print(f"[bold red]not graded[/]: {escape(first)}", soft_wrap=True)
            for line in others:
                console.print(Text(f"  {line}"), soft_wrap=True)
        else:
            console.print(_table(grade))
            _print_details(console, grade)
        for remark in grade.remarks:
            console.print(escape(capitalised(remark)), style="dim", soft_wrap=True)
        kind = "public points" if grade.is_public else "points"
        console.print(
            f"[bold]{shown(grade.score)} of {shown(grade.points)} {kind}[/] for {escape(grade.submission)}",
            soft_wrap=True,
        )


def _table(grade: Grade) -> Table:
    table = Table(title=escape(grade.assignment.title), title_justify="left")
    table.add_column("test")
    table.add_column("points", justify="right")
    table.add_column("result")
    if not grade.is_public:
        table.add_column("students see")
    for graded in grade.graded:
        test = graded.test
        points = f"{shown(graded.score)} of {shown(test.points)}{' extra' if test.is_bonus else ''}"
        result = f"[{_STYLES[graded.status]}]{graded.status}[/]"
        seen = () if grade.is_public else (_SEEN[test.visibility],)
        table.add_row(escape(test.name), points, result, *seen)
    return table


_SEEN = {
    "public": "everything",
    "hidden": "the result",
    "secret": "nothing",
    "after-due-date": "after the due date",
}


def _print_details(console: Console, grade: Grade) -> None:
    for graded in grade.graded:
        if graded.status in ("failed", "partly") or (graded.was_run and graded.outcome.value is not None):
            style = _STYLES[graded.status]
            console.print(f"[{style}]{graded.status}[/] {escape(graded.test.name)}:", soft_wrap=True)
            for line in shortened(graded.outcome.detail).splitlines():
                console.print(Text(f"  {line}"), soft_wrap=True)


def records(grade: Grade) -> list[dict[str, Any]]:
    """Return the rows of a `cudamm.grade/1` file, one for each test."""
    return [_record(graded) for graded in grade.graded]


def _record(graded: Graded) -> dict[str, Any]:
    test = graded.test
    return {
        "name": test.name,
        "kind": test.kind,
        "status": graded.status,
        "score": float(graded.score),
        "points": float(test.points),
        "bonus": test.is_bonus,
        "visibility": test.visibility,
        "sizes": list(map(str, test.shapes)),
        "dtype": test.element.name,
        "value": graded.outcome.value,
        "unit": graded.outcome.unit or None,
        "detail": graded.outcome.detail,
    }


def head(grade: Grade) -> dict[str, Any]:
    """Return the fields of a `cudamm.grade/1` file beside its rows."""
    return {
        "device": device_record(grade.device),
        "assignment": grade.assignment.title,
        "submission": grade.submission,
        "score": float(grade.score),
        "points": float(grade.points),
        "not_graded": grade.refused,
        "public": grade.is_public,
        "remarks": list(grade.remarks),
    }
