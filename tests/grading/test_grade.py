"""Points: the example's submissions, each kind of test, and what a machine lacks."""

from __future__ import annotations

import itertools
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from scripted_device import ScriptedDevice
from small_assignment import KERNEL, ONE_PROBLEM, RIGHT, SIGNATURE

from cudamm.analysis.trace import unseen_bytes
from cudamm.compile.toolkit import find_nvcc
from cudamm.errors import NoDeviceError, UsageError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.grading import grade as grading
from cudamm.grading.assignment import read_assignment
from cudamm.grading.student_view import seen_tests
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.selection import Selection

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXAMPLE = Path(__file__).parents[2] / "examples" / "assignment"
EXPECTED = tomllib.loads((EXAMPLE / "expected.toml").read_text())

TILED = """\
#define TILE 16
#define PAD 0

__global__ void matmul(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[TILE][TILE + PAD], Bs[TILE][TILE + PAD];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[tx][ty] = A[row * K + k0 + tx];
        Bs[ty][tx] = B[(k0 + ty) * N + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[k][ty] * Bs[k][tx];
        __syncthreads();
    }
    C[row * N + col] = sum;
}
"""
"""A tiled kernel for multiples of 16, with bank conflicts in its stores of A's tile."""

UNCHECKED = RIGHT.replace("if (row >= M || col >= N) return;", "")
"""A right kernel without its bounds check."""

TENSOR_CORES = """\
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

SIGNATURE {
    __shared__ __align__(16) half ones[8][8], halves[8][8];
    const int lane = threadIdx.x;
    for (int i = lane; i < 64; i += 32) ones[i / 8][i % 8] = 1.0f, halves[i / 8][i % 8] = __float2half(0.5f);
    __syncwarp();
    unsigned one, half_of_one, two;
    const unsigned address = (unsigned)__cvta_generic_to_shared(ones[lane % 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(one) : "r"(address));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(half_of_one)
                 : "r"((unsigned)__cvta_generic_to_shared(halves[lane % 8])));
    asm volatile("fma.rn.f16x2 %0, %1, %1, %1;" : "=r"(two) : "r"(one));
    const half2 product = __hmul2(*(const half2 *)&two, *(const half2 *)&half_of_one);
    double c0 = 0, c1 = 0;
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c0), "+d"(c1) : "d"(0.0), "d"(1.0));
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> c;
    wmma::fill_fragment(c, c0 + c1);
    for (int k = 0; k < K; k += 4) {
        wmma::load_matrix_sync(a, A + blockIdx.y * 8 * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + blockIdx.x * 8, N);
        wmma::mma_sync(c, a, b, c);
    }
    const float factor = (float)product.x * __bfloat162float(__float2bfloat16(1));
    for (int i = 0; i < c.num_elements; ++i) c.x[i] *= factor;
    wmma::store_matrix_sync(C + blockIdx.y * 8 * N + blockIdx.x * 8, c, N, wmma::mem_row_major);
}
"""
"""A kernel with tensor cores for float64, and 16-bit numbers that change nothing."""

needs_nvcc = pytest.mark.skipif(find_nvcc() is None, reason="there is no nvcc")


def test_the_example_has_five_submissions():
    assert {path.stem for path in (EXAMPLE / "submissions").iterdir()} == set(EXPECTED) and len(EXPECTED) == 5


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("correct", "no_bounds_check") else pytest.mark.long)
        for name in EXPECTED
    ],
)
def test_the_example_grades_its_submissions_as_it_says(name):
    assignment = read_assignment(EXAMPLE / "assignment.toml")
    submission = EXAMPLE / "submissions" / f"{name}.cu"
    grade = grading.grade(assignment, submission, device_spec="cpu", progress=lambda *_: None)
    public = [graded for graded in grade.graded if graded.test.is_public]
    assert not grade.refused and grade.points == 20
    assert grade.score == EXPECTED[name]["all"]
    assert sum(graded.score for graded in public) == EXPECTED[name]["public"]
    assert [g.test.kind for g in grade.graded if not g.was_run] == ["speed"]
    assert grade.is_full is (name == "correct")


@pytest.mark.gpu
@pytest.mark.parametrize("name", EXPECTED)
def test_a_gpu_adds_a_bonus_and_changes_no_other_points(gpu, name):
    """The race of missing_barrier.cu often does not show on a GPU; the CPU device shows it everywhere."""
    assignment = read_assignment(EXAMPLE / "assignment.toml")
    submission = EXAMPLE / "submissions" / f"{name}.cu"
    grade = grading.grade(assignment, submission, device_spec="gpu", progress=lambda *_: None)
    *others, speed = grade.graded
    assert sum(graded.score for graded in others) == EXPECTED[name]["all"]
    assert speed.test.kind == "speed" and speed.was_run
    assert 0 <= speed.score <= 4  # other processes may slow either kernel down
    assert (speed.outcome.value or 0) > 0 or name == "missing_barrier"  # a wrong product has no rate


@pytest.mark.slow
def test_public_tests_alone_are_graded_if_a_student_asks(graded):
    grade = graded(
        RIGHT,
        KERNEL + ONE_PROBLEM + "[[problem]]\nsize = 13\nvisibility = 'hidden'\npoints = 3\n",
        public=True,
    )
    assert [g.test.name for g in grade.graded] == ["right at 24x24x24 float32"]
    assert (grade.score, grade.points, grade.is_public) == (2, 2, True)
    with pytest.raises(UsageError, match="has no public tests"):
        graded(RIGHT, KERNEL + ONE_PROBLEM + "visibility = 'hidden'\n", public=True)


@pytest.mark.long
def test_students_see_nothing_of_hidden_problems_but_whether_they_passed(graded):
    hidden = "[[problem]]\nsize = '19x23x29'\nvisibility = 'hidden'\npoints = 3\n"
    unseen = "[[problem]]\nsize = '31x37x41'\nvisibility = 'secret'\npoints = 1\n"
    wrong = RIGHT.replace("k < K", "k < K - K % 8")
    grade = graded(wrong, KERNEL + ONE_PROBLEM + hidden + unseen)
    assert [g.status for g in grade.graded] == ["passed", "failed", "failed"]
    assert "k < K - K % 8 instead of k < K" in grade.graded[1].outcome.detail
    first, second, third = seen_tests(grade)
    assert (first.name, second.name, third.visibility) == (
        "right at 24x24x24 float32",
        "hidden test 2",
        "secret",
    )
    assert (second.status, second.detail, second.score, second.points) == ("failed", "", 0, 3)


@pytest.mark.long
def test_problems_in_other_element_types_are_graded(graded):
    assert graded(RIGHT.replace("float", "double"), KERNEL.replace("float", "double") + ONE_PROBLEM).is_full
    any_type = KERNEL.replace("float", "element") + ONE_PROBLEM + "[[problem]]\nsize = 24\npoints = 1\n"
    grade = graded(RIGHT.replace("float", "element"), any_type + "dtype = 'float64'\n")
    assert [g.test.element.name for g in grade.graded] == ["float32", "float64"] and grade.is_full


WITHOUT_CONFLICTS = TILED.replace("As[tx][ty]", "As[ty][tx]").replace("As[k][ty]", "As[ty][k]")
PROPERTIES = {  # of each kernel the tests, their outcomes, and a part of what they say
    TILED: [
        (
            "kind = 'bank-conflicts'",
            "failed",
            "7 additional wavefronts per access of shared memory in handed_in.cu:10 (As)",
        ),
        ("kind = 'bank-conflicts'\nat_most = 30", "passed", "additional wavefronts per access"),
        ("kind = 'sectors-per-load'\nat_most = 4", "passed", "4 sectors per load in handed_in.cu:10 (A)"),
        (
            "kind = 'sectors-per-load'\nat_most = 3.5",
            "failed",
            "4 sectors per load in handed_in.cu:10 (A) (at most 3.5)",
        ),
        ("kind = 'global-bytes'\nof = 'tiled,BLOCK_SIZE=16'", "passed", "those of tiled"),
        ("kind = 'global-bytes'\nof = 'tiled'", "failed", "those of tiled"),
        ("kind = 'global-bytes'\nof = ['tiled']\ntimes = 2", "passed", "2 times those of tiled"),
    ],
    WITHOUT_CONFLICTS: [("kind = 'bank-conflicts'", "passed", "0 additional wavefronts")],
    RIGHT: [
        ("kind = 'bank-conflicts'", "failed", "the kernel uses no shared memory"),
        ("kind = 'sectors-per-store'\nat_most = 4", "passed", "4 sectors per store in handed_in.cu:8 (C)"),
    ],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("source", PROPERTIES, ids=["tiled", "without conflicts", "untiled"])
def test_a_property_of_the_accesses_is_exact(graded, source):
    tests = "".join(f"[[test]]\nsize = 32\npoints = 2\n{test}\n" for test, _, _ in PROPERTIES[source])
    grade = graded(source, f"{KERNEL}[[problem]]\nsize = 32\npoints = 1\n{tests}")
    for (_, status, words), found in zip(PROPERTIES[source], grade.graded[1:], strict=True):
        assert found.status == status and words in found.outcome.detail, found
        assert found.score == (2 if status == "passed" else 0)


DILUTED = """\
#define TILE 16

__global__ void matmul(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float S[TILE * TILE][2];
    const int row = blockIdx.y * TILE + threadIdx.x, col = blockIdx.x * TILE + threadIdx.y;
    const int own = threadIdx.y * TILE + threadIdx.x;
    float sum = 0, unused = 0;
    for (int k = 0; k < K; ++k) {
        S[own][0] = A[row * K + k];
        for (int i = 0; i < 20; ++i) unused += A[0] + S[threadIdx.y * TILE][1];
        sum += S[own][0] * B[k * N + col];
    }
    C[row * N + col] = sum;
}
"""
"""A kernel with uncoalesced loads and bank conflicts, and many better accesses that it does not need."""


@pytest.mark.long
def test_accesses_that_a_kernel_does_not_need_do_not_lower_what_is_measured(graded):
    tests = "".join(
        f"[[test]]\nkind = '{kind}'\nsize = 32\nat_most = {most}\npoints = 1\n"
        for kind, most in (("sectors-per-load", 4), ("bank-conflicts", 0.5), ("bank-conflicts", 1))
    )
    grade = graded(DILUTED, f"{KERNEL}[[problem]]\nsize = 32\npoints = 1\n{tests}")
    _, loads, conflicts, two_way = grade.graded
    assert [g.status for g in grade.graded] == ["passed", "failed", "failed", "passed"]
    assert loads.outcome.value == 16 and "handed_in.cu:9 (A)" in loads.outcome.detail
    assert conflicts.outcome.value == two_way.outcome.value == 1


COPIES = {
    "memcpy": "memcpy(&a, {}, 4); memcpy(&b, {}, 4)",
    "a pointer to memcpy": "void *(*f)(void *, const void *, size_t) = memcpy; f(&a, {}, 4); f(&b, {}, 4)",
    "memmove": "memmove(&a, {}, 4); memmove(&b, {}, 4)",
    "copy": "const float *p = {}, *q = {}; std::copy(p, p + 1, &a); std::copy(q, q + 1, &b)",
    "copy_n": "std::copy_n({}, 1, &a); std::copy_n({}, 1, &b)",
    "uninitialized_copy": "std::uninitialized_copy_n({}, 1, &a); std::uninitialized_copy_n({}, 1, &b)",
    "char_traits": "std::char_traits<char>::copy((char *)&a, (const char *)({}), 4); "
    "std::char_traits<char>::copy((char *)&b, (const char *)({}), 4)",
}


@pytest.mark.long
@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_what_a_function_of_the_library_copies_is_counted(graded, copy):
    """An uncoalesced kernel has as many points with it as without, and an access beyond A is seen."""
    tests = "".join(
        f"[[test]]\nkind = '{kind}'\nsize = 32\npoints = 1\n"
        for kind in (
            "sectors-per-load'\nat_most = '8",
            "global-bytes'\nof = 'tiled,BLOCK_SIZE=16",
            "out-of-bounds",
        )
    ).replace("'8'", "8")
    load = copy.format("A + row * K + k", "B + k * N + col")
    copied = RIGHT.replace(
        "sum += A[row * K + k] * B[k * N + col];", f"{{ float a, b; {load}; sum += a * b; }}"
    )
    uncoalesced = copied.replace(
        "blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x",
        "blockIdx.y * TILE + threadIdx.x, col = blockIdx.x * TILE + threadIdx.y",
    )
    headers = "#include <algorithm>\n#include <memory>\n#include <string>\n"
    assignment = f"{KERNEL}[[problem]]\nsize = 32\npoints = 1\n{tests}"
    grade = graded(headers + uncoalesced, assignment)
    assert [g.status for g in grade.graded] == ["passed", "failed", "failed", "passed"], grade.refused
    beyond = graded(
        headers + copied.replace("k < K; ++k)", "k < K + (col == N - 1) * (row == M - 1); ++k)"), assignment
    )
    assert beyond.graded[3].status == "failed"


HIDDEN = {
    "a lambda": "auto f = [](F x) { return x; }; sum += f(((const F *)A)[row * K + k]).v * B[k * N + col];",
    "a method": "G g; sum += g.f(((const F *)A)[row * K + k]).v * B[k * N + col];",
    "a pointer": "F (*volatile f)(F) = same; sum += f(((const F *)A)[row * K + k]).v * B[k * N + col];",
}


@pytest.mark.long
@pytest.mark.parametrize("load", HIDDEN.values(), ids=HIDDEN)
def test_a_kernel_whose_accesses_are_not_all_seen_has_no_points_for_them(graded, load):
    text = (
        "struct F { float v; };\n__device__ F same(F x) { return x; }\nstruct G { F f(F x) { return x; } };\n"
    )
    text += RIGHT.replace("sum += A[row * K + k] * B[k * N + col];", f"{{ {load} }}")
    tests = "".join(
        f"[[test]]\nkind = '{kind}'\nsize = 32\npoints = 1\n"
        for kind in ("sectors-per-load'\nat_most = 8#", "race")
    )
    grade = graded(text, f"{KERNEL}[[problem]]\nsize = 32\npoints = 1\n{tests}")
    assert [g.status for g in grade.graded] == ["passed", "failed", "failed"], grade.refused
    for found in grade.graded[1:]:
        assert "functions hide 65,536 bytes of its accesses" in found.outcome.detail


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        ("naive", "float64"),
        ("tiled", "float32"),
        ("vectorized", "float32"),
        ("stream-k", "float32"),
        ("wmma", "float16"),
    ],
)
def test_all_accesses_of_honest_kernels_are_seen(method, dtype):
    (variant,) = Selection((method,)).variants()
    assert unseen_bytes(variant, Problem(Shape(128, 128, 64), ELEMENT_TYPES[dtype], 1), 100) <= 0


@pytest.mark.long
def test_an_atomic_operation_counts_as_a_store(graded):
    added = RIGHT.replace("C[row * N + col] = sum;", "atomicAdd(&C[row * N + col], sum);")
    test = "[[test]]\nkind = 'sectors-per-store'\nsize = 32\nat_most = 4\npoints = 1\n"
    store = graded(added, f"{KERNEL}initial-c = 0\n[[problem]]\nsize = 32\npoints = 1\n{test}").graded[1]
    assert store.status == "passed" and store.outcome.value == 4


@pytest.mark.long
def test_a_vector_counts_as_its_elements(graded):
    four = (
        RIGHT.replace("col = blockIdx.x * TILE + threadIdx.x", "col = 4 * threadIdx.x")
        .replace("float sum = 0", "float4 sum = {}")
        .replace(
            "sum += A[row * K + k] * B[k * N + col];",
            """{
        const float a = A[row * K + k];
        const float4 b = *(const float4 *)&B[k * N + col];
        sum.x += a * b.x, sum.y += a * b.y, sum.z += a * b.z, sum.w += a * b.w;
    }""",
        )
        .replace("C[row * N + col]", "*(float4 *)&C[row * N + col]")
    )
    tests = "".join(
        f"[[test]]\nkind = 'sectors-per-{op}'\nsize = 64\nat_most = {most}\npoints = 1\n"
        for op, most in (("load", 2), ("store", 4))
    )
    assignment = KERNEL.replace("ceil(N / TILE), ", "1, ") + "[[problem]]\nsize = 64\npoints = 1\n" + tests
    grade = graded(four, assignment)
    assert grade.is_full and "4 sectors per store of an element, 4 at once" in grade.graded[2].outcome.detail


@pytest.mark.long
def test_a_wrong_kernel_gets_no_points_for_properties(graded):
    """An empty kernel has no races and few sectors."""
    empty = RIGHT.partition("{")[0] + "{}\n"
    tests = "".join(
        f"[[test]]\n{test}\npoints = 1\nsize = 24\n"
        for test in ("kind = 'race'", "kind = 'sectors-per-store'\nat_most = 9")
    )
    grade = graded(empty, KERNEL + ONE_PROBLEM + tests)
    assert grade.score == 0 and not grade.refused
    assert all("only a right kernel gets these points" in g.outcome.detail for g in grade.graded[1:])


@pytest.mark.long
def test_mistakes_are_found_at_the_sizes_of_the_test(graded):
    unchecked = RIGHT.replace("if (row >= M || col >= N) return;", "if (row > M || col >= N) return;")
    tests = "[[test]]\nkind = 'out-of-bounds'\npoints = 1\nsize = {}\n"
    grade = graded(
        unchecked,
        KERNEL + ONE_PROBLEM.replace("24", "32") + tests.format("[32, 64]") + tests.format("'17x32x8'"),
    )
    assert [g.status for g in grade.graded] == ["passed", "passed", "failed"]
    assert "reads A[17][0]" in grade.graded[2].outcome.detail and "cure: " in grade.graded[2].outcome.detail


RACE, BOUNDS = "[[test]]\nkind = 'race'\npoints = 1\n", "[[test]]\nkind = 'out-of-bounds'\npoints = 1\n"
BY_FLAT_INDEX = RIGHT.replace("if (row >= M || col >= N) return;", "if (row * N + col >= M * N) return;")
"""A kernel whose threads beyond the end of a row compute an element of the next row."""

IN_HALVES = RIGHT.replace("int row", "int half = blockIdx.z, row").replace(
    "int k = 0; k < K", "int k = half; k < K"
)
"""Two blocks for each element."""

ADDED_IN_HALVES = IN_HALVES.replace("C[row * N + col] = sum", "C[row * N + col] += sum")


@pytest.mark.long
@pytest.mark.parametrize("source", [UNCHECKED, BY_FLAT_INDEX], ids=["no check", "a check of the flat index"])
def test_a_race_of_threads_beyond_the_end_of_a_row_is_cured_by_a_bounds_check(graded, source):
    race = graded(source, KERNEL + ONE_PROBLEM + RACE).graded[1]
    assert "an index past the end of a row of C is an element of the next row" in race.outcome.detail
    assert race.outcome.detail.endswith(
        "cure: access the element only if its row and column are within the matrix"
    )


@pytest.mark.long
def test_a_race_of_blocks_that_share_elements_has_its_own_cure(graded):
    kernel = KERNEL.replace("ceil(M / TILE)", "ceil(M / TILE), 2")
    race = graded(IN_HALVES, kernel + ONE_PROBLEM + RACE).graded[1]
    assert "past the end of a row" not in race.outcome.detail
    assert race.outcome.detail.endswith("cure: let one thread own each element"), (
        "C is not zero before the launch"
    )
    race = graded(ADDED_IN_HALVES, kernel + "initial-c = '0'\n" + ONE_PROBLEM + RACE).graded[1]
    assert race.outcome.detail.endswith(
        "cure: let one thread own each element, or add to it with atomicAdd()"
    )


@pytest.mark.long
def test_a_layout_that_a_kernel_does_not_follow_is_named(graded):
    kernel = KERNEL + "layout = 'B=column'\n"
    cause = (
        "B is read row by row, and its layout is column by column: B[k * N + col] instead of B[col * K + k]"
    )
    for size in ("24", "'30x20x10'"):
        grade = graded(RIGHT, kernel + ONE_PROBLEM.replace("24", size))
        assert grade.graded[0].outcome.detail.startswith(cause)
    assert graded(RIGHT.replace("B[k * N + col]", "B[col * K + k]"), kernel + ONE_PROBLEM).is_full


@pytest.mark.long
def test_no_advice_names_what_students_cannot_change(graded):
    dynamic = TILED.replace("    __shared__", "    extern __shared__ float more[];\n    __shared__").replace(
        "C[row * N + col] = sum", "more[0] = 0; C[row * N + col] = sum"
    )
    column = RIGHT.replace("B[k * N + col]", "B[col * K + k]")
    vector = RIGHT.replace("sum = 0;", "sum = 0; float4 v = *(float4 *)(A + 1); if (v.x == 7) sum = v.y;")
    wide = RIGHT.replace("float sum", "double sum").replace("const float *A", "const double *A")
    misaligned = BOUNDS.replace("out-of-bounds", "misaligned") + "size = 24\n"
    for source, test in ((dynamic, ""), (column, ""), (wide, ""), (vector, misaligned)):
        grade = graded(source, KERNEL + ONE_PROBLEM + test)
        told = [grade.refused, *(g.outcome.detail for g in grade.graded)]
        assert grade.score < 4 and "error" not in grade.refused
        assert not any("requires" in text or "--" in text for text in told), told


@pytest.mark.long
@needs_nvcc
def test_occupancy_and_copies_are_graded_with_nvcc(graded):
    tests = """
    [[test]]
    kind = "occupancy"
    at_least = 0.9
    points = 1
    [[test]]
    kind = "occupancy"
    at_least = "100%"
    arch = "sm_86"
    points = 1
    [[test]]
    kind = "not-copied"
    of = "tiled,BLOCK_SIZE=16"
    points = 1
    [[test]]
    kind = "not-copied"
    of = ["tiled,BLOCK_SIZE=16", "coalesced,BLOCK_SIZE=16"]
    points = 1
    """.replace("    ", "")
    grade = graded(RIGHT.replace("TILE 16", "TILE 32"), KERNEL + ONE_PROBLEM + tests.replace("16", "32"))
    # A block of 1,024 threads fits an SM of sm_80 twice, and one of sm_86, which has 1,536 threads, once.
    assert [g.status for g in grade.graded] == ["passed", "passed", "failed", "passed", "failed"]
    assert "1 on sm_80 (at least 0.9): 1024 threads per block" in grade.graded[1].outcome.detail
    assert grade.graded[2].outcome.value == pytest.approx(2 / 3)
    # The simplest kernel has one form: a course should not name `coalesced` here.
    assert (
        "its machine code for sm_80 is that of cudamm's coalesced BLOCK_SIZE=32"
        in grade.graded[4].outcome.detail
    )


@pytest.mark.long
def test_a_mistake_of_a_public_test_names_no_size_of_a_hidden_one(graded):
    test = "[[test]]\nkind = 'out-of-bounds'\npoints = 1\n"
    sizes = "visibility = 'hidden'\nsize = '45x67x89'\n", "size = '17x31x13'\n"
    grade = graded(UNCHECKED, KERNEL + ONE_PROBLEM + "".join(test + size for size in sizes))
    hidden, public = (graded.outcome.detail for graded in grade.graded[1:])
    assert "(at 45x67x89)" in hidden
    assert "(at 17x31x13)" in public and "45" not in public


@pytest.mark.slow
def test_what_the_machine_lacks_is_no_fault_of_the_student(graded, monkeypatch):
    def missing():
        raise NoDeviceError("nvcc was not found: run make setup")

    monkeypatch.setattr(grading, "nvcc", missing)
    occupancy = "[[test]]\nkind = 'occupancy'\nat_least = 0.5\npoints = 3\n"
    speed = "[[test]]\nkind = 'speed'\nof = 'tiled'\nfull_at = 0.9\npoints = 4\n"
    with pytest.raises(
        NoDeviceError, match=r"needs nvcc, and nvcc was not found: run make setup; nothing was graded"
    ):
        graded(RIGHT, KERNEL + ONE_PROBLEM + occupancy)
    with pytest.raises(NoDeviceError, match=r"needs a GPU, and .*--without gpu leaves out such tests"):
        graded(RIGHT, KERNEL + ONE_PROBLEM + speed)
    grade = graded(RIGHT, KERNEL + ONE_PROBLEM + occupancy + speed, without=("gpu", "nvcc"))
    assert [g.status for g in grade.graded] == ["passed", "not run", "not run"]
    assert (grade.score, grade.points) == (2, 2) and grade.is_full
    assert len(grade.remarks) >= 2 and "its 3 points do not count" in grade.remarks[-2]
    grade = graded(RIGHT, KERNEL + ONE_PROBLEM + speed + "bonus = true\n")
    assert (grade.score, grade.points) == (2, 2)


@pytest.mark.parametrize(
    "own_ms, score", [(1.0, "4"), (1.25, "4"), (1.6, "2.25"), (2.0, "1"), (2.5, "0"), (10.0, "0")]
)
def test_the_points_of_speed_are_linear_between_two_shares(graded, monkeypatch, own_ms, score):
    """A scripted device, on which tiled takes 1 ms and the submission another time, stands for a GPU."""
    device = ScriptedDevice(scripts={16: itertools.repeat(own_ms), 32: itertools.repeat(1.0)})
    monkeypatch.setattr(grading, "_speed_device", lambda spec, tests: ("gpu", device.info))
    monkeypatch.setattr(grading, "WorkerExecutor", lambda name, limit_s: InProcessExecutor(device))
    shares = "zero_at = '40%'\nfull_at = '80%'\n"
    speed = f"[[test]]\nkind = 'speed'\nof = 'tiled'\n{shares}points = 4\nleaderboard = true\n"
    grade = graded(RIGHT, KERNEL + ONE_PROBLEM + speed)
    assert grade.graded[1].score == Decimal(score), grade.graded[1].outcome
    assert f"{1 / own_ms:.1%} of the" in grade.graded[1].outcome.detail
    assert grade.graded[1].status == ("passed" if score == "4" else "failed" if score == "0" else "partly")
    assert grade.points == 6


def test_a_system_without_seccomp_grades_nothing(graded, monkeypatch):
    from cudamm.compile import confinement

    monkeypatch.setattr(confinement, "has_seccomp", lambda: False)
    with pytest.raises(NoDeviceError, match="this system has no seccomp"):
        graded(RIGHT)


def test_a_system_that_does_not_confine_files_grades_only_if_the_teacher_says_so(graded, monkeypatch):
    from cudamm.compile import confinement

    monkeypatch.setattr(grading, "nvcc", lambda: pytest.fail("no test needs nvcc"))
    for module in (confinement, grading):
        monkeypatch.setattr(module, "file_confinement", lambda: "")
    with pytest.raises(NoDeviceError, match=r"neither Landlock nor bubblewrap.*with --unconfined"):
        graded(RIGHT)
    grade = graded(RIGHT, unconfined=True)
    assert grade.is_full and "neither Landlock nor bubblewrap" in grade.remarks[0]


@pytest.mark.long
def test_a_kernel_with_tensor_cores_and_16_bit_numbers_is_graded(graded):
    signature = SIGNATURE.replace("float", "double")
    kernel = KERNEL.replace(SIGNATURE, signature).replace("TILE, TILE", "32").replace("TILE", "8")
    problem = ONE_PROBLEM + 'dtype = "float64"\n[[test]]\nkind = "race"\nsize = 24\npoints = 1\n'
    grade = graded(TENSOR_CORES.replace("SIGNATURE", signature), kernel + problem)
    assert (grade.refused, grade.is_full) == ("", True), grade.graded
