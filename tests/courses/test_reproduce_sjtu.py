"""SJTU's arithmetic, exactly, and its conclusions from made-up times."""

from __future__ import annotations

import dataclasses

import pytest
from made_up_outcomes import CPU, GPU, check, made_up, silent, verdicts, with_verdict

from cudamm.courses.reproduce_sjtu import SOURCE, sectors
from cudamm.execution.case import Verdict
from cudamm.kernels.architecture import ARCHITECTURES

FAST = {
    "down a column": 4.4, "along a row": 0.35, "tiled": 0.25, "two elements per thread": 0.2,
    "double buffering": 0.23,
}  # fmt: skip


@pytest.fixture
def plan():
    return SOURCE.plan(GPU, silent)


def test_the_lectures_figures_come_out_exactly(plan):
    findings = SOURCE.conclude(plan, [])
    assert [(row.published, row.measured, row.ratio) for row in findings.rows] == [
        (figure, figure, 1.0) for figure in (2560, 3, 2816, 2, 384, 512)
    ]
    assert check(findings, "registers-cost-a-block").holds is True
    latency = check(findings, "fewer-threads-hide-better")
    assert latency.holds is True
    assert "= 384 < 400" in latency.sentence and "= 512 > 400" in latency.sentence


def test_a_register_more_costs_nothing_today(plan):
    found = check(SOURCE.conclude(plan, []), "registers-cost-a-block-here")
    assert found.holds is False
    # 65,536 registers: eight blocks of 256 threads are 2048, all that an SM has room for.
    assert "8 blocks fit either way" in found.sentence and "65,536" in found.sentence


def test_a_register_more_costs_a_block_on_the_lectures_own_gpu():
    plan = SOURCE.plan(dataclasses.replace(GPU, architecture=ARCHITECTURES["sm_10"]), silent)
    found = check(SOURCE.conclude(plan, []), "registers-cost-a-block-here")
    assert found.holds is True and "costs 1 of 3 blocks" in found.sentence


def test_times_that_uphold_the_lecture(plan):
    assert {c.variant.params.get("COARSE") for g in plan.groups for c in g.cases} == {None, 2}
    findings = SOURCE.conclude(plan, made_up(plan, FAST))
    held = verdicts(findings)
    for name in ("coalescing-faster", "coarsening-faster", "double-buffer-faster", "products-right"):
        assert held[name] is True, name
    assert "12.6 times as fast" in check(findings, "coalescing-faster").sentence


def test_times_that_do_not(plan):
    slow = {
        "down a column": 0.35,
        "along a row": 0.35,
        "two elements per thread": 0.5,
        "double buffering": 0.3,
    }
    findings = SOURCE.conclude(plan, made_up(plan, FAST | slow))
    held = verdicts(findings)
    for name in ("coalescing-faster", "coarsening-faster", "double-buffer-faster"):
        assert held[name] is False, name
    assert "takes 1.20 times as long as tiled" in check(findings, "double-buffer-faster").sentence


def test_why_double_buffering_gains_nothing_is_said(needs_nvcc):
    """A block of 16 x 16 is 8 warps, of at most 32 registers a thread: 8 blocks fill the 64 of an SM."""
    plan = SOURCE.plan(GPU, silent)
    findings = SOURCE.conclude(plan, made_up(plan, FAST | {"double buffering": FAST["tiled"]}))
    assert "64 of 64 warps of an SM are active" in check(findings, "double-buffer-faster").sentence


@pytest.mark.parametrize(("stride_bytes", "expected"), [(4, 4), (8, 8), (32, 32), (4096, 32), (0, 1)])
def test_sectors_of_a_warps_read(stride_bytes, expected):
    assert sectors(stride_bytes) == expected


def test_a_warp_reads_fewer_sectors_along_a_row(plan):
    found = check(SOURCE.conclude(plan, []), "a-warp-reads-fewer-sectors")
    assert found.holds is True and "4,096 bytes apart" in found.sentence


def test_a_wrong_product_is_told(plan):
    outcomes = with_verdict(made_up(plan, FAST), "tiled", Verdict(False, "a missing barrier"))
    held = verdicts(SOURCE.conclude(plan, outcomes))
    assert held["products-right"] is False and held["coarsening-faster"] is None


def test_what_carries_over_to_the_cpu_device():
    plan = SOURCE.plan(CPU, silent)
    held = verdicts(SOURCE.conclude(plan, made_up(plan, FAST)))
    assert held.pop("registers-cost-a-block-here") is False  # of an A100
    for name in ("coalescing-faster", "coarsening-faster", "double-buffer-faster"):
        assert held.pop(name) is None
    assert set(held.values()) == {True}
