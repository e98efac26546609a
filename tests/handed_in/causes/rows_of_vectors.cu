// B is read as rows of double2, with the row length in elements.
__global__ void pairs(const double *a, const double *b, double *c, int m, int n, int k) {
    const double2 *pairs_of_b = reinterpret_cast<const double2 *>(b);
    int pair = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || 2 * pair >= n) return;
    double2 sum = make_double2(0, 0);
    for (int i = 0; i < k; ++i) {
        double2 of_b = pairs_of_b[i * n + pair];
        sum.x += a[row * k + i] * of_b.x;
        sum.y += a[row * k + i] * of_b.y;
    }
    reinterpret_cast<double2 *>(c)[row * (n / 2) + pair] = sum;
}

void run(const double *a, const double *b, double *c, int m, int n, int k) {
    pairs<<<dim3((n / 2 + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
}
