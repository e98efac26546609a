"""Shapes of the arrays that a launch accesses, and names such as `As[3][4]` for offsets in bytes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from cudamm.compile.program import Program
from cudamm.devices.observation import Fault, Observation
from cudamm.kernels.launch_plan import Launch
from cudamm.kernels.matrix_layout import MatrixLayout
from cudamm.source.c_numbers import number_in
from cudamm.source.c_text import without_comments
from cudamm.source.kernel_changes import template_values


@dataclass(frozen=True)
class ArrayShape:
    """Extents of an array, outermost first, and the size of an element.

    Attributes:
        by_column: whether the array is a matrix that lies in memory column by column.
    """

    extents: tuple[int, ...]
    element_bytes: int
    by_column: bool = False

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.extents)

    @property
    def row_bytes(self) -> int:
        """Bytes from the start of one row to the start of the next."""
        return self.extents[-1] * self.element_bytes

    def __str__(self) -> str:
        return " x ".join(f"{extent:,}" for extent in self.extents)

    def index(self, offset_bytes: int) -> str:
        """Return the element at an offset as `[3][4]`.

        Args:
            offset_bytes: not negative; past the end of the array the first index exceeds its extent.
        """
        remaining = offset_bytes // self.element_bytes
        if self.by_column:
            rows, columns = self.extents
            row, column = MatrixLayout(rows, columns, by_column=True).element_at(remaining)
            return f"[{row}][{column}]"
        indices: list[int] = []
        for extent in self.extents[:0:-1]:
            indices.append(remaining % extent)
            remaining //= extent
        return "".join(f"[{i}]" for i in (remaining, *indices[::-1]))


def array_shapes(observation: Observation, program: Program, launch: Launch) -> dict[str, ArrayShape]:
    """Return the shapes of A, B, C and the shared arrays.

    A shared array whose extents cannot be computed is one row of the program's elements, or left out if its
    size is not a multiple of theirs.
    """
    element_bytes = program.element.size_bytes
    shapes = {
        str(name): ArrayShape((layout.rows, layout.columns), program.element.bytes_of[name], layout.by_column)
        for name, layout in launch.layouts.items()
    }
    for array in observation.shared:
        extents = declared_extents(program.text, array.name, program.entry)
        count = math.prod(extents)
        if extents and count > 0 and array.size_bytes % count == 0:
            shapes[array.name] = ArrayShape(extents, array.size_bytes // count)
        elif not extents and array.size_bytes % element_bytes == 0:
            shapes[array.name] = ArrayShape((array.size_bytes // element_bytes,), element_bytes)
    return shapes


def element_name(fault: Fault, shape: ArrayShape | None) -> str:
    """Return `As[3][4]`, `A[1][4] to A[1][7]`, or the offset in bytes if the array's shape is not known."""
    if not fault.array:
        return f"{fault.space} memory outside every array"
    if shape is None:
        return f"byte {fault.offset_bytes:,} of {fault.array}"
    if fault.offset_bytes < 0:
        return f"{fault.array}[{fault.offset_bytes // shape.element_bytes}]"
    name = f"{fault.array}{shape.index(fault.offset_bytes)}"
    if fault.size_bytes > shape.element_bytes:
        last = fault.offset_bytes + fault.size_bytes - shape.element_bytes
        name += f" to {fault.array}{shape.index(last)}"
    return name


def declared_extents(text: str, name: str, entry: str = "") -> tuple[int, ...]:
    """Return the extents in the declaration of a `__shared__` array; empty if they cannot be computed.

    Args:
        text: source of a program, in which `#define` gives the parameters their values.
        name: name of the array.
        entry: the kernel, with its template arguments.
    """
    arguments = template_values(text, entry).items() if "<" in entry else ()
    constants = [f"constexpr int {name} = {value};\n" for name, value in arguments if value.isdigit()]
    code = "".join(constants) + without_comments(text)
    extents = [number_in(code, extent) for extent in _extents_of(code, name)]
    return tuple(e for e in extents if e is not None) if None not in extents else ()


def declared_padding(text: str, name: str) -> int:
    """Return the number n of an array that is declared as `tile[rows][columns + n]`; 0 for any other."""
    code = without_comments(text)
    *_, last = _extents_of(code, name) or [""]
    return number_in(code, last.rpartition("+")[2]) or 0 if "+" in last else 0


def rows_in_one_dimension(text: str, name: str) -> tuple[str, int] | None:
    """Return how long a row of an array is that is always indexed as in `tile[row * LD + column]`.

    Returns:
        the length as it is written and its value; None if not all indices have one such factor.
    """
    code = without_comments(text)
    declared = _extents_of(code, name)
    indices = re.findall(rf"\b{re.escape(name)}\s*\[([^\[\]]+)\]", code)
    found: set[tuple[str, int]] = set()
    for index in indices:
        if declared == [index]:
            continue
        product = re.search(r"(\w+|\([^()]*\))\s*\*\s*(\w+|\([^()]*\))", index)
        lengths = [(each, number_in(code, each)) for each in product.groups()] if product else []
        found |= {(each, value) for each, value in lengths if value} or {("", 0)}
    return found.pop() if len(found) == 1 and ("", 0) not in found else None


def _extents_of(code: str, name: str) -> list[str]:
    """Return the extents in the declaration of a `__shared__` array as they are written."""
    array = re.compile(rf"\b{re.escape(name)}\s*((?:\[[^\[\]]+\]\s*)+)")
    declarations = (d.partition("__shared__") for d in re.split("[;{}]", code))
    for found in (array.search(declared) for _, keyword, declared in declarations if keyword):
        if found:
            return re.findall(r"\[([^\]]+)\]", found[1])
    return []
