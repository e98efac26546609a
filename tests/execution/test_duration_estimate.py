"""The estimate of how long a kernel would run on the processor."""

from __future__ import annotations

import pytest

from cudamm.execution.duration_estimate import Estimate, duration, estimate
from cudamm.kernels.problem import Shape


def _seconds_of(shape: Shape) -> float:
    return 0.05 + shape.m * shape.n * shape.k * 3e-8


@pytest.mark.parametrize("shape", [Shape(2048, 2048, 2048), Shape(1000, 1500, 700), Shape(600, 600, 600)])
def test_an_estimate_is_close_and_made_from_smaller_runs(shape: Shape) -> None:
    tried: list[Shape] = []

    def measure(smaller: Shape) -> float:
        tried.append(smaller)
        return _seconds_of(smaller)

    found = estimate(shape, measure, limit_s=60.0)
    assert found is not None
    assert found.seconds == pytest.approx(_seconds_of(shape), rel=0.1)
    assert tried and max(each.m for each in tried) < shape.m
    assert found.smaller_seconds <= 10


def test_small_sizes_and_failed_runs_have_no_estimate() -> None:
    assert estimate(Shape(64, 64, 64), _seconds_of, 60.0) is None
    assert estimate(Shape(4096, 4096, 4096), lambda _: None, 60.0) is None


def test_the_sentence_names_both_sizes_with_their_durations() -> None:
    found = Estimate(Shape(2048, 2048, 2048), 250.0, Shape(512, 512, 512), 6.2)
    assert str(found) == "-n 2048 would take about 4 minutes here; -n 512 takes 6 s"
    assert str(Estimate(Shape(8, 4, 2), 80.0, Shape(4, 2, 1), 0.1)) == (
        "-n 8x4x2 would take about 80 s here; -n 4x2x1 takes less than a second"
    )
    assert [duration(s) for s in (89, 91, 7200, 200_000)] == ["89 s", "2 minutes", "2 hours", "2 days"]
