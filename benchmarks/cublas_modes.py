"""Measure rate and error of cuBLAS's modes for a float32 product: plain, emulated with BF16x9, and TF32.

The script needs a GPU, PyCUDA, nvmath-python and cuBLAS. Run it with:
python benchmarks/cublas_modes.py
python benchmarks/cublas_modes.py 4096 8192

The script measures the modes one after the other: the median of seven launches from a warm cache, and the
largest error against NumPy's float64 product. If a mode has the same rate and error as the plain mode, cuBLAS
has used the plain mode: it is allowed to emulate, but need not.
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
"""Name of the mode, math mode, emulation strategy, and compute type of cublasGemmEx; None for cublasSgemm."""

PLAIN, EMULATED = cublas.Math.DEFAULT_MATH, cublas.Math.FP32_EMULATED_BF16X9_MATH
BF16X9, TF32 = cublas.ComputeType.COMPUTE_32F_EMULATED_16BFX9, cublas.ComputeType.COMPUTE_32F_FAST_TF32
DEFAULT_STRATEGY, IF_FASTER, ALWAYS = 0, 1, 2
MODES: tuple[Mode, ...] = (
    ("float32", PLAIN, DEFAULT_STRATEGY, None),
    ("BF16x9, by compute type", PLAIN, DEFAULT_STRATEGY, BF16X9),
    ("BF16x9, if faster", PLAIN, IF_FASTER, BF16X9),
    ("BF16x9, always", PLAIN, ALWAYS, BF16X9),
    ("BF16x9, by math mode, always", EMULATED, ALWAYS, None),
    ("TF32", PLAIN, DEFAULT_STRATEGY, TF32),
)


def main(sizes: list[int]) -> None:
    """Measure every mode at every size."""
    with find_gpu():
        from pycuda import driver

        for n in sizes:
            _measure(driver, n)


def _measure(cuda: Any, n: int) -> None:
    random = np.random.default_rng(0)
    a, b = (random.random((n, n), np.float32) - np.float32(0.5) for _ in range(2))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    device_a, device_b, device_c = cuda.to_device(a), cuda.to_device(b), cuda.mem_alloc(a.nbytes)
    workspace, scalars = cuda.mem_alloc(WORKSPACE_BYTES), np.array([1, 0], np.float32)
    one, zero = scalars.ctypes.data, scalars.ctypes.data + scalars.itemsize
    handle = cublas.create()
    cublas.set_workspace(handle, int(workspace), WORKSPACE_BYTES)
    for name, math_mode, strategy, compute in MODES:
        cublas.set_math_mode(handle, math_mode)
        cublas.set_emulation_strategy(handle, strategy)

        def product(compute: int | None = compute) -> None:
            # cuBLAS stores matrices by columns: read that way, the row-major matrices are transposed, and
            # C = A B is computed as the product of B and A.
            p_a, p_b, p_c = int(device_a), int(device_b), int(device_c)
            if compute is None:
                cublas.sgemm(handle, 0, 0, n, n, n, one, p_b, n, p_a, n, zero, p_c, n)
            else:
                cublas.gemm_ex(
                    handle, 0, 0, n, n, n, one, p_b, 0, n, p_a, 0, n, zero, p_c, 0, n, compute, -1
                )  # fmt: skip

        product()
        begin, end, times_ms = cuda.Event(), cuda.Event(), []
        for _ in range(LAUNCHES):
            begin.record()
            product()
            end.record()
            end.synchronize()
            times_ms.append(begin.time_till(end))
        result = cuda.from_device(device_c, (n, n), np.float32)
        tflops = 2 * n**3 / float(np.median(times_ms)) / 1e9
        print(f"{n:6} {name:30} {tflops:6.1f} TFLOP/s   largest error {np.abs(result - expected).max():.2e}")
    cublas.destroy(handle)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [4096, 8192])
