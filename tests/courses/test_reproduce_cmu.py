"""CMU's table and conclusions from made-up times."""

from __future__ import annotations

import dataclasses

import pytest
from made_up_outcomes import CPU, GPU, conclusion_of, holds_by_name, make_outcomes, silent, with_verdict

from cudamm.courses.reproduce_cmu import SOURCE
from cudamm.execution.case import Verdict
from cudamm.kernels.problem import Shape

# Milliseconds that the slides print, by name and size.
PUBLISHED_MS = {
    ("simple", 1024): 1950.0, ("cosimple", 1024): 44.5, ("csimple", 1024): 4.95,
    ("block", 1024): 612.0, ("ccblock", 1024): 111.0, ("cblock", 1024): 2.05,
    ("simple", 2048): 16000.0, ("cosimple", 2048): 301.0, ("csimple", 2048): 38.4,
    ("block", 2048): 4940.0, ("ccblock", 2048): 303.0, ("cblock", 2048): 15.7,
}  # fmt: skip


@pytest.fixture
def plan():
    return SOURCE.plan(GPU, silent)


def report_of(plan, times, **changes):
    return SOURCE.conclude(plan, make_outcomes(plan, times, **changes))


def test_every_conclusion_holds_for_the_times_of_the_slides(plan):
    report = report_of(plan, PUBLISHED_MS)
    assert set(holds_by_name(report).values()) == {True}
    ratios = [row.ratio for row in report.rows if row.unit == "ms"]
    assert len(ratios) == 12
    assert ratios == pytest.approx([1.0] * 12)
    # The slides round the rates: 1.1 GFLOP/s is 1.10 and 1.07.
    rates = [row.ratio for row in report.rows if row.unit == "GFLOP/s"]
    assert rates == pytest.approx([1.0] * 12, rel=0.05)


def test_a_measured_factor_is_reported_beside_the_published_one(plan):
    report = report_of(plan, PUBLISHED_MS | {("cosimple", 1024): 4.422, ("csimple", 1024): 0.3478})
    conclusion = conclusion_of(report, "coalescing-1024")
    assert conclusion.holds is True
    assert "Simple++ is 12.7 times as fast as Simple: 0.3478 ms against 4.422 ms" in conclusion.sentence
    assert "(theirs: 9.0 times)" in conclusion.sentence
    assert "(theirs: 7.8 times)" in conclusion_of(report, "coalescing-2048").sentence


def test_a_slower_kernel_is_reported_with_its_times(plan):
    report = report_of(plan, PUBLISHED_MS | {("cblock", 1024): 9.9})
    conclusion = conclusion_of(report, "sharing-1024")
    assert conclusion.holds is False
    assert "Block++ takes 2.0 times as long as Simple++: 9.9 ms against 4.95 ms" in conclusion.sentence
    order = conclusion_of(report, "order-1024")
    assert order.holds is False
    assert "Simple++ (4.95 ms) is not slower than Block++ (9.9 ms)" in order.sentence
    assert holds_by_name(report)["order-2048"] is True


def test_times_within_two_percent_count_as_equal(plan):
    report = report_of(plan, PUBLISHED_MS | {("csimple", 1024): 44.0})
    conclusion = conclusion_of(report, "coalescing-1024")
    assert conclusion.holds is False
    assert "as fast as Simple, within 2%" in conclusion.sentence


def test_methods_that_tied_in_the_slides_may_be_in_either_order(plan):
    swapped = {("cosimple", 2048): 303.0, ("ccblock", 2048): 301.0}
    assert holds_by_name(report_of(plan, PUBLISHED_MS | swapped))["order-2048"] is True
    swapped = {("cosimple", 1024): 111.0, ("ccblock", 1024): 44.5}
    assert holds_by_name(report_of(plan, PUBLISHED_MS | swapped))["order-1024"] is False


def test_attempt_1_has_one_block_whatever_was_run(plan):
    conclusion = conclusion_of(SOURCE.conclude(plan, []), "attempt-1-one-block")
    assert conclusion.holds is True
    # In attempt 1 a block of 32 x 32 threads with 32 x 32 elements each covers 1024 x 1024 elements of C. In
    # attempt 2 a block covers 32 x 32.
    assert "1 thread block of 1,024 threads" in conclusion.sentence
    assert "132 multiprocessors of NVIDIA H200" in conclusion.sentence
    assert f"{(1024 // 32) ** 2:,}" in conclusion.sentence


def test_a_conclusion_without_its_measurements_is_undecided(plan):
    holds = holds_by_name(report_of(plan, {"csimple": 1.0}))
    assert holds["coalescing-1024"] is None and holds["order-1024"] is None
    holds = holds_by_name(SOURCE.conclude(plan, []))
    assert holds.pop("attempt-1-one-block") is True
    assert set(holds.values()) == {None}


def test_emulated_times_and_small_native_sizes_decide_no_comparison():
    plan = SOURCE.plan(CPU, silent)
    report = report_of(
        plan, dict.fromkeys(("simple", "cosimple", "csimple", "block", "ccblock", "cblock"), 1.0)
    )
    holds = holds_by_name(report)
    assert holds.pop("products-right") is True
    assert holds.pop("attempt-1-one-block") is True
    assert set(holds.values()) == {None}
    assert "only the times of a GPU" in conclusion_of(report, "coalescing-64").sentence
    assert {row.ratio for row in report.rows} == {None}
    assert {(row.size, row.published_size) for row in report.rows} == {
        ("64x64x64", "1024x1024x1024"),
        ("128x128x128", "2048x2048x2048"),
    }


def test_blocking_on_the_host_is_judged_at_a_large_size():
    plan = SOURCE.plan(dataclasses.replace(CPU, shape=Shape(512, 512, 512)), silent)
    times = {"simple": 600.0, "block": 200.0, "csimple": 1.0, "cosimple": 1.0, "ccblock": 1.0, "cblock": 1.0}
    assert holds_by_name(report_of(plan, times))["host-blocking-512"] is True
    assert holds_by_name(report_of(plan, times | {"block": 700.0}))["host-blocking-512"] is False


def test_a_size_given_by_the_user_replaces_both_sizes():
    plan = SOURCE.plan(dataclasses.replace(GPU, shape=Shape(2048, 2048, 2048)), silent)
    report = report_of(plan, PUBLISHED_MS)
    assert {(row.size, row.published_size) for row in report.rows} == {("2048x2048x2048",) * 2}
    # A size that the slides lack has no ratios.
    plan = SOURCE.plan(dataclasses.replace(GPU, shape=Shape(640, 480, 320)), silent)
    report = report_of(plan, {"csimple": 1.0, "cosimple": 2.0})
    assert {row.ratio for row in report.rows} == {None}


@pytest.mark.parametrize(("simple_ms", "is_run"), [(1950.0, True), (5078.0, False)])
def test_a_host_loop_that_would_take_too_long_is_not_run(plan, simple_ms, is_run):
    earlier = make_outcomes(plan, {("simple", 1024): simple_ms})
    (group,) = [g for g in plan.groups if g.cases[0].label == "simple" and g.cases[0].problem.shape.m == 2048]
    why_not = group.why_not(earlier)
    assert (why_not == "") is is_run
    if not is_run:
        assert "41 s" in why_not  # n = 2048 has eight times as many operations
        assert "-n 2048" in why_not


def test_a_wrong_product_is_reported_and_decides_no_comparison(plan):
    outcomes = with_verdict(make_outcomes(plan, PUBLISHED_MS), "cblock", Verdict(False, "a race"))
    report = SOURCE.conclude(plan, outcomes)
    conclusion = conclusion_of(report, "products-right")
    assert conclusion.holds is False
    assert "cblock" in conclusion.sentence and "a race" in conclusion.sentence
    assert holds_by_name(report)["sharing-1024"] is None
