"""Prove the cause of a wrong product: a small change of the launch or of the kernel makes the product right.

A wrong kernel is launched again with its grid, its block or its arguments swapped, and with each change of
`source/kernel_changes.py`. The first change that gives the right product, in both orders of threads, names
the mistake. A right kernel cannot be accused in this way. Whatever a launch with the change no longer shows
follows from the mistake.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cudamm.analysis.array_elements import declared_extents
from cudamm.compile.host_compiler import Executable, compile_for_host
from cudamm.compile.process_group import CORES
from cudamm.compile.program import Program, program
from cudamm.devices.cpu_device import ProcessRun
from cudamm.devices.device import DamagedMemoryError, padded
from cudamm.devices.observation import Fault
from cudamm.devices.observe import observe
from cudamm.errors import KernelError, NoDeviceError, UsageError
from cudamm.execution.case import FIRST_LAUNCH_ONLY, Case
from cudamm.execution.judge import wrong_elements
from cudamm.execution.usual_causes import FEW_BLOCKS
from cudamm.kernels.header import ARRAY_FILE, TENSOR_MAP
from cudamm.kernels.launch_plan import Launch, StructValue, plan
from cudamm.kernels.method import SIZE_NAMES
from cudamm.kernels.parameter_types import parameter_names, parameters_of
from cudamm.kernels.problem import UNSCALED, Shape
from cudamm.kernels.usual_sizes import are_square_only, fixed_extents
from cudamm.source.c_definitions import source_file
from cudamm.source.c_text import dynamic_arrays_in, shared_arrays_in
from cudamm.source.changed_expression import KernelChange
from cudamm.source.expression import MOST_THREADS, Expression, parse, split_at_commas
from cudamm.source.host_code import WrittenBytes, shared_bytes_of_launch
from cudamm.source.kernel_changes import (
    ENDS_TOO_EARLY,
    NO_ZERO,
    OF_BYTES,
    ONCE_TOO_OFTEN,
    OTHER_CONDITION,
    SELECTED,
    STEP_OF_GRID,
    TAKEN_TWICE,
    TWO_INDICES,
    TWO_VARIABLES,
    WRONG_SIZE,
    axes_of_blocks,
    axes_of_threads,
    changes_of_clamped_loads,
    changes_of_extents,
    changes_of_guards,
    changes_of_macros,
    changes_of_missing_returns,
    changes_of_numbers,
    changes_of_shared_sums,
    changes_of_sums_in_loops,
    changes_of_tile_loads,
    changes_of_types,
    changes_of_unrolled_loops,
    kernel_changes,
    parts_of_sizes,
    sums_per_thread,
    vector_of_quotient,
    with_all_changes,
    with_change,
)
from cudamm.source.kernel_parameters import members_of_structs
from cudamm.source.matrix_roles import roles_in_name
from cudamm.source.parsed_source import device_variables
from cudamm.source.register_tile_changes import TWO_PLACES
from cudamm.source.simplified_expression import simplified

WITHIN_MATRIX = "access the element only if its row and column are within the matrix"
"""The cure of a missing bounds check."""

AND_CHECK = f", and {WITHIN_MATRIX}"
"""The second part of the cure of a grid that is rounded down, if the kernel has no bounds check."""

LONGEST_LAUNCH_S = 2.0
"""Time limit in seconds for one launch with a change."""

LONGEST_SEARCH_S = 20.0
"""Time after which no further change is tried, in seconds, on a machine that does nothing else."""

LONGEST_FURTHER_SEARCH_S = 5.0
"""Time in seconds to look for a change that is better than one that is right at multiples only."""

MOST_LOAD = 4.0
"""Maximum factor of that time on a machine with more processes than cores."""

SHORT_LAUNCH_S = 0.5
MOST_SLOWER = 10
"""A change is no cure if its launches take longer than `SHORT_LAUNCH_S` and than so many times the usual.

Such a change makes the step of a loop tiny; to watch all its accesses would take up the time of the search.
"""

MOST_WORK = 2**25
"""Maximum number of multiplications of a product that is tried."""

MOST_UNCLEAN = 5
"""Number of changes with a fault after which a search ends, if the product is right without a change too."""

LARGEST_EDGE = 32
"""Maximum edge of a square block of threads, in threads."""

LARGEST_COARSE_EDGE = 256
"""Maximum size for which a grid that is divided by the number of sums of a thread is tried."""

LARGEST_TILE = 128
"""Maximum edge of a tile of C, in elements, for which sizes of several tiles are tried."""


GRID_SWAPPED = "x and y of the grid are swapped"
"""Beginning of a mistake that does no harm where a grid has as many blocks in x as in y."""


def _end_of_search() -> float:
    """Return the time of `time.monotonic()` after which no further change is tried."""
    return time.monotonic() + LONGEST_SEARCH_S * _load()


def _load() -> float:
    """Return by how much longer a process may take than on a machine that does nothing else."""
    return min(max(os.getloadavg()[0] / CORES, 1.0), MOST_LOAD)


def _same_launch(launch: Launch) -> Launch:
    return launch


@dataclass(frozen=True)
class ProvenCause:
    """A change that makes a wrong product right.

    Attributes:
        mistake: what is wrong, in a sentence.
        cure: what to do about it.
        array: the array that is accessed wrongly; empty if it is not one array.
        file, line: place in the source as `Mistake` has it; line 0 if the mistake belongs to no line.
        change: the change of the kernel, and the text to which it belongs; None if only the launch changes.
        relaunched: returns a launch with the change.
        multiple: the change fits only sizes that are multiples of this number, such as the edge of a block.
        first: another mistake, perhaps with others before it, that is mended before.
    """

    mistake: str
    cure: str
    array: str = ""
    file: str = ""
    line: int = 0
    change: tuple[KernelChange, str] | None = None
    relaunched: Callable[[Launch], Launch] = _same_launch
    multiple: int = 1
    first: ProvenCause | None = None

    @property
    def all(self) -> tuple[ProvenCause, ...]:
        """Return the mistakes that were found before, and this one; two in one line as one."""
        *others, last = self.first.all if self.first is not None else (None,)
        if last is None:
            return (self,)
        if (self.file, self.line) != (last.file, last.line):
            return *others, last, self
        both = f"{last.mistake}; and {self.mistake}", f"{last.cure}; and {self.cure}"
        return *others, dataclasses.replace(self, mistake=both[0], cure=both[1])

    @property
    def place(self) -> tuple[str, int]:
        """Return its file and line, which no other mistake of `all` has."""
        return self.file, self.line

    @property
    def is_of_index(self) -> bool:
        """Return whether an index changes, and neither a condition nor the launch."""
        return self.change is not None and not self.change[0].is_condition

    @property
    def is_of_block(self) -> bool:
        """Return whether the block of the launch changes."""
        return self.change is None and self.mistake.startswith("the block has")

    @property
    def is_of_first_launch(self) -> bool:
        """Return whether only launches after the first of a process are wrong."""
        return self.mistake.startswith(FIRST_LAUNCH_ONLY)

    @property
    def has_change(self) -> bool:
        """Return whether a case can have the change; else it was proven where the mistake does no harm."""
        own = self.change is not None or self.relaunched is not _same_launch
        return own and (self.first is None or self.first.has_change)

    def shows_at(self, launch: Launch) -> bool:
        """Return whether the mistake may do harm: x and y of a grid of 2 x 2 blocks are alike."""
        return not self.mistake.startswith(GRID_SWAPPED) or launch.grid[0] != launch.grid[1]

    def belongs_to(self, text: str) -> bool:
        """Return whether a program's text is the changed one from the change on: macros before may differ."""
        if self.change is None:
            return True
        change, changed_text = self.change
        begin = min(start for start, _, _ in change.edits)
        return text.encode().endswith(changed_text.encode()[begin:])

    def fits(self, launch: Launch) -> bool:
        """Return whether a launch can have the change."""
        return not any(extent % self.multiple for extent in dataclasses.astuple(launch.shape)[:2])

    def applied(self, case: Case) -> Case:
        """Return a case with the change, after that of the other mistake.

        Raises:
            KernelError: the changed program does not compile.
        """
        if self.first is not None:
            case = self.first.applied(case)
        launch = None if case.launch is None else self.relaunched(case.launch)
        if self.change is None:
            return dataclasses.replace(case, launch=launch)
        text = with_change(case.program.text, *self.change)
        program = dataclasses.replace(case.program, text=text)
        return dataclasses.replace(case, launch=launch, program=program, compiled=compile_for_host(program))


def proven_cause(cases: Sequence[Case]) -> tuple[ProvenCause | None, int | None]:
    """Return the change that makes a wrong product right, and where the product is right without a change.

    Args:
        cases: cases of one variant on the CPU device whose products are wrong.

    Returns:
        None if no change is known that makes the product right; and the number of whose multiples M, N and K
        have to be for a right product, None if the product is wrong there too, or if this is not known.
    """
    case = next(filter(_may_try, filter(None, map(_unscaled, cases))), None)
    if case is None or case.launch is None:
        return None, None
    element = case.problem.element
    searched = case.variant, element.name, case.problem.seed, case.program.hash, case.launch.block
    if searched not in _found:
        _found[searched] = _search(case, case.launch)
    return _found[searched]


_found: dict[tuple[object, ...], tuple[ProvenCause | None, int | None]] = {}
"""Results of the searches of this process: the sizes that a search tries depend on no case's own."""


def _search(case: Case, of: Launch) -> tuple[ProvenCause | None, int | None]:
    end = _end_of_search()
    edge = math.lcm(*(edge for edge in _edges(case.program, of) if edge <= LARGEST_EDGE))
    if edge > LARGEST_TILE:  # a row of a tile is padded: 18 elements for 16
        edge = math.lcm(*of.block[:2])
    whole, ragged = _at_multiples(case, edge, 0), _at_multiples(case, edge, 1)
    for tiles in _FURTHER_TILES:
        if whole is None or ragged is None or not (is_right(whole) and is_right(ragged)):
            break
        for tried in whole, ragged:
            tried.problem.release()
        whole, ragged = (_at_multiples(case, edge, missing, tiles) for missing in (0, 1))
    try:
        if whole is None:
            return None, None
        if not is_right(whole):
            source = whole.program
            if device_variables(source.text) and _is_right_at_first(whole):
                return _kept_value(case), None
            of_usual = _of_text(whole, _is_in_bytes) or _of_coarse_grid(case, edge)
            of_usual = (
                of_usual or _of_launch(whole, _launch_changes) or _of_launch(whole, _other_rows_of_threads)
            )
            of_usual = of_usual or _of_declarations(whole, _loads_of_tiles(whole))
            types = changes_of_types(source.text, source.entry, whole.problem.element.c_name)
            of_usual = of_usual or _of_declarations(whole, types)
            numbers = changes_of_numbers(source.text, fixed_extents(case.variant).values())
            of_usual = of_usual or _of_declarations(whole, numbers)
            of_usual = of_usual or _of_declarations(whole, changes_of_macros(source.text, source.entry))
            whole = whole if of_usual else _with_fewer_blocks(whole)
            sums = changes_of_shared_sums(source.text, source.entry)
            of_usual = of_usual or _of_declarations(whole, sums)
            in_loops = changes_of_sums_in_loops(source.text, source.entry)
            of_usual = of_usual or _of_declarations(whole, in_loops)
            seen = [] if of_usual else _faults(whole) or []
            if any(fault.kind == "out-of-bounds" and fault.space == "global" for fault in seen):
                of_usual = _of_text(whole, _is_condition)  # few changes; all others may take the whole time
            if any(fault.kind == "race" or fault.space == "shared" for fault in seen):
                of_usual = of_usual or _of_launch(whole, _fewer_threads)
            of_usual = of_usual or _of_text(whole)
            if not any(fault.kind == "misaligned" for fault in seen):  # else any row may do
                of_usual = of_usual or _of_declarations(whole, changes_of_extents(source.text, source.entry))
            cause = of_usual or _of_launch(whole, _other_sizes) or _of_launch(whole, _other_blocks)
            if cause is None and time.monotonic() < end:  # a launch that crashes late takes its time
                cause = _of_like_sizes_and_another(whole)
            return (_of_several_edges(case, edge, cause) if cause and cause.has_change else cause), None
        faults = _faults(whole)
        if faults is None or faults:  # such as a loop past the end of a tile, into memory that is 0
            # Threads may write one element with one value.
            is_within = faults and all(f.space == "shared" or f.kind == "race" for f in faults)
            program = whole.program
            sums = changes_of_shared_sums(program.text, program.entry)
            # The processor runs one thread after another, so that such a sum may be right.
            cause = (
                (_of_declarations(whole, sums) or _of_text(whole, _is_step_of_grid)) if is_within else None
            )
            if cause is None and is_within:  # surplus threads may write what others write, in any order
                cause = _of_launch(whole, _other_rows_of_threads) or _of_launch(whole, _fewer_threads)
            cause = cause or _of_text(whole, _is_condition) or _of_text(whole, _is_in_bytes)
            if cause is None and is_within:
                cause = _of_launch(whole, _more_shared_memory) or _of_launch(whole, _blocks_of_used_axes)
                cause = cause or _of_text(whole)
            if cause is None and any(fault.kind == "index" for fault in faults or ()):
                cause = _of_declarations(whole, changes_of_extents(whole.program.text, whole.program.entry))
            return cause, None
        if ragged is None:  # rows of whole vectors or tiles are required, and a block may compute several
            cause = _of_vectors(case, edge)
            ragged = _planned_at(case, of.shape) if cause is None else None
            if ragged is not None:
                cause = _of_launch(ragged, _of_own_grid) or _without_any_check(ragged)
            return cause, None
        if is_right(ragged):
            if _has_no_fault(ragged):  # such as (K + TILE - 2) / TILE, which is wrong for one remainder alone
                found = None if is_right(case) else _of_text(case, _is_condition) or _of_two_conditions(case)
                return found, None
            return _of_text(ragged, _is_zero) or _of_text(ragged, _is_condition), None
        cause = _of_launch(ragged, _rounded_up) or _of_text(ragged, _is_condition)
        cause = cause or _of_vectors(case, edge) or _of_launch(ragged, _more_blocks)
        source = ragged.program
        sizes = _sizes_in_file(ragged)
        rests = changes_of_unrolled_loops(source.text, source.entry, sizes)
        clamped = changes_of_clamped_loads(source.text, source.entry, sizes)
        results = changes_of_missing_returns(source.text, source.entry)
        guards = changes_of_guards(source.text, source.entry, sizes)
        cause = cause or _of_declarations(ragged, itertools.chain(results, guards, rests, clamped))
        cause = cause or _without_last_tile(ragged, edge) or _without_any_check(ragged)
        cause = cause or _of_text(ragged) or _of_several_edges(case, edge)
        return cause, None if cause is None and _is_right_for_vectors(case, edge) else edge
    except (KernelError, NoDeviceError):
        return None, None
    finally:
        for tried in filter(None, (whole, ragged)):
            tried.problem.release()


def _of_like_sizes_and_another(whole: Case) -> ProvenCause | None:
    """Return two mistakes of a kernel, the second of which does no harm where sizes are alike.

    With M = N = K no row length is wrong. With M = N + 1, x and y of the grid are alike; M and N are not.
    """
    m, _, k = whole.problem.shape.extents
    edge = max(whole.problem.shape.extents)
    if are_square_only([whole.variant]) or edge > LARGEST_TILE:
        return None
    for equal, shape in ("M == N, N == K", Shape(edge, edge, edge)), ("M == N + 1", Shape(m, m - 1, k)):
        method = whole.variant.method
        required = (*method.requires, *map(parse, split_at_commas(equal)))
        variant = dataclasses.replace(whole.variant, method=dataclasses.replace(method, requires=required))
        case = _planned_at(dataclasses.replace(whole, variant=variant), shape)
        if case is None:
            continue
        try:
            first = None if is_right(case) else _of_launch(case, _launch_changes) or _of_text(case)
            second = first and (_of_launch(whole, _launch_changes, first) or _of_text(whole, first=first))
        finally:
            case.problem.release()
        if second:
            return second
    return None


def _of_two_conditions(case: Case) -> ProvenCause | None:
    """Return two conditions that a kernel lacks, the first of which ends its line's accesses beyond a matrix.

    So it is where the first tiles are loaded before the loop, and K is smaller than a tile.
    """
    lines = {fault.line for fault in _faults(case) or () if fault.kind == "out-of-bounds"}
    file = case.variant.method.path.name
    for change in _changes_of(case) if len(lines) > 1 else ():
        if not change.is_condition or change.file != file or change.line != min(lines):
            continue
        edited = change, case.program.text
        first = ProvenCause(change.mistake, change.cure, change.array, "", change.line, edited)
        try:
            left = _faults(first.applied(case))
        except KernelError:
            continue
        if left is not None and all(fault.line != change.line for fault in left):
            second = _of_text(case, _is_condition, first=first)
            if second is not None:
                return second
    return None


def _of_several_edges(case: Case, edge: int, known: ProvenCause | None = None) -> ProvenCause | None:
    """Return several mistakes of a kernel: at the ends of K, of M, and of N.

    Each is proven at sizes of which only that one is no multiple, with those that were found before mended.
    If the sizes are equal, only a grid and a number of tiles that are both rounded down are looked for.

    Args:
        known: the mistake of a kernel that is wrong at multiples too; it is returned if no other is found.
    """
    if are_square_only([case.variant]):
        return known or _of_two_quotients(case, edge)
    found = known
    for missing in (0, 0, 1), (1, 0, 0), (0, 1, 0):
        ragged = _at_multiples(case, edge, missing)
        if ragged is None:
            return known
        try:
            last = found if found is not None and found.has_change else known  # another is inferred
            mended = ragged if last is None else last.applied(ragged)
            if is_right(mended) and _has_no_fault(mended):
                continue
            cause = _of_edge(ragged, mended, edge, found)
        except KernelError:
            return known
        finally:
            ragged.problem.release()
        if cause is None:
            return known
        is_same = found is not None and not cause.has_change and cause.line == found.line
        found = found if is_same else cause
    return found if found is not None and _is_enough(found, case, edge) else known


def _is_enough(cause: ProvenCause, case: Case, edge: int) -> bool:
    """Return whether a change makes the product right where no size is a multiple; True if it is inferred."""
    ragged = _at_multiples(case, edge, 1) if cause.has_change else None
    if ragged is None:
        return True
    try:
        return is_right(cause.applied(ragged))
    except KernelError:
        return False
    finally:
        ragged.problem.release()


def _of_edge(ragged: Case, mended: Case, edge: int, first: ProvenCause | None) -> ProvenCause | None:
    """Return the mistake at the end of one size, with those that were found first."""
    of_conditions = functools.partial(_of_text, ragged, _is_condition, edge, first)
    if first is None:
        cause = _of_launch(ragged, _rounded_up) or of_conditions() or _of_launch(ragged, _of_own_grid)
        return cause or _without_last_tile(ragged, edge) or _without_any_check(ragged)
    if first.has_change and (cause := of_conditions() or _of_launch(ragged, _of_own_grid, first)):
        return cause
    is_end_of_k = mended.problem.shape.k % edge > 0
    last = _without_last_tile(mended, edge, is_known=True) if is_end_of_k else _without_any_check(mended)
    return last and dataclasses.replace(last, first=first)


def _of_two_quotients(case: Case, edge: int) -> ProvenCause | None:
    """Return a grid and a number of tiles that are both rounded down, of a kernel for square matrices."""
    ragged = _at_multiples(case, edge, 1)
    if ragged is None or ragged.launch is None:
        return None
    try:
        for grid in _of_own_grid(ragged, ragged.launch):
            cause = _of_text(ragged, _is_condition, first=_in_program(grid, case))
            if cause is not None:
                return cause
        first = _without_last_tile(ragged, edge, is_known=True)
        without_check = first and _without_any_check(ragged, ends_early=True)
        return without_check and dataclasses.replace(without_check, first=first)
    except KernelError:
        return None
    finally:
        ragged.problem.release()


def _with_fewer_blocks(case: Case) -> Case:
    """Return a wrong case at a shape with 2 x 3 blocks, whose launches are short; else the case."""
    assert case.launch is not None  # noqa: S101 - `_may_try` looked at it
    (x, y), shape = case.launch.grid[:2], case.launch.shape
    if shape.m % y or shape.n % x or (x <= 3 and y <= 2):
        return case
    fewer = Shape(shape.m // y * min(y, 2), shape.n // x * min(x, 3), shape.k)
    smaller = _planned_at(case, fewer)
    if smaller is None or smaller.launch is None or smaller.launch.shape != fewer:
        return case
    is_alike = smaller.launch.grid[:2] == (min(x, 3), min(y, 2)) and len(set(fewer.extents)) == 3
    if not is_alike or is_right(smaller):
        return case
    case.problem.release()
    return smaller


def _of_vectors(case: Case, edge: int) -> ProvenCause | None:
    """Return the condition that makes a kernel of vectors right where its sizes are multiples of these."""
    ragged = _at_vectors(case, edge)
    if ragged is None:
        return None
    try:
        return None if is_right(ragged) else _of_text(ragged, _is_condition)
    finally:
        ragged.problem.release()


def _is_right_for_vectors(case: Case, edge: int) -> bool:
    """Return whether a kernel of vectors is right where its sizes are multiples of these only."""
    ragged = _at_vectors(case, edge)
    if ragged is None:
        return False
    try:
        return is_right(ragged) and _has_no_fault(ragged)
    finally:
        ragged.problem.release()


def _at_vectors(case: Case, edge: int) -> Case | None:
    """Return a case at sizes that are multiples of the kernel's vectors only; None without vectors."""
    width = _vector_width(case.program)
    return _at_multiples(case, edge, width) if width > 1 else None


def _vector_width(source: Program) -> int:
    """Return the number of elements of the kernel's longest vectors, 1 without any."""
    widths = re.findall(r"\b(?:float|double|int|half)([24])\b", source.text)
    return max(map(int, widths), default=1)


_FURTHER_TILES = ((4, 3, 2), (8, 9, 2))
"""Numbers of tiles along M, N and K if a product is right with fewer.

A bound such as col < k shows only where N is larger than K, and what a block leaves for its next tile only
where there are more tiles than blocks.
"""


def _at_multiples(
    case: Case, edge: int, missing: int | tuple[int, int, int], tiles: tuple[int, int, int] = (2, 3, 4)
) -> Case | None:
    """Return a case at sizes of which each needs another number of tiles, with several blocks if it can.

    The sizes of a kernel for square matrices are equal.

    Args:
        edge: the sizes are multiples of this number.
        missing: how many elements the sizes are smaller, or how many M, N and K are.
        tiles: numbers of tiles along M, N and K.

    Returns:
        None if the variant cannot be launched at such sizes, or if they would be too large.
    """
    edges = [edge if edge > 1 else LARGEST_EDGE // 2]
    while edges[-1] < LARGEST_TILE:
        edges.append(2 * edges[-1])
    (m, n, k), depth = tiles, math.lcm(edges[0], *_parts_of_k(case))
    less_m, less_n, less_k = missing if isinstance(missing, tuple) else (missing,) * 3
    shapes = [Shape(m * e - less_m, n * e - less_n, k * depth - less_k) for e in edges]
    shapes += [Shape(3 * e - less_m, 3 * e - less_n, 3 * e - less_k) for e in edges]
    found: list[Case] = []
    for shape in shapes:
        planned = _planned_at(case, shape)
        if planned is None or planned.launch is None:
            continue
        sizes = dataclasses.astuple(planned.launch.shape)
        is_ragged = shape == planned.launch.shape or not missing
        is_usual = len(set(sizes)) == 3 or shape in shapes[-len(edges) :]
        if is_ragged and math.prod(sizes) <= MOST_WORK and is_usual:
            found.append(planned)
    if not found and not missing and fixed_extents(case.variant):
        own = _planned_at(case, case.problem.shape)  # the kernel is for this size alone
        return own if own is not None and case.problem.shape.work <= MOST_WORK else None
    several = (of for of in found if of.launch is not None and min(of.launch.grid[:2]) > 1)
    return next(several, found[0] if found else None)


def _parts_of_k(case: Case) -> list[int]:
    """Return the numbers by which a launch divides K, as in `K // 128` blocks in z."""
    method, shape = case.variant.method, case.problem.shape
    texts = (*method.arguments, *map(str, method.grid))
    divisors = {divisor for text in texts for divisor in re.findall(r"\bK // (\w+)", text)}
    names = case.variant.names(case.problem.element, *shape.extents)
    values = (parse(divisor).whole(names) for divisor in divisors if parse(divisor).names <= names.keys())
    return [value for value in values if 0 < value <= LARGEST_COARSE_EDGE]


def _planned_at(case: Case, shape: Shape) -> Case | None:
    """Return a case at another shape, not compiled; None if it cannot be launched at that."""
    problem = dataclasses.replace(case.problem, shape=shape)
    try:
        launch = plan(case.variant, shape, problem.element, problem.scale)
        text = program(case.variant, problem.element, case.fmad, shape)
    except (KernelError, UsageError):
        return None
    return dataclasses.replace(case, problem=problem, launch=launch, program=text)


def _unscaled(case: Case) -> Case | None:
    """Return a case with alpha 1 and beta 0, where causes are looked for; None if it has no launch there."""
    problem = case.problem
    if problem.scale == UNSCALED or case.launch is None:
        return case
    without = dataclasses.replace(case, problem=dataclasses.replace(problem, scale=UNSCALED))
    return _planned_at(without, problem.shape)


def is_right(case: Case) -> bool:
    """Return whether a case gives the right product, in both orders of threads."""
    with _Trials(case) as trials:
        return trials.is_right()


def product_of(case: Case) -> bytes | None:
    """Return the bytes of the product of a case, right or wrong; None if a launch has none."""
    with _Trials(case) as trials:
        return trials.product()


def _may_try(case: Case) -> bool:
    launch = case.launch
    return (
        launch is not None
        and case.variant.method.language == "cuda"
        and case.on_host
        and case.problem.scale == UNSCALED
        and not isinstance(case.compiled, KernelError)
    )


class _Trials:
    """Launches of a case with changes.

    Attributes:
        took_s: the time in seconds that the last call of `is_right` took.
    """

    def __init__(self, case: Case) -> None:
        assert case.launch is not None  # noqa: S101 - `_may_try` looked at it
        self._case, self._problem, self._launch = case, case.problem, case.launch
        self._inputs = padded(case.launch, *case.problem.inputs)
        self._deadline = _end_of_search()
        self.took_s = 0.0
        self._run: ProcessRun | None = None
        self._run_of: tuple[Program, Launch] | None = None
        self._compiled: dict[Program, Executable] = {}

    def __enter__(self) -> _Trials:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._run is not None:
            self._run.close()
        self._run = None

    def is_right(
        self,
        launch: Launch | None = None,
        source: Program | None = None,
        selected: int | None = None,
        within: tuple[int, int] | None = None,
    ) -> bool:
        """Return whether a launch gives the right product, in both orders of threads.

        Args:
            within: judge only so many rows and columns of C.
        """
        begin = time.monotonic()
        if begin > self._deadline:
            return False
        launch, source = launch or self._launch, source or self._case.program
        try:
            if self._run is None or self._run_of != (source, launch):
                self._close()
                if source not in self._compiled:  # even the cache takes longer than a launch
                    self._compiled[source] = compile_for_host(source)
                self._run = ProcessRun(
                    source, self._compiled[source], launch, *self._inputs, CORES,
                    timeout_s=LONGEST_LAUNCH_S, shows_output=False,
                )  # fmt: skip
                self._run_of = source, launch
            if selected is not None:
                self._run.ask(f"constant {SELECTED} {selected}")
            return all(self._is_right_once(self._run, order, within) for order in (False, True))
        except KernelError:
            self._close()
            return False
        finally:
            self.took_s = time.monotonic() - begin

    def is_right_at_first(self, descending: bool) -> bool:
        """Return whether the first launch of a new process gives the right product."""
        try:
            return self._is_right_once(self._new_run(), descending, None)
        except KernelError:
            return False

    def product(self) -> bytes | None:
        """Return the bytes of the product; None if the launch did not finish."""
        try:
            run = self._new_run(workers=1)  # blocks in order: two may write one element
            run.prepare_output(self._problem)
            with contextlib.suppress(DamagedMemoryError):  # what it wrote beyond C is not of the product
                run.launch(False)
            return run.product().tobytes()
        except KernelError:
            return None

    def _new_run(self, workers: int = CORES) -> ProcessRun:
        source, executable = self._case.program, compile_for_host(self._case.program)
        self._run = ProcessRun(
            source, executable, self._launch, *self._inputs, workers,
            timeout_s=LONGEST_LAUNCH_S, shows_output=False,
        )  # fmt: skip
        return self._run

    def _is_right_once(self, run: ProcessRun, descending: bool, within: tuple[int, int] | None) -> bool:
        run.prepare_output(self._problem)
        run.launch(descending)
        m, n = within or (self._problem.shape.m, self._problem.shape.n)
        return not wrong_elements(run.product()[:m, :n], self._problem).any()


# Changes of the launch.


def _of_launch(
    case: Case,
    changes: Callable[[Case, Launch], Iterator[ProvenCause]],
    first: ProvenCause | None = None,
) -> ProvenCause | None:
    """Return the first change of the launch that gives the right product.

    Args:
        first: a mistake of the case, which is mended before.
    """
    mended = case if first is None else first.applied(case)
    launch = mended.launch
    assert launch is not None  # noqa: S101 - `_may_try` looked at it
    with _Trials(mended) as trials:
        for change in changes(mended, launch):
            cause = dataclasses.replace(change, first=first)
            if first is not None:
                tried = cause.mistake.replace(": tried at ", ": tried with the other mistake mended at ")
                cause = dataclasses.replace(cause, mistake=tried)
            relaunched = cause.relaunched(launch)
            if not (trials.is_right(relaunched) and _is_clean(cause, case)):
                continue
            if _is_right_at_other_sizes(cause, case):
                return _in_program(cause, case)
    return None


def _in_program(cause: ProvenCause, case: Case) -> ProvenCause:
    """Return a cause of the launch with its place, and its cure in the words of the program."""
    method = case.variant.method
    file, line = (cause.file, cause.line) if cause.line else method.shown_at(cause.mistake)
    return dataclasses.replace(cause, file=file, line=line, cure=method.in_host_code(cause.cure))


def _of_coarse_grid(case: Case, edge: int) -> ProvenCause | None:
    """Return a grid that is divided by the number of sums of a thread, if the launch leaves that out."""
    text = case.program.text
    for name, factor in sums_per_thread(text, case.program.entry).items():
        extent = 2 * edge * factor
        if factor <= 1 or extent > LARGEST_COARSE_EDGE:
            continue
        for shape in (Shape(extent, extent, extent), Shape(extent, 2 * extent, edge)):
            tried = _planned_at(case, shape)
            if tried is not None and tried.launch is not None and tried.launch.shape == shape:
                of_grid = functools.partial(_divided_grids, name=name, factor=factor, multiple=edge * factor)
                try:
                    return _of_launch(tried, of_grid)
                finally:
                    tried.problem.release()
    return None


def _divided_grids(
    case: Case, launch: Launch, name: str, factor: int, multiple: int
) -> Iterator[ProvenCause]:
    """Yield the grid divided by a factor in x, in y, and in both."""
    for axes in ((0,), (1,), (0, 1)):
        if any(launch.grid[axis] % factor for axis in axes):
            continue

        def divided(given: Launch, axes: tuple[int, ...] = axes) -> Launch:
            x, y, z = (-(-n // factor) if axis in axes else n for axis, n in enumerate(given.grid))
            return dataclasses.replace(given, grid=(x, y, z))

        along = " and ".join("xy"[axis] for axis in axes)
        value = "" if name.isdigit() else f" = {factor}"
        yield ProvenCause(
            f"the grid has {factor} times too many blocks in {along}: each thread computes several sums "
            f"({name}{value}), and the launch does not divide the grid by it",
            f"divide the number of blocks in {along} by {name} at the launch", "C",
            relaunched=divided, multiple=multiple,
        )  # fmt: skip


def _launch_changes(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield the usual mistakes of a launch, the likeliest first."""

    def swapped(extents: tuple[int, int, int]) -> tuple[int, int, int]:
        return extents[1], extents[0], extents[2]

    yield from _more_shared_memory(case, launch)
    yield from _blocks_of_used_axes(case, launch)
    yield from _blocks_in_z(case, launch)
    (gx, gy, _), (bx, by, _) = launch.grid, launch.block
    if gx != gy:
        yield ProvenCause(
            f"{GRID_SWAPPED}: tried at {launch.shape}, where it has {gx} x {gy} blocks, the "
            f"product is right with {gy} x {gx}",
            "swap x and y of the grid at the launch, or swap blockIdx.x and blockIdx.y in the kernel",
            relaunched=lambda given: dataclasses.replace(given, grid=swapped(given.grid)),
        )  # fmt: skip
    if bx != by:
        yield ProvenCause(
            f"x and y of the block are swapped: it has {bx} x {by} threads, and the product is right with "
            f"{by} x {bx}",
            "swap x and y of the block at the launch, or swap threadIdx.x and threadIdx.y in the kernel",
            relaunched=lambda given: dataclasses.replace(given, block=swapped(given.block)),
        )  # fmt: skip
    yield from _grids_of_other_sizes(case)
    if bx != by and gx != gy:
        yield ProvenCause(
            f"x and y are swapped in the grid and in the block: tried at {launch.shape}, where there "
            f"are {gx} x {gy} blocks of {bx} x {by} threads, the product is right with {gy} x {gx} of "
            f"{by} x {bx}",
            "swap x and y at the launch, or in the kernel",
            relaunched=lambda given: dataclasses.replace(
                given, grid=swapped(given.grid), block=swapped(given.block)
            ),
        )  # fmt: skip
    yield from _other_orders(case, launch)
    yield from _members_of_structs(case, launch)
    yield from _other_sizes(case, launch, are_named=True)
    yield from _blocks_like_tiles(case, launch)


def _grids_of_other_sizes(case: Case) -> Iterator[ProvenCause]:
    """Yield grids with another size in x, in y, and in both: N / 32 for K / 32."""
    method = case.variant.method
    grid = [extent.text for extent in method.grid[:2]]
    named = [{*re.findall(r"\b[MNK]\b", text)} for text in grid]
    if len(grid) < 2 or any(len(names) != 1 for names in named):
        return
    sizes = dict.fromkeys([("N", "M"), ("M", "N"), *itertools.product("NMK", repeat=2)])
    for x, y in ([re.sub(r"\b[MNK]\b", *each) for each in zip(pair, grid, strict=True)] for pair in sizes):
        if [x, y] == grid:
            continue

        def resized(given: Launch, x: str = x, y: str = y) -> Launch:
            names = case.variant.names(case.problem.element, *given.shape.extents)
            return dataclasses.replace(
                given, grid=(parse(x).whole(names), parse(y).whole(names), given.grid[2])
            )

        old, new = (method.with_own_sizes(" x ".join(texts).replace("//", "/")) for texts in (grid, (x, y)))
        sizes_of_new = [{*re.findall(r"\b[MNK]\b", text)} for text in (x, y)]
        is_swap = sizes_of_new == named[::-1] != named
        what = "the two sizes in the grid are swapped" if is_swap else "the grid has another size than C"
        yield ProvenCause(
            f"{what}: {old} blocks instead of {new}",
            f"launch {new} blocks", relaunched=resized,
            multiple=math.lcm(*case.launch.block[:2]) if case.launch and "//" in x + y else 1,
        )  # fmt: skip


def _more_shared_memory(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield as many bytes of dynamic shared memory as the kernel uses, if the launch gives fewer."""
    dynamic = dynamic_arrays_in(case.program.text)
    if not dynamic:
        return
    most = dataclasses.replace(launch, shared_bytes=case.target.limits.shared_bytes_per_block)
    try:
        seen = observe(case.program, most, *padded(launch, *case.problem.inputs), checked=True)
    except KernelError:
        return
    reaches = [reach for reach in seen.reaches if reach.array in dynamic]
    given, used = launch.shared_bytes, max((reach.end for reach in reaches), default=0)
    if used <= given:
        return
    element = case.problem.element
    # The last row may end with elements that no thread uses.
    is_of_elements = given * (element.size_bytes - 1) < used <= given * element.size_bytes
    times = element.size_bytes if is_of_elements else used // given if given and used % given == 0 else 0
    (file, line), method = case.variant.method.launched_at, case.variant.method
    written = shared_bytes_of_launch(method.source, line) if line and not file else WrittenBytes()
    cure, is_number = f"let the launch give {times * given or used:,} bytes", written.text.isdigit()
    if times == element.size_bytes and not is_number and "sizeof" not in written.text:
        cure += f": multiply their number by sizeof({element.c_name}), which is {times}"
    elif times and written.text and not is_number:
        bytes_ = " ".join(written.text.split())
        cure = f"let the launch give {times} * ({bytes_}) bytes, here {times * given:,}"
    elif times:
        cure += f", {times} times as many"
    place = f" ({written.variable} in line {written.line})" if written.line else ""
    if written.variable and not written.line:
        cure += f"; {written.variable} itself stays, as the kernel takes it too"

    def enlarged(given: Launch) -> Launch:
        return dataclasses.replace(given, shared_bytes=times * given.shared_bytes or used)

    yield ProvenCause(
        f"the launch gives each block {given:,} bytes of dynamic shared memory{place}, and the kernel, "
        f"tried at {launch.shape}, uses {used:,} of {reaches[0].array}",
        cure, reaches[0].array, relaunched=enlarged,
    )  # fmt: skip


def _blocks_of_used_axes(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield blocks with all threads in x for a kernel without threadIdx.y, and with y for one that has it."""
    bx, by, bz = launch.block
    axes = axes_of_threads(case.program.text, case.program.entry)
    has = f"the block has {bx} x {by} threads, and the kernel uses"
    if axes == {"x"} and by > 1 == bz:
        has += " threadIdx.x only: threads that differ in y compute the same"
        for x, threads in ((bx * by, f"{bx} * {by} threads"), (bx, f"{bx} threads")):
            for fitted, of_grid in _GRIDS_IN_X:

                def in_x(given: Launch, x: int = x, fitted: _Grid = fitted) -> Launch:
                    grid = (*fitted(given, x), given.grid[2])
                    return dataclasses.replace(given, grid=grid, block=(x, 1, 1))

                yield ProvenCause(
                    has,
                    f"launch {threads} in x and 1 in y{of_grid.format(x)}; or use threadIdx.y in the kernel",
                    relaunched=in_x,
                )
    elif axes == {"x", "y"} and by == bz == 1:
        edge = math.isqrt(bx)
        for x, y in ((edge, edge), (bx, bx), (LARGEST_EDGE, bx // LARGEST_EDGE)):
            if x * y not in (bx, bx * bx) or y == 1:
                continue

            def with_y(given: Launch, x: int = x, y: int = y) -> Launch:
                return dataclasses.replace(given, block=(x, y, 1))

            yield ProvenCause(
                f"{has} threadIdx.y, which is always 0", f"launch blocks of {x} x {y} threads",
                relaunched=with_y,
            )  # fmt: skip


_Grid = Callable[[Launch, int], tuple[int, int]]

_GRIDS_IN_X: tuple[tuple[_Grid, str], ...] = (
    (lambda given, x: given.grid[:2], ""),
    (lambda given, x: (given.grid[0], 1), ", and 1 block in y"),
    (lambda given, x: (-(-given.shape.n // x), given.grid[1]), ", and ceil(N / {}) blocks in x"),
    (lambda given, x: (-(-given.shape.n // x), 1), ", and ceil(N / {}) blocks in x and 1 in y"),
    (lambda given, x: (-(-given.shape.m // x), 1), ", and ceil(M / {}) blocks in x and 1 in y"),
    (lambda given, x: (-(-given.shape.m * given.shape.n // x), 1), ", and ceil(M * N / {}) blocks"),
)
"""Grids for blocks of `x` threads in one row, and what a cure says of each."""


def _blocks_in_z(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield as many blocks in z as parts into which the kernel divides a size, if the launch has one in z."""
    for name, parts in parts_of_sizes(case.program.text, case.program.entry).items():
        if launch.grid[2] > 1 or parts > LARGEST_COARSE_EDGE:
            continue

        def with_parts(given: Launch, parts: int = parts) -> Launch:
            return dataclasses.replace(given, grid=(*given.grid[:2], parts))

        value = "" if name.isdigit() else f" = {parts}"
        yield ProvenCause(
            f"{FEW_BLOCKS} in z: each computes one of {name}{value} parts of the sums, the one of its "
            "blockIdx.z, and the grid has 1 block in z",
            f"launch {name} blocks in z, dim3 grid(…, …, {name})", relaunched=with_parts,
        )  # fmt: skip


def _fewer_blocks(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield grids with a block less in x, in y, and in both: the usual surplus of `N / 16 + 1` blocks."""
    (gx, gy, _), (bx, by, _) = launch.grid, launch.block
    for less_x, less_y in ((1, 0), (0, 1), (1, 1)):
        if gx > less_x and gy > less_y:

            def fewer(given: Launch, x: int = less_x, y: int = less_y) -> Launch:
                return dataclasses.replace(given, grid=(given.grid[0] - x, given.grid[1] - y, given.grid[2]))

            yield ProvenCause(
                f"tried at {launch.shape}, the grid has {gx} x {gy} blocks, and {gx - less_x} x "
                f"{gy - less_y} cover C",
                WITHIN_MATRIX,
                relaunched=fewer, multiple=math.lcm(bx, by),
            )  # fmt: skip


def _more_blocks(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield grids whose blocks, or tiles, cover C: first the program's own if that is rounded down.

    Of others, the fewest blocks come first: more than C needs may give a right product too.
    """
    own = case.variant.method.with_own_sizes
    yield from _of_own_grid(case, launch)
    others = [*_grids_of_whole_sizes(case, launch), *_covering_grids(case, launch)]
    yield from sorted(others, key=lambda cause: math.prod(cause.relaunched(launch).grid))
    if launch.grid[1] == launch.block[1] == 1:  # a thread for each element, counted through the rows
        threads = launch.block[0]

        def of_elements(given: Launch) -> Launch:
            return dataclasses.replace(
                given, grid=(-(-given.shape.m * given.shape.n // threads), 1, given.grid[2])
            )

        elements, blocks = launch.shape.m * launch.shape.n, of_elements(launch).grid[0]
        if blocks > launch.grid[0]:
            yield ProvenCause(
                f"{FEW_BLOCKS}: tried at {launch.shape}, {launch.grid[0]} blocks have fewer threads than C "
                f"has elements, {elements:,}, and the product is right with {blocks}",
                own(f"launch ceil(M * N / {threads}) blocks"), relaunched=of_elements,
            )  # fmt: skip


def _of_own_grid(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield the program's own grid, rounded up, if it is rounded down."""
    gx, gy, _ = launch.grid
    names = case.variant.names(case.problem.element, *launch.shape.extents)
    extents = case.variant.method.grid[:2]
    down = [each for each in extents if re.search(r"[MN] // ", each.text) and each.rounds_down(names)]
    if down:

        def rounded(given: Launch) -> Launch:
            names = case.variant.names(case.problem.element, *given.shape.extents)
            up = (*(extent.rounded_up().whole(names) for extent in case.variant.method.grid), 1, 1)
            return dataclasses.replace(given, grid=(up[0], up[1], given.grid[2]))

        x, y, _ = rounded(launch).grid
        yield ProvenCause(
            f"{FEW_BLOCKS}: tried at {launch.shape}, where it has {gx} x {gy}, the product is right with "
            f"{x} x {y}",
            case.variant.rounded_up(down), relaunched=rounded,
        )  # fmt: skip


def _grids_of_whole_sizes(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield the program's own grid with a size that it divides once more than by a tile: N for N / 4."""
    variant, grid = case.variant, case.variant.method.grid[:2]
    options = [[extent, *(whole for *_, whole in extent.with_whole_sizes())] for extent in grid]
    for chosen in itertools.product(*options):

        def whole(given: Launch, chosen: Sequence[Expression] = chosen) -> Launch:
            names = variant.names(case.problem.element, *given.shape.extents)
            blocks = (math.ceil(extent.value(names)) for extent in chosen)
            x, y = (*blocks, given.grid[1])[:2]
            return dataclasses.replace(given, grid=(x, y, given.grid[2]))

        names = variant.names(case.problem.element, *launch.shape.extents)
        larger = whole(launch).grid[:2]
        why = variant.why_too_few(names, larger)
        if why and larger != launch.grid[:2]:
            numbers = {name: value for name, value in names.items() if name not in SIZE_NAMES}
            blocks = " x ".join(simplified(extent.text, numbers) for extent in chosen)
            (gx, gy), (x, y) = launch.grid[:2], larger
            yield ProvenCause(
                f"{FEW_BLOCKS}: tried at {launch.shape}, where it has {gx} x {gy}, the product is right with "
                f"{x} x {y} ({why})",
                variant.method.with_own_sizes(f"launch {blocks} blocks"), relaunched=whole,
            )  # fmt: skip


def _covering_grids(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield grids whose blocks cover C if each computes as many columns and rows as the block or a tile."""
    own, (gx, gy, _) = case.variant.method.with_own_sizes, launch.grid
    bx, by = launch.block[:2]
    of_threads = {edge * sums for edge in (bx, by) for sums in (2, 4, 8)}  # a thread may compute several sums
    edges = sorted({edge for edge in {*_edges(case.program, launch)} | of_threads if edge > 1})
    if "y" not in axes_of_blocks(case.program.text, case.program.entry):
        for size, edge in itertools.product("NM", dict.fromkeys((bx, *edges))):

            def in_x(given: Launch, size: str = size, edge: int = edge) -> Launch:
                extent = given.shape.n if size == "N" else given.shape.m
                return dataclasses.replace(given, grid=(-(-extent // edge), *given.grid[1:]))

            if (x := in_x(launch).grid[0]) > gx:
                yield ProvenCause(
                    f"{FEW_BLOCKS}: tried at {launch.shape}, where it has {gx}, the product is right with "
                    f"{x}",
                    own(f"launch ceil({size} / {edge}) blocks"), relaunched=in_x,
                )  # fmt: skip
        return
    for by_x, by_y in dict.fromkeys([launch.block[:2], *itertools.product(edges, repeat=2)]):

        def covering(given: Launch, x: int = by_x, y: int = by_y) -> Launch:
            grid = -(-given.shape.n // x), -(-given.shape.m // y), given.grid[2]
            return dataclasses.replace(given, grid=grid)

        x, y, _ = covering(launch).grid
        is_like_block = (by_x, by_y) == launch.block[:2]  # one made for another block may be larger in x or y
        if (x > gx or y > gy) and (is_like_block or (x >= gx and y >= gy)):
            yield ProvenCause(
                f"{FEW_BLOCKS}: tried at {launch.shape}, where it has {gx} x {gy}, the product is right with "
                f"{x} x {y}",
                own(f"launch ceil(N / {by_x}) x ceil(M / {by_y}) blocks"), relaunched=covering,
            )  # fmt: skip


def _without_any_check(case: Case, *, ends_early: bool = False) -> ProvenCause | None:
    """Return the mistake of a grid that is rounded down, of a kernel that is only right at multiples.

    With more blocks, threads access A, B and C out of bounds: the cure needs a bounds check too.

    Args:
        case: a case at sizes that are no multiples; at multiples the kernel is right and has no fault.
        ends_early: the sums are known to end too early, so that no element has to be right.
    """
    launch = case.launch
    assert launch is not None  # noqa: S101 - `_may_try` looked at it
    m, n = launch.shape.m, launch.shape.n
    # A block may compute several columns or rows for each of its own.
    tiles = itertools.product(*([edge * sums for sums in (1, 2, 4, 8)] for edge in launch.block[:2]))
    bx, by = next(((x, y) for x, y in tiles if (n // x, m // y) == launch.grid[:2]), launch.block[:2])
    grid, floor = (-(-n // bx), -(-m // by)), (n // bx, m // by)
    with _Trials(case) as trials:
        is_rest_right = ends_early or trials.is_right(within=(by * floor[1], bx * floor[0]))
    if launch.grid[:2] != floor or floor == grid:
        return None
    covering = dataclasses.replace(launch, grid=(*grid, launch.grid[2]))
    inputs = padded(launch, *case.problem.inputs)
    try:
        own, seen = (observe(case.program, of, *inputs, checked=True).faults for of in (launch, covering))
    except KernelError:
        return None
    # A tile at the end of K may leave A and B already, and then the sums are wrong.
    is_only_outside = all(fault.kind == "out-of-bounds" for fault in own) and (own or is_rest_right)
    is_outside = any(fault.kind in ("out-of-bounds", "crash") for fault in seen)
    if not (is_only_outside and is_outside) or any(fault.space == "shared" for fault in seen):
        return None
    method = case.variant.method
    file, line = method.shown_at("the grid")
    (gx, gy), (x, y) = floor, grid
    return ProvenCause(
        f"{FEW_BLOCKS}: tried at {launch.shape}, where it has {gx} x {gy}, {x} x {y} cover C, but the kernel "
        "lacks a bounds check, so that these access elements out of bounds",
        method.in_host_code(method.with_own_sizes(f"launch ceil(N / {bx}) x ceil(M / {by}) blocks"))
        + AND_CHECK + _check_in_kernel(case),
        "C", file, line,
        multiple=math.lcm(bx, by),
    )  # fmt: skip


def _check_in_kernel(case: Case) -> str:
    """Return how to check bounds, with the names of a kernel that stores `C[row * width + col]`, if known.

    The product of the kernel is right at multiples: its width is N.
    """
    method, text = case.variant.method, case.program.text
    if shared_arrays_in(text) or dynamic_arrays_in(text):
        return "; in the tiles, write 0 in place of the others"
    given = dict(zip(method.arguments, parameter_names(text, method.entry), strict=False))
    stored = rf"\b{given.get('C')}\s*\[\s*(\w+)\s*\*\s*(\w+)\s*\+\s*(\w+)\s*\]\s*\+?=(?!=)"
    found = {*re.findall(stored, text)}
    row, width, column = found.pop() if len(found) == 1 else ("", "", "")
    rows = given.get("M") or (width if are_square_only([case.variant]) else "")
    return f": {row} < {rows} and {column} < {width}" if row and rows else ""


def _other_blocks(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    yield from _fewer_blocks(case, launch)
    yield from _more_blocks(case, launch)
    yield from _other_threads(case, launch)


def _other_threads(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield blocks with other numbers of threads in x and y."""
    bx, by, bz = launch.block
    shares = sorted(itertools.product(_SHARES, repeat=2), key=lambda pair: pair[0] != pair[1])
    shares += [(bx, 1.0)] if by == 1 else []
    for x, y in dict.fromkeys((int(bx * share_x), int(by * share_y)) for share_x, share_y in shares):
        is_whole = x and y and max(x, bx) % min(x, bx) == max(y, by) % min(y, by) == 0
        if not is_whole or x * y * bz > MOST_THREADS or (x, y) == (bx, by) or (by == 1 and y > 1):
            continue

        def with_block(given: Launch, x: int = x, y: int = y) -> Launch:
            return dataclasses.replace(given, block=(x, y, given.block[2]))

        yield ProvenCause(
            f"the block has too {'many' if x * y < bx * by else 'few'} threads: it has {bx} x {by}, and the "
            f"product is right with {x} x {y}",
            f"launch blocks of {x} x {y} threads", relaunched=with_block,
        )  # fmt: skip


def _fewer_threads(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield smaller blocks, the largest first."""
    smaller = [
        (cause, block)
        for cause in _other_threads(case, launch)
        if cause.relaunched is not None
        for block in [cause.relaunched(launch).block]
        if block[0] <= launch.block[0] and block[1] <= launch.block[1]
    ]
    yield from (cause for cause, _ in sorted(smaller, key=lambda pair: -math.prod(pair[1])))


def _other_rows_of_threads(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield blocks in one row with fewer threads, and with the square of their number, for a square tile."""
    if launch.block[1:] == (1, 1):
        for cause in _other_threads(case, launch):
            if cause.relaunched is not None:
                threads = cause.relaunched(launch).block[0]
                if threads < launch.block[0] or threads == launch.block[0] ** 2:
                    yield cause


_SHARES = (0.5, 0.25, 2, 4, 8, 0.125, 1)
"""Numbers of threads that are tried, as shares of those of a launch."""


def _other_orders(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield other orders of the arguments that are sizes, and A and B swapped."""
    names, own = case.variant.method.arguments, case.variant.method.with_own_sizes
    where, by_name = _places_of_sizes(case, launch), case.variant.method.named_arguments
    orders = itertools.permutations(where) if len(where) == 3 else _with_two_swapped(where)
    for order in orders:
        changed = [pair for pair in zip(where, order, strict=True) if names[pair[0]] != names[pair[1]]]
        if {place for place, _ in changed} <= by_name:
            continue
        shown = changed if len(where) > 3 else zip(where, order, strict=True)
        passed, right = (
            own(", ".join(names[place] for place in places)) for places in zip(*shown, strict=True)
        )
        numbers = " and ".join(str(place + 1) for place, _ in changed)
        at = f" as arguments {numbers}" if len(where) > 3 else ""

        def reordered(given: Launch, order: Sequence[int] = order) -> Launch:
            arguments = list(given.arguments)
            for target, source in zip(where, order, strict=True):
                arguments[target] = given.arguments[source]
            return dataclasses.replace(given, arguments=tuple(arguments))

        yield ProvenCause(
            "the sizes are passed in another order than that in which the kernel takes them: "
            f"{passed} instead of {right}{at}",
            f"pass {right}{at}", relaunched=reordered,
        )  # fmt: skip
    of_a, of_b = (_place_of_matrix(launch, matrix) for matrix in ("A", "B"))
    if of_a is not None and of_b is not None:

        def exchanged(given: Launch) -> Launch:
            arguments = list(given.arguments)
            arguments[of_a], arguments[of_b] = arguments[of_b], arguments[of_a]
            return dataclasses.replace(given, arguments=tuple(arguments))

        yield ProvenCause(
            "A and B are swapped where the kernel is launched", "pass A and B in the other order",
            relaunched=exchanged,
        )  # fmt: skip


def _place_of_matrix(launch: Launch, matrix: str) -> int | None:
    """Return the place of the argument that is a matrix, or a struct with it; None if there is none."""
    for place, argument in enumerate(launch.arguments):
        if matrix in (argument.members if isinstance(argument, StructValue) else (argument,)):
            return place
    return None


def _members_of_structs(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield structs whose members get the sizes that their names say, such as N for the width of B."""
    own = case.variant.method.with_own_sizes
    declared = parameters_of(case.program.text, case.program.entry)
    structs = members_of_structs(source_file(case.program.text))
    texts = case.variant.method.arguments
    places = dict(enumerate(case.variant.method.arguments_at))
    for place, argument in enumerate(launch.arguments):
        if not isinstance(argument, StructValue):
            continue
        names = split_at_commas(texts[place].strip("{}"))
        matrix = next((each for each in names if each in ("A", "B", "C")), "")
        members = next((structs[word] for word in re.findall(r"\w+", declared[place]) if word in structs), ())
        if not matrix or len(members) != len(names):
            continue
        said = [roles_in_name(f"{matrix}_{member}", launch.column_major) for member in members]
        sizes = [at for at, name in enumerate(names) if name in SIZE_NAMES]
        way = {at: next(iter(said[at])) for at in sizes if said[at] and names[at] not in said[at]}
        if way:
            given = " and ".join(f"its {members[at]} is {own(names[at])}" for at in way)
            right = " and ".join(f"set its {members[at]} to {own(size)}" for at, size in way.items())

            def given_members(given: Launch, place: int = place, way: Mapping[int, str] = way) -> Launch:
                arguments, extents = list(given.arguments), dict(_sizes(given))
                struct = arguments[place]
                assert isinstance(struct, StructValue)  # noqa: S101 - as above
                members = [extents[way[at]] if at in way else each for at, each in enumerate(struct.members)]
                arguments[place] = dataclasses.replace(struct, members=tuple(members))
                return dataclasses.replace(given, arguments=tuple(arguments))

            yield ProvenCause(
                f"“{declared[place]}” has a wrong size where the kernel is launched: {given}", right,
                "", *places.get(place, ("", 0)), relaunched=given_members,
            )  # fmt: skip


def _places_of_sizes(case: Case, launch: Launch) -> tuple[int, ...]:
    """Return the places of the arguments that are M, N or K, if these are three numbers; else nothing."""
    names = enumerate(case.variant.method.arguments)
    is_distinct = len(set(dataclasses.astuple(launch.shape))) == 3
    return tuple(place for place, name in names if is_distinct and name in SIZE_NAMES)


def _with_two_swapped(places: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield a sequence with each two of its elements swapped."""
    for one, other in itertools.combinations(places, 2):
        yield tuple({one: other, other: one}.get(place, place) for place in places)


def _other_sizes(case: Case, launch: Launch, *, are_named: bool = False) -> Iterator[ProvenCause]:
    """Yield another size for each argument that is a size.

    The name of a parameter may show that the kernel means the other size, such as N for `c_cols`. Then these
    causes come before changes of the kernel, else after them.
    """
    names, own = case.variant.method.arguments, case.variant.method.with_own_sizes
    declared = parameters_of(case.program.text, case.program.entry)
    width = _vector_width(case.program)

    def sizes(of: Launch) -> list[tuple[str, int]]:
        in_vectors = [(f"{role} / {width}", size // width) for role, size in _sizes(of) if width > 1]
        return _sizes(of) + in_vectors

    for place, (role, size) in itertools.product(_places_of_sizes(case, launch), sizes(launch)):
        name = re.findall(r"\w+", declared[place])[-1]
        if size == launch.arguments[place] or are_named != (role in roles_in_name(name, launch.column_major)):
            continue

        def passed(given: Launch, place: int = place, role: str = role) -> Launch:
            arguments = list(given.arguments)
            arguments[place] = dict(sizes(given))[role]
            return dataclasses.replace(given, arguments=tuple(arguments))

        yield ProvenCause(
            f"{own(names[place])} is passed for “{declared[place]}”, and the product is right with "
            f"{own(role)}",
            f"pass {own(role)} there", relaunched=passed,
        )  # fmt: skip


def _rounded_up(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield each argument, and the blocks in z, rounded up if the program rounds a part of K down."""
    variant, element = case.variant, case.problem.element
    k = re.compile(r"\b[MNK]\b.* // " if are_square_only([variant]) else r"\bK\b.* // ")
    declared = parameters_of(case.program.text, case.program.entry)

    places = dict(enumerate(variant.method.arguments_at))

    def value(rounded: Expression, of: Launch) -> int:
        return rounded.whole(variant.names(element, *of.shape.extents))

    for place, text in enumerate(variant.method.arguments):
        if not k.search(text) or text.startswith(("{", TENSOR_MAP, ARRAY_FILE)):
            continue
        quotient, rounded = parse(text), parse(text).rounded_up()

        def passed(given: Launch, place: int = place, rounded: Expression = rounded) -> Launch:
            arguments = list(given.arguments)
            arguments[place] = value(rounded, given)
            return dataclasses.replace(given, arguments=tuple(arguments))

        file, line = places.get(place, ("", 0))
        where = "" if line else " where the kernel is launched"
        yield ProvenCause(
            f"{ENDS_TOO_EARLY} “{declared[place]}” is rounded down{where}",
            variant.rounded_up([quotient], "it"), "", file, line, relaunched=passed,
        )  # fmt: skip
    for slices in variant.method.grid[2:]:
        if not k.search(slices.text):
            continue
        of_slices = slices.rounded_up()

        def with_slices(given: Launch, of_slices: Expression = of_slices) -> Launch:
            return dataclasses.replace(given, grid=(*given.grid[:2], value(of_slices, given)))

        yield ProvenCause(
            f"{FEW_BLOCKS} in z, as their number is rounded down: the last terms of the sums are missing",
            variant.rounded_up([slices]), relaunched=with_slices,
        )  # fmt: skip


def _sizes(launch: Launch) -> list[tuple[str, int]]:
    return list(zip(SIZE_NAMES, dataclasses.astuple(launch.shape), strict=True))


def _blocks_like_tiles(case: Case, launch: Launch) -> Iterator[ProvenCause]:
    """Yield blocks that have as many threads as a tile has elements, with the same grid and one that fits."""
    bx, by, bz = launch.block
    for name, (rows, columns) in _tiles(case.program):
        block = (columns, rows, bz)
        if block == launch.block or math.prod(block) > 1024:
            continue
        share = rows * columns / (bx * by)
        has = f"the block has {bx} x {by} threads, and {name} has {rows} x {columns} elements"
        unwritten = (
            f": {_share(1 - 1 / share)} of it {'are' if share > 2 else 'is'} never written"
            if bx <= columns and by <= rows
            else ""
        )

        def fitted(given: Launch, block: tuple[int, int, int] = block) -> Launch:
            threads = (given.grid[0] * given.block[0], given.grid[1] * given.block[1])
            grid = (-(-threads[0] // block[0]), -(-threads[1] // block[1]), given.grid[2])
            return dataclasses.replace(given, grid=grid, block=block)

        def same_grid(given: Launch, block: tuple[int, int, int] = block) -> Launch:
            return dataclasses.replace(given, block=block)

        for relaunched, more in ((fitted, ", and a grid that fits them"), (same_grid, "")):
            yield ProvenCause(
                f"{has}{unwritten}", f"launch blocks of {columns} x {rows} threads{more}", name,
                relaunched=relaunched, multiple=math.lcm(rows, columns),
            )  # fmt: skip


def _share(fraction: float) -> str:
    """Return a fraction in words if it is a usual one."""
    usual = {0.5: "half", 0.75: "three quarters"}
    return usual.get(fraction, f"{fraction:.0%}")


def _loads_of_tiles(case: Case) -> Iterator[KernelChange]:
    """Yield the loads of tiles with loops for what a block leaves, if threads read what was never written."""
    source, launch = case.program, case.launch
    faults = _faults(case) or ()
    if launch is not None and any(f.kind == "uninitialised" and f.space == "shared" for f in faults):
        yield from changes_of_tile_loads(
            source.text, source.entry,
            lambda name: declared_extents(source.text, name, source.entry), launch.block[:2],
        )  # fmt: skip


def _tiles(source: Program) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the names, rows and columns of shared arrays; of an array in one dimension, those of a square."""
    for name in sorted(shared_arrays_in(source.text)):
        extents = declared_extents(source.text, name, source.entry)
        if len(extents) == 1 and math.isqrt(extents[0]) ** 2 == extents[0]:
            extents = (math.isqrt(extents[0]),) * 2
        if len(extents) == 2 and min(extents) > 1:
            rows, columns = extents
            # Some more against bank conflicts, such as 33 or 36 for 32.
            is_power = [extent & (extent - 1) == 0 for extent in extents]
            is_padded = columns == rows + 1 or (rows < columns < rows + 8 and is_power == [True, False])
            yield name, (rows, rows if is_padded else columns)


def _edges(source: Program, launch: Launch) -> list[int]:
    """Return the extents of the block and of the tiles."""
    return [*launch.block[:2], *(edge for _, tile in _tiles(source) for edge in tile)]


# Changes of the kernel.


def _is_condition(change: KernelChange) -> bool:
    return change.is_condition


def _is_in_bytes(change: KernelChange) -> bool:
    """Return whether a change makes bytes elements; more shared memory would hide the mistake."""
    return OF_BYTES in change.mistake or (ONCE_TOO_OFTEN in change.mistake and "sizeof" in change.mistake)


def _is_zero(change: KernelChange) -> bool:
    return change.mistake.startswith(NO_ZERO)


def _is_step_of_grid(change: KernelChange) -> bool:
    return change.mistake.startswith(STEP_OF_GRID)


def _is_right_at_first(case: Case) -> bool:
    """Return whether each product is right that a new process computes, in both orders of threads."""
    for descending in (False, True):
        with _Trials(case) as trials:
            if not trials.is_right_at_first(descending):
                return False
    return True


def _kept_value(case: Case) -> ProvenCause | None:
    """Return the variable that a launch leaves with another value than before; None if it may be several."""
    variables = device_variables(case.program.text)
    if len(variables) != 1:
        return None
    ((name, (file, line)),) = variables.items()
    return ProvenCause(
        f"{FIRST_LAUNCH_ONLY}: the kernel changes the __device__ variable {name}, and the next of cudamm's "
        "launches begins with that value",
        f"let the kernel set {name} back, such as in its last block", "",
        "" if file == case.program.method.path.name else file, line,
    )  # fmt: skip


def _of_text(
    case: Case,
    is_tried: Callable[[KernelChange], bool] = lambda change: True,
    edge: int = 1,
    first: ProvenCause | None = None,
) -> ProvenCause | None:
    """Compile the kernel with all changes, and return the first that gives the right product.

    If the kernel checks its bounds, the first that is also right at sizes that are no multiples comes before
    one that is right at multiples only: a change of an index may leave a condition behind that belongs to it.

    Args:
        edge: extents of the case that are multiples of this number are so at the other sizes that are tried.
        first: a mistake of the case, which is mended before.
    """
    mended = case if first is None else first.applied(case)
    source, all_changes, only_at_multiples = mended.program, _changes_of(mended), None
    checks_bounds, end = any(change.is_condition for change in all_changes), math.inf
    changes = list(filter(is_tried, all_changes))
    for tried, changed in _compiled_together(source, changes, _end_of_search()):
        with _Trials(mended) as trials:
            is_by_luck = trials.is_right(None, changed, 0)  # without a change, as its memory lies elsewhere
            longest_s = max(SHORT_LAUNCH_S * _load(), MOST_SLOWER * trials.took_s)
            is_by_luck, unclean = is_by_luck and not is_right(mended), 0
            for number, change in enumerate(tried, 1):
                if time.monotonic() > end or (is_by_luck and unclean == MOST_UNCLEAN):
                    return only_at_multiples
                file = "" if change.file == source.method.path.name else change.file
                cause = ProvenCause(
                    change.mistake, change.cure, change.array, file, change.line, (change, source.text),
                    first=first,
                )  # fmt: skip
                makes_right = trials.is_right(None, changed, number) and trials.took_s <= longest_s
                is_clean = makes_right and _is_clean(cause, case)
                unclean += makes_right and not is_clean
                if not (is_clean and _is_right_at_other_sizes(cause, case, edge)):
                    continue
                is_right_at_all = _is_right_at(cause, case, _like(_no_multiples(case), case, edge))
                if not is_right_at_all and (change.is_condition or only_at_multiples is not None):
                    continue
                others = [
                    other
                    for place, other in enumerate(tried[number:], number + 1)
                    if _may_be_undone_elsewhere(change, other) and trials.is_right(None, changed, place)
                ]  # fmt: skip
                alone = [set(each.edits) for each in (change, *others)]
                also = "".join(
                    f", or {other.cure}" + f" in line {other.line}" * (" in lines " not in other.cure)
                    for other in others
                    if not any(edits < set(other.edits) for edits in alone)  # a part of it is enough
                )
                found = dataclasses.replace(cause, cure=cause.cure + also)
                if is_right_at_all or not checks_bounds:
                    return found
                only_at_multiples, end = found, time.monotonic() + LONGEST_FURTHER_SEARCH_S * _load()
    return only_at_multiples


def _changes_of(case: Case) -> list[KernelChange]:
    """Return the changes of a case's kernel, the likeliest first."""
    source, launch = case.program, case.launch
    assert launch is not None  # noqa: S101 - `_may_try` looked at it
    elements = launch.shared_bytes // case.problem.element.size_bytes
    return kernel_changes(source.text, source.entry, _sizes_in_file(case), elements)


def _sizes_in_file(case: Case) -> list[str]:
    """Return the constants and macros, and the numbers of a kernel for one size, that are sizes."""
    source, shape = case.program, case.problem.shape
    larger = Shape(shape.m + LARGEST_TILE, shape.n + LARGEST_TILE, shape.k + LARGEST_TILE)
    other = program(case.variant, case.problem.element, case.fmad, larger)
    own = {*_DEFINED.findall(source.text)} - {*_DEFINED.findall(other.text)}
    constants = sorted(name for name, _ in own)
    return [*constants, *map(str, sorted({*fixed_extents(case.variant).values()}))]


def _without_last_tile(ragged: Case, edge: int, *, is_known: bool = False) -> ProvenCause | None:
    """Return a number of tiles, or a part of K, that is rounded down, of a kernel that checks other bounds.

    Rounded up, it would access A and B beyond K: the cure needs a check too.

    Args:
        edge: the kernel is right if K is a multiple of this number, as it is at other sizes.
        is_known: this is known, and not tried.
    """
    launch, method = ragged.launch, ragged.variant.method
    assert launch is not None  # noqa: S101 - `_may_try` looked at it
    found = [change for change in _changes_of(ragged) if change.mistake.startswith(ENDS_TOO_EARLY)]
    changes = {change.edits: change for change in found}.values()
    rounded = [
        ProvenCause(c.mistake, c.cure, "", "" if c.file == method.path.name else c.file, c.line)
        for c in changes
    ]  # fmt: skip
    file, line = method.launched_at
    rounded += [
        dataclasses.replace(cause, file=file, line=line, relaunched=_same_launch)
        for cause in _rounded_up(ragged, launch)
    ]  # fmt: skip
    if len(rounded) != 1 or not (is_known or _is_right_at_whole_k(ragged, edge)):
        return None
    (cause,), beyond = rounded, "load or add 0 beyond the end of K"
    source = ragged.program
    vectors = [vector_of_quotient(source.text, source.entry, change) for change in changes]
    if vector := next(filter(None, vectors), ""):
        what = f"{cause.mistake.partition(':')[0]}, and a row of another length does not begin at a {vector}"
        width = vector.rstrip("_")[-1]
        cure = (
            f"require that K is a multiple of {width}, or have the rows padded with zeros to such a length; "
            f"or take the rest of each row, and rows that do not begin at a {vector}, one by one"
        )
        return dataclasses.replace(cause, mistake=what, cure=cure, multiple=edge)
    return dataclasses.replace(
        cause, mistake=f"{cause.mistake} (and {beyond})", cure=f"{cause.cure}, and {beyond}", multiple=edge
    )


def _is_right_at_whole_k(ragged: Case, edge: int) -> bool:
    """Return whether a product is right, without a fault, with K rounded up to a multiple of a number."""
    m, n, k = ragged.problem.shape.extents
    whole = _planned_at(ragged, Shape(m, n, -(-k // edge) * edge))
    if whole is None or whole.launch is None:
        return False
    try:
        is_as_asked = whole.launch.shape == whole.problem.shape
        return is_as_asked and is_right(whole) and _has_no_fault(whole)
    finally:
        whole.problem.release()


def _of_declarations(case: Case, changes: Iterable[KernelChange]) -> ProvenCause | None:
    """Return the first change that gives the right product, each in a program of its own."""
    source = case.program
    for change in changes:
        file = "" if change.file == source.method.path.name else change.file
        cause = ProvenCause(change.mistake, change.cure, "", file, change.line, (change, source.text))
        try:
            changed = cause.applied(case)
        except KernelError:
            continue
        if is_right(changed) and _has_no_fault(changed):
            return cause
    return None


def _compiled_together(
    source: Program, changes: Sequence[KernelChange], deadline: float
) -> Iterator[tuple[Sequence[KernelChange], Program]]:
    """Yield all changes with the program that has them; without those that do not compile, in several groups.

    Args:
        deadline: time after which no further group is compiled.
    """
    if not changes or time.monotonic() > deadline:
        return
    changed = _with_all(source, changes)
    if _compiles(changed):
        yield changes, changed
    elif len(changes) > 1:
        half = len(changes) // 2
        yield from _compiled_together(source, changes[:half], deadline)
        yield from _compiled_together(source, changes[half:], deadline)


def _may_be_undone_elsewhere(one: KernelChange, other: KernelChange) -> bool:
    """Return whether two changes may undo one mistake in two places.

    Such are two changes of one array's indices where it is written and where it is read, and one of two
    quotients that is a remainder.
    """
    beginnings = (TWO_INDICES, TWO_VARIABLES, WRONG_SIZE, TAKEN_TWICE)
    is_of_both = any(
        one.mistake.startswith(words) and other.mistake.startswith(words) for words in beginnings
    )
    is_of_places = one.mistake.startswith(TWO_PLACES) and other.mistake.startswith(TWO_PLACES)
    is_of_same = is_of_both and one.line != other.line and _swapped_in(one) == _swapped_in(other)
    return is_of_places or (is_of_same and (one.array == other.array or bool(_swapped_in(one))))


def _swapped_in(change: KernelChange) -> set[str]:
    """Return the two variables that a change swaps; an empty set if it does something else."""
    found = re.match(rf"{TWO_VARIABLES}[^,:]*, (\S+) and (\S+):", change.mistake)
    return {found[1], found[2]} if found else set()


def _is_clean(cause: ProvenCause, case: Case) -> bool:
    """Return whether a case with the change has no race, and accesses nothing out of bounds or too early.

    A product may be right by chance, because of the order in which threads write one element.
    """
    try:
        return _has_no_fault(cause.applied(case))
    except KernelError:
        return False


_FEW = 5
"""Rows and columns of matrices that are smaller than a tile."""

_LITTLE = ((17, 31, 13), (70, 1, 50), (1, 70, 50))
"""M, N and K of products in which one of them is smaller than most tiles."""


def _is_right_at_other_sizes(cause: ProvenCause, case: Case, edge: int = 1) -> bool:
    """Return whether the product is also right at other sizes; True if it cannot be launched so.

    At one shape, a wrong condition may hold by chance, such as `row < K / 2` for each of M = K / 2 rows: M
    and K are swapped. A constant may be the row length by chance, and a sum over a block's threads may be
    right while K is smaller than the block: K is made larger.

    Args:
        edge: as for `_of_text`.
    """
    assert case.launch is not None  # noqa: S101 - the case was launched before
    m, n, k = case.problem.shape.extents
    shapes = [Shape(k, n, m)]
    times = max(2, math.prod(case.launch.block) // k + 1)
    deeper = (Shape(m, n, times * k), Shape(m, n, 2 * k), Shape(2 * m, 2 * n, 2 * k))
    small = (shape for shape in deeper if math.prod(shape.extents) <= MOST_WORK)
    shapes += itertools.islice(filter(functools.partial(_has_launch, case), small), 1)
    if cause.mistake.startswith(OTHER_CONDITION):  # such as tx < M, which holds for each of M > tx rows
        shapes += [Shape(_FEW, n, k), Shape(m, _FEW, k)]
    # Another size may do by chance at sizes of several tiles, and spoil smaller ones.
    is_of_size = cause.mistake.startswith(WRONG_SIZE)
    little = [_like(Shape(*extents), case, edge) for extents in (_LITTLE if is_of_size else ())]
    return all(
        _is_right_at(cause, case, each) or not _is_right_without(case, each) for each in little
    ) and all(_is_right_at(cause, case, _like(shape, case, edge)) for shape in shapes)


def _is_right_without(case: Case, shape: Shape) -> bool:
    """Return whether the kernel is right at a shape as it is: no change may spoil that."""
    planned = _planned_at(case, shape) if _has_launch(case, shape) else None
    return planned is not None and is_right(planned)


def _like(shape: Shape, case: Case, edge: int) -> Shape:
    """Return a shape whose extents are multiples of a number, rounded up, where those of a case are."""
    pairs = zip(shape.extents, case.problem.shape.extents, strict=True)
    return Shape(*(extent if own % edge else -(-extent // edge) * edge for extent, own in pairs))


def _no_multiples(case: Case) -> Shape:
    """Return slightly smaller sizes, where conditions have to keep surplus threads away."""
    extents, width = case.problem.shape.extents, _vector_width(case.program)
    less = 1 if any(extent % width for extent in extents) else width
    return Shape(*(max(1, extent - less) for extent in extents))


def _has_launch(case: Case, shape: Shape) -> bool:
    """Return whether a case can be launched at another shape."""
    planned = _planned_at(case, shape)
    return planned is not None and planned.launch is not None and planned.launch.shape == shape


def _is_right_at(cause: ProvenCause, case: Case, shape: Shape) -> bool:
    """Return whether the changed kernel is right and has no fault at a shape; True if it is not for that."""
    planned = _planned_at(case, shape) if _has_launch(case, shape) else None
    if planned is None:
        return True
    text = planned.program.text
    if text != case.program.text and not all(known.belongs_to(text) for known in cause.all):
        return True
    try:
        changed = cause.applied(planned)
        return is_right(changed) and _has_no_fault(changed)
    except KernelError:
        return False
    finally:
        planned.problem.release()


def _has_no_fault(case: Case) -> bool:
    """Return whether a launch has no race, and accesses nothing out of bounds or too early."""
    return _faults(case) == []


def _faults(case: Case) -> list[Fault] | None:
    """Return the faults of a launch; None if it ended before it could be watched."""
    assert case.launch is not None  # noqa: S101 - the case was launched before
    inputs = padded(case.launch, *case.problem.inputs)
    try:
        return list(observe(case.program, case.launch, *inputs, checked=True).faults)
    except KernelError:
        return None


_DEFINED = re.compile(
    r"(?:^[ \t]*#[ \t]*define[ \t]+|\bconstexpr int )(\w+)(?:[ \t]+| = )(\d+)(?=[ \t]*$|;)", re.MULTILINE
)
"""A macro or a constant that is a number."""


def _with_all(source: Program, changes: Sequence[KernelChange]) -> Program:
    method = dataclasses.replace(source.method, constants=(*source.method.constants, (SELECTED, parse("0"))))
    return dataclasses.replace(source, method=method, text=with_all_changes(source.text, changes))


def _compiles(source: Program) -> bool:
    try:
        compile_for_host(source)
    except KernelError:
        return False
    return True
