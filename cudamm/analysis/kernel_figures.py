"""What is known of a kernel without a GPU: its accesses, as `trace` counts them, and its occupancy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from cudamm.analysis.trace import DEFAULT_BLOCKS, Cases, Settings, TraceResult, trace
from cudamm.compile.listing import sass
from cudamm.compile.nvcc_compiler import compiled_as
from cudamm.compile.program import program
from cudamm.errors import NoDeviceError, UsageError
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import Architecture
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant
from cudamm.occupancy.kernel_occupancy import occupancy_of_kernels
from cudamm.occupancy.occupancy_result import OccupancyResult


@dataclass(frozen=True)
class KernelFigures:
    """The figures of one case.

    Attributes:
        traced: the accesses to memory; None if the cases cannot be traced.
        why_not_traced: why there is no `traced`, in words.
        occupancy: registers, shared memory and occupancy; None if they are not known.
        why_no_occupancy: why there is no `occupancy`, in words.
    """

    traced: TraceResult | None
    why_not_traced: str
    occupancy: OccupancyResult | None
    why_no_occupancy: str


def kernel_figures(
    cases: Cases,
    architecture: Architecture,
    fmad: bool,
    progress: Progress,
    timeout_s: float,
    blocks: int | None = DEFAULT_BLOCKS,
) -> list[KernelFigures]:
    """Return the figures of each case, in order.

    Args:
        cases: cases that the CPU device can execute, grouped by problem.
        timeout_s: time limit in seconds for a block of threads.
        blocks: number of blocks to trace; None: all blocks.
    """
    settings = Settings(blocks=blocks, arch=compiled_as(architecture.name), timeout_s=timeout_s)
    traced: Sequence[TraceResult | None] = [None] * len(cases)
    occupancy: Sequence[OccupancyResult | None] = [None] * len(cases)
    why_not_traced = why_no_occupancy = ""
    try:
        traced = list(trace(cases, settings, fmad, progress))
    except UsageError as error:
        why_not_traced = str(error)
    try:
        occupancy = list(occupancy_of_kernels([architecture], cases, fmad, None, progress))
    except (NoDeviceError, UsageError) as error:
        why_no_occupancy = str(error)
    return [
        KernelFigures(of_memory, why_not_traced, of_blocks, why_no_occupancy)
        for of_memory, of_blocks in zip(traced, occupancy, strict=True)
    ]


def instruction_counts(variant: Variant, problem: Problem, arch: str, fmad: bool) -> Counter[str]:
    """Return how often each instruction occurs in a kernel's machine code, by opcode without modifiers.

    The counts are those of the code, not of its execution: an instruction in a loop counts once.

    Raises:
        KernelError: the kernel does not compile.
        NoDeviceError: there is no nvcc or no nvdisasm, or one of them does not support the architecture.
    """
    listing = sass(program(variant, problem.element, fmad, problem.shape), compiled_as(arch))
    return Counter(line.opcode.partition(".")[0] for line in listing.lines if line.opcode)
