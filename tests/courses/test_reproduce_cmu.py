"""CMU's table and conclusions, from made-up times."""

from __future__ import annotations

import dataclasses

import pytest
from made_up_outcomes import CPU, GPU, check, made_up, silent, verdicts, with_verdict

from cudamm.courses.reproduce_cmu import SOURCE
from cudamm.execution.case import Verdict
from cudamm.kernels.problem import Shape

# As the slides print them.
THEIRS = {
    ("simple", 1024): 1950.0, ("cosimple", 1024): 44.5, ("csimple", 1024): 4.95,
    ("block", 1024): 612.0, ("ccblock", 1024): 111.0, ("cblock", 1024): 2.05,
    ("simple", 2048): 16000.0, ("cosimple", 2048): 301.0, ("csimple", 2048): 38.4,
    ("block", 2048): 4940.0, ("ccblock", 2048): 303.0, ("cblock", 2048): 15.7,
}  # fmt: skip


@pytest.fixture
def plan():
    return SOURCE.plan(GPU, silent)


def concluded(plan, times, **changes):
    return SOURCE.conclude(plan, made_up(plan, times, **changes))


def test_the_slides_own_times_uphold_every_conclusion(plan):
    findings = concluded(plan, THEIRS)
    assert set(verdicts(findings).values()) == {True}
    ratios = [row.ratio for row in findings.rows if row.unit == "ms"]
    assert len(ratios) == 12
    assert ratios == pytest.approx([1.0] * 12)
    # The slides round the rates: 1.1 GFLOP/s is 1.10 and 1.07.
    rates = [row.ratio for row in findings.rows if row.unit == "GFLOP/s"]
    assert rates == pytest.approx([1.0] * 12, rel=0.05)


def test_a_factor_is_named_beside_theirs(plan):
    findings = concluded(plan, THEIRS | {("cosimple", 1024): 4.422, ("csimple", 1024): 0.3478})
    found = check(findings, "coalescing-1024")
    assert found.holds is True
    assert "Simple++ is 12.7 times as fast as Simple: 0.3478 ms against 4.422 ms" in found.sentence
    assert "(theirs: 9.0 times)" in found.sentence
    assert "(theirs: 7.8 times)" in check(findings, "coalescing-2048").sentence


def test_what_is_slower_here_is_said_with_its_numbers(plan):
    findings = concluded(plan, THEIRS | {("cblock", 1024): 9.9})
    found = check(findings, "sharing-1024")
    assert found.holds is False
    assert "Block++ takes 2.0 times as long as Simple++: 9.9 ms against 4.95 ms" in found.sentence
    order = check(findings, "order-1024")
    assert order.holds is False
    assert "Simple++ (4.95 ms) is not slower than Block++ (9.9 ms)" in order.sentence
    assert verdicts(findings)["order-2048"] is True


def test_times_within_two_percent_are_equal(plan):
    findings = concluded(plan, THEIRS | {("csimple", 1024): 44.0})
    found = check(findings, "coalescing-1024")
    assert found.holds is False
    assert "as fast as Simple, within 2%" in found.sentence


def test_what_tied_for_the_slides_may_stand_either_way(plan):
    swapped = {("cosimple", 2048): 303.0, ("ccblock", 2048): 301.0}
    assert verdicts(concluded(plan, THEIRS | swapped))["order-2048"] is True
    swapped = {("cosimple", 1024): 111.0, ("ccblock", 1024): 44.5}
    assert verdicts(concluded(plan, THEIRS | swapped))["order-1024"] is False


def test_attempt_1_has_one_block_whatever_was_run(plan):
    found = check(SOURCE.conclude(plan, []), "attempt-1-one-block")
    assert found.holds is True
    # A block of 32 x 32 threads with 32 x 32 elements each covers 1024 x 1024; attempt 2 covers 32 x 32.
    assert "1 thread block of 1,024 threads" in found.sentence
    assert "132 multiprocessors of NVIDIA H200" in found.sentence
    assert f"{(1024 // 32) ** 2:,}" in found.sentence


def test_nothing_is_concluded_of_what_was_not_measured(plan):
    held = verdicts(concluded(plan, {"csimple": 1.0}))
    assert held["coalescing-1024"] is None and held["order-1024"] is None
    held = verdicts(SOURCE.conclude(plan, []))
    assert held.pop("attempt-1-one-block") is True
    assert set(held.values()) == {None}


def test_emulated_times_show_nothing_and_native_ones_need_a_size_worth_blocking():
    plan = SOURCE.plan(CPU, silent)
    findings = concluded(
        plan, dict.fromkeys(("simple", "cosimple", "csimple", "block", "ccblock", "cblock"), 1.0)
    )
    held = verdicts(findings)
    assert held.pop("products-right") is True
    assert held.pop("attempt-1-one-block") is True
    assert set(held.values()) == {None}
    assert "emulated" in check(findings, "coalescing-64").sentence
    assert {row.ratio for row in findings.rows} == {None}
    assert {(row.size, row.published_size) for row in findings.rows} == {
        ("64x64x64", "1024x1024x1024"),
        ("128x128x128", "2048x2048x2048"),
    }


def test_blocking_on_the_host_is_measured_at_a_size_worth_it():
    plan = SOURCE.plan(dataclasses.replace(CPU, shape=Shape(512, 512, 512)), silent)
    times = {"simple": 600.0, "block": 200.0, "csimple": 1.0, "cosimple": 1.0, "ccblock": 1.0, "cblock": 1.0}
    assert verdicts(concluded(plan, times))["host-blocking-512"] is True
    assert verdicts(concluded(plan, times | {"block": 700.0}))["host-blocking-512"] is False


def test_a_size_of_the_users_replaces_both():
    plan = SOURCE.plan(dataclasses.replace(GPU, shape=Shape(2048, 2048, 2048)), silent)
    findings = concluded(plan, THEIRS)
    assert {(row.size, row.published_size) for row in findings.rows} == {("2048x2048x2048",) * 2}
    # Between sizes nothing is compared.
    plan = SOURCE.plan(dataclasses.replace(GPU, shape=Shape(640, 480, 320)), silent)
    findings = concluded(plan, {"csimple": 1.0, "cosimple": 2.0})
    assert {row.ratio for row in findings.rows} == {None}


@pytest.mark.parametrize(("simple_ms", "is_run"), [(1950.0, True), (5078.0, False)])
def test_a_host_loop_that_would_take_long_is_not_run(plan, simple_ms, is_run):
    earlier = made_up(plan, {("simple", 1024): simple_ms})
    (group,) = [g for g in plan.groups if g.cases[0].label == "simple" and g.cases[0].problem.shape.m == 2048]
    why_not = group.why_not(earlier)
    assert (why_not == "") is is_run
    if not is_run:
        assert "41 s" in why_not  # 2048 takes eight times as many operations
        assert "-n 2048" in why_not


def test_a_wrong_product_is_told(plan):
    outcomes = with_verdict(made_up(plan, THEIRS), "cblock", Verdict(False, "a race"))
    findings = SOURCE.conclude(plan, outcomes)
    found = check(findings, "products-right")
    assert found.holds is False
    assert "cblock" in found.sentence and "a race" in found.sentence
    assert verdicts(findings)["sharing-1024"] is None
