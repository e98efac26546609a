"""How long does it take? Verify, then sample until the median can be trusted, all variants in turn."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from cudamm.benchmark.result import Cache, Ended, Result, Status, Timing, result_of_case
from cudamm.benchmark.sample_statistics import statistics_of
from cudamm.errors import KernelError
from cudamm.execution.case import UNVERIFIED, Case, Verdict
from cudamm.execution.executor import Batch, Executor, Facts
from cudamm.execution.prepare import Progress, compiled_as_ready, plan_all
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant

WARM_UP_MS = 100.0
"""Of launches before the first timed one: enough for an idle GPU to raise its clocks."""

FEWEST_SAMPLES = 10
FEWEST_SLOW_SAMPLES = 3
"""Of a variant a single launch of which takes longer than all its samples should."""

TURN_MS = 50.0
"""Of samples of one variant before the next has its turn, so that a drift hits all alike."""

MOST_SAMPLES_A_TURN = 20

FLOOR_SHARE = 0.001
"""Of a hot sample that the event pair itself may be: so many launches share one."""

MOST_LAUNCHES = 200
"""That share a sample: what the driver queues while the stream is held."""

DROP_FACTOR = 1.25
"""A sweep drops what takes that much longer than its best: far beyond what one sample is off by."""

SURE_SAMPLES = 3
SURE_FACTOR = 1.05
"""And what has taken turns with the best for so many samples, even the fastest of them that much slower."""

FIRST_LAUNCH_MS = 0.1
IDLE_LAUNCH_FACTOR = 2.0
"""What a first launch takes longer than others, at the most: time of the host's (20 µs were seen), and low
clocks where the device was idle."""

MOST_PAUSES = 6
FIRST_PAUSE_S = 0.1
"""While the device is throttled, doubled each time: six seconds a variant at most."""

ARITHMETIC_TOLERANCE = 1.05
TRAFFIC_TOLERANCE = 1.25
"""How far a result may be above a measured ceiling: the ceilings' own error, and reads without writes."""


@dataclass(frozen=True)
class Settings:
    """How to measure.

    Attributes:
        runs: samples a variant; None: until its median is stable.
        warmup: launches before them; None: until 100 ms have been spent, where the device was idle.
        verify: whether to verify a variant before timing it.
        cache: whether the L2 cache holds nothing of the matrices before each sample (`cold`).
        max_noise: relative; sampling ends when the noise or the median's standard error is below it.
        max_time_s: of samples a variant.
        drop: give up what is clearly slower than the best so far.
        each_may_fail: make a failed row of a launch that the device cannot make, as in a sweep.
    """

    fmad: bool = True
    runs: int | None = None
    warmup: int | None = None
    verify: bool = True
    cache: Cache = "cold"
    max_noise: float = 0.005
    max_time_s: float = 2.0
    drop: bool = False
    each_may_fail: bool = False


def bench(
    executor: Executor,
    cases: Sequence[tuple[Variant, Problem]],
    settings: Settings,
    progress: Progress,
    positions: Sequence[int] | None = None,
    kept: Sequence[Result] = (),
) -> Iterator[Result]:
    """Measure each case, one result as soon as it is there; results know their position.

    Each variant of a problem is verified as soon as it is compiled, and the fastest yet sampled once; then
    those left take turns until each is stable.

    Args:
        positions: of the cases, where they are some of many.
        kept: the results of others, from an earlier run, against the best of which these are held too.

    Raises:
        UsageError, NoDeviceError: before anything is launched, where the request is impossible.
    """
    planned = plan_all(
        executor, cases, settings.fmad, positions,
        each_may_fail=settings.each_may_fail, all_may_be_skipped=bool(kept),
    )  # fmt: skip
    waiting: dict[Problem, list[Case]] = {case.problem: [] for case in planned}
    ready = compiled_as_ready(planned, progress)
    finished = 0

    def counted(result: Result) -> Result:
        nonlocal finished
        finished += 1
        return result

    def told(case: Case) -> None:
        shape, element = case.problem.shape, case.problem.element.name
        progress(f"{case.variant} at {shape} {element}", finished, len(planned))

    for problem in list(waiting):
        contest = _Contest(executor, settings, _best_ms(problem, kept))
        for case in _of(problem, waiting, ready):
            told(case)
            result = contest.enter(case)
            if result is not None:
                yield counted(result)
        while contest.entrants:
            for entrant in sorted(contest.entrants, key=_Entrant.standing):
                told(entrant.case)
                result = contest.turn(entrant)
                if result is not None:
                    yield counted(result)
        executor.release()


def _of(problem: Problem, waiting: dict[Problem, list[Case]], ready: Iterator[Case]) -> Iterator[Case]:
    """The cases of a problem, as they become ready; those of others wait for their turn."""
    yield from waiting.pop(problem)
    for case in ready:
        if case.problem == problem:
            yield case
        else:
            waiting[case.problem].append(case)


def _best_ms(problem: Problem, results: Sequence[Result]) -> float:
    """The best of a problem's results; infinite where there is none that is right."""
    of = problem.shape.m, problem.shape.n, problem.shape.k, problem.element.name
    theirs = [r for r in results if not r.is_yardstick and (r.m, r.n, r.k, r.dtype) == of]
    medians_ms = [r.median_ms for r in theirs if r.status == "ok" and r.verdict.correct
                  and r.median_ms is not None]  # fmt: skip
    return min(medians_ms, default=float("inf"))


def _fma_ceiling_gflops(case: Case, facts: Facts | None) -> float | None:
    """That of the device which runs a case, in its own type: float32's is measured."""
    if facts is None or facts.ceilings is None or case.execution != "gpu":
        return None
    return facts.ceilings.fma_gflops if case.problem.element.name == "float32" else None


@dataclass
class _Entrant:
    """A verified variant on its way to a result."""

    case: Case
    verdict: Verdict
    was_warm: bool
    launches: int = 1
    samples_ms: list[float] = field(default_factory=list)
    clocks_mhz: list[int] = field(default_factory=list)
    spent_s: float = 0.0
    throttled: int = 0
    throttle_reasons: dict[str, None] = field(default_factory=dict)
    retaken: int = 0
    pauses: int = 0

    @property
    def median_ms(self) -> float:
        return median(self.samples_ms)

    def standing(self) -> float:
        """Among others: the best comes first."""
        return self.median_ms if self.samples_ms else self.verdict.launch_ms


class _Contest:
    """The variants of one problem, which are compared and therefore take turns."""

    def __init__(self, executor: Executor, settings: Settings, kept_ms: float) -> None:
        """`kept_ms`: the best that is known without them."""
        self._executor = executor
        self._settings = settings
        self._kept_ms = kept_ms
        self._warm_until = 0.0
        self._best_launch_ms = float("inf")
        # Of those verified and still in it, as they are now: an early sample may have been lucky.
        self._medians_ms: dict[int, float] = {}
        self.entrants: list[_Entrant] = []

    @property
    def _best_ms(self) -> float:
        return min((self._kept_ms, *self._medians_ms.values()))

    def enter(self, case: Case) -> Result | None:
        """Verify a case, and sample the fastest yet; a result where that is the end of it."""
        if case.skipped:
            return self._without_times(case, "skipped", case.skipped)
        verdict, was_warm = UNVERIFIED, time.monotonic() < self._warm_until
        try:
            if isinstance(case.compiled, KernelError):
                raise case.compiled
            if self._settings.verify:
                verdict = self._executor.verify(case, thread_order=False)
                if not verdict.correct:
                    return self._without_times(case, "failed", verdict.reason, verdict)
            entrant = _Entrant(case, verdict, was_warm)
            if case.on_host:
                return self._to_the_end(entrant)
            if self._is_far_behind(entrant):
                return self._finish(entrant, "dropped")
            # What others are held against is what was right when it was timed too.
            if self._drops(case) and verdict.launch_ms <= self._best_launch_ms:
                self._best_launch_ms = verdict.launch_ms
                self._begin(entrant, 1)
        except KernelError as error:
            return self._without_times(case, "failed", str(error), verdict)
        self.entrants.append(entrant)
        return None

    def turn(self, entrant: _Entrant) -> Result | None:
        """Sample a variant for a while; its result where that was enough."""
        if self._is_far_behind(entrant) or self._is_hopeless(entrant):
            self.entrants.remove(entrant)
            return self._finish(entrant, "dropped")
        try:
            if not entrant.samples_ms:
                self._begin(entrant, SURE_SAMPLES if self._settings.drop else 1)
            elif not self._ended(entrant):
                self._take(entrant, self._samples_wanted(entrant))
        except KernelError as error:
            self.entrants.remove(entrant)
            self._medians_ms.pop(entrant.case.position, None)
            return self._without_times(entrant.case, "failed", str(error), entrant.verdict)
        ended = self._ended(entrant)
        if ended:
            self.entrants.remove(entrant)
            return self._finish(entrant, ended)
        return None

    def _drops(self, case: Case) -> bool:
        """Whether a case is one of those of which the slow are dropped, and the best says which are slow."""
        return self._settings.drop and not case.is_yardstick

    def _begin(self, entrant: _Entrant, samples: int) -> None:
        """Take the first samples."""
        self._warm_up(entrant)
        self._take(entrant, min(samples, self._settings.runs or samples))

    def _to_the_end(self, entrant: _Entrant) -> Result:
        """On the host nothing takes turns: kernels' processes would be in one another's way."""
        self._begin(entrant, 1)
        while not (ended := self._ended(entrant)):
            self._take(entrant, self._samples_wanted(entrant))
            if self._is_hopeless(entrant):
                return self._finish(entrant, "dropped")
        return self._finish(entrant, ended)

    def _warm_up(self, entrant: _Entrant) -> None:
        """Launch until the device's clocks are up, and a hot sample's launches can be counted."""
        case, settings = entrant.case, self._settings
        spent_ms, launches, at_once = 0.0, 0, 1
        # What verifying took has warmed the host up. A GPU is warm as long as it is kept busy.
        wanted_ms = WARM_UP_MS
        if case.on_host:
            spent_ms = entrant.verdict.launch_ms
        elif time.monotonic() < self._warm_until:
            wanted_ms = 0.0
        while spent_ms < wanted_ms if settings.warmup is None else launches < settings.warmup:
            (took_ms,) = self._executor.sample(case, 1, at_once, False, False).samples_ms
            took_ms = max(took_ms, 0.01)  # a reading of 0 must not make this endless
            spent_ms += at_once * took_ms
            launches += at_once
            # Asking for one at a time takes longer than a short one does; of long ones several may look like
            # a kernel that hangs.
            missing = (
                (wanted_ms - spent_ms) / took_ms if settings.warmup is None else settings.warmup - launches
            )
            at_once = max(1, min(2 * at_once, MOST_LAUNCHES, math.ceil(missing), int(WARM_UP_MS / took_ms)))
        if settings.cache == "hot" and not case.on_host:
            self._count_launches(entrant)
        self._warm_until = time.monotonic() + 2 * WARM_UP_MS / 1e3

    def _count_launches(self, entrant: _Entrant) -> None:
        """As many as share a sample, so that the event pair counts for little."""
        floor_ms = self._executor.facts().event_floor_ms
        if floor_ms is None:
            return
        alone_ms = entrant.verdict.launch_ms
        if not alone_ms or alone_ms * FLOOR_SHARE < floor_ms:
            (alone_ms,) = self._executor.sample(entrant.case, 1, 1, False, False).samples_ms
        alone_ms = max(alone_ms - floor_ms, 0.001)
        entrant.launches = min(MOST_LAUNCHES, max(1, round(floor_ms / FLOOR_SHARE / alone_ms)))

    def _take(self, entrant: _Entrant, samples: int) -> None:
        """Take samples; again after a pause, where the device was throttled meanwhile."""
        begun, paused_s = time.monotonic(), 0.0
        cold = self._cache(entrant.case) == "cold"
        check = self._settings.verify
        while True:
            batch = self._executor.sample(entrant.case, samples, entrant.launches, cold, check)
            if not batch.throttle_reasons or entrant.pauses >= MOST_PAUSES:
                break
            entrant.retaken += samples
            pause_s = FIRST_PAUSE_S * 2**entrant.pauses
            time.sleep(pause_s)
            paused_s += pause_s
            entrant.pauses += 1
        self._keep(entrant, batch)
        entrant.spent_s += time.monotonic() - begun - paused_s
        self._warm_until = time.monotonic() + 2 * WARM_UP_MS / 1e3

    def _keep(self, entrant: _Entrant, batch: Batch) -> None:
        entrant.samples_ms += batch.samples_ms
        if batch.clock_mhz is not None:
            entrant.clocks_mhz.append(batch.clock_mhz)
        if batch.throttle_reasons:
            entrant.throttled += len(batch.samples_ms)
            entrant.throttle_reasons |= dict.fromkeys(batch.throttle_reasons)
        if self._drops(entrant.case) and entrant.verdict.correct:
            self._medians_ms[entrant.case.position] = entrant.median_ms
            if self._impossible(entrant.case, self._result(entrant, "")):
                del self._medians_ms[entrant.case.position]

    def _samples_wanted(self, entrant: _Entrant) -> int:
        """For one turn: as many as fit into it, and no more than are asked for."""
        taken = len(entrant.samples_ms)
        most = MOST_SAMPLES_A_TURN if self._settings.runs is None else self._settings.runs - taken
        fitting = int(TURN_MS / max(entrant.median_ms * entrant.launches, 0.001))
        next_look = SURE_SAMPLES if self._settings.drop and taken < SURE_SAMPLES else FEWEST_SAMPLES
        missing = next_look - taken if taken < next_look else MOST_SAMPLES_A_TURN
        return max(1, min(fitting, missing, most, MOST_SAMPLES_A_TURN))

    def _ended(self, entrant: _Entrant) -> Ended:
        """What ends the sampling now; empty where nothing does."""
        settings, taken = self._settings, len(entrant.samples_ms)
        if settings.runs is not None:
            return "runs" if taken >= settings.runs else ""
        if not taken:
            return ""
        slow = entrant.median_ms > 1e3 * settings.max_time_s
        if taken < (FEWEST_SLOW_SAMPLES if slow else FEWEST_SAMPLES):
            return ""
        of = statistics_of(entrant.samples_ms)
        if min(of.noise, of.median_error) < settings.max_noise:
            return "noise"
        return "time" if entrant.spent_s >= settings.max_time_s else ""

    def _is_far_behind(self, entrant: _Entrant) -> bool:
        """Whether even the launch that was verified, which was the first, says that it is too slow."""
        if not self._drops(entrant.case) or entrant.samples_ms:
            return False
        best_ms = self._best_ms if entrant.was_warm else IDLE_LAUNCH_FACTOR * self._best_ms
        return entrant.verdict.launch_ms > DROP_FACTOR * best_ms + FIRST_LAUNCH_MS

    def _is_hopeless(self, entrant: _Entrant) -> bool:
        # A host's times vary by much more than a GPU's, and are not taken in turn: one sample says little.
        on_host, taken = entrant.case.on_host, len(entrant.samples_ms)
        if not self._drops(entrant.case) or taken < (FEWEST_SLOW_SAMPLES if on_host else 1):
            return False
        if not on_host and taken >= SURE_SAMPLES:
            return min(entrant.samples_ms) > SURE_FACTOR * self._best_ms
        return entrant.median_ms > DROP_FACTOR * self._best_ms

    def _finish(self, entrant: _Entrant, ended: Ended) -> Result:
        if ended == "dropped":
            self._medians_ms.pop(entrant.case.position, None)
            if not entrant.samples_ms:
                entrant.samples_ms.append(entrant.verdict.launch_ms)
        result = self._result(entrant, ended)
        impossible = self._impossible(entrant.case, result)
        return dataclasses.replace(result, status="failed", reason=impossible) if impossible else result

    def _without_times(
        self, case: Case, status: Status, reason: str, verdict: Verdict = UNVERIFIED
    ) -> Result:
        return result_of_case(case, status, reason, Timing([], self._cache(case)), verdict)

    def _cache(self, case: Case) -> Cache:
        return "hot" if case.on_host else self._settings.cache

    def _result(self, entrant: _Entrant, ended: Ended) -> Result:
        case = entrant.case
        facts = None if case.on_host else self._executor.facts()
        timing = Timing(
            samples_ms=entrant.samples_ms,
            cache=self._cache(case),
            launches_per_sample=entrant.launches,
            ended_by=ended,
            clock_mhz=median(entrant.clocks_mhz) if entrant.clocks_mhz else None,
            throttled=entrant.throttled,
            throttle_reasons=tuple(entrant.throttle_reasons),
            retaken=entrant.retaken,
            event_floor_ms=facts.event_floor_ms if facts else None,
            fma_ceiling_gflops=_fma_ceiling_gflops(case, facts),
        )
        status: Status = "dropped" if ended == "dropped" else "ok"
        return result_of_case(case, status, timing=timing, verdict=entrant.verdict)

    def _impossible(self, case: Case, result: Result) -> str:
        """Why no device can be that fast; empty where this one can.

        Cold, A and B have to be read from device memory at least once; C may stay in the cache.
        """
        ceilings = None if result.execution != "gpu" else self._executor.facts().ceilings
        if ceilings is None or result.median_ms is None or result.gflops is None:
            return ""
        ceiling = case.variant.method.ceiling
        allowed_gflops = float(ceiling) * ceilings.fma_gflops
        if result.gflops > ARITHMETIC_TOLERANCE * allowed_gflops:
            alone = "fused multiply-adds alone" if ceiling == 1 else "the units that its header names"
            return (
                f"impossible: {result.gflops:,.0f} GFLOP/s, where {alone} reach "
                f"{allowed_gflops:,.0f} on this device: it did not compute what it should have"
            )
        element_bytes = 8 if result.dtype == "float64" else 4
        read_bytes = (result.m * result.k + result.k * result.n) * element_bytes
        rate = read_bytes / result.median_ms / 1e6
        if result.timing.cache == "cold" and rate > TRAFFIC_TOLERANCE * ceilings.copy_gbytes_per_s:
            return (
                f"impossible: A and B were read at {rate:,.0f} GB/s, where a copy reaches "
                f"{ceilings.copy_gbytes_per_s:,.0f} on this device"
            )
        return ""
