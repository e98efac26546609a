"""__nv_fp8_e4m3 on the CPU device, compared with ml_dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cudamm.devices.device import Device

Kernel = Callable[..., Any]

KERNEL = """\
// types:   int32
// args:    A, C, N
// threads: 256
// grid:    ceil(N / 256)
#include <cuda_fp8.h>

__device__ unsigned char bits(__nv_fp8_e4m3 x) { return *(unsigned char *)&x; }
__device__ __nv_fp8_e4m3 number(int bits) {
    const unsigned char byte = bits;
    return *(const __nv_fp8_e4m3 *)&byte;
}

__global__ void convert(const int *A, int *C, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= N) return;
    const float x = __int_as_float(A[i]);
    C[i] = bits(__nv_fp8_e4m3(x));
    C[N + i] = bits(__nv_fp8_e4m3((double)x * (1 + 1e-12)));
    C[2 * N + i] = __float_as_int((float)number(i));
    C[3 * N + i] = __float_as_int(__bfloat162float((__nv_bfloat16)number(i)));
    C[4 * N + i] = bits(__nv_fp8_e4m3(i % 1000 - 500));
}
"""


@pytest.fixture(scope="module")
def numbers() -> np.ndarray:
    """Return floats of all sizes, with the middle of every two neighbouring numbers of 8 bits."""
    random = np.random.default_rng(0)
    of_8_bits = np.arange(127, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    ties = ((of_8_bits[1:] + of_8_bits[:-1]) / 2).astype(np.float32)
    near = np.concatenate([np.nextafter(ties, np.float32(side)) for side in (0, 1e9)])
    scattered = np.exp2(random.uniform(-14, 8.8, 3000)).astype(np.float32)
    chosen = np.concatenate([ties, near, scattered, of_8_bits.astype(np.float32)])
    chosen = chosen[chosen <= 448]
    return np.concatenate(
        [chosen, -chosen, np.array([np.nan, np.inf, 1e9, 449, -448.1, -np.inf], np.float32)]
    )


@pytest.mark.slow
def test_conversions_are_rounded_once_and_saturate(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel, numbers: np.ndarray
) -> None:
    n = len(numbers)
    with open_run(cpu, write_kernel(KERNEL), f"5x{n}x{n}", "int32") as run:
        a = np.zeros((5, n), np.int32)
        a[0] = numbers.view(np.int32)
        run.load(a, np.zeros((n, n), np.int32))
        run.launch()
        of_float, of_double, as_float, as_bfloat16, of_int = run.product()
    in_range = numbers[:-6]
    expected = in_range.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    assert of_float[:-6].tolist() == expected.tolist()
    assert of_float[-6:].tolist() == [0x7F, 0x7E, 0x7E, 0x7E, 0xFE, 0xFE]
    # ml_dtypes rounds a double to float first. None of these doubles is the middle of two numbers of 8 bits.
    of_8_bits = np.arange(127, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    larger = np.abs(in_range.astype(np.float64) * (1 + 1e-12))
    nearest = np.searchsorted((of_8_bits[1:] + of_8_bits[:-1]) / 2, larger) | np.signbit(in_range) * 0x80
    assert of_double[:-6].tolist() == nearest.tolist()
    codes = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    for found in (as_float, as_bfloat16):
        values = found[:256].astype(np.int32).view(np.float32)
        assert np.array_equal(values, codes, equal_nan=True)
        assert np.array_equal(np.signbit(values[codes == 0]), [False, True])
    whole = np.clip(np.arange(n) % 1000 - 500, -448, 448).astype(np.float32)
    assert of_int.tolist() == whole.astype(ml_dtypes.float8_e4m3fn).view(np.uint8).tolist()
