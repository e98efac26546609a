#include <cuda_runtime.h>

__global__ void multiply(const float *left, const float *right, float *out, int leftRows, int leftCols, int rightCols)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= rightCols || y >= leftRows)
        return;
    float value = 0.0f;
    for (int i = 0; i < leftCols; i++)
        value += left[y * leftCols + i] * right[i * rightCols + x];
    out[y * rightCols + x] = value;
}

int main()
{
    int leftRows = 70, leftCols = 24, rightRows = 24, rightCols = 110;
    int outRows = leftRows, outCols = rightCols;
    float *left, *right, *out;
    cudaMalloc(&left, leftRows * leftCols * sizeof(float));
    cudaMalloc(&right, rightRows * rightCols * sizeof(float));
    cudaMalloc(&out, outRows * outCols * sizeof(float));
    dim3 block(16, 16), grid((outCols + 15) / 16, (outRows + 15) / 16);
    multiply<<<grid, block>>>(left, right, out, leftRows, rightCols, leftCols);
    cudaDeviceSynchronize();
    return 0;
}
