"""The notes' roofline, exactly, and measured rates against it, both ways."""

from __future__ import annotations

import dataclasses

import pytest
from made_up_outcomes import CPU, GPU, check, made_up, silent, verdicts, with_verdict

from cudamm.courses.reproduce_pmpp import SOURCE
from cudamm.execution.case import Verdict

X, Y, TILED = "naive, row from x", "naive, row from y", "tiled, TILE_WIDTH = 16"
FLOP = 2 * 1024**3


def at(gflops):
    """Milliseconds of a product of n = 1024 at so many GFLOP/s."""
    return FLOP / gflops / 1e6


@pytest.fixture
def plan(no_nvcc):
    return SOURCE.plan(GPU, silent)


def test_the_notes_figures_come_out_exactly(needs_nvcc):
    findings = SOURCE.conclude(SOURCE.plan(GPU, silent), [])
    computed = [(row.published, row.measured) for row in findings.rows if row.published is not None]
    assert computed == [(f, f) for f in (0.25, 0.25, 4.0, 6220.0, 0.32, 82, 8)]
    held = verdicts(findings)
    assert held["intensity"] is held["a100-bound"] is held["shared-memory-does-not-limit"] is True
    assert "6,220 GFLOP/s, 32% of an A100's 19,500" in check(findings, "a100-bound").sentence


def test_without_a_compiler_shared_memory_is_not_known(plan):
    found = check(SOURCE.conclude(plan, []), "shared-memory-does-not-limit")
    assert found.holds is None and "no nvcc anywhere" in found.sentence


def test_rates_below_their_roofs(plan):
    # 4000 GB/s: 0.25 op/B bound a rate at 1000 GFLOP/s, 4 op/B at 16,000.
    findings = SOURCE.conclude(plan, made_up(plan, {X: at(500), Y: at(990), TILED: at(8000)}))
    held = verdicts(findings)
    assert held["naive-x-below-its-bound"] is held["naive-y-below-its-bound"] is True
    assert held["tiled-below-its-bound"] is held["tiling-faster"] is True
    assert (
        "8,000 GFLOP/s are 50% of the 16,000 GFLOP/s that the roof allows at 4 op/B"
        in check(findings, "tiled-below-its-bound").sentence
    )


def test_a_rate_above_its_roof_says_how_much_the_caches_served(plan):
    findings = SOURCE.conclude(plan, made_up(plan, {X: at(500), Y: at(5000), TILED: at(4000)}))
    found = check(findings, "naive-y-below-its-bound")
    assert found.holds is False
    assert "500% of the 1,000" in found.sentence and "at least 80%" in found.sentence
    assert verdicts(findings)["tiling-faster"] is False


def test_without_roofs_nothing_is_held_against_them(no_nvcc):
    plan = SOURCE.plan(dataclasses.replace(GPU, ceilings=None), silent)
    findings = SOURCE.conclude(plan, made_up(plan, {X: 1.0, Y: 1.0, TILED: 0.5}))
    assert verdicts(findings)["tiled-below-its-bound"] is None
    assert verdicts(findings)["tiling-faster"] is True


def test_any_width(plan):
    outcomes = made_up(plan, {})
    assert {str(o.case.problem.shape) for o in outcomes} == {"100x1x50", "33x65x129", "640x480x320"}
    assert check(SOURCE.conclude(plan, outcomes), "any-width").holds is True
    wrong = with_verdict(outcomes, "boundary checks", Verdict(False, "read from beyond the edge of A"))
    found = check(SOURCE.conclude(plan, wrong), "any-width")
    assert found.holds is False and "beyond the edge of A" in found.sentence


def test_what_carries_over_to_the_cpu_device(no_nvcc):
    plan = SOURCE.plan(CPU, silent)
    held = verdicts(SOURCE.conclude(plan, made_up(plan, {X: 1.0, Y: 1.0, TILED: 1.0})))
    for name in ("products-right", "intensity", "a100-bound", "any-width"):
        assert held[name] is True, name
    for name in ("naive-x-below-its-bound", "tiled-below-its-bound", "tiling-faster"):
        assert held[name] is None, name
