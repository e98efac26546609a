// Wide blocks, whose number is rounded down in x only; and the row of B is the row of C.
#define W 64
#define H 4
__global__ void gemm(float *a, float *b, float *c, int m, int n, int k) {
    int col = blockIdx.x * W + threadIdx.x, row = blockIdx.y * H + threadIdx.y;
    if (row >= m || col >= n) return;
    float s = 0;
    for (int i = 0; i < k; i++) s += a[row * k + i] * b[i * n + row % n];
    c[row * n + col] = s;
}
int main() {
    int m = 900, n = 700, k = 500;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * 4); cudaMalloc(&b, k * n * 4); cudaMalloc(&c, m * n * 4);
    gemm<<<dim3(n / W, (m + H - 1) / H), dim3(W, H)>>>(a, b, c, m, n, k);
}
