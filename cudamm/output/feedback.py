"""What a student may see of a grade, as Markdown."""

from __future__ import annotations

from cudamm.grading.assignment import shown
from cudamm.grading.grade import Grade
from cudamm.grading.student_view import is_seen_now, seen_tests, shortened
from cudamm.output.readable_text import readable


def feedback(grade: Grade) -> str:
    """Return a text for the student, with no details of hidden tests."""
    lines = [
        f"# {grade.assignment.title}",
        "",
        f"**{shown(grade.score)} of {shown(grade.points)} points** for {grade.submission}",
        "",
    ]
    if grade.refused:
        lines += [*_indented(f"Not graded: {shortened(grade.refused)}"), ""]
    for test in seen_tests(grade):
        if is_seen_now(test.visibility):
            lines.append(f"- **{test.status}**, {shown(test.score)} of {shown(test.points)}: {test.name}")
            lines += ["", *_indented(test.detail), ""] if test.detail and test.status != "passed" else []
    return "\n".join(map(readable, lines)) + "\n"


def _indented(text: str) -> list[str]:
    """Return the lines of a text as Markdown shows them unchanged."""
    return [f"      {line}" for line in text.splitlines()]
