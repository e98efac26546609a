// Assignment 4 (advanced): flat shared memory arrays with padded rows
#include "stdio.h"
#include "stdlib.h"
#include "math.h"

#define TW   32
#define PAD  1
#define LDS  (TW + PAD)                 /* row pitch of a tile */
#define AT(t, r, c) ((t)[(r) * LDS + (c)])

#define cudaTry(cmd) if ((cmd) != cudaSuccess) { printf("error in %s\n", #cmd); return 1; }

__global__ void matmul_padded(const float * __restrict__ a, const float * __restrict__ b,
                              float * __restrict__ c, int n)
{
    __shared__ float ta[TW * TW];
    __shared__ float tb[TW * TW];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TW + ty, col = blockIdx.x * TW + tx;
    float r = 0.0f;

    for (int m = 0; m < n / TW; m++)
    {
        AT(ta, ty, tx) = a[row * n + m * TW + tx];
        AT(tb, ty, tx) = b[(m * TW + ty) * n + col];
        __syncthreads();

        #pragma unroll
        for (int k = 0; k < TW; k++)
            r += AT(ta, ty, k) * AT(tb, k, tx);

        __syncthreads();
    }
    c[row * n + col] = r;
}

int main(int argc, char *argv[])
{
    int n = 512;                        /* multiple of TW */
    size_t sz = n * n * sizeof(float);
    float *a = (float *) malloc(sz), *b = (float *) malloc(sz), *c = (float *) malloc(sz);
    float *ga, *gb, *gc;
    int i, j, k, wrong = 0;

    for (i = 0; i < n * n; i++) { a[i] = i % 3; b[i] = i % 5; }

    cudaTry(cudaMalloc((void **) &ga, sz));
    cudaTry(cudaMalloc((void **) &gb, sz));
    cudaTry(cudaMalloc((void **) &gc, sz));
    cudaTry(cudaMemcpy(ga, a, sz, cudaMemcpyHostToDevice));
    cudaTry(cudaMemcpy(gb, b, sz, cudaMemcpyHostToDevice));

    matmul_padded<<<dim3(n / TW, n / TW), dim3(TW, TW)>>>(ga, gb, gc, n);
    cudaTry(cudaDeviceSynchronize());
    cudaTry(cudaMemcpy(c, gc, sz, cudaMemcpyDeviceToHost));

    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            float s = 0;
            for (k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
            if (s != c[i * n + j]) wrong++;
        }
    printf("%s (%d wrong)\n", wrong ? "FAIL" : "PASS", wrong);
    cudaFree(ga); cudaFree(gb); cudaFree(gc);
    free(a); free(b); free(c);
    return 0;
}
