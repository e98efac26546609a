#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); return 1; } } while (0)
constexpr int TS = 16;
template <typename T>
__global__ void tiledMul(const T* __restrict__ lhs, const T* __restrict__ rhs, T* __restrict__ out, int h, int d, int w) {
    __shared__ T lt[TS][TS];
    __shared__ T rt[TS][TS + 1];
    const int ty = threadIdx.y, tx = threadIdx.x;
    const int i = blockIdx.y * TS + ty;
    const int j = blockIdx.x * TS + tx;
    T total = T(0);
    for (int base = 0; base < d; base += TS) {
        lt[ty][tx] = (i < h && base + tx < d) ? lhs[i * d + base + tx] : T(0);
        rt[ty][tx] = (base + ty < d && j < w) ? rhs[(base + ty) * w + j] : T(0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TS; ++k)
            total += lt[ty][k] * rt[k][tx];
        __syncthreads();
    }
    if (i < h && j < w)
        out[i * w + j] = total;
}
int main() {
    int h = 210, w = 130, d = 75;
    std::vector<float> a(h * d, 1.f), b(d * w, 2.f), c(h * w);
    float *da, *db, *dc;
    CHECK(cudaMalloc(&da, a.size() * sizeof(float)));
    CHECK(cudaMalloc(&db, b.size() * sizeof(float)));
    CHECK(cudaMalloc(&dc, c.size() * sizeof(float)));
    CHECK(cudaMemcpy(da, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));
    dim3 threads(TS, TS);
    dim3 blocks((w + TS - 1) / TS, (h + TS - 1) / TS);
    tiledMul<float><<<blocks, threads>>>(da, db, dc, h, w, d);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    printf("%f\n", c[0]);
}
