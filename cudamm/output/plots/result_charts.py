"""The charts of `bench` and `sweep`, chosen by which parameters and sizes vary in the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cudamm.courses import published_figures
from cudamm.kernels.method import Value
from cudamm.output.best_row import best_of_several, speed_order
from cudamm.output.number_format import significant, variant
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
    Series,
    caption,
)
from cudamm.output.plots.points import (
    grouped,
    in_order,
    rate_point,
    representative,
    scale_of,
    side_by_side,
    swept_parameters,
    time_point,
)
from cudamm.output.result_marks import EMULATED, NATIVE, PADDED, execution_sign, marks_of, several_gpus
from cudamm.output.results_view import ResultRow, ResultsView, caches_of

MOST_CHARTS = 6
MOST_BARS = 20
"""Maximum number of bars for a search over three parameters or more."""


def drawing_of(view: ResultsView, date: str | None = None) -> Drawing:
    """Return the charts of measured variants, without any if nothing was timed.

    - If one parameter of a method varies: median time against it, a line a method.
    - If two vary: a heat map. If more vary: a heat map of the two with most values, with the best over the
      other parameters in each cell, and the fastest variants as bars.
    - If several sizes were measured and no parameter varies: the rate against the size.
    - Otherwise the rates as bars, in the order of the results.

    Each size and element type has a chart of its own, unless the size is what varies.

    Args:
        date: of the measurement, as YYYY-MM-DD; None: today's.
    """
    return captioned(view, charts_of(view), date)


def charts_of(view: ResultsView) -> list[Chart]:
    """Return all charts of `drawing_of`."""
    rows = [row for row in view.rows if row.is_timed]
    of_methods = grouped(rows, lambda row: row.result.method)
    varied = {method: swept_parameters(group) for method, group in of_methods.items()}
    styles = {name: i for i, name in enumerate(dict.fromkeys(map(_method, rows)))}
    if any(varied.values()):
        problems = grouped(rows, lambda row: row.problem).values()
        return [chart for group in problems for chart in _charts_of_problem(group, varied, styles)]
    types = grouped(filter(_has_rate, rows), lambda row: row.result.dtype).values()
    return [_over_sizes(g) if len({row.problem for row in g}) > 1 else _ladder(g) for g in types]


def captioned(view: ResultsView, charts: Sequence[Chart], date: str | None = None) -> Drawing:
    """Return charts of some results as one picture, MOST_CHARTS at most, with what its marks mean."""
    shown = tuple(charts[:MOST_CHARTS])
    remarks = _remarks(view, shown)
    if len(charts) > MOST_CHARTS:
        remarks.append(f"The first {MOST_CHARTS} of {len(charts)} charts")
    return Drawing(shown, caption(view.device, remarks, date))


def _charts_of_problem(
    rows: Sequence[ResultRow], varied: Mapping[str, list[str]], styles: Mapping[str, int]
) -> Iterator[Chart]:
    """Yield one problem's charts: a line chart per parameter, a heat map per method that varies several."""
    still = [row for row in rows if not varied[row.result.method]]
    lone = list(dict.fromkeys(names[0] for names in varied.values() if len(names) == 1))
    for name in lone:
        swept = [row for row in rows if varied[row.result.method] == [name]]
        if swept:
            yield _over_parameter(name, swept, still, styles)
    of_methods = grouped(rows, lambda row: row.result.method)
    searched = {method: group for method, group in of_methods.items() if len(varied[method]) > 1}
    for method, group in searched.items():
        yield _heat_map(group, varied[method])
        if len(varied[method]) > 2 and any(map(_has_rate, group)):
            yield _fastest(group)
    if searched and still and not lone:
        best = [min(group, key=speed_order) for group in searched.values()]
        rated = list(filter(_has_rate, [*still, *best]))
        if rated:
            yield _ladder(rated)


def _over_parameter(
    name: str, swept: Sequence[ResultRow], still: Sequence[ResultRow], styles: Mapping[str, int]
) -> LineChart:
    """Return median times against one parameter. Methods that do not vary it are single points or levels."""
    with_it = [*swept, *(row for row in still if name in row.result.params)]
    axis, places = _axis(name, [row.result.params[name] for row in with_it])
    series: list[Series] = []
    for method, group in grouped(with_it, lambda row: row.result.method).items():
        best = best_of_several(group)
        points = [time_point(places[row.result.params[name]], row, row is best) for row in group]
        fixed = {other: value for other, value in group[0].result.params.items() if other != name}
        label = variant(_method(group[0]), fixed)
        if best is not None:
            label += f", best at {best.result.params[name]}: {significant(best.median_ms)} ms"
        series.append(_line(label, points, styles[_method(group[0])]))
        series += _published(method, name, group)
    for row in still:
        if name not in row.result.params:
            label = f"{_method(row)}, {significant(row.median_ms)} ms"
            level = (Point(0.0, row.median_ms, row=row),)
            series.append(Series(label, level, "level", styles[_method(row)]))
    times = Axis("median time (ms)", scale_of(point.y for one in series for point in one.points))
    return LineChart(_title(swept[0]), axis, times, tuple(series))


def _published(method: str, name: str, rows: Sequence[ResultRow]) -> Iterator[Series]:
    """Yield a course's curve over the values that were measured, scaled to the same minimum."""
    numbers = [value for row in rows if isinstance(value := row.result.params[name], int)]
    if len(numbers) < len(rows):
        return
    figures = [
        figure
        for figure in published_figures.swept(method, name)
        if min(numbers) <= figure.params[name] <= max(numbers)
    ]
    if len(figures) < 2:
        return
    scale = min(row.median_ms for row in rows) / min(figure.mean_ms for figure in figures)
    points = tuple(Point(float(figure.params[name]), figure.mean_ms * scale) for figure in figures)
    yield Series(f"{figures[0].source}, scaled", points, "published")


def _over_sizes(rows: Sequence[ResultRow]) -> LineChart:
    """Return rates against the size, a line per variant."""
    square = all(row.problem.is_square for row in rows)

    def size(row: ResultRow) -> Value:
        return row.problem.n if square else row.problem.shape

    rising = sorted(rows, key=lambda row: row.problem.m * row.problem.n * row.problem.k)
    axis, places = _axis("n (M = N = K)" if square else "M x N x K", [size(row) for row in rising])
    series = tuple(
        _line(label, [rate_point(places[size(row)], row) for row in group], i)
        for i, (label, group) in enumerate(grouped(rows, _variant).items())
    )
    rates = Axis(rows[0].unit, scale_of(point.y for one in series for point in one.points))
    return LineChart(rows[0].problem.kind, axis, rates, series)


def _ladder(rows: Sequence[ResultRow]) -> BarChart:
    """Return rates as bars, in the order of the rows."""
    best = best_of_several(rows)
    bars = tuple(_bar(row, _variant(row), row is best) for row in rows)
    return BarChart(_title(rows[0]), rows[0].unit, bars)


def _fastest(rows: Sequence[ResultRow]) -> BarChart:
    """Return the rates of the fastest variants, sorted."""
    best = best_of_several(rows)
    ordered = sorted(filter(_has_rate, rows), key=speed_order)[:MOST_BARS]
    of = f"the fastest {len(ordered)} of {len(rows)}" if len(ordered) < len(rows) else "all, sorted"
    bars = tuple(_bar(row, row.parameters or _variant(row), row is best) for row in ordered)
    return BarChart(f"{rows[0].result.method}, {_title(rows[0])}: {of}", rows[0].unit, bars)


def _bar(row: ResultRow, label: str, best: bool) -> Bar:
    point = rate_point(0.0, row, best)
    text = f"{significant(point.y)} {'best' if best else 'dropped' if point.hollow else ''}".strip()
    return Bar(label, point.y, text, point.low, point.high, point.hollow, best)


def _heat_map(rows: Sequence[ResultRow], names: Sequence[str]) -> HeatMap:
    """Return times over the two parameters with most values, the best over the others in each cell."""
    values = {name: in_order(row.result.params[name] for row in rows) for name in names}
    most = sorted(names, key=lambda name: -len(values[name]))[:2]
    y_name, x_name = sorted(most, key=lambda name: len(values[name]))
    best = best_of_several(rows)
    cells = grouped(rows, lambda row: (row.result.params[x_name], row.result.params[y_name]))

    def cell(x: Value, y: Value) -> Cell | None:
        row = representative(cells.get((x, y), []))
        if row is None:
            return None
        is_best = any(r is best for r in cells[x, y])
        return Cell(row.median_ms, significant(row.median_ms), row.result.status != "ok", is_best)

    others = [name for name in names if name not in most]
    label = "median time (ms)" + (f", best over {', '.join(others)}" if others else "")
    return HeatMap(
        f"{rows[0].result.method}, {_title(rows[0])}", label, x_name, y_name,
        tuple(map(str, values[x_name])), tuple(map(str, values[y_name])),
        tuple(tuple(cell(x, y) for x in values[x_name]) for y in values[y_name]),
    )  # fmt: skip


def _remarks(view: ResultsView, charts: Sequence[Chart]) -> list[str]:
    """Return the remarks of a caption, which follow device and date."""
    rows = [row.result for row in view.rows if row.is_timed]
    caches = caches_of(rows)
    how = [f"L2 {caches}"] if caches else []
    if any(not row.fmad for row in rows):
        how.append("no fused multiply-add")
    found = [", ".join(["Medians", *how])]
    if any(len(row.timing.samples_ms) > 1 for row in rows) and not all(
        isinstance(chart, HeatMap) for chart in charts
    ):
        found.append("Error bars: interquartile range")
    series = [s for chart in charts if isinstance(chart, LineChart) for s in chart.series]
    if any(point.best for s in series for point in s.points):
        found.append("Marked: the best of its line")
    dropped = sum(row.status == "dropped" for row in rows)
    if dropped:
        found.append(f"Hollow: {dropped} dropped early, clearly slower than the best")
    counts = {"failed": 0, "skipped": 0, "without a time": 0}
    for row in view.rows:
        if not row.is_timed:
            counts[row.result.status if row.result.status in counts else "without a time"] += 1
    if any(counts.values()):
        left_out = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        found.append(f"Not drawn: {left_out}")
    if any(row.verdict.correct is None for row in rows):
        found.append("Rows that were not verified are not marked as best")
    if any(s.kind == "published" for s in series):
        found.append(f"{published_figures.TSINGHUA}: int32, size not stated, scaled to the same minimum")
    marks = marks_of(rows)
    texts = [mark.text for mark in marks if mark in (EMULATED, NATIVE)]
    texts += [mark.note for mark in marks if mark is PADDED]
    texts += filter(None, [several_gpus(rows)])
    return found + [text[0].upper() + text[1:] for text in texts]


def _axis(label: str, values: Sequence[Value]) -> tuple[Axis, dict[Value, float]]:
    """Return an axis and the place of each value on it. Words are evenly spaced, in the order given."""
    numbers = [value for value in values if isinstance(value, int)]
    if len(numbers) < len(values):
        words = list(dict.fromkeys(values))
        return side_by_side(label, words), {word: float(place) for place, word in enumerate(words)}
    ticks = tuple((float(number), str(number)) for number in sorted(set(numbers)))
    is_logarithmic = all(number > 0 and number & (number - 1) == 0 for number in numbers)
    axis = Axis(label, "log2" if is_logarithmic else "linear", ticks)
    return axis, {number: float(number) for number in numbers}


def _line(label: str, points: Sequence[Point], style: int) -> Series:
    """Return points joined from left to right."""
    return Series(label, tuple(sorted(points, key=lambda point: point.x)), "line", style)


def _has_rate(row: ResultRow) -> bool:
    """Return whether a row has a rate. An emulated kernel has none."""
    return row.rate is not None


def _method(row: ResultRow) -> str:
    """Return the method, with a sign if it did not run on a GPU."""
    return row.result.method + execution_sign(row.result.execution)


def _variant(row: ResultRow) -> str:
    return variant(_method(row), row.result.params)


def _title(row: ResultRow) -> str:
    return f"{row.problem.spaced}, {row.problem.kind}"
