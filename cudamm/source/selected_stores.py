"""Write a store of both branches of an `if` as one: compilers select the value, and store once."""

from __future__ import annotations

import re

from tree_sitter import Node

from cudamm.source.changed_expression import sign_of
from cudamm.source.parsed_source import all_of, declared_name, parsed, text_of


def with_selected_stores(text: str) -> str:
    """Return C source in which `if (c) s[i] = a; else s[i] = b;` is `s[i] = c ? a : b;`.

    The store is in the line of the first branch, and each load in its own. The elements of the two branches
    have the same words. Of vectors such as float4, nvcc leaves both stores.
    """
    source, vectors = text.encode(), _arrays_of_vectors(text)
    edits: list[tuple[int, int, bytes]] = []
    for branch in all_of(parsed(text), "if_statement"):
        condition, stores = branch.child_by_field_name("condition"), _stores(branch)
        if condition is None or stores is None:
            continue
        (target, value), (_, other) = stores
        element = text_of(target)
        if element.partition("[")[0].strip() in vectors:
            continue
        of_type = f"(__typeof__({element}))"
        places = [
            (branch.start_byte, target.start_byte, ""),
            (target.start_byte, value.start_byte, f"{element} = {text_of(condition)} ? {of_type}("),
            (value.end_byte, other.start_byte, f") : {of_type}("),
            (other.end_byte, branch.end_byte, ");"),
        ]
        if not any(all_of(other, "subscript_expression")):  # else the store of a half is in the last line
            constant = " ".join(text_of(other).split())
            places[2:] = [(value.end_byte, branch.end_byte, f") : {of_type}({constant});")]
        for start, end, new in places:
            lines = re.sub(rb"[^\n]", b"", source[start:end])
            halves = (new.encode(), lines) if end == branch.end_byte else (lines, new.encode())
            edits.append((start, end, b"".join(halves)))
    for start, end, changed in sorted(edits, reverse=True):
        source = source[:start] + changed + source[end:]
    return source.decode()


def _arrays_of_vectors(text: str) -> set[str]:
    """Return the names of the arrays whose elements are vectors: `__shared__ float4 tile[8][8]`."""
    return {
        declared_name(declarator)
        for declaration in all_of(parsed(text), "declaration")
        if re.search("[a-z][234]$", text_of(declaration.child_by_field_name("type")))
        for declarator in declaration.children_by_field_name("declarator")
    }


def _stores(branch: Node) -> tuple[tuple[Node, Node], tuple[Node, Node]] | None:
    """Return the element and the value of the store in each branch; None if they are no two such stores."""
    alternative = branch.child_by_field_name("alternative")
    if alternative is not None and alternative.type == "else_clause":
        alternative = alternative.named_children[-1]
    first, second = (_store(each) for each in (branch.child_by_field_name("consequence"), alternative))
    if first is None or second is None:
        return None
    one, other = (re.sub(r"\s", "", text_of(store[0])) for store in (first, second))
    return (first, second) if one == other else None


def _store(statement: Node | None) -> tuple[Node, Node] | None:
    """Return the element and the value of a statement that does nothing but store an element."""
    if statement is not None and statement.type == "compound_statement" and statement.named_child_count == 1:
        statement = statement.named_children[0]
    found = (
        statement.named_children[0]
        if statement is not None and statement.type == "expression_statement"
        else None
    )
    if found is None or found.type != "assignment_expression" or sign_of(found) != "=":
        return None
    target, value = found.child_by_field_name("left"), found.child_by_field_name("right")
    is_store = target is not None and value is not None and target.type == "subscript_expression"
    has_comment = statement is not None and any(all_of(statement, "comment"))
    return (target, value) if is_store and target and value and not has_comment else None
