"""The block size of highest occupancy, found by NVIDIA's search, and the block edge that the lab makes of it.

A kernel that learns its block size at launch (its source does not mention BLOCK_SIZE) is compiled once, and
every block size is tried with the shared memory that its header asks for at each: the lab's `requiredSM`. A
kernel with the block size compiled in is compiled for each that is worth sweeping.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from cudamm.compile.nvcc_compiler import ReportedCubin
from cudamm.compile.program import Program, program
from cudamm.errors import KernelError, UsageError
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.kernels.method import Method, Value
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant
from cudamm.occupancy.active_blocks import active_blocks
from cudamm.occupancy.configurations import Numbers, check_count, check_numbers, of_numbers
from cudamm.occupancy.kernel_occupancy import Planned, compile_for_all, planned_for, results_of
from cudamm.occupancy.occupancy_result import OccupancyResult, Suggestion

BLOCK_SIZE = "BLOCK_SIZE"
WHOLE_WARPS = "every number of whole warps"
LARGEST_EDGE = 32
"""Of a square block: 1024 threads."""

Compiled = Mapping[Program, ReportedCubin | KernelError]


def every_block_size(architecture: Architecture, max_threads: int | None = None) -> tuple[int, ...]:
    """Return the block sizes that NVIDIA's search tries: the largest, then whole warps, descending."""
    most = min(architecture.threads_per_block, max_threads or architecture.threads_per_block)
    aligned = -(-most // WARP_THREADS) * WARP_THREADS
    return tuple(min(most, threads) for threads in range(aligned, 0, -WARP_THREADS))


def suggest(
    architecture: Architecture,
    sizes: Sequence[int],
    registers: int,
    shared_bytes: Callable[[int], int],
    barriers: int,
    chosen_from: str,
    carveout_percent: int | None = None,
) -> Suggestion | None:
    """Return the block size with most active threads; of equals the largest. None if no size can run.

    Source: cudaOccMaxPotentialOccupancyBlockSizeVariableSMem in NVIDIA's cuda_occupancy.h; with
    `every_block_size` it is what cudaOccupancyMaxPotentialBlockSizeVariableSMem answers.

    Args:
        sizes: threads a block to choose from.
        registers: a thread.
        shared_bytes: a block, static and dynamic, as a function of its threads.
        chosen_from: how to call the sizes.
    """
    threads = np.array(sorted(sizes, reverse=True), np.int64)
    shared = np.array([shared_bytes(size) for size in threads.tolist()], np.int64)
    found = active_blocks(architecture, threads, registers, shared, barriers, carveout_percent)
    best = int(np.argmax(found.active * threads))
    if found.active[best] == 0:
        return None
    occupancy = int(found.warps[best]) / architecture.warps
    return suggestion(architecture, int(threads[best]), int(found.active[best]), occupancy, chosen_from)


def suggestion(
    architecture: Architecture, threads: int, active_blocks: int, occupancy: float, chosen_from: str
) -> Suggestion:
    """Return a block size that was found, with what follows from it."""
    rounded = power_of_four(threads)
    return Suggestion(
        threads_per_block=threads,
        occupancy=occupancy,
        min_grid_blocks=active_blocks * architecture.multiprocessors,
        rounded_threads=rounded,
        block_edge=int(rounded**0.5),
        chosen_from=chosen_from,
    )


def power_of_four(threads: int) -> int:
    """Return 4 ** floor(log4(threads)): the largest power of four, whose square root is a power of two."""
    power = 1
    while power * 4 <= threads:
        power *= 4
    return power


def best_block_sizes(
    architectures: Sequence[Architecture],
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    carveout_percent: int | None,
    progress: Progress,
    given: bool = False,
) -> Iterator[OccupancyResult]:
    """Yield for each method (and choice of its other parameters) the variant to take, with how it was found.

    One that can run at no block size is a result that says why.

    Args:
        cases: the block sizes to choose from, for kernels that have theirs compiled in.
        given: whether the others have to be chosen from these, too.

    Raises:
        UsageError: nothing that was asked for can run at any block size.
        NoDeviceError: there is no nvcc, or it cannot compile for an architecture.
    """
    planned = {of: [planned_for(of, *case, fmad) for case in cases] for of in architectures}
    compiled = compile_for_all(planned, progress)
    found: list[OccupancyResult] = []
    for of, on_one in planned.items():
        groups: dict[object, list[Planned]] = {}
        for case in on_one:
            groups.setdefault(_apart_from_block_size(case), []).append(case)
        found += [_best(of, group, compiled[of], carveout_percent, given) for group in groups.values()]
    if not any(result.suggestion for result in found):
        raise UsageError(f"{found[0].method}: no block size can run: {found[0].reason}")
    yield from found


def _best(
    of: Architecture, cases: Sequence[Planned], compiled: Compiled, carveout_percent: int | None, given: bool
) -> OccupancyResult:
    """Return the best of one method."""
    results = results_of(of, cases, compiled, carveout_percent)
    able = [i for i, result in enumerate(results) if result.active_blocks]
    if not able:
        return results[0]
    case, result = cases[able[0]], results[able[0]]
    at_launch = is_sized_at_launch(case)
    if at_launch and not given:
        if BLOCK_SIZE not in case.variant.params:
            found = _search(of, case, result, lambda threads: result.shared_bytes_per_block, carveout_percent)
            return result._replace(suggestion=found)
        if _is_square(case):
            chosen = _square(of, case, result, compiled, carveout_percent)
            if chosen is not None:
                return chosen
        else:
            sizes = [_with(case.variant, BLOCK_SIZE, size) for size in range(1, of.threads_per_block + 1)]
            every = [planned_for(of, sized, case.problem, case.program.fmad) for sized in sizes]
            possible = [one for one in every if not one.impossible]
            if possible:
                return _best_of(of, results_of(of, possible, compiled, carveout_percent), "every BLOCK_SIZE")
    cannot = [str(r.threads_per_block) for r in results if not r.active_blocks]
    tried = "given: " if at_launch else "compiled: "
    tried += ", ".join(str(results[i].threads_per_block) for i in able)
    return _best_of(
        of, [results[i] for i in able], tried + (f"; cannot run: {', '.join(cannot)}" if cannot else "")
    )


def best_of_numbers(
    architectures: Sequence[Architecture], numbers: Numbers, carveout_percent: int | None
) -> Iterator[OccupancyResult]:
    """Yield the best block size for each choice of registers and shared memory.

    Raises:
        UsageError: a number that none of the architectures allows, or too many configurations.
    """
    check_count(architectures, numbers)
    shared = numbers.shared_bytes
    sizes = np.array([] if callable(shared) else shared, np.int64)
    check_numbers(architectures, np.array([], np.int64), np.array(numbers.registers), sizes)
    of_threads: list[Callable[[int], int]]
    of_threads = [shared] if callable(shared) else [functools.partial(_constant, size) for size in shared]
    for of, registers, shared_bytes in itertools.product(architectures, numbers.registers, of_threads):
        best = suggest(
            of, every_block_size(of), registers, shared_bytes, numbers.barriers, WHOLE_WARPS, carveout_percent
        )
        # Where none can run, a single warp says why.
        threads = best.rounded_threads if best else every_block_size(of)[-1]
        one = Numbers(
            (threads,), (registers,), (shared_bytes(threads),), numbers.barriers, numbers.grid_blocks
        )
        for result in of_numbers([of], one, carveout_percent, checked=True):
            yield result._replace(suggestion=best)


def _constant(value: int, threads: int) -> int:
    return value


def is_sized_at_launch(case: Planned) -> bool:
    """Return whether one compiled kernel serves every block size.

    It does not if BLOCK_SIZE is compiled in, or another parameter that the block's extents come from.
    """
    variant, element = case.variant, case.problem.element
    names = {BLOCK_SIZE}.union(*(extent.names for extent in variant.method.threads))
    return all(
        program(_with(variant, name, 1), element, True) == program(_with(variant, name, 2), element, True)
        for name in names
    )


def _best_of(of: Architecture, results: Sequence[OccupancyResult], tried: str) -> OccupancyResult:
    """Return the result with most active threads; of equals the largest block, and of those the first."""
    best = max(results, key=lambda r: (r.active_threads, r.threads_per_block))
    found = suggestion(of, best.threads_per_block, best.active_blocks, best.occupancy, tried)
    return best._replace(suggestion=found)


def _square(
    of: Architecture, case: Planned, result: OccupancyResult, compiled: Compiled, carveout_percent: int | None
) -> OccupancyResult | None:
    """Return the lab's answer: the search over whole warps, rounded to a square; None if that cannot run."""
    static = result.resources.static_shared_bytes if result.resources else 0
    shape = case.problem.shape
    names = case.variant.names(case.problem.element, shape.m, shape.n, shape.k)

    def shared_bytes(threads: int) -> int:
        """`requiredSM`: the header's expression, at the block edge that so many threads have.

        That edge need not be whole, as with 96 threads; what it asks for is.
        """
        value = case.variant.method.shared_bytes.value({**names, BLOCK_SIZE: Fraction(math.sqrt(threads))})
        return static + max(0, math.ceil(value - _ROUNDING))

    best = _search(of, case, result, shared_bytes, carveout_percent)
    if best is None:
        return None
    sized = _with(case.variant, BLOCK_SIZE, best.block_edge)
    chosen = planned_for(of, sized, case.problem, case.program.fmad)
    (found,) = results_of(of, [chosen], compiled, carveout_percent)
    return found._replace(suggestion=best) if found.active_blocks else None


_ROUNDING = Fraction(1, 10**6)  # of the root in `shared_bytes`, in bytes: far above it, far below a byte


def _search(
    of: Architecture,
    case: Planned,
    result: OccupancyResult,
    shared_bytes: Callable[[int], int],
    carveout_percent: int | None,
) -> Suggestion | None:
    """Search every number of whole warps as NVIDIA does; None if the header's arithmetic forbids it."""
    most = result.resources.max_threads_per_block if result.resources else None
    sizes = every_block_size(of, most)
    try:
        return suggest(
            of,
            sizes,
            result.registers_per_thread,
            shared_bytes,
            result.barriers,
            WHOLE_WARPS,
            carveout_percent,
        )
    except UsageError:
        return None


def _is_square(case: Planned) -> bool:
    """Return whether the block has BLOCK_SIZE x BLOCK_SIZE threads."""
    shape = case.problem.shape
    names = case.variant.names(case.problem.element, shape.m, shape.n, shape.k)
    try:
        return all(
            math.prod(e.whole({**names, BLOCK_SIZE: edge}) for e in case.variant.method.threads)
            == edge * edge
            for edge in range(1, LARGEST_EDGE + 1)
        )
    except UsageError:
        return False


def _with(variant: Variant, name: str, value: int) -> Variant:
    """Return a variant with another value for a parameter; the same if it has no such parameter."""
    return Variant(variant.method, tuple((n, value if n == name else v) for n, v in variant.values))


def _apart_from_block_size(case: Planned) -> tuple[Method, tuple[tuple[str, Value], ...], Problem]:
    values = tuple((name, value) for name, value in case.variant.values if name != BLOCK_SIZE)
    return case.variant.method, values, case.problem
