// 实验三 矩阵乘法的共享内存优化
// 姓名：         学号：
#include <iostream>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>
using namespace std;

const int TILE = 16;

// 朴素版本
__global__ void juzhen_cheng_naive(float *a, float *b, float *c, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < k)
    {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += a[row * n + i] * b[i * k + col];
        c[row * k + col] = sum;
    }
}

// 共享内存分块版本  a: m*n  b: n*k  c: m*k
__global__ void juzhen_cheng_fenkuai(float *a, float *b, float *c, int m, int n, int k)
{
    __shared__ float sa[TILE][TILE];
    __shared__ float sb[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0;

    for (int t = 0; t < n / TILE; t++)
    {
        // 每个线程搬运一个元素，越界填 0
        if (row < m && t * TILE + tx < n)
            sa[ty][tx] = a[row * n + t * TILE + tx];
        else
            sa[ty][tx] = 0;
        if (t * TILE + ty < n && col < k)
            sb[ty][tx] = b[(t * TILE + ty) * k + col];
        else
            sb[ty][tx] = 0;
        __syncthreads();

        for (int i = 0; i < TILE; i++)
            sum += sa[ty][i] * sb[i][tx];
        __syncthreads();
    }
    if (row < m && col < k)
        c[row * k + col] = sum;
}

int main()
{
    int m = 1000, n = 500, k = 700;
    float *h_a = (float *)malloc(m * n * sizeof(float));
    float *h_b = (float *)malloc(n * k * sizeof(float));
    float *h_c = (float *)malloc(m * k * sizeof(float));
    float *h_c2 = (float *)malloc(m * k * sizeof(float));
    for (int i = 0; i < m * n; i++) h_a[i] = rand() % 10;
    for (int i = 0; i < n * k; i++) h_b[i] = rand() % 10;

    float *d_a, *d_b, *d_c;
    cudaMalloc((void **)&d_a, m * n * sizeof(float));
    cudaMalloc((void **)&d_b, n * k * sizeof(float));
    cudaMalloc((void **)&d_c, m * k * sizeof(float));
    cudaMemcpy(d_a, h_a, m * n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, h_b, n * k * sizeof(float), cudaMemcpyHostToDevice);

    dim3 block(TILE, TILE);
    dim3 grid((k + TILE - 1) / TILE, (m + TILE - 1) / TILE);

    cudaEvent_t t0, t1;
    float ms1, ms2;
    cudaEventCreate(&t0);
    cudaEventCreate(&t1);

    cudaEventRecord(t0);
    juzhen_cheng_naive<<<grid, block>>>(d_a, d_b, d_c, m, n, k);
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    cudaEventElapsedTime(&ms1, t0, t1);
    cudaMemcpy(h_c, d_c, m * k * sizeof(float), cudaMemcpyDeviceToHost);

    cudaEventRecord(t0);
    juzhen_cheng_fenkuai<<<grid, block>>>(d_a, d_b, d_c, m, n, k);
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    cudaEventElapsedTime(&ms2, t0, t1);
    cudaMemcpy(h_c2, d_c, m * k * sizeof(float), cudaMemcpyDeviceToHost);

    cout << "朴素: " << ms1 << " ms, 分块: " << ms2 << " ms, 加速比 " << ms1 / ms2 << endl;

    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
    free(h_a);
    free(h_b);
    free(h_c);
    free(h_c2);
    return 0;
}
