"""Compute the three curves of NVIDIA's spreadsheet: occupancy as one number of a configuration changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.occupancy.active_blocks import active_blocks
from cudamm.occupancy.occupancy_result import OccupancyResult


@dataclass(frozen=True)
class Curve:
    """A curve of occupancy against one quantity.

    Attributes:
        quantity: the quantity that changes: threads or shared bytes of a block, or registers of a thread.
        values: values of the quantity.
        active_warps: number of active warps at each value.
        warps: maximum number of warps on a multiprocessor.
        present: the value and the active warps of the configuration itself.
    """

    quantity: str
    values: list[int]
    active_warps: list[int]
    warps: int
    present: tuple[int, int]


def curves_through(
    architecture: Architecture, result: OccupancyResult, carveout_percent: int | None
) -> tuple[Curve, ...]:
    """Return the three curves through a configuration."""
    # A block of one thread takes a warp, as a block of 32 threads does.
    threads = np.array([1, *range(WARP_THREADS, architecture.threads_per_block + 1, WARP_THREADS)])
    registers = np.arange(1, architecture.registers_per_thread + 1)
    shared = np.arange(0, architecture.shared_bytes_per_block + 1, architecture.shared_granularity_bytes)
    configuration = (result.threads_per_block, result.registers_per_thread, result.shared_bytes_per_block)
    curves: list[Curve] = []
    for i, (quantity, values) in enumerate(
        (
            ("threads per block", threads),
            ("registers per thread", registers),
            ("shared bytes per block", shared),
        )
    ):
        numbers = [values if j == i else number for j, number in enumerate(configuration)]
        blocks = active_blocks(
            architecture, numbers[0], numbers[1], numbers[2], result.barriers, carveout_percent
        )
        present = configuration[i], result.active_warps
        curves.append(Curve(quantity, values.tolist(), blocks.warps.tolist(), architecture.warps, present))
    return tuple(curves)


def curves_of_results(
    results: Sequence[OccupancyResult], architectures: Sequence[Architecture], carveout_percent: int | None
) -> list[tuple[OccupancyResult, tuple[Curve, ...]]]:
    """Return each result whose numbers are known, with the curves through it."""
    by_name = {architecture.name: architecture for architecture in architectures}
    return [
        (result, curves_through(by_name[result.arch], result, carveout_percent))
        for result in results
        if result.is_known
    ]
