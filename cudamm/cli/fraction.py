"""A share on the command line: `0.5%` or `0.005`."""

from __future__ import annotations

import math
from typing import Any

import click


class Fraction(click.ParamType[float]):
    """A share above 0 and below 1, given as a number or as a percentage."""

    name = "share"

    def __init__(self, of_an_increase: bool = False) -> None:
        """Accept 0 and percentages above 100% too if `of_an_increase`."""
        self._of_an_increase = of_an_increase

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share as a number. Fail with a usage error for anything else."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number < 0 or (number >= 1 and not text.endswith("%")):
            self.fail(f"“{value}” is not a share such as 5% or 0.05", param, ctx)
        if not (self._of_an_increase or 0 < number < 1):
            self.fail(f"“{value}” is not between 0 and 100%", param, ctx)
        return number


FRACTION = Fraction()
INCREASE = Fraction(of_an_increase=True)
