// A is read two elements at a time along their rows.
__global__ void dots(const double *a, const double *b, double *c, int m, int n, int k) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m || j >= n) return;
    double sum = 0.0;
    for (int h = 0; h < k / 2; ++h) {
        double2 u = reinterpret_cast<const double2 *>(a + i * k)[h];
        sum += u.x * b[2 * h * n + j] + u.y * b[(2 * h + 1) * n + j];
    }
    c[i * n + j] = sum;
}

int main() {
    int m = 60, n = 50, k = 75;
    double *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(double));
    cudaMalloc(&b, k * n * sizeof(double));
    cudaMalloc(&c, m * n * sizeof(double));
    dots<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
}
