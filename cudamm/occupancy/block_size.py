"""Find the block size of highest occupancy with NVIDIA's search, and the block edge that the lab derives.

A kernel whose source does not contain BLOCK_SIZE gets its block size at launch. It is compiled once, and the
search tries every block size with the shared memory that the header declares for that size: the lab's
`requiredSM`. A kernel whose source contains BLOCK_SIZE is compiled for each block size to choose from.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from cudamm.occupancy.block_constants import (
    compiled_in,
    has_number_instead,
    names_in_block,
    uses,
    with_constants,
    with_other_blocks,
)
from cudamm.occupancy.configurations import Numbers, check_count, check_numbers, occupancy_of_numbers
from cudamm.occupancy.kernel_occupancy import Planned, compile_for_all, plan_for, results_of
from cudamm.occupancy.occupancy_result import OccupancyResult, Suggestion

BLOCK_SIZE = "BLOCK_SIZE"
WHOLE_WARPS = "every number of whole warps"
LARGEST_EDGE = 32
"""Largest edge of a square block, in threads: the block has 1024 threads."""

Compiled = Mapping[Program, ReportedCubin | KernelError]


def every_block_size(architecture: Architecture, max_threads: int | None = None) -> tuple[int, ...]:
    """Return the block sizes that NVIDIA's search tries: the largest, then whole warps, descending."""
    largest = min(architecture.threads_per_block, max_threads or architecture.threads_per_block)
    aligned = -(-largest // WARP_THREADS) * WARP_THREADS
    return tuple(min(largest, threads) for threads in range(aligned, 0, -WARP_THREADS))


def suggest(
    architecture: Architecture,
    sizes: Sequence[int],
    registers: int,
    shared_bytes: Callable[[int], int],
    barriers: int,
    chosen_from: str,
    carveout_percent: int | None = None,
) -> Suggestion | None:
    """Return the block size with most active threads, the largest if several are equal; None if none can run.

    Source: cudaOccMaxPotentialOccupancyBlockSizeVariableSMem in NVIDIA's cuda_occupancy.h. For the sizes of
    `every_block_size` the result is that of cudaOccupancyMaxPotentialBlockSizeVariableSMem.

    Args:
        sizes: block sizes to choose from, in threads.
        registers: registers per thread.
        shared_bytes: static and dynamic shared memory per block, as a function of its threads.
        chosen_from: a description of the sizes, for the suggestion.
    """
    threads = np.array(sorted(sizes, reverse=True), np.int64)
    shared = np.array([shared_bytes(size) for size in threads.tolist()], np.int64)
    blocks = active_blocks(architecture, threads, registers, shared, barriers, carveout_percent)
    best = int(np.argmax(blocks.active * threads))
    if blocks.active[best] == 0:
        return None
    occupancy = int(blocks.warps[best]) / architecture.warps
    return suggestion(architecture, int(threads[best]), int(blocks.active[best]), occupancy, chosen_from)


def suggestion(
    architecture: Architecture, threads: int, active_blocks: int, occupancy: float, chosen_from: str
) -> Suggestion:
    """Return a suggestion for a block size, with the grid size and block edge that follow from it."""
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
    """Return 4 ** floor(log4(threads)), the largest power of four; its square root is a power of two."""
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
    """Yield the variant of highest occupancy for each method and each choice of its other parameters.

    If no block size of a method can run, the result contains the reason and no suggestion.

    Args:
        cases: the cases to choose from, for kernels whose block size is compiled in.
        given: choose from these cases also for kernels that get their block size at launch.

    Raises:
        UsageError: no method can run at any block size.
        NoDeviceError: there is no nvcc, or nvcc cannot compile for an architecture.
    """
    tried = [(case, choice) for case in cases for choice in with_other_blocks(case)]
    planned = {
        architecture: [plan_for(architecture, *choice, fmad) for _, choice in tried]
        for architecture in architectures
    }
    compiled = compile_for_all(planned, progress)
    best: list[OccupancyResult] = []
    for architecture, planned_cases in planned.items():
        groups: dict[object, list[Planned]] = {}
        for (case, _), plan in zip(tried, planned_cases, strict=True):
            group = groups.setdefault(_key_without_block_size(*case), [])
            if not (group and plan.impossible and case[0].method is not plan.variant.method):
                group.append(plan)
        best += [
            _best(architecture, group, compiled[architecture], carveout_percent, given)
            for group in groups.values()
        ]
    if not any(result.suggestion for result in best):
        raise UsageError(f"{best[0].method}: no block size can run: {best[0].reason}")
    yield from best


def _best(
    architecture: Architecture,
    cases: Sequence[Planned],
    compiled: Compiled,
    carveout_percent: int | None,
    given: bool,
) -> OccupancyResult:
    """Return the best result for one method; see `best_block_sizes` for the arguments."""
    results = results_of(architecture, cases, compiled, carveout_percent)
    possible = [i for i, result in enumerate(results) if result.active_blocks]
    if not possible:
        return results[0]
    case, result = cases[possible[0]], results[possible[0]]
    at_launch = is_sized_at_launch(case)
    if at_launch and not given:
        if BLOCK_SIZE not in case.variant.params:
            suggested = _search(
                architecture, case, result, lambda threads: result.shared_bytes_per_block, carveout_percent
            )
            return result._replace(suggestion=suggested)
        if _is_square(case):
            square = _best_square(architecture, case, result, compiled, carveout_percent)
            if square is not None:
                return square
        else:
            variants = [
                _with_param(case.variant, BLOCK_SIZE, size)
                for size in range(1, architecture.threads_per_block + 1)
            ]
            planned = [plan_for(architecture, v, case.problem, case.program.fmad) for v in variants]
            launchable = [p for p in planned if not p.impossible]
            if launchable:
                all_results = results_of(architecture, launchable, compiled, carveout_percent)
                return _best_of(architecture, all_results, "every BLOCK_SIZE")
    impossible = _listed(r.threads_per_block for r in results if not r.active_blocks)
    tried = "given: " if at_launch else "compiled: "
    tried += _listed(results[i].threads_per_block for i in possible)
    tried += f"; cannot run: {impossible}" if impossible else ""
    constants = compiled_in(case.variant)
    if constants and not any(has_number_instead(with_constants(case.variant), name) for name in constants):
        names = ", ".join(sorted(names_in_block(case.variant.method)))
        tried += f"; {names} give the size: -D tries others"
    elif not case.variant.method.builtin and len(possible) == 1:
        parameters = sorted(names_in_block(case.variant.method) & case.variant.params.keys())
        tried += f"; -D {parameters[0]}=… tries others" if parameters else ""
    return _best_of(architecture, [results[i] for i in possible], tried)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def best_of_numbers(
    architectures: Sequence[Architecture], numbers: Numbers, carveout_percent: int | None
) -> Iterator[OccupancyResult]:
    """Yield the best block size for each choice of registers and shared memory.

    Raises:
        UsageError: no architecture allows a number, or there are too many configurations.
    """
    check_count(architectures, numbers)
    shared = numbers.shared_bytes
    amounts = np.array([] if callable(shared) else shared, np.int64)
    check_numbers(architectures, np.array([], np.int64), np.array(numbers.registers), amounts)
    functions: list[Callable[[int], int]]
    functions = [shared] if callable(shared) else [functools.partial(_constant, size) for size in shared]
    for architecture, registers, shared_bytes in itertools.product(
        architectures, numbers.registers, functions
    ):
        sizes = every_block_size(architecture)
        best = suggest(
            architecture, sizes, registers, shared_bytes, numbers.barriers, WHOLE_WARPS, carveout_percent
        )
        # If no block size can run, the result of a single warp contains the reason.
        threads = best.rounded_threads if best else sizes[-1]
        configuration = Numbers(
            (threads,), (registers,), (shared_bytes(threads),), numbers.barriers, numbers.grid_blocks
        )
        for result in occupancy_of_numbers([architecture], configuration, carveout_percent, checked=True):
            yield result._replace(suggestion=best)


def _constant(value: int, threads: int) -> int:
    return value


def is_sized_at_launch(case: Planned) -> bool:
    """Return whether the same compiled kernel can be launched with every block size.

    This is false if BLOCK_SIZE, or another parameter or constant in the header's `threads`, is compiled into
    the kernel, if an extent of the block is a template argument too, or if the template arguments are numbers
    and the kernel never asks for its number of threads.
    """
    variant, element = case.variant, case.problem.element
    names = {BLOCK_SIZE, *names_in_block(variant.method)}
    if not variant.method.builtin:
        names = {name for name in names if uses(variant.method, {name})}
    arguments = re.findall(r"\w+", variant.method.entry.partition("<")[2])  # `mm<8>` with blocks of 8 x 8
    is_argument = any(str(extent) in arguments for extent in variant.method.threads)
    is_argument |= any(map(str.isdigit, arguments)) and "blockDim" not in variant.method.code
    return not (compiled_in(variant) or is_argument) and all(
        program(_with_param(variant, name, 1), element, True)
        == program(_with_param(variant, name, 2), element, True)
        for name in names
    )


def _best_of(architecture: Architecture, results: Sequence[OccupancyResult], tried: str) -> OccupancyResult:
    """Return the result with most active threads; if several are equal, the first with the largest block."""
    best = max(results, key=lambda r: (r.active_threads, r.threads_per_block))
    suggested = suggestion(architecture, best.threads_per_block, best.active_blocks, best.occupancy, tried)
    return best._replace(suggestion=suggested)


def _best_square(
    architecture: Architecture,
    case: Planned,
    result: OccupancyResult,
    compiled: Compiled,
    carveout_percent: int | None,
) -> OccupancyResult | None:
    """Return the lab's result: the search over whole warps, rounded to a square; None if that cannot run."""
    static = result.resources.static_shared_bytes if result.resources else 0
    shape = case.problem.shape
    names = case.variant.names(case.problem.element, shape.m, shape.n, shape.k)

    def shared_bytes(threads: int) -> int:
        """Return `requiredSM`: the header's `shared-bytes` for a square block of so many threads.

        The block's edge need not be a whole number, as for 96 threads; the number of bytes is rounded up.
        """
        value = case.variant.method.shared_bytes.value({**names, BLOCK_SIZE: Fraction(math.sqrt(threads))})
        return static + max(0, math.ceil(value - _ROUNDING))

    best = _search(architecture, case, result, shared_bytes, carveout_percent)
    if best is None:
        return None
    variant = _with_param(case.variant, BLOCK_SIZE, best.block_edge)
    planned = plan_for(architecture, variant, case.problem, case.program.fmad)
    (square,) = results_of(architecture, [planned], compiled, carveout_percent)
    return square._replace(suggestion=best) if square.active_blocks else None


_ROUNDING = Fraction(1, 10**6)
"""Tolerance for the rounding error of the square root in `requiredSM`, in bytes; the error is far smaller."""


def _search(
    architecture: Architecture,
    case: Planned,
    result: OccupancyResult,
    shared_bytes: Callable[[int], int],
    carveout_percent: int | None,
) -> Suggestion | None:
    """Search every number of whole warps as NVIDIA does.

    Return None if the header's expressions cannot be evaluated for all of them.
    """
    max_threads = result.resources.max_threads_per_block if result.resources else None
    sizes = every_block_size(architecture, max_threads)
    limit = f" up to {sizes[0]}" if sizes[0] < architecture.threads_per_block else ""
    try:
        return suggest(
            architecture,
            sizes,
            result.registers_per_thread,
            shared_bytes,
            result.barriers,
            f"{WHOLE_WARPS}{limit}",
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


def _with_param(variant: Variant, name: str, value: int) -> Variant:
    """Return a variant with another value for a parameter; the same if it has no such parameter."""
    return Variant(variant.method, tuple((n, value if n == name else v) for n, v in variant.values))


def _key_without_block_size(
    variant: Variant, problem: Problem
) -> tuple[Method, tuple[tuple[str, Value], ...], Problem]:
    values = tuple((name, value) for name, value in variant.values if name != BLOCK_SIZE)
    return variant.method, values, problem
