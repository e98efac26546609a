"""Occupancy of the kernels in a course document, or the reason why it cannot be computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from cudamm.courses.course_records import CourseCase
from cudamm.errors import NoDeviceError
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import Architecture
from cudamm.occupancy.block_size import best_block_sizes
from cudamm.occupancy.kernel_occupancy import occupancy_of_kernels
from cudamm.occupancy.occupancy_result import OccupancyResult

T = TypeVar("T")


def occupancies(
    architecture: Architecture, cases: Sequence[CourseCase], progress: Progress
) -> tuple[list[OccupancyResult], str]:
    """Compile the kernels for an architecture and compute their occupancy.

    Returns:
        A result for each case and an empty text. Without nvcc, or if a kernel fails: no result and the
        reason.
    """
    pairs = [(case.variant, case.problem) for case in cases]
    results, reason = _or_reason(lambda: occupancy_of_kernels([architecture], pairs, True, None, progress))
    failed = [result for result in results if result.reason]
    return ([], f"{failed[0].method}: {failed[0].reason}") if failed else (results, reason)


def best(
    architecture: Architecture, case: CourseCase, progress: Progress
) -> tuple[OccupancyResult | None, str]:
    """Find the block size at which a kernel has the highest occupancy.

    Returns:
        The kernel's occupancy at the suggested block size, or None without nvcc; and the reason if there is
        no suggestion.
    """
    pairs = [(case.variant, case.problem)]
    results, reason = _or_reason(lambda: best_block_sizes([architecture], pairs, True, None, progress))
    if not results:
        return None, reason
    return results[0], results[0].reason


def _or_reason(compute: Callable[[], Iterable[T]]) -> tuple[list[T], str]:
    """Return the computed items, or none and the reason if there is no compiler."""
    try:
        return list(compute()), ""
    except NoDeviceError as error:
        return [], f"no kernel can be compiled for a GPU: {error}"
