#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

#define TILE_SIZE 16

__global__ void gemm_v4(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TILE_SIZE][TILE_SIZE];
    __shared__ float Bs[TILE_SIZE][TILE_SIZE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_SIZE + ty;
    int col = blockIdx.x * TILE_SIZE + tx;
    int tiles = (K + TILE_SIZE - 1) / TILE_SIZE;

    // tile 0 into registers
    float a = (row < M && tx < K) ? A[row * K + tx] : 0.0f;
    float b = (col < N && ty < K) ? B[ty * N + col] : 0.0f;
    float sum = 0.0f;
    for (int t = 0; t < tiles; t++) {
        As[ty][tx] = a;
        Bs[ty][tx] = b;
        __syncthreads();
        if (t + 1 < tiles) {            // the next tile is on its way while we compute
            int ka = t * TILE_SIZE + tx, kb = t * TILE_SIZE + ty;
            a = (row < M && ka < K) ? A[row * K + ka] : 0.0f;
            b = (col < N && kb < K) ? B[kb * N + col] : 0.0f;
        }
        for (int k = 0; k < TILE_SIZE; k++)
            sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
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

    dim3 block(TILE_SIZE, TILE_SIZE);
    dim3 grid((N + TILE_SIZE - 1) / TILE_SIZE, (M + TILE_SIZE - 1) / TILE_SIZE);
    gemm_v4<<<grid, block>>>(d_A, d_B, d_C, M, N, K);
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
