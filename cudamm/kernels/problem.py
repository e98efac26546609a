"""The problem a variant is run on: its shape, element type and random inputs."""

from __future__ import annotations

import functools
import math
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cudamm.errors import UsageError
from cudamm.kernels.error_bound import error_factors, gamma, norms_of, sums_of_pieces
from cudamm.kernels.method import ElementType
from cudamm.kernels.reference_product import Matrix as Matrix
from cudamm.kernels.reference_product import reference_product, sum_in_k_order

PIECE = 2**20
"""Elements of a matrix that a thread draws; even, see `_draw`."""

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
        """The product in float64 (m x n), high part and low part: see `reference_product`."""
        return reference_product(*self.inputs, self.element)

    @property
    def error_bound(self) -> Matrix:
        """The largest error (m x n) that rounding can make: see `error_factors`."""
        bound: Matrix = np.outer(*self.error_factors)
        return bound

    @property
    def error_factors(self) -> tuple[Matrix, Matrix]:
        """A factor for each row (m) and column (n), whose products are `error_bound`.

        Raises:
            UsageError: no bound holds for so many terms.
        """
        return error_factors(self._norms, self.element, self.shape.k)

    @functools.cached_property
    def _norms(self) -> tuple[Matrix, Matrix]:
        return norms_of(*self.inputs)

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
        b_x = np.concatenate(sums_of_pieces("kj,j->k", b, x))
        expected = np.concatenate(sums_of_pieces("ik,k->i", a, b_x))
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
        finest = (
            0.25
            if self.element.name == "int32"
            else rows * (gamma(self.element, self.shape.k) * columns.min() / 1000)
        )
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

    def sum_in_k_order(self, rows: npt.NDArray[np.intp]) -> Matrix:
        """Some rows of the product, summed in k order: see `sum_in_k_order`."""
        a, b = self.inputs
        return sum_in_k_order(a[rows], b)

    def release(self) -> None:
        """Give the matrices' memory back; they are made again, the same, when they are asked for."""
        for name in ("inputs", "reference", "_norms", "_probe"):
            self.__dict__.pop(name, None)


def _draw(seed: np.random.SeedSequence, elements: Matrix, begin: int) -> None:
    """Fill a piece of a matrix; each is drawn where a generator that drew all before it would be."""
    piece = elements[begin : begin + PIECE]
    # 64 random bits make one float64, or two float32.
    random = np.random.Generator(np.random.PCG64(seed).advance(begin * piece.itemsize // 8))
    random.random(out=piece, dtype=piece.dtype)
    piece *= 2
    piece -= 1
