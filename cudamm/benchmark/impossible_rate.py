"""Detect measured rates that the device cannot reach: such a kernel did not compute the product."""

from __future__ import annotations

from fractions import Fraction

from cudamm.benchmark.theoretical_rates import TENSOR_TYPES
from cudamm.devices.device import Ceilings
from cudamm.execution.case import Case

ARITHMETIC_TOLERANCE = 1.05
"""Factor by which GFLOP/s may exceed the ceiling; a measured ceiling has an error of its own."""

TRAFFIC_TOLERANCE = 1.25
"""Factor by which GB/s read may exceed the ceiling; a measured one is that of a copy, which also writes."""

MOST_TENSOR_RATE = 32
"""Upper bound for the rate of 16-bit types on tensor cores, relative to that of float32 FMAs.

It is twice the rate of an A100. A kernel with elements of TENSOR_TYPES may use tensor cores without saying
so, as libraries do.
"""


def impossible_rate(case: Case, median_ms: float, ceilings: Ceilings, *, is_cold: bool) -> str:
    """Return why a case cannot be that fast on its device; empty if it can.

    If the L2 cache was cold, A and B were read from device memory at least once; C may stay in the cache.
    """
    if not median_ms:
        return ""
    shape, element = case.problem.shape, case.problem.element
    # No units multiply float64 faster than those of fused multiply-adds multiply float32.
    ceiling = Fraction(1) if element.name == "float64" else case.variant.method.ceiling
    units = "fused multiply-adds alone" if ceiling == 1 else "the units that its header names"
    if element.of_products.name in TENSOR_TYPES:
        _, relative_rate = TENSOR_TYPES[element.of_products.name]
        of_tensor_cores = Fraction(MOST_TENSOR_RATE * relative_rate)
        if ceiling < of_tensor_cores:
            ceiling, units = of_tensor_cores, "tensor cores at most"
    gflops = 2 * shape.m * shape.n * shape.k / median_ms / 1e6
    allowed_gflops = float(ceiling) * ceilings.fma_gflops
    if gflops > ARITHMETIC_TOLERANCE * allowed_gflops:
        return (
            f"impossible: {gflops:,.0f} GFLOP/s, but {units} reach {allowed_gflops:,.0f} on this device: "
            "the kernel cannot have computed the product"
        )
    read_bytes = (shape.m * shape.k + shape.k * shape.n) * element.size_bytes
    gbytes_per_s = read_bytes / median_ms / 1e6
    if is_cold and gbytes_per_s > TRAFFIC_TOLERANCE * ceilings.copy_gbytes_per_s:
        return (
            f"impossible: A and B were read at {gbytes_per_s:,.0f} GB/s, but a copy reaches "
            f"{ceilings.copy_gbytes_per_s:,.0f} on this device"
        )
    return ""
