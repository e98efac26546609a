"""The block size of highest occupancy, and the block edge that the lab makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.occupancy.active_blocks import active_blocks
from cudamm.occupancy.occupancy_result import Suggestion


def every_block_size(architecture: Architecture, max_threads: int | None = None) -> tuple[int, ...]:
    """The block sizes that NVIDIA's search tries: the largest there may be, then whole warps, descending."""
    most = min(architecture.threads_per_block, max_threads or architecture.threads_per_block)
    aligned = -(-most // WARP_THREADS) * WARP_THREADS
    return tuple(min(most, threads) for threads in range(aligned, 0, -WARP_THREADS))


def suggest(
    architecture: Architecture,
    sizes: Sequence[int],
    registers: int,
    shared_bytes: Callable[[int], int],
    barriers: int,
    chosen_from: str,
    carveout_percent: int | None = None,
) -> Suggestion | None:
    """The block size with most active threads; of equals the largest. None where no size can run.

    Source: cudaOccMaxPotentialOccupancyBlockSizeVariableSMem in NVIDIA's cuda_occupancy.h; with
    `every_block_size` it is what cudaOccupancyMaxPotentialBlockSizeVariableSMem answers.

    Args:
        sizes: threads a block to choose from.
        registers: a thread.
        shared_bytes: a block, static and dynamic, as a function of its threads.
        chosen_from: how to call the sizes.
    """
    threads = np.array(sorted(sizes, reverse=True), np.int64)
    shared = np.array([shared_bytes(size) for size in threads.tolist()], np.int64)
    found = active_blocks(architecture, threads, registers, shared, barriers, carveout_percent)
    best = int(np.argmax(found.active * threads))
    if found.active[best] == 0:
        return None
    occupancy = int(found.warps[best]) / architecture.warps
    return suggestion(architecture, int(threads[best]), int(found.active[best]), occupancy, chosen_from)


def suggestion(
    architecture: Architecture, threads: int, active_blocks: int, occupancy: float, chosen_from: str
) -> Suggestion:
    """A block size that was found, with what follows from it."""
    rounded = power_of_four(threads)
    return Suggestion(
        threads_per_block=threads,
        occupancy=occupancy,
        min_grid_blocks=active_blocks * architecture.multiprocessors,
        rounded_threads=rounded,
        block_edge=int(rounded**0.5),
        chosen_from=chosen_from,
    )


def power_of_four(threads: int) -> int:
    """4 ** floor(log4(threads)): the largest power of four, whose square root is a power of two."""
    power = 1
    while power * 4 <= threads:
        power *= 4
    return power
