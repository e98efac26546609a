"""The error bound of a product: how far rounding may take each element from its exact value."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from cudamm.errors import UsageError
from cudamm.kernels.method import ElementType
from cudamm.kernels.reference_product import Matrix

PIECES = 8
"""Number of pieces of a matrix, one a thread; the same on every machine, because sums depend on it."""


def error_factors(norms: tuple[Matrix, Matrix], element: ElementType, k: int) -> tuple[Matrix, Matrix]:
    """Return a factor for each row (m) and each column (n); their products are the error bound.

    |err| ≤ γ_k (|A| |B|)ᵢⱼ holds for sums in any order, fused or not: Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., equation (3.13). By Cauchy and Schwarz (|A| |B|)ᵢⱼ is at most the norm of
    A's row times the norm of B's column: for cudamm's inputs a third more, and no second product to compute.

    Args:
        norms: those of A's rows and B's columns, as `norms_of` returns them.

    Raises:
        UsageError: k u ≥ 1, for which no bound holds.
    """
    rows, columns = norms
    # The float64 arithmetic of reference and bound is itself inexact, by far less than this factor.
    return rows * (gamma(element, k) * (1 + 2.0**-20)), columns


def gamma(element: ElementType, k: int) -> float:
    """Return γ_k = k u / (1 − k u), u the unit roundoff; 0 for whole numbers. Raises as `error_factors`."""
    if element.name == "int32":
        return 0.0
    unit_roundoff = float(np.finfo(element.name).eps) / 2
    if k * unit_roundoff >= 1:
        raise UsageError(
            f"K = {k:,} terms can lose every digit of {element.name}: there is no error bound to "
            "verify against; use --dtype float64 or --no-verify"
        )
    return k * unit_roundoff / (1 - k * unit_roundoff)


def norms_of(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """Return the Euclidean norms of A's rows (m) and B's columns (n)."""
    rows = np.concatenate(sums_of_pieces("ik,ik->i", a, a))
    columns = np.sum(sums_of_pieces("kj,kj->j", b, b), axis=0)
    return np.sqrt(rows), np.sqrt(columns)


def sums_of_pieces(indices: str, matrix: Matrix, other: Matrix) -> list[Matrix]:
    """Return the float64 sums over each piece of a matrix's rows; a thread computes each.

    The indices are those of `numpy.einsum`.

    Args:
        other: the same matrix, or a vector that each piece needs all of.
    """

    def sum_of(piece: Matrix) -> Matrix:
        summed: Matrix = np.einsum(indices, piece, piece if other is matrix else other, dtype=np.float64)
        return summed

    with ThreadPoolExecutor() as threads:
        return list(threads.map(sum_of, np.array_split(matrix, PIECES)))
