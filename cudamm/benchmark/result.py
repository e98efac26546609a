"""The records that measuring and verifying write, and everything else reads."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from cudamm.benchmark.json_records import read_as
from cudamm.benchmark.sample_statistics import Statistics, statistics_of
from cudamm.devices.device import DeviceInfo as DeviceInfo
from cudamm.execution.case import UNVERIFIED, Case, Verdict
from cudamm.kernels.method import Execution, Value
from cudamm.kernels.variant import ChosenBy, chosen_record

SCHEMA = "cudamm.bench/2"
"""Of the files of `bench` and `sweep`, whose rows are `bench_record_among`."""

VERIFY_SCHEMA = "cudamm.verify/1"
"""Of the files of `verify`, whose rows are `Result.verify_record`."""

Size = Annotated[int, Meta(ge=1, le=10**9)]
"""Of a matrix's edge: the most is far above what any memory holds, and small enough to compute with."""

Count = Annotated[int, Meta(ge=0, lt=10**15)]

Amount = Annotated[float, Meta(ge=0, lt=1e15)]
"""A time, clock or rate. 10¹⁵ ms are 30,000 years: sums of times stay finite."""

Status = Literal["ok", "failed", "skipped", "dropped"]
"""`dropped`: right, but so much slower than the best of a sweep that it was not measured further."""

Cache = Literal["cold", "hot"]
"""Before a sample the L2 cache is written over, or it is left as the launch before it left it."""

Ended = Literal["runs", "noise", "time", "dropped", ""]
"""What ended the sampling: as many as asked for, stable enough, out of time, too slow; or nothing did."""


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

    samples_ms: list[Amount]
    cache: Cache
    launches_per_sample: Annotated[int, Meta(ge=1, lt=10**15)] = 1
    ended_by: Ended = ""
    clock_mhz: Amount | None = None
    throttled: Count = 0
    throttle_reasons: tuple[str, ...] = ()
    retaken: Count = 0
    event_floor_ms: Amount | None = None
    fma_ceiling_gflops: Amount | None = None


UNTIMED = Timing([], "hot")


@dataclass(frozen=True)
class ExactFigures:
    """What is exact of a kernel's launch on a GPU that is not here; None if a figure is not known.

    Attributes:
        arch: the architecture, such as `sm_80`; counts of memory depend on it as far as nvcc merges accesses.
        gpu: a GPU of that architecture.
        sectors_per_global_load: sectors of 32 bytes of a warp's load from global memory, on average.
        wavefronts_per_shared_load: wavefronts of a warp's load from shared memory, on average.
        operations_per_byte: operations of the product, over the bytes that threads load from global memory.
        shared_bytes_per_block: static and dynamic.
        occupancy: active warps over the warps that a multiprocessor has room for.
        unknown: why figures are None; empty if the kernel has no such accesses.
    """

    arch: str
    gpu: str
    sectors_per_global_load: Amount | None = None
    wavefronts_per_shared_load: Amount | None = None
    operations_per_byte: Amount | None = None
    registers_per_thread: Count | None = None
    shared_bytes_per_block: Count | None = None
    occupancy: Annotated[float, Meta(ge=0, le=1)] | None = None
    unknown: tuple[str, ...] = ()


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
        exact: of a kernel that was executed without a GPU; None if it was not computed.
    """

    method: str
    params: dict[str, Value]
    m: Size
    n: Size
    k: Size
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
    exact: ExactFigures | None = None

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
        """10⁹ operations a second at the median time: 2 m n k operations, padding not counted.

        None for an emulated kernel: its time is that of the emulation.
        """
        median_ms = self.median_ms
        if not median_ms or self.execution == "emulated":
            return None
        return 2 * self.m * self.n * self.k / median_ms / 1e6

    @property
    def share_of_fma_ceiling(self) -> float | None:
        """Its rate over the ceiling's; None where one of them is not known."""
        gflops, ceiling = self.gflops, self.timing.fma_ceiling_gflops
        return gflops / ceiling if gflops is not None and ceiling else None

    def bench_record(self) -> dict[str, Any]:
        """Return the row of a `cudamm.bench/2` file, but for what depends on other rows."""
        return {
            **self._plain_fields(),
            "source": self.source,
            **dataclasses.asdict(self.timing),
            **{name: getattr(self.statistics, name, None) for name in _STATISTICS},
            "gflops": self.gflops,
            "share_of_fma_ceiling": self.share_of_fma_ceiling,
            **self._verdict(),
            **({"exact": dataclasses.asdict(self.exact)} if self.exact is not None else {}),
        }

    def verify_record(self) -> dict[str, Any]:
        """Return the row of a `cudamm.verify/1` file."""
        return self._plain_fields() | self._verdict()

    def _plain_fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _PLAIN_FIELDS} | chosen_record(self.chosen_by)

    def _verdict(self) -> dict[str, Any]:
        return {name: getattr(self.verdict, name) for name in _OF_VERDICT}


def _names(kind: type[Any], but: Collection[str]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind) if field.name not in but)


_PLAIN_FIELDS = _names(Result, but=("timing", "verdict", "source", "position", "chosen_by", "exact"))
_OF_VERDICT = _names(Verdict, but=("reason", "launch_ms"))
_STATISTICS = _names(Statistics, but=("count", "median_error"))

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


def result_of_case(
    case: Case,
    status: Status,
    reason: str = "",
    timing: Timing = UNTIMED,
    verdict: Verdict = UNVERIFIED,
) -> Result:
    """The row that says what came of it."""
    shape = case.problem.shape
    return Result(
        method=case.variant.method.name,
        params=case.variant.params,
        m=shape.m,
        n=shape.n,
        k=shape.k,
        dtype=case.problem.element.name,
        fmad=case.fmad,
        execution=case.execution,
        padded=case.launch is not None and case.launch.shape != shape,
        status=status,
        reason=reason,
        timing=timing,
        verdict=verdict,
        source=case.program.hash,
        position=case.position,
        chosen_by=case.variant.chosen_by,
    )


def result_of(record: dict[str, Any], position: int) -> Result:
    """Return the result that a `bench_record` was made of. Raises DamagedError where it is none."""
    return dataclasses.replace(
        read_as(Result, record),
        timing=read_as(Timing, record),
        verdict=read_as(Verdict, record),
        position=position,
    )
