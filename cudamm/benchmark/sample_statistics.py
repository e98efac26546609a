"""Statistics of timed samples, and the confidence interval of a speed-up."""

from __future__ import annotations

import functools
import math
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
    samples = np.asarray(samples_ms, dtype=float)
    ordered = np.sort(samples)
    median_ms, mean_ms = _median(ordered), statistics.fmean(samples_ms)
    q1_ms, q3_ms = _quantile(ordered, 0.25), _quantile(ordered, 0.75)
    noise = _deviation(samples) / mean_ms if count > 1 and mean_ms else 0.0
    sigma_ms = (q3_ms - q1_ms) * SIGMA_OF_IQR
    is_known = count > 1 and median_ms > 0
    median_error = MEDIAN_ERROR * sigma_ms / count**0.5 / median_ms if is_known else float("inf")
    return Statistics(
        count=count,
        median_ms=median_ms,
        mean_ms=mean_ms,
        min_ms=float(ordered[0]),
        q1_ms=q1_ms,
        q3_ms=q3_ms,
        noise=noise,
        median_error=median_error,
        outliers=int(np.count_nonzero(_are_outliers(samples, median_ms))),
    )


def outliers(samples_ms: Sequence[float]) -> list[bool]:
    """Return for each sample whether it is an outlier: its modified z-score |x − median| / σ exceeds 3.5.

    σ is estimated from the median absolute deviation. If more than half of the samples are equal, that
    deviation is 0, and σ is estimated from the mean absolute deviation about the median (Iglewicz and Hoaglin
    1993).
    """
    samples = np.asarray(samples_ms, dtype=float)
    return [bool(is_far) for is_far in _are_outliers(samples, _median(np.sort(samples)))]


def _are_outliers(samples: _Floats, median: float) -> npt.NDArray[np.bool_]:
    deviations = np.abs(samples - median)
    sigma = (
        _median(np.sort(deviations)) * SIGMA_OF_MAD or float(np.mean(deviations)) * SIGMA_OF_MEAN_DEVIATION
    )
    if sigma == 0:
        return np.zeros(len(samples), dtype=bool)
    return deviations > OUTLIER_SCORE * sigma


def _deviation(samples: _Floats) -> float:
    """Return the sample standard deviation, equal to np.std with ddof=1, which takes many times as long."""
    deviations = samples - np.add.reduce(samples) / len(samples)
    return float(np.sqrt(np.add.reduce(deviations * deviations) / (len(samples) - 1)))


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
    numerator, denominator = (np.sort(np.asarray(ms, dtype=float)) for ms in (numerator_ms, denominator_ms))
    places = _places_of_medians(len(numerator), len(denominator), resamples)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(np.float64(_median(numerator)) / np.float64(_median(denominator)))
        ratios = _resampled_medians(numerator, places[0]) / _resampled_medians(denominator, places[1])
    ratios.sort()
    if not math.isfinite(ratios[-1]):  # NaN is sorted behind infinity
        return Ratio(value, float("nan"), float("nan"))
    low, high = (_quantile(ratios, share) for share in ((1 - confidence) / 2, (1 + confidence) / 2))
    return Ratio(value, min(low, value), max(high, value))


def _median(ordered: _Floats) -> float:
    middle = len(ordered) // 2
    return float(ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2)


def _quantile(ordered: _Floats, share: float) -> float:
    """Return a quantile of sorted numbers, equal to np.quantile, which takes many times as long."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above, part = min(below + 1, len(ordered) - 1), place - below
    difference = ordered[above] - ordered[below]
    if part >= 0.5:  # as in NumPy, so that the result is the same to the last bit
        return float(ordered[above] - difference * (1 - part))
    return float(ordered[below] + difference * part)


_Places = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


@functools.lru_cache(maxsize=256)
def _places_of_medians(numerators: int, denominators: int, resamples: int) -> tuple[_Places, _Places]:
    """Return `_places` of the two sides of a ratio. They depend on the numbers of samples only."""
    random = np.random.default_rng(SEED)
    return _places(numerators, resamples, random), _places(denominators, resamples, random)


def _places(n: int, resamples: int, random: np.random.Generator) -> _Places:
    """Return the two places in n sorted samples between which the median of each resample is.

    The resamples are not drawn: the cost does not depend on n. With the samples sorted, the elements of a
    resample are ordered[⌊n u⌋] for n uniform numbers u. The k-th smallest element is therefore
    ordered[⌊n v⌋], where v is the k-th smallest u and has the distribution Beta(k, n − k + 1). For even n the
    median also needs the next larger element: its u is the smallest of n − k uniform numbers between v and 1.
    """
    middle = (n + 1) // 2

    def places(shares: _Floats) -> npt.NDArray[np.intp]:
        return np.minimum((n * shares).astype(np.intp), n - 1)

    middle_shares = random.beta(middle, n - middle + 1, resamples)
    if n % 2:
        return places(middle_shares), places(middle_shares)
    next_shares = 1 - (1 - middle_shares) * random.random(resamples) ** (1 / (n - middle))
    return places(middle_shares), places(next_shares)


def _resampled_medians(ordered: _Floats, places: _Places) -> _Floats:
    """Return the medians of the resamples of sorted samples."""
    first, second = places
    medians: _Floats = ordered[first]
    return medians if len(ordered) % 2 else (medians + ordered[second]) / 2
