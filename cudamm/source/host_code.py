"""Read from host code how it launches kernels, how large its matrices are, and which sizes it uses."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from cudamm.source.c_definitions import (
    Function,
    SourceFile,
    class_of,
    flat_name,
    is_getter,
    source_file,
    without_casts,
)
from cudamm.source.c_numbers import Number, Translation, constant_values, renamed
from cudamm.source.expression import parse
from cudamm.source.parsed_source import all_of, declared_name, line_of, text_of
from cudamm.source.program_values import (
    callers_of,
    doubts_at,
    labels_of,
    own_value,
    switch_around,
)
from cudamm.source.seen_from import seen_from

MOST_CALLERS = 4
"""Number of functions that are followed from a launch to the code that calls it."""

MOST_LAUNCHES = 100
"""Number of launches of a file that are looked at."""

_NAMED = ("identifier", "field_expression", "subscript_expression")

_ALLOCATIONS = frozenset(
    {"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync", "cudaMallocPitch", "hipMalloc"}
)


@dataclass(frozen=True)
class LaunchStatement:
    """A statement such as `gemm<16><<<grid, block, bytes>>>(A, B, C, n)`.

    Attributes:
        function: the function that contains it, with the values that its variables have there.
        kernel: name of the kernel, without template arguments.
        template_arguments: the text between its angle brackets; None if it has none.
        configuration: what is between `<<<` and `>>>`.
        arguments: of the kernel, without casts.
        required_values: the numbers that the conditions around it give to names, such as 8 for `tile` after
            `case 8:` or `if (tile == 8)`.
        passed_extents: those of a grid and a block that are parameters of the function, as `grid_x`, over
            its other parameters.
        node: the whole statement.
        line: number of its line, from 1.
        doubts: 0 if it is reached; 1 if another one is as well, by a condition whose value is not known; 2 if
            it is not reached.
    """

    function: Function
    kernel: str
    template_arguments: str | None
    configuration: tuple[Node, ...]
    arguments: tuple[Node, ...]
    node: Node
    line: int
    doubts: int
    passed_extents: Mapping[str, Number] = field(default_factory=dict)
    required_values: Mapping[str, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the kernel, the configuration and the arguments as they are written."""
        parts = (
            self.kernel,
            self.template_arguments or "",
            *map(text_of, (*self.configuration, *self.arguments)),
        )
        return " ".join(" ".join(parts).split())


@dataclass(frozen=True)
class WrittenBytes:
    """How a launch says its bytes of dynamic shared memory.

    Attributes:
        text: the expression, that of the variable if the launch names one; empty if not known.
        variable: the variable; empty if there is none, or if its value is not known.
        line: line of its value; 0 if it is an argument of the kernel too, which has to stay as it is.
    """

    text: str = ""
    variable: str = ""
    line: int = 0


def shared_bytes_of_launch(source: str, line: int) -> WrittenBytes:
    """Return how the launch in a line of a program says its bytes of dynamic shared memory."""
    file, lines = source_file(source), source.splitlines()
    for launch in launches(file):
        if launch.line != line or len(launch.configuration) < 3:
            continue
        name = text_of(launch.configuration[2])
        value = launch.function.values.get(name, file.constants.get(name))
        if value is None:
            return WrittenBytes("" if name.isidentifier() else name)
        if text_of(value).partition("\n")[0] in lines[line_of(value) - 1]:
            is_passed = name in map(text_of, launch.arguments)
            return WrittenBytes(text_of(value), name, 0 if is_passed else line_of(value))
    return WrittenBytes()


def launches(file: SourceFile) -> list[LaunchStatement]:
    """Return the launches of a file, in order."""
    found: list[LaunchStatement] = []
    for whole_function in file.functions:
        for call in all_of(whole_function.node, "kernel_call_syntax", "call_expression"):
            called = text_of(call.child_by_field_name("function"))
            if call.type == "call_expression" and not called.startswith("cudaLaunch"):
                continue
            function = seen_from(whole_function, call)
            kernel, configuration, arguments = _launch(function, call)
            if kernel is None or len(configuration) == 1:
                continue
            if len(found) >= MOST_LAUNCHES:
                return found
            doubts = doubts_at(file, function, call)
            required = dict(_required_values(file, function, call))
            for text, caller in _kernels_behind(file, function, text_of(kernel)):
                name, bracket, rest = text.partition("<")
                if caller:
                    rest = _with_values(file, caller, rest)
                found.append(
                    LaunchStatement(
                        function=function,
                        kernel=name.split("::")[-1].strip(),
                        template_arguments=rest.rstrip().removesuffix(">").strip() if bracket else None,
                        configuration=tuple(configuration),
                        arguments=tuple(map(without_casts, arguments)),
                        passed_extents=_passed_extents(file, function, caller, configuration),
                        node=call,
                        line=line_of(call),
                        doubts=doubts,
                        required_values=required,
                    )
                )
    return found


def _with_values(file: SourceFile, function: Function, text: str) -> str:
    """Return template arguments in which variables of a function have their values."""

    def value(name: re.Match[str]) -> str:
        is_local = name[0] in function.first_values
        number = own_value(file, function, name[0]) if is_local else None
        return name[0] if number is None else str(number)

    return re.sub(r"(?<![\w.:])[A-Za-z_]\w*", value, text)


def _launch(function: Function, node: Node) -> tuple[Node | None, Sequence[Node], Sequence[Node]]:
    """Return the kernel, the configuration and the arguments of a launch; no kernel for other nodes."""
    if node.type == "kernel_call_syntax":
        call = node.parent
        given = call.child_by_field_name("arguments") if call else None
        if call is None or given is None:
            return None, (), ()
        return call.child_by_field_name("function"), node.named_children, given.named_children
    called, given = text_of(node.child_by_field_name("function")), node.child_by_field_name("arguments")
    arguments = given.named_children if given else []
    if called in ("cudaLaunchKernel", "cudaLaunchCooperativeKernel") and len(arguments) >= 4:
        kernel, grid, block, passed, *rest = arguments
        return _referenced(kernel), (grid, block, *rest[:1]), _pointed_to(function, passed)
    if called == "cudaLaunchKernelEx" and len(arguments) >= 2:
        config = flat_name(without_casts(arguments[0]))
        values = [function.values.get(f"{config}_{x}") for x in ("gridDim", "blockDim", "dynamicSmemBytes")]
        known = [value for value in values if value] if values[0] and values[1] else []
        return _referenced(arguments[1]), known, arguments[2:]
    return None, (), ()


def _referenced(node: Node) -> Node:
    """Return `x` for `&x` and for `(void *)&x`."""
    node = without_casts(node)
    inner = node.child_by_field_name("argument") if node.type == "pointer_expression" else None
    return inner or node


def _pointed_to(function: Function, array: Node) -> list[Node]:
    """Return the variables whose addresses are in an array, which is a variable of a function."""
    array = without_casts(array)
    value = function.first_values.get(text_of(array)) or array
    values = value.child_by_field_name("value") if value.type == "compound_literal_expression" else value
    return [_referenced(node) for node in values.named_children] if values else []


def _kernels_behind(
    file: SourceFile, function: Function, name: str, levels: int = MOST_CALLERS
) -> list[tuple[str, Function | None]]:
    """Return the kernels that a name stands for, itself or what a variable or a parameter holds.

    With a kernel that the function gets as an argument stands the function that passes it.
    """
    known = {each.name for each in file.functions if each.is_kernel}
    found: list[tuple[str, Function | None]] = [(name, None)] if name else []
    if name in function.values and levels:
        held = text_of(_referenced(function.values[name]))
        found = _kernels_behind(file, function, held, levels - 1)
    elif name in function.parameter_names and levels:
        found = [
            (kernel, caller)
            for caller, argument in callers_of(file, function, name)
            for kernel, _ in _kernels_behind(file, caller, text_of(_referenced(argument)), levels - 1)
        ]
    if any(text.partition("<")[0].split("::")[-1].strip() in known for text, _ in found):
        return found
    held_by_any = dict.fromkeys(_kernels_in(file, function, name, known, levels))
    return [(kernel, None) for kernel in held_by_any] or found


def _kernels_in(
    file: SourceFile, function: Function, text: str, known: Collection[str], levels: int
) -> Iterator[str]:
    """Yield the kernels that an expression names, or a value of one of its variables: `table[version]`."""
    for name in re.findall(r"[A-Za-z_]\w*(?:\s*<[^<>;]*>)?", text):
        if name.partition("<")[0].strip() in known:
            yield name
            continue
        for scope in (function.node, file.tree) if levels and not name.endswith(">") else ():
            values = list(_values_of(scope, name))
            for value in values:
                yield from _kernels_in(file, function, text_of(value), known, levels - 1)
            if values:
                break


def _values_of(scope: Node, name: str) -> Iterator[Node]:
    """Yield each value that a variable gets: where it is declared, assigned, or runs over a list."""
    for node in all_of(scope, "init_declarator", "assignment_expression", "for_range_loop"):
        target = node.child_by_field_name("declarator") or node.child_by_field_name("left")
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if target is not None and value is not None and name in (declared_name(target), text_of(target)):
            yield value


def _passed_extents(
    file: SourceFile, function: Function, caller: Function | None, configuration: Sequence[Node]
) -> dict[str, Number]:
    """Return the extents of the grid and the block that a function gets as arguments.

    Args:
        caller: the function that calls it; None for any.
    """
    found: dict[str, Number] = {}
    for parameter in {text_of(node) for node in configuration} & {*function.parameter_names}:
        for each, argument in callers_of(file, function, parameter):
            if caller in (None, each) and f"{parameter}_x" not in found:
                names = _passed_names(file, function, each)
                extents = Translation(file, each, frozenset(names)).extents(argument) or ()
                for axis, extent in zip("xyz", extents, strict=False):
                    found[f"{parameter}_{axis}"] = Number(renamed(extent.text, names), extent.is_whole)
    return found


def _passed_names(file: SourceFile, function: Function, caller: Function) -> dict[str, str]:
    """Return the function's name for each variable that a caller passes to it."""
    return {
        text_of(argument): parameter
        for parameter in function.parameter_names
        for each, argument in callers_of(file, function, parameter)
        if each is caller and argument.type == "identifier"
    }


def _required_values(file: SourceFile, function: Function, node: Node) -> Iterator[tuple[str, int]]:
    """Yield the names that have one number only where a statement is reached, and that number."""
    values_of_constants = constant_values(file)
    inner, around = node, node.parent
    while around is not None and around != function.node:
        texts: list[str] = []
        if around.type == "case_statement":
            switched, label = (
                Translation(file, function).of(each)
                for each in (switch_around(around)[0], _only_label(around))
            )
            texts = [f"{switched.text} == {label.text}"] if switched and label else []
        elif around.type == "if_statement" and inner == around.child_by_field_name("consequence"):
            condition = Translation(file, function).of(around.child_by_field_name("condition"))
            texts = [str(each) for each in parse(condition.text).conjuncts()] if condition else []
        elif around.type == "if_statement" and inner == around.child_by_field_name("alternative"):
            condition = Translation(file, function).of(around.child_by_field_name("condition"))
            then = around.child_by_field_name("consequence")
            for name, number in _equal_numbers([condition.text], values_of_constants) if condition else ():
                other = _number_for(number, then, node) if then else None
                if other is not None:
                    yield name, other
        yield from _equal_numbers(texts, values_of_constants)
        inner, around = around, around.parent


def _equal_numbers(texts: Iterable[str], constants: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield the name and the number of each condition such as `tile == 16`."""
    for text in texts:
        one, _, other = text.strip("()").partition(" == ")
        for name, number in ((one, other), (other, one)):
            values = {**constants, **({number: int(number)} if number.isdigit() else {})}
            if name.isidentifier() and name not in values and number in values:
                yield name, values[number]


def _number_for(number: int, branch: Node, launch: Node) -> int | None:
    """Return 32 in place of 16 for `if (tile == 16) mm<16><<<…>>>(…); else mm<32><<<…>>>(…);`.

    Args:
        number: that of the condition.
        branch: the statement after the condition.
        launch: one after `else`.
    """
    own = _template_numbers(launch)
    for other in map(_template_numbers, all_of(branch, "kernel_call_syntax")):
        places = [place for place, text in enumerate(other) if text == str(number)]
        if len(own) == len(other) and own[0] == other[0] and len(places) == 1 and own[places[0]].isdigit():
            return int(own[places[0]])
    return None


def _template_numbers(launch: Node) -> list[str]:
    """Return `mm` and `16` for the launch mm<16><<<…>>>(…)."""
    call = launch.parent if launch.type == "kernel_call_syntax" else launch
    name, _, rest = text_of(call.child_by_field_name("function") if call else None).partition("<")
    return [name, *(text.strip() for text in rest.rpartition(">")[0].split(","))]


def _only_label(case: Node) -> Node | None:
    """Return the label of a case; None for `default` and for `case 8: case 16:`."""
    labels = labels_of(case)
    return labels[0] if len(labels) == 1 and case.child_by_field_name("value") else None


def multiplies_by_rows(file: SourceFile) -> bool:
    """Return whether a reference on the host multiplies rows: `a[i * k + p] * b[j * k + p]`."""
    for function in file.functions:
        if "__global__" in function.head or "__device__" in function.head:
            continue
        for product in all_of(function.node, "binary_expression"):
            sides = [product.child_by_field_name(side) for side in ("left", "right")]
            if text_of(product.child_by_field_name("operator")) != "*" or any(
                side is None or side.type != "subscript_expression" for side in sides
            ):
                continue
            one, other = (re.sub(r"[\s()]", "", text_of(side).partition("[")[2][:-1]) for side in sides)
            last = re.fullmatch(r"\w+\*\w+\+(\w+)", one)
            if last and re.fullmatch(rf"\w+\*\w+\+{last[1]}", other):
                return True
    return False


def first_name(node: Node) -> str:
    """Return the first name in an expression: `buffer` for `buffer.data()`; empty if it has none.

    Of a member `this->buffer` it is the member's.
    """
    names = ("identifier", "field_identifier") if "this->" in text_of(node) else ("identifier",)
    return next((text_of(name) for name in all_of(node, *names)), "")


def size_name(function: Function, node: Node) -> str:
    """Return the name of the number that an argument passes on: `N` for `n` after `int n = N;`."""
    for _ in range(MOST_CALLERS):
        node = without_casts(node)
        if not (node.type in _NAMED or is_getter(node)) or not text_of(node).isascii():
            return ""
        value = function.values.get(flat_name(node))
        if value is None or without_casts(value).type not in _NAMED:
            break
        node = value
    return flat_name(node)


def allocations(
    file: SourceFile, function: Function, name: str, levels: int = MOST_CALLERS
) -> Iterator[tuple[Function, Node]]:
    """Yield each expression for the size of the memory that a variable points to, with its function.

    They are arguments of `cudaMalloc`, and of constructors such as `Buffer<float> name(rows * columns)`. The
    memory of a member may be allocated by another method of its class.
    """
    for call in all_of(function.node, "call_expression"):
        called = text_of(call.child_by_field_name("function")).partition("<")[0]
        given = call.child_by_field_name("arguments")
        if called in _ALLOCATIONS and given and given.named_child_count >= 2:
            pointer, size, *others = given.named_children
            if name in (first_name(pointer), *map(text_of, all_of(pointer, "identifier"))):
                sizes = others if called == "cudaMallocPitch" else [size]
                yield from ((function, size) for size in sizes)
    value = function.first_values.get(name)
    if value and value.type in ("argument_list", "initializer_list"):
        yield from ((function, part) for part in value.named_children[:2])
    elif value:
        for call in all_of(value, "call_expression"):  # `float *name = allocate(rows * columns);`
            given = call.child_by_field_name("arguments")
            yield from ((function, part) for part in (given.named_children if given else ()))
    for caller, argument in callers_of(file, function, name) if levels else ():
        yield from allocations(file, caller, first_name(argument), levels - 1)
    own_class = (
        class_of(function) if levels and name not in function.types and name not in file.globals else ""
    )
    for method in file.functions if own_class and name else ():
        if class_of(method) == own_class and method.node != function.node and name not in method.types:
            yield from allocations(file, method, name, 0)


def name_here(file: SourceFile, function: Function, name: str, other: Function) -> str:
    """Return a function's name for what a caller, or another method of its class, calls `name`; or empty.

    A parameter of the other method is the member that has its value.
    """
    for parameter in function.parameter_names:
        for caller, argument in callers_of(file, function, parameter):
            if caller is other and size_name(caller, argument) == name:
                return parameter
    if not class_of(function) or class_of(function) != class_of(other):
        return ""
    members = [name.removeprefix("this_")] if name not in other.types else []
    given = [(flat_name(each.named_children[0]), each.named_children[-1].named_children)
             for each in all_of(other.node, "field_initializer")]  # fmt: skip
    given += [(member, [value]) for member, value in other.first_values.items()]
    members += [
        member.removeprefix("this_")
        for member, values in given
        if name in other.parameter_names and [text_of(value) for value in values] == [name]
    ]
    member = next(iter(members), "")
    is_by_this = member and re.search(rf"(?<!->)(?<!\.)\b{member}\b", text_of(function.node)) is None
    return f"this_{member}" if is_by_this else member
