"""The best block size of each method, found by NVIDIA's search.

A kernel that learns its block size at launch (its source does not mention BLOCK_SIZE) is compiled once, and
every number of whole warps is tried, with the shared memory that its header asks for at each: the lab's
`requiredSM`. A kernel with the block size compiled in is compiled for each that is worth sweeping.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from cudamm.architecture import Architecture
from cudamm.catalog.method import Method, Value
from cudamm.catalog.variant import Variant
from cudamm.compile import program
from cudamm.errors import UsageError
from cudamm.occupancy.kernels import Planned, compile_planned, planned_for, results_of
from cudamm.occupancy.numbers import Numbers, of_numbers
from cudamm.occupancy.suggest import every_block_size, suggest
from cudamm.prepare import Progress
from cudamm.problem import Problem
from cudamm.results import OccupancyResult, Suggestion

BLOCK_SIZE = "BLOCK_SIZE"
AT_LAUNCH = "at launch: every number of whole warps"


def best_block_sizes(
    architectures: Sequence[Architecture],
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    carveout_percent: int | None,
    progress: Progress,
) -> Iterator[OccupancyResult]:
    """For each method (and choice of its other parameters) the variant to take, with how it was found.

    Args:
        cases: the block sizes to choose from, for kernels that have theirs compiled in.

    Raises:
        UsageError: a method none of whose block sizes can run.
        NoDeviceError: there is no nvcc, or it cannot compile for an architecture.
    """
    for architecture in architectures:
        planned = [planned_for(architecture, *case, fmad) for case in cases]
        compiled = compile_planned(planned, architecture, progress)
        for _, group in itertools.groupby(planned, key=_apart_from_block_size):
            rows = list(group)
            found = results_of(architecture, rows, compiled, carveout_percent)
            able = [i for i, result in enumerate(found) if result.active_blocks]
            if not able:
                raise UsageError(f"{rows[0].variant}: no block size can run: {found[0].reason}")
            case, result = rows[able[0]], found[able[0]]
            powers = _powers(case) if is_sized_at_launch(case) else None
            if powers is None:
                best = _suggest_compiled(architecture, [found[i] for i in able], carveout_percent)
            else:
                suggestion = _suggest_at_launch(architecture, case, result, powers, carveout_percent)
                chosen = planned_for(
                    architecture, _sized(case.variant, suggestion, powers), case.problem, fmad
                )
                (result,) = results_of(architecture, [chosen], compiled, carveout_percent)
                best = result._replace(suggestion=suggestion)
            yield best


def best_of_numbers(
    architectures: Sequence[Architecture], numbers: Numbers, carveout_percent: int | None
) -> Iterator[OccupancyResult]:
    """The best block size for each choice of registers and shared memory.

    Raises:
        UsageError: numbers with which no block can run.
    """
    shared = numbers.shared_bytes
    of_threads: list[Callable[[int], int]]
    of_threads = [shared] if callable(shared) else [functools.partial(_constant, size) for size in shared]
    for of, registers, shared_bytes in itertools.product(architectures, numbers.registers, of_threads):
        suggestion = suggest(
            of, every_block_size(of), registers, shared_bytes, numbers.barriers, AT_LAUNCH, carveout_percent
        )
        if suggestion is None:
            raise UsageError(
                f"no block of {registers} registers a thread can run on {of.name} with that memory"
            )
        best = dataclasses.replace(
            numbers,
            threads=(suggestion.rounded_threads,),
            registers=(registers,),
            shared_bytes=(shared_bytes(suggestion.rounded_threads),),
        )
        for result in of_numbers([of], best, carveout_percent):
            yield result._replace(suggestion=suggestion)


def _constant(value: int, threads: int) -> int:
    return value


def is_sized_at_launch(case: Planned) -> bool:
    """Whether one compiled kernel serves every block size."""
    one, two = (_with_block_size(case.variant, size) for size in (1, 2))
    element = case.problem.element
    return program(one, element, True) == program(two, element, True)


def _suggest_compiled(
    architecture: Architecture, results: Sequence[OccupancyResult], carveout_percent: int | None
) -> OccupancyResult:
    """The best of kernels compiled with a block size each."""
    sizes = [r.threads_per_block for r in results]
    suggestion = suggest(
        architecture,
        sizes,
        [r.registers_per_thread for r in results],
        [r.shared_bytes_per_block for r in results],
        results[0].barriers,
        f"compiled: {', '.join(map(str, sizes))}",
        carveout_percent,
    )
    chosen = next(r for r in results if suggestion and r.threads_per_block == suggestion.threads_per_block)
    return chosen._replace(suggestion=suggestion)


def _suggest_at_launch(
    architecture: Architecture,
    case: Planned,
    result: OccupancyResult,
    powers: tuple[int, int],
    carveout_percent: int | None,
) -> Suggestion:
    """NVIDIA's search over every number of whole warps."""
    resources = result.resources
    static = resources.static_shared_bytes if resources else 0
    shape = case.problem.shape
    names = case.variant.names(case.problem.element, shape.m, shape.n, shape.k)
    factor, power = powers

    def shared_bytes(threads: int) -> int:
        """`requiredSM`: the header's expression, at the block size that so many threads have.

        That block size need not be whole, as with 96 threads of a square block; what it asks for is.
        """
        if not power:
            return static + case.variant.method.shared_bytes.whole(names)
        size = Fraction((threads / factor) ** (1 / power))
        return static + math.ceil(
            case.variant.method.shared_bytes.value({**names, BLOCK_SIZE: size}) - _ROUNDING
        )

    found = suggest(
        architecture,
        every_block_size(architecture, resources.max_threads_per_block if resources else None),
        result.registers_per_thread,
        shared_bytes,
        result.barriers,
        AT_LAUNCH,
        carveout_percent,
    )
    if found is None:
        raise UsageError(f"{case.variant}: no number of whole warps can run")
    return found


_ROUNDING = Fraction(1, 10**6)  # of the root in `shared_bytes`, in bytes: far above it, far below a byte


def _powers(case: Planned) -> tuple[int, int] | None:
    """`(c, d)` where the threads of a block are c x BLOCK_SIZE ** d, None where they are anything else."""
    shape = case.problem.shape

    def threads(block_size: int) -> int:
        names = case.variant.names(case.problem.element, shape.m, shape.n, shape.k)
        return math.prod(e.whole({**names, BLOCK_SIZE: block_size}) for e in case.variant.method.threads)

    one, two, three = (threads(size) for size in (1, 2, 3))
    power = max(0, (two // one).bit_length() - 1)
    return (one, power) if (two, three) == (one * 2**power, one * 3**power) else None


def _sized(variant: Variant, suggestion: Suggestion, powers: tuple[int, int]) -> Variant:
    """The variant at the suggested block size; a square block at the lab's rounded one."""
    factor, power = powers
    threads = suggestion.threads_per_block if power < 2 else suggestion.rounded_threads
    return _with_block_size(variant, max(1, round((threads / factor) ** (1 / max(1, power)))))


def _with_block_size(variant: Variant, size: int) -> Variant:
    return Variant(variant.method, tuple((n, size if n == BLOCK_SIZE else v) for n, v in variant.values))


def _apart_from_block_size(case: Planned) -> tuple[Method, tuple[tuple[str, Value], ...], Problem]:
    values = tuple((name, value) for name, value in case.variant.values if name != BLOCK_SIZE)
    return case.variant.method, values, case.problem
