"""Round numbers along an axis."""

from __future__ import annotations

import math

from cudamm.output.plots.chart import Axis, Scale

STEPS = (1, 2, 5)


def forward(scale: Scale, value: float) -> float:
    """Return the position of a value on a scale. Values of a logarithmic scale are positive."""
    return math.log2(value) if scale == "log2" else math.log10(value) if scale == "log10" else value


def written(value: float) -> str:
    """Return a tick's number: `0.25`, `1`, `20000`."""
    return f"{value:.0f}" if abs(value) >= 10_000 else f"{value:g}"


def ticks(axis: Axis, low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return at most `most` ticks between two values: the axis's own ticks, or round numbers."""
    if axis.ticks:
        inside = [tick for tick in axis.ticks if low <= tick[0] <= high] or list(axis.ticks)
        return inside[:: max(1, math.ceil(len(inside) / most))]
    values = _linear(low, high, most) if axis.scale == "linear" else _logarithmic(low, high, most)
    return [(value, written(value)) for value in values]


def _linear(low: float, high: float, most: int) -> list[float]:
    if high <= low:
        return [low]
    magnitude = math.floor(math.log10((high - low) / most))
    for step in (step * 10.0**exponent for exponent in (magnitude, magnitude + 1) for step in STEPS):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [round(i * step, 12) for i in range(first, last + 1)]
    return [low, high]


def _logarithmic(low: float, high: float, most: int) -> list[float]:
    """Return 1, 2, 5 of each decade; powers of ten if those are too many; some of them if they are too.

    A range that contains fewer than two such ticks gets linear ones.
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in (STEPS, (1,)):
        found = [float(f"{step}e{exponent}") for exponent in exponents for step in steps]
        inside = [v for v in found if low * 0.999 <= v <= high * 1.001 and math.isfinite(v)]
        if 2 <= len(inside) <= most:
            return inside
    if len(inside) < 2:
        return _linear(low, high, most)
    return inside[:: math.ceil(len(inside) / most)]
