// Exercise 4: every thread computes a 2 x 2 block of C; tiles in shared memory.
// 16 x 16 threads -> 32 x 32 elements of C per block
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define BS   16
#define TILE (2 * BS)

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess) { fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line); exit(code); }
}

__global__ void matmul2x2(const int *A, const int *B, int *C, int M, int K, int N)
{
    __shared__ int As[TILE][BS];
    __shared__ int Bs[BS][TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row0 = blockIdx.y * TILE + 2 * ty;   // my four elements begin here
    const int col0 = blockIdx.x * TILE + 2 * tx;

    int c00 = 0, c01 = 0, c10 = 0, c11 = 0;

    for (int k0 = 0; k0 < K; k0 += BS) {
        for (int r = 0; r < 2; r++) {
            int ar = blockIdx.y * TILE + ty + r * BS;
            As[ty + r * BS][tx] = (ar < M && k0 + tx < K) ? A[ar * K + k0 + tx] : 0;
        }
        for (int r = 0; r < 2; r++) {
            int bc = blockIdx.x * TILE + tx + r * BS;
            Bs[ty][tx + r * BS] = (bc < N && k0 + ty < K) ? B[(k0 + ty) * N + bc] : 0;
        }
        __syncthreads();

        for (int k = 0; k < BS; k++) {
            int a0 = As[2 * ty][k];
            int a1 = As[2 * ty + 1][k];
            int b0 = Bs[k][2 * tx];
            int b1 = Bs[k][2 * tx + 1];
            c00 += a0 * b0;
            c01 += a0 * b1;
            c10 += a1 * b0;
            c11 += a1 * b1;
        }
        __syncthreads();   // cure of cudamm
    }

    if (row0 < M && col0 < N) {
        C[row0 * N + col0] = c00;
        if (col0 + 1 < N)
            C[row0 * N + col0 + 1] = c01;
        if (row0 + 1 < M) {
            C[(row0 + 1) * N + col0] = c10;
            if (col0 + 1 < N)
                C[(row0 + 1) * N + col0 + 1] = c11;
        }
    }
}

int main()
{
    int M = 240, K = 100, N = 360;
    std::vector<int> a(M * K), b(K * N), c(M * N);
    for (int i = 0; i < M * K; i++) a[i] = rand() % 100;
    for (int i = 0; i < K * N; i++) b[i] = rand() % 100;

    int *a_d, *b_d, *c_d;
    gpuErrchk(cudaMalloc(&a_d, sizeof(int) * M * K));
    gpuErrchk(cudaMalloc(&b_d, sizeof(int) * K * N));
    gpuErrchk(cudaMalloc(&c_d, sizeof(int) * M * N));
    gpuErrchk(cudaMemcpy(a_d, a.data(), sizeof(int) * M * K, cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(b_d, b.data(), sizeof(int) * K * N, cudaMemcpyHostToDevice));

    dim3 threads(BS, BS);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul2x2<<<grid, threads>>>(a_d, b_d, c_d, M, K, N);
    gpuErrchk(cudaPeekAtLastError());
    gpuErrchk(cudaDeviceSynchronize());
    gpuErrchk(cudaMemcpy(c.data(), c_d, sizeof(int) * M * N, cudaMemcpyDeviceToHost));

    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int sum = 0;
            for (int k = 0; k < K; k++) sum += a[i * K + k] * b[k * N + j];
            if (sum != c[i * N + j]) { printf("wrong at %d %d\n", i, j); return 1; }
        }
    puts("all right");
    cudaFree(a_d); cudaFree(b_d); cudaFree(c_d);
    return 0;
}
