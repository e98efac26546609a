"""Prepare C++ source for the parser, which does not preprocess.

Comments become spaces, and so do the alternatives of `#if` that are not compiled, as far as the file says it.
A macro whose text launches a kernel is replaced by that text, and so are macros with a dim3, and macros for
statements in a kernel.
Lines keep their numbers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from cudamm.errors import UsageError
from cudamm.source.c_text import DIRECTIVE, blanked, closing_bracket, without_comments
from cudamm.source.expression import parse, split_at_commas

MOST_REPLACED = 100
"""Number of uses of macros that are replaced."""

LONGEST_REPLACED = 20_000
"""Number of characters of a macro's text with its arguments in it."""

_DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^)]*)\))?(.*)", re.DOTALL)
_STATEMENT = re.compile(r"[;{]|[^=!<>]=(?!=)")
"""What the text of a macro has that stands for statements."""

_CONDITION = re.compile(r"[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif)\b(.*)", re.DOTALL)


@functools.lru_cache(maxsize=8)
def preprocessed(source: str) -> str:
    """Return C++ source without comments, without what is not compiled, and with its launches in sight."""
    code = without_comments(source)
    if "#" not in code:
        return code
    code = _active(code)
    return _with_macros(code)


def _active(code: str) -> str:
    """Blank the alternatives that are not compiled; where a condition is unknown, all of them stay."""
    macros: dict[str, str] = {}
    parts: list[str] = []
    # Of each open `#if`: whether its text is compiled (None: unknown), and whether an earlier text was.
    open_ifs: list[tuple[bool | None, bool | None]] = []
    end = 0
    for directive in DIRECTIVE.finditer(code):
        is_active = all(state is not False for state, _ in open_ifs)
        text = code[end : directive.start()]
        parts.append(text if is_active else blanked(text))
        end = directive.end()
        condition = _CONDITION.fullmatch(directive[0])
        if condition:
            _step(open_ifs, condition[1], condition[2].replace("\\\n", " ").strip(), macros)
            is_known = open_ifs and open_ifs[-1][0] is not None
            parts.append(blanked(directive[0]) if is_known else directive[0])
            continue
        parts.append(directive[0] if is_active else blanked(directive[0]))
        definition = _DEFINE.fullmatch(directive[0])
        if definition and is_active:
            macros[definition[1]] = "" if definition[2] is not None else definition[3].strip()
    return "".join((*parts, code[end:]))


def _step(
    open_ifs: list[tuple[bool | None, bool | None]], word: str, condition: str, macros: Mapping[str, str]
) -> None:
    """Follow a directive such as `#elif`."""
    if word.startswith("if"):
        is_true = _is_true(word, condition, macros)
        open_ifs.append((is_true, is_true))
    elif open_ifs and word == "endif":
        open_ifs.pop()
    elif open_ifs:
        _, earlier = open_ifs.pop()
        is_true = True if word == "else" else _is_true("if", condition, macros)
        if earlier:
            open_ifs.append((False, True))
        elif earlier is None or is_true is None:
            open_ifs.append((None, None))
        else:
            open_ifs.append((is_true, is_true))


def _is_true(word: str, condition: str, macros: Mapping[str, str]) -> bool | None:
    """Return the value of a condition; None if it depends on the compiler or is no arithmetic."""
    if word != "if":
        condition = f"{'!' * (word == 'ifndef')}defined({condition})"
    if "__" in condition or len(condition) > 300:
        return None
    condition = re.sub(r"\bdefined\s*\(?\s*(\w+)\s*\)?", lambda m: str(int(m[1] in macros)), condition)
    for _ in range(10):  # macros whose values are macros
        condition = re.sub(r"(?<!\w)[A-Za-z_]\w*", lambda m: f"({macros.get(m[0]) or 0})", condition)
        if len(condition) > 300:
            return None
    condition = re.sub(r"!(?!=)", "1 - ", re.sub(r"\b(\d+)[uUlL]+\b", r"\1", condition))
    try:
        return parse(re.sub(r"/(?!/)", "//", condition)).holds({})
    except UsageError:
        return None


_Macros = Mapping[str, tuple[list[str] | None, str]]
"""The parameters and the text of macros; None for a macro without parameters."""


def _with_macros(code: str) -> str:
    """Replace the uses of macros that launch kernels or are a grid, and in kernels those of statements."""
    launching: dict[str, tuple[list[str] | None, str]] = {}
    of_statements: dict[str, tuple[list[str] | None, str]] = {}
    for directive in DIRECTIVE.finditer(code):
        definition = _DEFINE.fullmatch(directive[0])
        if definition:
            names = split_at_commas(definition[2]) if definition[2] is not None else None
            macro = names, definition[3].replace("\\\n", " ")
            if re.search(r"<<<|\bdim3\b", macro[1]):
                launching[definition[1]] = macro
            elif _STATEMENT.search(macro[1]):
                of_statements[definition[1]] = macro
    code = _replaced(code, launching) if launching else code
    for kernel in reversed(list(re.finditer(r"\b__global__\b[^;{]*\{", code)) if of_statements else []):
        end = closing_bracket(code, kernel.end(), "{}")
        code = code[: kernel.end()] + _replaced(code[kernel.end() : end], of_statements) + code[end:]
    return code


def _replaced(code: str, macros: _Macros) -> str:
    """Replace the uses of macros by their text."""
    use = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, macros))})\b")
    directives = [directive.span() for directive in DIRECTIVE.finditer(code)]
    position = 0
    for _ in range(MOST_REPLACED):
        found = use.search(code, position)
        if found is None:
            break
        around = next((span for span in directives if span[0] <= found.start() < span[1]), None)
        if around:
            position = around[1]
            continue
        start, end = found.span()
        names, text = macros[found[0]]
        if names is not None:
            opening = re.compile(r"\s*\(").match(code, end)
            if opening is None:
                position = end
                continue
            end = closing_bracket(code, opening.end())
            text = _substituted(text, names, split_at_commas(code[opening.end() : end - 1]))
        if len(text) > LONGEST_REPLACED:
            break
        text += "\n" * code.count("\n", start, end)
        code = code[:start] + text + code[end:]
        position = start + len(text)
        directives = [directive.span() for directive in DIRECTIVE.finditer(code)]
    return code


def _substituted(text: str, names: list[str], given: list[str]) -> str:
    """Return a macro's text with its arguments in it."""
    values = dict(zip(names, given, strict=False))
    if names and names[-1].endswith("..."):
        values[names[-1].removesuffix("...") or "__VA_ARGS__"] = ", ".join(given[len(names) - 1 :])
    text = re.sub(r"(?<!#)#(?!#)\s*\w+", '""', re.sub(r"\s*##\s*", "##", text))
    text = re.sub(r"[A-Za-z_]\w*", lambda name: values.get(name[0], name[0]).replace("\n", " "), text)
    return text.replace("##", "")
