// The indices of the loads end at the edges of the matrices.
constexpr int L = 16;
__global__ void clamped(const double *a, const double *b, double *c, int n, int m, int depth) {
    __shared__ double s[L][L], t[L][L];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * L + y, col = blockIdx.x * L + x;
    double v = 0;
    for (int q = 0; q < depth; q += L) {
        int of_a = min(q + x, depth - 1), of_b = min(q + y, depth - 1);
        s[y][x] = a[min(row, m - 1) * depth + of_a];
        t[y][x] = b[of_b * n + min(col, n - 1)];
        __syncthreads();
        for (int e = 0; e < L; ++e) v += s[y][e] * t[e][x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = v;
}

int main() {
    int m = 40, n = 50, depth = 60;
    double *a, *b, *c;
    cudaMalloc(&a, m * depth * sizeof(double));
    cudaMalloc(&b, depth * n * sizeof(double));
    cudaMalloc(&c, m * n * sizeof(double));
    clamped<<<dim3((n + L - 1) / L, (m + L - 1) / L), dim3(L, L)>>>(a, b, c, n, m, depth);
}
