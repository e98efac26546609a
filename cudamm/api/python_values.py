"""Conversion of Python values to option texts, so that functions and commands follow the same rules."""

from __future__ import annotations

import operator
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsIndex, TypedDict

import numpy as np

from cudamm.errors import UsageError
from cudamm.kernels.lower_precision import PRODUCT_BITS, LowerPrecision
from cudamm.kernels.method import ELEMENT_TYPES, Value
from cudamm.kernels.selection import Selection, is_kernel_file
from cudamm.source.expression import LARGEST_VALUE
from cudamm.source.included_files import folders_field

Methods = str | Path | Sequence[str | Path]
"""Methods by name, kernel files by path, kernels as source text; one or several."""

Parameters = Mapping[str, Value | Sequence[Value]]
"""Values of parameters by name: `{"BLOCK_SIZE": [16, 32]}`."""

Sizes = int | Sequence[int]
"""Edges of square matrices."""

Shapes = tuple[int, int, int] | Sequence[tuple[int, int, int]]
"""(m, n, k) of C (m x n) = A (m x k) B (k x n); one or several."""

Texts = str | Sequence[str]

ElementTypeLike = str | type[np.generic] | np.dtype[Any]
"""An element type: its name, or NumPy's type of its elements."""

ElementTypes = ElementTypeLike | Sequence[ElementTypeLike]

Extents = int | str | Sequence[int | str]
"""Extents in x, y and z: numbers, or arithmetic such as `ceil(N/16)`."""


class KernelHeader(TypedDict, total=False):
    """Fields that stand in for those of a kernel's header.

    Attributes:
        entry: the function to launch, if the source has several.
        args: the function's arguments in order; `M, N, K, A, B, C` if not given.
        threads: threads of a block.
        grid: blocks of the grid.
        shared_bytes: dynamic shared memory per block.
        requires: conditions such as `M % 64 == 0`; multiples are met by padding.
        layout: matrices that the kernel stores column by column, such as `B=column`.
        initial_c: 0 to fill C with zeros before each launch, for a kernel that adds to C.
        include: folders in which the kernel's headers are searched for, before folders named `include`.
    """

    entry: str
    args: Texts
    threads: Extents
    grid: Extents
    shared_bytes: int | str
    requires: Texts
    layout: Texts
    initial_c: int
    include: str | Path | Sequence[str | Path]


def selection(methods: Methods | None, params: Parameters | None, header: KernelHeader) -> Selection:
    """Return the selection of the methods named and the kernels given.

    Raises:
        UsageError: no method, or a parameter without a value.
    """
    names: list[str] = []
    kernels: list[Path | str] = []
    for method in [methods] if isinstance(methods, str | Path) else methods or []:
        if isinstance(method, Path):
            kernels.append(method)
        elif "\n" in method or "__global__" in method:
            kernels.append(textwrap.dedent(method))
        elif is_kernel_file(method):
            kernels.append(Path(method))
        else:
            names.append(method)
    if methods is not None and not names and not kernels:
        raise UsageError("methods is empty: name a method, a kernel file or source text")
    defines = (f"{name}={','.join(texts(name, values))}" for name, values in (params or {}).items())
    return Selection(
        methods=tuple(names), defines=tuple(defines), kernels=tuple(kernels), kernel_fields=_fields(header)
    )


def _fields(header: KernelHeader) -> dict[str, str]:
    """Return the fields as texts of a header. Raises TypeError for an unknown name."""
    unknown = header.keys() - KernelHeader.__annotations__.keys()
    if unknown:
        raise TypeError(f"unexpected keyword argument {min(unknown)!r}")
    fields = {name.replace("_", "-"): ",".join(texts(name, value)) for name, value in header.items()}
    if "include" in header:
        fields["include"] = folders_field(texts("include", header["include"]))
    return fields


def sizes(n: Sizes | None, shape: Shapes | None) -> tuple[str, ...]:
    """Return the sizes of all problems, squares first. Raises UsageError for an invalid size."""
    given: Sequence[object] = () if shape is None else shape
    if given and all(isinstance(extent, SupportsIndex) for extent in given):
        given = [given]
    if shape is not None and not given:
        raise UsageError("shape is empty")
    shapes: list[str] = []
    for extents in given:
        if not isinstance(extents, Sequence) or isinstance(extents, str) or len(extents) != 3:
            raise UsageError(f"shape={shape!r}: it has to be (m, n, k), or a list of such")
        shapes.append("x".join(_text_of("shape", extent) for extent in extents))
    return (*texts("n", n), *shapes)


def texts(name: str, values: object) -> tuple[str, ...]:
    """Return one value or several as texts; none for None.

    Raises:
        UsageError: the sequence called `name` is empty, or contains a number that is too large.
    """
    if values is None:
        return ()
    if isinstance(values, str) or not isinstance(values, Iterable):
        values = [values]
    listed: list[object] = list(values)
    if not listed:
        raise UsageError(f"{name} is empty")
    return tuple(_text_of(name, value) for value in listed)


def element_types(values: ElementTypes | None) -> tuple[str, ...]:
    """Return the names of one element type or several; none for None.

    Raises:
        UsageError: the sequence is empty, or NumPy's type is that of no element type.
    """
    if values is None:
        return ()
    if isinstance(values, str) or not isinstance(values, Iterable):
        values = [values]
    return texts("dtype", [_element_name(value) for value in values])


def _element_name(value: object) -> str:
    """Return the name of an element type. A text is returned as it is, because cases are checked later."""
    if isinstance(value, str):
        return value
    # tf32 has the elements of float32, and only its name tells them apart.
    of_numpy = {e.dtype: name for name, e in ELEMENT_TYPES.items() if e.of_inputs == e}
    try:
        found = None if value is None else of_numpy.get(np.dtype(value))  # type: ignore[call-overload]
    except (TypeError, ValueError):
        found = None
    if found is None:
        raise UsageError(
            f"dtype={value!r}: it has to be a name, or NumPy's type, of {', '.join(ELEMENT_TYPES)}"
        )
    return found


def whole(name: str, value: SupportsIndex, least: int, most: int = 2**31 - 1) -> int:
    """Return a whole number. Raises UsageError if it is too small or too large."""
    number = operator.index(value)
    if not least <= number <= most:
        raise UsageError(f"{name}={_text_of(name, number)}: it has to be between {least} and {most}")
    return number


def lower_precision(name: str) -> LowerPrecision:
    """Return the name of a format, or the empty one. Raises UsageError if there is no such format."""
    for known in ("", *PRODUCT_BITS):
        if name == known:
            return known
    raise UsageError(f"allow_precision={name!r}: it has to be one of {', '.join(PRODUCT_BITS)}, or empty")


def real(name: str, value: float, most: float, *, positive: bool = False, negative: bool = False) -> float:
    """Return a number. Raises UsageError if it is NaN or out of range.

    Args:
        most: the largest number.
        positive: refuse 0.
        negative: accept numbers from `-most`, and not only from 0.
    """
    text = _text_of(name, value)
    least = -most if negative else 0
    if not least <= value <= most:  # true for NaN too
        raise UsageError(f"{name}={text}: it has to be between {least:g} and {most:g}")
    if positive and value == 0:
        raise UsageError(f"{name}={text}: it has to be above 0")
    return float(value)


def _text_of(name: str, value: object) -> str:
    """Return a value as text. Raises UsageError for a whole number that no option accepts."""
    if isinstance(value, int) and abs(value) >= LARGEST_VALUE:  # Python writes at most 4,300 digits
        raise UsageError(f"{name}: a number of {value.bit_length()} bits is too large")
    return str(int(value) if isinstance(value, bool) else value)
