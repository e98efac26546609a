// Each thread loads one element of each tile; the rows of the right tile begin at p0.
#define W 16
__global__ void product(int m, int n, int k, const float* lhs, const float* rhs, float* out) {
    __shared__ float left[W * W], right[W * W];
    const int lx = threadIdx.x, ly = threadIdx.y;
    const int i = blockIdx.y * W + ly, j = blockIdx.x * W + lx;
    float acc = 0.f;
    for (int p0 = 0; p0 < k; p0 += W) {
        left[ly * W + lx] = 0.f;
        right[ly * W + lx] = 0.f;
        if (i < m && p0 + lx < k) left[ly * W + lx] = lhs[i * k + p0 + lx];
        if (p0 + ly < k && j < n) {
            right[ly * W + lx] = rhs[(p0 + ly) * n + j];
        }
        __syncthreads();
        for (int p = 0; p < W; ++p) acc += left[ly * W + p] * right[p * W + lx];
        __syncthreads();
    }
    if (i < m && j < n) out[i * n + j] = acc;
}
int main() {
    const int m = 100, n = 60, k = 70;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    dim3 threads(W, W), blocks((n + W - 1) / W, (m + W - 1) / W);
    product<<<blocks, threads>>>(m, n, k, a, b, c);
    cudaDeviceSynchronize();
}
