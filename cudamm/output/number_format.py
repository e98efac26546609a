"""How numbers, units and parameters are written, in tables, files, plots and the page."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cudamm.benchmark.sample_statistics import Ratio

FEWEST_DECIMALS, MOST_DECIMALS = 2, 4
"""Decimals of a ratio."""
FOLDED_WIDTH = len("BLOCK_SIZE=32")


def milliseconds(value: float | None) -> str:
    """Return a time with four significant digits: 0.2417, 12.34, 1950."""
    return significant(value)


def significant(value: float | None) -> str:
    """Return a number with four significant digits, but no more than four decimals; empty for None.

    No digit before the decimal point is dropped.
    """
    if value is None:
        return ""
    before_the_point = len(str(int(abs(value))))
    return f"{value:.{max(0, 4 - before_the_point)}f}" if abs(value) >= 1 else f"{value:.4f}"


def percent(share: float | None) -> str:
    """Return `50%` or `62.5%`: one decimal, unless it is 0; empty for None."""
    return "" if share is None else f"{100 * share:.1f}".removesuffix(".0") + "%"


def rounded_percent(share: float | None) -> str:
    """Return two significant digits, as courses print shares: 32%, 2.0%, 0.25%; empty for None."""
    if share is None:
        return ""
    value = 100 * share
    return f"{value:.0f}%" if value >= 9.95 else f"{value:.1f}%" if value >= 0.995 else f"{value:.2g}%"


def published_amount(value: float) -> str:
    """Return `19,491.8`, `1,555` or `0.75`: the digits with which peaks and bandwidths are published."""
    return f"{value:,.1f}".removesuffix(".0") if value >= 100 else f"{value:.4g}"


def rate_unit(dtype: str) -> str:
    """Return the unit of a rate: operations on whole numbers are not floating-point operations."""
    return "Gop/s" if dtype == "int32" else "GFLOP/s"


def parameters(params: Mapping[str, int | str]) -> str:
    """Return `BLOCK_SIZE=16 COARSE=2`."""
    return " ".join(f"{name}={value}" for name, value in params.items())


def variant(method: str, params: Mapping[str, int | str]) -> str:
    """Return `tiled BLOCK_SIZE=16`."""
    return f"{method} {parameters(params)}".strip()


def folded(params: Mapping[str, int | str]) -> str:
    """Return the parameters in lines no wider than `BLOCK_SIZE=32`, for narrow terminals."""
    lines = textwrap.wrap(parameters(params), FOLDED_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def ratio(of: Ratio | float | None, sign: str = "×") -> str:
    """Return `1.16× (1.15–1.17)`, or `1.16×` for a number or an empty interval; empty for None.

    An interval has as few decimals as show that its two ends differ, and on which side of 1 each end is.

    Args:
        sign: stands behind a number without an interval.
    """
    if of is None:
        return ""
    if isinstance(of, float):
        return f"{of:.{FEWEST_DECIMALS}f}{sign}"
    decimals = _decimals(of)
    value, low, high = (f"{number:.{decimals}f}" for number in (of.value, of.low, of.high))
    return f"{value}×" if of.low == of.high else f"{value}× ({low}–{high})"


def _decimals(of: Ratio) -> int:
    choices = range(FEWEST_DECIMALS, MOST_DECIMALS + 1)
    apart = [decimals for decimals in choices if round(of.low, decimals) != round(of.high, decimals)]
    sided = [
        decimals
        for decimals in apart
        if all(round(end, decimals) != 1 for end in (of.low, of.high) if end != 1)
    ]
    return next(iter(sided or apart), FEWEST_DECIMALS)
