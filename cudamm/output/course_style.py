"""`bench --style report`: a block a configuration, run by run, as a course report prints it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from cudamm.benchmark.result import Result
from cudamm.devices.device import DeviceInfo
from cudamm.output.bench_table import best_of_sweeps, notes, outcome
from cudamm.output.console import parameters


def render(console: Console, device: DeviceInfo, results: Sequence[Result]) -> None:
    """Print each configuration's runs and mean, whether it was right, and what each sweep shows."""
    for (m, n, k, dtype), group in itertools.groupby(results, key=lambda r: (r.m, r.n, r.k, r.dtype)):
        console.print(f"{m} x {n} x {k} (M x N x K), {dtype}, on {escape(device.name)}", style="bold")
        console.print()
        for _, rows in itertools.groupby(group, key=lambda r: r.label):
            _print_method(console, list(rows))
    for note in notes(results):
        console.print(escape(note), style="dim")


def _print_method(console: Console, rows: Sequence[Result]) -> None:
    for row in rows:
        title = " ".join((row.label, parameters(row.params).replace("=", " = "))).strip()
        console.print(escape(title) + (" (padded)" if row.padded else ""))
        if row.statistics is not None:
            runs = " + ".join(f"{run:.6f}" for run in row.timing.samples_ms)
            count, mean_ms = row.statistics.count, row.statistics.mean_ms
            console.print(f"(ms) ({runs}) / {count} = {mean_ms:.6f}", soft_wrap=True)
        console.print(escape(": ".join(filter(None, (outcome(row), row.reason)))), soft_wrap=True)
        console.print()
    marked = best_of_sweeps(rows)
    best = next((row for row in rows if id(row) in marked), None)
    timed = [row for row in rows if row.median_ms and row.status == "ok"]
    if best is not None and best.median_ms and len(timed) > 1:
        worst = max(timed, key=lambda row: row.median_ms or 0.0)
        console.print(
            f"Best of {len(timed)}: {escape(parameters(best.params))}, {best.median_ms:.6f} ms, "
            f"{(worst.median_ms or 0) / best.median_ms:.1f} times as fast as "
            f"{escape(parameters(worst.params))}.",
            soft_wrap=True,
        )
        console.print()
