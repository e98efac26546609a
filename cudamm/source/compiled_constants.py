"""Find the constants of C++ source that its functions use."""

from __future__ import annotations

import re
from collections.abc import Set

from cudamm.source.c_definitions import source_file
from cudamm.source.c_numbers import constants
from cudamm.source.parsed_source import all_of, text_of


def constants_in_functions(code: str, names: Set[str]) -> bool:
    """Return whether a function or a macro with arguments uses a name, or a constant computed from it."""
    file = source_file(code)
    numbers = {name: {*re.findall(r"\w+", text)} for name, text in constants(file).items()}
    found = {*names}
    while more := {name for name, used in numbers.items() if used & found} - found:
        found |= more
    nodes = all_of(file.tree, "function_definition", "preproc_function_def")
    return any(not found.isdisjoint(re.findall(r"\w+", text_of(node))) for node in nodes)
