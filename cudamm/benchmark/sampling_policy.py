"""The rules of sampling: warm-up, launches per sample, when sampling ends, samples per turn, retakes.

Each rule is a function of plain numbers and stands below the constants that it uses. `measure_in_turn`
applies the rules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from cudamm.benchmark.early_drop import SURE_SAMPLES
from cudamm.benchmark.result import Cache, Ended
from cudamm.benchmark.sample_statistics import statistics_of


@dataclass(frozen=True)
class Settings:
    """The settings of a measurement.

    Attributes:
        fmad: compile with fused multiply-add.
        runs: number of samples per variant; None to sample until the median is stable.
        warmup: number of launches before the first sample; None for `WARM_UP_MS` of launches if the device
            was idle.
        verify: verify each variant before timing it.
        cache: state of the L2 cache before each sample; if `cold`, it contains nothing of the matrices.
        max_noise: sampling ends when the noise or the median's relative standard error is below this.
        max_time_s: duration after which the sampling of a variant ends, in seconds.
        drop: stop sampling variants that are clearly slower than the best so far.
        each_may_fail: report a launch that the device cannot make as a failed result, as in a sweep; if
            false, refuse the request.
        times: take samples of emulated kernels too, which otherwise are only verified.
        keep_matrices: leave the matrices of the last problem allocated; the caller releases them.
        shares_variants: on several devices, share the variants of each problem among them. If false, share
            the problems, each with all its variants.
        finalists: number of variants of each problem, the fastest ones, that are measured again on one device
            if several devices have measured the problem's variants. 0: none.
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
    times: bool = True
    keep_matrices: bool = False
    shares_variants: bool = False
    finalists: int = 0


# Warm-up.

WARM_UP_MS = 100.0
"""Warm-up before the first sample, in milliseconds of launches, in which an idle GPU raises its clocks."""

STAYS_WARM_S = 2 * WARM_UP_MS / 1e3
"""Time after the last launch until a GPU counts as idle again, in seconds."""

SHORTEST_LAUNCH_MS = 0.01
"""Minimum duration that a warm-up counts for a launch, in milliseconds; 0 would make it endless."""

MOST_LAUNCHES = 200
"""Maximum number of launches in one sample: the driver queues no more while the stream is held."""


@dataclass(frozen=True)
class WarmUp:
    """The state of a warm-up.

    Attributes:
        missing_launches: number of launches still to make; None if their total duration decides.
        missing_ms: total duration of the launches still to make, if the duration decides.
        launch_ms: duration of one launch in the last batch; before the first batch, the longest expected.
        batch: number of launches in the last batch.
    """

    missing_launches: int | None
    missing_ms: float
    launch_ms: float = WARM_UP_MS
    batch: int = 0

    @property
    def next_batch(self) -> int:
        """Return the number of launches to request next; 0 if the warm-up is over.

        Batches grow, because a request takes longer than a short launch. A batch of long launches stays
        small, because it could exceed `--timeout` and look like a kernel that hangs.
        """
        missing = self.missing_launches
        if missing is None:
            missing = math.ceil(self.missing_ms / self.launch_ms)
        if missing <= 0:
            return 0
        longest = max(1, int(WARM_UP_MS / self.launch_ms))
        return min(missing, max(1, 2 * self.batch), longest, MOST_LAUNCHES)

    def after(self, launch_ms: float) -> WarmUp:
        """Return the warm-up after its next batch, whose launches took `launch_ms` each."""
        batch, launch_ms = self.next_batch, max(launch_ms, SHORTEST_LAUNCH_MS)
        missing_launches = None if self.missing_launches is None else self.missing_launches - batch
        return WarmUp(missing_launches, self.missing_ms - batch * launch_ms, launch_ms, batch)


# Launches per sample.

FLOOR_SHARE = 0.001
"""Maximum share of the event overhead in a hot sample; short launches share a sample to stay below this."""


def is_overhead_negligible(launch_ms: float, floor_ms: float) -> bool:
    """Return whether one launch takes so long that the event overhead does not matter."""
    return floor_ms <= FLOOR_SHARE * launch_ms


def launches_per_sample(launch_ms: float, floor_ms: float) -> int:
    """Return the number of launches that share a hot sample.

    Args:
        launch_ms: duration of a launch that was timed alone.
        floor_ms: the event overhead: the time between two events around an empty kernel.
    """
    net_ms = max(launch_ms - floor_ms, 0.001)
    return min(MOST_LAUNCHES, max(1, round(floor_ms / FLOOR_SHARE / net_ms)))


# When sampling ends.

FEWEST_SAMPLES = 10
"""Minimum number of samples."""

FEWEST_SLOW_SAMPLES = 3
"""Minimum number of samples of a variant whose median exceeds `max_time_s`."""

LONG_HOST_RUN_MS = 2000.0
"""Duration above which one run of a method on the host is one sample, in milliseconds."""


def end_of_sampling(settings: Settings, samples_ms: Sequence[float], spent_s: float) -> Ended:
    """Return why the sampling of a variant ends now; empty if it goes on.

    Args:
        spent_s: duration of the sampling so far, pauses not counted.
    """
    if settings.runs is not None:
        return "runs" if len(samples_ms) >= settings.runs else ""
    if not samples_ms:
        return ""
    is_slow = median(samples_ms) > 1e3 * settings.max_time_s
    if len(samples_ms) < (FEWEST_SLOW_SAMPLES if is_slow else FEWEST_SAMPLES):
        return ""
    statistics = statistics_of(samples_ms)
    if min(statistics.noise, statistics.median_error) < settings.max_noise:
        return "noise"
    return "time" if spent_s >= settings.max_time_s else ""


def is_one_run_enough(settings: Settings, launch_ms: float) -> bool:
    """Return whether the verified run of a method on the host is its only sample, because it took so long."""
    return settings.runs is None and launch_ms > max(1e3 * settings.max_time_s, LONG_HOST_RUN_MS)


# Samples per turn.

TURN_MS = 50.0
"""Duration of a variant's turn, in milliseconds: short, so that a drift of the clock affects all alike."""

MOST_SAMPLES_PER_TURN = 20


def first_samples(settings: Settings) -> int:
    """Return the number of samples to take of a variant in its first turn."""
    samples = SURE_SAMPLES if settings.drop else 1
    return min(samples, settings.runs or samples)


def samples_per_turn(settings: Settings, taken: int, sample_ms: float) -> int:
    """Return the number of samples to take of a variant in a later turn.

    Args:
        taken: number of samples so far.
        sample_ms: duration of a sample.
    """
    fitting = int(TURN_MS / max(sample_ms, 0.001))
    wanted = MOST_SAMPLES_PER_TURN if settings.runs is None else settings.runs - taken
    if settings.drop and taken < SURE_SAMPLES:
        wanted = min(wanted, SURE_SAMPLES - taken)
    elif taken < FEWEST_SAMPLES:
        wanted = min(wanted, FEWEST_SAMPLES - taken)
    return max(1, min(fitting, wanted, MOST_SAMPLES_PER_TURN))


# Pauses and retakes while the device is throttled.

MOST_PAUSES = 6
"""Maximum number of pauses for one variant; together they last 6.3 seconds."""

FIRST_PAUSE_S = 0.1
"""Duration of a variant's first pause, in seconds; each later pause is twice as long."""


def pause_before_retake_s(pauses: int) -> float | None:
    """Return how long to pause before throttled samples are taken again; None if they are to be kept.

    Args:
        pauses: number of pauses for this variant so far.
    """
    return FIRST_PAUSE_S * 2**pauses if pauses < MOST_PAUSES else None
