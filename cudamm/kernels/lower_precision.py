"""Precisions below that of the element type, in which a user may allow a kernel to multiply."""

from __future__ import annotations

from typing import Literal

from cudamm.kernels.method import ElementType

LowerPrecision = Literal["", "tf32", "half", "bfloat16"]
"""The format to which a kernel may round A and B, or their products; empty for none."""

PRODUCT_BITS: dict[LowerPrecision, int] = {"tf32": 11, "half": 11, "bfloat16": 8}
"""Number of significant bits of each format."""

FORMAT_OF_TYPE: dict[str, LowerPrecision] = {"float16": "half", "bfloat16": "bfloat16"}
"""The format of each type of C to which sums are rounded; if it is allowed, sums may be kept in it."""

CUTS = 4
"""Largest error of a product of two inputs that are cut to p bits, in multiples of 2⁻ᵖ.

Rounding to p bits changes a number by at most 2⁻ᵖ of itself. Tensor cores cut the bits of a float32 off
instead, which changes it by up to twice as much; a product has two inputs.
"""


def product_error(bits: int) -> float:
    """Return the largest error of a product of two inputs that are rounded or cut, as a share of the product.

    Args:
        bits: the number of significant bits that the inputs keep; 0 for all.
    """
    return CUTS * 2.0**-bits if bits else 0.0


def product_bits(allowed: LowerPrecision, element: ElementType) -> int:
    """Return the number of significant bits to which products of elements may be rounded; 0 for all.

    Products that have no more bits than the allowed format are exact in it, as those of float8_e4m3 are.
    """
    bits = PRODUCT_BITS.get(allowed, 0)
    return bits if bits < 2 * element.significant_bits else 0


def is_meaningful(allowed: LowerPrecision, element: ElementType) -> bool:
    """Return whether the format allows a kernel for an element type anything: to round products, or sums."""
    allows_sums = FORMAT_OF_TYPE.get(element.of_results.name) == allowed
    return allows_sums or product_bits(allowed, element) > 0
