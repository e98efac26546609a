// User - A user gives a kernel without its launch (from a CuPy RawKernel), with tiles BM x BK and BK x BN.
// Today - `cudamm verify no_launch_bm_bn.cu` (exit 2): cudamm: no_launch_bm_bn.cu lacks threads and grid: the file
//     does not launch gemm; pass options such as --threads 'BK, BK' --grid 'ceil(N / BK), ceil(M / BK)', or write
//     “// threads: …” above the kernel
// Wanted - suggest what fits the indices: --threads 'BN, BM' --grid 'ceil(N / BN), ceil(M / BM)' (row = blockIdx.y
//     * BM + .., col = blockIdx.x * BN + ..). What is suggested today ends with SIGSEGV. For a kernel with
//     COARSE_FACTOR likewise.

#define BM 8
#define BN 32
#define BK 16

__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[BM][BK], Bs[BK][BN];
    int row = blockIdx.y * BM + threadIdx.y, col = blockIdx.x * BN + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < K; k += BK) {
        As[threadIdx.y][threadIdx.x] = A[row * K + k + threadIdx.x];
        for (int i = 0; i < BK; i += BM) Bs[threadIdx.y + i][threadIdx.x] = B[(k + threadIdx.y + i) * N + col];
        __syncthreads();
        for (int i = 0; i < BK; i++) sum += As[threadIdx.y][i] * Bs[i][threadIdx.x];
        __syncthreads();
    }
    C[row * N + col] = sum;
}
