"""Tests that skip themselves fail if CUDAMM_TESTS_MAY_NOT_SKIP is set, as in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """\
import pytest

def test_that_lacks_something():
    pytest.skip("no browser was found")

@pytest.mark.gpu
def test_on_a_gpu():
    pytest.skip("this GPU has no copy engine")
"""


@pytest.mark.parametrize(
    ("setting", "status", "summary"), [("", 0, "2 skipped"), ("1", 1, "1 failed, 1 skipped")]
)
def test_only_tests_on_a_gpu_may_skip_in_ci(tmp_path: Path, setting: str, status: int, summary: str) -> None:
    (tmp_path / "test_two.py").write_text(TESTS)
    path = os.pathsep.join(map(str, [Path(__file__).parent, *sys.path]))
    completed = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-rs", "test_two.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path, "CUDAMM_TESTS_MAY_NOT_SKIP": setting},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == status, completed.stdout
    assert summary in completed.stdout
    assert "no browser was found" in completed.stdout
