"""A test that skips itself fails if CUDAMM_TESTS_MAY_NOT_SKIP is set, as in CI, unless it needs a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = "pytester"

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


def test_only_tests_on_a_gpu_may_skip_in_ci(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text())
    pytester.makepyfile(TESTS)
    outcome = pytester.runpytest_inprocess("-rfs", "-p", "no:xdist")
    outcome.assert_outcomes(failed=1, skipped=3)
    outcome.stdout.fnmatch_lines(
        [
            "CUDAMM_TESTS_MAY_NOT_SKIP is set. Skipped: no browser was found",
            "FAILED *::test_in_a_browser?1? *",
        ]
    )
