#pragma once
template <int B>
__global__ void mm(const float *A, const float *Bm, float *C, int m, int n, int k) {
    int row = blockIdx.y * B + threadIdx.y, col = blockIdx.x * B + threadIdx.x;
    if (row >= m || col >= n) return;
    float s = 0;
    for (int i = 0; i < k; i++) s += A[row * k + i] * Bm[i * n + col];
    C[row * n + col] = s;
}
