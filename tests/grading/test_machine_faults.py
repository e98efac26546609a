"""No fault of the grader changes a mark: a right submission has all its points, or it is not graded."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_assignment import KERNEL, ONE_PROBLEM, RIGHT

pytestmark = pytest.mark.long

ASSIGNMENT = KERNEL + ONE_PROBLEM + '[[test]]\nkind = "race"\nsize = 24\npoints = 3\n'

STAGES = {
    "preprocesses": '*" -E "*',
    "compiles": '*" -O3 "*" -c "*',
    "compiles to observe": '*"fsanitize=thread"*" -c "*',
    "links": '*".kernel "',
}
"""What a call of the compiler does, as a pattern of a shell for its arguments."""

SAYS = "echo '{}' >&2; exit 1"
FAULTS = {
    "is killed": "kill -9 $$",
    "crashes": "kill -11 $$",
    "says nothing": "exit 1",
    "succeeds and writes nothing": "exit 0",
    "writes an empty file": ': >"$made"; exit 0',
    "writes a script": 'printf "#!/bin/sh\\nexit 0\\n" >"$made"; exit 0',
    "writes a part": '"$real" "$@"; truncate -s -100 "$made"; exit 0',
    "prints a part": '"$real" "$@" | head -c 500; exit 0',
    "lacks cc1plus": SAYS.format("g++: fatal error: cannot execute cc1plus: No such file or directory"),
    "lacks a linker": SAYS.format("collect2: fatal error: cannot find ld"),
    "lacks memory": SAYS.format("g++: fatal error: Killed signal terminated program cc1plus"),
    "fails by itself": SAYS.format("source:1:1: internal compiler error: Segmentation fault"),
    "lacks a header": SAYS.format(
        "/usr/include/math.h:27:10: fatal error: bits.h: No such file or directory"
    ),
    "cannot read": SAYS.format("cc1plus: fatal error: source: Input/output error"),
}
OF_FILES = ("writes an empty file", "writes a script", "writes a part")
OF_TEXT = ("prints a part",)
CASES = [
    (stage, fault)
    for stage, fault in itertools.product(STAGES, FAULTS)
    if fault not in (OF_FILES if stage == "preprocesses" else OF_TEXT)
]

Graded = tuple[int, float | None, str]


@pytest.fixture
def grading(tmp_path: Path) -> Callable[..., Graded]:
    """Return a function that grades a right submission in a process of its own.

    It returns the exit status, the points, which are None if no file was written, and standard error.
    """
    (tmp_path / "assignment.toml").write_text(ASSIGNMENT)
    (tmp_path / "mine.cu").write_text(RIGHT + f"__device__ int {tmp_path.name};\n")  # no other has its text

    def run(before: Callable[[], object] | None = None, **environment: str) -> Graded:
        command = [sys.executable, "-m", "cudamm", "grade", "assignment.toml", "mine.cu", "--out", "out.json"]
        ended = subprocess.run(
            command,
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            preexec_fn=before,
            check=False,
        )
        out = tmp_path / "out.json"
        points = json.loads(out.read_text())["score"] if out.exists() else None
        out.unlink(missing_ok=True)
        return ended.returncode, points, ended.stderr

    return run


def assert_not_graded(graded: Graded) -> None:
    status, points, stderr = graded
    assert (status, points) == (3, None) and stderr.startswith("cudamm: ") and stderr.count("\n") == 1, graded


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], dict[str, str]]]:
    """Yield a function that gives a C++ compiler a fault at a stage, and returns the environment with it.

    It stays the same program, so that a test finds in the cache what others have compiled.
    """
    folder = tmp_path_factory.mktemp("compiler")
    (folder / "g++").write_text(
        f"#!/bin/sh\nreal={shutil.which('g++')} made= last=\n"
        'for a; do [ "$last" = -o ] && made=$a; last=$a; done\n'
        f'. {folder}/faults\nexec "$real" "$@"\n'
    )
    (folder / "g++").chmod(0o755)

    def with_fault(stage: str, fault: str) -> dict[str, str]:
        (folder / "faults").write_text(f'case " $* " in {STAGES[stage]}) {fault} ;; esac\n')
        return {"CXX": str(folder / "g++"), "CUDAMM_CACHE": str(folder / "cache")}

    yield with_fault


@pytest.mark.parametrize(("stage", "fault"), CASES, ids=[" ".join(case) for case in CASES])
def test_a_compiler_that_fails_is_no_fault_of_the_student(compiler, grading, stage, fault):
    graded = grading(**compiler(stage, FAULTS[fault]))
    assert_not_graded(graded)
    assert "g++" in graded[2]


def test_a_compiler_that_fails_once_is_asked_again(tmp_path, compiler, grading):
    cache = tmp_path / "cache"  # compilers may write there
    once = f'mkdir "{cache}/seen" 2>/dev/null && kill -9 $$'
    assert grading(**compiler("compiles", once) | {"CUDAMM_CACHE": str(cache)})[:2] == (0, 5)
    assert (cache / "seen").is_dir(), "it has failed"


def test_a_slow_machine_is_no_fault_of_the_student(tmp_path, compiler, grading):
    """Compilers and kernels wait for longer than they may run, as if others had the processor."""
    (tmp_path / "assignment.toml").write_text(ASSIGNMENT + "[limits]\ncompile_s = 8\nrun_s = 0.5\n")
    stopped, ended = [], threading.Event()
    thread = threading.Thread(target=stop_kernels, args=(stopped, ended))
    thread.start()
    try:
        status, points, stderr = grading(**compiler("compiles", "sleep 9"))
    finally:
        ended.set()
        thread.join()
    assert (status, points) == (0, 5), stderr
    assert len(stopped) >= 2


def stop_kernels(stopped: list[int], ended: threading.Event) -> None:
    """Stop each process of a kernel once, for two seconds."""
    while not ended.wait(0.002):
        for link in Path("/proc").glob("[0-9]*/exe"):
            process = int(link.parent.name)
            with contextlib.suppress(OSError):
                if process not in stopped and link.readlink().suffix == ".kernel":
                    os.kill(process, signal.SIGSTOP)
                    stopped.append(process)
                    time.sleep(2)
                    os.kill(process, signal.SIGCONT)


LIMITS = {
    "f": (resource.RLIMIT_FSIZE, 1 << 20),
    "t": (resource.RLIMIT_CPU, 100),
    "v": (resource.RLIMIT_AS, 3 << 30),
    "n": (resource.RLIMIT_NOFILE, 64),
}


@pytest.mark.parametrize("option", LIMITS)
def test_a_limit_of_the_shell_is_no_fault_of_the_student(grading, option):
    number, most = LIMITS[option]
    graded = grading(lambda: resource.setrlimit(number, (most, most)))
    assert_not_graded(graded)
    assert f"raise ulimit -{option}" in graded[2]


@pytest.mark.parametrize("suffix", [".o", ".kernel"])
def test_damaged_files_of_the_cache_change_no_points(tmp_path, grading, suffix):
    own_cache = tmp_path / "cache"
    assert grading(CUDAMM_CACHE=str(own_cache))[:2] == (0, 5)
    for number, path in enumerate(sorted(own_cache.glob(f"*{suffix}"))):
        content = path.read_bytes()
        path.write_bytes((b"", content[: len(content) // 2], b"#!/bin/sh\nexit 0\n", bytes(1000))[number % 4])
    assert grading(CUDAMM_CACHE=str(own_cache))[:2] == (0, 5)


@pytest.mark.parametrize("variable", ["TMPDIR", "CUDAMM_CACHE"])
def test_a_folder_that_cannot_be_used_is_no_fault_of_the_student(tmp_path, grading, variable):
    (tmp_path / "file").write_text("no folder")
    status, points, _ = grading(**{variable: str(tmp_path / "file")})
    assert (status, points) in ((3, None), (0, 5))  # Python takes another folder for temporary files
