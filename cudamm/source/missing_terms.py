"""Changes that add a term, or parentheses, to an index such as `B[ty * N + col]`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from cudamm.source.changed_expression import Site, ancestors, sign_of, terms_of
from cudamm.source.parsed_source import all_of, is_inside, text_of

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
    outermost = site.whole
    for around in ancestors(site.whole):
        is_body = around.parent is not None and around.parent.type == "if_statement"
        if around.type in ("for_statement", "function_definition") or (
            around.type == "compound_statement" and not is_body
        ):
            break
        outermost = around
    for other in sites:
        left = other.node.child_by_field_name("left") if other.kind == "condition" else None
        if left is not None and is_inside(other.node, outermost) and text_of(left) == part.plain:
            yield other


def _sides(product: Node) -> list[tuple[Node, Node]]:
    left, right = product.child_by_field_name("left"), product.child_by_field_name("right")
    return [(left, right), (right, left)] if left is not None and right is not None else []
