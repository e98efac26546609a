"""Occupancy, against NVIDIA's own calculation and against cases worked out by hand."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cudamm.compile.toolkit import find_nvcc, header_folders
from cudamm.occupancy import Multiprocessor, occupancy

KB = 1024
# CUDA C++ Programming Guide, “Technical Specifications per Compute Capability”: threads and blocks a
# multiprocessor, shared memory a multiprocessor and a block (with opt-in), and what the driver keeps of it.
GUIDE = {
    "sm_75": (1024, 16, 64 * KB, 64 * KB, 0),
    "sm_80": (2048, 32, 164 * KB, 163 * KB, KB),
    "sm_86": (1536, 16, 100 * KB, 99 * KB, KB),
    "sm_89": (1536, 24, 100 * KB, 99 * KB, KB),
    "sm_90": (2048, 32, 228 * KB, 227 * KB, KB),
    "sm_100": (2048, 32, 228 * KB, 227 * KB, KB),
    "sm_120": (1536, 24, 100 * KB, 99 * KB, KB),
}


def multiprocessor(arch: str) -> Multiprocessor:
    threads, blocks, shared, shared_of_block, reserved = GUIDE[arch]
    return Multiprocessor.of(
        arch,
        {
            "max_threads_per_multiprocessor": threads,
            "max_blocks_per_multiprocessor": blocks,
            "max_registers_per_multiprocessor": 65536,
            "max_registers_per_block": 65536,
            "max_shared_memory_per_multiprocessor": shared,
            "max_shared_memory_per_block_optin": shared_of_block,
            "reserved_shared_memory_per_block": reserved,
        },
    )


def configurations(arch: str) -> Iterator[tuple[int, int, int, int]]:
    """Threads, registers, static and dynamic shared memory: edges and what lies beside them."""
    most = GUIDE[arch][3]
    threads = [
        1,
        31,
        32,
        33,
        64,
        96,
        100,
        128,
        160,
        192,
        255,
        256,
        257,
        320,
        384,
        480,
        512,
        513,
        640,
        768,
        800,
        992,
        1023,
        1024,
    ]
    registers = [
        0,
        1,
        8,
        9,
        16,
        24,
        25,
        32,
        33,
        40,
        41,
        48,
        56,
        64,
        65,
        72,
        80,
        96,
        97,
        112,
        128,
        129,
        160,
        168,
        169,
        200,
        224,
        232,
        255,
    ]
    shared = [
        (0, 0),
        (1, 0),
        (100, 28),
        (1023, 1),
        (4 * KB, 0),
        (8 * KB, 129),
        (0, 10 * KB + 1),
        (16 * KB, 8 * KB),
    ]
    shared += [
        (48 * KB, 0),
        (0, 48 * KB + 1),
        (16 * KB, 33 * KB),
        (0, most // 2 - KB),
        (0, most // 2),
        (0, most),
        (0, most + 1),
    ]
    yield from ((t, r, s, d) for t, r, (s, d) in itertools.product(threads, registers, shared))


PROGRAM = r"""
#include <cuda_occupancy.h>
#include <stdio.h>

int main() {
    int major, minor, threads_of_sm, threads, registers;
    size_t shared_of_sm, shared_of_block, reserved, fixed, dynamic;
    while (scanf("%d %d %d %zu %zu %zu %d %d %zu %zu", &major, &minor, &threads_of_sm, &shared_of_sm,
                 &shared_of_block, &reserved, &threads, &registers, &fixed, &dynamic) == 10) {
        cudaOccDeviceProp device;
        device.computeMajor = major, device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024, device.maxThreadsPerMultiprocessor = threads_of_sm;
        device.regsPerBlock = device.regsPerMultiprocessor = 65536, device.warpSize = 32, device.numSms = 1;
        device.sharedMemPerBlock = 48 * 1024, device.sharedMemPerMultiprocessor = shared_of_sm;
        device.sharedMemPerBlockOptin = shared_of_block, device.reservedSharedMemPerBlock = reserved;
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = 1024, kernel.numRegs = registers, kernel.sharedSizeBytes = fixed;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN, kernel.maxDynamicSharedSizeBytes = dynamic;
        kernel.numBlockBarriers = 1;
        cudaOccDeviceState state;
        cudaOccResult found;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&found, &device, &kernel, &state, threads, dynamic))
            return 1;
        printf("%d %d %d %d %d\n", found.activeBlocksPerMultiprocessor, found.blockLimitWarps,
               found.blockLimitBlocks, found.blockLimitRegs, found.blockLimitSharedMem);
    }
}
"""


@pytest.fixture(scope="module")
def nvidias(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program around NVIDIA's cuda_occupancy.h, which states the hardware's rules as code."""
    folders = [f for f in header_folders(find_nvcc()) if (f / "cuda_occupancy.h").is_file()]
    if not folders:
        pytest.skip("NVIDIA's cuda_occupancy.h was not found: it comes with the CUDA toolkit")
    program = tmp_path_factory.mktemp("occupancy") / "occupancy"
    subprocess.run(
        ["g++", "-O1", "-w", f"-I{folders[0]}", "-x", "c++", "-", "-o", program],
        input=PROGRAM,
        text=True,
        check=True,
    )
    return program


@pytest.mark.parametrize("arch", GUIDE)
def test_occupancy_is_nvidias(nvidias: Path, arch: str) -> None:
    sm = multiprocessor(arch)
    threads_of_sm, _, shared_of_sm, shared_of_block, reserved = GUIDE[arch]
    asked = list(configurations(arch))
    assert len(asked) > 5000
    device = f"{arch[3:-1]} {arch[-1]} {threads_of_sm} {shared_of_sm} {shared_of_block} {reserved}"
    lines = "\n".join(f"{device} {t} {r} {s} {d}" for t, r, s, d in asked)
    done = subprocess.run([nvidias], input=lines, capture_output=True, text=True, check=True)
    answers = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(answers) == len(asked)
    different = []
    for (threads, registers, static, dynamic), (active, *limits) in zip(asked, answers, strict=True):
        found = occupancy(sm, threads, registers, static + dynamic)
        same = found.active_blocks == active
        if active:  # of a kernel that cannot run the limits do not matter
            same &= [found.limits[name] for name in ("warps", "blocks", "registers", "shared")] == limits
        if not same:
            different.append(
                (threads, registers, static, dynamic, active, limits, found.active_blocks, found.limits)
            )
    assert different[:5] == []
    # The grid reaches every kind of answer.
    assert {0, 1, 2, 3, 4} <= {active for active, *_ in answers}


# Worked out by hand: blocks by warps, blocks, registers and shared memory, and the least of them.


@pytest.mark.parametrize(
    ("arch", "threads", "registers", "shared", "limits", "by"),
    [
        # 64 warps / 8; 65536 registers / (4 x 16 warps of 32 x 32) is 64 warps, 8 blocks.
        ("sm_90", 256, 32, 0, (8, 32, 8, 228), ("warps", "registers")),
        # 40 registers x 32 = 1280 a warp; 16384 / 1280 = 12 warps a partition, 48 in all; / 8 = 6.
        ("sm_90", 256, 40, 0, (8, 32, 6, 228), ("registers",)),
        # 33 x 32 = 1056, rounded up to 1280.
        ("sm_90", 256, 33, 0, (8, 32, 6, 228), ("registers",)),
        # One warp a block: 64 would fit, 32 may.
        ("sm_90", 32, 16, 0, (64, 32, 128, 228), ("blocks",)),
        # 33 threads take two warps.
        ("sm_90", 33, 16, 0, (32, 32, 64, 228), ("warps", "blocks")),
        # 8192 + 1024 reserved = 9216; 233472 / 9216 = 25.3.
        ("sm_90", 64, 16, 8192, (32, 32, 64, 25), ("shared",)),
        # 227 KB and the reserved one: the whole of it.
        ("sm_90", 1024, 64, 227 * KB, (2, 32, 1, 1), ("registers", "shared")),
        # One byte more than a block may have.
        ("sm_90", 1024, 32, 227 * KB + 1, (2, 32, 2, 0), ("shared",)),
        # 65 x 32 = 2080, rounded up to 2304; x 32 warps is more than 65536.
        ("sm_90", 1024, 65, 0, (2, 32, 0, 228), ("registers",)),
        # 1000 threads are 32 warps.
        ("sm_86", 1000, 32, 0, (1, 16, 2, 100), ("warps",)),
        # 4097 bytes are rounded up to 4352 in steps of 256; 65536 / 4352 = 15.06; nothing is reserved.
        ("sm_75", 64, 32, 4097, (16, 16, 32, 15), ("shared",)),
        ("sm_75", 64, 0, 0, (16, 16, 2**31 - 1, 2**31 - 1), ("warps", "blocks")),
        # 4097 + 1024 are rounded up to 5248 in steps of 128; 167936 / 5248 = 32 exactly.
        ("sm_80", 64, 32, 4097, (32, 32, 32, 32), ("warps", "blocks", "registers", "shared")),
        # 255 x 32 = 8160 -> 8192; 2 warps a partition, 8 in all: a block of 96 threads is 3 warps.
        ("sm_80", 96, 255, 0, (21, 32, 2, 164), ("registers",)),
    ],
)
def test_by_hand(
    arch: str, threads: int, registers: int, shared: int, limits: tuple[int, ...], by: tuple[str, ...]
) -> None:
    found = occupancy(multiprocessor(arch), threads, registers, shared)
    assert found.limits == dict(zip(("warps", "blocks", "registers", "shared"), limits, strict=True))
    assert found.active_blocks == min(limits)
    assert found.limited_by == by
    assert found.active_warps == min(limits) * -(-threads // 32)
    assert found.active_threads == min(limits) * threads
    assert found.occupancy == min(limits) * threads / GUIDE[arch][0]


def test_the_labs_formula() -> None:
    """Sheffield: active blocks x threads a block x SMs / (threads a multiprocessor x SMs)."""
    found = occupancy(multiprocessor("sm_86"), 768, 40, 4096)
    assert found.active_blocks == 2
    assert found.occupancy == 2 * 768 * 30 / (1536 * 30) == 1.0
    assert occupancy(multiprocessor("sm_86"), 1024, 32, 0).occupancy == pytest.approx(2 / 3)


def test_pascals_largest_has_two_partitions() -> None:
    attributes = {
        "max_threads_per_multiprocessor": 2048,
        "max_blocks_per_multiprocessor": 32,
        "max_registers_per_multiprocessor": 65536,
        "max_registers_per_block": 65536,
        "max_shared_memory_per_multiprocessor": 65536,
        "max_shared_memory_per_block_optin": 49152,
        "reserved_shared_memory_per_block": 0,
    }
    # 168 x 32 = 5376 a warp: 6 of them in half the registers, 3 in a quarter.
    assert occupancy(Multiprocessor.of("sm_60", attributes), 64, 168, 0).limits["registers"] == 6
    assert occupancy(Multiprocessor.of("sm_61", attributes), 64, 168, 0).limits["registers"] == 6
    # 200 x 32 = 6400: 5 in a half, 10 in all; 2 in a quarter, 8 in all.
    assert occupancy(Multiprocessor.of("sm_60", attributes), 64, 200, 0).limits["registers"] == 5
    assert occupancy(Multiprocessor.of("sm_61", attributes), 64, 200, 0).limits["registers"] == 4
