"""The tables of `bench`, `sweep` and `verify`, and `--style report`, for known results."""

from __future__ import annotations

import dataclasses
import io
import re

import pytest
from rich.console import Console

from cudamm.benchmark import verify
from cudamm.benchmark.result import Result, Timing
from cudamm.devices.device import DeviceInfo
from cudamm.execution.case import Verdict
from cudamm.output import bench_table, course_style, sweep_table, verify_table
from cudamm.output.console import console
from cudamm.output.number_format import significant
from cudamm.output.result_marks import marks_of
from cudamm.output.results_view import results_view

GPU = DeviceInfo("gpu", "gpu", "Some GPU [8 GB]", {})
RIGHT = Verdict(True, "", None, 1e-6, 4e-6)


def result(method="naive", runs=(1.0, 2.0, 6.0), *, status="ok", size=1000, timing=None, **other):
    fields = {"params": {"BLOCK_SIZE": 16}, "dtype": "float32", "execution": "gpu", "padded": False} | other
    is_right = status in ("ok", "dropped")
    return Result(
        method=method, m=size, n=size, k=size, fmad=True, status=status,
        timing=Timing(list(runs) if is_right else [], "cold", **timing or {"ended_by": "runs"}),
        **{"verdict": RIGHT if is_right else Verdict(False, fields.get("reason", ""))} | fields,
    )  # fmt: skip


def shown(render, results, width=200):
    file = io.StringIO()
    render(Console(file=file, width=width, highlight=False), results_view(GPU.name, results))
    return file.getvalue()


def verified(results, width=200):
    file = io.StringIO()
    verify_table.render(Console(file=file, width=width, highlight=False), GPU, results)
    return file.getvalue()


def rows_of(text):
    return [
        [cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if "│" in line
    ]


def test_rates_and_speed_ups_are_computed_from_medians():
    text = shown(bench_table.render, [result(), result("tiled", (0.5, 0.5, 0.5))])
    first, second = rows_of(text)
    assert {"1.00 2.00 6.00", "3.00", "2.00", "1.00", "1000", "1.00×", "✓"} <= set(first)
    assert {"0.500", "4000", "4.00×", "✓ ★"} <= set(second)
    assert (
        "GFLOP/s" in text
        and "over naive" in text
        and "★ the fastest verified row" in text
        and "Some GPU [8 GB]" in text
    )


def test_integer_products_have_a_rate_in_gop_per_second():
    text = shown(bench_table.render, [result(dtype="int32")])
    assert "Gop/s" in text and "GFLOP" not in text


def test_only_the_best_row_and_the_best_of_each_method_are_marked():
    sweep = [result(runs=(ms,), params={"BLOCK_SIZE": size}) for size, ms in ((8, 3.0), (16, 1.0), (32, 2.0))]
    marked = [row for row in rows_of(shown(bench_table.render, sweep)) if "★" in row[-1]]
    assert [row[1] for row in marked] == ["BLOCK_SIZE=16"]
    with_faster = [*sweep, result("tiled", (0.5,))]
    marked = [row for row in rows_of(shown(bench_table.render, with_faster)) if "*" in row[-1]]
    assert [row[1] for row in marked] == ["BLOCK_SIZE=16"]
    assert "the fastest verified row of its method" in shown(bench_table.render, with_faster)
    alone = shown(bench_table.render, sweep[:1])
    assert "*" not in alone and "★" not in alone


def test_a_failed_row_has_no_times_and_its_reason_is_below():
    text = shown(
        bench_table.render, [result(), result("tiled", status="failed", reason="C[0][0] is [red]wrong[/]")]
    )
    assert "FAILED" in rows_of(text)[1]
    assert "C[0][0] is [red]wrong[/]" in text


def test_the_first_timed_row_replaces_a_failed_baseline():
    text = shown(bench_table.render, [result(status="failed", reason="x"), result("tiled")])
    assert rows_of(text)[0][-2:] == ["", "FAILED"]
    assert rows_of(text)[1][-2] == "1.00×" and "over tiled" in text


def test_each_size_and_type_has_its_own_table():
    text = shown(bench_table.render, [result(), result(size=2000), result(size=2000, dtype="float64")])
    assert len(re.findall(r"x \d+ \(M x N x K\)", text)) == 3


def test_only_emulated_native_and_padded_rows_are_explained():
    assert "†" not in shown(bench_table.render, [result()])
    both = shown(bench_table.render, [result(execution="emulated"), result("cpu-simple", execution="native")])
    assert "naive †" in both and "cpu-simple ‡" in both and "times say nothing about a GPU" in both
    assert "zeros" in shown(bench_table.render, [result(padded=True)])
    transposed = "naive has A and B column by column; the host transposes beforehand, which is not timed"
    assert transposed not in shown(bench_table.render, [result()])
    assert transposed in shown(bench_table.render, [result(column_major=("A", "B"))])
    assert "zeros" not in both


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_table_of_bench_fits_the_width(width):
    results = [result(), result("tiled", (0.25, 0.25, 0.25))]
    text = shown(bench_table.render, results, width)
    assert max(map(len, text.splitlines())) <= width
    assert not re.search(r"\d[.x]?\d*…", text), "a number was cut off"
    if width >= 80:
        for row, expected in zip(
            rows_of(text), (["2.00", "1000", "1.00×"], ["0.250", "8000", "8.00×"]), strict=True
        ):
            assert set(expected) <= set(row)
            assert "✓" in row[-1]
    if width == 200:
        assert "1.00 2.00 6.00" in text


def test_samples_are_listed_only_if_they_fit():
    assert "1.00 1.00" in shown(bench_table.render, [result(runs=(1.0,) * 10)], 170)
    text = shown(bench_table.render, [result(runs=(1.0,) * 10)], 90)
    assert max(map(len, text.splitlines())) <= 90
    assert "✓" in text and "1.00 1.00" not in text


@pytest.mark.parametrize("many", [{"runs": (1.0,) * 11}, {"timing": {"ended_by": "noise"}}])
def test_many_samples_are_counted_and_not_listed(many):
    text = shown(bench_table.render, [result(**many)])
    assert "samples" in text and "noise" in text and "runs (ms)" not in text
    assert "1.00 1.00" not in text and "1.00 2.00" not in text


def test_a_row_has_count_median_minimum_and_noise_of_its_samples():
    text = shown(bench_table.render, [result(runs=(1.0, 2.0, 3.0), timing={"ended_by": "time"})])
    (row,) = rows_of(text)
    assert row[2:6] == ["3 …", "2.00", "1.00", "50%"]
    assert "… sampling ended at --max-time" in text
    assert "--max-time" not in shown(bench_table.render, [result(timing={"ended_by": "noise"})])


def test_a_speed_up_of_many_samples_has_an_interval():
    text = shown(bench_table.render, [result(runs=(2.0, 2.2) * 10), result("tiled", (1.0, 1.1) * 10)])
    first, second = rows_of(text)
    assert "1.00×" in first
    assert any(re.fullmatch(r"2\.\d+× \(\d\.\d+–\d\.\d+\)", cell) for cell in second), second


def test_throttled_and_short_times_are_marked_and_explained():
    throttled = {"throttled": 2, "throttle_reasons": ("power cap",)}
    text = shown(bench_table.render, [result(timing=throttled), result("tiled")])
    first, second = rows_of(text)
    assert "2.00 ~" in first and "2.00" in second
    assert "~ the GPU lowered its clock during this measurement (power cap)" in text
    short = result(runs=(0.01,) * 3, timing={"event_floor_ms": 0.002})
    text = shown(bench_table.render, [short])
    assert "0.0100 °" in rows_of(text)[0] and "2.0 µs" in text and "--hot" in text
    shared = result(runs=(0.01,) * 3, timing={"event_floor_ms": 0.002, "launches_per_sample": 200})
    assert "°" not in shown(bench_table.render, [shared])


def test_rows_that_are_not_verified_are_never_the_best():
    unverified = result(runs=(1.0,), params={"BLOCK_SIZE": 8}, verdict=Verdict(None))
    failed = result(status="failed", reason="x", params={"BLOCK_SIZE": 16})
    right = result(runs=(5.0,), params={"BLOCK_SIZE": 32})
    for results in ([unverified, failed, right], [right, failed, unverified]):
        marked = [
            row for row in rows_of(shown(bench_table.render, [*results, result("tiled")])) if "*" in row[-1]
        ]
        assert [row[1] for row in marked] == ["BLOCK_SIZE=32"]
        best = [row for row in rows_of(shown(render_sweep(), results)) if row[-1] == "best"]
        assert [row[1] for row in best] == ["BLOCK_SIZE=32"]
    text = shown(bench_table.render, [unverified, failed])
    assert "*" not in text and "★" not in text
    assert "best" not in [row[-1] for row in rows_of(shown(render_sweep(), [unverified, failed]))]


def render_sweep(top=None):
    return lambda console, view: sweep_table.render(console, view, top)


def test_a_sweep_is_sorted_by_time():
    results = [
        result(runs=(3.0,) * 9, params={"BLOCK_SIZE": 8}),
        result(runs=(9.0,), params={"BLOCK_SIZE": 4}, status="dropped"),
        result(runs=(1.0, 1.0, 2.0), params={"BLOCK_SIZE": 16}),
        result(params={"BLOCK_SIZE": 64}, status="failed", reason="4096 threads"),
    ]
    text = shown(render_sweep(), results)
    rows = rows_of(text)
    assert [row[1] for row in rows] == ["BLOCK_SIZE=16", "BLOCK_SIZE=8", "BLOCK_SIZE=4"]
    assert [row[-1] for row in rows] == ["best", "", "dropped"]
    assert rows[0][-2] == "" and rows[1][-2].startswith("3.00×") and rows[2][-2] == "9.00×"
    assert "1 failed" in text and "4096 threads" in text
    assert "1 row was dropped early" in text and "--full" in text
    first = shown(render_sweep(1), results)
    assert [row[1] for row in rows_of(first)] == ["BLOCK_SIZE=16"]
    assert "2 slower (not shown), 1 failed" in first


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_table_of_verify_fits_the_width(width):
    results = [result(size=size, dtype=t) for size in range(33, 39) for t in ("float32", "float64")]
    text = verified(results, width)
    assert max(map(len, text.splitlines())) <= width
    rows = [line for line in text.splitlines() if "float" in line and "✓" in line]
    assert [row.count("✓") for row in rows] == [6, 6]


def test_verify_shows_each_outcome_by_its_mark():
    equal = Verdict(True, "", True, 0.0, 1.0)
    results = [
        result(size=1),
        Result("naive", {"BLOCK_SIZE": 16}, 2, 2, 2, "float32", True, "gpu", False, "ok", verdict=equal),
        result(size=3, status="failed", reason="off"),
        result(size=4, status="skipped", reason="requires M == 17"),
    ]
    text = verified(results)
    (row,) = rows_of(text)
    assert row[3:7] == ["✓", "✓=", "✗", "-"]
    assert "off" in text and "requires M == 17" in text
    assert "2 of 4 results are right. 1 was skipped." in text and "Success!" not in text


def test_verify_prints_where_a_kernel_is_right_before_its_failures():
    wrong = dataclasses.replace(
        result(size=3, status="failed", reason="off"), right_where="right where M is a multiple of 32"
    )
    text = verified([wrong, result(size=32)])
    right = "naive BLOCK_SIZE=16 is right where M is a multiple of 32"
    assert text.index(right) < text.index("failed naive")


@pytest.mark.parametrize(("size", "is_success"), [(1, False), (2, True)])
def test_a_table_in_which_only_1x1x1_ran_is_no_success(size, is_success):
    results = [result(size=size), result(size=64, status="skipped", reason="requires M < 3")]
    assert ("Only 1x1x1 was run, which verifies nothing" in verified(results)) is not is_success
    assert verify.is_success(results) is is_success
    assert verify.is_success(results[:1]) and not verify.is_success(results[1:])


def test_style_report_prints_samples_and_their_mean():
    text = shown(course_style.render, [result(padded=True)])
    assert "(ms) (1.000000 + 2.000000 + 6.000000) / 3 = 3.000000\nSuccess!" in text
    assert "naive BLOCK_SIZE = 16 (padded)" in text


def test_style_report_compares_the_best_and_the_worst_mean():
    sweep = [
        result(runs=runs, params={"BLOCK_SIZE": size})
        for size, runs in ((8, (3.0, 3.0, 9.0)), (16, (1.0, 1.0, 4.0)), (32, (2.5, 2.5, 2.5)))
    ]
    text = shown(course_style.render, sweep)
    assert "(ms) (1.000000 + 1.000000 + 4.000000) / 3 = 2.000000" in text
    assert "The fastest of 3 is BLOCK_SIZE=16 with 2.000000 ms, 2.5 times as fast as BLOCK_SIZE=8." in text
    assert "The fastest of" not in shown(course_style.render, sweep[:1])


def test_style_report_does_not_compare_a_single_result():
    failed = result(status="failed", reason="off", params={"BLOCK_SIZE": 8})
    assert "as fast as" not in shown(course_style.render, [failed, result()])


def test_style_report_does_not_fold_long_lines():
    text = shown(course_style.render, [result(runs=(1.0,) * 40)], 80)
    assert any(line.startswith("(ms) (") and line.endswith("= 1.000000") for line in text.splitlines())


def test_colons_around_a_word_are_not_interpreted_as_emoji(capsys):
    # In the markup of rich, “:100:” and “:x:” are names of emoji. The console is that of the commands.
    failed = result("a:x:b", status="failed", reason="my.cu:100:5: error")
    bench_table.render(console(), results_view(GPU.name, [failed]))
    text = capsys.readouterr().out
    assert "a:x:b" in text and "my.cu:100:5: error" in text
    course_style.render(console(), results_view(GPU.name, [failed]))
    text = capsys.readouterr().out
    assert "a:x:b" in text and "my.cu:100:5: error" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0002417, "0.000242"), (0.24168, "0.242"), (1.0, "1.00"), (12.344, "12.3"), (9.996, "10.0"),
        (999.6, "1000"), (1949.6, "1950"), (123456.7, "123000"), (0.0, "0.00"),
    ],
)  # fmt: skip
def test_numbers_have_three_significant_digits(value, text):
    assert significant(value) == text
    assert significant(None) == ""


def beside_cublas(**kernel):
    known = {"ended_by": "runs", "fma_ceiling_gflops": 1e4}
    return [
        result("tiled", (0.5, 0.5), timing=known, **kernel),
        result("numpy", (4.0, 4.0), execution="native"),
        result("cublas", (0.4, 0.4), params={}, timing=known),
    ]


def test_rows_beside_cublas_have_shares_of_cublas_and_of_the_ceiling():
    text = shown(bench_table.render, beside_cublas())
    assert "of cuBLAS" in text and "of FMA ceiling" in text
    tiled, numpy, cublas = rows_of(text)
    assert tiled[-3:-1] == ["80%", "40%"]  # 0.4 ms / 0.5 ms; 2 x 1000^3 operations in 0.5 ms are 4000 GFLOP/s
    assert numpy[-3:-1] == ["10%", ""]
    assert cublas[-3:-1] == ["100%", "50%"]


def test_without_cublas_only_verbose_tables_have_shares_of_the_ceiling():
    rows = beside_cublas()[:2]
    text = shown(bench_table.render, rows)
    assert "of cuBLAS" not in text and "of FMA ceiling" not in text
    text = shown(lambda *given: bench_table.render(*given, verbose=True), rows)
    assert "of cuBLAS" not in text and "of FMA ceiling" in text
    assert [row[-2] for row in rows_of(text)] == ["40%", ""]


def test_only_a_rate_above_the_ceiling_is_explained():
    """2 x 1000^3 operations in 0.1 ms are 20,000 GFLOP/s, in 0.2 ms 10,000: as many as the ceiling."""
    known = {"ended_by": "runs", "fma_ceiling_gflops": 1e4}
    faster, equal = result("bf16x9", (0.1, 0.1), timing=known), result("tiled", (0.2, 0.2), timing=known)
    (mark,) = marks_of([faster, equal])
    assert mark.note.startswith("faster than the FMA ceiling: bf16x9; the ceiling applies to FMAs")
    assert marks_of([equal]) == []
    failed = result("bf16x9", (0.1, 0.1), timing=known, status="failed", reason="why")
    assert marks_of([failed]) == []


@pytest.mark.parametrize("status", ["failed", "skipped"])
def test_there_are_no_shares_of_cublas_without_its_time(status):
    tiled, _, cublas = beside_cublas()
    failed = result("cublas", status=status, params={}, reason="why")
    assert "of cuBLAS" not in shown(bench_table.render, [tiled, failed])
    text = shown(bench_table.render, [result("tiled", status=status, reason="why"), cublas])
    assert [row[-3] for row in rows_of(text)] == ["", "100%"]


def test_shares_are_those_of_the_cublas_row_of_the_same_table():
    doubles = [result("tiled", (3.0, 3.0), dtype="float64"), result("cublas", (1.5, 1.5), dtype="float64")]
    text = shown(bench_table.render, [*beside_cublas(), *doubles])
    assert [row[-2] for row in rows_of(text)[-2:]] == [
        "50%",
        "100%",
    ]  # without the column of the float32 ceiling


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_the_table_with_cublas_fits_the_width(width):
    text = shown(bench_table.render, beside_cublas(), width)
    assert max(map(len, text.splitlines())) <= width
    if width >= 80:
        assert "80%" in rows_of(text)[0]


def test_the_best_row_of_a_sweep_is_never_cublas():
    rows = [result("tiled", (0.5, 0.5)), result("cublas", (0.4, 0.4), params={})]
    text = shown(lambda *given: sweep_table.render(*given, None), rows)
    cublas, tiled = rows_of(text)
    assert (tiled[0], tiled[-1]) == ("tiled", "best")
    assert cublas[0] == "cublas" and "best" not in cublas and "0.8" in cublas[-2]
