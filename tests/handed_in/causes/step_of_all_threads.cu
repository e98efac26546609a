#include <cuda_runtime.h>
#define BM 64
#define BN 64
#define BK 8
#define TM 4
#define TN 4

__global__ void tiled(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[BM][BK], Bs[BK][BN];
    int tx = threadIdx.x, ty = threadIdx.y, tid = ty * 16 + tx;
    const int threads = BM * BN;
    int row = blockIdx.y * BM, col = blockIdx.x * BN;
    float acc[TN][TN] = {0};
    for (int t = 0; t < K; t += BK) {
        for (int e = tid; e < BM * BK; e += threads)
            As[e / BK][e % BK] = row + e / BK < M && t + e % BK < K ? A[(row + e / BK) * K + t + e % BK] : 0;
        for (int e = tid; e < BK * BN; e += threads)
            Bs[e / BN][e % BN] = t + e / BN < K && col + e % BN < N ? B[(t + e / BN) * N + col + e % BN] : 0;
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; i++) a[i] = As[ty * TM + i][k];
            for (int j = 0; j < TN; j++) b[j] = Bs[k][tx * TN + j];
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++)
                    acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++)
            if (row + ty * TM + i < M && col + tx * TN + j < N)
                C[(row + ty * TM + i) * N + col + tx * TN + j] = acc[i][j];
}
int main()
{
    int M = 100, N = 70, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    dim3 block(16, 16), grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    tiled<<<grid, block>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}
