"""Find how far the blocks of a grid store results: a grid may have blocks that lie beyond the matrix."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence

from cudamm.kernels.launch_plan import Extents

PROBES = 15
"""Number of blocks along an axis that one launch looks at."""

StoringBlocks = Callable[[Sequence[int]], Collection[int]]
"""Function that runs blocks, given by linear indices, and returns those that store to global memory."""


def linear_index(grid: Extents, x: int, y: int, z: int) -> int:
    """Return the linear index of a block, x fastest."""
    return x + grid[0] * (y + grid[1] * z)


def storing_extents(grid: Extents, storing: StoringBlocks) -> Extents:
    """Return the number of blocks along each axis that store something, by the blocks at 0 on the other axes.

    An axis has its whole extent if its last block stores, or if blocks that store follow one that does not.
    """
    found = list(grid)
    for axis, extent in enumerate(grid):
        if extent > 1:
            found[axis] = _first_without_store(grid, axis, storing)
    x, y, z = found
    return x, y, z


def _first_without_store(grid: Extents, axis: int, storing: StoringBlocks) -> int:
    """Return the position on an axis from which no block stores; the axis's extent if there is none."""

    def index(position: int) -> int:
        x, y, z = (position if each == axis else 0 for each in range(3))
        return linear_index(grid, x, y, z)

    low, high = 0, grid[axis] - 1  # block `low` stores, and block `high` does not
    ends = storing([index(low), index(high)])
    if index(low) not in ends or index(high) in ends:
        return grid[axis]
    while high - low > 1:
        step = max(1, (high - low) // (PROBES + 1))
        positions = list(itertools.islice(range(low + step, high, step), PROBES + 1))
        found = storing([index(position) for position in positions])
        store = [index(position) in found for position in positions]
        if store != sorted(store, reverse=True):
            return grid[axis]
        count = sum(store)
        low, high = [low, *positions][count], [*positions, high][count]
    return high
