"""Mistakes of a kernel, described in words from what the CPU device observed.

Each kind of mistake has a function with the name of the kind; it writes the message and the cure. A cure is
given only if it follows from the observation. This file executes nothing; `check` does.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cudamm.analysis.array_elements import (
    ArrayShape,
    array_shapes,
    declared_padding,
    element_name,
    rows_in_one_dimension,
)
from cudamm.analysis.overlapping_arrays import Overlap, overlap_of
from cudamm.analysis.proven_cause import WITHIN_MATRIX, ProvenCause
from cudamm.analysis.row_padding import elements_side_by_side, is_free_if_swizzled, row_padding
from cudamm.compile.program import Program
from cudamm.devices.observation import BANKS, SECTOR_BYTES, Access, Fault, FaultKind, Observation, Op
from cudamm.execution.case import ORDER_MATTERS, RIGHT_AT_FIRST, Verdict
from cudamm.execution.judge import UNSET_SHARED
from cudamm.execution.usual_causes import LESS_THAN_TYPE, OF_LAUNCH
from cudamm.execution.wrong_result import ADDS_TO_OUTPUT, IGNORES_BETA, WRONG_TERM
from cudamm.kernels.launch_plan import Extents, Launch
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.parameter_types import parameter_names
from cudamm.source.c_definitions import is_index_of_thread, lines_in_one_function, names_with
from cudamm.source.c_numbers import number_in
from cudamm.source.c_text import dynamic_arrays_in, indexed_at, without_comments
from cudamm.source.deciding_condition import line_of_deciding_condition
from cudamm.source.kernel_changes import (
    LOADS_FOR_OTHERS,
    changes_of_shared_sums,
    if_around_loads_of,
    is_for_one_warp,
    why_barrier_is_missed,
    with_barriers,
)

Kind = Literal[
    "race",
    "out-of-bounds",
    "uninitialised",
    "divergent-barrier",
    "misaligned",
    "wrong-result",
    "shared-memory-limit",
    "launch",
    "crash",
    "bank-conflict",
    "uncoalesced",
    "partial-warp",
    "idle-blocks",
]
Severity = Literal["error", "advice"]
Barrier = Literal["after writing", "after reading", "before writing", "before reading"]
AFTER_READING: Barrier = "after reading"
"""Of a loop whose end lacks a barrier: the lines are those of the next iteration's write and of the read."""

BLOCK_LIKE_TILE = (
    "let the block have as many threads in x and y as the tile has columns and rows; if the tiles differ, "
    "compute the row and column in each from one index of the thread, as tid / columns and tid % columns"
)

BEHIND_OTHER = "let the second array begin behind the first"
"""The beginning of the cure of two arrays that overlap."""

LEFT_THE_KERNEL = "left the kernel while"
"""In the message of a barrier that threads miss because they have left."""

WITHIN_VARIABLE = "keep the index within the variable: the thread's other variables lie beside it"
"""The cure of an access beside a thread's local variable."""

OR_PADDED = ", or pad the matrices in the program, and tell cudamm with "
"""The part of a cure that changes the launch, up to the condition."""

ONCE_MENDED = "once the barrier above is there,"
"""The beginning of the message of a race that another race hides."""

OR_ATOMIC = ", or add to it with atomicAdd()"
"""The part of the cure of a sum (`C[i] += x`) that needs zeros in C before the launch."""

WHOLE_VECTORS = "start each vector access at a multiple of its size, or access the elements one by one"
"""The cure of a misaligned vector access."""

VECTORS_IN_ROWS = f"{WHOLE_VECTORS}, only those within the matrix"
"""The cure of one that a row length causes: a row may end within the vector."""

READ_FIRST = "read into a variable first, then __syncthreads(), then write, then __syncthreads() again"
"""The cure of a statement in which each thread reads what another writes, for all threads of a block."""

STEP_OF_WARP = f"in each step of the warp {READ_FIRST.replace('threads', 'warp')}"
"""The cure of statements in which the threads of one warp read what others write, if no others get there."""

_OF_ROWS = "the rows of the tile"
"""Part of the cures of a bank conflict that hold for every access to the tile."""

MOST_LINES = 4
"""Maximum number of lines in a message."""

ADVICE: frozenset[Kind] = frozenset(("bank-conflict", "uncoalesced", "partial-warp", "idle-blocks"))
"""Kinds of mistakes that cost time and leave the result correct."""

LEAST_CONFLICT = 1.5
"""Minimum ratio of the wavefronts to the needed ones for an access to be reported as a bank conflict."""

WARP_THREADS = 32


@dataclass(frozen=True)
class ThreadAt:
    """A thread that takes part in a mistake.

    Attributes:
        line: line of the kernel's file.
        op: the access to memory; empty if there was none.
    """

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    line: int
    op: Op | Literal[""] = ""


@dataclass(frozen=True)
class Mistake:
    """A part of a kernel that is wrong or could be faster.

    Attributes:
        line: line of the kernel's file; 0 if the mistake belongs to no line.
        text: text of that line.
        message: what is wrong, in a sentence.
        cure: what to do about it; may be empty.
        array: A, B or C, or the name of a shared variable; empty if the mistake concerns no array.
        element: element of that array, such as `As[3][4]`; empty if the mistake concerns no element.
        other_line: line of the other thread of a race.
        count: number of times that the mistake was seen, over all sizes.
        sizes: sizes that show the mistake, as M x N x K; the message is about the first.
        barrier: where a block of a race lacks a barrier; empty if it lacks none.
        barrier_lines: the lines between which the barrier has to be.
        needs_barrier: the cure is a __syncthreads().
        warp_barrier: the barrier of a warp where a __syncthreads() has to be, with its line; empty if there
            is none.
        is_in_one_warp: the two threads of a race belong to one warp.
    """

    kind: Kind
    message: str
    cure: str = ""
    file: str = ""
    line: int = 0
    text: str = ""
    array: str = ""
    element: str = ""
    threads: tuple[ThreadAt, ...] = ()
    other_line: int = 0
    count: int = 1
    sizes: tuple[str, ...] = ()
    barrier: Barrier | Literal[""] = ""
    barrier_lines: tuple[int, int] = (0, 0)
    needs_barrier: bool = False
    warp_barrier: str = ""
    is_in_one_warp: bool = False

    @property
    def severity(self) -> Severity:
        """`advice` if the mistake costs only time, else `error`."""
        return "advice" if self.kind in ADVICE else "error"

    def is_same(self, other: Mistake) -> bool:
        """Return whether this is one mistake with another, seen at another size or in another launch."""
        return self._identity == other._identity

    @property
    def _identity(self) -> tuple[object, ...]:
        """The fields that are equal when one mistake is seen at two sizes."""
        barrier = self.barrier if self.kind == "race" else ""
        return self.kind, self.array, barrier, *sorted((self.line, self.other_line))


def merged(mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Return each mistake once, in the order in which they were found but for `_comes_later`.

    Races that one barrier would end are one mistake. So are the indices outside of one array, or of all
    tiles that are smaller than the block, and the bank conflicts of one array. An access outside of a matrix
    in the line of one beside a local variable follows from the same index, and so does a race on C of a load
    that is outside of C elsewhere: beyond the end of a row lies the next one. A product that a read of
    uninitialised memory makes wrong is no further mistake.
    """
    mistakes = list(mistakes)
    beside_variable = {(m.file, m.line) for m in mistakes if m.cure == WITHIN_VARIABLE}
    reads_unset = any(m.kind == "uninitialised" for m in mistakes)
    loads_outside = {
        (m.file, m.line) for m in mistakes if is_outside_of_matrix(m) and m.array == "C" and _is_load(m)
    }
    merged_mistakes: dict[tuple[object, ...], Mistake] = {}
    for mistake in mistakes:
        place = mistake.file, mistake.line
        if is_outside_of_matrix(mistake) and place in beside_variable:
            continue
        if mistake.kind == "race" and mistake.array == "C" and place in loads_outside:
            continue
        if reads_unset and mistake.kind == "wrong-result" and UNSET_SHARED in mistake.message:
            continue
        earlier = merged_mistakes.get(mistake._identity)
        if earlier is None:
            merged_mistakes[mistake._identity] = mistake
        else:
            sizes = tuple(dict.fromkeys(earlier.sizes + mistake.sizes))
            merged_mistakes[mistake._identity] = dataclasses.replace(
                earlier, count=earlier.count + mistake.count, sizes=sizes
            )
    several = _joined(merged_mistakes.values(), _same_barrier, _barrier_for)
    several = _joined(several, _same_index, _all_indices)
    several = _joined(several, _same_step_of_warp, _all_indices)
    several = _joined(several, _same_conflict, _conflicts)
    several = _joined(several, _same_product, _products)
    return tuple(sorted(several, key=_comes_later))


def _comes_later(mistake: Mistake) -> tuple[bool, bool]:
    """Return a sort key: advice comes last, and a wrong product of unknown cause after what has a cure."""
    return mistake.severity == "advice", mistake.kind == "wrong-result" and not mistake.cure


def _is_load(mistake: Mistake) -> bool:
    """Return whether the first thread of a mistake loads."""
    return any(at.op == "load" for at in mistake.threads[:1])


_NO_CAUSE = re.compile(r"\d+ of \d+ elements wrong")
"""Beginning of the message of a wrong product whose cause is not known."""

_OF_PRODUCT = re.compile(r"\d+ of \d+ elements? (wrong|never written)")
"""The same, also for elements that no thread writes, which show a cause of their own."""


def with_cause_first(mistakes: Iterable[Mistake], explained: Sequence[Mistake]) -> tuple[Mistake, ...]:
    """Return the mistakes, a wrong product at a size that shows its cause before what follows from it.

    Args:
        explained: wrong products whose messages begin with a mistake that explains every element.
    """
    ordered = list(mistakes)
    for cause in explained[:1]:
        same = next((m for m in ordered if m._identity == cause._identity), cause)
        # A wrong product without a cause, at a size that does not show it, is no other mistake.
        wrong = (m for m in ordered if m.kind == "wrong-result" and _NO_CAUSE.match(m.message))
        alike = [m for m in wrong if m is not same]
        sizes = tuple(dict.fromkeys(size for mistake in (cause, same, *alike) for size in mistake.sizes))
        product = dataclasses.replace(cause, count=same.count, sizes=sizes, cure=cause.cure or same.cure)
        others = [m for m in ordered if m is not same and m not in alike]
        in_tiles = [m for m in others if m.severity == "error" and m.array not in ("A", "B", "C")]
        ordered = [*in_tiles, product, *(m for m in others if m not in in_tiles)]
    return tuple(ordered)


def _joined(
    mistakes: Iterable[Mistake],
    are_one: Callable[[Mistake, Mistake], bool],
    join: Callable[[list[Mistake]], Mistake],
) -> list[Mistake]:
    """Return the mistakes, those that are one joined, at the place of the first."""
    groups: list[list[Mistake]] = []
    for mistake in mistakes:
        group = next((g for g in groups if all(are_one(earlier, mistake) for earlier in g)), None)
        if group is None:
            groups.append([mistake])
        else:
            group.append(mistake)
    return [join(group) if len(group) > 1 else group[0] for group in groups]


def _same_barrier(one: Mistake, other: Mistake) -> bool:
    """Return whether one barrier ends two races, because there is a place for it between their lines."""
    if not (one.barrier and one.barrier == other.barrier and one.file == other.file):
        return False
    if one.warp_barrier or other.warp_barrier:
        return one.warp_barrier == other.warp_barrier
    (last_before, last_other), (first_after, first_other) = zip(
        one.barrier_lines, other.barrier_lines, strict=True
    )
    return max(last_before, last_other) < min(first_after, first_other) or one.barrier == AFTER_READING


def _barrier_for(races: list[Mistake]) -> Mistake:
    """Return the races that one barrier ends as one mistake, with what to do about all.

    It is the first of those between warps: that the threads of one warp need not run in step is less known.
    """
    first = min(races, key=lambda race: race.is_in_one_warp)
    arrays = list(dict.fromkeys(race.array for race in races if race.array != first.array))
    befores, afters = zip(*(race.barrier_lines for race in races), strict=True)
    return dataclasses.replace(
        first,
        barrier_lines=(max(befores), max(afters)),  # those in the innermost of several loops
        message=first.message + (f" (the same holds for {' and '.join(arrays)})" if arrays else ""),
        cure=first.cure and _barrier_cure(first.barrier, max(befores), min(afters), first.warp_barrier),
        count=sum(race.count for race in races),
        sizes=tuple(dict.fromkeys(size for race in races for size in race.sizes)),
    )


def _same_product(one: Mistake, other: Mistake) -> bool:
    """Return whether two products are wrong without a known cause: a size may need one of several stores."""
    return all(
        mistake.kind == "wrong-result" and not mistake.cure and _OF_PRODUCT.match(mistake.message)
        for mistake in (one, other)
    )


def _products(mistakes: list[Mistake]) -> Mistake:
    """Return wrong products without a cause as one, in their line if they have one line."""
    sizes = tuple(dict.fromkeys(size for mistake in mistakes for size in mistake.sizes))
    count = sum(mistake.count for mistake in mistakes)
    if len({(mistake.file, mistake.line) for mistake in mistakes}) == 1:
        return dataclasses.replace(mistakes[0], sizes=sizes, count=count)
    return dataclasses.replace(mistakes[0], sizes=sizes, count=count, line=0, text="")


def _same_index(one: Mistake, other: Mistake) -> bool:
    """Return whether two indices are outside of one array, or of tiles that are smaller than the block."""
    if not (one.kind == other.kind == "out-of-bounds" and one.element == other.element == ""):
        return False
    return one.cure == other.cure and (
        one.cure == BLOCK_LIKE_TILE or (one.array, one.file) == (other.array, other.file)
    )


def _same_step_of_warp(one: Mistake, other: Mistake) -> bool:
    return one.cure == other.cure == STEP_OF_WARP and (one.file, one.array) == (other.file, other.array)


def _all_indices(mistakes: list[Mistake]) -> Mistake:
    sizes = tuple(dict.fromkeys(size for mistake in mistakes for size in mistake.sizes))
    return dataclasses.replace(mistakes[0], count=sum(mistake.count for mistake in mistakes), sizes=sizes)


def _same_conflict(one: Mistake, other: Mistake) -> bool:
    return one.kind == other.kind == "bank-conflict" and (one.file, one.array) == (other.file, other.array)


def _conflicts(conflicts: list[Mistake]) -> Mistake:
    """Return the bank conflicts of one array as one mistake, the first, with the lines of the others."""
    first = conflicts[0]
    lines_of: dict[str, set[int]] = {}  # by the words for the conflict
    for conflict in conflicts:
        lines_of.setdefault(_ways_in(conflict.message), set()).add(conflict.line)
    same = _ways_in(first.message)
    also: list[str] = []
    for ways, in_lines in lines_of.items():
        lines = sorted(in_lines - {first.line} if ways == same else in_lines)
        shown = ", ".join(map(str, lines[:MOST_LINES])) + (", …" if len(lines) > MOST_LINES else "")
        one = "" if ways == same else f"{ways} one "
        also += [f"{one}in line{'s' * (len(lines) > 1)} {shown}"] if lines else []
    return dataclasses.replace(
        first,
        message=first.message + (f" (and {', and '.join(also)})" if also else ""),
        cure=next((c.cure for c in conflicts if _OF_ROWS in c.cure), first.cure),
        count=sum(conflict.count for conflict in conflicts),
    )


@dataclass(frozen=True)
class WatchedLaunch:
    """A launch whose accesses were observed.

    Attributes:
        size: M x N x K as asked for, before padding.
    """

    observation: Observation
    program: Program
    launch: Launch
    size: str

    @functools.cached_property
    def shapes(self) -> dict[str, ArrayShape]:
        """Shapes of the arrays, by name; an array whose shape is not known is missing."""
        return array_shapes(self.observation, self.program, self.launch)

    def mistake(
        self, kind: Kind, message: str, cure: str = "", line: int = 0, file: str = "", **more: Any
    ) -> Mistake:
        """Return a mistake in a line of the kernel's file, or of a file that it includes."""
        text, name = self.program.line_text(line, file), file or self.program.method.path.name
        return Mistake(kind, message, cure, name, line, text, sizes=(self.size,), **more)

    def in_use(self, index: tuple[int, int, int]) -> tuple[int, ...]:
        """Return x and y of an index or extent, and z if the launch has a third axis."""
        has_z = self.launch.block[2] > 1 or self.launch.grid[2] > 1
        return index if has_z else index[:2]

    def index(self, index: tuple[int, int, int]) -> str:
        """Return a thread's or block's index as (x,y), or as (x,y,z) if the launch has a third axis."""
        return f"({','.join(map(str, self.in_use(index)))})"

    def thread(self, at: ThreadAt | Fault) -> str:
        """Return `thread (1,0) of block (0,2)`."""
        return f"thread {self.index(at.thread)} of block {self.index(at.block)}"

    def element(self, fault: Fault) -> str:
        """Return the element that a fault concerns, such as `As[3][4]`."""
        return element_name(fault, self.shapes.get(fault.array))

    def access(self, fault: Fault) -> str:
        """Return `thread (1,0) of block (0,2) reads As[3][4]`."""
        return f"{self.thread(fault)} {_THREAD_VERBS[fault.op]} {self.element(fault)}"


def errors_of(
    observation: Observation, verdict: Verdict | None, program: Program, launch: Launch, size: str
) -> list[Mistake]:
    """Return the mistakes that make a launch wrong.

    Args:
        verdict: verdict on the product of the same launch without observation; None if it was not verified.
        size: M x N x K as asked for, before padding.
    """
    watched = WatchedLaunch(observation, program, launch, size)
    is_right = verdict is not None and verdict.correct is True
    faults = sorted(_causes(watched, is_right), key=_likelihood)
    kinds = {fault.kind for fault in faults}
    explained = verdict is not None and explains_races(verdict)
    # Vectors that begin within one another overlap.
    misplaced = {(f.file, f.line) for f in faults if f.kind == "misaligned"}
    faults = [
        f
        for f in faults
        if not (_belongs_to_race(watched, f) or (explained and f.kind == "race" and f.space == "global"))
        and not (f.kind == "race" and f.line == f.other_line and (f.file, f.line) in misplaced)
    ]
    found = ((fault, overlap_of(fault, observation, program)) for fault in faults)
    overlap = next(((fault, arrays) for fault, arrays in found if arrays is not None), None)
    if overlap is not None:  # what else was seen in shared memory follows from it
        others = [f for f in faults if f.space != "shared" or f.kind not in ("race", "uninitialised")]
        return [_overlapping(watched, *overlap), *(_FAULTS[fault.kind](watched, fault) for fault in others)]
    mistakes = [_FAULTS[fault.kind](watched, fault) for fault in faults]
    if is_right:  # no index is wrong: what was accessed beyond a matrix is not used
        mistakes = [
            dataclasses.replace(m, cure=WITHIN_MATRIX) if is_outside_of_matrix(m) and not m.cure else m
            for m in mistakes
        ]
    if observation.ended and kinds.isdisjoint(("divergent-barrier", "crash", "index", "nan")):
        mistakes.append(crash(watched, Fault("crash", message=observation.ended)))
    # A launch that did not finish has no result.
    if verdict is not None and verdict.correct is False and not observation.ended:
        # An access out of bounds writes there, or ends the kernel; the access itself says more.
        follows = verdict.reason.startswith(
            ("wrote past the end", "wrote before the start", "crashed", "the process")
        )
        depends = verdict.cause == ORDER_MATTERS or verdict.reason.startswith(RIGHT_AT_FIRST)
        is_race = depends and any(mistake.kind == "race" for mistake in mistakes)
        if not is_race and not (follows and any(mistake.kind == "out-of-bounds" for mistake in mistakes)):
            wrong = wrong_result(watched, verdict.reason)
            of_sum = [m for m in mistakes if (m.kind, m.array) == ("uninitialised", "C")]
            if verdict.cause in (ADDS_TO_OUTPUT, IGNORES_BETA) and of_sum:  # it is the same mistake
                cure = "multiply C by beta" if verdict.cause == IGNORES_BETA else of_sum[0].cure
                wrong = dataclasses.replace(
                    of_sum[0], kind="wrong-result", message=wrong.message, element="", cure=cure
                )
                mistakes = [m for m in mistakes if m not in of_sum]
            mistakes.append(wrong)
    return mistakes


def explains_races(verdict: Verdict) -> bool:
    """Return whether a product is wrong because of the index of C, with which threads may share elements.

    The cause explains every element, whichever of several threads wrote it last.
    """
    return verdict.correct is False and _INDEX_OF_C.search(verdict.cause) is not None


_INDEX_OF_C = re.compile(
    r"^C is written|^row and column of C|^the sizes are passed|\bC are taken as if|\bx and y\b.* are swapped"
)
"""The sentences of `usual_causes` about where the kernel stores its sums."""


_LIKELY_CAUSES: tuple[FaultKind, ...] = (
    "index",
    "divergent-barrier",
    "misaligned",
    "race",
    "uninitialised",
    "out-of-bounds",
    "nan",
    "overrun",
    "crash",
)
"""Kinds of faults, first those that can be the cause of the others."""


def _likelihood(fault: Fault) -> tuple[bool, int]:
    """Return a sort key: faults in shared and local memory first, of the others a missing bounds check."""
    in_global = fault.space == "global" and fault.kind in ("race", "uninitialised")
    return in_global, _LIKELY_CAUSES.index(fault.kind)


def nan_of(observation: Observation, program: Program, launch: Launch, size: str) -> list[Mistake]:
    """Return where the first NaN was computed, in a launch that ended there; empty if no line is known."""
    watched = WatchedLaunch(observation, program, launch, size)
    return [nan(watched, fault) for fault in observation.faults if fault.kind == "nan" and fault.line]


def overrun_of(
    fault: Fault, observation: Observation, program: Program, launch: Launch, size: str
) -> Mistake:
    """Return the mistake of an access beside a thread's local variables."""
    return overrun(WatchedLaunch(observation, program, launch, size), fault)


def brief(mistake: Mistake) -> str:
    """Return a mistake in one sentence with its line: the missing barrier of a race, else what was seen."""
    line = f" ({mistake.file}:{mistake.line})" if mistake.line else ""
    if mistake.needs_barrier:
        return f"a __syncthreads() is missing in {mistake.file}: {mistake.cure}"
    if mistake.cure.startswith(WITHIN_MATRIX):
        return f"{mistake.message}{line}: a bounds check is missing or wrong"
    if mistake.kind == "uninitialised" and mistake.array == "C":
        return f"{mistake.message}{line}: C has to be set to zero first, or to an old C that it is to add to"
    return mistake.message + line


def _causes(watched: WatchedLaunch, is_right: bool) -> list[Fault]:
    """Return the faults of a launch without those that may follow from an index outside of its array.

    Args:
        is_right: the product of the same launch is right.
    """
    faults = [f for f in watched.observation.faults if not _is_harmless(watched, f, is_right)]
    beyond = {(f.array, f.file, f.line) for f in faults if f.kind == "out-of-bounds"}
    # An access outside of a shared array names the element. The index says more if the block is too large.
    indices = [
        f
        for f in faults
        if f.kind == "index" and ((f.array, f.file, f.line) not in beyond or _exceeds_tile(watched, f))
    ]
    follows = (
        {"race", "uninitialised", "out-of-bounds"} if any(f.space == "shared" for f in indices) else set()
    )
    if indices:
        follows.add("crash")
    in_variables = [f for f in indices if f.space == "local"]
    if in_variables and not is_right:  # they overwrite other variables, so that any other fault may follow
        return in_variables
    others = [f for f in faults if f.kind != "index" and not (f.kind in follows and f.space != "global")]
    return indices + [f for f in others if f.kind != "crash" or "crash" not in follows]


def _exceeds_tile(watched: WatchedLaunch, fault: Fault) -> bool:
    """Return whether an index outside of a shared array is that of a thread in its block."""
    shape, (x, y, _) = watched.shapes.get(fault.array), watched.launch.block
    is_like_tile = shape is not None and shape.extents == (y, x)
    is_of_thread = fault.index in fault.thread and 0 < fault.extents[0] <= fault.index
    if fault.space != "shared" or not is_of_thread or is_like_tile:
        return False
    line = watched.program.lines.get((fault.file or watched.program.method.path.name, fault.line), "")
    found = indexed_at(line, fault.column)
    return found is not None and is_index_of_thread(watched.program.text, found[1][found[2]])


def _is_harmless(watched: WatchedLaunch, fault: Fault, is_right: bool) -> bool:
    """Return whether a fault does no harm in a kernel whose product is right.

    It is an index into another row of its array: some kernels take `tile[0][i]` for element i of the whole
    tile. Or it is a read of shared memory that was never written: what was read, which is nan here, is in no
    element of C, as in threads beyond the edge that compute what they do not store.
    """
    if is_right and fault.kind == "uninitialised" and fault.space == "shared":
        return True
    if fault.kind != "index" or not is_right:
        return False
    line = watched.program.lines.get((fault.file or watched.program.method.path.name, fault.line), "")
    found = indexed_at(line, fault.column)
    return found is not None and found[2] > 0


def advice_of(observation: Observation, program: Program, launch: Launch, size: str) -> list[Mistake]:
    """Return the mistakes that make a launch slower than necessary, as far as its accesses show them."""
    watched = WatchedLaunch(observation, program, launch, size)
    mistakes = [partial_warp(watched)]
    for access in observation.accesses:
        mistakes.append((uncoalesced if access.space == "global" else bank_conflict)(watched, access))
    return [mistake for mistake in mistakes if mistake is not None]


def _belongs_to_race(watched: WatchedLaunch, fault: Fault) -> bool:
    """Return whether a fault is a read of an element that another thread writes too late.

    Such a read is reported as a race.
    """
    return fault.kind == "uninitialised" and any(
        other.kind == "race"
        and (other.array, other.space) == (fault.array, fault.space)
        and fault.line in (other.line, other.other_line)
        and "load" in (other.op, other.other_op)
        for other in watched.observation.faults
    )


# Errors: one function for each kind.


def race(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe two accesses to one element, at least one a write, whose order nothing determines."""
    thread = ThreadAt(fault.block, fault.thread, fault.line, fault.op)
    other_thread = ThreadAt(fault.other_block, fault.other_thread, fault.other_line, fault.other_op)
    # The message names a reading thread last, and of two writing threads the one with the lower line first.
    first, second = sorted((other_thread, thread), key=lambda at: (at.op == "load", at.line))
    in_different_blocks = first.block != second.block
    lack = _Lack()
    element = watched.element(fault)
    if first.op == second.op and first.line == second.line:
        both_threads = (
            f"{watched.thread(first)} and {watched.thread(second)}"
            if in_different_blocks
            else f"threads {watched.index(first.thread)} and {watched.index(second.thread)} of block "
            f"{watched.index(first.block)}"
        )
        message = (
            f"{both_threads} both {_THREAD_VERBS[first.op].removesuffix('s')} {element} in line {first.line}"
        )
    else:
        second_name = (
            watched.thread(second) if in_different_blocks else f"thread {watched.index(second.thread)}"
        )
        message = (
            f"{watched.thread(first)} {_THREAD_VERBS[first.op]} {element} in line {first.line} and "
            f"{second_name} {_THREAD_VERBS[second.op]} it in line {second.line}"
        )
    if in_different_blocks:
        message += f", {OF_BLOCKS}"
        cure = _one_owner(watched, fault, first, second)
    else:
        lack = _missing_barrier(watched, fault, first, second)
        cure = lack.cure
        message += f", {_NO_BARRIER}" + (f": {lack.why}" if lack.why else "")
    line, other_line = (second.line, first.line) if second.op == "load" else (first.line, second.line)
    file = fault.file if line == fault.line else fault.other_file
    return watched.mistake(
        "race", message, cure, line, file, other_line=other_line, array=fault.array, element=element,
        threads=(first, second), count=fault.count,
        barrier=lack.barrier, barrier_lines=lack.lines,
        needs_barrier=lack.is_barrier, warp_barrier=lack.warp_barrier,
        is_in_one_warp=not in_different_blocks and _are_in_one_warp(watched, first, second),
    )  # fmt: skip


_NO_BARRIER = "with no barrier between them"

OF_BLOCKS = "and nothing orders different blocks"
"""End of the message of a race between threads of two blocks."""


@dataclass(frozen=True)
class _Lack:
    """What two accesses of one block lack that would order them.

    Attributes:
        why: why it is missing; may be empty.
        is_barrier: the cure is a __syncthreads().
        barrier, lines, warp_barrier: as `barrier`, `barrier_lines` and `warp_barrier` of `Mistake`.
    """

    why: str = ""
    cure: str = ""
    is_barrier: bool = False
    barrier: Barrier | Literal[""] = ""
    lines: tuple[int, int] = (0, 0)
    warp_barrier: str = ""


def _missing_barrier(watched: WatchedLaunch, fault: Fault, writer: ThreadAt, other: ThreadAt) -> _Lack:
    """Return which barrier a block lacks, why, and where to put it, judged by the order of the lines."""
    write, read = writer.line, other.line
    # Two threads that compute one element of C also read it, for beta C.
    if fault.space == "global" and (other.op != "load" or write == read or fault.array == "C"):
        return _Lack(cure=_one_owner(watched, fault, writer, other))
    if other.op != "load":
        # A barrier beside a statement does not part two turns of the loop in which it is.
        apart = "" if write == read else ", or put __syncthreads() between the two writes"
        cure = f"let one thread write each element{apart}"
        texts = [watched.program.line_text(at.line, fault.file) for at in (writer, other)]
        if write != read and not all(re.search(rf"\b{re.escape(fault.array)}\b", text) for text in texts):
            cure += f"; if the lines write two arrays, these overlap in {fault.array}"
        return _Lack(cure=cure)
    file = watched.program.method.path.name
    if (
        fault.space == "shared"
        and _are_in_one_warp(watched, writer, other)
        and all(is_for_one_warp(watched.program.text, fault.file or file, line) for line in (write, read))
    ):
        return _Lack("the threads of a warp need not run in step", STEP_OF_WARP)
    if write == read:
        why = "in one statement each thread reads what another writes"
        if fault.file == "" and with_barriers(
            watched.program.text, file, [(write, read, True)], is_innermost=False
        ):
            cure = f"put __syncthreads() at the end of the loop's body, after line {write}, for all threads"
            return _Lack(why, cure, True, "before reading", (write, read))
        return _Lack(why, READ_FIRST)
    if fault.file == fault.other_file == "":
        write, read = lines_in_one_function(watched.program.method.source, write, read)
        writer, other = dataclasses.replace(writer, line=write), dataclasses.replace(other, line=read)
    if fault.file != fault.other_file or write == read:
        return _Lack(cure="put __syncthreads() between the write and the read", is_barrier=True)
    code = _BarrierLines(watched.program, fault.file, fault.array)
    is_between = code.has_block_barrier(min(write, read), max(write, read))
    barrier = _barrier_lacking(write < read, is_between)
    warp_barrier = code.warp_barrier(min(write, read), max(write, read), is_between=not is_between)
    if warp_barrier and _are_in_one_warp(watched, writer, other):
        is_between = bool(code.warp_barrier(min(write, read), max(write, read), is_between=True))
        barrier = _barrier_lacking(write < read, is_between)
        cure = _barrier_cure(barrier, *_around(barrier, writer, other), "")
        cure = cure.replace("__syncthreads()", "__syncwarp()", 1)
        return _Lack(_WHY_MISSING[barrier], f"{cure} (__syncthreads() if other warps use {fault.array} too)")
    why = f"{warp_barrier} orders the threads of one warp only" if warp_barrier else _WHY_MISSING[barrier]
    lines = _around(barrier, writer, other)
    return _Lack(why, _barrier_cure(barrier, *lines, warp_barrier), True, barrier, lines, warp_barrier)


def _barrier_lacking(writes_first: bool, is_between: bool) -> Barrier:
    """Return which barrier is missing.

    Args:
        writes_first: the line of the write is before that of the read.
        is_between: there is a barrier between these lines.
    """
    if writes_first:
        return "after reading" if is_between else "after writing"
    return "before reading" if is_between else "before writing"


def _are_in_one_warp(watched: WatchedLaunch, one: ThreadAt, other: ThreadAt) -> bool:
    width, height, _ = watched.launch.block
    x, y, z = zip(one.thread, other.thread, strict=True)
    first, second = (x[i] + width * (y[i] + height * z[i]) for i in (0, 1))
    return first // WARP_THREADS == second // WARP_THREADS


def _one_owner(watched: WatchedLaunch, fault: Fault, one: ThreadAt, other: ThreadAt) -> str:
    """Return the cure of a race on an element that several threads write: atomicAdd only if it is a sum."""
    if fault.space == "global" and {one.op, other.op} == {"store", "atomic"}:
        return f"fill {fault.array} with zeros before the launch, and only add to it in the kernel"
    is_sum = one.line == other.line and _SUM.search(watched.program.line_text(one.line, fault.file))
    return "let one thread own each element" + (OR_ATOMIC if is_sum else "")


_SUM = re.compile(
    r"\]\s*\+=|\*\s*(?:\w+|\([^;=]*\))\s*\+=|(\w+\s*\[[^;=]*\])\s*=[^;=]*(?<![\w.>])\1(?=\s*[-+;])"
)
"""A statement that adds to an element: `C[i] += x`, `*c += x` or `C[i] = C[i] + x`."""


_WHY_MISSING: Mapping[Barrier, str] = {
    "after writing": "the barrier after writing is missing, so the element may be read before it is written",
    "after reading": "the barrier after reading is missing, so a thread that is ahead may overwrite the "
    "element before other threads have read it",
    "before writing": "the element may be overwritten before all threads have read it",
    "before reading": "the next iteration may read the element before this iteration has written it",
}


def _around(barrier: Barrier | Literal[""], writer: ThreadAt, reader: ThreadAt) -> tuple[int, int]:
    """Return the line after which a barrier has to be, and the line before which it has to be."""
    if barrier in ("after writing", "before reading"):
        return writer.line, reader.line
    return reader.line, writer.line


def _barrier_cure(barrier: Barrier | Literal[""], after: int, before: int, warp_barrier: str) -> str:
    """Return where to put a barrier: after one line and before another, perhaps in the next iteration.

    Args:
        warp_barrier: as in `Mistake`.
    """
    if warp_barrier:
        return f"replace {warp_barrier}, which orders the threads of one warp only, by __syncthreads()"
    if barrier == "after writing":
        return f"put __syncthreads() between line {after}, which writes, and line {before}, which reads"
    if barrier == "after reading":
        return f"put __syncthreads() after line {after}, inside the loop, before line {before} writes again"
    if barrier == "before writing":
        return f"put __syncthreads() between line {after}, which reads, and line {before}, which writes"
    return f"put __syncthreads() after line {after}, before line {before} reads again"


def in_next_step(race: Mistake) -> Mistake:
    """Return a race whose lines a barrier parts already as one of the next step of the loop."""
    later: dict[Barrier, Barrier] = {"after writing": AFTER_READING, "before writing": "before reading"}
    if not race.barrier or race.barrier not in later:
        return race
    barrier, lines = later[race.barrier], race.barrier_lines[::-1]
    message = race.message.replace(_WHY_MISSING[race.barrier], _WHY_MISSING[barrier])
    cure = _barrier_cure(barrier, *lines, "")
    return dataclasses.replace(race, message=message, cure=cure, barrier=barrier, barrier_lines=lines)


def out_of_bounds(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe an access before the start or past the end of an array, in global or shared memory."""
    return _beyond_array(watched, fault, f"{watched.access(fault)}{_distance(watched, fault)}")


def _beyond_array(watched: WatchedLaunch, fault: Fault, message: str) -> Mistake:
    return _element_mistake(watched, "out-of-bounds", fault, message, "")


def _overlapping(watched: WatchedLaunch, fault: Fault, arrays: Overlap) -> Mistake:
    """Describe two arrays in shared memory of which the second begins within the first."""
    first, second = arrays.first, arrays.second
    element_bytes = _element_bytes(watched, arrays.first_type)
    elements = arrays.used_bytes // element_bytes if element_bytes else 0
    used = f"{arrays.used_bytes:,} bytes" + (f", {elements:,} elements," if elements else "")
    one, other = sorted((fault.line, fault.other_line))
    if arrays.begins:
        where = f"overlap in {fault.array}: {second} begins at {arrays.begins}"
    else:
        where = "begin at the same address, as all extern __shared__ arrays of a kernel do"
    message = (
        f"the arrays {first} and {second} {where}, and the kernel uses {used} of {first}; "
        f"lines {one} and {other} both write {watched.element(fault)}"
    )
    if not arrays.has_room:
        cure = f"{BEHIND_OTHER}: {first} has to begin {arrays.used_bytes:,} bytes or more before {second}"
    elif arrays.of_one_type and elements and arrays.begins:
        cure = f"{BEHIND_OTHER}: {second} = {first} + {elements}, or later"
        if elements == math.prod(watched.launch.block[:2]):  # the program may have blocks of other sizes too
            cure += "; that is blockDim.x * blockDim.y"
    else:
        behind = f"{arrays.used_bytes:,} bytes or more behind {first}"
        cure = f"{BEHIND_OTHER}: {second} has to be a pointer to {behind}"
    return watched.mistake("out-of-bounds", message, cure, arrays.line, arrays.file, array=fault.array)


def _element_bytes(watched: WatchedLaunch, c_type: str) -> int:
    """Return the size of a type; 0 if it is not known."""
    if c_type in ("T", "element"):
        return watched.program.element.size_bytes
    known = (e.size_bytes for e in ELEMENT_TYPES.values() if c_type in (e.c_name, *e.other_c_names))
    return next(known, 0)


def _distance(watched: WatchedLaunch, fault: Fault) -> str:
    """Return the distance of an access from its array, as the end of a message."""
    shape = watched.shapes.get(fault.array)
    if shape is None:
        size = next((s.size_bytes for s in watched.observation.shared if s.name == fault.array), 0)
        return f", outside its {size:,} bytes" if size else ", outside the array"
    extents = f"{fault.array} has {shape} elements"
    if fault.offset_bytes < 0:
        before = -(fault.offset_bytes // shape.element_bytes)
        return f", {before:,} element{'s' * (before > 1)} before its start ({extents})"
    first = fault.offset_bytes // shape.element_bytes
    last = (fault.offset_bytes + fault.size_bytes - 1) // shape.element_bytes
    which = f"element {last:,}" if first == last else f"elements {first:,} to {last:,}"
    return f", {which} counted from 0, past its end ({extents})"


def uninitialised(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe a read of an element of shared memory or C that was never written."""
    by = "" if watched.program.method.path.suffix == ".py" else ", as with cudaMemset"
    cure = f"C is not initialised before the launch: fill it with zeros in the host code{by}"
    if fault.op != "atomic":  # else several threads add to one element
        cure += (
            ", or add in a variable and store the sum once; if it is to add to an old C, copy that to the GPU"
        )
    if watched.program.method.copies_back_only:
        cure = "pass an array of zeros by pycuda.driver.InOut, which copies it to the GPU before the launch"
    message = f"{watched.access(fault)}, which was never written"
    if fault.space == "shared":
        branch, cure = if_around_loads_of(watched.program.text, fault.array), ""
        if branch is not None:
            message += f": only threads that enter the if of line {branch} load elements of {fault.array}"
            cure = LOADS_FOR_OTHERS
    return _element_mistake(watched, "uninitialised", fault, message, cure)


def index(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe an index outside of an array's extent: of a local array, or of one dimension of a tile."""
    line = watched.program.lines.get((fault.file or watched.program.method.path.name, fault.line), "")
    found = indexed_at(line, fault.column)
    thread = watched.thread(fault)
    if found is None:
        type_text = "".join(f"[{extent}]" for extent in fault.extents)
        message = f"{thread} takes the index {fault.index} of an array of the extents {type_text}"
        return dataclasses.replace(_element_mistake(watched, "out-of-bounds", fault, message, ""), element="")
    name, indices, number = found
    expression = name + "".join(f"[{text}]" for text in indices)
    value = "" if indices[number].isdigit() else f" with {indices[number]} = {fault.index}"
    shape = watched.shapes.get(name) if fault.space == "shared" else None
    extents: tuple[int, ...] = shape.extents if shape else fault.extents
    has = f"{name} has {' x '.join(map(str, extents))} element{'s' * (extents != (1,))}"
    if not shape and number > 0:
        has = f"that index of {name} ends at {fault.extents[0] - 1}"
    block = watched.in_use(watched.launch.block)
    cure = ""
    message = f"{thread} indexes {expression}{value}, and {has}"
    if _exceeds_tile(watched, fault):
        cure = BLOCK_LIKE_TILE
        threads = " x ".join(map(str, block))
        message = f"the block has {threads} threads, and {has}: {thread} indexes {expression}{value}"
    mistake = _element_mistake(watched, "out-of-bounds", fault, message, cure)
    return dataclasses.replace(mistake, element="", array=_matrix_of(watched, name) or mistake.array)


def _matrix_of(watched: WatchedLaunch, parameter: str) -> str:
    """Return the matrix that a parameter such as `float (*a)[N]` points to: A, B or C; empty for none."""
    program = watched.program
    names = parameter_names(without_comments(program.text), program.entry)
    pairs = zip(names, watched.launch.arguments, strict=False)
    return next((passed for name, passed in pairs if name == parameter and isinstance(passed, str)), "")


def overrun(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe an access before the start or past the end of a thread's local variable."""
    (variable_bytes,), size = fault.extents, fault.size_bytes
    declared = f" (declared in line {fault.other_line})" if fault.other_line else ""
    access = f"{watched.thread(fault)} {_THREAD_VERBS[fault.op]}"
    variable = f"its local variable {fault.array}"
    if variable_bytes % size or fault.offset_bytes % size:
        place = f"byte {fault.offset_bytes} of {variable}, which has {variable_bytes} bytes{declared}"
    else:
        last = variable_bytes // size - 1
        has = f"the elements 0 to {last} of {size} bytes each" if last else f"{size} bytes"
        place = f"element {fault.offset_bytes // size} of {variable}, which has {has}{declared}"
    mistake = _element_mistake(watched, "out-of-bounds", fault, f"{access} {place}", WITHIN_VARIABLE)
    return dataclasses.replace(mistake, element="")


def nan(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe the first NaN that a thread computes from numbers."""
    message = (
        f"{watched.thread(fault)} computes a NaN here: 0/0, ∞ - ∞, 0·∞, or a function outside of its domain, "
        "such as the square root of a negative number"
    )
    return _element_mistake(watched, "wrong-result", fault, message, "")


def misaligned(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe a vector access at an address that is not a multiple of its size."""
    message = (
        f"{watched.access(fault)}, {fault.size_bytes} bytes at once, but its offset of "
        f"{fault.offset_bytes:,} bytes is not a multiple of {fault.size_bytes}; a GPU ends the kernel with "
        "“misaligned address”"
    )
    shape, cure = watched.shapes.get(fault.array), WHOLE_VECTORS
    # Within its row it begins at a multiple: then the row does not.
    if shape is None or fault.offset_bytes % shape.row_bytes % fault.size_bytes == 0:
        cure = f"{VECTORS_IN_ROWS}{_or_padded(watched.program, {'N': 4})}"
        if fault.space == "shared":
            cure = (
                f"{WHOLE_VECTORS}: let each row of {fault.array}, with its padding, have a multiple of "
                f"{fault.size_bytes} bytes"
            )
    return _element_mistake(watched, "misaligned", fault, message, cure)


def divergent_barrier(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe a barrier that not all threads of a block reach, or that they reach at different lines."""
    message = fault.message or watched.observation.ended or "not all threads of a block reach a barrier"
    threads = _threads_in(message) or (ThreadAt(fault.block, fault.thread, fault.line),)
    lines = sorted({at.line for at in threads if at.line})
    cure = (
        "let each thread that the mask names, and no other thread, execute the operation; compute the mask "
        "before the branch, for example with __ballot_sync"
        if " the mask 0x" in message
        else "let all threads of the block reach the barrier: put it outside of conditions, let no thread "
        "return or continue before it, skip only loads and stores, and write 0 to a tile in place of a load"
        if LEFT_THE_KERNEL in message
        else "let all threads of the block meet at one barrier, outside of the branches"
    )
    line, other_line = fault.line or lines[0] if lines else fault.line, lines[-1] if len(lines) > 1 else 0
    name = watched.program.method.path.name
    is_own = fault.file in ("", name) and (LEFT_THE_KERNEL in message or len(lines) > 1)
    reasons = {each: why_barrier_is_missed(watched.program.text, name, each) for each in lines if is_own}
    known = [(barrier, found) for barrier, found in reasons.items() if found is not None]
    if len(known) == 1:  # else there is a barrier in each branch of an if
        ((other_line, (why, cure, line)),) = known
        message = f"{why}; {message}"
    return watched.mistake(
        "divergent-barrier", message, cure, line, threads=threads, other_line=other_line, count=fault.count
    )


def crash(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe a launch that ended early or not at all.

    If an access far outside a matrix ended the kernel, the mistake is an access out of bounds.
    """
    message = fault.message or watched.observation.ended or "the kernel crashed"
    named_thread = re.search(r"in thread \(([\d,]+)\) of block \(([\d,]+)\)", message)
    threads = (
        (ThreadAt(_extents(named_thread[2]), _extents(named_thread[1]), fault.line),) if named_thread else ()
    )
    distance_text = re.search(r"it reached (\d+) bytes (past the end|before the start) of ([ABC])\b", message)
    if not (distance_text and threads):
        return watched.mistake("crash", message, line=fault.line, file=fault.file, threads=threads)
    shape, distance = watched.shapes[distance_text[3]], int(distance_text[1])
    offset = (
        shape.elements * shape.element_bytes + distance if distance_text[2] == "past the end" else -distance
    )
    (thread,) = threads
    far_fault = Fault(
        "out-of-bounds", fault.line, "load", "global", thread.block, thread.thread, distance_text[3], offset,
        file=fault.file,
    )  # fmt: skip
    reached = (
        f"{watched.thread(far_fault)} reaches {watched.element(far_fault)}{_distance(watched, far_fault)}"
    )
    mistake = _beyond_array(watched, far_fault, f"{reached}, which ended the kernel")
    return dataclasses.replace(mistake, threads=threads)  # without `op`: read or write is not known


def wrong_result(watched: WatchedLaunch, reason: str) -> Mistake:
    """Describe a wrong product in the words of verification, at the launch or the access that it is about."""
    of_sum = re.search(rf"\(line (\d+) of {re.escape(watched.program.method.path.name)}", reason)
    if of_sum:
        return watched.mistake("wrong-result", reason, line=int(of_sum[1]), array="C")
    file, line = watched.program.method.launched_at
    if reason == watched.program.method.wrong_dimension:
        message, _, cure = reason.partition("; ")
        file, line = watched.program.method.wrong_dimension_at
        return watched.mistake("wrong-result", message, cure, line=line, file=file, array="C")
    if line and OF_LAUNCH.match(reason):
        file, line = watched.program.method.shown_at(reason)
        return watched.mistake("wrong-result", reason, line=line, file=file, array="C")
    misread = re.match(r"(?:row and column of )?([AB]) (?:is read|are swapped)", reason)
    array, op = (misread[1], "load") if misread else ("C", "store")
    places = {(a.file, a.line) for a in watched.observation.accesses if a.array == array and a.op == op}
    file, line = places.pop() if len(places) == 1 else ("", 0)
    return watched.mistake("wrong-result", reason, line=line, file=file, array="C")


def shared_memory_limit(
    program: Program, needed_bytes: int, limit_bytes: int, gpu: str, size: str
) -> Mistake:
    """Describe a block that needs more shared memory than the limit.

    Args:
        gpu: GPU with this limit for each block; empty if it is the limit of what a kernel may declare.
    """
    most = f"the most that {gpu} gives a block" if gpu else "the most that a kernel may declare"
    message = f"a block needs {needed_bytes:,} bytes of shared memory, and {most} is {limit_bytes:,}"
    cure = (
        "make the tiles smaller"
        if gpu
        else "make the tiles smaller, or the shared memory dynamic: extern __shared__, its size given at "
        "launch, and for more than 48 KB the host opts in with cudaFuncAttributeMaxDynamicSharedMemorySize"
    )
    line = line_of(program, r"__shared__")
    file, text = program.method.path.name, program.line_text(line)
    return Mistake("shared-memory-limit", message, cure, file, line, text, sizes=(size,))


_FAULTS: Mapping[FaultKind, Callable[[WatchedLaunch, Fault], Mistake]] = {
    "race": race,
    "out-of-bounds": out_of_bounds,
    "uninitialised": uninitialised,
    "divergent-barrier": divergent_barrier,
    "misaligned": misaligned,
    "crash": crash,
    "index": index,
    "nan": nan,
    "overrun": overrun,
}


# Advice: one function for each kind.


def bank_conflict(watched: WatchedLaunch, access: Access) -> Mistake | None:
    """Describe a warp's access to shared memory that takes more passes through the banks than needed.

    Returns:
        None if the ratio is below `LEAST_CONFLICT`.
    """
    if access.wavefronts < LEAST_CONFLICT * max(access.ideal_wavefronts, 1):
        return None
    ratio = access.wavefronts / access.ideal_wavefronts
    message = (
        f"a warp {_WARP_VERBS[access.op]} {access.array or 'shared memory'} in {_number(ratio)} times as "
        f"many passes through the {BANKS} banks as needed: {_way(ratio)} bank conflict"
        + ("" if ratio in (2, 4, 8, 16, 32) else " on average")  # warps at the edges are partly idle
    )
    merged_ratio = (
        access.wide_wavefronts / access.wide_ideal_wavefronts if access.wide_ideal_wavefronts else ratio
    )
    if round(merged_ratio, 1) != round(ratio, 1):
        merged = f"{_way(merged_ratio)} one" if merged_ratio > 1 else "none"
        count = "four" if access.wide_bytes == 4 * access.size_bytes else "two"
        message += f" ({merged} if the compiler merges {count} loads into one)"
    shape, stride, cure = watched.shapes.get(access.array), _stride(watched, access), ""
    if shape and len(shape.extents) == 2:
        if stride and stride % shape.row_bytes == 0:
            message += ": neighbouring threads access one column"
        of_array = (each for each in watched.observation.accesses if each.array == access.array)
        lines = {watched.program.line_text(each.line, each.file) for each in of_array}
        by_vectors = any("matrix_sync" in line for line in lines)
        cure = _cure_of_conflict(watched, access, shape, by_vectors)
    elif shape and (row := rows_in_one_dimension(watched.program.text, access.array)):
        length, elements = row
        rows = ArrayShape((shape.elements // elements, elements), shape.element_bytes)
        has = elements % (BANKS // 2)  # of a tile of 16 or 32 columns
        if padding := row_padding(access, rows, watched.observation, by_vectors=False, has=has):
            rest = "" if padding.is_free else "; a smaller conflict is left"
            cure = (
                f"let the rows of {access.array} be {elements + padding.elements} elements long instead of "
                f"{elements} ({length}), also where the array is declared{rest}"
            )
    return watched.mistake(
        "bank-conflict", message, cure, access.line, access.file, array=access.array, count=access.requests
    )


def _cure_of_conflict(watched: WatchedLaunch, access: Access, shape: ArrayShape, by_vectors: bool) -> str:
    """Return what leaves fewer bank conflicts of an access, by the recorded addresses; empty if not known."""
    (rows, columns), name = shape.extents, access.array
    padding = row_padding(
        access,
        shape,
        watched.observation,
        by_vectors=by_vectors,
        has=declared_padding(watched.program.text, name),
    )
    if padding is not None:
        tile = f"{name}[{rows}][{columns + padding.elements}]"
        rest = "" if padding.is_free else "; a smaller conflict is left"
        of_array = (each for each in watched.observation.accesses if each.array == name)
        # nvcc merges loads only if it can see that each row begins at a multiple of 16 bytes.
        row_bytes = (columns + padding.elements) * access.size_bytes
        if row_bytes % 16 == 0 and any(each.threads > BANKS * each.requests for each in of_array):
            rest += "; declare it __align__(16), so that nvcc goes on merging four loads into one"
        if padding.elements < 0:
            return f"remove the padding of {_OF_ROWS}, {tile}{rest}"
        length = "one element" if padding.elements == 1 else f"{padding.elements} elements"
        return f"make {_OF_ROWS} {length} longer, {tile}{rest}"
    has = declared_padding(watched.program.text, name)
    if is_free_if_swizzled(name, shape, watched.observation, has):
        width = columns - has
        tile, row = f"{name}[{rows}][{width}]", "y" if rows <= width else f"(y % {width})"
        return (
            f"no length of the rows leaves all accesses to {name} without a conflict; store element [y][x] "
            f"at [y][x ^ {row}] of {tile}, and load it from there (swizzling)"
        )
    side_by_side = elements_side_by_side(access, shape, watched.observation)
    if side_by_side is None or access.op != "load":
        return ""
    count, width = side_by_side
    vector = (
        f"; or load the {count} as one float{count}"
        if (count, shape.element_bytes) in ((2, 4), (4, 4))
        else ""
    )
    return (
        f"let the {width} threads of a row take neighbouring elements: t + j * {width} instead of "
        f"t * {count} + j for t from 0 to {width - 1}, and the columns of C to match{vector}"
    )


def _a_warp(watched: WatchedLaunch) -> str:
    """Return `a warp`, with the number of blocks that were traced if a launch has more."""
    traced, blocks = len(watched.observation.blocks), watched.launch.blocks
    is_part = 0 < traced < blocks
    return f"on average, as {traced} of {blocks:,} blocks show, a warp" if is_part else "a warp"


def uncoalesced(watched: WatchedLaunch, access: Access) -> Mistake | None:
    """Describe a warp's access to global memory that touches more sectors than a coalesced one would.

    Returns:
        None if the access is coalesced, or if no warp executed it.
    """
    if not access.is_uncoalesced:
        return None
    sectors, ideal = access.sectors / access.requests, access.ideal_sectors / access.requests
    message = (
        f"{_a_warp(watched)} {_WARP_VERBS[access.op]} {access.array or 'global memory'} in "
        f"{_number(sectors)} sectors of {SECTOR_BYTES} bytes, and {_number(ideal)} would be enough"
    )
    shape = watched.shapes.get(access.array)
    line = "column" if shape and shape.by_column else "row"
    beside = ", which lie side by side in memory" if line == "column" else ""
    cure = f"let neighbouring threads access neighbouring elements of a {line}{beside}"
    if not any(
        (other.space, other.op, other.file, other.line) == ("shared", "store", access.file, access.line)
        for other in watched.observation.accesses
    ):
        cure += ", or go through shared memory"
    if "matrix_sync" in watched.program.line_text(access.line, access.file):
        cure = "copy whole rows to shared memory first, and load the fragments from there"
    stride, width = _stride(watched, access), watched.launch.block[0]
    if stride == access.size_bytes and width * access.size_bytes < SECTOR_BYTES:
        message += f": a row of the block is only {width} threads wide"
        cure = f"make the block wider: {SECTOR_BYTES // access.size_bytes} threads in x fill a sector"
    elif stride == 0:
        message += ": neighbouring threads share an element"
        cure = ""
    elif stride is not None and stride > access.size_bytes:
        message += f": neighbouring threads are {stride:,} bytes apart"
        if shape and stride == _line_bytes(shape):
            message += f", the length of a {line}"
    return watched.mistake(
        "uncoalesced", message, cure, access.line, access.file, array=access.array, count=access.requests
    )


def _line_bytes(shape: ArrayShape) -> int:
    """Return the number of bytes of a row, or of a column of a matrix that is stored by columns."""
    return shape.extents[0 if shape.by_column else -1] * shape.element_bytes


def partial_warp(watched: WatchedLaunch) -> Mistake | None:
    """Describe a block whose number of threads is not a multiple of 32; return None if it is one."""
    threads = watched.launch.threads_per_block
    idle = -threads % WARP_THREADS
    if not idle:
        return None
    block = " x ".join(map(str, watched.in_use(watched.launch.block)))
    line = _header_line(watched.program)
    x, y, z = watched.launch.block
    example = f"{threads + idle} threads" if y == z == 1 else ""
    if x == y and z == 1:  # a square tile stays square: 8 x 8, 16 x 16, 24 x 24, 32 x 32
        edge = -(-x // 8) * 8
        example = f"{edge} x {edge}, with tiles of that size if the kernel has any"
    return watched.mistake(
        "partial-warp",
        f"a block of {block} has {threads} thread{'s' * (threads > 1)}, not a multiple of 32: {idle} of the "
        "32 lanes of its last warp do nothing",
        "use a multiple of 32 threads for each block" + f", such as {example}" * bool(example),
        line,
    )


def idle_blocks(watched: WatchedLaunch, storing: Extents, loading: Sequence[bool]) -> Mistake:
    """Describe a grid with more blocks than those that store a result.

    Args:
        storing: number of blocks along each axis that store something.
        loading: whether each class of the others loads from global memory.
    """
    grid, those = (" x ".join(map(str, watched.in_use(each))) for each in (watched.launch.grid, storing))
    which = "they load" if all(loading) else "some of them load"
    others = f"store nothing, though {which} elements" if any(loading) else "only start and end"
    axes = [
        name
        for name, extent, count in zip("xyz", watched.launch.grid, storing, strict=True)
        if count < extent
    ]
    file, line = watched.program.method.shown_at("the grid")
    return watched.mistake(
        "idle-blocks",
        f"the grid has {grid} blocks, and {those} of them store a result; the others {others}",
        f"in {' and '.join(axes)}, divide the extent of the matrix by the number of rows or columns that a "
        "block computes, and round up",
        line,
        file,
    )


def _stride(watched: WatchedLaunch, access: Access) -> int | None:
    """Return the bytes between lanes 0 and 1 of an access, in its first request with both lanes.

    Returns:
        None if there is no such request.
    """
    for request in watched.observation.requests:
        if request.site == access.site and 0 in request.offsets and 1 in request.offsets:
            return abs(request.offsets[1] - request.offsets[0])
    return None


# The cause of several mistakes.


def may_follow_from_another(mistakes: Sequence[Mistake], program: Program) -> bool:
    """Return whether mistakes may follow from one that was not observed, such as a wrong index.

    A missing barrier explains races, unless two arrays overlap in dynamic shared memory, or all threads of a
    block add to one sum. Only a product of doubles that is computed in less than its type may have a
    declaration that explains it.
    """
    is_outside = any(mistake.kind == "out-of-bounds" for mistake in mistakes)
    lacks_barrier = any(m.barrier and m.needs_barrier for m in mistakes)
    has_shared_sum = any(changes_of_shared_sums(program.text, program.entry))
    if lacks_barrier and not (is_outside or has_shared_sum or dynamic_arrays_in(program.text)):
        return False
    if program.element.name != "float64":
        mistakes = [mistake for mistake in mistakes if not mistake.message.startswith(LESS_THAN_TYPE)]
    return any(map(_is_consequence, mistakes))


def _is_consequence(mistake: Mistake) -> bool:
    """Return whether a mistake may follow from another that was not observed."""
    lacks_barrier = mistake.barrier and mistake.needs_barrier
    if lacks_barrier or mistake.cure == BLOCK_LIKE_TILE or mistake.cure.startswith(BEHIND_OTHER):
        return False
    return mistake.kind in ("out-of-bounds", "race", "uninitialised", "wrong-result", "crash")


def without_cure(race: Mistake) -> Mistake:
    """Return a race as a fact, without the barrier that does not make the product right."""
    after, before = race.barrier_lines
    if after and after == before:
        return dataclasses.replace(race, cure=READ_FIRST, needs_barrier=False)
    message = race.message.partition(f"{_NO_BARRIER}:")[0] + _NO_BARRIER * (f"{_NO_BARRIER}:" in race.message)
    return dataclasses.replace(race, message=message, cure="", needs_barrier=False)


def is_outside_of_matrix(mistake: Mistake) -> bool:
    """Return whether a mistake is an access outside of A, B or C."""
    return mistake.kind == "out-of-bounds" and mistake.array in ("A", "B", "C")


def beyond_edges(mistakes: Iterable[Mistake]) -> list[Mistake]:
    """Return what a kernel that is right at multiples does beyond the edges of matrices at other sizes.

    These are accesses outside of a matrix, and after them races on C between blocks: beyond the end of a row
    lies the next one, which another block writes.
    """
    listed = list(mistakes)
    races = [m for m in listed if m.kind == "race" and m.array == "C" and OF_BLOCKS in m.message]
    return [*filter(is_outside_of_matrix, listed), *races]


def proven(seen: Mistake, cause: ProvenCause, program: Program, *, is_explained: bool = False) -> Mistake:
    """Return a proven cause as a mistake, with what was seen of it.

    Args:
        is_explained: the message of what was seen begins with the cause already.
    """
    file = cause.file or program.method.path.name
    text = program.line_text(cause.line, cause.file)
    is_explained = is_explained or seen.message.startswith(cause.mistake)
    # The size at which a cause was tried is not the one at which the mistake was seen first.
    at = f"at {seen.sizes[0]}, " if seen.sizes and "tried at" in cause.mistake else ""
    message = seen.message if is_explained else f"{cause.mistake}; {at}{seen.message}"
    if cause.is_of_first_launch:
        message = cause.mistake
    message = message.replace(f": {WRONG_TERM}", "")  # the proven cause is another
    return dataclasses.replace(
        seen, message=message, cure=cause.cure, file=file, line=cause.line, text=text, other_line=0
    )


def without_bounds_check(
    mistakes: Sequence[Mistake], seen: Sequence[Mistake], program: Program, multiple: int
) -> list[Mistake]:
    """Return the mistakes at one size, with one for what follows from a missing bounds check.

    They stay as they are at a size without such an access.

    Args:
        seen: what `beyond_edges` returns, for all sizes.
        multiple: the product is right at sizes that are multiples of this number.
    """
    if not any(m in seen for m in mistakes):
        return list(mistakes)
    cure = bounds_cure(program, multiple)
    arrays = sorted({mistake.array for mistake in seen} - {seen[0].array})
    also = f" (the same holds for {' and '.join(arrays)})" if arrays else ""
    first = next((m for m in mistakes if m in seen), mistakes[0])
    missing = dataclasses.replace(
        seen[0], message=seen[0].message + also, cure=cure, sizes=first.sizes, count=first.count
    )
    return [missing, *(m for m in mistakes if not _is_consequence(m) or m.array not in ("A", "B", "C"))]


def of_requirement(seen: Mistake, program: Program, steps: tuple[int, ...], size: str) -> Mistake:
    """Return an access as the one mistake at a size, of a kernel that needs whole tiles or vectors.

    Args:
        seen: the access, misaligned or outside of a matrix.
        steps: numbers of which M, N and K have to be multiples.
        size: M x N x K.
    """
    names = re.findall(r"/\s*(\w+)\b", seen.text)  # `A4[row * (K / 4) + k]`
    divisors = {number_in(program.text, name) for name in names} & {2, 4, 8}
    extents = [extent for extent, step in zip("MNK", steps, strict=True) if step in divisors]
    if extents:
        width, sizes = steps["MNK".index(extents[0])], " or ".join(extents)
        what = (
            f"the index counts vectors of {width} elements, and where {sizes} is no multiple of {width}, a "
            "row does not begin at a vector"
        )
        cure = (
            f"require multiples of {width} for {' and '.join(extents)}, or have the rows padded with zeros "
            "to such a length; or take the elements of such rows one by one"
        )
        return dataclasses.replace(seen, message=what, cure=cure, sizes=(size,))
    cure = VECTORS_IN_ROWS if seen.kind == "misaligned" else WITHIN_MATRIX
    return dataclasses.replace(
        seen, cure=cure + _or_padded(program, dict(zip("MNK", steps, strict=True))), sizes=(size,)
    )


def with_zero_for_load(mistake: Mistake) -> Mistake:
    """Return a load outside of a matrix with the 0 that its cure needs, where the loaded value is kept."""
    is_kept = (
        re.match(r"[^=]*[^-+*/%&|^<>!=]=(?!=)", mistake.text) is not None and " reads " in mistake.message
    )
    if not (is_kept and mistake.cure.startswith(WITHIN_MATRIX)):
        return mistake
    cure = mistake.cure.replace(WITHIN_MATRIX, f"{WITHIN_MATRIX}, and take 0 otherwise", 1)
    return dataclasses.replace(mistake, cure=cure)


def with_condition(mistake: Mistake, text: str) -> Mistake:
    """Return an access outside of a matrix whose cure names the condition that the access passes.

    Args:
        text: the program's source.
    """
    if not mistake.cure.startswith(WITHIN_MATRIX):
        return mistake
    line = line_of_deciding_condition(text, mistake.file, mistake.line)
    passes = f"; the condition in line {line} lets this access pass"
    return dataclasses.replace(mistake, cure=mistake.cure + passes) if line else mistake


def bounds_cure(program: Program, multiple: int | None) -> str:
    """Return the cure of a missing bounds check; empty if it is not known to be missing.

    Args:
        multiple: as for `without_bounds_check`; None if another mistake may be the cause.
    """
    if multiple is None:
        return ""
    return f"{WITHIN_MATRIX}{_or_padded(program, dict.fromkeys('MNK', multiple))}"


def _or_padded(program: Program, steps: Mapping[str, int]) -> str:
    """Return how to require that sizes are multiples: in the kernel's header, or with an option.

    Args:
        steps: the number of which each size has to be a multiple, by its name.

    Returns:
        An empty text if the program has other sizes, because it does not pad its matrices.
    """
    own = dict(zip("MNK", program.method.program_size or (), strict=False))
    needed = {size: step for size, step in steps.items() if step > 1}
    if not needed or any(own.get(size, 0) % step for size, step in needed.items()):
        return ""
    condition = ", ".join(f"{size} % {step} == 0" for size, step in needed.items())
    has_header = re.search(r"^//\s+(?:threads|grid):", program.method.source, re.MULTILINE)
    required = f"requires: {condition} in the header" if has_header else f"--requires '{condition}'"
    return f"{OR_PADDED}{required}"


# Words of messages, and lines of the source.

_THREAD_VERBS: Mapping[str, str] = {"load": "reads", "store": "writes", "atomic": "updates"}

_WARP_VERBS: Mapping[str, str] = {"load": "loads", "store": "stores", "atomic": "updates"}


def _element_mistake(watched: WatchedLaunch, kind: Kind, fault: Fault, message: str, cure: str) -> Mistake:
    """Return the mistake of one thread at one element."""
    called = f", in the call of line {fault.call_line}" if fault.call_line else ""
    return watched.mistake(
        kind, f"{message}{called}", cure, fault.line, fault.file,
        array=fault.array, element=watched.element(fault),
        threads=(ThreadAt(fault.block, fault.thread, fault.line, fault.op),), count=fault.count,
    )  # fmt: skip


def line_of(program: Program, pattern: str) -> int:
    """Return the first line of code that matches a pattern; 0 if there is none."""
    match = re.search(pattern, without_comments(program.method.source))
    return program.method.source.count("\n", 0, match.start()) + 1 if match else 0


def _header_line(program: Program) -> int:
    """Return the line of the header that gives the block its threads; 0 if the file has no header."""
    found = re.search(r"^//\s+threads:", program.method.source, re.MULTILINE)
    return program.method.source.count("\n", 0, found.start()) + 1 if found else 0


class _BarrierLines:
    """The lines of a file that contain barriers, of a block or of a warp.

    Args:
        file: an included file; empty for the kernel's own.
        array: the array whose accesses a barrier has to order. A barrier in the line of an access counts if
            it stands on the right side of the array's name.
    """

    def __init__(self, program: Program, file: str, array: str) -> None:
        if file:
            self._lines = {number: text for (name, number), text in program.lines.items() if name == file}
        else:
            self._lines = dict(enumerate(without_comments(program.method.source).splitlines(), 1))
        self._array = re.compile(rf"\b{re.escape(array)}\b") if array else None
        groups = "|".join(re.findall(_WARP_GROUP, "\n".join(self._lines.values()))) or r"(?!)"
        sync_of_warp = rf"\b(?:{groups})\s*\.\s*sync\s*\(|(?<![\w.>])sync\s*\(\s*(?:{groups})\s*\)"
        self._of_warp = re.compile(rf"\b__syncwarp\s*\(|{sync_of_warp}")
        of_block = (
            rf"\b__syncthreads(?:_\w+)?\s*\(|\b(?!(?:{groups})\b)\w+\s*\.\s*sync\s*\("
            rf"|(?<![\w.>])sync\s*\((?!\s*(?:{groups})\s*\))|\bbarrier\b"
        )
        names = names_with(program.method.source, of_block)
        self._of_block = re.compile("|".join([of_block, *(rf"\b{name}\b" for name in names)]))

    def has_block_barrier(self, first: int, last: int) -> bool:
        """Return whether a barrier of the block is between two accesses."""
        return bool(self._between(self._of_block, first, last))

    def warp_barrier(self, first: int, last: int, *, is_between: bool) -> str:
        """Return a barrier of a warp, such as `the __syncwarp() in line 22`; empty if there is none.

        Args:
            is_between: it is between the two accesses; otherwise outside of them, in the same loop.
        """
        number = self._between(self._of_warp, first, last) if is_between else self._in_loop(first, last)
        name = "__syncwarp()" if "__syncwarp" in self._lines.get(number, "") else "barrier of a warp"
        return f"the {name} in line {number}" if number else ""

    def _in_loop(self, first: int, last: int) -> int:
        """Return the line with a barrier of a warp that follows the last line, or precedes the first.

        It has to be in the same braces as the first line.
        """
        depth = 0
        for number in range(first, max(self._lines, default=0) + 1):
            text = self._lines.get(number, "")
            after = self._side(text, last=True) if number == last else 0
            if number >= last and self._of_warp.search(text, after):
                return number
            depth += text.count("{") - text.count("}")
            if depth < 0:
                break
        depth = 0
        for number in range(first - 1, 0, -1):
            text = self._lines.get(number, "")
            if depth == 0 and self._of_warp.search(text):
                return number
            depth += text.count("}") - text.count("{")
            if depth < 0:
                break
        return 0

    def _between(self, barrier: re.Pattern[str], first: int, last: int) -> int:
        """Return the line with a barrier between two accesses; 0 if there is none."""
        for number in range(first, last + 1):
            text = self._lines.get(number, "")
            begin = self._side(text, last=True) if number == first else 0
            end = self._side(text, last=False) if number == last else len(text)
            if any(begin <= found.start() < end for found in barrier.finditer(text)):
                return number
        return 0

    def _side(self, text: str, *, last: bool) -> int:
        """Return where the array is named last or first in a line; its end or start if it is not named."""
        places = [found.start() for found in self._array.finditer(text)] if self._array else []
        if places:
            return places[-1 if last else 0]
        return len(text) if last else 0


_WARP_GROUP = (
    r"(\w+)\s*=\s*(?:\w+\s*::\s*)*(?:tiled_partition\s*<\s*(?:32|16|8|4|2|1|WARP\w*|warpSize)\s*>"
    r"|coalesced_threads)\s*\("
)
"""The declaration of a group of threads that is a part of a warp."""


def _threads_in(message: str) -> tuple[ThreadAt, ...]:
    """Return the threads that the device names in its message about a barrier, with the lines they wait at.

    Example: block (4,0): thread (6,0) left the kernel while thread (0,0) waits at the barrier in line 28 of …
    """
    block = re.search(r"block \(([\d,]+)\)", message)
    indices = re.findall(r"thread \(([\d,]+)\)(?:(?! thread ).)*?(?= thread |$|;)", message)
    if block is None:
        return ()
    threads = []
    for index in indices:
        text = message.partition(f"thread ({index})")[2].partition(" thread ")[0]
        line = re.search(r"in line (\d+)", text)
        threads.append(ThreadAt(_extents(block[1]), _extents(index), int(line[1]) if line else 0))
    return tuple(threads)


def _extents(text: str) -> tuple[int, int, int]:
    x, y, z = (*map(int, text.split(",")), 0, 0)[:3]
    return x, y, z


def _way(ratio: float) -> str:
    """Return `a 2-way` or `an 8-way`."""
    number = _number(ratio)
    return f"{'an' if number.startswith('8') or number in ('11', '18') else 'a'} {number}-way"


def _ways_in(message: str) -> str:
    """Return the words for a bank conflict in its message, such as `an 8-way`; empty if there are none."""
    found = re.search(r"\ban? [\d.,]+-way\b", message)
    return found[0] if found else ""


def _number(value: float) -> str:
    """Return a number with three significant digits, such as 3.25, and with all digits before the point."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
