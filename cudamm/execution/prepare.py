"""Make cases: plan the launches of variants on problems, check them against the device, and compile."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cudamm.compile.compile_all import compile_all, compile_each
from cudamm.compile.compiler_process import CompileError, CompilerKilled
from cudamm.compile.identity import hash_of
from cudamm.compile.program import Program, check_element_type, program
from cudamm.compile.signature import check_arguments
from cudamm.devices.device import Target
from cudamm.devices.find_device import host
from cudamm.errors import KernelError, RequirementError, UsageError
from cudamm.execution.case import Case
from cudamm.kernels.ladder import libraries
from cudamm.kernels.launch_plan import check, plan
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import MOST_CASES, Variant, check_count

if TYPE_CHECKING:
    from cudamm.execution.executor import Executors

Progress = Callable[[str, int, int], None]
"""Reports progress: the current step, the number of finished steps, and the number of all steps."""


def prepare(
    executors: Executors,
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    progress: Progress,
    *,
    verified: bool,
) -> list[Case]:
    """Plan, check and compile every case; nothing is launched.

    Args:
        verified: the products will be compared with a reference.

    Raises:
        UsageError: a case is impossible on the device or cannot be verified, or every case is skipped.
        NoDeviceError: a compiler is missing.
    """
    planned = plan_all(executors, cases, fmad, verified=verified)
    return sorted(compiled_as_ready(planned, progress, at_once=False), key=lambda case: case.position)


def plan_all(
    executors: Executors,
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    positions: Sequence[int] | None = None,
    *,
    verified: bool,
    each_may_fail: bool = False,
    all_may_be_skipped: bool = False,
) -> list[Case]:
    """Plan and check every case, before anything is compiled.

    Args:
        positions: positions of the cases among all cases of the command, if `cases` are only some of them.
        verified: the products will be compared with a reference.
        each_may_fail: if a case is impossible on the device, return it as failed instead of raising.
        all_may_be_skipped: accept that every case is skipped, because other cases were run before.

    Raises:
        UsageError: a case is impossible on the device or cannot be verified, every case is skipped, or there
            are too many cases.
    """
    check_count(len(cases), "cases", MOST_CASES)
    if verified:
        for problem in dict.fromkeys(problem for _, problem in cases):
            problem.check_verifiable()
    numbered = zip(positions or range(len(cases)), cases, strict=True)
    planned = [_planned(executors.target, i, v, p, fmad, each_may_fail) for i, (v, p) in numbered]
    to_run = [case for case in planned if not case.skipped]
    if planned and not to_run and not all_may_be_skipped:
        raise RequirementError(planned[0].skipped)
    _check_memory(executors, to_run)
    return planned


def identities(target: Target[Any], cases: Sequence[tuple[Variant, Problem]], fmad: bool) -> list[str]:
    """Return the identity that each case would have if it were compiled now; empty if it cannot be launched.

    Nothing is compiled; for programs that include files, the preprocessor runs.

    Raises:
        NoDeviceError: a compiler is missing.
    """
    planned = [_planned(target, i, v, p, fmad, may_fail=True) for i, (v, p) in enumerate(cases)]
    runners = {case.program: case.target for case in planned if case.launch is not None}
    found = compile_all(runners, lambda source: hash_of(runners[source].made_from(source)))
    hashes = {source: known for source, known in found.items() if not isinstance(known, KernelError)}
    return [dataclasses.replace(c, program_identity=hashes.get(c.program, "")).identity for c in planned]


def compiled_as_ready(
    planned: Sequence[Case], progress: Progress, *, at_once: bool = True
) -> Generator[Case, None, None]:
    """Yield each case as soon as its program is compiled; the other programs compile meanwhile.

    Cases on the host come last, because compiling would disturb their times; beside a GPU, their programs
    are compiled last too.

    Args:
        at_once: if False, yield nothing before every program is compiled.
    """
    waiting: dict[Program, list[Case]] = {}
    deferred: list[Case] = []
    for case in planned:
        if case.launch is None:
            deferred.append(case)
        else:
            waiting.setdefault(case.program, []).append(case)
    results: list[tuple[Program, Any]] = []
    total = len(waiting)
    targets = dict.fromkeys(case.target for cases in waiting.values() for case in cases)
    for target in sorted(targets, key=lambda target: target.info.kind == "cpu"):
        programs = [p for p, cases in waiting.items() if cases[0].target is target]
        progress(f"compiling {programs[0].method.name}", len(results), total)
        with compile_each(
            programs, functools.partial(_identified, target), target.compile_threads
        ) as compiled_programs:
            for source, made in compiled_programs:
                identity, compiled = ("", made) if isinstance(made, KernelError) else made
                results.append((source, compiled))
                progress(f"compiling {source.method.name}", len(results), total)
                ready = [
                    dataclasses.replace(case, compiled=compiled, program_identity=identity)
                    for case in waiting[source]
                ]
                is_broken = isinstance(compiled, KernelError) and not source.method.builtin
                if is_broken or not at_once or ready[0].on_host:
                    deferred += ready
                else:
                    yield from ready
    check_user_kernels(results)
    yield from sorted(deferred, key=lambda case: case.position)


def _identified(target: Target[Any], source: Program) -> tuple[str, Any]:
    """Return the identity of a program, and the compiled program.

    The identity is computed first. A header that changes before the compiler reads it gives a new program
    with the old identity, whose row is measured again; the other order would keep a row of the old program.
    """
    return hash_of(target.made_from(source)), target.compile(source)


def check_user_kernels(compiled: Sequence[tuple[Program, Any]]) -> None:
    """Raise UsageError if all programs are of a user's kernel and none compiles: the file is broken."""
    if compiled and all(
        isinstance(c, KernelError) and not isinstance(c, CompilerKilled) and not p.method.builtin
        for p, c in compiled
    ):
        first, failure = compiled[0]
        refused = UsageError(f"{first.method.path} {failure}")
        if isinstance(failure, CompileError):
            refused.details, refused.all_details = failure.details, failure.all_details
        raise refused


def _planned(
    target: Target[Any], position: int, variant: Variant, problem: Problem, fmad: bool, may_fail: bool
) -> Case:
    """Return a case whose launch is checked; it is skipped if the variant's own requirements do not hold."""
    runner = _runner(target, variant)
    unused = Program(variant.method, problem.element, fmad, variant.method.entry, variant.method.source)
    case = Case(position, variant, problem, fmad, runner, unused, None, None, "")
    unsupported = runner.lacks(variant.method) or _unsupported_type(variant, problem)
    if unsupported:
        return dataclasses.replace(case, skipped=unsupported)
    check_element_type(variant.method, problem.element)
    try:
        # Most combinations of a sweep do not meet their requirements, and their program is never written.
        launch = plan(variant, problem.shape, problem.element, problem.scale)
        check(variant, launch, runner.limits)
        source = program(variant, problem.element, fmad, problem.shape)
        case = dataclasses.replace(case, program=source)
        if variant.method.language != "python":
            check_arguments(source, launch)
    except RequirementError as error:
        return dataclasses.replace(case, skipped=str(error))
    except KernelError as error:
        return dataclasses.replace(case, compiled=error)
    except UsageError as error:
        if not may_fail:
            raise
        return dataclasses.replace(case, compiled=KernelError(f"cannot be launched: {error}"))
    return dataclasses.replace(case, launch=launch)


def case_at(case: Case, shape: Shape) -> Case:
    """Return a compiled case with another shape.

    Raises:
        UsageError: the variant does not accept the shape.
        KernelError: it cannot be launched at this shape, or does not compile.
    """
    problem = dataclasses.replace(case.problem, shape=shape)
    launch = plan(case.variant, shape, problem.element, problem.scale)
    check(case.variant, launch, case.target.limits)
    source = program(case.variant, problem.element, case.fmad, shape)
    compiled = case.compiled if source == case.program else case.target.compile(source)
    return dataclasses.replace(
        case, problem=problem, launch=launch, program=source, compiled=compiled, skipped=""
    )


def _unsupported_type(variant: Variant, problem: Problem) -> str:
    """Return a message if a library does not support an element type; empty if the method is a kernel.

    For a kernel, `program` checks the element type.
    """
    method, element = variant.method, problem.element.name
    if not method.package or element in method.element_types:
        return ""
    others = [m.name for m in libraries() if element in m.element_types]
    advice = f"; {others[0]} has one" if others else ""
    return f"{method.name} has no product of {element}, only of {', '.join(method.element_types)}{advice}"


def in_turn(cases: Sequence[Case], progress: Progress) -> Iterator[Case]:
    """Yield each case in turn, to be verified; free the matrices of a problem after its last case."""
    for done, case in enumerate(cases):
        progress(f"verifying {case.title}", done, len(cases))
        yield case
        if done + 1 == len(cases) or cases[done + 1].problem != case.problem:
            case.problem.release()


def _runner(target: Target[Any], variant: Variant) -> Target[Any]:
    """Return the device that runs a variant: the host's own methods run on the CPU device beside a GPU."""
    if not variant.method.runs_on_host or target.info.kind == "cpu":
        return target
    return host()


def _check_memory(executors: Executors, cases: Sequence[Case]) -> None:
    """Raise UsageError if the matrices of a case, padding included, do not fit into memory."""
    needs = {(c.problem, c.launch.shape if c.launch else c.problem.shape, c.on_host): None for c in cases}
    free_on_devices = functools.cache(executors.free_bytes)  # asked once: a cluster's devices are far away
    for problem, padded_shape, on_host in needs:
        matrix_bytes = padded_shape.bytes_of(problem.element)
        free = host().free_bytes() if on_host else free_on_devices()
        padding = f", padded to {padded_shape}," if padded_shape != problem.shape else ""
        what = f"{problem.shape}{padding} {problem.element.name}"
        if matrix_bytes > free:
            raise UsageError(
                f"{what} needs {_gigabytes(matrix_bytes)} for its matrices; "
                f"{(host() if on_host else executors.target).info.name} has {_gigabytes(free)} free"
            )
        processes = sum(member.runs_here for member in executors.members)
        needed = host_bytes_needed(problem, padded_shape) * processes
        free_here = host().free_bytes()
        if needed > free_here:
            sharing = f" for {processes} devices" if processes > 1 else ""
            raise UsageError(
                f"{what} needs {_gigabytes(needed)} of this machine's memory{sharing}, "
                f"verification included; {_gigabytes(free_here)} are free"
                + (": name fewer devices" if sharing else "")
            )


def host_bytes_needed(problem: Problem, padded_shape: Shape) -> int:
    """Return the bytes of the host's memory that are needed to run and verify a problem."""
    # The host's memory contains the inputs, a copy of all matrices (shared with a process of the CPU device,
    # or to be copied to a GPU), and float64 versions of the inputs, the product and the error bound.
    return (
        problem.shape.bytes_of(problem.element)
        + problem.shape.elements * 8
        + padded_shape.bytes_of(problem.element) * 2
        + problem.shape.m * problem.shape.n * 24
    )


def _gigabytes(count_bytes: int) -> str:
    return f"{count_bytes / 1e9:,.1f} GB"
