"""Arguments that are device memory with the numbers of a NumPy file, such as a lookup table."""

from __future__ import annotations

import functools
import hashlib
import io
import tokenize
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cudamm.errors import UsageError
from cudamm.source.input_file import read_input

MOST_BYTES = 1 << 24
"""Maximum size of such a file, in bytes."""


@dataclass(frozen=True)
class FileArray:
    """The numbers of a file, in row-major order, and a hash of them."""

    dtype: str
    digest: str
    content: bytes = field(repr=False, compare=False)

    @property
    def size_bytes(self) -> int:
        """Return the size of the numbers."""
        return len(self.content)


def read_array(path: Path) -> FileArray:
    """Read a file that `numpy.save` has written. Raise UsageError if it is missing or contains no numbers."""
    try:
        return _parsed(path, read_input(path, "an array of numpy.save", MOST_BYTES))
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}): file(…) in --args names a file of numpy.save, and a "
            "relative path begins at the folder of the kernel's file"
        ) from None


@functools.lru_cache(maxsize=16)  # a sweep plans the launch of each variant several times
def _parsed(path: Path, read: bytes) -> FileArray:
    try:
        array = np.lib.format.read_array(io.BytesIO(read), allow_pickle=False)
    except (ValueError, TypeError, OverflowError, MemoryError, tokenize.TokenError):
        raise UsageError(f"{path} is not a file of numbers that numpy.save has written") from None
    if array.size == 0 or array.dtype.kind not in "biuf":
        raise UsageError(
            f"{path} has {array.size} elements of {array.dtype}; a kernel needs 1 or more numbers"
        )
    content = array.astype(array.dtype.newbyteorder("="), copy=False).tobytes()
    return FileArray(array.dtype.name, hashlib.sha256(content).hexdigest()[:16], content)
