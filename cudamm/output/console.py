"""Consoles for tables and messages, and whether a table fits."""

from __future__ import annotations

import contextlib
import copy
import os
import re
from collections.abc import Iterable
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table

from cudamm.output.readable_text import readable

WIDTH_OF_FILES = 240
"""Columns if standard output is no terminal: wide enough that no table is folded."""


class ReadableConsole(Console):
    """A console that prints a replacement for each control character in names, results and messages."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield what is printed, in segments; the console's own control codes stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(readable(segment.text), segment.style)


class _Messages(ReadableConsole):
    """Standard error. A terminal that is closed or full must not cost a command its results."""

    def print(self, *objects: Any, **options: Any) -> None:
        with contextlib.suppress(OSError):
            super().print(*objects, **options)


def console() -> Console:
    """Return standard output, in colour if it is a terminal that supports colour."""
    found = ReadableConsole(**_options())
    return found if found.is_terminal else ReadableConsole(width=WIDTH_OF_FILES, **_options())


def messages() -> Console:
    """Return standard error, for progress and remarks."""
    return _Messages(stderr=True, **_options())


def _options() -> dict[str, Any]:
    # File names and compilers' messages are shown as they are: no emoji for “:100:”.
    options: dict[str, Any] = {"highlight": False, "emoji": False}
    if os.environ.get("NO_COLOR"):
        options["color_system"] = None  # not even bold
    # Rich takes every number for a size, also 0, 2,000,000,000 and ².
    options["_environ"] = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "LINES") or re.fullmatch("[1-9][0-9]{0,3}", value)
    }
    return options


def print_fitting(console: Console, tables: Iterable[Table]) -> None:
    """Print the first version of a table, widest first, that fits; else the last one, without its frame."""
    for table in tables:
        if fits(console, table):
            break
    else:
        table = frameless(table)
    console.print(table)


def frameless(table: Table) -> Table:
    """Return the table without its frame, which takes three characters per column."""
    table.box, table.padding = box.SIMPLE_HEAD, (0, 0)
    return table


def fits(console: Console, table: Table, folded: bool = False) -> bool:
    """Return whether a table fits, its cells unfolded or folded as far as possible."""
    room = console.options.update(max_width=10_000)
    if folded:
        return Measurement.get(console, room, table).minimum <= console.width
    return Measurement.get(console, room, _widest(console, table)).maximum <= console.width


def _widest(console: Console, table: Table) -> Table:
    """Return a table with one row, the widest cell of each column: rich measures cells slowly."""

    def width(cell: RenderableType) -> int:
        if not isinstance(cell, str):
            return Measurement.get(console, console.options, cell).maximum
        text = console.render_str(cell).plain if "[" in cell else cell
        return max(map(cell_len, text.splitlines()), default=0)

    found = copy.copy(table)
    found.rows, found.columns = [], [column.copy() for column in table.columns]
    found.add_row(*(max(column.cells, key=width, default="") for column in table.columns))
    return found
