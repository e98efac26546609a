"""The records that measuring and verifying write, and everything else reads."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import platform
import statistics
import sys
from dataclasses import dataclass, field
from typing import Any, Literal

from cudamm import __version__
from cudamm.catalog.method import Execution, Value
from cudamm.devices.device import DeviceInfo as DeviceInfo

Status = Literal["ok", "failed", "skipped"]


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
class Result:
    """One variant on one problem: a row of a table.

    Attributes:
        execution: where it ran: on a GPU, natively on the host, or emulated by the CPU device.
        padded: whether the matrices on the device were padded with zeros; rates count the real size.
        reason: why it failed or was skipped; empty otherwise.
        runs_ms: each timed launch; empty where only verified.
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
    runs_ms: list[float] = field(default_factory=list)
    verdict: Verdict = UNVERIFIED

    @property
    def mean_ms(self) -> float | None:
        """Arithmetic mean of the runs."""
        return statistics.fmean(self.runs_ms) if self.runs_ms else None

    @property
    def median_ms(self) -> float | None:
        """Median of the runs; rates and speed-ups are taken from it."""
        return statistics.median(self.runs_ms) if self.runs_ms else None

    @property
    def min_ms(self) -> float | None:
        """The fastest run."""
        return min(self.runs_ms) if self.runs_ms else None

    @property
    def gflops(self) -> float | None:
        """10⁹ operations a second at the median time: 2 m n k operations, padding not counted."""
        median_ms = self.median_ms
        return 2 * self.m * self.n * self.k / median_ms / 1e6 if median_ms else None

    def bench_record(self) -> dict[str, Any]:
        """The row of a `cudamm.bench/1` file."""
        times = {
            "runs_ms": self.runs_ms,
            "mean_ms": self.mean_ms,
            "median_ms": self.median_ms,
            "min_ms": self.min_ms,
            "gflops": self.gflops,
        }
        return self._what() | times | self._verdict()

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
        return {name: getattr(self, name) for name in names}

    def _verdict(self) -> dict[str, Any]:
        verdict = dataclasses.asdict(self.verdict)
        return {name: verdict[name] for name in ("correct", "bit_equal", "max_error", "error_bound")}


@dataclass(frozen=True)
class OccupancyResult:
    """A variant's occupancy on one architecture: a row of a table.

    Attributes:
        shared_bytes_per_block: static and dynamic.
        active_blocks: a multiprocessor holds at a time; 0 where the variant cannot run.
        occupancy: active threads over the threads a multiprocessor has room for, between 0 and 1.
        limits: active blocks that each resource alone would allow.
        limited_by: the resources that allow no more than there are.
        reason: why it cannot run; empty where it can.
    """

    arch: str
    method: str
    params: dict[str, Value]
    dtype: str
    threads_per_block: int
    registers_per_thread: int
    shared_bytes_per_block: int
    local_bytes_per_thread: int
    active_blocks: int
    active_warps: int
    active_threads: int
    occupancy: float
    limits: dict[str, int]
    limited_by: tuple[str, ...]
    reason: str = ""

    def record(self) -> dict[str, Any]:
        """The row of a `cudamm.occupancy/1` file."""
        return dataclasses.asdict(self)


def document(schema: str, device: DeviceInfo, records: list[dict[str, Any]]) -> dict[str, Any]:
    """The JSON document of a command: where and when, then a record a row."""
    return {
        "schema": schema,
        "device": {"kind": device.kind, "spec": device.spec, "name": device.name, **device.properties},
        "environment": environment(),
        "results": records,
    }


def environment() -> dict[str, Any]:
    """Versions and date, as far as they can change a figure."""
    return {
        "cudamm": __version__,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "pycuda": _version("pycuda"),
        "system": platform.platform(),
        "command": ["cudamm", *sys.argv[1:]],
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
