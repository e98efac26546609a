"""Small changes of a kernel's text, each of which undoes one usual mistake in an index.

If the changed kernel computes the right product, the mistake is proven. All changes of a kernel are compiled
as one program, in which the variable `SELECTED` chooses the change that a launch has.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from tree_sitter import Node

from cudamm.source.c_definitions import Function, function_of_node, source_file
from cudamm.source.c_numbers import number_in
from cudamm.source.c_text import dynamic_arrays_in, function_of, shared_arrays_in, without_comments
from cudamm.source.changed_expression import (
    KernelChange,
    Site,
    base_of,
    counters_at,
    grouped,
    replaced,
    sign_of,
    terms_of,
)
from cudamm.source.exchanged_indices import exchanged_indices
from cudamm.source.kernel_parameters import members_of_structs
from cudamm.source.launch_roles import SMALLEST_SIZE
from cudamm.source.missing_terms import (
    Part,
    also_in_conditions,
    bounds_of,
    guards_of_tile_loads,
    missing_bounds,
    parts_of_index,
    unguarded_loads,
    unguarded_stores,
    with_parentheses,
)
from cudamm.source.parsed_source import (
    all_of,
    ancestors,
    declared_name,
    file_and_line_of,
    is_inside,
    parsed,
    text_of,
)
from cudamm.source.program_values import template_parameters
from cudamm.source.register_tile_changes import exchanged_counters, factors_of, other_orders_of_elements
from cudamm.source.sums_in_loops import LOOPS, is_zero, sums_before_loops
from cudamm.source.tile_loads import loads_of_whole_tiles
from cudamm.source.vector_changes import (
    elements_of_members,
    exchanged_elements,
    exchanged_members,
    missing_members,
    wrong_members,
)

SELECTED = "cudamm_selected_change"
"""Name of the variable with the number of the selected change, from 1; 0 selects the kernel as it is."""

TAKEN_TWICE = "one part of the thread's index is taken twice"
"""Beginning of the mistake of two quotients, or two remainders, where one of each is needed."""

_AT_LOWER_LEVEL = '#pragma GCC optimize("O1")'
"""The first line of a text with all changes.

Some changes have undefined behaviour, such as a division by 0. At its higher levels GCC concludes that they
are never selected, and the kernel crashes with others.
"""

MOST_CHANGES = 1000
"""Maximum number of changes of one kernel that are tried."""

MOST_TILES = 6
"""Maximum number of extents of tiles that are tried in one function."""

NO_ZERO = "no 0 is written"
"""Beginning of the mistake of a tile whose elements beyond the matrix are never written."""

ENDS_TOO_EARLY = "the sums end too early, as"
"""Beginning of the mistake of a loop over `K / TILE` tiles, or over a part of K."""

OF_BYTES = "of bytes"
"""Part of the mistake of a number of bytes that is used as one of elements."""

OTHER_CONDITION = "the condition has the wrong"
"""Beginning of the mistake of a condition on another variable or size."""

ONCE_TOO_OFTEN = "once too often"
"""End of the mistake of an index with a factor that it should not have."""

STEP_OF_GRID = "the step of the loop is"
"""Beginning of the mistake of a loop in which all blocks share the work."""

TWO_INDICES, TWO_VARIABLES = "the two indices of", "two variables are swapped"
WRONG_SIZE = "the wrong size is used"
"""Beginnings of mistakes that can be undone where an array is written, and where it is read."""

_AXES = ("x", "y")
_STRUCTS = ("struct_specifier", "class_specifier")
_SIZE_MEMBER = re.compile(r"width|height|stride|pitch|ld|rows?|cols?|columns|[mnkMNK]", re.IGNORECASE)


WRONG_ROW_LENGTH = "wrong row length"
"""Beginning of a mistake in the factor of a row's number."""


def kernel_changes(
    text: str, entry: str, constants: Iterable[str], shared_elements: int
) -> list[KernelChange]:
    """Return the changes of a kernel and of the device functions that it calls, the likeliest first.

    Args:
        text: source of a program.
        entry: the kernel, as a program names it.
        constants: sizes of the matrices: names of constants and macros, and numbers in the kernel.
        shared_elements: number of elements of the dynamic shared memory of a launch.
    """
    found: list[KernelChange] = []
    for function in _functions_of(text, entry):
        changes = _Changes(text, function, tuple(constants), shared_elements)
        found += filter(changes.are_names_visible, changes.all())
    ordered = sorted(found, key=lambda change: change.rank)
    different = {change.edits: change for change in reversed(ordered)}
    return [change for change in ordered if different[change.edits] is change][:MOST_CHANGES]


def _functions_of(text: str, entry: str) -> list[Function]:
    """Return a kernel and the device functions that it calls; empty if the text has no such kernel."""
    definitions = [function_of_node(node) for node in all_of(parsed(text), "function_definition")]
    kernel = next((f for f in definitions if f.name == function_of(entry) and f.is_kernel), None)
    if kernel is None:
        return []
    body = text_of(kernel.node)
    called = [f for f in definitions if "__device__" in f.head and re.search(rf"\b{f.name}\b\s*[<(]", body)]
    return [kernel, *called]


def changes_of_unrolled_loops(text: str, entry: str, constants: Iterable[str]) -> Iterator[KernelChange]:
    """Yield each loop that takes several terms at once with the terms that remain at the end.

    It changes whole products, whose indices other changes replace, so each is tried in a program of its own.

    Args:
        constants: as for `kernel_changes`.
    """
    for function in _functions_of(text, entry):
        yield from _Changes(text, function, tuple(constants), 0).with_rests()


def changes_of_missing_returns(text: str, entry: str) -> Iterator[KernelChange]:
    """Yield each device function that may end without a result, with a 0 returned there."""
    for function in _functions_of(text, entry):
        body = function.node.child_by_field_name("body")
        last = body.named_children[-1:] if body else []
        is_void = text_of(function.node.child_by_field_name("type")) == "void"
        if body and not is_void and not any(node.type == "return_statement" for node in last):
            end = body.end_byte
            file, line = file_and_line_of(body.children[-1])
            yield KernelChange(
                f"the function {function.name} ends here without a return, so that its result is not set",
                "let it return a value in every case, such as return 0 outside of the matrix", "",
                file, line, ((end - 1, end, "return {}; }"),), 0,
            )  # fmt: skip


def changes_of_clamped_loads(text: str, entry: str, constants: Iterable[str]) -> Iterator[KernelChange]:
    """Yield each load of a tile at `min(k, K - 1)`, which takes the last element again, with a 0 beyond K.

    It replaces whole loads, whose indices other changes replace, so each is tried in a program of its own.

    Args:
        constants: as for `kernel_changes`.
    """
    for function in _functions_of(text, entry):
        yield from _Changes(text, function, tuple(constants), 0).with_zeros()


def changes_of_guards(text: str, entry: str, constants: Iterable[str]) -> Iterator[KernelChange]:
    """Yield the loads of tiles with guards of their own rows and columns, for those of C's element.

    It replaces whole loads, whose indices other changes replace, so it is tried in a program of its own.

    Args:
        constants: as for `kernel_changes`.
    """
    for function in _functions_of(text, entry):
        yield from _Changes(text, function, tuple(constants), 0).with_own_guards()


def changes_of_numbers(text: str, sizes: Iterable[int]) -> Iterator[KernelChange]:
    """Yield each number of a text that is no size of the program, with a size in all its places.

    Args:
        sizes: those of the program, of a kernel that is for these sizes alone.
    """
    places: dict[str, list[Node]] = {}
    for node in all_of(parsed(text), "number_literal", "preproc_arg"):
        if text_of(node).isdigit():
            places.setdefault(text_of(node), []).append(node)
    for number, size in itertools.product(places, dict.fromkeys(sizes)):
        if SMALLEST_SIZE <= int(number) != size:
            nodes = places[number]
            lines = sorted({file_and_line_of(node)[1] for node in nodes})
            where = f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"
            yield KernelChange(
                f"the number {number} in the kernel is no size of the matrices, and the product is right "
                f"with {size}",
                f"write {size} for {number} in {where}, or pass the size to the kernel", "",
                *file_and_line_of(nodes[0]),
                tuple((node.start_byte, node.end_byte, str(size)) for node in nodes), 0, True,
            )  # fmt: skip


def changes_of_types(text: str, entry: str, element: str) -> Iterator[KernelChange]:
    """Yield each declaration with a type of less precision than the matrices have, and all of these at once.

    Args:
        element: the type of the matrices' elements, such as `double`.
    """
    found: list[tuple[str, Node]] = []  # what is declared, and the type
    for function in _functions_of(text, entry):
        for node in all_of(function.node, "declaration", "parameter_declaration", "function_definition"):
            c_type, declarators = node.child_by_field_name("type"), node.children_by_field_name("declarator")
            is_passed = node.type == "parameter_declaration" and function.is_kernel
            is_less = c_type is not None and text_of(c_type) in _LESS_PRECISE.get(element, ())
            if c_type is not None and is_less and not is_passed and declarators:
                found.append((" and ".join(map(declared_name, declarators)), c_type))
    for chosen in [*([each] for each in found[:MOST_TILES]), *([found] if len(found) > 1 else [])]:
        names, less = " and ".join(name for name, _ in chosen), text_of(chosen[0][1])
        lines = sorted({file_and_line_of(c_type)[1] for _, c_type in chosen})
        also = f" in lines {' and '.join(map(str, lines))}" if len(lines) > 1 else ""
        yield KernelChange(
            f"numbers are rounded to {less}, the type of {names}, and the matrices are {element}",
            f"declare {names} as {element}{also}", "", *file_and_line_of(chosen[0][1]),
            tuple((c_type.start_byte, c_type.end_byte, element) for _, c_type in chosen), 0, True,
        )  # fmt: skip


def changes_of_shared_sums(text: str, entry: str) -> Iterator[KernelChange]:
    """Yield each sum of a block, such as `__shared__ float sum`, as one of each thread: `float sum`."""
    for function in _functions_of(text, entry):
        assigned = list(all_of(function.node, "assignment_expression"))
        sums = {
            _base_of_sum(left)
            for n in assigned
            if sign_of(n) == "+=" and (left := n.child_by_field_name("left"))
        }
        for node in all_of(function.node, "declaration"):
            names = [declared_name(each) for each in node.children_by_field_name("declarator")]
            keyword = re.search(r"\b__shared__\s*", text_of(node))
            if keyword is None or not set(names) <= sums:
                continue
            start = node.start_byte + len(text_of(node)[: keyword.start()].encode())
            own = re.sub(r"\s+", " ", text_of(node).replace(keyword[0], "", 1)).rstrip(";")
            yield KernelChange(
                f"all threads of a block add to one {' and one '.join(names)}, which is declared __shared__",
                f"let each thread have its own: {own}, without __shared__", names[0], *file_and_line_of(node),
                ((start, start + len(keyword[0]), ""),), 0,
            )  # fmt: skip


def changes_of_sums_in_loops(text: str, entry: str) -> Iterator[KernelChange]:
    """Yield each loop that sets its sums to 0 again in each step, with the sums set to 0 once before it."""
    for function in _functions_of(text, entry):
        yield from _Changes(text, function, (), 0).with_sums_before_loops()


def changes_of_tile_loads(
    text: str, entry: str, extents_of: Callable[[str], tuple[int, ...]], block: tuple[int, int]
) -> Iterator[KernelChange]:
    """Yield the loads of tiles with loops for the elements that the threads of a block leave.

    Args:
        extents_of: returns the extents of a shared array; empty if they are not known.
        block: the threads of a block along x and y.
    """
    for function in _functions_of(text, entry):
        yield from _Changes(text, function, (), 0).with_whole_tiles(extents_of, block)


_LESS_PRECISE = {"double": ("float", "half", "__half"), "float": ("half", "__half", "__nv_bfloat16")}
"""Types with less precision than an element type has, by the element type."""


def axes_of_threads(text: str, entry: str) -> set[str]:
    """Return the axes of threadIdx that a kernel uses: x, y and z; all if it also counts in another way."""
    return _axes_of("thread", text, entry)


def axes_of_blocks(text: str, entry: str) -> set[str]:
    """Return the axes of blockIdx that a kernel uses, as `axes_of_threads` does."""
    return _axes_of("block", text, entry)


def _axes_of(kind: str, text: str, entry: str) -> set[str]:
    functions = [text_of(function.node) for function in _functions_of(text, entry)]
    macros = re.findall(r"^[ \t]*#[ \t]*define\b(?:.*\\\n)*.*", text, re.MULTILINE)
    code = without_comments("\n".join((*functions, *macros)))
    if re.search(rf"\b{kind}_(?:rank|index)\b|\b{kind}Idx\b(?!\s*\.)", code):
        return {"x", "y", "z"}
    return set(re.findall(rf"\b{kind}Idx\s*\.\s*([xyz])\b", code))


def vector_of_quotient(text: str, entry: str, change: KernelChange) -> str | None:
    """Return the type of vectors whose number of elements a changed expression divides by, as in `K / 4`.

    None if the kernel has no vectors with so many elements.
    """
    start, end, _ = change.edits[0]
    divisors = re.findall(r"/\s*(\w+)", text.encode()[start:end].decode())
    for function in _functions_of(text, entry):
        vectors = {found[1]: found[0] for found in _VECTOR.finditer(text_of(function.node))}
        for divisor in divisors:
            if (number := str(number_in(text, divisor))) in vectors:
                return vectors[number]
    return None


def parts_of_sizes(text: str, entry: str) -> dict[str, int]:
    """Return what divides a size in a kernel that uses blockIdx.z, as in `K / SPLIT`, with its value."""
    found: dict[str, int] = {}
    for function in _functions_of(text, entry):
        body = function.node.child_by_field_name("body")
        if body is None or not re.search(r"\bblockIdx\s*\.\s*z\b", text_of(body)):
            continue
        for node in all_of(body, "binary_expression"):
            divisor = text_of(node.child_by_field_name("right")) if sign_of(node) == "/" else ""
            value = number_in(text, divisor) if _NAME.fullmatch(divisor) else None
            if value is not None and value > 1:
                found[divisor] = value
    return found


def changes_of_macros(text: str, entry: str) -> Iterator[KernelChange]:
    """Yield each macro with the parentheses that it lacks, and each index in one with another row length.

    A macro cannot choose among changes, so each of these is tried in a program of its own.
    """
    kernel = next(iter(_functions_of(text, entry)), None)
    sizes = [
        name
        for name, parameter in zip(kernel.parameter_names, kernel.parameters, strict=True)
        if not any(all_of(parameter, "pointer_declarator", "array_declarator"))
    ] if kernel else []  # fmt: skip
    for node in all_of(parsed(text), "preproc_def", "preproc_function_def"):
        value, name = node.child_by_field_name("value"), text_of(node.child_by_field_name("name"))
        parameters, old = text_of(node.child_by_field_name("parameters")), text_of(value).strip()
        if value is None:
            continue
        for size, other in itertools.permutations(sizes if "[" in old else (), 2):
            if re.search(rf"\b{size}\b", old):
                new = re.sub(rf"\b{size}\b", other, old)
                yield KernelChange(
                    f"wrong row length in the macro {name}: {old} instead of {new}",
                    f"write #define {name}{parameters} {new}", "", *file_and_line_of(node),
                    ((value.start_byte, value.end_byte, new),), 0,
                )  # fmt: skip
        if not _ARITHMETIC.fullmatch(old):
            continue
        names = "|".join(re.findall(r"\w+", parameters)) or r"(?!)"
        new = re.sub(rf"(?<![\w.])({names})\b", r"(\1)", old)
        new = re.sub(rf"\(\(({names})\)\)", r"(\1)", new)
        if not (_is_enclosed(new) or re.fullmatch(r"\w+\[[^\[\]]*\]", new)):
            new = f"({new})"
        if new != old:
            yield KernelChange(
                f"the macro {name} lacks parentheses around its value or its parameters, so that operators "
                "beside it and in its arguments take only a part of it",
                f"write #define {name}{parameters} {new}", "", *file_and_line_of(node),
                ((value.start_byte, value.end_byte, new),), 0,
            )  # fmt: skip


def changes_of_extents(text: str, entry: str) -> Iterator[KernelChange]:
    """Yield each array with its two extents swapped, and with the extent of a tile in place of one.

    An extent is no expression that a launch can choose, so each of these is tried in a program of its own. Of
    several extents with one value, that is the one which the array's indices and their loops use.
    """
    for function in _functions_of(text, entry):
        yield from _Changes(text, function, (), 0).of_extents()


def _is_sum_of_products(value: Node) -> bool:
    """Return whether an expression is `a * b`, or `a.x * b.x + a.y * b.y`."""
    return all(sign_of(term) == "*" for term in terms_of(value))


def _outermost_array(node: Node) -> Node:
    """Return the declarator of `b[8][16]` for that of `b[8]` in it."""
    while node.parent is not None and node.parent.type == "array_declarator":
        node = node.parent
    return node


_ARITHMETIC = re.compile(r"(?=.*[-+*/%])[-\w\s()\[\]+*/%.,]+")
"""The value of a macro with an operator, such as `(i) * ld + j` or `A[(i) * N + (j)]`."""


def _is_enclosed(text: str) -> bool:
    """Return whether one pair of parentheses encloses a text."""
    depths = list(itertools.accumulate({"(": 1, ")": -1}.get(character, 0) for character in text))
    return text.startswith("(") and text.endswith(")") and 0 not in depths[:-1]


def template_values(text: str, entry: str) -> dict[str, str]:
    """Return the template arguments of a kernel such as `gemm<float, 16>`, by the names of its parameters."""
    definitions = map(function_of_node, all_of(parsed(text), "function_definition"))
    kernel = next((f for f in definitions if f.name == function_of(entry) and f.is_kernel), None)
    given = entry.partition("<")[2].rpartition(">")[0].split(",")
    return dict(zip(template_parameters(kernel), map(str.strip, given), strict=False)) if kernel else {}


def sums_per_thread(text: str, entry: str) -> dict[str, int]:
    """Return what may be the number of sums of a thread, each a number or a name, with its value."""
    definitions = map(function_of_node, all_of(parsed(text), "function_definition"))
    kernel = next((f for f in definitions if f.name == function_of(entry) and f.is_kernel), None)
    if kernel is None:
        return {}
    arguments = template_values(text, entry)
    values = {
        name: number_in(text, arguments.get(name, name))
        for name in _Changes(text, kernel, (), 0).of_sums_per_thread
    }
    return {name: value for name, value in values.items() if value is not None}


LOADS_FOR_OTHERS = (
    "threads beyond the edge of C load elements for the others, so guard each load by the row and the column "
    "that it reads, with 0 beyond the edge"
)
"""What a kernel with tiles has to do at the edge of C."""


def why_barrier_is_missed(text: str, file: str, line: int) -> tuple[str, str, int] | None:
    """Return why not all threads of a block reach a barrier, what to do, and the line of the cause.

    Args:
        file, line: place of the barrier, with the file as in `#line`.

    Returns:
        None if it is not known: one early return, or one `if` around the barrier, has to be the only place at
        which threads of one block part before it.
    """
    calls = (node for node in all_of(parsed(text), "call_expression") if "sync" in text_of(node))
    barrier = next((node for node in calls if file_and_line_of(node) == (file, line)), None)
    around = [] if barrier is None else list(ancestors(barrier))
    kernel = next((node for node in around if node.type == "function_definition"), None)
    if barrier is None or kernel is None or not function_of_node(kernel).is_kernel:
        return None
    code = _Changes(text, function_of_node(kernel), (), 0)
    loops = [node for node in around if node.type in ("for_statement", "while_statement", "do_statement")]
    returns = list(all_of(kernel, "return_statement"))
    early = [node for node in returns if node.start_byte < barrier.start_byte]
    bodies = [loop.child_by_field_name("body") for loop in loops]
    headers = [part for loop in loops for part in loop.named_children if part not in bodies]
    jumps = any(any(all_of(loop, "break_statement", "continue_statement")) for loop in loops)
    if jumps or (loops and early != returns) or any(map(code.depends_on_thread, headers)):
        return None
    conditions = [
        node
        for node in around
        if node.type == "if_statement"
        and code.depends_on_thread(node.child_by_field_name("condition") or node)
    ]
    if len(early) + len(conditions) != 1:
        return None
    (cause,) = (*early, *conditions)
    place = file_and_line_of(cause)[1]
    if early:
        why = f"the return in line {place} ends threads of a block before the barrier in line {line}"
        cure = "keep the threads until after the last barrier: guard the loads and the store instead"
        branch = next((node for node in ancestors(cause) if node.type == "if_statement"), None)
    else:
        part = "else" if any(node.type == "else_clause" and node.parent == cause for node in around) else "if"
        of = "else of the if" if part == "else" else "if"
        why = (
            f"the barrier in line {line} is inside the {of} of line {place}, which some threads do not enter"
        )
        cure = f"move the barrier out of the {part}, and leave only loads, sums and stores inside"
        branch = cause
    if branch is not None and _leaves_out_loads_of_edge(branch, kernel, text, in_branch=not early):
        kept = "keep the threads until after the last barrier" if early else "end the if before the barrier"
        cure = f"{kept}: {LOADS_FOR_OTHERS}, and guard the store"
    return why, cure, place


def if_around_loads_of(text: str, array: str) -> int | None:
    """Return the line of the `if` that only threads within C enter, and that has all stores to a tile in it.

    Threads beyond the edge of C then store nothing, also where others need their elements.
    """
    stores = list(_stores_to(parsed(text), {array}))
    around = [
        [
            node
            for node in ancestors(store)
            if node.type == "if_statement"
            and node.child_by_field_name("alternative") is None
            and _is_edge_of_c(node)
        ]
        for store in stores
    ]
    lines = {file_and_line_of(nodes[0])[1] for nodes in around if nodes}
    return lines.pop() if stores and all(around) and len(lines) == 1 else None


def _leaves_out_loads_of_edge(branch: Node, kernel: Node, text: str, *, in_branch: bool) -> bool:
    """Return whether an `if` is for threads within C, so that the others load no element of a tile.

    Args:
        in_branch: the loads are in the `if`; else a return in it ends the threads before they load.
    """
    tiles = shared_arrays_in(text) | set(dynamic_arrays_in(text))
    stores = _stores_to(branch if in_branch else kernel, tiles)
    return _is_edge_of_c(branch) and next(stores, None) is not None


def _is_edge_of_c(branch: Node) -> bool:
    """Return whether a condition has a size and no counter of a loop: `row < M`, and not `k0 + x < K`."""
    condition = branch.child_by_field_name("condition")
    names = {text_of(name) for name in all_of(condition, "identifier")} if condition else set()
    function = next((node for node in ancestors(branch) if node.type == "function_definition"), None)
    parameters = function_of_node(function).parameters if function else ()
    sizes = {declared_name(each.child_by_field_name("declarator")) for each in parameters}
    return bool(names & sizes) and names.isdisjoint(counters_at(branch))


def _stores_to(node: Node, arrays: Collection[str]) -> Iterator[Node]:
    """Yield the assignments to elements of arrays."""
    for each in all_of(node, "assignment_expression"):
        target = each.child_by_field_name("left")
        is_element = target is not None and target.type == "subscript_expression"
        if is_element and text_of(next(all_of(each, "identifier"), None)) in arrays:
            yield each


def is_for_one_warp(text: str, file: str, line: int) -> bool:
    """Return whether `if (tid < 32)` or the like is around a line, or around a call that leads there.

    Args:
        file, line: place of a statement, with the file as in `#line`.
    """
    functions = [f for f in map(function_of_node, all_of(parsed(text), "function_definition")) if f.name]
    seen: set[str] = set()
    while True:
        statements = all_of(parsed(text), "expression_statement", "declaration")
        found = next((node for node in statements if file_and_line_of(node) == (file, line)), None)
        around = [] if found is None else list(ancestors(found))
        conditions = [n.child_by_field_name("condition") for n in around if n.type == "if_statement"]
        if any(_OF_ONE_WARP.search(text_of(condition)) for condition in conditions):
            return True
        inside = next((f for f in functions if f.node in around and f.name not in seen), None)
        if inside is None or inside.is_kernel:
            return False
        seen.add(inside.name)
        calls = all_of(parsed(text), "call_expression")
        call = next(
            (n for n in calls if function_of(text_of(n.child_by_field_name("function"))) == inside.name), None
        )
        if call is None:
            return False
        file, line = file_and_line_of(call)


_OF_ONE_WARP = re.compile(
    r"^\(\s*[\w.]+\s*(?:<\s*(?:32|16|8|4|2|warpSize|WARP\w*)|<=\s*(?:31|15|7|3|1))\s*\)$"
)
"""A condition that leaves threads of one warp."""


def with_all_barriers(text: str, entry: str) -> str:
    """Return the text with a barrier after each statement that all threads of a kernel execute."""
    kernels = [f for f in map(function_of_node, all_of(parsed(text), "function_definition")) if f.is_kernel]
    body = next((f.node.child_by_field_name("body") for f in kernels if f.name == function_of(entry)), None)
    edits: dict[tuple[int, int], str] = {}
    for statement in all_of(body, "expression_statement", "declaration") if body else ():
        around = [node.type for node in ancestors(statement) if is_inside(node, body)] if body else []
        if around[0] == "compound_statement" and {*around} <= {"compound_statement", *LOOPS}:
            edits[statement.end_byte, statement.end_byte] = " __syncthreads();"
    return _edited(text, edits)


ADDED_BARRIER = "__syncthreads() ; "
"""A barrier that cudamm puts into a kernel, with a space by which it can be found."""


def with_barriers(
    text: str, file: str, places: Iterable[tuple[int, int, bool]], *, is_innermost: bool
) -> str | None:
    """Return the text with further barriers; line numbers stay the same.

    Args:
        file: the file of the lines, as in `#line`.
        places: for each barrier the line after which it has to be, the line before which it has to be, and
            whether the second line is one of the next iteration.
        is_innermost: put it directly before the second line; otherwise outside of loops and conditions in
            which only the second line is.

    Returns:
        None if there is no place for one of them.
    """
    edits = {}
    for after, before, is_next_iteration in places:
        first, second = _around(text, file, after), _around(text, file, before)
        if is_next_iteration:
            loop = _loop_around(first, second)
            body = loop.child_by_field_name("body") if loop else None
            if body is None:
                return None
            place = body.end_byte - 1
            if body.type != "compound_statement":  # one statement without braces
                edits[body.start_byte, body.start_byte] = "{ "
                edits[body.end_byte, body.end_byte] = f" {ADDED_BARRIER}}}"
                continue
        else:
            inside = itertools.pairwise(second)
            here = [
                n
                for n, outer in inside
                if outer.type == "compound_statement" and (is_innermost or outer in first)
            ]
            if not here or here[0] in first:
                return None
            place = here[0].start_byte
        edits[place, place] = ADDED_BARRIER
    return _edited(text, edits)


def with_values_of_locals(text: str, file: str, variables: Collection[tuple[int, str]]) -> str | None:
    """Return the text with zeros for local variables; line numbers stay the same.

    Args:
        file: the file of the lines, as in `#line`.
        variables: the line that declares each variable without a value, and its name.

    Returns:
        None if a line declares no such variable.
    """
    edits = {
        (node.end_byte, node.end_byte): " = {}"
        for declaration in all_of(parsed(text), "declaration")
        for node in declaration.children_by_field_name("declarator")
        if node.type in ("identifier", "array_declarator")
        and file_and_line_of(node)[0] == file
        and (file_and_line_of(node)[1], declared_name(node)) in variables
    }
    return _edited(text, edits) if len(edits) == len(variables) else None


def _around(text: str, file: str, line: int) -> list[Node]:
    """Return the last statement of a line, and what is around it, the innermost first."""
    statements = all_of(parsed(text), "expression_statement", "declaration", "return_statement")
    found = [
        node
        for node in statements
        if file_and_line_of(node)[0] == file
        and 0 <= line - file_and_line_of(node)[1] <= node.end_point[0] - node.start_point[0]
    ]
    return [found[-1], *ancestors(found[-1])] if found else []


def _loop_around(first: Sequence[Node], second: Collection[Node]) -> Node | None:
    loops = (n for n in first if n in second and n.type in ("for_statement", "while_statement"))
    return next(loops, None)


def line_of_loop(text: str, file: str, one: int, other: int) -> int:
    """Return the line of the innermost loop around two lines of a file; 0 if there is none."""
    loop = _loop_around(_around(text, file, one), _around(text, file, other))
    return file_and_line_of(loop)[1] if loop else 0


def end_of_inner_loop(text: str, file: str, line: int, loop: int) -> int:
    """Return the last line of the outermost loop that is around a line, and inside the loop of another line.

    Returns:
        The line itself if there is no such loop.
    """
    around = [node for node in _around(text, file, line) if node.type in ("for_statement", "while_statement")]
    inner = [*itertools.takewhile(lambda node: file_and_line_of(node)[1] != loop, around)]
    if not inner or len(inner) == len(around):
        return line
    return file_and_line_of(inner[-1])[1] + inner[-1].end_point[0] - inner[-1].start_point[0]


def with_change(text: str, change: KernelChange, changed_text: str) -> str:
    """Return the text with one change; line numbers stay the same.

    Args:
        changed_text: the text to which the change belongs. Macros before the kernel may have other values
            in it, so that only the distance from the end is the same.
    """
    shift = len(text.encode()) - len(changed_text.encode())
    edits = {
        (start + shift, end + shift): new if end > start else f"{new} + " for start, end, new in change.edits
    }
    return _edited(text, edits)


def with_all_changes(text: str, changes: Sequence[KernelChange]) -> str:
    """Return the text with all changes, of which the variable `SELECTED` selects one, counted from 1."""
    choices: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for number, change in enumerate(changes, 1):
        for start, end, new in change.edits:
            choices.setdefault((start, end), []).append((number, new))
    source, edits, tables = text.encode(), {}, ""
    for place, ((start, end), options) in enumerate(choices.items()):
        chosen = "".join(f"{SELECTED} == {number} ? ({new}) : " for number, new in options)
        kept = f"({source[start:end].decode() or 0})"
        if len(options) > 2:  # one look into a table costs less than many comparisons
            bits = sum(1 << number for number, _ in options)
            words = (bits >> 64 * word & (1 << 64) - 1 for word in range(len(changes) // 64 + 1))
            table = ", ".join(f"{word}u" for word in words)
            tables += f"static const unsigned long long {SELECTED}_at_{place}[] = {{{table}}};"
            is_here = f"{SELECTED}_at_{place}[{SELECTED} >> 6] >> ({SELECTED} & 63) & 1"
            chosen = f"!({is_here}) ? {kept} : {chosen}"
        edits[start, end] = f"({chosen}{kept}){'' if end > start else ' + '}"
    # Some changes have undefined behaviour, such as a division by 0. At its higher levels GCC concludes that
    # they are never selected, and the kernel crashes with others.
    return f'#pragma GCC optimize("O1")\nstatic int {SELECTED};{tables}\n{_edited(text, edits)}'


def without_selection(text: str) -> str:
    """Return a text with all changes, perhaps preprocessed, without the pragma and the names added to it."""
    return re.sub(rf"\b{SELECTED}\w*", "", text.replace(_AT_LOWER_LEVEL, "", 1))


def _edited(text: str, edits: Mapping[tuple[int, int], str]) -> str:
    source = text.encode()
    for (start, end), new in sorted(edits.items(), reverse=True):
        lost_lines = source[start:end].count(b"\n") - new.count("\n")
        source = source[:start] + new.encode() + b"\n" * max(0, lost_lines) + source[end:]
    return source.decode()


class _Changes:
    """The changes of one function."""

    def __init__(
        self, text: str, function: Function, constants: tuple[str, ...], shared_elements: int
    ) -> None:
        self._text, self._function = text, function
        self._body = function.node.child_by_field_name("body") or function.node
        self._shared_elements = shared_elements
        self._dynamic = set(dynamic_arrays_in(text))
        self._shared = shared_arrays_in(text) | self._dynamic
        whole, structs, pointers = [], dict[str, tuple[str, ...]](), []
        for node, name in zip(function.parameters, function.parameter_names, strict=True):
            declarator = node.child_by_field_name("declarator")
            c_type = text_of(node.child_by_field_name("type"))
            if declarator is not None and any(all_of(declarator, "pointer_declarator", "array_declarator")):
                pointers.append(name)
            elif re.search(r"\b(?:int|unsigned|long|short|s?size_t|u?int\d+_t|dim3)\b", c_type):
                whole.append(name)
            else:
                structs[name] = members_of_structs(source_file(text)).get(c_type.split(" ")[-1], ())
        members = {
            text_of(node)
            for node in all_of(self._body, "field_expression")
            if text_of(node.child_by_field_name("argument")) in structs
            and self._is_size(text_of(node), structs)
        }
        parts = all_of(function.node, "identifier", "number_literal")  # `float A[M][K]` is a parameter
        used = set(map(text_of, parts))
        of_file = [name for name in constants if name in used - set(whole)]
        alike = {x: text_of(node) for x, node in function.values.items() if text_of(node) in of_file}
        named = [*alike, *(name for name in of_file if name not in alike.values())]  # `const int w = WIDTH`
        struct = next((n for n in ancestors(function.node) if n.type in _STRUCTS), None)  # of a method
        own = members_of_structs(source_file(text)).get(
            text_of(struct.child_by_field_name("name")) if struct else "", ()
        )
        self._sizes = [*whole, *(name for name in own if "*" not in name), *sorted(members), *named]
        self._pointers = set(pointers) | {m.rpartition(".")[0] for m in members}
        self._own_functions = {f.name for f in source_file(text).functions if "__device__" in f.head}
        self._declared: dict[str, Node] = {}
        for node in all_of(self._body, "declaration"):
            for declarator in node.children_by_field_name("declarator"):
                self._declared.setdefault(declared_name(declarator), node)
        self._sites = list(self._sites_in(self._body))
        self._index_of = {
            kind: {axis: self._names_of(f"{kind}.{axis}") for axis in _AXES}
            for kind in ("threadIdx", "blockIdx")
        }
        self._varying = self._dependent_on("threadIdx", "blockIdx")
        self._of_blocks = self._dependent_on("blockIdx")
        self._of_block_alone = self._of_blocks - self._dependent_on("threadIdx")
        self._tiles = self._tile_extents()
        self._vector_extents = sorted(set(_VECTOR.findall(text_of(self._body))))
        binary = list(all_of(self._body, "binary_expression"))
        plain = [(sign_of(node), re.sub(r"\s", "", text_of(node))) for node in binary]
        self._products = {text for sign, text in plain if sign == "*"}
        self._sums = {text for sign, text in plain if sign == "+"}

    @staticmethod
    def _is_size(member: str, structs: Mapping[str, tuple[str, ...]]) -> bool:
        """Return whether `a.rows` is no pointer of the struct, or is named as a size if that is not known."""
        struct, _, name = member.rpartition(".")
        known = structs[struct]
        return name in known if known else _SIZE_MEMBER.fullmatch(name) is not None

    def all(self) -> Iterator[KernelChange]:
        """Yield the changes of all sites."""
        yield from exchanged_members(self._body, self._sites)
        yield from exchanged_elements(self._body, self._sites)
        for site in self._sites:
            for change in self._of_site(site):
                yield change
                if site.array in self._pointers:
                    yield from also_in_conditions(change, site, self._sites)
        yield from self._next_steps()
        yield from self._in_vectors()
        yield from self._in_bytes()
        yield from wrong_members(self._body)
        yield from elements_of_members(self._body, self._sites)
        yield from missing_members(self._body, self._sites)
        yield from self._orders_of_elements()
        yield from exchanged_counters(self._body, self._sites)
        yield from self._factor_in_all_places()
        yield from self._other_arguments()
        yield from self._buffer_of_calls()
        yield from self._row_and_column()
        yield from self._other_buffer()
        yield from self._of_outer_sums()
        yield from self._swapped_indices()
        yield from self._exchanged_indices()
        yield from self._without_comma()
        yield from self._swapped_everywhere()
        yield from self._swapped_in_matrices()
        yield from self._in_all_conditions()
        yield from self._other_size_of_quotients()
        yield from self._with_guards()
        yield from self._row_lengths_of_two()
        yield from self._exchanged_values()
        yield from self._second_shared_array()
        yield from self._of_loops()
        yield from self._of_sums()
        yield from self._zero_before_load()

    def _of_site(self, site: Site) -> Iterator[KernelChange]:
        """Yield the changes of one site."""
        yield from self._other_sizes(site)
        yield from self._other_tiles(site)
        yield from self._with_tile(site)
        yield from self._with_factor_of_block(site)
        yield from self._with_second_factor(site)
        yield from self._with_other_index(site)
        yield from self._other_divisor(site)
        yield from self._other_dividend(site)
        yield from self._quotient_for_remainder(site)
        yield from self._number_of_threads(site)
        yield from self._rounded_up(site)
        yield from self._not_lessened(site)
        yield from self._end_of_part(site)
        yield from self._without_factor(site)
        yield from self._swapped_axes(site)
        yield from self._one_less(site)
        yield from self._other_variable(site)
        yield from self._with_whole_index(site)
        yield from self._without_conjunct(site)
        yield from self._with_missing_bound(site)
        yield from self._with_missing_end(site)
        yield from self._with_missing_factor(site)
        yield from self._other_order(site)
        yield from self._with_factor(site)
        yield from self._with_counter(site)
        yield from self._of_other_thread(site)
        yield from self._with_thread(site)
        yield from self._of_no_thread(site)
        yield from self._other_axis_of_block(site)
        yield from self._lacking_term(site)
        yield from self._as_elsewhere(site)
        yield from self._without_parentheses(site)
        yield from self._step_of_pointer(site)
        yield from self._next_step(site)
        yield from self._other_literal(site)
        yield from self._counter_for_literal(site)
        yield from self._part_of_size(site)

    # The expressions that changes replace.

    def _sites_in(self, node: Node) -> Iterator[Site]:
        if node.type == "subscript_expression":
            indices = node.child_by_field_name("indices")
            argument = node.child_by_field_name("argument")
            given = indices.named_children if indices else []
            if len(given) == 1:
                yield Site(given[0], _outermost(node), base_of(node), "index")
            if argument is not None:
                yield from self._sum_of_pointer(argument, _outermost(node)) or self._sites_in(argument)
            return
        if node.type in ("init_declarator", "assignment_expression"):
            yield from self._sites_of_value(node)
            return
        if node.type in ("lambda_expression", "template_argument_list", "attribute_declaration"):
            return
        is_comparison = node.type == "binary_expression" and sign_of(node) in ("<", "<=", ">", ">=")
        if is_comparison and not any(
            all_of(node, "subscript_expression", "assignment_expression", "update_expression")
        ):
            yield Site(node, node, "", "condition")
            return
        if node.type == "pointer_expression" and text_of(node).startswith("*"):
            argument = node.child_by_field_name("argument")
            if argument is not None and (found := self._sum_of_pointer(argument, node)):
                yield from found
                return
        if node.type == "argument_list":
            for argument in node.named_children:
                if argument.type in ("binary_expression", "identifier") and not _has_subscript(argument):
                    names = {text_of(n) for n in all_of(argument, "identifier", "field_expression")}
                    around = argument.parent.parent if argument.parent else None
                    if around is not None and self._is_call_of_own(around) and not names & self._pointers:
                        yield Site(argument, around, "", "argument")
                        continue
                    if around is not None and names & {*self._sizes, "threadIdx.x", "threadIdx.y"}:
                        pointers = [n for n in sorted(names) if n in self._pointers]
                        yield Site(argument, around, pointers[0] if pointers else "", "argument")
                        continue
                yield from self._sites_in(argument)
            return
        is_result = node.type == "return_statement" and not self._function.is_kernel  # such as an index
        if is_result and not _has_subscript(node) and node.named_children[:1]:
            yield Site(node.named_children[0], node, "", "value")
        for child in node.named_children:
            yield from self._sites_in(child)

    def _is_call_of_own(self, node: Node) -> bool:
        """Return whether a call is one of a device function of the file, `load(k)` or `tile.load<16>(k)`."""
        name = re.search(r"(\w+)\s*(?:<.*>)?$", text_of(node.child_by_field_name("function")))
        return name is not None and name[1] in self._own_functions

    def _sum_of_pointer(self, node: Node, whole: Node) -> list[Site]:
        """Return the sum of a pointer and an index, `A + row * K` of `(float4 *)(A + row * K)`."""
        inner: Node | None = node
        while inner is not None and inner.type in ("parenthesized_expression", "cast_expression"):
            inner = inner.named_children[-1] if inner.named_children else None
        if inner is None or inner.type != "binary_expression" or _has_subscript(inner):
            return []
        pointers = [n for n in map(text_of, all_of(inner, "identifier")) if n in self._pointers]
        return [Site(inner, whole, pointers[0] if pointers else "", "index")]

    def _sites_of_value(self, node: Node) -> Iterator[Site]:
        """Yield the sites in the declaration of one variable, or in an assignment."""
        is_declared = node.type == "init_declarator"
        value = node.child_by_field_name("value" if is_declared else "right")
        target = node.child_by_field_name("declarator" if is_declared else "left")
        if target is not None and not is_declared:
            yield from self._sites_in(target)
        if value is None:
            return
        declaration = text_of(node.parent).partition("=")[0] if is_declared else ""
        name = declared_name(target) if is_declared else text_of(target)
        is_condition = sign_of(value) in _TRUTHS  # `bool inside = row < M && col < N`
        kept = re.search(r"\bconstexpr\b|\bstatic\b|__shared__|&", declaration)
        if is_condition or kept or _has_subscript(value):
            yield from self._sites_in(value)
        elif value.type in (
            "binary_expression",
            "identifier",
            "field_expression",
            "parenthesized_expression",
        ) or (value.type == "number_literal" and self._points(name)):
            yield Site(value, node, name if self._points(name) else "", "value")
        else:
            yield from self._sites_in(value)

    def _points(self, name: str) -> bool:
        """Return whether a variable is a pointer."""
        declared = self._declared.get(name)
        return name in self._pointers or (
            declared is not None
            and any(declared_name(node) == name for node in all_of(declared, "pointer_declarator"))
        )

    def _tile_extents(self) -> list[str]:
        """Return what may be the extent of a tile: the extents of shared arrays, of blocks, and loop steps.

        Template parameters, macros and constants are named, other extents are numbers.
        """
        found: dict[str, None] = {}
        for declared in all_of(self._body, "array_declarator"):
            extent = declared.child_by_field_name("size")
            if extent is not None and declared_name(declared) in self._shared:
                parts = all_of(extent, "identifier", "number_literal")
                found.update(dict.fromkeys(map(text_of, parts)))
        for product in all_of(self._body, "binary_expression"):
            sides = [text_of(product.child_by_field_name(side)) for side in ("left", "right")]
            is_of_block = any(set(sides) & set(self._index_of["blockIdx"][axis]) for axis in _AXES)
            if sign_of(product) == "*":
                named = [side for side in sides if _NAME.fullmatch(side) and not side.isdigit()]
                local = {*self._declared, *self._function.parameter_names}
                found.update(dict.fromkeys(name for name in named if is_of_block or name not in local))
                found.update(dict.fromkeys(side for side in sides if is_of_block and side.isdigit()))
        for step in self._loop_steps():
            found.update(dict.fromkeys([text_of(step)] if _NAME.fullmatch(text_of(step)) else []))
        indices = {"threadIdx", "blockIdx", *itertools.chain(*(self._index_of["blockIdx"].values()))}
        tiles = [name for name in found if name not in {*self._sizes, *indices, "1", "2"}]
        return sorted(tiles, key=lambda name: "Dim." in name)[:MOST_TILES]

    def _ends_around(self, node: Node) -> list[str]:
        """Return the variables at which the loops around an expression end, as at the end of a part of K."""
        loops = (around for around in ancestors(node) if around.type == "for_statement")
        conditions = filter(None, (loop.child_by_field_name("condition") for loop in loops))
        ends = (text_of(condition.child_by_field_name("right")) for condition in conditions)
        return [end for end in dict.fromkeys(ends) if end in self._declared and self._is_whole(end)]

    def _tiles_at(self, node: Node) -> list[str]:
        """Return the extents of tiles that can be used at a place, first those that belong to it.

        Of several extents with one value, the first is the name which its author would have written: TM for
        `threadIdx.y * TM + i` if a loop counts `i < TM`, or if another product is `threadIdx.y * TM`. Else it
        is the name that is used nearest to the place.
        """
        bounds = self._bounds_beside(node)
        named = {name for name in bounds if not name.isdigit()} - {*self._sizes, *self._tiles}
        tiles = [
            name
            for name in (*self._tiles, *sorted(named))
            if name not in self._declared or self._is_visible(name, node)
        ]
        products = {text_of(part) for part in _factors_beside(node)}

        def is_unusual(name: str) -> tuple[bool, bool, int]:
            is_elsewhere = any(
                f"{one}*{other}" in self._products
                for factor in products
                for one, other in ((factor, name), (name, factor))
            )
            return name not in bounds, not is_elsewhere, self._distance(name, node)

        return sorted(tiles, key=is_unusual)

    def _bounds_beside(self, node: Node) -> set[str]:
        """Return the names in the bounds of the counters that are added to a product with an expression."""
        around = node.parent
        while around is not None and (
            around.type == "parenthesized_expression" or sign_of(around) in ("*", "/", "%")
        ):
            node, around = around, around.parent
        if around is None or sign_of(around) != "+":
            return set()
        while around.parent is not None and sign_of(around.parent) == "+":
            around = around.parent
        added = {text_of(term) for term in terms_of(around) if not is_inside(node, term)}
        return self._bounds_of(added & set(counters_at(around)), around)

    def _bounds_of(self, counters: Collection[str], at: Node) -> set[str]:
        """Return the names and numbers in the conditions of the loops around a place that count variables."""
        found: set[str] = set()
        for loop in ancestors(at):
            condition = loop.child_by_field_name("condition") if loop.type == "for_statement" else None
            limit = condition.child_by_field_name("right") if condition is not None else None
            counted = condition.child_by_field_name("left") if condition is not None else None
            if limit is not None and text_of(counted) in counters:
                found |= set(map(text_of, all_of(limit, "identifier", "number_literal")))
        return found

    def of_extents(self) -> Iterator[KernelChange]:
        """Yield each array with its two extents swapped, and with another extent in place of one of its own.

        A local array only gets extents that its indices use.
        """
        declared = [n for n in all_of(self._body, "array_declarator") if n.child_by_field_name("size")]
        sizes = [text_of(n.child_by_field_name("size")) for n in declared]
        names = list(dict.fromkeys((*sizes, *self._tiles)))
        values = {name: number_in(self._text, name) for name in names}
        for node in declared:
            name, inner = declared_name(node), node.child_by_field_name("declarator")
            own = [
                n for each in (node, inner) if each is not None and (n := each.child_by_field_name("size"))
            ]
            if len(own) == 2 and len(set(map(text_of, own))) == 2:
                yield self._of_extents(name, node, dict(zip(own, map(text_of, own[::-1]), strict=True)))
        for node in declared:
            size, name = node.child_by_field_name("size"), declared_name(node)
            if size is None:
                continue
            used = self._used_by_extent(name, node)
            tried = {values[text_of(size)]} - {None}
            factors = [each for each in all_of(size, "identifier") if each != size]
            products = [replaced(size, {each: tile}) for each in factors for tile in self._tiles]
            counted = sorted(each for each in used if each != text_of(size) and number_in(self._text, each))
            products += [f"{text_of(size)} * {each}" for each in counted if size.type == "identifier"]
            products += [f"{one} * {other}" for one, other in itertools.combinations(counted, 2)]
            values |= {each: number_in(self._text, each) for each in products}
            by_use = sorted([*names, *products], key=lambda each: not used >= set(_NAME.findall(each)))
            for other in dict.fromkeys((*self._with_row_lengths(name), *by_use)):
                value = values[other] if other in values else number_in(self._text, other)
                is_usable = name in self._shared or (other in used and value is not None)
                if other != text_of(size) and value not in tried and is_usable:
                    tried |= {value} - {None}
                    yield self._of_extents(name, node, {size: other})

    def _with_row_lengths(self, array: str) -> Iterator[str]:
        """Yield `TILE * (TILE + PAD)` for an array with the index `ty * (TILE + PAD) + tx`."""
        for site in self._sites:
            is_index = site.array == array and site.kind == "index"
            for product in all_of(site.node, "binary_expression") if is_index else ():
                length = product.child_by_field_name("right")
                if (
                    sign_of(product) == "*"
                    and length is not None
                    and length.type == "parenthesized_expression"
                ):
                    names = (text_of(name) for name in all_of(length, "identifier"))
                    yield from (f"{name} * {text_of(length)}" for name in names)

    @staticmethod
    def _of_extents(array: str, node: Node, edits: Mapping[Node, str]) -> KernelChange:
        whole = _outermost_array(node)
        new = replaced(whole, edits)
        return KernelChange(
            f"the array {array} has the wrong size: {text_of(whole)} instead of {new}",
            f"declare {new}", array, *file_and_line_of(node),
            tuple((size.start_byte, size.end_byte, other) for size, other in edits.items()), 0,
        )  # fmt: skip

    def _used_by_extent(self, array: str, extent: Node) -> set[str]:
        """Return the names in one of an array's indices, and in the loops that count it.

        Args:
            extent: the declarator with the extent of that index: that of `b[8]` for the first of `b[8][16]`.
        """
        place = sum(1 for node in all_of(extent, "array_declarator")) - 1
        found: set[str] = set()
        for whole in {s.whole for s in self._sites if s.kind == "index" and s.array == array}:
            indices = [s.node for s in self._sites if s.whole == whole and s.kind == "index"]
            indices.sort(key=lambda node: node.start_byte)
            for index in indices[place : place + 1]:
                used = self._used_by(index)
                found |= used | self._bounds_of(used, index)
        return found

    def _distance(self, name: str, node: Node) -> int:
        """Return how many bytes are between a place and the nearest use of another name."""
        at = node.start_byte
        return min((abs(at - each) for each in self._uses_of[name]), default=at)

    @functools.cached_property
    def _uses_of(self) -> defaultdict[str, list[int]]:
        """The places in bytes in which each name is used."""
        uses: defaultdict[str, list[int]] = defaultdict(list)
        for node in all_of(self._body, "identifier"):
            uses[text_of(node)].append(node.start_byte)
        return uses

    def _loop_steps(self) -> Iterator[Node]:
        """Yield the step of each loop such as `for (…; …; t += TILE)`."""
        for loop in all_of(self._body, "for_statement"):
            update = loop.child_by_field_name("update")
            step = update.child_by_field_name("right") if update else None
            if update is not None and step is not None and sign_of(update) == "+=":
                yield step

    def _loop_variables(self) -> set[str]:
        """Return the variables that loops count."""
        found = set()
        for loop in all_of(self._body, "for_statement"):
            update = loop.child_by_field_name("update")
            found |= {text_of(node) for node in all_of(update, "identifier")} if update else set()
        return found & set(self._declared)

    def _names_of(self, value: str) -> list[str]:
        """Return what has a value such as `threadIdx.x`: the variables that are only that, and the value."""
        aliases = [
            name
            for name, node in self._function.first_values.items()
            if re.sub(r"^\((?:unsigned )?int\)|[()\s]", "", text_of(node)) == value
        ]
        return [*aliases, value]

    def _dependent_on(self, *roots: str) -> set[str]:
        """Return the variables whose values depend on the thread's or the block's index, and this."""
        found = {*roots}
        assigned = [
            (declared_name(node.child_by_field_name("declarator")), node.child_by_field_name("value"))
            for node in all_of(self._body, "init_declarator")
        ] + [
            (text_of(node.child_by_field_name("left")), node.child_by_field_name("right"))
            for node in all_of(self._body, "assignment_expression")
        ]
        before = -1
        while len(found) != before:
            before = len(found)
            for name, value in assigned:
                if value is not None and {text_of(n) for n in all_of(value, "identifier")} & found:
                    found.add(name)
        return found

    def depends_on_thread(self, node: Node) -> bool:
        """Return whether an expression depends on the thread or its block."""
        return bool({text_of(n) for n in all_of(node, "identifier")} & self._varying)

    def _is_visible(self, name: str, at: Node) -> bool:
        """Return whether a local variable is declared before a place and in a block around it."""
        declared = self._declared.get(name)
        if declared is None or declared.parent is None:
            return False
        own = (d for d in declared.children_by_field_name("declarator") if declared_name(d) == name)
        if next(own, declared).end_byte > at.start_byte:
            return False
        return declared.parent.start_byte <= at.start_byte and at.end_byte <= declared.parent.end_byte

    def are_names_visible(self, change: KernelChange) -> bool:
        """Return whether the local variables that a change names are declared where it names them."""
        for start, end, new in change.edits:
            for name in re.findall(r"(?<![\w.])[A-Za-z_]\w*", new):
                scopes = self._scopes.get(name, [(start, end)])
                if not any(first <= start and end <= last for first, last in scopes):
                    return False
        return True

    @functools.cached_property
    def _scopes(self) -> dict[str, list[tuple[int, int]]]:
        """The first and the last byte at which each local variable can be used, for each declaration."""
        found: dict[str, list[tuple[int, int]]] = {}
        for node in all_of(self._body, "declaration"):
            end = node.parent.end_byte if node.parent is not None else node.end_byte
            for declarator in node.children_by_field_name("declarator"):
                found.setdefault(declared_name(declarator), []).append((node.start_byte, end))
        return found

    # One function for each kind of change.

    def _orders_of_elements(self) -> Iterator[KernelChange]:
        """Yield `tx + j * 16` for `tx * 4 + j`, and the other way round, for the elements of a thread."""
        local = {name for name in self._declared if name not in self._shared and not self._points(name)}
        yield from other_orders_of_elements(
            self._body, self._sites, local, self._dependent_on("threadIdx"), self._dependent_on("blockIdx")
        )

    def _change(self, site: Site, new: str, mistake: str, rank: int) -> KernelChange:
        file, line = file_and_line_of(site.node)
        sentence = f"{mistake}: {site.shown(text_of(site.node))} instead of {site.shown(new)}"
        same = [site]
        if site.kind == "index" and site.array in self._pointers:  # C[i] = alpha * sum + beta * C[i]
            texts = text_of(site.whole), text_of(site.node)  # A[row][k] has two indices
            same = [
                each
                for each in self._sites
                if each.kind == "index" and (text_of(each.whole), text_of(each.node)) == texts
            ]
        edits = tuple((each.node.start_byte, each.node.end_byte, new) for each in same)
        return KernelChange(
            sentence,
            f"write {site.shown(new)}" + " in each of its places" * (len(edits) > 1),
            site.array,
            file,
            line,
            edits,
            rank,
            site.kind == "condition",
        )

    def _verb(self, site: Site) -> str:
        return "written" if _is_written(site.whole) else "read"

    def _other_sizes(self, site: Site) -> Iterator[KernelChange]:
        """Yield a site with each size replaced by each other one."""
        for node in all_of(site.node, "identifier", "field_expression"):
            name = text_of(node)
            if name not in self._sizes or (node.parent and node.parent.type == "field_expression"):
                continue
            is_factor = _is_factor(node)
            quotients = [each for each in all_of(site.node, "binary_expression") if sign_of(each) == "/"]
            divisors = [
                text_of(each.child_by_field_name("right"))
                for each in quotients
                if is_inside(node, each.named_children[0])
            ]
            if name in divisors:  # `(N + TILE - 1) / TILE` rounds up
                continue
            if site.array and (is_factor or site.kind == "argument"):
                mistake, rank = f"{WRONG_ROW_LENGTH} where {site.array} is {self._verb(site)}", 0
            elif site.kind == "condition":
                mistake, rank = f"{OTHER_CONDITION} size, {name}", 3
            else:
                mistake, rank = f"{WRONG_SIZE}, {name}", 2 if is_factor or divisors else 4
            of = name.partition(".")[0]  # the sizes of the same matrix come first: `C.width` for `C.height`
            ends = self._ends_around(site.node) if site.kind == "condition" else []
            for other in (*sorted(self._sizes, key=lambda size: size.partition(".")[0] != of), *ends):
                if other != name:
                    yield self._change(site, replaced(site.node, {node: other}), mistake, rank)

    def _other_tiles(self, site: Site) -> Iterator[KernelChange]:
        """Yield a site with the extent of a tile for a size, and with a size or another extent for it."""
        sizes = self._sizes if site.kind == "condition" or site.array not in self._shared else ()
        for node in all_of(site.node, "identifier", "field_expression", "number_literal"):
            name = text_of(node)
            is_tile, is_factor = name in self._tiles, _is_factor(node)
            if not (is_tile or name in self._sizes) or (
                node.parent and node.parent.type == "field_expression"
            ):
                continue
            mistake = f"{WRONG_SIZE}, {name}"
            if site.kind == "condition":
                mistake = f"{OTHER_CONDITION} size, {name}"
            is_in_tile = is_tile and site.array in self._shared  # `threadCol * TM` for `threadCol * TN`
            is_likely = is_factor and (is_in_tile or self._points(site.array))
            rank = (1 if is_likely else 3) + (site.array in self._pointers)
            for other in (*(sizes if is_tile else ()), *self._tiles_at(node)):
                if other != name and not _is_same_number(other, name):
                    yield self._change(site, replaced(site.node, {node: other}), mistake, rank + is_tile)

    def _with_tile(self, site: Site) -> Iterator[KernelChange]:
        """Yield a site with the extent of a tile as a factor of one term: `t * TILE + tx` for `t + tx`."""
        if site.kind == "condition":
            return
        loops = self._loop_variables()
        is_assignment = site.whole.type == "assignment_expression" and site.kind == "value"
        is_moved = is_assignment and bool(site.array) and sign_of(site.whole) == "+="
        for node in all_of(site.node, "identifier", "field_expression", "number_literal"):
            name = text_of(node)
            is_part = node.parent is not None and node.parent.type == "field_expression"
            is_given = not self._function.is_kernel and name in self._function.parameter_names
            is_index = is_given or name in self._varying or name in self._index_in_block
            is_used = name in loops or is_index if not is_moved else name in ("1", *self._sizes)
            is_divided = node.parent is not None and sign_of(node.parent) in ("/", "%")
            if is_part or not is_used or is_divided or self._points(name):
                continue
            factors = set(map(text_of, _factors_beside(node)))
            if factors & {*self._tiles, *(self._sizes if is_index and not is_given else ())}:
                continue
            rank = 1 if is_moved or name in loops else 2
            if node == site.node and not is_moved:
                rank = 4  # such as one of two indices
            # Of tiles with equal extents, the one that multiplies this index elsewhere is meant.
            tiles = sorted(self._tiles_at(node), key=lambda t: f"{name}*{t}" not in self._products)
            for tile in dict.fromkeys((*tiles, *(self._vector_extents if is_index else ()))):
                mistake = f"the factor {tile} is missing"
                if name != "1":
                    mistake = f"the factor {tile} of {name} is missing"
                if site.array:
                    mistake += f" where {site.array} is {'moved' if is_moved else self._verb(site)}"
                new = tile if name == "1" else f"{name} * {tile}"
                yield self._change(site, replaced(site.node, {node: new}), mistake, rank)
        for quotient in all_of(site.node, "binary_expression") if site.kind == "value" else ():
            parts = set(map(text_of, all_of(quotient, "identifier", "field_expression")))
            beside = {text_of(part) for part in _factors_beside(quotient) if not is_inside(part, quotient)}
            is_index = not parts.isdisjoint({*self._varying, *self._index_in_block})
            if sign_of(quotient) not in ("/", "%") or not is_index or beside & set(self._tiles):
                continue
            used = [n for n in all_of(self._body, "identifier") if text_of(n) == self._target(site)]
            bounds = set().union(*map(self._bounds_beside, used)) - {*self._sizes}  # `tc + j` with `j < TN`
            for tile in dict.fromkeys((*sorted(bounds), *self._tiles_at(quotient), *self._vector_extents)):
                new = replaced(site.node, {quotient: f"({text_of(quotient)}) * {tile}"})
                yield self._change(site, new, f"the factor {tile} of {text_of(quotient)} is missing", 2)

    def _factor_in_all_places(self) -> Iterator[KernelChange]:
        """Yield `start + c * TILE` in all places that have `start + c`, where c counts a thread's sums."""
        places: dict[tuple[str, str], list[tuple[Site, Node]]] = {}
        for site in self._sites if self.of_sums_per_thread else ():
            terms = terms_of(site.node) if site.kind in ("index", "value") else []
            is_plain = len(terms) == 2 and all(term.type == "identifier" for term in terms)
            for term in terms if is_plain else ():
                if text_of(term) in counters_at(site.node):
                    places.setdefault((text_of(site.node), text_of(term)), []).append((site, term))
        for (text, counter), found in places.items():
            for tile in self._tiles_at(found[0][1]) if len(found) > 1 else ():
                edits = tuple((term.start_byte, term.end_byte, f"{counter} * {tile}") for _, term in found)
                new = replaced(found[0][0].node, {found[0][1]: f"{counter} * {tile}"})
                lines = sorted({file_and_line_of(term)[1] for _, term in found})
                yield KernelChange(
                    f"the factor {tile} of {counter} is missing: {text} instead of {new}",
                    f"write {new} in lines {' and '.join(map(str, lines))}", "",
                    *file_and_line_of(found[0][1]), edits, 0,
                )  # fmt: skip

    def _with_factor_of_block(self, site: Site) -> Iterator[KernelChange]:
        """Yield `(blockIdx.x * TILE + threadIdx.x) * 4` for `blockIdx.x * TILE * 4 + threadIdx.x`."""
        for total in all_of(site.node, "binary_expression"):
            first, second = (total.child_by_field_name(side) for side in ("left", "right"))
            if sign_of(total) != "+" or first is None or second is None:
                continue
            for axis, (blocks, thread) in itertools.product(_AXES, ((first, second), (second, first))):
                factors = factors_of(blocks)
                names = list(map(text_of, factors))
                is_of_axis = set(names) & set(self._index_of["blockIdx"][axis])
                if (
                    not is_of_axis
                    or len(factors) < 3
                    or text_of(thread) not in self._index_of["threadIdx"][axis]
                ):
                    continue
                for factor in names:
                    if factor not in is_of_axis and "Dim." not in factor:
                        rest = " * ".join(name for name in names if name != factor)
                        new = f"({rest} + {text_of(thread)}) * {factor}"
                        mistake = f"the factor {factor} of {text_of(thread)} is missing"
                        yield self._change(site, replaced(site.node, {total: new}), mistake, 1)

    def _with_second_factor(self, site: Site) -> Iterator[KernelChange]:
        """Yield `blockIdx.x * TILE * COARSE` for `blockIdx.x * TILE` if a thread computes several sums."""
        if site.kind == "condition" or not self.of_sums_per_thread:
            return
        for node in all_of(site.node, "identifier", "field_expression"):
            name = text_of(node)
            is_of_block = any(name in self._index_of["blockIdx"][axis] for axis in _AXES)
            beside = set(map(text_of, _factors_beside(node))) if is_of_block else ()
            product = node.parent if node.parent is not None and sign_of(node.parent) == "*" else node
            for factor in self.of_sums_per_thread if beside else ():
                if factor not in beside:
                    new = replaced(site.node, {product: f"{text_of(product)} * {factor}"})
                    yield self._change(site, new, f"the factor {factor} of {name} is missing", 1)

    @property
    def of_sums_per_thread(self) -> list[str]:
        """The extents of local arrays, and of loops in which C is written, each a number or a name."""
        arrays = all_of(self._body, "array_declarator")
        local = [node for node in arrays if declared_name(node) not in self._shared]
        extents = [node.child_by_field_name("size") for node in local]
        for loop in all_of(self._body, "for_statement"):
            stores = (n.child_by_field_name("left") for n in all_of(loop, "assignment_expression"))
            if any(left is not None and base_of(left) in self._pointers for left in stores):
                condition = loop.child_by_field_name("condition")
                extents.append(condition.child_by_field_name("right") if condition else None)
        texts = dict.fromkeys(map(text_of, extents))
        return [text for text in texts if _NAME.fullmatch(text) and text not in self._sizes]

    @property
    def _index_in_block(self) -> set[str]:
        """Names of what has the value of one of the thread's or the block's indices."""
        return {name for axes in self._index_of.values() for names in axes.values() for name in names}

    def _with_other_index(self, site: Site) -> Iterator[KernelChange]:
        """Yield a row or column with the block's or the thread's index that it lacks."""
        if site.kind != "value" or site.array:
            return
        text = text_of(site.node)
        for axis in _AXES:
            blocks, threads = self._index_of["blockIdx"][axis], self._index_of["threadIdx"][axis]
            if text in threads:
                for tile in dict.fromkeys((f"blockDim.{axis}", *self._tiles_at(site.node))):
                    new = f"blockIdx.{axis} * {tile} + {text}"
                    yield self._change(site, new, "the block's index is missing", 4)
            parts = set(map(text_of, all_of(site.node, "identifier", "field_expression")))
            all_threads = {n for a in _AXES for n in self._index_of["threadIdx"][a]} | {"threadIdx"}
            if parts & set(blocks) and not parts & all_threads and text not in blocks:
                name = next((n for n in threads[:-1] if self._is_visible(n, site.node)), threads[-1])
                yield self._change(site, f"{text} + {name}", "the thread's index is missing", 4)

    def _other_divisor(self, site: Site) -> Iterator[KernelChange]:
        """Yield `tid / (BN / TN)` for `tid / BN`, if the kernel has the quotient elsewhere.

        Also `tile % across` for `tile % down` beside `tile / across`.
        """
        parts = [node for node in all_of(self._body, "binary_expression") if sign_of(node) in ("/", "%")]
        for node, other in itertools.product(all_of(site.node, "binary_expression"), parts):
            sides = [each.child_by_field_name(side) for each in (node, other) for side in ("left", "right")]
            of, divisor, of_other, better = sides
            is_pair = {sign_of(node), sign_of(other)} == {"/", "%"} and text_of(of) == text_of(of_other)
            # An extent of a tile is tried elsewhere, as a wrong size.
            is_name = (
                better is not None and better.type == "identifier" and text_of(better) not in self._tiles
            )
            if divisor is not None and is_pair and is_name and text_of(better) != text_of(divisor):
                new = replaced(site.node, {divisor: text_of(better)})
                yield self._change(site, new, f"the wrong divisor is used, {text_of(divisor)}", 1)
        quotients = {
            text_of(node): None
            for node in all_of(self._body, "binary_expression")
            if sign_of(node) == "/"
            and all(text_of(node.child_by_field_name(side)) in self._tiles for side in ("left", "right"))
        }
        for node in all_of(site.node, "binary_expression"):
            divisor = node.child_by_field_name("right")
            if sign_of(node) in ("/", "%") and divisor is not None and text_of(divisor) in self._tiles:
                for quotient in quotients:
                    new = replaced(site.node, {divisor: f"({quotient})"})
                    yield self._change(site, new, f"the wrong divisor is used, {text_of(divisor)}", 2)

    def _quotient_for_remainder(self, site: Site) -> Iterator[KernelChange]:
        """Yield `threadIdx.x % 16` for `threadIdx.x / 16`, or the reverse, if the kernel has it twice."""
        parts = [node for node in all_of(self._body, "binary_expression") if sign_of(node) in ("/", "%")]
        again = Counter(map(text_of, parts))
        for node in all_of(site.node, "binary_expression"):
            if again[text_of(node)] < 2 or "threadIdx" not in text_of(node):
                continue
            left, right = (text_of(node.child_by_field_name(side)) for side in ("left", "right"))
            new = replaced(site.node, {node: f"{left} {'%' if sign_of(node) == '/' else '/'} {right}"})
            yield self._change(site, new, f"{TAKEN_TWICE}, {text_of(node)}", 1)

    def _other_dividend(self, site: Site) -> Iterator[KernelChange]:
        """Yield `column = tid % (BN / TN)` for `column = row % (BN / TN)`, with what is divided elsewhere."""
        if site.kind != "value":
            return
        parts = [node for node in all_of(self._body, "binary_expression") if sign_of(node) in ("/", "%")]
        divided = {text_of(node.child_by_field_name("left")) for node in parts} & self._index_in_block
        for node in all_of(site.node, "binary_expression"):
            dividend = node.child_by_field_name("left") if sign_of(node) in ("/", "%") else None
            if dividend is None or text_of(dividend) not in self._declared:
                continue
            for name in sorted(divided - {text_of(dividend), self._target(site)}):
                if self._is_visible(name, node):
                    mistake = f"the wrong variable is divided, {text_of(dividend)}"
                    yield self._change(site, replaced(site.node, {dividend: name}), mistake, 2)

    def _number_of_threads(self, site: Site) -> Iterator[KernelChange]:
        """Yield `threads = blockDim.x * blockDim.y` for `threads = BM * BN`, if a loop has it as its step."""
        name = declared_name(site.whole) if site.whole.type == "init_declarator" else ""
        loops = (
            all_of(self._body, "for_statement")
            if name and not self._used_by(site.node) - {*self._tiles}
            else ()
        )
        steps = (loop.child_by_field_name("update") for loop in loops)
        if any(step is not None and text_of(step.child_by_field_name("right")) == name for step in steps):
            x, y = (f"threadIdx.{axis}" in text_of(self._body) for axis in _AXES)
            new = "blockDim.x * blockDim.y" if x and y else "blockDim.x"
            yield self._change(site, new, "the step of the threads is not their number", 1)

    def _rounded_up(self, site: Site) -> Iterator[KernelChange]:
        """Yield a number of tiles that is rounded up, and one for a size: `(K + TILE - 1) / TILE` for `K`."""
        if site.array or site.kind not in ("condition", "value"):
            return
        for node in all_of(site.node, "binary_expression"):
            left, right = (text_of(node.child_by_field_name(side)) for side in ("left", "right"))
            is_part = re.fullmatch(r"\w+|(?:grid|block)Dim\.[xyz]", right) and right not in self._sizes
            if sign_of(node) == "/" and left in self._sizes and (is_part or right in self._tiles):
                new = replaced(site.node, {node: f"({left} + {right} - 1) / {right}"})
                mistake = f"{ENDS_TOO_EARLY} {left} / {right} is rounded down"
                yield dataclasses.replace(self._change(site, new, mistake, 1), is_condition=True)
            begun = re.fullmatch(rf"\(\s*([\w.]+)\s*(?:\+\s*{re.escape(right)}\s*)?-\s*\d+\s*\)", left)
            whole = f"({begun[1]} + {right} - 1) / {right}" if begun and sign_of(node) == "/" else ""
            if whole and re.sub(r"\s", "", whole) != re.sub(r"\s", "", text_of(node)):
                mistake = "the quotient is not rounded up for each remainder"
                if "+" not in left:
                    mistake = f"{ENDS_TOO_EARLY} {left} / {right} is less than the number of tiles"
                change = self._change(site, replaced(site.node, {node: whole}), mistake, 1)
                yield dataclasses.replace(change, is_condition=True)
        if site.kind == "condition" and site.node.parent and site.node.parent.type == "for_statement":
            limit = site.node.child_by_field_name("right")
            size = text_of(limit)
            for tile in self._tiles_at(site.node):
                if limit is not None and size in self._sizes:
                    new = replaced(site.node, {limit: f"({size} + {tile} - 1) / {tile}"})
                    yield self._change(site, new, "the loop has more steps than there are tiles", 3)

    def _not_lessened(self, site: Site) -> Iterator[KernelChange]:
        """Yield a condition such as `t < K - TILE` without the part that is subtracted."""
        if site.kind != "condition":
            return
        for node in all_of(site.node, "binary_expression"):
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            is_of_loop = site.node.parent is not None and site.node.parent.type == "for_statement"
            is_last = is_of_loop and text_of(right) == "1"  # `tile < across * down - 1`
            is_size = text_of(left) in {*self._sizes, *self._tiles}
            if sign_of(node) == "-" and left is not None and (is_size or is_last):
                new = replaced(site.node, {node: text_of(left)})
                yield self._change(site, new, "the condition ends too early", 2)

    def _end_of_part(self, site: Site) -> Iterator[KernelChange]:
        """Yield the end of a part of K, `begin + chunk`, as at most K, if a condition compares with it."""
        value, name = site.node, declared_name(site.whole) if site.whole.type == "init_declarator" else ""
        compared = {
            text_of(s.node.child_by_field_name("right")) for s in self._sites if s.kind == "condition"
        }
        if site.kind != "value" or sign_of(value) != "+" or name not in compared:
            return
        for size in self._sizes:
            old, better = text_of(value), f"{name} = min({text_of(value)}, {size})"
            edit = value.start_byte, value.end_byte, f"({old} < {size} ? {old} : {size})"
            yield KernelChange(
                f"the end of a part may lie beyond {size}: {site.shown(old)} instead of {better}",
                f"write {better}", "", *file_and_line_of(value), (edit,), 2, is_condition=True,
            )  # fmt: skip

    def _of_loops(self) -> Iterator[KernelChange]:
        """Yield loops with another start or another step."""
        updates = (loop.child_by_field_name("update") for loop in all_of(self._body, "for_statement"))
        steps = [each.child_by_field_name("right") for each in updates if each and sign_of(each) == "+="]
        names = list(dict.fromkeys(text_of(each) for each in steps if each and each.type == "identifier"))
        unused = [name for name in self._declared if len(self._uses_of[name]) == 1]
        for loop in all_of(self._body, "for_statement"):
            update, start = loop.child_by_field_name("update"), loop.child_by_field_name("initializer")
            for declared in all_of(start, "init_declarator") if start else ():
                value = declared.child_by_field_name("value")
                names_of_start = {*re.findall(r"\w+", text_of(value))}
                is_of_index = bool(names_of_start & {"blockIdx", "threadIdx", *self._varying})
                is_late = value is not None and value.type == "number_literal" and text_of(value) != "0"
                if value is not None and (is_late or is_of_index):
                    site = Site(value, declared, "", "start")
                    mistake = f"the loop begins at {text_of(value)}"
                    yield self._change(site, "0", mistake, 2 if is_late else 3)
                    number = int(text_of(value)) if text_of(value).isdigit() else 0
                    for other in (2 * number, number // 2) if number > 1 else ():
                        yield self._change(site, str(other), mistake, 2)
            yield from self._late_start(start)
            if update is None:
                continue
            for node in all_of(update, "assignment_expression"):
                added = node.child_by_field_name("right")
                if added is None or sign_of(node) != "+=" or added.type not in _PLAIN:
                    continue
                for size in self._sizes_beside(node) if text_of(added) not in self._sizes else ():
                    new, mistake = f"{text_of(added)} * {size}", "a step of the loop lacks a row length"
                    yield self._change(Site(added, node, "", "step"), new, mistake, 1)
            if update.type == "update_expression" and text_of(update).strip("+-") in self._declared:
                name = text_of(update).strip("+-")
                site = Site(update, update, "", "step")
                for tile in self._tiles_at(loop) if "++" in text_of(update) else ():
                    yield self._change(site, f"{name} += {tile}", "the loop has a wrong step", 2)
            step = update.child_by_field_name("right")
            for name in [*unused, *names] if step is not None and text_of(step) in names else ():
                if step is not None and name != text_of(step):
                    mistake = f"the loop has the wrong step, {text_of(step)}"
                    yield self._change(Site(step, update, "", "step"), name, mistake, 1)
            if step is not None and start is not None:
                for axis in _AXES:
                    yield from self._step_of_grid(Site(step, update, "", "step"), start, axis)
            if step is not None and sign_of(update) == "+=":
                yield from self._tiles_of_elements(loop, step)
            if step is not None and sign_of(update) == "+=" and text_of(step) in self._tiles:
                yield self._change(Site(step, update, "", "step"), "1", "the loop has a wrong step", 2)
            if step is not None and step.type == "binary_expression":  # `i += ROWS` for `i += TILE / ROWS`
                for name in dict.fromkeys(map(text_of, all_of(step, "identifier"))):
                    mistake = f"the loop has the wrong step, {text_of(step)}"
                    yield self._change(Site(step, update, "", "step"), name, mistake, 0)
            if step is not None and re.fullmatch(r"[2-9]|\d\d+", text_of(step)):
                for number in (int(text_of(step)) // 2, int(text_of(step)) * 2):
                    site = Site(step, update, "", "step")
                    yield self._change(site, str(number), "the loop has a wrong step", 2)

    def _tiles_of_elements(self, loop: Node, step: Node) -> Iterator[KernelChange]:
        """Yield `m` for each `m * TILE` in a loop that counts elements already, by `m += TILE`."""
        update = loop.child_by_field_name("update")
        counter = text_of(update.child_by_field_name("left")) if update is not None else ""
        tile, body = text_of(step), loop.child_by_field_name("body")
        products = [
            node
            for node in (all_of(body, "binary_expression") if body is not None else ())
            if sign_of(node) == "*"
            and {text_of(node.child_by_field_name(side)) for side in ("left", "right")} == {counter, tile}
        ]
        if products:
            yield KernelChange(
                f"the loop counts elements, by {counter} += {tile}, and {text_of(products[0])} takes "
                f"{counter} for the number of a tile",
                f"write {counter} for {text_of(products[0])}", "", *file_and_line_of(products[0]),
                tuple((node.start_byte, node.end_byte, counter) for node in products), 1,
            )  # fmt: skip

    def _step_of_grid(self, site: Site, start: Node, axis: str) -> Iterator[KernelChange]:
        """Yield the step of a loop in which all blocks share the work, if another extent is its step."""
        threads, blocks = f"blockDim.{axis}", f"gridDim.{axis}"
        values = (node.child_by_field_name("value") for node in all_of(start, "init_declarator"))
        used = set().union(*(self._used_by(value) for value in values if value is not None))
        is_of_blocks = f"blockIdx.{axis}" in used and not used & {f"threadIdx.{axis}", threads}
        if text_of(site.node) == threads and is_of_blocks:
            mistake = f"{STEP_OF_GRID} the number of threads, and the loop goes over blocks"
            yield self._change(site, blocks, mistake, 1)
        elif text_of(site.node) == threads:
            mistake = f"{STEP_OF_GRID} that of one block, and all blocks take it"
            yield self._change(site, f"{threads} * {blocks}", mistake, 1)
        elif text_of(site.node) == blocks:
            mistake = f"{STEP_OF_GRID} the number of blocks, and each block has several threads"
            yield self._change(site, f"{blocks} * {threads}", mistake, 1)

    def _late_start(self, start: Node | None) -> Iterator[KernelChange]:
        """Yield a loop over the rest of K that begins at `k` instead of `k + 1`, or at `K / 4 * 4`."""
        for node in all_of(start, "init_declarator", "assignment_expression") if start else ():
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            if value is None or value.type != "binary_expression":
                continue
            first, second = (text_of(value.child_by_field_name(side)) for side in ("left", "right"))
            options = {"+": [first] if second.isdigit() else [], "/": [f"{first} / {second} * {second}"]}
            for new in options.get(sign_of(value), ()):
                mistake = f"the loop over the terms that remain begins at {text_of(value)} instead of {new}"
                change = self._change(Site(value, node, "", "start"), new, "", 1)
                cure = f"begin at {new}, where the loop before ends"
                yield dataclasses.replace(change, mistake=mistake, cure=cure, is_condition=True)

    def with_rests(self) -> Iterator[KernelChange]:
        """Yield the loops that take several terms at once, each with the terms that remain at the end."""
        for loop in all_of(self._body, "for_statement", "while_statement"):
            yield from self._with_rest(loop)

    def _with_rest(self, loop: Node) -> Iterator[KernelChange]:
        """Yield a loop that takes several terms at once, with the terms that remain at the end.

        In the change, the terms beyond the end are 0, so that it needs no second loop.
        """
        condition, update, body = map(loop.child_by_field_name, ("condition", "update", "body"))
        if condition is None or body is None:
            return
        if loop.type == "while_statement":
            condition = condition.child_by_field_name("value") or condition
            steps = all_of(body, "assignment_expression")
            begins = rf"{re.escape(text_of(condition).split()[0])}\s*\+="
            update = next((step for step in steps if re.match(begins, text_of(step))), None)
        if update is None or sign_of(update) != "+=":
            return
        counter, step = (text_of(update.child_by_field_name(side)) for side in ("left", "right"))
        next_term = re.compile(rf"(?<![\w.]){re.escape(counter)}\s*\+\s*([A-Za-z_]\w*|[1-9]\d*)(?!\w)")
        found = {node: next_term.search(text_of(node)) for node in all_of(body, "subscript_expression")}
        reads = {
            node: f"{counter} + {term[1]}"
            for node, term in found.items()
            if term and node == _outermost(node) and not _is_written(node)
        }
        names = {text_of(node) for node in all_of(condition, "identifier")}
        values = [value for name, value in self._function.first_values.items() if name in names - {counter}]
        names |= {text_of(node) for value in values for node in all_of(value, "identifier")}
        later = [
            text_of(other.child_by_field_name("condition"))
            for other in all_of(self._body, *LOOPS)
            if other.start_byte >= loop.end_byte
        ]
        for size in self._sizes:
            end = f"{counter} < {size}"
            is_whole = re.sub(r"\s", "", text_of(condition)) == re.sub(r"\s", "", end)
            if size not in names or is_whole or not reads or any(_names(size, other) for other in later):
                continue
            edits = {condition: end} | {
                node: f"({term} < {size} ? {text_of(node)} : 0)" for node, term in reads.items()
            }
            of_tile = [term for term in reads.values() if term.rpartition(" ")[2] in self._index_in_block]
            cure = f"after the loop, add the terms that remain{self._rest_of(loop, counter, step, size)}"
            if of_tile:
                cure = f"loop while {end}, and take 0 where {of_tile[0]} is not less than {size}"
            yield KernelChange(
                f"the loop takes {step} terms at once, and leaves out the last {size} % {step} terms",
                cure, "", *file_and_line_of(loop),
                tuple((node.start_byte, node.end_byte, new) for node, new in edits.items()), 2,
                is_condition=True,
            )  # fmt: skip

    @staticmethod
    def _rest_of(loop: Node, counter: str, step: str, size: str) -> str:
        """Return the loop over the terms that remain; empty if the sum has no term of one counter alone."""
        declared = text_of(loop.child_by_field_name("initializer")).partition("=")[0].split()
        start = f"{' '.join(declared)} = {size} / {step} * {step}" if len(declared) > 1 else ""
        own = {
            declared_name(node.child_by_field_name("declarator")) for node in all_of(loop, "init_declarator")
        }
        for node in all_of(loop, "assignment_expression"):
            value = node.child_by_field_name("right")
            for term in terms_of(value) if value is not None and sign_of(node) == "+=" else ():
                text = re.sub(r"\s+", " ", text_of(term))
                names = {text_of(name) for name in all_of(term, "identifier")}
                is_first = counter in names and not re.search(rf"\b{counter}\s*\+", text) and "*" in text
                if is_first and not names & (own - {counter}):
                    added = f"{text_of(node.child_by_field_name('left'))} += {text}"
                    return f": for ({start}; {counter} < {size}; ++{counter}) {added}"
        return ""

    def _sizes_beside(self, step: Node) -> list[str]:
        """Return the sizes, first those in an index that has the variable of a step, as `B[b + wB * ty]`."""
        variable = rf"\b{re.escape(text_of(step.child_by_field_name('left')))}\b"
        indices = [text_of(site.node) for site in self._sites if site.kind == "index"]
        beside = " ".join(index for index in indices if re.search(variable, index))
        return sorted(self._sizes, key=lambda size: not _names(size, beside))

    def _of_sums(self) -> Iterator[KernelChange]:
        """Yield `sum += a * b` for `sum = a * b`, and a sum that is not set to 0 again in a loop."""
        for loop in all_of(self._body, "for_statement"):
            body = loop.child_by_field_name("body")
            for node in all_of(body, "assignment_expression") if body else ():
                left, value = (node.child_by_field_name(side) for side in ("left", "right"))
                if (
                    left is None
                    or value is None
                    or sign_of(node) != "="
                    or _base_of_sum(left) not in self._declared
                ):
                    continue
                name = text_of(left)
                if _base_of_sum(left) in self._shared or name in map(text_of, all_of(value, left.type)):
                    continue
                file, line = file_and_line_of(node)
                if is_zero(value) and value.type != "initializer_list":
                    before = file_and_line_of(loop)[1]
                    yield KernelChange(
                        f"the sum is set to 0 again inside the loop: {text_of(node)}",
                        f"set {name} to 0 once, before the loop in line {before}", "", file, line,
                        ((value.start_byte, value.end_byte, name),), 3,
                    )  # fmt: skip
                elif value.type == "binary_expression" and _is_sum_of_products(value):
                    shown = re.sub(r"\s+", " ", text_of(value)).removeprefix("+").lstrip()  # of `=+`
                    kept = "product is" if sign_of(value) == "*" else "products are"
                    yield KernelChange(
                        f"only the last {kept} kept, with = instead of +=: {name} = {shown}",
                        f"write {name} += {shown}", "", file, line,
                        ((value.start_byte, value.start_byte, name),), 1,
                    )  # fmt: skip

    def with_sums_before_loops(self) -> Iterator[KernelChange]:
        """Yield each loop that sets its sums to 0 in each step, with the sums set to 0 before it."""
        yield from sums_before_loops(self._body, self._pointers, self._used_by)

    def _zero_before_load(self) -> Iterator[KernelChange]:
        """Yield each `if (row < M) As[ty][tx] = …` without an `else`, and all, with a 0 written first."""
        found: list[KernelChange] = []
        for node in all_of(self._body, "if_statement"):
            body, condition = node.child_by_field_name("consequence"), node.child_by_field_name("condition")
            if body is None or condition is None or node.child_by_field_name("alternative") is not None:
                continue
            set_here = (n for n in all_of(body, "assignment_expression") if sign_of(n) == "=")
            targets = (n.child_by_field_name("left") for n in set_here)
            stored = [x for x in targets if x is not None and (self._is_of_tile(x) or self._is_own(x, node))]
            names = {text_of(name) for left in stored for name in all_of(left, "identifier")}
            declared = [n.child_by_field_name("declarator") for n in all_of(body, "init_declarator")]
            if not stored or names & set(map(declared_name, declared)):
                continue
            start, shown = condition.start_byte + 1, [re.sub(r"\s+", " ", text_of(left)) for left in stored]
            zeros = ", ".join(f"{left} = {{}}" for left in shown)
            otherwise = " ".join(f"{left} = 0;" for left in shown)
            otherwise = otherwise if len(shown) == 1 else f"{{ {otherwise} }}"
            change = KernelChange(
                f"{NO_ZERO} to {base_of(stored[0])} where {text_of(condition)} does not hold",
                f"write 0 where the load is left out: else {otherwise}", base_of(stored[0]),
                *file_and_line_of(node), ((start, start, f"({zeros}, 0)"),), 2, is_condition=True,
            )  # fmt: skip
            found.append(change)
            yield change
        if len(found) > 1:
            lines = ", ".join(str(change.line) for change in found)
            yield dataclasses.replace(
                found[0],
                mistake=f"{NO_ZERO} to {' and '.join(dict.fromkeys(change.array for change in found))} where "
                f"the conditions in lines {lines} do not hold",
                cure="; ".join(f"{change.cure} in line {change.line}" for change in found),
                edits=tuple(edit for change in found for edit in change.edits),
                # What a thread's own array holds before is not known: a single 0 may do by luck.
                rank=3 if self._shared & {change.array for change in found} else 1,
            )

    def with_whole_tiles(
        self, extents_of: Callable[[str], tuple[int, ...]], block: tuple[int, int]
    ) -> Iterator[KernelChange]:
        """Yield the loads of tiles with loops for the elements that the threads of a block leave.

        Args:
            extents_of, block: as for `changes_of_tile_loads`.
        """
        assigned = all_of(self._body, "assignment_expression")
        targets = [left for n in assigned if (left := n.child_by_field_name("left")) is not None]
        stores = [
            left for left in targets if left.type == "subscript_expression" and base_of(left) in self._shared
        ]
        yield from loads_of_whole_tiles(
            stores, extents_of, lambda name: number_in(self._text, name), self._index_of["threadIdx"],
            self._function.first_values, block,
        )  # fmt: skip
        yield from self._steps_of_threads(block)

    def _steps_of_threads(self, block: tuple[int, int]) -> Iterator[KernelChange]:
        """Yield the loops that the threads of a block share with the number of threads as their step."""
        sites = []
        for loop in all_of(self._body, "for_statement"):
            update, start = loop.child_by_field_name("update"), loop.child_by_field_name("initializer")
            step = update.child_by_field_name("right") if update is not None else None
            begun = all_of(start, "init_declarator") if start is not None else ()
            values = (node.child_by_field_name("value") for node in begun)
            used = set().union(*(self._used_by(value) for value in values if value is not None))
            is_of_threads = "threadIdx.x" in used and not {"blockIdx.x", "blockIdx.y"} & used
            # The value of a variable of the kernel changes in its declaration: `_number_of_threads`.
            is_other = step is not None and "Dim" not in text_of(step) and text_of(step) not in self._declared
            if update and step and sign_of(update) == "+=" and is_of_threads and is_other:
                sites.append(Site(step, update, "", "step"))
        if not sites:
            return
        new = "blockDim.x * blockDim.y" if block[1] > 1 else "blockDim.x"
        mistake = f"the step {text_of(sites[0].node)} is not the number of threads, {math.prod(block)}"
        change = self._change(sites[0], new, mistake, 0)
        edits = tuple((site.node.start_byte, site.node.end_byte, new) for site in sites)
        lines = [f"line {file_and_line_of(site.node)[1]}" for site in sites[1:]]
        cure = f"{change.cure}, also in {' and '.join(lines)}" if lines else change.cure
        yield dataclasses.replace(change, cure=cure, edits=edits)

    def with_zeros(self) -> Iterator[KernelChange]:
        """Yield each load of a tile at `min(k, K - 1)` with a 0 where `k` is not less than K."""
        for node in all_of(self._body, "assignment_expression"):
            left, value = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is None or value is None or not self._is_of_tile(left):
                continue
            parts = [value, *(v for name in self._used_by(value) for v in self._values_at(name, value))]
            clamped = {found.groups() for part in parts for found in _CLAMPED.finditer(text_of(part))}
            for index, size in sorted(each for each in clamped if each[1] in self._sizes):
                shown = f"{index} < {size} ? {' '.join(text_of(value).split())} : 0"
                yield KernelChange(
                    f"beyond {size} the load takes the last element again, with min({index}, {size} - 1), "
                    "and the sums count it again",
                    f"load 0 there: {' '.join(text_of(left).split())} = {shown}", base_of(left),
                    *file_and_line_of(node), ((value.start_byte, value.end_byte, f"({shown})"),), 2,
                    is_condition=True,
                )  # fmt: skip

    def with_own_guards(self) -> Iterator[KernelChange]:
        """Yield the loads of tiles with guards of their own, if the conditions around them are those of C."""
        of_matrices = [site for site in self._sites if site.kind == "index" and site.array in self._pointers]
        stores, loads, conditions = [], [], dict[Node, None]()
        for site in of_matrices:
            if _is_written(site.whole):
                stores.append(site)
                continue
            load = next(
                (node for node in ancestors(site.whole) if node.type == "assignment_expression"), None
            )
            target = load.child_by_field_name("left") if load is not None else None
            if target is None or not self._is_of_tile(target):
                continue
            loads.append(site)
            for around in itertools.takewhile(
                lambda node: node.type != "for_statement", ancestors(site.whole)
            ):
                guard = around.child_by_field_name("condition")
                body = around.child_by_field_name("consequence")
                if guard is None or body is None or not is_inside(site.whole, body):
                    continue
                statements = [*all_of(body, "expression_statement")] if around.type == "if_statement" else []
                written = (
                    part.child_by_field_name("left") for each in statements for part in each.named_children
                )
                if not all(left is not None and self._is_of_tile(left) for left in written):
                    return
                conditions[guard] = None
        guards = guards_of_tile_loads(loads, stores, self._sites, self._sizes)
        if not guards or not conditions:
            return
        edits = [(node.start_byte, node.end_byte, "(true)") for node in conditions]
        edits += [
            (node.start_byte, node.end_byte, f"(({guard}) ? {text_of(node)} : 0)")
            for node, guard in guards.items()
        ]
        own = (f"{text_of(node)} where {guard}" for node, guard in guards.items())
        yield KernelChange(
            "the conditions of the tile loads check the row and column in C, not those of the loaded element",
            f"load {' and '.join(own)}, and 0 elsewhere", "", *file_and_line_of(next(iter(conditions))),
            tuple(edits), 2, True,
        )  # fmt: skip

    def _is_of_tile(self, target: Node) -> bool:
        """Return whether an element of a shared array, or of what a local pointer points to, is written."""
        name = base_of(target) if target.type == "subscript_expression" else ""
        return name in self._shared or (name in self._declared and self._points(name))

    def _is_own(self, target: Node, branch: Node) -> bool:
        """Return whether a branch sets an element of a thread's own array, or loads a variable in a loop."""
        name = base_of(target) or text_of(target)
        declared = self._declared.get(name)
        if declared is None:
            return False
        if target.type == "subscript_expression":
            return any(declared_name(array) == name for array in all_of(declared, "array_declarator"))
        loaded = target.parent.child_by_field_name("right") if target.parent is not None else None
        loops = [each for each in ancestors(branch) if each.type in ("for_statement", "while_statement")]
        is_kept = bool(loops) and not is_inside(declared, loops[0])
        return is_kept and loaded is not None and base_of(loaded) in self._pointers

    def _without_factor(self, site: Site) -> Iterator[KernelChange]:
        """Yield a site with one factor of a product removed, or the divisor of a quotient."""
        for product in all_of(site.node, "binary_expression"):
            left, right = product.child_by_field_name("left"), product.child_by_field_name("right")
            if left is None or right is None:
                continue
            if sign_of(product) == "/" and not _is_rounded_up(text_of(left), text_of(right)):
                mistake = f"an index is divided by {text_of(right)}"
                yield self._change(site, replaced(site.node, {product: text_of(left)}), mistake, 3)
            for kept, removed in ((left, right), (right, left)) if sign_of(product) == "*" else ():
                mistake = f"an index is multiplied by {text_of(removed)} {ONCE_TOO_OFTEN}"
                yield self._change(site, replaced(site.node, {product: text_of(kept)}), mistake, 1)

    def _swapped_axes(self, site: Site) -> Iterator[KernelChange]:
        """Yield a site with x and y of the thread's index swapped, and with those of the block's index."""
        for kind in ("threadIdx", "blockIdx"):
            edits = self._swapped_in(site.node, kind)
            if len(edits) > 1 and len({*map(text_of, edits)}) == 1:  # `tx * TILE + tx`
                for node, other in edits.items():
                    new = replaced(site.node, {node: other})
                    yield self._change(site, new, f"x and y of {kind} are swapped", 1)
            if edits:
                new = replaced(site.node, edits)
                axes, others = ({*_OF_AXIS.findall(text)} for text in (text_of(site.node), new))
                is_named_so = site.kind == "value" and {self._target(site)[-1:]} == axes  # tx = threadIdx.x
                rank = 2 if is_named_so or len(axes) < len(others) else 1
                yield self._change(site, new, f"x and y of {kind} are swapped", rank)

    def _with_axes_swapped(self, node: Node, kind: str) -> str | None:
        """Return an expression with `tx` for `ty` and `ty` for `tx`; None if it has neither."""
        edits = self._swapped_in(node, kind)
        return replaced(node, edits) if edits else None

    def _swapped_in(self, node: Node, kind: str) -> dict[Node, str]:
        """Return what to write for each `tx` and `ty` of an expression if x and y are swapped."""
        edits = {}
        for part in all_of(node, "identifier", "field_expression"):
            for axis, other in (_AXES, _AXES[::-1]):
                if text_of(part) in self._index_of[kind][axis]:
                    names = self._index_of[kind][other]
                    edits[part] = next((n for n in names[:-1] if self._is_visible(n, node)), names[-1])
        return edits

    def _one_less(self, site: Site) -> Iterator[KernelChange]:
        """Yield a condition with `<` for `<=`."""
        sign = sign_of(site.node)
        if site.kind == "condition" and sign in ("<=", ">"):
            operator = next(child for child in site.node.children if text_of(child) == sign)
            new = replaced(site.node, {operator: "<" if sign == "<=" else ">="})
            yield self._change(site, new, "the condition is off by one", 1)

    def _other_variable(self, site: Site) -> Iterator[KernelChange]:
        """Yield `col < N` for `row < N`, if another condition has `col < N`."""
        left, right = (site.node.child_by_field_name(side) for side in ("left", "right"))
        if site.kind != "condition" or left is None or right is None or left.type != "identifier":
            return
        alike = [
            text_of(other.node.child_by_field_name("left"))
            for other in self._sites
            if other.kind == "condition"
            and text_of(other.node.child_by_field_name("right")) == text_of(right)
        ]
        for name in dict.fromkeys(alike):
            if name != text_of(left) and self._is_visible(name, site.node):
                new = replaced(site.node, {left: name})
                yield self._change(site, new, f"{OTHER_CONDITION} variable, {text_of(left)}", 1)

    def _without_conjunct(self, site: Site) -> Iterator[KernelChange]:
        """Yield `k < K` for `col < N && k < K`: a thread may load what only other threads use."""
        whole = _whole_condition(site.node)
        conjuncts = _conjuncts(whole)
        if site.kind != "condition" or len(conjuncts) < 2 or site.node not in conjuncts:
            return
        text, shown = text_of(site.node), re.sub(r"\s+", " ", text_of(whole))
        better = " && ".join(text_of(each) for each in conjuncts if each != site.node)
        yield KernelChange(
            f"the condition {text} leaves out elements that other threads need: {shown} instead of {better}",
            f"write {better}", "", *file_and_line_of(site.node),
            ((site.node.start_byte, site.node.end_byte, "true"),), 2, True,
        )  # fmt: skip

    def _with_whole_index(self, site: Site) -> Iterator[KernelChange]:
        """Yield `row + i < M` for `row < M` if what the condition guards has the index `row + i`.

        Also for another variable than `row`, if no index that the condition guards has that, and another for
        the second of `row < M && row < N`.
        """
        condition = _whole_condition(site.node)
        guarded = condition.parent
        while guarded is not None and guarded.type in ("parenthesized_expression", "condition_clause"):
            guarded = guarded.parent
        is_guard = guarded is not None and guarded.type in ("if_statement", "conditional_expression")
        body = guarded.child_by_field_name("consequence") if guarded is not None and is_guard else None
        left, right = (site.node.child_by_field_name(side) for side in ("left", "right"))
        if site.kind != "condition" or body is None or left is None or right is None:
            return
        indices = [node for of in all_of(body, "subscript_argument_list") for node in of.named_children]
        used = {text_of(name) for index in indices for name in all_of(index, "identifier")}
        compared = list(map(text_of, all_of(condition, "identifier")))
        sums: dict[str, list[str]] = {}  # and their terms
        for index in indices:
            for node in (index, *all_of(index, "binary_expression")):
                parts = [
                    text_of(term)
                    for term in terms_of(node)
                    if not set(self._sizes) & {text_of(name) for name in all_of(term, "identifier")}
                ]
                if len(parts) > 1:
                    sums[" + ".join(parts)] = parts
        for side in (left, right):
            for text, parts in sums.items() if side.type in ("identifier", "field_expression") else ():
                name, new = text_of(side), replaced(site.node, {side: text})
                if name in parts:
                    mistake = f"the condition looks only at a part of the index {text}"
                    yield self._change(site, new, mistake, 2)
                elif name not in used | set(self._sizes) or compared.count(name) > 1:
                    yield self._change(site, new, f"{OTHER_CONDITION} variable, {name}", 2)
            name = text_of(side)
            is_wrong = compared.count(name) > 1 or name not in used | set(self._sizes)
            for other in sorted(used & self._varying) if is_wrong and side.type == "identifier" else ():
                if other not in compared:
                    new = replaced(site.node, {side: other})
                    yield self._change(site, new, f"{OTHER_CONDITION} variable, {name}", 2)

    def _with_missing_bound(self, site: Site) -> Iterator[KernelChange]:
        """Yield `row < M && col < N` for `row < M` around an index with both."""
        is_of_matrix = site.array not in self._shared and self._points(site.array)
        if site.kind == "index" and is_of_matrix:
            for bound, missing in missing_bounds(site, self._sites, self._sizes):
                new = f"{text_of(bound.node)} && {missing}"
                change = self._change(bound, new, "", 2)
                yield dataclasses.replace(change, mistake=f"the condition lacks {missing}")

    def _with_guards(self) -> Iterator[KernelChange]:
        """Yield `if (row + i < M && col + j < N)` before each store to C that lacks a check of its own.

        With it come the checks that loads lack: who forgets one often forgets both.
        """
        of_matrices = [site for site in self._sites if site.kind == "index" and site.array in self._pointers]
        stores = [site for site in of_matrices if _is_written(site.whole)]
        loads = [site for site in of_matrices if site not in stores]
        lacking = unguarded_loads(loads, self._sites, self._sizes)
        at_loads = [
            (node.start_byte, node.end_byte, f"({text_of(node)}) && {more}") for node, more in lacking.items()
        ]
        added = [
            f"add {more} to the condition of line {file_and_line_of(node)[1]}"
            for node, more in lacking.items()
        ]
        if len(lacking) > 1:
            first = next(iter(lacking))
            yield KernelChange(
                "loads do not check their own rows and columns", " and ".join(added), "",
                *file_and_line_of(first), tuple(at_loads), 2, True,
            )  # fmt: skip
        for guards in unguarded_stores(stores, self._sites, self._sizes):
            shown = [f"if ({guard}) {' '.join(text_of(store).split())}" for store, guard in guards.items()]
            # As an expression, which many changes can share a program with. The other one loads nothing.
            at_stores = [
                (each.start_byte, each.end_byte, f"({guard}) ? ({text_of(each)}) : {stores[0].array}[0]")
                for store, guard in guards.items()
                for each in store.named_children
            ]
            which = self._unchecked_by(guards)
            of_one = f"the store does not check its own {which}"
            of_stores = f"each store has to check its own {which}" if shown[1:] else of_one
            of_both = "loads and stores do not check their own rows and columns"
            for mistake, edits, more in (of_stores, [], []), (of_both, at_loads, added):
                if more or mistake != of_both:
                    yield KernelChange(
                        mistake, " and ".join((f"write {' '.join(shown)}".rstrip(";"), *more)),
                        stores[0].array, *file_and_line_of(next(iter(guards))), (*at_stores, *edits), 2, True,
                    )  # fmt: skip

    def _unchecked_by(self, guards: Mapping[Node, str]) -> str:
        """Return what the conditions around stores leave unchecked: `row`, `column`, or `row and column`."""
        unchecked: dict[str, None] = {}
        for store, guard in guards.items():
            around = [node.child_by_field_name("condition") for node in ancestors(store)]
            comparisons = [
                each for node in filter(None, around) for each in all_of(node, "binary_expression")
            ]
            checked = {text_of(each.child_by_field_name("left")) for each in comparisons}
            parts = dict(zip(("row", "column"), guard.split(" && "), strict=True))
            unchecked |= dict.fromkeys(
                n for n, part in parts.items() if part.rpartition(" < ")[0] not in checked
            )
        return " and ".join(name for name in ("row", "column") if name in unchecked) or "row and column"

    def _row_lengths_of_two(self) -> Iterator[KernelChange]:
        """Yield other row lengths of two matrices at once: `A[i * K + k] * B[k * N + j]` for N, and K."""
        lengths: dict[str, list[KernelChange]] = {}
        for site in self._sites:
            if site.kind == "index" and site.array in self._pointers:
                found = lengths.setdefault(site.array, [])
                found += [c for c in self._other_sizes(site) if c.mistake.startswith(WRONG_ROW_LENGTH)]
        for one, other in itertools.combinations(lengths, 2):
            for first, second in itertools.product(lengths[one], lengths[other]):
                yield dataclasses.replace(
                    first,
                    mistake=f"{first.mistake}; and {second.mistake}",
                    cure=f"{first.cure} and {second.cure.removeprefix('write ')}",
                    edits=(*first.edits, *second.edits),
                    rank=3,
                )

    def _exchanged_values(self) -> Iterator[KernelChange]:
        """Yield two stores to a matrix with the value of the other: `C[i] = c01; C[j] = c10;`."""
        stores = [
            site.whole.parent
            for site in self._sites
            if site.kind == "index" and site.array in self._pointers and _is_written(site.whole)
        ]
        plain = [each for each in dict.fromkeys(filter(None, stores)) if sign_of(each) == "="]
        for one, other in itertools.combinations(plain, 2):
            values = [each.child_by_field_name("right") for each in (one, other)]
            first, second = values
            if first is None or second is None or text_of(first) == text_of(second):
                continue
            better = replaced(one, {first: text_of(second)}), replaced(other, {second: text_of(first)})
            yield KernelChange(
                f"the values of two stores are exchanged, {text_of(first)} and {text_of(second)}",
                f"write {' and '.join(better)}", "", *file_and_line_of(one),
                ((first.start_byte, first.end_byte, text_of(second)),
                 (second.start_byte, second.end_byte, text_of(first))), 3,
            )  # fmt: skip

    def _with_missing_factor(self, site: Site) -> Iterator[KernelChange]:
        """Yield `t < M * N` for `t < M` or `t < N`, if the kernel divides t into a row and a column."""
        sides = [site.node.child_by_field_name(side) for side in ("left", "right")]
        if site.kind != "condition" or None in sides or text_of(sides[1]) not in self._sizes:
            return
        parts = (node for node in all_of(self._body, "binary_expression") if sign_of(node) in ("/", "%"))
        divided = [node for node in parts if text_of(node.child_by_field_name("left")) == text_of(sides[0])]
        size = text_of(sides[1])
        for length in dict.fromkeys(text_of(node.child_by_field_name("right")) for node in divided):
            for other in self._sizes if length == size else (length,):
                if other in self._sizes and other != size:
                    new = replaced(site.node, {sides[1]: f"{size} * {other}"}) if sides[1] else ""
                    yield self._change(site, new, f"the condition lacks the factor {other}", 2)

    def _with_missing_end(self, site: Site) -> Iterator[KernelChange]:
        """Yield `row >= M || col >= N` for `if (row >= M) return;`."""
        kinds = ("binary_expression", "parenthesized_expression", "condition_clause")
        around = next((node for node in ancestors(site.node) if node.type not in kinds), site.node)
        body = around.child_by_field_name("consequence") if around.type == "if_statement" else None
        leaves = body is not None and re.fullmatch(r"\{?\s*return\s*;\s*\}?", text_of(body))
        if site.kind != "condition" or sign_of(site.node) not in (">=", ">") or not leaves:
            return
        used, begin = self._used_by(site.node), site.node.start_byte
        for name in self._indices_at(site):
            is_set = any(value.start_byte < begin for value, _ in self._assigned.get(name, ()))
            for size in self._sizes if is_set and name in self._of_blocks - used else ():
                missing = f"{name} >= {size}"
                if size not in used and missing not in text_of(around):
                    change = self._change(site, f"{text_of(site.node)} || {missing}", "", 2)
                    yield dataclasses.replace(change, mistake=f"the condition lacks {missing}")

    def _other_size_of_quotients(self) -> Iterator[KernelChange]:
        """Yield `i / N` and `i % N` at once for `i / M` and `i % M`, also if N and M are quotients."""
        divisors: dict[str, dict[Site, list[Node]]] = {}
        for site in self._sites:
            for node in all_of(site.node, "binary_expression"):
                right = node.child_by_field_name("right") if sign_of(node) in ("/", "%") else None
                if right is not None and right.type in (*_PLAIN[:1], *_GROUPED):
                    divisors.setdefault(text_of(right), {}).setdefault(site, []).append(right)
        sums = [name for name in self.of_sums_per_thread if not name.isdigit()]
        tiles = [name for name in self._tiles if not name.isdigit() and name not in sums]
        for divisor, sites in divisors.items():
            is_quotient = divisor.startswith("(")
            if len(sites) < 2 or not (is_quotient or divisor in self._sizes):
                continue
            usable = [tile for tile in tiles if all(tile in self._tiles_at(site.node) for site in sites)]
            # (BN / TN) for (BM / TM) is likelier than (BN / TM)
            ordered = sorted(
                itertools.product(usable, sums), key=lambda pair: sum(_names(name, divisor) for name in pair)
            )
            quotients = [f"({tile} / {per_thread})" for tile, per_thread in ordered]
            for other in quotients if is_quotient else self._sizes:
                if re.sub(r"\s", "", other) == re.sub(r"\s", "", divisor):
                    continue
                edits = [
                    (site, replaced(site.node, dict.fromkeys(nodes, other))) for site, nodes in sites.items()
                ]
                shown = ", ".join(site.shown(text_of(site.node)) for site, _ in edits)
                better = ", ".join(site.shown(new) for site, new in edits)
                yield KernelChange(
                    f"row and column are those of another row length: {shown} instead of {better}",
                    f"write {better}", "", *file_and_line_of(edits[0][0].node),
                    tuple((site.node.start_byte, site.node.end_byte, new) for site, new in edits), 1,
                )  # fmt: skip

    def _with_factor(self, site: Site) -> Iterator[KernelChange]:
        """Yield an index with a length for its row, and `blockIdx.x * blockDim.x` for `blockIdx.x`."""
        parts = [text_of(n) for n in all_of(site.node, "identifier", "field_expression")]
        is_matrix = site.array in self._pointers and site.kind == "index" and site.array not in self._shared
        if is_matrix and not set(parts) & set(self._sizes) and site.whole.type == "subscript_expression":
            mistake = f"no row length where {site.array} is {self._verb(site)}"
            for term in terms_of(site.node):
                for size in self._sizes if term.type != "number_literal" else ():
                    new = replaced(site.node, {term: f"{grouped(term)} * {size}"})
                    yield self._change(site, new, mistake, 2)
            old = text_of(site.node)
            for name, size in itertools.product(self._indices_at(site), self._sizes):
                for new in (f"{name} * {size} + {old}", f"{old} * {size} + {name}"):
                    if name not in parts and (new.startswith(name) or site.node.type == "identifier"):
                        yield self._change(site, new, mistake, 2)
        for node in all_of(site.node, "identifier", "field_expression"):
            for axis in _AXES if site.kind == "value" else ():
                is_factor = node.parent is not None and sign_of(node.parent) == "*"
                if text_of(node) in self._index_of["blockIdx"][axis] and not is_factor and node != site.node:
                    new = replaced(site.node, {node: f"{text_of(node)} * blockDim.{axis}"})
                    yield self._change(site, new, "the block's index is not multiplied by its width", 2)

    def _with_counter(self, site: Site) -> Iterator[KernelChange]:
        """Yield `s[ty + 8 * j]` for `s[ty + 8]` in a loop that counts j."""
        for term in terms_of(site.node) if site.kind == "index" else ():
            is_step = term.type == "number_literal" or text_of(term) in self._tiles
            for counter in counters_at(site.node) if is_step else ():
                if counter not in self._used_by(site.whole):
                    mistake = f"the factor {counter} of {text_of(term)} is missing"
                    new = replaced(site.node, {term: f"{text_of(term)} * {counter}"})
                    yield self._change(site, new, mistake, 3)

    def _step_of_pointer(self, site: Site) -> Iterator[KernelChange]:
        """Yield `B += BK * N` for `B += BK`."""
        is_step = site.kind == "value" and site.whole.type == "assignment_expression"
        names = {text_of(node) for node in all_of(site.node, "identifier", "field_expression")}
        if is_step and site.array in self._pointers and sign_of(site.whole) == "+=":
            for size in self._sizes if not names & set(self._sizes) else ():
                new = f"{grouped(site.node)} * {size}"
                yield self._change(site, new, f"a step of {site.array} lacks a row length", 1)

    def _next_step(self, site: Site) -> Iterator[KernelChange]:
        """Yield `(t + 1) * TILE` for `t * TILE`, if the kernel looks ahead elsewhere."""
        for node in all_of(site.node, "identifier") if site.kind in ("index", "value") else ():
            name = text_of(node)
            is_ahead = node.parent is not None and f"{name}+1" in re.sub(r"\s", "", text_of(node.parent))
            if name in counters_at(site.node) and f"{name}+1" in self._sums and not is_ahead:
                new = replaced(site.node, {node: f"({name} + 1)"})
                yield self._change(site, new, f"the step {name} is used where the next one is meant", 3)

    def _next_steps(self) -> Iterator[KernelChange]:
        """Yield `(t + 1) * TILE` for each `t * TILE` of one block of statements: both tiles look ahead."""
        by_block: dict[tuple[Node | None, str], list[KernelChange]] = {}
        for site in self._sites:
            block = next((node for node in ancestors(site.node) if node.type == "compound_statement"), None)
            for change in self._next_step(site) if block is not None else ():
                by_block.setdefault((block, change.mistake.partition(":")[0]), []).append(change)
        for (_, mistake), changes in by_block.items():
            edits = {change.edits[0][:2]: change.edits[0] for change in changes}
            if len(edits) == len(changes) > 1:
                better = dict.fromkeys(change.cure.removeprefix("write ") for change in changes)
                yield dataclasses.replace(
                    changes[0],
                    mistake=f"{mistake}, {len(changes)} times",
                    cure=f"write {' and '.join(better)}",
                    array="",
                    edits=tuple(edits.values()),
                )

    def _in_bytes(self) -> Iterator[KernelChange]:
        """Yield indices in which a number of bytes, such as a pitch, is divided by the size of an element."""
        used: dict[str, list[tuple[Site, Node]]] = {}
        for site in self._sites:
            is_counted = site.array and site.kind != "condition" and self._vector_of(site) is None
            for node in all_of(site.node, "identifier") if is_counted else ():
                is_divided = node.parent is not None and "sizeof" in text_of(node.parent)
                is_size = text_of(node) in self._function.parameter_names and text_of(node) in self._sizes
                if is_size and not is_divided:
                    used.setdefault(text_of(node), []).append((site, node))
        pitches = [name for name in used if "pitch" in name.lower()]
        for names in [[name] for name in used] + ([pitches] if len(pitches) > 1 else []):
            edits: dict[Site, dict[Node, str]] = {}
            for site, node in itertools.chain(*(used[name] for name in names)):
                indexed = site.whole.child_by_field_name("argument")  # `A.elements` of a struct
                array = text_of(indexed) if site.whole.type == "subscript_expression" else site.array
                edits.setdefault(site, {})[node] = f"({text_of(node)} / sizeof(*{array}))"
            first = next(iter(edits))
            changed = {at: replaced(at.node, by) for at, by in edits.items()}
            are, them = ("are numbers", "them") if names[1:] else ("is a number", "it")
            others = dict.fromkeys(at.array for at in edits if at.array != first.array)
            also = [*names[1:], *([f"for {' and '.join(others)}"] if others else [])]
            likewise = f", likewise {' and '.join(also)}" if also else ""
            yield KernelChange(
                f"{', '.join(names)} {are} {OF_BYTES}, and the kernel counts elements with {them}",
                f"divide by the size of an element: {first.shown(changed[first])}{likewise}",
                first.array, *file_and_line_of(first.node),
                tuple((at.node.start_byte, at.node.end_byte, new) for at, new in changed.items()), 2,
            )  # fmt: skip

    def _other_arguments(self) -> Iterator[KernelChange]:
        """Yield calls with another size, or two arguments exchanged: `at(B, k, col)` for `at(B, col, k)`."""
        for call in all_of(self._body, "call_expression"):
            given = call.child_by_field_name("arguments")
            of_sums = ["binary_expression"] if self._is_call_of_own(call) else []
            types = (*_PLAIN, "field_expression", *of_sums)
            plain = [node for node in given.named_children if node.type in types] if given else []
            if re.fullmatch(
                r"\W*(?:min|max|fma|fmin|fmax|\w*_rn)f?", text_of(call.child_by_field_name("function"))
            ):
                continue  # of two factors, and of the less of two numbers, the order is of no matter
            for node in plain:
                for size in self._sizes if text_of(node) in self._sizes else ():
                    if size != text_of(node):
                        new = replaced(call, {node: size})
                        yield KernelChange(
                            f"{WRONG_SIZE}, {text_of(node)}: {text_of(call)} instead of {new}",
                            f"write {new}", "", *file_and_line_of(call),
                            ((node.start_byte, node.end_byte, size),), 2,
                        )  # fmt: skip
            for one, other in itertools.combinations(plain, 2):
                if text_of(one) != text_of(other) and self._kind_of(one) == self._kind_of(other):
                    new = replaced(call, {one: text_of(other), other: text_of(one)})
                    edits = (one.start_byte, one.end_byte, text_of(other)), (
                        other.start_byte, other.end_byte, text_of(one),
                    )  # fmt: skip
                    yield KernelChange(
                        f"two arguments are exchanged, {text_of(one)} and {text_of(other)}: {text_of(call)} "
                        f"instead of {new}",
                        f"write {new}", "", *file_and_line_of(call), edits, 2,
                    )  # fmt: skip

    def _kind_of(self, node: Node) -> tuple[str, bool]:
        """Return the type of a variable that is a struct, and whether a variable is a pointer or an array."""
        function, name = self._function, text_of(node)
        parameters = zip(function.parameter_names, function.parameters, strict=True)
        declared = dict(parameters).get(name) or self._declared.get(name)
        c_type = text_of(declared.child_by_field_name("type")) if declared is not None else ""
        struct = c_type if c_type in members_of_structs(source_file(self._text)) else ""
        is_array = declared is not None and name in map(declared_name, all_of(declared, "array_declarator"))
        return struct, is_array or self._points(name)

    def _buffer_of_calls(self) -> Iterator[KernelChange]:
        """Yield `load(k, 1 - cur)` for `load(k, cur)` with `cur = step & 1`; also for `tiles[step % 2]`.

        Also `load(As[1 - cur], Bs[1 - cur])` for `load(As[1 - cur], Bs[cur])`.
        """
        for call in all_of(self._body, "call_expression"):
            given = call.child_by_field_name("arguments")
            edits: dict[Node, str] = {}
            for node in all_of(given, "identifier", "binary_expression") if given else ():
                value = self._function.first_values.get(text_of(node), node)
                if re.search(r"(?:& 1|% 2)\)?$", text_of(value)):
                    edits[node] = f"1 - {grouped(node)}"
            chosen = [s.node for s in self._sites if s.kind == "index" and s.whole.parent == given]
            one_buffer = [
                {node: text_of(other)}
                for node, other in itertools.permutations(chosen, 2)
                if text_of(node) != text_of(other)
            ]
            for changed in filter(None, (edits, *one_buffer)):
                shown, new = " ".join(text_of(call).split()), " ".join(replaced(call, changed).split())
                yield KernelChange(
                    f"the call gets the buffer that is being read: {shown} instead of {new}",
                    f"write {new}", "", *file_and_line_of(call),
                    tuple((node.start_byte, node.end_byte, text) for node, text in changed.items()), 1,
                )  # fmt: skip

    def _row_and_column(self) -> Iterator[KernelChange]:
        """Yield `e / BK` and `e % BK` for `e / BN` and `e % BN`, in one declaration or in two neighbours."""
        for first in all_of(self._body, "declaration"):
            second = first.next_named_sibling
            pair = [first, second] if second and second.type == "declaration" else [first]
            for declared in [first], pair:
                binary = [node for each in declared for node in all_of(each, "binary_expression")]
                divided = [node for node in binary if sign_of(node) in ("/", "%")]
                nodes = [node for each in divided if (node := each.child_by_field_name("right"))]
                name = text_of(nodes[0]) if len(nodes) == 2 and {*map(sign_of, divided)} == {*"/%"} else ""
                if name not in self._tiles or text_of(nodes[1]) != name:
                    continue
                lengths = {self._extents_of(each)[-1] for each in self._shared_arrays_beside(first)}
                for other in sorted(self._tiles_at(nodes[0]), key=lambda tile: tile not in lengths):
                    if not _is_same_number(other, name):
                        shown = " ".join(" ".join(map(text_of, declared)).split()).rstrip(";")
                        new = re.sub(rf"([/%]\s*){re.escape(name)}\b", rf"\g<1>{other}", shown)
                        yield KernelChange(
                            f"{WRONG_SIZE}, {name}: {shown} instead of {new}", f"write {new}", "",
                            *file_and_line_of(first),
                            tuple((node.start_byte, node.end_byte, other) for node in nodes), 2,
                        )  # fmt: skip
                break

    def _shared_arrays_beside(self, statement: Node) -> set[str]:
        """Return the shared arrays with fixed extents that are accessed in the block around a statement."""
        names = all_of(statement.parent or statement, "identifier")
        return {name for name in map(text_of, names) if name in self._shared and self._extents_of(name)}

    def _of_other_thread(self, site: Site) -> Iterator[KernelChange]:
        """Yield an index with each variable of the thread replaced by each other one, as `col` by `row`."""
        counters = counters_at(site.node)
        adds = any(n.type == "assignment_expression" and sign_of(n) == "+=" for n in ancestors(site.node))
        for node in all_of(site.node, "identifier"):
            for other in counters if text_of(node) in counters else ():
                if other != text_of(node):
                    mistake = f"the wrong loop variable is used, {text_of(node)}"
                    yield self._change(site, replaced(site.node, {node: other}), mistake, 1 if adds else 3)
        if site.kind != "index":
            return
        for node in all_of(site.node, "identifier"):
            name = text_of(node)
            if name in counters:
                others = self._of_further_axes(site)
            elif name in self._varying and self._is_visible(name, site.node):
                others = [*self._indices_at(site), *counters]
            elif self._is_whole(name) and sign_of(node.parent or node) in ("+", "-"):  # `width + 1`
                others = [counter for counter in counters if counter not in self._used_by(site.whole)]
            else:
                continue
            for other in others:
                if other != name:
                    mistake = f"the wrong variable is an index, {name}"
                    is_size = name not in self._varying and name not in counters
                    is_likely = is_size or {name, other} <= self._of_block_alone  # `row0` for `col0`
                    rank = 2 if is_likely else 4
                    yield self._change(site, replaced(site.node, {node: other}), mistake, rank)

    def _other_order(self, site: Site) -> Iterator[KernelChange]:
        """Yield an index with two variables of the thread swapped, `row * N + col` for `col * N + row`."""
        is_place = site.kind in ("index", "value")
        of_caller = () if self._function.is_kernel else self._sizes  # `row` and `col` of a device function
        indices = [*self._indices_at(site), *counters_at(site.node), *of_caller] if is_place else []
        nodes = [node for node in all_of(site.node, "identifier") if text_of(node) in indices]
        for one, other in itertools.combinations(sorted({text_of(node) for node in nodes}), 2):
            swap = {one: other, other: one}
            edits = {node: swap[text_of(node)] for node in nodes if text_of(node) in swap}
            mistake = f"{TWO_VARIABLES} in an index, {one} and {other}"
            new = replaced(site.node, edits)
            counters = counters_at(site.node)[::-1]  # the outer loop's first
            found = [part for part in re.findall(r"\w+", new) if part in counters]
            is_strange = {one, other} <= set(counters) and found != sorted(found, key=counters.index)
            yield self._change(site, new, mistake, 4 if is_strange else 2)
            sized = all_of(site.node, "identifier", "field_expression") if site.kind == "index" else ()
            for node in sized:
                for size in self._sizes if text_of(node) in self._sizes else ():
                    if size != text_of(node):
                        yield self._change(site, replaced(site.node, {**edits, node: size}), mistake, 3)

    def _in_all_conditions(self) -> Iterator[KernelChange]:
        """Yield the conditions of one `if` with sizes swapped, `<` for each `<=`, or other operators."""
        groups: dict[Node, list[Site]] = {}
        for site in self._sites:
            if site.kind == "condition":
                groups.setdefault(_whole_condition(site.node), []).append(site)
        for whole, sites in groups.items():
            yield from self._other_operators(whole, sites)
            if len(sites) != 2:
                continue
            less = [next((c.edits[0][2] for c in self._one_less(site)), "") for site in sites]
            own, other = (self._size_in(site.node) for site in sites)
            swapped = [
                replaced(site.node, {size: text_of(instead)}) if size and instead else ""
                for site, size, instead in zip(sites, (own, other), (other, own), strict=True)
            ]
            options = {
                "the conditions are off by one": less,
                "the sizes of two conditions are swapped": swapped,
            }
            for mistake, new in options.items():
                if all(new):
                    texts = dict(zip((site.node for site in sites), new, strict=True))
                    better, file_line = replaced(whole, texts), file_and_line_of(whole)
                    edits = tuple((node.start_byte, node.end_byte, text) for node, text in texts.items())
                    sentence = f"{mistake}: {text_of(whole)} instead of {better}"
                    yield KernelChange(sentence, f"write {better}", "", *file_line, edits, 1, True)

    def _other_operators(self, whole: Node, sites: Sequence[Site]) -> Iterator[KernelChange]:
        """Yield conditions joined by the other of `&&` and `||`, and with the opposite comparisons."""
        joints = [node for node in all_of(whole, "binary_expression") if sign_of(node) in _OTHER_JOINT]
        signs = {sign_of(node) for node in joints}
        comparisons = [
            {child: _OPPOSITE[text_of(child)] for child in site.node.children if text_of(child) in _OPPOSITE}
            for site in sites
        ]
        if len(signs) == 1 and len(joints) == len(sites) - 1:
            (sign,) = signs
            other = _OTHER_JOINT[sign]
            better = replaced(
                whole, {part: other for node in joints for part in node.children if text_of(part) == sign}
            )
            # An edit replaces one comparison: the first becomes the whole, the others have no effect.
            texts = [f"({better})", *["false" if sign == "||" else "true"] * (len(sites) - 1)]
            mistake = f"the conditions are joined by {sign} instead of {other}"
            yield self._of_condition(whole, better, sites, texts, mistake)
        is_of_if = whole.parent is not None and whole.parent.type == "condition_clause"
        if is_of_if and len(joints) == len(sites) - 1:
            better = replaced(whole, {part: sign for edits in comparisons for part, sign in edits.items()})
            texts = [replaced(site.node, edits) for site, edits in zip(sites, comparisons, strict=True)]
            yield self._of_condition(whole, better, sites, texts, "the comparison is the wrong way round")

    def _of_condition(
        self, whole: Node, better: str, sites: Sequence[Site], texts: Sequence[str], mistake: str
    ) -> KernelChange:
        edits = zip(sites, texts, strict=True)
        shown, better = (re.sub(r"\s+", " ", text) for text in (text_of(whole), better))
        return KernelChange(
            f"{mistake}: {shown} instead of {better}", f"write {better}", "", *file_and_line_of(whole),
            tuple((site.node.start_byte, site.node.end_byte, new) for site, new in edits), 3, True,
        )  # fmt: skip

    def _size_in(self, node: Node) -> Node | None:
        """Return the first size in an expression."""
        parts = all_of(node, "identifier", "field_expression")
        return next((part for part in parts if text_of(part) in self._sizes), None)

    def _with_thread(self, site: Site) -> Iterator[KernelChange]:
        """Yield an index of a matrix that does not depend on the thread, with variables of the thread."""
        if site.kind != "index" or site.array not in self._pointers or self.depends_on_thread(site.whole):
            return
        old = text_of(site.node)
        base = "" if old == "0" else f" + {old}"
        names = self._indices_at(site)
        options = [f"{a} * {size} + {b}" for a, b in itertools.permutations(names, 2) for size in self._sizes]
        options = [f"{a} * {size}{base}" for a in names for size in self._sizes] + [
            *(f"{old} + {a}" for a in names),
            *options,
        ]
        for new in options:
            yield self._change(site, new, f"the index of {site.array} does not depend on the thread", 2)

    def _of_no_thread(self, site: Site) -> Iterator[KernelChange]:
        """Yield a variable of the block's index with the thread's: in addition, or instead of the block's."""
        name, _, old = site.shown(text_of(site.node)).partition(" = ")
        if site.kind != "value" or site.array or not old:
            return
        for axis in _AXES:
            thread, blocks = f"threadIdx.{axis}", self._index_of["blockIdx"][axis]
            parts = all_of(site.node, "identifier", "field_expression")
            of_block = [part for part in parts if text_of(part) in blocks]
            if not of_block or self._depends_on_axis(site.node, axis):
                continue
            options = [f"{text_of(site.node)} + {thread}"]
            options += [replaced(site.node, {part: thread}) for part in of_block]
            for new in options:
                yield self._change(site, new, f"the index {name} does not depend on {thread}", 1)

    def _depends_on_axis(self, node: Node, axis: str, above: frozenset[str] = frozenset()) -> bool:
        """Return whether a value depends on one of the thread's indices, also through other variables."""
        values = self._function.first_values
        names = {text_of(name) for name in all_of(node, "identifier")} & values.keys() - above
        return re.search(rf"\bthreadIdx\.{axis}\b", text_of(node)) is not None or any(
            self._depends_on_axis(values[name], axis, above | names) for name in names
        )

    def _indices_at(self, site: Site) -> list[str]:
        """Return the whole numbers of the thread that a site sees, in a tile without its block's."""
        of_blocks = self._of_blocks if site.array in self._shared else set()
        return [
            name
            for name in sorted(self._varying - of_blocks)
            if self._is_visible(name, site.node) and self._is_whole(name) and not self._points(name)
        ]

    def _is_whole(self, name: str) -> bool:
        """Return whether a local variable is a whole number."""
        declared = text_of(self._declared.get(name)).partition("=")[0]
        if "auto" in declared:
            value = self._function.first_values.get(name)
            return value is not None and re.search(r"\d\.|\.\d|\[|\bfloat\b", text_of(value)) is None
        return re.search(r"\b(?:int|unsigned|long|short|s?size_t|u?int\d+_t)\b", declared) is not None

    def _other_axis_of_block(self, site: Site) -> Iterator[KernelChange]:
        """Yield `blockDim.y` for `blockDim.x`, and the other way round."""
        for node in all_of(site.node, "field_expression"):
            name = text_of(node)
            if name in ("blockDim.x", "blockDim.y"):
                other = "blockDim.y" if name == "blockDim.x" else "blockDim.x"
                new = replaced(site.node, {node: other})
                yield self._change(site, new, f"the wrong extent of the block is used, {name}", 1)

    def _lacking_term(self, site: Site) -> Iterator[KernelChange]:
        """Yield an index with a term that it lacks: `B[(t * TILE + ty) * N + col]` for `B[ty * N + col]`.

        A term is the counter of a loop around the index, the tile of a block, or an index of the thread. An
        index that contains the same already, perhaps within a variable, gets no term.
        """
        is_of_tile, is_of_matrix = site.array in self._shared, self._points(site.array)
        is_index = site.kind == "index" and (is_of_tile or is_of_matrix)
        if not is_index and not (site.kind == "value" and self._is_of_matrix_index(site)):
            return
        for term, is_first, rank in self._lacking_at(site):
            for part in parts_of_index(site.node, self._sizes):
                edits = {site: {part.node: part.with_term(term, is_first=is_first)}}
                for bound in bounds_of(part, site, self._sites) if is_of_matrix else ():
                    left = bound.node.child_by_field_name("left")
                    if left is not None:
                        new = Part(left, is_factor=False).with_term(term, is_first=is_first)
                        edits[bound] = {left: new}
                lacks = f"the index of {site.array}" if site.array else f"the value of {self._target(site)}"
                yield self._with_edits(edits, f"{lacks} lacks {term}", rank)

    def _as_elsewhere(self, site: Site) -> Iterator[KernelChange]:
        """Yield `s[t + R]` for `s[t]` if the tile has such an index elsewhere, for a second element."""
        own = text_of(site.node)
        for other in self._sites if site.kind == "index" and site.array in self._shared else ():
            terms = [text_of(term) for term in terms_of(other.node)] if other.array == site.array else []
            if other.kind == "index" and len(terms) == 2 and own in terms:
                (lacking,) = [term for term in terms if term != own] or [own]
                yield self._change(site, text_of(other.node), f"the index of {site.array} lacks {lacking}", 2)

    @staticmethod
    def _target(site: Site) -> str:
        """Return the variable that gets the value of a site."""
        return site.shown("").partition("=")[0].strip()

    def _is_of_matrix_index(self, site: Site) -> bool:
        """Return whether a site is the value of a variable in indices of matrices, and not of tiles."""
        name, around = self._target(site), site.whole.parent
        is_of_loop = name in self._loop_variables() or (around is not None and around.type == "for_statement")
        if is_of_loop or sign_of(site.whole) not in ("", "=") or not self._is_whole(name):
            return False
        scope = self._body
        if site.whole.type == "init_declarator" and around is not None and around.parent is not None:
            scope = around.parent
        indices = [each for each in self._sites if each.array and is_inside(each.node, scope)]
        arrays = {each.array for each in indices if name in self._used_by(each.node)}
        return any(map(self._points, arrays)) and not arrays & self._shared

    def _with_edits(self, edits: Mapping[Site, Mapping[Node, str]], mistake: str, rank: int) -> KernelChange:
        """Return the change of an index, the first of some sites, and of the conditions for it."""
        index, *bounds = edits
        change = self._change(index, replaced(index.node, edits[index]), mistake, rank)
        better = [replaced(bound.node, edits[bound]) for bound in bounds]
        return dataclasses.replace(
            change,
            cure=" and ".join((change.cure, *better)),
            edits=change.edits + tuple(
                (bound.node.start_byte, bound.node.end_byte, new)
                for bound, new in zip(bounds, better, strict=True)
            ),
        )  # fmt: skip

    def _lacking_at(self, site: Site) -> Iterator[tuple[str, bool, int]]:
        """Yield the terms that an index may lack, whether each is the first of a sum, and its rank."""
        used = self._used_by(site.whole if site.kind == "index" else site.node)
        is_of_tile = site.array in self._shared
        for counter in (name for name in counters_at(site.node) if name not in used):
            if (is_of_tile or site.kind == "value") and not used & self._varying:
                continue
            if is_of_tile and self._counts_size(counter):
                continue
            products = [f"{counter} * {tile}" for tile in self._tiles_at(site.node)]
            products.sort(key=lambda text: text.replace(" ", "") not in self._products)
            if not self._counts_by_1(counter, site):
                products = []
            yield from ((product, not is_of_tile, 2 + is_of_tile) for product in products)
            yield counter, not (products or is_of_tile), 2 + is_of_tile
        threads = list(self._axes_of_threads_not_in(used, site))
        if is_of_tile:  # each thread writes an element of its own, and may read those of its row or column
            if _is_written(site.whole) or len(threads) == len(_AXES):
                yield from ((name, False, 2) for name in threads)
            return
        blocks = [kind for kind in self._index_of["blockIdx"] if f"blockIdx.{kind}" not in used]
        if len(blocks) == len(_AXES) or _is_written(site.whole):
            for term in self._tiles_of_blocks(site.node):
                if self._used_by_text(term) & {f"blockIdx.{axis}" for axis in blocks}:
                    yield term, True, 2
        if site.kind == "index":
            stored = ancestors(site.whole)
            target = next(
                (n.child_by_field_name("left") for n in stored if n.type == "assignment_expression"), None
            )
            of_target = list(map(text_of, all_of(target, "identifier", "field_expression"))) if target else []
            yield from ((name, False, 2) for name in threads)
            of_threads = {name for axis in _AXES for name in self._index_of["threadIdx"][axis]}
            of_target = [each for each in of_target if each not in (*of_threads, "threadIdx")]
            of_target = [name for name in of_target if name in self._indices_at(site)]
            for name in dict.fromkeys((*of_target, *self._of_further_axes(site))):
                if name not in used:
                    yield name, False, 2

    def _axes_of_threads_not_in(self, used: Collection[str], site: Site) -> Iterator[str]:
        """Yield the name at a site for each axis of the thread's index that is not among those used."""
        for axis in _AXES:
            names = self._index_of["threadIdx"][axis]
            if f"threadIdx.{axis}" not in used:
                yield next((n for n in names[:-1] if self._is_visible(n, site.node)), names[-1])

    def _of_further_axes(self, site: Site) -> list[str]:
        """Return the variables at a site that depend on an axis of threads or blocks on which it does not."""
        used = self._used_by(site.whole)
        axes = {f"{kind}.{axis}" for kind in ("threadIdx", "blockIdx") for axis in _AXES}
        return [name for name in self._indices_at(site) if self._used_by_text(name) & axes - used]

    @staticmethod
    def _counts_by_1(counter: str, site: Site) -> bool:
        """Return whether a loop around a site counts a variable by 1, and not by tiles."""
        for loop in ancestors(site.node):
            update = loop.child_by_field_name("update") if loop.type == "for_statement" else None
            if update is not None and counter in map(text_of, all_of(update, "identifier")):
                return update.type == "update_expression"
        return False

    def _tiles_of_blocks(self, at: Node) -> list[str]:
        """Return what the kernel names or computes of its block's place, such as `row0` and `by * TILE`."""
        names = [name for name in sorted(self._of_block_alone) if self._is_visible(name, at)]
        named = [name for name in names if self._is_whole(name) and name not in self._index_in_block]
        blocks = [name for axis in _AXES for name in self._index_of["blockIdx"][axis]]
        values = {text_of(value) for name in named for value in self._values_at(name, at)}
        products = [
            text
            for node in all_of(self._body, "binary_expression")
            if _PRODUCT.fullmatch(text := text_of(node)) and any(_names(block, text) for block in blocks)
        ]
        products = [text for text in products if text not in values]
        return list(dict.fromkeys((*named, *products)))

    def _used_by(self, node: Node) -> set[str]:
        """Return the names in an expression, and those in the values of the variables in it."""
        found: set[str] = set()
        pending = [node]
        while pending:
            part = pending.pop()
            for name in all_of(part, "identifier", "field_expression"):
                if (text := text_of(name)) not in found:
                    found.add(text)
                    pending += self._values_at(text, part)
        return found

    def _used_by_text(self, term: str) -> set[str]:
        """Return the names in a term, and those in the values of the variables in it."""
        names = set(re.findall(r"\w+(?:\.\w+)?", term))
        values = [value for name in names for value in self._values_at(name, None)]
        return names.union(*map(self._used_by, values))

    def _values_at(self, name: str, at: Node | None) -> list[Node]:
        """Return the values of a variable; if several have one name, of those that a place sees."""
        values = self._assigned.get(name, [])
        visible = [
            value
            for value, scope in values
            if at is None or scope is None or (scope.start_byte <= at.start_byte < scope.end_byte)
        ]
        return visible or [value for value, _ in values]

    @functools.cached_property
    def _assigned(self) -> dict[str, list[tuple[Node, Node | None]]]:
        """The values of each variable, with the block in which it is declared."""
        found: dict[str, list[tuple[Node, Node | None]]] = {}
        for node in all_of(self._body, "init_declarator", "assignment_expression"):
            is_declared = node.type == "init_declarator"
            target = node.child_by_field_name("declarator" if is_declared else "left")
            value = node.child_by_field_name("value" if is_declared else "right")
            if target is not None and value is not None:
                scope = node.parent.parent if is_declared and node.parent is not None else None
                name = declared_name(target) if is_declared else text_of(target)
                found.setdefault(name, []).append((value, scope))
        return found

    def _without_parentheses(self, site: Site) -> Iterator[KernelChange]:
        """Yield `(t * TILE + ty) * N` for `t * TILE + ty * N`."""
        if site.kind not in ("index", "value"):
            return
        numbers = {text_of(node) for node in all_of(site.node, "number_literal")} - {"0", "1"}
        for total, new in with_parentheses(site.node, {*self._sizes, *self._tiles, *numbers}):
            yield self._change(site, replaced(site.node, {total: new}), "parentheses are missing", 2)

    def _counts_size(self, counter: str) -> bool:
        """Return whether a loop counts a variable up to a size, and not along a thread's own tile."""
        loops = (loop.child_by_field_name("condition") for loop in all_of(self._body, "for_statement"))
        conditions = [{*map(text_of, all_of(node, "identifier"))} for node in loops if node]
        return any(counter in names and names & {*self._sizes} for names in conditions)

    def _counter_for_literal(self, site: Site) -> Iterator[KernelChange]:
        """Yield `sums[i] = 0` for `sums[0] = 0` in a loop over i."""
        if site.kind == "index" and site.node.type == "number_literal" and site.array in self._declared:
            for counter in counters_at(site.node):
                yield self._change(site, counter, f"the index of {site.array} lacks {counter}", 2)

    def _other_literal(self, site: Site) -> Iterator[KernelChange]:
        """Yield `As[i + 3]` for `As[i + 2]` if two statements write that, or another sum is `i + 3`.

        Also `tx + TILE` for `tx + 1`.
        """
        shown = text_of(site.whole)
        twins = [s for s in self._sites if text_of(s.whole) == shown and _is_written(s.whole)]
        are_twins = len({s.whole.start_byte for s in twins}) > 1
        for node in all_of(site.node, "number_literal") if site.kind in ("index", "value") else ():
            value, around = text_of(node), node.parent
            is_added = around is not None and sign_of(around) in ("+", "-")
            for tile in self._tiles if is_added and value == "1" else ():
                if any(text.endswith(f"+{tile}") for text in self._sums):  # `tx + TILE` elsewhere
                    yield self._change(site, replaced(site.node, {node: tile}), "1 is added for a tile", 0)
            if site.kind == "value" or not value.isdigit() or not (is_added or node == site.node):
                continue
            near = [int(value) + 1, int(value) - 1] if are_twins and _is_written(site.whole) else []
            for other in near:
                new = replaced(site.node, {node: str(other)})
                if other >= 0:
                    yield self._change(site, new, "two statements write one element", 1)
            base = text_of(around.child_by_field_name("left")) if around is not None and is_added else ""
            for added in sorted(found[1] for text in self._sums if (found := _ADDED.fullmatch(text))):
                if base and f"{base}+{added}" in self._sums and added != value:
                    new = replaced(site.node, {node: added})
                    yield self._change(site, new, f"the wrong number is added to {base}, {value}", 1)

    def _part_of_size(self, site: Site) -> Iterator[KernelChange]:
        """Yield `col < N / 2` for `col < N`, and so in an index, of a kernel with vectors of 2 elements."""
        is_place = site.kind == "condition" or (site.kind == "index" and site.array not in self._shared)
        width = _VECTOR.search(text_of(self._function.node)) if is_place else None
        size = self._size_in(site.node) if width else None
        if width and size is not None and site.kind == "index":
            new = replaced(site.node, {size: f"({text_of(size)} / {width[1]})"})
            mistake = f"a row has {text_of(size)} / {width[1]} vectors of {width[1]} elements"
            yield self._change(site, new, mistake, 1)
        elif width and size is not None and not (size.parent and sign_of(size.parent) == "/"):
            new = replaced(site.node, {size: f"{text_of(size)} / {width[1]}"})
            mistake = f"the condition has the size in elements, and the index counts {width[1]} at once"
            yield self._change(site, new, mistake, 2)

    def _in_vectors(self) -> Iterator[KernelChange]:
        """Yield `((float4 *)A)[i / 4]` for `((float4 *)A)[i]`: each, and all at once."""
        divided = [(site, new) for site in self._sites for new in self._indices_in_vectors(site)]
        changes = [
            self._change(site, new, f"the index counts elements, and a {vector[0]} has {vector[1]}", 1)
            for site, new in divided
            if (vector := self._vector_of(site)) is not None
        ]
        yield from changes
        firsts = list({change.edits[0][:2]: change for change in reversed(changes)}.values())[::-1]
        if len({change.line for change in firsts}) > 1:
            cure = ", and ".join(f"{change.cure} in line {change.line}" for change in firsts)
            edits = tuple(dict.fromkeys(edit for change in firsts for edit in change.edits))
            yield dataclasses.replace(firsts[0], cure=cure, edits=edits, array="")

    def _indices_in_vectors(self, site: Site) -> Iterator[str]:
        """Yield the index of vectors for one of elements, divided by 4; also without its last term."""
        vector, terms = self._vector_of(site), terms_of(site.node)
        if vector is None:
            return
        width, pointer = vector[1], ""
        if site.whole.type == "pointer_expression":
            pointer, *terms = f"{text_of(terms[0])} + ", *terms[1:]
        texts = list(map(text_of, terms))
        divided = [re.search(rf"/\s*{width}\b", text) is not None for text in texts]
        if all(divided) or texts == ["0"]:
            return
        if any(divided):
            parts = zip(texts, divided, strict=True)
            yield pointer + " + ".join(text if is_done else f"{text} / {width}" for text, is_done in parts)
            return
        for first, rest in ((texts, ""), (texts[:-1], f" + {texts[-1]}")):
            total = " + ".join(first)
            is_factor = _is_enclosed(total) or re.fullmatch(r"[\w.]+", total)
            if first:
                yield f"{pointer}{total if is_factor else f'({total})'} / {width}{rest}"

    def _vector_of(self, site: Site) -> re.Match[str] | None:
        """Return the type of vectors to which the pointer of an index points; None for other pointers."""
        pointer = site.whole.child_by_field_name("argument")
        if site.whole.type == "pointer_expression":
            pointer = terms_of(site.node)[0]
        if site.kind != "index" or pointer is None:
            return None
        declared = text_of(self._declared.get(text_of(pointer))).partition("=")[0]
        return _VECTOR.search(text_of(pointer)) or (_VECTOR.search(declared) if "*" in declared else None)

    def _other_buffer(self) -> Iterator[KernelChange]:
        """Yield another first index of all shared arrays that have one variable as their first index."""
        groups: dict[tuple[str, bool, Node | None], list[Site]] = {}
        for site in self._sites:
            inner = site.whole
            while inner.type == "subscript_expression":
                argument = inner.child_by_field_name("argument")
                if argument is None or argument.type != "subscript_expression":
                    break
                inner = argument
            is_first = inner != site.whole and inner.start_byte <= site.node.start_byte < inner.end_byte
            if site.kind == "index" and is_first and site.array in self._shared:
                loop = next((n for n in ancestors(site.whole) if n.type in LOOPS), None)
                groups.setdefault((text_of(site.node), _is_written(site.whole), loop), []).append(site)
        names = dict.fromkeys(name for name, *_ in groups)
        flips = [
            name
            for name, node in self._function.first_values.items()
            if re.search(r"\^\s*1\b|\b1\s*-|%\s*2\b|&\s*1\b|!", text_of(node))
        ]
        for (name, is_written, _), sites in groups.items():
            if name in self._varying or name.isdigit():
                continue
            for other in dict.fromkeys(
                (*flips, *names, f"1 - {name}" if name.isidentifier() else f"1 - ({name})")
            ):
                is_usable = other not in self._declared or all(
                    self._is_visible(other, s.node) and other not in self._varying for s in sites
                )
                if other == name or other.isdigit() or not is_usable:
                    continue
                verb = "written" if is_written else "read"
                lines = [file_and_line_of(site.node) for site in sites]
                numbers = sorted({line for _, line in lines})
                also = f" in lines {', '.join(map(str, numbers))}" if len(numbers) > 1 else ""
                better = ", ".join(dict.fromkeys(site.shown(other) for site in sites))
                arrays = " and ".join(dict.fromkeys(site.array for site in sites))
                yield KernelChange(
                    f"the wrong buffer is {verb}: the first index of {arrays} is {name} instead of {other}",
                    f"write {better}{also}", sites[0].array, *lines[0],
                    tuple((s.node.start_byte, s.node.end_byte, other) for s in sites), 1,
                )  # fmt: skip

    def _of_outer_sums(self) -> Iterator[KernelChange]:
        """Yield a sum that is set to 0 for each step of a loop that stores it to C."""
        for loop in all_of(self._body, "for_statement"):
            body, condition = loop.child_by_field_name("body"), loop.child_by_field_name("condition")
            if body is None or condition is None:
                continue
            assigned = [(n.child_by_field_name("left"), n) for n in all_of(body, "assignment_expression")]
            stored = {
                text_of(name)
                for left, node in assigned
                if left is not None and base_of(left) in self._pointers
                for name in all_of(node.child_by_field_name("right") or node, "identifier")
            }
            for left, node in assigned:
                name = _base_of_sum(left) if left is not None and sign_of(node) == "+=" else ""
                declared = self._declared.get(name)
                is_outside = declared is not None and not (
                    loop.start_byte <= declared.start_byte < loop.end_byte
                )
                if declared is None or not is_outside or name not in stored or name in self._shared:
                    continue
                zero = f"(__builtin_memset(&{name}, 0, sizeof {name}), 0)"
                line = file_and_line_of(loop)[1]
                counters = counters_at(body)
                of = f" over {counters[0]}" if counters else ""
                yield KernelChange(
                    f"{'the sum ' * (name != 'sum')}{name} is not set to 0 again for each step of the "
                    f"loop{of} in line {line}: the next result contains the sums of those before",
                    f"set {name} to 0 at the beginning of the body of the loop in line {line}", "",
                    *file_and_line_of(declared), ((condition.start_byte, condition.start_byte, zero),), 1,
                )  # fmt: skip

    def _swapped_indices(self) -> Iterator[KernelChange]:
        """Yield each element such as `As[tx][ty]` with its two indices swapped."""
        groups: dict[tuple[str, bool, str, str], list[tuple[Site, Site]]] = {}
        for inner, outer in itertools.product(self._sites, repeat=2):
            if inner.kind == outer.kind == "index" and inner.whole == outer.whole:
                first, second = text_of(inner.node), text_of(outer.node)
                if inner.node.end_byte < outer.node.start_byte and first != second:
                    kind = (inner.array, _is_written(inner.whole), first, second)
                    groups.setdefault(kind, []).append((inner, outer))
        for (array, is_written, first, second), pairs in groups.items():
            inner = pairs[0][0]  # `tile.rows` of `tile.rows[i][j]`
            base = (inner.whole.text or b"")[: inner.node.start_byte - inner.whole.start_byte].decode()
            base = base.rpartition("[")[0]
            new = f"{base}[{second}][{first}]"
            lines = list(dict.fromkeys(file_and_line_of(inner.node) for inner, _ in pairs))
            numbers = [str(line) for _, line in lines]
            places = f" in lines {', '.join(numbers[:-1])} and {numbers[-1]}" if len(lines) > 1 else ""
            edits = tuple(
                (site.node.start_byte, site.node.end_byte, text)
                for inner, outer in pairs
                for site, text in ((inner, second), (outer, first))
            )
            old = f"{base}[{first}][{second}]"
            sentence = (
                f"{TWO_INDICES} {array} are swapped where it is {'written' if is_written else 'read'}: "
            )
            yield KernelChange(
                f"{sentence}{old} instead of {new}", f"write {new}{places}",
                array, *lines[0], edits, 1 + self._strangeness(second, first),
            )  # fmt: skip

    def _exchanged_indices(self) -> Iterator[KernelChange]:
        """Yield the elements of two tiles that a loop over terms multiplies with other indices of both."""
        read = [
            site
            for site in self._sites
            if site.kind == "index" and site.array in self._shared and not _is_written(site.whole)
        ]
        extents: dict[str, list[str]] = {}
        for name in {site.array for site in read}:
            declared = all_of(self._declared[name], "array_declarator") if name in self._declared else ()
            of_name = [node.child_by_field_name("size") for node in declared if declared_name(node) == name]
            parts = [all_of(size, *_PLAIN) for size in of_name if size is not None]
            extents[name] = [text_of(part) for each in parts for part in each]
        variables = self._varying - self._loop_variables() - {"threadIdx", "blockIdx"}
        yield from exchanged_indices(
            all_of(self._body, "for_statement"), read, extents, variables,
            functools.partial(self._with_axes_swapped, kind="threadIdx"),
            lambda first, second: not self._strangeness(first, second),
        )  # fmt: skip

    def _strangeness(self, first: str, second: str) -> int:
        """Return 0 for usual indices of a tile such as `[ty][k]` and `[k][tx]`, and 2 for `[tx][k]`."""
        x, y = (self._index_of["threadIdx"][axis] for axis in _AXES)
        return 2 * (any(_names(name, first) for name in x) or any(_names(name, second) for name in y))

    def _without_comma(self) -> Iterator[KernelChange]:
        """Yield each index with a comma, `A[row * K + k, K]` or `As[ty, tx]`, without it."""
        for node in all_of(self._body, "subscript_expression"):
            indices = node.child_by_field_name("indices")
            given = outer = indices.named_children if indices else []
            while len(given) == 1 and given[0].type == "parenthesized_expression":
                given = given[0].named_children
            if len(given) == 1 and given[0].type == "comma_expression":
                given = given[0].named_children
            if len(given) != 2 or indices is None:
                continue
            base, old = text_of(node.child_by_field_name("argument")), text_of(node)
            left, right = map(text_of, given)
            file, line = file_and_line_of(node)
            extents = self._extents_of(base)
            options = [
                left,
                f"{left} + {right}",
                *(f"({left}) * {size} + {right}" for size in (*extents, *self._sizes)),
            ]
            for new in options:
                sentence = (
                    f"the comma in {old} throws away its left operand: it is {base}[{right}], and "
                    "compilers warn that the left operand of the comma operator has no effect"
                )
                edit = (outer[0].start_byte, outer[-1].end_byte, new)
                yield KernelChange(sentence, f"write {base}[{new}]", base, file, line, (edit,), 0)

    def _extents_of(self, array: str) -> list[str]:
        """Return the number of columns of a local or shared array, as it is declared; empty if unknown."""
        declared = self._declared.get(array)
        declarators = all_of(declared, "array_declarator") if declared else ()
        return [text_of(node.child_by_field_name("size")) for node in declarators][:1]

    def _swapped_everywhere(self) -> Iterator[KernelChange]:
        """Yield what belongs together with x and y of the thread's, or the block's, index swapped at once.

        That is all variables, or the indices in the value of one assignment.
        """
        assigned = [n.child_by_field_name("right") for n in all_of(self._body, "assignment_expression")]
        indices = [s for s in self._sites if s.kind == "index"]
        of_one = [
            [s for s in indices if node.start_byte <= s.node.start_byte and s.node.end_byte <= node.end_byte]
            for node in assigned
            if node is not None
        ]
        for kind, sites in itertools.product(("threadIdx", "blockIdx"), (self._sites, *of_one)):
            names = {*self._index_of[kind]["x"], *self._index_of[kind]["y"]}
            is_of_one = sites is not self._sites
            values = [s for s in sites if is_of_one or (s.kind == "value" and text_of(s.node) not in names)]
            swapped = [(s, self._with_axes_swapped(s.node, kind)) for s in values]
            edits = [(s, new) for s, new in swapped if new is not None and new != text_of(s.node)]
            is_clear = not is_of_one or len({s.whole for s, _ in edits}) == len(edits)
            if len(edits) > 1 and is_clear:
                file, line = file_and_line_of(edits[0][0].node)
                shown = ", ".join(s.shown(text_of(s.node)) for s, _ in edits)
                better = ", ".join(s.shown(new) for s, new in edits)
                sentence = f"x and y of {kind} are swapped: {shown} instead of {better}"
                all_edits = tuple((s.node.start_byte, s.node.end_byte, new) for s, new in edits)
                yield KernelChange(sentence, f"write {better}", "", file, line, all_edits, 1)

    def _swapped_in_matrices(self) -> Iterator[KernelChange]:
        """Yield two variables of the thread swapped in the indices of all matrices; the conditions stay."""
        sites = [site for site in self._sites if site.kind == "index" and site.array in self._pointers]
        variables = self._varying if self._function.is_kernel else self._varying.union(self._sizes)
        names = {text_of(node) for site in sites for node in all_of(site.node, "identifier")} & variables
        for one, other in itertools.combinations(sorted(names), 2):
            swap = {one: other, other: one}
            new = {
                site: replaced(site.node, edits)
                for site in sites
                if (
                    edits := {
                        n: swap[text_of(n)] for n in all_of(site.node, "identifier") if text_of(n) in swap
                    }
                )
            }
            if len(new) > 1:
                shown = ", ".join(site.shown(text_of(site.node)) for site in new)
                better = ", ".join(site.shown(text) for site, text in new.items())
                sentence = f"{TWO_VARIABLES} in all indices, {one} and {other}: {shown} instead of {better}"
                edits_of_all = tuple((s.node.start_byte, s.node.end_byte, text) for s, text in new.items())
                place = file_and_line_of(sites[0].node)
                yield KernelChange(sentence, f"write {better}", "", *place, edits_of_all, 2)

    def _second_shared_array(self) -> Iterator[KernelChange]:
        """Yield pointers to one shared array that are equal, with the second half of it for the second."""
        pointers: dict[str, list[Node]] = {}
        for node in all_of(self._body, "init_declarator"):
            value = node.child_by_field_name("value")
            names = [text_of(n) for n in all_of(value, "identifier")] if value else []
            is_whole = value is not None and re.search(r"\+|\[(?!0\])", text_of(value)) is None
            if len(names) and names[-1] in self._shared and is_whole:
                pointers.setdefault(names[-1], []).append(node)
        for array, nodes in pointers.items():
            value = nodes[1].child_by_field_name("value") if len(nodes) == 2 else None
            if value is None:
                continue
            first, second = (declared_name(n.child_by_field_name("declarator")) for n in nodes)
            mistake = (
                f"two arrays begin at the same address of {array}: {first} and {second} overwrite each other"
            )
            for offset in self._offsets_in(array):
                new = f"{text_of(value)} + {offset}"
                yield KernelChange(
                    mistake, f"let {second} begin behind {first}, for example at {new}", second,
                    *file_and_line_of(value), ((value.start_byte, value.end_byte, new),), 0,
                )  # fmt: skip
        yield from self._two_dynamic_arrays()

    def _two_dynamic_arrays(self) -> Iterator[KernelChange]:
        """Yield uses of the second of two `extern __shared__` arrays as if it began behind the first."""
        declared = {name: node for name, node in self._declared.items() if name in self._dynamic}
        if len(declared) != 2:
            return
        first, second = declared
        one, other = (file_and_line_of(node)[1] for node in declared.values())
        uses = [
            node
            for node in all_of(self._body, "identifier")
            if text_of(node) == second and node.start_byte > declared[second].end_byte
        ]
        for offset in self._offsets_in(first):
            edits = tuple((node.start_byte, node.end_byte, f"({second} + {offset})") for node in uses)
            sentence = (
                f"the arrays {first} and {second} of lines {one} and {other} begin at the same address, as "
                "all extern __shared__ arrays of a kernel do: they overwrite each other"
            )
            behind = f"{first} + {offset}"
            cure = f"declare {first} only, and let {second} be a pointer behind it, for example {behind}"
            yield KernelChange(sentence, cure, second, *file_and_line_of(declared[second]), edits, 0)

    def _offsets_in(self, array: str) -> list[str]:
        """Return where the second of two arrays may begin within a shared array, in elements."""
        extents = [] if array in self._dynamic else self._extents_of(array)
        size = number_in(self._text, extents[0]) if extents else self._shared_elements
        if size is None:  # it depends on a parameter of a template
            return [f"({extents[0]}){f' * {part}' * (part > 1)} / {whole}" for part, whole in _SHARES]
        return [str(size * part // whole) for part, whole in _SHARES if size > 1 and size * part % whole == 0]


_SHARES = ((1, 2), (2, 3), (1, 3), (4, 5), (1, 5), (8, 9), (1, 9))
"""Shares of a shared array that the first of two arrays in it may have."""


_PLAIN = ("identifier", "number_literal")
_GROUPED = ("field_expression", "parenthesized_expression")

_VECTOR = re.compile(r"\b(?:half|__half|float|double|u?int|char|__nv_bfloat16)_?([24])\b")
"""The type of a vector of elements."""

_CLAMPED = re.compile(r"\bmin\s*\(\s*([\w.]+(?:\s*\+\s*[\w.]+)*)\s*,\s*(\w+)\s*-\s*1\s*\)")
"""An index that ends at the last element, such as `min(k, K - 1)`."""

_ADDED = re.compile(r".*\+(\d+)")
"""A sum whose last term is a number."""

_OTHER_JOINT = {"&&": "||", "||": "&&"}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

_PRODUCT = re.compile(r"[\w.]+\s*\*\s*[\w.]+")
"""A product of two names, such as `blockIdx.y * TILE`."""

_NAME = re.compile(r"[A-Za-z_]\w*|blockDim\.[xy]|\d+")
"""What may be the extent of a tile: a name, or a number."""


def _names(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}\b", text) is not None


def _is_same_number(one: str, other: str) -> bool:
    return one.isdigit() and other.isdigit() and int(one) == int(other)


def _is_rounded_up(dividend: str, divisor: str) -> bool:
    """Return whether a quotient counts tiles: `(N + TILE - 1) / TILE`, `(N + 15) / 16` or `(N - 1) / 16`."""
    plain = re.sub(r"[\s()]", "", dividend)
    less = f"+{int(divisor) - 1}" if divisor.isdigit() else f"-1+{divisor}"
    return plain.endswith(("-1", less))


def _factors_beside(node: Node) -> list[Node]:
    """Return the other factors of the product to which an expression belongs."""
    found: list[Node] = []
    around = node.parent
    while around is not None and (
        around.type == "parenthesized_expression"
        or (around.type == "binary_expression" and sign_of(around) == "*")
    ):
        found += all_of(around, "identifier", "field_expression", "number_literal")
        around = around.parent
    return [part for part in found if part != node]


def _is_factor(node: Node) -> bool:
    around = node.parent
    while around is not None and around.type == "parenthesized_expression":
        around = around.parent
    return around is not None and around.type == "binary_expression" and sign_of(around) == "*"


def _base_of_sum(node: Node) -> str:
    """Return the variable that an assignment sets, or whose element or member it sets."""
    if node.type == "field_expression":  # `sum.x`
        node = node.child_by_field_name("argument") or node
    return base_of(node) if node.type == "subscript_expression" else text_of(node)


def _whole_condition(node: Node) -> Node:
    """Return `i < M && j < N` for its part `i < M`."""
    while node.parent is not None and node.parent.type in ("binary_expression", "parenthesized_expression"):
        node = node.parent
    while node.type == "parenthesized_expression":
        node = node.named_children[0]
    return node


def _conjuncts(node: Node) -> list[Node]:
    """Return the parts of a condition that are joined by &&; the condition itself if it has no such parts."""
    if node.type == "parenthesized_expression" and node.named_child_count == 1:
        return _conjuncts(node.named_children[0])
    if node.type == "binary_expression" and sign_of(node) == "&&":
        sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        return [part for side in sides if side is not None for part in _conjuncts(side)]
    return [node]


def _has_subscript(node: Node) -> bool:
    return any(all_of(node, "subscript_expression"))


def _outermost(node: Node) -> Node:
    """Return `A[i][j]` for its part `A[i]`."""
    while node.parent is not None and node.parent.type == "subscript_expression":
        if node.parent.child_by_field_name("argument") != node:
            break
        node = node.parent
    return node


_TRUTHS = ("<", "<=", ">", ">=", "&&", "||")
"""Operators whose results are true or false."""

_OF_AXIS = re.compile(r"\b(?:thread|block)Idx\.([xy])")
"""An index of a thread or a block, with its axis."""


def _is_written(node: Node) -> bool:
    around = node.parent
    return (
        around is not None
        and around.type == "assignment_expression"
        and around.child_by_field_name("left") == node
    )
