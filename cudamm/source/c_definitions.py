"""Find the functions, macros and constants that C++ source defines, and the variables of each function."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from cudamm.source.parsed_source import (
    all_of,
    declared_name,
    is_inside,
    is_of_value,
    parsed,
    parsed_expression,
    text_of,
)
from cudamm.source.preprocessed import preprocessed


@dataclass(frozen=True, eq=False)  # a function is a key of a cache
class Function:
    """A function and the variables in it.

    Attributes:
        parameters: its parameters in order, as they are declared.
        values: the values of variables that get no other later; after `seen_from` those at a place.
        first_values: the first values of all variables; after `seen_from` the values that they have unless
            the program's user chooses others.
        rounded_up: the conditions of variables as in `n = N / 16; if (N % 16) n++;`.
        types_at_place: the types of the variables that a place sees.
        chosen_by_user: the variables that may get their value from the program's user before that place.
    """

    node: Node
    name: str
    parameters: tuple[Node, ...]
    values: Mapping[str, Node]
    first_values: Mapping[str, Node]
    rounded_up: Mapping[str, Node]
    types_at_place: Mapping[str, str] = field(default_factory=dict)
    chosen_by_user: frozenset[str] = frozenset()

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
        for node, declarator in self._declared:
            found.setdefault(declared_name(declarator), text_of(node.child_by_field_name("type")))
        return found

    def is_pointer(self, name: str) -> bool | None:
        """Return whether a parameter or variable is a pointer or an array; None if its scopes differ."""
        found = set()
        for _, declarator in self._declared:
            if declared_name(declarator) == name:
                bare = declarator
                if declarator.type == "init_declarator":
                    bare = declarator.child_by_field_name("declarator") or declarator
                found.add(any(all_of(bare, "pointer_declarator", "array_declarator")))
        return found.pop() if len(found) == 1 else None

    @property
    def _declared(self) -> Iterator[tuple[Node, Node]]:
        """Yield each declaration of parameters and variables, with each declarator."""
        for node in all_of(
            self.node, "declaration", "parameter_declaration", "optional_parameter_declaration"
        ):
            if is_of_value(node):
                continue
            for declarator in node.children_by_field_name("declarator"):
                yield node, declarator

    def has_extents(self, name: str) -> bool:
        """Return whether a variable is a dim3."""
        value = self.first_values.get(name)
        declared = self.types_at_place.get(name) or self.types.get(name, "")
        return declared.endswith(("dim3", "uint3")) or (
            declared == "auto" and text_of(value).replace(" ", "").startswith(("dim3(", "dim3{"))
        )

    def assigned_extents(self, name: str) -> dict[str, Node]:
        """Return the value of each of `name.x`, `name.y` and `name.z` that is assigned by itself."""
        values = {axis: self.values.get(f"{name}.{axis}") for axis in "xyz"}
        return {axis: value for axis, value in values.items() if value}


@dataclass(frozen=True, eq=False)  # one file is one key of a cache
class SourceFile:
    """The names of a file that stand for numbers and functions.

    Attributes:
        macros: the parameters and the text of each macro; None for a macro without parameters.
        constants: the value of each constant, and of each dim3, outside of functions, by its name alone; not
            those whose name has several values in different scopes.
        scoped: the same, by scope and name, such as `Small::TILE`, of structs and namespaces.
        globals: the first value of each variable outside of functions that is no constant.
        types_of_globals: the types of all variables outside of functions.
        functions: the functions that the file defines, in order.
        text: the source, with its comments.
    """

    tree: Node
    macros: Mapping[str, tuple[tuple[str, ...] | None, str]]
    constants: Mapping[str, Node]
    scoped: Mapping[str, Node]
    functions: tuple[Function, ...]
    globals: Mapping[str, Node | None] = field(default_factory=dict)
    types_of_globals: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    def value_of(self, name: str) -> Node | None:
        """Return the value of a constant, or of a macro without parameters; None for other names."""
        if name in self.constants:
            return self.constants[name]
        parameters, text = self.macros.get(name, ((), ""))
        return parsed_expression(text) if parameters is None and text else None

    def value_in(self, scope: str, name: str) -> Node | None:
        """Return the value of a constant whose name alone has several; None for other names."""
        return None if name in self.constants else self.scoped.get(f"{scope}::{name}")

    @functools.cached_property
    def _named_types(self) -> Mapping[str, str]:
        found = {name: text for name, (parameters, text) in self.macros.items() if parameters is None}
        for node in all_of(self.tree, "type_definition"):
            for declarator in node.children_by_field_name("declarator"):
                found[text_of(declarator)] = text_of(node.child_by_field_name("type"))
        for node in all_of(self.tree, "alias_declaration"):
            found[text_of(node.child_by_field_name("name"))] = text_of(node.child_by_field_name("type"))
        return {name: text.strip() for name, text in found.items() if re.fullmatch(r"\s*\w+\s*", text)}

    def type_named(self, name: str) -> str:
        """Return `double` for `real` after `typedef double real;`; other names as they are."""
        seen: set[str] = set()
        while name in self._named_types and name not in seen:
            seen.add(name)
            name = self._named_types[name]
        return name

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
        body = re.sub(r"\\\n", " ", text_of(node.child_by_field_name("value")))
        if names:  # the parser takes `(i) + (j) * n` for a cast to the type i
            one = "|".join(map(re.escape, names))
            body = re.sub(rf"(?<![\w\s])(\s*)\(\s*({one})\s*\)(?!\s*[\w(])", r"\1\2", f" {body}")
        macros.setdefault(text_of(node.child_by_field_name("name")), (names, body.strip()))
    functions = tuple(function_of_node(node) for node in all_of(tree, "function_definition"))
    inside = [(f.node.start_byte, f.node.end_byte) for f in functions]
    constants: dict[str, Node] = {}
    scoped: dict[str, Node] = {}
    variables: dict[str, Node | None] = {}
    types: dict[str, str] = {}
    for node in all_of(tree, "declaration", "field_declaration", "enumerator"):
        if any(start < node.start_byte < end for start, end in inside):
            continue
        if node.type == "enumerator":
            value = node.child_by_field_name("value")
            if value:
                constants.setdefault(text_of(node.child_by_field_name("name")), value)
        elif {"const", "constexpr", "dim3"} & set(text_of(node).split("=")[0].split()):
            for name, value in initialised(node):
                is_changed = (
                    re.search(rf"(?<![\w.]){name}(\s*\.\s*[xyz])?\s*=(?!=)", text_of(tree)) is not None
                )
                if not (is_changed and "dim3" in text_of(node) and "=" not in text_of(node)):
                    constants.setdefault(name, value)
                    scoped.setdefault(f"{scope_of(node)}::{name}", value)
        elif node.type == "declaration":
            declarators = node.children_by_field_name("declarator")
            declarators = [d for d in declarators if d.type != "function_declarator"]
            values = dict(initialised(node)) if declarators else {}
            for declarator in declarators:
                name = declared_name(declarator)
                variables.setdefault(name, values.get(name))
                types.setdefault(name, text_of(node.child_by_field_name("type")))
    for node in all_of(tree, "field_initializer"):  # of a dim3: `Multiplier() : block(16, 16) {}`
        name, given = text_of(node.named_children[0]), node.named_children[1:]
        is_dim3 = re.search(rf"\bdim3\s+(?:\w+\s*,\s*)*{name}\b", text_of(tree))
        if given and is_dim3 and not re.search(rf"\b{name}(\s*\.\s*[xyz])?\s*=(?!=)", text_of(tree)):
            constants.setdefault(name, given[0])
            scoped.setdefault(f"{scope_of(node) or node.start_byte}::{name}", given[0])
    for key, value in scoped.items():
        name = key.rpartition("::")[2]
        if name in constants and text_of(constants[name]) != text_of(value):
            del constants[name]
    return SourceFile(tree, macros, constants, scoped, functions, variables, types, source)


def scope_of(node: Node) -> str:
    """Return the name of the struct or the namespace around a node; empty if there is none."""
    around = node.parent
    while around is not None:
        if around.type in ("struct_specifier", "class_specifier", "namespace_definition"):
            return text_of(around.child_by_field_name("name"))
        around = around.parent
    return ""


def class_of(function: Function) -> str:
    """Return the name of the class whose method a function is; empty for other functions."""
    declarator = text_of(function.node.child_by_field_name("declarator"))
    qualified = re.match(r"[*&\s]*(?:\w+\s*::\s*)*?(\w+)\s*(?:<[^<>]*>)?\s*::\s*[~\w]+[^\w:]*\(", declarator)
    return qualified[1] if qualified else scope_of(function.node)


def initialised(declaration: Node) -> list[tuple[str, Node]]:
    """Return the names and the first values that a declaration gives to them."""
    found = []
    for declarator in declaration.children_by_field_name("declarator"):
        name, value = declared_name(declarator), declarator.child_by_field_name("value")
        value = value or declaration.child_by_field_name("default_value")
        # In `dim3 grid(x * y, z)` the parser takes names for types of parameters.
        if value is None and declarator.type == "function_declarator":
            arguments = text_of(declarator.child_by_field_name("parameters"))
            call = parsed_expression(f"{name}{arguments}")
            value = call.child_by_field_name("arguments") if call else None
        if name and value:
            found.append((name, value))
    return found


def function_of_node(node: Node) -> Function:
    """Return the function that a definition or a lambda expression defines."""
    declarator = node.child_by_field_name("declarator")
    head = next(all_of(declarator, "function_declarator", "lambda_declarator"), None) if declarator else None
    parameters = head.child_by_field_name("parameters") if head else None
    first_values: dict[str, Node] = {}
    changed: set[str] = set()
    rounded_up: dict[str, Node] = {}
    for part in all_of(
        node, "declaration", "assignment_expression", "update_expression", "pointer_expression"
    ):
        if part.type == "pointer_expression":
            if text_of(part).startswith("&") and part.parent and part.parent.type == "argument_list":
                changed.add(text_of(part)[1:].strip())
        elif part.type == "declaration":
            for name, value in initialised(part):
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
            condition = condition_of_increment(part)
            if condition and name in first_values and name not in changed:
                rounded_up[name] = condition
            else:
                rounded_up.pop(name, None)
            changed.add(name)
    for name, width in pitches(node):
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


def names_with(source: str, pattern: str) -> list[str]:
    """Return the names of the macros, and of the functions other than kernels, whose text has a pattern."""
    file = source_file(source)
    names = [name for name, (_, text) in file.macros.items() if re.search(pattern, text)]
    others = [function for function in file.functions if function.name and not function.is_kernel]
    return names + [other.name for other in others if re.search(pattern, text_of(other.node))]


def is_index_of_thread(source: str, index: str) -> bool:
    """Return whether an expression is `threadIdx.x` or `.y`, or a variable or a macro that is only that."""
    file = source_file(source)
    values = {name: {text} for name, (parameters, text) in file.macros.items() if parameters is None}
    for function in file.functions:
        if "__global__" in function.head or "__device__" in function.head:
            for name in function.first_values:
                value = function.values.get(name)  # None if the variable gets another one later
                values.setdefault(name, set()).add(text_of(without_casts(value)) if value else "")
    seen: set[str] = set()
    while index in values and index not in seen and len(values[index]) == 1:
        seen.add(index)
        (index,) = values[index]
    return re.fullmatch(r"\(*threadIdx\s*\.\s*[xyz]\)*", index) is not None


def lines_in_one_function(source: str, one: int, other: int) -> tuple[int, int]:
    """Return two lines, each replaced by the call that leads to it, if they are in different functions.

    Of several calls it is the last one before the other line, else the last.

    Returns:
        (0, 0) if no function leads to both.
    """
    file = source_file(source)
    named = [(f.name, f.node) for f in file.functions]
    named += [  # `auto load = [&](int k) { … };`
        (declared_name(node.child_by_field_name("declarator")), value)
        for node in all_of(file.tree, "init_declarator")
        if (value := node.child_by_field_name("value")) is not None and value.type == "lambda_expression"
    ]

    def inner(line: int) -> tuple[str, Node] | None:
        around = [pair for pair in named if pair[1].start_point[0] < line <= pair[1].end_point[0] + 1]
        return min(around, key=lambda pair: pair[1].end_byte - pair[1].start_byte, default=None)

    def callers(line: int, near: int) -> dict[str, int]:
        """Return the line and the calls that lead to it, by the name of the function around each."""
        found: dict[str, int] = {}
        function = inner(line)
        while function is not None and function[0] not in found:
            found[function[0]] = line
            calls = {
                node.start_point[0] + 1
                for node in all_of(file.tree, "call_expression")
                if re.match(rf"(?:\w+\s*::\s*)*{re.escape(function[0])}\s*[<(]", text_of(node))
            }
            if not calls:
                break
            line = max([call for call in calls if call <= near] or calls)
            function = inner(line)
        return found

    if inner(one) is None or inner(other) is None:
        return one, other
    lines, other_lines = callers(one, other), callers(other, one)
    return next(((lines[name], other_lines[name]) for name in lines if name in other_lines), (0, 0))


def pitches(function: Node) -> Iterator[tuple[str, Node]]:
    """Yield the variables for the bytes of a row that `cudaMallocPitch(&A, &pitch, bytes, rows)` sets."""
    for call in all_of(function, "call_expression"):
        given = call.child_by_field_name("arguments")
        if text_of(call.child_by_field_name("function")) == "cudaMallocPitch" and given:
            arguments = given.named_children
            if len(arguments) == 4 and text_of(arguments[1]).startswith("&"):
                yield text_of(arguments[1])[1:].strip(), arguments[2]


def condition_of_increment(node: Node) -> Node | None:
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
    """Return the name of a variable, `d_m` for `d.m` and `d.m()`, and `dims_0` for `dims[0]`."""
    return re.sub(r"\W+", "_", re.sub(r"^\W+|\W+$", "", text_of(node)))


def is_getter(node: Node) -> bool:
    """Return whether an expression means as much as a member: `A.rows()`, `a->rows()`, `A.size(0)`."""
    function, given = (node.child_by_field_name(part) for part in ("function", "arguments"))
    is_method = function is not None and function.type == "field_expression" and given is not None
    is_of_tensor = re.search(r"\.\s*size\s*\(\s*-?\d\s*\)$", text_of(node)) is not None
    return is_method and given is not None and (is_of_tensor or not given.named_child_count)


HANDLE_BYTES = {"pointer": 8, "vector": 24}
"""Size of a variable that only leads to its elements, by its kind."""


def kind_of_handle(file: SourceFile, function: Function | None, name: str) -> str:
    """Return `pointer` or `vector` for a variable whose own size is not that of its elements; else nothing.

    An array that is a parameter is a pointer.
    """
    is_local = function is not None and name in function.types
    inside = [each.node for each in file.functions]
    tree = function.node if function is not None and is_local else file.tree
    for declaration in all_of(tree, "declaration", "parameter_declaration"):
        if is_of_value(declaration):
            continue
        if not is_local and any(is_inside(declaration, body) for body in inside):
            continue
        declarators = declaration.children_by_field_name("declarator")
        declarator = next((each for each in declarators if declared_name(each) == name), None)
        if declarator is None:
            continue
        value = None
        if declarator.type == "init_declarator":
            value = declarator.child_by_field_name("value")
            declarator = declarator.child_by_field_name("declarator") or declarator
        c_type = text_of(declaration.child_by_field_name("type"))
        is_itself = declarator.type in ("identifier", "function_declarator")  # the parser's for `v(n * n)`
        if is_itself and re.match(r"(std\s*::\s*)?vector\s*<", c_type):
            return "vector"
        is_new = c_type == "auto" and value is not None and value.type == "new_expression"
        inner = declarator.child_by_field_name("declarator")
        is_parameter = declaration.type == "parameter_declaration" and declarator.type == "array_declarator"
        is_pointer = declarator.type == "pointer_declarator" and inner and inner.type == "identifier"
        return "pointer" if is_pointer or is_parameter or is_new else ""
    return ""


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
