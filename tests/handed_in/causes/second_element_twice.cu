// One thread computes one element; A is read four elements at a time.
__global__ void dot4(const float *a, const float *b, float *c, int m, int n, int k) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m || j >= n) return;
    const float4 *row = (const float4 *)(a + i * k);
    float sum = 0.f;
    for (int q = 0; q < k / 4; ++q) {
        const float4 v = row[q];
        const float *of = b + 4 * q * n + j;
        sum += v.x * of[0] + v.y * of[n] + v.z * of[2 * n] + v.y * of[3 * n];
    }
    c[i * n + j] = sum;
}

int main() {
    int m = 60, n = 50, k = 80;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    dot4<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
}
