"""SJTU's arithmetic, computed exactly, and its conclusions from made-up times."""

from __future__ import annotations

import dataclasses

import pytest
from made_up_outcomes import CPU, GPU, conclusion_of, holds_by_name, make_outcomes, silent, with_verdict

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


def test_the_figures_of_the_lecture_are_computed_exactly(plan):
    report = SOURCE.conclude(plan, [])
    assert [(row.published, row.measured, row.ratio) for row in report.rows] == [
        (figure, figure, 1.0) for figure in (2560, 3, 2816, 2, 384, 512)
    ]
    assert conclusion_of(report, "registers-cost-a-block").holds is True
    latency = conclusion_of(report, "fewer-threads-hide-better")
    assert latency.holds is True
    assert "= 384 cycles, fewer than the 400" in latency.sentence
    assert "= 512 cycles, more than the 400" in latency.sentence


def test_one_more_register_costs_no_block_on_a_current_gpu(plan):
    conclusion = conclusion_of(SOURCE.conclude(plan, []), "registers-cost-a-block-here")
    assert conclusion.holds is False
    # Eight blocks of 256 threads fill the 2048 threads of an SM, and 65,536 registers suffice for them.
    assert "8 blocks fit either way" in conclusion.sentence and "65,536" in conclusion.sentence


def test_one_more_register_costs_a_block_on_the_gpu_of_the_lecture():
    plan = SOURCE.plan(dataclasses.replace(GPU, architecture=ARCHITECTURES["sm_10"]), silent)
    conclusion = conclusion_of(SOURCE.conclude(plan, []), "registers-cost-a-block-here")
    assert conclusion.holds is True and "costs 1 of 3 blocks" in conclusion.sentence


def test_fast_times_confirm_the_conclusions_of_the_lecture(plan):
    assert {c.variant.params.get("COARSE") for g in plan.groups for c in g.cases} == {None, 2}
    report = SOURCE.conclude(plan, make_outcomes(plan, FAST))
    holds = holds_by_name(report)
    for name in ("coalescing-faster", "coarsening-faster", "double-buffer-faster", "products-right"):
        assert holds[name] is True, name
    assert "12.6 times as fast" in conclusion_of(report, "coalescing-faster").sentence


def test_slow_times_contradict_the_conclusions_of_the_lecture(plan):
    slow = {
        "down a column": 0.35,
        "along a row": 0.35,
        "two elements per thread": 0.5,
        "double buffering": 0.3,
    }
    report = SOURCE.conclude(plan, make_outcomes(plan, FAST | slow))
    holds = holds_by_name(report)
    for name in ("coalescing-faster", "coarsening-faster", "double-buffer-faster"):
        assert holds[name] is False, name
    assert "takes 1.20 times as long as tiled" in conclusion_of(report, "double-buffer-faster").sentence


def test_the_reason_is_reported_if_double_buffering_is_not_faster(needs_nvcc):
    """A block of 16 x 16 threads has 8 warps. With at most 32 registers per thread, 8 blocks fill an SM."""
    plan = SOURCE.plan(GPU, silent)
    report = SOURCE.conclude(plan, make_outcomes(plan, FAST | {"double buffering": FAST["tiled"]}))
    assert "64 of 64 warps of an SM are active" in conclusion_of(report, "double-buffer-faster").sentence


@pytest.mark.parametrize(("stride_bytes", "expected"), [(4, 4), (8, 8), (32, 32), (4096, 32), (0, 1)])
def test_sectors_of_a_strided_read_are_counted(stride_bytes, expected):
    assert sectors(stride_bytes) == expected


def test_a_warp_reads_fewer_sectors_along_a_row_than_down_a_column(plan):
    conclusion = conclusion_of(SOURCE.conclude(plan, []), "a-warp-reads-fewer-sectors")
    assert conclusion.holds is True and "4,096 bytes apart" in conclusion.sentence


def test_a_wrong_product_is_reported_and_decides_no_comparison(plan):
    outcomes = with_verdict(make_outcomes(plan, FAST), "tiled", Verdict(False, "a missing barrier"))
    holds = holds_by_name(SOURCE.conclude(plan, outcomes))
    assert holds["products-right"] is False and holds["coarsening-faster"] is None


def test_the_cpu_device_decides_only_conclusions_without_times():
    plan = SOURCE.plan(CPU, silent)
    holds = holds_by_name(SOURCE.conclude(plan, make_outcomes(plan, FAST)))
    assert holds.pop("registers-cost-a-block-here") is False  # computed for an A100
    for name in ("coalescing-faster", "coarsening-faster", "double-buffer-faster"):
        assert holds.pop(name) is None
    assert set(holds.values()) == {True}
