"""Measure the errors of float8_e4m3 on emulated tensor cores; the table is in docs/trust.md.

The script needs no GPU, because it emulates the kernels. Run it with:
python benchmarks/float8_errors.py
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cudamm.execution.precision import yardstick_of
from cudamm.kernels.input_kinds import InputKind, named_kind
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape

Matrix = npt.NDArray[np.float64]

FLOAT8 = ELEMENT_TYPES["float8_e4m3"]
LENGTHS = (16, 32, 64, 128, 256, 1024, 4096, 16384, 65536)
KINDS: tuple[InputKind, ...] = ("normal", "uniform")
KERNELS = {"sums of 128 products": 128, "one sum": 0}

SHORT, SEEDS, EDGE = (8, 16, 33, 64, 96, 128, 160, 256), 12, 200
"""Lengths of sums of which many are emulated, matrices of each length, and their rows and columns."""

GROUP = 32
"""Number of products that an instruction adds."""

FRACTION_BITS = 13
"""Number of bits below the largest exponent that an instruction keeps."""

LEAST_EXPONENT = -6
"""Exponent of the smallest normal number of float8_e4m3, and of the numbers below it."""


def on_tensor_cores(a: Matrix, b: Matrix, longest: int) -> npt.NDArray[np.float32]:
    """Return A B as Hopper's tensor cores add it, whose sums of so many products are added in float32.

    Args:
        longest: a multiple of GROUP; 0 for a single sum over all of K.
    """
    padding = -a.shape[1] % GROUP
    a, b = np.pad(a, ((0, 0), (0, padding))), np.pad(b, ((0, padding), (0, 0)))
    k = a.shape[1]
    of_a, of_b = _exponents(a, LEAST_EXPONENT), _exponents(b, LEAST_EXPONENT)
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    part = np.zeros(total.shape)
    for begin in range(0, k, GROUP):
        group = slice(begin, begin + GROUP)
        products = a[:, group, None] * b[None, group]
        largest = (of_a[:, group, None] + of_b[None, group]).max(axis=1)
        unit = np.ldexp(1.0, np.maximum(largest, _exponents(part)) - FRACTION_BITS)
        part = (np.trunc(products / unit[:, None]).sum(axis=1) + np.trunc(part / unit)) * unit
        part = _cut(part)
        if begin + GROUP == k or (longest and (begin + GROUP) % longest == 0):
            total = (total + part).astype(np.float32)
            part = np.zeros(total.shape)
    return total


def _exponents(numbers: Matrix, least: int = -100) -> npt.NDArray[np.intc]:
    """Return the exponents, at least `least`; a very small number for 0."""
    exponents = np.maximum(np.frexp(numbers)[1] - 1, least)
    return np.where(numbers == 0, -100, exponents).astype(np.intc)


def _cut(sums: Matrix) -> Matrix:
    mantissa, exponent = np.frexp(sums)
    cut: Matrix = np.ldexp(np.trunc(np.ldexp(mantissa, FRACTION_BITS + 1)), exponent - FRACTION_BITS - 1)
    return cut


def main() -> None:
    """Print two rows for each kind of inputs and each kernel, and the share of wrong whole numbers, by K."""
    print("| inputs | kernel | |", " | ".join(map(str, LENGTHS)), "|")
    print("|---|---|---|" + "---:|" * len(LENGTHS))
    for kind in KINDS:
        for kernel, longest in KERNELS.items():
            ratios, errors = zip(*(_ratio_and_error(kind, k, longest) for k in LENGTHS), strict=True)
            print(f"| {kind} | {kernel} | ratio |", " | ".join(f"{ratio:.2f}" for ratio in ratios), "|")
            print(f"| {kind} | {kernel} | error |", " | ".join(f"{error:.2f}" for error in errors), "|")
    for kernel, longest in KERNELS.items():
        wrong = [_wrong_whole_numbers(k, longest) for k in LENGTHS]
        print(f"| integers | {kernel} | wrong |", " | ".join(f"{share:.0%}" for share in wrong), "|")

    for inputs in (*KINDS, "positive"):
        found = [_largest_error(inputs, k, seed) for k in SHORT for seed in range(SEEDS)]
        count = len(found) * EDGE * EDGE
        print(
            f"{count:,} sums of {SHORT[0]} to {SHORT[-1]} products, {inputs}: error at most {max(found):.2f}"
        )


def _largest_error(kind: str, k: int, seed: int) -> float:
    """Return the largest error of EDGE x EDGE sums of one matrix product, as in the table."""
    if kind == "positive":
        random = np.random.default_rng(seed)
        a, b = (
            random.uniform(0, 1, shape).astype(FLOAT8.dtype).astype(np.float64)
            for shape in ((EDGE, k), (k, EDGE))
        )
    else:
        problem = Problem(Shape(EDGE, EDGE, k), FLOAT8, seed, input_kind=named_kind(kind) or "normal")
        a, b = (matrix.astype(np.float64) for matrix in problem.inputs)
    return _error_of_sums(on_tensor_cores(a, b, 128), a, b)


def _error_of_sums(sums: npt.NDArray[np.float32], a: Matrix, b: Matrix) -> float:
    """Return the largest error of a sum as a share of the norms of its factors, in units of 2⁻¹³."""
    norms = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=0))
    return float((np.abs(sums - a @ b) / norms).max() * 2.0**FRACTION_BITS)


def _problem(kind: InputKind, k: int, seed: int = 1) -> Problem:
    edge = 64 if k <= 1024 else 32
    return Problem(Shape(edge, edge, k), FLOAT8, seed, input_kind=kind)


def _ratio_and_error(kind: InputKind, k: int, longest: int) -> tuple[float, float]:
    """Return the error of C in multiples of the yardstick, and the largest one of a sum."""
    problem = _problem(kind, k)
    a, b = (matrix.astype(np.float64) for matrix in problem.inputs)
    sums = on_tensor_cores(a, b, longest)
    yardstick = yardstick_of(*problem.inputs, *problem.reference, FLOAT8.name)
    precision = yardstick.precision_of(sums.astype(FLOAT8.of_results.dtype)) if yardstick else None
    return (precision.ratio if precision else float("nan")), _error_of_sums(sums, a, b)


def _wrong_whole_numbers(k: int, longest: int) -> float:
    problem = _problem("integers", k)
    a, b = (matrix.astype(np.float64) for matrix in problem.inputs)
    found = on_tensor_cores(a, b, longest).astype(FLOAT8.of_results.dtype)
    return float((found.astype(np.float64) != problem.nearest(a @ b)).mean())


if __name__ == "__main__":
    main()
