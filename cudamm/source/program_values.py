"""Find the numbers that a program gives to its names: by their callers, in structs, and in global variables.

They are the values that a name has unless the program's user chooses another. `None` stands for a value that
is not known: no other number is taken in its place.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from cudamm.source.c_definitions import Function, SourceFile, flat_name, without_casts
from cudamm.source.c_numbers import BYTES, Translation, constant_values, renamed
from cudamm.source.expression import MULTIPROCESSORS, evaluated, parse
from cudamm.source.kernel_parameters import members_of_structs
from cudamm.source.parsed_source import all_of, declared_name, is_inside, parsed_expression, text_of
from cudamm.source.seen_from import BY_USER, LOOPS, seen_from

MOST_CALLS = 12
"""Number of calls of a function that are looked at."""

MOST_LEVELS = 12
"""Number of names, calls and members that are followed from a name to its number."""

_OF_LARGE = re.compile(r">=?\s*\d+\s*(?:\)|&&|and\b)")
"""What a condition has that holds for large matrices, such as `(n >= 128)`."""

ASSUMED_MULTIPROCESSORS = 7
"""Number of multiprocessors that is taken if a launch depends on it; results do not.

No usual block has as many threads as a small multiple of it, so that a mix-up of threads and blocks shows.
"""

_OF_EVERY_GPU = {"maxThreadsPerBlock": 1024, "sharedMemPerBlock": 49152, "warpSize": 32}
"""Members of `cudaDeviceProp` that are the same for each GPU that the CUDA toolkit supports."""

_OF_STRUCT = ("initializer_list", "argument_list", "compound_literal_expression", "call_expression")
"""Expressions that give values to the members of a struct."""


@functools.lru_cache(maxsize=512)
def callers_of(file: SourceFile, function: Function, parameter: str) -> tuple[tuple[Function, Node], ...]:
    """Return what each call of a function passes for a parameter, with the calling function."""
    if parameter not in function.parameter_names or function.is_kernel:
        return ()
    place = function.parameter_names.index(parameter)
    found: list[tuple[Function, Node]] = []
    for caller in file.functions:
        if caller.name == function.name:
            continue
        for call in all_of(caller.node, "call_expression"):
            given = call.child_by_field_name("arguments")
            called = text_of(call.child_by_field_name("function")).partition("<")[0].split("::")[-1]
            if called == function.name and given and place < given.named_child_count:
                found.append((seen_from(caller, call), without_casts(given.named_children[place])))
            if len(found) == MOST_CALLS:
                return tuple(found)
    return tuple(found)


def template_parameters(function: Function) -> list[str]:
    """Return the names of a function's template parameters, in order."""
    template = function.node.parent
    if template is None or template.type != "template_declaration":
        return []
    parameters = template.child_by_field_name("parameters")
    return [_template_name(node) for node in (parameters.named_children if parameters else ())]


def _template_name(node: Node) -> str:
    declarator = node.child_by_field_name("declarator") or node.child_by_field_name("name")
    return declared_name(declarator) or text_of(node).partition("=")[0].split()[-1]


def class_argument(file: SourceFile, function: Function, name: str) -> str:
    """Return the argument for a template parameter of the class around a function; else the name."""
    around = function.node.parent
    while around is not None:
        parameters = around.child_by_field_name("parameters")
        if around.type == "template_declaration" and parameters:
            names = [_template_name(node) for node in parameters.named_children]
            classes = all_of(around, "class_specifier", "struct_specifier")
            class_name = text_of(next((node.child_by_field_name("name") for node in classes), None))
            if name in names:
                return next(_arguments_of_class(file, class_name, names.index(name), name), name)
        around = around.parent
    return name


def _arguments_of_class(file: SourceFile, class_name: str, place: int, parameter: str) -> Iterator[str]:
    """Yield the arguments that uses of a class give for one of its template parameters."""
    for use in all_of(file.tree, "template_type"):
        given = use.child_by_field_name("arguments")
        values = [text_of(value) for value in given.named_children] if given else []
        is_use = text_of(use.child_by_field_name("name")) == class_name
        if is_use and place < len(values) and values[place] != parameter:
            yield values[place]


def own_value(file: SourceFile, function: Function, name: str) -> int | None:
    """Return the number that a program gives to a name unless its user chooses another; None for none."""
    return _own_value(file, function, name, MOST_LEVELS)


def own_number(file: SourceFile, function: Function, node: Node | None) -> int | None:
    """Return the value of an expression in a function, with the program's own values; None for none."""
    return _own_number(file, function, node, MOST_LEVELS)


def ways_to_reach(
    file: SourceFile, function: Function, names: Collection[str], levels: int = MOST_LEVELS
) -> list[dict[str, int]]:
    """Return the numbers that names in a function have together, for each way to reach it in the program.

    A way is a call of the function, or a step of a loop over a list: there are two ways to reach `gemm` in
    `for (int n : {64, 100}) gemm(n, n, 32);`.

    Returns:
        Nothing if no list and no call gives numbers to the names.
    """
    if levels <= 0:
        return []
    ways = [{name: number} for name in names for number in listed_values(file, function, name)]
    passed = [name for name in function.parameter_names if name in names]
    for call in () if ways else zip(*(callers_of(file, function, name) for name in passed), strict=False):
        caller = call[0][0]
        used = {text_of(node) for _, argument in call for node in all_of(argument, "identifier")}
        for outer in ways_to_reach(file, caller, used, levels - 1) or [{}]:
            given = {name: parsed_expression(str(number)) for name, number in outer.items()}
            known = {name: node for name, node in given.items() if node is not None}
            there = replace(
                caller, values={**caller.values, **known}, first_values={**caller.first_values, **known}
            )
            numbers = [own_number(file, there, argument) for _, argument in call]
            if None not in numbers:
                ways.append({name: number or 0 for name, number in zip(passed, numbers, strict=True)})
    return ways


def listed_values(file: SourceFile, function: Function, name: str) -> tuple[int, ...]:
    """Return the numbers that a loop over a list or an array gives to a name; nothing if not known."""
    for loop in all_of(function.node, "for_range_loop"):
        declared, listed = (loop.child_by_field_name(part) for part in ("declarator", "right"))
        if listed and declared and {name} == {text_of(part) for part in all_of(declared, "identifier")}:
            return _listed_numbers(file, function, listed)
    array, _ = _element_for(file, function, name)
    return _numbers_of_array(file, function, array) if array else ()


def _element_for(file: SourceFile, function: Function, name: str) -> tuple[str, set[str]]:
    """Return `sizes` for the name `n` in `n = sizes[i]`, or for `sizes_i`, and the names in its value."""
    value = function.first_values.get(name)
    element = re.match(r"(\w+)\s*(?:\[|\.\s*at\s*\()\s*\w+\s*[\])]$", text_of(value))
    names = {text_of(node) for node in all_of(value, "identifier")} if value else set()
    if not value and not {name} & {*function.types, *function.parameter_names, *file.globals}:
        element = re.match(r"(\w+)_([A-Za-z]\w*)$", name)  # the same without a variable for it
        is_index = element and re.search(rf"\b{element[1]}\s*\[\s*{element[2]}\s*\]", text_of(function.node))
        element = element if is_index else None
        names = {*name.split("_")[1:]}
    return element[1] if element else "", names


@functools.lru_cache(maxsize=512)
def looped_values(
    file: SourceFile, function: Function, name: str, levels: int = MOST_LEVELS
) -> tuple[int, ...] | None:
    """Return the numbers of a list, or the first number and the steps, that a loop gives to a name.

    All values of the name are multiples of a number if all of these are: 64 for `n = 64; n < 512; n *= 2`.

    Returns:
        None if no loop gives values to the name; nothing if its values cannot be read.
    """
    if levels <= 0:
        return None
    read: list[tuple[int, ...] | None] = []
    for loop in all_of(function.node, "for_range_loop"):
        declared, listed = (loop.child_by_field_name(part) for part in ("declarator", "right"))
        names = {text_of(part) for part in all_of(declared, "identifier")} if declared else set()
        if {name} == names and listed:
            read.append(_listed_numbers(file, function, listed))
        elif any(name == each or name.startswith(f"{each}_") for each in names):
            read.append(())  # a member of a struct
    read.append(_loop_numbers(file, function, name))
    array, names = _element_for(file, function, name)
    numbers = _numbers_of_array(file, function, array) if array else ()
    if numbers:
        read.append(numbers)
    elif any(looped_values(file, function, each, levels - 1) is not None for each in names - {name}):
        read.append(())
    for caller, argument in callers_of(file, function, name):
        read.append(looped_values(file, caller, flat_name(argument), levels - 1))
    known = [values for values in read if values is not None]
    return tuple(itertools.chain(*known if all(known) else ())) if known else None


def _listed_numbers(file: SourceFile, function: Function, listed: Node) -> tuple[int, ...]:
    """Return the numbers of `{64, 128}`, or of the array of a name; nothing if one is unknown."""
    if listed.type == "identifier":
        return _numbers_of_array(file, function, text_of(listed))
    listed = listed.child_by_field_name("value") or listed
    return _all_known(file, function, listed.named_children if listed.type == "initializer_list" else [None])


def _numbers_of_array(file: SourceFile, function: Function, name: str) -> tuple[int, ...]:
    """Return the numbers with which an array is defined; nothing if one is unknown or replaced later."""
    changed = rf"\b{name}\s*(?:\.\s*\w*_back|\[[^\]]*\]\s*=(?!=|\s*\{{))"
    value = function.first_values.get(name) or file.globals.get(name) or file.value_of(name)
    is_list = value is not None and value.type in ("initializer_list", "compound_literal_expression")
    if value is None or not is_list or re.search(changed, text_of(function.node)):
        return ()
    return _listed_numbers(file, function, value)


def _all_known(file: SourceFile, function: Function, nodes: Sequence[Node | None]) -> tuple[int, ...]:
    """Return the numbers of expressions; nothing if one is unknown."""
    values = [own_number(file, function, node) for node in nodes]
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else ()


def _loop_numbers(file: SourceFile, function: Function, name: str) -> tuple[int, ...] | None:
    """Return `looped_values` of a variable that a loop changes, as in `n *= 2`; None for others."""
    changes = [*_assignments(function, name)]
    if not any(is_looped for _, _, is_looped in changes):
        return None
    steps: list[Node | None] = []
    for sign, value, _ in changes:
        of_itself = re.fullmatch(rf"{name}\s*(\*|<<|\+)\s*(\w+)", text_of(value)) if sign == "=" else None
        sign, text = (f"{of_itself[1]}=", of_itself[2]) if of_itself else (sign, text_of(value))
        if sign not in ("*=", "<<="):
            is_known = sign in ("=", "+=", "-=", "++")
            steps.append(parsed_expression("1" if sign == "++" else text) if is_known else None)
    return _all_known(file, function, steps)


def _assignments(function: Function, name: str) -> Iterator[tuple[str, Node | None, bool]]:
    """Yield the sign and the value of each assignment to a variable, and whether a loop repeats it."""
    for node in all_of(function.node, "init_declarator", "assignment_expression", "update_expression"):
        target = next(
            (t for f in ("declarator", "left", "argument") if (t := node.child_by_field_name(f))), None
        )
        if target is None or target.type != "identifier" or text_of(target) != name:
            continue
        is_declared = node.type == "init_declarator"
        value = node.child_by_field_name("value" if is_declared else "right")
        around, inner = node.parent, node
        is_looped = False
        while around is not None and around != function.node and not is_declared:
            is_first = inner == around.child_by_field_name("initializer")
            is_looped |= around.type in LOOPS and not is_first
            inner, around = around, around.parent
        yield "=" if is_declared else text_of(node.child_by_field_name("operator")), value, is_looped


def is_chosen_by_user(file: SourceFile, function: Function, name: str) -> bool:
    """Return whether the program's user may choose another number for a name, as with `argv`."""
    return _is_chosen(file, function, name, MOST_LEVELS)


@functools.lru_cache(maxsize=4096)
def _is_chosen(file: SourceFile, function: Function, name: str, levels: int) -> bool:
    if levels <= 0:
        return False
    if name in function.chosen_by_user or (
        name not in function.types and any(g.is_by_user for g in _changes(file, name))
    ):
        return True
    value = function.first_values.get(name)
    used = {text_of(node) for node in all_of(value, "identifier")} - {name} if value else set()
    return any(_is_chosen(file, function, each, levels - 1) for each in used) or any(
        _is_chosen(file, caller, text_of(node), levels - 1)
        for caller, argument in callers_of(file, function, name)
        for node in all_of(argument, "identifier")
    )


@functools.lru_cache(maxsize=512)
def in_multiprocessors(file: SourceFile, function: Function, name: str, levels: int = MOST_LEVELS) -> str:
    """Return the value of a name as an expression over MULTIPROCESSORS; empty if there is none."""
    if levels <= 0:
        return ""
    if _is_number_of_multiprocessors(function, name):
        return MULTIPROCESSORS
    first = function.first_values.get(name)
    given = ((function, first),) if first else callers_of(file, function, name)
    texts = (_text_in_multiprocessors(file, where, node, levels - 1) for where, node in given)
    return next(filter(None, texts), "")


def _text_in_multiprocessors(file: SourceFile, function: Function, node: Node, levels: int) -> str:
    if node.type == "conditional_expression":  # as in `_own_number`
        branches = (node.child_by_field_name(branch) for branch in ("alternative", "consequence"))
        texts = (_text_in_multiprocessors(file, function, branch, levels) for branch in branches if branch)
        return next(filter(None, texts), "")
    number = Translation(file, function).of(node)
    if number is None:
        return ""
    names = parse(number.text).names - constant_values(file).keys()
    found = {each: in_multiprocessors(file, function, each, levels) for each in names}
    if not any(found.values()):
        return ""
    values = {each: text or str(own_value(file, function, each)) for each, text in found.items()}
    return "" if "None" in values.values() else f"({renamed(number.text, values)})"


def _is_number_of_multiprocessors(function: Function, name: str) -> bool:
    text = text_of(function.node)
    return re.search(r"multiProcessorCount|cudaDevAttrMultiProcessorCount", text) is not None and (
        name.endswith("multiProcessorCount") or f"cudaDeviceGetAttribute(&{name}," in text
    )


@functools.lru_cache(maxsize=4096)
def _own_value(file: SourceFile, function: Function, name: str, levels: int) -> int | None:
    if levels <= 0:
        return None
    if _is_number_of_multiprocessors(function, name):
        return ASSUMED_MULTIPROCESSORS
    if (member := name.rpartition("_")[2]) in _OF_EVERY_GPU and name != member:
        return _OF_EVERY_GPU[member]
    first = function.first_values.get(name)
    if first is None and name in template_parameters(function):
        text = template_value(file, function, name, levels - 1)
        return int(text) if text.isdigit() else None
    if first is None and name in function.parameter_names:
        values = (
            _own_number(file, caller, argument, levels - 1)
            for caller, argument in callers_of(file, function, name)
        )
        return next((value for value in values if value is not None), None)
    value = _own_number(file, function, first or file.value_of(name), levels - 1)
    if value is None and first is None and name not in function.types:
        value = _value_of_member(file, function, name, levels - 1)
        value = _value_of_global(file, name, levels - 1) if value is None else value
    return value or None  # 0 is the first value of a variable that gets its real value later


def _own_number(file: SourceFile, function: Function, node: Node | None, levels: int) -> int | None:
    if node is None or levels <= 0:
        return None
    if node.type == "conditional_expression":  # `argc > 1 ? atoi(argv[1]) : 1024`
        branches = (node.child_by_field_name(branch) for branch in ("alternative", "consequence"))
        values = (_own_number(file, function, branch, levels) for branch in branches)
        return next((value for value in values if value is not None), None)
    number = Translation(file, function).of(node)
    if number is None:
        return None
    names = parse(number.text).names
    known = dict(constant_values(file))
    if "element" in names and "element" not in known:
        known |= {"element": size} if (size := _element_bytes(file, function)) else {}
    for name in names - known.keys():
        value = _own_value(file, function, name, levels - 1)
        if value is not None:
            known[name] = value
    return evaluated({"it": parse(number.text)}, known).get("it")


def _element_bytes(file: SourceFile, function: Function) -> int:
    """Return the size of the type for which a template is called; 0 if it is not known."""
    if re.search(r"\bscalar_t\b", text_of(function.node)):  # a macro of PyTorch sets it to each type
        return BYTES["float"]
    for name in template_parameters(function):
        c_type = template_value(file, function, name)
        if c_type in BYTES:
            return BYTES[c_type]
    return 0


def template_arguments(file: SourceFile, function: Function, name: str) -> list[str]:
    """Return what the calls of a function give as one of its template arguments, also by deduction."""
    place, found = template_parameters(function).index(name), list[str]()
    for node in all_of(file.tree, "template_function"):
        given = node.child_by_field_name("arguments")
        is_call = text_of(node.child_by_field_name("name")) == function.name
        if is_call and given and place < given.named_child_count:
            found.append(text_of(given.named_children[place]))
    return [*found, *_deduced_types(file, function, name)]


def doubts_at(file: SourceFile, function: Function, node: Node) -> int:
    """Return how the conditions around a statement prevent it, as `LaunchStatement.doubts` has it."""
    doubts = 0
    inner, around = node, node.parent
    while around is not None and around != function.node:
        condition = around.child_by_field_name("condition") if around.type == "if_statement" else None
        if condition and inner != condition:
            value = own_number(file, function, condition)
            is_then = inner == around.child_by_field_name("consequence")
            if value is None:  # of a large matrix and a small one, the large one
                is_usual = is_then == (_OF_LARGE.search(text_of(condition)) is not None)
                doubts += not is_usual and around.child_by_field_name("alternative") is not None
            elif is_then == (value == 0):
                return 2
        elif around.type == "case_statement" and _is_other_case(file, function, around):
            return 2
        inner, around = around, around.parent
    return min(doubts, 1)


def _is_other_case(file: SourceFile, function: Function, case: Node) -> bool:
    """Return whether the known value of a `switch` is one of its other cases."""
    condition, cases = switch_around(case)
    value = own_number(file, function, condition)
    numbers = [own_number(file, function, label) for each in cases for label in labels_of(each)]
    own = [own_number(file, function, label) for label in labels_of(case)]
    is_default = case.child_by_field_name("value") is None
    return value is not None and value not in own and None not in own and (not is_default or value in numbers)


def switch_around(case: Node) -> tuple[Node | None, list[Node]]:
    """Return the condition of the `switch` around a case, and all its cases."""
    body = case.parent
    switch = body.parent if body else None
    cases = [part for part in body.named_children if part.type == "case_statement"] if body else []
    return switch.child_by_field_name("condition") if switch else None, cases


def labels_of(case: Node) -> list[Node]:
    """Return `8` and `16` for `case 8: case 16: …`; nothing for a plain `default:`."""
    labels = [case.child_by_field_name("value")]
    above = case.prev_named_sibling
    while above is not None and above.type == "case_statement":
        label = above.child_by_field_name("value")
        if above.named_child_count > (label is not None):  # it has statements of its own
            break
        labels.append(label)
        above = above.prev_named_sibling
    return [label for label in labels if label]


def template_value(file: SourceFile, function: Function, name: str, levels: int = MOST_LEVELS) -> str:
    """Return the template argument of the first call of a function that is reached; empty for none.

    A parameter that no call gives has its default.
    """
    place = template_parameters(function).index(name)
    calls: list[tuple[int, Function | None, Node]] = []
    for node in all_of(file.tree, "template_function"):
        given = node.child_by_field_name("arguments")
        if (
            text_of(node.child_by_field_name("name")) == function.name
            and given
            and place < given.named_child_count
        ):
            caller = next((f for f in file.functions if is_inside(node, f.node)), None)
            doubts = doubts_at(file, seen_from(caller, node), node) if caller else 0
            calls.append((doubts, caller, node))
    for _, caller, node in sorted(calls, key=lambda call: call[0])[:1]:
        given = node.child_by_field_name("arguments")
        argument = given.named_children[place] if given else node
        value = _own_number(file, seen_from(caller, node), argument, levels) if caller else None
        return text_of(argument) if value is None else str(value)
    deduced = next(_deduced_types(file, function, name), "")
    if deduced:
        return deduced
    template = function.node.parent
    parameters = template.child_by_field_name("parameters") if template else None
    return text_of(parameters.named_children[place]).partition("=")[2].strip() if parameters else ""


def _deduced_types(file: SourceFile, function: Function, name: str) -> Iterator[str]:
    """Yield the type for which a template parameter stands in each call that shows it.

    Of `multiply(a, b)` with `Mat<float> a`, and a parameter `const Mat<T>& a`, it is `float`.
    """
    types = [text_of(node.child_by_field_name("type")) for node in function.parameters]
    patterns = [re.sub(rf"\b{name}\b", r"(\\w+)", re.escape(declared), count=1) for declared in types]
    for call in all_of(file.tree, "call_expression"):
        called = text_of(call.child_by_field_name("function")).rpartition("::")[2]
        arguments = call.child_by_field_name("arguments")
        caller = next((f for f in file.functions if is_inside(call, f.node)), None)
        if called != function.name or arguments is None or caller is None:
            continue
        declared_here = seen_from(caller, call).types
        for pattern, argument in zip(patterns, arguments.named_children, strict=False):
            variable = next((text_of(each) for each in all_of(argument, "identifier")), "")
            found = re.search(pattern, declared_here.get(variable, "")) if r"(\w+)" in pattern else None
            if found and found[1] != name:
                yield found[1]
                break


@dataclass(frozen=True)
class _Change:
    """A statement of a function that gives a value to a global variable.

    Attributes:
        value: the new value; None if it is not a plain assignment that is always executed.
        is_by_user: whether the program's user may choose it.
    """

    function: Function
    value: Node | None
    is_by_user: bool


@functools.lru_cache(maxsize=512)
def _changes(file: SourceFile, name: str) -> tuple[_Change, ...]:
    """Return the changes of a global variable; none for other names."""
    if name not in file.globals:
        return ()
    found: list[_Change] = []
    changing = ("assignment_expression", "update_expression", "pointer_expression", "binary_expression")
    for function in file.functions:
        if function.is_kernel or name in function.types:
            continue
        for node in all_of(function.node, *changing):
            target = node.child_by_field_name("left") or node.child_by_field_name("argument")
            sign = text_of(node.child_by_field_name("operator"))
            if node.type == "binary_expression":  # `cin >> n`
                target = node.child_by_field_name("right") if sign == ">>" else None
            if text_of(target) != name or (node.type == "pointer_expression" and sign != "&"):
                continue
            statement = node
            while statement.parent and statement.parent.parent not in (None, function.node):
                statement = statement.parent
            is_plain = node.type == "assignment_expression" and sign in ("=", "")
            is_always = statement.type == "expression_statement"
            value = node.child_by_field_name("right") if is_plain and is_always else None
            is_by_user = BY_USER.search(text_of(statement)) is not None
            found.append(_Change(function, value, is_by_user))
    return tuple(found)


def _value_of_global(file: SourceFile, name: str, levels: int) -> int | None:
    """Return the value of a global variable, from its definition or the only statement that changes it."""
    changes = [change for change in _changes(file, name) if not change.is_by_user]
    if not changes:
        value = file.globals.get(name)
        nowhere = file.functions[0] if file.functions else None
        if value is None or nowhere is None:
            return None
        seen = seen_from(nowhere, nowhere.node)  # no variable of a function has a value here
        return _own_number(file, seen, value, levels)
    if len(changes) > 1 or changes[0].value is None:
        return None
    change = changes[0]
    return _own_number(file, seen_from(change.function, changes[0].value), change.value, levels)


def _value_of_member(file: SourceFile, function: Function, name: str, levels: int) -> int | None:
    """Return the value of a struct's member, such as `dA_width` after `Matrix dA = A;`; None for none."""
    if levels <= 0:
        return None
    variables = {*function.types, *function.first_values, *file.globals}
    for variable in sorted((v for v in variables if name.startswith(f"{v}_")), key=len, reverse=True):
        member = name.removeprefix(f"{variable}_")
        for caller, argument in callers_of(file, function, variable):
            base = _base_name(argument)
            value = _own_value(file, caller, f"{base}_{member}", levels - 1) if base else None
            if value is not None:
                return value
        given = function.first_values.get(variable) or file.globals.get(variable)
        struct = function.types.get(variable) or file.types_of_globals.get(variable, "")
        if given is None:
            value = _filled_by_call(file, function, variable, member, levels - 1)
        elif given.type in _OF_STRUCT:
            value = _member_of(
                file, function, given, struct.split()[-1] if struct else "", member, levels - 1
            )
        else:
            base = _base_name(given)
            value = _own_value(file, function, f"{base}_{member}", levels - 1) if base else None
        if value is None:
            value = _default_of_member(file, struct.split()[-1] if struct else "", member)
        if value is not None:
            return value
    return None


def _base_name(node: Node) -> str:
    """Return `A` for `A`, `&A`, `*A` and `(A)`, and `p_a` for `p.a`; empty for other expressions."""
    node = without_casts(node)
    if node.type == "pointer_expression":
        node = without_casts(node.child_by_field_name("argument") or node)
    return flat_name(node) if node.type in ("identifier", "field_expression") else ""


_OF_DIM3 = ("x", "y", "z")


def _member_of(
    file: SourceFile, function: Function, given: Node, struct: str, member: str, levels: int
) -> int | None:
    """Return the value of a member of `{10, 20}`, `Matrix(10, 20)` or `make_matrix(10, 20)`."""
    if levels <= 0:
        return None
    if given.type == "call_expression":
        called = text_of(given.child_by_field_name("function")).partition("<")[0].split("::")[-1]
        arguments = given.child_by_field_name("arguments")
        if arguments is None:
            return None
        if called in members_of_structs(file):
            return _member_of(file, function, arguments, called, member, levels - 1)
        for callee in file.functions_named(called):
            value = _returned_member(file, callee, member)
            if value:
                return _bound_number(file, function, callee, value, arguments, levels - 1)
            base = _returned_argument(callee, arguments)
            if base:
                return _own_value(file, function, f"{base}_{member}", levels - 1)
        return None
    if given.type == "compound_literal_expression":
        inner = given.child_by_field_name("value")
        return _member_of(file, function, inner, struct, member, levels - 1) if inner else None
    for constructor in file.functions_named(struct):
        values = dict(constructor.first_values)
        for each in all_of(constructor.node, "field_initializer"):
            arguments = each.named_children[1] if each.named_child_count > 1 else None
            if arguments and arguments.named_child_count == 1:
                values[text_of(each.named_children[0])] = arguments.named_children[0]
        value = values.get(member) or values.get(f"this_{member}")
        if value and given.named_child_count <= len(constructor.parameter_names):
            return _bound_number(file, function, constructor, value, given, levels - 1)
    members = _OF_DIM3 if struct == "dim3" else members_of_structs(file).get(struct, ())
    value = listed_member(given, [m.lstrip("*") for m in members], member)
    if value is None and struct == "dim3" and member in members:
        return 1
    return _own_number(file, function, value, levels - 1)


def listed_member(listed: Node, members: list[str], member: str) -> Node | None:
    """Return the value of a member in `{10, 20, data}` or `{.rows = 10, .columns = 20}`; None for none."""
    values = [part for part in listed.named_children if part.type != "comment"]
    for part in values:
        if part.type == "initializer_pair":
            if text_of(part.child_by_field_name("designator")).strip(" .") == member:
                return part.child_by_field_name("value")
        elif member in members and values.index(part) == members.index(member):
            return part
    return None


def _returned_member(file: SourceFile, callee: Function, member: str) -> Node | None:
    """Return the value of a member of the struct that a function returns."""
    returned = list(all_of(callee.node, "return_statement"))
    value = returned[0].named_children[0] if len(returned) == 1 and returned[0].named_children else None
    if value is None:
        return None
    if value.type == "identifier":
        seen = seen_from(callee, returned[0])
        assigned = seen.first_values.get(f"{text_of(value)}_{member}")
        if assigned:
            return assigned
        value = seen.first_values.get(text_of(value))
    if value and value.type == "compound_literal_expression":
        value = value.child_by_field_name("value")
    if value is None or value.type != "initializer_list":
        return None
    struct = text_of(callee.node.child_by_field_name("type")).split()[-1:]
    members = members_of_structs(file).get(struct[0] if struct else "", ())
    return listed_member(value, [m.lstrip("*") for m in members], member)


def _returned_argument(callee: Function, arguments: Node) -> str:
    """Return the name of the argument of which a function returns a copy; empty if it returns another struct.

    The function may change the copy's pointers: its other members are looked up before.
    """
    returned = list(all_of(callee.node, "return_statement"))
    value = returned[0].named_children[0] if len(returned) == 1 and returned[0].named_children else None
    name = text_of(seen_from(callee, returned[0]).first_values.get(text_of(value)) or value) if value else ""
    place = callee.parameter_names.index(name) if name in callee.parameter_names else -1
    return _base_name(arguments.named_children[place]) if 0 <= place < arguments.named_child_count else ""


def _filled_by_call(
    file: SourceFile, function: Function, variable: str, member: str, levels: int
) -> int | None:
    """Return the value of a member that `init(&variable, 10, 10)` gives to it; None for none."""
    found: list[int | None] = []
    for call in all_of(function.node, "call_expression"):
        given = call.child_by_field_name("arguments")
        called = text_of(call.child_by_field_name("function")).partition("<")[0].split("::")[-1]
        for place, argument in enumerate(given.named_children if given else ()):
            if _base_name(argument) != variable:
                continue
            for callee in file.functions_named(called):
                names = callee.parameter_names
                value = callee.first_values.get(f"{names[place]}_{member}") if place < len(names) else None
                if given and value and not callee.is_kernel:
                    found.append(_bound_number(file, function, callee, value, given, levels))
    return found[0] if len(set(found)) == 1 else None


def _bound_number(
    file: SourceFile, caller: Function, callee: Function, value: Node, arguments: Node, levels: int
) -> int | None:
    """Return the number of an expression in a function that another one calls with some arguments."""
    number = Translation(file, callee).of(value) if levels > 0 else None
    if number is None:
        return None
    known = dict(constant_values(file))
    for name in parse(number.text).names - known.keys():
        if name in callee.parameter_names:
            place = callee.parameter_names.index(name)
            given = arguments.named_children[place] if place < arguments.named_child_count else None
            given = given or callee.parameters[place].child_by_field_name("default_value")
            bound = _own_number(file, caller, given, levels - 1)
        else:
            bound = _own_value(file, callee, name, levels - 1)
        if bound is not None:
            known[name] = bound
    return evaluated({"it": parse(number.text)}, known).get("it")


def _default_of_member(file: SourceFile, struct: str, member: str) -> int | None:
    """Return the number that a struct's definition gives to a member, as in `int tile = 16;`."""
    for node in all_of(file.tree, "struct_specifier", "class_specifier"):
        body = node.child_by_field_name("body")
        if body is None or text_of(node.child_by_field_name("name")) != struct:
            continue
        for part in body.named_children:
            names = [declared_name(d) for d in part.children_by_field_name("declarator")]
            if part.type == "field_declaration" and names == [member]:
                number = Translation(file).of(part.child_by_field_name("default_value"))
                return (
                    evaluated({"it": parse(number.text)}, constant_values(file)).get("it") if number else None
                )
    return None
