"""The occupancy of kernels, compiled for an architecture whether or not such a GPU is here."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cudamm.compile.compile_all import compile_all
from cudamm.compile.nvcc_compiler import ReportedCubin, compile_for_gpu
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


@dataclass(frozen=True)
class Planned:
    """A case's program and launch, or why there is none.

    Attributes:
        launch: None where the header's expressions make no sense for the problem.
        impossible: why it cannot be launched; empty where it can.
    """

    variant: Variant
    problem: Problem
    program: Program
    launch: Launch | None
    impossible: str


def of_kernels(
    architectures: Sequence[Architecture],
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    carveout_percent: int | None,
    progress: Progress,
) -> Iterator[OccupancyResult]:
    """The occupancy of each case's kernel on one architecture after the other.

    Raises:
        UsageError: nothing that was asked for can be launched, or a user's kernel compiles in no variant.
        NoDeviceError: there is no nvcc, or it cannot compile for an architecture.
    """
    planned = {of: [planned_for(of, *case, fmad) for case in cases] for of in architectures}
    refused = [case.impossible for on_one in planned.values() for case in on_one]
    if all(refused):
        raise UsageError(refused[0])
    compiled = compile_for_all(planned, progress)
    for architecture, on_one in planned.items():
        yield from results_of(architecture, on_one, compiled[architecture], carveout_percent)


def planned_for(architecture: Architecture, variant: Variant, problem: Problem, fmad: bool) -> Planned:
    """A case, planned and held against the architecture's limits."""
    source = program(variant, problem.element, fmad)
    launch = None
    try:
        launch = plan(variant, problem.shape, problem.element)
        check(variant, launch, limits_of(architecture))
    except UsageError as error:
        return Planned(variant, problem, source, launch, str(error))
    return Planned(variant, problem, source, launch, "")


def compile_for_all(
    planned: Mapping[Architecture, Sequence[Planned]], progress: Progress
) -> dict[Architecture, dict[Program, ReportedCubin | KernelError]]:
    """Compile what can be launched, for one architecture after the other, on all cores.

    Raises:
        UsageError: a user's kernel that compiles in no variant for any of them.
    """
    compiled: dict[Architecture, dict[Program, ReportedCubin | KernelError]] = {}
    for of, on_one in planned.items():
        programs = dict.fromkeys(case.program for case in on_one if not case.impossible)
        done = 0

        def step(method: str, name: str = of.name, total: int = len(programs)) -> None:
            nonlocal done
            done += 1
            progress(f"compiling {method} for {name}", done, total)

        compiled[of] = compile_all(programs, functools.partial(compile_for_gpu, arch=of.name), step)
    check_user_kernels([made for on_one in compiled.values() for made in on_one.items()])
    return compiled


def results_of(
    architecture: Architecture,
    planned: Sequence[Planned],
    compiled: Mapping[Program, ReportedCubin | KernelError],
    carveout_percent: int | None,
) -> list[OccupancyResult]:
    """A result for each planned case, once its program is compiled."""
    rows: list[tuple[int, int, int, int, int]] = []
    described: list[Mapping[str, Any]] = []
    for case in planned:
        launch, made = case.launch, compiled.get(case.program)
        threads = launch.threads_per_block if launch else 0
        dynamic = launch.shared_bytes if launch else 0
        reason, resources = case.impossible.removeprefix(f"{case.variant}: "), None
        if isinstance(made, KernelError):
            reason = reason or str(made)
        elif made is not None and launch is not None:
            resources = made.resources
            most = resources.max_threads_per_block
            if most is not None and threads > most:
                reason = f"{threads} threads a block; its __launch_bounds__ allow {most}"
        used = resources or _NOTHING
        shared = used.static_shared_bytes + dynamic
        blocks = launch.blocks if launch else 0
        rows.append((threads, used.registers_per_thread, shared, used.barriers, blocks))
        described.append(
            {
                "method": case.variant.method.name,
                "params": case.variant.params,
                "chosen_by": case.variant.chosen_by,
                "dtype": case.problem.element.name,
                **dataclasses.asdict(case.problem.shape),
                "resources": resources,
                "dynamic_shared_bytes": dynamic,
                "reason": reason,
            }
        )
    threads_, registers, shared_bytes, barriers, grid_blocks = np.array(rows, np.int64).reshape(-1, 5).T
    return results(
        architecture, threads_, registers, shared_bytes, barriers, carveout_percent, grid_blocks, described
    )


_NOTHING = Resources(0, 0, 0, 0, 0, 0, 0, None)
