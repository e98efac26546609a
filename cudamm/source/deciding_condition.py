"""Find the condition that decides whether a line of a kernel is executed."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from cudamm.source.changed_expression import sign_of
from cudamm.source.parsed_source import all_of, ancestors, file_and_line_of, parsed

_CHOICES = ("if_statement", "conditional_expression")


def line_of_deciding_condition(text: str, file: str, line: int) -> int:
    """Return the line of the nearest comparison of sizes, with `<` or `>`, that an element's access passes.

    It is around the access, or ends the function before it: `if (row >= M) return 0;`.

    Args:
        file, line: place of the access, with the file as in `#line`.

    Returns:
        0 if there is none.
    """
    elements = (node for node in all_of(parsed(text), "subscript_expression", "pointer_expression"))
    access = next((node for node in elements if file_and_line_of(node) == (file, line)), None)
    for condition in _conditions_of(access) if access is not None else ():
        if any(sign_of(each) in ("<", ">", "<=", ">=") for each in all_of(condition, "binary_expression")):
            return file_and_line_of(condition)[1]
    return 0


def _conditions_of(access: Node) -> Iterator[Node]:
    inner = access
    for around in ancestors(access):
        condition = around.child_by_field_name("condition") if around.type in _CHOICES else None
        if condition is not None and condition != inner:
            yield condition
        before = around.named_children if around.type == "compound_statement" else []
        for statement in reversed([node for node in before if node.end_byte <= inner.start_byte]):
            condition = statement.child_by_field_name("condition")
            if statement.type == "if_statement" and condition and any(all_of(statement, "return_statement")):
                yield condition
        if around.type == "function_definition":
            return
        inner = around
