"""What cuBLAS computes a float32 product with, if it is asked for more than the elements' own precision.

Needs a GPU, PyCUDA, nvmath-python and cuBLAS. Run with:
python benchmarks/cublas_modes.py
python benchmarks/cublas_modes.py 4096 8192

Each mode in turn, the median of seven launches from a warm cache, and the largest error beside NumPy's
float64 product. A mode of the same rate and error as the plain one is the plain one: cuBLAS may emulate,
it need not.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from nvmath.bindings import cublas

from cudamm.devices.find_device import find_gpu

WORKSPACE_BYTES = 64 << 20
LAUNCHES = 7

Mode = tuple[str, int, int, int | None]
"""What it is called; math mode, strategy of emulation and, of cublasGemmEx, the compute type."""

PLAIN, EMULATED = cublas.Math.DEFAULT_MATH, cublas.Math.FP32_EMULATED_BF16X9_MATH
BF16X9, TF32 = cublas.ComputeType.COMPUTE_32F_EMULATED_16BFX9, cublas.ComputeType.COMPUTE_32F_FAST_TF32
AS_IT_LIKES, IF_FASTER, ALWAYS = 0, 1, 2
MODES: tuple[Mode, ...] = (
    ("float32", PLAIN, AS_IT_LIKES, None),
    ("BF16x9, by compute type", PLAIN, AS_IT_LIKES, BF16X9),
    ("BF16x9, if faster", PLAIN, IF_FASTER, BF16X9),
    ("BF16x9, always", PLAIN, ALWAYS, BF16X9),
    ("BF16x9, by math mode, always", EMULATED, ALWAYS, None),
    ("TF32", PLAIN, AS_IT_LIKES, TF32),
)


def main(sizes: list[int]) -> None:
    with find_gpu():
        from pycuda import driver

        for n in sizes:
            _compare(driver, n)


def _compare(cuda: Any, n: int) -> None:
    random = np.random.default_rng(0)
    a, b = (random.random((n, n), np.float32) - np.float32(0.5) for _ in range(2))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    a_there, b_there, c_there = cuda.to_device(a), cuda.to_device(b), cuda.mem_alloc(a.nbytes)
    workspace, scalars = cuda.mem_alloc(WORKSPACE_BYTES), np.array([1, 0], np.float32)
    one, zero = scalars.ctypes.data, scalars.ctypes.data + scalars.itemsize
    handle = cublas.create()
    cublas.set_workspace(handle, int(workspace), WORKSPACE_BYTES)
    for name, math_mode, strategy, compute in MODES:
        cublas.set_math_mode(handle, math_mode)
        cublas.set_emulation_strategy(handle, strategy)

        def product(compute: int | None = compute) -> None:
            # Row by row, C = A B is column by column the product of B and A.
            from_a, from_b, to = int(a_there), int(b_there), int(c_there)
            if compute is None:
                cublas.sgemm(handle, 0, 0, n, n, n, one, from_b, n, from_a, n, zero, to, n)
            else:
                cublas.gemm_ex(
                    handle, 0, 0, n, n, n, one, from_b, 0, n, from_a, 0, n, zero, to, 0, n, compute, -1
                )  # fmt: skip

        product()
        begin, end, taken_ms = cuda.Event(), cuda.Event(), []
        for _ in range(LAUNCHES):
            begin.record()
            product()
            end.record()
            end.synchronize()
            taken_ms.append(begin.time_till(end))
        got = cuda.from_device(c_there, (n, n), np.float32)
        rate = 2 * n**3 / float(np.median(taken_ms)) / 1e9
        print(f"{n:6} {name:30} {rate:6.1f} TFLOP/s   largest error {np.abs(got - expected).max():.2e}")
    cublas.destroy(handle)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [4096, 8192])
