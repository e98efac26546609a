#include <cuda_runtime.h>
/* Column-major */
__global__ void my_sgemm(int m, int n, int k, const float *A, const float *B, float *C)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < m && j < n) {
        float s = 0.0f;
        for (int l = 0; l < k; ++l)
            s += A[l * m + i] * B[j * k + l];
        C[j * m + i] = s;
    }
}
int main()
{
    int m = 200, n = 150, k = 120;
    float *d_A, *d_B, *d_C;
    cudaMalloc((void **)&d_A, m * k * sizeof(float));
    cudaMalloc((void **)&d_B, k * n * sizeof(float));
    cudaMalloc((void **)&d_C, m * n * sizeof(float));
    dim3 threads(16, 16);
    dim3 blocks((m + 15) / 16, (n + 15) / 16);
    my_sgemm<<<blocks, threads>>>(m, n, k, d_A, d_B, d_C);
    cudaDeviceSynchronize();
}
