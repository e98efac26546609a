"""Profiles of kernels by Nsight Compute: its counters, and sentences about what they show together."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cudamm.benchmark.result import Status, result_of_case
from cudamm.errors import KernelError, NoDeviceError, signal_name
from cudamm.execution.case import UNVERIFIED, Case, Verdict
from cudamm.execution.executor import Executor
from cudamm.execution.prepare import Progress, prepare
from cudamm.execution.under_tool import Ended, run_under
from cudamm.kernels.method import ELEMENT_TYPES, ElementType, Value
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import ChosenBy, Variant, chosen_record

SCHEMA = "cudamm.profile/1"

Bound = Literal["compute", "memory", "balanced", "latency"]


@dataclass(frozen=True)
class Metric:
    """A counter of Nsight Compute.

    Attributes:
        raw: name in Nsight Compute.
        name: name in JSON, unit included.
        label: name in tables.
        scale: factor from the base unit (second, byte, percent or a count) to the unit of `name`.
        meaning: what the counter measures, for people.
    """

    raw: str
    name: str
    label: str
    scale: float
    meaning: str


METRICS = (
    Metric("gpu__time_duration.sum", "duration_ms", "duration (ms)", 1e3, "of the launch, at base clocks"),
    Metric(
        "sm__throughput.avg.pct_of_peak_sustained_elapsed", "compute_percent", "compute (% of peak)", 1,
        "throughput of the busiest unit of the multiprocessors, as a share of its sustained peak",
    ),
    Metric(
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "memory_percent",
        "memory (% of peak)", 1,
        "throughput of the busiest unit between multiprocessors and device memory, as a share of its peak",
    ),
    Metric(
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram_percent",
        "device memory (% of peak)", 1, "throughput of device memory alone, as a share of its peak",
    ),
    Metric(
        "dram__bytes_read.sum", "dram_read_bytes", "device memory read (MB)", 1,
        "bytes read from device memory",
    ),
    Metric(
        "dram__bytes_write.sum", "dram_write_bytes", "device memory written (MB)", 1,
        "bytes written to device memory",
    ),
    Metric("lts__t_sector_hit_rate.pct", "l2_hit_percent", "L2 hits (%)", 1, "sectors found in L2"),
    Metric("l1tex__t_sector_hit_rate.pct", "l1_hit_percent", "L1 hits (%)", 1, "sectors found in L1"),
    Metric(
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "load_sectors_per_request",
        "sectors per load request", 1, "32-byte sectors that a warp's load touches: 4 for 32 adjacent floats",
    ),
    Metric(
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", "store_sectors_per_request",
        "sectors per store request", 1, "32-byte sectors that a warp's store touches",
    ),
    Metric(
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "shared_load_conflicts",
        "bank conflicts, loads", 1, "extra passes that loads from shared memory took because of conflicts",
    ),
    Metric(
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "shared_store_conflicts",
        "bank conflicts, stores", 1, "extra passes that stores to shared memory took because of conflicts",
    ),
    Metric(
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "shared_load_wavefronts",
        "shared wavefronts, loads", 1, "all passes that loads from shared memory took",
    ),
    Metric(
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "shared_store_wavefronts",
        "shared wavefronts, stores", 1, "all passes that stores to shared memory took",
    ),
    Metric(
        "sm__warps_active.avg.pct_of_peak_sustained_active", "achieved_occupancy_percent",
        "achieved occupancy (%)", 1, "resident warps of an active multiprocessor, as a share of its maximum",
    ),
    Metric(
        "launch__waves_per_multiprocessor", "waves", "waves", 1,
        "blocks of the grid divided by the blocks that fit on the GPU at a time",
    ),
    Metric(
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "ffma_instructions", "FFMA (thread)", 1,
        "float32 fused multiply-adds that threads executed",
    ),
    Metric(
        "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", "fma_pipe_percent",
        "FMA pipe active (%)", 1, "cycles in which the units of fused multiply-adds were busy",
    ),
    Metric(
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "tensor_pipe_percent",
        "tensor cores active (%)", 1, "cycles in which the tensor cores were busy, in any type",
    ),
)  # fmt: skip
"""All counters that ncu collects. Names: Nsight Compute's Kernel Profiling Guide, `ncu --query-metrics`."""

OF_PIPES = ("fma_pipe_percent", "tensor_pipe_percent")
"""Names of the counters that tables show only if a kernel kept the tensor cores busy."""

LATENCY_BOUND_PERCENT = 60.0
BALANCED_PERCENT = 10.0
SATURATED_PERCENT = 80.0
"""Thresholds of Nsight Compute's own rule for the bound, in percent (sections/SpeedOfLight.py)."""

MOST_SECTORS = 2
"""Maximum ratio of touched sectors to the sectors of adjacent elements that is not reported."""

LEAST_CONFLICTS = 0.1
"""Minimum share of wavefronts due to bank conflicts that is reported; some GPUs count a few without any."""

LOW_OCCUPANCY_PERCENT = 50.0
"""Achieved occupancy below which low occupancy is reported, in percent."""

WHERE_TO_GET_NCU = (
    "Nsight Compute (ncu) was not found: install the CUDA toolkit, which contains it, or NVIDIA's package "
    "(apt: nsight-compute-YEAR.N; conda: nvidia::nsight-compute)"
)

_PERMISSION = (
    "the driver allows only administrators to read GPU counters (ERR_NVGPUCTRPERM): run as root, or load the "
    "driver with NVreg_RestrictProfilingToAdminUsers=0; see https://developer.nvidia.com/ERR_NVGPUCTRPERM"
)

_UNUSABLE = re.compile(
    r"profiling (?:is )?not supported|not supported on (?:this )?(?:device|gpu)"
    r"|unsupported (?:gpu|device|driver)|(?:driver|gpu|device) is not (?:compatible|supported)"
    r"|--list-chips|driver resource was unavailable",
    re.IGNORECASE,
)
"""Messages of ncu when it cannot profile any kernel on this machine."""

_MESSAGE = re.compile(r"^==(ERROR|WARNING)==\s*(.*)$", re.MULTILINE)

_UNINFORMATIVE = re.compile(r"No kernels were profiled|require[sd]? the --target-processes|^\s*$")
"""Messages that ncu prints after any failure; they do not name the cause."""


@dataclass(frozen=True)
class ProfileResult:
    """The profile of one variant on one problem.

    Attributes:
        reason: why profiling failed or was skipped; empty otherwise.
        values: values by `Metric.name`, in the unit of that name; without counters that ncu did not report.
        raw: values and units by ncu's names, as ncu printed them; empty if the variant was not profiled.
        chosen_by: what chose the variant in the place of `best`; empty if the variant was named.
    """

    method: str
    params: dict[str, Value]
    m: int
    n: int
    k: int
    dtype: str
    fmad: bool
    padded: bool
    status: Status
    reason: str = ""
    values: dict[str, float] = field(default_factory=dict)
    raw: dict[str, tuple[float, str]] = field(default_factory=dict)
    verdict: Verdict = UNVERIFIED
    source: str = ""
    chosen_by: ChosenBy = ""

    @property
    def bound(self) -> Bound | None:
        """The bound that `bound_of` derives from the counters."""
        return bound_of(self.values)

    @property
    def findings(self) -> list[str]:
        """The sentences that `findings_of` derives from the counters."""
        return findings_of(self.values, ELEMENT_TYPES[self.dtype])

    def record(self) -> dict[str, Any]:
        """Return the row of a `cudamm.profile/1` file."""
        return {
            **{name: getattr(self, name) for name in ("method", "params", "m", "n", "k", "dtype", "fmad")},
            **chosen_record(self.chosen_by),
            "padded": self.padded,
            "status": self.status,
            "reason": self.reason,
            "correct": self.verdict.correct,
            "source": self.source,
            "bound": self.bound,
            **{metric.name: self.values.get(metric.name) for metric in METRICS},
            "findings": self.findings,
            "metrics": {name: value for name, (value, _) in self.raw.items()},
            "units": {name: unit for name, (_, unit) in self.raw.items()},
        }


def bound_of(values: Mapping[str, float]) -> Bound | None:
    """Return what limits a kernel's speed; None if ncu did not report both throughputs.

    The rule is that of Nsight Compute's section “GPU Speed Of Light Throughput”. It compares compute and
    memory throughput in percent of their peaks. Both below 60: latency. Both below 80 and less than 10 apart:
    balanced. Otherwise: the higher one.
    """
    compute, memory = values.get("compute_percent"), values.get("memory_percent")
    if compute is None or memory is None:
        return None
    if max(compute, memory) < LATENCY_BOUND_PERCENT:
        return "latency"
    if max(compute, memory) < SATURATED_PERCENT and abs(compute - memory) < BALANCED_PERCENT:
        return "balanced"
    return "compute" if compute > memory else "memory"


def findings_of(values: Mapping[str, float], element: ElementType) -> list[str]:
    """Return a sentence about the bound and its numbers, then one for each cause that the counters show.

    A warp's 32 adjacent elements fill as many sectors of 32 bytes as an element has bytes.
    """
    findings = []
    bound = bound_of(values)
    if bound is not None:
        findings.append(_bound_sentence(bound, values))
    for kind, plural in (("load", "loads"), ("store", "stores")):
        each = element.bytes_of["A" if kind == "load" else "C"]
        sectors = values.get(f"{kind}_sectors_per_request", 0.0)
        if sectors > MOST_SECTORS * each:
            findings.append(
                f"global {plural} are not coalesced: a warp's request touches {sectors:.1f} sectors of 32 "
                f"bytes; adjacent elements of {each} byte{'s' * (each > 1)}, one per thread, need {each}"
            )
    for kind, plural in (("load", "loads"), ("store", "stores")):
        conflicts = values.get(f"shared_{kind}_conflicts", 0.0)
        wavefronts = values.get(f"shared_{kind}_wavefronts", 0.0)
        if wavefronts > 0 and conflicts / wavefronts >= LEAST_CONFLICTS:
            findings.append(
                f"shared-memory {plural} have bank conflicts: {conflicts:,.0f} of {wavefronts:,.0f} "
                f"wavefronts ({conflicts / wavefronts:.0%}) would not be needed without them"
            )
    occupancy = values.get("achieved_occupancy_percent")
    if occupancy is not None and occupancy < LOW_OCCUPANCY_PERCENT:
        findings.append(
            f"occupancy is low: {occupancy:.1f}% of the warps that fit were resident; "
            "cudamm occupancy --why shows what limits it"
        )
    return findings


def _bound_sentence(bound: Bound, values: Mapping[str, float]) -> str:
    compute, memory = values["compute_percent"], values["memory_percent"]
    numbers = f"memory throughput {memory:.1f}% of its peak, compute {compute:.1f}%"
    if bound == "latency":
        waves = values.get("waves")
        small_grid = (
            f"; the grid is {waves:.2f} waves, too small to fill the GPU" if waves and waves < 1 else ""
        )
        return f"latency bound: {numbers}, both below {LATENCY_BOUND_PERCENT:.0f}%{small_grid}"
    if bound == "balanced":
        return f"compute and memory are balanced: {numbers}, less than {BALANCED_PERCENT:.0f} points apart"
    return f"{bound} bound: {numbers}"


_LONGEST_LINE = 100_000
"""Maximum length of a line of ncu's output that is parsed, in characters."""


def parse_ncu(text: str) -> list[dict[str, tuple[float, str]]]:
    """Return the kernels in the output of `ncu --csv --page raw`: for each, values and units by ncu's names.

    A row of names is followed by a row of units, then by one row for each kernel. All other lines are
    messages. Columns that are not metrics (no `__` in their names) and values that are not numbers are left
    out.
    """
    # Lines are parsed one at a time: a quotation mark in a message must not swallow the following lines.
    lines = (line.replace("\0", "") for line in text.splitlines())
    rows = [row for line in lines if "," in line and len(line) < _LONGEST_LINE for row in csv.reader([line])]
    header_row = next((i for i, row in enumerate(rows) if "Kernel Name" in row and "ID" in row), None)
    if header_row is None or header_row + 1 >= len(rows):
        return []
    names, units = rows[header_row], rows[header_row + 1]
    if len(units) != len(names) or units[names.index("ID")].strip():
        return []
    kernels = []
    for row in rows[header_row + 2 :]:
        if len(row) != len(names) or not row[names.index("ID")].strip().isdigit():
            continue  # a message, or an incomplete line
        cells = zip(names, units, row, strict=True)
        metrics = {name: (number(cell), unit) for name, unit, cell in cells if "__" in name}
        kernels.append({name: (value, unit) for name, (value, unit) in metrics.items() if value is not None})
    return kernels


def number(text: str) -> float | None:
    """Return a number that ncu printed, with or without thousands separators; None for `n/a` or `nan`."""
    text = text.strip().replace("\u00a0", "").replace("\u202f", "").replace("'", "")
    if "," in text and "." in text:  # the last one is the decimal separator
        thousands, decimal = (",", ".") if text.rindex(".") > text.rindex(",") else (".", ",")
        text = text.replace(thousands, "").replace(decimal, ".")
    elif text.count(".") > 1:
        text = text.replace(".", "")
    elif text.count(",") > 1 or re.fullmatch(r"-?[1-9]\d{0,2},\d{3}", text):
        text = text.replace(",", "")
    else:
        text = text.replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


_PREFIXES = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def in_base_unit(value: float, unit: str) -> float | None:
    """Return a value in seconds, bytes, percent or as a count; None if the unit is not known.

    The names of units differ between versions of ncu: `nsecond`, `ns`, `usecond`, `us`, `Mbyte`.
    """
    match = re.fullmatch(r"([numkKMGT]?)(second|sec|s|byte|B)", unit.strip())
    if match:
        return value * _PREFIXES[match[1]]
    # A percentage, a count, or a ratio such as inst, Kinst, sector/request.
    match = re.fullmatch(r"%|([KMGT]?)(?:[a-z]\w*(?:/\w+)?)?", unit.strip())
    return value * _PREFIXES[match[1] or ""] if match else None


def named(raw: Mapping[str, tuple[float, str]]) -> dict[str, float]:
    """Return values by `Metric.name`, in the units of these names.

    Args:
        raw: values and units by ncu's names.
    """
    values = {}
    for metric in METRICS:
        if metric.raw in raw:
            value = in_base_unit(*raw[metric.raw])
            if value is not None:
                values[metric.name] = value * metric.scale
    return values


def profile(
    executor: Executor,
    ncu: Path,
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    timeout_s: float,
    progress: Progress,
) -> Iterator[ProfileResult]:
    """Profile each case in a process of its own; yield each result when it is complete.

    Args:
        executor: the executor that prepares the cases; it is dismissed before the first one is profiled.
        timeout_s: maximum duration of a case in seconds, ncu's replays included.

    Raises:
        UsageError: the request is impossible; raised before the first launch.
        NoDeviceError: ncu cannot profile on this machine: no permission, or a GPU that it does not support.
    """
    prepared = prepare(executor, cases, fmad, progress, verified=False)
    executor.dismiss()
    for position, case in enumerate(prepared):
        progress(case.title, position, len(prepared))
        if case.skipped:
            yield _result(case, "skipped", case.skipped)
            continue
        try:
            yield _profiled(ncu, case, timeout_s)
        except KernelError as error:
            yield _result(case, "failed", str(error))


def _result(
    case: Case,
    status: Status,
    reason: str = "",
    raw: Mapping[str, tuple[float, str]] | None = None,
    verdict: Verdict = UNVERIFIED,
) -> ProfileResult:
    result = result_of_case(case, status, reason)
    return ProfileResult(
        result.method, result.params, result.m, result.n, result.k, result.dtype, result.fmad, result.padded,
        status, reason, named(raw or {}), dict(raw or {}), verdict, result.source, result.chosen_by,
    )  # fmt: skip


def _profiled(ncu: Path, case: Case, timeout_s: float) -> ProfileResult:
    """Profile one case.

    Raises:
        KernelError: the case failed.
        NoDeviceError: ncu cannot profile on this machine.
    """
    if isinstance(case.compiled, KernelError):
        raise case.compiled
    metrics = [metric.raw for metric in METRICS]
    while True:
        ended = _run(ncu, metrics, case, timeout_s)
        kernels = parse_ncu(ended.stdout)
        unknown = [] if kernels else _refused(ended.messages, metrics)
        if not unknown or len(unknown) == len(metrics):
            break
        metrics = [name for name in metrics if name not in unknown]  # this GPU lacks these counters
    if not kernels:
        _check_usable(ncu, ended)
    if ended.error:
        raise ended.error
    verdict: Verdict | None = ended.value
    if verdict is not None and not verdict.correct:
        return _result(case, "failed", verdict.reason, verdict=verdict)
    if len(kernels) != 1:
        count = "no kernel" if not kernels else f"{len(kernels)} kernels, not one,"
        raise KernelError(f"ncu profiled {count}: {ended.last_line}")
    if ended.status != 0 and verdict is None:
        raise KernelError(f"ncu ended before the profile was complete: {ended.last_line}")
    if not named(kernels[0]):
        raise KernelError("ncu reported none of the requested metrics")
    return _result(case, "ok", "", kernels[0], verdict or UNVERIFIED)


@dataclass(frozen=True)
class _Ended(Ended):
    """The exit status, output and answer of an ncu process."""

    @property
    def messages(self) -> list[str]:
        """Texts of ncu's errors, then of its warnings."""
        messages = _MESSAGE.findall(f"{self.stdout}\n{self.stderr}")
        errors = [text for kind, text in messages if kind == "ERROR"]
        return errors + [text for kind, text in messages if kind == "WARNING"]

    @property
    def last_line(self) -> str:
        """The most informative message of a failure; without one, the last line that ncu printed."""
        informative = [text for text in self.messages if not _UNINFORMATIVE.search(text)]
        if informative:
            return informative[0]
        lines = [line.strip() for text in (self.stderr, self.stdout) for line in text.splitlines()[::-1]]
        lines = [
            line for line in lines if not line.startswith(("==", '"')) and not _UNINFORMATIVE.search(line)
        ]
        end = f"killed by {signal_name(-self.status)}" if self.status < 0 else f"status {self.status}"
        return f"{lines[0]} ({end})" if lines else f"it printed no message ({end})"


def _run(ncu: Path, metrics: Iterable[str], case: Case, timeout_s: float) -> _Ended:
    """Run ncu on a case; return its output and the answer of the process that it profiles.

    Raises:
        NoDeviceError: ncu cannot be run.
        KernelError: ncu did not end within the timeout.
    """
    options = [
        "--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(metrics),
        "--target-processes", "all", "--profile-from-start", "off",
        "--cache-control", "all", "--clock-control", "base",
    ]  # fmt: skip
    ended = run_under(ncu, options, "cudamm.analysis.profiled_process", case, timeout_s)
    if ended is None:
        raise KernelError(
            f"no profile within {timeout_s:g} s (--timeout): the kernel hangs or needs more time; ncu "
            "launches it once for each set of counters"
        )
    return _Ended(ended.status, ended.stdout, ended.stderr, ended.answer)


def _check_usable(ncu: Path, ended: _Ended) -> None:
    """Raise NoDeviceError if ncu reported that it cannot profile on this machine."""
    for message in ended.messages:
        if "ERR_NVGPUCTRPERM" in message:
            raise NoDeviceError(_PERMISSION)
        if _UNUSABLE.search(message):
            raise NoDeviceError(
                f"{ncu} cannot profile on this machine: {message.rstrip('.')}; if this ncu is older than the "
                "GPU or its driver, install a newer Nsight Compute"
            )


def _refused(messages: Iterable[str], metrics: Sequence[str]) -> list[str]:
    """Return the metrics that ncu's messages name."""
    words = {word for message in messages for word in re.findall(r"[\w.]+", message)}
    words |= {word.rstrip(".") for word in words}
    return [name for name in metrics if name in words]
