"""A sample of the elements of a product, with the sums that they should be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cudamm.kernels.problem import Matrix, Problem
from cudamm.kernels.reference_product import reference_product

PIECE_STEPS = 1024
"""Number of values of k whose squares are summed at a time."""


@dataclass(frozen=True)
class SampledProduct:
    """The elements of a product C in some rows and columns; all matrices are float64, r x c.

    Attributes:
        elements: the elements that a kernel computed.
        high: high part of the sums that they should be.
        low: low part of these sums, as in `reference_product`.
        squares: Σ a² b² over the terms of each element.
    """

    elements: Matrix
    high: Matrix
    low: Matrix
    squares: Matrix


def sampled_product(problem: Problem, product: Matrix, rows: Matrix, columns: Matrix) -> SampledProduct:
    """Return the elements of a problem's product in some rows and columns, with sums computed on the host."""
    a, b, element = problem.inputs[0][rows], problem.inputs[1][:, columns], problem.element
    with np.errstate(invalid="ignore"):  # a wrong kernel may store the bits of a signalling nan
        elements = product[np.ix_(rows, columns)].astype(np.float64)
    of_sums = element.of_sums.dtype
    squares = sum_of_squared_terms(a.astype(of_sums, copy=False), b.astype(of_sums, copy=False))
    return SampledProduct(elements, *reference_product(a, b, element), squares)


def sum_of_squared_terms(a: Matrix, b: Matrix) -> Matrix:
    """Return Σ a² b² of each element of A B, in float64 (m x n)."""
    total = np.zeros((a.shape[0], b.shape[1]))
    with np.errstate(over="ignore"):
        for begin in range(0, a.shape[1], PIECE_STEPS):
            piece = slice(begin, begin + PIECE_STEPS)
            total += a[:, piece].astype(np.float64) ** 2 @ b[piece].astype(np.float64) ** 2
    return total
