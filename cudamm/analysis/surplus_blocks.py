"""Find out whether at least half of a grid's blocks store nothing, because they lie beyond the matrix."""

from __future__ import annotations

import math

from cudamm.analysis.mistakes import Mistake, WatchedLaunch, idle_blocks
from cudamm.analysis.trace import Settings, observed_classes
from cudamm.devices.observation import Observation
from cudamm.errors import KernelError, NoDeviceError, UsageError
from cudamm.execution.case import Case
from cudamm.kernels.launch_plan import Extents, Launch, plan
from cudamm.kernels.problem import Shape

LARGER = 4
"""Factor of M, N and K at which a grid has to have as large a share of surplus blocks."""

LEAST_EDGE = 200
"""Extent of C from which the grid of a program at its own size may have surplus blocks."""

LEAST_SURPLUS = 2
"""Minimum number of surplus blocks along an axis: one is often there, as in `N / 16 + 1`."""


def surplus_blocks(
    case: Case, launch: Launch, observation: Observation, size: str, timeout_s: float
) -> Mistake | None:
    """Return the advice on a grid of which at least half of the blocks store nothing; None if it has none.

    Args:
        observation: what was observed of some of the launch's blocks.
        size: M x N x K as asked for, before padding.
        timeout_s: time limit in seconds for a block of threads.
    """
    is_of_user = bool(case.variant.method.launched_at[1]) and not case.variant.method.builtin
    if not is_of_user or set(observation.blocks) == observation.storing:
        return None
    settings = Settings(timeout_s=timeout_s)
    try:
        # Unlike the launch that was watched, this one shows the stores to __device__ variables too.
        classes, observations, storing = observed_classes(case, launch, settings)
    except (KernelError, NoDeviceError):
        return None
    if not _is_surplus(launch.grid, storing) or not _stays_surplus(case, launch.grid, storing):
        return None
    beyond = [found for of, found in zip(classes, observations, strict=True) if not of.stores]
    watched = WatchedLaunch(observation, case.program, launch, size)
    return idle_blocks(watched, storing, [bool(found.accessing) for found in beyond])


def _is_surplus(grid: Extents, storing: Extents) -> bool:
    """Return whether at least half of a grid stores nothing, more than a rounding of the sizes leaves."""
    most = max(extent - count for extent, count in zip(grid, storing, strict=True))
    return math.prod(grid) >= 2 * math.prod(storing) and most >= LEAST_SURPLUS


def _stays_surplus(case: Case, grid: Extents, storing: Extents) -> bool:
    """Return whether a grid is too large at sizes of several hundred too, as one of a fixed size is not."""
    m, n, k = case.problem.shape.extents
    if case.problem.shape.extents == case.variant.method.program_size and max(m, n) >= LEAST_EDGE:
        return True
    try:
        larger = plan(case.variant, Shape(LARGER * m, LARGER * n, LARGER * k), case.problem.element).grid
    except (KernelError, UsageError):
        return False
    x, y, z = (
        count * LARGER if count < extent else extent_of_larger
        for count, extent, extent_of_larger in zip(storing, grid, larger, strict=True)
    )
    return _is_surplus(larger, (x, y, z))
