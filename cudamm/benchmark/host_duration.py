"""How long the host's loops would take on a large problem, estimated from a run on a smaller one.

A loop on one processor core can take minutes where a GPU takes milliseconds.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cudamm.errors import KernelError
from cudamm.execution.case import Case
from cudamm.execution.duration_estimate import duration
from cudamm.execution.executor import LocalExecutor, Report
from cudamm.kernels.launch_plan import plan
from cudamm.kernels.problem import Shape

LONGEST_RUN_S = 20.0
"""Estimated duration of one run above which the host's methods are skipped, unless `--max-time` is longer."""

FEW_ROWS = 32
"""Number of rows of A and C of the smaller problem: the loops over rows are the outermost ones."""

WIDE_EDGE = 2048
"""Largest N and K of the smaller problem: the cache would hold smaller matrices, and the loops be faster."""

ESTIMATED_WORK = 1024**3
"""Number of multiplications up to which nothing is estimated, because a run takes seconds."""


@dataclass(frozen=True)
class EstimateDurations:
    """Work for `Executor.carry_out`: estimate how long one run of each case takes."""

    def __call__(
        self, executor: LocalExecutor, cases: Iterable[Case], report: Report
    ) -> Iterator[tuple[int, float]]:
        """Yield the position of each large case, and the estimated duration of one run in seconds."""
        for case in cases:
            if case.problem.shape.work > ESTIMATED_WORK and case.launch is not None:
                report(f"estimating {case.title}")
                duration_s = _estimated_s(executor, case)
                if duration_s is not None:
                    yield case.position, duration_s


def _estimated_s(executor: LocalExecutor, case: Case) -> float | None:
    """Return the duration of one run in seconds; None if the smaller problem cannot be run."""
    problem = case.problem
    shape = problem.shape
    small = Shape(min(shape.m, FEW_ROWS), min(shape.n, WIDE_EDGE), min(shape.k, WIDE_EDGE))
    try:
        launch = plan(case.variant, small, problem.element, problem.scale)
        smaller = dataclasses.replace(case, problem=dataclasses.replace(problem, shape=small), launch=launch)
        batch = executor.sample(smaller, samples=1, launches_per_sample=1, cold=False, check=False)
    except KernelError:
        return None  # measuring the case reports the failure
    return batch.samples_ms[0] / 1e3 * shape.work / small.work


def too_long(shape: Shape, duration_s: float, max_time_s: float) -> str:
    """Return why a run of an estimated duration is skipped; empty if it is not.

    Args:
        duration_s: estimated duration of one run, in seconds.
        max_time_s: duration after which the sampling of a variant ends, in seconds.
    """
    limit_s = max(LONGEST_RUN_S, max_time_s)
    if duration_s <= limit_s:
        return ""
    advice = "choose a smaller size"
    if shape.m == shape.n == shape.k:
        halvings = math.ceil(math.log2(duration_s / limit_s) / 3)
        edge = shape.m >> halvings
        advice = f"-n {edge} takes about {duration(duration_s * (edge / shape.m) ** 3)}"
    allowed_s = math.ceil(duration_s * 1.5)
    return (
        f"one run on the host would take about {duration(duration_s)}; {advice}, "
        f"and --max-time {allowed_s} --timeout {2 * allowed_s} allow this size"
    )
