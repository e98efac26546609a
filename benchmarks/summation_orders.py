"""Orders in which kernels sum, and lower precisions in which they compute, emulated in NumPy.

A function of ORDERS returns the elements of a product from their exact terms, an array k x elements of
float64. A function of LOWER_PRECISIONS returns them from A and B. `precision_table.py` uses both.

`bf16x9` models the tensor cores of Hopper as Xie, Wang, Yang and Yang found them ("MMA-Sim: Bit-Accurate
Reference Model of Tensor Cores and Matrix Cores", arXiv 2511.10909, 2025). An instruction adds 16 products
and the sum so far: all are truncated towards zero to 25 bits below the largest exponent, their sum is exact,
and it is truncated to float32.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[Any]

FRACTION_BITS = 25
"""Number of bits below the largest exponent that a sum on Hopper's tensor cores keeps."""

INSTRUCTION_K = 16
"""Number of products that an instruction of the tensor cores adds."""

ORDER_SEED = 7
"""Seed of the random orders."""


def chain(terms: Matrix, dtype: str) -> Matrix:
    """Add one term after the other; for float32, each step is an FMA."""
    rounded = np.zeros(terms.shape[1:], dtype)
    for term in terms:
        rounded[...] = rounded.astype(np.float64) + term
    return rounded


def rounded_chain(terms: Matrix, dtype: str) -> Matrix:
    """Round each term, and add one after the other."""
    total = np.zeros(terms.shape[1:], dtype)
    for term in terms:
        total += term.astype(dtype)
    return total


def pairwise(terms: Matrix, dtype: str) -> Matrix:
    """Round each term, and add neighbours until one sum is left."""
    sums = terms.astype(dtype)
    while len(sums) > 1:
        sums = _padded(sums, 2)
        sums = sums[0::2] + sums[1::2]
    total: Matrix = sums[0]
    return total


def interleaved(terms: Matrix, dtype: str, ways: int) -> Matrix:
    """Add every ways-th term to one partial sum, as vector instructions do, and the partial sums in pairs."""
    return pairwise(chain(_padded(terms, ways).reshape(-1, ways, terms.shape[1]), dtype), dtype)


def tiles(terms: Matrix, dtype: str, tile: int) -> Matrix:
    """Return the sums of blocks of `tile` consecutive terms."""
    blocks = _padded(terms, tile).reshape(-1, tile, terms.shape[1])
    return chain(blocks.swapaxes(0, 1), dtype)


def blocked(terms: Matrix, dtype: str, tile: int) -> Matrix:
    """Add up blocks of consecutive terms, and then the sums of the blocks."""
    return rounded_chain(tiles(terms, dtype, tile), dtype)


def split(terms: Matrix, dtype: str, parts: int) -> Matrix:
    """Add up equal parts of the terms, and then the sums of the parts: split-K."""
    return blocked(terms, dtype, -(-len(terms) // parts))


def uneven_parts(terms: Matrix, dtype: str) -> Matrix:
    """Add up to eight parts of random lengths, and then their sums: stream-K."""
    random = np.random.default_rng(ORDER_SEED)
    cuts = np.unique(np.r_[0, random.integers(0, len(terms) + 1, 7), len(terms)])
    parts = np.zeros((int(np.diff(cuts).max()), len(cuts) - 1, terms.shape[1]))
    for i, (begin, end) in enumerate(itertools.pairwise(cuts)):
        parts[: end - begin, i] = terms[begin:end]
    return rounded_chain(chain(parts, dtype), dtype)


def two_levels(terms: Matrix, dtype: str) -> Matrix:
    """Add up blocks of 32 terms, blocks of 32 of these sums, and then the sums of those blocks."""
    return blocked(tiles(terms, dtype, 32), dtype, 32)


def kahan(terms: Matrix, dtype: str) -> Matrix:
    """Add one term after the other, and carry the rounding error of each addition to the next."""
    total = np.zeros(terms.shape[1:], dtype)
    carried = total.copy()
    for term in terms:
        addend = (term - carried).astype(dtype)
        next_total = total + addend
        carried = (next_total - total) - addend
        total = next_total
    return total


def random_order(terms: Matrix, dtype: str) -> Matrix:
    """Round each term, and add the terms in a random order of each element, as atomic additions come."""
    return rounded_chain(np.random.default_rng(ORDER_SEED).permuted(terms.astype(dtype), axis=0), dtype)


Order = Callable[[Matrix, str], Matrix]

ORDERS: dict[str, Order] = {
    "chain of FMAs": chain,
    "chain without FMA": rounded_chain,
    "reverse chain": lambda terms, dtype: chain(terms[::-1], dtype),
    **{f"{ways} interleaved sums": partial(interleaved, ways=ways) for ways in (2, 4, 8, 16)},
    "pairwise": pairwise,
    **{f"blocks of {tile}": partial(blocked, tile=tile) for tile in (8, 32, 128)},
    "two levels": two_levels,
    **{f"split-K {parts}": partial(split, parts=parts) for parts in (2, 8, 64)},
    "stream-K": uneven_parts,
    "Kahan": kahan,
    "random order": random_order,
}
"""Orders of correct kernels."""

LEAST_BF16X9_K = 16
"""Least K for which the method `bf16x9` uses tensor cores."""

ALL_PARTS = (4, 3, 2, 1, 0)
"""All nine products of three parts, smallest first: the number of A's part plus that of B's part."""


def bf16x9(a: Matrix, b: Matrix, orders: tuple[int, ...] = ALL_PARTS, promote: bool = True) -> Matrix:
    """Return A B as `cuda_src/37_bf16x9.cu` computes it, without the cutting of tiles.

    Args:
        orders: products of parts to use, by the sum of their numbers.
        promote: add the sums of 32 values of k in float32; otherwise the tensor cores keep one sum over all.
    """
    step = 32
    a, b = (np.pad(x, ((0, -len(x) % step), (0, 0))) for x in (a.T, b))
    parts = [[part.reshape(-1, step, x.shape[1]) for part in _bf16_parts(x)] for x in (a, b)]
    instructions = [
        (parts[0][x][:, k : k + INSTRUCTION_K], parts[1][order - x][:, k : k + INSTRUCTION_K])
        for order in orders
        for x in (2, 1, 0)
        if 0 <= order - x <= 2
        for k in range(0, step, INSTRUCTION_K)
    ]
    elements = a.shape[1] * b.shape[1]
    if promote:
        sums = np.zeros((len(a) // step, elements))
        for a_part, b_part in instructions:
            sums = _tensor_core_sum(a_part, b_part, sums)
        return rounded_chain(sums, "float32")
    total = np.zeros((1, elements))
    for i in range(len(a) // step):
        for a_part, b_part in instructions:
            total = _tensor_core_sum(a_part[i : i + 1], b_part[i : i + 1], total)
    rounded: Matrix = total[0].astype(np.float32)
    return rounded


def one_sum_on_tensor_cores(a: Matrix, b: Matrix, step: int) -> Matrix:
    """Return A B as one sum over all K on tensor cores, whose instructions add so many products at a time."""
    parts = [np.pad(x, ((0, -len(x) % step), (0, 0))).reshape(-1, step, x.shape[1]) for x in (a.T, b)]
    total = np.zeros((1, a.shape[0] * b.shape[1]))
    for i in range(len(parts[0])):
        total = _tensor_core_sum(parts[0][i : i + 1], parts[1][i : i + 1], total)
    return total.reshape(a.shape[0], b.shape[1]).astype(np.float32)


def _bf16_parts(matrix: Matrix) -> list[Matrix]:
    """Split float32 numbers exactly into three bfloat16, by truncation."""
    parts, rest = [], np.ascontiguousarray(matrix)
    for _ in range(3):
        parts.append((rest.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32))
        rest = rest - parts[-1]
    return parts


def _tensor_core_sum(a: Matrix, b: Matrix, total: Matrix) -> Matrix:
    """Return the sums (steps x elements) after an instruction on parts of A and B (steps x 16 x rows)."""
    products = np.einsum("ski,skj->skij", a, b, dtype=np.float64).reshape(*a.shape[:2], -1)
    exponents = (_exponents(a)[..., None] + _exponents(b)[:, :, None]).reshape(products.shape)
    largest = np.maximum(exponents.max(axis=1), _exponents(total))
    unit = np.ldexp(1.0, largest - FRACTION_BITS)
    exact = (np.trunc(products / unit[:, None]).sum(axis=1) + np.trunc(total / unit)) * unit
    mantissa, exponent = np.frexp(exact)
    truncated: Matrix = np.ldexp(np.trunc(mantissa * 2**24), exponent - 24)
    return truncated


def _exponents(numbers: Matrix) -> Matrix:
    exponents: Matrix = np.where(numbers != 0, np.frexp(numbers)[1] - 1, -126)
    return exponents


def to_half(numbers: Matrix) -> Matrix:
    """Round to half precision: 11 significant bits, and no number above 65504."""
    return numbers.astype(np.float16).astype(np.float64)


def to_bits(numbers: Matrix, bits: int) -> Matrix:
    """Round to nearest with this number of significant bits: 8 for bfloat16, 11 for TF32."""
    mantissa, exponent = np.frexp(numbers.astype(np.float64))
    rounded: Matrix = np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)
    return rounded


to_tf32 = partial(to_bits, bits=11)
to_bfloat16 = partial(to_bits, bits=8)


def exact_terms(a: Matrix, b: Matrix) -> Matrix:
    """Return the terms of each element (k x elements): exact for float32, rounded for float64."""
    terms: Matrix = np.einsum("ik,kj->kij", a, b, dtype=np.float64)
    return terms.reshape(a.shape[1], -1)


Rounding = Callable[[Matrix], Matrix]


def _rounded_inputs(a: Matrix, b: Matrix, rounding: Rounding) -> Matrix:
    return chain(exact_terms(rounding(a), rounding(b)), "float32")


def _rounded_products(a: Matrix, b: Matrix, rounding: Rounding) -> Matrix:
    return chain(rounding(exact_terms(a, b)), "float32")


def _rounded_sums(a: Matrix, b: Matrix, rounding: Rounding) -> Matrix:
    total = np.zeros(a.shape[0] * b.shape[1])
    for term in exact_terms(a, b):
        total = rounding(total + term)
    return total.astype(np.float32)


def _tensor_core_half_sums(a: Matrix, b: Matrix) -> Matrix:
    """Multiply half-precision inputs, and round the sum of each 16 products and the sum so far to half."""
    total = np.zeros(a.shape[0] * b.shape[1])
    for block in np.add.reduceat(
        exact_terms(to_half(a), to_half(b)), np.arange(0, a.shape[1], INSTRUCTION_K), axis=0
    ):
        total = to_half(total + block)
    return total.astype(np.float32)


Lower = Callable[[Matrix, Matrix], Matrix]

LOWER_PRECISIONS: dict[str, Lower] = {
    "inputs rounded to half": partial(_rounded_inputs, rounding=to_half),
    "inputs rounded to TF32": partial(_rounded_inputs, rounding=to_tf32),
    "inputs rounded to bfloat16": partial(_rounded_inputs, rounding=to_bfloat16),
    "products rounded to half": partial(_rounded_products, rounding=to_half),
    "products rounded to TF32": partial(_rounded_products, rounding=to_tf32),
    "products rounded to bfloat16": partial(_rounded_products, rounding=to_bfloat16),
    "sums kept in half": partial(_rounded_sums, rounding=to_half),
    "sums kept in bfloat16": partial(_rounded_sums, rounding=to_bfloat16),
    "tensor cores, half sums": _tensor_core_half_sums,
}
"""Kernels that compute in less than float32."""

BORDERLINE: dict[str, Lower] = {
    "bf16x6: no products below 2⁻¹⁶": partial(bf16x9, orders=(2, 1, 0)),
    "bf16x3: no products below 2⁻⁸": partial(bf16x9, orders=(1, 0)),
    "bf16x9, one sum over all K on tensor cores": partial(bf16x9, promote=False),
}
"""Kernels between: nearly float32, or float32 products whose sums lose bits."""


def _padded(terms: Matrix, multiple: int) -> Matrix:
    """Return the terms with zeros behind them, so that their number is a multiple."""
    return np.pad(terms, ((0, -len(terms) % multiple), (0, 0)))
