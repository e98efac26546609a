"""Charts drawn with characters: axes by plotext, bars and tables by rich."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.bar import Bar as Block
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cudamm.output.console import fits, frameless
from cudamm.output.plots.chart import Axis, Bar, BarChart, Cell, Chart, Drawing, HeatMap, LineChart, Series
from cudamm.output.plots.style import BEST, characters, rgb
from cudamm.output.plots.ticks import forward, ticks

WIDTH, HEIGHT = 100, 18
"""Size of the axes, in characters. In a narrower terminal the axes are narrower."""
NARROWEST = 24
"""Minimum width of the axes, in characters; narrower axes have no room for a plot."""
MARGIN = 0.06
"""Share of an axis by which it extends beyond its outermost points."""
FEWEST_BAR_CHARACTERS = 10
SHADES = "█▓▒░"
"""Shades of a heat map without room for numbers, from fastest to slowest, on a logarithmic scale."""
MOST_BARS = 20


def render(console: Console, drawing: Drawing) -> None:
    """Draw every chart, one below the other, then the caption."""
    for chart in drawing.charts:
        draw(console, chart)
    if drawing.charts:
        console.print()
        console.print(Text(drawing.caption, style="dim"))


def draw(console: Console, chart: Chart) -> None:
    """Draw one chart. Line charts need plotext; see `check_terminal`."""
    console.print()
    if isinstance(chart, BarChart):
        _bars(console, chart)
    elif isinstance(chart, HeatMap):
        _heat_map(console, chart)
    else:
        title = " · ".join(filter(None, (chart.title, f"{chart.y.label} against {chart.x.label}")))
        console.print(Text(title, style="bold"))
        for line in _legend(chart):
            put(console, line)
        drawn = axes(chart, console.width)
        drawn.rstrip()
        put(console, drawn)


def put(console: Console, text: Text) -> None:
    """Print text, without its colours if the terminal has only eight or sixteen.

    The terminal decides how those few colours look: some of them are invisible on black or on white.
    """
    coloured = console.color_system in ("256", "truecolor")
    console.print(text if coloured else Text(text.plain), soft_wrap=True)


def axes(chart: LineChart, width: int, height: int = HEIGHT) -> Text:
    """Return the axes and their points, without a legend, at most `width` and WIDTH characters wide."""
    import plotext

    width = max(min(WIDTH, width), NARROWEST)
    plot = plotext.figure
    plot.clear()
    plot.theme("colorless")
    plot.plot_size(width, height)
    x_low, x_high = _range(
        chart.x, [point.x for s in chart.series if s.kind != "level" for point in s.points]
    )
    y_low, y_high = _range(
        chart.y,
        [end for s in chart.series for p in s.points for end in (p.y, p.low, p.high) if end is not None],
    )

    def add(marker: str, colour: str | None, points: Sequence[tuple[float, float]], joined: bool) -> None:
        shown = plotext.marker(marker, plotext.pixel(rgb(colour))) if colour else marker
        signal = plot.signal([x for x, _ in points], [y for _, y in points], marker=shown)
        plot.draw(signal.lines() if joined else signal)

    for series in sorted(chart.series, key=lambda series: series.kind not in ("published", "ceiling")):
        colour = characters(series.style).colour
        if series.kind == "level":
            y = forward(chart.y.scale, series.points[0].y)
            add("╌", colour, [(x_low, y), (x_high, y)], True)
            continue
        places = [(forward(chart.x.scale, p.x), forward(chart.y.scale, p.y)) for p in series.points]
        if series.kind in ("published", "ceiling"):
            add("·", None, places, True)
        elif series.kind in ("line", "curve"):
            add("hd", colour, places, True)
    for series in chart.series:
        look = characters(series.style)
        if series.kind not in ("line", "points"):
            continue
        for point in series.points:
            if point.low and point.high:
                at = forward(chart.x.scale, point.x)
                interval = [(at, forward(chart.y.scale, end)) for end in (point.low, point.high)]
                add("│", look.colour, interval, True)
    for series, marker, (x, y) in _marked(chart):
        place = (forward(chart.x.scale, x), forward(chart.y.scale, y))
        add(marker, characters(series.style).colour, [place], False)

    for name, axis, low, high in (("x", chart.x, x_low, x_high), ("y", chart.y, y_low, y_high)):
        plot.ruler(name).lim(low, high)
        widest = max((len(label) for _, label in axis.ticks), default=6)
        most = max(2, width // (widest + 2) if name == "x" else (height - 3) // 2)
        ends = (low, high) if axis.scale == "linear" else _powers(axis, low, high)
        found = ticks(axis, *ends, most)
        plot.ruler(name).ticks(
            [forward(axis.scale, value) for value, _ in found], [text for _, text in found]
        )
    return Text.from_ansi(str(plot.build().string()))


def _marked(chart: LineChart) -> list[tuple[Series, str, tuple[float, float]]]:
    """Return every point with its character, the best points last, so that nothing covers them."""
    found = []
    for series in chart.series:
        if series.kind not in ("line", "points"):
            continue
        for point, letter in zip(series.points, _letters(chart, series), strict=True):
            look = characters(series.style)
            marker = BEST if point.best else letter or (look.hollow if point.hollow else look.filled)
            found.append((point.best, series, marker, (point.x, point.y)))
    return [(series, marker, place) for _, series, marker, place in sorted(found, key=lambda f: f[0])]


def _letters(chart: LineChart, series: Series) -> list[str]:
    """Return a letter for each labelled point, since labels have no room beside points; else empty texts."""
    labelled = [point for s in chart.series for point in s.points if point.label]
    return [_letter(labelled.index(point)) if point.label else "" for point in series.points]


def _letter(number: int) -> str:
    return chr(ord("a") + number % 26)


def _legend(chart: LineChart) -> list[Text]:
    lines = []
    for series in chart.series:
        if not series.label:
            continue
        look = characters(series.style)
        sign = {"published": "···", "ceiling": "···", "level": "╌╌╌", "curve": "━━━"}.get(series.kind, "")
        if not sign:
            hollow = all(point.hollow for point in series.points)
            sign = look.hollow if hollow else look.filled
            if any(point.best for point in series.points):
                sign += f" {BEST}"
        colour = look.colour if series.kind not in ("published", "ceiling") else None
        if any(point.label for point in series.points):
            lines.append(Text(f"{series.label}:"))
            for point, letter in zip(series.points, _letters(chart, series), strict=True):
                if letter:
                    lines.append(Text.assemble("  ", (letter, colour or ""), f" {point.label}"))
        else:
            lines.append(Text.assemble((sign, colour or ""), f" {series.label}"))
    return lines


def _range(axis: Axis, values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis, on its scale. Times and rates begin at 0 unless they are logarithmic."""
    if axis.limits:
        return forward(axis.scale, axis.limits[0]), forward(axis.scale, axis.limits[1])
    ends = [forward(axis.scale, value) for value in values]
    low, high = min(ends), max(ends)
    if axis.scale == "linear" and not axis.ticks:
        low = min(0.0, low)
    room = (high - low) * MARGIN or 0.5
    return (low if low == 0 and not axis.ticks else low - room), high + room


def _powers(axis: Axis, low: float, high: float) -> tuple[float, float]:
    base = 2.0 if axis.scale == "log2" else 10.0
    return base**low, base**high


def _bars(console: Console, chart: BarChart) -> None:
    """Print a row per bar, as wide as the terminal allows."""
    longest = max((bar.value for bar in chart.bars), default=0.0) or 1.0
    texts = max(len(bar.text) for bar in chart.bars)
    labels = max(len(bar.label) for bar in chart.bars)
    width = min(WIDTH, console.width) - texts - labels - 4
    folded = width < FEWEST_BAR_CHARACTERS  # a label is then printed above its bar
    if folded:
        width = max(FEWEST_BAR_CHARACTERS, min(WIDTH, console.width) - texts - 4)
    console.print(Text(f"{chart.title}: {chart.label}", style="bold"))
    table = Table.grid(padding=(0, 1))
    if not folded:
        table.add_column(no_wrap=True)
    table.add_column(width=width, no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for bar in chart.bars:
        style = "bold" if bar.best else ""
        drawn = _block(bar, longest, width)
        if folded:
            console.print(Text(bar.label, style=style))
            row = Table.grid(padding=(0, 1))
            row.add_column(width=width, no_wrap=True)
            row.add_column(no_wrap=True)
            row.add_row(drawn, Text(bar.text, style=style))
            console.print(row)
        else:
            table.add_row(Text(bar.label, style=style), drawn, Text(bar.text, style=style))
    if not folded:
        console.print(table)


def _block(bar: Bar, longest: float, width: int) -> Block | Text:
    """Return a bar. Its end from quartile to quartile is lighter if that is at least a character wide."""
    if bar.hollow:
        return Text("░" * max(1, round(width * bar.value / longest)))
    if bar.low is not None and bar.high is not None and (bar.high - bar.low) * width >= longest:
        low, high = (min(width, round(width * end / longest)) for end in (bar.low, bar.high))
        return Text("█" * low + "▒" * (high - low))
    return Block(longest, 0, bar.value, width=width, color="default")


def _heat_map(console: Console, chart: HeatMap) -> None:
    """Print a table of the values; shades if it does not fit; the best as bars if shades do not fit."""
    title = f"{chart.title}: {chart.label}; {chart.y_label} down, {chart.x_label} across"
    table = Table()
    table.add_column(no_wrap=True, justify="right")
    for name in chart.columns:
        table.add_column(escape(name), justify="right", no_wrap=True)
    for name, row in zip(chart.rows, chart.cells, strict=True):
        table.add_row(escape(name), *(_cell(cell) for cell in row))
    if fits(console, table) or fits(console, frameless(table)):
        console.print(Text(title, style="bold"))
        console.print(table)
        return
    known = [cell for row in chart.cells for cell in row if cell is not None]
    logs = [math.log10(cell.value) for cell in known]
    label = max(len(name) for name in chart.rows)
    if label + 1 + len(chart.columns) <= console.width:
        console.print(Text(title, style="bold"))
        for name, row in zip(chart.rows, chart.cells, strict=True):
            shades = "".join(_shade(cell, min(logs), max(logs)) for cell in row)
            console.print(Text(f"{name:>{label}} {shades}"))
        console.print(
            Text(
                f"{chart.x_label} from {chart.columns[0]} to {chart.columns[-1]}; "
                f"{SHADES} fastest to slowest, {BEST} best"
            )
        )
        return
    cells = [
        (cell, f"{chart.y_label}={y} {chart.x_label}={x}")
        for y, row in zip(chart.rows, chart.cells, strict=True)
        for x, cell in zip(chart.columns, row, strict=True)
        if cell is not None
    ]
    fastest = sorted(cells, key=lambda pair: pair[0].value)[:MOST_BARS]
    bars = tuple(
        Bar(name, cell.value, cell.text, hollow=cell.hollow, best=cell.best) for cell, name in fastest
    )
    _bars(console, BarChart(f"{chart.title}, the fastest {len(bars)}", chart.label, bars))


def _cell(cell: Cell | None) -> Text:
    if cell is None:
        return Text("")
    if cell.best:
        return Text(f"{BEST} {cell.text}", style="bold")
    return Text(f"({cell.text})" if cell.hollow else cell.text, style="dim" if cell.hollow else "")


def _shade(cell: Cell | None, low: float, high: float) -> str:
    if cell is None:
        return " "
    if cell.best:
        return BEST
    share = (math.log10(cell.value) - low) / (high - low) if high > low else 0.0
    return SHADES[min(int(share * len(SHADES)), len(SHADES) - 1)]
