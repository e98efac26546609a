"""The rules which variants of a sweep on several devices are measured again, in turn, on one of them.

Two GPUs of one kind differ, so times from different GPUs choose the finalists and never the best.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from cudamm.benchmark.result import Result
from cudamm.kernels.problem import Problem

ProblemKey = tuple[int, int, int, str, str]
"""M, N, K, element type and kind of inputs."""


def problem_of(result: Result) -> ProblemKey:
    """Return the problem of a result."""
    return result.m, result.n, result.k, result.dtype, result.inputs


def key_of(problem: Problem) -> ProblemKey:
    """Return the same for a problem."""
    shape = problem.shape
    return shape.m, shape.n, shape.k, problem.element.name, problem.input_kind


def finalists(results: Iterable[Result], most: int) -> list[Result]:
    """Return the results of a problem that have to be measured again on one device, the fastest first.

    Those are the fastest `most` variants and the yardsticks; none if a single GPU measured everything.
    """
    complete = [r for r in results if r.execution == "gpu" and r.status == "ok" and r.median_ms is not None]
    if len({r.device for r in complete} - {""}) < 2:
        return []
    return _fastest(complete, most)


def to_measure_again(
    kept: Collection[Result], unmeasured: Collection[ProblemKey], devices: Collection[str], most: int
) -> set[int]:
    """Return the positions of an earlier run's results that a resumed run has to measure again.

    If results of a problem come from several GPUs, the finalists of all of them have to take turns.

    Args:
        unmeasured: the problems of which the resumed run measures further variants.
        devices: the devices of the resumed run.
        most: number of finalists; 0 if there is no final measurement.
    """
    again: set[int] = set()
    for problem in {problem_of(result) for result in kept} if most else ():
        results = [r for r in kept if problem_of(r) == problem and r.execution == "gpu" and r.status == "ok"]
        measured_on = {r.device for r in results} - {""}
        if problem in unmeasured:
            measured_on |= set(devices)
        elif any(r.is_final for r in results):
            continue
        if len(measured_on) > 1:
            again |= {r.position for r in (*_fastest(results, most), *(r for r in results if r.is_final))}
    return again


def _fastest(results: Iterable[Result], most: int) -> list[Result]:
    """Return the fastest `most` results and the yardsticks, the fastest first."""
    ordered = sorted(results, key=lambda r: (r.median_ms or 0.0, r.position))
    chosen = [r.position for r in ordered if not r.is_yardstick][:most]
    return [r for r in ordered if r.is_yardstick or r.position in chosen]
