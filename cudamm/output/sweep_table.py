"""The table of `sweep`: the variants of a problem, fastest first."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.benchmark.result import Result
from cudamm.benchmark.sample_statistics import ratio_of_medians
from cudamm.devices.device import DeviceInfo
from cudamm.output.bench_table import notes, of_a_problem, print_troubles, rate_unit
from cudamm.output.console import milliseconds, parameters, percent, significant
from cudamm.output.ratio_format import ratio


def render(console: Console, device: DeviceInfo, results: Sequence[Result], top: int | None) -> None:
    """Print a table a size and type, the best marked, then what failed and why, then notes."""
    for _, group in itertools.groupby(results, key=lambda r: (r.m, r.n, r.k, r.dtype)):
        console.print(_table(device, list(group), top))
    print_troubles(console, results)
    for note in notes(results):
        console.print(escape(note), style="dim")


def _table(device: DeviceInfo, rows: Sequence[Result], top: int | None) -> Table:
    timed = sorted((r for r in rows if r.median_ms is not None and r.status != "failed"), key=_time)
    right = (r for r in timed if r.status == "ok" and r.verdict.correct)
    best = next((r for r in right if not r.is_yardstick), None)
    table = of_a_problem(device, rows)
    for name in ("method", "parameters"):
        table.add_column(name, no_wrap=True)
    for name in ("samples", "median (ms)", "noise", rate_unit(rows[0]), "slower than the best"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    shown = timed[:top] if top else timed
    for row in shown:
        of = row.statistics
        if of is None:
            continue
        table.add_row(
            escape(row.label),
            escape(parameters(row.params)),
            str(of.count),
            milliseconds(of.median_ms),
            percent(of.noise) if of.count > 1 else "",
            significant(row.gflops or 0.0),
            _behind(row, best),
            "best" if row is best else row.status if row.status != "ok" else "",
            style="bold green" if row is best else "dim" if row.status == "dropped" else "",
        )
    failed = sum(r.status == "failed" for r in rows)
    skipped = sum(r.status == "skipped" for r in rows)
    left_out = len(timed) - len(shown)
    counts = {"slower, not shown": left_out, "failed": failed, "skipped": skipped}
    table.caption = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    table.caption_justify = "left"
    return table


def _time(row: Result) -> float:
    return row.median_ms or 0.0


def _behind(row: Result, best: Result | None) -> str:
    if best is None or row is best or not best.median_ms:
        return ""
    if min(len(row.timing.samples_ms), len(best.timing.samples_ms)) < 2 or row.status == "dropped":
        return f"{_time(row) / best.median_ms:.2f}×"
    return ratio(ratio_of_medians(row.timing.samples_ms, best.timing.samples_ms))
