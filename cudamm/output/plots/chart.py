"""Charts as plain data, the same for a picture and for the terminal."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from cudamm.output.readable_text import readable
from cudamm.output.results_view import ResultRow

Scale = Literal["linear", "log2", "log10"]
Kind = Literal["line", "curve", "points", "level", "ceiling", "published"]
"""Kind of a series: measured points joined by lines; a line alone; points alone; one value along the whole
axis; the limit of a roofline; published figures, dashed."""


@dataclass(frozen=True)
class Point:
    """A value with its interval, in the units of its axes.

    Attributes:
        low, high: ends of the interquartile range; None if there is a single sample.
        hollow: whether it is drawn hollow: a row that was dropped, or a bound that was not measured.
        best: whether it is the best of its series.
        label: text beside the point; empty for none.
        row: the row that it shows; None for a curve, a ceiling or a bound.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    best: bool = False
    label: str = ""
    row: ResultRow | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Series:
    """Points that belong together.

    Attributes:
        label: text in the legend; empty for none.
        style: the number of its colour, marker and line style, the same in every chart of a drawing.
    """

    label: str
    points: tuple[Point, ...]
    kind: Kind = "line"
    style: int = 0


@dataclass(frozen=True)
class Axis:
    """An axis of a line chart.

    Attributes:
        label: the quantity, with its unit.
        ticks: positions and their texts; empty if the scale decides.
        limits: ends of the axis; None if the points decide.
    """

    label: str
    scale: Scale = "linear"
    ticks: tuple[tuple[float, str], ...] = ()
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class LineChart:
    """Series over two axes.

    Attributes:
        note: a remark on its points; empty for none.
    """

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    note: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar: a value, and the text at the bar's end.

    Attributes:
        low, high: ends of the interquartile range; None if there is a single sample.
    """

    label: str
    value: float
    text: str
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    best: bool = False


@dataclass(frozen=True)
class BarChart:
    """Horizontal bars, the first one at the top."""

    title: str
    label: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Cell:
    """A value of a heat map, and the text in its cell."""

    value: float
    text: str
    hollow: bool = False
    best: bool = False


@dataclass(frozen=True)
class HeatMap:
    """Positive values over two parameters, the smaller the better.

    Attributes:
        label: the quantity in the cells, with its unit.
        columns, rows: the texts along the two axes.
        cells: a tuple per row; None for a cell without a value.
    """

    title: str
    label: str
    x_label: str
    y_label: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[Cell | None, ...], ...]


Chart = LineChart | BarChart | HeatMap


@dataclass(frozen=True)
class Drawing:
    """Charts that make one picture.

    Attributes:
        caption: text below the charts: device, date, what is left out, what the marks mean.
        columns: number of charts side by side; 0 if the number of charts decides.
    """

    charts: tuple[Chart, ...]
    caption: str
    columns: int = 0


def readable_drawing(drawing: Drawing) -> Drawing:
    """Return a drawing without characters in its texts that a picture cannot contain."""
    return Drawing(tuple(map(_readable, drawing.charts)), readable(drawing.caption), drawing.columns)


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, tuple):
        return tuple(map(_readable, value))
    if isinstance(value, LineChart | BarChart | HeatMap | Axis | Series | Point | Bar | Cell):
        changes = {f.name: _readable(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return dataclasses.replace(value, **changes)
    return value


def caption(device: str, remarks: Iterable[str] = (), date: str | None = None) -> str:
    """Return the caption of a drawing: device, date and remarks.

    Args:
        date: date of the measurement, as YYYY-MM-DD; None: today.
    """
    if date is None:
        date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return ". ".join([f"{device}, {date}", *remarks]) + "."
