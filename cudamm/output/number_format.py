"""The format of numbers, units and parameters in tables, files, plots and the page."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cudamm.kernels.method import SIZE_NAMES

if TYPE_CHECKING:
    from cudamm.benchmark.sample_statistics import Ratio

DIGITS = 3
"""Significant digits of a time, a rate or a ratio."""
MOST_DECIMALS = 4
"""Maximum number of decimals of a ratio whose side of 1 is to be shown."""
FOLDED_WIDTH = len("BLOCK_SIZE=32")


def significant(value: float | None) -> str:
    """Return a number with three significant digits: 0.242, 12.3, 1950, 124000; empty for None."""
    return "" if value is None else f"{float(f'{value:.{DIGITS}g}'):.{decimals(value)}f}"


def times(ratio: float | None) -> str:
    """Return `0.0314×`, `2×` or `1,024×`, with three significant digits or more; empty for None."""
    if ratio is None:
        return ""
    return f"{ratio:.3g}×" if ratio < 1000 else f"{ratio:,.0f}×"


def count(value: float | None) -> str:
    """Return a mean count with three significant digits at most: 4, 0.25, 1.03; empty for None."""
    return "" if value is None else f"{value:.{DIGITS}g}"


def decimals(value: float) -> int:
    """Return the number of decimals with which a number has three significant digits."""
    exponent = int(f"{value:.{DIGITS - 1}e}".partition("e")[2])
    return max(0, DIGITS - 1 - exponent)


def percent(share: float | None) -> str:
    """Return `50%`, `62.5%` or `152%`: three significant digits, one decimal at most; empty for None."""
    if share is None:
        return ""
    return f"{100 * share:.{1 if abs(share) < 0.9995 else 0}f}".removesuffix(".0") + "%"


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
    return "Gop/s" if dtype in ("int32", "int8") else "GFLOP/s"


def parameters(params: Mapping[str, int | str]) -> str:
    """Return `BLOCK_SIZE=16 COARSE=2`, without constants that have the size of each problem, such as N=N."""
    return " ".join(f"{name}={value}" for name, value in params.items() if value not in SIZE_NAMES)


def variant(method: str, params: Mapping[str, int | str]) -> str:
    """Return `tiled BLOCK_SIZE=16`."""
    return f"{method} {parameters(params)}".strip()


def folded(params: Mapping[str, int | str]) -> str:
    """Return the parameters in lines no wider than `BLOCK_SIZE=32`, for narrow terminals."""
    lines = textwrap.wrap(parameters(params), FOLDED_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def ratio(of: Ratio | float | None, *, with_interval: bool = True, side_of_one: bool = False) -> str:
    """Return `1.16× (1.15–1.17)` with three significant digits; empty for None.

    There is no interval if its ends are the same as printed.

    Args:
        with_interval: whether the interval is wanted.
        side_of_one: add decimals, if they are needed to show on which side of 1 the ends of the interval are.
    """
    if of is None:
        return ""
    if isinstance(of, float):
        return f"{significant(of)}×"
    places = decimals(of.value)
    if side_of_one:
        finer = range(places, MOST_DECIMALS + 1)
        ends = [end for end in (of.low, of.high) if end != 1]
        places = next((d for d in finer if all(round(end, d) != 1 for end in ends)), places)

    def written(number: float) -> str:
        return f"{number:.{places}f}" if places else significant(number)

    value, low, high = map(written, (of.value, of.low, of.high))
    return f"{value}× ({low}–{high})" if with_interval and low != high else f"{value}×"
