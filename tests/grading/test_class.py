"""A class is graded in one command, and an interrupted command goes on."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_assignment import KERNEL, ONE_PROBLEM, RIGHT

from cudamm.errors import UsageError
from cudamm.grading.class_grades import handed_in

pytestmark = pytest.mark.long

ASSIGNMENT = KERNEL + ONE_PROBLEM + '[[problem]]\nsize = 20\nvisibility = "hidden"\npoints = 3\n'


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """Return a folder with an assignment and a class of four, in files and folders."""
    (tmp_path / "assignment.toml").write_text(ASSIGNMENT)
    folder = tmp_path / "submissions"
    (folder / "dora" / "src").mkdir(parents=True)
    (folder / "anna.cu").write_text(RIGHT)
    (folder / "ben.cu").write_text(RIGHT.replace("k = 0", "k = 1"))
    (folder / "carl.cu").write_text("Dear teacher\n")
    (folder / "dora" / "src" / "mine.cu").write_text(RIGHT)
    (folder / "metadata.yml").write_text("no submission")
    return tmp_path


def grade(course: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "cudamm",
        "grade",
        "assignment.toml",
        "submissions",
        "--csv",
        "points.csv",
    ]
    return subprocess.run(
        [*command, *options],
        cwd=course,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def points(course: Path) -> dict[str, str]:
    with (course / "points.csv").open() as file:
        return {row["submission"]: row["score"] for row in csv.DictReader(file)}


def test_a_class_gets_a_table_and_a_file_for_each_student(course):
    ended = grade(course)
    assert ended.returncode == 0, ended.stderr
    assert points(course) == {"anna": "5.0", "ben": "0.0", "carl": "0.0", "dora": "5.0"}
    assert "4 graded: mean 2.5, median 2.5, least 0, most 5, of 5 points" in ended.stdout
    assert "carl has no points: carl.cu has no function matmul" in ended.stdout
    feedback = (course / "grades" / "ben.md").read_text()
    assert "**0 of 5 points** for ben.cu" in feedback and "elements wrong" in feedback
    assert "hidden test" in feedback and "20x20" not in feedback, "the size of a hidden problem"


def test_only_what_has_changed_is_graded_again(course):
    grade(course)
    times = {path.name: path.stat().st_mtime_ns for path in (course / "grades").glob("*.json")}
    (course / "submissions" / "ben.cu").write_text(RIGHT)
    (course / "grades" / "carl.json").write_text("{")
    assert grade(course).returncode == 0
    assert points(course) == {"anna": "5.0", "ben": "5.0", "carl": "0.0", "dora": "5.0"}
    changed = {p.name for p in (course / "grades").glob("*.json") if p.stat().st_mtime_ns != times[p.name]}
    assert changed == {"ben.json", "carl.json"}
    (course / "assignment.toml").write_text(ASSIGNMENT.replace("points = 3", "points = 4"))
    grade(course)
    assert points(course) == {"anna": "6.0", "ben": "6.0", "carl": "0.0", "dora": "6.0"}


def test_a_submission_that_could_not_be_graded_has_no_mark_and_is_graded_by_the_next_command(course):
    broken = course / "g++"
    broken.write_text('#!/bin/sh\n[ "$1" = --version ] && exec g++ --version\nexit 1\n')
    broken.chmod(0o755)
    ended = grade(course, CXX=str(broken))
    assert (
        ended.returncode == 3
        and "3 of 4 submissions were not graded, such as anna: nothing was" in ended.stderr
    )
    assert points(course) == {"anna": "", "ben": "", "carl": "0.0", "dora": ""}
    assert grade(course).returncode == 0
    assert points(course)["anna"] == "5.0"
    assert json.loads((course / "grades" / "anna.json").read_text())["score"] == 5


def test_options_for_one_submission_are_refused(course):
    ended = grade(course, "--out", "results.json")
    assert ended.returncode == 2 and "--out is for one submission" in ended.stderr


def test_two_submissions_of_one_name_are_refused(tmp_path):
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / "mine.cu").write_text(RIGHT)
    (tmp_path / "anna.cu").write_text(RIGHT)
    with pytest.raises(UsageError, match="two submissions anna"):
        handed_in(tmp_path)


def test_a_folder_with_one_file_is_one_submission(tmp_path):
    (tmp_path / "mine.cu").write_text(RIGHT)
    (tmp_path / "tile.h").write_text("")
    assert handed_in(tmp_path) == []
