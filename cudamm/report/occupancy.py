"""What `occupancy` prints: a sheet for a few configurations, a row each for many, and answers on them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.report.console import fits, frameless, parameters, percent, print_fitting
from cudamm.results import DeviceInfo, OccupancyResult, Step

UNUSED = 2**31 - 1
"""The limit of a resource that is not used."""

MOST_COLUMNS = 6
"""Configurations that a sheet has room for."""

MOST_ROWS, SHOWN_OF_MORE = 100, 40
"""Configurations that are all shown, and of how many more the first are."""

MOST_TAILS = 3
TAIL_WORTH_SAYING = 0.9
"""Share of the last waves' time that is used; where it is less, the tail is pointed out."""

_LEGEND = (
    "SM: multiprocessor; it holds as many blocks as the scarcest resource allows. Occupancy: active warps / "
    "warps an SM has room for. The lab's: active blocks of all SMs x threads a block / (threads an SM x SMs)."
)

Cell = Callable[[OccupancyResult], str]


def render(
    console: Console, device: DeviceInfo, results: Sequence[OccupancyResult], sources: Sequence[str]
) -> None:
    """Print the tables.

    Args:
        sources: of the cycles that a load and an instruction take, a line each.
    """
    shown = results if len(results) <= MOST_ROWS else results[:SHOWN_OF_MORE]
    if any(result.suggestion for result in results):
        _print_suggestions(console, shown)
    elif len(results) <= MOST_COLUMNS:
        _print_sheet(console, results)
    else:
        _print_rows(console, shown)
    if len(results) > len(shown):
        best = max(result.occupancy for result in results)
        count = sum(result.occupancy == best for result in results)
        highest = f"{count:,} of all {len(results):,} have the highest occupancy, {percent(best)}"
        console.print(
            f"… and {len(results) - len(shown):,} more; {highest if best else 'none of them can run'}; "
            "--json FILE writes them all"
        )
    for result in shown:
        if result.reason:
            console.print(
                f"[bold red]cannot run[/] {escape(configuration(result, results))}: {escape(result.reason)}",
                soft_wrap=True,
            )
    for line in tails(results):
        console.print(escape(line), soft_wrap=True)
    if any(result.steps is not None for result in results):
        _print_steps(console, shown)
    if any(result.latency for result in results):
        _print_latency(console, shown, sources)
    console.print(_LEGEND, style="dim")


def configuration(result: OccupancyResult, among: Sequence[OccupancyResult] = ()) -> str:
    """What a configuration is called: `tiled BLOCK_SIZE=16 on sm_90`, or its numbers.

    Args:
        among: results that it has to be told apart from, by size and type if need be.
    """
    if result.method is not None:
        return f"{result.method} {_names(result, among)}".strip() + f" on {result.arch}"
    return (
        f"{result.threads_per_block} threads, {result.registers_per_thread} registers, "
        f"{result.shared_bytes_per_block:,} bytes on {result.arch}"
    )


def tails(results: Sequence[OccupancyResult]) -> list[str]:
    """What the last wave costs where it is mostly empty, the worst cases only."""
    costs = [
        (result.waves / math.ceil(result.waves), result)
        for result in results
        if result.waves is not None and result.waves > 1
    ]
    worst = sorted((c for c in costs if c[0] < TAIL_WORTH_SAYING), key=lambda c: c[0])
    return [
        f"tail: {configuration(r, results)}: {r.waves:.2f} waves; the last has {_in_last_wave(r)} blocks and "
        f"costs nearly a whole one, so {percent(share)} of the time is used"
        for share, r in worst[:MOST_TAILS]
    ]


def _in_last_wave(result: OccupancyResult) -> str:
    """`33 of 984`."""
    at_a_time = result.active_blocks * result.multiprocessors
    return f"{((result.grid_blocks or 0) - 1) % at_a_time + 1:,} of {at_a_time:,}"


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
    ("threads a block", "threads", _number("threads_per_block"), 0),
    ("registers a thread", "regs", _known("registers_per_thread"), 0),
    ("registers a block, as allocated", "regs\nblock", _known("allocated_registers_per_block"), 2),
    ("shared memory a block (bytes)", "shared\nbytes", _known("shared_bytes_per_block"), 1),
    ("  of it static", "\nstatic", _resource("static_shared_bytes"), 2),
    ("  of it dynamic", "\ndynamic", _number("dynamic_shared_bytes"), 2),
    ("  reserved by the driver beside it", "\nreserved", _number("reserved_shared_bytes_per_block"), 3),
    ("  as allocated", "\nallocated", _known("allocated_shared_bytes_per_block"), 2),
    ("local memory a thread (bytes)", "local\nbytes", _resource("local_bytes_per_thread"), 1),
    ("  spills: stores / loads", "spills\nst / ld", _spills, 2),
    ("constant memory (bytes)", "const\nbytes", _resource("constant_bytes"), 3),
    ("barriers a block", "bars", _known("barriers"), 3),
    ("blocks an SM by warps", "blocks by\nwarps", _limit("warps"), 1),
    ("  by blocks", "\nblocks", _limit("blocks"), 1),
    ("  by registers", "\nregs", _limit("registers"), 1),
    ("  by shared memory", "\nshared", _limit("shared"), 1),
    ("  by barriers", "\nbars", _limit("barriers"), 2),
    ("active blocks an SM", "active\nblocks", _number("active_blocks"), 0),
    ("active warps", "\nwarps", _number("active_warps"), 0),
    ("active threads", "\nthreads", _number("active_threads"), 1),
    ("occupancy", "occu-\npancy", lambda r: f"{percent(r.occupancy)}", 0),
    ("  of the device, the lab's formula", "lab's", lambda r: f"{percent(r.device_occupancy)}", 1),
    ("limited by", "limited by", _limited_by, 0),
    ("blocks of the launch", "grid\nblocks", _number("grid_blocks"), 2),
    ("waves", "waves", _waves, 1),
)


def _names(result: OccupancyResult, results: Sequence[OccupancyResult]) -> str:
    """A kernel's parameters, with its size and element type where the results have several."""
    names = [parameters(result.params)] if result.params else []
    if len({(r.m, r.n, r.k) for r in results}) > 1 and result.method is not None:
        names.append(f"{result.m}x{result.n}x{result.k}")
    if len({r.dtype for r in results}) > 1 and result.dtype is not None:
        names.append(result.dtype)
    return " ".join(names)


def _title(results: Sequence[OccupancyResult]) -> str:
    found = dict.fromkeys(f"{r.arch} ({r.gpu}, {r.multiprocessors} SMs)" for r in results)
    shown = list(found)[:3]
    return f"Occupancy on {', '.join(shown)}{', …' if len(found) > 3 else ''}"


def _several(results: Sequence[OccupancyResult]) -> bool:
    return len({result.arch for result in results}) > 1


def _print_sheet(console: Console, results: Sequence[OccupancyResult]) -> None:
    """A quantity a row, a configuration a column; side by side as many as there is room for."""
    for count in range(len(results), 0, -1):
        if count == 1 or fits(console, _sheet(results[:count], results)):
            for first in range(0, len(results), count):
                console.print(_sheet(results[first : first + count], results))
            return


def _sheet(columns: Sequence[OccupancyResult], results: Sequence[OccupancyResult]) -> Table:
    """A sheet of some of the results, its rows those that apply to any of them."""
    sheet = Table(title=escape(_title(results)), title_justify="left", title_style="bold")
    sheet.add_column("", no_wrap=True)
    for result in columns:
        lines = [result.arch] if _several(results) else []
        lines += [result.method or "bare numbers", *_names(result, results).split()]
        sheet.add_column(
            escape("\n".join(lines)), justify="right", no_wrap=True, style="red" if result.reason else ""
        )
    for label, _, cell, _ in _QUANTITIES:
        if any(cell(result) for result in results):
            sheet.add_row(label, *(escape(cell(r)).replace(", ", ",\n") for r in columns))
    return sheet


def _print_rows(console: Console, results: Sequence[OccupancyResult]) -> None:
    """A configuration a row."""
    kernels = any(result.method is not None for result in results)

    def table(detail: int) -> Table:
        one_name = detail < 0  # method and parameters in one column, one below the other
        rows = Table(title=escape(_title(results)), title_justify="left", title_style="bold")
        if _several(results):
            rows.add_column("arch", no_wrap=True)
        if kernels:
            longest = max(len(word) for r in results for word in f"{r.method} {_names(r, results)}".split())
            rows.add_column("method", no_wrap=not one_name, min_width=longest if one_name else None)
        if kernels and not one_name:
            longest = max((len(word) for r in results for word in _names(r, results).split()), default=0)
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
        for (_, method), group in itertools.groupby(results, key=lambda r: (r.arch, r.method)):
            for i, result in enumerate(group):
                names = [result.arch] if _several(results) else []
                if kernels and one_name:
                    names.append(f"{method} {_names(result, results)}")
                elif kernels:
                    names += [(method or "") if i == 0 else "", _names(result, results)]
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
"""Columns that tell bare numbers apart, at any width."""

_FEWEST = ("threads", "active\nblocks", "occu-\npancy", "limited by")
"""Columns of the narrowest table."""


def _print_suggestions(console: Console, results: Sequence[OccupancyResult]) -> None:
    chosen = [(result, result.suggestion) for result in results if result.suggestion is not None]

    def table(detail: int) -> Table:
        shown = Table(title="The block size of highest occupancy", title_justify="left", title_style="bold")
        archs = detail > 0 or _several(results)
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
        shown.add_column("take", no_wrap=detail > 0, min_width=longest)
        if detail > 1:
            shown.add_column("occu-\npancy", justify="right", no_wrap=True)
            shown.add_column("chosen from")
        for result, found in chosen:
            shown.add_row(
                *[result.arch] * archs,
                escape(result.method or _bare(result)),
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
            name = f"{result.method or _bare(result)} on {result.arch}"
            console.print(
                f"{escape(name)}: what is taken costs occupancy: {percent(result.occupancy)} in place of "
                f"{percent(found.occupancy)}",
                soft_wrap=True,
            )


def _take(result: OccupancyResult, results: Sequence[OccupancyResult]) -> str:
    return _names(result, results) or f"{result.threads_per_block} threads"


def _bare(result: OccupancyResult) -> str:
    return f"{result.registers_per_thread} registers, {result.shared_bytes_per_block:,} bytes"


def suggestion_line(result: OccupancyResult) -> str:
    """A suggestion in a sentence."""
    found = result.suggestion
    if found is None:
        return ""
    return (
        f"{result.method}: {found.threads_per_block} threads a block have the highest occupancy on "
        f"{result.arch}, {percent(found.occupancy)} ({found.min_grid_blocks:,} blocks fill the GPU); "
        f"4^floor(log4 {found.threads_per_block}) = {found.rounded_threads}, a block edge of "
        f"{found.block_edge}; taken: {parameters(result.params)}"
    )


def _print_steps(console: Console, results: Sequence[OccupancyResult]) -> None:
    console.print("\nThe next step up", style="bold")
    for result in results:
        for line in step_lines(result):
            console.print(escape(f"{configuration(result, results)}: {line}"), soft_wrap=True)


def step_lines(result: OccupancyResult) -> list[str]:
    """What leads to the next step up, a sentence each; one that says so where nothing does."""
    if result.steps:
        return [_step(result, step) for step in result.steps]
    if result.occupancy == 1:
        return [f"full: {result.active_warps} warps are all an SM has room for"]
    return ["no single change of registers, shared memory or block size gives more"]


def _step(result: OccupancyResult, step: Step) -> str:
    gain = f"{percent(step.occupancy)} occupancy (now {percent(result.occupancy)})"
    if step.threads_per_block is not None:
        return (
            f"blocks of {step.threads_per_block} threads (now {result.threads_per_block}) would give {gain}"
        )
    changes: list[str] = []
    if step.registers_per_thread is not None:
        now = result.registers_per_thread
        changes.append(f"at {step.registers_per_thread} registers a thread (now {now})")
    if step.shared_bytes_per_block is not None:
        left = step.shared_bytes_per_block
        less = result.shared_bytes_per_block - left
        changes.append(f"with {less:,} byte{'s' * (less > 1)} less shared memory ({left:,} a block)")
    blocks = (
        f"{step.active_blocks} block{'s' * (step.active_blocks > 1)} fit{'s' * (step.active_blocks == 1)}"
    )
    return f"{' and '.join(changes)} {blocks} (now {result.active_blocks}): {gain}"


def _print_latency(console: Console, results: Sequence[OccupancyResult], sources: Sequence[str]) -> None:
    table = Table(title="Is a load from global memory hidden?", title_justify="left", title_style="bold")
    table.add_column("configuration", min_width=14)
    for name in ("inde-\npendent", "x\ncycles", "x\nwarps", "=\ncycles", "", "load", "covered"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("warps\nneeded", "or inde-\npendent"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        for i, row in enumerate(result.latency or ()):
            table.add_row(
                escape(configuration(result, results)) if i == 0 else "",
                str(row.independent),
                _decimal(row.instruction_cycles),
                str(result.active_warps),
                _decimal(row.hidden_cycles),
                "≥" if row.covered else "<",
                _decimal(row.load_cycles),
                "yes" if row.covered else "no",
                f"{row.warps_needed:,}",
                "" if row.independent_needed is None else f"{row.independent_needed:,}",
            )
        table.add_section()
    print_fitting(console, [table])
    for line in sources:
        console.print(escape(line), style="dim", soft_wrap=True)


def _decimal(value: float) -> str:
    """At most four decimals: 0.1667, 384."""
    return f"{value:,.4f}".rstrip("0").rstrip(".")
