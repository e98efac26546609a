"""Made-up results of what a source runs, so that its conclusions can be tried both ways."""

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
    """No progress to show."""


def made_up(plan: Plan, times: Times, **changes: Any) -> list[Outcome]:
    """An outcome for each case that has a time by its label, or by label and rows; verified ones need none.

    Args:
        changes: fields of every result that are otherwise.
    """
    outcomes = []
    for group in plan.groups:
        for case in group.cases:
            n = case.problem.shape.m
            taken = times.get((case.label, n), times.get(case.label))
            if taken is None and group.is_timed:
                continue
            samples = taken if isinstance(taken, list) else [taken]
            outcomes.append(Outcome(case, _result(plan, group, case, samples, changes)))
    return outcomes


def _result(plan: Plan, group: Group, case: Any, samples: list[Any], changes: Mapping[str, Any]) -> Result:
    shape, host = case.problem.shape, case.variant.method.runs_on_host
    whole = case.problem.element.name == "int32"
    made = Result(
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
        verdict=Verdict(True, bit_equal=True if whole or not group.settings.fmad else None),
    )
    return dataclasses.replace(made, **changes)


def with_verdict(outcomes: list[Outcome], label: str, verdict: Verdict) -> list[Outcome]:
    """The outcomes, those of one label judged otherwise."""
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


def verdicts(findings: CourseReport) -> dict[str, bool | None]:
    """What each check says, by its name."""
    named = {check.name: check.holds for check in findings.checks}
    assert len(named) == len(findings.checks), "two checks share a name"
    return named


def check(findings: CourseReport, name: str) -> Conclusion:
    """The check of that name."""
    (found,) = [c for c in findings.checks if c.name == name]
    return found
