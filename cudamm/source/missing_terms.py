"""Changes that add a term, or parentheses, to an index such as `B[ty * N + col]`, and its conditions."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from cudamm.source.changed_expression import KernelChange, Site, replaced, sign_of, terms_of
from cudamm.source.parsed_source import all_of, ancestors, declared_name, is_inside, text_of

_SUMS = ("identifier", "number_literal", "field_expression", "parenthesized_expression", "binary_expression")
"""Types of expressions to which a term can be added."""

_OF_SUMS = ("+", "-", "*", "/", "%")
"""Operators of expressions to which a term can be added without parentheses."""


@dataclass(frozen=True)
class Part:
    """A row, a column, or a whole index, to which a term may be missing.

    Attributes:
        node: the part that the change replaces.
        is_factor: whether the part is multiplied by a row length, so that a sum needs parentheses.
    """

    node: Node
    is_factor: bool

    def with_term(self, term: str, *, is_first: bool) -> str:
        """Return the part with a term before or behind it."""
        own = self.plain
        new = f"{term} + {own}" if is_first else f"{own} + {term}"
        return f"({new})" if self.is_factor else new

    @property
    def plain(self) -> str:
        """Return the text of the part without parentheses around it."""
        inner = self.node.named_children[0] if self.node.type == "parenthesized_expression" else None
        return text_of(inner if inner is not None and inner.type in _SUMS else self.node)


def parts_of_index(node: Node, sizes: Collection[str]) -> list[Part]:
    """Return the rows of an index, which are multiplied by a size, and its last term; without rows all."""
    rows = [
        Part(side, is_factor=True)
        for product in all_of(node, "binary_expression")
        if sign_of(product) == "*"
        for side, length in _sides(product)
        if text_of(length).strip("()") in sizes or side.type == "parenthesized_expression"
    ]
    last = terms_of(node)[-1] if rows else node
    can_be_added = last.type in _SUMS and (sign_of(last) in _OF_SUMS or last.type != "binary_expression")
    return rows + ([Part(last, is_factor=False)] if can_be_added else [])


def with_parentheses(node: Node, lengths: Collection[str]) -> Iterator[tuple[Node, str]]:
    """Yield each sum `a + b * N` in an index, with `(a + b) * N` in its place.

    Args:
        lengths: the texts of factors, such as `N`, that may multiply a whole sum.
    """
    for total in all_of(node, "binary_expression"):
        if sign_of(total) != "+":
            continue
        before, product = total.child_by_field_name("left"), total.child_by_field_name("right")
        if before is None or product is None or sign_of(product) != "*":
            continue
        factor, length = _sides(product)[0]
        if text_of(length) in lengths and factor.type in _SUMS[:-1]:
            yield total, f"({text_of(before)} + {text_of(factor)}) * {text_of(length)}"
            *first, last = terms_of(before)
            if first:
                kept = (node.text or b"")[
                    total.start_byte - node.start_byte : last.start_byte - node.start_byte
                ]
                yield total, f"{kept.decode()}({text_of(last)} + {text_of(factor)}) * {text_of(length)}"


def bounds_of(part: Part, site: Site, sites: Collection[Site]) -> Iterator[Site]:
    """Yield the conditions that compare a part of an index, in the statement or the `if` around a site."""
    yield from (bound for bound, left in _conditions_around(site, sites) if text_of(left) == part.plain)


def row_and_column(site: Site, sizes: Collection[str]) -> tuple[str, str, str] | None:
    """Return `row`, `col` and `N` for the index `row * N + col`; None if it is no row and column."""
    terms = terms_of(site.node)
    rows = [(term, *sides) for term in terms if sign_of(term) == "*" for sides in _sides(term)]
    found = [(term, row, length) for term, row, length in rows if text_of(length) in sizes]
    if len(found) != 1 or len(terms) < 2:
        return None
    product, row, length = found[0]
    column = " + ".join(text_of(term) for term in terms if term != product)
    return Part(row, is_factor=True).plain, column, text_of(length)


def unguarded_stores(
    stores: Collection[Site], sites: Collection[Site], sizes: Collection[str]
) -> Iterator[dict[Node, str]]:
    """Yield a guard for each store to a matrix that lacks a check of its own row, or of its own column.

    `row + i < M && col + j < N` for `C[(row + i) * N + col + j] = sum[i][j]`. If no other condition checks
    the row, the size that is the number of rows is not known: there are guards for each.
    """
    ends = _ends_of(sites, sizes)
    unguarded: dict[Node, tuple[str, str, str]] = {}
    for site in stores:
        found, statement = row_and_column(site, sizes), site.whole.parent
        statement = statement.parent if statement is not None else None
        if found is None or statement is None or statement.type != "expression_statement":
            continue
        checked = {text_of(left) for _, left in _conditions_around(site, sites)}
        if not {*found[:2]} <= checked:
            unguarded[statement] = found
    lengths = {length for _, _, length in unguarded.values()}
    known = {ends.get(row, "") for row, _, _ in unguarded.values()}
    tried = sorted(known if len(known) == 1 and "" not in known else {*sizes} - lengths)
    for size in tried if len(lengths) == 1 else ():
        yield {
            statement: f"{row} < {size} && {column} < {length}"
            for statement, (row, column, length) in unguarded.items()
        }


def _ends_of(sites: Collection[Site], sizes: Collection[str]) -> dict[str, str]:
    """Return the size with which a condition of the kernel compares a text: `M` for `row`."""
    conditions = [site.node for site in sites if site.kind == "condition"]
    pairs = [[text_of(node.child_by_field_name(side)) for side in ("left", "right")] for node in conditions]
    return {left: right for left, right in pairs if right in sizes}


def unguarded_loads(
    loads: Collection[Site], sites: Collection[Site], sizes: Collection[str]
) -> dict[Node, str]:
    """Return what the condition of each load lacks: `col + 1 < n` for `col < n ? B[k * n + col + 1] : 0`.

    The index does not say which size the number of rows is: another condition that checks the row does.
    """
    lacking: dict[Node, str] = {}
    ends = _ends_of(sites, sizes)
    for site in loads:
        found = row_and_column(site, sizes)
        choice = next((node for node in ancestors(site.whole) if node.type == "conditional_expression"), None)
        condition = choice.child_by_field_name("condition") if choice is not None else None
        if found is None or condition is None or is_inside(site.whole, condition):
            continue
        row, column, length = found
        checked = {text_of(left) for _, left in _conditions_around(site, sites)}
        if row in checked and column not in checked:
            lacking[condition] = f"{column} < {length}"
        elif column in checked and row not in checked and row in ends:
            lacking[condition] = f"{row} < {ends[row]}"
    return lacking


def guards_of_tile_loads(
    loads: Collection[Site], stores: Collection[Site], sites: Collection[Site], sizes: Collection[str]
) -> dict[Node, str]:
    """Return the guard of each load's own row and column, if a load is guarded by the column, or row, of C.

    `row < M && k < K` and `k < K && col < N` for the loads of A and of B if `row < M && col < N` guards both.

    Args:
        loads: loads of matrices into tiles.
        stores: stores to C.

    Returns:
        The guards of all loads, by the loaded element; empty if no guard, or not every own guard, is known.
    """
    of_c = {part for site in stores for part in (row_and_column(site, sizes) or ())[:2]}
    found = {site.whole: (site, parts) for site in loads if (parts := row_and_column(site, sizes))}
    ends, lengths = _ends_of(sites, sizes), {length for _, (_, _, length) in found.values()}
    guards, is_like_c, checks_all = {}, False, True
    for whole, (site, (row, column, length)) in found.items():
        others = lengths - {length} or lengths  # the rows of B are as many as the columns of A
        if row not in ends and len(others) > 1:
            return {}
        guards[whole] = f"{row} < {ends[row] if row in ends else min(others)} && {column} < {length}"
        checked = {text_of(left) for _, left in _conditions_around(site, sites)}
        is_like_c = is_like_c or not checked.isdisjoint(of_c - {row, column})
        checks_all = checks_all and {row, column} <= checked
    if checks_all and len(lengths | {*ends.values()}) > 1:
        return {}  # with several sizes, each condition that is too much is found by itself
    return guards if is_like_c and len(guards) == len(loads) else {}


def missing_bounds(site: Site, sites: Collection[Site], sizes: Collection[str]) -> Iterator[tuple[Site, str]]:
    """Yield the condition around an index that checks its row or its column alone, and the other check.

    `row < M` and `col < N` for `if (row < M) C[row * N + col] = sum`.
    """
    found = row_and_column(site, sizes)
    if found is None:
        return
    row, column, length = found
    bounds = {text_of(left): bound for bound, left in _conditions_around(site, sites)}
    if row in bounds and column not in bounds:
        yield bounds[row], f"{column} < {length}"
    elif column in bounds and row not in bounds:
        of_rows = _ends_of(sites, sizes).get(row)
        for size in [of_rows] if of_rows else sorted({*sizes} - {length}) or [length]:
            yield bounds[column], f"{row} < {size}"


def also_in_conditions(change: KernelChange, site: Site, sites: Collection[Site]) -> Iterator[KernelChange]:
    """Yield the change of an index also in the conditions that have the changed part of the index.

    What is written twice is wrong twice: `p + tx < K ? B[(p + tx) * N + col]` with `tx` for `ty`.
    """
    (start, end, new), *others = change.edits
    if others or (start, end) != (site.node.start_byte, site.node.end_byte):
        return
    better = {
        bound: replaced(bound.node, {left: text})
        for bound, left in _conditions_around(site, sites)
        if (text := _changed_like(text_of(left), text_of(site.node), new))
    }
    if better:
        edits = ((bound.node.start_byte, bound.node.end_byte, text) for bound, text in better.items())
        cure = " and ".join((change.cure, *dict.fromkeys(better.values())))
        yield dataclasses.replace(change, cure=cure, edits=(*change.edits, *edits))


def _changed_like(part: str, old: str, new: str) -> str:
    """Return a part of an index with the change of the index; empty if the change is not within the part."""
    same_before = _common(old, new)
    same_behind = _common(old[same_before:][::-1], new[same_before:][::-1])
    is_sum = not re.fullmatch(r"[\w.]+", part)
    before, behind = (r"(?:^|[(+])\s*", r"\s*(?:[)+]|$)") if is_sum else (r"(?:^|[^\w.])", r"(?![\w.])")
    for found in re.finditer(f"{before}({re.escape(part)}){behind}", old):
        start, end = found.span(1)
        if start <= same_before and len(old) - same_behind <= end:
            return (
                old[start:same_before]
                + new[same_before : len(new) - same_behind]
                + old[len(old) - same_behind : end]
            )
    return ""


def _common(one: str, other: str) -> int:
    """Return the number of characters with which both texts begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _conditions_around(site: Site, sites: Collection[Site]) -> Iterator[tuple[Site, Node]]:
    """Yield the conditions in the statement or the `if` around a site, each with its left side.

    Also those in the value of a variable that is the condition there, as in `bool ok = row < M; x = ok ? …`.
    """
    outermost = site.whole
    for around in ancestors(site.whole):
        is_body = around.parent is not None and around.parent.type == "if_statement"
        if around.type in ("for_statement", "function_definition") or (
            around.type == "compound_statement" and not is_body
        ):
            break
        outermost = around
    guards = all_of(outermost, "if_statement", "conditional_expression")
    conditions = [found for guard in guards if (found := guard.child_by_field_name("condition"))]
    names = {text_of(name) for condition in conditions for name in all_of(condition, "identifier")}
    for other in sites:
        left = other.node.child_by_field_name("left") if other.kind == "condition" else None
        is_value = any(
            declared_name(node.child_by_field_name("declarator")) in names
            and next(
                (is_inside(outermost, n) for n in ancestors(node) if n.type == "compound_statement"), False
            )
            for node in ancestors(other.node)
            if node.type == "init_declarator"
        )
        if left is not None and (is_inside(other.node, outermost) or is_value):
            yield other, left


def _sides(product: Node) -> list[tuple[Node, Node]]:
    left, right = product.child_by_field_name("left"), product.child_by_field_name("right")
    return [(left, right), (right, left)] if left is not None and right is not None else []
