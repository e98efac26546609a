"""A launch of a Python program, as C++."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from cudamm.source.c_text import LAUNCHER, without_comments
from cudamm.source.host_values import (
    DTYPES,
    Frame,
    HostArray,
    Kernel,
    Library,
    Module,
    Unknown,
    Value,
    Variables,
    cpp_name,
)
from cudamm.source.passed_arguments import CUPY, OUT, PREPARED, PYCUDA, Passed
from cudamm.source.python_library import NAMELESS, Call
from cudamm.source.python_text import HostNumber

_PREPARED = {"prepared_call": 2, "prepared_timed_call": 2, "prepared_async_call": 3}
"""The methods that launch a prepared kernel, with the number of arguments before the kernel's own."""

MOST_IMPORTED = 40
"""Number of names of libraries that are kept with a launch."""


@dataclass(frozen=True)
class Launch:
    """A launch, as a statement in C++ after what it needs."""

    kernel: Kernel
    line: int
    code: str
    passed: Passed
    arguments: Sequence[Value] = field(default=(), compare=False)

    def of_only_kernel(self, name: str) -> Launch:
        """Return the launch as one of the only kernel of its text, which lacks the one that it names."""
        lacking = f"the text has no kernel {self.kernel.name}, but {name}: name that one"
        code = self.code.replace(f"{self.kernel.name}<<<", f"{name}<<<")
        return replace(self, code=code, passed=replace(self.passed, mistake=lacking))

    def with_grid_of(self, line: int) -> Launch:
        """Return the launch with the line in which the variable of its grid got its value, 0 without any."""
        return replace(self, passed=replace(self.passed, grid_line=line))

    def with_runs(self, runs: Sequence[str]) -> Launch:
        """Return the launch with the values of numbers in the kernel's text, as `Passed.runs` has them."""
        return replace(self, passed=replace(self.passed, runs=runs))

    def with_product(self, products: Sequence[tuple[Value, Value]]) -> Launch:
        """Return the launch with the two of its arguments that the program itself multiplies in one order."""
        elements = [
            each.elements if isinstance(each, HostArray) and not each.is_transposed else None
            for each in self.arguments
        ]
        found = set[str]()
        for factors in products:
            arrays = [each for each in factors if isinstance(each, HostArray) and each.elements in elements]
            places = [elements.index(each.elements) for each in arrays if each.elements]
            if len(set(places)) == 2:
                pairs = zip(places, arrays, strict=True)
                found.add(" ".join(f"{place}{'T' * each.is_transposed}" for place, each in pairs))
        product = found.pop() if len(found) == 1 else ""
        return replace(self, passed=replace(self.passed, product=product))

    def function(
        self,
        variables: Variables,
        linked: Mapping[str, str],
        defined: Mapping[str, str],
        fixed: Set[str] = frozenset(),
    ) -> str:
        """Return the C++ function with the launch, and with the variables that it needs.

        Args:
            variables: those of the program.
            linked: constants of the texts that a variable gives its value to, by variable.
            defined: the macros and constants of the texts.
            fixed: variables whose values are a part of the texts, which -D could change in the launch alone.
        """
        arrays = re.findall(r"\w+ \*(\w+);", self.code)
        unread, needed = [self.code], dict[str, str]()
        while unread:
            for name in re.findall(r"[A-Za-z_]\w*", unread.pop()):
                if name in variables.values and name not in needed:
                    unread.append(variables.values[name].text)
                if (name in variables.values or name in variables.unknown) and name not in arrays:
                    needed[name] = "int"
        configuration = self.code.partition("<<<")[2].partition(">>>")[0]
        unknown = {name: kind for name, kind in needed.items() if name not in variables.values}
        unknown |= dict.fromkeys(re.findall(r"\b(?:grid|block)\b", configuration), "dim3")
        declared = [
            f"{'int' if number.is_whole else 'double'} {name} = {linked.get(name, number.text)};"
            for name, number in variables.values.items()
            if name in needed and linked.get(name) != name
            if str(number.value) != defined.get(name, "").strip("()")
        ]
        parameters = ", ".join(f"{kind} {name}" for name, kind in unknown.items())
        code = " ".join([*declared, self.code])
        for name in fixed & needed.keys() & variables.values.keys():
            number = variables.values[name].value
            if number is not None:
                code = re.sub(rf"\bint {name} = [^;]*;", "", code)
                code = re.sub(rf"\b{name}\b", str(number), code)
        return f"void {LAUNCHER}({parameters}) {{ {self.passed.code()} {code} }}"


def extension_call(
    call: Call, module: Module, products: Sequence[tuple[Value, Value]], frames: Sequence[Frame]
) -> Launch | None:
    """Return the call of a C++ function in the text of a module; None if the text has no such function.

    The function gets the extents of the arrays as `array_size_0` and `array_size_1`, and asserts that two of
    them are equal if the program itself multiplies the arrays.
    """
    text = without_comments(str(module.source))
    bound = re.search(rf'\bdef\(\s*"{call.name}"\s*,\s*&?\s*(?:\w+::)*(\w+)', text)
    function = bound[1] if bound else call.name
    if not re.search(rf"\b{function}\s*\(", text):
        return None
    given, code = list[str](), list[str]()
    for place, value in enumerate(call.arguments):
        if not isinstance(value, HostArray):
            given.append(_argument(value, call.variables))
            continue
        array = _argument(Unknown(f"argument_{place}"), call.variables)
        given.append(array)
        if value.shape and len(value.shape) == 2:
            code += [f"int {array}_size_{axis} = {each.text};" for axis, each in enumerate(value.shape)]
    kinds = [_kind(each, call.variables, frames, "") for each in call.arguments]
    launch = Launch(Kernel(module, function), call.line, "", Passed("", kinds), call.arguments)
    product = re.fullmatch(r"(\d+) (\d+)(T?)", launch.with_product(products).passed.product)
    if product:
        first, second, is_transposed = given[int(product[1])], given[int(product[2])], product[3] == "T"
        code.append(f"assert({first}_size_1 == {second}_size_{int(is_transposed)});")
    return replace(launch, code=f"{' '.join(code)} {function}({', '.join(given)});")


def launch_of(kernel: Kernel, call: Call, frames: Sequence[Frame]) -> Launch | None:
    """Return the launch that a call of a kernel is; None for other calls.

    Args:
        kernel: the kernel, or the one whose method is called.
        call: the call.
        frames: of the functions that run, with what the program asserts.
    """
    given, keywords, shared, library = call.arguments, call.keywords, None, PYCUDA
    parts = dict(zip(("grid", "block", "args", "shared_mem"), given, strict=False)) | keywords
    if call.name in _PREPARED and len(given) > 1:
        grid, block = given[0], given[1]
        arguments, shared, library = given[_PREPARED[call.name] :], keywords.get("shared_size"), PREPARED
    elif "block" in keywords and "args" not in keywords:
        grid, block, shared = keywords.get("grid"), keywords["block"], keywords.get("shared")
        arguments = given
    elif call.owner is not kernel and "block" in parts and isinstance(parts.get("args"), tuple):
        grid, block, shared = parts.get("grid"), parts["block"], parts.get("shared_mem")
        arguments, library = list(parts["args"]), CUPY  # type: ignore[call-overload]
    else:
        return None
    configuration = [_extents(grid, call.variables, "grid"), _extents(block, call.variables, "block")]
    if shared:
        number = call.variables.number(shared)
        configuration.append(number.text if number else "shared_bytes")
    texts = ", ".join(_argument(each, call.variables) for each in arguments)
    launched = f"{kernel.name}<<<{', '.join(configuration)}>>>({texts});"
    conditions = [text for frame in frames for text in frame.conditions]
    code = " ".join([*dict.fromkeys(conditions), *_allocations(arguments), launched])
    mistake = _mistake_of_extents(library, grid, "grid") or _mistake_of_extents(library, block, "block")
    kinds = [_kind(each, call.variables, frames, library) for each in arguments]
    imported = [f"{each.path}={name}" for name, each in frames[0].names.items() if isinstance(each, Library)]
    instances = kernel.module.instances
    passed = Passed(library, kinds, mistake, imported=imported[:MOST_IMPORTED], instances=instances)
    return Launch(kernel, call.line, code, passed, arguments)


def _mistake_of_extents(library: str, value: Value, what: str) -> str:
    """Return what is wrong with a grid or a block; empty if nothing is certainly wrong."""
    extents = value if isinstance(value, tuple) else ()
    for extent in extents:
        if isinstance(extent, HostNumber) and extent.dtype.startswith("float"):
            quotient = re.fullmatch(r"\(\(double\)\((\w+)\) / (\w+)\)", extent.text)
            example = f", such as ({quotient[1]} + {quotient[2]} - 1) // {quotient[2]}" if quotient else ""
            return f"the {what} has a float, and has to be whole numbers (TypeError): divide with //{example}"
    if library != CUPY and what == "block" and len(extents) in (1, 2):
        numbers = [str(each.value) for each in extents if isinstance(each, HostNumber) and each.value]
        example = f": ({', '.join([*numbers, '1', '1'][:3])})" if len(numbers) == len(extents) else ""
        return f"the block has {len(extents)} numbers, and has to have 3 for PyCUDA{example}"
    return ""


def _kind(value: Value, variables: Variables, frames: Sequence[Frame], interface: str) -> str:
    """Return the kind of an argument, as `Passed` has it."""
    match value:
        case HostNumber(dtype=dtype) if dtype:
            name = variables.in_program.get(value.text, value.text)
            return f"{dtype}{'=0' * (value.value == 0)} {name}"
        case HostArray(view=view) if view and value.shape and len(value.shape) == 2:
            columns, rows = (number.text for number in value.shape)
            view = value.name if view.startswith(NAMELESS) and value.name else view
            library = value.made_by or ("cupy" if interface == CUPY else "")
            copy = f"{view}.contiguous()" if library == "torch" else ""
            if library in ("cupy", "numpy"):
                copy = _contiguous(view, library, frames)
            return f"view {view}, {rows}, {columns}, {copy}"
        case HostArray(view=view, made_by="cupy") if value.has_gaps and interface == CUPY:
            return f"part {view} | {_contiguous(view, 'cupy', frames)}"
        case HostArray(is_out=True):
            return OUT
        case HostArray():
            is_copy = value.is_transposed and value.is_row_major
            return "numpy" if value.is_numpy else "transposed" if is_copy else "array"
    return ""


def _contiguous(view: str, library: str, frames: Sequence[Frame]) -> str:
    """Return a copy that lies row by row, with the program's name of the library."""
    names = (name for name, each in frames[0].names.items() if each == Library(library))
    return f"{next(names, library)}.ascontiguousarray({view})"


def _extents(value: Value, variables: Variables, what: str) -> str:
    """Return C++ for a grid or a block; a variable of an unknown value for one that is not known."""
    if value is None:
        return "dim3(1)"
    given = value if isinstance(value, tuple) else (value,) if isinstance(value, HostNumber) else ()
    numbers = [variables.number(each) for each in given]
    texts = [number.text if number.is_whole else f"(int)({number.text})" for number in numbers if number]
    return f"dim3({', '.join(texts)})" if texts and len(texts) == len(numbers) else what


def _argument(value: Value, variables: Variables) -> str:
    if isinstance(value, HostArray) and value.name:
        return value.name
    number = variables.number(value)
    if number:
        return number.text
    return cpp_name(value.what)[:40] if isinstance(value, Unknown) else "argument"


def _allocations(arguments: Sequence[Value]) -> Iterator[str]:
    """Yield C++ that allocates the arrays that a launch gets, and that fills those that are zero."""
    for array in arguments:
        if not isinstance(array, HostArray) or not array.name:
            continue
        yield f"{DTYPES.get(array.dtype, 'void')} *{array.name};"
        size = array.size_bytes.text if array.size_bytes else ""
        if array.shape:
            factors = [*(number.text for number in array.shape), "sizeof(float)"]
            # The order says whether the first extent is the number of rows in memory.
            size = " * ".join(factors if array.is_row_major else factors[::-1])
        if size:
            yield f"cudaMalloc(&{array.name}, {size});"
        if array.is_zero:
            yield f"cudaMemset({array.name}, 0, {size or 1});"
