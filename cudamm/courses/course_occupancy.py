"""The occupancy of the kernels that a source asks about; what is said where there is no compiler."""

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
    """Each kernel's occupancy, compiled for the architecture; none, and why, where there is no nvcc."""
    pairs = [(case.variant, case.problem) for case in cases]
    found, why_not = _or_why_not(lambda: occupancy_of_kernels([architecture], pairs, True, None, progress))
    failed = [result for result in found if result.reason]
    return ([], f"{failed[0].method}: {failed[0].reason}") if failed else (found, why_not)


def best(
    architecture: Architecture, case: CourseCase, progress: Progress
) -> tuple[OccupancyResult | None, str]:
    """A kernel at its block size of highest occupancy, with the suggestion that led there; or why not."""
    pairs = [(case.variant, case.problem)]
    found, why_not = _or_why_not(lambda: best_block_sizes([architecture], pairs, True, None, progress))
    if not found:
        return None, why_not
    return found[0], found[0].reason


def _or_why_not(compute: Callable[[], Iterable[T]]) -> tuple[list[T], str]:
    try:
        return list(compute()), ""
    except NoDeviceError as error:
        return [], f"no kernel can be compiled for a GPU: {error}"
