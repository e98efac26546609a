"""What expressions of a Python program stand for: numbers, texts, arrays, kernels, functions, objects."""

from __future__ import annotations

import ast
import contextlib
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from cudamm.source.python_text import CPP_WORDS, HostNumber, KernelText

LARGEST_NUMBER = 2**62

Value = object
"""A number, a text, a tuple or dict of values, None of Python as NOTHING, or one of the classes below."""

NOTHING = "None"
"""What stands for Python's None; texts are KernelText, not str."""

FOR_USER = HostNumber("atoi(argv[1])")
"""A number that the program's user passes."""


@dataclass(frozen=True)
class Unknown:
    """A value that is not known."""

    name: str = ""  # of the variable that has it; empty if none has
    node: ast.AST | None = field(default=None, compare=False)  # the expression, if there is one

    @property
    def what(self) -> str:
        """Return the beginning of the expression, for messages."""
        try:
            text = " ".join(ast.unparse(self.node).split()) if self.node else self.name
        except (RecursionError, ValueError):
            return "an expression"
        return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True)
class Library:
    """What the program imports, such as `numpy.zeros`, or a name that it uses without defining it."""

    path: str


@dataclass
class HostArray:
    """An array of the program, on either side."""

    shape: tuple[HostNumber, ...] | None = None  # None if it is not known
    size_bytes: HostNumber | None = None  # of memory without a shape
    is_zero: bool = False  # whether the program fills it with zeros
    name: str = ""  # of the variable that has it; empty if none has
    dtype: str = field(default="", compare=False)  # of its elements, as in `DTYPES`; empty if not known
    is_numpy: bool = field(default=False, compare=False)  # whether it is certainly an array of NumPy itself
    is_row_major: bool = field(default=False, compare=False)  # whether it certainly lies row by row
    is_transposed: bool = field(default=False, compare=False)  # whether it is another array transposed
    made_by: str = field(default="", compare=False)  # such as `cupy`, whose array it is; empty if not known
    is_out: bool = field(default=False, compare=False)  # whether PyCUDA's `Out` copies it from the GPU only
    view: str = field(default="", compare=False)  # such as `B.T`, if its memory is that of `B`, row by row
    elements: object = field(default=None, compare=False)  # what its copies have too; None if not known

    @property
    def has_gaps(self) -> bool:
        """Return whether the array is a part of each row of another: `b[:, :n]`."""
        return self.view.endswith("]")


DTYPES = {
    "float64": "double", "float32": "float", "float16": "half", "int32": "int", "int": "long",
}  # fmt: skip
"""The known types of elements, and their C types. NumPy's `int` has 32 or 64 bits."""

_NAMES_OF_DTYPES = {
    "float64": "float64 double float float_ f8 d", "float32": "float32 single f4 f",
    "float16": "float16 half f2 e", "int32": "int32 intc i4 i", "int": "int int_ int64 i8",
}  # fmt: skip
_DTYPES = {name: dtype for dtype, names in _NAMES_OF_DTYPES.items() for name in names.split()}


def dtype_of(value: Value) -> str:
    """Return a type of elements such as `np.float32` as in `DTYPES`; empty if it is not known."""
    path = value.path if isinstance(value, Library) else str(value) if isinstance(value, KernelText) else ""
    library, _, name = path.rpartition(".")
    if library == "torch":
        return {"float": "float32", "double": "float64", "half": "float16"}.get(name, _DTYPES.get(name, ""))
    return _DTYPES.get(name.lstrip("<="), "")


def common_dtype(array: HostArray, other: Value) -> str:
    """Return the type of the elements of an array combined with another value; empty if it is not known."""
    dtypes = {array.dtype, other.dtype} if isinstance(other, HostArray) else {array.dtype}
    if "float64" in dtypes:
        return "float64"
    is_kept = isinstance(other, HostArray | HostNumber) and array.dtype.startswith("float")
    return array.dtype if is_kept and len(dtypes) == 1 else ""


@dataclass
class Module:
    """An object with the kernels of a text, which a line of the program makes."""

    line: int
    text: Value
    instances: tuple[str, ...] = ()  # the `name_expressions` of CuPy

    @property
    def source(self) -> KernelText:
        """Return the text; an empty one if it is not known."""
        return self.text if isinstance(self.text, KernelText) else KernelText("")


@dataclass
class Kernel:
    """A kernel of a module."""

    module: Module
    name: str


@dataclass(frozen=True)
class NamedFile:
    """An open file, or the path of one."""

    path: str


@dataclass
class Frame:
    """The names of a module, a class or a function that runs, with their values."""

    names: dict[str, Value] = field(default_factory=dict)
    outer: Frame | None = None  # where other names are looked up; None for a module
    of_module: set[str] = field(default_factory=set)  # names that are declared as `global`
    returned: list[Value] = field(default_factory=list)  # one value for each `return`
    conditions: list[str] = field(default_factory=list)  # C++ for what the program asserts of its numbers
    lines: dict[str, int] = field(default_factory=dict)  # in which each name last got a value

    def find(self, name: str) -> Value | None:
        """Return the value of a name; None if no frame has it."""
        frame: Frame | None = self
        while frame and name not in frame.names:
            frame = frame.outer
        return frame.names[name] if frame else None

    def bind(self, name: str, value: Value, line: int = 0) -> None:
        """Give a name its value, in a line of the program; 0 if it has none of its own."""
        frame = self
        self.lines[name] = line
        while name in self.of_module and frame.outer:
            frame = frame.outer
        frame.names[name] = value


@dataclass(frozen=True, eq=False)
class Class:
    """A class of the program, with the frame that it is defined in."""

    names: dict[str, Value]
    frame: Frame
    bases: tuple[Value, ...] = ()

    def find(self, name: str) -> Value | None:
        """Return the value of a name of the class, or of a class that it extends."""
        found = (each.find(name) for each in self.bases if isinstance(each, Class))
        return self.names[name] if name in self.names else next((each for each in found if each), None)


@dataclass(frozen=True, eq=False)
class Instance:
    """An object, or the options of a command line."""

    of: Class | None
    names: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the program, with the frame that it is defined in."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    frame: Frame
    owner: Value = None  # the object of a method

    @property
    def decorators(self) -> set[str]:
        """Return the last names of its decorators, such as `staticmethod`."""
        return {ast.unparse(each).rpartition(".")[2] for each in getattr(self.node, "decorator_list", ())}

    @property
    def parameters(self) -> list[tuple[ast.arg, ast.expr | None]]:
        """Return its parameters with their default values, without `*args` and `**options`."""
        given = self.node.args
        names = [*given.posonlyargs, *given.args]
        values = [*[None] * (len(names) - len(given.defaults)), *given.defaults, *given.kw_defaults]
        return list(zip([*names, *given.kwonlyargs], values, strict=True))


@dataclass
class Variables:
    """The variables that a C++ function needs for the numbers of the program."""

    values: dict[str, HostNumber] = field(default_factory=dict)  # each after those that it needs
    unknown: dict[str, ast.AST | None] = field(default_factory=dict)  # with what would be their values
    in_program: dict[str, str] = field(default_factory=dict)  # their names there, if they have others
    arrays: set[str] = field(default_factory=set)  # names of arrays, which no number may have too

    def declare(self, name: str, number: HostNumber) -> HostNumber:
        """Return a number as the variable of a name."""
        names = _names_like(name)
        name_of_program, name = name, next(names)
        while number.text != name and (
            name in self.unknown or name in self.arrays or self.values.setdefault(name, number) != number
        ):
            name = next(names)
        if name != cpp_name(name_of_program):
            self.in_program[name] = name_of_program
        return replace(number, text=name)

    def number(self, value: Value) -> HostNumber | None:
        """Return a value as a number, of which only the name may be known; None if it is none."""
        if isinstance(value, HostNumber):
            return value
        name = value.path if isinstance(value, Library) else value.name if isinstance(value, Unknown) else ""
        if not name:
            return None
        name = cpp_name(name)
        if name not in self.values:
            self.unknown.setdefault(name)
        return HostNumber(name)

    def shape_of(self, array: Value) -> tuple[HostNumber, ...] | None:
        """Return the extents of an array; those of one that is not known by their names."""
        if isinstance(array, HostArray):
            return array.shape
        name = array.name if isinstance(array, Unknown) else ""
        rows, columns = self.number(Unknown(f"{name}_rows")), self.number(Unknown(f"{name}_cols"))
        return (rows, columns) if name and rows and columns else None

    def named(self, name: str, value: Value) -> Value:
        """Return a value as what a variable has."""
        if isinstance(value, HostNumber):
            return self.declare(name, value)
        if isinstance(value, Unknown) and not value.name.isidentifier():
            names = (each for each in _names_like(name) if each not in self.values)
            return Unknown(
                next(each for each in names if self.unknown.setdefault(each, value.node) is value.node),
                value.node,
            )
        if not isinstance(value, HostArray):
            return value
        name, shape = next(each for each in _names_like(name) if each not in self.values), value.shape
        self.arrays.add(name)
        if shape and len(shape) == 2:  # numbers get names, so that they are known as sizes
            shape = self._extent(f"{name}_rows", shape[0]), self._extent(f"{name}_cols", shape[1])
        return replace(value, name=name, shape=shape, elements=value.elements or object())

    def _extent(self, name: str, number: HostNumber) -> HostNumber:
        """Return an extent as a variable; an expression that another variable has already as that one."""
        if number.text.isidentifier():
            return number
        same = (each for each, value in self.values.items() if value == number)
        known = None if number.text.isdigit() else next(same, None)
        return replace(number, text=known) if known else self.declare(name, number)


def _names_like(name: str) -> Iterator[str]:
    """Yield a name, and names with numbers after it for other values."""
    yield cpp_name(name)
    yield from (f"{cpp_name(name)}{number}" for number in itertools.count(2))


def cpp_name(name: str) -> str:
    """Return a name that C++ can have for a name of Python."""
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"of_{name}" if name in CPP_WORDS or not name or name[0].isdigit() else name


_OPERATORS: dict[type[ast.AST], tuple[str, Callable[[float, float], float]]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul),
    ast.FloorDiv: ("/", operator.floordiv), ast.Mod: ("%", operator.mod), ast.Div: ("/", operator.truediv),
    ast.LShift: ("<<", operator.lshift), ast.RShift: (">>", operator.rshift), ast.Pow: ("**", operator.pow),
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne), ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
}  # fmt: skip


def combined(a: HostNumber | None, sign: ast.AST, b: HostNumber | None) -> HostNumber | None:
    """Return the result of an operation; None if a number is not known or C++ has no such operation."""
    text, compute = _OPERATORS.get(type(sign), ("", operator.add))
    if a is None or b is None or not text:
        return None
    value, is_whole = None, a.is_whole and b.is_whole
    dtype = _dtype_of_result(a, sign, b)
    if isinstance(sign, ast.Pow | ast.LShift) and not (
        abs(a.value or 0) <= 1 << 20 and 0 <= (b.value or 0) <= 62
    ):
        return None
    if a.value is not None and b.value is not None:
        with contextlib.suppress(ArithmeticError, TypeError, ValueError):
            value = _usable(compute(a.value, b.value))
    match sign:
        case ast.Pow():
            return HostNumber(str(value), value, is_whole, dtype) if value is not None else None
        case ast.Div():
            return HostNumber(f"((double)({a.text}) / {b.text})", value, False, dtype)
        case ast.FloorDiv() if not is_whole:
            return HostNumber(f"floor({a.text} / {b.text})", value, False, dtype)
    return HostNumber(f"({a.text} {text} {b.text})", value, is_whole, dtype)


def _dtype_of_result(a: HostNumber, sign: ast.AST, b: HostNumber) -> str:
    """Return the type of the result of an operation on Python's own numbers; empty for others."""
    dtypes = {a.dtype, b.dtype}
    if isinstance(sign, ast.cmpop) or not dtypes <= {"int", "float"}:
        return ""
    return "int" if dtypes == {"int"} and not isinstance(sign, ast.Div) else "float"


def _usable(value: float) -> int | float | None:
    is_usable = isinstance(value, int | float) and math.isfinite(value) and abs(value) < LARGEST_NUMBER
    return int(value) if isinstance(value, bool) else value if is_usable else None


def constant(number: float) -> HostNumber | None:
    """Return a number that the program's text has; None if it is too large."""
    value = _usable(number)
    whole = isinstance(value, int)
    return None if value is None else HostNumber(str(value), value, whole, "int" if whole else "float")


def rounded_up(number: HostNumber | None, step: HostNumber | None) -> HostNumber | None:
    """Return a quotient of whole numbers that is rounded up."""
    if number is None or step is None or not (number.is_whole and step.is_whole):
        return None
    value = None
    if isinstance(number.value, int) and isinstance(step.value, int) and step.value:
        value = -(-number.value // step.value)
    dtype = "int" if number.dtype == step.dtype == "int" else ""
    return HostNumber(f"(({number.text} + {step.text} - 1) / {step.text})", value, dtype=dtype)


def truth(value: Value) -> bool | None:
    """Return whether a condition holds; None if that is not known.

    A remainder is not known, because it is another one for other sizes.
    """
    if isinstance(value, HostNumber):
        return None if value.value is None or "%" in value.text else bool(value.value)
    if isinstance(value, KernelText):
        return bool(str(value))
    if isinstance(value, tuple | dict):
        return bool(value)
    return False if value is NOTHING else None if isinstance(value, Unknown | Library) else True


def chosen(test: Value, then: Value, other: Value) -> Value | None:
    """Return `then if test else other`, of a test that is not decided; None if the value is not known."""
    if isinstance(then, HostArray) and isinstance(other, HostArray):
        is_numpy, view = then.is_numpy and other.is_numpy, then.view if then.view == other.view else ""
        is_transposed = then.is_transposed and other.is_transposed
        then = replace(then, made_by=then.made_by if then.made_by == other.made_by else "")
        then = replace(then, is_numpy=is_numpy, is_row_major=False, is_transposed=is_transposed, view=view)
        then.elements = None
    if isinstance(then, HostArray | HostNumber) and then.dtype != getattr(other, "dtype", then.dtype):
        then = replace(then, dtype="")
    if then == other or other is NOTHING:
        return then
    if then is NOTHING:
        return other
    if not (isinstance(test, HostNumber) and isinstance(then, HostNumber) and isinstance(other, HostNumber)):
        return None
    if "argc" in test.text:  # the program is read as if its user passed nothing
        return then if other.value is None else other
    known = None if test.value is None else then.value if test.value else other.value
    text = f"({test.text} ? {then.text} : {other.text})"
    return HostNumber(text, known, then.is_whole and other.is_whole)
