"""What each warp's loads and stores look like to memory: requests, sectors and wavefronts of a whole grid.

`devices/cpu_runtime/observe.cpp` counts while a kernel runs; this file sums up, for each load and store.
The counts are those of Nsight Compute's l1tex__t_requests_pipe_lsu_mem_global_op_ld, l1tex__t_sectors_… and
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld, and of their counterparts for stores: what reaches the L1
cache, whatever it then holds. A few blocks are watched on the CPU device, and stand for the others like them.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from cudamm.benchmark.result import Status
from cudamm.compile.compile_all import compile_each
from cudamm.compile.host_compiler import Executable, compile_to_observe
from cudamm.compile.merged_accesses import Lines, merged_lines
from cudamm.compile.program import Program
from cudamm.devices.device import padded
from cudamm.devices.find_device import host
from cudamm.devices.observation import BANK_BYTES, BANKS, SECTOR_BYTES, Access, Observation, Op, Space
from cudamm.devices.observe import Watch, observe
from cudamm.errors import KernelError, NoDeviceError, UsageError
from cudamm.execution.case import Case
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import Progress, check_user_kernels, plan_all
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import Extents, Launch
from cudamm.kernels.method import Value
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import ChosenBy, Variant, chosen_record, variants

SCHEMA = "cudamm.trace/1"

Job = TypeVar("Job")
T = TypeVar("T")
Cases = Sequence[tuple[Variant, Problem]]

BASELINE = "naive"
"""The method that traffic is held against."""

DEFAULT_BLOCKS = 8
"""Number of blocks that are traced unless another is asked for."""

WARP_THREADS = 32

MOST_REQUESTS = 20_000
"""Of a warp that is watched: enough for the store that ends a kernel's loop over K = 1024."""

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
    "unrolled_requests",
    "unrolled_sectors",
)
"""What adds up, of an `Access`."""


@dataclass(frozen=True)
class Settings:
    """How to trace.

    Attributes:
        blocks: how many to watch, at least one of each class, and of a large one only some warps; None: all
            of all.
        arch: for which nvcc is asked which accesses to shared memory it makes 16 bytes wide, and which loops
            of stores it unrolls; None: it is not asked.
        warp: whose accesses to record, element by element; None: of none.
        of_block: that warp's block, in x, y and z.
        steps: time periods to record.
    """

    blocks: int | None = None
    arch: str | None = None
    warp: int | None = None
    of_block: Extents = (0, 0, 0)
    steps: int = 3


@dataclass(frozen=True)
class BlockClass:
    """Blocks that are taken to do the same to memory.

    Attributes:
        name: where in the grid they lie.
        blocks: how many there are.
        traced: linear indices of those that were watched.
    """

    name: str
    blocks: int
    traced: tuple[int, ...]


@dataclass(frozen=True)
class Totals:
    """Several accesses together; the attributes are those of `Access`."""

    requests: int = 0
    bytes_requested: int = 0
    bytes_used: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0

    @property
    def bytes_moved(self) -> int:
        """By the sectors of global memory."""
        return self.sectors * SECTOR_BYTES

    def record(self, space: Space) -> dict[str, int]:
        """As JSON has it: what does not apply to a memory is left out."""
        other = "wavefronts" if space == "global" else "sectors"
        return {name: value for name, value in dataclasses.asdict(self).items() if not name.endswith(other)}


@dataclass(frozen=True)
class WarpAccess:
    """What one warp does at one place of the source, time period after time period.

    Attributes:
        rows, columns: of the matrix, in elements. Of a shared array a row is as long as the banks are wide.
        element_bytes: of one element; an access may be of several.
        periods: bytes from the start of the array, by lane.
    """

    access: Access
    rows: int
    columns: int
    element_bytes: int
    periods: tuple[dict[int, int], ...]

    def cells(self, period: int) -> dict[tuple[int, int], list[int]]:
        """The lanes that touch an element, by its row and column."""
        found: dict[tuple[int, int], list[int]] = {}
        width = max(1, self.access.size_bytes // self.element_bytes)
        for lane, offset in sorted(self.periods[period].items()):
            first = offset // self.element_bytes
            for element in range(first, first + width):
                found.setdefault(divmod(element, self.columns), []).append(lane)
        return found

    def sectors(self, period: int) -> int:
        """Of global memory, that the request touches."""
        return len(self._pieces(period, SECTOR_BYTES))

    def words_of_a_bank(self, period: int) -> int:
        """Of shared memory, the most different words of 4 bytes that the request needs of one bank."""
        banks = Counter(word % BANKS for word in self._pieces(period, BANK_BYTES))
        return max(banks.values())

    def _pieces(self, period: int, size: int) -> set[int]:
        """The aligned pieces of memory that hold the bytes accessed."""
        last = self.access.size_bytes - 1
        return {
            piece
            for offset in self.periods[period].values()
            for piece in range(offset // size, (offset + last) // size + 1)
        }


@dataclass(frozen=True)
class Watched:
    """What one warp did.

    Attributes:
        block: its block, in x, y and z.
        warp: its number there.
        accesses: in the order of the source.
        to_the_end: whether it was watched to its end; later accesses are unknown where it was not.
    """

    block: Extents
    warp: int
    accesses: tuple[WarpAccess, ...]
    to_the_end: bool


@dataclass(frozen=True)
class TraceResult:
    """One variant on one problem, as memory sees it.

    Attributes:
        file: the kernel's.
        padded: whether the matrices were padded with zeros; what they cost is counted.
        reason: why it failed or was skipped.
        grid: blocks in x, y and z.
        classes: of its blocks.
        warps: how many of the traced blocks' warps were traced, and of how many.
        accesses: of the whole grid, in the order of the source.
        wide_lines: those whose accesses to shared memory are counted as nvcc merges them; None where it is
            not known.
        naive: what the baseline does to global memory at the same size; None where it is not known.
        watched: one warp, where that was asked for.
        chosen_by: what chose the variant in the place of `best`; empty where nothing did.
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
    naive: Totals | None = None
    watched: Watched | None = None
    chosen_by: ChosenBy = ""

    @property
    def operations(self) -> int:
        """Of the product, padding not counted."""
        return Shape(self.m, self.n, self.k).flops

    @property
    def blocks(self) -> tuple[int, int]:
        """How many blocks were traced, and of how many."""
        return sum(len(c.traced) for c in self.classes), math.prod(self.grid)

    @property
    def scaled(self) -> bool:
        """Whether what was traced stands for more than itself."""
        return self.blocks[0] < self.blocks[1] or self.warps[0] < self.warps[1]

    def total(self, space: Space, op: Op | None = None, array: str | None = None) -> Totals:
        """Of the accesses to a memory, of one kind or all, to one array or all."""
        chosen = (a for a in self.accesses if a.space == space)
        return totals(a for a in chosen if op in (None, a.op) and array in (None, a.array))

    @property
    def intensity(self) -> float | None:
        """Operations a byte that threads load from global memory; padding counts as bytes alone."""
        return _over(self.operations, self.total("global", "load").bytes_requested)

    @property
    def intensity_with_stores(self) -> float | None:
        """Operations a byte that threads load or store there."""
        return _over(self.operations, self.total("global").bytes_requested)

    @property
    def sector_intensity(self) -> float | None:
        """Operations a byte of the sectors that loads and stores touch."""
        return _over(self.operations, self.total("global").bytes_moved)

    @property
    def bytes_against_naive(self) -> float | None:
        """Bytes that threads load and store, over the baseline's."""
        if self.naive is None:
            return None
        return _over(self.total("global").bytes_requested, self.naive.bytes_requested)

    @property
    def sectors_against_naive(self) -> float | None:
        """Sectors that loads and stores touch, over the baseline's."""
        return None if self.naive is None else _over(self.total("global").sectors, self.naive.sectors)

    def _what(self) -> dict[str, Any]:
        names = ("method", "params", "m", "n", "k", "dtype", "padded", "status", "reason", "scaled", "file")
        return {name: getattr(self, name) for name in names} | chosen_record(self.chosen_by)

    def records(self) -> list[dict[str, Any]]:
        """The rows of a `cudamm.trace/1` file: one for each access, or one that says why there is none."""
        if not self.accesses:
            return [self._what() | dict.fromkeys(_OF_ACCESS)]
        return [self._what() | _record(access) for access in self.accesses]

    def summary(self) -> dict[str, Any]:
        """What a `cudamm.trace/1` file says of the variant as a whole."""
        made = self._what() | {
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
            "sectors_against_naive",
        )  # fmt: skip
        return made | {name: getattr(self, name) for name in names} | {"warp": _warp_record(self.watched)}


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
    accesses = [
        {
            **{name: getattr(of.access, name) for name in ("line", "space", "op", "array", "size_bytes")},
            "periods": [{str(lane): o for lane, o in sorted(period.items())} for period in of.periods],
        }
        for of in watched.accesses
    ]
    return {"block": list(watched.block), "warp": watched.warp, "offset_bytes_by_lane": accesses}


def totals(accesses: Iterable[Access]) -> Totals:
    """Their sums."""
    listed = list(accesses)
    return Totals(**{f.name: sum(getattr(a, f.name) for a in listed) for f in dataclasses.fields(Totals)})


def pattern(access: Access) -> str:
    """What the counts say of how a warp's threads access memory, in a few words."""
    if access.requests and access.broadcasts == access.requests and access.threads > access.requests:
        return "broadcast"
    if access.space == "global":
        if access.sectors <= access.ideal_sectors:
            return "coalesced"
        return "partly coalesced" if access.sectors < 2 * access.ideal_sectors else "uncoalesced"
    if access.wavefronts <= access.ideal_wavefronts:
        return "no conflict"
    return f"{access.wavefronts / access.ideal_wavefronts:.3g}-way conflict"


def _over(number: float, by: float) -> float | None:
    return number / by if by else None


def block_classes(grid: Extents, most: int | None) -> list[BlockClass]:
    """The classes of a grid's blocks, and which blocks of each are to be traced.

    The last block of each axis may reach past the edge of the matrices; all others of an axis are taken to be
    alike. So a grid in x and y has four classes: its interior, its last column, its last row, and the corner.

    Args:
        most: blocks to trace, shared out evenly, at least one a class; None: all.
    """
    halves = [
        [(0, range(extent - 1)), (1, range(extent - 1, extent))] if extent > 1 else [(0, range(extent))]
        for extent in grid
    ]
    found = [(tuple(h[0] for h in parts), [h[1] for h in parts]) for parts in itertools.product(*halves)]
    found.sort(
        key=lambda each: sum(each[0]), reverse=True
    )  # the smallest first: what they leave is shared out
    left = math.inf if most is None else most
    classes: list[BlockClass] = []
    for waiting, (flags, ranges) in zip(range(len(found), 0, -1), found, strict=True):
        blocks = math.prod(map(len, ranges))
        share = blocks if left == math.inf else min(blocks, max(1, int(left) // waiting))
        left -= share
        indices = sorted(x + grid[0] * (y + grid[1] * z) for x, y, z in _spread(ranges, share))
        classes.append(BlockClass(_class_name(flags), blocks, tuple(indices)))
    return classes[::-1]


def _class_name(flags: Sequence[int]) -> str:
    last_column, last_row, last_layer = flags
    name = _IN_PLANE[last_column, last_row]
    return f"{name} of the last layer" if last_layer else name


_IN_PLANE = {(0, 0): "interior", (1, 0): "last column", (0, 1): "last row", (1, 1): "corner"}


def _spread(ranges: Sequence[range], count: int) -> set[tuple[int, int, int]]:
    """Some of the blocks, the first among them, and not at equal distances.

    By steps of irrational numbers (M. Roberts' R3 sequence): blocks at a power of two from one another would
    all have the same alignment.
    """
    lengths = [len(r) for r in ranges]
    if count == math.prod(lengths):
        return set(itertools.product(*ranges))  # type: ignore[arg-type]
    steps = (0.8191725133961645, 0.6710436067037893, 0.5497004779019703)
    found: set[tuple[int, int, int]] = set()
    for i in itertools.count():
        at = [int(length * (i * step % 1)) for length, step in zip(lengths, steps, strict=True)]
        found.add((ranges[0][at[0]], ranges[1][at[1]], ranges[2][at[2]]))
        if len(found) == count:
            return found
    raise AssertionError("the sequence reaches every block")


def trace(cases: Cases, settings: Settings, fmad: bool, progress: Progress) -> Iterator[TraceResult]:
    """Trace each case, in order.

    Raises:
        UsageError: a case cannot be launched, or has no such warp.
        NoDeviceError: there is no C++ compiler.
    """
    executor = InProcessExecutor(host())
    planned = plan_all(executor, cases, fmad)
    for case in planned:
        _check_watch(case, settings)
    (baseline,) = variants(find(BASELINE), {})
    problems = list(dict.fromkeys(problem for _, problem in cases))
    naive = plan_all(executor, [(baseline, p) for p in problems], fmad, each_may_fail=True)
    compiled = _compiled([case for case in (*planned, *naive) if case.launch], progress)
    check_user_kernels([(case.program, compiled[case.program]) for case in planned if case.launch])
    done, total = 0, len(planned)
    for problem, against in zip(problems, naive, strict=True):
        group = [case for case in planned if case.problem == problem]
        own = next((case for case in group if case.variant == baseline), None)
        quiet = dataclasses.replace(settings, warp=None, arch=None)
        jobs = [(case, settings) for case in group] + ([] if own else [(against, quiet)])
        _ = problem.inputs  # once, before several threads ask for them
        results: list[TraceResult] = []
        for result in _in_parallel(lambda job: _traced(job[0], job[1], compiled), jobs):
            if len(results) < len(group):
                done += 1
                progress(f"traced {group[len(results)].variant}", done, total)
            results.append(result)
        problem.release()
        of_naive = results[group.index(own) if own else -1]
        moved = of_naive.total("global") if of_naive.status == "ok" else None
        for result in results[: len(group)]:
            yield dataclasses.replace(result, naive=moved)


def _compiled(cases: Sequence[Case], progress: Progress) -> dict[Program, Executable | KernelError]:
    """Each case's program, compiled, all cores at work."""
    programs = list(dict.fromkeys(case.program for case in cases))
    made: dict[Program, Executable | KernelError] = {}
    for program, executable in compile_each(programs, compile_to_observe):
        made[program] = executable
        progress(f"compiled {program.method.name}", len(made), len(programs))
    return made


def _in_parallel(work: Callable[[Job], T], jobs: Sequence[Job]) -> Iterator[T]:
    """Each job's result, in order."""
    pool = ThreadPoolExecutor(min(len(jobs), os.cpu_count() or 1))
    try:
        yield from pool.map(work, jobs)
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C nothing that has not begun is begun


def _check_watch(case: Case, settings: Settings) -> None:
    """Raise UsageError where the launch has no such warp."""
    launch = case.launch
    if settings.warp is None or launch is None:
        return
    warps = -(-launch.threads_per_block // WARP_THREADS)
    if settings.warp >= warps:
        what = "one warp, 0" if warps == 1 else f"{warps} warps, 0 to {warps - 1}"
        raise UsageError(f"{case.variant}: there is no warp {settings.warp}: a block has {what}")
    if any(at >= extent for at, extent in zip(settings.of_block, launch.grid, strict=True)):
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
    if launch is None:
        return dataclasses.replace(result, status="skipped", reason=case.skipped)
    executable = compiled[case.program]
    try:
        if isinstance(executable, KernelError):
            raise executable
        return _observed(result, case, launch, settings)
    except KernelError as error:
        return dataclasses.replace(result, status="failed", reason=str(error))


def _observed(result: TraceResult, case: Case, launch: Launch, settings: Settings) -> TraceResult:
    a, b = padded(launch, *case.problem.inputs)
    classes = block_classes(launch.grid, settings.blocks)
    parts: list[tuple[Fraction, Observation]] = []
    every = settings.blocks is None

    def seen_of(each: BlockClass) -> Observation:
        return observe(case.program, launch, a, b, blocks=each.traced, every_warp=every)

    for each, seen in zip(classes, _in_parallel(seen_of, classes), strict=True):  # a class may be one block
        if seen.ended:
            raise KernelError(seen.ended)
        traced, had = seen.warps
        parts.append((Fraction(each.blocks, len(each.traced)) * Fraction(had, traced or 1), seen))
    accesses = combined(parts)
    wide: frozenset[int] | None = None
    if any(map(may_be_wide, accesses)) or any(map(may_be_unrolled, accesses)):
        lines = _merged_lines(case, settings.arch) if settings.arch else None
        if lines is not None:
            wide = frozenset(a.line for a in accesses if may_be_wide(a) and _is_wide(a, lines))
            accesses = tuple(as_compiled(a, lines) for a in accesses)
    return dataclasses.replace(
        result,
        grid=launch.grid,
        classes=tuple(classes),
        warps=(sum(s.warps[0] for _, s in parts), sum(s.warps[1] for _, s in parts)),
        accesses=accesses,
        wide_lines=wide,
        watched=None if settings.warp is None else _watched(case, launch, settings),
    )


def combined(parts: Sequence[tuple[Fraction, Observation]]) -> tuple[Access, ...]:
    """The accesses of several observations, each counted as often as it stands for, in the source's order.

    One that no traced thread executed is left out. An access is the same in two of them where its line, array
    and kind are; of several such in a line, where it is the same one in the order of the code.
    """
    found: dict[tuple[int, Space, Op, str, int, int], list[tuple[Fraction, Access]]] = {}
    for times, observation in parts:
        seen: Counter[tuple[int, Space, Op, str, int]] = Counter()
        for access in sorted(observation.accesses, key=lambda a: a.site):
            if access.requests:
                key = (access.line, access.space, access.op, access.array, access.size_bytes)
                found.setdefault((*key, seen[key]), []).append((times, access))
                seen[key] += 1
    return tuple(sorted(map(_sum, found.values()), key=lambda a: (a.line, a.site)))


def _sum(parts: Sequence[tuple[Fraction, Access]]) -> Access:
    counts = {name: round(sum(times * getattr(a, name) for times, a in parts)) for name in _COUNTS}
    return dataclasses.replace(parts[0][1], **counts)


def may_be_wide(access: Access) -> bool:
    """Whether a compiler could merge its executions into loads or stores of 16 bytes."""
    return access.space == "shared" and access.wide_requests != access.requests


def may_be_unrolled(access: Access) -> bool:
    """Whether a warp's threads part in a loop around it, once that is unrolled."""
    return access.space == "global" and access.unrolled_requests != access.requests


def _merged_lines(case: Case, arch: str) -> Lines | None:
    """What nvcc makes of the lines; None where it cannot be asked."""
    try:
        return merged_lines(case.program, arch)
    except (NoDeviceError, KernelError):  # what a host compiler takes is traced all the same
        return None


def _is_wide(access: Access, lines: Lines) -> bool:
    of_kind = {"load": lines.wide_loads, "store": lines.wide_stores}.get(access.op, frozenset())
    return access.space == "shared" and access.line in of_kind


def as_compiled(access: Access, lines: Lines) -> Access:
    """With the counts of what nvcc makes of its line; nothing is known of a change from here on."""
    if _is_wide(access, lines):
        return dataclasses.replace(
            access,
            requests=access.wide_requests,
            wavefronts=access.wide_wavefronts,
            ideal_wavefronts=access.wide_ideal_wavefronts,
            broadcasts=min(access.wide_requests, access.broadcasts),
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
    seen = observe(case.program, launch, a, b, blocks=[block], every_warp=False, watch=watch)
    if not seen.requests and seen.warps[0] < seen.warps[1]:  # others stood for this one
        seen = observe(case.program, launch, a, b, blocks=[block], watch=watch)
    return watched_of(seen, launch, case.problem.element.size_bytes, settings.of_block, warp, settings.steps)


def watched_of(
    seen: Observation, launch: Launch, element_bytes: int, block: Extents, warp: int, steps: int
) -> Watched:
    """The first time periods of a watched warp's accesses; period p of an access is its p-th request."""
    shape = launch.shape
    extents = {"A": (shape.m, shape.k), "B": (shape.k, shape.n), "C": (shape.m, shape.n)}
    sizes = {shared.name: shared.size_bytes for shared in seen.shared}
    across = max(1, BANKS * BANK_BYTES // element_bytes)
    periods: dict[int, list[dict[int, int]]] = {}
    for request in seen.requests:
        of_site = periods.setdefault(request.site, [])
        if len(of_site) < steps:
            of_site.append(request.offsets)
    found = []
    for access in seen.accesses:
        if access.site not in periods:
            continue
        if access.space == "global" and access.array in extents:
            rows, columns = extents[access.array]
        elif access.space == "shared" and access.array:
            rows, columns = -(-sizes.get(access.array, 0) // (across * element_bytes)), across
        else:
            continue  # several arrays, or none that is known: there is no picture to draw it in
        found.append(WarpAccess(access, rows, columns, element_bytes, tuple(periods[access.site])))
    return Watched(block, warp, tuple(found), len(seen.requests) < MOST_REQUESTS)


def arrays(results: Sequence[TraceResult]) -> list[tuple[Space, str, Op]]:
    """The kinds of access that there are in any of the results: A's loads, B's, C's stores, the rest."""
    found = {(a.space, a.array, a.op) for result in results for a in result.accesses}
    return sorted(found, key=lambda kind: (_SPACES.index(kind[0]), _OPS.index(kind[2]), kind[1]))


def varying(results: Sequence[TraceResult]) -> Mapping[tuple[int, str, Op], list[tuple[TraceResult, float]]]:
    """Per request what a variant's accesses need at several sizes: sectors, or wavefronts of shared memory.

    Args:
        results: of one variant, a size each.

    Returns:
        By line, array and kind of access, in the order of the source; a value for each size it occurs at.
    """
    found: dict[tuple[int, str, Op], list[tuple[TraceResult, float]]] = {}
    for result in results:
        for key, group in itertools.groupby(result.accesses, key=lambda a: (a.line, a.array, a.op)):
            of = totals(group)
            found.setdefault(key, []).append((result, (of.sectors or of.wavefronts) / of.requests))
    return found
