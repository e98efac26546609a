"""Kernels that may start before the previous kernel is complete, on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cudamm.benchmark.verify import verify_all
from cudamm.devices.device import Device
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.header import read_method
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import variants

pytestmark = pytest.mark.gpu

KERNEL = """\
// A thread for each element.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
// constant: columns = N
// dependent-launch: yes

__constant__ int columns;

__global__ void gemm(int M, int N, int K, const element *A, const element *B, element *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    WAIT_FIRST
    if (row >= M || col >= N) return;
    element sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * columns + col];
    WAIT_LAST
    C[row * N + col] = sum;
}
"""
WAIT = 'asm volatile("griddepcontrol.wait;" : : : "memory");'


def verdicts(gpu: Device[Any], folder: Path, code: str, *dtypes: str) -> list[tuple[bool | None, str]]:
    """Return whether the products of a kernel file are right, and why not."""
    if gpu.architecture.capability < (9, 0):
        pytest.skip("GPUs before sm_90 have no dependent launches")
    path = folder / "gemm.cu"
    path.write_text(code)
    (variant,) = variants(read_method(path), {})
    cases = [(variant, Problem(parse_shape("300x200x100"), ELEMENT_TYPES[dtype])) for dtype in dtypes]
    with InProcessExecutor(gpu) as executor:
        results = list(verify_all(executor, cases, True, lambda doing, done, total: None))
    return [(result.verdict.correct, result.reason) for result in results]


def code_with(first: str = "", last: str = "") -> str:
    """Return the kernel with statements before it reads anything, and before it stores."""
    return KERNEL.replace("WAIT_FIRST", first).replace("WAIT_LAST", last)


def test_a_kernel_that_waits_first_is_right(gpu: Device[Any], tmp_path: Path) -> None:
    found = verdicts(gpu, tmp_path, code_with(first=WAIT), "float32", "float64", "int32")
    assert found == [(True, "")] * 3


@pytest.mark.parametrize("code", [code_with(), code_with(last=WAIT)], ids=["never", "too late"])
def test_a_kernel_that_does_not_wait_is_found(gpu: Device[Any], tmp_path: Path, code: str) -> None:
    (of_float, reason), (of_int, _) = verdicts(gpu, tmp_path, code, "float32", "int32")
    assert of_float is False and of_int is False
    assert "before it has waited for the previous kernel (griddepcontrol.wait)" in reason
