"""`check` and `trace` with A and B of 8 bits and C of 16: each element has the size of its own matrix."""

import pytest

KERNEL = """// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
#include <cuda_bf16.h>
#include <cuda_fp8.h>

typedef __nv_fp8_e4m3 fp8;

__global__ void product(int M, int N, int K, const fp8 *A, const fp8 *B, __nv_bfloat16 *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += (float)A[row * K + k] * (float)B[k * N + col];
    C[row * N + col] = sum;
}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("+ col] = sum", "+ col + 1] = sum", "writes C[16][0], element 256 counted from 0"),
        ("k < K", "k <= K", "reads A[16][0], element 256 counted from 0"),
    ],
)
def test_check_names_the_element_beyond_the_end(run, tmp_path, old, new, words):
    assert KERNEL.count(old) == 1
    (tmp_path / "mine.cu").write_text(KERNEL.replace(old, new))
    ended = run("check mine.cu -n 16 --json -")
    assert ended.status == 1
    assert any(words in mistake["message"] for mistake in ended.records)


def test_trace_counts_bytes_of_each_matrix(run, tmp_path):
    (tmp_path / "mine.cu").write_text(KERNEL)
    records = run("trace mine.cu -n 32 --json -").records
    assert {(record["array"], record["size_bytes"]) for record in records} == {("A", 1), ("B", 1), ("C", 2)}
    drawn = run("trace mine.cu -n 32 --warp 0").stdout
    assert "from one period to the next each lane moves by 1 byte (1 element)" in drawn
    _, of_c = drawn.split("C (32 x 32), store")
    assert "each at consecutive addresses, the groups at a stride of 64 bytes (1 row)" in of_c
