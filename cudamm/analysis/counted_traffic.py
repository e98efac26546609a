"""The traffic of users' kernels whose header gives none: the bytes that `trace` counts."""

from __future__ import annotations

from cudamm.analysis.trace import Cases, Settings, TraceResult, trace
from cudamm.errors import NoDeviceError, UsageError
from cudamm.execution.prepare import Progress
from cudamm.kernels.variant import Traffic


def counted_traffic(
    cases: Cases, arch: str, fmad: bool, progress: Progress, timeout_s: float
) -> dict[int, Traffic | str]:
    """Return the traffic of users' kernels whose header gives none, by position; or why it is not known.

    cudamm's own methods without `traffic` are left out: what they load depends on the GPU.

    Args:
        arch: architecture for which nvcc decides which loops of stores to unroll, as for `trace`.
        timeout_s: time limit in seconds for a block of threads.
    """
    lacking = [
        position
        for position, (variant, _) in enumerate(cases)
        if variant.method.traffic is None and not variant.method.builtin and variant.method.is_kernel
    ]
    if not lacking:
        return {}
    settings = Settings(arch=arch, timeout_s=timeout_s)
    try:
        # `trace` yields problem by problem, and the cases are grouped by problem.
        traced = list(trace([cases[position] for position in lacking], settings, fmad, progress))
    except (NoDeviceError, UsageError) as error:
        return dict.fromkeys(lacking, str(error))
    return {position: _traffic(result) for position, result in zip(lacking, traced, strict=True)}


def _traffic(traced: TraceResult) -> Traffic | str:
    """Return the bytes that the threads of a launch load and store, or why they are not known."""
    if traced.status != "ok":
        return traced.reason
    every, loads = traced.total("global"), traced.total("global", "load")
    if not loads.bytes_requested:
        return "the kernel loads nothing from global memory"
    load_bytes, store_bytes = loads.bytes_requested, every.bytes_requested - loads.bytes_requested
    return Traffic(load_bytes, store_bytes, is_counted=True)
