"""Verify cases: judge each product without timing it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cudamm.benchmark.result import Result, Status, result_of_case
from cudamm.errors import DeviceLostError, HangError, KernelError
from cudamm.execution.case import ORDER_MATTERS, Case, Verdict
from cudamm.execution.executor import Executor, Executors, LocalExecutor, Report
from cudamm.execution.executor_group import device_threads
from cudamm.execution.prepare import Progress, in_turn, prepare
from cudamm.execution.shared_cases import SharedCases
from cudamm.execution.usual_causes import ENDS_EARLY
from cudamm.execution.worker_executor import SMALL_WORK
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant

LookAgain = Callable[[Case, Verdict], str]
"""Function that runs a case once more, and returns what is wrong in a sentence; empty for nothing."""

VERIFIED_AT_ONCE = 8
"""Number of cases that a device takes at once."""


def verify_all(
    executors: Executors,
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
    prepared = prepare(executors, cases, fmad, progress, verified=True)
    verification = _Verification(SharedCases(in_turn(prepared, progress)))
    with device_threads(executors) as threads:
        yield from threads.run(verification.run, verification.cases.may_have_any)
    if look_again is None:
        return
    for case, verdict in _to_look_at(verification.doubtful):
        cause = look_again(case, verdict)
        if cause:
            verdict = dataclasses.replace(verdict, correct=False).because_of(cause)
            yield result_of_case(case, "failed", verdict.reason, verdict=verdict, device="cpu")


@dataclass(frozen=True)
class _Verified:
    """What a device found out about a case.

    Attributes:
        verdict: None if the case was not run to its end.
        has_hung: whether the kernel did not answer in time.
    """

    position: int
    result: Result
    verdict: Verdict | None = None
    has_hung: bool = False


@dataclass(frozen=True)
class _VerifyInTurn:
    """Work for `Executor.carry_out`: verify cases, one after the other.

    Attributes:
        hung: the shape at which a variant hung earlier.
    """

    hung: Mapping[Variant, Shape]

    def __call__(self, executor: LocalExecutor, cases: Iterable[Case], report: Report) -> Iterator[_Verified]:
        hung = dict(self.hung)
        for case in cases:
            report(case.title)
            verified = _verified(executor, case, hung.get(case.variant))
            if verified.has_hung:
                hung[case.variant] = case.problem.shape
            yield verified


def _verified(executor: LocalExecutor, case: Case, hung_at: Shape | None) -> _Verified:
    if case.skipped:
        return _Verified(case.position, result_of_case(case, "skipped", case.skipped))
    if hung_at is not None and hangs_too(hung_at, case.problem.shape):
        return _Verified(case.position, result_of_case(case, "skipped", f"not run: it hung at {hung_at}"))
    device = "cpu" if case.on_host else executor.target.info.spec
    try:
        verdict = executor.verify(case, thorough=True)
    except KernelError as error:
        result = result_of_case(case, "failed", str(error), verdict=Verdict(False, str(error)), device=device)
        has_hung = isinstance(error, HangError) and not case.variant.method.builtin
        return _Verified(case.position, result, has_hung=has_hung)
    status: Status = "ok" if verdict.correct else "failed"
    result = result_of_case(case, status, verdict.reason, verdict=verdict, device=device)
    return _Verified(case.position, result, verdict)


class _Verification:
    """The verification of cases, by one or several devices.

    Attributes:
        cases: the cases that no device has taken yet.
        doubtful: wrong products without a known cause, by variant.
    """

    def __init__(self, cases: SharedCases) -> None:
        self.cases = cases
        self.doubtful: dict[Variant, list[tuple[Case, Verdict]]] = {}
        self._hung: dict[Variant, Shape] = {}

    def run(self, executor: Executor) -> Iterator[Result]:
        """Verify cases on a device until there are none."""
        unfinished: dict[int, Case] = {}
        try:
            while self.cases.may_have_any():
                taken = itertools.islice(self._taken(unfinished), VERIFIED_AT_ONCE)
                for verified in executor.carry_out(_VerifyInTurn(dict(self._hung)), taken, _ignore):
                    self._look_at(unfinished.pop(verified.position), verified)
                    yield verified.result
        except DeviceLostError:
            self.cases.put_back(unfinished.values())
            raise

    def _taken(self, unfinished: dict[int, Case]) -> Iterator[Case]:
        """Take cases, and put each into `unfinished`."""
        for case in self.cases.of_any_problem():
            unfinished[case.position] = case
            yield case

    def _look_at(self, case: Case, verified: _Verified) -> None:
        """Remember a variant that hung, and a doubtful product."""
        method, verdict = case.variant.method, verified.verdict
        if verified.has_hung:
            self._hung[case.variant] = case.problem.shape
        elif verdict is not None and case.target.has_thread_order:
            is_doubtful = verdict.correct is False or method.adds_to_zeros
            if is_doubtful and not method.runs_on_host and not method.builtin:
                self.doubtful.setdefault(case.variant, []).append((case, verdict))


def _ignore(doing: str) -> None:
    """Report nothing: preparing reports the cases."""


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
