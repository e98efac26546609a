#include <cuda_runtime.h>
#define T 32

__global__ void rows(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float4 a[T][T / 4], b[T][T / 4];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * T + y, col = blockIdx.x * T + x * 4;
    float4 sum = make_float4(0, 0, 0, 0), zero = sum;
    for (int t = 0; t < K; t += T) {
        int i = t + x * 4, j = t + y;
        a[y][x] = row < M && i < K ? *reinterpret_cast<const float4 *>(&A[row * K + i]) : zero;
        b[y][x] = j < K && col < N ? *reinterpret_cast<const float4 *>(&B[j * N + col]) : zero;
        __syncthreads();
        for (int q = 0; q < T / 4; q++) {
            float4 s = a[y][q], b0 = b[4 * q][x], b1 = b[4 * q + 1][x], b2 = b[4 * q + 2][x], b3 = b[4 * q + 3][x];
            sum.x += s.x * b0.x + s.y * b1.x + s.z * b2.x + s.w * b3.x;
            sum.y += s.x * b0.y + s.y * b1.y + s.z * b2.y + s.w * b3.y;
            sum.z += s.x * b0.z + s.y * b1.z + s.z * b2.z + s.w * b3.z;
            sum.w += s.x * b0.w + s.y * b1.w + s.z * b2.w + s.w * b3.w;
        }
        __syncthreads();
    }
    if (row < M && col < N)
        *reinterpret_cast<float4 *>(&C[row * N + col]) = sum;
}

int main()
{
    const int M = 50, N = 100, K = 60;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    dim3 block(T / 4, T), grid((N + T - 1) / T, (M + T - 1) / T);
    rows<<<grid, block>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}
