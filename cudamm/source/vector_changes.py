"""Changes that exchange the members or the elements of a vector, such as `v.z` and `v.w`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from cudamm.source.changed_expression import KernelChange, Site, edits_within, replaced
from cudamm.source.parsed_source import all_of, ancestors, file_and_line_of, is_inside, text_of

_MEMBERS = ("x", "y", "z", "w")
"""Names of the members of a vector."""

_OF_LAUNCH = re.compile(r"\b(?:thread|block|group|grid)(?:Idx|Dim|_index)\b")
"""An index of a thread or of its block, or a number of these: no vector of elements."""

_OF_VECTOR = re.compile(r"\b(?:make_|__)?(?:half|float|double|nv_bfloat16)[234]\b|2half2|2bfloat162")
"""What makes a vector of elements: its type, or a function."""

_STATEMENTS = ("expression_statement", "declaration", "return_statement")


def exchanged_members(body: Node, sites: Sequence[Site]) -> Iterator[KernelChange]:
    """Yield the statements of one block with two members of a vector exchanged, such as v.w and v.z.

    Args:
        body: the function's.
        sites: expressions that other changes may replace; a part of one is replaced with the whole.
    """
    for nodes in _members_by_block(body).values():
        is_small = len(nodes) <= len(_MEMBERS)  # else each member is used several times
        pairs = itertools.combinations(nodes, 2) if is_small else itertools.pairwise(nodes)
        for one, other in pairs:
            if text_of(one) != text_of(other):
                distance = _MEMBERS.index(_member(one)) - _MEMBERS.index(_member(other))
                if is_small or abs(distance) == 1:
                    yield from _exchanged("members", one, other, sites, 0 if distance > 0 else 1)


def _members_by_block(body: Node) -> dict[tuple[Node | None, str], list[Node]]:
    """Return the members of vectors that each block of statements uses, by the block and the vector."""
    groups: dict[tuple[Node | None, str], list[Node]] = {}
    for node in all_of(body, "field_expression"):
        vector = text_of(node.child_by_field_name("argument"))
        around = {n.type: n for n in reversed([*ancestors(node)])}
        is_of_asm = "gnu_asm_expression" in around
        if _member(node) in _MEMBERS and not _OF_LAUNCH.search(vector) and not is_of_asm:
            groups.setdefault((around.get("compound_statement"), vector), []).append(node)
    return groups


def _member(node: Node) -> str:
    return text_of(node.child_by_field_name("field"))


def exchanged_elements(body: Node, sites: Sequence[Site]) -> Iterator[KernelChange]:
    """Yield `make_float4(a, b, c, d)`, and `float4 v = {a, b, c, d}`, with two elements exchanged.

    Args:
        body, sites: as for `exchanged_members`.
    """
    for given in all_of(body, "argument_list", "initializer_list"):
        made = text_of(given.parent).partition(text_of(given))[0]
        declared = next((text_of(n) for n in ancestors(given) if n.type == "declaration"), "")
        of_type = made if given.type == "argument_list" else f"{made} {declared.partition('{')[0]}"
        elements = [node for node in given.named_children if node.type != "comment"]
        if _OF_VECTOR.search(of_type) and 1 < len(elements) <= len(_MEMBERS):
            for one, other in itertools.combinations(elements, 2):
                yield from _exchanged("elements", one, other, sites, 1)


def _exchanged(what: str, one: Node, other: Node, sites: Sequence[Site], rank: int) -> Iterator[KernelChange]:
    """Yield the change that exchanges two expressions of one statement, or of two; nothing if they are equal.

    Args:
        what: what they are, in the plural.
    """
    first, second = text_of(one), text_of(other)
    edits = _edits_of_exchange(one, other, sites)
    new: dict[Node, dict[Node, str]] = {}
    for node, text in ((one, second), (other, first)):
        for statement in itertools.islice((n for n in ancestors(node) if n.type in _STATEMENTS), 1):
            new.setdefault(statement, {})[node] = text
    if first == second or not edits or sum(map(len, new.values())) < 2:
        return
    better = [_on_one_line(replaced(statement, changed)) for statement, changed in new.items()]
    lines = [file_and_line_of(statement)[1] for statement in new]
    where, cure = f", {first} and {second}", f"write {' and '.join(better)}"
    if len(set(lines)) > 1:
        where = f": {first} in line {lines[0]} and {second} in line {lines[1]}"
        cure = f"write {better[0]} in line {lines[0]}, and {better[1]} in line {lines[1]}"
    mistake = f"two {what} of a vector are exchanged{where}"
    yield KernelChange(mistake, cure, "", *file_and_line_of(one), edits, rank)


def _on_one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).rstrip("; ")


def _edits_of_exchange(one: Node, other: Node, sites: Sequence[Site]) -> tuple[tuple[int, int, str], ...]:
    """Return the edits that exchange two expressions; empty if they have sites and differ in other places."""
    inside = [[s.node for s in sites if is_inside(s.node, node)] for node in (one, other)]
    if not any(inside):
        return edits_within({one: text_of(other), other: text_of(one)}, sites)
    blank = [
        replaced(node, dict.fromkeys(nodes, "_")) for node, nodes in zip((one, other), inside, strict=True)
    ]
    if blank[0] != blank[1]:
        return ()
    pairs = [(a, b) for a, b in zip(*inside, strict=True) if text_of(a) != text_of(b)]
    return edits_within({n: text_of(m) for a, b in pairs for n, m in ((a, b), (b, a))}, sites)


def wrong_members(body: Node) -> Iterator[KernelChange]:
    """Yield `sum.w += a * b.w` for `sum.w += a * b.z`."""
    for node in all_of(body, "assignment_expression"):
        left, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        member = _member(left) if left is not None else ""
        for part in all_of(value, "field_expression") if value is not None and member in _MEMBERS else ():
            other = f"{text_of(part.child_by_field_name('argument'))}.{member}"
            if _member(part) in _MEMBERS and _member(part) != member:
                old, new = text_of(node), replaced(node, {part: other})
                yield KernelChange(
                    f"the wrong member of a vector is used, {text_of(part)}: {old} instead of {new}",
                    f"write {new}", "", *file_and_line_of(node),
                    ((part.start_byte, part.end_byte, other),), 1,
                )  # fmt: skip


def elements_of_members(body: Node, sites: Sequence[Site]) -> Iterator[KernelChange]:
    """Yield `v.w = sum[j + 3]` for `v.w = sum[j + 2]`, if v.y gets `sum[j + 1]` and v.z `sum[j + 2]`.

    Args:
        body, sites: as for `exchanged_members`.
    """
    groups: dict[tuple[Node | None, str, str], list[tuple[int, Node, Node]]] = {}
    for node in all_of(body, "assignment_expression"):
        left, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        number = next(reversed([*all_of(value, "number_literal")]), None) if value is not None else None
        if left is None or value is None or number is None or _member(left) not in _MEMBERS[1:]:
            continue
        block = node.parent.parent if node.parent else None
        key = block, text_of(left.child_by_field_name("argument")), replaced(value, {number: "#"})
        groups.setdefault(key, []).append((_MEMBERS.index(_member(left)), number, node))
    for found in groups.values():
        wrong = [each for each in found if text_of(each[1]) != str(each[0])]
        if len(wrong) == 1 < len(found):
            place, number, node = wrong[0]
            new = replaced(node, {number: str(place)})
            yield KernelChange(
                f"the wrong element is taken: {text_of(node)} instead of {new}",
                f"write {new}", "", *file_and_line_of(node), edits_within({number: str(place)}, sites), 0,
            )  # fmt: skip


def missing_members(body: Node, sites: Sequence[Site]) -> Iterator[KernelChange]:
    """Yield `v.w` for the second `v.z`, if the statements of one block use v.x, v.y, v.z and v.z.

    Args:
        body, sites: as for `exchanged_members`.
    """
    for (_, vector), nodes in _members_by_block(body).items():
        taken = [_member(node) for node in nodes]
        missing = [member for member in _MEMBERS[: len(taken)] if member not in taken]
        for node, member in zip(nodes, taken, strict=True):
            if len(missing) == 1 and taken.count(member) > 1 and len(taken) <= len(_MEMBERS):
                new = f"{vector}.{missing[0]}"
                statement = next((n for n in ancestors(node) if n.type in _STATEMENTS), node)
                yield KernelChange(
                    f"{text_of(node)} is used twice, and {new} never",
                    f"write {_on_one_line(replaced(statement, {node: new}))}", "", *file_and_line_of(node),
                    edits_within({node: new}, sites), 1,
                )  # fmt: skip
