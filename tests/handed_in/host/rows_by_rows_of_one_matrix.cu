#include <cuda_runtime.h>

__global__ void gram(const float *a, const float *b, float *g, int n, int d) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float dot = 0;
    for (int k = 0; k < d; k++) dot += a[i * d + k] * b[j * d + k];
    g[i * n + j] = dot;
}

int main() {
    int n = 80, d = 60;
    float *points, *g;
    cudaMalloc(&points, n * d * sizeof(float));
    cudaMalloc(&g, n * n * sizeof(float));
    gram<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(points, points, g, n, d);
    cudaDeviceSynchronize();
}
