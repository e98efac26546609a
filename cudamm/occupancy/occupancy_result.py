"""The records of `occupancy`: a configuration's occupancy, and the answers to questions about it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

from cudamm.compile.resources import Resources
from cudamm.kernels.method import Value
from cudamm.kernels.variant import ChosenBy, chosen_record
from cudamm.source.expression import MOST_THREADS

SCHEMA = "cudamm.occupancy/1"


class OccupancyResult(NamedTuple):
    """A configuration's occupancy on one architecture.

    The class is a tuple, while other records are dataclasses: there may be a hundred thousand results, and
    tuples are made and written several times as fast.

    Attributes:
        arch: name of the architecture.
        gpu, multiprocessors: a GPU of the architecture and its number of multiprocessors.
        method, params, dtype, m, n, k: the kernel and its problem; None or empty for bare numbers.
        shared_bytes_per_block: static and dynamic shared memory.
        reserved_shared_bytes_per_block: shared memory that the driver reserves in addition.
        allocated_shared_bytes_per_block: the sum of both, rounded up to the hardware's allocation unit.
        active_blocks: active blocks per multiprocessor; 0 if the configuration cannot run.
        occupancy: active warps over the maximum number of warps on a multiprocessor, between 0 and 1.
        device_occupancy: the lab's definition: active blocks of the device x threads per block / (maximum
            threads per multiprocessor x multiprocessors). It differs from `occupancy` only for blocks with a
            partly filled warp.
        limits: active blocks that each resource alone would allow; 2147483647 if the resource is not used.
        limited_by: the resources whose limit equals the number of active blocks.
        reason: why the configuration cannot run; empty if it can.
        resources: the resources that the compiler reported for the kernel; None for bare numbers.
        dynamic_shared_bytes: dynamic shared memory of the kernel's launch; None for bare numbers.
        compiled_for: the architecture whose registers are taken as an estimate, for one that nvcc does not
            know; else None.
        grid_blocks: number of blocks of the whole launch; None if there is no launch.
        waves: grid_blocks over the number of blocks that are active on the device at the same time.
        suggestion: the best block size; None if it was not asked for.
        steps: the smallest changes that raise occupancy; None if they were not asked for.
        latency: whether a load is hidden; None if it was not asked for.
        chosen_by: how method and parameters were chosen for `best`; empty or None if `best` was not asked
            for.
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
    compiled_for: str | None = None
    grid_blocks: int | None = None
    waves: float | None = None
    suggestion: Suggestion | None = None
    steps: tuple[Step, ...] | None = None
    latency: tuple[Latency, ...] | None = None
    chosen_by: ChosenBy | None = None

    @property
    def is_known(self) -> bool:
        """Return whether the configuration's resources are known: those of an uncompiled kernel are not."""
        return self.method is None or self.resources is not None

    @property
    def has_steps(self) -> bool:
        """Return whether changes are looked for: not for a kernel whose block is too large for every GPU."""
        return self.is_known and (self.method is None or self.threads_per_block <= MOST_THREADS)

    def record(self) -> dict[str, Any]:
        """Return the row of a `cudamm.occupancy/1` file.

        Fields that do not apply are left out; fields whose value is unknown are None.
        """
        record: dict[str, Any] = dict(zip(_REQUIRED_FIELDS, self, strict=False))
        if not self.is_known:
            record |= dict.fromkeys(_COMPILER_FIELDS)
            record["limits"] = dict.fromkeys(self.limits)
        if self.resources is not None:
            record |= dataclasses.asdict(self.resources)
        for name in _OPTIONAL_FIELDS:
            if getattr(self, name) is not None:
                record[name] = getattr(self, name)
        if self.suggestion is not None:
            record["suggestion"] = dataclasses.asdict(self.suggestion)
        if self.steps is not None:
            record["steps"] = [dataclasses.asdict(step) for step in self.steps]
        if self.latency is not None:
            record["latency"] = [dataclasses.asdict(latency) for latency in self.latency]
        return record | chosen_record(self.chosen_by)


_REQUIRED_FIELDS: tuple[str, ...] = OccupancyResult._fields[: OccupancyResult._fields.index("resources")]
_COMPILER_FIELDS = ("registers_per_thread", "barriers", "allocated_registers_per_block")
_OPTIONAL_FIELDS = ("m", "n", "k", "dynamic_shared_bytes", "compiled_for", "grid_blocks", "waves")


@dataclass(frozen=True)
class Suggestion:
    """The block size of highest occupancy, and the square block that the lab derives from it.

    Attributes:
        threads_per_block: block size of highest occupancy; the largest if there are several.
        occupancy: occupancy at that block size.
        min_grid_blocks: minimum number of blocks that fill the device.
        rounded_threads: 4 ** floor(log4(threads_per_block)), the threads of the square block.
        block_edge: edge of the square block: the square root of `rounded_threads`.
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
    """A change of a configuration that allows more active warps; numbers that stay the same are None.

    Attributes:
        active_blocks, active_warps, occupancy: numbers after the change.
        registers_per_thread, shared_bytes_per_block: maximum that allows the additional warps.
        threads_per_block: nearest block size that allows the additional warps.
        params: the parameter that gives a kernel blocks of that size, and its value.
        block: extents of the block, if a kernel's block is fixed.
    """

    active_blocks: int
    active_warps: int
    occupancy: float
    registers_per_thread: int | None = None
    shared_bytes_per_block: int | None = None
    threads_per_block: int | None = None
    params: dict[str, Value] | None = None
    block: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Latency:
    """The result of comparing a load's latency with the cycles that the active warps can hide.

    Attributes:
        load_cycles: cycles from a load to its result.
        instruction_cycles: cycles between two instructions of a multiprocessor, each for a whole warp.
        independent: number of instructions of the same warp that do not depend on the load.
        hidden_cycles: independent x instruction_cycles x active warps.
        warps_needed: number of warps that hide the load with this number of independent instructions.
        independent_needed: number of independent instructions that hide the load with the active warps; None
            if no warp is active.
        covered: whether hidden_cycles >= load_cycles.
    """

    load_cycles: float
    instruction_cycles: float
    independent: int
    hidden_cycles: float
    warps_needed: int
    independent_needed: int | None
    covered: bool
