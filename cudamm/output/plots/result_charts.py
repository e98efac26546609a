"""What `bench` and `sweep` draw: charts that follow from the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from cudamm.benchmark.result import Result
from cudamm.courses import published
from cudamm.devices.device import DeviceInfo
from cudamm.kernels.method import Value
from cudamm.output.bench_table import EXECUTION_NOTES, rate_unit
from cudamm.output.console import milliseconds, parameters, significant
from cudamm.output.plots.chart import (
    Axis,
    Bar,
    BarChart,
    Cell,
    Chart,
    Drawing,
    HeatMap,
    LineChart,
    Point,
    Scale,
    Series,
    caption,
)

MOST_CHARTS = 6
MOST_BARS = 20
"""Of a search over three parameters or more."""
DECADE = 10.0
"""Ratio of two times, above which their axis is logarithmic."""

T = TypeVar("T")


def drawing_of(device: DeviceInfo, results: Sequence[Result], date: str | None = None) -> Drawing:
    """The charts of measured variants, without any where nothing was timed.

    - Where one parameter of a method varies: median time against it, a line a method.
    - Where two do: a heat map; more than two: a heat map of those that have most values, the best over the
      others in each cell, and the fastest variants as bars.
    - Where several sizes were measured and no parameter varies: the rate against the size.
    - Otherwise the rates as bars, in the order of the results.

    Each size and element type has a chart of its own, but where the size is what varies.

    Args:
        date: of the measurement, as YYYY-MM-DD; today's where it is None.
    """
    rows = [row for row in results if row.median_ms and row.status in ("ok", "dropped")]
    varied = {method: _varied(group) for method, group in _grouped(rows, lambda row: row.method)}
    styles = {label: i for i, label in enumerate(dict.fromkeys(_method(row) for row in rows))}
    charts: list[Chart] = []
    if any(varied.values()):
        for _, group in _grouped(rows, _problem):
            charts += _charts_of_problem(group, varied, styles)
    else:
        for _, group in _grouped(rows, lambda row: row.dtype):
            several = len({_size(row) for row in group}) > 1
            charts.append(_over_sizes(group) if several else _ladder(group))
    return captioned(device, results, charts, date)


def captioned(
    device: DeviceInfo, results: Sequence[Result], charts: Sequence[Chart], date: str | None = None
) -> Drawing:
    """Charts of some results as one picture, as many as it takes, with what its marks mean."""
    rows = [row for row in results if row.median_ms and row.status in ("ok", "dropped")]
    remarks = _remarks(results, rows, list(charts[:MOST_CHARTS]))
    if len(charts) > MOST_CHARTS:
        remarks.append(f"The first {MOST_CHARTS} of {len(charts)} charts")
    return Drawing(tuple(charts[:MOST_CHARTS]), caption(device.name, remarks, date))


def _charts_of_problem(
    rows: Sequence[Result], varied: dict[str, list[str]], styles: dict[str, int]
) -> Iterator[Chart]:
    """One problem's: a line chart a parameter, a heat map a method that has several."""
    still = [row for row in rows if not varied[row.method]]
    lone = list(dict.fromkeys(names[0] for names in varied.values() if len(names) == 1))
    for name in lone:
        swept = [row for row in rows if varied[row.method] == [name]]
        if swept:
            yield _over_parameter(name, swept, still, styles)
    searched = [rows for method, rows in _grouped(rows, lambda r: r.method) if len(varied[method]) > 1]
    for group in searched:
        names = varied[group[0].method]
        yield _heat_map(group, names)
        if len(names) > 2:
            yield _fastest(group)
    if searched and still and not lone:
        best = [min(group, key=_time) for group in searched]
        yield _ladder([*still, *best])


def _over_parameter(
    name: str, swept: Sequence[Result], still: Sequence[Result], styles: dict[str, int]
) -> LineChart:
    """Median times against one parameter; methods that do not vary it as single points, or as levels."""
    with_it = [*swept, *(row for row in still if name in row.params)]
    position, ticks, scale = _positions([row.params[name] for row in with_it])
    series: list[Series] = []
    for _, group in _grouped(with_it, lambda row: row.method):
        best = _best(group)
        points = tuple(
            sorted((_time_point(position[row.params[name]], row, row is best) for row in group), key=_x)
        )
        fixed = {other: value for other, value in group[0].params.items() if other != name}
        label = f"{_method(group[0])} {parameters(fixed)}".strip()
        if best is not None and len(group) > 1:
            label += f", best at {best.params[name]}: {milliseconds(best.median_ms)} ms"
        series.append(Series(label, points, "line", styles[_method(group[0])]))
        series += _published(group[0].method, name, group)
    for row in still:
        if name not in row.params:
            level = Point(0.0, _time(row))
            label = f"{_method(row)}, {milliseconds(row.median_ms)} ms"
            series.append(Series(label, (level,), "level", styles[_method(row)]))
    times = [point.y for one in series for point in one.points]
    y_scale: Scale = "log10" if max(times) > DECADE * min(times) else "linear"
    return LineChart(
        _title(swept[0]), Axis(name, scale, ticks), Axis("median time (ms)", y_scale), tuple(series)
    )


def _published(method: str, name: str, rows: Sequence[Result]) -> Iterator[Series]:
    """A course's curve over the values that were measured, scaled to the same minimum."""
    numbers = [value for row in rows if isinstance(value := row.params[name], int)]
    if len(numbers) < len(rows):
        return
    figures = [
        figure
        for figure in published.swept(method, name)
        if min(numbers) <= figure.params[name] <= max(numbers)
    ]
    if len(figures) < 2:
        return
    scale = min(_time(row) for row in rows) / min(figure.mean_ms for figure in figures)
    points = tuple(Point(float(figure.params[name]), figure.mean_ms * scale) for figure in figures)
    yield Series(f"{figures[0].source}, scaled", points, "published")


def _over_sizes(rows: Sequence[Result]) -> LineChart:
    """Rates against the size, a line a variant."""
    square = all(row.m == row.n == row.k for row in rows)
    sizes = sorted(rows, key=lambda row: row.m * row.n * row.k)
    position, ticks, scale = _positions([row.n if square else _size(row) for row in sizes])
    series = []
    for i, (label, group) in enumerate(_grouped(rows, _variant)):
        points = [_rate_point(position[row.n if square else _size(row)], row, False) for row in group]
        series.append(Series(label, tuple(sorted(points, key=_x)), "line", i))
    rates = [point.y for one in series for point in one.points]
    y_scale: Scale = "log10" if max(rates) > DECADE * min(rates) else "linear"
    return LineChart(
        _types(rows[0]),
        Axis("n (M = N = K)" if square else "M x N x K", scale, ticks),
        Axis(rate_unit(rows[0]), y_scale),
        tuple(series),
    )


def _ladder(rows: Sequence[Result]) -> BarChart:
    """Rates as bars, in the order of the rows."""
    best = _best(rows)
    return BarChart(_title(rows[0]), rate_unit(rows[0]), tuple(_bar(row, row is best) for row in rows))


def _fastest(rows: Sequence[Result]) -> BarChart:
    """The rates of the fastest variants, sorted."""
    best = _best(rows)
    ordered = sorted(rows, key=_time)[:MOST_BARS]
    of = f"the fastest {len(ordered)} of {len(rows)}" if len(ordered) < len(rows) else "all, sorted"
    title = f"{rows[0].method}, {_title(rows[0])}: {of}"
    bars = tuple(_bar(row, row is best, with_method=False) for row in ordered)
    return BarChart(title, rate_unit(rows[0]), bars)


def _bar(row: Result, best: bool, with_method: bool = True) -> Bar:
    rate = row.gflops or 0.0
    point = _rate_point(0.0, row, best)
    text = f"{significant(rate)} {'best' if best else 'dropped' if point.hollow else ''}".strip()
    label = _variant(row) if with_method or not row.params else parameters(row.params)
    return Bar(label, rate, text, point.low, point.high, point.hollow, best)


def _heat_map(rows: Sequence[Result], names: Sequence[str]) -> HeatMap:
    """Times over the two parameters that have most values, the best over the others in each cell."""
    count = {name: len({row.params[name] for row in rows}) for name in names}
    most = sorted(names, key=lambda name: -count[name])[:2]
    y_name, x_name = sorted(most, key=lambda name: count[name])
    xs, ys = (_ordered({row.params[name] for row in rows}) for name in (x_name, y_name))
    best = _best(rows)
    cells: list[list[Cell | None]] = [[None] * len(xs) for _ in ys]
    for (x, y), group in _grouped(rows, lambda row: (row.params[x_name], row.params[y_name])):
        # A row that was dropped has a time of a sample or two: it counts only where there is no other.
        row = min(group, key=lambda row: (row.status != "ok", _time(row)))
        cells[ys.index(y)][xs.index(x)] = Cell(
            _time(row), milliseconds(row.median_ms), row.status != "ok", any(r is best for r in group)
        )
    others = [name for name in names if name not in most]
    label = "median time (ms)" + (f", best over {', '.join(others)}" if others else "")
    return HeatMap(
        f"{rows[0].method}, {_title(rows[0])}", label, x_name, y_name,
        tuple(map(str, xs)), tuple(map(str, ys)), tuple(map(tuple, cells)),
    )  # fmt: skip


def _remarks(results: Sequence[Result], rows: Sequence[Result], charts: Sequence[Chart]) -> list[str]:
    """What a caption says beside device and date."""
    found = []
    caches = sorted({row.timing.cache for row in rows if row.execution == "gpu"})
    how = ["L2 " + " and ".join(caches)] if caches else []
    if any(not row.fmad for row in rows):
        how.append("no fused multiply-add")
    found.append(", ".join(["Medians", *how]))
    if any(len(row.timing.samples_ms) > 1 for row in rows) and any(
        not isinstance(chart, HeatMap) for chart in charts
    ):
        found.append("Error bars: interquartile range")
    if any(_has_mark(chart) for chart in charts):
        found.append("Marked: the best of its line")
    dropped = sum(row.status == "dropped" for row in rows)
    if dropped:
        found.append(f"Hollow: {dropped} dropped early, as clearly slower than the best")
    counts = {"failed": 0, "skipped": 0, "without a time": 0}
    drawn = {id(row) for row in rows}
    for row in results:
        if id(row) not in drawn:
            counts[row.status if row.status in counts else "without a time"] += 1
    if any(counts.values()):
        left_out = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        found.append(f"Not drawn: {left_out}")
    if any(row.verdict.correct is None for row in rows):
        found.append("Not verified, so none is called best")
    if any(s.kind == "published" for chart in charts if isinstance(chart, LineChart) for s in chart.series):
        found.append(f"{published.TSINGHUA}: int32, its size not stated, scaled to the same minimum")
    found += [note for kind, note in EXECUTION_NOTES.items() if any(row.execution == kind for row in rows)]
    if any(row.padded for row in rows):
        found.append("Some matrices are padded; rates count the real size")
    return found


def _has_mark(chart: Chart) -> bool:
    return isinstance(chart, LineChart) and any(point.best for s in chart.series for point in s.points)


def _varied(rows: Sequence[Result]) -> list[str]:
    """The parameters of a method that have several values among its rows."""
    names = dict.fromkeys(name for row in rows for name in row.params)
    return [name for name in names if len({row.params.get(name) for row in rows}) > 1]


def _best(rows: Sequence[Result]) -> Result | None:
    """The one of highest rate among several, of those that were verified."""
    right = [row for row in rows if row.status == "ok" and row.verdict.correct]
    return max(right, key=lambda row: row.gflops or 0.0) if right and len(rows) > 1 else None


def _positions(
    values: Sequence[Value],
) -> tuple[dict[Value, float], tuple[tuple[float, str], ...], Scale]:
    """Where values stand along an axis, its ticks and its scale; words stand evenly, in their order."""
    numbers = [value for value in dict.fromkeys(values) if isinstance(value, int)]
    if len(numbers) < len(set(values)):
        words = list(dict.fromkeys(values))
        places = {word: float(i) for i, word in enumerate(words)}
        return places, tuple((place, str(word)) for word, place in places.items()), "linear"
    scale: Scale = "log2" if all(_is_power_of_two(number) for number in numbers) else "linear"
    ordered = sorted(numbers)
    return {n: float(n) for n in numbers}, tuple((float(n), str(n)) for n in ordered), scale


def _ordered(values: set[Value]) -> list[Value]:
    """Numbers by size, then words."""
    return sorted(values, key=lambda value: (isinstance(value, str), value if isinstance(value, int) else 0))


def _time_point(x: float, row: Result, best: bool) -> Point:
    of = row.statistics
    several = of is not None and of.count > 1
    low, high = (of.q1_ms, of.q3_ms) if of is not None and several else (None, None)
    return Point(x, _time(row), low, high, row.status == "dropped", best)


def _rate_point(x: float, row: Result, best: bool) -> Point:
    """A rate with its interval: the quartiles of the times, the slower one the lower rate."""
    rate, time = row.gflops or 0.0, _time_point(x, row, best)
    low = rate * time.y / time.high if time.high else None
    high = rate * time.y / time.low if time.low else None
    return Point(x, rate, low, high, time.hollow, best)


def _x(point: Point) -> float:
    return point.x


def _time(row: Result) -> float:
    return row.median_ms or 0.0


def _method(row: Result) -> str:
    """The method with the mark that its note begins with, where it did not run on a GPU."""
    return f"{row.method} {EXECUTION_NOTES.get(row.execution, '')[:1]}".strip()


def _variant(row: Result) -> str:
    return f"{_method(row)} {parameters(row.params)}".strip()


def _size(row: Result) -> str:
    return f"{row.m}x{row.n}x{row.k}"


def _problem(row: Result) -> tuple[str, str]:
    return _size(row), row.dtype


def _types(row: Result) -> str:
    return row.dtype if row.fmad else f"{row.dtype}, no fused multiply-add"


def _title(row: Result) -> str:
    return f"{row.m} x {row.n} x {row.k}, {_types(row)}"


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


K = TypeVar("K")


def _grouped(rows: Sequence[T], key: Callable[[T], K]) -> Iterator[tuple[K, list[T]]]:
    """Rows by what they share, in the order of their first ones."""
    groups: dict[K, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return iter(groups.items())
