"""Compute the occupancy of kernels, which are compiled for any architecture; no GPU is needed."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cudamm.compile.compile_all import compile_all
from cudamm.compile.nvcc_compiler import ReportedCubin, compile_for_gpu, compiled_as
from cudamm.compile.program import Program, program
from cudamm.compile.resources import Resources
from cudamm.errors import KernelError, UsageError
from cudamm.execution.prepare import Progress, check_user_kernels
from cudamm.kernels.architecture import Architecture
from cudamm.kernels.launch_plan import Launch, check, limits_of, plan
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant
from cudamm.occupancy.configurations import results
from cudamm.occupancy.occupancy_result import OccupancyResult
from cudamm.source.expression import MULTIPROCESSORS, parse


@dataclass(frozen=True)
class Planned:
    """The program and the launch of a case.

    Attributes:
        launch: None if the header's expressions cannot be evaluated for the problem.
        failure: the error that a launch of the case raises; None if it can be launched.
    """

    variant: Variant
    problem: Problem
    program: Program
    launch: Launch | None
    failure: UsageError | KernelError | None = None

    @property
    def impossible(self) -> str:
        """Why the case cannot be launched; empty if it can."""
        return str(self.failure or "")


def occupancy_of_kernels(
    architectures: Sequence[Architecture],
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    carveout_percent: int | None,
    progress: Progress,
) -> Iterator[OccupancyResult]:
    """Yield the occupancy of each case's kernel, on one architecture after the other.

    Raises:
        UsageError: no case can be launched, or a user's kernel compiles in no variant.
        KernelError: the same, if the program itself gives the launch.
        NoDeviceError: there is no nvcc, or nvcc cannot compile for an architecture.
    """
    planned = {
        architecture: [plan_for(architecture, *case, fmad) for case in cases]
        for architecture in architectures
    }
    failures = [case.failure for planned_cases in planned.values() for case in planned_cases]
    if all(failures):
        first = failures[0]
        raise first if isinstance(first, KernelError) else UsageError(str(first))
    compiled = compile_for_all(planned, progress, with_impossible=True)
    for architecture, planned_cases in planned.items():
        yield from results_of(architecture, planned_cases, compiled[architecture], carveout_percent)


def plan_for(architecture: Architecture, variant: Variant, problem: Problem, fmad: bool) -> Planned:
    """Plan the launch of a case, and check it against the architecture's limits."""
    source = program(variant, problem.element, fmad, problem.shape)
    launch = None
    try:
        launch = plan(_on(architecture, variant), problem.shape, problem.element)
        check(variant, launch, limits_of(architecture))
    except (UsageError, KernelError) as error:
        return Planned(variant, problem, source, launch, error)
    return Planned(variant, problem, source, launch)


def _on(architecture: Architecture, variant: Variant) -> Variant:
    """Return a variant whose grid has as many blocks as its program launches on the architecture's GPU."""
    method = variant.method
    if not method.grid_of_gpu:
        return variant
    number = MULTIPROCESSORS, parse(str(architecture.multiprocessors))
    of_gpu = dataclasses.replace(method, grid=method.grid_of_gpu, numbers=(*method.numbers, number))
    return dataclasses.replace(variant, method=of_gpu)


def compile_for_all(
    planned: Mapping[Architecture, Sequence[Planned]], progress: Progress, *, with_impossible: bool = False
) -> dict[Architecture, dict[Program, ReportedCubin | KernelError]]:
    """Compile the cases that can be launched, for one architecture after the other, on all cores.

    Args:
        with_impossible: compile those of a user's kernel too that cannot be launched, for their resources.

    Raises:
        UsageError: a user's kernel compiles in no variant for any architecture.
    """
    compiled: dict[Architecture, dict[Program, ReportedCubin | KernelError]] = {}
    for architecture, planned_cases in planned.items():
        programs = dict.fromkeys(
            case.program
            for case in planned_cases
            if not case.impossible or (with_impossible and not case.variant.method.builtin)
        )
        done = 0

        def report(method: str, name: str = architecture.name, total: int = len(programs)) -> None:
            nonlocal done
            done += 1
            progress(f"compiling {method} for {name}", done, total)

        compile_program = functools.partial(compile_for_gpu, arch=compiled_as(architecture.name))
        compiled[architecture] = compile_all(programs, compile_program, report)
    check_user_kernels([outcome for outcomes in compiled.values() for outcome in outcomes.items()])
    return compiled


def _block_of(case: Planned) -> tuple[int, int]:
    """Return the threads and the dynamic shared memory of a block that cannot be launched; 0 if not known."""
    variant, element, shape = case.variant, case.problem.element, case.problem.shape
    try:
        names = variant.names(element, *variant.padded(element, shape.m, shape.n, shape.k))
        block = variant.extents("threads", variant.method.threads, names)
        return math.prod(block), variant.method.shared_bytes.whole(names)
    except (UsageError, KernelError):
        return 0, 0


def results_of(
    architecture: Architecture,
    planned: Sequence[Planned],
    compiled: Mapping[Program, ReportedCubin | KernelError],
    carveout_percent: int | None,
) -> list[OccupancyResult]:
    """Return a result for each planned case; `compiled` contains the programs that were compiled."""
    compiled_for = compiled_as(architecture.name)
    rows: list[tuple[int, int, int, int, int]] = []
    other_fields: list[Mapping[str, Any]] = []
    for case in planned:
        launch, cubin = case.launch, compiled.get(case.program)
        threads, dynamic = (launch.threads_per_block, launch.shared_bytes) if launch else _block_of(case)
        reason, resources = case.impossible.removeprefix(f"{case.variant}: "), None
        if isinstance(cubin, KernelError):
            reason = reason or str(cubin)
        elif cubin is not None and threads:
            resources = cubin.resources
            max_threads = resources.max_threads_per_block
            if max_threads is not None and threads > max_threads and not reason:
                reason = f"{threads} threads per block; its __launch_bounds__ allow {max_threads}"
        used = resources or _NO_RESOURCES
        shared = used.static_shared_bytes + dynamic
        blocks = launch.blocks if launch else 0
        rows.append((threads, used.registers_per_thread, shared, used.barriers, blocks))
        other_fields.append(
            {
                "method": case.variant.method.name,
                "params": case.variant.params,
                "chosen_by": case.variant.chosen_by,
                "dtype": case.problem.element.name,
                **dataclasses.asdict(case.problem.shape),
                "resources": resources,
                "dynamic_shared_bytes": dynamic,
                "compiled_for": compiled_for if compiled_for != architecture.name else None,
                "reason": reason,
            }
        )
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    block_threads, registers, shared_bytes, barriers, grid_blocks = columns
    return results(
        architecture,
        block_threads,
        registers,
        shared_bytes,
        barriers,
        carveout_percent,
        grid_blocks,
        other_fields,
    )


_NO_RESOURCES = Resources(0, 0, 0, 0, 0, 0, 0, None)
