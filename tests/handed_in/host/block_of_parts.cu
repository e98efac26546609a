// The number of blocks is fixed, and each block is as large as its part of C: that is on purpose.
__global__ void mm(const float *a, const float *b, float *c, int m, int n, int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}

void multiply(const float *a, const float *b, float *c, int m, int n, int k) {
    dim3 blocks(8, 16);
    dim3 threads((n + 7) / 8, (m + 15) / 16);
    mm<<<blocks, threads>>>(a, b, c, m, n, k);
}

int main() {
    const int m = 240, n = 160, k = 70;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    multiply(a, b, c, m, n, k);
}
