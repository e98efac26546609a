"""Compute the occupancy of configurations, given as columns of numbers.

A configuration is the threads, registers and shared memory of a block, either of a kernel or as bare numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cudamm.errors import UsageError
from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.occupancy.active_blocks import LIMITS, Integers, active_blocks
from cudamm.occupancy.occupancy_result import OccupancyResult

MOST_CONFIGURATIONS = 2_000_000
"""Maximum number of configurations that a request may contain."""


@dataclass(frozen=True)
class Numbers:
    """Configurations: every combination of the values, in the order of the values.

    Attributes:
        threads: threads per block.
        registers: registers per thread.
        shared_bytes: static and dynamic shared memory per block: values, or a function of the threads.
        barriers: hardware barriers per block.
        grid_blocks: number of blocks of the launch; None if waves are not computed.
    """

    threads: tuple[int, ...]
    registers: tuple[int, ...] = (0,)
    shared_bytes: tuple[int, ...] | Callable[[int], int] = (0,)
    barriers: int = 1
    grid_blocks: int | None = None

    def columns(self) -> tuple[Integers, Integers, Integers]:
        """Return threads, registers and shared bytes of every configuration."""
        shared = self.shared_bytes
        if callable(shared):
            by_threads = {t: shared(t) for t in self.threads}
            rows = [(t, r, by_threads[t]) for t in self.threads for r in self.registers]
        else:
            rows = list(itertools.product(self.threads, self.registers, shared))
        threads, registers, shared_bytes = np.array(rows, np.int64).reshape(-1, 3).T
        return threads, registers, shared_bytes


def occupancy_of_numbers(
    architectures: Sequence[Architecture],
    numbers: Numbers,
    carveout_percent: int | None,
    checked: bool = False,
) -> Iterator[OccupancyResult]:
    """Yield the occupancy of every configuration, on one architecture after the other.

    Args:
        checked: true if the caller has called `check_numbers`.

    Raises:
        UsageError: no architecture allows a number, or there are too many configurations.
    """
    check_count(architectures, numbers)
    threads, registers, shared_bytes = numbers.columns()
    if not checked:
        check_numbers(architectures, threads, registers, shared_bytes)
    for architecture in architectures:
        yield from results(
            architecture,
            threads,
            registers,
            shared_bytes,
            np.full_like(threads, numbers.barriers),
            carveout_percent,
            None if numbers.grid_blocks is None else np.full_like(threads, numbers.grid_blocks),
        )


def check_count(architectures: Sequence[Architecture], numbers: Numbers) -> None:
    """Raise UsageError if there are more configurations than MOST_CONFIGURATIONS, to limit memory."""
    shared = 1 if callable(numbers.shared_bytes) else len(numbers.shared_bytes)
    count = len(architectures) * max(1, len(numbers.threads)) * len(numbers.registers) * shared
    if count > MOST_CONFIGURATIONS:
        raise UsageError(f"{count:,} configurations are more than {MOST_CONFIGURATIONS:,}; take larger steps")


def check_numbers(
    architectures: Sequence[Architecture], threads: Integers, registers: Integers, shared_bytes: Integers
) -> None:
    """Raise UsageError if no architecture allows a number."""
    for values, quantity, allowed in (
        (threads, "threads per block", {a.name: a.threads_per_block for a in architectures}),
        (registers, "registers per thread", {a.name: a.registers_per_thread for a in architectures}),
        (shared_bytes, "bytes of shared memory per block",
         {a.name: a.shared_bytes_per_block for a in architectures}),
    ):  # fmt: skip
        largest, name = max((limit, name) for name, limit in allowed.items())
        if values.size and values.max() > largest:
            raise UsageError(f"{values.max():,} {quantity} are too many: {name} allows {largest:,}")


def results(
    architecture: Architecture,
    threads: Integers,
    registers: Integers,
    shared_bytes: Integers,
    barriers: Integers,
    carveout_percent: int | None,
    grid_blocks: Integers | None,
    other_fields: Sequence[Mapping[str, Any]] | None = None,
) -> list[OccupancyResult]:
    """Return a result for each configuration; all arrays have the same length.

    Args:
        other_fields: further fields of each OccupancyResult, including `params` and `reason`. A configuration
            with a reason cannot run, even if its numbers fit.
    """
    blocks = active_blocks(
        architecture, np.maximum(threads, 1), registers, shared_bytes, barriers, carveout_percent
    )
    size = len(threads)
    other_fields = other_fields or [_BARE] * size
    known_reasons = [fields["reason"] for fields in other_fields]
    active = np.where(np.array(known_reasons, bool), 0, blocks.active)
    warps = active * blocks.warps_per_block
    device_threads = active * architecture.multiprocessors * threads
    # A table of the names of limits: bit i of the index is set if limit i equals the number of active blocks.
    names = [tuple(n for i, n in enumerate(LIMITS) if bits >> i & 1) for bits in range(1 << len(LIMITS))]
    bits = sum((blocks.limits[name] == active).astype(int) << i for i, name in enumerate(LIMITS))
    limits = list(zip(*(blocks.limits[name].tolist() for name in LIMITS), strict=True))
    reasons = (
        [
            reason
            or (
                ""
                if active[i]
                else _why_impossible(architecture, threads[i], registers[i], shared_bytes[i], limits[i])
            )
            for i, reason in enumerate(known_reasons)
        ]
        if any(known_reasons) or not active.all()
        else known_reasons
    )
    waves: list[float | None] = [None] * size
    if grid_blocks is not None:
        device_blocks = active * architecture.multiprocessors
        waves = [
            grid / device if grid and device else None
            for grid, device in zip(grid_blocks.tolist(), device_blocks.tolist(), strict=True)
        ]
    # Each field is a column: built this way, a hundred thousand results take a third of a second.
    columns = {
        "arch": itertools.repeat(architecture.name),
        "gpu": itertools.repeat(architecture.gpu),
        "multiprocessors": itertools.repeat(architecture.multiprocessors),
        "threads_per_block": threads.tolist(),
        "registers_per_thread": registers.tolist(),
        "shared_bytes_per_block": shared_bytes.tolist(),
        "barriers": barriers.tolist(),
        "allocated_registers_per_block": blocks.allocated_registers.tolist(),
        "reserved_shared_bytes_per_block": itertools.repeat(architecture.reserved_shared_bytes),
        "allocated_shared_bytes_per_block": blocks.allocated_shared_bytes.tolist(),
        "active_blocks": active.tolist(),
        "active_warps": warps.tolist(),
        "active_threads": (active * threads).tolist(),
        "occupancy": (warps / architecture.warps).tolist(),
        "device_occupancy": (device_threads / (architecture.threads * architecture.multiprocessors)).tolist(),
        "limits": (dict(zip(LIMITS, row, strict=True)) for row in limits),
        "limited_by": map(names.__getitem__, bits.tolist()),
        "reason": reasons,
        "grid_blocks": itertools.repeat(None) if grid_blocks is None else grid_blocks.tolist(),
        "waves": waves,
    }

    def column(name: str) -> Iterable[Any]:
        return columns[name] if name in columns else (fields.get(name) for fields in other_fields)

    return list(map(OccupancyResult._make, zip(*map(column, OccupancyResult._fields), strict=False)))


_BARE: Mapping[str, Any] = {"params": {}, "reason": ""}


def _why_impossible(
    architecture: Architecture, threads: int, registers: int, shared_bytes: int, limits: Sequence[int]
) -> str:
    """Return why no block with these numbers can run."""
    if threads > architecture.threads_per_block:
        return f"{threads:,} threads per block; {architecture.name} allows {architecture.threads_per_block:,}"
    if registers > architecture.registers_per_thread:
        allowed = architecture.registers_per_thread
        return f"{registers} registers per thread; {architecture.name} allows {allowed}"
    if shared_bytes > architecture.shared_bytes_per_block:
        allowed = architecture.shared_bytes_per_block
        return f"{shared_bytes:,} bytes of shared memory per block; {architecture.name} allows {allowed:,}"
    if limits[LIMITS.index("registers")] == 0:
        warps = -(-threads // WARP_THREADS)
        per_warp = (
            -(-registers * WARP_THREADS // architecture.register_granularity)
            * architecture.register_granularity
        )
        needed = per_warp * -(-warps // architecture.partitions) * architecture.partitions
        spread = (
            f", spread evenly over {architecture.partitions} partitions,"
            if warps % architecture.partitions
            else ""
        )
        return (
            f"{warps} warps of {registers} registers per thread{spread} take {needed:,} registers; "
            f"a block may have {architecture.registers_per_block:,}"
            if needed > architecture.registers_per_block
            else f"{warps} warps of {registers} registers per thread do not fit into "
            f"{architecture.partitions} partitions"
        )
    scarce = [name for name, blocks in zip(LIMITS, limits, strict=True) if blocks == 0]
    return f"no block fits: not enough {' and '.join(scarce)}"
