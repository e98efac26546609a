"""Constants that a header file uses, and that the other header files of its folder define.

A kernel may be in a header that its program includes after others, on whose constants it relies. Alone, such
a header does not compile. A constant is taken from the other headers if all that define it give it one value.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.kernels.parameter_types import is_number
from cudamm.source.c_text import DIRECTIVE, blanked, without_comments_and_literals
from cudamm.source.device_code import declared_names
from cudamm.source.input_file import read_input

HEADER_ENDINGS = (".cuh", ".h", ".hpp")

MOST_SIBLINGS = 200
"""Number of header files in a folder above which none is read."""

LARGEST_BYTES = 1 << 20

_LITERAL = r"(?:0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)[uUlLfF]{0,3}"
_MACRO = re.compile(
    rf"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?[ \t]*({_LITERAL})[ \t]*\)?[ \t]*$", re.MULTILINE
)
_CONSTANT = re.compile(
    r"(?:^|[;}])\s*(?:(?:static|inline|__device__)\s+)*(?:const|constexpr)\s+"
    rf"(?P<type>[\w ]+?)\s+(?P<name>\w+)\s*=\s*(?P<value>{_LITERAL})\s*(?=;)"
)
_CONDITION = re.compile(r"\s*#\s*(?:if|ifdef|ifndef|elif|undef)\b")
_POINTED = "float|double|int|void|char"
_NO_TYPE = "return|case|else|throw|new|delete|typename|sizeof|goto|operator"


@dataclass(frozen=True)
class SiblingConstant:
    """A constant of another header file.

    Attributes:
        definition: C++ that defines it.
        file: name of the file that it is from.
    """

    name: str
    definition: str
    file: str


def sibling_constants(path: Path, code: str, known: Collection[str]) -> list[SiblingConstant]:
    """Return the constants that a header file lacks, and that others beside it define with one value.

    Args:
        path: of the file.
        code: what is compiled of it.
        known: names that get a value in another way.
    """
    if path.suffix not in HEADER_ENDINGS:
        return []
    lacking: defaultdict[str, list[SiblingConstant]] = defaultdict(list)
    plain = without_comments_and_literals(code)
    used = set(re.findall(r"\w+", plain))
    for sibling in _siblings(path):
        for constant in sibling:
            if constant.name in used and constant.name not in known:
                lacking[constant.name].append(constant)
    declared = declared_names(code) if lacking else frozenset()
    return [
        constants[0]
        for name, constants in lacking.items()
        if len({constant.definition for constant in constants}) == 1
        and name not in declared
        and _is_undeclared_use(plain, name)
    ]


def _siblings(path: Path) -> Iterator[list[SiblingConstant]]:
    """Yield the constants of each other header file in the folder of a file, in the order of the names."""
    try:
        files = sorted(file for file in path.parent.iterdir() if file.suffix in HEADER_ENDINGS)
    except OSError:
        return
    for file in files if len(files) <= MOST_SIBLINGS else ():
        if file.name != path.name:
            try:
                text = read_input(file, "a header beside the kernel", LARGEST_BYTES).decode(errors="replace")
            except (OSError, UsageError):
                continue  # the kernel does not name this file, so it need not be readable
            yield list(_constants_in(without_comments_and_literals(text), file.name))


def _constants_in(code: str, file: str) -> Iterator[SiblingConstant]:
    for match in _MACRO.finditer(code):
        yield SiblingConstant(match[1], f"static constexpr auto {match[1]} = {match[2]};", file)
    for match in _CONSTANT.finditer(_outside_braces(DIRECTIVE.sub(lambda line: blanked(line[0]), code))):
        if is_number(match["type"]):
            definition = f"static constexpr {match['type']} {match['name']} = {match['value']};"
            yield SiblingConstant(match["name"], definition, file)


def _outside_braces(code: str) -> str:
    depth, position, parts = 0, 0, []
    for brace in re.finditer("[{}]", code):
        if depth == 0:
            parts.append(code[position : brace.start()])
        depth = max(0, depth + (1 if brace[0] == "{" else -1))
        position = brace.end()
    return "}".join([*parts, code[position:] if depth == 0 else ""])


def _is_undeclared_use(plain: str, name: str) -> bool:
    """Return whether code uses a name as a value, and does not declare it as a parameter or a local variable.

    A test of the preprocessor is no use of a constant.
    """
    code = DIRECTIVE.sub(lambda line: " " if _CONDITION.match(line[0]) else line[0], plain)
    code = re.sub(r"#[ \t]*define[ \t]+\w+", " ", code)
    declares = rf"\b(?:(?!(?:{_NO_TYPE})\b)[A-Za-z_]\w*\s+|(?:{_POINTED})\s*\*\s*){name}\b"
    is_value = rf"(?<![\w.])(?<!->)(?<!::){name}\b(?!\s*(?:\(|::))"
    return re.search(is_value, code) is not None and re.search(declares, code) is None
