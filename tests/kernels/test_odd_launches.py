"""Launches that host code writes in unusual ways are worked out, and nothing is added to wrong ones."""

import pytest

from cudamm.source.preprocessed import preprocessed
from cudamm.source.worked_out_launch import worked_out_launches

BODY = """{
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= M || c >= N) return;
    float s = 0;
    for (int k = 0; k < K; k++) s += A[r * K + k] * B[k * N + c];
    C[r * N + c] = s;
}
"""
KERNEL = f"__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K) {BODY}"
HOST = "void run(const float *A, const float *B, float *C, int M, int N, int K)"
USUAL = {"args": "A, B, C, M, N, K", "threads": "16, 16", "grid": "ceil(N / 16), ceil(M / 16)"}


def fields_of(source: str) -> dict[str, str]:
    (launch,) = worked_out_launches(source)
    assert launch.unknown == ""
    return dict(launch.fields)


@pytest.mark.parametrize(
    "statements",
    [
        "void *args[] = {&A, &B, &C, &M, &N, &K};"
        "cudaLaunchKernel((const void *)gemm, dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), args, 0, 0);",
        "cudaLaunchConfig_t config = {0}; config.gridDim = dim3((N + 15) / 16, (M + 15) / 16);"
        "config.blockDim = dim3(16, 16); cudaLaunchKernelEx(&config, gemm, A, B, C, M, N, K);",
        "auto kernel = gemm; dim3 b(16, 16), g((N + 15) / 16, (M + 15) / 16);"
        "kernel<<<g, b>>>(A, B, C, M, N, K);",
        "dim3 b(/* x */ 16, 16), g((N + 15) / 16, /* rows */ (M + 15) / 16);"
        "gemm<<<g /* grid */, b /* block */>>>(A, /* B: */ B, C, M, N, K);",
        "int dims[3] = {M, N, K}; dim3 b(16, 16), g((N + 15) / 16, (M + 15) / 16, layers);"
        "gemm<<<g, b>>>(A, B, C, M, N, K);",
    ],
)
def test_other_forms_of_a_launch_are_read(statements: str) -> None:
    fields = fields_of(f"{KERNEL} {HOST} {{ {statements} }}")
    assert fields | {"grid": fields["grid"].removesuffix(", 1")} == USUAL


def test_functions_of_the_host_code_that_compute_a_grid_are_read() -> None:
    assert (
        fields_of(f"""{KERNEL}
        int div_up(int a, int b) {{ if (a % b == 0) return a / b; return a / b + 1; }}
        dim3 grid_for(int n, int m, dim3 b) {{ return dim3(div_up(n, b.x), div_up(m, b.y)); }}
        {HOST} {{ dim3 b(16, 16); gemm<<<grid_for(N, M, b), b>>>(A, B, C, M, N, K); }}""")
        == USUAL
    )


def test_a_kernel_that_is_passed_to_a_function_is_found() -> None:
    assert (
        fields_of(f"""{KERNEL} typedef void (*Kernel)(const float *, const float *, float *, int, int, int);
        void bench(Kernel kernel, const float *A, const float *B, float *C, int M, int N, int K)
        {{ dim3 b(16, 16), g((N + 15) / 16, (M + 15) / 16); kernel<<<g, b>>>(A, B, C, M, N, K); }}
        {HOST} {{ bench(gemm, A, B, C, M, N, K); }}""")
        == USUAL
    )


def test_a_macro_that_launches_is_replaced_by_its_text() -> None:
    source = f"""#define LAUNCH(kernel, grid, block, ...) \\
            do {{ kernel<<<grid, block>>>(__VA_ARGS__); check(#kernel); }} while (0)
        {KERNEL} {HOST} {{ dim3 b(16, 16), g((N + 15) / 16, (M + 15) / 16);
            LAUNCH(gemm, g, b, A, B, C,
                   M, N, K); }}"""
    assert fields_of(source) == USUAL
    assert preprocessed(source).count("\n") == source.count("\n")


def test_a_macro_that_launches_itself_ends() -> None:
    assert preprocessed("#define L(x) L(x<<<1, 1>>>(x))\nvoid f() { L(L(a)); }")


def test_alternatives_that_are_not_compiled_are_not_read() -> None:
    code = preprocessed(
        "#define T 32\n#if T > 16 && !defined(SMALL)\nint a;\n#elif T\nint b;\n#else\nint c;\n#endif\n"
        "#ifdef __CUDA_ARCH__\nint d;\n#else\nint e;\n#endif\n"
        "#ifndef T\n#define U 1\n#endif\n#ifdef U\nint f;\n#endif"
    )
    assert [name for name in "abcdef" if f"int {name};" in code] == ["a", "d", "e"]


@pytest.mark.parametrize(
    "dims", ["Dims d; d.m = M; d.n = N; d.k = K;", "Dims d = {M, N, K};", "Dims d{.m = M, .n = N, .k = K};"]
)
def test_members_of_a_struct_have_the_values_that_the_host_code_gives_them(dims: str) -> None:
    kernel = KERNEL.replace("int M, int N, int K", "Dims d").replace("M ", "d.m ").replace("N)", "d.n)")
    kernel = kernel.replace("N +", "d.n +").replace("* K", "* d.k").replace("< K", "< d.k")
    fields = fields_of(f"""struct Dims {{ int m, n, k; }}; {kernel}
        {HOST} {{ {dims} gemm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, d); }}""")
    assert fields == USUAL | {"args": "A, B, C, {M, N, K}"}


def test_divisions_in_a_grid_without_blocks_for_small_matrices_are_meant_for_multiples() -> None:
    launch = "gemm<<<dim3((N / 4 + 15) / 16, M / (2 * 8)), dim3(16, 16)>>>(A, B, C, M, N, K);"
    assert fields_of(f"{KERNEL} {HOST} {{ {launch} }}")["requires"] == "N % 4 == 0"  # it checks row < M
    unchecked = KERNEL.replace("if (r >= M || c >= N) return;", "")
    fields = fields_of(f"{unchecked} {HOST} {{ {launch} }}")
    assert fields["requires"].startswith("N % 4 == 0, M % (2 * 8) == 0")
    main = f"int main() {{ float *A, *B, *C; int M = 1000, N = 1002, K = 10; {launch} }}"
    assert "requires" not in fields_of(f"{KERNEL} {main}")  # the program's own sizes are no multiples


@pytest.mark.parametrize(
    "statement",
    ["T[j * K + i] = h[i * N + j];", "T[i + j * K] = h[j + i * N];", "flat_transpose(h, T, K, N);"],
)
def test_a_matrix_that_the_host_transposes_is_stored_by_columns(statement: str) -> None:
    kernel = KERNEL.replace("B[k * N + c]", "B[c * K + k]")
    fields = fields_of(f"""{kernel} int main() {{ int M = 10, N = 20, K = 30; float *A, *B, *C, *h, *T;
        for (int i = 0; i < K; i++) for (int j = 0; j < N; j++) {statement}
        cudaMemcpy(B, T, N * K * sizeof(float), cudaMemcpyHostToDevice);
        gemm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K); }}""")
    assert fields == USUAL | {"layout": "B=column"}


def test_the_bytes_of_a_row_that_the_runtime_sets_are_those_that_were_asked_for() -> None:
    kernel = KERNEL.replace("float *C,", "float *C, size_t pitch,")
    fields = fields_of(f"""{kernel} {HOST} {{ size_t pitch; float *copy;
        cudaMallocPitch(&copy, &pitch, K * sizeof(float), M);
        gemm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(copy, B, C, pitch, M, N, K); }}""")
    assert fields["args"] == "A, B, C, (K * sizeof(element)), M, N, K"


def test_a_block_as_large_as_the_matrix_is_for_matrices_that_fit_in_it() -> None:
    kernel = KERNEL.replace("int M, int N, int K", "int M, int n, int K").replace("int M", "int m")
    kernel = kernel.replace("(r >= M || c >= N)", "(r >= N)").replace("int m, int n, int K", "int K")
    source = f"#define N 16\n{kernel} int main() {{ float *A, *B, *C; gemm<<<1, dim3(N, N)>>>(A, B, C, N); }}"
    assert "N * N <= 1024" in fields_of(source)["requires"].replace("(", "").replace(")", "")
    assert "1024" not in fields_of(source.replace("N 16", "N 64")).get("requires", "")


def test_a_sum_in_a_function_that_the_kernel_calls_makes_it_a_product() -> None:
    loop = "for (int k = 0; k < K; k++) s += A[r * K + k] * B[k * N + c];"
    function = "__device__ float dot(const float *a, const float *b, int K, int N) "
    function += "{ float s = 0; for (int k = 0; k < K; k++) s += a[k] * b[k * N]; return s; }"
    kernel = KERNEL.replace(loop, "s = dot(A + r * K, B + c, K, N);")
    launch = "gemm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);"
    assert fields_of(f"{function} {kernel} {HOST} {{ {launch} }}") == USUAL


@pytest.mark.slow
@pytest.mark.parametrize(
    "definitions",
    [
        "".join(f"const int x{i} = x{i + 1} + x{i + 1}; " for i in range(50)),
        "const int x0 = y; const int y = x0 + x0;",
        "int x(int n) { return y(n) + y(n); } int y(int n) { return x(n) + x(n); } const int x0 = x(1);",
    ],
)
def test_endless_definitions_are_given_up_soon(definitions: str) -> None:
    launch = f"{HOST} {{ gemm<<<x0, 16>>>(A, B, C, M, N, K); }}"
    assert worked_out_launches(f"{KERNEL} {definitions} {launch}")[0].unknown
