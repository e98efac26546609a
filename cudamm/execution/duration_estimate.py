"""Estimate how long a kernel would run on the processor, from runs at smaller sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cudamm.kernels.problem import Shape

UNESTIMATED_WORK = 2**26
"""Largest number of multiplications that is run without an estimate, under a limit of USUAL_LIMIT_S."""

USUAL_LIMIT_S = 60.0

TRIED_WORK = (2**19, 2**22, 2**25)
"""Numbers of multiplications of the smaller runs. Each is run only if the runs before it leave doubts."""

CLEAR_FACTOR = 4
"""An estimate that is so many times above or below the limit needs no larger run to confirm it."""

COMFORTABLE_S = 10.0
"""Duration of the size that is proposed instead of one that takes too long, at most, in seconds."""


SLOWEST_RATE = 2e6
"""Multiplications per second of the slowest kernels on a busy processor; most are a hundred times as fast."""

LONGEST_START_S = 0.25
"""Time until a kernel runs, at most, in seconds."""


@dataclass(frozen=True)
class Estimate:
    """The estimated duration of a run.

    Attributes:
        seconds: of the run at `shape`.
        smaller: a shape of the same proportions that takes at most COMFORTABLE_S, and at most the limit.
        smaller_seconds: of the run at that shape.
        is_least: whether the run at `shape` was stopped, and so would take more than `seconds`.
    """

    shape: Shape
    seconds: float
    smaller: Shape
    smaller_seconds: float
    is_least: bool = False

    def __str__(self) -> str:
        """Return "-n 2048 would take about 4 minutes here; -n 512 takes 6 s"."""
        about = "more than " if self.is_least else "about " if self.seconds >= 1 else ""
        would_take = f"{_as_option(self.shape)} would take {about}{duration(self.seconds)} here"
        if self.smaller == self.shape:  # the estimate was too low
            return would_take
        return f"{would_take}; {_as_option(self.smaller)} takes {duration(self.smaller_seconds)}"


def estimate(shape: Shape, measure: Callable[[Shape], float | None], limit_s: float) -> Estimate | None:
    """Estimate the duration of a run at a shape from runs at smaller shapes of the same proportions.

    The duration is taken to grow with M N K, beyond a constant part.

    Args:
        measure: runs at a shape, and returns the duration in seconds; None if the run failed.
        limit_s: the longest run that is wanted, in seconds: no longer estimate is computed precisely.

    Returns:
        None if the shape is so small that it needs no estimate, or if no smaller run ended.
    """
    work = shape.work
    if work <= UNESTIMATED_WORK * min(1.0, limit_s / USUAL_LIMIT_S):
        return None
    constant_s, rate, last_work, last_s = 0.0, 0.0, 0, 0.0  # rate: seconds for a multiplication
    for tried in TRIED_WORK:
        smaller = scaled_down(shape, tried)
        seconds = measure(smaller)
        if seconds is None:
            break
        if last_work and seconds > last_s:
            rate = (seconds - last_s) / (smaller.work - last_work)
            constant_s = max(0.0, seconds - rate * smaller.work)
        else:
            rate = seconds / smaller.work
        expected_s = constant_s + rate * work
        if expected_s * CLEAR_FACTOR <= limit_s or (last_work and expected_s >= limit_s * CLEAR_FACTOR):
            break
        last_work, last_s = smaller.work, seconds
    if not rate:
        return None
    comfortable_s = min(COMFORTABLE_S, limit_s)
    comfortable = scaled_down(shape, max(1, int((comfortable_s - constant_s) / rate)))
    return Estimate(shape, constant_s + rate * work, comfortable, constant_s + rate * comfortable.work)


def shows_hang(work: float, limit_s: float, slowdown: float = 1.0) -> bool:
    """Return whether a kernel hangs if it did not answer in time, so that no sound kernel is called failed.

    Args:
        work: number of multiplications for which there was no answer.
        limit_s: time limit in seconds.
        slowdown: how many times slower the kernel is because it is observed.
    """
    return limit_s >= LONGEST_START_S + slowdown * work / SLOWEST_RATE


def scaled_down(shape: Shape, most_work: int) -> Shape:
    """Return the shape with all extents halved until it has at most a number of multiplications."""
    while shape.work > max(1, most_work):
        shape = Shape(*(max(1, extent // 2) for extent in shape.extents))
    return shape


def duration(seconds: float) -> str:
    """Return a duration in words, such as `6 s` or `4 minutes`."""
    for unit, length_s in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= 1.5 * length_s:
            return f"{seconds / length_s:.0f} {unit}s"
    return f"{seconds:.0f} s" if seconds >= 1 else "less than a second"


def _as_option(shape: Shape) -> str:
    return f"-n {shape.m}" if shape.m == shape.n == shape.k else f"-n {shape}"
