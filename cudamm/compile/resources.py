"""What a compiled kernel takes of a multiprocessor, read from what nvcc made and said."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cudamm.compile.elf import sections
from cudamm.errors import KernelError


@dataclass(frozen=True)
class Resources:
    """What a compiled kernel takes of a multiprocessor.

    Attributes:
        registers_per_thread: allocated by the compiler.
        static_shared_bytes: shared memory the kernel declares, a block.
        local_bytes_per_thread: local memory: spilled registers, and arrays that registers cannot hold.
        spill_store_bytes: stored to local memory by instructions that the compiler had to add.
        spill_load_bytes: loaded from there.
        constant_bytes: `__constant__` memory of the kernel's file, its parameters not among them.
        barriers: hardware barriers; a `__syncthreads()` takes one.
        max_threads_per_block: a block may have; None where no `__launch_bounds__` says.
    """

    registers_per_thread: int
    static_shared_bytes: int
    local_bytes_per_thread: int
    spill_store_bytes: int
    spill_load_bytes: int
    constant_bytes: int
    barriers: int
    max_threads_per_block: int | None


_USER_CONSTANTS = ".nv.constant3"  # the bank of __constant__ variables
# Attributes of a kernel, and the form of those that say how long they are: three 32-bit extents; and of each
# parameter, after 32 bits, its number and its offset, 16 bits each.
_MAX_THREADS, _PARAMETER, _SIZED = 0x05, 0x17, 0x04


def find_kernel(image: bytes, entry: str) -> str:
    """The name that a kernel has in its cubin: C++ encodes the parameter types in it.

    Raises:
        KernelError: it is not there.
    """
    names = sorted(s.name.removeprefix(".text.") for s in sections(image) if s.name.startswith(".text."))
    fitting = [name for name in names if name == entry or name.startswith(f"_Z{len(entry)}{entry}")]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise KernelError(f"there are several kernels {entry}, for other parameters: {', '.join(fitting)}")
    raise KernelError(
        f"there is no kernel {entry} in what was compiled (found: {', '.join(names) or 'none'})"
    )


def read_resources(image: bytes, remarks: str, name: str) -> Resources:
    """The resources of a kernel.

    Args:
        image: the cubin.
        remarks: what `ptxas -v` said when it made it.
        name: as it is in the cubin.

    Raises:
        KernelError: the compiler did not say.
    """
    # “Compiling entry function 'name' for 'sm_90'”, then two lines on it, until the next function's.
    about = remarks.partition(f"Compiling entry function '{name}'")[2].partition("Compiling entry function")[
        0
    ]

    def number(pattern: str, missing: int = 0) -> int:
        found = re.search(pattern, about)
        return int(found[1]) if found else missing

    def largest(pattern: str) -> int:
        return max(map(int, re.findall(pattern, about)), default=0)

    def total(pattern: str) -> int:  # of the kernel and the functions it calls
        return sum(map(int, re.findall(pattern, about)))

    if "registers" not in about:
        raise KernelError(f"the compiler did not say what {name} takes: {' '.join(remarks.split())[:200]}")
    found = {section.name: section for section in sections(image)}
    constants = found.get(_USER_CONSTANTS)
    information = found.get(f".nv.info.{name}")
    return Resources(
        registers_per_thread=number(r"Used (\d+) registers"),
        static_shared_bytes=number(r"(\d+) bytes smem"),
        # Where it calls functions that are not inlined, theirs is on top of its own; of those that call
        # themselves nobody knows how often.
        local_bytes_per_thread=number(
            r"(\d+) bytes cumulative stack size", missing=largest(r"(\d+) bytes stack frame")
        ),
        spill_store_bytes=total(r"(\d+) bytes spill stores"),
        spill_load_bytes=total(r"(\d+) bytes spill loads"),
        constant_bytes=constants.size_bytes if constants else 0,
        # Compilers that do not say count none beyond the one that every kernel has.
        barriers=number(r"used (\d+) barriers", missing=1 if "barriers" not in about else 0),
        max_threads_per_block=_max_threads(information.data) if information else None,
    )


def parameter_offsets(image: bytes, name: str) -> list[int]:
    """Where each of a kernel's parameters lies among them, in bytes; empty where the cubin does not say.

    The first may not lie at 0: a tensor map's address is to be a multiple of 128, and where parameters begin
    depends on the architecture.
    """
    found = {section.name: section for section in sections(image)}
    information = found.get(f".nv.info.{name}")
    offsets: dict[int, int] = {}
    for value in _attributes(information.data if information else b"", _PARAMETER):
        _, ordinal, offset = struct.unpack_from("=IHH", value)
        offsets[ordinal] = offset
    return [offset for _, offset in sorted(offsets.items())]


def _max_threads(information: bytes) -> int | None:
    """The product of the extents that `__launch_bounds__` leaves in a kernel's attributes."""
    for value in _attributes(information, _MAX_THREADS):
        x, y, z = struct.unpack_from("=III", value)
        return int(x * y * z)
    return None


def _attributes(information: bytes, wanted: int) -> Iterator[bytes]:
    """The values of one attribute of a kernel, of the form that says how long they are."""
    at = 0
    while at + 4 <= len(information):
        form, attribute, size = struct.unpack_from("=BBH", information, at)
        if form != _SIZED:  # other forms have a value in place of the size
            size = 0
        elif attribute == wanted:
            yield information[at + 4 : at + 4 + size]
        at += 4 + size
