"""Kernels of the user's own: with a header, without one, and somebody else's, unchanged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

BENCH = "bench --device cpu --warmup 0 --runs 2 --times "

# In the style of SGEMM tutorials: alpha and beta, its own macros, includes, a launch described nowhere.
SGEMM = """\
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define BLOCKSIZE 32
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))

/*
  C = alpha * A @ B + beta * C, row-major
*/
__global__ void sgemm(int M, int N, int K, float alpha, const float *A,
                      const float *B, float beta, float *C) {
  const uint cRow = blockIdx.y * BLOCKSIZE + threadIdx.y;
  const uint cCol = blockIdx.x * BLOCKSIZE + threadIdx.x;
  if (cRow < M && cCol < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) {
      tmp += A[cRow * K + i] * B[i * N + cCol];
    }
    C[cRow * N + cCol] = alpha * tmp + (beta == 0.0f ? 0.0f : beta * C[cRow * N + cCol]);
  }
}
"""
AS_32 = '--kernel sgemm.cu --args "M,N,K,1.0,A,B,0.0,C" --threads 32,32 --grid "ceil(N/32),ceil(M/32)"'


@pytest.fixture
def sgemm(tmp_path):
    path = tmp_path / "sgemm.cu"
    path.write_text(SGEMM)
    return path


def test_a_kernel_with_a_header_is_swept_like_ours(run, kernel):
    kernel()
    ended = run(f"{BENCH} -n 17x31x13 --kernel my.cu --block all --json -")
    assert ended.status == 0
    assert [(r["method"], r["params"], r["correct"]) for r in ended.records] == [
        ("my", {"BLOCK_SIZE": 8}, True),
        ("my", {"BLOCK_SIZE": 16}, True),
    ]


def test_options_stand_in_for_a_header(run, sgemm):
    ended = run(f"{BENCH} -n 40 {AS_32} --entry sgemm --json -")
    assert ended.status == 0
    assert [(r["method"], r["params"], r["correct"]) for r in ended.records] == [("sgemm", {}, True)]


def test_a_file_of_somebody_else_is_left_as_it_was(run, sgemm):
    assert run(f"{BENCH} -n 40 {AS_32}").status == 0
    assert sgemm.read_text() == SGEMM


def test_define_overrides_the_file_s_own(run, sgemm):
    # Were the file's BLOCKSIZE 32 still in force, blocks of 4 and 8 would leave most of C unwritten.
    shape = '--threads "BLOCKSIZE,BLOCKSIZE" --grid "ceil(N/BLOCKSIZE),ceil(M/BLOCKSIZE)"'
    ended = run(
        f'{BENCH} -n 40 --kernel sgemm.cu --args "M,N,K,1.0,A,B,0.0,C" {shape} -D BLOCKSIZE=4,8 --json -'
    )
    assert ended.status == 0
    assert [r["params"] for r in ended.records] == [{"BLOCKSIZE": 4}, {"BLOCKSIZE": 8}]
    assert all(r["correct"] for r in ended.records)


def test_two_defines_make_every_combination(run, sgemm):
    # The kernel finds no use for the second: it is the file that mentions it.
    sgemm.write_text(SGEMM.replace("#define BLOCKSIZE 32", "#define BLOCKSIZE 32\n#define UNUSED 1"))
    shape = '--threads "BLOCKSIZE,BLOCKSIZE" --grid "ceil(N/BLOCKSIZE),ceil(M/BLOCKSIZE)"'
    ended = run(
        f'{BENCH} -n 16 --kernel sgemm.cu --args "M,N,K,1.0,A,B,0.0,C" {shape} '
        "-D BLOCKSIZE=4,8 -D UNUSED=1,2 --json -"
    )
    assert ended.status == 0
    assert sorted(tuple(r["params"].values()) for r in ended.records) == [(4, 1), (4, 2), (8, 1), (8, 2)]


def test_arguments_are_computed_and_passed_in_order(run, sgemm):
    ended = run(f"{BENCH} -n 16 {AS_32.replace('1.0', '2.0')} --json -")
    assert ended.status == 1
    assert "wrong" in ended.records[0]["reason"]


def test_a_required_multiple_is_met_by_padding(run, sgemm):
    sgemm.write_text(SGEMM.replace("if (cRow < M && cCol < N)", "if (M % 64 == 0)"))
    without = run(f"{BENCH} -n 40 {AS_32} --json -")
    assert without.status == 1
    ended = run(f'{BENCH} -n 40 {AS_32} --requires "M%64==0, N%64==0" --json -')
    assert ended.status == 0
    assert [(r["padded"], r["correct"]) for r in ended.records] == [(True, True)]


@pytest.mark.parametrize(
    "requires",
    [
        '--requires "M%64==0, N%64==0, K%64==0"',
        '--requires "M%64==0" --requires "N%64==0" --requires "K%64==0"',
        '--requires "M%64==0," --requires "N%64==0 and K%64==0"',
        '--requires "M%64==0 and N%64==0 and K%64==0"',
    ],
)
def test_conditions_add_up_however_they_are_given(run, sgemm, requires):
    """The kernel has no bounds of its own, and the grid is whole only for the padded size."""
    sgemm.write_text(SGEMM.replace("if (cRow < M && cCol < N)", "if (M == 64 && N == 64 && K == 64)"))
    whole_grid = AS_32.replace("ceil(M/32)", "M/32").replace("ceil(N/32)", "N/32")
    assert whole_grid != AS_32
    ended = run(f"{BENCH} -n 40 {whole_grid} {requires} --json -")
    assert ended.status == 0
    assert [(r["padded"], r["correct"]) for r in ended.records] == [(True, True)]


def test_a_condition_that_is_empty_is_refused(run, sgemm):
    run(f'{BENCH} -n 40 {AS_32} --requires "M%64==0" --requires ""').refused(2, "--requires is empty")


def test_dynamic_shared_memory_is_there_in_the_size_asked_for(run, sgemm):
    sgemm.write_text(
        SGEMM.replace(
            "float tmp = 0.0;",
            "extern __shared__ float row[]; float tmp = 0.0; row[threadIdx.y * 32 + threadIdx.x] = 1;",
        )
    )
    assert run(f'{BENCH} -n 32 {AS_32} --shared-bytes "4*32*32"').status == 0
    too_small = run(f'{BENCH} -n 32 {AS_32} --shared-bytes "4*32" --json -')
    assert too_small.status == 1
    assert too_small.records[0]["status"] == "failed"


def test_a_kernel_runs_beside_ours(run, kernel):
    kernel()
    ended = run(f"{BENCH} -n 16 -m tiled --kernel my.cu --block 8 --json -")
    assert ended.status == 0
    assert [(r["method"], r["params"]["BLOCK_SIZE"]) for r in ended.records] == [("tiled", 8), ("my", 8)]
    # --tile concerns register-tile alone; the user's kernel takes no part in it.
    assert run(f"{BENCH} -n 16 -m register-tile --tile 2 --kernel my.cu").status == 0


def test_a_define_may_be_meant_for_our_method_alone(run, kernel):
    kernel()
    ended = run(f"{BENCH} -n 16 -m tiled-padded -D PAD=0 --kernel my.cu --json -")
    assert ended.status == 0, ended.stderr
    assert [r["params"].get("PAD") for r in ended.records] == [0, None]


def test_an_edited_copy_of_our_kernel_is_told_from_ours(run, tmp_path):
    ours = Path(__file__).parents[2] / "cuda_src" / "09_tiled.cu"
    shutil.copy(ours, tmp_path)
    copy = tmp_path / ours.name
    copy.write_text(copy.read_text().replace("C[row * N + col] = sum;", "C[row * N + col] = sum + 1;"))
    ended = run(f"verify --device cpu -n 16 --dtype int32 -m tiled --kernel {ours.name}")
    assert ended.status == 1
    rows = [line for line in ended.stdout.splitlines() if "int32" in line and "BLOCK_SIZE" in line]
    assert sum("=  " in row for row in rows) >= 1, "the verdict on our own kernel is not shown"
    assert "1 of 2 results are right." in ended.stdout
    ended = run(f"{BENCH} -n 16 -m tiled --kernel {ours.name} --json -")
    assert len({r["method"] for r in ended.records}) == 2


@pytest.mark.parametrize(
    "name", ["sp ace.cu", "ünï.cu", "back\\slash.cu", "-dash.cu", 'q"uote.cu', "it's.cu"]
)
def test_any_file_name_will_do(run, kernel, name):
    kernel(name)
    shown = name.replace("\\", "\\\\").replace('"', '\\"')
    ended = run(f'{BENCH} -n 16 "--kernel={shown}" --json -')
    assert ended.status == 0, ended.stderr
    assert ended.records[0]["method"] == name.removesuffix(".cu")


@pytest.mark.parametrize("encoded", ["windows line ends", "byte order mark"])
def test_files_from_other_editors_compile(run, kernel, encoded):
    path = kernel()
    text = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + text if encoded == "byte order mark" else text.replace(b"\n", b"\r\n"))
    ended = run(f"{BENCH} -n 16 --kernel my.cu")
    assert ended.status == 0, ended.stderr


def test_a_host_function_of_the_user_s_runs_natively(run, tmp_path):
    (tmp_path / "mine.cpp").write_text(
        "void mine(int M, int N, int K, const float *A, const float *B, float *C) {\n"
        "  for (int i = 0; i < M; ++i) for (int j = 0; j < N; ++j) {\n"
        "    float sum = 0; for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];\n"
        "    C[i * N + j] = sum; } }\n"
    )
    ended = run(f"{BENCH} -n 17x31x13 --kernel mine.cpp --json -")
    assert [(r["execution"], r["correct"]) for r in ended.records] == [("native", True)]


def test_a_kernel_that_crashes_costs_its_row_only(run, kernel):
    kernel("crash.cu", "float sum = 0;", "float sum = A[row * 100000000];")
    ended = run(f"{BENCH} -n 16 --kernel crash.cu -m naive --json -")
    assert ended.status == 1
    assert [r["status"] for r in ended.records] == ["ok", "failed"]
    assert "Traceback" not in ended.stderr


def test_one_value_that_does_not_compile_costs_its_row_only(run, kernel):
    kernel("picky.cu", "float sum = 0;", 'static_assert(BLOCK_SIZE == 8, "only eights"); float sum = 0;')
    ended = run(f"{BENCH} -n 16 --kernel picky.cu --block 8,16 --json -")
    assert ended.status == 1
    assert [r["status"] for r in ended.records] == ["ok", "failed"]
    assert "only eights" in ended.records[1]["reason"] and "picky.cu:10" in ended.records[1]["reason"]


def test_a_comment_does_not_decide_the_element_types(run, kernel):
    kernel("my.cu", "a thread for each entry of C", "one thread an element")
    ended = run("verify --device cpu -n 16 --kernel my.cu --json -")
    assert ended.status == 0
    assert [r["dtype"] for r in ended.records] == ["float32"]


def test_a_result_far_off_is_reported_without_a_warning(run, kernel):
    kernel("huge.cu", "= sum;", "= 3e38f;")
    ended = run(f"{BENCH} -n 16 --kernel huge.cu --json -")
    assert ended.status == 1 and ended.stderr == ""
    assert ended.records[0]["max_error"] > 1e38
    kernel("endless.cu", "= sum;", "= 1e30f * 1e30f;")
    ended = run(f"{BENCH} -n 16 --kernel endless.cu --json -")  # JSON has no infinity
    assert ended.status == 1 and ended.records[0]["max_error"] is None


def test_every_kernel_file_has_a_row(run, kernel):
    kernel("one.cu")
    kernel("two.cu", "= sum;", "= sum + 1;")
    result = run("verify --kernel one.cu --kernel two.cu -n 8 --block 8 --json -")
    assert result.status == 1
    assert [(row["method"], row["status"]) for row in result.records] == [("one", "ok"), ("two", "failed")]
