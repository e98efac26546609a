"""Benchmark variants on one device or several: which device measures what, and the final measurement.

`measure_in_turn` measures the cases that a device has taken.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence

from cudamm.benchmark.finalists import finalists, key_of, problem_of
from cudamm.benchmark.host_duration import EstimateDurations, too_long
from cudamm.benchmark.measure_in_turn import MeasureInTurn, cache_state, is_untimed, known_medians
from cudamm.benchmark.result import Result, Timing, result_of_case
from cudamm.benchmark.sampling_policy import Settings
from cudamm.errors import DeviceLostError
from cudamm.execution.case import Case
from cudamm.execution.executor import Executor, Executors
from cudamm.execution.executor_group import DeviceThreads, device_threads, most_typical
from cudamm.execution.prepare import Progress, compiled_as_ready, plan_all
from cudamm.execution.shared_cases import SharedCases
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant

MOST_AT_ONCE = 8
"""Maximum number of cases of a shared problem that a device takes at once, verifies, and measures in turn.

A device that verified more of them would leave devices that open later, or are faster, without work.
"""

TAKEN_SHARE = 0.5
"""A device takes this share of (unmeasured cases / devices) at once, so that all finish at about one time."""


def bench(
    executors: Executors,
    cases: Sequence[tuple[Variant, Problem]],
    settings: Settings,
    report_progress: Progress,
    positions: Sequence[int] | None = None,
    kept: Sequence[Result] = (),
) -> Iterator[Result]:
    """Measure each case, and yield each result as soon as it is complete, with its position.

    On several devices, finalists are yielded a second time, with the samples of their final measurement.

    Args:
        positions: the position of each case among all requested cases; None if these cases are all.
        kept: results of an earlier run; a variant is also dropped if it is slower than the best of these.

    Raises:
        UsageError, NoDeviceError: the request is impossible; raised before anything is launched.
    """
    planned = plan_all(
        executors, cases, settings.fmad, positions,
        verified=settings.verify, each_may_fail=settings.each_may_fail, all_may_be_skipped=bool(kept),
    )  # fmt: skip
    yield from _SharedBenchmark(executors, settings, planned, kept, report_progress).run()


class _SharedBenchmark:
    """The benchmark of all problems on all devices: who measures what, and the final measurement."""

    def __init__(
        self,
        executors: Executors,
        settings: Settings,
        planned: Sequence[Case],
        kept: Sequence[Result],
        report_progress: Progress,
    ) -> None:
        self._executors, self._settings = executors, settings
        self._skipped = [case for case in planned if case.skipped]
        self._to_measure = [case for case in planned if not case.skipped]
        self._report_progress = report_progress
        self._has_several = len(executors.members) > 1
        self._finished = 0
        self._results = {case.problem: _of_problem(case.problem, kept) for case in self._to_measure}
        self._unmeasured = Counter(case.problem for case in self._to_measure)
        self._compiled: dict[int, Case] = {}
        self._on_host: dict[Problem, list[Case]] = {case.problem: [] for case in self._to_measure}

    def run(self) -> Iterator[Result]:
        """Measure everything, and yield each result when it is complete."""
        skipped = (self._skipped_result(case, case.skipped) for case in self._skipped)
        with contextlib.closing(compiled_as_ready(self._to_measure, self._report_progress)) as compiled:
            self._cases = SharedCases(compiled)
            with device_threads(self._executors) as threads:
                if self._settings.shares_variants or not self._has_several:
                    measured = self._share_variants(threads)
                else:
                    measured = self._share_problems(threads)
                with contextlib.closing(measured):
                    for result in measured:
                        yield result
                        # Yields all after the first result, and then no more: devices measure meanwhile.
                        yield from skipped
        yield from skipped

    def _skipped_result(self, case: Case, reason: str) -> Result:
        return result_of_case(case, "skipped", reason, Timing([], cache_state(case, self._settings)))

    def _share_variants(self, threads: DeviceThreads) -> Generator[Result, None, None]:
        for problem in self._results:
            measure = functools.partial(self._measure, problem=problem)
            for result in threads.run(measure, functools.partial(self._cases.may_have, problem)):
                yield self._keep(problem, result)
            is_last = problem == list(self._results)[-1]
            is_end = is_last and not self._settings.keep_matrices and not any(self._on_host.values())
            yield from self._measure_finalists(problem, is_end=is_end)
            if not self._settings.keep_matrices:
                self._executors.release()
        yield from self._measure_on_host()

    def _share_problems(self, threads: DeviceThreads) -> Generator[Result, None, None]:
        def measure(member: Executor, problem: Problem) -> Iterator[Result]:
            yield from self._measure(member, problem)
            if not self._settings.keep_matrices:
                member.release()

        for problem, result in threads.share(self._results, measure):
            yield self._keep(problem, result)
        yield from self._measure_on_host()

    def _measure(self, member: Executor, problem: Problem) -> Iterator[Result]:
        """Take and measure cases of a problem until none is left; put back what a lost device had taken."""
        unfinished: dict[int, Case] = {}
        try:
            while self._cases.may_have(problem):
                taken = itertools.islice(self._taken(problem, unfinished), self._most_at_once(problem))
                for result in self._in_turn(member, problem, taken):
                    del unfinished[result.position]
                    yield result
        except DeviceLostError:
            self._cases.put_back(unfinished.values())
            raise

    def _most_at_once(self, problem: Problem) -> int | None:
        """Return the number of a problem's cases that a device takes now; None for all."""
        if not (self._has_several and self._settings.shares_variants):
            return None
        fair_part = self._unmeasured[problem] / len(self._executors.members)
        return max(1, min(MOST_AT_ONCE, round(TAKEN_SHARE * fair_part)))

    def _in_turn(self, member: Executor, problem: Problem, cases: Iterable[Case]) -> Iterator[Result]:
        work = MeasureInTurn(self._settings, known_medians(tuple(self._results[problem])))
        return member.carry_out(work, cases, self._report)

    def _taken(self, problem: Problem, unfinished: dict[int, Case]) -> Iterator[Case]:
        """Take cases, and put each into `unfinished`."""
        for case in self._cases.of(problem):
            self._compiled[case.position] = case
            if self._waits_for_devices(case):
                self._on_host[problem].append(case)
            else:
                unfinished[case.position] = case
                yield case

    def _waits_for_devices(self, case: Case) -> bool:
        """Return whether a case is measured when the devices have measured all others.

        The host's loops can take longer than all kernels, and cases on several devices would disturb them.
        """
        is_timed_on_host = case.on_host and not is_untimed(case, self._settings)
        return case.execution == "native" or (self._has_several and is_timed_on_host)

    def _measure_on_host(self) -> Iterator[Result]:
        """Measure the cases that waited, problem by problem; skip those that would take too long."""
        for problem, cases in self._on_host.items():
            unfinished = {case.position: case for case in cases}
            for position, duration_s in self._estimated_durations(cases):
                reason = too_long(problem.shape, duration_s, self._settings.max_time_s)
                if reason:
                    yield self._keep(problem, self._skipped_result(unfinished.pop(position), reason))
            while unfinished:
                member = self._executors.open_members()[0]
                try:
                    for result in self._in_turn(member, problem, list(unfinished.values())):
                        del unfinished[result.position]
                        yield self._keep(problem, result)
                except DeviceLostError as error:
                    self._executors.remove(member, error)
            if cases and not self._settings.keep_matrices:
                self._executors.release()

    def _estimated_durations(self, cases: Sequence[Case]) -> list[tuple[int, float]]:
        """Return the positions of large cases on the host, and the estimated seconds of one run of each."""
        if not cases:
            return []
        member = self._executors.open_members()[0]
        try:
            return list(member.carry_out(EstimateDurations(), cases, self._report))
        except DeviceLostError as error:
            self._executors.remove(member, error)
            return []

    def _measure_finalists(self, problem: Problem, *, is_end: bool) -> Iterator[Result]:
        """Measure the finalists of a problem again, in turn, on one device.

        Args:
            is_end: whether nothing else will be measured, so that the other devices can shut down meanwhile.
        """
        chosen = finalists(self._results[problem], self._settings.finalists)
        cases = [self._compiled[result.position] for result in chosen if result.position in self._compiled]
        while cases:
            member = most_typical(self._executors)
            for other in self._executors.members if is_end else ():
                if other is not member:
                    other.dismiss()
            try:
                yield from member.carry_out(MeasureInTurn(self._settings, is_final=True), cases, self._report)
                return
            except DeviceLostError as error:
                self._executors.remove(member, error)

    def _keep(self, problem: Problem, result: Result) -> Result:
        self._unmeasured[problem] -= 1
        self._results[problem].append(result)
        self._finished += 1
        return result

    def _report(self, doing: str) -> None:
        self._report_progress(doing, self._finished, len(self._to_measure))


def _of_problem(problem: Problem, results: Sequence[Result]) -> list[Result]:
    key = key_of(problem)
    return [result for result in results if problem_of(result) == key]
