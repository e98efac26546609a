"""What does a kernel with a wrong result compute? Launches with chosen inputs tell."""

from __future__ import annotations

import numpy as np

from cudamm.devices.device import Run
from cudamm.errors import KernelError
from cudamm.kernels.problem import Matrix, Problem

MOST_WORK = 2**27
"""Maximum number of multiplications to spend; each k takes two launches, so only small problems qualify."""


def adds_to_output(run: Run, element: tuple[int, int]) -> str:
    """Return that the kernel adds to what C held before the launch; empty if it does not."""
    found = []
    try:
        for start in (0, 1):
            run.fill_output(np.full(1, start, run.matrices["C"].dtype).view(np.uint32)[-1])
            run.launch()
            found.append(float(run.product()[element]))
    except KernelError:
        return ""
    # An element that no thread writes keeps its value too: then the first of the two is zero.
    adds = bool(np.isfinite(found).all()) and found[0] != found[1] and found[0] != 0
    return "it adds to what C held before: C has to be set to zero first" if adds else ""


def terms_used(run: Run, problem: Problem, element: tuple[int, int]) -> str:
    """Return which A[row][k] and B[k][column] the kernel adds up for C[row][column], and how often.

    With B all ones and A all zeros but for a one at [row][k], C[row][column] counts the uses of A[row][k].
    The same goes for B. The run's own inputs are put back.

    Args:
        element: row and column of an element found wrong.

    Returns:
        A sentence; empty if every term is used once, the problem is large, or the products of these
        launches make no sense either.
    """
    shape = run.plan.shape
    k_count = problem.shape.k
    if shape.m * shape.n * shape.k * k_count > MOST_WORK:
        return ""
    a, b = run.matrices["A"], run.matrices["B"]
    row, column = element
    try:
        of_a = [_uses(run, (row, k), None, element) for k in range(k_count)]
        of_b = [_uses(run, None, (k, column), element) for k in range(k_count)]
        run.load(a, b)
    except KernelError:
        return ""  # the run is lost, and its inputs need not be put back
    said = [
        _say(name, counts)
        for name, counts in ((f"A[{row}][k]", of_a), (f"B[k][{column}]", of_b))
        if all(c is not None for c in counts) and any(c != 1 for c in counts)
    ]
    return f"C[{row}][{column}] should use every k once: " + " and ".join(said) if said else ""


def _uses(
    run: Run, in_a: tuple[int, int] | None, in_b: tuple[int, int] | None, element: tuple[int, int]
) -> int | None:
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


def _say(name: str, counts: list[int | None]) -> str:
    parts = []
    never = [k for k, count in enumerate(counts) if count == 0]
    often = [k for k, count in enumerate(counts) if count is not None and count > 1]
    if often:
        parts.append(f"{name} is used {counts[often[0]]} times at k = {_ks(often)}")
    if never:
        parts.append(f"{'' if often else name + ' is '}never {'' if often else 'used '}at k = {_ks(never)}")
    return ", ".join(parts)


def _ks(ks: list[int]) -> str:
    shown = ", ".join(map(str, ks[:4]))
    return f"{shown}, … ({len(ks)} in all)" if len(ks) > 4 else shown
