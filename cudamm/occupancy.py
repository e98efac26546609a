"""How many warps of a multiprocessor's can a kernel keep active, and what limits them?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudamm.catalog.variant import Variant
from cudamm.devices.device import Resources
from cudamm.errors import KernelError
from cudamm.prepare import Progress, prepare
from cudamm.problem import Problem
from cudamm.results import OccupancyResult

if TYPE_CHECKING:
    from cudamm.devices.gpu import GpuDevice

WARP_THREADS = 32
UNLIMITED_BLOCKS = 2**31 - 1


@dataclass(frozen=True)
class Multiprocessor:
    """What a multiprocessor (SM) has, and in what portions it gives it out.

    Attributes:
        partitions: sub-partitions, each with its own share of the registers.
        register_granularity: registers a warp is given come in multiples of this.
        shared_granularity_bytes: shared memory a block is given comes in multiples of this.
        reserved_shared_bytes: taken by the driver from each block's share.
    """

    arch: str
    threads: int
    blocks: int
    registers: int
    registers_per_block: int
    shared_bytes: int
    shared_bytes_per_block: int
    reserved_shared_bytes: int
    partitions: int
    register_granularity: int
    shared_granularity_bytes: int

    @staticmethod
    def of(arch: str, attributes: Mapping[str, int]) -> Multiprocessor:
        """From a GPU's own attributes; the granularities, which no attribute gives, from its architecture.

        Source of the granularities: NVIDIA's cuda_occupancy.h, compute capability 3.0 and later.
        """
        major, minor = int(arch[3:-1]), int(arch[-1])
        return Multiprocessor(
            arch=arch,
            threads=attributes["max_threads_per_multiprocessor"],
            blocks=attributes["max_blocks_per_multiprocessor"],
            registers=attributes["max_registers_per_multiprocessor"],
            registers_per_block=attributes["max_registers_per_block"],
            shared_bytes=attributes["max_shared_memory_per_multiprocessor"],
            shared_bytes_per_block=attributes["max_shared_memory_per_block_optin"],
            reserved_shared_bytes=attributes["reserved_shared_memory_per_block"],
            partitions=2 if (major, minor) == (6, 0) else 4,
            register_granularity=256,
            shared_granularity_bytes=128 if major >= 8 else 256,
        )


@dataclass(frozen=True)
class Occupancy:
    """What of a multiprocessor a kernel's blocks can have at a time.

    Attributes:
        limits: active blocks that each resource alone would allow.
        occupancy: active threads over the threads that fit, between 0 and 1.
    """

    threads_per_block: int
    active_blocks: int
    active_warps: int
    limits: dict[str, int]
    occupancy: float

    @property
    def active_threads(self) -> int:
        """Threads of the active blocks."""
        return self.active_blocks * self.threads_per_block

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources that allow no more blocks than there are."""
        return tuple(name for name, blocks in self.limits.items() if blocks == self.active_blocks)


def occupancy(
    sm: Multiprocessor, threads_per_block: int, registers_per_thread: int, shared_bytes: int
) -> Occupancy:
    """Active blocks and warps a multiprocessor, as cuOccupancyMaxActiveBlocksPerMultiprocessor counts them.

    The occupancy is the lab's: active blocks x threads a block / threads a multiprocessor. (The lab
    writes the product of both sides with the number of multiprocessors, which cancels out.)

    Args:
        shared_bytes: static and dynamic, a block.
    """
    warps = -(-threads_per_block // WARP_THREADS)
    limits = {
        "warps": sm.threads // WARP_THREADS // warps,
        "blocks": sm.blocks,
        "registers": _blocks_by_registers(sm, warps, registers_per_thread),
        "shared": _blocks_by_shared(sm, shared_bytes),
    }
    active = min(limits.values())
    return Occupancy(
        threads_per_block, active, active * warps, limits, active * threads_per_block / sm.threads
    )


def _blocks_by_registers(sm: Multiprocessor, warps: int, registers_per_thread: int) -> int:
    if registers_per_thread == 0:
        return UNLIMITED_BLOCKS
    per_warp = _round_up(registers_per_thread * WARP_THREADS, sm.register_granularity)
    # A launch is refused as if every partition held as many warps as the fullest.
    if per_warp * _round_up(warps, sm.partitions) > sm.registers_per_block:
        return 0
    # Registers belong to partitions, so what is left over in each of them is lost.
    return sm.registers // sm.partitions // per_warp * sm.partitions // warps


def _blocks_by_shared(sm: Multiprocessor, shared_bytes: int) -> int:
    allocated = _round_up(shared_bytes + sm.reserved_shared_bytes, sm.shared_granularity_bytes)
    if shared_bytes > sm.shared_bytes_per_block:
        return 0
    return sm.shared_bytes // allocated if allocated else UNLIMITED_BLOCKS


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def occupancies(
    device: GpuDevice, cases: Sequence[tuple[Variant, Problem]], fmad: bool, progress: Progress
) -> Iterator[OccupancyResult]:
    """The occupancy of each case's kernel on a GPU; the problem gives the element type, and sizes no block.

    Raises:
        UsageError, NoDeviceError: where the request is impossible.
    """
    sm = Multiprocessor.of(device.arch, device.attributes)
    for case in prepare(device, cases, fmad, progress):
        reason = case.skipped
        resources = Resources(0, 0, 0, 0)
        threads = dynamic_bytes = 0
        if case.launch is not None:
            threads, dynamic_bytes = case.launch.threads_per_block, case.launch.shared_bytes
            try:
                if isinstance(case.compiled, KernelError):
                    raise case.compiled
                resources = device.resources(case.program, case.compiled, case.launch)
            except KernelError as error:
                reason = str(error)
        found = occupancy(
            sm, max(1, threads), resources.registers_per_thread, resources.shared_bytes + dynamic_bytes
        )
        if reason:
            found = Occupancy(threads, 0, 0, dict.fromkeys(found.limits, 0), 0.0)
        elif found.active_blocks == 0:
            reason = f"no block fits: {' and '.join(found.limited_by)} do not suffice for one"
        yield OccupancyResult(
            arch=device.arch,
            method=case.variant.method.name,
            params=case.variant.params,
            dtype=case.problem.element.name,
            threads_per_block=threads,
            registers_per_thread=resources.registers_per_thread,
            shared_bytes_per_block=resources.shared_bytes + dynamic_bytes,
            local_bytes_per_thread=resources.local_bytes,
            active_blocks=found.active_blocks,
            active_warps=found.active_warps,
            active_threads=found.active_threads,
            occupancy=found.occupancy,
            limits=found.limits,
            limited_by=found.limited_by,
            reason=reason,
        )
