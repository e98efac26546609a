"""Read the resources that a compiled kernel uses, from its cubin and from the report of ptxas."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cudamm.compile.elf import sections
from cudamm.errors import KernelError
from cudamm.source.c_text import function_of


@dataclass(frozen=True)
class Resources:
    """The resources of a multiprocessor that a compiled kernel uses.

    Attributes:
        registers_per_thread: registers that the compiler allocated.
        static_shared_bytes: shared memory per block that the kernel declares.
        local_bytes_per_thread: local memory, for spilled registers and for arrays that do not fit registers.
        spill_store_bytes: bytes that spilling stores to local memory.
        spill_load_bytes: bytes that spilling loads from local memory.
        constant_bytes: `__constant__` memory of the kernel's file, without the kernel's parameters.
        barriers: hardware barriers; `__syncthreads()` uses one.
        max_threads_per_block: maximum from `__launch_bounds__`; None if the kernel has none.
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

# Attributes in a kernel's section .nv.info, and the format of an attribute that contains its own size.
_MAX_THREADS = 0x05  # value: three 32-bit extents
_PARAMETER = 0x17  # value: 32 bits, then the parameter's number and offset, 16 bits each
_SIZED = 0x04


def find_kernel(image: bytes, entry: str) -> str:
    """Return the mangled name of a kernel in its cubin; C++ encodes the parameter types in the name.

    Raises:
        KernelError: the cubin contains no such kernel, or several.
    """
    names = sorted(s.name.removeprefix(".text.") for s in sections(image) if s.name.startswith(".text."))
    function = function_of(entry)
    mangled = re.compile(rf"_Z(?:N\w*?)?{len(function)}{function}")
    matching = [name for name in names if name == function or mangled.match(name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise KernelError(
            f"there are several kernels named {entry}, with different parameters: {', '.join(matching)}"
        )
    raise KernelError(
        f"the compiled program contains no kernel {entry} (found: {', '.join(names) or 'none'})"
    )


def read_resources(image: bytes, report: str, name: str) -> Resources:
    """Return the resources of a kernel.

    Args:
        image: the cubin.
        report: what `ptxas -v` printed about the cubin.
        name: the kernel's mangled name.

    Raises:
        KernelError: the report contains nothing about the kernel.
    """
    # The report contains “Compiling entry function 'name' for 'sm_90'” and two lines for each kernel.
    _, _, following = report.partition(f"Compiling entry function '{name}'")
    of_kernel = following.partition("Compiling entry function")[0]

    def number(pattern: str, missing: int = 0) -> int:
        found = re.search(pattern, of_kernel)
        return int(found[1]) if found else missing

    def largest(pattern: str) -> int:
        return max(map(int, re.findall(pattern, of_kernel)), default=0)

    def total(pattern: str) -> int:  # over the kernel and the functions it calls
        return sum(map(int, re.findall(pattern, of_kernel)))

    if "registers" not in of_kernel:
        raise KernelError(
            f"the compiler did not report the resources of {name}: {' '.join(report.split())[:200]}"
        )
    by_name = {section.name: section for section in sections(image)}
    constants = by_name.get(_USER_CONSTANTS)
    information = by_name.get(f".nv.info.{name}")
    return Resources(
        registers_per_thread=number(r"Used (\d+) registers"),
        static_shared_bytes=number(r"(\d+) bytes smem"),
        # The cumulative size includes called functions that are not inlined. ptxas reports no cumulative
        # size for recursive functions, because their depth is not known.
        local_bytes_per_thread=number(
            r"(\d+) bytes cumulative stack size", missing=largest(r"(\d+) bytes stack frame")
        ),
        spill_store_bytes=total(r"(\d+) bytes spill stores"),
        spill_load_bytes=total(r"(\d+) bytes spill loads"),
        constant_bytes=constants.size_bytes if constants else 0,
        # Compilers that report no barriers are taken to use one, which every kernel has.
        barriers=number(r"used (\d+) barriers", missing=1 if "barriers" not in of_kernel else 0),
        max_threads_per_block=_max_threads(information.data) if information else None,
    )


def parameter_offsets(image: bytes, name: str) -> list[int]:
    """Return the offset of each kernel parameter in bytes; empty if the cubin does not contain the offsets.

    The first offset may be greater than 0: the address of a tensor map must be a multiple of 128, and the
    address at which parameters begin depends on the architecture.
    """
    by_name = {section.name: section for section in sections(image)}
    information = by_name.get(f".nv.info.{name}")
    offsets: dict[int, int] = {}
    for value in _attributes(information.data if information else b"", _PARAMETER):
        _, ordinal, offset = struct.unpack_from("=IHH", value)
        offsets[ordinal] = offset
    return [offset for _, offset in sorted(offsets.items())]


def _max_threads(information: bytes) -> int | None:
    """Return the product of the extents that `__launch_bounds__` leaves in a kernel's attributes."""
    for value in _attributes(information, _MAX_THREADS):
        x, y, z = struct.unpack_from("=III", value)
        return int(x * y * z)
    return None


def _attributes(information: bytes, wanted: int) -> Iterator[bytes]:
    """Yield the values of one attribute of a kernel, if the attribute's format contains its size."""
    position = 0
    while position + 4 <= len(information):
        form, attribute, size = struct.unpack_from("=BBH", information, position)
        if form != _SIZED:  # other formats have a value in place of the size
            size = 0
        elif attribute == wanted:
            yield information[position + 4 : position + 4 + size]
        position += 4 + size
