"""Substituting a variant's parameters into its method's source."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.kernels.header import without_comments
from cudamm.kernels.method import ElementType, Method, Value
from cudamm.kernels.variant import Variant


@dataclass(frozen=True)
class Program:
    """A method's source with everything substituted, ready for a compiler.

    Two variants that differ only in what the source does not mention are the same program.

    Attributes:
        text: C source; line numbers are those of the method's own file.
        fmad: whether the compiler may fuse a multiplication and an addition into one rounding.
    """

    method: Method
    element: ElementType
    fmad: bool
    text: str

    @property
    def hash(self) -> str:
        """Of the text, by which two runs know that they measured the same."""
        return hashlib.sha256(self.text.encode(errors="surrogateescape")).hexdigest()[:16]

    @property
    def include_folder(self) -> Path | None:
        """Where what it includes by name in quotes is looked for: beside its own file."""
        includes = re.search(r'^[ \t]*#[ \t]*include[ \t]*"', self.text, re.MULTILINE)
        return self.method.path.resolve().parent if includes else None


def program(variant: Variant, element: ElementType, fmad: bool) -> Program:
    """The program of a variant for one element type.

    Raises:
        UsageError: the method cannot be compiled for that element type.
    """
    method = variant.method
    if element.name not in method.element_types:
        raise UsageError(
            f"{method.name} is written for {' and '.join(method.element_types)}, not {element.name}; "
            "write its types as `element`, or choose with --dtype"
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
    # What a compiler says of either part, it says with these names and the file's own line numbers.
    parts = [_line(f"what cudamm substitutes in {method.path.name}"), *defines, _line(method.path.name)]
    return Program(method, element, fmad, "\n".join([*parts, source.rstrip(), ""]))


def _line(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line 1 "{escaped}"'


def _redefine(source: str, name: str, value: Value) -> str:
    """Replace the value in the file's own `#define NAME value`, which would win over one put before it."""

    def replaced(match: re.Match[str]) -> str:
        return f"{match[1]} {value}" + "\n" * match[0].count("\n")  # line numbers stay

    return re.sub(
        rf"^([ \t]*#[ \t]*define[ \t]+{name}\b(?!\())(?:.*\\\n)*.*$", replaced, source, flags=re.MULTILINE
    )
