"""Kernels with tensor cores on the CPU device: their products, their accesses, and lanes that are missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

import cudamm
from cudamm.compile.program import program
from cudamm.devices.device import Device, padded
from cudamm.devices.observation import Observation
from cudamm.devices.observe import observe
from cudamm.errors import KernelError, UsageError
from cudamm.kernels.header import read_method
from cudamm.kernels.launch_plan import plan
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import variants

Kernel = Callable[..., Any]
KERNELS = Path(__file__).parents[1] / "example_kernels"


def observed(
    path: Path, size: str, dtype: str = "float32", checked: bool = False, trapped: bool = False, **params: int
) -> Observation:
    method = read_method(path)
    (variant,) = variants(method, {name: (value,) for name, value in params.items()})
    problem = Problem(parse_shape(size), ELEMENT_TYPES[dtype])
    launch = plan(variant, problem.shape, problem.element)
    inputs = padded(launch, *problem.inputs)
    return observe(program(variant, problem.element, True), launch, *inputs, checked=checked, trapped=trapped)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("kernel", "allowed", "bits"),
    [
        ("wmma_half", "half", 11),
        ("mma_swizzled", "half", 11),
        ("wmma_tf32", "tf32", 11),
        ("wmma_double", "", 53),
    ],
)
def test_products_are_as_exact_as_the_factors_and_the_sums(
    kernel: str, allowed: Literal["", "half", "tf32"], bits: int
) -> None:
    path = KERNELS / f"{kernel}.cu"
    (result,) = cudamm.verify(path, shape=(64, 96, 2048), device="cpu", allow_precision=allowed)
    assert (result.status, result.reason) == ("ok", "")
    assert abs(result.verdict.effective_bits - bits) <= 1
    if allowed:
        (refused,) = cudamm.verify(path, shape=(64, 96, 2048), device="cpu")
        assert "computed in less than its type: errors like those of 11-bit products" in refused.reason


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_matrices_of_half_and_bfloat16_are_multiplied_on_tensor_cores(dtype: str) -> None:
    path = KERNELS / "wmma_elements.cu"
    (result,) = cudamm.verify(path, shape=(64, 96, 2048), device="cpu", dtype=dtype)
    assert (result.status, result.reason) == ("ok", "")
    observation = observed(path, "32x32x32", dtype, checked=True)
    assert (observation.faults, observation.ended) == ((), "")


def test_accumulator_is_the_name_of_a_fragment_in_a_file_with_wmma(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel
) -> None:
    text = (
        (KERNELS / "wmma_elements.cu")
        .read_text()
        .replace("using namespace nvcuda;", "using namespace nvcuda::wmma;")
    )
    path = write_kernel(text.replace(" wmma::", " ").replace("<wmma::", "<").replace("(wmma::", "("))
    assert "fragment<accumulator, 16" in path.read_text()
    assert verify_one(cpu, path, "32x32x32", "float16").reason == ""


@pytest.mark.parametrize(("swizzled", "wavefronts"), [(1, 4), (0, 16)])
def test_ldmatrix_reads_each_matrix_in_one_pass_of_8_rows_if_they_lie_in_different_banks(
    swizzled: int, wavefronts: int
) -> None:
    """Without the swizzle, rows are 64 bytes apart: of 8 rows of 16 bytes, 4 begin in the same bank."""
    accesses = observed(KERNELS / "mma_swizzled.cu", "32x32x64", SWIZZLED=swizzled).accesses
    loads = [a for a in accesses if a.space == "shared" and a.op == "load"]
    assert {a.array for a in loads} == {"As", "Bs"} and {a.size_bytes for a in loads} == {16}
    for access in loads:
        assert access.requests == 4 * 2 * 2  # warps, steps of 32 along K, steps of 16 within
        assert access.wavefronts == access.requests * wavefronts
        assert access.ideal_wavefronts == access.requests * 4


def test_the_accesses_of_wmma_belong_to_its_lines() -> None:
    path = KERNELS / "wmma_tf32.cu"
    lines = path.read_text().splitlines()
    accesses = observed(path, "16x16x16").accesses
    by_line = {(lines[a.line - 1].strip().partition("(")[2][:1], a.array, a.op): a for a in accesses}
    assert set(by_line) == {("a", "A", "load"), ("b", "B", "load"), ("C", "C", "store")}
    assert {key[0]: a.bytes_requested for key, a in by_line.items()} == {"a": 1024, "b": 1024, "C": 1024}
    assert all(a.bytes_used == 1024 for a in accesses)


@pytest.mark.parametrize("file", ["wmma_half", "wmma_tf32", "mma_swizzled"])
def test_check_finds_no_mistake_in_accesses_of_tensor_cores(file: str) -> None:
    observation = observed(KERNELS / f"{file}.cu", "32x32x32", checked=True)
    assert (observation.faults, observation.ended) == ((), "")


BEGINNING = """\
// types: float32
// param: CHOICE = 0
// param: BLOCK = 32
// args: C, CHOICE
// threads: BLOCK
// grid: 1
#include <mma.h>
using namespace nvcuda;
__global__ void k(float *C, int choice) {
    __shared__ __align__(32) float s[16 * 24];
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int i = threadIdx.x; i < 16 * 24; i += blockDim.x) s[i] = i;
"""
LOAD = "wmma::load_matrix_sync(a, s, 24);"
END = "    c.x[0] = a.x[0];\n    wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);\n}\n"
ALL_32 = "load_matrix_sync needs all 32"
FAULTS = {
    f"if (threadIdx.x == 9) return; {LOAD}": (
        f"in line LINE of kernel.cu, but thread (9,0) has left the kernel: {ALL_32} threads of a warp"
    ),
    f"if (threadIdx.x < 5) {{ {LOAD} }}\n    else {LOAD}": (
        "execute load_matrix_sync in different lines, thread (0,0) in line LINE of kernel.cu and thread (5,0)"
    ),
    f"if (threadIdx.x < 5) {{ {LOAD} }} else __syncthreads();": (
        "executes load_matrix_sync with the mask 0xffffffff, for thread (5,0), which waits in line LINE of"
    ),
    "wmma::load_matrix_sync(a, s, 17);": (
        "got a leading dimension of 17 elements of 4 bytes, which is no multiple of 16 bytes, in line LINE of"
    ),
    "wmma::load_matrix_sync(a, s + 1, 24);": (
        "load_matrix_sync got an address that is no multiple of 16 bytes in line LINE of"
    ),
    f"{LOAD} // a warp of 16": f"in line LINE of kernel.cu, but its warp has only 16 threads: {ALL_32}",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_use_of_tensor_cores_is_named_with_its_line(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel, fault: str
) -> None:
    """The argument CHOICE is the number of the fault, so one program is compiled for all."""
    text = BEGINNING + "    __syncthreads();\n"
    for number, body in enumerate(FAULTS):
        if body == fault:
            line, choice = text.count("\n") + 2, number
        text += f"    if (choice == {number}) {{\n    {body}\n    }}\n"
    path, threads = write_kernel(text + END), 16 if "16" in fault.partition("//")[2] else 32
    with (
        open_run(cpu, path, "16x16x1", CHOICE=choice, BLOCK=threads) as run,
        pytest.raises(KernelError) as raised,
    ):
        run.launch()
    assert FAULTS[fault].replace("LINE", str(line)) in str(raised.value)


@pytest.mark.parametrize(("barrier", "faults"), [("__syncwarp();", set()), ("", {"race"})])
def test_check_reports_a_load_of_what_other_lanes_wrote_without_a_barrier(
    write_kernel: Kernel, barrier: str, faults: set[str]
) -> None:
    path = write_kernel(f"{BEGINNING}    {barrier}\n    {LOAD}\n{END}")
    assert {fault.kind for fault in observed(path, "16x16x1", checked=True).faults} == faults


def test_a_shape_that_tensor_cores_lack_is_refused(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel
) -> None:
    path = write_kernel(BEGINNING.replace("16, 16, 8", "16, 16, 16") + END)
    with pytest.raises(UsageError, match="tensor cores have no fragment of this shape and type"):
        verify_one(cpu, path, "16x16x1")


def test_a_nan_that_a_tensor_core_computes_belongs_to_the_line_of_its_operation(write_kernel: Kernel) -> None:
    text = (
        BEGINNING
        + """    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> b;
    wmma::fill_fragment(a, 0.0f);
    wmma::fill_fragment(b, __int_as_float(0x7f800000));
    wmma::mma_sync(c, a, b, c);
"""
    )
    path = write_kernel(text + END)
    (fault,) = observed(path, "16x16x1", trapped=True).faults
    assert (fault.kind, fault.line) == ("nan", text.count("\n"))
