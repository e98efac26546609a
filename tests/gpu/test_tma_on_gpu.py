"""Tensor maps and the method `tma` on a GPU of sm_90 or later. On other GPUs the tests skip themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cudamm.benchmark.result import Result
from cudamm.benchmark.verify import verify_all
from cudamm.devices.device import Device
from cudamm.errors import RequirementError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import prepare
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape, parse_shape
from cudamm.kernels.variant import Variant, variants

pytestmark = pytest.mark.gpu

FLOAT32 = ELEMENT_TYPES["float32"]
# At most one tile; tiles at every edge; more tiles than stages; rows that need padding.
SHAPES = ("2x3x5", "129x257x33", "64x64x2048", "1x1024x260", "1000x1000x1000")
IN_FLOAT64 = {"BN": 128, "BK": 8, "WN": 64, "TN": 8}  # the parameters in the kernel's comment

# Each thread copies one element of a box to C, in the order in which the box lies in shared memory.
ONE_BOX = """\
// One box of A, wherever it lies, as it arrives in shared memory.
//
// param:   ROW = 0
// param:   COLUMN = 0
// param:   SWIZZLE = 0
// args:    tensor_map(A, 8, 8, SWIZZLE), C
// threads: 64
// grid:    1

#include <cuda.h>

__global__ void one_box(const __grid_constant__ CUtensorMap map, element *C) {
    __shared__ __align__(1024) element box[64];
    __shared__ unsigned long long barrier;
    const unsigned to = __cvta_generic_to_shared(box), full = __cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(full) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     : : "r"(full), "r"((int)sizeof box) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];"
                     : : "r"(to), "l"(&map), "r"(COLUMN), "r"(ROW), "r"(full) : "memory");
    }
    __syncthreads();
    int ended = 0;
    while (!ended)
        asm volatile("{\\n.reg .pred p;\\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\\n"
                     "selp.b32 %0, 1, 0, p;\\n}" : "=r"(ended) : "r"(full) : "memory");
    C[threadIdx.x] = box[threadIdx.x];
}
"""

# Two bands of 8 columns, each 12 wide in shared memory, one after the other: each thread copies one element.
TWO_BANDS = (
    ONE_BOX.replace("tensor_map(A, 8, 8, SWIZZLE)", "tensor_map(A, 8, 12, 0, 8, 2)")
    .replace("threads: 64", "threads: 192")
    .replace("box[64]", "box[192]")
    .replace("cp.async.bulk.tensor.2d", "cp.async.bulk.tensor.3d")
    .replace("{%2, %3}], [%4]", "{0, %3, %2}], [%4]")
)

# The map lies in device memory, after another parameter, and the kernel gets its address.
MAP_IN_MEMORY = (
    ONE_BOX.replace("SWIZZLE), C", "SWIZZLE), M, C, tensor_map(A, 8, 8, SWIZZLE)")
    .replace(
        "const __grid_constant__ CUtensorMap map, element *C",
        "const CUtensorMap *map, int M, element *C,\n"
        "                        const __grid_constant__ CUtensorMap same",
    )
    .replace("(&map)", "(COLUMN < 16 ? map : &same)")
)


def silent(doing: str, done: int, total: int) -> None:
    """Ignore the progress."""


@pytest.fixture(scope="module")
def hopper(gpu: Device[Any]) -> Device[Any]:
    """Return the GPU if it has the copy engine."""
    lacks = gpu.lacks(find("tma"))
    if lacks:
        pytest.skip(lacks)
    return gpu


def verified(gpu: Device[Any], cases: list[tuple[Variant, Problem]], fmad: bool = True) -> list[Result]:
    with InProcessExecutor(gpu) as executor:
        return list(verify_all(executor, cases, fmad, silent))


def failures(results: list[Result]) -> list[str]:
    return [
        f"{r.params} {r.m}x{r.n}x{r.k} {r.dtype}: {r.status} {r.reason}"
        for r in results
        if r.status != "ok" or r.verdict.correct is not True
    ]


@pytest.mark.parametrize(("dtype", "fmad"), [("float32", True), ("float32", False), ("int32", True)])
def test_tma_is_right_on_every_shape(hopper: Device[Any], dtype: str, fmad: bool) -> None:
    (variant,) = variants(find("tma"), {})
    cases = [(variant, Problem(parse_shape(shape), ELEMENT_TYPES[dtype])) for shape in SHAPES]
    results = verified(hopper, cases, fmad)
    assert len(results) == len(SHAPES) and failures(results) == []
    if dtype == "int32" or not fmad:
        assert {r.verdict.bit_equal for r in results} == {True}
    # Matrices are padded only if a row is not a multiple of 16 bytes; M is never padded.
    assert [r.padded for r in results] == [bool(r.n % 4 or r.k % 4) for r in results]


def test_float64_is_right_if_its_sums_fit_and_refused_otherwise(hopper: Device[Any]) -> None:
    (variant,) = variants(find("tma"), {name: (value,) for name, value in IN_FLOAT64.items()})
    cases = [(variant, Problem(parse_shape(shape), ELEMENT_TYPES["float64"])) for shape in SHAPES]
    assert failures(verified(hopper, cases)) == []
    (default,) = variants(find("tma"), {})
    with pytest.raises(RequirementError, match="requires"):
        verified(hopper, [(default, Problem(Shape(8, 8, 8), ELEMENT_TYPES["float64"]))])


@pytest.mark.parametrize(("row", "column", "swizzle"), [(3, 4, 0), (0, 0, 32), (37, 16, 0), (36, 20, 32)])
def test_a_box_arrives_with_zeros_beyond_the_edge_of_the_matrix(
    hopper: Device[Any], write_kernel: Callable[..., Path], row: int, column: int, swizzle: int
) -> None:
    """A swizzle of 32 bytes inverts bit 4 of a byte's address if bit 7 is set."""
    for kernel in (ONE_BOX, MAP_IN_MEMORY):
        check_one_box(hopper, write_kernel(kernel), row, column, swizzle)


def arrived_in(hopper: Device[Any], path: Path, count: int, **values: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first elements of C after a launch of a kernel, and A with zeros at its edges."""
    (variant,) = variants(read_method(path), {name: (value,) for name, value in values.items()})
    problem = Problem(Shape(40, 24, 24), FLOAT32)
    with InProcessExecutor(hopper) as executor:
        (case,) = prepare(executor, [(variant, problem)], True, silent, verified=True)
        with executor.open(case) as run:
            run.fill_output()
            run.launch()
            arrived = run.product().reshape(-1)[:count].copy()
    a = np.zeros((48, 32), np.float32)
    a[:40, :24] = problem.inputs[0]
    return arrived, a


def check_one_box(hopper: Device[Any], path: Path, row: int, column: int, swizzle: int) -> None:
    arrived, a = arrived_in(hopper, path, 64, ROW=row, COLUMN=column, SWIZZLE=swizzle)
    expected = a[row : row + 8, column : column + 8].reshape(-1)
    addresses = [4 * i ^ (4 * i >> 7 & 1) << 4 if swizzle else 4 * i for i in range(64)]
    assert np.array_equal(arrived[[address // 4 for address in addresses]], expected)


@pytest.mark.parametrize(("row", "first_band"), [(0, 0), (3, 1), (36, 2)])
def test_bands_of_columns_arrive_one_after_the_other(
    hopper: Device[Any], write_kernel: Callable[..., Path], row: int, first_band: int
) -> None:
    """Beyond the columns of a band, the rows of the matrix and the last band, a box has zeros."""
    arrived, a = arrived_in(hopper, write_kernel(TWO_BANDS), 192, ROW=row, COLUMN=first_band)
    expected = np.zeros((2, 8, 12), np.float32)
    for band in range(2):
        first = 8 * (first_band + band)
        expected[band, :, :8] = a[row : row + 8, first : first + 8]
    assert np.array_equal(arrived, expected.reshape(-1))


def test_bench_marks_the_row_of_a_padded_problem(hopper: Device[Any]) -> None:
    command = [
        sys.executable,
        "-m",
        "cudamm",
        "bench",
        "-m",
        "tma",
        "-n",
        "1001",
        "--runs",
        "3",
        "--json",
        "-",
    ]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert completed.returncode == 0, completed.stderr
    (row,) = json.loads(completed.stdout)["results"]
    assert (row["method"], row["status"], row["padded"]) == ("tma", "ok", True)
