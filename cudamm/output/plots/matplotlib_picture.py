"""Charts as a picture, drawn by matplotlib."""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cudamm.output.plots.chart import Axis, BarChart, Chart, Drawing, HeatMap, LineChart, Point, Series
from cudamm.output.plots.labels import place
from cudamm.output.plots.style import BLUE, GREY, VERMILLION, look
from cudamm.output.plots.ticks import forward, ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES = 10.0
WIDE_INCHES = 15.0
"""Width of a picture with three columns of charts, in inches."""
DOTS_PER_INCH = 150
FONT_POINTS = 10
CAPTION_CHARACTERS = {WIDTH_INCHES: 155, WIDE_INCHES: 235}
"""Maximum characters per line of the caption, by the picture's width, at CAPTION_POINTS."""
CAPTION_POINTS = 8.5
TITLE_CHARACTERS = {1: 100, 2: 48, 3: 48}
"""Maximum characters per line of a title, by the number of columns of charts."""

MOST_TICKS = 12
MOST_COLUMNS, MOST_ROWS = 14, 30
"""Maximum size of a heat map whose cells contain their values. A larger one gets a colour bar instead."""
HEADROOM = 0.04
"""Space above the upper end of a linear axis, as a share of the axis's range."""
LONG_LABEL = 22
"""Characters of a bar's label above which charts are not placed side by side."""


def contents(drawing: Drawing, kind: str) -> bytes:
    """Return the bytes of a `png`, `svg` or `pdf` file, with a white background in any user style."""
    import matplotlib.style
    from matplotlib.figure import Figure

    columns = drawing.columns or _columns(drawing.charts)
    rows = math.ceil(len(drawing.charts) / columns)
    heights = [
        max(_height(chart, columns) for chart in drawing.charts[row * columns : (row + 1) * columns])
        for row in range(rows)
    ]
    width = WIDTH_INCHES if columns < 3 else WIDE_INCHES
    lines = textwrap.wrap(drawing.caption, CAPTION_CHARACTERS[width])
    height = sum(heights) + 0.3 + 0.17 * len(lines)
    # The same drawing gives the same bytes: no date, and no random names in an SVG.
    settings: dict[Any, Any] = {"font.size": FONT_POINTS, "svg.hashsalt": "cudamm"}
    undated = {"CreationDate" if kind == "pdf" else "Date": None} if kind != "png" else {}
    with matplotlib.style.context("default"), matplotlib.rc_context(settings):
        figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout="constrained")
        grid = figure.add_gridspec(rows, columns, height_ratios=heights)
        drawn = []
        for i, chart in enumerate(drawing.charts):
            axes = figure.add_subplot(grid[i // columns, i % columns])
            _draw(axes, chart, columns)
            drawn.append((axes, chart))
        figure.supxlabel(
            "\n".join(lines), x=0.01, ha="left", fontsize=CAPTION_POINTS, parse_math=False, color="#333333"
        )
        saved = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # letters that the font lacks
            _label_points(figure, drawn)
            figure.savefig(saved, format=kind, dpi=DOTS_PER_INCH, metadata=undated)
    return saved.getvalue()


def _columns(charts: Sequence[Chart]) -> int:
    if len(charts) == 1:
        return 1
    long = any(
        len(label) > LONG_LABEL
        for chart in charts
        for label in ([bar.label for bar in chart.bars] if isinstance(chart, BarChart) else [])
    )
    wide = any(isinstance(chart, HeatMap) and len(chart.columns) > MOST_COLUMNS // 2 for chart in charts)
    return 1 if long or wide else 2


def _height(chart: Chart, columns: int) -> float:
    """Return a chart's height in inches, title and labels included."""
    if isinstance(chart, BarChart):
        return 1.1 + 0.29 * len(chart.bars)
    if isinstance(chart, HeatMap):
        return 1.5 + min(0.42 * len(chart.rows), 8.0)
    entries = sum(bool(series.label) for series in chart.series)
    labelled = any(point.label for series in chart.series for point in series.points)
    return (5.3 if labelled else 3.5) + 0.2 * math.ceil(entries / _legend_columns(entries, columns))


def _legend_columns(entries: int, columns: int) -> int:
    return 2 if entries > 5 and columns == 1 else 1


def _draw(axes: Axes, chart: Chart, columns: int) -> None:
    if isinstance(chart, BarChart):
        _bars(axes, chart, columns)
    elif isinstance(chart, HeatMap):
        _heat_map(axes, chart, columns)
    else:
        _lines(axes, chart, columns)


def _title(axes: Axes, title: str, columns: int) -> None:
    if title:
        axes.set_title(
            _folded(title, columns), loc="left", fontsize=FONT_POINTS, fontweight="bold", parse_math=False
        )


def _folded(title: str, columns: int) -> str:
    """Return a title folded so that it does not reach into the next chart."""
    return "\n".join(textwrap.wrap(title, TITLE_CHARACTERS[columns]))


def _lines(axes: Axes, chart: LineChart, columns: int) -> None:
    for name, axis in (("x", chart.x), ("y", chart.y)):
        if axis.scale != "linear":
            base: dict[str, Any] = {"base": 2 if axis.scale == "log2" else 10}
            getattr(axes, f"set_{name}scale")("log", **base)
    handles: list[tuple[Any, str]] = []
    for series in chart.series:
        handle = _series(axes, series)
        if series.label:
            handles.append((handle, series.label))
    axes.set_xlabel(chart.x.label, parse_math=False)
    axes.set_ylabel(chart.y.label, parse_math=False)
    _scale(axes, "x", chart.x)
    _scale(axes, "y", chart.y)
    axes.grid(alpha=0.3)
    if not handles:
        _title(axes, chart.title, columns)
        return
    # The legend is above the axes, where it covers nothing. Its title is the chart's title.
    legend = axes.legend(
        [handle for handle, _ in handles], [f"series {i}" for i in range(len(handles))],
        loc="lower left", bbox_to_anchor=(-0.02, 1.0), alignment="left", frameon=False, borderaxespad=0.2,
        title=_folded(chart.title, columns) or None,
        ncols=_legend_columns(len(handles), columns), fontsize=FONT_POINTS - 1, handlelength=3.2,
    )  # fmt: skip
    legend.get_title().set(fontweight="bold", fontsize=FONT_POINTS, parse_math=False)
    for text, (_, label) in zip(legend.get_texts(), handles, strict=True):
        text.set(text=label, parse_math=False)  # here labels may begin with an underscore


def _scale(axes: Axes, name: str, axis: Axis) -> None:
    from matplotlib.ticker import NullFormatter, NullLocator

    along = axes.xaxis if name == "x" else axes.yaxis
    if axis.limits:
        low, high = axis.limits
        # Leave room above, so that a line along the upper edge is fully visible.
        above = HEADROOM * (high - low) if name == "y" and axis.scale == "linear" else 0.0
        getattr(axes, f"set_{name}lim")(low, high + above)
    low, high = getattr(axes, f"get_{name}lim")()
    if axis.ticks or axis.scale != "linear":
        found = ticks(axis, low, high, MOST_TICKS)
        along.set_ticks([value for value, _ in found], [label for _, label in found], parse_math=False)
        along.set_minor_locator(NullLocator())
        along.set_minor_formatter(NullFormatter())
    if name == "y" and axis.scale == "linear" and not axis.limits:
        axes.set_ylim(bottom=0)


def _series(axes: Axes, series: Series) -> Any:
    """Draw a series, and return its handle for the legend."""
    from matplotlib.lines import Line2D

    colour, marker, line = look(series.style)
    xs, ys = [p.x for p in series.points], [p.y for p in series.points]
    if series.kind == "published":
        return axes.plot(xs, ys, "--", color=GREY, linewidth=1.3, zorder=1)[0]
    if series.kind == "ceiling":
        return axes.plot(xs, ys, linestyle=line, color=GREY, linewidth=1.8, zorder=1)[0]
    if series.kind == "curve":
        return axes.plot(xs, ys, linestyle=line, color=colour, linewidth=1.5)[0]
    if series.kind == "level":
        return axes.axhline(ys[0], linestyle=line, color=colour, linewidth=1.3, alpha=0.8)
    if series.kind == "line":
        axes.plot(xs, ys, linestyle=line, color=colour, linewidth=1.4, zorder=2)
    for point in series.points:
        if point.low is not None and point.high is not None:
            away = [[max(0.0, point.y - point.low)], [max(0.0, point.high - point.y)]]
            axes.errorbar(point.x, point.y, yerr=away, color=colour, capsize=3, linewidth=1.2, zorder=2)
        axes.plot(
            point.x, point.y, marker, color=colour, markersize=6.5, zorder=3, markeredgewidth=1.4,
            markerfacecolor="white" if point.hollow else colour,
        )  # fmt: skip
        if point.best:
            axes.plot(
                point.x, point.y, "o", color=colour, markersize=14, markerfacecolor="none",
                markeredgewidth=1.4, zorder=3,
            )  # fmt: skip
    hollow = bool(series.points) and all(point.hollow for point in series.points)
    return Line2D(
        [], [], color=colour, marker=marker, linestyle=line if series.kind == "line" else "None",
        markerfacecolor="white" if hollow else colour, markeredgewidth=1.4,
    )  # fmt: skip


def _bars(axes: Axes, chart: BarChart, columns: int) -> None:
    places = range(len(chart.bars))
    for place_, bar in zip(places, chart.bars, strict=True):
        colour = VERMILLION if bar.best else BLUE
        axes.barh(
            place_, bar.value, height=0.68, edgecolor=colour, linewidth=1.2,
            facecolor="none" if bar.hollow else colour,
        )  # fmt: skip
        end = bar.value
        if bar.low is not None and bar.high is not None:
            end = max(end, bar.high)
            away = [[max(0.0, bar.value - bar.low)], [max(0.0, bar.high - bar.value)]]
            axes.errorbar(bar.value, place_, xerr=away, color="black", capsize=2.5, linewidth=1.0)
        axes.annotate(
            bar.text, (end, place_), (5, 0), textcoords="offset points", va="center", parse_math=False,
            fontsize=FONT_POINTS - 1, fontweight="bold" if bar.best else "normal",
        )  # fmt: skip
    axes.set_yticks(list(places), [bar.label for bar in chart.bars], parse_math=False)
    axes.set_ylim(len(chart.bars) - 0.4, -0.6)
    longest = max((max(bar.value, bar.high or 0.0) for bar in chart.bars), default=0.0)
    # Leave room for the text at the end of the longest bar.
    axes.set_xlim(0, (1.2 if columns == 1 else 1.45) * longest or 1.0)
    axes.locator_params(axis="x", nbins=8 // columns)
    axes.set_xlabel(chart.label, parse_math=False)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    _title(axes, chart.title, columns)


def _heat_map(axes: Axes, chart: HeatMap, columns: int) -> None:
    import matplotlib
    from matplotlib.patches import Rectangle

    logs = [
        [math.nan if cell is None or cell.hollow else math.log10(cell.value) for cell in row]
        for row in chart.cells
    ]
    known = [value for row in logs for value in row if not math.isnan(value)] or [0.0]
    low, high = min(known), max(known)
    image = axes.imshow(
        logs, cmap="viridis_r", aspect="auto", vmin=low, vmax=high if high > low else low + 1.0
    )
    shown = len(chart.columns) <= MOST_COLUMNS and len(chart.rows) <= MOST_ROWS
    colours = matplotlib.colormaps["viridis_r"]
    for y, row in enumerate(chart.cells):
        for x, cell in enumerate(row):
            if cell is None:
                continue
            edge = VERMILLION if cell.best else GREY
            if cell.best or cell.hollow:
                axes.add_patch(
                    Rectangle(
                        (x - 0.46, y - 0.46), 0.92, 0.92, facecolor="none", edgecolor=edge,
                        linewidth=3 if cell.best else 1, linestyle="-" if cell.best else ":",
                    )
                )  # fmt: skip
            if shown:
                share = (logs[y][x] - low) / (high - low) if high > low and not cell.hollow else 0.0
                red, green, blue, _ = colours(share)
                dark = not cell.hollow and 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
                axes.text(
                    x, y, cell.text, ha="center", va="center", color="white" if dark else "black",
                    fontweight="bold" if cell.best else "normal", fontsize=FONT_POINTS - 1,
                )  # fmt: skip
    for name, label, names in (("x", chart.x_label, chart.columns), ("y", chart.y_label, chart.rows)):
        every = math.ceil(len(names) / 30)
        getattr(axes, f"set_{name}ticks")(range(0, len(names), every), list(names[::every]), parse_math=False)
        getattr(axes, f"set_{name}label")(label, parse_math=False)
    axes.set_xlim(-0.5, len(chart.columns) - 0.5)
    axes.set_ylim(len(chart.rows) - 0.5, -0.5)
    if not shown and axes.figure is not None:
        bar = axes.figure.colorbar(image, ax=axes, label=chart.label)
        inside = ticks(Axis("", "log10"), 10**low, 10**high, 6)
        bar.set_ticks([forward("log10", value) for value, _ in inside], labels=[t for _, t in inside])
    _title(axes, f"{chart.title}: {chart.label}" if chart.title else chart.label, columns)


def _label_points(figure: Figure, drawn: Sequence[tuple[Axes, Chart]]) -> None:
    """Write labels beside points, so that they cover neither each other nor any point."""
    wanted = [
        (axes, chart, [point for series in chart.series for point in series.points if point.label])
        for axes, chart in drawn
        if isinstance(chart, LineChart)
    ]
    if not any(points for _, _, points in wanted):
        return
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # labels placed below must not move afterwards
    for axes, chart, labelled in wanted:
        lines = [series for series in chart.series if series.kind == "ceiling"]
        points = [p for series in chart.series if series.kind in ("line", "points") for p in series.points]
        # Place labels from the top down, so that labels of close points keep the points' order.
        _label(axes, sorted(labelled, key=lambda point: -point.y), points, lines)


def _label(
    axes: Axes, labelled: Sequence[Point], points: Sequence[Point], ceilings: Sequence[Series]
) -> None:
    dots_a_point = DOTS_PER_INCH / 72
    frame = axes.get_window_extent()
    at = {id(p): axes.transData.transform((p.x, p.y)) for p in points}
    sizes = []
    for point in labelled:
        text = axes.text(0, 0, point.label, fontsize=FONT_POINTS - 1, parse_math=False)
        extent = text.get_window_extent()
        sizes.append((extent.width, extent.height))
        text.remove()
    lines = [[tuple(axes.transData.transform((p.x, p.y))) for p in s.points] for s in ceilings]
    places = place(
        [tuple(at[id(p)]) for p in labelled], sizes, [tuple(at[id(p)]) for p in points],
        (frame.x0, frame.y0, frame.x1, frame.y1), reach=6 * dots_a_point, lines=lines,
    )  # fmt: skip
    for point, (x, y) in zip(labelled, places, strict=True):
        here = at[id(point)]
        offset = ((x - here[0]) / dots_a_point, (y - here[1]) / dots_a_point)
        axes.annotate(
            point.label, (point.x, point.y), offset, textcoords="offset points", fontsize=FONT_POINTS - 1,
            ha="left", va="bottom", parse_math=False, zorder=4,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 4},
        )  # fmt: skip
