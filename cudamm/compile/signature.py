"""Read the types of a kernel's parameters and constants, and check a launch's arguments against them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence

from cudamm.compile.program import Program
from cudamm.errors import UsageError
from cudamm.kernels.c_text import closing_bracket, without_comments
from cudamm.kernels.expression import split_at_commas
from cudamm.kernels.launch_plan import Launch, TensorMap
from cudamm.kernels.method import ElementType

_FORMATS = {
    "bool": "?", "char": "b", "short": "h", "int": "i", "long": "l", "long long": "q",
    "float": "f", "double": "d",
    "int8_t": "b", "int16_t": "h", "int32_t": "i", "int64_t": "q", "ptrdiff_t": "q", "ssize_t": "q",
    "uint8_t": "B", "uint16_t": "H", "uint32_t": "I", "uint64_t": "Q", "size_t": "Q",
    "uchar": "B", "ushort": "H", "uint": "I", "ulong": "L",
}  # fmt: skip
"""C types with their letters in the struct module; `unsigned` makes a letter upper case."""

TENSOR_MAP_LETTER = "T"
"""Letter of a tensor map passed by value; the struct module has none."""

TENSOR_MAP_BYTES = 128
"""Size of a `CUtensorMap`, in bytes."""

_STORAGE = r"\b(static|extern|inline|__constant__|__device__)\b"
_QUALIFIERS = r"\b(const|volatile|__restrict__|__restrict|__grid_constant__|register|struct|std::)"


def parameter_formats(source: str, entry: str, element: ElementType) -> str:
    """Return one struct letter for each parameter of the kernel `entry`, with `P` for pointers: `iiiPPP`.

    The letter for `const __grid_constant__ CUtensorMap`, a tensor map passed by value, is `T`.

    Raises:
        UsageError: the parameter list is not found, or contains a type that no argument can have; or a tensor
            map follows another parameter, so that its offset depends on the CUDA release.
    """
    code = without_comments(source)
    types = _named_types(code)
    formats = ""
    for declared in _parameters(code, entry):
        words = re.sub(rf"=.*|{_QUALIFIERS}", " ", declared)
        letter = "P" if "*" in words or "[" in words else _letter(types, words.split(), element)
        if not letter:
            raise UsageError(
                f"{entry}: no argument can be passed for its parameter “{declared}”; parameters are numbers, "
                "pointers and tensor maps"
            )
        formats += letter
    if TENSOR_MAP_LETTER in formats.lstrip(TENSOR_MAP_LETTER):
        raise UsageError(f"{entry}: tensor maps must come before its other parameters")
    return formats


def packed_formats(formats: str, offsets: Sequence[int] = ()) -> str:
    """Return a format for `struct.pack` from a parameter's letters; a tensor map takes 128 bytes.

    Args:
        offsets: offset of each parameter in bytes, from the cubin; if empty, each parameter follows the
            previous one at the next aligned offset.
    """
    packed = ""
    for index, letter in enumerate(formats):
        gap = offsets[index] - struct.calcsize(packed) if offsets else 0
        packed += f"{gap}x" if gap else ""
        packed += f"{TENSOR_MAP_BYTES}s" if letter == TENSOR_MAP_LETTER else letter
    return packed


def constant_format(code: str, name: str, element: ElementType) -> tuple[str, str]:
    """Return the struct letter of a symbol in constant memory, and its declaration without qualifiers.

    A symbol that the code does not declare, because an included file does, counts as an int.

    Args:
        code: C source without comments.

    Raises:
        UsageError: the symbol is not one whole number.
    """
    statements = re.split("[;{}]", re.sub(r"^[ \t]*#.*$", "", code, flags=re.MULTILINE))
    for statement in statements:
        words = re.findall(r"\w+", statement)
        if "__constant__" not in words or name not in words:
            continue
        plain = re.sub(rf"=[^,]*|\b(alignas|__align__)\s*\([^)]*\)|{_STORAGE}|{_QUALIFIERS}", " ", statement)
        first, *others = split_at_commas(plain)
        c_type = first.split()[:-1]
        declared = next((part for part in (first, *others) if name in re.findall(r"\w+", part)), "")
        if declared:
            is_simple = re.fullmatch(r"[\w\s]+", declared)
            letter = _resolve(_named_types(code), c_type, element) if is_simple else ""
            if letter in ("", TENSOR_MAP_LETTER, "f", "d"):
                raise UsageError(
                    f"“constant: {name}” cannot be set: it has to be one whole number, and is declared as "
                    f"“{' '.join(statement.split())}”"
                )
            return letter, " ".join((*c_type, name))
    return "i", f"int {name}"


def _letter(types: Mapping[str, list[str]], words: list[str], element: ElementType) -> str:
    """Return the letter for a declaration without qualifiers, whose last word may be the parameter's name."""
    for c_type in (words[:-1], words):  # `int K`, or `int` if the parameter has no name
        letter = _resolve(types, c_type, element)
        if letter:
            return letter
    return ""


def _resolve(types: Mapping[str, list[str]], words: list[str], element: ElementType, depth: int = 0) -> str:
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
    return _resolve(types, types[base], element, depth + 1) if base in types and depth < 8 else ""


def _named_types(code: str) -> dict[str, list[str]]:
    """Return the words of each type that a file names with `typedef`, `using` or `#define`.

    The first definition of a name counts, and a `typedef` before the other two.
    """
    typedefs: dict[str, list[str]] = {}
    aliases: dict[str, list[str]] = {}
    macros: dict[str, list[str]] = {}
    for statement in re.split("[;{}]", code):
        words = re.sub(_QUALIFIERS, " ", statement.replace("=", " = ")).split()
        for keyword, *rest in (words[i:] for i in _last_places(words)):
            if keyword == "typedef" and len(rest) > 1:
                typedefs.setdefault(rest[-1], rest[:-1])
            elif keyword == "using" and rest[1:2] == ["="]:
                aliases.setdefault(rest[0], rest[2:])
    for line in code.splitlines():
        if line.lstrip(" \t").startswith("#"):
            directive, *rest = line.replace("#", "", 1).split() or [""]
            if directive == "define" and rest:
                macros.setdefault(rest[0], re.sub(_QUALIFIERS, " ", " ".join(rest[1:])).split())
    return macros | aliases | typedefs


def _last_places(words: list[str]) -> list[int]:
    """Return the last position of `typedef` and of `using`, without those that do not occur."""
    last = {word: position for position, word in enumerate(words) if word in ("typedef", "using")}
    return list(last.values())


_ARGUMENT_TYPES: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "P": ("a matrix", str),
    TENSOR_MAP_LETTER: ("a tensor map, as in tensor_map(A, 64, 32)", TensorMap),
    "f": ("a number", (int, float)),
    "d": ("a number", (int, float)),
}
"""The arguments that fit each letter, in words and as Python types; other letters take whole numbers."""


def check_arguments(program: Program, launch: Launch) -> None:
    """Check a launch's arguments against the kernel's parameters, and its constants against their symbols.

    Raises:
        UsageError: the number of arguments or the type of one does not match, or a value exceeds the range of
            its type.
    """
    method = program.method
    formats = parameter_formats(program.text, method.entry, program.element)
    given = ", ".join(method.arguments)
    if len(formats) != len(launch.arguments):
        raise UsageError(
            f"{method.entry} takes {len(formats)} arguments, and {len(launch.arguments)} are given "
            f"({given}); list its arguments with --args"
        )
    code = without_comments(program.text)
    declared = _parameters(code, method.entry)
    for position, (letter, argument) in enumerate(zip(formats, launch.arguments, strict=True), 1):
        text = method.arguments[position - 1]
        expected, types = _ARGUMENT_TYPES.get(letter, ("a whole number", int))
        if not isinstance(argument, types):
            raise UsageError(
                f"argument {position} of {method.entry} must be {expected}, not "
                f"{text} ({given}); list its arguments with --args"
            )
        if isinstance(argument, int | float) and not _fits(letter, argument):
            shown = text if text == str(argument) else f"{text} = {argument}"
            raise UsageError(
                f"argument {position} of {method.entry}, {shown}, does not fit its parameter "
                f"“{declared[position - 1]}”"
            )
    for name, value in launch.constants:
        letter, symbol = constant_format(code, name, program.element)
        if not _fits(letter, value):
            raise UsageError(f"{method.name}: the constant {name} = {value} does not fit “{symbol}”")


def _fits(letter: str, value: float) -> bool:
    """Return whether a type, given by its letter of the struct module, can hold a number."""
    try:
        struct.pack("<f" if letter == "f" else letter, value)  # a native float takes any double
    except (struct.error, OverflowError):
        return False
    return letter != "?" or value in (0, 1)


def _parameters(code: str, entry: str) -> list[str]:
    start = re.search(rf"\b{re.escape(entry)}\s*\(", code)
    if not start:
        raise UsageError(f"no parameter list of {entry} was found")
    declared = code[start.end() : closing_bracket(code, start.end()) - 1].strip()
    return [] if declared in ("", "void") else split_at_commas(declared)
