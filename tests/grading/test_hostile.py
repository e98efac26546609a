"""Hostile submissions: each costs its own points, and the machine and the grader nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_assignment import KERNEL, ONE_PROBLEM

import cudamm
from cudamm.compile import confinement
from cudamm.compile.compiler_process import run_to_end
from cudamm.compile.confinement import Confinement, confined, file_confinement, kernel_command
from cudamm.compile.host_compiler import compiler
from cudamm.compile.untrusted_source import check_preprocessed, check_text
from cudamm.errors import KernelError

pytestmark = pytest.mark.long

HOSTILE = Path(__file__).with_name("hostile")
FAULTS = Path(__file__).parents[1] / "faults" / "faults.cu"

QUICK = KERNEL + "[limits]\nrun_s = 1\nmemory_gb = 1\n" + ONE_PROBLEM
"""A kernel that does not end costs a second."""

IMPATIENT = KERNEL + "[limits]\ncompile_s = 1\n" + ONE_PROBLEM

REFUSED = {  # by the text, before a compiler reads it
    "reads_file_when_compiled": 'reads_file_when_compiled.cu:2: #include "/etc/passwd": a submission',
    "reads_file_by_macro": "reads_file_by_macro.cu:3: #include needs the name of a file, and not a macro",
    "reads_file_in_pieces": 'reads_file_in_pieces.cu:2: #include "/etc/passwd"',
    "includes_assignment": '#include "../assignment.toml": a submission includes files of its own',
    "calls_runtime": "cudamm is not accepted",
    "hides_from_check": "__SANITIZE_THREAD__ is not accepted: a submission must be the same code",
    # by the compiler, whose folder has the submission only
    "includes_neighbour": "assignment.toml: No such file or directory",
    # by the text that remains when macros are expanded
    "changes_options": "#pragma GCC optimize",
    "is_not_watched": 'the attribute (no_sanitize("thread")) is not accepted',
    "runs_before_main": "the attribute constructor is not accepted",
    "embeds_file_by_attribute": "the attribute (section(",
    "embeds_file": "does not compile: embeds_file.cu:5",
    "host_assembly": "is no kind of operand (inline PTX)",
    "renamed_function": "does not compile: renamed_function.cu:2",
    # by the functions that the compiled kernel uses
    "fork_bomb": "fork_bomb.cu:8: fork is no function of CUDA's device code, and no kernel can use it",
    "disk_filler": ": fopen is no function",
    "network": ": socket is no function",
    "reads_file_when_run": ": open is no function",
    "writes_results": ": fopen is no function",
    "kills_parent": ": getppid is no function",
    "forges_answers": ": write is no function",
    "stops_itself": ": raise is no function",
    "ends_process": ": _exit is no function",
    "initialises_by_code": "code would run before the kernel",
    # by the limits of a compiler
    "large_object": "File too large",
}

FAILED = {  # while the kernel runs
    "endless_loop": "nothing in it changes what i < 1 says; it did not end within 1 s",
    "memory_bomb": "",
    "overwrites_inputs": "wrote into the input A",
    "jumps_anywhere": "crashed",
}
LONG = {
    "prints_without_end": "it did not end within 1 s",
    "searches_reference": "past its end (C has 24 x 24 elements)",
    "endless_barrier": "it did not end within 1 s",
}

ENDLESS_COMPILATION = ("template_bomb", "macro_bomb")


def test_every_hostile_submission_is_tested():
    files = {path.stem for path in HOSTILE.glob("*.cu")}
    assert files == {*REFUSED, *FAILED, *LONG, *ENDLESS_COMPILATION} and len(files) >= 30


@pytest.mark.parametrize("name", REFUSED)
def test_a_submission_that_is_more_than_a_kernel_is_refused_before_it_runs(
    graded, tmp_path, monkeypatch, name
):
    monkeypatch.chdir(tmp_path)
    grade = graded(HOSTILE / f"{name}.cu", QUICK)
    assert REFUSED[name] in grade.refused and grade.score == 0
    assert "root:" not in grade.refused, "a line of /etc/passwd"
    assert [path.name for path in tmp_path.iterdir()] == ["assignment.toml"]


@pytest.mark.parametrize("name", [*FAILED, *(pytest.param(name, marks=pytest.mark.long) for name in LONG)])
def test_a_kernel_that_crashes_or_does_not_end_costs_its_points(graded, capfd, name):
    start = time.monotonic()
    grade = graded(HOSTILE / f"{name}.cu", QUICK)
    assert not grade.refused and grade.score == 0
    detail = grade.graded[0].outcome.detail
    assert {**FAILED, **LONG}[name] in detail
    assert name != "endless_barrier" or "never ends" not in detail, "another thread may change the flag"
    assert time.monotonic() - start < 180, "the search for a cause has a time limit too"
    assert capfd.readouterr() == ("", ""), "what a kernel prints is dropped"


def test_a_kernel_that_did_not_end_is_not_run_on_larger_problems(graded):
    grade = graded(HOSTILE / "endless_loop.cu", QUICK + "[[problem]]\nsize = 61\npoints = 1\n")
    assert grade.graded[1].outcome.detail == "not run: the kernel did not end on a smaller problem"


@pytest.mark.parametrize("name", ["template_bomb", pytest.param("macro_bomb", marks=pytest.mark.long)])
def test_a_source_that_keeps_the_compiler_busy_is_refused(graded, name):
    grade = graded(HOSTILE / f"{name}.cu", IMPATIENT)
    assert "did not end within 1 s" in grade.refused and grade.score == 0


def test_a_submission_beside_others_is_graded_after_a_hostile_one(graded):
    from small_assignment import RIGHT

    assert graded(HOSTILE / "endless_loop.cu", QUICK).score == 0
    assert graded(RIGHT, QUICK).is_full


# The kernel's process, without the checks of the source that come before it.


def test_a_confined_process_has_only_the_system_calls_of_a_kernel(monkeypatch):
    """Each fault costs its row, also those that would reach the process that watches, which lives on."""
    monkeypatch.setenv("CUDAMM_CONFINED", "1")
    forbidden = "system call that no confined kernel may make"
    faults = {
        0: "",
        1: forbidden,
        3: forbidden,
        5: forbidden,
        8: "call of abort",
        13: forbidden,
        29: forbidden,
        34: "answered “what” instead of a duration",
        37: "attempt to start a process",
        38: "it tried to start a process|attempt to start a process",
    }
    results = cudamm.verify(
        FAULTS,
        shape=[(8, 8, 100 + fault) for fault in faults],
        params={"FAULT": 100},
        device="cpu",
        timeout_s=5,
    )
    for result, words in zip(results, faults.values(), strict=True):
        assert (result.status == "ok") is (words == ""), result
        assert any(word in result.reason for word in words.split("|")), result.reason


def test_a_confined_process_opens_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDAMM_CONFINED", "1")
    target = tmp_path / "written"
    kernel = f"""
    #include <stdio.h>
    __global__ void mine(int M, int N, int K, const float *A, const float *B, float *C) {{
        FILE *const file = fopen("{target}", "w"), *const other = fopen("/etc/passwd", "r");
        for (int i = 0; i < M; ++i)
            for (int j = 0; j < N; ++j) {{
                C[i * N + j] = file || other ? 1 : 0;
                for (int k = 0; k < K; ++k) C[i * N + j] += A[i * K + k] * B[k * N + j];
            }}
    }}
    """
    (result,) = cudamm.verify(kernel, n=8, threads=1, grid=1, device="cpu")
    assert result.status == "ok", result.reason
    assert not target.exists()


def limits(folder: Path) -> Confinement:
    return Confinement(folder, compile_s=20, compiler_bytes=1 << 30, kernel_bytes=1 << 28, kernel_cpu_s=2)


def mechanisms() -> list[str]:
    """Return what confines files here."""
    found = [file_confinement()] if file_confinement() else []
    if "bubblewrap" not in found and shutil.which("bwrap"):
        found.append("bubblewrap")
    return found


@pytest.mark.parametrize(
    "mechanism", mechanisms() or [pytest.param("", marks=pytest.mark.skip("none is here"))]
)
def test_a_confined_compiler_reads_no_other_files(tmp_path, monkeypatch, mechanism):
    """Assembly that gets past the checks of the source finds no file."""
    monkeypatch.setattr(confinement, "file_confinement", lambda: mechanism)
    own, secret = tmp_path / "own", tmp_path / "secret"
    own.mkdir()
    secret.write_text("the hidden problems")
    (own / "mine").write_text("my own data")
    source = own / "source.cpp"
    command = [*compiler().command, "-c", "-o", os.devnull, str(source)]
    with confined(limits(own)):
        for path in ("/etc/passwd", secret):
            source.write_text(f'asm(".incbin \\"{path}\\"");\n')
            completed = run_to_end(command)
            assert completed.returncode != 0 and "file not found" in completed.stderr
            source.write_text(f'#include "{path}"\n')
            assert (
                "Permission denied" in run_to_end(command).stderr
                or "No such file" in run_to_end(command).stderr
            )
        source.write_text(f'#include <vector>\nasm(".incbin \\"{own / "mine"}\\"");\n')
        assert run_to_end(command).returncode == 0


def test_no_process_of_a_submission_has_the_environment_of_the_grader(tmp_path, monkeypatch):
    monkeypatch.setenv("TOKEN_OF_THE_GRADER", "secret")
    monkeypatch.setenv("CPATH", "/usr/include")  # compilers obey it
    with confined(limits(tmp_path)):
        printed = run_to_end(["/usr/bin/env"]).stdout
        assert "CPATH=/usr/include" in printed and "secret" not in printed
        environment = confinement.kernel_environment()
    assert environment is not None and environment.keys() <= {
        "CUDAMM_CONFINED",
        "PATH",
        "LD_LIBRARY_PATH",
        "TMPDIR",
        "LANGUAGE",
    }
    assert environment["CUDAMM_CONFINED"] == "1"


def test_a_confined_process_has_limits_on_memory_files_and_time(tmp_path):
    lines = (
        "import resource as r",
        "print(*(r.getrlimit(n)[0] for n in (r.RLIMIT_AS, r.RLIMIT_FSIZE, r.RLIMIT_CPU, r.RLIMIT_CORE)))",
        "import os; print(os.environ['CUDAMM_CONFINED'])",
    )
    with confined(limits(tmp_path)):
        command = kernel_command([sys.executable, "-c", "\n".join(lines)], is_short=True)
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    cores = len(os.sched_getaffinity(0))
    assert [int(n) for n in printed[:4]] == [(1 << 28) + cores * (1 << 30), 1 << 28, 2 * cores, 0]
    assert printed[4] == "1"


# The checks of the source.


@pytest.mark.parametrize(
    "text",
    [
        '#include "/etc/passwd"',
        '%:include "/etc/passwd"',
        '??=include "/etc/passwd"',
        "  # include </etc/passwd>",
        '/* a */ #include "/etc/passwd"',
        '/* a\n b */#include "/etc/passwd"',
        '#/**/include "/etc/passwd"',
        '# /* a\n*/ include "/etc/passwd"',
        '#include/**/"/etc/passwd"',
        '#include "a/../../b"',
        '#include "../b"',
        '#\\\ninclude "/etc/passwd"',
        '#include \\\n"/etc/passwd"',
        '#include "/etc\\\n/passwd"',
        "#include NAME",
        "#include_next <stdio.h>",
        '#import "/etc/passwd"',
        '#embed "/etc/passwd"',
        '#line 3 "/usr/include/stdio.h"',
        '# 3 "/usr/include/stdio.h" 3',
        '\f#include "/etc/passwd"',
        'const char *s = R"x(\n)x"; /*\n#include "/etc/passwd"\n*/',
        "??/",
        '#include "~/secret"',
    ],
)
def test_text_that_could_mislead_a_compiler_is_refused(text):
    with pytest.raises(KernelError, match=r"^a\.cu:\d+: "):
        check_text(f"int a;\n{text}\nint b;\n", "a.cu")


@pytest.mark.parametrize(
    "text",
    [
        "#include <cuda_runtime.h>",
        '#include "tile.h"',
        '#include "kernels/tile.h"',
        "// #include <math.h>, or not",
        '// Homework #1, line 3 of "the sheet"',
        "#pragma once",
        "#define TILE 16",
        "# pragma unroll 4",
        "#",
        "#if TILE > 8",
        '#error "too large"',
        "// run with cudamm verify",
        'printf("#%d\\n", i);',
    ],
)
def test_text_of_honest_submissions_is_accepted(text):
    check_text(f"int a;\n{text}\nint b;\n", "a.cu")


@pytest.mark.parametrize(
    "code",
    [
        'asm goto ("nop" : : : : label);',
        "[[gnu::constructor]] void f();",
        '[ [ gnu::section(".data\\n.incbin") ] ] int x;',
        "[[using gnu: constructor, used]] void f();",
        "__attribute__((used, constructor)) void f();",
        "__attribute__ (( __constructor__ (101) )) void f();",
        '__attribute__((aligned(16), ifunc("f"))) void f();',
        '__attribute((alias("system"))) int f();',
        '__attribute__((deprecated("a"), section("b"))) int x;',
        '#pragma GCC optimize("O0")',
        "#pragma weak f",
        "#pragma redefine_extname f g",
        '#pragma GCC dependency "/etc/passwd"',
        "__attribute__((no_sanitize_thread)) void f();",
        '__attribute__((target("avx2"))) void f();',
        "<:<:gnu::constructor:>:> void f();",
        "%:pragma weak f",
        "void f() <% %>",
        "int cudamm_memcpy;",
        "namespace cudamm { int x; }",
    ],
)
def test_preprocessed_code_that_is_more_than_cuda_is_refused(code):
    with pytest.raises(KernelError, match=r"^mine\.cu:2: "):
        check_preprocessed(f'# 1 "mine.cu"\nint a;\n{code}\nint b;\n')


@pytest.mark.parametrize(
    "code",
    [
        "__attribute__((noinline)) void f();",
        "__attribute__((aligned(16))) float x[4];",
        "[[maybe_unused]] int x;",
        '[[nodiscard("use it")]] int f();',
        'const char *s = "asm(x) [[constructor]]";',
        "int asmx = a[[&] { return 0; }()];",
        "#pragma unroll 8",
        "#pragma GCC unroll 8",
        "int x = 1'000'000;",
        '__attribute__((deprecated("asm"))) int f();',
        'asm volatile ("bar.sync 0;");',
        "int x = a<::b>::c;",
    ],
)
def test_preprocessed_code_of_honest_kernels_is_accepted(code):
    check_preprocessed(f'# 1 "mine.cu"\nint a;\n{code}\nint b;\n')


@pytest.mark.parametrize(
    "unit", ["#/*", "# ", "[[", "/*", "\\\n", '#include "', "__attribute__((", "(", '"', "'", "# 1 "]
)
def test_the_checks_take_linear_time(unit):
    text = unit * (100_000 // len(unit))
    start = time.monotonic()
    for check in (lambda: check_text(text, "a.cu"), lambda: check_preprocessed(text)):
        with contextlib.suppress(KernelError):
            check()
    assert time.monotonic() - start < 5
