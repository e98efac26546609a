"""Loops of a kernel that never end: nothing that they do changes what their condition says."""

from __future__ import annotations

import re

from tree_sitter import Node

from cudamm.source.changed_expression import sign_of
from cudamm.source.parsed_source import all_of, ancestors, file_and_line_of, is_inside, parsed, text_of
from cudamm.source.sums_in_loops import LOOPS

_LEAVES = ("break_statement", "return_statement", "goto_statement")
_UNKNOWN = ("call_expression", "subscript_expression", "pointer_expression")
"""What may give a condition another value each time: shared memory, or another function."""

_CHANGES = {
    "assignment_expression": "left",
    "update_expression": "argument",
    "call_expression": "arguments",
    "pointer_expression": "argument",
}
"""What may change a variable, with the part in which the variable is."""


def endless_loop_in(text: str) -> tuple[str, str, str, int] | None:
    """Return the only loop that cannot end once a thread has entered it, such as `for (k = 0; k < K; j++)`.

    Returns:
        what is wrong, what to do, and the file and the line of the loop; None if no loop, or several, are so.
    """
    found = [each for loop in all_of(parsed(text), *LOOPS) if (each := _endless(loop))]
    return found[0] if len(found) == 1 else None


def _endless(loop: Node) -> tuple[str, str, str, int] | None:
    condition = loop.child_by_field_name("condition")
    while condition is not None and condition.type in ("condition_clause", "parenthesized_expression"):
        condition = condition.named_children[-1]
    if condition is None or any(all_of(loop, *_LEAVES)) or any(all_of(condition, *_UNKNOWN)):
        return None
    members = [text_of(node) for node in all_of(condition, "field_expression")]
    methods = any(
        "." in text_of(call.child_by_field_name("function")) for call in all_of(loop, "call_expression")
    )
    if members and (methods or any("->" in member for member in members)):
        return None
    names = {text_of(name) for name in all_of(condition, "identifier")}
    update = loop.child_by_field_name("update")
    if not names or names & _changed_in(loop):
        return _moving_end(loop, condition)
    if any(_other_threads_may_change(name, loop) for name in names):
        return None
    shown = " ".join(text_of(condition).split())
    file, line = file_and_line_of(loop)
    why = f"the loop in line {line} never ends: nothing in it changes what {shown} says"
    left = condition.child_by_field_name("left")
    counter = text_of(left) if left is not None and left.type == "identifier" else ""
    cure = f"change {counter or ' or '.join(sorted(names))} in each step of the loop"
    if update is not None and text_of(update):
        why += f", and each step ends with {text_of(update)}"
        if sign_of(update) == "=" and counter == text_of(update.child_by_field_name("left")):
            why += f", which gives {counter} the same value each time"
            value = text_of(update.child_by_field_name("right"))
            cure = f"change {counter} in each step, such as {counter} += {value}"
    return why, cure, file, line


def _other_threads_may_change(name: str, at: Node) -> bool:
    """Return whether a variable is in shared or global memory, where a thread may wait for another one."""
    *_, file = ancestors(at)
    declared = rf"\b(?:__shared__|__device__|__managed__)\b[^;(){{}}]*\b{re.escape(name)}\b"
    return re.search(declared, text_of(file)) is not None


def _moving_end(loop: Node, condition: Node) -> tuple[str, str, str, int] | None:
    """Return the same of a loop whose steps move its end, and not its counter: `k < n; n++`."""
    update = loop.child_by_field_name("update")
    sides = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    if update is None or None in sides or sign_of(condition) not in ("<", "<="):
        return None
    body, (counter, end) = loop.child_by_field_name("body"), map(text_of, sides)
    in_body = _changed_in(body) if body is not None else set()
    is_moving = text_of(update).replace(" ", "") in (f"{end}++", f"++{end}")
    if not end.isidentifier() or {counter, end} & in_body or not is_moving:
        return None
    file, line = file_and_line_of(loop)
    moves = text_of(update)
    why = f"the loop in line {line} never ends: each step moves its end with {moves}, and {counter} stays"
    return why, f"change {counter} in each step: {moves.replace(end, counter)}", file, line


def _changed_in(loop: Node) -> set[str]:
    """Return the names of variables that the steps of a loop may change."""
    update, begin = loop.child_by_field_name("update"), loop.child_by_field_name("initializer")
    changed: set[str] = set()
    for node in all_of(loop, *_CHANGES):
        if begin is not None and is_inside(node, begin):
            continue
        if node.type == "pointer_expression" and not text_of(node).startswith("&"):
            continue
        called = node.child_by_field_name("function")
        if called is not None and called.type == "identifier" and not _may_change(text_of(called), loop):
            continue
        target = node.child_by_field_name(_CHANGES[node.type])
        while target is not None and target.type == "subscript_expression":  # changes no index
            target = target.child_by_field_name("argument")
        names = {text_of(name) for name in all_of(target, "identifier")} if target else set()
        if node == update and sign_of(node) == "=":  # such as i = STEP, which gives i one value
            value = node.child_by_field_name("right")
            used = {text_of(name) for name in all_of(value, "identifier")} if value else set()
            body = loop.child_by_field_name("body")
            is_end = text_of(value) == "0"  # `for (once = 1; once; once = 0)`
            names = names if body is None or is_end or used & (names | _changed_in(body)) else set()
        changed |= names
    return changed


def _may_change(function: str, at: Node) -> bool:
    """Return whether a function of the file, or a macro, may change its arguments; fmaf() does not."""
    *_, file = ancestors(at)
    defined = rf"\b{re.escape(function)}\s*\([^(){{}};]*&|#\s*define\s+{re.escape(function)}\b"
    return re.search(defined, text_of(file)) is not None
