"""What to change for the next step up: fewer registers, less shared memory, another block size."""

from __future__ import annotations

import numpy as np

from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.occupancy.active_blocks import Integers, active_blocks
from cudamm.occupancy.occupancy_result import OccupancyResult, Step


def next_steps(
    architecture: Architecture, result: OccupancyResult, carveout_percent: int | None
) -> tuple[Step, ...]:
    """The least changes that let more warps be active; none where there are as many as can be.

    First what lets one more block of the same size in, then the nearest smaller and the nearest larger
    block that do better with the same registers a thread and shared memory a block.
    """
    of = architecture
    if not result.is_known:
        return ()
    most = of.threads_per_block
    if result.resources is not None and result.resources.max_threads_per_block is not None:
        most = min(most, result.resources.max_threads_per_block)
    threads, registers, shared = (
        result.threads_per_block,
        result.registers_per_thread,
        result.shared_bytes_per_block,
    )

    def blocks(
        threads: int | Integers, registers: int | Integers, shared: int | Integers
    ) -> tuple[Integers, Integers]:
        """Active blocks and warps; the arguments are numbers or arrays."""
        found = active_blocks(of, threads, registers, shared, result.barriers, carveout_percent)
        return found.active, found.warps

    sizes = np.arange(WARP_THREADS, most + 1, WARP_THREADS)
    better = sizes[blocks(sizes, registers, shared)[1] > result.active_warps]
    nearest = (*better[better < threads][-1:].tolist(), *better[better > threads][:1].tolist())
    other_sizes = [_step(of, blocks(size, registers, shared), threads=size) for size in nearest]
    if threads > most:
        return tuple(other_sizes)

    steps: list[Step] = []
    # Fewer registers alone, less shared memory alone; if neither is enough, both.
    fewer = np.arange(registers)
    # Shared memory is given out in portions: the most that fits in each is enough to try.
    portions = np.arange(0, shared + of.reserved_shared_bytes, of.shared_granularity_bytes)
    less = np.maximum(portions - of.reserved_shared_bytes, 0)
    by_registers = _largest(fewer, blocks(threads, fewer, shared)[0] > result.active_blocks)
    by_shared = _largest(less, blocks(threads, registers, less)[0] > result.active_blocks)
    if by_registers is None and by_shared is None and registers and shared:
        by_registers = _largest(fewer, blocks(threads, fewer, 0)[0] > result.active_blocks)
        if by_registers is not None:
            by_shared = _largest(less, blocks(threads, by_registers, less)[0] > result.active_blocks)
            steps.append(_step(of, blocks(threads, by_registers, by_shared or 0), by_registers, by_shared))
    else:
        if by_registers is not None:
            steps.append(_step(of, blocks(threads, by_registers, shared), by_registers))
        if by_shared is not None:
            steps.append(_step(of, blocks(threads, registers, by_shared), None, by_shared))

    return (*steps, *other_sizes)


def _largest(values: Integers, allowed: np.typing.NDArray[np.bool_]) -> int | None:
    found = values[allowed]
    return int(found[-1]) if len(found) else None


def _step(
    of: Architecture,
    blocks: tuple[Integers, Integers],
    registers: int | None = None,
    shared: int | None = None,
    threads: int | None = None,
) -> Step:
    active, warps = (int(number) for number in blocks)
    return Step(active, warps, warps / of.warps, registers, shared, threads)
