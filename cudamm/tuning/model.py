"""Which variant should be fastest where nobody has measured: a model, from what headers say of tiles.

A launch takes as long as its fullest multiprocessor. That has ceil(blocks / multiprocessors) blocks to run,
as many of them at a time as fit (`occupancy`), one batch after the other. Blocks that run together take, for
a step along K as deep as their tiles, the larger of

- throughput: blocks x cycles, where cycles are those of the multiply-adds (an SM finishes `fp32_per_cycle` of
  them), of the reads (a warp's read of one element a thread takes one), or of the bytes of A's and B's tiles
  from the L2 cache: all of them, or the largest and a quarter of the others where copies are asynchronous;
- latency: what a single block takes, its warps waiting for shared memory, and for global memory where nothing
  was begun ahead.

With TM x TN results a thread there are TM x TN multiply-adds for TM + TN elements read: that ratio is what
the rungs of the ladder raise. Parameters say what is what by their names: BM, BN and BK are the tiles of a
block, WM and WN those of a warp, TM and TN of a thread, STAGES how many tiles along K are there or on their
way, SPLITS the parts that K is cut into; BLOCK_SIZE, TILE_SIZE and COARSE are as the courses use them. Where
there is no BM and BN, the grid tells what a block computes. The numbers below are rough, and those of a
Hopper GPU; a choice needs ratios only. The tests hold the model against docs/measured.md.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cudamm.compile.host_compiler import STATIC_SHARED_BYTES
from cudamm.errors import UsageError
from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.kernels.header import without_comments
from cudamm.kernels.ladder import ladder
from cudamm.kernels.launch import Launch, Limits, check, plan
from cudamm.kernels.method import ElementType, Method
from cudamm.kernels.problem import Shape
from cudamm.kernels.variant import Variant, variants
from cudamm.occupancy.active_blocks import active_blocks
from cudamm.tuning.place import Place

Numbers = npt.NDArray[np.float64]

GLOBAL_CYCLES = 700
"""From a load of global memory that misses L1 to its tile's being there, the barrier included."""
CACHED_CYCLES = 200
"""Of the loads of a few steps where nothing is shared: of A they hit L1, of B they go to L2."""
SHARED_CYCLES = 15
"""Of a read of shared memory that the multiply-adds of the step before do not hide."""
START_CYCLES = 1500
"""Of a block, from its launch to its first multiply-add, and from its last one to its end."""
ADDING_CYCLES = 3000
"""Of setting C to zero, or of what adds up the parts, where K is cut."""
L2_BYTES_PER_CYCLE = 24
"""An SM gets from L2, all of them reading."""

PLAIN_READ = 0.75
"""Cycles of a warp's read of an element a thread: nvcc fetches four of A's that lie side by side at once."""
STRIDED_READ = 2.0
"""Where neighbouring threads read elements a few apart: they meet in a bank."""
WIDE_READ = 1.25
"""Of each element, 16 bytes at a time; still a few apart."""
WARP_TILE_READ = 0.75
"""Likewise, where the threads of a warp are a grid: no two meet in a bank."""
CACHED_READ = 1.2
"""Where threads read global memory for each multiply-add, side by side."""
UNCOALESCED_READ = 17.0
"""Where neighbouring threads read one operand a whole row apart: 32 cycles and 1."""

NOT_HIDDEN = 1.0
"""Of the cycles of what is done beside that which takes longest, where all threads load, meet and compute."""
NOT_HIDDEN_AHEAD = 0.25
"""Likewise, where copies go on by themselves."""

UNROLLED = 4
"""Steps along K that the compiler takes at once where there is no tile."""
ADDRESS_REGISTERS = 24
"""A thread has for all but its results and the elements it multiplies."""

EQUAL = 0.02
"""Share by which two times may differ and count as the same."""

DEEP_RING = 4
"""Stages, beyond which more are not preferred where they make no difference."""

PROBE = 16384
"""Rows and columns of a product so large that a grid shows what a block computes."""
MOST_VARIANTS = 20_000
"""Of one method's; the product of its parameters' values may be more, and is then cut off."""


@dataclass(frozen=True)
class Work:
    """What a variant's block does, whatever the shape.

    Attributes:
        shared_bytes: a block, static and dynamic.
        registers: a thread, estimated.
        rows, columns: of C, that a block computes.
        depth: steps along K that it takes at a time.
        fma_cycles, read_cycles: of an SM, for one block and that many steps.
        wait_cycles: of one block by itself for as many: its threads' instructions one after the other.
        load_cycles: from a load of global memory to its use.
        not_hidden: share of what is done beside that which takes longest.
        stages: tiles along K that are there or on their way.
        splits: parts that K is cut into.
        fixed_blocks: of the grid, where it does not grow with the matrices; else 0.
    """

    variant: Variant
    threads: int
    shared_bytes: int
    registers: int
    rows: int
    columns: int
    depth: int
    fma_cycles: float
    read_cycles: float
    wait_cycles: float
    load_cycles: float
    not_hidden: float
    stages: int
    splits: int
    fixed_blocks: int


def fastest(place: Place, shape: Shape, element: ElementType) -> Variant | None:
    """The variant that should be fastest; None where no kernel of the ladder can be launched there."""
    for variant, _ in ranked(place, shape, element):
        try:
            check(variant, plan(variant, shape, element), place.limits)
        except UsageError:  # as on paper, but not at this shape
            continue
        return variant
    return None


def ranked(place: Place, shape: Shape, element: ElementType) -> Iterator[tuple[Variant, float]]:
    """All that fit on a multiprocessor, with the cycles a launch should take: the fastest first.

    Of those that are as good as equal, the one first that leaves the multiprocessors more time for others,
    then the one with more tiles on their way, then the first of the ladder.
    """
    works = works_of(place.architecture, place.limits, element)
    if not works:
        return
    cycles, busy = estimate(place.architecture, works, shape, element)
    with np.errstate(divide="ignore"):
        rounded = np.round(np.log(cycles) / EQUAL)
    # Latencies vary more than a model knows: a deeper ring is the safer one.
    ring = np.array([-min(work.stages, DEEP_RING) for work in works])
    for at in np.lexsort((np.arange(len(works)), ring, busy, rounded)).tolist():
        if not math.isfinite(cycles[at]):
            return
        yield works[at].variant, float(cycles[at])


@functools.cache
def works_of(architecture: Architecture, limits: Limits, element: ElementType) -> tuple[Work, ...]:
    """What each variant of the ladder's kernels does that can be launched at all, in the ladder's order."""
    found: list[Work] = []
    for method in ladder():
        if not method.is_kernel or element.name not in method.element_types:
            continue
        every = variants(method, {parameter.name: parameter.values for parameter in method.parameters})
        for variant in every[:MOST_VARIANTS]:
            work = work_of(variant, architecture, limits, element)
            if work is not None:
                found.append(work)
    return tuple(found)


def work_of(
    variant: Variant, architecture: Architecture, limits: Limits, element: ElementType
) -> Work | None:
    """What a variant's block does; None where it cannot be launched, or its header does not tell."""
    probed = _probed(variant, element)
    if probed is None:
        return None
    launch, grid = probed
    try:
        check(variant, launch, limits)
    except UsageError:
        return None
    method, size = variant.method, element.size_bytes
    given = {name: value for name, value in variant.values if isinstance(value, int)}
    traits = _traits_of(method)
    threads = launch.threads_per_block
    rows, columns = given.get("BM", grid.rows), given.get("BN", grid.columns)
    down, across = _of_thread(given, rows * columns / threads)
    depth = given.get("BK", given.get("BLOCK_SIZE", 0)) if traits.shares else UNROLLED
    if depth < 1 or rows < 1 or columns < 1:
        return None
    stages = given.get("STAGES", 1)
    tiles_bytes = (rows + columns) * depth * size * stages if traits.shares else 0
    if not launch.shared_bytes and tiles_bytes > STATIC_SHARED_BYTES:
        return None
    words = size // 4
    registers = ADDRESS_REGISTERS + math.ceil(words * (down * across + 2 * (down + across)))
    if (
        registers > architecture.registers_per_thread
        or threads * registers > architecture.registers_per_block
    ):
        return None
    warps = -(-threads // WARP_THREADS)
    lanes = _lanes(architecture, element)
    copied = (rows + columns) * depth / WARP_THREADS if traits.shares else 0.0
    copies = copied * words * (1 if traits.is_ahead else 2) / (4 if traits.is_wide else 1)
    read = _read_cycles(traits, given, grid, across) * words
    return Work(
        variant=variant,
        threads=threads,
        shared_bytes=launch.shared_bytes or tiles_bytes,
        registers=registers,
        rows=rows,
        columns=columns,
        depth=depth,
        fma_cycles=warps * depth * down * across * WARP_THREADS / lanes,
        read_cycles=warps * depth * (down + across) * read + copies,
        # A scheduler has a quarter of the lanes, and one warp of the block at a time.
        wait_cycles=depth * (SHARED_CYCLES + down * across * WARP_THREADS * 4 / lanes),
        load_cycles=GLOBAL_CYCLES if traits.shares else CACHED_CYCLES,
        not_hidden=NOT_HIDDEN_AHEAD if traits.is_ahead else NOT_HIDDEN,
        stages=stages,
        splits=given.get("SPLITS", grid.splits),
        fixed_blocks=grid.fixed_blocks,
    )


def estimate(
    architecture: Architecture, works: tuple[Work, ...], shape: Shape, element: ElementType
) -> tuple[Numbers, Numbers]:
    """Cycles that a launch of each should take on an M x N x K product, infinite where no block fits.

    Beside them the cycles for which its blocks keep multiprocessors busy, all of them together.
    """

    def column(name: str) -> Numbers:
        return np.array([getattr(work, name) for work in works], np.float64)

    rows, columns, depth, splits = map(column, ("rows", "columns", "depth", "splits"))
    threads, registers, shared = (
        column(n).astype(np.int64) for n in ("threads", "registers", "shared_bytes")
    )
    active = active_blocks(architecture, threads, registers, shared).active.astype(np.float64)
    fits = active > 0
    active = np.maximum(active, 1)

    tiles = np.ceil(shape.m / rows) * np.ceil(shape.n / columns)
    steps = np.ceil(shape.k / depth)
    fixed = column("fixed_blocks")
    blocks = np.where(fixed > 0, np.minimum(fixed, tiles * steps), tiles * np.minimum(splits, steps))
    steps_of_block = np.ceil(tiles * steps / blocks)
    of_sm = np.ceil(blocks / architecture.multiprocessors)

    fma, read = column("fma_cycles"), column("read_cycles")
    from_l2 = (rows + columns) * depth * element.size_bytes / L2_BYTES_PER_CYCLE
    largest = np.maximum(np.maximum(fma, read), from_l2)
    cycles = largest + (fma + read + from_l2 - largest) * column("not_hidden")
    alone, load, ahead = (
        np.maximum(cycles, column("wait_cycles")),
        column("load_cycles"),
        column("stages") - 1,
    )

    def together(count: Numbers) -> Numbers:
        """Of so many blocks of one SM, all begun at once."""
        step = np.maximum(count * cycles, alone + np.maximum(load - ahead * count * cycles, 0))
        cycles_of_all: Numbers = START_CYCLES + steps_of_block * step
        return cycles_of_all

    rest = of_sm % active
    whole = np.floor(of_sm / active) * together(active) + np.where(rest > 0, together(rest), 0)
    # What is cut along K is added up again: each part of C is written, and read by whoever adds.
    parts = np.where(fixed > 0, blocks * rows * columns / (shape.m * shape.n), np.minimum(splits, steps))
    added = (
        2
        * parts
        * shape.m
        * shape.n
        * element.size_bytes
        / (L2_BYTES_PER_CYCLE * architecture.multiprocessors)
    )
    is_cut = (fixed > 0) | (splits > 1)
    whole += np.where(is_cut, ADDING_CYCLES + added, 0)
    return np.where(fits, whole, np.inf), blocks * steps_of_block * cycles


@dataclass(frozen=True)
class _Grid:
    """What a grid says of a block.

    Attributes:
        rows, columns: that a block computes.
        splits: blocks that compute parts of the same results.
        fixed_blocks: of the grid, where it does not grow with M and N; else 0.
        row_from_x: whether blocks that are neighbours in x are so along M.
    """

    rows: int
    columns: int
    splits: int
    fixed_blocks: int
    row_from_x: bool

    @classmethod
    def of(cls, variant: Variant, element: ElementType, launch: Launch) -> _Grid:
        """Found by asking for larger matrices. Raises UsageError where the header allows none."""
        taller = plan(variant, Shape(2 * PROBE, PROBE, PROBE), element).grid
        wider = plan(variant, Shape(PROBE, 2 * PROBE, PROBE), element).grid
        down = math.prod(g for g, t in zip(launch.grid, taller, strict=True) if t > g)
        across = math.prod(g for g, w in zip(launch.grid, wider, strict=True) if w > g)
        is_fixed = down == across == 1
        return cls(
            rows=-(-PROBE // down),
            columns=-(-PROBE // across),
            splits=1 if is_fixed else max(1, launch.blocks // (down * across)),
            fixed_blocks=launch.blocks if is_fixed else 0,
            row_from_x=taller[0] > launch.grid[0] and wider[0] == launch.grid[0],
        )


@functools.cache
def _probed(variant: Variant, element: ElementType) -> tuple[Launch, _Grid] | None:
    """A variant's launch on a large product, and what its grid says; None where its header allows none."""
    try:
        launch = plan(variant, Shape(PROBE, PROBE, PROBE), element)
        return launch, _Grid.of(variant, element, launch)
    except UsageError:
        return None


@dataclass(frozen=True)
class _Traits:
    """What a method's source shows of how it reads.

    Attributes:
        shares: whether its tiles lie in shared memory.
        is_wide: whether it reads 16 bytes at a time.
        is_ahead: whether copies go on by themselves.
    """

    shares: bool
    is_wide: bool
    is_ahead: bool


@functools.cache
def _traits_of(method: Method) -> _Traits:
    code = without_comments(method.source)
    return _Traits(
        shares="__shared__" in code,
        is_wide=re.search(r"\balignas\s*\(\s*16\s*\)|\b(float|int)4\b|\bdouble2\b", code) is not None,
        is_ahead=re.search(r"\b__pipeline_memcpy_async\b|\bcp\.async\b", code) is not None,
    )


def _of_thread(given: dict[str, int], results: float) -> tuple[float, float]:
    """Rows and columns of the results that a thread computes."""
    if "TILE_SIZE" in given:
        return given["TILE_SIZE"], given["TILE_SIZE"]
    if "COARSE" in given:
        return 1, given["COARSE"]
    down = given.get("TM", math.sqrt(results) if results > 1 else 1)
    return down, given.get("TN", max(1, results / down))


def _read_cycles(traits: _Traits, given: dict[str, int], grid: _Grid, across: float) -> float:
    """Of a warp's read of one 4-byte element a thread."""
    if not traits.shares:
        if grid.row_from_x:
            return UNCOALESCED_READ
        return CACHED_READ * (1 + across) / 2  # one of A for all, and of B each so far from the next
    if traits.is_wide:
        return WARP_TILE_READ if "WM" in given else WIDE_READ
    return STRIDED_READ if "TN" in given and across > 1 else PLAIN_READ


_HALF_RATE_FLOAT64 = ((1, 3), (2, 0), (3, 5), (3, 7), (6, 0), (7, 0), (8, 0), (9, 0), (10, 0))


def _lanes(architecture: Architecture, element: ElementType) -> float:
    """Multiply-adds that an SM finishes a cycle.

    CUDA Programming Guide, “Arithmetic Instructions”: int32 at half the rate of float32, float64 at a half or
    a third of it on the GPUs made for that and at a 32nd or less on others.
    """
    share = {"float32": 1.0, "int32": 0.5}.get(element.name)
    if share is None:
        share = 0.5 if architecture.capability in _HALF_RATE_FLOAT64 else 1 / 32
    return architecture.fp32_per_cycle * share
