"""What may be handed in: everything else gets no points, and the reason."""

from __future__ import annotations

import pytest
from small_assignment import KERNEL, ONE_PROBLEM, RIGHT, SIGNATURE

from cudamm.errors import UsageError

REFUSED = {
    "empty": (b"", "handed_in.cu is empty"),
    "blank": (b" \n\t\n", "handed_in.cu is empty"),
    "binary": (b"\x7fELF\x02\x01\x00" * 40, "is not text: it contains NUL bytes"),
    "10 MB": (b"// x\n" * 2_000_000, "is larger than 131,072 bytes"),
    "one long line": (b"//" + b"x" * 20_000, "has a line of 20,002 characters"),
    "Latin-1": (
        "// Größe\n".encode("latin-1"),
        "handed_in.cu:1: the byte 0xf6 is not UTF-8 (is the file in Latin-1?)",
    ),
    "UTF-16": (RIGHT.encode("utf-16"), "is not text: it contains NUL bytes"),
    "no kernel": (b"int main() { return 0; }\n", "has no function matmul"),
    "another entry": (
        RIGHT.replace("matmul", "multiply").encode(),
        "has no function matmul (kernels found: multiply)",
    ),
    "other parameters": (
        RIGHT.replace("int K, ", "int K, float alpha, ").encode(),
        "has other parameters than the assignment's",
    ),
    "another type of matrices": (
        RIGHT.replace("float *", "double *").encode(),
        "has other parameters than the assignment's",
    ),
    "what does not compile": (RIGHT.replace("float sum", "flaot sum").encode(), "handed_in.cu:6:5: error:"),
    "what takes hours to read": (b"__global__ void matmul(\n" * 5_000, "could not be read within 1 s"),
    "what tells a watched kernel": (
        RIGHT.replace("float sum = 0", "float sum = __builtin_constant_p(K)").encode(),
        "__builtin_constant_p is not accepted: its accesses to memory could not be counted",
    ),
    "no TILE": (
        RIGHT.replace("TILE", "EDGE").encode(),
        "handed_in.cu does not define TILE as a whole number, and the assignment uses it (threads = ",
    ),
    "a template": (
        RIGHT.replace("__global__", "template <int EDGE> __global__").encode(),
        "matmul is a template: hand in a kernel that is none",
    ),
    "a compiler's own name": (
        RIGHT.encode() + b"#ifdef __GNUC__\n#endif\n",
        "__GNUC__ is not accepted: a submission must be the same code for each compiler",
    ),
    "a compiler's own name, pasted": (
        RIGHT.encode() + b"#define CAT(a, b) a##b\n#if CAT(__SANITIZE_, THREAD__)\n#endif\n",
        "__SANITIZE_THREAD__ is not accepted",
    ),
    "a name that optimisation defines": (
        RIGHT.encode() + b"__device__ int fast = __OPTIMIZE__;\n",
        "__OPTIMIZE__ is not accepted",
    ),
    "a name of the processor": (RIGHT.encode() + b"#ifdef __FMA__\n#endif\n", "__FMA__ is not accepted"),
    "the grader's own name, pasted": (
        RIGHT.encode() + b"#define CAT(a, b) a##b\nvoid CAT(cudamm, _memcpy)();\n",
        "cudamm_memcpy is not accepted: names that begin with cudamm are those of the grader",
    ),
    "an attribute in digraphs": (
        RIGHT.replace("__global__", "<:<:gnu::no_sanitize_thread:>:> __global__").encode(),
        "handed_in.cu:3: <: is not accepted",
    ),
    "an attribute in a macro": (
        (
            "#define ATTRIBUTE(a) __attribute__((a))\n"
            + RIGHT.replace("__global__", "ATTRIBUTE(optimize(3)) __global__")
        ).encode(),
        "the attribute optimize is not accepted",
    ),
    "a pragma in a string": (
        RIGHT.encode() + b'_Pragma("GCC optimize 3")\n',
        "#pragma GCC optimize is not accepted",
    ),
    "text": (b"Dear teacher,\nthe dog ate my kernel.\n", "has no function matmul"),
    "brackets": (b"{" * 9_000, "matmul"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_kernel_of_the_assignment_gets_0_points_with_a_reason(graded, name):
    content, reason = REFUSED[name]
    limits = "[limits]\ncompile_s = 1\n" if "within 1 s" in reason else ""
    grade = graded(content, KERNEL + limits + ONE_PROBLEM)
    assert reason in grade.refused and grade.score == 0 and grade.points == 2
    assert "cudamm-temporary" not in grade.refused
    assert [g.status for g in grade.graded] == ["failed"] and not grade.is_full


@pytest.mark.slow
def test_the_ending_may_be_in_capitals(graded, tmp_path):
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / "MINE.CU").write_text(RIGHT)
    assert graded(folder).is_full
    grade = graded(folder / "MINE.CU")
    assert grade.is_full and grade.submission == "MINE.CU"


@pytest.mark.slow
def test_a_folder_with_one_file_is_a_submission(graded, tmp_path):
    folder = tmp_path / "submission"
    folder.mkdir()
    assert "no file ends in .cu" in graded(folder).refused
    (folder / "my kernel (final).cu").write_text(
        '#include "tile.h"\n' + RIGHT.replace("#define TILE 16\n", "")
    )
    (folder / "tile.h").write_text("#pragma once\n#define TILE 16\n")
    (folder / "notes.txt").write_bytes(b"\xff\x00")
    assert graded(folder).is_full
    (folder / "second.cu").write_text(RIGHT)
    assert "2 files end in .cu (my kernel (final).cu, second.cu)" in graded(folder).refused


def test_a_header_beside_a_submission_follows_the_same_rules(graded, tmp_path):
    (tmp_path / "tile.h").write_text('#include "/etc/passwd"\n#define TILE 16\n')
    grade = graded('#include "tile.h"\n' + RIGHT.replace("#define TILE 16\n", ""))
    assert 'tile.h:1: #include "/etc/passwd": a submission includes files of its own folder' in grade.refused


def test_a_header_reads_no_array_from_a_file(graded):
    taken = RIGHT.replace("float *C", "float *C, const int *order")
    header = "// Mine.\n//\n// args: M, N, K, A, B, C, file(/etc/order.npy)\n// threads: TILE, TILE\n"
    header += "// grid: ceil(N / TILE), ceil(M / TILE)\n\n"
    assert "its args may not contain file(…)" in graded(header + taken, ONE_PROBLEM).refused


def test_a_link_is_not_followed(graded, tmp_path):
    (tmp_path / "other.cu").write_text(RIGHT)
    link = tmp_path / "link.cu"
    link.symlink_to(tmp_path / "other.cu")
    assert graded(link).refused == "link.cu is a link: hand in the file itself"
    folder = tmp_path / "handed_in"
    folder.mkdir()
    (folder / "tile.h").symlink_to("/etc/passwd")
    (folder / "a.cu").write_text('#include "tile.h"\n' + RIGHT)
    assert "tile.h: No such file" in graded(folder).refused


def test_a_file_that_is_not_there_is_a_mistake_of_the_command(graded, tmp_path):
    with pytest.raises(UsageError, match="there is no submission"):
        graded(tmp_path / "missing.cu")


def test_a_file_of_another_kind_gets_0_points(graded, tmp_path):
    (tmp_path / "kernel.py").write_text("def matmul(a, b, out): out[:] = a @ b\n")
    assert "does not end in .cu" in graded(tmp_path / "kernel.py").refused


def test_several_kernels_are_refused_if_the_assignment_names_none(graded):
    main = """
    int main() {
        float *A, *B, *C; cudaMalloc(&A, 4); cudaMalloc(&B, 4); cudaMalloc(&C, 4); int M = 64, N = 64, K = 64;
        matmul<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(M, N, K, A, B, C);
        second<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(M, N, K, A, B, C);
    }
    """
    both = RIGHT + RIGHT.replace("#define TILE 16\n", "").replace("matmul", "second") + main
    assert (
        "launches several kernels that multiply matrices (matmul, second)"
        in graded(both, ONE_PROBLEM).refused
    )
    assert graded(both).is_full


def test_without_a_prescribed_launch_the_submission_has_to_launch_its_kernel(graded):
    grade = graded(RIGHT, ONE_PROBLEM)
    assert (
        "lacks threads and grid" in grade.refused
        and "; launch it in main, or write “// threads: …”" in grade.refused
    )
    two = RIGHT + RIGHT.replace("#define TILE 16\n", "").replace("matmul", "second")
    assert graded(two, ONE_PROBLEM).refused.endswith("has several kernels: hand in one (matmul, second)")


@pytest.mark.slow
def test_a_header_cannot_raise_the_rate_that_counts_as_possible(graded, monkeypatch):
    from cudamm.grading import grade as grading

    seen = []
    real = grading.variant_of
    monkeypatch.setattr(grading, "variant_of", lambda *given: seen.append(real(*given)) or seen[-1])
    assert graded(f"// A kernel.\n//\n// ceiling: 1000\n// threads: TILE, TILE\n\n{RIGHT}").is_full
    assert [variant.method.ceiling for variant in seen] == [1]


@pytest.mark.long
@pytest.mark.parametrize(
    "field, change",
    [
        ("requires: M % TILE == 0, N % TILE == 0", ("if (row >= M || col >= N) return;", "")),
        ("layout: B=column", ("B[k * N + col]", "B[k + col * K]")),
        ("initial-c: 0", ("] = sum", "] += sum")),
    ],
)
def test_the_assignment_alone_says_what_has_to_be_computed(graded, field, change):
    key, _, value = field.partition(": ")
    submission = f"// Mine.\n//\n// {field}\n\n{RIGHT.replace(*change)}"
    assert submission.count(change[1])
    assert graded(submission).score == 0
    assert graded(submission, f"{KERNEL}{key} = '{value}'\n{ONE_PROBLEM}").is_full


def test_conditions_of_host_code_do_not_pad_the_problem(graded):
    main = """
    int main() {
        float *A, *B, *C; int M = 64, N = 64, K = 64;
        cudaMalloc(&A, M * K * 4); cudaMalloc(&B, K * N * 4); cudaMalloc(&C, M * N * 4);
        matmul<<<dim3(N / TILE, M / TILE), dim3(TILE, TILE)>>>(M, N, K, A, B, C);
    }
    """
    assert graded(RIGHT + main, ONE_PROBLEM.replace("24", "32")).is_full
    assert graded(RIGHT + main, ONE_PROBLEM).score == 0


def test_the_signature_is_compared_by_types_and_not_by_names(graded):
    renamed = RIGHT.replace(
        SIGNATURE, SIGNATURE.replace("int M, int N, int K", "const int rows, int columns, int depth")
    )
    for old, new in (("M", "rows"), ("N", "columns"), ("K", "depth")):
        renamed = (
            renamed.replace(f">= {old}", f">= {new}")
            .replace(f"* {old} +", f"* {new} +")
            .replace(f"< {old};", f"< {new};")
        )
    assert graded(renamed, KERNEL + "args = 'M, N, K, A, B, C'\n" + ONE_PROBLEM).is_full
