"""From variants and problems to kernels ready to run: planned, checked against the device, compiled."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cudamm.catalog.method import Execution
from cudamm.catalog.variant import Variant
from cudamm.compile import Program, compile_all, program
from cudamm.compile.signature import check_arguments
from cudamm.devices import Device, Run
from cudamm.devices.device import padded
from cudamm.errors import KernelError, RequirementError, UsageError
from cudamm.launch import Launch, check, plan
from cudamm.problem import Problem, Shape
from cudamm.results import UNVERIFIED, Result, Status, Verdict

Progress = Callable[[str, int, int], None]
"""Told what is being done now, how many steps are done, and of how many."""


@dataclass(frozen=True)
class Prepared:
    """A variant on a problem, compiled and ready to run, or the reason why it is not.

    Attributes:
        device: the one that runs it; the host's own methods run on the CPU device whatever was chosen.
        launch: None where it is skipped.
        compiled: what the device made of the program; the failure, where it did not compile.
        skipped: why it is not run at all; empty where it is.
    """

    variant: Variant
    problem: Problem
    fmad: bool
    device: Device[Any]
    program: Program
    launch: Launch | None
    compiled: Any | KernelError
    skipped: str

    @property
    def execution(self) -> Execution:
        """Where it runs."""
        return self.device.execution(self.variant.method)

    @contextmanager
    def open(self) -> Iterator[Run]:
        """A run on the problem's inputs. Raises KernelError where there is no kernel to run."""
        if self.launch is None:
            raise KernelError(self.skipped)
        if isinstance(self.compiled, KernelError):
            raise self.compiled
        a, b = padded(self.launch, *self.problem.inputs)
        with self.device.open(self.program, self.compiled, self.launch, a, b) as run:
            yield run

    def result(
        self,
        status: Status,
        reason: str = "",
        runs_ms: list[float] | None = None,
        verdict: Verdict = UNVERIFIED,
    ) -> Result:
        """The row that says what came of it."""
        shape = self.problem.shape
        return Result(
            method=self.variant.method.name,
            params=self.variant.params,
            m=shape.m,
            n=shape.n,
            k=shape.k,
            dtype=self.problem.element.name,
            fmad=self.fmad,
            execution=self.execution,
            padded=self.launch is not None and self.launch.shape != shape,
            status=status,
            reason=reason,
            runs_ms=runs_ms or [],
            verdict=verdict,
        )


def prepare(
    device: Device[Any], cases: Sequence[tuple[Variant, Problem]], fmad: bool, progress: Progress
) -> list[Prepared]:
    """Plan, check and compile every case; nothing is launched.

    Raises:
        UsageError: a case is impossible on the device, or nothing that was asked for can be run.
        NoDeviceError: a compiler is missing.
    """
    planned = [_planned(device, variant, problem, fmad) for variant, problem in cases]
    to_run = [case for case in planned if not case.skipped]
    if planned and not to_run:
        raise RequirementError(planned[0].skipped)
    for problem, launch, runner in {(c.problem, c.launch, c.device): None for c in to_run}:
        _check_memory(runner, problem, launch.shape if launch else problem.shape)

    compiled: dict[Program, Any] = {}
    for runner in dict.fromkeys(case.device for case in to_run):
        programs = {case.program: None for case in to_run if case.device is runner}
        done = 0

        def step(method: str, total: int = len(programs)) -> None:
            nonlocal done
            done += 1
            progress(f"compiling {method}", done, total)

        compiled |= compile_all(programs, runner.compile, step)
    check_user_kernels(list(compiled.items()))
    return [dataclasses.replace(case, compiled=compiled.get(case.program)) for case in planned]


def check_user_kernels(compiled: Sequence[tuple[Program, Any]]) -> None:
    """Raise UsageError where a user's kernel compiles in no variant: a broken file, not a failed row."""
    if compiled and all(isinstance(c, KernelError) and not p.method.builtin for p, c in compiled):
        first, failure = compiled[0]
        raise UsageError(f"{first.method.path} {failure}")


def _planned(device: Device[Any], variant: Variant, problem: Problem, fmad: bool) -> Prepared:
    """A case with its launch checked, or skipped where the variant's own requirements do not hold."""
    runner = executor(device, variant)
    source = program(variant, problem.element, fmad)
    try:
        launch = plan(variant, problem.shape, problem.element)
    except RequirementError as error:
        return Prepared(variant, problem, fmad, runner, source, None, None, str(error))
    check(variant, launch, runner.limits)
    if variant.method.language != "python":
        check_arguments(source, launch)
    return Prepared(variant, problem, fmad, runner, source, launch, None, "")


def in_turn(prepared: Sequence[Prepared], progress: Progress) -> Iterator[Prepared]:
    """Each case after the other; the matrices of a problem are given up with its last case."""
    for done, case in enumerate(prepared):
        progress(f"{case.variant} at {case.problem.shape} {case.problem.element.name}", done, len(prepared))
        yield case
        if done + 1 == len(prepared) or prepared[done + 1].problem != case.problem:
            case.problem.release()


def executor(device: Device[Any], variant: Variant) -> Device[Any]:
    """The device that runs a variant: the host's own methods run natively, beside whatever was chosen."""
    if not variant.method.runs_on_host or device.info.kind == "cpu":
        return device
    from cudamm.devices.find import host

    return host()


def _check_memory(device: Device[Any], problem: Problem, padded_shape: Shape) -> None:
    """Refuse a problem whose matrices do not fit, padding included. Raises UsageError."""
    size = problem.element.size_bytes
    on_device = padded_shape.elements * size
    free = device.free_bytes()
    what = f"{problem.shape}" + (f", padded to {padded_shape}," if padded_shape != problem.shape else "")
    if on_device > free:
        raise UsageError(
            f"{what} {problem.element.name} needs {_gigabytes(on_device)} for its matrices; "
            f"{device.info.name} has {_gigabytes(free)} free"
        )
    # Inputs, a copy of everything (shared with the CPU device's kernels, or on its way to a GPU), and
    # float64 versions of the inputs, product and error bound.
    from cudamm.devices.find import host

    on_host = (
        problem.shape.elements * (size + 8)
        + padded_shape.elements * 2 * size
        + problem.shape.m * problem.shape.n * 24
    )
    free = host().free_bytes()
    if on_host > free:
        raise UsageError(
            f"{what} {problem.element.name} needs {_gigabytes(on_host)} of this machine's memory, "
            f"verification included; {_gigabytes(free)} are free"
        )


def _gigabytes(count_bytes: int) -> str:
    return f"{count_bytes / 1e9:,.1f} GB"
