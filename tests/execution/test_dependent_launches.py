"""Verification of kernels that may start before the previous kernel is complete."""

from __future__ import annotations

from itertools import repeat
from pathlib import Path

import numpy as np
import pytest

from cudamm.benchmark.result import Result
from cudamm.benchmark.verify import verify_all
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.judge import READS_EARLY
from cudamm.kernels.header import read_method
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import variants
from tests.scripted_device import ScriptedDevice, ScriptedRun, silent

KERNEL = """\
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
FIELD
__global__ void gemm(int M, int N, int K, const element *A, const element *B, element *C) {
    asm volatile("griddepcontrol.wait;" : : : "memory");
}
"""
DEPENDENT = "// dependent-launch: yes\n"


def verified(folder: Path, field: str, error: float, dtype: str = "float32") -> Result:
    """Return the result of a kernel whose products differ from the right ones by `error`."""
    path = folder / "gemm.cu"
    path.write_text(KERNEL.replace("FIELD\n", field))
    (variant,) = variants(read_method(path), {})
    device = ScriptedDevice(repeat(0.1), error=error)
    problem = Problem(parse_shape("20x24x28"), ELEMENT_TYPES[dtype])
    with InProcessExecutor(device) as executor:
        (result,) = verify_all(executor, [(variant, problem)], True, silent)
    return result


@pytest.fixture
def wrong_if_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products are wrong only if A and B are not complete when the kernel starts."""

    def launch_with_late_inputs(run: ScriptedRun, descending: bool = False) -> float:
        milliseconds = run.launch(descending)
        run.product()[:] = -7
        return milliseconds

    monkeypatch.setattr(ScriptedRun, "launch_with_late_inputs", launch_with_late_inputs, raising=False)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.usefixtures("wrong_if_late")
def test_a_kernel_that_is_wrong_only_with_late_inputs_has_not_waited(tmp_path: Path, dtype: str) -> None:
    result = verified(tmp_path, DEPENDENT, 0.0, dtype)
    assert result.verdict.correct is False
    assert result.reason == f"{READS_EARLY}; 480 of 480 elements wrong, first C[0][0]"


@pytest.mark.parametrize("error", [np.nan, 1.0])
@pytest.mark.parametrize("field", ["", DEPENDENT], ids=["an ordinary launch", "a dependent launch"])
def test_a_kernel_that_is_always_wrong_is_not_explained_by_a_missing_wait(
    tmp_path: Path, field: str, error: float
) -> None:
    result = verified(tmp_path, field, error)
    assert result.verdict.correct is False
    assert "wait" not in result.reason


def test_a_right_kernel_that_may_start_early_passes(tmp_path: Path) -> None:
    assert verified(tmp_path, DEPENDENT, 0.0).verdict.correct
