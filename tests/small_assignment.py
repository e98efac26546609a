"""A small assignment and a right submission, as text."""

from __future__ import annotations

SIGNATURE = "__global__ void matmul(int M, int N, int K, const float *A, const float *B, float *C)"

KERNEL = f"""
[kernel]
signature = "{SIGNATURE}"
threads = "TILE, TILE"
grid = "ceil(N / TILE), ceil(M / TILE)"
"""

ONE_PROBLEM = "[[problem]]\nsize = 24\npoints = 2\n"

RIGHT = f"""\
#define TILE 16

{SIGNATURE} {{
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}}
"""
