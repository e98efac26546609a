"""From configurations, as columns of numbers, to the results that say what becomes of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.occupancy.active_blocks import LIMITS, Integers, active_blocks
from cudamm.occupancy.occupancy_result import OccupancyResult


def results(
    architecture: Architecture,
    threads: Integers,
    registers: Integers,
    shared_bytes: Integers,
    barriers: Integers,
    carveout_percent: int | None,
    grid_blocks: Integers | None,
    described: Sequence[Mapping[str, Any]] | None = None,
) -> list[OccupancyResult]:
    """A result for each configuration; the arrays have one length.

    Args:
        described: what more is known of each: fields of OccupancyResult, `params` and `reason` among them. A
            reason means that it cannot run, whatever the numbers say.
    """
    of = architecture
    found = active_blocks(of, np.maximum(threads, 1), registers, shared_bytes, barriers, carveout_percent)
    size = len(threads)
    more = described or [_BARE] * size
    refused = [what["reason"] for what in more]
    active = np.where(np.array(refused, bool), 0, found.active)
    warps = active * found.warps_per_block
    device_threads = active * of.multiprocessors * threads
    # The names of the limits that equal the number of active blocks, looked up by a bit for each.
    names = [tuple(n for i, n in enumerate(LIMITS) if bits >> i & 1) for bits in range(1 << len(LIMITS))]
    bits = sum((found.limits[name] == active).astype(int) << i for i, name in enumerate(LIMITS))
    limits = list(zip(*(found.limits[name].tolist() for name in LIMITS), strict=True))
    reasons = (
        [
            reason
            or ("" if active[i] else _why_not(of, threads[i], registers[i], shared_bytes[i], limits[i]))
            for i, reason in enumerate(refused)
        ]
        if any(refused) or not active.all()
        else refused
    )
    waves: list[float | None] = [None] * size
    if grid_blocks is not None:
        at_a_time = active * of.multiprocessors
        waves = [
            g / a if g and a else None for g, a in zip(grid_blocks.tolist(), at_a_time.tolist(), strict=True)
        ]
    # A column a field: built so, a hundred thousand results take a third of a second.
    columns = {
        "arch": itertools.repeat(of.name),
        "gpu": itertools.repeat(of.gpu),
        "multiprocessors": itertools.repeat(of.multiprocessors),
        "threads_per_block": threads.tolist(),
        "registers_per_thread": registers.tolist(),
        "shared_bytes_per_block": shared_bytes.tolist(),
        "barriers": barriers.tolist(),
        "allocated_registers_per_block": found.allocated_registers.tolist(),
        "reserved_shared_bytes_per_block": itertools.repeat(of.reserved_shared_bytes),
        "allocated_shared_bytes_per_block": found.allocated_shared_bytes.tolist(),
        "active_blocks": active.tolist(),
        "active_warps": warps.tolist(),
        "active_threads": (active * threads).tolist(),
        "occupancy": (warps / of.warps).tolist(),
        "device_occupancy": (device_threads / (of.threads * of.multiprocessors)).tolist(),
        "limits": (dict(zip(LIMITS, row, strict=True)) for row in limits),
        "limited_by": map(names.__getitem__, bits.tolist()),
        "reason": reasons,
        "grid_blocks": itertools.repeat(None) if grid_blocks is None else grid_blocks.tolist(),
        "waves": waves,
    }

    def column(name: str) -> Iterable[Any]:
        return columns[name] if name in columns else (what.get(name) for what in more)

    return list(map(OccupancyResult._make, zip(*map(column, OccupancyResult._fields), strict=False)))


_BARE: Mapping[str, Any] = {"params": {}, "reason": ""}


def _why_not(of: Architecture, threads: int, registers: int, shared_bytes: int, limits: Sequence[int]) -> str:
    """Why no block of these numbers can run."""
    if threads > of.threads_per_block:
        return f"{threads:,} threads a block; {of.name} allows {of.threads_per_block:,}"
    if registers > of.registers_per_thread:
        return f"{registers} registers a thread; {of.name} allows {of.registers_per_thread}"
    if shared_bytes > of.shared_bytes_per_block:
        most = of.shared_bytes_per_block
        return f"{shared_bytes:,} bytes of shared memory a block; {of.name} allows {most:,}"
    if limits[LIMITS.index("registers")] == 0:
        warps = -(-threads // WARP_THREADS)
        per_warp = -(-registers * WARP_THREADS // of.register_granularity) * of.register_granularity
        taken = per_warp * -(-warps // of.partitions) * of.partitions
        spread = f", spread evenly over {of.partitions} partitions," if warps % of.partitions else ""
        return (
            f"{warps} warps of {registers} registers a thread{spread} take {taken:,} registers; "
            f"a block may have {of.registers_per_block:,}"
            if taken > of.registers_per_block
            else f"{warps} warps of {registers} registers a thread do not fit into {of.partitions} partitions"
        )
    scarce = [name for name, blocks in zip(LIMITS, limits, strict=True) if blocks == 0]
    return f"no block fits: not enough {' and '.join(scarce)}"
