"""Find the values that the variables of a function have at one of its statements.

`dim3 block(16, 8);` may stand in several branches of a function, and `block = dim3(32, 32);` in between: the
last one before a launch counts, if the launch is reached through it. A change that is not understood makes a
variable unknown, with all values that were computed from it.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from cudamm.source.c_definitions import (
    Function,
    condition_of_increment,
    flat_name,
    initialised,
    pitches,
)
from cudamm.source.parsed_source import all_of, declared_name, text_of

MOST_NESTED = 100
"""Nesting of blocks that is read."""

_CHANGES = ("assignment_expression", "update_expression", "pointer_expression", "binary_expression")
LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")

BY_USER = re.compile(
    r"arg[cv]\b|\bato[ifl]|\bstrto|\bsto[iuldf]|scanf|\bcin\b|getenv|getopt|optarg|[Cc]md|[Pp]arse"
)
"""Words of statements in which the program's user may choose another value."""


@functools.lru_cache(maxsize=256)
def seen_from(function: Function, place: Node) -> Function:
    """Return a function with the values that its variables have at a node in it.

    Twice the same object for the same node: callers tell functions apart by identity.
    """
    path = [place, *_around(place, function.node)]
    values = _Values(dict(_branches(function.node, path)))
    for inner, outer in zip(path[-2::-1], path[:0:-1], strict=True):
        values.enter(outer)
        if outer.type in ("compound_statement", "case_statement"):
            for statement in outer.named_children:
                if statement == inner:
                    break
                values.apply(statement)
    for part in path:
        if part.type == "lambda_expression":  # it may be called after later changes
            for change in all_of(function.node, *_CHANGES):
                if change.start_byte > part.end_byte:
                    values.forget(_changed(change))
    known = values.known
    widths = dict(pitches(function.node))
    return replace(
        function,
        values=known.certain | widths,
        first_values=known.usual | widths,
        rounded_up=known.rounded_up,
        types_at_place=known.types,
        chosen_by_user=frozenset(values.chosen_by_user),
    )


def _around(node: Node, outermost: Node) -> Iterator[Node]:
    """Yield the nodes around a node, from the inside, up to the outermost one."""
    while node != outermost and node.parent is not None:
        node = node.parent
        yield node


def _branches(function: Node, path: list[Node]) -> Iterator[tuple[str, bool]]:
    """Yield the conditions around a place whose variables never change, and whether they hold there."""
    changed = {_changed(part) for part in all_of(function, *_CHANGES)}
    for inner, outer in itertools.pairwise(path):
        condition = outer.child_by_field_name("condition") if outer.type == "if_statement" else None
        if condition and inner != condition:
            names = {text_of(name) for name in all_of(condition, "identifier")}
            if not names & changed and not any(all_of(condition, "call_expression")):
                yield text_of(condition), inner == outer.child_by_field_name("consequence")


@dataclass
class _Known:
    """What is known of variables; the members of a dim3 have names such as `grid.x`.

    Attributes:
        certain: the values that they have.
        usual: the same, and the values that they have unless the program's user chooses others.
        rounded_up: conditions under which they are one more: `if (N % 16) grid.x++;`.
        types: their declared types.
    """

    certain: dict[str, Node] = field(default_factory=dict)
    usual: dict[str, Node] = field(default_factory=dict)
    rounded_up: dict[str, Node] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    def tables(self) -> tuple[dict[str, Node], ...]:
        return self.certain, self.usual, self.rounded_up

    def copy(self) -> _Known:
        return _Known(dict(self.certain), dict(self.usual), dict(self.rounded_up), dict(self.types))


class _Values:
    """The values of variables, while statement after statement is read."""

    def __init__(self, branches: dict[str, bool]) -> None:
        self.branches = branches
        self.known = _Known()
        self.chosen_by_user: set[str] = set()
        self._depth = 0

    def enter(self, outer: Node) -> None:
        """Read what a statement around the place does before it, and hide what the statement declares."""
        if outer.type in LOOPS:
            self.forget_changes_in(outer)
        if outer.type in (*LOOPS, "lambda_expression"):
            declares_nothing = [outer.child_by_field_name(part) for part in ("body", "right")]
            for part in outer.children:
                if part not in declares_nothing:
                    for name in _declared_in(part):
                        self.forget(name)
        condition = outer.child_by_field_name("condition") if outer.type == "if_statement" else None
        if condition:
            self.forget_changes_in(condition)

    def apply(self, statement: Node) -> None:
        """Read a statement that is executed before the place."""
        match statement.type:
            case "declaration":
                declared = text_of(statement.child_by_field_name("type"))
                values = dict(initialised(statement))
                for declarator in statement.children_by_field_name("declarator"):
                    name = declared_name(declarator)
                    self.forget(name)
                    self.known.types[name] = declared
                    if any(all_of(declarator, "reference_declarator")):  # it changes under two names
                        self.forget(flat_name(values.pop(name)) if name in values else "")
                    if name in values:
                        self._set(name, values[name])
                # `void *args[] = {&n}` is for cudaLaunchKernel, which changes nothing.
                is_of_launch = declared == "void" and all(
                    v.type == "initializer_list" for v in values.values()
                )
                if not is_of_launch:
                    self.forget_changes_in(statement)
            case "expression_statement":
                self._assign(statement)
            case "compound_statement" if self._depth < MOST_NESTED:
                self._depth += 1
                before = self.known.copy()
                for inner in statement.named_children:
                    self.apply(inner)
                for name in {name for part in statement.named_children for name in _declared_by(part)}:
                    self.forget(name)  # a block hides the variables of the same names
                    for values, old in zip(self.known.tables(), before.tables(), strict=True):
                        values.update({key: node for key, node in old.items() if _whole(key) == name})
                    self.known.types.pop(name, None)
                    self.known.types.update({name: before.types[name]} if name in before.types else {})
                self._depth -= 1
            case "if_statement":
                self._choose(statement)
            case "else_clause":
                for inner in statement.named_children:
                    self.apply(inner)
            case _:
                self.forget_changes_in(statement)

    def forget_changes_in(self, node: Node) -> None:
        """Forget the values of the variables that may be changed in a node."""
        is_by_user = BY_USER.search(text_of(node)) is not None
        for part in all_of(node, *_CHANGES):
            self.forget(_changed(part), is_by_user)

    def forget(self, name: str, is_by_user: bool = False) -> None:
        """Forget the value of a variable, with its members and with what was computed from it.

        Args:
            is_by_user: its value stays the usual one.
        """
        unread = [name] if name else []
        while unread:
            changed = unread.pop()
            tables = self.known.tables()
            if is_by_user:
                self.chosen_by_user.add(changed)
                tables = (self.known.certain, self.known.rounded_up)
            for values in tables:
                for key in [key for key in values if self._is_or_belongs_to(key, changed)]:
                    del values[key]
            if "." in changed and not is_by_user:  # after `grid.x = …` the value of `grid` is another one
                for values in tables:
                    values.pop(_whole(changed), None)
            unread += [key for key, node in self.known.certain.items() if _uses(node, changed)]

    def _is_or_belongs_to(self, key: str, name: str) -> bool:
        """Return whether a variable is `name` or one of its members, such as `grid.x` and `A_width`."""
        is_member = key.startswith(f"{name}_") and key not in self.known.types
        return key == name or key.startswith(f"{name}.") or is_member

    def _assign(self, statement: Node) -> None:
        is_by_user = BY_USER.search(text_of(statement)) is not None
        for part in all_of(statement, *_CHANGES):
            value, name = part.child_by_field_name("right"), _changed(part)
            is_plain = part.type == "assignment_expression" and part.children[1].type == "="
            if is_plain and value and name and _is_certain(part, statement) and not is_by_user:
                if "." in name:  # the other members stay
                    for values in self.known.tables():
                        values.pop(name, None)
                    self._forget_results_of(name)
                else:
                    self.forget(name)
                self._set(name, value)
            else:
                self.forget(name, is_by_user)
        for call in all_of(statement, "call_expression"):
            if text_of(call.child_by_field_name("function")).endswith("swap"):
                for swapped in all_of(call, "identifier"):
                    self.forget(text_of(swapped))

    def _choose(self, statement: Node) -> None:
        """Read an `if`: the branch that leads to the place, `if (N % 16) n++;`, or what it may change."""
        condition = statement.child_by_field_name("condition")
        holds = self.branches.get(text_of(condition))
        if holds is not None:
            branch = statement.child_by_field_name("consequence" if holds else "alternative")
            if branch:
                self.apply(branch)
            return
        incremented = _increments(statement)
        if condition and incremented and not incremented & self.known.rounded_up.keys():
            known = {name for name in incremented if {name, _whole(name)} & self.known.certain.keys()}
            for name in sorted(known):
                self._forget_results_of(name)
            self.known.rounded_up |= dict.fromkeys(known, condition)
            return
        self.forget_changes_in(statement)

    def _forget_results_of(self, name: str) -> None:
        """Forget what was computed from a variable that gets another value, which is known."""
        for key, node in list(self.known.usual.items()):
            if _uses(node, name) and _whole(key) != _whole(name):
                self.forget(key)

    def _set(self, name: str, value: Node) -> None:
        while value.type == "assignment_expression":  # `block.x = block.y = 16`
            value = value.child_by_field_name("right") or value.children[-1]
        if BY_USER.search(text_of(value)):
            self.chosen_by_user.add(name)
        if not _uses(value, name):  # as in `n = n + 15`
            self.known.certain[name] = self.known.usual[name] = value


def _is_certain(part: Node, statement: Node) -> bool:
    """Return whether a part of a statement is always executed."""
    for around in _around(part, statement):
        operator = text_of(around.child_by_field_name("operator"))
        if around.type in ("conditional_expression", "lambda_expression") or operator in ("&&", "||"):
            return False
    return True


def _increments(statement: Node) -> set[str]:
    """Return the variables of an `if` that does nothing but `n++`; empty for others."""
    body = statement.child_by_field_name("consequence")
    if body is None or statement.child_by_field_name("alternative"):
        return set()
    parts = body.named_children if body.type == "compound_statement" else [body]
    changes = [
        part.named_children[0] if part.named_children else part for part in parts if part.type != "comment"
    ]
    names = [_changed(change) for change in changes if condition_of_increment(change)]
    return set(names) if len(set(names)) == len(changes) else set()


def _declared_by(statement: Node) -> Iterator[str]:
    if statement.type == "declaration":
        for declarator in statement.children_by_field_name("declarator"):
            yield declared_name(declarator)


def _declared_in(node: Node) -> Iterator[str]:
    """Yield the variables that the head of a loop or of a lambda expression declares."""
    for part in all_of(node, "declaration", "parameter_declaration"):
        for declarator in part.children_by_field_name("declarator"):
            yield declared_name(declarator)
    if node.type in ("identifier", "reference_declarator", "pointer_declarator"):  # of `for (auto n : sizes)`
        yield declared_name(node)


def _changed(node: Node) -> str:
    """Return the variable that an assignment, `n++`, `&n` or `cin >> n` may change; empty for none."""
    target = node.child_by_field_name("left") or node.child_by_field_name("argument")
    if node.type == "pointer_expression" and not text_of(node).startswith("&"):
        return ""
    if node.type == "binary_expression":
        is_input = text_of(node.child_by_field_name("operator")) == ">>" and re.match(
            r"(std::)?cin\b", text_of(node)
        )
        target = node.child_by_field_name("right") if is_input else None
    if target is None or target.type not in ("identifier", "field_expression"):
        return ""
    axis = text_of(target.child_by_field_name("field"))
    if axis in ("x", "y", "z"):
        return f"{flat_name(target.child_by_field_name('argument') or target)}.{axis}"
    return flat_name(target)


def _whole(name: str) -> str:
    """Return `grid` for its member `grid.x`, and other names as they are."""
    return name.partition(".")[0]


def _uses(value: Node, name: str) -> bool:
    """Return whether a value is computed from a variable, and not from its address only."""
    return any(
        text_of(node) == _whole(name) and not text_of(node.parent).startswith("&")
        for node in all_of(value, "identifier")
    )
