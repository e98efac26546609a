"""The line in which a kernel declares the variable of its sums."""

from __future__ import annotations

import pytest

from cudamm.source.sum_declaration import sum_declarations


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("float s = 0;\nfor (;;) s += a * b;", [(1, "float")]),
        ("half x = a[0];\n__half s = 0;\ns = __hfma(x, b, s);", [(2, "__half")]),
        ("int i;\nfloat acc[4][4] = {};\nacc[i][0] += a;", [(2, "float")]),
        ("frag a;\nfragment<accumulator, 16, 16, 16, half> c;\nmma_sync(c, a, b, c);", [(2, "half")]),
        ("// float s = 0; s += 1\nint s = 0;\ns += a;", []),
        ("float value = a[0];\nint s = value;\ns += 2;", []),
    ],
)  # fmt: skip
def test_only_variables_that_something_is_added_to_are_sums(code: str, found: list[tuple[int, str]]) -> None:
    assert sum_declarations(code) == found
