"""Translate whole-number expressions of C++ source to the expressions of headers, such as `ceil(N / 16)`.

In C++, `(N + 15) / 16` rounds down; here it becomes `(N + 15) // 16`. Variables are replaced by their values,
macros and short functions by what they stand for, until only numbers and the names of interest are left.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tree_sitter import Node

from cudamm.source.expression import evaluated, parse
from cudamm.source.parsed_source import all_of, declared_name, parsed, parsed_expression, text_of
from cudamm.source.preprocessed import preprocessed

MOST_LEVELS = 60
"""Nesting of expressions, and of names that stand for others, that is followed."""

MOST_STEPS = 3000
"""Number of parts of an expression, with those of the names in it, that are looked at."""

MOST_STATEMENTS = 4
"""Number of statements in a short function, with comments."""

LONGEST = 400
"""Number of characters of a translated expression."""

_ARITHMETIC = ("+", "-", "*", "%", "==", "!=", "<", "<=", ">", ">=")
_ROUNDING = {"ceil": "ceil", "ceilf": "ceil", "floor": "floor", "floorf": "floor", "min": "min", "max": "max"}
_WHOLE_WORDS = """
bool char short int long unsigned signed size_t ssize_t ptrdiff_t uint int8_t int16_t int32_t int64_t
uint8_t uint16_t uint32_t uint64_t const constexpr static auto std
"""
_WHOLE = frozenset(_WHOLE_WORDS.split())
"""Words in the names of types of whole numbers."""

_REAL = frozenset({"float", "double"})


@dataclass(frozen=True)
class Number:
    """A translated expression, and whether C++ computes it with whole numbers."""

    text: str
    is_whole: bool = True


@dataclass(frozen=True)
class Function:
    """A function and the variables in it.

    Attributes:
        parameters: its parameters in order, as they are declared.
        values: the values of variables that get no other value later.
        first_values: the first values of all variables.
        rounded_up: the first value and the condition of variables as in `n = N / 16; if (N % 16) n++;`.
    """

    node: Node
    name: str
    parameters: tuple[Node, ...]
    values: Mapping[str, Node]
    first_values: Mapping[str, Node]
    rounded_up: Mapping[str, tuple[Node, Node]]

    @functools.cached_property
    def head(self) -> str:
        """Return the text before the body: `__global__ void gemm(float *A)`."""
        return text_of(self.node).partition("{")[0]

    @property
    def is_kernel(self) -> bool:
        """Return whether it is a `__global__` function."""
        return "__global__" in self.head

    @functools.cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """Return the names of the parameters, in order."""
        return tuple(declared_name(p.child_by_field_name("declarator")) for p in self.parameters)

    @functools.cached_property
    def types(self) -> dict[str, str]:
        """Return the declared types of parameters and variables, without `*`, by name."""
        found: dict[str, str] = {}
        for node in all_of(
            self.node, "declaration", "parameter_declaration", "optional_parameter_declaration"
        ):
            for declarator in node.children_by_field_name("declarator"):
                found.setdefault(declared_name(declarator), text_of(node.child_by_field_name("type")))
        return found

    def has_extents(self, name: str) -> bool:
        """Return whether a variable is a dim3."""
        value = self.first_values.get(name)
        declared = self.types.get(name, "")
        return declared.endswith(("dim3", "uint3")) or (
            declared == "auto" and text_of(value).replace(" ", "").startswith(("dim3(", "dim3{"))
        )

    def assigned_extents(self, name: str) -> dict[str, Node]:
        """Return the last value of each of `name.x`, `name.y` and `name.z`."""
        found = {}
        for node in all_of(self.node, "assignment_expression"):
            variable, _, axis = text_of(node.child_by_field_name("left")).partition(".")
            value = node.child_by_field_name("right")
            if variable == name and axis in ("x", "y", "z") and value:
                found[axis] = value
        return found


@dataclass(frozen=True)
class SourceFile:
    """The names of a file that stand for numbers and functions.

    Attributes:
        macros: the parameters and the text of each macro; None for a macro without parameters.
        constants: the value of each constant outside of functions.
        functions: the functions that the file defines, in order.
    """

    tree: Node
    macros: Mapping[str, tuple[tuple[str, ...] | None, str]]
    constants: Mapping[str, Node]
    functions: tuple[Function, ...]

    @functools.cached_property
    def numbers(self) -> dict[str, str]:
        """Return the constants and macros that are whole numbers, each as an expression over the others."""
        translation = Translation(self)
        found: dict[str, str] = {}
        names = [name for name, (parameters, _) in self.macros.items() if parameters is None]
        for name in (*names, *self.constants):
            number = translation.of(self.value_of(name))
            if number and number.is_whole:
                found[name] = number.text
        while True:  # a text may contain names without a value
            unknown = {name for name, text in found.items() if not parse(text).names <= found.keys()}
            if not unknown:
                return found
            found = {name: text for name, text in found.items() if name not in unknown}

    @functools.cached_property
    def number_values(self) -> dict[str, int]:
        """Return the values of the constants and macros that are whole numbers."""
        return evaluated({name: parse(text) for name, text in self.numbers.items()}, {})

    def value_of(self, name: str) -> Node | None:
        """Return the value of a constant, or of a macro without parameters; None for other names."""
        if name in self.constants:
            return self.constants[name]
        parameters, text = self.macros.get(name, ((), ""))
        return parsed_expression(text) if parameters is None and text else None

    def functions_named(self, name: str) -> list[Function]:
        """Return the functions of a name."""
        return [function for function in self.functions if function.name == name]


@functools.lru_cache(maxsize=8)
def source_file(source: str) -> SourceFile:
    """Return the names that C++ source defines."""
    tree = parsed(preprocessed(source))
    macros: dict[str, tuple[tuple[str, ...] | None, str]] = {}
    for node in all_of(tree, "preproc_def", "preproc_function_def"):
        parameters = node.child_by_field_name("parameters")
        names = tuple(text_of(c) for c in parameters.named_children) if parameters else None
        body = re.sub(r"//.*|/\*.*?\*/|\\\n", " ", text_of(node.child_by_field_name("value")))
        macros.setdefault(text_of(node.child_by_field_name("name")), (names, body.strip()))
    functions = tuple(_function(node) for node in all_of(tree, "function_definition"))
    inside = [(f.node.start_byte, f.node.end_byte) for f in functions]
    constants: dict[str, Node] = {}
    for node in all_of(tree, "declaration", "field_declaration", "enumerator"):
        if any(start < node.start_byte < end for start, end in inside):
            continue
        if node.type == "enumerator":
            value = node.child_by_field_name("value")
            if value:
                constants.setdefault(text_of(node.child_by_field_name("name")), value)
        elif {"const", "constexpr"} & set(text_of(node).split("=")[0].split()):
            for name, value in _initialised(node):
                constants.setdefault(name, value)
    return SourceFile(tree, macros, constants, functions)


def _initialised(declaration: Node) -> list[tuple[str, Node]]:
    """Return the names and the first values that a declaration gives to them."""
    found = []
    for declarator in declaration.children_by_field_name("declarator"):
        name, value = declared_name(declarator), declarator.child_by_field_name("value")
        value = value or declaration.child_by_field_name("default_value")
        # In `dim3 grid(x, y)` the parser takes names for types of parameters.
        if value is None and declarator.type == "function_declarator":
            value = declarator.child_by_field_name("parameters")
        if name and value:
            found.append((name, value))
    return found


def _function(node: Node) -> Function:
    declarator = node.child_by_field_name("declarator")
    head = next(all_of(declarator, "function_declarator", "lambda_declarator"), None) if declarator else None
    parameters = head.child_by_field_name("parameters") if head else None
    first_values: dict[str, Node] = {}
    changed: set[str] = set()
    rounded_up: dict[str, tuple[Node, Node]] = {}
    for part in all_of(
        node, "declaration", "assignment_expression", "update_expression", "pointer_expression"
    ):
        if part.type == "pointer_expression":
            if text_of(part).startswith("&") and part.parent and part.parent.type == "argument_list":
                changed.add(text_of(part)[1:].strip())
        elif part.type == "declaration":
            for name, value in _initialised(part):
                changed |= {name} & first_values.keys()
                first_values.setdefault(name, value)
        else:
            target = part.child_by_field_name("left") or part.child_by_field_name("argument")
            assigned = part.child_by_field_name("right")
            if target is None or target.type not in ("identifier", "field_expression"):
                continue
            name = flat_name(target)
            if assigned is not None and name not in first_values and part.children[1].type == "=":
                first_values[name] = assigned
                continue
            condition = _condition_of_increment(part)
            if condition and name in first_values and name not in changed:
                rounded_up[name] = first_values[name], condition
            else:
                rounded_up.pop(name, None)
            changed.add(name)
    for name, width in _pitches(node):
        first_values[name] = width
        changed.discard(name)
    return Function(
        node=node,
        name=declared_name(declarator),
        parameters=tuple(
            child
            for child in (parameters.named_children if parameters else ())
            if child.type in ("parameter_declaration", "optional_parameter_declaration")
        ),
        values={name: value for name, value in first_values.items() if name not in changed},
        first_values=first_values,
        rounded_up=rounded_up,
    )


def _pitches(function: Node) -> Iterator[tuple[str, Node]]:
    """Yield the variables for the bytes of a row that `cudaMallocPitch(&A, &pitch, bytes, rows)` sets."""
    for call in all_of(function, "call_expression"):
        given = call.child_by_field_name("arguments")
        if text_of(call.child_by_field_name("function")) == "cudaMallocPitch" and given:
            arguments = given.named_children
            if len(arguments) == 4 and text_of(arguments[1]).startswith("&"):
                yield text_of(arguments[1])[1:].strip(), arguments[2]


def _condition_of_increment(node: Node) -> Node | None:
    """Return the condition of `if (N % 16) n++;`; None for other changes of a variable."""
    sign = text_of(node.child_by_field_name("operator"))
    if sign != "++" and not (sign == "+=" and text_of(node.child_by_field_name("right")) == "1"):
        return None
    around = node.parent
    while around is not None and around.type in ("expression_statement", "compound_statement"):
        around = around.parent
    condition = around.child_by_field_name("condition") if around and around.type == "if_statement" else None
    return condition if condition and "%" in text_of(condition) else None


def flat_name(node: Node) -> str:
    """Return the name of a variable, `d_m` for the member `d.m`, and `dims_0` for `dims[0]`."""
    return re.sub(r"\W+", "_", text_of(node)).strip("_")


def without_casts(node: Node) -> Node:
    """Return `d_A` for `(float *)d_A` and `reinterpret_cast<float *>(d_A)`."""
    inner: Node | None = node
    while inner is not None:
        node = inner
        inner = node.child_by_field_name("value") if node.type == "cast_expression" else None
        if node.type == "parenthesized_expression" and node.named_child_count == 1:
            inner = node.named_children[0]
        if node.type == "call_expression" and "_cast<" in text_of(node.child_by_field_name("function")):
            given = node.child_by_field_name("arguments")
            inner = given.named_children[0] if given and given.named_child_count == 1 else None
    return node


@dataclass(frozen=True)
class Translation:
    """Translates expressions at one place of a file.

    Attributes:
        function: the function around the expressions; None outside of functions.
        kept: names that are not replaced by their values. A name whose value contains one of them is
            replaced; another constant of the file keeps its name.
        bound: translations of names, such as the parameters of a macro.
        keeps_leaves: whether variables whose values are plain numbers keep their names too.
        steps: how many parts of an expression have been looked at.
    """

    file: SourceFile
    function: Function | None = None
    kept: Collection[str] = frozenset()
    bound: Mapping[str, Number] = field(default_factory=dict)
    keeps_leaves: bool = False
    level: int = 0
    steps: Counter[str] = field(default_factory=Counter, compare=False)

    def of(self, node: Node | None) -> Number | None:
        """Return the translation of an expression; None if it is not arithmetic."""
        if self.level == 0:
            self.steps.clear()
        self.steps[""] += 1
        if node is None or self.level > MOST_LEVELS or self.steps[""] > MOST_STEPS:
            return None
        number = replace(self, level=self.level + 1)._translated(node)
        return number if number and len(number.text) <= LONGEST else None

    def _translated(self, node: Node) -> Number | None:
        match node.type:
            case "number_literal":
                return _literal(text_of(node))
            case "identifier" | "type_identifier":
                return self._name(text_of(node))
            case "qualified_identifier":
                return self._name(text_of(node.child_by_field_name("name")))
            case "field_expression":
                return self._member(node)
            case "subscript_expression":  # `dims[0]`
                return self._name(flat_name(node)) if re.fullmatch(r"\w+\[\w+\]", text_of(node)) else None
            case "condition_clause":
                return self.of(node.child_by_field_name("value"))
            case "parenthesized_expression" | "initializer_list" | "argument_list" | "parameter_list":
                return self.of(node.named_children[0]) if node.named_child_count == 1 else None
            case "parameter_declaration":  # of `int n(TILE)`, which the parser takes for a function
                return self.of(node.child_by_field_name("type"))
            case "binary_expression":
                return self._binary(node)
            case "unary_expression":
                argument = self.of(node.child_by_field_name("argument"))
                sign = text_of(node.child_by_field_name("operator"))
                if argument and sign == "!":
                    return Number(f"({argument.text} == 0)")
                return Number(f"-({argument.text})", argument.is_whole) if argument and sign == "-" else None
            case "assignment_expression":  # `block.x = block.y = 16`
                return self.of(node.child_by_field_name("right"))
            case "conditional_expression":
                return self._conditional(node)
            case "cast_expression":
                return _cast(
                    text_of(node.child_by_field_name("type")), self.of(node.child_by_field_name("value"))
                )
            case "call_expression":
                return self._call(node)
            case "sizeof_expression":
                return Number("sizeof(element)")
        return None

    def _name(self, name: str) -> Number | None:
        if not name.isascii():  # headers have no such names
            return None
        if name in self.bound:
            return self.bound[name]
        if name in self.kept or not name:
            return Number(name) if name else None
        if self.function:
            if name in self.function.rounded_up:
                value, condition = map(self.of, self.function.rounded_up[name])
                return Number(f"({value.text} + ({condition.text} != 0))") if value and condition else None
            if name in self.function.values:
                value = self.of(self.function.values[name])
                is_leaf = value is None or (self.keeps_leaves and not parse(value.text).names)
                return Number(name, not self._is_real(name)) if is_leaf else value
            if name in self.function.first_values or name in self.function.parameter_names:
                return Number(name, not self._is_real(name))
        value = replace(self, function=None, bound={}).of(self.file.value_of(name))
        if value is None or parse(value.text).names.isdisjoint(self.kept):
            return Number(name, value is None or value.is_whole)
        return value

    def extents(self, node: Node) -> list[Number] | None:
        """Return the extents that an expression of type dim3 or int has; None if they are not arithmetic."""
        node = without_casts(node)
        if node.type in ("identifier", "field_expression") and self.function:
            return self._extents_of_variable(text_of(node))
        called = text_of(node.child_by_field_name("function"))
        is_call = called in ("dim3", "::dim3")
        if node.type == "call_expression" and not is_call:
            found = self._extents_of_call(called.partition("<")[0], node)
            if found:
                return found
        inner = node.child_by_field_name("arguments") if is_call else None
        if node.type == "compound_literal_expression":  # `dim3{4, 4}`
            inner = node.child_by_field_name("value")
        if inner is None and node.type not in ("initializer_list", "argument_list", "parameter_list"):
            number = self.of(node)
            return [number] if number else None
        given = [part for part in (inner or node).named_children if part.type != "comment"]
        if len(given) == 1 and given[0].type in (
            "call_expression",
            "initializer_list",
            "compound_literal_expression",
        ):
            return self.extents(given[0])  # `dim3 grid(dim3(4, 4))`
        numbers = [number for part in given if (number := self.of(part))]
        return numbers if len(numbers) == len(given) else None

    def _extents_of_call(self, name: str, call: Node) -> list[Number] | None:
        """Return the extents that a function such as `dim3 grid_for(int n, dim3 block)` returns."""
        names, body = self._short_function(name)
        given = call.child_by_field_name("arguments")
        returned = list(all_of(body, "return_statement")) if body else []
        if len(returned) != 1 or given is None or self.level > MOST_LEVELS:
            return None
        inner = replace(self, level=self.level + 1)
        bound: dict[str, Number] = {}
        for parameter, argument in zip(names, given.named_children, strict=False):
            extents = inner.extents(argument) or []
            bound |= {f"{parameter}_{axis}": extent for axis, extent in zip("xyz", extents, strict=False)}
            if len(extents) == 1:
                bound[parameter] = extents[0]
        result = next(iter(returned[0].named_children), None)
        return replace(inner, function=None, bound=bound).extents(result) if result else None

    def _extents_of_variable(self, name: str) -> list[Number] | None:
        function = self.function
        if function is None or not function.has_extents(name):
            number = self._name(re.sub(r"\W+", "_", name).strip("_"))
            return [number] if number else None
        value, assigned = function.first_values.get(name), function.assigned_extents(name)
        if value is None and not assigned:  # a parameter
            return [Number(f"{name}_{axis}") for axis in "xyz"]
        found = self.extents(value) if value else [Number("1")]
        if found is None:
            return None
        by_axis = dict(zip("xyz", found, strict=False))
        for axis, extent in assigned.items():
            number = self.of(extent)
            if number is None:
                return None
            by_axis[axis] = number
        return [by_axis.get(axis, Number("1")) for axis in "xyz"[: 1 + max("xyz".index(a) for a in by_axis)]]

    def _member(self, node: Node) -> Number | None:
        """Return the translation of `block.x`, or of another member by its name, such as `A_width`."""
        variable, axis = (
            text_of(node.child_by_field_name("argument")),
            text_of(node.child_by_field_name("field")),
        )
        name = flat_name(node)
        if (
            name in self.kept
            or axis not in ("x", "y", "z")
            or not (self.function and self.function.has_extents(variable))
        ):
            return self._name(name)
        found = self._extents_of_variable(variable)
        return (*found, Number("1"), Number("1"))["xyz".index(axis)] if found else None

    def _is_real(self, name: str) -> bool:
        """Return whether a variable of the function is declared as float or double."""
        return self.function is not None and not _REAL.isdisjoint(self.function.types.get(name, "").split())

    def _binary(self, node: Node) -> Number | None:
        left, right = (self.of(node.child_by_field_name(side)) for side in ("left", "right"))
        sign = text_of(node.child_by_field_name("operator"))
        if left is None or right is None:
            return None
        is_whole = left.is_whole and right.is_whole
        if sign in ("<<", ">>") and right.text.isdigit() and int(right.text) < 63:
            return Number(f"({left.text} {'*' if sign == '<<' else '//'} {2 ** int(right.text)})")
        if sign == "/":
            return Number(f"({left.text} {'//' if is_whole else '/'} {right.text})", is_whole)
        if sign in ("&&", "||"):
            return Number(f"({left.text} {'and' if sign == '&&' else 'or'} {right.text})")
        return Number(f"({left.text} {sign} {right.text})", is_whole) if sign in _ARITHMETIC else None

    def _conditional(self, node: Node) -> Number | None:
        parts = (self.of(node.child_by_field_name(p)) for p in ("condition", "consequence", "alternative"))
        condition, then, other = parts
        return _choice(condition, then, other)

    def _call(self, node: Node) -> Number | None:
        function = node.child_by_field_name("function")
        given = node.child_by_field_name("arguments")
        if function is None or given is None:
            return None
        name = text_of(function).removeprefix("::").removeprefix("std::")
        if function.type == "field_expression" and name.endswith(".size") and self.function:
            # Of a std::vector, which is declared with its number of elements.
            return self.of(self.function.values.get(name.removesuffix(".size")))
        arguments = [self.of(argument) for argument in given.named_children]
        if function.type == "template_function" and name.startswith("static_cast"):
            return _cast(name.partition("<")[2].rstrip("> "), arguments[0] if len(arguments) == 1 else None)
        if function.type == "primitive_type" or name in _WHOLE:
            return _cast(name, arguments[0] if len(arguments) == 1 else None)
        if None in arguments:
            return None
        numbers = [argument for argument in arguments if argument]
        if name in _ROUNDING and numbers:
            joined = ", ".join(_without_brackets(number.text) for number in numbers)
            is_whole = name in ("min", "max") and all(number.is_whole for number in numbers)
            return Number(f"{_ROUNDING[name]}({joined})", is_whole)
        parameters, body = self._short_function(name.partition("<")[0])
        if body is None or len(parameters) != len(numbers):
            return None
        return replace(self, function=None, bound=dict(zip(parameters, numbers, strict=True)))._result(body)

    def _result(self, body: Node) -> Number | None:
        """Return the result of `a / b`, `{ return a / b; }` and `{ if (a % b) return …; return …; }`."""
        if body.type == "return_statement":
            return self.of(next(iter(body.named_children), None))
        if body.type != "compound_statement":
            return self.of(body)
        statements = [part for part in body.named_children if part.type != "comment"]
        if not statements:
            return None
        first = statements[0]
        if first.type != "if_statement":
            return self._result(first) if len(statements) == 1 and first.type == "return_statement" else None
        then, otherwise = first.child_by_field_name("consequence"), first.child_by_field_name("alternative")
        otherwise = otherwise.named_children[0] if otherwise else statements[-1]
        if then is None or len(statements) > 2 or self.level > MOST_LEVELS:
            return None
        inner = replace(self, level=self.level + 1)
        condition = inner.of(first.child_by_field_name("condition"))
        return _choice(condition, inner._result(then), inner._result(otherwise))

    def _short_function(self, name: str) -> tuple[Sequence[str], Node | None]:
        """Return the parameters and the result of a macro, or of a function that only returns a result."""
        names, text = self.file.macros.get(name, (None, ""))
        if names is not None:
            return names, parsed_expression(text)
        functions = self.file.functions_named(name)
        local = self.function.values.get(name) if self.function else None
        if local and local.type == "lambda_expression":
            functions = [_function(local)]
        for function in functions:
            body = function.node.child_by_field_name("body")
            if body and body.named_child_count <= MOST_STATEMENTS:
                return function.parameter_names, body
        return (), None


def number_in(source: str, text: str, known: Mapping[str, int] | None = None) -> int | None:
    """Return the value of a C++ expression in a file; None if it is not known.

    Args:
        known: values of names, which come before those of the file.
    """
    file = source_file(source)
    number = Translation(file, kept=frozenset(known or ())).of(parsed_expression(text))
    if number is None:
        return None
    definitions = {name: parse(expression) for name, expression in file.numbers.items()}
    return evaluated({**definitions, "": parse(number.text)}, dict(known or {})).get("")


def _choice(condition: Number | None, then: Number | None, other: Number | None) -> Number | None:
    """Return the translation of `condition ? then : other`."""
    if not (condition and then and other):
        return None
    test = condition.text
    return Number(
        f"(({test} != 0) * {then.text} + ({test} == 0) * {other.text})", then.is_whole and other.is_whole
    )


def _literal(text: str) -> Number | None:
    plain = text.replace("'", "").lower()
    whole = re.fullmatch(r"(0x[0-9a-f]+|[0-9]+)[uzl]*", plain)
    if whole:
        return Number(str(int(whole[1], 16 if "x" in whole[1] else 10)))
    real = re.fullmatch(r"([0-9]*\.?[0-9]*(?:e[+-]?[0-9]{1,2})?)f?", plain)
    if not real or not re.search("[0-9]", real[1]):
        return None
    value = Fraction(real[1].removesuffix("."))
    return Number(str(value) if value.denominator == 1 else f"({value})", is_whole=False)


def _cast(c_type: str, value: Number | None) -> Number | None:
    words = re.findall(r"\w+", c_type)
    if value is None or "*" in c_type or not words:
        return None
    if not _REAL.isdisjoint(words):
        return Number(value.text, is_whole=False)
    if not _WHOLE.issuperset(words):
        return None
    is_rounded = value.is_whole or value.text.startswith(("ceil(", "floor("))
    return Number(value.text if is_rounded else f"floor({_without_brackets(value.text)})")


def _without_brackets(text: str) -> str:
    """Return `N / 16` for `(N / 16)`."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for character in text[:-1]:
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text
    return text[1:-1]
