"""The problem that a variant runs on: shape, element type and random inputs."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cudamm.errors import UsageError
from cudamm.kernels.error_bound import (
    PARTIAL_SUMS,
    RoundingOfSums,
    error_factors,
    gamma,
    norms_of,
    rounding_of_sums,
    sums_of_pieces,
)
from cudamm.kernels.input_kinds import AnyKind, check_kind, default_kind
from cudamm.kernels.lower_precision import FORMAT_OF_TYPE, LowerPrecision, product_bits, product_error
from cudamm.kernels.matrix_layout import MatrixLayout
from cudamm.kernels.method import ElementType, MatrixName
from cudamm.kernels.random_elements import ElementStream, stream
from cudamm.kernels.reference_product import Matrix as Matrix
from cudamm.kernels.reference_product import reference_product, scaled_sum, sum_in_k_order
from cudamm.source.expression import LARGEST_INT

MOST_ELEMENTS = LARGEST_INT
"""Maximum number of elements of a matrix; most kernels, ours included, index them with a 32-bit int."""

LARGEST_WHOLE = 100
"""Largest absolute value of a random whole number; int32 inputs of draws other than 0 may be larger."""

LARGEST_FLOAT16 = 65504
"""Largest number of float16."""

LEAST_SCALE = 1e-20
"""Least absolute value of a factor that is not 0; with a smaller one, errors below the normal range count."""

ROUNDINGS_OF_SCALING = 4
"""Number of roundings that α A B + β C adds to each term: of a factor, a product, a sum; and one spare."""


@dataclass(frozen=True, order=True)
class Shape:
    """The extents of C (m x n) = A (m x k) B (k x n), all row-major."""

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def extents(self) -> tuple[int, int, int]:
        """Return M, N and K."""
        return self.m, self.n, self.k

    @property
    def work(self) -> int:
        """Return the number of multiplications."""
        return self.m * self.n * self.k

    @property
    def elements(self) -> int:
        """Return the number of elements of A, B and C together."""
        return self.m * self.k + self.k * self.n + self.m * self.n

    def bytes_of(self, element: ElementType) -> int:
        """Return the bytes of A, B and C together, if A and B have an element type."""
        inputs = self.m * self.k + self.k * self.n
        return inputs * element.size_bytes + self.m * self.n * element.of_results.size_bytes

    @property
    def flops(self) -> int:
        """Return the number of operations: a multiplication and an addition for each m, n and k."""
        return 2 * self.m * self.n * self.k


def parse_shape(text: str) -> Shape:
    """Parse `1024` for square matrices, `640x480x320` for M x N x K. Raises UsageError for other text."""
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
    """Raise UsageError for a shape with a matrix that is too large for kernels to index."""
    largest = max(shape.m * shape.k, shape.k * shape.n, shape.m * shape.n)
    if largest > MOST_ELEMENTS:
        raise UsageError(
            f"a matrix of {shape} would have {largest:,} elements; cudamm allows at most "
            f"{MOST_ELEMENTS:,}, the largest 32-bit int, with which most kernels index them"
        )


@dataclass(frozen=True, order=True)
class Scale:
    """The factors α and β of C = α A B + β C."""

    alpha: float = 1.0
    beta: float = 0.0

    @property
    def names(self) -> dict[str, float]:
        """Return the factors by the names that arguments of a kernel may have."""
        return {"alpha": self.alpha, "beta": self.beta}


UNSCALED = Scale()
"""The factors of C = A B."""


@dataclass(frozen=True)
class Problem:
    """One product to compute: its shape, element type and random inputs.

    Attributes:
        seed: seed of the random inputs; the same seed gives the same inputs on every machine.
        scale: factors of the product and of the matrix that C holds before a launch.
        allowed_precision: a format to which a kernel may round, although the element type has more bits.
        draw: number of the draw; each has other inputs, for launches on inputs that no launch has seen.
        window: where in the draw's streams of random elements the inputs begin.
        column_major: the inputs into which a stream is written column by column.
        input_kind: which numbers the elements of A and B are; the element type's default if empty.
    """

    shape: Shape
    element: ElementType
    seed: int = 0
    scale: Scale = UNSCALED
    allowed_precision: LowerPrecision = ""
    draw: int = 0
    window: int = 0
    column_major: tuple[MatrixName, ...] = ()
    input_kind: AnyKind = ""

    def __post_init__(self) -> None:
        """Replace an empty kind of inputs by the default, so that equal problems are equal."""
        object.__setattr__(self, "input_kind", self.input_kind or default_kind(self.element))

    def redrawn(
        self, draw: int, shape: Shape, column_major: tuple[MatrixName, ...], window: int = 0
    ) -> Problem:
        """Return the problem with other inputs, in the shape and the order in memory of a launch."""
        return dataclasses.replace(self, shape=shape, draw=draw, window=window, column_major=column_major)

    @functools.cached_property
    def inputs(self) -> tuple[Matrix, Matrix]:
        """Return random matrices A (m x k) and B (k x n), with elements of both signs unless they are zeros.

        The absolute value of whole numbers is at most 100, and less for a large k, so that all sums are exact
        and only the exact result is right.
        """
        m, n, k = self.shape.m, self.shape.n, self.shape.k
        of_a, of_b = self.streams
        return self._drawn("A", m, k, of_a), self._drawn("B", k, n, of_b)

    def _drawn(self, name: MatrixName, rows: int, columns: int, of_stream: ElementStream) -> Matrix:
        elements = np.empty(rows * columns, self.element.dtype)
        of_stream.fill(elements, self.window)
        return MatrixLayout(rows, columns, name in self.column_major).matrix_in(elements)

    @property
    def streams(self) -> tuple[ElementStream, ElementStream]:
        """Return the streams of random elements of which A and B are a window."""
        numbers = [self.seed, self.shape.m, self.shape.n, self.shape.k, self.draw]
        kind = self.input_kind
        if kind in ("normal", "uniform"):
            a, b = (stream([*numbers, matrix], kind) for matrix in (0, 1))
        else:
            largest = self._largest_whole if kind == "integers" else 0
            a, b = (stream([*numbers, matrix], "integers", largest) for matrix in (0, 1))
        return a, b

    @property
    def is_exact(self) -> bool:
        """Return whether only the exact product is right, rounded once to the type of C."""
        return self.input_kind == "integers" and not self.allowed_precision

    @property
    def _largest_sum(self) -> int:
        """Return the size up to which all sums of whole numbers are exact, and none overflows in C."""
        if self.element.is_integer:
            return 2**31 - 1
        is_half = self.element.of_results.name == "float16"
        return LARGEST_FLOAT16 if is_half else 2**self.element.of_sums.significant_bits

    @property
    def _largest_whole(self) -> int:
        """Return the largest absolute value of a whole number of A and B.

        In draws other than 0 they are as large as the type allows, so that for int32 no product of bytes or
        in float32 is right.

        Those of float8_e4m3 are at most 16, up to which it has every whole number.
        """
        room = self._largest_sum - abs(self.scale.beta) * LARGEST_WHOLE
        of_product = room / max(1.0, abs(self.scale.alpha)) / self.shape.k
        most = math.isqrt(max(1, int(of_product)))
        if self.element.is_integer:
            largest_of_type = 2 ** (8 * self.element.size_bytes - 1) - 1
            return min(most, largest_of_type) if self.draw else min(LARGEST_WHOLE, most)
        largest_exact: int = 2**self.element.significant_bits
        return min(LARGEST_WHOLE, largest_exact, most)

    @functools.cached_property
    def output(self) -> Matrix:
        """Return the random matrix (m x n) that C holds before a launch if β is not 0.

        No element is larger than 1; whole numbers are at most 100.
        """
        random = np.random.default_rng([self.seed, self.shape.m, self.shape.n, self.shape.k, self.draw, 3])
        extents = self.shape.m, self.shape.n
        if self.input_kind == "integers":
            whole = random.integers(-LARGEST_WHOLE, LARGEST_WHOLE, extents, np.int32, endpoint=True)
            return whole.astype(self.element.of_results.dtype, copy=False)
        return random.uniform(-1, 1, extents).astype(self.element.of_results.dtype)

    @functools.cached_property
    def reference(self) -> tuple[Matrix, Matrix]:
        """Return the high part and the low part of the float64 result (m x n): see `reference_product`."""
        product = reference_product(*self.inputs, self.element)
        if self.scale != UNSCALED:
            product = scaled_sum(product, self.output, self.scale.alpha, self.scale.beta)
        return self.nearest(product[0]), product[1]

    def nearest(self, sums: Matrix) -> Matrix:
        """Return exact sums as the type of C rounds them if only these are right, else the sums."""
        if not (self.is_exact and self.element.rounds_sums):
            return sums
        of_results = self.element.of_results.dtype
        rounded: Matrix = sums.astype(np.float32).astype(of_results).astype(np.float64)
        return rounded

    @property
    def error_bound(self) -> Matrix:
        """Return the largest possible rounding error of each element (m x n): see `error_factors`."""
        bound: Matrix = np.outer(*self.error_factors)
        if self.element.rounds_sums:
            bound += self.rounding_of_sums.of(self.reference[0])
        return bound

    @property
    def of_sums(self) -> ElementType:
        """Return the type in which a kernel has to keep its sums.

        It is the type of C if that is a 16-bit type and the precision that the user allows.
        """
        of_results = self.element.of_results
        is_allowed = FORMAT_OF_TYPE.get(of_results.name) == self.allowed_precision
        return of_results if is_allowed else self.element.of_sums

    @property
    def rounding_of_sums(self) -> RoundingOfSums:
        """Return the error of rounding a sum to the type of C, on top of the error of the sum."""
        return RoundingOfSums() if self.is_exact else rounding_of_sums(self.element)

    @property
    def error_factors(self) -> tuple[Matrix, Matrix]:
        """Return a factor for each row (m) and each column (n), whose products bound the errors of the sums.

        Their products are `error_bound`, unless sums are rounded to the type of C: `rounding_of_sums` is then
        added.

        Raises:
            UsageError: k is too large for any bound.
        """
        rows, columns = self._norms
        if self.scale != UNSCALED:
            # β C is one more product of a row and a column: of β and of an element that is at most 1.
            rows = np.sqrt((self.scale.alpha * rows) ** 2 + self.scale.beta**2)
            columns = np.sqrt(columns**2 + 1)
        if self.element.rounds_sums:
            # The error of a sum is rounded with the sum.
            rows = rows * (1 + self.rounding_of_sums.relative)
        return error_factors((rows, columns), self.relative_bound)

    @property
    def relative_bound(self) -> float:
        """Return the largest error of an element as a share of the sum of its terms' sizes.

        Raises:
            UsageError: k is too large for any bound.
        """
        roundings = self.shape.k + (0 if self.scale == UNSCALED else ROUNDINGS_OF_SCALING)
        return self.relative_bound_of(roundings)

    def relative_bound_of(self, roundings: int) -> float:
        """Return the same for sums with a number of roundings."""
        return self.gamma(roundings) + self.product_error + self.partial_sum_error

    @property
    def partial_sum_error(self) -> float:
        """Return the largest error of the short sums that tensor cores add with few bits."""
        return 0.0 if self.is_exact else PARTIAL_SUMS.get(self.element.of_inputs.name, 0.0)

    @property
    def product_error(self) -> float:
        """Return the largest error of a product of two elements, as a share of the product."""
        if self.is_exact:
            return 0.0
        allowed_bits = product_bits(self.allowed_precision, self.element)
        bits_of_type = self.element.significant_bits if self.element.rounds_inputs else 0
        return max(product_error(allowed_bits), product_error(bits_of_type))

    def gamma(self, roundings: int) -> float:
        """Return the largest error of sums with a number of roundings, as `error_bound.gamma` does.

        Raises:
            UsageError: there are so many roundings that there is no bound.
        """
        if self.is_exact:
            return 0.0
        # Tensor cores cut sums off instead of rounding them, which makes an error of up to twice the size.
        are_cut = self.element.is_narrow and self.of_sums == self.element.of_sums
        return gamma(self.of_sums, 2 * roundings if are_cut else roundings, self.shape.k)

    @functools.cached_property
    def _norms(self) -> tuple[Matrix, Matrix]:
        return norms_of(*self.inputs)

    @property
    def probe(self) -> Matrix:
        """Return the random vector x (n) with which `is_product` checks a matrix."""
        return self._probe[0]

    @functools.cached_property
    def _probe(self) -> tuple[Matrix, Matrix, Matrix]:
        """Return x (n), A (B x) (m), and the float64 rounding error that (A B) x may differ by (m)."""
        a, b = self.inputs
        rows, columns = self._norms
        random = np.random.default_rng([self.seed, self.shape.m, self.shape.n, self.shape.k, self.draw, 2])
        x = random.uniform(1, 2, self.shape.n) * random.choice((-1, 1), self.shape.n)
        b_x = np.concatenate(sums_of_pieces("kj,j->k", b, x))
        expected = np.concatenate(sums_of_pieces("ik,k->i", a, b_x))
        # Equation (3.13) of Higham for both sides: each is a chain of at most k + n additions.
        tolerance = rows * (columns @ np.abs(x)) * (2 * (self.shape.k + self.shape.n + 8) * 2.0**-53)
        return x, expected, tolerance

    def check_verifiable(self) -> None:
        """Raise UsageError if inputs are zeros, or if k, α and β have no error bound; nothing is computed."""
        if self.input_kind == "zeros":
            raise UsageError(
                "--inputs zeros verifies nothing, because many wrong kernels have the right product of "
                "zeros: choose other inputs"
            )
        _ = self.relative_bound  # raises
        alpha, beta = self.scale.alpha, self.scale.beta
        for name, value in self.scale.names.items():
            if 0 < abs(value) < LEAST_SCALE:
                raise UsageError(f"{name} is {value:g}: it has to be 0 or at least {LEAST_SCALE:g} in size")
        if self.input_kind != "integers" or self.scale == UNSCALED:
            return
        if not (alpha.is_integer() and beta.is_integer()):
            whose, other = (
                ("int32", "another type with --dtype")
                if self.element.is_integer
                else ("--inputs integers", "other inputs")
            )
            raise UsageError(
                f"alpha is {alpha:g} and beta is {beta:g}: for {whose} both have to be whole numbers; choose "
                f"{other}"
            )
        if abs(alpha) * self.shape.k + abs(beta) * LARGEST_WHOLE > self._largest_sum:
            raise UsageError(
                f"alpha {alpha:g} and beta {beta:g} are too large for {self.element.name} and "
                f"K = {self.shape.k}"
            )

    def check_inputs(self) -> None:
        """Raise UsageError if the element type or K has no inputs of this kind."""
        check_kind(self.element, self.input_kind)
        if self.input_kind == "integers" and self.shape.k > self._largest_sum:
            raise UsageError(
                f"K is {self.shape.k:,}: sums of so many whole numbers can exceed {self._largest_sum:,}, "
                f"the limit for {self.element.name}; choose --inputs uniform"
            )

    def prepare(self) -> None:
        """Compute everything that `is_product` and `error_factors` need."""
        _ = self._probe

    @property
    def has_inputs(self) -> bool:
        """Return whether `inputs` are in memory."""
        return "inputs" in self.__dict__

    @property
    def has_reference(self) -> bool:
        """Return whether `reference` has been computed."""
        return "reference" in self.__dict__

    def is_product(self, times_probe: Matrix) -> bool:
        """Return whether a float64 matrix P is A B, from P x, where x is `probe`.

        Computing the product takes m n k operations; checking P x = A (B x) for a random x takes only
        m n + m k + k n. R. Freivalds, "Probabilistic machines can use less running time", IFIP 1977.

        No element of x is smaller than 1, so an error of a thousandth of the error bound in one element is
        detected. Errors in several elements of a row are detected unless they cancel in the product with x.
        If rounding makes the check less sensitive than that, no matrix passes.

        Args:
            times_probe: P x (m).
        """
        _, expected, tolerance = self._probe
        rows, columns = self._norms
        # An error of 1 changes P x by at least 1, of which rounding errors hide less than half.
        detectable = 0.49 if self.is_exact else rows * (self.gamma(self.shape.k) * columns.min() / 1000)
        with np.errstate(invalid="ignore", over="ignore"):
            is_right = bool((np.abs(times_probe - expected) <= tolerance).all())  # False for NaN
        return is_right and not (tolerance > detectable).any()

    def offer_reference(self, product: Matrix) -> bool:
        """Use a float64 matrix (m x n) as the reference if it is A B; return whether it is."""
        with np.errstate(invalid="ignore", over="ignore"):
            times_probe = product @ self.probe
        if not self.is_product(times_probe):
            return False
        self.__dict__["reference"] = self.nearest(product), np.zeros(product.shape)
        return True

    def sum_in_k_order(self, rows: npt.NDArray[np.intp]) -> Matrix:
        """Return some rows of the product, summed in k order: see `reference_product.sum_in_k_order`."""
        a, b = self.inputs
        return sum_in_k_order(a[rows], b, self.element)

    def release(self) -> None:
        """Release the matrices' memory; later uses compute the same matrices again."""
        for name in ("inputs", "output", "reference", "_norms", "_probe"):
            self.__dict__.pop(name, None)
