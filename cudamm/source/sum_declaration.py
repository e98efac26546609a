"""Find where a kernel declares the variable in which it keeps its sums."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cudamm.source.c_text import without_comments

_DECLARED = re.compile(
    r"\bfragment\s*<[^<>;]*\baccumulator\b[^<>;]*\b(?P<fragment>\w+)\s*>\s*(?P<sums>\w+)"
    r"|\b(?P<type>float|double|half|__half|half2|__half2|nv_bfloat16|__nv_bfloat16)\s+(?P<sum>\w+)\b(?!\s*\()"
)


def sum_declarations(code: str) -> list[tuple[int, str]]:
    """Return the line and the type of each floating-point variable of C++ source that is added to."""
    plain = without_comments(code)
    return list(_declarations(plain))


def _declarations(plain: str) -> Iterator[tuple[int, str]]:
    for found in _DECLARED.finditer(plain):
        name, line = found["sums"] or found["sum"], plain.count("\n", 0, found.start()) + 1
        element = rf"\b{name}\s*(?:\[[^\]]*\]\s*)*"
        is_sum = rf"{element}(?:\+=|=[^=;][^;]*\b{name}\b)|\bmma_sync\s*\(\s*{name}\b"
        if re.search(is_sum, plain[found.end() :]):
            yield line, found["fragment"] or found["type"]
