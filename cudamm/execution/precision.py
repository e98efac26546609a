"""Find the precision in which a kernel computed, from the errors of a sample of its product's elements.

The bound of `judge` holds for every correct kernel, and is so wide that for a large K it also holds for a
float32 kernel that rounds its products to half precision. This file compares the errors with those that
correct kernels make on the same inputs. docs/trust.md explains the rule and has the measurements behind its
constants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cudamm.kernels.error_bound import rounding_of_sums
from cudamm.kernels.method import ELEMENT_TYPES, ElementType
from cudamm.kernels.reference_product import Matrix
from cudamm.kernels.sampled_product import SampledProduct, sum_of_squared_terms

SAMPLE_ELEMENTS = 4096
"""Minimum number of elements of a sample; smaller products are sampled whole."""

SAMPLE_EDGE = 64
"""Number of rows of a sample, and of its columns, if the product has so many."""

FACTOR = 8
"""Largest error of a correct kernel, in multiples of the yardstick.

docs/trust.md shows how far correct kernels stay below it, and lower precisions above it.
"""

FACTOR_OF_ROUNDED = 1.75
"""The same for types whose sums are kept in a wider type: nearly all of the error is that of rounding.

What is rounded is each sum, or for tf32 each input. The size of this error is known, and not only its order:
correct kernels have at most 1.2 times the yardstick on 256 elements and more. Sums of 16 terms that are kept
in 16 bits have at least 2.4 times.
"""

FACTOR_OF_FEW = 6
"""The same for fewer than ENOUGH_ROUNDED elements, all of which may be rounded by much, by chance."""

ENOUGH_ROUNDED = 256

RMS_OF_ROUNDING = 0.41
"""Root mean square of the relative error of rounding to p bits, in multiples of 2⁻ᵖ."""

ROUNDING_ERROR = 0.5
"""Root mean square of the relative error of a p-bit product, in multiples of 2⁻ᵖ.

It is 0.41 on average if the product is rounded once, and 0.55 if both factors are rounded instead.
"""

CUT_FACTOR = 4
"""Largest error of products for which a lower precision is allowed, in multiples of ROUNDING_ERROR 2⁻ᵖ.

Inputs whose bits are cut off have up to three times the error of rounded products; a precision that has three
bits less has eight times the error.
"""

CUT_MEAN = 1.44
"""Mean relative error of a product whose two factors are cut to p bits, in multiples of 2⁻ᵖ.

For x = m 2ᵉ the error of cutting is 2¹⁻ᵖ u / m, with u uniform in [0, 1). Its mean is 0.72 2⁻ᵖ if log m is
uniform, and 0.69 2⁻ᵖ if m is.
"""

CUT_SUM = 0.75
"""Mean relative error of cutting a sum to p bits, in multiples of 2⁻ᵖ: half of the last place."""

FEWEST_TERMS = 4
"""Number of terms that the first tensor cores add at a time, before the sum is cut; later ones add more."""

CUT_DEVIATION = 0.63
"""Standard deviation of the same error, in multiples of 2⁻ᵖ: √2 times that of one factor, which is 0.45."""

INTERLEAVED_CHAINS = (2, 4, 8, 16, 32)
"""Numbers of partial sums of the vectorised orders that the yardstick includes."""

INTERLEAVED_ELEMENTS = 256
"""Maximum number of elements on which interleaved chains are emulated."""

LONGEST_CHAIN = 2**16
"""Largest K for which chains are emulated; beyond it the yardstick is the expected error alone."""

PIECE_TERMS = 2**17
"""Number of terms that are computed at a time, so that they stay in the cache."""

FORMATS = {53: "float64", 24: "float32", 11: "half, TF32", 8: "bfloat16"}
"""Names of the formats with a number of significant bits."""

CUT_FORMATS = {
    10: "half or TF32 without rounding",
    9: "half or TF32 without rounding",
    7: "bfloat16 without rounding",
    6: "bfloat16 without rounding",
}
"""The same for products of factors whose bits are cut off; they have about one and a half bits less."""


@dataclass(frozen=True)
class Precision:
    """The precision of a product, as its errors show it.

    Errors are root mean squares over the elements of the sample. The error of each element is divided by the
    square root of the sum of its squared terms, (Σ a² b²)^½, so that elements with large terms hide no
    others.

    Attributes:
        element: the element type.
        elements: number of elements of the sample that have a term other than 0, or of the inputs that were
            rounded for them, if these are fewer.
        rms_error: error of the product.
        yardstick_error: largest error that is expected of a correct kernel on the same inputs, before it is
            multiplied by `factor`.
    """

    element: ElementType
    elements: int
    rms_error: float
    yardstick_error: float

    @property
    def full_bits(self) -> int:
        """Return the significant bits of C, or of the inputs if a kernel may round them."""
        element = self.element
        return element.significant_bits if element.rounds_inputs else element.of_results.significant_bits

    @property
    def ratio(self) -> float:
        """Return the product's error in multiples of the yardstick."""
        return self.rms_error / self.yardstick_error

    @property
    def factor(self) -> float:
        """Return the largest error of a correct kernel, in multiples of the yardstick."""
        if not (self.element.rounds_sums or self.element.rounds_inputs):
            return FACTOR
        return FACTOR_OF_ROUNDED if self.elements >= ENOUGH_ROUNDED else FACTOR_OF_FEW

    @property
    def is_lower(self) -> bool:
        """Return whether the errors are larger than those of a computation in the full element type."""
        return self.rms_error > self.factor * self.yardstick_error

    def is_allowed(self, product_bits: int) -> bool:
        """Return whether the errors are no larger than those of products of some bits and correct sums."""
        of_products = CUT_FACTOR * ROUNDING_ERROR * 2.0**-product_bits
        return self.rms_error <= math.hypot(self.factor * self.yardstick_error, of_products)

    @property
    def effective_bits(self) -> float:
        """Return the p for which products of p bits have such errors; all bits unless `is_lower`."""
        return self._bits_of_products(self.ratio) if self.is_lower else float(self.full_bits)

    @property
    def effective_sum_bits(self) -> float:
        """Return the p for which sums kept in p bits have such errors; all bits unless `is_lower`."""
        return max(0.0, self.full_bits - math.log2(self.ratio)) if self.is_lower else float(self.full_bits)

    @property
    def noticeable_bits(self) -> float:
        """Return the precision of products below which `is_lower` is true on these inputs.

        The number is below 11 if the rounding errors of long sums hide products in half precision.
        """
        return self._bits_of_products(self.factor)

    def _bits_of_products(self, ratio: float) -> float:
        """Return the precision of products that have errors of this ratio together with the sums' own."""
        own_error = self.yardstick_error * math.sqrt(ratio * ratio - 1)
        return min(max(0.0, -math.log2(own_error / ROUNDING_ERROR)), float(self.full_bits))


def describe(precision: Precision) -> str:
    """Return what the errors are like: "errors like those of 11-bit products (half, TF32); float32 has 24".

    An 8-bit product and an 11-bit sum of 64 terms can have equal errors: if the errors are also those of sums
    kept in a common format, both are named.
    """
    element = precision.element
    if not (precision.is_lower or element.rounds_sums):
        return f"errors like those of {element.name}"
    if element.rounds_sums:
        return (
            f"its errors are {precision.ratio:.2g} times those of rounding C to {element.of_results.name}; "
            "products and sums have to be kept in float32"
        )
    if element.keeps_sums:
        return f"a product, a sum or C is rounded to fewer bits than {element.accumulator} has"
    bits, sum_bits = round(precision.effective_bits), round(precision.effective_sum_bits)
    text = f"errors like those of {bits}-bit products{_format_name(bits)}"
    if sum_bits in FORMATS and sum_bits != bits and not element.rounds_inputs:
        text += f" or of sums kept in {sum_bits} bits{_format_name(sum_bits)}"
    return f"{text}; {element.name} has {precision.full_bits}"


def _format_name(bits: int) -> str:
    name = FORMATS.get(bits) or CUT_FORMATS.get(bits)
    return f" ({name})" if name else ""


def choose_sample(
    m: int, n: int, random: np.random.Generator
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return random rows and columns of an m x n product, in ascending order.

    Their elements are at least SAMPLE_ELEMENTS, or all: 64 rows and 64 columns, or more of one if the product
    has less of the other. The generator has to be seeded after the launch, so that no kernel can know the
    sample.
    """
    row_count = min(m, max(SAMPLE_EDGE, -(-SAMPLE_ELEMENTS // n)))
    column_count = min(n, -(-SAMPLE_ELEMENTS // row_count))
    rows = np.sort(random.choice(m, row_count, replace=False))
    return rows.astype(np.intp), np.sort(random.choice(n, column_count, replace=False)).astype(np.intp)


@dataclass(frozen=True)
class Yardstick:
    """The errors that are expected of correct kernels, for the sampled elements of one problem.

    Attributes:
        element: the element type.
        reference_high, reference_low: the exact elements (r x c), as a sum of two.
        terms_norm: (Σ a² b²)^½ of each element.
        chosen: mask of the elements that count.
        error: largest expected error, as in `Precision.yardstick_error`.
    """

    element: ElementType
    reference_high: Matrix
    reference_low: Matrix
    terms_norm: Matrix
    chosen: Matrix
    error: float

    def precision_of(self, product: Matrix) -> Precision | None:
        """Return the precision of the elements that a kernel computed (r x c); None if one is not finite."""
        if not np.isfinite(product).all():
            return None
        error = (product.astype(np.float64) - self.reference_high) - self.reference_low
        rms_error = _relative_rms(error, self.terms_norm, self.chosen)
        return Precision(self.element, int(self.chosen.sum()), rms_error, self.error)


def yardstick_of(
    a: Matrix,
    b: Matrix,
    reference_high: Matrix,
    reference_low: Matrix,
    element_name: str,
) -> Yardstick | None:
    """Return the yardstick of a sample; None for whole numbers, and if no element has terms other than 0.

    Sums of 16-bit and 8-bit elements are kept in float32, and each is rounded once to the type of C: that
    error is added. Inputs of tf32 may be cut to 11 bits: that error is added too. If C keeps the sums in
    float32, the error of sums that tensor cores cut is added.

    The yardstick is the largest of three errors: that of a chain of FMAs (for float64, of products and sums),
    that of 2 to 32 interleaved chains, and the expected error of a chain in a random order. A few elements
    can have small errors by chance; the yardstick therefore includes the error that is expected of the chains
    from the size of their partial sums.

    For α A B + β C, pass A' = [α A | β I] and B' = [B; C], with the sampled rows of C and the identity matrix
    I: then β C is one more term of each element.

    Args:
        a: the sampled rows of A (r x k), of the element type.
        b: the sampled columns of B (k x c).
        reference_high: high part of the exact elements (r x c), from `Problem.reference`.
        reference_low: low part of the exact elements.
    """
    element = ELEMENT_TYPES[element_name]
    if element.is_integer:
        return None
    of_sums = element.of_sums.dtype
    a, b = a.astype(of_sums, copy=False), b.astype(of_sums, copy=False)
    terms_norm = np.sqrt(sum_of_squared_terms(a, b))
    chosen, rounding = _with_terms(terms_norm, element), rounding_of_sums(element)
    if chosen is None:
        return None
    unit, k = ROUNDING_ERROR * float(np.finfo(of_sums).eps) / 2, a.shape[1]
    expected = [
        _relative_rms(_growth_in_random_order(terms_norm, reference_high, k) * unit, terms_norm, chosen)
    ]
    for ways in (1, *INTERLEAVED_CHAINS) if k <= LONGEST_CHAIN else ():
        part = _part_of_sample(*chosen.shape) if ways > 1 else np.ix_(*map(range, chosen.shape))
        if ways > k or not chosen[part].any():
            continue
        sums, growth = _sum_in_chains(a[part[0][:, 0]], b[:, part[1][0]], ways)
        chain_error = (sums.astype(np.float64) - reference_high[part]) - reference_low[part]
        for order_error in (chain_error, growth * unit):
            if np.isfinite(order_error).all():
                expected.append(_relative_rms(order_error, terms_norm[part], chosen[part]))
    of_rounding = RMS_OF_ROUNDING * rounding.of(reference_high)
    errors = [max(expected), _relative_rms(of_rounding, terms_norm, chosen)]
    if element.rounds_inputs:
        of_cutting = _errors_of_cutting(a, b, element.significant_bits, reference_high, terms_norm)
        errors.append(max(_relative_rms(error, terms_norm, chosen) for error in of_cutting))
    if element.keeps_sums:
        # Tensor cores cut each sum towards zero, so the errors of its steps add up.
        growth = _growth_in_random_order(terms_norm, reference_high, k)
        of_cuts = growth * (math.sqrt(k) / FEWEST_TERMS * CUT_SUM * float(np.finfo(of_sums).eps) / 2)
        errors.append(_relative_rms(of_cuts, terms_norm, chosen))
    error = math.hypot(*errors)
    return Yardstick(element, reference_high, reference_low, terms_norm, chosen, error)


def yardstick_with_error(error: float, sampled: SampledProduct, element: ElementType) -> Yardstick | None:
    """Return the yardstick of a sample whose expected error is that of another sample.

    Return None if no element has terms other than 0.

    Args:
        error: the error of the other yardstick, whose inputs are of the same kind, and whose K is the same.
    """
    terms_norm = np.sqrt(sampled.squares)
    chosen = _with_terms(terms_norm, element)
    if chosen is None:
        return None
    return Yardstick(element, sampled.high, sampled.low, terms_norm, chosen, error)


def _with_terms(terms_norm: Matrix, element: ElementType) -> Matrix | None:
    """Return a mask of the elements that have terms other than 0.

    Return None if no element has one, or if a norm is infinite.
    """
    limits, rounding = np.finfo(element.of_sums.dtype), rounding_of_sums(element)
    # Errors of numbers below the normal range are absolute, not relative.
    least_normal = rounding.least / rounding.relative if rounding.relative else 0.0
    chosen: Matrix = terms_norm > max(float(limits.tiny) / float(limits.eps) ** 2, least_normal)
    return chosen if chosen.any() and np.isfinite(terms_norm).all() else None


def _relative_rms(error: Matrix, terms_norm: Matrix, chosen: Matrix) -> float:
    """Return the root mean square of the chosen elements' errors, relative to the norms of their terms."""
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.mean((error[chosen] / terms_norm[chosen]) ** 2)))


def _growth_in_random_order(terms_norm: Matrix, result: Matrix, k: int) -> Matrix:
    """Return the error that a chain over the same k terms has on average over all orders, in single
    roundings.

    Each step of a chain makes an error in proportion to the sum so far. In a random order the sum of j of the
    k terms t has the mean square Σt² j (k - j) / (k (k - 1)) + (Σt)² j (j - 1) / (k (k - 1)). Its sum over j
    is (k + 1) / 6 (Σt² + 2 (Σt)²). The number has no luck in it, unlike the error of one chain on a few
    elements.
    """
    error: Matrix = np.sqrt((k + 1) / 6 * (terms_norm**2 + 2 * result**2))
    return error


def _errors_of_cutting(
    a: Matrix, b: Matrix, bits: int, result: Matrix, terms_norm: Matrix
) -> tuple[Matrix, Matrix]:
    """Return the error of cutting the factors to some bits, as expected and as it is (r x c).

    The expected error has no luck in it; and if all factors are equal, their error can be twice as large.
    """
    unit = 2.0**-bits
    expected: Matrix = np.hypot(CUT_MEAN * unit * result, CUT_DEVIATION * unit * terms_norm)
    return expected, _cut(a, bits) @ _cut(b, bits) - result


def _cut(numbers: Matrix, bits: int) -> Matrix:
    """Return float32 numbers without all but their first significant bits, in float64."""
    kept = np.uint32(2**32 - 2 ** (24 - bits))
    cut: Matrix = (np.ascontiguousarray(numbers).view(np.uint32) & kept).view(np.float32).astype(np.float64)
    return cut


def _part_of_sample(rows: int, columns: int) -> tuple[npt.NDArray[np.intp], ...]:
    """Return evenly spaced rows and columns, with at most INTERLEAVED_ELEMENTS elements, as an index."""
    edge = math.isqrt(INTERLEAVED_ELEMENTS)
    row_count = min(rows, edge)
    column_count = min(columns, INTERLEAVED_ELEMENTS // row_count)
    chosen_rows, chosen_columns = (
        np.linspace(0, extent - 1, count).astype(np.intp)
        for extent, count in ((rows, row_count), (columns, column_count))
    )
    return np.ix_(chosen_rows, chosen_columns)


def _sum_in_chains(a: Matrix, b: Matrix, ways: int) -> tuple[Matrix, Matrix]:
    """Return A B summed in interleaved chains, and the norm of all partial sums of each element (r x c).

    Chain i adds the terms k = i, i + ways, i + 2 ways, … one by one, and then the chains are added in pairs.
    For sums in float32 each step is an FMA: the product of two float32 is exact in float64. For float64 the
    product is rounded.

    The norm, (Σ s²)^½ over the partial sums s, is the expected error of the chains in single roundings.
    """
    shape = (ways, a.shape[0], b.shape[1])
    total, square, squares = np.zeros(shape), np.empty(shape), np.zeros(shape)
    rounded = np.zeros(shape, a.dtype)
    steps = max(1, PIECE_TERMS // total.size)
    with np.errstate(over="ignore", invalid="ignore"):
        for begin in range(0, a.shape[1], steps * ways):
            k = slice(begin, begin + steps * ways)
            for terms in np.einsum("swi,swj->swij", _factors(a[:, k].T, ways), _factors(b[k], ways)):
                np.add(total, terms, out=total)
                rounded[...] = total
                total[...] = rounded
                np.multiply(total, total, out=square)
                np.add(squares, square, out=squares)
        while len(rounded) > 1:
            rounded = rounded[0::2] + rounded[1::2]
    return rounded[0], np.sqrt(squares.sum(axis=0))


def _factors(rows: Matrix, ways: int) -> Matrix:
    """Return rows of a matrix in float64, as steps x ways x columns; rows beyond the last are 0."""
    steps = -(-len(rows) // ways)
    factors = np.zeros((steps * ways, rows.shape[1]))
    factors[: len(rows)] = rows
    return factors.reshape(steps, ways, -1)
