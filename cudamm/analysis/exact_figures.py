"""Exact figures of kernels without a GPU: their accesses as `trace` counts them, and their occupancy."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

from cudamm.analysis.kernel_figures import KernelFigures, kernel_figures
from cudamm.benchmark.result import ExactFigures, Result
from cudamm.compile.nvcc_compiler import nvcc
from cudamm.errors import NoDeviceError
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import Architecture
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant

Cases = Sequence[tuple[Variant, Problem]]


def lacks_figures(result: Result, architecture: Architecture) -> bool:
    """Return whether a kernel has no figures of today's nvcc: one that is right, or was too large to verify.

    Only a kernel that was compiled has an identity; it is skipped only if it would have taken too long.
    """
    is_unverified = result.status == "skipped" and bool(result.identity)
    if result.execution != "emulated" or not (result.verdict.correct or is_unverified):
        return False
    exact = result.exact
    return exact is None or (exact.arch, exact.nvcc) != (architecture.name, _nvcc_build())


def with_exact_figures(
    results: Sequence[Result],
    cases: Cases,
    architecture: Architecture,
    fmad: bool,
    progress: Progress,
    timeout_s: float,
) -> Iterator[Result]:
    """Yield, with their figures, the results that lack figures for the given architecture.

    Args:
        cases: all cases of the run, at the positions that the results contain.
        timeout_s: time limit in seconds for a block of threads.
    """
    lacking = [result for result in results if lacks_figures(result, architecture)]
    if not lacking:
        return
    chosen = [cases[result.position] for result in lacking]
    figures = exact_figures(chosen, architecture, fmad, progress, timeout_s)
    for result, exact in zip(lacking, figures, strict=True):
        yield dataclasses.replace(result, exact=exact)


def exact_figures(
    cases: Cases, architecture: Architecture, fmad: bool, progress: Progress, timeout_s: float
) -> list[ExactFigures]:
    """Return the figures of each case, in order.

    Args:
        cases: cases that the CPU device has executed, grouped by problem.
        timeout_s: time limit in seconds for a block of threads.
    """
    start = ExactFigures(architecture.name, architecture.gpu, _nvcc_build())
    found = kernel_figures(cases, architecture, fmad, progress, timeout_s)
    return [_with_occupancy(_with_accesses(start, of_case), of_case) for of_case in found]


def _nvcc_build() -> str:
    """Return the build of nvcc, such as `cuda_13.0.r13.0/compiler.36424714_0`; empty if there is no nvcc."""
    try:
        build = re.search(r"^Build (\S+)", nvcc().version, re.MULTILINE)
    except NoDeviceError:
        return ""
    return build[1] if build else nvcc().version


def _with_accesses(figures: ExactFigures, of_case: KernelFigures) -> ExactFigures:
    traced = of_case.traced
    if traced is None or traced.status != "ok":
        reason = of_case.why_not_traced if traced is None else traced.reason
        return _with_unknown(figures, "accesses to memory", reason)
    of_global, of_shared = traced.total("global"), traced.total("shared")
    per_1000 = 1000 / (traced.operations / 2)
    # A copy from global to shared memory is one instruction, which `trace` lists as a load and as a store.
    instructions = sum(a.requests for a in traced.accesses if not (a.by_copy and a.space == "shared"))
    figures = dataclasses.replace(
        figures,
        sectors_per_1000_multiply_adds=of_global.sectors * per_1000,
        share_of_ideal_sectors=_share(of_global.ideal_sectors, of_global.sectors),
        operations_per_byte=traced.intensity,
    )
    if traced.why_as_written:
        return _with_unknown(figures, "wavefronts, memory instructions", traced.why_as_written)
    return dataclasses.replace(
        figures,
        wavefronts_per_1000_multiply_adds=of_shared.wavefronts * per_1000 if of_shared.requests else None,
        share_of_ideal_wavefronts=_share(of_shared.ideal_wavefronts, of_shared.wavefronts),
        memory_instructions_per_1000_multiply_adds=instructions * per_1000,
    )


def _share(ideal: int, actual: int) -> float | None:
    return min(1.0, ideal / actual) if actual else None


def _with_occupancy(figures: ExactFigures, of_case: KernelFigures) -> ExactFigures:
    found = of_case.occupancy
    if found is None:
        return _with_unknown(figures, "registers, shared memory, occupancy", of_case.why_no_occupancy)
    if found.reason:
        figures = _with_unknown(figures, "occupancy", found.reason)
    if not found.is_known:
        return figures
    return dataclasses.replace(
        figures,
        registers_per_thread=found.registers_per_thread,
        shared_bytes_per_block=found.shared_bytes_per_block,
        occupancy=None if found.reason else found.occupancy,
    )


def _with_unknown(figures: ExactFigures, names: str, reason: str) -> ExactFigures:
    return dataclasses.replace(figures, unknown=(*figures.unknown, f"{names}: {reason}"))
