"""Active blocks and all limits, against NVIDIA's calculation, published examples and hand calculation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cudamm.kernels.architecture import ARCHITECTURES, Architecture, find_architecture, gpu_architecture
from cudamm.occupancy.active_blocks import LIMITS, UNLIMITED, active_blocks

KB = 1024
KNOWN_TO_HEADER = [a for a in ARCHITECTURES.values() if a.capability >= (3, 0)]

THREADS = (1, 31, 32, 33, 64, 96, 100, 128, 160, 192, 224, 255, 256, 257, 288, 320, 352, 384, 416, 448, 480,
           512, 513, 544, 576, 640, 704, 768, 800, 832, 896, 960, 992, 1023, 1024)  # fmt: skip
REGISTERS = (0, 1, 8, 9, 16, 17, 21, 24, 25, 32, 33, 36, 37, 40, 41, 42, 48, 49, 56, 63, 64, 65, 72, 73,
             80, 81, 85, 96, 97, 112, 113, 128, 129, 144, 160, 168, 169, 192, 200, 224, 232, 255)  # fmt: skip


def configurations(architecture: Architecture) -> list[tuple[int, int, int, int]]:
    """Return threads, registers, static and dynamic shared memory, at and beside the edges of rounding."""
    most = architecture.shared_bytes_per_block
    shared = [(0, 0), (1, 0), (100, 28), (1023, 1), (4 * KB, 0), (8 * KB, 129), (0, 10 * KB + 1),
              (16 * KB, 8 * KB), (48 * KB, 0), (16 * KB, most // 2 - 16 * KB), (0, most // 2 + 1),
              (0, most // 3), (0, most), (0, most + 1)]  # fmt: skip
    registers = [r for r in REGISTERS if r <= architecture.registers_per_thread]
    return [(t, r, s, d) for t, r, (s, d) in itertools.product(THREADS, registers, shared)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("architecture", KNOWN_TO_HEADER, ids=lambda a: a.name)
def test_every_limit_is_that_of_nvidias_calculation(header, architecture: Architecture) -> None:
    """The next test checks the number of configurations."""
    requests = configurations(architecture)
    answers = np.array(header.ask(architecture, [f"{t} {r} {s} {d} 1 -1 0 1024" for t, r, s, d in requests]))
    threads, registers, static, dynamic = np.array(requests).T
    result = active_blocks(architecture, threads, registers, static + dynamic)
    ours = np.stack(
        [result.active, *(result.limits[n] for n in LIMITS), result.allocated_shared_bytes], axis=1
    )
    compared = list(range(7))
    if architecture.capability == (10, 3) and header.release < 13050:
        compared.remove(5)  # later releases have 32 barriers for 10.3, this one 64
    different = (ours[:, compared] != answers[:, compared]).any(axis=1)
    first = [(requests[i], ours[i].tolist(), answers[i].tolist()) for i in np.flatnonzero(different)[:5]]
    assert first == []
    # The configurations give every kind of answer, and each resource is the scarcest in one of them.
    assert {0, 2, 3, 4} <= set(result.active.tolist())
    for name in ("warps", "blocks", "registers", "shared"):
        others = [result.limits[other] for other in LIMITS if other not in (name, "barriers")]
        assert (result.limits[name] < np.minimum.reduce(others)).any(), name


def test_more_than_400_000_configurations_are_compared() -> None:
    assert sum(len(configurations(architecture)) for architecture in KNOWN_TO_HEADER) > 400_000
    assert len(KNOWN_TO_HEADER) == 23


@pytest.mark.parametrize("architecture", KNOWN_TO_HEADER, ids=lambda a: a.name)
def test_barriers_are_those_of_nvidias_calculation(header, architecture: Architecture) -> None:
    requests = list(itertools.product((32, 64, 128, 256), (0, 1, 2, 3, 5, 8, 16)))
    answers = np.array(header.ask(architecture, [f"{t} 16 0 0 {b} -1 0 1024" for t, b in requests]))
    result = active_blocks(architecture, [t for t, _ in requests], 16, 0, [b for _, b in requests])
    if architecture.capability == (10, 3) and header.release < 13050:
        # That release has 64 barriers for 10.3, as for 10.0; later releases have 32.
        assert answers[:, 5].tolist() == [64 // b if b else UNLIMITED for _, b in requests]
        return
    assert result.limits["barriers"].tolist() == answers[:, 5].tolist()
    assert result.active.tolist() == answers[:, 0].tolist()


@pytest.mark.parametrize("architecture", KNOWN_TO_HEADER, ids=lambda a: a.name)
def test_the_carveout_is_that_of_nvidias_calculation(header, architecture: Architecture) -> None:
    """Percentages are compared from 7.0 on; before, only the two extremes of the L1 preference exist."""
    settings = {p: (p, 0) for p in (0, 1, 3, 8, 14, 15, 20, 33, 43, 50, 57, 66, 75, 85, 99, 100)}
    if architecture.capability < (7, 0):
        settings = {0: (-1, 2), 100: (-1, 1)}
    shared = [0, 1, 1000, 3 * KB, 7 * KB, 8 * KB, 15 * KB, 20 * KB, 31 * KB, 33 * KB, 40 * KB, 48 * KB]
    shared += [
        s for s in (63 * KB, 70 * KB, 99 * KB, 131 * KB, 200 * KB) if s <= architecture.shared_bytes_per_block
    ]
    for percent, (carveout, cache) in settings.items():
        requests = [f"{t} 16 0 {s} 1 {carveout} {cache} 1024" for t in (32, 128, 1024) for s in shared]
        answers = np.array(header.ask(architecture, requests))
        threads = np.repeat([32, 128, 1024], len(shared))
        result = active_blocks(architecture, threads, 16, np.tile(shared, 3), 1, percent)
        assert result.limits["shared"].tolist() == answers[:, 4].tolist(), percent
        assert result.active.tolist() == answers[:, 0].tolist(), percent


# Published examples: architecture, threads, registers, shared bytes, and the published active blocks.
@pytest.mark.parametrize(
    ("name", "threads", "registers", "shared", "blocks", "source"),
    [
        ("sm_10", 256, 10, 0, 3, "SJTU CS427 lecture 8; Kirk & Hwu, section 6.3"),
        ("sm_10", 256, 11, 0, 2, "SJTU CS427 lecture 8; Kirk & Hwu, section 6.3"),
        ("sm_13", 256, 0, 0, 4, "Kirk & Hwu, section 6.3: GT200"),
        ("sm_13", 128, 0, 0, 8, "Kirk & Hwu, section 6.3: GT200"),
        ("sm_13", 64, 0, 0, 8, "Kirk & Hwu, section 6.3: 512 threads only"),
        ("sm_10", 64, 0, 5 * KB, 3, "lectures after Kirk & Hwu: 5 KB a block"),
        ("sm_10", 64, 0, 2 * KB, 8, "lectures after Kirk & Hwu: 2 KB a block"),
        ("sm_70", 128, 37, 0, 12, "CUDA Best Practices Guide, Occupancy: 75%"),
        ("sm_70", 320, 37, 0, 4, "CUDA Best Practices Guide, Occupancy: 63%"),
    ],
)
def test_active_blocks_are_those_of_published_examples(
    name: str, threads: int, registers: int, shared: int, blocks: int, source: str
) -> None:
    assert int(active_blocks(find_architecture(name), threads, registers, shared).active) == blocks, source


def test_limits_of_fermi_and_tesla_are_those_computed_by_hand() -> None:
    def limits(name: str, threads: int, registers: int, shared: int = 0) -> list[int]:
        result = active_blocks(find_architecture(name), threads, registers, shared)
        return [int(result.limits[limit]) for limit in LIMITS]

    # Registers are allocated for 4 warps instead of 3: 4 x 32 x 16 = 2048 of 8192; by warps 24 // 3 = 8.
    assert limits("sm_10", 96, 16) == [8, 8, 4, UNLIMITED, UNLIMITED]
    # 2 warps x 32 x 10 = 640, in portions of 512: 1024 of 16384. 600 bytes in portions of 512: 1024.
    assert limits("sm_13", 64, 10, 600) == [16, 8, 16, 16, UNLIMITED]
    # 20 x 32 = 640 a warp, of 16384 in each of two partitions: 25 warps each, 50 in all; 50 // 6 = 8.
    assert limits("sm_20", 192, 20) == [8, 8, 8, UNLIMITED, UNLIMITED]
    # 21 registers are rounded up to 24: 768 a warp, 21 warps in each partition, 42 in all; 42 // 6 = 7.
    assert limits("sm_20", 192, 21) == [8, 8, 7, UNLIMITED, UNLIMITED]
    # 63 x 32 = 2016, in portions of 64: 2048; 8 warps in each partition, 16 in all; 17 warps do not fit.
    assert limits("sm_21", 544, 63)[2] == 0
    assert limits("sm_21", 512, 63)[2] == 1
    # 100 bytes are rounded up to 128; 48 KB / 128 = 384.
    assert limits("sm_21", 512, 63, 100)[3] == 384


@pytest.mark.parametrize(
    ("name", "threads", "registers", "shared", "limits"),
    [
        # 64 warps / 8; 65536 registers / (4 x 16 warps of 32 x 32) is 64 warps, 8 blocks; 233472 / 1024.
        ("sm_90", 256, 32, 0, (8, 32, 8, 228, 64)),
        # 40 registers x 32 = 1280 a warp; 16384 // 1280 = 12 warps a partition, 48 in all; // 8 = 6.
        ("sm_90", 256, 40, 0, (8, 32, 6, 228, 64)),
        # 33 x 32 = 1056, rounded up to 1280.
        ("sm_90", 256, 33, 0, (8, 32, 6, 228, 64)),
        # 8192 + 1024 reserved = 9216; 233472 / 9216 = 25.3.
        ("sm_90", 64, 16, 8192, (32, 32, 64, 25, 64)),
        # 227 KB and 1 KB reserved are all of the shared memory.
        ("sm_90", 1024, 64, 227 * KB, (2, 32, 1, 1, 64)),
        # One byte more than a block may have.
        ("sm_90", 1024, 32, 227 * KB + 1, (2, 32, 2, 0, 64)),
        # 4097 bytes are rounded up to 4352 in steps of 256; 65536 / 4352 = 15.06; nothing is reserved.
        ("sm_75", 64, 32, 4097, (16, 16, 32, 15, UNLIMITED)),
        # 255 x 32 = 8160 -> 8192; 2 warps a partition, 8 in all: a block of 96 threads is 3 warps.
        ("sm_80", 96, 255, 0, (21, 32, 2, 164, UNLIMITED)),
        # Calculators on the web miss this: 85 x 32 = 2720 -> 2816 a warp, x 4 = 11264, of 32768 for a block;
        # 16384 // 2816 = 5 in each partition, 20 warps, 5 blocks. At 16 warps a block the launch fails.
        ("sm_53", 128, 85, 0, (16, 32, 5, UNLIMITED, UNLIMITED)),
        ("sm_53", 512, 85, 0, (4, 32, 0, UNLIMITED, UNLIMITED)),
    ],
)
def test_limits_are_those_computed_by_hand(
    name: str, threads: int, registers: int, shared: int, limits: tuple[int, ...]
) -> None:
    result = active_blocks(find_architecture(name), threads, registers, shared)
    assert tuple(int(result.limits[limit]) for limit in LIMITS) == limits
    assert int(result.active) == min(limits)
    assert int(result.warps) == min(limits) * -(-threads // 32)


def test_a_gpus_own_attributes_replace_those_of_the_table() -> None:
    attributes = {
        "multiprocessor_count": 7,
        "max_threads_per_block": 1024,
        "max_threads_per_multiprocessor": 1536,
        "max_blocks_per_multiprocessor": 20,
        "max_registers_per_multiprocessor": 65536,
        "max_registers_per_block": 65536,
        "max_shared_memory_per_multiprocessor": 100 * KB,
        "max_shared_memory_per_block": 48 * KB,
        "max_shared_memory_per_block_optin": 99 * KB,
        "reserved_shared_memory_per_block": 2 * KB,
    }
    architecture = gpu_architecture("sm_90", "a GPU", attributes)
    assert (architecture.multiprocessors, architecture.blocks, architecture.threads, architecture.gpu) == (
        7,
        20,
        1536,
        "a GPU",
    )
    assert architecture.shared_configurations == tuple(k * KB for k in (0, 8, 16, 32, 64, 100))
    assert int(active_blocks(architecture, 32, 0, 8 * KB).limits["shared"]) == 10
    # A GPU that is not in the table gets the rules of the newest architecture before it.
    assert gpu_architecture("sm_139", "future", attributes).partitions == ARCHITECTURES["sm_121"].partitions
    assert gpu_architecture("sm_107", "future", attributes).barriers == 20  # one for each block, as on 10.3
    # Products of one architecture have tensor cores of different rates: that of another product is not known.
    for name, gpu, rate in (
        ("sm_89", "NVIDIA GeForce RTX 4090", 256), ("sm_89", "NVIDIA L4", 512), ("sm_89", "a GPU", None),
        ("sm_90", "NVIDIA H200", 2048), ("sm_90", "a GPU", 2048), ("sm_75", "a GPU", None),
    ):  # fmt: skip
        assert gpu_architecture(name, gpu, attributes).tensor_fp16_per_cycle == rate
