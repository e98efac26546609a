"""Work out from a program how its host code launches a kernel, as fields of a header.

A launch `gemm<<<grid, block>>>(d_A, d_B, d_C, n)` and what its host code says about `grid`, `block` and `n`
become `args: A, B, C, N`, `threads: …` and `grid: …`, with the sizes M, N and K of cudamm.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from tree_sitter import Node

from cudamm.source.around_launch import (
    cleared_by,
    conditions_of,
    is_filled,
    is_from_elsewhere,
    required_multiples,
)
from cudamm.source.c_definitions import (
    HANDLE_BYTES,
    Function,
    SourceFile,
    flat_name,
    kind_of_handle,
    pitches,
    source_file,
)
from cudamm.source.c_numbers import BYTES, Number, Translation, constant_values, constants, renamed
from cudamm.source.c_text import LAUNCHER
from cudamm.source.expression import (
    LARGEST_INT,
    MOST_THREADS,
    MULTIPROCESSORS,
    SCRATCH,
    evaluated,
    parse,
    split_at_commas,
)
from cudamm.source.fitting_launch import FittingLaunch
from cudamm.source.host_code import LaunchStatement, allocations, first_name, launches, size_name
from cudamm.source.host_values import DTYPES
from cudamm.source.inlined_launch import launch_in_caller
from cudamm.source.kernel_parameters import kernel_parameters, may_be_product, members_of_structs
from cudamm.source.launch_roles import NUMBER, LaunchRoles, NoProduct, UnknownLaunch
from cudamm.source.matrix_roles import DIMENSIONS, STRONG, roles_in_name
from cudamm.source.parsed_source import (
    all_of,
    ancestors,
    declared_name,
    device_variables,
    is_inside,
    parsed_expression,
    place_of,
    text_of,
)
from cudamm.source.passed_arguments import OUT, mistake_of, passed_by, view_mistake
from cudamm.source.preprocessed import preprocessed
from cudamm.source.program_values import (
    callers_of,
    class_argument,
    in_multiprocessors,
    is_chosen_by_user,
    looped_values,
    own_number,
    own_value,
    template_arguments,
    template_parameters,
    template_value,
    ways_to_reach,
)
from cudamm.source.seen_from import seen_from
from cudamm.source.simplified_expression import ROLES, bracketed, simplified, values_for
from cudamm.source.sizes_at_call import call_with_other_sizes
from cudamm.source.template_branches import without_other_branches
from cudamm.source.tensor_dimensions import WrongDimension, wrong_dimension
from cudamm.source.variables_as_parameters import with_variable_as_constant

_USUAL_BLOCK_EDGE = 16
_BLOCK_EDGES = (8, 16, 32)
_LARGEST_FIXED = 256
"""Largest size of a program at which its kernel is verified if it is for no other."""

_MOST_WAYS = 8
"""Number of launches of a kernel among which the one is searched for that can be read whole."""

_OF_BLOCK = re.compile(r"^\w*(?:thread\w*|block(?!s)(?!\w*grid)\w*)$", re.IGNORECASE)
_OF_GRID = re.compile(r"^(?!\w*thread)\w*(?:grid|blocks)\w*$", re.IGNORECASE)
"""Names of variables for a block, and for a grid: `threadsPerBlock` and `blocksPerGrid`."""

_SHAPES = ((256, 512, 1024), (1024, 256, 512), (512, 1024, 256))
"""M, N and K at which a number of bytes is compared with those of C."""

_ELEMENTS = ("float", "double", "int")


_BATCH = "other products of the batch were not launched, so that strides between products were not checked"


@dataclass(frozen=True)
class WorkedOutLaunch:
    """What a program says about the launch of one of its kernels.

    Attributes:
        kernel: name of the kernel.
        fields: fields of a header, such as `threads`, and their values.
        unknown: what could not be worked out, in words; empty if all was.
        line: number of the line that launches it, in the text with its headers; 0 if none does.
        place: the same line as the user knows it, such as `line 12 of mm.cuh`.
        grid_place: the line of the value of the grid's variable; empty if the launch has the grid itself.
        block_place: that of the block's.
        argument_places: those of the kernel's arguments, in order.
        is_product: False if the kernel computes something else, which `unknown` says.
        suggestion: arguments, threads and a grid that may fit the kernel.
        program_size: M, N and K in the program unless its user chooses others; None if they are not known.
        further_sizes: those of its other calls of the function that launches the kernel.
        size_names: what the function that launches the kernel calls M, N and K, and the kernel's tiles, as
            far as it has names of its own for them.
        program_scale: alpha and beta in the program; None if it does not pass both as numbers.
        assumptions: what the fields assume, such as `KNOB = 1 unless its user chooses another`.
        grid_of_gpu: the grid over MULTIPROCESSORS, for which the fields have a number; empty if it does not
            depend on it.
        type_conflict: what the program certainly passes in a way that the kernel does not take, such as
            elements of another type, a C that is not zero, or the block for the grid; empty for none.
        conflict_place: the line of that, as `place`; empty for that of the launch.
        conflict_fields: the fields of a header, each of which replaces what is wrong.
        copies_back_only: whether a Python program passes C by PyCUDA's `Out`: C is not copied to the GPU.
        swapped: why two matrices are certainly passed in the wrong order; empty if they are not.
        left_out: parts of the launch that the fields do not have, such as offsets, each as a sentence.
        named_arguments: places of the arguments that have the names of their parameters.
        requires_for_any_grid: the field `requires` without the conditions that only the program's grid needs.
        wrong_dimension: which size is taken from the wrong dimension of a tensor; the fields are those of the
            right one. None for none.
        own_names: what the program calls matrices and sizes, such as `its n is K, its k is N`, if it calls
            one what cudamm calls another; else empty.
        instances: the other instances of the kernel that the program launches or names, such as `mm<double>`.
        others: where else the kernel is launched in another way, such as `line 30` or `bench.cu`.
    """

    kernel: str
    fields: Mapping[str, str]
    unknown: str = ""
    line: int = 0
    place: str = ""
    is_product: bool = True
    suggestion: Mapping[str, str] = field(default_factory=dict)
    program_size: tuple[int, int, int] | None = None
    further_sizes: tuple[tuple[int, int, int], ...] = ()
    size_names: Mapping[str, str] = field(default_factory=dict)
    program_scale: tuple[float, float] | None = None
    assumptions: tuple[str, ...] = ()
    own_names: str = ""
    others: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    type_conflict: str = ""
    copies_back_only: bool = False
    conflict_place: str = ""
    conflict_fields: tuple[str, ...] = ()
    swapped: str = ""
    left_out: tuple[str, ...] = ()
    named_arguments: frozenset[int] = frozenset()
    wrong_dimension: WrongDimension | None = None
    grid_place: str = ""
    block_place: str = ""
    argument_places: tuple[str, ...] = ()
    grid_of_gpu: str = ""
    requires_for_any_grid: str = ""

    @property
    def doubts(self) -> tuple[bool, int]:
        """Return the key by which launches are sorted: those that can be read whole come first."""
        return bool(self.unknown), len(self.assumptions)


_WHOLE_NUMBER = re.compile(r"(?:(?:int|unsigned|signed|long|short|u?int\d+_t|(?:std::)?size_t)\s*)+")
"""A type of whole numbers."""

_PLAIN_NAME = re.compile(r"(?:d_?|dev_?|h_?)?([A-Za-z])(?:_?d|_dev|_gpu|_h)?", re.ASCII)
"""The name of a matrix or a size of one letter, with what says where it is, such as `d_A`."""

_QUOTIENT = re.compile(r"\b([MNK]) // (\w+|\([^()]*\))")
_QUOTIENT_OF_TILES = re.compile(r"\bceil\(([MNK]) / (\w+)\) // (\w+)")
_VECTOR_CAST = re.compile(
    r"(?:reinterpret_cast\s*<|\()\s*(?:const\s+)?(?:float|double|u?int|half|__half)([248])\s*"
    r"(?:const\s*)?\*\s*(?:const\s*)?[>)]\s*(?=[(&\w])"
)
_REMAINDER = re.compile(r"\((\w+ % \w+)\) (?:!=|>) 0")
_ROUNDED_UP = re.compile(r"\bceil\(([MNK]) / (\w+|\([^()]*\))\)")


@functools.lru_cache(maxsize=16)
def worked_out_launches(
    source: str, kernels: frozenset[str] | None = None, entry: str = ""
) -> tuple[WorkedOutLaunch, ...]:
    """Return the launch of each kernel that multiplies two matrices, in the order of their lines.

    Of several launches of a kernel the first is taken that is reached and that can be read whole.

    Args:
        source: C++ source with its own headers in it.
        kernels: names of those whose launches are of interest; None: all.
        entry: a kernel with template arguments, whose own launch comes first.
    """
    file = source_file(source)
    found: dict[str, WorkedOutLaunch] = {}
    ways: dict[str, dict[tuple[str, ...], _Way]] = {}
    instances: dict[str, dict[str, None]] = {}
    wanted = re.sub(r"\s", "", entry) if "<" in entry else ""

    def doubts(launch: WorkedOutLaunch) -> tuple[bool, bool, int]:
        is_other = re.sub(r"\s", "", launch.fields.get("entry", "")) != wanted
        return (bool(wanted) and is_other, *launch.doubts)

    statements = launches(file)
    for statement in sorted(statements, key=lambda launch: launch.doubts):
        statement = _called_for(file, statement, wanted)
        is_wanted = kernels is None or statement.kernel in kernels
        kernel = _kernel_named(file, statement.kernel) if is_wanted else None
        if kernel is None or not may_be_product(file, kernel):
            continue
        of_kernel = ways.setdefault(statement.kernel, {})
        way = _way(file, statement)
        if way in of_kernel:
            continue
        is_read = len(of_kernel) < _MOST_WAYS
        entries = tuple(_Launch(file, statement, kernel).entries()) if is_read else ()
        of_kernel[way] = _Way(place_of(statement.node), entries)
        known = found.get(statement.kernel)
        if entries:
            instances.setdefault(statement.kernel, {}).update(dict.fromkeys(entries))
        if known is None or (any(doubts(known)) and len(of_kernel) <= _MOST_WAYS):
            launch = _instance(file, statement, kernel).worked_out()
            if known is None or doubts(launch) < doubts(known):
                found[statement.kernel] = launch
    with_others = (
        replace(
            launch,
            others=_others(launch, ways[name].values()),
            instances=_without(launch.fields.get("entry", name), instances.get(name, ())),
        )
        for name, launch in found.items()
    )
    return tuple(sorted(with_others, key=lambda launch: launch.line))


def _numbers_of_calls(file: SourceFile, function: Function) -> Iterator[dict[str, str]]:
    """Yield the template arguments of calls such as run<8, 2>(A, B, C), by the function's parameters."""
    names = template_parameters(function)
    for call in all_of(file.tree, "template_function") if names else ():
        listed = call.child_by_field_name("arguments")
        numbers = [text_of(each) for each in (listed.named_children if listed else ())]
        is_call = text_of(call.child_by_field_name("name")) == function.name
        if is_call and len(numbers) == len(names) and all(map(str.isdigit, numbers)):
            yield dict(zip(names, numbers, strict=True))


def _called_for(file: SourceFile, statement: LaunchStatement, wanted: str) -> LaunchStatement:
    """Return a launch in a template whose parameters have the values of the call that launches an instance.

    Args:
        wanted: the instance, without spaces.
    """
    for numbers in _numbers_of_calls(file, statement.function) if wanted else ():
        entry = f"{statement.kernel}<{renamed(statement.template_arguments or '', numbers)}>"
        if re.sub(r"\s", "", entry) == wanted:
            values = {name: parsed for name, text in numbers.items() if (parsed := parsed_expression(text))}
            function = replace(statement.function, values={**statement.function.values, **values})
            return replace(statement, function=function)
    return statement


def _instance(file: SourceFile, statement: LaunchStatement, kernel: Function) -> _Launch:
    """Return a launch of a kernel without the branches that its template arguments leave out."""
    launch = _Launch(file, statement, kernel)
    whole = preprocessed(file.text)
    text = without_other_branches(whole, kernel.name, launch.template_arguments())
    if text == whole:
        return launch
    shorter = replace(source_file(text), text=file.text)
    found = _kernel_named(shorter, kernel.name)
    same = (
        each
        for each in launches(shorter)
        if (each.node.start_byte, each.kernel, each.template_arguments)
        == (statement.node.start_byte, statement.kernel, statement.template_arguments)
    )
    again = next(same, None)
    return launch if found is None or again is None else _Launch(shorter, again, found)


def _way(file: SourceFile, statement: LaunchStatement) -> tuple[str, ...]:
    """Return what tells one way to launch a kernel from another: its text, and the values of its variables.

    The sizes that it passes are no difference.
    """
    values = statement.function.values
    passed = {text_of(name) for node in statement.arguments for name in all_of(node, "identifier")}
    at_launch = Translation(file, statement.function, kept=passed)
    extents = (each for node in statement.configuration for each in at_launch.extents(node) or ())
    given = re.findall(r"[A-Za-z_]\w*", statement.template_arguments or "")
    return (
        statement.text,
        *(extent.text for extent in extents),
        *(text_of(values[name]) for name in given if name in values),
        *(f"{name} == {value}" for name, value in statement.required_values.items() if name not in passed),
    )


def _corrected(wrong: WrongDimension, kernel: str, line: int) -> WorkedOutLaunch | None:
    """Return a launch with the right dimensions; None if it cannot be read whole, or has other mistakes."""
    launches = worked_out_launches(wrong.source, frozenset({kernel}))
    launch = next((each for each in launches if each.line == line and not each.unknown), None)
    if launch is None or launch.wrong_dimension or launch.type_conflict or launch.swapped:
        return None
    assumptions = (wrong.assumption, *launch.assumptions)
    return replace(launch, wrong_dimension=wrong, assumptions=assumptions, others=())


def _without(entry: str, instances: Iterable[str]) -> tuple[str, ...]:
    """Return the instances of a kernel that are not a certain one, each once."""
    by_text = {re.sub(r"\s", "", each): each for each in instances}
    return tuple(each for text, each in by_text.items() if text != re.sub(r"\s", "", entry))


class _Way(NamedTuple):
    """The place of a way to launch a kernel, and the instances of a template that it launches."""

    place: str
    entries: tuple[str, ...]


def _others(launch: WorkedOutLaunch, ways: Iterable[_Way]) -> tuple[str, ...]:
    """Return `WorkedOutLaunch.others`: of a template, the places that launch the same instance."""
    entry = re.sub(r"\s", "", launch.fields.get("entry", ""))
    places = [
        way.place
        for way in ways
        if not (entry and way.entries) or entry in [re.sub(r"\s", "", each) for each in way.entries]
    ]
    here = [f"{launch.place} with other values"] if places.count(launch.place) > 1 else []
    return (*here, *(place for place in places if place != launch.place))


def launching_functions(source: str) -> list[str]:
    """Return the names of the functions that launch a kernel."""
    functions = source_file(source).functions
    return [f.name for f in functions if f.name and any(all_of(f.node, "kernel_call_syntax"))]


def unlaunched(source: str, name: str) -> WorkedOutLaunch | None:
    """Return the arguments of a kernel that the file does not launch, by the names of its parameters.

    None if the file defines no kernel of that name, or if it has not three matrices.
    """
    file = source_file(source)
    kernel = _kernel_named(file, name)
    if kernel is None or not may_be_product(file, kernel):
        return None
    declarators = [parameter.child_by_field_name("declarator") for parameter in kernel.parameters]
    names = [next(all_of(node, "identifier"), None) for node in declarators if node]
    if len(names) != len(kernel.parameters) or None in names:
        return None
    arguments = tuple(node for node in names if node)
    statement = LaunchStatement(kernel, name, None, (), arguments, kernel.node, line=0, doubts=0)
    return _Launch(file, statement, kernel).worked_out()


def launch_of_no_product(source: str, name: str) -> WorkedOutLaunch | None:
    """Return the launch of a kernel that multiplies no two matrices as far as can be seen; None without one.

    Its suggestion is the block and the grid as numbers, if the program tells them.
    """
    file = source_file(source)
    kernel = _kernel_named(file, name)
    statement = next((launch for launch in launches(file) if launch.kernel == name), None)
    if kernel is None or statement is None or may_be_product(file, kernel):
        return None
    parameters = kernel_parameters(file, kernel)
    matrices = sum(parameter.is_matrix for parameter in parameters)
    several = [p.name for p in parameters if sum(member.startswith("*") for member in p.members) > 1]
    unknown = f"{name}, which {place_of(statement.node)} launches, "
    if several:
        unknown += (
            f"gets several matrices in the struct {several[0]}: let it take them as parameters of its own"
        )
    else:
        unknown += "is no product of two matrices as far as cudamm can see: it " + (
            f"takes {matrices} matri{'x' if matrices == 1 else 'ces'}, not 3"
            if matrices < 3
            else "adds up no products"
        )
    place = place_of(statement.node)
    suggestion = _numbers_of(file, statement)
    return WorkedOutLaunch(name, {}, unknown, statement.line, place, is_product=False, suggestion=suggestion)


def _numbers_of(file: SourceFile, statement: LaunchStatement) -> dict[str, str]:
    """Return the block and the grid of a launch as numbers, if the program tells them."""
    suggestion: dict[str, str] = {}
    grid, block, *_ = (*statement.configuration, None, None)
    for key, node in (("threads", block), ("grid", grid)):
        at_launch = Translation(file, statement.function, keeps_leaves=True)
        extents = (at_launch.extents(node) if node else None) or ()
        names = {name for extent in extents for name in parse(extent.text).names}
        own = {name: own_value(file, statement.function, name) for name in names}
        known = constant_values(file) | {name: value for name, value in own.items() if value}
        numbers = [(values_for(extent.text, [known]) or [0])[0] for extent in extents]
        suggestion |= {key: ", ".join(map(str, numbers))} if numbers and all(numbers) else {}
    return suggestion


def _listed(words: Sequence[str]) -> str:
    """Return `a`, `a and b` or `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def file_numbers(source: str) -> dict[str, str]:
    """Return the macros and constants of C++ source that are whole numbers, each as an expression."""
    return dict(constants(source_file(source)))


def _kernel_named(file: SourceFile, name: str) -> Function | None:
    for function in file.functions_named(name):
        if function.is_kernel:
            return function
    return None


@dataclass(frozen=True)
class _SizedCall:
    """A call that allocates or copies a matrix.

    Attributes:
        given: the number of bytes, as the program computes it.
        share: how much of the matrix these bytes are, at the size at which they are the least; 0: not known.
        what: what is wrong, in words, if it is wrong.
    """

    node: Node
    letter: str
    pointer: str
    verb: str
    given: str
    share: Fraction
    what: str
    cure: str


def _short_calls(calls: Sequence[_SizedCall], *, is_cpp: bool) -> list[_SizedCall]:
    """Return the calls that certainly have too few bytes, or copy too many.

    Else the launch may have the sizes in a wrong order. It has not if the other matrices have bytes of their
    own, or if all three are allocated so. And no order of the sizes makes one number of bytes fit all three.

    Args:
        is_cpp: whether it is a C++ program; the types of a Python program's arrays need not be known.
    """
    whole = {call for call in calls if call.share == 1}
    allocated = {call.letter for call in whole if call.verb == "allocates"}
    short = [
        call
        for call in calls
        if 0 < call.share < 1 or (call.share > 1 and call.verb == "copies" and call.letter in allocated)
    ]
    others = [call for call in calls if call not in whole]
    of_other = {call.letter for call in others}
    is_one_matrix = len(of_other) == 1 and len({call.letter for call in whole} - of_other) == 2
    given = {call.given for call in calls}
    is_one_number = len(given) == 1 and {call.letter for call in calls} == {"A", "B", "C"}
    is_one_number = is_one_number and not given.pop().isdigit()  # such as 4, in a program that shows a launch
    if len(others) == 1 and len(whole) > 1:
        return short
    # Members, such as `C.width`, are sizes of the matrix itself, which may be the ones that are wrong.
    has_members = any(re.search(r"\.|->", call.given) for call in calls)
    is_certain = is_one_matrix or is_one_number or len(allocated) == 3
    return short if is_cpp and is_certain and not has_members else []


def _is_of_member(value: Node, name: str) -> bool:
    """Return whether a struct's member gets a value: `C.width = n`."""
    target = value.parent.child_by_field_name("left") if value.parent else None
    is_member = target is not None and target.type == "field_expression"
    return is_member and text_of(target).startswith((f"{name}.", f"{name}->"))


class _Launch:
    """One launch, while it is worked out."""

    def __init__(self, file: SourceFile, statement: LaunchStatement, kernel: Function) -> None:
        self.file, self.statement, self.kernel = file, statement, kernel
        self.function = statement.function
        self.found = LaunchRoles(file, statement, kernel)
        self.grid: list[str] = []  # its extents
        self.grid_of_gpu: list[str] = []  # as in `WorkedOutLaunch`
        self.is_of_gpu = False  # whether MULTIPROCESSORS is kept as a name
        self.plain_grid: list[str] = []  # the same as the program computes them
        self.rounded_down: list[str] = []  # those of them that lose a part of the matrices
        self.left_out: dict[str, None] = {}  # as in `WorkedOutLaunch`
        self.assumed: dict[str, str] = {}  # in words, by the name that it concerns
        self.unknown = ""  # what is between `<<<` and `>>>`, in words
        self.cleared_by: Node | None = None  # the cudaMemset of C
        self.zeros_mistake = ""  # what is wrong with it
        self.sized_by: Node | None = None  # a cudaMalloc or cudaMemcpy with wrong bytes or direction

    def worked_out(self) -> WorkedOutLaunch:
        """Return the fields of a header, or what is unknown."""
        fields: dict[str, str] = {}
        unknown, is_product, for_any_grid = "", True, ""
        try:
            self.found.find()
            entry = self._entry()
            fields |= {"entry": entry} if entry != self.statement.kernel else {}
            fields["args"] = ", ".join(map(self._argument, range(len(self.found.parameters))))
            body = text_of(self.kernel.node.child_by_field_name("body"))
            for parameter in self.found.parameters:
                if parameter.is_scale and not re.search(rf"\b{parameter.name}\b", body):
                    usual = 0 if parameter.name.lower() == "beta" else 1  # as in `chosen_cases.py`
                    unused = f"than {usual} and the program's: {self.kernel.name} never uses that argument"
                    self.left_out[f"another value of {parameter.name} {unused}"] = None
            if self.statement.configuration:
                for key, text in self._configuration():
                    fields[key] = text
                of_launch = fields.get("threads", ""), fields["args"]
                fields |= self._conditions(*of_launch)
                for_any_grid = self._conditions(*of_launch, with_grid=False).get("requires", "")
                unknown = self.unknown
            if self.found.columns:
                fields["layout"] = ", ".join(f"{letter}=column" for letter in sorted(self.found.columns))
            if self._accumulates():
                fields["initial-c"] = "0"
                self.zeros_mistake = self._zeros_mistake()
            sizes = {name: self.found.role(name) for name in self.found.compiled_sizes()}
            if sizes:
                fields["sizes"] = ", ".join(f"{name}={role}" for name, role in sizes.items())
        except UnknownLaunch as reason:
            unknown, is_product = self.unknown or str(reason), not isinstance(reason, NoProduct)
        wrong = wrong_dimension(self.found) if fields.keys() >= {"args", "grid"} else None
        corrected = _corrected(wrong, self.statement.kernel, self.statement.line) if wrong else None
        if corrected:
            return corrected
        exchanged = self._exchanged_grid(fields)
        passed = {letter: text_of(self.found.passed(name)) for name, letter in self.found.letters.items()}
        if "args" in fields and passed.get("A") and passed["A"] == passed.get("B"):
            self.assumed["A and B"] = (
                f"two matrices for {passed['A']}, which the program passes as A and as B"
            )
        names = {name for node in self.statement.arguments for name in re.findall(r"\w+", text_of(node))}
        padded = [pitch for pitch, _ in pitches(self.function.node) if pitch in names]
        if padded:
            self.assumed["pitch"] = (
                f"{_listed(padded)} without padding: a GPU pads such rows, mostly to multiples of 512 bytes, "
                "and may then need fewer sectors than are counted"
            )
        conflict = self.zeros_mistake or exchanged or self._type_conflict()
        of_host_code = (
            self._exchanged_factors,
            self._cut_factor,
            self._wrong_bytes,
            self._wrong_copy,
            self._wrong_sizes,
        )
        for look in of_host_code if "args" in fields else ():
            conflict = conflict or look()
        if "args" in fields and not conflict:
            conflict = self._mistake_of_caller()
        shown = self.cleared_by if self.zeros_mistake else self.sized_by
        return WorkedOutLaunch(
            self.statement.kernel,
            fields,
            unknown,
            self.statement.line,
            place_of(self.statement.node),
            is_product,
            self._suggestion(fields.get("threads", "")) | self._suggested_arguments()
            if is_product
            else _numbers_of(self.file, self.statement),
            self._program_size(),
            tuple(size for size in self._sizes_of_ways if size != self._program_size()),
            self._size_names(),
            self._program_scale(),
            tuple(self.assumed.values()),
            self._own_names(),
            grid_of_gpu=", ".join(self.grid_of_gpu),
            requires_for_any_grid=for_any_grid,
            copies_back_only=self._copies_back_only(),
            type_conflict=conflict,
            conflict_fields=("initial-c",)
            if self.zeros_mistake
            else ("threads", "grid")
            if exchanged
            else (),
            conflict_place=place_of(shown) if shown else "",
            swapped=self._swapped_matrices(),
            grid_place=self._place_of_extents(0),
            block_place=self._place_of_extents(1),
            argument_places=tuple(map(self._place_of_value, self.statement.arguments)),
            left_out=(*self.left_out, *self._further()) if is_product else (),
            named_arguments=frozenset(
                place
                for place, (argument, name) in enumerate(
                    zip(self.statement.arguments, self.kernel.parameter_names, strict=False)
                )
                if text_of(argument) == name
            ),
        )

    def _swapped_matrices(self) -> str:
        """Return that two matrices, or the members of all, are swapped, with what says so; empty if not."""
        if self.found.exchanged_members and len(set(self._program_size() or range(2))) > 1:
            rows, columns = self.found.exchanged_members
            names = ", ".join(first_name(self.found.passed(name)) for name in self.found.letters)
            return (
                f"{columns} and {rows} are exchanged in {names}: their sizes fit the product the other way "
                f"round alone; let {columns} be the number of columns, and {rows} that of rows"
            )
        if not self.found.swapped:
            return ""
        one, other = self.found.swapped
        letters = self.found.swapped_letters
        swapped = f"{letters[0]} and {letters[1]} are swapped where the kernel is launched"
        if "C" in letters:
            result, copied = (one, other) if letters[0] == "C" else (other, one)
            return (
                f"{swapped}: {self.kernel.name} writes its product to {result}, and the program copies "
                f"{copied} back; pass {other}, then {one}"
            )
        inputs = [name for name, letter in self.found.letters.items() if letter != "C"]
        shapes = map(self.found.shapes.indexed, inputs)
        reads = [f"{name} as {each.rows} x {each.width}" for name, each in zip(inputs, shapes, strict=True)]
        is_known = not any("as  x" in each or each.endswith("x ") for each in reads)
        reason = f"the shapes of {one} and {other} fit in the other order alone"
        fits = self.found.shapes.fits
        if fits(*inputs) and fits(*inputs[::-1]):  # square arrays
            reason = f"the program itself multiplies {other} by {one}"
        elif is_known:
            reason = f"{self.kernel.name} reads {' and '.join(reads)} elements, and {reason}"
        return f"{swapped}: {reason}; pass {other}, then {one}"

    def _type_conflict(self) -> str:
        """Return what a program passes that the kernel does not take, with the cure."""
        if self.function.name != LAUNCHER:
            return self._pointer_and_number() or self._viewed_tensor()
        given, letters, from_python = self.statement.arguments, self.found.letters, passed_by(self.function)
        if from_python is None:
            return ""
        columns, roles = self.found.columns, self.found.roles
        mistake = mistake_of(from_python, self.kernel, given, letters, columns, roles)
        if mistake:
            return mistake
        wrong: dict[tuple[str, str], dict[str, str]] = {}  # parameters by arrays, for each pair of types
        for name, parameter, argument, is_array in zip(
            self.kernel.parameter_names, self.kernel.parameters, given, from_python.arrays, strict=False
        ):
            declared = text_of(parameter.child_by_field_name("type")).removeprefix("__")
            passed = self.function.types.get(text_of(argument), "")
            is_pointer = any(all_of(parameter, "pointer_declarator", "array_declarator"))
            is_known = is_array and is_pointer and {passed, declared} <= {*DTYPES.values()}
            if is_known and passed != declared and not {passed, declared} <= {"int", "long"}:
                wrong.setdefault((passed, declared), {})[text_of(argument)] = name
        return "; ".join(self._wrong_dtype(*types, of, from_python.numpy) for types, of in wrong.items())

    def _wrong_dtype(self, passed: str, declared: str, parameters: Mapping[str, str], numpy: str) -> str:
        """Return that arrays have elements of another type than the kernel takes, with the cure.

        Args:
            passed: the C type of the elements.
            declared: the C type that the kernel takes.
            parameters: the kernel's name for each of the arrays.
            numpy: the program's name for NumPy.
        """
        dtypes = {c_type: dtype for dtype, c_type in DTYPES.items()}
        wanted, arrays = f"{numpy}.{dtypes[declared]}", list(parameters)
        output = [array for array, name in parameters.items() if self.found.letters.get(name) == "C"]
        inputs = [array for array in arrays if array not in output]
        have = f"the arrays {_listed(arrays)} have" if len(arrays) > 1 else f"the array {arrays[0]} has"
        takes = _listed([f"“{declared} *{name}”" for name in parameters.values()])
        each = _listed(inputs) if output else "them" if len(inputs) > 1 else "it"
        cures = [f"convert {each}, as with astype({wanted})"] if inputs else []
        cures += [f"make {output[0] if inputs else 'it'} with dtype={wanted}"] if output else []
        of_type = f"{have} elements of the type {dtypes[passed]}, and {self.kernel.name} takes {takes}"
        return f"{of_type}: {', and '.join(cures)}"

    def _pointer_and_number(self) -> str:
        """Return which number a C++ program passes for a pointer, or the other way round; empty for none."""
        for parameter, node in zip(self.found.parameters, self.statement.arguments, strict=False):
            passed, declared = text_of(node), self.kernel.types.get(parameter.name, "")
            is_number = not parameter.is_pointer and (parameter.is_real or _WHOLE_NUMBER.fullmatch(declared))
            if parameter.is_pointer and self._is_number(node):
                given, taken = "number", "pointer"
            elif is_number and self.function.is_pointer(passed):
                given, taken = "pointer", "number"
            else:
                continue
            return (
                f"the launch passes {passed}, a {given}, for {parameter.name} of {self.kernel.name}, a "
                f"{taken}; pass the {taken} that belongs there"
            )
        return ""

    def _is_number(self, node: Node) -> bool:
        """Return whether an argument is certainly a number, and no null pointer."""
        name = text_of(node)
        if node.type == "number_literal":
            return name != "0"
        if name in self.function.types:
            is_whole = _WHOLE_NUMBER.fullmatch(self.function.types[name]) is not None
            return is_whole and self.function.is_pointer(name) is False
        value = self.file.value_of(name)
        return value is not None and value.type == "number_literal" and text_of(value) != "0"

    def _viewed_tensor(self) -> str:
        """Return which tensor a kernel gets that shares the memory of one that is not transposed."""
        sizes = {re.sub(r"\W", "", text_of(self.function.values.get(size))): roles
                 for size, roles in self.found.roles.items()}  # fmt: skip
        for name, letter in self.found.letters.items():
            found = self.found.transposed_tensor(name) if letter in self.found.columns else None
            if found is None or found["copy"] not in (None, ".data_ptr", ".data", ".const_data_ptr"):
                continue
            known = [
                role in sizes[f"{found['base']}size{axis}"]
                for axis, role in enumerate(DIMENSIONS[letter])
                if f"{found['base']}size{axis}" in sizes
            ]
            if known and all(known):
                return view_mistake(
                    found["view"], found["base"], self.kernel.name, f"{found['view']}.contiguous()"
                )
        return ""

    def _offsets(self) -> Iterator[str]:
        """Yield that some arguments begin inside of an array, such as `A + row * K`, if any do."""
        places = [self.found.begins_inside(name) for name, _ in self._passed_matrices()]
        offsets = [text_of(place) for place in places if place]
        if offsets:
            were = "offsets in {} were" if len(offsets) > 1 else "offset in {} was"
            where = were.format(" and ".join(offsets))
            yield f"the {where} not checked: cudamm passes the beginning of each matrix"
        for part in dict.fromkeys(self.found.partial.values()):
            wholes = _listed(sorted(whole for whole, of in self.found.wholes.items() if of == part))
            yield f"other parts of {wholes} were not launched: one part is multiplied as a product of its own"

    def _passed_matrices(self) -> Iterator[tuple[str, Node]]:
        """Yield the parameters A, B and C, with what the launch passes for them."""
        for name, node in zip(self.kernel.parameter_names, self.statement.arguments, strict=False):
            if name in self.found.letters:
                yield name, node

    def _further(self) -> Iterator[str]:
        """Yield what else the program does, as in `WorkedOutLaunch.left_out`."""
        yield from (*self._offsets(), *self._missing_copies(), *self._other_kernels(), *self._other_numbers())
        yield from self._other_configurations()

    def _other_configurations(self) -> Iterator[str]:
        """Yield what callers of the launching function pass for its grid and block beside what is taken."""
        names = {
            text_of(name) for node in self.statement.configuration[:2] for name in all_of(node, "identifier")
        }
        values = (self.function.values[name] for name in names & self.function.values.keys())
        names |= {text_of(name) for value in values for name in all_of(value, "identifier")}
        for name in self.function.parameter_names:
            if name not in names - self.found.roles.keys():
                continue
            passed = dict.fromkeys(text_of(node) for _, node in callers_of(self.file, self.function, name))
            first, *others = passed or [""]
            if others:
                option = f"; -D {name}={others[0]} tries it" if others[0].isdigit() else ""
                yield (
                    f"the launch with {_listed(others)} for {name}, which other calls of "
                    f"{self.function.name} pass: only the call with {first} was read{option}"
                )

    def _missing_copies(self) -> Iterator[str]:
        """Yield which matrices the launching function allocates and never copies, if it copies another.

        A matrix that it does anything else with, such as to pass it to another function, may be copied there.
        """
        usual = {"", "cudaMalloc", "cudaFree", "cudaMemset", self.statement.kernel}
        lacking: dict[str, str] = {}
        is_any_copied = False
        for parameter, argument in self._passed_matrices():
            pointer, uses = first_name(argument), set[str]()
            for name in all_of(self.function.node, "identifier"):
                around = ancestors(name) if text_of(name) == pointer else ()
                call = next(
                    (node for node in around if node.type in ("call_expression", "declaration")), None
                )
                if call is not None:
                    uses.add(text_of(call.child_by_field_name("function")))
            is_copied = "cudaMemcpy" in uses
            is_any_copied |= is_copied
            if not is_copied and "cudaMalloc" in uses and uses <= usual:
                lacking[self.found.letters[parameter]] = pointer
        for letter, pointer in lacking.items() if is_any_copied else ():
            where = f"{pointer} back" if letter == "C" else f"anything to {pointer}"
            yield f"the copy of {letter}: the program has none, as no call copies {where}"

    def _other_numbers(self) -> Iterator[str]:
        """Yield that a loop of a Python program compiles the text with other numbers too."""
        passed = passed_by(self.function)
        for name, _, values in (each.partition("=") for each in (passed.runs if passed else ())):
            others = " and ".join(values.split(",")[1:])
            what, cure = f"{name} = {others}", f"-D {name}={values} tries all"
            if not name:
                what, cure = f"{others} in place of {values.split(',')[0]}", "put such a text into a .cu file"
            yield f"the program runs the kernel with {what} too: {cure}"

    def _other_kernels(self) -> Iterator[str]:
        """Yield the kernels that are no products, and that the same function launches on the same arrays."""
        arrays = {first_name(node) for _, node in self._passed_matrices()} - {""}
        names = [
            launch.kernel
            for launch in launches(self.file)
            if launch.function.node == self.function.node
            and launch.kernel != self.kernel.name
            and arrays & {first_name(node) for node in launch.arguments}
            and (kernel := _kernel_named(self.file, launch.kernel)) is not None
            and not may_be_product(self.file, kernel)
        ]
        if names:
            kernels = " and ".join(dict.fromkeys(names))
            yield f"the program launches {kernels} on the same arrays, which cudamm did not run"
        yield from self._kernels_that_add()

    def _kernels_that_add(self) -> Iterator[str]:
        """Yield that several launches add to one C, each to what the one before it left there."""
        scale, matrices = self._program_scale(), list(self._passed_matrices())
        pointer = next((first_name(node) for x, node in matrices if self.found.letters[x] == "C"), "")
        here = [
            launch
            for launch in launches(self.file)
            if launch.function.node == self.function.node and pointer in map(first_name, launch.arguments)
        ]
        calls = Counter(text_of(node) for _, node in callers_of(self.file, self.function, pointer))
        count = max(len(here), *calls.values(), 0)
        if scale and scale[1] and count > 1:
            yield (
                f"the program launches {count} kernels on one C, and each adds beta times what the one "
                "before it left there: each was checked for itself"
            )

    def _copies_back_only(self) -> bool:
        """Return whether a program passes C in a way that copies it from the GPU only."""
        passed = passed_by(self.function)
        pairs = zip(self.kernel.parameter_names, passed.kinds if passed else (), strict=False)
        return any(self.found.letters.get(name) == "C" and kind == OUT for name, kind in pairs)

    def _program_size(self) -> tuple[int, int, int] | None:
        """Return M, N and K in the program, the first ones if it has several; None if one is not known."""
        return self._size_of() or next(iter(self._sizes_of_ways), None)

    @functools.cached_property
    def _sizes_of_ways(self) -> tuple[tuple[int, int, int], ...]:
        """Return M, N and K of each way in which the program reaches the launch, each once."""
        ways = ways_to_reach(self.file, self.function, self.found.roles)
        return tuple(dict.fromkeys(size for way in ways if (size := self._size_of(way))))

    def _size_of(self, way: Mapping[str, int] | None = None) -> tuple[int, int, int] | None:
        """Return M, N and K in the program, or on one way to the launch; None if one is not known."""
        m, n, k = (own[0] if len(own := self._own_sizes(role, way)) == 1 else None for role in ROLES)
        return (m, n, k) if m and n and k and min(m, n, k) > 0 else None

    def _size_names(self) -> dict[str, str]:
        """Return the names of M, N and K at the launch, first those of its arguments, and of tiles."""
        passed = {
            text_of(value): text_of(argument)
            for argument in self.statement.arguments
            if (value := self.function.values.get(text_of(argument)))
        }
        here = {text_of(name) for name in all_of(self.function.node, "identifier")}
        written = {size: re.sub(r"_([xyz])$", r".\1", size) for size in self.found.roles}  # `dimsA.x`
        written |= {size: size for size in self.found.roles if size in here}
        names = [
            (role, passed.get(size, written[size]))
            for size, roles in self.found.roles.items()
            if written[size].partition(".")[0] in here
            for role in roles
        ]
        tiles = {  # `int BLOCK = BS;` is a name of the program for that of the text
            text_of(value): name
            for name, value in self.function.values.items()
            if self.function.name == LAUNCHER and text_of(value) in constants(self.file)
        }
        return {**tiles, **dict(reversed(names))}  # the first of each

    def _own_names(self) -> str:
        """Return `WorkedOutLaunch.own_names`."""
        sizes = self._size_names()
        pairs = [
            (letter, name) for name, letter in sorted(self.found.letters.items(), key=lambda item: item[1])
        ]
        pairs += [(role, sizes[role]) for role in ROLES if role in sizes]
        if len({name for _, name in pairs}) < len(pairs):
            return ""  # a square matrix has one size
        others = [(ours, name) for ours, name in pairs if _PLAIN_NAME.sub(r"\1", name).upper() != ours]
        is_taken = any(_PLAIN_NAME.sub(r"\1", name).upper() in (*DIMENSIONS, *ROLES) for _, name in others)
        return ", ".join(f"its {name} is {ours}" for ours, name in others) if is_taken else ""

    def _program_scale(self) -> tuple[float, float] | None:
        """Return alpha and beta in the program, 0 for no beta; None if it does not pass them as numbers."""
        values = {
            parameter.name.lower(): _real_number(self.file, self.function, node)
            for parameter, node in zip(self.found.parameters, self.statement.arguments, strict=False)
            if parameter.is_scale
        }
        alpha, beta = values.get("alpha"), values.get("beta", 0.0)
        return (alpha, beta) if alpha is not None and beta is not None else None

    def _own_sizes(self, role: str, way: Mapping[str, int] | None = None) -> list[int]:
        """Return the values that M, N or K has in the program: several if its sizes contradict each other.

        A number that is computed from a size, such as `K / 4`, does not count.
        """
        sizes = [size for size, roles in self.found.roles.items() if role in roles]
        computed = {
            size
            for parameter, size in self.found.literal_sizes.items()
            if any(all_of(self.found.passed(parameter), "identifier"))
        }
        chosen = [size for size in sizes if size not in computed] or sizes
        values = (self.found.own_size(size, way) for size in chosen)
        return sorted({value for value in values if value is not None})

    def _suggestion(self, threads: str) -> dict[str, str]:
        """Return threads and a grid that may fit the kernel: by its indices, else a thread for each element.

        For a kernel that checks no edge, the multiples belong to them for which it is written.

        Args:
            threads: those of the launch; if empty, the extents of the kernel's tiles are taken.
        """
        edge = self._edge_of_tiles()
        block = dict(zip("xyz", split_at_commas(threads or f"{edge}, {edge}"), strict=False))
        output = next((name for name, letter in self.found.letters.items() if letter == "C"), "")
        if output in self.found.raw_uses:
            sizes = {*self.found.in_kernel, *(p.name for p in self.found.parameters if p.is_whole_number)}
            text = text_of(self.kernel.node)
            stores = [n for n in all_of(self.kernel.node, "subscript_expression") if first_name(n) == output]
            seen = seen_from(self.kernel, stores[-1]) if stores else self.kernel
            body = replace(self.found.body(sizes), function=seen, named_from=1)
            finder = FittingLaunch(frozenset(sizes), body.fixed, block, text)
            fitting = finder.fields(body.uses()[output], "C" in self.found.columns)
            names = set(re.findall(r"[A-Za-z_]\w*", " ".join(fitting.values())))
            if fitting and names <= {*constants(self.file), *ROLES, "ceil"}:
                of_block = (
                    e if parse(e).names else self._simplified(e) for e in split_at_commas(fitting["threads"])
                )
                multiples = [fitting.pop("requires")]
                for loop in body.tile_loops():
                    step = re.sub(r"number_(\d+)", r"\1", loop.step)
                    roles = self.found.roles.get(self.found.in_kernel.get(loop.size, ""), ())
                    if "K" in roles and parse(step).names <= constants(self.file).keys():
                        multiples.append(f"K % {bracketed(step)} == 0")
                if not any(body.checks()):
                    fitting["requires"] = ", ".join(dict.fromkeys(filter(None, multiples)))
                return fitting | {"threads": threads or ", ".join(of_block)}
        x, y = self.found.roles_of_axes()
        threads = threads or f"{edge}, {edge}"
        extents = split_at_commas(threads)
        pairs = zip((x, y) if len(extents) > 1 else ("M * N",), extents, strict=False)
        grid = ", ".join(f"ceil({size} / {bracketed(extent)})" for size, extent in pairs)
        return {"threads": threads, "grid": grid}

    def _edge_of_tiles(self) -> str:
        """Return the extent of the kernel's first array that may be a block's edge; else the usual edge."""
        arrays = all_of(self.kernel.node, "array_declarator")
        words = (re.findall(r"\w+", text_of(node.child_by_field_name("size"))) for node in arrays)
        values = constant_values(self.file) | {str(edge): edge for edge in _BLOCK_EDGES}
        given = self.template_arguments()
        words = ([given.get(word, word) for word in of_array] for of_array in words)
        known = (word for of_array in words for word in of_array if values.get(word) in _BLOCK_EDGES)
        return next(known, str(_USUAL_BLOCK_EDGE))

    def _accumulates(self) -> bool:
        """Return whether the kernel adds to C, and the host code fills C or cannot be read so far."""
        name = next((name for name, letter in self.found.letters.items() if letter == "C"), "")
        pointers = re.findall(rf"\*\s*(?:\w+\s+)?(\w+)\s*=\s*&?\s*{name}\b", text_of(self.kernel.node))
        names = "|".join((name, *pointers))  # and `p` of `float *p = C.elements;`
        of_c = rf"\b(?:{names})\s*(?:(?:\.|->)\s*\w+\s*)?\["  # and C.elements[i]
        adds = rf"atomicAdd\w*\s*\(\s*&?\s*\(?(?:{names})\b|{of_c}[^;=]*\]\s*\+="
        begins = rf"[\w\]]\s*=\s*{of_c}"  # `float sum = C[i];`
        does_add = re.search(adds, text_of(self.kernel.node)) is not None
        if not name or not (does_add or re.search(begins, text_of(self.kernel.node))):
            return False
        passed = first_name(self.found.passed(name))
        if is_filled(self.file, self.function, passed, self.statement.node):
            length = self.statement.node.start_byte - self.function.node.start_byte
            before = (self.function.node.text or b"")[:length].decode()
            kernels = re.findall(rf"(\w+)\s*<<<[^;]*>>>\s*\([^;]*\b{passed}\b", before)
            if does_add and kernels and not re.search("zero|clear|reset", kernels[-1], re.IGNORECASE):
                self.assumed[passed] = f"{passed} is assumed to hold zeros: {kernels[-1]} is not run"
            return does_add or not any(parameter.is_scale for parameter in self.found.parameters)
        if not does_add:
            return False
        is_launched = self.function != self.kernel
        if not (is_launched and is_from_elsewhere(self.file, self.function, passed)):
            return False
        self.assumed[passed] = f"{passed} is assumed to hold zeros: the file does not say what it holds"
        return True

    def _exchanged_grid(self, fields: Mapping[str, str]) -> str:
        """Return that the program launches with the block in the place of the grid, with the cure.

        Two of four things have to say so: only the block is computed from the sizes of the matrices, it is
        too large in the program itself, the variables have such names, and both sizes are divided by the
        extents of the grid. One block may be on purpose, and so may a thread for each column.
        """
        if "grid" not in fields:
            return ""
        threads, grid = split_at_commas(fields["threads"]), self.plain_grid
        sized, sized_in_grid = (
            [extent for extent in of if not parse(extent).names.isdisjoint(ROLES)] for of in (threads, grid)
        )
        own = {**constant_values(self.file), **dict(zip(ROLES, self._program_size() or (), strict=False))}
        of_grid, of_block = (
            (values_for(" * ".join(f"({each})" for each in of), [own]) or [0])[0] for of in (grid, threads)
        )
        given = [" ".join(text_of(node).split()) for node in self.statement.configuration]
        is_named = bool(_OF_BLOCK.search(given[0]) and _OF_GRID.search(given[1]))
        is_computed = bool(sized) and (is_named or all("/" in extent for extent in sized))
        divisors = [f"/ {each})" in extent for each, extent in zip(grid, threads, strict=False)]
        is_divided = len(sized) > 1 and all(divisors) and not _OF_GRID.search(given[0])
        is_certain = is_computed + is_named + is_divided + (of_block > MOST_THREADS) >= 2
        if sized_in_grid or not is_certain or not 1 < of_grid <= MOST_THREADS:
            return ""
        what = f"the grid and the block are exchanged in <<<{', '.join(given)}>>>"
        cure = f"write <<<{', '.join((given[1], given[0], *given[2:]))}>>>"
        if self.statement.node.type != "kernel_call_syntax" or self.function.name == LAUNCHER:
            what, cure = f"the grid and the block of {self.kernel.name} are exchanged", "exchange them"
        why = "only the block depends on the sizes of the matrices"
        return f"{what}: {why if sized else f'the block has {of_block} threads'}; {cure}"

    def _zeros_mistake(self) -> str:
        """Return what is certainly wrong with the cudaMemset that has to fill C with zeros, with the cure."""
        parameter = next(p for p in self.found.parameters if self.found.letters.get(p.name) == "C")
        declared = self.kernel.parameters[self.found.parameters.index(parameter)].child_by_field_name("type")
        c_type = re.sub("[2-4]$", "", text_of(declared))
        c_type = self.template_arguments().get(c_type, c_type)
        stores = rf"\b{parameter.name}\s*\[[^;=]*\]\s*=(?!=)"
        pointer = first_name(self.found.passed(parameter.name))
        self.cleared_by = cleared_by(self.function, pointer, self.statement.node)
        given = self.cleared_by.child_by_field_name("arguments") if self.cleared_by else None
        if re.search(stores, text_of(self.kernel.node)) or c_type not in BYTES or given is None:
            return ""
        if loop := self._loop_that_adds_again(pointer):
            self.cleared_by = loop
            return (
                f"the loop launches {self.kernel.name} several times, and each launch adds to {pointer}, "
                "which is set to zero once before the loop; set it to zero in the loop, before the launch"
            )
        _, byte, size, *_ = (*given.named_children, None, None, None)
        value = own_number(self.file, self.function, byte)
        call = f"the call {' '.join(text_of(self.cleared_by).split())} sets"
        if value:
            return (
                f"{call} each byte of {pointer} to {value}, and {self.kernel.name} adds to {pointer}; pass 0"
            )
        shares = self._shares_of("C", size, BYTES[c_type])
        if size is None or not shares or max(shares) >= 1:
            return ""
        share = f"{100 * float(shares[0]):.3g}%" if len(set(shares)) == 1 else "a part"
        allocated = [node for _, node in allocations(self.file, self.function, pointer)]
        whole = [text_of(a) for a in allocated if {*self._shares_of("C", a, BYTES[c_type])} == {1}]
        if not whole and set(shares) == {Fraction(1, BYTES[c_type])}:
            is_sum = size.type == "binary_expression" and "*" not in text_of(
                size.child_by_field_name("operator")
            )
            whole = [f"{f'({text_of(size)})' if is_sum else text_of(size)} * sizeof({c_type})"]
        cure = f"pass {whole[0]}, the number of bytes" if whole else "pass the number of all its bytes"
        return f"{call} only {share} of {pointer} to zero, and {self.kernel.name} adds to all of it; {cure}"

    def _loop_that_adds_again(self, pointer: str) -> Node | None:
        """Return the loop around a launch that adds to C, with zeros before it and the copy back after it.

        A loop whose counter the launch gets may add parts of one product.
        """
        loop = self.statement.node.parent
        while loop is not None and loop.type != "for_statement":
            loop = loop.parent if loop != self.function.node else None
        cleared = self.cleared_by
        if loop is None or cleared is None or is_inside(cleared, loop):
            return None
        counter = re.match(r"\s*for\s*\(\s*(?:\w+\s+)*(\w+)\s*=", text_of(loop))
        if counter is None or re.search(rf"\b{counter[1]}\b", text_of(self.statement.node)):
            return None
        calls = [call for call in all_of(self.function.node, "call_expression") if pointer in text_of(call)]
        copies = [
            call for call in calls if re.match(r"cudaMemcpy\w*\(.*DeviceToHost", text_of(call), re.DOTALL)
        ]
        later = (call for call in calls if text_of(call).startswith("cudaMemset"))
        is_set_later = any(call.start_byte > loop.end_byte for call in later)
        is_copied_once = bool(copies) and all(call.start_byte > loop.end_byte for call in copies)
        return loop if is_copied_once and not is_set_later else None

    def _exchanged_factors(self) -> str:
        """Return that the launch passes beta for alpha and alpha for beta, by the program's names."""
        scales = [p.name for p in self.found.parameters if p.is_scale]
        passed = {name.lower(): text_of(self.found.passed(name)) for name in scales}
        named = {name for name in passed if name in passed[name].lower()}
        alpha, beta = passed.get("alpha", ""), passed.get("beta", "")
        if named or "beta" not in alpha.lower() or "alpha" not in beta.lower():
            return ""
        return (
            f"alpha and beta are swapped where the kernel is launched: {self.kernel.name} gets {alpha} as "
            f"alpha and {beta} as beta; pass {beta} for alpha and {alpha} for beta"
        )

    def _cut_factor(self) -> str:
        """Return that alpha or beta loses its fraction in a parameter that is a whole number."""
        for parameter, node in zip(self.found.parameters, self.statement.arguments, strict=False):
            declared = self.kernel.types.get(parameter.name, "")
            value = _real_number(self.file, self.function, node) if parameter.is_scale else None
            if value is None or not math.isfinite(value) or value == int(value):
                continue
            if _WHOLE_NUMBER.fullmatch(declared):
                return (
                    f"{parameter.name} is {value:g}, and “{declared} {parameter.name}” of {self.kernel.name} "
                    f"cuts it to {int(value)}; declare it float {parameter.name}"
                )
        return ""

    def _wrong_bytes(self) -> str:
        """Return `_memory_mistake` in the words of the program."""
        mistake = self._memory_mistake()
        if not mistake or passed_by(self.function) is None:
            return mistake
        self.sized_by = None  # the call is C++ that stands for the Python program
        mistake = re.sub(r"^the call cudaMalloc\(.*?\) allocates", "the program allocates", mistake)
        return re.sub(r"; (?:pass|let) .*$", "; allocate as many bytes as the nbytes of its array", mistake)

    def _memory_mistake(self) -> str:
        """Return which cudaMalloc or cudaMemcpy certainly gets too few bytes for a matrix, with the cure.

        If a call has the bytes of another matrix, that may be right, and the launch wrong: `_short_calls` has
        those of which it is certain.
        """
        calls: list[_SizedCall] = []
        is_chosen = any(is_chosen_by_user(self.file, self.function, size) for size in self.found.roles)
        has_one_size = self._program_size() is not None and not (is_chosen or self._sizes_of_ways[1:])
        for parameter, letter in self.found.letters.items():
            c_type = self._type_of_elements(parameter)
            pointer, of_element = first_name(self.found.passed(parameter)), BYTES.get(c_type, 0)
            for call, verb, size, passed in self._sized_calls(pointer, letter) if of_element else ():
                here = f"the call {' '.join(text_of(call).split())} {verb}"
                names = self._size_names()
                rows, columns = (names.get(role, role) for role in DIMENSIONS[letter])
                whole_bytes = (
                    f"pass {rows} * {columns} * sizeof({self._written(c_type)}), the number of bytes"
                )
                if not {rows, columns} <= {*map(text_of, all_of(self.file.tree, "identifier"))}:
                    whole_bytes = f"pass the number of bytes of all {rows} x {columns} elements"
                if handle := self._size_of_handle(size):
                    self.sized_by = call
                    return f"{here} {handle}; {whole_bytes}"
                is_own_size = passed is size  # not one of a function that is called
                size = self._value_at(size)
                shares = self._shares_of(letter, size if is_own_size else passed, of_element)
                own = dict(zip(ROLES, self._program_size() or (0, 0, 0), strict=True))
                elements = math.prod(own[role] for role in DIMENSIONS[letter])
                number = elements * of_element * (shares[-1] if shares else 0)
                if number > LARGEST_INT and self.function.types.get(text_of(size)) == "int":
                    self.sized_by = self.function.values.get(text_of(size), call)
                    return (
                        f"the {int(number):,} bytes of {pointer} at the program's own size do not fit into "
                        f"an int; let {text_of(size)} be a size_t"
                    )
                if verb == "allocates" and {*shares} == {Fraction(1, of_element)} and of_element > 1:
                    value = self.function.values.get(text_of(size))
                    if is_own_size and value is not None and not self._counts_elements(text_of(size)):
                        self.sized_by = value
                        shown = (
                            f"({text_of(value)})" if re.search(r"[-+]", text_of(value)) else text_of(value)
                        )
                        return (
                            f"{here} 1 byte for each element of {pointer}; let {text_of(size)} be {shown} * "
                            f"sizeof({c_type}), the number of bytes"
                        )
                    self.sized_by, written = call, text_of(size)
                    factor = f"({written})" if re.search(r"[-+]", written) else written
                    return (
                        f"{here} 1 byte for each element of {pointer}; pass {factor} * sizeof({c_type}), the "
                        "number of bytes"
                    )
                by_type = re.search(
                    r"sizeof\s*\(\s*(\w+)\s*\)", text_of(self.function.values.get(text_of(size), size))
                )
                of_other = Fraction(BYTES.get(by_type[1], of_element), of_element) if by_type else Fraction(1)
                is_cpp = passed_by(self.function) is None
                if is_cpp and by_type and {*shares} == {of_other} and of_other < 1:
                    self.sized_by = call
                    return (
                        f"{here} {100 * float(of_other):.3g}% of {pointer}, with {by_type[0]} for elements "
                        f"of type {self._written(c_type)}; {whole_bytes}"
                    )
                if not is_own_size:
                    continue
                share = min(shares[-1:] if has_one_size else shares, default=Fraction(0))
                given = text_of(self.function.values.get(text_of(size), size))
                is_share_known = has_one_size or len({*shares}) == 1
                much = f"{100 * float(share):.3g}% of" if is_share_known else f"{given} bytes of"
                what = f"{here} {much} {pointer}, which has {rows} x {columns} elements"
                calls.append(_SizedCall(call, letter, pointer, verb, given, share, what, whole_bytes))
        short = _short_calls(calls, is_cpp=passed_by(self.function) is None)
        if not short:
            return ""
        self.sized_by = short[0].node
        others = list(dict.fromkeys(call.pointer for call in short if call.pointer != short[0].pointer))
        also = f" (the same holds for {_listed(others)})" if others else ""
        return f"{short[0].what}{also}; {short[0].cure}"

    def _counts_elements(self, name: str) -> bool:
        """Return whether the program multiplies a variable by `sizeof`: it is no number of bytes."""
        product = rf"\b{re.escape(name)}\s*\*\s*sizeof\b|\bsizeof\s*\([^()]*\)\s*\*\s*{re.escape(name)}\b"
        return re.search(product, text_of(self.function.node)) is not None

    def _type_of_elements(self, parameter: str) -> str:
        """Return the type of the elements of a kernel's matrix, such as `half`."""
        declared = self.kernel.parameters[self.kernel.parameter_names.index(parameter)]
        c_type = re.sub("[2-4]$", "", text_of(declared.child_by_field_name("type")))
        c_type = self.file.type_named(self.template_arguments().get(c_type, c_type))
        return c_type if c_type in BYTES else self.file.type_named(self._pointed_to_by_member(c_type))

    def _written(self, c_type: str) -> str:
        """Return `real` for `double` if the launching function has `sizeof(real)`, the same type."""
        used = re.findall(r"sizeof\s*\(\s*(\w+)\s*\)", text_of(self.function.node))
        names = (name for name in used if name != c_type and self.file.type_named(name) == c_type)
        return next(names, c_type)

    def _size_of_handle(self, size: Node) -> str:
        """Return `8 bytes, the size of the pointer d_A itself` for `sizeof(d_A)`; empty for other sizes."""
        written = text_of(self.function.values.get(text_of(size), size))
        named = re.fullmatch(r"sizeof\s*\(?\s*(\w+)\s*\)?", written)
        kind = kind_of_handle(self.file, self.function, named[1]) if named else ""
        return (
            f"{HANDLE_BYTES[kind]} bytes, the size of the {kind} {named[1]} itself" if named and kind else ""
        )

    def _wrong_copy(self) -> str:
        """Return which cudaMemcpy of a matrix has a wrong pointer or the other direction, with the cure.

        Of the two pointers, the launching function has to allocate one on the GPU, or to get its address
        there, and not the other.
        """
        calls = list(all_of(self.function.node, "call_expression"))
        on_gpu = {
            first_name(given.named_children[0])
            for call in calls
            if (_bytes_of_allocation(call) is not None or text_of(call).startswith("cudaGetSymbolAddress("))
            and (given := call.child_by_field_name("arguments"))
        }
        type_of = {first_name(self.found.passed(n)): self._type_of_elements(n) for n in self.found.letters}
        passed = {*type_of}
        declarations = all_of(self.file.tree, "declaration", "field_declaration")
        variables = {
            declared_name(d) for each in declarations for d in each.children_by_field_name("declarator")
        }
        for each in all_of(self.file.tree, "structured_binding_declarator", "lambda_expression"):
            variables |= set(map(text_of, all_of(each, "identifier")))
        # `variables_as_parameters` passes a `__device__` array by its name, and leaves no declaration.
        arrays = passed & self.found.letters.keys() - variables - {*self.function.parameter_names}
        of_launch = passed & on_gpu
        for call in calls:
            given = call.child_by_field_name("arguments")
            if text_of(call.child_by_field_name("function")) != "cudaMemcpy" or not given:
                continue
            target, source, *_, direction = [*given.named_children, *[call] * 3][:4]
            array = next((text_of(node) for node in (target, source) if text_of(node) in arrays), "")
            if array:
                self.sized_by = call
                return (
                    f"the call {' '.join(text_of(call).split())} passes {array}, a __device__ array, whose "
                    "name is no address for the host; pass a pointer that cudaGetSymbolAddress sets"
                )
            if pointers := self._passed_of_host(target, source, text_of(direction), passed, calls):
                self.sized_by = None
                return (
                    f"the launch passes {pointers[0]}, which is memory of the host, as the call "
                    f"{' '.join(text_of(call).split())} says; pass {pointers[1]}"
                )
            to_gpu, from_gpu = (first_name(node) in of_launch for node in (target, source))
            if to_gpu == from_gpu:
                continue
            self.sized_by, written = call, " ".join(text_of(call).split())
            there, here = (target, source) if to_gpu else (source, target)
            if unfit := self._unfit_pointers(there, here, type_of[first_name(there)]):
                return f"the call {written} {unfit}"
            # What stands before the launch fills the GPU's memory; what stands after it gets the result.
            is_filled = call.start_byte < self.statement.node.start_byte
            right = "cudaMemcpyHostToDevice" if to_gpu else "cudaMemcpyDeviceToHost"
            wrong = "cudaMemcpyDeviceToHost" if to_gpu else "cudaMemcpyHostToDevice"
            if text_of(direction) == wrong and first_name(here) not in on_gpu:
                order = (there, here) if is_filled else (here, there)
                exchanged = ", ".join(
                    " ".join(text_of(node).split()) for node in (*order, *given.named_children[2:])
                )
                cure = f"pass {right}" if is_filled == to_gpu else f"write cudaMemcpy({exchanged})"
                return (
                    f"the call {written} copies {'to' if to_gpu else 'from'} {first_name(there)}, which is "
                    f"memory of the GPU; {cure}"
                )
        self.sized_by = None
        return ""

    def _mistake_of_caller(self) -> str:
        """Return `_wrong_bytes` or `_wrong_copy` of the only caller, if it passes the matrices."""
        pointers = {first_name(self.found.passed(name)) for name in self.found.letters}
        inlined = None
        if pointers and pointers <= {*self.function.parameter_names}:
            inlined = launch_in_caller(self.file, self.statement)
        kernel = None if inlined is None else _kernel_named(inlined[0], self.kernel.name)
        if inlined is None or kernel is None:
            return ""
        launch = _Launch(*inlined, kernel)
        with contextlib.suppress(UnknownLaunch):
            launch.found.find()
            mistake = launch._wrong_bytes() or launch._wrong_copy()
            self.sized_by = launch.sized_by
            return mistake
        return ""

    def _wrong_sizes(self) -> str:
        """Return which call of the launching function passes the sizes in a wrong order, with the cure."""
        names = {role: name for name, roles in self.found.roles.items() for role in roles}
        letters = {first_name(self.found.passed(name)): letter for name, letter in self.found.letters.items()}
        found = call_with_other_sizes(self.file, self.function, names, letters)
        self.sized_by = found.call if found else None
        return f"{found.mistake}; write {found.right}" if found else ""

    def _passed_of_host(
        self, target: Node, source: Node, direction: str, passed: Collection[str], calls: Iterable[Node]
    ) -> tuple[str, str] | None:
        """Return what the launch passes although a copy shows that it is memory of the host, and the GPU's.

        A parameter of the launching function may be memory of the GPU, and the direction wrong. So it counts
        only if a function of the program makes the other one there.
        """
        sides = {"cudaMemcpyHostToDevice": (source, target), "cudaMemcpyDeviceToHost": (target, source)}
        if direction not in sides:
            return None
        of_host, of_gpu = map(first_name, sides[direction])
        allocates = rf"(?:cuda(?:Malloc|Host|GetSymbol)|hipMalloc)\w*\s*\([^;]*&\s*{re.escape(of_host)}\b"
        is_allocated = any(re.match(allocates, text_of(call)) for call in calls)
        if of_host not in passed or of_gpu in passed or is_allocated:
            return None
        written = text_of(self.function.first_values.get(of_host)) + self.function.types.get(of_host, "")
        is_of_host = re.search(r"\b(?:new|malloc|calloc|vector)\b", written) is not None
        made = self.function.first_values.get(of_gpu)
        maker = (
            text_of(made.child_by_field_name("function")) if made and made.type == "call_expression" else ""
        )
        is_made = of_host in self.function.parameter_names and bool(self.file.functions_named(maker))
        return (of_host, of_gpu) if is_of_host or is_made else None

    def _unfit_pointers(self, on_gpu: Node, on_host: Node, needed: str) -> str:
        """Return what is wrong with the pointers of a copy, in words for after the call; empty for nothing.

        Args:
            needed: type of the matrix's elements.
        """
        for node in (on_gpu, on_host):
            name = text_of(node).removeprefix("&")
            kind = kind_of_handle(self.file, self.function, name) if name != text_of(node) else ""
            if kind:
                elements = f"{name}.data()" if kind == "vector" else name
                return (
                    f"passes the address of the {kind} {name} itself; pass {elements}, the address of its "
                    "elements"
                )
        # Such as `std::vector<float>`.
        words = re.findall(r"\w+", self.function.types.get(first_name(on_host), ""))
        held = next((word for word in words if word in BYTES and word != "char"), "")
        if not {held, needed} <= BYTES.keys() or BYTES[held] == BYTES[needed]:
            return ""
        return (
            f"copies elements of type {held} where {self.kernel.name} has elements of type {needed}; let the "
            f"array on the host have elements of type {needed}, and convert each {held} for it"
        )

    def _pointed_to_by_member(self, struct: str) -> str:
        """Return the type of the elements to which the only pointer in a struct points; empty if unknown."""
        body = re.search(rf"\bstruct\s+{struct}\b\s*\{{([^{{}}]*)\}}", self.file.text) or re.search(
            rf"\bstruct\s*\{{([^{{}}]*)\}}\s*{struct}\s*;", self.file.text
        )
        pointed = re.findall(r"(\w+)\s*\*\s*\w+\s*;", body[1]) if body else []
        return pointed[0] if len(pointed) == 1 else ""

    def _sized_calls(self, pointer: str, letter: str) -> Iterator[tuple[Node, str, Node, Node]]:
        """Yield the calls at the launch that allocate or copy a matrix.

        Also those in a function that the launching one calls for it, as in `float *d = copied(a, m * k);`.

        Returns:
            Each call with a verb, with the bytes, and with the bytes in names of the launching function.
        """
        for function, size in allocations(self.file, self.function, pointer):
            call = size.parent.parent if size.parent else None
            if call is not None and function == self.function and text_of(call).startswith("cudaMalloc("):
                yield call, "allocates", size, size
        for call in all_of(self.function.node, "call_expression"):
            given = call.child_by_field_name("arguments")
            arguments = given.named_children if given else []
            if text_of(call).startswith("cudaMemcpy(") and len(arguments) == 4:
                of_gpu = arguments[letter == "C"]  # the result is copied from there
                if first_name(of_gpu) == pointer and not any(all_of(of_gpu, "binary_expression")):
                    yield call, "copies", arguments[2], arguments[2]
            is_result = self.function.values.get(pointer) == call
            if is_result or any(text_of(argument) == f"&{pointer}" for argument in arguments):
                yield from self._allocations_of(call, arguments)

    def _allocations_of(self, call: Node, given: Sequence[Node]) -> Iterator[tuple[Node, str, Node, Node]]:
        """Yield the `cudaMalloc` of the function of the file that a call calls, if it has only one."""
        called = text_of(call.child_by_field_name("function")).partition("<")[0]
        for function in self.file.functions_named(called):
            pairs = zip(function.parameter_names, map(text_of, given), strict=False)
            passed = {name: text if text.isidentifier() else f"({text})" for name, text in pairs}
            inside = all_of(function.node, "call_expression")
            sizes = [size for c in inside if (size := _bytes_of_allocation(c)) is not None]
            if len(sizes) == 1:
                (size,) = sizes
                written = text_of(function.values.get(text_of(size), size))
                in_names = parsed_expression(renamed(written, passed))
                if size.parent and size.parent.parent and in_names is not None:
                    yield size.parent.parent, "allocates", size, in_names

    def _value_at(self, size: Node) -> Node:
        """Return the value that a variable has where it is used, if it gets several; else the node itself.

        As in `size = A.width * A.height * sizeof(float); …; size = B.width * B.height * sizeof(float);`.
        """
        found: list[Node] = []
        for node in all_of(self.function.node, "init_declarator", "assignment_expression"):
            name = node.child_by_field_name("declarator") or node.child_by_field_name("left")
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            if value is not None and text_of(name) == text_of(size):
                found.append(value)
        before = [value for value in found if value.start_byte < size.start_byte]
        return before[-1] if len(found) > 1 and before else size

    def _shares_of(self, letter: str, size: Node | None, bytes_of_element: int) -> list[Fraction]:
        """Return how much of a matrix a number of bytes is, at several sizes; an empty list if not known."""
        assumed, name = dict(self.assumed), text_of(size)
        if name in self.function.types and name not in self.function.values:
            return []  # its value is not read, such as `sizeof *C * M * N`
        try:
            number = replace(self.found.translation, has_bytes=True).of(size)
            text = self._text(number, "a number of bytes")
        except UnknownLaunch:
            return []
        finally:
            self.assumed = assumed
        shapes = _SHAPES if parse(text).names & {*ROLES} else ()
        tried = [dict(zip(ROLES, s, strict=True)) for s in (*shapes, *filter(None, [self._program_size()]))]
        for roles, names in itertools.product(self.found.roles.values(), tried):
            names |= dict.fromkeys(roles, names[roles[0]])
        values = values_for(text, [constant_values(self.file) | names for names in tried]) or []
        rows, columns = DIMENSIONS[letter]
        return [
            Fraction(value, names[rows] * names[columns] * bytes_of_element)
            for value, names in zip(values, tried, strict=False)
        ]

    def _text(self, number: Number | None, what: str) -> str:
        """Return an expression over M, N, K and constants of the file.

        Raises:
            UnknownLaunch: it depends on something else.
        """
        if number is None:
            raise UnknownLaunch(f"{what} is no arithmetic that cudamm reads")
        for expression, part in self.found.same_part.items():
            number = replace(number, text=renamed(number.text.replace(expression, part), {expression: part}))
        wholes = self.found.wholes.keys() & parse(number.text).names
        if wholes:
            rows = f"and each launch gets a part of {min(wholes)}"
            raise UnknownLaunch(f"{what} depends on {min(wholes)}, {rows}")
        values = constant_values(self.file)
        names = {name: str(values[name]) for name in ROLES if name in values}  # a tile may be called K too
        names |= {name: self.found.role(name) for name in self.found.roles}
        names |= {name: f"({names[name]} // {d})" for name, d in self.found.parts.items() if name in names}
        names |= dict.fromkeys(self.found.batches, "1")
        for name in self.found.batches & parse(number.text).names:
            self.assumed[name] = f"{self._in_file(name)} = 1: cudamm multiplies two matrices"
            self.left_out[_BATCH] = None
        known = {*names, *constants(self.file), "element"}
        for name in sorted(parse(number.text).names - known):
            of_tensor = self.found.role_of_tensor_size(name)
            if of_tensor:
                names[name] = of_tensor
                continue
            if self.found.same.get(name) in self.found.roles:
                names[name] = self.found.role(self.found.same[name])
                continue
            own = own_value(self.file, self.function, name)
            of_gpu = in_multiprocessors(self.file, self.function, name)
            value = self.statement.required_values.get(name, own)
            variable, _, member = name.partition("_")
            letter = self.found.letter_of(variable) or variable  # of `P_width`, the columns of C
            role = roles_in_name(f"{letter}_{member}", self.found.columns)
            if max(role.values(), default=0) >= STRONG:
                names[name] = next(iter(role))
                continue
            in_file = self._in_file(name)
            if value is not None and value != own and own is not None:
                self.assumed[name] = f"{in_file} = {value}, as the condition of this launch says"
            elif value is not None and is_chosen_by_user(self.file, self.function, name):
                self.assumed[name] = f"{in_file} = {value} unless its user chooses another"
                if name == in_file and with_variable_as_constant(self.file.text, name, value):
                    self.assumed[name] += f", as with -D {name}=…"
            elif value is not None and of_gpu:
                self.assumed[name] = (
                    f"{in_file} = {value} is assumed: another GPU may have more multiprocessors"
                )
            if value is None and self._is_chosen_edge(name):
                edge = "1" if name.endswith("_z") else self._edge_of_tiles()
                self.assumed[name] = f"{in_file} = {edge} is assumed: the file does not say its value"
                names[name] = edge
                continue
            if value is None:
                chosen = self._settable_variable(name)
                hint = f" (-D {chosen}=… chooses one)" if chosen else ""
                raise UnknownLaunch(f"{what} depends on {in_file}, whose value is not known{hint}")
            names[name] = of_gpu if self.is_of_gpu and of_gpu and value == own else str(value)
        text = renamed(number.text, names)
        of_batches = sorted(self.found.batches & parse(number.text).names)
        if of_batches and values_for(text, [values]) == [0]:  # no number of products is divided
            raise UnknownLaunch(f"{what} depends on {of_batches[0]}, whose value is not known")
        return text

    def _settable_variable(self, name: str) -> str:
        """Return the variable that `-D` can set for a launch that depends on a name; empty if there is none.

        It is the name itself, or a variable that is computed from it, as from a member of `cudaDeviceProp`.
        """
        text = text_of(self.function.node)
        computed = (
            variable
            for variable, value in self.function.first_values.items()
            if self._in_file(name) in text_of(value) and not re.search(rf"\bdim3\s+{variable}\b", text)
        )
        settable = (v for v in (name, *computed) if with_variable_as_constant(self.file.text, v, 1))
        return next(settable, "")

    def _is_chosen_edge(self, name: str) -> bool:
        """Return whether the program's user, or a caller in another file, chooses an edge of the block.

        Such a kernel works with any edge. A number of which the edge is computed may mean anything.
        """
        if not self.statement.configuration:
            return False
        whole = re.sub("_[xyz]$", "", name)
        value = self.function.values.get(name)
        is_result = value is not None and value.type == "call_expression"  # of a function that is not read
        chosen = {*self.function.parameter_names, *self.function.chosen_by_user}
        extents = Translation(self.file, self.function).extents(self.statement.configuration[1]) or ()
        is_edge = name in [extent.text for extent in extents]
        return is_edge and (is_result or not chosen.isdisjoint((name, whole)))

    def _in_file(self, name: str) -> str:
        """Return `grid.x` for `grid_x`, and `edges[i]` for `edges_i`, if that is how the file has it."""
        of_type = re.search(rf"(?:\w+::)*\w+<[^<>;{{}}()]*>::{name}\b", text_of(self.function.node))
        if of_type:  # `Tile<T>::value`
            return of_type[0]
        array, _, index = name.rpartition("_")
        element = re.search(rf"\b{array}\s*\[\s*{index}\s*\]", text_of(self.function.node))
        if array and element:
            return element[0]
        member = re.sub(r"_(?=[A-Za-z]+$)", ".", name)
        return member if member in text_of(self.function.node) else re.sub("_([xyz])$", r".\1", name)

    def entries(self) -> Iterator[str]:
        """Yield the instances that the program launches here, or names, which differ in types of elements."""
        given = self.statement.template_arguments or ""
        if not template_parameters(self.kernel):
            return
        own = self._entry()
        if {*re.findall(r"\w+", own)}.isdisjoint(template_parameters(self.function)):
            yield own
        for name in template_parameters(self.function):
            if re.search(rf"\b{name}\b", given):
                for argument in template_arguments(self.file, self.function, name):
                    if argument in BYTES:
                        yield self._entry({name: argument})
        yield from map(self._entry, _numbers_of_calls(self.file, self.function))
        macro = re.search(r"\bAT_DISPATCH_(\w+)\s*\(([^{]*)", text_of(self.function.node))
        if macro and "scalar_t" in given and re.search("FLOATING|ALL", macro[1]):
            yield self._entry({"scalar_t": "double"})
            for word, c_type in (("Half|HALF", "half"), ("BFloat16|BF16", "__nv_bfloat16")):
                if re.search(word, macro[0]):
                    yield self._entry({"scalar_t": c_type})
        passed = passed_by(self.function)
        for instance in passed.instances if passed else ():
            words, of_own = (re.findall(r"\w+", text) for text in (instance, own))
            if [w for w in words if w not in BYTES] == [w for w in of_own if w not in BYTES]:
                yield instance

    def _entry(self, chosen: Mapping[str, str] | None = None) -> str:
        """Return the kernel with its template arguments, in which variables of the host code have values.

        Args:
            chosen: the values of some names, before all others.
        """
        given = self.statement.template_arguments
        if given is None:
            types = [self._deduced_type(name) for name in template_parameters(self.kernel)]
            return (
                f"{self.statement.kernel}<{', '.join(types)}>" if types and all(types) else self.kernel.name
            )

        def value(name: re.Match[str]) -> str:
            if chosen and name[0] in chosen:
                return chosen[name[0]]
            if name[0] in template_parameters(self.function) and name[0] in self.function.values:
                return text_of(self.function.values[name[0]])
            if name[0] in constants(self.file) or name[0] in self.found.compiled_sizes():
                return name[0]
            if name[0] in template_parameters(self.function):
                return template_value(self.file, self.function, name[0]) or self._type_of(name[0])
            if text_of(self.function.values.get(name[0])) in ("true", "false"):
                return text_of(self.function.values[name[0]])
            number = own_value(self.file, self.function, name[0])
            if number is None and name[0] == "scalar_t":  # a macro of PyTorch sets it to each type
                return "float"
            return class_argument(self.file, self.function, name[0]) if number is None else str(number)

        arguments = re.sub(r"(?<![\w.:])[A-Za-z_]\w*", value, given)
        own = self.function.first_values.keys() - constants(self.file).keys() - self.found.roles.keys()
        if own & set(re.findall(r"\w+", arguments)):  # a variable of the host code, whose value is not known
            return self.kernel.name
        return f"{self.statement.kernel}<{arguments}>"

    def template_arguments(self) -> dict[str, str]:
        """Return the template arguments of the kernel that are one word, by their parameters."""
        given = [part.strip() for part in self._entry().partition("<")[2].removesuffix(">").split(",")]
        pairs = zip(template_parameters(self.kernel), given, strict=False)
        return {name: argument for name, argument in pairs if re.fullmatch(r"\w+", argument)}

    def _type_of(self, name: str) -> str:
        """Return the usual type for a template parameter that no call shows; else the name."""
        is_type = any(text_of(p.child_by_field_name("type")) == name for p in self.function.parameters)
        return _ELEMENTS[0] if is_type else name

    def _deduced_type(self, name: str) -> str:
        """Return what a template parameter is deduced from: the type of the matrices; empty for others."""
        for parameter, node in zip(self.found.parameters, self.kernel.parameters, strict=True):
            if parameter.is_pointer and text_of(node.child_by_field_name("type")) == name:
                passed = self.function.types.get(first_name(self.found.passed(parameter.name)), "")
                return passed if passed in _ELEMENTS else _ELEMENTS[0]
        return ""

    def _argument(self, place: int) -> str:
        parameter = self.found.parameters[place]
        letter = self.found.letters.get(parameter.name, "")
        if parameter.members:
            members = (
                letter
                if member.startswith("*")
                else self._role_of_member(self.found.member_name(parameter.name, member), member)
                + self._unit(rf"{parameter.name}\s*\.\s*{member}")
                for member in parameter.members
            )
            return "{" + ", ".join(members) + "}"
        if letter:
            return letter
        if parameter.name == self.found.addend:
            return "C"
        if parameter.name in self.found.scratch:
            return SCRATCH
        if parameter.is_scale:
            return parameter.name.lower()
        if parameter.is_real:
            return "0.0" if any(p.is_real for p in self.found.parameters[:place]) else "1.0"
        if place >= len(self.statement.arguments):
            raise self.found.lacks_argument(parameter.name)
        node = self.statement.arguments[place]
        name = self.found.literal_sizes.get(parameter.name) or size_name(self.function, node)
        if name in self.found.parts and name in self.found.roles:
            return f"{self.found.role(name)} // {self.found.parts[name]}"
        if name in self.found.roles:
            return self.found.role(name) + self._unit(parameter.name)
        try:
            text = self._text(self.found.translation.of(node), f"the argument {text_of(node)}")
        except UnknownLaunch:
            uses = [x for x in all_of(self.kernel.node, "identifier") if text_of(x) == parameter.name]
            if len(uses) > 1:
                raise
            return "0"  # the kernel only declares it
        return self._simplified(text)

    def _unit(self, parameter: str) -> str:  # a pattern, for `A.pitch`
        """Return ` * sizeof(element)` for a row length that a kernel takes in bytes."""
        code = text_of(self.kernel.node)
        inside = r"(?:(?!sizeof)[^;()]|\((?:(?!sizeof)[^;()])*\))*"
        moved = rf"\(\s*(?:const\s+)?char\s*\*\s*\)\s*(?:\w+|\([^()]*\)){inside}"  # `(char *)A + …`
        in_bytes = rf"\b{parameter}\s*/\s*sizeof|{moved}\b{parameter}\b(?!\s*\*\s*sizeof)"
        return " * sizeof(element)" if re.search(in_bytes, code) else ""

    def _role_of_member(self, name: str, member: str) -> str:
        if name not in self.found.roles:
            raise UnknownLaunch(f"the member {member} is no known size of a matrix")
        return self.found.role(name)

    def _configuration(self) -> Iterator[tuple[str, str]]:
        """Yield the fields of what is between `<<<` and `>>>` that are known."""
        grid, block, *rest = self.statement.configuration
        block_texts: list[str] = []
        for key, node in (("threads", block), ("grid", grid)):
            try:
                full = self._extents(node, key)
            except UnknownLaunch as reason:
                self.unknown = str(reason)
                break  # a grid is one for its block
            texts = [self._simplified(text) for text in full]
            if key == "grid":
                self.plain_grid = texts
                texts = self._over_sizes(texts, block_texts, full)
                if self.found.partial and any(parse(text).names.isdisjoint(ROLES) for text in texts[:2]):
                    self.unknown = "grid: each launch multiplies a part of the matrices, with a fixed grid"
                    break
                # `ceil(N / 16)` of whole numbers rounds down although its author wants to round up.
                pairs = zip(texts, full, strict=True)
                self.rounded_down = [
                    text for text, raw in pairs if not re.search(r"\bceil\(", raw) and self._is_empty(text)
                ]
                self.grid, self.grid_of_gpu = texts, self._grid_of_gpu(node, texts)
            while len(texts) > 1 and texts[-1] == "1":
                texts.pop()
            block_texts = texts
            yield key, ", ".join(texts)
        if rest and text_of(rest[0]) != "0":
            try:
                text = self._text(self.found.translation.of(rest[0]), "shared memory")
            except UnknownLaunch as reason:
                self.unknown = self.unknown or str(reason)
                return
            text = text.replace("sizeof(element)", self._size_of_other_type(rest[0]))
            yield "shared-bytes", self._simplified(text)

    def _grid_of_gpu(self, node: Node, grid: Sequence[str]) -> list[str]:
        """Return the extents that depend on the number of multiprocessors over it, beside the others."""
        self.is_of_gpu = True
        found = self._extents(node, "grid")
        self.is_of_gpu = False
        depends = [MULTIPROCESSORS in parse(text).names for text in found]
        return [text if d else own for text, own, d in zip(found, grid, depends, strict=True)] * any(depends)

    def _extents(self, node: Node, key: str) -> list[str]:
        """Return the extents of a grid or a block, the `key`, over M, N, K and constants of the file."""
        numbers = self.found.translation.extents(node)
        if not numbers:
            raise UnknownLaunch(f"{key}: {text_of(node)} is no arithmetic that cudamm reads")
        texts = [self._text(number, f"{key}: {text_of(node)}") for number in numbers]
        products = self.found.counted_products
        if products and key == "grid":
            texts[2] = "1"
            if not self.found.batches:
                self.assumed[products] = f"1 of {products} products: cudamm multiplies two matrices"
            self.left_out[_BATCH] = None
        return texts

    def _size_of_other_type(self, shared: Node) -> str:
        """Return the size of the type in `shared`, such as 2 for `sizeof(half)`, if the kernel lacks it."""
        function, names = self.found.translation.function, map(text_of, all_of(shared, "identifier"))
        values = (function.values.get(name) for name in names) if function else ()
        given = " ".join(map(text_of, (shared, *values)))
        types = {*re.findall(r"\bsizeof\s*\(\s*(\w+)\s*\)", given)}
        name = types.pop() if len(types) == 1 else ""
        is_used = re.search(rf"\b{name}\b", text_of(self.kernel.node) + self._entry()) is not None
        return "sizeof(element)" if is_used or name not in BYTES else str(BYTES[name])

    def _suggested_arguments(self) -> dict[str, str]:
        """Return the arguments, and zeros in C for a kernel that adds to it; nothing for unknown matrices.

        An unknown number is the only size that is no other argument, else the one that it is computed from,
        as in `min(64, rows - begin)`, else 0.
        """
        if not self.found.letters or not self.found.roles:
            return {}
        known: dict[int, str] = {}
        for place in range(len(self.found.parameters)):
            with contextlib.suppress(UnknownLaunch):
                known[place] = self._argument(place)
        places = range(len(self.found.parameters))
        missing = [role for role in ROLES if role not in known.values()]
        is_only = len(missing) == len(places) - len(known) == 1
        arguments = [
            known.get(place) or (missing[0] if is_only else self._size_in(place)) for place in places
        ]
        zeros = {"initial-c": "0"} if self._accumulates() else {}
        return {"args": ", ".join(arguments)} | zeros

    def _size_in(self, place: int) -> str:
        """Return M, N or K if it is the only size that an argument is computed from, else 0."""
        passed = self.statement.arguments[place : place + 1]
        names = {text_of(name) for node in passed for name in all_of(node, "identifier")}
        roles = {self.found.role(name) for name in names & self.found.roles.keys()}
        return roles.pop() if len(roles) == 1 else "0"

    def _over_sizes(self, grid: Sequence[str], block: Sequence[str], full: Sequence[str]) -> list[str]:
        """Return `N // 16` for a grid of 64 blocks of 16 threads in a program whose N is 1024.

        Args:
            full: the extents of the grid as the program computes them.
        """
        found = list(grid)
        values = constant_values(self.file)
        for axis, role in enumerate(self.found.roles_of_axes()):
            if axis >= min(len(grid), len(block)):
                break
            size = next((size for size, roles in self.found.roles.items() if role in roles), "")
            blocks, threads = (values_for(each[axis], [values]) for each in (grid, block))
            is_plain = parse(grid[axis]).names.isdisjoint(ROLES)
            if is_plain and blocks and threads and blocks[0] * threads[0] == self.found.own_size(size):
                is_rounded_up = "ceil(" in full[axis]  # as in `ceil(56 / 8)`
                form = "ceil({} / {})" if is_rounded_up else "{} // {}"
                found[axis] = form.format(role, bracketed(block[axis]))
        return found

    def _is_empty(self, extent: str) -> bool:
        """Return whether an extent is 0 for the smallest matrices, so that it is written for multiples."""
        return values_for(extent, [{**constant_values(self.file), "M": 1, "N": 1, "K": 1}]) == [0]

    def _simplified(self, text: str) -> str:
        return simplified(text, constant_values(self.file))

    def _limit_of_block(self, threads: str) -> list[str]:
        """Return the condition that a block as large as the matrix is allowed, as it is in the program."""
        expression = parse(" * ".join(f"({extent})" for extent in split_at_commas(threads)))
        used = [size for size, roles in self.found.roles.items() if expression.names & set(roles)]
        own = {role: self.found.own_size(size) for size in used for role in self.found.roles[size]}
        known = {role: size for role, size in own.items() if size is not None}
        known |= constant_values(self.file)
        number = evaluated({"threads": expression}, known).get("threads") if used else None
        is_allowed = number is not None and number <= MOST_THREADS
        return [f"{expression} <= {MOST_THREADS}"] if is_allowed else []

    def _conditions(self, threads: str, arguments: str, *, with_grid: bool = True) -> dict[str, str]:
        """Return the conditions on the sizes that the program relies on.

        Args:
            threads: those of a block; empty if they are not known.
            arguments: those of the kernel.
            with_grid: also the conditions under which the program's grid is large enough.
        """
        conditions = [
            f"{first} == {second}"
            for roles in self.found.roles.values()
            for first, second in itertools.pairwise(roles)
        ]
        multiples: dict[tuple[str, str], None] = {}
        extents = *(self.rounded_down if with_grid else ()), *split_at_commas(arguments)
        checked = self._checked_roles(extents)
        for extent in extents:
            whole = _QUOTIENT.fullmatch(extent)
            if whole and whole[1] in checked:
                continue  # a kernel for all sizes, and a launch that rounds down: a mistake
            for role, step in _QUOTIENT.findall(extent):
                multiples[role, step] = None
            for role, tile, tiles in _QUOTIENT_OF_TILES.findall(extent):
                multiples[role, f"({tile} * {tiles})"] = None
        for size, multiple in self._multiples(split_at_commas(threads)):
            multiples[size, multiple] = None
        conditions += [f"{role} == {size}" for role, size in self.found.numbers_of_kernel().items()]
        conditions += self._own_size_only(threads, arguments)
        conditions += self._limit_of_block(threads) if threads else []
        if with_grid and self.grid and threads and parse(threads.replace(",", " +")).names.isdisjoint(ROLES):
            # else the block covers the matrix
            conditions += self._limit_of_grid()
        conditions += self._conditions_of_launch()
        equal = {role: roles for roles in self.found.roles.values() for role in roles}
        constant = constant_values(self.file)
        named = {(role, str(constant[of])) for role, of in multiples if of in constant}
        has_tiles = any(self.found.body(self.found.in_kernel).tile_loops())
        # If the program breaks the rule for one extent of C, it is not written for whole blocks.
        broken = {m for role, m in multiples if role in "MN" and not self._own_sizes_are_multiples(role, m)}
        for role, multiple in multiples:
            is_named_too = (role, multiple) in named  # `TILE`, which is 16, beside 16
            is_broken = multiple in broken and (role in "MN" or not has_tiles)
            if not (is_named_too or is_broken) and self._own_sizes_are_multiples(role, multiple):
                conditions += [f"{each} % {multiple} == 0" for each in equal.get(role, (role,))]
        return {"requires": ", ".join(dict.fromkeys(conditions))} if conditions else {}

    def _checked_roles(self, extents: Iterable[str]) -> set[str]:
        """Return the sizes that a caller or a user chooses, and whose edges the kernel checks: `row < M`.

        All sizes whose edges it checks if the program's own is no multiple where one of the extents, such as
        `M // 16`, rounds it down, or if the grid rounds another size up for the same tile, as in
        `N // 16, ceil(M / 16)`.
        """
        in_kernel, code = self.found.in_kernel, text_of(self.kernel.node)
        inside = r"(?:[^()]|\([^()]*\))*"
        checked = {size for _, size in self.found.body(in_kernel).checks()}
        checked |= {
            s for s in in_kernel if re.search(rf"\bmin\s*\({inside}\b{s}\b|&&[^;|?]*<\s*{s}\b(?!\s*/)", code)
        }
        sizes = {in_kernel.get(name, "") for name in checked} & self.found.roles.keys()
        own = {role: self.found.own_size(size) for size in sizes for role in self.found.roles[size]}
        down, up = (
            {step for extent in extents for _, step in of.findall(extent)}
            for of, extents in ((_QUOTIENT, self.rounded_down), (_ROUNDED_UP, self.grid))
        )
        if down & up:
            return set(own)
        for quotient in filter(None, map(_QUOTIENT.fullmatch, extents)):
            whole, step = (
                own.get(quotient[1]),
                (values_for(quotient[2], [constant_values(self.file)]) or [0])[0],
            )
            if whole and step and whole % step:
                return set(own)
        chosen = (
            size
            for size in sizes
            if is_chosen_by_user(self.file, self.function, size)
            or (self.found.own_size(size) is None and looped_values(self.file, self.function, size) is None)
        )
        return {role for size in chosen for role in self.found.roles[size]}

    def _own_size_only(self, threads: str, arguments: str) -> Iterator[str]:
        """Yield that N and K are the program's own if the kernel has them as numbers: `const int width = 64`.

        A kernel that gets nothing from which it could know a size has that as a number too.
        """
        gets_sizes, numbers = self._gets_sizes(f"{arguments}, {threads}"), self.found.numbers_in_indices()
        for size, roles in self.found.roles.items():
            own = self.found.own_size(size)
            is_number = any(own in numbers.get(role, ()) for role in roles)
            if own and (is_number or not (gets_sizes or roles == ("M",))):
                why = "which the kernel has as a number" if is_number else "as the kernel gets no size"
                if not size.startswith(NUMBER):
                    self.assumed[size] = f"for {' = '.join(roles)} = {own} alone, {why}"
                yield f"{self.found.role(size)} == {own}"

    def _gets_sizes(self, texts: str) -> bool:
        """Return whether a kernel can know a size by an argument, a constant, the grid, or its block.

        Args:
            texts: its arguments and the extents of its block.
        """
        names = {text_of(node) for node in all_of(self.kernel.node, "identifier")}
        return (
            not names.isdisjoint({"gridDim", *device_variables(text_of(self.file.tree))})
            or re.search(rf"\b[{''.join(ROLES)}]\b", texts) is not None
            or bool(self.found.compiled_sizes())
        )

    def _limit_of_grid(self) -> Iterator[str]:
        """Yield the conditions that the program's own sizes are the largest for a grid of plain numbers."""
        body = self.found.body(self.found.in_kernel)
        is_for_any_size = "gridDim" in text_of(self.kernel.node) or body.shares_tiles_by_a_loop()
        if is_for_any_size or any(parse(extent).names for extent in self.grid):
            return
        is_checked = any(body.checks())
        for role in ("M", "N"):
            passed = [
                size for size in self.found.in_kernel.values() if role in self.found.roles.get(size, ())
            ]
            values = [own for own in map(self.found.own_size, passed) if own] or self._own_sizes(role)
            if values:  # of several, the kernel's own sizes are within the smallest
                own = min(values)
                yield f"{role} {'==' if own <= _LARGEST_FIXED and not is_checked else '<='} {own}"

    def _place_of_extents(self, place: int) -> str:
        """Return the line in which the variable of the grid, or of the block, gets its value; empty for none.

        Args:
            place: 0 for the grid, 1 for the block.
        """
        passed = passed_by(self.function)
        if passed:
            line = re.sub(r"\d+", str(passed.grid_line), place_of(self.statement.node), count=1)
            return line if place == 0 else ""
        return "".join(map(self._place_of_value, self.statement.configuration[place : place + 1]))

    def _place_of_value(self, variable: Node) -> str:
        """Return the line in which a variable of a C++ program gets its value, if it is computed; else ""."""
        if passed_by(self.function):
            return ""
        name, value = text_of(variable), self.function.values.get(text_of(variable))
        members = (self.function.values.get(f"{name}.{axis}") for axis in "xyz")
        value = next(filter(None, members), value)  # `grid.x = …;` after `dim3 grid(…);`
        if value is None:  # a struct: `d_C.width = …;`
            members = (v for v in self.function.first_values.values() if _is_of_member(v, name))
            value = next(members, None)
        if value is None or value.type == "number_literal":
            return ""
        if not is_inside(value, self.function.node):  # of `dim3 block(TILE, TILE)`, as `initialised` reads it
            declared = all_of(self.function.node, "function_declarator")
            value = next((node for node in declared if declared_name(node) == name), None)
        return place_of(value) if value else ""

    def _conditions_of_launch(self) -> Iterator[str]:
        """Yield conditions such as `M == N` and `N % 16 == 0` under which the program launches the kernel."""
        for node, holds in conditions_of(self.statement):
            number = self.found.translation.of(node)
            if number and not holds:  # `if (M % 16 != 0 || N % 16 != 0) … else` launch
                remainders = _REMAINDER.findall(number.text)
                is_all = len(remainders) == 1 + number.text.count(" or ")
                number = Number(" and ".join(f"{each} == 0" for each in remainders)) if is_all else None
            if number and re.search("==|%", number.text):
                assumed, of_sizes = dict(self.assumed), list[str]()
                with contextlib.suppress(UnknownLaunch):  # it depends on something else
                    text = self._text(number, "a condition").removeprefix("(").removesuffix(")")
                    conditions = parse(text).conjuncts()
                    of_sizes = [str(each) for each in conditions if not each.names.isdisjoint(ROLES)]
                yield from of_sizes
                if not of_sizes:  # such as `version == 0`, of which no field depends
                    self.assumed = assumed

    def _multiples(self, threads: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield sizes and what they are multiples of, by checks of the host code and loops of the kernel.

        Args:
            threads: the extents of a block, as far as they are known.
        """
        wmma = self.found.wmma
        whole = {role for name in wmma.by_column for role in DIMENSIONS[self.found.letters[name]]}
        for role, edge in zip(ROLES, wmma.tile, strict=False):  # a fragment is loaded and stored whole
            if role in whole and (edge.isdigit() or edge in constants(self.file)):
                yield role, edge
        for size, multiple in required_multiples(self.found.translation, self.found.roles):
            yield self.found.role(size), self._text(Number(multiple), "a condition")
        for size in self.found.roles:
            for caller, argument in callers_of(self.file, self.function, size):
                of_caller = required_multiples(Translation(self.file, caller), {text_of(argument)})
                for _, multiple in of_caller:
                    if multiple.isdigit() or multiple in constants(self.file):
                        yield self.found.role(size), multiple
        in_kernel = Translation(self.file, self.kernel, frozenset(self.found.in_kernel))
        for size, multiple in required_multiples(in_kernel, self.found.in_kernel):
            if self.found.in_kernel[size] in self.found.roles and multiple.isdigit():
                yield self.found.role(self.found.in_kernel[size]), multiple
        for size in self.found.roles:  # such as `int padded = blocks * TILE;`
            value = Translation(self.file, self.function).of(self.function.values.get(size))
            factor = re.fullmatch(r"\(.*\D.* \* (\w+)\)", value.text) if value else None
            if factor and (factor[1].isdigit() or factor[1] in constants(self.file)):
                yield self.found.role(size), factor[1]
        for name in sorted(self.found.used_constants - self.found.roles.keys()):
            number = Translation(self.file, kept=frozenset(self.found.roles)).of(self.file.value_of(name))
            quotient = re.fullmatch(r"\((\w+) // (\w+)\)", number.text) if number else None
            if (
                quotient and quotient[1] in self.found.roles
            ):  # a part of the matrix, such as `#define PART (K / 4)`
                yield self.found.role(quotient[1]), self._text(Number(quotient[2]), "a condition")
        for parameter, divisor in self.found.divisors.items():
            yield self.found.role(self.found.in_kernel[parameter]), divisor
        for name, width in _rows_of_vectors(text_of(self.kernel.node), self.found.in_kernel):
            own = self.found.own_size(self.found.in_kernel[name])
            if own and own % int(width) == 0 and self.found.in_kernel[name] in self.found.roles:
                yield self.found.role(self.found.in_kernel[name]), width
        body = self.found.body(self.found.in_kernel)
        arguments = self.template_arguments()
        checked = {size for _, size in body.checks()}
        of_block = {f"blockDim_{axis}": extent for axis, extent in zip("xyz", threads, strict=False)}
        for loop in body.tile_loops():
            name = self.found.in_kernel[loop.size]
            passed = [p.name for p in self.found.parameters if p.name == loop.step]
            number = self.found.translation.of(self.found.passed(loop.step)) if passed else None
            text = number.text if number else renamed(loop.step, arguments)
            text = of_block.get(text, text)
            is_known = parse(text).names <= constants(self.file).keys()
            is_needed = loop.loses_rest or (loop.size not in checked and not loop.is_of_thread)
            if name in self.found.roles and is_known and is_needed:
                yield self.found.role(name), text
        if checked:
            return
        # A kernel that checks nothing is written for multiples if its grid or its loop over K is.
        single = {self.found.in_kernel[size] for size in body.sizes_of_single_steps()}
        takes_each_k = any(self.found.role(size) == "K" for size in single & self.found.roles.keys())
        if self.rounded_down and not any(body.tile_loops()) and not takes_each_k:
            for extent in self.rounded_down:
                yield from (("K", step) for _, step in _QUOTIENT.findall(extent))
        elif any(body.tile_loops()):
            for extent in self.grid:
                yield from _ROUNDED_UP.findall(extent)

    def _own_sizes_are_multiples(self, role: str, multiple: str) -> bool:
        """Return whether the sizes of the program itself, as far as they are known, are multiples."""
        step = evaluated({"step": parse(multiple)}, constant_values(self.file)).get("step")
        sizes = [size for size, roles in self.found.roles.items() if role in roles]
        values = [self.found.own_size(size) for size in sizes]
        for size in sizes:
            values += looped_values(self.file, self.function, size) or ()
        values += [size[ROLES.index(role)] for size in self._sizes_of_ways]
        return step is None or all(value is None or value % step == 0 for value in values)


def _bytes_of_allocation(call: Node) -> Node | None:
    """Return the second argument of a `cudaMalloc`; None for other calls."""
    given = call.child_by_field_name("arguments")
    is_allocation = text_of(call.child_by_field_name("function")) == "cudaMalloc"
    return given.named_children[1] if given and is_allocation and given.named_child_count == 2 else None


def _rows_of_vectors(code: str, sizes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the row lengths in addresses of vectors, and the 4 of a `float4`, if no row may end in one.

    Args:
        code: of a kernel.
        sizes: the names in it that may be row lengths.
    """
    for cast in _VECTOR_CAST.finditer(code):
        depth, end = 0, cast.end()
        while end < len(code) and (depth or code[end] not in ";,)]"):
            depth += (code[end] in "([") - (code[end] in ")]")
            end += 1
        index = re.match(r"\)\s*\[[^;\]]*\]", code[end:])  # `((float4 *)B)[(k * N + col) / 4]`
        end += index.end() if index and re.search(rf"/\s*{cast[1]}\b", index[0]) else 0
        for name in sizes:
            part = rf"{name}\s*/\s*{cast[1]}\b"  # `B4[k * (N / 4) + col]`, and `int rows = N / 4;` for it
            in_vectors = [rf"\(\s*{part}\s*\)", *re.findall(rf"\b(\w+)\s*=\s*{part}\s*[,;]", code)]
            of_vectors = "|".join(rf"\*\s*{length}|{length}\s*\*" for length in in_vectors)
            is_row = re.search(rf"\*\s*{name}\b|\b{name}\s*\*", code[cast.end() : end])
            is_row = is_row or re.search(of_vectors, code)
            of_vector = rf"\+\s*(?:\d+|[A-Z]\w*)\s*(?:<=?|>=?)\s*{name}\b"  # `col + 3 < N`, not `k + y < K`
            ends = rf"\b{name}\s*(?:%|&(?!&))|{of_vector}|<=?\s*{name}\s*-"
            if is_row and not re.search(ends, code):
                yield name, cast[1]


def _real_member(file: SourceFile, function: Function, node: Node) -> Node | None:
    """Return the value of `p.alpha` after `Problem p = {64, 1.5f}`, or its default; None for none."""
    variable, _, member = text_of(node).partition(".")
    if node.type != "field_expression" or not member.isidentifier():
        return None
    struct = function.types.get(variable, "").split()[-1:]
    members = members_of_structs(file).get(struct[0], ()) if struct else ()
    given = function.first_values.get(variable)
    listed = given.named_children if given is not None and given.type == "initializer_list" else []
    for place, each in enumerate(listed):
        designator = each.child_by_field_name("designator")
        name = "".join(members[place : place + 1]) if designator is None else text_of(designator).strip(".")
        if name == member:
            return each.child_by_field_name("value") or each
    for declared in all_of(file.tree, "field_declaration") if member in members else ():
        if declared_name(declared.child_by_field_name("declarator")) == member:
            return declared.child_by_field_name("default_value")
    return None


def _real_number(file: SourceFile, function: Function, node: Node, levels: int = 3) -> float | None:
    """Return the number that an argument is, or that its variable or its parameter has first; else None.

    Args:
        levels: how many callers are asked at most; a function may call itself.
    """
    name = flat_name(node) if node.type == "field_expression" else text_of(node)
    value = function.values.get(name) or _real_member(file, function, node) or node
    text = text_of(value)
    found = re.fullmatch(r"(?:__float2half\w*\(|\((?:float|double)\)\s*)?(-?[\d.]+(?:e-?\d+)?)[fF]?\)?", text)
    if found is None:
        passed = callers_of(file, function, name) if levels else ()
        return _real_number(file, *passed[0], levels - 1) if passed else None
    try:
        return float(found[1])
    except ValueError:
        return None
