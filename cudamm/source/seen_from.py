"""Find the values that the variables of a function have at one of its statements.

`dim3 block(16, 8);` may stand in several branches of a function, and `block = dim3(32, 32);` in between: the
last one before a launch counts, if the launch is reached through it.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tree_sitter import Node

from cudamm.source.c_definitions import (
    Function,
    condition_of_increment,
    flat_name,
    initialised,
    pitches,
)
from cudamm.source.parsed_source import all_of, declared_name, text_of

_ASSIGNMENTS = ("assignment_expression", "update_expression", "pointer_expression")


@functools.lru_cache(maxsize=256)
def seen_from(function: Function, place: Node) -> Function:
    """Return a function with the values that its variables have at a node in it."""
    path = [place, *_around(place, function.node)]
    values = _Values(dict(_branches(path)))
    for inner, outer in zip(path[-2::-1], path[:0:-1], strict=True):
        if outer.type in ("for_statement", "while_statement", "do_statement", "for_range_loop"):
            values.forget_assigned_in(outer)
        elif outer.type in ("compound_statement", "case_statement"):
            for statement in outer.named_children:
                if statement == inner:
                    break
                values.apply(statement)
    widths = dict(pitches(function.node))
    return replace(
        function,
        values=values.last | widths,
        first_values=values.first | widths,
        rounded_up=values.rounded_up,
    )


def _around(node: Node, outermost: Node) -> Iterator[Node]:
    """Yield the nodes around a node, from the inside, up to the outermost one."""
    while node != outermost and node.parent is not None:
        node = node.parent
        yield node


def _branches(path: list[Node]) -> Iterator[tuple[str, bool]]:
    """Yield the conditions around a place, and whether they hold there."""
    for inner, outer in itertools.pairwise(path):
        condition = outer.child_by_field_name("condition") if outer.type == "if_statement" else None
        if condition and inner != condition:
            yield text_of(condition), inner == outer.child_by_field_name("consequence")


class _Values:
    """The values of variables, while statement after statement is read.

    Attributes:
        last: the values that are known.
        first: the last value that each variable got for certain, also if it may have another one now.
    """

    def __init__(self, branches: dict[str, bool]) -> None:
        self.branches = branches
        self.last: dict[str, Node] = {}
        self.first: dict[str, Node] = {}
        self.rounded_up: dict[str, Node] = {}

    def apply(self, statement: Node) -> None:
        """Read a statement that is executed before the place."""
        match statement.type:
            case "declaration":
                self._forget_addresses(statement)
                for declarator in statement.children_by_field_name("declarator"):
                    self._remove(declared_name(declarator))
                for name, value in initialised(statement):
                    self._set(name, value)
            case "expression_statement":
                self._assign(statement)
            case "compound_statement":
                last, first, rounded_up = dict(self.last), dict(self.first), dict(self.rounded_up)
                for inner in statement.named_children:
                    self.apply(inner)
                for name in _declared_in(statement):  # a block hides the variables of the same names
                    self._remove(name)
                    _restore(name, self.last, last)
                    _restore(name, self.first, first)
                    _restore(name, self.rounded_up, rounded_up)
            case "if_statement":
                self._choose(statement)
            case "else_clause" | "condition_clause":
                for inner in statement.named_children:
                    self.apply(inner)
            case _:
                self.forget_assigned_in(statement)

    def forget_assigned_in(self, node: Node) -> None:
        """Forget the values of the variables that may be assigned in a node."""
        for part in all_of(node, *_ASSIGNMENTS):
            self._forget(_target(part))

    def _assign(self, statement: Node) -> None:
        for part in all_of(statement, *_ASSIGNMENTS):
            value = part.child_by_field_name("right")
            if part.type == "assignment_expression" and value and part.children[1].type == "=":
                self._remove(_target(part))
                self._set(_target(part), value)
            else:
                self._forget(_target(part))

    def _choose(self, statement: Node) -> None:
        """Read an `if`: the branch that leads to the place, `if (N % 16) n++;`, or what it may change."""
        condition = statement.child_by_field_name("condition")
        holds = self.branches.get(text_of(condition))
        if holds is not None:
            branch = statement.child_by_field_name("consequence" if holds else "alternative")
            if branch:
                self.apply(branch)
            return
        conditions = {
            _target(part): of_increment
            for part in all_of(statement, "update_expression", "assignment_expression")
            if (of_increment := condition_of_increment(part))
        }
        incremented = set(map(_whole, conditions))
        first, rounded_up = (
            {name: node for name, node in values.items() if _whole(name) in incremented}
            for values in (self.first, self.rounded_up)
        )
        self.forget_assigned_in(statement)
        self.first |= first
        self.rounded_up |= rounded_up
        self.rounded_up |= {name: each for name, each in conditions.items() if _whole(name) in first}

    def _set(self, name: str, value: Node) -> None:
        if name:
            self.last[name] = self.first[name] = value

    def _remove(self, name: str) -> None:
        """Remove a variable, with its members, because it is declared or gets a value as a whole."""
        for each in (name, *(f"{name}_{axis}" for axis in "xyz")):
            for values in (self.last, self.first, self.rounded_up):
                values.pop(each, None)

    def _forget(self, name: str) -> None:
        self.last.pop(name, None)
        self.rounded_up.pop(name, None)
        if _whole(name) != name:  # after `grid.x = …` the value of `grid` is another one
            self._remove(_whole(name))

    def _forget_addresses(self, node: Node) -> None:
        for part in all_of(node, "pointer_expression"):
            self._forget(_target(part))


def _restore(name: str, values: dict[str, Node], before: Mapping[str, Node]) -> None:
    """Give a variable, with its members, the value back that it had."""
    values.update({key: value for key, value in before.items() if _whole(key) == name})


def _whole(name: str) -> str:
    """Return `grid` for its member `grid_x`, and other names as they are."""
    return re.sub(r"_[xyz]$", "", name)


def _declared_in(block: Node) -> set[str]:
    """Return the variables that the statements of a block declare."""
    return {
        declared_name(declarator)
        for statement in block.named_children
        if statement.type == "declaration"
        for declarator in statement.children_by_field_name("declarator")
    }


def _target(node: Node) -> str:
    """Return the variable that an assignment, `n++` or an argument `&n` may change; empty for none."""
    if node.type == "pointer_expression":
        is_argument = node.parent is not None and node.parent.type == "argument_list"
        return text_of(node)[1:].strip() if is_argument and text_of(node).startswith("&") else ""
    target = node.child_by_field_name("left") or node.child_by_field_name("argument")
    return flat_name(target) if target and target.type in ("identifier", "field_expression") else ""
