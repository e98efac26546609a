"""Tsinghua's sweeps: their optimum, and the value from which on they are flat."""

from __future__ import annotations

import pytest
from made_up_outcomes import CPU, GPU, conclusion_of, holds_by_name, make_outcomes, silent, with_verdict

from cudamm.courses.published_figures import TSINGHUA_FIGURES
from cudamm.courses.reproduce_tsinghua import SOURCE, flat_from
from cudamm.execution.case import Verdict

TILES = (1, 2, 4, 8, 16, 32, 64)
BLOCKS = (1, 2, 4, 8, 16, 32)


@pytest.fixture
def plan():
    return SOURCE.plan(GPU, silent)


@pytest.fixture
def published_ms(plan):
    """Return the runs of the students' report, by the labels of the cases."""
    cases = plan.groups[0].cases
    assert len(cases) == len(TSINGHUA_FIGURES) == 14
    return {case.label: list(f.runs_ms) for case, f in zip(cases, TSINGHUA_FIGURES, strict=True)}


def times_by_label(method, name, values, times_ms):
    return {f"{method}, {name} = {value}": ms for value, ms in zip(values, times_ms, strict=True)}


def tiles(*times_ms):
    return times_by_label("method 2", "TILE_SIZE", TILES, times_ms)


def blocks(*times_ms):
    return times_by_label("method 3", "BLOCK_SIZE", BLOCKS, times_ms)


def report_of(plan, times):
    return SOURCE.conclude(plan, make_outcomes(plan, times))


def test_the_sweeps_have_five_runs_of_int32_products(plan):
    (group,) = plan.groups
    assert group.settings.runs == 5
    assert {case.problem.element.name for case in group.cases} == {"int32"}
    assert {case.problem.shape.m for case in group.cases} == {1024}
    assert any("size" in remark for remark in plan.remarks)


def test_every_conclusion_holds_for_the_published_runs(plan, published_ms):
    report = report_of(plan, published_ms)
    assert set(holds_by_name(report).values()) == {True}
    assert [row.ratio for row in report.rows] == pytest.approx([1.0] * 14, rel=0.01)
    sentence = conclusion_of(report, "method-3-gains").sentence
    assert "21.8 times" in sentence or "21.7" in sentence


def test_only_the_shape_of_a_sweep_is_compared(plan, published_ms):
    """Times of a device that is ten times as fast give ratios of one."""
    faster = {label: [ms / 10 for ms in runs] for label, runs in published_ms.items()}
    report = report_of(plan, faster)
    assert [row.ratio for row in report.rows] == pytest.approx([1.0] * 14, rel=0.01)


def test_the_measured_time_is_the_mean_of_the_runs(plan, published_ms):
    report = report_of(plan, published_ms | {"method 1": [1.0, 2.0, 3.0, 4.0, 10.0]})
    (row,) = [row for row in report.rows if row.label == "method 1"]
    assert row.measured == pytest.approx(4.0)


def test_another_optimum_contradicts_the_published_one(plan, published_ms):
    report = report_of(plan, published_ms | tiles(8.0, 4.0, 2.0, 1.0, 3.0, 9.0, 20.0))
    holds = holds_by_name(report)
    assert holds["method-2-has-optimum"] is True
    assert holds["method-2-best-at-4"] is False
    assert "TILE_SIZE 8" in conclusion_of(report, "method-2-best-at-4").sentence


def test_another_best_tile_is_explained_with_numbers_of_threads(plan, published_ms):
    """The GPU of `made_up_outcomes` has 132 multiprocessors with 2048 threads each."""
    report = report_of(plan, published_ms | tiles(0.426, 0.2989, 0.342, 0.498, 1.5, 25.0, 103.0))
    sentence = conclusion_of(report, "method-2-best-at-4").sentence
    for words in ("0.2989 ms", "0.342 ms", "262,144 threads at 2", "65,536 threads at 4", "holds 270,336"):
        assert words in sentence, words


def test_the_gain_of_larger_blocks_is_reported_with_numbers(plan, published_ms):
    report = report_of(plan, published_ms | blocks(50.0, 9.0, 3.0, 2.0, 1.5, 1.0))
    sentence = conclusion_of(report, "method-3-flat-from-8").sentence
    assert "from BLOCK_SIZE 8 to 32" in sentence and "4 times less often" in sentence
    assert "the speed-up of method 3 is 2.0 here, 0.99 in the report" in sentence


@pytest.mark.parametrize(
    ("times_ms", "which_end"), [((7.0, 6, 5, 4, 3, 2, 1), "end"), ((1.0, 2, 3, 4, 5, 6, 7), "start")]
)
def test_a_minimum_at_either_end_of_a_sweep_is_no_optimum(plan, published_ms, times_ms, which_end):
    report = report_of(plan, published_ms | tiles(*times_ms))
    assert holds_by_name(report)["method-2-has-optimum"] is False
    assert which_end in conclusion_of(report, "method-2-has-optimum").sentence


@pytest.mark.parametrize(
    ("times_ms", "expected"),
    [
        ((51.74, 9.09, 3.26, 2.38, 2.38, 2.41), 8),
        ((50.0, 9.0, 3.0, 2.0, 1.0, 0.95), 16),
        ((50.0, 9.0, 3.0, 2.0, 1.5, 1.0), None),
        ((50.0, 9.0, 3.0, 2.0, 1.0, 1.5), None),
        ((1.0, 1.0, 1.05, 1.0, 1.09, 1.0), 1),
        ((1.0, 1.0, 1.12, 1.0, 1.09, 1.0), 8),
    ],
)
def test_a_sweep_is_flat_where_times_stay_within_a_tenth_of_the_lowest(times_ms, expected):
    assert flat_from(dict(zip(BLOCKS, times_ms, strict=True))) == expected


def test_the_block_size_at_which_method_3_flattens_is_reported(plan, published_ms):
    report = report_of(plan, published_ms | blocks(50.0, 9.0, 3.0, 2.0, 1.0, 0.95))
    holds = holds_by_name(report)
    assert holds["method-3-flattens"] is True and holds["method-3-flat-from-8"] is False
    assert "flat from BLOCK_SIZE 16 on" in conclusion_of(report, "method-3-flattens").sentence
    report = report_of(plan, published_ms | blocks(50.0, 9.0, 3.0, 2.0, 1.5, 1.0))
    holds = holds_by_name(report)
    assert holds["method-3-flattens"] is False and holds["method-3-flat-from-8"] is False
    assert "not flat at any BLOCK_SIZE" in conclusion_of(report, "method-3-flattens").sentence


def test_a_step_without_gain_is_reported(plan, published_ms):
    report = report_of(plan, published_ms | blocks(50.0, 9.0, 8.9, 2.0, 2.0, 2.0))
    conclusion = conclusion_of(report, "method-3-gains")
    assert conclusion.holds is False
    assert "from 2 to 4" in conclusion.sentence


def test_an_incomplete_sweep_leaves_its_own_conclusions_undecided(plan, published_ms):
    del published_ms["method 2, TILE_SIZE = 16"]
    report = report_of(plan, published_ms)
    holds = holds_by_name(report)
    assert holds["method-2-has-optimum"] is None and holds["method-3-flattens"] is True
    assert "TILE_SIZE = 16" in conclusion_of(report, "method-2-has-optimum").sentence
    assert {row.ratio for row in report.rows} == {None}


def test_success_requires_every_product_to_be_right(plan, published_ms):
    assert conclusion_of(report_of(plan, published_ms), "success").sentence.startswith("Success!")
    outcomes = with_verdict(
        make_outcomes(plan, published_ms), "method 1", Verdict(False, "C[0][0]: expected 1, got 2")
    )
    conclusion = conclusion_of(SOURCE.conclude(plan, outcomes), "success")
    assert conclusion.holds is False
    assert "Success" not in conclusion.sentence and "expected 1, got 2" in conclusion.sentence


def test_emulated_sweeps_decide_only_whether_products_are_right(published_ms):
    plan = SOURCE.plan(CPU, silent)
    report = report_of(plan, published_ms)
    holds = holds_by_name(report)
    assert holds.pop("success") is True
    assert set(holds.values()) == {None}
    assert all("only the times of a GPU" in c.sentence for c in report.checks if c.holds is None)
    assert {row.ratio for row in report.rows} == {None}
