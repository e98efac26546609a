"""Leave out what one instance of a kernel never executes: the other branch of `if (IS_TRANSPOSED)`.

The branches of a template's flag may read a matrix in two ways, of which a launch has one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tree_sitter import Node

from cudamm.source.c_text import blanked
from cudamm.source.parsed_source import all_of, parsed, text_of

MOST_BRANCHES = 50
"""Number of branches that are left out."""

_CHOICES = ("if_statement", "conditional_expression")
_COMPARED = re.compile(r"(\w+)\s*([=!]=)\s*(\w+)")
_TRUTHS = {"true": "1", "false": "0"}


def without_other_branches(source: str, kernel: str, arguments: Mapping[str, str]) -> str:
    """Return C++ source in which a kernel lacks the branches that an instance never executes.

    Args:
        source: C++ source without comments.
        kernel: the name of the kernel.
        arguments: the template arguments that are one word, by their parameters.

    Returns:
        The source with spaces for what is left out, so that all else keeps its place.
    """
    code = source.encode()
    enumerators = {*re.findall(r"\w+", " ".join(re.findall(r"\benum\b[^{;]*\{([^}]*)\}", source)))}
    names = "|".join(map(re.escape, arguments))
    for _ in range(MOST_BRANCHES if names else 0):
        functions = all_of(parsed(code.decode()), "function_definition")
        of_kernel = (f for f in functions if re.search(rf"__global__[^{{]*\b{kernel}\s*\(", text_of(f)))
        choices = (choice for function in of_kernel for choice in all_of(function, *_CHOICES))
        edit = next((edit for choice in choices if (edit := _left_out(choice, arguments, enumerators))), None)
        if edit is None:
            break
        for start, end, filler in edit:
            text = blanked(code[start:end].decode()).encode()
            code = code[:start] + filler + text[len(filler) :] + code[end:]
    return code.decode()


def _left_out(
    choice: Node, arguments: Mapping[str, str], enumerators: set[str]
) -> list[tuple[int, int, bytes]]:
    """Return the parts of a choice to blank, each with what stands there then; none for an unknown choice."""
    condition = choice.child_by_field_name("condition")
    one, other = (choice.child_by_field_name(name) for name in ("consequence", "alternative"))
    holds = _holds(text_of(condition), arguments, enumerators) if condition is not None else None
    if holds is None or one is None:
        return []
    if choice.type == "conditional_expression" and other is not None:
        kept = one if holds else other
        return [(choice.start_byte, kept.start_byte, b""), (kept.end_byte, choice.end_byte, b"")]
    left_out = other if holds else one
    is_left = left_out is not None and text_of(left_out).strip("{ \n};") != ""
    return [(left_out.start_byte, left_out.end_byte, b"" if holds else b"{}")] if is_left and left_out else []


def _holds(condition: str, arguments: Mapping[str, str], enumerators: set[str]) -> bool | None:
    """Return whether a condition on template arguments holds; None if it is on something else."""
    text = condition.strip()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    if text.startswith("!"):
        holds = _holds(text[1:], arguments, enumerators)
        return None if holds is None else not holds
    compared = _COMPARED.fullmatch(text)
    words = compared.group(1, 3) if compared else (text, "1")
    if not arguments.keys() & set(words):
        return None
    one, two = (_TRUTHS.get(word, word) for word in (arguments.get(name, name) for name in words))
    if compared is None:
        return one != "0" if one.isdigit() else None
    is_known = all(word.isdigit() for word in (one, two)) or {one, two} <= enumerators
    return (one == two) == (compared[2] == "==") if is_known else None
