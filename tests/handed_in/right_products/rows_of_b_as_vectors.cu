// Exercise 5: A * B^T, tiles loaded with float4
#include <stdio.h>
#include <stdlib.h>
#include <assert.h>
#define TS 16
#define PAD 1
#define CUDA_CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

__global__ void abt_vec4(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                         int m, int n, int k) {
    __shared__ float ta[TS][TS + PAD];
    __shared__ float tb[TS][TS + PAD];
    int tx = threadIdx.x, ty = threadIdx.y;
    int tid = ty * TS + tx;
    int lr = (tid % 64) / 4;          // row in the tile, 4 float4 per row
    int lc = (tid % 4) * 4;           // column in the tile
    int row = blockIdx.y * TS + ty, col = blockIdx.x * TS + tx;
    float acc = 0.0f;
    for (int kk = 0; kk < k; kk += TS) {
        float4 v = make_float4(0.f, 0.f, 0.f, 0.f);
        if (tid < 64) {                // two warps load A
            int r = blockIdx.y * TS + lr;
            if (r < m && kk + lc < k) v = *reinterpret_cast<const float4*>(&a[r * k + kk + lc]);
            ta[lr][lc] = v.x; ta[lr][lc + 1] = v.y; ta[lr][lc + 2] = v.z; ta[lr][lc + 3] = v.w;
        } else if (tid < 128) {        // two warps load B
            int r = blockIdx.x * TS + lr;
            if (r < n && kk + lc < k) v = *reinterpret_cast<const float4*>(&b[r * k + kk + lc]);
            tb[lr][lc] = v.x; tb[lr][lc + 1] = v.y; tb[lr][lc + 2] = v.z; tb[lr][lc + 3] = v.w;
        }
        __syncthreads();
        for (int i = 0; i < TS; ++i) acc += ta[ty][i] * tb[tx][i];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = acc;
}

int main() {
    int m = 250, n = 130, k = 96;
    float *h_a = (float*)malloc(sizeof(float) * m * k), *h_b = (float*)malloc(sizeof(float) * n * k), *h_c = (float*)malloc(sizeof(float) * m * n);
    for (int i = 0; i < m * k; ++i) h_a[i] = drand48();
    for (int i = 0; i < n * k; ++i) h_b[i] = drand48();
    float *d_a, *d_b, *d_c;
    CUDA_CHECK(cudaMalloc(&d_a, sizeof(float) * m * k));
    CUDA_CHECK(cudaMalloc(&d_b, sizeof(float) * n * k));
    CUDA_CHECK(cudaMalloc(&d_c, sizeof(float) * m * n));
    CUDA_CHECK(cudaMemcpy(d_a, h_a, sizeof(float) * m * k, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_b, h_b, sizeof(float) * n * k, cudaMemcpyHostToDevice));
    dim3 blk(TS, TS);
    dim3 grd((n + TS - 1) / TS, (m + TS - 1) / TS);
    abt_vec4<<<grd, blk>>>(d_a, d_b, d_c, m, n, k);
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpy(h_c, d_c, sizeof(float) * m * n, cudaMemcpyDeviceToHost));
    printf("c[0] = %f\n", h_c[0]);
    return 0;
}
