"""Kernels whose C has a wider type than A and B, factors of 16 bits, and arguments beside A, B and C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cudamm.benchmark.result import Result
from cudamm.benchmark.verify import verify_all
from cudamm.devices.device import Device
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.header import read_method
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Scale, parse_shape
from cudamm.kernels.variant import variants

WriteKernel = Callable[..., Path]

PLAIN = """\
// threads: 16, 8
// grid:    ceil(N / 16), ceil(M / 8)
// args:    M, N, K, A, B, C{more}

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

__global__ void plain(int M, int N, int K, const {a} *A, const {a} *B, {c} *C{parameters}) {{
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    {sum} sum = 0;
    for (int k = 0; k < K; ++k) sum += ({sum})A[row * K + k] * ({sum})B[k * N + col];
    {store}
}}
"""


def plain(
    a: str = "float", c: str = "float", more: str = "", parameters: str = "", store: str = "", **of: str
) -> str:
    total = of.get("sum", "int" if c == "int" else "float")
    store = store or "C[row * N + col] = sum;"
    return PLAIN.format(a=a, c=c, sum=total, more=more, parameters=parameters, store=store)


def verified(device: Device[Any], path: Path, shape: str = "33x34x70", scale: Scale | None = None) -> Result:
    method = read_method(path)
    element = ELEMENT_TYPES[method.element_types[0]]
    problem = Problem(parse_shape(shape), element, scale=scale or Scale(1.0, 0.0))
    with InProcessExecutor(device) as executor:
        cases = [(variants(method, {})[0], problem)]
        (result,) = verify_all(executor, cases, True, lambda *_: None)
    return result


@pytest.mark.parametrize(
    ("a", "c", "dtype"),
    [
        ("half", "float", "float16_to_float32"),
        ("__nv_bfloat16", "float", "bfloat16_to_float32"),
        ("__nv_fp8_e4m3", "float", "float8_e4m3_to_float32"),
        ("signed char", "int", "int8"),
    ],
)
def test_c_may_have_the_type_of_the_sums(
    device: Device[Any], write_kernel: WriteKernel, a: str, c: str, dtype: str
) -> None:
    result = verified(device, write_kernel(plain(a, c)))
    assert (result.dtype, result.status, result.reason) == (dtype, "ok", "")
    wrong = verified(device, write_kernel(plain(a, c, store="C[row * N + col] = sum + (row == 7);")))
    assert wrong.status == "failed"


def test_sums_in_half_are_no_sums_in_float(device: Device[Any], write_kernel: WriteKernel) -> None:
    result = verified(device, write_kernel(plain("half", "float", sum="half")))
    assert "a product, a sum or C is rounded to fewer bits than float32 has" in result.reason


@pytest.mark.parametrize("narrow", ["half", "__nv_bfloat16"])
def test_a_c_that_is_written_in_the_type_of_a_is_named(
    device: Device[Any], write_kernel: WriteKernel, narrow: str
) -> None:
    result = verified(device, write_kernel(plain(narrow, store=f"(({narrow} *)C)[row * N + col] = sum;")))
    assert "the kernel writes C in " in result.reason
    assert "2 bytes for each element, and C is declared in float32, 4 bytes" in result.reason


@pytest.mark.parametrize("bits", [8, 16])
def test_whole_numbers_that_are_summed_in_few_bits_are_named(
    device: Device[Any], write_kernel: WriteKernel, bits: int
) -> None:
    result = verified(
        device, write_kernel(plain("signed char", "int", sum={8: "signed char", 16: "short"}[bits]))
    )
    assert f"C has the last {bits} bits of the product" in result.reason


@pytest.mark.parametrize("of_factors", ["half", "__nv_bfloat16", "double", "int"])
def test_factors_are_passed_by_value_in_any_type(
    device: Device[Any], write_kernel: WriteKernel, of_factors: str
) -> None:
    parameters = f", {of_factors} alpha, {of_factors} beta"
    store = "C[row * N + col] = (float)alpha * sum + (float)beta * (float)C[row * N + col];"
    path = write_kernel(plain("half", "half", ", alpha, beta", parameters, store))
    for scale in (Scale(1.0, 0.0), Scale(-2.0, 3.0)):
        result = verified(device, path, scale=scale)
        assert (result.status, result.reason) == ("ok", "")


def test_memory_that_a_kernel_only_writes_is_large_enough_for_all_threads(
    device: Device[Any], write_kernel: WriteKernel
) -> None:
    parameters = ", long long *ticks, float *partial"
    thread = (
        "((long long)(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.y + threadIdx.y) * 16 + threadIdx.x"
    )
    store = f"ticks[{thread}] = clock64(); partial[row * N + col] = sum; C[row * N + col] = sum;"
    path = write_kernel(plain(more=", scratch, scratch", parameters=parameters, store=store))
    assert verified(device, path, "100x1x3").status == "ok"
    assert verified(device, path).status == "ok"


def test_a_kernel_reads_an_array_from_a_file(
    device: Device[Any], write_kernel: WriteKernel, tmp_path: Path
) -> None:
    store = "C[order[row] * N + col] = sum;"
    path = write_kernel(plain(more=", file(order.npy)", parameters=", const int *order", store=store))
    np.save(tmp_path / "order.npy", np.arange(33, dtype=np.int32))
    assert verified(device, path).status == "ok"
    np.save(tmp_path / "order.npy", np.roll(np.arange(33, dtype=np.int32), 1))
    assert verified(device, path).status == "failed"
