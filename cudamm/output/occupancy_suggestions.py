"""The best block sizes, in a table and in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.occupancy.occupancy_result import OccupancyResult
from cudamm.output.console import print_fitting
from cudamm.output.number_format import parameters, percent
from cudamm.output.occupancy_names import bare_numbers, names_of, several_architectures


def print_suggestions(console: Console, results: Sequence[OccupancyResult]) -> None:
    chosen = [(result, result.suggestion) for result in results if result.suggestion is not None]

    def table(detail: int) -> Table:
        shown = Table(
            title="The block size with the highest occupancy", title_justify="left", title_style="bold"
        )
        archs = detail > 0 or several_architectures(results)
        for name in [*["arch"] * archs, "method"]:
            shown.add_column(name, no_wrap=name == "arch" or detail > 0)
        for name in (
            "threads",
            "occu-\npancy",
            "blocks that\nfill the GPU",
            "4^floor\n(log4)",
            "block\nedge",
        ):
            if detail > 0 or "GPU" not in name:
                shown.add_column(name, justify="right", no_wrap=True)
        longest = max(len(word) for r, _ in chosen for word in _take(r, results).split())
        shown.add_column("chosen", no_wrap=detail > 0, min_width=longest)
        if detail > 1:
            shown.add_column("occu-\npancy", justify="right", no_wrap=True)
            shown.add_column("sizes tried")
        for result, found in chosen:
            shown.add_row(
                *[result.arch] * archs,
                escape(result.method or bare_numbers(result)),
                str(found.threads_per_block),
                percent(found.occupancy),
                *[f"{found.min_grid_blocks:,}"] * (detail > 0),
                str(found.rounded_threads),
                str(found.block_edge),
                escape(_take(result, results)),
                *[percent(result.occupancy), escape(found.chosen_from)][: 2 * (detail > 1)],
            )
        return shown

    print_fitting(console, (table(detail) for detail in (2, 1, 0)))
    for result, found in chosen:
        if result.occupancy < found.occupancy:
            name = f"{result.method or bare_numbers(result)} on {result.arch}"
            console.print(
                f"{escape(name)}: the chosen parameters have a lower occupancy, {percent(result.occupancy)} "
                f"instead of {percent(found.occupancy)}",
                soft_wrap=True,
            )


def _take(result: OccupancyResult, results: Sequence[OccupancyResult]) -> str:
    threads = f"{result.threads_per_block} threads"
    return names_of(result, results) or (f"the launch's {threads}" if result.method else threads)


def suggestion_line(result: OccupancyResult) -> str:
    """Return a suggestion in a sentence; empty if there is none."""
    found = result.suggestion
    if found is None:
        return ""
    return (
        f"{result.method}: {found.threads_per_block} threads per block have the highest occupancy on "
        f"{result.arch}, {percent(found.occupancy)} ({found.min_grid_blocks:,} blocks fill the GPU); "
        f"4^floor(log4 {found.threads_per_block}) = {found.rounded_threads}, a block edge of "
        f"{found.block_edge}; chosen: {parameters(result.params)}"
    )
