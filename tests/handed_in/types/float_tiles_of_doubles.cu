// The matrices are double, and both tiles keep their elements as float.
#define EDGE 8

__global__ void product(const double *a, const double *b, double *c, int m, int n, int k) {
    __shared__ float left[EDGE][EDGE];
    __shared__ float right[EDGE][EDGE];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * EDGE + y, col = blockIdx.x * EDGE + x;
    double sum = 0;
    for (int t = 0; t < (k + EDGE - 1) / EDGE; t++) {
        left[y][x] = row < m && t * EDGE + x < k ? a[row * k + t * EDGE + x] : 0;
        right[y][x] = col < n && t * EDGE + y < k ? b[(t * EDGE + y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < EDGE; i++) sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}

int main() {
    int m = 50, n = 60, k = 70;
    double *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(double));
    cudaMalloc(&b, k * n * sizeof(double));
    cudaMalloc(&c, m * n * sizeof(double));
    product<<<dim3((n + EDGE - 1) / EDGE, (m + EDGE - 1) / EDGE), dim3(EDGE, EDGE)>>>(a, b, c, m, n, k);
}
