"""Find elements that a kernel reads again: `s += a[i] * b; t += a[i] * c;` loads `a[i]` once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

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
    shared = {name for name in shared_arrays_in(text) if not re.search(rf"\bvolatile\b[^;]*\b{name}\b", text)}
    for function in all_of(parsed(text), "function_definition"):
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
                known = _still_known(known, statement, shared)
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


def _still_known(known: Mapping[str, str], statement: Node, shared: Collection[str]) -> dict[str, str]:
    """Return the elements that registers hold after a statement."""
    calls = (text_of(call.child_by_field_name("function")) for call in all_of(statement, "call_expression"))
    if any(_PURE.match(name) is None for name in calls) or any(
        all_of(statement, "asm_statement", "gnu_asm_expression")
    ):
        return {}
    targets = [n.child_by_field_name("left") for n in all_of(statement, "assignment_expression")]
    targets += [n.child_by_field_name("argument") for n in all_of(statement, "update_expression")]
    stored = {base_of(t) or "*" for t in targets if t is not None and t.type != "identifier"}
    names = {text_of(t) for t in targets if t is not None and t.type == "identifier"}
    names |= {declared_name(n) for n in all_of(statement, "init_declarator")}

    def may_change(key: str, array: str) -> bool:
        if names & {*re.findall(r"\w+", key)}:
            return True
        # Two arrays that are declared __shared__ are different memory.
        return bool(stored) and not (array in shared and stored <= {*shared} - {array})

    return {key: array for key, array in known.items() if not may_change(key, array)}
