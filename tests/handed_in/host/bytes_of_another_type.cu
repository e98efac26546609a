// double precision, tiled
#include <cstdio>
#include <vector>
#include <cmath>
#include <cuda_runtime.h>
#define BS 16
__global__ void dgemm_tiled(double *A, double *B, double *C, int n)
{
    __shared__ double As[BS][BS], Bs[BS][BS];
    const int x = blockIdx.x * BS + threadIdx.x;
    const int y = blockIdx.y * BS + threadIdx.y;
    double sum = 0.0;
    const int tiles = (n + BS - 1) / BS;
    for (int t = 0; t < tiles; ++t) {
        int ax = t * BS + threadIdx.x;
        int by = t * BS + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = (y < n && ax < n) ? A[y * n + ax] : 0.0;
        Bs[threadIdx.y][threadIdx.x] = (by < n && x < n) ? B[by * n + x] : 0.0;
        __syncthreads();
        for (int k = 0; k < BS; ++k)
            sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (x < n && y < n) C[y * n + x] = sum;
}
int main()
{
    const int n = 500;
    const size_t sz = (size_t)n * n * sizeof(float);
    std::vector<double> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; ++i) { a[i] = i % 7; b[i] = i % 5; }
    double *da, *db, *dc;
    cudaMalloc(&da, sz); cudaMalloc(&db, sz); cudaMalloc(&dc, sz);
    cudaMemcpy(da, a.data(), sz, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), sz, cudaMemcpyHostToDevice);
    dim3 block(BS, BS), grid((n + BS - 1) / BS, (n + BS - 1) / BS);
    dgemm_tiled<<<grid, block>>>(da, db, dc, n);
    cudaMemcpy(c.data(), dc, sz, cudaMemcpyDeviceToHost);
    printf("c[0] = %f\n", c[0]);
    cudaFree(da); cudaFree(db); cudaFree(dc);
    return 0;
}
