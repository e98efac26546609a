// The block stands before the grid, in variables with short names.
__global__ void mm(const float *a, const float *b, float *c, int m, int n, int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}

void multiply(const float *a, const float *b, float *c, int m, int n, int k) {
    dim3 t(16, 16);
    dim3 g((n + t.x - 1) / t.x, (m + t.y - 1) / t.y);
    mm<<<t, g>>>(a, b, c, m, n, k);
}
