"""Matrices A and B of float8_e4m3 and C of bfloat16: sums are kept in float32, and each is rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cudamm
from cudamm.devices.device import Device
from cudamm.errors import UsageError
from cudamm.kernels.ladder import find, ladder
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants

Kernel = Callable[..., Any]

KERNEL = """// A kernel of a user, with CUDA's own names of the types.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)

#include <cuda_bf16.h>
#include <cuda_fp8.h>

typedef __nv_fp8_e4m3 fp8;

__global__ void product(int M, int N, int K, const fp8 *A, const fp8 *B, __nv_bfloat16 *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += (float)A[row * K + k] * (float)B[k * N + col];
    C[row * N + col] = sum;
}
"""
GUARDED = "if (row >= M || col >= N) return;"
MISTAKES = {
    "sums kept in 16 bits": ("float sum", "__nv_bfloat16 sum", "33x35x64", "those of rounding C to bfloat16"),
    "a result that is cut off": ("= sum;", "= __float2bfloat16_rz(sum);", "65x67x16", "elements wrong"),
    "a long sum that is cut off": (
        "= sum;", "= __float2bfloat16_rz(sum);", "33x35x300", "those of rounding C to bfloat16",
    ),
    "a term is missing": ("k < K", "k < K - 1", "33x35x64", "the last term is missing"),
    "a transposed input": ("A[row * K + k]", "A[k * M + row]", "33x35x64", "read as if it were column-major"),
    "an element past the end": (
        GUARDED, "if (row * N + col > M * N || row > M || col >= N) return;", "17x17x5",
        "wrote past the end of C: 1 element beyond its 17 x 17",
    ),
    "an element not written": ("C[row", "if (row + col) C[row", "17x17x5", "1 of 289 elements never written"),
    "an input is written": (
        GUARDED, GUARDED + " ((fp8 *)B)[3] = fp8(400.0f);", "17x17x5",
        "wrote into the input B, first at B[0][3]",
    ),
    "it adds": ("= sum;", "= sum + (float)C[row * N + col];", "17x17x5", "adds to what C held before"),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", ["1x1x1", "17x31x13", "5x5x3000"])
@pytest.mark.parametrize("fmad", [True, False])
def test_a_right_kernel_is_verified(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel, shape: str, fmad: bool
) -> None:
    result = verify_one(cpu, write_kernel(KERNEL), shape, "float8_e4m3", fmad=fmad)
    assert (result.status, result.reason) == ("ok", "")
    assert result.verdict.effective_bits == 8  # those of C


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel, mistake: str) -> None:
    old, new, shape, reason = MISTAKES[mistake]
    assert KERNEL.count(old) == 1
    result = verify_one(cpu, write_kernel(KERNEL.replace(old, new)), shape, "float8_e4m3")
    assert result.status == "failed" and reason in result.reason, result.reason


@pytest.mark.slow
def test_sums_in_the_type_of_c_may_be_allowed(write_kernel: Kernel) -> None:
    old, new, *_ = MISTAKES["sums kept in 16 bits"]
    path = write_kernel(KERNEL.replace(old, new))
    for allowed, status in (("bfloat16", "ok"), ("half", "failed"), ("", "failed")):
        (result,) = cudamm.verify(path, shape=(33, 35, 64), device="cpu", allow_precision=allowed)
        assert (result.dtype, result.status) == ("float8_e4m3", status), allowed


@pytest.mark.sampled(2)
@pytest.mark.parametrize("inputs", ["normal", "integers"])
def test_formats_in_which_all_products_are_exact_allow_nothing(write_kernel: Kernel, inputs: Any) -> None:
    path, options = write_kernel(KERNEL), {"shape": (33, 35, 64), "inputs": inputs, "device": "cpu"}
    results = [cudamm.verify(path, allow_precision=allowed, **options)[0] for allowed in ("", "tf32", "half")]
    assert {result.status for result in results} == {"ok"}
    assert len({(result.verdict.max_error, result.verdict.error_bound) for result in results}) == 1
    assert len({result.verdict.bit_equal for result in results}) == 1


def test_sums_in_the_type_of_c_have_its_rounding_errors_and_no_other() -> None:
    """γ_k of bfloat16, and the errors of a type whose sums are not kept there: no error of a product."""
    allowed, usual = (
        Problem(Shape(7, 9, 40), ELEMENT_TYPES["float8_e4m3"], allowed_precision=name)  # type: ignore[arg-type]
        for name in ("bfloat16", "")
    )
    of_chain = 40 * 2.0**-8 / (1 - 40 * 2.0**-8)
    assert allowed.relative_bound == pytest.approx(of_chain + usual.partial_sum_error)


@pytest.mark.slow
def test_on_whole_numbers_only_the_exact_sum_rounded_once_is_right(write_kernel: Kernel) -> None:
    for new, is_right in (("= sum;", True), ("= sum + (sum == 0 ? 0 : 1);", False)):
        path = write_kernel(KERNEL.replace("= sum;", new))
        (result,) = cudamm.verify(path, shape=(33, 35, 64), inputs="integers", device="cpu")
        assert (result.status == "ok") is is_right
        assert result.verdict.bit_equal is is_right


def test_c_of_another_type_is_refused(write_kernel: Kernel) -> None:
    with pytest.raises(UsageError, match=r"C is declared as __half; .* C is nv_bfloat16 or float"):
        cudamm.verify(write_kernel(KERNEL.replace("__nv_bfloat16 *C", "__half *C")), n=16, device="cpu")


@pytest.mark.parametrize("of_b", ["__nv_bfloat16", "float"])
def test_a_and_b_of_two_types_are_refused(write_kernel: Kernel, of_b: str) -> None:
    declared = f"declared as __nv_fp8_e4m3 and {of_b}"
    with pytest.raises(UsageError, match=declared):
        cudamm.verify(write_kernel(KERNEL.replace("const fp8 *B", f"const {of_b} *B")), n=16, device="cpu")


SIMPLE = [
    "naive", "coalesced", "block-coarse-local", "register-tile", "tiled", "tiled-transposed", "tiled-padded",
    "tiled-bounds", "tiled-dynamic", "tiled-coarse", "double-buffer", "shared-double-buffer", "tile-1d",
    "tile-2d",
]  # fmt: skip


def test_the_simple_methods_have_the_type_and_the_others_refuse_it(
    cpu: Device[Any], verify_one: Kernel
) -> None:
    having_it = [method.name for method in ladder() if "float8_e4m3" in method.element_types]
    assert having_it == [*SIMPLE, "float8"]
    with pytest.raises(UsageError, match=r"warp-tile is written for float32, .*, not float8_e4m3: "):
        verify_one(cpu, "warp-tile", "16x16x16", "float8_e4m3")


def test_bytes_of_c_are_those_of_bfloat16() -> None:
    element = ELEMENT_TYPES["float8_e4m3"]
    (variant,) = variants(find("naive"), {})
    traffic = variant.traffic(element, 10, 20, 30)
    assert traffic is not None
    assert (traffic.load_bytes, traffic.store_bytes) == (2 * 10 * 20 * 30, 2 * 10 * 20)
    assert Shape(10, 20, 30).bytes_of(element) == 10 * 30 + 30 * 20 + 2 * 10 * 20
    problem = Problem(Shape(10, 20, 30), element)
    assert [x.itemsize for x in (*problem.inputs, problem.output)] == [1, 1, 2]


def test_the_bound_is_that_of_short_sums_of_14_bits_of_sums_in_float32_and_of_rounding_to_bfloat16() -> None:
    problem = Problem(Shape(7, 9, 300), ELEMENT_TYPES["float8_e4m3"], seed=2)
    a, b = (x.astype(np.float64) for x in problem.inputs)
    exact, size = a @ b, np.abs(a) @ np.abs(b)
    of_rounding = np.abs(exact) * 2.0**-8
    norms = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=0))
    of_short_sums = 2.0**-10 * norms
    assert (problem.error_bound >= of_rounding + of_short_sums + 2 * 300 * 2.0**-24 * size).all()
    of_sums = 2 * 2 * 300 * 2.0**-24 * size
    assert (problem.error_bound <= of_rounding + 1.01 * (of_short_sums + of_sums) + 2.0**-130).all()
