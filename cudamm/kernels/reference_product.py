"""The reference product, computed on the host, with which a kernel's result is compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cudamm.kernels.method import ElementType

Matrix = npt.NDArray[Any]


def reference_product(a: Matrix, b: Matrix, element: ElementType) -> tuple[Matrix, Matrix]:
    """Return A B as an unevaluated sum of two float64 matrices (m x n), high part and low part.

    For int32 the product is exact. For types whose sums are kept in float32 it is a plain float64 product,
    whose error is 2⁻²⁹ of the error that such sums allow. For float64 a plain product would be as inexact as
    the result that it judges, so `product_of_slices` computes it.
    """
    a, b = a.astype(np.float64), b.astype(np.float64)
    if element.name == "float64":
        return product_of_slices(a, b)
    product = a @ b
    return product, np.zeros(product.shape)


def scaled_sum(product: tuple[Matrix, Matrix], c: Matrix, alpha: float, beta: float) -> tuple[Matrix, Matrix]:
    """Return alpha A B + beta C as high part and low part, from those of A B."""
    high, low = (part.astype(np.longdouble) for part in product)
    total = np.longdouble(alpha) * high + np.longdouble(alpha) * low + np.longdouble(beta) * c
    rounded = total.astype(np.float64)
    return rounded, (total - rounded).astype(np.float64)


def sum_in_k_order(a: Matrix, b: Matrix, element: ElementType) -> Matrix:
    """Return A B, where each element is one running sum over k = 0, 1, …

    Each product and each sum is rounded to the type of the sums, and the last sum to the type of C. A
    kernel that sums in k order without fused multiply-add must compute the same bits.
    """
    of_sums = element.of_sums.dtype
    a, b = a.astype(of_sums, copy=False), b.astype(of_sums, copy=False)
    total = np.zeros((a.shape[0], b.shape[1]), of_sums)
    for k in range(a.shape[1]):
        total += a[:, k : k + 1] * b[k]
    return total.astype(element.of_results.dtype, copy=False)


def product_of_slices(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """Return A B in about twice float64's precision, from exact float64 products of slices of A and B.

    Each slice contains so few bits of its row of A (column of B) that sums of k products of them are exact.
    The slices' products are then added up, and the rounding errors of these additions are added to the low
    part. After Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix multiplication by using
    fast routines of matrix multiplication and its applications", Numerical Algorithms 59 (2012).
    """
    bits = (53 - int(np.ceil(np.log2(max(2, a.shape[1]))))) // 2
    slices_a, slices_b = _slices(a, bits, axis=1), _slices(b, bits, axis=0)
    high = np.zeros((a.shape[0], b.shape[1]))
    low = np.zeros_like(high)
    # Largest products first; products below 2⁻¹¹⁰ of the largest are skipped.
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
    """Split x into matrices that add up to x, with at most `bits` significant bits in each row or column."""
    slices: list[Matrix] = []
    remainder = x.copy()
    while remainder.any() and len(slices) < 8:
        largest = np.max(np.abs(remainder), axis=axis, keepdims=True)
        unit = np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, 1))) - bits)
        part = np.rint(remainder / unit) * unit
        slices.append(part)
        remainder = remainder - part
    return slices or [remainder]
