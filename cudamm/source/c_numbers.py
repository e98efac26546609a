"""Translate whole-number expressions of C++ source to the expressions of headers, such as `ceil(N / 16)`.

In C++, `(N + 15) / 16` rounds down; here it becomes `(N + 15) // 16`. Variables are replaced by their values,
macros and short functions by what they stand for, until only numbers and the names of interest are left.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tree_sitter import Node

from cudamm.source.c_definitions import (
    HANDLE_BYTES,
    Function,
    SourceFile,
    flat_name,
    function_of_node,
    is_getter,
    kind_of_handle,
    scope_of,
    source_file,
    without_casts,
)
from cudamm.source.expression import evaluated, parse, split_at_commas
from cudamm.source.parsed_source import (
    all_of,
    ancestors,
    declared_name,
    is_inside,
    parsed_expression,
    text_of,
)

MOST_LEVELS = 60
"""Nesting of expressions, and of names that stand for others, that is followed."""

MOST_STEPS = 3000
"""Number of parts of an expression, with those of the names in it, that are looked at."""

MOST_STATEMENTS = 4
"""Number of statements in a short function, with comments."""

LONGEST = 400
"""Number of characters of a translated expression."""

_ARITHMETIC = ("+", "-", "*", "%", "==", "!=", "<", "<=", ">", ">=")
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_ROUNDING = {"ceil": "ceil", "ceilf": "ceil", "floor": "floor", "floorf": "floor", "min": "min", "max": "max"}
_ROUNDED_UP = re.compile(r"ceil_?div|div_?ceil|cdiv|i?div_?up|updiv|div_?round_?up", re.IGNORECASE)
"""Names of functions for a quotient of whole numbers that is rounded up."""

_WHOLE_WORDS = """
bool char short int long unsigned signed size_t ssize_t ptrdiff_t uint int8_t int16_t int32_t int64_t
uint8_t uint16_t uint32_t uint64_t const constexpr static auto std
"""
_WHOLE = frozenset(_WHOLE_WORDS.split())
"""Words in the names of types of whole numbers."""

_REAL = frozenset({"float", "double"})

BYTES = {"char": 1, "half": 2, "__half": 2, "__nv_bfloat16": 2, "short": 2, "int": 4, "float": 4, "double": 8}
"""Size of each type of elements, in bytes."""

_OF_TEMPLATE = re.compile(r"<[^<>]*>")
"""Template arguments."""

_IS_SAME = re.compile(
    r"(?:std\s*::\s*)?is_same(?:_v)?\s*<\s*(\w+)\s*,\s*(\w+)\s*>\s*(?:::\s*value|\(\s*\)|\{\s*\})?"
)
_SIZEOF = re.compile(r"\(*\s*sizeof\s*\(\s*(\w+?)([2-4]?)\s*\)[\s)]*")


@dataclass(frozen=True)
class Number:
    """A translated expression, and whether C++ computes it with whole numbers."""

    text: str
    is_whole: bool = True


@dataclass(frozen=True)
class Translation:
    """Translates expressions at one place of a file.

    Attributes:
        function: the function around the expressions; None outside of functions.
        kept: names that are not replaced by their values. A name whose value contains one of them, or is not
            whole, is replaced; another constant of the file keeps its name.
        bound: translations of names, such as the parameters of a macro.
        keeps_leaves: whether variables whose values are plain numbers keep their names too.
        named_from: the smallest number that gets a name, as `number_96` for 96; 0: none does.
        has_bytes: whether `sizeof(float)` is 4, and a size in bytes that is not known is no arithmetic.
        steps: how many parts of an expression have been looked at.
    """

    file: SourceFile
    function: Function | None = None
    kept: Collection[str] = frozenset()
    bound: Mapping[str, Number] = field(default_factory=dict)
    keeps_leaves: bool = False
    named_from: int = 0
    has_bytes: bool = False
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
        if node.type in ("qualified_identifier", "template_function", "call_expression"):
            same = _IS_SAME.fullmatch(text_of(node))
            if same:
                return self._same_type(*same.groups())
        match node.type:
            case "number_literal":
                number = _literal(text_of(node))
                is_named = number and self.named_from and number.text.isdigit()
                if number and is_named and int(number.text) >= self.named_from:
                    return Number(f"number_{number.text}")
                return number
            case "identifier" | "type_identifier":
                return self._name(text_of(node))
            case "type_descriptor":  # for the parser, a name among template arguments is a type
                return self.of(node.child_by_field_name("type"))
            case "qualified_identifier":
                *_, scope, name = text_of(node).replace(" ", "").split("::")
                value = self.file.value_in(scope, name)
                return self.of(value) if value else self._name(name)
            case "field_expression":
                return self._member(node)
            case "subscript_expression":  # `dims[0]`
                return self._name(flat_name(node)) if re.fullmatch(r"\w+\[\w+\]", text_of(node)) else None
            case "condition_clause":
                return self.of(node.child_by_field_name("value"))
            case "parenthesized_expression" | "initializer_list" | "argument_list":
                return self.of(node.named_children[0]) if node.named_child_count == 1 else None
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
                array = self._size_of_array(node.child_by_field_name("value"))
                if array is not None:
                    return array
                name = text_of(node.child_by_field_name("value")).strip("() ")
                if self.has_bytes and (kind := kind_of_handle(self.file, self.function, name)):
                    return Number(str(HANDLE_BYTES[kind]))
                written = re.sub(r"\w+", lambda word: self.file.type_named(word[0]), text_of(node))
                known = str(size_of_type(written) or "") if self.has_bytes else "sizeof(element)"
                return Number(known) if known else None
        return None

    def _size_of_array(self, node: Node | None) -> Number | None:
        """Return `(H * D * sizeof(element))` for `sizeof(a)` after `float a[H][D]`; None for others."""
        name = text_of(without_casts(node)) if node else ""
        if self.function is None or not name.isidentifier():
            return None
        is_local = name in self.function.types
        arrays = all_of(self.function.node if is_local else self.file.tree, "array_declarator")
        of_name = (each for each in arrays if declared_name(each) == name)
        inside = [] if is_local else [function.node for function in self.file.functions]
        declarator = next((d for d in of_name if not any(is_inside(d, body) for body in inside)), None)
        extents: list[Number] = []
        while declarator is not None and declarator.type == "array_declarator":
            extent = self.of(declarator.child_by_field_name("size"))
            if extent is None:
                return None
            extents.insert(0, extent)
            outer, declarator = declarator, declarator.child_by_field_name("declarator")
        if not extents or declarator is None or declarator.type != "identifier":
            return None
        while outer.parent and outer.type not in ("declaration", "parameter_declaration"):
            outer = outer.parent
        size = BYTES.get(text_of(outer.child_by_field_name("type")), 0) if self.has_bytes else 0
        unit = (str(size) if size else "") if self.has_bytes else "sizeof(element)"
        is_array = outer.type == "declaration" and unit
        return Number(f"({' * '.join([*(e.text for e in extents), unit])})") if is_array else None

    def _same_type(self, one: str, other: str) -> Number | None:
        """Return whether two types are the same, by their sizes if one is the type of the elements."""
        sizes = [BYTES.get(name, 0) for name in (one, other)]
        if all(sizes):
            return Number(str(int(one.strip("_") == other.strip("_"))))
        size = max(sizes)
        has_both = (
            size == 2 and len({*re.findall(r"\b(?:__)?(half|nv_bfloat16)\b", text_of(self.file.tree))}) > 1
        )
        return Number(f"(sizeof(element) == {size})") if size in (2, 4, 8) and not has_both else None

    def _name(self, name: str) -> Number | None:
        if not re.fullmatch(r"\w*", name, re.ASCII):  # headers have no such names
            return None
        if name in self.bound:
            return self.bound[name]
        if name in self.kept or not name:
            return Number(name) if name else None
        if self.function:
            if name in self.function.rounded_up:
                below = self.function.values.get(name) or self.function.first_values.get(name)
                return self._rounded_up(name, self.of(below))
            if name in self.function.values:
                value = self.of(self.function.values[name])
                is_leaf = value is None or (self.keeps_leaves and not parse(value.text).names)
                return Number(name, not self._is_real(name)) if is_leaf else value
            if name in self.function.first_values or name in self.function.parameter_names:
                return Number(name, not self._is_real(name))
            value_in_scope = self.file.value_in(scope_of(self.function.node), name)
            if value_in_scope:
                return self.of(value_in_scope)
        value = replace(self, function=None, bound={}).of(self.file.value_of(name))
        if value is None or (value.is_whole and parse(value.text).names.isdisjoint(self.kept)):
            return Number(name)
        return value

    def _rounded_up(self, name: str, value: Number | None) -> Number | None:
        """Return a value with the increment that it gets by `if (N % 16) n++;`; as it is without one."""
        if self.function is None or name not in self.function.rounded_up:
            return value
        condition = self.of(self.function.rounded_up[name])
        return Number(f"({value.text} + ({condition.text} != 0))") if value and condition else None

    def extents(self, node: Node) -> list[Number] | None:
        """Return the extents that an expression of type dim3 or int has; None if they are not arithmetic."""
        node = without_casts(node)
        whole = text_of(node.child_by_field_name("argument")) if node.type == "field_expression" else ""
        if whole and self._has_extents(whole):  # `block.x`
            number = self.of(node)
            return [number] if number else None
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
        if inner is None and node.type not in ("initializer_list", "argument_list"):
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
        is_local = function is not None and name in (*function.first_values, *function.parameter_names)
        if not is_local and name in self.file.constants:
            return self.extents(self.file.constants[name])
        if function is None or not function.has_extents(name):
            number = self._name(re.sub(r"\W+", "_", name))
            return [number] if number else None
        value, assigned = function.values.get(name), function.assigned_extents(name)
        if value is None and not assigned:  # a parameter
            known = [self.bound[key] for axis in "xyz" if (key := f"{name}_{axis}") in self.bound]
            return known or [Number(f"{name}_{axis}") for axis in "xyz"]
        found = self.extents(value) if value else [Number("1")]
        if found is None:
            return None
        by_axis = dict(zip("xyz", found, strict=False))
        for axis, extent in assigned.items():
            number = self.of(extent)
            if number is None:
                return None
            by_axis[axis] = number
        number_of_axes = 1 + max("xyz".index(axis) for axis in by_axis)
        extents = [
            self._rounded_up(f"{name}.{axis}", by_axis.get(axis, Number("1")))
            for axis in "xyz"[:number_of_axes]
        ]
        known = [extent for extent in extents if extent]
        return known if len(known) == number_of_axes else None

    def _member(self, node: Node) -> Number | None:
        """Return the translation of `block.x`, or of another member by its name, such as `A_width`."""
        variable, axis = (
            text_of(node.child_by_field_name("argument")),
            text_of(node.child_by_field_name("field")),
        )
        name = flat_name(node)
        if name in self.kept or axis not in ("x", "y", "z") or not self._has_extents(variable):
            return self._name(name)
        found = self._extents_of_variable(variable)
        return (*found, Number("1"), Number("1"))["xyz".index(axis)] if found else None

    def _has_extents(self, name: str) -> bool:
        """Return whether a name is a dim3: a variable of the function, or one that no function changes."""
        function = self.function
        is_local = function is not None and name in (*function.first_values, *function.parameter_names)
        return bool(function and function.has_extents(name)) or (not is_local and name in self.file.constants)

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
            bytes_of = [size_of_type(text_of(node.child_by_field_name(side))) for side in ("left", "right")]
            if all(bytes_of):  # `sizeof(float4) / sizeof(float)`
                return Number(str(bytes_of[0] // bytes_of[1]))
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
        parameters, body = self._short_function(_OF_TEMPLATE.sub("", name).rpartition("::")[2])
        is_size = function.type == "field_expression" and name.endswith(".size")
        if is_size and self.function and not given.named_child_count:
            # Of a std::vector, which is declared with its number of elements, and perhaps with their value.
            declared = self.function.values.get(name.removesuffix(".size"))
            is_filled = declared and declared.type == "argument_list" and declared.named_child_count == 2
            return self.of(declared.named_child(0) if declared and is_filled else declared)
        if is_getter(node):
            return self._name(flat_name(node))
        arguments = [self.of(argument) for argument in given.named_children]
        if function.type == "template_function" and name.startswith("static_cast"):
            return _cast(name.partition("<")[2].rstrip("> "), arguments[0] if len(arguments) == 1 else None)
        if function.type == "primitive_type" or name in _WHOLE:
            return _cast(name, arguments[0] if len(arguments) == 1 else None)
        if None in arguments:
            return None
        numbers = [argument for argument in arguments if argument]
        if name in _ROUNDING and numbers and body is None:
            joined = ", ".join(_without_brackets(number.text) for number in numbers)
            is_whole = name in ("min", "max") and all(number.is_whole for number in numbers)
            return Number(f"{_ROUNDING[name]}({joined})", is_whole)
        if body is None and _ROUNDED_UP.fullmatch(name.rpartition("::")[2]) and len(numbers) == 2:
            joined = " / ".join(f"({number.text})" for number in numbers)  # of a header that is missing
            return Number(f"ceil({joined})")
        if body is None or len(parameters) != len(numbers):
            return None
        bound = dict(zip(parameters, numbers, strict=True)) | self._template_numbers(name, body)
        return replace(self, function=None, bound=bound)._result(body)

    def _template_numbers(self, called: str, body: Node) -> dict[str, Number]:
        """Return the numbers among the template arguments of a call such as `Tiles<16>::of(n)`, by name."""
        templates = [node for node in ancestors(body) if node.type == "template_declaration"]
        lists = [split_at_commas(found[1:-1]) for found in _OF_TEMPLATE.findall(called)]
        bound: dict[str, Number] = {}
        for template, given in zip(templates, reversed(lists), strict=False):
            declared = template.child_by_field_name("parameters")
            parameters = declared.named_children if declared else ()
            for parameter, argument in zip(parameters, given, strict=False):
                number = self.of(parsed_expression(argument))
                if number is not None:
                    bound[declared_name(parameter.child_by_field_name("declarator"))] = number
        return bound

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
            functions = [function_of_node(local)]
        for function in functions:
            body = function.node.child_by_field_name("body")
            if body and body.named_child_count <= MOST_STATEMENTS:
                return function.parameter_names, body
        return (), None


@functools.lru_cache(maxsize=8)
def constants(file: SourceFile) -> dict[str, str]:
    """Return the constants and macros that are whole numbers, each as an expression over the others."""
    translation = Translation(file)
    found: dict[str, str] = {}
    names = [name for name, (parameters, _) in file.macros.items() if parameters is None]
    for name in (*names, *file.constants):
        number = translation.of(file.value_of(name))
        if number and number.is_whole:
            found[name] = number.text
    while True:  # a text may contain names without a value
        unknown = {name for name, text in found.items() if not parse(text).names <= found.keys()}
        if not unknown:
            return found
        found = {name: text for name, text in found.items() if name not in unknown}


@functools.lru_cache(maxsize=8)
def constant_values(file: SourceFile) -> dict[str, int]:
    """Return the values of the constants and macros that are whole numbers."""
    return evaluated({name: parse(text) for name, text in constants(file).items()}, {})


def number_in(source: str, text: str, known: Mapping[str, int] | None = None) -> int | None:
    """Return the value of a C++ expression in a file; None if it is not known.

    Args:
        known: values of names, which come before those of the file.
    """
    rest, numbers = _without_first_numbers(source)
    numbers.update(known or {})
    # Constants keep their names: written out, an expression may be too long.
    translation = Translation(source_file(rest))
    number = translation.of(parsed_expression(text))
    if number is None:
        return None
    definitions = {"": parse(number.text)}
    names = set(definitions[""].names)
    while names:
        name = names.pop()
        if name in numbers or name in definitions:
            continue
        value = translation.of(translation.file.value_of(name))
        if value and value.is_whole:
            definitions[name] = parse(value.text)
            names |= definitions[name].names
    return evaluated(definitions, numbers).get("")


_FIRST_LINE = re.compile(r"#line[^\n]*\n|#define (\w+) (0|[1-9]\d*)\n")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)


def _without_first_numbers(source: str) -> tuple[str, dict[str, int]]:
    """Return a text without the numbers that its first lines define, and these numbers by name.

    The programs of a method's variants differ in these lines only, and so the rest is parsed once.
    """
    numbers: dict[str, int] = {}
    begin = 0
    if not _CONDITION.search(source):  # a condition may depend on the numbers
        while line := _FIRST_LINE.match(source, begin):
            begin = line.end()
            if line[1]:
                numbers.setdefault(line[1], int(line[2]))
    return source[begin:], numbers


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return an expression with other names, or with numbers for names."""
    return re.sub(r"[A-Za-z_]\w*", lambda name: names.get(name[0], name[0]), text)


def _choice(condition: Number | None, then: Number | None, other: Number | None) -> Number | None:
    """Return the translation of `condition ? then : other`."""
    if not (condition and then and other):
        return None
    test = condition.text
    of_type = re.fullmatch(r"\((sizeof\(element\)) (\S+) (\d+)\)", test)
    if of_type and of_type[2] in _OPPOSITE:
        opposite = f"({of_type[1]} {_OPPOSITE[of_type[2]]} {of_type[3]})"
        text = f"({then.text} * {test} + {other.text} * {opposite})"
        return Number(text, then.is_whole and other.is_whole)
    for sign, name in (("<", "min"), (">", "max")):
        if test in (f"({then.text} {sign} {other.text})", f"({then.text} {sign}= {other.text})"):
            joined = ", ".join(_without_brackets(number.text) for number in (then, other))
            return Number(f"{name}({joined})", then.is_whole and other.is_whole)
    return Number(
        f"(({test} != 0) * {then.text} + ({test} == 0) * {other.text})", then.is_whole and other.is_whole
    )


def _literal(text: str) -> Number | None:
    plain = text.replace("'", "").lower()
    whole = re.fullmatch(r"(0x[0-9a-f]+|[0-9]+)[uzl]*", plain)
    if whole:
        is_octal = whole[1].startswith("0") and whole[1].isdigit() and set(whole[1]) <= set("01234567")
        return Number(str(int(whole[1], 16 if "x" in whole[1] else 8 if is_octal else 10)))
    real = re.fullmatch(r"([0-9]*\.?[0-9]*(?:e[+-]?[0-9]{1,2})?)f?", plain)
    if not real or not re.search("[0-9]", real[1]):
        return None
    value = Fraction(real[1].removesuffix("."))
    return Number(str(value) if value.denominator == 1 else f"({value})", is_whole=False)


def size_of_type(text: str) -> int:
    """Return the bytes of `sizeof(float4)`, and 0 for other expressions."""
    found = _SIZEOF.fullmatch(text)
    return BYTES.get(found[1], 0) * int(found[2] or 1) if found else 0


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
