"""A grade as Gradescope's results.json.

Source: Gradescope's documentation, “Autograder Specifications”, “Output format”.
"""

from __future__ import annotations

import json
from typing import Any

from cudamm.grading.assignment import shown
from cudamm.grading.grade import Grade
from cudamm.grading.student_view import SeenTest, leaderboard, seen_tests, shortened
from cudamm.output.readable_text import readable

_VISIBILITIES = {
    "public": "visible", "hidden": "visible", "secret": "hidden", "after-due-date": "after_due_date",
}  # fmt: skip
"""Gradescope's words. Of a hidden test the text is left out, and the rest is visible."""

_STATUSES = {"passed": "passed", "failed": "failed", "partly": "failed"}


def gradescope_results(grade: Grade) -> str:
    """Return the text of results.json. Students see it, so hidden tests have no details in it."""
    document: dict[str, Any] = {
        "score": float(grade.score),
        "execution_time": round(grade.seconds),
        "output": _text(_summary(grade)),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",  # what the command prints has the details of hidden tests
        "tests": [_test(number, test) for number, test in enumerate(seen_tests(grade), 1)],
    }
    entries = [
        {"name": graded.outcome.unit or graded.test.name, "value": round(graded.outcome.value, 3)}
        for graded in leaderboard(grade)
        if graded.outcome.value is not None
    ]
    if entries:
        document["leaderboard"] = entries
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _summary(grade: Grade) -> str:
    lines = [f"{grade.submission} was not graded: {shortened(grade.refused)}"] if grade.refused else []
    left_out = sum(g.test.points for g in grade.graded if not g.was_run and not g.test.is_bonus)
    if left_out:
        lines.append(f"{shown(left_out)} points were not graded on this machine")
    return "\n".join(lines)


def _test(number: int, test: SeenTest) -> dict[str, Any]:
    return {
        "name": _text(test.name),
        "number": str(number),
        "score": float(test.score),
        "max_score": float(test.points),
        "status": _STATUSES[test.status],
        "output": _text(test.detail),
        "output_format": "text",
        "visibility": _VISIBILITIES[test.visibility],
    }


def _text(text: str) -> str:
    """Return a text without characters that no page gets."""
    return "\n".join(readable(line) for line in text.splitlines())
