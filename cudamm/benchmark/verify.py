"""Verify cases: judge each product without timing it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cudamm.benchmark.result import Result, result_of_case
from cudamm.errors import KernelError
from cudamm.execution.case import Verdict
from cudamm.execution.executor import Executor
from cudamm.execution.prepare import Progress, in_turn, prepare
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant


def verify_all(
    executor: Executor, cases: Sequence[tuple[Variant, Problem]], fmad: bool, progress: Progress
) -> Iterator[Result]:
    """Verify each case, and yield each result as soon as it is complete.

    Raises:
        UsageError, NoDeviceError: the request is impossible; raised before anything is launched.
    """
    for case in in_turn(prepare(executor, cases, fmad, progress, verified=True), progress):
        if case.skipped:
            yield result_of_case(case, "skipped", case.skipped)
            continue
        ordered = case.target.has_thread_order and not case.variant.method.runs_on_host
        try:
            verdict = executor.verify(case, thread_order=ordered)
        except KernelError as error:
            verdict = Verdict(False, str(error))
        yield result_of_case(case, "ok" if verdict.correct else "failed", verdict.reason, verdict=verdict)
