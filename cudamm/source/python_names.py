"""The names of a Python program: what each scope assigns, and which assignment counts at a place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

Branch = tuple[ast.AST, str]
"""A node such as an `if` or a loop, and which of its parts is meant."""

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, eq=False)
class Assignment:
    """A statement that gives a name its value.

    Attributes:
        name: the name; `self.x` for an attribute.
        node: the statement.
        value: the expression whose value the name gets; None for a value that is not followed.
        index: the place in that value, of `M, K = a.shape`; None for the whole of it.
        is_added: whether the value is added to what the name had, by `+=`.
    """

    name: str
    node: ast.AST
    value: ast.expr | None
    index: int | None = None
    is_added: bool = False

    @property
    def end(self) -> tuple[int, int]:
        """Return the line and the column from which the name has the value."""
        node = self.node.iter if isinstance(self.node, ast.For | ast.AsyncFor) else self.node
        return getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0

    @property
    def is_nothing(self) -> bool:
        """Return whether the value is None, which a program gives to a name until it has another."""
        return isinstance(self.value, ast.Constant) and self.value.value is None


class ProgramTree:
    """A parsed program, with the parent of each node and the assignments of each scope.

    Args:
        tree: the parsed program.
        element: which element of a list a loop over it has.
    """

    def __init__(self, tree: ast.Module, element: int = 0) -> None:
        self.tree, self._element = tree, element
        self.parents: dict[ast.AST, tuple[ast.AST, str]] = {}
        self.calls: dict[str, list[ast.Call]] = {}  # by the last part of the name of what is called
        self.functions: dict[str, list[FunctionNode]] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.imported: dict[str, str] = {}  # the names of what is imported under other names
        self.returns: dict[ast.AST, list[ast.Return]] = {}
        self.with_global: dict[str, list[ScopeNode]] = {}  # the functions that assign a module's names
        self.libraries: set[str] = set()  # the names of imported modules
        nodes = list(ast.walk(tree))
        for node in nodes:
            for field, value in ast.iter_fields(node):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        self.parents[child] = node, field
            if isinstance(node, ast.Call):
                self.calls.setdefault(last_name(node.func), []).append(node)
            elif isinstance(node, FunctionNode):
                self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
            elif isinstance(node, ast.ImportFrom):
                self.imported |= {each.asname or each.name: each.name for each in node.names}
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.libraries |= {(each.asname or each.name).partition(".")[0] for each in node.names}
        for node in nodes:
            if isinstance(node, ast.Return):
                self.returns.setdefault(self.scope_of(node), []).append(node)
            for name in node.names if isinstance(node, ast.Global) else ():
                self.with_global.setdefault(name, []).append(self.scope_of(node))
        self.has_loops = any(isinstance(node, ast.For) for node in nodes)
        self._assignments: dict[ast.AST, dict[str, list[Assignment]]] = {}

    def around(self, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
        """Yield the nodes around a node, from the inside, each with the field that the node is in."""
        while node in self.parents:
            node, field = self.parents[node]
            yield node, field

    def scope_of(self, node: ast.AST) -> ScopeNode:
        """Return the function, class or module that a node is in."""
        for outer, field in self.around(node):
            if isinstance(outer, ScopeNode) and field != "decorator_list":
                return outer
        return self.tree

    def class_of(self, function: ast.AST) -> ast.ClassDef | None:
        """Return the class of a method; None for other functions."""
        outer = self.parents.get(function, (None, ""))[0]
        return outer if isinstance(outer, ast.ClassDef) else None

    def branches(self, node: ast.AST, scope: ast.AST) -> list[Branch]:
        """Return the branches and loops of a scope that a node is in, from the inside."""
        found: list[Branch] = []
        for outer, field in self.around(node):
            if outer is scope:
                break
            is_branch = isinstance(outer, (ast.If, ast.ExceptHandler, ast.IfExp)) and field != "test"
            is_branch = is_branch or (isinstance(outer, _LOOPS) and field in ("body", "orelse"))
            is_branch = is_branch or isinstance(outer, ast.match_case)
            if is_branch:
                found.append((outer, field))
        return found

    def assignments(self, scope: ast.AST, name: str) -> list[Assignment]:
        """Return what a scope assigns to a name, in the order of the text."""
        if scope not in self._assignments:
            found: dict[str, list[Assignment]] = {}
            for assignment in _assignments_in(scope, self._element):
                found.setdefault(assignment.name, []).append(assignment)
            self._assignments[scope] = found
        return self._assignments[scope].get(name, [])

    def attributes(self, of: ast.ClassDef, name: str) -> list[Assignment]:
        """Return what the methods of a class assign to an attribute, such as `self.kernel`."""
        methods = [node for node in of.body if isinstance(node, FunctionNode)]
        return [found for method in methods for found in self.assignments(method, f"self.{name}")]


def last_name(node: ast.expr) -> str:
    """Return `RawKernel` for `cp.RawKernel`; empty for what has no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def position(node: ast.AST) -> tuple[int, int]:
    """Return the line and the column of a node."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def loops_among(branches: list[Branch]) -> list[ast.AST]:
    """Return the loops among branches."""
    return [outer for outer, field in branches if isinstance(outer, _LOOPS) and field == "body"]


def _assignments_in(scope: ast.AST, element: int) -> Iterator[Assignment]:
    body = getattr(scope, "body", [])
    unread: list[ast.AST] = list(reversed(body)) if isinstance(body, list) else []
    while unread:
        node = unread.pop()
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _targets(target, node.value, node)
        elif isinstance(node, ast.AnnAssign) and node.value:
            yield from _targets(node.target, node.value, node)
        elif isinstance(node, ast.AugAssign):
            is_added = isinstance(node.op, ast.Add)
            for each in _targets(node.target, node.value if is_added else None, node):
                yield Assignment(each.name, node, each.value, is_added=is_added)
        elif isinstance(node, ast.For | ast.AsyncFor):
            index = ast.Constant(value=element)
            yield from _targets(node.target, ast.Subscript(node.iter, index, ast.Load()), node)
        elif isinstance(node, ast.NamedExpr):
            yield from _targets(node.target, node.value, node)
        elif isinstance(node, ast.withitem) and node.optional_vars:
            yield from _targets(node.optional_vars, node.context_expr, node.context_expr)
        if not isinstance(node, ScopeNode):
            unread += reversed(list(ast.iter_child_nodes(node)))


def _targets(target: ast.expr, value: ast.expr | None, node: ast.AST) -> Iterator[Assignment]:
    """Yield the names that an assignment gives values to."""
    if isinstance(target, ast.Name):
        yield Assignment(target.id, node, value)
    elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        if target.value.id == "self":
            yield Assignment(f"self.{target.attr}", node, value)
    elif isinstance(target, ast.Tuple | ast.List):
        for index, each in enumerate(target.elts):
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
                yield from _targets(each, value.elts[index], node)
            elif isinstance(each, ast.Name | ast.Attribute):
                for found in _targets(each, value, node):
                    yield Assignment(found.name, node, value, index)
            else:
                yield from _targets(each, None, node)
