"""Statistics of timed samples, and the confidence interval of a speed-up."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]

OUTLIER_SCORE = 3.5
"""Modified z-score above which a sample is an outlier: B. Iglewicz, D. C. Hoaglin, *How to Detect and Handle
Outliers* (1993)."""
SIGMA_OF_MAD = 1 / 0.6745
"""Standard deviation of a normal distribution over its median absolute deviation."""
SIGMA_OF_MEAN_DEVIATION = 1.253314
"""Standard deviation of a normal distribution over its mean absolute deviation: √(π/2)."""
SIGMA_OF_IQR = 1 / 1.349
"""Standard deviation of a normal distribution over its interquartile range."""
MEDIAN_ERROR = 1.2533
"""Standard error of a normal sample's median over that of its mean, for many samples: √(π/2)."""
SEED = 0
"""Seed of the bootstrap, so that the same samples give the same interval."""


@dataclass(frozen=True)
class Statistics:
    """Statistics of a variant's samples.

    Attributes:
        q1_ms, q3_ms: the quartiles, interpolated linearly between samples.
        noise: sample standard deviation over the mean, as NVBench defines it; 0 for one sample.
        median_error: relative standard error of the median, from a standard deviation that outliers do not
            affect: 1.2533 (q3 − q1) / 1.349 / √count / median; infinite for one sample.
        outliers: number of outliers; the function `outliers` defines them.
    """

    count: int
    median_ms: float
    mean_ms: float
    min_ms: float
    q1_ms: float
    q3_ms: float
    noise: float
    median_error: float
    outliers: int


@dataclass(frozen=True)
class Ratio:
    """A ratio of medians and its confidence interval."""

    value: float
    low: float
    high: float


def statistics_of(samples_ms: Sequence[float]) -> Statistics:
    """Return the statistics of at least one sample."""
    count = len(samples_ms)
    median_ms, mean_ms = statistics.median(samples_ms), statistics.fmean(samples_ms)
    q1_ms, q3_ms = (float(quartile) for quartile in np.percentile(samples_ms, (25, 75)))
    noise = float(np.std(samples_ms, ddof=1)) / mean_ms if count > 1 and mean_ms else 0.0
    sigma_ms = (q3_ms - q1_ms) * SIGMA_OF_IQR
    is_known = count > 1 and median_ms > 0
    median_error = MEDIAN_ERROR * sigma_ms / count**0.5 / median_ms if is_known else float("inf")
    return Statistics(
        count=count,
        median_ms=float(median_ms),
        mean_ms=mean_ms,
        min_ms=float(min(samples_ms)),
        q1_ms=q1_ms,
        q3_ms=q3_ms,
        noise=noise,
        median_error=median_error,
        outliers=sum(outliers(samples_ms)),
    )


def outliers(samples_ms: Sequence[float]) -> list[bool]:
    """Return for each sample whether it is an outlier: its modified z-score |x − median| / σ exceeds 3.5.

    σ is estimated from the median absolute deviation. If more than half of the samples are equal, that
    deviation is 0, and σ is estimated from the mean absolute deviation about the median (Iglewicz and Hoaglin
    1993).
    """
    samples = np.asarray(samples_ms, dtype=float)
    deviations = np.abs(samples - np.median(samples))
    sigma = (
        float(np.median(deviations)) * SIGMA_OF_MAD or float(np.mean(deviations)) * SIGMA_OF_MEAN_DEVIATION
    )
    if sigma == 0:
        return [False] * len(samples_ms)
    return [bool(is_far) for is_far in deviations > OUTLIER_SCORE * sigma]


def ratio_of_medians(
    numerator_ms: Sequence[float],
    denominator_ms: Sequence[float],
    confidence: float = 0.95,
    resamples: int = 2000,
) -> Ratio:
    """Return the ratio of two medians with its percentile bootstrap interval (Efron and Tibshirani, ch. 13).

    The interval covers only the variation from launch to launch that the samples contain, not the variation
    between days or clock rates. A single sample does not vary. If a median is 0, the ratio is infinite or
    NaN.

    Args:
        confidence: confidence of the interval, between 0 and 1.
        resamples: number of bootstrap resamples.
    """
    random = np.random.default_rng(SEED)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(np.float64(np.median(numerator_ms)) / np.float64(np.median(denominator_ms)))
        ratios = _resampled_medians(numerator_ms, resamples, random)
        ratios = ratios / _resampled_medians(denominator_ms, resamples, random)
    if not np.isfinite(ratios).all():
        return Ratio(value, float("nan"), float("nan"))
    low, high = (float(end) for end in np.quantile(ratios, ((1 - confidence) / 2, (1 + confidence) / 2)))
    return Ratio(value, min(low, value), max(high, value))


def _resampled_medians(samples_ms: Sequence[float], resamples: int, random: np.random.Generator) -> _Floats:
    """Return medians of resamples, without drawing the resamples: the cost does not depend on their length.

    With the samples sorted, the elements of a resample are ordered[⌊n u⌋] for n uniform numbers u. The k-th
    smallest element is therefore ordered[⌊n v⌋], where v is the k-th smallest u and has the distribution
    Beta(k, n − k + 1). For even n the median also needs the next larger element: its u is the smallest of
    n − k uniform numbers between v and 1.
    """
    ordered = np.sort(np.asarray(samples_ms, dtype=float))
    n = len(ordered)
    middle = (n + 1) // 2

    def quantiles(shares: _Floats) -> _Floats:
        values: _Floats = ordered[np.minimum((n * shares).astype(int), n - 1)]
        return values

    middle_shares = random.beta(middle, n - middle + 1, resamples)
    if n % 2:
        return quantiles(middle_shares)
    next_shares = 1 - (1 - middle_shares) * random.random(resamples) ** (1 / (n - middle))
    medians: _Floats = (quantiles(middle_shares) + quantiles(next_shares)) / 2
    return medians
