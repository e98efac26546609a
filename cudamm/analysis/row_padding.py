"""Find how much longer the rows of a tile in shared memory have to be, so that no bank conflict is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cudamm.analysis.array_elements import ArrayShape
from cudamm.devices.observation import BANKS, Access, Observation

WORD_BYTES = 4
"""Size of a word, of which each bank has one."""

VECTOR_BYTES = 16
"""Rows begin at multiples of it for vector accesses, and for nvcc to merge four loads."""

MOST_BYTES = 32
"""Maximum number of bytes by which rows become longer."""

MOST_REQUESTS = 32
"""Maximum number of requests of one access that are looked at."""

LEAST_GAIN = 1.5
"""Minimum ratio by which longer rows have to reduce the surplus of wavefronts to be worth a line."""


@dataclass(frozen=True)
class RowPadding:
    """A number of further elements in each row.

    Attributes:
        elements: the number.
        is_free: no bank conflict is left.
    """

    elements: int
    is_free: bool


def row_padding(
    array: str, shape: ArrayShape, observation: Observation, *, by_vectors: bool
) -> RowPadding | None:
    """Return the fewest further elements in a row that leave the least bank conflicts; None if none helps.

    All accesses to the array are looked at, as far as the first warp's requests were recorded.

    Args:
        shape: rows and columns of the array.
        by_vectors: the rows have to begin at multiples of 16 bytes.
    """
    sites = {a.site: a for a in observation.accesses if a.array == array and a.space == "shared"}
    requests: dict[int, list[list[int]]] = {site: [] for site in sites}
    for request in observation.requests:
        if request.site in requests and len(requests[request.site]) < MOST_REQUESTS:
            requests[request.site].append(list(request.offsets.values()))
    row_bytes = shape.row_bytes

    def surplus(further_bytes: int) -> int:
        """Return the wavefronts beyond the fewest possible, if rows have so many further bytes."""
        count = 0
        for site, all_offsets in requests.items():
            if _is_merged(sites[site]) and further_bytes and further_bytes % VECTOR_BYTES == 0:
                continue
            for offsets in all_offsets:
                moved = [offset + offset // row_bytes * further_bytes for offset in offsets]
                count += _wavefronts(moved, sites[site]) - len(_in_groups(moved, sites[site]))
        return count

    step = VECTOR_BYTES if by_vectors else shape.element_bytes
    tried = {n: surplus(n) for n in range(step, MOST_BYTES + 1, step)}
    best = min(tried, key=lambda n: (tried[n], n), default=0)
    conflicts = surplus(0)
    if not best or not conflicts or conflicts < LEAST_GAIN * tried[best]:
        return None
    return RowPadding(best // shape.element_bytes, not tried[best])


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
