"""Matrices of tf32: float32 in memory, of which a kernel multiplies the first 11 significant bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import cudamm
from cudamm.devices.device import Device
from cudamm.errors import UsageError
from cudamm.execution.precision import describe, yardstick_of
from cudamm.kernels.ladder import ladder
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape

Kernel = Callable[..., Any]
Matrix = npt.NDArray[Any]
TF32 = ELEMENT_TYPES["tf32"]

KERNEL = """// A kernel that multiplies what ROUNDED leaves of each element.
//
// types:   tf32
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)

#include <cuda_bf16.h>

__device__ float cut(float x) { return __uint_as_float(__float_as_uint(x) & 0xFFFFE000); }
__device__ float rounded(float x) { return cut(__uint_as_float(__float_as_uint(x) + 0x1000)); }
__device__ float bfloat16(float x) { return __bfloat162float(__float2bfloat16(x)); }

__global__ void product(int M, int N, int K, const element *A, const element *B, element *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += ROUNDED(A[row * K + k]) * ROUNDED(B[k * N + col]);
    C[row * N + col] = sum;
}
"""


def source(rounded: str) -> str:
    return KERNEL.replace("ROUNDED(", f"{rounded}(")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("rounding", ["cut", "rounded", ""])
@pytest.mark.parametrize("shape", ["1x1x1", "17x31x13", "5x5x3000"])
def test_inputs_may_be_cut_or_rounded_to_11_bits(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel, rounding: str, shape: str
) -> None:
    result = verify_one(cpu, write_kernel(source(rounding)), shape, "tf32")
    assert (result.status, result.reason) == ("ok", "")
    assert (result.dtype, result.verdict.effective_bits) == ("tf32", 11)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("rounding", "old", "new", "shape", "reason"),
    [
        ("bfloat16", "", "", "33x35x64", "errors like those of 8-bit products (bfloat16); tf32 has 11"),
        ("cut", "k < K", "k < K - 1", "33x35x64", "the last term is missing"),
        ("cut", "= sum;", "= 2 * sum;", "33x35x64", "C is 2 times the product"),
        ("cut", "A[row * K + k]", "A[k * M + row]", "33x35x64", "A is read as if it were column-major"),
        ("cut", "float sum", "__nv_bfloat16 sum", "33x35x64", "elements wrong"),
        ("cut", "if (row >= M ||", "if (row > M || row * N + col > M * N ||", "17x17x5",
         "wrote past the end of C: 1 element beyond its 17 x 17"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(
    cpu: Device[Any],
    verify_one: Kernel,
    write_kernel: Kernel,
    rounding: str,
    old: str,
    new: str,
    shape: str,
    reason: str,
) -> None:
    text = source(rounding)
    assert not old or text.count(old) == 1
    result = verify_one(cpu, write_kernel(text.replace(old, new, 1)), shape, "tf32")
    assert result.status == "failed" and reason in result.reason, result.reason


@pytest.mark.slow
def test_on_whole_numbers_only_the_exact_product_is_right(cpu: Device[Any], write_kernel: Kernel) -> None:
    for text, is_right in (
        (source("cut"), True),
        (source("cut").replace("= sum;", "= sum * 1.0000001f;"), False),
    ):
        (result,) = cudamm.verify(
            write_kernel(text), shape=(33, 35, 64), dtype="tf32", inputs="integers", device="cpu"
        )
        assert (result.status == "ok") is is_right
        assert result.verdict.bit_equal is is_right


@pytest.mark.slow
def test_a_lower_precision_than_tf32_may_be_allowed(write_kernel: Kernel) -> None:
    path, options = (
        write_kernel(source("bfloat16")),
        {"shape": (33, 35, 64), "dtype": "tf32", "device": "cpu"},
    )
    for allowed, status in (("bfloat16", "ok"), ("tf32", "failed"), ("half", "failed")):
        (result,) = cudamm.verify(path, allow_precision=allowed, **options)
        assert result.status == status, allowed


@pytest.mark.slow
def test_the_same_kernel_is_refused_in_float32_unless_tf32_is_allowed(write_kernel: Kernel) -> None:
    path = write_kernel(source("cut").replace("tf32", "float32", 1))
    options = {"shape": (33, 35, 64), "dtype": "float32", "device": "cpu"}
    assert [cudamm.verify(path, allow_precision=name, **options)[0].status for name in ("", "tf32")] == [
        "failed",
        "ok",
    ]


def test_methods_of_float32_are_no_methods_of_tf32(cpu: Device[Any], verify_one: Kernel) -> None:
    assert [method.name for method in ladder() if "tf32" in method.element_types] == [
        "mma-tf32",
        "register-operand",
    ]
    with pytest.raises(UsageError, match=r"tiled is written for float32, .*, not tf32: .* --dtype$"):
        verify_one(cpu, "tiled", "16x16x16", "tf32")


def exact_and_size(a: Matrix, b: Matrix) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """Return A B and |A| |B| without rounding."""

    def product(size: Callable[[Fraction], Fraction]) -> list[list[Fraction]]:
        rows = [[size(Fraction(float(x))) for x in row] for row in a]
        columns = [[size(Fraction(float(x))) for x in column] for column in b.T]
        return [[sum((x * y for x, y in zip(r, c, strict=True)), Fraction(0)) for c in columns] for r in rows]

    return product(lambda x: x), product(abs)


@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_the_bound_allows_products_of_inputs_that_are_cut_and_sums_that_are_cut(kind: Any) -> None:
    """The reference is exact: inputs cut to 11 bits, and after each term a sum that is cut to 24 bits."""
    problem = Problem(Shape(4, 5, 300), TF32, seed=3, input_kind=kind)
    a, b = problem.inputs
    assert a.dtype == np.float32
    exact, size = exact_and_size(a, b)
    for i in range(4):
        for j in range(5):
            total = Fraction(0)
            for k in range(300):
                factors = (toward_zero(Fraction(float(x)), 11) for x in (a[i, k], b[k, j]))
                total = toward_zero(total + math.prod(factors), 24)
            error = abs(total - exact[i][j])
            bound = Fraction(float(problem.error_bound[i, j]))
            assert error <= bound
            # 2 · 2⁻¹⁰ for the inputs, 2 K u for the sums; (|A| |B|) is at most the product of the norms.
            assert bound >= size[i][j] * (Fraction(2, 2**10) + 300 * Fraction(2, 2**24))
            assert bound <= 2 * size[i][j] * (Fraction(2, 2**10) + 300 * Fraction(2, 2**24))


def toward_zero(x: Fraction, bits: int) -> Fraction:
    """Return the number of so many significant bits that is next to x, toward zero."""
    if not x:
        return x
    exponent = abs(x).numerator.bit_length() - abs(x).denominator.bit_length()
    unit = Fraction(2) ** (exponent - bits - 1)
    while abs(x) / unit >= 2**bits:
        unit *= 2
    return int(x / unit) * unit


@pytest.mark.parametrize("k", [1, 16, 300])
@pytest.mark.parametrize("lowest", [-1, 0])
def test_the_yardstick_tells_11_bits_from_8(k: int, lowest: int) -> None:
    """Sums are NumPy's, in float64."""
    random = np.random.default_rng([k, lowest + 1])
    a, b = (random.uniform(lowest, 1, shape).astype(np.float32) for shape in ((40, k), (k, 40)))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    yardstick = yardstick_of(a, b, exact, np.zeros_like(exact), "tf32")
    assert yardstick is not None

    def ratio(dropped: int, up: int) -> tuple[float, str]:
        """Return the ratio of products of inputs without so many bits, and its description."""
        factors = (
            ((x.view(np.uint32) + np.uint32(up)) >> np.uint32(dropped) << np.uint32(dropped)).view(np.float32)
            for x in (a, b)
        )
        left, right = (x.astype(np.float64) for x in factors)
        precision = yardstick.precision_of((left @ right).astype(np.float32))
        assert precision is not None
        return precision.ratio, describe(precision)

    assert ratio(13, 0) == (pytest.approx(1, abs=0.15), "errors like those of tf32")
    assert ratio(13, 2**12)[0] < 0.6
    rounded, text = ratio(16, 2**15)
    assert rounded > 1.75 or lowest == 0
    assert lowest == 0 or text == "errors like those of 8-bit products (bfloat16); tf32 has 11"
    assert ratio(16, 0)[0] > 6
