"""Arithmetic over named whole numbers in kernel headers and options, such as `ceil(N / BLOCK_SIZE)`.

Python's parser reads the text, and this module evaluates the syntax tree node by node. Only the operators
and functions listed here are allowed, and Python code is never executed. Numbers are exact: a quotient is a
fraction, so `ceil(N / 16)` has no rounding error.
"""

from __future__ import annotations

import ast
import copy
import functools
import keyword
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from cudamm.errors import UsageError

SCRATCH = "scratch"
"""The word in a list of arguments for a pointer to memory to which the kernel only writes."""

MULTIPROCESSORS = "multiprocessors_of_gpu"
"""The name in a grid for the number of the GPU's multiprocessors."""

LARGEST_INT = 2**31 - 1
"""The largest number of a C int."""

MOST_THREADS = 1024
"""Maximum number of threads of a block, on every GPU since 2010."""

LARGEST_TEXT = 500
"""Maximum length of an expression in characters."""

MOST_LEVELS = 100
"""Maximum nesting of an expression, which bounds the recursion of its evaluation."""

LARGEST_VALUE = 2**63
"""Bound of every number in an evaluation: smaller numbers fit `long long`."""

LARGEST_DENOMINATOR = 2**256
"""Bound of the denominators in an evaluation; a few products of float64 numbers stay below."""

Exact = int | Fraction
"""A number in an evaluation.

Whole numbers are ints, with which arithmetic is faster. Quotients, and what follows from them, are fractions.
"""

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Exact]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: Fraction(a) / b,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISON: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Exact]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "min": lambda *x: min(x),
    "max": lambda *x: max(x),
    # In `sizeof(element)` the value of `element` is already its size in bytes, and so is that of `result`.
    "sizeof": lambda x: x,
}
_OF_SEVERAL = ("min", "max")
"""Functions of one or several numbers; the others take one."""


@dataclass(frozen=True)
class Expression:
    """An arithmetic expression, parsed once and evaluated for many values of its names.

    Attributes:
        text: the expression as the user wrote it, for messages.
        names: the names in the expression, without functions.
    """

    text: str
    names: frozenset[str]
    _tree: ast.expr = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.text

    def value(self, names: Mapping[str, Exact]) -> Exact:
        """Return the exact value; a comparison is 1 or 0.

        Raises:
            UsageError: a name is unknown, a divisor is 0, or a number is too large.
        """
        try:
            return _value(self._tree, names)
        except KeyError as error:
            known = ", ".join(sorted(names))
            raise UsageError(f"“{self.text}”: unknown name {error.args[0]} (known: {known})") from None
        except ZeroDivisionError:
            raise UsageError(f"“{self.text}” divides by zero") from None
        except OverflowError:
            raise UsageError(f"“{self.text}” is too large: every number has to be below 2^63") from None

    def whole(self, names: Mapping[str, Exact]) -> int:
        """Return the value as an int. Raises UsageError if the value is not whole."""
        value = self.value(names)
        if value.denominator != 1:
            down = re.sub("/+", "//", self.text)
            raise UsageError(
                f"“{self.text}” is {float(value):g}, not a whole number: write {down}, which rounds down as "
                "in C, or ceil(…)"
            )
        return int(value)

    def holds(self, names: Mapping[str, Exact]) -> bool:
        """Return whether a condition such as `M % 64 == 0` is true: whether the value is not 0."""
        return self.value(names) != 0

    def conjuncts(self) -> tuple[Expression, ...]:
        """Return the conditions that `and` joins, in order; the expression itself if there is no `and`."""
        tree = self._tree
        if not (isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And)):
            return (self,)
        parts = (Expression(ast.unparse(part), _names(part), part) for part in tree.values)
        return tuple(condition for part in parts for condition in part.conjuncts())

    def rounded_up(self) -> Expression:
        """Return the expression with each quotient rounded up that `//` rounds down: `ceil(K / 4)`."""
        tree = _RoundedUp().visit(copy.deepcopy(self._tree))
        return Expression(ast.unparse(tree), self.names, tree)

    def rounds_down(self, names: Mapping[str, Exact]) -> bool:
        """Return whether a `//` loses a rest: in `N // 16`, not in `(N + 15) // 16`, which rounds up."""
        no_sizes = {**names, "M": 0, "N": 0, "K": 0}
        try:
            return any(
                _value(node.left, names) % _value(node.right, names)
                and _value(node.left, no_sizes) < _value(node.right, names) - 1
                for node in ast.walk(self._tree)
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)
            )
        except ZeroDivisionError:
            return True

    def with_whole_sizes(self) -> Iterator[tuple[str, str, Expression]]:
        """Yield each of several quotients that is a size divided, such as N / 4, with the size instead.

        It is given by the size, the divisor, and the whole expression with the size in its place.
        """
        quotients = [
            node
            for node in ast.walk(self._tree)
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv))
        ]
        for node in quotients if len(quotients) > 1 else ():
            if isinstance(node.left, ast.Name) and node.left.id in ("M", "N", "K"):
                tree = _Replaced(node, node.left).visit(copy.deepcopy(self._tree))
                yield node.left.id, ast.unparse(node.right), Expression(ast.unparse(tree), _names(tree), tree)

    @functools.cached_property  # a sweep asks for each of its variants
    def multiple(self) -> tuple[str, Expression] | None:
        """`("M", 64)` for the expression `M % 64 == 0`; None for expressions of another form."""
        tree = self._tree
        if (
            isinstance(tree, ast.Compare)
            and len(tree.ops) == 1
            and isinstance(tree.ops[0], ast.Eq)
            and isinstance(tree.left, ast.BinOp)
            and isinstance(tree.left.op, ast.Mod)
            and isinstance(tree.left.left, ast.Name)
            and isinstance(tree.comparators[0], ast.Constant)
            and tree.comparators[0].value == 0
        ):
            divisor = tree.left.right
            return tree.left.left.id, Expression(ast.unparse(divisor), _names(divisor), divisor)
        return None

    @functools.cached_property
    def equal(self) -> tuple[str, str | int] | None:
        """`("M", "N")` for `M == N`, `("M", 64)` for `M == 64`; None for other expressions."""
        match self._tree:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Name(id=other)]):
                return name, other
            case ast.Compare(
                left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Constant(value=int(value))]
            ):
                return name, value
        return None


class _RoundedUp(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.FloorDiv):
            return node
        return ast.Call(ast.Name("ceil"), [ast.BinOp(node.left, ast.Div(), node.right)], [])


class _Replaced(ast.NodeTransformer):
    """Replaces what has the text of a node with another node."""

    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self._old, self._new = ast.unparse(old), new

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if ast.unparse(node) == self._old:
            return self._new
        self.generic_visit(node)
        return node


@functools.lru_cache(1000)  # a sweep evaluates the same few expressions for each of its variants
def parse(text: str) -> Expression:
    """Parse one expression.

    Raises:
        UsageError: the text is not arithmetic over names, or a function has the wrong number of arguments.
    """
    tree = _tree(text)
    _check(tree, text)
    return Expression(text.strip(), _names(tree), tree)


def evaluated(definitions: Mapping[str, Expression], known: Mapping[str, int]) -> dict[str, int]:
    """Return the values of whole numbers that may depend on each other; those without a value are left out.

    Args:
        known: values of names, which replace the definitions of the same names.
    """
    values = dict(known)
    unread = [name for name in definitions if name not in known]
    while True:
        for name in unread:
            if definitions[name].names <= values.keys():
                try:
                    values[name] = definitions[name].whole(values)
                except UsageError:  # a number that C++ computes otherwise, such as 1 / 0
                    continue
        left = [name for name in unread if name not in values]
        if len(left) == len(unread):
            return values
        unread = left


def parse_conditions(text: str) -> tuple[Expression, ...]:
    """Parse conditions that are separated by commas, `and` or `&&`, as in `M % 16 == 0, N < 100`.

    Raises:
        UsageError: the text is not arithmetic, or an expression is not a condition.
    """
    return tuple(_condition(part) for expression in parse_list(text) for part in expression.conjuncts())


def parse_condition(text: str) -> Expression:
    """Parse one condition, such as `M < N or K == 1`.

    Raises:
        UsageError: the text is not arithmetic, or not a condition.
    """
    return _condition(parse(text))


def _condition(expression: Expression) -> Expression:
    """Return an expression that is a condition; raise UsageError for any other."""
    if not isinstance(expression._tree, ast.Compare | ast.BoolOp):
        raise UsageError(f"“{expression}” is not a condition: compare it, as in {expression} == 0")
    return expression


def parse_list(text: str) -> tuple[Expression, ...]:
    """Parse expressions separated by commas, as in `ceil(N / 16), min(M, 4)`; empty text is an empty list."""
    if not text.strip():
        return ()
    return tuple(parse(part) for part in split_at_commas(text.strip().removesuffix(",")))


def split_at_commas(text: str, brackets: str = "([{") -> list[str]:
    """Split a list at its commas, but not inside brackets: `min(K, 4), A` has two parts."""
    parts, start, depth = [], 0, 0
    closing = "".join({"(": ")", "[": "]", "{": "}", "<": ">"}[bracket] for bracket in brackets)
    for position, char in enumerate(text):
        depth += (char in brackets) - (char in closing)
        if char == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [part.strip() for part in (*parts, text[start:])]


_OPERATORS = {"and", "or", "not", "if", "else", "True", "False", "None"}
_KEYWORD = re.compile(rf"\b({'|'.join(sorted(set(keyword.kwlist) - _OPERATORS))})\b")
"""A keyword of Python that is no operator here, and so a name, as `in` is in C++."""

_IS_NAME = "_is_a_name"


def syntax_tree(text: str) -> ast.expr:
    """Return the tree of an expression of C in the syntax of Python, whose keywords may be names.

    Raises:
        SyntaxError, ValueError, MemoryError, RecursionError: Python's parser cannot read the text.
    """
    python = _KEYWORD.sub(r"\1" + _IS_NAME, text.strip())
    tree = ast.parse(python.replace("&&", " and ").replace("||", " or "), mode="eval").body
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = node.id.removesuffix(_IS_NAME)
    return tree


def _tree(text: str) -> ast.expr:
    if len(text) > LARGEST_TEXT:
        raise UsageError(f"an expression of {len(text)} characters is too long (at most {LARGEST_TEXT})")
    for number in re.findall(r"(?<![\w.])[0-9]\w*", text):
        if not re.fullmatch(r"[0-9]+|0[xX][0-9a-fA-F]+", number):
            raise UsageError(f"“{text.strip()}”: {number} is not a whole number")
    if not text.isascii():
        raise UsageError(f"“{text.strip()}” is not arithmetic")
    try:
        return syntax_tree(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise UsageError(f"“{text.strip()}” is not arithmetic") from None


def _check(tree: ast.expr, text: str) -> None:
    """Raise UsageError for a node that `_value` cannot evaluate, and for nodes that are nested too deeply."""
    level: list[ast.AST] = [tree]
    for _ in range(MOST_LEVELS):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise UsageError(f"“{text.strip()}” is nested too deeply (at most {MOST_LEVELS} levels)")
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=bool()):
                allowed = False
            case ast.Constant(value=int()) | ast.Name() | ast.Load() | ast.UnaryOp(op=ast.USub()):
                allowed = True
            case ast.BinOp(op=op):
                allowed = type(op) in _BINARY
            case ast.Compare(ops=ops):
                allowed = all(type(op) in _COMPARISON for op in ops)
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                allowed = name in _FUNCTIONS
            case ast.BoolOp() | ast.And() | ast.Or() | ast.operator() | ast.cmpop() | ast.USub():
                allowed = True
            case _:
                allowed = False
        if not allowed:
            part = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
            raise UsageError(
                f"“{text.strip()}”: {part} is not arithmetic; there are whole numbers, names, + - * / // %, "
                "comparisons, and, or, ceil, floor, min, max, sizeof(element) and sizeof(result)"
            )
        if isinstance(node, ast.Call) and len(node.args) != 1:
            function = ast.unparse(node.func)
            if not node.args or function not in _OF_SEVERAL:
                raise UsageError(f"“{text.strip()}”: wrong number of arguments to {function}")


def _names(tree: ast.expr) -> frozenset[str]:
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in functions)


def _value(tree: ast.expr, names: Mapping[str, Exact]) -> Exact:
    value = _unbounded_value(tree, names)
    numerator, denominator = value.as_integer_ratio()  # comparing whole numbers is faster
    if abs(numerator) >= LARGEST_VALUE * denominator or denominator >= LARGEST_DENOMINATOR:
        raise OverflowError
    return value


def _unbounded_value(tree: ast.expr, names: Mapping[str, Exact]) -> Exact:
    match tree:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_value(left, names), _value(right, names))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            values = [_value(v, names) for v in (left, *comparators)]
            pairs = zip(ops, values, values[1:], strict=False)
            return int(all(_COMPARISON[type(op)](a, b) for op, a, b in pairs))
        case ast.BoolOp(op=op, values=parts):
            decide = all if isinstance(op, ast.And) else any
            return int(decide(_value(part, names) != 0 for part in parts))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name](*(_value(a, names) for a in args))
    raise AssertionError(f"{ast.dump(tree)} passed the check")  # pragma: no cover
