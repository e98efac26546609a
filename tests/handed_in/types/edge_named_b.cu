// The block's edge is a macro that has the name of a matrix.
#include <cuda_runtime.h>
#define B 16

__global__ void product(const int *left, const int *right, int *out, int size) {
    int i = blockIdx.y * B + threadIdx.y, j = blockIdx.x * B + threadIdx.x;
    if (i >= size || j >= size) return;
    int sum = 0;
    for (int k = 0; k < size; ++k) sum += left[i * size + k] * right[k * size + j];
    out[i * size + j] = sum;
}

int main() {
    int size = 90, *left, *right, *out;
    cudaMallocManaged(&left, size * size * sizeof(int));
    cudaMallocManaged(&right, size * size * sizeof(int));
    cudaMallocManaged(&out, size * size * sizeof(int));
    dim3 block(B, B), grid((size + B - 1) / B, (size + B - 1) / B);
    product<<<grid, block>>>(left, right, out, size);
    cudaDeviceSynchronize();
}
