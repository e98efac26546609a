#define T 8
#define EACH 2

__global__ void coarse(const float *a, const float *b, float *c, int n) {
    __shared__ float sa[T][T], sb[T][T];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * T + y, j0 = blockIdx.x * T * EACH + x;
    float sums[EACH];
    for (int e = 0; e < EACH; ++e) sums[e] = 0;
    for (int t = 0; t < n / T; ++t) {
        sa[y][x] = a[i * n + t * T + x];
        for (int e = 0; e < EACH; ++e) {
            sb[y][x] = b[(t * T + y) * n + j0 + e * T];
            __syncthreads();
            for (int l = 0; l < T; ++l) sums[e] = sa[y][l] * sb[l][x];
            __syncthreads();
        }
    }
    for (int e = 0; e < EACH; ++e) c[i * n + j0 + e * T] = sums[e];
}

int main() {
    int n = 64;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&b, n * n * sizeof(float));
    cudaMalloc(&c, n * n * sizeof(float));
    coarse<<<dim3(n / (T * EACH), n / T), dim3(T, T)>>>(a, b, c, n);
    cudaDeviceSynchronize();
}
