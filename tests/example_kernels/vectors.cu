// The product with B and C accessed as float4, and A as float2: four columns per thread.
//
// threads:  8, 8
// grid:     ceil(N / 32), ceil(M / 8)
// requires: N % 4 == 0, K % 2 == 0

__device__ __forceinline__ float4 multiply_add(float a, float4 b, float4 c) {
    return make_float4(c.x + a * b.x, c.y + a * b.y, c.z + a * b.z, c.w + a * b.w);
}

__global__ void __launch_bounds__(64, 2)
vectors(int M, int N, int K, const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= M || col >= N) return;
    float4 sum = {0, 0, 0, 0};
#pragma unroll 2
    for (int k = 0; k < K; k += 2) {
        const float2 a = *reinterpret_cast<const float2 *>(&A[row * K + k]);
        sum = multiply_add(a.x, *(const float4 *)&B[k * N + col], sum);
        sum = multiply_add(a.y, __ldg((const float4 *)&B[(k + 1) * N + col]), sum);
    }
    *(float4 *)&C[row * N + col] = sum;
}
