"""What expressions of a Python program stand for: numbers, texts, arrays, kernels, files."""

from __future__ import annotations

import ast
import contextlib
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from cudamm.source.python_text import CPP_WORDS, HostNumber, KernelText, plain

LARGEST_NUMBER = 2**62

FOR_USER = "atoi(argv[1])"
"""C++ for a number that the program's user chooses."""


@dataclass(frozen=True)
class Unknown:
    """A value that is not known.

    Attributes:
        name: the variable that has it; empty if none has.
        node: the expression whose value is not known; None for others.
    """

    name: str = ""
    node: ast.AST | None = field(default=None, compare=False)

    @property
    def what(self) -> str:
        """Return the beginning of the expression, for messages."""
        try:
            text = " ".join(ast.unparse(self.node).split()) if self.node else self.name
        except (RecursionError, ValueError):
            return "an expression"
        return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True)
class HostArray:
    """An array of the program, on either side.

    Attributes:
        shape: its extents; None if they are not known.
        size_bytes: of memory without a shape; None if it is not known.
        is_zero: whether the program fills it with zeros.
        name: the variable that has it; empty if none has.
    """

    shape: tuple[HostNumber, ...] | None = None
    size_bytes: HostNumber | None = None
    is_zero: bool = False
    name: str = ""


@dataclass(frozen=True)
class Module:
    """An object with the kernels of a text."""

    node: ast.Call
    text: Value


@dataclass(frozen=True)
class Kernel:
    """A kernel of a module."""

    module: Module
    name: str


@dataclass(frozen=True)
class Template:
    """A `string.Template`."""

    text: KernelText


@dataclass(frozen=True)
class NamedFile:
    """An open file, or the path of one."""

    path: str


Value = (
    HostNumber | KernelText | tuple["Value", ...] | dict[str, "Value"] | HostArray | Module | Kernel | object
)


@dataclass
class Variables:
    """The variables that a C++ function needs for the numbers of the program.

    Attributes:
        values: C++ for each, in an order in which each is declared before it is used.
        unknown: those whose values are not known.
    """

    values: dict[str, HostNumber] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)

    def declare(self, name: str, number: HostNumber) -> HostNumber:
        """Return a number as the variable of a name."""
        name = plain_name = cpp_name(name)
        number_of_names = 1
        if number.text == name:
            return number
        while name in self.unknown or (name in self.values and self.values[name] != number):
            number_of_names += 1
            name = f"{plain_name}{number_of_names}"
        self.values[name] = number
        return replace(number, text=name)

    def add_unknown(self, name: str) -> HostNumber:
        """Return a number of which only the name is known."""
        name = cpp_name(name)
        if name not in self.values:
            self.unknown[name] = None
        return HostNumber(name)


def cpp_name(name: str) -> str:
    """Return a name that C++ can have for a name of Python."""
    name = re.sub(r"\W", "_", name.removeprefix("self."), flags=re.ASCII)
    return f"of_{name}" if name in CPP_WORDS or not name or name[0].isdigit() else name


_OPERATORS: dict[type[ast.AST], tuple[str, Callable[[float, float], float]]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul),
    ast.FloorDiv: ("/", operator.floordiv), ast.Mod: ("%", operator.mod), ast.Div: ("/", operator.truediv),
    ast.LShift: ("<<", operator.lshift), ast.RShift: (">>", operator.rshift), ast.Pow: ("**", operator.pow),
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne), ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
}  # fmt: skip


def combined(a: HostNumber, sign: ast.AST, b: HostNumber, is_python_2: bool) -> HostNumber | None:
    """Return the result of an operation; None if C++ has no such operation."""
    by_user, is_whole = a.by_user or b.by_user, a.is_whole and b.is_whole
    if isinstance(sign, ast.Div) and is_whole and is_python_2:
        sign = ast.FloorDiv()
    text, compute = _OPERATORS.get(type(sign), ("", operator.add))
    value: int | float | None = None
    is_growing = isinstance(sign, ast.Pow | ast.LShift | ast.RShift)
    is_known = text and a.value is not None and b.value is not None
    if is_known and (not is_growing or (0 <= (b.value or 0) <= 62 and abs(a.value or 0) <= 1 << 20)):
        with contextlib.suppress(ArithmeticError, TypeError, ValueError):
            value = _usable(compute(a.value or 0, b.value or 0))
    if isinstance(sign, ast.Pow):
        if is_whole and b.text == "2":
            return HostNumber(f"({a.text} * {a.text})", value, True, by_user)
        return HostNumber(str(value), value, is_whole) if value is not None and not by_user else None
    if isinstance(sign, ast.Div):
        return HostNumber(f"((double)({a.text}) / {b.text})", value, False, by_user)
    if isinstance(sign, ast.FloorDiv) and not is_whole:
        return HostNumber(f"floor({a.text} / {b.text})", value, False, by_user)
    return HostNumber(f"({a.text} {text} {b.text})", value, is_whole, by_user) if text else None


def _usable(value: float) -> int | float | None:
    is_usable = isinstance(value, int | float) and math.isfinite(value) and abs(value) < LARGEST_NUMBER
    return int(value) if isinstance(value, bool) else value if is_usable else None


def constant(number: float) -> HostNumber | None:
    """Return a number that the program's text has; None if it is too large."""
    value = _usable(number)
    return None if value is None else HostNumber(str(value), value, isinstance(value, int))


def unless_chosen(usual: HostNumber | None) -> HostNumber:
    """Return a number that the program's user may choose, with its value if the user does not."""
    if usual is None:
        return HostNumber(FOR_USER, by_user=True)
    return HostNumber(f"(argc > 1 ? {FOR_USER} : {usual.text})", usual.value, usual.is_whole, by_user=True)


def rounded_up(number: HostNumber | None, step: HostNumber | None) -> HostNumber | None:
    """Return a quotient of whole numbers that is rounded up."""
    if number is None or step is None or not (number.is_whole and step.is_whole):
        return None
    value = None
    if isinstance(number.value, int) and isinstance(step.value, int) and step.value:
        value = -(-number.value // step.value)
    text = f"(({number.text} + {step.text} - 1) / {step.text})"
    return HostNumber(text, value, True, number.by_user or step.by_user)


def as_definition(option: KernelText) -> KernelText:
    """Return `#define TILE 16` for `-DTILE=16`; an empty text for other options."""
    if not re.fullmatch(r"-D *\w+=\w+", str(option)):
        return plain("")
    defined = option.with_replaced("-D", plain("#define ")).with_replaced("=", plain(" "))
    return defined + plain("\n")


def value_finder(values: Value) -> Callable[[str], KernelText | HostNumber | None]:
    """Return what finds a value of a template by its key or its place."""

    def of(key: str) -> KernelText | HostNumber | None:
        found: Value = None
        if isinstance(values, dict):
            found = values.get(key)
        elif isinstance(values, tuple):
            found = values[int(key)] if key.isdigit() and int(key) < len(values) else None
        elif key == "0":
            found = values
        return found if isinstance(found, KernelText | HostNumber) else None

    return of
