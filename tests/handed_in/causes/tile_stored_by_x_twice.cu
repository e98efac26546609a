__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
    extern __shared__ float buffer[];
    int edge = blockDim.x, i = blockIdx.y * edge + threadIdx.y, j = blockIdx.x * edge + threadIdx.x;
    float *sa = buffer, *sb = buffer + edge * edge, sum = 0;
    for (int l = 0; l < k; l += edge) {
        sa[threadIdx.x * edge + threadIdx.x] = i < m && l + threadIdx.x < k ? a[i * k + l + threadIdx.x] : 0;
        sb[threadIdx.y * edge + threadIdx.x] = j < n && l + threadIdx.y < k ? b[(l + threadIdx.y) * n + j] : 0;
        __syncthreads();
        for (int e = 0; e < edge; e++) sum += sa[threadIdx.y * edge + e] * sb[e * edge + threadIdx.x];
        __syncthreads();
    }
    if (i < m && j < n) c[i * n + j] = sum;
}

void multiply(const float *a, const float *b, float *c, int m, int n, int k) {
    dim3 block(8, 8), grid((n + 7) / 8, (m + 7) / 8);
    product<<<grid, block, 2 * 8 * 8 * sizeof(float)>>>(a, b, c, m, n, k);
}
