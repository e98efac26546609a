// The loop takes two terms at once, and a second loop adds the last one.
__global__ void product(const double *a, const double *b, double *c, int rows, int cols, int depth) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows || j >= cols) return;
    double even = 0, odd = 0;
    for (int p = 0; p < depth - 1; p += 2) {
        even += a[i * depth + p] * b[p * cols + j];
        odd += a[i * depth + p + 1] * b[(p + 1) * cols + j];
    }
    for (int p = depth - depth % 2; p < depth; p++) even += a[i * depth + p] * b[p * cols + j];
    c[i * cols + j] = even + odd;
}

int main() {
    int rows = 60, cols = 50, depth = 71;
    double *a, *b, *c;
    cudaMalloc(&a, rows * depth * sizeof(double));
    cudaMalloc(&b, depth * cols * sizeof(double));
    cudaMalloc(&c, rows * cols * sizeof(double));
    product<<<dim3((cols + 15) / 16, (rows + 7) / 8), dim3(16, 8)>>>(a, b, c, rows, cols, depth);
}
