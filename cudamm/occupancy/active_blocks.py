"""Active blocks per multiprocessor, as cuOccupancyMaxActiveBlocksPerMultiprocessor counts them.

Source: NVIDIA's cuda_occupancy.h of CUDA 13 for compute capability 3.0 and later, and of CUDA 7 for 2.x; for
1.x the CUDA C Programming Guide 4.2, “Hardware Multithreading”. The tests compare with cuda_occupancy.h of
CUDA 13.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cudamm.kernels.architecture import WARP_THREADS, Architecture

Integers = npt.NDArray[np.int64]

UNLIMITED = 2**31 - 1
"""Number of blocks allowed by a resource that a kernel does not use."""

LIMITS = ("warps", "blocks", "registers", "shared", "barriers")
"""The resources that can limit active blocks, in the order in which tables show them."""

_WARP_PAIR = 2
"""Number of warps that get registers together on 1.x."""

_COARSE_ON_FERMI = (21, 22, 29, 30, 37, 38, 45, 46)
"""Registers per thread for which 2.x allocates registers in units of 128 per warp instead of 64."""


@dataclass(frozen=True)
class Blocks:
    """The active blocks of a multiprocessor; each array has one element per configuration.

    Attributes:
        warps_per_block: warps of one block; a partly filled warp counts as one.
        limits: number of active blocks that each resource of LIMITS alone would allow.
        active: number of active blocks, the minimum of the limits.
        allocated_registers: registers that are allocated for a block.
        allocated_shared_bytes: shared memory that is allocated for a block, including the driver's share.
    """

    warps_per_block: Integers
    limits: dict[str, Integers]
    active: Integers
    allocated_registers: Integers
    allocated_shared_bytes: Integers

    @property
    def warps(self) -> Integers:
        """Return the number of active warps."""
        return self.active * self.warps_per_block


def active_blocks(
    architecture: Architecture,
    threads: npt.ArrayLike,
    registers: npt.ArrayLike,
    shared_bytes: npt.ArrayLike,
    barriers: npt.ArrayLike = 1,
    carveout_percent: int | None = None,
) -> Blocks:
    """Return the active blocks of configurations, given as numbers or as arrays of one shape.

    Args:
        threads: threads per block, at least 1.
        registers: registers per thread.
        shared_bytes: static and dynamic shared memory per block.
        barriers: hardware barriers per block.
        carveout_percent: the preferred share of the largest shared memory that an SM can have, in percent;
            the rest is L1 cache. None prefers all of it.
    """
    threads, registers, shared_bytes, barriers = np.broadcast_arrays(
        *(np.asarray(numbers, np.int64) for numbers in (threads, registers, shared_bytes, barriers))
    )
    warps = _round_up(threads, WARP_THREADS) // WARP_THREADS
    allocated_registers, by_registers = _limit_by_registers(architecture, warps, registers)
    allocated_shared, by_shared = _limit_by_shared(architecture, shared_bytes, carveout_percent)
    limits = {
        "warps": np.where(threads > architecture.threads_per_block, 0, architecture.warps // warps),
        "blocks": np.full_like(threads, architecture.blocks),
        "registers": by_registers,
        "shared": by_shared,
        "barriers": _blocks_within(barriers, architecture.barriers),
    }
    active = np.minimum.reduce([limits[name] for name in LIMITS])
    return Blocks(warps, limits, active, allocated_registers, allocated_shared)


def _limit_by_registers(
    architecture: Architecture, warps: Integers, registers: Integers
) -> tuple[Integers, Integers]:
    """Return the registers that are allocated for a block, and the number of blocks that they allow."""
    if architecture.registers_by_block:
        allocated = _round_up(
            _round_up(warps, _WARP_PAIR) * WARP_THREADS * registers, architecture.register_granularity
        )
        blocks = _blocks_within(allocated, architecture.registers)
        return allocated, np.where(registers > architecture.registers_per_thread, 0, blocks)
    granularity: Integers | int = architecture.register_granularity
    if architecture.capability[0] == 2:
        granularity = np.where(np.isin(registers, _COARSE_ON_FERMI), 128, granularity)
    per_warp = _round_up(registers * WARP_THREADS, granularity)
    blocks = _blocks_in_partitions(architecture, architecture.partitions, warps, per_warp)
    if architecture.capability == (6, 0):
        # 6.0 also refuses blocks that do not fit into the four partitions of the other Pascal GPUs.
        blocks = np.where(_blocks_in_partitions(architecture, 4, warps, per_warp) == 0, 0, blocks)
    return per_warp * warps, np.where(registers > architecture.registers_per_thread, 0, blocks)


def _blocks_in_partitions(
    architecture: Architecture, partitions: int, warps: Integers, per_warp: Integers
) -> Integers:
    # Registers belong to partitions: those left over in a partition cannot be used in another.
    warps_per_partition = architecture.registers // partitions // np.maximum(per_warp, 1)
    blocks = np.where(per_warp == 0, UNLIMITED, warps_per_partition * partitions // warps)
    # A launch is refused as if every partition contained as many warps as the fullest one.
    return np.where(per_warp * _round_up(warps, partitions) > architecture.registers_per_block, 0, blocks)


def _limit_by_shared(
    architecture: Architecture, shared_bytes: Integers, carveout_percent: int | None
) -> tuple[Integers, Integers]:
    """Return the shared memory that is allocated for a block, and the number of blocks that it allows."""
    allocated = _round_up(
        shared_bytes + architecture.reserved_shared_bytes, architecture.shared_granularity_bytes
    )
    configurations = np.array(architecture.shared_configurations, np.int64)
    percent = 100 if carveout_percent is None else carveout_percent
    preferred = configurations[np.searchsorted(configurations, architecture.shared_bytes * percent // 100)]
    # If a block does not fit into the preferred size, a larger size is used: from 7.0 on the smallest
    # sufficient size, before 7.0 the largest size.
    if architecture.capability >= (7, 0):
        sufficient = configurations[
            np.minimum(np.searchsorted(configurations, allocated), len(configurations) - 1)
        ]
    else:
        sufficient = configurations[-1]
    available = np.where(preferred >= allocated, preferred, sufficient)
    blocks = np.where(allocated == 0, UNLIMITED, available // np.maximum(allocated, 1))
    too_much = allocated > architecture.shared_bytes_per_block + architecture.reserved_shared_bytes
    return allocated, np.where(too_much, 0, blocks)


def _blocks_within(used: Integers, available: int | None) -> Integers:
    """Return how often `used` fits into `available`; UNLIMITED if nothing is used or there is no limit."""
    if available is None:
        return np.full_like(used, UNLIMITED)
    return np.where(used == 0, UNLIMITED, available // np.maximum(used, 1))


def _round_up(value: Integers, multiple: Integers | int) -> Integers:
    """Return a value rounded up to a multiple."""
    rounded: Integers = -(-value // multiple) * multiple
    return rounded
