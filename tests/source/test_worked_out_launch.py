"""What host code says about the launch of a kernel."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from cudamm.errors import UsageError
from cudamm.kernels.header import parse_method
from cudamm.kernels.launch_plan import Launch, plan
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.problem import Shape
from cudamm.kernels.saved_launch import as_toml, saved_path
from cudamm.kernels.selection import Selection
from cudamm.kernels.variant import variants
from cudamm.source.simplified_expression import simplified

NAIVE = """
__global__ void gemm(const float *A, const float *B, float *C, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[i * n + col];
    C[row * n + col] = sum;
}
"""
SQUARE = """
__global__ void gemm(float *P, const float *M, const float *N, int width) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < width && j < width) {
        float sum = 0;
        for (int k = 0; k < width; ++k) sum += M[i * width + k] * N[k * width + j];
        P[i * width + j] = sum;
    }
}
"""


def fields(text: str) -> dict[str, str]:
    """Return the fields of the launch that a text says, without those of the header."""
    return dict(parse_method(text, Path("k.cu")).found_fields)


def launched(text: str, m: int = 33, n: int = 65, k: int = 129) -> Launch:
    method = parse_method(text, Path("k.cu"))
    return plan(variants(method, {})[0], Shape(m, n, k), ELEMENT_TYPES[method.element_types[0]])


def host(
    launch: str, before: str = "", arguments: str = "float *a, float *b, float *c, int m, int n, int k"
) -> str:
    return f"{before}{NAIVE}\nvoid run({arguments}) {{\n{launch}\n}}\n"


def square_program(width: int) -> str:
    launch = "gemm<<<dim3(w / 16, w / 16), dim3(16, 16)>>>(p, m, n, w);"
    return f"{SQUARE}int main() {{ int w = {width}; float *m, *n, *p; {launch} }}"


CALL = "<<<grid, block>>>(a, b, c, m, n, k);"
BLOCKS = [
    ("dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);", "16, 16", "ceil(N / 16), ceil(M / 16)"),
    ("dim3 block = {16, 8}; dim3 grid{(n - 1) / 16u + 1, (m - 1) / 8u + 1, 1};",
     "16, 8", "ceil(N / 16), ceil(M / 8)"),
    ("dim3 block(16, 16); dim3 grid(ceil(n / 16.0), ceil((float)m / block.y));",
     "16, 16", "ceil(N / 16), ceil(M / 16)"),
    ("auto block = dim3(32, 4); auto grid = dim3(n / 32 + (n % 32 != 0), (m >> 2) + !!(m % 4 > 0));",
     "32, 4", None),
    ("int bx = n / 16; if (n % 16) bx++; dim3 block(16, 16), grid(bx, (m % 16 == 0) ? m / 16 : m / 16 + 1);",
     "16, 16", "ceil(N / 16), ceil(M / 16)"),
    ("dim3 block, grid; block.x = block.y = 16; block.y = 16; grid.x = (n + 15) / 16; "
     "grid.y = (m + 15) / 16;",
     None, "ceil(N / 16), ceil(M / 16)"),
    ("auto up = [](int x, int y) { return (x + y - 1) / y; }; dim3 block(8, 8), grid(up(n, 8), up(m, 8));",
     "8, 8", "ceil(N / 8), ceil(M / 8)"),
    ("unsigned t = 16; dim3 block(t, t), "
     "grid(unsigned((n + t - 1) / t), static_cast<unsigned>((m + t - 1) / t));",
     "16, 16", "ceil(N / 16), ceil(M / 16)"),
]  # fmt: skip


@pytest.mark.parametrize(("dims", "threads", "grid"), BLOCKS)
def test_blocks_and_grids_are_read_in_the_forms_that_people_write(
    dims: str, threads: str | None, grid: str | None
) -> None:
    text = host(f"{dims}\ngemm{CALL}")
    found = fields(text)
    assert threads in (None, found["threads"]) and grid in (None, found["grid"])
    assert found["args"] == "A, B, C, M, N, K"
    launch = launched(text)
    assert launch.grid == (-(-65 // launch.block[0]), -(-33 // launch.block[1]), 1)


def test_constants_of_the_file_keep_their_names_and_can_be_swept() -> None:
    before = (
        "#define CEIL_DIV(x, y) (((x) + (y) - 1) / (y))\nconst int TILE = 8;\nenum { TWICE = 2 * TILE };\n"
    )
    text = host(
        "dim3 block(TWICE, TILE);\n"
        "gemm<<<dim3(CEIL_DIV(n, TWICE), CEIL_DIV(m, TILE)), block>>>(a, b, c, m, n, k);",
        before,
    )
    assert fields(text) == {
        "args": "A, B, C, M, N, K",
        "threads": "TWICE, TILE",
        "grid": "ceil(N / TWICE), ceil(M / TILE)",
    }
    assert launched(text).block == (16, 8, 1)
    two, three = Selection((), kernels=(text,), defines=("TILE=2,3",)).variants()
    assert plan(two, Shape(10, 10, 10), ELEMENT_TYPES["float32"]).block == (4, 2, 1)
    assert plan(three, Shape(10, 10, 10), ELEMENT_TYPES["float32"]).block == (6, 3, 1)


@pytest.mark.parametrize(
    ("parameters", "index", "args"),
    [
        ("int m, int n, int k", ("m", "n", "k"), "M, N, K"),
        ("int m, int n, int p", ("m", "p", "n"), "M, K, N"),  # A is m x n, B is n x p
        ("int rowsA, int colsA, int colsB", ("rowsA", "colsB", "colsA"), "M, K, N"),
        ("int wA, int wB, int hA", ("hA", "wB", "wA"), "K, N, M"),
        ("int x, int y, int z", ("x", "z", "y"), "M, K, N"),
        ("int N, int M, int K", ("N", "K", "M"), "M, K, N"),
    ],
)
def test_sizes_get_their_roles_from_what_the_kernel_does(
    parameters: str, index: tuple[str, ...], args: str
) -> None:
    kernel = NAIVE.replace("int m, int n, int k", parameters)
    for old, new in zip(("m", "n", "k"), ("@m", "@n", "@k"), strict=True):
        kernel = (
            kernel.replace(f">= {old}", f">= {new}")
            .replace(f"* {old} ", f"* {new} ")
            .replace(f"< {old}", f"< {new}")
        )
    for old, new in zip(("@m", "@n", "@k"), index, strict=True):
        kernel = kernel.replace(old, new)
    names = ", ".join(word.split()[-1] for word in parameters.split(","))
    launch = f"gemm<<<dim3(({index[1]} + 7) / 8, ({index[0]} + 7) / 8), dim3(8, 8)>>>(a, b, c, {names});"
    found = fields(f"{kernel}\nvoid run(float *a, float *b, float *c, {parameters}) {{ {launch} }}")
    assert (found["args"], found["grid"]) == (f"A, B, C, {args}", "ceil(N / 8), ceil(M / 8)")


def test_a_square_kernel_requires_squares() -> None:
    text = square_program(512)
    assert fields(text) == {
        "args": "C, A, B, N",
        "threads": "16, 16",
        "grid": "N // 16, N // 16",
        "requires": "M == N, N == K, M % 16 == 0, N % 16 == 0, K % 16 == 0",
    }


def test_sizes_that_are_no_multiples_are_not_required_to_be() -> None:
    """The grid of this program is rounded down, which is its mistake."""
    text = square_program(500)
    assert fields(text)["requires"] == "M == N, N == K"


def test_a_size_that_is_a_constant_of_the_kernel_is_compiled_for_each_problem() -> None:
    text = (
        "#define WIDTH 512\n" + SQUARE.replace(", int width", "").replace("width", "WIDTH")
        + "int main() { float *d_A, *d_B, *d_C; cudaMalloc(&d_A, WIDTH * WIDTH * sizeof(float));"
        " gemm<<<dim3(WIDTH / 8, WIDTH / 8), dim3(8, 8)>>>(d_C, d_A, d_B); }"
    )  # fmt: skip
    assert fields(text)["sizes"] == "WIDTH=N"
    method = parse_method(text, Path("k.cu"))
    (variant,) = variants(method, {})
    assert variant.compiled_values(ELEMENT_TYPES["float32"], (64, 64, 64)) == {"WIDTH": 64}
    assert variant.compiled_values(ELEMENT_TYPES["float32"], None) == {} and str(variant) == "k"


def test_host_names_tell_which_matrix_is_passed() -> None:
    """The kernel calls its first matrix A, and the program passes B there: that is its mistake, and stays."""
    text = (
        NAIVE + "int main() { int m = 8, n = 9, k = 7; float *d_A, *d_B, *d_C; "
        "gemm<<<1, dim3(16, 16)>>>(d_B, d_A, d_C, m, n, k); }"
    )
    assert fields(text)["args"].startswith("B, A, C")


def test_structs_by_value_get_their_members() -> None:
    text = """typedef struct { int width, height; float *elements; } Matrix;
    __global__ void mul(Matrix A, Matrix B, Matrix C) {
        int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
        float sum = 0;
        for (int e = 0; e < A.width; ++e)
            sum += A.elements[row * A.width + e] * B.elements[e * B.width + col];
        C.elements[row * C.width + col] = sum;
    }
    void run(const Matrix A, const Matrix B, Matrix C) {
        Matrix d_A, d_B, d_C;
        dim3 block(16, 16), grid(B.width / block.x, A.height / block.y);
        mul<<<grid, block>>>(d_A, d_B, d_C);
    }"""
    found = fields(text)
    assert found["args"] == "{K, M, A}, {N, K, B}, {N, M, C}" and found["grid"] == "N // 16, M // 16"


COLUMNS = """
__global__ void cm(int M, int N, int K, float alpha, const float *A, int lda, const float *B, int ldb,
                   float beta, float *C, int ldc) {
    int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
    if (i < M && j < N) {
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += A[i + k * lda] * B[k + j * ldb];
        C[i + j * ldc] = alpha * sum + beta * C[i + j * ldc];
    }
}
void run(int M, int N, int K, const float *A, const float *B, float *C) {
    cm<<<dim3((M + 15) / 16, (N + 15) / 16), dim3(16, 16)>>>(M, N, K, 1.f, A, M, B, K, 0.f, C, M);
}
"""


def test_column_major_kernels_are_known_by_their_indices() -> None:
    found = fields(COLUMNS)
    assert found["layout"] == "A=column, B=column, C=column"
    assert found["args"] == "M, N, K, alpha, A, M, B, K, beta, C, M"
    # One matrix that is read by column is a mistake more often than a choice.
    assert "layout" not in fields(
        host("gemm<<<1, dim3(16, 16)>>>(a, b, c, m, n, k);").replace("B[i * n + col]", "B[col * k + i]")
    )


def test_the_kernel_that_a_condition_chooses_is_taken() -> None:
    text = (
        """template <int BS> """
        + NAIVE.strip()
        + """
    int go(int argc, float *a, float *b, float *c, int m, int n, int k, int size) {
        if (size == 16) gemm<16><<<dim3(n / 16, m / 16), dim3(size, size)>>>(a, b, c, m, n, k);
        else gemm<32><<<dim3(n / 32, m / 32), dim3(size, size)>>>(a, b, c, m, n, k);
    }
    int main(int argc, char **argv) { int size = 32; return go(argc, 0, 0, 0, 64, 64, 64, size); }"""
    )
    found = fields(text)
    assert (found["entry"], found["threads"]) == ("gemm<32>", "32, 32")


def test_a_kernel_that_adds_to_c_gets_zeros_only_if_the_host_sets_them() -> None:
    adds = NAIVE.replace("C[row * n + col] = sum", "atomicAdd(&C[row * n + col], sum)")
    launch = "gemm<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k);"
    text = f"{adds}\nvoid run(float *a, float *b, float *c, int m, int n, int k) {{ %s {launch} }}"
    assert fields(text % "cudaMemset(c, 0, m * n * sizeof(float));")["initial-c"] == "0"
    main = "int main() { float *a, *b, *c; cudaMalloc(&c, 64); %s run(a, b, c, 8, 8, 8); }"
    assert "initial-c" not in fields(text % "" + main % "")
    for zeroed in ("cudaMemset(c, 0, 64);", "clear(c);", "zero<<<1, 64>>>(c);"):
        before = """__global__ void zero(float *p) { p[threadIdx.x] = 0; }
        void clear(float *p) { cudaMemset(p, 0, 64); }
        """
        assert fields(before + text % "" + main % zeroed)["initial-c"] == "0", zeroed
    unknown = parse_method(text % "", Path("k.cu"))
    assert unknown.adds_to_zeros and "c is assumed to hold zeros" in unknown.remarks[0]


def test_matrices_that_are_variables_of_the_file_become_parameters() -> None:
    text = """#define H 30
    #define W 20
    __device__ float d_A[H][W]; __device__ float d_B[W][H]; __device__ float d_C[H][H];
    __global__ void rows() {
        int y = blockIdx.x * 64 + threadIdx.x;
        if (y < H) for (int x = 0; x < H; ++x) {
            float sum = 0;
            for (int k = 0; k < W; ++k) sum += d_A[y][k] * d_B[k][x];
            d_C[y][x] = sum;
        }
    }
    int main() { rows<<<(H + 63) / 64, 64>>>(); }"""
    found = fields(text)
    assert (found["args"], found["threads"]) == ("A, B, C", "64")
    assert found["sizes"] == "W=K, H=N" and found["requires"] == "M == N"


SMALL, LARGE = "ceil(N / 8), ceil(M / 8)", "ceil(N / 32), ceil(M / 16)"
AT_LAUNCH = {
    "a scope of its own": "{ dim3 block(32, 16); other(block); } dim3 block(8, 8); LAUNCH",
    "assigned again": "dim3 block(32, 16); other(block); block = dim3(8, 8); LAUNCH",
    "a later value": "dim3 block(8, 8); LAUNCH block = dim3(32, 16);",
    "hidden in a block": "dim3 block(8, 8); { dim3 block(32, 16); } LAUNCH",
    "the branch of the launch": "dim3 block; if (m > n) block = dim3(8, 8); else block = dim3(32, 16); "
    "if (m > n) LAUNCH",
    "members one by one": "dim3 block(32, 16); block.x = 8; block.y = 8; LAUNCH",
    "a lambda": "dim3 block(32, 16); auto go = [&]() { dim3 block(8, 8); LAUNCH };",
    "each turn of a loop": "dim3 block(32, 16); for (int i = 0; i < 3; i++) { block = dim3(8, 8); LAUNCH }",
}


@pytest.mark.parametrize("body", AT_LAUNCH.values(), ids=AT_LAUNCH)
def test_variables_have_the_values_that_they_have_at_the_launch(body: str) -> None:
    launch = (
        "gemm<<<dim3((n + block.x - 1) / block.x, (m + block.y - 1) / block.y), block>>>(a, b, c, m, n, k);"
    )
    found = fields(host(body.replace("LAUNCH", launch)))
    assert (found["threads"], found["grid"]) == ("8, 8", SMALL)


UNKNOWN_AT_LAUNCH = {
    "another branch": "dim3 block(8, 8); if (m > n) block = dim3(32, 16);",
    "another branch, a member": "dim3 block(8, 8); if (m > n) block.x = 32;",
    "a loop": "dim3 block(8, 8); while (m > n) { block = dim3(32, 16); }",
    "an address": "dim3 block(8, 8); choose(&block);",
    "the address of a member": "dim3 block(8, 8); choose(&block.x);",
    "an address with a cast": "int t = 8; choose((int *)&t); dim3 block(t, t);",
    "a pointer": "int t = 8, *p = &t; *p = 16; dim3 block(t, t);",
    "a reference": "int t = 8; int &r = t; r = 16; dim3 block(t, t);",
    "a reference to a dim3": "dim3 block(8, 8); dim3 &r = block; r.x = 32;",
    "a swap": "dim3 block(8, 32); std::swap(block.x, block.y);",
    "a later value of what it was computed from": "int t = 8; dim3 block(t, t); t = 16;",
    "a variable of an inner block": "dim3 block(8, 8); { int t = 16; block = dim3(t, t); }",
    "a value that uses itself": "int t = 4; t = t + 4; dim3 block(t, t);",
    "an assignment with an operator": "int t = 4; t *= 2; dim3 block(t, t);",
    "an assignment behind &&": "int t = 8; m > n && (t = 16); dim3 block(t, t);",
    "an assignment in a declaration": "int t = 8; int old = t++; dim3 block(t, t);",
    "a lambda": "int t = 8; auto f = [&] { t = 16; }; f(); dim3 block(t, t);",
    "a lambda that is called later": "dim3 block(8, 8); auto go = [&] { LAUNCH }; block = dim3(4, 4); go();",
    "a switch": "dim3 block; switch (m) { case 1: block = dim3(8, 8); break; default: block = dim3(4, 4); }",
    "a condition that changes": "int v = 0; dim3 block(8, 8); if (v == 1) block = dim3(16, 16); v = 1; "
    "if (v == 1) { LAUNCH }",
    "a condition with an assignment": "int t = 8; if ((t = 16) > 1) { dim3 block(t, t); LAUNCH }",
    "a variable of a loop": "int t = 8; for (int t : {4, 16}) { dim3 block(t, t); LAUNCH }",
    "a second turn of a loop": "dim3 block; for (int i = 0; i < 2; i++) { LAUNCH block = dim3(8, 8); }",
    "several increments": "int t = 8; if (m % 16) t++; if (m % 32) t++; dim3 block(t, t);",
    "an increment with an else": "int t = 8; if (m % 16) t++; else t = 5; dim3 block(t, t);",
    "an increment of what it was computed from": "int t = 8; dim3 block(t, t); if (m % 16) t++;",
    "a member of what it was computed from": "dim3 tile(8, 8), block(tile.x, 4); tile.x = 16;",
    "a structured binding": "auto [t, u] = sizes(); dim3 block(t, u);",
}


@pytest.mark.parametrize("body", UNKNOWN_AT_LAUNCH.values(), ids=UNKNOWN_AT_LAUNCH)
def test_a_value_that_may_be_another_one_is_unknown(body: str) -> None:
    launch = "gemm<<<1, block>>>(a, b, c, m, n, k);"
    text = host(body.replace("LAUNCH", launch) if "LAUNCH" in body else f"{body} {launch}")
    with pytest.raises(UsageError, match=r"lacks threads and grid: .*threads"):
        parse_method(text, Path("k.cu"))


@pytest.mark.parametrize(
    ("body", "threads"),
    [
        ("int t = 8; if (argc > 1) t = atoi(argv[1]); dim3 block(t, t);", "8, 8"),
        ('int t = 8; scanf("%d", &t); dim3 block(t, t);', "8, 8"),
        ("int t = atoi(argv[1]); dim3 block(t, t);", "16, 16"),
        ("int block_x = 32, block_y = 8; dim3 block(block_x, block_y);", "32, 8"),
        ("dim3 block(8, 8); int block_x = 64;", "8, 8"),
        ("{ int block = 256; other<<<1, block>>>(); } dim3 block(32, 8);", "32, 8"),
        ("const int K = 8; dim3 block(K, 4);", "8, 4"),
        ("dim3 block(010, 8);", "8, 8"),
    ],
)
def test_what_the_user_may_choose_has_the_value_of_the_program(body: str, threads: str) -> None:
    assert fields(host(f"{body} gemm<<<1, block>>>(a, b, c, m, n, k);"))["threads"] == threads


def test_a_constant_that_is_called_like_a_size_is_no_size() -> None:
    launch = "gemm<<<dim3((n + K - 1) / K, (m + 7) / 8), dim3(K, 8)>>>(a, b, c, m, n, k);"
    found = fields(host(launch, "#define K 32\n"))
    assert (found["threads"], found["grid"]) == ("32, 8", "ceil(N / 32), ceil(M / 8)")


def test_a_launch_without_a_block_or_with_unknown_parts_is_no_launch() -> None:
    extended = (
        "cudaLaunchConfig_t c; c.blockDim = dim3(8, 8); c.dynamicSmemBytes = 16; "
        "cudaLaunchKernelEx(&c, gemm, a, b, c, m, n, k);"
    )
    for launch in ("gemm<<<1>>>(a, b, c, m, n, k);", extended):
        with pytest.raises(UsageError, match=r"lacks threads and grid"):
            parse_method(host(launch), Path("k.cu"))


def test_a_comment_may_be_in_another_encoding(tmp_path: Path) -> None:
    launch = "gemm<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k);"
    (tmp_path / "latin.cu").write_bytes(f"// Matrizen für die Übung\n{host(launch)}".encode("latin-1"))
    (variant,) = Selection((), kernels=(tmp_path / "latin.cu",)).variants()
    assert dict(variant.method.found_fields)["grid"] == SMALL


def test_the_size_is_padded_to_what_the_host_rounds_it_up_to() -> None:
    launch = "int wide = (n + 15) / 16 * 16; gemm<<<dim3((wide + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>"
    assert fields(host(f"{launch}(a, b, c, m, wide, k);"))["requires"] == "N % 16 == 0"


@pytest.mark.parametrize(
    "accumulates",
    [
        "sum += ",
        "sum = sum + ",
        "sum\n+= ",
        "sum += A[blockDim.x * 0] * 0 + ",
        "C[0] = C[0] + ",
        "C[0] = sum + C[0]; sum = sum + ",
    ],
)
def test_a_product_may_add_up_in_any_form(accumulates: str) -> None:
    launch = "gemm<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k);"
    assert fields(host(launch).replace("sum += ", accumulates))["args"] == "A, B, C, M, N, K"


def test_an_elementwise_kernel_is_no_product() -> None:
    other = """__global__ void hadamard(const float *a, const float *b, float *c, int n) {
        for (int i = blockIdx.x; i < n; i += gridDim.x * 1) c[i] = a[i] * b[i];
    }
    """
    launch = "gemm<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k);"
    text = host(f"hadamard<<<1, 64>>>(a, b, c, n); {launch}", other)
    (variant,) = Selection((), kernels=(text,)).variants()
    assert variant.method.entry == "gemm"


def test_arguments_that_the_kernel_does_not_use_and_bytes_of_a_row_are_passed() -> None:
    parameters = "int m, int n, int k, size_t pitch, char mode"
    kernel = NAIVE.replace("int m, int n, int k", parameters).replace(
        "* n + col]", "* (pitch / sizeof(float)) + col]", 1
    )
    launch = "gemm<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k, pitch_B, ask());"
    arguments = "float *a, float *b, float *c, int m, int n, int k, size_t pitch_B"
    found = fields(f"{kernel}void run({arguments}) {{ {launch} }}")
    assert found["args"] == "A, B, C, M, N, K, N * sizeof(element), 0"


def test_alpha_and_beta_of_any_type_and_pitches_of_structs_have_their_meaning() -> None:
    scaled = NAIVE.replace("int k)", "int k, int alpha, int beta)").replace(
        "= sum;", "= alpha * sum + beta * C[0];"
    )
    launch = "gemm<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k, p->alpha, p->beta);"
    text = f"{scaled}void run(float *a, float *b, float *c, int m, int n, int k, Data *p) {{ {launch} }}"
    assert fields(text)["args"] == "A, B, C, M, N, K, alpha, beta"
    struct = """struct Mat { int w, h; size_t pitch; float *data; };
    __global__ void mul(Mat A, Mat B, Mat C) {
        int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
        float sum = 0;
        for (int e = 0; e < A.w; ++e)
            sum += A.data[row * A.pitch / sizeof(float) + e] * B.data[e * B.pitch / sizeof(float) + col];
        C.data[row * C.pitch / sizeof(float) + col] = sum;
    }
    void run(Mat A, Mat B, Mat C) { mul<<<dim3(B.w / 16, A.h / 16), dim3(16, 16)>>>(A, B, C); }"""
    pitched = "{K, M, K * sizeof(element), A}, {N, K, N * sizeof(element), B}, {N, M, N * sizeof(element), C}"
    assert fields(struct)["args"] == pitched


def test_the_suggestion_has_the_arguments_if_they_are_not_known() -> None:
    parameters = "int m, int n, int k, int mode"
    kernel = NAIVE.replace("int m, int n, int k", parameters).replace("sum = 0;", "sum = mode;")
    launch = "gemm<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k, ask(1));"
    with pytest.raises(UsageError, match=r"--args 'A, B, C, M, N, K, 0' --threads '16, 16' --grid"):
        parse_method(
            f"{kernel}void run(float *a, float *b, float *c, int m, int n, int k) {{ {launch} }}",
            Path("k.cu"),
        )


def test_a_check_that_does_not_end_the_program_requires_nothing() -> None:
    launch = "gemm<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k);"
    assert "requires" not in fields(host(f'if (n % 128 == 0) printf("fast"); {launch}'))
    assert fields(host(f"if (n % 128) {{ return; }} {launch}"))["requires"] == "N % 128 == 0"


UP = "(n + 15) / 16, (m + 15) / 16"
STYLES = [
    ("a product as an only argument", "const int T = 16; dim3 block(T * T), grid(n * m);", "", "256", None),
    ("a product in a call", "dim3 block(8, 8), grid(up(n, T * V), up(m, T * V));",
     "#define T 4\n#define V 2\nint up(int a, int b) { return (a + b - 1) / b; }\n", "8, 8",
     "ceil(N / (T * V)), ceil(M / (T * V))"),
    ("a function in a namespace", "dim3 block(8, 8), grid(util::up(n, 8), util::up(m, 8));",
     "namespace util { int up(int a, int b) { return (a + b - 1) / b; } }\n", "8, 8", SMALL),
    ("a ceil of its own", "dim3 block(8, 8), grid(ceil(n, 8), ceil(m, 8));",
     "int ceil(int a, int b) { return (a + b - 1) / b; }\n", "8, 8", SMALL),
    ("extents that are incremented", "dim3 block(8, 8), grid(n / 8, m / 8); "
     "if (n % 8 != 0) { grid.x++; } if (m % 8) grid.y += 1;", "", "8, 8", SMALL),
    ("a member of the block in a call", "dim3 block(8, 8); dim3 grid(up(n, block.x), up(m, block.y));",
     "int up(int a, int b) { return (a + b - 1) / b; }\n", "8, 8", SMALL),
    ("a grid and a block of the file", "", "dim3 block(16, 16); dim3 grid(4, 4);\n", "16, 16", "4, 4"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "before", "threads", "grid"), [s[1:] for s in STYLES], ids=[s[0] for s in STYLES]
)
def test_grids_are_read_in_many_styles(body: str, before: str, threads: str, grid: str | None) -> None:
    found = fields(host(f"{body}\ngemm<<<grid, block>>>(a, b, c, m, n, k);", before))
    assert found["threads"] == threads and grid in (None, found["grid"])
    assert "requires" not in found


def test_a_function_that_gets_kernel_grid_and_block_is_followed_to_its_calls() -> None:
    second = NAIVE.replace("gemm", "other")
    text = f"""{NAIVE}{second}
    void bench(void (*kernel)(const float *, const float *, float *, int, int, int), dim3 g, dim3 t,
               int rows, int cols, int depth) {{
        float *a, *b, *c;
        kernel<<<g, t>>>(a, b, c, rows, cols, depth);
    }}
    int main() {{
        const int M = 512, N = 256, K = 128;
        {{ dim3 block(8, 8), grid((N + 7) / 8, (M + 7) / 8); bench(gemm, grid, block, M, N, K); }}
        {{ dim3 block(32, 16); bench(other, dim3((N + 31) / 32, (M + 15) / 16), block, M, N, K); }}
    }}"""
    first, last = (variant.method for variant in Selection((), kernels=(text,)).variants())
    assert (first.entry, dict(first.found_fields)["grid"]) == ("gemm", SMALL)
    assert (last.entry, dict(last.found_fields)["grid"]) == ("other", LARGE)


@pytest.mark.parametrize(
    ("size", "grid", "found_grid", "requires"),
    [
        (
            1024,
            "64, 64",
            "N // 16, N // 16",
            "M % 16 == 0, N % 16 == 0, K % 16 == 0",
        ),  # 64 blocks of 16 threads
        (96, "3, 3", "3, 3", "M <= 96, N <= 96"),
    ],
)
def test_a_grid_of_plain_numbers_is_for_the_programs_own_size(
    size: int, grid: str, found_grid: str, requires: str
) -> None:
    text = square_program(size).replace("dim3(w / 16, w / 16)", f"dim3({grid})")
    found = fields(text)
    assert found["grid"].replace("M", "N") == found_grid
    assert found["requires"] == f"M == N, N == K, {requires}"


TILED = """
template <int T> __global__ void gemm(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ float as[T][T], bs[T][T];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, col = blockIdx.x * T + x, p = 0;
    float sum = 0;
    HEAD {
        as[y][x] = A[row * k + p + x]; bs[y][x] = B[(p + y) * n + col];
        __syncthreads();
        for (int i = 0; i < T; ++i) sum += as[y][i] * bs[i][x];
        __syncthreads();
    FOOT
    C[row * n + col] = sum;
}
void run(float *a, float *b, float *c, int m, int n, int k) {
    gemm<16><<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
}
"""


@pytest.mark.parametrize(
    ("head", "foot"),
    [
        ("for (; p < k; p += T)", "}"),
        ("while (p < k)", "p += T; }"),
        ("do", "p += T; } while (p < k);"),
        ("for (int t = 0; t < (k + T - 1) / T; ++t)", "p += T; }"),
        ("for (int t = 0; t < k / T; ++t)", "p += T; }"),
    ],
)
def test_a_tiled_kernel_without_checks_is_for_multiples_of_its_tile(head: str, foot: str) -> None:
    requires = fields(TILED.replace("HEAD", head).replace("FOOT", foot))["requires"]
    assert set(requires.split(", ")) == {"M % 16 == 0", "N % 16 == 0", "K % 16 == 0"}
    checked = (
        TILED.replace("HEAD", head).replace("FOOT", foot).replace("C[row", "if (row < m && col < n) C[row")
    )
    assert fields(checked)["requires"] == "K % 16 == 0"


def test_the_condition_of_a_launch_is_a_requirement() -> None:
    text = host("if (m == n && n == k) gemm<<<dim3(n / 8 + 1, n / 8 + 1), dim3(8, 8)>>>(a, b, c, m, n, k);")
    assert fields(text)["requires"] == "M == N, N == K"


@pytest.mark.parametrize(
    ("kernel", "launch", "entry"),
    [
        ("template <typename E> " + NAIVE.strip().replace("float", "E"), "gemm", "gemm<float>"),
        ("template <int T, bool C0> " + NAIVE.strip(), "const int T = 8; const bool C0 = true; gemm<T, C0>",
         "gemm<8, true>"),
    ],
)  # fmt: skip
def test_template_arguments_are_deduced_and_variables_get_their_values(
    kernel: str, launch: str, entry: str
) -> None:
    text = host(f"{launch}<<<dim3({UP}), dim3(16, 16)>>>(a, b, c, m, n, k);").replace(NAIVE, f"{kernel}\n")
    assert fields(text)["entry"] == entry


def test_members_of_structs_in_the_spelling_of_c_and_of_copies_are_sizes() -> None:
    text = """struct Mat { float *data; int h, w; };
    struct Mat copy(struct Mat m);
    __global__ void mul(struct Mat M, struct Mat N, struct Mat P) {
        int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
        float sum = 0;
        for (int e = 0; e < M.w; ++e) sum += M.data[row * M.w + e] * N.data[e * N.w + col];
        P.data[row * P.w + col] = sum;
    }
    void run(struct Mat M, struct Mat N, struct Mat P) {
        struct Mat Md = copy(M), Nd = copy(N), Pd = copy(P);
        dim3 block(16, 16), grid;
        grid.x = P.w / block.x; grid.y = P.h / block.y;
        mul<<<grid, block>>>(Md, Nd, Pd);
    }"""
    found = fields(text)
    assert found["args"] == "{A, M, K}, {B, K, N}, {C, M, N}" and found["grid"] == "N // 16, M // 16"


def test_names_weigh_less_than_what_the_kernel_does() -> None:
    """A is M x N here and B is N x K, and the sizes are M_DIM, N_DIM and K_DIM wherever they have a name."""
    kernel = (
        NAIVE.replace("int m, int n, int k", "int M, int N, int K")
        .replace("< k", "< N")
        .replace("* k", "* N")
    )
    kernel = kernel.replace("* n", "* K").replace(">= m", ">= M").replace(">= n", ">= K")
    text = f"""#define M_DIM 4
    #define N_DIM 3
    #define K_DIM 5
    {kernel}
    void solve(float *A, float *B, float *C, int M, int N, int K) {{
        gemm<<<dim3((K + 7) / 8, (M + 7) / 8), dim3(8, 8)>>>(A, B, C, M, N, K);
    }}
    int main() {{ float *A, *B, *C; cudaMalloc(&A, M_DIM * N_DIM * 4); cudaMalloc(&B, N_DIM * K_DIM * 4);
        cudaMalloc(&C, M_DIM * K_DIM * 4); solve(A, B, C, M_DIM, N_DIM, K_DIM); }}"""
    found = fields(text)
    assert (found["args"], found["grid"]) == ("A, B, C, M, K, N", SMALL)


def test_a_number_of_products_along_z_is_one() -> None:
    kernel = (
        NAIVE.replace("int m,", "int batch, int m,")
        .replace("if (row", "int z = blockIdx.z * blockDim.z + threadIdx.z; if (z >= batch || row")
        .replace("A[row", "A[z * m * k + row")
        .replace("B[i", "B[z * k * n + i")
        .replace("C[row", "C[z * m * n + row")
    )
    launch = (
        "gemm<<<dim3((n + 7) / 8, (m + 7) / 8, (batch + 3) / 4), dim3(8, 8, 4)>>>(a, b, c, batch, m, n, k);"
    )
    text = f"{kernel}void run(float *a, float *b, float *c, int batch, int m, int n, int k) {{ {launch} }}"
    found = fields(text)
    assert found["args"] == "A, B, C, 1, M, N, K" and found["grid"] == SMALL


def with_fragments(layout: str, load_a: str, store_layout: str) -> str:
    """Return a program whose kernel multiplies fragments of tensor cores; C is stored through a pointer."""
    return f"""using namespace nvcuda;
    __global__ void gemm(const half *A, const half *B, float *C, int M, int N, int K) {{
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::{layout}> fa[2];
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::{layout}> fb;
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
        for (int k = 0; k < K; k += 16) {{ {load_a}
            wmma::load_matrix_sync(fb, B + k * N + blockIdx.x * 16, N);
            wmma::mma_sync(sum, fa[0], fb, sum); }}
        float *out = C + blockIdx.y * 16 * N + blockIdx.x * 16;
        wmma::store_matrix_sync(out, sum, N, wmma::{store_layout}); }}
    void run(half *A, half *B, float *C, int M, int N, int K) {{
        gemm<<<dim3((N + 15) / 16, (M + 15) / 16), 32>>>(A, B, C, M, N, K); }}"""


def test_fragments_say_how_matrices_lie_in_memory_and_which_sizes_are_multiples() -> None:
    load = "wmma::load_matrix_sync(fa[0], A + blockIdx.y * 16 * K + k, K);"
    by_row = fields(with_fragments("row_major", load, "mem_row_major"))
    assert "layout" not in by_row
    assert by_row["requires"] == "M % 16 == 0, N % 16 == 0, K % 16 == 0"
    by_column = fields(with_fragments("col_major", load, "mem_col_major"))
    assert by_column["layout"] == "A=column, B=column, C=column"


PRODUCT = """int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x; float s = 0;
    for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];"""


def with_fourth(more: str, store: str) -> str:
    """Return a program whose kernel takes further pointers behind A, B and C."""
    names = [part.rpartition("*")[2].strip() for part in more.split(",")]
    return f"""__global__ void gemm(const float *A, const float *B, float *C, {more}, int M, int N, int K) {{
        {PRODUCT} {store} }}
    void run(float *A, float *B, float *C, {more}, int M, int N, int K) {{
        gemm<<<dim3(N / 16, M / 16), dim3(16, 16)>>>(A, B, C, {", ".join(names)}, M, N, K); }}"""


@pytest.mark.parametrize(
    ("more", "store"),
    [
        ("float *debug", "C[r * N + c] = s; debug[r * N + c] = s;"),
        ("float *debug", "C[r * N + c] = s; if (debug) *(debug + r * N + c) = s;"),
        ("float *debug", "C[r * N + c] += s; if (debug != nullptr && r == 0) debug[c] = s;"),
        ("int *count", "C[r * N + c] = s; atomicAdd(count, 1);"),
        ("int *count", "C[r * N + c] = s; atomicAdd(&count[blockIdx.x], 1); count[0]++;"),
        ("clock_t *t", "C[r * N + c] = s; t[blockIdx.x] = clock();"),
        ("float *unused", "C[r * N + c] = s;"),
    ],
)
def test_a_pointer_to_which_the_kernel_only_writes_is_scratch(more: str, store: str) -> None:
    assert fields(with_fourth(more, store))["args"] == "A, B, C, scratch, M, N, K"


@pytest.mark.parametrize(
    ("more", "store", "message"),
    [
        ("const float *bias", "C[r * N + c] = s + bias[c];", r"gemm reads bias beside A, B and C; save"),
        ("float *last", "C[r * N + c] = s + last[0]; last[0] = s;", r"file\(last.npy\), M, N, K'"),
        ("int *next", "if (atomicAdd(next, 1) < 9) C[r * N + c] = s;", r"gemm reads next beside"),
        ("const int *shape", "if (r < shape[0]) C[r * N + c] = s;", r"take the sizes as numbers, as in"),
        (
            "const size_t *ld",
            "C[r * ld[2] + c] = s;",
            r"'A, B, C, file\(ld-\{M\}x\{N\}x\{K\}.npy\), M, N, K'",
        ),
        ("float *seen, const int *shape", "C[r * N + c] = seen[0] = shape[0] * s;", r"gemm reads .*shape"),
    ],
)
def test_a_fourth_array_that_the_kernel_reads_is_refused_by_name(more: str, store: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fields(with_fourth(more, store))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("(const float *A, const float *x, float *y, int m, int n) { int i = threadIdx.x; float s = 0; "
         "for (int j = 0; j < n; ++j) s += A[i * n + j] * x[j]; y[i] = s; }",
         "gemv multiplies a matrix and a vector"),
        ("(const float *A, const float *x, const float *bias, float *y, int m, int n) { int i = threadIdx.x; "
         "float s = bias[i]; for (int j = 0; j < n; ++j) s += A[i * n + j] * x[j]; y[i] = s; }",
         "gemv has more than three pointers: A, x, bias, y"),
    ],
)  # fmt: skip
def test_what_is_no_product_of_two_matrices_is_left_to_occupancy(kernel: str, message: str) -> None:
    bias = ", bias" if "bias" in kernel else ""
    text = f"""__global__ void gemv{kernel}
    int main() {{
        int m = 10, n = 20; float *A, *x, *bias, *y;
        cudaMalloc(&A, m * n * 4); cudaMalloc(&x, n * 4); cudaMalloc(&y, m * 4);
        gemv<<<1, 10>>>(A, x{bias}, y, m, n); }}"""
    with pytest.raises(UsageError) as refused:
        parse_method(text, Path("k.cu"))
    assert message in str(refused.value) and "--args" not in str(refused.value)
    assert "cudamm occupancy takes any kernel, with --threads 10 --grid 1" in str(refused.value)


def test_a_matrix_whose_name_says_so_is_column_major() -> None:
    by_column = NAIVE.replace("B[i * n + col]", "B[col * k + i]")
    launch = "gemm<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, {}, c, m, n, k);"
    for name in ("bufs.B_t", "Bt", "matBT", "b_transposed"):
        text = host(launch.format(name)).replace(NAIVE, by_column)
        assert fields(text)["layout"] == "B=column"
        assert "layout" not in fields(text.replace(name, "d_mat"))
        assert "layout" not in fields(host(launch.format(name)))  # the kernel reads it by row


def test_an_assertion_of_the_kernel_is_a_requirement() -> None:
    launch = "gemm<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k);"
    text = host(launch).replace("float sum = 0;", "assert(n % 4 == 0); if (k % 2) {} float sum = 0;")
    assert fields(text)["requires"] == "N % 4 == 0"


def test_a_column_major_kernel_may_move_its_pointers() -> None:
    text = """__global__ void mm(const float *A, const float *B, float *C, int n) {
        __shared__ float as[256], bs[256];
        int x = threadIdx.x, y = threadIdx.y;
        A += blockIdx.x * 16; B += blockIdx.y * 16 * n;
        float s = 0;
        for (int p = 0; p < n; p += 16, A += 16 * n, B += 16) {
            as[x + y * 16] = A[x + y * n]; bs[x + y * 16] = B[x + y * n];
            __syncthreads();
            for (int k = 0; k < 16; ++k) s += as[x + k * 16] * bs[k + y * 16];
            __syncthreads();
        }
        C[blockIdx.x * 16 + x + (blockIdx.y * 16 + y) * n] = s;
    }
    void run(const float *A, const float *B, float *C, int n) {
        mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n);
    }"""
    assert fields(text)["layout"] == "A=column, B=column, C=column"


def test_the_name_of_a_kernel_may_say_how_it_works() -> None:
    text = host("gemm<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k);")
    found = fields(text.replace("gemm", "gemm_transposed_copy"))
    assert found["args"] == "A, B, C, M, N, K" and "layout" not in found


def test_a_kernel_of_another_file_is_not_one_of_this_file() -> None:
    declared = "__global__ void other(const float *A, float *C, int n);\n"
    assert "grid" in fields(
        host("gemm<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k);", declared)
    )
    with pytest.raises(UsageError, match="defines no __global__ function"):
        parse_method(declared, Path("k.cu"))


def test_a_launch_in_a_header_is_named_with_the_headers_own_line(tmp_path: Path) -> None:
    text = host("\n\ngemm<<<unknown(n), 64>>>(a, b, c, m, n, k);")
    line = text[: text.index("<<<")].count("\n") + 1
    (tmp_path / "mm.cuh").write_text(text)
    (tmp_path / "main.cu").write_text('// one\n// two\n#include "mm.cuh"\nint main() {}\n')
    with pytest.raises(UsageError, match=f"the launch in line {line} of mm.cuh could not be read"):
        Selection((), kernels=(tmp_path / "main.cu",)).variants()


def test_what_is_not_known_is_named_with_a_complete_suggestion() -> None:
    text = host("int size; ask(&size); dim3 grid(other(n), 1);\ngemm<<<grid, 256>>>(a, b, c, m, n, k);")
    with pytest.raises(UsageError) as refused:
        parse_method(text, Path("k.cu"))
    message = str(refused.value)
    assert "lacks grid" in message, "the threads are known"
    assert "the launch in line 12 could not be read: grid" in message
    assert "pass options such as --grid 'ceil(M * N / 256)'" in message


def test_one_of_several_kernels_has_to_be_named_even_if_the_launch_is_given() -> None:
    text = "// args: A, B, C, M, N, K\n// threads: 8\n// grid: 1\n" + NAIVE + NAIVE.replace("gemm", "other")
    with pytest.raises(UsageError, match=r"several kernels: choose one with --entry \(gemm, other\)"):
        parse_method(text, Path("k.cu"))


def test_arguments_of_a_kernel_without_a_launch_have_the_order_of_their_names() -> None:
    method = parse_method("// threads: 16, 16\n// grid: 1\n" + NAIVE, Path("k.cu"))
    assert method.arguments == ("A", "B", "C", "M", "N", "K")
    assert method.remarks == ("by the names of its parameters, gemm takes --args 'A, B, C, M, N, K'",)


@pytest.mark.parametrize(
    "comment", ["/*\n * My kernel.\n *\n * {}\n * {}\n */", "\n// {}\n// {}\n", "/* {}\n   {} */"]
)
def test_a_header_may_be_in_any_comment_above_the_kernel(comment: str) -> None:
    text = "#include <cstdio>\n" + comment.format("threads: 8, 4", "grid: ceil(N / 8), ceil(M / 4)") + NAIVE
    launch = launched(text)
    assert (launch.block, launch.grid) == ((8, 4, 1), (9, 9, 1))


def test_the_options_that_are_printed_say_the_same() -> None:
    text = square_program(64)
    method = parse_method(text, Path("k.cu"))
    words = shlex.split(method.remarks[0].partition(" as ")[2])
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert {f"--{key}": value for key, value in method.found_fields} == given


def test_a_saved_launch_comes_before_the_host_code(tmp_path: Path) -> None:
    file = tmp_path / "my.cu"
    file.write_text(host("gemm<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);"))

    def method(**options: str) -> Method:
        (variant,) = Selection((), kernels=(file,), kernel_fields=options).variants()
        return variant.method

    saved_path(file).write_text(as_toml(file, {"gemm": {"threads": "8, 8"}, "other": {"threads": "1"}}))
    assert saved_path(file).name == "my.launch.toml"
    assert [str(e) for e in method(entry="gemm").threads] == ["8", "8"]
    assert [str(e) for e in method(entry="gemm", threads="4, 4").threads] == ["4", "4"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("threads = ", "is not TOML"),
        ("[gemm]\nthreads = 16", "must be a table of texts"),
        ("threads = '16'", "must be a table of texts"),
        ("[gemm]\nblock = '16'", "has block; there are entry, args"),
        ("[gemm]\nthreads = 'x +'\ngrid = '1'", "not arithmetic"),
    ],
)
def test_a_wrong_saved_launch_is_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "my.cu"
    file.write_text(host("gemm<<<1, 64>>>(a, b, c, m, n, k);"))
    saved_path(file).write_text(content)
    with pytest.raises(UsageError, match=message):
        Selection((), kernels=(file,)).variants()


def test_kernels_of_a_file_are_all_taken_unless_one_is_named() -> None:
    second = NAIVE.replace("gemm", "blocked").replace("sum += ", "sum = sum + ")
    launches = "".join(
        f"{name}<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k);"
        for name in ("gemm", "blocked")
    )
    body = "{ for (int i = 0; i < n; ++i) c[i * 2] = a[i] * b[i]; }"
    fill = f"__global__ void fill(float *a, float *b, float *c, int n) {body}"
    text = f"{second}{fill}{host('fill<<<1, 1>>>(a, b, c, n);' + launches)}"
    names = [variant.method.name for variant in Selection((), kernels=(text,)).variants()]
    assert names == ["gemm", "blocked"]
    (chosen,) = Selection((), kernels=(text,), kernel_fields={"entry": "blocked"}).variants()
    assert chosen.method.entry == "blocked"


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("(((N + TILE) - 1) // TILE)", "ceil(N / TILE)"),
        ("((((M * N) + 255) // 256))", "ceil(M * N / 256)"),
        ("(N // 16)", "N // 16"),
        ("((N // 16) + 1)", "(N // 16) + 1"),
        ("(2 * 16)", "32"),
        ("(TILE * 1)", "TILE"),
    ],
)
def test_expressions_are_shortened_only_to_equal_ones(text: str, shorter: str) -> None:
    assert simplified(text, {"TILE": 12}).strip("()") in (shorter, shorter.strip("()"))


@pytest.mark.parametrize(
    "piece", ["(", "{", "a<<<b", "f(", "#define X X X\n", "int x = x + ", "((a)(b)-", "/*", '"']
)
def test_odd_texts_end_in_a_message(piece: str) -> None:
    with pytest.raises(UsageError):
        parse_method(NAIVE + piece * 3_000, Path("k.cu"))


@pytest.mark.parametrize(
    ("loop", "is_right"),
    [
        ("for (int w : {64, 96}) {", True),
        ("for (int w : {64, 100}) {", False),
        ("for (size_t w = 64; w < 999; w <<= 1) {", True),
        ("for (int w = 64; w < 999; w += 50) {", False),
        ("for (int w = 1024; w > 32; w /= 2) {", True),
        ("int sizes[] = {64, 96}; for (int i = 0; i < 2; i++) { int w = sizes[i];", True),
        ("int sizes[] = {64, 100}; for (int i = 0; i < 2; i++) { int w = sizes[i];", False),
        ("for (int i = 1; i < 9; i++) { int w = 64 * i;", True),
    ],
)
def test_sizes_of_a_loop_are_required_multiples_unless_one_is_none(loop: str, is_right: bool) -> None:
    launch = "gemm<<<dim3(w / 16, w / 16), dim3(16, 16)>>>(p, m, n, w);"
    text = f"{SQUARE}int main() {{ float *m, *n, *p; {loop} {launch} }} }}"
    assert ("N % 16 == 0" in fields(text)["requires"]) == is_right


@pytest.mark.parametrize(("passed", "edge"), [("8", "8"), ("16", "16"), ("32", "32"), ("atoi(argv[1])", "8")])
def test_the_launch_for_the_known_value_of_a_switch_is_taken(passed: str, edge: str) -> None:
    text = host(
        "dim3 block(edge, edge), grid((n + edge - 1) / edge, (m + edge - 1) / edge);\n"
        "switch (edge) { case 8: gemm<<<grid, block, 8>>>(a, b, c, m, n, k); break;\n"
        "case 16: gemm<<<grid, block, 16>>>(a, b, c, m, n, k); break;\n"
        "default: gemm<<<grid, block, 32>>>(a, b, c, m, n, k); }",
        arguments="int edge, float *a, float *b, float *c, int m, int n, int k",
    )
    text += f"int main(int argc, char **argv) {{ float *p; run({passed}, p, p, p, 100, 120, 80); }}"
    launch = fields(text)
    assert (launch["threads"], launch["shared-bytes"]) == (f"{edge}, {edge}", edge)
