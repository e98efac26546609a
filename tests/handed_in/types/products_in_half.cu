// Exercise 3, part 2: half inputs, float result
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

const int T = 16;

__global__ void hgemm(const __half *A, const __half *B, float *C, int M, int N, int K)
{
    __shared__ __half a[T][T], b[T][T];
    int r = blockIdx.y * T + threadIdx.y, c = blockIdx.x * T + threadIdx.x;
    float sum = 0.f;
    for (int k0 = 0; k0 < K; k0 += T) {
        a[threadIdx.y][threadIdx.x] = (r < M && k0 + (int)threadIdx.x < K) ? A[r * K + k0 + threadIdx.x] : __float2half(0.f);
        b[threadIdx.y][threadIdx.x] = (k0 + (int)threadIdx.y < K && c < N) ? B[(k0 + threadIdx.y) * N + c] : __float2half(0.f);
        __syncthreads();
        for (int k = 0; k < T; k++)
            sum += __half2float(__hmul(a[threadIdx.y][k], b[k][threadIdx.x]));
        __syncthreads();
    }
    if (r < M && c < N) C[r * N + c] = sum;
}

int main()
{
    const int M = 256, N = 256, K = 256;
    std::vector<__half> hA(M * K), hB(K * N);
    std::vector<float> hC(M * N);
    for (int i = 0; i < M * K; i++) hA[i] = __float2half(rand() / (float)RAND_MAX);
    for (int i = 0; i < K * N; i++) hB[i] = __float2half(rand() / (float)RAND_MAX);
    __half *dA, *dB;
    float *dC;
    cudaMalloc(&dA, M * K * sizeof(__half));
    cudaMalloc(&dB, K * N * sizeof(__half));
    cudaMalloc(&dC, M * N * sizeof(float));
    cudaMemcpy(dA, hA.data(), M * K * sizeof(__half), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB.data(), K * N * sizeof(__half), cudaMemcpyHostToDevice);
    hgemm<<<dim3((N + T - 1) / T, (M + T - 1) / T), dim3(T, T)>>>(dA, dB, dC, M, N, K);
    cudaMemcpy(hC.data(), dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
    printf("C[0][0] = %f\n", hC[0]);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
}
