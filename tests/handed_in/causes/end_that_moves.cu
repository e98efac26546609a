__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x, terms = k;
    float sum = 0;
    if (i >= m || j >= n) return;
    for (int l = 0; l < terms; terms++) sum += a[i * k + l] * b[l * n + j];
    c[i * n + j] = sum;
}

void multiply(const float *a, const float *b, float *c, int m, int n, int k) {
    product<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
}
