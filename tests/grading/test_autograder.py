"""The files of the example's Gradescope zip."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_assignment import KERNEL, ONE_PROBLEM

GRADESCOPE = Path(__file__).parents[2] / "examples" / "assignment" / "gradescope"


@pytest.fixture
def autograder(tmp_path: Path) -> Path:
    """Return a folder like Gradescope's /autograder, with a command `cudamm` of these sources."""
    for folder in ("source", "submission", "results"):
        (tmp_path / folder).mkdir()
    command = tmp_path / "cudamm"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m cudamm "$@"\n')
    command.chmod(0o755)
    return tmp_path


def run_autograder(autograder: Path) -> int:
    places = {"AUTOGRADER": str(autograder), "CUDAMM": str(autograder / "cudamm")}
    root = str(GRADESCOPE.parents[2])
    environment = os.environ | places | {"PYTHONPATH": root, "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(
        [GRADESCOPE / "run_autograder"], env=environment, cwd=autograder, check=False
    ).returncode


def test_a_submission_is_graded_and_a_broken_grader_is_no_fault_of_the_student(autograder):
    (autograder / "source" / "assignment.toml").write_text(KERNEL + ONE_PROBLEM)
    (autograder / "submission" / "mine.cu").write_text("// not yet\n")
    assert run_autograder(autograder) == 0
    results = json.loads((autograder / "results" / "results.json").read_text())
    assert results["score"] == 0 and "mine.cu was not graded" in results["output"]
    (autograder / "source" / "assignment.toml").write_text("points = 3\n" + KERNEL + ONE_PROBLEM)
    assert run_autograder(autograder) == 2
    assert not (autograder / "results" / "results.json").exists()


@pytest.mark.parametrize("script", ["setup.sh", "run_autograder", "make_zip.sh"])
def test_each_script_is_executable_and_its_syntax_is_right(script):
    assert os.access(GRADESCOPE / script, os.X_OK)
    subprocess.run(["bash", "-n", GRADESCOPE / script], check=True)
