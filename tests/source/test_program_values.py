"""The numbers that a program gives to sizes and tiles: from callers, structs, globals and tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudamm.errors import MissingLaunchError, UsageError
from cudamm.kernels.header import Overrides, parse_method
from cudamm.kernels.launch_fields import complete_source, found_launch
from cudamm.kernels.method import Method
from cudamm.source.expression import parse_list

KERNEL = """
struct Size { int m, n, k; Size(int a, int b, int c) : m(a), n(b), k(c) {} };
struct Plain { int m, n, k; int edge = 4; };
Plain listed() { return {30, 20, 10}; }
Plain made(int m, int n, int k) { Plain p; p.m = m; p.n = n; p.k = k; return p; }
void fill(Plain *p, int n) { p->m = 3 * n; p->n = 2 * n; p->k = n; }
int edge = 4;
int m, n, k;
__global__ void gemm(const float *A, const float *B, float *C, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[i * n + col];
    C[row * n + col] = sum;
}
"""
LAUNCH = "gemm<<<dim3((%sn + 3) / 4, (%sm + 3) / 4), dim3(edge, edge)>>>(a, b, c, %sm, %sn, %sk);"


def launch_of(program: str) -> object:
    """Return what the host code of a program says."""
    code = complete_source(Path("k.cu"), KERNEL + program, ())
    worked_out = found_launch(Path("k.cu"), code, {}, ()).worked_out
    assert worked_out is not None
    return worked_out


@pytest.mark.parametrize(
    ("before", "sizes", "prefix"),
    [
        ("", "int m = 30, n = 20, k = 10;", ""),
        ("", "Size s(30, 20, 10);", "s."),
        ("", "Plain s = {30, 20, 10};", "s."),
        ("", "Plain s = {.m = 30, .n = 20, .k = 10};", "s."),
        ("", "Plain s = listed();", "s."),
        ("", "Plain s = made(30, 20, 10);", "s."),
        ("", "Plain s; fill(&s, 10);", "s."),
        ("", "Plain t; fill(&t, 10); Plain s = t;", "s."),
        (
            "Plain moved(const Plain p) { Plain d = p; return d; }",
            "Plain t; fill(&t, 10); Plain s = moved(t);",
            "s.",
        ),
        ("", "Plain s; s.k = 10; s.m = 3 * s.k; s.n = 2 * s.k;", "s."),
        ("Plain s = {30, 20, 10};", "", "s."),
        ("void setup() { m = 30; n = 20; k = 10; }", "setup();", ""),
    ],
)
def test_the_program_s_own_size_is_found_wherever_it_is_given(before: str, sizes: str, prefix: str) -> None:
    launch = LAUNCH.replace("%s", prefix)
    program = f"{before}\nint main() {{ float *a, *b, *c; {sizes} {launch} }}"
    assert launch_of(program).program_size == (30, 20, 10)  # type: ignore[attr-defined]


def test_sizes_are_followed_through_three_calls() -> None:
    calls = "".join(
        f"void f{i}(float *a, float *b, float *c, int m, int n, int k) {{ {inner} }}\n"
        for i, inner in enumerate(
            (LAUNCH.replace("%s", ""), "f0(a, b, c, m, n, k);", "f1(a, b, c, m, n, k);")
        )
    )
    launch = launch_of(f"{calls}int main() {{ float *a, *b, *c; f2(a, b, c, 30, 20, 10); }}")
    assert launch.program_size == (30, 20, 10)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "change",
    ["if (m > n) edge = 8;", "edge = read_edge();", "edge += 4;", "change(&edge);", "edge = 8; edge = 16;"],
)
def test_a_global_variable_that_may_change_is_not_known(change: str) -> None:
    launch = LAUNCH.replace("%s", "").replace("edge, edge", "edge * 2, edge")
    program = f"void other() {{ {change} }} int main() {{ float *a, *b, *c; other(); {launch} }}"
    with pytest.raises(MissingLaunchError, match="edge, whose value is not known"):
        parse_method(KERNEL + program, Path("k.cu"))


def test_a_value_that_argv_may_change_is_taken_with_a_word() -> None:
    launch = LAUNCH.replace("%s", "")
    program = f"int main(int argc, char **argv) {{ float *a, *b, *c; {{}} {launch} }}"
    sure = parse_method(KERNEL + program.replace("{}", ""), Path("k.cu"))
    chosen = parse_method(KERNEL + program.replace("{}", "if (argc > 1) edge = atoi(argv[1]);"), Path("k.cu"))
    assert [str(extent) for extent in (*sure.threads, *chosen.threads)] == ["4", "4"] * 2
    assert "(edge = 4 unless its user chooses another, as with -D edge=…)" in chosen.remarks[0]
    assert "unless" not in sure.remarks[0]


def method(requires: str = "", *, header: str = "") -> Method:
    head = f"// requires: {header}\n\n" if header else ""
    launch = "int main() { float *a, *b, *c; int m = 64, n = 64, k = 64; " + LAUNCH.replace("%s", "") + " }"
    overrides = Overrides({"requires": requires} if requires else {})
    return parse_method(head + KERNEL + launch, Path("k.cu"), overrides)


def test_a_condition_in_an_option_adds_to_those_of_the_file() -> None:
    both = method("N % 8 == 0", header="M % 4 == 0")
    assert [str(condition) for condition in both.requires] == ["M % 4 == 0", "N % 8 == 0"]
    assert any("k.cu requires M % 4 == 0, and --requires adds N % 8 == 0" in each for each in both.remarks)
    same = method("M % 4 == 0", header="M % 4 == 0")
    assert [str(condition) for condition in same.requires] == ["M % 4 == 0"]
    assert not any("adds" in each for each in same.remarks)
    assert [str(condition) for condition in method("N % 8 == 0").requires] == ["N % 8 == 0"]


ROWS, COLUMNS = "blockIdx.y * 8 + threadIdx.y", "blockIdx.x * 32 + threadIdx.x"


@pytest.mark.parametrize(
    ("rows", "columns", "threads", "grid"),
    [
        (ROWS, COLUMNS, "32, 8", "ceil(N / 32), ceil(M / 8)"),
        (ROWS.replace(".y", ".x"), COLUMNS.replace(".x", ".y"), "8, 32", "ceil(M / 8), ceil(N / 32)"),
        ("blockIdx.y * 32 + threadIdx.y * 4 + 3", COLUMNS, "32, 8", "ceil(N / 32), ceil(M / 32)"),
        ("blockIdx.y * 8 + threadIdx.x / 32", "blockIdx.x * 32 + threadIdx.x % 32", "32 * 8",
         "ceil(N / 32), ceil(M / 8)"),
        ("blockIdx.y * T + threadIdx.y", "blockIdx.x * T * W + threadIdx.x", "T * W, T",
         "ceil(N / (T * W)), ceil(M / T)"),
    ],
)  # fmt: skip
def test_the_suggested_launch_fits_the_indices(rows: str, columns: str, threads: str, grid: str) -> None:
    text = f"""#define T 8
    #define W 4
    __global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K) {{
        int row = {rows}, col = {columns};
        if (row >= M || col >= N) return;
        float sum = 0;
        for (int k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }}"""
    with pytest.raises(MissingLaunchError) as refused:
        parse_method(text, Path("k.cu"))
    found = refused.value.suggested
    assert found["grid"] == grid
    numbers = {"T": 8, "W": 4}
    extents = ([each.value(numbers) for each in parse_list(text)] for text in (found["threads"], threads))
    assert next(extents) == next(extents)
    assert "requires" not in found


def test_of_several_kernels_those_that_multiply_are_named() -> None:
    other = "__global__ void scale(float *x, const float *y, float *z, int n) { z[threadIdx.x] = 2 * x[n]; }"
    one = KERNEL + other
    with pytest.raises(MissingLaunchError, match="does not launch gemm"):
        parse_method(one, Path("k.cu"))
    two = one + KERNEL[KERNEL.index("__global__") :].replace("gemm", "gemm2")
    with pytest.raises(UsageError, match=r"choose one with --entry \(gemm, gemm2\)"):
        parse_method(two, Path("k.cu"))
