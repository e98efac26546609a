"""The tables of `profile`: a row per counter, a column per variant; then sentences on their meaning."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.analysis.profile import METRICS, OF_PIPES
from cudamm.output.console import fits
from cudamm.output.failed_rows import print_failed
from cudamm.output.number_format import folded, significant, variant

if TYPE_CHECKING:
    from cudamm.analysis.profile import Metric, ProfileResult
    from cudamm.devices.device import DeviceInfo

_LEGEND = (
    "ncu sets the clocks to their base frequency, empties the caches before each pass, and launches a kernel "
    "once for each set of counters. Durations therefore differ from the times of bench."
)

LEAST_TENSOR_PERCENT = 1.0
"""Share of the cycles from which tensor cores count as busy; kernels without them show 0.01% on an H200."""

_PADDED = (
    "the matrices are padded with zeros to the multiples that the kernel needs; the counters include the "
    "padding"
)


def render(console: Console, device: DeviceInfo, results: Sequence[ProfileResult]) -> None:
    """Print the tables of each size and type, what failed and why, the sentences, and a legend."""
    for _, group in itertools.groupby(results, key=lambda r: (r.m, r.n, r.k, r.dtype)):
        _print_sheet(console, device, [result for result in group if result.status == "ok"])
    for result in results:
        if result.status != "ok":
            print_failed(console, result.status, _where(result), result.reason)
    sizes = len({(r.m, r.n, r.k, r.dtype) for r in results})
    for result in results:
        for finding in result.findings:
            name = _where(result) if sizes > 1 else variant(result.method, result.params)
            console.print(escape(f"{name}: {finding}"), soft_wrap=True)
    profiled = [result for result in results if result.status == "ok"]
    if any(result.padded for result in profiled):
        console.print(_PADDED, style="dim")
    if profiled:
        console.print(_LEGEND, style="dim")


def _where(result: ProfileResult) -> str:
    return f"{variant(result.method, result.params)} at {result.m}x{result.n}x{result.k} {result.dtype}"


def _print_sheet(console: Console, device: DeviceInfo, results: Sequence[ProfileResult]) -> None:
    """Print as many variants side by side as fit."""
    if not results:
        return
    of = results[0]
    title = f"{of.m} x {of.n} x {of.k} (M x N x K), {of.dtype}, on {device.name}, by Nsight Compute"
    console.print(f"[bold]{escape(title)}[/]", soft_wrap=True)  # a sheet may be narrower
    count = len(results)
    while count > 1 and not fits(console, _sheet(results[:count], results)):
        count -= 1
    for first in range(0, len(results), count):
        console.print(_sheet(results[first : first + count], results))


def _sheet(columns: Sequence[ProfileResult], results: Sequence[ProfileResult]) -> Table:
    """Return a table of some of the results, with the counters that ncu measured for any of them."""
    table = Table()
    table.add_column("", no_wrap=True)
    for result in columns:
        lines = [result.method, *folded(result.params).splitlines()]
        table.add_column(escape("\n".join(lines)), justify="right", no_wrap=True)
    busy = any(result.values.get("tensor_pipe_percent", 0) >= LEAST_TENSOR_PERCENT for result in results)
    for metric in METRICS:
        if metric.name in OF_PIPES and not busy:
            continue
        if any(metric.name in result.values for result in results):
            table.add_row(metric.label, *(_cell(metric, result) for result in columns))
    table.add_row("bound by", *(result.bound or "" for result in columns))
    return table


def _cell(metric: Metric, result: ProfileResult) -> str:
    value = result.values.get(metric.name)
    if value is None:
        return ""
    if metric.name.endswith("_percent"):
        return f"{value:.1f}"
    if metric.name.endswith("_bytes"):
        return significant(value / 1e6)
    if metric.name in _COUNTS:
        return f"{value:,.0f}"
    return significant(value)


_COUNTS = tuple(
    metric.name for metric in METRICS if metric.name.endswith(("_conflicts", "_wavefronts", "_instructions"))
)
