"""Read what host code does around a launch: what it stores in the matrices, and which sizes it allows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tree_sitter import Node

from cudamm.source.c_definitions import Function, SourceFile, without_casts
from cudamm.source.c_numbers import Translation
from cudamm.source.host_code import MOST_CALLERS, LaunchStatement, first_name
from cudamm.source.kernel_parameters import may_be_product
from cudamm.source.parsed_source import all_of, text_of
from cudamm.source.program_values import callers_of

_FILLED = re.compile(r"\b(?:zeros|zeros_like|full|ones|clone|calloc)\b")
"""Functions in the value of a matrix that give values to its elements."""

_FILLS = re.compile(r"(?:cuda|hip)Mem(?:set|cpy)|cuMemset|memset|(?:thrust|std)::fill")
"""Functions that give values to the memory behind their first argument."""

_CLEARS = re.compile(r"(?:cuda|hip)Memset(?:Async)?")
_ALLOCATES = re.compile(r"(?:cuda|hip)(?:Malloc|Free)")

_FILLER = re.compile(r"zero|init|fill|clear|set", re.IGNORECASE)
"""Words in the names of kernels that give values to the elements of a matrix."""


def is_filled(
    file: SourceFile, function: Function, name: str, before: Node | None, levels: int = MOST_CALLERS
) -> bool:
    """Return whether host code stores to the memory behind a pointer before a statement.

    The store may be in this function, in one that it calls, or in its callers. If the pointer is a global
    variable, the store may be in any function.

    Args:
        before: the statement; None: anywhere in the function.
    """
    if levels <= 0 or not name:
        return False
    if _is_filled_in(file, function, name, before, levels) or any(
        is_filled(file, caller, first_name(argument), argument, levels - 1)
        for caller, argument in callers_of(file, function, name)
    ):
        return True
    is_global = name in file.globals and name not in function.types
    others = (f for f in file.functions if is_global and not f.is_kernel and f.name != function.name)
    return any(_is_filled_in(file, other, name, None, levels - 1) for other in others)


def _is_filled_in(file: SourceFile, function: Function, name: str, before: Node | None, levels: int) -> bool:
    """Return whether a function, or one that it calls, stores to the memory behind a pointer."""
    given = function.first_values.get(name)
    if "device_vector" in function.types.get(name, "") or _FILLED.search(text_of(given)):
        return True
    made_from = {text_of(node) for node in all_of(given, "identifier")} if given and levels > 1 else set()
    sources = (each for each in made_from - {name} if each in function.types)
    if any(_is_filled_in(file, function, each, before, levels - 1) for each in sources):
        return True  # `float *c = C.data_ptr<float>();`
    for maker in (maker for each in made_from for maker in file.functions_named(each) if not maker.is_kernel):
        returned = next((first_name(node) for node in all_of(maker.node, "return_statement")), "")
        if returned and _is_filled_in(file, maker, returned, None, levels - 1):
            return True
    for node in all_of(function.node, "call_expression", "assignment_expression"):
        if before and node.start_byte >= before.start_byte:
            break
        if node.type == "assignment_expression":
            target, value = (text_of(node.child_by_field_name(side)) for side in ("left", "right"))
            if target.startswith(f"{name}[") or (target == name and _FILLED.search(value)):
                return True
            continue
        called, given = text_of(node.child_by_field_name("function")), node.child_by_field_name("arguments")
        if re.fullmatch(rf"{name}\s*\.\s*(?:zero_|fill_|assign)", called):
            return True
        names = [first_name(argument) for argument in given.named_children] if given else []
        if name not in names:
            continue
        if _FILLS.match(called):
            if names[0] == name:
                return True
            continue
        place = names.index(name)
        for callee in file.functions_named(called.partition("<")[0].split("::")[-1]):
            if callee.is_kernel:
                is_filler = bool(_FILLER.search(callee.name)) and not may_be_product(file, callee)
            else:
                parameter = callee.parameter_names[place] if place < len(callee.parameter_names) else ""
                is_filler = (
                    bool(parameter)
                    and levels > 1
                    and _is_filled_in(file, callee, parameter, None, levels - 1)
                )
            if is_filler:
                return True
    return False


def cleared_by(function: Function, name: str, before: Node) -> Node | None:
    """Return the cudaMemset that alone stores to the memory behind a pointer before a statement.

    None if something else may, or if the call does not begin at the pointer itself.
    """
    found: list[Node] = []
    for node in all_of(function.node, "call_expression", "assignment_expression"):
        if node.end_byte > before.start_byte:
            continue
        if node.type == "assignment_expression":
            if first_name(node) == name:
                return None
            continue
        given = node.child_by_field_name("arguments")
        called = text_of(node.child_by_field_name("function"))
        arguments = given.named_children if given else []
        if name in map(first_name, arguments) and not _ALLOCATES.match(called):
            found.append(node)
            if not _CLEARS.fullmatch(called) or text_of(without_casts(arguments[0])) != name:
                return None
    return found[0] if len(found) == 1 else None


def is_from_elsewhere(file: SourceFile, function: Function, name: str, levels: int = MOST_CALLERS) -> bool:
    """Return whether a function gets a pointer from a caller that the file does not contain."""
    if levels <= 0 or name not in function.parameter_names:
        return False
    callers = callers_of(file, function, name)
    return not callers or any(
        is_from_elsewhere(file, caller, first_name(argument), levels - 1) for caller, argument in callers
    )


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
