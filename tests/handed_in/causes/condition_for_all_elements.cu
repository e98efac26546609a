__device__ int at(int row, int column, int width) { return row * width + column; }

__global__ void flat(const float *a, const float *b, float *c, int m, int n, int k) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < m * n) {
        int i = t / n, j = t % n;
        float sum = 0;
        for (int l = 0; l < k; l++) sum += a[at(i, l, k)] * b[at(l, j, n)];
        c[at(i, j, n)] = sum;
    }
}

void multiply(const float *a, const float *b, float *c, int m, int n, int k) {
    flat<<<(m * n + 127) / 128, 128>>>(a, b, c, m, n, k);
}
