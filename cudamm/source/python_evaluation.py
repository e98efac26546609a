"""Find out what expressions of a Python program stand for, without executing anything of it.

Numbers become C++ over the program's variables, so that the reader of C++ host code finds the sizes in them.
Texts are built as the program builds them. What is not understood is `Unknown`, with all that depends on it.
"""

from __future__ import annotations

import ast
import math
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from cudamm.source.host_values import (
    HostArray,
    Kernel,
    Module,
    NamedFile,
    Template,
    Unknown,
    Value,
    Variables,
    as_definition,
    combined,
    constant,
    cpp_name,
    rounded_up,
    unless_chosen,
    value_finder,
)
from cudamm.source.python_names import (
    Assignment,
    Branch,
    FunctionNode,
    ProgramTree,
    ScopeNode,
    last_name,
    loops_among,
    position,
)
from cudamm.source.python_text import (
    HostNumber,
    KernelText,
    brace_formatted,
    interpolated,
    literal_text,
    number_text,
    percent_formatted,
    plain,
    segment_of,
    substituted,
)

MOST_DEPTH = 45
"""Nesting of expressions, and of names that stand for others, that is followed."""

MOST_STEPS = 20_000
"""Number of parts of expressions that are looked at."""

MOST_CALLS = 12
"""Number of calls of a function that are looked at."""

LONGEST_EXPRESSION = 400
"""Number of characters of C++ for a number."""

MODULES = {
    "SourceModule": "source",
    "DynamicSourceModule": "source",
    "RawModule": "code",
    "RawKernel": "code",
}
"""The classes whose objects have kernels, with the name of the argument that is their text."""

INLINE = "load_inline"
"""PyTorch's function for a text with kernels and the host code that launches them."""

_OPTIONS = ("options", "extra_cuda_cflags")


@dataclass(frozen=True, eq=False)
class Scope:
    """A scope, entered by one of its calls.

    Attributes:
        node: the function, class or module.
        call: the call that enters it; None for a module, and for a function that nothing calls.
        caller: the scope with that call.
    """

    node: ScopeNode
    call: ast.Call | None = None
    caller: Scope | None = None


_SAME_ARRAY_WORDS = """
array asarray ascontiguousarray asfortranarray to_gpu to_gpu_async to_device In Out InOut astype copy get set
data_ptr contiguous cuda to float half double gpudata data ptr ravel flatten from_numpy squeeze tensor
asanyarray bfloat16 view requires_grad_ from_dlpack
"""
_SAME_ARRAY = frozenset(_SAME_ARRAY_WORDS.split())
"""Names of functions, methods and attributes that return the elements of an array, wherever they are."""

_MAKER_WORDS = """
zeros empty ones full rand randn random random_sample standard_normal eye identity pagelocked_empty
pagelocked_zeros managed_empty managed_zeros uniform normal randint integers sample ranf
"""
_MAKERS = frozenset(_MAKER_WORDS.split())
"""Names of functions that make an array of a shape."""

_LIKE = frozenset({"zeros_like", "empty_like", "ones_like", "full_like", "rand_like", "randn_like"})
_NUMBER_WORDS = """
int int32 int64 uint32 uint64 int16 uint16 int8 uint8 intc uintc int_ intp c_int c_uint c_int32 c_int64
c_uint32 c_size_t c_longlong
"""
_NUMBER_TYPES = frozenset(_NUMBER_WORDS.split())
_REAL_TYPES = frozenset({"float", "float32", "float64", "float16", "single", "double", "c_float", "c_double"})
_AS_IT_IS = frozenset({"dedent", "strip", "lstrip", "rstrip", "encode", "decode", "cleandoc", "expandtabs"})
_SAME_PATH = frozenset({"abspath", "realpath", "expanduser", "Path", "resolve", "absolute", "str", "fspath"})


class Evaluation:
    """Evaluates the expressions of one program.

    Args:
        tree: the parsed program.
        source: its text.
        read: returns the text of a file that the program names, or raises UsageError.
        is_python_2: whether `/` of whole numbers is rounded down.
    """

    def __init__(
        self,
        tree: ProgramTree,
        source: str,
        read: Callable[[str, ast.AST], KernelText],
        is_python_2: bool,
    ) -> None:
        self.tree, self.variables = tree, Variables()
        self._lines, self._read, self._is_python_2 = source.encode().split(b"\n"), read, is_python_2
        self.module = Scope(tree.tree)
        self._scopes: dict[tuple[ast.AST, ast.AST | None, Scope | None], Scope] = {}
        self._scopes_of: dict[tuple[ast.AST, int], list[Scope]] = {}
        self._values: dict[tuple[ast.AST, Scope], Value] = {}
        self._extents: dict[str, HostNumber] = {}  # names of extents whose values are not known
        self._running: set[tuple[ast.AST, Scope]] = set()
        self._depth = self._steps = 0

    # Scopes

    def scope(self, node: ScopeNode, call: ast.Call | None = None, caller: Scope | None = None) -> Scope:
        """Return a scope; the same object for the same call."""
        if isinstance(node, ast.Module):
            return self.module
        return self._scopes.setdefault((node, call, caller), Scope(node, call, caller))

    def scopes_of(self, node: ScopeNode, levels: int = 4) -> list[Scope]:
        """Return a function's scopes, one for each call of it that the program has."""
        if not isinstance(node, FunctionNode):
            return [self.scope(node)]
        key = node, levels
        if key not in self._scopes_of:
            self._scopes_of[key] = [self.scope(node)]  # until it is known, for functions that call themselves
            self._scopes_of[key] = self._scopes_by_call(node, levels)
        return self._scopes_of[key]

    def _scopes_by_call(self, node: FunctionNode, levels: int) -> list[Scope]:
        name = node.name
        owner = self.tree.class_of(node)
        if name == "__init__" and owner:
            name = owner.name
        calls = [call for call in self.tree.calls.get(name, ()) if self.tree.scope_of(call) is not node]
        found = [
            self.scope(node, call, caller)
            for call in calls[:MOST_CALLS]
            for caller in (
                self.scopes_of(self.tree.scope_of(call), levels - 1)[:MOST_CALLS] if levels else []
            )
        ]
        return found[:MOST_CALLS] or [self.scope(node)]

    # Names

    def _name(self, name: str, node: ast.AST, scope: Scope) -> Value:
        value = self._in_scope(name, node, scope)
        outer: ast.AST = scope.node
        while value is None and outer is not self.tree.tree:
            inner, outer = outer, self.tree.scope_of(outer)
            while isinstance(outer, ast.ClassDef):
                outer = self.tree.scope_of(outer)
            is_caller = scope.caller is not None and scope.caller.node is outer
            around = scope.caller if is_caller and scope.caller else self.scopes_of(outer)[0]
            # A function sees what its module assigns until it is called.
            place = scope.call if is_caller and scope.call else inner
            value = self._in_scope(name, place if is_caller else self.tree.tree, around)
        return Unknown(cpp_name(name)) if value is None else value

    def _in_scope(self, name: str, node: ast.AST, scope: Scope) -> Value | None:
        """Return the value that a scope gives to a name; None if it gives none."""
        assigned = self.tree.assignments(scope.node, name)
        is_none = all(each.is_nothing for each in assigned)
        if scope.node is self.tree.tree and is_none and name in self.tree.with_global:
            functions = self.tree.with_global.get(name, ())
            assigned = [found for function in functions for found in self.tree.assignments(function, name)]
        if assigned:
            found = self._assigned(name, assigned, node, scope)
            if found is not None:
                return found
        return self._parameter(name, scope)

    def _parameter(self, name: str, scope: Scope) -> Value | None:
        """Return what a call passes for a parameter of a function; None if it has no such parameter."""
        if name not in _parameters(scope.node) or not isinstance(scope.node, FunctionNode | ast.Lambda):
            return None
        given = scope.node.args
        names = [argument.arg for argument in (*given.posonlyargs, *given.args)]
        keywords = [argument.arg for argument in given.kwonlyargs]
        passed: ast.expr | None = None
        if scope.call and scope.caller:
            passed = next((each.value for each in scope.call.keywords if each.arg == name), None)
            place = names.index(name) if name in names else len(scope.call.args)
            place -= names[:1] == ["self"]
            if passed is None and 0 <= place < len(scope.call.args):
                passed = scope.call.args[place]
            if passed is not None and not isinstance(passed, ast.Starred):
                value = self.value(passed, scope.caller)
                if isinstance(value, Unknown):
                    return Unknown(cpp_name(name), value.node)
                return self._as_variable(name, value)
        defaults = dict(zip(reversed(names), reversed(given.defaults), strict=False))
        defaults |= {k: v for k, v in zip(keywords, given.kw_defaults, strict=False) if v}
        if name in defaults:
            return self._as_variable(name, self.value(defaults[name], self.module))
        return Unknown(cpp_name(name))

    def _assigned(self, name: str, found: list[Assignment], node: ast.AST, scope: Scope) -> Value | None:
        """Return the value that a name has at a place, by the assignments of its scope."""
        found = [each for each in found if not each.is_nothing] or found
        at = position(node) if node is not self.tree.tree else (1 << 30, 0)
        is_parameter = found[0].end > at and name in _parameters(scope.node)  # `a = a.astype(…)`
        if len(found) == 1 and not found[0].is_added and not is_parameter:
            return self._value_of(found[0], scope)
        around = self._open_branches(node, scope) or []
        certain: Assignment | None = None
        others: list[Assignment] = []
        for each in found:
            branches = self._open_branches(each.node, scope)
            if branches is None:
                continue  # it is not reached
            own_loops = [loop for loop in loops_among(around) if loop in loops_among(branches)]
            is_before = each.end <= at
            if is_before and all(branch in around for branch in branches):
                certain, others = each, []
            elif is_before or (
                own_loops and (certain is None or self._is_outside(certain, own_loops, scope))
            ):
                others.append(each)
        if certain is None and not others:
            return None
        value = self._value_of(certain, scope) if certain else None
        for each in others:
            value = self._merged(name, value, each, scope, around)
        return value

    def _merged(
        self, name: str, before: Value | None, each: Assignment, scope: Scope, around: list[Branch]
    ) -> Value:
        """Return the value of a name after an assignment that the program makes under a condition."""
        value = self._value_of(each, scope, before)
        if before is None or value == before:
            return value
        branches = [branch for branch in self._open_branches(each.node, scope) or () if branch not in around]
        if isinstance(before, HostNumber) and isinstance(value, HostNumber) and len(branches) == 1:
            branch, kind = branches[0]
            test = self._number(branch.test, scope) if isinstance(branch, ast.If) else None
            is_whole = before.is_whole and value.is_whole
            if value.by_user and not before.by_user:
                return self._as_variable(name, unless_chosen(before))
            if test:
                then, other = (value, before) if kind == "body" else (before, value)
                text = f"({test.text} ? {then.text} : {other.text})"
                known = then.value if test.value else None if test.value is None else other.value
                return self._as_variable(name, HostNumber(text, known, is_whole))
        return Unknown(cpp_name(name))

    def _is_outside(self, assignment: Assignment, loops: list[ast.AST], scope: Scope) -> bool:
        own = loops_among(self.tree.branches(assignment.node, scope.node))
        return not any(loop in own for loop in loops)

    def _open_branches(self, node: ast.AST, scope: Scope) -> list[Branch] | None:
        """Return the branches around a node whose conditions are not known; None if it is not reached."""
        found = []
        for branch, kind in self.tree.branches(node, scope.node):
            holds = self._holds(branch.test, scope) if isinstance(branch, ast.If) else None
            if holds is None:
                found.append((branch, kind))
            elif holds != (kind == "body"):
                return None
        return found

    def _holds(self, test: ast.expr, scope: Scope) -> bool | None:
        """Return whether a condition holds; None if that is not known."""
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__":
            return True
        value = self.value(test, scope)
        if not isinstance(value, HostNumber) or value.value is None or value.by_user:
            return None
        return None if "%" in value.text else bool(value.value)  # a remainder is another one for other sizes

    def _value_of(self, assignment: Assignment, scope: Scope, before: Value | None = None) -> Value:
        """Return the value that an assignment gives to its name, which may have had another one."""
        name = assignment.name
        if assignment.value is None:
            return Unknown(cpp_name(name))
        inner = scope
        if name.startswith("self.") or self.tree.scope_of(assignment.node) is not scope.node:
            inner = self.scopes_of(self.tree.scope_of(assignment.node))[0]
        if assignment.is_added:
            if loops_among(self.tree.branches(assignment.node, inner.node)):
                return Unknown(cpp_name(name))  # it is added an unknown number of times
            if before is None:
                before = self._in_scope(name, assignment.node, inner)
            added = self.value(assignment.value, inner)
            if isinstance(before, KernelText) and isinstance(added, KernelText):
                return before + added
            total = self._arithmetic(before, ast.Add(), added)
            return self._as_variable(name, total) if total else Unknown(cpp_name(name))
        value = self.value(assignment.value, inner)
        if assignment.index is not None:
            value = self._element(value, assignment.index)
        if isinstance(value, Unknown):
            return Unknown(cpp_name(name), value.node)
        return self._as_variable(name, value)

    def _as_variable(self, name: str, value: Value) -> Value:
        """Return a value as what a variable has."""
        if isinstance(value, HostNumber):
            return self.variables.declare(name, value)
        if not isinstance(value, HostArray):
            return value
        name = cpp_name(name)
        shape = value.shape
        if shape and len(shape) == 2:  # numbers get names, so that they are known as sizes
            rows, columns = shape
            shape = self._named(f"{name}_rows", rows), self._named(f"{name}_cols", columns)
        return replace(value, name=name, shape=shape)

    def _named(self, name: str, number: HostNumber) -> HostNumber:
        """Return an extent as a variable; an expression that another variable has already as that one."""
        if number.text.isidentifier():
            return number
        if number.value is None and not number.by_user:  # of a number that is not known nothing follows
            return self._extents.setdefault(number.text, self.variables.add_unknown(name))
        same = (each for each, value in self.variables.values.items() if value == number)
        known = None if number.text.isdigit() else next(same, None)
        return replace(number, text=known) if known else self.variables.declare(name, number)

    # Expressions

    def value(self, node: ast.expr, scope: Scope) -> Value:
        """Return what an expression stands for."""
        key = node, scope
        if key in self._values:
            return self._values[key]
        self._steps += 1
        if key in self._running or self._depth >= MOST_DEPTH or self._steps > MOST_STEPS:
            return Unknown(node=node)
        self._running.add(key)
        self._depth += 1
        try:
            value = self._evaluated(node, scope)
        finally:
            self._depth -= 1
            self._running.discard(key)
        if value is None or (isinstance(value, HostNumber) and len(value.text) > LONGEST_EXPRESSION):
            value = Unknown(node=node)
        if self._steps <= MOST_STEPS:
            self._values[key] = value
        return value

    def number(self, value: Value) -> HostNumber | None:
        """Return a value as a number; None if it is none."""
        if isinstance(value, HostNumber):
            return value
        return self.variables.add_unknown(value.name) if isinstance(value, Unknown) and value.name else None

    def _number(self, node: ast.expr, scope: Scope) -> HostNumber | None:
        return self.number(self.value(node, scope))

    def _evaluated(self, node: ast.expr, scope: Scope) -> Value | None:
        match node:
            case ast.Constant(value=bool() as truth):
                return HostNumber("1" if truth else "0", int(truth))
            case ast.Constant(value=int() | float() as number):
                return constant(number)
            case ast.Constant(value=str() | bytes()):
                return literal_text(node, self._lines)
            case ast.Name(id="__file__"):
                return NamedFile("program.py")
            case ast.Name(id=name):
                return self._name(name, node, scope)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                if any(isinstance(element, ast.Starred) for element in elements):
                    return None
                return tuple(self.value(element, scope) for element in elements)
            case ast.Dict(keys=keys, values=values):
                named = [
                    (str(self.value(key, scope)) if key else "", value)
                    for key, value in zip(keys, values, strict=True)
                ]
                return {key: self.value(value, scope) for key, value in named}
            case ast.GeneratorExp() | ast.ListComp():
                return self._comprehension(node, scope)
            case ast.JoinedStr(values=parts):
                return self._interpolated(node, parts, scope)
            case ast.BinOp():
                return self._binary(node, scope)
            case ast.UnaryOp():
                return self._unary(node, scope)
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                return self._compared(left, sign, right, scope)
            case ast.BoolOp(op=operator, values=values):
                numbers = [self._number(value, scope) for value in values]
                joint = " && " if isinstance(operator, ast.And) else " || "
                known = [number.text for number in numbers if number]
                return HostNumber(f"({joint.join(known)})") if len(known) == len(numbers) else None
            case ast.IfExp():
                return self._choice(node, scope)
            case ast.Attribute():
                return self._attribute(node, scope)
            case ast.Subscript():
                return self._subscript(node, scope)
            case ast.Call():
                return self._call(node, scope)
            case ast.NamedExpr(value=inner):
                return self.value(inner, scope)
        return None

    def _comprehension(self, node: ast.GeneratorExp | ast.ListComp, scope: Scope) -> HostArray | None:
        """Return one of the arrays that it makes, or the array of the numbers that it counts."""
        each = self.value(node.elt, scope)
        is_row = isinstance(node.elt, ast.ListComp)
        if isinstance(each, HostArray) and not is_row:  # `a, b = (np.random.rand(n, n) for _ in range(2))`
            return each
        inner = each.shape if isinstance(each, HostArray) and is_row else ()
        counted = node.generators[0].iter
        if len(node.generators) != 1 or not isinstance(counted, ast.Call) or len(counted.args) != 1:
            return None
        number = self._number(counted.args[0], scope)
        is_zero = isinstance(each, HostArray | HostNumber) and each in (constant(0), constant(0.0))
        return HostArray((number, *(inner or ())), is_zero=is_zero) if number else None

    def _interpolated(self, node: ast.JoinedStr, parts: list[ast.expr], scope: Scope) -> KernelText | None:
        found: list[tuple[str | KernelText | HostNumber | None, str]] = []
        for part in parts:
            if isinstance(part, ast.FormattedValue):
                value = self.value(part.value, scope)
                specification = ast.unparse(part.format_spec)[2:-1] if part.format_spec else ""
                if not isinstance(value, KernelText | HostNumber) or part.conversion == ord("a"):
                    return None
                found.append((value, specification))
            elif isinstance(part, ast.Constant):
                found.append((str(part.value), ""))
        segment = segment_of(node, self._lines)
        begins_below = re.match(r"""[A-Za-z]*(?:\"{3}|'{3})\\\n""", segment) is not None
        return interpolated(found, node.lineno + begins_below)

    def _binary(self, node: ast.BinOp, scope: Scope) -> Value | None:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        if isinstance(left, KernelText) and isinstance(node.op, ast.Mod):
            return percent_formatted(left, value_finder(right))
        if isinstance(left, KernelText) and isinstance(right, KernelText) and isinstance(node.op, ast.Add):
            return left + right
        if isinstance(left, NamedFile) and isinstance(node.op, ast.Div) and isinstance(right, KernelText):
            return NamedFile(posixpath.join(left.path, str(right)))
        if isinstance(left, NamedFile) and isinstance(node.op, ast.Add) and isinstance(right, KernelText):
            return NamedFile(posixpath.join(left.path, str(right).lstrip("/")))
        if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(node.op, ast.Add):
            return left + right
        arrays = [value for value in (left, right) if isinstance(value, HostArray)]
        if arrays:
            return replace(arrays[0], is_zero=False, name="")
        return self._arithmetic(left, node.op, right)

    def _arithmetic(self, left: Value, operator: ast.AST, right: Value) -> HostNumber | None:
        a, b = self.number(left), self.number(right)
        if a is None or b is None:
            return None
        return combined(a, operator, b, self._is_python_2)

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> Value | None:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.BinOp):
            inner = node.operand  # -(-n // 16)
            negated = inner.left.operand if isinstance(inner.left, ast.UnaryOp) else None
            if negated is not None and isinstance(inner.op, ast.FloorDiv):
                return rounded_up(self._number(negated, scope), self._number(inner.right, scope))
        number = self._number(node.operand, scope)
        if number is None:
            return None
        if isinstance(node.op, ast.Not):
            return combined(number, ast.Eq(), HostNumber("0", 0), self._is_python_2)
        if isinstance(node.op, ast.USub):
            value = None if number.value is None else -number.value
            return HostNumber(f"(-{number.text})", value, number.is_whole, number.by_user)
        return number if isinstance(node.op, ast.UAdd) else None

    def _compared(self, left: ast.expr, sign: ast.AST, right: ast.expr, scope: Scope) -> Value | None:
        a, b = self.value(left, scope), self.value(right, scope)
        if isinstance(a, KernelText) and isinstance(b, KernelText) and isinstance(sign, ast.Eq | ast.NotEq):
            return HostNumber("", int((str(a) == str(b)) == isinstance(sign, ast.Eq)))
        return self._arithmetic(a, sign, b)

    def _choice(self, node: ast.IfExp, scope: Scope) -> Value | None:
        holds = self._holds(node.test, scope)
        if holds is not None:
            return self.value(node.body if holds else node.orelse, scope)
        then, other = self.value(node.body, scope), self.value(node.orelse, scope)
        if then == other:
            return then
        numbers = [number for number in (self.number(then), self.number(other)) if number]
        if len(numbers) < 2:
            return None
        test = self._number(node.test, scope)
        usual = [number.value for number in numbers if not number.by_user]
        by_user = len(usual) == 1
        text = test.text if test else "argc > 1" if by_user else ""
        is_whole = all(number.is_whole for number in numbers)
        chosen = f"({text} ? {numbers[0].text} : {numbers[1].text})"
        return HostNumber(chosen, usual[0] if by_user else None, is_whole, by_user) if text else None

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Value | None:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return self._own_attribute(node.attr, node, scope)
        if isinstance(node.value, ast.Name) and node.value.id in self.tree.classes:
            return self._in_scope(node.attr, self.tree.tree, self.scope(self.tree.classes[node.value.id]))
        value = self.value(node.value, scope)
        if isinstance(value, NamedFile):
            return NamedFile(_folder_of(value.path)) if node.attr == "parent" else None
        option = self._option(node) if isinstance(value, Unknown) else None
        if option is not None:
            return option
        if node.attr in ("shape", "size", "nbytes", "itemsize") and isinstance(value, HostArray | Unknown):
            return self._of_array(value, node, scope)
        if isinstance(value, HostArray) or (isinstance(value, Unknown) and node.attr in _SAME_ARRAY):
            if node.attr == "T" and isinstance(value, HostArray):
                return replace(value, shape=value.shape[::-1] if value.shape else None)
            return value if node.attr in _SAME_ARRAY else None
        return None

    def _own_attribute(self, name: str, node: ast.AST, scope: Scope) -> Value | None:
        owner = next((each for each, _ in self.tree.around(node) if isinstance(each, ast.ClassDef)), None)
        if owner is None:
            return None
        own = self.tree.assignments(scope.node, f"self.{name}")
        value = self._assigned(f"self.{name}", own, node, scope) if own else None
        found = [each for each in self.tree.attributes(owner, name) if not each.is_nothing]
        if value is None and found:
            values = [self._value_of(each, self.scope(self.tree.scope_of(each.node))) for each in found]
            value = values[0] if all(each == values[0] for each in values) else Unknown(cpp_name(name))
        return value or self._in_scope(name, self.tree.tree, self.scope(owner)) or Unknown(cpp_name(name))

    def _option(self, node: ast.Attribute) -> Value | None:
        """Return `args.n` by the default value of the option, which the program's user may choose."""
        for call in self.tree.calls.get("add_argument", ()):
            keywords = {each.arg: each.value for each in call.keywords}
            names = [
                each.value for each in (*call.args, keywords.get("dest")) if isinstance(each, ast.Constant)
            ]
            if any(str(name).lstrip("-").replace("-", "_") == node.attr for name in names):
                usual = self.value(keywords["default"], self.module) if "default" in keywords else None
                return unless_chosen(usual) if usual is None or isinstance(usual, HostNumber) else usual
        return unless_chosen(None) if node.attr == "argv" else None

    def _of_array(self, value: HostArray | Unknown, node: ast.Attribute, scope: Scope) -> Value | None:
        shape = value.shape if isinstance(value, HostArray) else None
        if node.attr == "itemsize":
            return HostNumber("sizeof(float)")
        if node.attr == "shape":
            return shape or self._named_shape(value.name, scope)
        if shape is None:
            return None
        parts = [number.text for number in shape] + ["sizeof(float)"] * (node.attr == "nbytes")
        known = [number.value for number in shape if number.value is not None]
        total = math.prod(known) if len(known) == len(shape) and node.attr == "size" else None
        return HostNumber("(" + " * ".join(parts) + ")", total)

    def _named_shape(self, name: str, scope: Scope) -> Value | None:
        """Return the extents of an array of two dimensions, by the names that the program gives to them."""
        if not name:
            return None
        names = [f"{name}_rows", f"{name}_cols"]
        for node in ast.walk(scope.node):
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            target, text = node.targets[0], ast.unparse(node.value)
            if text == f"{name}.shape" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
                targets = [each.id if isinstance(each, ast.Name) else "_" for each in target.elts]
                names = [each if each != "_" else old for each, old in zip(targets, names, strict=True)]
            for axis in (0, 1):
                if text == f"{name}.shape[{axis}]" and isinstance(target, ast.Name):
                    names[axis] = target.id
        return tuple(self.variables.add_unknown(each) for each in names)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Value | None:
        if last_name(node.value) == "argv":
            return unless_chosen(None)
        value, index = self.value(node.value, scope), self.value(node.slice, scope)
        if isinstance(value, dict):
            return value.get(str(index)) if isinstance(index, KernelText) else None
        if isinstance(value, HostArray):
            return None
        if isinstance(index, HostNumber) and isinstance(index.value, int):
            return self._element(value, index.value)
        return None

    def _element(self, value: Value, index: int) -> Value:
        if isinstance(value, tuple) and -len(value) <= index < len(value):
            return value[index]
        if isinstance(value, HostArray):  # `a, b = (np.random.rand(n, n) for _ in range(2))`
            return value
        return Unknown()

    # Calls

    def _call(self, node: ast.Call, scope: Scope) -> Value | None:
        name = last_name(node.func)
        name = self.tree.imported.get(name, name)
        if name in MODULES or name == INLINE:
            return self._kernels(node, name, scope)
        is_method = isinstance(node.func, ast.Attribute) and not self._is_library(node.func)
        owner = self.value(node.func.value, scope) if is_method else None  # type: ignore[attr-defined]
        if isinstance(owner, Module):
            return self._kernel_of(owner, name, node, scope)
        if isinstance(owner, Kernel):
            return owner if name == "prepare" else None
        if isinstance(owner, KernelText | Template):
            found = self._text_method(owner, name, node, scope)
            if found is not None:
                return found
        if isinstance(owner, NamedFile):
            return self._file_method(owner, name, node, scope)
        if isinstance(owner, dict) and name in ("items", "values"):
            pairs = [(plain(key), value) for key, value in owner.items()]
            return tuple(pairs) if name == "items" else tuple(owner.values())
        if name == "mem_alloc" and node.args:
            return HostArray(size_bytes=self._number(node.args[0], scope))
        if isinstance(owner, HostArray | Unknown) and name in (*_SAME_ARRAY, "reshape", "size", "dim"):
            found = self._array_method(owner, name, node, scope)
            if found is not None:
                return found
        own = self._own_function(node, name, scope)
        return own if own is not None else self._library_call(node, name, scope)

    def _is_library(self, node: ast.expr) -> bool:
        """Return whether a name such as `np.random.rand` begins with what the program imports."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.tree.libraries

    def _arguments(self, node: ast.Call, scope: Scope) -> list[Value]:
        return [self.value(each, scope) for each in node.args if not isinstance(each, ast.Starred)]

    def _kernels(self, node: ast.Call, name: str, scope: Scope) -> Value | None:
        """Return the module, or the kernel, that a call makes of a text."""
        if name == INLINE:
            place, key = 2, "cuda_sources"
        else:
            place, key = 0, MODULES[name]
        given = next((each.value for each in node.keywords if each.arg == key), None)
        given = given or (node.args[place] if len(node.args) > place else None)
        if given is None:
            return None
        text = self.value(given, scope)
        text = _joined(text, plain("\n")) if isinstance(text, tuple) else text
        options = next((self.value(each.value, scope) for each in node.keywords if each.arg in _OPTIONS), ())
        for option in reversed(options) if isinstance(options, tuple) else ():
            if isinstance(option, KernelText) and isinstance(text, KernelText):
                text = as_definition(option) + text
        module = Module(node, text)
        if name != "RawKernel":
            return module
        keyword = next((each.value for each in node.keywords if each.arg == "name"), None)
        named = keyword or (node.args[1] if len(node.args) > 1 else None)
        return Kernel(module, str(self.value(named, scope))) if named else None

    def _kernel_of(self, module: Module, name: str, node: ast.Call, scope: Scope) -> Value | None:
        if name != "get_function" or not node.args:
            return None
        kernel = self.value(node.args[0], scope)
        return Kernel(module, str(kernel)) if isinstance(kernel, KernelText) else None

    def _text_method(
        self, owner: KernelText | Template, name: str, node: ast.Call, scope: Scope
    ) -> Value | None:
        keywords = {each.arg or "": self.value(each.value, scope) for each in node.keywords}
        arguments = self._arguments(node, scope)
        for each in (keywords.pop("", None), arguments[0] if arguments else None):  # `**values`, and a dict
            keywords |= each if isinstance(each, dict) else {}
        if isinstance(owner, Template):
            is_known = name in ("substitute", "safe_substitute")
            return substituted(owner.text, value_finder(keywords)) if is_known else None
        if name in ("format", "format_map"):
            numbered = {str(place): value for place, value in enumerate(arguments)}
            return brace_formatted(owner, value_finder(numbered | keywords))
        if name == "replace" and len(arguments) >= 2:
            old, new = arguments[:2]
            known = isinstance(old, KernelText) and isinstance(new, KernelText)
            return owner.with_replaced(str(old), new) if known else None  # type: ignore[arg-type]
        if name == "join" and arguments:
            return _joined(arguments[0], owner)
        return owner if name in _AS_IT_IS else None

    def _file_method(self, owner: NamedFile, name: str, node: ast.Call, scope: Scope) -> Value | None:
        if name in ("read", "read_text", "read_bytes"):
            return self._read(owner.path, node)
        if name in ("with_name", "joinpath") and len(node.args) == 1:
            part = self.value(node.args[0], scope)
            folder = _folder_of(owner.path) if name == "with_name" else owner.path
            return NamedFile(posixpath.join(folder, str(part))) if isinstance(part, KernelText) else None
        return owner if name in (*_SAME_PATH, "open") else None

    def _array_method(
        self, owner: HostArray | Unknown, name: str, node: ast.Call, scope: Scope
    ) -> Value | None:
        if name == "size" and isinstance(node.func, ast.Attribute):  # of a tensor
            shape = self._of_array(owner, ast.Attribute(node.func.value, "shape", ast.Load()), scope)
            index = self.value(node.args[0], scope) if node.args else None
            if isinstance(index, HostNumber) and isinstance(index.value, int):
                return self._element(shape, index.value)
            return shape if not node.args else None
        if name == "reshape":
            reshaped = self._shape(self._arguments(node, scope))
            return replace(owner, shape=reshaped) if isinstance(owner, HostArray) else HostArray(reshaped)
        return owner if name in _SAME_ARRAY else None

    def _own_function(self, node: ast.Call, name: str, scope: Scope) -> Value | None:
        """Return what a function of the program returns; None if it has none of that name."""
        for function in self.tree.functions.get(name, ()):
            owner = self.tree.class_of(function)
            is_method = isinstance(node.func, ast.Attribute)
            if (owner is None) == is_method:
                continue
            inner = self.scope(function, node, scope)
            found = [
                self.value(part.value, inner)
                for part in self.tree.returns.get(function, ())
                if part.value and self._open_branches(part, inner) is not None
            ]
            if found and all(each == found[0] for each in found):
                return found[0]
        return None

    def _library_call(self, node: ast.Call, name: str, scope: Scope) -> Value | None:
        arguments = self._arguments(node, scope)
        first = arguments[0] if arguments else None
        if name in ("getcwd", "cwd"):
            return NamedFile(".")
        if name in ("open", "Path", "PurePath") and isinstance(first, KernelText):
            return NamedFile(posixpath.join(*map(str, arguments[:1] if name == "open" else arguments)))
        if name == "open" and isinstance(first, NamedFile):
            return first
        if name == "join" and isinstance(first, NamedFile | KernelText):
            start = first.path if isinstance(first, NamedFile) else str(first)
            others = [str(each) for each in arguments[1:] if isinstance(each, KernelText)]
            is_known = len(others) == len(arguments) - 1
            return NamedFile(posixpath.join(start, *others)) if is_known else None
        if isinstance(first, NamedFile):
            if name == "dirname":
                return NamedFile(_folder_of(first.path))
            return first if name in _SAME_PATH else None
        if name in _AS_IT_IS and isinstance(first, KernelText):
            return first
        if name == "Template" and isinstance(first, KernelText):
            return Template(first)
        if name == "dict" and not arguments:
            return {each.arg: self.value(each.value, scope) for each in node.keywords if each.arg}
        if name in ("str", "repr") and first is not None:
            return number_text(first) if isinstance(first, HostNumber) else first
        if name in ("tuple", "list", "max", "min", "len") or (
            name == "enumerate" and isinstance(first, tuple)
        ):
            return self._of_several(name, node, arguments)
        if name in ("input", "raw_input", "getenv") or (
            name == "get" and "environ" in ast.unparse(node.func)
        ):
            usual = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], HostNumber) else None
            return unless_chosen(usual)
        made = self._made_array(node, name, arguments, scope)
        return made if made is not None else self._converted(name, arguments)

    def _of_several(self, name: str, node: ast.Call, arguments: list[Value]) -> Value | None:
        first = arguments[0] if arguments else None
        if name == "len":
            if node.args and last_name(node.args[0]) == "argv":
                return HostNumber("argc", by_user=True)
            if isinstance(first, HostArray) and first.shape:
                return first.shape[0]
            return HostNumber(str(len(first)), len(first)) if isinstance(first, tuple) else None
        if name in ("tuple", "list"):
            return first if isinstance(first, tuple) else None
        if name == "enumerate":
            counted = first if isinstance(first, tuple) else ()
            return tuple((constant(place), each) for place, each in enumerate(counted))
        numbers = [self.number(each) for each in arguments]
        if len(numbers) != 2 or None in numbers:
            return None
        a, b = (number for number in numbers if number)
        known = a.value is not None and b.value is not None
        value = (max if name == "max" else min)(a.value, b.value) if known else None  # type: ignore[type-var]
        return HostNumber(f"{name}({a.text}, {b.text})", value, a.is_whole and b.is_whole)

    def _made_array(
        self, node: ast.Call, name: str, arguments: list[Value], scope: Scope
    ) -> HostArray | Unknown | None:
        first = arguments[0] if arguments else None
        if isinstance(first, HostArray | Unknown) and name in _SAME_ARRAY | _REAL_TYPES | _NUMBER_TYPES:
            is_array = isinstance(first, HostArray) or name in ("In", "Out", "InOut", "to_gpu", "asarray")
            if is_array:
                return (
                    replace(first, is_zero=False) if name == "Out" and isinstance(first, HostArray) else first
                )
        if name in _LIKE and isinstance(first, HostArray | Unknown):
            shape = first.shape if isinstance(first, HostArray) else self._named_shape(first.name, scope)
            return HostArray(shape if isinstance(shape, tuple) else None, is_zero=name == "zeros_like")
        if name in _MAKERS:
            size = next((each.value for each in node.keywords if each.arg in ("size", "shape")), None)
            if size is not None:
                arguments = [self.value(size, scope)]
            elif name in ("uniform", "normal", "randint", "integers"):
                arguments = arguments[2:]
            if name in ("eye", "identity") and isinstance(first, HostNumber):
                return HostArray((first, first))
            is_many = name in ("rand", "randn", "zeros", "empty", "ones")
            shape = self._shape(arguments if is_many else arguments[:1])
            return HostArray(shape, is_zero=name.endswith("zeros"))
        if name in ("array", "tensor", "arange", "linspace"):
            return HostArray(self._shape(arguments[:1]) if name == "arange" and len(arguments) == 1 else None)
        return None

    def _shape(self, arguments: list[Value]) -> tuple[HostNumber, ...] | None:
        """Return the extents `(m, n)` that are passed as a tuple or one after the other."""
        given = arguments[0] if arguments and isinstance(arguments[0], tuple) else arguments
        found: list[HostNumber] = []
        for each in given:
            number = self.number(each)
            if number is None:
                break
            found.append(number)
        return tuple(found) if found and all(number.is_whole for number in found) else None

    def _converted(self, name: str, arguments: list[Value]) -> HostNumber | None:
        """Return the result of a conversion, or of a function of whole numbers."""
        numbers = [self.number(each) for each in arguments]
        if not numbers or numbers[0] is None:
            return None
        first = numbers[0]
        if name in _NUMBER_TYPES and len(numbers) == 1:
            if first.is_whole:
                return first
            value = None if first.value is None else int(first.value)
            return HostNumber(f"(int)({first.text})", value, True, first.by_user)
        if name in _REAL_TYPES and len(numbers) == 1:
            return replace(first, is_whole=False)
        if name in ("ceil", "floor") and len(numbers) == 1:
            if first.is_whole:
                return first
            rounded = math.ceil if name == "ceil" else math.floor
            value = rounded(first.value) if first.value is not None and math.isfinite(first.value) else None
            return HostNumber(f"(int){name}({first.text})", value, True, first.by_user)
        second = numbers[1] if len(numbers) == 2 else None
        is_quotient = re.search(r"ceil_?div|div_?ceil|cdiv|div_?up|iceil", name, re.IGNORECASE)
        return rounded_up(first, second) if second and is_quotient else None


def _parameters(node: ast.AST) -> list[str]:
    """Return the names of the parameters of a function; none for other scopes."""
    if not isinstance(node, FunctionNode | ast.Lambda):
        return []
    return [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


def _joined(parts: Value, between: KernelText) -> KernelText | None:
    """Return texts with another one between them; None if one is not known."""
    known = [part for part in parts if isinstance(part, KernelText)] if isinstance(parts, tuple) else []
    if not isinstance(parts, tuple) or len(known) != len(parts):
        return None
    pieces = [piece for part in known for piece in (*between.pieces, *part.pieces)]
    return KernelText(tuple(pieces[len(between.pieces) :]))


def _folder_of(path: str) -> str:
    """Return the folder of a path; that of the program is `.`, the one above it `..`."""
    return posixpath.normpath(f"{path}/..")
