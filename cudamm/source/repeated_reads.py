"""Find elements that a kernel reads again: `s += a[i] * b; t += a[i] * c;` loads `a[i]` once.

So does a loop that nvcc unrolls: `for (int w = 0; w < 4; w++) sum[w] += a[i] * b[w];`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from tree_sitter import Node

from cudamm.source.c_text import shared_arrays_in
from cudamm.source.changed_expression import base_of, sign_of
from cudamm.source.parsed_source import all_of, declared_name, file_and_line_of, parsed, text_of

_PURE = re.compile(
    r"(?:__)?(?:fmaf?|f?max|f?min|abs|float|int|make_\w+)(?:_rn)?$|static_cast|float2int|half2float|\w*2float"
)
"""Functions that change no memory."""

_CONDITIONAL = ("conditional_expression", "lambda_expression")
"""Expressions of which some parts may not be executed."""

_LEAVING = ("break_statement", "continue_statement", "return_statement", "goto_statement", "asm_statement")
"""Statements that end a loop, or may do more than can be read."""

MOST_UNROLLED = 256
"""Iterations of nested loops up to which nvcc unrolls all.

Source: machine code of nvcc 13.0 for sm_90. Of `for w: for i: sum[w] += s[i][y] * t[i][w]` only the first
w loaded `s` with up to 8 x 32 iterations in all, and each w with 16 x 32.
"""


def repeated_reads(text: str, name: str) -> Mapping[tuple[int, str], int]:
    """Return how many reads of an array in a line take an element that a register holds already.

    Such a read has the text of one before it in the same block of statements. Between them no statement may
    change a variable of the index, store to memory that may be the array's, call a function, or branch.

    Args:
        text: C source; lines in which not all reads of an array are such reads, or alike, are left out.
        name: the file whose lines are wanted, as in `#line`.

    Returns:
        Numbers of reads by line and name of the array.
    """
    found: Counter[tuple[int, str]] = Counter()
    texts: dict[tuple[int, str], list[str]] = {}
    shared = {name for name in shared_arrays_in(text) if not _is_volatile(text, name)}
    for function in all_of(parsed(text), "function_definition"):
        own = _own_arrays(function)
        for statements in _blocks(function):
            known: dict[str, str] = {}  # the array of each element that a register holds
            for statement in statements:
                if statement.type not in ("expression_statement", "declaration"):
                    known = {} if statement.type != "comment" else known
                    continue
                for read in _reads(statement):
                    key, (file, line) = _plain(read), file_and_line_of(read)
                    if file not in ("", name):
                        continue
                    texts.setdefault((line, base_of(read)), []).append(key)
                    found[line, base_of(read)] += key in known
                    known[key] = base_of(read)
                known = _still_known(known, statement, shared, own)
    return {
        place: count
        for place, count in found.items()
        if count and (count == len(texts[place]) or len({*texts[place]}) == 1)
    }


def _blocks(function: Node) -> Iterator[list[Node]]:
    """Yield the statements of each block, and each statement that is the body of a loop or a branch alone."""
    for block in all_of(function, "compound_statement"):
        yield list(block.named_children)
    for statement in all_of(function, "expression_statement"):
        if statement.parent is not None and statement.parent.type != "compound_statement":
            yield [statement]


def _plain(node: Node) -> str:
    return re.sub(r"\s", "", text_of(node))


def _reads(statement: Node) -> Iterator[Node]:
    """Yield the elements that a statement certainly reads, each as a whole: `A[i][j]`."""
    unread = [statement]
    while unread:
        node = unread.pop()
        if node.type in _CONDITIONAL or sign_of(node) in ("&&", "||") or node.type == "pointer_expression":
            continue
        if node.type == "subscript_expression" and base_of(node):
            around = node.parent
            is_target = around is not None and around.child_by_field_name("left") == node
            if not (is_target and around is not None and around.type == "assignment_expression"):
                yield node
            unread += reversed([part for part in node.children if part.type == "subscript_argument_list"])
            continue
        unread += reversed(node.children)


def _still_known(known: Mapping[str, str], changing: Node, shared: set[str], own: set[str]) -> dict[str, str]:
    """Return the elements that registers hold after a statement, or a whole loop, that may change some.

    Args:
        known: the elements that they held before, each with its array.
        shared, own: arrays in shared memory, and of each thread alone.
    """
    calls = (text_of(call.child_by_field_name("function")) for call in all_of(changing, "call_expression"))
    if any(_PURE.match(name) is None for name in calls) or any(
        all_of(changing, "asm_statement", "gnu_asm_expression")
    ):
        return {}
    targets = [n.child_by_field_name("left") for n in all_of(changing, "assignment_expression")]
    targets += [n.child_by_field_name("argument") for n in all_of(changing, "update_expression")]
    elements = {_plain(t): base_of(t) or "*" for t in targets if t is not None and t.type != "identifier"}
    names = {text_of(t) for t in targets if t is not None and t.type == "identifier"}
    names |= {*elements.values()} & own | {declared_name(n) for n in all_of(changing, "init_declarator")}

    def may_change(key: str, array: str) -> bool:
        if names & {*re.findall(r"\w+", key)}:
            return True
        # A register also holds what is stored to the element itself.
        stored = {of for element, of in elements.items() if element != key} - own
        # Two arrays that are declared __shared__ are different memory.
        return bool(stored) and not (array in shared and stored <= shared - {array})

    return {key: array for key, array in known.items() if not may_change(key, array)}


def _own_arrays(function: Node) -> set[str]:
    """Return the arrays that a function declares for each thread alone."""
    declarations = (d for d in all_of(function, "declaration") if "__shared__" not in text_of(d))
    declarators = (d for of in declarations for d in all_of(of, "array_declarator"))
    return {declared_name(declarator) for declarator in declarators}


Values = Callable[[str], int | None]
"""Returns the value of an expression; None if it is not known."""


def reads_per_load(text: str, name: str, constant: Values, argument: Values) -> Mapping[tuple[int, str], int]:
    """Return how often one load serves the reads of an array in a line, if loops read an element again.

    nvcc moves what all iterations of a loop read in front of it, and unrolls loops with a constant number of
    iterations. As in `repeated_reads`, nothing in the loop may change the element, and each iteration reads
    it. `C[i] += x` reads the element too, and leaves its new value in the register.

    Args:
        text: C source; lines in which the reads of an array differ in this are left out.
        name: the file whose lines are wanted, as in `#line`.
        constant, argument: for what nvcc knows, and for what the launch passes.

    Returns:
        Numbers above 1 by line and name of the array.
    """
    found: dict[tuple[int, str], set[int]] = {}
    shared = shared_arrays_in(text)
    for function in all_of(parsed(text), "function_definition"):
        own = _own_arrays(function)
        for statement in all_of(function, "expression_statement", "declaration"):
            for read in all_of(statement, "subscript_expression"):
                (file, line), array = file_and_line_of(read), base_of(read)
                is_loaded = array and array not in own and not _is_volatile(text, array)
                if file in ("", name) and is_loaded and _is_whole(read):
                    found.setdefault((line, array), set()).add(
                        _reads_of_loops(read, statement, shared, own, constant, argument)
                    )
    return {place: min(counts) for place, counts in found.items() if len(counts) == 1 and counts != {1}}


def _is_volatile(text: str, name: str) -> bool:
    """Return whether an array may be declared so that each read loads it."""
    return re.search(rf"\bvolatile\b[^;)]*\b{name}\b", text) is not None


def _is_whole(read: Node) -> bool:
    """Return whether an element is all of `A[i][j]`, not its first part."""
    around = read.parent
    return around is None or around.type != "subscript_expression" or around.child(0) != read


def _reads_of_loops(
    read: Node, statement: Node, shared: set[str], own: set[str], constant: Values, argument: Values
) -> int:
    """Return how many reads of one element the loops around a statement make."""
    if all(node != read for node in _reads(statement)) and not _is_added_to(read, statement):
        return 1
    key, reads, iterations, inner = _plain(read), 1, 1, statement
    while (loop := inner.parent) is not None and loop.type in ("compound_statement", "for_statement"):
        if loop.type == "for_statement":
            unrolled = _iterations(loop, constant)
            counted = unrolled or _iterations(loop, argument)
            if counted is None or any(all_of(loop, *_LEAVING)):
                break
            counter, count = counted
            is_innermost, iterations = iterations == reads, iterations * count
            is_same = bool(_still_known({key: base_of(read)}, loop, shared, own))
            if (not is_innermost and iterations > MOST_UNROLLED) or not (is_same or unrolled):
                break
            reads *= count if is_same else 1
            key = re.sub(rf"\b{counter}\b", "", key)  # a loop around this one has the same values of it
        inner = loop
    return reads


def _is_added_to(element: Node, statement: Node) -> bool:
    """Return whether a statement is `element += …;`."""
    sums = (node for node in statement.named_children if sign_of(node) in ("+=", "-="))
    return any(node.child_by_field_name("left") == element for node in sums)


def _iterations(loop: Node, value_of: Values) -> tuple[str, int] | None:
    """Return the counter of `for (int w = 0; w < W; w += 2)`, and its number of iterations if it is known."""
    start, condition, step, body = map(
        loop.child_by_field_name, ("initializer", "condition", "update", "body")
    )
    first = next(all_of(start, "init_declarator", "assignment_expression"), None) if start else None
    if first is None or condition is None or step is None or body is None:
        return None
    counter = text_of(first.child_by_field_name("declarator") or first.child_by_field_name("left"))
    begin = value_of(text_of(first.child_by_field_name("value") or first.child_by_field_name("right")))
    end, by = value_of(text_of(condition.child_by_field_name("right"))), 1
    if step.type == "assignment_expression" and sign_of(step) == "+=":
        by = value_of(text_of(step.child_by_field_name("right"))) or 0
    elif step.type != "update_expression" or sign_of(step) != "++":
        return None
    is_changed = any(
        text_of(node.child_by_field_name(part)) == counter
        for node in all_of(body, "assignment_expression", "update_expression")
        for part in ("left", "argument")
    )
    if counter != text_of(condition.child_by_field_name("left")) or is_changed:
        return None
    if begin is None or end is None or by < 1:
        return None
    stop = {"<": end, "<=": end + 1, "!=": end if by == 1 else None}.get(sign_of(condition))
    return None if stop is None or stop <= begin else (counter, -(-(stop - begin) // by))
