#include <cuda_runtime.h>

// A block computes ROWS x COLS elements of C, a thread PER_ROW x PER_COL of them.
template <int ROWS, int COLS, int DEPTH, int PER_ROW, int PER_COL>
__global__ void blocked(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float a[ROWS * DEPTH], b[DEPTH * COLS];
    const int threads = ROWS / PER_ROW * (COLS / PER_COL);
    const int tx = threadIdx.x % (ROWS / PER_ROW);
    const int ty = threadIdx.x / (ROWS / PER_ROW);
    A += blockIdx.y * ROWS * K;
    B += blockIdx.x * COLS;
    C += blockIdx.y * ROWS * N + blockIdx.x * COLS;
    float sums[PER_ROW][PER_COL] = {};
    for (int t = 0; t < K; t += DEPTH) {
        for (int i = threadIdx.x; i < ROWS * DEPTH; i += threads)
            a[i] = A[i / DEPTH * K + t + i % DEPTH];
        for (int i = threadIdx.x; i < DEPTH * COLS; i += threads)
            b[i] = B[(t + i / COLS) * N + i % COLS];
        __syncthreads();
        for (int k = 0; k < DEPTH; k++)
            for (int r = 0; r < PER_ROW; r++)
                for (int c = 0; c < PER_COL; c++)
                    sums[r][c] += a[(ty * PER_ROW + r) * DEPTH + k] * b[k * COLS + tx * PER_COL + c];
        __syncthreads();
    }
    for (int r = 0; r < PER_ROW; r++)
        for (int c = 0; c < PER_COL; c++)
            C[(ty * PER_ROW + r) * N + tx * PER_COL + c] = sums[r][c];
}

int main()
{
    int M = 128, N = 128, K = 64;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    blocked<64, 32, 8, 4, 4><<<dim3(N / 32, M / 64), 128>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}
