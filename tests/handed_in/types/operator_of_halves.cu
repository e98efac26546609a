#include <cuda_fp16.h>
#include <cstdio>
#include <vector>
#define TS 32
__global__ void half_tiled(const __half *A, const __half *B, float *C, int n)
{
    __shared__ __half sA[TS][TS];
    __shared__ __half sB[TS][TS];
    int r = blockIdx.y * TS + threadIdx.y, c = blockIdx.x * TS + threadIdx.x;
    float sum = 0.f;
    for (int t = 0; t < (n + TS - 1) / TS; t++) {
        sA[threadIdx.y][threadIdx.x] = (r < n && t * TS + threadIdx.x < n) ? A[r * n + t * TS + threadIdx.x] : __float2half(0.f);
        sB[threadIdx.y][threadIdx.x] = (c < n && t * TS + threadIdx.y < n) ? B[(t * TS + threadIdx.y) * n + c] : __float2half(0.f);
        __syncthreads();
        for (int k = 0; k < TS; k++) sum += __half2float(sA[threadIdx.y][k] * sB[k][threadIdx.x]);
        __syncthreads();
    }
    if (r < n && c < n) C[r * n + c] = sum;
}
int main()
{
    int n = 128;
    std::vector<__half> a(n * n), b(n * n);
    std::vector<float> c(n * n);
    for (int i = 0; i < n * n; i++) { a[i] = __float2half(1.f); b[i] = __float2half(.5f); }
    __half *da, *db; float *dc;
    cudaMalloc(&da, n * n * sizeof(__half)); cudaMalloc(&db, n * n * sizeof(__half)); cudaMalloc(&dc, n * n * sizeof(float));
    cudaMemcpy(da, a.data(), n * n * sizeof(__half), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), n * n * sizeof(__half), cudaMemcpyHostToDevice);
    half_tiled<<<dim3((n + TS - 1) / TS, (n + TS - 1) / TS), dim3(TS, TS)>>>(da, db, dc, n);
    cudaMemcpy(c.data(), dc, n * n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f = %f\n", c[0], .5f * n);
}
