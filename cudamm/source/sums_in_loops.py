"""Changes that set a sum to 0 once before a loop, where each step of the loop sets it to 0 again."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from tree_sitter import Node

from cudamm.source.changed_expression import KernelChange, sign_of
from cudamm.source.parsed_source import all_of, declared_name, file_and_line_of, is_inside, text_of

LOOPS = ("for_statement", "while_statement", "do_statement")
"""Types of the nodes of loops."""

_CALLED = re.compile(r"[A-Za-z_]\w*(?:<\w+>)?\s*(?=[({])|\(\s*[a-z_]\w*\s*\)")
"""What makes a number of another type: `make_float4` of `make_float4(0, 0, 0, 0)`, and a cast."""

_ZEROS = re.compile(r"(?:[\s,{}()]|(?:0+\.?0*|\.0+)[fFuUlL]*)*")

_FILLED = re.compile(r"(?:\w+::)*fill_fragment\s*\(\s*(\w+)\b.*,(.*)\)", re.DOTALL)


def is_zero(value: Node) -> bool:
    """Return whether an expression is 0 in any of the ways in which kernels write it: `0.0f`, `{}`."""
    return _ZEROS.fullmatch(_CALLED.sub("", text_of(value))) is not None


def sums_before_loops(
    body: Node, pointers: Collection[str], used_by: Callable[[Node], set[str]]
) -> Iterator[KernelChange]:
    """Yield each loop with its sums declared and set to 0 before it: with all of its sums, and with each one.

    A loop is left out whose counter is in the index of a store to C: each of its steps has sums of its own.

    Args:
        body: the function's.
        pointers: the parameters that are pointers.
        used_by: returns the names in an expression, and those in the values of the variables in it.
    """
    assigned = list(all_of(body, "assignment_expression"))
    filled = [
        (node, found[1])
        for node in all_of(body, "call_expression")
        if (found := _FILLED.fullmatch(text_of(node))) and _ZEROS.fullmatch(_CALLED.sub("", found[2]))
    ]
    sums = {_variable_of(node) for node in assigned if sign_of(node) == "+="} | {name for _, name in filled}
    declared = [
        node
        for node in all_of(body, "declaration")
        if (node.parent is None or node.parent.type not in LOOPS)  # `int i = 0` of a loop
        and {*map(declared_name, node.children_by_field_name("declarator"))} <= sums
        and not re.search(r"\b__shared__|\bstatic\b|&", text_of(node))
    ]
    for loop in all_of(body, *LOOPS):
        counters = _counters_of(loop)
        stores = [
            left
            for node in assigned
            if is_inside(node, loop)
            and (left := node.child_by_field_name("left")) is not None
            and {*map(text_of, all_of(left, "identifier"))} & {*pointers}
        ]
        if any(counters & used_by(left) for left in stores):
            continue
        added = {_variable_of(node) for node in assigned if sign_of(node) == "+=" and is_inside(node, loop)}
        added |= {name for node, name in filled if is_inside(node, loop)}
        set_to_zero: list[tuple[Node, list[Node], list[Node]]] = []
        for node in declared:
            names = {*map(declared_name, node.children_by_field_name("declarator"))}
            resets = [
                each
                for each in assigned
                if _variable_of(each) in names and sign_of(each) == "=" and is_inside(each, loop)
                if (value := each.child_by_field_name("right")) is not None and is_zero(value)
            ]
            fills = [each for each, name in filled if name in names and is_inside(each, loop)]
            if names <= added and (is_inside(node, loop) or resets or fills):
                set_to_zero.append((node, resets, fills))
        all_at_once = [set_to_zero] if len(set_to_zero) > 1 else []
        for chosen in [*all_at_once, *([each] for each in set_to_zero)]:
            yield from _before(loop, chosen)


def _before(loop: Node, chosen: Sequence[tuple[Node, list[Node], list[Node]]]) -> Iterator[KernelChange]:
    """Yield a loop with declarations of sums before it, if each sum begins with 0.

    Args:
        chosen: each declaration, with the assignments and the calls in the loop that set its sums to 0.
    """
    edits, before = [], ""
    for node, resets, fills in chosen:
        start = node.children_by_field_name("declarator")[0].start_byte
        own = []
        for declarator in node.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value")
            if value is not None and not is_zero(value):
                return
            own.append(text_of(declarator) + ("" if value is not None or fills else " = {}"))
        new = ", ".join(own) + ";"
        if is_inside(node, loop):
            c_type = (node.text or b"")[: start - node.start_byte].decode()
            before += f"{' '.join(c_type.split())} {' '.join(new.split())} "
            edits.append((node.start_byte, node.end_byte, ";"))
        else:
            edits.append((start, node.end_byte, new))
        for fill in fills:
            edits.append((fill.start_byte, fill.end_byte, "(void)0"))
        before += "".join(f"{' '.join(text_of(fill).split())}; " for fill in fills[:1])
        for reset in resets:
            left, value = reset.child_by_field_name("left"), reset.child_by_field_name("right")
            if value is not None:
                edits.append((value.start_byte, value.end_byte, text_of(left)))
    keyword = loop.children[0]
    edits.append((keyword.start_byte, keyword.end_byte, f"{{ {before}{text_of(keyword)}"))
    edits.append((loop.end_byte - 1, loop.end_byte, f"{text_of(loop)[-1]} }}"))
    nodes = [node for node, _, _ in chosen]
    places = [node if is_inside(node, loop) else (resets + fills)[0] for node, resets, fills in chosen]
    names = " and ".join(
        declared_name(each) for node in nodes for each in node.children_by_field_name("declarator")
    )
    counters, line = _counters_of(loop), file_and_line_of(loop)[1]
    over = f" over {' and '.join(sorted(counters))}" if len(counters) == 1 else ""
    is_declared = is_inside(nodes[0], loop)
    shown = " ".join(text_of(places[0]).split()).rstrip(";")
    what, it = f"set {names}", "them" if " and " in names else "it"
    if is_declared:
        what = f"declare {names} and set {it}"
    yield KernelChange(
        f"each step of the loop{over} in line {line} begins with a sum of 0 again, and C gets the sum of the "
        f"last step alone: {shown} is inside the loop",
        f"{what} to 0 once, before the loop in line {line}", "", *file_and_line_of(places[0]),
        tuple(sorted(edits)), 0,
    )  # fmt: skip


def _counters_of(loop: Node) -> set[str]:
    """Return the variables in the condition of a loop that the loop changes."""
    condition = loop.child_by_field_name("condition")
    changed = {
        text_of(node.child_by_field_name("left") or node.child_by_field_name("argument"))
        for node in all_of(loop, "assignment_expression", "update_expression")
    }
    return {text_of(node) for node in all_of(condition, "identifier")} & changed if condition else set()


def _variable_of(assignment: Node) -> str:
    """Return the variable that an assignment changes, or of which it changes an element or a member."""
    node = assignment.child_by_field_name("left")
    while node is not None and node.type in ("subscript_expression", "field_expression"):
        node = node.child_by_field_name("argument")
    return text_of(node)
