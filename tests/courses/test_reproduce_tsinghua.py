"""Tsinghua's sweeps: where the optimum lies, and from where on they are flat."""

from __future__ import annotations

import pytest
from made_up_outcomes import CPU, GPU, check, made_up, silent, verdicts, with_verdict

from cudamm.courses.published_figures import TSINGHUA_FIGURES
from cudamm.courses.reproduce_tsinghua import SOURCE, flat_from
from cudamm.execution.case import Verdict

TILES = (1, 2, 4, 8, 16, 32, 64)
BLOCKS = (1, 2, 4, 8, 16, 32)


@pytest.fixture
def plan():
    return SOURCE.plan(GPU, silent)


@pytest.fixture
def theirs(plan):
    """The report's own runs, by our labels."""
    cases = plan.groups[0].cases
    assert len(cases) == len(TSINGHUA_FIGURES) == 14
    return {case.label: list(f.runs_ms) for case, f in zip(cases, TSINGHUA_FIGURES, strict=True)}


def sweep(method, name, values, times_ms):
    return {f"{method}, {name} = {value}": ms for value, ms in zip(values, times_ms, strict=True)}


def tiles(*times_ms):
    return sweep("method 2", "TILE_SIZE", TILES, times_ms)


def blocks(*times_ms):
    return sweep("method 3", "BLOCK_SIZE", BLOCKS, times_ms)


def concluded(plan, times):
    return SOURCE.conclude(plan, made_up(plan, times))


def test_it_runs_int32_five_times(plan):
    (group,) = plan.groups
    assert group.settings.runs == 5
    assert {case.problem.element.name for case in group.cases} == {"int32"}
    assert {case.problem.shape.m for case in group.cases} == {1024}
    assert any("size" in remark for remark in plan.remarks)


def test_the_reports_own_runs_uphold_every_conclusion(plan, theirs):
    findings = concluded(plan, theirs)
    assert set(verdicts(findings).values()) == {True}
    assert [row.ratio for row in findings.rows] == pytest.approx([1.0] * 14, rel=0.01)
    assert (
        "21.8 times" in check(findings, "method-3-gains").sentence
        or "21.7" in check(findings, "method-3-gains").sentence
    )


def test_only_the_shape_is_compared(plan, theirs):
    """A device ten times as fast throughout gives ratios of one."""
    faster = {label: [ms / 10 for ms in runs] for label, runs in theirs.items()}
    findings = concluded(plan, faster)
    assert [row.ratio for row in findings.rows] == pytest.approx([1.0] * 14, rel=0.01)


def test_the_mean_is_taken_as_in_the_report(plan, theirs):
    findings = concluded(plan, theirs | {"method 1": [1.0, 2.0, 3.0, 4.0, 10.0]})
    (row,) = [row for row in findings.rows if row.label == "method 1"]
    assert row.measured == pytest.approx(4.0)


def test_another_optimum_is_a_finding(plan, theirs):
    findings = concluded(plan, theirs | tiles(8.0, 4.0, 2.0, 1.0, 3.0, 9.0, 20.0))
    held = verdicts(findings)
    assert held["method-2-has-optimum"] is True
    assert held["method-2-best-at-4"] is False
    assert "TILE_SIZE 8" in check(findings, "method-2-best-at-4").sentence


def test_why_another_tile_is_best_is_said_in_numbers(plan, theirs):
    """At n = 1024, on the 132 multiprocessors of the GPU of `made_up_outcomes`, each of 2048 threads."""
    findings = concluded(plan, theirs | tiles(0.426, 0.2989, 0.342, 0.498, 1.5, 25.0, 103.0))
    sentence = check(findings, "method-2-best-at-4").sentence
    for said in ("0.2989 ms", "0.342 ms", "262,144 threads at 2", "65,536 threads at 4", "holds 270,336"):
        assert said in sentence, said


def test_what_further_blocking_gains_is_said_in_numbers(plan, theirs):
    findings = concluded(plan, theirs | blocks(50.0, 9.0, 3.0, 2.0, 1.5, 1.0))
    sentence = check(findings, "method-3-flat-from-8").sentence
    assert "from BLOCK_SIZE 8 to 32" in sentence and "4 times less often" in sentence
    assert "2.00 times as fast here" in sentence or "2.0 times as fast here" in sentence
    assert "0.99 times as fast there" in sentence


@pytest.mark.parametrize(
    ("times_ms", "where"), [((7.0, 6, 5, 4, 3, 2, 1), "end"), ((1.0, 2, 3, 4, 5, 6, 7), "start")]
)
def test_an_optimum_at_the_edge_is_none(plan, theirs, times_ms, where):
    findings = concluded(plan, theirs | tiles(*times_ms))
    assert verdicts(findings)["method-2-has-optimum"] is False
    assert where in check(findings, "method-2-has-optimum").sentence


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
def test_flat_is_within_a_tenth_of_the_lowest_from_there_on(times_ms, expected):
    assert flat_from(dict(zip(BLOCKS, times_ms, strict=True))) == expected


def test_where_method_3_flattens_here(plan, theirs):
    findings = concluded(plan, theirs | blocks(50.0, 9.0, 3.0, 2.0, 1.0, 0.95))
    held = verdicts(findings)
    assert held["method-3-flattens"] is True and held["method-3-flat-from-8"] is False
    assert "flat from BLOCK_SIZE 16 on" in check(findings, "method-3-flattens").sentence
    findings = concluded(plan, theirs | blocks(50.0, 9.0, 3.0, 2.0, 1.5, 1.0))
    held = verdicts(findings)
    assert held["method-3-flattens"] is False and held["method-3-flat-from-8"] is False
    assert "not flat at any BLOCK_SIZE" in check(findings, "method-3-flattens").sentence


def test_a_step_without_gain_is_named(plan, theirs):
    findings = concluded(plan, theirs | blocks(50.0, 9.0, 8.9, 2.0, 2.0, 2.0))
    found = check(findings, "method-3-gains")
    assert found.holds is False
    assert "from 2 to 4" in found.sentence


def test_an_incomplete_sweep_shows_nothing(plan, theirs):
    del theirs["method 2, TILE_SIZE = 16"]
    findings = concluded(plan, theirs)
    held = verdicts(findings)
    assert held["method-2-has-optimum"] is None and held["method-3-flattens"] is True
    assert "TILE_SIZE = 16" in check(findings, "method-2-has-optimum").sentence
    assert {row.ratio for row in findings.rows} == {None}


def test_success_needs_every_product(plan, theirs):
    assert check(concluded(plan, theirs), "success").sentence.startswith("Success!")
    outcomes = with_verdict(made_up(plan, theirs), "method 1", Verdict(False, "C[0][0]: expected 1, got 2"))
    found = check(SOURCE.conclude(plan, outcomes), "success")
    assert found.holds is False
    assert "Success" not in found.sentence and "expected 1, got 2" in found.sentence


def test_emulated_sweeps_show_nothing(theirs):
    plan = SOURCE.plan(CPU, silent)
    findings = concluded(plan, theirs)
    held = verdicts(findings)
    assert held.pop("success") is True
    assert set(held.values()) == {None}
    assert all("emulated" in c.sentence for c in findings.checks if c.holds is None)
    assert {row.ratio for row in findings.rows} == {None}
