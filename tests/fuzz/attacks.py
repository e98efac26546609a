"""All attacks by name; `make test` makes a few of each, and `make fuzz` makes them for an hour."""

from __future__ import annotations

import kernel_files
import results_files
from arena import Line
from command_lines import NAMES, command_lines
from hypothesis import strategies as st

ATTACKS: dict[str, st.SearchStrategy[Line]] = {
    **{name: command_lines(name) for name in NAMES},
    "kernel files": kernel_files.lines(),
    "files of results": results_files.lines(),
}
