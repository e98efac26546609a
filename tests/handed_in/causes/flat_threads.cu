// A thread for each element, in blocks of one row.
__global__ void product(const int *a, const int *b, int *c, int m, int n, int k) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= m * n) return;
    int row = id / n, col = id % n, sum = 0;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];
    c[id] = sum;
}

int main() {
    int m = 45, n = 70, k = 33;
    int *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(int));
    cudaMalloc(&b, k * n * sizeof(int));
    cudaMalloc(&c, m * n * sizeof(int));
    dim3 block(16 * 8);
    product<<<(m * n + 127) / 128, block>>>(a, b, c, m, n, k);
}
