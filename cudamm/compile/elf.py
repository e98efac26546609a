"""The sections of an object file, which is ELF for the host and for a GPU alike.

Source: the ELF-64 specification. The file header gives the section headers' place, size and number.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cudamm.errors import KernelError


@dataclass(frozen=True)
class Section:
    """One section.

    Attributes:
        size_bytes: in memory; a section without contents in the file has a size too.
        data: its contents, empty where the file holds none.
    """

    name: str
    flags: int
    size_bytes: int
    data: bytes


_NO_CONTENTS = 8  # SHT_NOBITS


def check_elf(image: bytes) -> None:
    """Raise KernelError where a compiler that said it had succeeded made something else."""
    if image[:5] != b"\x7fELF\x02":
        raise KernelError("the compiler made no object file")


def sections(image: bytes) -> Iterator[Section]:
    """Every section of a 64-bit ELF file of this machine's byte order."""
    (offset,) = struct.unpack_from("=Q", image, 0x28)
    entry_bytes, count, names_index = struct.unpack_from("=HHH", image, 0x3A)
    headers = [struct.unpack_from("=IIQQQQ", image, offset + i * entry_bytes) for i in range(count)]
    names_at = headers[names_index][4]
    for name, kind, flags, _, start, size in headers:
        first = names_at + name
        yield Section(
            image[first : image.index(b"\0", first)].decode(),
            flags,
            size,
            b"" if kind == _NO_CONTENTS else image[start : start + size],
        )
