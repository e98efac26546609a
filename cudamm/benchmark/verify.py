"""Verify cases: judge each product without timing it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

from cudamm.benchmark.result import Result, result_of_case
from cudamm.errors import HangError, KernelError
from cudamm.execution.case import ORDER_MATTERS, Case, Verdict
from cudamm.execution.executor import Executor
from cudamm.execution.prepare import Progress, in_turn, prepare
from cudamm.execution.usual_causes import ENDS_EARLY
from cudamm.execution.worker_executor import SMALL_WORK
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant

LookAgain = Callable[[Case, Verdict], str]
"""Function that runs a case once more, and returns what is wrong in a sentence; empty for nothing."""


def verify_all(
    executor: Executor,
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    progress: Progress,
    look_again: LookAgain | None = None,
) -> Iterator[Result]:
    """Verify each case, and yield each result as soon as it is complete.

    A result that is looked at again is yielded a second time, with its cause.

    Args:
        look_again: is called for a user's kernel that is wrong on the CPU device, if no result shows why; and
            for one that adds to C, which blocks may do at the same time on a GPU.

    Raises:
        UsageError, NoDeviceError: the request is impossible; raised before anything is launched.
    """
    doubtful: dict[Variant, list[tuple[Case, Verdict]]] = {}
    hung: dict[Variant, Case] = {}
    for case in in_turn(prepare(executor, cases, fmad, progress, verified=True), progress):
        if case.skipped:
            yield result_of_case(case, "skipped", case.skipped)
            continue
        if case.variant in hung and hangs_too(hung[case.variant].problem.shape, case.problem.shape):
            yield result_of_case(case, "skipped", f"not run: it hung at {hung[case.variant].problem.shape}")
            continue
        ordered = case.target.has_thread_order and not case.variant.method.runs_on_host
        try:
            verdict = executor.verify(case, thorough=True)
        except KernelError as error:
            verdict = Verdict(False, str(error))
            if isinstance(error, HangError) and not case.variant.method.builtin:
                hung[case.variant] = case
        else:
            is_doubtful = verdict.correct is False or case.variant.method.adds_to_zeros
            if ordered and not case.variant.method.builtin and is_doubtful:
                doubtful.setdefault(case.variant, []).append((case, verdict))
        yield result_of_case(case, "ok" if verdict.correct else "failed", verdict.reason, verdict=verdict)
    if look_again is None:
        return
    for case, verdict in _to_look_at(doubtful):
        cause = look_again(case, verdict)
        if cause:
            verdict = dataclasses.replace(verdict, correct=False).because_of(cause)
            yield result_of_case(case, "failed", verdict.reason, verdict=verdict)


def _to_look_at(
    doubtful: Mapping[Variant, Sequence[tuple[Case, Verdict]]],
) -> Iterator[tuple[Case, Verdict]]:
    """Yield the case of each unexplained variant that shows most: a small one, and no product of vectors."""
    for cases in doubtful.values():
        # An index outside of a local array also lets a compiler end a loop early.
        if all(v.cause in ("", ORDER_MATTERS) or v.cause.startswith(ENDS_EARLY) for _, v in cases):
            yield min(
                cases,
                key=lambda pair: (_is_of_vectors(pair[0].problem.shape), pair[0].problem.shape.elements),
            )


def hangs_too(hung: Shape, shape: Shape) -> bool:
    """Return whether a kernel that did not answer in time at one shape is not worth running at another."""
    work, asked = hung.m * hung.n * hung.k, shape.m * shape.n * shape.k
    return work <= SMALL_WORK or asked >= work


def _is_of_vectors(shape: Shape) -> bool:
    return min(shape.m, shape.n, shape.k) == 1
