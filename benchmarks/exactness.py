"""Measure the error of each method's float32 product, for short and long sums.

The script needs a GPU and PyCUDA. Run it with:
python benchmarks/exactness.py
python benchmarks/exactness.py naive tiled stream-k

The error of an element of C = A B is divided by u (|A| |B|), where u = 2⁻²⁴ is the relative error bound of
one rounding: K roundings cause an error of at most K. The script prints the root mean square and the largest
error for M = N = 512. The reference is NumPy's product in float64. The elements are drawn between -1 and 1,
so that errors cancel out, and between 0 and 1.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from cudamm.compile.program import program
from cudamm.devices.find_device import find_gpu
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import plan
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Shape
from cudamm.kernels.variant import variants

FLOAT32 = ELEMENT_TYPES["float32"]
EDGE = 512
KS = (16, 64, 512, 4096, 32768)
METHODS = ("naive", "stream-k", "bf16x9")

Matrix = npt.NDArray[np.float32]


def main(methods: list[str]) -> None:
    """Print the table for these methods."""
    with find_gpu() as device:
        from pycuda import driver

        _print_errors(driver, device, methods)


def _print_errors(cuda: Any, device: Any, methods: list[str]) -> None:
    random = np.random.default_rng(0)
    print(f"| elements | K | {' | '.join(f'`{name}`' for name in methods)} |")
    print(f"|---|---:|{'---:|' * len(methods)}")
    for lowest in (-1, 0):
        for k in KS:
            a, b = (random.uniform(lowest, 1, shape).astype(np.float32) for shape in ((EDGE, k), (k, EDGE)))
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
            expected, unit = wide_a @ wide_b, np.abs(wide_a) @ np.abs(wide_b) * 2.0**-24
            cells = []
            for name in methods:
                errors = np.abs(product(cuda, device, name, a, b) - expected) / unit
                cells.append(f"{np.sqrt(np.mean(errors**2)):.3f}, {errors.max():.2f}")
            print(f"| {lowest} to 1 | {k} | {' | '.join(cells)} |")


def product(cuda: Any, device: Any, name: str, a: Matrix, b: Matrix) -> Matrix:
    """Return a method's product of two matrices, with its default parameters."""
    (variant,) = variants(find(name), {})
    launch = plan(variant, Shape(a.shape[0], b.shape[1], a.shape[1]), FLOAT32)
    cubin = device.compile(program(variant, FLOAT32, True))
    kernel = cuda.module_from_buffer(cubin.image).get_function(cubin.kernel)
    kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.shared_bytes)
    result = np.empty((a.shape[0], b.shape[1]), np.float32)
    kernel(
        *map(np.int32, (a.shape[0], b.shape[1], a.shape[1])), cuda.In(a), cuda.In(b), cuda.Out(result),
        block=launch.block, grid=launch.grid, shared=launch.shared_bytes,
    )  # fmt: skip
    return result


if __name__ == "__main__":
    main(sys.argv[1:] or list(METHODS))
