"""Where tables go, and how numbers look in them."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDTH_OF_FILES = 240
"""Columns where standard output is no terminal: wide enough that no table is folded."""
FOLDED_WIDTH = len("BLOCK_SIZE=32")


def console() -> Console:
    """Standard output, in colour where that is a terminal that wants it."""
    found = _console()
    return found if found.is_terminal else _console(width=WIDTH_OF_FILES)


def messages() -> Console:
    """Standard error, for progress and remarks."""
    return _console(stderr=True)


def _console(**options: Any) -> Console:
    if os.environ.get("NO_COLOR"):
        options["color_system"] = None  # not even bold
    # File names and compilers' messages are shown as they are: no emoji for “:100:”.
    return Console(highlight=False, emoji=False, **options)


def milliseconds(value: float | None) -> str:
    """A time to four significant digits: 0.2417, 12.34, 1950."""
    return "" if value is None else significant(value)


def significant(value: float) -> str:
    """Four significant digits, at most four decimals, no digit before the point ever dropped."""
    before_the_point = len(str(int(abs(value))))
    return f"{value:.{max(0, 4 - before_the_point)}f}" if abs(value) >= 1 else f"{value:.4f}"


def percent(share: float) -> str:
    """`50%`, `62.5%`: one decimal where it is not whole."""
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def parameters(params: dict[str, int | str]) -> str:
    """`BLOCK_SIZE=16 COARSE=2`."""
    return " ".join(f"{name}={value}" for name, value in params.items())


def folded(params: dict[str, int | str]) -> list[str]:
    """The same in lines no wider than `BLOCK_SIZE=32`, for narrow terminals: `BM=128 BN=128`, then others."""
    return textwrap.wrap(parameters(params), FOLDED_WIDTH, break_long_words=False, break_on_hyphens=False)


def print_fitting(console: Console, tables: Iterable[Table]) -> None:
    """Print the first version of a table, widest first, that fits; else the last one, without its frame."""
    for table in tables:
        if fits(console, table):
            break
    else:
        table = frameless(table)
    console.print(table)


def frameless(table: Table) -> Table:
    """The table without its frame, which takes three columns a column."""
    table.box, table.padding = box.SIMPLE_HEAD, (0, 0)
    return table


def fits(console: Console, table: Table, folded: bool = False) -> bool:
    """Whether a table fits, its cells unfolded or folded as far as they can be."""
    room = console.options.update(max_width=10_000)
    measured = Measurement.get(console, room, table)
    return (measured.minimum if folded else measured.maximum) <= console.width
