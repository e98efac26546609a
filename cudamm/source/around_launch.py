"""Read what host code does around a launch: what it stores in the matrices, and which sizes it allows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tree_sitter import Node

from cudamm.source.c_definitions import Function, SourceFile
from cudamm.source.c_numbers import Translation
from cudamm.source.host_code import LaunchStatement, first_name
from cudamm.source.kernel_parameters import may_be_product
from cudamm.source.parsed_source import all_of, text_of


def is_filled(function: Function, name: str, before: Node) -> bool:
    """Return whether host code stores to the memory behind a pointer before a statement."""
    for node in all_of(function.node, "call_expression", "assignment_expression"):
        if node.start_byte >= before.start_byte:
            break
        target = text_of(node.child_by_field_name("left"))
        if re.match(r"cudaMem(set|cpy)", text_of(node.child_by_field_name("function"))):
            given = node.child_by_field_name("arguments")
            target = f"{first_name(given)}[" if given else ""
        if target.startswith(f"{name}["):
            return True
    return False


def is_transposed(file: SourceFile, function: Function, name: str, before: Node) -> bool:
    """Return whether host code makes a matrix by transposing another one.

    It does so with a function or a kernel whose name says it, or with a statement such as
    `T[j * rows + i] = A[i * columns + j];`, and may copy the result to the memory behind `name`.
    """
    made = set()
    for node in all_of(function.node, "call_expression", "assignment_expression"):
        if node.end_byte > before.start_byte:
            continue
        called, given = text_of(node.child_by_field_name("function")), node.child_by_field_name("arguments")
        names = [first_name(argument) for argument in given.named_children] if given else []
        if any(may_be_product(file, kernel) for kernel in file.functions_named(called.partition("<")[0])):
            continue  # its name says how it multiplies
        if re.search("transp", called, re.IGNORECASE):
            made.update(names)
        elif called.startswith("cudaMemcpy") and len(names) > 1 and names[1] in made:
            made.add(names[0])
        elif node.type == "assignment_expression" and _swaps(file, function, node):
            made.add(first_name(node))
    return name in made


def _swaps(file: SourceFile, function: Function, assignment: Node) -> bool:
    """Return whether `T[j * rows + i] = A[i * columns + j]` or `T[j][i] = A[i][j]` is assigned."""
    sides = (assignment.child_by_field_name(side) for side in ("left", "right"))
    left, right = (_row_and_column(file, function, side) for side in sides)
    return left is not None and right is not None and left == right[::-1] and left[0] != left[1]


def _row_and_column(file: SourceFile, function: Function, node: Node | None) -> tuple[str, str] | None:
    """Return `("i", "j")` for `A[i * columns + j]` and for `A[i][j]`; None for others."""
    if node is None or node.type != "subscript_expression":
        return None
    found = re.fullmatch(r"\w+\[(\w+)\]\[(\w+)\]", re.sub(r"\s", "", text_of(node)))
    if found:
        return found[1], found[2]
    indices = node.child_by_field_name("indices")
    index = indices.named_children[0] if indices and indices.named_child_count == 1 else None
    # The variables of loops have values too, their first ones.
    loops = {name for name in function.first_values if name not in function.values}
    number = Translation(file, function, kept=loops).of(index)
    text = number.text.replace("(", "").replace(")", "") if number else ""
    row_first = re.fullmatch(r"(\w+) \* \w+ \+ (\w+)", text)
    column_first = re.fullmatch(r"(\w+) \+ (\w+) \* \w+", text)
    if row_first:
        return row_first[1], row_first[2]
    return (column_first[2], column_first[1]) if column_first else None


def required_multiples(translation: Translation, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield `("N", "TILE")` for `assert(N % TILE == 0)`, and for `if (N % TILE) …` in host code."""
    is_host_code = translation.function is None or not translation.function.is_kernel
    for node in all_of(
        translation.function.node if translation.function else translation.file.tree, "binary_expression"
    ):
        if text_of(node.child_by_field_name("operator")) != "%":
            continue
        around = node.parent
        while around is not None and around.type in (
            "binary_expression",
            "parenthesized_expression",
            "condition_clause",
        ):
            around = around.parent
        is_checked = around is not None and (
            (around.type == "if_statement" and is_host_code and _leaves(around))
            or (
                around.type == "argument_list"
                and "assert" in text_of(around.parent).partition("(")[0].lower()
            )
        )
        left, right = (translation.of(node.child_by_field_name(side)) for side in ("left", "right"))
        if is_checked and left and right and left.text in names:
            yield left.text, right.text


def _leaves(statement: Node) -> bool:
    """Return whether an `if` ends the function or the program, as after a message about wrong sizes."""
    called = (text_of(n.child_by_field_name("function")) for n in all_of(statement, "call_expression"))
    ends = any(all_of(statement, "return_statement", "throw_statement"))
    return ends or any(
        re.search(r"exit|abort|terminate|assert|fail|die|error", name.lower()) for name in called
    )


def conditions_of(launch: LaunchStatement) -> Iterator[tuple[Node, bool]]:
    """Yield the conditions of the `if` statements around a launch, and whether they hold there."""
    inner, around = launch.node, launch.node.parent
    while around is not None and around != launch.function.node:
        condition = around.child_by_field_name("condition") if around.type == "if_statement" else None
        if condition and inner != condition:
            yield condition, inner == around.child_by_field_name("consequence")
        inner, around = around, around.parent
