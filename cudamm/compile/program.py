"""Substitute a variant's parameters into its method's source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.identity import hash_of
from cudamm.errors import UsageError
from cudamm.kernels.header import without_comments
from cudamm.kernels.method import ElementType, Method, Value
from cudamm.kernels.variant import Variant


@dataclass(frozen=True)
class Program:
    """A method's source with its parameters and element type substituted, ready for a compiler.

    Variants whose parameters differ only in names that the source does not use share one program.

    Attributes:
        fmad: whether the compiler may fuse a multiplication and an addition into one rounding.
        text: C source; line numbers are those of the method's own file.
    """

    method: Method
    element: ElementType
    fmad: bool
    text: str

    @property
    def hash(self) -> str:
        """A hash of the text. Results with equal hashes come from the same program."""
        return hash_of([self.text])

    @property
    def may_include(self) -> bool:
        """Whether the text may include files that cudamm did not install, and that may change.

        A word of the preprocessor may be split by a backslash at the end of a line, or be made by a macro.
        """
        words = re.search("include|import|embed", self.text.replace("\\\n", ""))
        return words is not None and not self.method.builtin

    @property
    def include_folder(self) -> Path | None:
        """The folder of the method's file if the text includes files other than `<…>`; None otherwise."""
        includes = re.search(r"^[ \t]*#[ \t]*include[ \t]*[^<\s]", self.text, re.MULTILINE)
        return self.method.path.resolve().parent if includes else None


def program(variant: Variant, element: ElementType, fmad: bool) -> Program:
    """Return the program of a variant for one element type.

    Raises:
        UsageError: the method is not written for that element type.
    """
    method = variant.method
    if element.name not in method.element_types:
        raise UsageError(
            f"{method.name} is written for {' and '.join(method.element_types)}, not {element.name}; "
            "write its types as `element`, or choose another type with --dtype"
        )
    if method.language == "python":
        return Program(method, element, fmad, method.source)
    source = method.source
    code = without_comments(source)
    defines: list[str] = []
    for name, value in variant.values:
        if re.search(rf"^[ \t]*#[ \t]*define[ \t]+{name}\b(?!\()", code, re.MULTILINE):
            source = _redefine(source, name, value)
        elif re.search(rf"\b{name}\b", code):
            defines.append(f"#define {name} {value}")
    if re.search(r"\belement\b", code):
        defines.append(f"typedef {element.c_name} element;")
    # Compiler messages name each of the two parts, and give the file's own line numbers.
    parts = [_line(f"what cudamm substitutes in {method.path.name}"), *defines, _line(method.path.name)]
    return Program(method, element, fmad, "\n".join([*parts, source.rstrip(), ""]))


def _line(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line 1 "{escaped}"'


def _redefine(source: str, name: str, value: Value) -> str:
    """Replace the value in the file's own `#define NAME value`, which would override one above it."""

    def definition(match: re.Match[str]) -> str:
        return f"{match[1]} {value}" + "\n" * match[0].count("\n")  # line numbers must not change

    return re.sub(
        rf"^([ \t]*#[ \t]*define[ \t]+{name}\b(?!\())(?:.*\\\n)*.*$", definition, source, flags=re.MULTILINE
    )
