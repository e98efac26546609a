"""How long does it take? Verify, warm up, time each launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cudamm.catalog.variant import Variant
from cudamm.devices import Device, Run
from cudamm.errors import KernelError
from cudamm.prepare import Prepared, Progress, in_turn, prepare
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
    for case in in_turn(prepare(device, cases, settings.fmad, progress), progress):
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
            # What verifying took has warmed the host up, but a GPU has had time to slow down since.
            native = case.execution != "gpu"
            _warm_up(run, settings.warmup, spent_ms=verdict.launch_ms if native else 0.0)
            runs_ms = [run.launch() for _ in range(settings.runs)]
    except KernelError as error:
        return case.result("failed", str(error), verdict=verdict)
    return case.result("ok", runs_ms=runs_ms, verdict=verdict)


def _warm_up(run: Run, launches: int | None, spent_ms: float) -> None:
    if launches is not None:
        for _ in range(launches):
            run.launch()
        return
    while spent_ms < WARM_UP_MS:
        spent_ms += max(run.launch(), 0.01)  # a reading of 0 must not make this endless
