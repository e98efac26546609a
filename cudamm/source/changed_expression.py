"""A change of a kernel's text, and the expressions that it replaces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from cudamm.source.parsed_source import is_inside, text_of


@dataclass(frozen=True)
class KernelChange:
    """A change of one expression, or of several that belong together.

    Attributes:
        mistake: what is wrong if this change makes the kernel right, in a sentence.
        cure: what to write instead.
        array: the array whose index changes; empty if the expression is no index.
        file, line: place of the first changed expression; `file` is as in `#line`.
        edits: first byte, last byte and new text of each changed expression. Of an edit without any bytes,
            the text is a term that is added in front.
        rank: the likelihood of the mistake, 0 for the likeliest.
        is_condition: whether a condition changes, and no index.
    """

    mistake: str
    cure: str
    array: str
    file: str
    line: int
    edits: tuple[tuple[int, int, str], ...]
    rank: int
    is_condition: bool = False


@dataclass(frozen=True)
class Site:
    """An expression that a change may replace: an index, a condition, or the value of a variable.

    Attributes:
        node: the expression.
        whole: what a message shows of it: the whole subscript of an index, or the whole assignment.
        array: the array that is indexed, or the pointer that is moved; empty if there is none.
        kind: what the expression is.
    """

    node: Node
    whole: Node
    array: str
    kind: str

    def shown(self, new: str) -> str:
        """Return the text of `whole` with a new text of the expression, on one line.

        What is declared as `float *tile = …` is shown as `tile = …`, which stores nothing.
        """
        start, end = self.node.start_byte - self.whole.start_byte, self.node.end_byte - self.whole.start_byte
        text = (self.whole.text or b"").decode().encode()
        shown = re.sub(r"\s+", " ", (text[:start] + new.encode() + text[end:]).decode())
        return shown.lstrip("* ") if self.whole.type == "init_declarator" else shown


def counters_at(node: Node) -> list[str]:
    """Return the variables that the loops around an expression count."""
    found: dict[str, None] = {}
    around = node.parent
    while around is not None and around.type != "function_definition":
        update = around.child_by_field_name("update") if around.type == "for_statement" else None
        left = update and (update.child_by_field_name("left") or update.child_by_field_name("argument"))
        if left and left.type == "identifier":
            found[text_of(left)] = None
        around = around.parent
    return list(found)


def sign_of(node: Node) -> str:
    """Return the operator of an expression."""
    return text_of(node.child_by_field_name("operator"))


def terms_of(node: Node) -> list[Node]:
    """Return the terms of a sum."""
    if node.type == "binary_expression" and sign_of(node) == "+":
        sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        return [term for side in sides if side is not None for term in terms_of(side)]
    return [node]


def base_of(node: Node) -> str:
    """Return A for an element `A[i][j]`, and for `A.elements[i]`; empty if it has another form."""
    current: Node | None = node
    while current is not None and current.type in ("subscript_expression", "field_expression"):
        current = current.child_by_field_name("argument")
    return text_of(current) if current is not None and current.type == "identifier" else ""


def grouped(node: Node) -> str:
    """Return the text of an expression as a factor, in parentheses if it needs them."""
    return text_of(node) if node.type in _ATOMIC else f"({text_of(node)})"


_ATOMIC = ("identifier", "number_literal", "field_expression", "parenthesized_expression")
"""Types of expressions that need no parentheses as factors."""


def replaced(node: Node, edits: Mapping[Node, str]) -> str:
    """Return the text of an expression with parts of it replaced."""
    text = node.text or b""
    for part, new in sorted(edits.items(), key=lambda edit: -edit[0].start_byte):
        start, end = part.start_byte - node.start_byte, part.end_byte - node.start_byte
        text = text[:start] + new.encode() + text[end:]
    return text.decode()


def edits_within(edits: Mapping[Node, str], sites: Iterable[Site]) -> tuple[tuple[int, int, str], ...]:
    """Return the edits of a `KernelChange`: a part of a site is replaced with the whole site.

    Two changes of one program may not replace an expression and a part of it.
    """
    whole: dict[Node, dict[Node, str]] = {}
    sites = tuple(sites)
    for node, new in edits.items():
        around = next((site.node for site in sites if is_inside(node, site.node)), node)
        whole.setdefault(around, {})[node] = new
    return tuple((node.start_byte, node.end_byte, replaced(node, parts)) for node, parts in whole.items())
