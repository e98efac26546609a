"""The table of kernels that ran without a GPU: their exact figures, and no rate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.benchmark.result import ExactFigures
from cudamm.output.console import print_fitting
from cudamm.output.number_format import percent, significant
from cudamm.output.results_view import ProblemLabel, ResultRow
from cudamm.output.variant_table import Column, Parameters, problem_title, variant_table


def _exact(cell: Callable[[ExactFigures], str]) -> Callable[[ResultRow], str]:
    """Return the cell of a figure: `-` if it is not known, nothing if the kernel is not right."""
    return lambda row: "" if row.result.exact is None else cell(row.result.exact) or "-"


def _whole(number: int | None) -> str:
    return "" if number is None else str(number)


_SECTOR_EFFICIENCY = Column(
    "efficiency", "effi-\nciency", _exact(lambda e: percent(e.share_of_ideal_sectors))
)
_WAVEFRONT_EFFICIENCY = Column(
    "efficiency", "effi-\nciency", _exact(lambda e: percent(e.share_of_ideal_wavefronts))
)
_SHARED = Column("shared bytes", "shared\nbytes", _exact(lambda e: _whole(e.shared_bytes_per_block)))
FIGURES = (
    Column("sectors", "sectors", _exact(lambda e: significant(e.sectors_per_1000_multiply_adds))),
    _SECTOR_EFFICIENCY,
    Column("wavefronts", "wave-\nfronts", _exact(lambda e: significant(e.wavefronts_per_1000_multiply_adds))),
    _WAVEFRONT_EFFICIENCY,
    Column(
        "memory instructions",
        "memory\ninstr.",
        _exact(lambda e: significant(e.memory_instructions_per_1000_multiply_adds)),
    ),
    Column("registers", "regs", _exact(lambda e: _whole(e.registers_per_thread))),
    _SHARED,
    Column("occupancy", "occu-\npancy", _exact(lambda e: percent(e.occupancy))),
)
_MEDIAN = Column("median (ms)", "median\n(ms)", lambda row: significant(row.result.median_ms))
_NOISE = Column("noise", "noise", lambda row: percent(row.noise))
_RESULT = Column("result", "", lambda row: row.outcome + row.signs("result"), is_left=True)

PER_1000 = "accesses per 1000 multiply-adds: fewer is better"

_LAYOUTS: tuple[tuple[Parameters, bool, tuple[Column, ...]], ...] = (
    ("all", False, ()),
    ("all", True, ()),
    ("those that vary", True, ()),
    ("one a line", True, (_NOISE,)),
    ("one a line", True, (_NOISE, _SHARED)),
    ("one a line", True, (_NOISE, _SHARED, _WAVEFRONT_EFFICIENCY)),
    ("one a line", True, (_NOISE, _SHARED, _WAVEFRONT_EFFICIENCY, _SECTOR_EFFICIENCY)),
)
"""Layouts from widest to narrowest: parameters, whether headings are short, columns that are left out."""


def print_kernels(console: Console, label: ProblemLabel, rows: Sequence[ResultRow]) -> None:
    """Print the table of a problem's kernels; times only if they were asked for."""
    times = (_MEDIAN, _NOISE) if any(row.result.timing.samples_ms for row in rows) else ()

    def table(shown: Parameters, short: bool, left_out: tuple[Column, ...]) -> Table:
        columns = [column for column in (*FIGURES, *times, _RESULT) if column not in left_out]
        return variant_table(problem_title(label, PER_1000), rows, columns, shown, short=short)

    print_fitting(console, (table(*layout) for layout in _LAYOUTS))


def print_legend(console: Console, rows: Iterable[ResultRow]) -> None:
    """Print what the columns mean."""
    for line in legend(rows):
        console.print(escape(line), style="dim")


def legend(rows: Iterable[ResultRow]) -> list[str]:
    """Return what the columns mean; empty if no row has such figures."""
    figures = [row.result.exact for row in rows if row.result.exact is not None]
    if not figures:
        return []
    places = ", ".join(dict.fromkeys(f"{of.arch} ({of.gpu})" for of in figures))
    return [
        "per 1000 multiply-adds of the product: sectors of global memory, wavefronts of shared memory, and "
        "loads and stores that warps execute (memory instructions). Fewer is better. efficiency: the ideal "
        "number, of adjacent accesses or without bank conflicts, as a share of the actual one. cudamm trace "
        "counts the accesses of each line.",
        f"registers, shared bytes and occupancy are those on {places}; --arch chooses another architecture.",
    ]
