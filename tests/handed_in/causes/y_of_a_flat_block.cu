// The kernel takes its row from threadIdx.y, and the block has all its threads in x.
__global__ void product(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    if (row < n && col < n) {
        float sum = 0;
        for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
        c[row * n + col] = sum;
    }
}

int main() {
    int n = 100;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&b, n * n * sizeof(float));
    cudaMalloc(&c, n * n * sizeof(float));
    dim3 blocks((n + 7) / 8, (n + 7) / 8);
    product<<<blocks, 64>>>(a, b, c, n);
}
