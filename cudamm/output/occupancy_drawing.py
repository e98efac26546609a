"""The curves of `occupancy`: in the terminal, and as a picture."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from cudamm.occupancy.occupancy_curves import Curve
from cudamm.occupancy.occupancy_result import OccupancyResult
from cudamm.output.occupancy_names import configuration
from cudamm.output.plots.chart import Axis, Drawing, LineChart, Point, Series, caption
from cudamm.output.plots.terminal_charts import axes, put

Drawn = Sequence[tuple[OccupancyResult, tuple[Curve, ...]]]

HEIGHT = 14
"""Height of a plot in the terminal, in characters."""
TICKS = 9


def render(console: Console, drawn: Drawn) -> None:
    """Draw the curves with characters; see `check_terminal`."""
    for result, curves in drawn:
        for curve in curves:
            value, warps = curve.present
            title = (
                f"{configuration(result)}: active warps per SM against {curve.quantity}; ● {value:,}: {warps}"
            )
            console.print(Text(f"\n{title}", style="bold"))
            put(console, axes(_chart(result, curve), console.width, HEIGHT))


def drawing_of(drawn: Drawn) -> Drawing:
    """Return the curves as a picture, with a row of three for each configuration."""
    charts = tuple(_chart(result, curve) for result, curves in drawn for curve in curves)
    gpus = dict.fromkeys(f"{result.gpu} ({result.arch})" for result, _ in drawn)
    return Drawing(charts, caption(", ".join(gpus), ["Computed, not measured"]), columns=3)


def _chart(result: OccupancyResult, curve: Curve) -> LineChart:
    value, warps = curve.present
    line = tuple(Point(float(x), float(y)) for x, y in zip(*_steps(curve), strict=True))
    heights = [curve.warps * quarter // 4 for quarter in range(5)]
    return LineChart(
        configuration(result),
        Axis(curve.quantity, ticks=_named(_ticks(curve)), limits=(0.0, float(curve.values[-1]))),
        Axis(
            f"active warps per SM (maximum {curve.warps})",
            ticks=_named(heights),
            limits=(0.0, float(curve.warps)),
        ),
        (
            Series("", line, "curve"),
            Series(f"{value:,}: {warps}", (Point(float(value), float(warps)),), "points"),
        ),
    )


def _named(values: Sequence[int]) -> tuple[tuple[float, str], ...]:
    return tuple((float(value), str(value)) for value in values)


def _steps(curve: Curve) -> tuple[list[int], list[int]]:
    """Return the points of a curve that changes in steps, not along slopes: both ends of each level part.

    Numbers in between are no configurations, or use the same resources as the next value.
    """
    values: list[int] = []
    warps: list[int] = []
    for before, value, height in zip(
        [curve.values[0], *curve.values], curve.values, curve.active_warps, strict=False
    ):
        if warps and warps[-1] != height:
            values.append(before)
            warps.append(height)
        values.append(value)
        warps.append(height)
    return values, warps


def _ticks(curve: Curve) -> list[int]:
    """Return round values along the axis."""
    end = curve.values[-1]
    spacing = 1
    while end / spacing > TICKS:
        spacing *= 2
    return list(range(0, end + 1, spacing))
