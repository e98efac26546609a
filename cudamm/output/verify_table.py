"""The table of `verify`: a row a variant and type, a column a shape."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.benchmark.result import Result
from cudamm.devices.device import DeviceInfo
from cudamm.output.failed_rows import print_troubles
from cudamm.output.number_format import parameters
from cudamm.output.results_view import troubles

_LEGEND = (
    "= right to the bit   ~ every element within its error bound   ✗ wrong or failed   - skipped\n"
    "closest: the largest share of its bound that an element's error takes"
)


def render(console: Console, device: DeviceInfo, results: Sequence[Result]) -> None:
    """Print the table, then every failure with its place, then the count."""
    shapes = list(dict.fromkeys((r.m, r.n, r.k) for r in results))
    fmad = "" if results[0].fmad else ", no fused multiply-add"
    table = Table(title=f"Verified on {escape(device.name)}{fmad}", title_justify="left", title_style="bold")
    table.add_column("method", no_wrap=True)
    table.add_column("parameters")
    table.add_column("type", no_wrap=True)
    for m, n, k in shapes:
        table.add_column(f"{m}x{n}x{k}", justify="center")
    table.add_column("closest", justify="right", no_wrap=True)

    def key(result: Result) -> tuple[str, str]:
        return result.label, parameters(result.params)

    # By variant, whatever order they were run in; variants in the order they first came up.
    order = {name: i for i, name in enumerate(dict.fromkeys(key(r) for r in results))}
    types = {name: i for i, name in enumerate(dict.fromkeys(r.dtype for r in results))}
    ordered = sorted(results, key=lambda r: (order[key(r)], types[r.dtype]))
    for (method, params), rows in itertools.groupby(ordered, key=key):
        for i, (dtype, cells) in enumerate(itertools.groupby(rows, key=lambda r: r.dtype)):
            found = {(r.m, r.n, r.k): r for r in cells}
            marks = [_mark(found[shape]) if shape in found else "" for shape in shapes]
            names = (escape(method), escape(params)) if i == 0 else ("", "")
            table.add_row(*names, dtype, *marks, _closest(list(found.values())))
        table.add_section()
    console.print(table)
    print_troubles(console, troubles(ordered))
    right = sum(r.status == "ok" for r in results)
    console.print(_LEGEND, style="dim")
    console.print(f"{right} of {len(results)} right. {'Success!' if right == len(results) else ''}".strip())


def _mark(result: Result) -> str:
    if result.status == "skipped":
        return "-"
    if result.status == "failed":
        return "[bold red]✗[/]"
    return "=" if result.verdict.bit_equal else "~"


def _closest(results: Sequence[Result]) -> str:
    """The largest error as a share of its bound."""
    shares = [
        verdict.max_error / verdict.error_bound
        for verdict in (r.verdict for r in results if r.status == "ok")
        if verdict.max_error is not None and verdict.error_bound
    ]
    return f"{max(shares):.1%}" if shares else ""
