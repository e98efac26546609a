// One block computes a square matrix: at most 32 x 32.
#include <cstdio>

__global__ void multiply(const float *left, const float *right, float *out, int width) {
    int r = threadIdx.y, c = threadIdx.x;
    float value = 0;
    for (int i = 0; i < width; ++i) value += left[r * width + i] * right[i * width + c];
    out[r * width + c] = value;
}

int main() {
    const int width = 16;
    size_t bytes = width * width * sizeof(float);
    float *left, *right, *out;
    cudaMalloc(&left, bytes);
    cudaMalloc(&right, bytes);
    cudaMalloc(&out, bytes);
    dim3 threads(width, width);
    multiply<<<1, threads>>>(left, right, out, width);
    cudaDeviceSynchronize();
}
