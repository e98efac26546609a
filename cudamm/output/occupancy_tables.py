"""The numbers of configurations: a sheet for a few, a row each for many."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.occupancy.occupancy_result import OccupancyResult
from cudamm.output.console import fits, frameless, print_fitting
from cudamm.output.number_format import percent
from cudamm.output.occupancy_names import architecture_name, names_of, several_architectures

UNUSED = 2**31 - 1
"""The limit of a resource that is not used."""

Cell = Callable[[OccupancyResult], str]


def _limit(name: str) -> Cell:
    return lambda r: "" if not r.is_known else "-" if r.limits[name] == UNUSED else f"{r.limits[name]:,}"


def _resource(name: str) -> Cell:
    return lambda r: "" if r.resources is None else f"{getattr(r.resources, name):,}"


def _known(name: str) -> Cell:
    return lambda r: f"{getattr(r, name):,}" if r.is_known else ""


def _number(name: str) -> Cell:
    def cell(result: OccupancyResult) -> str:
        value = getattr(result, name)
        return "" if value is None else f"{value:,}"

    return cell


def _of_launch(name: str) -> Cell:
    """Return a cell that is empty if there is no launch."""
    return lambda r: f"{getattr(r, name):,}" if getattr(r, name) else ""


def _spills(result: OccupancyResult) -> str:
    used = result.resources
    return "" if used is None else f"{used.spill_store_bytes:,} / {used.spill_load_bytes:,}"


def _limited_by(result: OccupancyResult) -> str:
    return "cannot run" if result.reason else ", ".join(result.limited_by)


def _waves(result: OccupancyResult) -> str:
    return "" if result.waves is None else f"{result.waves:.2f}"


# Each quantity: what a sheet calls it, what a row's column is called, the cell, and from which width of a
# table on it is shown (0 always). An empty cell throughout leaves the quantity out.
_QUANTITIES: tuple[tuple[str, str, Cell, int], ...] = (
    ("threads per block", "threads", _of_launch("threads_per_block"), 0),
    ("registers per thread", "regs", _known("registers_per_thread"), 0),
    ("registers allocated per block", "regs\nblock", _known("allocated_registers_per_block"), 2),
    ("shared memory per block (bytes)", "shared\nbytes", _known("shared_bytes_per_block"), 1),
    ("  static", "\nstatic", _resource("static_shared_bytes"), 2),
    ("  dynamic", "\ndynamic", _number("dynamic_shared_bytes"), 2),
    ("  reserved by the driver", "\nreserved", _number("reserved_shared_bytes_per_block"), 3),
    ("  allocated in total", "\nallocated", _known("allocated_shared_bytes_per_block"), 2),
    ("local memory per thread (bytes)", "local\nbytes", _resource("local_bytes_per_thread"), 1),
    ("  spills: stores / loads", "spills\nst / ld", _spills, 2),
    ("constant memory (bytes)", "const\nbytes", _resource("constant_bytes"), 3),
    ("barriers per block", "bars", _known("barriers"), 3),
    ("blocks per SM allowed by warps", "blocks by\nwarps", _limit("warps"), 1),
    ("  by the limit of blocks", "\nblocks", _limit("blocks"), 1),
    ("  by registers", "\nregs", _limit("registers"), 1),
    ("  by shared memory", "\nshared", _limit("shared"), 1),
    ("  by barriers", "\nbars", _limit("barriers"), 2),
    ("active blocks per SM", "active\nblocks", _number("active_blocks"), 0),
    ("active warps per SM", "\nwarps", _number("active_warps"), 0),
    ("active threads per SM", "\nthreads", _number("active_threads"), 1),
    ("occupancy", "occu-\npancy", lambda r: f"{percent(r.occupancy)}", 0),
    ("occupancy of the device", "of the\ndevice", lambda r: f"{percent(r.device_occupancy)}", 1),
    ("limited by", "limited by", _limited_by, 0),
    ("blocks in the grid", "grid\nblocks", _of_launch("grid_blocks"), 2),
    ("waves", "waves", _waves, 1),
)


def _title(results: Sequence[OccupancyResult]) -> str:
    found = dict.fromkeys(f"{r.arch} ({r.gpu}, {r.multiprocessors} SMs)" for r in results)
    shown = list(found)[:3]
    types = {r.dtype for r in results if r.method is not None}
    # If there are several types, each row names its own.
    of_type = f", {types.pop()}" if len(types) == 1 else ""
    return f"Occupancy on {', '.join(shown)}{', …' if len(found) > 3 else ''}{of_type}"


def print_sheet(console: Console, results: Sequence[OccupancyResult]) -> None:
    """Print a row per quantity and a column per configuration, as many columns side by side as fit."""
    for count in range(len(results), 0, -1):
        if count == 1 or fits(console, _sheet(results[:count], results)):
            for first in range(0, len(results), count):
                console.print(_sheet(results[first : first + count], results))
            return


def _sheet(columns: Sequence[OccupancyResult], results: Sequence[OccupancyResult]) -> Table:
    """Return a sheet of some of the results, with the rows that apply to any of them."""
    sheet = Table(title=escape(_title(results)), title_justify="left", title_style="bold")
    sheet.add_column("", no_wrap=True)
    for result in columns:
        lines = [architecture_name(result, results)] if several_architectures(results) else []
        lines += [result.method or "bare numbers", *names_of(result, results).split()]
        sheet.add_column(
            escape("\n".join(lines)), justify="right", no_wrap=True, style="red" if result.reason else ""
        )
    for label, _, cell, _ in _QUANTITIES:
        if any(cell(result) for result in results):
            sheet.add_row(label, *(escape(cell(r)).replace(", ", ",\n") for r in columns))
    return sheet


def print_rows(console: Console, results: Sequence[OccupancyResult]) -> None:
    """Print a row per configuration."""
    kernels = any(result.method is not None for result in results)

    def table(detail: int) -> Table:
        one_name = detail < 0  # method and parameters in one column, one below the other
        rows = Table(title=escape(_title(results)), title_justify="left", title_style="bold")
        if several_architectures(results):
            rows.add_column("arch", no_wrap=True)
        if kernels:
            longest = max(len(word) for r in results for word in f"{r.method} {names_of(r, results)}".split())
            rows.add_column("method", no_wrap=not one_name, min_width=longest if one_name else None)
        if kernels and not one_name:
            longest = max((len(word) for r in results for word in names_of(r, results).split()), default=0)
            rows.add_column("parameters", no_wrap=detail > 0, min_width=longest)
        shown = [
            (short, cell)
            for _, short, cell, least in _QUANTITIES
            if (least <= detail or (not kernels and short in _GIVEN) or (one_name and short in _FEWEST))
            and any(cell(result) for result in results)
        ]
        for short, _ in shown:
            rows.add_column(
                short,
                justify="left" if short == "limited by" else "right",
                no_wrap=short != "limited by",
                min_width=len("registers,") if short == "limited by" else None,
            )
        for (_, _, method), group in itertools.groupby(results, key=lambda r: (r.arch, r.gpu, r.method)):
            for i, result in enumerate(group):
                names = [architecture_name(result, results)] if several_architectures(results) else []
                if kernels and one_name:
                    names.append(f"{method} {names_of(result, results)}")
                elif kernels:
                    names += [(method or "") if i == 0 else "", names_of(result, results)]
                rows.add_row(
                    *map(escape, names),
                    *(escape(cell(result)) for _, cell in shown),
                    style="red" if result.reason else "",
                )
            if kernels:
                rows.add_section()
        return rows

    narrowest = 0 if fits(console, frameless(table(0)), folded=True) else -1
    print_fitting(console, (table(detail) for detail in (3, 2, 1, narrowest)))


_GIVEN = ("threads", "regs", "shared\nbytes")
"""Columns that distinguish bare numbers, shown at any width."""

_FEWEST = ("threads", "active\nblocks", "occu-\npancy", "limited by")
"""Columns of the narrowest table."""
