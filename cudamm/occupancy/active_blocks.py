"""Active blocks a multiprocessor, as cuOccupancyMaxActiveBlocksPerMultiprocessor counts them.

Source: NVIDIA's cuda_occupancy.h of CUDA 13 for compute capability 3.0 and later, of CUDA 7 for 2.x, and the
CUDA C Programming Guide 4.2, “Hardware Multithreading”, for 1.x. The tests hold it against the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cudamm.kernels.architecture import WARP_THREADS, Architecture

Integers = npt.NDArray[np.int64]

UNLIMITED = 2**31 - 1
"""Blocks that a resource allows of which a kernel takes nothing."""

LIMITS = ("warps", "blocks", "registers", "shared", "barriers")
"""The resources that can limit active blocks, in the order to show them."""

_WARP_PAIR = 2  # 1.x gives registers to warps in pairs
# On 2.x, registers a thread that are given in portions of 128 a warp in place of 64.
_COARSE_ON_FERMI = (21, 22, 29, 30, 37, 38, 45, 46)


@dataclass(frozen=True)
class Blocks:
    """What a multiprocessor holds, for each of a number of configurations.

    Attributes:
        warps_per_block: warps of one block; one that is not full counts.
        limits: active blocks that each resource of LIMITS alone would allow.
        active: active blocks: the least of the limits.
        allocated_registers: a block is given.
        allocated_shared_bytes: a block is given, with what the driver reserves.
    """

    warps_per_block: Integers
    limits: dict[str, Integers]
    active: Integers
    allocated_registers: Integers
    allocated_shared_bytes: Integers

    @property
    def warps(self) -> Integers:
        """Active warps."""
        return self.active * self.warps_per_block


def active_blocks(
    architecture: Architecture,
    threads: npt.ArrayLike,
    registers: npt.ArrayLike,
    shared_bytes: npt.ArrayLike,
    barriers: npt.ArrayLike = 1,
    carveout_percent: int | None = None,
) -> Blocks:
    """The active blocks of any number of configurations, given as numbers or as arrays of one shape.

    Args:
        threads: a block, at least 1.
        registers: a thread.
        shared_bytes: static and dynamic, a block.
        barriers: hardware barriers, a block.
        carveout_percent: of the largest shared memory an SM can be set to, the share to prefer; the rest is
            L1. None prefers all.
    """
    threads, registers, shared_bytes, barriers = np.broadcast_arrays(
        *(np.asarray(given, np.int64) for given in (threads, registers, shared_bytes, barriers))
    )
    of = architecture
    warps = _up(threads, WARP_THREADS) // WARP_THREADS
    allocated_registers, by_registers = _registers(of, warps, registers)
    allocated_shared, by_shared = _shared(of, shared_bytes, carveout_percent)
    limits = {
        "warps": np.where(threads > of.threads_per_block, 0, of.warps // warps),
        "blocks": np.full_like(threads, of.blocks),
        "registers": by_registers,
        "shared": by_shared,
        "barriers": _unlimited_unless(barriers, of.barriers),
    }
    least = np.minimum.reduce([limits[name] for name in LIMITS])
    return Blocks(warps, limits, least, allocated_registers, allocated_shared)


def _registers(of: Architecture, warps: Integers, registers: Integers) -> tuple[Integers, Integers]:
    """Registers a block is given, and the blocks that the registers allow."""
    if of.registers_by_block:
        allocated = _up(_up(warps, _WARP_PAIR) * WARP_THREADS * registers, of.register_granularity)
        blocks = _unlimited_unless(allocated, of.registers)
        return allocated, np.where(registers > of.registers_per_thread, 0, blocks)
    granularity: Integers | int = of.register_granularity
    if of.capability[0] == 2:
        granularity = np.where(np.isin(registers, _COARSE_ON_FERMI), 128, granularity)
    per_warp = _up(registers * WARP_THREADS, granularity)
    blocks = _blocks_in_partitions(of, of.partitions, warps, per_warp)
    if of.capability == (6, 0):
        # What runs on no other Pascal GPU, with four partitions, is not run on this one either.
        blocks = np.where(_blocks_in_partitions(of, 4, warps, per_warp) == 0, 0, blocks)
    return per_warp * warps, np.where(registers > of.registers_per_thread, 0, blocks)


def _blocks_in_partitions(of: Architecture, partitions: int, warps: Integers, per_warp: Integers) -> Integers:
    # Registers belong to partitions, so what is left over in each of them is lost.
    in_each = of.registers // partitions // np.maximum(per_warp, 1)
    blocks = np.where(per_warp == 0, UNLIMITED, in_each * partitions // warps)
    # A launch is refused as if every partition held as many warps as the fullest.
    return np.where(per_warp * _up(warps, partitions) > of.registers_per_block, 0, blocks)


def _shared(
    of: Architecture, shared_bytes: Integers, carveout_percent: int | None
) -> tuple[Integers, Integers]:
    """Shared memory a block is given, and the blocks that the shared memory allows."""
    allocated = _up(shared_bytes + of.reserved_shared_bytes, of.shared_granularity_bytes)
    configurations = np.array(of.shared_configurations, np.int64)
    percent = 100 if carveout_percent is None else carveout_percent
    preferred = configurations[np.searchsorted(configurations, of.shared_bytes * percent // 100)]
    # A preference that has no room for one block gives way: from 7.0 on to the least that has.
    if of.capability >= (7, 0):
        least = configurations[
            np.minimum(np.searchsorted(configurations, allocated), len(configurations) - 1)
        ]
    else:
        least = configurations[-1]
    available = np.where(preferred >= allocated, preferred, least)
    blocks = np.where(allocated == 0, UNLIMITED, available // np.maximum(allocated, 1))
    too_much = allocated > of.shared_bytes_per_block + of.reserved_shared_bytes
    return allocated, np.where(too_much, 0, blocks)


def _unlimited_unless(used: Integers, available: int | None) -> Integers:
    """How often `used` fits into what is available."""
    if available is None:
        return np.full_like(used, UNLIMITED)
    return np.where(used == 0, UNLIMITED, available // np.maximum(used, 1))


def _up(value: Integers, multiple: Integers | int) -> Integers:
    """Rounded up to a multiple."""
    rounded: Integers = -(-value // multiple) * multiple
    return rounded
