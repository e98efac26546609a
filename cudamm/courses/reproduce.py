"""Run the cases of course documents again, one group after the other."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence

from cudamm.benchmark import measure, verify
from cudamm.benchmark.result import Result
from cudamm.compile.program import program
from cudamm.courses.course_records import CourseCase, Group, Outcome, Plan, Reproduction, Setting, Source
from cudamm.errors import NoDeviceError
from cudamm.execution.executor import Executor
from cudamm.execution.prepare import Progress
from cudamm.kernels.variant import Variant

COLD = "the GPU's L2 cache is overwritten before each sample"


def find(name: str) -> Source:
    """Return the source with one of the names in `NAMES`."""
    source: Source = importlib.import_module(f"cudamm.courses.reproduce_{name}").SOURCE
    return source


def reproduce(
    executor: Executor, sources: Sequence[Source], setting: Setting, progress: Progress
) -> Iterator[Reproduction]:
    """Run each source's cases; yield each source's results when it is complete.

    After Ctrl-C, or if the device is lost, the outcomes of the current source are yielded before the
    exception is raised again.

    Raises:
        UsageError: the request is impossible on this device.
        NoDeviceError: the device was lost.
    """
    for source in sources:

        def report_progress(doing: str, done: int, total: int, name: str = source.name) -> None:
            progress(f"{name}: {doing}", done, total)

        report_progress("planning", 0, 1)
        plan = source.plan(setting, report_progress)
        outcomes: list[Outcome] = []
        try:
            for group in plan.groups:
                for outcome in _run(executor, group, outcomes, report_progress, setting.is_gpu):
                    outcomes.append(outcome)
        except (KeyboardInterrupt, NoDeviceError):
            if outcomes:
                yield _concluded(source, plan, outcomes, is_complete=False)
            raise
        yield _concluded(source, plan, outcomes, is_complete=True)


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
    if group.is_timed:
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


def _concluded(source: Source, plan: Plan, outcomes: Sequence[Outcome], *, is_complete: bool) -> Reproduction:
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
        is_complete=is_complete,
    )
