"""The grades of a class: a row for each submission, a column for each test, and a summary."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.grading.class_grades import ClassRow
from cudamm.output.check_text import capitalised


def render(console: Console, rows: Sequence[ClassRow]) -> None:
    """Print the table, the names of its columns, and a summary."""
    rows = sorted(rows, key=lambda row: row.name)
    graded = [row for row in rows if row.grade]
    tests = [test["name"] for test in graded[0].grade["results"]] if graded else []
    table = Table(title=escape(graded[0].grade["assignment"]) if graded else None, title_justify="left")
    table.add_column("submission")
    table.add_column("points", justify="right")
    for number in range(1, len(tests) + 1):
        table.add_column(str(number), justify="right")
    for row in rows:
        if row.grade:
            scores = [_shown(test) for test in row.grade["results"]]
            table.add_row(escape(row.name), f"{row.grade['score']:g}", *scores)
        else:
            table.add_row(escape(row.name), "[bold red]not graded[/]")
    console.print(table)
    for number, name in enumerate(tests, 1):
        console.print(f"{number}  {escape(name)}", style="dim", soft_wrap=True)
    for line in _summary(graded):
        console.print(escape(line), soft_wrap=True)
    for row in rows:
        if row.grade and row.grade["not_graded"]:
            first = row.grade["not_graded"].splitlines()[0]
            console.print(f"{escape(row.name)} has no points: {escape(first)}", soft_wrap=True)
        if row.problem:
            console.print(
                f"[bold red]{escape(row.name)}[/]: {escape(capitalised(row.problem))}", soft_wrap=True
            )


def _shown(test: dict[str, Any]) -> str:
    return "" if test["status"] == "not run" else f"{test['score']:g}"


def _summary(rows: Sequence[ClassRow]) -> list[str]:
    """Return how the points are distributed, and which tests nobody passed."""
    if not rows:
        return []
    points, most = sorted(row.grade["score"] for row in rows), rows[0].grade["points"]
    lines = [
        f"{len(rows)} graded: mean {statistics.mean(points):.3g}, median {statistics.median(points):g}, "
        f"least {points[0]:g}, most {points[-1]:g}, of {most:g} points"
    ]
    if most > 0:
        quarters = [0] * 4
        for score in points:
            quarters[min(3, int(4 * score / most))] += 1
        lines.append(f"in the quarters of the points, from the lowest: {', '.join(map(str, quarters))}")
    for name in _passed_by_nobody(rows):
        lines.append(f"nobody passed “{name}”")
    return lines


def _passed_by_nobody(rows: Sequence[ClassRow]) -> list[str]:
    statuses: dict[str, set[str]] = {}
    for row in rows:
        for test in row.grade["results"]:
            statuses.setdefault(test["name"], set()).add(test["status"])
    return [name for name, found in statuses.items() if "passed" not in found and found != {"not run"}]


def record(row: ClassRow) -> dict[str, Any]:
    """Return the row of a submission in the `cudamm.class/1` file, and in the CSV file for a gradebook."""
    found = row.grade
    scores = {test["name"]: test["score"] for test in found.get("results", ()) if test["status"] != "not run"}
    return {
        "submission": row.name,
        "score": found.get("score"),
        "points": found.get("points"),
        "not_graded": row.problem or found.get("not_graded", ""),
        **scores,
    }
