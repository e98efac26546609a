"""Parse C++ and CUDA source to a tree of declarations, statements and expressions.

The parser is tree-sitter with its CUDA grammar. It does not preprocess, and it returns a tree for every text:
what it does not understand becomes an `ERROR` node. Node types are those of the grammar, such as
`call_expression`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import tree_sitter
import tree_sitter_cuda
from tree_sitter import Node

LARGEST_PARSED = 250_000
"""Number of characters in a text that is parsed; the parser needs much memory for longer ones."""

_LANGUAGE = tree_sitter.Language(tree_sitter_cuda.language())


@functools.lru_cache(maxsize=64)
def parsed(source: str) -> Node:
    """Return the tree of C++ source; an empty tree for a text of more than LARGEST_PARSED characters."""
    text = source if len(source) <= LARGEST_PARSED else ""
    text = re.sub(r"\bunsigned(?=\s*\()", "uint32_t", text)  # the grammar has no `unsigned(n)`
    # A `#line` may name a file whose name the locale cannot decode.
    return tree_sitter.Parser(_LANGUAGE).parse(text.encode(errors="surrogateescape")).root_node


def parsed_expression(text: str) -> Node | None:
    """Return the tree of a C++ expression; None for a text that is none."""
    statements = parsed(f"int parsed = {text.strip()};").named_children
    if len(statements) != 1 or statements[0].has_error:
        return None
    return next(
        (node.child_by_field_name("value") for node in all_of(statements[0], "init_declarator")), None
    )


def text_of(node: Node | None) -> str:
    """Return the text of a node; empty for no node."""
    return (node.text or b"").decode(errors="surrogateescape") if node else ""


def all_of(node: Node, *types: str) -> Iterator[Node]:
    """Yield the node and its descendants of some types, in the order of the text."""
    unread = [node]
    while unread:
        found = unread.pop()
        if found.type in types:
            yield found
        unread += reversed(found.children)


def ancestors(node: Node) -> Iterator[Node]:
    """Yield what is around a node, the innermost first."""
    while node.parent is not None:
        node = node.parent
        yield node


def is_of_value(node: Node) -> bool:
    """Return whether a node, for the parser a parameter, is `n * n` in `std::vector<int> v(n * n)`."""
    head = node.parent.parent if node.type == "parameter_declaration" and node.parent else None
    variable = head.parent if head is not None and head.type == "function_declarator" else None
    around = variable.parent if variable is not None and variable.type == "declaration" else None
    return around is not None and around.type == "compound_statement"


def line_of(node: Node) -> int:
    """Return the number of the line in which a node begins, from 1."""
    return node.start_point[0] + 1


def place_of(node: Node) -> str:
    """Return `line 12`, or `line 12 of mm.cuh` in a text that `#line` divides into several files."""
    file, line = file_and_line_of(node)
    return f"line {line} of {file}" if file else f"line {line}"


def file_and_line_of(node: Node) -> tuple[str, int]:
    """Return the file and the line in which a node begins; no file if the text has no `#line`."""
    root = node
    while root.parent is not None:
        root = root.parent
    above = text_of(root).split("\n")[: line_of(node) - root.start_point[0]]  # the root begins below blanks
    for number, line in enumerate(reversed(above)):
        directive = re.match(r'#line (\d+) "(.*)"', line)
        if directive:
            return directive[2], int(directive[1]) + number - 1
    return "", line_of(node)


def declared_name(declarator: Node | None) -> str:
    """Return the name in a declarator such as `*A`, `(*A)[N]`, `A[]` or `f(int)`; empty if it has none."""
    while declarator is not None and declarator.type not in ("identifier", "field_identifier"):
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next(
                (c for c in declarator.named_children if c.type.endswith(("declarator", "identifier"))), None
            )
        declarator = inner
    return text_of(declarator)


def is_inside(node: Node, outer: Node) -> bool:
    """Return whether one node of a tree is part of another."""
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def variables_in_functions(source: str) -> set[str]:
    """Return the names of the variables that the functions of a C++ source declare."""
    functions = all_of(parsed(source), "function_definition")
    declarations = (each for function in functions for each in all_of(function, "declaration"))
    return {
        declared_name(declarator)
        for declaration in declarations
        for declarator in declaration.children_by_field_name("declarator")
    }


def device_variables(source: str) -> dict[str, tuple[str, int]]:
    """Return the `__device__` variables that a kernel may change, with the file and line of each."""
    found = {}
    for node in all_of(parsed(source), "declaration"):
        is_inside = node.parent is not None and node.parent.type == "compound_statement"
        for declarator in node.children_by_field_name("declarator"):
            head = (node.text or b"")[: declarator.start_byte - node.start_byte].decode(errors="replace")
            is_variable = "__device__" in head and not re.search(r"\bconst(?:expr)?\b", head)
            if is_variable and not is_inside and not any(all_of(declarator, "function_declarator")):
                found[declared_name(declarator)] = file_and_line_of(node)
    return found
