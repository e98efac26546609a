"""Made-up results of a course's runs, so that tests can make each of its conclusions hold or fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from cudamm.benchmark.result import Result, Timing
from cudamm.courses.course_records import Conclusion, CourseReport, Group, Outcome, Plan, Setting
from cudamm.devices.device import Ceilings
from cudamm.execution.case import Verdict
from cudamm.kernels.architecture import ARCHITECTURES

Times = Mapping[Any, float | list[float]]

GPU = Setting(
    is_gpu=True,
    device="NVIDIA H200",
    architecture=ARCHITECTURES["sm_90"],
    ceilings=Ceilings(fma_gflops=60_000.0, copy_gbytes_per_s=4_000.0),
)
CPU = Setting(is_gpu=False, device="a processor", architecture=ARCHITECTURES["sm_80"])


def silent(doing: str, done: int, total: int) -> None:
    """Ignore the progress."""


def make_outcomes(plan: Plan, times: Times, **changes: Any) -> list[Outcome]:
    """Return an outcome for each case that has a time, and for each case that is only verified.

    Args:
        times: milliseconds, or one number per sample, by the case's label or by label and number of rows.
        changes: fields to replace in every result.
    """
    outcomes = []
    for group in plan.groups:
        for case in group.cases:
            n = case.problem.shape.m
            duration_ms = times.get((case.label, n), times.get(case.label))
            if duration_ms is None and group.is_timed:
                continue
            samples = duration_ms if isinstance(duration_ms, list) else [duration_ms]
            outcomes.append(Outcome(case, _result(plan, group, case, samples, changes)))
    return outcomes


def _result(plan: Plan, group: Group, case: Any, samples: list[Any], changes: Mapping[str, Any]) -> Result:
    shape, host = case.problem.shape, case.variant.method.runs_on_host
    is_integer = case.problem.element.name == "int32"
    result = Result(
        method=case.variant.method.name,
        params=case.variant.params,
        m=shape.m,
        n=shape.n,
        k=shape.k,
        dtype=case.problem.element.name,
        fmad=group.settings.fmad,
        execution="native" if host else "gpu" if plan.setting.is_gpu else "emulated",
        padded=False,
        status="ok",
        timing=Timing(samples if group.is_timed else [], "hot"),
        verdict=Verdict(True, bit_equal=True if is_integer or not group.settings.fmad else None),
    )
    return dataclasses.replace(result, **changes)


def with_verdict(outcomes: list[Outcome], label: str, verdict: Verdict) -> list[Outcome]:
    """Return the outcomes, with another verdict for the cases of one label."""
    return [
        dataclasses.replace(
            o,
            result=dataclasses.replace(
                o.result,
                verdict=verdict,
                status="ok" if verdict.correct else "failed",
                reason=verdict.reason,
            ),
        )
        if o.case.label == label
        else o
        for o in outcomes
    ]


def holds_by_name(report: CourseReport) -> dict[str, bool | None]:
    """Return whether each conclusion holds, by its name."""
    holds = {conclusion.name: conclusion.holds for conclusion in report.checks}
    assert len(holds) == len(report.checks), "two conclusions share a name"
    return holds


def conclusion_of(report: CourseReport, name: str) -> Conclusion:
    """Return the conclusion with this name."""
    (conclusion,) = [c for c in report.checks if c.name == name]
    return conclusion
