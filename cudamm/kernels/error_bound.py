"""The error bound of a product: the maximum rounding error of each element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cudamm.errors import UsageError
from cudamm.kernels.in_threads import in_threads
from cudamm.kernels.method import ElementType
from cudamm.kernels.reference_product import Matrix

PIECES = 8
"""Number of pieces of a matrix, one per thread; fixed, because the rounding of the sums depends on it."""

LEAST_IN_THREADS = 2**16
"""Number of elements below which starting threads takes longer than the work."""


def error_factors(norms: tuple[Matrix, Matrix], relative_bound: float) -> tuple[Matrix, Matrix]:
    """Return a factor for each row (m) and each column (n); their products are the error bound.

    |err| ≤ γ_k (|A| |B|)ᵢⱼ holds for sums in any order, fused or not: Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., equation (3.13). By the Cauchy-Schwarz inequality (|A| |B|)ᵢⱼ is at most
    the norm of A's row times the norm of B's column. For cudamm's inputs this is a third larger, but needs no
    second matrix product.

    Args:
        norms: the norms of A's rows and of B's columns, from `norms_of`.
        relative_bound: γ_k, or more if a lower precision is allowed.
    """
    rows, columns = norms
    # The small factor covers the float64 rounding errors of the reference and of the bound itself.
    return rows * (relative_bound * (1 + 2.0**-20)), columns


def gamma(of_sums: ElementType, roundings: int, k: int) -> float:
    """Return γ_n = n u / (1 − n u) for n roundings, where u is the unit roundoff; 0 for whole numbers.

    Args:
        of_sums: the type in which sums are kept.
        roundings: number of roundings of a sum; for a sum that is cut off, twice as many.
        k: number of terms of a sum, for the message.

    Raises:
        UsageError: n u ≥ 1.
    """
    if of_sums.is_integer:
        return 0.0
    error = roundings * unit_roundoff(of_sums)
    if error >= 1:
        raise UsageError(
            f"rounding K = {k:,} terms can lose every digit of {of_sums.name}: there is no error "
            "bound to verify against; use --dtype float64 or --no-verify"
        )
    return error / (1 - error)


PARTIAL_SUMS = {"float8_e4m3": 2.0**-10}
"""Largest error of the sums that tensor cores add with few bits, as a share of the product of the norms.

Hopper's tensor cores cut 32 products of 8-bit numbers, and the sum so far, 13 bits below the largest of their
exponents, add them, and cut the sum to 14 significant bits. A correct kernel adds the sums of at most 128
products to sums in float32. docs/trust.md has the sources, the worst case, 135 2⁻¹³, and why 8 2⁻¹³ is enough
for cudamm's own inputs: the errors of an emulation are at most 1.5 2⁻¹³.
"""


def unit_roundoff(element: ElementType) -> float:
    """Return the largest relative error of rounding a number to the type."""
    return 2.0**-element.significant_bits


@dataclass(frozen=True)
class RoundingOfSums:
    """The largest error of rounding a sum to the type of C, if it was kept in a wider type.

    Attributes:
        relative: as a share of the sum.
        least: of a sum below the normal range.
    """

    relative: float = 0.0
    least: float = 0.0

    def of(self, sums: Any) -> Any:
        """Return the largest error of each sum, of an array or a number."""
        return abs(sums) * self.relative + self.least


def rounding_of_sums(element: ElementType) -> RoundingOfSums:
    """Return the error of rounding sums to the type of C; 0 if sums are kept in that type."""
    if not element.rounds_sums:
        return RoundingOfSums()
    of_results = element.of_results
    least_normal = 2.0**-14 if of_results.name == "float16" else 2.0**-126
    roundoff = unit_roundoff(of_results)
    return RoundingOfSums(roundoff, least_normal * roundoff)


def norms_of(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """Return the Euclidean norms of A's rows (m) and B's columns (n)."""
    rows = np.concatenate(sums_of_pieces("ik,ik->i", a, a))
    columns = np.sum(sums_of_pieces("kj,kj->j", b, b), axis=0)
    return np.sqrt(rows), np.sqrt(columns)


def sums_of_pieces(indices: str, matrix: Matrix, other: Matrix) -> list[Matrix]:
    """Return `numpy.einsum` in float64 of each piece of a matrix's rows, one thread per piece.

    Args:
        indices: the subscripts of `numpy.einsum`.
        other: the second operand: the same matrix, or a vector that is passed whole to each piece.
    """

    def sum_of(piece: Matrix) -> Matrix:
        summed: Matrix = np.einsum(indices, piece, piece if other is matrix else other, dtype=np.float64)
        return summed

    pieces = np.array_split(matrix, PIECES)
    return in_threads(sum_of, pieces) if matrix.size >= LEAST_IN_THREADS else list(map(sum_of, pieces))
