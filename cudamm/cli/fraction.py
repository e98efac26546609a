"""A share of one on the command line: `0.5%` or `0.005`."""

from __future__ import annotations

import math
from typing import Any

import click


class Fraction(click.ParamType[float]):
    """A number above 0 and below 1, or a percentage."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Fails with a usage error for anything else."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            self.fail(f"“{value}” is not a share such as 5% or 0.05", param, ctx)
        if not (math.isfinite(number) and 0 < number < 1):
            self.fail(f"“{value}” is not between 0 and 100%", param, ctx)
        return number


FRACTION = Fraction()
