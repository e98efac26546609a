__global__ void batch(const float *a, const float *b, float *c, int m, int n, int k, long of_a, long of_b, long of_c) {
    const float *x = a + blockIdx.z * of_a, *y = b + blockIdx.z * of_b;
    float *z = c + blockIdx.z * of_c;
    int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i < m) {
        float sum = 0;
        for (int l = 0; l < k; l++) sum += x[i * k + l] * y[l * n + j];
        z[i * n + j] = sum;
    }
}

void multiply(const float *a, const float *b, float *c, int m, int n, int k, int count) {
    dim3 grid((n + 15) / 16, (m + 7) / 8, count);
    batch<<<grid, dim3(16, 8)>>>(a, b, c, m, n, k, (long)m * k, (long)k * n, (long)m * n);
}
