"""A program around NVIDIA's calculation, cuda_occupancy.h, which reads numbers and prints results."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cudamm.compile.toolkit import find_nvcc, header_candidates
from cudamm.kernels.architecture import Architecture

PROGRAM = r"""
#include <cuda_occupancy.h>
#include <stdio.h>

static size_t per_thread;
static size_t shared_of(int threads) { return per_thread * threads; }

int main() {
    int major, minor, sms, threads_of_block, threads_of_sm, registers_of_block, registers_of_sm, most;
    size_t shared_of_sm, shared_of_block, reserved;
    int threads, registers, barriers, carveout, cache;
    size_t fixed, dynamic;
    while (scanf("%d %d %d %d %d %d %d %zu %zu %zu %d %d %zu %zu %d %d %d %d", &major, &minor, &sms,
                 &threads_of_block, &threads_of_sm, &registers_of_block, &registers_of_sm, &shared_of_sm,
                 &shared_of_block, &reserved, &threads, &registers, &fixed, &dynamic, &barriers, &carveout,
                 &cache, &most) == 18) {
        cudaOccDeviceProp device;
        device.computeMajor = major, device.computeMinor = minor, device.numSms = sms, device.warpSize = 32;
        device.maxThreadsPerBlock = threads_of_block, device.maxThreadsPerMultiprocessor = threads_of_sm;
        device.regsPerBlock = registers_of_block, device.regsPerMultiprocessor = registers_of_sm;
        device.sharedMemPerBlock = 48 * 1024, device.sharedMemPerMultiprocessor = shared_of_sm;
        device.sharedMemPerBlockOptin = shared_of_block, device.reservedSharedMemPerBlock = reserved;
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = most, kernel.numRegs = registers, kernel.sharedSizeBytes = fixed;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN, kernel.maxDynamicSharedSizeBytes = 1 << 20;
        kernel.numBlockBarriers = barriers;
        cudaOccDeviceState state;
        state.carveoutConfig = carveout, state.cacheConfig = (cudaOccCacheConfig)cache;
        if (threads) {
            kernel.maxDynamicSharedSizeBytes = dynamic;
            cudaOccResult found;
            if (cudaOccMaxActiveBlocksPerMultiprocessor(&found, &device, &kernel, &state, threads, dynamic))
                return 1;
            printf("%d %d %d %d %d %d %zu\n", found.activeBlocksPerMultiprocessor, found.blockLimitWarps,
                   found.blockLimitBlocks, found.blockLimitRegs, found.blockLimitSharedMem,
                   found.blockLimitBarriers, found.allocatedSharedMemPerBlock);
        } else {  // without a block size, print the best; `dynamic` is then shared memory per thread
            int grid, block;
            per_thread = dynamic;
            if (cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, &device, &kernel, &state, shared_of, 0))
                return 1;
            printf("%d %d\n", grid, block);
        }
    }
}
"""


@dataclass(frozen=True)
class Header:
    """The compiled calculation and the release of CUDA that it comes from, such as 13000."""

    program: Path
    release: int

    def ask(self, architecture: Architecture, lines: Iterable[str]) -> list[tuple[int, ...]]:
        """Return the program's answer to each line, a tuple of the numbers that it prints.

        A line is: threads registers static dynamic barriers carve-out cache most-threads. With 0 threads the
        program searches the best block size.
        """
        limits = (
            *architecture.capability,
            architecture.multiprocessors,
            architecture.threads_per_block,
            architecture.threads,
            architecture.registers_per_block,
            architecture.registers,
            architecture.shared_bytes,
            architecture.shared_bytes_per_block,
            architecture.reserved_shared_bytes,
        )
        device = " ".join(map(str, limits))
        requests = [f"{device} {line}" for line in lines]
        completed = subprocess.run(
            [self.program], input="\n".join(requests), capture_output=True, text=True, check=True
        )
        answers = [tuple(map(int, line.split())) for line in completed.stdout.splitlines()]
        assert len(answers) == len(requests)
        return answers


@pytest.fixture(scope="session")
def header(tmp_path_factory: pytest.TempPathFactory) -> Header:
    """Compile NVIDIA's cuda_occupancy.h, which states the hardware's rules as code."""
    folders = [f for f in header_candidates(find_nvcc(), None) if (f / "cuda_occupancy.h").is_file()]
    if not folders:
        pytest.skip("NVIDIA's cuda_occupancy.h was not found: it comes with the toolkit, and with make setup")
    program = tmp_path_factory.mktemp("occupancy") / "occupancy"
    subprocess.run(
        ["g++", "-O1", "-w", f"-I{folders[0]}", "-x", "c++", "-", "-o", program],
        input=PROGRAM,
        text=True,
        check=True,
    )
    release = re.search(r"define\s+CUDART_VERSION\s+(\d+)", (folders[0] / "cuda_runtime_api.h").read_text())
    return Header(program, int(release[1]) if release else 0)
