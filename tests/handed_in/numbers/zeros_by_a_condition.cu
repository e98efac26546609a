// Exercise 3: bounds checks back, as the tool's cure says
#include <iostream>
#include <vector>
#include <cmath>
#include <cuda_runtime.h>
using namespace std;

const int T = 16;

#define cuda(x) { cudaError_t e = x; if (e != cudaSuccess) { cerr << #x << ": " << cudaGetErrorString(e) << endl; return 1; } }

__global__ void matmul(const float *a, const float *b, float *c, int m, int k, int n)
{
    __shared__ float ta[T][T], tb[T][T];
    int y = blockIdx.y * T + threadIdx.y;
    int x = blockIdx.x * T + threadIdx.x;
    float s = 0;
    int tiles = (k + T - 1) / T;
    for (int i = 0; i < tiles; i++) {
        ta[threadIdx.y][threadIdx.x] = y < m && i * T + threadIdx.x < k ? a[y * k + i * T + threadIdx.x] : 0;
        tb[threadIdx.y][threadIdx.x] = x < n && i * T + threadIdx.y < k ? b[(i * T + threadIdx.y) * n + x] : 0;
        __syncthreads();
        for (int j = 0; j < T; j++)
            s += ta[threadIdx.y][j] * tb[j][threadIdx.x];
        __syncthreads();
    }
    if (y < m && x < n) c[y * n + x] = s;
}

int main()
{
    int m = 300, k = 200, n = 150;
    vector<float> a(m * k), b(k * n), c(m * n);
    for (auto &v : a) v = rand() % 10;
    for (auto &v : b) v = rand() % 10;

    float *da, *db, *dc;
    cuda(cudaMalloc(&da, a.size() * sizeof(float)));
    cuda(cudaMalloc(&db, b.size() * sizeof(float)));
    cuda(cudaMalloc(&dc, c.size() * sizeof(float)));
    cuda(cudaMemcpy(da, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    cuda(cudaMemcpy(db, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));

    cudaEvent_t e0, e1;
    cuda(cudaEventCreate(&e0)); cuda(cudaEventCreate(&e1));
    dim3 block(T, T), grid((n + T - 1) / T, (m + T - 1) / T);
    cudaEventRecord(e0);
    matmul<<<grid, block>>>(da, db, dc, m, k, n);
    cudaEventRecord(e1);
    cuda(cudaGetLastError());
    cuda(cudaEventSynchronize(e1));
    float ms; cudaEventElapsedTime(&ms, e0, e1);
    cuda(cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost));

    int wrong = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float r = 0;
            for (int l = 0; l < k; l++) r += a[i * k + l] * b[l * n + j];
            if (fabs(r - c[i * n + j]) > 0.01f) wrong++;
        }
    cout << ms << " ms, " << wrong << " wrong elements" << endl;
    cudaFree(da); cudaFree(db); cudaFree(dc);
}
