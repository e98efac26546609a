"""The table of `bench`: a block a method, a row a parameter value."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.benchmark.result import Result, share_of_cublas
from cudamm.benchmark.sample_statistics import ratio_of_medians
from cudamm.devices.device import DeviceInfo
from cudamm.output.console import folded, milliseconds, parameters, percent, print_fitting, significant
from cudamm.output.failed_rows import Trouble, troubles
from cudamm.output.ratio_format import ratio

EXECUTION_NOTES = {
    "emulated": (
        "† executed by the CPU device, thread by thread, to check the kernel: "
        "its times say nothing about a GPU, not even which kernel is faster"
    ),
    "native": "‡ runs natively on the host",
}
MOST_TROUBLES = 5
FEWEST_FOR_INTERVAL = 8
"""Samples, below which a bootstrap says nothing of how sure a speed-up is."""
_RUNS, _MEAN, _MEDIAN, _MIN = "runs (ms)", "mean (ms)", "median (ms)", "min (ms)"
_SAMPLES, _NOISE = "samples", "noise"
MOST_RUNS = 10
"""That are shown one by one; of more, their number and noise are."""
_SPEED_UP = "speed-up"
_OF_CUBLAS, _OF_FMA_CEILING = "of cuBLAS", "of FMA ceiling"
_ONE_LINE = "all in one line"
_LEFT_OUT_IN_NARROW_TERMINALS = (
    (),
    (_RUNS,),
    (_RUNS, _MEAN, _MIN, _SAMPLES),
    (_RUNS, _MEAN, _MIN, _SAMPLES, _ONE_LINE),
    (_RUNS, _MEAN, _MIN, _SAMPLES, _NOISE, _ONE_LINE, _SPEED_UP),
    (_RUNS, _MEAN, _MIN, _SAMPLES, _NOISE, _ONE_LINE, _SPEED_UP, _OF_FMA_CEILING),
)
_MARKS = {"gpu": "", "emulated": " †", "native": " ‡"}


def render(console: Console, device: DeviceInfo, results: Sequence[Result], verbose: bool = False) -> None:
    """Print a table a size and type, then what failed and why, then what the marks mean.

    Args:
        verbose: say of each row which share of the device's FMA ceiling it reaches, where that is known;
            where cuBLAS is among the rows that is said in any case.
    """
    for _, group in itertools.groupby(results, key=lambda r: (r.m, r.n, r.k, r.dtype)):
        rows = list(group)
        print_fitting(
            console, (_table(device, rows, left_out, verbose) for left_out in _LEFT_OUT_IN_NARROW_TERMINALS)
        )
    print_troubles(console, results)
    for note in notes(results):
        console.print(escape(note), style="dim")
    if best_of_sweeps(results):
        console.print("* the fastest of its method's sweep", style="dim")


def print_troubles(console: Console, results: Sequence[Result]) -> None:
    """Print what failed or was skipped, where and why; of a variant that fails everywhere, a few cases."""
    for (variants, status), group in itertools.groupby(
        troubles(results), key=lambda trouble: (trouble.variants, trouble.status)
    ):
        several = list(group)
        for trouble in several[:MOST_TROUBLES]:
            console.print(
                f"[bold red]{status}[/] {escape(variants)} at {_problems(trouble)}: {escape(trouble.reason)}",
                soft_wrap=True,
            )
        if len(several) > MOST_TROUBLES:
            left = len(several) - MOST_TROUBLES
            console.print(f"… and {left} more of {escape(variants)}; --json has them all")


def _problems(trouble: Trouble) -> str:
    """The first few by name."""
    names = list(dict.fromkeys(f"{row.m}x{row.n}x{row.k} {row.dtype}" for row in trouble.rows))
    left = len(names) - MOST_TROUBLES
    return ", ".join(names[:MOST_TROUBLES]) + (f" and {left} more" if left > 0 else "")


def notes(results: Sequence[Result]) -> list[str]:
    """What a reader has to know of these rows, and only of these."""
    kinds = {r.execution for r in results if r.status != "skipped"}
    found = [note for kind, note in EXECUTION_NOTES.items() if kind in kinds]
    if any(r.padded for r in results):
        found.append("padded with zeros to the multiples the kernel needs; rates count the real size")
    above = dict.fromkeys(r.method for r in results if (r.share_of_fma_ceiling or 0) > 1 and r.status == "ok")
    if above:
        names = f"more than the FMA ceiling: {', '.join(above)}"
        found.append(f"{names}; it bounds what multiplies by FMAs, and tensor cores are faster")
    return found + _timing_notes(results)


def _timing_notes(results: Sequence[Result]) -> list[str]:
    """What may be wrong with the times of these rows."""
    found = []
    throttled = [r for r in results if r.timing.throttled]
    if throttled:
        reasons = ", ".join(dict.fromkeys(reason for r in throttled for reason in r.timing.throttle_reasons))
        found.append(f"~ the GPU was slowed down while this was measured ({reasons}); pauses did not help")
    near = [r for r in results if r.is_near_floor]
    if near:
        floor_us = max(r.timing.event_floor_ms or 0.0 for r in near) * 1e3
        found.append(
            f"° so short that the {floor_us:.1f} µs which two events around an empty kernel read count; "
            "--hot times many launches together"
        )
    if any(r.timing.ended_by == "time" for r in results):
        found.append("… sampling ended with --max-time, before the noise was below --max-noise")
    dropped = sum(r.status == "dropped" for r in results)
    if dropped:
        found.append(f"{dropped} dropped early, as clearly slower than the best; --full measures all")
    return found


def best_of_sweeps(results: Sequence[Result]) -> set[int]:
    """Identities of the fastest verified result of each method that has several on one problem."""
    best: set[int] = set()
    for _, group in itertools.groupby(results, key=lambda r: (r.m, r.n, r.k, r.dtype, r.label)):
        rows = list(group)
        timed = [r for r in rows if r.status == "ok" and r.verdict.correct]
        if len(rows) > 1 and timed:
            best.add(id(min(timed, key=lambda r: r.median_ms or 0.0)))
    return best


def outcome(result: Result) -> str:
    """`Success!`, or what became of the row instead."""
    if result.status != "ok":
        return result.status.upper() if result.status != "dropped" else "dropped"
    return "Success!" if result.verdict.correct else "not verified"


def of_a_problem(device: DeviceInfo, rows: Sequence[Result]) -> Table:
    """An empty table, titled by the problem that the rows are of, and by how they were measured."""
    first = rows[0]
    fmad = "" if first.fmad else ", no fused multiply-add"
    caches = {r.timing.cache for r in rows if r.execution == "gpu"}
    cache = f", L2 {' and '.join(sorted(caches))}" if caches else ""
    title = f"{first.m} x {first.n} x {first.k} (M x N x K), {first.dtype}{fmad}, on {device.name}{cache}"
    return Table(title=escape(title), title_justify="left", title_style="bold", expand=False)


def rate_unit(row: Result) -> str:
    """Of operations a second: whole numbers are not floating-point operations."""
    return "Gop/s" if row.dtype == "int32" else "GFLOP/s"


def _shares(rows: Sequence[Result], verbose: bool) -> dict[str, dict[int, float]]:
    """What a problem's rows reach of what is possible: by column, and there by a row's identity."""
    of_cublas = {id(row): share for row in rows if (share := share_of_cublas(row, rows)) is not None}
    of_ceiling = {id(row): share for row in rows if (share := row.share_of_fma_ceiling) is not None}
    shares = {_OF_CUBLAS: of_cublas, _OF_FMA_CEILING: of_ceiling if verbose or of_cublas else {}}
    return {name: of_rows for name, of_rows in shares.items() if of_rows}


def _table(
    device: DeviceInfo, rows: Sequence[Result], left_out: Sequence[str], verbose: bool = False
) -> Table:
    first = rows[0]
    table = of_a_problem(device, rows)
    table.add_column("method", no_wrap=True)
    table.add_column("parameters", no_wrap=True)
    as_runs = all(r.timing.ended_by in ("runs", "") and len(r.timing.samples_ms) <= MOST_RUNS for r in rows)
    wanted = (_RUNS, _MEAN, _MEDIAN, _MIN) if as_runs else (_SAMPLES, _MEDIAN, _MIN, _NOISE)
    times = [name for name in wanted if name not in left_out]
    narrow = _ONE_LINE in left_out
    space = "\n" if narrow else " "
    for name in times:
        table.add_column(name.replace(" ", space), justify="right", no_wrap=name != _RUNS, max_width=60)
    table.add_column(rate_unit(first), justify="right", no_wrap=True)
    if _SPEED_UP not in left_out:
        table.add_column(_SPEED_UP, justify="right", no_wrap=True)
    shares = {name: of for name, of in _shares(rows, verbose).items() if name not in left_out}
    for name in shares:
        table.add_column(name.replace(" ", space, 1), justify="right", no_wrap=True)
    table.add_column("result", no_wrap=True)

    best = best_of_sweeps(rows)
    several = len({r.label for r in rows}) < len(rows)
    for method, group in itertools.groupby(rows, key=lambda r: r.label):
        for i, row in enumerate(group):
            of, timing = row.statistics, row.timing
            time = {
                _RUNS: " ".join(milliseconds(sample) for sample in timing.samples_ms),
                _SAMPLES: (f"{of.count}" + " …" * (timing.ended_by == "time")) if of else "",
                _MEAN: milliseconds(of.mean_ms) if of else "",
                _MEDIAN: milliseconds(of.median_ms) + _doubts(row) if of else "",
                _MIN: milliseconds(of.min_ms) if of else "",
                _NOISE: percent(of.noise) if of and of.count > 1 else "",
            }
            speed_up = _speed_up(first, row)
            result = outcome(row) + (", padded" if row.padded else "") + (" *" if id(row) in best else "")
            table.add_row(
                escape(method) + _MARKS[row.execution] * (row.status != "skipped") if i == 0 else "",
                escape("\n".join(folded(row.params)) if narrow else parameters(row.params)),
                *(time[name] for name in times),
                "" if row.gflops is None else significant(row.gflops),
                *([speed_up] if _SPEED_UP not in left_out else []),
                *(percent(of_rows[id(row)]) if id(row) in of_rows else "" for of_rows in shares.values()),
                result.replace(" ", space),
                style="red" if row.status == "failed" else "bold green" if id(row) in best else "",
            )
        if several:
            table.add_section()
    return table


def _doubts(row: Result) -> str:
    return " ~" * bool(row.timing.throttled) + " °" * row.is_near_floor


def _speed_up(first: Result, row: Result) -> str:
    """Over the first row: with the interval that the samples leave open, where there are enough of them."""
    of, to = first.timing.samples_ms, row.timing.samples_ms
    if not of or not to:
        return ""
    if row is first:
        return "1.00x"
    if min(len(of), len(to)) < FEWEST_FOR_INTERVAL or row.status == "dropped":
        return f"{(first.median_ms or 0.0) / (row.median_ms or 1.0):.2f}x"
    return ratio(ratio_of_medians(of, to))
