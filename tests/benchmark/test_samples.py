"""Statistics of samples, against NumPy, hand-worked examples and simulation."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudamm.benchmark.sample_statistics import Ratio, outliers, ratio_of_medians, statistics_of

TIMES = st.lists(st.floats(1e-3, 1e5), min_size=1, max_size=60)


@given(TIMES)
def test_statistics_are_those_of_numpy(samples):
    result = statistics_of(samples)
    assert result.count == len(samples)
    assert result.median_ms == pytest.approx(np.median(samples))
    assert result.mean_ms == pytest.approx(np.mean(samples))
    assert result.min_ms == min(samples)
    assert result.q1_ms == pytest.approx(np.percentile(samples, 25))
    assert result.q3_ms == pytest.approx(np.percentile(samples, 75))
    assert result.min_ms <= result.q1_ms <= result.median_ms <= result.q3_ms <= max(samples)
    assert result.outliers == sum(outliers(samples))


def test_noise_and_median_error_of_a_worked_example():
    # Mean 3, squared deviations 4 + 1 + 0 + 1 + 4 = 10, over 4: variance 2.5. Quartiles 2 and 4.
    result = statistics_of([5, 1, 4, 2, 3])
    assert result.noise == pytest.approx(math.sqrt(2.5) / 3)
    assert result.median_error == pytest.approx(1.2533 * (2 / 1.349) / math.sqrt(5) / 3)


def test_one_sample_has_no_noise_and_an_infinite_median_error():
    result = statistics_of([2.5])
    assert (result.noise, result.median_error, result.outliers) == (0.0, float("inf"), 0)
    assert result.median_ms == result.q1_ms == result.q3_ms == result.min_ms == result.mean_ms == 2.5


def test_the_median_error_is_the_standard_deviation_of_medians():
    random = np.random.default_rng(1)
    samples = random.normal(10, 0.5, (4000, 101))
    scatter = np.std(np.median(samples, axis=1)) / 10
    estimated = np.mean([statistics_of(row.tolist()).median_error for row in samples[:400]])
    assert estimated == pytest.approx(scatter, rel=0.05)


def test_samples_of_zero_milliseconds_have_no_noise_and_an_infinite_error():
    result = statistics_of([0.0, 0.0, 0.0])
    assert (result.noise, result.median_error, result.outliers) == (0.0, float("inf"), 0)


# The median is 10. The deviations are 2, 1, 0, 0, 1, 2 and that of `far`; their median is 1. A deviation of
# 5.19 has the score 3.5, the limit.
@pytest.mark.parametrize(("far", "is_outlier"), [(15.1, False), (15.2, True), (4.9, False), (4.8, True)])
def test_outliers_are_judged_by_the_median_absolute_deviation(far, is_outlier):
    assert outliers([8, 9, 10, 10, 11, 12, far]) == [False] * 6 + [is_outlier]


def test_outliers_are_judged_by_the_mean_deviation_if_most_samples_are_equal():
    # If one sample of ten differs by d, the mean deviation is d / 10 and the score 10 / 1.2533 = 7.98.
    assert outliers([1.0] * 9 + [1.001]) == [False] * 9 + [True]
    # If two samples of five differ by d, the mean deviation is 2 d / 5 and the score 2.5 / 1.2533 = 1.99.
    assert not any(outliers([1.0] * 3 + [2.0] * 2))


@given(st.floats(1e-3, 1e5), st.integers(1, 40))
def test_equal_samples_have_no_outliers(value, count):
    assert not any(outliers([value] * count))


@given(TIMES, TIMES)
def test_the_ratio_lies_in_its_interval(numerator, denominator):
    result = ratio_of_medians(numerator, denominator)
    assert result.value == pytest.approx(np.median(numerator) / np.median(denominator))
    assert result.low <= result.value <= result.high
    # A resample's median is a sample, or lies between two samples.
    tolerance = 1 + 1e-9
    assert result.low * tolerance >= min(numerator) / max(denominator)
    assert result.high <= max(numerator) / min(denominator) * tolerance


@given(TIMES, st.floats(1e-3, 1e3))
def test_the_ratio_does_not_depend_on_the_unit(samples, unit):
    result = ratio_of_medians(samples, [1.0, 2.0, 4.0])
    scaled = ratio_of_medians([unit * s for s in samples], [unit, 2 * unit, 4 * unit])
    assert (scaled.value, scaled.low, scaled.high) == pytest.approx((result.value, result.low, result.high))


def test_the_interval_of_two_single_samples_is_their_ratio():
    assert ratio_of_medians([3.0], [2.0]) == Ratio(1.5, 1.5, 1.5)
    one_side = ratio_of_medians([3.0], [1.0, 2.0, 3.0])
    assert (one_side.low, one_side.high) == (1.0, 3.0)


def test_the_interval_is_reproducible_and_grows_with_the_confidence():
    random = np.random.default_rng(2)
    a, b = random.normal(10, 1, 50), random.normal(12, 1, 50)
    narrow, wide = ratio_of_medians(a, b, 0.5), ratio_of_medians(a, b, 0.99)
    assert ratio_of_medians(a, b, 0.5) == narrow
    assert wide.low < narrow.low < narrow.high < wide.high


def test_a_median_of_zero_gives_an_infinite_ratio_without_interval():
    result = ratio_of_medians([1.0], [0.0, 0.0])
    assert math.isinf(result.value) and math.isnan(result.low)


@pytest.mark.parametrize(("n", "m"), [(2, 3), (7, 8), (30, 31), (100, 64)])
def test_the_interval_is_that_of_a_plain_bootstrap(n, m):
    random = np.random.default_rng(3)
    a, b = random.gamma(4, 1, n) + 5, random.gamma(4, 1, m) + 5
    resampled = [
        np.median(random.choice(samples, (40_000, len(samples))), axis=1) for samples in (a, b)
    ]  # ratio_of_medians draws the medians themselves instead of resampling
    # Medians of few samples take few values, so the quantiles may differ by 0.4%.
    ratios = resampled[0] / resampled[1]
    least_low, most_low, least_high, most_high = np.quantile(ratios, (0.021, 0.029, 0.971, 0.979))
    result = ratio_of_medians(a, b, resamples=40_000)
    assert least_low <= result.low <= most_low
    assert least_high <= result.high <= most_high


@pytest.mark.parametrize(("confidence", "count"), [(0.95, 25), (0.95, 40), (0.8, 30)])
def test_the_interval_covers_the_true_ratio_with_its_confidence(confidence, count):
    random = np.random.default_rng(4)
    trials = 1000
    covered = 0
    for _ in range(trials):
        a, b = 2 * random.lognormal(0, 0.1, count), random.lognormal(0, 0.1, count)
        result = ratio_of_medians(a, b, confidence, resamples=500)
        covered += result.low <= 2 <= result.high
    # Three standard errors are 2% and 4%. Bootstrap intervals of medians are slightly too wide.
    assert confidence - 0.04 <= covered / trials <= confidence + 0.05


@pytest.mark.parametrize(("count", "most_s"), [(100, 0.02), (100_000, 0.2)])
def test_the_interval_is_computed_quickly(count, most_s):
    samples = np.random.default_rng(5).normal(10, 1, count).tolist()

    def duration_s():
        start = time.perf_counter()
        ratio_of_medians(samples, samples)
        return time.perf_counter() - start

    assert min(duration_s() for _ in range(5)) < most_s
