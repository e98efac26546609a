#include <cuda_runtime.h>

struct Problem {
    int m, n, k;
    float alpha, beta;
};

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k, float alpha, float beta) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l = 0; l < k; l++) sum += a[i * k + l] * b[l * n + j];
    c[i * n + j] = alpha * sum + beta * c[i * n + j];
}

int main() {
    Problem p;
    p.m = 100, p.n = 90, p.k = 60, p.alpha = 1.5f, p.beta = 0.5f;
    float *a, *b, *c;
    cudaMallocManaged(&a, p.m * p.k * sizeof(float));
    cudaMallocManaged(&b, p.k * p.n * sizeof(float));
    cudaMallocManaged(&c, p.m * p.n * sizeof(float));
    dim3 grid((p.n + 15) / 16, (p.m + 15) / 16);
    product<<<grid, dim3(16, 16)>>>(a, b, c, p.m, p.n, p.k, p.alpha, p.beta);
    cudaDeviceSynchronize();
}
