"""The table of `bench`: a block a method, a row a parameter value."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.report.console import milliseconds, parameters, print_fitting, significant
from cudamm.results import DeviceInfo, Result

EXECUTION_NOTES = {
    "emulated": (
        "† executed by the CPU device, thread by thread, to check the kernel: "
        "its times say nothing about a GPU, not even which kernel is faster"
    ),
    "native": "‡ runs natively on the host",
}
MOST_TROUBLES = 5
_RUNS, _MEAN, _MEDIAN, _MIN = "runs (ms)", "mean (ms)", "median (ms)", "min (ms)"
_SPEED_UP = "speed-up"
_ONE_LINE = "all in one line"
_LEFT_OUT_IN_NARROW_TERMINALS = (
    (),
    (_RUNS,),
    (_RUNS, _MEAN, _MIN),
    (_RUNS, _MEAN, _MIN, _ONE_LINE),
    (_RUNS, _MEAN, _MIN, _ONE_LINE, _SPEED_UP),
)
_MARKS = {"gpu": "", "emulated": " †", "native": " ‡"}


def render(console: Console, device: DeviceInfo, results: Sequence[Result]) -> None:
    """Print a table a size and type, then what failed and why, then what the marks mean."""
    for _, group in itertools.groupby(results, key=lambda r: (r.m, r.n, r.k, r.dtype)):
        rows = list(group)
        print_fitting(console, (_table(device, rows, left_out) for left_out in _LEFT_OUT_IN_NARROW_TERMINALS))
    print_troubles(console, results)
    for note in notes(results):
        console.print(escape(note), style="dim")
    if best_of_sweeps(results):
        console.print("* the fastest of its method's sweep", style="dim")


def print_troubles(console: Console, results: Sequence[Result]) -> None:
    """Print what failed or was skipped, where and why; of a variant that fails everywhere, a few cases."""
    for (method, params), group in itertools.groupby(
        (r for r in results if r.status != "ok"), key=lambda r: (r.method, parameters(r.params))
    ):
        troubles = list(group)
        for result in troubles[:MOST_TROUBLES]:
            shape = f"{result.m}x{result.n}x{result.k}"
            where = f"{method} {params}".strip() + f" at {shape} {result.dtype}"
            console.print(
                f"[bold red]{result.status}[/] {escape(where)}: {escape(result.reason)}", soft_wrap=True
            )
        if len(troubles) > MOST_TROUBLES:
            left = len(troubles) - MOST_TROUBLES
            console.print(f"… and {left} more of {escape(method)} {escape(params)}; --json has them all")


def notes(results: Sequence[Result]) -> list[str]:
    """What a reader has to know of these rows, and only of these."""
    found = [note for kind, note in EXECUTION_NOTES.items() if any(r.execution == kind for r in results)]
    if any(r.padded for r in results):
        found.append("padded with zeros to the multiples the kernel needs; rates count the real size")
    return found


def best_of_sweeps(results: Sequence[Result]) -> set[int]:
    """Identities of the fastest verified result of each method that has several on one problem."""
    best: set[int] = set()
    for _, group in itertools.groupby(results, key=lambda r: (r.m, r.n, r.k, r.dtype, r.method)):
        rows = list(group)
        timed = [r for r in rows if r.status == "ok" and r.verdict.correct]
        if len(rows) > 1 and timed:
            best.add(id(min(timed, key=lambda r: r.median_ms or 0.0)))
    return best


def outcome(result: Result) -> str:
    """`Success!`, or what became of the row instead."""
    if result.status != "ok":
        return result.status.upper()
    return "Success!" if result.verdict.correct else "not verified"


def _table(device: DeviceInfo, rows: Sequence[Result], left_out: Sequence[str]) -> Table:
    first = rows[0]
    fmad = "" if first.fmad else ", no fused multiply-add"
    title = f"{first.m} x {first.n} x {first.k} (M x N x K), {first.dtype}{fmad}, on {device.name}"
    table = Table(title=escape(title), title_justify="left", title_style="bold", expand=False)
    table.add_column("method", no_wrap=True)
    table.add_column("parameters", no_wrap=True)
    times = [name for name in (_RUNS, _MEAN, _MEDIAN, _MIN) if name not in left_out]
    space = "\n" if _ONE_LINE in left_out else " "
    for name in times:
        table.add_column(name.replace(" ", space), justify="right", no_wrap=name != _RUNS, max_width=60)
    table.add_column("Gop/s" if first.dtype == "int32" else "GFLOP/s", justify="right", no_wrap=True)
    if _SPEED_UP not in left_out:
        table.add_column(_SPEED_UP, justify="right", no_wrap=True)
    table.add_column("result", no_wrap=True)

    best = best_of_sweeps(rows)
    several = len({r.method for r in rows}) < len(rows)
    for method, group in itertools.groupby(rows, key=lambda r: r.method):
        for i, row in enumerate(group):
            time = {
                _RUNS: " ".join(milliseconds(run) for run in row.runs_ms),
                _MEAN: milliseconds(row.mean_ms),
                _MEDIAN: milliseconds(row.median_ms),
                _MIN: milliseconds(row.min_ms),
            }
            speed_up = f"{first.median_ms / row.median_ms:.2f}x" if first.median_ms and row.median_ms else ""
            result = outcome(row) + (", padded" if row.padded else "") + (" *" if id(row) in best else "")
            table.add_row(
                escape(method) + _MARKS[row.execution] if i == 0 else "",
                escape(parameters(row.params).replace(" ", space)),
                *(time[name] for name in times),
                "" if row.gflops is None else significant(row.gflops),
                *([speed_up] if _SPEED_UP not in left_out else []),
                result.replace(" ", space),
                style="red" if row.status == "failed" else "bold green" if id(row) in best else "",
            )
        if several:
            table.add_section()
    return table
