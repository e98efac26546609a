"""The outcome of a test."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What a test found.

    Attributes:
        share: the share of the test's points, from 0 to 1.
        detail: what was found, for people; one or several lines.
        value: the figure that the test measures, with its unit; None if it measures none.
    """

    share: float
    detail: str
    value: float | None = None
    unit: str = ""


def passed(detail: str, value: float | None = None, unit: str = "") -> Outcome:
    """Return the outcome of a test that is passed."""
    return Outcome(1.0, detail, value, unit)


def failed(detail: str, value: float | None = None, unit: str = "") -> Outcome:
    """Return the outcome of a test that is not passed."""
    return Outcome(0.0, detail, value, unit)
