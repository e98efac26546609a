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


@dataclass(frozen=True)
class Symbol:
    """A symbol of an object file.

    Attributes:
        kind: STT_FUNC and the like.
        is_local: whether other object files cannot see it.
        is_weak: whether a definition in another object file may take its place.
        is_defined: whether this file defines it.
        size_bytes: size of the variable or of the function's code; 0 if the file does not define it.
    """

    name: str
    kind: int
    is_local: bool
    is_weak: bool
    is_defined: bool
    size_bytes: int


THREAD_LOCAL, INDIRECT_FUNCTION = 6, 10  # STT_TLS, STT_GNU_IFUNC
_LOCAL, _WEAK = 0, 2  # STB_LOCAL, STB_WEAK

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


def symbols(image: bytes) -> list[Symbol]:
    """Return every named symbol of a 64-bit ELF file in this machine's byte order.

    Source: the ELF-64 specification, “Symbol Table”.

    Raises:
        KernelError: the file is damaged.
    """
    by_name = {section.name: section.data for section in sections(image)}
    names = by_name.get(".strtab", b"")
    try:
        return [
            Symbol(
                names[start : names.index(b"\0", start)].decode(),
                info & 15,
                info >> 4 == _LOCAL,
                info >> 4 == _WEAK,
                index != 0,
                size,
            )
            for start, info, _, index, _, size in struct.iter_unpack("=IBBHQQ", by_name.get(".symtab", b""))
            if start
        ]
    except (struct.error, ValueError):
        raise KernelError("the compiler made a damaged object file") from None


def is_guard(symbol: str) -> bool:
    """Return whether a symbol is a variable that says whether another variable's constructor has run.

    Sources: the Itanium C++ ABI, “Guard Variables”, and GCC's `__tls_guard` for variables of the whole file.
    """
    return symbol.startswith("_ZGV") or symbol == "__tls_guard"


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
