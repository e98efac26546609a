"""Users' kernels: with a header, without a header, and in unchanged files from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCH = "bench --device cpu --warmup 0 --runs 2 --times "

# A kernel in the style of SGEMM tutorials, with alpha, beta, macros and includes, and without a header.
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
WITH_LAUNCH = '--kernel sgemm.cu --args "M,N,K,1.0,A,B,0.0,C" --threads 32,32 --grid "ceil(N/32),ceil(M/32)"'


@pytest.fixture
def sgemm(tmp_path):
    path = tmp_path / "sgemm.cu"
    path.write_text(SGEMM)
    return path


def test_a_kernel_with_a_header_has_parameters(run, kernel):
    kernel()
    ended = run(f"{BENCH} -n 17x31x13 --kernel my.cu --block all --json -")
    assert ended.status == 0
    assert [(r["method"], r["params"], r["correct"]) for r in ended.records] == [
        ("my", {"BLOCK_SIZE": 8}, True),
        ("my", {"BLOCK_SIZE": 16}, True),
    ]


def test_options_replace_a_header(run, sgemm):
    ended = run(f"{BENCH} -n 40 {WITH_LAUNCH} --entry sgemm --json -")
    assert ended.status == 0
    assert [(r["method"], r["params"], r["correct"]) for r in ended.records] == [("sgemm", {}, True)]
    assert sgemm.read_text() == SGEMM


def test_defines_override_those_of_the_file(run, sgemm):
    # If BLOCKSIZE were still 32, blocks with edges of 4 and 8 would leave most of C unwritten.
    # The kernel does not use UNUSED, but its file mentions it.
    sgemm.write_text(SGEMM.replace("#define BLOCKSIZE 32", "#define BLOCKSIZE 32\n#define UNUSED 1"))
    launch = '--threads "BLOCKSIZE,BLOCKSIZE" --grid "ceil(N/BLOCKSIZE),ceil(M/BLOCKSIZE)"'
    ended = run(
        f'{BENCH} -n 40 --kernel sgemm.cu --args "M,N,K,1.0,A,B,0.0,C" {launch} '
        "-D BLOCKSIZE=4,8 -D UNUSED=2 --json -"
    )
    assert ended.status == 0
    assert sorted(tuple(r["params"].values()) for r in ended.records) == [(4, 2), (8, 2)]
    assert all(r["correct"] for r in ended.records)


def test_a_wrong_argument_makes_a_wrong_product(run, sgemm):
    ended = run(f"{BENCH} -n 16 {WITH_LAUNCH.replace('1.0', '2.0')} --json -")
    assert ended.status == 1
    assert "wrong" in ended.records[0]["reason"]


def test_a_required_multiple_is_met_by_padding(run, sgemm):
    sgemm.write_text(SGEMM.replace("if (cRow < M && cCol < N)", "if (M % 64 == 0)"))
    assert run(f"{BENCH} -n 40 {WITH_LAUNCH} --json -").status == 1
    ended = run(f'{BENCH} -n 40 {WITH_LAUNCH} --requires "M%64==0, N%64==0" --json -')
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
def test_all_conditions_apply_in_every_notation(run, sgemm, requires):
    """The kernel runs at one size only, and the quotients of the grid are whole only at that size."""
    sgemm.write_text(SGEMM.replace("if (cRow < M && cCol < N)", "if (M == 64 && N == 64 && K == 64)"))
    exact_grid = WITH_LAUNCH.replace("ceil(M/32)", "M/32").replace("ceil(N/32)", "N/32")
    assert exact_grid != WITH_LAUNCH
    ended = run(f"{BENCH} -n 40 {exact_grid} {requires} --json -")
    assert ended.status == 0
    assert [(r["padded"], r["correct"]) for r in ended.records] == [(True, True)]


def test_an_empty_condition_is_refused(run, sgemm):
    run(f'{BENCH} -n 40 {WITH_LAUNCH} --requires "M%64==0" --requires ""').refused(2, "--requires is empty")


def test_dynamic_shared_memory_has_the_given_size(run, sgemm):
    sgemm.write_text(
        SGEMM.replace(
            "float tmp = 0.0;",
            "extern __shared__ float row[]; float tmp = 0.0; row[threadIdx.y * 32 + threadIdx.x] = 1;",
        )
    )
    assert run(f'{BENCH} -n 32 {WITH_LAUNCH} --shared-bytes "4*32*32"').status == 0
    too_small = run(f'{BENCH} -n 32 {WITH_LAUNCH} --shared-bytes "4*32" --json -')
    assert too_small.status == 1
    assert too_small.records[0]["status"] == "failed"


def test_a_users_kernel_runs_beside_the_ladder(run, kernel):
    kernel()
    ended = run(f"{BENCH} -n 16 -m tiled --kernel my.cu --block 8 --json -")
    assert ended.status == 0
    assert [(r["method"], r["params"]["BLOCK_SIZE"]) for r in ended.records] == [("tiled", 8), ("my", 8)]
    # --tile applies to register-tile only.
    assert run(f"{BENCH} -n 16 -m register-tile --tile 2 --kernel my.cu").status == 0


def test_a_define_may_apply_to_a_method_of_the_ladder_only(run, kernel):
    kernel()
    ended = run(f"{BENCH} -n 16 -m tiled-padded -D PAD=0 --kernel my.cu --json -")
    assert ended.status == 0, ended.stderr
    assert [r["params"].get("PAD") for r in ended.records] == [0, None]


@pytest.mark.slow
def test_an_edited_copy_of_a_ladder_kernel_has_its_own_row(run, tmp_path):
    original = Path(__file__).parents[2] / "cuda_src" / "09_tiled.cu"
    copy = tmp_path / original.name
    copy.write_text(original.read_text().replace("C[row * N + col] = sum;", "C[row * N + col] = sum + 1;"))
    ended = run(f"verify --device cpu -n 16 --dtype int32 -m tiled --kernel {copy.name}")
    assert ended.status == 1
    rows = [line for line in ended.stdout.splitlines() if "int32" in line and "BLOCK_SIZE" in line]
    # 16 is padded to 32, which BLOCK_SIZE requires.
    assert sum("(✓=)" in row for row in rows) == 1, "the verdict on the kernel of the ladder is not shown"
    assert "1 of 2 results are right, all with padded matrices." in ended.stdout
    ended = run(f"{BENCH} -n 16 --dtype int32 -m tiled --kernel {copy.name} --json -")
    assert len({r["method"] for r in ended.records}) == 2


def test_a_file_name_may_contain_any_character(run, kernel):
    name = "-sp ace ünï back\\slash q\"uote it's.cu"
    kernel(name)
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    ended = run(f'{BENCH} -n 16 "--kernel={escaped}" --json -')
    assert ended.status == 0, ended.stderr
    assert ended.records[0]["method"] == name.removesuffix(".cu")


@pytest.mark.parametrize("encoded", ["windows line ends", "byte order mark"])
def test_files_with_windows_line_ends_or_a_byte_order_mark_compile(run, kernel, encoded):
    path = kernel()
    text = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + text if encoded == "byte order mark" else text.replace(b"\n", b"\r\n"))
    ended = run(f"{BENCH} -n 16 --kernel my.cu")
    assert ended.status == 0, ended.stderr


def test_a_users_host_function_runs_natively(run, tmp_path):
    (tmp_path / "mine.cpp").write_text(
        "void mine(int M, int N, int K, const float *A, const float *B, float *C) {\n"
        "  for (int i = 0; i < M; ++i) for (int j = 0; j < N; ++j) {\n"
        "    float sum = 0; for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];\n"
        "    C[i * N + j] = sum; } }\n"
    )
    ended = run(f"{BENCH} -n 17x31x13 --kernel mine.cpp --json -")
    assert [(r["execution"], r["correct"]) for r in ended.records] == [("native", True)]


def test_a_crashed_kernel_is_a_failed_row(run, kernel):
    kernel("crash.cu", "float sum = 0;", "float sum = A[row * 100000000];")
    ended = run(f"{BENCH} -n 16 --kernel crash.cu -m naive --json -")
    assert ended.status == 1
    assert [r["status"] for r in ended.records] == ["ok", "failed"]
    assert "Traceback" not in ended.stderr


def test_a_value_that_does_not_compile_is_a_failed_row(run, kernel):
    kernel("picky.cu", "float sum = 0;", 'static_assert(BLOCK_SIZE == 8, "only eights"); float sum = 0;')
    ended = run(f"{BENCH} -n 16 --kernel picky.cu --block 8,16 --json -")
    assert ended.status == 1
    assert [r["status"] for r in ended.records] == ["ok", "failed"]
    assert "only eights" in ended.records[1]["reason"] and "picky.cu:10" in ended.records[1]["reason"]


def test_a_comment_does_not_change_the_element_types(run, kernel):
    kernel("my.cu", "a thread for each entry of C", "one thread an element")
    ended = run("verify --device cpu -n 16 --kernel my.cu --json -")
    assert ended.status == 0
    assert [r["dtype"] for r in ended.records] == ["float32"]


def test_a_huge_error_is_reported_without_a_warning(run, kernel):
    kernel("huge.cu", "= sum;", "= 3e38f;")
    ended = run(f"{BENCH} -n 16 --kernel huge.cu --json -")
    assert ended.status == 1 and ended.stderr == ""
    assert ended.records[0]["max_error"] > 1e38
    kernel("infinite.cu", "= sum;", "= 1e30f * 1e30f;")
    ended = run(f"{BENCH} -n 16 --kernel infinite.cu --json -")
    assert ended.status == 1 and ended.records[0]["max_error"] is None  # JSON has no infinity


def test_every_kernel_file_has_a_row(run, kernel):
    kernel()
    kernel("wrong.cu", "= sum;", "= sum + 1;")
    result = run("verify --kernel my.cu --kernel wrong.cu -n 8 --block 8 --json -")
    assert result.status == 1
    assert [(row["method"], row["status"]) for row in result.records] == [("my", "ok"), ("wrong", "failed")]


PROGRAM = """\
#include <iostream>
#include <vector>
#include <cublas_v2.h>
#include "timer.h"

const int TILE = 8;

namespace course {
template <typename T, int SIDE>
__global__ void gemm(int n, T alpha, const T *A, const T *B, T beta, T *C) {
    int row = blockIdx.y * SIDE + threadIdx.y, col = blockIdx.x * SIDE + threadIdx.x;
    if (row >= n || col >= n) return;
    T sum = 0;
    for (int k = 0; k < n; ++k) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = alpha * sum + beta * C[row * n + col];
}
}  // namespace course

int main() {
    std::vector<double> a(64);
    cublasHandle_t handle;
    course::gemm<double, TILE><<<dim3(1, 1), dim3(TILE, TILE)>>>(8, 1.0, nullptr, nullptr, 0.0, nullptr);
}
"""
LAUNCH = '--args "N,1.0,A,B,0.0,C" --threads "8,8" --grid "ceil(N/8),ceil(N/8)"'


def test_a_whole_program_runs_with_the_template_arguments_of_its_launch(run, tmp_path) -> None:
    (tmp_path / "program.cu").write_text(PROGRAM)
    ended = run(f"verify --device cpu -n 20 program.cu {LAUNCH} --json -")
    assert ended.status == 0
    assert [(row["method"], row["dtype"], row["correct"]) for row in ended.records] == [
        ("program", "float64", True)
    ]
    ended = run(f"check -n 20 program.cu {LAUNCH}")
    assert ended.status == 0, ended.stdout


def test_template_arguments_are_swept(run, tmp_path) -> None:
    (tmp_path / "program.cuh").write_text(PROGRAM)
    ended = run(
        "verify --device cpu -n 20 program.cuh --entry 'gemm<float, SIDE>' -D SIDE=4,8 --json - "
        '--args "N,1.0,A,B,0.0,C" --threads "SIDE,SIDE" --grid "ceil(N/SIDE),ceil(N/SIDE)"'
    )
    assert ended.status == 0
    rows = [(row["params"], row["dtype"], row["correct"]) for row in ended.records]
    assert rows == [({"SIDE": 4}, "float32", True), ({"SIDE": 8}, "float32", True)]


def test_a_template_parameter_is_chosen_by_the_entry_alone(run, tmp_path) -> None:
    (tmp_path / "program.cuh").write_text(PROGRAM)
    ended = run(
        "verify --device cpu -n 20 program.cuh --entry 'gemm<float, 4>' -D SIDE=8 "
        '--args "N,1.0,A,B,0.0,C" --threads "4,4" --grid "ceil(N/4),ceil(N/4)"'
    )
    assert (
        ended.status == 2
        and "SIDE is a template parameter in program.cuh: name it with --entry" in ended.stderr
    )


@pytest.mark.slow
def test_an_element_that_no_thread_writes_is_found_if_beta_is_zero(run, tmp_path) -> None:
    (tmp_path / "program.cu").write_text(PROGRAM.replace("row >= n ||", "row >= n || row == 3 ||"))
    ended = run(f"verify --device cpu -n 20 program.cu {LAUNCH}")
    assert ended.status == 1 and "20 of 400 elements never written, first C[3][0]" in " ".join(
        ended.stdout.split()
    )


def test_a_kernel_that_adds_to_c_although_beta_is_zero_is_wrong(run, tmp_path) -> None:
    (tmp_path / "program.cu").write_text(PROGRAM.replace("beta * C", "C"))
    ended = run(f"verify --device cpu -n 20 program.cu {LAUNCH}")
    assert ended.status == 1 and "it adds to what C held before" in " ".join(ended.stdout.split())


@pytest.mark.slow
def test_files_are_compared_and_standard_input_is_one(run, kernel, monkeypatch, tmp_path) -> None:
    kernel("a.cu")
    kernel("b.cu", "float sum = 0;", "float sum = 1;")
    ended = run("verify --device cpu -n 16 a.cu --kernel b.cu a.cu --json -")
    assert [(row["method"], row["correct"]) for row in ended.records] == [("b", False), ("a", True)]
    stream = (tmp_path / "a.cu").open("rb")
    monkeypatch.setattr("cudamm.kernels.header.STREAM", f"/proc/self/fd/{stream.fileno()}")
    assert run("verify --device cpu -n 16 -").status == 0
    stream.close()


HOMEWORK = """
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k) {
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[i * n + col];
    C[row * n + col] = sum;
}
int main() {
    int m = 100, n = 200, k = 300;
    float *dA, *dB, *dC;
    mul<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(dA, dB, dC, m, n, k);
}
"""


def test_a_launch_is_saved_as_a_whole_after_the_command(run, tmp_path) -> None:
    (tmp_path / "hw.cu").write_text(HOMEWORK)
    saved = tmp_path / "hw.launch.toml"
    saved.write_text("[other]\nthreads = '1'\n")
    ended = run("verify --device cpu -n 9 hw.cu --save-launch")
    assert ended.status == 0 and "hw.cu launches mul as --args 'A, B, C, M, N, K'" in ended.stderr
    assert "the launch is saved in hw.launch.toml" in ended.stderr
    assert saved.read_text().count("threads = ") == 2 and '[mul]\nargs = "A, B, C, ' in saved.read_text()
    again = run("verify --device cpu -n 9 --entry mul hw.cu")
    assert again.status == 0 and "hw.launch.toml launches mul as" in again.stderr


def test_a_launch_that_cannot_be_saved_is_refused_before_the_command_runs(run, tmp_path) -> None:
    (tmp_path / "hw.cu").write_text("// threads: 8, 8\n// grid: 1\n// args: A, B, C, M, N, K\n" + HOMEWORK)
    run("verify --device cpu -n 9 hw.cu --save-launch").refused(2, "hw.cu already says how it is launched")
    run("verify --device cpu -n 9 -m naive --save-launch").refused(
        2, "--save-launch needs a kernel in a file"
    )
    assert not (tmp_path / "hw.launch.toml").exists()


def test_atomic_additions_may_come_in_any_order(run, tmp_path) -> None:
    (tmp_path / "sum.cu").write_text("""
        __global__ void sum(const float *A, const float *B, float *C, int M, int N, int K) {
            int r = blockIdx.y, c = blockIdx.x;
            for (int k = threadIdx.x; k < K; k += 32) atomicAdd(&C[r * N + c], A[r * K + k] * B[k * N + c]);
        }
        void launch(const float *A, const float *B, float *C, int M, int N, int K) {
            cudaMemset(C, 0, M * N * sizeof(float));
            sum<<<dim3(N, M), 32>>>(A, B, C, M, N, K);
        }""")
    ended = run("verify sum.cu --device cpu --size 8x8x129")
    assert ended.status == 0


LAUNCHED = """
__global__ void multiply(const float *A, const float *B, float *C, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) {
    dim3 block(EDGE, EDGE), grid((n + EDGE - 1) / EDGE, (n + EDGE - 1) / EDGE);
    multiply<<<grid, block>>>(A, B, C, n);
}
"""


@pytest.mark.slow
def test_a_terminal_shows_the_launch_of_a_file_once_until_it_changes(on_terminal, run, own_cache, tmp_path):
    path = tmp_path / "launched.cu"
    path.write_text(LAUNCHED.replace("EDGE", "16"))
    shown = "launched.cu launches multiply as"
    assert shown in on_terminal("verify launched.cu -n 8", stderr=True).stderr
    assert shown not in on_terminal("check launched.cu -n 8", stderr=True).stderr
    path.write_text(LAUNCHED.replace("EDGE", "8"))
    assert shown in on_terminal("check launched.cu -n 8", stderr=True).stderr
    for _ in range(2):  # a file and a pipe always get it
        assert shown in run("trace launched.cu -n 8").stderr
