"""The parameter types of a kernel, as letters of the struct module."""

from __future__ import annotations

import contextlib
import ctypes
import struct
import time

import pytest

from cudamm.compile.program import program
from cudamm.compile.signature import check_arguments, packed_formats, passed_value
from cudamm.errors import KernelError, UsageError
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import ladder
from cudamm.kernels.launch_plan import StructValue, plan
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.parameter_types import launch_bound, matrix_types, parameter_formats
from cudamm.kernels.problem import Shape
from cudamm.kernels.selection import Selection
from cudamm.kernels.variant import variants
from cudamm.source.expression import split_at_commas

FLOAT32, FLOAT64 = ELEMENT_TYPES["float32"], ELEMENT_TYPES["float64"]


def formats(parameters: str, before: str = "", element=FLOAT32) -> str:
    return parameter_formats(f"{before}\n__global__ void k({parameters}) {{ }}", "k", element)


# C types, and the ctypes type of the same size and sign.
TYPES = {
    "bool": ctypes.c_bool, "char": ctypes.c_byte, "signed char": ctypes.c_byte,
    "unsigned char": ctypes.c_ubyte,
    "short": ctypes.c_short, "unsigned short": ctypes.c_ushort, "short int": ctypes.c_short,
    "int": ctypes.c_int, "signed": ctypes.c_int, "signed int": ctypes.c_int,
    "unsigned": ctypes.c_uint, "unsigned int": ctypes.c_uint, "int unsigned": ctypes.c_uint,
    "long": ctypes.c_long, "long int": ctypes.c_long, "unsigned long": ctypes.c_ulong,
    "unsigned long int": ctypes.c_ulong, "long long": ctypes.c_longlong, "long long int": ctypes.c_longlong,
    "unsigned long long": ctypes.c_ulonglong, "unsigned long long int": ctypes.c_ulonglong,
    "float": ctypes.c_float, "double": ctypes.c_double,
    "int8_t": ctypes.c_int8, "uint8_t": ctypes.c_uint8,
    "int16_t": ctypes.c_int16, "uint16_t": ctypes.c_uint16,
    "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t, "std::size_t": ctypes.c_size_t, "ptrdiff_t": ctypes.c_ssize_t,
}  # fmt: skip


@pytest.mark.parametrize("c_type", TYPES)
def test_every_type_has_its_size_and_sign(c_type: str) -> None:
    letter = formats(f"{c_type} x")
    as_ctypes = TYPES[c_type]
    assert struct.calcsize(letter) == ctypes.sizeof(as_ctypes)
    if as_ctypes in (ctypes.c_float, ctypes.c_double, ctypes.c_bool):
        assert struct.unpack(letter, struct.pack(letter, 0.5 if as_ctypes is not ctypes.c_bool else True))[
            0
        ] in (0.5, True)
    elif as_ctypes(-1).value == -1:
        assert struct.unpack(letter, struct.pack(letter, -1)) == (-1,)
    elif letter != "P":  # "P" packs any number, so only its size is checked
        with pytest.raises(struct.error):
            struct.pack(letter, -1)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("", ""),
        ("void", ""),
        ("int M, int N, int K, const float *A, const float *B, float *C", "iiiPPP"),
        ("const int n", "i"),
        ("int const n", "i"),
        ("const unsigned int n", "I"),
        ("float* __restrict__ a, const float * __restrict__ const b", "PP"),
        ("const float* __restrict a", "P"),
        ("float a[]", "P"),
        ("float (*a)[16]", "P"),
        ("float4 *a, float *b, void *c", "PPP"),
        ("int n = 3, float x = 1.5f", "if"),
        ("int", "i"),
        ("int\n  n,\n  float\n*c", "iP"),
        ("int n, /* float x, */ double y // , int z", "id"),
        ("const __grid_constant__ int n", "i"),
    ],
)
def test_parameter_lists_are_parsed(parameters: str, expected: str) -> None:
    assert formats(parameters + "\n") == expected


@pytest.mark.parametrize(
    ("c_type", "letter", "number", "bits"),
    [
        ("half", "e", 1.0, 0x3C00), ("__half", "e", -0.5, 0xB800), ("const half", "e", 65504.0, 0x7BFF),
        ("__nv_bfloat16", "E", 1.0, 0x3F80), ("nv_bfloat16", "E", -2.5, 0xC020),
        ("nv_bfloat16", "E", 1 + 2**-8, 0x3F80), ("nv_bfloat16", "E", 1 + 3 * 2**-8, 0x3F82),
    ],
)  # fmt: skip
def test_numbers_of_16_bits_are_passed_as_their_bits(
    c_type: str, letter: str, number: float, bits: int
) -> None:
    """PyCUDA packs arguments with a copy of the struct module that has no letter for half."""
    assert formats(f"int n, {c_type} x, float *C") == f"i{letter}P"
    packed = packed_formats(f"i{letter}P")
    assert packed == "iHP"
    assert struct.calcsize(packed) == 16
    assert passed_value(letter, number, {}) == bits
    inner = passed_value(f"{{P{letter}}}", StructValue(("C", number)), {"C": 64})
    assert inner == struct.pack("PH0P", 64, bits)


def test_element_is_the_compiled_type() -> None:
    assert formats("element alpha, element *C", element=ELEMENT_TYPES["float16"]) == "eP"
    assert formats("element alpha, result *C, result beta", element=ELEMENT_TYPES["int8"]) == "bPi"
    assert formats("element alpha, element *C", element=FLOAT32) == "fP"
    assert formats("element alpha, element *C", element=FLOAT64) == "dP"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("typedef double real;", "d"),
        ("typedef unsigned long long real;", "Q"),
        ("#define real float", "f"),
        ("using real = double;", "d"),
        ("// typedef double real;\ntypedef float real;", "f"),
        ("typedef double base;\ntypedef base real;", "d"),
        ("typedef element real;", "f"),
    ],
)
def test_types_that_the_file_defines_are_resolved(before: str, expected: str) -> None:
    assert formats("real x", before) == expected


@pytest.mark.parametrize(
    "parameters", ["float4 x", "Matrix m", "struct Matrix m", "std::vector<int> v", "dim3 d"]
)
def test_parameters_of_other_types_are_refused(parameters: str) -> None:
    with pytest.raises(UsageError, match=r"k: no argument can be passed for its parameter"):
        formats(parameters)


def test_the_parameter_list_is_that_of_the_definition() -> None:
    source = """
    // k(int, int) does nothing
    __device__ int my_k(float x) { return 1; }
    __global__ void __launch_bounds__(256) k(double alpha, float *C) { my_k(1); }
    """
    assert parameter_formats(source, "k", FLOAT32) == "dP"


def test_a_kernel_without_parameter_list_is_refused() -> None:
    with pytest.raises(UsageError, match="no parameter list of other"):
        parameter_formats("__global__ void k() {}", "other", FLOAT32)


@pytest.mark.parametrize("method", [m for m in ladder() if m.language == "cuda"], ids=lambda m: m.name)
def test_parameters_of_the_ladders_kernels_are_parsed(method: Method) -> None:
    letters = {"tensor_map": "T", "M": "i", "N": "i", "K": "i", "A": "P", "B": "P", "C": "P", "padded": "P"}
    expected = [letters[argument.split("(")[0]] for argument in method.arguments]
    assert parameter_formats(method.source, method.entry, FLOAT64) == "".join(expected)


@pytest.mark.parametrize(
    ("parameters", "letters", "offsets"),
    [
        ("const __grid_constant__ CUtensorMap a, int M, float *C", "TiP", [0, 128, 136]),
        ("const __grid_constant__ CUtensorMap a, const CUtensorMap b, double *C", "TTP", [0, 128, 256]),
        ("const CUtensorMap *a, int M", "ti", [0, 8]),
    ],
)
def test_tensor_maps_are_packed_at_multiples_of_128_bytes(
    parameters: str, letters: str, offsets: list[int]
) -> None:
    found = formats(parameters)
    assert found == letters
    values = [bytes([7] * 128) if letter == "T" else 7 for letter in found]
    for position, offset in enumerate(offsets):
        blank = [bytes(128) if letter == "T" else 0 for letter in found]
        packed = struct.pack(
            packed_formats(found), *blank[:position], values[position], *blank[position + 1 :]
        )
        assert packed.index(7) == offset


@pytest.mark.parametrize(
    ("letters", "offsets"),
    [
        ("iiiPPP", [0, 4, 8, 16, 24, 32]),
        ("TiP", [0, 128, 136]),
        ("TTiP", [112, 240, 368, 376]),  # as if parameters begin 16 bytes after a multiple of 128
        ("iPTTt", [0, 8, 112, 240, 368]),
        ("bdi", [8, 16, 24]),
        ("bbb", [0, 1, 5]),
    ],
)
def test_parameters_are_packed_at_the_offsets_of_the_cubin(letters: str, offsets: list[int]) -> None:
    packed_format = packed_formats(letters, offsets)
    for position, offset in enumerate(offsets):
        values = [bytes(128) if letter == "T" else 0 for letter in letters]
        values[position] = bytes([7] * 128) if letters[position] == "T" else 7
        packed = struct.pack(packed_format, *values)
        width = 128 if letters[position] == "T" else struct.calcsize(letters[position].replace("t", "P"))
        found = [index for index, byte in enumerate(packed) if byte]
        assert offset <= found[0] and found[-1] < offset + width
        assert len(packed) >= offset + width


def test_a_tensor_map_after_another_parameter_needs_the_offsets_of_the_cubin() -> None:
    letters = formats("int M, const __grid_constant__ CUtensorMap a")
    assert letters == "iT"
    with pytest.raises(UsageError, match="declare the tensor maps first"):
        packed_formats(letters)


KERNEL = """// A kernel.
//
// args:     {argument}, C
// threads:  1
// grid:     1
{constant}

{declarations}
__global__ void k({parameter}, float *C) {{ }}
"""


def check(parameter: str, argument: str, constant: str = "", declarations: str = "") -> None:
    """Check the launch of a kernel with one argument beside C, and one constant."""
    source = KERNEL.format(
        parameter=parameter, argument=argument, declarations=declarations,
        constant=f"// constant: {constant}" if constant else "//",
    )  # fmt: skip
    (variant,) = Selection((), kernels=(source,)).variants()
    check_arguments(program(variant, FLOAT32, True), plan(variant, Shape(32, 32, 32), FLOAT32))


@pytest.mark.parametrize(
    ("parameter", "argument"),
    [
        ("int x", "4294967328"),
        ("int x", "K * 134217729"),
        ("int x", "0 - 2147483649"),
        ("unsigned x", "-1"),
        ("unsigned int x", "4294967296"),
        ("short x", "32768"),
        ("unsigned char x", "256"),
        ("char x", "128"),
        ("bool x", "2"),
        ("size_t x", "-1"),
        ("float x", "1e39"),
        ("float x", "-1.0e39"),
    ],
)
def test_a_number_beyond_the_range_of_its_parameter_is_refused(parameter: str, argument: str) -> None:
    with pytest.raises(UsageError, match=rf"argument 1 of k, .*does not fit its parameter “{parameter}”"):
        check(parameter, argument)


@pytest.mark.parametrize("parameter", ["const __grid_constant__ CUtensorMap x", "const CUtensorMap *x"])
def test_a_tensor_map_is_passed_by_value_or_by_its_address(parameter: str) -> None:
    check(parameter, "tensor_map(A, 8, 8)")
    for argument in ("A", "3"):
        with pytest.raises(UsageError, match=rf"argument 1 of k must be a tensor map, .* not {argument} "):
            check(parameter, argument)


@pytest.mark.parametrize("parameter", ["const float *x", "const void *x", "int x"])
def test_a_tensor_map_is_passed_for_no_other_parameter(parameter: str) -> None:
    with pytest.raises(UsageError, match=r"argument 1 of k must be a .*, not tensor_map"):
        check(parameter, "tensor_map(A, 8, 8)")


@pytest.mark.parametrize(
    "argument", ["1e400", "nan", "inf", "9223372036854775808", "1_000", "１２", "9" * 400]
)
def test_arguments_that_are_no_finite_numbers_are_refused(argument: str) -> None:
    with pytest.raises(UsageError):
        check("double x", argument)


@pytest.mark.parametrize(
    ("parameter", "argument"),
    [
        ("int x", "2147483647"),
        ("int x", "-2147483648"),
        ("unsigned x", "4294967295"),
        ("long long x", "K * 134217729"),
        ("size_t x", "9223372036854775807"),
        ("bool x", "1"),
        ("float x", "3.4e38"),
        ("float x", ".5"),
        ("float x", "1e3"),
        ("float x", "7"),
        ("double x", "1e300"),
    ],
)
def test_the_largest_numbers_of_a_parameter_are_accepted(parameter: str, argument: str) -> None:
    check(parameter, argument)


@pytest.mark.parametrize(
    ("declaration", "value"),
    [
        ("__constant__ int edge;", "K * 134217729"),
        ("static __constant__ __align__(8) const unsigned edge = 3;", "0 - 1"),
        ("__device__ __constant__ short a, edge;", "40000"),
        ("typedef unsigned char byte;\n__constant__ byte edge;", "256"),
        ('#include "edge.h"', "K * 134217729"),
    ],
)
def test_a_constant_beyond_the_range_of_its_symbol_is_refused(declaration: str, value: str) -> None:
    with pytest.raises(UsageError, match=r"the constant edge = -?\d+ does not fit “.*edge”"):
        check("int x", "1", f"edge = {value}", declaration)


@pytest.mark.parametrize(
    "declaration", ["float edge", "element edge", "int edge[4]", "int *edge", "Pair edge"]
)
def test_a_constant_that_is_not_a_whole_number_is_refused(declaration: str) -> None:
    with pytest.raises(UsageError, match=r"“constant: edge” cannot be set"):
        check("int x", "1", "edge = 1", f"__constant__ {declaration};")


@pytest.mark.parametrize(
    "declaration", ["long long edge", "unsigned a = 3, edge", "alignas(8) size_t edge", "uint32_t edge"]
)
def test_constants_within_the_range_of_their_symbol_are_accepted(declaration: str) -> None:
    check("int x", "1", "edge = 4294967295", f"__constant__ {declaration};")


@pytest.mark.parametrize("repeated", ["foo x, ", "typedef ", "typedef a ", "using foo = ", " "])
def test_the_time_to_read_a_signature_grows_with_its_length_only(repeated: str) -> None:
    source = f"typedef int foo;\n__global__ void k(foo m) {{}}\n{repeated * (200_000 // len(repeated))}"
    start = time.process_time()
    parameter_formats(source, "k", ELEMENT_TYPES["float32"])
    parameters = f"__global__ void k({(repeated * (200_000 // len(repeated))).rstrip(', ')})"
    with contextlib.suppress(UsageError):
        parameter_formats(f"typedef int foo;\n{parameters}", "k", ELEMENT_TYPES["float32"])
    assert time.process_time() - start < 2


STRUCTS = [
    ("typedef struct { int width; int height; float *elements; } Matrix;", "Matrix A", "{iiP}"),
    ("typedef struct Mat_s { float *elements; int width, height, stride; } Mat;", "const Mat A", "{Piii}"),
    ("struct Mat { size_t rows, cols; double* __restrict__ data; };", "const struct Mat A", "{QQP}"),
    ("struct Mat { char kind; double scale; bool on; const float *const data = nullptr; };", "Mat", "{bd?P}"),
    ("template <typename T> struct Matrix { int width; T *data; T pad{}; };", "Matrix<double> A", "{iPd}"),
    ("template <class T, int N = 4>\nstruct M { T a; unsigned n; };", "const M<float, 8> A", "{fI}"),
    ("namespace my { struct View { float *p; std::size_t n; }; }", "my::View A", "{PQ}"),
    ("typedef float real;\nstruct Real { real *p; real x; };\nusing Matrix = Real;", "Matrix A", "{Pf}"),
    (
        """#define HD __host__ __device__
        class View {
        public:
            static constexpr int rank = 2;
            using value = float;
            HD View(float *p, int n) : p_(p), n_(n) { if (n < 0) { n_ = 0; } }
            View() = default;
            HD float &operator()(int i, int j) const { return p_[i * n_ + j]; }
            HD int size() const;
        private:
            float *p_; int n_;
        };""",
        "View A",
        "{Pi}",
    ),
    ("struct Pair { float x, y; };", "Pair *A", "P"),
    ("struct N { struct In { int a; }; int b; };", "N A", None),
]


@pytest.mark.parametrize(("before", "parameter", "found"), STRUCTS)
def test_a_struct_is_the_letters_of_its_members(before: str, parameter: str, found: str | None) -> None:
    if found is None:
        with pytest.raises(UsageError, match="contains “struct In"):
            formats(parameter, before)
    else:
        assert formats(f"int n, {parameter}, float *C", before) == f"i{found}P"


def test_structs_are_packed_as_c_lays_them_out() -> None:
    found = "i{bd?P}{Pi}b{bbh}"
    values = [
        1,
        struct.pack("bd?P0d", 2, 3.0, True, 4),
        struct.pack("Pi0P", 5, 6),
        7,
        struct.pack("bbh", 8, 9, 10),
    ]

    class First(ctypes.Structure):
        _fields_ = [
            ("a", ctypes.c_char),
            ("b", ctypes.c_double),
            ("c", ctypes.c_bool),
            ("d", ctypes.c_void_p),
        ]

    class Second(ctypes.Structure):
        _fields_ = [("a", ctypes.c_void_p), ("b", ctypes.c_int)]

    class Third(ctypes.Structure):
        _fields_ = [("a", ctypes.c_char), ("b", ctypes.c_char), ("c", ctypes.c_short)]

    class All(ctypes.Structure):
        _fields_ = [
            ("n", ctypes.c_int), ("first", First), ("second", Second), ("x", ctypes.c_char), ("third", Third)
        ]  # fmt: skip

    packed = struct.pack(packed_formats(found), *values)
    whole = All.from_buffer_copy(packed.ljust(ctypes.sizeof(All), b"\0"))
    assert (whole.n, whole.first.b, whole.first.d, whole.second.a, whole.second.b) == (1, 3.0, 4, 5, 6)
    assert (whole.x, whole.third.a, whole.third.c) == (b"\x07", b"\x08", 10)
    assert packed_formats("i{iiP}", [0, 8]) == packed_formats("i{iiP}").replace("i0P", "i4x0P")


@pytest.mark.parametrize(
    ("before", "parameter", "message"),
    [
        ("", "float **A", "“float \\*\\*A” is a pointer to pointers"),
        ("", "float *A[]", "is a pointer to pointers"),
        ("", "float *const *A", "is a pointer to pointers"),
        ("", "int const &n", "“int const &n” is a reference"),
        ("struct M { int w; float *e; };", "const M &A", "“const M &A” is a reference"),
        ("struct M { int w; float *e; };", "M *A", "points to a struct with pointers"),
        ("struct M { int w; float **e; };", "M A", "member “float \\*\\*e” is a pointer to pointers"),
        ("struct M { int dims[2]; float *e; };", "M A", "“M A” contains “int dims\\[2\\]”"),
        ("struct M { int w : 4; float *e; };", "M A", "contains “int w : 4”"),
        ("struct M { Unknown w; float *e; };", "M A", "its member “Unknown w”; members are numbers"),
        ("struct B { int w; }; struct M : public B { float *e; };", "M A", "contains “: public B”"),
        ("struct __attribute__((aligned(16))) M { int w; };", "M A", "contains “__attribute__”"),
        ("struct __align__(16) M { int w; };", "M A", "contains “__align__”"),
        ("struct M { void (*f)(int); };", "M A", "contains “void \\(\\*f\\)\\(int\\)”"),
        ("struct M { virtual void f(); int w; };", "M A", "contains “virtual”"),
        ("struct M {\n#ifdef X\nint w;\n#endif\n};", "M A", "contains “#”"),
        ("struct M { };", "M A", "contains “nothing”"),
    ],
)
def test_parameters_that_cannot_be_passed_are_named(before: str, parameter: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        formats(parameter, before)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("parameter", "argument", "message"),
    [
        ("M A", "A", "argument 1 of k must be the members of “M A”, {width, data}, not A"),
        ("M A", "{K, M, A}", "argument 1 of k must be the members of “M A”, {width, data}"),
        ("M A", "{A, K}", "width in argument 1 of k must be a whole number, not A"),
        ("M A", "{K, 3}", "data in argument 1 of k must be a matrix, not 3"),
        ("M A", "{K * 134217729, A}", "does not fit its parameter “width”"),
        ("M A", "{K, {A}}", "must have the form {N, K, B}"),
        ("M A", "{K, A", "must have the form {N, K, B}"),
        ("int n", "{K, A}", "argument 1 of k must be a whole number"),
        ("M A, int n", "K, M, K, A", "takes 3 arguments.*; the values of a struct are in braces"),
        ("int n", "2.0", "must be a whole number, not 2.0"),
    ],
)
def test_arguments_that_do_not_fit_a_struct_are_refused(parameter: str, argument: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("{", r"\{")):
        check(parameter, argument, declarations="struct M { int width; float *data; };")


def test_factors_by_name_fit_real_and_whole_parameters() -> None:
    check("float x", "alpha")
    check("int x", "BETA")


@pytest.mark.parametrize(
    ("parameters", "arguments", "types"),
    [
        ("double4 *A, const double2 *__restrict__ B, double *C", "A, B, C", ["double"]),
        ("double A[][64], const double (*B)[64], double C[N * N]", "A, B, C", ["double"]),
        ("int32_t *A, signed *B, int4 *C", "A, B, C", ["int"]),
        ("Matrix A, Matrix B, float *C", "{1, A}, {1, B}, C", ["double", "float"]),
        ("unsigned *A, unsigned char *B, uchar4 *C", "A, B, C", ["unsigned", "unsigned char", "uchar"]),
    ],
)
def test_the_types_of_matrices_are_found(parameters: str, arguments: str, types: list[str]) -> None:
    source = f"struct Matrix {{ int w; double *e; }};\n__global__ void k({parameters}) {{}}"
    assert matrix_types(source, "k", split_at_commas(arguments)) == types


def test_the_bytes_of_a_struct_contain_its_addresses() -> None:
    argument = StructValue((3, "B", 1.0, 4.0))
    passed = passed_value("{iPfi}", argument, {"A": 1, "B": 2**40 + 5, "C": 2})
    assert passed == struct.pack("iPfi0P", 3, 2**40 + 5, 1.0, 4)
    assert passed_value("P", "C", {"C": 7}) == 7
    assert passed_value("f", 3, {}) == 3.0 and isinstance(passed_value("f", 3, {}), float)


def test_the_type_of_a_templates_matrices_is_its_argument() -> None:
    source = """template <typename T> struct Mat { T *d; int rows; T last; };
    template <typename T> __global__ void k(const Mat<T> A, Mat<T> B) {}"""
    assert matrix_types(source, "k<double>", ["{A, M, 1.0}", "{B, K, 1.0}"]) == ["double"]
    assert parameter_formats(source, "k<double>", FLOAT64) == "{Pid}{Pid}"


BLOCK = "// threads: 32, 32\n// grid: 1\n"


def refusal(write_kernel, source: str) -> str:
    """Return why a kernel's launch is refused; empty if it is not."""
    (variant,) = variants(read_method(write_kernel(BLOCK + source)), {})
    try:
        check_arguments(program(variant, FLOAT32, True), plan(variant, Shape(8, 8, 8), FLOAT32))
    except (KernelError, UsageError) as error:
        return str(error)
    return ""


PARAMETERS = "(int M, int N, int K, const float *A, const float *B, float *C)"


@pytest.mark.parametrize(
    ("bounds", "most"),
    [
        ("__launch_bounds__(256)", 256),
        ("__launch_bounds__(EDGE * EDGE / 2, 2)", 512),
        ("__launch_bounds__(1024)", 0),
        ("__launch_bounds__(sizeof(float) * 8)", 0),  # not known here
        ("", 0),
    ],
)
def test_a_block_larger_than_its_launch_bounds_is_refused(write_kernel, bounds: str, most: int) -> None:
    text = refusal(write_kernel, f"#define EDGE 32\n__global__ void {bounds} k{PARAMETERS} {{}}\n")
    expected = (
        f"cannot be launched: k allows {most} threads in a block by its __launch_bounds__, and a block of "
        f"32 x 32 x 1 has 1024; launch at most {most} threads"
    )
    assert text == (expected if most else "")


def test_launch_bounds_are_worked_out_through_constants_of_constants(write_kernel) -> None:
    """Written out with parameters only, the last constant has more than a thousand characters."""
    source = f"""// param: BM = 128
// param: BN = 128
// param: BK = 16
// param: TM = 8
// param: TN = 8
constexpr int THREADS = (BM / TM) * (BN / TN);
constexpr int LOADS = (BM * BK + 4 * THREADS - 1) / (4 * THREADS)
                    + (BN * BK + 4 * THREADS - 1) / (4 * THREADS);
constexpr int STAGE = (LOADS * THREADS * 4 + BM * BK + BN * BK + LOADS * THREADS) / (LOADS + 1);
constexpr int ALL = 2 * STAGE + (STAGE / THREADS) * BM + (STAGE + LOADS) * 4 + THREADS / LOADS * STAGE;
__global__ void __launch_bounds__(ALL / 500) k{PARAMETERS} {{}}
"""
    assert refusal(write_kernel, source).startswith("cannot be launched: k allows 259 threads")


@pytest.mark.parametrize("bound", ["(int)F", "ceil(F - 0.5)", "T", "(int)(85 * G)"])
@pytest.mark.parametrize("condition", ["", "#ifdef OTHER\n#endif\n"])
def test_launch_bounds_are_worked_out_through_constants_that_are_not_whole(
    write_kernel, condition: str, bound: str
) -> None:
    source = f"""// param: BM = 85
{condition}const double G = 1.5;
const double F = BM * G;
constexpr int T = static_cast<int>(F);
__global__ void __launch_bounds__({bound}) k{PARAMETERS} {{}}
"""
    assert refusal(write_kernel, source).startswith("cannot be launched: k allows 127 threads")


def test_launch_bounds_of_template_arguments_are_known(write_kernel) -> None:
    kernel = f"template <int T> __global__ void __launch_bounds__(T) k{PARAMETERS} {{}}\n"
    text = refusal(write_kernel, f"// entry: k<512>\n{kernel}")
    assert text.startswith("cannot be launched: k<512> allows 512 threads")


def test_dynamic_shared_memory_of_no_bytes_is_refused(write_kernel) -> None:
    uses = f"__global__ void k{PARAMETERS} {{ extern __shared__ float tile[]; C[0] = tile[0]; }}\n"
    assert refusal(write_kernel, uses) == (
        "k keeps tile in dynamic shared memory (extern __shared__): pass the number of bytes with "
        "--shared-bytes"
    )
    assert refusal(write_kernel, f"// shared-bytes: 4\n{uses}") == ""
    unused = uses.replace(" k(", " other(") + f"__global__ void k{PARAMETERS} {{}}\n"
    assert refusal(write_kernel, f"// entry: k\n{unused}") == ""


def test_a_kernel_whose_name_ends_another_name_is_not_taken_for_it() -> None:
    source = "__global__ void sgemm(int n, float *A) { }\n__global__ void gemm(float *A, double x) { }"
    assert parameter_formats(source, "gemm", FLOAT32) == "Pd"


@pytest.mark.parametrize("lines", [1, 200])
def test_a_long_comment_may_separate_a_template_from_its_kernel(lines: int) -> None:
    comment = "// What this kernel is for, in a sentence that is quite long, on each line again.\n" * lines
    source = f"template <typename T>\n{comment}__global__ void k(int n, T alpha, const T *A) {{ }}"
    assert parameter_formats(source, "k<double>", FLOAT32) == "idP"


@pytest.mark.parametrize("end", ["{ }", ";"])
def test_the_launch_bounds_of_the_previous_function_are_not_those_of_a_kernel(end: str) -> None:
    source = f"__global__ void __launch_bounds__(64) other(int n) {end}\n__global__ void k(int n) {{ }}"
    assert launch_bound(source, "k") is None
    assert launch_bound(source, "other") == 64
