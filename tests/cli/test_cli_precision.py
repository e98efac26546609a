"""`--allow-precision`: kernels that compute in less than their type, without leave and with it."""

import pytest

import cudamm
from cudamm.errors import UsageError

CUT = """// threads: 16, 16
// grid: ceil(N / 16), ceil(M / 16)
// args: A, B, C, M, N, K

// Keep 11 or 8 significant bits of a float, as tensor cores do for TF32 and bfloat16.
__device__ float cut(float x) { return __uint_as_float(__float_as_uint(x) & MASK); }

__global__ void product(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += cut(A[row * K + k]) * cut(B[k * N + column]);
    C[row * N + column] = sum;
}
"""
TF32, BFLOAT16 = (f"#define MASK {mask}u\n" for mask in ("0xFFFFE000", "0xFFFF0000"))
LONG = "-n 32x32x2048 --device cpu"


@pytest.fixture
def write(tmp_path):
    def write(first_line):
        (tmp_path / "cut.cu").write_text(CUT.replace("// Keep", first_line + "// Keep"))
        return str(tmp_path / "cut.cu")

    return write


@pytest.mark.slow
def test_a_kernel_that_cuts_its_inputs_is_wrong_although_within_the_bound_of_long_sums(run, write):
    ended = run(f"verify {write(TF32)} {LONG}")
    assert ended.status == 1
    assert "computed in less than its type: errors like those of 1" in ended.stdout
    assert "float32 has 24 (if that is meant, cudamm verify allows it with --allow-precision)" in ended.stdout


@pytest.mark.parametrize(
    ("line", "allowed", "is_right"),
    [(TF32, "tf32", True), (TF32, "half", True), (BFLOAT16, "bfloat16", True), (BFLOAT16, "tf32", False)],
    ids=["tf32", "half", "bfloat16", "bfloat16 as tf32"],
)
def test_what_is_allowed_is_right_and_its_bits_are_shown(run, write, line, allowed, is_right):
    ended = run(f"verify {write(line)} -n 32 {LONG} --allow-precision {allowed} --json -")
    assert ended.status == (0 if is_right else 1)
    bits = [record["effective_bits"] for record in ended.records]
    assert all(bit is None or (6 < bit < 9 if line == BFLOAT16 else 9 < bit < 12) for bit in bits)
    assert is_right == all(record["correct"] for record in ended.records)


def test_bench_takes_the_same_option(run, write):
    line = f"bench {write(TF32)} -n 32 --device cpu --times --runs 1 --warmup 0"
    assert run(line).status == 1
    assert run(f"{line} --allow-precision tf32").status == 0


def test_a_format_that_does_not_exist_is_refused(run):
    ended = run("verify -m tiled --allow-precision fp8")
    assert ended.status == 2 and "--allow-precision" in ended.stderr


@pytest.mark.slow
def test_the_python_interface_takes_it_too(write):
    path = write(TF32)
    (refused,) = cudamm.verify(path, shape=(32, 32, 2048), device="cpu")
    (allowed,) = cudamm.verify(path, shape=(32, 32, 2048), device="cpu", allow_precision="tf32")
    assert (refused.status, allowed.status) == ("failed", "ok")
    with pytest.raises(UsageError, match="allow_precision='fp8': it has to be one of tf32, half, bfloat16"):
        cudamm.verify(path, allow_precision="fp8")


def test_full_precision_has_the_bits_of_its_type(run):
    records = run("verify -m tiled --device cpu -n 40x40x100 --json -").records
    assert {r["dtype"]: r["effective_bits"] for r in records} == {
        "float32": 24, "float64": 53, "int32": None, "float16": 11, "bfloat16": 8,
        "float8_e4m3": 8,
    }  # fmt: skip
