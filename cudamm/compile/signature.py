"""The parameter types of a kernel, read from its source: what a launch has to pass."""

from __future__ import annotations

import re

from cudamm.catalog.header import without_comments
from cudamm.catalog.method import ElementType
from cudamm.errors import UsageError

_FORMATS = {
    "bool": "?", "char": "b", "signed char": "b", "unsigned char": "B", "int8_t": "b", "uint8_t": "B",
    "short": "h", "unsigned short": "H", "int16_t": "h", "uint16_t": "H",
    "int": "i", "int32_t": "i", "unsigned": "I", "unsigned int": "I", "uint32_t": "I", "uint": "I",
    "long": "l", "long int": "l", "unsigned long": "L",
    "long long": "q", "int64_t": "q", "unsigned long long": "Q", "uint64_t": "Q", "size_t": "P",
    "ptrdiff_t": "q", "ssize_t": "q", "float": "f", "double": "d",
}  # fmt: skip
"""C types and the letters the struct module has for them."""


def parameter_formats(source: str, entry: str, element: ElementType) -> str:
    """One struct letter a parameter of the kernel `entry`, `P` for pointers: `iiiPPP`.

    Raises:
        UsageError: the parameter list cannot be found, or has a type that no argument can have.
    """
    code = without_comments(source)
    formats = ""
    for declared in _parameters(code, entry):
        words = re.sub(
            r"=.*|\b(const|volatile|__restrict__|__restrict|__grid_constant__|register|struct)\b",
            " ",
            declared,
        )
        if "*" in words or "[" in words:
            formats += "P"
            continue
        *types, _name = words.split() if len(words.split()) > 1 else [*words.split(), ""]
        c_type = " ".join(types)
        c_type = _typedef(code, c_type)
        c_type = element.c_name if c_type == "element" else c_type
        if c_type not in _FORMATS:
            raise UsageError(f"{entry}: no argument can be passed for its parameter “{declared.strip()}”")
        formats += _FORMATS[c_type]
    return formats


def _typedef(code: str, c_type: str) -> str:
    """What the file itself says a type name or macro stands for, if anything."""
    match = re.search(rf"\btypedef\s+([\w ]+?)\s+{re.escape(c_type)}\s*;", code) or re.search(
        rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(c_type)}[ \t]+([\w ]+?)[ \t]*$", code, re.MULTILINE
    )
    return match[1] if match else c_type


def _parameters(code: str, entry: str) -> list[str]:
    start = re.search(rf"\b{re.escape(entry)}\s*\(", code)
    if not start:
        raise UsageError(f"no parameter list of {entry} was found")
    depth, parameters, current = 1, [], ""
    for char in code[start.end() :]:
        depth += (char in "([{<") - (char in ")]}>")
        if depth == 0:
            break
        if char == "," and depth == 1:
            parameters.append(current)
            current = ""
        else:
            current += char
    if current.strip() and current.strip() != "void":
        parameters.append(current)
    return parameters
