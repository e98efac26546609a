"""The view of results that tables, files, plots and the page print, computed once from the records."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cudamm.benchmark.result import Result, Status, are_comparable, share_of_cublas, yardsticks_of
from cudamm.benchmark.sample_statistics import Ratio, ratio_of_medians
from cudamm.execution.case import FIRST_LAUNCH_ONLY, ORDER_MATTERS, ORDER_SEEN, RIGHT_AT_FIRST
from cudamm.kernels.input_kinds import AnyKind, unusual_inputs
from cudamm.kernels.variant import EMPTY_GRID
from cudamm.output.best_row import best_candidates, best_of_several, best_row, speed_order
from cudamm.output.number_format import parameters, rate_unit, variant
from cudamm.output.result_marks import BEST, BEST_OF_SWEEP, Mark, gpus_of, marks_of

VERIFIED = "✓"
"""Outcome of a row whose product is verified."""
BASELINE = "naive"
"""Default baseline of speed-ups: the slowest method that is sensible on a GPU."""
FEWEST_FOR_INTERVAL = 8
"""Minimum number of samples for the bootstrap interval of a speed-up."""
FEWEST_FOR_SLOWDOWN = 2
"""Minimum number of samples for the bootstrap interval of a slowdown against the problem's best row."""


MOST_ROWS = 500
"""Approximate maximum number of rows that tables and the page show. More take long to write and to read."""


class ProblemLabel(NamedTuple):
    """A problem's label: its sizes, element type and inputs, and whether multiply-adds were fused."""

    m: int
    n: int
    k: int
    dtype: str
    fmad: bool
    inputs: AnyKind = ""

    @property
    def size(self) -> str:
        """Return `1024`, or `640 × 480 × 320` if the matrices are not square."""
        return str(self.m) if self.is_square else f"{self.m} × {self.n} × {self.k}"

    @property
    def shape(self) -> str:
        """Return `640x480x320`, as options write it."""
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def spaced(self) -> str:
        """Return `640 x 480 x 320`, for titles in the terminal."""
        return f"{self.m} x {self.n} x {self.k}"

    @property
    def is_square(self) -> bool:
        """Return whether all three sizes are the same."""
        return self.m == self.n == self.k

    @property
    def kind(self) -> str:
        """Return the label without the sizes."""
        return self.elements + ("" if self.fmad else ", no fused multiply-add")

    @property
    def elements(self) -> str:
        """Return `bfloat16, normal inputs`, or only the type if the inputs are the usual ones."""
        return ", ".join(filter(None, (self.dtype, unusual_inputs(self.dtype, self.inputs))))

    def __str__(self) -> str:
        return f"{self.m} × {self.n} × {self.k} (M × N × K), {self.kind}"


@dataclass(frozen=True, eq=False)
class ResultRow:
    """A result and its relation to the other results of its problem, for a row of a table.

    Attributes:
        baseline: the result that its speed-up is over; None if the problem has no such row.
        leader: the best result of its problem, which `slowdown` is against; None if there is none.
        share_of_cublas: its rate over that of cuBLAS; None if one of the two is not known.
        is_best: whether it is the fastest verified row of its problem.
        is_marked_best: whether it is the best of several rows.
        is_best_of_sweep: whether it is the fastest verified of several rows of its method.
    """

    result: Result
    baseline: Result | None = None
    leader: Result | None = None
    share_of_cublas: float | None = None
    is_best: bool = False
    is_marked_best: bool = False
    is_best_of_sweep: bool = False

    @property
    def label(self) -> str:
        """Return the method's name: `tiled`, or `best: tiled`."""
        return self.result.label

    @property
    def parameters(self) -> str:
        """Return `BLOCK_SIZE=16 COARSE=2`."""
        return parameters(self.result.params)

    @property
    def variant(self) -> str:
        """Return `tiled BLOCK_SIZE=16`."""
        return variant(self.label, self.result.params)

    @property
    def problem(self) -> ProblemLabel:
        """Return the label of the row's problem."""
        r = self.result
        return ProblemLabel(r.m, r.n, r.k, r.dtype, r.fmad, r.inputs)

    @property
    def is_timed(self) -> bool:
        """Return whether the row has a valid time. The time of a failed row is not valid."""
        return self.result.status in ("ok", "dropped") and bool(self.result.median_ms)

    @property
    def is_right(self) -> bool:
        """Return whether the row was timed to the end and verified, and was not emulated."""
        is_verified = self.result.status == "ok" and self.result.verdict.correct is True
        return is_verified and self.is_timed and not self.is_emulated

    @property
    def is_emulated(self) -> bool:
        """Return whether the CPU device executed a GPU kernel."""
        return self.result.execution == "emulated"

    @property
    def median_ms(self) -> float:
        """Return the median; 0 if there is none. Use it to sort timed rows."""
        return self.result.median_ms or 0.0

    @property
    def rate(self) -> float | None:
        """Return the rate; None without samples, or if the time is emulated or too short."""
        gflops = self.result.gflops
        return gflops if gflops is not None and math.isfinite(gflops) else None

    @property
    def unit(self) -> str:
        """Return the unit of the rate."""
        return rate_unit(self.result.dtype)

    @property
    def noise(self) -> float | None:
        """Return the samples' noise; None if there are fewer than two."""
        of = self.result.statistics
        return of.noise if of is not None and of.count > 1 else None

    @functools.cached_property
    def speed_up(self) -> Ratio | float | None:
        """Return the baseline's median over the row's, with an interval if there are enough samples.

        None for an emulated kernel, and for a row of the host beside a baseline on a GPU.
        """
        beside_gpu = self.baseline is not None and self.baseline.execution == "gpu"
        if self.is_emulated or (beside_gpu and self.result.execution == "native"):
            return None
        if self.baseline is self.result and self.result.timing.samples_ms:
            return 1.0
        return _ratio(self.baseline, self.result, FEWEST_FOR_INTERVAL)

    @functools.cached_property
    def slowdown(self) -> Ratio | float | None:
        """Return the row's median over that of the problem's best row; None for the best row itself."""
        if self.is_best:
            return None
        return _ratio(self.result, self.leader, FEWEST_FOR_SLOWDOWN)

    @property
    def outcome(self) -> str:
        """Return `✓`, or the row's other outcome."""
        status = self.result.status
        if status == "skipped" and self.result.exact is not None:
            return "not verified"
        if status != "ok":
            return status.upper() if status != "dropped" else "dropped"
        return VERIFIED if self.result.verdict.correct else "not verified"

    @functools.cached_property
    def marks(self) -> list[Mark]:
        """Return the marks of this row."""
        best = [BEST] if self.is_marked_best else [BEST_OF_SWEEP] if self.is_best_of_sweep else []
        return marks_of([self.result]) + best

    def signs(self, column: str) -> str:
        """Return the signs that stand in a column of the terminal's table, such as ` ~ °`."""
        return "".join(f" {mark.sign}" for mark in self.marks if mark.column == column)


def _ratio(numerator: Result | None, denominator: Result | None, fewest: int) -> Ratio | float | None:
    """Return the ratio of two medians; without interval if a row was dropped or has too few samples.

    None for the times of two GPUs.
    """
    if numerator is None or denominator is None or not are_comparable(numerator, denominator):
        return None
    over, under = numerator.timing.samples_ms, denominator.timing.samples_ms
    if not over or not under or not denominator.median_ms:
        return None
    if min(len(over), len(under)) < fewest or "dropped" in (numerator.status, denominator.status):
        value = (numerator.median_ms or 0.0) / denominator.median_ms
        return value if math.isfinite(value) else None
    found = ratio_of_medians(over, under)
    return found if all(map(math.isfinite, (found.value, found.low, found.high))) else None


def baseline_of(results: Iterable[Result], method: str = BASELINE) -> Result | None:
    """Return the result that the speed-ups of a problem are over; None if there is none.

    It is the first timed one of the method; if there is none, the first timed one on the GPU, or on the host.
    """
    timed = [r for r in results if r.status == "ok" and r.median_ms and r.execution != "emulated"]
    ranked = sorted(timed, key=lambda r: (r.method != method, r.execution != "gpu"))
    return next(iter(ranked), None)


@dataclass(frozen=True, eq=False)
class ProblemRows:
    """The rows of one problem, in the order of the results.

    Attributes:
        baseline: the row that speed-ups are over; None if there is none.
        best: the fastest verified row that is not cuBLAS; None if there is none.
        cublas: the row of cuBLAS, if it is verified.
    """

    label: ProblemLabel
    rows: tuple[ResultRow, ...]
    baseline: ResultRow | None
    best: ResultRow | None
    cublas: ResultRow | None

    def shortened(self, most_rows: int) -> ProblemRows:
        """Return the problem with its fastest rows, and with its best row, its baseline and cuBLAS.

        Rows without a time, and emulated ones, count as the slowest, in the order of the results.
        """
        if len(self.rows) <= most_rows:
            return self

        def time(row: ResultRow) -> float:
            return row.median_ms if row.is_timed and not row.is_emulated else math.inf

        kept = [*sorted(self.rows, key=time)[:most_rows], self.best, self.baseline, self.cublas]
        places = {id(row) for row in kept}
        return dataclasses.replace(self, rows=tuple(row for row in self.rows if id(row) in places))

    @property
    def top(self) -> ResultRow | None:
        """Return the best row, or the row of cuBLAS if there is no other."""
        return self.best or self.cublas

    @property
    def unit(self) -> str:
        """Return the unit of the rates."""
        return rate_unit(self.label.dtype)

    @property
    def caches(self) -> str:
        """Return the L2 cache states of rows that ran on the GPU; empty if none did."""
        return caches_of(row.result for row in self.rows)

    @property
    def highest_rate(self) -> float:
        """Return the highest rate; 0 if nothing was timed."""
        return max((row.rate or 0.0 for row in self.rows if row.is_timed), default=0.0)

    @property
    def kernels_without_gpu(self) -> list[ResultRow]:
        """Return the rows of kernels that the CPU device executed."""
        return [row for row in self.rows if row.is_emulated]

    @property
    def timed_where_they_run(self) -> list[ResultRow]:
        """Return the rows of a GPU, and of the host's own methods."""
        return [row for row in self.rows if not row.is_emulated]

    @property
    def has_exact(self) -> bool:
        """Return whether the exact figures of a kernel without a GPU are known."""
        return any(row.result.exact is not None for row in self.rows)

    @property
    def has_times(self) -> bool:
        """Return whether a row has samples."""
        return any(row.result.timing.samples_ms for row in self.rows)

    @property
    def has_cublas(self) -> bool:
        """Return whether a row's share of cuBLAS is known."""
        return any(row.share_of_cublas is not None for row in self.rows)

    @property
    def has_ceiling(self) -> bool:
        """Return whether a row's share of the FMA ceiling is known."""
        return any(row.result.share_of_fma_ceiling is not None for row in self.rows)

    @property
    def fastest_first(self) -> list[ResultRow]:
        """Return the rows with a time, sorted by it; the finalists of several GPUs come first."""
        timed = (r for r in self.rows if r.result.median_ms is not None and r.result.status != "failed")
        return sorted(timed, key=speed_order)

    @property
    def has_several_gpus(self) -> bool:
        """Return whether several GPUs measured rows."""
        return len(gpus_of(row.result for row in self.rows)) > 1


@dataclass(frozen=True)
class Trouble:
    """A row that failed, or the rows of a method that are skipped for one reason.

    Attributes:
        rows: at least one.
        reason: why, without the variant; empty if a file gives no reason.
    """

    rows: tuple[ResultRow, ...]
    reason: str

    @property
    def status(self) -> Status:
        """Return the status that all its rows share."""
        return self.rows[0].result.status

    @property
    def can_be_checked(self) -> bool:
        """True if the CPU device ran a kernel whose result is wrong; `check` runs the same kernel there."""
        result = self.rows[0].result
        return result.execution == "emulated" and result.verdict.correct is False

    @property
    def is_of_host_code(self) -> bool:
        """True if the mistake is one of the host code, and none of a size."""
        return all(row.result.is_of_host_code for row in self.rows)

    @property
    def variants(self) -> str:
        """Return `tiled BLOCK_SIZE=16`, or `57 variants of warp-tile`."""
        names = dict.fromkeys(row.variant for row in self.rows)
        return next(iter(names)) if len(names) == 1 else f"{len(names)} variants of {self.rows[0].label}"

    @property
    def problems(self) -> list[ProblemLabel]:
        """Return the problems of its rows, each once."""
        return list(dict.fromkeys(row.problem for row in self.rows))


@dataclass(frozen=True, eq=False)
class ResultsView:
    """All results of a command or a file.

    Attributes:
        device: the name of the device that they were measured on.
        marks: what a reader has to know of them.
        troubles: what failed or was skipped, in the order of the rows.
    """

    device: str
    problems: tuple[ProblemRows, ...]
    marks: tuple[Mark, ...]
    troubles: tuple[Trouble, ...]

    @property
    def rows(self) -> list[ResultRow]:
        """Return the rows of all problems."""
        return [row for problem in self.problems for row in problem.rows]

    def shortened(self, most_rows: int = MOST_ROWS) -> ResultsView:
        """Return a view with about `most_rows` rows and troubles at most; itself if it has no more.

        Of each problem it contains the fastest rows, the best row, the baseline and cuBLAS.
        """
        if len(self.rows) <= most_rows:
            return self
        problems = self.problems[:most_rows]
        each = max(1, most_rows // len(problems))
        return dataclasses.replace(
            self,
            problems=tuple(problem.shortened(each) for problem in problems),
            troubles=self.troubles[:most_rows],
        )

    @property
    def counts(self) -> list[tuple[int, str]]:
        """Return the number of rows for each outcome, in words. Outcomes without rows are left out."""
        results = [row.result for row in self.rows]
        right = [r for r in results if r.status == "ok" and r.verdict.correct]
        counts = {
            "measured and right": sum(bool(r.timing.samples_ms) for r in right),
            "right, not timed": sum(not r.timing.samples_ms for r in right),
            "not verified": sum(r.status == "ok" for r in results) - len(right),
            "failed": sum(r.status == "failed" for r in results),
            "skipped": sum(r.status == "skipped" for r in results),
            "dropped early, clearly slower than the best": sum(r.status == "dropped" for r in results),
        }
        return [(count, words) for words, count in counts.items() if count]


def results_view(device: str, results: Iterable[Result], baseline: str = BASELINE) -> ResultsView:
    """Return the view of results, their problems in the order in which they are first seen.

    Args:
        device: the name of the device that they were measured on.
        baseline: the method that speed-ups are over, if one of its rows is timed.
    """
    groups: dict[ProblemLabel, list[Result]] = {}
    for result in results:
        label = ProblemLabel(result.m, result.n, result.k, result.dtype, result.fmad, result.inputs)
        groups.setdefault(label, []).append(result)
    problems = tuple(_problem_rows(label, group, baseline) for label, group in groups.items())
    rows = [row for problem in problems for row in problem.rows]
    marks = marks_of(row.result for row in rows)
    marks += [mark for mark in (BEST, BEST_OF_SWEEP) if any(mark in row.marks for row in rows)]
    return ResultsView(device, problems, tuple(marks), tuple(troubles(row.result for row in rows)))


def _problem_rows(label: ProblemLabel, results: Sequence[Result], baseline: str) -> ProblemRows:
    over = baseline_of(results, baseline)
    yardsticks = yardsticks_of(results)
    plain = [ResultRow(result) for result in results]
    leader = best_row(plain)
    sweeps = (list(group) for _, group in itertools.groupby(plain, key=lambda row: row.label))
    of_sweeps = {best_of_several(group) for group in sweeps}
    rows = tuple(
        ResultRow(
            row.result,
            baseline=over,
            leader=None if leader is None else leader.result,
            share_of_cublas=share_of_cublas(row.result, yardsticks),
            is_best=row is leader,
            is_marked_best=row is leader and len(best_candidates(plain)) > 1,
            is_best_of_sweep=row in of_sweeps,
        )
        for row in plain
    )
    return ProblemRows(
        label,
        rows,
        baseline=next((row for row in rows if row.result is over), None),
        best=next((row for row in rows if row.is_best), None),
        cublas=next((row for row in rows if row.result.is_yardstick and row.is_right), None),
    )


def troubles(results: Iterable[Result]) -> list[Trouble]:
    """Return what failed, by variant and cause, and what was skipped, by method and reason.

    Failed results without a known cause are one trouble if their reasons are the same, or if the products of
    the variant are wrong by one known cause at another size. Those whose cause is known come first.
    """
    concerned = [result for result in results if result.status in ("failed", "skipped")]
    causes: dict[object, set[str]] = {}
    for result in concerned:
        if _is_wrong_product(result) and not _vagueness(result):
            causes.setdefault((_variant(result), result.dtype), set()).add(_kind_of_cause(result))
    groups: dict[tuple[object, ...], list[ResultRow]] = {}
    for result in concerned:
        key: tuple[object, ...] = ("skipped", result.label, _reason(result))
        if result.status == "failed":
            kind, reason = _kind_of_cause(result), "" if result.verdict.cause else _reason(result)
            is_one_cause = len(causes.get((_variant(result), result.dtype), ())) == 1
            if _vagueness(result) and is_one_cause and _is_wrong_product(result):
                kind, reason = "", _ALSO_WRONG
            if reason.startswith(EMPTY_GRID):
                kind, reason = EMPTY_GRID, ""
            key = (_variant(result), kind, reason)
        groups.setdefault(key, []).append(ResultRow(result))
    found = [
        Trouble(tuple(rows), key[-1] if key[-1] == _ALSO_WRONG else _common_reason([r.result for r in rows]))
        for key, rows in groups.items()
    ]
    first = {_variant(result): i for i, result in reversed([*enumerate(concerned)])}
    return sorted(found, key=lambda t: (first[_variant(t.rows[0].result)], _vagueness(t.rows[0].result)))


_ALSO_WRONG = "wrong too, by the same mistake or another: mend the one that is named above, then verify again"
"""What is reported of other sizes once the cause of a wrong product is known at one."""

_NUMBER_OF_THREAD = re.compile(r"\(\d+(,\d+)+\)|\[[\d, -]+\]|\b\d[\d,]*(\.\d+)?\b")
_WRONG_PRODUCT = re.compile(
    r"\belements? (wrong|never written)\b|\bwrote (past|before)\b|\bbad memory access\b|"
    + r"\bat different barriers\b|\bleft the kernel while\b|"
    + "|".join(map(re.escape, (ORDER_SEEN, FIRST_LAUNCH_ONLY)))
)
_LINE = re.compile(r"(\.\w+:|\blines? )(\d+)")


def _is_wrong_product(result: Result) -> bool:
    return _WRONG_PRODUCT.search(_reason(result)) is not None


def _kind_of_cause(result: Result) -> str:
    """Return the cause without its threads, elements and extents, but with its lines."""
    marked = _LINE.sub(lambda line: f"{line[1]}l{line[2]}", _essence(result.verdict.cause))
    return _NUMBER_OF_THREAD.sub("#", marked)


def _essence(cause: str) -> str:
    """Return `C[col * M + row] instead of C[row * N + col]` of a cause: other words mean it at M = N.

    Of a barrier that threads miss, return why they do.
    """
    index = re.search(r": (\w+\[[^]]*\] instead of \w+\[[^]]*\])", cause)
    return index[1] if index else re.split(r"; block \([\d,]+\): threads? ", cause)[0]


def _common_reason(results: Sequence[Result]) -> str:
    """Return why results failed for one cause: what differs between them is said of the first only."""
    first = results[0]
    reason, cause = _reason(first), first.verdict.cause
    if len({_reason(result) for result in results}) == 1:
        return reason
    is_one = len({_essence(result.verdict.cause) for result in results}) == 1
    if cause and is_one and reason.startswith(cause):
        rest = reason[len(cause) :].removeprefix("; ")
        return f"{cause}; at {first.m}x{first.n}x{first.k}: {rest}" if rest else cause
    return f"at {first.m}x{first.n}x{first.k}: {reason}"


def _vagueness(result: Result) -> int:
    """Return 0 if the cause is known, 1 if only its kind is, and 2 if nothing is.

    If only later inputs show the mistake, at a padded size, its cause is less sure than that at other sizes.
    """
    if _reason(result).startswith(RIGHT_AT_FIRST):
        return 1
    return (not result.verdict.cause) * 2 or int(result.verdict.cause in (ORDER_MATTERS, ORDER_SEEN))


def _variant(result: Result) -> tuple[str, str]:
    return result.label, parameters(result.params)


def _reason(result: Result) -> str:
    """Return why a result failed or was skipped, without the variant, which is printed beside it."""
    return result.reason.removeprefix(f"{variant(result.method, result.params)} ")


def inputs_of(results: Iterable[Result]) -> str:
    """Return `normal inputs` or the like if all results have these; empty for the usual inputs."""
    kinds = {unusual_inputs(result.dtype, result.inputs) for result in results}
    return kinds.pop() if len(kinds) == 1 else ""


def caches_of(results: Iterable[Result]) -> str:
    """Return the state of the L2 cache of what ran on the GPU: `cold`, `cold and hot`, or nothing."""
    return " and ".join(sorted({r.timing.cache for r in results if r.execution == "gpu"}))
