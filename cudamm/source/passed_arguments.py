"""What is certainly wrong with the arguments, the grid and the block of a launch in Python."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from cudamm.source.c_definitions import Function
from cudamm.source.c_text import LAUNCHER
from cudamm.source.matrix_roles import DIMENSIONS
from cudamm.source.parsed_source import all_of, text_of

PASSED = "passed_from_python"
"""The variable of the C++ function of a launch whose text says what the Python program passes."""

PYCUDA, PREPARED, CUPY = "pycuda", "prepared", "cupy"
"""Who launches: PyCUDA, PyCUDA by a format that the kernel was prepared with, or CuPy."""

OUT = "array out"
"""The kind of an array that is only copied from the GPU, by PyCUDA's `Out`."""

_TYPES = {
    "int": "int32", "signed": "int32", "int32_t": "int32", "unsigned": "uint32", "unsigned int": "uint32",
    "uint32_t": "uint32", "long": "int64", "long long": "int64", "int64_t": "int64", "size_t": "uint64",
    "long int": "int64", "long long int": "int64", "ptrdiff_t": "int64", "unsigned long": "uint64",
    "unsigned long long": "uint64", "uint64_t": "uint64", "float": "float32", "double": "float64",
    "short": "int16", "half": "float16", "__half": "float16",
}  # fmt: skip
"""NumPy's names of C types."""

_PYTHON = ("int", "float")

_ARRAYS = ("array", "transposed", "numpy", "view", "part")
"""The kinds of arguments that are arrays."""


@dataclass(frozen=True)
class Passed:
    """What the program passes.

    Attributes:
        interface: `PYCUDA`, `PREPARED` or `CUPY`.
        kinds: of each argument: a type such as `int`, `int64` or `float32`, with `=0` after it for a zero,
            and then the number as the program names it;
            `array` for memory of the GPU, `OUT`, `transposed` for a transposed array there, `numpy` for an
            array of NumPy, `view B.T, rows, columns, copy` for one with the memory of another array of
            these extents, and a copy that lies row by row, `part b[:, :n] | copy` for a part of each row of
            another array; empty for what is not known.
        mistake: of the configuration, in words; empty for none.
        product: the places of two arguments that the program itself multiplies, such as `1 2`, or `1 2T` if
            the second is transposed there; empty for none.
        imported: libraries under the names by which the program has imported them, such as `numpy=np`.
        instances: those that the program names of the kernels of the text, such as `mm<float>`.
        grid_line: the line in which the variable of the grid gets its value; 0 for none.
        runs: numbers of the text with their values in a loop of the program, such as `TILE=8,16,32`; without
            a name if -D cannot set it.
    """

    interface: str
    kinds: Sequence[str]
    mistake: str = ""
    product: str = ""
    imported: Sequence[str] = ()
    instances: Sequence[str] = ()
    grid_line: int = 0
    runs: Sequence[str] = ()

    def name_of(self, *libraries: str) -> str:
        """Return the program's name for the first of several libraries that it imports; else the first's."""
        names = dict(each.split("=") for each in self.imported if "=" in each)
        return next((names[library] for library in libraries if library in names), libraries[0])

    @property
    def numpy(self) -> str:
        """Return the program's name for NumPy, or for CuPy, which has the same types; else `np`."""
        return "np" if (name := self.name_of("", "numpy", "cupy")) == "" else name

    @property
    def arrays(self) -> list[bool]:
        """Return of each argument whether it is certainly an array."""
        return [kind.partition(" ")[0] in _ARRAYS for kind in self.kinds]

    def code(self) -> str:
        """Return the C++ that says it."""
        names = ",".join(self.imported), "|".join(self.instances)
        further = str(self.grid_line), "|".join(self.runs)
        parts = [self.interface, self.mistake, self.product, *names, *further, *self.kinds]
        return f'const char *{PASSED} = "{";".join(re.sub(_OTHERS, "", part) for part in parts)}";'


_OTHERS = r"[^\w.,:()\[\]“” /+*=<>|-]"
"""What the text in C++ must not contain."""


def passed_by(function: Function) -> Passed | None:
    """Return what a function that stands for a launch of a Python program passes; None for others."""
    node = function.values.get(PASSED) if function.name == LAUNCHER else None
    if node is None:
        return None
    interface, mistake, product, imported, named, line, runs, *kinds = text_of(node).strip('"').split(";")
    instances = named.split("|") if named else ()
    of_loops = runs.split("|") if runs else ()
    return Passed(interface, kinds, mistake, product, imported.split(","), instances, int(line), of_loops)


def mistake_of(
    passed: Passed,
    kernel: Function,
    arguments: Sequence[Node],
    letters: Mapping[str, str],
    columns: Collection[str],
    roles: Mapping[str, Collection[str]],
) -> str:
    """Return what is wrong with a launch, with its cure; empty if nothing is certainly wrong.

    Args:
        passed: what the program passes.
        kernel: the kernel.
        arguments: of the launch, as C++.
        letters: the matrix that each parameter is.
        columns: the matrices that the kernel takes column by column.
        roles: of the sizes of the program.
    """
    if passed.mistake:
        return passed.mistake
    layout: list[tuple[str, str]] | None = []  # the types that the kernel takes, and those that it gets
    texts: list[str] = []  # the arguments in words of the program
    numbers: list[str] = []  # what is wrong with numbers
    for name, parameter, argument, given in zip(
        kernel.parameter_names, kernel.parameters, arguments, passed.kinds, strict=False
    ):
        kind, _, details = given.partition(" ")
        kind, _, zero = kind.partition("=")
        declared = " ".join(text_of(parameter.child_by_field_name("type")).split())
        place = f"{kernel.name} takes “{declared} {name}”"
        is_number = details and kind not in _ARRAYS
        text = details if is_number else text_of(argument)
        texts.append(text)
        if any(all_of(parameter, "pointer_declarator", "array_declarator")):
            if kind == "numpy":
                return _of_numpy(passed, text, letters.get(name, ""))
            if kind == "view":
                is_only = sum(each.startswith("view") for each in passed.kinds) == 1
                found = _of_view(details, kernel.name, letters.get(name, ""), columns, roles, is_only=is_only)
                if found:
                    return found
            if kind == "part" and not _may_know_gaps(kernel, arguments, roles):
                part, copied = details.split(" | ")
                return (
                    f"the rows of {part} have gaps between them in memory, and {kernel.name} reads them as "
                    f"one block: pass a copy, {copied}"
                )
            kind, wanted = ("", "") if kind in ("", "numpy") else ("pointer", "pointer")
        else:
            wanted = _TYPES.get(declared, "")
            found = _of_number(passed, kind, wanted, text, place, is_zero=bool(zero))
            if found:
                numbers.append(found)
        if layout is not None:
            layout = [*layout, (wanted, kind)] if wanted and kind else None
    if numbers:
        cures = (found.rpartition(": pass ")[2] for found in numbers[1:])
        others = [cure for cure in dict.fromkeys(cures) if cure not in numbers[0]]
        return f"{numbers[0]}, likewise {' and '.join(others)}" if others else numbers[0]
    is_whole = layout and len(passed.kinds) == len(kernel.parameters) and passed.interface == PYCUDA
    return _of_layout(passed.numpy, layout, kernel, texts) if layout and is_whole else ""


def _may_know_gaps(kernel: Function, arguments: Sequence[Node], roles: Mapping[str, Collection[str]]) -> bool:
    """Return whether an argument may be a leading dimension: it is no size, or two are one size."""
    known: list[str] = []
    for parameter, argument in zip(kernel.parameters, arguments, strict=False):
        if not any(all_of(parameter, "pointer_declarator", "array_declarator")):
            known += roles.get(text_of(argument), ("", ""))
    return len(known) != len({*known})


def _of_numpy(passed: Passed, array: str, letter: str) -> str:
    driver = passed.name_of("pycuda.driver")
    cure = {
        CUPY: f"pass {passed.name_of('cupy')}.asarray({array})",
        PREPARED: f"pass {driver}.to_device({array})",
    }.get(passed.interface, f"pass {driver}.{'Out' if letter == 'C' else 'In'}({array})")
    return f"{array} is an array of NumPy in the memory of the host, and the kernel takes a pointer: {cure}"


def _of_view(
    view: str,
    kernel: str,
    letter: str,
    columns: Collection[str],
    roles: Mapping[str, Collection[str]],
    *,
    is_only: bool,
) -> str:
    """Return what is wrong with a transposed view, whose memory is not transposed.

    The kernel reads the memory as transposed, or takes what is in it for what the view shows.

    Args:
        is_only: no other argument is a view. C = A B has the memory of Cᵀ = Bᵀ Aᵀ, of which all are views.
    """
    text, rows, width, copied = (part.strip() for part in (*view.split(","), "", "", "")[:4])
    by_column = letter in columns
    if letter not in DIMENSIONS or not (by_column or is_only):
        return ""
    dimensions = DIMENSIONS[letter] if by_column else reversed(DIMENSIONS[letter])
    if not all(role in roles.get(size, ()) for role, size in zip(dimensions, (rows, width), strict=True)):
        return ""
    base = re.sub(r"\.(T|t\(\)|transpose\(\))$", "", text)
    return view_mistake(text, base if base != text else "another array", kernel, copied, by_column=by_column)


def view_mistake(view: str, base: str, kernel: str, copied: str, *, by_column: bool = True) -> str:
    """Return what is wrong with a transposed view, with the copy that a kernel needs; empty if not known.

    Args:
        by_column: the kernel reads the matrix as transposed.
    """
    cure = f"pass a copy, {copied}" if copied else "pass a copy that lies row by row"
    reads = "it as transposed" if by_column else "that memory row by row"
    what = f"{view} is a view of the memory of {base}, which is not transposed"
    return f"{what}, and {kernel} reads {reads}: {cure}"


def _of_number(passed: Passed, kind: str, wanted: str, text: str, place: str, *, is_zero: bool) -> str:
    """Return what is wrong with a number that is passed for a parameter that is no pointer."""
    interface, np = passed.interface, passed.numpy
    if not kind or kind in _ARRAYS or interface == PREPARED:
        return ""
    number = "the number" if not re.fullmatch(r"[A-Za-z_]\w*|[\d.]+", text) else text
    example = text if number == text else "…"
    if interface == PYCUDA and kind in _PYTHON:
        dtype = wanted or ("int32" if kind == "int" else "float32")
        what = "an int of Python" if kind == "int" else "a float of Python"
        return f"{number} is {what}, which PyCUDA does not take (TypeError): pass {np}.{dtype}({example})"
    gets = {"int": "int64", "float": "float64"}.get(kind, kind)
    is_real = "float" in gets
    if wanted and not is_zero and (is_real != ("float" in wanted) or (is_real and gets != wanted)):
        what = _with_article(gets)
        if kind in _PYTHON:
            what = f"{'an int' if kind == 'int' else 'a float'} of Python, which CuPy passes as a {gets}"
        return f"{number} is {what}, and {place}: pass {np}.{wanted}({example})"
    return ""


def _of_layout(np: str, layout: Sequence[tuple[str, str]], kernel: Function, arguments: Sequence[str]) -> str:
    """Return which number has another width than its parameter, so that the kernel gets other bytes.

    PyCUDA packs the arguments one after the other, and the driver refuses too many bytes.
    """
    taken, given = (_end([types[side] for types in layout]) for side in (0, 1))
    if taken[:-1] == given[:-1] and given[-1] <= taken[-1]:
        return ""
    for (wanted, kind), text, name in zip(layout, arguments, kernel.parameter_names, strict=True):
        if _width(wanted) != _width(kind):
            bytes_of = f"{_width(kind)} bytes, and {kernel.name} takes {_width(wanted)} for {name}"
            example = text if text.isidentifier() or text.isdigit() else "…"
            return f"{text} is {_with_article(kind)} of {bytes_of}: pass {np}.{wanted}({example})"
    return ""


def _with_article(dtype: str) -> str:
    return f"{'an' if dtype[0] == 'i' else 'a'} {dtype}"


def _width(dtype: str) -> int:
    return 8 if dtype == "pointer" else int(re.sub(r"\D", "", dtype)) // 8


def _end(dtypes: Sequence[str]) -> list[int]:
    """Return where each of several values begins, one after the other in memory, and where the last ends."""
    begins, end = list[int](), 0
    for width in map(_width, dtypes):
        begins.append(-(-end // width) * width)
        end = begins[-1] + width
    return [*begins, end]
