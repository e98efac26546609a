"""`check --with compute-sanitizer` on a GPU. The tests skip themselves if the tool is missing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cudamm.analysis.sanitizer import find_compute_sanitizer
from cudamm.errors import NoDeviceError

pytestmark = pytest.mark.gpu

MISTAKES = Path(__file__).parents[1] / "example_kernels" / "mistakes"


def check(*arguments):
    """Run `cudamm check --with compute-sanitizer` in a process and return its status and its document."""
    try:
        find_compute_sanitizer()
    except NoDeviceError as error:
        pytest.skip(str(error))
    command = [sys.executable, "-m", "cudamm", "check", "--with", "compute-sanitizer", "--json", "-"]
    command += map(str, arguments)
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert completed.returncode in (0, 1), completed.stderr + completed.stdout
    return completed.returncode, json.loads(completed.stdout)


def test_a_right_kernel_has_no_mistakes_for_check_and_compute_sanitizer(gpu):
    status, document = check("-m", "tiled", "--block", "16", "-n", "50x70x40")
    assert (status, document["results"]) == (0, [])
    (checked,) = document["checked"]
    errors_by_tool = {verdict["tool"]: verdict["errors"] for verdict in checked["compute_sanitizer"]}
    assert errors_by_tool == {"memcheck": 0, "racecheck": 0, "initcheck": 0, "synccheck": 0}


@pytest.mark.parametrize(("name", "tool"), [("off_by_one", "memcheck"), ("no_barriers", "racecheck")])
def test_check_and_compute_sanitizer_find_the_same_mistake(gpu, name, tool):
    status, document = check("--kernel", MISTAKES / f"{name}.cu", "-n", "50x70x40")
    assert status == 1
    assert any(finding["severity"] == "error" for finding in document["results"])
    (checked,) = document["checked"]
    errors_by_tool = {verdict["tool"]: verdict["errors"] for verdict in checked["compute_sanitizer"]}
    assert errors_by_tool[tool] > 0
