"""The arrays that a launch accesses, and the names of their elements: an offset in bytes as `As[3][4]`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from cudamm.compile.program import Program
from cudamm.devices.observation import Fault, Observation
from cudamm.errors import UsageError
from cudamm.kernels.expression import parse
from cudamm.kernels.header import without_comments
from cudamm.kernels.launch_plan import Launch


@dataclass(frozen=True)
class ArrayShape:
    """Extents of an array, outermost first, and the bytes of an element."""

    extents: tuple[int, ...]
    element_bytes: int

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.extents)

    @property
    def row_bytes(self) -> int:
        """Bytes from one row to the next."""
        return self.extents[-1] * self.element_bytes

    def __str__(self) -> str:
        return " x ".join(f"{extent:,}" for extent in self.extents)

    def index(self, offset_bytes: int) -> str:
        """Return `[3][4]`; the first index may be past its extent, but not negative."""
        rest = offset_bytes // self.element_bytes
        found: list[int] = []
        for extent in self.extents[:0:-1]:
            found.append(rest % extent)
            rest //= extent
        return "".join(f"[{i}]" for i in (rest, *found[::-1]))


def array_shapes(observation: Observation, program: Program, launch: Launch) -> dict[str, ArrayShape]:
    """Return the shapes of A, B, C and of the shared arrays whose declarations can be read."""
    of, size = launch.shape, program.element.size_bytes
    shapes = {
        "A": ArrayShape((of.m, of.k), size),
        "B": ArrayShape((of.k, of.n), size),
        "C": ArrayShape((of.m, of.n), size),
    }
    for array in observation.shared:
        extents = declared_extents(program.text, array.name)
        count = math.prod(extents)
        if extents and count > 0 and array.size_bytes % count == 0:
            shapes[array.name] = ArrayShape(extents, array.size_bytes // count)
        elif not extents and array.size_bytes % size == 0:
            shapes[array.name] = ArrayShape((array.size_bytes // size,), size)
    return shapes


def element_name(fault: Fault, shape: ArrayShape | None) -> str:
    """Return `As[3][4]`, `A[1][4] to A[1][7]`, or the offset if the array's shape is not known."""
    if not fault.array:
        return f"{fault.space} memory outside of every array"
    if shape is None:
        return f"byte {fault.offset_bytes:,} of {fault.array}"
    if fault.offset_bytes < 0:
        return f"{fault.array}[{fault.offset_bytes // shape.element_bytes}]"
    name = f"{fault.array}{shape.index(fault.offset_bytes)}"
    if fault.size_bytes > shape.element_bytes:
        last = fault.offset_bytes + fault.size_bytes - shape.element_bytes
        name += f" to {fault.array}{shape.index(last)}"
    return name


def declared_extents(text: str, name: str) -> tuple[int, ...]:
    """Return the extents of a `__shared__` array by its declaration; nothing if they cannot be computed.

    Args:
        text: of a program, in which parameters are `#define`d.
    """
    code = without_comments(text)
    names: dict[str, int] = {}
    for define in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+)$", code, re.MULTILINE):
        value = _whole(define[2], names)
        if value is not None:
            names[define[1]] = value
    for declaration in re.finditer(r"\b__shared__\b([^;{}]*)[;{}]", code):
        found = re.search(rf"\b{re.escape(name)}\s*((?:\[[^\]]+\]\s*)+)", declaration[1])
        if found:
            extents = [_whole(text, names) for text in re.findall(r"\[([^\]]+)\]", found[1])]
            return tuple(e for e in extents if e is not None) if None not in extents else ()
    return ()


def _whole(text: str, names: Mapping[str, int]) -> int | None:
    # C's / of whole numbers is our //; the rest is written alike.
    try:
        return parse(re.sub(r"/+", "//", text.strip())).whole(names)
    except UsageError:
        return None
