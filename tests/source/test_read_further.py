"""Forms of kernels and of host code that published programs have."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudamm.errors import UsageError
from cudamm.kernels.header import parse_method
from cudamm.kernels.selection import Selection

POINTERS = "float *a, float *b, float *c"
NAIVE = """
__global__ void gemm(const float *A, const float *B, float *C, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[i * n + col];
    C[row * n + col] = sum;
}
"""
SMALL = "<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>"


def fields(text: str) -> dict[str, str]:
    return dict(parse_method(text, Path("k.cu")).found_fields)


def run(launch: str, sizes: str = "int m, int n, int k") -> str:
    return f"void run({POINTERS}, {sizes}) {{ {launch} }}"


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as refused:
        parse_method(text, Path("k.cu"))
    return str(refused.value)


def test_a_macro_may_hide_the_index_of_a_column_major_matrix() -> None:
    text = """#define AT(X, i, j, ld) X[(i) + (j) * (ld)]
    __global__ void mm(const float *A, const float *B, float *C, int m, int n, int k) {
        int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
        float sum = 0;
        for (int p = 0; p < k; ++p) sum += A[(i) + p * m] * B[p + (j) * k];
        C[i + j * m] = sum;
    }"""
    text = text.replace("A[(i) + p * m]", "AT(A, i, p, m)").replace("B[p + (j) * k]", "AT(B, p, j, k)")
    text += run("mm<<<dim3(m / 16, n / 16), dim3(16, 16)>>>(a, b, c, m, n, k);")
    assert fields(text)["layout"] == "A=column, B=column, C=column"


@pytest.mark.parametrize("is_macro", [False, True])
def test_loops_over_indices_begin_where_their_variables_do(is_macro: bool) -> None:
    text = """
    #define ADD for (int p = 0; p < 16; ++p) sum += as[p][threadIdx.x] * bs[threadIdx.y][p];
    __global__ void mm(const float *A, const float *B, float *C, int n) {
        __shared__ float as[16][16], bs[16][16];
        int x = threadIdx.x, y = threadIdx.y, first = 16 * n * blockIdx.y;
        float sum = 0;
        for (int a = 16 * blockIdx.x, b = first; b < first + n; a += 16 * n, b += 16) {
            as[y][x] = A[a + n * y + x]; bs[y][x] = B[b + n * y + x];
            __syncthreads();
            ADD
            __syncthreads();
        }
        C[16 * blockIdx.x + first + n * y + x] = sum;
    }"""
    if not is_macro:
        _, _, text = text.partition("#define ADD ")
        add, _, text = text.partition("\n")
        text = text.replace("ADD", add)
    text += run("mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);", "int n")
    assert fields(text)["layout"] == "A=column, B=column, C=column"
    hidden = text.replace("C[16", "int at[2]; at[x % 2] = 16").replace(
        "+ x] = sum", "+ x; C[at[x % 2]] = sum"
    )
    assert "its indices of C are not read" in refusal(hidden), "C may be row-major"


def test_a_counter_is_no_check_of_the_edge_and_pointers_count_too() -> None:
    body = """
    __global__ void mm(const float *A, const float *B, float *C, int m, int n, int k) {
        __shared__ float as[16][16], bs[16][16];
        int x = threadIdx.x, y = threadIdx.y;
        const float *a = A + blockIdx.y * 16 * k, *b = B + blockIdx.x * 16, *end = a + k;
        float sum = 0;
        LOOP {
            as[y][x] = a[y * k + x]; bs[y][x] = b[y * n + x];
            __syncthreads();
            for (int p = 0; p < 16; ++p) sum += as[y][p] * bs[p][x];
            __syncthreads();
        END
        C[(blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x] = sum;
    }"""
    launch = run("mm<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);")
    pointers = body.replace("LOOP", "for (; a < end; a += 16, b += 16 * n)").replace("END", "}")
    counter = body.replace("LOOP", "int t = 0; do").replace(
        "END", "t += 16; if (t < k) { a += 16; b += 16 * n; } } while (t < k);"
    )
    for text in (pointers, counter):
        requires = fields(text + launch)["requires"]
        assert set(requires.split(", ")) == {"M % 16 == 0", "N % 16 == 0", "K % 16 == 0"}


def test_a_number_of_tiles_that_is_rounded_up_and_then_divided_requires_multiples() -> None:
    text = NAIVE + run("gemm<<<dim3((n + 7) / 8 / 4, (m + 7) / 8 / 4), dim3(8, 8)>>>(a, b, c, m, n, k);")
    found = fields(text)
    assert found["grid"] == "ceil(N / 8) // 4, ceil(M / 8) // 4"
    assert found["requires"] == "N % (8 * 4) == 0, M % (8 * 4) == 0"


def test_bytes_of_elements_are_no_bytes_of_a_row() -> None:
    moved = NAIVE.replace(
        "A[row * k + i]", "*(const float *)((const char *)(A + row * k) + i * sizeof(float))"
    )
    assert fields(moved + run(f"gemm{SMALL}(a, b, c, m, n, k);"))["args"] == "A, B, C, M, N, K"
    row = NAIVE.replace("A[row * k + i]", "((const float *)((const char *)A + row * bytes))[i]")
    row = row.replace("int k)", "int k, size_t bytes)")
    text = row + run(f"gemm{SMALL}(a, b, c, m, n, k, k);")
    assert fields(text)["args"] == "A, B, C, M, N, K, K * sizeof(element)"


def test_a_padded_size_beside_its_own_size_is_refused() -> None:
    sizes = "constexpr int M = 100, N = 120, K = 70, T = 16, K_padded = K + T - K % T;"
    kernel = NAIVE.replace(", int m, int n, int k", "").replace("i < k", "i < K_padded")
    kernel = (
        kernel.replace("* k", "* K").replace("* n", "* N").replace(">= m", ">= M").replace(">= n", ">= N")
    )
    text = f"""{sizes} {kernel} int main() {{ float *p;
        gemm<<<dim3((N + T - 1) / T, (M + T - 1) / T), dim3(T, T)>>>(p, p, p); }}"""
    assert "K_padded is not K, and gemm uses both" in refusal(text)


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("times", "float s = 0; for (int j = 0; j < n; ++j) s += A[i * n + j] * B[j]; C[i] = s;",
         "times multiplies a matrix and a vector"),
        ("fast_sgemv", "float s = 0; for (int j = 0; j < n; ++j) s += A[i * n + j] * B[j * n]; C[i * n] = s;",
         "fast_sgemv multiplies a matrix and a vector"),
        ("convolve", "float s = 0; for (int j = 0; j < n; ++j) s += A[i - n / 2 + j] * B[j]; C[i] = s;",
         "convolve multiplies by the same numbers in each thread"),
        ("dot", "for (; i < n; i += blockDim.x) atomicAdd(C, A[i] * B[i]);", "dot multiplies two vectors"),
        ("trmm", "float s = 0; for (int j = 0; j < n; ++j) s += A[i * n + j] * B[j * n]; C[i * n] = s;",
         "trmm multiplies a triangular matrix"),
    ],
)  # fmt: skip
def test_other_products_are_named(name: str, body: str, message: str) -> None:
    head = f"__global__ void {name}(const float *A, const float *B, float *C, int n)"
    kernel = f"{head} {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}"
    assert message in refusal(kernel + run(f"{name}<<<(n + 31) / 32, 32>>>(a, b, c, n);", "int n"))


def test_a_sum_of_matrices_in_a_loop_is_no_product() -> None:
    kernel = """__global__ void add(float *A, float *B, float *C, int m, int n) {
        int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
        for (; row < m && col < n; row += gridDim.y, col += gridDim.x)
            C[row * n + col] = A[row * n + col] + B[row * n + col];
    }"""
    text = NAIVE + kernel + run(f"add{SMALL}(a, b, c, m, n); gemm{SMALL}(a, b, c, m, n, k);")
    assert [v.method.entry for v in Selection((), kernels=(text,)).variants()] == ["gemm"]


def test_sizes_may_be_template_arguments() -> None:
    kernel = NAIVE.replace("__global__", "template <int M, int N, int K> __global__")
    kernel = kernel.replace(", int m, int n, int k", "").replace("* k", "* K").replace("* n", "* N")
    kernel = kernel.replace(">= m", ">= M").replace(">= n", ">= N").replace("i < k", "i < K")
    sizes = "constexpr int M = 100, N = 120, K = 140;"
    grid = "dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)"
    text = f"{kernel} int main() {{ {sizes} float *p; gemm<M, N, K><<<{grid}>>>(p, p, p); }}"
    assert fields(text) == {
        "entry": "gemm<M, N, K>",
        "args": "A, B, C",
        "threads": "16, 16",
        "grid": "ceil(N / 16), ceil(M / 16)",
        "sizes": "M=M, N=N, K=K",
    }


def test_a_template_of_the_host_code_has_the_argument_of_its_caller() -> None:
    inner = (
        f"template <int T> void launch({POINTERS}, int m, int n, int k) {{ "
        "gemm<<<dim3((n + T - 1) / T, (m + T - 1) / T), dim3(T, T)>>>(a, b, c, m, n, k); }"
    )
    outer = run("constexpr int edge = 8 * 2; launch<edge>(a, b, c, m, n, k);")
    assert fields(NAIVE + inner + outer)["threads"] == "16, 16"


def test_a_kernel_that_cannot_be_read_costs_only_itself() -> None:
    second = NAIVE.replace("gemm", "narrow").replace("float", "long long")
    text = (
        NAIVE + second + run(f"long long *h; narrow{SMALL}(h, h, h, m, n, k); gemm{SMALL}(a, b, c, m, n, k);")
    )
    (variant,) = Selection((), kernels=(text,)).variants()
    assert variant.method.entry == "gemm"
    assert any("narrow is left out" in remark for remark in variant.method.remarks)
    with pytest.raises(UsageError, match="long long"):
        Selection(
            (),
            kernels=(text.replace(f"gemm{SMALL}(a, b, c, m, n, k);", f"narrow{SMALL}(h, h, h, 1, 1, 1);"),),
        ).variants()


@pytest.mark.parametrize(
    ("extents", "edge"), [("[32][32]", "32"), ("[TILE * TILE]", "TILE"), ("[ALL]", "16")]
)
def test_the_suggested_block_is_as_large_as_the_tile(extents: str, edge: str) -> None:
    constants = "#define TILE 8\n#define ALL (32 * 32)\n"
    kernel = NAIVE.replace("float sum", f"__shared__ float as{extents}; float sum")
    assert f"--threads '{edge}, {edge}' --grid 'ceil(N / {edge}), ceil(M / {edge})'" in refusal(
        constants + kernel
    )


def test_a_macro_may_be_the_block_or_the_grid() -> None:
    macros = "#define BLOCK dim3(8, 8)\n#define GRID(x, y) dim3((x + 7) / 8, (y + 7) / 8)\n"
    found = fields(macros + NAIVE + run("gemm<<<GRID(n, m), BLOCK>>>(a, b, c, m, n, k);"))
    assert (found["threads"], found["grid"]) == ("8, 8", "ceil(N / 8), ceil(M / 8)")


def test_methods_of_matrices_are_sizes() -> None:
    launch = "gemm<<<grid, block>>>(A.data(), B->data(), C.data(), A.rows(), B->cols(), A.cols());"
    extents = "dim3 block(8, 8), grid((B->cols() + 7) / 8, (A.rows() + block.y - 1) / block.y);"
    found = fields(f"{NAIVE}void run(Matrix &A, Matrix *B, Matrix &C) {{ {extents} {launch} }}")
    assert (found["args"], found["grid"]) == ("A, B, C, M, N, K", "ceil(N / 8), ceil(M / 8)")


def test_a_function_of_a_missing_header_that_rounds_up_is_known_by_its_name() -> None:
    text = '#include "missing.h"\n' + NAIVE
    launch = "gemm<<<dim3(CEIL_DIV(n, 8), util::div_up(m, 8)), dim3(8, 8)>>>(a, b, c, m, n, k);"
    assert fields(text + run(launch))["grid"] == "ceil(N / 8), ceil(M / 8)"
    assert "lacks grid" in refusal(text + run(launch.replace("CEIL_DIV", "blocks_for")))


def test_a_constant_of_several_structs_has_the_value_of_the_one_that_is_named() -> None:
    structs = "struct Small { static constexpr int T = 8; }; struct Large { static constexpr int T = 32; };"
    grid = "dim3((n + Large::T - 1) / Large::T, m / Small::T)"
    launch = f"gemm<<<{grid}, dim3(Large::T, Small::T)>>>(a, b, c, m, n, k);"
    found = fields(structs + NAIVE + run(launch))
    assert (found["threads"], found["grid"]) == ("32, 8", "ceil(N / 32), M // 8")
    both = "namespace one { constexpr int T = 8; } namespace two { constexpr int T = 32; "
    found = fields(both + NAIVE + run("gemm<<<dim3(n / T, m / T), dim3(T, T)>>>(a, b, c, m, n, k);") + "}")
    assert found["threads"] == "32, 32"


def test_of_two_launches_the_one_for_large_matrices_is_taken() -> None:
    large = "gemm<<<dim3((n + 31) / 32, (m + 31) / 32), dim3(32, 32)>>>(a, b, c, m, n, k);"
    small = f"gemm{SMALL}(a, b, c, m, n, k);"
    for choice in (f"if (m >= 128 and n >= 128) {large} else {small}", f"if (m < 128) {small} else {large}"):
        assert fields(NAIVE + run(choice))["threads"] == "32, 32"


def test_a_launch_for_all_other_sizes_than_odd_ones_requires_multiples() -> None:
    kernel = NAIVE.replace("if (row >= m || col >= n) return;", "if (EDGE && (row >= m || col >= n)) return;")
    kernel = kernel.replace("__global__", "template <bool EDGE> __global__")
    launch = f"""constexpr int T = 8; const bool is_odd = (m % T != 0) || (n % T != 0);
        if (is_odd) gemm<true>{SMALL}(a, b, c, m, n, k); else gemm<false>{SMALL}(a, b, c, m, n, k);"""
    found = fields(kernel + run(launch))
    assert (found["entry"], found["requires"]) == ("gemm<false>", "M % 8 == 0, N % 8 == 0")


def test_the_last_tile_may_be_computed_behind_the_loop() -> None:
    kernel = """__global__ void gemm(const float *A, const float *B, float *C, int m, int n, int k) {
        __shared__ float as[16][16], bs[16][16];
        int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
        float sum = 0;
        as[y][x] = A[row * k + x]; bs[y][x] = B[y * n + col];
        __syncthreads();
        for (int t = 0; t < k - 16; t += 16) {
            for (int p = 0; p < 16; ++p) sum += as[y][p] * bs[p][x];
            __syncthreads();
            as[y][x] = A[row * k + t + 16 + x]; bs[y][x] = B[(t + 16 + y) * n + col];
            __syncthreads();
        }
        for (int p = 0; p < 16; ++p) sum += as[y][p] * bs[p][x];
        C[row * n + col] = sum;
    }"""
    launch = "gemm<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);"
    requires = fields(kernel + run(launch))["requires"]
    assert set(requires.split(", ")) == {"M % 16 == 0", "N % 16 == 0", "K % 16 == 0"}


def test_template_arguments_of_a_kernel_that_is_passed_are_those_of_the_caller() -> None:
    kernel = NAIVE.replace("__global__", "template <int T> __global__")
    inner = f"""template <typename Kernel>
    void timed(Kernel kernel, dim3 block, {POINTERS}, int m, int n, int k) {{
        dim3 grid((n + block.x - 1) / block.x, (m + block.y - 1) / block.y);
        kernel<<<grid, block>>>(a, b, c, m, n, k); }}"""
    outer = run("constexpr int edge = 8; timed(gemm<edge>, dim3(edge, edge), a, b, c, m, n, k);")
    found = fields(kernel + inner + outer)
    assert (found["entry"], found["threads"]) == ("gemm<8>", "8, 8")


def test_matrices_of_which_only_one_lies_row_by_row_are_asked_for() -> None:
    kernel = """__global__ void nt(const float *A, const float *B, float *C, int m, int n, int k) {
        int i = threadIdx.x, j = threadIdx.y;
        A += blockIdx.x * 16; B += blockIdx.y * 16; C += blockIdx.x * 16 + blockIdx.y * 16 * m;
        float sum = 0;
        for (int p = 0; p < k; ++p, A += m, B += n) sum += A[i] * B[j];
        C[i + j * m] = sum;
    }"""
    launch = run("nt<<<dim3(m / 16, n / 16), dim3(16, 16)>>>(a, b, c, m, n, k);")
    assert "nt has A and C by column, and B by row: say so with --layout" in refusal(kernel + launch)


def test_a_size_that_is_blocks_times_threads_is_a_size() -> None:
    kernel = NAIVE.replace("int m, int n, int k", "int n").replace("* k", "* n").replace(">= m", ">= n")
    main = """int main() { int n = BLOCKS * THREADS, bytes = n * n * sizeof(float); float *p;
        cudaMalloc(&p, bytes); gemm<<<dim3(BLOCKS, BLOCKS), dim3(THREADS, THREADS)>>>(p, p, p, n); }"""
    found = fields("#define BLOCKS 4\n#define THREADS 8\n" + kernel.replace("i < k", "i < n") + main)
    assert (found["args"], found["grid"]) == ("A, B, C, N", "N // THREADS, M // THREADS")
