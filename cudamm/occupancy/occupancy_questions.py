"""What more is asked of a configuration: the least changes that would help, and whether it hides a load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.occupancy.active_blocks import Blocks, Integers, active_blocks
from cudamm.occupancy.latency import hidden, instruction_cycles, load_cycles
from cudamm.occupancy.occupancy_result import OccupancyResult, Step


@dataclass(frozen=True)
class Questions:
    """What is asked.

    Attributes:
        steps: what leads to the next step up.
        independent: instructions a load, for each of which: is the load hidden? Empty: it is not asked.
        load_cycles: of a load; None takes what is known of the architecture.
        instruction_cycles: of an instruction for a warp; None likewise.
    """

    steps: bool = False
    independent: tuple[int, ...] = ()
    load_cycles: Fraction | None = None
    instruction_cycles: Fraction | None = None


def answered(
    results: Iterable[OccupancyResult],
    architectures: Sequence[Architecture],
    questions: Questions,
    carveout_percent: int | None,
) -> Iterator[OccupancyResult]:
    """Yield the results with what is asked of them. Raises UsageError if a load's cycles are not known."""
    named = {architecture.name: architecture for architecture in architectures}
    for result in results:
        of = named[result.arch]
        if questions.steps:
            result = result._replace(steps=next_steps(of, result, carveout_percent))
        if questions.independent:
            latency = hidden(
                result.active_warps,
                questions.independent,
                questions.load_cycles or load_cycles(of)[0],
                questions.instruction_cycles or instruction_cycles(of),
            )
            result = result._replace(latency=latency)
        yield result


def latency_sources(architectures: Sequence[Architecture], questions: Questions) -> list[str]:
    """Return where the cycles come from, a line an architecture. Raises UsageError if they are not known."""
    lines: list[str] = []
    for of in architectures:
        load = "a load: as given" if questions.load_cycles else "a load: {} ({})".format(*load_cycles(of))
        issue = (
            "as given"
            if questions.instruction_cycles
            else (
                f"{float(instruction_cycles(of)):g} (32 / {of.fp32_per_cycle} float32 results a cycle and SM)"
            )
        )
        lines.append(f"{of.name}: cycles of {load}; of an instruction: {issue}")
    return lines


def next_steps(
    architecture: Architecture, result: OccupancyResult, carveout_percent: int | None
) -> tuple[Step, ...]:
    """Return the least changes that let more warps be active; none if there are as many as can be.

    First what lets one more block of the same size in, then the nearest smaller and the nearest larger
    block that do better with the same registers a thread and shared memory a block.
    """
    of = architecture
    if not result.is_known:
        return ()
    most = of.threads_per_block
    if result.resources is not None and result.resources.max_threads_per_block is not None:
        most = min(most, result.resources.max_threads_per_block)

    def blocks(
        registers: int | Integers | None = None,
        shared: int | Integers | None = None,
        threads: int | Integers | None = None,
    ) -> Blocks:
        """Return the blocks after a change to numbers, or arrays of them; what is None stays as it is."""
        return active_blocks(
            of,
            result.threads_per_block if threads is None else threads,
            result.registers_per_thread if registers is None else registers,
            result.shared_bytes_per_block if shared is None else shared,
            result.barriers,
            carveout_percent,
        )

    def step(registers: int | None = None, shared: int | None = None, threads: int | None = None) -> Step:
        after = blocks(registers, shared, threads)
        warps = int(after.warps)
        return Step(int(after.active), warps, warps / of.warps, registers, shared, threads)

    def largest(values: Integers, after: Blocks) -> int | None:
        """Return the largest of the values, which ascend, that lets another block in."""
        enough = values[after.active > result.active_blocks]
        return int(enough[-1]) if len(enough) else None

    sizes = np.arange(WARP_THREADS, most + 1, WARP_THREADS)
    better = sizes[blocks(threads=sizes).warps > result.active_warps]
    smaller, larger = better[better < result.threads_per_block], better[better > result.threads_per_block]
    other_sizes = [step(threads=size) for size in (*smaller[-1:].tolist(), *larger[:1].tolist())]
    if result.threads_per_block > most:
        return tuple(other_sizes)

    # Fewer registers alone, less shared memory alone; if neither is enough, both.
    fewer = np.arange(result.registers_per_thread)
    # Shared memory is given out in portions: the most that fits in each is enough to try.
    shared_bytes = result.shared_bytes_per_block
    portions = np.arange(0, shared_bytes + of.reserved_shared_bytes, of.shared_granularity_bytes)
    less = np.maximum(portions - of.reserved_shared_bytes, 0)
    by_registers = largest(fewer, blocks(registers=fewer))
    by_shared = largest(less, blocks(shared=less))
    steps: list[Step] = []
    if by_registers is not None:
        steps.append(step(registers=by_registers))
    if by_shared is not None:
        steps.append(step(shared=by_shared))
    if not steps and result.registers_per_thread and shared_bytes:
        registers = largest(fewer, blocks(fewer, 0))
        if registers is not None:
            steps.append(step(registers, largest(less, blocks(registers, less))))
    return (*steps, *other_sizes)
