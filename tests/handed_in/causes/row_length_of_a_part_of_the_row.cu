// The offset in b is computed before the load.
#define T 32
__global__ void tiles(float* a, float* b, float* c, int n) {
    __shared__ float s[T][T], t[T][T];
    unsigned int x = threadIdx.x, y = threadIdx.y;
    unsigned int r = blockIdx.y * T + y, q = blockIdx.x * T + x;
    float v = 0;
    for (unsigned int step = 0; step < n / T; step++) {
        unsigned int from = step * T + y * n + q;
        s[y][x] = a[r * n + step * T + x];
        t[y][x] = b[from];
        __syncthreads();
        for (int e = 0; e < T; e++) v += s[y][e] * t[e][x];
        __syncthreads();
    }
    c[r * n + q] = v;
}
int main() {
    int n = 128;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    tiles<<<dim3(n / T, n / T), dim3(T, T)>>>(a, b, c, n);
    cudaDeviceSynchronize();
}
