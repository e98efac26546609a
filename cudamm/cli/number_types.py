"""The types of options that are numbers: whole numbers, decimal numbers, shares and durations.

A number is written in ASCII digits and is finite: Python also reads `1_000`, `nan`, `inf` and the digits of
other scripts, and no option accepts those.
"""

from __future__ import annotations

import math
import re
from typing import Any

import click

_DECIMAL = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?"


def decimal_number(text: str) -> float:
    """Return the finite number that a text contains; NaN for any other text."""
    number = float(text) if re.fullmatch(_DECIMAL, text) else math.nan
    return number if math.isfinite(number) else math.nan


def _shortened(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:20]}… ({len(text)} characters)"


class WholeNumber(click.IntRange):
    """A whole number between two bounds, both included."""

    def __init__(self, least: int, most: int) -> None:
        super().__init__(least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number. Fail with a usage error for anything else."""
        if not isinstance(value, int) and not re.fullmatch(r"[+-]?[0-9]{1,30}", str(value)):
            self.fail(f"'{_shortened(value)}' is not a whole number", param, ctx)
        number: int = super().convert(value, param, ctx)
        return number


class DecimalNumber(click.FloatRange):
    """A finite number between two bounds, both included; `above` excludes the lower one."""

    def __init__(self, least: float, most: float, above: bool = False) -> None:
        super().__init__(least, most, min_open=above)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number. Fail with a usage error for anything else."""
        if not isinstance(value, float) and math.isnan(decimal_number(str(value))):
            self.fail(f"'{_shortened(value)}' is not a number", param, ctx)
        number: float = super().convert(value, param, ctx)
        return number


class Share(click.ParamType[float]):
    """A share above 0 and below 1, given as a number or as a percentage: `0.005` or `0.5%`."""

    name = "share"

    def __init__(self, of_an_increase: bool = False) -> None:
        """Accept 0 and percentages above 100% too if `of_an_increase`."""
        self._of_an_increase = of_an_increase

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share as a number. Fail with a usage error for anything else."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        number = decimal_number(text.removesuffix("%").rstrip()) / (100 if text.endswith("%") else 1)
        if math.isnan(number) or number < 0 or (number >= 1 and not text.endswith("%")):
            self.fail(f"“{_shortened(value)}” is not a share such as 5% or 0.05", param, ctx)
        if not (self._of_an_increase or 0 < number < 1):
            self.fail(f"“{_shortened(value)}” is not between 0 and 100%", param, ctx)
        return number


_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


class Duration(click.ParamType[float]):
    """A duration such as 60s, 2m or 90, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of seconds. Fail with a usage error for anything else."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(s|m|min|h|)\s*", str(value))
        seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
        if seconds <= 0:
            self.fail(f"“{_shortened(value)}” is not a duration such as 60s or 2m", param, ctx)
        return seconds


SHARE = Share()
INCREASE = Share(of_an_increase=True)
