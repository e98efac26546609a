"""The random elements of the inputs: the same numbers on the host and on a GPU, from any position on.

The elements of a matrix are a section of a stream. Philox is a counter-based generator: a counter and a key
give four words of 64 bits, so each thread of a GPU can make its own elements. J. Salmon, M. Moraes, R. Dror
and D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. `gpu_runtime/fresh_inputs.cu` of
`devices` is the same generator for a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class ElementStream:
    """An endless sequence of random elements.

    Attributes:
        key: the generator's key.
        largest: largest absolute value of whole numbers; 0 for floating-point elements, which are in [-1, 1),
            or in [-1, 1] if they have 16 bits.
    """

    key: tuple[int, int]
    largest: int = 0

    def fill(self, elements: Matrix, window: int = 0) -> None:
        """Fill a contiguous array with the elements of the stream from the beginning of a window on."""
        flat = elements.reshape(-1)
        first_byte = window * WINDOW_BYTES

        def fill_from(begin: int) -> None:
            self._fill_piece(flat[begin : begin + PIECE], first_byte + begin * flat.itemsize)

        in_threads(fill_from, range(0, flat.size, PIECE))

    def _fill_piece(self, piece: Matrix, first_byte: int) -> None:
        generator = np.random.Philox(key=np.array(self.key, np.uint64)).advance(first_byte // STEP_BYTES)
        if piece.itemsize == 2:
            bits = generator.random_raw(-(-piece.size // 4)).view(np.uint16)[: piece.size]
            piece[:] = (
                bits.astype(np.float32) * np.float32(2.0**-15) - 1
            )  # exact, and rounded by the assignment
        elif piece.dtype.kind == "f":
            np.random.Generator(generator).random(out=piece, dtype=piece.dtype)
            piece *= 2
            piece -= 1
        else:
            words = generator.random_raw(-(-piece.size // 2)).view(np.uint32)[: piece.size].astype(np.uint64)
            span = np.uint64(2 * self.largest + 1)
            piece[:] = (words * span >> np.uint64(32)).astype(np.int64) - self.largest


def stream(numbers: Sequence[int], largest: int = 0) -> ElementStream:
    """Return the stream whose key is made from some whole numbers, such as a seed and a size."""
    key: Any = np.random.SeedSequence(list(numbers)).generate_state(2, np.uint64)
    return ElementStream((int(key[0]), int(key[1])), largest)
