"""Consoles for tables and messages, and whether a table fits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDTH_OF_FILES = 240
"""Columns if standard output is no terminal: wide enough that no table is folded."""


def console() -> Console:
    """Return standard output, in colour if it is a terminal that supports colour."""
    found = _console()
    return found if found.is_terminal else _console(width=WIDTH_OF_FILES)


def messages() -> Console:
    """Return standard error, for progress and remarks."""
    return _console(stderr=True)


def _console(**options: Any) -> Console:
    if os.environ.get("NO_COLOR"):
        options["color_system"] = None  # not even bold
    # Rich takes every number for a size, also 0, 2,000,000,000 and ².
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "LINES") or re.fullmatch("[1-9][0-9]{0,3}", value)
    }
    # File names and compilers' messages are shown as they are: no emoji for “:100:”.
    return Console(highlight=False, emoji=False, _environ=environment, **options)


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
    measured = Measurement.get(console, room, table)
    return (measured.minimum if folded else measured.maximum) <= console.width
