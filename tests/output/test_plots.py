"""The charts of known results, and their drawing as pictures and in the terminal."""

from __future__ import annotations

import io
import itertools
import math
import re
import statistics
import struct
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from cudamm.benchmark.result import Result, Timing
from cudamm.courses import published_figures
from cudamm.devices.device import DeviceInfo
from cudamm.errors import NoDeviceError, UsageError
from cudamm.execution.case import Verdict
from cudamm.output.plots.chart import Axis, BarChart, Drawing, HeatMap, LineChart, Point, Series
from cudamm.output.plots.labels import place
from cudamm.output.plots.matplotlib_picture import contents
from cudamm.output.plots.plot import Plot
from cudamm.output.plots.result_charts import drawing_of
from cudamm.output.plots.roofline_chart import RooflinePoint, roofline
from cudamm.output.plots.style import PALETTE, TERMINAL_COLOURS, characters, look
from cudamm.output.plots.terminal_charts import render
from cudamm.output.plots.ticks import ticks
from cudamm.output.results_view import results_view

GPU = DeviceInfo("gpu", "gpu", "Some GPU [8 GB]", {})
DATE = "2026-01-31"
RIGHT = Verdict(True)


def result(method="tiled", runs=(1.0,), *, n=1024, shape=None, status="ok", verdict=RIGHT, **other):
    m, width, k = shape or (n, n, n)
    fields = {"dtype": "float32", "execution": "gpu", "padded": False, "fmad": True, "params": {}} | other
    samples = list(runs) if status in ("ok", "dropped") else []
    return Result(
        method=method, m=m, n=width, k=k, status=status, timing=Timing(samples, "cold"), verdict=verdict,
        **fields,
    )  # fmt: skip


def swept(method, name, times, fixed=None, **other):
    fixed = fixed or {}
    return [result(method, (ms,), params={name: value} | fixed, **other) for value, ms in times.items()]


TWO = [
    result("tiled-coarse", (ms,), params={"COARSE": coarse, "BLOCK_SIZE": block})
    for (coarse, block), ms in zip(
        itertools.product((1, 2, 4), (16, 32)), (6.0, 5.0, 4.0, 1.0, 2.0, 3.0), strict=True
    )
]
THREE = [
    result("mine", (x + y / 10 + z / 100,), params={"X": x, "Y": y, "Z": z})
    for x, y, z in itertools.product(range(1, 6), (1, 2), (1, 2, 3))
]
EVERY_KIND = {
    "ladder": [
        result("naive", (4.0, 4.5, 5.0)), result("numpy", (2.0,), execution="native"), result("tiled")
    ],
    "one parameter": [
        *swept("register-tile", "TILE_SIZE", {1: 3.0, 2: 2.0, 4: 1.0, 8: 90.0}),
        result("register-tile", (95.0,), params={"TILE_SIZE": 16}, status="dropped"),
        result("numpy", (20.0,), execution="native"),
    ],
    "sizes": [
        result(method, (n**3 / rate,), n=n)
        for n in (256, 512, 1024) for method, rate in (("naive", 1e6), ("tiled", 9e7))
    ],
    "two parameters": TWO,
    "three parameters": THREE,
    "many": [
        result("mine", (1.0 + abs(x - 20) + abs(y - 9),), params={"X": x, "Y": y})
        for x in range(1, 36) for y in range(1, 34)
    ],
}  # fmt: skip
CHARTS_AS_PICTURES = ["ladder", "sizes", "three parameters", "many"]
"""Names of results that together have every chart and layout of a picture, beside the roofline."""

ROOFLINE = roofline(
    19500, 1555,
    [RooflinePoint("naive", 0.25, 300), RooflinePoint("tiled", 4, 3000, 6220), RooflinePoint("wide", 40)],
    title="A100", caption="an A100",
)  # fmt: skip

SINGLE_POINT = Drawing(
    (LineChart("", Axis("x", "log2"), Axis("y", "log10"), (Series("s", (Point(4, 2),)),)),), "caption"
)
"""A drawing that takes little time."""


def drawn(device, results, date=None):
    return drawing_of(results_view(device.name, results), date)


def only(results, **options):
    (chart,) = drawn(GPU, results, DATE, **options).charts
    return chart


def lines(chart, kind="line"):
    return {series.label: series for series in chart.series if series.kind == kind}


def shown(drawing, width=100, **options):
    file = io.StringIO()
    render(Console(file=file, width=width, highlight=False, **options), drawing)
    return file.getvalue()


# Charts of results.


def test_one_variant_per_method_is_drawn_as_bars_of_rates_in_the_given_order():
    chart = only(EVERY_KIND["ladder"])
    assert isinstance(chart, BarChart) and chart.label == "GFLOP/s"
    assert [bar.label for bar in chart.bars] == ["naive", "numpy ‡", "tiled"]
    assert [bar.value for bar in chart.bars] == pytest.approx([2 * 1024**3 / ms / 1e6 for ms in (4.5, 2, 1)])
    assert [bar.best for bar in chart.bars] == [False, False, True]
    assert all(re.match(r"[\d.]+", bar.text) for bar in chart.bars)
    assert only([result(dtype="int32")]).label == "Gop/s"


def test_finalists_of_several_gpus_come_before_rows_of_other_gpus_and_the_caption_says_so():
    def row(x, y, z, ms, device, is_final=False):
        params = {"X": x, "Y": y, "Z": z}
        return result("mine", (ms,), params=params, device=device, is_final=is_final)

    rows = [
        row(1, 1, 1, 2.0, "gpu:0", is_final=True), row(1, 2, 1, 3.0, "gpu:0", is_final=True),
        row(1, 1, 2, 1.9, "gpu:1"), row(2, 1, 1, 4.0, "gpu:1"), row(2, 2, 1, 5.0, "gpu:0"),
    ]  # fmt: skip
    drawing = drawn(GPU, rows)
    heat, bars = drawing.charts
    assert [bar.value for bar in bars.bars] == pytest.approx(
        [2 * 1024**3 / ms / 1e6 for ms in (2, 3, 1.9, 4, 5)]
    )
    assert [bar.best for bar in bars.bars] == [True, False, False, False, False]
    assert heat.cells[0][0].value == 2.0 and heat.cells[0][0].best
    assert (
        "Measured on 2 GPUs (gpu:0, gpu:1), whose times are not compared with each other" in drawing.caption
    )
    assert "GPUs" not in drawn(GPU, [row(x, 1, 1, x, "gpu:0") for x in (1, 2)]).caption


def test_error_bars_are_quartiles_if_there_are_several_samples():
    runs = (4.0, 1.0, 2.0, 8.0, 3.0)
    q1, median, q3 = statistics.quantiles(runs, n=4, method="inclusive")
    several, single = only([result("naive", runs), result("tiled")]).bars
    work = 2 * 1024**3 / 1e6
    assert (several.low, several.value, several.high) == pytest.approx((work / q3, work / median, work / q1))
    assert (single.low, single.high) == (None, None)
    rows = [result(runs=runs, params={"B": 1}), result(params={"B": 2})]
    point, other = next(iter(lines(only(rows)).values())).points
    assert (point.low, point.y, point.high) == pytest.approx((q1, median, q3))
    assert other.low is None


def test_a_sweep_of_one_parameter_is_a_line_of_times_per_method():
    chart = only(
        [
            *swept("tiled", "BLOCK_SIZE", {32: 1.5, 8: 1.0, 16: 3.0}),
            *swept("naive", "BLOCK_SIZE", {8: 9.0, 16: 7.0}, fixed={"PAD": 1}),
        ]
    )
    assert isinstance(chart, LineChart)
    assert (chart.x.label, chart.x.scale, chart.y.label) == ("BLOCK_SIZE", "log2", "median time (ms)")
    assert chart.y.scale == "linear"  # the largest time is 9 times the smallest
    assert [label for _, label in chart.x.ticks] == ["8", "16", "32"]
    tiled, naive = lines(chart).values()
    assert [(p.x, p.y, p.best) for p in tiled.points] == [(8, 1.0, True), (16, 3.0, False), (32, 1.5, False)]
    assert tiled.label == "tiled, best at 8: 1.00 ms"
    assert naive.label == "naive PAD=1, best at 16: 7.00 ms"
    assert tiled.style != naive.style


@pytest.mark.parametrize(("slowest", "scale"), [(9.99, "linear"), (10.01, "log10")])
def test_times_that_span_more_than_a_decade_have_a_logarithmic_axis(slowest, scale):
    assert only(swept("mine", "B", {1: 1.0, 2: slowest})).y.scale == scale


def test_only_powers_of_two_have_a_logarithmic_parameter_axis():
    assert only(swept("mine", "B", {1: 1.0, 3: 2.0})).x.scale == "linear"
    assert only(swept("mine", "B", {0: 1.0, 2: 2.0})).x.scale == "linear"
    words = only(swept("mine", "MODE", {"row": 1.0, "column": 2.0, 3: 3.0}))
    assert words.x.ticks == ((0.0, "row"), (1.0, "column"), (2.0, "3"))


def test_a_method_that_was_not_swept_is_a_level_or_a_single_point():
    rows = [*swept("mine", "B", {1: 1.0, 2: 2.0}), result("numpy", (3.0,)), result("x", params={"B": 4})]
    chart = only(rows)
    assert [(series.label, series.points[0].y) for series in lines(chart, "level").values()] == [
        ("numpy, 3.00 ms", 3.0)
    ]
    assert [point.x for point in lines(chart)["x"].points] == [4]


def test_each_parameter_size_and_type_has_its_own_chart():
    both = [*swept("a", "B", {1: 1.0, 2: 2.0}), *swept("b", "T", {1: 1.0, 2: 2.0})]
    assert [chart.x.label for chart in drawn(GPU, both).charts] == ["B", "T"]
    rows = [
        result("a", n=n, dtype=dtype, params={"B": b})
        for n in (8, 16, 32, 64)
        for dtype in ("float32", "int32")
        for b in (1, 2)
    ]
    drawing = drawn(GPU, rows)
    assert [chart.title for chart in drawing.charts[:2]] == ["8 x 8 x 8, float32", "8 x 8 x 8, int32"]
    assert len(drawing.charts) == 6 and "The first 6 of 8 charts" in drawing.caption


def test_several_sizes_are_drawn_as_rates_against_n():
    chart = only(EVERY_KIND["sizes"])
    assert (chart.x.label, chart.x.scale, chart.y.label, chart.y.scale) == (
        "n (M = N = K)", "log2", "GFLOP/s", "log10",
    )  # fmt: skip
    assert set(lines(chart)) == {"naive", "tiled"}
    assert [(p.x, p.y) for p in lines(chart)["tiled"].points] == [
        (n, pytest.approx(180.0)) for n in (256, 512, 1024)
    ]
    by_type = drawn(GPU, [result(n=n, dtype=d) for n in (8, 16) for d in ("float32", "int32")])
    assert [(c.title, c.y.label) for c in by_type.charts] == [("float32", "GFLOP/s"), ("int32", "Gop/s")]


def test_shapes_that_are_not_square_are_evenly_spaced_smallest_first():
    shapes = [(2000, 20, 3000), (640, 480, 320), (10, 20, 30)]
    chart = only([result(shape=shape) for shape in shapes])
    assert [label for _, label in chart.x.ticks] == ["10x20x30", "640x480x320", "2000x20x3000"]
    assert [point.x for point in lines(chart)["tiled"].points] == [0, 1, 2]


def test_a_sweep_of_two_parameters_is_a_heat_map():
    chart = only(TWO)
    assert isinstance(chart, HeatMap) and chart.label == "median time (ms)"
    assert (chart.x_label, chart.columns, chart.y_label, chart.rows) == (
        "COARSE", ("1", "2", "4"), "BLOCK_SIZE", ("16", "32"),
    )  # fmt: skip
    assert [[cell.value for cell in row] for row in chart.cells] == [[6, 4, 2], [5, 1, 3]]
    assert [[cell.best for cell in row] for row in chart.cells] == [[False] * 3, [False, True, False]]
    assert chart.cells[1][1].text == "1.00"
    (incomplete,) = drawn(GPU, [*TWO[1:], result("tiled-coarse", status="failed")]).charts
    assert incomplete.cells[0][0] is None


def test_a_sweep_of_three_parameters_is_a_heat_map_and_bars_of_the_fastest():
    heat, bars = drawn(GPU, THREE).charts
    assert (heat.x_label, heat.y_label) == ("X", "Z") and "best over Y" in heat.label
    times = {(r.params["X"], r.params["Y"], r.params["Z"]): r.median_ms for r in THREE}
    for z, row in zip((1, 2, 3), heat.cells, strict=True):
        for x, cell in zip(range(1, 6), row, strict=True):
            assert cell.value == min(times[x, y, z] for y in (1, 2))
    assert len(bars.bars) == 20 and "20 of 30" in bars.title
    assert bars.bars[0].label == "X=1 Y=1 Z=1" and bars.bars[0].best
    rates = [bar.value for bar in bars.bars]
    assert rates == sorted(rates, reverse=True)


def test_bars_compare_a_method_with_the_best_of_a_search():
    heat, bars = drawn(GPU, [*TWO, result("numpy", (3.0,))]).charts
    assert isinstance(heat, HeatMap)
    assert [bar.label for bar in bars.bars] == ["numpy", "tiled-coarse COARSE=2 BLOCK_SIZE=32"]


def test_failed_rows_are_counted_and_dropped_rows_are_hollow():
    rows = swept("mine", "B", {1: 1.0, 2: 2.0})
    rows += [result("mine", (5.0,), params={"B": 4}, status="dropped")]
    rows += [result("mine", params={"B": b}, status="failed") for b in (8, 16)]
    rows += [result("mine", params={"B": 32}, status="skipped"), result("empty", ())]
    drawing = drawn(GPU, rows, DATE)
    (series,) = lines(drawing.charts[0]).values()
    assert [(p.x, p.hollow) for p in series.points] == [(1, False), (2, False), (4, True)]
    for part in (
        "Some GPU [8 GB], 2026-01-31",
        "L2 cold",
        "Hollow: 1 dropped",
        "2 failed, 1 skipped, 1 without",
    ):
        assert part in drawing.caption
    heat = only(
        [*TWO, result("tiled-coarse", (9.0,), params={"COARSE": 8, "BLOCK_SIZE": 32}, status="dropped")]
    )
    assert heat.cells[1][3].hollow and heat.cells[0][3] is None
    bars = only([result(), result("naive", (4.0,), status="dropped")])
    assert [bar.hollow for bar in bars.bars] == [False, True]


def test_only_verified_rows_are_marked_as_best():
    unverified = Verdict(None)
    for rows in ([*TWO], EVERY_KIND["ladder"], swept("mine", "B", {1: 1.0, 2: 2.0})):
        plain = [result(r.method, r.timing.samples_ms, params=r.params, verdict=unverified) for r in rows]
        drawing = drawn(GPU, plain)
        assert "best=True" not in repr(drawing.charts) and "not verified" in drawing.caption
        assert "best=True" in repr(drawn(GPU, rows).charts)
    dropped = [result("a", (0.5,), params={"B": 1}, status="dropped"), *swept("a", "B", {2: 1.0, 4: 2.0})]
    assert [p.best for p in next(iter(lines(only(dropped)).values())).points] == [False, True, False]


def test_emulated_rows_have_no_rate_and_are_marked():
    assert drawn(GPU, [result(execution="emulated")]).charts == ()
    beside = drawn(GPU, [result(execution="emulated"), result("naive", execution="gpu")])
    assert [bar.label for bar in beside.charts[0].bars] == ["naive"]
    drawing = drawn(GPU, swept("tiled", "BLOCK_SIZE", {8: 2.0, 16: 1.0}, execution="emulated"))
    times = drawing.charts[0].series[0]
    assert times.label == "tiled †" and not any(point.best for point in times.points)
    assert "† executed by the CPU device" in drawing.caption and "‡" not in drawing.caption


@pytest.mark.parametrize(
    ("method", "name", "minimum"), [("register-tile", "TILE_SIZE", 4), ("tiled", "BLOCK_SIZE", 8)]
)
def test_the_published_curve_is_scaled_to_the_minimum_of_the_sweep(method, name, minimum):
    times = {1: 9.0, 2: 0.7, 4: 0.9, 8: 1.2, 16: 1.0}
    drawing = drawn(GPU, swept(method, name, times))
    (curve,) = [series for series in drawing.charts[0].series if series.kind == "published"]
    assert curve.label == "Tsinghua 2022, scaled" and "scaled to the same minimum" in drawing.caption
    published = {figure.params[name]: figure.mean_ms for figure in published_figures.swept(method, name)}
    assert {p.x for p in curve.points} == set(times)  # more values were published
    assert min(p.y for p in curve.points) == pytest.approx(0.7)
    for point in curve.points:
        assert point.y / 0.7 == pytest.approx(published[int(point.x)] / min(published[v] for v in times))
    lowest = min(curve.points, key=lambda p: p.y).x
    assert lowest == minimum or published[int(lowest)] == pytest.approx(published[minimum], rel=0.01)


@pytest.mark.parametrize(
    "rows",
    [
        swept("naive", "BLOCK_SIZE", {8: 1.0, 16: 2.0}),
        swept("tiled", "PAD", {8: 1.0, 16: 2.0}),
        swept("tiled", "BLOCK_SIZE", {64: 1.0, 128: 2.0}),
        TWO,
    ],
)
def test_sweeps_without_published_figures_have_no_published_curve(rows):
    assert "published" not in repr(drawn(GPU, rows).charts)


def test_results_without_times_have_no_charts():
    drawing = drawn(GPU, [result(status="failed"), result(status="skipped")])
    assert drawing.charts == () and shown(drawing) == ""


# Rooflines.


def test_the_roofline_bends_at_the_ridge_point():
    (chart,) = ROOFLINE.charts
    assert (chart.x.scale, chart.y.scale) == ("log10", "log10")
    slope, level = (series.points for series in chart.series if series.kind == "ceiling")
    ridge = 19500 / 1555
    assert slope[-1].x == level[0].x == pytest.approx(ridge)
    assert slope[-1].y == level[0].y == pytest.approx(19500)
    assert slope[0].y == pytest.approx(1555 * slope[0].x) and level[1].y == 19500
    points = lines(chart, "points")
    (ridge_point,) = points[f"ridge point: {ridge:.1f} op/B"].points
    assert (ridge_point.x, ridge_point.y) == pytest.approx((ridge, 19500))
    assert [(p.x, p.y, p.hollow, p.label) for p in points["measured"].points] == [
        (0.25, 300, False, "naive 300"), (4, 3000, False, "tiled 3000"),
    ]  # fmt: skip
    assert [(p.x, p.y, p.hollow, p.label) for p in points["bound"].points] == [
        (4, 6220, True, ""), (40, 19500, True, "wide ≤ 19500"),
    ]  # fmt: skip


def test_the_roofline_draws_further_ceilings_with_their_names():
    drawing = roofline(
        100, 10, [], other_bandwidths_gbytes_per_s={"L2": 40}, other_peaks_gflops={"without FMA": 50}
    )
    ceilings = {s.label: s.points for s in drawing.charts[0].series if s.kind == "ceiling"}
    assert list(ceilings) == [
        "bandwidth: 10 GB/s", "L2: 40 GB/s", "peak: 100 GFLOP/s", "without FMA: 50 GFLOP/s",
    ]  # fmt: skip
    assert ceilings["L2: 40 GB/s"][-1].x == pytest.approx(2.5)
    assert all(p.y <= 100.001 for points in ceilings.values() for p in points)


@pytest.mark.parametrize(
    ("peak", "bandwidth", "point"),
    [
        (0, 1, None), (1, -1, None), (math.inf, 1, None), (1, math.nan, None),
        (1, 1, RooflinePoint("x", 0.0)), (1, 1, RooflinePoint("x", 1.0, -1.0)),
        (1, 1, RooflinePoint("x", 1.0, None, 0.0)),
    ],
)  # fmt: skip
def test_the_roofline_refuses_numbers_that_are_not_positive(peak, bandwidth, point):
    with pytest.raises(ValueError, match="positive"):
        roofline(peak, bandwidth, [point] if point else [])


# Colours, ticks, labels and pictures.


def _luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_terminal_colours_have_contrast_on_black_and_on_white():
    for colour in filter(None, TERMINAL_COLOURS):
        luminance = _luminance(colour)
        assert (luminance + 0.05) / 0.05 >= 3 and 1.05 / (luminance + 0.05) >= 3, colour


def test_series_differ_by_marker_and_line_style():
    okabe_ito = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}
    assert set(PALETTE) < okabe_ito and len(set(PALETTE)) == 7
    assert len({look(style)[1:] for style in range(36)}) == 36  # marker and line
    assert len({look(style) for style in range(252)}) == 252
    points = [sign for style in range(31) for sign in characters(style)[1:]]
    assert len(set(points)) == 62


@given(
    st.sampled_from(["linear", "log2", "log10"]), st.floats(1e-6, 1e9), st.floats(1.0001, 1e9),
    st.integers(2, 14),
)  # fmt: skip
def test_ticks_are_few_ascending_and_within_the_range(scale, low, factor, most):
    high = low * factor
    values = [value for value, _ in ticks(Axis("", scale), low, high, most)]
    assert len(values) <= most and values == sorted(set(values))
    assert all(low * 0.99 - 1e-9 <= value <= high * 1.01 for value in values)


def test_ticks_near_the_largest_float_are_finite():
    values = [value for value, _ in ticks(Axis("", "log10"), 1e305, sys.float_info.max, 14)]
    assert len(values) > 2 and all(map(math.isfinite, values))


def test_given_ticks_are_thinned_if_there_are_too_many():
    axis = Axis("", ticks=tuple((float(i), str(i)) for i in range(100)))
    assert [label for _, label in ticks(axis, 0, 99, 5)] == ["0", "20", "40", "60", "80"]


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.floats(0, 1000), st.floats(0, 600)), min_size=1, max_size=8), st.integers(30, 120)
)  # fmt: skip
def test_labels_cover_neither_each_other_nor_points(points, width):
    height = 12
    places = place(points, [(width, height)] * len(points), points, (-200, -100, 1200, 700), 8)
    boxes = [(x, y, x + width, y + height) for x, y in places]
    for (left, bottom, right, top), other in itertools.combinations(boxes, 2):
        assert not (left < other[2] - 0.1 and other[0] < right - 0.1 and bottom < other[3] - 0.1
                    and other[1] < top - 0.1)  # fmt: skip
    for left, bottom, right, top in boxes:
        assert left >= -200 and right <= 1200 and bottom >= -100 and top <= 700
        assert not any(left < x < right and bottom < y < top for x, y in points)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CHARTS_AS_PICTURES)
@pytest.mark.slow
def test_every_chart_is_drawn_as_a_png_picture(name):
    png = contents(drawn(GPU, EVERY_KIND[name], DATE), "png")
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    assert width >= 1000 and height >= 300


@pytest.mark.slow
def test_pictures_contain_labels_titles_and_caption():
    svg = contents(drawn(GPU, EVERY_KIND["one parameter"], DATE), "svg").decode()
    for text in ("TILE_SIZE", "median time (ms)", "register-tile, best at 4: 1.00 ms", "numpy ‡, 20.0 ms",
                 "Tsinghua 2022, scaled", "Some GPU [8 GB], 2026-01-31"):  # fmt: skip
        assert text in svg
    assert "tiled 3000" in contents(ROOFLINE, "svg").decode()
    assert contents(SINGLE_POINT, "pdf").startswith(b"%PDF")


NAMES = ["a$b_{x$", "_mine", "漢字", "[red]", "a" * 150]
"""Names that matplotlib, rich or a terminal would interpret or fold."""


@pytest.mark.parametrize(
    "rows",
    [
        [row for name in NAMES for row in swept(name, "B$", {1: 1.0, 2: 2.0})],  # the legend
        [result(name) for name in NAMES],  # bars
        [*TWO[:-1], *(result(name) for name in NAMES)],  # bars beside a heat map
    ],
    ids=["lines", "bars", "heat map"],
)
def test_names_are_drawn_as_they_are(rows):
    drawing = drawn(DeviceInfo("gpu", "gpu", "Some $GPU_{x$ [red]", {}), rows, DATE)
    svg = contents(drawing, "svg").decode().replace("\n", "")
    terminals = [re.sub(r"\s*\n\s*", "", shown(drawing, width)) for width in (40, 100)]
    for name in NAMES:
        assert all(name in text for text in (svg, *terminals))
    assert "Some $GPU_{x$ [red]" in svg


def test_pictures_do_not_depend_on_the_matplotlib_style_of_the_user():
    import matplotlib

    picture = contents(SINGLE_POINT, "png")
    with matplotlib.rc_context({"figure.facecolor": "black", "font.size": 30, "text.usetex": True}):
        assert contents(SINGLE_POINT, "png") == picture


@pytest.mark.parametrize("width", [40, 60, 100])
@pytest.mark.parametrize("kind", [*EVERY_KIND, "roofline"])
def test_every_chart_fits_the_terminal(kind, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    drawing = ROOFLINE if kind == "roofline" else drawn(GPU, EVERY_KIND[kind], DATE)
    text = shown(drawing, width)
    inked = [line for line in text.splitlines() if re.search("[█▓░│┤]", line)]
    assert inked and max(cell_len(line.rstrip()) for line in inked) <= width
    assert "\x1b[" not in text and drawing.caption.split(",")[0] in text


def test_terminal_charts_contain_values_markers_and_letters():
    bars = shown(drawn(GPU, EVERY_KIND["ladder"], DATE), 80)
    rows = dict(re.findall(r"^(naive|numpy ‡|tiled) .*?([█▏▎▍▌▋▊▉▒]+)", bars, re.M))
    assert len(rows["naive"]) < len(rows["numpy ‡"]) < len(rows["tiled"])
    assert re.search(r"^naive .* 477$", bars, re.M) and re.search(r"^tiled .* 2150 best$", bars, re.M)
    heat = shown(drawn(GPU, TWO, DATE), 80)
    assert re.search(r"32 │ +5.00 │ ★ 1.00 │ +3.00 │", heat) and "BLOCK_SIZE down" in heat
    sweep = shown(drawn(GPU, EVERY_KIND["one parameter"], DATE), 80)
    axes = "\n".join(line for line in sweep.splitlines() if "│" in line or "┤" in line)
    assert (axes.count("●"), axes.count("★"), axes.count("○")) == (3, 1, 1) and "╌" in axes and "··" in axes
    plot = shown(ROOFLINE, 80)
    assert "a naive 300" in plot and "c wide ≤ 19500" in plot
    assert all(re.search(rf"[│┤].*{letter}.*│", plot) for letter in "abc")


def test_terminal_charts_are_coloured_only_if_the_palette_is_available():
    drawing = drawn(GPU, EVERY_KIND["one parameter"], DATE)
    coloured = shown(drawing, 80, force_terminal=True, color_system="truecolor")
    assert "38;2;0;114;178" in coloured
    for system in ("standard", None):
        text = shown(drawing, 80, force_terminal=True, color_system=system)
        assert not re.search(r"\x1b\[[\d;]*3\d", text)


# Picture files.


@pytest.mark.parametrize(("path", "library"), [("x.png", "matplotlib"), ("-", "plotext")])
def test_a_missing_library_is_reported_with_its_name(tmp_path, monkeypatch, path, library):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(NoDeviceError, match=rf"{library}.*cudamm\[plot\]"):
        Plot(path)
    assert not list(tmp_path.iterdir())


def test_a_picture_file_is_written_completely_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "x.png"
    path.write_text("old")
    with Plot(str(path)) as plot:
        assert path.read_text() == "old" and not plot.is_terminal
        plot.write(Drawing((), ""))  # without charts
    assert path.read_text() == "old"
    with pytest.raises(UsageError), Plot(str(path)):
        raise UsageError("what happens while it is open")
    assert [p.name for p in tmp_path.iterdir()] == ["x.png"] and path.read_text() == "old"
    with Plot(str(path)) as plot:
        plot.write(SINGLE_POINT)
    assert [p.name for p in tmp_path.iterdir()] == ["x.png"] and path.read_bytes().startswith(b"\x89PNG")


def test_a_single_point_is_drawn_with_a_margin():
    assert "●" in shown(SINGLE_POINT, 60)
    assert contents(SINGLE_POINT, "png")
