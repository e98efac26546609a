"""How long does it take? Verify, warm up, time each launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cudamm.catalog.variant import Variant
from cudamm.devices import Device, Run
from cudamm.errors import KernelError
from cudamm.prepare import Prepared, Progress, prepare
from cudamm.problem import Problem
from cudamm.results import UNVERIFIED, Result
from cudamm.verify import verify

WARM_UP_MS = 100.0
"""Of launches before the first timed one: enough for an idle GPU to raise its clocks."""


@dataclass(frozen=True)
class Settings:
    """How to measure.

    Attributes:
        runs: timed launches a variant.
        warmup: launches before them; None: until 100 ms have been spent, at least one.
        verify: whether to verify a variant before timing it.
    """

    fmad: bool = True
    runs: int = 5
    warmup: int | None = None
    verify: bool = True


def bench(
    device: Device[Any], cases: Sequence[tuple[Variant, Problem]], settings: Settings, progress: Progress
) -> Iterator[Result]:
    """Measure each case, one result as soon as it is there.

    Raises:
        UsageError, NoDeviceError: before anything is launched, where the request is impossible.
    """
    prepared = prepare(device, cases, settings.fmad, progress)
    for done, case in enumerate(prepared):
        progress(f"{case.variant} at {case.problem.shape}", done, len(prepared))
        yield _measure(case, settings)


def _measure(case: Prepared, settings: Settings) -> Result:
    if case.skipped:
        return case.result("skipped", case.skipped)
    verdict = UNVERIFIED
    try:
        with case.open() as run:
            if settings.verify:
                verdict = verify(run, case.problem, case.variant, fmad=settings.fmad, thread_order=False)
                if not verdict.correct:
                    return case.result("failed", verdict.reason, verdict=verdict)
            _warm_up(run, settings.warmup)
            runs_ms = [run.launch() for _ in range(settings.runs)]
    except KernelError as error:
        return case.result("failed", str(error), verdict=verdict)
    return case.result("ok", runs_ms=runs_ms, verdict=verdict)


def _warm_up(run: Run, launches: int | None) -> None:
    if launches is not None:
        for _ in range(launches):
            run.launch()
        return
    spent_ms = 0.0
    while spent_ms < WARM_UP_MS:
        # What an event pair around a tiny kernel reads must not make this endless.
        spent_ms += max(run.launch(), 0.01)
