"""The reference product on the host: what a kernel's result is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cudamm.kernels.method import ElementType

Matrix = npt.NDArray[Any]


def reference_product(a: Matrix, b: Matrix, element: ElementType) -> tuple[Matrix, Matrix]:
    """Return A B as an unevaluated sum of two float64 matrices (m x n), high part and low part.

    Exact for int32; for float32 a plain float64 product, whose error is 2⁻²⁹ of what float32 allows. For
    float64 a plain product would be no better than what it judges: see `product_of_slices`.
    """
    a, b = a.astype(np.float64), b.astype(np.float64)
    if element.name == "float64":
        return product_of_slices(a, b)
    product = a @ b
    return product, np.zeros(product.shape)


def sum_in_k_order(a: Matrix, b: Matrix) -> Matrix:
    """Return A B as one running sum a step of k, each product and each sum rounded to the element type.

    A kernel that sums in k order must give the same bits if nothing is fused.
    """
    total = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for k in range(a.shape[1]):
        total += a[:, k : k + 1] * b[k]
    return total


def product_of_slices(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """Return A B in about twice float64's precision, from exact float64 products of slices of A and B.

    Each slice holds so few leading bits of its row of A (column of B) that sums of k products of them
    are exact; the slices' products are then added up with their rounding errors kept. After Ozaki,
    Ogita, Oishi and Rump, "Error-free transformations of matrix multiplication by using fast routines of
    matrix multiplication and its applications", Numerical Algorithms 59 (2012).
    """
    bits = (53 - int(np.ceil(np.log2(max(2, a.shape[1]))))) // 2
    slices_a, slices_b = _slices(a, bits, axis=1), _slices(b, bits, axis=0)
    high = np.zeros((a.shape[0], b.shape[1]))
    low = np.zeros_like(high)
    # Largest products first; what lies beyond the last slice is below the bits that are looked at.
    pairs = sorted((i + j, i, j) for i in range(len(slices_a)) for j in range(len(slices_b)))
    for order, i, j in pairs:
        if order * bits > 110:
            break
        term = slices_a[i] @ slices_b[j]
        total = high + term
        # Knuth's two-sum: the exact rounding error of the addition above.
        shift = total - high
        low += (high - (total - shift)) + (term - shift)
        high = total
    return high, low


def _slices(x: Matrix, bits: int, axis: int) -> list[Matrix]:
    """Split x into matrices of at most `bits` significant bits a row or column that add up to x."""
    slices: list[Matrix] = []
    rest = x.copy()
    while rest.any() and len(slices) < 8:
        largest = np.max(np.abs(rest), axis=axis, keepdims=True)
        unit = np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, 1))) - bits)
        part = np.rint(rest / unit) * unit
        slices.append(part)
        rest = rest - part
    return slices or [rest]
