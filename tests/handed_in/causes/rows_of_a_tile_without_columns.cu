#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

#define TILE 32
#define HALF 16

__global__ void gemm_v3(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float c[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};

    for (int k0 = 0; k0 < K; k0 += TILE) {
        for (int i = ty; i < TILE; i += HALF)
{
                As[i][tx] = (row0 + i < M && k0 + tx < K) ? A[(row0 + i) * K + k0 + tx] : 0.0f;
                Bs[i][tx] = (k0 + i < K && col0 + tx < N) ? B[(k0 + i) * N + col0 + tx] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            float a0 = As[ty][k], a1 = As[ty + HALF][k];
            float b0 = Bs[k][tx], b1 = Bs[k][tx + HALF];
            c[0][0] += a0 * b0;
            c[0][1] += a0 * b1;
            c[1][0] += a1 * b0;
            c[1][1] += a1 * b1;
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            int row = row0 + ty + i * HALF, col = col0 + tx + j * HALF;
            if (row < M && col < N)
                C[row * N + col] = c[i][j];
        }
}

int main(int argc, char **argv)
{
    int M = 331, N = 203, K = 157;
    if (argc == 4) { M = atoi(argv[1]); N = atoi(argv[2]); K = atoi(argv[3]); }

    size_t bytesA = (size_t)M * K * sizeof(float);
    size_t bytesB = (size_t)K * N * sizeof(float);
    size_t bytesC = (size_t)M * N * sizeof(float);
    float *h_A = (float *)malloc(bytesA), *h_B = (float *)malloc(bytesB), *h_C = (float *)malloc(bytesC);
    for (int i = 0; i < M * K; i++) h_A[i] = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < K * N; i++) h_B[i] = rand() / (float)RAND_MAX - 0.5f;

    float *d_A, *d_B, *d_C;
    CHECK(cudaMalloc(&d_A, bytesA));
    CHECK(cudaMalloc(&d_B, bytesB));
    CHECK(cudaMalloc(&d_C, bytesC));
    CHECK(cudaMemcpy(d_A, h_A, bytesA, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, h_B, bytesB, cudaMemcpyHostToDevice));

    dim3 block(HALF, HALF);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    gemm_v3<<<grid, block>>>(d_A, d_B, d_C, M, N, K);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(h_C, d_C, bytesC, cudaMemcpyDeviceToHost));

    double worst = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < K; k++) s += (double)h_A[i * K + k] * h_B[k * N + j];
            worst = fmax(worst, fabs(s - h_C[i * N + j]));
        }
    printf("largest error %g: %s\n", worst, worst < 1e-4 ? "ok" : "WRONG");
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(h_A); free(h_B); free(h_C);
    return worst < 1e-4 ? 0 : 1;
}
