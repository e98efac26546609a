#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define BLOCK_SIZE 16
#define SPLIT 16

struct Matrix {
    int width, height;
    float *elements;
};

__global__ void SplitK(Matrix A, Matrix B, Matrix C, int kPart)
{
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * BLOCK_SIZE + ty;
    int col = blockIdx.x * BLOCK_SIZE + tx;
    int kBegin = blockIdx.z * kPart;
    int kEnd = min(kBegin + kPart, A.width);

    float sum = 0.0f;
    for (int k0 = kBegin; k0 < kEnd; k0 += BLOCK_SIZE) {
        As[ty][tx] = (row < A.height && k0 + tx < kEnd) ? A.elements[row * A.width + k0 + tx] : 0.0f;
        Bs[ty][tx] = (k0 + ty < kEnd && col < B.width) ? B.elements[(k0 + ty) * B.width + col] : 0.0f;
        __syncthreads();
        for (int e = 0; e < BLOCK_SIZE; ++e)
            sum += As[ty][e] * Bs[e][tx];
        __syncthreads();
    }
    if (row < C.height && col < C.width)
        C.elements[row * C.width + col] += sum;
}

static Matrix onDevice(int h, int w)
{
    Matrix d;
    d.height = h;
    d.width = w;
    cudaMalloc((void **)&d.elements, (size_t)h * w * sizeof(float));
    return d;
}

int main(int argc, char **argv)
{
    int m = argc > 1 ? atoi(argv[1]) : 1000;
    int k = argc > 2 ? atoi(argv[2]) : 1000;
    int n = argc > 3 ? atoi(argv[3]) : 1000;
    Matrix A = onDevice(m, k), B = onDevice(k, n), C = onDevice(m, n);
    float *h = (float *)malloc((size_t)m * k * sizeof(float));
    for (int i = 0; i < m * k; i++) h[i] = (float)(i % 13);
    cudaMemcpy(A.elements, h, (size_t)m * k * sizeof(float), cudaMemcpyHostToDevice);
    float *g = (float *)malloc((size_t)k * n * sizeof(float));
    for (int i = 0; i < k * n; i++) g[i] = (float)(i % 11);
    cudaMemcpy(B.elements, g, (size_t)k * n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(C.elements, 0, (size_t)m * n * sizeof(float));
    int kPart = (k + SPLIT - 1) / SPLIT;
    dim3 block(BLOCK_SIZE, BLOCK_SIZE);
    dim3 grid((n + BLOCK_SIZE - 1) / BLOCK_SIZE, (m + BLOCK_SIZE - 1) / BLOCK_SIZE, SPLIT);
    SplitK<<<grid, block>>>(A, B, C, kPart);
    cudaDeviceSynchronize();
    return 0;
}
