"""The random elements of the inputs: the same numbers on the host and on a GPU, from any position on.

The elements of a matrix are a section of a stream. Philox is a counter-based generator: a counter and a key
give four words of 64 bits, so each thread of a GPU can make its own elements. J. Salmon, M. Moraes, R. Dror
and D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. `gpu_runtime/fresh_inputs.cu` of
`devices` is the same generator for a GPU.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cudamm.kernels.in_threads import in_threads
from cudamm.kernels.reference_product import Matrix

WINDOW_BYTES = 256
"""Distance in a stream from the beginning of one window to that of the next: eight steps of the generator.

Memory that a driver allocates begins at a multiple of 256 bytes, and so does every window of it.
"""

PIECE = 2**20
"""Number of elements that a thread makes at a time; a multiple of the elements that a step makes."""

STEP_BYTES = 32
"""Bytes of random bits that one step of the generator makes."""

Distribution = Literal["uniform", "normal", "integers"]

DISTRIBUTIONS: tuple[Distribution, ...] = ("uniform", "normal", "integers")
"""Each with the number that it has in `fresh_inputs.cu`."""

QUANTILE_BITS = 12
"""Number of bits behind the point that the quantiles of the normal distribution keep."""


@functools.cache
def normal_quantiles() -> Matrix:
    """Return the quantiles of the normal distribution at (i + 1/2) / 65536, as multiples of 2⁻¹² (int16).

    A table makes the same numbers on the host and on a GPU, whose logarithms and cosines differ. Each
    quantile is rounded by far more than the error of the function that computes it.
    """
    inverse = statistics.NormalDist().inv_cdf
    upper = [round(inverse((i + 0.5) / 2**16) * 2**QUANTILE_BITS) for i in range(2**15, 2**16)]
    return np.array([*(-quantile for quantile in reversed(upper)), *upper], np.int16)


@dataclass(frozen=True)
class ElementStream:
    """An endless sequence of random elements.

    Attributes:
        key: the generator's key.
        distribution: `uniform` elements are in [-1, 1), or in [-1, 1] if they have 8 or 16 bits. The absolute
            value of `normal` ones is below 4.5.
        largest: largest absolute value of whole numbers.
    """

    key: tuple[int, int]
    distribution: Distribution = "uniform"
    largest: int = 0

    @property
    def arguments(self) -> tuple[int, int, int, int]:
        """Return the stream as arguments of the kernels in `fresh_inputs.cu`."""
        return *self.key, DISTRIBUTIONS.index(self.distribution), self.largest

    def fill(self, elements: Matrix, window: int = 0) -> None:
        """Fill a contiguous array with the elements of the stream from the beginning of a window on."""
        flat = elements.reshape(-1)
        first_byte = window * WINDOW_BYTES

        def fill_from(begin: int) -> None:
            self._fill_piece(flat[begin : begin + PIECE], first_byte + begin * flat.itemsize)

        in_threads(fill_from, range(0, flat.size, PIECE))

    def _fill_piece(self, piece: Matrix, first_byte: int) -> None:
        generator = np.random.Philox(key=np.array(self.key, np.uint64)).advance(first_byte // STEP_BYTES)
        if self.distribution == "uniform" and piece.itemsize > 2:
            np.random.Generator(generator).random(out=piece, dtype=piece.dtype)
            piece *= 2
            piece -= 1
            return
        words = generator.random_raw(-(-piece.nbytes // 8))
        piece[:] = self._elements_of(words.view(f"u{piece.itemsize}")[: piece.size])

    def _elements_of(self, bits: Matrix) -> Matrix:
        """Return the numbers that random bits choose; the assignment to the element type rounds them."""
        width = 8 * bits.itemsize
        if self.distribution == "integers":
            chosen = (bits >> max(0, width - 32)).astype(np.uint64) * np.uint64(2 * self.largest + 1)
            whole: Matrix = (chosen >> np.uint64(min(32, width))).astype(np.int64) - self.largest
            return whole
        if self.distribution == "uniform":
            return bits.astype(np.float32) * np.float32(2.0 ** (1 - width)) - 1  # exact
        if width == 8:  # the bits choose the middle one of 256 quantiles
            bits = bits.astype(np.uint16) << 8 | 0x80
            width = 16
        # The upper 16 bits choose a quantile; the others a number between its neighbouring multiples of 2⁻¹².
        low = width - 16
        of_sums = np.dtype(f"f{max(4, bits.itemsize)}")
        signed = np.dtype(f"i{max(4, bits.itemsize)}")
        numbers = normal_quantiles()[bits >> low].astype(signed) << low
        if low:
            numbers += (bits & (2**low - 1)).astype(signed) - 2 ** (low - 1)
        normal: Matrix = numbers.astype(of_sums) * of_sums.type(2.0 ** -(low + QUANTILE_BITS))
        return normal


def stream(numbers: Sequence[int], distribution: Distribution = "uniform", largest: int = 0) -> ElementStream:
    """Return the stream whose key is made from some whole numbers, such as a seed and a size."""
    key: Any = np.random.SeedSequence(list(numbers)).generate_state(2, np.uint64)
    return ElementStream((int(key[0]), int(key[1])), distribution, largest)
