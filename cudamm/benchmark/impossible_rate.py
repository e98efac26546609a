"""Is a measured rate above what the device can reach? Then the kernel did not compute the product."""

from __future__ import annotations

from cudamm.devices.device import Ceilings
from cudamm.execution.case import Case

ARITHMETIC_TOLERANCE = 1.05
TRAFFIC_TOLERANCE = 1.25
"""Factors by which a rate may exceed a measured ceiling: the ceiling's own error, and a copy also writes."""


def impossible_rate(case: Case, median_ms: float, ceilings: Ceilings, *, is_cold: bool) -> str:
    """Return why a case cannot be that fast on its device; empty if it can.

    With a cold L2 cache A and B are read from device memory at least once; C may stay in the cache.
    """
    if not median_ms:
        return ""
    shape, ceiling = case.problem.shape, case.variant.method.ceiling
    gflops = 2 * shape.m * shape.n * shape.k / median_ms / 1e6
    allowed_gflops = float(ceiling) * ceilings.fma_gflops
    if gflops > ARITHMETIC_TOLERANCE * allowed_gflops:
        alone = "fused multiply-adds alone" if ceiling == 1 else "the units that its header names"
        return (
            f"impossible: {gflops:,.0f} GFLOP/s, where {alone} reach "
            f"{allowed_gflops:,.0f} on this device: it did not compute what it should have"
        )
    read_bytes = (shape.m * shape.k + shape.k * shape.n) * case.problem.element.size_bytes
    rate = read_bytes / median_ms / 1e6
    if is_cold and rate > TRAFFIC_TOLERANCE * ceilings.copy_gbytes_per_s:
        return (
            f"impossible: A and B were read at {rate:,.0f} GB/s, where a copy reaches "
            f"{ceilings.copy_gbytes_per_s:,.0f} on this device"
        )
    return ""
