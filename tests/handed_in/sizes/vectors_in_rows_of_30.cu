// C = A * B with float4 tile loads
#include <cstdio>
#include <vector>
constexpr int T = 32;   // tile, 8 x 32 threads: each thread loads one float4 of A and of B
__global__ void mm4(const float4 *A, const float4 *B, float *C, int M, int N, int K)
{
    __shared__ float sA[T][T], sB[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;          // tx 0..7, ty 0..31
    int row = blockIdx.y * T + ty, col4 = blockIdx.x * (T / 4) + tx;
    float4 acc = make_float4(0, 0, 0, 0);
    for (int k0 = 0; k0 < K; k0 += T) {
        float4 a = {0, 0, 0, 0}, b = {0, 0, 0, 0};
        if (row < M && k0 + 4 * tx < K) a = A[row * (K / 4) + k0 / 4 + tx];
        if (k0 + ty < K && 4 * col4 < N) b = B[(k0 + ty) * (N / 4) + col4];
        reinterpret_cast<float4 *>(sA[ty])[tx] = a;
        reinterpret_cast<float4 *>(sB[ty])[tx] = b;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < T; ++k) {
            float x = sA[ty][k];
            float4 y = reinterpret_cast<float4 *>(sB[k])[tx];
            acc.x += x * y.x; acc.y += x * y.y; acc.z += x * y.z; acc.w += x * y.w;
        }
        __syncthreads();
    }
    if (row < M && 4 * col4 < N) {
        float *p = C + row * N + 4 * col4;
        p[0] = acc.x; p[1] = acc.y; p[2] = acc.z; p[3] = acc.w;
    }
}
int main()
{
    int M = 250, N = 132, K = 30;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, sizeof(float) * M * K);
    cudaMalloc(&dB, sizeof(float) * K * N);
    cudaMalloc(&dC, sizeof(float) * M * N);
    dim3 block(T / 4, T), grid((N + T - 1) / T, (M + T - 1) / T);
    mm4<<<grid, block>>>((float4 *)dA, (float4 *)dB, dC, M, N, K);
    std::vector<float> h(M * N);
    cudaMemcpy(h.data(), dC, sizeof(float) * M * N, cudaMemcpyDeviceToHost);
    printf("%f\n", h[0]);
}
