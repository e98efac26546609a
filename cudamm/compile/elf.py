"""Read the sections of an object file. Object files are ELF on the host and on a GPU.

Source: the ELF-64 specification. The file header contains the section headers' offset, size and number.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cudamm.errors import KernelError


@dataclass(frozen=True)
class Section:
    """A section of an ELF file.

    Attributes:
        size_bytes: size in memory; sections without contents in the file have a size too.
        data: the contents; empty if the file contains none.
    """

    name: str
    flags: int
    size_bytes: int
    data: bytes


_NO_CONTENTS = 8  # SHT_NOBITS


def check_elf(image: bytes) -> None:
    """Raise KernelError if an image is no complete 64-bit ELF file, although its compiler succeeded."""
    if image[:5] != b"\x7fELF\x02":
        raise KernelError("the compiler made no object file")
    sections(image)


def sections(image: bytes) -> list[Section]:
    """Return every section of a 64-bit ELF file in this machine's byte order.

    Raises:
        KernelError: the file is damaged.
    """
    try:
        return list(_sections(image))
    except (struct.error, IndexError, ValueError, OverflowError):
        raise KernelError("the compiler made a damaged object file") from None


def _sections(image: bytes) -> Iterator[Section]:
    (offset,) = struct.unpack_from("=Q", image, 0x28)
    entry_bytes, count, names_index = struct.unpack_from("=HHH", image, 0x3A)
    headers = [struct.unpack_from("=IIQQQQ", image, offset + i * entry_bytes) for i in range(count)]
    names_start = headers[names_index][4]
    for name, kind, flags, _, start, size in headers:
        name_start = names_start + name
        yield Section(
            image[name_start : image.index(b"\0", name_start)].decode(),
            flags,
            size,
            b"" if kind == _NO_CONTENTS else image[start : start + size],
        )
