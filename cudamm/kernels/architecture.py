"""The limits of a multiprocessor (SM) of each compute capability, and its allocation granularities.

Sources of the limits: NVIDIA's CUDA Programming Guide, “Technical Specifications per Compute Capability”:
the guide of CUDA 13 for compute capability 7.5 and later, and for an older one the guide of the last release
that lists it.

Sources of the granularities, partitions and reserved memory: for 1.x the guide's section “Hardware
Multithreading” and NVIDIA's occupancy spreadsheet; for 2.x cuda_occupancy.h of CUDA 7, and for 3.0 to 12.1
cuda_occupancy.h of CUDA 13. These headers contain the hardware's rules as code.

NVIDIA publishes no limits for 8.8 and 10.7, so the table lacks them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cudamm.errors import UsageError
from cudamm.kernels.named_gpus import NAMED_GPUS, NamedGpu, known_gpu, nearest_gpu

WARP_THREADS = 32
KB = 1024


@dataclass(frozen=True)
class Architecture:
    """The limits of a multiprocessor (SM), with one GPU of that architecture as an example.

    Attributes:
        name: the compiler's name, such as `sm_86`.
        gpu: a GPU of this architecture, one of several.
        multiprocessors: number of SMs of that GPU.
        threads, blocks, registers, shared_bytes: maximum of an SM.
        threads_per_block, registers_per_block, registers_per_thread: maximum of a block or a thread.
        shared_bytes_per_block: maximum of a block. A kernel has to opt in to more than 48 KB.
        reserved_shared_bytes: shared memory that the driver reserves for itself in each block.
        shared_configurations: sizes of shared memory that an SM can be set to, in bytes; the remaining memory
            is L1 cache.
        partitions: number of sub-partitions of an SM. Warps are spread over them, and each has its own
            registers.
        register_granularity: allocation unit of registers for a warp (on 1.x for a block).
        registers_by_block: True if registers are allocated to a block as a whole.
        shared_granularity_bytes: allocation unit of shared memory for a block.
        barriers_of_blocks: hardware barriers of an SM for each block that it can hold; None if NVIDIA's
            calculation ignores barriers.
        fp32_per_cycle: float32 additions, multiplications or fused multiply-adds of an SM in a clock cycle.
        fp64_per_cycle: those of float64; None if it is not in the table.
        int32_per_cycle: multiply-adds of int32 of an SM in a clock cycle; None if they take
            several instructions, or if the number is not in the table.
        tensor_fp16_per_cycle: multiply-adds of an SM's tensor cores in a clock cycle, in 16-bit types with
            sums in float32; None if there are none, or if the number is not in the table.
        tensor_fp64_per_cycle: those of float64.
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
    fp64_per_cycle: int | None = None
    int32_per_cycle: int | None = None
    tensor_fp16_per_cycle: int | None = None
    tensor_fp64_per_cycle: int | None = None

    @property
    def capability(self) -> tuple[int, int]:
        """Return the compute capability, such as (8, 6)."""
        return _capability(self.name)

    @property
    def barriers(self) -> int | None:
        """Return the number of hardware barriers of an SM; None if NVIDIA's calculation ignores barriers."""
        return None if self.barriers_of_blocks is None else self.barriers_of_blocks * self.blocks

    @property
    def warps(self) -> int:
        """Return the maximum number of warps of an SM."""
        return self.threads // WARP_THREADS

    def __str__(self) -> str:
        return f"{self.name} ({self.gpu}, {self.multiprocessors} SMs)"


# The columns: threads per block; threads, blocks and registers per SM; registers per block and per thread;
# KB of shared memory per SM and per block; float32 results per cycle and SM; a GPU and its number of SMs.
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

# CUDA C++ Programming Guide, “Throughput of Native Arithmetic Instructions”: 64-bit floating-point
# multiply-adds per cycle and SM, for the architectures of the GPUs in `named_gpus`.
_FP64_PER_CYCLE: dict[tuple[int, int], int] = {
    (6, 0): 32, (6, 1): 4, (7, 0): 32, (7, 5): 2, (8, 0): 32, (8, 6): 2, (8, 9): 2, (9, 0): 64, (12, 0): 2,
}  # fmt: skip

# The same for 32-bit integer multiply-adds, which take several instructions before 7.0.
_INT32_PER_CYCLE: dict[tuple[int, int], int] = dict.fromkeys(
    [(7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0)], 64
)

# Multiply-adds per cycle and SM on tensor cores, without sparsity: NVIDIA's whitepapers on V100 (8 tensor
# cores of 64), A100 (4 of 256) and H100 (twice those of an A100). Elsewhere the rate of 16-bit types depends
# on the product: see `named_gpus`.
_TENSOR_FP16_PER_CYCLE: dict[tuple[int, int], int] = {(7, 0): 512, (8, 0): 1024, (9, 0): 2048}
_TENSOR_FP64_PER_CYCLE: dict[tuple[int, int], int] = {(8, 0): 64, (9, 0): 128}

# Sizes in KB that shared memory can be set to, if it shares its memory with L1. A capability that is missing
# here has a fixed size of shared memory.
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
    """Return an architecture: its row of the table, and what NVIDIA's rules derive from its capability."""
    major, minor = capability
    (threads_per_block, threads, blocks, registers, registers_per_block, registers_per_thread,
     shared_kb, shared_kb_per_block, fp32, gpu, multiprocessors) = _TABLE[capability]  # fmt: skip
    return Architecture(
        name=f"sm_{major}{minor}",
        gpu=gpu,
        multiprocessors=multiprocessors,
        threads_per_block=threads_per_block,
        threads=threads,
        blocks=blocks,
        registers=registers,
        registers_per_block=registers_per_block,
        registers_per_thread=registers_per_thread,
        shared_bytes=shared_kb * KB,
        shared_bytes_per_block=shared_kb_per_block * KB,
        reserved_shared_bytes=KB if major >= 8 else 0,
        shared_configurations=tuple(kb * KB for kb in _CONFIGURATIONS_KB.get(capability, (shared_kb,))),
        partitions=1 if major == 1 else 2 if major == 2 or capability == (6, 0) else 4,
        register_granularity={(1, 0): 256, (1, 1): 256, (1, 2): 512, (1, 3): 512}.get(
            capability, 64 if major == 2 else 256
        ),
        registers_by_block=major == 1,
        shared_granularity_bytes={1: 512, 2: 128}.get(major, 256 if major <= 7 else 128),
        # From cuda_occupancy.h of CUDA 13; the value of 10.3 is that of CUDA 13.5 and later.
        barriers_of_blocks={(9, 0): 2, (10, 0): 2}.get(capability, 1) if major >= 9 else None,
        fp32_per_cycle=fp32,
        fp64_per_cycle=_FP64_PER_CYCLE.get(capability),
        int32_per_cycle=_INT32_PER_CYCLE.get(capability),
        tensor_fp16_per_cycle=_TENSOR_FP16_PER_CYCLE.get(capability),
        tensor_fp64_per_cycle=_TENSOR_FP64_PER_CYCLE.get(capability),
    )


ARCHITECTURES: dict[str, Architecture] = {
    architecture.name: architecture for architecture in map(_architecture, _TABLE)
}
"""All architectures by name, oldest first."""


def find_architecture(text: str) -> Architecture:
    """Return the architecture for a name such as `sm_86`, `8.6`, `sm_90a` or `RTX 4090`.

    The returned name keeps the suffix. For the name of a GPU, `multiprocessors` is that GPU's.

    Raises:
        UsageError: the architecture is unknown; the message contains the nearest known one.
    """
    match = re.fullmatch(r"(?:sm_?|compute_)?(\d{1,2})\.?(\d)([af]?)", text.strip().lower())
    if match:
        found = ARCHITECTURES.get(f"sm_{match[1]}{match[2]}")
        # Suffix a (one architecture's own instructions) exists from 9.0 on, f (one family's) from 10.0 on.
        if found and found.capability >= {"": (1, 0), "a": (9, 0), "f": (10, 0)}[match[3]]:
            return replace(found, name=found.name + match[3])
        number = 10 * int(match[1]) + int(match[2])
        # Prefer an architecture of the same major version.
        nearest = min(
            ARCHITECTURES,
            key=lambda name: (_capability(name)[0] != int(match[1]), abs(int(name[3:]) - number)),
        )
        unpublished = " (NVIDIA publishes no limits for it)" if number in (88, 107) else ""
        raise UsageError(f"unknown architecture “{text}”{unpublished}: the nearest is {nearest}; {_KNOWN}")
    of_gpu = [architecture for architecture in ARCHITECTURES.values() if _is_gpu(text, architecture.gpu)]
    if len(of_gpu) == 1:
        return of_gpu[0]
    named = known_gpu(text)
    if named is not None:
        return architecture_of_gpu(named)
    close = difflib.get_close_matches(text.strip().lower(), ARCHITECTURES, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]}? " if close and text.strip().lower().startswith("sm") else ""
    names = ", ".join(gpu.name for gpu in NAMED_GPUS)
    others = (
        "for another GPU look up its compute capability, such as 7.5 for sm_75, and its number of "
        "multiprocessors, for --sms where a command has it, and "
    )
    gpus = "" if hint else f"{nearest_gpu(text)}GPUs known by name are {names}; {others}"
    raise UsageError(f"unknown architecture “{text}”: {hint}{gpus}{_KNOWN}")


def architecture_of_gpu(gpu: NamedGpu) -> Architecture:
    """Return the architecture of a named GPU, with that GPU's multiprocessors and tensor cores."""
    return replace(
        ARCHITECTURES[gpu.arch],
        gpu=gpu.product,
        multiprocessors=gpu.multiprocessors,
        tensor_fp16_per_cycle=gpu.tensor_per_cycle,
    )


def _is_gpu(text: str, gpu: str) -> bool:
    """Return whether a text means a GPU: `A100`, `3090` or `rtx3090`, but neither `A10` nor `GeForce`."""
    words, wanted = re.findall(r"\w+", gpu.lower()), re.sub(r"[\s_-]", "", text.lower())
    runs = {"".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1)}
    return wanted in runs and any(char.isdigit() for char in wanted)


def gpu_architecture(name: str, gpu: str, attributes: Mapping[str, int]) -> Architecture:
    """Return the architecture of an installed GPU; the GPU's attributes take precedence over the table.

    Args:
        name: the architecture's name, such as `sm_90`.
        gpu: the GPU's product name.
        attributes: device attributes by PyCUDA's names, in lower case.
    """
    # A GPU that the table lacks gets the granularities of the newest architecture before it.
    known = [a for a in ARCHITECTURES.values() if a.capability <= _capability(name)][-1]
    shared_bytes = attributes["max_shared_memory_per_multiprocessor"]
    of_product = known_gpu(gpu)
    smaller = {size for size in known.shared_configurations if size < shared_bytes}
    return replace(
        known,
        name=name,
        gpu=gpu,
        multiprocessors=attributes["multiprocessor_count"],
        threads_per_block=attributes["max_threads_per_block"],
        threads=attributes["max_threads_per_multiprocessor"],
        blocks=attributes.get("max_blocks_per_multiprocessor", known.blocks),
        registers=attributes["max_registers_per_multiprocessor"],
        registers_per_block=attributes["max_registers_per_block"],
        shared_bytes=shared_bytes,
        shared_bytes_per_block=attributes.get(
            "max_shared_memory_per_block_optin", attributes["max_shared_memory_per_block"]
        ),
        reserved_shared_bytes=attributes.get("reserved_shared_memory_per_block", known.reserved_shared_bytes),
        shared_configurations=tuple(sorted(smaller | {shared_bytes})),
        tensor_fp16_per_cycle=of_product.tensor_per_cycle if of_product else known.tensor_fp16_per_cycle,
    )


def _capability(name: str) -> tuple[int, int]:
    digits = name[3:].rstrip("af")
    return int(digits[:-1]), int(digits[-1])


_KNOWN = f"choose one of {', '.join(ARCHITECTURES)}, or all"
