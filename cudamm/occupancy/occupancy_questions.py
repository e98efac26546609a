"""Answer questions about a configuration: the smallest changes that raise occupancy, and latency hiding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.occupancy.active_blocks import Blocks, Integers, active_blocks
from cudamm.occupancy.latency import instruction_cycles, latencies, load_cycles
from cudamm.occupancy.occupancy_result import OccupancyResult, Step


@dataclass(frozen=True)
class Questions:
    """The questions that the user asks about each configuration.

    Attributes:
        steps: ask for the smallest changes that raise occupancy.
        independent: numbers of independent instructions per load; for each the question is whether the active
            warps hide the load. Empty if this is not asked.
        load_cycles: cycles of a load; None for the architecture's known cycles.
        instruction_cycles: cycles of one instruction of a warp; None for the architecture's known cycles.
    """

    steps: bool = False
    independent: tuple[int, ...] = ()
    load_cycles: Fraction | None = None
    instruction_cycles: Fraction | None = None


def add_answers(
    results: Iterable[OccupancyResult],
    architectures: Sequence[Architecture],
    questions: Questions,
    carveout_percent: int | None,
    other_blocks: Callable[[Architecture, OccupancyResult], tuple[Step, ...] | None] = lambda *_: None,
) -> Iterator[OccupancyResult]:
    """Yield the results with the answers. Raise UsageError if the cycles of a load are unknown.

    Args:
        other_blocks: returns the block sizes that a kernel can have and that raise its occupancy; None for
            bare numbers, which can have any.
    """
    by_name = {architecture.name: architecture for architecture in architectures}
    for result in results:
        architecture = by_name[result.arch]
        if questions.steps:
            steps = next_steps(architecture, result, carveout_percent, other_blocks(architecture, result))
            result = result._replace(steps=steps)
        if questions.independent:
            latency = latencies(
                result.active_warps,
                questions.independent,
                questions.load_cycles or load_cycles(architecture)[0],
                questions.instruction_cycles or instruction_cycles(architecture),
            )
            result = result._replace(latency=latency)
        yield result


def latency_sources(architectures: Sequence[Architecture], questions: Questions) -> list[str]:
    """Return the source of the cycles, one line per architecture. Raise UsageError if they are unknown."""
    lines: list[str] = []
    for architecture in architectures:
        load = instruction = "as given"
        if not questions.load_cycles:
            load = "{} ({})".format(*load_cycles(architecture))
        if not questions.instruction_cycles:
            cycles = float(instruction_cycles(architecture))
            instruction = f"{cycles:g} (32 / {architecture.fp32_per_cycle} float32 results per cycle and SM)"
        lines.append(f"{architecture.name}: cycles of a load: {load}; of an instruction: {instruction}")
    return lines


def next_steps(
    architecture: Architecture,
    result: OccupancyResult,
    carveout_percent: int | None,
    other_blocks: tuple[Step, ...] | None = None,
) -> tuple[Step, ...]:
    """Return the smallest changes that allow more active warps; none if no change does.

    The first changes keep the block size and allow at least one more block. The others are the nearest
    smaller and the nearest larger block size with more active warps.

    Args:
        other_blocks: the block sizes to propose; None: every number of whole warps, for the same registers
            per thread and shared memory per block.
    """
    if not result.has_steps:
        return ()
    max_threads = architecture.threads_per_block
    if result.resources is not None and result.resources.max_threads_per_block is not None:
        max_threads = min(max_threads, result.resources.max_threads_per_block)

    def blocks(
        registers: int | Integers | None = None,
        shared: int | Integers | None = None,
        threads: int | Integers | None = None,
    ) -> Blocks:
        """Return the blocks after a change to numbers or arrays of numbers; None keeps the present number."""
        return active_blocks(
            architecture,
            result.threads_per_block if threads is None else threads,
            result.registers_per_thread if registers is None else registers,
            result.shared_bytes_per_block if shared is None else shared,
            result.barriers,
            carveout_percent,
        )

    def step(registers: int | None = None, shared: int | None = None, threads: int | None = None) -> Step:
        after = blocks(registers, shared, threads)
        warps = int(after.warps)
        return Step(int(after.active), warps, warps / architecture.warps, registers, shared, threads)

    def largest(values: Integers, after: Blocks) -> int | None:
        """Return the largest of ascending values that allows more blocks; None if no value does."""
        sufficient = values[after.active > result.active_blocks]
        return int(sufficient[-1]) if len(sufficient) else None

    if other_blocks is None:
        sizes = np.arange(WARP_THREADS, max_threads + 1, WARP_THREADS)
        better = sizes[blocks(threads=sizes).warps > result.active_warps]
        smaller, larger = better[better < result.threads_per_block], better[better > result.threads_per_block]
        other_blocks = tuple(step(threads=size) for size in (*smaller[-1:].tolist(), *larger[:1].tolist()))
    if result.threads_per_block > max_threads:
        return other_blocks

    # Try fewer registers alone and less shared memory alone; if neither is enough, both together.
    fewer_registers = np.arange(result.registers_per_thread)
    # Shared memory is allocated in units, so only the amounts that fill whole units are tried.
    shared_bytes = result.shared_bytes_per_block
    allocations = np.arange(
        0, shared_bytes + architecture.reserved_shared_bytes, architecture.shared_granularity_bytes
    )
    less_shared = np.maximum(allocations - architecture.reserved_shared_bytes, 0)
    by_registers = largest(fewer_registers, blocks(registers=fewer_registers))
    by_shared = largest(less_shared, blocks(shared=less_shared))
    steps: list[Step] = []
    if by_registers is not None:
        steps.append(step(registers=by_registers))
    if by_shared is not None:
        steps.append(step(shared=by_shared))
    if not steps and result.registers_per_thread and shared_bytes:
        registers = largest(fewer_registers, blocks(fewer_registers, 0))
        if registers is not None:
            steps.append(step(registers, largest(less_shared, blocks(registers, less_shared))))
    return (*steps, *other_blocks)
