"""A test that skips itself fails if CUDAMM_TESTS_MAY_NOT_SKIP is set, as in CI, unless it needs a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = """\
import pytest

@pytest.mark.parametrize("setting", ["", "1"])
def test_in_a_browser(setting, monkeypatch):
    monkeypatch.setenv("CUDAMM_TESTS_MAY_NOT_SKIP", setting)
    pytest.skip("no browser was found")

@pytest.mark.gpu
@pytest.mark.parametrize("setting", ["", "1"])
def test_on_a_gpu(setting, monkeypatch):
    monkeypatch.setenv("CUDAMM_TESTS_MAY_NOT_SKIP", setting)
    pytest.skip("this GPU has no copy engine")
"""


def test_only_tests_on_a_gpu_may_skip_in_ci(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text(TESTS)
    path = os.pathsep.join(map(str, [Path(__file__).parent, *sys.path]))
    # Without plugins pytest starts in half the time.
    completed = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-rfs", "test_two.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 1, completed.stdout
    assert "1 failed, 3 skipped" in completed.stdout
    assert "FAILED test_two.py::test_in_a_browser[1] - CUDAMM_TESTS_MAY_NOT_SKIP is set." in completed.stdout
    assert completed.stdout.count("no browser was found") >= 2
