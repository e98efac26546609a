"""Grading in this process, with problems that take milliseconds."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_assignment import KERNEL, ONE_PROBLEM

from cudamm.grading.assignment import Assignment, read_assignment
from cudamm.grading.grade import Grade, grade

Written = Callable[..., Assignment]
Graded = Callable[..., Grade]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Return a function that writes an assignment, and reads it."""

    def write(text: str) -> Assignment:
        path = tmp_path / "assignment.toml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return read_assignment(path)

    return write


@pytest.fixture
def graded(tmp_path: Path, written: Written) -> Graded:
    """Return a function that grades a submission, given as text or as a file, on the CPU device."""

    def run(submission: str | bytes | Path, assignment: str = KERNEL + ONE_PROBLEM, **options: Any) -> Grade:
        if not isinstance(submission, Path):
            content = submission.encode() if isinstance(submission, str) else submission
            submission = tmp_path / "handed_in.cu"
            submission.write_bytes(content)
        options = {"device_spec": "cpu", "progress": lambda *_: None} | options
        return grade(written(assignment), submission, **options)

    return run
