"""Which reads of a kernel take an element that a register holds already."""

from __future__ import annotations

import pytest

from cudamm.source.repeated_reads import reads_per_load, repeated_reads


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


def per_load(*statements: str) -> dict[tuple[int, str], int]:
    """Return the reads per load of a kernel with a statement in each line, from line 3 on.

    W is 4, T is 16.
    """
    body = "\n".join(statements)
    text = (
        "__global__ void f(const float *A, float *C, int K) {\n"
        "__shared__ float s[8][8], t[8][8]; float sum[4];\n"
        f"{body}\n}}"
    )
    values = {"W": 4, "T": 16}

    def constant(text: str) -> int | None:
        return int(text) if text.isdigit() else values.get(text)

    return dict(reads_per_load(text, "f.cu", constant, lambda of: 1000 if of == "K" else constant(of)))


LOOP = "for (int w = 0; w < W; w++)"


def test_a_loop_loads_once_what_all_its_steps_read():
    """nvcc 13.0 for sm_90 has 80 LDS for the 64 products of 16 steps in k, each with 4 sums."""
    assert per_load(f"{LOOP} sum[w] += s[k][y] * t[k][x + w * T];") == {(3, "s"): 4}
    assert per_load(f"for (int k = 0; k < K; k++) {LOOP} {{ sum[w] += A[k] * t[k][w]; }}") == {(3, "A"): 4}
    assert per_load("for (int w = 0; w < T; w += W) sum[w / W] += s[k][y];") == {(3, "s"): 4}


def test_a_loop_around_another_loads_once_too_if_nvcc_unrolls_both():
    """Of 16 x 4 steps, nvcc loads s in the first 16 only; a loop to K is not unrolled."""
    inner = "for (int k = 0; k < {}; k++) sum[w] += s[k][y] * t[k][w];"
    assert per_load(LOOP, inner.format("T")) == {(4, "s"): 4}
    assert per_load(LOOP, inner.format("128")) == {}
    assert per_load(LOOP, inner.format("K")) == {}


def test_two_loops_over_the_sums_of_a_thread_load_a_row_and_a_column():
    """nvcc has 16 LDS for 64 products."""
    loops = "for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++)"
    assert per_load(f"{loops} c[i][j] += s[k][y + i] * t[k][x + j];") == {}  # c may be any memory
    assert per_load("float c[8][8];", f"{loops} c[i][j] += s[k][y + i] * t[k][x + j];") == {
        (4, "s"): 8,
        (4, "t"): 8,
    }


@pytest.mark.parametrize(
    "loop",
    [
        f"{LOOP} if (w < n) sum[w] += s[k][y];",  # nvcc loads in each branch anew
        f"{LOOP} sum[w] += w < n ? s[k][y] : 0;",
        f"{LOOP} {{ sum[w] += s[k][y]; s[w][0] = 1; }}",
        f"{LOOP} {{ sum[w] += s[k][y]; k++; }}",
        f"{LOOP} {{ sum[w] += s[k][y]; __syncthreads(); }}",
        f"{LOOP} {{ sum[w] += s[k][y]; if (sum[w] > 9) break; }}",
        f"{LOOP} {{ sum[w] += s[k][y]; w += 2; }}",
        f"{LOOP} {{ int c = w + 1; sum[w] += s[k][c]; }}",
        f"{LOOP} {{ sum[w] += A[y]; C[w] = 0; }}",
        "for (int w = 0; w < n; w++) sum[w] += s[k][y];",
        "for (int w = W; w > 0; w--) sum[w] += s[k][y];",
        "while (w < W) sum[w++] += s[k][y];",
        f"volatile float *v = A; {LOOP} sum[w] += v[y];",
    ],
)
def test_other_loops_load_in_each_step(loop):
    assert per_load(loop) == {}


def test_a_sum_in_memory_is_loaded_before_the_loop():
    """nvcc 13.0 for sm_90 loads C once before 200 steps, stores it in each, and loads A and B in each."""
    loop = "for (int k = 0; k < K; k++)"
    assert per_load(f"{loop} C[i * n + j] += A[i * K + k];") == {(3, "C"): 1000}
    assert per_load(f"{loop} s[y][x] += t[y][k];") == {(3, "s"): 1000}
    assert per_load(f"{loop} C[i * n + k] += A[i * K + k];") == {}
    assert per_load(f"{loop} {{ C[i] += A[k]; C[j] = 0; }}") == {}  # C[j] may be C[i]
