"""PMPP's roofline, computed exactly, and made-up rates below and above it."""

from __future__ import annotations

import dataclasses

import pytest
from made_up_outcomes import CPU, GPU, conclusion_of, holds_by_name, make_outcomes, silent, with_verdict

from cudamm.courses.reproduce_pmpp import SOURCE
from cudamm.execution.case import Verdict

X, Y, TILED = "naive, row from x", "naive, row from y", "tiled, TILE_WIDTH = 16"
FLOP = 2 * 1024**3


def duration_at(gflops):
    """Return the milliseconds of a product of n = 1024 at this rate."""
    return FLOP / gflops / 1e6


@pytest.fixture
def plan(no_nvcc):
    return SOURCE.plan(GPU, silent)


def test_the_figures_of_the_notes_are_computed_exactly(needs_nvcc):
    report = SOURCE.conclude(SOURCE.plan(GPU, silent), [])
    computed = [(row.published, row.measured) for row in report.rows if row.published is not None]
    assert computed == [(f, f) for f in (0.25, 0.25, 4.0, 6220.0, 0.32, 82, 8)]
    holds = holds_by_name(report)
    assert holds["intensity"] is holds["a100-bound"] is holds["shared-memory-does-not-limit"] is True
    assert "6,220 GFLOP/s, 32% of an A100's 19,500" in conclusion_of(report, "a100-bound").sentence


def test_the_limit_of_shared_memory_is_undecided_without_nvcc(plan):
    conclusion = conclusion_of(SOURCE.conclude(plan, []), "shared-memory-does-not-limit")
    assert conclusion.holds is None and "no nvcc anywhere" in conclusion.sentence


def test_rates_below_their_bounds_confirm_the_roofline(plan):
    # At 4000 GB/s the bound is 1000 GFLOP/s for 0.25 op/B, and 16,000 GFLOP/s for 4 op/B.
    report = SOURCE.conclude(
        plan, make_outcomes(plan, {X: duration_at(500), Y: duration_at(990), TILED: duration_at(8000)})
    )
    holds = holds_by_name(report)
    assert holds["naive-x-below-its-bound"] is holds["naive-y-below-its-bound"] is True
    assert holds["tiled-below-its-bound"] is holds["tiling-faster"] is True
    assert (
        "8,000 GFLOP/s are 50% of the 16,000 GFLOP/s that the roof allows at 4 op/B"
        in conclusion_of(report, "tiled-below-its-bound").sentence
    )


def test_a_rate_above_its_bound_is_reported_with_the_share_of_the_caches(plan):
    report = SOURCE.conclude(
        plan, make_outcomes(plan, {X: duration_at(500), Y: duration_at(5000), TILED: duration_at(4000)})
    )
    conclusion = conclusion_of(report, "naive-y-below-its-bound")
    assert conclusion.holds is False
    assert "500% of the 1,000" in conclusion.sentence and "at least 80%" in conclusion.sentence
    assert holds_by_name(report)["tiling-faster"] is False


def test_rates_are_not_compared_with_bounds_without_ceilings(no_nvcc):
    plan = SOURCE.plan(dataclasses.replace(GPU, ceilings=None), silent)
    report = SOURCE.conclude(plan, make_outcomes(plan, {X: 1.0, Y: 1.0, TILED: 0.5}))
    assert holds_by_name(report)["tiled-below-its-bound"] is None
    assert holds_by_name(report)["tiling-faster"] is True


def test_products_of_any_width_have_to_be_right(plan):
    outcomes = make_outcomes(plan, {})
    assert {str(o.case.problem.shape) for o in outcomes} == {"100x1x50", "33x65x129", "640x480x320"}
    assert conclusion_of(SOURCE.conclude(plan, outcomes), "any-width").holds is True
    wrong = with_verdict(outcomes, "boundary checks", Verdict(False, "read from beyond the edge of A"))
    conclusion = conclusion_of(SOURCE.conclude(plan, wrong), "any-width")
    assert conclusion.holds is False and "beyond the edge of A" in conclusion.sentence


def test_the_cpu_device_decides_only_conclusions_without_times(no_nvcc):
    plan = SOURCE.plan(CPU, silent)
    holds = holds_by_name(SOURCE.conclude(plan, make_outcomes(plan, {X: 1.0, Y: 1.0, TILED: 1.0})))
    for name in ("products-right", "intensity", "a100-bound", "any-width"):
        assert holds[name] is True, name
    for name in ("naive-x-below-its-bound", "tiled-below-its-bound", "tiling-faster"):
        assert holds[name] is None, name
