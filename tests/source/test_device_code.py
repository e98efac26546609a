"""Kernels in files with host code, templates, namespaces and headers: what is compiled of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cudamm.devices.device import Device
from cudamm.errors import UsageError
from cudamm.kernels.header import Overrides, read_method
from cudamm.source.device_code import compiled_code, device_code, instantiations

WriteKernel = Callable[..., Path]

PROGRAM = """\
// Product of two square matrices, with its test.
//
// entry:   matmul<8, float>
// args:    A, B, C, N
// threads: 8, 8
// grid:    ceil(N / 8), ceil(N / 8)
#include <cublas_v2.h>
#include <cstdio>
#include <iostream>
#include <vector>
#include "helper_cuda.h"
#define TILE 8
#define CHECK(call) do { if ((call) != cudaSuccess) exit(1); } while (0)
#define ON_BOTH __host__ __device__
using namespace std;

const int EXTRA = 1;
static int blockDim_of_host = 16, blockDim;
cudaEvent_t start;

struct Timer {
    cudaEvent_t begin;
    Timer() { cudaEventCreate(&begin); }
};

struct Tile { float values[TILE][TILE + EXTRA]; };

ON_BOTH inline int ceil_div(int a, int b) { return (a + b - 1) / b; }

float reference(const std::vector<float> &a);

template <int SIDE, typename T>
__global__ void __launch_bounds__(SIDE * SIDE) matmul(const T *A, const T *B, T *C, int width) {
    __shared__ Tile a, b;
    int row = blockIdx.y * SIDE + threadIdx.y, column = blockIdx.x * SIDE + threadIdx.x;
    T sum = 0;
    for (int step = 0; step < ceil_div(width, SIDE); ++step) {
        int k = step * SIDE;
        a.values[threadIdx.y][threadIdx.x] =
            row < width && k + threadIdx.x < width ? A[row * width + k + threadIdx.x] : T(0);
        b.values[threadIdx.y][threadIdx.x] =
            column < width && k + threadIdx.y < width ? B[(k + threadIdx.y) * width + column] : T(0);
        __syncthreads();
        for (int i = 0; i < SIDE; ++i) sum += a.values[threadIdx.y][i] * b.values[i][threadIdx.x];
        __syncthreads();
    }
    if (row < width && column < width) C[row * width + column] = sum;
}

#ifdef USE_DOUBLE
int main(int argc, char **argv) {
#else
int main() {
#endif
    vector<float> a(64);  // a brace in a comment: {
    cout << "{" << endl;
    dim3 block(TILE, TILE);
    matmul<TILE, float><<<dim3(4, 4), block>>>(nullptr, nullptr, nullptr, 32);
    CHECK(cudaDeviceSynchronize());
}
"""


def words_of(code: str) -> set[str]:
    return set(re.findall(r"\w+", code))


def test_a_kernel_keeps_what_it_uses_and_its_lines() -> None:
    code = device_code(PROGRAM, "matmul")
    kept, dropped = (
        {"Tile", "EXTRA", "ceil_div", "matmul"},
        {"main", "Timer", "reference", "cudaEvent_t", "cout"},
    )
    assert kept <= words_of(code) and words_of(code).isdisjoint(dropped)
    kernel = PROGRAM.splitlines().index("template <int SIDE, typename T>")
    assert code.splitlines()[kernel : kernel + 17] == PROGRAM.splitlines()[kernel : kernel + 17]
    assert len(code.splitlines()) == len(PROGRAM.splitlines())


def test_a_program_with_host_code_runs(cpu: Device[Any], write_kernel: WriteKernel, open_run: Any) -> None:
    with open_run(cpu, write_kernel(PROGRAM), "20x20x20") as run:
        run.launch()
        a, b = run.matrices["A"], run.matrices["B"]
        assert abs(run.product() - a.astype("f8") @ b.astype("f8")).max() < 1e-4


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("int f() { return 1; } __global__ void k(float *C) { C[0] = 1; }", "f"),
        ("void f() { k<<<1, 1>>>(0); } extern \"C\" { __global__ void k(float *C) { C[0] = 1; } }", "f"),
        ("float h[4]; namespace a { int h2; __global__ void k(float *C) { C[0] = 1; } }", "h h2"),
        ("template <> int s<4>() { return 1; } __global__ void k(float *C) { C[0] = 1; }", "s"),
        ("class P { int x; public: P() {} } p; __global__ void k(float *C) { C[0] = 1; }", "P p"),
        ("enum E { ONE }; enum F { TWO }; __global__ void k(float *C) { C[0] = ONE; } int m() {}", "F TWO m"),
    ],
)  # fmt: skip
def test_host_code_is_left_out(text: str, code: str) -> None:
    assert words_of(device_code(text, "k")).isdisjoint(code.split())
    assert "__global__ void k(float *C) { C[0] = " in device_code(text, "k")


def test_operators_and_macros_stay_with_what_they_use() -> None:
    text = (
        "struct V { float x; };\n"
        "__device__ int helper() { return 1; }\n"
        "#define HELP helper()\n"
        "__device__ V operator+(V a, V b) { return a; }\n"
        "constexpr int side(int n) { return n; }\n"
        "int host() { return 1; }\n"
        "__global__ void k(float *C) { C[0] = HELP + side(1); }\n"
    )
    code = device_code(text, "k")
    assert {"operator", "helper", "side", "V"} <= words_of(code) and "host" not in words_of(code)


def test_a_file_without_host_code_is_compiled_as_it_is(write_kernel: WriteKernel) -> None:
    text = "__device__ int unused() { return 1; }\n__global__ void k(float *C) { C[0] = 1; }\n"
    method = read_method(write_kernel(text), Overrides({"threads": "1", "grid": "1"}))
    assert method.code == method.source == text


def test_headers_are_found_beside_the_kernel_and_in_folders_named_include(
    write_kernel: WriteKernel, tmp_path: Path
) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "include" / "shared.h").write_text(
        "#pragma once\n#define ONE 1\nint host() { return ONE; }\n"
    )
    write_kernel('#include "shared.h"\n__device__ float one() { return ONE; }\n', "src/part.cuh")
    kernel = '#include "shared.h"\n#include "part.cuh"\n__global__ void k(float *C) { C[0] = one(); }\n'
    path = write_kernel(kernel, "src/k.cu")
    code = read_method(path, Overrides({"threads": "1", "grid": "1"})).code
    assert code.count("#define ONE 1") == 2 and code.count("#ifndef CUDAMM_ONCE_") == 2
    assert "host" not in words_of(code) and '#line 3 "k.cu"\n__global__' in code


def test_template_arguments_are_those_of_the_file_if_it_gives_the_same_ones_everywhere(
    write_kernel: WriteKernel,
) -> None:
    assert read_method(write_kernel(PROGRAM), Overrides({"entry": "matmul"})).entry == "matmul<TILE, float>"
    another = (
        PROGRAM + "template __global__ void matmul<4, float>(const float *, const float *, float *, int);"
    )
    with pytest.raises(UsageError, match=r"matmul is a template.*matmul<TILE, float>, matmul<4, float>"):
        read_method(write_kernel(another), Overrides({"entry": "matmul"}))
    both = PROGRAM + "template <class T> void run() { matmul<8, T><<<1, 1>>>(0, 0, 0, 8); }"
    with pytest.raises(UsageError, match=r"matmul is a template.*matmul<TILE, float>, matmul<8, T>"):
        read_method(write_kernel(both), Overrides({"entry": "matmul"}))
    local = (
        "template <int S> __global__ void k(float *C) {}\nvoid f() { const int s = 1; k<s><<<1, 1>>>(0); }"
    )
    with pytest.raises(UsageError, match=r"k is a template.*--entry 'k<…>'; the file has k<s>"):
        read_method(write_kernel(local), Overrides({"threads": "1", "grid": "1"}))


@pytest.mark.parametrize(
    ("declared", "types"),
    [("double *a, double *b, double *c", "float64"), ("const real *a, real *b, real *c", "float64"),
     ("int *a, int *b, int *c", "int32"), ("float4 *a, float4 *b, float4 *c", "float32")],
)  # fmt: skip
def test_the_element_type_is_that_of_the_matrices(
    write_kernel: WriteKernel, declared: str, types: str
) -> None:
    path = write_kernel(f"typedef double real;\n__global__ void k({declared}) {{ }}\n")
    fields = {"threads": "1", "grid": "1", "args": "A, B, C"}
    assert read_method(path, Overrides(fields)).element_types == (types,)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("long long, long long", "matrices of long long"),
        ("float, double", "C is declared as double; with A and B of float .* whose C is float"),
        ("__nv_fp8_e5m2, __nv_bfloat16", "matrices of __nv_fp8_e5m2"),
        ("__nv_fp8_e5m2, __nv_fp8_e5m2", "matrices of __nv_fp8_e5m2"),
        ("__nv_fp8_storage_t, __nv_bfloat16", "matrices of __nv_fp8_storage_t"),
        (
            "__nv_bfloat16, __nv_fp8_e4m3",
            "C is declared as __nv_fp8_e4m3; .* whose C is nv_bfloat16 or float",
        ),
    ],
)
def test_matrices_of_types_that_cannot_be_run_are_refused(
    write_kernel: WriteKernel, arguments: str, words: str
) -> None:
    path = write_kernel("template <class S, class T> __global__ void k(S *a, S *b, T *c) { }\n")
    fields = {"threads": "1", "grid": "1", "args": "A, B, C", "entry": f"k<{arguments}>"}
    with pytest.raises(UsageError, match=words):
        read_method(path, Overrides(fields))


KERNEL = "__global__ void k(float *C) { C[0] = h(); }\n"
MAIN = "int main() { return 0; }\n"


def test_a_using_declaration_goes_with_the_host_function_that_it_names() -> None:
    inside = f"namespace my {{\n__device__ float h() {{ return 1; }}\n{KERNEL}void run() {{}}\n}}\n"
    code = device_code(f"{inside}using my::run;\nusing my::h, my::k;\n{MAIN}", "my::k")
    assert "using my::run" not in code
    assert "float h() {" in code and "using my::h, my::k;" in code


@pytest.mark.parametrize(
    "helper",
    [
        "// " + "a long licence " * 400 + "\n__device__ float h() { return 1; }",
        "namespace my { __device__ float h() { return 1; } }\nusing namespace my;",
        'void usage() { puts(R"(it\'s { a "brace\n } /* )"); }\n__device__ float h() { return 1; }',
        "// c:\\\nint bogus {\n__device__ float h() { return 1; }",
        "#if 0\nint bogus( {\n#endif\n__device__ float h() { return 1; }",
        "#define MAKE(n, T) __device__ T n() { return 1; }\nvoid f() {}\nMAKE(h, float)\n__device__ int z();",
        "[[nodiscard]] static inline float constexpr h() { return 1; }",
        "static const struct { float (*x)(); } h = {};",
        "template <class T> concept F = true;\n"
        "template <F T = float, bool X = (4 > 3)> __device__ T h() { return 1; }",
        "struct S { float x; __device__ S(float); }; __device__ S::S(float a) : x{a} {}\n"
        "__device__ float h() { return S(1).x; }",
    ],
    ids=["licence", "using", "raw string", "long comment", "if 0", "macro", "constexpr", "struct", "concept",
         "constructor"],
)  # fmt: skip
def test_awkward_declarations_stay(helper: str) -> None:
    code = device_code(f"{helper}\n{KERNEL}{MAIN}", "k")
    assert re.search(r"\bh\b", code.replace(KERNEL, "")) and KERNEL in code


def test_a_kernel_that_is_written_in_a_way_that_is_not_understood_is_compiled_as_it_is() -> None:
    text = "#define KERNEL __global__ void k(float *C)\nKERNEL { C[0] = 1; }\nint main() {}\n"
    assert device_code(text, "k") == text


def test_all_specialisations_stay() -> None:
    text = "template <class T> constexpr float h = 1; template <> constexpr float h<double> = 2;\n"
    assert device_code(text + KERNEL.replace("h()", "h<double>") + MAIN, "k").startswith(text)


def test_operators_of_the_host_are_left_out() -> None:
    text = "std::ostream &operator<<(std::ostream &o, const M &m);\n__device__ float h() { return 1; }\n"
    assert "ostream" not in device_code(text + KERNEL + MAIN, "k")


@pytest.mark.parametrize(
    ("declared", "entry", "types"),
    [("typename T = double, int B = 16", "k<>", "float64"),
     ("typename U, typename T = double", "k<int>", "float64")],
)  # fmt: skip
def test_template_arguments_have_defaults(
    write_kernel: WriteKernel, declared: str, entry: str, types: str
) -> None:
    text = f"#define LAUNCH k (1, 2)\ntemplate <{declared}> __global__ void k(T *a, T *b, T *c) {{ }}\n"
    fields = {"threads": "1", "grid": "1", "args": "A, B, C", "entry": entry}
    assert read_method(write_kernel(text), Overrides(fields)).element_types == (types,)


def test_the_same_arguments_in_another_spelling_are_the_same() -> None:
    text = "template <class T, int B> __global__ void k(T *C) {}\n"
    text += "void f() { k<float,8><<<1, 1>>>(0); %s<<<1, 1>>>(0); }"
    assert instantiations(text % "k< float , 8 >", "k") == (["float, 8"], [])
    assert instantiations(text % "k<>", "k") == (["float, 8", ""], [])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "text",
    ["{" * 10**5, "a<" * 10**5, "#if\n" * 10**5, "template<" * 10**5, "namespace a{int x;" * 10**4,
     "[" * 10**5,
     "#define A B\n#define B A\n", "".join(f"#define A{i} A{i + 1}\n" for i in range(10**4)), 'R"(' * 10**5],
    ids=["brace", "angle", "if", "template", "namespace", "square", "circle", "chain", "raw"],
)  # fmt: skip
def test_odd_texts_take_no_longer_than_others(text: str) -> None:
    start = time.process_time()
    compiled_code(text + "\n" + KERNEL + MAIN, "k")
    assert time.process_time() - start < 10
