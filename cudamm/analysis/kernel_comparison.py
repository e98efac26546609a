"""Two kernels side by side, without a GPU: what a newer kernel does better, and what it does worse.

The figures are counts and resources. They explain times, but no time follows from them: no kernel is called
the faster one.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cudamm.analysis.kernel_figures import KernelFigures, instruction_counts, kernel_figures
from cudamm.analysis.trace import ACROSS_LINES, DEFAULT_BLOCKS, IN_PART, TraceResult
from cudamm.benchmark.result import Result
from cudamm.benchmark.verify import verify_all
from cudamm.compile.nvcc_compiler import nvcc
from cudamm.errors import KernelError, NoDeviceError
from cudamm.execution.executor import Executor
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import Architecture
from cudamm.kernels.launch_plan import plan
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant
from cudamm.occupancy.occupancy_result import OccupancyResult

SCHEMA = "cudamm.compare-kernels/1"

MOST_VERIFIED = 2**29
"""Largest number of multiplications of a product that is verified; above it, only counts are compared."""

INSTRUCTIONS = {
    "FFMA": "float32 multiply-adds", "DFMA": "float64 multiply-adds",
    "IMAD": "integer multiply-adds, additions and moves",
    "HMMA": "tensor core products", "LDG": "loads from global memory", "STG": "stores to global memory",
    "LDGSTS": "copies from global to shared memory", "LDS": "loads from shared memory",
    "STS": "stores to shared memory", "LDL": "loads from local memory", "STL": "stores to local memory",
    "BAR": "barriers",
}  # fmt: skip
"""Instructions whose numbers are shown if a kernel has any."""

Section = Literal["global memory", "shared memory", "multiprocessor", "machine code"]
Better = Literal["less", "more", ""]
"""The direction in which a figure is better; empty if the figure alone is neither better nor worse."""
Judgement = Literal["better", "worse", "same", ""]


@dataclass(frozen=True)
class ComparedKernel:
    """One of the two kernels.

    Attributes:
        name: the kernel as the user named it.
        threads_per_block: number of threads of its launch.
        verified: the result of verifying its product; None if the product is too large to verify here.
        instructions: how often each instruction occurs in the machine code; None if that is not known.
        why_no_instructions: why it is not known, in words.
    """

    name: str
    variant: Variant
    figures: KernelFigures
    threads_per_block: int
    verified: Result | None
    instructions: Counter[str] | None
    why_no_instructions: str

    @property
    def is_wrong(self) -> bool:
        """Return whether the kernel's product was found to be wrong."""
        return self.verified is not None and self.verified.status == "failed"

    @property
    def traced(self) -> TraceResult | None:
        """Return the accesses to memory; None if they could not be counted."""
        traced = self.figures.traced
        return traced if traced is not None and traced.status == "ok" else None

    @property
    def missing(self) -> dict[str, str]:
        """Return why figures are unknown, by the name of the figures."""
        figures, reasons = self.figures, {}
        if self.traced is None:
            reasons["accesses to memory"] = (
                figures.traced.reason if figures.traced else figures.why_not_traced
            )
        if figures.occupancy is None or figures.occupancy.reason:
            reasons["registers and occupancy"] = (
                figures.occupancy.reason if figures.occupancy else figures.why_no_occupancy
            )
        if self.instructions is None:
            reasons["instructions"] = self.why_no_instructions
        return reasons

    def record(self) -> dict[str, Any]:
        """Return the entry `old` or `new` of a `cudamm.compare-kernels/1` file."""
        occupancy = self.figures.occupancy
        return {
            "name": self.name,
            "params": self.variant.params,
            "file": self.variant.method.path.name,
            "entry": self.variant.method.entry,
            "verified": self.verified.verify_record() if self.verified is not None else None,
            "trace": self.traced.summary() if self.traced is not None else None,
            "occupancy": occupancy.record() if occupancy is not None else None,
            "instructions": self.instructions,
            "unknown": self.missing,
        }


@dataclass(frozen=True)
class ComparedFigure:
    """One figure of both kernels; None if it is not known.

    Attributes:
        kind: how the figure is printed: a whole number, a number with digits, or a share.
    """

    section: Section
    name: str
    old: float | None
    new: float | None
    better: Better = ""
    kind: Literal["count", "number", "share"] = "count"

    @property
    def ratio(self) -> float | None:
        """Return the new figure over the old one; None if one is unknown or the old one is 0."""
        return self.new / self.old if self.old and self.new is not None else None

    @property
    def verdict(self) -> Judgement:
        """Return whether the new kernel does better; empty if that cannot be said of this figure."""
        if self.old is None or self.new is None or not self.better:
            return ""
        if self.old == self.new or (self.ratio and f"{self.ratio:.3g}" == "1"):  # as tables show the ratio
            return "same"
        return "better" if (self.new < self.old) == (self.better == "less") else "worse"

    def record(self) -> dict[str, Any]:
        """Return the row of a `cudamm.compare-kernels/1` file."""
        return {
            "section": self.section,
            "figure": self.name,
            "old": self.old,
            "new": self.new,
            "ratio": self.ratio,
            "better_if": self.better,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class KernelComparison:
    """Two kernels on one problem.

    Attributes:
        verified_shape: the shape at which the products were verified; None if it would take too long.
        has_nvcc: whether there is an nvcc, which registers, occupancy and instructions need.
        rows: the figures of both kernels.
    """

    old: ComparedKernel
    new: ComparedKernel
    problem: Problem
    architecture: Architecture
    verified_shape: Shape | None
    has_nvcc: bool
    rows: tuple[ComparedFigure, ...]

    def having(self, verdict: Judgement) -> list[ComparedFigure]:
        """Return the figures with a verdict."""
        return [row for row in self.rows if row.verdict == verdict]

    def head(self) -> dict[str, Any]:
        """Return the fields of a `cudamm.compare-kernels/1` file beside its rows."""
        return {
            "m": self.problem.shape.m,
            "n": self.problem.shape.n,
            "k": self.problem.shape.k,
            "dtype": self.problem.element.name,
            "arch": self.architecture.name,
            "gpu": self.architecture.gpu,
            "old": self.old.record(),
            "new": self.new.record(),
        }

    @property
    def all_well(self) -> bool:
        """Return whether neither kernel is wrong, and the accesses of both were counted."""
        return not any(kernel.is_wrong or kernel.traced is None for kernel in (self.old, self.new))


def verified_shape(shape: Shape) -> Shape | None:
    """Return the shape at which a product is verified; None if it would take too long.

    Extents that are large multiples of 256 are halved, so that a kernel that needs multiples gets them.
    """
    m, n, k = shape.m, shape.n, shape.k
    while m % 512 == 0 or n % 512 == 0 or k % 512 == 0:
        m, n, k = (extent // 2 if extent % 512 == 0 else extent for extent in (m, n, k))
    return Shape(m, n, k) if m * n * k <= MOST_VERIFIED else None


def compare_kernels(
    executor: Executor,
    kernels: Sequence[tuple[str, Variant]],
    problem: Problem,
    architecture: Architecture,
    fmad: bool,
    progress: Progress,
    timeout_s: float,
    every_block: bool = False,
) -> KernelComparison:
    """Verify two kernels, count their accesses, compile them, and compare the figures.

    Args:
        executor: an executor on the CPU device, which verifies the products.
        kernels: the two kernels, each with the name under which it is shown.
        timeout_s: time limit in seconds for a block of threads.
        every_block: count the accesses of every block, instead of some that represent the others.

    Raises:
        UsageError: a kernel does not compile, or cannot be launched.
        NoDeviceError: there is no C++ compiler.
    """
    variants = [variant for _, variant in kernels]
    shape = verified_shape(problem.shape)
    verified: Sequence[Result | None] = [None] * len(variants)
    if shape is not None:
        small = dataclasses.replace(problem, shape=shape)
        verified = list(verify_all(executor, [(variant, small) for variant in variants], fmad, progress))
    blocks = None if every_block else DEFAULT_BLOCKS
    figures = kernel_figures(
        [(variant, problem) for variant in variants], architecture, fmad, progress, timeout_s, blocks
    )
    old, new = (
        ComparedKernel(
            name,
            variant,
            of_kernel,
            plan(variant, problem.shape, problem.element).threads_per_block,
            result,
            *_instructions(variant, problem, architecture, fmad),
        )
        for (name, variant), of_kernel, result in zip(kernels, figures, verified, strict=True)
    )
    rows = tuple(_rows(old, new))
    if old.is_wrong or new.is_wrong:  # another computation may well need fewer accesses
        rows = tuple(dataclasses.replace(row, better="") for row in rows)
    return KernelComparison(old, new, problem, architecture, shape, _has_nvcc(), rows)


def _has_nvcc() -> bool:
    try:
        nvcc()
    except NoDeviceError:
        return False
    return True


def _instructions(
    variant: Variant, problem: Problem, architecture: Architecture, fmad: bool
) -> tuple[Counter[str] | None, str]:
    """Return the number of each instruction, or None and why it is not known."""
    try:
        return instruction_counts(variant, problem, architecture.name, fmad), ""
    except (KernelError, NoDeviceError) as error:
        return None, str(error)


Pair = tuple[float | None, float | None]
"""A figure of the old kernel and of the new one; None if it is not known."""


def _rows(old: ComparedKernel, new: ComparedKernel) -> Iterator[ComparedFigure]:
    """Yield the figures of both kernels; those of a memory that neither kernel uses are left out."""
    yield from _global_rows(old, new)
    if any(kernel.traced is None or _uses_shared_memory(kernel.traced) for kernel in (old, new)):
        yield from _shared_rows(old, new)
    yield from _resource_rows(old, new)
    yield from _instruction_rows(old, new)


def _counted(old: ComparedKernel, new: ComparedKernel, count: Callable[[TraceResult], float | None]) -> Pair:
    """Return a count of each kernel's accesses; None for a kernel that was not traced."""
    return count(old.traced) if old.traced else None, count(new.traced) if new.traced else None


def _uses_shared_memory(traced: TraceResult) -> bool:
    return any(access.space == "shared" for access in traced.accesses)


def _global_rows(old: ComparedKernel, new: ComparedKernel) -> Iterator[ComparedFigure]:
    section: Section = "global memory"

    def loaded(traced: TraceResult) -> int:
        return traced.total("global", "load").sectors

    def stored(traced: TraceResult) -> int:
        return traced.total("global").sectors - loaded(traced)

    def per_load(traced: TraceResult) -> float | None:
        requests = traced.total("global", "load").requests
        return loaded(traced) / requests if requests else None

    def of_threads(traced: TraceResult) -> float | None:
        return traced.intensity

    def of_sectors(traced: TraceResult) -> float | None:
        return traced.sector_intensity

    yield ComparedFigure(section, "sectors loaded", *_counted(old, new, loaded), "less")
    yield ComparedFigure(section, "sectors stored", *_counted(old, new, stored), "less")
    # A load of 16 bytes touches more sectors than one of 4, and is not worse for that.
    yield ComparedFigure(section, "sectors per load", *_counted(old, new, per_load), kind="number")
    if old.is_wrong or new.is_wrong:
        return  # a kernel that leaves out elements does not have the operations of the product
    name = "operations per byte loaded by threads"
    yield ComparedFigure(section, name, *_counted(old, new, of_threads), "more", "number")
    name = "operations per byte in sectors"
    yield ComparedFigure(section, name, *_counted(old, new, of_sectors), "more", "number")


def _shared_rows(old: ComparedKernel, new: ComparedKernel) -> Iterator[ComparedFigure]:
    section: Section = "shared memory"

    def wavefronts(traced: TraceResult) -> int:
        return traced.total("shared").wavefronts

    def conflicts(traced: TraceResult) -> int:
        return traced.total("shared").wavefronts - traced.total("shared").ideal_wavefronts

    counts = _counted(old, new, wavefronts)
    traced = [kernel.figures.traced for kernel in (old, new)]
    reasons = [of.why_as_written for of in traced if of]
    is_known = not any(ACROSS_LINES in reason or reason.startswith(IN_PART) for reason in reasons)
    # A kernel that uses no shared memory is not better for that.
    yield ComparedFigure(section, "wavefronts", *counts, "less" if all(counts) and is_known else "")
    of_conflicts = _counted(old, new, conflicts)
    yield ComparedFigure(
        section, "wavefronts due to bank conflicts", *of_conflicts, "less" if is_known else ""
    )


def _resource_rows(old: ComparedKernel, new: ComparedKernel) -> Iterator[ComparedFigure]:
    section: Section = "multiprocessor"
    of_old, of_new = (kernel.figures.occupancy for kernel in (old, new))

    def known(figure: Callable[[OccupancyResult], float | None]) -> Pair:
        before, after = (figure(of) if of is not None and of.is_known else None for of in (of_old, of_new))
        return before, after

    grids = _counted(old, new, lambda traced: math.prod(traced.grid))
    yield ComparedFigure(section, "blocks in the grid", *grids)
    yield ComparedFigure(section, "threads per block", old.threads_per_block, new.threads_per_block)
    yield ComparedFigure(section, "registers per thread", *known(lambda of: of.registers_per_thread))
    name = "shared memory per block (bytes)"
    yield ComparedFigure(section, name, *known(lambda of: of.shared_bytes_per_block))
    local = known(lambda of: of.resources.local_bytes_per_thread if of.resources else None)
    if any(local):
        yield ComparedFigure(section, "local memory per thread (bytes)", *local, "less")
    occupancy = known(lambda of: None if of.reason else of.occupancy)
    yield ComparedFigure(section, "occupancy", *occupancy, "more", "share")


def _instruction_rows(old: ComparedKernel, new: ComparedKernel) -> Iterator[ComparedFigure]:
    """Yield the numbers of instructions. More of them are not worse: an unrolled loop has more."""
    section: Section = "machine code"

    def known(count: Callable[[Counter[str]], int]) -> Pair:
        before, after = (count(of) if of is not None else None for of in (old.instructions, new.instructions))
        return before, after

    yield ComparedFigure(section, "instructions", *known(lambda of: sum(of.values())))
    for opcode, words in INSTRUCTIONS.items():
        numbers = known(lambda of, opcode=opcode: of[opcode])  # type: ignore[misc]
        if any(numbers):
            yield ComparedFigure(section, f"{opcode} ({words})", *numbers)
