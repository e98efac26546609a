"""The records that measuring and verifying write, and everything else reads."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import importlib.metadata
import platform
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from cudamm import __version__
from cudamm.catalog.method import Execution, Value
from cudamm.catalog.variant import ChosenBy, chosen_record
from cudamm.compile.resources import Resources
from cudamm.devices.device import DeviceInfo as DeviceInfo
from cudamm.samples import Statistics, statistics_of

Status = Literal["ok", "failed", "skipped", "dropped"]
"""`dropped`: right, but so much slower than the best of a sweep that it was not measured further."""

Cache = Literal["cold", "hot"]
"""Before a sample the L2 cache is written over, or it is left as the launch before it left it."""

Ended = Literal["runs", "noise", "time", "dropped", ""]
"""What ended the sampling: as many as asked for, stable enough, out of time, too slow; or nothing did."""


@dataclass(frozen=True)
class Verdict:
    """What verifying one product found.

    Attributes:
        correct: None where it was not looked at.
        reason: what is wrong, and where; empty where nothing is.
        bit_equal: whether the bits are those of a host sum in k order (or the exact integers); None where
            the bits are not determined.
        max_error: |got − expected| of the element that comes closest to its bound, or passes it furthest;
            None where that is not a number.
        error_bound: what that element's error may be at most.
        launch_ms: what the launches took.
    """

    correct: bool | None
    reason: str = ""
    bit_equal: bool | None = None
    max_error: float | None = None
    error_bound: float | None = None
    launch_ms: float = 0.0


UNVERIFIED = Verdict(None)


@dataclass(frozen=True)
class Timing:
    """How long the launches of a row took, and how that was found.

    Attributes:
        samples_ms: each sample, in milliseconds a launch.
        launches_per_sample: timed together, where one alone is too short.
        clock_mhz: of the multiprocessors, median over the batches of samples; None where it is not known.
        throttled: samples among them that were taken while the device was throttled.
        throttle_reasons: why it was.
        retaken: samples that were set aside for that and taken again.
        event_floor_ms: what is read around a kernel that does nothing.
        fma_ceiling_gflops: of float32 multiply-adds from registers alone, measured on this device; None where
            it is not known, or the elements are of another type.
    """

    samples_ms: list[float] = field(default_factory=list)
    cache: Cache = "hot"
    launches_per_sample: int = 1
    ended_by: Ended = ""
    clock_mhz: float | None = None
    throttled: int = 0
    throttle_reasons: tuple[str, ...] = ()
    retaken: int = 0
    event_floor_ms: float | None = None
    fma_ceiling_gflops: float | None = None


UNTIMED = Timing()

NEAR_FLOOR = 0.1
"""Of a time that the event pair itself may be before a row is marked."""


@dataclass(frozen=True)
class Result:
    """One variant on one problem: a row of a table.

    Attributes:
        execution: where it ran: on a GPU, natively on the host, or emulated by the CPU device.
        padded: whether the matrices on the device were padded with zeros; rates count the real size.
        reason: why it failed or was skipped; empty otherwise.
        source: a hash of the program's text.
        position: of the row among those asked for.
        chosen_by: what chose method and parameters in the place of `best`; empty where nothing did.
    """

    method: str
    params: dict[str, Value]
    m: int
    n: int
    k: int
    dtype: str
    fmad: bool
    execution: Execution
    padded: bool
    status: Status
    reason: str = ""
    timing: Timing = UNTIMED
    verdict: Verdict = UNVERIFIED
    source: str = ""
    position: int = 0
    chosen_by: ChosenBy = ""

    @property
    def label(self) -> str:
        """Its method's name in tables: `best: tiled` where `best` was asked for."""
        return f"best: {self.method}" if self.chosen_by else self.method

    @property
    def is_yardstick(self) -> bool:
        """Whether others are held against it, and it is not among the choices."""
        return self.method == CUBLAS

    @property
    def is_near_floor(self) -> bool:
        """Whether what two events around an empty kernel read is a notable part of its time."""
        floor_ms, median_ms = self.timing.event_floor_ms, self.median_ms
        if floor_ms is None or median_ms is None:
            return False
        return floor_ms / self.timing.launches_per_sample > NEAR_FLOOR * median_ms

    @functools.cached_property
    def statistics(self) -> Statistics | None:
        """Of its samples; None where there are none."""
        return statistics_of(self.timing.samples_ms) if self.timing.samples_ms else None

    @property
    def median_ms(self) -> float | None:
        """Median of the samples; rates and speed-ups are taken from it."""
        return self.statistics.median_ms if self.statistics else None

    @property
    def gflops(self) -> float | None:
        """10⁹ operations a second at the median time: 2 m n k operations, padding not counted."""
        median_ms = self.median_ms
        return 2 * self.m * self.n * self.k / median_ms / 1e6 if median_ms else None

    @property
    def share_of_fma_ceiling(self) -> float | None:
        """Its rate over the ceiling's; None where one of them is not known."""
        gflops, ceiling = self.gflops, self.timing.fma_ceiling_gflops
        return gflops / ceiling if gflops is not None and ceiling else None

    def bench_record(self) -> dict[str, Any]:
        """The row of a `cudamm.bench/2` file, but for what it takes other rows to know."""
        of = self.statistics
        times = dataclasses.asdict(self.timing) | {
            "median_ms": of and of.median_ms,
            "mean_ms": of and of.mean_ms,
            "min_ms": of and of.min_ms,
            "q1_ms": of and of.q1_ms,
            "q3_ms": of and of.q3_ms,
            "noise": of and of.noise,
            "outliers": of and of.outliers,
            "gflops": self.gflops,
            "share_of_fma_ceiling": self.share_of_fma_ceiling,
        }
        return self._what() | {"source": self.source} | times | self._verdict()

    def verify_record(self) -> dict[str, Any]:
        """The row of a `cudamm.verify/1` file."""
        return self._what() | self._verdict()

    def _what(self) -> dict[str, Any]:
        names = (
            "method",
            "params",
            "m",
            "n",
            "k",
            "dtype",
            "fmad",
            "execution",
            "padded",
            "status",
            "reason",
        )
        return {name: getattr(self, name) for name in names} | chosen_record(self.chosen_by)

    def _verdict(self) -> dict[str, Any]:
        verdict = dataclasses.asdict(self.verdict)
        return {name: verdict[name] for name in ("correct", "bit_equal", "max_error", "error_bound")}


CUBLAS = "cublas"
"""The method that others are held against."""


def share_of_cublas(row: Result, rows: Iterable[Result]) -> float | None:
    """A row's rate over that of cuBLAS at the same size and type, above 1 where it is faster.

    None where cuBLAS is not among the rows, or one of the two has no time or is not right.
    """
    problem = row.m, row.n, row.k, row.dtype
    cublas = next((r for r in rows if r.is_yardstick and (r.m, r.n, r.k, r.dtype) == problem), None)
    if cublas is None or cublas.status != "ok" or row.status not in ("ok", "dropped"):
        return None
    return cublas.median_ms / row.median_ms if cublas.median_ms and row.median_ms else None


def bench_record_among(row: Result, rows: Iterable[Result]) -> dict[str, Any]:
    """The row of a `cudamm.bench/2` file."""
    return row.bench_record() | {"share_of_cublas": share_of_cublas(row, rows)}


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


def result_of(record: dict[str, Any], position: int) -> Result:
    """The result that a `bench_record` was made of."""
    made = {f.name: record[f.name] for f in dataclasses.fields(Result) if f.name in record}
    timing = {f.name: record[f.name] for f in dataclasses.fields(Timing) if f.name in record}
    verdict = {f.name: record[f.name] for f in dataclasses.fields(Verdict) if f.name in record}
    timing["throttle_reasons"] = tuple(timing.get("throttle_reasons", ()))
    verdict["reason"] = made["reason"]
    return Result(**made | {"timing": Timing(**timing), "verdict": Verdict(**verdict), "position": position})


def document(schema: str, device: DeviceInfo, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """The JSON document of a command, but for its results: where, when and how."""
    return {
        "schema": schema,
        "device": {"kind": device.kind, "spec": device.spec, "name": device.name, **device.properties},
        "environment": environment(),
        **({"options": options} if options is not None else {}),
    }


def environment() -> dict[str, Any]:
    """Versions and date, as far as they can change a figure."""
    return {
        "cudamm": __version__,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "pycuda": _version("pycuda"),
        "nvmath_python": _version("nvmath-python"),
        "system": platform.platform(),
        "command": ["cudamm", *sys.argv[1:]],
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
