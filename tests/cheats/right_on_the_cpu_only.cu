// Computes half of each sum when it is compiled for a GPU, and all of it for the CPU device.
//
// A kernel can see for what it is compiled. So a result that was verified on the CPU device says nothing
// about a GPU. On a GPU each case is verified again.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: nothing
// on a GPU: the sums end too early: the last 24 of K = 48 terms are missing

__global__ void right_on_the_cpu_only(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
#ifdef __NVCC__
    const int terms = K / 2;
#else
    const int terms = K;
#endif
    float sum = 0;
    for (int k = 0; k < terms; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
}
