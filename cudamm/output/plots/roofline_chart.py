"""The roofline: what peak and bandwidth allow at each arithmetic intensity.

S. Williams, A. Waterman, D. Patterson, *Roofline: an insightful visual performance model for multicore
architectures* (Communications of the ACM 52, 2009).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cudamm.output.number_format import published_amount, significant
from cudamm.output.plots.chart import Axis, Drawing, LineChart, Point, Series

_MARGIN = 2.0
"""Factor by which the axes extend beyond the points and the ridge."""


@dataclass(frozen=True)
class RooflinePoint:
    """A kernel on a roofline.

    Attributes:
        intensity: operations per byte of device memory, or per byte that the kernel's loads request.
        gflops: measured rate, in 10⁹ operations a second; None if it was not measured.
        bound_gflops: the kernel's maximum rate; None for the roofline's value at its intensity.
    """

    label: str
    intensity: float
    gflops: float | None = None
    bound_gflops: float | None = None


def roofline(
    peak_gflops: float,
    bandwidth_gbytes_per_s: float,
    points: Sequence[RooflinePoint],
    *,
    title: str = "",
    caption: str = "",
    other_peaks_gflops: Mapping[str, float] | None = None,
    other_bandwidths_gbytes_per_s: Mapping[str, float] | None = None,
) -> Drawing:
    """Draw a log-log roofline: ceilings as lines, the ridge point, measured points filled, bounds hollow.

    If a measured point has its own bound, the bound is drawn too, hollow. A point that was not measured is
    drawn at its bound.

    Args:
        peak_gflops, bandwidth_gbytes_per_s: the device's limits, in 10⁹ a second; both positive.
        caption: caption of the drawing; see the function `caption`.
        other_peaks_gflops, other_bandwidths_gbytes_per_s: more ceilings, by their names.

    Raises:
        ValueError: a number that has to be positive is not.
    """
    peaks = {"peak": peak_gflops, **(other_peaks_gflops or {})}
    bandwidths = {"bandwidth": bandwidth_gbytes_per_s, **(other_bandwidths_gbytes_per_s or {})}
    numbers = [*peaks.values(), *bandwidths.values(), *(point.intensity for point in points)]
    rates = [rate for point in points for rate in (point.gflops, point.bound_gflops) if rate is not None]
    if not all(math.isfinite(number) and number > 0 for number in numbers + rates):
        raise ValueError("a roofline's peaks, bandwidths, intensities and rates are positive numbers")
    ridge = peak_gflops / bandwidth_gbytes_per_s

    def bound(point: RooflinePoint) -> float:
        most = min(peak_gflops, bandwidth_gbytes_per_s * point.intensity)
        return most if point.bound_gflops is None else point.bound_gflops

    measured = tuple(
        Point(p.intensity, p.gflops, label=f"{p.label} {significant(p.gflops)}")
        for p in points
        if p.gflops is not None
    )
    bounds = tuple(
        Point(
            p.intensity, bound(p), hollow=True,
            label="" if p.gflops is not None else f"{p.label} ≤ {significant(bound(p))}",
        )
        for p in points
        if p.gflops is None or p.bound_gflops is not None
    )  # fmt: skip
    intensities = [ridge, *(p.intensity for p in points)]
    low, high = min(intensities) / _MARGIN, max(intensities) * _MARGIN**2
    rates = [point.y for point in measured + bounds]
    ceilings = _ceilings(peaks, bandwidths, peak_gflops, bandwidth_gbytes_per_s, low, high)
    floor = min([*rates, bandwidth_gbytes_per_s * low]) / _MARGIN
    top = max([*peaks.values(), *rates]) * _MARGIN
    series = [
        *ceilings,
        Series(
            f"ridge point: {significant(ridge)} op/B", (Point(ridge, peak_gflops),), kind="points", style=1
        ),
    ]
    if measured:
        series.append(Series("measured", measured, kind="points", style=0))
    if bounds:
        series.append(Series("bound", bounds, kind="points", style=0))
    chart = LineChart(
        title,
        Axis("arithmetic intensity (operations per byte)", "log10", limits=(low, high)),
        Axis("GFLOP/s", "log10", limits=(floor, top)),
        tuple(series),
    )
    return Drawing((chart,), caption)


def _ceilings(
    peaks: Mapping[str, float],
    bandwidths: Mapping[str, float],
    peak_gflops: float,
    bandwidth_gbytes_per_s: float,
    low: float,
    high: float,
) -> list[Series]:
    """Return bandwidths as slopes up to the highest peak, and peaks as levels from the fastest slope on."""
    fastest, highest = max(bandwidths.values()), max(peaks.values())
    found: list[Series] = []
    for name, bandwidth in bandwidths.items():
        # The device's own roof bends at its own peak. The slopes of other memories reach the highest peak.
        end = min(high, (peak_gflops if bandwidth == bandwidth_gbytes_per_s else highest) / bandwidth)
        ends = (Point(min(low, end), bandwidth * min(low, end)), Point(end, bandwidth * end))
        label = f"{name}: {published_amount(bandwidth)} GB/s"
        found.append(Series(label, ends, kind="ceiling", style=len(found)))
    for name, peak in peaks.items():
        start = max(low, peak / (bandwidth_gbytes_per_s if len(bandwidths) == 1 else fastest))
        ends = (Point(min(start, high), peak), Point(high, peak))
        label = f"{name}: {published_amount(peak)} GFLOP/s"
        found.append(Series(label, ends, kind="ceiling", style=len(found)))
    return found
