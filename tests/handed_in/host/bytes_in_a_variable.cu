#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define A_WIDTH 700
#define A_HEIGHT 500
#define B_WIDTH 250
#define B_HEIGHT A_WIDTH
#define C_WIDTH B_WIDTH
#define C_HEIGHT A_HEIGHT

__global__ void matMulDyn(const float *A, const float *B, float *C, int hA, int wA, int wB)
{
    extern __shared__ float tile[];
    int bs = blockDim.x;
    float *As = tile;
    float *Bs = tile + bs * bs;
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * bs + tx;
    int y = blockIdx.y * bs + ty;
    float acc = 0.0f;
    for (int t = 0; t * bs < wA; t++) {
        int ax = t * bs + tx, by = t * bs + ty;
        As[ty * bs + tx] = (y < hA && ax < wA) ? A[y * wA + ax] : 0.0f;
        Bs[ty * bs + tx] = (by < wA && x < wB) ? B[by * wB + x] : 0.0f;
        __syncthreads();
        for (int i = 0; i < bs; i++)
            acc += As[ty * bs + i] * Bs[i * bs + tx];
        __syncthreads();
    }
    if (y < hA && x < wB)
        C[y * wB + x] = acc;
}

int main(int argc, char **argv)
{
    int bs = argc > 1 ? atoi(argv[1]) : 16;
    int hA = A_HEIGHT, wA = A_WIDTH, wB = B_WIDTH;
    size_t sa = wA * hA * sizeof(float);
    size_t sb = wB * wA * sizeof(float);
    size_t sc = wB * hA;
    float *h_A = (float *)malloc(sa), *h_B = (float *)malloc(sb), *h_C = (float *)malloc(sc);
    for (int i = 0; i < wA * hA; i++) h_A[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < wB * wA; i++) h_B[i] = rand() / (float)RAND_MAX;
    float *d_A, *d_B, *d_C;
    cudaMalloc((void **)&d_A, sa);
    cudaMalloc((void **)&d_B, sb);
    cudaMalloc((void **)&d_C, sc);
    cudaMemcpy(d_A, h_A, sa, cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, h_B, sb, cudaMemcpyHostToDevice);
    dim3 block(bs, bs);
    dim3 grid((wB + bs - 1) / bs, (hA + bs - 1) / bs);
    size_t shm = 2 * bs * bs * sizeof(float);
    matMulDyn<<<grid, block, shm>>>(d_A, d_B, d_C, hA, wA, wB);
    cudaMemcpy(h_C, d_C, sc, cudaMemcpyDeviceToHost);
    printf("%f\n", h_C[0]);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    return 0;
}
