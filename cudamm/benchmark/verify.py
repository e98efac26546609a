"""Verify cases: judge each product without timing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from cudamm.benchmark.result import Result, result_of_case
from cudamm.errors import KernelError
from cudamm.execution.case import Case, Verdict
from cudamm.execution.executor import Executor
from cudamm.execution.judge import ORDER_MATTERS
from cudamm.execution.prepare import Progress, in_turn, prepare
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant


LookAgain = Callable[[Case, Verdict], str]
"""Function that runs a wrong case once more, and returns the cause in one sentence; empty if it sees none."""

MOST_LOOKS = 2
"""Maximum number of second looks at a variant, each about a second."""


def verify_all(
    executor: Executor,
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    progress: Progress,
    look_again: LookAgain | None = None,
) -> Iterator[Result]:
    """Verify each case, and yield each result as soon as it is complete.

    Args:
        look_again: is called for a user's kernel that is wrong on the CPU device, while no cause is known.

    Raises:
        UsageError, NoDeviceError: the request is impossible; raised before anything is launched.
    """
    looks: Counter[Variant] = Counter()
    for case in in_turn(prepare(executor, cases, fmad, progress, verified=True), progress):
        if case.skipped:
            yield result_of_case(case, "skipped", case.skipped)
            continue
        ordered = case.target.has_thread_order and not case.variant.method.runs_on_host
        try:
            verdict = executor.verify(case, thread_order=ordered)
        except KernelError as error:
            verdict = Verdict(False, str(error))
        is_unexplained = verdict.correct is False and (not verdict.cause or verdict.cause == ORDER_MATTERS)
        if look_again is not None and ordered and not case.variant.method.builtin and is_unexplained:
            looks[case.variant] += 1
            if looks[case.variant] <= MOST_LOOKS:
                verdict = verdict.because_of(look_again(case, verdict))
        yield result_of_case(case, "ok" if verdict.correct else "failed", verdict.reason, verdict=verdict)
