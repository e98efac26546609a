"""The parameter types of a kernel, read from its source: what a launch has to pass."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from cudamm.compile.program import Program
from cudamm.errors import UsageError
from cudamm.kernels.expression import split_at_commas
from cudamm.kernels.header import closing_bracket, without_comments
from cudamm.kernels.launch_plan import Launch, TensorMap
from cudamm.kernels.method import ElementType

_FORMATS = {
    "bool": "?", "char": "b", "short": "h", "int": "i", "long": "l", "long long": "q",
    "float": "f", "double": "d",
    "int8_t": "b", "int16_t": "h", "int32_t": "i", "int64_t": "q", "ptrdiff_t": "q", "ssize_t": "q",
    "uint8_t": "B", "uint16_t": "H", "uint32_t": "I", "uint64_t": "Q", "size_t": "Q",
    "uchar": "B", "ushort": "H", "uint": "I", "ulong": "L",
}  # fmt: skip
"""C types and the letters the struct module has for them; `unsigned` makes a letter large."""

TENSOR_MAP_LETTER = "T"
TENSOR_MAP_BYTES = 128

_QUALIFIERS = r"\b(const|volatile|__restrict__|__restrict|__grid_constant__|register|struct|std::)"


def parameter_formats(source: str, entry: str, element: ElementType) -> str:
    """One struct letter a parameter of the kernel `entry`, `P` for pointers: `iiiPPP`.

    A tensor map passed by value, `const __grid_constant__ CUtensorMap`, has a letter of ours, `T`.

    Raises:
        UsageError: the parameter list cannot be found, or has a type that no argument can have; a tensor map
            comes behind something else, so that its place depends on the CUDA release.
    """
    code = without_comments(source)
    formats = ""
    for declared in _parameters(code, entry):
        words = re.sub(rf"=.*|{_QUALIFIERS}", " ", declared)
        letter = "P" if "*" in words or "[" in words else _letter(code, words.split(), element)
        if not letter:
            raise UsageError(f"{entry}: no argument can be passed for its parameter “{declared}”")
        formats += letter
    if TENSOR_MAP_LETTER in formats.lstrip(TENSOR_MAP_LETTER):
        raise UsageError(f"{entry}: its tensor maps have to be its first parameters")
    return formats


def packed_formats(formats: str, offsets: Sequence[int] = ()) -> str:
    """The same for `struct.pack`, with 128 bytes for a tensor map.

    Args:
        offsets: of each parameter, as the cubin has them; without, each follows the one before, aligned.
    """
    packed = ""
    for index, letter in enumerate(formats):
        gap = offsets[index] - struct.calcsize(packed) if offsets else 0
        packed += f"{gap}x" if gap else ""
        packed += f"{TENSOR_MAP_BYTES}s" if letter == TENSOR_MAP_LETTER else letter
    return packed


def _letter(code: str, words: list[str], element: ElementType) -> str:
    """The letter for a declaration without its qualifiers, its name perhaps among the words."""
    for c_type in (words[:-1], words):  # `int K`, or `int` where a declaration names nothing
        known = _resolve(code, c_type, element)
        if known:
            return known
    return ""


def _resolve(code: str, words: list[str], element: ElementType, depth: int = 0) -> str:
    signs = {"signed", "unsigned"}
    base = " ".join(word for word in words if word not in signs)
    if base != "int":
        base = " ".join(word for word in base.split() if word != "int")
    if base == "element":
        base = element.c_name
    base = base or ("int" if words else "")
    if base == "CUtensorMap":
        return TENSOR_MAP_LETTER
    if base in _FORMATS:
        letter = _FORMATS[base]
        return letter.upper() if "unsigned" in words else letter
    named = _named_type(code, base)
    return _resolve(code, named, element, depth + 1) if named and depth < 8 else ""


def _named_type(code: str, name: str) -> list[str]:
    """What the file itself says a type name or macro stands for; nothing, if it does not."""
    if not re.fullmatch(r"\w+", name):
        return []
    for pattern in (
        rf"\btypedef\s+([\w :]+?)\s+{name}\s*;",
        rf"\busing\s+{name}\s*=\s*([\w :]+?)\s*;",
        rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+([\w ]+?)[ \t]*$",
    ):
        match = re.search(pattern, code, re.MULTILINE)
        if match:
            return re.sub(_QUALIFIERS, " ", match[1]).split()
    return []


_WANTED: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "P": ("a matrix", str),
    TENSOR_MAP_LETTER: ("a tensor map, as in tensor_map(A, 64, 32)", TensorMap),
    "f": ("a number", (int, float)),
    "d": ("a number", (int, float)),
}
"""What a parameter of a letter can be given, for people and as types; whole numbers for all other letters."""


def check_arguments(program: Program, launch: Launch) -> None:
    """Refuse arguments that are not what the kernel takes: so many, matrices, whole or real numbers.

    Raises:
        UsageError: what is given where something else is wanted.
    """
    method = program.method
    formats = parameter_formats(program.text, method.entry, program.element)
    given = ", ".join(method.arguments)
    if len(formats) != len(launch.arguments):
        raise UsageError(
            f"{method.entry} takes {len(formats)} arguments, and {len(launch.arguments)} are given "
            f"({given}); say what it takes with --args"
        )
    for position, (letter, argument) in enumerate(zip(formats, launch.arguments, strict=True), 1):
        wanted, types = _WANTED.get(letter, ("a whole number", int))
        if not isinstance(argument, types):
            raise UsageError(
                f"argument {position} of {method.entry} is {wanted}, not {method.arguments[position - 1]} "
                f"({given}); say what it takes with --args"
            )


def _parameters(code: str, entry: str) -> list[str]:
    start = re.search(rf"\b{re.escape(entry)}\s*\(", code)
    if not start:
        raise UsageError(f"no parameter list of {entry} was found")
    declared = code[start.end() : closing_bracket(code, start.end()) - 1].strip()
    return [] if declared in ("", "void") else split_at_commas(declared)
