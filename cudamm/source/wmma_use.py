"""Read how a kernel moves matrices in global memory with nvcuda::wmma: their layout, and the tile."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from cudamm.source.c_definitions import Function
from cudamm.source.c_text import closing_bracket
from cudamm.source.expression import split_at_commas
from cudamm.source.parsed_source import text_of

_FRAGMENT = re.compile(
    r"\bfragment\s*<\s*(?:\w+\s*::\s*)*(matrix_a|matrix_b|accumulator)\s*,([^;>]*)>\s*(\w+(?:[^;(]*))"
)
_MOVE = re.compile(r"\b(load|store)_matrix_sync\s*\(")


@dataclass(frozen=True)
class WmmaUse:
    """What a kernel's loads and stores of fragments say.

    Attributes:
        by_column: for each pointer that they name, whether its matrix lies column by column.
        tile: the rows, the columns and the terms of a tile of C, as the kernel writes them; empty if it moves
            no fragment to or from global memory.
    """

    by_column: dict[str, bool]
    tile: tuple[str, ...]


def wmma_use(kernel: Function, pointers: Collection[str]) -> WmmaUse:
    """Return how a kernel loads and stores fragments through some of its parameters, which are pointers."""
    code = text_of(kernel.node)
    layouts: dict[str, str] = {}
    tile: tuple[str, ...] = ()
    for _, arguments, names in _FRAGMENT.findall(code):
        m, n, k, *types = (part.strip() for part in [*split_at_commas(arguments), "", "", ""])
        tile = (m, n, k)
        for name in re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?=,|$)", names):
            layouts[name] = " ".join(types)
    by_column: dict[str, bool] = {}
    for call in _MOVE.finditer(code):
        parts = split_at_commas(code[call.end() : closing_bracket(code, call.end()) - 1])
        if len(parts) < 3:
            continue
        fragment, memory = parts[:2] if call[1] == "load" else (parts[1], parts[0])
        layout = parts[3] if len(parts) > 3 else layouts.get((re.findall(r"\w+", fragment) or [""])[0], "")
        words = re.findall(r"\w+", memory)
        values = [text_of(kernel.first_values[word]) for word in words if word in kernel.first_values]
        in_values = [
            word for value in values for word in re.findall(r"\w+", value)
        ]  # `tile` of `C + row * N`
        named = [word for word in dict.fromkeys((*words, *in_values)) if word in pointers]
        if len(named) == 1 and re.search(r"row_major|col_major", layout):
            by_column[named[0]] = "col_major" in layout
    return WmmaUse(by_column, tile if by_column else ())
