// Lab: C = A * B with tiles, each thread computes 2 x 2 elements
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define T 16          // threads per edge
#define TILE (2 * T)  // elements of C per edge
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

// thread computes the 2 x 2 neighbours at rows 2*ty, 2*ty+1 and columns 2*tx, 2*tx+1
__global__ void matmul_2x2(const float *A, const float *B, float *C, int M, int K, int N) {
    __shared__ float As[TILE][T];
    __shared__ float Bs[T][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int tid = ty * T + tx;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float c[2][2] = {};
    for (int k0 = 0; k0 < K; k0 += T) {
        for (int i = tid; i < TILE * T; i += T * T) {
            int r = i / T, k = i % T;
            As[r][k] = (row0 + r < M && k0 + k < K) ? A[(row0 + r) * K + k0 + k] : 0.0f;
        }
        for (int i = tid; i < T * TILE; i += T * T) {
            int k = i / TILE, q = i % TILE;
            Bs[k][q] = (k0 + k < K && col0 + q < N) ? B[(k0 + k) * N + col0 + q] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < T; k++)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    c[i][j] += As[2 * ty + i][k] * Bs[k][2 * tx + j];
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            int row = row0 + 2 * ty + i, col = col0 + 2 * tx + j;
            if (row < M && col < N) C[row * N + col] = c[i][j];
        }
}

void matmul_cpu(const float *A, const float *B, float *C, int M, int K, int N) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = s;
        }
}

int main(int argc, char **argv) {
    int M = argc > 1 ? atoi(argv[1]) : 600;
    int K = argc > 2 ? atoi(argv[2]) : 400;
    int N = argc > 3 ? atoi(argv[3]) : 500;
    size_t sizeA = (size_t)M * K * sizeof(float);
    size_t sizeB = (size_t)K * N * sizeof(float);
    size_t sizeC = (size_t)M * N * sizeof(float);
    float *h_A = (float *)malloc(sizeA), *h_B = (float *)malloc(sizeB);
    float *h_C = (float *)malloc(sizeC), *h_ref = (float *)malloc(sizeC);
    for (int i = 0; i < M * K; i++) h_A[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) h_B[i] = rand() / (float)RAND_MAX;
    float *d_A, *d_B, *d_C;
    CHECK(cudaMalloc(&d_A, sizeA));
    CHECK(cudaMalloc(&d_B, sizeB));
    CHECK(cudaMalloc(&d_C, sizeC));
    CHECK(cudaMemcpy(d_A, h_A, sizeA, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, h_B, sizeB, cudaMemcpyHostToDevice));
    dim3 block(T, T);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul_2x2<<<grid, block>>>(d_A, d_B, d_C, M, K, N);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(h_C, d_C, sizeC, cudaMemcpyDeviceToHost));
    matmul_cpu(h_A, h_B, h_ref, M, K, N);
    int bad = 0;
    for (int i = 0; i < M * N; i++)
        if (fabs(h_C[i] - h_ref[i]) > 1e-3 * fabs(h_ref[i])) bad++;
    printf("%d wrong\n", bad);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    return bad != 0;
}
