"""Read C source without a compiler: comments, words, kernels and brackets, each text in linear time."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

# Comments, and text in which `//` and `/*` begin no comment: strings, characters, numbers such as 1'000'000.
# An unclosed string ends with its line, and an unclosed comment with the file, so that no text is read twice.
LAUNCHER = "launch_from_python"
"""Name of the C++ function that stands for a launch in the text of a Python program."""

_COMMENT_OR_LITERAL = re.compile(
    r"(?=[/\"'R\d])"  # most characters begin none of them
    r"(?://(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)"
    r"|(?<!\w)R\"(?P<end>[^()\\\s]{0,16})\(.*?(?:\)(?P=end)\"|\Z)"
    r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|(?<!\w)\d(?:'?[\w.])*)",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\)*", re.MULTILINE)
"""A directive of the preprocessor, over all its lines, in a text without comments."""

ATTRIBUTE = re.compile(
    r"\b(?:alignas|__align__|__attribute__|__declspec|__launch_bounds__|__cluster_dims__|__maxnreg__)"
    r"\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\[\[[^\]]*\]\]"
)
"""An attribute of a declaration, with its arguments."""

_TOKEN = re.compile(r"\w+|[^\w\s]")


@functools.lru_cache(maxsize=8)
def without_comments(source: str) -> str:
    """Replace the comments of C source by spaces; line breaks stay, and `//` in a string is no comment."""

    def blank(match: re.Match[str]) -> str:
        return blanked(match.group()) if match.group()[0] == "/" else match.group()

    return _COMMENT_OR_LITERAL.sub(blank, source)


def without_comments_and_literals(source: str) -> str:
    """Replace comments, strings and characters of C source by spaces; the rest keeps its place."""

    def blank(match: re.Match[str]) -> str:
        return match.group() if match.group()[0].isdigit() else blanked(match.group())

    return _COMMENT_OR_LITERAL.sub(blank, source)


def blanked(text: str) -> str:
    """Replace each character but line ends by a space."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


def tokens(code: str) -> list[str]:
    """Return the words and the other characters of C source without comments, in order."""
    return _TOKEN.findall(code)


def kernels_in(source: str) -> list[str]:
    """Return the names of the `__global__` functions that C source defines, in order."""
    if "__global__" not in source:
        return []
    code = without_comments(source)
    kernels = [_kernel_headed(code, keyword.end()) for keyword in re.finditer(r"\b__global__\b", code)]
    return list(dict.fromkeys(filter(None, kernels)))


def _kernel_headed(code: str, start: int) -> str:
    """Return the name of the kernel whose `__global__` ends at `start`; empty if no definition follows."""
    previous, name = "__global__", ""
    depth = 0  # of brackets
    for token in _TOKEN.finditer(code, start):
        word = token[0]
        if word == "__global__":
            return ""
        if depth > 0:  # in the parameters, or in an attribute such as __launch_bounds__(…)
            depth += (word == "(") - (word == ")")
        elif word == "(" and (name or previous.startswith("__")):
            depth = 1
        elif word == "(" and is_word(previous):
            name, depth = previous, 1
        elif word in "(){};":
            return name if word == "{" else ""  # not `;`, as of a kernel that another file defines
        previous = word
    return ""


def function_of(entry: str) -> str:
    """Return `gemm` for `gemm`, `my::gemm` and `gemm<float, 32>`; empty for a text that names no function."""
    match = re.fullmatch(
        r"(?:::)?\s*(?:[A-Za-z_]\w*\s*::\s*)*([A-Za-z_]\w*)\s*(<.*>)?", entry.strip(), re.DOTALL
    )
    return match[1] if match else ""


def with_values(entry: str, values: Mapping[str, object]) -> str:
    """Return `gemm<float, 64>` for `gemm<T, BM>` and values for T and BM."""
    function, bracket, arguments = entry.partition("<")
    return (
        function
        + bracket
        + re.sub(r"(?<![\w.:])[A-Za-z_]\w*", lambda name: str(values.get(name[0], name[0])), arguments)
    )


def dynamic_arrays_in(source: str) -> list[str]:
    """Return the names of the arrays that C source declares as `extern __shared__`, in order."""
    if "__shared__" not in source:
        return []
    names: list[str] = []
    for declaration in re.split("[;{}]", without_comments(source)):
        words = tokens(declaration)
        if {"extern", "__shared__"} <= set(words):
            triples = zip(words, words[1:], words[2:], strict=False)
            names += [word for word, *brackets in triples if brackets == ["[", "]"] and is_word(word)]
    return list(dict.fromkeys(names))


def shared_arrays_in(source: str) -> set[str]:
    """Return the names that C source declares as `__shared__`."""
    if "__shared__" not in source:
        return set()
    declarations = (d.partition("__shared__")[2] for d in re.split("[;{}]", without_comments(source)))
    return {name for declared in declarations for name in re.findall(r"(\w+)\s*\[", declared)}


def indexed_at(line: str, column: int) -> tuple[str, list[str], int] | None:
    """Return the array, the indices and the number of one index in an expression such as `As[ty][tx]`.

    Args:
        column: the column, from 1, of the bracket that closes the index, or opens it, as in a template.
    """
    if line[max(0, column - 1) : column] == "[":
        column = _closing_bracket(line, column - 1) + 1
    if not 0 < column <= len(line) or line[column - 1] != "]":
        return None
    indices, position = list[str](), column
    while position > 0 and line[position - 1] == "]":
        start = _opening_bracket(line, position - 1)
        indices.insert(0, line[start + 1 : position - 1].strip())
        position = len(line[:start].rstrip())
    number, name = len(indices) - 1, re.search(r"(\w+)$", line[:position])
    rest = column
    while line[rest : rest + 1] == "[":
        start, rest = rest + 1, _closing_bracket(line, rest) + 1
        indices.append(line[start : rest - 1].strip())
    return (name[1], indices, number) if name else None


def _closing_bracket(line: str, position: int) -> int:
    """Return the place of the bracket that closes the one at `position`; the last place if there is none."""
    depth = 0
    for place in range(position, len(line)):
        depth += (line[place] == "[") - (line[place] == "]")
        if depth == 0:
            return place
    return len(line) - 1


def _opening_bracket(line: str, position: int) -> int:
    """Return the place of the bracket that the bracket at `position` closes; 0 if there is none."""
    depth = 0
    for place in range(position, -1, -1):
        depth += (line[place] == "]") - (line[place] == "[")
        if depth == 0:
            return place
    return 0


def is_word(token: str) -> bool:
    """Return whether a token is a name, a keyword or a number."""
    return token[:1].isalnum() or token[:1] == "_"


def closing_angle(code: str, position: int) -> int:
    """Return the position after the angle bracket that closes the one just before `position`; 0 if none does.

    Inside round brackets, < and > are comparisons.
    """
    depth, round_depth = 1, 0
    for bracket in re.compile("[<>()]").finditer(code, position):
        if bracket[0] in "()":
            round_depth += 1 if bracket[0] == "(" else -1
        elif round_depth == 0:
            depth += 1 if bracket[0] == "<" else -1
        if not depth:
            return bracket.end()
    return 0


def closing_bracket(code: str, position: int, brackets: str = "()") -> int:
    """Return the position after the bracket that closes the bracket just before `position`."""
    depth = 1
    for bracket in re.compile(f"[{brackets}]").finditer(code, position):
        depth += 1 if bracket[0] == brackets[0] else -1
        if not depth:
            return bracket.end()
    return len(code)
