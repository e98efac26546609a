// Wrong: a barrier after filling the tiles is missing, and the two columns of a thread are stored in another order.
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

    for (int k0 = 0; k0 < K; k0 += TILE) {
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) {
                int r = ty + i * BLOCK, c = tx + j * BLOCK;
                As[r][c] = 0.0f;
                Bs[r][c] = 0.0f;
                if (row0 + r < M && k0 + c < K) As[r][c] = A[(row0 + r) * K + k0 + c];
                if (k0 + r < K && col0 + c < N) Bs[r][c] = B[(k0 + r) * N + col0 + c];
            }
        for (int k = 0; k < TILE; k++)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    sum[i][j] += As[ty + i * BLOCK][k] * Bs[k][tx + j * BLOCK];
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            int row = row0 + ty + i * BLOCK, col = col0 + 2 * tx + j;
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
