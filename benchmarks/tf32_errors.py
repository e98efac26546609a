"""Measure the errors of tf32 kernels against the yardstick; the table is in docs/trust.md.

The script needs NumPy only, and emulates the kernels. Run it with:
python benchmarks/tf32_errors.py
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from summation_orders import one_sum_on_tensor_cores, to_bfloat16, to_half, to_tf32

from cudamm.execution.precision import Yardstick, yardstick_of

Matrix = npt.NDArray[np.float64]

LENGTHS = (1, 4, 16, 64, 256, 1024, 4096, 16384)
EDGE, INSTRUCTION = 20, 8
INPUTS = ("both signs", "normal", "positive", "all 0.1")
KERNELS = (
    "inputs rounded",
    "inputs cut",
    "inputs cut, one sum on tensor cores",
    "inputs rounded to bfloat16",
    "inputs cut to bfloat16",
    "inputs rounded, sums in half precision",
)


def main() -> None:
    """Print a row for each kind of inputs and each kernel: the ratio of its error to the yardstick, by K."""
    random = np.random.default_rng(1)
    print("| inputs | kernel |", " | ".join(map(str, LENGTHS)), "|")
    print("|---|---|" + "---:|" * len(LENGTHS))
    for inputs in INPUTS:
        ratios = [_ratios(inputs, k, random) for k in LENGTHS]
        for kernel, of_kernel in zip(KERNELS, zip(*ratios, strict=True), strict=True):
            print(f"| {inputs} | {kernel} |", " | ".join(f"{ratio:.2f}" for ratio in of_kernel), "|")


def _ratios(inputs: str, k: int, random: np.random.Generator) -> list[float]:
    """Return the ratio of each kernel."""
    a, b = (_drawn(inputs, shape, random) for shape in ((EDGE, k), (k, EDGE)))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    yardstick = yardstick_of(a, b, exact, np.zeros_like(exact), "tf32")
    assert yardstick is not None  # noqa: S101 - no term is 0
    rounded, cut = ((rounding(a), rounding(b)) for rounding in (to_tf32, lambda x: _cut(x, 11)))
    products = (
        _chain(*rounded),
        _chain(*cut),
        one_sum_on_tensor_cores(*cut, INSTRUCTION),
        _chain(to_bfloat16(a), to_bfloat16(b)),
        _chain(_cut(a, 8), _cut(b, 8)),
        _half_sums(*rounded),
    )
    return [_ratio(yardstick, product) for product in products]


def _ratio(yardstick: Yardstick, product: npt.NDArray[np.generic]) -> float:
    precision = yardstick.precision_of(product.astype(np.float32))
    return precision.ratio if precision else float("nan")


def _cut(numbers: npt.NDArray[np.float32], bits: int) -> Matrix:
    mantissa, exponent = np.frexp(numbers.astype(np.float64))
    cut: Matrix = np.ldexp(np.trunc(np.ldexp(mantissa, bits)), exponent - bits)
    return cut


def _chain(a: Matrix, b: Matrix) -> npt.NDArray[np.float32]:
    total = np.zeros((EDGE, EDGE), np.float32)
    for k in range(a.shape[1]):
        total = (total + a[:, k : k + 1] * b[k]).astype(np.float32)
    return total


def _half_sums(a: Matrix, b: Matrix) -> npt.NDArray[np.float64]:
    total = np.zeros((EDGE, EDGE))
    for k in range(a.shape[1]):
        total = to_half(total + a[:, k : k + 1] * b[k])
    return total


def _drawn(inputs: str, shape: tuple[int, int], random: np.random.Generator) -> npt.NDArray[np.float32]:
    if inputs == "all 0.1":
        return np.full(shape, 0.1, np.float32)
    if inputs == "normal":
        return random.standard_normal(shape).astype(np.float32)
    return random.uniform(0 if inputs == "positive" else -1, 1, shape).astype(np.float32)


if __name__ == "__main__":
    main()
