"""Stores of both branches of an `if` as one."""

from __future__ import annotations

import pytest

from cudamm.source.selected_stores import with_selected_stores


def changed(*statements: str) -> list[str]:
    """Return the lines of a function's body without spaces."""
    text = "void f() {\n" + "\n".join(statements) + "\n}"
    return ["".join(line.split()) for line in with_selected_stores(text).split("\n")[1:-1]]


def test_two_branches_that_store_one_element_become_one_store_in_the_line_of_the_first():
    of_type = "(__typeof__(s[y][x]))"
    expected = ["", f"s[y][x]=(i<n)?{of_type}(a[i]):{of_type}(0);", "", ""]
    assert changed("if (i < n)", "s[y][x] = a[i];", "else", "s[y][x] = 0;") == expected
    assert changed("if (i < n) {", "s[y][x] = a[i];", "} else {", "s[y][x]=0; }") == expected
    expected = ["", f"s[y][x]=(i<n)?{of_type}(a[i]", "", f"):{of_type}(b[i]);"]
    assert changed("if (i < n)", "s[y][x] = a[i];", "else", "s[y][x] = b[i];") == expected


@pytest.mark.parametrize(
    "statement",
    [
        "if (i < n) s[x] = a[i];",
        "if (i < n) s[x] = a[i]; else s[y] = 0;",
        "if (i < n) s[x] = a[i]; else s[x] += 1;",
        "if (i < n) { s[x] = a[i]; count++; } else s[x] = 0;",
        "if (i < n) sum = a[i]; else sum = 0;",
        "if (i < n) s[x] = a[i]; else if (i < m) s[x] = 0;",
    ],
)
def test_other_branches_stay(statement):
    assert changed(statement) == ["".join(statement.split())]
