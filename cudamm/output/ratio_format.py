"""How ratios with their intervals look in tables."""

from __future__ import annotations

from cudamm.benchmark.sample_statistics import Ratio

FEWEST_DECIMALS, MOST_DECIMALS = 2, 4


def ratio(of: Ratio) -> str:
    """`1.16× (1.15–1.17)`, or `1.16×` where the interval is a single number.

    It has as few decimals as show that the interval's ends are two, and on which side of 1 each one is.
    """
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
