"""Measure cases of one problem on one device: verify each, warm up, and sample all in turn.

`sampling_policy` contains the rules of sampling, and `early_drop` the rules when a variant is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from cudamm.benchmark.early_drop import OTHER_DEVICE_FACTOR, is_first_launch_too_slow, is_too_slow
from cudamm.benchmark.impossible_rate import impossible_rate
from cudamm.benchmark.result import Cache, Ended, Result, Status, Timing, result_of_case
from cudamm.benchmark.sampling_policy import (
    STAYS_WARM_S,
    WARM_UP_MS,
    Settings,
    WarmUp,
    end_of_sampling,
    first_samples,
    is_one_run_enough,
    is_overhead_negligible,
    launches_per_sample,
    pause_before_retake_s,
    samples_per_turn,
)
from cudamm.benchmark.theoretical_rates import not_below_theoretical
from cudamm.benchmark.verify import verified_in_time
from cudamm.devices.device import Ceilings, Target
from cudamm.devices.gpu_device import GpuTarget
from cudamm.errors import HangError, KernelError, UnfinishedError
from cudamm.execution.case import UNVERIFIED, Case, Verdict
from cudamm.execution.executor import LocalExecutor, Report, SampleBatch

SLOW_ON_HOST = "one run on the host takes longer than --timeout: choose a smaller size or a longer --timeout"
"""Reason why a method of the host is skipped that gave no answer in time."""

KnownMedian = tuple[str, float]
"""A device, and a median in milliseconds that it has measured."""


@dataclass(frozen=True)
class MeasureInTurn:
    """Work for `Executor.carry_out`: measure cases of one problem in turn, because they are compared.

    Attributes:
        known: medians of the problem's earlier results; a variant is also dropped if it is slower than these.
        is_final: whether the cases are the finalists.
    """

    settings: Settings
    known: tuple[KnownMedian, ...] = ()
    is_final: bool = False

    def __call__(self, executor: LocalExecutor, cases: Iterable[Case], report: Report) -> Iterator[Result]:
        """Yield the result of each case when it is complete."""
        return _Benchmark(executor, self, report).run(cases)


def known_medians(results: Iterable[Result]) -> tuple[KnownMedian, ...]:
    """Return the medians of the right variants among results, as `MeasureInTurn` needs them."""
    return tuple(
        (r.device, r.median_ms) for r in results
        if not r.is_yardstick and r.status == "ok" and r.verdict.correct and r.median_ms is not None
    )  # fmt: skip


def is_untimed(case: Case, settings: Settings) -> bool:
    """Return whether a case is only verified, because its time would be that of the emulation."""
    return case.execution == "emulated" and not settings.times


def cache_state(case: Case, settings: Settings) -> Cache:
    """Return the state of the cache before each sample of a case; a host's cache is left as it is."""
    return "hot" if case.on_host else settings.cache


class _Medians:
    """The medians of a problem: known ones, and the current ones of right candidates.

    The best is chosen among current medians: an early sample may have been lucky.
    """

    def __init__(self, known: Iterable[KnownMedian]) -> None:
        self._known = list(known)
        self._by_position: dict[int, KnownMedian] = {}

    def put(self, position: int, device: str, median_ms: float) -> None:
        """Set the median of a candidate."""
        self._by_position[position] = device, median_ms

    def discard(self, position: int) -> None:
        """Remove the median of a candidate."""
        self._by_position.pop(position, None)

    def best_ms(self, device: str) -> float:
        """Return the best median as a device would have it; infinite if there is none."""
        medians = [*self._known, *self._by_position.values()]
        return min(
            (ms if of in ("", device) else OTHER_DEVICE_FACTOR * ms for of, ms in medians),
            default=float("inf"),
        )


@dataclass(eq=False)
class _Candidate:
    """A case that is being measured.

    Attributes:
        device_was_warm: whether the device was warm when the case was verified.
        spent_s: duration of the sampling so far, pauses not counted.
        throttled: number of samples that were taken while the device was throttled.
        retaken: number of samples that were discarded and taken again.
        judged: number of timed launches that were judged.
        judged_whole: whether every element of these was compared.
        pauses: number of pauses because the device was throttled.
    """

    case: Case
    device_was_warm: bool
    verdict: Verdict = UNVERIFIED
    launches_per_sample: int = 1
    samples_ms: list[float] = field(default_factory=list)
    clocks_mhz: list[int] = field(default_factory=list)
    spent_s: float = 0.0
    throttled: int = 0
    throttle_reasons: dict[str, None] = field(default_factory=dict)
    retaken: int = 0
    judged: int = 0
    judged_whole: bool = True
    pauses: int = 0

    @property
    def median_ms(self) -> float:
        return median(self.samples_ms)

    @property
    def expected_ms(self) -> float:
        """Return the expected duration of a launch: the median, or without samples the verified launch's."""
        return self.median_ms if self.samples_ms else self.verdict.launch_ms

    def keep(self, batch: SampleBatch) -> None:
        """Add a batch of samples."""
        self.samples_ms += batch.samples_ms
        self.judged += batch.judged
        self.judged_whole = self.judged_whole and batch.judged_whole
        if batch.clock_mhz is not None:
            self.clocks_mhz.append(batch.clock_mhz)
        if batch.throttle_reasons:
            self.throttled += len(batch.samples_ms)
            self.throttle_reasons |= dict.fromkeys(batch.throttle_reasons)


class _Benchmark:
    """The state of `MeasureInTurn` on one device."""

    def __init__(self, executor: LocalExecutor, work: MeasureInTurn, report: Report) -> None:
        """Begin without candidates."""
        self._executor, self._settings, self._is_final = executor, work.settings, work.is_final
        self._medians = _Medians(work.known)
        self._report = report
        self._best_launch_ms = float("inf")
        self._candidates: list[_Candidate] = []

    def run(self, cases: Iterable[Case]) -> Iterator[Result]:
        """Begin each case as soon as it is compiled; then sample all in turn, the fastest first.

        Yield each result when its case is complete.
        """
        for case in cases:
            candidate = _Candidate(case, device_was_warm=time.monotonic() < self._executor.warm_until)
            self._candidates.append(candidate)
            doing = "verifying" if self._settings.verify else "timing"
            yield from self._advance(candidate, self._begin, doing)
        while self._candidates:
            for candidate in sorted(self._candidates, key=lambda candidate: candidate.expected_ms):
                yield from self._advance(candidate, self._take_turn, "timing")

    def _advance(
        self, candidate: _Candidate, step: Callable[[_Candidate], Ended], doing: str
    ) -> Iterator[Result]:
        """Do one step of a candidate; if it was the last step, yield the result."""
        self._report(f"{'finalist' if self._is_final else doing} {candidate.case.title}")
        try:
            ended = step(candidate)
        except UnfinishedError as error:
            self._medians.discard(candidate.case.position)
            result = self._without_samples(candidate, "skipped", str(error))
        except KernelError as error:
            self._medians.discard(candidate.case.position)
            if isinstance(error, HangError) and candidate.case.execution == "native":
                result = self._without_samples(candidate, "skipped", SLOW_ON_HOST)
            else:
                result = self._without_samples(candidate, "failed", str(error))
        else:
            if is_untimed(candidate.case, self._settings):
                result = self._without_samples(candidate, "ok")
            elif ended:
                result = self._with_samples(candidate, ended)
            else:
                return
        self._candidates.remove(candidate)
        yield result

    # The two kinds of steps. Each returns what ended the sampling; empty if it goes on.

    def _begin(self, candidate: _Candidate) -> Ended:
        """Verify a candidate; sample it if it is the fastest so far.

        A candidate on the host is sampled to the end: variants that take turns there disturb one another.
        """
        case = candidate.case
        if isinstance(case.compiled, KernelError):
            raise case.compiled
        if self._settings.verify:
            candidate.verdict = verified_in_time(self._executor, case, thorough=False)
            if not candidate.verdict.correct:
                raise KernelError(candidate.verdict.reason)
        if is_untimed(case, self._settings):
            return ""
        if case.on_host:
            self._report(f"timing {case.title}")
            return self._sample_to_the_end(candidate)
        if self._is_dropped(candidate):
            return "dropped"
        # Later cases are compared with a sample of the fastest so far, whose product is judged again.
        if self._may_be_dropped(case) and candidate.verdict.launch_ms <= self._best_launch_ms:
            self._best_launch_ms = candidate.verdict.launch_ms
            self._warm_up(candidate)
            self._sample(candidate, 1)
        return ""

    def _take_turn(self, candidate: _Candidate) -> Ended:
        """Sample a candidate for one turn."""
        if self._is_dropped(candidate):
            return "dropped"
        if not candidate.samples_ms:
            self._warm_up(candidate)
            self._sample(candidate, first_samples(self._settings))
        elif not self._ended(candidate):
            self._sample(candidate, self._samples_per_turn(candidate))
        return self._ended(candidate)

    def _sample_to_the_end(self, candidate: _Candidate) -> Ended:
        launch_ms = candidate.verdict.launch_ms
        if is_one_run_enough(self._settings, launch_ms):
            candidate.samples_ms = [launch_ms]
            self._update_best(candidate)
            return "time"
        self._warm_up(candidate)
        self._sample(candidate, 1)
        while not (ended := self._ended(candidate)):
            self._sample(candidate, self._samples_per_turn(candidate))
            if self._is_dropped(candidate):
                return "dropped"
        return ended

    # Parts of the steps.

    def _warm_up(self, candidate: _Candidate) -> None:
        """Launch until the device has raised its clocks; then decide how many launches share a hot sample."""
        case = candidate.case
        missing_ms = WARM_UP_MS
        if case.on_host:
            missing_ms -= candidate.verdict.launch_ms  # verifying has warmed the host up
        elif time.monotonic() < self._executor.warm_until:
            missing_ms = 0.0
        warm_up = WarmUp(self._settings.warmup, missing_ms)
        while warm_up.next_batch:
            warm_up = warm_up.after(self._launch_ms(case, warm_up.next_batch))
        if self._settings.cache == "hot" and not case.on_host:
            candidate.launches_per_sample = self._launches_per_sample(candidate)
        self._executor.warm_until = time.monotonic() + STAYS_WARM_S

    def _launch_ms(self, case: Case, launches: int) -> float:
        """Return the mean duration of launches whose products are not judged."""
        batch = self._executor.sample(case, samples=1, launches_per_sample=launches, cold=False, check=False)
        return batch.samples_ms[0]

    def _launches_per_sample(self, candidate: _Candidate) -> int:
        floor_ms = self._executor.facts().event_floor_ms
        if candidate.case.variant.method.adds_to_zeros:
            return 1  # the next launch would add to the sum of this one
        if floor_ms is None or is_overhead_negligible(candidate.verdict.launch_ms, floor_ms):
            return 1
        return launches_per_sample(self._launch_ms(candidate.case, 1), floor_ms)

    def _samples_per_turn(self, candidate: _Candidate) -> int:
        sample_ms = candidate.median_ms * candidate.launches_per_sample
        return samples_per_turn(self._settings, len(candidate.samples_ms), sample_ms)

    def _sample(self, candidate: _Candidate, samples: int) -> None:
        """Take samples; if the device was throttled during them, pause and take them again."""
        begun, paused_s = time.monotonic(), 0.0
        while True:
            batch = self._executor.sample(
                candidate.case,
                samples=samples,
                launches_per_sample=candidate.launches_per_sample,
                cold=cache_state(candidate.case, self._settings) == "cold",
                check=self._settings.verify,
            )
            pause_s = pause_before_retake_s(candidate.pauses) if batch.throttle_reasons else None
            if pause_s is None:
                break
            time.sleep(pause_s)
            paused_s += pause_s
            candidate.pauses += 1
            candidate.retaken += samples
        candidate.keep(batch)
        candidate.spent_s += time.monotonic() - begun - paused_s
        self._executor.warm_until = time.monotonic() + STAYS_WARM_S
        self._update_best(candidate)

    def _update_best(self, candidate: _Candidate) -> None:
        """Record a candidate's median for comparisons, if its product is right and its rate is possible."""
        if not (self._may_be_dropped(candidate.case) and candidate.verdict.correct):
            return
        if self._impossible(candidate):
            self._medians.discard(candidate.case.position)
        else:
            self._medians.put(candidate.case.position, self._device(candidate.case), candidate.median_ms)

    def _ended(self, candidate: _Candidate) -> Ended:
        return end_of_sampling(self._settings, candidate.samples_ms, candidate.spent_s)

    def _may_be_dropped(self, case: Case) -> bool:
        """Return whether a case can be dropped or be the best of a sweep; cuBLAS can be neither."""
        return self._settings.drop and not case.is_yardstick

    def _is_dropped(self, candidate: _Candidate) -> bool:
        if not self._may_be_dropped(candidate.case):
            return False
        best_ms = self._medians.best_ms(self._device(candidate.case))
        if candidate.samples_ms:
            return is_too_slow(candidate.samples_ms, best_ms, on_host=candidate.case.on_host)
        return is_first_launch_too_slow(
            candidate.verdict.launch_ms, best_ms, device_was_warm=candidate.device_was_warm
        )

    # Results.

    def _device(self, case: Case) -> str:
        """Return the name of the device that runs a case; empty if nothing was launched."""
        if isinstance(case.compiled, KernelError):
            return ""
        return "cpu" if case.on_host else self._executor.target.info.spec

    def _ceilings(self, case: Case) -> Ceilings | None:
        """Return the ceilings of the GPU that runs a case; None if they are unknown or no GPU runs it."""
        return self._executor.facts().ceilings if case.execution == "gpu" else None

    def _impossible(self, candidate: _Candidate) -> str:
        """Return why the device cannot be as fast as a candidate's median; empty if it can."""
        case, ceilings = candidate.case, self._ceilings(candidate.case)
        if ceilings is None:
            return ""
        target: Target[Any] = self._executor.target
        if isinstance(target, GpuTarget):
            ceilings = not_below_theoretical(ceilings, target)
        is_cold = cache_state(case, self._settings) == "cold"
        return impossible_rate(case, candidate.median_ms, ceilings, is_cold=is_cold)

    def _without_samples(self, candidate: _Candidate, status: Status, reason: str = "") -> Result:
        timing = Timing([], cache_state(candidate.case, self._settings))
        return self._result(candidate, status, reason, timing)

    def _result(self, candidate: _Candidate, status: Status, reason: str, timing: Timing) -> Result:
        case = candidate.case
        device = self._device(case)
        return result_of_case(
            case, status, reason, timing, candidate.verdict, device, is_final=self._is_final
        )

    def _with_samples(self, candidate: _Candidate, ended: Ended) -> Result:
        case = candidate.case
        status: Status = "ok"
        if ended == "dropped":
            status = "dropped"
            self._medians.discard(case.position)
            candidate.samples_ms = candidate.samples_ms or [candidate.verdict.launch_ms]
        impossible = self._impossible(candidate)
        facts = None if case.on_host else self._executor.facts()
        ceilings = self._ceilings(case) if case.problem.element.name == "float32" else None
        timing = Timing(
            samples_ms=candidate.samples_ms,
            cache=cache_state(case, self._settings),
            launches_per_sample=candidate.launches_per_sample,
            ended_by=ended,
            clock_mhz=median(candidate.clocks_mhz) if candidate.clocks_mhz else None,
            throttled=candidate.throttled,
            throttle_reasons=tuple(candidate.throttle_reasons),
            retaken=candidate.retaken,
            judged_launches=candidate.judged,
            judged_whole=candidate.judged_whole,
            event_floor_ms=facts.event_floor_ms if facts else None,
            fma_ceiling_gflops=ceilings.fma_gflops if ceilings else None,
        )
        return self._result(candidate, "failed" if impossible else status, impossible, timing)
