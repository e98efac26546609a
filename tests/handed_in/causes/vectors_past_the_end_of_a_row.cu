#include <cuda_runtime.h>

__global__ void four_columns(const float *A, const float *B, float *C, int m, int n, int k) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (r >= m || c > n) return;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int i = 0; i < k; ++i) {
        float a = A[r * k + i];
        float4 b = *reinterpret_cast<const float4 *>(&B[i * n + c]);
        sum.x += a * b.x;
        sum.y += a * b.y;
        sum.z += a * b.z;
        sum.w += a * b.w;
    }
    *reinterpret_cast<float4 *>(&C[r * n + c]) = sum;
}

int main() {
    int m = 60, n = 96, k = 50;
    float *A, *B, *C;
    cudaMalloc(&A, m * k * sizeof(float));
    cudaMalloc(&B, k * n * sizeof(float));
    cudaMalloc(&C, m * n * sizeof(float));
    dim3 block(16, 16), grid((n / 4 + 15) / 16, (m + 15) / 16);
    four_columns<<<grid, block>>>(A, B, C, m, n, k);
    cudaDeviceSynchronize();
}
