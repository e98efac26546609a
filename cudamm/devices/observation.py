"""Records of a launch's memory accesses, observed on the CPU device for `trace` and `check`.

The terms are those of Nsight Compute. A *request* is one execution of a memory instruction by a warp. A
*sector* is 32 bytes of global memory at an address that is a multiple of 32. A *wavefront* is one pass
through the 32 banks of shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Space = Literal["global", "shared", "local"]
Op = Literal["load", "store", "atomic"]
FaultKind = Literal[
    "race",
    "out-of-bounds",
    "uninitialised",
    "divergent-barrier",
    "misaligned",
    "crash",
    "index",
    "nan",
    "overrun",
]
"""`index`: an index outside of its array, which may be a row of a larger array. `nan`: a NaN was computed.
`overrun`: an access beside a local variable.
"""

SECTOR_BYTES = 32

UNCOALESCED = 2.0
"""Least ratio of the sectors that an uncoalesced access touches to those that its threads could share.

A row that begins inside a sector takes 5 sectors instead of 4, which no kernel can avoid.
"""

BANKS = 32
BANK_BYTES = 4


PAIR_BYTES = 8
WIDEST_BYTES = 16
"""Sizes of the accesses to shared memory into which nvcc merges those of 4 bytes."""


@dataclass(frozen=True)
class Access:
    """An access to memory in the source, with counts over all traced warps.

    The counts `wide_…` belong to an access to shared memory as nvcc merges it if possible: the elements that
    a thread loads or stores between two barriers become one access if they are `wide_bytes` aligned bytes,
    and no element is loaded twice. The counts `pair_…` belong to one as nvcc merges pairs of elements of 4
    bytes, and the counts `merged_…` to both. The counts `unrolled_…` belong to a global store in a loop as
    nvcc unrolls it if the number of iterations differs between threads. If nothing can be merged or unrolled,
    these counts equal the counts without the prefix.

    Attributes:
        site: number of the access in the order of the code; several accesses may be in one line.
        line: line number in the file.
        text: that line of the source.
        array: A, B or C, or the name of a shared variable; empty if several arrays or none were accessed.
        size_bytes: size of one thread's access.
        requests: executions by a warp with at least one active thread.
        threads: number of active threads, summed over the requests.
        bytes_requested: `threads` times `size_bytes`.
        bytes_used: number of different bytes in each request, summed over the requests.
        sectors, ideal_sectors: sectors of global memory that were accessed, and the fewest sectors that can
            contain the bytes used.
        wavefronts, ideal_wavefronts: wavefronts of shared memory that were needed, and the fewest that the
            words used can need.
        broadcasts: requests in which all threads accessed the same address.
        by_copy: true if the access is one half of a copy from global to shared memory (cp.async), which
            Nsight Compute counts among the loads but not among the stores.
        file: the included file that the line is of; empty for the kernel's own file.
    """

    site: int
    line: int
    text: str
    space: Space
    op: Op
    array: str
    size_bytes: int
    requests: int
    threads: int
    bytes_requested: int
    bytes_used: int
    sectors: int = 0
    ideal_sectors: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    broadcasts: int = 0
    wide_requests: int = 0
    wide_wavefronts: int = 0
    wide_ideal_wavefronts: int = 0
    pair_requests: int = 0
    pair_wavefronts: int = 0
    pair_ideal_wavefronts: int = 0
    merged_threads: int = 0
    merged_bytes_used: int = 0
    unrolled_requests: int = 0
    unrolled_sectors: int = 0
    by_copy: bool = False
    file: str = ""

    @property
    def wide_bytes(self) -> int:
        """Bytes of the widest access that nvcc makes of adjacent ones: of four elements, and at most 16."""
        return max(self.size_bytes, min(4 * self.size_bytes, WIDEST_BYTES))

    @property
    def is_uncoalesced(self) -> bool:
        """Whether the access touches `UNCOALESCED` times the sectors that it needs.

        Threads that share elements could do with fewer sectors than one for each 32 bytes that they request,
        but a kernel that loads an element of each of two rows for many threads is not uncoalesced.
        """
        needed = max(self.ideal_sectors, self.bytes_requested / SECTOR_BYTES)
        return self.requests > 0 and self.sectors >= UNCOALESCED * needed


@dataclass(frozen=True)
class Request:
    """One request of the watched warp.

    Attributes:
        order: position of the request among the warp's requests.
        site: `site` of the `Access`.
        offsets: bytes from the start of the array, by lane; inactive lanes have no entry.
    """

    order: int
    site: int
    offsets: dict[int, int]


@dataclass(frozen=True)
class Fault:
    """A fault that was observed. There is one record for each kind of fault and pair of source lines.

    The fields `other_…` describe the other thread of a race.

    Attributes:
        line: line of the access; 0 if it is not known.
        op: kind of the access.
        block, thread: indices of the first block and thread in which the fault was observed.
        array: array of the access; the nearest array for an access out of bounds.
        offset_bytes: offset of the access from the start of the array; negative if it is before the array.
        size_bytes: size of the access.
        count: number of times that the fault was observed.
        other_line: line of the other thread's access; 0 if there is no other thread.
        message: the device's own description, for the kinds divergent-barrier and crash.
        file, other_file: the included files that the lines are of; empty for the kernel's own file.
        call_line: line of the kernel that calls the function with the access; 0 if the kernel has the access.
        column: column at which an index ends, for the kind index; the next fields are for this kind too.
        index: the value of the index.
        extents: extents of the array that the index is outside of, without those before it; for the kind
            overrun, the bytes of the variable.
    """

    kind: FaultKind
    line: int = 0
    op: Op = "load"
    space: Space = "global"
    block: tuple[int, int, int] = (0, 0, 0)
    thread: tuple[int, int, int] = (0, 0, 0)
    array: str = ""
    offset_bytes: int = 0
    size_bytes: int = 4
    count: int = 1
    other_line: int = 0
    other_op: Op = "load"
    other_block: tuple[int, int, int] = (0, 0, 0)
    other_thread: tuple[int, int, int] = (0, 0, 0)
    message: str = ""
    file: str = ""
    other_file: str = ""
    call_line: int = 0
    column: int = 0
    index: int = 0
    extents: tuple[int, ...] = ()


@dataclass(frozen=True)
class SharedArray:
    """A variable in shared memory.

    Attributes:
        name: name in the source; for the dynamic array, the name in its declaration.
    """

    name: str
    size_bytes: int


@dataclass(frozen=True)
class Reach:
    """The bytes of a shared variable, from the first to the last, that one access in the source touched.

    Attributes:
        file: the included file that the line is of; empty for the kernel's own file.
        end: the byte behind the last.
    """

    file: str
    line: int
    array: str
    start: int
    end: int


@dataclass(frozen=True)
class Observation:
    """The memory accesses and the faults of one launch.

    Attributes:
        accesses: accesses to global and shared memory in the order of the code; accesses to the stack, to
            constants and to registers are not observed.
        blocks: linear indices of the traced blocks.
        warps: number of traced warps, and number of all warps of the traced blocks.
        requests: the first requests of the watched warp.
        faults: the faults that were observed.
        shared: the kernel's shared variables.
        reaches: the bytes of shared variables that each access touched.
        ended: the reason why the launch did not finish; empty if it finished.
        accessing, storing: those of `blocks` that access global memory, and those that store there.
        reads_of_output: reads of elements of C before the kernel wrote them, if C was set before the launch.
    """

    accesses: tuple[Access, ...]
    blocks: tuple[int, ...]
    warps: tuple[int, int]
    requests: tuple[Request, ...] = ()
    faults: tuple[Fault, ...] = ()
    shared: tuple[SharedArray, ...] = ()
    ended: str = ""
    reads_of_output: tuple[Fault, ...] = ()
    reaches: tuple[Reach, ...] = ()
    accessing: frozenset[int] = frozenset()
    storing: frozenset[int] = frozenset()
