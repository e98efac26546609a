"""The occupancy of a configuration, and the answers to what was asked of it: rows of `occupancy`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

from cudamm.compile.resources import Resources
from cudamm.kernels.method import Value
from cudamm.kernels.variant import ChosenBy, chosen_record

SCHEMA = "cudamm.occupancy/1"


class OccupancyResult(NamedTuple):
    """A configuration's occupancy on one architecture: a row of a table.

    A tuple, where other records are dataclasses: there may be a hundred thousand, and they are made and
    written several times as fast.

    Attributes:
        gpu, multiprocessors: a GPU of that architecture and its number of multiprocessors.
        method, params, dtype, m, n, k: of a kernel and its problem; None and empty for bare numbers.
        shared_bytes_per_block: static and dynamic.
        reserved_shared_bytes_per_block: what the driver takes beside them.
        allocated_shared_bytes_per_block: both, rounded up as the hardware gives it out.
        active_blocks: a multiprocessor holds at a time; 0 where the configuration cannot run.
        occupancy: active warps over the warps a multiprocessor has room for, between 0 and 1.
        device_occupancy: the lab's, active blocks of the whole device x threads a block / (threads a
            multiprocessor x multiprocessors); the same, but for blocks with a warp that is not full.
        limits: active blocks that each resource alone would allow; 2147483647 where none of it is used.
        limited_by: the resources that allow no more than there are.
        reason: why it cannot run; empty where it can.
        resources: what the compiler said of the kernel; None for bare numbers.
        dynamic_shared_bytes: of a kernel's launch.
        grid_blocks: of the whole launch; None where there is none.
        waves: grid_blocks over the blocks that are active at a time on the whole device.
        suggestion, steps, latency: the best block size, what leads to the next step up, and whether a load
            is hidden; None where they were not asked for.
        chosen_by: of a kernel, what chose it in the place of `best`; empty or None where nothing did.
    """

    arch: str
    gpu: str
    multiprocessors: int
    method: str | None
    params: dict[str, Value]
    dtype: str | None
    threads_per_block: int
    registers_per_thread: int
    shared_bytes_per_block: int
    barriers: int
    allocated_registers_per_block: int
    reserved_shared_bytes_per_block: int
    allocated_shared_bytes_per_block: int
    active_blocks: int
    active_warps: int
    active_threads: int
    occupancy: float
    device_occupancy: float
    limits: dict[str, int]
    limited_by: tuple[str, ...]
    reason: str
    resources: Resources | None = None
    m: int | None = None
    n: int | None = None
    k: int | None = None
    dynamic_shared_bytes: int | None = None
    grid_blocks: int | None = None
    waves: float | None = None
    suggestion: Suggestion | None = None
    steps: tuple[Step, ...] | None = None
    latency: tuple[Latency, ...] | None = None
    chosen_by: ChosenBy | None = None

    @property
    def is_known(self) -> bool:
        """Whether it is known what the configuration takes; of a kernel that is not compiled it is not."""
        return self.method is None or self.resources is not None

    def record(self) -> dict[str, Any]:
        """The row of a `cudamm.occupancy/1` file: without what does not apply, with None for the unknown."""
        record: dict[str, Any] = dict(zip(_ALWAYS, self, strict=False))
        if not self.is_known:
            record |= dict.fromkeys(_OF_COMPILER)
            record["limits"] = dict.fromkeys(self.limits)
        if self.resources is not None:
            record |= dataclasses.asdict(self.resources)
        for name in _NUMBERS:
            if getattr(self, name) is not None:
                record[name] = getattr(self, name)
        if self.suggestion is not None:
            record["suggestion"] = dataclasses.asdict(self.suggestion)
        if self.steps is not None:
            record["steps"] = [dataclasses.asdict(step) for step in self.steps]
        if self.latency is not None:
            record["latency"] = [dataclasses.asdict(latency) for latency in self.latency]
        return record | chosen_record(self.chosen_by)


_ALWAYS: tuple[str, ...] = OccupancyResult._fields[: OccupancyResult._fields.index("resources")]
_OF_COMPILER = ("registers_per_thread", "barriers", "allocated_registers_per_block")
_NUMBERS = ("m", "n", "k", "dynamic_shared_bytes", "grid_blocks", "waves")


@dataclass(frozen=True)
class Suggestion:
    """The block size of highest occupancy for a kernel, and what the lab makes of it.

    Attributes:
        threads_per_block: of the highest occupancy; of several, the largest block.
        occupancy: there.
        min_grid_blocks: fewest blocks that fill the device.
        rounded_threads: 4 ** floor(log4(threads_per_block)), so that the block can be a square.
        block_edge: its edge, the square root.
        chosen_from: the block sizes that were tried, in words.
    """

    threads_per_block: int
    occupancy: float
    min_grid_blocks: int
    rounded_threads: int
    block_edge: int
    chosen_from: str


@dataclass(frozen=True)
class Step:
    """A change that lets more warps be active; what stays as it is, is None.

    Attributes:
        active_blocks, active_warps, occupancy: after the change.
        registers_per_thread, shared_bytes_per_block: the most that allow it.
        threads_per_block: the nearest block size that allows it.
    """

    active_blocks: int
    active_warps: int
    occupancy: float
    registers_per_thread: int | None = None
    shared_bytes_per_block: int | None = None
    threads_per_block: int | None = None


@dataclass(frozen=True)
class Latency:
    """Whether the active warps hide what a load from global memory costs.

    Attributes:
        load_cycles: from a load to its result.
        instruction_cycles: between two instructions that a multiprocessor issues, a warp each.
        independent: instructions of the same warp that do not wait for the load.
        hidden_cycles: independent x instruction_cycles x active warps.
        warps_needed: to hide the load with as many independent instructions.
        independent_needed: to hide it with as many warps as there are; None where none are.
        covered: whether hidden_cycles reach load_cycles.
    """

    load_cycles: float
    instruction_cycles: float
    independent: int
    hidden_cycles: float
    warps_needed: int
    independent_needed: int | None
    covered: bool
