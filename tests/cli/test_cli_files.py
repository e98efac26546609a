"""Paths that are no kernel file: each command says in one line what the path is, and what to name instead."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

KERNEL = """// threads: 16, 16
// grid: ceil(N / 16), ceil(M / 16)
__global__ void mine(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
"""

COMMANDS = (
    "verify",
    "check",
    "trace",
    "occupancy",
    "bench",
    "roofline --gpu a100",
    "report",
    "compare mine.cu",
)


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest) -> str:
    """Return each command that takes kernel files, without the last file."""
    name: str = request.param
    return name


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    """Write kernels, and files that are none."""
    for name in (
        "mine.cu",
        "homework/tiled.cu",
        "homework/naive.cu",
        "project/src/gemm.cuh",
        "mine.txt",
        "KERNEL",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(KERNEL)
    (tmp_path / "homework/main.cpp").write_text("int main() {}")
    (tmp_path / "notes.md").write_text("Hand in tiled.cu.")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "empty.cu").write_text(" \n")
    (tmp_path / "host.cu").write_text("__device__ float half_of(float x) { return x / 2; }\nint main() {}\n")
    (tmp_path / "program").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(100) + b"__global__")
    (tmp_path / "object.cu").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(100))
    (tmp_path / "wide.cu").write_bytes(KERNEL.encode("utf-16"))
    (tmp_path / "notes.cu").write_bytes(b"__global__\0")
    with zipfile.ZipFile(tmp_path / "homework.zip", "w") as archive:
        archive.writestr("tiled.cu", KERNEL)
    (tmp_path / "link.cu").symlink_to("elsewhere.cu")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("mime.cu", ["there is no kernel file mime.cu: did you mean mine.cu?"]),
        ("homework/tilde.cu", ["there is no kernel file homework/tilde.cu: did you mean homework/tiled.cu?"]),
        ("homework/x.cu", ["no kernel file homework/x.cu; there is homework/naive.cu, homework/tiled.cu"]),
        ("home/mine.cu", ["there is no kernel file home/mine.cu: there is no folder home"]),
        ("link.cu", ["link.cu: it is a link to elsewhere.cu, which does not exist"]),
        ("homework", ["“homework” is a folder", "a kernel file in it, homework/naive.cu, homework/tiled.cu"]),
        ("project", ["“project” is a folder: name a kernel file in it, project/src/gemm.cuh"]),
        ("nothing", ["“nothing” is a folder without kernel files"]),
        ("mine.txt", ["“mine.txt” contains a kernel, but", "ends in one of .cu", "rename it to mine.cu"]),
        ("KERNEL", ["“KERNEL” contains a kernel", "rename it to KERNEL.cu"]),
        ("program", ["“program” is a compiled program: name its source file"]),
        ("object.cu", ["object.cu", " is a compiled program: name its source file"]),
        ("wide.cu", ["wide.cu", " is text in UTF-16: save it as UTF-8"]),
        ("notes.cu", ["notes.cu is not text: it contains NUL bytes: name a file with source code"]),
        ("homework.zip", ["“homework.zip” is a ZIP archive: unpack it"]),
        ("empty.cu", ["empty.cu is empty: save the kernel in it first"]),
        ("host.cu", ["host.cu defines no __global__ function: name the file that defines the kernel"]),
    ],
)
def test_a_path_that_is_no_kernel_file_is_answered_with_what_to_name(
    run: Any, command: str, path: str, words: list[str]
) -> None:
    run(f"{command} {path}").refused(2, *words)


def test_a_name_with_a_second_ending_loses_it(run: Any, tmp_path: Path) -> None:
    (tmp_path / "new.cu.txt").write_text(KERNEL)
    ended = run("verify new.cu.txt")
    assert ended.status == 2 and ended.stderr.endswith("rename it to new.cu\n")


def test_a_name_without_its_ending_is_recognised(run: Any) -> None:
    run("verify mine").refused(2, "“mine” is neither an option nor a kernel file (did you mean mine.cu?)")
    run("verify other").refused(2, "“other” is neither", "choose a method with -m")


@pytest.mark.slow
def test_a_file_of_results_is_not_taken_for_a_kernel(run: Any) -> None:
    run("bench -m naive -n 8 --device cpu --json results.json")
    run("verify results.json").refused(2, "“results.json” is a file of results", "cudamm report")


def test_a_file_without_a_kernel_is_no_kernel_file_whatever_its_name(run: Any) -> None:
    run("check notes.md").refused(2, "“notes.md” contains no CUDA kernel: name a kernel file")


@pytest.mark.slow
def test_kernel_files_are_taken_beside_all_of_these(run: Any) -> None:
    assert run("verify mine.cu homework/tiled.cu -n 16").status == 0
