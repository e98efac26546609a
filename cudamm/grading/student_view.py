"""What a student may see of a grade: nothing of hidden tests but whether they passed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from cudamm.grading.grade import Grade, Graded
from cudamm.grading.graded_test import Visibility

LONGEST_DETAIL = 4000
"""Maximum length of what is told of a test, in characters."""

MOST_LINES = 40


@dataclass(frozen=True)
class SeenTest:
    """What a student sees of a test.

    Attributes:
        visibility: when the student sees it; `secret` tests are here for the teacher.
        detail: what was found; empty for a hidden test.
    """

    name: str
    status: str
    score: Decimal
    points: Decimal
    detail: str
    visibility: Visibility


def seen_tests(grade: Grade) -> Iterator[SeenTest]:
    """Yield what a student sees of each test that was run, now or later."""
    for graded in grade.graded:
        if graded.was_run:
            test = graded.test
            detail = "" if test.visibility == "hidden" else shortened(graded.outcome.detail)
            yield SeenTest(
                test.student_name, graded.status, graded.score, test.points, detail, test.visibility
            )


def is_seen_now(visibility: Visibility) -> bool:
    """Return whether a student sees a test at all before the due date."""
    return visibility in ("public", "hidden")


def leaderboard(grade: Grade) -> Iterator[Graded]:
    """Yield the tests whose figures are on the leaderboard."""
    for graded in grade.graded:
        if graded.test.on_leaderboard and graded.was_run and graded.outcome.value is not None:
            yield graded


def shortened(text: str) -> str:
    """Return a text without what is too long to be read."""
    lines = text.splitlines()
    cut = "\n".join(lines[:MOST_LINES])[:LONGEST_DETAIL]
    return cut if cut == "\n".join(lines) else f"{cut} …"
