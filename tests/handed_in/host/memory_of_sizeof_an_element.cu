#include <cuda_runtime.h>

__global__ void product(const float *P, const float *Q, float *R, int rows, int inner, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols) return;
    float sum = 0.0f;
    for (int i = 0; i < inner; ++i) sum += P[row * inner + i] * Q[i * cols + col];
    R[row * cols + col] = sum;
}

int main() {
    int rows = 150, inner = 90, cols = 210;
    float *P, *Q, *R;
    cudaMalloc(&P, rows * inner * sizeof(float));
    cudaMalloc(&Q, inner * cols * sizeof(float));
    size_t bytes = sizeof *R * rows * cols;
    cudaMalloc((void **)&R, bytes);
    product<<<dim3((cols + 31) / 32, (rows + 7) / 8), dim3(32, 8)>>>(P, Q, R, rows, inner, cols);
    cudaDeviceSynchronize();
}
