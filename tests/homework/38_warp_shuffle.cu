// One WARP per element of C; the 32 lanes split the dot product and
// combine their sums with shuffles. block = (32, WARPS_PER_BLOCK)
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

static const int WARPS_PER_BLOCK = 8;

__inline__ __device__ float warpReduceSum(float val)
{
    for (int offset = 16; offset > 0; offset /= 2)
        val += __shfl_down_sync(0xffffffffu, val, offset);
    return val;
}

__global__ void matmulWarp(const float* A, const float* B, float* C, int hA, int wA, int wB)
{
    int lane = threadIdx.x;
    int element = blockIdx.x * blockDim.y + threadIdx.y;   // linear index into C
    if (element >= hA * wB)
        return;                                            // the whole warp leaves

    int row = element / wB;
    int col = element - row * wB;
    float sum = 0.0f;
    for (int k = lane; k < wA; k += warpSize)
        sum += A[row * wA + k] * B[k * wB + col];

    sum = warpReduceSum(sum);
    if (lane == 0)
        C[element] = sum;
}

int main()
{
    const int hA = 123, wA = 456, wB = 78;
    std::vector<float> A(hA * wA), B(wA * wB), C(hA * wB);
    for (size_t i = 0; i < A.size(); ++i) A[i] = float(i % 10) - 4.5f;
    for (size_t i = 0; i < B.size(); ++i) B[i] = float(i % 7) - 3.0f;

    float *dA, *dB, *dC;
    cudaMalloc(&dA, A.size() * sizeof(float));
    cudaMalloc(&dB, B.size() * sizeof(float));
    cudaMalloc(&dC, C.size() * sizeof(float));
    cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice);

    int total = hA * wB;
    int blocks = (total + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK;
    matmulWarp<<<blocks, dim3(32, WARPS_PER_BLOCK)>>>(dA, dB, dC, hA, wA, wB);
    cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost);

    int nbad = 0;
    for (int i = 0; i < hA; ++i)
        for (int j = 0; j < wB; ++j) {
            double s = 0;
            for (int k = 0; k < wA; ++k) s += double(A[i * wA + k]) * B[k * wB + j];
            if (std::fabs(s - C[i * wB + j]) > 1e-2) ++nbad;
        }
    printf("%d bad elements\n", nbad);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    return nbad ? 1 : 0;
}
