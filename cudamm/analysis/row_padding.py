"""Find a row length of a tile in shared memory, or columns of its threads, that avoid bank conflicts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from cudamm.analysis.array_elements import ArrayShape
from cudamm.devices.observation import BANKS, Access, Observation

WORD_BYTES = 4
"""Size of a word, of which each bank has one."""

VECTOR_BYTES = 16
"""Rows begin at multiples of it for vector accesses, and for nvcc to merge four loads."""

MOST_BYTES = 64
"""Maximum number of bytes by which rows become longer."""

MOST_REQUESTS = 32
"""Maximum number of requests of one access that are looked at."""

LEAST_GAIN = 1.5
"""Minimum ratio by which longer rows have to reduce the surplus of wavefronts to be worth a line."""


@dataclass(frozen=True)
class RowPadding:
    """A number of further elements in each row.

    Attributes:
        elements: the number; negative if the rows have too many.
        is_free: no bank conflict of the access is left, and no other access gets one.
    """

    elements: int
    is_free: bool


def row_padding(
    access: Access, shape: ArrayShape, observation: Observation, *, by_vectors: bool, has: int = 0
) -> RowPadding | None:
    """Return the fewest further elements in a row that leave the least bank conflicts; None if none helps.

    All accesses to the array are looked at, as far as the first warp's requests were recorded.

    Args:
        access: the access that has the conflict, which has to become smaller.
        shape: rows and columns of the array.
        by_vectors: the rows have to begin at multiples of 16 bytes, as those of matrix_sync; in any case they
            begin at multiples of the largest access to the array, or that one would be misaligned.
        has: number of elements of padding that the rows have already.
    """
    sites = {a.site: a for a in observation.accesses if a.array == access.array and a.space == "shared"}
    requests = {site: _offsets(site, observation) for site in sites}
    row_bytes = shape.row_bytes

    def surplus_of(site: int, further_bytes: int) -> int:
        """Return the wavefronts of an access beyond the fewest possible, with so many further bytes a row."""
        count = 0
        for offsets in requests[site]:
            moved = [offset + offset // row_bytes * further_bytes for offset in offsets]
            count += _wavefronts(moved, sites[site]) - len(_in_groups(moved, sites[site]))
        return count

    def surplus(further_bytes: int) -> int:
        """Return the wavefronts of all accesses beyond the fewest possible, apart from merged ones."""
        keeps_vectors = further_bytes > 0 and further_bytes % VECTOR_BYTES == 0
        return sum(
            surplus_of(site, further_bytes)
            for site in sites
            if not (keeps_vectors and _is_merged(sites[site]))
        )

    def wavefronts(further_bytes: int) -> float:
        """Return the wavefronts of all accesses; nvcc merges loads only if rows begin at whole vectors."""
        count = 0.0
        for site, at in sites.items():
            if _is_merged(at) and (row_bytes + further_bytes) % VECTOR_BYTES == 0:
                count += at.wide_wavefronts if further_bytes == 0 else at.wide_ideal_wavefronts
            elif requests[site]:
                fewest = sum(len(_in_groups(offsets, at)) for offsets in requests[site])
                count += at.requests * (fewest + surplus_of(site, further_bytes)) / len(requests[site])
        return count

    def lessens(further_bytes: int) -> bool:
        before, after = (surplus_of(access.site, further) for further in (0, further_bytes))
        return before > 0 and before >= LEAST_GAIN * after

    largest = max(site.size_bytes for site in sites.values())
    step = VECTOR_BYTES if by_vectors else max(largest, shape.element_bytes)
    lengths = list(range(step, MOST_BYTES + 1, step))
    without = -has * shape.element_bytes
    if (
        -MOST_BYTES <= without < 0
        and without % step == 0
        and _fits(access.array, shape, without, observation)
    ):
        lengths.append(without)
    tried = {n: surplus(n) for n in lengths if lessens(n) and wavefronts(n) < wavefronts(0)}
    best = min(tried, key=lambda n: (tried[n], n), default=0)
    if not best or surplus(0) < LEAST_GAIN * tried[best]:
        return None
    is_free = not surplus_of(access.site, best) and all(
        surplus_of(site, best) <= surplus_of(site, 0) for site in sites
    )
    return RowPadding(best // shape.element_bytes, is_free)


def is_free_if_swizzled(array: str, shape: ArrayShape, observation: Observation, has: int) -> bool:
    """Return whether an array has no conflict if element [y][x] lies at [y][x ^ y], without padding.

    Args:
        has: number of elements of padding that the rows have.
    """
    columns, element_bytes = shape.extents[1] - has, shape.element_bytes
    sites = {a.site: a for a in observation.accesses if a.array == array and a.space == "shared"}
    requests = {site: _offsets(site, observation) for site in sites}
    is_of_elements = all(access.size_bytes == element_bytes for access in sites.values())
    if columns & (columns - 1) or not (is_of_elements and all(requests.values())):
        return False

    def swizzled(offset: int) -> int:
        row, column = divmod(offset // element_bytes, shape.extents[1])
        return (row * columns + (column ^ row % columns)) * element_bytes

    return all(
        _wavefronts(moved, access) == len(_in_groups(moved, access))
        for site, access in sites.items()
        for moved in (list(map(swizzled, offsets)) for offsets in requests[site])
    )


def elements_side_by_side(
    access: Access, shape: ArrayShape, observation: Observation
) -> tuple[int, int] | None:
    """Return how many elements of one row each thread has side by side, if that causes a bank conflict.

    Returns:
        That number, and the number of threads that share a row;
        None if a request of the access shows another cause, or none was recorded.
    """
    requests = _offsets(access.site, observation)
    steps: set[int] = set()
    for offsets in requests:
        if len({offset // shape.row_bytes for offset in offsets}) > 1:
            return None
        different = sorted(set(offsets))
        steps |= {after - before for before, after in itertools.pairwise(different)}
    count = steps.pop() // shape.element_bytes if len(steps) == 1 else 0
    if count < 2 or shape.extents[-1] % count or access.size_bytes != shape.element_bytes:
        return None
    positions = {offset // shape.element_bytes % count for offsets in requests for offset in offsets}
    if len(positions) != count:
        return None
    threads = max(len(set(offsets)) for offsets in requests)  # a padded row is longer than they need
    return count, threads if threads < BANKS else shape.extents[-1] // count


def _offsets(site: int, observation: Observation) -> list[list[int]]:
    """Return the offsets of each of the first recorded requests of an access."""
    found = (list(request.offsets.values()) for request in observation.requests if request.site == site)
    return list(itertools.islice(found, MOST_REQUESTS))


def _fits(array: str, shape: ArrayShape, further_bytes: int, observation: Observation) -> bool:
    """Return whether no access reaches the end of a row that is cut off, as far as accesses were recorded."""
    sizes = {a.site: a.size_bytes for a in observation.accesses if a.array == array and a.space == "shared"}
    row_bytes = shape.row_bytes
    last = max((reach.end for reach in observation.reaches if reach.array == array), default=0)
    return 0 < last <= shape.elements * shape.element_bytes + further_bytes and all(
        offset % row_bytes + sizes[request.site] <= row_bytes + further_bytes
        for request in observation.requests
        if request.site in sizes
        for offset in request.offsets.values()
    )


def _is_merged(access: Access) -> bool:
    """Return whether nvcc may merge four of the loads, which then have no conflict among full rows."""
    return 0 < access.wide_requests < access.requests


def _in_groups(offsets: Sequence[int], access: Access) -> list[Sequence[int]]:
    """Return the offsets of the threads that access the banks together: a warp, its halves or quarters."""
    threads = BANKS * WORD_BYTES // max(access.size_bytes, WORD_BYTES)
    return [offsets[first : first + threads] for first in range(0, len(offsets), threads)]


def _wavefronts(offsets: Sequence[int], access: Access) -> int:
    """Return the passes through the banks that a request needs: the most words of any bank, in each group."""
    passes = 0
    for group in _in_groups(offsets, access):
        words = {
            word
            for offset in group
            for word in range(offset // WORD_BYTES, -(-(offset + access.size_bytes) // WORD_BYTES))
        }
        of_bank = [0] * BANKS
        for word in words:
            of_bank[word % BANKS] += 1
        passes += max(of_bank)
    return passes
