"""compute-sanitizer on a GPU that is here, beside what the CPU device sees; skipped without the tool."""

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
    """Run the command as a user does; its status and its document."""
    try:
        find_compute_sanitizer()
    except NoDeviceError as error:
        pytest.skip(str(error))
    command = [sys.executable, "-m", "cudamm", "check", "--with", "compute-sanitizer", "--json", "-"]
    command += map(str, arguments)
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ended.returncode in (0, 1), ended.stderr + ended.stdout
    return ended.returncode, json.loads(ended.stdout)


def test_a_sound_kernel_is_clean_for_both(gpu):
    status, document = check("-m", "tiled", "--block", "16", "-n", "50x70x40")
    assert (status, document["results"]) == (0, [])
    (checked,) = document["checked"]
    found = {verdict["tool"]: verdict["errors"] for verdict in checked["compute_sanitizer"]}
    assert found == {"memcheck": 0, "racecheck": 0, "initcheck": 0, "synccheck": 0}


@pytest.mark.parametrize(("name", "tool"), [("off_by_one", "memcheck"), ("no_barriers", "racecheck")])
def test_both_find_a_mistake(gpu, name, tool):
    status, document = check("--kernel", MISTAKES / f"{name}.cu", "-n", "50x70x40")
    assert status == 1
    assert any(finding["severity"] == "error" for finding in document["results"])
    (checked,) = document["checked"]
    found = {verdict["tool"]: verdict["errors"] for verdict in checked["compute_sanitizer"]}
    assert found[tool] > 0
