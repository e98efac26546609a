__global__ void gemm(const double *A, const double *B, double *C, int M, int N, int K) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;
    int step = K / gridDim.z, from = blockIdx.z * step, to = blockIdx.z + 1 == gridDim.z ? K : from + step;
    double s = 0;
    for (int k = from; k < to; k++) s += A[row * K + k] * B[k * N + col];
    atomicAdd(C + row * N + col, s);
}
void launch(double *a, double *b, double *c, int m, int n, int k, int slices) {
    gemm<<<dim3((n + 7) / 8, (m + 7) / 8, slices), dim3(8, 8)>>>(a, b, c, m, n, k);
}
void timed(double *a, double *b, double *c, int m, int n, int k, int slices) { launch(a, b, c, m, n, k, slices); }
void experiment(int m, int n, int k) {
    double *a, *b, *c;
    cudaMalloc(&a, m * k * 8); cudaMalloc(&b, n * k * 8); cudaMalloc(&c, m * n * 8);
    cudaMemsetAsync(c, 0, m * n * 8);
    timed(a, b, c, m, n, k, 3);
}
int main() { experiment(100, 200, 300); }
