"""Configurations, as columns of numbers, and the results that say what becomes of them.

A configuration is a block's threads, registers and shared memory: of a kernel, or given without a kernel.
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
"""More than these are refused."""


@dataclass(frozen=True)
class Numbers:
    """Configurations: every combination of the values, in their order.

    Attributes:
        shared_bytes: static and dynamic, a block: values, or a function of the threads.
        grid_blocks: blocks to be run; None if waves do not matter.
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
            of_threads = {t: shared(t) for t in self.threads}
            rows = [(t, r, of_threads[t]) for t in self.threads for r in self.registers]
        else:
            rows = list(itertools.product(self.threads, self.registers, shared))
        threads, registers, shared_bytes = np.array(rows, np.int64).reshape(-1, 3).T
        return threads, registers, shared_bytes


def of_numbers(
    architectures: Sequence[Architecture],
    numbers: Numbers,
    carveout_percent: int | None,
    checked: bool = False,
) -> Iterator[OccupancyResult]:
    """Yield the occupancy of every configuration, on one architecture after the other.

    Args:
        checked: whether it is known that some architecture allows each number.

    Raises:
        UsageError: a number that none of the architectures allows, or too many configurations.
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
    """Raise UsageError for more configurations than there is memory for."""
    shared = 1 if callable(numbers.shared_bytes) else len(numbers.shared_bytes)
    count = len(architectures) * max(1, len(numbers.threads)) * len(numbers.registers) * shared
    if count > MOST_CONFIGURATIONS:
        raise UsageError(f"{count:,} configurations are more than {MOST_CONFIGURATIONS:,}; take larger steps")


def check_numbers(
    architectures: Sequence[Architecture], threads: Integers, registers: Integers, shared_bytes: Integers
) -> None:
    """Raise UsageError for a number that none of the architectures allows."""
    for values, what, allowed in (
        (threads, "threads a block", {a.name: a.threads_per_block for a in architectures}),
        (registers, "registers a thread", {a.name: a.registers_per_thread for a in architectures}),
        (shared_bytes, "bytes of shared memory a block",
         {a.name: a.shared_bytes_per_block for a in architectures}),
    ):  # fmt: skip
        most, name = max((limit, name) for name, limit in allowed.items())
        if values.size and values.max() > most:
            raise UsageError(f"{values.max():,} {what} are too many: {name} allows {most:,}")


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
    """Return a result for each configuration; the arrays have one length.

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
    """Return why no block of these numbers can run."""
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
