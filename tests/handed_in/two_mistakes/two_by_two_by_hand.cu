// Wrong: K / TILE is rounded down, and the two rows of a thread are read in one order and stored in the other.
#include <cstdio>
#include <cstdlib>
#include <cmath>

#define TILE 32
#define BLOCK 16

__global__ void matmul2x2(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float sum[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};

    for (int t = 0; t < K / TILE; t++) {
        int k0 = t * TILE;
        for (int i = ty; i < TILE; i += BLOCK)
            for (int j = tx; j < TILE; j += BLOCK) {
                As[i][j] = (row0 + i < M && k0 + j < K) ? A[(row0 + i) * K + k0 + j] : 0.0f;
                Bs[i][j] = (k0 + i < K && col0 + j < N) ? B[(k0 + i) * N + col0 + j] : 0.0f;
            }
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            float a0 = As[ty][k], a1 = As[ty + BLOCK][k];
            float b0 = Bs[k][2 * tx], b1 = Bs[k][2 * tx + 1];
            sum[0][0] += a0 * b0;
            sum[0][1] += a0 * b1;
            sum[1][0] += a1 * b0;
            sum[1][1] += a1 * b1;
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            int row = row0 + 2 * ty + i, col = col0 + 2 * tx + j;
            if (row < M && col < N) C[row * N + col] = sum[i][j];
        }
}

int main()
{
    const int M = 400, N = 600, K = 500;
    size_t bytesA = M * K * sizeof(float), bytesB = K * N * sizeof(float), bytesC = M * N * sizeof(float);
    float *A = (float *)malloc(bytesA), *B = (float *)malloc(bytesB), *C = (float *)malloc(bytesC);
    for (int i = 0; i < M * K; i++) A[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) B[i] = rand() / (float)RAND_MAX;

    float *dA, *dB, *dC;
    cudaMalloc(&dA, bytesA);
    cudaMalloc(&dB, bytesB);
    cudaMalloc(&dC, bytesC);
    cudaMemcpy(dA, A, bytesA, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, bytesB, cudaMemcpyHostToDevice);

    dim3 block(BLOCK, BLOCK);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul2x2<<<grid, block>>>(dA, dB, dC, M, N, K);
    cudaDeviceSynchronize();
    cudaMemcpy(C, dC, bytesC, cudaMemcpyDeviceToHost);

    double worst = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double ref = 0;
            for (int k = 0; k < K; k++) ref += (double)A[i * K + k] * B[k * N + j];
            worst = fmax(worst, fabs(ref - C[i * N + j]));
        }
    printf("largest difference %g: %s\n", worst, worst < 1e-2 ? "PASS" : "FAIL");
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(A); free(B); free(C);
    return 0;
}
