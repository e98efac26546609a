"""The output of `occupancy`: tables of the numbers, sentences on them, and answers to the questions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from cudamm.occupancy.occupancy_result import OccupancyResult
from cudamm.output.number_format import percent
from cudamm.output.occupancy_answers import print_latency, print_steps
from cudamm.output.occupancy_names import configuration
from cudamm.output.occupancy_suggestions import print_suggestions
from cudamm.output.occupancy_tables import print_rows, print_sheet

MOST_COLUMNS = 6
"""Maximum number of configurations on a sheet."""

MOST_ROWS, SHOWN_OF_MORE = 100, 40
"""Maximum number of configurations that are all shown; number of those shown if there are more."""

MOST_TAILS = 3
TAIL_WORTH_SAYING = 0.9
"""Used share of the waves' time below which the tail is reported."""

_LEGEND = (
    "SM: multiprocessor. The scarcest resource limits the number of blocks that an SM holds. occupancy: "
    "active warps per SM / maximum warps per SM. occupancy of the device, by the formula of Sheffield's "
    "lab, for a grid that fills all SMs: active blocks on all SMs x threads per block / (maximum threads per "
    "SM x number of SMs)."
)


def _size_of_grids(results: Sequence[OccupancyResult]) -> str:
    """Return at which size the grids are counted; empty for bare numbers, and if there are several sizes."""
    sizes = {(r.m, r.n, r.k) for r in results}
    if len(sizes) > 1 or (None, None, None) in sizes:
        return ""
    size = " x ".join(map(str, sizes.pop()))
    return f" blocks in the grid, waves: at {size} (-n chooses the size, --sms the number of SMs)."


def render(console: Console, results: Sequence[OccupancyResult], sources: Sequence[str]) -> None:
    """Print the tables.

    Args:
        sources: a line for each source of the cycles that a load and an instruction take.
    """
    shown = results if len(results) <= MOST_ROWS else results[:SHOWN_OF_MORE]
    if any(result.suggestion for result in results):
        print_suggestions(console, shown)
    elif len(results) <= MOST_COLUMNS:
        print_sheet(console, results)
    else:
        print_rows(console, shown)
    if len(results) > len(shown):
        best = max(result.occupancy for result in results)
        count = sum(result.occupancy == best for result in results)
        highest = f"{count:,} of all {len(results):,} have the highest occupancy, {percent(best)}"
        console.print(
            f"… and {len(results) - len(shown):,} more. {highest if best else 'None of them can run'}. "
            "--json FILE writes all of them."
        )
    for result in shown:
        if result.reason:
            console.print(
                f"[bold red]cannot run[/] {escape(configuration(result, shown))}: {escape(result.reason)}",
                soft_wrap=True,
            )
    for line in tails(results):
        console.print(escape(line), soft_wrap=True)
    if any(result.steps is not None for result in results):
        print_steps(console, shown)
    if any(result.latency for result in results):
        print_latency(console, shown, sources)
    console.print(_LEGEND + _size_of_grids(results), style="dim")


def tails(results: Sequence[OccupancyResult]) -> list[str]:
    """Return sentences on the grids that fill the least of the device, and on the worst last waves."""
    filled = [(r.waves / math.ceil(r.waves), r.waves, r) for r in results if r.waves is not None]
    filled.sort(key=lambda each: each[0])
    sparse = [each for each in filled if each[1] < 1]
    worst = [each for each in filled if each[1] > 1 and each[0] < TAIL_WORTH_SAYING]
    return [
        *(
            f"tail: {configuration(r, results)}: the grid fills only {percent(waves)} of one wave: it has "
            f"{r.grid_blocks or 0:,} block{'s' * (r.grid_blocks != 1)}, and the device has room for "
            f"{r.active_blocks * r.multiprocessors:,}{_without_blocks(r)}"
            for _, waves, r in sparse[:MOST_TAILS]
        ),
        *_rest(sparse, "with less than one wave"),
        *(
            f"tail: {configuration(r, results)}: the grid needs {waves:.2f} waves. The last wave has only "
            f"{_in_last_wave(r)} blocks and may take as long as a full one; then {percent(share)} of the "
            "time is used"
            for share, waves, r in worst[:MOST_TAILS]
        ),
        *_rest(worst, "with such a last wave"),
    ]


def _without_blocks(result: OccupancyResult) -> str:
    """Return how many multiprocessors get no block; empty if all get one."""
    idle = result.multiprocessors - (result.grid_blocks or 0)
    return f"; {idle} of the {result.multiprocessors} multiprocessors get no block" if idle > 0 else ""


def _rest(found: Sequence[object], what: str) -> list[str]:
    """Return how many more there are than those that are named."""
    more = len(found) - MOST_TAILS
    return [f"tail: {more:,} more {what}"] if more > 0 else []


def _in_last_wave(result: OccupancyResult) -> str:
    """Return the number of blocks in the last wave: `33 of 984`."""
    at_a_time = result.active_blocks * result.multiprocessors
    return f"{((result.grid_blocks or 0) - 1) % at_a_time + 1:,} of {at_a_time:,}"
