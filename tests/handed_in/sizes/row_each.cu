// Each thread computes a row of C.
#include <cstdio>
#include <cstdlib>

__global__ void row_of_product(const float *a, const float *b, float *c, int m, int n, int k) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m) return;
    for (int col = 0; col < n; ++col) {
        float sum = 0;
        for (int p = 0; p < k; ++p) sum += a[row * k + p] * b[p * n + col];
        c[row * n + col] = sum;
    }
}

int main() {
    const int m = 200, n = 600, k = 100;
    float *a, *b, *c;
    cudaMallocManaged(&a, m * k * sizeof(float));
    cudaMallocManaged(&b, k * n * sizeof(float));
    cudaMallocManaged(&c, m * n * sizeof(float));
    for (int i = 0; i < m * k; ++i) a[i] = rand() % 7;
    for (int i = 0; i < k * n; ++i) b[i] = rand() % 7;
    row_of_product<<<(m + 255) / 256, 256>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
    printf("%f\n", c[0]);
    return 0;
}
