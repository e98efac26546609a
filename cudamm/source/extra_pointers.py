"""Find the pointers of a kernel that are none of A, B and C, and whether the kernel only writes to them."""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from cudamm.source.c_definitions import Function
from cudamm.source.parsed_source import all_of, text_of

_CHECKS = frozenset({"==", "!=", "&&", "||"})
"""Operators that compare a pointer, as in `debug != nullptr && row == 0`."""


def only_written(kernel: Function, pointers: Sequence[str]) -> list[str]:
    """Return the pointers to which a kernel writes, and whose memory it does not read.

    A counter, as in `atomicAdd(count, 1)`, counts as written: the kernel does not use what it holds.
    """
    uses: dict[str, list[Node]] = {name: [] for name in pointers}
    for node in all_of(kernel.node, "identifier"):
        if text_of(node) in uses:
            uses[text_of(node)].append(node)
    return [name for name, nodes in uses.items() if all(map(_is_no_read, nodes))]


def _is_no_read(node: Node) -> bool:
    """Return whether a use of a pointer stores to its memory, or does not touch the memory."""
    part, is_memory = node, False
    while part.parent is not None:
        above = part.parent
        if above.type in ("pointer_declarator", "array_declarator", "parameter_declaration"):
            return True
        if above.type == "subscript_expression" and above.child_by_field_name("argument") == part:
            is_memory = True
        elif above.type == "pointer_expression":
            is_memory |= text_of(above.child_by_field_name("operator")) == "*"
        elif above.type == "binary_expression":
            if text_of(above.child_by_field_name("operator")) in _CHECKS:
                return not is_memory
        elif above.type in ("unary_expression", "condition_clause", "if_statement"):
            return not is_memory
        elif above.type == "assignment_expression":
            is_target = above.child_by_field_name("left") == part and is_memory
            is_plain = text_of(above.child_by_field_name("operator")) == "="
            return is_target and (is_plain or _is_statement(above))
        elif above.type == "update_expression":
            return is_memory and _is_statement(above)
        elif above.type == "argument_list":
            call = above.parent
            return (
                call is not None
                and text_of(call.child_by_field_name("function")).startswith("atomic")
                and above.named_children[0] == part
                and _is_statement(call)
            )
        elif above.type != "parenthesized_expression":
            return False
        part = above
    return False


def _is_statement(node: Node) -> bool:
    """Return whether the value of an expression is not used."""
    return node.parent is not None and node.parent.type == "expression_statement"
