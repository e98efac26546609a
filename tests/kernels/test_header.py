"""Headers: every field, wrong headers and files, and options that replace fields."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from cudamm.compile.program import program
from cudamm.errors import UsageError
from cudamm.kernels.header import LARGEST_FILE_BYTES, Overrides, parse_method, read_method
from cudamm.kernels.method import ELEMENT_TYPES, Parameter
from cudamm.kernels.selection import Selection
from cudamm.source.c_text import dynamic_arrays_in, kernels_in, without_comments

WriteKernel = Callable[..., Path]
KERNEL = "__global__ void own(int M, int N, int K, const element *A, const element *B, element *C) {}\n"
GEOMETRY = "// threads: 1\n// grid: 1\n"

FULL = """\
// What it is, in one line: with a colon.
//
// sources:      a course (part 1),
//               a book
// aliases:      other, third
// entry:        chosen
// param:        TILE = 4 in 1, 2,
//               4
// param:        PAD = 0
// args:         A, B, C, M,
//               2 * N
// threads:      TILE, 8
// grid:         ceil(N / TILE), M, 2
// shared-bytes: TILE * sizeof(element)
// traffic:      M * N * (K + TILE) * sizeof(element),
//               M * sizeof(element)
// constant:     edge = TILE * 2
// constant:     rows = M
// requires:     M % TILE == 0, N > 3
// needs:        sm_80
// ptxas:        -O1
//               --register-usage-level=10
// types:        float32, int32
// sum-order:    k
//
// Prose, which may say threads: 5 and grid: 7,
//
// threads: or look like a field.

__constant__ int edge, rows;
__global__ void first() {}
__global__ void chosen() {}
"""


def test_every_field_of_a_header_is_read(write_kernel: WriteKernel) -> None:
    path = write_kernel(FULL, "07_some_method.cu")
    method = read_method(path)
    names = {"M": 8, "N": 9, "K": 1, "TILE": 4, "element": 8}
    assert method.name == "some-method"
    assert method.path == path
    assert method.source == FULL
    assert method.language == "cuda"
    assert method.summary == "What it is, in one line: with a colon."
    assert method.sources == "a course (part 1), a book"
    assert method.aliases == ("other", "third")
    assert method.entry == "chosen"
    assert method.parameters == (Parameter("TILE", 4, (1, 2, 4)), Parameter("PAD", 0, (0,)))
    assert method.arguments == ("A", "B", "C", "M", "2 * N")
    assert [e.whole(names) for e in method.threads] == [4, 8]
    assert [e.whole(names) for e in method.grid] == [3, 8, 2]
    assert method.shared_bytes.whole(names) == 32
    assert method.traffic is not None
    assert [e.whole(names) for e in method.traffic] == [8 * 9 * 5 * 8, 64]
    assert [(name, e.whole(names)) for name, e in method.constants] == [("edge", 8), ("rows", 8)]
    assert [e.holds(names) for e in method.requires] == [True, True]
    assert method.needs == "sm_80"
    assert method.ptxas == ("-O1", "--register-usage-level=10")
    assert method.element_types == ("float32", "int32")
    assert method.sums_in_k_order
    assert not method.builtin
    assert not method.runs_on_host


def test_fields_that_a_header_lacks_have_defaults(write_kernel: WriteKernel) -> None:
    method = read_method(write_kernel(GEOMETRY + KERNEL))
    assert method.name == "kernel"
    assert method.summary == method.sources == ""
    assert method.aliases == method.parameters == method.constants == method.requires == ()
    assert method.entry == "own"
    assert method.arguments == ("M", "N", "K", "A", "B", "C")
    assert method.shared_bytes.whole({}) == 0
    assert method.traffic is None
    assert method.ptxas == ()
    assert not method.sums_in_k_order


@pytest.mark.parametrize(
    ("fields", "needs"),
    [
        ("", ""),
        ("// args: tensor_map(A, 8, 8), C\n", "sm_90"),
        ("// args: tensor_map(A, 8, 8), C\n// needs: sm_80\n", "sm_90"),
        ("// args: tensor_map(A, 8, 8), C\n// needs: sm_100\n", "sm_100"),
    ],
)
def test_a_tensor_map_needs_sm_90_at_least(write_kernel: WriteKernel, fields: str, needs: str) -> None:
    method = read_method(write_kernel(GEOMETRY + fields + KERNEL))
    assert method.needs == needs
    assert method.unsupported_reason("sm_120a") == ""
    assert bool(method.unsupported_reason("sm_89")) is bool(needs)


@pytest.mark.parametrize(
    ("fields", "needs"),
    [
        ("", "sm_90"),
        ("// needs: sm_80\n", "sm_90"),
        ("// needs: sm_90a\n", "sm_90a"),
        ("// needs: sm_100\n", "sm_100"),
    ],
)
def test_a_dependent_launch_needs_sm_90_at_least(write_kernel: WriteKernel, fields: str, needs: str) -> None:
    method = read_method(write_kernel(f"{GEOMETRY}// dependent-launch: yes\n{fields}{KERNEL}"))
    assert method.dependent_launch
    assert method.needs == needs
    assert method.unsupported_reason("sm_89")


def test_a_launch_is_an_ordinary_one_unless_the_header_says_otherwise(write_kernel: WriteKernel) -> None:
    assert not read_method(write_kernel(GEOMETRY + KERNEL)).dependent_launch


def test_a_method_that_needs_sm_90a_is_for_no_other_architecture(write_kernel: WriteKernel) -> None:
    method = read_method(write_kernel(f"{GEOMETRY}// needs: sm_90a\n{KERNEL}"))
    assert method.unsupported_reason("sm_90") == method.unsupported_reason("sm_90a") == ""
    for other in ("sm_80", "sm_89", "sm_100", "sm_120a"):
        assert method.unsupported_reason(other) == f"{method.name} runs on sm_90 only (needs: sm_90a)"
    assert method.target("sm_90") == "sm_90a"
    usual = read_method(write_kernel(f"{GEOMETRY}// needs: sm_80\n{KERNEL}", "usual.cu"))
    assert usual.target("sm_90") == "sm_90" and usual.unsupported_reason("sm_100") == ""


def test_a_kernel_with_wgmma_needs_sm_90a_unless_its_header_names_another(write_kernel: WriteKernel) -> None:
    kernel = """__global__ void own(float *C) { asm("wgmma.fence.sync.aligned;"); }\n"""
    assert read_method(write_kernel(GEOMETRY + kernel)).needs == "sm_90a"
    assert read_method(write_kernel(f"{GEOMETRY}// needs: sm_90\n{kernel}")).needs == "sm_90"
    comment = "// wgmma.mma_async is not used\n"
    assert read_method(write_kernel(GEOMETRY + "\n" + comment + KERNEL)).needs == ""


def test_a_kernel_that_gets_tensor_maps_only_has_the_type_of_dtype(write_kernel: WriteKernel) -> None:
    kernel = "__global__ void own(const __grid_constant__ CUtensorMap C, const CUtensorMap *A) {}\n"
    maps = "// args: tensor_map(C, 8, 8), tensor_map(A, 8, 8)\n"
    method = read_method(write_kernel(GEOMETRY + maps + kernel))
    assert method.element_types == tuple(ELEMENT_TYPES)
    assert "the one that --dtype names" in method.remarks[0]
    named = read_method(write_kernel(f"{GEOMETRY}{maps}// types: bfloat16\n{kernel}"))
    assert named.element_types == ("bfloat16",) and named.remarks == ()


def test_a_tensor_map_keeps_the_requirement_of_one_architecture(write_kernel: WriteKernel) -> None:
    header = f"{GEOMETRY}// args: tensor_map(A, 8, 8), C\n// needs: sm_90a\n"
    assert read_method(write_kernel(header + KERNEL)).needs == "sm_90a"


@pytest.mark.parametrize(
    ("text", "ceiling"), [("2", 2), ("16 / 9", Fraction(16, 9)), ("16/9", Fraction(16, 9))]
)
def test_a_ceiling_is_a_number_or_a_fraction(write_kernel: WriteKernel, text: str, ceiling: Fraction) -> None:
    assert read_method(write_kernel(f"{GEOMETRY}// ceiling: {text}\n{KERNEL}")).ceiling == ceiling
    assert read_method(write_kernel(GEOMETRY + KERNEL, "none.cu")).ceiling == 1


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "16 / 0", "M / 2", "fast"])
def test_a_ceiling_that_is_not_a_positive_number_or_fraction_is_refused(
    write_kernel: WriteKernel, text: str
) -> None:
    with pytest.raises(UsageError, match="must have the form “ceiling: 16 / 9”"):
        read_method(write_kernel(f"{GEOMETRY}// ceiling: {text}\n{KERNEL}"))


@pytest.mark.parametrize("text", ["9.0", "sm_9", "hopper", "sm_90f", "sm_90, sm_100"])
def test_a_needs_field_that_is_not_one_architecture_is_refused(write_kernel: WriteKernel, text: str) -> None:
    with pytest.raises(UsageError, match="is not an architecture such as sm_90"):
        read_method(write_kernel(f"{GEOMETRY}// needs: {text}\n{KERNEL}"))


@pytest.mark.parametrize(
    "text",
    [
        "$(rm)",
        "O1",
        "-O1; rm",
        "-O1,-v",
        "-o /etc/passwd",
        "--output-file=../kernel",
        "-I/usr",
        "-",
        "--",
        "-O1 `rm`",
    ],
)
def test_a_ptxas_field_with_anything_but_plain_options_is_refused(
    write_kernel: WriteKernel, text: str
) -> None:
    path = write_kernel(f"{GEOMETRY}// ptxas: {text}\n{KERNEL}")
    with pytest.raises(UsageError) as raised:
        read_method(path)
    assert (
        str(raised.value)
        == f"{path}: “ptxas: {text}” must have the form “ptxas: -O1 --register-usage-level=10”"
    )


@pytest.mark.parametrize(
    ("text", "options"),
    [("-O1", ("-O1",)), ("-O1  --maxrregcount=64", ("-O1", "--maxrregcount=64")), ("-v", ("-v",))],
)
def test_ptxas_options_are_separated_by_spaces(
    write_kernel: WriteKernel, text: str, options: tuple[str, ...]
) -> None:
    assert read_method(write_kernel(f"{GEOMETRY}// ptxas: {text}\n{KERNEL}")).ptxas == options


def test_a_summary_and_fields_need_no_empty_line_between_them(write_kernel: WriteKernel) -> None:
    method = read_method(write_kernel("// A summary.\n" + GEOMETRY + KERNEL))
    assert method.summary == "A summary."
    assert len(method.threads) == 1


def test_prose_with_colons_is_not_read_as_fields(write_kernel: WriteKernel) -> None:
    text = "// My kernel, version 2: faster.\n// Note: see below.\n" + KERNEL
    method = read_method(write_kernel(text), Overrides({"threads": "1", "grid": "1"}))
    assert method.summary == "My kernel, version 2: faster."


@pytest.mark.parametrize(
    ("body", "types"),
    [
        ("element *C", ("float32", "float64", "int32")),
        ("element *C, accumulator sum", ("float32", "float64", "int32", "float16", "bfloat16")),
        (
            "result *C, const element *A, accumulator sum",
            (
                "float32",
                "float64",
                "int32",
                "float16",
                "bfloat16",
                "float8_e4m3",
                "float16_to_float32",
                "bfloat16_to_float32",
                "float8_e4m3_to_float32",
                "int8",
            ),
        ),
        ("int M, int N, int K, const __nv_fp8_e4m3 *A, __nv_fp8_e4m3 *B, nv_bfloat16 *C", ("float8_e4m3",)),
        ("element *C, float accumulator", ("float32", "float64", "int32")),
        ("int M, int N, int K, const half *A, const half *B, half *C", ("float16",)),
        ("int M, int N, int K, const __half *A, const __half *B, __half *C", ("float16",)),
        ("int M, int N, int K, nv_bfloat16 *A, __nv_bfloat16 *B, nv_bfloat16 *C", ("bfloat16",)),
        ("int M, int N, int K, const half *A, const half *B, float *C", ("float16_to_float32",)),
        ("int M, int N, int K, __nv_bfloat16 *A, nv_bfloat16 *B, float *C", ("bfloat16_to_float32",)),
        ("int M, int N, int K, __nv_fp8_e4m3 *A, __nv_fp8_e4m3 *B, float *C", ("float8_e4m3_to_float32",)),
        ("int M, int N, int K, const int8_t *A, const signed char *B, int *C", ("int8",)),
        ("int M, int N, int K, const char4 *A, const char4 *B, int32_t *C", ("int8",)),
        ("float *C", ("float32",)),
        ("float *C /* not element */", ("float32",)),
    ],
)
def test_element_types_without_a_types_field_depend_on_the_source(
    write_kernel: WriteKernel, body: str, types: tuple
) -> None:
    text = f"{GEOMETRY}//\n// One thread an element.\n\n__global__ void own({body}) {{}}\n"
    assert read_method(write_kernel(text)).element_types == types


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_bytes(
        b"\xef\xbb\xbf" + ("// Summary.\n//\n" + GEOMETRY + KERNEL).replace("\n", "\r\n").encode()
    )
    method = read_method(path)
    assert method.summary == "Summary."
    assert [e.whole({}) for e in method.grid] == [1]


def test_headers_of_cpp_and_py_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "01_my_loops.cpp").write_text(
        "// Loops.\n//\n// sum-order: k\n\nvoid my_loops(element *C) {}\n"
    )
    method = read_method(tmp_path / "01_my_loops.cpp")
    assert (method.name, method.entry, method.language) == ("my-loops", "my_loops", "c++")
    assert method.runs_on_host
    (tmp_path / "02_product.py").write_text(
        "# Ready made.\n#\n# aliases: lib\n\ndef matmul(a, b, out): ...\n"
    )
    method = read_method(tmp_path / "02_product.py", builtin=True)
    assert (method.entry, method.language, method.aliases) == ("matmul", "python", ("lib",))
    assert method.element_types == ("float32", "float64", "int32")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (GEOMETRY + "// treads: 4\n", "“treads: 4” is not a field.*fields: .*threads"),
        (GEOMETRY + "// Grid: 4\n", "“Grid: 4” is not a field"),
        (GEOMETRY + "// just words\n", "“just words” is not a field"),
        (GEOMETRY + "// grid: 2\n", "contains “grid:” twice"),
        (GEOMETRY + "// param: T = 3 in 1, 2\n", "default of T, 3, is not among its values"),
        (GEOMETRY + "// param: T\n", "must have the form “param:"),
        (GEOMETRY + "// param: T = float\n", "must have the form “param:"),
        (GEOMETRY + "// param: 1T = 3\n", "must have the form “param:"),
        (GEOMETRY + "// param: T = 3 in\n", "must have the form “param:"),
        (GEOMETRY + "// param: T = 3\n// param: T = 4\n", "contains “param: T” twice"),
        (GEOMETRY + f"// param: T = {'9' * 5000}\n", "more than 18 digits"),
        (GEOMETRY + "// param: T = १६\n", "must have the form “param:"),
        (GEOMETRY + "// constant: e = 1\n// constant: e = 2\n", "contains “constant: e” twice"),
        (GEOMETRY + f"// ceiling: {'9' * 5000} / 3\n", "must have the form “ceiling:"),
        (GEOMETRY + "// ceiling: 1e400 / 3\n", "must have the form “ceiling:"),
        (GEOMETRY + "// needs: sm_९०\n", "not an architecture"),
        (GEOMETRY + "// constant: edge\n", "must have the form “constant:"),
        (GEOMETRY + "// constant: a b = 3\n", "must have the form “constant:"),
        (GEOMETRY + "// types: float8\n", "unknown element type float8"),
        (GEOMETRY + "// sum-order: j\n", "sum-order must be k"),
        (GEOMETRY + "// dependent-launch: no\n", "dependent-launch must be yes; leave the field out"),
        (GEOMETRY + 2 * "// dependent-launch: yes\n", "contains “dependent-launch:” twice"),
        (GEOMETRY + "// requires: M %\n", "not arithmetic"),
        (GEOMETRY + "// traffic: 8 * M\n", "“traffic: 8 \\* M” has 1 number; it must have two"),
        (GEOMETRY + "// traffic: M, N, K\n", "has 3 numbers; it must have two"),
        (GEOMETRY + "// traffic: M, N +\n", "not arithmetic"),
        (GEOMETRY + "// traffic: M, N\n// traffic: M, N\n", "contains “traffic:” twice"),
        (GEOMETRY + "// entry: other\n", r"has no function other \(kernels found: own\)"),
        ("// threads: 1\n", "lacks grid.*pass options such as --grid .ceil"),
        ("// grid: 1\n", "lacks threads.*pass options such as --threads"),
        ("// A summary.\n", "lacks threads and grid.*--threads .16, 16. --grid"),
        ("", "lacks threads and grid"),
        ("// threads: 1 +\n// grid: 1\n", "cu:1: cudamm reads this comment as a field of .* not arithmetic"),
        ("/* mm\n *\n * threads: 8, 8\n * grid: N by M\n */\n", "cu:4: cudamm reads .*; write “grid = …”"),
        ("// grid: (ceil(n/32), ceil(m/32)), block: (32, 32)\n", "lacks threads and grid"),
        ("// threads: one for each element\n", "lacks threads and grid"),
        ("// grid: ceil(columns / 8), rows\n", "lacks threads and grid"),
    ],
)
def test_a_wrong_header_is_refused_with_the_reason(
    write_kernel: WriteKernel, header: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        read_method(write_kernel(header + KERNEL))


def test_a_comment_in_prose_does_not_hide_the_launch(write_kernel: WriteKernel) -> None:
    kernel = (
        "__global__ void mm(const float *a, const float *b, float *c, int n) {\n"
        "    int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;\n"
        "    float s = 0;\n"
        "    for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];\n"
        "    c[i * n + j] = s;\n}\n"
    )
    launch = "void f(float *a, int n) { mm<<<dim3(n / 8, n / 8), dim3(8, 8)>>>(a, a, a, n); }\n"
    method = read_method(write_kernel("// threads: 8 x 8\n// grid: n / 8 x n / 8\n" + kernel + launch))
    assert [str(each) for each in (*method.threads, *method.grid)] == ["8", "8", "N // 8", "N // 8"]


def test_a_message_about_a_header_contains_the_path(write_kernel: WriteKernel) -> None:
    path = write_kernel(GEOMETRY + "// grid: 2\n" + KERNEL)
    with pytest.raises(UsageError) as raised:
        read_method(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.cu", b"", "is empty"),
        ("blank.cu", b" \n\n", "is empty"),
        ("binary.cu", b"\x7fELF\x02\x01\x01\0\0\0\0", "is not text: it contains NUL"),
        ("bytes.cu", bytes(range(128, 256)), r"is not text \(UTF-8\)"),
        ("large.cu", b"/" * (LARGEST_FILE_BYTES + 1), "is larger than"),
        ("host.cu", b"// threads: 1\n// grid: 1\nint main() {}\n", "defines no __global__ function"),
        ("comment.cu", b"// __global__ void k() {}\n", "defines no __global__ function"),
        ("two.cu", b"__global__ void a() {}\n__global__ void b() {}\n", r"several kernels.*--entry \(a, b\)"),
        ("kernel.txt", b"__global__ void a() {}\n", "ends in one of .cu"),
        ("kernel", b"__global__ void a() {}\n", "ends in one of .cu"),
    ],
)
def test_a_file_without_one_readable_kernel_is_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message):
        read_method(tmp_path / name)


def test_missing_files_folders_and_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no kernel file"):
        read_method(tmp_path / "missing.cu")
    (tmp_path / "folder.cu").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        read_method(tmp_path / "folder.cu")
    (tmp_path / "loop.cu").symlink_to("loop.cu")
    with pytest.raises(UsageError, match="cannot be read"):
        read_method(tmp_path / "loop.cu")
    with pytest.raises(UsageError, match="cannot be read"):
        read_method(tmp_path / ("long" * 100 + ".cu"))


def test_options_replace_the_fields_of_a_header(write_kernel: WriteKernel) -> None:
    overrides = Overrides(
        {"threads": "TILE", "grid": "9", "args": "C", "entry": "b"}, (Parameter("TILE", 2, (2,)),)
    )
    for header in (
        "",
        "// param: TILE = 4 in 4, 8\n// param: PAD = 1\n// threads: 7\n// grid: 8\n// args: A\n",
    ):
        method = read_method(
            write_kernel(header + "__global__ void a() {}\n__global__ void b() {}\n"), overrides
        )
        assert method.entry == "b"
        assert method.arguments == ("C",)
        assert method.parameters[0] == Parameter("TILE", 2, (2,))
        assert [e.whole({"TILE": 2}) for e in (*method.threads, *method.grid)] == [2, 9]
    assert [p.name for p in method.parameters] == ["TILE", "PAD"]


def test_options_are_checked_like_fields_of_a_header(write_kernel: WriteKernel) -> None:
    with pytest.raises(UsageError, match="not arithmetic"):
        read_method(write_kernel(GEOMETRY + KERNEL), Overrides({"grid": "1 +"}))
    with pytest.raises(UsageError, match="no function nothing"):
        read_method(write_kernel(GEOMETRY + KERNEL), Overrides({"entry": "nothing"}))


@pytest.mark.parametrize(
    "declaration",
    [
        "__global__ void {}(int n)",
        "__global__ void __launch_bounds__(256) {}(int n)",
        "__global__ void __launch_bounds__(16 * 16, 2) {}(int n)",
        "__global__ void __launch_bounds__((T) * (T)) {}(int n)",
        "__launch_bounds__(256) __global__ void {}(int n)",
        "static __global__ void {}(int n)",
        "__global__ static void {}(int n)",
        'extern "C" __global__ void {}(int n)',
        'extern "C" {{ __global__ void {}(int n)',
        "__global__ void\n{}\n(int n)",
        "__global__\nvoid {} (int n)",
        "template <int T> __global__ void {}(int n)",
        "__global__ /* a comment (here) */ void {}(int n)",
        "__global__ __attribute__((used)) void {}(int n)",
    ],
)
def test_kernels_are_found_however_they_are_declared(declaration: str) -> None:
    assert kernels_in(declaration.format("mine") + " {}") == ["mine"]


def test_kernels_are_distinguished_from_calls_and_other_functions() -> None:
    source = """
    // __global__ void commented() {}
    /* __global__ void out() {} */
    __device__ float help(float x) { return x; }
    __global__ void declared(int n);
    __global__ void declared(int n) { help(1); }
    __global__ void second(int n) { }
    int main() { second<<<1, 1>>>(1); }
    """
    assert kernels_in(source) == ["declared", "second"]


def test_comments_are_replaced_by_blanks_and_lines_stay() -> None:
    source = "a // b\nc /* d\ne */ f\n/**/g\n"
    code = without_comments(source)
    assert code.split() == ["a", "c", "f", "g"]
    assert len(code) == len(source)
    assert code.count("\n") == source.count("\n")


def test_slashes_in_a_string_start_no_comment() -> None:
    code = without_comments('printf("http://x"); kernel();')
    assert "kernel" in code


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "repeated",
    [
        "a",
        " ",
        "/*",
        '\\"',
        "__global__ ",
        "__global__ f(",
        "extern __shared__ a ",
        "#define X\\\n",
        "// param: A\n",
    ],
)
def test_the_time_to_read_a_text_grows_with_its_length_only(repeated: str) -> None:
    text = f"// x\n//\n{GEOMETRY}__global__ void f(" + repeated * (200_000 // len(repeated))
    start = time.process_time()
    kernels_in(text)
    dynamic_arrays_in(text)
    with contextlib.suppress(UsageError):
        parse_method(text, Path("own.cu"))
    assert time.process_time() - start < 2


@pytest.mark.parametrize("entry", ["::my::gemm<4>", " :: my::gemm<4> ", "my::gemm<4>"])
def test_an_entry_needs_no_colons_in_front(tmp_path: Path, entry: str) -> None:
    text = "namespace my { template <int N> __global__ void gemm(float *A, float *B, float *C) {} }"
    fields = {"entry": entry, "threads": "1", "grid": "1", "args": "A, B, C"}
    assert parse_method(text, tmp_path / "k.cu", Overrides(fields)).entry == "my::gemm<4>"


def test_a_value_of_the_user_reaches_the_headers_of_a_named_folder(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "tile.h").write_text("#define TILE 16\nconst int twice = TILE * 2;\n")
    path = tmp_path / "k.cu"
    path.write_text("#include <tile.h>\n__global__ void k(float *A, float *B, float *C) { C[0] = twice; }\n")
    fields = {"threads": "TILE", "grid": "1", "args": "A, B, C", "include": str(tmp_path / "more")}
    (variant,) = Selection((), kernels=(path,), defines=("TILE=8",), kernel_fields=fields).variants()
    text = program(variant, ELEMENT_TYPES["float32"], fmad=True).text
    assert "#define TILE 8" in text and "16" not in text
    assert any("twice" in included for included in variant.method.included)


@pytest.mark.parametrize(
    ("layout", "found"),
    [
        ("B=column", ("B",)),
        ("C = column , A=column,", ("A", "C")),
        ("A:column, B=row", ("A",)),
        ("A=row", ()),
    ],
)
def test_a_layout_names_the_matrices_that_are_stored_by_column(layout: str, found: tuple[str, ...]) -> None:
    text = f"// layout: {layout}\n{GEOMETRY}{KERNEL}"
    assert parse_method(text, Path("k.cu")).column_major == found


@pytest.mark.parametrize(
    "layout", ["D=column", "A", "A=columns", "column", "A=column,A=row", "a=column", ",", "A="]
)
def test_a_layout_that_is_not_understood_is_refused(layout: str) -> None:
    with pytest.raises(UsageError, match="must have the form “layout: A=column, B=column”"):
        parse_method(f"// layout: {layout}\n{GEOMETRY}{KERNEL}", Path("k.cu"))


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("double2 *A, double2 *B, double2 *C", ("float64",)),
        ("double A[][8], double (*B)[8], double *C", ("float64",)),
        ("int32_t *A, int4 *B, signed int *C", ("int32",)),
        ("void *A, void *B, float *C", ("float32",)),
    ],
)
def test_the_element_type_is_that_of_the_matrices(parameters: str, found: tuple[str, ...]) -> None:
    text = f"// args: A, B, C\n{GEOMETRY}__global__ void k({parameters}) {{}}"
    assert parse_method(text, Path("k.cu")).element_types == found


def test_matrices_of_a_type_that_cudamm_lacks_are_refused() -> None:
    text = f"// args: A, B, C\n{GEOMETRY}__global__ void k(const unsigned char *A, uchar4 *B, float *C) {{}}"
    with pytest.raises(UsageError, match="cannot run kernels with matrices of uchar yet"):
        parse_method(text, Path("k.cu"))


SQUARE = "__global__ void mm(const float *a, const float *b, float *c, int n) { c[0] = a[0] * b[0] * n; }\n"


@pytest.mark.parametrize(
    ("header", "code", "conditions"),
    [
        ("// args: A, B, C, N\n", SQUARE, ["M == N", "N == K"]),
        ("// args: A, B, C, K\n", SQUARE, ["M == K", "N == K"]),
        ("/*\nthreads: 1\ngrid: 1\nargs: N, A, B, C\n*/\n", SQUARE, ["M == N", "N == K"]),
        # The rows are whole blocks, of any number.
        ("// args: A, B, C, N\n// requires: M % 16 == 0\n", SQUARE, ["M % 16 == 0", "N == K"]),
        ("// args: A, B, C, N\n// requires: M == N, N == K\n", SQUARE, ["M == N", "N == K"]),
        ("// args: A, B, C, N\n// requires: K == 64\n", SQUARE, ["K == 64", "M == N"]),
        # The kernel has other sizes from elsewhere.
        ("// args: A, B, C, N, K\n", SQUARE, []),
        ("// args: A, B, C, N\n", SQUARE.replace("* n", "* n * gridDim.y"), []),
        ("// args: A, B, C, N\n", "#define K 64\n" + SQUARE.replace("* n", "* n * K"), ["M == N"]),
        ("// args: A, B, C, N\n// sizes: DEPTH=K\n", SQUARE, ["M == N"]),
        ("// args: tensor_map(A, 8, 8), tensor_map(B, 8, 8), C, N\n", SQUARE, []),
    ],
)
def test_a_kernel_that_gets_one_size_multiplies_square_matrices(
    header: str, code: str, conditions: list[str]
) -> None:
    geometry = "" if "threads" in header else GEOMETRY
    method = parse_method(f"{geometry}{header}{code}", Path("mm.cu"))
    assert [str(required) for required in method.requires] == conditions
