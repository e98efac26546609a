"""Read the types of a kernel's parameters and constants from C source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cudamm.errors import UsageError
from cudamm.kernels.c_text import closing_bracket, function_of, without_comments
from cudamm.kernels.expression import split_at_commas
from cudamm.kernels.macro_values import MacroValues
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

LONGEST_HEAD = 4000
"""Number of characters before a function's parameters in which its qualifiers have to occur."""

MOST_NAMES = 8
"""Number of names that are followed from a type to the type that it means."""

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
    types = _named_types(code) | _template_types(code, entry)
    formats = ""
    for declared in parameters_of(code, entry):
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


def launch_bound(source: str, entry: str) -> int | None:
    """Return the threads that a kernel's `__launch_bounds__` allows in a block; None if it has none."""
    code = without_comments(source)
    head = re.split("[;}]", code[: _place_of_parameters(code, entry)][-LONGEST_HEAD:])[-1]
    found = re.search(r"__launch_bounds__\s*\(", head)
    if found is None:
        return None
    most, *_ = split_at_commas(head[found.end() : closing_bracket(head, found.end()) - 1])
    given = {
        name: int(words[0]) for name, words in _template_types(code, entry).items() if words[0].isdecimal()
    }
    return MacroValues(code, given).value(most)


def matrix_types(source: str, entry: str, arguments: Sequence[str]) -> list[str]:
    """Return the C types of the elements of A, B and C, without repetitions.

    A type that the file names otherwise is replaced by its own name: `real` by `double`.

    Args:
        arguments: the arguments of the kernel `entry`, of which some are A, B and C.
    """
    code = without_comments(source)
    types = _named_types(code) | _template_types(code, entry)
    found = []
    for declared, argument in zip(parameters_of(code, entry), arguments, strict=False):
        pointed, star, _ = re.sub(_QUALIFIERS, " ", declared).partition("*")
        words = pointed.split()
        for _ in range(MOST_NAMES):
            words = types.get(" ".join(words), words)
        if star and argument in ("A", "B", "C"):
            found.append(" ".join(words))
    return list(dict.fromkeys(found))


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
    return _resolve(types, types[base], element, depth + 1) if base in types and depth < MOST_NAMES else ""


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


def _template_types(code: str, entry: str) -> dict[str, list[str]]:
    """Return the words of each template argument, given or a default: `float` for the T of k<float>."""
    start = _place_of_parameters(code, entry)
    declared = re.split("[;}]", code[:start])[-1]
    _, _, head = declared.partition("template")
    given = [text for text in split_at_commas(_in_angle_brackets(entry), brackets="([{<") if text]
    types: dict[str, list[str]] = {}
    for number, parameter in enumerate(split_at_commas(_in_angle_brackets(head), brackets="([{<")):
        declared, _, default = parameter.partition("=")
        names = re.findall(r"\w+", declared)
        value = given[number] if number < len(given) else default
        if names and value.strip():
            types[names[-1]] = value.split()
    return types


def _place_of_parameters(code: str, entry: str) -> int:
    """Return the place after the bracket with which the parameters of a function begin; 0 if there is none.

    Of several functions of that name, and of what looks like one, a kernel comes first.
    """
    places = [match.end() for match in re.finditer(rf"\b{function_of(entry)}\s*\(", code)]
    heads = (re.split("[;}]", code[max(0, place - LONGEST_HEAD) : place])[-1] for place in places)
    kernels = (place for place, head in zip(places, heads, strict=True) if "__global__" in head)
    return next(kernels, places[0] if places else 0)


def _in_angle_brackets(text: str) -> str:
    """Return the text between the first angle bracket and the one that closes it."""
    depth, inside, start = 0, 0, text.find("<")  # inside round brackets, > is a comparison
    for bracket in re.compile("[<>()]").finditer(text, max(0, start)):
        if bracket[0] in "()":
            inside += 1 if bracket[0] == "(" else -1
        elif inside == 0:
            depth += 1 if bracket[0] == "<" else -1
        if depth == 0:
            return text[start + 1 : bracket.start()]
    return ""


def parameters_of(code: str, entry: str) -> list[str]:
    """Return the declarations of a function's parameters. Raise UsageError if the function is not found."""
    start = _place_of_parameters(code, entry)
    if not start:
        raise UsageError(f"no parameter list of {entry} was found")
    declared = code[start : closing_bracket(code, start) - 1].strip()
    return [] if declared in ("", "void") else split_at_commas(declared)
