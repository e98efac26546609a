"""Which reads of a kernel take an element that a register holds already."""

from __future__ import annotations

import pytest

from cudamm.source.repeated_reads import repeated_reads


def reads(*statements: str) -> dict[tuple[int, str], int]:
    """Return the repeated reads of a kernel with a statement in each line, from line 3 on."""
    body = "\n".join(statements)
    text = f"__global__ void f(const float *A, float *C) {{\n__shared__ float s[8][8], t[8][8];\n{body}\n}}"
    return dict(repeated_reads(text, "f.cu"))


def test_an_element_is_loaded_once_for_two_sums():
    assert reads("x += s[i][k] * t[k][j];", "y += s[i][k] * t[k][j + 4];") == {(4, "s"): 1}
    assert reads("x += A[i] * 2;", "y += A[i] * 3;", "z += A[ i ];") == {(4, "A"): 1, (5, "A"): 1}
    assert reads("x += s[i][k] * s[i][k];") == {(3, "s"): 1}


@pytest.mark.parametrize(
    "between",
    [
        "__syncthreads();",
        "k++;",
        "i = i + 1;",
        "s[0][0] = 0;",
        "C[i] = x;",
        "if (x > 0) x = 0;",
        "store(C);",
    ],
)
def test_a_statement_that_may_change_the_element_makes_it_be_loaded_again(between):
    assert reads("x += s[i][k];", between, "y += s[i][k];") == {}


def test_other_statements_do_not():
    for between in ("x *= 2;", "t[0][0] = 1;", "float z = fmaf(x, y, 1.0f);", "// a comment"):
        assert reads("x += s[i][k];", between, "y += s[i][k];") == {(5, "s"): 1}


def test_a_read_that_may_not_happen_is_none():
    assert reads("x += i < 4 ? s[i][k] : 0;", "y += s[i][k];") == {}
    assert reads("x += s[i][k];", "if (x > 0) y += s[i][k];") == {}


def test_a_line_with_other_reads_of_the_array_is_left_out():
    """The counts of a line's reads are not told apart."""
    assert reads("x += s[i][k];", "y += s[i][k] * s[k][i];") == {}
