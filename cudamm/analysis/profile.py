"""What Nsight Compute says of a kernel: its counters, by the names used here, and what they mean together."""

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
from cudamm.kernels.method import ELEMENT_TYPES, Value
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import ChosenBy, Variant, chosen_record

SCHEMA = "cudamm.profile/1"

Bound = Literal["compute", "memory", "balanced", "latency"]


@dataclass(frozen=True)
class Metric:
    """A counter of Nsight Compute's.

    Attributes:
        raw: its name there.
        name: its name here, unit included, as JSON has it.
        label: what a table calls it.
        scale: from the base unit (second, byte, percent or a count) to that of `name`.
        meaning: for people.
    """

    raw: str
    name: str
    label: str
    scale: float
    meaning: str


METRICS = (
    Metric("gpu__time_duration.sum", "duration_ms", "duration (ms)", 1e3, "of the launch, at base clock"),
    Metric(
        "sm__throughput.avg.pct_of_peak_sustained_elapsed", "compute_percent", "compute (% of peak)", 1,
        "of the busiest unit of the multiprocessors, of what it can sustain",
    ),
    Metric(
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "memory_percent",
        "memory (% of peak)", 1, "of the busiest unit between the multiprocessors and device memory",
    ),
    Metric(
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram_percent",
        "device memory (% of peak)", 1, "of device memory alone",
    ),
    Metric("dram__bytes_read.sum", "dram_read_bytes", "device memory read (MB)", 1, "from device memory"),
    Metric("dram__bytes_write.sum", "dram_write_bytes", "device memory written (MB)", 1, "to device memory"),
    Metric("lts__t_sector_hit_rate.pct", "l2_hit_percent", "L2 hits (%)", 1, "sectors found in L2"),
    Metric("l1tex__t_sector_hit_rate.pct", "l1_hit_percent", "L1 hits (%)", 1, "sectors found in L1"),
    Metric(
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "load_sectors_per_request",
        "sectors a load request", 1, "32-byte sectors that a warp's load touches; 4 for 32 adjacent floats",
    ),
    Metric(
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", "store_sectors_per_request",
        "sectors a store request", 1, "likewise for stores",
    ),
    Metric(
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "shared_load_conflicts",
        "bank conflicts, loads", 1, "further passes that loads from shared memory took",
    ),
    Metric(
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "shared_store_conflicts",
        "bank conflicts, stores", 1, "likewise for stores",
    ),
    Metric(
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "shared_load_wavefronts",
        "shared wavefronts, loads", 1, "all passes that loads from shared memory took",
    ),
    Metric(
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "shared_store_wavefronts",
        "shared wavefronts, stores", 1, "likewise for stores",
    ),
    Metric(
        "sm__warps_active.avg.pct_of_peak_sustained_active", "achieved_occupancy_percent",
        "achieved occupancy (%)", 1, "warps resident on a multiprocessor at work, of those it has room for",
    ),
    Metric(
        "launch__waves_per_multiprocessor", "waves", "waves", 1,
        "blocks of the grid over blocks that fit on the GPU at a time",
    ),
    Metric(
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "ffma_instructions", "FFMA (thread)", 1,
        "float32 fused multiply-adds that threads executed",
    ),
)  # fmt: skip
"""All that is asked of ncu. Names: Nsight Compute's Kernel Profiling Guide, and `ncu --query-metrics`."""

LATENCY_BOUND_PERCENT = 60.0
BALANCED_PERCENT = 10.0
SATURATED_PERCENT = 80.0
"""The thresholds of Nsight Compute's own rule, sections/SpeedOfLight.py."""

MOST_SECTORS = 2
"""Times the sectors that adjacent elements of a warp need, above which a finding says so."""

LEAST_CONFLICTS = 0.1
"""Of the wavefronts, above which a finding speaks of bank conflicts; some GPUs count a few without any."""

LOW_OCCUPANCY_PERCENT = 50.0

WHERE_TO_GET_NCU = (
    "Nsight Compute (ncu) was not found: it is part of the CUDA toolkit; NVIDIA's package repositories "
    "have it too (apt: nsight-compute-YEAR.N; conda: nvidia::nsight-compute)"
)

_PERMISSION = (
    "the driver keeps GPU counters for administrators (ERR_NVGPUCTRPERM): run as root, or load the driver "
    "with NVreg_RestrictProfilingToAdminUsers=0; https://developer.nvidia.com/ERR_NVGPUCTRPERM says how"
)

_UNUSABLE = re.compile(
    r"profiling (?:is )?not supported|not supported on (?:this )?(?:device|gpu)"
    r"|unsupported (?:gpu|device|driver)|(?:driver|gpu|device) is not (?:compatible|supported)"
    r"|--list-chips|driver resource was unavailable",
    re.IGNORECASE,
)
"""What ncu says where no kernel can be profiled, whichever it is."""

_MESSAGE = re.compile(r"^==(ERROR|WARNING)==\s*(.*)$", re.MULTILINE)

_EMPTY_TALK = re.compile(r"No kernels were profiled|require[sd]? the --target-processes|^\s*$")
"""What ncu says after any failure, and so says nothing."""


@dataclass(frozen=True)
class ProfileResult:
    """One variant on one problem under Nsight Compute.

    Attributes:
        values: by `Metric.name`, in the unit that the name says; what ncu could not tell is left out.
        raw: by ncu's names, as ncu gave them: a value, and its unit. Empty where it was not profiled.
        reason: why it failed or was skipped.
        chosen_by: what chose the variant in the place of `best`; empty where nothing did.
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
        """By `bound_of`."""
        return bound_of(self.values)

    @property
    def findings(self) -> list[str]:
        """By `findings_of`."""
        return findings_of(self.values, ELEMENT_TYPES[self.dtype].size_bytes)

    def record(self) -> dict[str, Any]:
        """The row of a `cudamm.profile/1` file."""
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
    """What keeps a kernel from being faster; None where ncu did not say enough.

    The rule of Nsight Compute's section “GPU Speed Of Light Throughput”, of compute and memory throughput in
    percent of their peaks: both below 60: latency; both below 80 and less than 10 apart: balanced; else the
    higher.
    """
    compute, memory = values.get("compute_percent"), values.get("memory_percent")
    if compute is None or memory is None:
        return None
    if max(compute, memory) < LATENCY_BOUND_PERCENT:
        return "latency"
    if max(compute, memory) < SATURATED_PERCENT and abs(compute - memory) < BALANCED_PERCENT:
        return "balanced"
    return "compute" if compute > memory else "memory"


def findings_of(values: Mapping[str, float], element_bytes: int) -> list[str]:
    """Sentences: the bound and the numbers it rests on, then each cause that a number names.

    Args:
        element_bytes: of an element of the matrices; adjacent ones of a warp need as many sectors.
    """
    found = []
    bound = bound_of(values)
    if bound is not None:
        found.append(_bound_sentence(bound, values))
    for kind, does in (("load", "loads"), ("store", "stores")):
        sectors = values.get(f"{kind}_sectors_per_request", 0.0)
        if sectors > MOST_SECTORS * element_bytes:
            found.append(
                f"global {does} are not coalesced: a warp's request touches {sectors:.1f} sectors of 32 "
                f"bytes; adjacent elements of {element_bytes} bytes, one a thread, need {element_bytes}"
            )
    for kind, does in (("load", "loads"), ("store", "stores")):
        conflicts = values.get(f"shared_{kind}_conflicts", 0.0)
        wavefronts = values.get(f"shared_{kind}_wavefronts", 0.0)
        if wavefronts > 0 and conflicts / wavefronts >= LEAST_CONFLICTS:
            found.append(
                f"shared-memory {does} have bank conflicts: {conflicts:,.0f} of {wavefronts:,.0f} wavefronts "
                f"({conflicts / wavefronts:.0%}) would not be needed without them"
            )
    occupancy = values.get("achieved_occupancy_percent")
    if occupancy is not None and occupancy < LOW_OCCUPANCY_PERCENT:
        found.append(
            f"occupancy is low: {occupancy:.1f}% of the warps that fit were resident; "
            "cudamm occupancy --why says what limits it"
        )
    return found


def _bound_sentence(bound: Bound, values: Mapping[str, float]) -> str:
    compute, memory = values["compute_percent"], values["memory_percent"]
    numbers = f"memory throughput {memory:.1f}% of its peak, compute {compute:.1f}%"
    if bound == "latency":
        waves = values.get("waves")
        few = f"; the grid is {waves:.2f} waves, too small to fill the GPU" if waves and waves < 1 else ""
        return f"latency bound: {numbers}, both below {LATENCY_BOUND_PERCENT:.0f}%{few}"
    if bound == "balanced":
        return f"compute and memory are balanced: {numbers}, less than {BALANCED_PERCENT:.0f} points apart"
    return f"{bound} bound: {numbers}"


_LONGEST_LINE = 100_000


def parse_ncu(text: str) -> list[dict[str, tuple[float, str]]]:
    """The kernels in what `ncu --csv --page raw` prints: for each, values and units by ncu's names.

    A row of names is followed by one of units, then by one a kernel; other lines are messages. Columns that
    are no metrics (with no `__` in their names) and values that are no numbers are left out.
    """
    # Each line by itself: a quotation mark amid messages must not swallow what follows.
    lines = (line.replace("\0", "") for line in text.splitlines())
    rows = [row for line in lines if "," in line and len(line) < _LONGEST_LINE for row in csv.reader([line])]
    head = next((i for i, row in enumerate(rows) if "Kernel Name" in row and "ID" in row), None)
    if head is None or head + 1 >= len(rows):
        return []
    names, units = rows[head], rows[head + 1]
    if len(units) != len(names) or units[names.index("ID")].strip():
        return []
    kernels = []
    for row in rows[head + 2 :]:
        if len(row) != len(names) or not row[names.index("ID")].strip().isdigit():
            continue  # a message, or a line that broke off
        cells = zip(names, units, row, strict=True)
        found = {name: (number(cell), unit) for name, unit, cell in cells if "__" in name}
        kernels.append({name: (value, unit) for name, (value, unit) in found.items() if value is not None})
    return kernels


def number(text: str) -> float | None:
    """A number as ncu prints it, thousands separated or not; None for `n/a`, `nan` and the like."""
    text = text.strip().replace("\u00a0", "").replace("\u202f", "").replace("'", "")
    if "," in text and "." in text:  # the last is the decimal one
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
    """A value in seconds, bytes, percent or as a count; None where the unit is not known.

    ncu names units differently from version to version: `nsecond`, `ns`, `usecond`, `us`, `Mbyte`.
    """
    match = re.fullmatch(r"([numkKMGT]?)(second|sec|s|byte|B)", unit.strip())
    if match:
        return value * _PREFIXES[match[1]]
    # A percentage, a count, or a ratio such as inst, Kinst, sector/request.
    match = re.fullmatch(r"%|([KMGT]?)(?:[a-z]\w*(?:/\w+)?)?", unit.strip())
    return value * _PREFIXES[match[1] or ""] if match else None


def named(raw: Mapping[str, tuple[float, str]]) -> dict[str, float]:
    """Values by `Metric.name`, in the units of the names."""
    found = {}
    for metric in METRICS:
        if metric.raw in raw:
            value = in_base_unit(*raw[metric.raw])
            if value is not None:
                found[metric.name] = value * metric.scale
    return found


def profile(
    executor: Executor,
    ncu: Path,
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    timeout_s: float,
    progress: Progress,
) -> Iterator[ProfileResult]:
    """Profile each case in a process of its own, one result as soon as it is there.

    Args:
        executor: what the cases are prepared for; it is dismissed before the first is profiled.
        timeout_s: how long a case may take, ncu's replays included.

    Raises:
        UsageError: before anything is launched, where the request is impossible.
        NoDeviceError: ncu can profile nothing here: no permission, or a GPU it does not know.
    """
    prepared = prepare(executor, cases, fmad, progress)
    executor.dismiss()
    for done, case in enumerate(prepared):
        progress(case.title, done, len(prepared))
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
    of = result_of_case(case, status, reason)
    return ProfileResult(
        of.method, of.params, of.m, of.n, of.k, of.dtype, of.fmad, of.padded, status, reason,
        named(raw or {}), dict(raw or {}), verdict, of.source, of.chosen_by,
    )  # fmt: skip


def _profiled(ncu: Path, case: Case, timeout_s: float) -> ProfileResult:
    """One case. Raises KernelError where it failed, NoDeviceError where ncu can profile nothing here."""
    if isinstance(case.compiled, KernelError):
        raise case.compiled
    metrics = [metric.raw for metric in METRICS]
    while True:
        ended = _run(ncu, metrics, case, timeout_s)
        kernels = parse_ncu(ended.stdout)
        unknown = [] if kernels else _refused(ended.messages, metrics)
        if not unknown or len(unknown) == len(metrics):
            break
        metrics = [name for name in metrics if name not in unknown]  # this GPU has no such counter
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
        raise KernelError(f"ncu ended amid the profile: {ended.last_line}")
    if not named(kernels[0]):
        raise KernelError("ncu gave none of the metrics asked for")
    return _result(case, "ok", "", kernels[0], verdict or UNVERIFIED)


@dataclass(frozen=True)
class _Ended(Ended):
    """What ncu left behind."""

    @property
    def messages(self) -> list[str]:
        """ncu's errors, then its warnings."""
        found = _MESSAGE.findall(f"{self.stdout}\n{self.stderr}")
        return [text for kind, text in found if kind == "ERROR"] + [
            t for kind, t in found if kind == "WARNING"
        ]

    @property
    def last_line(self) -> str:
        """The message that says most of a failure, and how ncu ended if it is all there is to say."""
        said = [text for text in self.messages if not _EMPTY_TALK.search(text)]
        if said:
            return said[0]
        lines = [line.strip() for text in (self.stderr, self.stdout) for line in text.splitlines()[::-1]]
        lines = [line for line in lines if not line.startswith(("==", '"')) and not _EMPTY_TALK.search(line)]
        how = f"killed by {signal_name(-self.status)}" if self.status < 0 else f"status {self.status}"
        return f"{lines[0]} ({how})" if lines else f"it said nothing ({how})"


def _run(ncu: Path, metrics: Iterable[str], case: Case, timeout_s: float) -> _Ended:
    """ncu's ending, and what the process under it says came of the case.

    Raises:
        NoDeviceError: ncu cannot be run.
        KernelError: it took too long.
    """
    options = [
        "--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(metrics),
        "--target-processes", "all", "--profile-from-start", "off",
        "--cache-control", "all", "--clock-control", "base",
    ]  # fmt: skip
    ended = run_under(ncu, options, "cudamm.analysis.profiled_process", case, timeout_s)
    if ended is None:
        raise KernelError(
            f"no profile within {timeout_s:g} s (--timeout): it hangs, or needs longer than that; ncu "
            "launches a kernel once for each set of counters"
        )
    return _Ended(ended.status, ended.stdout, ended.stderr, ended.answer)


def _check_usable(ncu: Path, ended: _Ended) -> None:
    """Raise NoDeviceError where ncu says that it can profile nothing here."""
    for message in ended.messages:
        if "ERR_NVGPUCTRPERM" in message:
            raise NoDeviceError(_PERMISSION)
        if _UNUSABLE.search(message):
            raise NoDeviceError(
                f"{ncu} can profile nothing here: {message.rstrip('.')}; if it is older than this GPU or its "
                "driver, a newer Nsight Compute can"
            )


def _refused(messages: Iterable[str], metrics: Sequence[str]) -> list[str]:
    """The metrics that ncu complains of by name."""
    words = {word for message in messages for word in re.findall(r"[\w.]+", message)}
    words |= {word.rstrip(".") for word in words}
    return [name for name in metrics if name in words]
