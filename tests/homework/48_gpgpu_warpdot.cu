// GPGPU seminar, task 6: dot products with warp-level primitives.
// A block consists of 4 warps; each warp is responsible for one column of the row.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define WARP 32
#define WARPS 4
#define FULL 0xffffffff

struct Dims { int m, n, k; };

__global__ void warpMatMul(const float *A, const float *B, float *C, Dims d)
{
    const int lane = threadIdx.x;
    const int row = blockIdx.y;
    const int col = blockIdx.x * WARPS + threadIdx.y;
    if (col >= d.n) return;

    float s = 0.0f;
    for (int k = lane; k < d.k; k += WARP)
        s = fmaf(A[row * d.k + k], B[k * d.n + col], s);

    s += __shfl_xor_sync(FULL, s, 16);
    s += __shfl_xor_sync(FULL, s, 8);
    s += __shfl_xor_sync(FULL, s, 4);
    s += __shfl_xor_sync(FULL, s, 2);
    s += __shfl_xor_sync(FULL, s, 1);

    if (threadIdx.x == 0 && threadIdx.y == 0)
        C[row * d.n + col] = s;
}

int main(int argc, char *argv[])
{
    Dims d = {200, 100, 1024};
    if (argc == 4) {
        d.m = atoi(argv[1]);
        d.n = atoi(argv[2]);
        d.k = atoi(argv[3]);
    }

    float *hA, *hB, *hC, *A, *B, *C;
    hA = (float *)malloc(sizeof(float) * d.m * d.k);
    hB = (float *)malloc(sizeof(float) * d.k * d.n);
    hC = (float *)malloc(sizeof(float) * d.m * d.n);
    for (int i = 0; i < d.m * d.k; ++i) hA[i] = sinf(i);
    for (int i = 0; i < d.k * d.n; ++i) hB[i] = cosf(i);

    cudaMalloc(&A, sizeof(float) * d.m * d.k);
    cudaMalloc(&B, sizeof(float) * d.k * d.n);
    cudaMalloc(&C, sizeof(float) * d.m * d.n);
    cudaMemcpy(A, hA, sizeof(float) * d.m * d.k, cudaMemcpyHostToDevice);
    cudaMemcpy(B, hB, sizeof(float) * d.k * d.n, cudaMemcpyHostToDevice);

    dim3 block(WARP, WARPS);
    dim3 grid((d.n + WARPS - 1) / WARPS, d.m);
    warpMatMul<<<grid, block>>>(A, B, C, d);

    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) {
        printf("%s\n", cudaGetErrorString(e));
        return 1;
    }
    cudaMemcpy(hC, C, sizeof(float) * d.m * d.n, cudaMemcpyDeviceToHost);

    float diff = 0;
    for (int i = 0; i < d.m; ++i)
        for (int j = 0; j < d.n; ++j) {
            float r = 0;
            for (int k = 0; k < d.k; ++k) r += hA[i * d.k + k] * hB[k * d.n + j];
            diff = fmaxf(diff, fabsf(r - hC[i * d.n + j]));
        }
    printf("max |cpu - gpu| = %g\n", diff);
    cudaFree(A); cudaFree(B); cudaFree(C);
    free(hA); free(hB); free(hC);
    return 0;
}
