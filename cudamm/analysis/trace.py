"""Memory traffic of a kernel: requests, sectors and wavefronts of each load and store, for a whole grid.

`devices/cpu_runtime/observe.cpp` counts while the kernel runs on the CPU device; this file adds up the counts
of each load and store. A few blocks are traced, and their counts are scaled to all blocks of their class.

The counts correspond to Nsight Compute's l1tex__t_requests_pipe_lsu_mem_global_op_ld, l1tex__t_sectors_… and
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld, and to their counterparts for stores. They count what
reaches the L1 cache, whether it hits or misses.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeVar

from cudamm.analysis.storing_blocks import linear_index, storing_extents
from cudamm.benchmark.result import Status
from cudamm.compile.compile_all import compile_each
from cudamm.compile.host_compiler import Executable, compile_to_observe, compiler
from cudamm.compile.merged_accesses import Lines, merged_lines
from cudamm.compile.process_group import CORES, thread_pool
from cudamm.compile.program import Program
from cudamm.devices.device import padded
from cudamm.devices.find_device import host
from cudamm.devices.observation import BANK_BYTES, BANKS, SECTOR_BYTES, Access, Observation, Op, Space
from cudamm.devices.observe import TIMEOUT_S, Watch, observe
from cudamm.devices.observe import unseen_bytes as unseen_by_observe
from cudamm.errors import HangError, KernelError, NoDeviceError, UsageError
from cudamm.execution.case import Case
from cudamm.execution.duration_estimate import shows_hang
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import Progress, check_user_kernels, plan_all
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import Extents, Launch
from cudamm.kernels.matrix_layout import MatrixLayout
from cudamm.kernels.method import MatrixName, Value
from cudamm.kernels.parameter_types import parameter_names
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import ChosenBy, Variant, chosen_record, variants
from cudamm.source.c_numbers import number_in
from cudamm.source.kernel_changes import template_values
from cudamm.source.repeated_reads import reads_per_load, repeated_reads
from cudamm.source.selected_stores import with_selected_stores

SCHEMA = "cudamm.trace/1"

Job = TypeVar("Job")
T = TypeVar("T")
Cases = Sequence[tuple[Variant, Problem]]

BASELINE = "naive"
"""Method with whose traffic every variant is compared."""

WHOLE_WORK, MOST_WHOLE_BLOCKS = 2**22, 4096
"""Multiply-adds and blocks of a product of which all blocks are traced: it takes a second or two more."""

DEFAULT_BLOCKS = 8
"""Number of blocks that are traced unless another is asked for, or all blocks of a small product."""

MOST_LAYERS = 8
"""Maximum number of layers in z of which a block of each class is traced."""

BEYOND = 2
"""Number of blocks that are traced of each class of blocks that store nothing."""

OBSERVED_SLOWDOWN = 10.0
"""How many times slower a kernel is while its accesses are recorded, at most."""

AS_WRITTEN = "accesses are counted as the source has them"
"""Why nvcc's merging is not known if no architecture is named."""

WARP_THREADS = 32

MOST_REQUESTS = 20_000
"""Maximum number of recorded requests of a watched warp; enough to reach the final store at K = 1024."""

_COUNTS = (
    "requests",
    "threads",
    "bytes_requested",
    "bytes_used",
    "sectors",
    "ideal_sectors",
    "wavefronts",
    "ideal_wavefronts",
    "broadcasts",
    "wide_requests",
    "wide_wavefronts",
    "wide_ideal_wavefronts",
    "pair_requests",
    "pair_wavefronts",
    "pair_ideal_wavefronts",
    "merged_threads",
    "merged_bytes_used",
    "unrolled_requests",
    "unrolled_sectors",
)
"""Fields of `Access` that are summed over blocks."""

_COUNTS_UNMERGED = tuple(name for name in _COUNTS if not name.startswith(("wide_", "pair_", "merged_")))
"""Those of accesses that nvcc does not merge: in the others no element is loaded twice anyway."""


@dataclass(frozen=True)
class Settings:
    """The extent of a trace.

    Attributes:
        blocks: number of blocks to trace, at least one of each class; of a block with very much work, some
            warps are traced. None: all warps of all blocks.
        arch: architecture for which nvcc compiles the kernel, to find the accesses to shared memory that it
            merges into 16 bytes and the loops of stores that it unrolls; None: accesses count as written.
        warp: number of the warp whose accesses are recorded element by element; None: no warp.
        of_block: index of that warp's block, in x, y and z.
        steps: number of time periods to record.
        timeout_s: time limit in seconds for a block of threads.
    """

    blocks: int | None = DEFAULT_BLOCKS
    arch: str | None = None
    warp: int | None = None
    of_block: Extents = (0, 0, 0)
    steps: int = 3
    timeout_s: float = TIMEOUT_S


@dataclass(frozen=True)
class BlockClass:
    """Blocks that are assumed to access memory in the same way.

    Attributes:
        name: part of the grid that contains the blocks.
        blocks: number of blocks.
        traced: linear indices of the blocks that are traced.
        stores: whether the blocks are among those that store something.
    """

    name: str
    blocks: int
    traced: tuple[int, ...]
    stores: bool = True


@dataclass(frozen=True)
class Totals:
    """Sums over several accesses; the attributes are those of `Access`."""

    requests: int = 0
    bytes_requested: int = 0
    bytes_used: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0

    @property
    def bytes_moved(self) -> int:
        """Bytes of the touched sectors of global memory."""
        return self.sectors * SECTOR_BYTES

    def record(self, space: Space) -> dict[str, int]:
        """Return the sums for JSON, without the counts that do not apply to the memory space."""
        other = "wavefronts" if space == "global" else "sectors"
        return {name: value for name, value in dataclasses.asdict(self).items() if not name.endswith(other)}


@dataclass(frozen=True)
class WarpAccess:
    """One warp's accesses at one place of the source, one request for each time period.

    Attributes:
        layout: extents of the matrix, in elements. A row of a shared array spans all banks once.
        element_bytes: size of an element; an access may cover several elements.
        periods: for each period, the offset of each lane from the start of the array, in bytes.
    """

    access: Access
    layout: MatrixLayout
    element_bytes: int
    periods: tuple[dict[int, int], ...]

    def cells(self, period: int) -> dict[tuple[int, int], list[int]]:
        """Return the lanes that access each element, by row and column of the element."""
        lanes: dict[tuple[int, int], list[int]] = {}
        width = max(1, self.access.size_bytes // self.element_bytes)
        for lane, offset in sorted(self.periods[period].items()):
            first = offset // self.element_bytes
            for element in range(first, first + width):
                lanes.setdefault(self.layout.element_at(element), []).append(lane)
        return lanes

    def sectors(self, period: int) -> int:
        """Return the number of sectors of global memory that the request touches."""
        return len(self._pieces(period, SECTOR_BYTES))

    def words_of_a_bank(self, period: int) -> int:
        """Return the number of different 4-byte words that the request needs from its busiest bank."""
        banks = Counter(word % BANKS for word in self._pieces(period, BANK_BYTES))
        return max(banks.values())

    def _pieces(self, period: int, size: int) -> set[int]:
        """Return the numbers of the aligned pieces of `size` bytes that contain the accessed bytes."""
        last = self.access.size_bytes - 1
        return {
            piece
            for offset in self.periods[period].values()
            for piece in range(offset // size, (offset + last) // size + 1)
        }


@dataclass(frozen=True)
class Watched:
    """The recorded accesses of one warp.

    Attributes:
        block: index of the warp's block, in x, y and z.
        warp: number of the warp in the block.
        accesses: accesses in the order of the source.
        to_the_end: whether the warp was watched to its end; if not, later accesses are missing.
    """

    block: Extents
    warp: int
    accesses: tuple[WarpAccess, ...]
    to_the_end: bool


@dataclass(frozen=True)
class TraceResult:
    """The memory traffic of one variant on one problem.

    Attributes:
        file: name of the kernel's file.
        padded: whether the matrices were padded with zeros; accesses to the padding are counted.
        reason: why tracing failed or was skipped; empty otherwise.
        grid: number of blocks in x, y and z.
        classes: classes of the grid's blocks.
        warps: number of traced warps and number of all warps in the traced blocks.
        accesses: accesses scaled to the whole grid, in the order of the source.
        wide_lines: lines whose accesses to shared memory are counted as nvcc merges them; None if nvcc's
            merging is not known.
        merged_bytes: sizes of the accesses into which nvcc merges them.
        repeated_lines: lines with reads that are not counted, because a register holds the element already.
        why_as_written: why nvcc's merging is not known; empty if it is, or if nothing could be merged.
        naive: the baseline's accesses to global memory at the same size; None if they are not known.
        watched: the recorded warp; None if none was asked for.
        chosen_by: what chose the variant in the place of `best`; empty if the variant was named.
    """

    method: str
    params: dict[str, Value]
    m: int
    n: int
    k: int
    dtype: str
    file: str
    padded: bool
    status: Status
    reason: str = ""
    grid: Extents = (1, 1, 1)
    classes: tuple[BlockClass, ...] = ()
    warps: tuple[int, int] = (0, 0)
    accesses: tuple[Access, ...] = ()
    wide_lines: frozenset[int] | None = None
    merged_bytes: tuple[int, ...] = ()
    why_as_written: str = ""
    repeated_lines: frozenset[int] = frozenset()
    naive: Totals | None = None
    watched: Watched | None = None
    chosen_by: ChosenBy = ""

    @property
    def operations(self) -> int:
        """Number of operations of the product, without padding."""
        return Shape(self.m, self.n, self.k).flops

    @property
    def blocks(self) -> tuple[int, int]:
        """Number of traced blocks and number of all blocks."""
        return sum(len(c.traced) for c in self.classes), math.prod(self.grid)

    @property
    def scaled(self) -> bool:
        """True if some blocks or warps were not traced, so that the counts are scaled."""
        return self.blocks[0] < self.blocks[1] or self.warps[0] < self.warps[1]

    def total(self, space: Space, op: Op | None = None, array: str | None = None) -> Totals:
        """Return the sums over the accesses to a memory space.

        Args:
            op: kind of access; None: all kinds.
            array: name of the array; None: all arrays.
        """
        chosen = (a for a in self.accesses if a.space == space)
        return totals(a for a in chosen if op in (None, a.op) and array in (None, a.array))

    @property
    def intensity(self) -> float | None:
        """Operations for each byte that threads load from global memory; padding adds bytes only."""
        return _quotient(self.operations, self.total("global", "load").bytes_requested)

    @property
    def intensity_with_stores(self) -> float | None:
        """Operations for each byte that threads load from global memory or store there."""
        return _quotient(self.operations, self.total("global").bytes_requested)

    @property
    def sector_intensity(self) -> float | None:
        """Operations for each byte of the sectors that loads and stores touch."""
        return _quotient(self.operations, self.total("global").bytes_moved)

    @property
    def shared_bytes_per_multiply_add(self) -> float | None:
        """Bytes that threads load from shared memory for each of the M N K multiply-adds; None without loads.

        A kernel that loads an element of each tile for a multiply-add has twice an element's bytes.
        """
        loaded = self.total("shared", "load").bytes_requested
        return _quotient(loaded, self.operations // 2) if loaded else None

    @property
    def bytes_against_naive(self) -> float | None:
        """Ratio of the bytes that threads load and store to those of the baseline."""
        if self.naive is None:
            return None
        return _quotient(self.total("global").bytes_requested, self.naive.bytes_requested)

    @property
    def sectors_against_naive(self) -> float | None:
        """Ratio of the sectors that loads and stores touch to those of the baseline."""
        return None if self.naive is None else _quotient(self.total("global").sectors, self.naive.sectors)

    def _identity(self) -> dict[str, Any]:
        names = ("method", "params", "m", "n", "k", "dtype", "padded", "status", "reason", "scaled", "file")
        return {name: getattr(self, name) for name in names} | chosen_record(self.chosen_by)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of a `cudamm.trace/1` file.

        Each access has a row. If there are none, one row contains the status and the reason.
        """
        if not self.accesses:
            return [self._identity() | dict.fromkeys(_OF_ACCESS)]
        return [self._identity() | _record(access) for access in self.accesses]

    def summary(self) -> dict[str, Any]:
        """Return the record of the variant as a whole in a `cudamm.trace/1` file."""
        record = self._identity() | {
            "grid": list(self.grid),
            "classes": [{"name": c.name, "blocks": c.blocks, "traced": list(c.traced)} for c in self.classes],
            "warps_traced": self.warps[0],
            "warps_of_traced_blocks": self.warps[1],
            "wide_lines": None if self.wide_lines is None else sorted(self.wide_lines),
            "operations": self.operations,
            **{
                f"{space}_{op}s": self.total(space, op).record(space)
                for space, op in itertools.product(_SPACES, _OPS)
            },
        }
        names = (
            "intensity", "intensity_with_stores", "sector_intensity", "bytes_against_naive",
            "sectors_against_naive", "shared_bytes_per_multiply_add",
        )  # fmt: skip
        return record | {name: getattr(self, name) for name in names} | {"warp": _warp_record(self.watched)}


_SPACES: tuple[Space, ...] = ("global", "shared")
_OPS: tuple[Op, ...] = ("load", "store", "atomic")

_OF_ACCESS = (
    "line", "text", "space", "op", "array", "size_bytes", "pattern", "requests", "threads", "broadcasts",
    "sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts", "bytes_requested", "bytes_used",
    "bytes_moved", "by_copy",
)  # fmt: skip


def _record(access: Access) -> dict[str, Any]:
    is_global = access.space == "global"
    given = {name: getattr(access, name, None) for name in _OF_ACCESS} | {"pattern": pattern(access)}
    if is_global:
        return given | {
            "wavefronts": None,
            "ideal_wavefronts": None,
            "bytes_moved": totals([access]).bytes_moved,
        }
    return given | {"sectors": None, "ideal_sectors": None}


def _warp_record(watched: Watched | None) -> dict[str, Any] | None:
    if watched is None:
        return None
    names = ("line", "space", "op", "array", "size_bytes")
    accesses = [
        {
            **{name: getattr(warp_access.access, name) for name in names},
            "periods": [
                {str(lane): offset for lane, offset in sorted(period.items())}
                for period in warp_access.periods
            ],
        }
        for warp_access in watched.accesses
    ]
    return {"block": list(watched.block), "warp": watched.warp, "offset_bytes_by_lane": accesses}


def totals(accesses: Iterable[Access]) -> Totals:
    """Return the sums over accesses."""
    listed = list(accesses)
    return Totals(**{f.name: sum(getattr(a, f.name) for a in listed) for f in dataclasses.fields(Totals)})


def pattern(access: Access) -> str:
    """Return the access pattern of a warp's threads in a few words, judged by the counts."""
    if access.requests and access.broadcasts == access.requests and access.threads > access.requests:
        return "broadcast"
    if access.space == "global":
        if access.sectors <= access.ideal_sectors:
            return "coalesced"
        return "uncoalesced" if access.is_uncoalesced else "partly coalesced"
    if access.wavefronts <= access.ideal_wavefronts:
        return "no conflict"
    ways = f"{access.wavefronts / access.ideal_wavefronts:.3g}"
    return "almost none" if ways == "1" else f"{ways}-way conflict"


def _quotient(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None


def block_classes(grid: Extents, limit: int | None, storing: Extents | None = None) -> list[BlockClass]:
    """Divide a grid's blocks into classes and choose the blocks of each class to be traced.

    The last block of each axis may reach past the edge of the matrices. All other blocks of an axis are
    assumed to be alike. So a grid in x and y has four classes: its interior, its last column, its last row
    and the corner. Blocks beyond those that store are in classes of their own.

    Args:
        limit: number of blocks to trace, divided evenly among the classes; None: all. Of each class at least
            one is traced, and one of each of `MOST_LAYERS` layers, as these may begin at other alignments. Of
            each class of blocks that store nothing, `BEYOND` more are traced.
        storing: number of blocks along each axis that store something; None: all.
    """
    axes = []
    for extent, count in zip(grid, storing or grid, strict=True):
        halves = [(0, range(count - 1)), (1, range(count - 1, count))] if count > 1 else [(0, range(count))]
        axes.append(halves + [(2, range(count, extent))] * (count < extent))
    parts = [(tuple(h[0] for h in halves), [h[1] for h in halves]) for halves in itertools.product(*axes)]

    def traced(flags: Sequence[int], ranges: Sequence[range], share: int) -> BlockClass:
        indices = sorted(linear_index(grid, *block) for block in _spread(ranges, share))
        return BlockClass(_class_name(flags), math.prod(map(len, ranges)), tuple(indices), 2 not in flags)

    # The smallest class comes first; the larger ones share the blocks that it does not use.
    of_stores = sorted(
        (part for part in parts if 2 not in part[0]), key=lambda part: sum(part[0]), reverse=True
    )
    budget = math.inf if limit is None else limit
    classes: list[BlockClass] = []
    for remaining_classes, (flags, ranges) in zip(range(len(of_stores), 0, -1), of_stores, strict=True):
        blocks = math.prod(map(len, ranges))
        layers = min(len(ranges[2]), MOST_LAYERS)
        share = blocks if budget == math.inf else min(blocks, max(layers, int(budget) // remaining_classes))
        budget -= share
        classes.append(traced(flags, ranges, share))
    beyond = [
        traced(flags, ranges, blocks if limit is None else min(blocks, BEYOND))
        for flags, ranges in parts
        if 2 in flags and (blocks := math.prod(map(len, ranges)))
    ]
    return classes[::-1] + beyond


def _class_name(flags: Sequence[int]) -> str:
    of_column, of_row, of_layer = flags
    name = _IN_PLANE[of_column, of_row]
    return name + ("", " of the last layer", " beyond the last layer")[of_layer]


INTERIOR = "interior"
"""The class of the blocks at no edge of the grid."""

_IN_PLANE = {
    (0, 0): INTERIOR,
    (1, 0): "last column",
    (0, 1): "last row",
    (1, 1): "corner",
    (2, 0): "beyond the last column",
    (2, 1): "last row, beyond the last column",
    (0, 2): "beyond the last row",
    (1, 2): "last column, beyond the last row",
    (2, 2): "beyond the corner",
}


def _spread(ranges: Sequence[range], count: int) -> set[tuple[int, int, int]]:
    """Return some of the blocks, the first one included, at unequal distances, from each layer in turn.

    The distances come from M. Roberts' R3 sequence, whose steps are irrational. Blocks at distances that are
    a power of two would all have the same alignment.
    """
    lengths = [len(r) for r in ranges]
    if count == math.prod(lengths):
        return set(itertools.product(*ranges))  # type: ignore[arg-type]
    steps = (0.8191725133961645, 0.6710436067037893)
    blocks: set[tuple[int, int, int]] = set()
    for i in itertools.count():
        x, y = (int(length * (i * step % 1)) for length, step in zip(lengths, steps, strict=False))
        blocks.add((ranges[0][x], ranges[1][y], ranges[2][i % lengths[2]]))
        if len(blocks) == count:
            return blocks
    raise AssertionError("the sequence reaches every block")


def trace(cases: Cases, settings: Settings, fmad: bool, progress: Progress) -> Iterator[TraceResult]:
    """Trace each case, in order.

    Raises:
        UsageError: the only case cannot be launched, or a case does not have the warp to be recorded.
        NoDeviceError: there is no C++ compiler.
    """
    executor = InProcessExecutor(host())
    planned = plan_all(executor, cases, fmad, verified=False, each_may_fail=len(cases) > 1)
    for case in planned:
        _check_watch(case, settings)
    (baseline,) = variants(find(BASELINE), {})
    problems = list(dict.fromkeys(problem for _, problem in cases))
    of_baseline = [(baseline, _in_memory(problem)) for problem in problems]
    naive = plan_all(executor, of_baseline, fmad, verified=False, each_may_fail=True)
    if settings.arch is not None:
        planned = [with_stores_selected(case, progress) for case in planned]
    compiled = _compiled([case for case in (*planned, *naive) if case.launch], progress)
    check_user_kernels([(case.program, compiled[case.program]) for case in planned if case.launch])
    done, total = 0, len(planned)
    for problem, naive_case in zip(problems, naive, strict=True):
        problem_cases = [case for case in planned if case.problem == problem]
        own_baseline = next((case for case in problem_cases if case.variant == baseline), None)
        baseline_settings = dataclasses.replace(settings, warp=None, arch=None)
        jobs = [(case, settings) for case in problem_cases]
        jobs += [] if own_baseline else [(naive_case, baseline_settings)]
        _ = problem.inputs  # computed here, before several threads ask for them at once
        results: list[TraceResult] = []
        progress(f"tracing {problem_cases[0].variant}", done, total)
        with contextlib.closing(_in_parallel(lambda job: _traced(job[0], job[1], compiled), jobs)) as traced:
            for result in traced:
                results.append(result)
                if len(results) <= len(problem_cases):
                    done += 1
                    traced_next = problem_cases[min(len(results), len(problem_cases) - 1)]
                    progress(f"tracing {traced_next.variant}", done, total)
        problem.release()
        naive_result = results[problem_cases.index(own_baseline) if own_baseline else -1]
        naive_totals = naive_result.total("global") if naive_result.status == "ok" else None
        for result in results[: len(problem_cases)]:
            yield dataclasses.replace(result, naive=naive_totals)


def unseen_bytes(variant: Variant, problem: Problem, timeout_s: float) -> int:
    """Return how many bytes of global memory the first and the last block access without being traced.

    A kernel can hide accesses in functions that take or return structures. The result is 0 or less if none is
    hidden, and if the compiler is Clang, which traces them all.

    Args:
        timeout_s: time limit for a launch, in seconds.

    Raises:
        UsageError: the variant cannot be launched.
        KernelError: the kernel fails.
        NoDeviceError: there is no C++ compiler.
    """
    if compiler().is_clang:
        return 0
    (case,) = plan_all(
        InProcessExecutor(host()), [(variant, problem)], True, verified=False, each_may_fail=False
    )
    launch = case.launch
    if launch is None:
        raise KernelError(case.skipped)
    return unseen_by_observe(
        case.program, launch, *padded(launch, *problem.inputs), blocks=sorted({0, launch.blocks - 1}),
        c=problem.output if problem.scale.beta else None, timeout_s=timeout_s,
    )  # fmt: skip


def _in_memory(problem: Problem) -> Problem:
    """Return the problem in the type that its matrices have in memory, which the baseline has."""
    of_memory = problem.element.of_memory
    return problem if of_memory == problem.element else dataclasses.replace(problem, element=of_memory)


def with_stores_selected(case: Case, progress: Progress) -> Case:
    """Return a case whose program stores once where both branches of an `if` do, as that of nvcc."""
    text = with_selected_stores(case.program.text)
    if case.launch is None or text == case.program.text:
        return case
    changed = dataclasses.replace(case, program=dataclasses.replace(case.program, text=text))
    compiled = _compiled([changed], progress)[changed.program]
    return case if isinstance(compiled, KernelError) else changed


def _compiled(cases: Sequence[Case], progress: Progress) -> dict[Program, Executable | KernelError]:
    """Compile each case's program, on all cores."""
    programs = list(dict.fromkeys(case.program for case in cases))
    executables: dict[Program, Executable | KernelError] = {}
    if programs:
        progress(f"compiling {programs[0].method.name}", 0, len(programs))
    with compile_each(programs, compile_to_observe) as compiled_programs:
        for program, executable in compiled_programs:
            executables[program] = executable
            progress(f"compiling {program.method.name}", len(executables), len(programs))
    return executables


def _in_parallel(work: Callable[[Job], T], jobs: Sequence[Job]) -> Generator[T, None, None]:
    """Run `work` on each job in parallel; yield the results in the order of the jobs."""
    with thread_pool(min(len(jobs), CORES)) as pool:
        yield from pool.map(work, jobs)


def _check_watch(case: Case, settings: Settings) -> None:
    """Raise UsageError if the launch does not have the warp or block to be recorded."""
    launch = case.launch
    if settings.warp is None or launch is None:
        return
    warps = -(-launch.threads_per_block // WARP_THREADS)
    if settings.warp >= warps:
        numbers = "one warp, 0" if warps == 1 else f"{warps} warps, 0 to {warps - 1}"
        raise UsageError(f"{case.variant}: there is no warp {settings.warp}: a block has {numbers}")
    if any(index >= extent for index, extent in zip(settings.of_block, launch.grid, strict=True)):
        grid, asked = " x ".join(map(str, launch.grid)), ",".join(map(str, settings.of_block))
        raise UsageError(
            f"{case.variant}: there is no block {asked}: the grid is {grid} at {case.problem.shape}"
        )


def _traced(
    case: Case, settings: Settings, compiled: Mapping[Program, Executable | KernelError]
) -> TraceResult:
    problem, launch = case.problem, case.launch
    shape = problem.shape
    result = TraceResult(
        method=case.variant.method.name,
        params=case.variant.params,
        m=shape.m,
        n=shape.n,
        k=shape.k,
        dtype=problem.element.name,
        file=case.variant.method.path.name,
        chosen_by=case.variant.chosen_by,
        padded=launch is not None and launch.shape != shape,
        status="ok",
    )
    if isinstance(case.compiled, KernelError):
        reason = str(case.compiled).replace(f"{case.variant}: ", "")
        return dataclasses.replace(result, status="failed", reason=reason)
    if launch is None:
        return dataclasses.replace(result, status="skipped", reason=case.skipped)
    executable = compiled[case.program]
    try:
        if isinstance(executable, KernelError):
            raise executable
        return _observed(result, case, launch, settings)
    except HangError as error:
        # The time limit is that of a block; a block of each of a few classes runs at the same time.
        of_block = launch.shape.work / launch.blocks
        if shows_hang(of_block, settings.timeout_s, OBSERVED_SLOWDOWN):
            return dataclasses.replace(result, status="failed", reason=str(error))
        reason = (
            f"not traced: no block of threads ended within {settings.timeout_s:g} s (--timeout): choose a "
            "smaller -n, or a longer --timeout"
        )
        return dataclasses.replace(result, status="skipped", reason=reason)
    except KernelError as error:
        return dataclasses.replace(result, status="failed", reason=str(error))


def _observed(result: TraceResult, case: Case, launch: Launch, settings: Settings) -> TraceResult:
    classes, observed, _ = observed_classes(case, launch, settings)
    observations = _scaled(classes, observed)
    as_written = combined(observations)
    accesses = as_written if settings.arch is None else _without_repeated(as_written, case)
    repeated = frozenset(access.line for access in as_written if access not in accesses)
    wide_lines: frozenset[int] | None = None
    merged_bytes: tuple[int, ...] = ()
    why_as_written = ""
    if any(map(may_be_wide, accesses)) or any(map(may_be_unrolled, accesses)) or may_be_joined(accesses):
        lines = lines_as_compiled(case, settings.arch)
        if isinstance(lines, str):
            why_as_written = lines
        else:
            merged = [
                (access, merging)
                for access, merging in zip(accesses, _merging(accesses, lines), strict=True)
                if merging and may_be_wide(access)
            ]
            wide_lines = frozenset(access.line for access, _ in merged)
            sizes = {access.wide_bytes for access, merging in merged if merging == "wide"}
            of_loads, of_stores = (joined_lines(accesses, lines, op) for op in ("load", "store"))
            joined = sorted({*of_loads, *of_stores})
            floats = (access for access, _ in merged if access.size_bytes == 4 and access.line not in joined)
            sizes |= {8 for access in floats if access.line in _pair_lines(lines, access)}
            merged_bytes = tuple(sorted(sizes))
            if joined:
                what = " and ".join(["loads"] * bool(of_loads) + ["stores"] * bool(of_stores))
                why_as_written = f"nvcc merges {what} {ACROSS_LINES} {', '.join(map(str, joined))}"
            elif in_part := sorted({a.line for a, merging in merged if _is_in_part(a, merging)}):
                why_as_written = f"{IN_PART} {', '.join(map(str, in_part))}"
            accesses = as_compiled(accesses, lines)
    return dataclasses.replace(
        result,
        grid=launch.grid,
        classes=tuple(classes),
        warps=(sum(s.warps[0] for _, s in observations), sum(s.warps[1] for _, s in observations)),
        accesses=accesses,
        wide_lines=wide_lines,
        merged_bytes=merged_bytes,
        why_as_written=why_as_written,
        repeated_lines=repeated,
        watched=None if settings.warp is None else _watched(case, launch, settings),
    )


def _scaled(
    classes: Iterable[BlockClass], observed: Iterable[Observation]
) -> list[tuple[Fraction, Observation]]:
    """Return each class's observation with the factor from its traced warps to all warps of its blocks."""
    scaled = []
    for block_class, observation in zip(classes, observed, strict=True):
        traced_warps, warps = observation.warps
        share = Fraction(block_class.blocks, len(block_class.traced))
        scaled.append((share * Fraction(warps, traced_warps or 1), observation))
    return scaled


def with_counts_of_grid(
    observation: Observation, case: Case, launch: Launch, timeout_s: float
) -> Observation:
    """Return an observation of some blocks with the counts of the whole grid, as `trace` estimates them.

    Args:
        observation: the accesses that get other counts; its `blocks` become those that were traced.
        timeout_s: time limit in seconds for a block of threads.

    Raises:
        KernelError, NoDeviceError: as for `observe`.
    """
    classes, observed, _ = observed_classes(case, launch, Settings(timeout_s=timeout_s))
    counted: dict[tuple[object, ...], list[Access]] = {}
    for access in combined(_scaled(classes, observed)):
        counted.setdefault(_identity(access), []).append(access)
    accesses = []
    for access in sorted(observation.accesses, key=lambda a: a.site):
        alike = counted.get(_identity(access), [])
        counts = {name: getattr(alike[0], name) for name in _COUNTS} if alike else {}
        accesses.append(dataclasses.replace(access, **counts))
        del alike[:1]
    traced = tuple(block for block_class in classes for block in block_class.traced)
    return dataclasses.replace(observation, accesses=tuple(accesses), blocks=traced)


def _identity(access: Access) -> tuple[object, ...]:
    """Return what accesses of two observations have in common; several of a line are in the same order."""
    return access.line, access.space, access.op, access.array, access.size_bytes


def _without_repeated(accesses: Sequence[Access], case: Case) -> tuple[Access, ...]:
    """Return accesses without the reads of elements that a register holds already."""
    text, entry, name = case.program.text, case.program.entry, case.variant.method.path.name
    passed = [*zip(parameter_names(text, entry), case.variant.method.arguments, strict=False)]
    letters = {parameter: matrix for parameter, matrix in passed if matrix in ("A", "B", "C")}
    again = {
        (line, letters.get(array, array)): count
        for (line, array), count in repeated_reads(text, name).items()
    }
    known = {key: int(value) for key, value in template_values(text, entry).items() if value.isdigit()}
    shape = case.problem.shape if case.launch is None else case.launch.shape
    of_role = {"M": shape.m, "N": shape.n, "K": shape.k}
    sizes = {name: of_role[role] for name, role in passed if role in of_role}
    per_load = reads_per_load(
        text, name, lambda of: number_in(text, of, known), lambda of: number_in(text, of, known | sizes)
    )
    reads = {(line, letters.get(array, array)): count for (line, array), count in per_load.items()}
    kept: list[Access] = []
    for access in reversed(accesses):  # the last reads of a line are those from registers
        place = access.line, access.array
        if access.op == "load" and not access.file and again.get(place):
            again[place] -= 1
        elif access.op == "load" and not access.file and place in reads:
            counts = {of: round(getattr(access, of) / reads[place]) for of in _COUNTS_UNMERGED}
            kept.append(dataclasses.replace(access, **counts))
        else:
            kept.append(access)
    return tuple(reversed(kept))


def _most_blocks(settings: Settings, launch: Launch) -> int | None:
    """Return the number of blocks to trace; None for all, as of a small product if none is asked for."""
    is_small = launch.shape.work <= WHOLE_WORK and launch.blocks <= MOST_WHOLE_BLOCKS
    return None if is_small and settings.blocks == DEFAULT_BLOCKS else settings.blocks


def observed_classes(
    case: Case, launch: Launch, settings: Settings
) -> tuple[list[BlockClass], list[Observation], Extents]:
    """Divide the blocks of a launch into classes, and observe the chosen blocks of each.

    If the last blocks of an axis store nothing, the last one that stores is searched for.

    Returns:
        The classes, their observations, and the number of blocks along each axis that store something: the
        whole grid if that is not certain.

    Raises:
        KernelError, NoDeviceError: as for `observe`.
    """
    a, b = padded(launch, *case.problem.inputs)
    limit = _most_blocks(settings, launch)

    def observed(blocks: Sequence[int], *, every_warp: bool) -> Observation:
        observation = observe(
            case.program,
            launch,
            a,
            b,
            blocks=blocks,
            every_warp=limit is None or every_warp,
            timeout_s=settings.timeout_s,
        )
        if observation.ended:
            raise KernelError(observation.ended)
        return observation

    def observed_all(classes: Sequence[BlockClass]) -> list[Observation]:
        # The warps of a block at an edge of the grid differ. A class may be one block, and then runs on one
        # core: classes are observed in parallel.
        is_at_edge = any(n == 1 < threads for n, threads in zip(launch.grid, launch.block, strict=True))

        def observed_class(of: BlockClass) -> Observation:
            return observed(of.traced, every_warp=is_at_edge or of.name != INTERIOR)

        with contextlib.closing(_in_parallel(observed_class, classes)) as observations:
            return list(observations)

    classes = block_classes(launch.grid, limit)
    observations = observed_all(classes)
    if settings.blocks is None or all(observation.storing for observation in observations):
        return classes, observations, launch.grid
    extents = storing_extents(launch.grid, lambda blocks: observed(blocks, every_warp=False).storing)
    if extents == launch.grid:
        return classes, observations, launch.grid
    by_storing = block_classes(launch.grid, limit, extents)
    observations_by_storing = observed_all(by_storing)
    is_rectangle = all(
        len(observation.storing) == (len(block_class.traced) if block_class.stores else 0)
        for block_class, observation in zip(by_storing, observations_by_storing, strict=True)
    )
    if is_rectangle:
        return by_storing, observations_by_storing, extents
    return classes, observations, launch.grid


def combined(parts: Sequence[tuple[Fraction, Observation]]) -> tuple[Access, ...]:
    """Add up the accesses of several observations; return them in the order of the source.

    Accesses of two observations are the same if line, array, kind and size agree. If a line has several such
    accesses, they are matched in the order of the code. Accesses that no traced thread executed are left out.

    Args:
        parts: observations, each with the factor that its counts are multiplied by.
    """
    parts_of_access: dict[tuple[object, ...], list[tuple[Fraction, Access]]] = {}
    for factor, observation in parts:
        occurrences: Counter[tuple[object, ...]] = Counter()
        for access in sorted(observation.accesses, key=lambda a: a.site):
            if access.requests:
                key = _identity(access)
                parts_of_access.setdefault((*key, occurrences[key]), []).append((factor, access))
                occurrences[key] += 1
    return tuple(sorted(map(_sum, parts_of_access.values()), key=lambda a: (a.line, a.site)))


def _sum(parts: Sequence[tuple[Fraction, Access]]) -> Access:
    counts = {name: round(sum(factor * getattr(a, name) for factor, a in parts)) for name in _COUNTS}
    return dataclasses.replace(parts[0][1], **counts)


def may_be_wide(access: Access) -> bool:
    """Return whether a compiler could merge executions of an access into wider loads or stores."""
    merged = access.wide_requests, access.pair_requests or access.requests
    return access.space == "shared" and merged != (access.requests, access.requests)


MOST_UNMERGED = 1.5
"""Requests over the fewest up to which an access counts as merged: the ends of rows may remain."""

ACROSS_LINES = "of several places into wider ones in line"
"""A part of the reason why some accesses are counted as written."""


IN_PART = "nvcc merges in part the loads in line"
"""Beginning of the reason why the merged accesses are an estimate."""


def _is_in_part(access: Access, merging: Merging) -> bool:
    """Return whether some of an access's elements begin no wide access, because their rows are not aligned.

    How many nvcc merges then depends on how far it unrolls the loop, and on words that it loads beside them.
    """
    merged_bytes = access.wide_bytes if merging == "wide" else 2 * access.size_bytes
    fewest = access.requests * access.size_bytes / merged_bytes
    merged = getattr(access, f"{merging}_requests")
    all_pairs = 2 * merged == access.requests  # a thread reads two adjacent elements, not four
    return access.op == "load" and not all_pairs and merged > MOST_UNMERGED * fewest


def may_be_joined(accesses: Iterable[Access]) -> bool:
    """Return whether several places of the source load, or store, elements of one shared array."""
    found = (a for a in accesses if a.space == "shared" and a.op != "atomic" and a.size_bytes < 16)
    return any(count > 1 for count in Counter((access.array, access.op) for access in found).values())


def joined_lines(accesses: Sequence[Access], lines: Lines, op: Literal["load", "store"]) -> list[int]:
    """Return the lines with wide accesses in the machine code that none of their own accesses explains.

    An access of 16 bytes explains none of 8 bytes if the line has another access, of an array that several
    places access.
    """
    wide = lines.wide_loads if op == "load" else lines.wide_stores
    pairs = lines.pair_loads if op == "load" else lines.pair_stores
    of_op = [
        (access, merging if may_be_wide(access) else "")
        for access, merging in zip(accesses, _merging(accesses, lines), strict=True)
        if access.space == "shared" and access.op == op
    ]
    places = Counter(access.array for access, _ in of_op)
    explained = {access.line for access, merging in of_op if merging or access.size_bytes >= 8}
    of_pairs = {
        access.line
        for access, merging in of_op
        if merging == "pair" or access.size_bytes == 8 or (merging and access.wide_bytes == 8)
    }
    single = {a.line for a, merging in of_op if not merging and a.size_bytes < 8 and places[a.array] > 1}
    joined = (wide | pairs) - explained | (pairs & single) - of_pairs
    return sorted({access.line for access, _ in of_op} & joined)


def may_be_unrolled(access: Access) -> bool:
    """Return whether the threads of a warp diverge at an access once the loop around it is unrolled."""
    return access.space == "global" and access.unrolled_requests != access.requests


def lines_as_compiled(case: Case, arch: str | None) -> Lines | str:
    """Return the lines whose accesses nvcc merges or unrolls, or why they are not known."""
    if arch is None:
        return AS_WRITTEN
    try:
        return merged_lines(case.program, arch)
    except NoDeviceError as error:
        return str(error)
    except KernelError as error:  # the host compiler accepts the kernel, so it is traced as written
        return f"nvcc does not compile this kernel for {arch}: {str(error).splitlines()[0]}"


Merging = Literal["wide", "pair", ""]


def _merging(accesses: Sequence[Access], lines: Lines) -> list[Merging]:
    """Return how nvcc merges each access: to `wide_bytes`, to pairs of 4-byte elements, or not at all."""
    of_8_bytes = {(a.line, a.op) for a in accesses if a.space == "shared" and a.size_bytes == 8}
    by_16 = {"load": lines.wide_loads, "store": lines.wide_stores}

    def merging(access: Access) -> Merging:
        if access.space != "shared" or access.op == "atomic":
            return ""
        if access.wide_bytes == 16 and access.line in by_16[access.op]:
            return "wide"
        # If the source has accesses of 8 bytes in the line, these may be the ones in the machine code.
        if access.line not in _pair_lines(lines, access) or (access.line, access.op) in of_8_bytes:
            return ""
        return "wide" if access.wide_bytes == 8 else "pair" if access.size_bytes == 4 else ""

    return [merging(access) for access in accesses]


def _pair_lines(lines: Lines, access: Access) -> frozenset[int]:
    """Return the lines with loads, or stores, of 8 bytes in the machine code."""
    return lines.pair_loads if access.op == "load" else lines.pair_stores


def as_compiled(accesses: Sequence[Access], lines: Lines) -> tuple[Access, ...]:
    """Return accesses with the counts that they have after nvcc merged or unrolled their lines."""
    merging = _merging(accesses, lines)
    return tuple(_as_compiled(access, of, lines) for access, of in zip(accesses, merging, strict=True))


def _as_compiled(access: Access, merging: Merging, lines: Lines) -> Access:
    if merging:
        names = ("requests", "wavefronts", "ideal_wavefronts")
        counts = {name: getattr(access, f"{merging}_{name}") for name in names}
        # Nothing more can be merged.
        merged = {f"{of}_requests": counts["requests"] for of in ("wide", "pair")}
        return dataclasses.replace(
            access,
            **counts,
            **merged,
            threads=access.merged_threads,
            bytes_requested=access.merged_threads * access.size_bytes,
            bytes_used=access.merged_bytes_used,
            broadcasts=min(counts["requests"], access.broadcasts),
        )
    if access.space == "global" and access.op == "store" and access.line in lines.unrolled_stores:
        return dataclasses.replace(
            access,
            requests=access.unrolled_requests,
            sectors=access.unrolled_sectors,
            broadcasts=min(access.unrolled_requests, access.broadcasts),
        )
    return access


def _watched(case: Case, launch: Launch, settings: Settings) -> Watched:
    a, b = padded(launch, *case.problem.inputs)
    x, y, z = settings.of_block
    block, warp = x + launch.grid[0] * (y + launch.grid[1] * z), settings.warp or 0
    watch = Watch(block, warp, MOST_REQUESTS)
    watched = functools.partial(
        observe, case.program, launch, a, b, blocks=[block], watch=watch, timeout_s=settings.timeout_s
    )
    observation = watched(every_warp=False)
    if not observation.requests and observation.warps[0] < observation.warps[1]:  # this warp was not traced
        observation = watched()
    return watched_of(
        observation, launch, case.problem.element.bytes_of, settings.of_block, warp, settings.steps
    )


def watched_of(
    observation: Observation,
    launch: Launch,
    bytes_of: Mapping[MatrixName, int],
    block: Extents,
    warp: int,
    steps: int,
) -> Watched:
    """Return the first time periods of a watched warp's accesses; period p of an access is its p-th request.

    Args:
        bytes_of: size of an element of each matrix; elements of shared memory have that of A.
        block: index of the warp's block, in x, y and z.
        warp: number of the warp in the block.
        steps: maximum number of periods.
    """
    matrices = {str(name): (layout, bytes_of[name]) for name, layout in launch.layouts.items()}
    element_bytes = bytes_of["A"]
    sizes = {shared.name: shared.size_bytes for shared in observation.shared}
    bank_columns = max(1, BANKS * BANK_BYTES // element_bytes)
    periods: dict[int, list[dict[int, int]]] = {}
    for request in observation.requests:
        requests = periods.setdefault(request.site, [])
        if len(requests) < steps:
            requests.append(request.offsets)
    accesses = []
    for access in observation.accesses:
        if access.site not in periods:
            continue
        each_bytes = element_bytes
        if access.space == "global" and access.array in matrices:
            layout, each_bytes = matrices[access.array]
        elif access.space == "shared" and access.array:
            bank_rows = -(-sizes.get(access.array, 0) // (bank_columns * element_bytes))
            layout = MatrixLayout(bank_rows, bank_columns)
        else:
            continue  # the access reaches several arrays or an unknown one, and cannot be drawn
        accesses.append(WarpAccess(access, layout, each_bytes, tuple(periods[access.site])))
    return Watched(block, warp, tuple(accesses), len(observation.requests) < MOST_REQUESTS)


def arrays(results: Sequence[TraceResult]) -> list[tuple[Space, str, Op]]:
    """Return the kinds of access in the results, as memory space, array and operation, in a fixed order."""
    kinds = {(a.space, a.array, a.op) for result in results for a in result.accesses}
    return sorted(kinds, key=lambda kind: (_SPACES.index(kind[0]), _OPS.index(kind[2]), kind[1]))


def varying(results: Sequence[TraceResult]) -> Mapping[tuple[int, str, Op], list[tuple[TraceResult, float]]]:
    """Return the sectors (or wavefronts of shared memory) for each request of a variant at several sizes.

    Args:
        results: results of one variant, one for each size.

    Returns:
        Values by line, array and kind of access, in the order of the source: one for each size that has the
        access.
    """
    values: dict[tuple[int, str, Op], list[tuple[TraceResult, float]]] = {}
    for result in results:
        for key, group in itertools.groupby(result.accesses, key=lambda a: (a.line, a.array, a.op)):
            total = totals(group)
            values.setdefault(key, []).append((result, (total.sectors or total.wavefronts) / total.requests))
    return values
