"""The spreadsheet's three curves: occupancy as one number changes and the others stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.occupancy.active_blocks import active_blocks
from cudamm.occupancy.occupancy_result import OccupancyResult


@dataclass(frozen=True)
class Curve:
    """Occupancy against one quantity.

    Attributes:
        quantity: what changes, with its unit: threads a block, registers a thread, shared memory a block.
        values: of the quantity.
        active_warps: at each value.
        warps: that a multiprocessor has room for.
        present: the value and active warps of the configuration itself.
    """

    quantity: str
    values: list[int]
    active_warps: list[int]
    warps: int
    present: tuple[int, int]


def curves_through(
    architecture: Architecture, result: OccupancyResult, carveout_percent: int | None
) -> tuple[Curve, ...]:
    """The three curves through a configuration."""
    of = architecture
    # A block of a single thread takes a warp, as one of 32 does.
    threads = np.array([1, *range(WARP_THREADS, of.threads_per_block + 1, WARP_THREADS)])
    registers = np.arange(1, of.registers_per_thread + 1)
    shared = np.arange(0, of.shared_bytes_per_block + 1, of.shared_granularity_bytes)
    here = (result.threads_per_block, result.registers_per_thread, result.shared_bytes_per_block)
    drawn: list[Curve] = []
    for i, (quantity, values) in enumerate(
        (("threads a block", threads), ("registers a thread", registers), ("shared bytes a block", shared))
    ):
        numbers = [values if j == i else number for j, number in enumerate(here)]
        found = active_blocks(of, numbers[0], numbers[1], numbers[2], result.barriers, carveout_percent)
        drawn.append(
            Curve(quantity, values.tolist(), found.warps.tolist(), of.warps, (here[i], result.active_warps))
        )
    return tuple(drawn)


def drawn(
    results: Sequence[OccupancyResult], architectures: Sequence[Architecture], carveout_percent: int | None
) -> list[tuple[OccupancyResult, tuple[Curve, ...]]]:
    """The curves through each result whose numbers are known."""
    named = {architecture.name: architecture for architecture in architectures}
    return [
        (result, curves_through(named[result.arch], result, carveout_percent))
        for result in results
        if result.is_known
    ]
