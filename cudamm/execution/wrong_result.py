"""Find out what a kernel with a wrong result computes, by launching it on chosen inputs."""

from __future__ import annotations

import time

import numpy as np

from cudamm.devices.device import GUARD_BYTES, Run
from cudamm.errors import KernelError
from cudamm.kernels.problem import Matrix, Problem

MOST_WORK = 2**27
"""Maximum number of multiplications in all launches together; each k takes two launches."""

ADDS_TO_OUTPUT = (
    "it adds to what C held before: C has to be set to zero first, or to an old C that it is to add to"
)

IGNORES_BETA = "it adds C instead of beta C"
"""What a kernel that gets beta as an argument does, if beta is 0 and it adds to C all the same."""

NOT_COPIED = "pycuda.driver.Out does not copy C to the GPU"

LEAST_ROUNDED = 2.0**-24
"""Largest error of rounding numbers below the normal range of float16."""

LARGEST_START = 2.0**16
"""Largest value that a sum is taken to begin at. The patterns in unwritten memory are larger."""

WRONG_TERM = "the sum does not begin at 0, or a term is no product"
"""What a sum of numbers without a factor of A may show."""

MOST_SECONDS = 3.0
"""Longest duration of all launches together that `terms_used` may take, in seconds."""


def adds_to_output(run: Run, element: tuple[int, int]) -> str:
    """Return a message if the kernel adds to the previous contents of C; empty if it does not."""
    results = []
    try:
        for start in (0, 1):
            run.fill_output(np.full(2, start, run.matrices["C"].dtype).view(np.uint32)[-1])
            run.launch()
            results.append(float(run.product()[element]))
    except KernelError:
        return ""
    # An element that no thread writes keeps its value: then the first result is zero. One that is written in
    # some launches only may have any two values.
    tolerance = 0.2 if run.matrices["C"].itemsize == 2 else 0.01  # 16-bit results are rounded by more
    # And an element of whose bytes only the lower are written nearly keeps it: the first result is tiny.
    dtype = run.matrices["C"].dtype
    least = float(np.finfo(dtype).tiny) if dtype.kind == "f" else 0.0
    adds = bool(np.isclose(results[1] - results[0], 1, atol=tolerance)) and abs(results[0]) > least
    return ADDS_TO_OUTPUT if adds else ""


def written_as_narrow(run: Run, problem: Problem) -> str:
    """Return a message if C holds the product in the 16-bit type of A and B, packed; empty if it does not.

    The memory of C is that of the last launch.
    """
    element, (m, n) = problem.element, (problem.shape.m, problem.shape.n)
    if not (element.keeps_sums and element.size_bytes == 2):
        return ""
    packed = run.region("C")[GUARD_BYTES:][: run.matrices["C"].size * element.size_bytes].view(element.dtype)
    reference = problem.reference[0]
    with np.errstate(invalid="ignore", over="ignore"):  # a wrong product may hold any bits
        product = run.layouts["C"].matrix_in(packed)[:m, :n].astype(np.float64)
        error, rounding = np.abs(product - reference), 2.0**-element.significant_bits
        is_product = (error <= problem.error_bound + np.abs(reference) * rounding + LEAST_ROUNDED).all()
    if not is_product:
        return ""
    of_results = element.of_results
    return (
        f"the kernel writes C in {element.of_inputs.name}, {element.size_bytes} bytes for each element, and "
        f"C is declared in {of_results.name}, {of_results.size_bytes} bytes"
    )


def terms_used(run: Run, problem: Problem, element: tuple[int, int]) -> str:
    """Return which A[row][k] and B[k][column] the kernel adds up for C[row][column], and how often.

    If B is all ones and A is zero except for a one at [row][k], C[row][column] counts the uses of A[row][k].
    The uses of B[k][column] are counted in the same way. Afterwards the run's own inputs are restored.

    Args:
        element: row and column of a wrong element.

    Returns:
        A sentence; empty if every term is used once, if the problem is large, or if the products of these
        launches are no counts.
    """
    shape = run.plan.shape
    k_count = problem.shape.k
    if shape.m * shape.n * shape.k * k_count > MOST_WORK:
        return ""
    a, b = run.matrices["A"], run.matrices["B"]
    row, column = element
    try:
        begin = time.monotonic()
        run.load(np.zeros_like(a), np.ones_like(b))
        run.fill_output()
        run.launch()
        start = float(run.product()[element])
        if start.is_integer() and 0 < abs(start) < LARGEST_START:
            run.load(a, b)
            return f"C[{row}][{column}] is {start:g} even if A holds only zeros: {WRONG_TERM}"
        if (time.monotonic() - begin) * 2 * k_count > MOST_SECONDS:
            run.load(a, b)
            return ""
        uses_of_a = [_uses(run, (row, k), None, element) for k in range(k_count)]
        uses_of_b = [_uses(run, None, (k, column), element) for k in range(k_count)]
        run.load(a, b)
    except KernelError:
        return ""  # the run failed, and its inputs need not be restored
    mistakes = [
        _unexpected_uses(name, counts)
        for name, counts in ((f"A[{row}][k]", uses_of_a), (f"B[k][{column}]", uses_of_b))
        if all(c is not None for c in counts) and any(c != 1 for c in counts)
    ]
    return f"C[{row}][{column}] should use every k once: " + " and ".join(mistakes) if mistakes else ""


def _uses(
    run: Run, in_a: tuple[int, int] | None, in_b: tuple[int, int] | None, element: tuple[int, int]
) -> int | None:
    """Return an element of the product of `_ones_at` matrices; None if it is no plausible count."""
    a = _ones_at(run.matrices["A"], in_a)
    b = _ones_at(run.matrices["B"], in_b)
    run.load(a, b)
    run.fill_output()
    run.launch()
    count = float(run.product()[element])
    return int(count) if count.is_integer() and 0 <= count < 2**20 else None


def _ones_at(like: Matrix, index: tuple[int, int] | None) -> Matrix:
    """Return zeros with a one at `index`; all ones if `index` is None."""
    if index is None:
        return np.ones_like(like)
    matrix = np.zeros_like(like)
    matrix[index] = 1
    return matrix


def _unexpected_uses(name: str, counts: list[int | None]) -> str:
    """Return a clause about the k at which an element is used never or more than once."""
    parts = []
    never = [k for k, count in enumerate(counts) if count == 0]
    often: dict[int, list[int]] = {}  # the k, by the number of uses
    for k, count in enumerate(counts):
        if count is not None and count > 1:
            often.setdefault(count, []).append(k)
    if often:
        times = [f"{count} times at k = {_shortened(often[count])}" for count in sorted(often)]
        parts.append(f"{name} is used {', '.join(times[:3])}{', … and more often' if len(times) > 3 else ''}")
    if never:
        is_used = "never" if often else f"{name} is never used"
        parts.append(f"{is_used} at k = {_shortened(never)}")
    return ", ".join(parts)


def _shortened(values: list[int]) -> str:
    """Return the first four values as text, and the number of values if there are more."""
    shown = ", ".join(map(str, values[:4]))
    return f"{shown}, … ({len(values)} in all)" if len(values) > 4 else shown
