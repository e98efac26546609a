"""Printed reproductions: the form of each course, any width, failures and interruptions."""

from __future__ import annotations

import io

import pytest
from made_up_outcomes import CPU, GPU, make_outcomes, silent, with_verdict
from rich.console import Console

from cudamm.courses import NAMES
from cudamm.courses.course_records import Outcome, Plan, Reproduction
from cudamm.courses.reproduce import find
from cudamm.execution.case import Verdict
from cudamm.output.reproduce_table import render


def reproduction(name, plan, outcomes, *, is_complete=True):
    source = find(name)
    findings = source.conclude(plan, outcomes)
    device = plan.setting.device
    return Reproduction(name, source.title, device, tuple(outcomes), findings, plan.remarks, is_complete)


def planned(name, setting) -> tuple[Plan, list[Outcome]]:
    plan = find(name).plan(setting, silent)
    labels = [case.label for group in plan.groups for case in group.cases]
    times = {label: [12.345678 / (i + 1)] * 5 for i, label in enumerate(labels)}
    return plan, make_outcomes(plan, times)


def printed(reproductions, width=240):
    text = io.StringIO()
    render(Console(file=text, width=width), reproductions)
    return text.getvalue()


@pytest.fixture(scope="module", params=NAMES)
def on_gpu(request):
    return reproduction(request.param, *planned(request.param, GPU))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_text_is_cut_off_at_any_width(on_gpu, width):
    text = printed([on_gpu], width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    # Lines may be wrapped, but every word of every conclusion is printed.
    words = text.split()
    for check in on_gpu.findings.checks:
        assert set(check.sentence.split()) <= set(words)


def test_every_conclusion_is_printed_with_its_verdict(on_gpu):
    lines = printed([on_gpu], width=1000).splitlines()
    for check in on_gpu.findings.checks:
        (line,) = [line for line in lines if check.sentence in line]
        verdict = {True: "holds", False: "does not hold", None: "not shown here"}[check.holds]
        assert line.startswith(f"{verdict}  ")


def test_cmu_is_printed_as_the_table_of_the_slides(no_nvcc):
    plan, outcomes = planned("cmu", GPU)
    rows = [line.split("│")[1:-1] for line in printed([reproduction("cmu", plan, outcomes)]).splitlines()]
    (row,) = [[cell.strip() for cell in row] for row in rows if row and row[0].strip() == "csimple"][:1]
    # The slides contain 4.95 ms and 434 GFLOP/s for n = 1024.
    result = outcomes[[o.case.label for o in outcomes].index("csimple")].result
    rate = 2 * 1024**3 / result.median_ms / 1e6
    assert row[:3] == ["csimple", "4.95", "434"]
    assert [float(cell.replace("×", "")) for cell in row[3:6]] == pytest.approx(
        [result.median_ms, rate, rate / 434], rel=5e-3
    )
    assert row[6] == "✓"


def test_tsinghua_is_printed_as_the_lines_of_the_report():
    plan, outcomes = planned("tsinghua", GPU)
    text = printed([reproduction("tsinghua", plan, outcomes)])
    for outcome in outcomes:
        runs = outcome.result.timing.samples_ms
        lines = f"{outcome.case.label}\n(ms) ({' + '.join(f'{ms:.6f}' for ms in runs)}) / 5 = {runs[0]:.6f}\n"
        assert lines + "Success!" in text
    # The report published 98.68 ms at TILE_SIZE 64, which is 41.46 times the best time.
    assert "98.68" in text and "41.46" in text


def test_failures_and_an_interruption_are_printed(no_nvcc):
    plan, outcomes = planned("sjtu", CPU)
    outcomes = with_verdict(outcomes, "tiled", Verdict(False, "a race [maybe]"))
    text = printed([reproduction("sjtu", plan, outcomes, is_complete=False)])
    assert "interrupted: some parts did not run" in text
    assert "failed tiled at 128x128x128: a race [maybe]" in text
    assert "† executed by the CPU device" in text
