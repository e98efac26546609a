"""Grade the submissions of a class, several at a time, and go on where an earlier run was interrupted.

Each submission is graded by a process of its own, which writes `NAME.json` for the teacher and `NAME.md` for
the student into the folder of grades. A submission whose grade is there, and that has not changed since, is
not graded again.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cudamm import __version__
from cudamm.benchmark.json_records import DamagedError, parse_json, read_as
from cudamm.compile.identity import hash_of
from cudamm.compile.process_group import run_group, thread_pool
from cudamm.errors import ALL_WELL, FAILED_RESULT, UsageError
from cudamm.execution.module_command import module_command
from cudamm.grading.submission import HEADER_ENDINGS, KERNEL_ENDING, LARGEST_FILE_BYTES
from cudamm.source.input_file import read_input

LONGEST_S = 3600
"""Time limit for the grading of one submission, in seconds; what it may take is limited by the assignment."""

LARGEST_GRADE_BYTES = 1 << 24


@dataclass(frozen=True)
class Handed:
    """A submission of a class.

    Attributes:
        name: the name of the file or of the folder, which tells the student in the exports of Gradescope,
            Moodle and GitHub Classroom.
        path: the file, or the folder that contains it.
    """

    name: str
    path: Path


@dataclass(frozen=True)
class ClassRow:
    """The grade of one submission of a class.

    Attributes:
        grade: the `cudamm.grade/1` document; empty if the submission could not be graded.
        problem: why it could not be graded, which is no fault of the student; else empty.
    """

    name: str
    grade: dict[str, Any]
    problem: str = ""


def handed_in(folder: Path) -> list[Handed]:
    """Return the submissions in a folder: its files that end in .cu, and its folders, in alphabetical order.

    A folder with one such file, and no folders with others, is one submission: then the result is empty.

    Raises:
        UsageError: two submissions have one name.
    """
    if not folder.is_dir():
        return []
    folders = [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
    folders = [path for path in folders if any(path.rglob(f"*{KERNEL_ENDING}"))]
    files = [path for path in folder.iterdir() if path.is_file() and path.suffix.lower() == KERNEL_ENDING]
    if not folders and len(files) <= 1:
        return []
    found = [Handed(path.stem, path) for path in files] + [
        Handed(p.name, _folder_with_file(p)) for p in folders
    ]
    names = [handed.name for handed in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{folder} has two submissions {name}: rename one")
    return sorted(found, key=lambda handed: handed.name)


def _folder_with_file(folder: Path) -> Path:
    """Return the folder in a student's folder that contains a submission; itself if several do."""
    inside = {path.parent for path in folder.rglob(f"*{KERNEL_ENDING}")}
    return inside.pop() if len(inside) == 1 else folder


def grade_class(
    assignment: Path, submissions: Sequence[Handed], grades: Path, options: Sequence[str], side_by_side: int
) -> Generator[ClassRow, None, None]:
    """Yield the grade of each submission as soon as it is known.

    Args:
        grades: the folder that gets the grades; it is made.
        options: options of `cudamm grade`, for each submission.
        side_by_side: how many submissions are graded at a time.

    Raises:
        UsageError: the folder cannot be made.
    """
    try:
        grades.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--grades {grades}: {error.strerror}") from None
    with thread_pool(side_by_side) as pool:
        running = {pool.submit(_row, assignment, handed, grades, options) for handed in submissions}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()


def made_from(assignment: Path, submission: Path, options: Sequence[str]) -> str:
    """Return a hash of all that a grade depends on: cudamm, the assignment, the submission, and options."""
    folder = submission if submission.is_dir() else submission.parent
    endings = (*HEADER_ENDINGS, *([KERNEL_ENDING] if submission.is_dir() else []))
    files = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in endings and path.is_file()]
    if not submission.is_dir():
        files.append(submission)
    texts = [text for path in files for text in (path.name, _content(path))]
    return hash_of([__version__, _content(assignment), *options, *texts], digits=32)


def _content(path: Path) -> str:
    with contextlib.suppress(OSError), path.open("rb") as file:
        return file.read(LARGEST_FILE_BYTES + 1).decode("latin-1")
    return ""


def _row(assignment: Path, handed: Handed, grades: Path, options: Sequence[str]) -> ClassRow:
    """Return the grade of a submission: an earlier one if nothing has changed, else a new one."""
    file = grades / f"{handed.name}.json"
    earlier = _read(file)
    if earlier.get("made_from") == made_from(assignment, handed.path, options):
        return ClassRow(handed.name, earlier)
    outputs = ["--json", str(file), "--feedback", str(grades / f"{handed.name}.md"), "--quiet"]
    command = ["grade", str(assignment), str(handed.path), *options, *outputs]
    try:
        ended = run_group(module_command("cudamm", *command), timeout_s=LONGEST_S)
    except subprocess.TimeoutExpired:
        return ClassRow(handed.name, {}, f"it was not graded within {LONGEST_S:,} s")
    grade = _read(file) if ended.returncode in (ALL_WELL, FAILED_RESULT) else {}
    return ClassRow(handed.name, grade, "" if grade else ended.stderr.strip().removeprefix("cudamm: "))


def _read(file: Path) -> dict[str, Any]:
    """Return the grade in a file; empty if there is none."""
    with contextlib.suppress(OSError, UsageError, DamagedError, UnicodeDecodeError):
        text = read_input(file, "a grade", LARGEST_GRADE_BYTES, rewritten=True).decode()
        return read_as(dict[str, Any], parse_json(text))
    return {}
