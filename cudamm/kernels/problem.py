"""The problem a variant is run on: shapes, inputs, the reference product and the error it allows."""

from __future__ import annotations

import functools
import math
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cudamm.errors import UsageError
from cudamm.kernels.method import ElementType

Matrix = npt.NDArray[Any]

PIECE = 2**20
"""Elements of a matrix that a thread draws; even, see `_draw`."""

PIECES = 8
"""Of a matrix, for as many threads; the same everywhere, since sums depend on it by a rounding error."""

MOST_ELEMENTS = 2**31 - 1
"""Of one matrix: kernels, ours and most others, count elements with a 32-bit int."""


@dataclass(frozen=True, order=True)
class Shape:
    """C (m x n) = A (m x k) B (k x n), all row-major."""

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def elements(self) -> int:
        """Of A, B and C together."""
        return self.m * self.k + self.k * self.n + self.m * self.n

    @property
    def flops(self) -> int:
        """Floating-point operations of the product: a multiplication and an addition for each m, n, k."""
        return 2 * self.m * self.n * self.k


def parse_shape(text: str) -> Shape:
    """`1024` for a square, `640x480x320` for M x N x K. Raises UsageError for anything else."""
    match = re.fullmatch(r"(\d{1,12})(?:[x×](\d{1,12})[x×](\d{1,12}))?", text.strip().lower(), re.ASCII)
    if not match:
        raise UsageError(f"“{text}” is not a size: write 1024 for a square or 640x480x320 for MxNxK")
    m = int(match[1])
    shape = Shape(m, int(match[2] or m), int(match[3] or m))
    if min(shape.m, shape.n, shape.k) < 1:
        raise UsageError(f"“{text}” is not a size: M, N and K must be at least 1")
    check_size(shape)
    return shape


def check_size(shape: Shape) -> None:
    """Refuse a shape whose matrices kernels cannot index. Raises UsageError."""
    largest = max(shape.m * shape.k, shape.k * shape.n, shape.m * shape.n)
    if largest > MOST_ELEMENTS:
        raise UsageError(
            f"a matrix of {shape} would have {largest:,} elements; kernels index them with a 32-bit int, "
            f"so at most {MOST_ELEMENTS:,} are possible"
        )


@dataclass(frozen=True)
class Problem:
    """One product to compute: its shape, element type and random inputs.

    Attributes:
        seed: of the random inputs; the same seed gives the same inputs on every machine.
    """

    shape: Shape
    element: ElementType
    seed: int = 0

    @functools.cached_property
    def inputs(self) -> tuple[Matrix, Matrix]:
        """A (m x k) and B (k x n), random and of both signs.

        Reals are uniform in [-1, 1). Whole numbers are at most 100 in size, less for a very large k, so
        that no sum can overflow and the exact result is the only right one.
        """
        m, n, k = self.shape.m, self.shape.n, self.shape.k
        most = max(1, min(100, math.isqrt((2**31 - 1) // k)))

        seeds = [np.random.SeedSequence([self.seed, m, n, k, matrix]) for matrix in (0, 1)]
        if self.element.name == "int32":
            a, b = (
                np.random.default_rng(seed).integers(-most, most, shape, np.int32, endpoint=True)
                for seed, shape in zip(seeds, ((m, k), (k, n)), strict=True)
            )
            return a, b
        a, b = (np.empty(shape, self.element.name) for shape in ((m, k), (k, n)))
        pieces = [(seed, matrix.reshape(-1), begin) for seed, matrix in zip(seeds, (a, b), strict=True)
                  for begin in range(0, matrix.size, PIECE)]  # fmt: skip
        with ThreadPoolExecutor() as threads:
            for _ in threads.map(_draw, *zip(*pieces, strict=True)):
                pass
        return a, b

    @functools.cached_property
    def reference(self) -> tuple[Matrix, Matrix]:
        """The product as an unevaluated sum of two float64 matrices (m x n), high part and low part.

        Exact for int32; for float32 a plain float64 product, whose error is 2⁻²⁹ of what float32 allows.
        For float64 a plain product would be no better than what it judges, so see `_product_of_slices`.
        """
        a, b = (x.astype(np.float64) for x in self.inputs)
        if self.element.name == "float64":
            return _product_of_slices(a, b)
        product = a @ b
        return product, np.zeros(product.shape)

    @property
    def error_bound(self) -> Matrix:
        """The largest error (m x n) that summing in any order, fused or not, can make.

        |err| ≤ γ_k (|A| |B|)ᵢⱼ with γ_k = k u / (1 − k u), u the unit roundoff: Higham, Accuracy and
        Stability of Numerical Algorithms, 2nd ed., equation (3.13). By Cauchy and Schwarz (|A| |B|)ᵢⱼ is at
        most the norm of A's row times that of B's column: for these inputs a third more, and no second
        product to compute. Zero for whole numbers.

        Raises:
            UsageError: k u ≥ 1, where no bound holds.
        """
        bound: Matrix = np.outer(*self.error_factors)
        return bound

    @property
    def error_factors(self) -> tuple[Matrix, Matrix]:
        """A factor for each row (m) and column (n), whose products are `error_bound`. Raises as that does."""
        rows, columns = self._norms
        # The float64 arithmetic of reference and bound is itself inexact, by far less than this factor.
        return rows * (self._gamma * (1 + 2.0**-20)), columns

    @property
    def _gamma(self) -> float:
        if self.element.name == "int32":
            return 0.0
        k = self.shape.k
        unit_roundoff = float(np.finfo(self.element.name).eps) / 2
        if k * unit_roundoff >= 1:
            raise UsageError(
                f"K = {k:,} terms can lose every digit of {self.element.name}: there is no error bound to "
                "verify against; use --dtype float64 or --no-verify"
            )
        return k * unit_roundoff / (1 - k * unit_roundoff)

    @functools.cached_property
    def _norms(self) -> tuple[Matrix, Matrix]:
        """Euclidean, of A's rows (m) and B's columns (n)."""
        a, b = self.inputs
        rows = np.concatenate(_of_pieces("ik,ik->i", a, a))
        columns = np.sum(_of_pieces("kj,kj->j", b, b), axis=0)
        return np.sqrt(rows), np.sqrt(columns)

    @property
    def probe(self) -> Matrix:
        """A random vector x (n), to ask of what is said to be A B: see `is_product`."""
        return self._probe[0]

    @functools.cached_property
    def _probe(self) -> tuple[Matrix, Matrix, Matrix]:
        """The vector x, A (B x), and how far (A B) x may be from that by float64 arithmetic (both m)."""
        a, b = self.inputs
        rows, columns = self._norms
        random = np.random.default_rng([self.seed, self.shape.m, self.shape.n, self.shape.k, 2])
        x = random.uniform(1, 2, self.shape.n) * random.choice((-1, 1), self.shape.n)
        b_x = np.concatenate(_of_pieces("kj,j->k", b, x))
        expected = np.concatenate(_of_pieces("ik,k->i", a, b_x))
        # (3.13) again, for both ways of summing: at most k + n terms one after the other, of either side.
        tolerance = rows * (columns @ np.abs(x)) * (2 * (self.shape.k + self.shape.n + 8) * 2.0**-53)
        return x, expected, tolerance

    def prepare(self) -> None:
        """Make all that `is_product` and `error_factors` are made from."""
        _ = self._probe

    @property
    def has_reference(self) -> bool:
        """Whether `reference` is there already."""
        return "reference" in self.__dict__

    def is_product(self, times_probe: Matrix) -> bool:
        """Whether a float64 matrix made elsewhere is A B, by what it gives (m) times `probe`.

        A product takes m n k operations to make, its check m n + m k + k n: (A B) x = A (B x) for a random
        x. R. Freivalds, "Probabilistic machines can use less running time", IFIP 1977. No element of x is
        smaller than 1, so that any element is found that is wrong by a thousandth of what is allowed; several
        of a row are, unless they cancel out times x. Where the check cannot be that sharp, nothing passes.
        """
        _, expected, tolerance = self._probe
        rows, columns = self._norms
        finest = 0.25 if self.element.name == "int32" else rows * (self._gamma * columns.min() / 1000)
        with np.errstate(invalid="ignore", over="ignore"):
            is_right = bool((np.abs(times_probe - expected) <= tolerance).all())  # NaN is not
        return is_right and not (tolerance > finest).any()

    def offer_reference(self, product: Matrix) -> bool:
        """Take a float64 product (m x n) as the reference, if it is one; say whether it was."""
        with np.errstate(invalid="ignore", over="ignore"):
            times_probe = product @ self.probe
        if not self.is_product(times_probe):
            return False
        self.__dict__["reference"] = product, np.zeros(product.shape)
        return True

    def release(self) -> None:
        """Give the matrices' memory back; they are made again, the same, when they are asked for."""
        for name in ("inputs", "reference", "_norms", "_probe"):
            self.__dict__.pop(name, None)

    def sum_in_k_order(self, rows: npt.NDArray[np.intp]) -> Matrix:
        """Some rows of the product as one running sum a step of k, every product and sum rounded to the type.

        What a kernel that sums in k order must give bit for bit when nothing is fused.
        """
        a, b = self.inputs
        a = a[rows]
        total = np.zeros((a.shape[0], self.shape.n), a.dtype)
        for k in range(self.shape.k):
            total += a[:, k : k + 1] * b[k]
        return total


def _of_pieces(indices: str, matrix: Matrix, other: Matrix) -> list[Matrix]:
    """A sum in float64, as `numpy.einsum` takes its indices, of each piece of a matrix's rows, by threads.

    Args:
        other: the same matrix, or a vector that each piece needs all of.
    """

    def sum_of(piece: Matrix) -> Matrix:
        summed: Matrix = np.einsum(indices, piece, piece if other is matrix else other, dtype=np.float64)
        return summed

    with ThreadPoolExecutor() as threads:
        return list(threads.map(sum_of, np.array_split(matrix, PIECES)))


def _draw(seed: np.random.SeedSequence, elements: Matrix, begin: int) -> None:
    """Fill a piece of a matrix; each is drawn where a generator that drew all before it would be."""
    piece = elements[begin : begin + PIECE]
    # 64 random bits make one float64, or two float32.
    random = np.random.Generator(np.random.PCG64(seed).advance(begin * piece.itemsize // 8))
    random.random(out=piece, dtype=piece.dtype)
    piece *= 2
    piece -= 1


def _product_of_slices(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """A B in about twice float64's precision, from exact float64 products of slices of A and B.

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
