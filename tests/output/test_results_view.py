"""The view of results that tables, plots and the page share: best rows, speed-ups and marks."""

from __future__ import annotations

from typing import Any

import pytest

from cudamm.benchmark.result import Result, Timing
from cudamm.benchmark.sample_statistics import Ratio
from cudamm.execution.case import Verdict
from cudamm.output.result_marks import BEST_OF_SWEEP, EMULATED, NATIVE
from cudamm.output.results_view import ProblemRows, results_view


def result(method: str = "tiled", ms: float = 1.0, count: int = 8, **other: Any) -> Result:
    fields: dict[str, Any] = {
        "params": {"BLOCK_SIZE": 16}, "m": 64, "n": 64, "k": 64, "dtype": "float32", "fmad": True,
        "execution": "gpu", "padded": False, "status": "ok", "verdict": Verdict(True),
    }  # fmt: skip
    timing = Timing([ms * (1 + i % 2 / 100) for i in range(count)], "cold", **other.pop("timing", {}))
    return Result(method, timing=timing, **fields | other)


def only(*results: Result, **options: Any) -> ProblemRows:
    (problem,) = results_view("Some GPU", results, **options).problems
    return problem


def test_rows_are_grouped_by_problem_in_the_order_of_the_results() -> None:
    results = [result(m=8), result("naive"), result("numpy", m=8), result(fmad=False)]
    view = results_view("Some GPU", results)
    assert [[row.label for row in problem.rows] for problem in view.problems] == [
        ["tiled", "numpy"], ["naive"], ["tiled"],
    ]  # fmt: skip
    assert str(view.problems[2].label) == "64 × 64 × 64 (M × N × K), float32, no fused multiply-add"


def test_the_best_row_is_verified_and_is_neither_cublas_nor_a_host_method() -> None:
    problem = only(
        result("naive", 4.0),
        result("numpy", 0.1, execution="native"),
        result("tiled", 2.0),
        result("coalesced", 1.0, verdict=Verdict(None)),
        result("wide", 0.5, status="failed", verdict=Verdict(False)),
        result("cublas", 0.4),
    )
    assert problem.best is problem.top is problem.rows[2]
    assert [row.is_best for row in problem.rows] == [False, False, True, False, False, False]
    assert only(result("numpy", execution="native")).best is not None
    alone = only(result("cublas"), result(verdict=Verdict(None)))
    assert alone.best is None and alone.top is alone.cublas is alone.rows[0]


def test_speed_ups_are_over_the_baseline_or_the_first_timed_row() -> None:
    rows = [
        result("numpy", 8.0, execution="native"), result("naive", status="failed", count=0),
        result("naive", 4.0), result(ms=2.0),
    ]  # fmt: skip

    def speed_ups(*results: Result, **options: Any) -> list[float | None]:
        ratios = [row.speed_up for row in only(*results, **options).rows]
        return [ratio.value if isinstance(ratio, Ratio) else ratio for ratio in ratios]

    assert speed_ups(*rows) == [None, None, 1.0, pytest.approx(2)]
    assert speed_ups(*rows, baseline="numpy") == [1.0, None, pytest.approx(2), pytest.approx(4)]
    assert speed_ups(*rows, baseline="tiled") == [None, None, pytest.approx(0.5), 1.0]
    assert speed_ups(rows[0], rows[1], rows[3]) == [None, None, 1.0]
    assert speed_ups(rows[0]) == [1.0]


def test_an_emulated_kernel_has_no_rate_and_is_never_the_best() -> None:
    problem = only(
        result("naive", 4.0, execution="emulated"),
        result("tiled", 2.0, execution="emulated"),
        result("numpy", 8.0, execution="native"),
    )
    naive, tiled, numpy = problem.rows
    assert naive.rate is tiled.rate is tiled.speed_up is tiled.slowdown is None
    assert problem.best is None and problem.baseline is numpy and numpy.rate is not None
    assert not any(mark.word == "best" for row in problem.rows for mark in row.marks)
    assert (problem.kernels_without_gpu, problem.timed_where_they_run) == ([naive, tiled], [numpy])


def test_only_the_best_of_several_rows_is_marked() -> None:
    problem = only(result("naive", 4.0), result(), result("cublas", 0.5))
    assert [row.signs("result") for row in problem.rows] == ["", " ★", ""]
    assert only(result()).rows[0].signs("result") == ""


def test_a_speed_up_has_an_interval_if_there_are_enough_samples() -> None:
    few, dropped, many = only(
        result("naive", 4.0), result(count=7), result(status="dropped"), result(ms=2.0)
    ).rows[1:]
    assert [few.speed_up, dropped.speed_up] == pytest.approx([4, 4], rel=0.02)
    assert isinstance(many.speed_up, Ratio) and many.speed_up.low <= 2 <= many.speed_up.high
    assert only(result("naive", 0.0), result(ms=0.0)).rows[1].speed_up is None


def test_the_best_of_several_rows_of_a_method_is_marked() -> None:
    view = results_view("", [result("naive"), result(ms=3.0), result(ms=2.0, verdict=Verdict(None))])
    assert [row.is_best_of_sweep for row in view.rows] == [False, True, False]
    assert BEST_OF_SWEEP in view.marks and view.rows[1].signs("result") == " *"
    assert BEST_OF_SWEEP not in results_view("", [result("naive"), result()]).marks


def test_the_view_has_the_marks_of_its_rows() -> None:
    throttled = result(timing={"throttled": 1, "throttle_reasons": ("power cap",), "ended_by": "time"})
    host, cpu = result("numpy", execution="native"), result("naive", execution="emulated")
    view = results_view("", [throttled, host, cpu, result("wide", execution="emulated", status="skipped")])
    assert [mark.word for mark in view.marks] == ["emulated", "host", "throttled", "out of time"]
    assert [[mark.word for mark in row.marks] for row in view.rows] == [
        ["throttled", "out of time"], ["host"], ["emulated"], [],
    ]  # fmt: skip
    assert "(power cap)" in view.marks[2].text and view.marks[:2] == (EMULATED, NATIVE)
    assert view.rows[0].signs("median") == " ~" and view.rows[0].signs("method") == ""


def test_the_time_of_a_failed_row_does_not_count() -> None:
    failed = only(result("naive", 4.0), result(ms=0.1, status="failed")).rows[1]
    assert failed.rate is not None and not failed.is_timed and not failed.is_right


def test_the_view_counts_the_rows_of_each_outcome() -> None:
    statuses = ["ok", "failed", "skipped", "dropped", "ok"]
    view = results_view("", [result(status=status) for status in statuses] + [result(verdict=Verdict(None))])
    assert view.counts == [
        (2, "measured and right"), (1, "not verified"), (1, "failed"), (1, "skipped"),
        (1, "dropped early, clearly slower than the best"),
    ]  # fmt: skip


def test_a_shortened_view_keeps_the_fastest_rows_the_baseline_and_cublas() -> None:
    rows = [result(params={"BLOCK_SIZE": i}, ms=5.0) for i in range(50)]
    rows += [result("naive", ms=9.0), result("tiled", ms=1.0), result("cublas", ms=0.5)]
    view = results_view("Some GPU", [*rows, *(result(m=m) for m in range(100, 110))])
    shortened = view.shortened(22)
    (first, *others), (whole, *_) = shortened.problems, view.problems
    assert [row.label for row in first.rows] == ["naive", "tiled", "cublas"]
    assert (first.best, first.baseline, first.cublas) == (whole.best, whole.baseline, whole.cublas)
    assert len(others) == 10
    assert view.shortened(100) is view
