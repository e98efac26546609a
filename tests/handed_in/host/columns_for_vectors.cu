#include <cuda_runtime.h>

__global__ void product(const float *a, const float4 *b4, float4 *c4, int nRows, int nInner, int nCols4) {
    int q = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= nRows || q >= nCols4) return;
    float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
    for (int i = 0; i < nInner; i++) {
        float av = a[row * nInner + i];
        float4 bv = b4[i * nCols4 + q];
        sum.x += av * bv.x;
        sum.y += av * bv.y;
        sum.z += av * bv.z;
        sum.w += av * bv.w;
    }
    c4[row * nCols4 + q] = sum;
}

int main() {
    int nRows = 96, nCols = 128, nInner = 50;
    float *a, *b, *c;
    cudaMalloc(&a, nRows * nInner * sizeof(float));
    cudaMalloc(&b, nInner * nCols * sizeof(float));
    cudaMalloc(&c, nRows * nCols * sizeof(float));
    dim3 block(16, 16), grid((nCols / 4 + 15) / 16, (nRows + 15) / 16);
    product<<<grid, block>>>(a, (const float4 *)b, (float4 *)c, nRows, nInner, nCols);
    cudaDeviceSynchronize();
}
