"""What the warps of a launch did to memory, as the CPU device saw it: the records of `trace` and `check`.

Terms are Nsight Compute's: a *request* is one instruction that a warp executes on memory, a *sector* is 32
bytes of global memory at a multiple of 32, a *wavefront* is one pass through the 32 banks of shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Space = Literal["global", "shared"]
Op = Literal["load", "store", "atomic"]
FaultKind = Literal["race", "out-of-bounds", "uninitialised", "divergent-barrier", "misaligned", "crash"]

SECTOR_BYTES = 32
BANKS = 32
BANK_BYTES = 4


@dataclass(frozen=True)
class Access:
    """One place of the source that accesses memory, over all warps that were traced.

    Attributes:
        site: tells apart several accesses of one line, in the order of the code.
        line: of the kernel's own file.
        text: that line of the source.
        array: A, B or C; the name of a shared variable; empty where several or none were reached.
        size_bytes: of one thread's access.
        requests: a warp's executions of it with at least one active thread.
        threads: that took part, summed over the requests.
        bytes_requested: threads times size.
        bytes_used: of different bytes in each request, summed.
        sectors, ideal_sectors: of global memory: touched, and the fewest that hold the bytes used.
        wavefronts, ideal_wavefronts: of shared memory: needed, and the fewest for the words used.
        broadcasts: requests all threads of which accessed the same address.
        wide_requests, wide_wavefronts, wide_ideal_wavefronts: of shared memory, were what a thread loads or
            stores here between two barriers merged wherever it is all of 16 aligned bytes, and nothing loaded
            twice, as nvcc does where it can prove that; the same as above where it never is.
        unrolled_requests, unrolled_sectors: of global stores, were the loop around them unrolled as nvcc
            unrolls one whose length differs from thread to thread; else the same as above.
        by_copy: whether it is one half of a copy from global to shared memory (cp.async), which Nsight
            Compute counts among the loads, but not among the stores.
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
    unrolled_requests: int = 0
    unrolled_sectors: int = 0
    by_copy: bool = False


@dataclass(frozen=True)
class Request:
    """One request of the warp that was watched.

    Attributes:
        order: among that warp's requests.
        site: of the `Access`.
        offsets: bytes from the start of the array, by lane; no entry for a lane that took no part.
    """

    order: int
    site: int
    offsets: dict[int, int]


@dataclass(frozen=True)
class Fault:
    """Something wrong that was seen, once for each kind and pair of places.

    Attributes:
        line: where; `other_line`: where the other thread of a race was, 0 where there is none.
        op, other_op: what either did.
        block, thread: index of the thread that was seen; `other_block`, `other_thread`: of the other.
        array: as in `Access`; the nearest one for an access out of bounds.
        offset_bytes: from that array's start; negative before it.
        size_bytes: of the access.
        count: how often it was seen.
        message: what the device said, for kinds that it describes itself (divergent-barrier, crash).
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


@dataclass(frozen=True)
class SharedArray:
    """A shared variable.

    Attributes:
        name: as in the source; the dynamic array has the name it is declared with.
    """

    name: str
    size_bytes: int


@dataclass(frozen=True)
class Observation:
    """A launch that was watched.

    Attributes:
        accesses: in the order of the code; none of the stack, of constants or of registers.
        blocks: linear indices of the blocks that were traced.
        warps: how many warps of those were traced, and of how many they had.
        requests: of the warp that was watched, the first ones.
        faults: what was seen to be wrong.
        shared: the kernel's shared variables.
        ended: why the launch did not come to its end; empty where it did.
    """

    accesses: tuple[Access, ...]
    blocks: tuple[int, ...]
    warps: tuple[int, int]
    requests: tuple[Request, ...] = ()
    faults: tuple[Fault, ...] = ()
    shared: tuple[SharedArray, ...] = ()
    ended: str = ""
