// B is transposed by a kernel of its own before the product, so that both inputs are read along their rows.
__global__ void flip(const float *from, float *to, int rows, int cols) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < cols && y < rows) to[x * rows + y] = from[y * cols + x];
}

__global__ void by_rows(const float *a, const float *b_t, float *c, int m, int n, int k) {
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b_t[col * k + i];
    c[row * n + col] = sum;
}

void run(const float *a, const float *b, float *b_t, float *c, int m, int n, int k) {
    dim3 block(16, 16);
    flip<<<dim3((n + 15) / 16, (k + 15) / 16), block>>>(b, b_t, k, n);
    by_rows<<<dim3((n + 15) / 16, (m + 15) / 16), block>>>(a, b_t, c, m, n, k);
}
