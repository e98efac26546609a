"""Matrices of float16 and bfloat16: sums are kept in float32, and each is rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cudamm.benchmark.verify import verify_all
from cudamm.devices.device import Device
from cudamm.errors import UsageError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.precision import yardstick_of
from cudamm.kernels.header import read_method
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants

Kernel = Callable[..., Any]
TYPES = ("float16", "bfloat16")

KERNEL = """// A kernel of a user, with CUDA's own names of the types.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)

#include <cuda_fp16.h>
#include <cuda_bf16.h>

__global__ void product(int M, int N, int K, const TYPE *A, const TYPE *B, TYPE *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += (float)A[row * K + k] * (float)B[k * N + col];
    C[row * N + col] = sum;
}
"""
C_NAMES = {"float16": "half", "bfloat16": "__nv_bfloat16"}
MISTAKES = {
    "sums kept in 16 bits": ("float sum", "TYPE sum", "33x35x64", "times those of rounding C to"),
    "a term is missing": ("k < K", "k < K - 1", "33x35x64", "the last term is missing"),
    "an element is written past the end": (
        "if (row >= M || col >= N) return;",
        "if (row * N + col > M * N || row > M || col >= N) return;",
        "17x17x5",
        "wrote past the end of C: 1 element beyond its 17 x 17",
    ),
    "an element is not written": (
        "C[row",
        "if (row + col) C[row",
        "17x17x5",
        "1 of 289 elements never written, first C[0][0]",
    ),
    "it adds to what C held": ("C[row * N + col] = sum", "C[row * N + col] = sum + (float)C[row * N + col]",
                               "17x17x5", "it adds to what C held before"),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", ["1x1x1", "17x31x13", "5x5x3000"])
def test_a_right_kernel_is_verified(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel, dtype: str, shape: str
) -> None:
    result = verify_one(cpu, write_kernel(KERNEL.replace("TYPE", C_NAMES[dtype])), shape, dtype)
    assert (result.status, result.reason) == ("ok", "")
    assert result.verdict.effective_bits in (None, ELEMENT_TYPES[dtype].significant_bits)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("dtype", TYPES)
def test_a_mistake_is_named(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel, dtype: str, mistake: str
) -> None:
    old, new, shape, reason = MISTAKES[mistake]
    assert KERNEL.count(old) == 1
    source = KERNEL.replace(old, new).replace("TYPE", C_NAMES[dtype])
    result = verify_one(cpu, write_kernel(source), shape, dtype)
    assert result.status == "failed" and reason in result.reason, result.reason


def test_a_result_that_is_cut_off_instead_of_rounded_is_wrong(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel
) -> None:
    source = KERNEL.replace("= sum;", "= __float2half_rz(sum);").replace("TYPE", "half")
    result = verify_one(cpu, write_kernel(source), "33x35x64", "float16")
    assert result.status == "failed" and "elements wrong" in result.reason


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("k", [16, 300])
def test_only_sums_in_float32_have_the_errors_of_rounding(dtype: str, k: int) -> None:
    """The reference is NumPy's sum in float64, whose terms are exact."""
    element = ELEMENT_TYPES[dtype]
    random = np.random.default_rng(k)
    a, b = (random.uniform(-1, 1, shape).astype(element.dtype) for shape in ((64, k), (k, 64)))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    yardstick = yardstick_of(a, b, exact, np.zeros_like(exact), dtype)
    assert yardstick is not None
    in_float32 = np.zeros((64, 64), np.float32)
    in_element = np.zeros((64, 64), element.dtype)
    for i in range(k):
        terms = a[:, i : i + 1].astype(np.float32) * b[i].astype(np.float32)
        in_float32 += terms
        in_element = (in_element.astype(np.float32) + terms).astype(element.dtype)
    right = yardstick.precision_of(in_float32.astype(element.dtype))
    wrong = yardstick.precision_of(in_element)
    assert right is not None and wrong is not None
    assert 0.8 < right.ratio < 1.2 and not right.is_lower
    assert wrong.is_lower and wrong.ratio > 2.4


@pytest.mark.parametrize("dtype", TYPES)
def test_sums_in_the_element_type_may_be_allowed(cpu: Device[Any], write_kernel: Kernel, dtype: str) -> None:
    old, new, *_ = MISTAKES["sums kept in 16 bits"]
    (variant,) = variants(
        read_method(write_kernel(KERNEL.replace(old, new).replace("TYPE", C_NAMES[dtype]))), {}
    )
    allowed: Any = {"float16": "half", "bfloat16": "bfloat16"}[dtype]
    for k, words in ((64, ""), (3000, f"can lose every digit of {dtype}")):
        problem = Problem(Shape(33, 35, k), ELEMENT_TYPES[dtype], allowed_precision=allowed)
        with InProcessExecutor(cpu) as executor:
            try:
                (result,) = verify_all(executor, [(variant, problem)], True, lambda *_: None)
                assert (result.status, result.reason, words) == ("ok", "", "")
            except UsageError as error:
                assert words and words in str(error)
