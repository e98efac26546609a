"""The results of measuring and verifying: records that tables, plots, pages and files are made of."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from cudamm.benchmark.json_records import read_as
from cudamm.benchmark.sample_statistics import Statistics, statistics_of
from cudamm.devices.device import DeviceInfo as DeviceInfo
from cudamm.execution.case import UNVERIFIED, Case, Verdict
from cudamm.kernels.input_kinds import AnyKind, usual_kind
from cudamm.kernels.method import Execution, MatrixName, Value
from cudamm.kernels.variant import ChosenBy, chosen_record

SCHEMA = "cudamm.bench/2"
"""Schema of the files of `bench` and `sweep`; `bench_record_among` makes their rows."""

VERIFY_SCHEMA = "cudamm.verify/1"
"""Schema of the files of `verify`; `Result.verify_record` makes their rows."""

Size = Annotated[int, Meta(ge=1, le=10**9)]
"""Edge of a matrix, in elements. The maximum exceeds every memory, and is small enough to compute with."""

Count = Annotated[int, Meta(ge=0, lt=10**15)]

Amount = Annotated[float, Meta(ge=0, lt=1e15)]

Share = Annotated[float, Meta(ge=0, le=1)]
"""A time, clock or rate. 10¹⁵ ms are 30,000 years; sums of such times stay finite."""

LEAST_AMOUNT = 1e-12
"""Least amount above 0, so that the quotient of two amounts stays finite. Light takes 10⁻⁹ ms for 0.3 mm."""

Status = Literal["ok", "failed", "skipped", "dropped"]
"""Outcome of a case. `dropped`: correct, but so slow that a sweep stopped measuring it."""

Cache = Literal["cold", "hot"]
"""State of the L2 cache before a sample: overwritten (`cold`), or as the previous launch left it (`hot`)."""

Ended = Literal["runs", "noise", "time", "dropped", ""]
"""Reason why sampling ended: number of runs, low noise, time limit, too slow; empty without samples."""


@dataclass(frozen=True)
class Timing:
    """The durations of a case's launches, and the circumstances in which they were measured.

    Attributes:
        samples_ms: each sample, in milliseconds per launch.
        launches_per_sample: number of launches timed together; more than 1 if a single one is too short.
        clock_mhz: clock of the multiprocessors, median over the batches of samples; None if unknown.
        throttled: number of samples that were taken while the device was throttled.
        throttle_reasons: why the device was throttled.
        retaken: number of samples that were discarded because of throttling and taken again.
        judged_launches: number of timed launches, chosen at random, whose products were judged.
        judged_whole: whether every element of these was compared, and not some rows and a sum of each row.
        event_floor_ms: event overhead: the time between two events around an empty kernel.
        fma_ceiling_gflops: rate of float32 multiply-adds from registers alone, measured on this device; None
            if unknown, or if the elements have another type.
    """

    samples_ms: list[Amount]
    cache: Cache
    launches_per_sample: Annotated[int, Meta(ge=1, lt=10**15)] = 1
    ended_by: Ended = ""
    clock_mhz: Amount | None = None
    throttled: Count = 0
    throttle_reasons: tuple[str, ...] = ()
    retaken: Count = 0
    judged_launches: Count = 0
    judged_whole: bool = True
    event_floor_ms: Amount | None = None
    fma_ceiling_gflops: Amount | None = None

    def __post_init__(self) -> None:
        """Raise ValueError, which `read_as` reports, for an amount between 0 and LEAST_AMOUNT."""
        for name in ("clock_mhz", "event_floor_ms", "fma_ceiling_gflops"):
            _check_amount(name, getattr(self, name) or 0.0)
        if self.samples_ms and min(self.samples_ms) < LEAST_AMOUNT:  # a quick answer for most files
            for sample in self.samples_ms:
                _check_amount("samples_ms", sample)


def _check_amount(name: str, amount: float) -> None:
    if 0 < amount < LEAST_AMOUNT:
        raise ValueError(f"`{name}`: {amount:g} is less than {LEAST_AMOUNT:g}")


UNTIMED = Timing([], "hot")


@dataclass(frozen=True)
class ExactFigures:
    """What is exact of a kernel's launch on a GPU that is not here; None if a figure is not known.

    Attributes:
        arch: the architecture, such as `sm_80`; counts of memory depend on it as far as nvcc merges accesses.
        gpu: a GPU of that architecture.
        nvcc: the build of nvcc that decided registers and merged accesses; empty if there was no nvcc.
        sectors_per_1000_multiply_adds: sectors of 32 bytes that all accesses to global memory touch, for each
            1000 multiply-adds of the product; padding adds accesses only.
        share_of_ideal_sectors: the fewest sectors that can contain the bytes used, over the sectors.
        wavefronts_per_1000_multiply_adds: the same for the wavefronts of all accesses to shared memory.
        share_of_ideal_wavefronts: the wavefronts without bank conflicts, over the wavefronts.
        memory_instructions_per_1000_multiply_adds: the same for the loads, stores and atomic operations that
            warps execute on global and shared memory.
        operations_per_byte: operations of the product, over the bytes that threads load from global memory.
        shared_bytes_per_block: static and dynamic.
        occupancy: active warps over the warps that a multiprocessor has room for.
        unknown: which figures are None, and why; empty if the kernel has no such accesses.
    """

    arch: str
    gpu: str
    nvcc: str = ""
    sectors_per_1000_multiply_adds: Amount | None = None
    share_of_ideal_sectors: Share | None = None
    wavefronts_per_1000_multiply_adds: Amount | None = None
    share_of_ideal_wavefronts: Share | None = None
    memory_instructions_per_1000_multiply_adds: Amount | None = None
    operations_per_byte: Amount | None = None
    registers_per_thread: Count | None = None
    shared_bytes_per_block: Count | None = None
    occupancy: Share | None = None
    unknown: tuple[str, ...] = ()


NEAR_FLOOR = 0.1
"""Rows whose event overhead exceeds this share of the median are marked."""


@dataclass(frozen=True)
class Result:
    """The result of one case: a variant on a problem.

    Attributes:
        execution: whether the case ran on a GPU, natively on the host, or emulated by the CPU device.
        padded: whether the matrices on the device were padded with zeros; rates count the real size.
        column_major: the matrices that the host transposed for the kernel, which has them column by column.
        device: the device that ran the case and took all its samples, as `--device` names it; empty if none
            did, and in files of older versions.
        is_final: whether the case was a finalist of a sweep on several devices: its samples were taken on one
            device, in turn with those of the other finalists.
        reason: why the case failed or was skipped; empty otherwise.
        source: a hash of the program's text.
        identity: `Case.identity`; empty if the case was not compiled, and in files of older versions.
        position: position of the case among all requested cases.
        chosen_by: how method and parameters were chosen for `best`; empty if `best` was not asked for.
        inputs: kind of the random inputs; files of older versions do not name it.
        right_where: the sizes at which a kernel that is wrong here is right, in words; empty if they are not
            known.
        is_of_host_code: whether it failed because of a mistake of the host code, and the kernel was not run.
        exact: exact figures of a kernel that was executed without a GPU; None if they were not computed.
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
    identity: str = ""
    position: int = 0
    chosen_by: ChosenBy = ""
    exact: ExactFigures | None = None
    inputs: AnyKind = ""
    column_major: tuple[MatrixName, ...] = ()
    device: Annotated[str, Meta(max_length=100)] = ""
    is_final: bool = False
    right_where: str = ""
    is_of_host_code: bool = False

    def __post_init__(self) -> None:
        """Replace the empty kind of inputs by the one that older versions had."""
        object.__setattr__(self, "inputs", self.inputs or usual_kind(self.dtype))

    @property
    def label(self) -> str:
        """Return the method's name for tables: `best: tiled` if the user asked for `best`."""
        return f"best: {self.method}" if self.chosen_by else self.method

    @property
    def is_yardstick(self) -> bool:
        """Return whether other methods are compared with this one, which can itself not be the best."""
        return self.method in YARDSTICKS

    @property
    def is_near_floor(self) -> bool:
        """Return whether the event overhead is a notable share of the median."""
        floor_ms, median_ms = self.timing.event_floor_ms, self.median_ms
        if floor_ms is None or median_ms is None:
            return False
        return floor_ms / self.timing.launches_per_sample > NEAR_FLOOR * median_ms

    @functools.cached_property
    def statistics(self) -> Statistics | None:
        """Return the statistics of the samples; None if there are no samples."""
        return statistics_of(self.timing.samples_ms) if self.timing.samples_ms else None

    @property
    def median_ms(self) -> float | None:
        """Return the median of the samples, from which rates and speed-ups are computed."""
        return self.statistics.median_ms if self.statistics else None

    @property
    def gflops(self) -> float | None:
        """Return the rate at the median time, for 2 m n k operations: padding does not count.

        None for an emulated kernel: its time is that of the emulation.
        """
        median_ms = self.median_ms
        if not median_ms or self.execution == "emulated":
            return None
        return 2 * self.m * self.n * self.k / median_ms / 1e6

    @property
    def share_of_fma_ceiling(self) -> float | None:
        """Return the rate over the FMA ceiling; None if either is unknown."""
        gflops, ceiling = self.gflops, self.timing.fma_ceiling_gflops
        return gflops / ceiling if gflops is not None and ceiling else None

    def bench_record(self) -> dict[str, Any]:
        """Return the row of a `cudamm.bench/2` file, without the fields that depend on other rows."""
        return {
            **self._plain_fields(),
            "source": self.source,
            "identity": self.identity,
            "is_final": self.is_final,
            **{name: getattr(self.timing, name) for name in _TIMING_FIELDS},
            **{name: getattr(self.statistics, name, None) for name in _STATISTICS},
            "gflops": self.gflops,
            "share_of_fma_ceiling": self.share_of_fma_ceiling,
            **self._verdict_fields(),
            **({"exact": dataclasses.asdict(self.exact)} if self.exact is not None else {}),
        }

    def verify_record(self) -> dict[str, Any]:
        """Return the row of a `cudamm.verify/1` file."""
        right_where = {"right_where": self.right_where} if self.right_where else {}
        return self._plain_fields() | self._verdict_fields() | right_where

    def _plain_fields(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in _PLAIN_FIELDS}
        return fields | {"column_major": list(self.column_major)} | chosen_record(self.chosen_by)

    def _verdict_fields(self) -> dict[str, Any]:
        return {name: getattr(self.verdict, name) for name in _VERDICT_FIELDS}


def _field_names(kind: type[Any], excluded: Collection[str]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind) if field.name not in excluded)


_PLAIN_FIELDS = _field_names(
    Result,
    excluded=(
        "timing",
        "verdict",
        "source",
        "identity",
        "position",
        "chosen_by",
        "exact",
        "is_final",
        "right_where",
        "is_of_host_code",
    ),
)
_TIMING_FIELDS = _field_names(Timing, excluded=())
_VERDICT_FIELDS = _field_names(Verdict, excluded=("reason", "launch_ms"))
_STATISTICS = _field_names(Statistics, excluded=("count", "median_error"))

CUBLAS, CUBLASLT = "cublas", "cublaslt"
YARDSTICKS = (CUBLAS, CUBLASLT)
"""Names of the methods with which other methods are compared; each element type has one of them."""


Yardsticks = Mapping[tuple[int, int, int, str], Result]
"""The first result of cuBLAS for each problem, by sizes and element type."""


def yardsticks_of(results: Iterable[Result]) -> Yardsticks:
    """Return the first result of cuBLAS for each problem; a library without the type has none."""
    found: dict[tuple[int, int, int, str], Result] = {}
    for r in results:
        if r.is_yardstick and r.status != "skipped":
            found.setdefault((r.m, r.n, r.k, r.dtype), r)
    return found


def are_comparable(one: Result, other: Result) -> bool:
    """Return whether the times of two results may be compared: not if two different GPUs measured them."""
    on_gpus = one.execution == other.execution == "gpu"
    return not on_gpus or not one.device or not other.device or one.device == other.device


def share_of_cublas(row: Result, yardsticks: Yardsticks) -> float | None:
    """Return a row's rate over that of cuBLAS on the same problem; above 1 if the row is faster.

    Return None if there is no cuBLAS row, if one of the two has no time or a wrong product, or if two GPUs
    measured them.
    """
    cublas = yardsticks.get((row.m, row.n, row.k, row.dtype))
    if cublas is None or cublas.status != "ok" or row.status not in ("ok", "dropped"):
        return None
    if not are_comparable(row, cublas):
        return None
    return cublas.median_ms / row.median_ms if cublas.median_ms and row.median_ms else None


def bench_record_among(row: Result, yardsticks: Yardsticks) -> dict[str, Any]:
    """Return the row of a `cudamm.bench/2` file, with the fields that depend on other rows."""
    return row.bench_record() | {"share_of_cublas": share_of_cublas(row, yardsticks)}


def result_of_case(
    case: Case,
    status: Status,
    reason: str = "",
    timing: Timing = UNTIMED,
    verdict: Verdict = UNVERIFIED,
    device: str = "",
    *,
    is_final: bool = False,
) -> Result:
    """Return the result of a case, with the name of the device that ran it."""
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
        identity=case.identity,
        position=case.position,
        chosen_by=case.variant.chosen_by,
        inputs=case.problem.input_kind,
        column_major=case.variant.method.column_major,
        device=device,
        is_final=is_final,
        is_of_host_code=status == "failed" and bool(case.variant.method.type_conflict),
    )


def result_of(record: dict[str, Any], position: int) -> Result:
    """Return the result that a `bench_record` contains. Raise DamagedError if the record is damaged."""
    parts = {"timing": read_as(Timing, record), "verdict": read_as(Verdict, record), "position": position}
    # `dataclasses.replace` would take several times as long as everything else that is done for a row.
    return Result(**(vars(read_as(Result, record)) | parts))
