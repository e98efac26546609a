"""Substitute a variant's parameters into its method's source."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cudamm.compile.identity import hash_of
from cudamm.compile.runtime_headers import includes_others
from cudamm.errors import UsageError
from cudamm.kernels.header import names_result
from cudamm.kernels.method import ElementType, Method, Value
from cudamm.kernels.parameter_types import parameter_names
from cudamm.kernels.variant import Variant
from cudamm.source.c_text import LAUNCHER, with_values, without_comments
from cudamm.source.included_files import line_directive, may_include

if TYPE_CHECKING:
    from cudamm.kernels.problem import Shape


@dataclass(frozen=True)
class Program:
    """A method's source with its parameters and element type substituted, ready for a compiler.

    Variants whose parameters differ only in names that the source does not use share one program.

    Attributes:
        fmad: whether the compiler may fuse a multiplication and an addition into one rounding.
        entry: the function to call, with the variant's values in its template arguments.
        text: C source; line numbers are those of the method's own file.
    """

    method: Method
    element: ElementType
    fmad: bool
    entry: str
    text: str

    @property
    def hash(self) -> str:
        """A hash of the text. Results with equal hashes come from the same program."""
        return hash_of([self.text])

    @property
    def lines(self) -> Mapping[tuple[str, int], str]:
        """The lines of the text, by the name of their file and their number in it."""
        return _lines(self.text)

    def line_text(self, line: int, file: str = "") -> str:
        """Return a line without surrounding space; empty if there is no such line.

        Args:
            file: an included file; empty for the method's own file.
        """
        if file:
            return self.lines.get((file, line), "").strip()
        own = _lines(self.method.source)  # `#line` is in it if a Python program reads the kernel from a file
        text = (own.get((self.method.path.name, line)) or own.get(("", line), "")).strip()
        if f"void {LAUNCHER}(" in text or (not text and self.method.path.suffix == ".py"):
            return dict(enumerate(self.method.file_text.split("\n"), 1)).get(line, "").strip()
        return text

    @property
    def may_include(self) -> bool:
        """Whether the text may include files that cudamm did not install, and that may change."""
        return may_include(self.text) and not self.method.builtin

    @property
    def reads_files(self) -> bool:
        """Whether the text may include files other than headers of CUDA."""
        # The program's folders are searched before those of CUDA's headers.
        return self.may_include and (bool(self.include_folders) or includes_others(self.text))

    @property
    def include_folders(self) -> tuple[Path, ...]:
        """The folders that a compiler searches for the files that the text includes, beside its own.

        The first is that of the method's file, if the text includes files other than `<…>`.
        """
        includes = re.search(r"^[ \t]*#[ \t]*include[ \t]*[^<\s]", self.text, re.MULTILINE)
        own = (self.method.path.resolve().parent,) if includes else ()
        return own + (self.method.include_folders if self.may_include else ())


@functools.lru_cache(maxsize=8)
def _lines(text: str) -> dict[tuple[str, int], str]:
    lines: dict[tuple[str, int], str] = {}
    file, number = "", 0
    for line in text.splitlines():
        directive = _LINE.match(line)
        if directive:
            number = int(directive[1]) - 1
            file = directive[2].replace('\\"', '"').replace("\\\\", "\\") if directive[2] else file
        else:
            number += 1
            lines[file, number] = line
    return lines


_LINE = re.compile(r'#line (\d+)(?: "((?:[^"\\]|\\.)*)")?')


def check_element_type(method: Method, element: ElementType) -> None:
    """Raise UsageError if a method is not written for an element type."""
    if element.name not in method.element_types:
        advice = ": choose" if method.builtin else "; write its types as `element`, or choose"
        raise UsageError(
            f"{method.name} is written for {', '.join(method.element_types)}, not {element.name}"
            f"{advice} another type with --dtype"
        )


def program(variant: Variant, element: ElementType, fmad: bool, shape: Shape | None = None) -> Program:
    """Return the program of a variant for one element type.

    Args:
        shape: of the problem, for kernels that are compiled for one size; None keeps the file's own.

    Raises:
        UsageError: the method is not written for that element type.
    """
    method = variant.method
    check_element_type(method, element)
    if method.language == "python":
        return Program(method, element, fmad, method.entry, method.source)
    values = variant.compiled_values(element, (shape.m, shape.n, shape.k) if shape else None)
    source = _with_one_declaration_each(method.code, values)
    code = without_comments(source)
    entry = with_values(method.entry, values)
    # A macro with the name of a template parameter would replace it in its declaration.
    in_entry = set(re.findall(r"\w+", method.entry))
    words, defined = _names_in(code)
    of_host = {parameter.name for parameter in method.parameters if parameter.is_of_host}
    values = {name: value for name, value in values.items() if name not in of_host}
    source = _redefined(source, {name: value for name, value in values.items() if name in defined})
    substituted = [name for name in values if name in words and name not in defined | in_entry]
    _check_are_no_parameters([name for name in variant.params if name in substituted], method, code)
    defines = [f"#define {name} {values[name]}" for name in substituted]
    if "element" in words | in_entry:
        defines += _included(element)
        defines.append(f"typedef {element.c_name} element;")
        if names_result(code):
            if element.of_results.header != element.header:
                defines += _included(element.of_results)
            defines.append(f"typedef {element.of_results.c_name} result;")
    # In a file with nvcuda::wmma, `accumulator` is the name of its fragments of sums.
    if "wmma" not in words and {"accumulator", "element"} <= words | in_entry:
        defines.append(f"typedef {element.of_sums.c_name} accumulator;")
    # Compiler messages name each of the two parts, and give the file's own line numbers.
    parts = [
        line_directive(f"what cudamm substitutes in {method.path.name}"),
        *defines,
        line_directive(method.path.name),
        source.rstrip(),
    ]
    if "<" in entry:  # nvcc compiles a template for the arguments with which host code names it
        parts += ["#ifdef __CUDACC__", f"auto *cudamm_entry = &::{entry};", "#endif"]
    return Program(method, element, fmad, entry, "\n".join([*parts, ""]))


def _check_are_no_parameters(chosen: Sequence[str], method: Method, code: str) -> None:
    """Raise UsageError if a name that -D gives a value is a parameter, or a variable, of a user's kernel."""
    if not chosen or method.builtin or not method.is_kernel:
        return
    from cudamm.source.parsed_source import variables_in_functions  # loads the parser

    variables = variables_in_functions(code)
    names = parameter_names(code, method.entry)
    for name in chosen:
        if name in names:
            place = names.index(name)
            given = method.arguments[place] if place < len(method.arguments) else ""
            how = (
                f"--{given}"
                if given in ("alpha", "beta")
                else f"--args, as number {place + 1} of {len(names)}"
            )
            raise UsageError(
                f"{name} is a parameter of {method.entry}, and -D sets constants: give its value with {how}"
            )
        if name in variables:
            raise UsageError(f"{name} is a variable of {method.path}, and -D sets constants")


@functools.lru_cache(maxsize=8)  # all variants of a method have the same code
def _names_in(code: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return all words of a code, and the names that it defines as macros and constants."""
    defined = (match[2] for pattern in (_DEFINE, _CONSTANT) for match in pattern.finditer(code))
    return frozenset(re.findall(r"\w+", code)), frozenset(defined)


def _included(element: ElementType) -> list[str]:
    return [f"#include <{element.header}>"] if element.header else []


_DEFINE = re.compile(r"^([ \t]*#[ \t]*define[ \t]+(\w+)\b(?!\())(?:.*\\\n)*.*$", re.MULTILINE)
"""A definition of a macro without arguments, over all its lines."""

_CONSTANT = re.compile(r"(\bconst(?:expr)?\b[^;{}()=<>]*?\b(\w+)\s*(?:=|\{))\s*([^;,{}]+)(?=[;,}])")
"""A constant with a value, such as `const int TILE = 16` or `constexpr int TILE{16}`."""


_SEVERAL_CONSTANTS = re.compile(
    r"^([ \t]*(?:static\s+)?const(?:expr)?\s+(?:static\s+)?(?:unsigned\s+)?(?:int|long|short|size_t)\s+)"
    r"(\w+\s*=[^;,(){}]+(?:,\s*\w+\s*=[^;,(){}]+)+;)",
    re.MULTILINE,
)
"""A declaration of several constants, such as `const int M = 200, N = 90;`."""


def _with_one_declaration_each(source: str, values: Mapping[str, Value]) -> str:
    """Return `const int M = 200; const int N = 90;` for constants declared together that get other values."""

    def separated(match: re.Match[str]) -> str:
        if not values.keys() & {*re.findall(r"(\w+)\s*=", match[2])}:
            return match[0]
        return match[1] + re.sub(r",(\s*)", lambda comma: f";{comma[1] or ' '}{match[1].strip()} ", match[2])

    return _SEVERAL_CONSTANTS.sub(separated, source)


def _redefined(source: str, values: Mapping[str, Value]) -> str:
    """Replace values in the file's own definitions of macros and constants, line for line."""

    def macro(match: re.Match[str]) -> str:
        if match[2] not in values:
            return match[0]
        return f"{match[1]} {values[match[2]]}" + "\n" * match[0].count("\n")  # line numbers must not change

    def constant(match: re.Match[str]) -> str:
        return f"{match[1]} {values[match[2]]}" if match[2] in values else match[0]

    return _CONSTANT.sub(constant, _DEFINE.sub(macro, source)) if values else source
