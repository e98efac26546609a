"""Reading an assignment: a mistake in the file is one line with the file's name and the line's number."""

from __future__ import annotations

import re

import pytest
from small_assignment import KERNEL, ONE_PROBLEM, SIGNATURE

from cudamm.errors import UsageError
from cudamm.grading.toml_lines import toml_lines


def test_an_assignment_has_its_problems_tests_and_points(written):
    assignment = written(
        f"""
        title = "Tiles"
        points = 7.5
        {KERNEL.replace("float", "element")}
        [limits]
        run_s = 3
        [[problem]]
        size = "17x31x13"
        points = 2.5
        [[problem]]
        size = 64
        dtype = "float64"
        visibility = "hidden"
        points = 1
        [[test]]
        kind = "occupancy"
        at_least = "50%"
        arch = "sm_86"
        points = 4
        [[test]]
        kind = "speed"
        of = "tiled,BLOCK_SIZE=16"
        full_at = 0.9
        points = 9
        bonus = true
        """.replace("    ", "")
    )
    first, second, third, fourth = assignment.tests
    assert (assignment.title, str(assignment.points), assignment.limits.run_s) == ("Tiles", "7.5", 3)
    assert (str(first.shapes[0]), first.element.name, first.visibility) == ("17x31x13", "float32", "public")
    assert (second.element.name, second.visibility) == ("float64", "hidden")
    assert (third.at_least, third.architecture.name, third.needs) == (0.5, "sm_86", "nvcc")
    assert third.shapes == first.shapes and str(fourth.of[0]) == "tiled BLOCK_SIZE=16"
    assert (fourth.needs, fourth.is_bonus) == ("gpu", True)
    assert assignment.fields["entry"] == "matmul"


def test_the_name_of_a_hidden_test_does_not_show_students_its_problem(written):
    assignment = written(
        KERNEL + ONE_PROBLEM + "[[problem]]\nsize = 61\nvisibility = 'hidden'\npoints = 1\n"
        "[[problem]]\nname = 'awkward'\nsize = 67\nvisibility = 'hidden'\npoints = 1\n"
    )
    assert [test.name for test in assignment.tests] == [
        "right at 24x24x24 float32",
        "right at 61x61x61 float32",
        "awkward",
    ]
    assert [test.student_name for test in assignment.tests] == [
        "right at 24x24x24 float32",
        "hidden test 2",
        "awkward",
    ]


PROBLEM = "[[problem]]\nsize = 24\npoints = 2\n"


def kernel(signature: str = SIGNATURE, **fields: str) -> str:
    """Return an assignment with fields of the kernel, from line 3 on."""
    lines = [f'{name} = "{value}"\n' for name, value in fields.items()]
    return f'[kernel]\nsignature = "{signature}"\n{"".join(lines)}{PROBLEM}'


BAD = {  # the file, the line, and words of the message
    "unknown key": ("titel = 'x'\n" + PROBLEM, 1, "no key titel: did you mean title"),
    "unknown key of a problem": (PROBLEM + "visiblity = 'hidden'\n", 4, "[[problem]] has no key visiblity"),
    "unknown key of a test": (
        PROBLEM + "[[test]]\nkind = 'race'\npoints = 1\nat_most = 3\n",
        7,
        "no key at_most",
    ),
    "unknown table": (PROBLEM + "[[tests]]\nkind = 'race'\n", 4, "no key tests: did you mean test"),
    "points that do not add up": (
        "points = 20\n" + PROBLEM,
        1,
        "points is 20, and those of the problems and tests add up to 2",
    ),
    "no points": (PROBLEM + "[[problem]]\nsize = 3\n", 4, "has no points"),
    "negative points": ("[[problem]]\nsize = 24\npoints = -2\n", 3, "points has to be a number from 0"),
    "points as text": ("[[problem]]\nsize = 24\npoints = '2'\n", 3, "points has to be a number"),
    "a problem beyond memory": (
        PROBLEM + "[[problem]]\nvisibility = 'hidden'\nsize = 46000\npoints = 1\n",
        6,
        "46000x46000x46000 float32 needs",
    ),
    "a problem beyond any index": (
        PROBLEM + "[[problem]]\nsize = 100000\npoints = 1\n",
        5,
        "a matrix of 100000x100000x100000",
    ),
    "a size that is none": ("[[problem]]\nsize = '12x'\npoints = 1\n", 2, "“12x” is not a size"),
    "a size of 0": ("[[problem]]\nsize = 0\npoints = 1\n", 2, "must be at least 1"),
    "no size": ("[[problem]]\npoints = 1\n", 1, "this [[problem]] has no size"),
    "an unknown method": (
        PROBLEM + "[[test]]\nkind = 'global-bytes'\nof = 'tilde'\npoints = 1\n",
        6,
        "unknown method tilde: did you mean tiled",
    ),
    "an unknown parameter": (
        PROBLEM + "[[test]]\nkind = 'global-bytes'\nof = 'tiled,TILE=16'\npoints = 1\n",
        6,
        "tiled has no parameter TILE",
    ),
    "a method that is no kernel": (
        PROBLEM + "[[test]]\nkind = 'not-copied'\nof = 'numpy'\npoints = 1\n",
        6,
        "numpy is no CUDA kernel",
    ),
    "an unknown kind": (
        PROBLEM + "[[test]]\nkind = 'races'\npoints = 1\n",
        5,
        "no test of the kind races: did you mean race",
    ),
    "a test without a kind": (PROBLEM + "[[test]]\npoints = 1\n", 4, "this [[test]] has no kind"),
    "a test without its limit": (
        PROBLEM + "[[test]]\nkind = 'occupancy'\npoints = 1\n",
        4,
        "of the kind occupancy has no at_least",
    ),
    "a share above 1": (
        PROBLEM + "[[test]]\nkind = 'occupancy'\nat_least = 50\npoints = 1\n",
        6,
        "at_least has to be a share",
    ),
    "shares in the wrong order": (
        PROBLEM + "[[test]]\nkind = 'speed'\nof = 'tiled'\nzero_at = 0.9\nfull_at = '50%'\npoints = 1\n",
        7,
        "zero_at is 0.9",
    ),
    "an unknown architecture": (
        PROBLEM + "[[test]]\nkind = 'occupancy'\nat_least = 0.5\narch = 'sm_81'\npoints = 1\n",
        7,
        "sm_81",
    ),
    "an unknown type": (
        "[[problem]]\nsize = 24\ndtype = 'float'\npoints = 1\n",
        3,
        "there is no dtype float: did you mean float64 or float32?",
    ),
    "an unknown visibility": (
        "[[problem]]\nsize = 24\nvisibility = 'private'\npoints = 1\n",
        3,
        "there is no visibility private",
    ),
    "a signature that is none": (
        "[kernel]\nsignature = 'void f(int)'\n" + PROBLEM,
        2,
        "signature is no declaration of a kernel",
    ),
    "an entry of another name": (
        f"[kernel]\nentry = 'mm'\nsignature = '{SIGNATURE}'\n" + PROBLEM,
        2,
        "the signature declares matmul",
    ),
    "a grid that is no arithmetic": ("[kernel]\ngrid = 'N // )'\n" + PROBLEM, 2, "N // )"),
    "an unknown field": ("[kernel]\nblocks = '16'\n" + PROBLEM, 2, "[kernel] has no key blocks"),
    "a limit of 0": ("[limits]\nrun_s = 0\n" + PROBLEM, 2, "run_s has to be a number between 0.5"),
    "no problem": ("title = 'x'\n", 1, "the assignment has no [[problem]]"),
    "one problem in single brackets": (
        "[problem]\nsize = 24\npoints = 1\n",
        1,
        "problem has to be written as [[problem]]",
    ),
    "an array from a file": (kernel(args="M, N, K, A, B, C, file(x.npy)"), 3, "file(…) reads a file"),
    "an argument too few": (kernel(args="M, N, K, A, B"), 3, "args has 5 arguments, and the signature has 6"),
    "a matrix for a number": (
        kernel(args="A, B, C, M, N, K"),
        3,
        "args passes A for “int M”, which is a number",
    ),
    "a number for a matrix": (
        kernel(args="M, N, K, A, 3, C"),
        3,
        "args passes 3 for “const float *B”, which is",
    ),
    "a fraction for a whole number": (
        kernel(args="M, N, 1.5, A, B, C"),
        3,
        "args passes 1.5 for “int K”, which is a whole number",
    ),
    "no argument": (kernel(args="M, N, , A, B, C"), 3, "is not arithmetic"),
    "C where it is const": (
        kernel(args="M, N, K, C, B, A"),
        3,
        "args passes C for “const float *A”, which the kernel cannot write",
    ),
    "a matrix twice": (kernel(args="M, N, K, A, A, C"), 3, "args does not pass B"),
    "an unknown size": (kernel(args="M, N, k, A, B, C"), 3, "“k”: unknown name k: did you mean K?"),
    "a matrix in the grid": (kernel(grid="A, 1"), 3, "“A”: A is a matrix"),
    "a parameter in the grid": (
        kernel(
            "__global__ void f(int rows, int N, int K, const float *A, const float *B, float *C)", grid="rows"
        ),
        3,
        "“rows”: rows is a parameter of the kernel: write M, N or K",
    ),
    "a name that is no macro": (
        kernel(macros="TILE, BK", grid="ceil(N / TIEL)"),
        4,
        "“ceil(N / TIEL)”: TIEL is not among the macros: did you mean TILE?",
    ),
    "a macro that is none": (kernel(macros="16"), 3, "“16” in macros is no name"),
    "four axes": (kernel(threads="1, 1, 1, 1"), 3, "threads needs one to three numbers, not 4"),
    "too many threads": (kernel(threads="64, 64"), 3, "has 4096 threads; this device allows 1024"),
    "a grid that is not whole": (kernel(grid="N / 16"), 3, "“N / 16” is 1.5, not a whole number"),
    "a division as in C": (
        kernel(grid="(N + TILE - 1) / TILE"),
        3,
        "is no whole number at 24x24x24 with TILE = 8, 16, 32: write (N + TILE - 1) // TILE, which",
    ),
    "a grid without blocks": (kernel(grid="N // 32"), 3, "the grid is 0 x 1 x 1 blocks"),
    "two numbers of bytes": (kernel(**{"shared-bytes": "16, 16"}), 3, "is not arithmetic"),
    "too many bytes": (kernel(**{"shared-bytes": "M * 65536"}), 3, "1,572,864 bytes of shared memory"),
    "arguments of a function": (kernel(grid="ceil(N, 16)"), 3, "wrong number of arguments to ceil"),
    "a layout that is none": (kernel(layout="B=col"), 3, "must have the form “layout: A=column"),
    "another value of C": (kernel(**{"initial-c": "1"}), 3, "initial-c must be 0"),
    "a size that no kernel gets": (
        kernel(requires="M == 25"),
        5,
        "24x24x24 is no size that requires = M == 25",
    ),
    "a dtype that is not the signature's": (
        kernel() + "dtype = 'float64'\n",
        6,
        "dtype is float64, and the signature has matrices of float",
    ),
    "matrices of short": (
        kernel(SIGNATURE.replace("float", "short")),
        2,
        "cudamm cannot run kernels with matrices of short yet",
    ),
    "no TOML": ("[[problem]]\nsize = \n", 2, "this is not TOML"),
    "a key twice": (PROBLEM + "size = 4\n", 4, "size is there twice: line 2 has it too"),
    "a table twice": (kernel() + "[kernel]\n", 6, "[kernel] is there twice: line 1 has it too"),
    "a key at the top twice": ("seed = 1\nseed = 2\n" + PROBLEM, 2, "seed is there twice: line 1 has it too"),
    "brackets without an end": ("x = " + "[" * 20_000, 1, "this is not TOML"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_mistake_is_one_line_with_its_line_number(written, name):
    text, line, words = BAD[name]
    with pytest.raises(UsageError) as refused:
        written(text)
    message = str(refused.value)
    assert "\n" not in message
    place = re.match(r"\S*assignment\.toml:(\d+): ", message)
    assert place and int(place[1]) == line, message
    assert words in message


@pytest.mark.parametrize(
    "text",
    [
        kernel(args="M, N, K, A, B, C", grid="ceil(N / TILE), blockSize", threads="64, TILE"),
        kernel(macros="TILE", threads="TILE, 2", requires="M % TILE == 0", grid="N / TILE"),
        kernel(SIGNATURE.replace("const ", ""), args="M, N, K, C, A, B"),
        kernel(
            SIGNATURE.replace("int K", "int K, float alpha, int tile"), args="M, N, K, alpha, TILE, A, B, C"
        ),
        kernel(SIGNATURE.replace("int K", "float x"), args="M, N, 1.5, A, B, C"),
        kernel(requires="M % 16 == 0, M == N", grid="M / 16"),
        kernel().replace("signature", "threads = 64\nshared-bytes = 1024\nsignature"),
        kernel(threads="BM / TM * BN / TN", grid="N / BN, ceil(M / BM), (N + BM - 1) // (BM - BN)"),
        kernel(SIGNATURE.replace("const float *A", "float const A[]"), args="M, N, K, A, B, C"),
        kernel(SIGNATURE.replace("float *C", "float *const C")),
        kernel(**{"shared-bytes": "TILE * TILE * sizeof(element)"}, layout="B=column"),
        "[kernel]\nthreads = '16, 16'\ngrid = 'ceil(N / 16), ceil(M / 16)'\n" + PROBLEM + "dtype = 'int32'\n",
    ],
)
def test_a_launch_that_a_submission_could_have_is_accepted(written, text):
    assert len(written(text).tests) == 1


def test_the_element_type_is_that_of_the_signature(written):
    assert written(kernel(SIGNATURE.replace("float", "double"))).tests[0].element.name == "float64"
    assert written(kernel(SIGNATURE.replace("float", "int"))).tests[0].element.name == "int32"


def test_a_test_at_sizes_that_the_kernel_does_not_allow_needs_others(written):
    square, test = kernel(requires="M == N, N == K"), "[[test]]\nkind = 'race'\npoints = 1\n"
    with pytest.raises(UsageError, match=r"toml:7: 17x31x13 is no size that .* allows: choose another"):
        written(square + test)
    assert len(written(square + test + "size = [17, 64]\n").tests) == 2


def test_a_file_that_is_no_text_is_refused(tmp_path):
    from cudamm.grading.assignment import read_assignment

    (tmp_path / "a.toml").write_bytes(b"title = 'x'\ntitel = '\xe9'\n")
    with pytest.raises(UsageError, match=r"a\.toml:2: this is not UTF-8"):
        read_assignment(tmp_path / "a.toml")
    with pytest.raises(UsageError, match="there is no assignment"):
        read_assignment(tmp_path / "b.toml")


def test_lines_are_found_behind_strings_and_lists_of_several_lines():
    text = """\
a = \"\"\"
b = 1
[[x]]
\"\"\"
[[x]]  # [y]
c = [
  1, # ]
  "d = [",
]
"e" = 2
[[x]]
[y]
f = '#' # g = 1
"""
    assert toml_lines(text) == {
        ("a",): 1,
        ("x", 0): 5,
        ("x", 0, "c"): 6,
        ("x", 0, "e"): 10,
        ("x", 1): 11,
        ("y",): 12,
        ("y", "f"): 13,
    }


HIDDEN = "[[problem]]\nsize = 51\nvisibility = 'hidden'\npoints = 1\n"
TEST = "[[test]]\nkind = 'sectors-per-load'\nat_most = 4\npoints = 1\n"


def test_a_test_without_a_size_has_that_of_a_public_problem(written):
    assignment = written(KERNEL + HIDDEN + ONE_PROBLEM + TEST)
    assert str(assignment.tests[2].shapes[0]) == "24x24x24"
    with pytest.raises(UsageError, match=r"this public test needs a size, because every problem is hidden"):
        written(KERNEL + HIDDEN + TEST)


def test_a_problem_that_exceeds_the_memory_limit_is_refused(written):
    problem = "[limits]\nmemory_gb = 0.5\n[[problem]]\nsize = '12000x12000x1'\npoints = 1\n"
    with pytest.raises(
        UsageError, match=r"the matrices of 12000x12000x1 float32 take 0.6 GB, and memory_gb allows 0.5"
    ):
        written(KERNEL + problem)
