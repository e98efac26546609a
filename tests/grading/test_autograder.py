"""The files of the example's Gradescope zip."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
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


@pytest.mark.slow
def test_a_submission_is_graded_and_a_broken_grader_is_no_fault_of_the_student(autograder):
    (autograder / "source" / "assignment.toml").write_text(KERNEL + ONE_PROBLEM)
    (autograder / "submission" / "mine.cu").write_text("// not yet\n")
    assert run_autograder(autograder) == 0
    results = json.loads((autograder / "results" / "results.json").read_text())
    assert results["score"] == 0 and "mine.cu was not graded" in results["output"]
    (autograder / "source" / "assignment.toml").write_text("points = 3\n" + KERNEL + ONE_PROBLEM)
    assert run_autograder(autograder) == 2
    assert not (autograder / "results" / "results.json").exists()


def make_zip(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the script in a copy of its folder that lies elsewhere."""
    copied = folder / "course" / "gradescope"
    shutil.copytree(GRADESCOPE, copied, dirs_exist_ok=True)
    assignment = folder / "assignment.toml"
    assignment.write_text(KERNEL + ONE_PROBLEM)
    command = [copied / "make_zip.sh", assignment, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False
    )


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which `python3` is this Python, without its packages."""
    (folder / "bin").mkdir(exist_ok=True)
    command = folder / "bin" / "python3"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    command.chmod(0o755)
    return os.environ | {
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(folder / "packages"),
    }


def test_a_copied_folder_makes_the_zip_with_a_wheel_that_is_named_or_was_installed(tmp_path):
    wheel = tmp_path / "cudamm-9.9-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    made = make_zip(tmp_path, wheel)
    assert (made.returncode, made.stderr) == (0, "")
    with zipfile.ZipFile(tmp_path / "autograder.zip") as archive:
        names = archive.namelist()
    assert sorted(names) == ["assignment.toml", wheel.name, "run_autograder", "setup.sh"]

    (tmp_path / "autograder.zip").unlink()
    installed = tmp_path / "packages" / "cudamm-9.9.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: cudamm\nVersion: 9.9\n")
    (installed / "direct_url.json").write_text(json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    assert make_zip(tmp_path).returncode == 0 and (tmp_path / "autograder.zip").exists()


def test_what_the_zip_lacks_is_one_line(tmp_path):
    made = make_zip(tmp_path)
    assert made.returncode == 1
    assert made.stderr.startswith(
        "make_zip.sh: cudamm's sources were not found: run make_zip.sh ASSIGNMENT.toml CUDAMM"
    )
    assert made.stderr.count("\n") == 1
    assert "not found in /" in make_zip(tmp_path, tmp_path).stderr
    missing = [tmp_path / "course" / "gradescope" / "make_zip.sh", "missing.toml"]
    made = subprocess.run(missing, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.stderr == "make_zip.sh: there is no assignment missing.toml\n"


@pytest.mark.parametrize("script", ["setup.sh", "run_autograder", "make_zip.sh"])
def test_each_script_is_executable_and_its_syntax_is_right(script):
    assert os.access(GRADESCOPE / script, os.X_OK)
    subprocess.run(["bash", "-n", GRADESCOPE / script], check=True)
