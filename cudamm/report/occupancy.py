"""The table of `occupancy`: a block a method, a row a variant."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.report.console import parameters
from cudamm.results import DeviceInfo, OccupancyResult

_LEGEND = (
    "SM: multiprocessor. Occupancy: active blocks an SM x threads a block / threads an SM.\n"
    "Counting the blocks and threads of the whole device, as lab sheets do, gives the same."
)


def render(console: Console, device: DeviceInfo, results: Sequence[OccupancyResult]) -> None:
    """Print the table, then why what cannot run cannot."""
    title = f"Occupancy on {device.name} ({results[0].arch}, {device.properties['multiprocessors']} SMs)"
    table = Table(title=escape(title), title_justify="left", title_style="bold")
    table.add_column("method", no_wrap=True)
    table.add_column("parameters")
    for name in ("threads/block", "registers/thread", "shared B/block", "local B/thread",
                 "blocks/SM", "warps/SM", "occupancy"):  # fmt: skip
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("limited by")
    for method, rows in itertools.groupby(results, key=lambda r: r.method):
        for i, row in enumerate(rows):
            table.add_row(
                escape(method) if i == 0 else "",
                escape(parameters(row.params)),
                str(row.threads_per_block),
                str(row.registers_per_thread),
                str(row.shared_bytes_per_block),
                str(row.local_bytes_per_thread),
                str(row.active_blocks),
                str(row.active_warps),
                f"{row.occupancy:.0%}",
                ", ".join(row.limited_by) if not row.reason else "cannot run",
                style="red" if row.reason else "",
            )
        table.add_section()
    console.print(table)
    for row in results:
        if row.reason:
            variant = f"{row.method} {parameters(row.params)}"
            console.print(f"[bold red]cannot run[/] {escape(variant)}: {escape(row.reason)}")
    console.print(_LEGEND, style="dim")
