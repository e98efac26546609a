#include <cuda_bf16.h>
#include <cstdio>

// C = scale * A B + shift * C in bfloat16, with the two factors by value in that type too
__global__ void bf16_gemm(int rows, int cols, int inner, __nv_bfloat16 alpha, const __nv_bfloat16 *A,
                          const __nv_bfloat16 *B, __nv_bfloat16 beta, __nv_bfloat16 *C)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows && c < cols) {
        float acc = 0.f;
        for (int t = 0; t < inner; ++t)
            acc += __bfloat162float(A[r * inner + t]) * __bfloat162float(B[t * cols + c]);
        float old = __bfloat162float(C[r * cols + c]);
        C[r * cols + c] = __float2bfloat16(__bfloat162float(alpha) * acc + __bfloat162float(beta) * old);
    }
}

int main()
{
    const int rows = 300, cols = 200, inner = 100;
    __nv_bfloat16 *dA, *dB, *dC;
    cudaMalloc(&dA, sizeof(__nv_bfloat16) * rows * inner);
    cudaMalloc(&dB, sizeof(__nv_bfloat16) * inner * cols);
    cudaMalloc(&dC, sizeof(__nv_bfloat16) * rows * cols);
    dim3 block(32, 8), grid((cols + 31) / 32, (rows + 7) / 8);
    bf16_gemm<<<grid, block>>>(rows, cols, inner, __float2bfloat16(1.0f), dA, dB, __float2bfloat16(0.0f), dC);
    cudaDeviceSynchronize();
    return 0;
}
