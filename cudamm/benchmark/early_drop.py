"""The rules for dropping a variant of a sweep early, because it is clearly slower than the best.

Each rule is a function of plain numbers. `measure_in_turn` applies the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

DROP_FACTOR = 1.25
"""Factor over the best median above which a variant is dropped; samples vary far less."""

OTHER_DEVICE_FACTOR = 1.07
"""Factor by which a variant's times on two GPUs of one kind may differ: up to 7% was seen on four H200s.

A median from another device counts as this much longer when it decides whether a variant is dropped.
"""

SURE_SAMPLES = 3
"""Number of samples after which `SURE_FACTOR` applies."""

SURE_FACTOR = 1.05
"""Factor over the best median above which a variant is dropped if even its fastest sample exceeds it."""

FEWEST_HOST_SAMPLES = 3
"""Minimum number of samples before a variant on the host is dropped: times there vary more than on a GPU."""

IDLE_LAUNCH_FACTOR = 2.0
"""Factor by which a launch may take longer on an idle GPU, whose clocks are low, than on a busy one."""

FIRST_LAUNCH_MS = 0.1
"""Maximum overhead of a variant's first launch on a GPU, in milliseconds; 20 µs were observed."""


def is_first_launch_too_slow(launch_ms: float, best_ms: float, *, device_was_warm: bool) -> bool:
    """Return whether a variant on a GPU is dropped because the launch that verified it took too long."""
    expected_ms = best_ms if device_was_warm else IDLE_LAUNCH_FACTOR * best_ms
    return launch_ms > DROP_FACTOR * expected_ms + FIRST_LAUNCH_MS


def is_too_slow(samples_ms: Sequence[float], best_ms: float, *, on_host: bool) -> bool:
    """Return whether a variant is dropped because its samples are too slow.

    `SURE_FACTOR` applies only on a GPU, because only there do variants take turns with their samples.
    """
    if len(samples_ms) < (FEWEST_HOST_SAMPLES if on_host else 1):
        return False
    if not on_host and len(samples_ms) >= SURE_SAMPLES:
        return min(samples_ms) > SURE_FACTOR * best_ms
    return median(samples_ms) > DROP_FACTOR * best_ms
