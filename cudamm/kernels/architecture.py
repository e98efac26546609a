"""What a multiprocessor (SM) of each compute capability has, and in what portions it gives it out.

Sources. Limits: NVIDIA's CUDA Programming Guide, “Technical Specifications per Compute Capability”, of CUDA
13 for 7.5 and later, and of the last release that lists the capability for older ones. Granularities,
partitions and reserved memory: the guide's section “Hardware Multithreading” and NVIDIA's occupancy
spreadsheet for 1.x, and cuda_occupancy.h of CUDA 7 (2.x) and CUDA 13 (3.0 to 12.1), which state the
hardware's rules as code.

NVIDIA publishes no limits for 8.8 and 10.7, so they are not here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cudamm.errors import UsageError

WARP_THREADS = 32
KB = 1024


@dataclass(frozen=True)
class Architecture:
    """A multiprocessor's limits, and a GPU that has so many of them.

    Attributes:
        name: as compilers call it, such as `sm_86`.
        gpu: whose number of multiprocessors is given; one of several that have this architecture.
        threads, blocks, registers, shared_bytes: of a multiprocessor.
        threads_per_block, registers_per_block, registers_per_thread: the most there may be.
        shared_bytes_per_block: the most a block may have, opted in to where it is more than 48 KB.
        reserved_shared_bytes: of the multiprocessor's shared memory, the driver takes for itself a block.
        shared_configurations: bytes of shared memory that an SM can be set to; the rest of that memory is L1.
        partitions: sub-partitions, each with its own share of the registers; warps are spread over them.
        register_granularity: registers come in multiples of this, to a warp (on 1.x to a block).
        registers_by_block: whether registers are given to a block as a whole.
        shared_granularity_bytes: shared memory a block is given comes in multiples of this.
        barriers_of_blocks: hardware barriers an SM has for each block it can hold; None where NVIDIA's
            calculation leaves them out.
        fp32_per_cycle: float32 additions, multiplications or fused pairs that an SM finishes a clock cycle.
    """

    name: str
    gpu: str
    multiprocessors: int
    threads_per_block: int
    threads: int
    blocks: int
    registers: int
    registers_per_block: int
    registers_per_thread: int
    shared_bytes: int
    shared_bytes_per_block: int
    reserved_shared_bytes: int
    shared_configurations: tuple[int, ...]
    partitions: int
    register_granularity: int
    registers_by_block: bool
    shared_granularity_bytes: int
    barriers_of_blocks: int | None
    fp32_per_cycle: int

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability, such as (8, 6)."""
        return _capability(self.name)

    @property
    def barriers(self) -> int | None:
        """Hardware barriers of a multiprocessor; None where NVIDIA's calculation leaves them out."""
        return None if self.barriers_of_blocks is None else self.barriers_of_blocks * self.blocks

    @property
    def warps(self) -> int:
        """Warps that a multiprocessor has room for."""
        return self.threads // WARP_THREADS

    def __str__(self) -> str:
        return f"{self.name} ({self.gpu}, {self.multiprocessors} SMs)"


# Each: threads a block; threads, blocks and registers an SM; registers a block and a thread; KB of shared
# memory an SM and a block; float32 results a cycle and SM; a GPU of this kind and its SMs.
# fmt: off
_TABLE: dict[tuple[int, int], tuple[int, int, int, int, int, int, int, int, int, str, int]] = {
    (1, 0):  ( 512,  768,  8,   8192,  8192, 124,  16,  16,   8, "GeForce 8800 GTX", 16),
    (1, 1):  ( 512,  768,  8,   8192,  8192, 124,  16,  16,   8, "GeForce 9800 GTX", 16),
    (1, 2):  ( 512, 1024,  8,  16384, 16384, 124,  16,  16,   8, "GeForce GT 240", 12),
    (1, 3):  ( 512, 1024,  8,  16384, 16384, 124,  16,  16,   8, "Tesla C1060", 30),
    (2, 0):  (1024, 1536,  8,  32768, 32768,  63,  48,  48,  32, "Tesla C2050", 14),
    (2, 1):  (1024, 1536,  8,  32768, 32768,  63,  48,  48,  48, "GeForce GTX 560 Ti", 8),
    (3, 0):  (1024, 2048, 16,  65536, 65536,  63,  48,  48, 192, "GeForce GTX 680", 8),
    (3, 2):  (1024, 2048, 16,  65536, 32768, 255,  48,  48, 192, "Tegra K1", 1),
    (3, 5):  (1024, 2048, 16,  65536, 65536, 255,  48,  48, 192, "Tesla K40", 15),
    (3, 7):  (1024, 2048, 16, 131072, 65536, 255, 112,  48, 192, "Tesla K80, one of its two GPUs", 13),
    (5, 0):  (1024, 2048, 32,  65536, 65536, 255,  64,  48, 128, "GeForce GTX 750 Ti", 5),
    (5, 2):  (1024, 2048, 32,  65536, 65536, 255,  96,  48, 128, "GeForce GTX 980", 16),
    (5, 3):  (1024, 2048, 32,  65536, 32768, 255,  64,  48, 128, "Jetson TX1", 2),
    (6, 0):  (1024, 2048, 32,  65536, 65536, 255,  64,  48,  64, "Tesla P100", 56),
    (6, 1):  (1024, 2048, 32,  65536, 65536, 255,  96,  48, 128, "GeForce GTX 1080", 20),
    (6, 2):  (1024, 2048, 32,  65536, 32768, 255,  64,  48, 128, "Jetson TX2", 2),
    (7, 0):  (1024, 2048, 32,  65536, 65536, 255,  96,  96,  64, "Tesla V100", 80),
    (7, 2):  (1024, 2048, 32,  65536, 65536, 255,  96,  96,  64, "Jetson AGX Xavier", 8),
    (7, 5):  (1024, 1024, 16,  65536, 65536, 255,  64,  64,  64, "Tesla T4", 40),
    (8, 0):  (1024, 2048, 32,  65536, 65536, 255, 164, 163,  64, "A100", 108),
    (8, 6):  (1024, 1536, 16,  65536, 65536, 255, 100,  99, 128, "GeForce RTX 3090", 82),
    (8, 7):  (1024, 1536, 16,  65536, 65536, 255, 164, 163, 128, "Jetson AGX Orin", 16),
    (8, 9):  (1024, 1536, 24,  65536, 65536, 255, 100,  99, 128, "GeForce RTX 4090", 128),
    (9, 0):  (1024, 2048, 32,  65536, 65536, 255, 228, 227, 128, "H100 SXM", 132),
    (10, 0): (1024, 2048, 32,  65536, 65536, 255, 228, 227, 128, "B200", 148),
    (10, 3): (1024, 2048, 32,  65536, 65536, 255, 228, 227, 128, "B300", 148),
    (11, 0): (1024, 1536, 24,  65536, 65536, 255, 228, 227, 128, "Jetson AGX Thor", 20),
    (12, 0): (1024, 1536, 24,  65536, 65536, 255, 100,  99, 128, "GeForce RTX 5090", 170),
    (12, 1): (1024, 1536, 24,  65536, 65536, 255, 100,  99, 128, "GB10 (DGX Spark)", 48),
}
# fmt: on

# KB of the memory that L1 and shared memory divide between them; where a capability is not named, the whole
# of its shared memory is the only choice.
_CONFIGURATIONS_KB: dict[tuple[int, int], tuple[int, ...]] = {
    **dict.fromkeys([(2, 0), (2, 1)], (16, 48)),
    **dict.fromkeys([(3, 0), (3, 2), (3, 5)], (16, 32, 48)),
    (3, 7): (80, 96, 112),
    **dict.fromkeys([(7, 0), (7, 2)], (0, 8, 16, 32, 64, 96)),
    (7, 5): (32, 64),
    **dict.fromkeys([(8, 0), (8, 7)], (0, 8, 16, 32, 64, 100, 132, 164)),
    **dict.fromkeys([(8, 6), (8, 9), (12, 0), (12, 1)], (0, 8, 16, 32, 64, 100)),
    **dict.fromkeys([(9, 0), (10, 0), (10, 3), (11, 0)], (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)),
}


def _architecture(capability: tuple[int, int]) -> Architecture:
    """A row of the table, and what follows from the capability by NVIDIA's rules."""
    major, minor = capability
    (threads_of_block, threads, blocks, registers, registers_of_block, registers_of_thread,
     shared_kb, shared_of_block_kb, fp32, gpu, multiprocessors) = _TABLE[capability]  # fmt: skip
    return Architecture(
        name=f"sm_{major}{minor}",
        gpu=gpu,
        multiprocessors=multiprocessors,
        threads_per_block=threads_of_block,
        threads=threads,
        blocks=blocks,
        registers=registers,
        registers_per_block=registers_of_block,
        registers_per_thread=registers_of_thread,
        shared_bytes=shared_kb * KB,
        shared_bytes_per_block=shared_of_block_kb * KB,
        reserved_shared_bytes=KB if major >= 8 else 0,
        shared_configurations=tuple(kb * KB for kb in _CONFIGURATIONS_KB.get(capability, (shared_kb,))),
        partitions=1 if major == 1 else 2 if major == 2 or capability == (6, 0) else 4,
        register_granularity={(1, 0): 256, (1, 1): 256, (1, 2): 512, (1, 3): 512}.get(
            capability, 64 if major == 2 else 256
        ),
        registers_by_block=major == 1,
        shared_granularity_bytes={1: 512, 2: 128}.get(major, 256 if major <= 7 else 128),
        # cuda_occupancy.h of CUDA 13; of 10.3 as from CUDA 13.5 on.
        barriers_of_blocks={(9, 0): 2, (10, 0): 2}.get(capability, 1) if major >= 9 else None,
        fp32_per_cycle=fp32,
    )


ARCHITECTURES: dict[str, Architecture] = {
    architecture.name: architecture for architecture in map(_architecture, _TABLE)
}
"""Every architecture by its name, oldest first."""


def find_architecture(text: str) -> Architecture:
    """The architecture of a name such as `sm_86`, `8.6` or `sm_90a`; a suffix stays in its name.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    match = re.fullmatch(r"(?:sm_?|compute_)?(\d{1,2})\.?(\d)([af]?)", text.strip().lower())
    if match:
        found = ARCHITECTURES.get(f"sm_{match[1]}{match[2]}")
        # Code of one architecture's or one family's own instructions, from 9.0 and 10.0 on.
        if found and found.capability >= {"": (1, 0), "a": (9, 0), "f": (10, 0)}[match[3]]:
            return replace(found, name=found.name + match[3])
        asked = 10 * int(match[1]) + int(match[2])
        # Of the same family, if there is one; then by the number.
        near = min(
            ARCHITECTURES,
            key=lambda name: (_capability(name)[0] != int(match[1]), abs(int(name[3:]) - asked)),
        )
        unknown = " (NVIDIA publishes no limits for it)" if asked in (88, 107) else ""
        raise UsageError(f"unknown architecture “{text}”{unknown}: the nearest is {near}; {_KNOWN}")
    close = difflib.get_close_matches(text.strip().lower(), ARCHITECTURES, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]}? " if close else ""
    raise UsageError(f"unknown architecture “{text}”: {hint}{_KNOWN}")


def of_gpu(name: str, gpu: str, attributes: Mapping[str, int]) -> Architecture:
    """The architecture of a GPU that is here; its own attributes win over the table.

    Args:
        name: such as `sm_90`.
        gpu: the GPU's own name.
        attributes: as PyCUDA names them, in lower case.
    """
    # A GPU newer than the table has the portions of the newest that is not newer than it.
    like = [a for a in ARCHITECTURES.values() if a.capability <= _capability(name)][-1]
    shared_bytes = attributes["max_shared_memory_per_multiprocessor"]
    own = {size for size in like.shared_configurations if size < shared_bytes}
    return replace(
        like,
        name=name,
        gpu=gpu,
        multiprocessors=attributes["multiprocessor_count"],
        threads_per_block=attributes["max_threads_per_block"],
        threads=attributes["max_threads_per_multiprocessor"],
        blocks=attributes.get("max_blocks_per_multiprocessor", like.blocks),
        registers=attributes["max_registers_per_multiprocessor"],
        registers_per_block=attributes["max_registers_per_block"],
        shared_bytes=shared_bytes,
        shared_bytes_per_block=attributes.get(
            "max_shared_memory_per_block_optin", attributes["max_shared_memory_per_block"]
        ),
        reserved_shared_bytes=attributes.get("reserved_shared_memory_per_block", like.reserved_shared_bytes),
        shared_configurations=tuple(sorted(own | {shared_bytes})),
    )


def _capability(name: str) -> tuple[int, int]:
    digits = name[3:].rstrip("af")
    return int(digits[:-1]), int(digits[-1])


_KNOWN = f"there are {', '.join(ARCHITECTURES)}, and all"
