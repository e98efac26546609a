"""Run the cases of course documents again, one group after the other."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence

from cudamm.benchmark import measure, verify
from cudamm.benchmark.result import Result
from cudamm.compile.program import program
from cudamm.courses.course_records import CourseCase, Group, Outcome, Plan, Reproduction, Setting, Source
from cudamm.courses.shared_host import SharedHost
from cudamm.errors import NoDeviceError
from cudamm.execution.executor import Executor, Executors
from cudamm.execution.executor_group import device_threads
from cudamm.execution.prepare import Progress
from cudamm.kernels.variant import Variant

COLD = "the GPU's L2 cache is overwritten before each sample"


def find(name: str) -> Source:
    """Return the source with one of the names in `NAMES`."""
    source: Source = importlib.import_module(f"cudamm.courses.reproduce_{name}").SOURCE
    return source


def reproduce(
    executors: Executors,
    sources: Sequence[Source],
    setting_of: Callable[[Executor], Setting],
    progress: Progress,
) -> Iterator[Reproduction]:
    """Run each source's cases; yield each source's results when it is complete.

    A device takes a whole source, because its conclusions compare times with each other. Several devices take
    one source after the other. A group that times a method on the host runs alone.

    After Ctrl-C, or if the last device is lost, the outcomes of sources that were not completed are yielded
    before the exception is raised again.

    Args:
        setting_of: returns the setting for a device.

    Raises:
        UsageError: the request is impossible on this device.
        NoDeviceError: the last device was lost.
    """
    courses = [_Course(source) for source in sources]
    unfinished = list(courses)
    has_several = len(executors.members) > 1
    host = SharedHost()

    def report(doing: str, done: int, total: int) -> None:
        if has_several:  # the steps of several courses have no common number
            done, total = len(courses) - len(unfinished), len(courses)
        progress(doing, done, total)

    def run(executor: Executor, course: _Course) -> Iterator[None]:
        course.run(executor, setting_of(executor), report, host)
        yield

    try:
        with device_threads(executors) as threads:
            for course, _ in threads.share(courses, run):
                found = course.reproduction()
                unfinished.remove(course)
                yield found
    except (KeyboardInterrupt, NoDeviceError):
        for course in unfinished:
            if course.has_outcomes:
                yield course.reproduction()
        raise


class _Course:
    """A source that a device runs again, or several devices one after the other, if some are lost."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._attempts: list[tuple[Plan, list[Outcome]]] = []
        self._is_complete = False

    @property
    def has_outcomes(self) -> bool:
        """Whether anything is known."""
        return any(outcomes for _, outcomes in self._attempts)

    def run(self, executor: Executor, setting: Setting, progress: Progress, host: SharedHost) -> None:
        """Run all cases, from the first one."""

        def report_progress(doing: str, done: int, total: int) -> None:
            progress(f"{self._source.name}: {doing}", done, total)

        report_progress("planning", 0, 1)
        with host.used(alone=False):
            plan = self._source.plan(setting, report_progress)
        outcomes: list[Outcome] = []
        self._attempts.append((plan, outcomes))
        for group in plan.groups:
            is_on_host = any(case.variant.method.runs_on_host for case in group.cases)
            with host.used(alone=group.is_timed and is_on_host and setting.is_gpu):
                for outcome in _run(executor, group, outcomes, report_progress, setting.is_gpu):
                    outcomes.append(outcome)
        self._is_complete = True

    def reproduction(self) -> Reproduction:
        """Return the outcomes of one device, in the order of the cases, and what follows from them."""
        source = self._source
        plan, outcomes = max(self._attempts, key=lambda attempt: len(attempt[1]))
        wanted: list[tuple[str, Variant, object]] = [
            (case.label, case.variant, case.problem) for group in plan.groups for case in group.cases
        ]
        ordered = sorted(outcomes, key=lambda o: wanted.index((o.case.label, o.case.variant, o.case.problem)))
        return Reproduction(
            name=source.name,
            title=source.title,
            device=plan.setting.device,
            outcomes=tuple(ordered),
            findings=source.conclude(plan, ordered),
            remarks=(*plan.remarks, COLD) if plan.setting.is_gpu else plan.remarks,
            is_complete=self._is_complete,
        )


def _run(
    executor: Executor, group: Group, earlier: Sequence[Outcome], progress: Progress, is_gpu: bool
) -> Iterator[Outcome]:
    reason = group.why_not(earlier)
    if reason:
        for case in group.cases:
            yield Outcome(case, _skipped(case, group, reason, is_gpu))
        return
    cases = [(case.variant, case.problem) for case in group.cases]
    settings = group.settings
    if group.is_timed and is_gpu:
        results = measure.bench(executor, cases, settings, progress)
    else:
        results = verify.verify_all(executor, cases, settings.fmad, progress)
    for result in results:
        yield Outcome(group.cases[result.position], result)
    # The next group numbers its cases from 0 again, and the executor must not confuse them with these.
    executor.release()


def _skipped(case: CourseCase, group: Group, reason: str, is_gpu: bool) -> Result:
    shape, element = case.problem.shape, case.problem.element
    return Result(
        method=case.variant.method.name,
        params=case.variant.params,
        m=shape.m,
        n=shape.n,
        k=shape.k,
        dtype=element.name,
        fmad=group.settings.fmad,
        execution="native" if case.variant.method.runs_on_host else "gpu" if is_gpu else "emulated",
        padded=False,
        status="skipped",
        reason=reason,
        source=program(case.variant, element, group.settings.fmad).hash,
    )
