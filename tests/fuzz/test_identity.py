"""With `--resume`, a row is measured again if anything that makes its result has changed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from arena import Arena, Ended, Line

KERNEL = """\
#include "quoted.h"
__global__ void one(int M, int N, int K, const element *A, const element *B, element *C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    element sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum * QUOTED * FACTOR;
}
__global__ void two(int M, int N, int K, const element *A, const element *B, element *C) {
    C[0] = 2;
}
"""
SEARCHING = KERNEL.replace('#include "quoted.h"', "#include <searched.h>\n#define QUOTED SEARCHED")
FILES = {
    "my.cu": KERNEL,
    "searching.cu": SEARCHING,
    "quoted.h": '#define QUOTED DEEP\n#include \\\n"deep.h"\n',
    "deep.h": "#define DEEP 1\n",
    "headers/searched.h": "#define SEARCHED 1\n",
    "others/searched.h": "#define SEARCHED 2\n",
    "compiler": '#!/bin/sh\nexec g++ "$@"\n',
}
OPTIONS = {
    "--entry": "one", "--args": "M,N,K,A,B,C", "--threads": "4,4", "--grid": "2,2", "--shared-bytes": "0",
    "-D": "FACTOR=1",
    "--requires": "M%1==0", "-n": "8", "--dtype": "float32", "--seed": "0", "--warmup": "0", "--runs": "1",
    "--max-time": "1",
}  # fmt: skip

REFUSED, WRONG, RIGHT = 2, 1, 0
"""Exit statuses of the second run."""

CHANGED_FILES = {
    "a header of a header": ("deep.h", "#define DEEP 2\n", WRONG),
    "a byte of the kernel": ("my.cu", KERNEL.replace("sum = 0", "sum = 1"), WRONG),
    "a header": ("quoted.h", "#define QUOTED 2\n", WRONG),
}
CHANGED_OPTIONS = {
    "-D": ("FACTOR=2", WRONG),
    "--requires": ("M%3==0", RIGHT),
    "--dtype": ("float64", RIGHT),
    "--entry": ("two", WRONG),
    "--args": ("M,N,K,B,A,C", WRONG),
    "--threads": ("4,2", WRONG),
    "--grid": ("2,3", RIGHT),
    "--shared-bytes": ("64", RIGHT),
    "-n": ("9", WRONG),
    "--seed": ("1", REFUSED),
    "--runs": ("2", REFUSED),
    "--no-fmad": ("", REFUSED),
}
CHANGED_SEARCHES = {
    "a header in a folder of CPATH": {},
    "CPATH": {"CPATH": "others"},
    "CPLUS_INCLUDE_PATH": {"CPATH": "", "CPLUS_INCLUDE_PATH": "others"},
    "a folder of CXX": {"CPATH": "", "CXX": "g++ -Iothers"},
}
CHANGED_COMPILERS = {"other options": "g++ -O1", "a script": "./compiler"}
AT_ONCE = {"a header of a header", "--requires", "--dtype", "--entry", "--args", "--grid"}
"""Things that `make test` changes. `make fuzz` changes the others; most have faster tests elsewhere."""


def named(things: dict[str, Any]) -> list[Any]:
    """Return the names of things to change; those for the long form are marked."""
    return [pytest.param(name, marks=() if name in AT_ONCE else pytest.mark.long) for name in things]


class TwoRuns:
    """A first run, whose folder each test gets a copy of, and a second run that differs in one thing."""

    def __init__(
        self, arena: Arena, kernel: str = "my.cu", environment: dict[str, str] | None = None
    ) -> None:
        self._arena = arena
        self._kernel = kernel
        self._environment = environment or {}
        for name, text in FILES.items():
            path = arena.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        assert self.run().status == 0
        self._kept = arena.folder.with_name("kept")
        shutil.copytree(
            arena.folder, self._kept, symlinks=True, ignore=shutil.ignore_patterns("fifo", "circle")
        )

    def run(self, options: dict[str, str] | None = None, environment: dict[str, str] | None = None) -> Ended:
        """Run the command with some options and variables changed."""
        chosen = OPTIONS | (options or {})
        words = [word for pair in chosen.items() for word in pair if word]
        line = Line(
            ("bench", "--device", "cpu", "--times", "--kernel", self._kernel, "--resume", "out.json", *words),
            self._environment | (environment or {}),
            figures=False,
        )
        return self._arena.run(line)

    def restore(self) -> None:
        """Put back all files as they were after the first run."""
        shutil.rmtree(self._arena.folder)
        shutil.copytree(self._kept, self._arena.folder, symlinks=True)

    def write(self, name: str, text: str) -> None:
        """Change a file."""
        (self._arena.folder / name).write_text(text)


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory, compiler_cache: Path) -> Iterator[TwoRuns]:
    arena = Arena(tmp_path_factory.mktemp("identity") / "arena", compiler_cache)
    yield TwoRuns(arena)
    arena.close()


@pytest.fixture(scope="module")
def searching_run(tmp_path_factory: pytest.TempPathFactory, compiler_cache: Path) -> Iterator[TwoRuns]:
    """Yield a first run whose compiler finds a header in a folder of CPATH."""
    arena = Arena(tmp_path_factory.mktemp("search") / "arena", compiler_cache)
    yield TwoRuns(arena, "searching.cu", {"CPATH": "headers"})
    arena.close()


@pytest.fixture
def two_runs(first_run: TwoRuns) -> TwoRuns:
    first_run.restore()
    return first_run


def assert_measured_again(ended: Ended, status: int) -> None:
    assert ended.status == status, ended
    assert b"in out.json already" not in ended.stdout, ended


@pytest.mark.slow
def test_nothing_is_measured_again_if_nothing_changed(two_runs: TwoRuns) -> None:
    ended = two_runs.run()
    assert ended.status == 0 and b"1 of 1 results were in out.json already" in ended.stdout, ended


@pytest.mark.parametrize("thing", named(CHANGED_FILES))
@pytest.mark.slow
def test_a_changed_file_has_the_row_measured_again(two_runs: TwoRuns, thing: str) -> None:
    name, text, status = CHANGED_FILES[thing]
    two_runs.write(name, text)
    assert_measured_again(two_runs.run(), status)


@pytest.mark.parametrize("option", named(CHANGED_OPTIONS))
@pytest.mark.slow
def test_a_changed_option_has_the_row_measured_again(two_runs: TwoRuns, option: str) -> None:
    value, status = CHANGED_OPTIONS[option]
    assert_measured_again(two_runs.run({option: value}), status)


@pytest.mark.long
@pytest.mark.parametrize("thing", CHANGED_SEARCHES)
def test_another_header_found_by_the_compiler_has_the_row_measured_again(
    searching_run: TwoRuns, thing: str
) -> None:
    searching_run.restore()
    if not CHANGED_SEARCHES[thing]:
        searching_run.write("headers/searched.h", "#define SEARCHED 2\n")
    assert_measured_again(searching_run.run(environment=CHANGED_SEARCHES[thing]), WRONG)


@pytest.mark.long
@pytest.mark.parametrize("thing", CHANGED_COMPILERS)
def test_another_compiler_has_the_row_measured_again(two_runs: TwoRuns, thing: str) -> None:
    assert_measured_again(two_runs.run(environment={"CXX": CHANGED_COMPILERS[thing]}), RIGHT)
